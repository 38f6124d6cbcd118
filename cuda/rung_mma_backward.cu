/*
 * mma-bwd: the backward pass on tensor cores.
 *
 * Idea. One kernel of five products in place of flash2-bwd's two kernels and seven. A block holds
 * 128 keys, a warp 16 of them, and walks over the queries. S and dP are computed turned over, keys
 * as rows: then P^T and dS^T lie in the accumulators as the products dV += P^T dO and dK += dS^T Q
 * take their left operands, and only dS goes through shared memory, for dQ. dQ belongs to nobody:
 * each block adds its share to sums in f32 by reductions, whose order changes its last bits from
 * run to run. On request a second kernel (mma_gradient_queries.cuh) computes dQ from scores of its
 * own, one owner a query: seven products again, and the same bits each time. For d = 256 a block
 * holds 64 keys and half of the columns of their gradients, so two blocks compute each score.
 *
 * Predicted traffic of a head, elements: first 2 Nq d + Nq read and 2 Nq written (LSE and delta, 4
 * bytes each); then Nk 2 d + Tc (2 Nq d + 2 Nq) read, twice for d = 256, Nk 2 d written and Tc Nq d
 * added (4 bytes); then Nq d read (4 bytes) and written; Bc = 128 (64 for d = 256), Tc of the
 * visited tiles under a mask.
 * Limits: as mma, its workspace, and 130 to 145 KiB of shared memory a block, which compute
 * capability 8.0 and 9.0 have; the deterministic kernel 48, 96 and 192 KiB (d = 64, 128, 256).
 * Measured: 271 TFLOP/s in f16 (d = 128, N = 4096), 239 causal; 249 and 218 (d = 64); reads as
 * counted to the byte. One H200, 2026-11-30; more in README.md.
 */
#include "cuda/mma_gradient_queries.cuh"

/* A warp owns a row. An empty row's LSE becomes 0, since its scores are -inf already. */
template <class T, int D>
__global__ void __launch_bounds__(256)
    mma_stats_kernel(const __grid_constant__ gpu_gradient_problem g, gradient_space space)
{
    const gpu_head_problem &p = g.head;
    const int64_t at = (int64_t)blockIdx.x * 8 + threadIdx.x / 32;
    const int64_t number = at / space.rows, row = at % space.rows;
    if (number >= p.all_heads)
        return; /* the whole warp; no barrier follows */
    const int64_t batch = number / p.heads, head = number % p.heads;
    float2 stats = make_float2(0, 0);
    if (row < p.nq) {
        const float lse = ((const float *)p.lse.data)[gpu_row_index(&p.lse, batch, head, row)];
        stats.x = lse == -INFINITY ? 0 : exponent_of(lse);
        stats.y = delta_of((const T *)p.o.data + gpu_row_index(&p.o, batch, head, row),
                           (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, row), D);
    }
    if (lane_of() == 0)
        space.stats[at] = stats;
}

/* What a block of the keys' kernel knows of itself. */
template <class T> struct gradient_block {
    int batch, kv_head, key, keys;
    int column;              /* the first of OUT */
    T *k, *v, *q, *d_o, *ds; /* shared memory */
    float2 *stats;
};

/* Q_i, dO_i and their numbers set out for buffer b. */
template <class T, int D>
static __device__ __forceinline__ void
gradient_fetch(const gpu_gradient_problem &g, const gradient_space &space,
               const gradient_block<T> &block, query_walk at, int b)
{
    using G = gradient<D>;
    const gpu_head_problem &p = g.head;
    const int rows = p.nq - at.row;
    load_async<T, D, G::ROWS, G::THREADS>(block.q + b * G::PASSING,
                                          (const T *)p.q.data +
                                              gpu_row_index(&p.q, block.batch, at.head, at.row),
                                          p.q.stride[2], rows);
    load_async<T, D, G::ROWS, G::THREADS>(block.d_o + b * G::PASSING,
                                          (const T *)g.d_o.data +
                                              gpu_row_index(&g.d_o, block.batch, at.head, at.row),
                                          g.d_o.stride[2], rows);
    const int64_t head = (int64_t)block.batch * p.heads + at.head;
    if (threadIdx.x < G::ROWS / 2)
        copy_async(shared_address(block.stats + b * G::ROWS) + 16 * threadIdx.x,
                   space.stats + head * space.rows + at.row + 2 * threadIdx.x, true);
}

