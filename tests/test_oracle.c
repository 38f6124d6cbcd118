#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/oracle.h"
#include "tests/field_case.h"
#include "tests/golden_case.h"

/* What double arithmetic reaches on every case here, relative to the largest value. */
static const double tolerance = 1e-12;

static void golden_cases(void **state)
{
    (void)state;
    const enum fa_dtype exact[] = {FA_F32, FA_F64};
    for (int name = 0; golden_case_names[name]; name++)
        for (int i = 0; i < 2; i++) {
            struct attention_case golden;
            golden_case_load(&golden, golden_case_names[name], exact[i]);
            attention_case_run(&golden, fa_oracle_rows, tolerance);
            attention_case_free(&golden);
        }
}

/* A folder that is not in the list would be a case that nobody looks at. */
static void every_golden_folder_is_listed(void **state)
{
    (void)state;
    int listed = 1, found = 0; /* 1: dropout's */
    for (int name = 0; golden_case_names[name]; name++)
        listed++;
    DIR *folder = opendir(golden_folder());
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        found += !strchr(entry->d_name, '.');
    closedir(folder);
    assert_int_equal(found, listed);
}

static void field_cases(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        for (int i = 0; i < field_case_count(); i++) {
            struct attention_case field;
            if (!field_case_make(&field, i, (enum fa_dtype)dtype))
                continue;
            attention_case_run(&field, fa_oracle_rows, tolerance);
            attention_case_free(&field);
        }
}

/* The numbers as a person would look them up, against the formulas of the hand-built cases. */
static void literal_numbers(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(5, 2, 1);
    float q[5] = {1, 1, 1, 1, 1}, k[2] = {0, 1}, v[2] = {10, 20};
    struct fa_tensor qt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 5, 1}, q);
    struct fa_tensor kt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 2, 1}, k);
    struct fa_tensor vt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 2, 1}, v);
    double o, lse;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    assert_int_equal(fa_oracle_rows(&p, &qt, &kt, &vt, 0, (int64_t[]){4}, 1, &o, &lse, NULL),
                     FA_OK);
    assert_true(fabs(o - 17.3105858) < 1e-7);
    assert_true(fabs(lse - 1.3132617) < 1e-7);
    p.causal = FA_CAUSAL_NONE;
    p.scale = 0;
    assert_int_equal(fa_oracle_rows(&p, &qt, &kt, &vt, 0, (int64_t[]){0}, 1, &o, &lse, NULL),
                     FA_OK);
    assert_true(fabs(lse - 0.6931472) < 1e-7);
}

/* Rows in any order, one twice, more than share the work at a time. */
static void rows_in_any_order(void **state)
{
    (void)state;
    enum { ROWS = 100 };
    struct attention_case golden;
    golden_case_load(&golden, "head_256", FA_F32);
    int64_t dv = golden.problem.dv, rows[ROWS];
    double *o = malloc(ROWS * (size_t)dv * sizeof *o), lse[ROWS];
    assert_non_null(o);
    for (int64_t i = 0; i < ROWS; i++)
        rows[i] = i * 37 % golden.problem.nq;
    assert_int_equal(fa_oracle_rows(&golden.problem, &golden.q, &golden.k, &golden.v, 0, rows, ROWS,
                                    o, lse, NULL),
                     FA_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_true(fabs(lse[i] - fa_tensor_get(&golden.lse, 0, 0, rows[i], 0)) < 1e-11);
        for (int64_t c = 0; c < dv; c++)
            assert_true(fabs(o[i * dv + c] - fa_tensor_get(&golden.o, 0, 0, rows[i], c)) < 1e-11);
    }
    lse[0] = 5; /* No rows: nothing is written. */
    assert_int_equal(fa_oracle_rows(&golden.problem, &golden.q, &golden.k, &golden.v, 0, rows, 0, o,
                                    lse, NULL),
                     FA_OK);
    assert_true(lse[0] == 5);
    free(o);
    attention_case_free(&golden);
}

static void any_strides(void **state)
{
    (void)state;
    for (int scatter = 0; scatter < 2; scatter++) {
        struct attention_case golden;
        golden_case_load(&golden, "gqa_8_2", FA_F32);
        attention_tensor_relayout(&golden.q, scatter);
        attention_tensor_relayout(&golden.k, scatter);
        attention_tensor_relayout(&golden.v, scatter);
        attention_case_run(&golden, fa_oracle_rows, tolerance);
        attention_case_free(&golden);
        golden_case_load(&golden, "mask_random", FA_F32);
        attention_tensor_relayout(&golden.mask, scatter);
        attention_case_run(&golden, fa_oracle_rows, tolerance);
        attention_case_free(&golden);
        golden_case_load(&golden, "bias", FA_F32);
        attention_tensor_relayout(&golden.bias, scatter);
        attention_case_run(&golden, fa_oracle_rows, tolerance);
        attention_case_free(&golden);
    }
}

