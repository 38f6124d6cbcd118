/*
 * The scene: a frame to a draw list. A pure function; it knows no window and no time. Each region
 * has its function and its file; all of them draw inside their box and add the hits of what can be
 * clicked.
 */
#ifndef VIEW_SCENE_H
#define VIEW_SCENE_H

#include "visualizer/layout.h"
#include "visualizer/parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the region functions share: made once a frame by view_scene. */
struct view_scene {
    const struct view_frame *frame;
    struct view_layout layout;
    struct view_moment moment[2];
    int runs; /* 0: a message alone; 2: compare */
};

/* What the region functions share, for a frame: also what a click is looked up in. */
void view_scene_make(struct view_scene *scene, const struct view_frame *frame);

/* The whole frame. The list is cleared first. */
void view_scene(struct view_draw *draw, const struct view_frame *frame);

/* ---- the cross ------------------------------------------------------------------------------- */

/*
 * Where a tensor's matrix and its tiles lie in HBM's box and on the bench, for everything that has
 * to hit or point at them: the same arithmetic draws them. False: it has no place there (or is not
 * on chip).
 */
bool view_hbm_matrix(const struct view_scene *scene, int which, enum fa_tensor_id id,
                     struct view_box *box);
bool view_hbm_tile(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                   int64_t column, struct view_box *box); /* tile indices of view_run_tiling */
bool view_hbm_cell(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                   int64_t column, struct view_box *box);
bool view_bench_tile(const struct view_scene *scene, int which, enum fa_tensor_id id,
                     struct view_box *box); /* the slot, also before its tile is on chip */
bool view_bench_cell(const struct view_scene *scene, int which, enum fa_tensor_id id, int64_t row,
                     int64_t column, struct view_box *box); /* of the tile, from 0 */

/* The cell under a point of HBM or of the bench, of either run. False: none. */
bool view_cell_at(const struct view_scene *scene, float x, float y, struct view_cell *cell);

/* scene_hbm.c */
void view_scene_hbm(struct view_draw *draw, const struct view_scene *scene, int which);
/* scene_lanes.c */
void view_scene_lanes(struct view_draw *draw, const struct view_scene *scene, int which);
/* scene_sram.c: bench, capacity bar, checks */
void view_scene_sram(struct view_draw *draw, const struct view_scene *scene, int which);
/* scene_flight.c: the event in flight, on VIEW_FLIGHT */
void view_scene_flight(struct view_draw *draw, const struct view_scene *scene, int which);
/* scene_card.c: the cell card, on VIEW_POPUP */
void view_scene_card(struct view_draw *draw, const struct view_scene *scene);

/* ---- the frame round it ---------------------------------------------------------------------- */

/* scene_bar.c: menu, title, chips and their lists, Save, Theme, ? */
void view_scene_bar(struct view_draw *draw, const struct view_scene *scene);
/* scene_bar.c: of a compared run */
void view_scene_heading(struct view_draw *draw, const struct view_scene *scene, int which);
/* scene_sentence.c */
void view_scene_sentence(struct view_draw *draw, const struct view_scene *scene);
/* scene_track.c: time line and buttons */
void view_scene_track(struct view_draw *draw, const struct view_scene *scene);
/* The place on the track at x: landed events; with compare, where two clocks share it, 0..1 of the
 * work. */
uint64_t view_track_event(const struct view_scene *scene, float x);
double view_track_share(const struct view_scene *scene, float x);
/* scene_help.c: the sheet of keys and signs */
void view_scene_help(struct view_draw *draw, const struct view_scene *scene);
/* scene_message.c: empty, wrong, running */
void view_scene_message(struct view_draw *draw, const struct view_scene *scene);

/* ---- lessons: of frame->lesson, where it is not NULL ----------------------------------------- */

