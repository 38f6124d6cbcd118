#include "simulator/check.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/naive.h"
#include "reference/oracle.h"
#include "reference/philox.h"

enum {
    /* Rows of one call too: the oracle widens K and V once for 32 of them. */
    PART_ROWS = SIM_CHECK_PART_ROWS,
    WAVE_PARTS = 1024, /* parts that are worked on together, then merged in order */
};

/* What one part of the rows gives. */
struct part {
    struct fa_comparison o, lse, naive_o, naive_lse;
    int64_t underflowed;
};

struct checker {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v, *o, *lse;
    bool sampled;
    int64_t heads, rows_per_head, parts_per_head, n_parts;
    double error_factor, v_most; /* the largest finite |v| */
    double *o_parts, *lse_parts; /* the budgets of parts; may be NULL */
    struct sim_check_part o_part, lse_part;
    const struct fa_watch *watch;
    int64_t parts_done;
    bool stop;
    struct fa_error error; /* of the first part that failed */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int compare_rows(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool is_among(const int64_t *rows, int64_t n, int64_t row)
{
    for (int64_t i = 0; i < n; i++)
        if (rows[i] == row)
            return true;
    return false;
}

/* One row of part n of n_parts of the rows, drawn, and not among rows[0 .. n_rows): the parts are
 * wider than that list is long. */
static int64_t draw_row(int64_t nq, int64_t head, int64_t n, int64_t n_parts, const int64_t *rows,
                        int64_t n_rows)
{
    const uint32_t counter[4] = {(uint32_t)n, (uint32_t)head, (uint32_t)(head >> 32), 0};
    int64_t first = nq / n_parts * n + least(n, nq % n_parts);
    int64_t width = nq / n_parts + (n < nq % n_parts);
    uint32_t words[4];
    fa_philox4x32(0, counter, words);
    int64_t row = (int64_t)(((uint64_t)words[0] << 32 | words[1]) % (uint64_t)width);
    while (is_among(rows, n_rows, first + row))
        row = (row + 1) % width;
    return first + row;
}

void sim_check_sample_axis(int64_t n, const int64_t *edges, int64_t n_edges, int64_t head,
                           int64_t sample[SIM_CHECK_SAMPLED_ROWS])
{
    int64_t found = 0;
    assert(n / SIM_CHECK_SAMPLED_ROWS >= n_edges); /* No part is all edges. */
    for (int64_t e = 0; e < n_edges; e++)
        if (edges[e] >= 0 && edges[e] < n && !is_among(sample, found, edges[e]))
            sample[found++] = edges[e];
    int64_t n_parts = SIM_CHECK_SAMPLED_ROWS - found;
    for (int64_t i = 0; i < n_parts; i++)
        sample[found + i] = draw_row(n, head, i, n_parts, sample, found);
    qsort(sample, SIM_CHECK_SAMPLED_ROWS, sizeof *sample, compare_rows);
}

void sim_check_sample(const struct fa_problem *problem, int64_t head,
                      int64_t rows[SIM_CHECK_SAMPLED_ROWS])
{
    int64_t nq = problem->nq, nk = problem->nk;
    /* Key 0 stands on the diagonal at row `enter`, key nk - 1 at row enter + nk - 1. */
    int64_t enter = problem->causal == FA_CAUSAL_TOP_LEFT ? 0 : nq - nk;
    const int64_t edges[] = {0, nq - 1, enter - 1, enter, enter + nk - 1, enter + nk};
    sim_check_sample_axis(nq, edges, 6, head, rows);
}

/* The rows of part `index` of a head; returns how many. */
static int64_t rows_of(const struct checker *checker, int64_t head, int64_t index,
                       int64_t rows[PART_ROWS])
{
    int64_t sample[SIM_CHECK_SAMPLED_ROWS], first = index * PART_ROWS;
    int64_t n = least(PART_ROWS, checker->rows_per_head - first);
    if (checker->sampled)
        sim_check_sample(checker->problem, head, sample);
    for (int64_t i = 0; i < n; i++)
        rows[i] = checker->sampled ? sample[first + i] : first + i;
    return n;
}

/* Rows of a result as doubles. */
static void gather(const struct fa_problem *problem, const struct fa_tensor *tensor, int64_t head,
                   const int64_t *rows, int64_t n, double *to)
{
    int64_t columns = tensor->shape[3];
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++)
            to[i * columns + c] = fa_tensor_get(tensor, head / problem->heads,
                                                head % problem->heads, rows[i], c);
}

/* Elements of O in which a weight underflowed over an infinite V (check.h): o[n] takes the truth
 * there, so that they are not compared. Returns how many. */
static int64_t excuse_underflow(double *o, const bool *naive_nan, const double *expected, int64_t n)
{
    int64_t excused = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(o[i]) && naive_nan[i] && isinf(expected[i])) {
            o[i] = expected[i];
            excused++;
        }
    }
    return excused;
}

