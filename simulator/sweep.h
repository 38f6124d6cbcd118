/*
 * A sweep: the same experiment over a grid of sizes, capacities, tiles and algorithms, counted
 * without arithmetic, on all cores. A point whose tiles do not fit stays in the result as refused.
 */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include <stdio.h>

#include "reference/block_pattern.h"
#include "simulator/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_sweep_key {
    SIM_SWEEP_N,    /* nq and nk together */
    SIM_SWEEP_D,    /* the head size; dv and the scale follow where the base says so */
    SIM_SWEEP_SRAM, /* capacity in bytes */
    SIM_SWEEP_BR,   /* rows of a tile; the other side is the base's, or varied too */
    SIM_SWEEP_BC,
    SIM_SWEEP_ALGORITHM, /* index in fa_algorithms */
    SIM_SWEEP_KEYS
};

const char *sim_sweep_key_name(enum sim_sweep_key key); /* "n", "d", "sram", "br", ... */

enum { SIM_SWEEP_VALUES = 4096, SIM_SWEEP_POINTS = 65536 };

/* One varied quantity. */
struct sim_sweep_axis {
    enum sim_sweep_key key;
    int n;          /* values, 1 .. SIM_SWEEP_VALUES */
    int64_t *value; /* owned: sim_sweep_axis_free */
};

/*
 * Reads "KEY=LIST" or "KEY=RANGE":
 *   sram=16K,64K,192K      a list
 *   n=1024..8192*2         geometric: 1024, 2048, 4096, 8192; the factor a number above 1
 *   br=16..128+16          arithmetic
 *   algorithm=standard,flash2
 * A range holds what it reaches up to its end, which is one of its values only if it is met; a
 * geometric one is rounded to whole numbers at each value. K, M and G are allowed (powers of
 * 1024). A value given twice is refused, as is one below 1 or past 2^31 - 1 (sram: 2^63 - 1).
 * Errors: FA_BAD_ARGUMENT (what is wrong, and what was expected), FA_NO_MEMORY.
 */
enum fa_status sim_sweep_axis_parse(const char *text, struct sim_sweep_axis *axis,
                                    struct fa_error *error);
void sim_sweep_axis_free(struct sim_sweep_axis *axis);

struct sim_sweep_point {
    int64_t value[SIM_SWEEP_KEYS]; /* of each varied key; -1 of others */
    enum fa_status status;         /* FA_OK, FA_DOES_NOT_FIT or FA_TOO_LARGE */
    char *message;                 /* why it was refused; NULL for FA_OK */
    /* For a refused point: its algorithm, problem, machine and policy, and the tiles where they
     * were given; all else is 0. */
    struct sim_result result;
};

struct sim_sweep {
    /* What is asked. The mode is SIM_COUNT_ONLY, whatever base says; base.threads is unused. */
    struct sim_experiment base;
    bool dv_follows_d, scale_follows_d; /* dv = d, scale = 1/sqrt(d) where d is varied */
    const struct fa_block_pattern *pattern; /* made for each point's tiles; NULL: none */
    const struct sim_sweep_axis *axes;  /* different keys; the last one varies fastest */
    int n_axes;
    int threads;
    const struct fa_watch *watch; /* may be NULL */
    /* What came out. */
    struct sim_sweep_point *points;
    int n_points, n_refused;
};

/*
 * Runs the grid. On an error sweep->points stays NULL; on success sim_sweep_free releases them.
 * br or bc on its own takes the other side from base.tiles (SIM_TILES_GIVEN), or 64 where the
 * base has the default policy.
 * Errors: FA_BAD_ARGUMENT (two axes of one key, br or bc with a policy that chooses the tiles, a
 * problem that fa_problem_check refuses), FA_TOO_LARGE (more than SIM_SWEEP_POINTS points),
 * FA_NO_MEMORY, FA_CANCELLED.
 */
enum fa_status sim_sweep_run(struct sim_sweep *sweep, struct fa_error *error);
void sim_sweep_free(struct sim_sweep *sweep);

/*
 * Writes the points as CSV (RFC 4180, but lines end in \n): a header, then a line a point. The
 * columns are the keys of sim_report_json's object, flattened with dots ("hbm.read.elements"), then
 * error.code and error.message. Lists are numbered ("problem.window.0"); null is an empty cell. Of
 * a refused point only what it asked for is written: problem, algorithm, pass, tiles, machine.
 * Errors: FA_NO_MEMORY. Whether the file took it all, the caller finds out (ferror).
 */
enum fa_status sim_sweep_write_csv(const struct sim_sweep *sweep,
                                   const struct sim_provenance *provenance, FILE *file,
                                   struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
