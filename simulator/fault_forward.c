/*
 * Mistakes that are tried on O and LSE: the oracle makes them too, on few rows, and the check
 * (check.h) says whether the output agrees with that. Everything a mask says is put into one
 * element mask, so that any rule can be broken in it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/oracle.h"
#include "simulator/fault_parts.h"

enum {
    PROBES = 64,
    WRONG_PROBES = 48,
    FIRST_PROBES = 8 /* of one head, which a mistake must fit before it is tried on all */
};

#define FACTOR 1.5 /* few rows: the naive run's largest error is a little smaller on them */
#define MOST_MASK_BYTES (INT64_C(1) << 28)

/* The problem with few rows, whose tensors it owns but for K and V where they are as they were. */
struct trial {
    const struct sim_fault_evidence *evidence;
    const struct sim_fault_alternative *alternative;
    int64_t places[PROBES], n; /* indices into the evidence's rows */
    int64_t worst_head;
    double most_wrong; /* the largest error against the truth on those rows */
    struct fa_problem problem;
    struct fa_tensor q, k, v, o, lse, mask, bias, keep;
};

static bool is_row_wrong(const struct sim_fault_evidence *e, int64_t i)
{
    for (int64_t head = 0; head < e->heads; head++)
        if (e->wrong[head * e->n_rows + i] > 0)
            return true;
    return false;
}

/* Takes up to `most` of the rows that are wrong in some head, or of those that are wrong in none:
 * the first, the last, and others spread evenly between them. */
static void pick(const struct sim_fault_evidence *e, bool wrong, int64_t most, bool *taken)
{
    int64_t n = 0, seen = 0;
    for (int64_t i = 0; i < e->n_rows; i++)
        n += is_row_wrong(e, i) == wrong;
    for (int64_t i = 0; i < e->n_rows; i++) {
        if (is_row_wrong(e, i) != wrong)
            continue;
        bool step = (seen + 1) * (most - 1) / n != seen * (most - 1) / n;
        taken[i] = taken[i] || n <= most || seen == 0 || step;
        seen++;
    }
}

static bool choose_places(struct trial *trial)
{
    const struct sim_fault_evidence *e = trial->evidence;
    bool *taken = calloc((size_t)e->n_rows + 1, sizeof *taken);
    if (!taken)
        return false;
    pick(e, true, WRONG_PROBES, taken);
    pick(e, false, PROBES - WRONG_PROBES, taken);
    trial->n = 0;
    for (int64_t i = 0; i < e->n_rows && trial->n < PROBES; i++)
        if (taken[i])
            trial->places[trial->n++] = i;
    free(taken);
    return true;
}

/* The head of the problem that stands at `head` of the trial. Reading heads modulo the K/V heads is
 * the same as grouping the query heads in another order. */
static int64_t head_at(const struct trial *trial, int64_t head)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    int64_t group = p->heads / p->kv_heads;
    if (!trial->alternative->heads_modulo)
        return head;
    return head % group * p->kv_heads + head / group;
}

/* Few rows of a tensor of query heads, [batch, heads, n, columns] in f64. */
static enum fa_status gather(const struct trial *trial, const struct fa_tensor *from,
                             struct fa_tensor *to, struct fa_error *error)
{
    const struct sim_fault_evidence *e = trial->evidence;
    struct fa_tensor view = *from;
    const int64_t shape[4] = {from->shape[0], from->shape[1], trial->n, from->shape[3]};
    enum fa_status status = fa_tensor_create(to, FA_F64, shape, error);
    if (status == FA_OK && trial->alternative->other_layout)
        sim_fault_view_layout(from, &view);
    for (int64_t b = 0; b < shape[0] && status == FA_OK; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t i = 0; i < shape[2]; i++)
                for (int64_t c = 0; c < shape[3]; c++)
                    fa_tensor_set(
                        to, b, h, i, c,
                        fa_tensor_get(&view, b, head_at(trial, h), e->rows[trial->places[i]], c));
    return status;
}

