/*
 * A block of ws's backward pass: its shape, which keys are its own and which queries meet them, the
 * warp that loads, and the stages of the warpgroups that compute. What they do in turn is in
 * rung_ws_backward.cu.
 *
 * Who waits for whom, each time for the phase that the name says:
 *   full    consumers for the copy engine's bytes
 *   read    the producer, until both consumers and their products have read the place
 *   stored  whoever multiplies dS with K, until both consumers have stored their keys' part of it
 */
#ifndef CUDA_WS_GRADIENT_CUH
#define CUDA_WS_GRADIENT_CUH

#include "cuda/gradient_pairs.cuh"
#include "cuda/hopper_gradient.cuh"
#include "cuda/ws_block.cuh"

/*
 * What lies in the workspace. A head's numbers are padded to whole tiles of queries: a query that
 * does not exist, or sees no key, has the LSE +inf, so that its weights are 0, and the delta 0.
 */
struct ws_gradient_space {
    float *lse, *delta; /* LSE log2 e, and rowsum(dO o O) */
    float *dq;       /* sums, tile after tile, as the accumulators lie; NULL: not computed here */
    uint32_t *marks; /* of each 16 keys, not 0 where dK or dV came out as not finite */
    uint32_t *done;  /* of each head of K, the warps of consumers that have added to its dQ */
};

/* One call, as its blocks see it. */
struct ws_gradient_call {
    gpu_gradient_problem problem;
    ws_gradient_space space;
    int row_tiles, key_tiles; /* of a head */
    int together;             /* heads of K whose blocks come one after the other, longest first */
};

/* How a block's loop is laid out, beside the sizes of its tiles. */
enum {
    WS_PACKED_DS = 1, /* P is kept in 16 bits alone, and dS is formed of pairs: fewer registers */
    WS_DK_FLIES = 2,  /* dK is under way while the next step begins */
    WS_LATE_DP = 4,   /* dP is asked for when S is there, and not along with it */
    WS_NO_DQ = 8,     /* four products; dQ is computed by a kernel of its own */
};

/*
 * Registers a thread: 384 x 168 = 64512 at launch, then 128 x 24 + 256 x 240 = 64512. A consumer
 * has dK and dV, d in all; S^T and dP^T, ROWS / 2 each, and dQ in the place of dP; P and dS in 16
 * bits, ROWS / 4 each.
 * Shared memory, in bytes from the first multiple of 1024 on:
 *   K, 64 rows for each consumer    2 x 128 d
 *   V, likewise                     2 x 128 d
 *   Q of two steps, dO of two       4 x 2 ROWS d
 *   dS of two steps                 2 x 256 ROWS, of each the keys of one consumer after the other
 *   LSE of two steps, delta of two  4 x 4 ROWS
 *   barriers of 8 bytes             K and V full; Q and dO full
 * That a tile has been read is said at a named barrier, one instruction of a warp for its lanes,
 * which have read LSE and delta too: at d = 64 2 to 4 % faster than barriers in shared memory.
 */
enum { WS_DS_STORED = 1, WS_Q_READ = 3, WS_DO_READ = 5 }; /* add the parity of the step */

enum { WS_KEY_WARPS = 8 }; /* of a block, each with 16 keys and a mark */

/* Whether the kernel after the products starts early, on heads that are done while others are not:
 * 2 to 4 % more at d = 128, where the blocks end in half a wave. At d = 64 2 % less at N = 512, and
 * no more elsewhere. */
template <int D> static constexpr bool ws_counts_heads = D > HOPPER_COLUMNS;

