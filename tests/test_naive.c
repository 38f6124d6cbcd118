#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/compare.h"
#include "reference/naive.h"
#include "reference/oracle.h"
#include "tests/field_case.h"
#include "tests/golden_case.h"

static void golden_cases_in_f64(void **state)
{
    (void)state;
    for (int name = 0; golden_case_names[name]; name++) {
        struct attention_case golden;
        golden_case_load(&golden, golden_case_names[name], FA_F64);
        attention_case_run(&golden, fa_naive_rows, 1e-12);
        attention_case_free(&golden);
    }
}

static void field_cases_in_each_dtype(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        for (int i = 0; i < field_case_count(); i++) {
            struct attention_case field;
            if (!field_case_make(&field, i, (enum fa_dtype)dtype))
                continue;
            /* A few roundings to the dtype, and sums of up to 192 equal weights in order. */
            double relative = dtype == FA_F64 ? 1e-13 : 32 * 0x1p-24;
            relative += 4 * fa_dtype_roundoff((enum fa_dtype)dtype);
            attention_case_run(&field, fa_naive_rows, relative);
            attention_case_free(&field);
        }
}

struct errors {
    struct fa_comparison o, lse;
};

static struct errors errors_of(const char *name, enum fa_dtype dtype)
{
    struct attention_case golden;
    struct errors errors = {fa_comparison_start(), fa_comparison_start()};
    golden_case_load(&golden, name, dtype);
    const struct fa_problem *p = &golden.problem;
    size_t n_o = (size_t)(p->nq * p->dv), n_lse = (size_t)p->nq;
    double *o = malloc(2 * n_o * sizeof *o), *lse = malloc(2 * n_lse * sizeof *lse);
    int64_t *rows = malloc(n_lse * sizeof *rows);
    assert_true(o && lse && rows);
    for (int64_t row = 0; row < p->nq; row++)
        rows[row] = row;
    for (int64_t head = 0; head < p->batch * p->heads; head++) {
        assert_int_equal(fa_naive_rows(p, &golden.q, &golden.k, &golden.v, head, rows, p->nq, o,
                                       lse, NULL),
                         FA_OK);
        assert_int_equal(fa_oracle_rows(p, &golden.q, &golden.k, &golden.v, head, rows, p->nq,
                                        o + n_o, lse + n_lse, NULL),
                         FA_OK);
        fa_comparison_add(&errors.o, o, o + n_o, (int64_t)n_o);
        fa_comparison_add(&errors.lse, lse, lse + n_lse, (int64_t)n_lse);
    }
    free(o);
    free(lse);
    free(rows);
    attention_case_free(&golden);
    return errors;
}

/* A yardstick has to be the size of the format's rounding: neither 0 nor many times it. */
static void errors_have_the_size_of_the_roundoff(void **state)
{
    (void)state;
    const char *const names[] = {"dense_64", "causal_65", "head_128", "gqa_8_2", "mask_random"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int dtype = FA_F32; dtype < FA_U8; dtype++) {
            double u = fa_dtype_roundoff((enum fa_dtype)dtype);
            struct errors e = errors_of(names[i], (enum fa_dtype)dtype);
            assert_int_equal(e.o.mismatches, 0);
            assert_int_equal(e.lse.mismatches, 0);
            assert_in_range((int64_t)(e.o.max_abs_error / u * 1000), 100, 16000);
            assert_in_range((int64_t)(e.lse.max_abs_error / u * 1000), 100, 20000);
        }
}

static void any_strides(void **state)
{
    (void)state;
    for (int scatter = 0; scatter < 2; scatter++) {
        struct attention_case golden;
        golden_case_load(&golden, "gqa_8_2", FA_F64);
        attention_tensor_relayout(&golden.q, scatter);
        attention_tensor_relayout(&golden.k, scatter);
        attention_tensor_relayout(&golden.v, scatter);
        attention_case_run(&golden, fa_naive_rows, 1e-12);
        attention_case_free(&golden);
    }
}

/* One query of ones against two keys, all d = dv = 2, given as doubles. */
static void two_keys(enum fa_dtype dtype, const double k[4], const double v[4], double o[2],
                     double *lse)
{
    double q[2] = {1, 1}, k_copy[4], v_copy[4];
    struct fa_problem p = fa_problem_make(1, 2, 2);
    p.scale = 1;
    p.dtype = dtype;
    memcpy(k_copy, k, sizeof k_copy);
    memcpy(v_copy, v, sizeof v_copy);
    struct fa_tensor qt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 1, 2}, q);
    struct fa_tensor kt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 2, 2}, k_copy);
    struct fa_tensor vt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 2, 2}, v_copy);
    int64_t row = 0;
    assert_int_equal(fa_naive_rows(&p, &qt, &kt, &vt, 0, &row, 1, o, lse, NULL), FA_OK);
}

