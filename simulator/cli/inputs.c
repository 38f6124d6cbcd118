#include "simulator/cli/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Where the axes [batch, heads, rows, columns] stand in a file of rank 4. */
static const int axis_order[2][4] = {[CLI_BHSD] = {0, 1, 2, 3}, [CLI_BSHD] = {0, 2, 1, 3}};

static void set_strides(struct fa_tensor *tensor, enum cli_layout layout)
{
    int64_t stride = 1;
    for (int at = 3; at >= 0; at--) {
        int axis = axis_order[layout][at];
        tensor->stride[axis] = stride;
        stride *= tensor->shape[axis];
    }
}

enum fa_status cli_tensor_create(struct fa_tensor *tensor, enum fa_dtype dtype,
                                 enum cli_layout layout, const int64_t shape[4],
                                 struct fa_error *error)
{
    enum fa_status status = fa_tensor_create(tensor, dtype, shape, error);
    if (status == FA_OK)
        set_strides(tensor, layout);
    return status;
}

void cli_tensor_poison(const struct fa_tensor *tensor)
{
    int64_t n = tensor->shape[0] * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(tensor->dtype, tensor->data, i, NAN);
}

enum fa_status cli_check_memory(double bytes, const char *what, struct fa_error *error)
{
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (all > 0 && bytes > all)
        return fa_fail(error, FA_NO_MEMORY,
                       "%.1f GiB of memory for %s: this computer has %.1f GiB; expected a smaller "
                       "problem",
                       bytes / 0x1p30, what, all / 0x1p30);
    return FA_OK;
}

/* Bytes of q, k, v, o, lse, and of what the hungriest of the algorithms keeps beside them. */
static enum fa_status check_memory(const struct cli_problem *options,
                                   const struct fa_problem *problem, enum cli_need need,
                                   struct fa_error *error)
{
    double size = (double)fa_dtype_bytes(problem->dtype), extra = 0;
    double queries = (double)problem->batch * (double)problem->heads * (double)problem->nq;
    double keys = (double)problem->batch * (double)problem->kv_heads * (double)problem->nk;
    double columns = (double)problem->d + (double)problem->dv;
    for (int i = 0; need == CLI_NEED_OUTPUTS && i < options->n_algorithms; i++) {
        const struct fa_algorithm *algorithm = options->algorithms[i];
        double own = 0;
        if (algorithm->stores_scores) /* S and P of one head at a time. */
            own = 2 * size * (double)problem->nq * (double)problem->nk;
        else if (algorithm->stores_weights)
            own = size * queries * (double)problem->nk;
        extra = fmax(extra, own);
    }
    return cli_check_memory(size * columns * (queries + keys) + extra, "the problem's tensors",
                            error);
}

/* A file of q, k or v as a tensor of the logical axes. */
static enum fa_status read_tensor(const struct cli_problem *options, const char *name,
                                  struct fa_tensor *tensor, int *rank, struct fa_error *error)
{
    char path[4096];
    struct fa_npy array;
    struct fa_tensor made = {.dtype = options->dtype, .shape = {1, 1, 1, 1}};
    if ((size_t)snprintf(path, sizeof path, "%s/%s", options->in, name) >= sizeof path)
        return fa_fail(error, FA_BAD_ARGUMENT, "--in: expected a path of less than 4096 bytes");
    enum fa_status status = fa_npy_read(path, options->dtype, &array, error);
    if (status != FA_OK)
        return status;
    if (array.rank < 2 || array.rank > 4 || (*rank && array.rank != *rank)) {
        if (*rank)
            fa_fail(error, FA_BAD_FILE, "%s: %d axes: expected %d, as in q.npy", path, array.rank,
                    *rank);
        else
            fa_fail(error, FA_BAD_FILE,
                    "%s: %d axes: expected 4 (batch, heads, seq, d), 3 (no batch) or 2 (seq, d)",
                    path, array.rank);
        fa_npy_free(&array);
        return FA_BAD_FILE;
    }
    for (int i = 0; i < array.rank; i++) {
        int at = 4 - array.rank + i;
        made.shape[array.rank == 2 ? at : axis_order[options->layout][at]] = array.shape[i];
    }
    made.data = made.memory = array.data;
    set_strides(&made, (enum cli_layout)options->layout);
    *tensor = made;
    *rank = array.rank;
    return FA_OK;
}