template <class T, int D>
static __device__ __forceinline__ gradient_block<T> gradient_block_of(const gpu_head_problem &p,
                                                                      unsigned key_tiles, T *memory)
{
    using G = gradient<D>;
    gradient_block<T> block;
    const unsigned tile = blockIdx.x / G::PARTS;
    block.column = (int)(blockIdx.x % G::PARTS) * G::OUT;
    block.key = (int)(tile % key_tiles) * G::KEYS;
    block.keys = least(G::KEYS, p.nk - block.key);
    block.batch = (int)(tile / key_tiles / p.kv_heads);
    block.kv_head = (int)(tile / key_tiles % p.kv_heads);
    block.k = memory;
    block.v = block.k + G::HELD;
    block.q = block.v + G::HELD;
    block.d_o = block.q + 2 * G::PASSING;
    block.ds = block.d_o + 2 * G::PASSING;
    block.stats = reinterpret_cast<float2 *>(block.ds + G::DS);
    return block;
}

/* The warp's 16 keys and the CHUNK queries at `column` of the step's: four of the five products. */
template <class T, int D, bool EXTRAS>
static __device__ __forceinline__ void
take_queries(const gpu_head_problem &p, const gradient_block<T> &block, query_walk at, int column,
             uint32_t k_lane, uint32_t q, uint32_t d_o, const float2 *stats,
             float (&dk)[gradient<D>::OUT / 8][4], float (&dv)[gradient<D>::OUT / 8][4])
{
    using G = gradient<D, EXTRAS>;
    using L = typename G::L;
    constexpr int N = G::CHUNK;
    float s[N / 8][4] = {}, dp[N / 8][4] = {};
    uint32_t a[N / 16][4];
    multiply_tiles<T, D, N>(k_lane, q + keys_lane<L>(), s);
    multiply_tiles<T, D, N>(k_lane + 2 * G::HELD, d_o + keys_lane<L>(), dp);
    const uint64_t dropped = gradient_weights<N, EXTRAS>(
        p, block.batch, at, block.key + threadIdx.x / 32 * 16, stats, s, dp);
    if (EXTRAS && dropped)
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            s[i / 4][i % 4] = dropped >> i & 1 ? 0 : s[i / 4][i % 4];
    pack_left<T, 0, N>(a, s);
    multiply_packed<T, D, N, G::OUT>(a, L::move(d_o + values_lane<L>(), 0, block.column), dv);
    pack_left<T, 0, N>(a, dp);
    keep_ds<T, D, N>(block.ds, column, a);
    multiply_packed<T, D, N, G::OUT>(a, L::move(q + values_lane<L>(), 0, block.column), dk);
}

