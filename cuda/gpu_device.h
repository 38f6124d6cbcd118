/*
 * The device and its memory, for C programs that know nothing of CUDA: tests, benchmarks, the
 * command line. Device pointers may only be handed back to this header and to gpu.h.
 *
 * Errors: FA_MISSING_PART without a driver or a device, naming which; FA_NO_MEMORY; any error that
 * a kernel left behind is FA_IO at the next call that waits.
 */
#ifndef CUDA_GPU_DEVICE_H
#define CUDA_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_device {
    char name[256];
    int major, minor; /* compute capability */
    int multiprocessors;
    int clock_khz; /* the highest, as the driver says it */
    int64_t memory_bytes;
    int64_t l2_bytes;
    int64_t block_shared_bytes; /* the most that one block may have */
    int driver_version;         /* as CUDA counts them: 13000 is 13.0 */
};

/* The current device. */
GPU_API enum fa_status gpu_device_find(struct gpu_device *device, struct fa_error *error);

/* FA_MISSING_PART, naming the device and what was built, where none of this build's kernels runs on
 * the current device, which `device` is. */
GPU_API enum fa_status gpu_device_check(const struct gpu_device *device, struct fa_error *error);

/* "80 90 and PTX of 90": the architectures that kernels were compiled for; "shim" where there are
 * none. */
GPU_API const char *gpu_built_architectures(void);

GPU_API enum fa_status gpu_memory_take(size_t bytes, void **memory, struct fa_error *error);
GPU_API void gpu_memory_free(void *memory); /* NULL: nothing happens */
GPU_API enum fa_status gpu_memory_fill(void *memory, unsigned char byte, size_t bytes,
                                       struct fa_error *error);
GPU_API enum fa_status gpu_memory_upload(void *to, const void *from, size_t bytes,
                                         struct fa_error *error);
GPU_API enum fa_status gpu_memory_download(void *to, const void *from, size_t bytes,
                                           struct fa_error *error);

/* Waits for the device, and says what went wrong on it. */
GPU_API enum fa_status gpu_wait(struct fa_error *error);

/* Time between two points of the default stream, by events. */
struct gpu_timer {
    void *start, *stop;
};
GPU_API enum fa_status gpu_timer_make(struct gpu_timer *timer, struct fa_error *error);
GPU_API void gpu_timer_free(struct gpu_timer *timer);
GPU_API enum fa_status gpu_timer_start(struct gpu_timer *timer, struct fa_error *error);
/* Waits, and says how long it took. */
GPU_API enum fa_status gpu_timer_stop(struct gpu_timer *timer, double *milliseconds,
                                      struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
