/* The rows of one wrong output beside the oracle's, and which of their elements are wrong. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/naive.h"
#include "reference/oracle.h"
#include "simulator/fault_parts.h"

enum { CHUNK_ROWS = SIM_CHECK_PART_ROWS };

bool sim_fault_is_of_keys(enum sim_output which)
{
    return which == SIM_OUT_DK || which == SIM_OUT_DV;
}

int64_t sim_fault_output_heads(const struct sim_theirs *theirs, enum sim_output which)
{
    const struct fa_problem *p = theirs->problem;
    return p->batch * (sim_fault_is_of_keys(which) ? p->kv_heads : p->heads);
}

int64_t sim_fault_output_rows(const struct sim_theirs *theirs, enum sim_output which)
{
    return sim_fault_is_of_keys(which) ? theirs->problem->nk : theirs->problem->nq;
}

int64_t sim_fault_compared_rows(const struct sim_theirs *theirs, enum sim_output which, bool full)
{
    bool forward = which == SIM_OUT_O || which == SIM_OUT_LSE;
    int64_t n = sim_fault_output_rows(theirs, which);
    return full || n <= (forward ? SIM_CHECK_ALL_ROWS : SIM_CHECK_ALL_GRADIENTS)
               ? n
               : SIM_CHECK_SAMPLED_ROWS;
}

bool sim_fault_is_wrong(double got, double right, double budget)
{
    if (isnan(got) || isnan(right))
        return isnan(got) != isnan(right);
    if (isinf(got) || isinf(right))
        return got != right;
    return !(fabs(got - right) <= budget);
}

double sim_fault_got(const struct sim_fault_evidence *evidence, const struct fa_tensor *view,
                     int64_t head, int64_t i, int64_t c)
{
    int64_t heads = view->shape[1];
    return fa_tensor_get(view, head / heads, head % heads, evidence->rows[i], c);
}

double sim_fault_right(const struct sim_fault_evidence *evidence, int64_t head, int64_t i,
                       int64_t c)
{
    return evidence->right[(head * evidence->n_rows + i) * evidence->columns + c];
}

bool sim_fault_view_is_right(const struct sim_fault_evidence *e, const struct fa_tensor *view,
                             double factor)
{
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < e->n_rows; i++)
            for (int64_t c = 0; c < e->columns; c++)
                if (sim_fault_is_wrong(factor * sim_fault_got(e, view, head, i, c),
                                       sim_fault_right(e, head, i, c),
                                       e->budget * fmax(1, fabs(factor))))
                    return false;
    return true;
}

/* Strides of contiguous elements whose axes come in the order given. */
static void set_strides(struct fa_tensor *view, const int order[4])
{
    int64_t stride = 1;
    for (int at = 3; at >= 0; at--) {
        view->stride[order[at]] = stride;
        stride *= view->shape[order[at]];
    }
}

static bool has_order(const struct fa_tensor *tensor, const int order[4])
{
    struct fa_tensor view = *tensor;
    set_strides(&view, order);
    for (int axis = 0; axis < 4; axis++)
        if (tensor->shape[axis] > 1 && tensor->stride[axis] != view.stride[axis])
            return false;
    return true;
}

static const int bhsd[4] = {0, 1, 2, 3}, bshd[4] = {0, 2, 1, 3}, bhds[4] = {0, 1, 3, 2};

bool sim_fault_view_layout(const struct fa_tensor *tensor, struct fa_tensor *view)
{
    if (tensor->shape[1] < 2 || tensor->shape[2] < 2)
        return false;
    *view = *tensor;
    set_strides(view, has_order(tensor, bhsd) ? bshd : bhsd);
    return has_order(tensor, bhsd) || has_order(tensor, bshd);
}

bool sim_fault_view_transposed(const struct fa_tensor *tensor, struct fa_tensor *view)
{
    if (tensor->shape[2] < 2 || tensor->shape[3] < 2)
        return false;
    *view = *tensor;
    set_strides(view, bhds);
    return has_order(tensor, bhsd) || has_order(tensor, bshd);
}

