/*
 * Opened runs and frames on them, for tests of the visualizer: one line says which run is wanted,
 * what is left out of it is the usual small one (flash2, N 16, d 4, tiles of 4 x 4, f32).
 */
#ifndef TESTS_VIEW_CASE_H
#define TESTS_VIEW_CASE_H

#include "reference/profile.h"
#include "visualizer/scene.h"

struct view_case {
    const char *algorithm; /* NULL: "flash2" */
    bool backward;
    int64_t n, nk;  /* 0: 16; nk 0: n */
    int64_t d, dv;  /* 0: 4; dv 0: d */
    int64_t heads;  /* 0: 1 */
    int64_t br, bc; /* 0: 4 each */
    uint64_t sram;  /* bytes; 0: the capacity is lifted */
    bool causal;
    int64_t window;                     /* keys on the left of the diagonal; 0: none */
    const struct fa_block_mask *blocks; /* outlives the run */
    double dropout_p;
    enum fa_profile profile; /* 0: gauss */
    enum fa_dtype dtype;     /* 0 (f64) counts as f32 */
    uint64_t seed;           /* 0: 1 */
};

/* The run of the case, which view_run_close lets go of, with its tensors. Fails the test if it
 * cannot be opened; a refusal by the machine is a run too. */
struct view_run *view_case_open(const struct view_case *which);

/* Its experiment with its tensors, for what view_run_open and view_run_adopt take. */
struct view_source view_case_source(const struct view_case *which);

/* The one that the pictures of the design show: flash2, N 16, d 4, 4 x 4, 512 bytes, tidy. */
extern const struct view_case view_case_tidy;

/* A frame on the run (second NULL: no compare) at the size, after `landed` events: the cross,
 * Code open, dark. */
struct view_frame view_case_frame(struct view_run *run, struct view_run *second, float width,
                                  float height, uint64_t landed);

/* What view_scene makes of a frame before it draws: for view_hbm_tile and the like. */
struct view_scene view_case_scene(const struct view_frame *frame);

/* Landed events just after the first event of that kind and tensor at tile (i, j); -1 for i or
 * j: any. Fails the test where there is none. */
uint64_t view_case_after(const struct view_run *run, enum sim_event_kind kind, enum fa_tensor_id id,
                         int64_t i, int64_t j);

/* The text item that contains the words (NULL: there is none); whether there is one that equals
 * them. */
const struct view_item *view_case_text(const struct view_draw *draw, const char *words);
bool view_case_says(const struct view_draw *draw, const char *text);

/* The place to click for it; NULL: there is none. */
const struct view_hit *view_case_hit(const struct view_draw *draw, enum view_action action,
                                     int64_t value);

/*
 * Fails the test unless all texts of the list lie inside the frame and no two of a layer overlap by
 * more than a pixel in the boxes of their ink (what is cut away by a clip does not count).
 */
void view_case_check_texts(const struct view_draw *draw, float width, float height);

#endif
