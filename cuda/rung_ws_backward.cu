/*
 * ws-bwd: the backward pass by warpgroups that specialise.
 *
 * Idea. mma-bwd's five products by Hopper's engines. A block holds K and V of 128 keys; a warp
 * loads tiles of queries, Q and dO, two steps ahead; two consumer warpgroups own 64 keys each and
 * nearly all registers. S and dP are computed turned over, so P^T and dS^T are left operands as
 * they leave the accumulators, and only dS passes through shared memory, since dQ needs all keys of
 * the block. dQ is computed turned over too, d as rows: then any multiple of 16 queries makes a
 * tile. It leaves the accumulators as it lies there, by reductions of 16 bytes, while dK is
 * multiplied:
 *   S dP │ exp of P │ dV │ dS to shared memory ► barrier │ dQ dK │ dQ added under dK │ ...
 * Three kernels: delta and LSE set out for the copy engine, and zeros for dQ; this one; and one
 * that rounds dQ, where the last blocks of this one leave multiprocessors idle. On request dQ has
 * an owner in a kernel of its own (ws_gradient_queries.cuh): two products more, but the same bits
 * each time.
 *
 * Predicted traffic of a head, elements: first 2 Nq d and Nq read (LSE 4 bytes), 2 Nq and Nq d
 * written (4 bytes); then Nk 2 d + Tc (2 Nq d + 2 Nq) read, Nk 2 d written and Tc Nq d added (4
 * bytes); then Nq d read (4 bytes) and written; Bc = 128, Br by the table ws_gradient_plans, Tc of
 * the visited tiles under a mask. Tiles travel whole: Nq and Nk are multiples of Br and Bc there.
 * Measured: f16, N = 1024, 4096 and 16384: 452, 550 and 591 TFLOP/s for d = 128, causal 339, 500
 * and 595; for d = 64 387, 482 and 502, causal 267, 441 and 502; above cuDNN by 1.11 to 1.24. Reads
 * as counted, but for the marks of rows to repeat. No spill; hopper.md has the rest.
 * Limits: those of ws, and a workspace.
 */
#include "cuda/ws_gradient_ends.cuh"
#include "cuda/ws_gradient_queries.cuh"

/* ---- the five products ---------------------------------------------------------------------- */

/* The fourth and fifth, now that dS is in shared memory: this consumer's part of dQ by the keys of
 * both, and dK. */
template <class S>
static __device__ __forceinline__ void ws_gradient_last_two(const ws_gradient_consumer &own,
                                                            const uint32_t (&ds)[S::ROWS / 16][4],
                                                            float *to, float (&dk)[S::D / 8][4])
{
    using T = typename S::T;
    const int at = own.turn.at, stored = WS_DS_STORED + at, read = WS_DO_READ + at;
    const uint64_t q = operand_move(own.q, at * S::PASSING);
    if (S::ADDS && (!S::TURNS || at == own.number)) {
        float dq[S::ROWS / 8][4];
        turn_wait(stored, 2 * WARPGROUP); /* for the other consumer's part of dS */
        ws_gradient_queries<S>(own, dq);
        /* With turns the other consumer, without dQ now, goes first: 2 to 3 % faster. */
        if (S::TURNS)
            products_wait<0>(dq);
        multiply_values<T, 0, S::ROWS, S::D>(dk, ds, q);
        if (!S::TURNS)
            products_wait<1>(dq);
        turn_give(read, S::READERS);
        ws_gradient_add<S>(own, to, dq); /* under dK */
        return;
    }
    if (S::ADDS)
        turn_give(stored, 2 * WARPGROUP);
    multiply_values<T, 0, S::ROWS, S::D>(dk, ds, q);
    products_wait<1>();
    turn_give(read, S::READERS);
}

/*
 * Invariant at the head of the loop: dk and dv are the sums over the steps before, dk without the
 * scale; of dk, the product of the step before may still be under way, reading Q and ds. Groups of
 * products end in the order of their beginning, so once S is there that one is over.
 */
