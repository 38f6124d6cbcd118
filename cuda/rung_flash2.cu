/*
 * flash2: Q outside.
 *
 * Idea. A block owns one tile of queries and walks over the keys. O, m and l stay in registers
 * until the row is done, so O is neither read back nor written more than once, and every tile of
 * queries is a block of its own: at last there are enough blocks to fill the chip. O is not
 * normalised before the end: equations (6), (7), (9) of reference/README.md.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d, writes Nq d + Nq, with Br = Bc =
 * 64 (32 for d or dv above 128).
 * Limits: d and dv up to 256; f32, f16, bf16 (arithmetic in f32); all masks, dropout.
 * Measured: 28.2 TFLOP/s in f16, 26.9 in f32 (d = 128, N = 4096); reads as counted to the byte.
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/tile.cuh"

/*
 * Shared memory, in floats:   K, then V in its place   ROWS x LD
 *                             Q                        ROWS x LD
 *                             P                        ROWS x P_LD
 *                             row reductions           ROWS x 16
 */
template <int DP, int R> static constexpr int flash2_bytes()
{
    using t = tile<DP, R>;
    return 4 * (2 * t::MATRIX_FLOATS + t::P_FLOATS + t::ROW_FLOATS);
}

/* Equation (6): s becomes weights relative to the new m; l is the thread's own part of the sum. */
template <int DP, int R>
static __device__ __forceinline__ void flash2_absorb(float *space, float (&s)[R][R], float (&m)[R],
                                                     float (&l)[R], float (&o)[R][DP / 16])
{
    float high[R];
    for (int r = 0; r < R; r++) {
        high[r] = s[r][0];
        for (int c = 1; c < R; c++)
            high[r] = fmaxf(high[r], s[r][c]);
    }
    tile_rows_reduce<R, false>(space, high);
    for (int r = 0; r < R; r++) {
        high[r] = fmaxf(m[r], high[r]);
        float base = finite_base(high[r]), shrink = expf(m[r] - base);
        m[r] = high[r];
        l[r] *= shrink;
        for (int c = 0; c < R; c++) {
            s[r][c] = weight_of(s[r][c], base);
            l[r] += s[r][c];
        }
        for (int i = 0; i < DP / 16; i++)
            o[r][i] *= shrink;
    }
}

template <class T, int DP, int R>
__global__ void __launch_bounds__(TILE_THREADS)
    flash2_kernel(gpu_head_problem p, unsigned row_tiles)
{
    using t = tile<DP, R>;
    GPU_SHARED(kv);
    float *q = kv + t::MATRIX_FLOATS, *weights = q + t::MATRIX_FLOATS,
          *space = weights + t::P_FLOATS;
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * t::ROWS;
    const int rows = least(t::ROWS, p.nq - row);
    const tile_head at = tile_head_of(p, blockIdx.x / row_tiles);
    float m[R], l[R], o[R][DP / 16];
    for (int r = 0; r < R; r++) {
        m[r] = -INFINITY;
        l[r] = 0;
        for (int i = 0; i < DP / 16; i++)
            o[r][i] = 0;
    }
    const key_span seen = seen_tiles(p, row, rows, t::ROWS);
    tile_load<T, DP, t::ROWS>(q, (const T *)p.q.data + at.q + row * p.q.stride[2], p.q.stride[2],
                              rows, p.d, p.whole_words);
    /* Invariant: over the keys before this tile m is each row's maximum, l (summed over the row's
     * threads) and o are the sums relative to m; o is not normalised. */
    for (int j = seen.first; j < seen.end; j++) {
        const int key = j * t::ROWS, keys = least(t::ROWS, p.nk - key);
        if (!block_mask_visits(p, row, rows, key, keys))
            continue;
        float s[R][R];
        tile_load<T, DP, t::ROWS>(kv, (const T *)p.k.data + at.k + key * p.k.stride[2],
                                  p.k.stride[2], keys, p.d, p.whole_words);
        __syncthreads(); /* all wait for each other's part of Q and K_j */
        tile_scores<DP, R>(q, kv, p.d, s);
        tile_mask<R>(p, row, rows, key, s);
        flash2_absorb<DP, R>(space, s, m, l, o);
        if (p.dropout) {
            for (int r = 0; r < R; r++)
                for (int c = 0; c < R; c++)
                    if (is_dropped(p, at.batch, at.head, row + tile_y() * R + r,
                                   key + tile_x() + 16 * c))
                        s[r][c] = -0.0f;
        }
        tile_keep_weights<R>(weights, s);
        __syncthreads(); /* K_j has been read by all, and P_ij is written */
        bool wild = tile_load<T, DP, t::ROWS>(kv, (const T *)p.v.data + at.v + key * p.v.stride[2],
                                              p.v.stride[2], keys, p.dv, p.whole_words);
        if (__syncthreads_or(wild)) /* all wait for V_j */
            tile_weigh<DP, R, true>(weights, kv, o);
        else
            tile_weigh<DP, R, false>(weights, kv, o);
        __syncthreads(); /* V_j and P_ij have been read by all */
    }
    tile_rows_reduce<R, true>(space, l);
    for (int r = 0; r < R; r++) {
        const int own = row + tile_y() * R + r;
        if (own >= p.nq)
            continue;
        /* l is 0 for an empty row alone. */
        const float share = l[r] == 0 ? 0 : p.keep_scale / l[r];
        tile_store_row((T *)p.o.data + at.o + own * p.o.stride[2], p.dv, p.whole_output, share,
                       o[r]);
        if (p.lse.data && tile_x() == 0)
            ((float *)p.lse.data)[at.lse + own * p.lse.stride[2]] =
                l[r] == 0 ? -INFINITY : m[r] + logf(l[r]);
    }
}

