/* The check of forward results: it passes what is right, and fails each kind of wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/naive.h"
#include "reference/oracle.h"
#include "reference/profile.h"
#include "simulator/check.h"

/* A problem with its inputs, and the right answer rounded to the formats in which results come. */
struct sample {
    struct fa_problem problem;
    struct fa_tensor q, k, v, o, lse;
};

static struct fa_tensor tensor(enum fa_dtype dtype, int64_t batch, int64_t heads, int64_t rows,
                               int64_t columns)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    struct fa_tensor made;
    assert_int_equal(fa_tensor_create(&made, dtype, shape, NULL), FA_OK);
    return made;
}

/* Rows that the oracle fills are those of rows[0 .. n); the others are NaN. */
static void answer(struct sample *sample, int64_t head, const int64_t *rows, int64_t n)
{
    const struct fa_problem *p = &sample->problem;
    double *o = malloc((size_t)(n * p->dv + 1) * sizeof *o);
    double *lse = malloc((size_t)(n + 1) * sizeof *lse);
    assert_int_equal(fa_oracle_rows(p, &sample->q, &sample->k, &sample->v, head, rows, n, o, lse,
                                    NULL), FA_OK);
    for (int64_t i = 0; i < n; i++) {
        int64_t b = head / p->heads, h = head % p->heads;
        for (int64_t c = 0; c < p->dv; c++)
            fa_tensor_set(&sample->o, b, h, rows[i], c, o[i * p->dv + c]);
        fa_tensor_set(&sample->lse, b, h, rows[i], 0, lse[i]);
    }
    free(o);
    free(lse);
}

static struct sample make(struct fa_problem problem, enum fa_profile profile)
{
    const struct fa_problem *p = &problem;
    int64_t heads = p->batch * p->heads;
    struct sample sample = {
        .problem = problem,
        .q = tensor(p->dtype, p->batch, p->heads, p->nq, p->d),
        .k = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->d),
        .v = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->dv),
        .o = tensor(p->dtype, p->batch, p->heads, p->nq, p->dv),
        .lse = tensor(p->dtype == FA_F64 ? FA_F64 : FA_F32, p->batch, p->heads, p->nq, 1),
    };
    int64_t *rows = malloc((size_t)(p->nq + 1) * sizeof *rows);
    fa_profile_fill(profile, 3, p, &sample.q, &sample.k, &sample.v);
    for (int64_t r = 0; r < p->nq; r++)
        rows[r] = r;
    for (int64_t head = 0; head < heads; head++)
        answer(&sample, head, rows, p->nq);
    free(rows);
    return sample;
}

static void drop(struct sample *sample)
{
    fa_tensor_free(&sample->q);
    fa_tensor_free(&sample->k);
    fa_tensor_free(&sample->v);
    fa_tensor_free(&sample->o);
    fa_tensor_free(&sample->lse);
}

static struct sim_check check_with(const struct sample *sample, enum sim_check_mode mode,
                                   double factor, int threads)
{
    struct sim_check check;
    struct fa_error error = {FA_OK, ""};
    memset(&check, 0x5a, sizeof check);
    if (sim_check_forward(&sample->problem, &sample->q, &sample->k, &sample->v, &sample->o,
                          &sample->lse, mode, factor, threads, NULL, &check, &error) != FA_OK)
        fail_msg("%s", error.text);
    return check;
}

static struct sim_check check(const struct sample *sample)
{
    return check_with(sample, SIM_CHECK_SAMPLE, 1, 1);
}

/* 150 rows of 4 heads in 2 groups, an odd width, and with 90 keys the first 60 rows empty. */
static struct fa_problem mixed(enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(150, 90, 7);
    problem.batch = 2;
    problem.heads = 2;
    problem.dv = 5;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.dtype = dtype;
    return problem;
}

