#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_device.h"
#include "cuda/guarded_run.h"
#include "reference/profile.h"
#include "tests/cuda_case.h"
#include "tests/cuda_suite.h"
#include "tests/field_case.h"
#include "tests/random_case.h"

static const enum fa_dtype dtypes[] = {FA_F32, FA_F16, FA_BF16};

int cuda_suite_field_cases(double most)
{
    int ran = 0;
    for (int i = 0; i < field_case_count(); i++)
        for (int t = 0; t < 3; t++) {
            struct attention_case field;
            if (!field_case_make(&field, i, dtypes[t]))
                continue;
            const struct fa_problem *p = &field.problem;
            double work = (double)(p->batch * p->heads * p->nq) * (double)(p->nk * (p->d + p->dv));
            /* Without a GPU the shapes alone are left for another dtype. */
            if (work <= most && (most > 1e9 || t == i % 3))
                ran += cuda_check_rungs(&field, (enum forward_layout)(i % 3), field.name);
            attention_case_free(&field);
        }
    return ran;
}

int cuda_suite_random(int first, int n)
{
    int ran = 0;
    for (int seed = first; seed < first + n; seed++) {
        struct attention_case attention;
        random_case_make(&attention, (uint64_t)seed, dtypes[seed % 3]);
        if (!attention.problem.mask && !attention.problem.bias)
            ran +=
                cuda_check_rungs(&attention, (enum forward_layout)(seed / 3 % 3), attention.name);
        attention_case_free(&attention);
    }
    return ran;
}

struct shape {
    int64_t batch, heads, kv_heads, nq, nk, d, dv;
    enum fa_causal causal;
    int64_t left, right;
    double dropout;
    int64_t br, bc; /* of a block mask; 0: none */
};

