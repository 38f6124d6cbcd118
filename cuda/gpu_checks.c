#include "cuda/gpu_checks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Rows and keys of one head are int in the kernels, with room for a diagonal's shift. */
enum { SIDE_MOST = (1 << 30) - 1 };

/* One tensor of a call: its shape, and where its bytes lie. */
struct placed {
    const char *name;
    const struct gpu_tensor *tensor;
    int64_t shape[4];
    int64_t bytes; /* of an element */
    bool output;
    uintptr_t begin, end;
};

enum fa_status gpu_problem_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                 struct fa_error *error)
{
    const struct fa_problem *p = problem;
    if (p->mask || p->bias || p->dropout_keep)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s takes no element mask, bias or keep mask: these are host tensors of the "
                       "reference",
                       limits->rung);
    if (p->blocks)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the problem's block mask lies in host memory: expected it in gpu_options, "
                       "with its bytes on the device");
    enum fa_status status = fa_problem_check(p, error);
    if (status != FA_OK)
        return status;
    if (!(limits->dtypes >> p->dtype & 1))
        return fa_fail(error, FA_UNSUPPORTED, "%s does not take %s", limits->rung,
                       fa_dtype_name(p->dtype));
    if (p->nq > SIDE_MOST || p->nk > SIDE_MOST)
        return fa_fail(error, FA_TOO_LARGE, "N is %" PRId64 " x %" PRId64 ": at most %d", p->nq,
                       p->nk, SIDE_MOST);
    if (p->heads > SIDE_MOST || p->batch > SIDE_MOST)
        return fa_fail(error, FA_TOO_LARGE, "batch or heads are above %d", SIDE_MOST);
    const int64_t *only = limits->d_only;
    if (only[0] && (p->d != p->dv || (p->d != only[0] && p->d != only[1] && p->d != only[2])))
        return fa_fail(error, FA_UNSUPPORTED, "%s takes d = dv = %s, not %" PRId64 " and %" PRId64,
                       limits->rung, only[2] ? "64, 128 or 256" : "64 or 128", p->d, p->dv);
    if (p->d > limits->d_most || p->dv > limits->d_most)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s takes d and dv up to %" PRId64 ", not %" PRId64 " and %" PRId64,
                       limits->rung, limits->d_most, p->d, p->dv);
    if ((p->window_left >= 0 || p->window_right >= 0) && !limits->window)
        return fa_fail(error, FA_UNSUPPORTED, "%s takes no window", limits->rung);
    if (p->dropout_p > 0 && !limits->dropout)
        return fa_fail(error, FA_UNSUPPORTED, "%s takes no dropout", limits->rung);
    if (limits->positive_scale && (float)p->scale <= 0)
        return fa_fail(error, FA_UNSUPPORTED, "%s takes a scale above 0, not %g", limits->rung,
                       p->scale);
    if (!isfinite((float)p->scale))
        return fa_fail(error, FA_UNSUPPORTED, "scale %g is no finite f32", p->scale);
    return FA_OK;
}

static enum fa_status check_blocks(const struct gpu_limits *limits, const struct fa_problem *p,
                                   const struct fa_block_mask *blocks, struct fa_error *error)
{
    if (!limits->blocks)
        return fa_fail(error, FA_UNSUPPORTED, "%s takes no block mask", limits->rung);
    if (blocks->br < 1 || blocks->bc < 1 || !blocks->visit)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a block mask needs blocks of 1 x 1 or more, and its "
                       "bytes");
    int64_t rows = p->nq / blocks->br + (p->nq % blocks->br != 0);
    int64_t columns = p->nk / blocks->bc + (p->nk % blocks->bc != 0);
    if (blocks->rows != rows || blocks->columns != columns)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the block mask has %" PRId64 " x %" PRId64 " blocks: expected %" PRId64
                       " x %" PRId64,
                       blocks->rows, blocks->columns, rows, columns);
    return FA_OK;
}

