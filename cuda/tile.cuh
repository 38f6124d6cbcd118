/*
 * Tiles of the CUDA-core rungs: 256 threads, 16 x 16, on tiles of 16 R rows and keys in f32.
 *
 * Thread (ty, tx) owns the scores of rows ty R .. ty R + R - 1 and keys tx, tx + 16, ..., and the
 * output of the same rows at columns 4 tx + 64 c .. + 3. So a row belongs to one half of a warp,
 * and what goes through shared memory within a row needs a warp's barrier, not the block's. Rows in
 * shared memory are DP + 4 floats apart: eight threads that read 16 bytes of eight neighbouring
 * rows then meet all 32 banks.
 */
#ifndef CUDA_TILE_CUH
#define CUDA_TILE_CUH

#include "cuda/visible.cuh"

enum { TILE_THREADS = 256 };

template <int DP, int R> struct tile {
    static constexpr int ROWS = 16 * R, LD = DP + 4, P_LD = ROWS + 4, WORDS = DP / 64;
    static constexpr int MATRIX_FLOATS = ROWS * LD, P_FLOATS = ROWS * P_LD, ROW_FLOATS = ROWS * 16;
};

static __device__ __forceinline__ int tile_x()
{
    return threadIdx.x % 16;
}

static __device__ __forceinline__ int tile_y()
{
    return threadIdx.x / 16;
}

/*
 * `rows` rows of `columns` elements into a tile of ROWS x DP, zeros around them. True if this
 * thread met a value that is not finite. The caller says when others may read.
 */
template <class T, int DP, int ROWS>
static __device__ __forceinline__ bool tile_load(float *to, const T *from, int64_t stride, int rows,
                                                 int columns, bool whole_words)
{
    bool finite = true;
    for (int at = threadIdx.x; at < ROWS * (DP / 4); at += TILE_THREADS) {
        int r = at / (DP / 4), c = at % (DP / 4) * 4;
        float x[4] = {0, 0, 0, 0};
        if (r < rows && c < columns) {
            const T *place = from + r * stride + c;
            if (whole_words) {
                four<T> word = load_past_l1(reinterpret_cast<const four<T> *>(place));
                for (int e = 0; e < 4; e++)
                    x[e] = widen(word.at[e]);
            } else {
                for (int e = 0; e < 4; e++)
                    if (c + e < columns)
                        x[e] = widen(load_past_l1(place + e));
            }
        }
        finite = finite && x[0] * 0 + x[1] * 0 + x[2] * 0 + x[3] * 0 == 0;
        *reinterpret_cast<float4 *>(to + r * (DP + 4) + c) = make_float4(x[0], x[1], x[2], x[3]);
    }
    return !finite;
}

/* s = Q K^T, the thread's own R x R; each sum over d runs in order. */
template <int DP, int R>
static __device__ __forceinline__ void tile_scores(const float *q, const float *k, int d,
                                                   float (&s)[R][R])
{
    using t = tile<DP, R>;
    for (int r = 0; r < R; r++)
        for (int c = 0; c < R; c++)
            s[r][c] = 0;
    q += tile_y() * R * t::LD;
    k += tile_x() * t::LD;
#pragma unroll 4
    for (int i = 0; i < d; i += 4) {
        float4 a[R], b[R];
        for (int r = 0; r < R; r++)
            a[r] = *reinterpret_cast<const float4 *>(q + r * t::LD + i);
        for (int c = 0; c < R; c++)
            b[c] = *reinterpret_cast<const float4 *>(k + 16 * c * t::LD + i);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < R; c++) {
                s[r][c] = fmaf(a[r].x, b[c].x, s[r][c]);
                s[r][c] = fmaf(a[r].y, b[c].y, s[r][c]);
                s[r][c] = fmaf(a[r].z, b[c].z, s[r][c]);
                s[r][c] = fmaf(a[r].w, b[c].w, s[r][c]);
            }
    }
}

/* Scale, then mask: hidden scores become -inf. */
template <int R>
static __device__ __forceinline__ void tile_mask(const gpu_head_problem &head, int row, int rows,
                                                 int key, float (&s)[R][R])
{
    bool whole = sees_all(head, row, rows, key, 16 * R);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < R; c++) {
            bool hidden =
                !whole && is_hidden(head, row + tile_y() * R + r, key + tile_x() + 16 * c);
            s[r][c] = hidden ? -INFINITY : s[r][c] * head.scale;
        }
}

/*
 * The largest value of each of the thread's rows (or the sum), over the 16 threads that share them.
 * `space` is ROWS x 16; a block's barrier must lie between two uses of it. NaN is passed over by
 * the maximum: it reaches its row through exp.
 */
