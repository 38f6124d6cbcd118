#include "tests/program_arrays.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reference/compare.h"
#include "tests/program_run.h"

struct fa_npy program_read_array(const char *name)
{
    struct fa_npy array = {.rank = -1};
    struct fa_error error = {FA_OK, ""};
    if (fa_npy_read(program_path(name), FA_F64, &array, &error) != FA_OK)
        fail_msg("%s", error.text);
    return array;
}

int64_t program_count_elements(const struct fa_npy *array)
{
    int64_t n = 1;
    for (int axis = 0; axis < array->rank; axis++)
        n *= array->shape[axis];
    return n;
}

/* Both files have the rank and shape, and differ by at most `budget`. */
void program_expect_same_arrays(const char *got_name, const char *expected_name, double budget)
{
    struct fa_npy got = program_read_array(got_name), expected = program_read_array(expected_name);
    struct fa_comparison comparison = fa_comparison_start();
    assert_int_equal(got.rank, expected.rank);
    assert_memory_equal(got.shape, expected.shape, (size_t)got.rank * sizeof *got.shape);
    fa_comparison_add(&comparison, got.data, expected.data, program_count_elements(&got));
    if (!fa_comparison_within(&comparison, budget))
        fail_msg("%s and %s differ by %g", got_name, expected_name, comparison.max_abs_error);
    fa_npy_free(&got);
    fa_npy_free(&expected);
}

/* The header's text, such as "{'descr': '<f4', ... 'shape': (1, 2), }". */
void program_expect_header(const char *name, const char *descr, const char *shape)
{
    size_t n_bytes;
    char pattern[64];
    char *bytes = program_read_file(program_path(name), &n_bytes);
    assert_non_null(bytes);
    assert_true(n_bytes >= 128);
    bytes[127] = '\0';
    snprintf(pattern, sizeof pattern, "'descr': '%s'", descr);
    assert_non_null(strstr(bytes + 10, pattern));
    snprintf(pattern, sizeof pattern, "'shape': (%s)", shape);
    if (!strstr(bytes + 10, pattern))
        fail_msg("%s: %s: expected %s", name, bytes + 10, pattern);
    free(bytes);
}

/* Writes an array of f64 values that rise by 1/64, or all `value` where that is not NaN. */
void program_write_array(const char *name, enum fa_dtype dtype, int rank, const int64_t *shape,
                        double value)
{
    struct fa_npy array = {.dtype = dtype, .rank = rank};
    struct fa_error error = {FA_OK, ""};
    memcpy(array.shape, shape, (size_t)rank * sizeof *shape);
    int64_t n = program_count_elements(&array);
    array.data = calloc((size_t)n + 1, 8);
    assert_non_null(array.data);
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(dtype, array.data, i, isnan(value) ? (double)(i % 64) / 64 : value);
    if (fa_npy_write(program_path(name), &array, &error) != FA_OK)
        fail_msg("%s", error.text);
    free(array.data);
}

void program_make_folder(const char *name)
{
    assert_true(mkdir(program_path(name), 0777) == 0);
}
