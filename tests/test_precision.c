/* The precision lab: exact where all is f64, and each format changes the error as it should. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/naive.h"
#include "reference/oracle.h"
#include "tests/precision_case.h"

static double unrounded_rmse(enum fa_profile profile, const struct fa_precision_recipe *recipe)
{
    struct fa_precision_error errors[FA_REFERENCE_COUNT];
    precision_measure(profile, recipe, errors);
    assert_true(isfinite(errors[FA_REFERENCE_UNROUNDED].rmse));
    return errors[FA_REFERENCE_UNROUNDED].rmse;
}

static void test_f64_is_exact(void **state)
{
    (void)state;
    static const int64_t tiles[] = {1, 48, 128, 200, 1000};
    for (int order = 0; order < 2; order++) {
        for (int hadamard = 0; hadamard < 2; hadamard++) {
            for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
                struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
                struct fa_precision_error errors[FA_REFERENCE_COUNT];
                recipe.order = (enum fa_precision_order)order;
                recipe.hadamard = hadamard;
                recipe.tile = tiles[i];
                precision_measure(FA_PROFILE_OUTLIERS, &recipe, errors);
                for (int reference = 0; reference < 2; reference++) {
                    assert_int_equal(errors[reference].o.n, 3 * ROWS * D);
                    assert_int_equal(errors[reference].o.mismatches, 0);
                    assert_true(errors[reference].o.max_abs_error <= 1e-12);
                    assert_true(errors[reference].rmse <= 1e-13);
                }
            }
        }
    }
}

/* One key: P is 1, so O is V rounded to its format and then to O's. */
static void test_one_key_by_hand(void **state)
{
    (void)state;
    const double q[2] = {1, 2}, k[2] = {3, 4};
    for (int input = 0; input < FA_FORMAT_COUNT; input++) {
        for (int output = 0; output < FA_FORMAT_COUNT; output++) {
            struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
            double v[2] = {1.0637, -0.3391}, o[2];
            const int64_t row = 0;
            recipe.inputs[2] = (enum fa_format)input;
            recipe.output = (enum fa_format)output;
            fa_precision_round_inputs(&recipe, 1, 0, 1, 2, NULL, NULL, v);
            assert_int_equal(fa_precision_rows(&recipe, 1, 2, q, k, v, &row, 1, o, NULL), FA_OK);
            for (int c = 0; c < 2; c++) {
                double expected = fa_format_round((enum fa_format)input, FA_OVERFLOW_SATURATE,
                                                  c ? -0.3391 : 1.0637);
                expected =
                    fa_format_round((enum fa_format)output, FA_OVERFLOW_SATURATE, expected);
                assert_true(o[c] == expected);
            }
        }
    }
}

/* S is rounded, then scaled and rounded: by hand for two keys whose scores differ. */
static void test_scores_are_rounded_twice(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
    const double q[8] = {1, 1, 0, 0, 0, 0, 0, 0}, v[16] = {[0] = 1};
    double k[16] = {3.17, 2.2, 0, 0, 0, 0, 0, 0, [8] = 1.11, 0.7}, o[8], s[2];
    const int64_t row = 0;
    recipe.scores = FA_FORMAT_E4M3;
    for (int key = 0; key < 2; key++) {
        s[key] = fa_format_round(FA_FORMAT_E4M3, FA_OVERFLOW_SATURATE, k[8 * key] + k[8 * key + 1]);
        s[key] = fa_format_round(FA_FORMAT_E4M3, FA_OVERFLOW_SATURATE, s[key] / sqrt(8));
    }
    /* 5.37 to 5.5, 5.5/sqrt 8 to 2; 1.81 to 1.75, that over sqrt 8 to 0.625. */
    assert_true(s[0] == 2 && s[1] == 0.625);
    double queries[16] = {0};
    memcpy(queries, q, sizeof q);
    assert_int_equal(fa_precision_rows(&recipe, 2, 8, queries, k, v, &row, 1, o, NULL), FA_OK);
    assert_true(fabs(o[0] - 1 / (1 + exp(0.625 - 2))) < 1e-15);
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int c = 0; c < D; c++)
        sum += a[c] * b[c];
    return sum;
}

