#include "reference/precision.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/oracle.h"

const struct fa_precision_recipe fa_precision_default = {
    .inputs = {FA_FORMAT_F32, FA_FORMAT_F32, FA_FORMAT_F32},
    .scores = FA_FORMAT_F32,
    .weights = FA_FORMAT_F32,
    .accumulate = {FA_FORMAT_F32, FA_FORMAT_F32},
    .output = FA_FORMAT_F32,
    .order = FA_FLASH_ORDER,
    .scale = FA_SCALE_NONE,
    .scale_rows = 128,
    .weight_scale = 1,
    .tile = 128,
};

static bool has_8_bit_input(const struct fa_precision_recipe *recipe)
{
    return fa_format_is_8_bit(recipe->inputs[0]) || fa_format_is_8_bit(recipe->inputs[1]) ||
           fa_format_is_8_bit(recipe->inputs[2]);
}

static bool is_format(enum fa_format format)
{
    return (unsigned)format < FA_FORMAT_COUNT;
}

enum fa_status fa_precision_check(const struct fa_precision_recipe *recipe, int64_t d,
                                  struct fa_error *error)
{
    const struct fa_precision_recipe *r = recipe;
    if (!is_format(r->inputs[0]) || !is_format(r->inputs[1]) || !is_format(r->inputs[2]) ||
        !is_format(r->scores) || !is_format(r->weights) || !is_format(r->accumulate[0]) ||
        !is_format(r->accumulate[1]) || !is_format(r->output))
        return fa_fail(error, FA_BAD_ARGUMENT, "expected formats from f64 to e5m2");
    if ((unsigned)r->order > FA_FLASH_ORDER || (unsigned)r->scale > FA_SCALE_BLOCK)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a known order and a known scale");
    if (r->scale != FA_SCALE_NONE && !has_8_bit_input(r))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a scale without an input of e4m3 or e5m2: other formats are not scaled");
    if (r->scale == FA_SCALE_BLOCK && r->scale_rows < 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a scale for each %" PRId64 " rows: expected 1 or more", r->scale_rows);
    if (r->hadamard && (d < 1 || (d & (d - 1)) != 0))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "d = %" PRId64 ": the Hadamard rotation needs a power of two", d);
    if (!(r->weight_scale > 0) || !isfinite(r->weight_scale))
        return fa_fail(error, FA_BAD_ARGUMENT, "weight scale %g: expected a number above 0",
                       r->weight_scale);
    if (r->order == FA_FLASH_ORDER && r->tile < 1)
        return fa_fail(error, FA_BAD_ARGUMENT, "tiles of %" PRId64 " keys: expected 1 or more",
                       r->tile);
    return FA_OK;
}

/* One head's work: the inputs as drawn and as rounded, and the rows that are compared. */
struct bench {
    const struct fa_precision_case *setting;
    struct fa_problem problem;
    double *inputs[FA_REFERENCE_COUNT][3]; /* q, k, v: n d */
    double *truth[FA_REFERENCE_COUNT];     /* O by the oracle on them: rows d */
    double *o, *lse;                       /* rows d, rows */
    int64_t *rows;
    const struct fa_precision_recipe *fresh; /* whose rounded inputs and oracle these are */
};

static void *take(int64_t rows, int64_t columns, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(rows, columns, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc((size_t)n);
}

double fa_precision_bytes(const struct fa_precision_case *setting)
{
    double n = (double)setting->n, d = (double)setting->d, rows = (double)setting->rows;
    /* Inputs twice; three outputs; a row of scores for 32 queries, and what the oracle keeps. */
    return 8 * (6 * n * d + 3 * rows * d + 32 * n) + 9 * (n > 1048576 ? n : 1048576);
}

static void close_bench(struct bench *bench)
{
    for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++) {
        for (int t = 0; t < 3; t++)
            free(bench->inputs[reference][t]);
        free(bench->truth[reference]);
    }
    free(bench->o);
    free(bench->lse);
    free(bench->rows);
}

static enum fa_status open_bench(struct bench *bench, const struct fa_precision_case *setting,
                                 struct fa_error *error)
{
    int64_t n = setting->n, d = setting->d, rows = setting->rows;
    *bench = (struct bench){.setting = setting, .problem = fa_problem_make(n, n, d)};
    bench->problem.dtype = FA_F64;
    bench->o = take(rows, d, sizeof(double));
    bench->lse = take(rows, 1, sizeof(double));
    bench->rows = take(rows, 1, sizeof(int64_t));
    bool good = bench->o && bench->lse && bench->rows;
    for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++) {
        bench->truth[reference] = take(rows, d, sizeof(double));
        good = good && bench->truth[reference];
        for (int t = 0; t < 3; t++) {
            bench->inputs[reference][t] = take(n, d, sizeof(double));
            good = good && bench->inputs[reference][t];
        }
    }
    if (!good) {
        close_bench(bench);
        return fa_fail(error, FA_NO_MEMORY,
                       "no memory for q, k and v of %" PRId64 " x %" PRId64 " as doubles, twice", n,
                       d);
    }
    for (int64_t i = 0; i < rows; i++) /* i n / rows, where i n may pass 2^63 */
        bench->rows[i] = n / rows * i + n % rows * i / rows;
    return FA_OK;
}

