/*
 * async: the next tile travels while this one is computed.
 *
 * Idea. cp.async carries K and V of the next tile into the second of two buffers, past the
 * registers, while the tensor cores work on the first; one barrier a tile. Rows in shared memory
 * are not padded but swizzled: 16-byte piece c of row r lies at place c xor (r mod 8), so eight
 * rows still meet all 32 banks. And a warp owns 32 queries, so that what it reads from shared
 * memory serves twice as many.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d, writes Nq d + Nq (LSE 4 bytes),
 * with Br = 128, Bc = 64.
 * Limits: f16, bf16; d = dv = 64 or 128; rows that begin at multiples of 16 bytes; compute
 * capability 8.0; causal; a scale above 0. P is rounded to 16 bits.
 * Measured: 347 TFLOP/s in f16 (d = 128, N = 4096), 307 causal; reads 0.01 % above the count.
 * One H200, 2026-11-30; more in README.md.
 */
#include "cuda/fragments.cuh"

enum { ASYNC_THREADS = 128, ASYNC_ROWS = 128, ASYNC_KEYS = 64, ASYNC_WARP_ROWS = 32 };

/* Shared memory, in elements:   Q            ASYNC_ROWS x D
 *                               K, V twice   ASYNC_KEYS x D each */
template <int D> static constexpr int async_bytes()
{
    return 2 * D * (ASYNC_ROWS + 4 * ASYNC_KEYS);
}

/* K and V of tile j set out for its buffer, K first. */
template <class T, int D>
static __device__ __forceinline__ void async_fetch(const gpu_head_problem &p, const T *k,
                                                   const T *v, int j, T *kv)
{
    T *to = kv + j % 2 * 2 * ASYNC_KEYS * D;
    const int key = j * ASYNC_KEYS;
    load_async<T, D, ASYNC_KEYS, ASYNC_THREADS>(to, k + key * p.k.stride[2], p.k.stride[2],
                                                p.nk - key);
    load_async<T, D, ASYNC_KEYS, ASYNC_THREADS>(to + ASYNC_KEYS * D, v + key * p.v.stride[2],
                                                p.v.stride[2], p.nk - key);
}

