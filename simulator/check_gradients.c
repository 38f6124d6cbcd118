#include "simulator/check_gradients.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "simulator/check_gradient_sizes.h"

/* The jobs of one K/V head, which threads do in any order. */
enum job { JOB_ORACLE, JOB_NAIVE, JOB_SIZES, JOBS };

struct result {
    double *dq, *dk, *dv; /* into memory, NULL for what is not compared */
    double *memory;
};

struct head_work {
    int64_t *rows, *keys;
    struct result truth, naive;
    struct sim_measured measured;
    struct fa_comparison got[3], missed[3]; /* of the result and of the naive run: dq, dk, dv */
    struct sim_check_part part[3];
    int64_t underflowed;
};

enum {
    WAVE_HEADS = 64,            /* at most so many a thread, that small heads share a wave */
    WAVE_NUMBERS = 4096 * 1024, /* and those of one thread have at most so many numbers */
};

struct checker {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v, *dout;
    const struct fa_tensor *dq, *dk, *dv; /* NULL: not compared */
    int64_t group, n_rows, n_keys;        /* query heads of a K/V head; rows and keys of each */
    int64_t n_dq, n_dk, n_dv;             /* numbers of one K/V head; 0 for what is not compared */
    int64_t n_jobs, jobs_done;
    const struct fa_watch *watch;
    bool stop;
    struct fa_error error; /* of the first job that failed */
    struct sim_gradient_sizes sizes;
    struct fa_comparison got[3], naive[3]; /* of dq, dk, dv */
    struct sim_check_part part[3];
    double error_factor[3];
    double *parts[3]; /* the budgets of parts; may be NULL */
    int64_t underflowed;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void list_rows(const struct checker *checker, int64_t kv_head, int64_t *rows)
{
    if (checker->n_rows < checker->problem->nq)
        sim_check_sample(checker->problem, kv_head, rows);
    else
        for (int64_t i = 0; i < checker->n_rows; i++)
            rows[i] = i;
}

/* Row 0 stands on the diagonal at key `enter`, row nq - 1 at key enter + nq - 1. */
static void list_keys(const struct checker *checker, int64_t kv_head, int64_t *keys)
{
    int64_t nq = checker->problem->nq, nk = checker->problem->nk;
    int64_t enter = checker->problem->causal == FA_CAUSAL_TOP_LEFT ? 0 : nk - nq;
    const int64_t edges[] = {0, nk - 1, enter - 1, enter, enter + nq - 1, enter + nq};
    if (checker->n_keys < nk)
        sim_check_sample_axis(nk, edges, 6, kv_head, keys);
    else
        for (int64_t i = 0; i < checker->n_keys; i++)
            keys[i] = i;
}

static enum fa_status do_job(const struct checker *checker, int64_t kv_head, enum job job,
                             struct head_work *work, struct fa_error *error)
{
    const struct fa_gradient_parts parts = {work->rows, work->keys, checker->n_rows,
                                            checker->n_keys};
    if (job == JOB_SIZES)
        return sim_measure(&work->measured, error);
    if (job == JOB_ORACLE)
        return fa_oracle_gradients(checker->problem, checker->q, checker->k, checker->v,
                                   checker->dout, kv_head, &parts, work->truth.dq, work->truth.dk,
                                   work->truth.dv, error);
    return fa_naive_gradients(checker->problem, checker->q, checker->k, checker->v, checker->dout,
                              kv_head, &parts, work->naive.dq, work->naive.dk, work->naive.dv,
                              error);
}

/* Called by one thread at a time. */
static void job_done(struct checker *checker, enum fa_status status, const struct fa_error *error)
{
    const struct fa_watch *watch = checker->watch;
    checker->jobs_done++;
    if (status != FA_OK && checker->error.status == FA_OK)
        checker->error = *error;
    if (watch && watch->tick && checker->error.status == FA_OK &&
        !watch->tick(watch->context, (double)checker->jobs_done / (double)checker->n_jobs))
        fa_fail(&checker->error, FA_CANCELLED, "stopped before the check was done");
    if (checker->error.status != FA_OK) {
#pragma omp atomic write
        checker->stop = true;
    }
}

/* C of the header. */
static double cancelled_of(const struct checker *checker, const struct sim_gradient_sizes *sizes)
{
    const struct fa_problem *p = checker->problem;
    double w = fa_dtype_roundoff(p->dtype == FA_F64 ? FA_F64 : FA_F32);
    double cancelled = fabs(p->scale) * w * sqrt((double)p->dv) * sizes->delta;
    if (p->dtype == FA_F16 || p->dtype == FA_BF16)
        cancelled += fabs(p->scale) * fa_dtype_roundoff(p->dtype) * sizes->delta_root;
    return cancelled;
}

/* The rule of the header by the numbers of a tensor, or of a part. `reach` is the last factor of
 * dk. */
static double budget_of(const struct checker *checker, int which, const struct fa_comparison *naive,
                        const struct sim_gradient_sizes *sizes, double reach, bool whole)
{
    const struct fa_problem *p = checker->problem;
    double u = fa_dtype_roundoff(p->dtype), x = naive->max_abs_expected;
    double w = fa_dtype_roundoff(p->dtype == FA_F64 ? FA_F64 : FA_F32);
    double terms = which == 0 ? (double)p->nk : (double)(checker->group * p->nq);
    double floor = w * (sqrt(terms) + fmax(1, sizes->lse)) * x;
    if (which == 0)
        floor += cancelled_of(checker, sizes) * sizes->k;
    if (which == 1)
        floor += cancelled_of(checker, sizes) * sizes->q * reach;
    double error = fmax(naive->max_abs_error, floor);
    if (!whole && naive->n < SIM_CHECK_PART_ELEMENTS)
        return INFINITY;
    if (!whole)
        error = fmax(error, u * x);
    return (whole ? 1 : 4) * (2 * checker->error_factor[which] * error + 2 * u * x);
}

/* Compares n rows of a result, in the place of the naive run's, which is compared before it: see
 * check.h on where that counts, and on what is left out as underflowed. */
static void compare_rows(struct head_work *work, const struct fa_tensor *tensor, int64_t batch,
                         int64_t head, const int64_t *rows, int64_t n, double *naive,
                         const double *expected, struct fa_comparison *got,
                         struct fa_comparison *missed)
{
    int64_t columns = tensor->shape[3];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < columns; c++) {
            double *place = &naive[i * columns + c], truth = expected[i * columns + c];
            double theirs = fa_tensor_get(tensor, batch, head, rows[i], c);
            bool underflowed = isnan(theirs) && isnan(*place) && isinf(truth);
            if (!isfinite(*place) || !isfinite(truth))
                *place = truth;
            fa_comparison_add(missed, place, &truth, 1);
            work->underflowed += underflowed;
            *place = underflowed ? truth : theirs;
        }
    }
    fa_comparison_add(got, naive, expected, n * columns);
}

