/*
 * Small hand-built problems that attention programs got wrong elsewhere, with their right answers:
 * empty rows, hidden NaN, diagonals that cut tiles, long sums, sizes that are a multiple of
 * nothing. They are for every forward computation, here or on a device.
 */
#ifndef FA_FIELD_CASES_H
#define FA_FIELD_CASES_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stays where it was made: the problem points to mask and bias. */
struct fa_field_case {
    const char *name;
    struct fa_problem problem;
    struct fa_tensor q, k, v;
    struct fa_tensor mask, bias; /* zeroed when there is none */
    struct fa_tensor o;          /* f64 [batch, heads, nq, dv]: the right answer */
    struct fa_tensor lse;        /* f64 [batch, heads, nq, 1] */
};

int fa_field_case_count(void);

/*
 * Builds case `index` (0 .. fa_field_case_count() - 1) in dtype; free it with fa_field_case_free.
 * A right program differs from the answer by no more than a few roundings to the dtype, relative to
 * the largest value, and those of its sums over the keys.
 * Errors: FA_UNSUPPORTED where the dtype cannot hold the case's numbers, FA_NO_MEMORY; the case is
 * zeroed then.
 */
enum fa_status fa_field_case_make(struct fa_field_case *field, int index, enum fa_dtype dtype,
                                  struct fa_error *error);
void fa_field_case_free(struct fa_field_case *field);

#ifdef __cplusplus
}
#endif
#endif
