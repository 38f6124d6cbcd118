/* The check of gradients: it passes what is right, and fails each kind of wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "reference/philox.h"
#include "reference/profile.h"
#include "simulator/check_gradients.h"

/* What a wrong backward pass may leave out or mix up. */
enum fault {
    RIGHT,
    NO_DELTA,
    DIAGONAL_ONLY, /* of the Jacobian of the softmax: dS = P (1 - P) dP */
    NO_SCALE,
    GROUP_NOT_SUMMED,
    ROLES_SWAPPED, /* dQ = scale dS^T Q, dK = scale dS K */
    DV_NOT_DROPPED,
    DROPOUT_NOT_SCALED,
    DP_NOT_DROPPED,
    DELTA_NOT_DROPPED, /* delta from the O that there would be without dropout */
    DV_FROM_DS,
    FAULTS
};

/* A problem with its inputs and gradients. */
struct sample {
    struct fa_problem problem;
    struct fa_tensor q, k, v, dout, dq, dk, dv;
};

static struct fa_tensor tensor(enum fa_dtype dtype, int64_t batch, int64_t heads, int64_t rows,
                               int64_t columns)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    struct fa_tensor made;
    assert_int_equal(fa_tensor_create(&made, dtype, shape, NULL), FA_OK);
    return made;
}

static double dot(const struct fa_tensor *a, int64_t a_head, int64_t a_row,
                  const struct fa_tensor *b, int64_t b_head, int64_t b_row)
{
    double sum = 0;
    for (int64_t c = 0; c < a->shape[3]; c++)
        sum += fa_tensor_get(a, 0, a_head, a_row, c) * fa_tensor_get(b, 0, b_head, b_row, c);
    return sum;
}

/* to[row] += factor * from[row of from]. */
static void add(const struct fa_tensor *to, int64_t head, int64_t row, double factor,
                const struct fa_tensor *from, int64_t from_head, int64_t from_row)
{
    for (int64_t c = 0; c < to->shape[3]; c++)
        fa_tensor_set(to, 0, head, row, c, fa_tensor_get(to, 0, head, row, c) +
                          factor * fa_tensor_get(from, 0, from_head, from_row, c));
}

/* Z of problem.h. */
static double keep_factor(const struct fa_problem *p, enum fault fault, int64_t head, int64_t row,
                          int64_t key)
{
    const uint32_t counter[4] = {(uint32_t)key / 4, (uint32_t)row, (uint32_t)head, 0};
    uint32_t words[4];
    if (p->dropout_p == 0)
        return 1;
    fa_philox4x32(p->dropout_seed, counter, words);
    double kept = (double)words[key % 4] >= floor(p->dropout_p * 0x1p32);
    return fault == DROPOUT_NOT_SCALED ? kept : kept / (1 - p->dropout_p);
}

/* P, Z and dS of one row with keys 0 .. row + nk - nq visible, in double, with a fault. */
static void work_row(const struct sample *s, enum fault fault, int64_t head, int64_t row,
                     int64_t n_keys, double *weight, double *z, double *ds)
{
    const struct fa_problem *p = &s->problem;
    int64_t kv_head = head / (p->heads / p->kv_heads);
    double sum = 0, delta = 0, most = -INFINITY;
    for (int64_t key = 0; key < n_keys; key++) {
        weight[key] = p->scale * dot(&s->q, head, row, &s->k, kv_head, key);
        most = fmax(most, weight[key]);
    }
    for (int64_t key = 0; key < n_keys; key++)
        sum += weight[key] = exp(weight[key] - most);
    for (int64_t key = 0; key < n_keys; key++) {
        double dp = dot(&s->dout, head, row, &s->v, kv_head, key);
        weight[key] /= sum;
        z[key] = keep_factor(p, fault, head, row, key);
        delta += weight[key] * dp * (fault == DELTA_NOT_DROPPED ? 1 : z[key]);
        ds[key] = fault == DP_NOT_DROPPED ? dp : z[key] * dp;
    }
    for (int64_t key = 0; key < n_keys; key++)
        ds[key] = weight[key] * (fault == NO_DELTA        ? ds[key]
                                 : fault == DIAGONAL_ONLY ? ds[key] * (1 - weight[key])
                                                          : ds[key] - delta);
}

