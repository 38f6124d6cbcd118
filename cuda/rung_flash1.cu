/*
 * flash1: Algorithm 1 of the FlashAttention paper, K and V outside.
 *
 * Idea. S and P never leave the chip: a block owns one head, holds a tile of K and V, and walks
 * over the queries; O, l and m of every row lie in HBM and are read and written again for each tile
 * of keys. O is normalised all the time: equation (8) of reference/README.md, relative to the new
 * m.
 *
 * Predicted traffic of a head, elements: reads 2 Nk d + Tc (2 Nq d + 2 Nq), writes
 * (Tc + 1)(Nq d + 2 Nq), with Br = Bc = 32.
 * Limits: d and dv up to 256; f32, f16, bf16 (O is rounded at each store); causal. One block a head
 * keeps most of the chip idle; it is here to be compared with.
 * Measured: 4.0 TFLOP/s in f16 (d = 128, N = 4096, 16 heads), 3.1 in f32 (d = 64).
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/tile.cuh"

enum { FLASH1_R = 2 };

/*
 * Shared memory, in floats:   K, V, Q          ROWS x LD each
 *                             P                ROWS x P_LD
 *                             row reductions   2 of ROWS x 16
 */
template <int DP> static constexpr int flash1_bytes()
{
    using t = tile<DP, FLASH1_R>;
    return 4 * (3 * t::MATRIX_FLOATS + t::P_FLOATS + 2 * t::ROW_FLOATS);
}

/* Rows of one head in HBM. A thread reads and writes the same elements of O each time; l and m are
 * written by the first thread of a row, and block barriers lie between that and the next reading.
 * */
template <class T> struct flash1_rows {
    T *o;
    int64_t o_stride;
    float *l, *m;
};

template <class T, int DP>
static __device__ void flash1_start(const flash1_rows<T> &rows, const gpu_head_problem &p)
{
    constexpr int R = FLASH1_R;
    for (int row = 0; row < p.nq; row += 16 * R)
        for (int r = 0; r < R; r++) {
            const int own = row + tile_y() * R + r;
            if (own >= p.nq)
                continue;
            for (int i = 0; i < DP / 16; i++)
                if (tile_column(i) < p.dv)
                    narrow(0, rows.o + own * rows.o_stride + tile_column(i));
            if (tile_x() == 0) {
                rows.l[own] = 0;
                rows.m[own] = -INFINITY;
            }
        }
}

/* Equation (8): the tile's sums join O, l and m of its rows. */
template <class T, int DP>
static __device__ __forceinline__ void
flash1_absorb(const flash1_rows<T> &rows, const gpu_head_problem &p, int row,
              const float (&high)[FLASH1_R], const float (&sum)[FLASH1_R],
              const float (&old_l)[FLASH1_R], const float (&old_m)[FLASH1_R],
              const float (&pv)[FLASH1_R][DP / 16])
{
    for (int r = 0; r < FLASH1_R; r++) {
        const int own = row + tile_y() * FLASH1_R + r;
        if (own >= p.nq)
            continue;
        const float kept = old_l[r] * expf(old_m[r] - finite_base(high[r])), l = kept + sum[r];
        const float share = l == 0 ? 0 : 1 / l; /* no visible key so far: O stays 0 */
        T *to = rows.o + own * rows.o_stride;
        for (int i = 0; i < DP / 16; i++)
            if (tile_column(i) < p.dv) {
                T *place = to + tile_column(i);
                narrow((kept * widen(*place) + pv[r][i]) * share, place);
            }
        if (tile_x() == 0) {
            rows.l[own] = l;
            rows.m[own] = high[r];
        }
    }
}

