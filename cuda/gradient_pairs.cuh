/*
 * What the backward passes on tensor cores share: delta, and the slow way for gradients whose
 * products with hidden weights came out as not finite.
 */
#ifndef CUDA_GRADIENT_PAIRS_CUH
#define CUDA_GRADIENT_PAIRS_CUH

#include "cuda/fragments.cuh"

/* 16 bytes of a row in 16 bits. */
template <class T> struct alignas(16) eight {
    T at[8];
};

/* LSE as an exponent. One that is_far is NaN here, so that what comes of it is repeated. */
static __device__ __forceinline__ float exponent_of(float lse)
{
    const float x = lse * LOG2_E;
    return fabsf(x) > FAR_EXPONENT ? NAN : x;
}

/* delta of one row, rowsum(dO o O), by a warp; the rows begin at multiples of 16 bytes. */
template <class T>
static __device__ __forceinline__ float delta_of(const T *o, const T *d_o, int dv)
{
    float sum = 0;
    for (int c = 8 * lane_of(); c < dv; c += 256) {
        const eight<T> x = *reinterpret_cast<const eight<T> *>(o + c);
        const eight<T> y = *reinterpret_cast<const eight<T> *>(d_o + c);
        for (int e = 0; e < 8; e++)
            sum = fmaf(widen(x.at[e]), widen(y.at[e]), sum);
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

template <int D, class T>
static __device__ __forceinline__ float dot_of_rows(const T *x, const T *y)
{
    float sum = 0;
    for (int c = lane_of(); c < D; c += 32)
        sum = fmaf(widen(x[c]), widen(y[c]), sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

/* One query and one key that it sees, as the slow way takes them. */
template <class T> struct seen_pair {
    const T *q, *k, *v, *d_o; /* rows */
    float weight;             /* of V, with dropout: equation (11) */
    float ds;                 /* equation (13) */
};

/* False where the key is hidden. `delta` is the row's. */
template <class T, int D>
static __device__ __forceinline__ bool pair_of(const gpu_gradient_problem &g, int batch, int head,
                                               int row, int key, float delta, seen_pair<T> *pair)
{
    const gpu_head_problem &p = g.head;
    if (is_hidden(p, row, key))
        return false;
    pair->q = (const T *)p.q.data + gpu_row_index(&p.q, batch, head, row);
    pair->k = (const T *)p.k.data + gpu_row_index(&p.k, batch, head / p.group, key);
    pair->v = (const T *)p.v.data + gpu_row_index(&p.v, batch, head / p.group, key);
    pair->d_o = (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, row);
    const float lse = ((const float *)p.lse.data)[gpu_row_index(&p.lse, batch, head, row)];
    const float s = dot_of_rows<D>(pair->q, pair->k) * p.scale;
    const float weight = expf(s - (lse == -INFINITY ? 0 : lse));
    if (s == -INFINITY)
        return false;
    const bool dropped = p.dropout && is_dropped(p, batch, head, row, key);
    const float dp = dropped ? 0 : dot_of_rows<D>(pair->d_o, pair->v) * p.keep_scale;
    pair->weight = dropped ? -0.0f : weight * p.keep_scale;
    pair->ds = weight * (dp - delta);
    return true;
}

/* dQ of rows row .. row + rows - 1 by a warp; hidden keys are left out, whatever they hold. */
template <class T, int D>
static __device__ __noinline__ void repeat_queries(const gpu_gradient_problem *problem, int batch,
                                                   int head, int row, int rows)
{
    const gpu_gradient_problem &g = *problem;
    for (int own = row; own < least(row + rows, g.head.nq); own++) {
        const float delta =
            delta_of((const T *)g.head.o.data + gpu_row_index(&g.head.o, batch, head, own),
                     (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, own), D);
        float dq[D / 32] = {};
        const key_span seen = seen_keys(g.head, own, 1);
        for (int key = seen.first; key < seen.end; key++) {
            seen_pair<T> pair;
            if (!pair_of<T, D>(g, batch, head, own, key, delta, &pair))
                continue;
            for (int i = 0; i < D / 32; i++)
                dq[i] = fmaf(pair.ds, widen(pair.k[lane_of() + 32 * i]), dq[i]);
        }
        T *to = (T *)g.dq.data + gpu_row_index(&g.dq, batch, head, own);
        for (int i = 0; i < D / 32; i++)
            narrow(dq[i] * g.head.scale, to + lane_of() + 32 * i);
    }
}

/* dK and dV of keys key .. key + keys - 1 by a warp, over all heads of the group; OUT of their
 * columns, from `column` on. */
template <class T, int D, int OUT>
static __device__ __noinline__ void repeat_keys(const gpu_gradient_problem *problem, int batch,
                                                int kv_head, int key, int keys, int column)
{
    const gpu_gradient_problem &g = *problem;
    const gpu_head_problem &p = g.head;
    column += lane_of();
    for (int own = key; own < least(key + keys, p.nk); own++) {
        float dk[OUT / 32] = {}, dv[OUT / 32] = {};
        for (int head = kv_head * p.group; head < (kv_head + 1) * p.group; head++)
            for (int row = 0; row < p.nq; row++) {
                seen_pair<T> pair;
                if (is_hidden(p, row, own))
                    continue;
                const float delta =
                    delta_of((const T *)p.o.data + gpu_row_index(&p.o, batch, head, row),
                             (const T *)g.d_o.data + gpu_row_index(&g.d_o, batch, head, row), D);
                if (!pair_of<T, D>(g, batch, head, row, own, delta, &pair))
                    continue;
                for (int i = 0; i < OUT / 32; i++) {
                    dk[i] = fmaf(pair.ds, widen(pair.q[column + 32 * i]), dk[i]);
                    if (!is_skipped(pair.weight))
                        dv[i] = fmaf(pair.weight, widen(pair.d_o[column + 32 * i]), dv[i]);
                }
            }
        T *to_k = (T *)g.dk.data + gpu_row_index(&g.dk, batch, kv_head, own) + column;
        T *to_v = (T *)g.dv.data + gpu_row_index(&g.dv, batch, kv_head, own) + column;
        for (int i = 0; i < OUT / 32; i++) {
            narrow(dk[i] * p.scale, to_k + 32 * i);
            narrow(dv[i], to_v + 32 * i);
        }
    }
}

#endif
