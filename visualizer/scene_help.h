/* An event's row on the sheet of keys and signs. Private to scene_help*.c. */
#ifndef VIEW_SCENE_HELP_H
#define VIEW_SCENE_HELP_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "start", "one third", "two thirds", "landed": over the pictures of view_help_event. */
void view_help_stages(struct view_draw *draw, struct view_box box);

/* Name, time and meaning of the index'th kind of event, and below them four pictures of its way. */
void view_help_event(struct view_draw *draw, struct view_box box, int index);

#ifdef __cplusplus
}
#endif
#endif
