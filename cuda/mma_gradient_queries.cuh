/*
 * dQ with an owner, for the same bits each time: mma's backward pass without additions of which
 * nobody knows the order. A block has 64 queries, a warp 16 of them, and walks over the keys as
 * async's does: three products, S and dP once more, and dQ += dS K with dS straight from the
 * accumulators.
 *
 * Predicted traffic of a head, elements: reads 2 Nq d + 2 Tr Nk d and 2 Nq (4 bytes), writes Nq d,
 * with Br = Bc = 64.
 */
#ifndef CUDA_MMA_GRADIENT_QUERIES_CUH
#define CUDA_MMA_GRADIENT_QUERIES_CUH

#include "cuda/gradient_pairs.cuh"
#include "cuda/gradient_tiles.cuh"

enum { QUERIES_THREADS = 128, QUERIES_ROWS = 64, QUERIES_KEYS = 64 };

/* Shared memory, in elements:   Q, dO         QUERIES_ROWS x D each
 *                               K, V, twice   QUERIES_KEYS x D each */
template <int D> static constexpr int queries_bytes()
{
    return 2 * D * (2 * QUERIES_ROWS + 4 * QUERIES_KEYS);
}

/* dS of the warp's 16 queries and a tile's keys in the place of dP. */
static __device__ __forceinline__ void queries_ds(const gpu_head_problem &p, int batch, int head,
                                                  int row, int key, const float2 (&stats)[2],
                                                  const float (&s)[QUERIES_KEYS / 8][4],
                                                  float (&dp)[QUERIES_KEYS / 8][4])
{
    const bool whole = sees_all(p, row, 16, key, QUERIES_KEYS);
    const float unit = p.scale * LOG2_E;
    row += lane_of() / 4;
    key += 2 * (lane_of() % 4);
#pragma unroll
    for (int n = 0; n < QUERIES_KEYS / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int r = row + e / 2 * 8, c = key + 8 * n + e % 2;
            if (p.dropout)
                dp[n][e] = is_dropped(p, batch, head, r, c) ? 0 : dp[n][e] * p.keep_scale;
            const float weight = power_of_two(fmaf(s[n][e], unit, -stats[e / 2].x));
            const bool hidden = !whole && (r >= p.nq || is_hidden(p, r, c));
            dp[n][e] = hidden ? 0 : weight * (dp[n][e] - stats[e / 2].y);
        }
}

/* K_j and V_j set out for their buffer. */
template <class T, int D>
static __device__ __forceinline__ void queries_fetch(const gpu_head_problem &p, const T *k,
                                                     const T *v, int tile, T *to)
{
    const int key = tile * QUERIES_KEYS;
    load_async<T, D, QUERIES_KEYS, QUERIES_THREADS>(to, k + key * p.k.stride[2], p.k.stride[2],
                                                    p.nk - key);
    load_async<T, D, QUERIES_KEYS, QUERIES_THREADS>(to + QUERIES_KEYS * D, v + key * p.v.stride[2],
                                                    p.v.stride[2], p.nk - key);
}

static __device__ __forceinline__ int next_tile(const gpu_head_problem &p, int tile, int end,
                                                int row, int rows)
{
    while (tile < end && !block_mask_visits(p, row, rows, tile * QUERIES_KEYS, QUERIES_KEYS))
        tile++;
    return tile;
}

template <class T, int D>
__global__ void __launch_bounds__(QUERIES_THREADS, 2)
    mma_queries_kernel(const __grid_constant__ gpu_gradient_problem g, gradient_space space,
                       unsigned row_tiles)
{
    using L = swizzled<D>;
    GPU_SHARED(words);
    const gpu_head_problem &p = g.head;
    constexpr int TILE = QUERIES_KEYS * D;
    T *q = reinterpret_cast<T *>(words), *d_o = q + QUERIES_ROWS * D;
    T *kv = d_o + QUERIES_ROWS * D; /* K_j at kv + 2 TILE b, V_j after it */
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * QUERIES_ROWS;
    const int rows = least(QUERIES_ROWS, p.nq - row), warp_row = threadIdx.x / 32 * 16;
    const int batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int head = (int)(blockIdx.x / row_tiles % p.heads);
    const T *k = (const T *)p.k.data + gpu_row_index(&p.k, batch, head / p.group, 0);
    const T *v = (const T *)p.v.data + gpu_row_index(&p.v, batch, head / p.group, 0);
    const uint32_t q_lane = L::move(shared_address(q) + left_lane<L>(), warp_row, 0);
    float dq[D / 8][4] = {};
    float2 stats[2];
    for (int r = 0; r < 2; r++)
        stats[r] = space.stats[((int64_t)batch * p.heads + head) * space.rows +
                               least(row + warp_row + lane_of() / 4 + 8 * r, p.nq - 1)];
    const key_span seen = seen_tiles(p, row, rows, QUERIES_KEYS);
    int j = next_tile(p, seen.first, seen.end, row, rows);
    if (j < seen.end) {
        load_async<T, D, QUERIES_ROWS, QUERIES_THREADS>(
            q, (const T *)p.q.data + gpu_row_index(&p.q, batch, head, row), p.q.stride[2], rows);
        load_async<T, D, QUERIES_ROWS, QUERIES_THREADS>(
            d_o, (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, row), g.d_o.stride[2],
            rows);
        queries_fetch<T, D>(p, k, v, j, kv);
    }
    /* Invariant: dq is the sum over the keys before this tile, which is on its way to buffer b. */
    for (int b = 0; j < seen.end; b ^= 1) {
        wait_async();    /* this thread's part of tile j is there */
        __syncthreads(); /* everyone's is, and buffer 1 - b has been read by all */
        const int next = next_tile(p, j + 1, seen.end, row, rows);
        if (next < seen.end)
            queries_fetch<T, D>(p, k, v, next, kv + 2 * TILE * (b ^ 1));
        const uint32_t k_at = shared_address(kv + 2 * TILE * b);
        float s[QUERIES_KEYS / 8][4] = {}, dp[QUERIES_KEYS / 8][4] = {};
        uint32_t a[QUERIES_KEYS / 16][4];
        multiply_tiles<T, D, QUERIES_KEYS>(q_lane, k_at + keys_lane<L>(), s);
        multiply_tiles<T, D, QUERIES_KEYS>(q_lane + 2 * QUERIES_ROWS * D,
                                          k_at + 2 * TILE + keys_lane<L>(), dp);
        queries_ds(p, batch, head, row + warp_row, j * QUERIES_KEYS, stats, s, dp);
        pack_left<T, 0, QUERIES_KEYS>(a, dp);
        multiply_packed<T, D, QUERIES_KEYS, D>(a, k_at + values_lane<L>(), dq);
        j = next;
    }
    if (__any_sync(~0u, is_wild<D>(dq)))
        repeat_queries<T, D>(&g, batch, head, row + warp_row, 16);
    else
        store_gradient<T, D>(g.dq, batch, head, row + warp_row, p.nq, 0, p.scale, dq);
}

#endif
