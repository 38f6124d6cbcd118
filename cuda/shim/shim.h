/*
 * Just enough of CUDA to run kernels on a CPU, for tests without a GPU: those of the CUDA-core rungs,
 * and, with warp.h, those that use mma.sync.
 *
 * A launch makes one fiber for each thread of a block, which take turns at barriers, and runs the
 * blocks in turn. In a build with ThreadSanitizer they are threads, and __syncthreads, __syncwarp
 * and shuffles are barriers of theirs, so that a missing one is reported as a data race. Shared
 * memory is filled with NaN before each block. Device memory is the host's. Streams do nothing.
 * It is slow, and says nothing about speed.
 */
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
#define __noinline__
#define __grid_constant__

struct shim_place {
    unsigned x, y, z;
};
extern thread_local shim_place threadIdx, blockIdx;

struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

struct alignas(8) float2 {
    float x, y;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}

/* Runs the body as blocks * threads CUDA threads. False when threads or memory are refused. */
bool shim_launch(unsigned blocks, unsigned threads, size_t shared_bytes,
                 const std::function<void()> &body);

/* The block's dynamic shared memory. */
void *shim_shared();

void __syncthreads();
int __syncthreads_or(int vote);
void __syncwarp();

/* 32 bits of the lane whose number differs by `lane`; all 32 lanes take part. */
uint32_t shim_shuffle_xor(uint32_t bits, unsigned lane);
static inline float __shfl_xor_sync(unsigned, float value, unsigned lane)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = shim_shuffle_xor(bits, lane);
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

/* What each lane of the warp handed in, up to SHIM_WORDS words; all 32 take part. It may be read
 * until the lane hands in again. */
enum { SHIM_WORDS = 6 };
const uint32_t (*shim_gather(const uint32_t *words, unsigned n))[SHIM_WORDS];

/* 16 bytes to that offset of shared memory, zeros if not `here`, once this thread waits. */
void shim_copy_later(uint32_t to, const void *from, bool here);
void shim_copies_done();

#endif
