/*
 * What the two parts of `flashlab check` over the ladder share: cases (check_rungs.c) and repeated
 * calls (check_repeats.c).
 */
#ifndef CLI_CHECK_WALK_H
#define CLI_CHECK_WALK_H

#include "simulator/cli/check_rungs.h"
#include "simulator/cli/progress.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLI_WALK_RUNGS = 32, CLI_WALK_DTYPES = 3 };

struct cli_walk {
    struct cli_rung_check *check;
    const struct gpu_rung *rungs[CLI_WALK_RUNGS];
    int n_rungs;
    enum fa_dtype dtypes[CLI_WALK_DTYPES];
    int n_dtypes;
    struct cli_progress progress;
    struct fa_watch watch; /* for the oracle, whose own share is nothing beside the whole */
    double done, total;    /* calls of a rung */
};

/* FA_CANCELLED after Ctrl-C; draws the bar. */
enum fa_status cli_walk_tick(struct cli_walk *walk, struct fa_error *error);

/* A rung that adds to dQ in any order has a second, deterministic mode. */
bool cli_walk_has_two_modes(const struct gpu_rung *rung, const struct fa_problem *problem);

/* An error that is neither the rung's refusal nor damage: it ends the whole check. */
bool cli_walk_is_fatal(enum fa_status status, const struct gpu_guarded_seen *seen);

/* Whether the call, which was not fatal, gave nothing to compare; then *end and reason say what it
 * ended as. */
bool cli_walk_is_over(enum fa_status status, const struct gpu_guarded_seen *seen,
                      const struct fa_error *error, enum cli_run_end *end, char reason[CLI_REASON]);

/* Judges the outputs that are there by the oracle, into run->output, end and reason. */
enum fa_status cli_walk_judge(struct cli_walk *walk, const struct cli_rung_case *made,
                              const struct fa_tensor output[SIM_OUTPUTS], struct cli_rung_run *run,
                              struct fa_error *error);

/* Fills the check's list of repeated calls. */
enum fa_status cli_walk_repeats(struct cli_walk *walk, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
