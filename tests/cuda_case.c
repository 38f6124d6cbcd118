#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_device.h"
#include "reference/profile.h"
#include "simulator/check_gradients.h"
#include "tests/cuda_case.h"

enum { GUARD = 256, PAD = 8 };

static const unsigned char unwritten = 0xff, guard_byte = 0xa5;

/* A tensor of the case in device memory, and what its bytes were when it went there. */
struct on_device {
    struct gpu_tensor tensor;
    struct fa_tensor view; /* the same elements within `bytes` */
    unsigned char *bytes;  /* guard, elements in their layout, guard */
    unsigned char *memory;
    size_t size;
};

static void must(enum fa_status status, const struct fa_error *error)
{
    if (status != FA_OK)
        fail_msg("the device: %s", error->text);
}

static struct on_device lay_out(enum fa_dtype dtype, const int64_t shape[4],
                                enum forward_layout layout)
{
    struct on_device d = {.view = fa_tensor_view(dtype, shape, NULL)};
    int64_t row = shape[3] + (layout == FORWARD_SCATTERED ? PAD : 0);
    bool heads_inside = layout != FORWARD_BHSD;
    d.view.stride[3] = 1;
    d.view.stride[2] = heads_inside ? row * shape[1] : row;
    d.view.stride[1] = heads_inside ? row : row * shape[2];
    d.view.stride[0] = row * shape[1] * shape[2];
    d.size = (size_t)(row * shape[0] * shape[1] * shape[2]) * fa_dtype_bytes(dtype);
    d.bytes = malloc(d.size + 2 * GUARD);
    assert_non_null(d.bytes);
    memset(d.bytes, guard_byte, d.size + 2 * GUARD);
    d.view.data = d.bytes + GUARD;
    memcpy(d.tensor.stride, d.view.stride, sizeof d.tensor.stride);
    return d;
}

/* Calls `what` with the index of each element. */
#define EACH_ELEMENT(view, b, h, r, c)                                                             \
    for (int64_t b = 0; b < (view)->shape[0]; b++)                                                 \
        for (int64_t h = 0; h < (view)->shape[1]; h++)                                             \
            for (int64_t r = 0; r < (view)->shape[2]; r++)                                         \
                for (int64_t c = 0; c < (view)->shape[3]; c++)

static unsigned char *element(const struct on_device *d, int64_t b, int64_t h, int64_t r, int64_t c)
{
    return (unsigned char *)d->view.data +
           (size_t)fa_tensor_index(&d->view, b, h, r, c) * fa_dtype_bytes(d->view.dtype);
}

/* Elements of `from`, or unwritten ones. */
static struct on_device upload(enum fa_dtype dtype, const int64_t shape[4],
                               enum forward_layout layout, const struct fa_tensor *from)
{
    struct on_device d = lay_out(dtype, shape, layout);
    struct fa_error error = {FA_OK, ""};
    size_t n = fa_dtype_bytes(dtype);
    EACH_ELEMENT(&d.view, b, h, r, c)
    {
        if (from)
            memcpy(element(&d, b, h, r, c),
                   (unsigned char *)from->data + (size_t)fa_tensor_index(from, b, h, r, c) * n, n);
        else
            memset(element(&d, b, h, r, c), unwritten, n);
    }
    must(gpu_memory_take(d.size + 2 * GUARD, (void **)&d.memory, &error), &error);
    must(gpu_memory_upload(d.memory, d.bytes, d.size + 2 * GUARD, &error), &error);
    d.tensor.data = d.memory + GUARD;
    return d;
}

static void release(struct on_device *d)
{
    gpu_memory_free(d->memory);
    free(d->bytes);
}

/* Reads the output back. Only elements may have changed, and after a call that succeeded all have.
 * */
static double *read_back(struct on_device *d, bool written, const char *name, int64_t *n)
{
    struct fa_error error = {FA_OK, ""};
    size_t all = d->size + 2 * GUARD, bytes = fa_dtype_bytes(d->view.dtype), at = 0;
    unsigned char *after = malloc(all), none[8];
    double *values = malloc((d->size / bytes + 1) * sizeof *values);
    assert_true(after && values);
    memset(none, unwritten, sizeof none);
    must(gpu_memory_download(after, d->memory, all, &error), &error);
    EACH_ELEMENT(&d->view, b, h, r, c)
    {
        unsigned char *before = element(d, b, h, r, c), *now = after + (before - d->bytes);
        if (written == (memcmp(now, none, bytes) == 0))
            fail_msg("%s: element %zu %s", name, at,
                     written ? "was not written" : "was written by a call that was refused");
        values[at++] = fa_dtype_get(d->view.dtype, now, 0);
        memcpy(before, now, bytes); /* what still differs below is no element */
    }
    if (memcmp(after, d->bytes, all) != 0)
        fail_msg("%s: bytes between or around the elements were written", name);
    free(after);
    *n = (int64_t)at;
    return values;
}

