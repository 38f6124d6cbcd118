/* What each profile promises: distributions, scores, and that position alone decides. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/profile.h"

struct inputs {
    struct fa_tensor q, k, v;
};

static struct inputs fill(enum fa_profile profile, uint64_t seed, const struct fa_problem *problem)
{
    struct inputs inputs;
    const int64_t q[4] = {problem->batch, problem->heads, problem->nq, problem->d};
    const int64_t k[4] = {problem->batch, problem->kv_heads, problem->nk, problem->d};
    const int64_t v[4] = {problem->batch, problem->kv_heads, problem->nk, problem->dv};
    assert_int_equal(fa_tensor_create(&inputs.q, problem->dtype, q, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&inputs.k, problem->dtype, k, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&inputs.v, problem->dtype, v, NULL), FA_OK);
    fa_profile_fill(profile, seed, problem, &inputs.q, &inputs.k, &inputs.v);
    return inputs;
}

static void free_inputs(struct inputs *inputs)
{
    fa_tensor_free(&inputs->q);
    fa_tensor_free(&inputs->k);
    fa_tensor_free(&inputs->v);
}

/* A problem whose fields are set here, so that this test needs no other file. */
static struct fa_problem problem_of(int64_t nq, int64_t nk, int64_t d, enum fa_dtype dtype)
{
    struct fa_problem problem = {.batch = 1, .heads = 1, .kv_heads = 1, .nq = nq, .nk = nk,
                                 .d = d, .dv = d, .scale = 1 / sqrt((double)d),
                                 .window_left = -1, .window_right = -1, .dtype = dtype};
    return problem;
}

static double score(const struct fa_problem *problem, const struct inputs *inputs, int64_t batch,
                    int64_t head, int64_t row, int64_t key)
{
    double sum = 0;
    int64_t kv_head = head / (problem->heads / problem->kv_heads);
    for (int64_t i = 0; i < problem->d; i++)
        sum += fa_tensor_get(&inputs->q, batch, head, row, i) *
               fa_tensor_get(&inputs->k, batch, kv_head, key, i);
    return problem->scale * sum;
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"gauss", "uniform", "peaky",   "outliers",
                                        "equal", "rising",  "falling", "tidy"};
    enum fa_profile parsed;
    for (int i = 0; i < FA_PROFILE_COUNT; i++) {
        assert_string_equal(fa_profile_name((enum fa_profile)i), names[i]);
        parsed = FA_PROFILE_COUNT;
        assert_true(fa_profile_parse(names[i], &parsed));
        assert_int_equal(parsed, i);
    }
    parsed = FA_PROFILE_COUNT;
    assert_false(fa_profile_parse("gaus", &parsed));
    assert_false(fa_profile_parse("", &parsed));
    assert_int_equal(parsed, FA_PROFILE_COUNT);
}

/* The first element's words under seed 0 are Philox's published answer for key 0, counter 0. */
static void test_first_words(void **state)
{
    (void)state;
    const double u = (double)(UINT64_C(0x6627e8d5e169c58d) >> 11) * 0x1p-53;
    const double w = (double)(UINT64_C(0xbc57ac4c9b00dbd8) >> 11) * 0x1p-53;
    struct fa_problem problem = problem_of(1, 1, 1, FA_F64);
    struct inputs inputs = fill(FA_PROFILE_UNIFORM, 0, &problem);
    assert_true(fa_tensor_get(&inputs.q, 0, 0, 0, 0) == 2 * u - 1);
    free_inputs(&inputs);
    inputs = fill(FA_PROFILE_GAUSS, 0, &problem);
    double expected = sqrt(-2 * log(1 - u)) * cos(2 * acos(-1) * w);
    assert_true(fabs(fa_tensor_get(&inputs.q, 0, 0, 0, 0) - expected) <= 1e-15 * fabs(expected));
    free_inputs(&inputs);
    inputs = fill(FA_PROFILE_TIDY, 0, &problem);
    assert_true(fa_tensor_get(&inputs.q, 0, 0, 0, 0) == -0.5); /* floor(9 * 0.399) = 3 */
    free_inputs(&inputs);
}

struct moments {
    double mean, variance, fourth, least, most, beyond_five;
};

