/*
 * What no right output holds, wherever it stands: a look at all elements where only a sample of the
 * rows is compared with the oracle.
 *
 * Where Q, K, V, dO and the bias are finite, no output is NaN or infinite, but for an LSE of
 * -infinity (a row without keys), and none is larger than follows from the largest inputs. With
 * |q|, |k|, |v|, |do| the largest norms of a row, m the largest absolute values, p the dropout, s
 * the scale, g the query heads of a K/V head, and D = |do| |v| / (1 - p):
 *
 *     |O|  <= m(v) / (1 - p)            |dQ| <= 2 |s| D m(k)
 *     |LSE| <= |s| |q| |k| + m(bias) + ln Nk      |dK| <= 2 |s| D m(q) g Nq
 *                                       |dV| <= m(do) g Nq / (1 - p)
 *
 * since |dP - delta| <= 2 D and the weights of a row sum to 1. Each bound has room for the
 * roundings of the format beside the output's budget.
 */
#ifndef SIM_CHECK_SCAN_H
#define SIM_CHECK_SCAN_H

#include "simulator/faults.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_scan_limits {
    int64_t nonfinite; /* elements of the inputs that are NaN or infinite; if any, no limit */
    double bound[SIM_OUTPUTS]; /* without the budget */
};

/* Looks at all inputs; dout may be NULL. */
struct sim_scan_limits sim_scan_limits_make(const struct sim_theirs *theirs);

/* The number of elements of the output beyond its bound and budget; `at`, where there are some, is
 * the first of them (batch, head, row, column), one that is not finite before others. */
int64_t sim_scan_output(const struct sim_theirs *theirs, enum sim_output which,
                        const struct sim_scan_limits *limits, double budget, int64_t at[4]);

#ifdef __cplusplus
}
#endif
#endif