static const struct shape shapes[] = {
    {1, 1, 1, 65, 65, 64, 64, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {2, 4, 2, 33, 70, 16, 16, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 70, 33, 80, 80, FA_CAUSAL_TOP_LEFT, -1, -1, 0, 0, 0},
    {1, 1, 1, 66, 66, 20, 33, FA_CAUSAL_NONE, 9, 4, 0, 0, 0},
    {1, 1, 1, 130, 130, 3, 5, FA_CAUSAL_BOTTOM_RIGHT, 40, -1, 0, 0, 0},
    {1, 2, 1, 40, 70, 7, 7, FA_CAUSAL_NONE, -1, -1, 0.25, 0, 0},
    {1, 1, 1, 70, 40, 64, 64, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 1, 0, 0},
    {1, 1, 1, 100, 90, 64, 64, FA_CAUSAL_NONE, -1, -1, 0, 16, 24},
    {1, 1, 1, 100, 90, 12, 12, FA_CAUSAL_TOP_LEFT, -1, 3, 0.5, 64, 32},
    {1, 1, 1, 40, 70, 256, 256, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {1, 1, 1, 40, 40, 160, 17, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 1, 1, 70, 70, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 1, 1, 3, 512, 192, 192, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {5, 1, 1, 1, 1, 1, 1, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {1, 2, 1, 150, 140, 64, 64, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 140, 150, 128, 128, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {1, 2, 1, 75, 70, 256, 256, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 40, 300, 128, 128, FA_CAUSAL_TOP_LEFT, -1, -1, 0, 0, 0}, /* keys that nobody sees */
};

static const struct shape large_shapes[] = {
    {2, 4, 2, 1000, 1000, 64, 64, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {1, 4, 1, 777, 1111, 64, 64, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 2, 1111, 777, 64, 64, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 777, 1111, 128, 128, FA_CAUSAL_TOP_LEFT, -1, -1, 0, 0, 0},
    {2, 2, 1, 640, 640, 128, 128, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {1, 2, 1, 1024, 1024, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 1, 1000, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
    {1, 2, 1, 300, 500, 64, 64, FA_CAUSAL_NONE, 100, 50, 0, 0, 0},
    {1, 2, 1, 500, 300, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, 77, -1, 0, 0, 0},
    {1, 2, 1, 300, 500, 64, 64, FA_CAUSAL_NONE, -1, -1, 0.1, 0, 0},
    {2, 2, 1, 500, 300, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0.5, 0, 0},
    {1, 2, 1, 300, 500, 64, 64, FA_CAUSAL_NONE, -1, -1, 0, 64, 64},
    {1, 2, 1, 500, 300, 128, 128, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0.2, 40, 100},
    {70000, 1, 1, 1, 1, 1, 1, FA_CAUSAL_NONE, -1, -1, 0, 0, 0},
    {3, 7, 1, 129, 257, 256, 256, FA_CAUSAL_BOTTOM_RIGHT, -1, -1, 0, 0, 0},
};

static int check_shape(const struct shape *s, enum fa_dtype dtype, int at)
{
    struct fa_problem p = fa_problem_make(s->nq, s->nk, s->d);
    struct fa_block_mask blocks = {s->br, s->bc, 0, 0, NULL};
    struct random_stream stream = {(uint64_t)at};
    struct attention_case attention;
    uint8_t *visit = NULL;
    char label[64];
    p.batch = s->batch;
    p.heads = s->heads;
    p.kv_heads = s->kv_heads;
    p.dv = s->dv;
    p.causal = s->causal;
    p.window_left = s->left;
    p.window_right = s->right;
    p.dropout_p = s->dropout;
    p.dropout_seed = 0x123456789abcdef0u + (uint64_t)at;
    p.dtype = dtype;
    if (s->br > 0) {
        blocks.rows = (s->nq + s->br - 1) / s->br;
        blocks.columns = (s->nk + s->bc - 1) / s->bc;
        blocks.visit = visit = malloc((size_t)(blocks.rows * blocks.columns));
        assert_non_null(visit);
        for (int64_t i = 0; i < blocks.rows * blocks.columns; i++)
            visit[i] = random_once_in(&stream, 2) && i / blocks.columns != 1;
        p.blocks = &blocks;
    }
    cuda_case_make(&attention, &p, at % 2 ? FA_PROFILE_PEAKY : FA_PROFILE_GAUSS, (uint64_t)at);
    snprintf(label, sizeof label, "shape %d of the grid", at);
    int ran = 0;
    for (int i = 0; i < gpu_rung_count; i++)
        ran += cuda_backward_check(gpu_rungs[i], (enum forward_layout)(at % 3), &attention, label);
    assert_true(ran > 0);
    if (s->causal != FA_CAUSAL_NONE && s->nk > 8) {
        /* What a hidden key holds has no effect, also where a product with its weight of 0 would.
         * */
        fa_tensor_set(&attention.v, 0, 0, s->nk - 1, 0, NAN);
        fa_tensor_set(&attention.v, 0, 0, s->nk - 2, s->dv - 1, INFINITY);
        fa_tensor_set(&attention.k, 0, 0, s->nk - 1, 0, NAN);
        forward_case_answer(&attention);
        for (int i = 0; s->nq * s->nk < 40000 && i < gpu_rung_count; i++)
            cuda_backward_check(gpu_rungs[i], (enum forward_layout)(at % 3), &attention, label);
    }
    int forward = cuda_check_rungs(&attention, (enum forward_layout)(at % 3), label);
    assert_true(forward > 0); /* flash2 takes all of them */
    attention_case_free(&attention);
    free(visit);
    return forward + ran;
}

int cuda_suite_grid(bool large)
{
    int ran = 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int t = 0; t < 3; t++)
            if (large || t == i % 3)
                ran += check_shape(&shapes[i], dtypes[t], i);
    for (int i = 0; large && i < (int)(sizeof large_shapes / sizeof *large_shapes); i++)
        for (int t = 0; t < 3; t++)
            ran += check_shape(&large_shapes[i], dtypes[t], i);
    return ran;
}

/* For each kernel of ws, so many tiles that every ring of its shared memory comes round. */
static const struct long_case {
    int64_t heads, kv_heads, nq, nk, d;
    enum fa_causal causal;
    enum fa_dtype dtype;
    bool backward;
} long_cases[] = {
    {6, 3, 100, 300, 128, FA_CAUSAL_NONE, FA_F16, true},
    {2, 1, 200, 200, 128, FA_CAUSAL_BOTTOM_RIGHT, FA_BF16, true},
    {3, 3, 200, 600, 64, FA_CAUSAL_NONE, FA_BF16, true},
    {4, 2, 330, 330, 64, FA_CAUSAL_TOP_LEFT, FA_F16, true},
    {2, 1, 40, 1030, 64, FA_CAUSAL_NONE, FA_F16, false},
    {3, 1, 40, 4100, 64, FA_CAUSAL_BOTTOM_RIGHT, FA_BF16, false},
    {1, 1, 20, 8200, 128, FA_CAUSAL_BOTTOM_RIGHT, FA_F16, false},
};

int cuda_suite_long(void)
{
    static const char *const rungs[] = {"wgmma", "ws"};
    int ran = 0;
    for (size_t i = 0; i < sizeof long_cases / sizeof *long_cases; i++) {
        const struct long_case *of = &long_cases[i];
        struct fa_problem p = fa_problem_make(of->nq, of->nk, of->d);
        struct attention_case attention;
        char label[64];
        p.heads = of->heads;
        p.kv_heads = of->kv_heads;
        p.causal = of->causal;
        p.dtype = of->dtype;
        cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 11 + i);
        snprintf(label, sizeof label, "long case %zu", i);
        for (int r = 0; r < 2; r++) {
            struct cuda_pass pass = {gpu_rung_find(rungs[r]), (enum forward_layout)(i % 3), false};
            if (!pass.rung)
                continue;
            ran += cuda_pass_check(&pass, &attention, label);
            if (of->backward)
                ran += cuda_backward_check(pass.rung, pass.layout, &attention, label);
        }
        attention_case_free(&attention);
    }
    return ran;
}

static struct attention_case small_case(void)
{
    struct fa_problem p = fa_problem_make(40, 50, 64);
    struct attention_case attention;
    p.dtype = FA_F16;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 1);
    return attention;
}

static void refuse(const struct gpu_rung *rung, const struct fa_problem *p,
                   const struct gpu_forward *tensors, const struct gpu_options *options,
                   enum fa_status expected, const char *words)
{
    struct fa_error error = {FA_OK, ""};
    enum fa_status status = rung->forward(p, tensors, options, &error);
    if (status != expected || !strstr(error.text, words))
        fail_msg("%s: %s \"%s\", expected %s with \"%s\"", rung->name, fa_status_name(status),
                 error.text, fa_status_name(expected), words);
}

/* Pointers that are only looked at: a refused call reads nothing there. */
static void refuse_tensors(const struct gpu_rung *rung, const struct fa_problem *p)
{
    char *at = (char *)(uintptr_t)0x10000000;
    const int64_t row = p->d, head = 64 * p->d;
    struct gpu_options options = {.workspace = at + (1 << 24)};
    const struct gpu_forward right = {
        .q = {at, {head, head, row, 1}},
        .k = {at + (1 << 20), {head, head, row, 1}},
        .v = {at + (2 << 20), {head, head, row, 1}},
        .o = {at + (3 << 20), {head, head, row, 1}},
        .lse = {at + (4 << 20), {64, 64, 1, 1}},
    };
    struct gpu_forward t = right;
    t.k.data = NULL;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "k has no data");
    t = right;
    t.o.data = at;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "o and q overlap");
    t = right;
    t.lse.data = at + (3 << 20) + 64;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "overlap");
    t = right;
    t.o.stride[2] = 8;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "o has strides by which its elements overlap");
    /* Rows of o between those of q, but eight elements too early; and with another step. */
    t = right;
    t.o = t.q;
    t.q.stride[2] = t.o.stride[2] = 2 * row;
    t.o.data = at + (row - 8) * 2;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "o and q overlap");
    t.o.data = at + row * 2;
    t.o.stride[2] = 3 * row;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "o and q overlap");
    t = right;
    t.v.stride[3] = 2;
    refuse(rung, p, &t, &options, FA_UNSUPPORTED, "the last axis of v");
    t = right;
    t.q.stride[2] = -64;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "q has a negative stride");
    t = right;
    t.q.data = at + 1;
    refuse(rung, p, &t, &options, FA_BAD_ARGUMENT, "q is not aligned");
    if (strcmp(rung->name, "flash2") == 0) { /* which takes block masks */
        const struct fa_block_mask blocks = {
            .br = 64, .bc = 64, .rows = 1, .columns = 1, .visit = right.o.data};
        struct gpu_options masked = options;
        masked.blocks = &blocks;
        refuse(rung, p, &right, &masked, FA_BAD_ARGUMENT, "o and the block mask overlap");
    }
    struct fa_problem far = *p;
    far.nq = (int64_t)1 << 31;
    refuse(rung, &far, &right, &options, FA_TOO_LARGE, "N is");
    far = *p;
    far.d = far.dv = 257;
    refuse(rung, &far, &right, &options, FA_UNSUPPORTED, "257");
    far = *p;
    far.dtype = FA_F64;
    refuse(rung, &far, &right, &options, FA_UNSUPPORTED, "f64");
    far = *p;
    far.mask = (const struct fa_tensor *)at;
    refuse(rung, &far, &right, &options, FA_UNSUPPORTED, "mask");
}

