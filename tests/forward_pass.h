/*
 * One forward pass of an algorithm over an attention_case, as tests want it: outputs that hold NaN
 * before and stand between guards, any layout, any port, and the budget of its errors.
 */
#ifndef TESTS_FORWARD_PASS_H
#define TESTS_FORWARD_PASS_H

#include "reference/algorithm.h"
#include "tests/attention_case.h"

enum forward_port {
    FORWARD_PLAIN,   /* the plain port */
    FORWARD_COUNTED, /* the instrumented memory, without a capacity */
};

enum forward_layout {
    FORWARD_BHSD,      /* [batch, heads, rows, columns] */
    FORWARD_BSHD,      /* [batch, rows, heads, columns] */
    FORWARD_SCATTERED, /* the same, and two unused elements after each */
};

/* A zeroed rest is a plain run of one thread with contiguous outputs. */
struct forward_pass {
    const struct fa_algorithm *algorithm;
    struct fa_tiles tiles;
    enum forward_port port;
    enum forward_layout layout; /* of o */
    int threads;                /* 0 counts as 1 */
    bool without_lse;           /* nobody asks for lse: the result's stays NaN */
};

/* br x bc, and row-wise steps of row_block rows, column_chunk columns (0: whole rows). */
struct fa_tiles forward_tiles(int64_t br, int64_t bc, int64_t row_block, int64_t column_chunk);

struct forward_result {
    int64_t n_o, n_lse;
    double *o, *lse; /* contiguous [batch, heads, nq, dv] and [batch, heads, nq, 1] */
};

/* Runs the pass. Fails the running test if it is refused, if a guard or a gap between elements was
 * written, or if an output has an element that nobody wrote. */
struct forward_result forward_pass_run(const struct forward_pass *pass,
                                       const struct attention_case *attention);
void forward_result_free(struct forward_result *result);

/* Replaces the case's right answer by the oracle's on the values as they are stored. */
void forward_case_answer(struct attention_case *attention);

/*
 * What a pass may be off by, for O and LSE:
 *
 *   2 f e + 8 u x + w
 *
 * e  the largest error of the naive run (naive.h) on the same case
 * f  sim_error_factor
 * u  the unit roundoff of the dtype for O, of f32 (f64: f64) for LSE, and for `standard`, whose
 *    scores lie in HBM in the dtype, 2 of the dtype's more; in f64, where the oracle rounds too, 64
 *    stands in place of 8
 * x  for O the largest finite |V|, for LSE the largest finite |LSE|, or 1 if that is more
 * w  of sums over nk terms, which the naive run may form without an error by luck: sqrt(nk) u' x,
 *    where u' is f32's or f64's; for flash1, which adds to an O that is normalised already and
 *    rescales it Tc times, (sqrt(nk) + Bc + Tc) u' x
 */
struct forward_budget {
    double naive_o, naive_lse; /* e */
    double v_size, lse_size;   /* x */
};

struct forward_budget forward_budget_make(const struct attention_case *attention);

/* True if the result equals the case's answer within the budget, NaN and infinities in the same
 * places. */
bool forward_result_within(const struct forward_result *result, const struct forward_pass *pass,
                           const struct attention_case *attention,
                           const struct forward_budget *budget);

/* Fails the running test unless the result equals the case's answer within the budget, NaN and
 * infinities in the same places. `label` is printed. */
void forward_result_check(const struct forward_result *result, const struct forward_pass *pass,
                          const struct attention_case *attention,
                          const struct forward_budget *budget, const char *label);

/*
 * All algorithms on one case with its answer, each with several tiles (single cells, ragged ones,
 * ones past the matrix), layouts and ports. On a case of much work each algorithm runs with
 * two of them, others in another dtype, unless `every` asks for all.
 */
void forward_check_all(const struct attention_case *attention, bool every, const char *label);

/* Fails the running test unless both results have the same bits (a NaN is a NaN). */
void forward_result_same(const struct forward_result *a, const struct forward_result *b,
                         const char *label);

#endif
