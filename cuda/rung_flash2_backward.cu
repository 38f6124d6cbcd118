/*
 * flash2-bwd: the backward pass of flash2.
 *
 * Idea. P is formed again from Q, K and one number a row, LSE: equation (16) of
 * reference/README.md; S and P are in no memory in between. First delta = rowsum(dO o O). Then one
 * kernel holds a tile of keys and walks over the queries, for dK and dV; another holds a tile of
 * queries and walks over the keys, for dQ. The scores are computed twice, seven products in place
 * of five, and in return each gradient has one owner: no atomics, and the same bits each time. The
 * heads of a group are summed by the owner of their keys.
 *
 * Predicted traffic of a head, elements: delta reads 2 Nq dv and writes Nq; dK and dV read
 * Nk (d + dv) + Tc (Nq (d + dv) + 2 Nq) and write Nk (d + dv); dQ reads Nq (d + dv) + 2 Nq +
 * Tr Nk (d + dv) and writes Nq d, with Br = Bc = 64 (32 for d or dv above 64).
 * Limits: as flash2 (d and dv above 128: 135 KiB of shared memory a block).
 * Measured: 20.9 TFLOP/s in f32 (d = 64, N = 4096), 15.2 (d = 128); reads as counted.
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/tile.cuh"

/*
 * Shared memory, in floats:   the two held tiles (K, V or Q, dO)     ROWS x LD each
 *                             the two that pass (Q, dO or K, V)      ROWS x LD each
 *                             P, then dS in its place                ROWS x P_LD
 *                             owned_tile                             4
 */
template <int DP, int R> static constexpr int flash2_backward_bytes()
{
    using t = tile<DP, R>;
    return 4 * (4 * t::MATRIX_FLOATS + t::P_FLOATS + 4);
}

/* A warp owns a row. */
template <class T>
__global__ void __launch_bounds__(TILE_THREADS)
    flash2_delta_kernel(gpu_gradient_problem g, float *delta)
{
    const gpu_head_problem &p = g.head;
    const int64_t row = (int64_t)blockIdx.x * (TILE_THREADS / 32) + threadIdx.x / 32;
    if (row >= p.all_heads * p.nq)
        return; /* the whole warp; no barrier of the block follows */
    const int64_t batch = row / p.nq / p.heads, head = row / p.nq % p.heads;
    const T *o = (const T *)p.o.data + gpu_row_index(&p.o, batch, head, row % p.nq);
    const T *d_o = (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, row % p.nq);
    float sum = 0;
    for (int c = threadIdx.x % 32; c < p.dv; c += 32)
        sum = fmaf(widen(o[c]), widen(d_o[c]), sum);
    for (unsigned step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0)
        delta[row] = sum;
}

/* The keys (of a K/V head) or the queries whose gradients a block owns: `count` from `first` on. */
struct owned_tile {
    int batch, head, first, count;
};

/*
 * The block's own, kept in shared memory and read there when it is asked for. In registers it would
 * stay beside the sums from the first load to the last store; they do not hold both, and what the
 * assembler spills crosses L2 uncounted.
 */
static __device__ __forceinline__ const owned_tile *owned_tile_keep(float *place,
                                                                    const owned_tile &own)
{
    owned_tile *kept = reinterpret_cast<owned_tile *>(place);
    if (threadIdx.x == 0)
        *kept = own;
    __syncthreads(); /* it is written */
    return kept;
}

/* Which tile of scores, of which head. */
struct gradient_tile {
    int batch, head, row, rows, key;
};

/*
 * From tiles of Q, K, dO and V to the thread's part of P with dropout (11) and of dS (13). What is
 * hidden is -0 in both, and what is dropped is -0 in the first.
 */