int cuda_suite_refusals(void)
{
    struct attention_case attention = small_case();
    struct fa_error error = {FA_OK, ""};
    int ran = 0;
    for (int i = 0; i < gpu_rung_count; i++) {
        const struct gpu_rung *rung = gpu_rungs[i];
        refuse_tensors(rung, &attention.problem);
        /* A whole call that is refused leaves its outputs alone; cuda_pass_run looks. */
        struct attention_case wrong = attention;
        struct forward_result result;
        wrong.problem.dtype = FA_F64;
        fa_tensor_create(&wrong.q, FA_F64, attention.q.shape, NULL);
        fa_tensor_create(&wrong.k, FA_F64, attention.k.shape, NULL);
        fa_tensor_create(&wrong.v, FA_F64, attention.v.shape, NULL);
        struct cuda_pass pass = {rung, FORWARD_BHSD, false};
        assert_int_equal(cuda_pass_run(&pass, &wrong, &result, &error), FA_UNSUPPORTED);
        fa_tensor_free(&wrong.q);
        fa_tensor_free(&wrong.k);
        fa_tensor_free(&wrong.v);
        /* Nobody asks for LSE. */
        pass.without_lse = true;
        enum fa_status status = cuda_pass_run(&pass, &attention, &result, &error);
        if (status == FA_MISSING_PART) /* another kind of device: the sentence names it */
            continue;
        assert_int_equal(status, FA_OK);
        forward_result_free(&result);
        ran++;
    }
    assert_null(gpu_rung_find("flash3"));
    assert_int_equal(gpu_forward("flash3", &attention.problem, NULL, NULL, &error),
                     FA_BAD_ARGUMENT);
    attention_case_free(&attention);
    return ran;
}

