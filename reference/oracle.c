#include "reference/oracle.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Each row is written the obvious way. Rows go in groups only so that K and V are widened to
 * double once a group, and sums go in LANES parts, added in a fixed order, only so that a compiler
 * may vectorise them without leave to reorder; short partial sums also round less than long ones.
 */
enum {
    LANES = 8,
    KEY_BLOCK = 64,             /* keys whose K or V rows are widened together */
    GROUP_ROWS = 32,            /* rows that share them, */
    GROUP_SCORES = 1024 * 1024, /* fewer if their scores would be more than these */
};

struct oracle {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    int64_t batch, head;
    int64_t width, v_width; /* d and dv, rounded up to LANES: the padding is 0 */
    double *q_rows;         /* [group, width] */
    double *scores;         /* [group, nk]: scores, then weights exp(s - m) */
    unsigned char *seen;    /* [group, nk]: 1 where the key is visible and its score not -inf */
    double *keys;           /* [KEY_BLOCK, width or v_width]: rows of K or V */
    double *zeros, *part;   /* [v_width]: a row of zeros; one block's share of a row's sum */
    double *sums;           /* [group, v_width]: sum of weight * V */
    double *weight_sums;    /* [group] */
    int64_t *n_seen;        /* [group]: a row is empty when this is 0, whatever its sums are */
};

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The sentences of problem.h, for one query and one key. */
static bool is_visible(const struct oracle *oracle, int64_t row, int64_t key)
{
    const struct fa_problem *problem = oracle->problem;
    const struct fa_tensor *mask = problem->mask;
    int64_t diagonal = row;
    if (problem->causal != FA_CAUSAL_TOP_LEFT)
        diagonal = row - problem->nq + problem->nk;
    if (problem->causal != FA_CAUSAL_NONE && key > diagonal)
        return false;
    if (problem->window_left >= 0 && diagonal - key > problem->window_left)
        return false;
    if (problem->window_right >= 0 && key - diagonal > problem->window_right)
        return false;
    if (!mask)
        return true;
    return fa_tensor_get(mask, fa_problem_batch(mask, oracle->batch),
                         fa_problem_head(problem, mask, oracle->head),
                         mask->shape[2] == 1 ? 0 : row, mask->shape[3] == 1 ? 0 : key) != 0;
}

static double bias_of(const struct oracle *oracle, int64_t row, int64_t key)
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

