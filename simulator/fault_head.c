#include "simulator/fault_head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/oracle.h"

#define MOST_DOTS 0x1p23 /* pairs of a row and a key whose products are kept */
#define FACTOR 1.5

static void widen(const struct fa_tensor *from, int64_t batch, int64_t head, const int64_t *rows,
                  int64_t n, double *to)
{
    int64_t columns = from->shape[3];
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++)
            to[i * columns + c] = fa_tensor_get(from, batch, head, rows ? rows[i] : i, c);
}

void sim_head_trial_free(struct sim_head_trial *trial)
{
    free(trial->memory);
    free(trial->qk);
    free(trial->all_rows);
}

/* Places for all that a head needs; false without memory. */
static bool take(struct sim_head_trial *trial)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t rows = trial->group * trial->n_rows, most = p->nq > p->nk ? p->nq : p->nk;
    int64_t sums = (trial->evidence->which == SIM_OUT_DQ ? rows : p->nk) * trial->evidence->columns;
    double all = (double)rows * (double)(p->d + p->dv + 2) +
                 (double)(p->nk + 1) * (double)(p->d + p->dv) +
                 (double)trial->n_rows * (double)p->dv + (double)p->nk + (double)sums;
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
    trial->scores = trial->o + trial->n_rows * p->dv;
    trial->sum = trial->scores + p->nk;
    for (int64_t i = 0; i < most; i++)
        trial->all_rows[i] = i;
    return true;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* A softmax of the mistake's own needs all keys of each row, however few of them are looked at: the
 * products are the same for every mistake. Without the memory they are made each time. */
static void keep_products(struct sim_head_trial *trial)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t rows = trial->group * trial->n_rows;
    double pairs = (double)rows * (double)p->nk;
    if (trial->evidence->which == SIM_OUT_DQ || pairs > MOST_DOTS ||
        pairs * (double)(p->d + p->dv) > SIM_HEAD_OWN_PRODUCTS)
        return;
    double *kept = malloc((2 * (size_t)pairs + 1) * sizeof *kept);
    if (!kept)
        return;
    trial->qk = kept;
    trial->dov = kept + rows * p->nk;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t key = 0; key < p->nk; key++) {
            int64_t at = row * p->nk + key;
            trial->qk[at] = dot(trial->q + row * p->d, trial->k + key * p->d, p->d);
            trial->dov[at] = dot(trial->dout + row * p->dv, trial->v + key * p->dv, p->dv);
        }
}

/* The worst of the rows, and others spread evenly over them. */
static void choose_probes(struct sim_head_trial *trial)
{
    const struct sim_fault_evidence *e = trial->evidence;
    int64_t heads = e->which == SIM_OUT_DQ ? trial->group : 1, first = trial->kv_head * heads;
    struct sim_head_probes *probes = &trial->probes;
    int64_t worst = 0;
    for (int64_t h = first; h < first + heads; h++)
        for (int64_t i = 0; i < e->n_rows; i++)
            for (int64_t c = 0; c < e->columns; c++) {
                double got = sim_fault_got(e, e->got, h, i, c);
                double off = fabs(got - sim_fault_right(e, h, i, c));
                trial->most_got =
                    isfinite(got) ? fmax(trial->most_got, fabs(got)) : trial->most_got;
                if (!(off > trial->most_wrong))
                    continue;
                trial->most_wrong = off;
                worst = i;
            }
    probes->at[probes->n++] = worst;
    for (int64_t n = 0; n < SIM_HEAD_PROBES - 1; n++) {
        int64_t i = n * (e->n_rows - 1) / (SIM_HEAD_PROBES - 2);
        if (i != worst && (probes->n == 1 || probes->at[probes->n - 1] < i))
            probes->at[probes->n++] = i;
    }
}

enum fa_status sim_head_trial_fill(struct sim_head_trial *trial, struct fa_error *error)
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
    keep_products(trial);
    choose_probes(trial);
    return FA_OK;
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
    const struct sim_head_trial *trial;
    const struct sim_fault_alternative *alternative;
    const double *q, *dout;
    int64_t batch, head, row, keys;
    int64_t at; /* counting the group's rows */
};

static struct row_trial row_of(const struct sim_head_trial *trial,
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
        .at = at,
    };
}

/* -INFINITY where the key is not shown. */
static double score_of(const struct row_trial *r, int64_t key)
{
    const struct sim_theirs *t = r->trial->evidence->theirs;
    const struct fa_problem *p = t->problem;
    if (!sim_fault_shows(r->alternative, t, r->batch, r->head, r->row, key))
        return -INFINITY;
    double product = r->trial->qk ? r->trial->qk[r->at * p->nk + key]
                                  : dot(r->q, r->trial->k + key * p->d, p->d);
    return r->alternative->scale * product + bias_of(p, r->batch, r->head, r->row, key);
}

/* dO times V of the key. */
static double dov_of(const struct row_trial *r, int64_t key)
{
    const struct fa_problem *p = r->trial->evidence->theirs->problem;
    return r->trial->dov ? r->trial->dov[r->at * p->nk + key]
                         : dot(r->dout, r->trial->v + key * p->dv, p->dv);
}

static double keep_of(const struct row_trial *r, int64_t key)
{
    const struct fa_problem *p = r->trial->evidence->theirs->problem;
    return r->alternative->no_dropout ? 1 : keep_factor(p, r->batch, r->head, r->row, key);
}