/* S, then O, of the warp's 32 rows and one tile. */
template <class T, int D>
static __device__ __forceinline__ void
async_tile(const gpu_head_problem &p, uint32_t q_lane, uint32_t k_lane, uint32_t v_lane, int row,
           int key, float (&m)[2][2], float (&l)[2][2], float (&o)[2][D / 8][4], float unit)
{
    using L = swizzled<D>;
    float s[2][ASYNC_KEYS / 8][4] = {};
#pragma unroll
    for (int i = 0; i < D / 16; i++) {
        uint32_t a[2][4];
        load_matrices(a[0], L::move(q_lane, 0, 16 * i));
        load_matrices(a[1], L::move(q_lane, 16, 16 * i));
#pragma unroll
        for (int n = 0; n < ASYNC_KEYS / 8; n += 2) {
            uint32_t b[4];
            load_matrices(b, L::move(k_lane, 8 * n, 16 * i));
#pragma unroll
            for (int h = 0; h < 2; h++) {
                multiply_add(s[h][n], a[h], b[0], b[1], T());
                multiply_add(s[h][n + 1], a[h], b[2], b[3], T());
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (key + ASYNC_KEYS > least(p.nk, row + 16 * h + p.end))
            hide_keys<ASYNC_KEYS>(p, row + 16 * h, key, s[h]);
        absorb<ASYNC_KEYS, D>(s[h], m[h], l[h], o[h], unit);
    }
#pragma unroll
    for (int i = 0; i < ASYNC_KEYS / 16; i++) {
        uint32_t a[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                a[h][e] =
                    pack(s[h][2 * i + e / 2][e % 2 * 2], s[h][2 * i + e / 2][e % 2 * 2 + 1], T());
#pragma unroll
        for (int n = 0; n < D / 8; n += 2) {
            uint32_t b[4];
            load_transposed(b, L::move(v_lane, 16 * i, 8 * n));
#pragma unroll
            for (int h = 0; h < 2; h++) {
                multiply_add(o[h][n], a[h], b[0], b[1], T());
                multiply_add(o[h][n + 1], a[h], b[2], b[3], T());
            }
        }
    }
}

template <class T, int D>
__global__ void __launch_bounds__(ASYNC_THREADS, 2)
    async_kernel(const __grid_constant__ gpu_head_problem p, unsigned row_tiles)
{
    GPU_SHARED(words);
    T *q = reinterpret_cast<T *>(words), *kv = q + ASYNC_ROWS * D;
    constexpr int TILE = ASYNC_KEYS * D; /* K_j lies at kv + 2 TILE (j mod 2), V_j after it */
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * ASYNC_ROWS;
    const int rows = least(ASYNC_ROWS, p.nq - row);
    const int warp_row = threadIdx.x / 32 * ASYNC_WARP_ROWS, own = row + warp_row;
    const int batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int head = (int)(blockIdx.x / row_tiles % p.heads);
    const T *k = (const T *)p.k.data + gpu_row_index(&p.k, batch, head / p.group, 0);
    const T *v = (const T *)p.v.data + gpu_row_index(&p.v, batch, head / p.group, 0);
    const uint32_t q_lane =
        shared_address(q) + swizzled<D>::move(left_lane<swizzled<D>>(), warp_row, 0);
    const uint32_t k_lane = shared_address(kv) + keys_lane<swizzled<D>>();
    const uint32_t v_lane = shared_address(kv + TILE) + values_lane<swizzled<D>>();
    const float unit = p.scale * LOG2_E;
    float m[2][2], l[2][2] = {}, o[2][D / 8][4] = {};
#pragma unroll
    for (int h = 0; h < 2; h++)
        m[h][0] = m[h][1] = -INFINITY;
    const key_span seen = seen_tiles(p, row, rows, ASYNC_KEYS);
    if (seen.first < seen.end) {
        load_async<T, D, ASYNC_ROWS, ASYNC_THREADS>(
            q, (const T *)p.q.data + gpu_row_index(&p.q, batch, head, row), p.q.stride[2], rows);
        async_fetch<T, D>(p, k, v, seen.first, kv);
    }
    /* Invariant: as in mma; and tile j is on its way to its buffer, or there. */
    for (int j = seen.first; j < seen.end; j++) {
        wait_async();    /* this thread's part of tile j is there */
        __syncthreads(); /* everyone's is, and tile j - 1 has been read by all */
        if (j + 1 < seen.end)
            async_fetch<T, D>(p, k, v, j + 1, kv);
        if (j * ASYNC_KEYS < own + ASYNC_WARP_ROWS - 1 + p.end)
            async_tile<T, D>(p, q_lane, k_lane + j % 2 * 4 * TILE, v_lane + j % 2 * 4 * TILE, own,
                             j * ASYNC_KEYS, m, l, o, unit);
    }
    /* Batch and head again: held through the loop, they would put its own values out to memory. */
    const int to_batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int to_head = (int)(blockIdx.x / row_tiles % p.heads);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (__any_sync(~0u, is_far(m[h], unit) || is_wild<D>(o[h]))) {
            repeat_rows<T, D>(&p, to_batch, to_head, own + 16 * h, 16);
            continue;
        }
        sum_rows(l[h]);
        store_rows<T, D>(p, gpu_row_index(&p.o, to_batch, to_head, 0),
                         gpu_row_index(&p.lse, to_batch, to_head, 0), own + 16 * h, m[h], l[h],
                         o[h]);
    }
}

template <class T, int D>
static enum fa_status async_launch(const gpu_head_problem &head, void *stream,
                                   struct fa_error *error)
{
    const int row_tiles = (head.nq + ASYNC_ROWS - 1) / ASYNC_ROWS;
    unsigned blocks;
    enum fa_status status = gpu_grid(head.all_heads, row_tiles, 1, &blocks, error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (async_kernel<T, D>), blocks, ASYNC_THREADS, async_bytes<D>(), stream,
                   error, head, (unsigned)row_tiles);
    return status;
}

static const struct gpu_limits async_limits = {
    "async", 1u << FA_F16 | 1u << FA_BF16, 128, {64, 128, 0}, false, false, false, true, true,
};

static enum fa_status async_workspace(const struct fa_problem *problem, bool, int64_t *bytes,
                                      struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&async_limits, problem, error);
    if (status == FA_OK)
        *bytes = 0;
    return status;
}

static enum fa_status async_forward(const struct fa_problem *problem,
                                    const struct gpu_forward *tensors,
                                    const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    enum fa_status status =
        gpu_forward_check(&async_limits, problem, tensors, options, 0, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    status = gpu_capability_check("async", 8, error);
    if (status != FA_OK)
        return status;
    void *stream = gpu_stream(options);
    if (problem->dtype == FA_F16)
        return head.d == 64 ? async_launch<gpu_f16, 64>(head, stream, error)
                            : async_launch<gpu_f16, 128>(head, stream, error);
    return head.d == 64 ? async_launch<gpu_bf16, 64>(head, stream, error)
                        : async_launch<gpu_bf16, 128>(head, stream, error);
}

static void async_tiles(const struct fa_problem *, bool, bool, struct gpu_tiles *tiles)
{
    *tiles = {ASYNC_ROWS, ASYNC_KEYS, 0, 0, 1};
}

extern "C" const struct gpu_rung gpu_async = {
    "async",
    "cp.async brings the next tile into a second, swizzled buffer; a warp owns 32 queries",
    "f16 bf16; d = dv = 64 or 128; causal; a scale above 0; aligned rows",
    async_workspace,
    async_forward,
    nullptr,
    async_tiles,
};
