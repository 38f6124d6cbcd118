/* Scores whose weights are hard to say as powers of two: many equal ones, where a rounding error
 * taken once a tile would add up, and ones so large that an exponent has no fraction left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "cuda/guarded_run.h"
#include "reference/dtype.h"
#include "tests/cuda_suite.h"
#include "tests/random_case.h"

enum { D = 64, ROWS = 16, HEADS = 40 };

struct inputs {
    struct fa_problem problem;
    struct fa_tensor q, k, v, d_o;
};

static struct fa_tensor make(const struct fa_problem *p, int64_t rows)
{
    const int64_t shape[4] = {1, p->heads, rows, D};
    struct fa_tensor tensor;
    assert_int_equal(fa_tensor_create(&tensor, p->dtype, shape, NULL), FA_OK);
    return tensor;
}

/* All elements of a row of q are q_of(head, row), those of k are `key`; V and dO are random. */
static struct inputs make_inputs(struct fa_problem problem, double (*q_of)(int64_t, int64_t),
                                 double key)
{
    const struct fa_problem *p = &problem;
    struct random_stream stream = {7};
    struct inputs in = {problem, make(p, p->nq), make(p, p->nk), make(p, p->nk), make(p, p->nq)};
    for (int64_t h = 0; h < p->heads; h++)
        for (int64_t c = 0; c < D; c++) {
            for (int64_t r = 0; r < p->nq; r++) {
                fa_tensor_set(&in.q, 0, h, r, c, q_of(h, r));
                fa_tensor_set(&in.d_o, 0, h, r, c, (double)random_between(&stream, 0, 64) / 16 - 2);
            }
            for (int64_t r = 0; r < p->nk; r++) {
                fa_tensor_set(&in.k, 0, h, r, c, key);
                fa_tensor_set(&in.v, 0, h, r, c, (double)random_between(&stream, 0, 64) / 16 - 2);
            }
        }
    return in;
}

static void drop(struct inputs *in)
{
    fa_tensor_free(&in->q);
    fa_tensor_free(&in->k);
    fa_tensor_free(&in->v);
    fa_tensor_free(&in->d_o);
}

/* False where the rung refuses. */
static bool forward(const struct gpu_rung *rung, const struct inputs *in,
                    struct gpu_guarded_call *call, struct fa_tensor *o, struct fa_tensor *lse)
{
    struct gpu_guarded_seen seen;
    struct fa_error error = {FA_OK, ""};
    *call = (struct gpu_guarded_call){
        .rung = rung, .problem = &in->problem, .q = &in->q, .k = &in->k, .v = &in->v};
    enum fa_status status = gpu_guarded_forward(call, o, lse, &seen, &error);
    if (status != FA_OK && !seen.refused)
        fail_msg("%s: %s", rung->name, error.text);
    assert_string_equal(seen.damage, "");
    return status == FA_OK;
}

static double score(const struct inputs *in, int64_t head, int64_t row)
{
    return fa_tensor_get(&in->q, 0, head, row, 0) * fa_tensor_get(&in->k, 0, head, 0, 0) * D *
           in->problem.scale;
}

static double near_hundred(int64_t head, int64_t row)
{
    return 8 + (double)(head + row) / 8;
}

/* Scores 96 to 119 over 2048 keys, all of which weigh the same. */
static int check_equal_scores(const struct gpu_rung *rung, enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(ROWS, 2048, D);
    problem.dtype = dtype;
    struct inputs in = make_inputs(problem, near_hundred, 1.5);
    struct gpu_guarded_call call;
    struct fa_tensor o, lse;
    int ran = forward(rung, &in, &call, &o, &lse);
    for (int64_t r = 0; ran && r < ROWS; r++) {
        double got = fa_tensor_get(&lse, 0, 0, r, 0), right = score(&in, 0, r) + log(2048);
        if (!(fabs(got - right) <= 3e-7 * right))
            fail_msg("%s: LSE of row %d is %.9g, and %.9g is right", rung->name, (int)r, got,
                     right);
    }
    if (ran) {
        fa_tensor_free(&o);
        fa_tensor_free(&lse);
    }
    drop(&in);
    return ran;
}

static double past_fractions(int64_t head, int64_t row)
{
    return 280 * pow(1.13, (double)head) + (double)row;
}

/* Scores 1.3e8 to 1.6e10, and one key: O is V and dV is dO. */
static int check_large_scores(const struct gpu_rung *rung, enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(1, 1, D);
    problem.dtype = dtype;
    problem.heads = problem.kv_heads = HEADS;
    struct inputs in = make_inputs(problem, past_fractions, 59904);
    struct gpu_guarded_call call;
    struct gpu_guarded_seen seen;
    struct fa_tensor o, lse, gradients[3];
    int ran = forward(rung, &in, &call, &o, &lse);
    if (!ran) {
        drop(&in);
        return 0;
    }
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t c = 0; c < D; c++)
            if (fa_tensor_get(&o, 0, h, 0, c) != fa_tensor_get(&in.v, 0, h, 0, c))
                fail_msg("%s: O is not V where the score is %.9g", rung->name, score(&in, h, 0));
    for (int64_t h = 0; h < HEADS; h++)
        assert_true(fabs(fa_tensor_get(&lse, 0, h, 0, 0) - score(&in, h, 0)) <=
                    1e-6 * score(&in, h, 0));
    for (int mode = 0; rung->backward && mode < 2; mode++) {
        call.deterministic = mode;
        assert_int_equal(
            gpu_guarded_backward(&call, &o, &lse, &in.d_o, gradients, &seen, NULL), FA_OK);
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t c = 0; c < D; c++)
                if (fa_tensor_get(&gradients[2], 0, h, 0, c) !=
                    fa_tensor_get(&in.d_o, 0, h, 0, c))
                    fail_msg("%s: dV is not dO where the score is %.9g", rung->name,
                             score(&in, h, 0));
        for (int i = 0; i < 3; i++)
            fa_tensor_free(&gradients[i]);
        ran++;
    }
    fa_tensor_free(&o);
    fa_tensor_free(&lse);
    drop(&in);
    return ran;
}

int cuda_suite_exponents(void)
{
    int ran = 0;
    for (int i = 0; i < gpu_rung_count; i++)
        for (enum fa_dtype dtype = FA_F32; dtype <= FA_BF16; dtype++)
            /* standard stores its scores in the dtype, and flash1 O at each tile. */
            if (gpu_rungs[i]->backward || i > 2) {
                ran += check_equal_scores(gpu_rungs[i], dtype);
                ran += check_large_scores(gpu_rungs[i], dtype);
            }
    return ran;
}
