/*
 * Before a kernel's time is believed: is its result right, at the very sizes that are timed?
 *
 * A band of query rows r0 .. r0 + 15 of one head, with the keys that they can see, is a problem of
 * its own: all keys, or under a causal mask keys 0 .. r0 + 15, the diagonal at the bottom right.
 * So a few bands are checked against the oracle in double without the whole of it. dK and dV need
 * all queries: those are checked in full, at a small length.
 */
#include "simulator/cli/bench_gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/check_gradients.h"

enum { BAND = 16, BANDS = 3, HEADS = 3, SMALL = 300, UNWRITTEN = 0xff };

/* Rows of one head, copied from the device. */
static enum fa_status fetch(const struct gpu_tensor *from, enum fa_dtype dtype, int64_t heads,
                            int64_t head, int64_t first, int64_t rows, int64_t columns,
                            struct fa_tensor *to, struct fa_error *error)
{
    const int64_t shape[4] = {1, 1, rows, columns};
    const size_t size = fa_dtype_bytes(dtype);
    int64_t at = gpu_row_index(from, head / heads, head % heads, first);
    enum fa_status status = fa_tensor_create(to, dtype, shape, error);
    if (status == FA_OK)
        status = gpu_memory_download(to->data, (char *)from->data + at * (int64_t)size,
                                     (size_t)(rows * columns) * size, error);
    return status;
}

static int thread_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 64 ? 64 : (int)n;
}

/* What this comparison adds: the worst tensor is the one whose error is the largest share of its
 * budget. */
static void note(struct bench_gpu_entry *entry, const char *what, const char *where,
                 const struct fa_comparison *found, double budget,
                 const struct sim_check_part *part)
{
    bool here = fa_comparison_within(found, budget), wrong = !here || part->wrong > 0;
    double share = budget > 0 ? found->max_abs_error / budget : found->max_abs_error;
    double before = entry->budget > 0 ? entry->error / entry->budget : -1;
    if (wrong && !entry->wrong)
        snprintf(entry->refused, sizeof entry->refused,
                 "wrong, and so not timed: %s differs from the oracle by %.3g %s, and may by %.3g",
                 what, here ? part->error : found->max_abs_error, where,
                 here ? part->budget : budget);
    if (share > before || wrong) {
        entry->error = found->max_abs_error;
        entry->budget = budget;
    }
    entry->wrong = entry->wrong || wrong;
}

/* flash1 rounds O to the dtype once for each tile of keys. */
static double error_factor(const struct gpu_rung *rung, const struct fa_problem *p)
{
    struct gpu_tiles tiles;
    if (strcmp(rung->name, "flash1") != 0 || fa_dtype_bytes(p->dtype) > 2)
        return 1;
    rung->tiles(p, false, false, &tiles);
    return sqrt(ceil((double)p->nk / (double)tiles.bc));
}

struct band {
    struct fa_problem problem;
    struct fa_tensor q, k, v, out, more; /* o and lse, or dq and dO */
};

static void free_band(struct band *band)
{
    fa_tensor_free(&band->q);
    fa_tensor_free(&band->k);
    fa_tensor_free(&band->v);
    fa_tensor_free(&band->out);
    fa_tensor_free(&band->more);
}

static enum fa_status fetch_band(const struct bench_gpu_entry *entry, bool backward, int64_t head,
                                 int64_t first, const struct gpu_forward *f,
                                 const struct gpu_backward *b, struct band *band,
                                 struct fa_error *error)
{
    const struct fa_problem *p = &entry->length->problem;
    const int64_t rows = p->nq < BAND ? p->nq : BAND;
    const int64_t keys = p->causal ? first + rows : p->nk;
    memset(band, 0, sizeof *band);
    band->problem = fa_problem_make(rows, keys, p->d);
    band->problem.dtype = p->dtype;
    band->problem.causal = p->causal;
    enum fa_status status =
        fetch(&f->q, p->dtype, p->heads, head, first, rows, p->d, &band->q, error);
    if (status == FA_OK)
        status = fetch(&f->k, p->dtype, p->heads, head, 0, keys, p->d, &band->k, error);
    if (status == FA_OK)
        status = fetch(&f->v, p->dtype, p->heads, head, 0, keys, p->d, &band->v, error);
    if (status == FA_OK)
        status = fetch(backward ? &b->dq : &f->o, p->dtype, p->heads, head, first, rows, p->d,
                       &band->out, error);
    if (status == FA_OK && backward)
        status = fetch(&b->d_o, p->dtype, p->heads, head, first, rows, p->d, &band->more, error);
    else if (status == FA_OK)
        status = fetch(&f->lse, FA_F32, p->heads, head, first, rows, 1, &band->more, error);
    return status;
}

