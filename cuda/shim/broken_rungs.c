/*
 * A ladder of wrong rungs, for the tests of what finds them: flash2, each with one fault of its
 * own. The shim's device memory is the host's, so that a fault is planted after the pass, by hand.
 */
#include <math.h>
#include <string.h>

#include "cuda/gpu_checks.h"

/* Adds to one element that is there. */
static void add_to(const struct gpu_tensor *tensor, enum fa_dtype dtype, int64_t row, double value)
{
    int64_t at = gpu_row_index(tensor, 0, 0, row);
    fa_dtype_set(dtype, tensor->data, at, fa_dtype_get(dtype, tensor->data, at) + value);
}

static enum fa_status sound_bytes(const struct fa_problem *problem, bool backward, int64_t *bytes,
                                  struct fa_error *error)
{
    return gpu_flash2.workspace_bytes(problem, backward, bytes, error);
}

static enum fa_status sound_forward(const struct fa_problem *problem,
                                    const struct gpu_forward *tensors,
                                    const struct gpu_options *options, struct fa_error *error)
{
    return gpu_flash2.forward(problem, tensors, options, error);
}

static void sound_tiles(const struct fa_problem *problem, bool backward, bool deterministic,
                        struct gpu_tiles *tiles)
{
    gpu_flash2.tiles(problem, backward, deterministic, tiles);
}

/* Adds to dQ in any order unless told otherwise. */
static void atomic_tiles(const struct fa_problem *problem, bool backward, bool deterministic,
                         struct gpu_tiles *tiles)
{
    gpu_flash2.tiles(problem, backward, deterministic, tiles);
    if (backward && !deterministic)
        tiles->dq_br = tiles->dq_bc = 0;
}

/* The last row of the first head is 0.25 off. */
static enum fa_status off_forward(const struct fa_problem *problem,
                                  const struct gpu_forward *tensors,
                                  const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    if (status == FA_OK && !gpu_is_empty(problem))
        add_to(&tensors->o, problem->dtype, problem->nq - 1, 0.25);
    return status;
}

/* Nobody writes the last row of the first head. */
static enum fa_status lazy_forward(const struct fa_problem *problem,
                                   const struct gpu_forward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    size_t size = fa_dtype_bytes(problem->dtype);
    if (status == FA_OK && !gpu_is_empty(problem))
        memset((char *)tensors->o.data +
                   (size_t)gpu_row_index(&tensors->o, 0, 0, problem->nq - 1) * size,
               0xff, (size_t)problem->dv * size);
    return status;
}

/* Writes one byte past the end of LSE. */
static enum fa_status long_forward(const struct fa_problem *problem,
                                   const struct gpu_forward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    if (status == FA_OK && !gpu_is_empty(problem))
        ((char *)tensors->lse.data)[4 * problem->batch * problem->heads * problem->nq] = 0;
    return status;
}

/* Writes into its input. */
static enum fa_status greedy_forward(const struct fa_problem *problem,
                                     const struct gpu_forward *tensors,
                                     const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    if (status == FA_OK && !gpu_is_empty(problem))
        add_to(&tensors->q, problem->dtype, 0, 1);
    return status;
}

/* Refuses, having written. */
static enum fa_status late_forward(const struct fa_problem *problem,
                                   const struct gpu_forward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    return status == FA_OK ? fa_fail(error, FA_UNSUPPORTED, "late takes nothing") : status;
}

/* Takes nothing. */
static enum fa_status none_forward(const struct fa_problem *problem,
                                   const struct gpu_forward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    (void)problem;
    (void)tensors;
    (void)options;
    return fa_fail(error, FA_MISSING_PART, "none needs another device");
}

/* Fails on the device. */
static enum fa_status crash_forward(const struct fa_problem *problem,
                                    const struct gpu_forward *tensors,
                                    const struct gpu_options *options, struct fa_error *error)
{
    (void)problem;
    (void)tensors;
    (void)options;
    return fa_fail(error, FA_IO, "an illegal memory access");
}

/* A last place more in every other call: within each budget, with other bits. */
static double jitter(double value)
{
    static int calls;
    return calls++ % 2 ? 0 : ldexp(fabs(value), -23);
}

static enum fa_status restless_forward(const struct fa_problem *problem,
                                       const struct gpu_forward *tensors,
                                       const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.forward(problem, tensors, options, error);
    const struct gpu_tensor *lse = &tensors->lse;
    if (status == FA_OK && !gpu_is_empty(problem))
        add_to(lse, FA_F32, problem->nq - 1,
               jitter(fa_dtype_get(FA_F32, lse->data, gpu_row_index(lse, 0, 0, problem->nq - 1))));
    return status;
}

/* Row 0 of dK is 0.25 off. */
static enum fa_status off_backward(const struct fa_problem *problem,
                                   const struct gpu_backward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.backward(problem, tensors, options, error);
    if (status == FA_OK && problem->batch * problem->kv_heads * problem->nk > 0)
        add_to(&tensors->dk, problem->dtype, 0, 0.25);
    return status;
}

static void disturb_dq(const struct fa_problem *problem, const struct gpu_backward *tensors)
{
    int64_t at = gpu_row_index(&tensors->dq, 0, 0, problem->nq - 1);
    if (!gpu_is_empty(problem))
        add_to(&tensors->dq, problem->dtype, problem->nq - 1,
               jitter(fa_dtype_get(problem->dtype, tensors->dq.data, at)));
}

/* Adds to dQ in any order where it may; and where it may not. */
static enum fa_status atomic_backward(const struct fa_problem *problem,
                                      const struct gpu_backward *tensors,
                                      const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.backward(problem, tensors, options, error);
    if (status == FA_OK && !options->deterministic)
        disturb_dq(problem, tensors);
    return status;
}

static enum fa_status unsteady_backward(const struct fa_problem *problem,
                                        const struct gpu_backward *tensors,
                                        const struct gpu_options *options, struct fa_error *error)
{
    enum fa_status status = gpu_flash2.backward(problem, tensors, options, error);
    if (status == FA_OK)
        disturb_dq(problem, tensors);
    return status;
}

#define RUNG(name, forward, backward, tiles)                                                       \
    {                                                                                              \
        name, "a fault", "what flash2 takes", sound_bytes, forward, backward, tiles                \
    }

static const struct gpu_rung broken[] = {
    RUNG("off", off_forward, NULL, sound_tiles),
    RUNG("lazy", lazy_forward, NULL, sound_tiles),
    RUNG("long", long_forward, NULL, sound_tiles),
    RUNG("greedy", greedy_forward, NULL, sound_tiles),
    RUNG("late", late_forward, NULL, sound_tiles),
    RUNG("none", none_forward, NULL, sound_tiles),
    RUNG("crash", crash_forward, NULL, sound_tiles),
    RUNG("restless", restless_forward, NULL, sound_tiles),
    RUNG("off-dk", sound_forward, off_backward, sound_tiles),
    RUNG("atomic", sound_forward, atomic_backward, atomic_tiles),
    RUNG("unsteady", sound_forward, unsteady_backward, atomic_tiles),
};

const struct gpu_rung *const gpu_rungs[] = {
    &broken[0], &broken[1], &broken[2], &broken[3], &broken[4],  &broken[5],
    &broken[6], &broken[7], &broken[8], &broken[9], &broken[10],
};
const int gpu_rung_count = sizeof gpu_rungs / sizeof gpu_rungs[0];
