/* Every rung on the GPU of this machine, against the reference; skipped where there is none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FLASHLAB_HAVE_GPU

#include "cuda/gpu_device.h"
#include "tests/cuda_suite.h"

static void field_cases(void **state)
{
    (void)state;
    assert_true(cuda_suite_field_cases(1e12) > 300);
}

static void random_problems(void **state)
{
    (void)state;
    assert_true(cuda_suite_random(0, 600) > 300);
}

static void small_grid(void **state)
{
    (void)state;
    assert_true(cuda_suite_grid(false) > 20);
}

static void large_grid(void **state)
{
    (void)state;
    assert_true(cuda_suite_grid(true) > 100);
}

static void refusals(void **state)
{
    (void)state;
    assert_true(cuda_suite_refusals() >= 3);
}

static void packed(void **state)
{
    (void)state;
    assert_true(cuda_suite_packed() >= 2);
}

static void edges(void **state)
{
    (void)state;
    assert_true(cuda_suite_edges() >= 12);
}

static void exponents(void **state)
{
    (void)state;
    assert_true(cuda_suite_exponents() >= 4);
}

static void equal_calls_give_equal_bits(void **state)
{
    (void)state;
    assert_true(cuda_suite_repeats(100) >= 3 * 99);
}

/* With an argument, only what a checking tool gets through in a minute. */
int main(int argc, char **argv)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(refusals),    cmocka_unit_test(large_grid),
        cmocka_unit_test(field_cases), cmocka_unit_test(random_problems),
        cmocka_unit_test(edges),       cmocka_unit_test(exponents),
        cmocka_unit_test(packed),      cmocka_unit_test(equal_calls_give_equal_bits),
    };
    const struct CMUnitTest few[] = {cmocka_unit_test(refusals), cmocka_unit_test(packed),
                                     cmocka_unit_test(edges), cmocka_unit_test(exponents),
                                     cmocka_unit_test(small_grid)};
    struct gpu_device device;
    struct fa_error error = {FA_OK, ""};
    if (gpu_device_find(&device, &error) == FA_MISSING_PART) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    if (argc > 1 && strcmp(argv[1], "few") == 0)
        return cmocka_run_group_tests(few, NULL, NULL);
    return cmocka_run_group_tests(all, NULL, NULL);
}

#else

int main(void)
{
    puts("skipped: this build has no kernels for a GPU");
    return 77;
}

#endif