static enum fa_status check_band(struct bench_gpu_entry *entry, bool backward, int64_t head,
                                 int64_t first, const struct gpu_forward *f,
                                 const struct gpu_backward *b, struct fa_error *error)
{
    struct band band;
    char where[64];
    double factor = error_factor(entry->rung, &entry->length->problem);
    enum fa_status status = fetch_band(entry, backward, head, first, f, b, &band, error);
    snprintf(where, sizeof where, "in head %" PRId64 ", rows from %" PRId64, head, first);
    if (status == FA_OK && backward) {
        struct sim_check_gradients check;
        status = sim_check_backward(&band.problem, &band.q, &band.k, &band.v, &band.more, &band.out,
                                    NULL, NULL, SIM_CHECK_FULL, 1, 1, thread_count(), NULL, &check,
                                    error);
        if (status == FA_OK)
            note(entry, "dQ", where, &check.dq, check.dq_budget, &check.dq_part);
    } else if (status == FA_OK) {
        struct sim_check check;
        status = sim_check_forward(&band.problem, &band.q, &band.k, &band.v, &band.out, &band.more,
                                   SIM_CHECK_FULL, factor, thread_count(), NULL, &check, error);
        if (status == FA_OK)
            note(entry, "O", where, &check.o, check.o_budget, &check.o_part);
        if (status == FA_OK)
            note(entry, "LSE", where, &check.lse, check.lse_budget, &check.lse_part);
    }
    free_band(&band);
    return status;
}

/* The first, a middle and the last rows of the first, a middle and the last head. */
static enum fa_status check_bands(struct bench_gpu_entry *entry, bool backward,
                                  const struct gpu_forward *f, const struct gpu_backward *b,
                                  struct fa_error *error)
{
    const struct fa_problem *p = &entry->length->problem;
    const int64_t last_head = p->batch * p->heads - 1;
    const int64_t last_row = p->nq > BAND ? p->nq - BAND : 0;
    enum fa_status status = FA_OK;
    for (int h = 0; h < HEADS; h++) {
        int64_t head = h * last_head / (HEADS - 1);
        if (h > 0 && head == (h - 1) * last_head / (HEADS - 1))
            continue;
        for (int i = 0; i < BANDS && status == FA_OK; i++) {
            int64_t row = i * last_row / (BANDS - 1);
            if (i == 0 || row != (i - 1) * last_row / (BANDS - 1))
                status = check_band(entry, backward, head, row, f, b, error);
        }
    }
    return status;
}

/* ---- gradients in full, at a small length ---------------------------------------------------- */

/* Compares the three gradients of both heads with the oracle's. */
static enum fa_status check_small(struct bench_gpu_entry *entry, const struct fa_problem *p,
                                  const struct gpu_backward *b, struct fa_error *error)
{
    const struct gpu_tensor *from[7] = {&b->q, &b->k, &b->v, &b->d_o, &b->dq, &b->dk, &b->dv};
    struct fa_problem head_problem = *p;
    enum fa_status status = FA_OK;
    head_problem.heads = head_problem.kv_heads = 1;
    for (int64_t head = 0; head < p->heads && status == FA_OK; head++) {
        struct fa_tensor t[7] = {{0}};
        struct sim_check_gradients check;
        for (int i = 0; i < 7 && status == FA_OK; i++)
            status = fetch(from[i], p->dtype, p->heads, head, 0, p->nq, p->d, &t[i], error);
        if (status == FA_OK)
            status =
                sim_check_backward(&head_problem, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                                   SIM_CHECK_FULL, 1, 1, thread_count(), NULL, &check, error);
        if (status == FA_OK) {
            note(entry, "dQ", "at a small length", &check.dq, check.dq_budget, &check.dq_part);
            note(entry, "dK", "at a small length", &check.dk, check.dk_budget, &check.dk_part);
            note(entry, "dV", "at a small length", &check.dv, check.dv_budget, &check.dv_part);
        }
        for (int i = 0; i < 7; i++)
            fa_tensor_free(&t[i]);
    }
    return status;
}

