/*
 * The command `flashlab lesson`, in parts: what its subcommands share.
 */
#ifndef CLI_LESSON_COMMAND_H
#define CLI_LESSON_COMMAND_H

#include <stdio.h>

#include "simulator/cli/lesson_runner.h"
#include "simulator/cli/options.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cli_lesson_options {
    struct cli_options base;
    const char *lessons; /* --lessons; NULL: where they lie */
    const char *out;     /* --out; NULL: not given */
    int64_t seed;        /* --seed; -1: the lessons' own numbers */
    double threshold;
};

/* The lessons with what runs their scenarios. */
struct cli_lessons {
    const struct cli_lesson_options *options;
    struct lesson_shelf shelf;
    struct cli_lesson_runner *runner;
    int64_t seed; /* -1: none. Begins as that of the options; a file of answers has its own */
};

/* Each runs a subcommand to its exit status; the caller prints *error where status is not FA_OK. */
enum fa_status cli_lesson_list(struct cli_lessons *lessons, struct fa_error *error);
enum fa_status cli_lesson_show(struct cli_lessons *lessons, const struct lesson *lesson,
                               struct fa_error *error);
enum fa_status cli_lesson_play(struct cli_lessons *lessons, const struct lesson *lesson,
                               struct fa_error *error);
enum fa_status cli_lesson_export(struct cli_lessons *lessons, const struct lesson *lesson,
                                 struct fa_error *error);
/* *exit_status: CLI_CHECK_FAILED below the threshold. */
enum fa_status cli_lesson_grade(struct cli_lessons *lessons, const struct lesson *lesson,
                                const char *path, int *exit_status, struct fa_error *error);
/* `number` -1: all. Reports what is bad itself; *exit_status is 1 for a lesson whose questions or
 * stage do not hold, 2 for a file that is no lesson. */
enum fa_status cli_lesson_check(const struct cli_lesson_options *options, int number,
                                int *exit_status, struct fa_error *error);

/* The words of a run of the lesson's, for the student of the seed; and those with differences from
 * them (NULL: none). FA_TOO_LARGE, FA_BAD_ARGUMENT. lesson_seed.c. */
enum fa_status cli_lesson_words(const struct cli_lessons *lessons, const struct lesson *lesson,
                                lesson_words words, char out[LESSON_WORDS], struct fa_error *error);
enum fa_status cli_lesson_changed(const struct cli_lessons *lessons, const struct lesson *lesson,
                                  lesson_words words, lesson_words changes, char out[LESSON_WORDS],
                                  struct fa_error *error);

/* All questions of a lesson in order, the recall last: the index'th with the words that it is asked
 * of. False past the last. */
bool cli_lesson_question(const struct lesson *lesson, int index,
                         const struct lesson_question **question, lesson_words *words);

enum { CLI_LESSON_PATH = 1024 };

/* What the learner has done, and where it is kept. False: nothing is known and nothing can be kept,
 * and *progress is that of a beginning. A file that is no progress was kept aside, which is told on
 * standard error. lesson_list.c. */
struct lesson_progress;
bool cli_lesson_progress(char path[CLI_LESSON_PATH], struct lesson_progress *progress);

/* ---- lesson_text.c: a lesson as text, expressions computed -------------------------------- */

enum { CLI_LESSON_TEXT = 2048 };

/* lesson_fill with the file and the line in the error. */
enum fa_status cli_lesson_fill(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int line, const char *text, const char *words,
                               char out[CLI_LESSON_TEXT], struct fa_error *error);

/* A choice as it is shown: its label, or its value with the unit. `index` below n_choices. */
enum fa_status cli_lesson_choice(const struct cli_lessons *lessons, const struct lesson *lesson,
                                 const struct lesson_question *question, int index,
                                 const struct lesson_answers *answers, const char *words,
                                 char out[CLI_LESSON_TEXT], struct fa_error *error);

/* Of a choice question one value is that of the question's expression. */
bool cli_lesson_is_right(const struct lesson_question *question,
                         const struct lesson_answers *answers, int choice);