static void right_results_pass(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample sample = make(mixed((enum fa_dtype)dtype), FA_PROFILE_GAUSS);
        struct sim_check result = check(&sample);
        assert_true(result.pass && !result.sampled);
        assert_int_equal(result.rows, 600);
        assert_int_equal(result.o.n, 3000);
        assert_int_equal(result.lse.n, 600);
        assert_int_equal(result.o.mismatches + result.lse.mismatches, 0);
        assert_true(result.o_budget > 0 && result.o_budget < 0.1);
        assert_true(result.lse_budget > 0 && result.lse_budget < 0.1);
        drop(&sample);
    }
}

/* Equal but for the order of a few roundings, which a fused multiply-add may change. */
static void assert_near(double got, double expected)
{
    assert_true(fabs(got - expected) <= 4 * DBL_EPSILON * fabs(expected));
}

/* The rule of check.h, computed here from the oracle and the naive run. */
static void the_budget_rule(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample sample = make(mixed((enum fa_dtype)dtype), FA_PROFILE_PEAKY);
        const struct fa_problem *p = &sample.problem;
        double o[2][150 * 5], lse[2][150], error = 0, lse_error = 0, most = 0, lse_most = 0;
        double u = fa_dtype_roundoff(p->dtype);
        double lse_u = dtype == FA_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
        int64_t rows[150];
        for (int r = 0; r < 150; r++)
            rows[r] = r;
        for (int64_t head = 0; head < 4; head++) {
            fa_oracle_rows(p, &sample.q, &sample.k, &sample.v, head, rows, 150, o[0], lse[0], NULL);
            fa_naive_rows(p, &sample.q, &sample.k, &sample.v, head, rows, 150, o[1], lse[1], NULL);
            for (int n = 0; n < 750; n++) {
                error = fmax(error, fabs(o[1][n] - o[0][n]));
                most = fmax(most, fabs(o[0][n]));
            }
            for (int n = 60; n < 150; n++) {
                lse_error = fmax(lse_error, fabs(lse[1][n] - lse[0][n]));
                lse_most = fmax(lse_most, fabs(lse[0][n]));
            }
        }
        double v_most = 0;
        for (int64_t e = 0; e < p->batch * p->kv_heads * p->nk * p->dv; e++)
            v_most = fmax(v_most, fabs(fa_dtype_get(p->dtype, sample.v.data, e)));
        error = fmax(error, lse_u * (sqrt((double)p->nk) * most +
                                     fmax(1, lse_most) * fmin(v_most, 64 * most)));
        lse_error = fmax(lse_error, lse_u * sqrt((double)p->d) * fmax(1, lse_most));
        struct sim_check result = check_with(&sample, SIM_CHECK_FULL, 1, 1);
        assert_near(result.o_budget, 2 * error + 2 * u * most);
        assert_near(result.lse_budget, 2 * lse_error + 2 * lse_u * lse_most);
        result = check_with(&sample, SIM_CHECK_FULL, 3, 1);
        assert_near(result.o_budget, 2 * 3.0 * error + 2 * u * most);
        if (dtype == FA_F16 || dtype == FA_BF16)
            lse_error = fmax(lse_error, u * lse_most); /* S in 16 bits, more than once */
        assert_near(result.lse_budget, 2 * 3.0 * lse_error + 2 * lse_u * lse_most);
        drop(&sample);
    }
}

/* Plants `value` into O, or with column -1 into LSE, and says whether the check passes. */
static struct sim_check planted(struct sample *sample, int64_t batch, int64_t head, int64_t row,
                                int64_t column, double value)
{
    const struct fa_tensor *tensor = column < 0 ? &sample->lse : &sample->o;
    int64_t at = column < 0 ? 0 : column;
    double before = fa_tensor_get(tensor, batch, head, row, at);
    fa_tensor_set(tensor, batch, head, row, at, value);
    struct sim_check result = check(sample);
    fa_tensor_set(tensor, batch, head, row, at, before);
    return result;
}

