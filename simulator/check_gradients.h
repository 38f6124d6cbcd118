/*
 * Checking the result of a backward pass against the double oracle.
 */
#ifndef SIM_CHECK_GRADIENTS_H
#define SIM_CHECK_GRADIENTS_H

#include "simulator/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to here SIM_CHECK_SAMPLE compares all rows of dQ, and all keys of dK and dV; above, 256. */
enum { SIM_CHECK_ALL_GRADIENTS = 2048 };

struct sim_check_gradients {
    int64_t rows, keys; /* compared, over all query heads and over all K/V heads */
    bool sampled;       /* fewer of the one or the other than there are */
    struct fa_comparison dq, dk, dv;
    double dq_budget, dk_budget, dv_budget;
    struct sim_check_part dq_part, dk_part, dv_part; /* heads: query heads for dq, else K/V heads */
    int64_t underflowed; /* elements left out, as sim_check_forward leaves out those of O */
    bool pass;
};

/*
 * Compares dq, dk and dv (shapes as q, k and v in problem.h, any format; each may be NULL or
 * without data: not compared) with fa_oracle_gradients on q, k, v and dout as stored. It passes if
 * no element is NaN or infinite on one side only, and no error is above its tensor's budget, nor
 * above that of its part, which are made as those of sim_check_forward (check.h):
 *
 *   budget = 2 error_factor max(e, e0) + 2 u x
 *
 * where e is the largest error of fa_naive_gradients on the same rows and keys, x the oracle's
 * largest finite absolute value of that gradient, u the unit roundoff of the dtype, and e0 what
 * rounding costs an exact algorithm in that arithmetic (unit roundoff w: of f32, or f64) where the
 * naive run is exact by luck:
 *
 *   dq   w (sqrt(nk) + max(1, L)) x    + C |scale| max |k|
 *   dk   w (sqrt(g nq) + max(1, L)) x  + C |scale| max |q| max(1, sqrt(g nq / nk))
 *   dv   w (sqrt(g nq) + max(1, L)) x
 *
 * Here g is the number of query heads a K/V head, and L the largest |LSE|, for P is formed anew as
 * exp(S - LSE), whose argument is rounded at that size. C is for dP - delta, which may be nothing
 * but the rounding of two equal sums (always where a row sees one key: dq and dk are 0 then, and so
 * is x): w sqrt(dv) T, where T is the largest sum_c |do(r,c) o(r,c)|, and in 16 bits, where O comes
 * back as it was stored, u R more, where R is the largest root of sum_c (do(r,c) o(r,c))^2. The
 * last factor stands for what reaches dk from nq / nk rows a key. All are random walks.
 *
 * A part's budget is, as in check.h, four times what this gives with the part's own e (at least
 * u x) and x; |k| and |q| of its K/V head; and L, T and R of its own rows for dq, for dk and dv of
 * the rows that see any of its keys (and, where rows are sampled, of the nearest before and after
 * them). Its dk has another last factor: W below 1, where W is the largest sum of a key's weights
 * over the rows, and else the root of W; for a key without weight gets nothing of what is left of
 * dP - delta.
 *
 * A part of fewer than SIM_CHECK_PART_ELEMENTS elements has the tensor's budget alone here too. Its
 * numbers are sums of terms of both signs, and a few of them may all be small by cancelling, while
 * what rounding costs follows the terms: neither x nor e of so few says how large those are. It
 * would take the sum of each element's squared terms, which the oracle does not give.
 *
 * Rows and keys are sampled apart, by the K/V head and for all its query heads alike, with the
 * edges that sim_check_sample names; error_factor_dq and error_factor_dkv are what the algorithm is
 * allowed over the naive run.
 *
 * threads >= 1. watch may be NULL; its tick is called by one thread at a time.
 * Errors: FA_NO_MEMORY, FA_CANCELLED; *check is untouched then.
 */
enum fa_status sim_check_backward(const struct fa_problem *problem, const struct fa_tensor *q,
                                  const struct fa_tensor *k, const struct fa_tensor *v,
                                  const struct fa_tensor *dout, const struct fa_tensor *dq,
                                  const struct fa_tensor *dk, const struct fa_tensor *dv,
                                  enum sim_check_mode mode, double error_factor_dq,
                                  double error_factor_dkv, int threads,
                                  const struct fa_watch *watch, struct sim_check_gradients *check,
                                  struct fa_error *error);

/* The same, and the budgets of all parts into parts[0 .. 2] of dq, dk and dv (each may be NULL), by
 * heads: sim_check_parts_of the compared rows, or keys, each. */
enum fa_status sim_check_backward_parts(
    const struct fa_problem *problem, const struct fa_tensor *q, const struct fa_tensor *k,
    const struct fa_tensor *v, const struct fa_tensor *dout, const struct fa_tensor *dq,
    const struct fa_tensor *dk, const struct fa_tensor *dv, enum sim_check_mode mode,
    double error_factor_dq, double error_factor_dkv, int threads, const struct fa_watch *watch,
    double *const parts[3], struct sim_check_gradients *check, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