template <class ELEMENT, int COLUMNS, int QUERIES, int LAYOUT> struct ws_gradient {
    using T = ELEMENT;
    static constexpr int D = COLUMNS, ROWS = QUERIES, CONSUMERS = 2;
    static constexpr int KEYS = CONSUMERS * WARPGROUP_ROWS, THREADS = (CONSUMERS + 1) * WARPGROUP;
    static constexpr int GIVE = 24, TAKE = 240;
    static constexpr bool PACKED = LAYOUT & WS_PACKED_DS, FLIES = LAYOUT & WS_DK_FLIES;
    static constexpr bool LATE = LAYOUT & WS_LATE_DP, ADDS = !(LAYOUT & WS_NO_DQ);
    static constexpr bool COUNTS = ADDS && ws_counts_heads<D>;
    /* dQ^T has d rows, 64 for each consumer; if there are but 64, consumers take turns. */
    static constexpr bool TURNS = D == HOPPER_COLUMNS;
    static constexpr int HELD = 2 * WARPGROUP_ROWS * D, PASSING = 2 * ROWS * D;
    static constexpr int DS_PART = 2 * ROWS * WARPGROUP_ROWS, DS_BYTES = CONSUMERS * DS_PART;
    static constexpr int K = 0, V = K + CONSUMERS * HELD, Q = V + CONSUMERS * HELD;
    static constexpr int DO = Q + 2 * PASSING, DS = DO + 2 * PASSING;
    static constexpr int LSE = DS + (ADDS ? 2 * DS_BYTES : 0), DELTA = LSE + 2 * 4 * ROWS;
    static constexpr int K_FULL = DELTA + 2 * 4 * ROWS, V_FULL = K_FULL + 8;
    static constexpr int Q_FULL = V_FULL + 8, DO_FULL = Q_FULL + 16;
    static constexpr int BYTES = HOPPER_TILE_ALIGN + DO_FULL + 16;
    static constexpr int READERS = CONSUMERS * WARPGROUP + 32; /* and the warp that loads */
    static_assert(KEYS == 16 * WS_KEY_WARPS);
    static_assert(ROWS % 16 == 0 && D % HOPPER_COLUMNS == 0, "tiles begin at multiples of 1024");
};

/* A block's keys, and the tiles of queries that meet them: first .. row_tiles - 1 of each head of
 * the group, `steps` in all. */
struct ws_keys {
    int batch, kv_head, key;
    int first, steps;
};

template <class S>
static __device__ __forceinline__ ws_keys ws_keys_of(const ws_gradient_call &call, int number)
{
    const gpu_head_problem &p = call.problem.head;
    const int whole = call.together * call.key_tiles, before = number / whole * call.together;
    const int heads = least(call.together, (int)p.all_kv_heads - before), left = number % whole;
    const int head = before + left % heads;
    ws_keys own;
    own.batch = head / p.kv_heads;
    own.kv_head = head % p.kv_heads;
    own.key = left / heads * S::KEYS;
    const int row = greatest(0, own.key - p.end + 1); /* the first that sees a key of these */
    own.first = row / S::ROWS;
    own.steps = row < p.nq ? (call.row_tiles - own.first) * p.group : 0;
    return own;
}

/* ---- the producer --------------------------------------------------------------------------- */

struct ws_gradient_maps {
    const CUtensorMap *q, *k, *v, *d_o;
};

template <class S> static __device__ __forceinline__ void ws_gradient_set_up(uint32_t shared)
{
    barrier_init(shared + S::K_FULL, S::CONSUMERS); /* a boxes_load each */
    barrier_init(shared + S::V_FULL, S::CONSUMERS);
    for (int i = 0; i < 2; i++) {
        barrier_init(shared + S::Q_FULL + 8 * i, 2); /* Q's announcement and LSE's */
        barrier_init(shared + S::DO_FULL + 8 * i, 2);
    }
    barrier_init_done();
}

