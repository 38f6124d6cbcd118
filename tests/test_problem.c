#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/problem.h"

static void accept(const struct fa_problem *problem)
{
    struct fa_error error = {FA_OK, "untouched"};
    if (fa_problem_check(problem, &error) != FA_OK)
        fail_msg("refused: %s", error.text);
    assert_string_equal(error.text, "untouched");
}

static void refuse(const struct fa_problem *problem, enum fa_status status, const char *text)
{
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(fa_problem_check(problem, &error), status);
    assert_int_equal(error.status, status);
    if (!strstr(error.text, text))
        fail_msg("the message is \"%s\": expected \"%s\" in it", error.text, text);
    assert_int_equal(fa_problem_check(problem, NULL), status);
}

static void defaults(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(3, 5, 80);
    assert_int_equal(p.batch, 1);
    assert_int_equal(p.heads, 1);
    assert_int_equal(p.kv_heads, 1);
    assert_int_equal(p.nq, 3);
    assert_int_equal(p.nk, 5);
    assert_int_equal(p.d, 80);
    assert_int_equal(p.dv, 80);
    assert_true(p.scale == 1 / sqrt(80.0));
    assert_int_equal(p.causal, FA_CAUSAL_NONE);
    assert_int_equal(p.window_left, -1);
    assert_int_equal(p.window_right, -1);
    assert_null(p.mask);
    assert_null(p.bias);
    assert_true(p.dropout_p == 0 && p.dropout_seed == 0);
    assert_null(p.dropout_keep);
    assert_null(p.blocks);
    assert_int_equal(p.dtype, FA_F32);
    accept(&p);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(fa_causal_name(FA_CAUSAL_NONE), "none");
    assert_string_equal(fa_causal_name(FA_CAUSAL_BOTTOM_RIGHT), "bottom-right");
    assert_string_equal(fa_causal_name(FA_CAUSAL_TOP_LEFT), "top-left");
    assert_string_equal(fa_causal_name((enum fa_causal)3), "unknown");
}

static void sizes(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(0, 0, 1);
    p.batch = 0;
    accept(&p);
    p.heads = p.kv_heads = 0;
    accept(&p);
    p = fa_problem_make(-1, 4, 4);
    refuse(&p, FA_BAD_ARGUMENT, "nq is -1: expected 0 or more");
    p = fa_problem_make(4, -2, 4);
    refuse(&p, FA_BAD_ARGUMENT, "nk is -2: expected 0 or more");
    p = fa_problem_make(4, 4, 0);
    refuse(&p, FA_BAD_ARGUMENT, "d is 0: expected 1 or more");
    p = fa_problem_make(4, 4, 4);
    p.dv = 0;
    refuse(&p, FA_BAD_ARGUMENT, "dv is 0: expected 1 or more");
    p.dv = 4;
    p.batch = -1;
    refuse(&p, FA_BAD_ARGUMENT, "batch is -1: expected 0 or more");
    p.batch = 1;
    p.heads = -4;
    refuse(&p, FA_BAD_ARGUMENT, "heads is -4: expected 0 or more");
    p.heads = 4;
    p.kv_heads = -4;
    refuse(&p, FA_BAD_ARGUMENT, "kv_heads is -4: expected 0 or more");
}

static void head_groups(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(4, 4, 4);
    p.heads = 28;
    p.kv_heads = 4;
    accept(&p);
    p.kv_heads = 3;
    refuse(&p, FA_BAD_ARGUMENT, "heads is 28 and kv_heads is 3: expected heads to be a multiple");
    p.kv_heads = 56;
    refuse(&p, FA_BAD_ARGUMENT, "heads is 28 and kv_heads is 56");
    p.kv_heads = 0;
    refuse(&p, FA_BAD_ARGUMENT, "kv_heads is 0 and heads is 28");
    p.heads = 0;
    accept(&p);
    p.kv_heads = 2;
    accept(&p);
}

