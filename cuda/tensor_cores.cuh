/*
 * The instructions of the tensor-core rungs, one function each: 16-bit matrices from shared memory,
 * products by mma.sync m16n8k16, copies that do not wait. In the shim they are functions of C++.
 */
#ifndef CUDA_TENSOR_CORES_CUH
#define CUDA_TENSOR_CORES_CUH

#include "cuda/launch.cuh"

#ifdef FLASHLAB_GPU_SHIM
#include "cuda/shim/warp.h"
#else

/* Instructions of compute capability 8.0. On one before it a call is refused and never launched. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define GPU_TENSOR_CORES(...) asm volatile(__VA_ARGS__)
#else
#define GPU_TENSOR_CORES(...) __trap()
#endif

static __device__ __forceinline__ uint32_t shared_address(const void *at)
{
    return (uint32_t)__cvta_generic_to_shared(at);
}

/* Four 8 x 8 matrices; lane l names a row of matrix l / 8. Transposed for the second form. */
static __device__ __forceinline__ void load_matrices(uint32_t (&x)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
}

static __device__ __forceinline__ void load_transposed(uint32_t (&x)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(row)
                 : "memory");
}

/* c += a b, 16 x 16 by 16 x 8, in f32. */
static __device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4],
                                                    uint32_t b0, uint32_t b1, gpu_f16)
{
    GPU_TENSOR_CORES("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4],
                                                    uint32_t b0, uint32_t b1, gpu_bf16)
{
    GPU_TENSOR_CORES("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

static __device__ __forceinline__ uint32_t pack(float low, float high, gpu_f16)
{
    __half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&both);
}

static __device__ __forceinline__ uint32_t pack(float low, float high, gpu_bf16)
{
    __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&both);
}

/* 2^x, and 0 for -inf. */
static __device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 16 bytes set out for a place in shared memory, past L1 and the registers. If not `here`, nothing
 * is read and zeros arrive. */
static __device__ __forceinline__ void copy_async(uint32_t to, const void *from,
                                                  [[maybe_unused]] bool here)
{
    GPU_TENSOR_CORES("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(here ? 16 : 0)
                     : "memory");
}

/* Waits for all that this thread set out. */
static __device__ __forceinline__ void wait_async()
{
    GPU_TENSOR_CORES("cp.async.wait_all;" ::: "memory");
}

/* Four sums in device memory grow by x, each by itself; 16 bytes that begin at a multiple of 16. */
static __device__ __forceinline__ void add_four(float *to, const float (&x)[4])
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x[0]),
                 "f"(x[1]), "f"(x[2]), "f"(x[3])
                 : "memory");
#else
    for (int e = 0; e < 4; e++)
        atomicAdd(to + e, x[e]);
#endif
}

#endif
#endif