/* Each rounding of the contract, seen in the bits. */
static void rounds_where_the_contract_says(void **state)
{
    (void)state;
    double o[2], lse, exact = 1 / (1 + exp(-1)), weight = fa_dtype_round(FA_BF16, exact);
    /* The score 1 + 2^-9 is rounded to 1; the LSE is f32. */
    two_keys(FA_BF16, (double[]){1, 0x1p-9, 0, 0}, (double[]){1, 1.125, 0, 0}, o, &lse);
    assert_true(fabs(lse - log(exp(1) + 1)) < 4 * 0x1p-24);
    assert_true(lse == (double)(float)lse);
    /* O is rounded, and so is the weight before it, or the second column would differ. */
    assert_true(o[0] == weight);
    assert_true(o[1] == fa_dtype_round(FA_BF16, 1.125 * weight));
    assert_true(o[1] != 1.125 * weight);
    assert_true(o[1] != fa_dtype_round(FA_BF16, 1.125 * exact));
    /* Inputs are rounded first: 1 + 2^-9 is 1 in bf16, which -1 cancels. In f16 2^-9 is left. */
    two_keys(FA_BF16, (double[]){1 + 0x1p-9, -1, -100, -100}, (double[]){1, 1, 1, 1}, o, &lse);
    assert_true(lse == 0);
    two_keys(FA_F16, (double[]){1 + 0x1p-9, -1, -100, -100}, (double[]){1, 1, 1, 1}, o, &lse);
    assert_true(lse == 0x1p-9);
}

/* Weights below half a last place of the sum are lost one by one, as in any f32 loop. */
static void sums_weights_in_f32(void **state)
{
    (void)state;
    enum { KEYS = 1001 };
    struct fa_problem p = fa_problem_make(1, KEYS, 1);
    float q = 1, k[KEYS] = {0}, v[KEYS] = {0};
    double o, lse;
    int64_t row = 0;
    p.scale = 1;
    for (int key = 1; key < KEYS; key++)
        k[key] = -17.4f; /* A weight of 2.78e-8; half a last place of 1 is 5.96e-8. */
    struct fa_tensor qt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 1}, &q);
    struct fa_tensor kt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, KEYS, 1}, k);
    struct fa_tensor vt = fa_tensor_view(FA_F32, (int64_t[]){1, 1, KEYS, 1}, v);
    assert_int_equal(fa_naive_rows(&p, &qt, &kt, &vt, 0, &row, 1, &o, &lse, NULL), FA_OK);
    assert_true(lse == 0);
    assert_int_equal(fa_oracle_rows(&p, &qt, &kt, &vt, 0, &row, 1, &o, &lse, NULL), FA_OK);
    assert_true(fabs(lse - 2.777e-5) < 1e-7);
}

/* Products of f16 are summed in f32: 2048 + 1 would stay 2048 in f16, 300^2 would be infinite. */
static void accumulates_in_f32(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1, 1, 3);
    p.scale = .25;
    p.dtype = FA_F16;
    double q[3] = {300, 1, 1}, k[3] = {300, 1, 1}, v[3] = {1, 1, 1}, o[3], lse;
    struct fa_tensor qt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 1, 3}, q);
    struct fa_tensor kt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 1, 3}, k);
    struct fa_tensor vt = fa_tensor_view(FA_F64, (int64_t[]){1, 1, 1, 3}, v);
    int64_t row = 0;
    assert_int_equal(fa_naive_rows(&p, &qt, &kt, &vt, 0, &row, 1, o, &lse, NULL), FA_OK);
    assert_true(lse == 22496 || lse == 22512); /* 22500.5 in steps of 16 */
    assert_true(o[0] == 1);
    p.scale = 1; /* 90002 is past f16: the row is NaN. */
    assert_int_equal(fa_naive_rows(&p, &qt, &kt, &vt, 0, &row, 1, o, &lse, NULL), FA_OK);
    assert_true(isnan(o[0]) && isnan(lse));
    p.scale = -1; /* And here its key is hidden. */
    assert_int_equal(fa_naive_rows(&p, &qt, &kt, &vt, 0, &row, 1, o, &lse, NULL), FA_OK);
    assert_true(o[0] == 0 && lse == -INFINITY);
}

static void no_memory(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1, INT64_MAX / 8 + 1, 1);
    float one = 1;
    struct fa_tensor q = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 1}, &one);
    struct fa_tensor k = fa_tensor_view(FA_F32, (int64_t[]){1, 1, p.nk, 1}, NULL);
    struct fa_error error = {FA_OK, ""};
    int64_t row = 0;
    double o = 5, lse = 6;
    assert_int_equal(fa_naive_rows(&p, &q, &k, &k, 0, &row, 1, &o, &lse, &error), FA_NO_MEMORY);
    assert_non_null(strstr(error.text, "no memory for the naive run's 1 rows"));
    assert_true(o == 5 && lse == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases_in_f64),
        cmocka_unit_test(field_cases_in_each_dtype),
        cmocka_unit_test(errors_have_the_size_of_the_roundoff),
        cmocka_unit_test(any_strides),
        cmocka_unit_test(sums_weights_in_f32),
        cmocka_unit_test(rounds_where_the_contract_says),
        cmocka_unit_test(accumulates_in_f32),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
