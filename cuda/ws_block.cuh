/*
 * A block of ws: what lies in its shared memory, the warp that loads, and the warps that repeat
 * what came out as not finite. The warpgroups that compute are in rung_ws.cu, their stages in
 * ws_stages.cuh.
 *
 * Who waits for whom, each time for the phase that the name says:
 *   full   consumers for the copy engine's bytes; of a slot, for the producer's tile
 *   empty  the producer, until all consumers' products have read the place; of a slot, until the
 *          repeaters have left it
 *   done   the repeaters, until the rows of all consumers are stored
 */
#ifndef CUDA_WS_BLOCK_CUH
#define CUDA_WS_BLOCK_CUH

#include "cuda/hopper_products.cuh"

/* One call, as its blocks see it. */
struct ws_call {
    gpu_head_problem head;
    int tiles, row_tiles; /* row tiles of all heads, and of one */
    int together;         /* heads whose tiles are taken in one go, the longest of all first */
    unsigned *next;       /* tiles taken after the first of each block; NULL: that is all */
};

/* Of a slot, see below. */
enum { WS_SLOT_BYTES = 48, WS_MARKS = 16, WS_FULL = 24, WS_DONE = 32, WS_EMPTY = 40 };

/*
 * The shape of a kernel. Registers a thread: those at launch, which the block's pool is made of,
 * then the producer's and the consumers', whose sum over the block may not pass the pool:
 *   3 consumers   512 threads x 128 = 65536   128 x 32 + 384 x 160 = 65536
 *   4             640         x  96 = 61440   128 x 32 + 512 x 112 = 61440
 * Shared memory, in bytes from the first multiple of 1024 on:
 *   Q, 64 rows for each consumer      CONSUMERS x 128 d
 *   K's ring, then V's                (K_STAGES + V_STAGES) x 2 KEYS d
 *   barriers of 8 bytes               full and empty: each K, each V, each Q
 *   two slots of 48 bytes             16 which row tile comes next, 4 which 16 rows of it are to be
 *                                     repeated, and from 24 on the barriers full, done and empty
 */
template <class ELEMENT, int COLUMNS, int GROUPS, int TILE_KEYS, int K_RING, int V_RING, bool DEEP,
          bool TURNS>
struct ws_shape {
    using T = ELEMENT;
    static constexpr int D = COLUMNS, CONSUMERS = GROUPS, KEYS = TILE_KEYS;
    static constexpr int K_STAGES = K_RING, V_STAGES = V_RING;
    static constexpr bool TWO_DEEP = DEEP, PING_PONG = TURNS;
    static constexpr int ROWS = CONSUMERS * WARPGROUP_ROWS, THREADS = (CONSUMERS + 1) * WARPGROUP;
    static constexpr int GIVE = 32, TAKE = CONSUMERS == 3 ? 160 : 112;
    static constexpr int Q_BYTES = 2 * WARPGROUP_ROWS * D, TILE_BYTES = 2 * KEYS * D;
    static constexpr int K = CONSUMERS * Q_BYTES, V = K + K_STAGES * TILE_BYTES;
    static constexpr int K_FULL = V + V_STAGES * TILE_BYTES, K_EMPTY = K_FULL + 8 * K_STAGES;
    static constexpr int V_FULL = K_EMPTY + 8 * K_STAGES, V_EMPTY = V_FULL + 8 * V_STAGES;
    static constexpr int Q_FULL = V_EMPTY + 8 * V_STAGES, Q_EMPTY = Q_FULL + 8 * CONSUMERS;
    static constexpr int SLOTS = (Q_EMPTY + 8 * CONSUMERS + 15) / 16 * 16;
    static constexpr int BYTES = HOPPER_TILE_ALIGN + SLOTS + 2 * WS_SLOT_BYTES;
};

/* A place in a ring and the parity that its barrier is waited for with. */
struct ws_turn {
    int at;
    uint32_t parity;
    template <int SIZE> __device__ __forceinline__ void step()
    {
        at = at + 1 == SIZE ? 0 : at + 1;
        parity ^= at == 0;
    }
};

/* A row tile: its first row, its head, and how many tiles of keys its rows see. */
struct ws_tile {
    int row, head, batch, tiles;
};

/* ---- the producer --------------------------------------------------------------------------- */

