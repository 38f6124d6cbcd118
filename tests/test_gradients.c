/* The gradients of the oracle and of the naive run: golden cases, parts, hidden values, dropout. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/compare.h"
#include "reference/gradients.h"
#include "reference/naive.h"
#include "reference/oracle.h"
#include "reference/philox.h"
#include "reference/profile.h"
#include "tests/golden_case.h"

typedef enum fa_status gradients_function(const struct fa_problem *problem,
                                          const struct fa_tensor *q, const struct fa_tensor *k,
                                          const struct fa_tensor *v, const struct fa_tensor *dout,
                                          int64_t kv_head, const struct fa_gradient_parts *parts,
                                          double *dq, double *dk, double *dv,
                                          struct fa_error *error);

static gradients_function *const both[] = {fa_oracle_gradients, fa_naive_gradients};

/* All gradients of a problem, in the order of its tensors; freed together. */
struct gradients {
    int64_t n_q, n_k, n_v;
    double *dq, *dk, *dv;
};

static int64_t *count_up(int64_t n)
{
    int64_t *list = malloc((size_t)(n + 1) * sizeof *list);
    assert_non_null(list);
    for (int64_t i = 0; i < n; i++)
        list[i] = i;
    return list;
}

static struct gradients compute(gradients_function *function, const struct fa_problem *p,
                                const struct fa_tensor *q, const struct fa_tensor *k,
                                const struct fa_tensor *v, const struct fa_tensor *dout)
{
    int64_t kv_heads = p->batch * p->kv_heads;
    struct gradients g = {p->batch * p->heads * p->nq * p->d, kv_heads * p->nk * p->d,
                          kv_heads * p->nk * p->dv, NULL, NULL, NULL};
    int64_t *rows = count_up(p->nq), *keys = count_up(p->nk);
    struct fa_gradient_parts parts = {rows, keys, p->nq, p->nk};
    struct fa_error error = {FA_OK, ""};
    g.dq = malloc((size_t)(g.n_q + 1) * sizeof(double));
    g.dk = malloc((size_t)(g.n_k + 1) * sizeof(double));
    g.dv = malloc((size_t)(g.n_v + 1) * sizeof(double));
    assert_true(g.dq && g.dk && g.dv);
    g.dq[g.n_q] = g.dk[g.n_k] = g.dv[g.n_v] = 4711;
    if (fa_problem_check(p, &error) != FA_OK)
        fail_msg("%s", error.text);
    for (int64_t h = 0; h < kv_heads; h++)
        if (function(p, q, k, v, dout, h, &parts, g.dq + h * (g.n_q / kv_heads),
                     g.dk + h * p->nk * p->d, g.dv + h * p->nk * p->dv, &error) != FA_OK)
            fail_msg("%s", error.text);
    assert_true(g.dq[g.n_q] == 4711 && g.dk[g.n_k] == 4711 && g.dv[g.n_v] == 4711);
    free(rows);
    free(keys);
    return g;
}

static void drop(struct gradients *g)
{
    free(g->dq);
    free(g->dk);
    free(g->dv);
}

static void assert_same_bits(const struct gradients *a, const struct gradients *b)
{
    assert_memory_equal(a->dq, b->dq, (size_t)a->n_q * sizeof(double));
    assert_memory_equal(a->dk, b->dk, (size_t)a->n_k * sizeof(double));
    assert_memory_equal(a->dv, b->dv, (size_t)a->n_v * sizeof(double));
}

static void assert_all(const double *values, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        if (!(values[i] == value))
            fail_msg("element %d is %.17g: expected %.17g", (int)i, values[i], value);
}

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g: expected %.17g within %g", got, expected, tolerance);
}

/* A golden case with its dO, and its dropout if it has any. */
struct backward_case {
    struct attention_case forward;
    struct fa_tensor dout, keep;
};

static void load(struct backward_case *golden, const char *name, enum fa_dtype dtype)
{
    memset(golden, 0, sizeof *golden);
    golden_case_load(&golden->forward, name, dtype);
    golden_tensor_read(name, "do.npy", dtype, &golden->dout);
    if (strcmp(name, golden_case_dropout) == 0) {
        golden_tensor_read(name, "dropout_keep.npy", FA_U8, &golden->keep);
        golden->forward.problem.dropout_p = golden_case_dropout_p(name);
        golden->forward.problem.dropout_keep = &golden->keep;
        assert_true(golden->forward.problem.dropout_p == 0.25);
    }
}

