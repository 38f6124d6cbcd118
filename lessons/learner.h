/*
 * What a learner has done: one small JSON file in the platform's user data folder, written beside
 * and renamed, so that a crash leaves the old one. An unreadable one is kept as .bak, and that is
 * said once.
 */
#ifndef LESSON_LEARNER_H
#define LESSON_LEARNER_H

#include "lessons/lesson.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lesson_mark {
    int number;
    int step; /* the furthest step opened, from 0 */
    bool done;
    bool skipped; /* "I know this" */
};

struct lesson_progress {
    struct lesson_mark mark[64];
    int n;
    bool race_seen;   /* the first 60 seconds */
    int last_lesson;  /* -1: none */
    bool kept_backup; /* the file was unreadable and was kept as .bak */
};

/* $XDG_DATA_HOME/flashlab/progress.json, else ~/.local/share/...; ~/Library/Application Support on
 * macOS; $FLASHLAB_DATA before all. FA_IO where there is no home. */
enum fa_status lesson_progress_path(char *path, size_t size, struct fa_error *error);

/* A missing file is fresh progress. FA_IO. */
enum fa_status lesson_progress_load(const char *path, struct lesson_progress *progress,
                                    struct fa_error *error);
enum fa_status lesson_progress_save(const char *path, const struct lesson_progress *progress,
                                    struct fa_error *error);
struct lesson_mark *lesson_progress_mark(struct lesson_progress *progress,
                                         int number); /* made where missing; NULL: full */
void lesson_progress_reset(struct lesson_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
