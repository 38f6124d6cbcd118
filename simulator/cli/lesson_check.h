/*
 * flashlab lesson check, in parts: what is checked and what was found. lesson_check.c goes through
 * the lessons, lesson_check_open.c looks for what tells an answer too early, lesson_check_files.c
 * at files and at the options in them.
 */
#ifndef CLI_LESSON_CHECK_H
#define CLI_LESSON_CHECK_H

#include <jansson.h>

#include "simulator/cli/lesson_command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was found, as text at once or as JSON at the end. */
struct cli_findings {
    json_t *list; /* NULL: text */
    int faults;
};

/* One lesson being checked: what goes wrong is told, and the check goes on. */
struct cli_check {
    const struct cli_lessons *lessons;
    const struct lesson *lesson;
    struct cli_findings *findings;
};

/* What is no fault is told too; with number -1 as a note, which is of no lesson. */
void cli_check_tell(struct cli_findings *findings, int number, const char *text, bool fault);

/* False, and told: the error that the status is of. */
bool cli_check_is_fine(const struct cli_check *check, enum fa_status status,
                       const struct fa_error *error);

/* No text that is read before a question is answered tells its answer. */
void cli_check_open(const struct cli_check *check);

/* All words of options in the file are ones, by the line that they stand in. */
void cli_check_options(const struct cli_check *check);

/* Each bad file of the folder, of `number` alone where it is not -1. */
void cli_check_files(const char *folder, int number, struct cli_findings *findings);

/* Files that look like lessons and are not read, since their names are no lesson's. */
void cli_check_names(const char *folder, struct cli_findings *findings);

#ifdef __cplusplus
}
#endif
#endif
