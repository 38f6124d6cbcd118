/*
 * Runs to look at, from options: what stands between the words of the command line and the
 * visualizer. Chips that a click changes are the same words changed, parsed again.
 */
#ifndef CLI_VIEW_RUNS_H
#define CLI_VIEW_RUNS_H

#include "simulator/cli/problem_options.h"
#include "visualizer/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLI_VIEW_WORDS = 128, CLI_VIEW_WORD_BYTES = 8192 };

/* Options of a command line, each one word, "--name" or "--name=value". May be copied as a whole. */
struct cli_words {
    size_t at[CLI_VIEW_WORDS]; /* where each begins in bytes */
    int n;
    char bytes[CLI_VIEW_WORD_BYTES];
    size_t used;
};

struct cli_view_runs {
    struct cli_words words;            /* of the first run */
    char compare[CLI_VIEW_WORD_BYTES]; /* what the second run's are besides; "": none */
    struct view_option shown[VIEW_MOST_OPTIONS]; /* the first run's chips as they were made last */
    int n_shown;
};

/* Of argv[1 .. argc) the options that describe a run. FA_TOO_LARGE. */
enum fa_status cli_words_take(int argc, char **argv, struct cli_words *words,
                              struct fa_error *error);

const char *cli_word(const struct cli_words *words, int index); /* below words->n */
bool cli_words_have(const struct cli_words *words, const char *name);

/* Puts an option in place of those of its name; value NULL: takes them out; "": without a value. */
enum fa_status cli_words_set(struct cli_words *words, const char *name, const char *value,
                             struct fa_error *error);

/* The text's options in place of those of their names; --no-causal takes --causal out, --n and --nq
 * or --nk take each other's place. Words are split at spaces, and ' and " keep what is between them
 * together. FA_BAD_ARGUMENT for a quote that is not closed and for a word that is no option;
 * FA_TOO_LARGE. */
enum fa_status cli_words_merge(const char *text, struct cli_words *words, struct fa_error *error);

/* Reads the words as options of a run, on top of cli_problem_defaults. What they point to lies in
 * `words`. Errors: those of cli_parse. */
enum fa_status cli_words_parse(struct cli_words *words, struct cli_problem *options,
                               struct fa_error *error);

/* Where no word says how large the problem is, a view is small enough for its cells to be read: N =
 * 16, d = 4, tiles of 4x4 in 512 bytes (backward 1 KiB), tidy inputs. FA_TOO_LARGE. */
enum fa_status cli_view_small(struct cli_words *words, struct fa_error *error);

/* Reads the first run's words, or those and the second's, and executes. Chips come back in
 * `options`. blocks (may be NULL): Tr x Tc bytes in place of the options' block mask. Errors: those
 * of cli_parse, cli_inputs_open and view_run_open. */
enum fa_status cli_view_open(struct cli_view_runs *runs, int which, const uint8_t *blocks,
                             const struct fa_watch *watch, struct view_run **run,
                             struct view_option *options, int *n_options, struct fa_error *error);

/* A run's chips, which say all that makes it what it is; at most VIEW_MOST_OPTIONS. `options` gives
 * what a trace's header does not hold: the profile, the block pattern's text. view_chips.c. */
void cli_view_chips(const struct cli_problem *options, const struct view_run *run,
                    struct view_option *option, int *n);

/* The first run with chips changed: what the window's state asks for (struct view_host). */
enum fa_status cli_view_change(void *runs, int which, struct view_option *options, int *n_options,
                               const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error);

/* A saved trace. Its header's options are run again, and only if that gives the same events does
 * the run have values. Sets the words of the runs. */
enum fa_status cli_view_load(struct cli_view_runs *runs, const char *path,
                             const struct fa_watch *watch, struct view_run **run,
                             struct view_option *options, int *n_options, struct fa_error *error);

/* A dropped file: a trace, or q.npy, k.npy or v.npy, whose folder becomes --in. */
enum fa_status cli_view_take_file(void *runs, const char *path, struct view_option *options,
                                  int *n_options, struct fa_error *error);

/* The scenario as a command line: "flashlab view --n 16 --d 4". */
void cli_view_command(const struct cli_view_runs *runs, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
