/*
 * Mistakes that are tried on dQ, dK and dV of a backward pass whose forward pass was right: P is
 * exp(S - LSE) and dS = P (dP - delta) with the right LSE and delta, as a kernel reads them, so a
 * key that is wrongly shown has a weight that the others do not make room for. Then the same with
 * LSE and delta of the mistake itself, as of a backward pass that computes its softmax again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/oracle.h"
#include "simulator/fault_parts.h"

enum { MOST_HEADS = 2 }; /* wrong K/V heads that are recomputed */

#define MOST_PRODUCTS 0x1p28
#define MOST_OWN_PRODUCTS 0x1p26 /* where the softmax is computed again */
#define FACTOR 1.5

/* One K/V head as doubles, and what its query heads' rows need. */
struct head_trial {
    const struct sim_fault_evidence *evidence;
    int64_t kv_head, group, n_rows; /* query rows: the evidence's for dQ, else all */
    const int64_t *rows;
    double *memory, *q, *k, *v, *dout; /* [group, n_rows, .] for q and dout */
    double *lse, *delta;               /* [group, n_rows] */
    double *o, *sum;                   /* O of a head; the output */
    int64_t *all_rows;
};

static void widen(const struct fa_tensor *from, int64_t batch, int64_t head, const int64_t *rows,
                  int64_t n, double *to)
{
    int64_t columns = from->shape[3];
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++)
            to[i * columns + c] = fa_tensor_get(from, batch, head, rows ? rows[i] : i, c);
}

static void give(struct head_trial *trial)
{
    free(trial->memory);
    free(trial->all_rows);
}

/* Places for all that a head needs; false without memory. */
static bool take(struct head_trial *trial)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t rows = trial->group * trial->n_rows, most = p->nq > p->nk ? p->nq : p->nk;
    int64_t sums = (trial->evidence->which == SIM_OUT_DQ ? rows : p->nk) * trial->evidence->columns;
    double all = (double)rows * (double)(p->d + p->dv + 2) +
                 (double)(p->nk + 1) * (double)(p->d + p->dv) +
                 (double)trial->n_rows * (double)p->dv + (double)sums;
    if (all > 0x1p30)
        return false;
    trial->memory = malloc(((size_t)all + 1) * sizeof(double));
    trial->all_rows = malloc((size_t)(most + 1) * sizeof *trial->all_rows);
    if (!trial->memory || !trial->all_rows)
        return false;
    trial->q = trial->memory;
    trial->dout = trial->q + rows * p->d;
    trial->lse = trial->dout + rows * p->dv;
    trial->delta = trial->lse + rows;
    trial->k = trial->delta + rows;
    trial->v = trial->k + p->nk * p->d;
    trial->o = trial->v + p->nk * p->dv;
    trial->sum = trial->o + trial->n_rows * p->dv;
    for (int64_t i = 0; i < most; i++)
        trial->all_rows[i] = i;
    return true;
}

static enum fa_status prepare(struct head_trial *trial, struct fa_error *error)
{
    const struct sim_fault_evidence *e = trial->evidence;
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    int64_t batch = trial->kv_head / p->kv_heads, head = trial->kv_head % p->kv_heads;
    int64_t n = trial->n_rows;
    if (!take(trial))
        return fa_fail(error, FA_NO_MEMORY, "no memory for a head's gradients");
    trial->rows = e->which == SIM_OUT_DQ ? e->rows : trial->all_rows;
    widen(t->k, batch, head, NULL, p->nk, trial->k);
    widen(t->v, batch, head, NULL, p->nk, trial->v);
    for (int64_t g = 0; g < trial->group; g++) {
        int64_t own = head * trial->group + g;
        double *dout = trial->dout + g * n * p->dv;
        widen(t->q, batch, own, trial->rows, n, trial->q + g * n * p->d);
        widen(t->dout, batch, own, trial->rows, n, dout);
        enum fa_status status = fa_oracle_rows(p, t->q, t->k, t->v, batch * p->heads + own,
                                               trial->rows, n, trial->o, trial->lse + g * n, error);
        if (status != FA_OK)
            return status;
        for (int64_t i = 0; i < n; i++) {
            double delta = 0;
            for (int64_t c = 0; c < p->dv; c++)
                delta += dout[i * p->dv + c] * trial->o[i * p->dv + c];
            trial->delta[g * n + i] = delta;
        }
    }
    return FA_OK;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

static void add(double *to, double factor, const double *from, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        to[c] += factor * from[c];
}

/* 1 over 1 - p for a weight that is kept, 0 for one that is not. */
static double keep_factor(const struct fa_problem *p, int64_t batch, int64_t head, int64_t row,
                          int64_t key)
{
    uint8_t keep = 1;
    if (!(p->dropout_p > 0))
        return 1;
    if (p->dropout_keep)
        keep = fa_tensor_get(p->dropout_keep, batch, head, row, key) != 0;
    else
        fa_dropout_bits(p, batch, head, row, key, 1, &keep);
    return keep ? fa_dropout_scale(p) : 0;
}

static double bias_of(const struct fa_problem *p, int64_t batch, int64_t head, int64_t row,
                      int64_t key)
{
    const struct fa_tensor *bias = p->bias;
    return bias ? fa_tensor_get(bias, fa_problem_batch(bias, batch), fa_problem_head(p, bias, head),
                                bias->shape[2] == 1 ? 0 : row, bias->shape[3] == 1 ? 0 : key)
                : 0;
}

/* One row of a query head under an alternative. */
struct row_trial {
    const struct head_trial *trial;
    const struct sim_fault_alternative *alternative;
    const double *q, *dout;
    int64_t batch, head, row, keys;
};

static struct row_trial row_of(const struct head_trial *trial,
                               const struct sim_fault_alternative *a, int64_t g, int64_t i)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t at = g * trial->n_rows + i;
    return (struct row_trial){
        .trial = trial,
        .alternative = a,
        .q = trial->q + at * p->d,
        .dout = trial->dout + at * p->dv,
        .batch = trial->kv_head / p->kv_heads,
        .head = trial->kv_head % p->kv_heads * trial->group + g,
        .row = trial->rows[i],
        .keys = p->nk + (a->more_keys < 0 ? a->more_keys : 0),
    };
}

