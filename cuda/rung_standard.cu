/*
 * standard: three kernels, S and P in HBM.
 *
 * Idea. What one writes first: S = scale Q K^T with the causal mask applied as it is stored; P =
 * the softmax of its rows; O = P V. Each matrix of Nq x Nk goes out to HBM and comes back. S and P
 * have the problem's dtype.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d + 3 Nq Nk (a row of S is read
 * twice, for the statistics and to normalise), writes 2 Nq Nk + Nq d, with Br = 64 (32 for d or dv
 * above 128).
 * Limits: d and dv up to 256; f32, f16, bf16 (arithmetic in f32); causal. Workspace: S and P.
 * Measured: 26.2 TFLOP/s in f16 and 24.2 in f32 (d = 128, N = 4096).
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/tile.cuh"

/* Shared memory, in floats: one operand and the other, ROWS x LD each; in the last kernel P and V.
 * */
template <int DP, int R> static constexpr int standard_bytes()
{
    using t = tile<DP, R>;
    return 4 * 2 * t::MATRIX_FLOATS;
}

/* A block holds Q_i and walks over the keys, hidden tiles too. */
template <class T, int DP, int R>
__global__ void __launch_bounds__(TILE_THREADS)
    standard_scores_kernel(gpu_head_problem p, unsigned row_tiles, T *scores)
{
    using t = tile<DP, R>;
    GPU_SHARED(q);
    float *k = q + t::MATRIX_FLOATS;
    const int row = (int)(blockIdx.x % row_tiles) * t::ROWS, rows = least(t::ROWS, p.nq - row);
    const int64_t number = blockIdx.x / row_tiles;
    const tile_head at = tile_head_of(p, number);
    tile_load<T, DP, t::ROWS>(q, (const T *)p.q.data + at.q + row * p.q.stride[2], p.q.stride[2],
                              rows, p.d, p.whole_words);
    for (int key = 0; key < p.nk; key += t::ROWS) {
        const int keys = least(t::ROWS, p.nk - key);
        float s[R][R];
        tile_load<T, DP, t::ROWS>(k, (const T *)p.k.data + at.k + key * p.k.stride[2],
                                  p.k.stride[2], keys, p.d, p.whole_words);
        __syncthreads(); /* all wait for each other's part of Q_i and K_j */
        tile_scores<DP, R>(q, k, p.d, s);
        tile_mask<R>(p, row, rows, key, s);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < R; c++) {
                const int own = row + tile_y() * R + r, column = key + tile_x() + 16 * c;
                if (own < p.nq && column < p.nk)
                    narrow(s[r][c], scores + (number * p.nq + own) * p.nk + column);
            }
        __syncthreads(); /* K_j has been read by all */
    }
}

/* A warp owns a row: once over S for m and l, once more to write P. */
template <class T>
__global__ void __launch_bounds__(TILE_THREADS)
    standard_softmax_kernel(gpu_head_problem p, const T *scores, T *weights)
{
    const int64_t row = (int64_t)blockIdx.x * (TILE_THREADS / 32) + threadIdx.x / 32;
    if (row >= p.all_heads * p.nq)
        return; /* the whole warp; no barrier of the block follows */
    const unsigned lane = threadIdx.x % 32;
    const T *s = scores + row * p.nk;
    float m = -INFINITY, l = 0;
    for (int64_t c = lane; c < p.nk; c += 32) {
        const float score = widen(s[c]), high = fmaxf(m, score);
        l = l * expf(m - finite_base(high)) + (weight_of(score, finite_base(high)) + 0.0f);
        m = high;
    }
    for (unsigned step = 16; step > 0; step /= 2) {
        const float other_m = __shfl_xor_sync(~0u, m, step),
                    other_l = __shfl_xor_sync(~0u, l, step);
        const float high = fmaxf(m, other_m), base = finite_base(high);
        l = l * expf(m - base) + other_l * expf(other_m - base);
        m = high;
    }
    for (int64_t c = lane; c < p.nk; c += 32) {
        const float score = widen(s[c]);
        /* -0 / l stays -0, by which the product knows a hidden key. */
        narrow(score == -INFINITY ? -0.0f : expf(score - finite_base(m)) / l,
               weights + row * p.nk + c);
    }
    if (p.lse.data && lane == 0) {
        const int64_t number = row / p.nq;
        ((float *)
             p.lse.data)[gpu_row_index(&p.lse, number / p.heads, number % p.heads, row % p.nq)] =
            l == 0 ? -INFINITY : m + logf(l);
    }
}

