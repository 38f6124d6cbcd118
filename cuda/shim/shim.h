/*
 * Just enough of CUDA to run the kernels of the CUDA-core rungs on a CPU, for tests without a GPU.
 *
 * A launch makes one fiber for each thread of a block, which take turns at barriers, and runs the
 * blocks in turn. In a build with ThreadSanitizer they are threads, and __syncthreads, __syncwarp
 * and shuffles are barriers of theirs, so that a missing one is reported as a data race. Shared
 * memory is filled with NaN before each block. Device memory is the host's. Streams do nothing.
 * It is slow, and says nothing about speed.
 */
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H

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

#endif