/* All compared rows of one head of a gradient, part by part. in_group: the query head's of dq. */
static void compare_parts(const struct checker *checker, int64_t kv_head, int which,
                          int64_t in_group, double *naive, const double *expected,
                          struct head_work *work)
{
    const struct fa_tensor *tensor = which == 0   ? checker->dq
                                     : which == 1 ? checker->dk
                                                  : checker->dv;
    const int64_t *rows = which == 0 ? work->rows : work->keys;
    int64_t n_rows = which == 0 ? checker->n_rows : checker->n_keys;
    int64_t head = which == 0 ? kv_head * checker->group + in_group : kv_head;
    int64_t heads = tensor->shape[1], n_parts = sim_check_parts_of(n_rows);
    for (int64_t index = 0; index < n_parts; index++) {
        int64_t first = index * SIM_CHECK_PART_ROWS, at = first * tensor->shape[3];
        int64_t n = least(SIM_CHECK_PART_ROWS, n_rows - first);
        struct fa_comparison got = fa_comparison_start(), missed = got;
        struct sim_gradient_sizes sizes =
            which == 0 ? sim_measured_rows(&work->measured, in_group, first, n)
                       : sim_measured_keys(&work->measured, first, n);
        compare_rows(work, tensor, head / heads, head % heads, rows + first, n, naive + at,
                     expected + at, &got, &missed);
        double reach = which == 1 ? sim_measured_reach(&work->measured, first, n) : 0;
        double budget = budget_of(checker, which, &missed, &sizes, reach, false);
        if (checker->parts[which])
            checker->parts[which][head * n_parts + index] = budget;
        const struct sim_check_part part =
            sim_check_part_make(&got, budget, head, rows[first], rows[first + n - 1]);
        sim_check_part_merge(&work->part[which], &part, work->got[which].n);
        fa_comparison_merge(&work->got[which], &got);
        fa_comparison_merge(&work->missed[which], &missed);
    }
}

