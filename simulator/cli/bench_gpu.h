/*
 * `flashlab bench gpu`: how fast each rung of the kernel ladder is on this machine's GPU, and why.
 *
 * Rungs at each length, and the device's ceilings (peak.h) among them, are entries of one list.
 * Each is verified against the oracle first, then timed in `repeats` rounds, in a new random order
 * each round. Before a measurement of the burst protocol the device rests for 0.2 s and runs the
 * entry twice; then about 12 ms of launches stand between two events. The hot protocol has no rest
 * and 150 ms of launches. Each launch takes another of the input sets: together they exceed L2, or
 * there are 1024 of them. Right after come some more, beside which a kernel reads the clock.
 *
 * Units: ms for times, bytes, and operations in a second for rates; a figure that could not be
 * measured is NAN.
 */
#ifndef CLI_BENCH_GPU_H
#define CLI_BENCH_GPU_H

#include <stdio.h>

#include "cuda/peak.h"
#include "reference/algorithm.h"
#include "simulator/cli/options.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BENCH_GPU_CLOCK_BYTES = 16, /* of the probe's counts */
    BENCH_GPU_LENGTHS = 16,
    BENCH_GPU_RUNGS = 32,
    BENCH_GPU_ENTRIES = BENCH_GPU_LENGTHS * BENCH_GPU_RUNGS + GPU_CEILINGS
};

/* What the command line asks for. */
struct bench_gpu_options {
    const struct gpu_rung *rungs[BENCH_GPU_RUNGS];
    int n_rungs; /* 0: all */
    int64_t n[BENCH_GPU_LENGTHS];
    int n_lengths;
    int64_t d, tokens, heads, repeats;
    int dtype; /* enum fa_dtype */
    bool causal, backward, hot, ncu;
    const char *csv, *plot; /* NULL: none */
};

extern const struct bench_gpu_options bench_gpu_defaults;
extern const struct cli_group bench_gpu_group;

struct bench_spread {
    double median, low, high; /* low and high: the quartiles */
};

/* One length: its problem, and for each input set the O and LSE of a forward pass. */
struct bench_gpu_length {
    struct fa_problem problem;
    char *o, *lse; /* device memory */
};

/* What a launch moves. */
struct bench_gpu_bytes {
    double read, write; /* between L2 and the multiprocessors, counted: kernel_walk.h */
    double memory;      /* each tensor of each kernel once */
    double measured_read, measured_write; /* the first two by the hardware's counters, with --ncu */
    bool dq_is_owned;                     /* a backward pass of two kernels */
};

struct bench_gpu_entry {
    const struct gpu_rung *rung; /* NULL: a ceiling */
    enum gpu_ceiling ceiling;
    const struct bench_gpu_length *length; /* of a rung */
    char refused[256];                     /* why it was not timed; "": it was */
    bool wrong;                            /* ... because it disagrees with the oracle */
    double error, budget; /* of the worst tensor: the largest error, and what it may be */
    double work;          /* of a launch: FLOPs by the papers' convention, or a ceiling's units */
    int launches;         /* of a measurement */
    double *ms, *ghz;     /* of each repeat */
    struct bench_spread time, clock;
    double rate; /* work in a second, by the median */
    struct bench_gpu_bytes bytes;
    /* The longest of what the products, the exponentials, the bytes between L2 and the
     * multiprocessors and those of memory take at the measured ceilings: a roofline. */
    double predicted_ms;
    const char *bound_by; /* "products", "exp", "l2" or "memory" */
};

static inline bool bench_gpu_is_timed(const struct bench_gpu_entry *entry)
{
    return entry->refused[0] == '\0';
}

struct bench_gpu {
    const struct bench_gpu_options *options;
    const struct fa_watch *watch;
    struct gpu_device device;
    struct bench_gpu_length lengths[BENCH_GPU_LENGTHS];
    struct bench_gpu_entry entries[BENCH_GPU_ENTRIES];
    int n_entries, n_sets;
    unsigned turn;     /* of the input sets */
    int64_t set_bytes; /* of q, k, v and dO together */
    char *inputs;      /* n_sets times q, k, v, dO */
    char *gradients;   /* dq, dk, dv */
    void *workspace, *scratch, *clock;
    int64_t workspace_bytes;
    double done, total; /* of the progress bar, in measurements */
};

/* ---- bench_gpu_inputs.c ---------------------------------------------------------------------- */

/* Fills the list of entries, takes the device memory and uploads the inputs. What was taken is
 * given back by bench_gpu_close, also after an error. FA_MISSING_PART, FA_NO_MEMORY,
 * FA_BAD_ARGUMENT. */
enum fa_status bench_gpu_open(struct bench_gpu *bench, struct fa_error *error);
void bench_gpu_close(struct bench_gpu *bench);

/* The tensors of an entry's forward and backward pass on an input set. */
void bench_gpu_tensors(const struct bench_gpu *bench, const struct bench_gpu_length *length,
                       int set, struct gpu_forward *forward, struct gpu_backward *backward);

/* ---- bench_gpu_verify.c ---------------------------------------------------------------------- */

/*
 * Runs the entry's rung on the first input set, into outputs that nobody wrote, and compares
 * sampled rows of O and LSE, or of dQ, with the oracle; a backward pass also all of dQ, dK and dV
 * at a small length. Sets error and budget, and refused and wrong where they disagree or the rung
 * does not take the problem. Errors: what is no fault of the rung.
 */
enum fa_status bench_gpu_verify(struct bench_gpu *bench, struct bench_gpu_entry *entry,
                                struct fa_error *error);

/* ---- bench_gpu_time.c ------------------------------------------------------------------------ */

/* Measures all entries that were not refused, and sets time, clock and rate. FA_CANCELLED. */
enum fa_status bench_gpu_time(struct bench_gpu *bench, struct fa_error *error);

/* ---- bench_gpu_predict.c --------------------------------------------------------------------- */

/* Counts the bytes of all entries that are not refused, and with --ncu has them measured too.
 * Errors: those of counters_command.h; FA_CANCELLED. */
enum fa_status bench_gpu_find_bytes(struct bench_gpu *bench, struct fa_error *error);

/* Sets predicted_ms and bound_by, once the ceilings are measured. */
void bench_gpu_predict(struct bench_gpu *bench);

/* What was measured for a ceiling, in its units a second; NAN: it was not. */
double bench_gpu_rate(const struct bench_gpu *bench, enum gpu_ceiling which);

/* The product ceiling of the dtype (in f32 that of CUDA cores): what shares of peak are of. */
double bench_gpu_peak(const struct bench_gpu *bench);

/* ---- bench_gpu_report.c ---------------------------------------------------------------------- */

void bench_gpu_print(const struct bench_gpu *bench);
enum fa_status bench_gpu_print_json(const struct bench_gpu *bench, struct fa_error *error);
void bench_gpu_write_csv(const struct bench_gpu *bench, FILE *file);

/* ---- bench_gpu_plot.c ------------------------------------------------------------------------ */

/* Draws the ladder over N with gnuplot; its .csv and .gp stay beside it. Errors: plot.h's. */
enum fa_status bench_gpu_plot(const struct bench_gpu *bench, const char *path,
                              struct fa_error *error);

/* ---- bench_gpu.c ----------------------------------------------------------------------------- */

/* The command's exit status. */
int bench_gpu_run(const struct cli_command *command, const struct bench_gpu_options *options,
                  int format);

#ifdef __cplusplus
}
#endif
#endif