/* Row `row` of the tensor's head that the query head reads, exactly, padded to width with 0. */
static void widen_row(const struct oracle *oracle, const struct fa_tensor *tensor, int64_t row,
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

static double dot(const double *a, const double *b, int64_t width)
{
    double lane[LANES] = {0};
    for (int64_t c = 0; c < width; c += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[c + l] * b[c + l];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) +
           ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* Scores of the group's rows: scale, then bias, then mask. A hidden key's score is never formed,
 * so whatever stands in its K row has no effect. */
static void score_rows(struct oracle *oracle, const int64_t *rows, int64_t n_rows)
{
    const struct fa_problem *problem = oracle->problem;
    int64_t nk = problem->nk, width = oracle->width;
    for (int64_t first = 0; first < nk; first += KEY_BLOCK) {
        int64_t end = min(first + KEY_BLOCK, nk);
        for (int64_t key = first; key < end; key++)
            widen_row(oracle, oracle->k, key, oracle->keys + (key - first) * width, width);
        for (int64_t i = 0; i < n_rows; i++) {
            const double *q_row = oracle->q_rows + i * width;
            for (int64_t key = first; key < end; key++) {
                unsigned char *seen = &oracle->seen[i * nk + key];
                *seen = is_visible(oracle, rows[i], key);
                if (!*seen)
                    continue;
                double score = problem->scale * dot(q_row, oracle->keys + (key - first) * width,
                                                    width);
                if (problem->bias)
                    score += bias_of(oracle, rows[i], key);
                oracle->scores[i * nk + key] = score;
                *seen = score != -INFINITY; /* True of NaN: it is not hidden, it spreads. */
            }
        }
    }
}

/*
 * Scores of row i to weights exp(s - m) and their sum. Returns the LSE. A NaN score is passed over
 * by the maximum, and then makes its own weight, the sum and the LSE NaN; a score of +inf does the
 * same through inf - inf.
 */
static double weigh_row(struct oracle *oracle, int64_t i)
{
    int64_t nk = oracle->problem->nk, n_seen = 0;
    const unsigned char *seen = oracle->seen + i * nk;
    double *scores = oracle->scores + i * nk;
    double maximum = -INFINITY, sum = 0;
    for (int64_t key = 0; key < nk; key++) {
        if (!seen[key])
            continue;
        n_seen++;
        if (scores[key] > maximum)
            maximum = scores[key];
    }
    for (int64_t first = 0; first < nk; first += KEY_BLOCK) {
        int64_t end = min(first + KEY_BLOCK, nk);
        double part = 0;
        for (int64_t key = first; key < end; key++) {
            if (!seen[key])
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

/* sums += weight * value for four rows of V at once. */
static void add_four(double *restrict sums, const double *weight, const double *const *value,
                     int64_t width)
{
    const double *restrict v0 = value[0], *restrict v1 = value[1];
    const double *restrict v2 = value[2], *restrict v3 = value[3];
    double w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3];
    for (int64_t c = 0; c < width; c++)
        sums[c] += (w0 * v0[c] + w1 * v1[c]) + (w2 * v2[c] + w3 * v3[c]);
}

/* Adds weight * V over n keys to one row's sums. A key that is not seen is left out, not
 * multiplied by 0: its V may hold NaN or an infinity. */
static void mix_keys(const struct oracle *oracle, double *sums, const unsigned char *seen,
                     const double *weights, int64_t n)
{
    int64_t width = oracle->v_width, n_seen = 0;
    double weight[KEY_BLOCK + 3];
    const double *value[KEY_BLOCK + 3];
    for (int64_t key = 0; key < n; key++) {
        if (seen[key]) {
            weight[n_seen] = weights[key];
            value[n_seen++] = oracle->keys + key * width;
        }
    }
    while (n_seen % 4 != 0) { /* Rows of zeros, of weight 0, fill the last four. */
        weight[n_seen] = 0;
        value[n_seen++] = oracle->zeros;
    }
    memset(oracle->part, 0, (size_t)width * sizeof *oracle->part);
    for (int64_t i = 0; i < n_seen; i += 4)
        add_four(oracle->part, weight + i, value + i, width);
    for (int64_t c = 0; c < width; c++)
        sums[c] += oracle->part[c];
}

static void mix_rows(struct oracle *oracle, int64_t n_rows)
{
    int64_t nk = oracle->problem->nk, width = oracle->v_width;
    memset(oracle->sums, 0, (size_t)(n_rows * width) * sizeof *oracle->sums);
    for (int64_t first = 0; first < nk; first += KEY_BLOCK) {
        int64_t n = min(KEY_BLOCK, nk - first);
        for (int64_t key = 0; key < n; key++)
            widen_row(oracle, oracle->v, first + key, oracle->keys + key * width, width);
        for (int64_t i = 0; i < n_rows; i++)
            mix_keys(oracle, oracle->sums + i * width, oracle->seen + i * nk + first,
                     oracle->scores + i * nk + first, n);
    }
}

static void do_group(struct oracle *oracle, const int64_t *rows, int64_t n_rows, double *o,
                     double *lse)
{
    int64_t dv = oracle->problem->dv;
    for (int64_t i = 0; i < n_rows; i++)
        widen_row(oracle, oracle->q, rows[i], oracle->q_rows + i * oracle->width, oracle->width);
    score_rows(oracle, rows, n_rows);
    for (int64_t i = 0; i < n_rows; i++)
        lse[i] = weigh_row(oracle, i);
    mix_rows(oracle, n_rows);
    for (int64_t i = 0; i < n_rows; i++) {
        const double *sums = oracle->sums + i * oracle->v_width;
        for (int64_t c = 0; c < dv; c++)
            o[i * dv + c] = oracle->n_seen[i] == 0 ? 0 : sums[c] / oracle->weight_sums[i];
    }
}

/* malloc of count * each elements, NULL if that is past what can be asked for. */
static void *allocate(int64_t count, int64_t each, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(count, each, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc(n > 0 ? (size_t)n : 1);
}

enum fa_status fa_oracle_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                              const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                              const int64_t *rows, int64_t n_rows, double *o, double *lse,
                              struct fa_error *error)
{
    if (n_rows == 0)
        return FA_OK;
    enum fa_status status = FA_OK;
    int64_t group = GROUP_SCORES / (problem->nk > 0 ? problem->nk : 1);
    group = min(group < 1 ? 1 : min(group, GROUP_ROWS), n_rows);
    struct oracle oracle = {
        .problem = problem,
        .q = q,
        .k = k,
        .v = v,
        .batch = head / problem->heads,
        .head = head % problem->heads,
        .width = (problem->d - 1) / LANES * LANES + LANES,
        .v_width = (problem->dv - 1) / LANES * LANES + LANES,
    };
    int64_t widest = oracle.width > oracle.v_width ? oracle.width : oracle.v_width;
    oracle.q_rows = allocate(group, oracle.width, sizeof(double));
    oracle.scores = allocate(group, problem->nk, sizeof(double));
    oracle.seen = allocate(group, problem->nk, 1);
    oracle.keys = allocate(KEY_BLOCK, widest, sizeof(double));
    oracle.zeros = calloc((size_t)oracle.v_width, sizeof(double));
    oracle.part = allocate(1, oracle.v_width, sizeof(double));
    oracle.sums = allocate(group, oracle.v_width, sizeof(double));
    oracle.weight_sums = allocate(group, 1, sizeof(double));
    oracle.n_seen = allocate(group, 1, sizeof(int64_t));
    if (!oracle.q_rows || !oracle.scores || !oracle.seen || !oracle.keys || !oracle.sums ||
        !oracle.zeros || !oracle.part || !oracle.weight_sums || !oracle.n_seen) {
        status = fa_fail(error, FA_NO_MEMORY,
                         "no memory for the oracle's %" PRId64 " rows of %" PRId64
                         " scores and K/V rows of %" PRId64 ": expected about 9 bytes a score",
                         group, problem->nk, widest);
        goto done;
    }
    for (int64_t i = 0; i < n_rows; i += group)
        do_group(&oracle, rows + i, min(group, n_rows - i), o + i * problem->dv, lse + i);
done:
    free(oracle.q_rows);
    free(oracle.scores);
    free(oracle.seen);
    free(oracle.keys);
    free(oracle.zeros);
    free(oracle.part);
    free(oracle.sums);
    free(oracle.weight_sums);
    free(oracle.n_seen);
    return status;
}
