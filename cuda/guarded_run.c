#include "cuda/guarded_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu_device.h"

enum { GUARD = 256, PAD = 8, TENSORS = 9 };

/* All bits set is a NaN in every float format, and no arithmetic makes just this one. */
static const unsigned char unwritten = 0xff, guard_byte = 0xa5;

/* A tensor in device memory, and what its bytes were when it went there. */
struct on_device {
    struct gpu_tensor tensor;
    struct fa_tensor view; /* the same elements within `bytes` */
    unsigned char *bytes;  /* guard, elements in their layout, guard */
    void *memory;
    size_t size; /* without the guards */
};

/* Everything that a call needs, zeroed first and released together. */
struct session {
    struct on_device tensors[TENSORS];
    int n;
    struct gpu_options options;
    struct fa_block_mask blocks;
    void *visit;
};

static void lay_out(struct on_device *d, enum fa_dtype dtype, const int64_t shape[4],
                    enum gpu_layout layout)
{
    int64_t row = shape[3] + (layout == GPU_PADDED ? PAD : 0);
    bool heads_inside = layout != GPU_BHSD;
    d->view = fa_tensor_view(dtype, shape, NULL);
    d->view.stride[3] = 1;
    d->view.stride[2] = heads_inside ? row * shape[1] : row;
    d->view.stride[1] = heads_inside ? row : row * shape[2];
    d->view.stride[0] = row * shape[1] * shape[2];
    d->size = (size_t)(row * shape[0] * shape[1] * shape[2]) * fa_dtype_bytes(dtype);
    memcpy(d->tensor.stride, d->view.stride, sizeof d->tensor.stride);
}

/* The bytes of an element. */
static unsigned char *element(const struct fa_tensor *view, int64_t b, int64_t h, int64_t r,
                              int64_t c)
{
    return (unsigned char *)view->data +
           (size_t)fa_tensor_index(view, b, h, r, c) * fa_dtype_bytes(view->dtype);
}

static void copy_elements(const struct fa_tensor *to, const struct fa_tensor *from)
{
    bool rows = to->stride[3] == 1 && (!from || from->stride[3] == 1);
    int64_t run = rows && to->shape[3] > 0 ? to->shape[3] : 1; /* elements side by side in both */
    size_t run_bytes = (size_t)run * fa_dtype_bytes(to->dtype);
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t h = 0; h < to->shape[1]; h++)
            for (int64_t r = 0; r < to->shape[2]; r++)
                for (int64_t c = 0; c < to->shape[3]; c += run) {
                    if (from)
                        memcpy(element(to, b, h, r, c), element(from, b, h, r, c), run_bytes);
                    else
                        memset(element(to, b, h, r, c), unwritten, run_bytes);
                }
}

/* Elements of `from`, or unwritten ones. The next of the session's tensors. */
static enum fa_status upload(struct session *session, enum fa_dtype dtype, const int64_t shape[4],
                             enum gpu_layout layout, const struct fa_tensor *from,
                             struct fa_error *error)
{
    struct on_device *d = &session->tensors[session->n++];
    lay_out(d, dtype, shape, layout);
    d->bytes = malloc(d->size + 2 * GUARD);
    if (!d->bytes)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a tensor of %zu bytes", d->size);
    /* What lies beside an input is NaN, so that a kernel that reads too far is seen. */
    memset(d->bytes, from ? unwritten : guard_byte, d->size + 2 * GUARD);
    d->view.data = d->bytes + GUARD;
    copy_elements(&d->view, from);
    enum fa_status status = gpu_memory_take(d->size + 2 * GUARD, &d->memory, error);
    if (status == FA_OK)
        status = gpu_memory_upload(d->memory, d->bytes, d->size + 2 * GUARD, error);
    if (status == FA_OK)
        d->tensor.data = (unsigned char *)d->memory + GUARD;
    return status;
}

static enum fa_status upload_blocks(struct session *session, const struct fa_block_mask *blocks,
                                    struct fa_error *error)
{
    size_t n = (size_t)(blocks->rows * blocks->columns);
    enum fa_status status = gpu_memory_take(n, &session->visit, error);
    if (status == FA_OK && n > 0)
        status = gpu_memory_upload(session->visit, blocks->visit, n, error);
    session->blocks = *blocks;
    session->blocks.visit = session->visit;
    session->options.blocks = &session->blocks;
    return status;
}