static void unload(struct backward_case *golden)
{
    attention_case_free(&golden->forward);
    fa_tensor_free(&golden->dout);
    fa_tensor_free(&golden->keep);
}

static struct gradients run(gradients_function *function, const struct backward_case *golden)
{
    const struct attention_case *forward = &golden->forward;
    return compute(function, &forward->problem, &forward->q, &forward->k, &forward->v,
                   &golden->dout);
}

static void compare(const char *name, const char *what, const double *got, const double *expected,
                    int64_t n, double relative, double least)
{
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, got, expected, n);
    if (!fa_comparison_within(&comparison, fmax(relative * comparison.max_abs_expected, least)))
        fail_msg("%s, %s: off by %g where the largest value is %g", name, what,
                 comparison.max_abs_error, comparison.max_abs_expected);
}

static void compare_with_file(const char *name, const char *file, const double *got, int64_t n,
                              double relative, double least)
{
    struct fa_tensor expected;
    golden_tensor_read(name, file, FA_F64, &expected);
    assert_int_equal(expected.shape[0] * expected.stride[0], n);
    compare(name, file, got, expected.data, n, relative, least);
    fa_tensor_free(&expected);
}

/* `least`: what cancels to 0 by calculation need not cancel in every bit. */
static void check_golden(const char *name, gradients_function *function, enum fa_dtype dtype,
                         double relative, double least)
{
    struct backward_case golden;
    load(&golden, name, dtype);
    struct gradients g = run(function, &golden);
    compare_with_file(name, "dq.npy", g.dq, g.n_q, relative, least);
    compare_with_file(name, "dk.npy", g.dk, g.n_k, relative, least);
    compare_with_file(name, "dv.npy", g.dv, g.n_v, relative, least);
    drop(&g);
    unload(&golden);
}

static void golden_gradients(void **state)
{
    (void)state;
    for (int i = 0; golden_case_names[i]; i++) {
        const char *name = golden_case_names[i];
        /* A score of 1e4 in double is itself only good to 1e-12, and so is its exp. */
        bool large = strcmp(name, "large_logits") == 0;
        check_golden(name, fa_oracle_gradients, FA_F64, large ? 4e-12 : 1e-12, 0);
        check_golden(name, fa_oracle_gradients, FA_F32, large ? 4e-12 : 1e-12, 0);
        check_golden(name, fa_naive_gradients, FA_F64, 1e-12, 1e-11);
        check_golden(name, fa_naive_gradients, FA_F32, large ? 4e-3 : 1e-5, large ? 1e-2 : 1e-5);
    }
    check_golden(golden_case_dropout, fa_oracle_gradients, FA_F32, 1e-12, 0);
    check_golden(golden_case_dropout, fa_naive_gradients, FA_F64, 1e-12, 0);
    check_golden(golden_case_dropout, fa_naive_gradients, FA_F32, 1e-6, 0);
}

static void golden_dropout_forward(void **state)
{
    (void)state;
    struct backward_case golden;
    load(&golden, golden_case_dropout, FA_F64);
    attention_case_run(&golden.forward, fa_oracle_rows, 1e-12);
    attention_case_run(&golden.forward, fa_naive_rows, 1e-12);
    unload(&golden);
    load(&golden, golden_case_dropout, FA_F32);
    attention_case_run(&golden.forward, fa_naive_rows, 1e-6);
    unload(&golden);
}

/* In 16 bits: every result is a number of the format, and off by some roundings of it. */
static void naive_in_16_bits(void **state)
{
    (void)state;
    static const char *const names[] = {"dense_64", "gqa_8_2", "mask_random", "bias"};
    for (int dtype = FA_F16; dtype <= FA_BF16; dtype++)
        for (int n = 0; n < 4; n++) {
            struct backward_case golden;
            double u = fa_dtype_roundoff((enum fa_dtype)dtype);
            load(&golden, names[n], (enum fa_dtype)dtype);
            struct gradients truth = run(fa_oracle_gradients, &golden);
            struct gradients naive = run(fa_naive_gradients, &golden);
            compare(names[n], "dq", naive.dq, truth.dq, truth.n_q, 8 * u, 0);
            compare(names[n], "dk", naive.dk, truth.dk, truth.n_k, 8 * u, 0);
            compare(names[n], "dv", naive.dv, truth.dv, truth.n_v, 8 * u, 0);
            for (int64_t i = 0; i < naive.n_k; i++) {
                assert_true(naive.dk[i] == fa_dtype_round((enum fa_dtype)dtype, naive.dk[i]));
                assert_true(naive.dv[i] == fa_dtype_round((enum fa_dtype)dtype, naive.dv[i]));
            }
            assert_memory_not_equal(naive.dq, truth.dq, (size_t)naive.n_q * sizeof(double));
            drop(&truth);
            drop(&naive);
            unload(&golden);
        }
}