template <class S>
static __device__ __forceinline__ void
ws_gradient_steps(const ws_gradient_call &call, ws_gradient_consumer &own, const ws_keys &keys,
                  float (&dk)[S::D / 8][4], float (&dv)[S::D / 8][4])
{
    using T = typename S::T;
    constexpr int64_t TILE = S::ROWS * S::D;
    const gpu_head_problem &p = call.problem.head;
    const float unit = p.scale * LOG2_E;
    const int key = keys.key + own.number * WARPGROUP_ROWS;
    const int64_t head = (int64_t)keys.batch * p.heads + keys.kv_head * p.group;
    float *to = S::ADDS ? call.space.dq + (head * call.row_tiles + keys.first) * TILE : nullptr;
    uint32_t ds[S::ROWS / 16][4] = {};
    int tile = keys.first;
#pragma unroll 1
    for (int step = 0; step < keys.steps; step++) {
        const int at = own.turn.at;
        float s[S::ROWS / 8][4], dp[S::ROWS / 8][4];
        uint32_t weights[S::ROWS / 16][4];
        auto dk_is_over = [&] {
            if (S::FLIES)
                words_pin(ds);
            if (S::FLIES && step > 0)
                turn_give(WS_Q_READ + (at ^ 1), S::READERS);
        };
        barrier_wait(own.shared + S::Q_FULL + 8 * at, own.turn.parity); /* copy engine */
        multiply_scores<T, S::ROWS, S::D>(s, own.k, operand_move(own.q, at * S::PASSING));
        if (S::LATE) {
            products_wait<0>(s);
            dk_is_over();
        }
        barrier_wait(own.shared + S::DO_FULL + 8 * at, own.turn.parity); /* copy engine */
        multiply_scores<T, S::ROWS, S::D>(dp, own.v, operand_move(own.d_o, at * S::PASSING));
        if (!S::LATE) {
            products_wait<1>(s);
            dk_is_over();
        }
        ws_gradient_weights<S>(own, unit, s); /* under dP */
        ws_gradient_mask<S>(p, tile * S::ROWS, key, s);
        pack_left<T, 0, S::ROWS>(weights, s);
        multiply_values<T, 0, S::ROWS, S::D>(dv, weights, operand_move(own.d_o, at * S::PASSING));
        products_wait<1>(dp);
        ws_gradient_ds<S>(own, s, weights, dp, ds); /* under dV */
        if (S::ADDS)
            ws_gradient_keep<S>(own, ds);
        ws_gradient_last_two<S>(own, ds, to, dk);
        if (!S::FLIES) {
            products_wait<0>();
            turn_give(WS_Q_READ + at, S::READERS);
        }
        own.turn.template step<2>();
        to += TILE;
        if (++tile == call.row_tiles) { /* the next head of the group */
            tile = keys.first;
            to += keys.first * TILE;
        }
    }
    products_wait<0>(dk);
    products_wait<0>(dv);
    words_pin(ds);
}

template <class S>
static __device__ __forceinline__ void
ws_gradient_consume(const ws_gradient_call &call, uint32_t shared, const ws_keys &keys, int number)
{
    const gpu_gradient_problem &g = call.problem;
    const int warp = number * 4 + (int)threadIdx.x % WARPGROUP / 32, row = keys.key + 16 * warp;
    ws_gradient_consumer own = ws_gradient_consumer_of<S>(shared, number);
    float dk[S::D / 8][4] = {}, dv[S::D / 8][4] = {};
    if (keys.steps > 0) {
        barrier_wait(shared + S::K_FULL, 0); /* copy engine */
        barrier_wait(shared + S::V_FULL, 0);
        ws_gradient_steps<S>(call, own, keys, dk, dv);
    }
    /* The last kernel repeats what is marked: a call from here would cost this one registers. */
    const bool wild = __any_sync(~0u, is_wild<S::D>(dk) || is_wild<S::D>(dv));
    const int64_t head = (int64_t)keys.batch * g.head.kv_heads + keys.kv_head;
    if (lane_of() == 0)
        call.space.marks[head * call.key_tiles * WS_KEY_WARPS + row / 16] = wild;
    if (S::COUNTS) {
        __syncwarp(); /* what all lanes have added comes before */
        if (lane_of() == 0) {
            launch_wait(); /* for the zero to count from, also where there were no queries */
            count_after(call.space.done + head);
        }
    }
    ws_gradient_store<typename S::T, S::D>(g.dv, keys.batch, keys.kv_head, row, g.head.nk, 1, dv);
    ws_gradient_store<typename S::T, S::D>(g.dk, keys.batch, keys.kv_head, row, g.head.nk,
                                           g.head.scale, dk);
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, 1)
    ws_keys_kernel(const __grid_constant__ ws_gradient_call call,
                   const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
                   const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap d_o)
{
    HOPPER_SHARED(ws_words);
    const uint32_t shared =
        (shared_address(ws_words) + HOPPER_TILE_ALIGN - 1) / HOPPER_TILE_ALIGN * HOPPER_TILE_ALIGN;
    /* The same number in all lanes, and the compiler is to know it. */
    const int group = __shfl_sync(~0u, threadIdx.x / WARPGROUP, 0);
    const ws_keys keys = ws_keys_of<S>(call, (int)blockIdx.x);
    if (threadIdx.x == 0) {
        map_fetch(&q);
        map_fetch(&k);
        map_fetch(&v);
        map_fetch(&d_o);
        ws_gradient_set_up<S>(shared);
    }
    __syncthreads(); /* all wait for the barriers to be set up */
    if (group == 0) {
        registers_give<S::GIVE>();
        if (__shfl_sync(~0u, threadIdx.x / 32, 0) == 0)
            ws_gradient_produce<S>(call, {&q, &k, &v, &d_o}, shared, keys);
    } else {
        registers_take<S::TAKE>();
        ws_gradient_consume<S>(call, shared, keys, group - 1);
    }
}

