#include "simulator/cli/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "reference/visibility.h"

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

/* Elements of the matrices of nq x nk that an algorithm keeps in HBM. */
static double matrix_elements(const struct fa_algorithm *algorithm, const struct fa_problem *p,
                              bool backward)
{
    double matrix = (double)p->nq * (double)p->nk;
    double all = matrix * (double)p->batch * (double)p->heads;
    double forward = algorithm->stores_scores + algorithm->stores_weights;
    if (algorithm->stores_scores && p->dropout_p > 0)
        forward += 2; /* the dropped P, and a mask that is narrower */
    if (!algorithm->stores_weights)
        return 0;
    if (backward)
        return all * (forward + 2);                             /* with dP and dS */
    return forward * (algorithm->stores_scores ? matrix : all); /* standard works head by head */
}

/* Bytes of q, k, v, o, of as much again for the gradients, and of what the hungriest of the
 * algorithms keeps beside them. */
static enum fa_status check_memory(const struct cli_problem *options,
                                   const struct fa_problem *problem, enum cli_need need,
                                   struct fa_error *error)
{
    double size = (double)fa_dtype_bytes(problem->dtype), extra = 0;
    double queries = (double)problem->batch * (double)problem->heads * (double)problem->nq;
    double keys = (double)problem->batch * (double)problem->kv_heads * (double)problem->nk;
    double columns = (double)problem->d + (double)problem->dv;
    bool backward = options->pass != SIM_FORWARD;
    for (int i = 0; need == CLI_NEED_OUTPUTS && i < options->n_algorithms; i++)
        extra = fmax(extra, matrix_elements(options->algorithms[i], problem, backward));
    return cli_check_memory(size * ((1 + backward) * columns * (queries + keys) + extra),
                            "the problem's tensors", error);
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
                                  bool backward, struct fa_error *error)
{
    const struct fa_tensor *q = &inputs->q, *k = &inputs->k, *v = &inputs->v, *o = &inputs->dout;
    const struct agreement agreements[] = {
        {"k.npy", "batch as in q.npy", k->shape[0], q->shape[0]},
        {"k.npy", "d as in q.npy", k->shape[3], q->shape[3]},
        {"v.npy", "batch as in q.npy", v->shape[0], q->shape[0]},
        {"v.npy", "heads as in k.npy", v->shape[1], k->shape[1]},
        {"v.npy", "seq as in k.npy", v->shape[2], k->shape[2]},
        /* Of a backward pass alone. */
        {"do.npy", "batch as in q.npy", o->shape[0], q->shape[0]},
        {"do.npy", "heads as in q.npy", o->shape[1], q->shape[1]},
        {"do.npy", "seq as in q.npy", o->shape[2], q->shape[2]},
        {"do.npy", "d as in v.npy", o->shape[3], v->shape[3]},
    };
    size_t n = sizeof agreements / sizeof *agreements - (backward ? 0 : 4);
    for (size_t i = 0; i < n; i++)
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
    bool backward = options->pass != SIM_FORWARD;
    if (status == FA_OK && backward)
        status = read_tensor(options, "do.npy", &inputs->dout, &inputs->rank, error);
    if (status == FA_OK)
        status = check_files(inputs, options->in, backward, error);
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
    if (status != FA_OK || options->pass == SIM_FORWARD)
        return status;
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    status = cli_tensor_create(&inputs->dout, p->dtype, inputs->layout, o, error);
    if (status == FA_OK)
        fa_profile_fill_dout((uint64_t)options->seed, p, &inputs->dout);
    return status;
}

/* --mask, --bias or --dropout-mask: leading axes that the file lacks are 1. */
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

/* NaN in the shape and layout of an input. */
static enum fa_status make_gradient(const struct cli_inputs *inputs, const struct fa_tensor *like,
                                    struct fa_tensor *gradient, struct fa_error *error)
{
    enum fa_status status =
        cli_tensor_create(gradient, inputs->problem.dtype, inputs->layout, like->shape, error);
    if (status == FA_OK)
        cli_tensor_poison(gradient);
    return status;
}