/* Where the bytes of a tensor lie, and whether its strides keep the rules. */
static enum fa_status place(struct placed *placed, bool aligned, struct fa_error *error)
{
    const struct gpu_tensor *tensor = placed->tensor;
    int64_t last = 0, all = 1;
    for (int axis = 0; axis < 4; axis++) {
        int64_t n = placed->shape[axis], stride = tensor->stride[axis], reach = 0;
        if (axis == 3)
            stride = 1;
        all = n == 0 ? 0 : all;
        if (stride < 0)
            return fa_fail(error, FA_BAD_ARGUMENT, "%s has a negative stride", placed->name);
        if (n > 1 && (!fa_multiply(n - 1, stride, &reach) || last > INT64_MAX / 16 - reach))
            return fa_fail(error, FA_TOO_LARGE, "%s reaches past 2^63 bytes", placed->name);
        last += reach;
        if (aligned && axis < 3 && n > 1 && stride * placed->bytes % 16 != 0)
            return fa_fail(error, FA_UNSUPPORTED,
                           "%s has rows that do not begin at multiples of 16 bytes", placed->name);
    }
    placed->begin = placed->end = (uintptr_t)tensor->data;
    if (all == 0)
        return FA_OK;
    if (!tensor->data)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s has no data", placed->name);
    if (placed->begin % (uintptr_t)(aligned ? 16 : placed->bytes) != 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s is not aligned to %d bytes", placed->name,
                       aligned ? 16 : (int)placed->bytes);
    placed->end += (uintptr_t)((last + 1) * placed->bytes);
    return FA_OK;
}

/* Bytes from an element to the next one of the axis; 0 where there is no next one. */
static int64_t step_of(const struct placed *placed, int axis)
{
    int64_t stride = axis == 3 ? 1 : placed->tensor->stride[axis];
    return placed->shape[axis] > 1 ? stride * placed->bytes : 0;
}

/* An output's elements must lie apart: sorted by stride, each axis steps over the one before. */
static bool lies_apart(const struct placed *placed)
{
    bool used[4] = {false};
    int64_t reach = placed->bytes; /* behind the last byte of the axes used */
    for (int times = 0; times < 4; times++) {
        int least = -1;
        for (int axis = 0; axis < 4; axis++)
            if (!used[axis] && placed->shape[axis] > 1 &&
                (least < 0 || step_of(placed, axis) < step_of(placed, least)))
                least = axis;
        if (least < 0)
            return true;
        if (step_of(placed, least) < reach)
            return false;
        used[least] = true;
        reach += (placed->shape[least] - 1) * step_of(placed, least);
    }
    return true;
}

/* How far a tensor's bytes reach behind its first one, modulo `period`. */
static int64_t reach_within(const struct placed *placed, int64_t period)
{
    int64_t reach = placed->bytes;
    for (int axis = 0; axis < 4; axis++)
        if (step_of(placed, axis) % period != 0)
            reach += (placed->shape[axis] - 1) * step_of(placed, axis);
    return reach;
}

/* Tensors whose bytes are interleaved, as Q, K and V packed in one row: modulo a stride, here one
 * of a's, both are intervals, and the intervals lie apart. */
static bool interleaves(const struct placed *a, const struct placed *b)
{
    for (int axis = 0; axis < 4; axis++) {
        int64_t period = step_of(a, axis);
        if (period == 0)
            continue;
        int64_t from_a =
            (int64_t)(b->begin % (uintptr_t)period) - (int64_t)(a->begin % (uintptr_t)period);
        from_a += from_a < 0 ? period : 0;
        if (from_a >= reach_within(a, period) && period - from_a >= reach_within(b, period))
            return true;
    }
    return false;
}

static bool overlap(const struct placed *a, const struct placed *b)
{
    return a->begin < b->end && b->begin < a->end && !interleaves(a, b) && !interleaves(b, a);
}

static enum fa_status check_places(struct placed *placed, int n, bool aligned,
                                   struct fa_error *error)
{
    for (int i = 0; i < n; i++) {
        enum fa_status status = place(&placed[i], aligned && placed[i].bytes == 2, error);
        if (status != FA_OK)
            return status;
        if (placed[i].output && placed[i].begin < placed[i].end && !lies_apart(&placed[i]))
            return fa_fail(error, FA_BAD_ARGUMENT, "%s has strides by which its elements overlap",
                           placed[i].name);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j && placed[i].output && overlap(&placed[i], &placed[j]))
                return fa_fail(error, FA_BAD_ARGUMENT, "%s and %s overlap", placed[i].name,
                               placed[j].name);
    return FA_OK;
}

static int clip(int64_t value)
{
    const int64_t far = SIDE_MOST + 1;
    return (int)(value < -far ? -far : value > far ? far : value);
}

/* first and end of struct gpu_head_problem; bounds are clipped before they are added to. */
static void set_band(const struct fa_problem *p, struct gpu_head_problem *head)
{
    int64_t shift = p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq;
    int64_t right = p->window_right;
    if (p->causal != FA_CAUSAL_NONE)
        right = 0; /* a right bound of 0 or more is wider than the diagonal */
    head->first = p->window_left < 0 ? clip(INT64_MIN) : clip(shift - clip(p->window_left));
    head->end = right < 0 ? clip(INT64_MAX) : clip(shift + clip(right) + 1);
}

