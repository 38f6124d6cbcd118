#include "simulator/faults.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "simulator/check_scan.h"
#include "simulator/fault_parts.h"

static const char *const fault_names[SIM_FAULTS] = {
    [SIM_FAULT_NONE] = "none",
    [SIM_FAULT_NAN] = "nan",
    [SIM_FAULT_ZEROS] = "zeros",
    [SIM_FAULT_UNWRITTEN] = "unwritten",
    [SIM_FAULT_LAST_TILE] = "last-tile",
    [SIM_FAULT_DIAGONAL] = "diagonal",
    [SIM_FAULT_CAUSAL_ALIGNMENT] = "causal-alignment",
    [SIM_FAULT_ROW_SCALE] = "row-scale",
    [SIM_FAULT_BASE2_LSE] = "base2-lse",
    [SIM_FAULT_SCALE] = "scale",
    [SIM_FAULT_HEAD_SWAP] = "head-swap",
    [SIM_FAULT_TRANSPOSED] = "transposed",
    [SIM_FAULT_LAYOUT] = "layout",
    [SIM_FAULT_OTHER] = "other",
};

static const char *const output_names[SIM_OUTPUTS] = {"O", "LSE", "dQ", "dK", "dV"};

const char *sim_fault_name(enum sim_fault fault)
{
    return (unsigned)fault < SIM_FAULTS ? fault_names[fault] : "unknown";
}

const char *sim_output_name(enum sim_output output)
{
    return (unsigned)output < SIM_OUTPUTS ? output_names[output] : "unknown";
}

bool sim_judged_fails_in_parts(const struct sim_judged *judged)
{
    return judged->part.wrong > 0 && fa_comparison_within(&judged->compared, judged->budget);
}

/* Where the worst element stands: its index counts the rows that were compared, by heads. */
static void locate(const struct sim_theirs *theirs, enum sim_output which, bool full,
                   struct sim_judged *judged)
{
    const struct fa_problem *p = theirs->problem;
    int64_t columns = theirs->output[which]->shape[3], n = sim_fault_output_rows(theirs, which);
    int64_t heads = which == SIM_OUT_DK || which == SIM_OUT_DV ? p->kv_heads : p->heads;
    bool forward = which == SIM_OUT_O || which == SIM_OUT_LSE;
    int64_t compared = sim_fault_compared_rows(theirs, which, full);
    int64_t sample[SIM_CHECK_SAMPLED_ROWS];
    int64_t index = sim_judged_fails_in_parts(judged) ? judged->part.worst : judged->compared.worst;
    for (int axis = 0; axis < 4; axis++)
        judged->worst[axis] = -1;
    if (index < 0)
        return;
    int64_t head = index / columns / compared, row = index / columns % compared;
    int64_t enter = p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq;
    const int64_t edges[] = {0, p->nk - 1, enter - 1, enter, enter + p->nq - 1, enter + p->nq};
    if (compared < n) {
        if (forward)
            sim_check_sample(p, head, sample);
        else if (which == SIM_OUT_DQ)
            sim_check_sample(p, head / (p->heads / p->kv_heads), sample);
        else
            sim_check_sample_axis(n, edges, 6, head, sample);
        row = sample[row];
    }
    judged->worst[0] = head / heads;
    judged->worst[1] = head % heads;
    judged->worst[2] = row;
    judged->worst[3] = index % columns;
}

/* The oracle's value of the worst element. */
static enum fa_status solve_worst(const struct sim_theirs *t, enum sim_output which,
                                  struct sim_judged *judged, struct fa_error *error)
{
    const struct fa_problem *p = t->problem;
    const int64_t *at = judged->worst;
    if (at[2] < 0)
        return FA_OK;
    bool of_keys = which == SIM_OUT_DK || which == SIM_OUT_DV;
    int64_t group = p->heads / p->kv_heads, width = p->d > p->dv ? p->d : p->dv;
    double lse = 0, *values = malloc((size_t)((group + 1) * width) * sizeof *values);
    if (!values)
        return fa_fail(error, FA_NO_MEMORY, "no memory for one row of the oracle");
    struct fa_gradient_parts parts = {.rows = &at[2], .n_rows = 1};
    if (of_keys)
        parts = (struct fa_gradient_parts){.keys = &at[2], .n_keys = 1};
    enum fa_status status;
    if (which == SIM_OUT_O || which == SIM_OUT_LSE)
        status = fa_oracle_rows(p, t->q, t->k, t->v, at[0] * p->heads + at[1], &at[2], 1, values,
                                &lse, error);
    else
        status = fa_oracle_gradients(
            p, t->q, t->k, t->v, t->dout, at[0] * p->kv_heads + (of_keys ? at[1] : at[1] / group),
            &parts, which == SIM_OUT_DQ ? values : NULL, which == SIM_OUT_DK ? values : NULL,
            which == SIM_OUT_DV ? values : NULL, error);
    int64_t first = which == SIM_OUT_DQ ? at[1] % group * p->d : 0;
    judged->theirs = fa_tensor_get(t->output[which], at[0], at[1], at[2], at[3]);
    judged->right = which == SIM_OUT_LSE ? lse : values[first + at[3]];
    free(values);
    return status;
}