/* The rows to look at: all, or those that the check samples in the worst element's head, with the
 * worst's own, which a scan may have found elsewhere, in place of the next one. */
static void list_rows(struct sim_fault_evidence *e, const int64_t worst[4], int64_t n)
{
    const struct fa_problem *p = e->theirs->problem;
    int64_t head = worst[0] * (e->heads / (p->batch > 0 ? p->batch : 1)) + worst[1];
    int64_t enter = p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq;
    const int64_t edges[] = {0, p->nk - 1, enter - 1, enter, enter + p->nq - 1, enter + p->nq};
    if (e->n_rows == n)
        for (int64_t i = 0; i < n; i++)
            e->rows[i] = i;
    else if (sim_fault_is_of_keys(e->which))
        sim_check_sample_axis(n, edges, 6, head, e->rows);
    else if (e->which == SIM_OUT_DQ) /* sampled by the K/V head */
        sim_check_sample(p, head / (p->heads / p->kv_heads), e->rows);
    else
        sim_check_sample(p, head, e->rows);
    int64_t at = 0;
    while (at < e->n_rows && e->rows[at] < worst[2])
        at++;
    if (at < e->n_rows && worst[2] >= 0)
        e->rows[at] = worst[2];
}

/* Who answers: the oracle, or the naive run, whose NaN excuse theirs (check.h). */
enum source { ORACLE, NAIVE };

/* A job is 64 rows of one query head of O or LSE, or one K/V head of a gradient. */
static int64_t count_jobs(const struct sim_fault_evidence *e)
{
    const struct fa_problem *p = e->theirs->problem;
    bool forward = e->which == SIM_OUT_O || e->which == SIM_OUT_LSE;
    return forward ? e->heads * sim_check_parts_of(e->n_rows) : p->batch * p->kv_heads;
}

/* The job's first row, counting those of all heads; returns how many. */
static int64_t rows_of_job(const struct sim_fault_evidence *e, int64_t job, int64_t *first)
{
    const struct fa_problem *p = e->theirs->problem;
    int64_t chunks = sim_check_parts_of(e->n_rows), in_head = job % chunks * CHUNK_ROWS;
    int64_t heads = sim_fault_is_of_keys(e->which) ? 1 : p->heads / p->kv_heads;
    if (e->which != SIM_OUT_O && e->which != SIM_OUT_LSE) {
        *first = job * heads * e->n_rows;
        return heads * e->n_rows;
    }
    *first = job / chunks * e->n_rows + in_head;
    return e->n_rows - in_head < CHUNK_ROWS ? e->n_rows - in_head : CHUNK_ROWS;
}

/* O or LSE of n rows, which count those of all heads. */
static enum fa_status solve_rows(const struct sim_fault_evidence *e, enum source source,
                                 int64_t first, int64_t n, double *to, struct fa_error *error)
{
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    const int64_t *rows = e->rows + first % e->n_rows;
    double lse[CHUNK_ROWS];
    bool wants_lse = e->which == SIM_OUT_LSE;
    double *o = wants_lse ? malloc((size_t)(n * p->dv + 1) * sizeof *o) : to;
    if (!o)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the oracle's rows");
    enum fa_status status = (source == ORACLE ? fa_oracle_rows : fa_naive_rows)(
        p, t->q, t->k, t->v, first / e->n_rows, rows, n, o, lse, error);
    if (status == FA_OK && wants_lse)
        memcpy(to, lse, (size_t)n * sizeof *lse);
    if (wants_lse)
        free(o);
    return status;
}

