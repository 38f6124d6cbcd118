/*
 * How large things are that the floors of a gradient's budgets depend on (check_gradients.h).
 */
#ifndef SIM_CHECK_GRADIENT_SIZES_H
#define SIM_CHECK_GRADIENT_SIZES_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* L, T and R of one row. */
struct sim_row_sizes {
    double lse, delta, delta_root;
};

/* The largest L, T, R, |q| and |k| of some rows and keys. */
struct sim_gradient_sizes {
    double lse, delta, delta_root, q, k;
};

/* One K/V head, its rows (of each query head of the group) and keys that are compared. */
struct sim_measured {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v, *dout;
    int64_t kv_head, group, n_rows, n_keys;
    const int64_t *rows, *keys;
    bool weighs; /* whether the weights are wanted */
    /* Filled by sim_measure. */
    struct sim_row_sizes *of_rows; /* [group, n_rows] */
    double *weights;               /* [n_keys]: of each key, summed over all rows */
    struct sim_gradient_sizes all;
};

/* Errors: FA_NO_MEMORY. */
enum fa_status sim_measure(struct sim_measured *measured, struct fa_error *error);

/* What rows first .. first + n - 1 of the group's head depend on. */
struct sim_gradient_sizes sim_measured_rows(const struct sim_measured *measured, int64_t in_group,
                                            int64_t first, int64_t n);

/* What keys first .. first + n - 1 depend on: the rows that see any of them, and where rows are
 * sampled the nearest before and after those too. */
struct sim_gradient_sizes sim_measured_keys(const struct sim_measured *measured, int64_t first,
                                            int64_t n);

/* How much of an error of dP - delta reaches dk of these keys: W, or its root above 1. */
double sim_measured_reach(const struct sim_measured *measured, int64_t first, int64_t n);

/* Rows of a key, on average. */
double sim_measured_rows_a_key(const struct fa_problem *problem);

/* The larger of each. */
void sim_gradient_sizes_merge(struct sim_gradient_sizes *sum,
                              const struct sim_gradient_sizes *sizes);

#ifdef __cplusplus
}
#endif
#endif
