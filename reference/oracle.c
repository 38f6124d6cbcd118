#include "reference/oracle.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/oracle_rows.h"
#include "reference/philox.h"

enum { GROUP_SCORES = 1024 * 1024 }; /* a group has fewer rows if its scores would be more */

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The sentences of problem.h, for one query and one key. */
static bool is_visible(const struct fa_oracle *oracle, int64_t row, int64_t key)
{
    const struct fa_problem *problem = oracle->problem;
    const struct fa_tensor *mask = problem->mask;
    const struct fa_block_mask *blocks = problem->blocks;
    int64_t diagonal = row;
    if (problem->causal != FA_CAUSAL_TOP_LEFT)
        diagonal = row - problem->nq + problem->nk;
    if (problem->causal != FA_CAUSAL_NONE && key > diagonal)
        return false;
    if (problem->window_left >= 0 && diagonal - key > problem->window_left)
        return false;
    if (problem->window_right >= 0 && key - diagonal > problem->window_right)
        return false;
    if (blocks && !blocks->visit[row / blocks->br * blocks->columns + key / blocks->bc])
        return false;
    if (!mask)
        return true;
    return fa_tensor_get(mask, fa_problem_batch(mask, oracle->batch),
                         fa_problem_head(problem, mask, oracle->head),
                         mask->shape[2] == 1 ? 0 : row, mask->shape[3] == 1 ? 0 : key) != 0;
}

static double bias_of(const struct fa_oracle *oracle, int64_t row, int64_t key)
{
    const struct fa_tensor *bias = oracle->problem->bias;
    return fa_tensor_get(bias, fa_problem_batch(bias, oracle->batch),
                         fa_problem_head(oracle->problem, bias, oracle->head),
                         bias->shape[2] == 1 ? 0 : row, bias->shape[3] == 1 ? 0 : key);
}

/* n elements as doubles, by way of f32 where that is exact: those loops are the fast ones. */
static void widen(double *to, enum fa_dtype dtype, const char *from, int64_t n)
{
    float narrow[64];
    if (dtype == FA_F64) {
        fa_dtype_convert(FA_F64, to, dtype, from, n);
        return;
    }
    for (int64_t c = 0; c < n; c += 64) {
        int64_t part = min(64, n - c);
        fa_dtype_convert(FA_F32, narrow, dtype, from + (size_t)c * fa_dtype_bytes(dtype), part);
        fa_dtype_convert(FA_F64, to + c, FA_F32, narrow, part);
    }
}

void fa_oracle_widen(const struct fa_oracle *oracle, const struct fa_tensor *tensor, int64_t row,
                     double *to, int64_t width)
{
    int64_t batch = fa_problem_batch(tensor, oracle->batch);
    int64_t head = fa_problem_head(oracle->problem, tensor, oracle->head);
    int64_t n = tensor->shape[3];
    if (tensor->stride[3] == 1) {
        int64_t index = fa_tensor_index(tensor, batch, head, row, 0);
        const char *from = (const char *)tensor->data;
        widen(to, tensor->dtype, from + (size_t)index * fa_dtype_bytes(tensor->dtype), n);
    } else {
        for (int64_t c = 0; c < n; c++)
            to[c] = fa_tensor_get(tensor, batch, head, row, c);
    }
    for (int64_t c = n; c < width; c++)
        to[c] = 0;
}

double fa_oracle_dot(const double *a, const double *b, int64_t width)
{
    double lane[FA_ORACLE_LANES] = {0};
    for (int64_t c = 0; c < width; c += FA_ORACLE_LANES)
        for (int l = 0; l < FA_ORACLE_LANES; l++)
            lane[l] += a[c + l] * b[c + l];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* Scores of the group's rows: scale, then bias, then mask. A hidden key's score is never formed,
 * so whatever stands in its K row has no effect. */
static void score_rows(struct fa_oracle *oracle, const int64_t *rows, int64_t n_rows)
{
    const struct fa_problem *problem = oracle->problem;
    int64_t nk = problem->nk, width = oracle->width;
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t end = min(first + FA_ORACLE_KEYS, nk);
        for (int64_t key = first; key < end; key++)
            fa_oracle_widen(oracle, oracle->k, key, oracle->keys + (key - first) * width, width);
        for (int64_t i = 0; i < n_rows; i++) {
            const double *q_row = oracle->q_rows + i * width;
            for (int64_t key = first; key < end; key++) {
                unsigned char *fate = &oracle->fate[i * nk + key];
                *fate = FA_ORACLE_HIDDEN;
                if (!is_visible(oracle, rows[i], key))
                    continue;
                const double *k_row = oracle->keys + (key - first) * width;
                double score = problem->scale * fa_oracle_dot(q_row, k_row, width);
                if (problem->bias)
                    score += bias_of(oracle, rows[i], key);
                oracle->weights[i * nk + key] = score;
                if (score != -INFINITY) /* True of NaN: it is not hidden, it spreads. */
                    *fate = FA_ORACLE_KEPT;
            }
        }
    }
}

