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
#include "reference/naive.h"
#include "reference/oracle.h"
#include "simulator/experiment.h"
#include "tests/forward_pass.h"

enum { GUARD = 64, THREADS_MAX = 4 };

/* All bits set is a NaN in every float format, and no arithmetic makes just this one. */
static const unsigned char unwritten = 0xff, guard_byte = 0xa5;

struct fa_tiles forward_tiles(int64_t br, int64_t bc, int64_t row_block, int64_t column_chunk)
{
    return (struct fa_tiles){br, bc, row_block, column_chunk > 0 ? column_chunk : INT64_MAX};
}

/* An output tensor in memory of its own, with a guard on each side. */
struct fenced {
    struct fa_tensor tensor;
    unsigned char *memory;
    size_t bytes;
};

static int64_t elements(const struct fa_tensor *tensor)
{
    int64_t n = 0;
    assert_int_equal(fa_shape_elements(tensor->shape, &n, NULL), FA_OK);
    return n;
}

static struct fenced fence(enum fa_dtype dtype, const int64_t shape[4], enum forward_layout layout)
{
    struct fenced fenced;
    int64_t step = layout == FORWARD_SCATTERED ? 3 : 1;
    fenced.tensor = fa_tensor_view(dtype, shape, NULL);
    fenced.bytes = (size_t)(elements(&fenced.tensor) * step) * fa_dtype_bytes(dtype);
    fenced.memory = malloc(fenced.bytes + 2 * GUARD);
    assert_non_null(fenced.memory);
    memset(fenced.memory, guard_byte, fenced.bytes + 2 * GUARD);
    memset(fenced.memory + GUARD, unwritten, fenced.bytes);
    fenced.tensor.data = fenced.memory + GUARD;
    if (layout != FORWARD_BHSD) {
        fenced.tensor.stride[3] = step;
        fenced.tensor.stride[1] = shape[3] * step;
        fenced.tensor.stride[2] = shape[1] * fenced.tensor.stride[1];
        fenced.tensor.stride[0] = shape[2] * fenced.tensor.stride[2];
    }
    return fenced;
}

