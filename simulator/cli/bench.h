/*
 * Measurements of `flashlab bench`: what is timed, against which peer, in the same process.
 *
 * Entries that are compared take turns, round by round, so that a machine whose speed drifts
 * treats them alike; each row carries the median and the range over the rounds.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "simulator/cli/bench_gpu.h"
#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_ROWS = 64, BENCH_ROUNDS = 99 };

/* What the command line sets. `bench gpu` has options of its own, and a module: bench_gpu.h. */
struct bench_options {
    struct cli_options base;
    int64_t rounds, threads;
    struct bench_gpu_options gpu;
};

struct bench_row {
    char bench[16];   /* "attention" */
    char entry[32];   /* "flash2 counted" */
    char setting[64]; /* "N 4096, d 64, 1 thread" */
    char unit[24];    /* of the figures: "ms", "ns/tile" */
    double median, least, most;
    int rounds;
    double ratio; /* the peer's time over this one, median of the rounds; 0: no peer */
    char peer[32];
};

struct bench {
    int rounds;  /* 1 to BENCH_ROUNDS */
    int threads; /* the most that an entry is run with */
    const struct fa_watch *watch; /* ticked between runs */
    struct bench_row rows[BENCH_ROWS];
    int n_rows;
    double done, total; /* runs */
};

/* Seconds on a clock that only goes forward. */
double bench_clock(void);

/* One more run is done: false if the user stopped the work. */
bool bench_tick(struct bench *bench);

/*
 * Adds a row for values[rounds]; with peer_values, its ratio too. Sorts neither.
 */
void bench_add(struct bench *bench, const char *name, const char *entry, const char *setting,
               const char *unit, const double *values, const char *peer,
               const double *peer_values);

/* Each adds rows. FA_NO_MEMORY, FA_CANCELLED, and what the runs themselves return. */
enum fa_status bench_attention(struct bench *bench, struct fa_error *error);
enum fa_status bench_count(struct bench *bench, struct fa_error *error);
enum fa_status bench_trace(struct bench *bench, struct fa_error *error);
enum fa_status bench_memory(struct bench *bench, struct fa_error *error);
enum fa_status bench_view(struct bench *bench, struct fa_error *error);

/* A counted run's trace of about a million events, which bench_trace and bench_view measure on. */
enum fa_status bench_make_trace(struct sim_trace **trace, struct fa_error *error);

/* Runs that each of them ticks. */
double bench_attention_runs(const struct bench *bench);
double bench_view_runs(const struct bench *bench);

/* The BLAS that the peer calls, or NULL: then bench_attention measures no peer. */
const char *bench_peer_name(void);

#ifdef __cplusplus
}
#endif
#endif