template <class S>
static __device__ __forceinline__ ws_tile ws_decode(const ws_call &call, int number)
{
    const int whole = call.together * call.row_tiles, first = number / whole * call.together;
    /* Past the last tile there are none, and what comes out is not used. */
    const int heads = greatest(1, least(call.together, (int)call.head.all_heads - first));
    const int left = number % whole, head = first + left % heads;
    const int row = (call.row_tiles - 1 - left / heads) * S::ROWS;
    const int end = least(call.head.nk, least(call.head.nq, row + S::ROWS) - 1 + call.head.end);
    return {row, head % call.head.heads, head / call.head.heads,
            greatest(end + S::KEYS - 1, 0) / S::KEYS};
}

/* Puts a tile into the next slot; a row of -1 says that there is none. */
template <class S>
static __device__ __forceinline__ void ws_tell(uint32_t shared, ws_turn &turn, const ws_tile &tile)
{
    const uint32_t slot = shared + S::SLOTS + turn.at * WS_SLOT_BYTES;
    barrier_wait(slot + WS_EMPTY, turn.parity); /* the repeaters are done with it */
    words_write(slot, tile.row, tile.head, tile.batch, tile.tiles);
    word_clear(slot + WS_MARKS);
    barrier_arrive(slot + WS_FULL);
    turn.step<2>();
}

static __device__ __forceinline__ ws_tile ws_read(uint32_t slot)
{
    ws_tile tile;
    words_read(slot, tile.row, tile.head, tile.batch, tile.tiles);
    return tile;
}

static __device__ __forceinline__ uint32_t ws_marks(uint32_t slot)
{
    return word_read(slot + WS_MARKS);
}

/* Lane 0 of each warp arrives, after all of its lanes have got here. */
static __device__ __forceinline__ void ws_release(uint32_t barrier)
{
    __syncwarp();
    if (lane_of() == 0)
        barrier_arrive(barrier);
}

/* One thread. Tiles of keys go from the last to the first, so that masked ones come first. */
template <class S>
static __device__ __forceinline__ void ws_produce(const ws_call &call, const CUtensorMap *q_map,
                                                  const CUtensorMap *k_map,
                                                  const CUtensorMap *v_map, uint32_t shared)
{
    ws_turn k = {0, 1}, v = {0, 1}, slot = {0, 1};
    uint32_t q_parity = 1;
    int number = blockIdx.x;
    ws_tile tile = ws_decode<S>(call, number);
    while (number < call.tiles) {
        const int kv_head = tile.head / call.head.group;
        ws_tell<S>(shared, slot, tile);
        auto load_q = [&](int g) {
            const uint32_t there = shared + S::Q_FULL + 8 * g;
            barrier_wait(shared + S::Q_EMPTY + 8 * g, q_parity); /* its last product has read Q */
            boxes_load<WARPGROUP_ROWS, S::D>(shared + g * S::Q_BYTES, q_map, there,
                                            tile.row + g * WARPGROUP_ROWS, tile.head, tile.batch);
        };
        auto load_k = [&](int j) {
            barrier_wait(shared + S::K_EMPTY + 8 * k.at, k.parity); /* all consumers have read it */
            boxes_load<S::KEYS, S::D>(shared + S::K + k.at * S::TILE_BYTES, k_map,
                                     shared + S::K_FULL + 8 * k.at, j * S::KEYS, kv_head,
                                     tile.batch);
            k.step<S::K_STAGES>();
        };
        auto load_v = [&](int j) {
            barrier_wait(shared + S::V_EMPTY + 8 * v.at, v.parity); /* all consumers have read it */
            boxes_load<S::KEYS, S::D>(shared + S::V + v.at * S::TILE_BYTES, v_map,
                                     shared + S::V_FULL + 8 * v.at, j * S::KEYS, kv_head,
                                     tile.batch);
            v.step<S::V_STAGES>();
        };
        if (tile.tiles > 0) {
            load_q(0);
            load_k(tile.tiles - 1); /* what the first consumer waits for, before Q of the others */
#pragma unroll 1
            for (int g = 1; g < S::CONSUMERS; g++)
                load_q(g);
            q_parity ^= 1;
            /* Two-deep wants K of tile j - 1 before V of tile j. */
#pragma unroll 1
            for (int j = tile.tiles - 1; j > 0; j--) {
                if (S::TWO_DEEP)
                    load_k(j - 1);
                load_v(j);
                if (!S::TWO_DEEP)
                    load_k(j - 1);
            }
        }
        /* Taken late: a tile that is taken while this one is long under way comes too soon. But
         * before the last load, which waits for room and hides the way to the counter and back. */
        number += gridDim.x;
        if (call.next) {
            launch_wait(); /* for ws_reset's 0 */
            number = (int)(gridDim.x + atomicAdd(call.next, 1));
        }
        const ws_tile then = ws_decode<S>(call, number);
        if (tile.tiles > 0)
            load_v(0);
        tile = then;
    }
    ws_tell<S>(shared, slot, {-1, 0, 0, 0});
}