/* Two heads from the beginning of the inputs: at most as many numbers as the entry itself has. */
static enum fa_status verify_small(struct bench_gpu *bench, struct bench_gpu_entry *entry,
                                   struct fa_error *error)
{
    struct bench_gpu_length small = *entry->length;
    struct fa_problem *p = &small.problem;
    struct gpu_options options = {.workspace = bench->workspace};
    struct gpu_forward forward;
    struct gpu_backward backward;
    int64_t bytes = 0;
    p->heads = p->kv_heads = p->heads < 2 ? p->heads : 2;
    p->batch = 1;
    p->nq = p->nk = p->nq < SMALL ? p->nq : SMALL;
    bench_gpu_tensors(bench, &small, 0, &forward, &backward);
    const size_t size = fa_dtype_bytes(p->dtype);
    enum fa_status status = entry->rung->workspace_bytes(p, true, &bytes, error);
    if (status == FA_OK && bytes > bench->workspace_bytes)
        status = fa_fail(error, FA_NO_MEMORY, "a small backward pass has a larger workspace");
    if (status == FA_OK)
        status = gpu_memory_fill(bench->gradients, UNWRITTEN,
                                 (size_t)(3 * p->heads * p->nq * p->d) * size, error);
    if (status == FA_OK)
        status = entry->rung->forward(p, &forward, &options, error);
    if (status == FA_OK)
        status = entry->rung->backward(p, &backward, &options, error);
    if (status == FA_OK)
        status = gpu_wait(error);
    return status == FA_OK ? check_small(entry, p, &backward, error) : status;
}

/* ---- one entry ------------------------------------------------------------------------------- */

static bool is_refusal(enum fa_status status)
{
    return status == FA_UNSUPPORTED || status == FA_DOES_NOT_FIT || status == FA_MISSING_PART ||
           status == FA_TOO_LARGE;
}

enum fa_status bench_gpu_verify(struct bench_gpu *bench, struct bench_gpu_entry *entry,
                                struct fa_error *error)
{
    const struct fa_problem *p = &entry->length->problem;
    const size_t bytes = (size_t)(p->batch * p->heads * p->nq * p->d) * fa_dtype_bytes(p->dtype);
    const bool backward = bench->options->backward;
    struct gpu_options options = {.workspace = bench->workspace};
    struct gpu_forward f;
    struct gpu_backward b;
    struct fa_error said = {FA_OK, ""};
    bench_gpu_tensors(bench, entry->length, 0, &f, &b);
    enum fa_status status = gpu_memory_fill(f.o.data, UNWRITTEN, bytes, error);
    if (status == FA_OK)
        status = gpu_memory_fill(f.lse.data, UNWRITTEN,
                                 bytes / fa_dtype_bytes(p->dtype) / (size_t)p->d * 4, error);
    if (status == FA_OK && backward)
        status = gpu_memory_fill(bench->gradients, UNWRITTEN, 3 * bytes, error);
    if (status != FA_OK)
        return status;
    status = entry->rung->forward(p, &f, &options, &said);
    if (status == FA_OK && backward)
        status = entry->rung->backward(p, &b, &options, &said);
    if (is_refusal(status)) {
        snprintf(entry->refused, sizeof entry->refused, "%.250s", said.text);
        return FA_OK;
    }
    if (status != FA_OK)
        return fa_fail(error, status, "%s: %s", entry->rung->name, said.text);
    status = gpu_wait(error);
    if (status == FA_OK)
        status = check_bands(entry, backward, &f, &b, error);
    if (status == FA_OK && backward)
        status = verify_small(bench, entry, error);
    return status;
}