static void planted_faults(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample sample = make(mixed((enum fa_dtype)dtype), FA_PROFILE_PEAKY);
        double last = fa_tensor_get(&sample.o, 1, 1, 149, 4);
        double budget = check(&sample).o_budget;
        struct sim_check result = planted(&sample, 1, 1, 149, 4, last + 4 * budget);
        assert_false(result.pass);
        assert_int_equal(result.worst_head, 3);
        assert_int_equal(result.worst_row, 149);
        assert_int_equal(result.worst_column, 4);
        assert_int_equal(result.o.worst, 2999);
        result = planted(&sample, 0, 1, 70, 2, NAN);
        assert_false(result.pass);
        assert_int_equal(result.o.mismatches, 1);
        assert_true(result.worst_head == 1 && result.worst_row == 70 && result.worst_column == 2);
        assert_true(result.o_budget == budget);
        assert_false(planted(&sample, 0, 0, 0, 0, INFINITY).pass);
        assert_false(planted(&sample, 0, 0, 10, 1, 4 * budget).pass); /* an empty row's O */
        assert_false(planted(&sample, 0, 0, 10, -1, -1e4).pass); /* -inf made finite */
        assert_false(planted(&sample, 0, 0, 10, -1, NAN).pass);
        assert_false(planted(&sample, 1, 0, 149, -1, -INFINITY).pass);
        double lse = fa_tensor_get(&sample.lse, 1, 1, 149, 0);
        result = planted(&sample, 1, 1, 149, -1, lse + 4 * check(&sample).lse_budget);
        assert_false(result.pass);
        assert_true(fa_comparison_within(&result.o, result.o_budget));
        assert_int_equal(result.lse.worst, 599);
        assert_true(check(&sample).pass);
        drop(&sample);
    }
}

/* A row in the place of its neighbour, as a tile stored one row off leaves it. */
static void a_wrong_row(void **state)
{
    (void)state;
    struct sample sample = make(mixed(FA_BF16), FA_PROFILE_PEAKY);
    for (int64_t c = 0; c < 5; c++)
        fa_tensor_set(&sample.o, 0, 1, 101, c, fa_tensor_get(&sample.o, 0, 1, 100, c));
    struct sim_check result = check(&sample);
    assert_false(result.pass);
    assert_int_equal(result.worst_head, 1);
    assert_int_equal(result.worst_row, 101);
    drop(&sample);
}

/* bf16 has a distance of 1/8 at 30: one is in the budget also where the naive run is exact. */
static void one_place_off(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(4, 1, 2);
    problem.dtype = FA_BF16;
    struct sample sample = make(problem, FA_PROFILE_EQUAL);
    fa_tensor_set(&sample.v, 0, 0, 0, 0, 30);
    fa_tensor_set(&sample.v, 0, 0, 0, 1, 30);
    for (int64_t r = 0; r < 4; r++)
        for (int64_t c = 0; c < 2; c++)
            fa_tensor_set(&sample.o, 0, 0, r, c, 30);
    struct sim_check result = check(&sample);
    assert_true(result.pass && result.o.max_abs_error == 0);
    double of_scores = 30 * fmax(1, result.lse.max_abs_expected);
    assert_near(result.o_budget, 2 * (30 + of_scores) * FLT_EPSILON / 2 + 2 * 30.0 / 256);
    result = planted(&sample, 0, 0, 3, 1, 30.125);
    assert_true(result.pass && result.o.max_abs_error == 0.125);
    assert_true(result.worst_row == 3 && result.worst_column == 1);
    assert_true(planted(&sample, 0, 0, 3, 1, 29.875).pass);
    assert_false(planted(&sample, 0, 0, 3, 1, 30.25).pass);
    drop(&sample);
}

