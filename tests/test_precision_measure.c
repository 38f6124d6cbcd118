/* Measuring with the precision lab: heads, neighbours, threads, cancelling, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/precision_case.h"

/* A recipe's errors do not depend on its neighbours, nor on the number of threads. */
static void test_neighbours_and_threads(void **state)
{
    (void)state;
    struct fa_precision_case setting = precision_small_case(FA_PROFILE_OUTLIERS);
    enum { RECIPES = 8 };
    struct fa_precision_recipe recipes[RECIPES];
    struct fa_precision_error together[RECIPES][FA_REFERENCE_COUNT];
    struct fa_precision_error threaded[RECIPES][FA_REFERENCE_COUNT];
    for (int i = 0; i < RECIPES; i++)
        recipes[i] = precision_all_of(FA_FORMAT_F16);
    recipes[1].scores = FA_FORMAT_F32;
    recipes[2].inputs[1] = FA_FORMAT_E4M3;
    recipes[3] = recipes[2];
    recipes[3].scale = FA_SCALE_TENSOR;
    recipes[4] = recipes[3];
    recipes[4].hadamard = true;
    recipes[5] = recipes[4];
    recipes[6] = recipes[5];
    recipes[6].scale = FA_SCALE_BLOCK;
    recipes[6].scale_rows = 16;
    recipes[7] = recipes[6];
    recipes[7].scale_rows = 50;
    assert_int_equal(
        fa_precision_measure(&setting, recipes, RECIPES, precision_both, together, NULL), FA_OK);
    setting.threads = 3;
    assert_int_equal(
        fa_precision_measure(&setting, recipes, RECIPES, precision_both, threaded, NULL), FA_OK);
    for (int i = 0; i < RECIPES; i++) {
        struct fa_precision_error alone[FA_REFERENCE_COUNT];
        precision_measure(FA_PROFILE_OUTLIERS, &recipes[i], alone);
        for (int reference = 0; reference < 2; reference++) {
            assert_true(together[i][reference].rmse == alone[reference].rmse);
            assert_true(threaded[i][reference].rmse == alone[reference].rmse);
            assert_true(threaded[i][reference].o.worst == alone[reference].o.worst);
            assert_true(threaded[i][reference].standard_error == alone[reference].standard_error);
        }
        assert_true(i == 0 || i == 5 || together[i][0].rmse != together[i - 1][0].rmse);
    }
}

/* Head h is the problem of one head whose seed has h in its high half. */
static void test_heads(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_BF16);
    struct fa_precision_case setting = precision_small_case(FA_PROFILE_GAUSS);
    struct fa_precision_error all[1][FA_REFERENCE_COUNT], one[3][FA_REFERENCE_COUNT];
    double sum = 0, spread = 0;
    assert_int_equal(fa_precision_measure(&setting, &recipe, 1, precision_both, all, NULL), FA_OK);
    setting.heads = 1;
    for (int head = 0; head < 3; head++) {
        setting.seed = 7 + ((uint64_t)head << 32);
        assert_int_equal(
            fa_precision_measure(&setting, &recipe, 1, precision_both, &one[head], NULL), FA_OK);
        sum += one[head][0].rmse * one[head][0].rmse / 3;
    }
    assert_true(fabs(all[0][0].rmse / sqrt(sum) - 1) < 1e-12);
    for (int head = 0; head < 3; head++)
        spread += pow(one[head][0].rmse * one[head][0].rmse - sum, 2);
    assert_true(spread > 0);
    double expected = sqrt(spread / 2 / 3) / (2 * sqrt(sum));
    assert_true(fabs(all[0][0].standard_error / expected - 1) < 1e-9);
}

static bool stop_at_third(void *context, double done)
{
    int *calls = context;
    assert_true(done >= 0 && done <= 1);
    return ++*calls < 3;
}

static void test_cancel(void **state)
{
    (void)state;
    int calls = 0;
    const struct fa_watch watch = {stop_at_third, &calls};
    struct fa_precision_case setting = precision_small_case(FA_PROFILE_GAUSS);
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F16);
    struct fa_precision_error errors[1][FA_REFERENCE_COUNT];
    struct fa_error error = {FA_OK, ""};
    memset(errors, 0x5a, sizeof errors);
    setting.watch = &watch;
    assert_int_equal(fa_precision_measure(&setting, &recipe, 1, precision_both, errors, &error),
                     FA_CANCELLED);
    assert_string_equal(error.text, "stopped before all rows were compared");
    assert_int_equal(calls, 3);
    for (size_t i = 0; i < sizeof errors; i++)
        assert_int_equal(((unsigned char *)errors)[i], 0x5a);
}

static void test_refused_recipes(void **state)
{
    (void)state;
    struct fa_precision_recipe good = precision_all_of(FA_FORMAT_F16), bad[8];
    struct fa_error error;
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].scores = FA_FORMAT_COUNT;
    bad[1].accumulate[1] = FA_FORMAT_COUNT;
    bad[2].scale = FA_SCALE_TENSOR;
    bad[3].inputs[2] = FA_FORMAT_E5M2;
    bad[3].scale = FA_SCALE_BLOCK;
    bad[3].scale_rows = 0;
    bad[4].weight_scale = 0;
    bad[5].weight_scale = NAN;
    bad[6].tile = 0;
    bad[7].order = (enum fa_precision_order)2;
    assert_int_equal(fa_precision_check(&good, 24, NULL), FA_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(fa_precision_check(&bad[i], 32, &error), FA_BAD_ARGUMENT);
        assert_true(strlen(error.text) > 20);
    }
    good.hadamard = true;
    assert_int_equal(fa_precision_check(&good, 1, NULL), FA_OK);
    assert_int_equal(fa_precision_check(&good, 64, NULL), FA_OK);
    assert_int_equal(fa_precision_check(&good, 24, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "d = 24: the Hadamard rotation needs a power of two");
}

static void test_refused_cases(void **state)
{
    (void)state;
    struct fa_precision_recipe recipe = precision_all_of(FA_FORMAT_F16);
    struct fa_precision_error errors[1][FA_REFERENCE_COUNT];
    struct fa_precision_case bad[7];
    const bool none[FA_REFERENCE_COUNT] = {false, false};
    for (int i = 0; i < 7; i++)
        bad[i] = precision_small_case(FA_PROFILE_GAUSS);
    bad[0].n = 0;
    bad[1].heads = 0;
    bad[2].d = 0;
    bad[3].rows = 0;
    bad[4].rows = N + 1;
    bad[5].threads = 0;
    bad[6].profile = FA_PROFILE_COUNT;
    for (int i = 0; i < 7; i++)
        assert_int_equal(fa_precision_measure(&bad[i], &recipe, 1, precision_both, errors, NULL),
                         FA_BAD_ARGUMENT);
    bad[0] = precision_small_case(FA_PROFILE_GAUSS);
    assert_int_equal(fa_precision_measure(&bad[0], &recipe, 1, none, errors, NULL),
                     FA_BAD_ARGUMENT);
    bad[0].n = bad[0].d = INT64_C(1) << 40;
    assert_int_equal(fa_precision_measure(&bad[0], &recipe, 1, precision_both, errors, NULL),
                     FA_TOO_LARGE);
    bad[0].n = INT64_C(1) << 56;
    bad[0].d = 1;
    assert_int_equal(fa_precision_measure(&bad[0], &recipe, 1, precision_both, errors, NULL),
                     FA_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_and_threads),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_refused_recipes),
        cmocka_unit_test(test_refused_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