static void release(struct session *session)
{
    for (int i = 0; i < session->n; i++) {
        gpu_memory_free(session->tensors[i].memory);
        free(session->tensors[i].bytes);
    }
    gpu_memory_free(session->options.workspace);
    gpu_memory_free(session->visit);
}

/* The three inputs, and the block mask; the problem as the rung is told it. */
static enum fa_status open_session(struct session *session, const struct gpu_guarded_call *call,
                                   struct fa_problem *problem, struct fa_error *error)
{
    const struct fa_tensor *const inputs[] = {call->q, call->k, call->v};
    enum fa_status status = FA_OK;
    memset(session, 0, sizeof *session);
    *problem = *call->problem;
    problem->blocks = NULL;
    session->options.deterministic = call->deterministic;
    if (call->problem->blocks)
        status = upload_blocks(session, call->problem->blocks, error);
    for (int i = 0; i < 3 && status == FA_OK; i++)
        status = upload(session, problem->dtype, inputs[i]->shape, call->layout, inputs[i], error);
    return status;
}

/* A workspace whose bytes are set, so that a rung that reads it before it writes it is seen. False
 * where the rung refuses. */
static enum fa_status take_workspace(struct session *session, const struct gpu_guarded_call *call,
                                     const struct fa_problem *problem, bool backward,
                                     struct gpu_guarded_seen *seen, struct fa_error *error)
{
    int64_t bytes = 0;
    enum fa_status status = call->rung->workspace_bytes(problem, backward, &bytes, error);
    seen->refused = status != FA_OK;
    if (status == FA_OK)
        status = gpu_memory_take((size_t)bytes, &session->options.workspace, error);
    if (status == FA_OK)
        status = gpu_memory_fill(session->options.workspace, unwritten, (size_t)bytes, error);
    return status;
}

/* Only elements may have changed, and after a call that was taken all have. */
static void inspect(struct on_device *d, const unsigned char *after, bool written, const char *name,
                    struct gpu_guarded_seen *seen)
{
    size_t n = fa_dtype_bytes(d->view.dtype), at = 0;
    unsigned char none[8];
    memset(none, unwritten, sizeof none);
    for (int64_t b = 0; b < d->view.shape[0]; b++)
        for (int64_t h = 0; h < d->view.shape[1]; h++)
            for (int64_t r = 0; r < d->view.shape[2]; r++)
                for (int64_t c = 0; c < d->view.shape[3]; c++, at++) {
                    unsigned char *before = element(&d->view, b, h, r, c);
                    const unsigned char *now = after + (before - d->bytes);
                    if (written == (memcmp(now, none, n) == 0) && !seen->damage[0])
                        snprintf(seen->damage, sizeof seen->damage, "%s: element %zu %s", name, at,
                                 written ? "was not written"
                                         : "was written, and nobody asked for it");
                    memcpy(before, now, n); /* what still differs below is no element */
                }
    if (memcmp(after, d->bytes, d->size + 2 * GUARD) != 0 && !seen->damage[0])
        snprintf(seen->damage, sizeof seen->damage,
                 "%s: bytes between or around the elements were written", name);
}

/* Reads a tensor back; `result` (or NULL) gets its elements, contiguous. */
static enum fa_status read_back(struct on_device *d, bool input, bool written, const char *name,
                                struct fa_tensor *result, struct gpu_guarded_seen *seen,
                                struct fa_error *error)
{
    size_t all = d->size + 2 * GUARD;
    unsigned char *after = malloc(all);
    if (!after)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a tensor of %zu bytes", all);
    enum fa_status status = gpu_memory_download(after, d->memory, all, error);
    if (status == FA_OK && input) {
        if (memcmp(after, d->bytes, all) != 0 && !seen->damage[0])
            snprintf(seen->damage, sizeof seen->damage, "%s: an input was written", name);
    } else if (status == FA_OK) {
        inspect(d, after, written, name, seen);
        if (result)
            status = fa_tensor_create(result, d->view.dtype, d->view.shape, error);
        if (status == FA_OK && result)
            copy_elements(result, &d->view);
    }
    free(after);
    return status;
}

/* What a call ends with: all bytes are looked at whether or not it was taken. results[i] belongs to
 * tensor i: NULL for an input, and for what nobody asked for. */