/* K or V as the alternative reads them. */
static enum fa_status take_keys(const struct trial *trial, const struct fa_tensor *from,
                                bool transposed, struct fa_tensor *to, struct fa_error *error)
{
    const struct sim_fault_alternative *a = trial->alternative;
    struct fa_tensor view = *from;
    const int64_t shape[4] = {from->shape[0], from->shape[1], from->shape[2] + a->more_keys,
                              from->shape[3]};
    if (a->other_layout)
        sim_fault_view_layout(from, &view);
    if (transposed)
        sim_fault_view_transposed(from, &view);
    if (a->first_head)
        view.stride[1] = 0;
    if (a->first_batch)
        view.stride[0] = 0;
    view.shape[2] = shape[2];
    view.memory = NULL;
    *to = view;
    if (a->more_keys <= 0)
        return FA_OK;
    enum fa_status status = fa_tensor_create(to, from->dtype, shape, error);
    for (int64_t b = 0; b < shape[0] && status == FA_OK; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t j = 0; j < shape[2]; j++)
                for (int64_t c = 0; c < shape[3]; c++) {
                    int64_t key = j < from->shape[2] ? j : from->shape[2] - 1;
                    bool zero = j > key && !a->repeat_last;
                    fa_tensor_set(to, b, h, j, c, zero ? 0 : fa_tensor_get(&view, b, h, key, c));
                }
    return status;
}

static enum fa_status take_mask(struct trial *trial, struct fa_error *error)
{
    const struct sim_fault_evidence *e = trial->evidence;
    const struct fa_problem *p = e->theirs->problem;
    const struct fa_tensor *mask = p->mask;
    const int64_t shape[4] = {mask ? mask->shape[0] : 1, mask && mask->shape[1] > 1 ? p->heads : 1,
                              trial->n, trial->problem.nk};
    enum fa_status status = fa_tensor_create(&trial->mask, FA_U8, shape, error);
    for (int64_t b = 0; b < shape[0] && status == FA_OK; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t i = 0; i < shape[2]; i++)
                for (int64_t j = 0; j < shape[3]; j++)
                    fa_tensor_set(&trial->mask, b, h, i, j,
                                  sim_fault_shows(trial->alternative, e->theirs, b,
                                                  head_at(trial, h), e->rows[trial->places[i]], j));
    trial->problem.mask = &trial->mask;
    return status;
}

/* A padded key has a bias of 0. */
static enum fa_status take_bias(struct trial *trial, struct fa_error *error)
{
    const struct sim_fault_evidence *e = trial->evidence;
    const struct fa_problem *p = e->theirs->problem;
    const struct fa_tensor *bias = p->bias;
    if (!bias)
        return FA_OK;
    const int64_t shape[4] = {bias->shape[0], bias->shape[1] > 1 ? p->heads : 1, trial->n,
                              trial->problem.nk};
    enum fa_status status = fa_tensor_create(&trial->bias, FA_F64, shape, error);
    for (int64_t b = 0; b < shape[0] && status == FA_OK; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t i = 0; i < shape[2]; i++)
                for (int64_t j = 0; j < shape[3]; j++) {
                    int64_t row = bias->shape[2] == 1 ? 0 : e->rows[trial->places[i]];
                    double value =
                        j >= p->nk
                            ? 0
                            : fa_tensor_get(bias, b, fa_problem_head(p, bias, head_at(trial, h)),
                                            row, bias->shape[3] == 1 ? 0 : j);
                    fa_tensor_set(&trial->bias, b, h, i, j, value);
                }
    trial->problem.bias = &trial->bias;
    return status;
}

