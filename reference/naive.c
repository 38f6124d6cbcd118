#include "reference/naive.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE_KEYS = 64,          /* keys whose K or V rows are converted together */
    SHARING_ROWS = 32,       /* rows that share them, */
    STORED_SCORES = 1 << 20, /* fewer if their scores would be more than these */
};

struct naive {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    int64_t batch, head;
    enum fa_dtype real; /* the format of arithmetic, and of the arrays of void: f64 or f32 */
    void *q_rows;       /* [rows, d] */
    void *columns;      /* [d, TILE_KEYS]: K transposed, so that keys lie side by side */
    void *values;       /* [TILE_KEYS, dv] */
    void *row;          /* [d]: one row of K */
    void *dots;         /* [TILE_KEYS] */
    void *sums;         /* [rows, dv]: O before its rounding */
    double *weights;    /* [rows, nk]: scores, then weights; -inf stays for a hidden key */
};

/* The result of one operation, in the format of arithmetic. An f32 sum, product or quotient that
 * is formed in double and rounded here is the one that f32 arithmetic gives. */
static double in_real(const struct naive *naive, double value)
{
    return naive->real == FA_F32 ? (double)(float)value : value;
}

static void *element(const struct naive *naive, void *array, int64_t index)
{
    return (char *)array + (size_t)index * fa_dtype_bytes(naive->real);
}

/* sums += factor * values: every product of this file, and every sum of products, whose order is
 * that of the calls. */
static void add_products(enum fa_dtype real, void *sums, double factor, const void *values,
                         int64_t n)
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

static void read_row(const struct naive *naive, const struct fa_tensor *tensor, int64_t row,
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

/* Keys first .. first + n - 1 of K, one column of `columns` each. */
static void read_columns(const struct naive *naive, int64_t first, int64_t n)
{
    int64_t d = naive->problem->d;
    for (int64_t j = 0; j < n; j++) {
        read_row(naive, naive->k, first + j, naive->row);
        if (naive->real == FA_F32)
            for (int64_t c = 0; c < d; c++)
                ((float *)naive->columns)[c * TILE_KEYS + j] = ((const float *)naive->row)[c];
        else
            for (int64_t c = 0; c < d; c++)
                ((double *)naive->columns)[c * TILE_KEYS + j] = ((const double *)naive->row)[c];
    }
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

static double read_broadcast(const struct naive *naive, const struct fa_tensor *tensor, int64_t row,
                             int64_t key)
{
    return fa_tensor_get(tensor, fa_problem_batch(tensor, naive->batch),
                         fa_problem_head(naive->problem, tensor, naive->head),
                         tensor->shape[2] > 1 ? row : 0, tensor->shape[3] > 1 ? key : 0);
}

/* A row's scores against keys first .. first + n - 1; -inf for the hidden ones. */
static void score_tile(const struct naive *naive, int64_t row, void *q_row, int64_t first,
                       int64_t n, double *scores)
{
    const struct fa_problem *problem = naive->problem;
    int64_t low, high;
    for (int64_t j = 0; j < n; j++)
        scores[j] = -INFINITY;
    find_span(problem, row, &low, &high);
    if (low > first + n - 1 || high < first)
        return;
    memset(naive->dots, 0, (size_t)n * fa_dtype_bytes(naive->real));
    for (int64_t c = 0; c < problem->d; c++)
        add_products(naive->real, naive->dots, fa_dtype_get(naive->real, q_row, c),
                     element(naive, naive->columns, c * TILE_KEYS), n);
    double scale = in_real(naive, problem->scale);
    for (int64_t j = 0; j < n; j++) {
        int64_t key = first + j;
        if (key < low || key > high)
            continue;
        if (problem->mask && read_broadcast(naive, problem->mask, row, key) == 0)
            continue;
        double score = in_real(naive, scale * fa_dtype_get(naive->real, naive->dots, j));
        if (problem->bias) {
            double bias = in_real(naive, read_broadcast(naive, problem->bias, row, key));
            score = in_real(naive, score + bias);
        }
        scores[j] = fa_dtype_round(problem->dtype, score);
    }
}

/* A row's scores to weights; returns the LSE. -inf marks hidden keys before and after. */
static double softmax_row(const struct naive *naive, double *weights)
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
        double x = in_real(naive, weights[j] - m);
        weights[j] = naive->real == FA_F32 ? (double)expf((float)x) : exp(x);
        l = in_real(naive, l + weights[j]);
    }
    for (int64_t j = 0; j < nk; j++)
        if (weights[j] != -INFINITY)
            weights[j] = fa_dtype_round(naive->problem->dtype, in_real(naive, weights[j] / l));
    return in_real(naive, m + in_real(naive, log(l)));
}