/* ---- host: which kernel for which case ------------------------------------------------------ */

/* Where the parts of the workspace begin, and its end: all multiples of 256. */
struct ws_gradient_parts {
    int64_t delta, dq, marks, done, end;
};

/* A row tile is that of the kernel; FA_TOO_LARGE past 2^60 bytes. */
static enum fa_status ws_gradient_divide(const struct fa_problem *problem, int rows, int keys,
                                         ws_gradient_parts *parts, struct fa_error *error)
{
    const int64_t row_tiles = (problem->nq + rows - 1) / rows;
    const int64_t key_tiles = (problem->nk + keys - 1) / keys, most = INT64_MAX / 8;
    int64_t numbers = 0, dq = 0, marks = 0;
    if (!fa_multiply(problem->batch * problem->heads, row_tiles * rows * 4, &numbers) ||
        !fa_multiply(numbers, problem->d, &dq) || dq > most ||
        !fa_multiply(problem->batch * problem->kv_heads, key_tiles * keys / 16 * 4, &marks) ||
        marks > most)
        return fa_fail(error, FA_TOO_LARGE, "the sums of dQ are past 2^60 bytes");
    auto whole = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    parts->delta = whole(numbers);
    parts->dq = parts->delta + whole(numbers);
    parts->marks = parts->dq + whole(dq);
    parts->done = parts->marks + whole(marks);
    parts->end = parts->done + whole(problem->batch * problem->kv_heads * 4);
    return FA_OK;
}

/* The tensor maps of a call: Q, K, V and dO by boxes of so many rows. */
static enum fa_status ws_gradient_maps_of(const struct fa_problem *problem,
                                          const gpu_gradient_problem &g, int query_rows,
                                          int key_rows, CUtensorMap (&maps)[4],
                                          struct fa_error *error)
{
    const gpu_head_problem &p = g.head;
    const struct hopper_tensor tensors[4] = {
        {"q", &p.q, problem->batch, problem->heads, problem->nq, p.d, query_rows, problem->dtype},
        {"k", &p.k, problem->batch, problem->kv_heads, problem->nk, p.d, key_rows, problem->dtype},
        {"v", &p.v, problem->batch, problem->kv_heads, problem->nk, p.d, key_rows, problem->dtype},
        {"do", &g.d_o, problem->batch, problem->heads, problem->nq, p.d, query_rows,
         problem->dtype},
    };
    enum fa_status status = FA_OK;
    for (int i = 0; i < 4 && status == FA_OK; i++)
        status = hopper_map(&tensors[i], &maps[i], error);
    return status;
}

/* What a call launches. */
struct ws_gradient_work {
    ws_gradient_call call;
    CUtensorMap maps[4], owner_maps[4];  /* of Q, K, V, dO; for dQ's owner */
    unsigned before, keys, owner, after; /* blocks */
    int dq_tiles;
};

/* Heads of K whose blocks come one after the other: about a wave of blocks, whose Q, dO and sums of
 * dQ stay in L2 meanwhile. */
static int ws_gradient_together(int64_t kv_heads, int key_tiles, int multiprocessors)
{
    const int wave = key_tiles > 0 ? (multiprocessors + key_tiles / 2) / key_tiles : 1;
    return (int)(wave < 1 ? 1 : wave < kv_heads ? wave : kv_heads);
}