/* f16 scores past 65504 make the naive run NaN; that must not pass all, nor fail what is right. */
static void naive_overflow(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(3, 4, 2);
    problem.dtype = FA_F16;
    problem.scale = 1;
    struct sample sample = make(problem, FA_PROFILE_GAUSS);
    const int64_t rows[] = {0, 1, 2};
    double o[6], lse[3];
    for (int64_t c = 0; c < 2; c++) {
        fa_tensor_set(&sample.q, 0, 0, 1, c, 300);
        fa_tensor_set(&sample.k, 0, 0, 2, c, 300);
    }
    answer(&sample, 0, rows, 3);
    fa_naive_rows(&problem, &sample.q, &sample.k, &sample.v, 0, rows, 3, o, lse, NULL);
    assert_true(isnan(o[2]) && isfinite(o[0]));
    struct sim_check result = check(&sample);
    assert_true(result.pass && isfinite(result.o_budget) && isfinite(result.lse_budget));
    assert_false(planted(&sample, 0, 0, 1, 0, 50).pass);
    assert_false(planted(&sample, 0, 0, 1, 0, NAN).pass);
    drop(&sample);
}

static void sampled_rows(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(20000, 3000, 4);
    int64_t rows[SIM_CHECK_SAMPLED_ROWS], others[SIM_CHECK_SAMPLED_ROWS];
    for (int causal = FA_CAUSAL_NONE; causal <= FA_CAUSAL_TOP_LEFT; causal++) {
        problem.causal = (enum fa_causal)causal;
        const int64_t enter = causal == FA_CAUSAL_TOP_LEFT ? 0 : 17000;
        const int64_t wanted[] = {0, 19999, enter, enter + 2999, enter ? enter - 1 : 0,
                                  enter ? 0 : 3000};
        int found = 0, differ = 0;
        sim_check_sample(&problem, 5, rows);
        sim_check_sample(&problem, 6, others);
        for (int n = 0; n < SIM_CHECK_SAMPLED_ROWS; n++) {
            assert_true(rows[n] >= 0 && rows[n] < 20000);
            assert_true(n == 0 || (rows[n] > rows[n - 1] && rows[n] - rows[n - 1] < 200));
            differ += rows[n] != others[n];
            for (int w = 0; w < 6; w++)
                found += rows[n] == wanted[w];
        }
        assert_int_equal(found, 6);
        assert_true(differ > 200);
    }
    for (int64_t head = 0; head < 300; head++) { /* Draws meet the edges in some of them. */
        sim_check_sample(&problem, head, rows);
        for (int n = 1; n < SIM_CHECK_SAMPLED_ROWS; n++)
            assert_true(rows[n] > rows[n - 1]);
    }
    problem = fa_problem_make(INT64_C(1) << 40, INT64_C(1) << 40, 4);
    sim_check_sample(&problem, INT64_C(1) << 35, rows);
    assert_true(rows[0] == 0 && rows[255] == (INT64_C(1) << 40) - 1);
}