/* The same blocks as a block mask and as a mask of elements: the same bits. */
static void blocks_are_masks(void **state)
{
    (void)state;
    static const char *const names[] = {"block_sparse_16", "block_sparse_causal_32x16"};
    attention_rows *const rows_functions[] = {fa_oracle_rows, fa_naive_rows};
    for (int n = 0; n < 2; n++) {
        struct backward_case golden;
        struct fa_tensor bytes;
        load(&golden, names[n], FA_F64);
        golden_tensor_read(names[n], "block_mask.npy", FA_U8, &bytes);
        const struct fa_block_mask blocks = {n == 0 ? 16 : 32, 16, bytes.shape[2], bytes.shape[3],
                                             bytes.data};
        struct fa_problem *p = &golden.forward.problem;
        const struct fa_tensor *mask = p->mask;
        for (int f = 0; f < 2; f++) {
            p->mask = mask;
            p->blocks = NULL;
            struct gradients masked = run(both[f], &golden);
            p->mask = NULL;
            p->blocks = &blocks;
            struct gradients blocked = run(both[f], &golden);
            assert_same_bits(&masked, &blocked);
            attention_case_run(&golden.forward, rows_functions[f], 1e-12);
            drop(&masked);
            drop(&blocked);
        }
        fa_tensor_free(&bytes);
        unload(&golden);
    }
}

/* Rows and keys in any order, some twice, and each output alone: the bits of the whole. */
static void parts_of_the_whole(void **state)
{
    (void)state;
    enum { ROWS = 40, KEYS = 50 };
    struct backward_case golden;
    load(&golden, "gqa_8_2", FA_F32);
    const struct attention_case *c = &golden.forward;
    const struct fa_problem *p = &c->problem;
    int64_t rows[ROWS], keys[KEYS], d = p->d, nq = p->nq, nk = p->nk;
    for (int i = 0; i < ROWS; i++)
        rows[i] = i * 7 % nq;
    for (int i = 0; i < KEYS; i++)
        keys[i] = i * 5 % nk;
    for (int f = 0; f < 2; f++) {
        struct gradients whole = run(both[f], &golden);
        for (int n = 0; n < 5; n++) {
            static const int sizes[5][2] = {{ROWS, KEYS}, {ROWS, 0}, {0, KEYS}, {3, 1}, {1, KEYS}};
            struct fa_gradient_parts parts = {rows, keys, sizes[n][0], sizes[n][1]};
            for (int which = 0; which < 8; which++) {
                double dq[4 * ROWS * 8], dk[KEYS * 8], dv[KEYS * 8];
                dq[0] = dk[0] = dv[0] = 9;
                assert_int_equal(both[f](p, &c->q, &c->k, &c->v, &golden.dout, 3, &parts,
                                         which & 1 ? dq : NULL, which & 2 ? dk : NULL,
                                         which & 4 ? dv : NULL, NULL),
                                 FA_OK);
                for (int64_t i = 0; i < 4 * parts.n_rows && (which & 1); i++)
                    assert_memory_equal(dq + i * d,
                                        whole.dq + ((12 + i / parts.n_rows) * nq +
                                                    rows[i % parts.n_rows]) * d,
                                        (size_t)d * sizeof(double));
                for (int64_t i = 0; i < parts.n_keys; i++) {
                    size_t at = (size_t)((3 * nk + keys[i]) * d), bytes = (size_t)d * sizeof *dk;
                    assert_true(!(which & 2) || !memcmp(dk + i * d, whole.dk + at, bytes));
                    assert_true(!(which & 4) || !memcmp(dv + i * d, whole.dv + at, bytes));
                }
                assert_true((parts.n_rows && (which & 1)) || dq[0] == 9);
                assert_true((parts.n_keys && (which & 2)) || dk[0] == 9);
                assert_true((parts.n_keys && (which & 4)) || dv[0] == 9);
            }
        }
        drop(&whole);
    }
    unload(&golden);
}

