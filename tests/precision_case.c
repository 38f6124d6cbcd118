#include "tests/precision_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

const bool precision_both[FA_REFERENCE_COUNT] = {true, true};

struct fa_precision_case precision_small_case(enum fa_profile profile)
{
    return (struct fa_precision_case){
        .n = N, .d = D, .heads = 3, .rows = ROWS, .profile = profile, .seed = 7, .threads = 1};
}

struct fa_precision_recipe precision_all_of(enum fa_format format)
{
    struct fa_precision_recipe recipe = fa_precision_default;
    for (int t = 0; t < 3; t++)
        recipe.inputs[t] = format;
    recipe.scores = recipe.weights = recipe.output = format;
    recipe.accumulate[0] = recipe.accumulate[1] = format;
    recipe.tile = 48;
    return recipe;
}

void precision_measure(enum fa_profile profile, const struct fa_precision_recipe *recipe,
                       struct fa_precision_error errors[FA_REFERENCE_COUNT])
{
    struct fa_precision_case setting = precision_small_case(profile);
    struct fa_precision_error found[1][FA_REFERENCE_COUNT];
    struct fa_error error = {FA_OK, ""};
    if (fa_precision_measure(&setting, recipe, 1, precision_both, found, &error) != FA_OK)
        fail_msg("%s", error.text);
    memcpy(errors, found, sizeof found);
}