static void choices(void **state)
{
    (void)state;
    const double scales[] = {0, -1, 1e300};
    struct fa_problem p = fa_problem_make(4, 4, 4);
    for (int i = 0; i < 3; i++) {
        p.scale = scales[i];
        accept(&p);
    }
    p.scale = NAN;
    refuse(&p, FA_BAD_ARGUMENT, "nan: expected a finite number");
    p.scale = -INFINITY;
    refuse(&p, FA_BAD_ARGUMENT, "scale is -inf: expected a finite number");
    p.scale = 1;
    p.causal = (enum fa_causal)3;
    refuse(&p, FA_BAD_ARGUMENT, "causal is 3");
    p.causal = (enum fa_causal)-1;
    refuse(&p, FA_BAD_ARGUMENT, "causal is -1");
    p.causal = FA_CAUSAL_TOP_LEFT;
    p.window_left = -2;
    refuse(&p, FA_BAD_ARGUMENT, "window_left is -2: expected 0 or more, or -1");
    p.window_left = INT64_MAX;
    p.window_right = -2;
    refuse(&p, FA_BAD_ARGUMENT, "window_right is -2: expected 0 or more, or -1");
    p.window_right = INT64_MIN;
    refuse(&p, FA_BAD_ARGUMENT, "window_right is -9223372036854775808: expected 0 or more");
    p.window_right = 0;
    accept(&p);
    p.dtype = FA_U8;
    refuse(&p, FA_BAD_ARGUMENT, "dtype is 4: expected a float format");
    p.dtype = (enum fa_dtype)-1;
    refuse(&p, FA_BAD_ARGUMENT, "dtype is -1");
    p.dtype = FA_BF16;
    accept(&p);
}

static void products(void **state)
{
    (void)state;
    const int64_t half = (int64_t)1 << 32;
    struct fa_problem p = fa_problem_make(half / 2 - 1, half / 2, 1);
    accept(&p); /* nq * nk is 2^62 - 2^31. */
    p.batch = 2;
    accept(&p);
    p.heads = 2;
    refuse(&p, FA_TOO_LARGE, "the score matrix [batch, heads, nq, nk] has the axes 2, 2, ");
    p = fa_problem_make(half, 1, half);
    refuse(&p, FA_TOO_LARGE, "q [batch, heads, nq, d]");
    p = fa_problem_make(1, half, half);
    refuse(&p, FA_TOO_LARGE, "k [batch, kv_heads, nk, d]");
    p = fa_problem_make(1, half, 1);
    p.dv = half;
    refuse(&p, FA_TOO_LARGE, "v [batch, kv_heads, nk, dv]");
    p = fa_problem_make(half, 1, 1);
    p.dv = half;
    refuse(&p, FA_TOO_LARGE, "o [batch, heads, nq, dv]");
    /* An axis of 0 hides no overflow: strides are products of the other axes. */
    p = fa_problem_make(half, half, 1);
    p.batch = 0;
    refuse(&p, FA_TOO_LARGE, "expected a product of at most 2^63 - 1");
}

static struct fa_tensor shape_of(enum fa_dtype dtype, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t shape[4] = {a, b, c, d};
    return fa_tensor_view(dtype, shape, NULL);
}

static void mask_and_bias(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(5, 7, 4);
    p.batch = 2;
    p.heads = 6;
    p.kv_heads = 3;
    struct fa_tensor mask = shape_of(FA_U8, 2, 1, 5, 7), bias = shape_of(FA_F16, 1, 6, 1, 1);
    p.mask = &mask;
    p.bias = &bias;
    accept(&p);
    mask = shape_of(FA_F32, 2, 1, 5, 7);
    refuse(&p, FA_BAD_ARGUMENT, "the mask's format is 1: expected u8");
    mask = shape_of(FA_U8, 3, 1, 5, 7);
    refuse(&p, FA_BAD_ARGUMENT,
           "the mask is [3, 1, 5, 7]: expected axis 0 to be 1 or batch, which is 2");
    mask = shape_of(FA_U8, 1, 3, 5, 7); /* A mask is for query heads, not for K/V heads. */
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 1 to be 1 or heads, which is 6");
    mask = shape_of(FA_U8, 1, 1, 7, 5);
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 2 to be 1 or nq, which is 5");
    mask = shape_of(FA_U8, 1, 1, 5, 0);
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 3 to be 1 or nk, which is 7");
    p.mask = NULL;
    bias = shape_of(FA_U8, 1, 1, 1, 1);
    refuse(&p, FA_BAD_ARGUMENT, "the bias's format is 4: expected f64, f32, f16 or bf16");
    bias = shape_of(FA_F64, 1, 1, 5, 8);
    refuse(&p, FA_BAD_ARGUMENT, "the bias is [1, 1, 5, 8]: expected axis 3 to be 1 or nk");
    p.nk = 0;
    bias = shape_of(FA_F64, 1, 1, 5, 0);
    accept(&p);
}

static void dropout(void **state)
{
    (void)state;
    const double right[] = {0, -0.0, 0x1p-1074, 0.25, 1 - 0x1p-53, 1};
    const double wrong[] = {-0x1p-1074, 1 + 0x1p-52, -1, 2, INFINITY, -INFINITY};
    struct fa_problem p = fa_problem_make(5, 7, 4);
    p.dropout_seed = UINT64_MAX;
    for (int i = 0; i < 6; i++) {
        p.dropout_p = right[i];
        accept(&p);
        p.dropout_p = wrong[i];
        refuse(&p, FA_BAD_ARGUMENT, "expected a probability from 0 to 1");
    }
    p.dropout_p = NAN;
    refuse(&p, FA_BAD_ARGUMENT, "nan: expected a probability from 0 to 1");
}