/* The naive run's error counts where it is of the same kind as the truth; see check.h. */
static void add_naive(struct fa_comparison *comparison, double *naive, const double *expected,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(naive[i]) || !isfinite(expected[i]))
            naive[i] = expected[i];
    fa_comparison_add(comparison, naive, expected, n);
}

static enum fa_status do_part(const struct checker *checker, int64_t index, struct part *part,
                              struct fa_error *error)
{
    const struct fa_problem *p = checker->problem;
    int64_t head = index / checker->parts_per_head, rows[PART_ROWS], n_o;
    int64_t n = rows_of(checker, head, index % checker->parts_per_head, rows);
    enum fa_status status = FA_NO_MEMORY;
    double *expected = NULL, *got = NULL;
    bool *naive_nan = NULL;
    *part = (struct part){fa_comparison_start(), fa_comparison_start(), fa_comparison_start(),
                          fa_comparison_start(), 0};
    if (fa_multiply(n, p->dv, &n_o) && n_o <= INT64_MAX / 16 - n) {
        expected = malloc((size_t)(n_o + n) * sizeof *expected);
        got = malloc((size_t)(n_o + n) * sizeof *got);
        naive_nan = malloc((size_t)(n_o + n) * sizeof *naive_nan);
    }
    if (!expected || !got || !naive_nan) {
        fa_fail(error, FA_NO_MEMORY, "no memory for the check's rows of O");
        goto done;
    }
    double *lse = expected + n_o, *got_lse = got + n_o;
    status = fa_oracle_rows(p, checker->q, checker->k, checker->v, head, rows, n, expected, lse,
                            error);
    if (status == FA_OK)
        status = fa_naive_rows(p, checker->q, checker->k, checker->v, head, rows, n, got, got_lse,
                               error);
    if (status != FA_OK)
        goto done;
    for (int64_t i = 0; i < n_o; i++)
        naive_nan[i] = isnan(got[i]);
    add_naive(&part->naive_o, got, expected, n_o);
    add_naive(&part->naive_lse, got_lse, lse, n);
    gather(p, checker->o, head, rows, n, got);
    part->underflowed = excuse_underflow(got, naive_nan, expected, n_o);
    fa_comparison_add(&part->o, got, expected, n_o);
    if (checker->lse) {
        gather(p, checker->lse, head, rows, n, got_lse);
        fa_comparison_add(&part->lse, got_lse, lse, n);
    }
done:
    free(expected);
    free(got);
    free(naive_nan);
    return status;
}

/* Called by one thread at a time. */
static void part_done(struct checker *checker, enum fa_status status, const struct fa_error *error)
{
    const struct fa_watch *watch = checker->watch;
    checker->parts_done++;
    if (status != FA_OK && checker->error.status == FA_OK)
        checker->error = *error;
    if (watch && watch->tick && checker->error.status == FA_OK &&
        !watch->tick(watch->context, (double)checker->parts_done / (double)checker->n_parts))
        fa_fail(&checker->error, FA_CANCELLED, "stopped before the check was done");
    if (checker->error.status != FA_OK) {
#pragma omp atomic write
        checker->stop = true;
    }
}

/* Parts first .. first + n - 1, on all threads. */
static void do_wave(struct checker *checker, int64_t first, int64_t n, int threads,
                    struct part *parts)
{
    int64_t few = n / (8 * threads) + 1; /* at a time */
#ifndef _OPENMP
    (void)few;
#endif
#pragma omp parallel for schedule(dynamic, few) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++) {
        struct fa_error error = {FA_OK, ""};
        bool stop;
#pragma omp atomic read
        stop = checker->stop;
        if (stop)
            continue;
        enum fa_status status = do_part(checker, first + i, &parts[i], &error);
#pragma omp critical(sim_check_part_done)
        part_done(checker, status, &error);
    }
}

