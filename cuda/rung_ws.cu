/*
 * ws: warpgroups that specialise; the softmax runs under the products.
 *
 * Idea. One warp of a block only loads: it runs ahead, and K and V wait in rings. Three or four
 * consumer warpgroups, 64 queries each, only compute, with the registers that the loader gave up.
 * No barrier holds them all: while one is in its softmax, others keep the tensor cores busy, and
 * within a warpgroup part of the exponentials runs under a product, by one of two loops:
 *   two-deep  Q K^T of the next tile and P V of this one are issued together; the softmax of the
 *             next runs under P V. Holds S, P and O at once.
 *   split     after the maximum, exponentials of the first half of the tile; the second half's run
 *             under P V of the first. P takes over registers of S: three warpgroups fit, and each
 *             byte of K and V serves 192 queries. This chip is bound by its power, so bytes count.
 * Blocks stay and take tiles, the longest first, heads together whose K and V fit in L2.
 *
 * Predicted traffic of a head, elements: reads Nq d + 2 Tr Nk d, writes Nq d + Nq (LSE 4 bytes),
 * with Br and Bc by the table ws_plans; what is read comes by whole tiles.
 * Limits: those of wgmma, and a workspace of 4 bytes, the number of the next tile.
 * Measured: f16, N = 1024, 4096 and 16384: 508, 603 and 616 TFLOP/s for d = 128, causal 408, 577
 * and 642; for d = 64 407, 461 and 504, causal 339, 445 and 497. Reads as counted to 3 in 100,000,
 * tiles taken whole. One H200, 2026-12-01, at its power limit, which left 1.3 to 1.6 GHz; hopper.md
 * has the rest.
 */
#include "cuda/ws_block.cuh"
#include "cuda/ws_stages.cuh"

/* ---- the two loops -------------------------------------------------------------------------- */

/* Over tiles last - 1 .. 0 of keys, for the warpgroup's rows from `row` on. Invariant: mma's. */
template <class S>
static __device__ __forceinline__ void ws_split(const gpu_head_problem &p, ws_consumer &own,
                                                int row, int last, float (&m)[2], float (&l)[2],
                                                float (&o)[S::D / 8][4], float unit)
{
    constexpr int HALF = S::KEYS / 2 / 16 * 16;
    float s[S::KEYS / 8][4], base[2], shrink[2];
    uint32_t weights[S::KEYS / 16][4];
#pragma unroll 1
    for (int j = last - 1; j >= 0; j--) {
        ws_wait_k<S>(own);
        ws_turn_wait<S>(own);
        ws_scores<S>(own, s);
        products_wait<0>(s);
        ws_release_k<S>(own);
        if (j == 0)
            ws_release_q<S>(own);
        ws_turn_give<S>(own);
        ws_mask<S>(p, row, j * S::KEYS, s);
        ws_maximum<S::KEYS>(s, m, base, shrink, unit);
        l[0] *= shrink[0];
        l[1] *= shrink[1];
        ws_shrink(o, shrink);
        ws_exponentials<0, HALF>(s, base, l, unit);
        pack_left<typename S::T, 0, HALF>(weights, s);
        ws_wait_v<S>(own);
        ws_values<S, 0, HALF>(own, o, weights);
        ws_exponentials<HALF, S::KEYS>(s, base, l, unit); /* under the product above */
        pack_left<typename S::T, HALF, S::KEYS>(weights, s);
        ws_values<S, HALF, S::KEYS>(own, o, weights);
        products_wait<0>(o);
        ws_release_v<S>(own);
    }
}

/* Likewise. Invariant at the head of the loop: m and l know the tiles down to j + 1, `weights` is
 * P of tile j + 1, and o knows the tiles before that one, relative to m already. */
