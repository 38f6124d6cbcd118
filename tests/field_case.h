/*
 * The field cases of reference/field_cases.h as attention_case. Failures fail the running test.
 */
#ifndef TESTS_FIELD_CASE_H
#define TESTS_FIELD_CASE_H

#include "tests/attention_case.h"

int field_case_count(void);

/* Case `index` (0 .. field_case_count() - 1) in dtype. False, *field zeroed, when dtype cannot hold
 * the case's numbers. */
bool field_case_make(struct attention_case *field, int index, enum fa_dtype dtype);

#endif
