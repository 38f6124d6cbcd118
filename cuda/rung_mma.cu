/*
 * mma: the two products on tensor cores.
 *
 * Idea. flash2's loops, with S = Q K^T and O = P V by mma.sync on 16-bit operands, accumulated in
 * f32. A warp owns 16 queries for good: Q (but for d = 256), S, P and O stay in its registers, and
 * P goes from the accumulators of the first product to the operands of the second without leaving
 * them. K and V come through shared memory by ordinary loads and stores, one tile at a time, and
 * everyone waits.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d, writes Nq d + Nq (LSE 4 bytes),
 * with Br = Bc = 64 (Bc = 32 for d = 256). Shared memory is read by each warp for itself: 2 Bc d
 * elements for 16 queries.
 * Limits: f16, bf16; d = dv = 64, 128 or 256; rows that begin at multiples of 16 bytes; compute
 * capability 8.0; all masks, dropout. P is rounded to 16 bits.
 * Measured: 222 TFLOP/s in f16 (d = 128, N = 4096), 206 causal; reads as counted to the byte.
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/fragments.cuh"

enum { MMA_THREADS = 128, MMA_ROWS = 64 };

/* Keys a tile. For d = 256 O alone takes half of the registers, and S has to be narrow. */
template <int D> static constexpr int mma_keys = D <= 128 ? 64 : 32;

/* Rows are 16 bytes longer than they need be, so that eight rows of 16 bytes meet all 32 banks. */
template <int D> struct padded {
    static constexpr int LD = D + 8;
    static __device__ __forceinline__ uint32_t at(int row, int column)
    {
        return 2 * (row * LD + column);
    }
    static __device__ __forceinline__ uint32_t move(uint32_t place, int rows, int columns)
    {
        return place + at(rows, columns);
    }
};

/* Whether a warp's Q stays in registers. */
template <int D> static constexpr bool q_is_held = D <= 128;

/* Shared memory, in elements:   K      mma_keys x LD; where Q is held, it passes through here
 *                               V      mma_keys x LD
 *                               else Q MMA_ROWS x LD */
template <int D> static constexpr int mma_bytes()
{
    return 2 * (2 * mma_keys<D> + (q_is_held<D> ? 0 : MMA_ROWS)) * padded<D>::LD;
}

/* ROWS rows of D elements, 16 bytes a thread at a time; rows past the last are 0. */
template <class T, int D, int ROWS>
static __device__ __forceinline__ void mma_load(T *to, const T *from, int64_t stride, int rows)
{
#pragma unroll
    for (int i = 0; i < ROWS * D / 8 / MMA_THREADS; i++) {
        const int at = threadIdx.x + i * MMA_THREADS, r = at / (D / 8), c = at % (D / 8) * 8;
        uint4 word = make_uint4(0, 0, 0, 0);
        if (r < rows)
            word = load_past_l1(reinterpret_cast<const uint4 *>(from + r * stride + c));
        *reinterpret_cast<uint4 *>((char *)to + padded<D>::at(r, c)) = word;
    }
}

/* Scale where it is not folded, then mask, of the warp's 16 rows from `row` on. */
template <int KEYS, bool EXTRAS>
static __device__ __forceinline__ void mma_mask(const gpu_head_problem &p, int row, int key,
                                                float (&s)[KEYS / 8][4])
{
    if (p.scale <= 0)
        for (int n = 0; n < KEYS / 8; n++)
            for (int e = 0; e < 4; e++)
                s[n][e] *= p.scale;
    if (sees_all(p, row, 16, key, KEYS))
        return;
    if (!EXTRAS) {
        hide_keys<KEYS>(p, row, key, s);
        return;
    }
    row += lane_of() / 4;
    key += 2 * (lane_of() % 4);
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            if (is_hidden(p, row + e / 2 * 8, key + 8 * n + e % 2))
                s[n][e] = -INFINITY;
}

template <int KEYS>
static __device__ __forceinline__ void mma_drop(const gpu_head_problem &p, int batch, int head,
                                                int row, int key, float (&s)[KEYS / 8][4])
{
    row += lane_of() / 4;
    key += 2 * (lane_of() % 4);
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            if (is_dropped(p, batch, head, row + e / 2 * 8, key + 8 * n + e % 2))
                s[n][e] = 0;
}

