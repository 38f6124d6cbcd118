/*
 * Runs for lessons: what reads a lesson's words of options, counts them, and looks into executed
 * runs. The last few are kept by their words, since a question asks for several values of one run.
 */
#ifndef CLI_LESSON_RUNNER_H
#define CLI_LESSON_RUNNER_H

#include "lessons/answers.h"
#include "simulator/cli/view_runs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cli_lesson_runner;

/* folder: that of the lessons, kept. FA_NO_MEMORY. */
enum fa_status cli_lesson_runner_open(const char *folder, struct cli_lesson_runner **runner,
                                      struct fa_error *error);
void cli_lesson_runner_close(struct cli_lesson_runner *runner); /* NULL is fine */

const char *cli_lesson_runner_folder(const struct cli_lesson_runner *runner);

/* What answers.h asks; it lives as long as the runner. */
const struct lesson_runner *cli_lesson_runner_face(const struct cli_lesson_runner *runner);

/* Words as after `flashlab view`, faulty algorithms too; files are sought in the lessons' folder
 * first. FA_BAD_ARGUMENT, FA_TOO_LARGE. */
enum fa_status cli_lesson_words_read(const char *text, const char *folder, struct cli_words *words,
                                     struct fa_error *error);

/* A painted block mask of rows x columns tiles, in place of the one before; `word` names it in
 * words of options that the runner reads, as a pattern. FA_NO_MEMORY. */
enum { CLI_PAINTED_WORD = 48 };
enum fa_status cli_lesson_paint(struct cli_lesson_runner *runner, int64_t rows, int64_t columns,
                                const uint8_t *blocks, char word[CLI_PAINTED_WORD],
                                struct fa_error *error);

/* Words of a run of the lesson's for a student's seed (-1: none): other inputs, but for those from
 * files, and of a lesson that varies other sizes, but at steps with sizes of their own. Errors:
 * those of lesson_words_join. lesson_seed.c. */
enum fa_status cli_lesson_seed(const struct lesson *lesson, const char *words, int64_t seed,
                               char out[LESSON_WORDS], struct fa_error *error);

/* Whether a seed (-1: none) gives the words other numbers. */
bool cli_lesson_is_seeded(const struct lesson *lesson, const char *words, int64_t seed);

/* "flashlab view --lesson 40 --step 3": what opens a step (from 0) as its lesson has it, of the
 * folder that --lessons named (NULL: it was not given). lesson_seed.c. */
void cli_lesson_command(const struct lesson *lesson, int step, const char *folder, char *text,
                        size_t size);

/* The words' run, executed; the runner's, until some other run takes its place: use it at once.
 * Errors: those of cli_view_open. */
enum fa_status cli_lesson_run(struct cli_lesson_runner *runner, const char *words,
                              struct view_run **run, struct fa_error *error);

/*
 * A quantity of a forward run by the name that measured("...") has for it ("new_maxima" is as
 * good):
 *   "new maxima"      of a row's scores, key by key, those above all before them; mean over rows
 *   "O error"         largest difference of O from the exact one
 *   "O rms"           its root mean square
 *   "LSE error", "LSE rms"; "S error", "S rms", "P error", "P rms"
 *                     the same of other stages; S and P of head 0: view_run_stage_errors
 *   "first bad tile"  key tile after which O on chip is not the softmax so far; -1: none
 *   "bad value"       largest |O - softmax so far| of any tile
 *   "shuffled"        largest change of O when the tiles of K and V come in another order
 *   "other turn"      tiles that come in another turn in the backward pass than forward, head 0
 *   "other bits"      keep bits of it that differ if each pass deals them out: view_run_turns
 * FA_BAD_ARGUMENT for another name, and where the run has no such quantity. lesson_measure.c.
 */
enum fa_status cli_lesson_measure(struct cli_lesson_runner *runner, const char *words,
                                  const char *name, double *value, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