/* All that can be refused. */
template <class S>
static enum fa_status ws_gradient_prepare(const struct fa_problem *problem,
                                          const gpu_gradient_problem &g, char *space,
                                          ws_gradient_work *work, struct fa_error *error)
{
    using O = ws_queries<typename S::T, S::D>;
    constexpr int ROWS = S::ROWS;
    const gpu_head_problem &p = g.head;
    const int row_tiles = (p.nq + ROWS - 1) / ROWS, key_tiles = (p.nk + S::KEYS - 1) / S::KEYS;
    int multiprocessors;
    unsigned marks, dq_tiles;
    ws_gradient_parts parts;
    enum fa_status status = ws_gradient_divide(problem, ROWS, S::KEYS, &parts, error);
    if (status == FA_OK)
        status = hopper_check("ws", &multiprocessors, error);
    if (status == FA_OK)
        status =
            gpu_grid(p.all_heads, row_tiles, ROWS * S::D / 8 / WS_HELPERS, &work->before, error);
    if (status == FA_OK)
        status = gpu_grid(p.all_heads, row_tiles, 1, &dq_tiles, error);
    if (status == FA_OK)
        status = gpu_grid(p.all_heads, (p.nq + O::ROWS - 1) / O::ROWS, 1, &work->owner, error);
    if (status == FA_OK)
        status = gpu_grid(p.all_kv_heads, key_tiles, WS_KEY_WARPS, &marks, error);
    if (status == FA_OK)
        status = ws_gradient_maps_of(problem, g, ROWS, WARPGROUP_ROWS, work->maps, error);
    if (status == FA_OK && !S::ADDS)
        status = ws_gradient_maps_of(problem, g, WARPGROUP_ROWS, O::KEYS, work->owner_maps, error);
    if (status == FA_OK)
        GPU_PREPARE(status, (ws_keys_kernel<S>), S::BYTES, error);
    if (status == FA_OK && !S::ADDS)
        GPU_PREPARE(status, (ws_queries_kernel<O>), O::BYTES, error);
    if (status == FA_OK)
        GPU_PREPARE(status, (ws_dq_kernel<typename S::T, S::D, ROWS>), (ws_rows_bytes<S::D, ROWS>),
                    error);
    if (status != FA_OK)
        return status;
    work->dq_tiles = S::ADDS ? (int)dq_tiles : 0;
    work->keys = marks / WS_KEY_WARPS;
    work->after = (unsigned)work->dq_tiles + (marks + WS_HELPERS - 1) / WS_HELPERS;
    work->call = {g,
                  {(float *)space, (float *)(space + parts.delta),
                   S::ADDS ? (float *)(space + parts.dq) : nullptr,
                   (uint32_t *)(space + parts.marks), (uint32_t *)(space + parts.done)},
                  row_tiles,
                  key_tiles,
                  ws_gradient_together(p.all_kv_heads, key_tiles, multiprocessors)};
    return FA_OK;
}

template <class S>
static enum fa_status ws_gradient_launch(const struct fa_problem *problem,
                                         const gpu_gradient_problem &g,
                                         const struct gpu_options *options, struct fa_error *error)
{
    using T = typename S::T;
    using O = ws_queries<T, S::D>;
    constexpr int D = S::D, ROWS = S::ROWS;
    void *stream = gpu_stream(options);
    ws_gradient_work work = {};
    const CUtensorMap *maps = work.maps, *owner = work.owner_maps;
    enum fa_status status = ws_gradient_prepare<S>(
        problem, g, options ? (char *)options->workspace : nullptr, &work, error);
    if (status == FA_OK && work.before > 0)
        GPU_LAUNCH(status, (ws_stats_kernel<T, D, ROWS>), work.before, WS_HELPERS, 0, stream, error,
                   work.call);
    if (status == FA_OK && work.keys > 0)
        status =
            hopper_launch(ws_keys_kernel<S>, work.keys, S::THREADS, S::BYTES, stream,
                          work.before > 0, error, work.call, maps[0], maps[1], maps[2], maps[3]);
    if (status == FA_OK && !S::ADDS && work.owner > 0)
        status = hopper_launch(ws_queries_kernel<O>, work.owner, O::THREADS, O::BYTES, stream,
                               false, error, work.call, work.call.row_tiles * ROWS, owner[0],
                               owner[1], owner[2], owner[3]);
    if (status == FA_OK && work.after > 0)
        status = hopper_launch(ws_dq_kernel<T, D, ROWS>, work.after, WS_HELPERS,
                               ws_rows_bytes<D, ROWS>, stream, S::COUNTS && work.keys > 0, error,
                               work.call, work.dq_tiles);
    return status;
}

typedef enum fa_status ws_gradient_launcher(const struct fa_problem *, const gpu_gradient_problem &,
                                            const struct gpu_options *, struct fa_error *);