/* One size that two files must agree on. */
struct agreement {
    const char *file, *what;
    int64_t got, expected;
};

static enum fa_status check_files(const struct cli_inputs *inputs, const char *folder,
                                  struct fa_error *error)
{
    const struct fa_tensor *q = &inputs->q, *k = &inputs->k, *v = &inputs->v;
    const struct agreement agreements[] = {
        {"k.npy", "batch as in q.npy", k->shape[0], q->shape[0]},
        {"k.npy", "d as in q.npy", k->shape[3], q->shape[3]},
        {"v.npy", "batch as in q.npy", v->shape[0], q->shape[0]},
        {"v.npy", "heads as in k.npy", v->shape[1], k->shape[1]},
        {"v.npy", "seq as in k.npy", v->shape[2], k->shape[2]},
    };
    for (size_t i = 0; i < sizeof agreements / sizeof *agreements; i++)
        if (agreements[i].got != agreements[i].expected)
            return fa_fail(error, FA_BAD_FILE, "%s/%s: %" PRId64 ": expected %" PRId64 ", the %s",
                           folder, agreements[i].file, agreements[i].got, agreements[i].expected,
                           agreements[i].what);
    if (q->shape[3] < 1 || v->shape[3] < 1)
        return fa_fail(error, FA_BAD_FILE, "%s/%s: a last axis of 0: expected 1 or more", folder,
                       q->shape[3] < 1 ? "q.npy" : "v.npy");
    return FA_OK;
}

/* The sizes of the files in place of the options', which may only repeat them. */
static enum fa_status take_sizes(const struct cli_inputs *inputs, struct cli_problem *options,
                                 struct fa_error *error)
{
    const int64_t *q = inputs->q.shape, *k = inputs->k.shape, *v = inputs->v.shape;
    const struct {
        const char *option, *file;
        int64_t given, size;
    } sizes[] = {
        {"batch", "q.npy", options->batch, q[0]},
        {"heads", "q.npy", options->heads, q[1]},
        {"kv-heads", "k.npy", options->kv_heads, k[1]},
        {"n", "q.npy", options->n, q[2]},
        {"n", "k.npy", options->n, k[2]},
        {"nq", "q.npy", options->nq, q[2]},
        {"nk", "k.npy", options->nk, k[2]},
        {"d", "q.npy", options->d, q[3]},
        {"dv", "v.npy", options->dv, v[3]},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].given >= 0 && sizes[i].given != sizes[i].size)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "--%s %" PRId64 ": expected %" PRId64 ", as %s/%s has it (or no --%s)",
                           sizes[i].option, sizes[i].given, sizes[i].size, options->in,
                           sizes[i].file, sizes[i].option);
    options->batch = q[0];
    options->heads = q[1];
    options->kv_heads = k[1];
    options->n = -1;
    options->nq = q[2];
    options->nk = k[2];
    options->d = q[3];
    options->dv = v[3];
    return FA_OK;
}

static enum fa_status read_inputs(struct cli_inputs *inputs, struct cli_problem *options,
                                  struct fa_error *error)
{
    enum fa_status status = read_tensor(options, "q.npy", &inputs->q, &inputs->rank, error);
    if (status == FA_OK)
        status = read_tensor(options, "k.npy", &inputs->k, &inputs->rank, error);
    if (status == FA_OK)
        status = read_tensor(options, "v.npy", &inputs->v, &inputs->rank, error);
    if (status == FA_OK)
        status = check_files(inputs, options->in, error);
    if (status == FA_OK)
        status = take_sizes(inputs, options, error);
    return status;
}