/* The gradients of a small causal problem by definition, in double, with a fault. */
static void work(struct sample *s, enum fault fault)
{
    const struct fa_problem *p = &s->problem;
    int64_t group = p->heads / p->kv_heads;
    double scale = fault == NO_SCALE ? 1 : p->scale, weight[64], z[64], ds[64];
    struct fa_tensor dq = tensor(FA_F64, 1, p->heads, p->nq, p->d);
    struct fa_tensor dk = tensor(FA_F64, 1, p->kv_heads, p->nk, p->d);
    struct fa_tensor dv = tensor(FA_F64, 1, p->kv_heads, p->nk, p->dv);
    memset(dq.data, 0, (size_t)(p->heads * p->nq * p->d) * sizeof(double));
    memset(dk.data, 0, (size_t)(p->kv_heads * p->nk * p->d) * sizeof(double));
    memset(dv.data, 0, (size_t)(p->kv_heads * p->nk * p->dv) * sizeof(double));
    for (int64_t head = 0; head < p->heads; head++) {
        int64_t kv_head = head / group;
        for (int64_t row = 0; row < p->nq; row++) {
            int64_t n_keys = row + 1 + p->nk - p->nq;
            work_row(s, fault, head, row, n_keys, weight, z, ds);
            for (int64_t key = 0; key < n_keys; key++) {
                double to_v = weight[key] * (fault == DV_NOT_DROPPED ? 1 : z[key]);
                if (fault == ROLES_SWAPPED) {
                    add(&dq, head, key, scale * ds[key], &s->q, head, row);
                    add(&dk, kv_head, row, scale * ds[key], &s->k, kv_head, key);
                } else {
                    add(&dq, head, row, scale * ds[key], &s->k, kv_head, key);
                    if (fault != GROUP_NOT_SUMMED || head % group == 0)
                        add(&dk, kv_head, key, scale * ds[key], &s->q, head, row);
                }
                if (fault != GROUP_NOT_SUMMED || head % group == 0)
                    add(&dv, kv_head, key, fault == DV_FROM_DS ? ds[key] : to_v, &s->dout, head,
                        row);
            }
        }
    }
    fa_dtype_convert(p->dtype, s->dq.data, FA_F64, dq.data, p->heads * p->nq * p->d);
    fa_dtype_convert(p->dtype, s->dk.data, FA_F64, dk.data, p->kv_heads * p->nk * p->d);
    fa_dtype_convert(p->dtype, s->dv.data, FA_F64, dv.data, p->kv_heads * p->nk * p->dv);
    fa_tensor_free(&dq);
    fa_tensor_free(&dk);
    fa_tensor_free(&dv);
}

static int64_t *count_up(int64_t n)
{
    int64_t *list = malloc((size_t)(n + 1) * sizeof *list);
    for (int64_t i = 0; i < n; i++)
        list[i] = i;
    return list;
}

/* The oracle's gradients, rounded to the dtype, into the sample. */
static void answer(struct sample *s)
{
    const struct fa_problem *p = &s->problem;
    int64_t group = p->heads / p->kv_heads, n_q = group * p->nq * p->d;
    int64_t *rows = count_up(p->nq), *keys = count_up(p->nk), n_k = p->nk * p->d;
    struct fa_gradient_parts parts = {rows, keys, p->nq, p->nk};
    double *dq = malloc((size_t)(n_q + 1) * sizeof *dq);
    double *dk = malloc((size_t)(n_k + 1) * sizeof *dk);
    double *dv = malloc((size_t)(p->nk * p->dv + 1) * sizeof *dv);
    size_t bytes = fa_dtype_bytes(p->dtype);
    for (int64_t h = 0; h < p->batch * p->kv_heads; h++) {
        assert_int_equal(fa_oracle_gradients(p, &s->q, &s->k, &s->v, &s->dout, h, &parts, dq, dk,
                                             dv, NULL),
                         FA_OK);
        for (int64_t i = 0; i < n_q; i++)
            fa_dtype_set(p->dtype, (char *)s->dq.data + (size_t)(h * n_q) * bytes, i, dq[i]);
        for (int64_t i = 0; i < n_k; i++)
            fa_dtype_set(p->dtype, (char *)s->dk.data + (size_t)(h * n_k) * bytes, i, dk[i]);
        for (int64_t i = 0; i < p->nk * p->dv; i++)
            fa_dtype_set(p->dtype, (char *)s->dv.data + (size_t)(h * p->nk * p->dv) * bytes, i,
                         dv[i]);
    }
    free(rows);
    free(keys);
    free(dq);
    free(dk);
    free(dv);
}

static struct sample make(struct fa_problem problem, enum fa_profile profile)
{
    const struct fa_problem *p = &problem;
    struct sample s = {
        .problem = problem,
        .q = tensor(p->dtype, p->batch, p->heads, p->nq, p->d),
        .k = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->d),
        .v = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->dv),
        .dout = tensor(p->dtype, p->batch, p->heads, p->nq, p->dv),
        .dq = tensor(p->dtype, p->batch, p->heads, p->nq, p->d),
        .dk = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->d),
        .dv = tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->dv),
    };
    struct fa_problem output = problem;
    output.d = p->dv;
    fa_profile_fill(FA_PROFILE_GAUSS, 4, &output, &s.dout, &s.k, &s.dv); /* dO, as if it were Q */
    fa_profile_fill(profile, 3, p, &s.q, &s.k, &s.v);
    answer(&s);
    return s;
}

