/*
 * Counters as integers: two runs of one shape, or a run and a closed form.
 */
#ifndef TESTS_COUNTERS_CASE_H
#define TESTS_COUNTERS_CASE_H

#include "simulator/counters.h"

/* Fails the test where one bit of them differs, and prints both; what, algorithm and the shape's
 * number n say of which run they are. */
void counters_expect_same(const struct sim_counters *got, const struct sim_counters *want,
                          const char *what, const char *algorithm, uint64_t n);

#endif