static void any_strides(void **state)
{
    (void)state;
    for (int scatter = 0; scatter < 2; scatter++) {
        struct backward_case golden;
        load(&golden, "mask_random", FA_F32);
        struct gradients plain[2] = {run(both[0], &golden), run(both[1], &golden)};
        attention_tensor_relayout(&golden.forward.q, scatter);
        attention_tensor_relayout(&golden.forward.k, scatter);
        attention_tensor_relayout(&golden.forward.v, scatter);
        attention_tensor_relayout(&golden.forward.mask, scatter);
        attention_tensor_relayout(&golden.dout, scatter);
        for (int f = 0; f < 2; f++) {
            struct gradients strided = run(both[f], &golden);
            assert_same_bits(&plain[f], &strided);
            drop(&strided);
            drop(&plain[f]);
        }
        unload(&golden);
    }
}

static void set_row(const struct fa_tensor *tensor, int64_t row, double value)
{
    for (int64_t c = 0; c < tensor->shape[3]; c++)
        fa_tensor_set(tensor, 0, 0, row, c, value);
}

static void assert_row(const double *values, int64_t row, int64_t columns, double value)
{
    assert_all(values + row * columns, columns, value);
}

/* Keys that no row sees, and rows that see no key: what they hold changes no bit anywhere, and
 * their own gradients are 0. */
static void hidden_values_change_nothing(void **state)
{
    (void)state;
    const double poison[] = {NAN, INFINITY, -INFINITY, 3e38};
    for (int n = 0; n < 8; n++) {
        struct backward_case golden;
        load(&golden, "head_256", FA_F32);
        struct fa_problem *p = &golden.forward.problem;
        struct fa_tensor *mask = &golden.forward.mask;
        assert_int_equal(fa_tensor_create(mask, FA_U8, (int64_t[]){1, 1, p->nq, p->nk}, NULL),
                         FA_OK);
        p->mask = mask;
        for (int64_t r = 0; r < p->nq; r++)
            for (int64_t c = 0; c < p->nk; c++)
                fa_tensor_set(mask, 0, 0, r, c, r % 5 != 2 && c % 3 == 0);
        struct gradients before = run(both[n % 2], &golden);
        for (int64_t r = 0; r < p->nq; r++) {
            if (r % 5 == 2) {
                set_row(&golden.forward.q, r, poison[n / 2]);
                set_row(&golden.dout, r, poison[n / 2]);
                assert_row(before.dq, r, p->d, 0);
            }
            if (r % 3 != 0) {
                set_row(&golden.forward.k, r, poison[n / 2]);
                set_row(&golden.forward.v, r, poison[n / 2]);
                assert_row(before.dk, r, p->d, 0);
                assert_row(before.dv, r, p->d, 0);
            }
        }
        struct gradients after = run(both[n % 2], &golden);
        assert_same_bits(&before, &after);
        drop(&before);
        drop(&after);
        unload(&golden);
    }
}

/* One row of NaN under a causal mask reaches exactly what it sees. */
static void visible_nan(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        enum { N = 65, ROW = 20 };
        struct backward_case golden;
        load(&golden, "causal_65", FA_F32);
        int64_t d = golden.forward.problem.d;
        struct gradients clean = run(both[n % 2], &golden);
        set_row(n < 2 ? &golden.dout : &golden.forward.q, ROW, NAN);
        struct gradients g = run(both[n % 2], &golden);
        for (int64_t r = 0; r < N; r++) {
            for (int64_t c = 0; c < d; c++) {
                int64_t i = r * d + c;
                assert_true(r == ROW ? isnan(g.dq[i]) : g.dq[i] == clean.dq[i]);
                assert_true(r <= ROW ? isnan(g.dk[i]) : g.dk[i] == clean.dk[i]);
                assert_true(r <= ROW ? isnan(g.dv[i]) : g.dv[i] == clean.dv[i]);
            }
        }
        drop(&clean);
        drop(&g);
        unload(&golden);
    }
}