static enum fa_status solve_job(const struct sim_fault_evidence *e, enum source source, int64_t job,
                                double *to, struct fa_error *error)
{
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    if (e->which == SIM_OUT_O || e->which == SIM_OUT_LSE) {
        int64_t first, n = rows_of_job(e, job, &first);
        return solve_rows(e, source, first, n, to, error);
    }
    struct fa_gradient_parts parts = {.rows = e->rows, .n_rows = e->n_rows};
    if (sim_fault_is_of_keys(e->which))
        parts = (struct fa_gradient_parts){.keys = e->rows, .n_keys = e->n_rows};
    return (source == ORACLE ? fa_oracle_gradients : fa_naive_gradients)(
        p, t->q, t->k, t->v, t->dout, job, &parts, e->which == SIM_OUT_DQ ? to : NULL,
        e->which == SIM_OUT_DK ? to : NULL, e->which == SIM_OUT_DV ? to : NULL, error);
}

/* All jobs, in any order; watch is asked by one thread at a time. */
static enum fa_status solve(const struct sim_fault_evidence *e, const struct fa_watch *watch,
                            struct fa_error *error)
{
    int64_t done = 0, n = count_jobs(e);
    enum fa_status status = FA_OK;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (e->threads > 1)
    for (int64_t job = 0; job < n; job++) {
        struct fa_error inner = {FA_OK, ""};
        enum fa_status now, before;
#pragma omp atomic read
        before = status;
        if (before != FA_OK)
            continue;
        int64_t first;
        rows_of_job(e, job, &first);
        now = solve_job(e, ORACLE, job, e->right + first * e->columns, &inner);
#pragma omp critical(sim_fault_solve)
        {
            done++;
            if (now == FA_OK && watch && watch->tick &&
                !watch->tick(watch->context, (double)done / (double)n))
                now = fa_fail(&inner, FA_CANCELLED, "stopped before the fault was found");
            if (now != FA_OK && status == FA_OK) {
                fa_fail(error, now, "%s", inner.text);
#pragma omp atomic write
                status = now;
            }
        }
    }
    return status;
}

double sim_fault_theirs_at(const struct sim_fault_evidence *e, int64_t at)
{
    int64_t row = at / e->columns;
    return sim_fault_got(e, e->got, row / e->n_rows, row % e->n_rows, at % e->columns);
}

/* NaN for an infinity, where the naive run has NaN too, is what check.h leaves out: `right` takes
 * it. */
static enum fa_status excuse_underflow(struct sim_fault_evidence *e, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    int64_t jobs = e->which == SIM_OUT_LSE ? 0 : count_jobs(e);
    for (int64_t job = 0; job < jobs && status == FA_OK; job++) {
        int64_t at, n = rows_of_job(e, job, &at) * e->columns, i = 0;
        at *= e->columns;
        while (i < n && !(isinf(e->right[at + i]) && isnan(sim_fault_theirs_at(e, at + i))))
            i++;
        if (i == n)
            continue;
        double *naive = malloc((size_t)n * sizeof *naive);
        if (!naive)
            return fa_fail(error, FA_NO_MEMORY, "no memory for the naive run's rows");
        status = solve_job(e, NAIVE, job, naive, error);
        for (; i < n && status == FA_OK; i++)
            if (isinf(e->right[at + i]) && isnan(naive[i]) && isnan(sim_fault_theirs_at(e, at + i)))
                e->right[at + i] = sim_fault_theirs_at(e, at + i);
        free(naive);
    }
    return status;
}

static bool is_row_wrong(const struct sim_fault_evidence *e, int64_t row, double budget)
{
    for (int64_t at = row * e->columns; at < (row + 1) * e->columns; at++)
        if (sim_fault_is_wrong(sim_fault_theirs_at(e, at), e->right[at], budget))
            return true;
    return false;
}

double sim_fault_own_budget(const struct sim_fault_evidence *e, int64_t row)
{
    int64_t part = row % e->n_rows / SIM_CHECK_PART_ROWS;
    return e->part_budgets[row / e->n_rows * sim_check_parts_of(e->n_rows) + part];
}