static void drop(struct sample *s)
{
    fa_tensor_free(&s->q);
    fa_tensor_free(&s->k);
    fa_tensor_free(&s->v);
    fa_tensor_free(&s->dout);
    fa_tensor_free(&s->dq);
    fa_tensor_free(&s->dk);
    fa_tensor_free(&s->dv);
}

static struct sim_check_gradients check_with(const struct sample *s, enum sim_check_mode mode,
                                             double factor, int threads)
{
    struct sim_check_gradients check;
    struct fa_error error = {FA_OK, ""};
    memset(&check, 0x5a, sizeof check);
    if (sim_check_backward(&s->problem, &s->q, &s->k, &s->v, &s->dout, &s->dq, &s->dk, &s->dv,
                           mode, factor, factor, threads, NULL, &check, &error) != FA_OK)
        fail_msg("%s", error.text);
    return check;
}

static struct sim_check_gradients check(const struct sample *s)
{
    return check_with(s, SIM_CHECK_SAMPLE, 1, 1);
}

/* 12 causal rows of 4 heads in 2 groups, with dropout. */
static struct fa_problem dropping(enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(12, 12, 5);
    problem.heads = 4;
    problem.kv_heads = 2;
    problem.dv = 5;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.dtype = dtype;
    problem.dropout_p = 0.3;
    problem.dropout_seed = 12;
    return problem;
}

/* Each fault is found in the gradients that it spoils, and in no other. */
static void faults(void **state)
{
    (void)state;
    static const char *const spoils[FAULTS] = {
        [RIGHT] = "",           [NO_DELTA] = "qk",       [DIAGONAL_ONLY] = "qk",
        [NO_SCALE] = "qk",      [GROUP_NOT_SUMMED] = "kv", [ROLES_SWAPPED] = "qk",
        [DV_NOT_DROPPED] = "v", [DROPOUT_NOT_SCALED] = "qkv", [DP_NOT_DROPPED] = "qk",
        [DELTA_NOT_DROPPED] = "qk", [DV_FROM_DS] = "v",
    };
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++)
        for (int fault = RIGHT; fault < FAULTS; fault++) {
            struct sample s = make(dropping((enum fa_dtype)dtype), FA_PROFILE_GAUSS);
            work(&s, (enum fault)fault);
            struct sim_check_gradients result = check(&s);
            bool dq = fa_comparison_within(&result.dq, result.dq_budget);
            bool dk = fa_comparison_within(&result.dk, result.dk_budget);
            bool dv = fa_comparison_within(&result.dv, result.dv_budget);
            if (dq != !strchr(spoils[fault], 'q') || dk != !strchr(spoils[fault], 'k') ||
                dv != !strchr(spoils[fault], 'v'))
                fail_msg("fault %d in format %d: dq %d, dk %d, dv %d", fault, dtype, dq, dk, dv);
            assert_true(result.pass == (dq && dk && dv));
            assert_true(result.rows == 48 && result.keys == 24 && !result.sampled);
            assert_true(result.dq.n == 240 && result.dk.n == 120 && result.dv.n == 120);
            drop(&s);
        }
}

/* 150 rows of 4 heads, odd widths, and with 90 keys the first 60 rows empty. */
static struct fa_problem mixed(enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(150, 90, 7);
    problem.batch = 2;
    problem.heads = 4;
    problem.kv_heads = 2;
    problem.dv = 5;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.dtype = dtype;
    return problem;
}

static void right_results_pass(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample s = make(mixed((enum fa_dtype)dtype), FA_PROFILE_GAUSS);
        struct sim_check_gradients result = check(&s);
        assert_true(result.pass && !result.sampled);
        assert_true(result.rows == 1200 && result.keys == 360);
        assert_int_equal(result.dq.n, 1200 * 7);
        assert_int_equal(result.dk.n, 360 * 7);
        assert_int_equal(result.dv.n, 360 * 5);
        assert_true(result.dq_budget > 0 && result.dq_budget < 0.1 * result.dq.max_abs_expected);
        assert_true(result.dk_budget > 0 && result.dk_budget < 0.1 * result.dk.max_abs_expected);
        assert_true(result.dv_budget > 0 && result.dv_budget < 0.1 * result.dv.max_abs_expected);
        drop(&s);
    }
}

