/*
 * flash2 on the CPU, forward and backward: the counting memory against the plain one, and both
 * against what a user would write with a BLAS. Forward: S = sgemm(Q, K^T), softmax with expf,
 * O = sgemm(P, V). Backward, from the same inputs as flash2's: S again, P = expf(S - LSE), and four
 * products; and, for comparison, the same from a P that was kept, which needs N x N memory a head.
 *
 * A head's backward pass of flash2 is one chain of additions to dQ, so the pass is measured with a
 * head a thread: flash2 gives each thread a head, the peer each head all threads.
 */
#include "simulator/cli/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/profile.h"
#include "simulator/experiment.h"

#ifdef FLASHLAB_HAVE_OPENBLAS
#include <cblas.h>
#endif

enum { N = 4096, MOST_HEADS = 2, SRAM_BYTES = 1 << 20 };

/* Of each pass. K, V, dK and dV stay on chip while the queries pass: many keys, few passes. */
static const struct sim_tile_choice tile_choices[2] = {
    {SIM_TILES_GIVEN, 128, 64},
    {SIM_TILES_GIVEN, 96, 256},
};

/* Entries of one pass, the peer last. */
enum { ENTRIES = 3, PEER = 2 };

static const int64_t head_sizes[] = {64, 128};
static const char *const entry_names[2][ENTRIES] = {
    {"flash2 plain", "flash2 counted", "OpenBLAS"},
    {"flash2 counted", "OpenBLAS, P kept", "OpenBLAS"},
};

struct inputs {
    struct fa_problem problem;
    struct fa_tensor q, k, v, o, dout, dq, dk, dv;
    struct fa_tensor lse;
    struct fa_tensor s, dp; /* the peer's matrices: N x N of each head, and of one */
};

enum { SMALL = 8 };

static void list_small(struct inputs *in, struct fa_tensor *small[SMALL])
{
    struct fa_tensor *all[SMALL] = {&in->q,    &in->k,  &in->v,  &in->o,
                                    &in->dout, &in->dq, &in->dk, &in->dv};
    memcpy(small, all, sizeof all);
}

static void free_inputs(struct inputs *in)
{
    struct fa_tensor *small[SMALL];
    list_small(in, small);
    for (int t = 0; t < SMALL; t++)
        fa_tensor_free(small[t]);
    fa_tensor_free(&in->lse);
    fa_tensor_free(&in->s);
    fa_tensor_free(&in->dp);
}

static enum fa_status make_inputs(struct inputs *in, int64_t d, struct fa_error *error)
{
    const int64_t shape[4] = {1, MOST_HEADS, N, d}, rows[4] = {1, MOST_HEADS, N, 1};
    const int64_t scores[4] = {1, MOST_HEADS, N, N}, one_head[4] = {1, 1, N, N};
    struct fa_tensor *small[SMALL];
    enum fa_status status = FA_OK;
    memset(in, 0, sizeof *in);
    in->problem = fa_problem_make(N, N, d);
    in->problem.heads = in->problem.kv_heads = MOST_HEADS;
    list_small(in, small);
    for (int t = 0; t < SMALL && status == FA_OK; t++)
        status = fa_tensor_create(small[t], FA_F32, shape, error);
    if (status == FA_OK)
        status = fa_tensor_create(&in->lse, FA_F32, rows, error);
    if (status == FA_OK)
        status = fa_tensor_create(&in->s, FA_F32, scores, error);
    if (status == FA_OK)
        status = fa_tensor_create(&in->dp, FA_F32, one_head, error);
    if (status != FA_OK) {
        free_inputs(in);
        return status;
    }
    fa_profile_fill(FA_PROFILE_GAUSS, 2, &in->problem, &in->dout, &in->dq, &in->dk);
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &in->problem, &in->q, &in->k, &in->v);
    return FA_OK;
}

/* The same inputs, the first heads alone. */
static struct inputs first_heads(const struct inputs *in, int64_t heads)
{
    struct inputs part = *in;
    struct fa_tensor *small[SMALL];
    list_small(&part, small);
    part.problem.heads = part.problem.kv_heads = heads;
    for (int t = 0; t < SMALL; t++)
        small[t]->shape[1] = heads;
    part.lse.shape[1] = heads;
    return part;
}

