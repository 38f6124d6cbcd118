/* Q, K and V packed in one tensor [batch, n, 3, heads, d], as a layer's one product gives them, and
 * their gradients packed in the same way. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_device.h"
#include "cuda/guarded_run.h"
#include "reference/profile.h"
#include "tests/cuda_case.h"
#include "tests/cuda_suite.h"

enum { BATCH = 2, HEADS = 3, N = 70, D = 64, ROW = 3 * HEADS * D, ELEMENTS = BATCH * N * ROW };

static void must(enum fa_status status, const struct fa_error *error)
{
    if (status != FA_OK)
        fail_msg("%s", error->text);
}

/* Part 0, 1 or 2 of the packed f16 elements at `data`. */
static struct fa_tensor part_of(void *data, int part)
{
    const int64_t shape[4] = {BATCH, HEADS, N, D}, stride[4] = {N * ROW, D, ROW, 1};
    struct fa_tensor view = fa_tensor_view(FA_F16, shape, (uint16_t *)data + part * HEADS * D);
    memcpy(view.stride, stride, sizeof stride);
    return view;
}

static struct gpu_tensor on_device(void *memory, int part)
{
    struct fa_tensor view = part_of(memory, part);
    struct gpu_tensor tensor = {view.data, {0}};
    memcpy(tensor.stride, view.stride, sizeof tensor.stride);
    return tensor;
}

/* Where one packed tensor and a contiguous one differ, or -1. */
static int64_t first_difference(const struct fa_tensor *a, const struct fa_tensor *b)
{
    int64_t at = 0;
    for (int64_t i = 0; i < BATCH; i++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t r = 0; r < N; r++)
                for (int64_t c = 0; c < D; c++, at++)
                    if (((uint16_t *)a->data)[fa_tensor_index(a, i, h, r, c)] !=
                        ((uint16_t *)b->data)[fa_tensor_index(b, i, h, r, c)])
                        return at;
    return -1;
}

/* Device memory of a call, which no test has to free that fails. */
struct packed_memory {
    void *qkv, *gradients, *o, *lse, *d_o, *workspace;
};

static void *take(size_t bytes, const void *from)
{
    struct fa_error error = {FA_OK, ""};
    void *memory = NULL;
    must(gpu_memory_take(bytes, &memory, &error), &error);
    if (from)
        must(gpu_memory_upload(memory, from, bytes, &error), &error);
    else
        must(gpu_memory_fill(memory, 0xff, bytes, &error), &error);
    return memory;
}

static void *take_workspace(const struct gpu_rung *rung, const struct fa_problem *p)
{
    int64_t forward = 0, backward = 0;
    struct fa_error error = {FA_OK, ""};
    must(rung->workspace_bytes(p, false, &forward, &error), &error);
    must(rung->workspace_bytes(p, true, &backward, &error), &error);
    return take((size_t)(forward > backward ? forward : backward), NULL);
}

/* Both passes on packed memory; `gradients` gets what came out. */
static void run_packed(const struct gpu_rung *rung, const struct attention_case *attention,
                       const struct fa_tensor *d_o, uint16_t *gradients)
{
    const struct fa_problem *p = &attention->problem;
    const struct fa_tensor *const from[] = {&attention->q, &attention->k, &attention->v};
    struct fa_error error = {FA_OK, ""};
    for (int part = 0; part < 3; part++) {
        struct fa_tensor to = part_of(gradients, part);
        for (int64_t i = 0; i < BATCH * HEADS * N * D; i++)
            fa_tensor_set(&to, i / D / N / HEADS, i / D / N % HEADS, i / D % N, i % D,
                          fa_dtype_get(FA_F16, from[part]->data, i));
    }
    const size_t bytes = ELEMENTS * sizeof *gradients;
    struct packed_memory m = {take(bytes, gradients),     take(bytes, NULL),
                              take(bytes / 3, NULL),      take(4 * BATCH * HEADS * N, NULL),
                              take(bytes / 3, d_o->data), take_workspace(rung, p)};
    const struct gpu_options options = {.workspace = m.workspace, .deterministic = true};
    const struct gpu_tensor o = {m.o, {HEADS * N * D, N * D, D, 1}};
    const struct gpu_forward forward = {on_device(m.qkv, 0),
                                        on_device(m.qkv, 1),
                                        on_device(m.qkv, 2),
                                        o,
                                        {m.lse, {HEADS * N, N, 1, 1}}};
    const struct gpu_backward backward = {forward.q,
                                          forward.k,
                                          forward.v,
                                          o,
                                          forward.lse,
                                          {m.d_o, {HEADS * N * D, N * D, D, 1}},
                                          on_device(m.gradients, 0),
                                          on_device(m.gradients, 1),
                                          on_device(m.gradients, 2)};
    must(rung->forward(p, &forward, &options, &error), &error);
    must(rung->backward(p, &backward, &options, &error), &error);
    must(gpu_wait(&error), &error);
    must(gpu_memory_download(gradients, m.gradients, bytes, &error), &error);
    void *const all[] = {m.qkv, m.gradients, m.o, m.lse, m.d_o, m.workspace};
    for (int i = 0; i < 6; i++)
        gpu_memory_free(all[i]);
}

/* The bits of tensors that lie each on its own. */
static bool check_packed(const struct gpu_rung *rung, const struct attention_case *attention)
{
    struct gpu_guarded_call call = {.rung = rung,
                                    .problem = &attention->problem,
                                    .q = &attention->q,
                                    .k = &attention->k,
                                    .v = &attention->v,
                                    .deterministic = true};
    struct gpu_guarded_seen seen;
    struct fa_error error = {FA_OK, ""};
    struct fa_tensor o, lse, d_o, apart[3];
    enum fa_status status = gpu_guarded_forward(&call, &o, &lse, &seen, &error);
    if (seen.refused)
        return false;
    must(status, &error);
    must(fa_tensor_create(&d_o, FA_F16, o.shape, &error), &error);
    fa_profile_fill_dout(5, &attention->problem, &d_o);
    must(gpu_guarded_backward(&call, &o, &lse, &d_o, apart, &seen, &error), &error);
    uint16_t *packed = malloc(ELEMENTS * sizeof *packed);
    assert_non_null(packed);
    run_packed(rung, attention, &d_o, packed);
    for (int part = 0; part < 3; part++) {
        struct fa_tensor view = part_of(packed, part);
        int64_t at = first_difference(&view, &apart[part]);
        if (at >= 0)
            fail_msg("%s: element %lld of d%c differs", rung->name, (long long)at, "QKV"[part]);
        fa_tensor_free(&apart[part]);
    }
    free(packed);
    fa_tensor_free(&o);
    fa_tensor_free(&lse);
    fa_tensor_free(&d_o);
    return true;
}

int cuda_suite_packed(void)
{
    struct fa_problem p = fa_problem_make(N, N, D);
    struct attention_case attention;
    int ran = 0;
    p.batch = BATCH;
    p.heads = p.kv_heads = HEADS;
    p.dtype = FA_F16;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    cuda_case_make(&attention, &p, FA_PROFILE_GAUSS, 9);
    for (int i = 0; i < gpu_rung_count; i++)
        if (gpu_rungs[i]->backward)
            ran += check_packed(gpu_rungs[i], &attention);
    attention_case_free(&attention);
    return ran;
}