static void view_inputs(const struct bench *bench, enum fa_reference reference,
                        struct fa_tensor view[3])
{
    const int64_t shape[4] = {1, 1, bench->setting->n, bench->setting->d};
    for (int t = 0; t < 3; t++)
        view[t] = fa_tensor_view(FA_F64, shape, bench->inputs[reference][t]);
}

static enum fa_status ask_oracle(const struct bench *bench, enum fa_reference reference,
                                 struct fa_error *error)
{
    struct fa_tensor view[3];
    view_inputs(bench, reference, view);
    return fa_oracle_rows(&bench->problem, &view[0], &view[1], &view[2], 0, bench->rows,
                          bench->setting->rows, bench->truth[reference], bench->lse, error);
}

static void draw_head(struct bench *bench, int64_t head)
{
    struct fa_tensor view[3];
    view_inputs(bench, FA_REFERENCE_UNROUNDED, view);
    fa_profile_fill(bench->setting->profile, bench->setting->seed + ((uint64_t)head << 32),
                    &bench->problem, &view[0], &view[1], &view[2]);
    bench->fresh = NULL;
}

static bool rounds_alike(const struct fa_precision_recipe *a, const struct fa_precision_recipe *b)
{
    return memcmp(a->inputs, b->inputs, sizeof a->inputs) == 0 && a->hadamard == b->hadamard &&
           a->scale == b->scale && (a->scale != FA_SCALE_BLOCK || a->scale_rows == b->scale_rows);
}

static void round_head(struct bench *bench, const struct fa_precision_recipe *recipe, int64_t head)
{
    const struct fa_precision_case *setting = bench->setting;
    double **rounded = bench->inputs[FA_REFERENCE_ROUNDED];
    for (int t = 0; t < 3; t++)
        memcpy(rounded[t], bench->inputs[FA_REFERENCE_UNROUNDED][t],
               (size_t)(setting->n * setting->d) * sizeof(double));
    fa_precision_round_inputs(recipe, setting->seed, head, setting->n, setting->d, rounded[0],
                              rounded[1], rounded[2]);
    bench->fresh = recipe;
}

/* What all threads share. */
struct measurement {
    const struct fa_precision_case *setting;
    const struct fa_precision_recipe *recipes;
    int n_recipes;
    const bool *wanted;
    struct fa_comparison (*parts)[FA_REFERENCE_COUNT]; /* heads x n_recipes of them */
    int64_t done;                                      /* recipes, over all heads */
    enum fa_status status;
    struct fa_error *error;
};

static bool has_stopped(struct measurement *measurement)
{
    enum fa_status status;
#pragma omp atomic read
    status = measurement->status;
    return status != FA_OK;
}

/* After a step, one thread at a time: its status, the watch. The first that is not fine stays. */
static void note_steps(struct measurement *measurement, int64_t steps, enum fa_status status,
                       const struct fa_error *inner)
{
    const struct fa_watch *watch = measurement->setting->watch;
    double all = (double)measurement->setting->heads * measurement->n_recipes;
#pragma omp critical(fa_precision_steps)
    {
        measurement->done += steps;
        if (measurement->status == FA_OK) {
            enum fa_status now = status;
            if (now != FA_OK)
                fa_fail(measurement->error, now, "%s", inner->text);
            else if (watch && !watch->tick(watch->context, (double)measurement->done / all))
                now = fa_fail(measurement->error, FA_CANCELLED,
                              "stopped before all rows were compared");
#pragma omp atomic write
            measurement->status = now;
        }
    }
}

static enum fa_status measure_recipe(const struct measurement *measurement, struct bench *bench,
                                     int64_t head, int index, struct fa_error *error)
{
    const struct fa_precision_recipe *recipe = &measurement->recipes[index];
    const struct fa_precision_case *setting = bench->setting;
    double *const *rounded = bench->inputs[FA_REFERENCE_ROUNDED];
    struct fa_comparison(*parts)[FA_REFERENCE_COUNT] =
        measurement->parts + head * measurement->n_recipes;
    struct fa_comparison *part = parts[index];
    enum fa_status status = FA_OK;
    /* Padding may differ where nothing else does: then the same is only computed twice. */
    if (index > 0 && memcmp(recipe, recipe - 1, sizeof *recipe) == 0) {
        memcpy(part, parts[index - 1], sizeof parts[index]);
        return FA_OK;
    }
    if (!bench->fresh || !rounds_alike(bench->fresh, recipe)) {
        round_head(bench, recipe, head);
        if (measurement->wanted[FA_REFERENCE_ROUNDED])
            status = ask_oracle(bench, FA_REFERENCE_ROUNDED, error);
    }
    if (status == FA_OK)
        status = fa_precision_rows(recipe, setting->n, setting->d, rounded[0], rounded[1],
                                   rounded[2], bench->rows, setting->rows, bench->o, error);
    for (int reference = 0; reference < FA_REFERENCE_COUNT && status == FA_OK; reference++)
        if (measurement->wanted[reference])
            fa_comparison_add(&part[reference], bench->o, bench->truth[reference],
                              setting->rows * setting->d);
    return status;
}