/* -INFINITY where the key is not shown. */
static double score_of(const struct row_trial *r, int64_t key)
{
    const struct sim_theirs *t = r->trial->evidence->theirs;
    const struct fa_problem *p = t->problem;
    if (!sim_fault_shows(r->alternative, t, r->batch, r->head, r->row, key))
        return -INFINITY;
    return r->alternative->scale * dot(r->q, r->trial->k + key * p->d, p->d) +
           bias_of(p, r->batch, r->head, r->row, key);
}

static double keep_of(const struct row_trial *r, int64_t key)
{
    const struct fa_problem *p = r->trial->evidence->theirs->problem;
    return r->alternative->no_dropout ? 1 : keep_factor(p, r->batch, r->head, r->row, key);
}

/* LSE and delta of the row's own mistake; LSE is -INFINITY where it sees no key. */
static void solve_softmax(const struct row_trial *r, double *lse, double *delta)
{
    const struct fa_problem *p = r->trial->evidence->theirs->problem;
    double m = -INFINITY, l = 0, sum = 0;
    for (int64_t key = 0; key < r->keys; key++)
        m = fmax(m, score_of(r, key));
    for (int64_t key = 0; key < r->keys && isfinite(m); key++) {
        double weight = exp(score_of(r, key) - m), z = weight > 0 ? keep_of(r, key) : 0;
        l += weight;
        if (z > 0)
            sum += weight * z * dot(r->dout, r->trial->v + key * p->dv, p->dv);
    }
    *lse = m + log(l);
    *delta = sum / l;
}

/* What row i of the group's head g gives to the output. */
static void add_row(struct head_trial *trial, const struct sim_fault_alternative *a, int64_t g,
                    int64_t i)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    enum sim_output which = trial->evidence->which;
    const struct row_trial r = row_of(trial, a, g, i);
    int64_t at = g * trial->n_rows + i;
    const double *q = r.q, *dout = r.dout;
    double lse = trial->lse[at], delta = trial->delta[at];
    if (a->own_softmax)
        solve_softmax(&r, &lse, &delta);
    for (int64_t key = 0; key < r.keys && isfinite(lse); key++) {
        double weight = exp(score_of(&r, key) - lse);
        if (!(weight > 0))
            continue;
        double z = keep_of(&r, key);
        if (which == SIM_OUT_DV) {
            add(trial->sum + key * p->dv, weight * z, dout, p->dv);
            continue;
        }
        double dp = z > 0 ? z * dot(dout, trial->v + key * p->dv, p->dv) : 0;
        double scale = a->own_softmax ? a->scale : p->scale;
        double ds = scale * weight * (dp - (a->no_delta ? 0 : delta));
        if (which == SIM_OUT_DQ)
            add(trial->sum + at * p->d, ds, trial->k + key * p->d, p->d);
        else
            add(trial->sum + key * p->d, ds, q, p->d);
    }
}

/* Whether the output agrees with the mistake in this K/V head: within the budget, which grows with
 * the values, and clearly better than with the truth. */
static bool agrees(const struct head_trial *trial)
{
    const struct sim_fault_evidence *e = trial->evidence;
    bool dq = e->which == SIM_OUT_DQ;
    int64_t heads = dq ? trial->group : 1, first = trial->kv_head * heads;
    double most = 0, wrong = 0, error = 0;
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < e->n_rows; i++)
            for (int64_t c = 0; c < e->columns; c++) {
                int64_t row = dq ? h * e->n_rows + i : e->rows[i];
                double made = trial->sum[row * e->columns + c];
                double got = sim_fault_got(e, e->got, first + h, i, c);
                most = fmax(most, fabs(made));
                wrong = fmax(wrong, fabs(got - sim_fault_right(e, first + h, i, c)));
                if (!(fabs(got - made) <= error))
                    error = isfinite(got - made) ? fabs(got - made) : INFINITY;
            }
    double growth = e->most_right > 0 ? fmax(1, most / e->most_right) : 1;
    return error <= FACTOR * growth * e->budget && 2 * error <= wrong;
}

