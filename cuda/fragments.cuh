/*
 * Fragments of the tensor-core rungs: how tiles lie in shared memory, what a lane names of them,
 * and the online softmax on accumulators.
 *
 * A warp's accumulator of 16 rows and 8 columns holds, in lane l, elements (l / 4, 2 (l % 4)), the
 * same at the next column, and both 8 rows below. Two accumulators side by side, packed to 16 bits,
 * are the left operand of a product over those 16 columns: P needs no shuffle on its way to P V.
 * A layout L says where an element lies in a tile of shared memory, in bytes: at(row, column), and
 * move(place, rows, columns), the place that many rows (a multiple of 8) and columns (of 8) on.
 */
#ifndef CUDA_FRAGMENTS_CUH
#define CUDA_FRAGMENTS_CUH

#include "cuda/tensor_cores.cuh"
#include "cuda/visible.cuh"

#define LOG2_E 1.4426950408889634f

static __device__ __forceinline__ int lane_of()
{
    return threadIdx.x % 32;
}

/*
 * What a lane names for a fragment at row 0, column 0: bytes from the tile's beginning. L::move
 * goes from there to another one. Q is a left operand, 16 x 16; of K, whose rows are the columns of
 * K^T, four matrices are the right operands for 16 keys and 16 columns of d; of V, transposed on
 * the way, those for 16 keys and 16 columns of O. The first two words belong to the first 8
 * columns.
 */
template <class L> static __device__ __forceinline__ uint32_t left_lane()
{
    return L::at(lane_of() % 16, lane_of() / 16 * 8);
}

template <class L> static __device__ __forceinline__ uint32_t keys_lane()
{
    return L::at(lane_of() % 8 + lane_of() / 16 * 8, lane_of() / 8 % 2 * 8);
}

template <class L> static __device__ __forceinline__ uint32_t values_lane()
{
    return L::at(lane_of() % 16, lane_of() / 16 * 8);
}

/* Rows side by side, without padding: 16-byte piece c of row r lies at place c xor (r mod 8), or,
 * where a row has four pieces, xor (r / 2 mod 4): eight rows at one column meet all 32 banks. */
template <int D> struct swizzled {
    static __device__ __forceinline__ uint32_t at(int row, int column)
    {
        return 2 * row * D + (column / 8 ^ (D < 64 ? row / 2 % 4 : row % 8)) * 16;
    }
    /* Tiles begin at multiples of a row, so pieces are found by one xor with the place itself. */
    static __device__ __forceinline__ uint32_t move(uint32_t place, int rows, int columns)
    {
        return (place ^ 2 * columns) + 2 * rows * D;
    }
};

/* ROWS rows of D elements set out; those past the last arrive as 0. A thread takes pieces of one
 * column, STEP rows apart, a power of two, so one address to each side and a step are enough. */
template <class T, int D, int ROWS, int THREADS>
static __device__ __forceinline__ void load_async(T *to, const T *from, int64_t stride, int rows)
{
    constexpr int STEP = THREADS / (D / 8);
    const int row = threadIdx.x / (D / 8), column = threadIdx.x % (D / 8) * 8;
    const uint32_t place = shared_address(to) + swizzled<D>::at(row, column);
    const T *next = from + row * stride + column;
#pragma unroll
    for (int i = 0; i < ROWS / STEP; i++, next += STEP * stride) {
        copy_async(swizzled<D>::move(place, i * STEP, i * STEP % 8 * 8), next,
                   row + i * STEP < rows);
    }
}

/* Causal mask and the last key: -inf for keys that a row of the warp's 16 from `row` on does not
 * see. */
template <int KEYS>
static __device__ __forceinline__ void hide_keys(const gpu_head_problem &p, int row, int key,
                                                 float (&s)[KEYS / 8][4])
{
    row += lane_of() / 4;
    key += 2 * (lane_of() % 4);
    const int end[2] = {least(p.nk, row + p.end) - key, least(p.nk, row + 8 + p.end) - key};
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++)
            if (8 * n + e % 2 >= end[e / 2])
                s[n][e] = -INFINITY;
}

