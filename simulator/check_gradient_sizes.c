#include "simulator/check_gradient_sizes.h"

#include <math.h>
#include <stdlib.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "reference/visibility.h"

static double larger(double most, double value)
{
    value = fabs(value);
    return isfinite(value) && value > most ? value : most;
}

void sim_gradient_sizes_merge(struct sim_gradient_sizes *sum,
                              const struct sim_gradient_sizes *sizes)
{
    sum->lse = fmax(sum->lse, sizes->lse);
    sum->delta = fmax(sum->delta, sizes->delta);
    sum->delta_root = fmax(sum->delta_root, sizes->delta_root);
    sum->q = fmax(sum->q, sizes->q);
    sum->k = fmax(sum->k, sizes->k);
}

static void add_rows(struct sim_gradient_sizes *sizes, const struct sim_row_sizes *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        sizes->lse = fmax(sizes->lse, rows[i].lse);
        sizes->delta = fmax(sizes->delta, rows[i].delta);
        sizes->delta_root = fmax(sizes->delta_root, rows[i].delta_root);
    }
}

/* From one query head's rows of the oracle. */
static void measure_rows(const struct sim_measured *m, int64_t head, const double *o,
                         const double *lse, struct sim_row_sizes *sizes)
{
    const struct fa_problem *p = m->problem;
    for (int64_t i = 0; i < m->n_rows; i++) {
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < p->dv; c++) {
            double term = o[i * p->dv + c] * fa_tensor_get(m->dout, head / p->heads,
                                                           head % p->heads, m->rows[i], c);
            sum += fabs(term);
            squares += term * term;
        }
        sizes[i] = (struct sim_row_sizes){larger(0, lse[i]), larger(0, sum),
                                          larger(0, sqrt(squares))};
    }
}

/* The sum of each key's weights over all rows of the group: the gradient of v, without dropout,
 * where dout is 1. */
static enum fa_status measure_keys(const struct sim_measured *m, struct fa_error *error)
{
    const struct fa_gradient_parts parts = {.keys = m->keys, .n_keys = m->n_keys};
    struct fa_problem plain = *m->problem;
    double one = 1;
    struct fa_tensor v = {.dtype = FA_F64, .data = &one}, dout = v;
    for (int axis = 0; axis < 3; axis++) {
        v.shape[axis] = m->v->shape[axis];
        dout.shape[axis] = m->dout->shape[axis];
    }
    v.shape[3] = dout.shape[3] = plain.dv = 1;
    plain.dropout_p = 0;
    plain.dropout_keep = NULL;
    return fa_oracle_gradients(&plain, m->q, m->k, &v, &dout, m->kv_head, &parts, NULL, NULL,
                               m->weights, error);
}

static double largest_of_head(const struct fa_tensor *tensor, int64_t batch, int64_t head)
{
    double most = 0;
    for (int64_t r = 0; r < tensor->shape[2]; r++)
        for (int64_t c = 0; c < tensor->shape[3]; c++)
            most = larger(most, fa_tensor_get(tensor, batch, head, r, c));
    return most;
}

enum fa_status sim_measure(struct sim_measured *m, struct fa_error *error)
{
    const struct fa_problem *p = m->problem;
    int64_t n = m->n_rows, n_o;
    double *o = NULL;
    enum fa_status status = FA_OK;
    if (fa_multiply(n, p->dv, &n_o) && n_o <= INT64_MAX / 16 - n)
        o = malloc((size_t)(n_o + n + 1) * sizeof *o);
    if (!o)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the check's rows of O");
    m->all = (struct sim_gradient_sizes){0, 0, 0, 0, 0};
    m->all.k = largest_of_head(m->k, m->kv_head / p->kv_heads, m->kv_head % p->kv_heads);
    for (int64_t i = 0; i < m->group && status == FA_OK; i++) {
        int64_t head = m->kv_head * m->group + i;
        status = fa_oracle_rows(p, m->q, m->k, m->v, head, m->rows, n, o, o + n_o, error);
        if (status != FA_OK)
            break;
        measure_rows(m, head, o, o + n_o, m->of_rows + i * n);
        add_rows(&m->all, m->of_rows + i * n, n);
        m->all.q = larger(m->all.q, largest_of_head(m->q, head / p->heads, head % p->heads));
    }
    if (status == FA_OK && m->weighs)
        status = measure_keys(m, error);
    free(o);
    return status;
}

struct sim_gradient_sizes sim_measured_rows(const struct sim_measured *m, int64_t in_group,
                                            int64_t first, int64_t n)
{
    struct sim_gradient_sizes sizes = {.q = m->all.q, .k = m->all.k};
    add_rows(&sizes, m->of_rows + in_group * m->n_rows + first, n);
    return sizes;
}

struct sim_gradient_sizes sim_measured_keys(const struct sim_measured *m, int64_t first, int64_t n)
{
    int64_t from = m->keys[first], end = m->keys[first + n - 1] + 1, n_rows = m->n_rows;
    int64_t seen_first = n_rows, seen_last = -1;
    bool sampled = n_rows < m->problem->nq;
    struct sim_gradient_sizes sizes = {.q = m->all.q, .k = m->all.k};
    for (int64_t i = 0; i < n_rows; i++) {
        struct fa_span span = fa_visible_keys(m->problem, m->rows[i]);
        if (span.first >= end || span.end <= from || span.first >= span.end)
            continue;
        seen_first = i < seen_first ? i : seen_first;
        seen_last = i;
    }
    if (sampled && seen_last < 0)
        return m->all;
    if (sampled) {
        seen_first -= seen_first > 0;
        seen_last += seen_last + 1 < n_rows;
    }
    for (int64_t g = 0; g < m->group && seen_last >= 0; g++)
        add_rows(&sizes, m->of_rows + g * n_rows + seen_first, seen_last - seen_first + 1);
    return sizes;
}

double sim_measured_rows_a_key(const struct fa_problem *p)
{
    if (p->nk < 1 || p->kv_heads < 1)
        return 0;
    return (double)(p->heads / p->kv_heads * p->nq) / (double)p->nk;
}

double sim_measured_reach(const struct sim_measured *m, int64_t first, int64_t n)
{
    double most = 0;
    for (int64_t i = first; i < first + n; i++) {
        if (!isfinite(m->weights[i]))
            return fmax(1, sqrt(sim_measured_rows_a_key(m->problem)));
        most = fmax(most, m->weights[i]);
    }
    return most < 1 ? most : sqrt(most);
}
