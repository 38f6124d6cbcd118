/*
 * One attention problem with its inputs and the right answer, for any test that computes attention:
 * golden_case.h reads such cases from files, field_case.h builds them by hand.
 */
#ifndef TESTS_ATTENTION_CASE_H
#define TESTS_ATTENTION_CASE_H

#include "reference/problem.h"

struct attention_case {
    char name[96];
    struct fa_problem problem; /* points to mask and bias below: never copy the struct */
    struct fa_tensor q, k, v;
    struct fa_tensor mask, bias; /* zeroed when there is none */
    struct fa_tensor o;          /* f64 [batch, heads, nq, dv]: the right answer */
    struct fa_tensor lse;        /* f64 [batch, heads, nq, 1] */
};

/* What fa_oracle_rows and fa_naive_rows have in common. */
typedef enum fa_status attention_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                                      const struct fa_tensor *k, const struct fa_tensor *v,
                                      int64_t head, const int64_t *rows, int64_t n_rows, double *o,
                                      double *lse, struct fa_error *error);

/* Frees the tensors and clears the struct. */
void attention_case_free(struct attention_case *attention);

/*
 * Fails the running test, naming case, tensor and element, unless o and lse (contiguous, shaped as
 * the case's) equal the answer, NaN and infinities included, within `relative` times its largest
 * finite value; a relative of 0 asks for equality.
 */
void attention_case_check(const struct attention_case *attention, const double *o,
                          const double *lse, double relative);

/* Replaces a contiguous tensor by the same values as [batch, rows, heads, columns]; with scatter,
 * the columns do not lie side by side either. */
void attention_tensor_relayout(struct fa_tensor *tensor, bool scatter);

/* All rows of all heads by `compute` into outputs that hold NaN before and stand between guards,
 * then attention_case_check and a look at the guards. */
void attention_case_run(const struct attention_case *attention, attention_rows *compute,
                        double relative);

#endif