static enum fa_status finish(struct session *session, const char *const *names, int outputs,
                             enum fa_status called, struct fa_tensor *const *results,
                             struct gpu_guarded_seen *seen, struct fa_error *error)
{
    struct fa_tensor made[TENSORS];
    bool taken = called == FA_OK;
    enum fa_status status = FA_OK;
    memset(made, 0, sizeof made);
    if (!taken && !seen->refused)
        return called;
    if (taken)
        status = gpu_wait(error);
    for (int i = 0; i < session->n && status == FA_OK; i++)
        status = read_back(&session->tensors[i], i < outputs, taken && results[i], names[i],
                           taken && results[i] ? &made[i] : NULL, seen, taken ? error : NULL);
    if (status == FA_OK)
        status = called;
    for (int i = 0; i < session->n; i++) {
        if (status == FA_OK && results[i])
            *results[i] = made[i];
        else
            fa_tensor_free(&made[i]);
    }
    return status;
}

enum fa_status gpu_guarded_forward(const struct gpu_guarded_call *call, struct fa_tensor *o,
                                   struct fa_tensor *lse, struct gpu_guarded_seen *seen,
                                   struct fa_error *error)
{
    static const char *const names[] = {"Q", "K", "V", "O", "LSE"};
    struct fa_tensor *const results[] = {NULL, NULL, NULL, o, call->without_lse ? NULL : lse};
    struct session session;
    struct fa_problem p;
    memset(seen, 0, sizeof *seen);
    enum fa_status status = open_session(&session, call, &p, error);
    const int64_t o_shape[4] = {p.batch, p.heads, p.nq, p.dv};
    const int64_t lse_shape[4] = {p.batch, p.heads, p.nq, 1};
    if (status == FA_OK)
        status = upload(&session, p.dtype, o_shape, call->layout, NULL, error);
    if (status == FA_OK)
        status = upload(&session, FA_F32, lse_shape, GPU_BHSD, NULL, error);
    if (status == FA_OK)
        status = take_workspace(&session, call, &p, false, seen, error);
    if (status == FA_OK) {
        const struct on_device *t = session.tensors;
        struct gpu_forward tensors = {t[0].tensor, t[1].tensor, t[2].tensor, t[3].tensor,
                                      t[4].tensor};
        if (call->without_lse)
            tensors.lse.data = NULL;
        status = call->rung->forward(&p, &tensors, &session.options, error);
        seen->refused = status != FA_OK && status != FA_IO;
    }
    status = finish(&session, names, 3, status, results, seen, error);
    if (status == FA_OK && call->without_lse)
        memset(lse, 0, sizeof *lse);
    release(&session);
    return status;
}

enum fa_status gpu_guarded_backward(const struct gpu_guarded_call *call, const struct fa_tensor *o,
                                    const struct fa_tensor *lse, const struct fa_tensor *d_o,
                                    struct fa_tensor gradients[3], struct gpu_guarded_seen *seen,
                                    struct fa_error *error)
{
    static const char *const names[] = {"Q", "K", "V", "O", "LSE", "dO", "dQ", "dK", "dV"};
    const struct fa_tensor *const inputs[] = {call->q, call->k, call->v};
    struct fa_tensor *const results[] = {NULL, NULL,          NULL,          NULL,         NULL,
                                         NULL, &gradients[0], &gradients[1], &gradients[2]};
    struct session session;
    struct fa_problem p;
    memset(seen, 0, sizeof *seen);
    enum fa_status status = open_session(&session, call, &p, error);
    if (status == FA_OK)
        status = upload(&session, p.dtype, o->shape, call->layout, o, error);
    if (status == FA_OK)
        status = upload(&session, FA_F32, lse->shape, GPU_BHSD, lse, error);
    if (status == FA_OK)
        status = upload(&session, p.dtype, d_o->shape, call->layout, d_o, error);
    for (int i = 0; i < 3 && status == FA_OK; i++)
        status = upload(&session, p.dtype, inputs[i]->shape, call->layout, NULL, error);
    if (status == FA_OK)
        status = take_workspace(&session, call, &p, true, seen, error);
    if (status == FA_OK) {
        const struct on_device *t = session.tensors;
        const struct gpu_backward tensors = {t[0].tensor, t[1].tensor, t[2].tensor,
                                             t[3].tensor, t[4].tensor, t[5].tensor,
                                             t[6].tensor, t[7].tensor, t[8].tensor};
        status = call->rung->backward(&p, &tensors, &session.options, error);
        seen->refused = status != FA_OK && status != FA_IO;
    }
    status = finish(&session, names, 6, status, results, seen, error);
    release(&session);
    return status;
}
