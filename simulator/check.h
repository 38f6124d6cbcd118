/*
 * Checking a forward result against the double oracle.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "reference/algorithm.h"
#include "reference/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_check_mode {
    SIM_CHECK_NONE,
    SIM_CHECK_SAMPLE, /* all rows up to nq = 8192, 256 a head above */
    SIM_CHECK_FULL
};

enum { SIM_CHECK_ALL_ROWS = 8192, SIM_CHECK_SAMPLED_ROWS = 256 };

struct sim_check {
    int64_t rows; /* compared, over all heads */
    bool sampled; /* fewer than there are */
    struct fa_comparison o, lse;
    double o_budget, lse_budget;
    bool pass;
    /* Of the worst element of O: */
    int64_t worst_head, worst_row, worst_column;
};

/*
 * Compares o and lse (shapes as in problem.h) with the oracle on q, k, v as stored. The budgets
 * are twice the error of fa_naive_rows on the same rows plus the format's roundoff at the largest
 * value; error_factor multiplies the naive error's part (flash1 in 16 bits rounds O at each of Tc
 * stores: sqrt(Tc)). threads >= 1. watch may be NULL.
 * Errors: FA_NO_MEMORY, FA_CANCELLED.
 */
enum fa_status sim_check_forward(const struct fa_problem *problem, const struct fa_tensor *q,
                                 const struct fa_tensor *k, const struct fa_tensor *v,
                                 const struct fa_tensor *o, const struct fa_tensor *lse,
                                 enum sim_check_mode mode, double error_factor, int threads,
                                 const struct fa_watch *watch, struct sim_check *check,
                                 struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