template <class T, int D, bool EXTRAS>
__global__ void __launch_bounds__(gradient<D>::THREADS, 1)
    mma_keys_kernel(const __grid_constant__ gpu_gradient_problem g, gradient_space space,
                    unsigned key_tiles)
{
    using G = gradient<D, EXTRAS>;
    GPU_SHARED(words);
    const gpu_head_problem &p = g.head;
    const gradient_block<T> block =
        gradient_block_of<T, D>(p, key_tiles, reinterpret_cast<T *>(words));
    const int batch = block.batch, last_head = (block.kv_head + 1) * p.group;
    const int warp_row = threadIdx.x / 32 * 16, own = block.key + warp_row;
    const uint32_t k_lane =
        G::L::move(shared_address(block.k) + left_lane<typename G::L>(), warp_row, 0);
    float dk[G::OUT / 8][4] = {}, dv[G::OUT / 8][4] = {};
    query_walk at =
        walk_on<EXTRAS>(p, {block.kv_head * p.group, 0}, G::ROWS, last_head, block.key, block.keys);
    if (at.head < last_head) {
        load_async<T, D, G::KEYS, G::THREADS>(
            block.k, (const T *)p.k.data + gpu_row_index(&p.k, batch, block.kv_head, block.key),
            p.k.stride[2], block.keys);
        load_async<T, D, G::KEYS, G::THREADS>(
            block.v, (const T *)p.v.data + gpu_row_index(&p.v, batch, block.kv_head, block.key),
            p.v.stride[2], block.keys);
        gradient_fetch<T, D>(g, space, block, at, 0);
    }
    /* Invariant: dk and dv are the sums over the tiles of queries before this one, dk without the
     * scale and dv without 1 / (1 - p); this one is on its way to buffer b, or there. */
    for (int b = 0; at.head < last_head; b ^= 1) {
        wait_async();    /* this thread's part of Q_i, dO_i is there */
        __syncthreads(); /* everyone's is; buffer 1 - b and dS have been read by all */
        const query_walk next = walk_on<EXTRAS>(p, {at.head, at.row + G::ROWS}, G::ROWS, last_head,
                                                block.key, block.keys);
        if (next.head < last_head)
            gradient_fetch<T, D>(g, space, block, next, b ^ 1);
        const uint32_t q = shared_address(block.q + b * G::PASSING);
        const uint32_t d_o = shared_address(block.d_o + b * G::PASSING);
#pragma unroll
        for (int c = 0; c < G::ROWS; c += G::CHUNK)
            take_queries<T, D, EXTRAS>(p, block, {at.head, at.row + c}, c, k_lane, q + 2 * c * D,
                                       d_o + 2 * c * D, block.stats + b * G::ROWS + c, dk, dv);
        if (space.dq) {
            const int64_t head = (int64_t)batch * p.heads + at.head;
            __syncthreads(); /* all wait for each other's part of dS */
            add_dq<T, D>(shared_address(block.ds), shared_address(block.k), block.column,
                         space.dq + (head * space.rows + at.row) * D);
        }
        at = next;
    }
    if (__any_sync(~0u, is_wild<G::OUT>(dk) || is_wild<G::OUT>(dv))) {
        repeat_keys<T, D, G::OUT>(&g, batch, block.kv_head, own, 16, block.column);
        return;
    }
    store_gradient<T, G::OUT>(g.dk, batch, block.kv_head, own, p.nk, block.column, p.scale, dk);
    store_gradient<T, G::OUT>(g.dv, batch, block.kv_head, own, p.nk, block.column, p.keep_scale,
                              dv);
}

/* The sums of dQ to the gradient's dtype and place: a block takes a tile, a warp 32 x 32 of it. */
template <class T, int D>
__global__ void __launch_bounds__(gradient<D>::THREADS)
    mma_dq_kernel(const __grid_constant__ gpu_gradient_problem g, gradient_space space)
{
    using G = gradient<D>;
    const int row_tiles = (int)(space.rows / G::ROWS), warp = threadIdx.x / 32;
    const int batch = (int)(blockIdx.x / row_tiles / g.head.heads);
    const int head = (int)(blockIdx.x / row_tiles % g.head.heads);
    const int first = (int)(blockIdx.x % row_tiles) * G::ROWS;
    const int row = first + warp / G::DQ_ACROSS * 32 + lane_of() / 4;
    const float *from = space.dq + (int64_t)blockIdx.x * G::ROWS * D + warp * 1024 + lane_of() * 4;
    bool wild = false;
    for (int i = 0; i < G::PARTS * 8; i++) {
        const int part = i / 8, h = i / 4 % 2, n = i % 4, own = row + 16 * h;
        const float4 x = load_past_l1(
            reinterpret_cast<const float4 *>(from + part * G::OUT * G::ROWS + (4 * h + n) * 128));
        const int column = part * G::OUT + warp % G::DQ_ACROSS * 32 + 8 * n + 2 * (lane_of() % 4);
        T *to = (T *)g.dq.data + gpu_row_index(&g.dq, batch, head, own) + column;
        wild |= !(x.x * 0 + x.y * 0 + x.z * 0 + x.w * 0 == 0);
        if (own < g.head.nq)
            *reinterpret_cast<uint32_t *>(to) = pack(x.x * g.head.scale, x.y * g.head.scale, T());
        if (own + 8 < g.head.nq)
            *reinterpret_cast<uint32_t *>(to + 8 * g.dq.stride[2]) =
                pack(x.z * g.head.scale, x.w * g.head.scale, T());
    }
    /* All have stored before some rows are written again. */
    if (__syncthreads_or(wild))
        repeat_queries<T, D>(&g, batch, head, first + warp * (G::ROWS / G::WARPS),
                             G::ROWS / G::WARPS);
}