static enum fa_status run_flash2(const struct inputs *in, enum sim_pass pass, enum sim_mode mode,
                                 int threads, double *seconds, struct fa_error *error)
{
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2,
        .pass = pass,
        .problem = in->problem,
        .tiles = tile_choices[pass == SIM_BACKWARD],
        .mode = mode,
        .threads = threads,
        .q = &in->q,
        .k = &in->k,
        .v = &in->v,
        .o = &in->o,
        .lse = &in->lse,
        .dout = &in->dout,
        .dq = &in->dq,
        .dk = &in->dk,
        .dv = &in->dv,
    };
    struct sim_result result;
    experiment.machine.sram_bytes = SRAM_BYTES;
    enum fa_status status = sim_experiment_run(&experiment, &result, error);
    *seconds = result.seconds;
    return status;
}

const char *bench_peer_name(void)
{
#ifdef FLASHLAB_HAVE_OPENBLAS
    return openblas_get_config();
#else
    return NULL;
#endif
}

#ifdef FLASHLAB_HAVE_OPENBLAS
/* As a user would write it; the rows share the threads that the products get. */
static void softmax_rows(float *s, int64_t n, int threads)
{
    (void)threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
    for (int64_t r = 0; r < n; r++) {
        float *row = s + r * n, most = row[0], sum = 0;
        for (int64_t c = 1; c < n; c++)
            most = row[c] > most ? row[c] : most;
        for (int64_t c = 0; c < n; c++) {
            row[c] = expf(row[c] - most);
            sum += row[c];
        }
        for (int64_t c = 0; c < n; c++)
            row[c] /= sum;
    }
}

static float *head_of(const struct fa_tensor *tensor, int64_t head)
{
    return (float *)tensor->data + head * tensor->stride[1];
}

static double peer_forward(const struct inputs *in, int threads)
{
    int d = (int)in->problem.d;
    double begin = bench_clock();
    openblas_set_num_threads(threads);
    for (int64_t head = 0; head < in->problem.heads; head++) {
        float *s = head_of(&in->s, head);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, d, (float)in->problem.scale,
                    head_of(&in->q, head), d, head_of(&in->k, head), d, 0, s, N);
        softmax_rows(s, N, threads);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, d, N, 1, s, N,
                    head_of(&in->v, head), d, 0, head_of(&in->o, head), d);
    }
    return bench_clock() - begin;
}

/* P = exp(S - LSE), in place. */
static void weights_rows(float *s, const float *lse, int64_t n, int threads)
{
    (void)threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++)
            s[r * n + c] = expf(s[r * n + c] - lse[r]);
}

/* dS = P (dP - rowsum(dO O)), in dP's place. */
static void ds_rows(const float *p, float *dp, const float *o, const float *dout, int64_t n,
                    int64_t d, int threads)
{
    (void)threads;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
    for (int64_t r = 0; r < n; r++) {
        float delta = 0;
        for (int64_t c = 0; c < d; c++)
            delta += o[r * d + c] * dout[r * d + c];
        for (int64_t c = 0; c < n; c++)
            dp[r * n + c] = p[r * n + c] * (dp[r * n + c] - delta);
    }
}

static void peer_backward_head(const struct inputs *in, int64_t head, bool kept, int threads)
{
    const float *q = head_of(&in->q, head), *k = head_of(&in->k, head);
    const float *v = head_of(&in->v, head), *dout = head_of(&in->dout, head);
    float *s = head_of(&in->s, head), *dp = in->dp.data;
    float scale = (float)in->problem.scale;
    int d = (int)in->problem.d;

    if (!kept) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, d, scale, q, d, k, d, 0, s, N);
        weights_rows(s, head_of(&in->lse, head), N, threads);
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, d, N, 1, s, N, dout, d, 0,
                head_of(&in->dv, head), d);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, d, 1, dout, d, v, d, 0, dp, N);
    ds_rows(s, dp, head_of(&in->o, head), dout, N, d, threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, d, N, scale, dp, N, k, d, 0,
                head_of(&in->dq, head), d);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, d, N, scale, dp, N, q, d, 0,
                head_of(&in->dk, head), d);
}

