/*
 * Lessons in `flashlab view`: what the visualizer's player asks of the program. Without the library
 * of lessons these refuse --lesson, and else do nothing.
 */
#ifndef CLI_VIEW_LESSONS_H
#define CLI_VIEW_LESSONS_H

#include "simulator/cli/view.h"
#include "visualizer/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the lessons that --lesson and a window need, and in a window what the learner has done;
 * fills view->lessons. Errors: those of lesson_shelf_open with --lesson (without, the window tells
 * them); FA_BAD_ARGUMENT for a lesson or step that there is not; FA_MISSING_PART. */
enum fa_status cli_view_lessons_open(struct cli_view *view, bool window, struct fa_error *error);
void cli_view_lessons_close(struct cli_view *view);

/* Where the lessons were found; NULL: there are none. */
const char *cli_view_lessons_folder(const struct cli_view *view);

/* Of a state that was opened: with --lesson that step, in a bare window where the learner left off,
 * the race at the first start, or the contents page. Errors: those of view_player_open and
 * view_player_go; after the latter the state's frame has its lessons, and says itself what is
 * wrong. */
enum fa_status cli_view_lessons_start(struct cli_view *view, struct view_state *state,
                                      struct fa_error *error);

/* The player's run was opened by a chip: which words stand for it. blocks: a painted mask, or NULL.
 */
void cli_view_lessons_painted(struct cli_view *view, const struct view_run *run,
                              const uint8_t *blocks);

#ifdef __cplusplus
}
#endif
#endif
