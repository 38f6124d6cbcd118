#include "reference/naive.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/naive_rows.h"
#include "reference/philox.h"

enum {
    SHARING_ROWS = 32,       /* rows that share converted keys, */
    STORED_SCORES = 1 << 20, /* fewer if their scores would be more than these */
};

void fa_naive_add(enum fa_dtype real, void *sums, double factor, const void *values, int64_t n)
{
    if (real == FA_F32) {
        float *restrict to = sums;
        const float *restrict from = values;
        float times = (float)factor;
        for (int64_t i = 0; i < n; i++)
            to[i] += times * from[i];
    } else {
        double *restrict to = sums;
        const double *restrict from = values;
        for (int64_t i = 0; i < n; i++)
            to[i] += factor * from[i];
    }
}

void fa_naive_read(const struct fa_naive *naive, const struct fa_tensor *tensor, int64_t row,
                   void *to)
{
    enum fa_dtype dtype = naive->problem->dtype;
    int64_t batch = fa_problem_batch(tensor, naive->batch);
    int64_t head = fa_problem_head(naive->problem, tensor, naive->head);
    if (tensor->dtype == dtype && tensor->stride[3] == 1) {
        int64_t index = fa_tensor_index(tensor, batch, head, row, 0);
        const char *from = (const char *)tensor->data + (size_t)index * fa_dtype_bytes(dtype);
        fa_dtype_convert(naive->real, to, dtype, from, tensor->shape[3]);
        return;
    }
    for (int64_t c = 0; c < tensor->shape[3]; c++) {
        double value = fa_dtype_round(dtype, fa_tensor_get(tensor, batch, head, row, c));
        fa_dtype_set(naive->real, to, c, value);
    }
}

void fa_naive_read_values(const struct fa_naive *naive, const struct fa_tensor *tensor,
                          int64_t first, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        fa_naive_read(naive, tensor, first + j,
                      fa_naive_at(naive, naive->values, j * tensor->shape[3]));
}

void fa_naive_read_columns(const struct fa_naive *naive, const struct fa_tensor *tensor,
                           int64_t first, int64_t n)
{
    int64_t width = tensor->shape[3];
    for (int64_t j = 0; j < n; j++) {
        fa_naive_read(naive, tensor, first + j, naive->row);
        if (naive->real == FA_F32)
            for (int64_t c = 0; c < width; c++)
                ((float *)naive->columns)[c * FA_NAIVE_KEYS + j] = ((const float *)naive->row)[c];
        else
            for (int64_t c = 0; c < width; c++)
                ((double *)naive->columns)[c * FA_NAIVE_KEYS + j] = ((const double *)naive->row)[c];
    }
}

void fa_naive_dots(const struct fa_naive *naive, void *row, int64_t width, int64_t n)
{
    memset(naive->dots, 0, (size_t)n * fa_dtype_bytes(naive->real));
    for (int64_t c = 0; c < width; c++)
        fa_naive_add(naive->real, naive->dots, fa_dtype_get(naive->real, row, c),
                     fa_naive_at(naive, naive->columns, c * FA_NAIVE_KEYS), n);
}

/* Keys *low .. *high are what causal mask and window leave to a row; none if *low > *high. */
static void find_span(const struct fa_problem *problem, int64_t row, int64_t *low, int64_t *high)
{
    int64_t last = problem->nk - 1, left = problem->window_left, right = problem->window_right;
    int64_t diagonal = problem->causal == FA_CAUSAL_TOP_LEFT ? row : last - (problem->nq - 1 - row);
    *low = 0;
    *high = last;
    if (problem->causal != FA_CAUSAL_NONE && diagonal < *high)
        *high = diagonal;
    /* A bound that reaches past the matrix binds nothing, and its sum could overflow. */
    if (left >= 0 && left < diagonal)
        *low = diagonal - left;
    if (right >= 0 && right < last - diagonal && diagonal + right < *high)
        *high = diagonal + right;
}

static double read_broadcast(const struct fa_naive *naive, const struct fa_tensor *tensor,
                             int64_t row, int64_t key)
{
    return fa_tensor_get(tensor, fa_problem_batch(tensor, naive->batch),
                         fa_problem_head(naive->problem, tensor, naive->head),
                         tensor->shape[2] > 1 ? row : 0, tensor->shape[3] > 1 ? key : 0);
}

static bool is_in_hidden_block(const struct fa_block_mask *blocks, int64_t row, int64_t key)
{
    return blocks && blocks->visit[(row / blocks->br) * blocks->columns + key / blocks->bc] == 0;
}

