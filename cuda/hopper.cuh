/*
 * Hopper's own instructions (sm_90a), one small function each: barriers in shared memory, the copy
 * engine (TMA), the products of a warpgroup (wgmma), registers that move between warpgroups.
 *
 * Behind each stands the section of the PTX ISA (9.0) that defines it. A warpgroup is four warps,
 * 128 threads, that issue one product together. Shared memory is named by 32-bit addresses.
 *
 * Tiles in shared memory are as TMA leaves them under its 128-byte swizzle: rows of 64 elements of
 * 16 bits, 128 bytes a row, 16-byte piece c of row r at place c xor (r mod 8). A tile begins at a
 * multiple of 1024 bytes. Rows of 128 elements are two such tiles, one after the other: a swizzled
 * box may be no wider than 128 bytes.
 */
#ifndef CUDA_HOPPER_CUH
#define CUDA_HOPPER_CUH

#include <cuda.h>

#include "cuda/fragments.cuh"

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

/* ROWS rows of D columns, all boxes of it. */
template <int ROWS, int D>
static __device__ __forceinline__ void tile_load(uint32_t to, const CUtensorMap *map,
                                                 uint32_t barrier, int row, int head, int batch)
{
    barrier_expect(barrier, 2 * ROWS * D);
#pragma unroll
    for (int column = 0; column < D; column += HOPPER_COLUMNS)
        box_load(to + 2 * ROWS * column, map, barrier, column, row, head, batch);
}

/* 16 bytes to device memory. By name, since of an ordinary store the compiler makes four. */
static __device__ __forceinline__ void store_words(void *to, const uint32_t (&x)[4])
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
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

/* The next kernel in the stream may start early, and until the one before is over, if this one did
 * start early: "griddepcontrol". */
static __device__ __forceinline__ void launch_next()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

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

/* ---- products: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions" -------- */

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
#define HOPPER_PRODUCTS(N, T, NAME, A, B, C, D, E, F)                                              \
    static __device__ __forceinline__ void multiply_rows(float(&c)[N / 8][4], uint64_t a,          \
                                                         uint64_t b, int add, T)                   \
    {                                                                                              \
        asm volatile("{\n"                                                                         \
                     ".reg .pred add;\n"                                                           \
                     "setp.ne.b32 add, %" C ", 0;\n"                                               \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME               \
                     " {" REGISTERS_##N "}, %" A ", %" B ", add, 1, 1, 0, 0;\n"                    \
                                        "}"                                                        \
                     : ACCUMULATOR_##N(c)                                                          \
                     : "l"(a), "l"(b), "r"(add));                                                  \
    }                                                                                              \
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

/* Causal mask and the last key: -inf for keys that a row of the warp's 16 from `row` on does not
 * see. */
template <int KEYS>
static __device__ __forceinline__ void hide_keys(const gpu_head_problem &p, int row, int key,
                                                 float (&s)[KEYS / 8][4])
{
    row += lane_of() / 4;
    key += 2 * (lane_of() % 4);
    const int end[2] = {least(p.nk, row + p.end) - key, least(p.nk, row + 8 + p.end) - key};
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            if (8 * n + e % 2 >= end[e / 2])
                s[n][e] = -INFINITY;
}

/* Scores FIRST .. END - 1 that have become weights, as left operands of P V. */
template <class T, int FIRST, int END, int TILES>
static __device__ __forceinline__ void pack_weights(uint32_t (&weights)[TILES / 2][4],
                                                    const float (&s)[TILES][4])
{
#pragma unroll
    for (int i = FIRST / 16; i < END / 16; i++)
        for (int e = 0; e < 4; e++)
            weights[i][e] = pack(s[2 * i + e / 2][e % 2 * 2], s[2 * i + e / 2][e % 2 * 2 + 1], T());
}

#endif