/* The bits of the rows' own places; a padded key's weight is kept. */
static enum fa_status take_keep(struct trial *trial, struct fa_error *error)
{
    const struct sim_fault_evidence *e = trial->evidence;
    const struct fa_problem *p = e->theirs->problem;
    const int64_t shape[4] = {p->batch, p->heads, trial->n, trial->problem.nk};
    if (trial->alternative->no_dropout) {
        trial->problem.dropout_p = 0;
        trial->problem.dropout_keep = NULL;
    }
    if (!(trial->problem.dropout_p > 0))
        return FA_OK;
    enum fa_status status = fa_tensor_create(&trial->keep, FA_U8, shape, error);
    for (int64_t b = 0; b < shape[0] && status == FA_OK; b++)
        for (int64_t h = 0; h < shape[1]; h++)
            for (int64_t i = 0; i < shape[2]; i++)
                for (int64_t j = 0; j < shape[3]; j++) {
                    uint8_t keep = 1;
                    int64_t own = head_at(trial, h), row = e->rows[trial->places[i]];
                    if (p->dropout_keep && j < p->nk)
                        keep = fa_tensor_get(p->dropout_keep, b, own, row, j) != 0;
                    else if (!p->dropout_keep)
                        fa_dropout_bits(p, b, own, row, j, 1, &keep);
                    fa_tensor_set(&trial->keep, b, h, i, j, keep);
                }
    trial->problem.dropout_keep = &trial->keep;
    return status;
}

static void trial_free(struct trial *trial)
{
    fa_tensor_free(&trial->q);
    fa_tensor_free(&trial->k);
    fa_tensor_free(&trial->v);
    fa_tensor_free(&trial->o);
    fa_tensor_free(&trial->lse);
    fa_tensor_free(&trial->mask);
    fa_tensor_free(&trial->bias);
    fa_tensor_free(&trial->keep);
}

/* Whether the masks of the trial are small enough to be worth it. */
static bool trial_fits(const struct trial *trial)
{
    const struct fa_problem *p = trial->evidence->theirs->problem;
    bool by_head = (p->mask && (p->mask->shape[0] > 1 || p->mask->shape[1] > 1)) || p->bias ||
                   p->dropout_p > 0;
    double bytes = (double)(p->nk + SIM_MOST_ALTERNATIVES) * (double)trial->n *
                   (by_head ? (double)(p->batch * p->heads) : 1);
    return bytes <= (double)MOST_MASK_BYTES;
}

static enum fa_status trial_make(struct trial *trial, struct fa_error *error)
{
    const struct sim_theirs *t = trial->evidence->theirs;
    trial->problem = *t->problem;
    trial->problem.nq = trial->n;
    trial->problem.nk += trial->alternative->more_keys;
    trial->problem.scale = trial->alternative->scale;
    trial->problem.causal = FA_CAUSAL_NONE;
    trial->problem.window_left = trial->problem.window_right = -1;
    trial->problem.blocks = NULL;
    enum fa_status status = gather(trial, t->q, &trial->q, error);
    if (status == FA_OK)
        status = gather(trial, t->output[SIM_OUT_O], &trial->o, error);
    if (status == FA_OK && trial->evidence->which == SIM_OUT_LSE)
        status = gather(trial, t->output[SIM_OUT_LSE], &trial->lse, error);
    if (status == FA_OK)
        status = take_keys(trial, t->k, trial->alternative->k_transposed, &trial->k, error);
    if (status == FA_OK)
        status = take_keys(trial, t->v, trial->alternative->v_transposed, &trial->v, error);
    if (status == FA_OK)
        status = take_mask(trial, error);
    if (status == FA_OK)
        status = take_bias(trial, error);
    if (status == FA_OK)
        status = take_keep(trial, error);
    return status;
}

/* The largest error against the truth on the rows that are tried, and where; the place of that row
 * comes first. */
static void find_worst(struct trial *trial)
{
    const struct sim_fault_evidence *e = trial->evidence;
    int64_t worst = 0;
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < trial->n; i++)
            for (int64_t c = 0; c < e->columns; c++) {
                double off = fabs(sim_fault_got(e, e->got, head, trial->places[i], c) -
                                  sim_fault_right(e, head, trial->places[i], c));
                if (!(off > trial->most_wrong))
                    continue;
                trial->most_wrong = off;
                trial->worst_head = head;
                worst = i;
            }
    int64_t first = trial->places[0];
    trial->places[0] = trial->places[worst];
    trial->places[worst] = first;
}

