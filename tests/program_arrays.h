/*
 * The .npy files that tests of the command line make and compare. A name stands for a path in the
 * test's folder; each function fails the running test where something is not as it says.
 */
#ifndef PROGRAM_ARRAYS_H
#define PROGRAM_ARRAYS_H

#include "reference/npy.h"

/* The file in f64; free it with fa_npy_free. */
struct fa_npy program_read_array(const char *name);
int64_t program_count_elements(const struct fa_npy *array);

/* Both files have the rank and shape, and differ by at most `budget`. */
void program_expect_same_arrays(const char *got_name, const char *expected_name, double budget);

/* The header's type and shape, as in "<f4" and "2, 4, 37". */
void program_expect_header(const char *name, const char *descr, const char *shape);

/* Writes an array of values that rise by 1/64, or all `value` where that is not NaN. */
void program_write_array(const char *name, enum fa_dtype dtype, int rank, const int64_t *shape,
                         double value);

void program_make_folder(const char *name);

#endif
