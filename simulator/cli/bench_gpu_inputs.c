/* The list of what is measured, and the device memory that it needs. */
#include "simulator/cli/bench_gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reference/profile.h"

/* A prime number of normal numbers, laid end to end: no two heads begin alike. */
enum { BLOCK = 4194301, SETS_MOST = 1024 };

static int64_t elements_of(const struct fa_problem *p)
{
    return p->batch * p->heads * p->nq * p->d;
}

static struct gpu_tensor tensor_of(char *data, const struct fa_problem *p, int64_t columns)
{
    return (struct gpu_tensor){data, {p->heads * p->nq * columns, p->nq * columns, columns, 1}};
}

void bench_gpu_tensors(const struct bench_gpu *bench, const struct bench_gpu_length *length,
                       int set, struct gpu_forward *forward, struct gpu_backward *backward)
{
    const struct fa_problem *p = &length->problem;
    const int64_t part = elements_of(p) * (int64_t)fa_dtype_bytes(p->dtype);
    const int64_t rows = p->batch * p->heads * p->nq;
    struct gpu_tensor t[4], d[3];
    for (int i = 0; i < 4; i++)
        t[i] = tensor_of(bench->inputs + set * bench->set_bytes + i * part, p, p->d);
    for (int i = 0; i < 3 && bench->gradients; i++)
        d[i] = tensor_of(bench->gradients + i * part, p, p->d);
    struct gpu_tensor o = tensor_of(length->o + set * part, p, p->d);
    struct gpu_tensor lse = tensor_of(length->lse + set * rows * 4, p, 1);
    *forward = (struct gpu_forward){t[0], t[1], t[2], o, lse};
    if (bench->gradients)
        *backward = (struct gpu_backward){t[0], t[1], t[2], o, lse, t[3], d[0], d[1], d[2]};
}

static enum fa_status upload_pattern(const char *pattern, size_t block_bytes, char *to,
                                     int64_t bytes, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int64_t at = 0; at < bytes && status == FA_OK; at += (int64_t)block_bytes) {
        size_t n = bytes - at < (int64_t)block_bytes ? (size_t)(bytes - at) : block_bytes;
        status = gpu_memory_upload(to + at, pattern, n, error);
    }
    return status;
}

/* Random normal numbers over all inputs, and at the beginning of the ceilings' scratch. */
static enum fa_status fill_inputs(struct bench_gpu *bench, struct fa_error *error)
{
    enum fa_dtype dtype = (enum fa_dtype)bench->options->dtype;
    const int64_t bytes = bench->n_sets * bench->set_bytes;
    const int64_t needed = bytes / (int64_t)fa_dtype_bytes(dtype) + 1;
    const int64_t block = needed < BLOCK ? needed : BLOCK, shape[4] = {1, 1, block, 1};
    const int64_t scratch_bytes = gpu_ceiling_bytes(&bench->device);
    struct fa_problem problem = fa_problem_make(block, 1, 1);
    struct fa_tensor q, none = {0};
    problem.dtype = dtype;
    enum fa_status status = fa_tensor_create(&q, dtype, shape, error);
    if (status != FA_OK)
        return status;
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &problem, &q, &none, &none);
    const size_t block_bytes = (size_t)block * fa_dtype_bytes(dtype);
    status = upload_pattern(q.data, block_bytes, bench->inputs, bytes, error);
    if (status == FA_OK)
        status = gpu_memory_fill(bench->scratch, 0x3c, (size_t)scratch_bytes, error);
    if (status == FA_OK)
        status = upload_pattern(q.data, block_bytes, bench->scratch, 1 << 18, error);
    fa_tensor_free(&q);
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

static double flops_of(const struct fa_problem *p, bool backward)
{
    double flops =
        4.0 * (double)(p->batch * p->heads) * (double)p->nq * (double)p->nk * (double)p->d;
    return flops * (p->causal ? 0.5 : 1) * (backward ? 2.5 : 1);
}

static enum fa_status make_length(struct bench_gpu *bench, int index, struct fa_error *error)
{
    const struct bench_gpu_options *o = bench->options;
    const int64_t n = o->n[index];
    struct fa_problem p = fa_problem_make(n, n, o->d);
    p.dtype = (enum fa_dtype)o->dtype;
    p.batch = o->tokens / n > 0 ? o->tokens / n : 1;
    p.heads = p.kv_heads = o->heads;
    p.causal = o->causal ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_NONE;
    bench->lengths[index].problem = p;
    return fa_problem_check(&p, error);
}

static bool is_asked_for(const struct bench_gpu_options *options, const struct gpu_rung *rung)
{
    for (int i = 0; i < options->n_rungs; i++)
        if (options->rungs[i] == rung)
            return true;
    return options->n_rungs == 0;
}