static void test_rotation(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
    double q[2 * D], k[2 * D], v[2 * D], turned[2][2 * D];
    for (int i = 0; i < 2 * D; i++) {
        q[i] = sin(i + 1);
        k[i] = cos(3 * i);
        v[i] = i;
    }
    q[D + 5] = 100;
    double before[4] = {dot(q, k), dot(q + D, k), dot(q, k + D), dot(q + D, q + D)};
    memcpy(turned[0], q, sizeof q);
    memcpy(turned[1], q, sizeof q);
    recipe.hadamard = true;
    fa_precision_round_inputs(&recipe, 1, 0, 2, D, q, k, v);
    double after[4] = {dot(q, k), dot(q + D, k), dot(q, k + D), dot(q + D, q + D)};
    for (int i = 0; i < 4; i++)
        assert_true(fabs(after[i] - before[i]) <= 1e-12 * before[3]);
    for (int i = 0; i < 2 * D; i++) {
        assert_true(v[i] == i);
        /* The outlier reaches each column alike: 100 / sqrt(32) = 17.7. */
        if (i >= D)
            assert_true(fabs(fabs(q[i]) - 100 / sqrt(D)) < 5);
    }
    /* Other signs for another seed and another head. */
    fa_precision_round_inputs(&recipe, 2, 0, 2, D, turned[0], NULL, NULL);
    fa_precision_round_inputs(&recipe, 1, 1, 2, D, turned[1], NULL, NULL);
    assert_memory_not_equal(turned[0], q, sizeof q);
    assert_memory_not_equal(turned[1], q, sizeof q);
    assert_memory_not_equal(turned[0], turned[1], sizeof q);
}

/* Blocks of 2 rows: the second is a million times smaller, and survives only by its own scale. */
static void test_scales(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_E4M3);
    double drawn[3 * D], x[3][3 * D];
    for (int i = 0; i < 3 * D; i++)
        drawn[i] = (i % 2 ? -1 : 1) * (1000 + 37 * i) * (i < 2 * D ? 1 : 1e-6);
    for (int scale = 0; scale < 3; scale++) {
        memcpy(x[scale], drawn, sizeof drawn);
        recipe.scale = (enum fa_precision_scale)scale;
        recipe.scale_rows = 2;
        fa_precision_round_inputs(&recipe, 1, 0, 3, D, x[scale], NULL, NULL);
    }
    for (int i = 0; i < 3 * D; i++) {
        bool large = i < 2 * D;
        double relative[3];
        for (int scale = 0; scale < 3; scale++)
            relative[scale] = fabs(x[scale][i] - drawn[i]) / fabs(drawn[i]);
        assert_true(large ? fabs(x[FA_SCALE_NONE][i]) == 448 : x[FA_SCALE_NONE][i] != 0);
        assert_true(large ? relative[FA_SCALE_TENSOR] <= 0x1p-4 : x[FA_SCALE_TENSOR][i] == 0);
        assert_true(relative[FA_SCALE_BLOCK] <= 0x1p-4 * (1 + 1e-15));
    }
    /* The largest of a block is the format's largest, so it is kept. */
    assert_true(fabs(x[FA_SCALE_BLOCK][2 * D - 1] / drawn[2 * D - 1] - 1) < 1e-15);
    assert_true(fabs(x[FA_SCALE_BLOCK][3 * D - 1] / drawn[3 * D - 1] - 1) < 1e-15);
    /* Nothing to scale by, and formats that are not scaled. */
    double zeros[4] = {0, -0.0, 0, 0};
    fa_precision_round_inputs(&recipe, 1, 0, 2, 2, zeros, NULL, NULL);
    for (int i = 0; i < 4; i++)
        assert_true(zeros[i] == 0);
    double half = 1000.3;
    recipe.inputs[1] = FA_FORMAT_F16;
    fa_precision_round_inputs(&recipe, 1, 0, 1, 1, NULL, &half, NULL);
    assert_true(half == 1000.5);
}

/* Where each knob of a recipe is. */
static enum fa_format *knob_of(struct fa_precision_recipe *recipe, int knob)
{
    enum fa_format *knobs[] = {&recipe->inputs[0],     &recipe->inputs[1],
                               &recipe->inputs[2],     &recipe->scores,
                               &recipe->weights,       &recipe->accumulate[0],
                               &recipe->accumulate[1], &recipe->output};
    return knobs[knob];
}

