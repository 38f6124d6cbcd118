/* The kernels of all rungs on the CPU, through the shim, against the reference. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#ifdef FLASHLAB_HAVE_GPU_SHIM

#include "cuda/gpu.h"
#include "tests/cuda_suite.h"

static void field_cases(void **state)
{
    (void)state;
    assert_true(cuda_suite_field_cases(2e6) > 30);
}

static void random_problems(void **state)
{
    (void)state;
    assert_true(cuda_suite_random(0, 60) > 20);
}

static void grid(void **state)
{
    (void)state;
    assert_true(cuda_suite_grid(false) > 20);
}

static void long_rows(void **state)
{
    (void)state;
    if (CUDA_SHIM_RUNGS < 7)
        skip();
    assert_int_equal(cuda_suite_long(), 2 * 7 + 4);
}

static void refusals(void **state)
{
    (void)state;
    assert_int_equal(cuda_suite_refusals(), CUDA_SHIM_RUNGS);
    assert_int_equal(gpu_rung_count, CUDA_SHIM_RUNGS);
}

static void packed(void **state)
{
    (void)state;
    assert_int_equal(cuda_suite_packed(), CUDA_SHIM_RUNGS == 7 ? 3 : 2);
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
    assert_int_equal(cuda_suite_repeats(2), CUDA_SHIM_RUNGS);
}

/* With the argument "few", what a build with ThreadSanitizer gets through in a minute or two. */
int main(int argc, char **argv)
{
    const struct CMUnitTest few[] = {cmocka_unit_test(edges), cmocka_unit_test(long_rows),
                                     cmocka_unit_test(exponents),
                                     cmocka_unit_test(equal_calls_give_equal_bits)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid),
        cmocka_unit_test(field_cases),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(refusals),
        cmocka_unit_test(packed),
        cmocka_unit_test(edges),
        cmocka_unit_test(exponents),
        cmocka_unit_test(equal_calls_give_equal_bits),
    };
    if (argc > 1 && strcmp(argv[1], "few") == 0)
        return cmocka_run_group_tests(few, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    puts("skipped: this build has no C++ compiler, so there is no shim");
    return 77;
}

#endif