template <class S>
static __device__ __forceinline__ void ws_two_deep(const gpu_head_problem &p, ws_consumer &own,
                                                   int row, int last, float (&m)[2], float (&l)[2],
                                                   float (&o)[S::D / 8][4], float unit)
{
    float s[S::KEYS / 8][4], base[2], shrink[2];
    uint32_t weights[S::KEYS / 16][4];
    ws_wait_k<S>(own);
    ws_turn_wait<S>(own);
    ws_scores<S>(own, s);
    ws_turn_give<S>(own);
    products_wait<0>(s);
    ws_release_k<S>(own);
    ws_mask<S>(p, row, (last - 1) * S::KEYS, s);
    ws_maximum<S::KEYS>(s, m, base, shrink, unit);
    ws_exponentials<0, S::KEYS>(s, base, l, unit);
    pack_left<typename S::T, 0, S::KEYS>(weights, s);
#pragma unroll 1
    for (int j = last - 2; j >= 0; j--) {
        ws_wait_k<S>(own);
        ws_turn_wait<S>(own);
        ws_scores<S>(own, s);
        ws_wait_v<S>(own);
        ws_values<S, 0, S::KEYS>(own, o, weights);
        ws_turn_give<S>(own);
        products_wait<1>(s); /* S is there, P V goes on under what follows */
        ws_release_k<S>(own);
        ws_mask<S>(p, row, j * S::KEYS, s);
        ws_maximum<S::KEYS>(s, m, base, shrink, unit);
        l[0] *= shrink[0];
        l[1] *= shrink[1];
        ws_exponentials<0, S::KEYS>(s, base, l, unit);
        ws_hold(l, own.shared);
        products_wait<0>(o);
        ws_release_v<S>(own);
        pack_left<typename S::T, 0, S::KEYS>(weights, s);
        ws_shrink(o, shrink);
    }
    ws_release_q<S>(own);
    ws_wait_v<S>(own);
    ws_values<S, 0, S::KEYS>(own, o, weights);
    products_wait<0>(o);
    ws_release_v<S>(own);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

template <class S>
static __device__ __forceinline__ void ws_consume(const ws_call &call, uint32_t shared, int number)
{
    const gpu_head_problem &p = call.head;
    const float unit = p.scale * LOG2_E;
    ws_consumer own = {shared,
                       number,
                       operand(shared + number * S::Q_BYTES, 16),
                       operand(shared + S::K, 16),
                       operand(shared + S::V, 2 * S::KEYS * HOPPER_COLUMNS),
                       {0, 0},
                       {0, 0},
                       {0, 0},
                       0};
    if (S::PING_PONG && number == S::CONSUMERS - 1)
        ws_turn_give<S>(own); /* the first turn is the first consumer's */
    for (;;) {
        const uint32_t slot = shared + S::SLOTS + own.slot.at * WS_SLOT_BYTES;
        barrier_wait(slot + WS_FULL, own.slot.parity); /* for the producer's tile */
        ws_tile tile = ws_read(slot);
        /* The same in all lanes: bounds of loops then stay out of the vector registers. */
        tile.row = __shfl_sync(~0u, tile.row, 0);
        tile.head = __shfl_sync(~0u, tile.head, 0);
        tile.batch = __shfl_sync(~0u, tile.batch, 0);
        tile.tiles = __shfl_sync(~0u, tile.tiles, 0);
        if (tile.row < 0)
            return;
        const int row = tile.row + number * WARPGROUP_ROWS;
        const int warp_row = row + threadIdx.x % WARPGROUP / 32 * 16;
        float m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0}, o[S::D / 8][4] = {};
        if (tile.tiles > 0) {
            /* Tiles of keys that these 64 rows do not see; with turns, all take part in all. */
            int last = tile.tiles;
            if (!S::PING_PONG) {
                const int end = row + WARPGROUP_ROWS - 1 + p.end;
                last = row < p.nq ? least(last, greatest(end + S::KEYS - 1, 0) / S::KEYS) : 0;
            }
            barrier_wait(shared + S::Q_FULL + 8 * number, own.q_parity); /* copy engine */
            own.q_parity ^= 1;
            for (int j = tile.tiles; j > last; j--) {
                ws_wait_k<S>(own);
                ws_release_k<S>(own);
                ws_wait_v<S>(own);
                ws_release_v<S>(own);
            }
            if (last == 0)
                ws_release_q<S>(own);
            else if (S::TWO_DEEP)
                ws_two_deep<S>(p, own, row, last, m, l, o, unit);
            else
                ws_split<S>(p, own, row, last, m, l, o, unit);
        }
        if (is_far(m, unit) || is_wild<S::D>(o))
            bits_set(slot + WS_MARKS, 1 << (warp_row - tile.row) / 16);
        sum_rows(l);
        ws_store<typename S::T, S::D>(p, tile, warp_row, m, l, o);
        ws_release(slot + WS_DONE);
        own.slot.template step<2>();
    }
}