static bool all_are(const unsigned char *bytes, size_t n, unsigned char value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static void check_fence(const struct fenced *fenced, const struct forward_pass *pass,
                        const struct attention_case *attention, const char *what)
{
    size_t element = fa_dtype_bytes(fenced->tensor.dtype);
    const char *name = pass->algorithm->name;
    if (!all_are(fenced->memory, GUARD, guard_byte) ||
        !all_are(fenced->memory + GUARD + fenced->bytes, GUARD, guard_byte))
        fail_msg("case \"%s\", %s: %s was written past its ends", attention->name, name, what);
    bool scattered = pass->layout == FORWARD_SCATTERED && fenced->tensor.stride[3] == 3;
    for (size_t i = 0; i < fenced->bytes / element; i++) {
        bool is_gap = scattered && i % 3 != 0;
        bool is_fresh = all_are(fenced->memory + GUARD + i * element, element, unwritten);
        if (is_gap && !is_fresh)
            fail_msg("case \"%s\", %s: %s was written between its elements", attention->name, name,
                     what);
        if (!is_gap && is_fresh)
            fail_msg(
                "case \"%s\", %s, tiles %" PRId64 "x%" PRId64 ": nobody wrote element %zu of %s",
                attention->name, name, pass->tiles.br, pass->tiles.bc, scattered ? i / 3 : i, what);
    }
}

/* The elements as doubles, in row-major order of [batch, heads, rows, columns]. */
static double *gather(const struct fa_tensor *tensor)
{
    double *values = malloc((size_t)(elements(tensor) + 1) * sizeof *values);
    int64_t n = 0;
    assert_non_null(values);
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    values[n++] = fa_tensor_get(tensor, b, h, r, c);
    return values;
}

static void execute(const struct forward_pass *pass, const struct attention_case *attention,
                    const struct fa_tensor *o, const struct fa_tensor *lse)
{
    const struct fa_problem *problem = &attention->problem;
    struct sim_memory memories[THREADS_MAX];
    struct fa_port *ports[THREADS_MAX];
    struct fa_error error = {FA_OK, ""};
    struct fa_run run;
    int threads = pass->threads > 0 ? pass->threads : 1;
    assert_true(threads <= THREADS_MAX);
    enum fa_status status = fa_run_open(&run, pass->algorithm, problem, &pass->tiles, &attention->q,
                                        &attention->k, &attention->v, o, lse, false, &error);
    if (status != FA_OK)
        fail_msg("case \"%s\", %s: %s", attention->name, pass->algorithm->name, error.text);
    for (int t = 0; t < threads; t++) {
        sim_memory_open(&memories[t], &run, pass->port == FORWARD_PLAIN ? SIM_PLAIN : SIM_COUNTED,
                        0, NULL);
        ports[t] = &memories[t].port;
    }
    status =
        fa_execute(pass->algorithm, ports, threads, problem->batch * problem->heads, NULL, &error);
    if (status != FA_OK)
        fail_msg("case \"%s\", %s: %s", attention->name, pass->algorithm->name, error.text);
    fa_run_finish(&run, pass->algorithm);
    for (int t = 0; t < threads; t++)
        sim_memory_close(&memories[t]);
    fa_run_close(&run);
}

struct forward_result forward_pass_run(const struct forward_pass *pass,
                                       const struct attention_case *attention)
{
    const struct fa_problem *p = &attention->problem;
    struct fenced o = fence(p->dtype, (int64_t[]){p->batch, p->heads, p->nq, p->dv}, pass->layout);
    struct fenced lse = fence(p->dtype == FA_F64 ? FA_F64 : FA_F32,
                              (int64_t[]){p->batch, p->heads, p->nq, 1}, FORWARD_BHSD);
    execute(pass, attention, &o.tensor, pass->without_lse ? NULL : &lse.tensor);
    check_fence(&o, pass, attention, "O");
    if (!pass->without_lse)
        check_fence(&lse, pass, attention, "LSE");
    struct forward_result result = {
        .n_o = elements(&o.tensor),
        .n_lse = elements(&lse.tensor),
        .o = gather(&o.tensor),
        .lse = gather(&lse.tensor),
    };
    free(o.memory);
    free(lse.memory);
    return result;
}

void forward_result_free(struct forward_result *result)
{
    free(result->o);
    free(result->lse);
    memset(result, 0, sizeof *result);
}

/* All rows of one head into o and lse, contiguous. */
static void compute_head(const struct attention_case *attention, attention_rows *compute,
                         int64_t head, double *o, double *lse)
{
    const struct fa_problem *p = &attention->problem;
    int64_t *rows = malloc((size_t)(p->nq + 1) * sizeof *rows);
    assert_non_null(rows);
    for (int64_t row = 0; row < p->nq; row++)
        rows[row] = row;
    assert_int_equal(
        compute(p, &attention->q, &attention->k, &attention->v, head, rows, p->nq, o, lse, NULL),
        FA_OK);
    free(rows);
}

void forward_case_answer(struct attention_case *attention)
{
    const struct fa_problem *p = &attention->problem;
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    fa_tensor_free(&attention->o);
    fa_tensor_free(&attention->lse);
    assert_int_equal(fa_tensor_create(&attention->o, FA_F64, o, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&attention->lse, FA_F64, lse, NULL), FA_OK);
    for (int64_t head = 0; head < p->batch * p->heads; head++)
        compute_head(attention, fa_oracle_rows, head,
                     (double *)attention->o.data + head * p->nq * p->dv,
                     (double *)attention->lse.data + head * p->nq);
}

/* The largest error among the elements that are finite on both sides. */
static double largest_error(const double *got, const double *expected, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(got[i]) && isfinite(expected[i]) && fabs(got[i] - expected[i]) > largest)
            largest = fabs(got[i] - expected[i]);
    return largest;
}

static double largest_value(const struct fa_tensor *tensor)
{
    double *values = gather(tensor), largest = 0;
    for (int64_t i = 0; i < elements(tensor); i++)
        if (isfinite(values[i]) && fabs(values[i]) > largest)
            largest = fabs(values[i]);
    free(values);
    return largest;
}

struct forward_budget forward_budget_make(const struct attention_case *attention)
{
    const struct fa_problem *p = &attention->problem;
    struct forward_budget budget = {
        .v_size = largest_value(&attention->v),
        .lse_size = fmax(1, largest_value(&attention->lse)),
    };
    int64_t n = p->nq * p->dv;
    double *o = malloc((size_t)(n + 1) * sizeof *o);
    double *lse = malloc((size_t)(p->nq + 1) * sizeof *lse);
    assert_true(o && lse);
    for (int64_t head = 0; head < p->batch * p->heads; head++) {
        compute_head(attention, fa_naive_rows, head, o, lse);
        budget.naive_o =
            fmax(budget.naive_o, largest_error(o, (double *)attention->o.data + head * n, n));
        budget.naive_lse =
            fmax(budget.naive_lse,
                 largest_error(lse, (double *)attention->lse.data + head * p->nq, p->nq));
    }
    free(o);
    free(lse);
    return budget;
}

/* The budgets of the header, for O and LSE. */
static void budgets_of(const struct forward_pass *pass, const struct attention_case *attention,
                       const struct forward_budget *budget, double *o, double *lse)
{
    const struct fa_problem *p = &attention->problem;
    struct sim_result run = {.algorithm = pass->algorithm, .problem = *p, .tiles = pass->tiles};
    double factor = sim_error_factor(&run), u = fa_dtype_roundoff(p->dtype);
    double u_real = fa_dtype_roundoff(p->dtype == FA_F64 ? FA_F64 : FA_F32);
    double sums = sqrt((double)p->nk) * u_real, few = p->dtype == FA_F64 ? 64 : 8;
    if (pass->algorithm == &fa_flash1 && p->nk > 0)
        sums += u_real * (fmin((double)pass->tiles.bc, (double)p->nk) +
                          ceil((double)p->nk / (double)pass->tiles.bc));
    double lse_rounding = few * u_real + (pass->algorithm->stores_scores ? 2 * u : 0);
    *o = 2 * factor * budget->naive_o + (few * u + sums) * budget->v_size;
    *lse = 2 * factor * budget->naive_lse + (lse_rounding + sums) * budget->lse_size;
}

