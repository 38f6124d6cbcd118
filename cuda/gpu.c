#include "cuda/gpu.h"

#include <stdio.h>
#include <string.h>

const struct gpu_rung *gpu_rung_find(const char *name)
{
    for (int i = 0; name && i < gpu_rung_count; i++)
        if (strcmp(gpu_rungs[i]->name, name) == 0)
            return gpu_rungs[i];
    return NULL;
}

static enum fa_status unknown(const char *rung, struct fa_error *error)
{
    char names[128] = "";
    size_t n = 0;
    for (int i = 0; i < gpu_rung_count && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              gpu_rungs[i]->name);
    return fa_fail(error, FA_BAD_ARGUMENT, "no rung is called '%s': expected one of %s",
                   rung ? rung : "(null)", names);
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
