/*
 * Table 3 of FlashAttention-3 (Shah et al., arXiv 2407.08608, section 4.3) as recipes of the
 * precision lab: what each method rounds where, and the error that was published for it.
 */
#ifndef SIM_PRECISION_TABLE_H
#define SIM_PRECISION_TABLE_H

#include "reference/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_precision_method {
    const char *id;    /* "standard-f16" */
    const char *title; /* "standard, f16" */
    double published;  /* RMSE against attention in f64 */
    struct fa_precision_recipe recipe;
};

/*
 * The rows in the order of the paper; neighbours round their inputs alike where they can. In all,
 * sums are f32 and O is f16.
 *   standard-f16     inputs, S, scaled S and P in f16
 *   flash2-f16, flash3-f16   the same formats but S in f32: one recipe, since to rounding they are
 *                    one algorithm
 *   standard-e4m3    inputs e4m3 with one scale a tensor of a head, S in f16, P x 256 in e4m3
 *   flash3-e4m3      inputs e4m3 with a scale for 128 rows, Q and K rotated, S f32, P x 256 in e4m3
 *   flash3-e4m3-tensor, flash3-e4m3-unrotated   that without block scales; without the rotation
 */
const struct sim_precision_method *sim_precision_methods(int *n);

/* The setting that the table is measured in here, for each of SIM_PRECISION_SEEDS seeds: N = 8448,
 * d = 128, 4 heads, 256 rows of each, the profile `outliers`, one thread, seeds from 1 on. */
struct fa_precision_case sim_precision_setting(void);

enum { SIM_PRECISION_SEEDS = 5 };

/* Over all seeds; rmse is that of all elements together. */
struct sim_precision_error {
    struct fa_precision_error all;
    double least, most; /* the rmse of one seed alone */
};

/*
 * fa_precision_measure with `seeds` seeds, setting->seed, setting->seed + 1 and so on, pooled: one
 * seed decides too much where a few rows make most of the error.
 * errors[n] by recipe and reference; those not wanted are all zero. Errors: those of
 * fa_precision_measure; FA_BAD_ARGUMENT for a number of seeds below 1 or a last seed past 2^64 - 1.
 */
enum fa_status sim_precision_measure(const struct fa_precision_case *setting, int64_t seeds,
                                     const struct fa_precision_recipe *recipes, int n,
                                     const bool wanted[FA_REFERENCE_COUNT],
                                     struct sim_precision_error (*errors)[FA_REFERENCE_COUNT],
                                     struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
