/* The rows of one wrong output beside the oracle's, and what can be said of them without more. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "simulator/fault_parts.h"

enum { CHUNK_ROWS = 64 };

static bool is_of_keys(enum sim_output which)
{
    return which == SIM_OUT_DK || which == SIM_OUT_DV;
}

int64_t sim_fault_output_heads(const struct sim_theirs *theirs, enum sim_output which)
{
    const struct fa_problem *p = theirs->problem;
    return p->batch * (is_of_keys(which) ? p->kv_heads : p->heads);
}

int64_t sim_fault_output_rows(const struct sim_theirs *theirs, enum sim_output which)
{
    return is_of_keys(which) ? theirs->problem->nk : theirs->problem->nq;
}

bool sim_fault_is_wrong(double got, double right, double budget)
{
    if (isnan(got) || isnan(right))
        return isnan(got) != isnan(right) && !(isnan(got) && isinf(right));
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

/* The rows to look at: all, or those that the check samples in the worst element's head. */
static void list_rows(struct sim_fault_evidence *e, const int64_t worst[4], int64_t n)
{
    const struct fa_problem *p = e->theirs->problem;
    int64_t head = worst[0] * (e->heads / (p->batch > 0 ? p->batch : 1)) + worst[1];
    int64_t enter = p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq;
    const int64_t edges[] = {0, p->nk - 1, enter - 1, enter, enter + p->nq - 1, enter + p->nq};
    if (e->n_rows == n)
        for (int64_t i = 0; i < n; i++)
            e->rows[i] = i;
    else if (is_of_keys(e->which))
        sim_check_sample_axis(n, edges, 6, head, e->rows);
    else if (e->which == SIM_OUT_DQ) /* sampled by the K/V head */
        sim_check_sample(p, head / (p->heads / p->kv_heads), e->rows);
    else
        sim_check_sample(p, head, e->rows);
}

/* Rows first .. first + n of one query head: O or LSE. */
static enum fa_status solve_rows(const struct sim_fault_evidence *e, int64_t head, int64_t first,
                                 int64_t n, struct fa_error *error)
{
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    double *to = e->right + (head * e->n_rows + first) * e->columns, lse[CHUNK_ROWS];
    bool wants_lse = e->which == SIM_OUT_LSE;
    double *o = wants_lse ? malloc((size_t)(n * p->dv + 1) * sizeof *o) : to;
    if (!o)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the oracle's rows");
    enum fa_status status =
        fa_oracle_rows(p, t->q, t->k, t->v, head, e->rows + first, n, o, lse, error);
    if (status == FA_OK && wants_lse)
        memcpy(to, lse, (size_t)n * sizeof *lse);
    if (wants_lse)
        free(o);
    return status;
}

static enum fa_status solve_job(const struct sim_fault_evidence *e, int64_t job, int64_t chunks,
                                struct fa_error *error)
{
    const struct sim_theirs *t = e->theirs;
    const struct fa_problem *p = t->problem;
    if (e->which == SIM_OUT_O || e->which == SIM_OUT_LSE) {
        int64_t first = job % chunks * CHUNK_ROWS, n = e->n_rows - first;
        return solve_rows(e, job / chunks, first, n < CHUNK_ROWS ? n : CHUNK_ROWS, error);
    }
    int64_t group = is_of_keys(e->which) ? 1 : p->heads / p->kv_heads;
    double *to = e->right + job * group * e->n_rows * e->columns;
    struct fa_gradient_parts parts = {.rows = e->rows, .n_rows = e->n_rows};
    if (is_of_keys(e->which))
        parts = (struct fa_gradient_parts){.keys = e->rows, .n_keys = e->n_rows};
    return fa_oracle_gradients(
        p, t->q, t->k, t->v, t->dout, job, &parts, e->which == SIM_OUT_DQ ? to : NULL,
        e->which == SIM_OUT_DK ? to : NULL, e->which == SIM_OUT_DV ? to : NULL, error);
}

/* All jobs, in any order; watch is asked by one thread at a time. */
static enum fa_status solve(const struct sim_fault_evidence *e, const struct fa_watch *watch,
                            struct fa_error *error)
{
    const struct fa_problem *p = e->theirs->problem;
    bool forward = e->which == SIM_OUT_O || e->which == SIM_OUT_LSE;
    int64_t chunks = (e->n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS, done = 0;
    int64_t n = forward ? e->heads * chunks : p->batch * p->kv_heads;
    enum fa_status status = FA_OK;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (e->threads > 1)
    for (int64_t job = 0; job < n; job++) {
        struct fa_error inner = {FA_OK, ""};
        enum fa_status now, before;
#pragma omp atomic read
        before = status;
        if (before != FA_OK)
            continue;
        now = solve_job(e, job, chunks, &inner);
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
                                       const struct sim_judged *judged, bool full, int threads,
                                       const struct fa_watch *watch,
                                       struct sim_fault_evidence *evidence, struct fa_error *error)
{
    bool forward = which == SIM_OUT_O || which == SIM_OUT_LSE;
    int64_t n = sim_fault_output_rows(theirs, which), elements;
    int64_t most = forward ? SIM_CHECK_ALL_ROWS : SIM_CHECK_ALL_GRADIENTS;
    struct sim_fault_evidence e = {
        .theirs = theirs,
        .which = which,
        .got = theirs->output[which],
        .budget = judged->budget,
        .threads = threads,
        .heads = sim_fault_output_heads(theirs, which),
        .n_rows = full || n <= most ? n : SIM_CHECK_SAMPLED_ROWS,
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

enum fa_status sim_fault_map_make(const struct sim_fault_evidence *e, struct sim_fault_map *map,
                                  struct fa_error *error)
{
    int64_t n = sim_fault_output_rows(e->theirs, e->which), cells;
    int64_t side = is_of_keys(e->which) ? e->theirs->bc : e->theirs->br;
    struct sim_fault_map made = {.heads = e->heads, .side = side};
    made.tiles = n / side + (n % side != 0);
    if (fa_multiply(made.heads, made.tiles, &cells) && cells < PTRDIFF_MAX / 16)
        made.error = malloc((size_t)(cells + 1) * sizeof *made.error);
    if (!made.error)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the map of the errors");
    for (int64_t cell = 0; cell < cells; cell++)
        made.error[cell] = NAN;
    for (int64_t head = 0; head < e->heads; head++) {
        for (int64_t i = 0; i < e->n_rows; i++) {
            float *cell = &made.error[head * made.tiles + e->rows[i] / side];
            for (int64_t c = 0; c < e->columns; c++) {
                double got = sim_fault_got(e, e->got, head, i, c),
                       right = sim_fault_right(e, head, i, c);
                bool wrong = sim_fault_is_wrong(got, right, e->budget);
                double error_here = isfinite(got) && isfinite(right)
                                        ? fabs(got - right) / (e->budget > 0 ? e->budget : 1)
                                        : (wrong ? INFINITY : 0);
                if (wrong && !(e->budget > 0))
                    error_here = INFINITY;
                *cell = fmaxf(*cell, (float)error_here);
            }
        }
    }
    *map = made;
    return FA_OK;
}

bool sim_fault_is_in_last_tile(const struct sim_fault_evidence *e)
{
    int64_t n = sim_fault_output_rows(e->theirs, e->which);
    int64_t side = is_of_keys(e->which) ? e->theirs->bc : e->theirs->br;
    if (n <= side || n % side == 0 || e->n_wrong == 0)
        return false;
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < e->n_rows; i++)
            if (e->wrong[head * e->n_rows + i] > 0 && e->rows[i] < n / side * side)
                return false;
    return true;
}
