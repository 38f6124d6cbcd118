/*
 * A small problem for the precision lab, and recipes that are measured on it.
 */
#ifndef TESTS_PRECISION_CASE_H
#define TESTS_PRECISION_CASE_H

#include "reference/precision.h"

enum { N = 200, D = 32, ROWS = 45 }; /* no multiple of tiles or of 32 queries */

extern const bool precision_both[FA_REFERENCE_COUNT];

/* Those sizes, three heads. */
struct fa_precision_case precision_small_case(enum fa_profile profile);

/* Every step in the format, in tiles of 48 keys. */
struct fa_precision_recipe precision_all_of(enum fa_format format);

/* The recipe's errors on the small case, by reference. Fails the test where it is refused. */
void precision_measure(enum fa_profile profile, const struct fa_precision_recipe *recipe,
                       struct fa_precision_error errors[FA_REFERENCE_COUNT]);

#endif
