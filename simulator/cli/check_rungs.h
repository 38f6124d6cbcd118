/*
 * The command `flashlab check` without --theirs, in parts: the cases, the runs of the rungs over
 * them, and what is said of both.
 */
#ifndef CLI_CHECK_RUNGS_H
#define CLI_CHECK_RUNGS_H

#include "cuda/gpu_device.h"
#include "cuda/guarded_run.h"
#include "reference/field_cases.h"
#include "simulator/cli/problem_options.h"
#include "simulator/faults.h"
#include "simulator/golden.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cli_case_kind {
    CLI_GRID_CASE,  /* sizes by masks, of random inputs */
    CLI_FIELD_CASE, /* reference/field_cases.h, and each with d = dv = 64 where it is less */
    CLI_GOLDEN_CASE,
    CLI_CASE_KINDS
};

extern const char *const cli_case_kinds[CLI_CASE_KINDS]; /* "grid", "field", "golden" */

struct cli_case_entry {
    enum cli_case_kind kind;
    int index; /* of its kind */
    bool wide; /* zeros to the right of Q, K and V up to 64 columns: no score changes */
    char name[96];
};

struct cli_case_list {
    const char *golden; /* the folder of golden cases; NULL: none */
    struct cli_case_entry *entries;
    int n, of_kind[CLI_CASE_KINDS];
    char golden_names[SIM_GOLDEN_MOST][SIM_GOLDEN_NAME];
};

/* Those whose kind is called `part`, or whose name has it in it (NULL: all). Free it with
 * cli_case_list_free. Errors: those of sim_golden_list, FA_NO_MEMORY, FA_BAD_ARGUMENT where none is
 * left. */
enum fa_status cli_case_list_make(struct cli_case_list *list, const char *golden, const char *part,
                                  struct fa_error *error);
void cli_case_list_free(struct cli_case_list *list);

/*
 * One case, ready to run. It stays where it was made: the problem points into it. An element mask
 * that all heads share has become a block mask of 1 x 1 blocks, which rungs take.
 */
struct cli_rung_case {
    struct fa_problem problem;
    struct fa_tensor q, k, v, d_o;
    struct fa_field_case field; /* what the problem may point to */
    struct sim_golden golden;
    struct fa_block_mask blocks;
    uint8_t *visit;
};

/* Errors: FA_UNSUPPORTED where the dtype cannot hold the numbers, FA_NO_MEMORY, those of
 * sim_golden_read. Free it with cli_rung_case_free. */
enum fa_status cli_rung_case_make(const struct cli_case_list *list, int at, enum fa_dtype dtype,
                                  struct cli_rung_case *made, struct fa_error *error);
void cli_rung_case_free(struct cli_rung_case *made);

/* The problem that is repeated: many blocks, several tiles, causal. */
enum fa_status cli_repeated_case_make(enum fa_dtype dtype, struct cli_rung_case *made,
                                      struct fa_error *error);

enum { CLI_REASON = 1024 }; /* bytes of a text that says why */

enum cli_run_end { CLI_RUN_RIGHT, CLI_RUN_WRONG, CLI_RUN_REFUSED };

/* One rung over one case. */
struct cli_rung_run {
    const struct gpu_rung *rung;
    int entry; /* in the list */
    enum fa_dtype dtype;
    bool backward;      /* the gradients are judged too, or it is the backward pass that refused */
    bool deterministic; /* the option's; false where the rung has one mode alone */
    enum cli_run_end end;
    struct sim_judged output[SIM_OUTPUTS];
    char reason[CLI_REASON]; /* why it is wrong or was refused; "" for right */
};

/* Equal calls of one rung. */
struct cli_rung_repeat {
    const struct gpu_rung *rung;
    enum fa_dtype dtype;
    bool backward, deterministic;
    bool bits; /* the bits must be equal, and not only the values within the budget */
    enum cli_run_end end;
    int64_t times;
    char reason[CLI_REASON];
};

struct cli_rung_check {
    struct cli_problem problem;        /* --dtype, --pass, --threads, --format */
    const char *rungs, *part, *golden; /* --rung, --case, --golden; NULL: all, all, none */
    int64_t repeats;
    struct gpu_device device;
    struct cli_case_list list;
    struct cli_rung_run *runs;
    int n_runs, runs_taken;
    struct cli_rung_repeat *repeated;
    int n_repeated;
};

/*
 * Everything: finds the device, walks the cases, fills runs and repeated.
 * Errors: FA_MISSING_PART without kernels, a device, or code for the device, or where a rung that
 * was named took none of the cases; FA_BAD_ARGUMENT for an unknown rung; FA_CANCELLED; FA_NO_MEMORY;
 * FA_IO where a kernel failed, after which no call to the device works.
 */
enum fa_status cli_rung_check_run(struct cli_rung_check *check, struct fa_error *error);
void cli_rung_check_free(struct cli_rung_check *check);

bool cli_rung_check_passes(const struct cli_rung_check *check);

void cli_rung_check_print(const struct cli_rung_check *check);
enum fa_status cli_rung_check_print_json(const struct cli_rung_check *check,
                                         struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