static void dropout_mask(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(5, 7, 4);
    struct fa_tensor keep = shape_of(FA_U8, 2, 6, 5, 7);
    p.batch = 2;
    p.heads = 6;
    p.kv_heads = 3;
    p.dropout_keep = &keep;
    refuse(&p, FA_BAD_ARGUMENT, "there is a dropout mask and dropout_p is 0");
    p.dropout_p = 0.5;
    accept(&p);
    p.dropout_p = 1;
    accept(&p);
    keep = shape_of(FA_F32, 2, 6, 5, 7);
    refuse(&p, FA_BAD_ARGUMENT, "the dropout mask's format is 1: expected u8");
    keep = shape_of(FA_U8, 1, 6, 5, 7);
    refuse(&p, FA_BAD_ARGUMENT,
           "the dropout mask is [1, 6, 5, 7]: expected axis 0 to be batch, which is 2");
    keep = shape_of(FA_U8, 2, 3, 5, 7);
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 1 to be heads, which is 6");
    keep = shape_of(FA_U8, 2, 6, 1, 7);
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 2 to be nq, which is 5");
    keep = shape_of(FA_U8, 2, 6, 5, 8);
    refuse(&p, FA_BAD_ARGUMENT, "expected axis 3 to be nk, which is 7");
}

static void block_mask(void **state)
{
    (void)state;
    uint8_t visit[6] = {1, 0, 1, 0, 0, 1};
    struct fa_block_mask blocks = {.br = 4, .bc = 3, .rows = 2, .columns = 3, .visit = visit};
    struct fa_problem p = fa_problem_make(5, 7, 4);
    p.blocks = &blocks;
    accept(&p);
    visit[5] = 2;
    refuse(&p, FA_BAD_ARGUMENT, "block (1, 2) of the block mask is 2: expected 1 (visited) or 0");
    visit[5] = 255;
    visit[0] = 7;
    refuse(&p, FA_BAD_ARGUMENT, "block (0, 0) of the block mask is 7");
    visit[0] = visit[5] = 0;
    blocks.br = 0;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask's br is 0: expected 1 or more");
    blocks.br = 5;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask has 2 rows: expected 1, which is nq / br (5 / 5)");
    blocks.br = 2;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask has 2 rows: expected 3");
    blocks.br = 4;
    blocks.bc = -3;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask's bc is -3: expected 1 or more");
    blocks.bc = 4;
    refuse(&p, FA_BAD_ARGUMENT,
           "the block mask has 3 columns: expected 2, which is nk / bc (7 / 4)");
    blocks.bc = 3;
    blocks.visit = NULL;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask has no bytes: expected 6");
    p.nq = 0;
    refuse(&p, FA_BAD_ARGUMENT, "the block mask has 2 rows: expected 0");
    blocks.rows = 0;
    accept(&p);
    p.nq = blocks.br = INT64_MAX / 7; /* One block more than the numerator + size - 1 can hold. */
    blocks.br -= 1;
    blocks.bc = INT64_MAX;
    blocks.rows = 2;
    blocks.columns = 1;
    blocks.visit = visit;
    p.d = p.dv = 1;
    accept(&p);
}

static void heads_and_batches(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(5, 7, 4);
    p.batch = 3;
    p.heads = 28;
    p.kv_heads = 4;
    struct fa_tensor own = shape_of(FA_F32, 3, 28, 5, 4), group = shape_of(FA_F32, 3, 4, 7, 4);
    struct fa_tensor only = shape_of(FA_U8, 1, 1, 5, 7);
    for (int64_t head = 0; head < 28; head++) {
        assert_int_equal(fa_problem_head(&p, &own, head), head);
        assert_int_equal(fa_problem_head(&p, &group, head), head / 7);
        assert_int_equal(fa_problem_head(&p, &only, head), 0);
    }
    for (int64_t batch = 0; batch < 3; batch++) {
        assert_int_equal(fa_problem_batch(&own, batch), batch);
        assert_int_equal(fa_problem_batch(&only, batch), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),      cmocka_unit_test(names),
        cmocka_unit_test(sizes),         cmocka_unit_test(head_groups),
        cmocka_unit_test(choices),       cmocka_unit_test(products),
        cmocka_unit_test(mask_and_bias), cmocka_unit_test(dropout),
        cmocka_unit_test(dropout_mask),  cmocka_unit_test(block_mask),
        cmocka_unit_test(heads_and_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