static bool holds(struct head_trial *trial, const struct sim_fault_alternative *a)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t sums = trial->evidence->which == SIM_OUT_DQ ? trial->group * trial->n_rows : p->nk;
    memset(trial->sum, 0, (size_t)(sums * trial->evidence->columns) * sizeof *trial->sum);
    for (int64_t g = a->one_head ? trial->group - 1 : 0; g < trial->group; g++)
        for (int64_t i = 0; i < trial->n_rows; i++)
            if (trial->rows[i] < p->nq - a->fewer_rows)
                add_row(trial, a, g, i);
    return agrees(trial);
}

/* Those that a backward pass can make on its own: masks, tiles, the scale of S; and three more. */
static int list_alternatives(const struct sim_fault_evidence *e,
                             struct sim_fault_alternative list[SIM_MOST_ALTERNATIVES])
{
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    const struct sim_fault_alternative right = sim_fault_alternative_none(t);
    int all = sim_fault_alternatives_list(t, list), n = 0;
    for (int i = 0; i < all; i++)
        if (list[i].more_keys <= 0 && !list[i].heads_modulo && !list[i].first_head &&
            !list[i].first_batch && !list[i].other_layout && !list[i].k_transposed &&
            !list[i].v_transposed)
            list[n++] = list[i];
    int64_t over = p->nq % t->br;
    if (over > 0 && p->nq > over && e->which != SIM_OUT_DQ) {
        list[n] = right;
        list[n].fault = SIM_FAULT_LAST_TILE;
        list[n].look = "the ragged last tile of queries is left out of the sum over rows (Nq % Br)";
        list[n++].fewer_rows = over;
    }
    list[n] = right;
    list[n].fault = SIM_FAULT_OTHER;
    list[n].look = "right without delta: dS = P dP, where dS = P (dP - delta) is meant";
    list[n++].no_delta = true;
    if (p->heads > p->kv_heads && e->which != SIM_OUT_DQ) {
        list[n] = right;
        list[n].fault = SIM_FAULT_OTHER;
        list[n].look =
            "right for the last query head of each group alone: dK and dV are sums over the "
            "group, and are overwritten";
        list[n++].one_head = true;
    }
    return n;
}

static bool is_head_wrong(const struct sim_fault_evidence *e, int64_t kv_head, int64_t group)
{
    int64_t heads = e->which == SIM_OUT_DQ ? group : 1;
    for (int64_t i = kv_head * heads * e->n_rows; i < (kv_head + 1) * heads * e->n_rows; i++)
        if (e->wrong[i] > 0)
            return true;
    return false;
}

enum fa_status sim_fault_try_backward(const struct sim_fault_evidence *evidence,
                                      const struct fa_watch *watch,
                                      struct sim_fault_finding *finding, struct fa_error *error)
{
    const struct fa_problem *p = evidence->theirs->problem;
    struct sim_fault_alternative list[SIM_MOST_ALTERNATIVES];
    struct head_trial trials[MOST_HEADS] = {{0}};
    enum fa_status status = FA_OK;
    int64_t group = p->heads / p->kv_heads;
    int64_t n_rows = evidence->which == SIM_OUT_DQ ? evidence->n_rows : p->nq;
    int n_trials = 0, n = list_alternatives(evidence, list);
    double products = (double)group * (double)n_rows * (double)p->nk * (double)(p->d + p->dv);
    if (products > MOST_PRODUCTS)
        return FA_OK;
    for (int64_t head = 0; head < p->batch * p->kv_heads && n_trials < MOST_HEADS; head++) {
        if (!is_head_wrong(evidence, head, group))
            continue;
        struct head_trial *trial = &trials[n_trials++];
        *trial = (struct head_trial){
            .evidence = evidence, .kv_head = head, .group = group, .n_rows = n_rows};
        status = prepare(trial, error);
        if (status != FA_OK)
            goto done;
    }
    int all = products > MOST_OWN_PRODUCTS ? n : 2 * n;
    for (int i = 0; i < all && finding->fault == SIM_FAULT_NONE; i++) {
        struct sim_fault_alternative tried = list[i % n];
        bool good = n_trials > 0;
        tried.own_softmax = i >= n;
        for (int h = 0; h < n_trials && good; h++)
            good = holds(&trials[h], &tried);
        if (watch && watch->tick && !watch->tick(watch->context, (double)(i + 1) / (double)all)) {
            status = fa_fail(error, FA_CANCELLED, "stopped before the fault was found");
            goto done;
        }
        if (good)
            sim_fault_found(finding, tried.fault, "%s%s", tried.look,
                            tried.own_softmax ? " (in a softmax of the backward pass's own)" : "");
    }
done:
    for (int h = 0; h < n_trials; h++)
        give(&trials[h]);
    return status;
}
