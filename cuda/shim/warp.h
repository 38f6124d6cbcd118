/*
 * The instructions of cuda/tensor_cores.cuh on a CPU. What a warp does together, its 32 threads do
 * here too: each hands its words to the others and takes what the PTX manual says is its own.
 * Copies that do not wait are done when they are waited for, and not before. Addresses of shared
 * memory are offsets from its beginning.
 */
#ifndef CUDA_SHIM_WARP_H
#define CUDA_SHIM_WARP_H

#include "cuda/launch.cuh"

static inline uint32_t shared_address(const void *at)
{
    return (uint32_t)((const unsigned char *)at - (const unsigned char *)shim_shared());
}

static inline const unsigned char *shim_at(uint32_t offset)
{
    return (const unsigned char *)shim_shared() + offset;
}

/* ldmatrix: lane l gets two neighbours of row l / 4 of each 8 x 8 matrix, or, transposed, of column
 * l / 4. */
static inline void shim_load(uint32_t (&x)[4], uint32_t row, bool transposed)
{
    const uint32_t(*rows)[SHIM_WORDS] = shim_gather(&row, 1);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = 0; i < 4; i++) {
        uint16_t pair[2];
        for (unsigned e = 0; e < 2; e++) {
            const unsigned near = lane % 4 * 2 + e, far = lane / 4;
            const uint32_t from = rows[8 * i + (transposed ? near : far)][0];
            std::memcpy(&pair[e], shim_at(from) + 2 * (transposed ? far : near), 2);
        }
        x[i] = pair[0] | (uint32_t)pair[1] << 16;
    }
}

static inline void load_matrices(uint32_t (&x)[4], uint32_t row)
{
    shim_load(x, row, false);
}

static inline void load_transposed(uint32_t (&x)[4], uint32_t row)
{
    shim_load(x, row, true);
}

static inline float shim_half(uint32_t word, unsigned high, gpu_f16)
{
    return fa_f32_from_f16((uint16_t)(word >> 16 * high));
}

static inline float shim_half(uint32_t word, unsigned high, gpu_bf16)
{
    return fa_f32_from_bf16((uint16_t)(word >> 16 * high));
}

/* mma.sync: of A, lane l holds rows l / 4 and + 8 and columns 2 (l % 4), + 1, + 8, + 9; of B the
 * rows of those numbers in column l / 4. */
template <class T>
static inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, T)
{
    const uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const uint32_t(*all)[SHIM_WORDS] = shim_gather(own, 6);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = lane / 4, column = lane % 4 * 2 + e % 2;
        for (unsigned k = 0; k < 16; k++) {
            const unsigned inner = k % 8 / 2;
            const uint32_t left = all[row * 4 + inner][e / 2 + k / 8 * 2];
            const uint32_t right = all[column * 4 + inner][4 + k / 8];
            c[e] += shim_half(left, k % 2, T()) * shim_half(right, k % 2, T());
        }
    }
}

static inline uint32_t pack(float low, float high, gpu_f16)
{
    return fa_f16_from_f32(low) | (uint32_t)fa_f16_from_f32(high) << 16;
}

static inline uint32_t pack(float low, float high, gpu_bf16)
{
    return fa_bf16_from_f32(low) | (uint32_t)fa_bf16_from_f32(high) << 16;
}

static inline float power_of_two(float x)
{
    return exp2f(x);
}

static inline void copy_async(uint32_t to, const void *from, bool here)
{
    shim_copy_later(to, from, here);
}

static inline void wait_async()
{
    shim_copies_done();
}

static inline void add_four(float *to, const float (&x)[4])
{
    for (int e = 0; e < 4; e++)
        std::atomic_ref<float>(to[e]).fetch_add(x[e], std::memory_order_relaxed);
}

static inline bool __any_sync(unsigned, bool vote)
{
    const uint32_t own = vote;
    const uint32_t(*all)[SHIM_WORDS] = shim_gather(&own, 1);
    bool any = false;
    for (int lane = 0; lane < 32; lane++)
        any |= all[lane][0] != 0;
    return any;
}

static inline uint32_t __ballot_sync(unsigned, bool vote)
{
    const uint32_t own = vote;
    const uint32_t(*all)[SHIM_WORDS] = shim_gather(&own, 1);
    uint32_t votes = 0;
    for (int lane = 0; lane < 32; lane++)
        votes |= all[lane][0] << lane;
    return votes;
}

/* The number of the lowest bit that is set, from 1 on; 0: none. */
static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

static inline unsigned atomicAdd(unsigned *to, unsigned x)
{
    return std::atomic_ref<unsigned>(*to).fetch_add(x, std::memory_order_relaxed);
}

/* The C library has a name like it. */
#define __logf logf

#endif
