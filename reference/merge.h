/*
 * Merging partial results: attention over a part of the keys, twice, is attention over both.
 *
 * Two passes over disjoint keys of the same queries each give O and LSE. The pair (O, LSE) is all
 * that the online softmax has to remember of the keys behind it, so two pairs give the pair of the
 * whole, in any order and grouping: split the keys over threads, blocks or machines, merge at the
 * end.
 * Source: equation (10) of reference/README.md.
 */
#ifndef FA_MERGE_H
#define FA_MERGE_H

#include "reference/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One row: (o, lse) becomes the merge of itself with (o_part, lse_part).
 * Shapes: o[dv], o_part[dv].
 * A part with LSE = -inf saw no key: whatever its O holds, NaN too, the result is the other part,
 * bit by bit. Two such parts give O = 0, LSE = -inf. Where both saw keys, an LSE of NaN or +inf
 * makes O and LSE NaN, and a NaN in an O stays in its column.
 */
void fa_merge_row(double *o, double *lse, const double *o_part, double lse_part, int64_t dv);

/* Results of one pass as problem.h shapes them: o [batch, heads, nq, dv], lse [batch, heads, nq, 1],
 * any float formats, any strides. */
struct fa_result {
    const struct fa_tensor *o, *lse;
};

/*
 * Merges a and b row by row into o and lse, in double, rounded once at the end.
 * o and lse may be those of a or of b (with the same strides).
 * Errors: FA_BAD_ARGUMENT for shapes that differ, an lse that does not belong to its o, a mask's
 * format, or a tensor without data; FA_NO_MEMORY. The outputs are untouched then.
 */
enum fa_status fa_merge(struct fa_result a, struct fa_result b, const struct fa_tensor *o,
                        const struct fa_tensor *lse, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
