/*
 * gpu.h, gpu_device.h and peak.h in a build without CUDA kernels: no rungs, and each call says what
 * is missing and how to get it.
 */
#include "cuda/peak.h"

/* Nothing here looks at what it is given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* C has no empty arrays; the count is what callers walk by. */
const struct gpu_rung *const gpu_rungs[] = {NULL};
const int gpu_rung_count = 0;

static enum fa_status absent(struct fa_error *error)
{
    return fa_fail(error, FA_MISSING_PART,
                   "this build has no CUDA kernels: install a CUDA toolkit of version 12 or later, "
                   "and build again with `cmake --preset gpu && cmake --build --preset gpu`");
}

const struct gpu_rung *gpu_rung_find(const char *name)
{
    return NULL;
}

enum fa_status gpu_forward(const char *rung, const struct fa_problem *problem,
                           const struct gpu_forward *tensors, const struct gpu_options *options,
                           struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_backward(const char *rung, const struct fa_problem *problem,
                            const struct gpu_backward *tensors, const struct gpu_options *options,
                            struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_device_find(struct gpu_device *device, struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_device_check(const struct gpu_device *device, struct fa_error *error)
{
    return absent(error);
}

const char *gpu_built_architectures(void)
{
    return "none";
}

enum fa_status gpu_memory_take(size_t bytes, void **memory, struct fa_error *error)
{
    return absent(error);
}

void gpu_memory_free(void *memory)
{
}

enum fa_status gpu_memory_fill(void *memory, unsigned char byte, size_t bytes,
                               struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_memory_upload(void *to, const void *from, size_t bytes, struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_memory_download(void *to, const void *from, size_t bytes, struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_wait(struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_timer_make(struct gpu_timer *timer, struct fa_error *error)
{
    return absent(error);
}

void gpu_timer_free(struct gpu_timer *timer)
{
}

enum fa_status gpu_timer_start(struct gpu_timer *timer, struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_timer_stop(struct gpu_timer *timer, double *milliseconds, struct fa_error *error)
{
    return absent(error);
}

const char *gpu_ceiling_name(enum gpu_ceiling which)
{
    return "none";
}

const char *gpu_ceiling_words(enum gpu_ceiling which, const struct gpu_device *device)
{
    return "none";
}

int64_t gpu_ceiling_bytes(const struct gpu_device *device)
{
    return 0;
}

enum fa_status gpu_ceiling_launch(enum gpu_ceiling which, enum fa_dtype dtype,
                                  const struct gpu_device *device, void *scratch, double *work,
                                  struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_clock_start(void *counts, double wait_ms, double measure_ms,
                               struct fa_error *error)
{
    return absent(error);
}

enum fa_status gpu_clock_read(const void *counts, double *gigahertz, struct fa_error *error)
{
    return absent(error);
}