static unsigned char *upload_blocks(const struct fa_block_mask *blocks)
{
    struct fa_error error = {FA_OK, ""};
    unsigned char *memory = NULL;
    size_t n = (size_t)(blocks->rows * blocks->columns);
    must(gpu_memory_take(n, (void **)&memory, &error), &error);
    must(gpu_memory_upload(memory, blocks->visit, n, &error), &error);
    return memory;
}

enum fa_status cuda_pass_run(const struct cuda_pass *pass, const struct attention_case *attention,
                             struct forward_result *result, struct fa_error *error)
{
    struct fa_problem p = attention->problem;
    const int64_t o_shape[4] = {p.batch, p.heads, p.nq, p.dv};
    const int64_t lse_shape[4] = {p.batch, p.heads, p.nq, 1};
    struct on_device q = upload(p.dtype, attention->q.shape, pass->layout, &attention->q);
    struct on_device k = upload(p.dtype, attention->k.shape, pass->layout, &attention->k);
    struct on_device v = upload(p.dtype, attention->v.shape, pass->layout, &attention->v);
    struct on_device o = upload(p.dtype, o_shape, pass->layout, NULL);
    struct on_device lse = upload(FA_F32, lse_shape, FORWARD_BHSD, NULL);
    struct gpu_forward tensors = {q.tensor, k.tensor, v.tensor, o.tensor, lse.tensor};
    struct gpu_options options = {0};
    struct fa_block_mask blocks;
    unsigned char *visit = NULL;
    int64_t bytes = 0;
    if (p.blocks) {
        blocks = *p.blocks;
        blocks.visit = visit = upload_blocks(p.blocks);
        options.blocks = &blocks;
        p.blocks = NULL;
    }
    if (pass->without_lse)
        tensors.lse.data = NULL;
    enum fa_status status = pass->rung->workspace_bytes(&p, false, &bytes, error);
    if (status == FA_OK) {
        must(gpu_memory_take((size_t)bytes, &options.workspace, error), error);
        must(gpu_memory_fill(options.workspace, unwritten, (size_t)bytes, error), error);
        status = pass->rung->forward(&p, &tensors, &options, error);
    }
    if (status == FA_OK)
        must(gpu_wait(error), error);
    struct forward_result r = {0};
    r.o = read_back(&o, status == FA_OK, "O", &r.n_o);
    r.lse = read_back(&lse, status == FA_OK && !pass->without_lse, "LSE", &r.n_lse);
    if (status == FA_OK)
        *result = r;
    else
        forward_result_free(&r);
    gpu_memory_free(options.workspace);
    gpu_memory_free(visit);
    release(&q);
    release(&k);
    release(&v);
    release(&o);
    release(&lse);
    return status;
}

/* Tiles as the rungs have them, for the budget. */
static struct forward_pass budget_pass(const struct gpu_rung *rung, const struct fa_problem *p)
{
    int64_t wide = p->d > p->dv ? p->d : p->dv;
    if (strcmp(rung->name, "flash1") == 0)
        return (struct forward_pass){.algorithm = &fa_flash1, .tiles = forward_tiles(32, 32, 1, 0)};
    return (struct forward_pass){
        .algorithm = strcmp(rung->name, "standard") == 0 ? &fa_standard : &fa_flash2,
        .tiles = wide > 128 ? forward_tiles(32, 32, 1, 0) : forward_tiles(64, 64, 1, 0),
    };
}

bool cuda_pass_check(const struct cuda_pass *pass, const struct attention_case *attention,
                     const char *label)
{
    struct forward_result result;
    struct fa_error error = {FA_OK, ""};
    char name[256];
    snprintf(name, sizeof name, "%s, %s, %s", pass->rung->name,
             fa_dtype_name(attention->problem.dtype), label);
    enum fa_status status = cuda_pass_run(pass, attention, &result, &error);
    if (status == FA_UNSUPPORTED)
        return false;
    if (status != FA_OK)
        fail_msg("%s: %s", name, error.text);
    struct forward_pass as = budget_pass(pass->rung, &attention->problem);
    struct forward_budget budget = forward_budget_make(attention);
    forward_result_check(&result, &as, attention, &budget, name);
    forward_result_free(&result);
    return true;
}

/* The device's values as a contiguous tensor in double. */
static struct fa_tensor values_of(struct on_device *d, bool written, const char *name)
{
    int64_t n;
    double *values = read_back(d, written, name, &n);
    struct fa_tensor tensor = fa_tensor_view(FA_F64, d->view.shape, values);
    tensor.memory = values;
    return tensor;
}

static void check_gradients(const struct attention_case *attention, const struct fa_tensor *dout,
                            const struct fa_tensor gradients[3], const char *label)
{
    struct sim_check_gradients check;
    struct fa_error error = {FA_OK, ""};
    must(sim_check_backward(&attention->problem, &attention->q, &attention->k, &attention->v, dout,
                            &gradients[0], &gradients[1], &gradients[2], SIM_CHECK_FULL, 1, 1, 1,
                            NULL, &check, &error),
         &error);
    if (!check.pass)
        fail_msg("%s, backward: dq %g (%g), dk %g (%g), dv %g (%g)", label, check.dq.max_abs_error,
                 check.dq_budget, check.dk.max_abs_error, check.dk_budget, check.dv.max_abs_error,
                 check.dv_budget);
}