/*
 * Scores of row i to weights exp(s - m) and their sum. Returns the LSE. A NaN score is passed over
 * by the maximum, and then makes its own weight, the sum and the LSE NaN; a score of +inf does the
 * same through inf - inf.
 */
static double weigh_row(struct fa_oracle *oracle, int64_t i)
{
    int64_t nk = oracle->problem->nk, n_seen = 0;
    const unsigned char *fate = oracle->fate + i * nk;
    double *scores = oracle->weights + i * nk;
    double maximum = -INFINITY, sum = 0;
    for (int64_t key = 0; key < nk; key++) {
        if (fate[key] == FA_ORACLE_HIDDEN)
            continue;
        n_seen++;
        if (scores[key] > maximum)
            maximum = scores[key];
    }
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t end = min(first + FA_ORACLE_KEYS, nk);
        double part = 0;
        for (int64_t key = first; key < end; key++) {
            if (fate[key] == FA_ORACLE_HIDDEN)
                continue;
            scores[key] = exp(scores[key] - maximum);
            part += scores[key];
        }
        sum += part;
    }
    oracle->n_seen[i] = n_seen;
    oracle->weight_sums[i] = sum;
    return n_seen == 0 ? -INFINITY : maximum + log(sum);
}

/*
 * Says which of the visible keys of row i are dropped: those whose word of the generator, or whose
 * byte of the given mask, says so. Without dropout all are kept.
 */
static void drop_row(struct fa_oracle *oracle, int64_t row, int64_t i)
{
    const struct fa_problem *problem = oracle->problem;
    const struct fa_tensor *keep = problem->dropout_keep;
    double threshold = floor(problem->dropout_p * 4294967296.0);
    unsigned char *fate = oracle->fate + i * problem->nk;
    if (problem->dropout_p == 0)
        return;
    for (int64_t key = 0; key < problem->nk; key++) {
        uint32_t words[4], counter[4] = {(uint32_t)(key / 4), (uint32_t)row,
                                         (uint32_t)oracle->head, (uint32_t)oracle->batch};
        bool kept;
        if (fate[key] == FA_ORACLE_HIDDEN)
            continue;
        if (keep) {
            kept = fa_tensor_get(keep, oracle->batch, oracle->head, row, key) != 0;
        } else {
            fa_philox4x32(problem->dropout_seed, counter, words);
            kept = (double)words[key % 4] >= threshold;
        }
        if (!kept || problem->dropout_p == 1)
            fate[key] = FA_ORACLE_DROPPED;
    }
}

/* sums += weight * value for four rows at once. */
static void add_four(double *restrict sums, const double *weight, const double *const *value,
                     int64_t width)
{
    const double *restrict v0 = value[0], *restrict v1 = value[1];
    const double *restrict v2 = value[2], *restrict v3 = value[3];
    double w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3];
    for (int64_t c = 0; c < width; c++)
        sums[c] += (w0 * v0[c] + w1 * v1[c]) + (w2 * v2[c] + w3 * v3[c]);
}

void fa_oracle_add(const struct fa_oracle *oracle, double *to, int64_t n, double *weight,
                   const double **value, int64_t count, int64_t width)
{
    while (count % 4 != 0) { /* Rows of zeros, of weight 0, fill the last four. */
        weight[count] = 0;
        value[count++] = oracle->zeros;
    }
    memset(oracle->part, 0, (size_t)width * sizeof *oracle->part);
    for (int64_t i = 0; i < count; i += 4)
        add_four(oracle->part, weight + i, value + i, width);
    for (int64_t c = 0; c < n; c++)
        to[c] += oracle->part[c];
}

/* Adds weight * V over n keys to one row's sums. A key that is hidden or dropped is left out, not
 * multiplied by 0: its V may hold NaN or an infinity. */
static void mix_keys(const struct fa_oracle *oracle, double *sums, const unsigned char *fate,
                     const double *weights, int64_t n)
{
    int64_t width = oracle->v_width, count = 0;
    double weight[FA_ORACLE_KEYS + 3];
    const double *value[FA_ORACLE_KEYS + 3];
    for (int64_t key = 0; key < n; key++) {
        if (fate[key] == FA_ORACLE_KEPT) {
            weight[count] = weights[key];
            value[count++] = oracle->keys + key * width;
        }
    }
    fa_oracle_add(oracle, sums, width, weight, value, count, width);
}

static void mix_rows(struct fa_oracle *oracle, int64_t n_rows)
{
    int64_t nk = oracle->problem->nk, width = oracle->v_width;
    memset(oracle->sums, 0, (size_t)(n_rows * width) * sizeof *oracle->sums);
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t n = min(FA_ORACLE_KEYS, nk - first);
        for (int64_t key = 0; key < n; key++)
            fa_oracle_widen(oracle, oracle->v, first + key, oracle->keys + key * width, width);
        for (int64_t i = 0; i < n_rows; i++)
            mix_keys(oracle, oracle->sums + i * width, oracle->fate + i * nk + first,
                     oracle->weights + i * nk + first, n);
    }
}