/* The three warps beside the producer's: they repeat the rows that consumers mark, 16 at a time. A
 * consumer could not: a loop with that in it keeps its descriptors in vector registers, and is
 * slower by 8 %. */
template <class S>
static __device__ __forceinline__ void ws_repeat(const ws_call &call, uint32_t shared)
{
    uint32_t slot = shared + S::SLOTS, parity = 0;
    for (;;) {
        barrier_wait(slot + WS_FULL, parity); /* for the producer's tile */
        int row = ws_read(slot).row;
        if (row < 0)
            return;
        barrier_wait(slot + WS_DONE, parity); /* for the consumers' rows */
        if (ws_marks(slot) != 0)
#pragma unroll 1
            for (row += threadIdx.x / 32 - 1;; row += 3) {
                const ws_tile tile = ws_read(slot); /* again, and so it need not be kept */
                if (row >= least(tile.row + S::ROWS, call.head.nq))
                    break;
                if (ws_marks(slot) >> (row - tile.row) / 16 & 1)
                    repeat_row<typename S::T, S::D, false>(call.head, tile.batch, tile.head, row);
            }
        ws_release(slot + WS_EMPTY);
        parity ^= slot != shared + S::SLOTS;
        slot = 2 * (shared + S::SLOTS) + WS_SLOT_BYTES - slot;
    }
}

template <class S> static __device__ __forceinline__ void ws_set_up(uint32_t shared)
{
    for (int i = 0; i < S::K_STAGES; i++) {
        barrier_init(shared + S::K_FULL + 8 * i, 1);
        barrier_init(shared + S::K_EMPTY + 8 * i, 4 * S::CONSUMERS); /* a lane of each warp */
    }
    for (int i = 0; i < S::V_STAGES; i++) {
        barrier_init(shared + S::V_FULL + 8 * i, 1);
        barrier_init(shared + S::V_EMPTY + 8 * i, 4 * S::CONSUMERS);
    }
    for (int i = 0; i < S::CONSUMERS; i++) {
        barrier_init(shared + S::Q_FULL + 8 * i, 1);
        barrier_init(shared + S::Q_EMPTY + 8 * i, 4);
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t slot = shared + S::SLOTS + i * WS_SLOT_BYTES;
        barrier_init(slot + WS_FULL, 1);
        barrier_init(slot + WS_DONE, 4 * S::CONSUMERS);
        barrier_init(slot + WS_EMPTY, 3); /* the repeaters */
    }
    barrier_init_done();
}

/* Four lanes share a row, and exchange words until each has 16 bytes side by side: the transpose of
 * a 4 x 4 matrix, lane by word, by pairs and then by halves. */
static __device__ __forceinline__ void exchange_words(uint32_t (&x)[4])
{
    const int lane = lane_of() % 4;
    uint32_t y;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        y = __shfl_xor_sync(~0u, lane & 1 ? x[i] : x[i + 1], 1);
        x[i] = lane & 1 ? y : x[i];
        x[i + 1] = lane & 1 ? x[i + 1] : y;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        y = __shfl_xor_sync(~0u, lane & 2 ? x[i] : x[i + 2], 2);
        x[i] = lane & 2 ? y : x[i];
        x[i + 2] = lane & 2 ? x[i + 2] : y;
    }
}

/* Row r of the lane's two, times `scale`, to where the lane's first 16 bytes of it go. */
template <class T, int D>
static __device__ __forceinline__ void ws_store_row(T *to, bool here, int r, float scale,
                                                    const float (&x)[D / 8][4])
{
#pragma unroll
    for (int n = 0; n < D / 8; n += 4) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            words[i] = pack(x[n + i][2 * r] * scale, x[n + i][2 * r + 1] * scale, T());
        exchange_words(words);
        if (here)
            store_words(to + 8 * n, words);
    }
}

#endif