/* A block owns O_i and walks over the keys. */
template <class T, int DP, int R>
__global__ void __launch_bounds__(TILE_THREADS)
    standard_product_kernel(gpu_head_problem p, unsigned row_tiles, const T *weights)
{
    using t = tile<DP, R>;
    GPU_SHARED(v);
    float *w = v + t::MATRIX_FLOATS;
    const int row = (int)(blockIdx.x % row_tiles) * t::ROWS, rows = least(t::ROWS, p.nq - row);
    const int64_t number = blockIdx.x / row_tiles;
    const tile_head at = tile_head_of(p, number);
    float o[R][DP / 16];
    for (int r = 0; r < R; r++)
        for (int i = 0; i < DP / 16; i++)
            o[r][i] = 0;
    for (int key = 0; key < p.nk; key += t::ROWS) {
        const int keys = least(t::ROWS, p.nk - key);
        tile_load<T, t::ROWS, t::ROWS>(w, weights + (number * p.nq + row) * p.nk + key, p.nk, rows,
                                       keys, p.nk % 4 == 0);
        bool wild = tile_load<T, DP, t::ROWS>(v, (const T *)p.v.data + at.v + key * p.v.stride[2],
                                              p.v.stride[2], keys, p.dv, p.whole_words);
        if (__syncthreads_or(wild)) /* all wait for P_ij and V_j */
            tile_weigh<DP, R, true>(w, v, o);
        else
            tile_weigh<DP, R, false>(w, v, o);
        __syncthreads(); /* P_ij and V_j have been read by all */
    }
    for (int r = 0; r < R; r++) {
        const int own = row + tile_y() * R + r;
        if (own < p.nq)
            tile_store_row((T *)p.o.data + at.o + own * p.o.stride[2], p.dv, p.whole_output, 1,
                           o[r]);
    }
}

static const struct gpu_limits standard_limits = {
    "standard", 1u << FA_F32 | 1u << FA_F16 | 1u << FA_BF16,
    256,        {0, 0, 0},
    false,      false,
    false,      false,
    false,
};

/* Bytes of S, or of P, rounded up so that P begins aligned. */
static enum fa_status standard_matrix_bytes(const struct fa_problem *problem, int64_t *bytes,
                                            struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&standard_limits, problem, error);
    int64_t n = 0;
    if (status != FA_OK)
        return status;
    if (!fa_multiply(problem->batch * problem->heads, problem->nq, &n) ||
        !fa_multiply(n, problem->nk, &n) ||
        !fa_multiply(n, (int64_t)fa_dtype_bytes(problem->dtype), &n) || n > INT64_MAX / 4)
        return fa_fail(error, FA_TOO_LARGE, "S and P are past 2^63 bytes");
    *bytes = (n + 255) / 256 * 256;
    return FA_OK;
}

template <class T, int DP, int R>
static enum fa_status standard_launch(const gpu_head_problem &head, T *scores, T *weights,
                                      void *stream, struct fa_error *error)
{
    const int row_tiles = (head.nq + 16 * R - 1) / (16 * R);
    unsigned blocks, row_blocks;
    enum fa_status status = gpu_grid(head.all_heads, row_tiles, 1, &blocks, error);
    if (status == FA_OK)
        status = gpu_grid((head.all_heads * head.nq + 7) / 8, 1, 1, &row_blocks, error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (standard_scores_kernel<T, DP, R>), blocks, TILE_THREADS,
                   (standard_bytes<DP, R>()), stream, error, head, (unsigned)row_tiles, scores);
    if (status == FA_OK)
        GPU_LAUNCH(status, (standard_softmax_kernel<T>), row_blocks, TILE_THREADS, 0, stream, error,
                   head, scores, weights);
    if (status == FA_OK)
        GPU_LAUNCH(status, (standard_product_kernel<T, DP, R>), blocks, TILE_THREADS,
                   (standard_bytes<DP, R>()), stream, error, head, (unsigned)row_tiles, weights);
    return status;
}

template <class T>
static enum fa_status standard_of(const gpu_head_problem &head, int64_t matrix_bytes,
                                  const struct gpu_options *options, struct fa_error *error)
{
    char *workspace = options ? (char *)options->workspace : nullptr;
    T *scores = (T *)workspace, *weights = (T *)(workspace + matrix_bytes);
    const int wide = head.d > head.dv ? head.d : head.dv;
    if (wide <= 64)
        return standard_launch<T, 64, 4>(head, scores, weights, gpu_stream(options), error);
    if (wide <= 128)
        return standard_launch<T, 128, 4>(head, scores, weights, gpu_stream(options), error);
    return standard_launch<T, 256, 2>(head, scores, weights, gpu_stream(options), error);
}

static enum fa_status standard_workspace(const struct fa_problem *problem, bool, int64_t *bytes,
                                         struct fa_error *error)
{
    int64_t one = 0;
    enum fa_status status = standard_matrix_bytes(problem, &one, error);
    if (status == FA_OK)
        *bytes = 2 * one;
    return status;
}

static enum fa_status standard_forward(const struct fa_problem *problem,
                                       const struct gpu_forward *tensors,
                                       const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    int64_t bytes = 0;
    enum fa_status status = standard_matrix_bytes(problem, &bytes, error);
    if (status == FA_OK)
        status =
            gpu_forward_check(&standard_limits, problem, tensors, options, 2 * bytes, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    if (problem->dtype == FA_F32)
        return standard_of<float>(head, bytes, options, error);
    if (problem->dtype == FA_F16)
        return standard_of<gpu_f16>(head, bytes, options, error);
    return standard_of<gpu_bf16>(head, bytes, options, error);
}

static void standard_tiles(const struct fa_problem *problem, bool, bool, struct gpu_tiles *tiles)
{
    const int64_t side = (problem->d > problem->dv ? problem->d : problem->dv) <= 128 ? 64 : 32;
    *tiles = {side, side, 0, 0, 1};
}

extern "C" const struct gpu_rung gpu_standard = {
    "standard",
    "three kernels: S = Q K^T, P = softmax(S), O = P V, with S and P in HBM",
    "f32 f16 bf16; d and dv up to 256; causal",
    standard_workspace,
    standard_forward,
    nullptr,
    standard_tiles,
};