static void run_rows(struct naive *naive, const int64_t *rows, int64_t n_rows, double *o,
                     double *lse)
{
    const struct fa_problem *problem = naive->problem;
    int64_t nk = problem->nk, d = problem->d, dv = problem->dv;
    for (int64_t r = 0; r < n_rows; r++)
        read_row(naive, naive->q, rows[r], element(naive, naive->q_rows, r * d));
    for (int64_t first = 0; first < nk; first += TILE_KEYS) {
        int64_t n = nk - first < TILE_KEYS ? nk - first : TILE_KEYS;
        read_columns(naive, first, n);
        for (int64_t r = 0; r < n_rows; r++)
            score_tile(naive, rows[r], element(naive, naive->q_rows, r * d), first, n,
                       naive->weights + r * nk + first);
    }
    for (int64_t r = 0; r < n_rows; r++)
        lse[r] = softmax_row(naive, naive->weights + r * nk);
    memset(naive->sums, 0, (size_t)(n_rows * dv) * fa_dtype_bytes(naive->real));
    for (int64_t first = 0; first < nk; first += TILE_KEYS) {
        int64_t n = nk - first < TILE_KEYS ? nk - first : TILE_KEYS;
        for (int64_t j = 0; j < n; j++)
            read_row(naive, naive->v, first + j, element(naive, naive->values, j * dv));
        for (int64_t r = 0; r < n_rows; r++) {
            const double *weights = naive->weights + r * nk + first;
            for (int64_t j = 0; j < n; j++)
                if (weights[j] != -INFINITY)
                    add_products(naive->real, element(naive, naive->sums, r * dv), weights[j],
                                 element(naive, naive->values, j * dv), dv);
        }
    }
    for (int64_t i = 0; i < n_rows * dv; i++)
        o[i] = fa_dtype_round(problem->dtype, fa_dtype_get(naive->real, naive->sums, i));
}

static void *take(int64_t rows, int64_t columns, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(rows, columns, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc(n > 0 ? (size_t)n : 1);
}

enum fa_status fa_naive_rows(const struct fa_problem *problem, const struct fa_tensor *q,
                             const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                             const int64_t *rows, int64_t n_rows, double *o, double *lse,
                             struct fa_error *error)
{
    if (n_rows == 0)
        return FA_OK;
    enum fa_status status = FA_OK;
    struct naive naive = {.problem = problem, .q = q, .k = k, .v = v};
    naive.batch = head / problem->heads;
    naive.head = head % problem->heads;
    naive.real = problem->dtype == FA_F64 ? FA_F64 : FA_F32;
    int64_t sharing = n_rows < SHARING_ROWS ? n_rows : SHARING_ROWS;
    while (sharing > 1 && problem->nk > STORED_SCORES / sharing)
        sharing--;
    size_t bytes = fa_dtype_bytes(naive.real);
    naive.q_rows = take(sharing, problem->d, bytes);
    naive.columns = take(TILE_KEYS, problem->d, bytes);
    naive.values = take(TILE_KEYS, problem->dv, bytes);
    naive.row = take(1, problem->d, bytes);
    naive.dots = take(1, TILE_KEYS, bytes);
    naive.sums = take(sharing, problem->dv, bytes);
    naive.weights = take(sharing, problem->nk, sizeof(double));
    if (!naive.q_rows || !naive.columns || !naive.values || !naive.row || !naive.dots ||
        !naive.sums || !naive.weights) {
        status = fa_fail(error, FA_NO_MEMORY,
                         "no memory for the naive run's %" PRId64 " rows of %" PRId64
                         " scores (8 bytes each) and its K/V rows of %" PRId64 " and %" PRId64,
                         sharing, problem->nk, problem->d, problem->dv);
        goto done;
    }
    for (int64_t r = 0; r < n_rows; r += sharing)
        run_rows(&naive, rows + r, n_rows - r < sharing ? n_rows - r : sharing, o + r * problem->dv,
                 lse + r);
done:
    free(naive.q_rows);
    free(naive.columns);
    free(naive.values);
    free(naive.row);
    free(naive.dots);
    free(naive.sums);
    free(naive.weights);
    return status;
}