static enum fa_status make_outputs(struct cli_inputs *inputs, bool backward, struct fa_error *error)
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
    if (status == FA_OK && backward)
        status = make_gradient(inputs, &inputs->q, &inputs->dq, error);
    if (status == FA_OK && backward)
        status = make_gradient(inputs, &inputs->k, &inputs->dk, error);
    if (status == FA_OK && backward)
        status = make_gradient(inputs, &inputs->v, &inputs->dv, error);
    return status;
}

/* All masks and the bias; the block mask's file too, though its size can't be judged yet. */
static enum fa_status read_modifiers(struct cli_inputs *inputs, const struct cli_problem *options,
                                     struct fa_error *error)
{
    struct fa_problem *p = &inputs->problem;
    struct fa_error inner;
    enum fa_status status =
        read_modifier("mask", options->mask_path, FA_U8, p, &inputs->mask, &p->mask, error);
    if (status == FA_OK)
        status = read_modifier("bias", options->bias_path, options->dtype, p, &inputs->bias,
                               &p->bias, error);
    if (status == FA_OK)
        status = read_modifier("dropout-mask", options->dropout_mask_path, FA_U8, p, &inputs->keep,
                               &p->dropout_keep, error);
    if (status != FA_OK || !options->block_mask_path)
        return status;
    status = fa_npy_read(options->block_mask_path, FA_U8, &inputs->block_file, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--block-mask: %s", inner.text);
    if (inputs->block_file.rank != 2)
        return fa_fail(error, FA_BAD_FILE,
                       "--block-mask: %s: %d axes: expected 2, the run's Tr x Tc tiles",
                       options->block_mask_path, inputs->block_file.rank);
    return FA_OK;
}

enum fa_status cli_inputs_block(struct cli_inputs *inputs, const struct cli_problem *options,
                                int64_t br, int64_t bc, struct fa_error *error)
{
    struct fa_problem *p = &inputs->problem;
    const int64_t *shape = inputs->block_file.shape;
    const struct fa_block_pattern pattern = cli_pattern(options);
    int64_t rows = fa_tile_count(p->nq, br), columns = fa_tile_count(p->nk, bc);
    enum fa_status status = FA_OK;
    if (inputs->blocks_made)
        fa_block_mask_free(&inputs->blocks);
    inputs->blocks_made = false;
    p->blocks = NULL;
    if (options->block_mask_path) {
        if (shape[0] != rows || shape[1] != columns)
            return fa_fail(error, FA_BAD_FILE,
                           "--block-mask: %s: %" PRId64 "x%" PRId64 ": expected %" PRId64
                           "x%" PRId64 ", Tr x Tc of tiles of %" PRId64 "x%" PRId64,
                           options->block_mask_path, shape[0], shape[1], rows, columns, br, bc);
        inputs->blocks = (struct fa_block_mask){br, bc, rows, columns, inputs->block_file.data};
    } else if (options->pattern_given) {
        status = cli_check_memory((double)rows * (double)columns, "the block mask", error);
        if (status == FA_OK)
            status = fa_block_pattern_make(&pattern, p->nq, p->nk, br, bc, &inputs->blocks, error);
        inputs->blocks_made = status == FA_OK;
    } else {
        return FA_OK;
    }
    if (status == FA_OK)
        p->blocks = &inputs->blocks;
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
        status = read_modifiers(inputs, &options, error);
    if (status == FA_OK && !options.in) {
        inputs->rank = 4;
        if (need != CLI_NEED_SHAPES)
            status = make_inputs(inputs, &options, error);
    }
    if (status == FA_OK && need == CLI_NEED_OUTPUTS)
        status = make_outputs(inputs, options.pass != SIM_FORWARD, error);
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
    fa_tensor_free(&inputs->dout);
    fa_tensor_free(&inputs->dq);
    fa_tensor_free(&inputs->dk);
    fa_tensor_free(&inputs->dv);
    fa_tensor_free(&inputs->mask);
    fa_tensor_free(&inputs->bias);
    fa_tensor_free(&inputs->keep);
    if (inputs->blocks_made)
        fa_block_mask_free(&inputs->blocks);
    fa_npy_free(&inputs->block_file);
    memset(inputs, 0, sizeof *inputs);
}