/* ---- launching ----------------------------------------------------------------------------- */

/* Blocks of each kernel, and tiles of a head. */
struct gradient_grids {
    unsigned stats, keys, queries, dq, key_tiles, row_tiles;
};

/* Bytes of the two parts of the workspace, each a multiple of 256. */
template <int D>
static enum fa_status workspace_parts(const struct fa_problem *problem, int64_t *stats, int64_t *dq,
                                      struct fa_error *error)
{
    int64_t rows = 0;
    if (problem->nq > INT64_MAX - 128 ||
        !fa_multiply(problem->batch * problem->heads, gradient<D>::padded(problem->nq), &rows) ||
        !fa_multiply(rows, 4 * D, dq) || *dq > INT64_MAX / 2)
        return fa_fail(error, FA_TOO_LARGE, "the sums of dQ are past 2^62 bytes");
    *stats = 8 * rows;
    return FA_OK;
}

/* All that may be refused, before anything is launched. */
template <class T, int D, bool EXTRAS>
static enum fa_status prepare(const gpu_gradient_problem &g, const gradient_space &space,
                              gradient_grids *grids, struct fa_error *error)
{
    using G = gradient<D>;
    const int64_t rows = g.head.all_heads * space.rows;
    grids->key_tiles = (unsigned)((g.head.nk + G::KEYS - 1) / G::KEYS);
    grids->row_tiles = (unsigned)((g.head.nq + QUERIES_ROWS - 1) / QUERIES_ROWS);
    enum fa_status status = gpu_grid(rows / 8, 1, 1, &grids->stats, error);
    if (status == FA_OK)
        status = gpu_grid(g.head.all_kv_heads, grids->key_tiles, G::PARTS, &grids->keys, error);
    if (status == FA_OK)
        status = gpu_grid(g.head.all_heads, grids->row_tiles, 1, &grids->queries, error);
    if (status == FA_OK)
        status = gpu_grid(rows / G::ROWS, 1, 1, &grids->dq, error);
    if (status == FA_OK)
        GPU_PREPARE(status, (mma_keys_kernel<T, D, EXTRAS>), G::BYTES, error);
    if (status == FA_OK && !space.dq)
        GPU_PREPARE(status, (mma_queries_kernel<T, D>), queries_bytes<D>(), error);
    return status;
}

template <class T, int D, bool EXTRAS>
static enum fa_status launch_all(const gpu_gradient_problem &g, const gradient_space &space,
                                 void *stream, struct fa_error *error)
{
    using G = gradient<D>;
    gradient_grids grids;
    enum fa_status status = prepare<T, D, EXTRAS>(g, space, &grids, error);
    if (status == FA_OK && grids.stats > 0)
        GPU_LAUNCH(status, (mma_stats_kernel<T, D>), grids.stats, 256, 0, stream, error, g, space);
    if (status == FA_OK && space.dq && grids.dq > 0)
        status =
            gpu_clear(space.dq, (size_t)(g.head.all_heads * space.rows) * D * 4, stream, error);
    if (status == FA_OK && grids.keys > 0)
        GPU_LAUNCH(status, (mma_keys_kernel<T, D, EXTRAS>), grids.keys, G::THREADS, G::BYTES,
                   stream, error, g, space, grids.key_tiles);
    if (status == FA_OK && space.dq && grids.dq > 0)
        GPU_LAUNCH(status, (mma_dq_kernel<T, D>), grids.dq, G::THREADS, 0, stream, error, g, space);
    if (status == FA_OK && !space.dq && grids.queries > 0)
        GPU_LAUNCH(status, (mma_queries_kernel<T, D>), grids.queries, QUERIES_THREADS,
                   queries_bytes<D>(), stream, error, g, space, grids.row_tiles);
    return status;
}

