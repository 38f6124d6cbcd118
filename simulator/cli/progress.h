/*
 * Long work: a bar on standard error where that is a terminal, and Ctrl-C that stops the work in
 * order instead of in the middle of a file.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <time.h>

#include "reference/algorithm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cli_progress {
    struct fa_watch watch; /* hand it to the work; it cancels after Ctrl-C */
    const char *label;
    struct timespec start, drawn;
    bool visible, on_terminal;
};

/* `label` ("counting", "checking") stands before the bar, which appears once the work has taken a
 * moment. Catches SIGINT from now on; a second one ends the program at once. */
void cli_progress_start(struct cli_progress *progress, const char *label);

/* Draws `done` (0..1) if it is time to. False after Ctrl-C: the work should stop. The same as the
 * watch's tick; not for two threads at once. */
bool cli_progress_tick(struct cli_progress *progress, double done);

/* Wipes the bar. */
void cli_progress_end(struct cli_progress *progress);

bool cli_interrupted(void);

#ifdef __cplusplus
}
#endif
#endif