/* A kernel for d, with causal mask or without, and the same with an owner for dQ. */
struct ws_gradient_plan {
    int64_t d;
    bool causal;
    int64_t keys_from;
    int rows, keys; /* Br, Bc */
    ws_gradient_launcher *launch, *launch_deterministic;
};

template <class T, int D, int ROWS, int LAYOUT>
static constexpr struct ws_gradient_plan ws_gradient_row(bool causal, int64_t keys_from)
{
    using S = ws_gradient<T, D, ROWS, LAYOUT>;
    using N = ws_gradient<T, D, ROWS, LAYOUT | WS_NO_DQ>;
    return {D, causal, keys_from, ROWS, S::KEYS, ws_gradient_launch<S>, ws_gradient_launch<N>};
}

/*
 * The first row that fits the case is taken. The reasons are TFLOP/s in f16, 16,384 tokens, hidden
 * size 2048, sustained, each from one run (hopper.md). dS of 16-bit pairs has 1.4 times the error
 * in dQ and dK.
 */
template <class T>
static const struct ws_gradient_plan ws_gradient_plans[] = {
    /* Products of 64 columns fill shared memory's 128 bytes a clock, those of 80 do not: 550 and
     * 577 at N = 4096 and 16384, for 522 and 561. 80 fit with dS of pairs alone, and without dK
     * under way. */
    ws_gradient_row<T, 128, 80, WS_PACKED_DS>(false, 0),
    ws_gradient_row<T, 128, 80, WS_PACKED_DS>(true, 8192), /* 569 at 16384, for 555 */
    /* Small steps waste less at the diagonal, and leave room for dK under way: 322 at N = 1024, for
     * 314, and 420 at 2048, for 409. */
    ws_gradient_row<T, 128, 64, WS_PACKED_DS | WS_DK_FLIES | WS_LATE_DP>(true, 0),
    /* dS in f32 fits, and the consumers take turns at dQ, since a half of it would be products of
     * 48 columns. 112 queries with dS of pairs: 2 to 3 % more from N = 4096 on, 5 % less at 1024. */
    ws_gradient_row<T, 64, 96, WS_DK_FLIES>(false, 0),
    ws_gradient_row<T, 64, 96, WS_DK_FLIES>(true, 0),
};

template <class T>
static const struct ws_gradient_plan &ws_gradient_choose(const struct fa_problem *problem)
{
    const struct ws_gradient_plan *plan = ws_gradient_plans<T>;
    while (plan->d != problem->d || plan->causal != (problem->causal != FA_CAUSAL_NONE) ||
           plan->keys_from > problem->nk)
        plan++;
    return *plan;
}

static const struct ws_gradient_plan &ws_gradient_plan_of(const struct fa_problem *problem)
{
    return problem->dtype == FA_F16 ? ws_gradient_choose<gpu_f16>(problem)
                                    : ws_gradient_choose<gpu_bf16>(problem);
}

extern "C" void gpu_ws_backward_tiles(const struct fa_problem *problem, bool deterministic,
                                      struct gpu_tiles *tiles)
{
    const struct ws_gradient_plan &plan = ws_gradient_plan_of(problem);
    *tiles = {plan.rows, plan.keys, 0, 0, 1};
    if (deterministic) {
        tiles->dq_br = ws_queries<gpu_f16, 128>::ROWS;
        tiles->dq_bc = ws_queries<gpu_f16, 128>::KEYS;
    }
}

extern "C" enum fa_status gpu_ws_backward_bytes(const struct fa_problem *problem, int64_t *bytes,
                                                struct fa_error *error)
{
    const struct ws_gradient_plan &plan = ws_gradient_plan_of(problem);
    ws_gradient_parts parts = {};
    enum fa_status status = ws_gradient_divide(problem, plan.rows, plan.keys, &parts, error);
    if (status == FA_OK)
        *bytes = parts.end;
    return status;
}

extern "C" enum fa_status gpu_ws_backward(const struct gpu_limits *limits,
                                          const struct fa_problem *problem,
                                          const struct gpu_backward *tensors,
                                          const struct gpu_options *options, struct fa_error *error)
{
    gpu_gradient_problem g;
    const enum fa_status status =
        gpu_backward_check(limits, problem, tensors, options, gpu_ws_backward_bytes, &g, error);
    if (status != FA_OK)
        return status;
    const struct ws_gradient_plan &plan = ws_gradient_plan_of(problem);
    return options && options->deterministic ? plan.launch_deterministic(problem, g, options, error)
                                             : plan.launch(problem, g, options, error);
}
