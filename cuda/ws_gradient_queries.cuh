/*
 * dQ with an owner, for the same bits each time: ws's backward pass without additions of which
 * nobody knows the order. A block has 128 queries and walks over the keys as wgmma's does: three
 * products, S and dP once more, and dQ += dS K with dS straight from the accumulators.
 *
 * Predicted traffic of a head, elements: reads 2 Nq d + 2 Tr Nk d and 2 Nq (4 bytes), writes Nq d,
 * with Br = 128, Bc = 96.
 */
#ifndef CUDA_WS_GRADIENT_QUERIES_CUH
#define CUDA_WS_GRADIENT_QUERIES_CUH

#include "cuda/ws_gradient.cuh"

/* Shared memory, in bytes from the first multiple of 1024 on:
 *   Q, 64 rows for each warpgroup    2 x 128 d
 *   dO, likewise                     2 x 128 d
 *   K, V of two tiles                2 x 2 x 2 KEYS d
 *   barriers of 8 bytes              that of Q and dO, and one for each pair of K and V */
template <class ELEMENT, int COLUMNS> struct ws_queries {
    using T = ELEMENT;
    static constexpr int D = COLUMNS, GROUPS = 2, ROWS = GROUPS * WARPGROUP_ROWS, KEYS = 96;
    static constexpr int THREADS = GROUPS * WARPGROUP;
    static constexpr int HELD = 2 * WARPGROUP_ROWS * D, TILE_BYTES = 2 * KEYS * D;
    static constexpr int Q = 0, DO = Q + GROUPS * HELD, KV = DO + GROUPS * HELD;
    static constexpr int Q_FULL = KV + 4 * TILE_BYTES, KV_FULL = Q_FULL + 8;
    static constexpr int BYTES = HOPPER_TILE_ALIGN + KV_FULL + 2 * 8;
};

/* dQ of the warpgroup's 64 queries grows by one tile of keys; a row's LSE and delta are the
 * lane's. */
template <class S>
static __device__ __forceinline__ void
ws_queries_tile(const gpu_head_problem &p, uint32_t shared, int place, int row, int key,
                const float (&lse)[2], const float (&delta)[2], float (&dq)[S::D / 8][4])
{
    using T = typename S::T;
    const int own = S::Q + threadIdx.x / WARPGROUP * S::HELD;
    const float unit = p.scale * LOG2_E;
    float s[S::KEYS / 8][4], dp[S::KEYS / 8][4];
    uint32_t ds[S::KEYS / 16][4];
    multiply_scores<T, S::KEYS, S::D>(s, operand(shared + own, 16), operand(shared + place, 16));
    multiply_scores<T, S::KEYS, S::D>(dp, operand(shared + own + S::DO, 16),
                                      operand(shared + place + S::TILE_BYTES, 16));
    products_wait<1>(s);
    if (key + S::KEYS > least(p.nk, row + p.end))
        hide_keys<S::KEYS>(p, row, key, s);
#pragma unroll
    for (int n = 0; n < S::KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            s[n][e] = power_of_two(fmaf(s[n][e], unit, -lse[e / 2]));
    products_wait<0>(dp);
#pragma unroll
    for (int n = 0; n < S::KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            dp[n][e] = s[n][e] * (dp[n][e] - delta[e / 2]);
    pack_left<T, 0, S::KEYS>(ds, dp);
    multiply_values<T, 0, S::KEYS, S::D>(dq, ds,
                                         operand(shared + place, 2 * S::KEYS * HOPPER_COLUMNS));
    products_wait<0>(dq);
}

/* For __grid_constant__ maps of boxes of 64 rows (q, d_o) and of KEYS rows (k, v). */
template <class S>
__global__ void __launch_bounds__(S::THREADS, 1)
    ws_queries_kernel(const __grid_constant__ ws_gradient_call call, int padded_rows,
                      const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                      const __grid_constant__ CUtensorMap v,
                      const __grid_constant__ CUtensorMap d_o)
{
    HOPPER_SHARED(ws_words);
    const gpu_head_problem &p = call.problem.head;
    const uint32_t shared =
        (shared_address(ws_words) + HOPPER_TILE_ALIGN - 1) / HOPPER_TILE_ALIGN * HOPPER_TILE_ALIGN;
    const int row_tiles = (p.nq + S::ROWS - 1) / S::ROWS;
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * S::ROWS;
    const int batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int head = (int)(blockIdx.x / row_tiles % p.heads);
    const int own = row + (int)threadIdx.x / 32 * 16;
    const key_span seen = seen_tiles(p, row, least(S::ROWS, p.nq - row), S::KEYS);
    float dq[S::D / 8][4] = {}, lse[2], delta[2];
    /* One thread sends for K_j and V_j, into the buffer of j's parity. */
    auto load = [&](int j) {
        const uint32_t to = shared + S::KV + j % 2 * 2 * S::TILE_BYTES;
        const uint32_t full = shared + S::KV_FULL + j % 2 * 8;
        boxes_load<S::KEYS, S::D>(to, &k, full, j * S::KEYS, head / p.group, batch);
        boxes_load<S::KEYS, S::D>(to + S::TILE_BYTES, &v, full, j * S::KEYS, head / p.group, batch);
    };
    if (threadIdx.x == 0) {
        barrier_init(shared + S::Q_FULL, 2 * S::GROUPS); /* a boxes_load each */
        barrier_init(shared + S::KV_FULL, 2);
        barrier_init(shared + S::KV_FULL + 8, 2);
        barrier_init_done();
        if (seen.first < seen.end) {
            for (int g = 0; g < S::GROUPS; g++) {
                boxes_load<WARPGROUP_ROWS, S::D>(shared + S::Q + g * S::HELD, &q, shared + S::Q_FULL,
                                                row + g * WARPGROUP_ROWS, head, batch);
                boxes_load<WARPGROUP_ROWS, S::D>(shared + S::DO + g * S::HELD, &d_o,
                                                shared + S::Q_FULL, row + g * WARPGROUP_ROWS, head,
                                                batch);
            }
            load(seen.first);
        }
    }
    for (int r = 0; r < 2; r++) {
        const int at = own + lane_of() / 4 + 8 * r;
        const int64_t number = ((int64_t)batch * p.heads + head) * padded_rows + at;
        lse[r] = at < p.nq ? call.space.lse[number] : INFINITY;
        delta[r] = at < p.nq ? call.space.delta[number] : 0;
    }
    __syncthreads(); /* all wait for the barriers to be set up */
    if (seen.first < seen.end)
        barrier_wait(shared + S::Q_FULL, 0); /* for the copy engine's Q and dO */
    /* Invariant: dq is the sum over the keys before this tile, which is on its way, or there. */
    for (int j = seen.first; j < seen.end; j++) {
        if (threadIdx.x == 0 && j + 1 < seen.end)
            load(j + 1); /* tile j - 1 has been read by all */
        barrier_wait(shared + S::KV_FULL + j % 2 * 8,
                     (j - seen.first) / 2 % 2); /* for the copy engine's tile */
        ws_queries_tile<S>(p, shared, S::KV + j % 2 * 2 * S::TILE_BYTES, own, j * S::KEYS, lse,
                           delta, dq);
        __syncthreads(); /* all wait until everyone's products have read tile j */
    }
    if (__any_sync(~0u, is_wild<S::D>(dq)))
        repeat_queries<typename S::T, S::D>(&call.problem, batch, head, own, 16);
    else
        ws_gradient_store<typename S::T, S::D>(call.problem.dq, batch, head, own, p.nq, p.scale,
                                               dq);
}

#endif
