/*
 * The player: what keys, clicks and time do to a lesson. It is a part of the window's state: it
 * opens the runs of the steps, goes where they stand, grades answers, and keeps what the learner
 * has done. No SDL and no drawing: all that is seen of it is frame->lesson (lesson_view.h).
 *
 *     view_state_open(&host, ...);                       a window without lessons
 *     view_player_open(state, &lesson_host, &error);     with lessons: frame->lesson is set
 *     view_player_go(state, 6, 3, &error);               a step of a lesson: view --lesson 6 --step 4
 *     view_player_page(state, VIEW_PAGE_RACE);           the first start; or VIEW_PAGE_CONTENTS
 *
 * A picture of a step is the state's frame after view_state_settle, which goes where the step plays
 * to.
 */
#ifndef VIEW_PLAYER_H
#define VIEW_PLAYER_H

#include "visualizer/lesson_view.h"
#include "visualizer/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The runs of one scenario with their chips; run[1] NULL: it is compared with none. */
struct view_opened {
    struct view_run *run[2];
    struct view_option options[2][VIEW_MOST_OPTIONS];
    int n_options[2];
};

/*
 * What the player asks of the program. Once open_words was called, open_run of struct view_host
 * changes that scenario: a chip's new value is put into its words.
 */
struct view_lesson_host {
    const struct lesson_shelf *shelf;  /* NULL: no lessons were found, and `missing` says what was tried */
    const char *missing;
    struct lesson_progress *progress;  /* changed here; NULL: nothing is kept */
    bool present;                      /* light, R reveals, nothing is kept */

    /* Runs that words of options describe, and with `compare` (NULL: none) those of the differences
     * from them. All or nothing; FA_CANCELLED on Esc. */
    enum fa_status (*open_words)(void *context, const char *words, const char *compare,
                                 const struct fa_watch *watch, struct view_opened *opened,
                                 struct fa_error *error);
    /* The words of the first run as it is on screen, changed chips and a painted block mask too:
     * what the runner computes answers for. NULL: those that open_words got. */
    enum fa_status (*words)(void *context, char *words, size_t size, struct fa_error *error);
    /* Writes *progress down. NULL: nothing is kept beyond the window. Its failure is told in a
     * note. */
    enum fa_status (*save)(void *context, const struct lesson_progress *progress,
                           struct fa_error *error);
    /* Runs for a card's key frame, which never come on screen: words and chips stay what they are.
     * Without `values`, or where those would take long, they are counted alone; run[0] NULL where
     * that takes long too. The whole may be NULL: cards have no key frames. */
    enum fa_status (*open_aside)(void *context, const char *words, const char *compare, bool values,
                                 struct view_run *run[2], struct fa_error *error);
    struct lesson_runner runner;
    void *context; /* of those above */
};

/* The host is copied; what it points to outlives the state. FA_NO_MEMORY. */
enum fa_status view_player_open(struct view_state *state, const struct view_lesson_host *host,
                                struct fa_error *error);

/*
 * Opens a lesson at a step, from 0 (its n_steps is the end page), and its run; step -1: where its
 * mark stands, else its first. FA_BAD_ARGUMENT: no such lesson or step, with what there is; those
 * of open_words, which the frame's message tells too.
 */
enum fa_status view_player_go(struct view_state *state, int lesson, int step,
                              struct fa_error *error);

/* The race starts from its beginning. Errors are told by the frame's message. */
void view_player_page(struct view_state *state, enum view_page page);

#ifdef __cplusplus
}
#endif
#endif
