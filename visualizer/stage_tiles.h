/*
 * Br and Bc against the capacity: the plane of all tiles on logarithmic axes (stage_tiles.c), and
 * beside it what must be on chip and what was moved (stage_tiles_side.c). Bytes on chip are those
 * that the simulator asks for before a run; what was moved was counted by runs.
 */
#ifndef VIEW_STAGE_TILES_H
#define VIEW_STAGE_TILES_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tiles that are looked at: dragged, else the run's. */
struct view_tiles_look {
    const struct sim_experiment *experiment;
    int64_t br, bc;
    bool dragged, lifted;
    uint64_t need, capacity; /* bytes; need UINT64_MAX: there can be no such tiles */
};

bool view_tiles_fit(const struct view_tiles_look *tiles);
void view_tiles_side(struct view_draw *draw, const struct view_scene *scene, int which,
                     const struct view_tiles_look *tiles, struct view_box box);

#ifdef __cplusplus
}
#endif
#endif