/* Plants `value` into one element and says whether the check passes. */
static bool passes_with(const struct sample *s, const struct fa_tensor *at, int64_t batch,
                        int64_t head, int64_t row, int64_t column, double value)
{
    double before = fa_tensor_get(at, batch, head, row, column);
    fa_tensor_set(at, batch, head, row, column, value);
    bool pass = check(s).pass;
    fa_tensor_set(at, batch, head, row, column, before);
    return pass;
}

static void planted_elements(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct sample s = make(mixed((enum fa_dtype)dtype), FA_PROFILE_GAUSS);
        struct sim_check_gradients right = check(&s);
        const struct fa_tensor *const at[] = {&s.dq, &s.dk, &s.dv};
        const double budgets[] = {right.dq_budget, right.dk_budget, right.dv_budget};
        for (int n = 0; n < 3; n++) {
            int64_t head = at[n]->shape[1] - 1, row = at[n]->shape[2] - 1;
            int64_t column = at[n]->shape[3] - 1;
            double last = fa_tensor_get(at[n], 1, head, row, column);
            assert_false(passes_with(&s, at[n], 1, head, row, column, last + 3 * budgets[n]));
            assert_true(passes_with(&s, at[n], 1, head, row, column, last + 0.3 * budgets[n]));
            assert_false(passes_with(&s, at[n], 0, 0, 0, 0, 3 * budgets[n] + 1));
            assert_false(passes_with(&s, at[n], 0, 1, row / 2, 0, NAN));
            assert_false(passes_with(&s, at[n], 0, 1, row / 2, 0, -INFINITY));
        }
        assert_false(passes_with(&s, &s.dq, 0, 3, 59, 2, NAN)); /* an empty row */
        assert_true(check(&s).pass);
        drop(&s);
    }
}

/* The rule of the header, computed here from the oracle and the naive run. */
static void the_budget_rule(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct fa_problem problem = fa_problem_make(30, 20, 4);
        problem.heads = 6;
        problem.kv_heads = 2;
        problem.scale = -0.7;
        problem.dtype = (enum fa_dtype)dtype;
        struct sample s = make(problem, FA_PROFILE_GAUSS);
        fa_tensor_set(&s.q, 0, 0, 2, 1, 5); /* The largest is in the first head. */
        double t[3][360], n[3][360], o[120], lse[30], e[3] = {0}, x[3] = {0}, most_lse = 1;
        double delta = 0, root = 0, q = 0, k = 0, u = fa_dtype_roundoff(problem.dtype);
        double w = dtype == FA_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
        int64_t *list = count_up(30);
        struct fa_gradient_parts parts = {list, list, 30, 20};
        for (int i = 0; i < 2 * (360 + 80 + 80); i++) {
            int h = i / 520, g = i % 520 < 360 ? 0 : i % 520 < 440 ? 1 : 2;
            int64_t at = i % 520 - (g == 0 ? 0 : g == 1 ? 360 : 440);
            if (i % 520 == 0) {
                fa_oracle_gradients(&problem, &s.q, &s.k, &s.v, &s.dout, h, &parts, t[0], t[1],
                                    t[2], NULL);
                fa_naive_gradients(&problem, &s.q, &s.k, &s.v, &s.dout, h, &parts, n[0], n[1],
                                   n[2], NULL);
            }
            e[g] = fmax(e[g], fabs(t[g][at] - n[g][at]));
            x[g] = fmax(x[g], fabs(t[g][at]));
        }
        for (int h = 0; h < 6; h++) {
            fa_oracle_rows(&problem, &s.q, &s.k, &s.v, h, list, 30, o, lse, NULL);
            for (int r = 0; r < 30; r++) {
                double sum = 0, squares = 0;
                for (int c = 0; c < 4; c++) {
                    double term = fabs(o[r * 4 + c] * fa_tensor_get(&s.dout, 0, h, r, c));
                    sum += term;
                    squares += term * term;
                    q = fmax(q, fabs(fa_tensor_get(&s.q, 0, h, r, c)));
                    k = fmax(k, fabs(fa_tensor_get(&s.k, 0, h / 3, r % 20, c)));
                }
                delta = fmax(delta, sum);
                root = fmax(root, sqrt(squares));
                most_lse = fmax(most_lse, fabs(lse[r]));
            }
        }
        double c = w * sqrt(4) * delta + (dtype == FA_F16 || dtype == FA_BF16 ? u * root : 0);
        double floors[3] = {w * (sqrt(20) + most_lse) * x[0] + c * 0.7 * k,
                            w * (sqrt(90) + most_lse) * x[1] + c * 0.7 * q * sqrt(4.5),
                            w * (sqrt(90) + most_lse) * x[2]};
        struct sim_check_gradients result = check_with(&s, SIM_CHECK_FULL, 3, 1);
        const double budgets[3] = {result.dq_budget, result.dk_budget, result.dv_budget};
        for (int g = 0; g < 3; g++) {
            double expected = 6 * fmax(e[g], floors[g]) + 2 * u * x[g];
            assert_true(fabs(budgets[g] / expected - 1) < 1e-12);
        }
        free(list);
        drop(&s);
    }
}