static void compare_head(const struct checker *checker, int64_t kv_head, struct head_work *work)
{
    work->underflowed = 0;
    for (int i = 0; i < 3; i++) {
        work->got[i] = work->missed[i] = fa_comparison_start();
        work->part[i] = sim_check_part_none();
    }
    for (int64_t i = 0; i < checker->group && checker->dq; i++) {
        int64_t at = i * checker->n_rows * checker->problem->d;
        compare_parts(checker, kv_head, 0, i, work->naive.dq + at, work->truth.dq + at, work);
    }
    if (checker->dk)
        compare_parts(checker, kv_head, 1, 0, work->naive.dk, work->truth.dk, work);
    if (checker->dv)
        compare_parts(checker, kv_head, 2, 0, work->naive.dv, work->truth.dv, work);
}

/* The jobs of K/V heads first .. first + n - 1, on all threads, and then the comparisons. */
static void do_wave(struct checker *checker, int64_t first, int64_t n, int threads,
                    struct head_work *work)
{
    int64_t few = n / (4 * threads) + 1; /* at a time */
#ifndef _OPENMP
    (void)few;
#endif
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(dynamic, few)
        for (int64_t i = 0; i < n * JOBS; i++) {
            struct fa_error error = {FA_OK, ""};
            bool stop;
#pragma omp atomic read
            stop = checker->stop;
            if (stop)
                continue;
            enum fa_status status = do_job(checker, first + i / JOBS, (enum job)(i % JOBS),
                                           &work[i / JOBS], &error);
#pragma omp critical(sim_check_gradients_job_done)
            job_done(checker, status, &error);
        }
#pragma omp for schedule(dynamic, few)
        for (int64_t i = 0; i < n; i++)
            if (!checker->stop)
                compare_head(checker, first + i, &work[i]);
    }
}

static void add_head(struct checker *checker, const struct head_work *work)
{
    for (int i = 0; i < 3; i++) {
        sim_check_part_merge(&checker->part[i], &work->part[i], checker->got[i].n);
        fa_comparison_merge(&checker->got[i], &work->got[i]);
        fa_comparison_merge(&checker->naive[i], &work->missed[i]);
    }
    checker->underflowed += work->underflowed;
    sim_gradient_sizes_merge(&checker->sizes, &work->measured.all);
}

static bool take_result(const struct checker *checker, struct result *result)
{
    int64_t n = checker->n_dq + checker->n_dk + checker->n_dv;
    result->memory = malloc((size_t)(n + 1) * sizeof(double));
    if (!result->memory)
        return false;
    result->dq = checker->dq ? result->memory : NULL;
    result->dk = checker->dk ? result->memory + checker->n_dq : NULL;
    result->dv = checker->dv ? result->memory + checker->n_dq + checker->n_dk : NULL;
    return true;
}