/* A problem of scale 1 with one head and d = 1, its numbers given. */
struct small {
    struct fa_problem problem;
    struct fa_tensor q, k, v, dout;
};

static struct small make_small(int64_t nq, int64_t nk, double *q, double *k, double *v,
                               double *dout)
{
    const int64_t query[4] = {1, 1, nq, 1}, key[4] = {1, 1, nk, 1};
    struct small small = {fa_problem_make(nq, nk, 1), fa_tensor_view(FA_F64, query, q),
                          fa_tensor_view(FA_F64, key, k), fa_tensor_view(FA_F64, key, v),
                          fa_tensor_view(FA_F64, query, dout)};
    small.problem.scale = 1;
    return small;
}

static struct gradients run_small(gradients_function *function, const struct small *small)
{
    return compute(function, &small->problem, &small->q, &small->k, &small->v, &small->dout);
}

/* Three empty rows, one row with one key and one with two. */
static void more_queries_than_keys(void **state)
{
    (void)state;
    double q[] = {1, 1, 1, 1, 1}, k[] = {0, 1}, v[] = {10, 20}, dout[] = {1, 1, 1, 1, 1};
    struct small small = make_small(5, 2, q, k, v, dout);
    small.problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    for (int f = 0; f < 2; f++) {
        struct gradients g = run_small(both[f], &small);
        assert_all(g.dq, 4, 0);
        assert_near(g.dq[4], 1.9661193, 1e-6);
        assert_near(g.dk[0], -1.9661193, 1e-6);
        assert_near(g.dk[1], 1.9661193, 1e-6);
        assert_near(g.dv[0], 1.2689414, 1e-6);
        assert_near(g.dv[1], 0.7310586, 1e-6);
        drop(&g);
    }
}

/* An infinity in V, at the heavier or at the lighter of two keys: delta is infinite, and dP - delta
 * is NaN at that key and -inf at the other. */
static void visible_infinity(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        int at = n / 2;
        double q[] = {1}, k[] = {1, 2}, v[] = {3, 3}, dout[] = {1};
        struct small small = make_small(1, 2, q, k, v, dout);
        v[at] = INFINITY;
        struct gradients g = run_small(both[n % 2], &small);
        assert_true(isnan(g.dq[0]) && isnan(g.dk[at]) && g.dk[1 - at] == -INFINITY);
        assert_near(g.dv[0], 1 / (1 + exp(1)), 1e-7);
        drop(&g);
    }
}

static void nothing_there(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 3, 0}, {1, 0, 5}, {1, 0, 0}, {0, 3, 5}};
    double zeros[40] = {0}, ones[40];
    for (int i = 0; i < 40; i++)
        ones[i] = 1;
    for (int n = 0; n < 8; n++) {
        struct small small = make_small(shapes[n / 2][1], shapes[n / 2][2], zeros, ones, ones,
                                        ones);
        small.problem.batch = shapes[n / 2][0];
        struct gradients g = run_small(both[n % 2], &small);
        assert_all(g.dq, g.n_q, 0);
        assert_all(g.dk, g.n_k, 0);
        assert_all(g.dv, g.n_v, 0);
        drop(&g);
    }
    /* No query heads: the K/V heads have gradients of 0. */
    struct small small = make_small(3, 5, zeros, ones, ones, ones);
    small.problem.heads = 0;
    for (int f = 0; f < 2; f++) {
        struct gradients g = run_small(both[f], &small);
        assert_int_equal(g.n_v, 5);
        assert_all(g.dk, 5, 0);
        assert_all(g.dv, 5, 0);
        drop(&g);
    }
}

static void one_query_one_key(void **state)
{
    (void)state;
    const int64_t shape[4] = {1, 1, 1, 16};
    struct fa_problem p = fa_problem_make(1, 1, 16);
    struct fa_tensor tensors[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(fa_tensor_create(&tensors[i], FA_F32, shape, NULL), FA_OK);
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &p, &tensors[0], &tensors[1], &tensors[2]);
    set_row(&tensors[3], 0, 1);
    for (int f = 0; f < 2; f++) {
        struct gradients g = compute(both[f], &p, &tensors[0], &tensors[1], &tensors[2],
                                     &tensors[3]);
        for (int c = 0; c < 16; c++) {
            assert_near(g.dq[c], 0, f == 0 ? 1e-14 : 1e-5);
            assert_near(g.dk[c], 0, f == 0 ? 1e-14 : 1e-5);
        }
        assert_all(g.dv, 16, 1);
        drop(&g);
    }
    for (int i = 0; i < 4; i++)
        fa_tensor_free(&tensors[i]);
}

