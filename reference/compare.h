/*
 * Comparing results, NaN first.
 *
 * NaN equals only NaN, an infinity only the same infinity; anything else against one of them is a
 * mismatch, whose error is counted as infinite. Finite values differ by |got - expected|.
 */
#ifndef FA_COMPARE_H
#define FA_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fa_comparison {
    int64_t n;             /* elements compared */
    int64_t mismatches;    /* NaN or infinity on one side only (or infinities of two signs) */
    double max_abs_error;  /* over all; INFINITY if there is a mismatch; 0 for n == 0 */
    double sum_of_squares; /* of the finite errors */
    double max_abs_expected; /* over the finite expected values */
    int64_t nonfinite_expected; /* expected values that are NaN or infinite */
    int64_t worst;         /* index of the first largest error; -1 if n == 0 or all are 0 */
};

/* All zero, worst = -1. */
struct fa_comparison fa_comparison_start(void);

/* Adds n elements; their indices go on from those added before. */
void fa_comparison_add(struct fa_comparison *comparison, const double *got, const double *expected,
                       int64_t n);

/* Adds the elements of `part`, whose first index is comparison->n. */
void fa_comparison_merge(struct fa_comparison *comparison, const struct fa_comparison *part);

/* Root mean square of the errors; INFINITY if there is a mismatch; 0 for n == 0. */
double fa_comparison_rms(const struct fa_comparison *comparison);

/* True if no element is a mismatch and no error is above budget. A NaN budget accepts nothing. */
bool fa_comparison_within(const struct fa_comparison *comparison, double budget);

#ifdef __cplusplus
}
#endif
#endif
