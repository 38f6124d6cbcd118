/*
 * The oracle's gradients against central differences of its forward pass: small random problems
 * with every combination of causal mask, window, element mask, bias, grouped heads, dropout and
 * blocks. The loss is the sum of dO times O.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "reference/philox.h"

enum { BATCH = 2, MOST = 8, WIDEST = 4, ROOM = BATCH * 4 * MOST * WIDEST };

/* A problem and all that it points to. */
struct trial {
    struct fa_problem problem;
    struct fa_block_mask blocks;
    struct fa_tensor q, k, v, dout, mask, bias, keep;
    double numbers[4][ROOM], bias_numbers[BATCH * 4 * MOST * MOST];
    uint8_t mask_bytes[BATCH * 4 * MOST * MOST], keep_bytes[BATCH * 4 * MOST * MOST];
    uint8_t visit[MOST * MOST];
};

/* Number `n` of stream `stream` of trial `seed`, uniform in [0, 1). */
static double draw(uint64_t seed, uint32_t stream, size_t n)
{
    const uint32_t counter[4] = {(uint32_t)n, stream, 0, 0};
    uint32_t words[4];
    fa_philox4x32(seed, counter, words);
    return words[0] * 0x1p-32;
}

static struct fa_tensor numbers(double *to, uint64_t seed, uint32_t stream, int64_t heads,
                                int64_t rows, int64_t columns)
{
    const int64_t shape[4] = {BATCH, heads, rows, columns};
    for (int64_t i = 0; i < BATCH * heads * rows * columns; i++)
        to[i] = 4 * draw(seed, stream, (size_t)i) - 2;
    return fa_tensor_view(FA_F64, shape, to);
}

/* Bytes that are 1 with the given share. */
static struct fa_tensor bytes(uint8_t *to, uint64_t seed, uint32_t stream,
                              const struct fa_problem *p, double share)
{
    const int64_t shape[4] = {BATCH, p->heads, p->nq, p->nk};
    for (int64_t i = 0; i < BATCH * p->heads * p->nq * p->nk; i++)
        to[i] = draw(seed, stream, (size_t)i) < share;
    return fa_tensor_view(FA_U8, shape, to);
}

static void add_blocks(struct trial *trial, uint64_t seed)
{
    struct fa_problem *p = &trial->problem;
    trial->blocks = (struct fa_block_mask){2, 3, (p->nq + 1) / 2, (p->nk + 2) / 3, trial->visit};
    for (int64_t i = 0; i < trial->blocks.rows * trial->blocks.columns; i++)
        trial->visit[i] = draw(seed, 8, (size_t)i) < 0.7;
    p->blocks = &trial->blocks;
}

/* The bias is broadcast over batches and rows; some of it is -inf. */
static void add_bias(struct trial *trial, uint64_t seed)
{
    struct fa_problem *p = &trial->problem;
    trial->bias = numbers(trial->bias_numbers, seed, 5, p->heads, 1, p->nk);
    trial->bias.shape[0] = 1;
    for (int64_t i = 0; i < p->heads * p->nk; i++)
        if (draw(seed, 6, (size_t)i) < 0.2)
            trial->bias_numbers[i] = -INFINITY;
    p->bias = &trial->bias;
}

enum { COMBINATIONS = 3 * 3 * 2 * 2 * 2 * 4 * 2 };