/* Rows of four elements can be loaded at once. */
static bool has_whole_words(const struct gpu_tensor *tensor, int64_t columns, int64_t bytes)
{
    for (int axis = 0; axis < 3; axis++)
        if (tensor->stride[axis] % 4 != 0)
            return false;
    return columns % 4 == 0 && (uintptr_t)tensor->data % (uintptr_t)(4 * bytes) == 0;
}

static void set_numbers(const struct fa_problem *p, const struct gpu_forward *tensors,
                        const struct fa_block_mask *blocks, struct gpu_head_problem *head)
{
    const int64_t bytes = (int64_t)fa_dtype_bytes(p->dtype);
    *head = (struct gpu_head_problem){
        .q = tensors->q,
        .k = tensors->k,
        .v = tensors->v,
        .o = tensors->o,
        .lse = tensors->lse,
        .nq = (int)p->nq,
        .nk = (int)p->nk,
        .d = (int)p->d,
        .dv = (int)p->dv,
        .heads = (int)p->heads,
        .kv_heads = (int)p->kv_heads,
        .group = p->kv_heads > 0 ? (int)(p->heads / p->kv_heads) : 1,
        .all_heads = p->batch * p->heads,
        .all_kv_heads = p->batch * p->kv_heads,
        .scale = (float)p->scale,
        .whole_words = has_whole_words(&tensors->q, p->d, bytes) &&
                       has_whole_words(&tensors->k, p->d, bytes) &&
                       has_whole_words(&tensors->v, p->dv, bytes),
        .whole_output = has_whole_words(&tensors->o, p->dv, bytes),
        .dropout = p->dropout_p > 0,
        .seed = p->dropout_seed,
        .threshold = (uint64_t)floor(p->dropout_p * 4294967296.0),
        .keep_scale = p->dropout_p < 1 ? (float)(1 / (1 - p->dropout_p)) : 0,
    };
    set_band(p, head);
    if (blocks) {
        head->visit = blocks->visit;
        head->block_br = clip(blocks->br);
        head->block_bc = clip(blocks->bc);
        head->block_columns = (int)blocks->columns;
    }
}

/* What holds for both passes: the problem, the block mask, last axes, the workspace, places. */
static enum fa_status check_call(const struct gpu_limits *limits, const struct fa_problem *p,
                                 const struct gpu_options *options, int64_t workspace_bytes,
                                 struct placed *placed, int n, struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(limits, p, error);
    if (status == FA_OK && options && options->blocks)
        status = check_blocks(limits, p, options->blocks, error);
    if (status != FA_OK)
        return status;
    for (int i = 0; i < n; i++)
        if (placed[i].shape[3] > 1 && placed[i].tensor->stride[3] != 1)
            return fa_fail(error, FA_UNSUPPORTED,
                           "the last axis of %s has a stride of %" PRId64 ": expected 1",
                           placed[i].name, placed[i].tensor->stride[3]);
    if (workspace_bytes > 0 && (!options || (uintptr_t)options->workspace % 256 != 0))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "expected a workspace of %" PRId64 " bytes, aligned to 256",
                       workspace_bytes);
    return check_places(placed, n, limits->aligned, error);
}

static struct placed workspace_of(const struct gpu_options *options, struct gpu_tensor *tensor,
                                  int64_t bytes)
{
    *tensor = (struct gpu_tensor){options ? options->workspace : NULL, {0, 0, 0, 1}};
    return (struct placed){"the workspace", tensor, {1, 1, 1, bytes}, 1, true, 0, 0};
}

/* The bytes of the block mask; none without one. */
static struct placed blocks_of(const struct gpu_options *options, struct gpu_tensor *tensor)
{
    const struct fa_block_mask *blocks = options ? options->blocks : NULL;
    *tensor = (struct gpu_tensor){blocks ? (void *)blocks->visit : NULL, {0, 0, 0, 1}};
    if (blocks)
        tensor->stride[2] = blocks->columns;
    return (struct placed){"the block mask",
                           tensor,
                           {1, 1, blocks ? blocks->rows : 0, blocks ? blocks->columns : 0},
                           1,
                           false,
                           0,
                           0};
}