/* LSE and delta of the row's own mistake; LSE is -INFINITY where it sees no key. */
static void solve_softmax(const struct row_trial *r, double *lse, double *delta)
{
    double m = -INFINITY, l = 0, sum = 0, *scores = r->trial->scores;
    for (int64_t key = 0; key < r->keys; key++) {
        scores[key] = score_of(r, key);
        m = fmax(m, scores[key]);
    }
    for (int64_t key = 0; key < r->keys && isfinite(m); key++) {
        double weight = scores[key] > -INFINITY ? exp(scores[key] - m) : 0;
        double z = weight > 0 ? keep_of(r, key) : 0;
        l += weight;
        if (z > 0)
            sum += weight * z * dov_of(r, key);
    }
    *lse = m + log(l);
    *delta = sum / l;
}

/* What row i of the group's head g gives to the output: to those keys of dK and dV. */
static void add_row(struct sim_head_trial *trial, const struct sim_fault_alternative *a, int64_t g,
                    int64_t i, const struct sim_head_probes *few)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    enum sim_output which = trial->evidence->which;
    const struct row_trial r = row_of(trial, a, g, i);
    int64_t at = g * trial->n_rows + i;
    const double *q = r.q, *dout = r.dout;
    double lse = trial->lse[at], delta = trial->delta[at];
    if (a->own_softmax)
        solve_softmax(&r, &lse, &delta);
    bool all = few->n == 0 || which == SIM_OUT_DQ;
    int64_t n = isfinite(lse) ? (all ? r.keys : few->n) : 0;
    for (int64_t nth = 0; nth < n; nth++) {
        int64_t key = all ? nth : trial->evidence->rows[few->at[nth]];
        double score = key < r.keys ? score_of(&r, key) : -INFINITY;
        double weight = score > -INFINITY ? exp(score - lse) : 0;
        if (!(weight > 0))
            continue;
        double z = keep_of(&r, key);
        if (which == SIM_OUT_DV) {
            add(trial->sum + key * p->dv, weight * z, dout, p->dv);
            continue;
        }
        double dp = z > 0 ? z * dov_of(&r, key) : 0;
        double scale = a->own_softmax ? a->scale : p->scale;
        double ds = scale * weight * (dp - (a->no_delta ? 0 : delta));
        if (which == SIM_OUT_DQ)
            add(trial->sum + at * p->d, ds, trial->k + key * p->d, p->d);
        else
            add(trial->sum + key * p->d, ds, q, p->d);
    }
}

/* How far the output is from the mistake's, and the largest of those. */
struct fit {
    double error, most;
};

static struct fit fit_of(const struct sim_head_trial *trial, const struct sim_head_probes *few)
{
    const struct sim_fault_evidence *e = trial->evidence;
    bool dq = e->which == SIM_OUT_DQ;
    int64_t heads = dq ? trial->group : 1, first = trial->kv_head * heads;
    int64_t n = few->n > 0 ? few->n : e->n_rows;
    struct fit fit = {0, 0};
    for (int64_t h = 0; h < heads; h++)
        for (int64_t nth = 0; nth < n; nth++) {
            int64_t i = few->n > 0 ? few->at[nth] : nth, row = dq ? h * e->n_rows + i : e->rows[i];
            for (int64_t c = 0; c < e->columns; c++) {
                double made = trial->sum[row * e->columns + c];
                double off = fabs(sim_fault_got(e, e->got, first + h, i, c) - made);
                fit.most = fmax(fit.most, fabs(made));
                if (!(off <= fit.error))
                    fit.error = isfinite(off) ? off : INFINITY;
            }
        }
    return fit;
}

/* The mistake's output in some rows, or all. */
static struct fit solve(struct sim_head_trial *trial, const struct sim_fault_alternative *a,
                        const struct sim_head_probes *few)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    bool dq = trial->evidence->which == SIM_OUT_DQ;
    int64_t sums = dq ? trial->group * trial->n_rows : p->nk;
    int64_t n = dq && few->n > 0 ? few->n : trial->n_rows;
    memset(trial->sum, 0, (size_t)(sums * trial->evidence->columns) * sizeof *trial->sum);
    for (int64_t g = a->one_head ? trial->group - 1 : 0; g < trial->group; g++)
        for (int64_t nth = 0; nth < n; nth++) {
            int64_t i = dq && few->n > 0 ? few->at[nth] : nth;
            if (trial->rows[i] < p->nq - a->fewer_rows)
                add_row(trial, a, g, i, few);
        }
    return fit_of(trial, few);
}

/* What holds for all rows holds for a few of them, and no value of a mistake that holds is larger
 * than theirs by more than its error: so a few rows tell most mistakes from theirs, and none is lost
 * by that. */
bool sim_head_trial_holds(struct sim_head_trial *trial, const struct sim_fault_alternative *a)
{
    const struct sim_fault_evidence *e = trial->evidence;
    const struct sim_head_probes all = {0, {0}};
    double most_error = trial->most_wrong / 2, most = 1.001 * (trial->most_got + most_error);
    double growth = e->most_right > 0 ? fmax(1, most / e->most_right) : 1;
    struct fit fit = solve(trial, a, &trial->probes);
    if (fit.error > fmin(most_error, FACTOR * growth * e->budget))
        return false;
    fit = solve(trial, a, &all);
    growth = e->most_right > 0 ? fmax(1, fit.most / e->most_right) : 1;
    return fit.error <= FACTOR * growth * e->budget && fit.error <= most_error;
}
