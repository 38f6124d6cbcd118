/*
 * The truth: attention written the obvious way, in double, one row at a time.
 *
 * It shares no mask, tile or softmax code with what it judges: visibility is decided element by
 * element from the sentences of problem.h, the maximum is found first, and nothing is online.
 * Source: equations (1) to (4) of reference/README.md.
 */
#ifndef FA_ORACLE_H
#define FA_ORACLE_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rows `rows[n_rows]` of query head `head` (0 .. batch * heads - 1, batch-major).
 * Shapes: o[n_rows * dv] and lse[n_rows], in the order of rows.
 * Needs: a problem that fa_problem_check accepts; q, k, v of its shapes (any float format: values
 * are used as stored); every row in 0 .. nq - 1.
 * Non-finite values do what IEEE arithmetic makes of them, and a hidden key's K and V are never
 * used: a visible NaN score makes O and the LSE of its row NaN, and so does a score of +inf
 * (inf - inf); a NaN in a visible row of V makes O's components in its columns NaN, also when the
 * weight is 0 by underflow. A NaN at a hidden position has no effect. The V of a dropped weight is
 * not used either; a row whose LSE is NaN is NaN also where all its weights are dropped.
 * Errors: FA_NO_MEMORY.
 */
enum fa_status fa_oracle_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                              const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                              const int64_t *rows, int64_t n_rows, double *o, double *lse,
                              struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