/* f16 scores past 65504 make the naive run NaN; that must not pass all, nor fail what is right. */
static void naive_overflow(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(3, 4, 2);
    problem.dtype = FA_F16;
    problem.scale = 1;
    struct sample s = make(problem, FA_PROFILE_GAUSS);
    struct fa_gradient_parts parts = {(int64_t[]){0, 1, 2}, (int64_t[]){0, 1, 2, 3}, 3, 4};
    double dq[6], dk[8], dv[8];
    for (int64_t c = 0; c < 2; c++) {
        fa_tensor_set(&s.q, 0, 0, 1, c, 300);
        fa_tensor_set(&s.k, 0, 0, 2, c, 300);
    }
    answer(&s);
    fa_naive_gradients(&problem, &s.q, &s.k, &s.v, &s.dout, 0, &parts, dq, dk, dv, NULL);
    assert_true(isnan(dq[2]) && isfinite(dq[0]) && isnan(dv[0]));
    struct sim_check_gradients result = check(&s);
    assert_true(result.pass && isfinite(result.dq_budget) && isfinite(result.dv_budget));
    assert_false(passes_with(&s, &s.dv, 0, 0, 1, 0, 50));
    assert_false(passes_with(&s, &s.dq, 0, 0, 1, 0, NAN));
    drop(&s);
}

/* One query, one key: dq and dk are 0, but dP - delta may be what rounding leaves of two sums. */
static void what_should_cancel(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(1, 1, 16);
    struct sample s = make(problem, FA_PROFILE_GAUSS);
    double delta = 0;
    for (int64_t c = 0; c < 16; c++)
        delta += fabs(fa_tensor_get(&s.v, 0, 0, 0, c) * fa_tensor_get(&s.dout, 0, 0, 0, c));
    assert_true(check(&s).dq.max_abs_expected == 0 && check(&s).pass);
    for (int64_t c = 0; c < 16; c++) { /* As an error of the last place of delta leaves them. */
        double left = delta * FLT_EPSILON / 2 * problem.scale;
        fa_tensor_set(&s.dq, 0, 0, 0, c, left * fa_tensor_get(&s.k, 0, 0, 0, c));
        fa_tensor_set(&s.dk, 0, 0, 0, c, left * fa_tensor_get(&s.q, 0, 0, 0, c));
    }
    struct sim_check_gradients result = check(&s);
    assert_true(result.pass && result.dq.max_abs_error > 0);
    assert_false(passes_with(&s, &s.dq, 0, 0, 0, 3, 1e-4));
    drop(&s);
}

static bool is_among(const int64_t *list, int64_t value)
{
    for (int n = 0; n < SIM_CHECK_SAMPLED_ROWS; n++)
        if (list[n] == value)
            return true;
    return false;
}

/* Above 2048 rows or keys a fault is seen where it is sampled, and everywhere in full. */
static void samples_and_full(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(SIM_CHECK_ALL_GRADIENTS + 1, 3, 2);
    int64_t rows[SIM_CHECK_SAMPLED_ROWS], unseen = 1;
    problem.heads = problem.kv_heads = 2;
    struct sample s = make(problem, FA_PROFILE_GAUSS);
    sim_check_sample(&problem, 1, rows);
    while (is_among(rows, unseen))
        unseen++;
    struct sim_check_gradients result = check(&s);
    assert_true(result.pass && result.sampled && result.rows == 512 && result.keys == 6);
    assert_false(passes_with(&s, &s.dq, 0, 0, SIM_CHECK_ALL_GRADIENTS, 1, 9));
    assert_false(passes_with(&s, &s.dq, 0, 1, rows[100], 1, 9));
    assert_true(passes_with(&s, &s.dq, 0, 1, unseen, 1, 9));
    fa_tensor_set(&s.dq, 0, 1, unseen, 1, 9);
    result = check_with(&s, SIM_CHECK_FULL, 1, 2);
    assert_true(!result.pass && !result.sampled);
    assert_int_equal(result.rows, 2 * (SIM_CHECK_ALL_GRADIENTS + 1));
    assert_int_equal(result.dq.worst, ((SIM_CHECK_ALL_GRADIENTS + 1) + unseen) * 2 + 1);
    result = check_with(&s, SIM_CHECK_NONE, 1, 1);
    assert_true(result.pass && result.rows == 0 && result.keys == 0 && !result.sampled);
    drop(&s);

    problem.nk = SIM_CHECK_ALL_GRADIENTS + 2;
    problem.nq = 3;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT; /* The diagonal is at the last keys. */
    s = make(problem, FA_PROFILE_GAUSS);
    result = check(&s);
    assert_true(result.pass && result.sampled && result.rows == 6 && result.keys == 512);
    assert_false(passes_with(&s, &s.dv, 0, 1, problem.nk - 4, 1, 9));
    assert_false(passes_with(&s, &s.dv, 0, 1, problem.nk - 3, 1, 9));
    assert_false(passes_with(&s, &s.dv, 0, 1, problem.nk - 1, 1, 9));
    assert_false(passes_with(&s, &s.dk, 0, 1, 0, 0, 9));
    for (unseen = 1; !passes_with(&s, &s.dk, 0, 0, unseen, 1, 9); unseen++)
        assert_true(unseen < 20);
    fa_tensor_set(&s.dk, 0, 0, unseen, 1, 9);
    assert_false(check_with(&s, SIM_CHECK_FULL, 1, 1).pass);
    drop(&s);
}

