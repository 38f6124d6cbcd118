/* What the time line and its buttons share. Private to scene_track.c and
 * track_*.c. */
#ifndef VIEW_TRACK_PARTS_H
#define VIEW_TRACK_PARTS_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the parts of the transport stand. */
struct view_transport {
    struct view_box strip[2]; /* the time lines: names above bars; [1] with compare alone */
    float names;              /* height of the names in a strip, 0: none */
    struct view_box under;    /* triangles and crosses; h 0: none */
    struct view_box buttons;
    bool mini;
};

void view_transport_make(const struct view_scene *scene, struct view_transport *transport);

/* Reads upwards and writes down from a line between them, each up to the most of its own. */
void view_track_bars(struct view_draw *draw, struct view_box box, const struct view_track_bin *bins,
                     int n);

/* Triangles where maxima rose, crosses where tiles were skipped or the run was refused; where they
 * would stand side by side, ticks. Nothing from bin `end` on. */
void view_track_marks(struct view_draw *draw, struct view_box strip, struct view_box under,
                      const struct view_track_bin *bins, int n, int end);

void view_track_buttons(struct view_draw *draw, const struct view_scene *scene,
                        const struct view_transport *transport);

#ifdef __cplusplus
}
#endif
#endif