/* Above 8192 rows a fault is seen where it is sampled, and everywhere in full. */
static void samples_and_full(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(SIM_CHECK_ALL_ROWS + 1, 3, 2);
    problem.heads = problem.kv_heads = 2;
    struct sample sample = make(problem, FA_PROFILE_GAUSS);
    int64_t rows[SIM_CHECK_SAMPLED_ROWS], unseen = 1;
    sim_check_sample(&problem, 1, rows);
    for (int n = 1; n < SIM_CHECK_SAMPLED_ROWS && rows[n] == unseen; n++)
        unseen++;
    struct sim_check result = check(&sample);
    assert_true(result.pass && result.sampled);
    assert_int_equal(result.rows, 512);
    assert_false(planted(&sample, 0, 0, SIM_CHECK_ALL_ROWS, 1, 9).pass);
    result = planted(&sample, 0, 1, rows[100], 1, 9);
    assert_false(result.pass);
    assert_true(result.worst_head == 1 && result.worst_row == rows[100] &&
                result.worst_column == 1);
    assert_true(planted(&sample, 0, 1, unseen, 1, 9).pass);
    fa_tensor_set(&sample.o, 0, 1, unseen, 1, 9);
    result = check_with(&sample, SIM_CHECK_FULL, 1, 2);
    assert_true(!result.pass && !result.sampled && result.worst_row == unseen);
    assert_int_equal(result.rows, 2 * (SIM_CHECK_ALL_ROWS + 1));
    result = check_with(&sample, SIM_CHECK_NONE, 1, 1);
    assert_true(result.pass && result.rows == 0 && result.worst_row == -1);
    drop(&sample);
    problem.nq = SIM_CHECK_ALL_ROWS;
    sample = make(problem, FA_PROFILE_GAUSS);
    result = check(&sample);
    assert_true(result.pass && !result.sampled && result.rows == 2 * SIM_CHECK_ALL_ROWS);
    drop(&sample);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    /* A few heads of many rows, and more heads than are worked on together. */
    static const int64_t sizes[2][3] = {{9, 700, 4}, {2500, 2, 2100}};
    for (int i = 0; i < 2; i++) {
        int64_t batch = sizes[i][0], nq = sizes[i][1], head = sizes[i][2];
        struct fa_problem problem = fa_problem_make(nq, 20, 3);
        problem.batch = batch;
        problem.dtype = FA_F16;
        struct sample sample = make(problem, FA_PROFILE_PEAKY);
        fa_tensor_set(&sample.o, head, 0, nq / 2, 2, 17);
        struct sim_check one = check_with(&sample, SIM_CHECK_FULL, 1, 1);
        assert_int_equal(one.rows, batch * nq);
        for (int threads = 1; threads < 6; threads++) {
            struct sim_check more = check_with(&sample, SIM_CHECK_FULL, 1, threads);
            assert_memory_equal(&one.o, &more.o, sizeof one.o);
            assert_memory_equal(&one.lse, &more.lse, sizeof one.lse);
            assert_true(one.o_budget == more.o_budget && one.lse_budget == more.lse_budget);
            assert_memory_equal(&one.o_part, &more.o_part, sizeof one.o_part);
            assert_memory_equal(&one.lse_part, &more.lse_part, sizeof one.lse_part);
            if (3 * nq >= SIM_CHECK_PART_ELEMENTS)
                assert_true(more.o_part.wrong == 1 && more.o_part.worst == more.o.worst);
            assert_true(more.worst_head == head && more.worst_row == nq / 2);
            assert_int_equal(more.worst_column, 2);
        }
        drop(&sample);
    }
}

static void nothing_to_compare(void **state)
{
    (void)state;
    const struct fa_problem shapes[] = {fa_problem_make(0, 4, 2), fa_problem_make(4, 0, 2)};
    for (int n = 0; n < 2; n++) {
        struct sample sample = make(shapes[n], FA_PROFILE_GAUSS);
        struct sim_check result = check(&sample);
        assert_true(result.pass && result.rows == shapes[n].nq);
        assert_true(result.o_budget == 0 && result.lse_budget == 0);
        drop(&sample);
    }
    struct fa_problem problem = fa_problem_make(4, 4, 2);
    struct sample sample = make(problem, FA_PROFILE_GAUSS);
    struct fa_tensor shape_only = sample.lse;
    struct sim_check result;
    fa_tensor_set(&sample.lse, 0, 0, 0, 0, NAN);
    shape_only.data = NULL;
    const struct fa_tensor *const none[] = {NULL, &shape_only};
    for (int n = 0; n < 2; n++) {
        assert_int_equal(sim_check_forward(&problem, &sample.q, &sample.k, &sample.v, &sample.o,
                                           none[n], SIM_CHECK_FULL, 1, 1, NULL, &result, NULL),
                         FA_OK);
        assert_true(result.pass && result.rows == 4 && result.lse.n == 0);
    }
    assert_false(check(&sample).pass);
    drop(&sample);
}

struct progress {
    int calls, stop_at;
    double last;
};

static bool tick(void *context, double done)
{
    struct progress *progress = context;
    assert_true(done > progress->last && done <= 1);
    progress->last = done;
    return ++progress->calls != progress->stop_at;
}