/* A row's scores against keys first .. first + n - 1; -inf for the hidden ones. */
static void score_tile(const struct fa_naive *naive, int64_t row, void *q_row, int64_t first,
                       int64_t n, double *scores)
{
    const struct fa_problem *problem = naive->problem;
    int64_t low, high;
    for (int64_t j = 0; j < n; j++)
        scores[j] = -INFINITY;
    find_span(problem, row, &low, &high);
    if (low > first + n - 1 || high < first)
        return;
    fa_naive_dots(naive, q_row, problem->d, n);
    double scale = fa_naive_real(naive, problem->scale);
    for (int64_t j = 0; j < n; j++) {
        int64_t key = first + j;
        if (key < low || key > high || is_in_hidden_block(problem->blocks, row, key))
            continue;
        if (problem->mask && read_broadcast(naive, problem->mask, row, key) == 0)
            continue;
        double score = fa_naive_real(naive, scale * fa_dtype_get(naive->real, naive->dots, j));
        if (problem->bias) {
            double bias = fa_naive_real(naive, read_broadcast(naive, problem->bias, row, key));
            score = fa_naive_real(naive, score + bias);
        }
        scores[j] = fa_dtype_round(problem->dtype, score);
    }
}

/* A row's scores to weights; returns the LSE. -inf marks hidden keys before and after. */
static double softmax_row(const struct fa_naive *naive, double *weights)
{
    int64_t nk = naive->problem->nk, n_left = 0;
    double m = -INFINITY, l = 0;
    for (int64_t j = 0; j < nk; j++) {
        n_left += weights[j] != -INFINITY;
        m = weights[j] > m ? weights[j] : m;
    }
    if (n_left == 0)
        return -INFINITY;
    for (int64_t j = 0; j < nk; j++) {
        if (weights[j] == -INFINITY)
            continue;
        double x = fa_naive_real(naive, weights[j] - m);
        weights[j] = naive->real == FA_F32 ? (double)expf((float)x) : exp(x);
        l = fa_naive_real(naive, l + weights[j]);
    }
    for (int64_t j = 0; j < nk; j++)
        if (weights[j] != -INFINITY)
            weights[j] = fa_dtype_round(naive->problem->dtype,
                                        fa_naive_real(naive, weights[j] / l));
    return fa_naive_real(naive, m + fa_naive_real(naive, log(l)));
}

/* Of row r of those that share keys, which weights dropout drops. */
static void mark_dropped(struct fa_naive *naive, int64_t row, int64_t r)
{
    const struct fa_problem *problem = naive->problem;
    uint64_t limit = (uint64_t)(problem->dropout_p * 0x1p32); /* cut to a whole number: floor */
    uint8_t *dropped = naive->dropped + r * problem->nk;
    uint32_t words[4];
    for (int64_t key = 0; key < problem->nk; key++) {
        if (problem->dropout_p == 1) {
            dropped[key] = 1;
        } else if (problem->dropout_keep) {
            dropped[key] = fa_tensor_get(problem->dropout_keep, naive->batch, naive->head, row,
                                         key) == 0;
        } else {
            if (key % 4 == 0)
                fa_philox4x32(problem->dropout_seed,
                              (uint32_t[]){(uint32_t)(key >> 2), (uint32_t)row,
                                           (uint32_t)naive->head, (uint32_t)naive->batch},
                              words);
            dropped[key] = words[key & 3] < limit;
        }
    }
}

double fa_naive_over_kept(const struct fa_naive *naive, double value)
{
    return fa_naive_real(naive, value / fa_naive_real(naive, 1 - naive->problem->dropout_p));
}

double fa_naive_kept(const struct fa_naive *naive, int64_t r, int64_t key)
{
    int64_t index = r * naive->problem->nk + key;
    double weight = naive->weights[index];
    if (naive->problem->dropout_p == 0 || weight == -INFINITY)
        return weight;
    if (naive->dropped[index])
        return -INFINITY;
    return fa_dtype_round(naive->problem->dtype, fa_naive_over_kept(naive, weight));
}

/* O of rows whose weights are there. A row whose LSE is NaN is NaN also where all is dropped. */
static void mix_rows(struct fa_naive *naive, int64_t n_rows, const double *lse, double *o)
{
    const struct fa_problem *problem = naive->problem;
    int64_t nk = problem->nk, dv = problem->dv;
    memset(naive->sums, 0, (size_t)(n_rows * dv) * fa_dtype_bytes(naive->real));
    for (int64_t first = 0; first < nk; first += FA_NAIVE_KEYS) {
        int64_t n = nk - first < FA_NAIVE_KEYS ? nk - first : FA_NAIVE_KEYS;
        fa_naive_read_values(naive, naive->v, first, n);
        for (int64_t r = 0; r < n_rows; r++)
            for (int64_t j = 0; j < n; j++) {
                double weight = fa_naive_kept(naive, r, first + j);
                if (weight != -INFINITY)
                    fa_naive_add(naive->real, fa_naive_at(naive, naive->sums, r * dv), weight,
                                 fa_naive_at(naive, naive->values, j * dv), dv);
            }
    }
    for (int64_t i = 0; i < n_rows * dv; i++)
        o[i] = isnan(lse[i / dv]) ? NAN
                                  : fa_dtype_round(problem->dtype,
                                                   fa_dtype_get(naive->real, naive->sums, i));
}