/* S = Q K^T of the warp's 16 rows; where Q is not held, q[0] takes 16 columns of it at a time. */
template <class T, int D>
static __device__ __forceinline__ void
mma_scores(uint32_t (&q)[q_is_held<D> ? D / 16 : 1][4], uint32_t q_lane, uint32_t k_lane,
           float (&s)[mma_keys<D> / 8][4])
{
    using L = padded<D>;
#pragma unroll(q_is_held <D> ? D / 16 : 2)
    for (int i = 0; i < D / 16; i++) {
        if (!q_is_held<D>)
            load_matrices(q[0], L::move(q_lane, 0, 16 * i));
#pragma unroll
        for (int n = 0; n < mma_keys<D> / 8; n += 2) {
            uint32_t b[4];
            load_matrices(b, L::move(k_lane, 8 * n, 16 * i));
            multiply_add(s[n], q[q_is_held<D> ? i : 0], b[0], b[1], T());
            multiply_add(s[n + 1], q[q_is_held<D> ? i : 0], b[2], b[3], T());
        }
    }
}

/* O += P V. */
template <class T, int D>
static __device__ __forceinline__ void mma_values(const float (&s)[mma_keys<D> / 8][4],
                                                  uint32_t v_lane, float (&o)[D / 8][4])
{
    using L = padded<D>;
#pragma unroll
    for (int i = 0; i < mma_keys<D> / 16; i++) {
        const uint32_t a[4] = {pack(s[2 * i][0], s[2 * i][1], T()),
                               pack(s[2 * i][2], s[2 * i][3], T()),
                               pack(s[2 * i + 1][0], s[2 * i + 1][1], T()),
                               pack(s[2 * i + 1][2], s[2 * i + 1][3], T())};
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
            uint32_t b[4];
            load_transposed(b, L::move(v_lane, 16 * i, 8 * n));
            multiply_add(o[n], a, b[0], b[1], T());
            multiply_add(o[n + 1], a, b[2], b[3], T());
        }
    }
}

/* EXTRAS: with window, block mask or dropout; without them the loop has no calls. */
template <class T, int D, bool EXTRAS>
__global__ void __launch_bounds__(MMA_THREADS, 2)
    mma_kernel(const __grid_constant__ gpu_head_problem p, unsigned row_tiles)
{
    using L = padded<D>;
    constexpr int KEYS = mma_keys<D>;
    GPU_SHARED(words);
    T *k = reinterpret_cast<T *>(words), *v = k + KEYS * L::LD;
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * MMA_ROWS;
    const int rows = least(MMA_ROWS, p.nq - row), own = row + threadIdx.x / 32 * 16;
    const int batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int head = (int)(blockIdx.x / row_tiles % p.heads);
    const T *k_from = (const T *)p.k.data + gpu_row_index(&p.k, batch, head / p.group, 0);
    const T *v_from = (const T *)p.v.data + gpu_row_index(&p.v, batch, head / p.group, 0);
    T *q_tile = q_is_held<D> ? k : v + KEYS * L::LD;
    mma_load<T, D, MMA_ROWS>(q_tile, (const T *)p.q.data + gpu_row_index(&p.q, batch, head, row),
                             p.q.stride[2], rows);
    __syncthreads(); /* all wait for each other's part of Q */
    const uint32_t q_lane =
        L::move(shared_address(q_tile) + left_lane<L>(), threadIdx.x / 32 * 16, 0);
    uint32_t q[q_is_held<D> ? D / 16 : 1][4];
#pragma unroll
    for (int i = 0; q_is_held<D> && i < D / 16; i++)
        load_matrices(q[i], L::move(q_lane, 0, 16 * i));
    const uint32_t k_lane = shared_address(k) + keys_lane<L>();
    const uint32_t v_lane = shared_address(v) + values_lane<L>();
    const float unit = score_unit(p) * LOG2_E;
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0}, o[D / 8][4] = {};
    const key_span seen = seen_tiles(p, row, rows, KEYS);
    /* Invariant: over the keys before this tile m is each row's maximum, l (summed over a row's
     * four lanes) and o are the sums relative to m; o is not normalised. */
    for (int j = seen.first; j < seen.end; j++) {
        const int key = j * KEYS, keys = least(KEYS, p.nk - key);
        if (EXTRAS && !block_mask_visits(p, row, rows, key, keys))
            continue;
        __syncthreads(); /* Q or the tile before has been read by all */
        mma_load<T, D, KEYS>(k, k_from + key * p.k.stride[2], p.k.stride[2], keys);
        mma_load<T, D, KEYS>(v, v_from + key * p.v.stride[2], p.v.stride[2], keys);
        __syncthreads(); /* all wait for each other's part of K_j and V_j */
        float s[KEYS / 8][4] = {};
        mma_scores<T, D>(q, q_lane, k_lane, s);
        mma_mask<KEYS, EXTRAS>(p, own, key, s);
        absorb<KEYS, D>(s, m, l, o, unit);
        if (EXTRAS && p.dropout)
            mma_drop<KEYS>(p, batch, head, own, key, s);
        mma_values<T, D>(s, v_lane, o);
    }
    if (__any_sync(~0u, is_far(m, unit) || is_wild<D>(o))) {
        repeat_rows<T, D>(&p, batch, head, own, 16);
        return;
    }
    sum_rows(l);
    store_rows<T, D>(p, gpu_row_index(&p.o, batch, head, 0), gpu_row_index(&p.lse, batch, head, 0),
                     own, m, l, o);
}

