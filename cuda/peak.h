/*
 * What a kernel's time is held against: the rates that this device reaches in kernels that do one
 * thing, and the clock of its multiprocessors.
 *
 * A launch of a ceiling does a fixed amount of work, on the default stream, and returns. Whoever
 * asks times it as he times an attention kernel, in the same process and by the same protocol, so
 * that both meet the same power limit. What is measured is a kernel of this file, no data sheet: a
 * better kernel may pass it.
 */
#ifndef CUDA_PEAK_H
#define CUDA_PEAK_H

#include "cuda/gpu_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gpu_ceiling {
    GPU_CEILING_MATRIX, /* FLOPs of 16-bit products on tensor cores, summed in f32 */
    GPU_CEILING_FMA,    /* FLOPs of f32 fused multiply-adds on CUDA cores, two each */
    GPU_CEILING_EXP,    /* exponentials of the special function units */
    GPU_CEILING_L2,     /* bytes from L2 into the multiprocessors */
    GPU_CEILING_COPY,   /* bytes of device memory, read and written */
    GPU_CEILINGS
};

GPU_API const char *gpu_ceiling_name(enum gpu_ceiling which); /* "matrix", "fma", ... */

/* In half a sentence, what a launch does on this device. */
GPU_API const char *gpu_ceiling_words(enum gpu_ceiling which, const struct gpu_device *device);

/* Scratch that every ceiling gets: 16 times L2, at least 4 MiB. */
GPU_API int64_t gpu_ceiling_bytes(const struct gpu_device *device);

/*
 * One launch. scratch: gpu_ceiling_bytes of device memory, aligned to 256; its first 256 KiB are
 * the products' operands in the dtype (random normal numbers: zeros take less power), the rest are
 * any bytes. *work: FLOPs, exponentials or bytes of the launch.
 * Errors: FA_UNSUPPORTED for products in f32 or f64 (FMA is their ceiling) and on a device without
 * tensor cores; those of a launch.
 */
GPU_API enum fa_status gpu_ceiling_launch(enum gpu_ceiling which, enum fa_dtype dtype,
                                          const struct gpu_device *device, void *scratch,
                                          double *work, struct fa_error *error);

/*
 * The clock of a multiprocessor under load, which follows the load at once: a reading between
 * launches is too high. So the probe, a kernel of one thread on a stream of its own, runs beside
 * what is launched next on the default stream. It takes a place on one multiprocessor, so those
 * launches are not to be timed. From wait_ms on it counts cycles and nanoseconds for measure_ms:
 * both should be over before the launches are.
 * counts: 16 bytes of device memory. The reading waits for the device, and is in GHz.
 * Errors: FA_UNSUPPORTED where a kernel has no clock (the shim).
 */
GPU_API enum fa_status gpu_clock_start(void *counts, double wait_ms, double measure_ms,
                                       struct fa_error *error);
GPU_API enum fa_status gpu_clock_read(const void *counts, double *gigahertz,
                                      struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
