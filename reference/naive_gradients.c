#include "reference/gradients.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/naive_rows.h"

struct naive_gradients {
    struct fa_naive naive;
    const struct fa_tensor *dout;
    const struct fa_gradient_parts *parts;
    double *dq, *dk, *dv;        /* outputs; NULL: not wanted */
    double *o, *lse, *delta;     /* [sharing, dv], [sharing], [sharing] */
    double *ds;                  /* [sharing, nk]: of visible elements */
    bool *is_row, *is_key;       /* [nq], [nk]: wanted */
    int64_t *rows;               /* [sharing] */
    void *do_rows;               /* [sharing, dv] */
    void *dq_rows;               /* [nq, d] of one query head, if dq is wanted */
    void *dk_sums, *dv_sums;     /* [n_keys, d], [n_keys, dv] */
};

static bool is_hidden(const struct naive_gradients *g, int64_t r, int64_t key)
{
    return g->naive.weights[r * g->naive.problem->nk + key] == -INFINITY;
}

/* Weights, O, dO and delta of the rows. */
static void run_forward(struct naive_gradients *g, int64_t head, int64_t n_rows)
{
    struct fa_naive *naive = &g->naive;
    int64_t dv = naive->problem->dv;
    fa_naive_share(naive, head, g->rows, n_rows, g->o, g->lse);
    for (int64_t r = 0; r < n_rows; r++) {
        fa_naive_read(naive, g->dout, g->rows[r], fa_naive_at(naive, g->do_rows, r * dv));
        double delta = 0;
        for (int64_t c = 0; c < dv; c++) {
            double product = fa_naive_real(naive, g->o[r * dv + c] *
                                                      fa_dtype_get(naive->real, g->do_rows,
                                                                   r * dv + c));
            delta = fa_naive_real(naive, delta + product);
        }
        g->delta[r] = delta;
    }
}

/* dS of element (r, key), whose dO V^T is `dot`: rounded as dP, again after dropout, and as dS. */
static double ds_of(const struct naive_gradients *g, int64_t r, int64_t key, double dot)
{
    const struct fa_naive *naive = &g->naive;
    enum fa_dtype dtype = naive->problem->dtype;
    int64_t index = r * naive->problem->nk + key;
    double dp = fa_dtype_round(dtype, dot);
    if (naive->problem->dropout_p > 0)
        dp = naive->dropped[index] ? 0 : fa_dtype_round(dtype, fa_naive_over_kept(naive, dp));
    double difference = fa_naive_real(naive, dp - g->delta[r]);
    return fa_dtype_round(dtype, fa_naive_real(naive, naive->weights[index] * difference));
}

static void form_ds(struct naive_gradients *g, int64_t n_rows)
{
    struct fa_naive *naive = &g->naive;
    int64_t nk = naive->problem->nk, dv = naive->problem->dv;
    for (int64_t first = 0; first < nk; first += FA_NAIVE_KEYS) {
        int64_t n = nk - first < FA_NAIVE_KEYS ? nk - first : FA_NAIVE_KEYS;
        bool any_key = false;
        for (int64_t j = 0; j < n; j++)
            any_key |= g->is_key[first + j];
        fa_naive_read_columns(naive, naive->v, first, n);
        for (int64_t r = 0; r < n_rows; r++) {
            if (!any_key && !g->is_row[g->rows[r]])
                continue;
            fa_naive_dots(naive, fa_naive_at(naive, g->do_rows, r * dv), dv, n);
            for (int64_t j = 0; j < n; j++)
                if (!is_hidden(g, r, first + j))
                    g->ds[r * nk + first + j] =
                        ds_of(g, r, first + j, fa_dtype_get(naive->real, naive->dots, j));
        }
    }
}

static void add_dq(struct naive_gradients *g, int64_t n_rows)
{
    struct fa_naive *naive = &g->naive;
    int64_t nk = naive->problem->nk, d = naive->problem->d;
    for (int64_t first = 0; first < nk; first += FA_NAIVE_KEYS) {
        int64_t n = nk - first < FA_NAIVE_KEYS ? nk - first : FA_NAIVE_KEYS;
        fa_naive_read_values(naive, naive->k, first, n);
        for (int64_t r = 0; r < n_rows; r++)
            for (int64_t j = 0; j < n && g->is_row[g->rows[r]]; j++)
                if (!is_hidden(g, r, first + j))
                    fa_naive_add(naive->real, fa_naive_at(naive, g->dq_rows, g->rows[r] * d),
                                 g->ds[r * nk + first + j],
                                 fa_naive_at(naive, naive->values, j * d), d);
    }
}

static void add_dk_and_dv(struct naive_gradients *g, int64_t n_rows)
{
    struct fa_naive *naive = &g->naive;
    int64_t nk = naive->problem->nk, d = naive->problem->d, dv = naive->problem->dv;
    for (int64_t n = 0; n < g->parts->n_keys; n++) {
        int64_t key = g->parts->keys[n];
        for (int64_t r = 0; r < n_rows; r++) {
            double weight = fa_naive_kept(naive, r, key);
            if (g->dk && !is_hidden(g, r, key))
                fa_naive_add(naive->real, fa_naive_at(naive, g->dk_sums, n * d),
                             g->ds[r * nk + key], fa_naive_at(naive, naive->q_rows, r * d), d);
            if (g->dv && weight != -INFINITY)
                fa_naive_add(naive->real, fa_naive_at(naive, g->dv_sums, n * dv), weight,
                             fa_naive_at(naive, g->do_rows, r * dv), dv);
        }
    }
}