template <int R, bool SUM>
static __device__ __forceinline__ void tile_rows_reduce(float *space, float (&x)[R])
{
    space += tile_y() * R * 16;
    for (int r = 0; r < R; r++)
        space[r * 16 + tile_x()] = x[r];
    __syncwarp(); /* the row's 16 threads have written */
    for (int r = 0; r < R; r++) {
        float all = SUM ? 0 : -INFINITY;
        for (int i = 0; i < 16; i += 4) {
            float4 word = *reinterpret_cast<const float4 *>(space + r * 16 + i);
            if (SUM)
                all = (((all + word.x) + word.y) + word.z) + word.w;
            else
                all = fmaxf(fmaxf(fmaxf(all, word.x), fmaxf(word.y, word.z)), word.w);
        }
        x[r] = all;
    }
}

/* A maximum to take differences against: before the first visible key m is -inf, and 0 stands in.
 * */
static __device__ __forceinline__ float finite_base(float m)
{
    return m == -INFINITY ? 0 : m;
}

/* exp(s - m), and -0 for what is hidden. */
static __device__ __forceinline__ float weight_of(float s, float base)
{
    return s == -INFINITY ? -0.0f : expf(s - base);
}

/* Weights to the tile P, from which the row's own threads read after a warp's barrier. */
template <int R>
static __device__ __forceinline__ void tile_keep_weights(float *p, const float (&s)[R][R])
{
    p += tile_y() * R * (16 * R + 4) + tile_x();
    for (int r = 0; r < R; r++)
        for (int c = 0; c < R; c++)
            p[r * (16 * R + 4) + 16 * c] = s[r][c];
}

/* o += P V. CAREFUL: V has values that are not finite, which hidden keys must not let through. */
template <int DP, int R, bool CAREFUL>
static __device__ __forceinline__ void tile_weigh(const float *p, const float *v,
                                                  float (&o)[R][DP / 16])
{
    using t = tile<DP, R>;
    p += tile_y() * R * t::P_LD;
    v += tile_x() * 4;
#pragma unroll 2
    for (int j = 0; j < t::ROWS; j += 4) {
        float w[R][4];
        for (int r = 0; r < R; r++)
            *reinterpret_cast<float4 *>(w[r]) =
                *reinterpret_cast<const float4 *>(p + r * t::P_LD + j);
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < t::WORDS; c++) {
                float4 x = *reinterpret_cast<const float4 *>(v + (j + i) * t::LD + 64 * c);
                for (int r = 0; r < R; r++) {
                    if (CAREFUL && is_skipped(w[r][i]))
                        continue;
                    o[r][4 * c] = fmaf(w[r][i], x.x, o[r][4 * c]);
                    o[r][4 * c + 1] = fmaf(w[r][i], x.y, o[r][4 * c + 1]);
                    o[r][4 * c + 2] = fmaf(w[r][i], x.z, o[r][4 * c + 2]);
                    o[r][4 * c + 3] = fmaf(w[r][i], x.w, o[r][4 * c + 3]);
                }
            }
    }
}

/* Where column number i of the thread's output lies. */
static __device__ __forceinline__ int tile_column(int i)
{
    return tile_x() * 4 + i / 4 * 64 + i % 4;
}

/* Row `to` of an output from the thread's accumulators, times `scale`; whole words where they fit.
 * */
template <class T, int N>
static __device__ __forceinline__ void tile_store_row(T *to, int columns, bool whole_words,
                                                      float scale, const float (&x)[N])
{
    for (int i = 0; i < N; i += 4) {
        const int column = tile_column(i);
        four<T> word;
        for (int e = 0; e < 4; e++)
            narrow(x[i + e] * scale, &word.at[e]);
        if (column < columns && whole_words)
            *reinterpret_cast<four<T> *>(to + column) = word;
        else
            for (int e = 0; e < 4; e++)
                if (column + e < columns)
                    to[column + e] = word.at[e];
    }
}

/* Batch and head of a block's head number, and where its tensors begin. */
struct tile_head {
    int batch, head;
    int64_t q, k, v, o, lse;
};

static __device__ __forceinline__ tile_head tile_head_of(const gpu_head_problem &p, int64_t number)
{
    tile_head at;
    at.batch = (int)(number / p.heads);
    at.head = (int)(number % p.heads);
    at.q = gpu_row_index(&p.q, at.batch, at.head, 0);
    at.k = gpu_row_index(&p.k, at.batch, at.head / p.group, 0);
    at.v = gpu_row_index(&p.v, at.batch, at.head / p.group, 0);
    at.o = gpu_row_index(&p.o, at.batch, at.head, 0);
    at.lse = gpu_row_index(&p.lse, at.batch, at.head, 0);
    return at;
}

#endif