static struct moments measure(enum fa_profile profile, uint64_t seed, int which)
{
    struct fa_problem problem = problem_of(1000, 1000, 200, FA_F64);
    struct inputs inputs = fill(profile, seed, &problem);
    const double *values = which == 0   ? inputs.q.data
                           : which == 1 ? inputs.k.data
                                        : inputs.v.data;
    struct moments m = {.least = INFINITY, .most = -INFINITY};
    const int n = 200000;
    for (int i = 0; i < n; i++) {
        double x = values[i];
        m.mean += x / n;
        m.variance += x * x / n;
        m.fourth += x * x * x * x / n;
        m.least = fmin(m.least, x);
        m.most = fmax(m.most, x);
        m.beyond_five += fabs(x) > 5;
    }
    m.variance -= m.mean * m.mean;
    free_inputs(&inputs);
    return m;
}

/* Each bound is at least five standard errors of 200,000 draws. */
static void test_distributions(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct moments m = measure(FA_PROFILE_GAUSS, 7, which);
        assert_true(fabs(m.mean) < 0.012 && fabs(m.variance - 1) < 0.016);
        assert_true(fabs(m.fourth - 3) < 0.11 && m.beyond_five <= 2);
        m = measure(FA_PROFILE_UNIFORM, 7, which);
        assert_true(fabs(m.mean) < 0.007 && fabs(m.variance - 1.0 / 3) < 0.004);
        assert_true(m.least >= -1 && m.least < -0.999 && m.most < 1 && m.most > 0.999);
        /* One in a thousand has a standard deviation of sqrt(101): 62 % of these pass 5. */
        m = measure(FA_PROFILE_OUTLIERS, 7, which);
        assert_true(fabs(m.variance - 1.1) < 0.07 && m.most > 20);
        assert_true(m.beyond_five > 60 && m.beyond_five < 190);
    }
}

static void test_tidy(void **state)
{
    (void)state;
    int seen[9] = {0};
    struct fa_problem problem = problem_of(30, 30, 30, FA_BF16);
    struct inputs inputs = fill(FA_PROFILE_TIDY, 3, &problem);
    for (int i = 0; i < 900; i++) {
        double twice = 2 * fa_dtype_get(FA_BF16, inputs.v.data, i);
        assert_true(twice == floor(twice) && fabs(twice) <= 4);
        seen[(int)twice + 4]++;
    }
    for (int i = 0; i < 9; i++)
        assert_in_range(seen[i], 60, 140);
    free_inputs(&inputs);
}

/* Strides, format and thread order don't matter; seed, tensor and position do. */
static void test_position_decides(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(5, 7, 4, FA_F64);
    problem.batch = 2;
    problem.heads = 6;
    problem.kv_heads = 3;
    problem.dv = 3;
    for (int p = 0; p < FA_PROFILE_COUNT; p++) {
        enum fa_profile profile = (enum fa_profile)p;
        problem.dtype = FA_F64;
        struct inputs wide = fill(profile, 11, &problem);
        problem.dtype = FA_F16;
        struct inputs half = fill(profile, 11, &problem);
        /* Rows before heads in memory, and a gap of 3 between rows. */
        double memory[2 * 5 * 6 * 7];
        for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
            memory[i] = NAN;
        struct fa_tensor turned = wide.q;
        turned.data = memory;
        turned.stride[0] = 5 * 6 * 7;
        turned.stride[1] = 7;
        turned.stride[2] = 6 * 7;
        problem.dtype = FA_F64;
        fa_profile_fill(profile, 11, &problem, &turned, &wide.k, &wide.v);
        for (int64_t b = 0; b < 2; b++)
            for (int64_t h = 0; h < 6; h++)
                for (int64_t r = 0; r < 5; r++)
                    for (int64_t c = 0; c < 4; c++) {
                        double value = fa_tensor_get(&wide.q, b, h, r, c);
                        assert_true(fa_tensor_get(&turned, b, h, r, c) == value);
                        assert_true(fa_tensor_get(&half.q, b, h, r, c) ==
                                    fa_dtype_round(FA_F16, value));
                    }
        assert_true(isnan(memory[4]) && isnan(memory[2 * 5 * 6 * 7 - 1]));
        free_inputs(&wide);
        free_inputs(&half);
    }
}