void fa_oracle_weigh(struct fa_oracle *oracle, const int64_t *rows, int64_t n_rows, double *lse)
{
    int64_t width = oracle->width;
    for (int64_t i = 0; i < n_rows; i++)
        fa_oracle_widen(oracle, oracle->q, rows[i], oracle->q_rows + i * width, width);
    score_rows(oracle, rows, n_rows);
    for (int64_t i = 0; i < n_rows; i++) {
        lse[i] = weigh_row(oracle, i);
        drop_row(oracle, rows[i], i);
    }
}

static void do_group(struct fa_oracle *oracle, const int64_t *rows, int64_t n_rows, double *o,
                     double *lse)
{
    int64_t dv = oracle->problem->dv;
    fa_oracle_weigh(oracle, rows, n_rows, lse);
    mix_rows(oracle, n_rows);
    for (int64_t i = 0; i < n_rows; i++) {
        const double *sums = oracle->sums + i * oracle->v_width;
        for (int64_t c = 0; c < dv; c++) {
            double mean = oracle->n_seen[i] == 0 ? 0 : sums[c] / oracle->weight_sums[i];
            o[i * dv + c] = mean * oracle->kept_scale;
        }
    }
}

void *fa_oracle_take(int64_t count, int64_t each, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(count, each, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc(n > 0 ? (size_t)n : 1);
}

enum fa_status fa_oracle_open(struct fa_oracle *oracle, const struct fa_problem *problem,
                              const struct fa_tensor *q, const struct fa_tensor *k,
                              const struct fa_tensor *v, int64_t n_rows, struct fa_error *error)
{
    int64_t group = GROUP_SCORES / (problem->nk > 0 ? problem->nk : 1);
    group = min(group < 1 ? 1 : min(group, FA_ORACLE_ROWS), n_rows);
    *oracle = (struct fa_oracle){
        .problem = problem,
        .q = q,
        .k = k,
        .v = v,
        .group = group,
        .width = (problem->d - 1) / FA_ORACLE_LANES * FA_ORACLE_LANES + FA_ORACLE_LANES,
        .v_width = (problem->dv - 1) / FA_ORACLE_LANES * FA_ORACLE_LANES + FA_ORACLE_LANES,
        .kept_scale = problem->dropout_p < 1 ? 1 / (1 - problem->dropout_p) : 0,
    };
    int64_t widest = oracle->width > oracle->v_width ? oracle->width : oracle->v_width;
    oracle->q_rows = fa_oracle_take(group, oracle->width, sizeof(double));
    oracle->weights = fa_oracle_take(group, problem->nk, sizeof(double));
    oracle->fate = fa_oracle_take(group, problem->nk, 1);
    oracle->keys = fa_oracle_take(FA_ORACLE_KEYS, widest, sizeof(double));
    oracle->zeros = calloc((size_t)widest, sizeof(double));
    oracle->part = fa_oracle_take(1, widest, sizeof(double));
    oracle->sums = fa_oracle_take(group, oracle->v_width, sizeof(double));
    oracle->weight_sums = fa_oracle_take(group, 1, sizeof(double));
    oracle->n_seen = fa_oracle_take(group, 1, sizeof(int64_t));
    if (oracle->q_rows && oracle->weights && oracle->fate && oracle->keys && oracle->sums &&
        oracle->zeros && oracle->part && oracle->weight_sums && oracle->n_seen)
        return FA_OK;
    fa_oracle_close(oracle);
    return fa_fail(error, FA_NO_MEMORY,
                   "no memory for the oracle's %" PRId64 " rows of %" PRId64
                   " scores and K/V rows of %" PRId64 ": expected about 9 bytes a score",
                   group, problem->nk, widest);
}

void fa_oracle_close(struct fa_oracle *oracle)
{
    free(oracle->q_rows);
    free(oracle->weights);
    free(oracle->fate);
    free(oracle->keys);
    free(oracle->zeros);
    free(oracle->part);
    free(oracle->sums);
    free(oracle->weight_sums);
    free(oracle->n_seen);
}

void fa_oracle_enter(struct fa_oracle *oracle, int64_t head)
{
    oracle->batch = head / oracle->problem->heads;
    oracle->head = head % oracle->problem->heads;
}

enum fa_status fa_oracle_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                              const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                              const int64_t *rows, int64_t n_rows, double *o, double *lse,
                              struct fa_error *error)
{
    struct fa_oracle oracle;
    if (n_rows == 0)
        return FA_OK;
    enum fa_status status = fa_oracle_open(&oracle, problem, q, k, v, n_rows, error);
    if (status != FA_OK)
        return status;
    fa_oracle_enter(&oracle, head);
    for (int64_t i = 0; i < n_rows; i += oracle.group)
        do_group(&oracle, rows + i, min(oracle.group, n_rows - i), o + i * problem->dv, lse + i);
    fa_oracle_close(&oracle);
    return FA_OK;
}
