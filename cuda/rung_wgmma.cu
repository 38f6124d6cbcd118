/*
 * wgmma: the copy engine brings the tiles, and four warps multiply as one.
 *
 * Idea. async's loop with Hopper's two engines. One thread asks TMA for a whole tile, which arrives
 * swizzled and counts its bytes on a barrier: no thread computes an address. A warpgroup of four
 * warps issues a product of 64 rows at once, and the tensor cores read both operands of S = Q K^T
 * and V of P V from shared memory by themselves: no fragment of Q, K or V passes through registers.
 * What is left to the threads is the softmax, and the tensor cores idle under it.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d, writes Nq d + Nq (LSE 4 bytes),
 * with Br = 128, Bc = 128. Shared memory is read once for 64 queries.
 * Limits: f16, bf16; d = dv = 64 or 128; rows that begin at multiples of 16 bytes, and strides that
 * TMA takes (none of 0); compute capability 9.0; causal; a scale above 0. P is rounded to 16 bits.
 * Measured: 421 TFLOP/s in f16 (d = 128, N = 4096), 380 causal; reads as counted to the byte. One
 * H200, 2026-12-01; more in README.md.
 */
#include "cuda/hopper_products.cuh"

enum { WGMMA_GROUPS = 2, WGMMA_ROWS = 128, WGMMA_KEYS = 128, WGMMA_THREADS = 256 };

/* Shared memory, in bytes from the first multiple of 1024 on:
 *   Q, 64 rows for each warpgroup    2 x 128 d
 *   K, V of two tiles                2 x 2 x 256 d
 *   barriers of 8 bytes              Q's, and one for each pair of K and V */
template <int D> struct wgmma_places {
    static constexpr uint32_t Q = 0, Q_BYTES = 2 * WARPGROUP_ROWS * D;
    static constexpr uint32_t KV = WGMMA_GROUPS * Q_BYTES, TILE_BYTES = 2 * WGMMA_KEYS * D;
    static constexpr uint32_t BARRIERS = KV + 4 * TILE_BYTES;
    static constexpr int BYTES = HOPPER_TILE_ALIGN + BARRIERS + 3 * 8;
};

/* S, then O, of the warpgroup's 64 rows and one tile. */
template <class T, int D>
static __device__ __forceinline__ void wgmma_tile(const gpu_head_problem &p, uint64_t q, uint64_t k,
                                                  uint64_t v, int row, int key, float (&m)[2],
                                                  float (&l)[2], float (&o)[D / 8][4], float unit)
{
    float s[WGMMA_KEYS / 8][4];
    uint32_t weights[WGMMA_KEYS / 16][4];
    multiply_scores<T, WGMMA_KEYS, D>(s, q, k);
    products_wait<0>(s);
    if (key + WGMMA_KEYS > least(p.nk, row + p.end))
        hide_keys<WGMMA_KEYS>(p, row, key, s);
    absorb<WGMMA_KEYS, D>(s, m, l, o, unit);
    pack_left<T, 0, WGMMA_KEYS>(weights, s);
    multiply_values<T, 0, WGMMA_KEYS, D>(o, weights, v);
    products_wait<0>(o);
}

template <class T, int D>
__global__ void __launch_bounds__(WGMMA_THREADS, 1)
    wgmma_kernel(const __grid_constant__ gpu_head_problem p, const __grid_constant__ CUtensorMap q,
                 const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
                 unsigned row_tiles)
{
    using at = wgmma_places<D>;
    HOPPER_SHARED(wgmma_words);
    const uint32_t shared = (shared_address(wgmma_words) + HOPPER_TILE_ALIGN - 1) /
                            HOPPER_TILE_ALIGN * HOPPER_TILE_ALIGN;
    const uint32_t q_there = shared + at::BARRIERS, kv_there = q_there + 8;
    /* The longest rows of a causal problem start first. */
    const int row = (int)(row_tiles - 1 - blockIdx.x % row_tiles) * WGMMA_ROWS;
    const int batch = (int)(blockIdx.x / row_tiles / p.heads);
    const int head = (int)(blockIdx.x / row_tiles % p.heads);
    /* The same number in all lanes, and the compiler is to know it. */
    const int group = __shfl_sync(~0u, threadIdx.x / WARPGROUP, 0);
    const int own = row + group * WARPGROUP_ROWS + threadIdx.x % WARPGROUP / 32 * 16;
    const key_span seen = seen_tiles(p, row, least(WGMMA_ROWS, p.nq - row), WGMMA_KEYS);
    const float unit = p.scale * LOG2_E;
    float m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0}, o[D / 8][4] = {};
    /* One thread sends for K_j and V_j, into the buffer of j's parity. */
    auto load = [&](int j) {
        const uint32_t to = shared + at::KV + j % 2 * 2 * at::TILE_BYTES,
                       there = kv_there + j % 2 * 8;
        boxes_load<WGMMA_KEYS, D>(to, &k, there, j * WGMMA_KEYS, head / p.group, batch);
        boxes_load<WGMMA_KEYS, D>(to + at::TILE_BYTES, &v, there, j * WGMMA_KEYS, head / p.group,
                                 batch);
    };
    if (threadIdx.x == 0) {
        barrier_init(q_there, WGMMA_GROUPS);
        barrier_init(kv_there, 2); /* K's announcement and V's */
        barrier_init(kv_there + 8, 2);
        barrier_init_done();
        if (seen.first < seen.end) {
            for (int g = 0; g < WGMMA_GROUPS; g++)
                boxes_load<WARPGROUP_ROWS, D>(shared + at::Q + g * at::Q_BYTES, &q, q_there,
                                             row + g * WARPGROUP_ROWS, head, batch);
            load(seen.first);
        }
    }
    __syncthreads(); /* all wait for the barriers to be set up */
    const uint64_t q_tile = operand(shared + at::Q + group * at::Q_BYTES, 16);
    const uint64_t k_tile = operand(shared + at::KV, 16);
    const uint64_t v_tile =
        operand(shared + at::KV + at::TILE_BYTES, 2 * WGMMA_KEYS * HOPPER_COLUMNS);
    if (seen.first < seen.end)
        barrier_wait(q_there, 0); /* for the copy engine's Q */
    /* Invariant: as in mma; and tile j is on its way to its buffer, or there. */
    for (int j = seen.first; j < seen.end; j++) {
        if (threadIdx.x == 0 && j + 1 < seen.end)
            load(j + 1); /* tile j - 1 has been read by all */
        barrier_wait(kv_there + j % 2 * 8,
                     (j - seen.first) / 2 % 2); /* for the copy engine's tile */
        const int place = j % 2 * 2 * at::TILE_BYTES;
        wgmma_tile<T, D>(p, q_tile, operand_move(k_tile, place), operand_move(v_tile, place), own,
                         j * WGMMA_KEYS, m, l, o, unit);
        __syncthreads(); /* all wait until everyone's products have read tile j */
    }
    if (__any_sync(~0u, is_far(m, unit) || is_wild<D>(o))) {
        repeat_rows<T, D>(&p, batch, head, own, 16);
        return;
    }
    sum_rows(l);
    store_rows<T, D>(p, gpu_row_index(&p.o, batch, head, 0), gpu_row_index(&p.lse, batch, head, 0),
                     own, m, l, o);
}