/* All else in f64, each quantity alone: the fewer bits it has, the larger the error. */
static void test_each_format_counts(void **state)
{
    (void)state;
    static const enum fa_format rising[] = {FA_FORMAT_F64,  FA_FORMAT_F32,  FA_FORMAT_F16,
                                            FA_FORMAT_BF16, FA_FORMAT_E4M3, FA_FORMAT_E5M2};
    for (int order = 0; order < 2; order++) {
        for (int knob = 0; knob < 8; knob++) {
            double before = 0;
            for (size_t i = 0; i < sizeof rising / sizeof *rising; i++) {
                struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
                recipe.order = (enum fa_precision_order)order;
                recipe.weight_scale = 256;
                *knob_of(&recipe, knob) = rising[i];
                double rmse = unrounded_rmse(FA_PROFILE_GAUSS, &recipe);
                if (!(rmse > 1.3 * before))
                    fail_msg("order %d, knob %d, %s: %g after %g", order, knob,
                             fa_format_name(rising[i]), rmse, before);
                /* tf32 has the digits of f16. */
                if (rising[i] == FA_FORMAT_F16) {
                    *knob_of(&recipe, knob) = FA_FORMAT_TF32;
                    double single = unrounded_rmse(FA_PROFILE_GAUSS, &recipe);
                    assert_true(single > 0.5 * rmse && single < 1.5 * rmse);
                }
                before = rmse;
            }
            assert_true(before > 1e-3);
        }
    }
}

/* 8-bit inputs and f64 after them: on the rounded inputs, rotated and scaled too, no error is
 * left. */
static void test_references(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
    struct fa_precision_error errors[FA_REFERENCE_COUNT];
    for (int t = 0; t < 3; t++)
        recipe.inputs[t] = FA_FORMAT_E4M3;
    recipe.scale = FA_SCALE_BLOCK;
    recipe.scale_rows = 64;
    recipe.hadamard = true;
    precision_measure(FA_PROFILE_GAUSS, &recipe, errors);
    assert_true(errors[FA_REFERENCE_ROUNDED].o.max_abs_error < 1e-12);
    assert_true(errors[FA_REFERENCE_UNROUNDED].rmse > 1e-3);
    assert_true(errors[FA_REFERENCE_UNROUNDED].standard_error > 0);
    assert_true(errors[FA_REFERENCE_UNROUNDED].standard_error < errors[0].rmse / 2);
}

/* With f16 everywhere but in its sums, and a factor 1/8 on S that rounds nothing, the lab does what
 * the naive run of f16 does. */
static void test_f16_is_like_the_naive_run(void **state)
{
    (void)state;
    enum { WIDTH = 64 };
    struct fa_problem problem = fa_problem_make(N, N, WIDTH);
    const int64_t shape[4] = {1, 1, N, WIDTH};
    struct fa_tensor t[3];
    static double o[ROWS * WIDTH], truth[ROWS * WIDTH];
    double lse[ROWS];
    int64_t rows[ROWS];
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F16);
    struct fa_precision_case setting = precision_small_case(FA_PROFILE_GAUSS);
    struct fa_precision_error errors[1][FA_REFERENCE_COUNT];
    for (int i = 0; i < 3; i++)
        assert_int_equal(fa_tensor_create(&t[i], FA_F64, shape, NULL), FA_OK);
    fa_profile_fill(FA_PROFILE_GAUSS, setting.seed, &problem, &t[0], &t[1], &t[2]);
    for (int i = 0; i < ROWS; i++)
        rows[i] = i * N / ROWS;
    problem.dtype = FA_F16;
    assert_int_equal(fa_naive_rows(&problem, &t[0], &t[1], &t[2], 0, rows, ROWS, o, lse, NULL), 0);
    assert_int_equal(fa_oracle_rows(&problem, &t[0], &t[1], &t[2], 0, rows, ROWS, truth, lse, NULL),
                     0);
    struct fa_comparison naive = fa_comparison_start();
    fa_comparison_add(&naive, o, truth, ROWS * WIDTH);
    recipe.accumulate[0] = recipe.accumulate[1] = FA_FORMAT_F32;
    recipe.order = FA_STANDARD_ORDER;
    setting.d = WIDTH;
    setting.heads = 1;
    assert_int_equal(fa_precision_measure(&setting, &recipe, 1, precision_both, errors, NULL),
                     FA_OK);
    assert_true(fabs(errors[0][0].rmse / fa_comparison_rms(&naive) - 1) < 0.01);
    assert_true(errors[0][0].standard_error == 0);
    for (int i = 0; i < 3; i++)
        fa_tensor_free(&t[i]);
}

/* f32 sums as vectors form them, and as the rounded path does: the same to the bit where the
 * products are exact. */
static void test_both_paths_of_f32_sums(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F16), wide;
        double x[3][N * D], o[2][ROWS * D];
        int64_t rows[ROWS];
        for (int t = 0; t < 3; t++)
            for (int i = 0; i < N * D; i++)
                x[t][i] = sin(1.7 * i + t) * 2;
        for (int i = 0; i < ROWS; i++)
            rows[i] = i * 4;
        recipe.order = (enum fa_precision_order)order;
        recipe.accumulate[0] = recipe.accumulate[1] = recipe.output = FA_FORMAT_F32;
        fa_precision_round_inputs(&recipe, 1, 0, N, D, x[0], x[1], x[2]);
        wide = recipe;
        for (int t = 0; t < 3; t++)
            wide.inputs[t] = FA_FORMAT_F64;
        assert_int_equal(
            fa_precision_rows(&recipe, N, D, x[0], x[1], x[2], rows, ROWS, o[0], NULL), FA_OK);
        assert_int_equal(fa_precision_rows(&wide, N, D, x[0], x[1], x[2], rows, ROWS, o[1], NULL),
                         FA_OK);
        for (int i = 0; i < ROWS * D; i++)
            assert_true(o[0][i] == o[1][i]);
    }
}

