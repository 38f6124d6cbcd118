#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "reference/field_cases.h"
#include "tests/field_case.h"

int field_case_count(void)
{
    return fa_field_case_count();
}

bool field_case_make(struct attention_case *field, int index, enum fa_dtype dtype)
{
    struct fa_field_case made;
    struct fa_error error = {FA_OK, ""};
    enum fa_status status = fa_field_case_make(&made, index, dtype, &error);
    memset(field, 0, sizeof *field);
    if (status == FA_UNSUPPORTED)
        return false;
    if (status != FA_OK)
        fail_msg("%s", error.text);
    snprintf(field->name, sizeof field->name, "%s", made.name);
    field->problem = made.problem;
    field->q = made.q;
    field->k = made.k;
    field->v = made.v;
    field->mask = made.mask;
    field->bias = made.bias;
    field->o = made.o;
    field->lse = made.lse;
    if (made.problem.mask)
        field->problem.mask = &field->mask;
    if (made.problem.bias)
        field->problem.bias = &field->bias;
    return true;
}
