/*
 * One K/V head of a backward pass, computed again as a mistake would: the inner part of
 * sim_fault_try_backward.
 */
#ifndef SIM_FAULT_HEAD_H
#define SIM_FAULT_HEAD_H

#include "simulator/fault_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most multiply-adds of a head with which its softmax is computed again for each mistake. */
#define SIM_HEAD_OWN_PRODUCTS 0x1p26

/* Rows, or keys, of a head that a mistake must fit before it is tried on all. */
enum { SIM_HEAD_PROBES = 12 };

/* Some of the evidence's rows; all where n is 0. */
struct sim_head_probes {
    int n;
    int64_t at[SIM_HEAD_PROBES];
};

/* One K/V head as doubles, and what its query heads' rows need. */
struct sim_head_trial {
    const struct sim_fault_evidence *evidence;
    int64_t kv_head, group, n_rows; /* query rows: the evidence's for dQ, else all */
    const int64_t *rows;
    double *memory, *q, *k, *v, *dout; /* [group, n_rows, .] for q and dout */
    double *lse, *delta;               /* [group, n_rows] */
    double *o, *sum;                   /* O of a head; the output */
    double *scores;                    /* [nk]: those of one row */
    double *qk, *dov;                  /* [group, n_rows, nk]: q k^T and dO v^T; NULL: not kept */
    int64_t *all_rows;
    struct sim_head_probes probes;
    double most_wrong, most_got; /* the largest finite |theirs - right| and |theirs| */
};

/* evidence, kv_head, group and n_rows are set, the rest is 0. Errors: FA_NO_MEMORY; free what there
 * is then too. */
enum fa_status sim_head_trial_fill(struct sim_head_trial *trial, struct fa_error *error);
void sim_head_trial_free(struct sim_head_trial *trial);

/* Whether the output agrees with the mistake in this K/V head: within the budget, which grows with
 * the values, and clearly better than with the truth. */
bool sim_head_trial_holds(struct sim_head_trial *trial,
                          const struct sim_fault_alternative *mistake);

#ifdef __cplusplus
}
#endif
#endif