/* Factors wider than their sum are not narrowed first: (1 + 2^-24)^2 rounds to 1 + 2^-23 in f32. */
static void test_wide_factors(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F64);
    const double q[2] = {1 + 0x1p-24, 0}, k[2] = {1 + 0x1p-24, 0}, v[2] = {1, 0};
    const int64_t row = 0;
    double o;
    recipe.accumulate[0] = FA_FORMAT_F32;
    assert_int_equal(fa_precision_rows(&recipe, 2, 1, q, k, v, &row, 1, &o, NULL), FA_OK);
    assert_true(fabs(o - 1 / (1 + exp(-(1 + 0x1p-23)))) < 1e-15);
}

/* S in f32 beats S in f16 where inputs have outliers; most of what is left is the inputs' rounding;
 * and P of 8 bits needs its factor. */
static void test_claims(void **state)
{
    (void)state;
    struct fa_precision_recipe standard = precision_all_of(FA_FORMAT_F16), flash, bytes;
    standard.accumulate[0] = standard.accumulate[1] = FA_FORMAT_F32;
    flash = standard;
    flash.scores = FA_FORMAT_F32;
    standard.order = FA_STANDARD_ORDER;
    struct fa_precision_error errors[2][FA_REFERENCE_COUNT];
    precision_measure(FA_PROFILE_OUTLIERS, &standard, errors[0]);
    precision_measure(FA_PROFILE_OUTLIERS, &flash, errors[1]);
    assert_true(errors[1][0].rmse < errors[0][0].rmse);
    assert_true(errors[1][1].rmse < 0.8 * errors[1][0].rmse);
    bytes = precision_all_of(FA_FORMAT_F64);
    bytes.order = FA_STANDARD_ORDER;
    bytes.weights = FA_FORMAT_E4M3;
    double plain_rmse = unrounded_rmse(FA_PROFILE_GAUSS, &bytes);
    bytes.weight_scale = 256;
    assert_true(unrounded_rmse(FA_PROFILE_GAUSS, &bytes) < 0.5 * plain_rmse);
}

/* Where q and k have their outliers in one column, rounding those decides the scores' errors;
 * spread over all columns they average out. */
static void test_rotation_helps_8_bits(void **state)
{
    (void)state;
    double squares[2] = {0, 0};
    for (int hadamard = 0; hadamard < 2; hadamard++) {
        for (int pair = 0; pair < 200; pair++) {
            struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_E4M3);
            double q[D], k[D];
            recipe.hadamard = hadamard;
            for (int c = 0; c < D; c++) {
                q[c] = sin(1.3 * (pair * D + c));
                k[c] = cos(2.1 * (pair * D + c));
            }
            q[9] = 30 + 7 * sin(pair);
            k[9] = 40 + 9 * cos(3 * pair);
            double exact = dot(q, k);
            fa_precision_round_inputs(&recipe, (uint64_t)pair, 0, 1, D, q, k, NULL);
            squares[hadamard] += (dot(q, k) - exact) * (dot(q, k) - exact);
        }
    }
    assert_true(squares[1] > 0);
    assert_true(sqrt(squares[1]) < 0.5 * sqrt(squares[0]));
}

/* f16 scores overflow where inputs are large: that shows, and no NaN is taken for a small error. */
static void test_overflow_shows(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F16);
    double q[2] = {300, 300}, k[2] = {300, 300}, v[2] = {1, 1}, o[2];
    const int64_t row = 0;
    assert_int_equal(fa_precision_rows(&recipe, 1, 2, q, k, v, &row, 1, o, NULL), FA_OK);
    assert_true(isnan(o[0]) && isnan(o[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f64_is_exact),
        cmocka_unit_test(test_one_key_by_hand),
        cmocka_unit_test(test_scores_are_rounded_twice),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_each_format_counts),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_f16_is_like_the_naive_run),
        cmocka_unit_test(test_both_paths_of_f32_sums),
        cmocka_unit_test(test_wide_factors),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_rotation_helps_8_bits),
        cmocka_unit_test(test_overflow_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
