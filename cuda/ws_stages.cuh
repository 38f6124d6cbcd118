/*
 * The stages of a consumer warpgroup of ws: waiting and releasing, products on their way, the
 * online softmax in pieces that can run under them, and the last stage, O and LSE.
 *
 * s, o, m and l are one warp's 16 rows, as in fragments.cuh.
 */
#ifndef CUDA_WS_STAGES_CUH
#define CUDA_WS_STAGES_CUH

#include "cuda/ws_block.cuh"

/* What a consumer warp knows of itself while it works. */
struct ws_consumer {
    uint32_t shared;
    int number; /* of its warpgroup among the consumers */
    uint64_t q, k, v;
    ws_turn k_turn, v_turn, slot;
    uint32_t q_parity;
};

template <class S> static __device__ __forceinline__ void ws_wait_k(const ws_consumer &own)
{
    barrier_wait(own.shared + S::K_FULL + 8 * own.k_turn.at, own.k_turn.parity); /* copy engine */
}

template <class S> static __device__ __forceinline__ void ws_wait_v(const ws_consumer &own)
{
    barrier_wait(own.shared + S::V_FULL + 8 * own.v_turn.at, own.v_turn.parity); /* copy engine */
}

/* After the last product that reads it: the next tile's is fetched under the rest of this one. */
template <class S> static __device__ __forceinline__ void ws_release_q(const ws_consumer &own)
{
    ws_release(own.shared + S::Q_EMPTY + 8 * own.number);
}

template <class S> static __device__ __forceinline__ void ws_release_k(ws_consumer &own)
{
    ws_release(own.shared + S::K_EMPTY + 8 * own.k_turn.at);
    own.k_turn.step<S::K_STAGES>();
}

template <class S> static __device__ __forceinline__ void ws_release_v(ws_consumer &own)
{
    ws_release(own.shared + S::V_EMPTY + 8 * own.v_turn.at);
    own.v_turn.step<S::V_STAGES>();
}

/* Ping-pong: consumers issue their products in turn, round and round. */
template <class S> static __device__ __forceinline__ void ws_turn_wait(const ws_consumer &own)
{
    if (S::PING_PONG)
        turn_wait(1 + own.number, 2 * WARPGROUP); /* for the consumer before */
}

template <class S> static __device__ __forceinline__ void ws_turn_give(const ws_consumer &own)
{
    if (S::PING_PONG)
        turn_give(1 + (own.number + 1 == S::CONSUMERS ? 0 : own.number + 1), 2 * WARPGROUP);
}

/* S of one tile is on its way. */
template <class S>
static __device__ __forceinline__ void ws_scores(const ws_consumer &own, float (&s)[S::KEYS / 8][4])
{
    multiply_scores<typename S::T, S::KEYS, S::D>(
        s, own.q, operand_move(own.k, own.k_turn.at * S::TILE_BYTES));
}

/* O += P V over part of the tile is on its way. */
template <class S, int FIRST, int END>
static __device__ __forceinline__ void ws_values(const ws_consumer &own, float (&o)[S::D / 8][4],
                                                 const uint32_t (&weights)[S::KEYS / 16][4])
{
    multiply_values<typename S::T, FIRST, END, S::D>(
        o, weights, operand_move(own.v, own.v_turn.at * S::TILE_BYTES));
}

/* Masks tiles that one of the warpgroup's 64 rows from `row` on sees in part. */
template <class S>
static __device__ __forceinline__ void ws_mask(const gpu_head_problem &p, int row, int key,
                                               float (&s)[S::KEYS / 8][4])
{
    if (key + S::KEYS > least(p.nk, row + p.end))
        hide_keys<S::KEYS>(p, row + threadIdx.x % WARPGROUP / 32 * 16, key, s);
}

/* The new maxima m, what is taken off exponents, and by what older sums shrink: absorb's first
 * half. */
template <int KEYS>
static __device__ __forceinline__ void ws_maximum(const float (&s)[KEYS / 8][4], float (&m)[2],
                                                  float (&base)[2], float (&shrink)[2], float unit)
{
    float high[4] = {s[0][0], s[0][1], s[0][2], s[0][3]};
#pragma unroll
    for (int n = 1; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            high[e] = fmaxf(high[e], s[n][e]);
    for (int r = 0; r < 2; r++) {
        float most = fmaxf(high[2 * r], high[2 * r + 1]);
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        raise_maximum(most, unit, m[r], base[r], shrink[r]);
    }
}

/* Scores FIRST .. END - 1 become weights, and join the lane's part of the sums. */
template <int FIRST, int END, int TILES>
static __device__ __forceinline__ void ws_exponentials(float (&s)[TILES][4], const float (&base)[2],
                                                       float (&l)[2], float unit)
{
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int n = FIRST / 8; n < END / 8; n++)
        for (int e = 0; e < 4; e++) {
            s[n][e] = power_of_two(fmaf(s[n][e], unit, -base[e / 2]));
            sum[e] += s[n][e];
        }
    l[0] += sum[0] + sum[1];
    l[1] += sum[2] + sum[3];
}

/*
 * Keeps the exponentials before what follows. The assembler moves a wait for products up past
 * arithmetic, and then nothing runs under them; it does not move it past a store, so here is one
 * that depends on all of the sum and never happens, since a sum is not below 0.
 */
static __device__ __forceinline__ void ws_hold(const float (&l)[2], uint32_t nowhere)
{
    negative_write(nowhere, l[0] + l[1]);
}

template <int TILES>
static __device__ __forceinline__ void ws_shrink(float (&o)[TILES][4], const float (&shrink)[2])
{
#pragma unroll
    for (int n = 0; n < TILES; n++)
        for (int e = 0; e < 4; e++)
            o[n][e] *= shrink[e / 2];
}

/* O and LSE. */
template <class T, int D>
static __device__ __forceinline__ void ws_store(const gpu_head_problem &p, const ws_tile &tile,
                                                int row, const float (&m)[2], const float (&l)[2],
                                                const float (&o)[D / 8][4])
{
    const int lane = lane_of() % 4;
    row += lane_of() / 4;
    T *to = (T *)p.o.data + gpu_row_index(&p.o, tile.batch, tile.head, row) + 8 * lane;
    float *lse = (float *)p.lse.data;
    if (lse)
        lse += gpu_row_index(&p.lse, tile.batch, tile.head, row);
    for (int r = 0; r < 2; r++) {
        /* 0: an empty row alone. A branch here would split the stores of 16 bytes. */
        const float share = l[r] == 0 ? 0 : reciprocal(l[r]);
        const bool here = row + 8 * r < p.nq;
        ws_store_row<T, D>(to, here, r, share, o);
        if (lse && lane == 0 && here)
            lse[8 * r * p.lse.stride[2]] = l[r] == 0 ? -INFINITY : m[r] * p.scale + __logf(l[r]);
        to += 8 * p.o.stride[2];
    }
}

#endif