/* Pages in place of all else: they fill the frame, with a bar of their own. */
/* scene_contents.c */
void view_scene_contents(struct view_draw *draw, const struct view_scene *scene);
void view_scene_race(struct view_draw *draw, const struct view_scene *scene);     /* scene_race.c */
/* scene_glossary.c */
void view_scene_glossary(struct view_draw *draw, const struct view_scene *scene);

/* The card that an arrow key leads to from lesson->card; dx, dy: -1, 0 or 1. From one that is not
 * shown: the first that is; -1: none is. And frame->scroll at which a card is seen, as near as can
 * be to what it is. The list's face measures texts: contents_layout.c */
int view_contents_step(const struct view_draw *draw, const struct view_scene *scene, int dx, int dy);
float view_contents_scroll(const struct view_draw *draw, const struct view_scene *scene, int card);

/* Rings round what the step points to, on VIEW_FLIGHT; and where such a thing is, by its name
 * (struct lesson_show, and a tensor's for the whole of it). False: it is not on screen. points.c */
void view_scene_points(struct view_draw *draw, const struct view_scene *scene);
bool view_point_box(const struct view_scene *scene, const char *name, struct view_box *box);

/* Whether the run has what a step would point to: the tile, the row or the column. points.c */
bool view_point_there(const struct view_run *run, const char *name);

/* ---- panels: each draws into `box`, below the tabs that view_scene_panel draws --------------- */

void view_scene_panel(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                      enum view_panel panel, bool second); /* scene_panel.c: tabs, then one of these */
/* panel_code.c */
void view_panel_code(struct view_draw *draw, const struct view_scene *scene, struct view_box box);
/* panel_traffic.c */
void view_panel_traffic(struct view_draw *draw, const struct view_scene *scene, struct view_box box);
/* panel_plot.c */
void view_panel_plot(struct view_draw *draw, const struct view_scene *scene, struct view_box box);
/* panel_check.c */
void view_panel_check(struct view_draw *draw, const struct view_scene *scene, struct view_box box);
/* panel_lesson.c */
void view_panel_lesson(struct view_draw *draw, const struct view_scene *scene, struct view_box box);

/* ---- the other stages, in place of the cross: scene->layout.stage ---------------------------- */

void view_stage_row(struct view_draw *draw, const struct view_scene *scene);    /* stage_row.c */
void view_stage_scale(struct view_draw *draw, const struct view_scene *scene);  /* stage_scale.c */
void view_stage_plot(struct view_draw *draw, const struct view_scene *scene);   /* stage_plot.c */
void view_stage_mask(struct view_draw *draw, const struct view_scene *scene);   /* stage_mask.c */
void view_stage_bits(struct view_draw *draw, const struct view_scene *scene);   /* stage_bits.c */
void view_stage_waves(struct view_draw *draw, const struct view_scene *scene);  /* stage_waves.c */
void view_stage_errors(struct view_draw *draw, const struct view_scene *scene); /* stage_errors.c */
void view_stage_tiles(struct view_draw *draw, const struct view_scene *scene);  /* stage_tiles.c */

/* The tile of the mask editor under a point: what painting with the pointer held down toggles.
 * False outside of it, and where there is nothing to paint. */
bool view_mask_tile_at(const struct view_scene *scene, float x, float y, int64_t *row,
                       int64_t *column); /* stage_mask.c */
/* Where score tile (row, column) is on that stage; row -1: a column of tiles, column -1: a row of
 * them. */
bool view_mask_tiles(const struct view_scene *scene, int64_t row, int64_t column,
                     struct view_box *box);

/* The option that the stage of tiles changes; -1: tiles cannot be dragged there. stage_tiles.c */
int view_tiles_chip(const struct view_frame *frame);
/* The tiles whose place on that stage is nearest to a point; and the place of tiles. False: it has
 * no room. */
bool view_tiles_at(const struct view_scene *scene, float x, float y, int64_t *br, int64_t *bc);
bool view_tiles_place(const struct view_scene *scene, int64_t br, int64_t bc, float *x, float *y);

#ifdef __cplusplus
}
#endif
#endif
