/*
 * The stages of mma's backward pass: its shape, which queries a tile of keys meets, and products
 * and weights of one tile.
 */
#ifndef CUDA_GRADIENT_TILES_CUH
#define CUDA_GRADIENT_TILES_CUH

#include "cuda/fragments.cuh"

/*
 * A warp owns 16 keys, and a step takes ROWS queries, of which a warp takes CHUNK at a time: 16 x
 * CHUNK scores and as many dP are in registers at once. A block owns the first or second OUT
 * columns of its keys' gradients, since no more fit in registers. For dQ the warps share ROWS x OUT
 * out as tiles of 32 x 32, DQ_ACROSS of them side by side.
 */
template <int D, bool EXTRAS = false> struct gradient {
    static constexpr int OUT = D < 128 ? D : 128, PARTS = D / OUT;
    static constexpr int WARPS = D <= 128 ? 8 : 4, THREADS = 32 * WARPS, KEYS = 16 * WARPS;
    static constexpr int ROWS = 8192 / D, DQ_ACROSS = OUT / 32;
    static constexpr int CHUNK = D == 256 || (D == 128 && EXTRAS) ? 32 : 64;
    static_assert(ROWS / 32 * DQ_ACROSS == WARPS, "a tile of dQ for each warp");
    using L = swizzled<D>;
    using S = swizzled<ROWS>;
    /* Shared memory, in bytes:   K, V           KEYS x D elements each
     *                            Q, dO, twice   ROWS x D each
     *                            dS^T           KEYS x ROWS
     *                            LSE and delta, twice   ROWS x 8 bytes */
    static constexpr int HELD = KEYS * D, PASSING = ROWS * D, DS = KEYS * ROWS;
    static constexpr int BYTES = 2 * (2 * HELD + 4 * PASSING + DS) + 2 * ROWS * 8;
    static int64_t padded(int64_t nq)
    {
        return (nq + ROWS - 1) / ROWS * ROWS;
    }
};

/* What lies in the workspace, beside the problem. */
struct gradient_space {
    float2 *stats; /* of each head's rows, padded: LSE log2 e and delta; 0 in the padding */
    float *dq;     /* tile after tile, as the accumulators lie; NULL in the deterministic mode */
    int64_t rows;  /* of a head, padded */
};

/* Which queries of which head meet the block's keys, one tile after the other. */
struct query_walk {
    int head, row;
};

template <bool EXTRAS>
static __device__ __forceinline__ query_walk walk_on(const gpu_head_problem &p, query_walk at,
                                                     int rows, int last_head, int key, int keys)
{
    for (;;) {
        if (at.row >= p.nq)
            at = {at.head + 1, 0};
        if (at.head == last_head)
            return at;
        const int here = least(rows, p.nq - at.row);
        const key_span seen = seen_keys(p, at.row, here);
        if (seen.first < key + keys && seen.end > key &&
            (!EXTRAS || block_mask_visits(p, at.row, here, key, keys)))
            return at;
        at.row += rows;
    }
}

/* s = A B^T: 16 rows of one tile by all N rows of another, over D columns. */
template <class T, int D, int N>
static __device__ __forceinline__ void multiply_tiles(uint32_t a_lane, uint32_t b_lane,
                                                     float (&s)[N / 8][4])
{
    using L = swizzled<D>;
#pragma unroll 4
    for (int i = 0; i < D / 16; i++) {
        uint32_t a[4];
        load_matrices(a, L::move(a_lane, 0, 16 * i));
#pragma unroll
        for (int n = 0; n < N / 8; n += 2) {
            uint32_t b[4];
            load_matrices(b, L::move(b_lane, 8 * n, 16 * i));
            multiply_add(s[n], a, b[0], b[1], T());
            multiply_add(s[n + 1], a, b[2], b[3], T());
        }
    }
}

/* x += A B with A's 16 rows packed in registers, and of B in shared memory N rows and OUT of its D
 * columns. */
template <class T, int D, int N, int OUT>
static __device__ __forceinline__ void multiply_packed(const uint32_t (&a)[N / 16][4],
                                                       uint32_t b_lane, float (&x)[OUT / 8][4])
{
#pragma unroll
    for (int i = 0; i < N / 16; i++)
#pragma unroll
        for (int n = 0; n < OUT / 8; n += 2) {
            uint32_t b[4];
            load_transposed(b, swizzled<D>::move(b_lane, 16 * i, 8 * n));
            multiply_add(x[n], a[i], b[0], b[1], T());
            multiply_add(x[n + 1], a[i], b[2], b[3], T());
        }
}

/*
 * From S^T and dP^T of 16 keys and N queries to P^T, of which what is dropped is taken out in
 * `dropped`, one bit an element, and dS^T (13). What is hidden is 0 in both.
 */
