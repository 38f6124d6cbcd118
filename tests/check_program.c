#include "tests/check_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/program_arrays.h"
#include "tests/program_expect.h"

void check_write_back(const char *name, const struct fa_npy *array, enum fa_dtype dtype)
{
    struct fa_npy made = *array;
    struct fa_error error = {FA_OK, ""};
    int64_t n = program_count_elements(array);
    made.dtype = dtype;
    made.data = malloc((size_t)n * 8 + 1);
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(dtype, made.data, i, ((const double *)array->data)[i]);
    if (fa_npy_write(program_path(name), &made, &error) != FA_OK)
        fail_msg("%s", error.text);
    free(made.data);
}

void check_change(const char *name, enum fa_dtype dtype, double (*value)(int64_t i, double right))
{
    struct fa_npy array = program_read_array(name);
    double *data = array.data;
    for (int64_t i = 0; i < program_count_elements(&array); i++)
        data[i] = value(i, data[i]);
    check_write_back(name, &array, dtype);
    fa_npy_free(&array);
}

void check_expect_fault(const char *line, const char *fault, const char *in)
{
    bool right = strcmp(fault, "none") == 0;
    json_t *object = program_run_json(line, right ? 0 : 1);
    const char *got = json_string_value(json_at(object, "fault"));
    if (!got || strcmp(got, fault) != 0)
        fail_msg("%s: %s (%s): expected %s", line, got,
                 json_string_value(json_at(object, "looks_like")), fault);
    assert_true(json_is_true(json_at(object, "pass")) == right);
    assert_true(json_is_null(json_at(object, "looks_like")) == right);
    assert_true(json_is_null(json_at(object, "where")) == right);
    if (right)
        assert_true(json_is_null(json_at(object, "in")));
    else
        assert_string_equal(json_string_value(json_at(object, "in")), in);
    json_decref(object);
}

void check_expect_refusal(const char *line, const char *code, const char *text)
{
    char json_line[256];
    struct program_run run = program_run_line(line);
    const char *after = strstr(run.err, "flashlab check: ");
    if (run.status != 2 || run.out[0] || after != run.err || !strstr(run.err, text))
        fail_msg("%s: status %d, %s%s: expected %s", line, run.status, run.out, run.err, text);
    program_run_free(&run);
    snprintf(json_line, sizeof json_line, "%s --format json", line);
    json_t *object = program_run_json(json_line, 2);
    assert_string_equal(json_string_value(json_at(object, "error.code")), code);
    assert_non_null(strstr(json_string_value(json_at(object, "error.message")), text));
    json_decref(object);
}