static void make(struct trial *trial, int combination)
{
    static const int64_t windows[3][2] = {{-1, -1}, {2, 1}, {0, -1}};
    struct fa_problem *p = &trial->problem;
    uint64_t seed = (uint64_t)combination;
    int left = combination;
    memset(trial, 0, sizeof *trial);
    *p = fa_problem_make(3 + combination % 5, 3 + combination % 4, 1 + combination % 3);
    p->dv = 1 + combination % 4;
    p->dtype = FA_F64;
    p->batch = BATCH;
    p->causal = (enum fa_causal)(left % 3);
    p->window_left = windows[left / 3 % 3][0];
    p->window_right = windows[left / 3 % 3][1];
    left /= 9;
    p->kv_heads = 1 + left % 2;
    p->heads = 2;
    if (left / 2 % 2) {
        trial->mask = bytes(trial->mask_bytes, seed, 4, p, 0.7);
        p->mask = &trial->mask;
    }
    if (left / 4 % 2)
        add_bias(trial, seed);
    left /= 8;
    if (left % 4) {
        p->dropout_p = left % 4 == 3 ? 1 : 0.3;
        p->dropout_seed = seed << 33;
    }
    if (left % 4 == 2) {
        trial->keep = bytes(trial->keep_bytes, seed, 7, p, 0.6);
        p->dropout_keep = &trial->keep;
    }
    if (left / 4 % 2)
        add_blocks(trial, seed);
    trial->q = numbers(trial->numbers[0], seed, 0, p->heads, p->nq, p->d);
    trial->k = numbers(trial->numbers[1], seed, 1, p->kv_heads, p->nk, p->d);
    trial->v = numbers(trial->numbers[2], seed, 2, p->kv_heads, p->nk, p->dv);
    trial->dout = numbers(trial->numbers[3], seed, 3, p->heads, p->nq, p->dv);
}

static const int64_t up_to[MOST] = {0, 1, 2, 3, 4, 5, 6, 7};

static double loss(const struct trial *trial)
{
    const struct fa_problem *p = &trial->problem;
    double o[MOST * WIDEST], lse[MOST], sum = 0;
    for (int64_t head = 0; head < p->batch * p->heads; head++) {
        assert_int_equal(fa_oracle_rows(p, &trial->q, &trial->k, &trial->v, head, up_to, p->nq, o,
                                        lse, NULL),
                         FA_OK);
        for (int64_t i = 0; i < p->nq * p->dv; i++)
            sum += o[i] * trial->numbers[3][head * p->nq * p->dv + i];
    }
    return sum;
}

/* `numbers` is an array of the trial's own, n of which are inputs. */
static void check(struct trial *trial, int combination, const char *what, double *inputs,
                  const double *gradient, int64_t n)
{
    const double step = 1e-5;
    for (int64_t i = 0; i < n; i++) {
        double before = inputs[i];
        inputs[i] = before + step;
        double above = loss(trial);
        inputs[i] = before - step;
        double below = loss(trial);
        inputs[i] = before;
        double expected = (above - below) / (2 * step);
        if (!(fabs(gradient[i] - expected) <= 1e-7))
            fail_msg("combination %d, %s: element %d is %.12g, its central difference %.12g",
                     combination, what, (int)i, gradient[i], expected);
    }
}

static void every_combination(void **state)
{
    (void)state;
    int with_zero = 0, with_more = 0;
    for (int combination = 0; combination < COMBINATIONS; combination++) {
        struct trial trial;
        double dq[ROOM], dk[ROOM], dv[ROOM];
        struct fa_error error = {FA_OK, ""};
        make(&trial, combination);
        const struct fa_problem *p = &trial.problem;
        const struct fa_gradient_parts parts = {up_to, up_to, p->nq, p->nk};
        int64_t kv_heads = p->batch * p->kv_heads, group = p->heads / p->kv_heads;
        if (fa_problem_check(p, &error) != FA_OK)
            fail_msg("combination %d: %s", combination, error.text);
        for (int64_t h = 0; h < kv_heads; h++)
            assert_int_equal(fa_oracle_gradients(p, &trial.q, &trial.k, &trial.v, &trial.dout, h,
                                                 &parts, dq + h * group * p->nq * p->d,
                                                 dk + h * p->nk * p->d, dv + h * p->nk * p->dv,
                                                 NULL),
                             FA_OK);
        check(&trial, combination, "dq", trial.numbers[0], dq, kv_heads * group * p->nq * p->d);
        check(&trial, combination, "dk", trial.numbers[1], dk, kv_heads * p->nk * p->d);
        check(&trial, combination, "dv", trial.numbers[2], dv, kv_heads * p->nk * p->dv);
        for (int64_t i = 0; i < kv_heads * p->nk * p->d; i++) {
            with_zero += dk[i] == 0;
            with_more += fabs(dk[i]) > 0.1;
        }
    }
    assert_true(with_zero > 100 && with_more > 1000); /* There was something to compare. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
