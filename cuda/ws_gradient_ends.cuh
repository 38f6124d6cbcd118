/*
 * Before and after the products of ws's backward pass: LSE and delta set out for the copy engine;
 * dQ from sums in the order of accumulators to its place, and what came out as not finite repeated.
 */
#ifndef CUDA_WS_GRADIENT_ENDS_CUH
#define CUDA_WS_GRADIENT_ENDS_CUH

#include "cuda/ws_gradient.cuh"

enum { WS_HELPERS = 256 }; /* threads of a block of these two kernels */

/* ---- before ---------------------------------------------------------------------------------- */

/* A thread owns 8 columns of a row. */
template <class T, int D, int ROWS>
__global__ void __launch_bounds__(WS_HELPERS)
    ws_stats_kernel(const __grid_constant__ ws_gradient_call call)
{
    constexpr int LANES = D / 8, BLOCK_ROWS = WS_HELPERS / LANES, BLOCKS = ROWS / BLOCK_ROWS;
    static_assert(ROWS % BLOCK_ROWS == 0, "a tile is a number of blocks");
    const gpu_head_problem &p = call.problem.head;
    const gpu_tensor &d_o = call.problem.d_o;
    const int tile = (int)(blockIdx.x / BLOCKS), head = tile / call.row_tiles;
    const int inner = (int)(blockIdx.x % BLOCKS) * BLOCK_ROWS + (int)threadIdx.x / LANES;
    const int row = tile % call.row_tiles * ROWS + inner, column = threadIdx.x % LANES * 8;
    launch_next();
    float lse = -INFINITY, delta = 0;
    if (row < p.nq) {
        const int batch = head / p.heads, own = head % p.heads;
        const eight<T> x = *reinterpret_cast<const eight<T> *>(
            (const T *)p.o.data + gpu_row_index(&p.o, batch, own, row) + column);
        const eight<T> y = *reinterpret_cast<const eight<T> *>(
            (const T *)d_o.data + gpu_row_index(&d_o, batch, own, row) + column);
        lse = ((const float *)p.lse.data)[gpu_row_index(&p.lse, batch, own, row)];
#pragma unroll
        for (int e = 0; e < 8; e++)
            delta = fmaf(widen(x.at[e]), widen(y.at[e]), delta);
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        delta += __shfl_xor_sync(~0u, delta, step);
    if (column == 0) {
        const int64_t at = (int64_t)tile * ROWS + inner;
        call.space.lse[at] = lse == -INFINITY ? INFINITY : exponent_of(lse);
        call.space.delta[at] = lse == -INFINITY ? 0 : delta;
    }
    const int64_t thread = (int64_t)blockIdx.x * WS_HELPERS + threadIdx.x;
    if (ws_counts_heads<D> && thread < p.all_kv_heads)
        call.space.done[thread] = 0;
    if (call.space.dq) {
        float4 *zeros = reinterpret_cast<float4 *>(call.space.dq) +
                        (int64_t)blockIdx.x * 2 * WS_HELPERS + threadIdx.x;
        zeros[0] = zeros[WS_HELPERS] = make_float4(0, 0, 0, 0);
    }
}

/* ---- after ----------------------------------------------------------------------------------- */

/* Of shared memory: the rows of a tile, whose next one begins four banks on. */
template <int D, int ROWS> static constexpr int ws_rows_bytes = 2 * ROWS * (D + 8);

/* A tile of dQ, from the order of the accumulators by way of shared memory to rows. */
template <class T, int D, int ROWS>
static __device__ __forceinline__ void ws_finish_queries(const ws_gradient_call &call, int tile,
                                                         T *rows)
{
    constexpr int PITCH = D + 8;
    const gpu_gradient_problem &g = call.problem;
    const int head = tile / call.row_tiles, batch = head / g.head.heads, own = head % g.head.heads;
    const int first = tile % call.row_tiles * ROWS;
    const float4 *from = reinterpret_cast<const float4 *>(call.space.dq + (int64_t)tile * ROWS * D);
    if (ws_counts_heads<D>) {
        if (threadIdx.x == 0)
            await_count(call.space.done + head / g.head.group, call.key_tiles * WS_KEY_WARPS);
        __syncthreads(); /* all wait for what was added */
    }
    bool wild = false;
#pragma unroll
    for (int i = 0; i < ROWS * D / 4 / WS_HELPERS; i++) {
        /* A thread of a consumer has four sums of each 8 queries by 64 of d. */
        const int x = i * WS_HELPERS + (int)threadIdx.x;
        const int thread = x % WARPGROUP, piece = x / WARPGROUP;
        const int row = piece % (ROWS / 8) * 8 + thread % 4 * 2;
        const int column = piece / (ROWS / 8) * HOPPER_COLUMNS + thread / 32 * 16 + thread % 32 / 4;
        const float4 sum = load_past_l1(from + x);
        T *to = rows + row * PITCH + column;
        narrow(sum.x * g.head.scale, to);
        narrow(sum.y * g.head.scale, to + PITCH);
        narrow(sum.z * g.head.scale, to + 8);
        narrow(sum.w * g.head.scale, to + PITCH + 8);
        wild |= !(sum.x * 0 + sum.y * 0 + sum.z * 0 + sum.w * 0 == 0);
    }
    wild = __syncthreads_or(wild); /* all wait for the rows */
#pragma unroll
    for (int i = 0; i < ROWS * D / 8 / WS_HELPERS; i++) {
        const int x = i * WS_HELPERS + (int)threadIdx.x;
        const int row = x / (D / 8), column = x % (D / 8) * 8;
        if (first + row < g.head.nq)
            *reinterpret_cast<uint4 *>((T *)g.dq.data +
                                       gpu_row_index(&g.dq, batch, own, first + row) + column) =
                *reinterpret_cast<const uint4 *>(rows + row * PITCH + column);
    }
    if (!wild)
        return;
    __syncthreads(); /* all have stored before some rows are written again */
    constexpr int SHARE = ROWS / (WS_HELPERS / 32);
    repeat_queries<T, D>(&g, batch, own, first + (int)threadIdx.x / 32 * SHARE, SHARE);
}

/*
 * The first `dq_tiles` blocks have a tile of dQ each, the others 256 marks. All blocks of the
 * products have started before the first of these does, so none waits for one that is not there;
 * these fill the multiprocessors that the last of those leave idle.
 */
template <class T, int D, int ROWS>
__global__ void __launch_bounds__(WS_HELPERS)
    ws_dq_kernel(const __grid_constant__ ws_gradient_call call, int dq_tiles)
{
    HOPPER_SHARED(ws_words);
    if ((int)blockIdx.x < dq_tiles) {
        ws_finish_queries<T, D, ROWS>(call, (int)blockIdx.x, reinterpret_cast<T *>(ws_words));
        return;
    }
    launch_wait(); /* for marks; and since these blocks wait, the kernel ends after the products */
    const gpu_head_problem &p = call.problem.head;
    const int head_marks = call.key_tiles * WS_KEY_WARPS;
    const int64_t marks = p.all_kv_heads * head_marks;
    const int64_t warp = ((int64_t)(blockIdx.x - dq_tiles) * WS_HELPERS + threadIdx.x) / 32 * 32;
    const bool wild = warp + lane_of() < marks && call.space.marks[warp + lane_of()];
    for (uint32_t left = __ballot_sync(~0u, wild); left; left &= left - 1) {
        const int64_t mark = warp + __ffs((int)left) - 1;
        const int head = (int)(mark / head_marks), key = (int)(mark % head_marks) * 16;
        for (int column = 0; column < D; column += HOPPER_COLUMNS)
            repeat_keys<T, D, HOPPER_COLUMNS>(&call.problem, head / p.kv_heads, head % p.kv_heads,
                                              key, 16, column);
    }
}

#endif
