#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/compare.h"

static struct fa_comparison compare(const double *got, const double *expected, int64_t n)
{
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, got, expected, n);
    return comparison;
}

static struct fa_comparison compare_one(double got, double expected)
{
    return compare(&got, &expected, 1);
}

static void nothing(void **state)
{
    (void)state;
    struct fa_comparison c = compare(NULL, NULL, 0);
    assert_int_equal(c.n, 0);
    assert_int_equal(c.worst, -1);
    assert_true(c.max_abs_error == 0);
    assert_true(fa_comparison_rms(&c) == 0);
    assert_true(fa_comparison_within(&c, 0));
    assert_false(fa_comparison_within(&c, NAN));
    assert_false(fa_comparison_within(&c, -1));
}

static void specials(void **state)
{
    (void)state;
    const double nan = NAN, inf = INFINITY;
    const struct {
        double got, expected;
        int64_t mismatches;
    } pairs[] = {
        {nan, nan, 0},  {-nan, nan, 0}, {inf, inf, 0},    {-inf, -inf, 0}, {0.0, -0.0, 0},
        {nan, 1, 1},    {1, nan, 1},    {inf, 3e38, 1},   {3e38, inf, 1},  {inf, -inf, 1},
        {nan, inf, 1},  {inf, nan, 1},  {nan, -inf, 1},   {-inf, nan, 1},  {-inf, -1.7e308, 1},
        {0, -inf, 1},   {-inf, 0, 1},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct fa_comparison c = compare_one(pairs[i].got, pairs[i].expected);
        assert_int_equal(c.mismatches, pairs[i].mismatches);
        assert_int_equal(c.worst, pairs[i].mismatches ? 0 : -1);
        assert_true(c.max_abs_error == (pairs[i].mismatches ? INFINITY : 0));
        assert_true(fa_comparison_rms(&c) == (pairs[i].mismatches ? INFINITY : 0));
        assert_true(fa_comparison_within(&c, INFINITY) == !pairs[i].mismatches);
    }
}

static void finite_values(void **state)
{
    (void)state;
    const double got[] = {1, 2, -3, 4}, expected[] = {1, 2.5, -3.5, 4.25};
    struct fa_comparison c = compare(got, expected, 4);
    assert_int_equal(c.n, 4);
    assert_int_equal(c.mismatches, 0);
    assert_int_equal(c.worst, 1); /* The first of two errors of 0.5. */
    assert_true(c.max_abs_error == .5);
    assert_true(c.sum_of_squares == .5625);
    assert_true(c.max_abs_expected == 4.25);
    assert_true(fa_comparison_rms(&c) == .375);
    assert_true(fa_comparison_within(&c, .5));
    assert_false(fa_comparison_within(&c, nextafter(.5, 0)));
    assert_false(fa_comparison_within(&c, NAN));
}

static void infinite_answers_do_not_scale(void **state)
{
    (void)state;
    const double got[] = {-INFINITY, NAN, -2}, expected[] = {-INFINITY, NAN, -2};
    struct fa_comparison c = compare(got, expected, 3);
    assert_true(c.max_abs_expected == 2);
    assert_true(fa_comparison_within(&c, 0));
}

static void last_element(void **state)
{
    (void)state;
    double got[1000] = {0}, expected[1000] = {0};
    got[999] = 1e-300;
    struct fa_comparison c = compare(got, expected, 1000);
    assert_int_equal(c.worst, 999);
    assert_false(fa_comparison_within(&c, 0));
    got[999] = NAN;
    c = compare(got, expected, 1000);
    assert_int_equal(c.worst, 999);
    assert_int_equal(c.mismatches, 1);
}

/* A bf16 result one last place off: passes with the format's budget, not with a tenth of it. */
static void budget_of_a_format(void **state)
{
    (void)state;
    struct fa_comparison c = compare_one(30.125, 30);
    assert_true(fa_comparison_within(&c, 2 * 0x1p-8 * 30));
    assert_false(fa_comparison_within(&c, .2 * 0x1p-8 * 30));
}

/* A mismatch in front must not keep later finite errors from being summed, nor the reverse. */
static void mismatch_and_finite(void **state)
{
    (void)state;
    const double got[] = {3, NAN, 5, INFINITY}, expected[] = {1, 1, 8, 0};
    struct fa_comparison c = compare(got, expected, 4);
    assert_int_equal(c.mismatches, 2);
    assert_int_equal(c.worst, 1);
    assert_true(c.max_abs_error == INFINITY);
    assert_true(c.sum_of_squares == 13);
}

static void same(const struct fa_comparison *a, const struct fa_comparison *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->mismatches, b->mismatches);
    assert_int_equal(a->worst, b->worst);
    assert_true(a->max_abs_error == b->max_abs_error);
    assert_true(a->sum_of_squares == b->sum_of_squares);
    assert_true(a->max_abs_expected == b->max_abs_expected);
}

/* Every way to cut an array in three, added or merged, says what the whole says. */
static void cut_in_parts(void **state)
{
    (void)state;
    enum { N = 9 };
    const double expected[N] = {1, -8, 2, NAN, 0, 3, -INFINITY, 4, 2};
    for (int64_t bad = 0; bad <= N; bad++) {
        double got[N];
        memcpy(got, expected, sizeof got);
        got[5] += 1;
        got[7] -= 1;
        if (bad < N)
            got[bad] = bad % 2 ? INFINITY : expected[bad] + 2;
        struct fa_comparison whole = compare(got, expected, N);
        for (int64_t i = 0; i <= N; i++)
            for (int64_t j = i; j <= N; j++) {
                struct fa_comparison added = compare(got, expected, i);
                fa_comparison_add(&added, got + i, expected + i, j - i);
                fa_comparison_add(&added, got + j, expected + j, N - j);
                same(&added, &whole);
                struct fa_comparison merged = fa_comparison_start();
                struct fa_comparison parts[3] = {
                    compare(got, expected, i),
                    compare(got + i, expected + i, j - i),
                    compare(got + j, expected + j, N - j),
                };
                for (int part = 0; part < 3; part++)
                    fa_comparison_merge(&merged, &parts[part]);
                same(&merged, &whole);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(specials),
        cmocka_unit_test(finite_values),
        cmocka_unit_test(infinite_answers_do_not_scale),
        cmocka_unit_test(last_element),
        cmocka_unit_test(budget_of_a_format),
        cmocka_unit_test(mismatch_and_finite),
        cmocka_unit_test(cut_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
