/* What ncu profiles: a rung, launched once. */
#include "reference/profile.h"
#include "simulator/cli/counters_command.h"

/* A prime number of normal numbers, laid end to end: no two heads begin alike. */
enum { BLOCK = 1048573 };

/* Device memory of one call. */
struct launch {
    struct fa_problem problem;
    struct fa_tensor block; /* random numbers of the problem's dtype */
    struct gpu_forward forward;
    struct gpu_backward backward;
    void *workspace;
};

static struct gpu_tensor tensor_of(int64_t heads, int64_t rows, int64_t columns)
{
    return (struct gpu_tensor){NULL, {heads * rows * columns, rows * columns, columns, 1}};
}

/* Takes the memory of a tensor of batch x heads x rows x columns elements; `fill` with numbers. */
static enum fa_status take(const struct launch *launch, struct gpu_tensor *tensor, size_t size,
                           bool fill, struct fa_error *error)
{
    int64_t n = launch->problem.batch * tensor->stride[0];
    const size_t bytes = (size_t)n * size, block = BLOCK * size;
    if (n > INT64_MAX / 16)
        return fa_fail(error, FA_TOO_LARGE, "a tensor is past 2^59 elements");
    enum fa_status status = gpu_memory_take(bytes > 0 ? bytes : 1, &tensor->data, error);
    for (size_t at = 0; fill && at < bytes && status == FA_OK; at += block)
        status = gpu_memory_upload((char *)tensor->data + at, launch->block.data,
                                   bytes - at < block ? bytes - at : block, error);
    return status;
}

static enum fa_status take_all(struct launch *launch, bool backward, struct fa_error *error)
{
    const struct fa_problem *p = &launch->problem;
    struct gpu_forward *f = &launch->forward;
    struct gpu_backward *b = &launch->backward;
    struct gpu_tensor q = tensor_of(p->heads, p->nq, p->d), o = tensor_of(p->heads, p->nq, p->dv);
    struct gpu_tensor k = tensor_of(p->kv_heads, p->nk, p->d);
    struct gpu_tensor v = tensor_of(p->kv_heads, p->nk, p->dv);
    const struct {
        struct gpu_tensor *tensor;
        struct gpu_tensor shape;
        bool fill, backward;
    } all[] = {
        {&f->q, q, true, false},  {&f->k, k, true, false},  {&f->v, v, true, false},
        {&f->o, o, false, false}, {&b->d_o, o, true, true}, {&b->dq, q, false, true},
        {&b->dk, k, false, true}, {&b->dv, v, false, true},
    };
    enum fa_status status = FA_OK;
    for (size_t t = 0; t < sizeof all / sizeof *all && status == FA_OK; t++) {
        *all[t].tensor = all[t].shape;
        if (backward || !all[t].backward)
            status = take(launch, all[t].tensor, fa_dtype_bytes(p->dtype), all[t].fill, error);
    }
    f->lse = tensor_of(p->heads, p->nq, 1);
    if (status == FA_OK)
        status = take(launch, &f->lse, 4, false, error);
    b->q = f->q;
    b->k = f->k;
    b->v = f->v;
    b->o = f->o;
    b->lse = f->lse;
    return status;
}

static void free_all(struct launch *launch)
{
    void *const memory[] = {
        launch->forward.q.data,   launch->forward.k.data,   launch->forward.v.data,
        launch->forward.o.data,   launch->forward.lse.data, launch->backward.d_o.data,
        launch->backward.dq.data, launch->backward.dk.data, launch->backward.dv.data,
        launch->workspace,
    };
    for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
        gpu_memory_free(memory[m]);
    fa_tensor_free(&launch->block);
}

static enum fa_status take_workspace(struct launch *launch, const struct gpu_rung *rung,
                                     bool backward, struct fa_error *error)
{
    int64_t bytes = 0;
    gpu_memory_free(launch->workspace);
    launch->workspace = NULL;
    enum fa_status status = rung->workspace_bytes(&launch->problem, backward, &bytes, error);
    if (status == FA_OK && bytes > 0)
        status = gpu_memory_take((size_t)bytes, &launch->workspace, error);
    return status;
}

enum fa_status counters_launch(const struct counters *counters, struct fa_error *error)
{
    const struct gpu_rung *rung = counters->rung;
    bool backward = counters->options.pass != SIM_FORWARD;
    struct launch launch = {.problem = counters->problem};
    const int64_t shape[4] = {1, 1, BLOCK, 1};
    struct fa_problem numbers = fa_problem_make(BLOCK, 1, 1);
    const struct fa_tensor none = {0};

    numbers.dtype = launch.problem.dtype;
    enum fa_status status = fa_tensor_create(&launch.block, numbers.dtype, shape, error);
    if (status != FA_OK)
        return status;
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &numbers, &launch.block, &none, &none);
    status = take_all(&launch, backward, error);
    if (status == FA_OK)
        status = take_workspace(&launch, rung, false, error);
    struct gpu_options options = {.workspace = launch.workspace};
    if (status == FA_OK)
        status = rung->forward(&launch.problem, &launch.forward, &options, error);
    if (status == FA_OK)
        status = gpu_wait(error);
    if (status == FA_OK && backward)
        status = take_workspace(&launch, rung, true, error);
    options = (struct gpu_options){.workspace = launch.workspace,
                                   .deterministic = counters->deterministic};
    if (status == FA_OK && backward)
        status = rung->backward(&launch.problem, &launch.backward, &options, error);
    if (status == FA_OK)
        status = gpu_wait(error);
    free_all(&launch);
    return status;
}