template <int N, bool EXTRAS>
static __device__ __forceinline__ uint64_t gradient_weights(const gpu_head_problem &p, int batch,
                                                            query_walk at, int key,
                                                            const float2 *stats,
                                                            float (&s)[N / 8][4],
                                                            float (&dp)[N / 8][4])
{
    const bool whole = sees_all(p, at.row, N, key, 16);
    const int row = at.row + 2 * (lane_of() % 4), own = key + lane_of() / 4;
    const float unit = p.scale * LOG2_E;
    /* Query row + x sees key own + 8 r if x is above hidden[r]. */
    int hidden[2];
    for (int r = 0; r < 2; r++)
        hidden[r] = own + 8 * r < p.nk ? own + 8 * r - p.end - row : N;
    uint64_t dropped = 0;
#pragma unroll
    for (int n = 0; n < N / 8; n++) {
        /* {LSE, delta} of the two queries of this lane's columns. */
        const float4 of = *reinterpret_cast<const float4 *>(stats + 8 * n + 2 * (lane_of() % 4));
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int x = 8 * n + e % 2;
            float weight = power_of_two(fmaf(s[n][e], unit, e % 2 ? -of.z : -of.x));
            if (EXTRAS && p.dropout) {
                const bool drop = is_dropped(p, batch, at.head, row + x, own + e / 2 * 8);
                dropped |= (uint64_t)drop << (4 * n + e);
                dp[n][e] = drop ? 0 : dp[n][e] * p.keep_scale;
            }
            float ds = weight * (dp[n][e] - (e % 2 ? of.w : of.y));
            if (!whole && (EXTRAS ? row + x >= p.nq || is_hidden(p, row + x, own + e / 2 * 8)
                                  : x <= hidden[e / 2]))
                weight = ds = 0;
            s[n][e] = weight;
            dp[n][e] = ds;
        }
    }
    return dropped;
}

/* dS^T of the warp's keys and N queries, at `column`, for everyone's part of dQ. */
template <class T, int D, int N>
static __device__ __forceinline__ void keep_ds(T *ds, int column, const uint32_t (&a)[N / 16][4])
{
    const int key = threadIdx.x / 32 * 16 + lane_of() / 4;
#pragma unroll
    for (int i = 0; i < N / 16; i++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            *reinterpret_cast<uint32_t *>(
                (char *)ds + gradient<D>::S::at(key + e % 2 * 8, column + 16 * i + e / 2 * 8) +
                4 * (lane_of() % 4)) = a[i][e];
}

/* The warp's 32 x 32 of dS K, added to the sums of dQ in the order of the accumulators. */
template <class T, int D>
static __device__ __forceinline__ void add_dq(uint32_t ds, uint32_t k, int first, float *to)
{
    using G = gradient<D>;
    const int warp = threadIdx.x / 32;
    const int row = warp / G::DQ_ACROSS * 32, column = warp % G::DQ_ACROSS * 32;
    /* dS^T lies key by key, so as a left operand it is transposed on the way. */
    const uint32_t a_lane = G::S::move(ds + keys_lane<typename G::S>(), 0, row);
    const uint32_t b_lane = G::L::move(k + values_lane<typename G::L>(), 0, first + column);
    float x[2][4][4] = {};
#pragma unroll
    for (int i = 0; i < G::KEYS / 16; i++) {
        uint32_t a[2][4], b[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            load_transposed(a[h], G::S::move(a_lane, 16 * i, 16 * h));
            load_transposed(b[h], G::L::move(b_lane, 16 * i, 16 * h));
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < 4; n++)
                multiply_add(x[h][n], a[h], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1], T());
    }
    to += first * G::ROWS + warp * 1024 + lane_of() * 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int n = 0; n < 4; n++)
            add_four(to + (4 * h + n) * 128, x[h][n]);
}

/* The lane's two rows of the warp's 16 from `row` on, OUT columns from `column` on. */
template <class T, int OUT>
static __device__ __forceinline__ void store_gradient(const gpu_tensor &tensor, int batch, int head,
                                                      int row, int end, int column, float scale,
                                                      const float (&x)[OUT / 8][4])
{
    for (int r = 0; r < 2; r++) {
        const int own = row + lane_of() / 4 + 8 * r;
        if (own >= end)
            continue;
        T *to = (T *)tensor.data + gpu_row_index(&tensor, batch, head, own) + column +
                2 * (lane_of() % 4);
#pragma unroll
        for (int n = 0; n < OUT / 8; n++)
            *reinterpret_cast<uint32_t *>(to + 8 * n) =
                pack(x[n][2 * r] * scale, x[n][2 * r + 1] * scale, T());
    }
}

#endif
