/*
 * `flashlab counters`: what was counted, beside what a GPU's own counters say.
 *
 * The counted side executes loops: those of a rung's kernels (kernel_walk.h), or of an algorithm
 * with given tiles. The measured side is a CSV of NVIDIA's profiler ncu, which the command runs on
 * itself or is given. A gap has a reason only where another counter shows one; what is left is
 * called unexplained.
 *
 * Units: bytes; a sector, 32 bytes, is what a transfer between L1, L2 and DRAM takes at least.
 */
#ifndef CLI_COUNTERS_COMMAND_H
#define CLI_COUNTERS_COMMAND_H

#include "cuda/gpu_device.h"
#include "cuda/ncu_csv.h"
#include "simulator/cli/problem_options.h"
#include "simulator/kernel_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The counters that are asked for. The first four have a counted number beside them; the others
 * give reasons. */
enum counter {
    COUNTER_READ,       /* L2 to SM */
    COUNTER_WRITE,      /* SM to L2 */
    COUNTER_DRAM_READ,  /* beside it: each tensor of a kernel once */
    COUNTER_DRAM_WRITE, /* likewise */
    COUNTERS_BESIDE,
    COUNTER_LOCAL_LOAD = COUNTERS_BESIDE, /* spilled registers, read again */
    COUNTER_LOCAL_STORE,
    COUNTER_LOAD_SECTORS, /* of global loads, as L1 is asked for them */
    COUNTER_LOAD_HITS,    /* of those, what L1 had */
    COUNTER_STORE_SECTORS,
    COUNTER_ADD_SECTORS, /* of reductions, which add to memory and read nothing */
    COUNTER_L2_HITS,     /* of what the SMs read */
    COUNTERS_ALL
};

/* Names as ncu has them. */
extern const char *const counters_metric[COUNTERS_ALL];

enum { COUNTERS_REASONS = 3, COUNTERS_LISTED = 16 };

struct counters_reason {
    const char *name; /* "spills" */
    const char *what; /* what the counter shows, after a number of bytes */
    uint64_t seen;    /* by that counter: the most that it can account for */
    uint64_t accounts;
};

struct counters_row {
    bool measured_too; /* false: the CSV has not this counter */
    uint64_t counted, measured;
    struct counters_reason reason[COUNTERS_REASONS];
    int n_reasons;
    uint64_t unexplained; /* of the distance between the two */
};

/* A kernel that was counted, and the launches in the CSV that stand for it. */
struct counters_kernel {
    struct sim_walked_kernel counted;
    const char *name; /* the first launch's */
    int launches,
        kinds; /* kinds: different kernels, whose sum is taken; of launches of one the mean */
    bool has[COUNTERS_ALL];
    bool refused[COUNTERS_ALL]; /* the CSV has n/a in place of a number */
    uint64_t measured[COUNTERS_ALL];
    uint64_t least_read, most_read; /* COUNTER_READ of a launch; of kinds the sums */
    struct counters_row row[COUNTERS_BESIDE];
    bool has_reuse; /* what the SMs read and DRAM did not give, where L2 counts hits */
    uint64_t reuse_bytes;
};

struct counters_pass {
    bool backward;
    struct sim_walk_tiles tiles;
    struct counters_kernel kernel[SIM_WALKED_KERNELS];
    int n;
    struct counters_row total[COUNTERS_BESIDE]; /* without reasons */
};

struct counters {
    struct cli_problem options; /* first: what the parser fills; algorithms[0] where one is named */
    const char *rung_name, *csv_path, *kernel, *out;
    bool deterministic, launch;
    double within; /* percent, that reads between L2 and SM may be off; below 0: not asked */

    const struct gpu_rung *rung; /* NULL: an algorithm */
    struct fa_problem problem;
    struct counters_pass pass[2];
    int n_passes;
    struct ncu_csv csv;
    /* Kernels of the CSV that none of ours stands for: the names of the first. */
    const char *uncounted[COUNTERS_LISTED];
    int n_uncounted;
};

/* ---- counters_count.c ------------------------------------------------------------------------ */

/* Checks the choice of rung or algorithm, makes the problem, and counts each pass. */
enum fa_status counters_count(struct counters *counters, struct fa_error *error);

/* ---- counters_ncu.c -------------------------------------------------------------------------- */

/* Runs ncu on this program with --launch, and reads what it prints into counters->csv.
 * FA_MISSING_PART without ncu, a device, or the right to read counters; FA_IO. */
enum fa_status counters_profile(struct counters *counters, struct fa_error *error);

/* ---- counters_launch.c ----------------------------------------------------------------------- */

/* The rung once, on random inputs: forward, and for a backward pass that too. */
enum fa_status counters_launch(const struct counters *counters, struct fa_error *error);

/* ---- counters_match.c ------------------------------------------------------------------------ */

/* Finds the launches of each kernel in the CSV and fills the measured side. FA_BAD_FILE, with the
 * kernels that there are, where one is missing, and where the CSV has none of the counters. */
enum fa_status counters_match(struct counters *counters, struct fa_error *error);

/* ---- counters_report.c ----------------------------------------------------------------------- */

/* Whether each pass reads what was counted, within the percentage that was asked for, if any, with
 * the launches that read the least and with those that read the most; false where what it reads is
 * not in the CSV. */
bool counters_agree(const struct counters *counters);

void counters_print(const struct counters *counters, FILE *file);
/* Schema "flashlab.counters/1". */
enum fa_status counters_print_json(const struct counters *counters, FILE *file,
                                   struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