static double peer_backward(const struct inputs *in, bool kept, int threads)
{
    double begin = bench_clock();
    openblas_set_num_threads(threads);
    for (int64_t head = 0; head < in->problem.heads; head++)
        peer_backward_head(in, head, kept, threads);
    return bench_clock() - begin;
}
#else
static double peer_forward(const struct inputs *in, int threads)
{
    (void)in;
    (void)threads;
    return 0;
}

static double peer_backward(const struct inputs *in, bool kept, int threads)
{
    (void)in;
    (void)kept;
    (void)threads;
    return 0;
}
#endif

static int entries_of(bool backward)
{
    if (bench_peer_name())
        return ENTRIES;
    return backward ? 1 : 2;
}

double bench_attention_runs(const struct bench *bench)
{
    int entries = entries_of(false) + entries_of(true);
    return 2.0 * entries * (bench->rounds + 1) * (bench->threads > 1 ? 2 : 1);
}

static enum fa_status run_entry(const struct inputs *in, bool backward, int entry, int threads,
                                double *seconds, struct fa_error *error)
{
    if (backward && entry == 0)
        return run_flash2(in, SIM_BACKWARD, SIM_COUNTED, threads, seconds, error);
    if (!backward && entry < PEER)
        return run_flash2(in, SIM_FORWARD, entry == 0 ? SIM_PLAIN : SIM_COUNTED, threads, seconds,
                          error);
    *seconds = backward ? peer_backward(in, entry != PEER, threads) : peer_forward(in, threads);
    return FA_OK;
}

/* One setting: a round that is not counted, then the entries in turn. */
static enum fa_status measure(struct bench *bench, const struct inputs *in, bool backward,
                              int threads, struct fa_error *error)
{
    int entries = entries_of(backward);
    int heads = (int)in->problem.heads;
    double values[ENTRIES][BENCH_ROUNDS];
    char setting[64];

    for (int round = -1; round < bench->rounds; round++)
        for (int entry = 0; entry < entries; entry++) {
            double seconds;
            enum fa_status status = run_entry(in, backward, entry, threads, &seconds, error);
            if (status != FA_OK)
                return status;
            if (round >= 0)
                values[entry][round] = 1e3 * seconds;
            if (!bench_tick(bench))
                return fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
        }
    snprintf(setting, sizeof setting, "N %d, d %d, f32, %d head%s, %d thread%s", N,
             (int)in->problem.d, heads, heads > 1 ? "s" : "", threads, threads > 1 ? "s" : "");
    for (int entry = 0; entry < entries; entry++) {
        bool compared = entries == ENTRIES && entry != PEER;
        bench_add(bench, backward ? "backward" : "forward", entry_names[backward][entry], setting,
                  "ms", values[entry], compared ? entry_names[backward][PEER] : NULL,
                  compared ? values[PEER] : NULL);
    }
    return FA_OK;
}

/* Both passes of one head size. The backward pass finds O and LSE of all its heads. */
static enum fa_status measure_passes(struct bench *bench, const struct inputs *in,
                                     struct fa_error *error)
{
    enum fa_status status = FA_OK;
    int most = bench->threads < MOST_HEADS ? bench->threads : MOST_HEADS;
    double unused;
    for (int threads = 1; status == FA_OK && threads <= most; threads++) {
        struct inputs part = first_heads(in, 1);
        status = measure(bench, &part, false, threads, error);
    }
    if (status == FA_OK)
        status = run_flash2(in, SIM_FORWARD, SIM_PLAIN, most, &unused, error);
    for (int threads = 1; status == FA_OK && threads <= most; threads++) {
        struct inputs part = first_heads(in, threads);
        status = measure(bench, &part, true, threads, error);
    }
    return status;
}

enum fa_status bench_attention(struct bench *bench, struct fa_error *error)
{
    for (size_t h = 0; h < sizeof head_sizes / sizeof *head_sizes; h++) {
        struct inputs in;
        enum fa_status status = make_inputs(&in, head_sizes[h], error);
        if (status != FA_OK)
            return status;
        status = measure_passes(bench, &in, error);
        free_inputs(&in);
        if (status != FA_OK)
            return status;
    }
    return FA_OK;
}