/* A mistake that holds is at most half as far from theirs as the truth is, so that a few rows of
 * one head tell most mistakes from theirs, and none is lost by that. */
static enum fa_status trial_is_far(const struct trial *trial, bool *far, struct fa_error *error)
{
    struct trial few = *trial;
    const struct fa_tensor *got = trial->evidence->which == SIM_OUT_LSE ? &few.lse : &few.o;
    int64_t rows[FIRST_PROBES], columns = trial->evidence->columns, heads = few.problem.heads;
    double *o = malloc((size_t)(FIRST_PROBES * few.problem.dv + 1) * sizeof *o);
    double lse[FIRST_PROBES];
    *far = false;
    few.n = 0;
    for (int64_t i = 0; i < FIRST_PROBES && i < trial->n; i++) {
        few.places[i] = trial->places[i == 0 ? 0 : i * (trial->n - 1) / (FIRST_PROBES - 1)];
        rows[few.n++] = i;
    }
    enum fa_status status = o ? trial_make(&few, error)
                              : fa_fail(error, FA_NO_MEMORY, "no memory for the rows of a mistake");
    if (status == FA_OK)
        status = fa_oracle_rows(&few.problem, &few.q, &few.k, &few.v, few.worst_head, rows, few.n,
                                o, lse, error);
    const double *made = got == &few.lse ? lse : o;
    for (int64_t i = 0; status == FA_OK && i < few.n; i++)
        for (int64_t c = 0; c < columns; c++)
            *far = *far || 2 * fabs(fa_tensor_get(got, few.worst_head / heads,
                                                  few.worst_head % heads, i, c) -
                                    made[i * columns + c]) >
                               trial->most_wrong;
    trial_free(&few);
    free(o);
    return status;
}

/* Whether the output, O or LSE, agrees with the oracle's own mistake. */
static enum fa_status trial_run(struct trial *trial, const struct fa_watch *watch, bool *holds,
                                struct fa_error *error)
{
    struct sim_check check;
    bool far;
    enum fa_status status = trial_is_far(trial, &far, error);
    if (status != FA_OK || far)
        return status;
    status = trial_make(trial, error);
    if (status == FA_OK)
        status = sim_check_forward(&trial->problem, &trial->q, &trial->k, &trial->v, &trial->o,
                                   &trial->lse, SIM_CHECK_FULL, FACTOR, trial->evidence->threads,
                                   watch, &check, error);
    if (status == FA_OK && trial->evidence->which == SIM_OUT_LSE)
        *holds = fa_comparison_within(&check.lse, check.lse_budget) &&
                 2 * check.lse.max_abs_error <= trial->most_wrong;
    else if (status == FA_OK)
        *holds = check.pass && 2 * check.o.max_abs_error <= trial->most_wrong;
    trial_free(trial);
    return status;
}

enum fa_status sim_fault_try_forward(const struct sim_fault_evidence *evidence,
                                     const struct fa_watch *watch,
                                     struct sim_fault_finding *finding, struct fa_error *error)
{
    struct sim_fault_alternative list[SIM_MOST_ALTERNATIVES];
    struct trial chosen = {.evidence = evidence, .problem = *evidence->theirs->problem};
    enum fa_status status = FA_OK;
    int n = sim_fault_alternatives_list(evidence->theirs, list);
    if (!choose_places(&chosen))
        return fa_fail(error, FA_NO_MEMORY, "no memory to choose the rows that are tried");
    if (!trial_fits(&chosen))
        return FA_OK;
    find_worst(&chosen);
    for (int i = 0; i < n && status == FA_OK; i++) {
        struct trial trial = chosen;
        bool holds = false;
        trial.alternative = &list[i];
        status = trial_run(&trial, watch, &holds, error);
        if (status == FA_OK && watch && watch->tick && !watch->tick(watch->context, 1))
            status = fa_fail(error, FA_CANCELLED, "stopped before the fault was found");
        if (status == FA_OK && holds) {
            sim_fault_found(finding, list[i].fault, "%s", list[i].look);
            return FA_OK;
        }
    }
    return status;
}
