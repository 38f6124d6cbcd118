/*
 * Mistakes that are tried on dQ, dK and dV of a backward pass whose forward pass was right: P is
 * exp(S - LSE) and dS = P (dP - delta) with the right LSE and delta, as a kernel reads them, so a
 * key that is wrongly shown has a weight that the others do not make room for. Then the same with
 * LSE and delta of the mistake itself, as of a backward pass that computes its softmax again.
 */
#include "simulator/fault_head.h"

enum { MOST_HEADS = 2 }; /* wrong K/V heads that are recomputed */

#define MOST_PRODUCTS 0x1p31

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
    struct sim_head_trial trials[MOST_HEADS] = {{0}};
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
        struct sim_head_trial *trial = &trials[n_trials++];
        *trial = (struct sim_head_trial){
            .evidence = evidence, .kv_head = head, .group = group, .n_rows = n_rows};
        status = sim_head_trial_fill(trial, error);
        if (status != FA_OK)
            goto done;
    }
    int all = products > SIM_HEAD_OWN_PRODUCTS ? n : 2 * n;
    for (int i = 0; i < all && finding->fault == SIM_FAULT_NONE; i++) {
        struct sim_fault_alternative tried = list[i % n];
        bool good = n_trials > 0;
        tried.own_softmax = i >= n;
        for (int h = 0; h < n_trials && good; h++)
            good = sim_head_trial_holds(&trials[h], &tried);
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
        sim_head_trial_free(&trials[h]);
    return status;
}
