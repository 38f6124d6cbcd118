/*
 * A lesson's key frame on the contents page: what the run of its scenario did, in little. It is
 * made from the executed run, when there is time for that; until then its place is empty.
 */
#ifndef VIEW_THUMB_H
#define VIEW_THUMB_H

#include "lessons/lesson.h"
#include "visualizer/draw.h"
#include "visualizer/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_thumb_kind {
    VIEW_THUMB_TILES,   /* the grid of score tiles, and what moved */
    VIEW_THUMB_TRAFFIC, /* what moved in each of two runs */
    VIEW_THUMB_ROW,     /* weights of the first query */
    VIEW_THUMB_SCALE,   /* SRAM and the score matrix, areas as bytes */
    VIEW_THUMB_BITS,    /* dropout's keep bits of the first rows */
    VIEW_THUMB_BLOCKS,  /* what lies on chip, and the block that had no room */
    VIEW_THUMB_SHAPES,  /* a tile to scale beside what its run moved, of one run or two */
    VIEW_THUMB_CHECKS,  /* the tiles of the first row of tiles, with what the checks say of each */
    VIEW_THUMB_WAVES    /* SMs that the first wave of thread blocks lights */
};

enum { VIEW_THUMB_SIDE = 32, VIEW_THUMB_TENSORS = 16 };

struct view_thumb {
    enum view_thumb_kind kind;
    int rows,
        columns; /* of cells; where there are more tiles than VIEW_THUMB_SIDE each is several */
    uint8_t
        cell[VIEW_THUMB_SIDE * VIEW_THUMB_SIDE]; /* TILES: enum view_thumb_tile; BITS: 1 is kept;
                                                  * CHECKS: 1 is good; WAVES: 1 is lit */
    float weight[VIEW_THUMB_SIDE];               /* ROW: 0 to 1, `columns` of them */
    uint64_t sram, scores;                       /* SCALE: bytes; BLOCKS: the capacity */
    struct {
        enum fa_tensor_id id;
        uint64_t place, bytes;
    } block[VIEW_THUMB_TENSORS]; /* BLOCKS: n_blocks of them, the refused one last */
    int n_blocks;
    int n_sms;                         /* WAVES */
    int64_t br[2], bc[2];              /* SHAPES */
    uint64_t moved[2][FA_HBM_TENSORS]; /* bytes by the end */
    bool second;                       /* moved[1] is another run's */
};

enum view_thumb_tile { VIEW_THUMB_SKIPPED, VIEW_THUMB_CUT, VIEW_THUMB_DONE };

/* What a lesson's key frame is of: its card_show, else its last step with a stage of its own, else
 * its last. The run to make it from is that of `scenario`, and of `compare`. */
const struct lesson_show *view_thumb_show(const struct lesson *lesson);

/* Whether such a frame shows values, or what was counted alone: then a counted trace will do. */
bool view_thumb_needs_values(const char *stage);

/* From executed runs at their ends; second NULL: none. `stage`: of lesson_show. Of a stage that
 * cannot be made of these runs the tiles are shown. */
void view_thumb_make(struct view_run *run, struct view_run *second, const char *stage,
                     struct view_thumb *thumb);

/* thumb NULL: an empty place. */
void view_thumb_draw(struct view_draw *draw, struct view_box box, const struct view_thumb *thumb);

#ifdef __cplusplus
}
#endif
#endif