/* The rule of check.h, for all that was compared or for one part. */
static void find_budgets(const struct checker *checker, const struct part *part, bool whole,
                         double *o_budget, double *lse_budget)
{
    const struct fa_problem *p = checker->problem;
    double o_roundoff = fa_dtype_roundoff(p->dtype), times = whole ? 1 : 4;
    double roundoff = fa_dtype_roundoff(p->dtype == FA_F64 ? FA_F64 : FA_F32);
    double o_most = part->naive_o.max_abs_expected, lse_most = part->naive_lse.max_abs_expected;
    double v_most = fmin(checker->v_most, 64 * o_most);
    double o_error = fmax(part->naive_o.max_abs_error,
                          roundoff * (sqrt((double)p->nk) * o_most + fmax(1, lse_most) * v_most));
    double lse_error = fmax(part->naive_lse.max_abs_error,
                            roundoff * sqrt((double)p->d) *
                                (part->naive_lse.n > 0 && p->nk > 0 ? fmax(1, lse_most) : 0));
    if ((p->dtype == FA_F16 || p->dtype == FA_BF16) && checker->error_factor > 1)
        lse_error = fmax(lse_error, o_roundoff * lse_most);
    if (!whole) /* lse_error is at least that already */
        o_error = fmax(o_error, o_roundoff * o_most);
    *o_budget = times * (2 * checker->error_factor * o_error + 2 * o_roundoff * o_most);
    *lse_budget = times * (2 * checker->error_factor * lse_error + 2 * roundoff * lse_most);
    if (!whole && part->o.n < SIM_CHECK_PART_ELEMENTS)
        *o_budget = INFINITY;
    if (!whole && part->naive_lse.n < SIM_CHECK_PART_ELEMENTS)
        *lse_budget = INFINITY;
}

/* Beside its own budgets, before it is merged into *sum. Rows are still counted as compared. */
static void judge_part(struct checker *checker, int64_t index, const struct part *sum,
                       const struct part *part)
{
    int64_t head = index / checker->parts_per_head;
    int64_t first = index % checker->parts_per_head * PART_ROWS;
    int64_t last = least(first + PART_ROWS, checker->rows_per_head) - 1;
    double o_budget, lse_budget;
    find_budgets(checker, part, false, &o_budget, &lse_budget);
    if (checker->o_parts)
        checker->o_parts[index] = o_budget;
    if (checker->lse_parts)
        checker->lse_parts[index] = lse_budget;
    const struct sim_check_part o = sim_check_part_make(&part->o, o_budget, head, first, last);
    const struct sim_check_part lse =
        sim_check_part_make(&part->lse, lse_budget, head, first, last);
    sim_check_part_merge(&checker->o_part, &o, sum->o.n);
    sim_check_part_merge(&checker->lse_part, &lse, sum->lse.n);
}

static void merge(struct part *sum, const struct part *part)
{
    fa_comparison_merge(&sum->o, &part->o);
    fa_comparison_merge(&sum->lse, &part->lse);
    fa_comparison_merge(&sum->naive_o, &part->naive_o);
    fa_comparison_merge(&sum->naive_lse, &part->naive_lse);
    sum->underflowed += part->underflowed;
}

/* Where in O the worst element stands: its index counts the rows that were compared. */
static void locate_worst(const struct checker *checker, struct sim_check *check)
{
    int64_t dv = checker->problem->dv, index = check->o.worst, sample[SIM_CHECK_SAMPLED_ROWS];
    check->worst_head = check->worst_row = check->worst_column = -1;
    if (index < 0)
        return;
    check->worst_column = index % dv;
    index /= dv;
    check->worst_head = index / checker->rows_per_head;
    check->worst_row = index % checker->rows_per_head;
    if (checker->sampled) {
        sim_check_sample(checker->problem, check->worst_head, sample);
        check->worst_row = sample[check->worst_row];
    }
}

/* The part's rows in the tensor, for those that count the compared ones. */
static struct sim_check_part in_rows(const struct checker *checker, struct sim_check_part part)
{
    int64_t sample[SIM_CHECK_SAMPLED_ROWS];
    if (checker->sampled && part.worst >= 0) {
        sim_check_sample(checker->problem, part.head, sample);
        part.first = sample[part.first];
        part.last = sample[part.last];
    }
    return part;
}