static bool is_given(const struct sim_theirs *theirs, enum sim_output which)
{
    return theirs->output[which] && theirs->output[which]->data;
}

/* What no right output holds fails outside of the sample too. */
static void scan(const struct sim_theirs *theirs, enum sim_output which,
                 const struct sim_scan_limits *limits, struct sim_judged *judged)
{
    if (!judged->pass)
        return;
    judged->beyond = sim_scan_output(theirs, which, limits, judged->budget, judged->worst);
    judged->pass = judged->beyond == 0;
}

/* Places for the budgets of all parts, by outputs. */
static enum fa_status take_budgets(const struct sim_theirs *t, bool full,
                                   double *budgets[SIM_OUTPUTS], struct fa_error *error)
{
    for (int i = 0; i < SIM_OUTPUTS; i++) {
        enum sim_output which = (enum sim_output)i;
        int64_t n = sim_check_parts_of(sim_fault_compared_rows(t, which, full));
        if (!is_given(t, which))
            continue;
        if (!fa_multiply(n, sim_fault_output_heads(t, which), &n) || n >= PTRDIFF_MAX / 16 ||
            !(budgets[i] = malloc((size_t)(n + 1) * sizeof *budgets[i])))
            return fa_fail(error, FA_NO_MEMORY, "no memory for the budgets of parts");
    }
    return FA_OK;
}

/* Compares all that is given, and finds the worst of each. */
static enum fa_status compare(const struct sim_theirs *t, enum sim_check_mode mode, int threads,
                              const struct fa_watch *watch, double *const budgets_of[SIM_OUTPUTS],
                              struct sim_verdict *verdict, struct fa_error *error)
{
    struct sim_check forward = {.pass = true};
    struct sim_check_gradients backward = {.pass = true};
    enum fa_status status =
        sim_check_forward_parts(t->problem, t->q, t->k, t->v, t->output[SIM_OUT_O],
                                t->output[SIM_OUT_LSE], mode, t->error_factor, threads, watch,
                                budgets_of[SIM_OUT_O], budgets_of[SIM_OUT_LSE], &forward, error);
    if (status == FA_OK && t->dout)
        status = sim_check_backward_parts(
            t->problem, t->q, t->k, t->v, t->dout, t->output[SIM_OUT_DQ], t->output[SIM_OUT_DK],
            t->output[SIM_OUT_DV], mode, t->error_factor_dq, t->error_factor_dkv, threads, watch,
            budgets_of + SIM_OUT_DQ, &backward, error);
    const struct fa_comparison compared[] = {forward.o, forward.lse, backward.dq, backward.dk,
                                             backward.dv};
    const double budgets[] = {forward.o_budget, forward.lse_budget, backward.dq_budget,
                              backward.dk_budget, backward.dv_budget};
    const struct sim_check_part parts[] = {forward.o_part, forward.lse_part, backward.dq_part,
                                           backward.dk_part, backward.dv_part};
    const struct sim_scan_limits limits = sim_scan_limits_make(t);
    verdict->pass = true;
    verdict->nonfinite_inputs = limits.nonfinite;
    verdict->sampled = forward.sampled || backward.sampled;
    verdict->underflowed = forward.underflowed + backward.underflowed;
    for (int i = 0; i < SIM_OUTPUTS && status == FA_OK; i++) {
        struct sim_judged *judged = &verdict->output[i];
        judged->given = is_given(t, (enum sim_output)i);
        judged->pass = true;
        if (!judged->given)
            continue;
        judged->compared = compared[i];
        judged->budget = budgets[i];
        judged->part = parts[i];
        judged->pass = fa_comparison_within(&compared[i], budgets[i]) && parts[i].wrong == 0;
        locate(t, (enum sim_output)i, mode == SIM_CHECK_FULL, judged);
        if (i <= SIM_OUT_LSE ? forward.sampled : backward.sampled)
            scan(t, (enum sim_output)i, &limits, judged);
        verdict->pass = verdict->pass && judged->pass;
        status = solve_worst(t, (enum sim_output)i, judged, error);
    }
    return status;
}

/* A list such as "head 3", "heads 2, 5 and 3 more of 8". */
static int put_heads(const struct sim_fault_evidence *e, char *text, size_t size)
{
    int n = 0, shown = 0;
    if (e->heads == 1)
        return 0;
    if (e->n_wrong_heads == e->heads)
        return snprintf(text, size, ", in all %" PRId64 " heads", e->heads);
    n = snprintf(text, size, e->n_wrong_heads == 1 ? ", in head" : ", in heads");
    for (int64_t head = 0; head < e->heads && shown < 4; head++) {
        int64_t wrong = 0;
        for (int64_t i = 0; i < e->n_rows; i++)
            wrong += e->wrong[head * e->n_rows + i];
        if (wrong > 0)
            n += snprintf(text + n, size - (size_t)n, "%s %" PRId64, shown++ ? "," : "", head);
    }
    if (e->n_wrong_heads > shown)
        n +=
            snprintf(text + n, size - (size_t)n, " and %" PRId64 " more", e->n_wrong_heads - shown);
    return n + snprintf(text + n, size - (size_t)n, " of %" PRId64, e->heads);
}

