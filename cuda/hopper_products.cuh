/*
 * Hopper's products: the instructions of a warpgroup (wgmma), one small function each, and from
 * them S = Q K^T and O += P V of 64 rows, with the mask between. In the shim the instructions are
 * functions of C++.
 *
 * Behind each stands the section of the PTX ISA (9.0) that defines it, all of them of
 * "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
 */
#ifndef CUDA_HOPPER_PRODUCTS_CUH
#define CUDA_HOPPER_PRODUCTS_CUH

#include "cuda/hopper.cuh"

#ifndef FLASHLAB_GPU_SHIM

/* "wgmma.fence": registers written before it may be read by products after it. */
static __device__ __forceinline__ void products_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* "wgmma.commit_group": the products since the last one are a group. */
static __device__ __forceinline__ void products_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Accumulators as operands of an asm statement, by columns; c[n][e] as in fragments.cuh, for the
 * warp's 16 of the 64 rows. */
#define ACCUMULATOR_8(c, n) "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
#define ACCUMULATOR_32(c, n)                                                                       \
    ACCUMULATOR_8(c, n), ACCUMULATOR_8(c, n + 1), ACCUMULATOR_8(c, n + 2), ACCUMULATOR_8(c, n + 3)
#define ACCUMULATOR_64(c) ACCUMULATOR_32(c, 0), ACCUMULATOR_32(c, 4)
#define ACCUMULATOR_80(c) ACCUMULATOR_64(c), ACCUMULATOR_8(c, 8), ACCUMULATOR_8(c, 9)
#define ACCUMULATOR_96(c) ACCUMULATOR_64(c), ACCUMULATOR_32(c, 8)
#define ACCUMULATOR_128(c) ACCUMULATOR_96(c), ACCUMULATOR_32(c, 12)

#define REGISTERS_64                                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_80 REGISTERS_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_96                                                                               \
    REGISTERS_64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, "   \
                 "%47"
#define REGISTERS_128                                                                              \
    REGISTERS_96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, "   \
                 "%63"

/*
 * For N columns, elements T, called NAME in PTX; operands are numbered from the accumulator's N / 2
 * on: A to F.
 *   multiply_rows     c = a b^T (add 0) or c += a b^T, both from shared memory, K-major: 64 x 16
 *                     by 16 x N, "wgmma.mma_async"
 *   multiply_weights  c += a b, a from registers as in mma.sync, b MN-major
 *   accumulator_pin   ties the registers to this place: what is written to them stays before, what
 *                     is read stays after
 *   products_wait     until at most LEFT groups are under way, "wgmma.wait_group"; c is read after
 */
#define HOPPER_DESCRIBED(FUNCTION, TURNED, N, T, NAME, A, B, C)                                    \
    static __device__ __forceinline__ void FUNCTION(float(&c)[N / 8][4], uint64_t a, uint64_t b,   \
                                                    int add, T)                                    \
    {                                                                                              \
        asm volatile("{\n"                                                                         \
                     ".reg .pred add;\n"                                                           \
                     "setp.ne.b32 add, %" C ", 0;\n"                                               \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME               \
                     " {" REGISTERS_##N "}, %" A ", %" B ", add, 1, 1, " TURNED ", 0;\n"           \
                                        "}"                                                        \
                     : ACCUMULATOR_##N(c)                                                          \
                     : "l"(a), "l"(b), "r"(add));                                                  \
    }
#define HOPPER_PRODUCTS(N, T, NAME, A, B, C, D, E, F)                                              \
    HOPPER_DESCRIBED(multiply_rows, "0", N, T, NAME, A, B, C)                                      \
    static __device__ __forceinline__ void multiply_weights(float(&c)[N / 8][4],                   \
                                                            const uint32_t(&a)[4], uint64_t b, T)  \
    {                                                                                              \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME               \
                     " {" REGISTERS_##N "}, {%" A ", %" B ", %" C ", %" D "}, %" E ", 1, 1, 1, 1;" \
                     : ACCUMULATOR_##N(c)                                                          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                        \
    }