/* Both weights dropped by the mask, or all by p = 1: O = 0, LSE as ever, no gradient, no NaN. */
static void all_dropped(void **state)
{
    (void)state;
    double q[] = {0, 0}, k[] = {1, 2}, v[] = {INFINITY, NAN}, dout[] = {1, 3}, o[2], lse[2];
    uint8_t drop_bytes[4] = {0}, keep_bytes[4] = {1, 1, 1, 1};
    const int64_t rows[] = {0, 1}, shape[4] = {1, 1, 2, 2};
    const struct fa_tensor drops = fa_tensor_view(FA_U8, shape, drop_bytes);
    const struct fa_tensor keeps = fa_tensor_view(FA_U8, shape, keep_bytes);
    const struct fa_tensor *const masks[] = {&drops, NULL, &keeps};
    struct small small = make_small(2, 2, q, k, v, dout);
    for (int n = 0; n < 6; n++) {
        attention_rows *forward = n % 2 ? fa_naive_rows : fa_oracle_rows;
        small.problem.dropout_p = n < 2 ? 0.25 : 1;
        small.problem.dropout_keep = masks[n / 2];
        assert_int_equal(forward(&small.problem, &small.q, &small.k, &small.v, 0, rows, 2, o, lse,
                                 NULL),
                         FA_OK);
        assert_all(o, 2, 0);
        assert_near(lse[0], log(2), 1e-7);
        assert_near(lse[1], log(2), 1e-7);
        struct gradients g = run_small(both[n % 2], &small);
        assert_all(g.dq, 2, 0);
        assert_all(g.dk, 2, 0);
        assert_all(g.dv, 2, 0);
        drop(&g);
    }
    q[1] = NAN; /* A row of NaN is NaN, dropped or not. */
    for (int f = 0; f < 2; f++) {
        attention_rows *forward = f ? fa_naive_rows : fa_oracle_rows;
        forward(&small.problem, &small.q, &small.k, &small.v, 0, rows, 2, o, lse, NULL);
        assert_true(o[0] == 0 && isnan(o[1]) && isnan(lse[1]));
    }
}

static void no_dropout_to_the_bit(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        attention_rows *forward = f ? fa_naive_rows : fa_oracle_rows;
        struct backward_case golden;
        double o[2][64 * 16], lse[2][64];
        int64_t *rows = count_up(64);
        load(&golden, "dense_64", FA_F32);
        struct attention_case *c = &golden.forward;
        struct gradients before = run(both[f], &golden);
        forward(&c->problem, &c->q, &c->k, &c->v, 1, rows, 64, o[0], lse[0], NULL);
        c->problem.dropout_seed = 99;
        struct gradients after = run(both[f], &golden);
        forward(&c->problem, &c->q, &c->k, &c->v, 1, rows, 64, o[1], lse[1], NULL);
        assert_same_bits(&before, &after);
        assert_memory_equal(o[0], o[1], sizeof o[0]);
        assert_memory_equal(lse[0], lse[1], sizeof lse[0]);
        c->problem.dropout_p = 0.25; /* LSE keeps its bits; O does not. */
        forward(&c->problem, &c->q, &c->k, &c->v, 1, rows, 64, o[1], lse[1], NULL);
        assert_memory_not_equal(o[0], o[1], sizeof o[0]);
        assert_memory_equal(lse[0], lse[1], sizeof lse[0]);
        drop(&before);
        drop(&after);
        free(rows);
        unload(&golden);
    }
}

/* With equal weights and V the unit matrix, O is Z / nk: which weights stay, by the sentence of
 * problem.h, for each place of a batch of heads. */
