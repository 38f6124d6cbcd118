#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/compare.h"
#include "tests/attention_case.h"

enum { GUARD = 8 }; /* doubles before and after an output */
static const double guard_value = 12345.678;

void attention_case_free(struct attention_case *attention)
{
    fa_tensor_free(&attention->q);
    fa_tensor_free(&attention->k);
    fa_tensor_free(&attention->v);
    fa_tensor_free(&attention->mask);
    fa_tensor_free(&attention->bias);
    fa_tensor_free(&attention->o);
    fa_tensor_free(&attention->lse);
    memset(attention, 0, sizeof *attention);
}

void attention_tensor_relayout(struct fa_tensor *tensor, bool scatter)
{
    struct fa_tensor from = *tensor;
    int64_t b = from.shape[0], h = from.shape[1], r = from.shape[2], c = from.shape[3];
    const int64_t shape[4] = {b, r, h, scatter ? 3 * c : c};
    assert_int_equal(fa_tensor_create(tensor, from.dtype, shape, NULL), FA_OK);
    tensor->shape[1] = h;
    tensor->shape[2] = r;
    tensor->shape[3] = c;
    int64_t heads_apart = tensor->stride[2];
    tensor->stride[2] = tensor->stride[1];
    tensor->stride[1] = heads_apart;
    tensor->stride[3] = scatter ? 3 : 1;
    for (int64_t i = 0; i < b * h * r * c; i++)
        fa_tensor_set(tensor, i / (h * r * c), i / (r * c) % h, i / c % r, i % c,
                      fa_dtype_get(from.dtype, from.data, i));
    fa_tensor_free(&from);
}

static int64_t count(const struct fa_tensor *tensor)
{
    int64_t n = 0;
    assert_int_equal(fa_shape_elements(tensor->shape, &n, NULL), FA_OK);
    return n;
}

static void check_tensor(const struct attention_case *attention, const char *what,
                         const double *got, const struct fa_tensor *expected, double relative)
{
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, got, expected->data, count(expected));
    double budget = relative * comparison.max_abs_expected;
    if (!fa_comparison_within(&comparison, budget))
        fail_msg("case \"%s\" (%s), %s: element %" PRId64 " is %.17g, expected %.17g within %g; "
                 "%" PRId64 " of %" PRId64 " differ in NaN or infinity",
                 attention->name, fa_dtype_name(attention->problem.dtype), what, comparison.worst,
                 got[comparison.worst], ((const double *)expected->data)[comparison.worst], budget,
                 comparison.mismatches, comparison.n);
}

void attention_case_check(const struct attention_case *attention, const double *o,
                          const double *lse, double relative)
{
    check_tensor(attention, "O", o, &attention->o, relative);
    check_tensor(attention, "LSE", lse, &attention->lse, relative);
}

static double *guarded(int64_t n)
{
    double *memory = malloc((size_t)(n + 2 * GUARD) * sizeof *memory);
    assert_non_null(memory);
    for (int64_t i = 0; i < n + 2 * GUARD; i++)
        memory[i] = i < GUARD || i >= n + GUARD ? guard_value : NAN;
    return memory + GUARD;
}

static void free_guarded(const struct attention_case *attention, double *array, int64_t n)
{
    for (int i = 0; i < GUARD; i++)
        if (array[i - GUARD] != guard_value || array[n + i] != guard_value)
            fail_msg("case \"%s\": an output was written past its ends", attention->name);
    free(array - GUARD);
}

void attention_case_run(const struct attention_case *attention, attention_rows *compute,
                        double relative)
{
    const struct fa_problem *problem = &attention->problem;
    int64_t nq = problem->nq, dv = problem->dv, heads = problem->batch * problem->heads;
    struct fa_error error = {FA_OK, ""};
    double *o = guarded(heads * nq * dv), *lse = guarded(heads * nq);
    int64_t *rows = malloc((size_t)(nq + 1) * sizeof *rows);
    assert_non_null(rows);
    for (int64_t row = 0; row < nq; row++)
        rows[row] = row;
    if (fa_problem_check(problem, &error) != FA_OK)
        fail_msg("case \"%s\" is refused: %s", attention->name, error.text);
    for (int64_t head = 0; head < heads; head++) {
        enum fa_status status =
            compute(problem, &attention->q, &attention->k, &attention->v, head, rows, nq,
                    o + head * nq * dv, lse + head * nq, &error);
        if (status != FA_OK)
            fail_msg("case \"%s\": %s", attention->name, error.text);
    }
    attention_case_check(attention, o, lse, relative);
    free_guarded(attention, o, heads * nq * dv);
    free_guarded(attention, lse, heads * nq);
    free(rows);
}
