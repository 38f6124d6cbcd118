/*
 * The backward pass by definition, in double and as a careful naive program computes it.
 *
 * With P the weights of (3), Z the kept mask over 1 - p (all ones without dropout), Pd = P Z and
 * delta(r) = sum_c do(r,c) o(r,c):
 *
 *   dv(j) = sum_r Pd(r,j) do(r)                      (11)
 *   dp(r,j) = Z(r,j) (do(r) . v(j))                  (12)
 *   ds(r,j) = P(r,j) (dp(r,j) - delta(r))            (13)
 *   dq(r) = scale sum_j ds(r,j) k(j)                 (14)
 *   dk(j) = scale sum_r ds(r,j) q(r)                 (15)
 *
 * dk and dv sum over the query heads of a group. A hidden element contributes nothing, whatever its
 * values are; the gradients of an empty row and of a key that no query sees are 0.
 */
#ifndef FA_GRADIENTS_H
#define FA_GRADIENTS_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which part of one K/V head's gradients is wanted: `rows` of each of its query heads for dq, and
 * `keys` for dk and dv. */
struct fa_gradient_parts {
    const int64_t *rows, *keys;
    int64_t n_rows, n_keys;
};

/*
 * For K/V head `kv_head` (0 .. batch * kv_heads - 1, batch-major), whose group has
 * g = heads / kv_heads query heads.
 * Shapes: dout as o in problem.h; dq[g * n_rows * d], dk[n_keys * d], dv[n_keys * dv], in the order
 * of rows and keys; any of the three may be NULL.
 * fa_oracle_gradients: double, on values as stored, from the same sentences as oracle.h.
 * fa_naive_gradients: f32 accumulation (f64: f64); S, P, dP, dS and the results rounded to the
 * dtype, as the forward naive run rounds S, P and O; delta in f32 (f64).
 * Errors: FA_NO_MEMORY.
 */
enum fa_status fa_oracle_gradients(const struct fa_problem *problem, const struct fa_tensor *q,
                                   const struct fa_tensor *k, const struct fa_tensor *v,
                                   const struct fa_tensor *dout, int64_t kv_head,
                                   const struct fa_gradient_parts *parts, double *dq, double *dk,
                                   double *dv, struct fa_error *error);
enum fa_status fa_naive_gradients(const struct fa_problem *problem, const struct fa_tensor *q,
                                  const struct fa_tensor *k, const struct fa_tensor *v,
                                  const struct fa_tensor *dout, int64_t kv_head,
                                  const struct fa_gradient_parts *parts, double *dq, double *dk,
                                  double *dv, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