template <class T, int DP>
__global__ void __launch_bounds__(TILE_THREADS) flash1_kernel(gpu_head_problem p, float *statistics)
{
    constexpr int R = FLASH1_R;
    using t = tile<DP, R>;
    GPU_SHARED(k);
    float *v = k + t::MATRIX_FLOATS, *q = v + t::MATRIX_FLOATS, *weights = q + t::MATRIX_FLOATS;
    float *space = weights + t::P_FLOATS;
    const tile_head at = tile_head_of(p, blockIdx.x);
    const int64_t first_row = (int64_t)blockIdx.x * p.nq;
    const flash1_rows<T> rows = {(T *)p.o.data + at.o, p.o.stride[2], statistics + first_row,
                                 statistics + p.all_heads * p.nq + first_row};
    flash1_start<T, DP>(rows, p);
    /* Invariant: over the keys before this tile O is normalised, and l is relative to m. */
    for (int key = 0; key < p.nk; key += t::ROWS) {
        const int keys = least(t::ROWS, p.nk - key);
        __syncthreads(); /* the tiles before have been read by all; l and m are written */
        tile_load<T, DP, t::ROWS>(k, (const T *)p.k.data + at.k + key * p.k.stride[2],
                                  p.k.stride[2], keys, p.d, p.whole_words);
        bool wild = tile_load<T, DP, t::ROWS>(v, (const T *)p.v.data + at.v + key * p.v.stride[2],
                                              p.v.stride[2], keys, p.dv, p.whole_words);
        wild = __syncthreads_or(wild); /* all wait for K_j and V_j */
        for (int row = 0; row < p.nq; row += t::ROWS) {
            const int n = least(t::ROWS, p.nq - row);
            const key_span seen = seen_keys(p, row, n);
            if (seen.first >= key + keys || seen.end <= key)
                continue;
            tile_load<T, DP, t::ROWS>(q, (const T *)p.q.data + at.q + row * p.q.stride[2],
                                      p.q.stride[2], n, p.d, p.whole_words);
            __syncthreads(); /* all wait for Q_i */
            float s[R][R], high[R], sum[R], l[R], m[R], pv[R][DP / 16];
            tile_scores<DP, R>(q, k, p.d, s);
            tile_mask<R>(p, row, n, key, s);
            for (int r = 0; r < R; r++) {
                const int own = row + tile_y() * R + r;
                l[r] = own < p.nq ? rows.l[own] : 0;
                m[r] = own < p.nq ? rows.m[own] : -INFINITY;
                high[r] = fmaxf(s[r][0], s[r][1]);
            }
            tile_rows_reduce<R, false>(space, high);
            for (int r = 0; r < R; r++) {
                high[r] = fmaxf(m[r], high[r]);
                for (int c = 0; c < R; c++)
                    s[r][c] = weight_of(s[r][c], finite_base(high[r]));
                sum[r] = s[r][0] + s[r][1];
                for (int i = 0; i < DP / 16; i++)
                    pv[r][i] = 0;
            }
            tile_keep_weights<R>(weights, s);
            /* Within it, the row's threads wait for each other's weights, and have read l and m. */
            tile_rows_reduce<R, true>(space + t::ROW_FLOATS, sum);
            if (wild)
                tile_weigh<DP, R, true>(weights, v, pv);
            else
                tile_weigh<DP, R, false>(weights, v, pv);
            flash1_absorb<T, DP>(rows, p, row, high, sum, l, m, pv);
            __syncthreads(); /* Q_i and P_ij have been read by all */
        }
    }
    __syncthreads(); /* l and m are written */
    for (int row = threadIdx.x; p.lse.data && row < p.nq; row += TILE_THREADS)
        ((float *)p.lse.data)[at.lse + row * p.lse.stride[2]] =
            rows.l[row] == 0 ? -INFINITY : rows.m[row] + logf(rows.l[row]);
}

template <class T, int DP>
static enum fa_status flash1_launch(const gpu_head_problem &head, const struct gpu_options *options,
                                    struct fa_error *error)
{
    unsigned blocks;
    enum fa_status status = gpu_grid(head.all_heads, 1, 1, &blocks, error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (flash1_kernel<T, DP>), blocks, TILE_THREADS, flash1_bytes<DP>(),
                   options->stream, error, head, (float *)options->workspace);
    return status;
}

template <class T>
static enum fa_status flash1_of(const gpu_head_problem &head, const struct gpu_options *options,
                                struct fa_error *error)
{
    const int wide = head.d > head.dv ? head.d : head.dv;
    if (wide <= 64)
        return flash1_launch<T, 64>(head, options, error);
    if (wide <= 128)
        return flash1_launch<T, 128>(head, options, error);
    return flash1_launch<T, 256>(head, options, error);
}

static const struct gpu_limits flash1_limits = {
    "flash1", 1u << FA_F32 | 1u << FA_F16 | 1u << FA_BF16,
    256,      {0, 0, 0},
    false,    false,
    false,    false,
    false,
};

/* l and m of each row. */
static enum fa_status flash1_workspace(const struct fa_problem *problem, bool, int64_t *bytes,
                                       struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&flash1_limits, problem, error);
    int64_t rows = 0, all = 0;
    if (status != FA_OK)
        return status;
    if (!fa_multiply(problem->batch * problem->heads, problem->nq, &rows) ||
        !fa_multiply(rows, 8, &all))
        return fa_fail(error, FA_TOO_LARGE, "flash1's statistics are past 2^63 bytes");
    *bytes = all;
    return FA_OK;
}

static enum fa_status flash1_forward(const struct fa_problem *problem,
                                     const struct gpu_forward *tensors,
                                     const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    int64_t bytes = 0;
    enum fa_status status = flash1_workspace(problem, false, &bytes, error);
    if (status == FA_OK)
        status = gpu_forward_check(&flash1_limits, problem, tensors, options, bytes, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    if (problem->dtype == FA_F32)
        return flash1_of<float>(head, options, error);
    if (problem->dtype == FA_F16)
        return flash1_of<gpu_f16>(head, options, error);
    return flash1_of<gpu_bf16>(head, options, error);
}

static void flash1_tiles(const struct fa_problem *, bool, bool, struct gpu_tiles *tiles)
{
    *tiles = {16 * FLASH1_R, 16 * FLASH1_R, 0, 0, 1};
}

extern "C" const struct gpu_rung gpu_flash1 = {
    "flash1",
    "S and P stay on chip: K and V outside, O, l and m in HBM, one block a head (Algorithm 1)",
    "f32 f16 bf16; d and dv up to 256; causal",
    flash1_workspace,
    flash1_forward,
    nullptr,
    flash1_tiles,
};
