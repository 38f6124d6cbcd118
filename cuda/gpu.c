#include "cuda/gpu.h"

#include <string.h>

#include "cuda/gpu_checks.h"

const struct gpu_rung *const gpu_rungs[] = {
    &gpu_standard,
    &gpu_flash1,
    &gpu_flash2,
#ifndef FLASHLAB_GPU_SHIM
    &gpu_mma,
    &gpu_async,
#endif
};
const int gpu_rung_count = sizeof gpu_rungs / sizeof gpu_rungs[0];

const struct gpu_rung *gpu_rung_find(const char *name)
{
    for (int i = 0; name && i < gpu_rung_count; i++)
        if (strcmp(gpu_rungs[i]->name, name) == 0)
            return gpu_rungs[i];
    return NULL;
}

static enum fa_status unknown(const char *rung, struct fa_error *error)
{
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "no rung is called '%s': expected one of standard, flash1, flash2, mma, async%s",
                   rung ? rung : "(null)", gpu_rung_count < 5 ? " (the last two need nvcc)" : "");
}

enum fa_status gpu_forward(const char *rung, const struct fa_problem *problem,
                           const struct gpu_forward *tensors, const struct gpu_options *options,
                           struct fa_error *error)
{
    const struct gpu_rung *found = gpu_rung_find(rung);
    if (!found)
        return unknown(rung, error);
    return found->forward(problem, tensors, options, error);
}

enum fa_status gpu_backward(const char *rung, const struct fa_problem *problem,
                            const struct gpu_backward *tensors, const struct gpu_options *options,
                            struct fa_error *error)
{
    const struct gpu_rung *found = gpu_rung_find(rung);
    if (!found)
        return unknown(rung, error);
    if (!found->backward)
        return fa_fail(error, FA_UNSUPPORTED, "%s has no backward pass", rung);
    return found->backward(problem, tensors, options, error);
}