/* One warp, a lane of which asks for tiles; what consumers wait for first is asked for first. */
template <class S>
static __device__ __forceinline__ void ws_gradient_produce(const ws_gradient_call &call,
                                                           const ws_gradient_maps &map,
                                                           uint32_t shared, const ws_keys &own)
{
    const gpu_head_problem &p = call.problem.head;
    int head = own.kv_head * p.group, tile = own.first;
    ws_turn turn = {0, 0};
    auto load_keys = [&](int to, const CUtensorMap *tensor, int full) {
        for (int c = 0; c < S::CONSUMERS; c++)
            boxes_load<WARPGROUP_ROWS, S::D>(shared + to + c * S::HELD, tensor, shared + full,
                                            own.key + c * WARPGROUP_ROWS, own.kv_head, own.batch);
    };
    auto load_queries = [&](int to, const CUtensorMap *tensor, int of, const float *numbers,
                            int full) {
        const int64_t row =
            (((int64_t)own.batch * p.heads + head) * call.row_tiles + tile) * S::ROWS;
        full += 8 * turn.at;
        boxes_load<S::ROWS, S::D>(shared + to + turn.at * S::PASSING, tensor, shared + full,
                                 tile * S::ROWS, head, own.batch);
        numbers_load<S::ROWS>(shared + of + turn.at * 4 * S::ROWS, numbers + row, shared + full);
    };
    if (own.steps > 0 && lane_elected())
        load_keys(S::K, map.k, S::K_FULL);
    launch_wait(); /* for LSE and delta, and who adds to dQ waits for these; or to end after it */
    if (S::COUNTS)
        launch_next(); /* not before: then the zeros that the next kernel counts from are there */
#pragma unroll 1
    for (int step = 0; step < own.steps; step++) {
        if (step >= 2)
            turn_wait(WS_Q_READ + turn.at, S::READERS); /* for S and dK of two steps ago */
        if (lane_elected()) {
            load_queries(S::Q, map.q, S::LSE, call.space.lse, S::Q_FULL);
            if (step == 0)
                load_keys(S::V, map.v, S::V_FULL);
        }
        if (step >= 2)
            turn_wait(WS_DO_READ + turn.at, S::READERS); /* for dP and dV */
        if (lane_elected())
            load_queries(S::DO, map.d_o, S::DELTA, call.space.delta, S::DO_FULL);
        turn.step<2>();
        if (++tile == call.row_tiles) {
            tile = own.first;
            head++;
        }
    }
}

/* ---- stages of a consumer ------------------------------------------------------------------- */

/* What a consumer warp knows of itself while it works. */
struct ws_gradient_consumer {
    uint32_t shared;
    int number; /* of its warpgroup among the consumers */
    uint64_t k, v, q, d_o;
    uint64_t k_turned, ds; /* for dQ */
    uint32_t ds_place;     /* where this lane names rows of dS, for stmatrix */
    uint32_t numbers;      /* this lane's first two of LSE; delta lies likewise */
    ws_turn turn;          /* for Q, dO and dS */
};

template <class S>
static __device__ __forceinline__ ws_gradient_consumer ws_gradient_consumer_of(uint32_t shared,
                                                                               int number)
{
    const int warp = threadIdx.x % WARPGROUP / 32, lane = lane_of();
    const int row = lane % 8 + lane / 16 * 8, piece = (2 * warp + lane / 8 % 2) ^ lane % 8;
    ws_gradient_consumer own;
    own.shared = shared;
    own.number = number;
    own.k = operand(shared + S::K + number * S::HELD, 16);
    own.v = operand(shared + S::V + number * S::HELD, 16);
    own.q = operand(shared + S::Q, 2 * S::ROWS * HOPPER_COLUMNS);
    own.d_o = operand(shared + S::DO, 2 * S::ROWS * HOPPER_COLUMNS);
    own.k_turned =
        operand(shared + S::K + (S::TURNS ? 0 : number * 2 * WARPGROUP_ROWS * HOPPER_COLUMNS), 16);
    own.ds = operand(shared + S::DS, 16);
    own.ds_place = shared + S::DS + number * S::DS_PART + 128 * row + 16 * piece;
    own.numbers = shared + S::LSE + 8 * (lane % 4);
    own.turn = {0, 0};
    return own;
}

/* S^T becomes P^T, 2^(s unit - LSE). */
template <class S>
static __device__ __forceinline__ void ws_gradient_weights(const ws_gradient_consumer &own,
                                                           float unit, float (&s)[S::ROWS / 8][4])
{
    const uint32_t lse = own.numbers + own.turn.at * 4 * S::ROWS;
#pragma unroll
    for (int n = 0; n < S::ROWS / 8; n++) {
        const float2 of = numbers_read(lse + 32 * n);
        for (int e = 0; e < 4; e++)
            s[n][e] = power_of_two(fmaf(s[n][e], unit, e % 2 ? -of.y : -of.x));
    }
}

/* 0 where one of the warpgroup's 64 keys from `key` on is hidden from a query, in tiles where that
 * can be; keys that do not exist are hidden. */
