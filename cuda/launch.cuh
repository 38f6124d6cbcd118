/*
 * What every rung includes first: CUDA or the shim, the element types, launching and its errors.
 */
#ifndef CUDA_LAUNCH_CUH
#define CUDA_LAUNCH_CUH

#ifdef FLASHLAB_GPU_SHIM
#include "cuda/shim/shim.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cuda/gpu_checks.h"
#include "reference/dtype.h"

#ifdef FLASHLAB_GPU_SHIM
#define GPU_NO_INLINE
#else
#define GPU_NO_INLINE __noinline__
#endif

/* ---- elements ------------------------------------------------------------------------------- */

#ifdef FLASHLAB_GPU_SHIM
struct gpu_f16 {
    uint16_t bits;
};
struct gpu_bf16 {
    uint16_t bits;
};
static inline float widen(gpu_f16 x)
{
    return fa_f32_from_f16(x.bits);
}
static inline float widen(gpu_bf16 x)
{
    return fa_f32_from_bf16(x.bits);
}
static inline void narrow(float x, gpu_f16 *to)
{
    to->bits = fa_f16_from_f32(x);
}
static inline void narrow(float x, gpu_bf16 *to)
{
    to->bits = fa_bf16_from_f32(x);
}
#else
typedef __half gpu_f16;
typedef __nv_bfloat16 gpu_bf16;
static __device__ __forceinline__ float widen(gpu_f16 x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float widen(gpu_bf16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ void narrow(float x, gpu_f16 *to)
{
    *to = __float2half_rn(x);
}
static __device__ __forceinline__ void narrow(float x, gpu_bf16 *to)
{
    *to = __float2bfloat16_rn(x);
}
#endif
static __device__ __forceinline__ float widen(float x)
{
    return x;
}
static __device__ __forceinline__ void narrow(float x, float *to)
{
    *to = x;
}

/* Four elements side by side, as they lie in memory. */
template <class T> struct alignas(4 * sizeof(T)) four {
    T at[4];
};

/* Loads past L1: tiles are not found there again but by luck, and the count of bytes then holds. */
#ifdef FLASHLAB_GPU_SHIM
template <class T> static inline T load_past_l1(const T *from)
{
    return *from;
}
#else
template <class T> static __device__ __forceinline__ T load_past_l1(const T *from)
{
    return __ldcg(from);
}
static __device__ __forceinline__ four<float> load_past_l1(const four<float> *from)
{
    union {
        float4 word;
        four<float> elements;
    } both = {__ldcg(reinterpret_cast<const float4 *>(from))};
    return both.elements;
}
template <class T> static __device__ __forceinline__ four<T> load_past_l1(const four<T> *from)
{
    uint2 word = __ldcg(reinterpret_cast<const uint2 *>(from));
    return *reinterpret_cast<four<T> *>(&word);
}
#endif

/* ---- launching ------------------------------------------------------------------------------ */

/* GPU_LAUNCH(status, kernel, ...) launches, or says why not. A call of several kernels asks
 * GPU_PREPARE for all of them first: a call that is refused has written nothing. */

#ifdef FLASHLAB_GPU_SHIM
#define GPU_SHARED(name) float *name = static_cast<float *>(shim_shared())
#define GPU_PREPARE(status, kernel, shared, error)                                                 \
    (status) = (shared) <= 232448                                                                  \
                   ? FA_OK                                                                         \
                   : fa_fail(error, FA_DOES_NOT_FIT, "a tile needs %d bytes", (int)(shared))
#define GPU_LAUNCH(status, kernel, blocks, threads, shared, stream, error, ...)                    \
    do {                                                                                           \
        (void)(stream);                                                                            \
        GPU_PREPARE(status, kernel, shared, error);                                                \
        if ((status) == FA_OK &&                                                                   \
            !shim_launch(blocks, threads, shared, [&] { kernel(__VA_ARGS__); }))                   \
            (status) = fa_fail(error, FA_NO_MEMORY, "the shim could not start its threads");       \
    } while (0)
static inline enum fa_status gpu_capability_check(const char *, int, struct fa_error *)
{
    return FA_OK;
}
#else
#define GPU_SHARED(name)                                                                           \
    extern __shared__ __align__(1024) float4 shared_words[];                                       \
    float *name = reinterpret_cast<float *>(shared_words)
#define GPU_PREPARE(status, kernel, shared, error)                                                 \
    (status) = gpu_kernel_prepare((const void *)(kernel), shared, error)
#define GPU_LAUNCH(status, kernel, blocks, threads, shared, stream, error, ...)                    \
    do {                                                                                           \
        GPU_PREPARE(status, kernel, shared, error);                                                \
        if ((status) == FA_OK) {                                                                   \
            (kernel)<<<blocks, threads, shared, (cudaStream_t)(stream)>>>(__VA_ARGS__);            \
            (status) = gpu_cuda_status(cudaGetLastError(), "a launch", error);                     \
        }                                                                                          \
    } while (0)

/* Makes room for the kernel's shared memory: FA_DOES_NOT_FIT, with the numbers, where the device
 * has less; FA_MISSING_PART where there is no device, or no code for it. */
enum fa_status gpu_kernel_prepare(const void *kernel, size_t shared_bytes, struct fa_error *error);

/* FA_MISSING_PART, naming both, where the current device is older than compute capability
 * `major`.0. */
enum fa_status gpu_capability_check(const char *rung, int major, struct fa_error *error);

/* The status and sentence of what CUDA says. */
enum fa_status gpu_cuda_status(cudaError_t code, const char *what, struct fa_error *error);
#endif

/* Zeros, on the stream. */
static inline enum fa_status gpu_clear(void *memory, size_t bytes, [[maybe_unused]] void *stream,
                                       [[maybe_unused]] struct fa_error *error)
{
#ifdef FLASHLAB_GPU_SHIM
    memset(memory, 0, bytes);
    return FA_OK;
#else
    return gpu_cuda_status(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream),
                           "clearing the workspace", error);
#endif
}

static inline void *gpu_stream(const struct gpu_options *options)
{
    return options ? options->stream : nullptr;
}

#endif