/* A kernel of its own, so that ws_kernel can be allowed to start under it. */
static __global__ void ws_reset(unsigned *next)
{
    *next = 0;
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, 1)
    ws_kernel(const __grid_constant__ ws_call call, const __grid_constant__ CUtensorMap q,
              const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v)
{
    HOPPER_SHARED(ws_words);
    const uint32_t shared =
        (shared_address(ws_words) + HOPPER_TILE_ALIGN - 1) / HOPPER_TILE_ALIGN * HOPPER_TILE_ALIGN;
    const int group = __shfl_sync(~0u, threadIdx.x / WARPGROUP, 0);
    if (threadIdx.x == 0) {
        map_fetch(&q);
        map_fetch(&k);
        map_fetch(&v);
        ws_set_up<S>(shared);
    }
    __syncthreads(); /* all wait for the barriers to be set up */
    if (group == 0) {
        registers_give<S::GIVE>();
        const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
        if (warp > 0)
            ws_repeat<S>(call, shared);
        else if (lane_elected())
            ws_produce<S>(call, &q, &k, &v, shared);
    } else {
        registers_take<S::TAKE>();
        ws_consume<S>(call, shared, group - 1);
    }
}

/* ---- host: which kernel for which case ------------------------------------------------------ */

/* How tiles reach blocks. */
enum ws_order {
    WS_ONE_EACH, /* a block a tile: the chip hands blocks out as multiprocessors fall free */
    WS_COUNTER,  /* a block a multiprocessor, and it takes the next tile when it needs one */
};

template <class S>
static enum fa_status ws_launch(const struct fa_problem *problem, const gpu_head_problem &head,
                                enum ws_order order, const struct gpu_options *options,
                                struct fa_error *error)
{
    const struct hopper_tensor tensors[3] = {
        {"q", &head.q, problem->batch, problem->heads, problem->nq, S::D, WARPGROUP_ROWS,
         problem->dtype},
        {"k", &head.k, problem->batch, problem->kv_heads, problem->nk, S::D, S::KEYS,
         problem->dtype},
        {"v", &head.v, problem->batch, problem->kv_heads, problem->nk, S::D, S::KEYS,
         problem->dtype},
    };
    const int64_t head_bytes = (int64_t)4 * S::D * (head.nk > 0 ? head.nk : 1), l2_share = 32 << 20;
    const int64_t together = (l2_share / head_bytes > 0 ? l2_share / head_bytes : 1) * head.group;
    const int row_tiles = (head.nq + S::ROWS - 1) / S::ROWS;
    CUtensorMap maps[3] = {};
    unsigned tiles;
    int blocks;
    enum fa_status status = hopper_check("ws", &blocks, error);
    if (status == FA_OK)
        status = gpu_grid(head.all_heads, row_tiles, 2, &tiles, error); /* room for what is past */
    for (int i = 0; i < 3 && status == FA_OK; i++)
        status = hopper_map(&tensors[i], &maps[i], error);
    if (status != FA_OK)
        return status;
    tiles /= 2;
    const ws_call call = {head, (int)tiles, row_tiles,
                          (int)(together < head.all_heads ? together : head.all_heads),
                          order == WS_COUNTER ? (unsigned *)options->workspace : nullptr};
    if (order == WS_ONE_EACH || (int)tiles < blocks)
        blocks = (int)tiles;
    GPU_PREPARE(status, ws_kernel<S>, S::BYTES, error);
    if (status == FA_OK && call.next)
        GPU_LAUNCH(status, ws_reset, 1, 1, 0, options->stream, error, call.next);
    if (status == FA_OK) /* while ws_reset runs, and it waits for it where it needs the counter */
        status =
            hopper_launch(ws_kernel<S>, (unsigned)blocks, S::THREADS, S::BYTES, gpu_stream(options),
                          call.next, error, call, maps[0], maps[1], maps[2]);
    return status;
}

/* A kernel for d, with causal mask or without, and at least so many keys. */
struct ws_plan {
    int64_t d;
    bool causal;
    int64_t keys_from;
    enum ws_order order;
    int rows, keys; /* Br, Bc */
    enum fa_status (*launch)(const struct fa_problem *, const gpu_head_problem &, enum ws_order,
                             const struct gpu_options *, struct fa_error *);
};

template <class S>
static constexpr struct ws_plan ws_row(bool causal, int64_t keys_from, enum ws_order order)
{
    return {S::D, causal, keys_from, order, S::ROWS, S::KEYS, ws_launch<S>};
}

/*
 * The first row that fits the case is taken. The reasons are TFLOP/s in f16, each pair of one run.
 * For d = 128, split and three consumers: a byte of K and V then serves 192 queries, and a third K
 * is there before the consumers are back from their last stage. Two consumers, two-deep: 486 for
 * 544 (N = 1024), 601 for 636 (N = 16384, before the third K).
 */