/* Columns FIRST .. END - 1 of an accumulator as left operands of the next product. */
template <class T, int FIRST, int END, int TILES>
static __device__ __forceinline__ void pack_left(uint32_t (&a)[TILES / 2][4],
                                                 const float (&s)[TILES][4])
{
#pragma unroll
    for (int i = FIRST / 16; i < END / 16; i++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            a[i][e] = pack(s[2 * i + e / 2][e % 2 * 2], s[2 * i + e / 2][e % 2 * 2 + 1], T());
}

/* How scores become powers of two: 2^(s unit log2 e - m unit log2 e). A scale above 0 is folded
 * into the unit; another one is multiplied into the scores first, since it would turn the maximum
 * round. */
static __device__ __forceinline__ float score_unit(const gpu_head_problem &p)
{
    return p.scale > 0 ? p.scale : 1;
}

/*
 * A row's maximum m, of which `most` is a tile's share. base is what is taken off the tile's
 * exponents: m's own, rounded once. Sums over older tiles shrink by the difference of two rounded
 * ones, so by exactly 1 where m stays; a fused product would shrink them a little at each tile. A
 * difference with m = -inf is taken against 0, and an exponent past f32 counts as FLT_MAX.
 */
static __device__ __forceinline__ void raise_maximum(float most, float unit, float &m, float &base,
                                                     float &shrink)
{
    const float high = fmaxf(most, m);
    base = high == -INFINITY ? 0 : fminf(high * unit, FLT_MAX);
    shrink = power_of_two(__fmul_rn(m, unit) - base);
    m = high;
}

/* Past this exponents are rounded by more than a power of two: weights of a whole row may then be 0
 * in 16 bits. Such rows are repeated. */
#define FAR_EXPONENT 16777216.0f

static __device__ __forceinline__ bool is_far(const float (&m)[2], float unit)
{
    const float x = m[0] == -INFINITY ? 0 : m[0], y = m[1] == -INFINITY ? 0 : m[1];
    return fmaxf(fabsf(x), fabsf(y)) * unit > FAR_EXPONENT;
}

/*
 * Equation (6) of reference/README.md for the lane's two rows: s becomes weights relative to the
 * new m, l is the lane's own part of the sum, and o is rescaled. NaN is passed over by the maximum:
 * it reaches its row through the power.
 */
template <int KEYS, int D>
static __device__ __forceinline__ void absorb(float (&s)[KEYS / 8][4], float (&m)[2], float (&l)[2],
                                              float (&o)[D / 8][4], float unit)
{
    float shrink[2], base[2];
    for (int r = 0; r < 2; r++) {
        float most = fmaxf(s[0][2 * r], s[0][2 * r + 1]);
#pragma unroll
        for (int n = 1; n < KEYS / 8; n++)
            most = fmaxf(most, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        raise_maximum(most, unit, m[r], base[r], shrink[r]);
        l[r] *= shrink[r];
    }
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int e = 0; e < 4; e++) {
            s[n][e] = power_of_two(fmaf(s[n][e], unit, -base[e / 2]));
            l[e / 2] += s[n][e];
        }
#pragma unroll
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++)
            o[n][e] *= shrink[e / 2];
}

/* Row sums of the four lanes that share a row. */
static __device__ __forceinline__ void sum_rows(float (&l)[2])
{
    for (int r = 0; r < 2; r++) {
        l[r] += __shfl_xor_sync(~0u, l[r], 1);
        l[r] += __shfl_xor_sync(~0u, l[r], 2);
    }
}

/* Whether an accumulator holds a value that is not finite. */
template <int D> static __device__ __forceinline__ bool is_wild(const float (&o)[D / 8][4])
{
    float zero[4] = {0, 0, 0, 0};
#pragma unroll
    for (int n = 0; n < D / 8; n++)
        for (int e = 0; e < 4; e++)
            zero[e] += o[n][e] * 0;
    const float all = zero[0] + zero[1] + (zero[2] + zero[3]);
    return all != 0 || all != all;
}