static bool take_work(const struct checker *checker, struct head_work *work)
{
    work->rows = malloc((size_t)(checker->n_rows + 1) * sizeof *work->rows);
    work->keys = malloc((size_t)(checker->n_keys + 1) * sizeof *work->keys);
    work->measured = (struct sim_measured){
        .problem = checker->problem,
        .q = checker->q,
        .k = checker->k,
        .v = checker->v,
        .dout = checker->dout,
        .group = checker->group,
        .n_rows = checker->n_rows,
        .n_keys = checker->n_keys,
        .rows = work->rows,
        .keys = work->keys,
        .weighs = checker->dk != NULL,
        .of_rows =
            malloc((size_t)(checker->group * checker->n_rows + 1) * sizeof(struct sim_row_sizes)),
        .weights = malloc((size_t)(checker->n_keys + 1) * sizeof(double)),
    };
    return work->rows && work->keys && work->measured.of_rows && work->measured.weights &&
           take_result(checker, &work->truth) && take_result(checker, &work->naive);
}

static void give_work(struct head_work *work)
{
    free(work->rows);
    free(work->keys);
    free(work->measured.of_rows);
    free(work->measured.weights);
    free(work->truth.memory);
    free(work->naive.memory);
}

/* False past what can be asked for: the list and the numbers of one K/V head. */
static bool find_numbers(struct checker *checker)
{
    const struct fa_problem *p = checker->problem;
    const int64_t most = PTRDIFF_MAX / (int64_t)sizeof(double) / 4;
    int64_t group_rows;
    return fa_multiply(checker->group, checker->n_rows, &group_rows) && group_rows < most &&
           checker->n_rows < most && checker->n_keys < most &&
           fa_multiply(checker->dq ? checker->group : 0, checker->n_rows, &checker->n_dq) &&
           fa_multiply(checker->n_dq, p->d, &checker->n_dq) && checker->n_dq < most &&
           fa_multiply(checker->dk ? p->d : 0, checker->n_keys, &checker->n_dk) &&
           checker->n_dk < most &&
           fa_multiply(checker->dv ? p->dv : 0, checker->n_keys, &checker->n_dv) &&
           checker->n_dv < most;
}

static void conclude(const struct checker *checker, struct sim_check_gradients *check)
{
    double reach = fmax(1, sqrt(sim_measured_rows_a_key(checker->problem)));
    double budgets[3];
    check->pass = true;
    for (int i = 0; i < 3; i++) {
        budgets[i] = budget_of(checker, i, &checker->naive[i], &checker->sizes, reach, true);
        check->pass = check->pass && fa_comparison_within(&checker->got[i], budgets[i]) &&
                      checker->part[i].wrong == 0;
    }
    check->dq = checker->got[0];
    check->dk = checker->got[1];
    check->dv = checker->got[2];
    check->dq_budget = budgets[0];
    check->dk_budget = budgets[1];
    check->dv_budget = budgets[2];
    check->dq_part = checker->part[0];
    check->dk_part = checker->part[1];
    check->dv_part = checker->part[2];
}

/* K/V heads in a wave: one a thread, or more where they are small. */
static int64_t wave_of(const struct checker *checker, int64_t kv_heads, int threads)
{
    int64_t numbers = (1 + 3 * checker->group) * checker->n_rows + 2 * checker->n_keys +
                      2 * (checker->n_dq + checker->n_dk + checker->n_dv);
    int64_t a_thread = WAVE_NUMBERS / (numbers + 1);
    a_thread = a_thread < 1 ? 1 : least(a_thread, WAVE_HEADS);
    return least(kv_heads, threads * a_thread);
}

/* K/V heads in waves, whose results are merged in order. */
static enum fa_status check_heads(struct checker *checker, int64_t kv_heads, int threads,
                                  struct fa_error *error)
{
    enum fa_status status = FA_OK;
    bool enough = find_numbers(checker);
    int64_t wave = enough ? wave_of(checker, kv_heads, threads) : 0;
    struct head_work *work = calloc((size_t)wave + 1, sizeof *work);
    enough = enough && work;
    for (int64_t i = 0; i < wave && enough; i++)
        enough = take_work(checker, &work[i]);
    if (!enough) {
        status = fa_fail(error, FA_NO_MEMORY,
                         "no memory for the check's gradients: sample the rows, or check fewer "
                         "heads at a time (fewer threads)");
        goto done;
    }
    for (int64_t first = 0; first < kv_heads; first += wave) {
        int64_t n = least(wave, kv_heads - first);
        for (int64_t i = 0; i < n; i++) {
            list_rows(checker, first + i, work[i].rows);
            list_keys(checker, first + i, work[i].keys);
            work[i].measured.kv_head = first + i;
        }
        do_wave(checker, first, n, threads, work);
        if (checker->stop) {
            status = checker->error.status;
            if (error)
                *error = checker->error;
            goto done;
        }
        for (int64_t i = 0; i < n; i++)
            add_head(checker, &work[i]);
    }
done:
    for (int64_t i = 0; i < wave && work; i++)
        give_work(&work[i]);
    free(work);
    return status;
}