template <int DP, int R>
static __device__ __forceinline__ void
flash2_weights(const gpu_gradient_problem &g, const gradient_tile &at, const float *q,
               const float *k, const float *d_o, const float *v, const float *delta,
               float (&weights)[R][R], float (&ds)[R][R])
{
    const gpu_head_problem &p = g.head;
    tile_scores<DP, R>(q, k, p.d, weights);
    tile_mask<R>(p, at.row, at.rows, at.key, weights);
    tile_scores<DP, R>(d_o, v, p.dv, ds);
    for (int r = 0; r < R; r++) {
        const int own = at.row + tile_y() * R + r, row = least(own, p.nq - 1);
        const float lse =
            ((const float *)p.lse.data)[gpu_row_index(&p.lse, at.batch, at.head, row)];
        const float d = delta[((int64_t)at.batch * p.heads + at.head) * p.nq + row];
        for (int c = 0; c < R; c++) {
            const bool hidden = own >= p.nq || weights[r][c] == -INFINITY;
            const bool dropped =
                p.dropout && is_dropped(p, at.batch, at.head, own, at.key + tile_x() + 16 * c);
            const float weight = expf(weights[r][c] - finite_base(lse));
            const float dp = dropped ? 0 : ds[r][c] * p.keep_scale;
            ds[r][c] = hidden ? -0.0f : weight * (dp - d) + 0.0f;
            weights[r][c] = hidden || dropped ? -0.0f : weight * p.keep_scale;
        }
    }
}

/* The tile turned over: keys become rows. Others read it, so a block's barrier must follow. */
template <int R>
static __device__ __forceinline__ void tile_keep_transposed(float *p, const float (&s)[R][R])
{
    p += tile_x() * (16 * R + 4) + tile_y() * R;
    for (int c = 0; c < R; c++)
        for (int r = 0; r < R; r++)
            p[16 * c * (16 * R + 4) + r] = s[r][c];
}

template <class T, int DP, int R>
static __device__ __forceinline__ bool gradient_load(float *to, const gpu_tensor &tensor, int batch,
                                                     int head, int row, int rows, int columns,
                                                     bool whole_words)
{
    return tile_load<T, DP, 16 * R>(
        to, (const T *)tensor.data + gpu_row_index(&tensor, batch, head, row), tensor.stride[2],
        rows, columns, whole_words);
}

/* The thread's rows of a gradient, times `scale`. */
template <class T, int DP, int R>
static __device__ __forceinline__ void gradient_store(const gpu_tensor &tensor,
                                                      const owned_tile &own, int columns,
                                                      float scale, const float (&x)[R][DP / 16])
{
    for (int r = 0; r < R; r++) {
        const int row = tile_y() * R + r;
        if (row >= own.count)
            continue;
        T *to = (T *)tensor.data + gpu_row_index(&tensor, own.batch, own.head, own.first + row);
        for (int i = 0; i < DP / 16; i++)
            if (tile_column(i) < columns)
                narrow(x[r][i] * scale, to + tile_column(i));
    }
}

/* x += the tile times a matrix of which `wild` says that it holds values that are not finite. */
template <int DP, int R>
static __device__ __forceinline__ void gradient_add(bool wild, const float *p, const float *matrix,
                                                    float (&x)[R][DP / 16])
{
    if (wild)
        tile_weigh<DP, R, true>(p, matrix, x);
    else
        tile_weigh<DP, R, false>(p, matrix, x);
}