/* What is not there is not compared, and the rest of the check is the same. */
static void some_of_them(void **state)
{
    (void)state;
    struct sample s = make(mixed(FA_F32), FA_PROFILE_GAUSS);
    struct fa_tensor without_data = s.dq;
    struct sim_check_gradients all = check(&s);
    without_data.data = NULL;
    for (int which = 0; which < 8; which++) {
        struct sim_check_gradients some;
        assert_int_equal(
            sim_check_backward(&s.problem, &s.q, &s.k, &s.v, &s.dout,
                               which & 1 ? &s.dq : which & 2 ? NULL : &without_data,
                               which & 2 ? &s.dk : NULL, which & 4 ? &s.dv : NULL, SIM_CHECK_FULL,
                               1, 1, 1, NULL, &some, NULL),
            FA_OK);
        assert_true(some.pass);
        assert_int_equal(some.dq.n, which & 1 ? all.dq.n : 0);
        assert_int_equal(some.dk.n, which & 2 ? all.dk.n : 0);
        assert_int_equal(some.dv.n, which & 4 ? all.dv.n : 0);
        assert_int_equal(some.rows, which & 1 ? all.rows : 0);
        assert_int_equal(some.keys, which & 6 ? all.keys : 0);
        assert_true(!(which & 1) || some.dq_budget == all.dq_budget);
        assert_true(!(which & 2) || some.dk_budget == all.dk_budget);
        assert_true(!(which & 4) || some.dv_budget == all.dv_budget);
    }
    drop(&s);
}

static void nothing_to_compare(void **state)
{
    (void)state;
    const struct fa_problem shapes[] = {fa_problem_make(0, 4, 2), fa_problem_make(4, 0, 2)};
    for (int n = 0; n < 2; n++) {
        struct sample s = make(shapes[n], FA_PROFILE_GAUSS);
        struct sim_check_gradients result = check(&s);
        assert_true(result.pass && result.rows == shapes[n].nq && result.keys == shapes[n].nk);
        assert_true(result.dq_budget == 0 && result.dv_budget == 0);
        drop(&s);
    }
}