static void test_seeds_and_tensors_differ(void **state)
{
    (void)state;
    static const enum fa_profile random[] = {FA_PROFILE_GAUSS, FA_PROFILE_UNIFORM,
                                             FA_PROFILE_OUTLIERS};
    struct fa_problem problem = problem_of(4, 4, 4, FA_F64);
    problem.heads = problem.kv_heads = 2;
    for (int p = 0; p < 3; p++) {
        struct inputs a = fill(random[p], 1, &problem);
        struct inputs b = fill(random[p], UINT64_C(1) << 32 | 1, &problem);
        const double *q = a.q.data, *k = a.k.data, *v = a.v.data, *other = b.q.data;
        for (int i = 0; i < 16; i++) {
            assert_true(q[i] != k[i] && q[i] != v[i] && k[i] != v[i]);
            assert_true(q[i] != other[i] && q[i] != q[i + 16]);
        }
        free_inputs(&a);
        free_inputs(&b);
    }
}

/* The two heaviest visible keys of each row have 9/10 of its weight, with masks and groups. */
static void test_peaky_dominates(void **state)
{
    (void)state;
    static const enum fa_causal causal[] = {FA_CAUSAL_NONE, FA_CAUSAL_BOTTOM_RIGHT,
                                            FA_CAUSAL_TOP_LEFT};
    for (int c = 0; c < 3; c++) {
        struct fa_problem problem = problem_of(60, 300, 64, FA_F32);
        problem.batch = 2;
        problem.heads = 4;
        problem.kv_heads = 2;
        problem.causal = causal[c];
        problem.window_left = c == 1 ? 70 : -1;
        problem.scale = c == 2 ? -0.02 : 0.125;
        struct inputs inputs = fill(FA_PROFILE_PEAKY, 5, &problem);
        int good = 0, rows = 2 * 4 * 60;
        for (int row = 0; row < rows; row++) {
            int b = row / 240, h = row / 60 % 4, r = row % 60;
            int diagonal = causal[c] == FA_CAUSAL_TOP_LEFT ? r : r + 240;
            double sum = 0, first = 0, second = 0;
            for (int j = 0; j < 300; j++) {
                if (problem.causal != FA_CAUSAL_NONE && j > diagonal)
                    continue;
                if (problem.window_left >= 0 && j < diagonal - problem.window_left)
                    continue;
                double weight = exp(score(&problem, &inputs, b, h, r, j));
                sum += weight;
                second = fmax(second, fmin(weight, first));
                first = fmax(first, weight);
            }
            good += first + second > 0.9 * sum;
        }
        assert_true(good > rows * 0.95);
        free_inputs(&inputs);
    }
}

static void test_peaky_codes_rows(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(1, 700, 8, FA_F32);
    problem.heads = problem.kv_heads = 2;
    problem.dv = 9;
    struct inputs inputs = fill(FA_PROFILE_PEAKY, 5, &problem);
    for (int64_t h = 0; h < 2; h++)
        for (int64_t c = 0; c < 9; c++)
            for (int64_t j = 0; j < 700; j++) {
                double value = fa_tensor_get(&inputs.v, 0, h, j, c);
                double size = 1 + (double)((c + 3 * h) % 8) / 8;
                double expected = ((c + h) % 2 ? -1 : 1) * size * (double)(j + 1) / 700;
                assert_true(value == (float)expected);
                assert_true(j == 0 ||
                            fabs(value) > fabs(fa_tensor_get(&inputs.v, 0, h, j - 1, c)));
            }
    free_inputs(&inputs);
}