/* One query, one key, and a score that is finite in f32 while the exponent of 2 is not. */
static int past_the_exponent(double of_row, double scale)
{
    struct fa_problem p = fa_problem_make(1, 1, 64);
    struct attention_case attention;
    p.dtype = FA_BF16; /* standard keeps S in the dtype */
    p.scale = scale;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 3);
    for (int64_t c = 0; c < 64; c++) {
        fa_tensor_set(&attention.q, 0, 0, 0, c, c == 0 || scale > 1 ? of_row : 0);
        fa_tensor_set(&attention.k, 0, 0, 0, c, c == 0 || scale > 1 ? of_row : 0);
        fa_tensor_set(&attention.v, 0, 0, 0, c, 3);
    }
    forward_case_answer(&attention);
    int ran = cuda_check_rungs(&attention, FORWARD_BHSD, "a score near the end of f32");
    for (int i = 0; i < gpu_rung_count; i++)
        ran += cuda_backward_check(gpu_rungs[i], FORWARD_BHSD, &attention,
                                   "a score near the end of f32");
    attention_case_free(&attention);
    return ran;
}

/* A query that is NaN, and most keys do not see: gradients of these stay as they are. */
static int wild_query(void)
{
    struct fa_problem p = fa_problem_make(40, 40, 64);
    struct attention_case attention;
    int ran = 0;
    p.dtype = FA_F16;
    p.causal = FA_CAUSAL_TOP_LEFT;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 6);
    fa_tensor_set(&attention.q, 0, 0, 2, 5, NAN);
    forward_case_answer(&attention);
    for (int i = 0; i < gpu_rung_count; i++)
        ran += cuda_backward_check(gpu_rungs[i], FORWARD_BHSD, &attention, "a query that is NaN");
    attention_case_free(&attention);
    return ran;
}