/* Where only parts fail: the smallest budget of those judges all, and rows that are within their
 * own part's are right as they stand, so that no other is found wrong by that. */
static void judge_by_parts(struct sim_fault_evidence *e, const struct sim_judged *judged)
{
    e->budget = judged->part.budget;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t row = 0; row < e->heads * e->n_rows; row++) {
            double own = sim_fault_own_budget(e, row);
            bool wrong = is_row_wrong(e, row, own);
            if (pass == 0 && wrong)
                e->budget = fmin(e->budget, own);
            for (int64_t at = row * e->columns; pass == 1 && !wrong && at < (row + 1) * e->columns;
                 at++)
                if (sim_fault_is_wrong(sim_fault_theirs_at(e, at), e->right[at], e->budget))
                    e->right[at] = sim_fault_theirs_at(e, at);
        }
    }
}

static void tally(struct sim_fault_evidence *e)
{
    for (int64_t head = 0; head < e->heads; head++) {
        int64_t rows_before = e->n_wrong_rows;
        for (int64_t i = 0; i < e->n_rows; i++) {
            int64_t *wrong = &e->wrong[head * e->n_rows + i];
            for (int64_t c = 0; c < e->columns; c++) {
                double right = sim_fault_right(e, head, i, c);
                *wrong +=
                    sim_fault_is_wrong(sim_fault_got(e, e->got, head, i, c), right, e->budget);
                if (isfinite(right))
                    e->most_right = fmax(e->most_right, fabs(right));
            }
            e->n_wrong += *wrong;
            e->n_wrong_rows += *wrong > 0;
        }
        e->n_wrong_heads += e->n_wrong_rows > rows_before;
    }
}

enum fa_status sim_fault_evidence_make(const struct sim_theirs *theirs, enum sim_output which,
                                       const struct sim_judged *judged, const double *part_budgets,
                                       bool full, int threads, const struct fa_watch *watch,
                                       struct sim_fault_evidence *evidence, struct fa_error *error)
{
    int64_t n = sim_fault_output_rows(theirs, which), elements;
    struct sim_fault_evidence e = {
        .theirs = theirs,
        .which = which,
        .got = theirs->output[which],
        .budget = judged->budget,
        .part_budgets = part_budgets,
        .threads = threads,
        .heads = sim_fault_output_heads(theirs, which),
        .n_rows = sim_fault_compared_rows(theirs, which, full),
        .columns = theirs->output[which]->shape[3],
    };
    if (fa_multiply(e.heads, e.n_rows, &elements) && elements < PTRDIFF_MAX / 16) {
        e.rows = malloc((size_t)(e.n_rows + 1) * sizeof *e.rows);
        e.wrong = calloc((size_t)elements + 1, sizeof *e.wrong);
        if (fa_multiply(elements, e.columns, &elements) && elements < PTRDIFF_MAX / 16)
            e.right = malloc((size_t)(elements + 1) * sizeof *e.right);
    }
    enum fa_status status = FA_OK;
    if (!e.rows || !e.right || !e.wrong) {
        status =
            fa_fail(error, FA_NO_MEMORY, "no memory for the oracle's %s, to look for the fault",
                    sim_output_name(which));
        goto done;
    }
    list_rows(&e, judged->worst, n);
    status = solve(&e, watch, error);
    if (status == FA_OK)
        status = excuse_underflow(&e, error);
    if (status == FA_OK && sim_judged_fails_in_parts(judged))
        judge_by_parts(&e, judged);
    if (status != FA_OK)
        goto done;
    tally(&e);
    *evidence = e;
done:
    if (status != FA_OK)
        sim_fault_evidence_free(&e);
    return status;
}

void sim_fault_evidence_free(struct sim_fault_evidence *evidence)
{
    free(evidence->rows);
    free(evidence->right);
    free(evidence->wrong);
    memset(evidence, 0, sizeof *evidence);
}
