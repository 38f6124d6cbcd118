/* The error table of FlashAttention-3 at full size: ours within a quarter of what was published. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "simulator/precision_table.h"

enum { METHODS = 7, THREADS = 2 };

static void test_table(void **state)
{
    (void)state;
    int n;
    const struct sim_precision_method *methods = sim_precision_methods(&n);
    struct fa_precision_case setting = sim_precision_setting();
    struct fa_precision_recipe recipes[METHODS];
    struct sim_precision_error errors[METHODS][FA_REFERENCE_COUNT];
    struct fa_error error = {FA_OK, ""};
    const bool both[FA_REFERENCE_COUNT] = {true, true};
    assert_int_equal(n, METHODS);
    for (int i = 0; i < n; i++)
        recipes[i] = methods[i].recipe;
    setting.threads = THREADS;
    if (sim_precision_measure(&setting, SIM_PRECISION_SEEDS, recipes, n, both, errors, &error))
        fail_msg("%s", error.text);
    for (int i = 0; i < n; i++) {
        const struct sim_precision_error *found = &errors[i][FA_REFERENCE_UNROUNDED];
        double ratio = found->all.rmse / methods[i].published;
        assert_true(found->least < found->all.rmse && found->all.rmse < found->most);
        if (!(ratio > 0.75 && ratio < 1.25))
            fail_msg("%s: %g times the published value", methods[i].id, ratio);
    }
    /* What is left of flash in f16 once its inputs' rounding is left out. */
    assert_string_equal(methods[1].id, "flash2-f16");
    assert_true(errors[1][FA_REFERENCE_ROUNDED].all.rmse > 3.7e-5);
    assert_true(errors[1][FA_REFERENCE_ROUNDED].all.rmse < 5.1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