/* "2 of 130 rows, from row 128 to 129" */
static void describe_place(const struct sim_fault_evidence *e, char text[SIM_FAULT_TEXT])
{
    int64_t first = INT64_MAX, last = -1, c0 = INT64_MAX, c1 = -1;
    const char *what = e->which == SIM_OUT_DK || e->which == SIM_OUT_DV ? "key" : "row";
    text[0] = '\0';
    if (e->n_wrong == 0)
        return;
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < e->n_rows; i++)
            for (int64_t c = 0; c < e->columns && e->wrong[head * e->n_rows + i] > 0; c++)
                if (sim_fault_is_wrong(sim_fault_got(e, e->got, head, i, c),
                                       sim_fault_right(e, head, i, c), e->budget)) {
                    first = e->rows[i] < first ? e->rows[i] : first;
                    last = e->rows[i] > last ? e->rows[i] : last;
                    c0 = c < c0 ? c : c0;
                    c1 = c > c1 ? c : c1;
                }
    int64_t of = e->heads * e->n_rows;
    int n =
        snprintf(text, SIM_FAULT_TEXT, "%" PRId64 " of %" PRId64 " %ss%s", e->n_wrong_rows, of,
                 what, sim_fault_output_rows(e->theirs, e->which) > e->n_rows ? " looked at" : "");
    if (first == last)
        n += snprintf(text + n, SIM_FAULT_TEXT - (size_t)n, ", %s %" PRId64, what, first);
    else
        n += snprintf(text + n, SIM_FAULT_TEXT - (size_t)n, ", from %s %" PRId64 " to %" PRId64,
                      what, first, last);
    if (c0 == c1 && e->columns > 1)
        n += snprintf(text + n, SIM_FAULT_TEXT - (size_t)n, ", column %" PRId64, c0);
    else if (c1 - c0 + 1 < e->columns)
        n += snprintf(text + n, SIM_FAULT_TEXT - (size_t)n, ", columns %" PRId64 " to %" PRId64, c0,
                      c1);
    put_heads(e, text + n, SIM_FAULT_TEXT - (size_t)n);
}

static enum fa_status diagnose(const struct sim_theirs *theirs, bool full, int threads,
                               const struct fa_watch *watch, double *const budgets[SIM_OUTPUTS],
                               struct sim_verdict *verdict, struct fa_error *error)
{
    struct sim_fault_evidence evidence = {0};
    struct sim_fault_finding finding = {SIM_FAULT_NONE, ""};
    int culprit = 0;
    while (culprit < SIM_OUTPUTS && verdict->output[culprit].pass)
        culprit++;
    assert(culprit < SIM_OUTPUTS);
    verdict->culprit = (enum sim_output)culprit;
    enum fa_status status =
        sim_fault_evidence_make(theirs, verdict->culprit, &verdict->output[culprit],
                                budgets[culprit], full, threads, watch, &evidence, error);
    if (status == FA_OK)
        status = sim_fault_classify(&evidence, watch, &finding, error);
    if (status == FA_OK)
        status = sim_fault_map_make(&evidence, &verdict->map, error);
    if (status == FA_OK) {
        verdict->fault = finding.fault;
        int n = snprintf(verdict->look, SIM_FAULT_TEXT, "%s", finding.look);
        if (verdict->output[culprit].beyond > 0 && n < SIM_FAULT_TEXT)
            snprintf(verdict->look + n, (size_t)(SIM_FAULT_TEXT - n),
                     " (%" PRId64 " in rows that were not sampled, of which all are scanned)",
                     verdict->output[culprit].beyond);
        describe_place(&evidence, verdict->where);
        verdict->rest = sim_fault_rest_find(&evidence, finding.fault);
    }
    sim_fault_evidence_free(&evidence);
    return status;
}

enum fa_status sim_verdict_make(const struct sim_theirs *theirs, enum sim_check_mode mode,
                                int threads, const struct fa_watch *watch,
                                struct sim_verdict *verdict, struct fa_error *error)
{
    struct sim_verdict made;
    memset(&made, 0, sizeof made);
    assert(threads >= 1 && mode != SIM_CHECK_NONE && theirs->br >= 1 && theirs->bc >= 1);
    double *budgets[SIM_OUTPUTS] = {NULL};
    bool full = mode == SIM_CHECK_FULL;
    enum fa_status status = take_budgets(theirs, full, budgets, error);
    if (status == FA_OK)
        status = compare(theirs, mode, threads, watch, budgets, &made, error);
    if (status == FA_OK && !made.pass)
        status = diagnose(theirs, full, threads, watch, budgets, &made, error);
    for (int i = 0; i < SIM_OUTPUTS; i++)
        free(budgets[i]);
    if (status == FA_OK)
        *verdict = made;
    else
        sim_verdict_free(&made);
    return status;
}

void sim_verdict_free(struct sim_verdict *verdict)
{
    free(verdict->map.error);
    memset(verdict, 0, sizeof *verdict);
}
