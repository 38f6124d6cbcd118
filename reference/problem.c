#include "reference/problem.h"

#include <inttypes.h>
#include <math.h>

struct fa_problem fa_problem_make(int64_t nq, int64_t nk, int64_t d)
{
    struct fa_problem problem = {
        .batch = 1,
        .heads = 1,
        .kv_heads = 1,
        .nq = nq,
        .nk = nk,
        .d = d,
        .dv = d,
        .scale = 1.0 / sqrt((double)d),
        .causal = FA_CAUSAL_NONE,
        .window_left = -1,
        .window_right = -1,
        .dtype = FA_F32,
    };
    return problem;
}

const char *fa_causal_name(enum fa_causal causal)
{
    switch (causal) {
    case FA_CAUSAL_NONE:
        return "none";
    case FA_CAUSAL_BOTTOM_RIGHT:
        return "bottom-right";
    case FA_CAUSAL_TOP_LEFT:
        return "top-left";
    }
    return "unknown";
}

int64_t fa_problem_head(const struct fa_problem *problem, const struct fa_tensor *tensor,
                        int64_t head)
{
    if (tensor->shape[1] == 1)
        return 0;
    if (tensor->shape[1] == problem->heads)
        return head;
    return head / (problem->heads / problem->kv_heads);
}

int64_t fa_problem_batch(const struct fa_tensor *tensor, int64_t batch)
{
    return tensor->shape[0] == 1 ? 0 : batch;
}

static enum fa_status check_axes(const struct fa_problem *problem, struct fa_error *error)
{
    const struct {
        const char *name;
        int64_t value, least;
    } axes[] = {
        {"batch", problem->batch, 0}, {"heads", problem->heads, 0},
        {"kv_heads", problem->kv_heads, 0}, {"nq", problem->nq, 0},
        {"nk", problem->nk, 0}, {"d", problem->d, 1},
        {"dv", problem->dv, 1},
    };
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (axes[i].value < axes[i].least)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "%s is %" PRId64 ": expected %" PRId64 " or more", axes[i].name,
                           axes[i].value, axes[i].least);
    return FA_OK;
}

static enum fa_status check_heads(const struct fa_problem *problem, struct fa_error *error)
{
    int64_t heads = problem->heads, kv_heads = problem->kv_heads;
    if (kv_heads == 0 && heads > 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "kv_heads is 0 and heads is %" PRId64
                       ": expected 1 or more K/V heads for query heads to read; give kv_heads a "
                       "divisor of heads",
                       heads);
    if (kv_heads > 0 && heads % kv_heads != 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "heads is %" PRId64 " and kv_heads is %" PRId64
                       ": expected heads to be a multiple of kv_heads; give kv_heads a divisor of "
                       "heads",
                       heads, kv_heads);
    return FA_OK;
}

static enum fa_status check_choices(const struct fa_problem *problem, struct fa_error *error)
{
    if (!isfinite(problem->scale))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "scale is %g: expected a finite number; the usual one is 1/sqrt(d)",
                       problem->scale);
    if ((unsigned)problem->causal > FA_CAUSAL_TOP_LEFT)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "causal is %d: expected 0 (none), 1 (bottom-right) or 2 (top-left)",
                       (int)problem->causal);
    if (problem->window_left < -1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "window_left is %" PRId64
                       ": expected 0 or more, or -1 for a window without a left bound",
                       problem->window_left);
    if (problem->window_right < -1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "window_right is %" PRId64
                       ": expected 0 or more, or -1 for a window without a right bound",
                       problem->window_right);
    if ((unsigned)problem->dtype >= FA_U8)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "dtype is %d: expected a float format, f64, f32, f16 or bf16",
                       (int)problem->dtype);
    return FA_OK;
}

/* Zero axes count as 1: strides are products of some of the axes, and the zero may not be among
 * those. */
static enum fa_status check_product(const char *what, const char *axes, int64_t a, int64_t b,
                                    int64_t c, int64_t d, struct fa_error *error)
{
    const int64_t shape[4] = {a, b, c, d};
    int64_t n = 1;
    for (int axis = 0; axis < 4; axis++)
        if (!fa_multiply(n, shape[axis] > 0 ? shape[axis] : 1, &n))
            return fa_fail(error, FA_TOO_LARGE,
                           "%s %s has the axes %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                           ": expected a product of at most 2^63 - 1; make one of them smaller",
                           what, axes, a, b, c, d);
    return FA_OK;
}

static enum fa_status check_products(const struct fa_problem *problem, struct fa_error *error)
{
    int64_t batch = problem->batch, heads = problem->heads, kv_heads = problem->kv_heads;
    int64_t nq = problem->nq, nk = problem->nk, d = problem->d, dv = problem->dv;
    enum fa_status status = check_product("q", "[batch, heads, nq, d]", batch, heads, nq, d, error);
    if (status == FA_OK)
        status = check_product("k", "[batch, kv_heads, nk, d]", batch, kv_heads, nk, d, error);
    if (status == FA_OK)
        status = check_product("v", "[batch, kv_heads, nk, dv]", batch, kv_heads, nk, dv, error);
    if (status == FA_OK)
        status = check_product("o", "[batch, heads, nq, dv]", batch, heads, nq, dv, error);
    if (status == FA_OK)
        status = check_product("the score matrix", "[batch, heads, nq, nk]", batch, heads, nq, nk,
                               error);
    return status;
}