static void run_all_rows(const struct attention_case *golden, double *o, double *lse)
{
    int64_t nq = golden->problem.nq, rows[512];
    assert_true(nq <= 512);
    for (int64_t row = 0; row < nq; row++)
        rows[row] = row;
    assert_int_equal(fa_oracle_rows(&golden->problem, &golden->q, &golden->k, &golden->v, 0, rows,
                                    nq, o, lse, NULL),
                     FA_OK);
}

/* A window that hides nothing changes no bit, and neither does writing causal as a window. */
static void causal_as_a_window(void **state)
{
    (void)state;
    double o[3][65 * 32], lse[3][65];
    struct attention_case golden;
    golden_case_load(&golden, "causal_65", FA_F32);
    run_all_rows(&golden, o[0], lse[0]);
    golden.problem.window_left = 64;
    golden.problem.window_right = 0;
    run_all_rows(&golden, o[1], lse[1]);
    golden.problem.causal = FA_CAUSAL_NONE;
    run_all_rows(&golden, o[2], lse[2]);
    for (int i = 1; i < 3; i++) {
        assert_memory_equal(o[i], o[0], sizeof o[0]);
        assert_memory_equal(lse[i], lse[0], sizeof lse[0]);
    }
    golden.problem.window_left = 63; /* Hides key 0 from row 64 alone. */
    run_all_rows(&golden, o[1], lse[1]);
    assert_memory_equal(lse[1], lse[0], 64 * sizeof(double));
    assert_true(lse[1][64] < lse[0][64]);
    attention_case_free(&golden);
}

/* What hidden rows of K and V hold changes no bit. */
static void hidden_values_change_nothing(void **state)
{
    (void)state;
    const double poison[] = {NAN, INFINITY, -INFINITY, 3e38};
    double o[2][192 * 128], lse[2][192];
    for (int i = 0; i < 4; i++) {
        struct attention_case golden;
        golden_case_load(&golden, "head_128", FA_F32);
        struct fa_problem *p = &golden.problem;
        assert_int_equal(fa_tensor_create(&golden.mask, FA_U8, (int64_t[]){1, 1, 1, p->nk}, NULL),
                         FA_OK);
        p->mask = &golden.mask;
        for (int64_t key = 0; key < p->nk; key++)
            fa_tensor_set(&golden.mask, 0, 0, 0, key, key % 3 == 0);
        run_all_rows(&golden, o[0], lse[0]);
        for (int64_t key = 0; key < p->nk; key++)
            for (int64_t c = 0; c < p->d && key % 3 != 0; c++) {
                fa_tensor_set(&golden.k, 0, 0, key, c, poison[i]);
                fa_tensor_set(&golden.v, 0, 0, key, c, poison[i]);
            }
        run_all_rows(&golden, o[1], lse[1]);
        assert_memory_equal(o[1], o[0], sizeof o[0]);
        assert_memory_equal(lse[1], lse[0], sizeof lse[0]);
        attention_case_free(&golden);
    }
}

/* More scores than can be asked for: refused, outputs untouched. K and V are never looked at. */
static void no_memory(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1, INT64_MAX / 8, 1);
    float one = 1;
    struct fa_tensor q = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 1}, &one);
    struct fa_tensor k = fa_tensor_view(FA_F32, (int64_t[]){1, 1, p.nk, 1}, NULL);
    struct fa_error error = {FA_OK, ""};
    int64_t row = 0;
    double o = 5, lse = 6;
    p.window_right = p.window_left = INT64_MAX;
    assert_int_equal(fa_problem_check(&p, NULL), FA_OK);
    p.nk++; /* One key more takes the bytes past 2^63 - 1. */
    assert_int_equal(fa_oracle_rows(&p, &q, &k, &k, 0, &row, 1, &o, &lse, &error), FA_NO_MEMORY);
    assert_non_null(strstr(error.text, "no memory for the oracle's 1 rows of 1152921504606846976"));
    assert_true(o == 5 && lse == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(every_golden_folder_is_listed),
        cmocka_unit_test(field_cases),
        cmocka_unit_test(literal_numbers),
        cmocka_unit_test(rows_in_any_order),
        cmocka_unit_test(any_strides),
        cmocka_unit_test(causal_as_a_window),
        cmocka_unit_test(hidden_values_change_nothing),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
