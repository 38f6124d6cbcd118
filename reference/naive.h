/*
 * Attention as a careful but naive program computes it in the problem's own dtype: the yardstick
 * of rounding.
 *
 * Its error against the oracle (oracle.h) is what an exact kernel of that dtype may make; the
 * budget of a check is twice that. It shares neither mask nor softmax code with the oracle or with
 * the algorithms.
 */
#ifndef FA_NAIVE_H
#define FA_NAIVE_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rows `rows[n_rows]` of query head `head` (0 .. batch * heads - 1, batch-major), as doubles.
 * With f64 all arithmetic is in double; with f32, f16 and bf16 it is in f32, one operation after
 * the other, sums in the order of the columns and of the keys, and
 *   - q, k, v are rounded to the dtype first (nothing changes when they are stored in it);
 *   - a score is rounded to the dtype after scale and bias;
 *   - a weight exp(s - m) / l is rounded to the dtype after the division, and with dropout, if it
 *     is kept, once more after the division by 1 - p;
 *   - O is rounded to the dtype when it is complete; the LSE stays in f32.
 * Shapes: o[n_rows * dv] and lse[n_rows], in the order of rows.
 * Needs: a problem that fa_problem_check accepts; q, k, v of its shapes in any float format; every
 * row in 0 .. nq - 1.
 * Hidden keys, empty rows and NaN as in oracle.h, judged after rounding: where f16 makes a score
 * below -65519 an infinity, its key is hidden, and one above 65519 makes the row NaN. Results that
 * differ from the oracle in that way make no finite budget.
 * Errors: FA_NO_MEMORY; the outputs are untouched then.
 */
enum fa_status fa_naive_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                             const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                             const int64_t *rows, int64_t n_rows, double *o, double *lse,
                             struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