static void watched_and_stopped(void **state)
{
    (void)state;
    struct sample sample = make(mixed(FA_F32), FA_PROFILE_GAUSS);
    struct sim_check result, before;
    for (int threads = 1; threads < 4; threads++)
        for (int stop_at = 0; stop_at < 8; stop_at++) {
            struct progress progress = {0, stop_at, 0};
            const struct fa_watch watch = {tick, &progress};
            struct fa_error error = {FA_OK, ""};
            memset(&result, 0x5a, sizeof result);
            before = result;
            enum fa_status status =
                sim_check_forward(&sample.problem, &sample.q, &sample.k, &sample.v, &sample.o,
                                  &sample.lse, SIM_CHECK_FULL, 1, threads, &watch, &result, &error);
            assert_int_equal(status, stop_at ? FA_CANCELLED : FA_OK);
            if (stop_at) {
                assert_memory_equal(&result, &before, sizeof result);
                assert_int_equal(error.status, FA_CANCELLED);
                assert_string_equal(error.text, "stopped before the check was done");
                assert_int_equal(progress.calls, stop_at);
            } else {
                assert_true(progress.last == 1 && progress.calls == 12);
            }
        }
    drop(&sample);
}

/* One query over two keys, the second of weight exp(-gap) and with an infinite V in column 0. */
static struct sample over_infinite_value(double gap)
{
    struct sample sample = make(fa_problem_make(1, 2, 1), FA_PROFILE_EQUAL);
    const int64_t row = 0;
    fa_tensor_free(&sample.v);
    fa_tensor_free(&sample.o);
    sample.problem.dv = 2;
    sample.problem.scale = 1;
    sample.v = tensor(FA_F32, 1, 1, 2, 2);
    sample.o = tensor(FA_F32, 1, 1, 1, 2);
    fa_tensor_set(&sample.q, 0, 0, 0, 0, 1);
    fa_tensor_set(&sample.k, 0, 0, 0, 0, gap);
    fa_tensor_set(&sample.k, 0, 0, 1, 0, 0);
    for (int64_t j = 0; j < 2; j++)
        for (int64_t c = 0; c < 2; c++)
            fa_tensor_set(&sample.v, 0, 0, j, c, j == 1 && c == 0 ? (double)INFINITY : 1);
    answer(&sample, 0, &row, 1);
    return sample;
}

/* 0 * inf is NaN in any kernel where the weight underflows; that alone is excused, and said. */
static void an_underflowed_weight_over_infinity(void **state)
{
    (void)state;
    struct sample sample = over_infinite_value(200);
    assert_true(isinf(fa_tensor_get(&sample.o, 0, 0, 0, 0)));
    struct sim_check result = check(&sample);
    assert_true(result.pass && result.underflowed == 0);
    fa_tensor_set(&sample.o, 0, 0, 0, 0, (double)NAN);
    result = check(&sample);
    assert_true(result.pass && result.underflowed == 1 && result.o.mismatches == 0);
    /* Not a number where it should be infinite, not a NaN where it should be finite. */
    fa_tensor_set(&sample.o, 0, 0, 0, 0, 3);
    result = check(&sample);
    assert_true(!result.pass && result.underflowed == 0 && result.o.mismatches == 1);
    fa_tensor_set(&sample.o, 0, 0, 0, 0, (double)NAN);
    fa_tensor_set(&sample.o, 0, 0, 0, 1, (double)NAN);
    result = check(&sample);
    assert_true(!result.pass && result.underflowed == 1 && result.o.mismatches == 1);
    drop(&sample);
    /* A weight of 2e-9 does not underflow: the NaN is the algorithm's own. */
    sample = over_infinite_value(20);
    fa_tensor_set(&sample.o, 0, 0, 0, 0, (double)NAN);
    result = check(&sample);
    assert_true(!result.pass && result.underflowed == 0);
    drop(&sample);
}

