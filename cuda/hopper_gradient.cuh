/*
 * Hopper's instructions that only the backward pass needs, beside hopper.cuh's: products with a
 * left operand that is turned over, and dS on its way to shared memory.
 *
 * Behind each stands the section of the PTX ISA (9.0) that defines it.
 */
#ifndef CUDA_HOPPER_GRADIENT_CUH
#define CUDA_HOPPER_GRADIENT_CUH

#include "cuda/hopper_products.cuh"

#ifndef FLASHLAB_GPU_SHIM

/* ---- products: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions" -------- */

/*
 * c = a^T b^T (add 0) or c += a^T b^T: b lies K-major and the left operand MN-major, its rows being
 * what is summed over: "wgmma.mma_async", imm-trans-a. It is described as V is as a right operand,
 * and since it has 64 columns its `near` is not used.
 */
#define HOPPER_TURNED(N, T, NAME, A, B, C)                                                         \
    HOPPER_DESCRIBED(multiply_turned, "1", N, T, NAME, A, B, C)

HOPPER_TURNED(64, gpu_f16, "f16", "32", "33", "34")
HOPPER_TURNED(80, gpu_f16, "f16", "40", "41", "42")
HOPPER_TURNED(96, gpu_f16, "f16", "48", "49", "50")
HOPPER_TURNED(64, gpu_bf16, "bf16", "32", "33", "34")
HOPPER_TURNED(80, gpu_bf16, "bf16", "40", "41", "42")
HOPPER_TURNED(96, gpu_bf16, "bf16", "48", "49", "50")

/* Until at most LEFT groups are under way, where no accumulator is read after. */
template <int LEFT> static __device__ __forceinline__ void products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* Left operands of a product that has been waited for: they stay as they were up to here. */
template <int STEPS> static __device__ __forceinline__ void words_pin(uint32_t (&x)[STEPS][4])
{
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        asm volatile("" : "+r"(x[i][0]), "+r"(x[i][1]), "+r"(x[i][2]), "+r"(x[i][3])::"memory");
}

/* ---- shared memory -------------------------------------------------------------------------- */

/* Bytes, a multiple of 16 as both addresses are, counted on the barrier: "cp.async.bulk". */
static __device__ __forceinline__ void bytes_load(uint32_t to, const void *from, int bytes,
                                                  uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

static __device__ __forceinline__ float2 numbers_read(uint32_t from)
{
    float2 x;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(from) : "memory");
    return x;
}

/* Four 8 x 8 matrices turned over, "stmatrix": lane l names the place of row l mod 8 of matrix
 * l / 8 as it will lie, which is a column of the fragment. */
static __device__ __forceinline__ void store_transposed(uint32_t row, const uint32_t (&x)[4])
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
        "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
        : "memory");
}

/* This thread's stores to shared memory may be read by products of whoever meets it at a barrier
 * next: "membar / fence", fence.proxy.async. */
static __device__ __forceinline__ void stores_done()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- between kernels ------------------------------------------------------------------------ */

/* Adds 1, which is seen after all that this thread, and those it met at a barrier, did before:
 * "red", .release. */
static __device__ __forceinline__ void count_after(uint32_t *count)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

/* Until so many were added, and what was done before that is seen: "ld", .acquire. */
static __device__ __forceinline__ void await_count(const uint32_t *count, uint32_t all)
{
    uint32_t seen;
    for (;;) {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
        if (seen >= all)
            return;
        __nanosleep(200);
    }
}

/* ---- packed arithmetic ---------------------------------------------------------------------- */

/* Two products at once, each rounded to 16 bits: "mul" of f16x2 and bf16x2. */
static __device__ __forceinline__ uint32_t multiply_pairs(uint32_t x, uint32_t y, gpu_f16)
{
    uint32_t product;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(x), "r"(y));
    return product;
}

static __device__ __forceinline__ uint32_t multiply_pairs(uint32_t x, uint32_t y, gpu_bf16)
{
    uint32_t product;
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(x), "r"(y));
    return product;
}

#endif /* FLASHLAB_GPU_SHIM */

/* COUNT numbers of 4 bytes that begin at a multiple of 16; their bytes are announced and counted on
 * the barrier. */
template <int COUNT>
static __device__ __forceinline__ void numbers_load(uint32_t to, const float *from,
                                                    uint32_t barrier)
{
    barrier_expect(barrier, 4 * COUNT);
    bytes_load(to, from, 4 * COUNT, barrier);
}

#endif