static void which_are_dropped(void **state)
{
    (void)state;
    enum { NQ = 3, NK = 70 };
    static const double probabilities[] = {0.25, 0x1p-32, 0x1.8p-33, 1 - 0x1p-32, 0.9};
    static double zeros[2 * 3 * NQ], keys[2 * NK], unit[2 * NK][NK], o[NQ * NK], lse[NQ];
    struct fa_problem p = fa_problem_make(NQ, NK, 1);
    struct fa_tensor q = fa_tensor_view(FA_F64, (int64_t[]){2, 3, NQ, 1}, zeros);
    struct fa_tensor k = fa_tensor_view(FA_F64, (int64_t[]){2, 1, NK, 1}, keys);
    struct fa_tensor v = fa_tensor_view(FA_F64, (int64_t[]){2, 1, NK, NK}, unit);
    p.batch = 2;
    p.heads = 3;
    p.dv = NK;
    p.dtype = FA_F64;
    p.dropout_seed = UINT64_C(0x123456789abcdef0);
    for (int i = 0; i < 2 * NK; i++)
        unit[i][i % NK] = 1;
    for (int n = 0; n < 5 * 6 * 2; n++) {
        int head = n / 2 % 6, kept = 0;
        p.dropout_p = probabilities[n / 12];
        (n % 2 ? fa_naive_rows : fa_oracle_rows)(&p, &q, &k, &v, head, (int64_t[]){0, 1, 2}, NQ, o,
                                                 lse, NULL);
        for (uint32_t i = 0; i < NQ * NK; i++) {
            uint32_t words[4], counter[4] = {i % NK / 4, i / NK, (uint32_t)head % 3,
                                             (uint32_t)head / 3};
            fa_philox4x32(p.dropout_seed, counter, words);
            bool keep = words[i % NK % 4] >= (uint64_t)floor(p.dropout_p * 4294967296.0);
            assert_near(o[i], keep ? 1 / (NK * (1 - p.dropout_p)) : 0, 1e-9 / (1 - p.dropout_p));
            kept += keep;
        }
        double share = (double)kept / (NQ * NK);
        assert_near(share, 1 - p.dropout_p, 0.15);
    }
}

/* A word that is floor(p 2^32) keeps its weight, and one below it drops it. */
static void the_least_word_that_keeps(void **state)
{
    (void)state;
    double q[] = {0}, k[] = {0}, v[] = {1}, dout[] = {1}, o, lse;
    struct small small = make_small(1, 1, q, k, v, dout);
    const uint32_t counter[4] = {0, 0, 0, 0};
    uint32_t words[4];
    fa_philox4x32(0, counter, words);
    for (int n = 0; n < 4; n++) {
        small.problem.dropout_p = (words[0] + n / 2 + 0.5 * (n / 2 == 0)) * 0x1p-32;
        (n % 2 ? fa_naive_rows : fa_oracle_rows)(&small.problem, &small.q, &small.k, &small.v, 0,
                                                 (int64_t[]){0}, 1, &o, &lse, NULL);
        assert_true(n / 2 == 0 ? o > 1 : o == 0);
        struct gradients g = run_small(both[n % 2], &small);
        assert_true(g.dv[0] == o);
        drop(&g);
    }
}

/* More scores than can be asked for: refused, outputs untouched. */
static void no_memory(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1, INT64_MAX / 8 + 1, 1);
    float one = 1;
    double out = 5;
    int64_t zero = 0;
    struct fa_tensor q = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 1}, &one);
    struct fa_tensor k = fa_tensor_view(FA_F32, (int64_t[]){1, 1, p.nk, 1}, NULL);
    struct fa_gradient_parts parts = {&zero, &zero, 1, 1};
    for (int f = 0; f < 2; f++) {
        struct fa_error error = {FA_OK, ""};
        assert_int_equal(both[f](&p, &q, &k, &k, &q, 0, &parts, &out, &out, &out, &error),
                         FA_NO_MEMORY);
        assert_non_null(strstr(error.text, "no memory for the "));
        assert_true(out == 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_gradients),      cmocka_unit_test(golden_dropout_forward),
        cmocka_unit_test(naive_in_16_bits),      cmocka_unit_test(blocks_are_masks),
        cmocka_unit_test(parts_of_the_whole),    cmocka_unit_test(any_strides),
        cmocka_unit_test(hidden_values_change_nothing), cmocka_unit_test(visible_nan),
        cmocka_unit_test(visible_infinity),
        cmocka_unit_test(more_queries_than_keys), cmocka_unit_test(nothing_there),
        cmocka_unit_test(one_query_one_key),     cmocka_unit_test(all_dropped),
        cmocka_unit_test(no_dropout_to_the_bit), cmocka_unit_test(which_are_dropped),
        cmocka_unit_test(the_least_word_that_keeps), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