template <class T>
static const struct ws_plan ws_plans[] = {
    /* Long and causal, the chip hands tiles out better than the counter: 674 for 643. */
    ws_row<ws_shape<T, 128, 3, 128, 3, 2, false, false>>(true, 8193, WS_ONE_EACH),
    /* Shorter tiles differ more: a block a tile gives 542 for 560 (N = 4096). */
    ws_row<ws_shape<T, 128, 3, 128, 3, 2, false, false>>(true, 0, WS_COUNTER),
    /* Also where all are equal: 573 for 538 with a block a tile (N = 2048). */
    ws_row<ws_shape<T, 128, 3, 128, 3, 2, false, false>>(false, 0, WS_COUNTER),
    /* Exponentials take as long as products, and turns keep the two apart: 504 for 488 (16384). */
    ws_row<ws_shape<T, 64, 3, 128, 4, 4, true, true>>(false, 2048, WS_COUNTER),
    /* 256 rows divide 1024, 192 do not: 421 for 399. */
    ws_row<ws_shape<T, 64, 4, 96, 3, 3, false, false>>(false, 1024, WS_COUNTER),
    /* Two tiles of 256 rows leave too little to choose from: 356 for 364 (N = 512). */
    ws_row<ws_shape<T, 64, 3, 128, 4, 4, true, true>>(false, 0, WS_COUNTER),
    /* No turns, in which all would wait at the diagonal: 472, four consumers 459 (N = 4096). */
    ws_row<ws_shape<T, 64, 3, 128, 4, 4, true, false>>(true, 4096, WS_COUNTER),
    /* Four consumers, split: 416 for 411 (N = 2048), 337 for 309 (N = 1024). */
    ws_row<ws_shape<T, 64, 4, 96, 3, 3, false, false>>(true, 0, WS_COUNTER),
};

template <class T> static const struct ws_plan &ws_choose(const struct fa_problem *problem)
{
    const struct ws_plan *plan = ws_plans<T>;
    while (plan->d != problem->d || plan->causal != (problem->causal != FA_CAUSAL_NONE) ||
           plan->keys_from > problem->nk)
        plan++;
    return *plan;
}

static const struct ws_plan &ws_plan_of(const struct fa_problem *problem)
{
    return problem->dtype == FA_F16 ? ws_choose<gpu_f16>(problem) : ws_choose<gpu_bf16>(problem);
}

static const struct gpu_limits ws_limits = {
    "ws", 1u << FA_F16 | 1u << FA_BF16, 128, {64, 128, 0}, false, false, false, true, true,
};

static enum fa_status ws_workspace(const struct fa_problem *problem, bool backward, int64_t *bytes,
                                   struct fa_error *error)
{
    enum fa_status status = gpu_problem_check(&ws_limits, problem, error);
    if (status != FA_OK)
        return status;
    if (backward)
        return gpu_ws_backward_bytes(problem, bytes, error);
    *bytes = sizeof(unsigned);
    return FA_OK;
}

static enum fa_status ws_forward(const struct fa_problem *problem,
                                 const struct gpu_forward *tensors,
                                 const struct gpu_options *options, struct fa_error *error)
{
    gpu_head_problem head;
    enum fa_status status =
        gpu_forward_check(&ws_limits, problem, tensors, options, sizeof(unsigned), &head, error);
    if (status != FA_OK || gpu_is_empty(problem))
        return status;
    const struct ws_plan &plan = ws_plan_of(problem);
    return plan.launch(problem, head, plan.order, options, error);
}

static enum fa_status ws_backward(const struct fa_problem *problem,
                                  const struct gpu_backward *tensors,
                                  const struct gpu_options *options, struct fa_error *error)
{
    return gpu_ws_backward(&ws_limits, problem, tensors, options, error);
}

static void ws_tiles(const struct fa_problem *problem, bool backward, bool deterministic,
                     struct gpu_tiles *tiles)
{
    const struct ws_plan &plan = ws_plan_of(problem);
    *tiles = {plan.rows, plan.keys, 0, 0, 1};
    if (backward)
        gpu_ws_backward_tiles(problem, deterministic, tiles);
}

extern "C" const struct gpu_rung gpu_ws = {
    "ws",
    "one warp loads, three or four warpgroups compute; the softmax runs under the products",
    "f16 bf16; d = dv = 64 or 128; causal; a scale above 0; aligned rows; Hopper",
    ws_workspace,
    ws_forward,
    ws_backward,
    ws_tiles,
};