/* V of head 0 times 100, so that its O sets the tensor's budget. */
static struct sample with_one_large_head(enum fa_dtype dtype, int64_t nq)
{
    struct fa_problem problem = fa_problem_make(nq, 40, 8);
    problem.heads = problem.kv_heads = 3;
    problem.dtype = dtype;
    struct sample sample = make(problem, FA_PROFILE_GAUSS);
    int64_t *rows = malloc((size_t)nq * sizeof *rows);
    for (int64_t r = 0; r < nq; r++)
        rows[r] = r;
    for (int64_t e = 0; e < 40 * 8; e++)
        fa_dtype_set(dtype, sample.v.data, e, 100 * fa_dtype_get(dtype, sample.v.data, e));
    for (int64_t head = 0; head < 3; head++)
        answer(&sample, head, rows, nq);
    free(rows);
    return sample;
}

/* What is small beside the largest head, or the first rows, is judged by its own size. */
static void small_parts_have_budgets_of_their_own(void **state)
{
    (void)state;
    for (int dtype = FA_F16; dtype <= FA_BF16; dtype++) {
        struct sample sample = with_one_large_head((enum fa_dtype)dtype, 130);
        assert_true(check(&sample).pass && check(&sample).o_part.wrong == 0);
        for (int64_t r = 128; r < 130; r++)
            for (int64_t c = 0; c < 8; c++)
                fa_tensor_set(&sample.o, 0, 2, r, c, fa_tensor_get(&sample.o, 0, 2, r, c) / 2);
        for (int threads = 1; threads < 4; threads++) {
            struct sim_check result = check_with(&sample, SIM_CHECK_FULL, 1, threads);
            if (dtype == FA_BF16)
                assert_true(fa_comparison_within(&result.o, result.o_budget));
            assert_true(!result.pass && result.o_part.wrong == 1 && result.lse_part.wrong == 0);
            assert_true(result.o_part.head == 2 && result.o_part.first == 128 &&
                        result.o_part.last == 129);
            assert_int_equal(result.o_part.worst / 8 / 130, 2);
            assert_true(result.o_part.worst / 8 % 130 >= 128);
            assert_true(result.o_part.error > result.o_part.budget && result.o_part.budget > 0);
        }
        drop(&sample);
    }
    struct sample sample = with_one_large_head(FA_BF16, SIM_CHECK_ALL_ROWS + 1);
    for (int64_t r = 8000; r <= SIM_CHECK_ALL_ROWS; r++)
        for (int64_t c = 0; c < 8; c++)
            fa_tensor_set(&sample.o, 0, 1, r, c, 0);
    struct sim_check result = check(&sample);
    int64_t rows[SIM_CHECK_SAMPLED_ROWS];
    sim_check_sample(&sample.problem, 1, rows);
    assert_true(!result.pass && fa_comparison_within(&result.o, result.o_budget));
    assert_true(result.o_part.head == 1 && result.o_part.first == rows[192] &&
                result.o_part.last == SIM_CHECK_ALL_ROWS);
    drop(&sample);
}