static enum fa_status check_broadcast(const char *name, const struct fa_tensor *tensor,
                                      const struct fa_problem *problem, struct fa_error *error)
{
    static const char *const axis_names[4] = {"batch", "heads", "nq", "nk"};
    const int64_t full[4] = {problem->batch, problem->heads, problem->nq, problem->nk};
    for (int axis = 0; axis < 4; axis++)
        if (tensor->shape[axis] != 1 && tensor->shape[axis] != full[axis])
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "the %s is [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                           "]: expected axis %d to be 1 or %s, which is %" PRId64,
                           name, tensor->shape[0], tensor->shape[1], tensor->shape[2],
                           tensor->shape[3], axis, axis_names[axis], full[axis]);
    return FA_OK;
}

static enum fa_status check_mask_and_bias(const struct fa_problem *problem, struct fa_error *error)
{
    const struct fa_tensor *mask = problem->mask, *bias = problem->bias;
    enum fa_status status = FA_OK;
    if (mask && mask->dtype != FA_U8)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the mask's format is %d: expected u8 (1 = may be attended, 0 = hidden); "
                       "numbers to add to the scores are a bias",
                       (int)mask->dtype);
    if (bias && (unsigned)bias->dtype >= FA_U8)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the bias's format is %d: expected f64, f32, f16 or bf16; "
                       "zeros and ones that hide keys are a mask",
                       (int)bias->dtype);
    if (mask)
        status = check_broadcast("mask", mask, problem, error);
    if (bias && status == FA_OK)
        status = check_broadcast("bias", bias, problem, error);
    return status;
}

/* A keep mask has an element for each weight: dropout is drawn anew for each, so nothing is
 * broadcast. `!(p >= 0 && p <= 1)` is true of NaN. */
static enum fa_status check_dropout(const struct fa_problem *problem, struct fa_error *error)
{
    static const char *const axis_names[4] = {"batch", "heads", "nq", "nk"};
    const int64_t full[4] = {problem->batch, problem->heads, problem->nq, problem->nk};
    const struct fa_tensor *keep = problem->dropout_keep;
    if (!(problem->dropout_p >= 0 && problem->dropout_p <= 1))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "dropout_p is %g: expected a probability from 0 to 1", problem->dropout_p);
    if (!keep)
        return FA_OK;
    if (problem->dropout_p == 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "there is a dropout mask and dropout_p is 0: expected dropout_p above 0, "
                       "for the weights that are kept are divided by 1 - dropout_p");
    if (keep->dtype != FA_U8)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the dropout mask's format is %d: expected u8 (1 = kept, 0 = dropped)",
                       (int)keep->dtype);
    for (int axis = 0; axis < 4; axis++)
        if (keep->shape[axis] != full[axis])
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "the dropout mask is [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                           "]: expected axis %d to be %s, which is %" PRId64
                           " (a dropout mask is never broadcast)",
                           keep->shape[0], keep->shape[1], keep->shape[2], keep->shape[3], axis,
                           axis_names[axis], full[axis]);
    return FA_OK;
}

static enum fa_status check_block_side(const char *side, int64_t size, const char *count_name,
                                       int64_t count, const char *axis, int64_t n,
                                       struct fa_error *error)
{
    if (size < 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the block mask's %s is %" PRId64 ": expected 1 or more", side, size);
    int64_t blocks = n / size + (n % size != 0);
    if (count != blocks)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the block mask has %" PRId64 " %s: expected %" PRId64
                       ", which is %s / %s (%" PRId64 " / %" PRId64 "), rounded up",
                       count, count_name, blocks, axis, side, n, size);
    return FA_OK;
}

static enum fa_status check_blocks(const struct fa_problem *problem, struct fa_error *error)
{
    const struct fa_block_mask *blocks = problem->blocks;
    if (!blocks)
        return FA_OK;
    enum fa_status status = check_block_side("br", blocks->br, "rows", blocks->rows, "nq",
                                             problem->nq, error);
    if (status == FA_OK)
        status = check_block_side("bc", blocks->bc, "columns", blocks->columns, "nk", problem->nk,
                                  error);
    if (status != FA_OK)
        return status;
    int64_t n = blocks->rows * blocks->columns; /* At most nq * nk, which is in range. */
    if (n > 0 && !blocks->visit)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the block mask has no bytes: expected %" PRId64 ", one a block", n);
    for (int64_t i = 0; i < n; i++)
        if (blocks->visit[i] > 1)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "block (%" PRId64 ", %" PRId64
                           ") of the block mask is %d: expected 1 (visited) or 0 (hidden)",
                           i / blocks->columns, i % blocks->columns, (int)blocks->visit[i]);
    return FA_OK;
}

enum fa_status fa_problem_check(const struct fa_problem *problem, struct fa_error *error)
{
    enum fa_status status = check_axes(problem, error);
    if (status == FA_OK)
        status = check_heads(problem, error);
    if (status == FA_OK)
        status = check_choices(problem, error);
    if (status == FA_OK)
        status = check_products(problem, error);
    if (status == FA_OK)
        status = check_mask_and_bias(problem, error);
    if (status == FA_OK)
        status = check_dropout(problem, error);
    if (status == FA_OK)
        status = check_blocks(problem, error);
    return status;
}
