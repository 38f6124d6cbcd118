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
    SIM_CHECK_NONE,   /* no row: passes, with rows = 0 */
    SIM_CHECK_SAMPLE, /* all rows up to nq = 8192, 256 a head above */
    SIM_CHECK_FULL
};

enum { SIM_CHECK_ALL_ROWS = 8192, SIM_CHECK_SAMPLED_ROWS = 256 };

/* A part of a tensor, which has a budget of its own: 64 consecutive ones of a head's compared rows
 * (of its keys, for dK and dV). One of fewer elements than this has none (an infinite one): all of
 * them may be small since what they sum cancels, which says nothing about the roundings. */
enum { SIM_CHECK_PART_ROWS = 64, SIM_CHECK_PART_ELEMENTS = 8 };

/* The part of a tensor whose error is the largest share of its budget. */
struct sim_check_part {
    int64_t wrong;             /* parts of the tensor that are above their budgets */
    int64_t head, first, last; /* counted over batch and heads; its first and last row, or key */
    int64_t worst;             /* its worst element, as fa_comparison counts; -1: no part differs */
    double error, budget;      /* its largest error; both 0 if no part differs */
};

struct sim_check {
    int64_t rows; /* compared, over all heads */
    bool sampled; /* fewer than there are */
    struct fa_comparison o, lse;
    double o_budget, lse_budget;
    struct sim_check_part o_part, lse_part;
    int64_t underflowed; /* elements of O that were left out: see sim_check_forward */
    bool pass;
    /* Of the worst element of O: -1 if nothing differs. */
    int64_t worst_head, worst_row, worst_column;
};

/*
 * Adds parts that were compared after those in *sum, whose elements count from `elements` on: of
 * equal shares the first stays.
 */
void sim_check_part_merge(struct sim_check_part *sum, const struct sim_check_part *part,
                          int64_t elements);

/* No part; and one part by itself, which is none if its budget is infinite. */
struct sim_check_part sim_check_part_none(void);
struct sim_check_part sim_check_part_make(const struct fa_comparison *compared, double budget,
                                          int64_t head, int64_t first, int64_t last);

/* Parts of a head of which `rows` are compared. */
int64_t sim_check_parts_of(int64_t rows);

/*
 * The rows of one head that are compared when they are sampled, in ascending order: the first and
 * the last one, the two on each side of where the diagonal (see problem.h) enters and leaves the
 * keys, and one of each of as many equal parts of all rows as make 256 together, drawn by a fixed
 * generator that depends on the head. Needs: nq >= 2048, so that every part has other rows than
 * those.
 */
void sim_check_sample(const struct fa_problem *problem, int64_t head,
                      int64_t rows[SIM_CHECK_SAMPLED_ROWS]);

/* The same for any axis of n places: those of the edges that it has, and one of each of the parts.
 * Needs: n at least 256 times n_edges. */
void sim_check_sample_axis(int64_t n, const int64_t *edges, int64_t n_edges, int64_t head,
                           int64_t sample[SIM_CHECK_SAMPLED_ROWS]);

/*
 * Compares o and lse (shapes as in problem.h, any format; lse may be NULL or without data: not
 * compared) with the oracle on q, k, v as stored. It passes if no element is NaN or infinite on
 * one side only, and no error is above its tensor's budget, nor above that of its part:
 *
 *   budget = 2 error_factor max(e, e0) + 2 u x
 *
 * where e is the largest error of fa_naive_rows on the same rows (elements in which the naive run
 * itself is NaN or infinite where the oracle is not, or the other way round, are left out: f16
 * scores may overflow), x the oracle's largest finite absolute value, and u the unit roundoff: of
 * the problem's dtype for O; for LSE, which is never stored narrower, of f32, or f64 if that is
 * the dtype. e0 is what rounding the sums of an attention in that arithmetic (unit roundoff w: of
 * f32, or f64) costs: for LSE as a random walk, w sqrt(d) max(1, x), and where the algorithm stores S
 * in 16 bits more than once (error_factor > 1) at least u16 x; for O, w sqrt(nk) x for its own sum, and
 * w max(1, largest |LSE|) y for the roundings of scores, which reach O times V: y is the largest finite
 * |v|, 64 x at most. A naive run that is exact by luck (one key, equal weights) is no measure of others. error_factor is what
 * an algorithm is allowed over the naive run (flash1 in 16 bits rounds O at each of Tc stores:
 * sqrt(Tc)).
 *
 * One budget for a whole tensor is set by its largest rows (under a causal mask the first, which
 * average few keys; or one large head), and where others are smaller by more than that, anything
 * passes for them. So every part has a budget of its own, four times what the same rule gives by
 * the part's numbers alone: e, x and the largest |LSE| are the part's, and e is at least u x, for
 * few elements may be exact by luck. The largest |v| is that of all.
 *
 * An infinite V under a weight that is positive, but underflows to 0 in that arithmetic, is 0 * inf =
 * NaN in any kernel, while the oracle, whose doubles do not underflow there, has the infinity. Such an
 * element of O is no fault of the algorithm: where o is NaN, the oracle infinite, and the naive run
 * NaN too, it is left out and counted in `underflowed`. Nothing else is excused: a NaN where the
 * oracle is finite fails, and so does one where the naive run has the infinity.
 *
 * threads >= 1. watch may be NULL; its tick is called by one thread at a time.
 * Errors: FA_NO_MEMORY, FA_CANCELLED; *check is untouched then.
 */
enum fa_status sim_check_forward(const struct fa_problem *problem, const struct fa_tensor *q,
                                 const struct fa_tensor *k, const struct fa_tensor *v,
                                 const struct fa_tensor *o, const struct fa_tensor *lse,
                                 enum sim_check_mode mode, double error_factor, int threads,
                                 const struct fa_watch *watch, struct sim_check *check,
                                 struct fa_error *error);

/* The same, and the budgets of all parts into o_parts and lse_parts (each may be NULL), by heads:
 * sim_check_parts_of the compared rows each. */
enum fa_status sim_check_forward_parts(const struct fa_problem *problem, const struct fa_tensor *q,
                                       const struct fa_tensor *k, const struct fa_tensor *v,
                                       const struct fa_tensor *o, const struct fa_tensor *lse,
                                       enum sim_check_mode mode, double error_factor, int threads,
                                       const struct fa_watch *watch, double *o_parts,
                                       double *lse_parts, struct sim_check *check,
                                       struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