/* O and LSE of the lane's two rows of the warp's 16 from `row` on; equation (9). */
template <class T, int D>
static __device__ __forceinline__ void store_rows(const gpu_head_problem &p, int64_t o_at,
                                                  int64_t lse_at, int row, const float (&m)[2],
                                                  const float (&l)[2], const float (&o)[D / 8][4])
{
    for (int r = 0; r < 2; r++) {
        const int own = row + lane_of() / 4 + 8 * r;
        if (own >= p.nq)
            continue;
        const float share = l[r] == 0 ? 0 : p.keep_scale / l[r]; /* 0: an empty row alone */
        T *to = (T *)p.o.data + o_at + own * p.o.stride[2] + 2 * (lane_of() % 4);
#pragma unroll
        for (int n = 0; n < D / 8; n++)
            *reinterpret_cast<uint32_t *>(to + 8 * n) =
                pack(o[n][2 * r] * share, o[n][2 * r + 1] * share, T());
        if (p.lse.data && lane_of() % 4 == 0)
            ((float *)p.lse.data)[lse_at + own * p.lse.stride[2]] =
                l[r] == 0 ? -INFINITY : m[r] * score_unit(p) + logf(l[r]);
    }
}

/*
 * A row once more, by a warp, without tiles: for rows whose O came out as not finite. Tensor cores
 * multiply hidden weights, which are 0, with V all the same, and 0 NaN is NaN; here a hidden key is
 * left out. Slow, and as rare as such inputs. EXTRAS as in mma.
 */
template <class T, int D, bool EXTRAS>
static __device__ __forceinline__ void repeat_row(const gpu_head_problem &p, int batch, int head,
                                                  int row)
{
    const key_span seen = seen_keys(p, row, 1);
    const T *q = (const T *)p.q.data + gpu_row_index(&p.q, batch, head, row) + lane_of();
    const T *k = (const T *)p.k.data + gpu_row_index(&p.k, batch, head / p.group, seen.first);
    const T *v = (const T *)p.v.data + gpu_row_index(&p.v, batch, head / p.group, seen.first);
    float m = -INFINITY, l = 0, o[D / 32] = {};
#pragma unroll 1
    for (int left = seen.end - seen.first; left > 0;
         left--, k += p.k.stride[2], v += p.v.stride[2]) {
        float s = 0;
        if (EXTRAS && is_hidden(p, row, seen.end - left))
            continue;
#pragma unroll 1
        for (int c = 0; c < D; c += 32)
            s = fmaf(widen(q[c]), widen(k[lane_of() + c]), s);
        for (int step = 16; step > 0; step /= 2)
            s += __shfl_xor_sync(~0u, s, step);
        s *= p.scale;
        if (s == -INFINITY)
            continue;
        const float high = fmaxf(m, s), base = high == -INFINITY ? 0 : high;
        const float shrink = expf(m - base), weight = expf(s - base);
        const bool dropped =
            EXTRAS && p.dropout && is_dropped(p, batch, head, row, seen.end - left);
        m = high;
        l = l * shrink + weight;
        for (int i = 0; i < D / 32; i++) {
            o[i] *= shrink;
            if (!dropped)
                o[i] = fmaf(weight, widen(v[lane_of() + 32 * i]), o[i]);
        }
    }
    T *to = (T *)p.o.data + gpu_row_index(&p.o, batch, head, row) + lane_of();
    for (int i = 0; i < D / 32; i++)
        narrow(l == 0 ? 0 : o[i] * (p.keep_scale / l), to + 32 * i);
    if (p.lse.data && lane_of() == 0)
        ((float *)p.lse.data)[gpu_row_index(&p.lse, batch, head, row)] =
            l == 0 ? -INFINITY : m + logf(l);
}

/* Those of rows row .. row + rows - 1 that exist. */
template <class T, int D>
static __device__ __noinline__ void repeat_rows(const gpu_head_problem *problem, int batch,
                                                int head, int row, int rows)
{
    for (int own = row; own < least(row + rows, problem->nq); own++)
        repeat_row<T, D, true>(*problem, batch, head, own);
}

#endif