bool forward_result_within(const struct forward_result *result, const struct forward_pass *pass,
                           const struct attention_case *attention,
                           const struct forward_budget *budget)
{
    struct fa_comparison o = fa_comparison_start(), lse = o;
    double o_budget, lse_budget;
    budgets_of(pass, attention, budget, &o_budget, &lse_budget);
    fa_comparison_add(&o, result->o, attention->o.data, result->n_o);
    if (!pass->without_lse)
        fa_comparison_add(&lse, result->lse, attention->lse.data, result->n_lse);
    return fa_comparison_within(&o, o_budget) && fa_comparison_within(&lse, lse_budget);
}

/* Says what the first of the two that is out of its budget did. */
static void fail_at_worst(const char *what, const double *got, const struct fa_tensor *expected,
                          double budget, const struct forward_pass *pass,
                          const struct attention_case *attention, const char *label)
{
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, got, expected->data, elements(expected));
    if (fa_comparison_within(&comparison, budget))
        return;
    fail_msg("%s case \"%s\" (%s), %s, tiles %" PRId64 "x%" PRId64 ", rows %" PRId64
             ", %s: element %" PRId64 " is %.17g, expected %.17g within %g; %" PRId64 " of %" PRId64
             " differ in NaN or infinity",
             label, attention->name, fa_dtype_name(attention->problem.dtype), pass->algorithm->name,
             pass->tiles.br, pass->tiles.bc, pass->tiles.row_block, what, comparison.worst,
             got[comparison.worst], ((const double *)expected->data)[comparison.worst], budget,
             comparison.mismatches, comparison.n);
}

void forward_result_check(const struct forward_result *result, const struct forward_pass *pass,
                          const struct attention_case *attention,
                          const struct forward_budget *budget, const char *label)
{
    double o_budget, lse_budget;
    if (forward_result_within(result, pass, attention, budget))
        return;
    budgets_of(pass, attention, budget, &o_budget, &lse_budget);
    fail_at_worst("O", result->o, &attention->o, o_budget, pass, attention, label);
    fail_at_worst("LSE", result->lse, &attention->lse, lse_budget, pass, attention, label);
}

static const struct {
    int64_t br, bc, row_block, column_chunk;
} tile_choices[] = {
    {1, 1, 1, 1},    {7, 5, 3, 11},     {16, 64, 2, 0},
    {64, 32, 5, 64}, {300, 70, 40, 16}, {64, 900, 64, 0},
};
enum { TILE_CHOICES = (int)(sizeof tile_choices / sizeof tile_choices[0]), LARGE = 700000 };

void forward_check_all(const struct attention_case *attention, bool every, const char *label)
{
    const struct fa_problem *p = &attention->problem;
    struct forward_budget budget = forward_budget_make(attention);
    /* What a single score costs grows with the head size too. */
    bool all = every || p->batch * p->heads * p->nq * p->nk * (p->d + p->dv) <= LARGE;
    for (int a = 0; a < FA_ALGORITHMS; a++)
        for (int t = all ? 0 : 1 + (a + (int)p->dtype) % 3; t < TILE_CHOICES; t += all ? 1 : 3) {
            struct forward_pass pass = {
                .algorithm = fa_algorithms[a],
                .tiles = forward_tiles(tile_choices[t].br, tile_choices[t].bc,
                                       tile_choices[t].row_block, tile_choices[t].column_chunk),
                .port = (t + a) % 2 ? FORWARD_PLAIN : FORWARD_COUNTED,
                .layout = (enum forward_layout)(t % 3),
            };
            struct forward_result result = forward_pass_run(&pass, attention);
            forward_result_check(&result, &pass, attention, &budget, label);
            forward_result_free(&result);
        }
}

static int64_t first_difference(const double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return i;
    return -1;
}

void forward_result_same(const struct forward_result *a, const struct forward_result *b,
                         const char *label)
{
    assert_int_equal(a->n_o, b->n_o);
    assert_int_equal(a->n_lse, b->n_lse);
    int64_t at = first_difference(a->o, b->o, a->n_o);
    if (at >= 0)
        fail_msg("%s: O has other bits at element %" PRId64 ": %a and %a", label, at, a->o[at],
                 b->o[at]);
    at = first_difference(a->lse, b->lse, a->n_lse);
    if (at >= 0)
        fail_msg("%s: LSE has other bits at element %" PRId64 ": %a and %a", label, at, a->lse[at],
                 b->lse[at]);
}