template <class T, int D, bool EXTRAS>
static enum fa_status mma_launch(const gpu_head_problem &head, void *stream, struct fa_error *error)
{
    const int row_tiles = (head.nq + MMA_ROWS - 1) / MMA_ROWS;
    unsigned blocks;
    enum fa_status status = gpu_grid(head.all_heads, row_tiles, 1, &blocks, error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (mma_kernel<T, D, EXTRAS>), blocks, MMA_THREADS, mma_bytes<D>(), stream,
                   error, head, (unsigned)row_tiles);
    return status;
}

template <class T>
static enum fa_status mma_of(const gpu_head_problem &head, bool extras, void *stream,
                             struct fa_error *error)
{
    if (head.d == 64)
        return extras ? mma_launch<T, 64, true>(head, stream, error)
                      : mma_launch<T, 64, false>(head, stream, error);
    if (head.d == 128)
        return extras ? mma_launch<T, 128, true>(head, stream, error)
                      : mma_launch<T, 128, false>(head, stream, error);
    return extras ? mma_launch<T, 256, true>(head, stream, error)
                  : mma_launch<T, 256, false>(head, stream, error);
}

static const struct gpu_limits mma_limits = {
    "mma", 1u << FA_F16 | 1u << FA_BF16, 256, {64, 128, 256}, true, true, true, true, false,
};

static enum fa_status mma_workspace(const struct fa_problem *problem, bool backward, int64_t *bytes,
                                    struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&mma_limits, problem, error);
    if (status != FA_OK)
        return status;
    if (backward)
        return gpu_mma_backward_bytes(problem, bytes, error);
    *bytes = 0;
    return FA_OK;
}

static enum fa_status mma_forward(const struct fa_problem *problem,
                                  const struct gpu_forward *tensors,
                                  const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    enum fa_status status =
        gpu_forward_check(&mma_limits, problem, tensors, options, 0, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    status = gpu_capability_check("mma", 8, error);
    if (status != FA_OK)
        return status;
    const bool extras = problem->window_left >= 0 || head.visit || head.dropout;
    if (problem->dtype == FA_F16)
        return mma_of<gpu_f16>(head, extras, gpu_stream(options), error);
    return mma_of<gpu_bf16>(head, extras, gpu_stream(options), error);
}

static enum fa_status mma_backward(const struct fa_problem *problem,
                                   const struct gpu_backward *tensors,
                                   const struct gpu_options *options, struct fa_error *error)
{
    return gpu_mma_backward(&mma_limits, problem, tensors, options, error);
}

static void mma_tiles(const struct fa_problem *problem, bool backward, bool deterministic,
                      struct gpu_tiles *tiles)
{
    *tiles = {MMA_ROWS, problem->d <= 128 ? mma_keys<128> : mma_keys<256>, 0, 0, 1};
    if (backward)
        gpu_mma_backward_tiles(problem, deterministic, tiles);
}

extern "C" const struct gpu_rung gpu_mma = {
    "mma",
    "both products on tensor cores by mma.sync; P goes from accumulators to operands in registers",
    "f16 bf16; d = dv = 64, 128 or 256; causal, window, block mask, dropout; aligned rows",
    mma_workspace,
    mma_forward,
    mma_backward,
    mma_tiles,
};