template <class T, int DP, int R>
__global__ void __launch_bounds__(TILE_THREADS)
    flash2_keys_kernel(gpu_gradient_problem g, unsigned key_tiles, const float *delta)
{
    using t = tile<DP, R>;
    const gpu_head_problem &p = g.head;
    GPU_SHARED(k);
    float *v = k + t::MATRIX_FLOATS, *q = v + t::MATRIX_FLOATS, *d_o = q + t::MATRIX_FLOATS;
    float *weights = d_o + t::MATRIX_FLOATS;
    const int key = (int)(blockIdx.x % key_tiles) * t::ROWS;
    const owned_tile *own =
        owned_tile_keep(weights + t::P_FLOATS, {(int)(blockIdx.x / key_tiles / p.kv_heads),
                                                (int)(blockIdx.x / key_tiles % p.kv_heads), key,
                                                least(t::ROWS, p.nk - key)});
    float dk[R][DP / 16], dv[R][DP / 16];
    for (int r = 0; r < R; r++)
        for (int i = 0; i < DP / 16; i++)
            dk[r][i] = dv[r][i] = 0;
    gradient_load<T, DP, R>(k, p.k, own->batch, own->head, own->first, own->count, p.d,
                            p.whole_words);
    gradient_load<T, DP, R>(v, p.v, own->batch, own->head, own->first, own->count, p.dv,
                            p.whole_words);
    /* Invariant: dk and dv are the sums over the heads of the group and the queries seen so far. */
    for (int head = own->head * p.group; head < (own->head + 1) * p.group; head++)
        for (int row = 0; row < p.nq; row += t::ROWS) {
            const int rows = least(t::ROWS, p.nq - row);
            const key_span seen = seen_keys(p, row, rows);
            if (seen.first >= own->first + own->count || seen.end <= own->first ||
                !block_mask_visits(p, row, rows, own->first, own->count))
                continue;
            __syncthreads(); /* Q_i, dO_i and dS_ij of before have been read by all */
            bool wild =
                gradient_load<T, DP, R>(q, p.q, own->batch, head, row, rows, p.d, p.whole_words);
            wild |= gradient_load<T, DP, R>(d_o, g.d_o, own->batch, head, row, rows, p.dv,
                                            p.whole_words);
            wild = __syncthreads_or(wild); /* all wait for Q_i and dO_i */
            float s[R][R], ds[R][R];
            const gradient_tile at = {own->batch, head, row, rows, own->first};
            flash2_weights<DP, R>(g, at, q, k, d_o, v, delta, s, ds);
            tile_keep_transposed<R>(weights, s);
            __syncthreads(); /* P_ij is written */
            gradient_add<DP, R>(wild, weights, d_o, dv);
            __syncthreads(); /* P_ij has been read by all */
            tile_keep_transposed<R>(weights, ds);
            __syncthreads(); /* dS_ij is written */
            gradient_add<DP, R>(wild, weights, q, dk);
        }
    gradient_store<T, DP, R>(g.dk, *own, p.d, p.scale, dk);
    gradient_store<T, DP, R>(g.dv, *own, p.dv, 1, dv);
}

template <class T, int DP, int R>
__global__ void __launch_bounds__(TILE_THREADS)
    flash2_queries_kernel(gpu_gradient_problem g, unsigned row_tiles, const float *delta)
{
    using t = tile<DP, R>;
    const gpu_head_problem &p = g.head;
    GPU_SHARED(k);
    float *v = k + t::MATRIX_FLOATS, *q = v + t::MATRIX_FLOATS, *d_o = q + t::MATRIX_FLOATS;
    float *weights = d_o + t::MATRIX_FLOATS;
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * t::ROWS;
    const owned_tile *own =
        owned_tile_keep(weights + t::P_FLOATS,
                        {(int)(blockIdx.x / row_tiles / p.heads),
                         (int)(blockIdx.x / row_tiles % p.heads), row, least(t::ROWS, p.nq - row)});
    float dq[R][DP / 16];
    for (int r = 0; r < R; r++)
        for (int i = 0; i < DP / 16; i++)
            dq[r][i] = 0;
    gradient_load<T, DP, R>(q, p.q, own->batch, own->head, own->first, own->count, p.d,
                            p.whole_words);
    gradient_load<T, DP, R>(d_o, g.d_o, own->batch, own->head, own->first, own->count, p.dv,
                            p.whole_words);
    /* Invariant: dq is the sum over the keys before this tile. */
    for (int j = seen_tiles(p, own->first, own->count, t::ROWS).first;
         j < seen_tiles(p, own->first, own->count, t::ROWS).end; j++) {
        const int key = j * t::ROWS, keys = least(t::ROWS, p.nk - key);
        if (!block_mask_visits(p, own->first, own->count, key, keys))
            continue;
        __syncthreads(); /* K_j and dS_ij of before have been read by all */
        const int kv_head = own->head / p.group;
        bool wild =
            gradient_load<T, DP, R>(k, p.k, own->batch, kv_head, key, keys, p.d, p.whole_words);
        gradient_load<T, DP, R>(v, p.v, own->batch, kv_head, key, keys, p.dv, p.whole_words);
        wild = __syncthreads_or(wild); /* all wait for each other's part of Q, dO, K_j and V_j */
        float s[R][R], ds[R][R];
        const gradient_tile at = {own->batch, own->head, own->first, own->count, key};
        flash2_weights<DP, R>(g, at, q, k, d_o, v, delta, s, ds);
        tile_keep_weights<R>(weights, ds);
        __syncwarp(); /* the row's 16 threads have written dS_ij */
        gradient_add<DP, R>(wild, weights, k, dq);
    }
    gradient_store<T, DP, R>(g.dq, *own, p.d, p.scale, dq);
}