/* The rule of check.h for parts, computed here. */
static void the_budgets_of_parts(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample sample = with_one_large_head((enum fa_dtype)dtype, 66);
        const struct fa_problem *p = &sample.problem;
        double u = fa_dtype_roundoff(p->dtype), o_parts[6], lse_parts[6], v_most = 0;
        double w = dtype == FA_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
        struct sim_check result;
        assert_int_equal(sim_check_forward_parts(p, &sample.q, &sample.k, &sample.v, &sample.o,
                                                 &sample.lse, SIM_CHECK_FULL, 2, 1, NULL, o_parts,
                                                 lse_parts, &result, NULL),
                         FA_OK);
        for (int64_t e = 0; e < 3 * 40 * 8; e++)
            v_most = fmax(v_most, fabs(fa_dtype_get(p->dtype, sample.v.data, e)));
        for (int64_t part = 0; part < 6; part++) {
            double o[2][64 * 8], lse[2][64], e[2] = {0}, x[2] = {0};
            int64_t rows[64], n = part % 2 ? 2 : 64;
            for (int64_t i = 0; i < n; i++)
                rows[i] = part % 2 * 64 + i;
            fa_oracle_rows(p, &sample.q, &sample.k, &sample.v, part / 2, rows, n, o[0], lse[0],
                           NULL);
            fa_naive_rows(p, &sample.q, &sample.k, &sample.v, part / 2, rows, n, o[1], lse[1],
                          NULL);
            for (int64_t i = 0; i < n * 8; i++) {
                e[0] = fmax(e[0], fabs(o[1][i] - o[0][i]));
                x[0] = fmax(x[0], fabs(o[0][i]));
            }
            for (int64_t i = 0; i < n; i++) {
                e[1] = fmax(e[1], fabs(lse[1][i] - lse[0][i]));
                x[1] = fmax(x[1], fabs(lse[0][i]));
            }
            e[0] = fmax(fmax(e[0], u * x[0]),
                        w * (sqrt(40) * x[0] + fmax(1, x[1]) * fmin(v_most, 64 * x[0])));
            e[1] = fmax(e[1], w * sqrt(8) * fmax(1, x[1]));
            if (dtype == FA_F16 || dtype == FA_BF16)
                e[1] = fmax(e[1], u * x[1]);
            assert_near(o_parts[part], 4 * (2 * 2 * e[0] + 2 * u * x[0]));
            if (n < SIM_CHECK_PART_ELEMENTS) /* too few to be a measure */
                assert_true(isinf(lse_parts[part]));
            else
                assert_near(lse_parts[part], 4 * (2 * 2 * e[1] + 2 * w * x[1]));
        }
        drop(&sample);
    }
}

/* Of equal shares the first stays, and what is wrong is counted. */
static void parts_are_merged(void **state)
{
    (void)state;
    struct fa_comparison compared = fa_comparison_start();
    const double got[] = {1, 3}, right[] = {1, 2};
    struct sim_check_part sum = sim_check_part_none(), part;
    fa_comparison_add(&compared, right, right, 2);
    part = sim_check_part_make(&compared, 1, 4, 0, 1);
    sim_check_part_merge(&sum, &part, 10);
    assert_true(sum.wrong == 0 && sum.head == -1 && sum.worst == -1);
    compared = fa_comparison_start();
    fa_comparison_add(&compared, got, right, 2);
    part = sim_check_part_make(&compared, INFINITY, 8, 0, 1);
    sim_check_part_merge(&sum, &part, 0);
    assert_true(sum.wrong == 0 && sum.head == -1 && sum.worst == -1);
    for (int64_t head = 0; head < 3; head++) {
        part = sim_check_part_make(&compared, 0.5, head, 64, 65);
        sim_check_part_merge(&sum, &part, 10 * head);
        assert_true(sum.wrong == head + 1 && sum.head == 0 && sum.worst == 1);
    }
    part = sim_check_part_make(&compared, 0.25, 7, 0, 1);
    sim_check_part_merge(&sum, &part, 30);
    assert_true(sum.wrong == 4 && sum.head == 7 && sum.worst == 31 && sum.error == 1);
    assert_true(sim_check_parts_of(0) == 0 && sim_check_parts_of(64) == 1 &&
                sim_check_parts_of(65) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass),   cmocka_unit_test(the_budget_rule),
        cmocka_unit_test(planted_faults),       cmocka_unit_test(a_wrong_row),
        cmocka_unit_test(one_place_off),        cmocka_unit_test(naive_overflow),
        cmocka_unit_test(sampled_rows),         cmocka_unit_test(samples_and_full),
        cmocka_unit_test(any_number_of_threads), cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(watched_and_stopped),
        cmocka_unit_test(an_underflowed_weight_over_infinity),
        cmocka_unit_test(small_parts_have_budgets_of_their_own),
        cmocka_unit_test(the_budgets_of_parts), cmocka_unit_test(parts_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