bool cuda_backward_check(const struct gpu_rung *rung, enum forward_layout layout,
                         const struct attention_case *attention, const char *label)
{
    struct fa_problem p = attention->problem;
    struct fa_error error = {FA_OK, ""};
    struct fa_tensor dout;
    struct gpu_options options = {0};
    struct fa_block_mask blocks;
    int64_t bytes = 0;
    if (!rung->backward)
        return false;
    must(fa_tensor_create(&dout, p.dtype, attention->o.shape, &error), &error);
    fa_profile_fill_dout(5, &p, &dout);
    struct fa_tensor o, lse;
    must(fa_tensor_create(&o, p.dtype, attention->o.shape, &error), &error);
    must(fa_tensor_create(&lse, FA_F32, attention->lse.shape, &error), &error);
    /* The rung's own O and LSE: P is formed again from the same rounded scores. */
    const struct cuda_pass pass = {rung, layout, false};
    struct forward_result result;
    must(cuda_pass_run(&pass, attention, &result, &error), &error);
    for (int64_t i = 0; i < result.n_o; i++)
        fa_dtype_set(p.dtype, o.data, i, result.o[i]);
    for (int64_t i = 0; i < result.n_lse; i++)
        fa_dtype_set(FA_F32, lse.data, i, result.lse[i]);
    forward_result_free(&result);
    struct on_device all[] = {
        upload(p.dtype, attention->q.shape, layout, &attention->q),
        upload(p.dtype, attention->k.shape, layout, &attention->k),
        upload(p.dtype, attention->v.shape, layout, &attention->v),
        upload(p.dtype, o.shape, layout, &o),
        upload(FA_F32, lse.shape, FORWARD_BHSD, &lse),
        upload(p.dtype, dout.shape, layout, &dout),
        upload(p.dtype, attention->q.shape, layout, NULL),
        upload(p.dtype, attention->k.shape, layout, NULL),
        upload(p.dtype, attention->v.shape, layout, NULL),
    };
    const struct gpu_backward tensors = {all[0].tensor, all[1].tensor, all[2].tensor,
                                         all[3].tensor, all[4].tensor, all[5].tensor,
                                         all[6].tensor, all[7].tensor, all[8].tensor};
    unsigned char *visit = NULL;
    if (p.blocks) {
        blocks = *p.blocks;
        blocks.visit = visit = upload_blocks(p.blocks);
        options.blocks = &blocks;
        p.blocks = NULL;
    }
    enum fa_status status = rung->workspace_bytes(&p, true, &bytes, &error);
    if (status == FA_OK) {
        must(gpu_memory_take((size_t)bytes, &options.workspace, &error), &error);
        must(gpu_memory_fill(options.workspace, unwritten, (size_t)bytes, &error), &error);
        status = rung->backward(&p, &tensors, &options, &error);
    }
    if (status != FA_UNSUPPORTED)
        must(status, &error);
    must(gpu_wait(&error), &error);
    struct fa_tensor gradients[3];
    static const char *const names[] = {"dQ", "dK", "dV"};
    for (int i = 0; i < 3; i++)
        gradients[i] = values_of(&all[6 + i], status == FA_OK, names[i]);
    if (status == FA_OK)
        check_gradients(attention, &dout, gradients, label);
    for (int i = 0; i < 3; i++)
        free(gradients[i].memory);
    for (int i = 0; i < 9; i++)
        release(&all[i]);
    gpu_memory_free(options.workspace);
    gpu_memory_free(visit);
    fa_tensor_free(&dout);
    fa_tensor_free(&o);
    fa_tensor_free(&lse);
    return status == FA_OK;
}

int cuda_check_rungs(const struct attention_case *attention, enum forward_layout layout,
                     const char *label)
{
    int taken = 0;
    for (int i = 0; i < gpu_rung_count; i++) {
        struct cuda_pass pass = {gpu_rungs[i], layout, false};
        taken += cuda_pass_check(&pass, attention, label);
    }
    return taken;
}

void cuda_case_make(struct attention_case *attention, const struct fa_problem *problem, int profile,
                    uint64_t seed)
{
    const struct fa_problem *p = problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    struct fa_error error = {FA_OK, ""};
    memset(attention, 0, sizeof *attention);
    attention->problem = *p;
    must(fa_tensor_create(&attention->q, p->dtype, q, &error), &error);
    must(fa_tensor_create(&attention->k, p->dtype, k, &error), &error);
    must(fa_tensor_create(&attention->v, p->dtype, v, &error), &error);
    fa_profile_fill((enum fa_profile)profile, seed, p, &attention->q, &attention->k, &attention->v);
    forward_case_answer(attention);
}