void fa_naive_share(struct fa_naive *naive, int64_t head, const int64_t *rows, int64_t n_rows,
                    double *o, double *lse)
{
    const struct fa_problem *problem = naive->problem;
    int64_t nk = problem->nk, d = problem->d;
    naive->batch = head / problem->heads;
    naive->head = head % problem->heads;
    for (int64_t r = 0; r < n_rows; r++)
        fa_naive_read(naive, naive->q, rows[r], fa_naive_at(naive, naive->q_rows, r * d));
    for (int64_t first = 0; first < nk; first += FA_NAIVE_KEYS) {
        int64_t n = nk - first < FA_NAIVE_KEYS ? nk - first : FA_NAIVE_KEYS;
        fa_naive_read_columns(naive, naive->k, first, n);
        for (int64_t r = 0; r < n_rows; r++)
            score_tile(naive, rows[r], fa_naive_at(naive, naive->q_rows, r * d), first, n,
                       naive->weights + r * nk + first);
    }
    for (int64_t r = 0; r < n_rows; r++) {
        lse[r] = softmax_row(naive, naive->weights + r * nk);
        if (problem->dropout_p > 0)
            mark_dropped(naive, rows[r], r);
    }
    mix_rows(naive, n_rows, lse, o);
}

void *fa_naive_take(int64_t rows, int64_t columns, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(rows, columns, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc(n > 0 ? (size_t)n : 1);
}

enum fa_status fa_naive_open(struct fa_naive *naive, const struct fa_problem *problem,
                             const struct fa_tensor *q, const struct fa_tensor *k,
                             const struct fa_tensor *v, int64_t n_rows, struct fa_error *error)
{
    int64_t sharing = n_rows < SHARING_ROWS ? n_rows : SHARING_ROWS;
    int64_t width = problem->d > problem->dv ? problem->d : problem->dv;
    while (sharing > 1 && problem->nk > STORED_SCORES / sharing)
        sharing--;
    *naive = (struct fa_naive){.problem = problem, .q = q, .k = k, .v = v, .sharing = sharing};
    naive->real = problem->dtype == FA_F64 ? FA_F64 : FA_F32;
    size_t bytes = fa_dtype_bytes(naive->real);
    naive->q_rows = fa_naive_take(sharing, problem->d, bytes);
    naive->columns = fa_naive_take(FA_NAIVE_KEYS, width, bytes);
    naive->values = fa_naive_take(FA_NAIVE_KEYS, width, bytes);
    naive->row = fa_naive_take(1, width, bytes);
    naive->dots = fa_naive_take(1, FA_NAIVE_KEYS, bytes);
    naive->sums = fa_naive_take(sharing, problem->dv, bytes);
    naive->weights = fa_naive_take(sharing, problem->nk, sizeof(double));
    naive->dropped = fa_naive_take(problem->dropout_p > 0 ? sharing : 0, problem->nk, 1);
    if (naive->q_rows && naive->columns && naive->values && naive->row && naive->dots &&
        naive->sums && naive->weights && naive->dropped)
        return FA_OK;
    fa_naive_close(naive);
    return fa_fail(error, FA_NO_MEMORY,
                   "no memory for the naive run's %" PRId64 " rows of %" PRId64
                   " scores (8 bytes each) and its K/V rows of %" PRId64 " and %" PRId64,
                   sharing, problem->nk, problem->d, problem->dv);
}

void fa_naive_close(struct fa_naive *naive)
{
    free(naive->q_rows);
    free(naive->columns);
    free(naive->values);
    free(naive->row);
    free(naive->dots);
    free(naive->sums);
    free(naive->weights);
    free(naive->dropped);
}

enum fa_status fa_naive_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                             const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                             const int64_t *rows, int64_t n_rows, double *o, double *lse,
                             struct fa_error *error)
{
    struct fa_naive naive;
    if (n_rows == 0)
        return FA_OK;
    enum fa_status status = fa_naive_open(&naive, problem, q, k, v, n_rows, error);
    if (status != FA_OK)
        return status;
    for (int64_t r = 0; r < n_rows; r += naive.sharing)
        fa_naive_share(&naive, head, rows + r,
                       n_rows - r < naive.sharing ? n_rows - r : naive.sharing,
                       o + r * problem->dv, lse + r);
    fa_naive_close(&naive);
    return FA_OK;
}
