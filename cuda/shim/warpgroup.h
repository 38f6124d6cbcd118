/*
 * The instructions of cuda/hopper*.cuh on a CPU, on the fibers of shim.cpp.
 *
 * What Hopper does by itself happens here at some later time, between two turns of threads: a box
 * lands, a warpgroup's next product is computed, from what its operands hold then, registers too.
 * Until a box has landed its place holds garbage. What stmatrix stores may be read by products
 * after the fence for them, and not before. Seeds and order: shim.h. Garbage is finite: the rungs
 * repeat what comes out as not finite, and would hide it.
 */
#ifndef CUDA_SHIM_WARPGROUP_H
#define CUDA_SHIM_WARPGROUP_H

#include <type_traits>

#include "cuda/tensor_cores.cuh"

/* Strides are in bytes, of batches, heads and rows. */
struct CUtensorMap {
    const char *data;
    int64_t rows, stride[3];
    int box_rows;
};

#define HOPPER_SHARED(name) uint4 *name = static_cast<uint4 *>(shim_shared())

template <class... WANTED, class... GIVEN>
static inline enum fa_status hopper_launch(void (*kernel)(WANTED...), unsigned blocks,
                                           unsigned threads, size_t shared_bytes, void *stream,
                                           bool, struct fa_error *error, const GIVEN &...given)
{
    enum fa_status status;
    GPU_LAUNCH(status, kernel, blocks, threads, shared_bytes, stream, error, WANTED(given)...);
    return status;
}

static inline void launch_next()
{
}

void launch_wait();

static inline bool lane_elected()
{
    return threadIdx.x % 32 == 0;
}

template <int COUNT> static inline void registers_give()
{
}

template <int COUNT> static inline void registers_take()
{
}

/* ---- barriers and copies -------------------------------------------------------------------- */

void barrier_init(uint32_t barrier, int arrivals);
void barrier_arrive(uint32_t barrier);
void barrier_expect(uint32_t barrier, int bytes);
void barrier_wait(uint32_t barrier, uint32_t parity);
void turn_wait(int number, int threads);
void turn_give(int number, int threads);
void box_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int column, int row, int head,
              int batch);
void bytes_load(uint32_t to, const void *from, int bytes, uint32_t barrier);

static inline void barrier_init_done()
{
}

static inline void map_fetch(const CUtensorMap *)
{
}

/* ---- words ---------------------------------------------------------------------------------- */

/* So many bytes of shared memory; the program ends if they are outside of it. */
void *shim_shared_at(uint32_t address, int bytes);

static inline void words_write(uint32_t to, int x, int y, int z, int w)
{
    const int words[4] = {x, y, z, w};
    std::memcpy(shim_shared_at(to, sizeof words), words, sizeof words);
}

static inline void words_read(uint32_t from, int &x, int &y, int &z, int &w)
{
    int words[4];
    std::memcpy(words, shim_shared_at(from, sizeof words), sizeof words);
    x = words[0], y = words[1], z = words[2], w = words[3];
}

static inline void word_clear(uint32_t to)
{
    std::memset(shim_shared_at(to, 4), 0, 4);
}

static inline uint32_t word_read(uint32_t from)
{
    uint32_t x;
    std::memcpy(&x, shim_shared_at(from, 4), 4);
    return x;
}

static inline void bits_set(uint32_t to, int bits)
{
    const uint32_t x = word_read(to) | (uint32_t)bits;
    std::memcpy(shim_shared_at(to, 4), &x, 4);
}

static inline void negative_write(uint32_t to, float x)
{
    if (x < 0)
        std::memcpy(shim_shared_at(to, 4), &x, 4);
}

/* Whether this thread has waited in this block. */
bool shim_launch_waited();

/* Who counts without having waited may count what the kernel before then sets to zero. */
static inline void count_after(uint32_t *count)
{
    if (!shim_launch_waited())
        shim_fail("a thread counts, and has not waited for the launch before");
    std::atomic_ref<uint32_t>(*count).fetch_add(1, std::memory_order_release);
}

/* Kernels run one after the other here, so what is counted is there or never will be. */
static inline void await_count(const uint32_t *count, uint32_t all)
{
    if (*count < all)
        shim_fail("a kernel waits for more than the one before has counted");
}

static inline float2 numbers_read(uint32_t from)
{
    float2 x;
    std::memcpy(&x, shim_shared_at(from, sizeof x), sizeof x);
    return x;
}

static inline void store_words(void *to, const uint32_t (&x)[4])
{
    if ((uintptr_t)to % sizeof x != 0)
        shim_fail("16 bytes to a place that is no multiple of 16");
    std::memcpy(to, x, sizeof x);
}

/* stmatrix and the fence after it. */
void store_transposed(uint32_t row, const uint32_t (&x)[4]);
void stores_done();

/* ---- products ------------------------------------------------------------------------------- */

/* One product of a warpgroup as one of its threads knows it. */
struct shim_product {
    float *c;
    int columns;
    const uint32_t *left; /* four words of the left operand; NULL: it is described by a */
    uint64_t a, b;
    bool a_turned, b_turned; /* MN-major */
    bool add, half;          /* f16, else bf16 */
};
void shim_multiply(const shim_product &product);
void products_commit();
void shim_products_wait(unsigned left);

static inline void products_begin()
{
}

template <int TILES> static inline void accumulator_pin(float (&)[TILES][4])
{
}

template <int STEPS> static inline void words_pin(uint32_t (&)[STEPS][4])
{
}

template <int LEFT> static inline void products_wait()
{
    shim_products_wait(LEFT);
}

template <int LEFT, int TILES> static inline void products_wait(float (&)[TILES][4])
{
    shim_products_wait(LEFT);
}

template <class T> constexpr bool shim_is_half = std::is_same_v<T, gpu_f16>;

template <int TILES, class T>
static inline void multiply_rows(float (&c)[TILES][4], uint64_t a, uint64_t b, int add, T)
{
    shim_multiply({c[0], 8 * TILES, nullptr, a, b, false, false, add != 0, shim_is_half<T>});
}

template <int TILES, class T>
static inline void multiply_weights(float (&c)[TILES][4], const uint32_t (&a)[4], uint64_t b, T)
{
    shim_multiply({c[0], 8 * TILES, a, 0, b, false, true, true, shim_is_half<T>});
}

template <int TILES, class T>
static inline void multiply_turned(float (&c)[TILES][4], uint64_t a, uint64_t b, int add, T)
{
    shim_multiply({c[0], 8 * TILES, nullptr, a, b, true, false, add != 0, shim_is_half<T>});
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static inline float reciprocal(float x)
{
    return 1 / x;
}

template <class T> static inline uint32_t multiply_pairs(uint32_t x, uint32_t y, T)
{
    return pack(shim_half(x, 0, T()) * shim_half(y, 0, T()),
                shim_half(x, 1, T()) * shim_half(y, 1, T()), T());
}

#endif
