/* Every golden and field case with every choice of tiles, single cells too, and more problems. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/field_case.h"
#include "tests/forward_pass.h"
#include "tests/golden_case.h"
#include "tests/random_case.h"

static void golden_cases(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        for (int name = 0; golden_case_names[name]; name++) {
            struct attention_case golden;
            golden_case_load(&golden, golden_case_names[name], (enum fa_dtype)dtype);
            if (dtype == FA_F16 || dtype == FA_BF16)
                forward_case_answer(&golden);
            forward_check_all(&golden, true, "golden");
            attention_case_free(&golden);
        }
}

static void field_cases(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        for (int i = 0; i < field_case_count(); i++) {
            struct attention_case field;
            if (field_case_make(&field, i, (enum fa_dtype)dtype))
                forward_check_all(&field, true, "field");
            attention_case_free(&field);
        }
}

static void random_problems(void **state)
{
    (void)state;
    for (uint64_t seed = 100000; seed < 102000; seed++) {
        struct attention_case attention;
        random_case_make(&attention, seed, (enum fa_dtype)(seed % FA_U8));
        forward_check_all(&attention, true, "random");
        attention_case_free(&attention);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(field_cases),
        cmocka_unit_test(random_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