static const struct fa_tensor *if_data(const struct fa_tensor *tensor)
{
    return tensor && tensor->data ? tensor : NULL;
}

enum fa_status sim_check_backward_parts(
    const struct fa_problem *problem, const struct fa_tensor *q, const struct fa_tensor *k,
    const struct fa_tensor *v, const struct fa_tensor *dout, const struct fa_tensor *dq,
    const struct fa_tensor *dk, const struct fa_tensor *dv, enum sim_check_mode mode,
    double error_factor_dq, double error_factor_dkv, int threads, const struct fa_watch *watch,
    double *const parts[3], struct sim_check_gradients *check, struct fa_error *error)
{
    bool rows_sampled = mode == SIM_CHECK_SAMPLE && problem->nq > SIM_CHECK_ALL_GRADIENTS;
    bool keys_sampled = mode == SIM_CHECK_SAMPLE && problem->nk > SIM_CHECK_ALL_GRADIENTS;
    int64_t kv_heads = mode == SIM_CHECK_NONE ? 0 : problem->batch * problem->kv_heads;
    struct checker checker = {
        .problem = problem,
        .q = q,
        .k = k,
        .v = v,
        .dout = dout,
        .dq = if_data(dq),
        .dk = if_data(dk),
        .dv = if_data(dv),
        .group = problem->kv_heads > 0 ? problem->heads / problem->kv_heads : 0,
        .n_rows = rows_sampled ? SIM_CHECK_SAMPLED_ROWS : problem->nq,
        .n_keys = keys_sampled ? SIM_CHECK_SAMPLED_ROWS : problem->nk,
        .n_jobs = kv_heads * JOBS,
        .error_factor = {error_factor_dq, error_factor_dkv, error_factor_dkv},
        .watch = watch,
    };
    struct sim_check_gradients made;
    assert(threads >= 1);
    for (int i = 0; i < 3; i++) {
        checker.got[i] = checker.naive[i] = fa_comparison_start();
        checker.part[i] = sim_check_part_none();
        checker.parts[i] = parts[i];
    }
    enum fa_status status = check_heads(&checker, kv_heads, threads, error);
    if (status != FA_OK)
        return status;
    memset(&made, 0, sizeof made);
    made.rows = checker.dq ? kv_heads * checker.group * checker.n_rows : 0;
    made.keys = checker.dk || checker.dv ? kv_heads * checker.n_keys : 0;
    made.sampled = rows_sampled || keys_sampled;
    made.underflowed = checker.underflowed;
    conclude(&checker, &made);
    *check = made;
    return FA_OK;
}

enum fa_status sim_check_backward(const struct fa_problem *problem, const struct fa_tensor *q,
                                  const struct fa_tensor *k, const struct fa_tensor *v,
                                  const struct fa_tensor *dout, const struct fa_tensor *dq,
                                  const struct fa_tensor *dk, const struct fa_tensor *dv,
                                  enum sim_check_mode mode, double error_factor_dq,
                                  double error_factor_dkv, int threads,
                                  const struct fa_watch *watch, struct sim_check_gradients *check,
                                  struct fa_error *error)
{
    double *const none[3] = {NULL, NULL, NULL};
    return sim_check_backward_parts(problem, q, k, v, dout, dq, dk, dv, mode, error_factor_dq,
                                    error_factor_dkv, threads, watch, none, check, error);
}
