/*
 * Which key a query sees, by position and by dropout, for every rung.
 */
#ifndef CUDA_VISIBLE_CUH
#define CUDA_VISIBLE_CUH

#include "cuda/launch.cuh"

/* Half open. */
struct key_span {
    int first, end;
};

static __device__ __forceinline__ int least(int a, int b)
{
    return a < b ? a : b;
}

static __device__ __forceinline__ int greatest(int a, int b)
{
    return a > b ? a : b;
}

/* Keys that some row of row .. row + rows - 1 sees by causal mask and window. */
static __device__ __forceinline__ key_span seen_keys(const gpu_head_problem &head, int row,
                                                     int rows)
{
    return {greatest(0, row + head.first), least(head.nk, row + rows - 1 + head.end)};
}

/* Key tiles of `size` that meet those keys. */
static __device__ __forceinline__ key_span seen_tiles(const gpu_head_problem &head, int row,
                                                      int rows, int size)
{
    key_span keys = seen_keys(head, row, rows);
    if (keys.first >= keys.end)
        return {0, 0};
    return {keys.first / size, (keys.end + size - 1) / size};
}

/* Whether each of `rows` rows sees each of `keys` keys, all of which exist. */
static __device__ __forceinline__ bool sees_all(const gpu_head_problem &head, int row, int rows,
                                                int key, int keys)
{
    return !head.visit && key >= row + rows - 1 + head.first &&
           key + keys <= least(head.nk, row + head.end);
}

/* Whether the block mask leaves anything of the tile. */
static __device__ __forceinline__ bool block_mask_visits(const gpu_head_problem &head, int row,
                                                         int rows, int key, int keys)
{
    if (!head.visit)
        return true;
    for (int r = row / head.block_br; r <= (row + rows - 1) / head.block_br; r++)
        for (int c = key / head.block_bc; c <= (least(key + keys, head.nk) - 1) / head.block_bc;
             c++)
            if (head.visit[(int64_t)r * head.block_columns + c])
                return true;
    return false;
}

/* A call and not inlined, like Philox below: kernels ask for each of their scores in turn, and the
 * loops of those that have neither mask nor dropout stay short. */
static __device__ GPU_NO_INLINE bool block_mask_hides(const uint8_t *visit, int columns, int br,
                                                      int bc, int row, int key)
{
    return !visit[(int64_t)(row / br) * columns + key / bc];
}

static __device__ __forceinline__ bool is_hidden(const gpu_head_problem &head, int row, int key)
{
    if (key >= head.nk || key < row + head.first || key >= row + head.end)
        return true;
    return head.visit && row < head.nq &&
           block_mask_hides(head.visit, head.block_columns, head.block_br, head.block_bc, row, key);
}

/* One word of Philox4x32-10 (philox.h): number `word` of the four. */
static __device__ GPU_NO_INLINE uint32_t philox_word(uint64_t key, uint32_t c0, uint32_t c1,
                                                     uint32_t c2, uint32_t c3, int word)
{
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xd2511f53u * c0;
        uint64_t product1 = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)product0;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3;
}

/* Whether dropout drops a weight. */
static __device__ __forceinline__ bool is_dropped(const gpu_head_problem &head, int batch,
                                                  int head_index, int row, int key)
{
    uint32_t word = philox_word(head.seed, (uint32_t)key / 4, (uint32_t)row, (uint32_t)head_index,
                                (uint32_t)batch, key % 4);
    return word < head.threshold;
}

/* A weight that is hidden or dropped is -0, which no exponential is: its row of V is skipped. */
static __device__ __forceinline__ bool is_skipped(float weight)
{
    return weight == 0 && signbit(weight);
}

#endif