/* The largest finite magnitude in a tensor. */
static double most_of(const struct fa_tensor *v)
{
    double most = 0;
    for (int64_t b = 0; b < v->shape[0]; b++)
        for (int64_t h = 0; h < v->shape[1]; h++)
            for (int64_t r = 0; r < v->shape[2]; r++)
                for (int64_t c = 0; c < v->shape[3]; c++) {
                    double x = fabs(fa_tensor_get(v, b, h, r, c));
                    if (isfinite(x) && x > most)
                        most = x;
                }
    return most;
}

static struct sim_check conclude(const struct checker *checker, const struct part *sum)
{
    struct sim_check check = {
        .rows = sum->naive_lse.n,
        .sampled = checker->sampled,
        .o = sum->o,
        .lse = sum->lse,
        .o_part = in_rows(checker, checker->o_part),
        .lse_part = in_rows(checker, checker->lse_part),
        .underflowed = sum->underflowed,
    };
    find_budgets(checker, sum, true, &check.o_budget, &check.lse_budget);
    check.pass = fa_comparison_within(&check.o, check.o_budget) &&
                 fa_comparison_within(&check.lse, check.lse_budget) && check.o_part.wrong == 0 &&
                 check.lse_part.wrong == 0;
    locate_worst(checker, &check);
    return check;
}

/* All parts in waves, merged in order. */
static enum fa_status do_parts(struct checker *checker, int threads, struct part *sum,
                               struct fa_error *error)
{
    int64_t wave = least(WAVE_PARTS, checker->n_parts);
    struct part *parts = malloc((size_t)(wave + 1) * sizeof *parts);
    if (!parts)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the check's comparisons");
    for (int64_t first = 0; first < checker->n_parts && !checker->stop; first += wave) {
        int64_t n = least(wave, checker->n_parts - first);
        do_wave(checker, first, n, threads, parts);
        for (int64_t i = 0; i < n && !checker->stop; i++) {
            judge_part(checker, first + i, sum, &parts[i]);
            merge(sum, &parts[i]);
        }
    }
    free(parts);
    if (checker->stop && error)
        *error = checker->error;
    return checker->stop ? checker->error.status : FA_OK;
}

enum fa_status sim_check_forward_parts(const struct fa_problem *problem, const struct fa_tensor *q,
                                       const struct fa_tensor *k, const struct fa_tensor *v,
                                       const struct fa_tensor *o, const struct fa_tensor *lse,
                                       enum sim_check_mode mode, double error_factor, int threads,
                                       const struct fa_watch *watch, double *o_parts,
                                       double *lse_parts, struct sim_check *check,
                                       struct fa_error *error)
{
    bool sampled = mode == SIM_CHECK_SAMPLE && problem->nq > SIM_CHECK_ALL_ROWS;
    struct checker checker = {
        .problem = problem,
        .q = q,
        .k = k,
        .v = v,
        .o = o,
        .lse = lse && lse->data ? lse : NULL,
        .sampled = sampled,
        .heads = mode == SIM_CHECK_NONE ? 0 : problem->batch * problem->heads,
        .rows_per_head = sampled ? SIM_CHECK_SAMPLED_ROWS : problem->nq,
        .error_factor = error_factor,
        .v_most = most_of(v),
        .o_parts = o_parts,
        .lse_parts = lse_parts,
        .o_part = sim_check_part_none(),
        .lse_part = sim_check_part_none(),
        .watch = watch,
    };
    struct part sum = {fa_comparison_start(), fa_comparison_start(), fa_comparison_start(),
                       fa_comparison_start(), 0};
    assert(threads >= 1);
    checker.parts_per_head = sim_check_parts_of(checker.rows_per_head);
    checker.n_parts = checker.heads * checker.parts_per_head;
    enum fa_status status = do_parts(&checker, threads, &sum, error);
    if (status != FA_OK)
        return status;
    *check = conclude(&checker, &sum);
    return FA_OK;
}

enum fa_status sim_check_forward(const struct fa_problem *problem, const struct fa_tensor *q,
                                 const struct fa_tensor *k, const struct fa_tensor *v,
                                 const struct fa_tensor *o, const struct fa_tensor *lse,
                                 enum sim_check_mode mode, double error_factor, int threads,
                                 const struct fa_watch *watch, struct sim_check *check,
                                 struct fa_error *error)
{
    return sim_check_forward_parts(problem, q, k, v, o, lse, mode, error_factor, threads, watch,
                                   NULL, NULL, check, error);
}