template <class T, int DP, int R>
static enum fa_status flash2_backward_launch(const gpu_gradient_problem &g, float *delta,
                                             void *stream, struct fa_error *error)
{
    const gpu_head_problem &p = g.head;
    const int row_tiles = (p.nq + 16 * R - 1) / (16 * R),
              key_tiles = (p.nk + 16 * R - 1) / (16 * R);
    constexpr int bytes = flash2_backward_bytes<DP, R>();
    unsigned row_blocks, key_blocks, delta_blocks;
    enum fa_status status = gpu_grid(p.all_heads, row_tiles, 1, &row_blocks, error);
    if (status == FA_OK)
        status = gpu_grid(p.all_kv_heads, key_tiles, 1, &key_blocks, error);
    if (status == FA_OK)
        status = gpu_grid((p.all_heads * p.nq + 7) / 8, 1, 1, &delta_blocks, error);
    if (status == FA_OK)
        GPU_PREPARE(status, (flash2_keys_kernel<T, DP, R>), bytes, error);
    if (status == FA_OK)
        GPU_PREPARE(status, (flash2_queries_kernel<T, DP, R>), bytes, error);
    if (status == FA_OK && delta_blocks > 0)
        GPU_LAUNCH(status, (flash2_delta_kernel<T>), delta_blocks, TILE_THREADS, 0, stream, error,
                   g, delta);
    if (status == FA_OK && key_blocks > 0)
        GPU_LAUNCH(status, (flash2_keys_kernel<T, DP, R>), key_blocks, TILE_THREADS, bytes, stream,
                   error, g, (unsigned)key_tiles, delta);
    if (status == FA_OK && row_blocks > 0)
        GPU_LAUNCH(status, (flash2_queries_kernel<T, DP, R>), row_blocks, TILE_THREADS, bytes,
                   stream, error, g, (unsigned)row_tiles, delta);
    return status;
}

template <class T>
static enum fa_status flash2_backward_of(const gpu_gradient_problem &g,
                                         const struct gpu_options *options, struct fa_error *error)
{
    float *delta = options ? (float *)options->workspace : nullptr;
    const int wide = g.head.d > g.head.dv ? g.head.d : g.head.dv;
    if (wide <= 64)
        return flash2_backward_launch<T, 64, 4>(g, delta, gpu_stream(options), error);
    if (wide <= 128)
        return flash2_backward_launch<T, 128, 2>(g, delta, gpu_stream(options), error);
    return flash2_backward_launch<T, 256, 2>(g, delta, gpu_stream(options), error);
}

extern "C" void gpu_flash2_backward_tiles(const struct fa_problem *problem, struct gpu_tiles *tiles)
{
    const int64_t side = (problem->d > problem->dv ? problem->d : problem->dv) <= 64 ? 64 : 32;
    *tiles = {side, side, side, side, 1};
}

/* delta of each row. */
extern "C" enum fa_status gpu_flash2_delta_bytes(const struct fa_problem *problem, int64_t *bytes,
                                                 struct fa_error *error)
{
    int64_t rows = 0, all = 0;
    if (!fa_multiply(problem->batch * problem->heads, problem->nq, &rows) ||
        !fa_multiply(rows, 4, &all))
        return fa_fail(error, FA_TOO_LARGE, "delta is past 2^63 bytes");
    *bytes = all;
    return FA_OK;
}

extern "C" enum fa_status gpu_flash2_backward(const struct gpu_limits *limits,
                                              const struct fa_problem *problem,
                                              const struct gpu_backward *tensors,
                                              const struct gpu_options *options,
                                              struct fa_error *error)
{
    gpu_gradient_problem g;
    const enum fa_status status =
        gpu_backward_check(limits, problem, tensors, options, gpu_flash2_delta_bytes, &g, error);
    if (status != FA_OK)
        return status;
    if (problem->dtype == FA_F32)
        return flash2_backward_of<float>(g, options, error);
    if (problem->dtype == FA_F16)
        return flash2_backward_of<gpu_f16>(g, options, error);
    return flash2_backward_of<gpu_bf16>(g, options, error);
}