enum fa_status gpu_forward_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                 const struct gpu_forward *tensors,
                                 const struct gpu_options *options, int64_t workspace_bytes,
                                 struct gpu_head_problem *head, struct fa_error *error)
{
    const struct fa_problem *p = problem;
    const int64_t bytes = (int64_t)fa_dtype_bytes(p->dtype);
    struct gpu_tensor workspace, blocks;
    struct placed placed[] = {
        {"q", &tensors->q, {p->batch, p->heads, p->nq, p->d}, bytes, false, 0, 0},
        {"k", &tensors->k, {p->batch, p->kv_heads, p->nk, p->d}, bytes, false, 0, 0},
        {"v", &tensors->v, {p->batch, p->kv_heads, p->nk, p->dv}, bytes, false, 0, 0},
        {"o", &tensors->o, {p->batch, p->heads, p->nq, p->dv}, bytes, true, 0, 0},
        workspace_of(options, &workspace, workspace_bytes),
        blocks_of(options, &blocks),
        {"lse", &tensors->lse, {p->batch, p->heads, p->nq, 1}, 4, true, 0, 0},
    };
    enum fa_status status =
        check_call(limits, p, options, workspace_bytes, placed, tensors->lse.data ? 7 : 6, error);
    if (status != FA_OK)
        return status;
    set_numbers(p, tensors, options ? options->blocks : NULL, head);
    return FA_OK;
}

static enum fa_status check_backward(const struct gpu_limits *limits,
                                     const struct fa_problem *problem,
                                     const struct gpu_backward *tensors,
                                     const struct gpu_options *options, int64_t workspace_bytes,
                                     struct gpu_gradient_problem *gradient, struct fa_error *error)
{
    const struct fa_problem *p = problem;
    const struct gpu_backward *t = tensors;
    const int64_t bytes = (int64_t)fa_dtype_bytes(p->dtype);
    struct gpu_tensor workspace, blocks;
    struct placed placed[] = {
        {"q", &t->q, {p->batch, p->heads, p->nq, p->d}, bytes, false, 0, 0},
        {"k", &t->k, {p->batch, p->kv_heads, p->nk, p->d}, bytes, false, 0, 0},
        {"v", &t->v, {p->batch, p->kv_heads, p->nk, p->dv}, bytes, false, 0, 0},
        {"o", &t->o, {p->batch, p->heads, p->nq, p->dv}, bytes, false, 0, 0},
        {"lse", &t->lse, {p->batch, p->heads, p->nq, 1}, 4, false, 0, 0},
        {"do", &t->d_o, {p->batch, p->heads, p->nq, p->dv}, bytes, false, 0, 0},
        {"dq", &t->dq, {p->batch, p->heads, p->nq, p->d}, bytes, true, 0, 0},
        {"dk", &t->dk, {p->batch, p->kv_heads, p->nk, p->d}, bytes, true, 0, 0},
        {"dv", &t->dv, {p->batch, p->kv_heads, p->nk, p->dv}, bytes, true, 0, 0},
        workspace_of(options, &workspace, workspace_bytes),
        blocks_of(options, &blocks),
    };
    enum fa_status status = check_call(limits, p, options, workspace_bytes, placed, 11, error);
    if (status != FA_OK)
        return status;
    const struct gpu_forward forward = {t->q, t->k, t->v, t->o, t->lse};
    set_numbers(p, &forward, options ? options->blocks : NULL, &gradient->head);
    gradient->head.whole_words =
        gradient->head.whole_words && has_whole_words(&t->d_o, p->dv, bytes);
    gradient->d_o = t->d_o;
    gradient->dq = t->dq;
    gradient->dk = t->dk;
    gradient->dv = t->dv;
    return FA_OK;
}

enum fa_status gpu_backward_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                  const struct gpu_backward *tensors,
                                  const struct gpu_options *options, gpu_workspace_bytes *workspace,
                                  struct gpu_gradient_problem *gradient, struct fa_error *error)
{
    int64_t bytes = 0;
    enum fa_status status = gpu_problem_check(limits, problem, error);
    if (status == FA_OK)
        status = workspace(problem, &bytes, error);
    if (status == FA_OK)
        status = check_backward(limits, problem, tensors, options, bytes, gradient, error);
    return status;
}

enum fa_status gpu_grid(int64_t a, int64_t b, int64_t c, unsigned *blocks, struct fa_error *error)
{
    int64_t ab = 0, n = 0;
    if (!fa_multiply(a, b, &ab) || !fa_multiply(ab, c, &n) || n > INT32_MAX)
        return fa_fail(error, FA_TOO_LARGE, "the launch needs more than 2^31 - 1 blocks");
    *blocks = (unsigned)n;
    return FA_OK;
}