template <class T, int D>
static enum fa_status wgmma_launch(const struct fa_problem *problem, const gpu_head_problem &head,
                                   void *stream, struct fa_error *error)
{
    const int row_tiles = (head.nq + WGMMA_ROWS - 1) / WGMMA_ROWS;
    const struct hopper_tensor tensors[3] = {
        {"q", &head.q, problem->batch, problem->heads, problem->nq, D, WARPGROUP_ROWS,
         problem->dtype},
        {"k", &head.k, problem->batch, problem->kv_heads, problem->nk, D, WGMMA_KEYS,
         problem->dtype},
        {"v", &head.v, problem->batch, problem->kv_heads, problem->nk, D, WGMMA_KEYS,
         problem->dtype},
    };
    CUtensorMap maps[3] = {};
    unsigned blocks;
    enum fa_status status = gpu_grid(head.all_heads, row_tiles, 1, &blocks, error);
    for (int i = 0; i < 3 && status == FA_OK; i++)
        status = hopper_map(&tensors[i], &maps[i], error);
    if (status == FA_OK)
        GPU_LAUNCH(status, (wgmma_kernel<T, D>), blocks, WGMMA_THREADS, wgmma_places<D>::BYTES,
                   stream, error, head, maps[0], maps[1], maps[2], (unsigned)row_tiles);
    return status;
}

static const struct gpu_limits wgmma_limits = {
    "wgmma", 1u << FA_F16 | 1u << FA_BF16, 128, {64, 128, 0}, false, false, false, true, true,
};

static enum fa_status wgmma_workspace(const struct fa_problem *problem, bool, int64_t *bytes,
                                      struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&wgmma_limits, problem, error);
    if (status == FA_OK)
        *bytes = 0;
    return status;
}

static enum fa_status wgmma_forward(const struct fa_problem *problem,
                                    const struct gpu_forward *tensors,
                                    const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    int multiprocessors;
    enum fa_status status =
        gpu_forward_check(&wgmma_limits, problem, tensors, options, 0, &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    status = hopper_check("wgmma", &multiprocessors, error);
    if (status != FA_OK)
        return status;
    void *stream = gpu_stream(options);
    if (problem->dtype == FA_F16)
        return head.d == 64 ? wgmma_launch<gpu_f16, 64>(problem, head, stream, error)
                            : wgmma_launch<gpu_f16, 128>(problem, head, stream, error);
    return head.d == 64 ? wgmma_launch<gpu_bf16, 64>(problem, head, stream, error)
                        : wgmma_launch<gpu_bf16, 128>(problem, head, stream, error);
}

static void wgmma_tiles(const struct fa_problem *, bool, bool, struct gpu_tiles *tiles)
{
    *tiles = {WGMMA_ROWS, WGMMA_KEYS, 0, 0, 1};
}

extern "C" const struct gpu_rung gpu_wgmma = {
    "wgmma",
    "the copy engine brings swizzled tiles; a warpgroup multiplies 64 rows from shared memory",
    "f16 bf16; d = dv = 64 or 128; causal; a scale above 0; aligned rows; Hopper",
    wgmma_workspace,
    wgmma_forward,
    nullptr,
    wgmma_tiles,
};