template <class S>
static __device__ __forceinline__ void ws_gradient_mask(const gpu_head_problem &p, int row, int key,
                                                        float (&s)[S::ROWS / 8][4])
{
    if (key + WARPGROUP_ROWS <= least(p.nk, row + p.end))
        return;
    const int own = key + threadIdx.x % WARPGROUP / 32 * 16 + lane_of() / 4;
    row += 2 * (lane_of() % 4);
    /* Query row + x sees key own + 8 r if x is above hidden[r]. */
    int hidden[2];
    for (int r = 0; r < 2; r++)
        hidden[r] = own + 8 * r < p.nk ? own + 8 * r - p.end - row : S::ROWS;
#pragma unroll
    for (int n = 0; n < S::ROWS / 8; n++)
        for (int e = 0; e < 4; e++)
            if (8 * n + e % 2 <= hidden[e / 2])
                s[n][e] = 0;
}

/* dS^T = P^T o (dP^T - delta), in 16 bits; equation (13). */
template <class S>
static __device__ __forceinline__ void
ws_gradient_ds(const ws_gradient_consumer &own, const float (&s)[S::ROWS / 8][4],
               const uint32_t (&weights)[S::ROWS / 16][4], const float (&dp)[S::ROWS / 8][4],
               uint32_t (&ds)[S::ROWS / 16][4])
{
    using T = typename S::T;
    const uint32_t delta = own.numbers + S::DELTA - S::LSE + own.turn.at * 4 * S::ROWS;
#pragma unroll
    for (int n = 0; n < S::ROWS / 8; n++) {
        const float2 of = numbers_read(delta + 32 * n);
        for (int e = 0; e < 4; e += 2) {
            uint32_t &word = ds[n / 2][n % 2 * 2 + e / 2];
            const float x = dp[n][e] - of.x, y = dp[n][e + 1] - of.y;
            if (S::PACKED)
                word = multiply_pairs(weights[n / 2][n % 2 * 2 + e / 2], pack(x, y, T()), T());
            else
                word = pack(s[n][e] * x, s[n][e + 1] * y, T());
        }
    }
}

/* dS to shared memory, queries as rows: a column of the fragment is 16 keys of a row there. */
template <class S>
static __device__ __forceinline__ void ws_gradient_keep(const ws_gradient_consumer &own,
                                                        const uint32_t (&ds)[S::ROWS / 16][4])
{
#pragma unroll
    for (int i = 0; i < S::ROWS / 16; i++)
        store_transposed(own.ds_place + own.turn.at * S::DS_BYTES + i * 16 * 128, ds[i]);
    stores_done();
}

/* dQ^T = K^T dS^T over all keys of the block is on its way: 64 of d for all queries. */
template <class S>
static __device__ __forceinline__ void ws_gradient_queries(const ws_gradient_consumer &own,
                                                           float (&dq)[S::ROWS / 8][4])
{
    const uint64_t ds = operand_move(own.ds, own.turn.at * S::DS_BYTES);
    accumulator_pin(dq);
    products_begin();
#pragma unroll
    for (int i = 0; i < S::KEYS / 16; i++)
        multiply_turned(dq, operand_move(own.k_turned, i / 4 * S::HELD + i % 4 * 16 * 128),
                        operand_move(ds, i / 4 * S::DS_PART + i % 4 * 32), i > 0, typename S::T());
    products_commit();
}

/* This consumer's part of dQ joins the sums, in the order of its accumulators: a warp's 512 bytes
 * side by side. */
template <class S>
static __device__ __forceinline__ void ws_gradient_add(const ws_gradient_consumer &own, float *to,
                                                       const float (&dq)[S::ROWS / 8][4])
{
    to += (S::TURNS ? 0 : own.number) * HOPPER_COLUMNS * S::ROWS + threadIdx.x % WARPGROUP * 4;
#pragma unroll
    for (int n = 0; n < S::ROWS / 8; n++)
        add_four(to + n * 4 * WARPGROUP, dq[n]);
}

/* The warp's 16 rows from `row` on, times scale. */
template <class T, int D>
static __device__ __forceinline__ void ws_gradient_store(const gpu_tensor &tensor, int batch,
                                                         int head, int row, int end, float scale,
                                                         const float (&x)[D / 8][4])
{
    row += lane_of() / 4;
    T *to = (T *)tensor.data + gpu_row_index(&tensor, batch, head, row) + 8 * (lane_of() % 4);
    for (int r = 0; r < 2; r++) {
        ws_store_row<T, D>(to, row + 8 * r < end, r, scale, x);
        to += 8 * tensor.stride[2];
    }
}

#endif