/* A rung that does not take the problem stays in the list, with its reason. */
static void add_rung(struct bench_gpu *bench, const struct gpu_rung *rung,
                     const struct bench_gpu_length *length)
{
    struct bench_gpu_entry *entry = &bench->entries[bench->n_entries++];
    bool backward = bench->options->backward;
    struct fa_error error = {FA_OK, ""};
    int64_t bytes = 0, most = bench->device.memory_bytes / 2;
    entry->rung = rung;
    entry->length = length;
    entry->work = flops_of(&length->problem, backward);
    if (backward && !rung->backward)
        snprintf(entry->refused, sizeof entry->refused, "it has no backward pass");
    else if (rung->workspace_bytes(&length->problem, backward, &bytes, &error) != FA_OK)
        snprintf(entry->refused, sizeof entry->refused, "%.250s", error.text);
    else if (most > 0 && bytes > most)
        snprintf(entry->refused, sizeof entry->refused,
                 "its workspace of %.1f GiB is more than half of the device's memory",
                 (double)bytes / (1 << 30));
    else if (bytes > bench->workspace_bytes)
        bench->workspace_bytes = bytes;
}

static enum fa_status list_entries(struct bench_gpu *bench, struct fa_error *error)
{
    const struct bench_gpu_options *options = bench->options;
    enum fa_status status = FA_OK;
    for (int i = 0; i < options->n_lengths && status == FA_OK; i++)
        status = make_length(bench, i, error);
    for (int r = 0; r < gpu_rung_count && r < BENCH_GPU_RUNGS && status == FA_OK; r++)
        for (int i = 0; i < options->n_lengths && is_asked_for(options, gpu_rungs[r]); i++)
            add_rung(bench, gpu_rungs[r], &bench->lengths[i]);
    for (int c = 0; c < GPU_CEILINGS && status == FA_OK; c++)
        bench->entries[bench->n_entries++].ceiling = (enum gpu_ceiling)c;
    const size_t values = (size_t)bench->n_entries * (size_t)options->repeats * 2;
    double *memory = status == FA_OK ? calloc(values, sizeof *memory) : NULL;
    if (status == FA_OK && !memory)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for %zu measurements", values);
    for (int e = 0; e < bench->n_entries && status == FA_OK; e++) {
        bench->entries[e].ms = memory + (size_t)e * 2 * (size_t)options->repeats;
        bench->entries[e].ghz = bench->entries[e].ms + options->repeats;
    }
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum fa_status take(char **memory, int64_t bytes, struct fa_error *error)
{
    void *taken = NULL;
    enum fa_status status = gpu_memory_take((size_t)bytes, &taken, error);
    if (status == FA_OK)
        *memory = taken;
    else if (status == FA_NO_MEMORY)
        status = fa_fail(error, FA_NO_MEMORY,
                         "the device has no %.2f GiB more: try fewer --tokens, --heads or lengths",
                         (double)bytes / (1 << 30));
    return status;
}

static enum fa_status take_memory(struct bench_gpu *bench, struct fa_error *error)
{
    const struct bench_gpu_options *options = bench->options;
    const int64_t size = (int64_t)fa_dtype_bytes((enum fa_dtype)options->dtype);
    int64_t largest = 0;
    char *workspace = NULL, *scratch = NULL, *clock = NULL;
    enum fa_status status = FA_OK;
    for (int i = 0; i < options->n_lengths; i++) {
        int64_t elements = elements_of(&bench->lengths[i].problem);
        largest = elements > largest ? elements : largest;
    }
    /* Tensors begin at multiples of 256 bytes whatever the sizes are. */
    bench->set_bytes = (4 * largest * size + 255) / 256 * 256;
    bench->n_sets = 2 + (int)(2 * bench->device.l2_bytes / bench->set_bytes);
    bench->n_sets = bench->n_sets < SETS_MOST ? bench->n_sets : SETS_MOST;
    status = take(&bench->inputs, bench->n_sets * bench->set_bytes, error);
    for (int i = 0; i < options->n_lengths && status == FA_OK; i++) {
        struct bench_gpu_length *length = &bench->lengths[i];
        int64_t elements = elements_of(&length->problem);
        status = take(&length->o, bench->n_sets * elements * size, error);
        if (status == FA_OK)
            status = take(&length->lse, bench->n_sets * elements / options->d * 4, error);
    }
    if (status == FA_OK && options->backward)
        status = take(&bench->gradients, 3 * largest * size, error);
    if (status == FA_OK)
        status = take(&workspace, bench->workspace_bytes, error);
    bench->workspace = workspace;
    if (status == FA_OK)
        status = take(&scratch, gpu_ceiling_bytes(&bench->device), error);
    bench->scratch = scratch;
    if (status == FA_OK)
        status = take(&clock, BENCH_GPU_CLOCK_BYTES, error);
    bench->clock = clock;
    return status;
}

enum fa_status bench_gpu_open(struct bench_gpu *bench, struct fa_error *error)
{
    enum fa_status status = gpu_device_find(&bench->device, error);
    if (status == FA_OK)
        status = list_entries(bench, error);
    if (status == FA_OK)
        status = take_memory(bench, error);
    if (status == FA_OK)
        status = fill_inputs(bench, error);
    return status;
}

void bench_gpu_close(struct bench_gpu *bench)
{
    if (bench->n_entries > 0)
        free(bench->entries[0].ms);
    for (int i = 0; i < BENCH_GPU_LENGTHS; i++) {
        gpu_memory_free(bench->lengths[i].o);
        gpu_memory_free(bench->lengths[i].lse);
    }
    gpu_memory_free(bench->inputs);
    gpu_memory_free(bench->gradients);
    gpu_memory_free(bench->workspace);
    gpu_memory_free(bench->scratch);
    gpu_memory_free(bench->clock);
}