#define HOPPER_WAITS(N, A)                                                                         \
    static __device__ __forceinline__ void accumulator_pin(float(&c)[N / 8][4])                    \
    {                                                                                              \
        asm volatile("" : ACCUMULATOR_##N(c)::"memory");                                           \
    }                                                                                              \
    template <int LEFT> static __device__ __forceinline__ void products_wait(float(&c)[N / 8][4])  \
    {                                                                                              \
        asm volatile("wgmma.wait_group.sync.aligned %" A ";"                                       \
                     : ACCUMULATOR_##N(c)                                                          \
                     : "n"(LEFT)                                                                   \
                     : "memory");                                                                  \
    }

HOPPER_WAITS(64, "32")
HOPPER_WAITS(80, "40")
HOPPER_WAITS(96, "48")
HOPPER_WAITS(128, "64")
HOPPER_PRODUCTS(64, gpu_f16, "f16", "32", "33", "34", "35", "36", "37")
HOPPER_PRODUCTS(80, gpu_f16, "f16", "40", "41", "42", "43", "44", "45")
HOPPER_PRODUCTS(96, gpu_f16, "f16", "48", "49", "50", "51", "52", "53")
HOPPER_PRODUCTS(128, gpu_f16, "f16", "64", "65", "66", "67", "68", "69")
HOPPER_PRODUCTS(64, gpu_bf16, "bf16", "32", "33", "34", "35", "36", "37")
HOPPER_PRODUCTS(80, gpu_bf16, "bf16", "40", "41", "42", "43", "44", "45")
HOPPER_PRODUCTS(96, gpu_bf16, "bf16", "48", "49", "50", "51", "52", "53")
HOPPER_PRODUCTS(128, gpu_bf16, "bf16", "64", "65", "66", "67", "68", "69")

#endif /* FLASHLAB_GPU_SHIM */

/*
 * Where an operand lies: "Matrix Descriptor Format". Address, two distances, and the swizzle.
 *
 * Q and K are K-major, their rows are the rows of the product: `far` is the 1024 bytes of eight
 * rows, `near` unused. A step of 16 columns is 32 bytes on, after 64 columns the next tile.
 * V is MN-major, its rows are what is summed over: `far` as before, `near` from a tile of 64
 * columns to the next. A step of 16 rows is 2048 bytes on.
 */
static __device__ __forceinline__ uint64_t operand(uint32_t address, int near)
{
    const uint64_t eight_rows = 1024 / 16, swizzle_128 = 1;
    return (address & 0x3ffff) / 16 | (uint64_t)(near / 16) << 16 | eight_rows << 32 |
           swizzle_128 << 62;
}

/* A descriptor so many bytes on. */
static __device__ __forceinline__ uint64_t operand_move(uint64_t operand, int bytes)
{
    return operand + bytes / 16;
}

/* S = Q K^T of 64 queries and KEYS keys, as one group that is under way when this returns. */
template <class T, int KEYS, int D>
static __device__ __forceinline__ void multiply_scores(float (&s)[KEYS / 8][4], uint64_t q,
                                                       uint64_t k)
{
    accumulator_pin(s);
    products_begin();
#pragma unroll
    for (int i = 0; i < D / 16; i++)
        multiply_rows(s, operand_move(q, i / 4 * 2 * WARPGROUP_ROWS * HOPPER_COLUMNS + i % 4 * 32),
                      operand_move(k, i / 4 * 2 * KEYS * HOPPER_COLUMNS + i % 4 * 32), i > 0, T());
    products_commit();
}

/* O += P V over the keys FIRST .. END - 1 of the tile, likewise. P is packed, four words for 16
 * keys. */
template <class T, int FIRST, int END, int D, int STEPS>
static __device__ __forceinline__ void
multiply_values(float (&o)[D / 8][4], const uint32_t (&weights)[STEPS][4], uint64_t v)
{
    accumulator_pin(o);
    products_begin();
#pragma unroll
    for (int i = FIRST / 16; i < END / 16; i++)
        multiply_weights(o, weights[i], operand_move(v, i * 2 * 16 * HOPPER_COLUMNS), T());
    products_commit();
}

#endif
