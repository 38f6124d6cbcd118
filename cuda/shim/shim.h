/*
 * Just enough of CUDA to run kernels on a CPU, for tests without a GPU: those of the CUDA-core rungs,
 * with warp.h those that use mma.sync, and with warpgroup.h Hopper's.
 *
 * A launch makes one fiber for each thread of a block, which take turns at barriers, and runs the
 * blocks in turn. If nobody can go on, the program ends with a sentence. In a build with
 * ThreadSanitizer they are threads, and __syncthreads, __syncwarp and shuffles are barriers of
 * theirs, so that a missing one is reported as a data race. Shared memory is filled with NaN before
 * each block. Device memory is the host's. Streams do nothing.
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
extern thread_local shim_place threadIdx, blockIdx, gridDim;

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

/* A product that no compiler fuses with what is added to it. */
static inline float __fmul_rn(float x, float y)
{
    const volatile float product = x * y;
    return product;
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
static inline uint32_t __shfl_xor_sync(unsigned, uint32_t value, unsigned lane)
{
    return shim_shuffle_xor(value, lane);
}

/* 32 bits of that lane. */
uint32_t shim_shuffle(uint32_t bits, unsigned lane);
static inline uint32_t __shfl_sync(unsigned, uint32_t value, unsigned lane)
{
    return shim_shuffle(value, lane);
}
static inline int __shfl_sync(unsigned, int value, unsigned lane)
{
    return (int)shim_shuffle((uint32_t)value, lane);
}

/* What each lane of the warp handed in, up to SHIM_WORDS words; all 32 take part. It may be read
 * until the lane hands in again. */
enum { SHIM_WORDS = 6 };
const uint32_t (*shim_gather(const uint32_t *words, unsigned n))[SHIM_WORDS];

/* 16 bytes to that offset of shared memory, zeros if not `here`, once this thread waits. */
void shim_copy_later(uint32_t to, const void *from, bool here);
void shim_copies_done();

/* ---- for what goes on by itself while threads compute ---------------------------------------- */

#if defined(__SANITIZE_THREAD__)
#define SHIM_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHIM_THREADS
#endif
#endif

/* Ends the program, and says where a kernel went wrong. */
[[noreturn]] void shim_fail(const char *why);

#ifndef SHIM_THREADS

/* The thread goes on once over(what). */
void shim_wait_until(bool (*over)(const void *), const void *what);

template <class OVER> static inline void shim_wait(const OVER &over)
{
    shim_wait_until([](const void *what) { return (*static_cast<const OVER *>(what))(); }, &over);
}

/* One of 0 .. among - 1. The environment's FLASHLAB_SHIM_SEED begins another series. */
unsigned shim_chance(unsigned among);

/* A block's copies and products that are under way. Where a block has an engine, its warps go on in
 * any order and at different speeds. */
struct shim_engine {
    virtual ~shim_engine() = default;
    /* Some of it happens, or nothing; if it `must`, false says that there is nothing. */
    virtual bool step(bool must) = 0;
    /* At the block's end, what should be over and is not; else NULL. */
    virtual const char *left() const = 0;
};

/* The block's engine, made if there is none, of its threads and its shared memory. */
shim_engine *shim_engine_of_block(shim_engine *(*make)(unsigned threads, void *shared,
                                                       size_t shared_bytes));

#endif

#endif
