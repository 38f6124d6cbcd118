/*
 * Small hand-built problems that attention programs got wrong elsewhere, with their right answers:
 * empty rows, hidden NaN, diagonals that cut tiles, long sums, sizes that are a multiple of
 * nothing. They are for every forward computation: oracle, naive run, algorithms.
 */
#ifndef TESTS_FIELD_CASE_H
#define TESTS_FIELD_CASE_H

#include "tests/attention_case.h"

int field_case_count(void);

/*
 * Builds case `index` (0 .. field_case_count() - 1) in dtype. False, *field zeroed, when dtype
 * cannot hold the case's numbers. A right program differs from the answer
 * by no more than a few roundings to the dtype, relative to the largest value, and those of its
 * sums over the keys.
 */
bool field_case_make(struct attention_case *field, int index, enum fa_dtype dtype);

#endif