/* Keys that no query head has: their gradients are 0. */
static int without_query_heads(void)
{
    struct fa_problem p = fa_problem_make(3, 5, 64);
    struct attention_case attention;
    struct fa_tensor none, lse, gradients[3];
    struct fa_error error = {FA_OK, ""};
    int ran = 0;
    p.dtype = FA_F16;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 4);
    p.heads = 0;
    assert_int_equal(fa_tensor_create(&none, FA_F16, (int64_t[4]){1, 0, 3, 64}, &error), FA_OK);
    assert_int_equal(fa_tensor_create(&lse, FA_F32, (int64_t[4]){1, 0, 3, 1}, &error), FA_OK);
    for (int i = 0; i < gpu_rung_count; i++) {
        struct gpu_guarded_call call = {
            .rung = gpu_rungs[i], .problem = &p, .q = &none, .k = &attention.k, .v = &attention.v};
        struct gpu_guarded_seen seen;
        if (!gpu_rungs[i]->backward)
            continue;
        assert_int_equal(gpu_guarded_backward(&call, &none, &lse, &none, gradients, &seen, &error),
                         FA_OK);
        assert_string_equal(seen.damage, "");
        for (int64_t row = 0; row < 5; row++)
            for (int64_t c = 0; c < 64; c++) {
                assert_true(fa_tensor_get(&gradients[1], 0, 0, row, c) == 0);
                assert_true(fa_tensor_get(&gradients[2], 0, 0, row, c) == 0);
            }
        for (int g = 0; g < 3; g++)
            fa_tensor_free(&gradients[g]);
        ran++;
    }
    fa_tensor_free(&none);
    fa_tensor_free(&lse);
    attention_case_free(&attention);
    return ran;
}

int cuda_suite_edges(void)
{
    return past_the_exponent(1, 4e36) + past_the_exponent(1.7e19, 1) + wild_query() +
           without_query_heads();
}

int cuda_suite_repeats(int times)
{
    struct fa_problem p = fa_problem_make(70, 90, 64);
    struct attention_case attention;
    int ran = 0;
    p.heads = 2;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    p.dtype = FA_F16;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 7);
    for (int i = 0; i < gpu_rung_count; i++) {
        struct cuda_pass pass = {gpu_rungs[i], FORWARD_BHSD, false};
        struct forward_result first, again;
        struct fa_error error = {FA_OK, ""};
        enum fa_status status = cuda_pass_run(&pass, &attention, &first, &error);
        if (status == FA_MISSING_PART)
            continue;
        assert_int_equal(status, FA_OK);
        for (int n = 1; n < times; n++, ran++) {
            assert_int_equal(cuda_pass_run(&pass, &attention, &again, &error), FA_OK);
            forward_result_same(&first, &again, gpu_rungs[i]->name);
            forward_result_free(&again);
        }
        forward_result_free(&first);
        cuda_backward_check(gpu_rungs[i], FORWARD_BHSD, &attention, "two heads");
    }
    attention_case_free(&attention);
    return ran;
}