static void any_number_of_threads(void **state)
{
    (void)state;
    /* A few heads, and more than are worked on together. */
    static const int64_t sizes[2][2] = {{9, 4}, {200, 170}};
    for (int i = 0; i < 2; i++) {
        struct fa_problem problem = fa_problem_make(i ? 3 : 60, 20, 3);
        problem.batch = sizes[i][0];
        problem.heads = 2;
        problem.dtype = FA_F16;
        struct sample s = make(problem, FA_PROFILE_PEAKY);
        fa_tensor_set(&s.dk, sizes[i][1], 0, 13, 2, 17);
        struct sim_check_gradients one = check_with(&s, SIM_CHECK_FULL, 1, 1);
        assert_int_equal(one.dk.worst, (sizes[i][1] * 20 + 13) * 3 + 2);
        assert_int_equal(one.keys, sizes[i][0] * 20);
        for (int threads = 2; threads < 6; threads++) {
            struct sim_check_gradients more = check_with(&s, SIM_CHECK_FULL, 1, threads);
            assert_memory_equal(&one.dq, &more.dq, sizeof one.dq);
            assert_memory_equal(&one.dk, &more.dk, sizeof one.dk);
            assert_memory_equal(&one.dv, &more.dv, sizeof one.dv);
            assert_true(one.dq_budget == more.dq_budget && one.dk_budget == more.dk_budget);
            assert_true(one.dv_budget == more.dv_budget && !more.pass);
            assert_memory_equal(&one.dq_part, &more.dq_part, sizeof one.dq_part);
            assert_memory_equal(&one.dk_part, &more.dk_part, sizeof one.dk_part);
            assert_memory_equal(&one.dv_part, &more.dv_part, sizeof one.dv_part);
            assert_true(more.dk_part.wrong == 1 && more.dk_part.head == sizes[i][1]);
            assert_int_equal(more.dk_part.worst, more.dk.worst);
        }
        drop(&s);
    }
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
    struct sample s = make(mixed(FA_F32), FA_PROFILE_GAUSS);
    struct sim_check_gradients result, before;
    for (int threads = 1; threads < 4; threads++)
        for (int stop_at = 0; stop_at < 12; stop_at += 3) {
            struct progress progress = {0, stop_at, 0};
            const struct fa_watch watch = {tick, &progress};
            struct fa_error error = {FA_OK, ""};
            memset(&result, 0x5a, sizeof result);
            before = result;
            enum fa_status status = sim_check_backward(
                &s.problem, &s.q, &s.k, &s.v, &s.dout, &s.dq, &s.dk, &s.dv, SIM_CHECK_FULL, 1, 1,
                threads, &watch, &result, &error);
            assert_int_equal(status, stop_at ? FA_CANCELLED : FA_OK);
            if (stop_at) {
                assert_memory_equal(&result, &before, sizeof result);
                assert_string_equal(error.text, "stopped before the check was done");
                assert_int_equal(progress.calls, stop_at);
            } else {
                assert_true(progress.last == 1 && progress.calls == 12);
            }
        }
    drop(&s);
}

/* The last keys of a causal problem, which one row or two see, by their own size; and a head that
 * is small beside another. */
static void small_parts_have_budgets_of_their_own(void **state)
{
    (void)state;
    struct fa_problem problem = fa_problem_make(322, 322, 16);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.dtype = FA_BF16;
    struct sample s = make(problem, FA_PROFILE_GAUSS);
    struct sim_check_gradients result = check(&s);
    assert_true(result.pass && result.dk_part.wrong + result.dv_part.wrong == 0);
    for (int64_t key = 320; key < 322; key++)
        for (int64_t c = 0; c < 16; c++) {
            fa_tensor_set(&s.dk, 0, 0, key, c, 0);
            fa_tensor_set(&s.dv, 0, 0, key, c, 0);
        }
    result = check(&s);
    assert_true(!result.pass && result.dq_part.wrong == 0);
    assert_true(fa_comparison_within(&result.dk, result.dk_budget));
    assert_true(fa_comparison_within(&result.dv, result.dv_budget));
    const struct sim_check_part parts[] = {result.dk_part, result.dv_part};
    for (int i = 0; i < 2; i++) {
        assert_true(parts[i].wrong == 1 && parts[i].first == 320 && parts[i].last == 321);
        assert_true(parts[i].head == 0 && parts[i].worst >= 320 * 16);
        assert_true(parts[i].error > parts[i].budget && parts[i].budget > 0);
    }
    drop(&s);
    problem = fa_problem_make(50, 50, 8);
    problem.batch = problem.heads = 2;
    problem.dtype = FA_BF16;
    s = make(problem, FA_PROFILE_GAUSS);
    for (int64_t e = 0; e < 50 * 8; e++)
        fa_dtype_set(FA_BF16, s.v.data, e, 200 * fa_dtype_get(FA_BF16, s.v.data, e));
    answer(&s);
    assert_true(check(&s).pass);
    for (int64_t r = 0; r < 50; r++)
        for (int64_t c = 0; c < 8; c++)
            fa_tensor_set(&s.dq, 1, 0, r, c, 0);
    result = check(&s);
    assert_true(!result.pass && fa_comparison_within(&result.dq, result.dq_budget));
    assert_true(result.dq_part.wrong == 1 && result.dq_part.head == 2 &&
                result.dq_part.first == 0 && result.dq_part.last == 49);
    drop(&s);
}

