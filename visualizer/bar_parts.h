/* What the top bar and the editor of its chips share. Private to scene_bar.c and bar_editor.c. */
#ifndef VIEW_BAR_PARTS_H
#define VIEW_BAR_PARTS_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the two runs of a comparison have different values of run A's option. */
bool view_options_differ(const struct view_frame *frame, int option);

/* What edits the open chip, below `anchor`: a list of its choices or a field; above that, where n
 * is not 0, the options that had no room in the bar, of which it is one. */
void view_bar_editor(struct view_draw *draw, const struct view_scene *scene, struct view_box anchor,
                     const int *options, int n);

#ifdef __cplusplus
}
#endif
#endif