template <class T, int D>
static enum fa_status mma_backward_of(const struct fa_problem *problem,
                                      const gpu_gradient_problem &g,
                                      const struct gpu_options *options, struct fa_error *error)
{
    int64_t stats = 0, dq = 0;
    enum fa_status status = workspace_parts<D>(problem, &stats, &dq, error);
    if (status != FA_OK)
        return status;
    char *at = options ? (char *)options->workspace : nullptr;
    const gradient_space space = {
        (float2 *)at, options && options->deterministic ? nullptr : (float *)(at + stats),
        gradient<D>::padded(problem->nq)};
    const bool extras = problem->window_left >= 0 || g.head.visit || g.head.dropout;
    /* One kernel less to compile: for d = 256 the general one is asked for all. */
    if (extras || D == 256)
        return launch_all<T, D, true>(g, space, gpu_stream(options), error);
    return launch_all<T, D, D == 256>(g, space, gpu_stream(options), error);
}

extern "C" void gpu_mma_backward_tiles(const struct fa_problem *problem, bool deterministic,
                                       struct gpu_tiles *tiles)
{
    if (problem->d == 64)
        *tiles = {gradient<64>::ROWS, gradient<64>::KEYS, 0, 0, 1};
    else if (problem->d == 128)
        *tiles = {gradient<128>::ROWS, gradient<128>::KEYS, 0, 0, 1};
    else
        *tiles = {gradient<256>::ROWS, gradient<256>::KEYS, 0, 0, gradient<256>::PARTS};
    if (deterministic) {
        tiles->dq_br = QUERIES_ROWS;
        tiles->dq_bc = QUERIES_KEYS;
    }
}

extern "C" enum fa_status gpu_mma_backward_bytes(const struct fa_problem *problem, int64_t *bytes,
                                                 struct fa_error *error)
{
    int64_t stats = 0, dq = 0;
    enum fa_status status = problem->d == 64    ? workspace_parts<64>(problem, &stats, &dq, error)
                            : problem->d == 128 ? workspace_parts<128>(problem, &stats, &dq, error)
                                                : workspace_parts<256>(problem, &stats, &dq, error);
    if (status == FA_OK)
        *bytes = stats + dq;
    return status;
}

template <class T>
static enum fa_status mma_backward_in(const struct fa_problem *problem,
                                      const gpu_gradient_problem &g,
                                      const struct gpu_options *options, struct fa_error *error)
{
    if (problem->d == 64)
        return mma_backward_of<T, 64>(problem, g, options, error);
    if (problem->d == 128)
        return mma_backward_of<T, 128>(problem, g, options, error);
    return mma_backward_of<T, 256>(problem, g, options, error);
}

extern "C" enum fa_status gpu_mma_backward(const struct gpu_limits *limits,
                                           const struct fa_problem *problem,
                                           const struct gpu_backward *tensors,
                                           const struct gpu_options *options,
                                           struct fa_error *error)
{
    gpu_gradient_problem g;
    enum fa_status status =
        gpu_backward_check(limits, problem, tensors, options, gpu_mma_backward_bytes, &g, error);
    if (status == FA_OK)
        status = gpu_capability_check("mma", 8, error);
    if (status != FA_OK)
        return status;
    if (problem->dtype == FA_F16)
        return mma_backward_in<gpu_f16>(problem, g, options, error);
    return mma_backward_in<gpu_bf16>(problem, g, options, error);
}