/* dV of one key of one column is a sum that may cancel: its size says nothing about its error. */
static void few_elements_have_no_budget_of_their_own(void **state)
{
    (void)state;
    for (int64_t d = SIM_CHECK_PART_ELEMENTS - 1; d <= SIM_CHECK_PART_ELEMENTS; d++) {
        struct sample s = make(fa_problem_make(3, 1, d), FA_PROFILE_GAUSS);
        double dv, *const parts[3] = {NULL, NULL, &dv};
        struct sim_check_gradients result;
        assert_int_equal(sim_check_backward_parts(&s.problem, &s.q, &s.k, &s.v, &s.dout, NULL, NULL,
                                                  &s.dv, SIM_CHECK_FULL, 1, 1, 1, NULL, parts,
                                                  &result, NULL),
                         FA_OK);
        assert_true(isinf(dv) == (d < SIM_CHECK_PART_ELEMENTS));
        drop(&s);
    }
}

/* The rule of the header for parts, computed here: 66 causal rows and keys, in two parts each. */
static void the_budgets_of_parts(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
        struct fa_problem problem = fa_problem_make(66, 66, 4);
        problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
        problem.dtype = (enum fa_dtype)dtype;
        struct sample s = make(problem, FA_PROFILE_GAUSS);
        double got[3][2], *const parts[3] = {got[0], got[1], got[2]}, t[3][264], n[3][264];
        double o[264], lse[66], most_q = 0, most_k = 0, u = fa_dtype_roundoff(problem.dtype);
        double w = dtype == FA_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
        int64_t *list = count_up(66);
        struct fa_gradient_parts all = {list, list, 66, 66};
        struct sim_check_gradients result;
        assert_int_equal(sim_check_backward_parts(&problem, &s.q, &s.k, &s.v, &s.dout, &s.dq, &s.dk,
                                                  &s.dv, SIM_CHECK_FULL, 3, 3, 1, NULL, parts,
                                                  &result, NULL),
                         FA_OK);
        fa_oracle_gradients(&problem, &s.q, &s.k, &s.v, &s.dout, 0, &all, t[0], t[1], t[2], NULL);
        fa_naive_gradients(&problem, &s.q, &s.k, &s.v, &s.dout, 0, &all, n[0], n[1], n[2], NULL);
        fa_oracle_rows(&problem, &s.q, &s.k, &s.v, 0, list, 66, o, lse, NULL);
        for (int64_t e = 0; e < 264; e++) {
            most_q = fmax(most_q, fabs(fa_dtype_get(problem.dtype, s.q.data, e)));
            most_k = fmax(most_k, fabs(fa_dtype_get(problem.dtype, s.k.data, e)));
        }
        for (int i = 0; i < 6; i++) {
            int which = i / 2, first = i % 2 * 64, end = i % 2 ? 66 : 64;
            double l = 1, delta = 0, root = 0, e = 0, x = 0, most_weight = 0;
            /* A row sees its own key: the last keys are seen by the last rows. */
            for (int r = first; r < (which == 0 ? end : 66); r++) {
                double sum = 0, squares = 0;
                for (int c = 0; c < 4; c++) {
                    double term = fabs(o[r * 4 + c] * fa_tensor_get(&s.dout, 0, 0, r, c));
                    sum += term;
                    squares += term * term;
                }
                l = fmax(l, fabs(lse[r]));
                delta = fmax(delta, sum);
                root = fmax(root, sqrt(squares));
            }
            for (int key = first; key < end; key++) {
                double weight = 0;
                for (int r = key; r < 66; r++)
                    weight += exp(problem.scale * dot(&s.q, 0, r, &s.k, 0, key) - lse[r]);
                most_weight = fmax(most_weight, weight);
            }
            for (int at = first * 4; at < end * 4; at++) {
                e = fmax(e, fabs(t[which][at] - n[which][at]));
                x = fmax(x, fabs(t[which][at]));
            }
            double c = problem.scale * (w * sqrt(4) * delta +
                                        (dtype == FA_F16 || dtype == FA_BF16 ? u * root : 0));
            double reach = most_weight < 1 ? most_weight : sqrt(most_weight);
            double left = which == 0 ? c * most_k : which == 1 ? c * most_q * reach : 0;
            e = fmax(fmax(e, u * x), w * (sqrt(66) + l) * x + left);
            assert_true(fabs(got[which][i % 2] / (4 * (6 * e + 2 * u * x)) - 1) < 1e-12);
        }
        free(list);
        drop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults),           cmocka_unit_test(right_results_pass),
        cmocka_unit_test(planted_elements), cmocka_unit_test(the_budget_rule),
        cmocka_unit_test(naive_overflow),   cmocka_unit_test(what_should_cancel),
        cmocka_unit_test(samples_and_full),
        cmocka_unit_test(some_of_them),     cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(any_number_of_threads), cmocka_unit_test(watched_and_stopped),
        cmocka_unit_test(small_parts_have_budgets_of_their_own),
        cmocka_unit_test(the_budgets_of_parts),
        cmocka_unit_test(few_elements_have_no_budget_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