static void test_all_finite(void **state)
{
    (void)state;
    static const double scales[] = {1, 0, -0.3, 1e-12, 1e12, 1e-300};
    static const int64_t widths[] = {1, 2, 3, 100}, keys[] = {1, 2, 257, 3000};
    struct fa_problem problem;
    for (int i = 0; i < FA_PROFILE_COUNT * 4 * 6 * 4 * 4; i++) {
        int rest = i;
        enum fa_profile profile = (enum fa_profile)(rest % FA_PROFILE_COUNT);
        rest /= FA_PROFILE_COUNT;
        problem = problem_of(3, keys[rest % 4], widths[rest / 4 % 4],
                             (enum fa_dtype)(rest / 16 % 4));
        problem.scale = scales[rest / 64];
        if (problem.nk > 100 && problem.d > 3)
            continue; /* Nothing new, and the slowest of all. */
        struct inputs inputs = fill(profile, 2, &problem);
        for (int64_t r = 0; r < 3; r++)
            for (int64_t j = 0; j < problem.nk; j++)
                assert_true(isfinite(score(&problem, &inputs, 0, 0, r, j)));
        for (int64_t j = 0; j < problem.nk * problem.dv; j++)
            assert_true(isfinite(fa_dtype_get(problem.dtype, inputs.v.data, j)));
        free_inputs(&inputs);
    }
}

/* Scores of each key against the promise; `slack` is relative to the largest score. */
static void expect_straight(enum fa_profile profile, const struct fa_problem *problem, double slack)
{
    struct inputs inputs = fill(profile, 1, problem);
    int64_t n = problem->nk;
    double step = exp2(rint(log2(16.0 / (double)(n - 1))));
    assert_true(step * (double)(n - 1) > 11.3 && step * (double)(n - 1) < 22.7);
    for (int64_t j = 0; j < n; j++) {
        double expected = profile == FA_PROFILE_EQUAL     ? 16
                          : profile == FA_PROFILE_RISING ? step * (double)j
                                                         : step * (double)(n - 1 - j);
        double got = score(problem, &inputs, 0, 0, problem->nq - 1, j);
        assert_true(fabs(got - expected) <= slack * 22.7);
        assert_true(fa_tensor_get(&inputs.v, 0, 0, j, 0) == 1);
        assert_true(fa_tensor_get(&inputs.v, 0, 0, j, problem->dv - 1) == 1);
    }
    free_inputs(&inputs);
}

static void test_straight_scores(void **state)
{
    (void)state;
    static const enum fa_profile profiles[] = {FA_PROFILE_EQUAL, FA_PROFILE_RISING,
                                               FA_PROFILE_FALLING};
    static const int64_t keys[] = {2, 3, 100, 256, 257, 1000, 66000};
    static const double exact[] = {1, -0.25, 0.0625, 32};
    static const double rounded[] = {0.3, -0.0884, 100};
    for (int p = 0; p < 3; p++)
        for (int n = 0; n < 7; n++)
            for (int dtype = 0; dtype < FA_U8; dtype++) {
                enum fa_dtype format = (enum fa_dtype)dtype;
                struct fa_problem problem = problem_of(2, keys[n], n % 2 ? 3 : 6, format);
                for (int s = 0; s < (n == 6 ? 1 : 4); s++) {
                    problem.scale = exact[s];
                    expect_straight(profiles[p], &problem, 0);
                }
                for (int s = 0; s < (n == 6 ? 1 : 3); s++) {
                    problem.scale = rounded[s];
                    expect_straight(profiles[p], &problem, 4 * fa_dtype_roundoff(format));
                }
                problem = problem_of(2, keys[n], 1, format); /* k is rounded if there are many. */
                problem.scale = 0.5;
                bool fits = (double)keys[n] * fa_dtype_roundoff(format) <= 1;
                expect_straight(profiles[p], &problem, fits ? 0 : fa_dtype_roundoff(format));
            }
}

/* A single key has no step to take: as for equal, it is 16. */
static void test_single_key(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(1, 1, 4, FA_F32);
    for (int p = FA_PROFILE_EQUAL; p <= FA_PROFILE_FALLING; p++) {
        struct inputs inputs = fill((enum fa_profile)p, 1, &problem);
        assert_true(fa_tensor_get(&inputs.q, 0, 0, 0, 0) == 16 * 16 * 2);
        assert_true(fa_tensor_get(&inputs.q, 0, 0, 0, 1) == 0);
        assert_true(fa_tensor_get(&inputs.k, 0, 0, 0, 0) == (p == FA_PROFILE_EQUAL) / 16.0);
        free_inputs(&inputs);
    }
}