static void measure_head(struct measurement *measurement, struct bench *bench, int64_t head)
{
    struct fa_error inner;
    enum fa_status status = FA_OK;
    draw_head(bench, head);
    if (measurement->wanted[FA_REFERENCE_UNROUNDED])
        status = ask_oracle(bench, FA_REFERENCE_UNROUNDED, &inner);
    note_steps(measurement, 0, status, &inner);
    for (int i = 0; i < measurement->n_recipes && !has_stopped(measurement); i++) {
        status = measure_recipe(measurement, bench, head, i, &inner);
        note_steps(measurement, 1, status, &inner);
    }
}

static void measure_heads(struct measurement *measurement)
{
    int64_t heads = measurement->setting->heads;
    int threads = measurement->setting->threads;
    threads = threads > heads ? (int)heads : threads;
#pragma omp parallel num_threads(threads)
    {
        struct bench bench;
        struct fa_error inner;
        enum fa_status status = open_bench(&bench, measurement->setting, &inner);
        note_steps(measurement, 0, status, &inner);
#pragma omp for schedule(dynamic)
        for (int64_t head = 0; head < heads; head++)
            if (status == FA_OK && !has_stopped(measurement))
                measure_head(measurement, &bench, head);
        if (status == FA_OK)
            close_bench(&bench);
    }
}

/* In the order of the heads, so that the sums do not depend on the threads. */
static struct fa_precision_error sum_up(const struct measurement *measurement, int recipe,
                                        enum fa_reference reference)
{
    int64_t heads = measurement->setting->heads;
    struct fa_precision_error sum = {.o = fa_comparison_start()};
    double spread = 0;
    for (int64_t head = 0; head < heads; head++)
        fa_comparison_merge(&sum.o, &measurement->parts[head * measurement->n_recipes + recipe]
                                                       [reference]);
    sum.rmse = fa_comparison_rms(&sum.o);
    if (heads == 1 || !isfinite(sum.rmse) || sum.rmse == 0)
        return sum;
    for (int64_t head = 0; head < heads; head++) {
        double rmse = fa_comparison_rms(
            &measurement->parts[head * measurement->n_recipes + recipe][reference]);
        double difference = rmse * rmse - sum.rmse * sum.rmse;
        spread += difference * difference;
    }
    /* The standard error of the mean square, and by its derivative that of the root. */
    sum.standard_error = sqrt(spread / (double)(heads - 1) / (double)heads) / (2 * sum.rmse);
    return sum;
}

static enum fa_status check_case(const struct fa_precision_case *setting, const bool *wanted,
                                 struct fa_error *error)
{
    int64_t elements;
    const int64_t shape[4] = {1, setting->heads, setting->n, setting->d};
    if (setting->n < 1 || setting->d < 1 || setting->heads < 1 || setting->threads < 1)
        return fa_fail(error, FA_BAD_ARGUMENT, "n, d, heads, threads: expected 1 or more of each");
    if (setting->rows < 1 || setting->rows > setting->n)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%" PRId64 " rows of a head: expected 1 to n = %" PRId64, setting->rows,
                       setting->n);
    if ((unsigned)setting->profile >= FA_PROFILE_COUNT)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a known profile");
    if (!wanted[FA_REFERENCE_UNROUNDED] && !wanted[FA_REFERENCE_ROUNDED])
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a reference to compare with");
    return fa_shape_elements(shape, &elements, error);
}

enum fa_status fa_precision_measure(const struct fa_precision_case *setting,
                                    const struct fa_precision_recipe *recipes, int n,
                                    const bool wanted[FA_REFERENCE_COUNT],
                                    struct fa_precision_error (*errors)[FA_REFERENCE_COUNT],
                                    struct fa_error *error)
{
    struct measurement measurement = {
        .setting = setting, .recipes = recipes, .n_recipes = n, .wanted = wanted, .error = error};
    enum fa_status status = check_case(setting, wanted, error);
    for (int i = 0; i < n && status == FA_OK; i++)
        status = fa_precision_check(&recipes[i], setting->d, error);
    if (status != FA_OK || n < 1)
        return status;
    measurement.parts = take(setting->heads, n, sizeof *measurement.parts);
    if (!measurement.parts)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the errors of %" PRId64 " heads",
                       setting->heads);
    for (int64_t i = 0; i < setting->heads * n; i++)
        for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++)
            measurement.parts[i][reference] = fa_comparison_start();
    measure_heads(&measurement);
    for (int i = 0; i < n && measurement.status == FA_OK; i++)
        for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++)
            errors[i][reference] = wanted[reference]
                                       ? sum_up(&measurement, i, (enum fa_reference)reference)
                                       : (struct fa_precision_error){.rmse = 0};
    free(measurement.parts);
    return measurement.status;
}
