/*
 * flash2 on the CPU: the counting memory against the plain one, and both against what a user would
 * write with a BLAS: S = sgemm(Q, K^T), softmax with expf, O = sgemm(P, V).
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

enum { N = 4096, TILE_ROWS = 128, TILE_COLUMNS = 64, ENTRIES = 3, PEER = 2 };

static const int64_t head_sizes[] = {64, 128};
static const char *const entry_names[ENTRIES] = {"flash2 plain", "flash2 counted", "OpenBLAS"};

struct inputs {
    struct fa_problem problem;
    struct fa_tensor q, k, v, o;
    struct fa_tensor s; /* the peer's N x N scores */
};

static void free_inputs(struct inputs *in)
{
    fa_tensor_free(&in->q);
    fa_tensor_free(&in->k);
    fa_tensor_free(&in->v);
    fa_tensor_free(&in->o);
    fa_tensor_free(&in->s);
}

static enum fa_status make_inputs(struct inputs *in, int64_t d, struct fa_error *error)
{
    const int64_t shape[4] = {1, 1, N, d}, scores[4] = {1, 1, N, N};
    enum fa_status status;
    memset(in, 0, sizeof *in);
    in->problem = fa_problem_make(N, N, d);
    struct fa_tensor *small[] = {&in->q, &in->k, &in->v, &in->o};
    for (size_t t = 0; t < sizeof small / sizeof *small; t++) {
        status = fa_tensor_create(small[t], FA_F32, shape, error);
        if (status != FA_OK)
            goto done;
    }
    status = fa_tensor_create(&in->s, FA_F32, scores, error);
    if (status != FA_OK)
        goto done;
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &in->problem, &in->q, &in->k, &in->v);
done:
    if (status != FA_OK)
        free_inputs(in);
    return status;
}

static enum fa_status run_flash2(const struct inputs *in, enum sim_mode mode, int threads,
                                 double *seconds, struct fa_error *error)
{
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2,
        .problem = in->problem,
        .tiles = {SIM_TILES_GIVEN, TILE_ROWS, TILE_COLUMNS},
        .mode = mode,
        .threads = threads,
        .q = &in->q,
        .k = &in->k,
        .v = &in->v,
        .o = &in->o,
    };
    struct sim_result result;
    experiment.machine.sram_bytes = 1 << 20;
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

static double run_peer(const struct inputs *in, int threads)
{
    int d = (int)in->problem.d;
    double begin = bench_clock();
    openblas_set_num_threads(threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, d, (float)in->problem.scale,
                in->q.data, d, in->k.data, d, 0, in->s.data, N);
    softmax_rows(in->s.data, N, threads);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, d, N, 1, in->s.data, N, in->v.data,
                d, 0, in->o.data, d);
    return bench_clock() - begin;
}
#else
static double run_peer(const struct inputs *in, int threads)
{
    (void)in;
    (void)threads;
    return 0;
}
#endif

double bench_attention_runs(const struct bench *bench)
{
    int entries = bench_peer_name() ? ENTRIES : ENTRIES - 1;
    return 2.0 * entries * (bench->rounds + 1) * (bench->threads > 1 ? 2 : 1);
}

/* One setting: a round that is not counted, then the entries in turn. */
static enum fa_status measure(struct bench *bench, const struct inputs *in, int threads,
                              struct fa_error *error)
{
    static const enum sim_mode modes[] = {SIM_PLAIN, SIM_COUNTED};
    int entries = bench_peer_name() ? ENTRIES : ENTRIES - 1;
    double values[ENTRIES][BENCH_ROUNDS];
    char setting[64];

    for (int round = -1; round < bench->rounds; round++)
        for (int entry = 0; entry < entries; entry++) {
            double seconds;
            enum fa_status status = FA_OK;
            if (entry == PEER)
                seconds = run_peer(in, threads);
            else
                status = run_flash2(in, modes[entry], threads, &seconds, error);
            if (status != FA_OK)
                return status;
            if (round >= 0)
                values[entry][round] = 1e3 * seconds;
            if (!bench_tick(bench))
                return fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
        }
    snprintf(setting, sizeof setting, "N %d, d %d, f32, %d thread%s", N, (int)in->problem.d,
             threads, threads > 1 ? "s" : "");
    for (int entry = 0; entry < entries; entry++) {
        bool compared = entries == ENTRIES && entry != PEER;
        bench_add(bench, "attention", entry_names[entry], setting, "ms", values[entry],
                  compared ? entry_names[PEER] : NULL, compared ? values[PEER] : NULL);
    }
    return FA_OK;
}

enum fa_status bench_attention(struct bench *bench, struct fa_error *error)
{
    for (size_t h = 0; h < sizeof head_sizes / sizeof *head_sizes; h++) {
        struct inputs in;
        enum fa_status status = make_inputs(&in, head_sizes[h], error);
        if (status != FA_OK)
            return status;
        for (int threads = 1; status == FA_OK && threads <= 2 && threads <= bench->threads;
             threads++)
            status = measure(bench, &in, threads, error);
        free_inputs(&in);
        if (status != FA_OK)
            return status;
    }
    return FA_OK;
}