/* The right answer as it is shown. */
enum fa_status cli_lesson_right(const struct cli_lessons *lessons, const struct lesson *lesson,
                                const struct lesson_question *question,
                                const struct lesson_answers *answers, const char *words,
                                char out[CLI_LESSON_TEXT], struct fa_error *error);

/* The command that shows a step (from 0) with the numbers that it has here: its own, or with a seed
 * those of the run that the seed makes. Errors: those of cli_lesson_words. lesson_seed.c. */
enum fa_status cli_lesson_see(const struct cli_lessons *lessons, const struct lesson *lesson,
                              int step, char text[CLI_LESSON_TEXT], struct fa_error *error);

/* The least seed that has the lesson's vary number `variant`, from 0. lesson_seed.c. */
int64_t cli_lesson_seed_of(const struct lesson *lesson, int variant);

/* Adds " --lessons DIR" to a command where the option was given. lesson_seed.c. */
void cli_lesson_add_folder(const char *folder, char *text, size_t size);

/* Columns of a terminal that the text takes. */
int cli_lesson_columns(const char *text);

/* A sentence on the seed, "" where it gives the lesson other answers, or there is none. Its runs are
 * counted with the seed and without, since that depends on what the questions ask for.
 * lesson_seed.c. */
enum { CLI_LESSON_NOTE = 128 };
enum fa_status cli_lesson_seed_note(const struct cli_lessons *lessons, const struct lesson *lesson,
                                    char note[CLI_LESSON_NOTE], struct fa_error *error);

/* On standard output: the lesson's title; a step with its number, prose and question; what is to be
 * broken at a step; the recall, whose words come back. What answers one of the key's questions is
 * left blank (key NULL: nothing is, for one who has answered before he reads on). lesson_list.c. */
enum fa_status cli_lesson_heading(const struct cli_lessons *lessons, const struct lesson *lesson,
                                  struct fa_error *error);
enum fa_status cli_lesson_step(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int index, const struct lesson_answer_key *key,
                               struct fa_error *error);
enum fa_status cli_lesson_task(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int index, const struct lesson_answer_key *key,
                               struct fa_error *error);
enum fa_status cli_lesson_recall(const struct cli_lessons *lessons, const struct lesson *lesson,
                                 char words[LESSON_WORDS], struct fa_error *error);

/* For a terminal: broken at 78 columns behind the indent; `first` stands in the first line's
 * indent. */
void cli_lesson_wrap(FILE *file, const char *first, int indent, const char *text);

/* What answers the questions, so that a text for those who have not answered leaves it blank; the
 * fill that does so. */
enum fa_status cli_lesson_key(const struct cli_lessons *lessons, const struct lesson *lesson,
                              struct lesson_answer_key *key, struct fa_error *error);
enum fa_status cli_lesson_fill_open(const struct cli_lessons *lessons, const struct lesson *lesson,
                                    const struct lesson_answer_key *key, int step, int line,
                                    const char *text, const char *words, char out[CLI_LESSON_TEXT],
                                    struct fa_error *error);

/* For a terminal, or as Markdown: the step's blocks, with blanks by the key (NULL: none); a question
 * with its choices, without the answer. */
enum fa_status cli_lesson_blocks(FILE *file, bool markdown, const struct cli_lessons *lessons,
                                 const struct lesson *lesson, int step,
                                 const struct lesson_answer_key *key, struct fa_error *error);

/* As Markdown: of the step's blocks those in which the key leaves blanks, with nothing left blank,
 * behind a heading; nothing where there are none. */
enum fa_status cli_lesson_filled(FILE *file, const struct cli_lessons *lessons,
                                 const struct lesson *lesson, int step,
                                 const struct lesson_answer_key *key, struct fa_error *error);
enum fa_status cli_lesson_ask(FILE *file, bool markdown, const struct cli_lessons *lessons,
                              const struct lesson *lesson, const struct lesson_question *question,
                              const char *words, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