/* n numbers of the format of arithmetic, times the scale, rounded to the dtype. */
static void finish(const struct naive_gradients *g, const void *sums, double scale, int64_t n,
                   double *to)
{
    const struct fa_naive *naive = &g->naive;
    double factor = fa_naive_real(naive, scale);
    for (int64_t i = 0; i < n; i++)
        to[i] = fa_dtype_round(naive->problem->dtype,
                               fa_naive_real(naive, factor * fa_dtype_get(naive->real, sums, i)));
}

static void do_head(struct naive_gradients *g, int64_t head, bool any_key, double *dq)
{
    struct fa_naive *naive = &g->naive;
    int64_t nq = naive->problem->nq, d = naive->problem->d, n_rows = 0;
    if (g->dq)
        memset(g->dq_rows, 0, (size_t)(nq * d) * fa_dtype_bytes(naive->real));
    for (int64_t row = 0; row < nq; row++) {
        if (any_key || g->is_row[row])
            g->rows[n_rows++] = row;
        if (n_rows == 0 || (n_rows < naive->sharing && row < nq - 1))
            continue;
        run_forward(g, head, n_rows);
        form_ds(g, n_rows);
        if (g->dq)
            add_dq(g, n_rows);
        if (any_key)
            add_dk_and_dv(g, n_rows);
        n_rows = 0;
    }
    for (int64_t i = 0; g->dq && i < g->parts->n_rows; i++)
        finish(g, fa_naive_at(naive, g->dq_rows, g->parts->rows[i] * d), naive->problem->scale, d,
               dq + i * d);
}

static enum fa_status take_memory(struct naive_gradients *g, struct fa_error *error)
{
    const struct fa_problem *problem = g->naive.problem;
    int64_t sharing = g->naive.sharing, nk = problem->nk, n_keys = g->parts->n_keys;
    size_t bytes = fa_dtype_bytes(g->naive.real);
    g->o = fa_naive_take(sharing, problem->dv, sizeof *g->o);
    g->lse = fa_naive_take(1, sharing, sizeof *g->lse);
    g->delta = fa_naive_take(1, sharing, sizeof *g->delta);
    g->ds = fa_naive_take(sharing, nk, sizeof *g->ds);
    g->is_row = fa_naive_take(1, problem->nq, sizeof *g->is_row);
    g->is_key = fa_naive_take(1, nk, sizeof *g->is_key);
    g->rows = fa_naive_take(1, sharing, sizeof *g->rows);
    g->do_rows = fa_naive_take(sharing, problem->dv, bytes);
    g->dq_rows = fa_naive_take(g->dq ? problem->nq : 0, problem->d, bytes);
    g->dk_sums = fa_naive_take(g->dk ? n_keys : 0, problem->d, bytes);
    g->dv_sums = fa_naive_take(g->dv ? n_keys : 0, problem->dv, bytes);
    if (g->o && g->lse && g->delta && g->ds && g->is_row && g->is_key && g->rows && g->do_rows &&
        g->dq_rows && g->dk_sums && g->dv_sums)
        return FA_OK;
    return fa_fail(error, FA_NO_MEMORY,
                   "no memory for the naive run's gradients: %" PRId64 " rows of %" PRId64
                   " scores, dQ of %" PRId64 " rows of %" PRId64,
                   sharing, nk, problem->nq, problem->d);
}

static void give_memory(struct naive_gradients *g)
{
    fa_naive_close(&g->naive);
    free(g->o);
    free(g->lse);
    free(g->delta);
    free(g->ds);
    free(g->is_row);
    free(g->is_key);
    free(g->rows);
    free(g->do_rows);
    free(g->dq_rows);
    free(g->dk_sums);
    free(g->dv_sums);
}

static void note_wanted(struct naive_gradients *g)
{
    const struct fa_problem *problem = g->naive.problem;
    const struct fa_gradient_parts *parts = g->parts;
    size_t bytes = fa_dtype_bytes(g->naive.real);
    memset(g->is_row, 0, (size_t)problem->nq * sizeof *g->is_row);
    memset(g->is_key, 0, (size_t)problem->nk * sizeof *g->is_key);
    for (int64_t i = 0; g->dq && i < parts->n_rows; i++)
        g->is_row[parts->rows[i]] = true;
    for (int64_t i = 0; g->dk && i < parts->n_keys; i++)
        g->is_key[parts->keys[i]] = true;
    if (g->dk)
        memset(g->dk_sums, 0, (size_t)(parts->n_keys * problem->d) * bytes);
    if (g->dv)
        memset(g->dv_sums, 0, (size_t)(parts->n_keys * problem->dv) * bytes);
}

enum fa_status fa_naive_gradients(const struct fa_problem *problem, const struct fa_tensor *q,
                                  const struct fa_tensor *k, const struct fa_tensor *v,
                                  const struct fa_tensor *dout, int64_t kv_head,
                                  const struct fa_gradient_parts *parts, double *dq, double *dk,
                                  double *dv, struct fa_error *error)
{
    int64_t heads = problem->kv_heads > 0 ? problem->heads / problem->kv_heads : 0;
    int64_t n_keys = parts->n_keys, d = problem->d;
    struct naive_gradients g = {.dout = dout, .parts = parts, .dq = dq, .dk = dk, .dv = dv};
    enum fa_status status = fa_naive_open(&g.naive, problem, q, k, v, problem->nq, error);
    if (status != FA_OK)
        return status;
    status = take_memory(&g, error);
    if (status != FA_OK)
        goto done;
    note_wanted(&g);
    for (int64_t i = 0; i < heads; i++)
        do_head(&g, kv_head * heads + i, n_keys > 0 && (dk || dv),
                dq ? dq + i * parts->n_rows * d : NULL);
    if (dk)
        finish(&g, g.dk_sums, problem->scale, n_keys * d, dk);
    if (dv)
        finish(&g, g.dv_sums, 1, n_keys * problem->dv, dv);
done:
    give_memory(&g);
    return status;
}