static void test_scale_zero(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(2, 50, 4, FA_F16);
    problem.scale = 0;
    struct inputs inputs = fill(FA_PROFILE_RISING, 1, &problem);
    for (int64_t j = 0; j < 50; j++)
        assert_true(score(&problem, &inputs, 0, 0, 1, j) == 0);
    problem.scale = 1; /* What is there for 0 is what is there for 1. */
    assert_true(score(&problem, &inputs, 0, 0, 1, 49) == 49 * 0.25);
    free_inputs(&inputs);
}

static void test_nothing(void **state)
{
    (void)state;
    for (int p = 0; p < FA_PROFILE_COUNT; p++)
        for (int zeros = 1; zeros < 16; zeros++) {
            struct fa_problem problem = problem_of(zeros & 1 ? 0 : 3, zeros & 2 ? 0 : 3, 2, FA_F32);
            problem.batch = zeros & 4 ? 0 : 1;
            problem.heads = problem.kv_heads = zeros & 8 ? 0 : 1;
            problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
            problem.window_left = INT64_MAX;
            problem.window_right = INT64_MAX;
            struct inputs inputs = fill((enum fa_profile)p, 1, &problem);
            if (zeros == 2)
                for (int i = 0; i < 6; i++)
                    assert_true(isfinite(fa_dtype_get(FA_F32, inputs.q.data, i)));
            free_inputs(&inputs);
        }
}

/* A count-only run has shapes without data. */
static void test_shapes_alone(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(3, 3, 2, FA_F32);
    const int64_t shape[4] = {1, 1, 3, 2};
    float memory[6] = {9, 9, 9, 9, 9, 9};
    struct fa_tensor none = fa_tensor_view(FA_F32, shape, NULL);
    struct fa_tensor v = fa_tensor_view(FA_F32, shape, memory);
    fa_profile_fill(FA_PROFILE_EQUAL, 1, &problem, &none, &none, &v);
    assert_true(memory[0] == 1 && memory[5] == 1);
}

/* dO is N(0, 1) of the seed and the position alone, and not what q, k or v are. */
static void test_gradient(void **state)
{
    (void)state;
    struct fa_problem problem = problem_of(100, 100, 50, FA_F64);
    struct inputs inputs = fill(FA_PROFILE_GAUSS, 3, &problem);
    const int64_t shape[4] = {1, 1, 100, 50}, row[4] = {1, 1, 1, 50};
    struct fa_tensor dout, other, first, none = fa_tensor_view(FA_F64, shape, NULL);
    double sum = 0, squares = 0, differ[4] = {0};
    assert_int_equal(fa_tensor_create(&dout, FA_F64, shape, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&other, FA_F64, shape, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&first, FA_F64, row, NULL), FA_OK);
    fa_profile_fill_dout(3, &problem, &dout);
    fa_profile_fill_dout(4, &problem, &other);
    fa_profile_fill_dout(3, &problem, &first);
    fa_profile_fill_dout(3, &problem, &none);
    const struct fa_tensor *others[4] = {&inputs.q, &inputs.k, &inputs.v, &other};
    for (int i = 0; i < 5000; i++) {
        double x = fa_dtype_get(FA_F64, dout.data, i);
        sum += x;
        squares += x * x;
        for (int t = 0; t < 4; t++)
            differ[t] += fabs(x - fa_dtype_get(FA_F64, others[t]->data, i)) > 1e-3;
    }
    assert_true(fabs(sum / 5000) < 0.06 && fabs(squares / 5000 - 1) < 0.08);
    for (int t = 0; t < 4; t++)
        assert_true(differ[t] > 4950);
    assert_memory_equal(first.data, dout.data, 50 * sizeof(double));
    fa_tensor_free(&dout);
    fa_tensor_free(&other);
    fa_tensor_free(&first);
    free_inputs(&inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_first_words),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_tidy),
        cmocka_unit_test(test_position_decides),
        cmocka_unit_test(test_seeds_and_tensors_differ),
        cmocka_unit_test(test_peaky_dominates),
        cmocka_unit_test(test_peaky_codes_rows),
        cmocka_unit_test(test_all_finite),
        cmocka_unit_test(test_straight_scores),
        cmocka_unit_test(test_single_key),
        cmocka_unit_test(test_scale_zero),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_shapes_alone),
        cmocka_unit_test(test_gradient),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