template <class T, int DP, int R>
static enum fa_status flash2_launch(const gpu_head_problem &head, void *stream,
                                    struct fa_error *error)
{
    const int row_tiles = (head.nq + 16 * R - 1) / (16 * R);
    unsigned blocks;
    enum fa_status status = gpu_grid(head.all_heads, row_tiles, 1, &blocks, error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (flash2_kernel<T, DP, R>), blocks, TILE_THREADS, (flash2_bytes<DP, R>()),
                   stream, error, head, (unsigned)row_tiles);
    return status;
}

template <class T>
static enum fa_status flash2_of(const gpu_head_problem &head, void *stream, struct fa_error *error)
{
    const int wide = head.d > head.dv ? head.d : head.dv;
    if (wide <= 64)
        return flash2_launch<T, 64, 4>(head, stream, error);
    if (wide <= 128)
        return flash2_launch<T, 128, 4>(head, stream, error);
    return flash2_launch<T, 256, 2>(head, stream, error);
}

static const struct gpu_limits flash2_limits = {
    "flash2", 1u << FA_F32 | 1u << FA_F16 | 1u << FA_BF16, 256, {0, 0, 0}, true, true, true, false,
    false,
};

static enum fa_status flash2_workspace(const struct fa_problem *problem, bool backward,
                                       int64_t *bytes, struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&flash2_limits, problem, error);
    if (status == FA_OK && backward)
        return gpu_flash2_delta_bytes(problem, bytes, error);
    if (status == FA_OK)
        *bytes = 0;
    return status;
}

static enum fa_status flash2_forward(const struct fa_problem *problem,
                                     const struct gpu_forward *tensors,
                                     const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    enum fa_status status =
        gpu_forward_check(&flash2_limits, problem, tensors, options, 0, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    void *stream = gpu_stream(options);
    if (problem->dtype == FA_F32)
        return flash2_of<float>(head, stream, error);
    if (problem->dtype == FA_F16)
        return flash2_of<gpu_f16>(head, stream, error);
    return flash2_of<gpu_bf16>(head, stream, error);
}

static enum fa_status flash2_backward(const struct fa_problem *problem,
                                      const struct gpu_backward *tensors,
                                      const struct gpu_options *options, struct fa_error *error)
{
    return gpu_flash2_backward(&flash2_limits, problem, tensors, options, error);
}

static void flash2_tiles(const struct fa_problem *problem, bool backward, bool,
                         struct gpu_tiles *tiles)
{
    if (backward)
        return gpu_flash2_backward_tiles(problem, tiles);
    const int64_t side = (problem->d > problem->dv ? problem->d : problem->dv) <= 128 ? 64 : 32;
    *tiles = {side, side, 0, 0, 1};
}

extern "C" const struct gpu_rung gpu_flash2 = {
    "flash2",
    "Q outside: O, m and l stay on chip until the row is done, and each query tile is a block",
    "f32 f16 bf16; d and dv up to 256; causal, window, block mask, dropout",
    flash2_workspace,
    flash2_forward,
    flash2_backward,
    flash2_tiles,
};
