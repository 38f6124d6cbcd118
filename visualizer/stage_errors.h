/*
 * Error by stage, beside the tiles of the stage of errors: stage_errors_side.c.
 */
#ifndef VIEW_STAGE_ERRORS_H
#define VIEW_STAGE_ERRORS_H

#include "visualizer/stage_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Its part off the box's right; w 0: the run has none, or there is no room. */
struct view_box view_errors_cut_side(const struct view_scene *scene, int which,
                                     struct view_box *box);

/* A line a stage: what it is, where it lay and in which format, its error as a bar and a number.
 * Bars of two runs have one scale. Before the end of the run, and under a prediction, there are
 * no errors yet. */
void view_errors_side(struct view_draw *draw, const struct view_scene *scene, int which,
                      const struct view_box *side);

#ifdef __cplusplus
}
#endif
#endif
