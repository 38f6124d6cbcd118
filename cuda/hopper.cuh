/*
 * Hopper's own instructions (sm_90a), one small function each: barriers in shared memory, the copy
 * engine (TMA), registers that move between warpgroups. Products are in hopper_products.cuh.
 *
 * Behind each stands the section of the PTX ISA (9.0) that defines it. A warpgroup is four warps,
 * 128 threads, that issue one product together. Shared memory is named by 32-bit addresses.
 *
 * Tiles in shared memory are as TMA leaves them under its 128-byte swizzle: rows of 64 elements of
 * 16 bits, 128 bytes a row, 16-byte piece c of row r at place c xor (r mod 8). A tile begins at a
 * multiple of 1024 bytes. Rows of 128 elements are two such tiles, one after the other: a swizzled
 * box may be no wider than 128 bytes.
 *
 * In the shim the instructions are functions of C++.
 */
#ifndef CUDA_HOPPER_CUH
#define CUDA_HOPPER_CUH

#include "cuda/fragments.cuh"

#ifdef FLASHLAB_GPU_SHIM
#include "cuda/shim/warpgroup.h"
#else
#include <cuda.h>
#endif

enum { HOPPER_TILE_ALIGN = 1024, HOPPER_COLUMNS = 64, WARPGROUP = 128, WARPGROUP_ROWS = 64 };

/* ---- host ----------------------------------------------------------------------------------- */

/* The boxes of one tensor, 64 columns of `rows` rows, by column, row, head and batch. Rows past the
 * tensor's last arrive as 0 and never come from the next head. */
struct hopper_tensor {
    const char *name;
    const struct gpu_tensor *tensor;
    int64_t batch, heads, rows;
    int columns, box_rows;
    enum fa_dtype dtype;
};

/* A tensor of no elements leaves *map as it is: nobody may load from it.
 * FA_UNSUPPORTED, with the reason, for a stride that TMA cannot take. */
enum fa_status hopper_map(const struct hopper_tensor *tensor, CUtensorMap *map,
                          struct fa_error *error);

/* FA_MISSING_PART, naming the device, unless it is of compute capability 9.0; else how many
 * multiprocessors it has. */
enum fa_status hopper_check(const char *rung, int *multiprocessors, struct fa_error *error);

#ifndef FLASHLAB_GPU_SHIM

/* Launches, after GPU_PREPARE. `early`: the kernel may start when the one before in the stream says
 * launch_next or is over, and has launch_wait where it needs what that one wrote. */
template <class... WANTED, class... GIVEN>
static inline enum fa_status
hopper_launch(void (*kernel)(WANTED...), unsigned blocks, unsigned threads, size_t shared_bytes,
              void *stream, bool early, struct fa_error *error, const GIVEN &...given)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return gpu_cuda_status(cudaLaunchKernelEx(&config, kernel, WANTED(given)...), "a launch",
                           error);
}

/* The block's dynamic shared memory, of which a kernel finds the first multiple it needs. */
#define HOPPER_SHARED(name) extern __shared__ uint4 name[]

/* ---- barriers: "mbarrier" ------------------------------------------------------------------- */

/* A barrier's phase ends when `arrivals` threads have arrived and all bytes that were announced
 * have landed. A wait names the parity of a phase, 0 for the first, and passes once that is over;
 * on a fresh barrier, parity 1 passes at once. */
static __device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/* Makes fresh barriers known to the copy engine: "membar / fence", fence.mbarrier_init. */
static __device__ __forceinline__ void barrier_init_done()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives, and announces bytes of the copy engine: "mbarrier.arrive", .expect_tx. Boxes count
 * whole, with rows that do not exist. */
static __device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/* "mbarrier.test_wait / mbarrier.try_wait" */
static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again%=:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
                 "@over bra done%=;\n"
                 "bra again%=;\n"
                 "done%=:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* Named barriers, for threads that take turns: "bar / barrier". */
static __device__ __forceinline__ void turn_wait(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

static __device__ __forceinline__ void turn_give(int number, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

/* ---- copies: "cp.async.bulk.tensor" --------------------------------------------------------- */

/* The map will be needed soon: "prefetch", .tensormap. */
static __device__ __forceinline__ void map_fetch(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* One box to shared memory; its bytes are counted on the barrier. */
static __device__ __forceinline__ void box_load(uint32_t to, const CUtensorMap *map,
                                                uint32_t barrier, int column, int row, int head,
                                                int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(batch)
                 : "memory");
}

/* 16 bytes to device memory. By name, since of an ordinary store the compiler makes four. */
static __device__ __forceinline__ void store_words(void *to, const uint32_t (&x)[4])
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
}

/* ---- words of shared memory ------------------------------------------------------------------ */

/* 16 bytes. By name, as all here: compilers know shared memory by pointers alone. */
static __device__ __forceinline__ void words_write(uint32_t to, int x, int y, int z, int w)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z),
                 "r"(w)
                 : "memory");
}

static __device__ __forceinline__ void words_read(uint32_t from, int &x, int &y, int &z, int &w)
{
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(from)
                 : "memory");
}

static __device__ __forceinline__ void word_clear(uint32_t to)
{
    asm volatile("st.shared.b32 [%0], 0;" ::"r"(to) : "memory");
}

static __device__ __forceinline__ uint32_t word_read(uint32_t from)
{
    uint32_t x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(from) : "memory");
    return x;
}

/* Sets these bits of a word that others set bits of: "red". */
static __device__ __forceinline__ void bits_set(uint32_t to, int bits)
{
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(to), "r"(bits) : "memory");
}

/* Writes a number if it is below 0. */
static __device__ __forceinline__ void negative_write(uint32_t to, float x)
{
    asm volatile("{\n"
                 ".reg .pred below;\n"
                 "setp.lt.f32 below, %0, 0f00000000;\n"
                 "@below st.shared.f32 [%1], %0;\n"
                 "}" ::"f"(x),
                 "r"(to)
                 : "memory");
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* Without a branch, as a division has it. */
static __device__ __forceinline__ float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* ---- one thread, and one kernel after another ------------------------------------------------ */

/* True in one lane of a whole warp, "elect.sync". The assembler then knows that what follows is one
 * thread's, and keeps the operands of copies in uniform registers. */
static __device__ __forceinline__ bool lane_elected()
{
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred elected;\n"
                 "elect.sync _|elected, 0xffffffff;\n"
                 "selp.b32 %0, 1, 0, elected;\n"
                 "}"
                 : "=r"(elected));
    return elected != 0;
}

/* The next kernel in the stream may start, once each block of this one has said so or is over:
 * "griddepcontrol". */
static __device__ __forceinline__ void launch_next()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Until the kernel before is over and what it wrote is seen; at once if this one did not start
 * early. */
static __device__ __forceinline__ void launch_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* ---- registers: "setmaxnreg" ---------------------------------------------------------------- */

/* By all warps of a warpgroup. What a block may share out is what it got at its launch; taking more
 * than others gave waits for ever. */
template <int COUNT> static __device__ __forceinline__ void registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> static __device__ __forceinline__ void registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

#endif /* FLASHLAB_GPU_SHIM */

/* ROWS rows of D columns, all boxes of it. */
template <int ROWS, int D>
static __device__ __forceinline__ void boxes_load(uint32_t to, const CUtensorMap *map,
                                                 uint32_t barrier, int row, int head, int batch)
{
    barrier_expect(barrier, 2 * ROWS * D);
#pragma unroll
    for (int column = 0; column < D; column += HOPPER_COLUMNS)
        box_load(to + 2 * ROWS * column, map, barrier, column, row, head, batch);
}

#endif