static enum fa_status make_inputs(struct cli_inputs *inputs, const struct cli_problem *options,
                                  struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    enum fa_status status = cli_tensor_create(&inputs->q, p->dtype, inputs->layout, q, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->k, p->dtype, inputs->layout, k, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->v, p->dtype, inputs->layout, v, error);
    if (status == FA_OK)
        fa_profile_fill(options->profile, (uint64_t)options->seed, p, &inputs->q, &inputs->k,
                        &inputs->v);
    return status;
}

/* --mask or --bias: leading axes that the file lacks are 1. */
static enum fa_status read_modifier(const char *option, const char *path, enum fa_dtype dtype,
                                    const struct fa_problem *problem, struct fa_tensor *tensor,
                                    const struct fa_tensor **field, struct fa_error *error)
{
    struct fa_npy array;
    struct fa_error inner;
    int64_t shape[4] = {1, 1, 1, 1};
    if (!path)
        return FA_OK;
    enum fa_status status = fa_npy_read(path, dtype, &array, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--%s: %s", option, inner.text);
    if (array.rank > 4) {
        fa_fail(error, FA_BAD_FILE, "--%s: %s: %d axes: expected at most 4, [batch, heads, nq, nk]",
                option, path, array.rank);
        fa_npy_free(&array);
        return FA_BAD_FILE;
    }
    for (int i = 0; i < array.rank; i++)
        shape[4 - array.rank + i] = array.shape[i];
    *tensor = fa_tensor_view(dtype, shape, array.data);
    tensor->memory = array.data;
    *field = tensor;
    status = fa_problem_check(problem, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--%s: %s: %s", option, path, inner.text);
    return FA_OK;
}

static enum fa_status make_outputs(struct cli_inputs *inputs, struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    enum fa_status status = cli_tensor_create(&inputs->o, p->dtype, inputs->layout, o, error);
    if (status == FA_OK)
        status =
            cli_tensor_create(&inputs->lse, fa_hbm_format(p, FA_LSE), inputs->layout, lse, error);
    if (status == FA_OK) {
        cli_tensor_poison(&inputs->o);
        cli_tensor_poison(&inputs->lse);
    }
    return status;
}

enum fa_status cli_inputs_open(struct cli_inputs *inputs, const struct cli_problem *given,
                               enum cli_need need, struct fa_error *error)
{
    struct cli_problem options = *given;
    memset(inputs, 0, sizeof *inputs);
    inputs->layout = (enum cli_layout)options.layout;
    enum fa_status status = cli_problem_check(&options, error);
    if (status == FA_OK && options.in)
        status = read_inputs(inputs, &options, error);
    if (status == FA_OK)
        status = cli_problem_make(&options, &inputs->problem, error);
    if (status == FA_OK && need != CLI_NEED_SHAPES)
        status = check_memory(&options, &inputs->problem, need, error);
    if (status == FA_OK)
        status = read_modifier("mask", options.mask_path, FA_U8, &inputs->problem, &inputs->mask,
                               &inputs->problem.mask, error);
    if (status == FA_OK)
        status = read_modifier("bias", options.bias_path, options.dtype, &inputs->problem,
                               &inputs->bias, &inputs->problem.bias, error);
    if (status == FA_OK && !options.in) {
        inputs->rank = 4;
        if (need != CLI_NEED_SHAPES)
            status = make_inputs(inputs, &options, error);
    }
    if (status == FA_OK && need == CLI_NEED_OUTPUTS)
        status = make_outputs(inputs, error);
    if (status != FA_OK)
        cli_inputs_close(inputs);
    return status;
}

void cli_inputs_close(struct cli_inputs *inputs)
{
    fa_tensor_free(&inputs->q);
    fa_tensor_free(&inputs->k);
    fa_tensor_free(&inputs->v);
    fa_tensor_free(&inputs->o);
    fa_tensor_free(&inputs->lse);
    fa_tensor_free(&inputs->mask);
    fa_tensor_free(&inputs->bias);
    memset(inputs, 0, sizeof *inputs);
}
