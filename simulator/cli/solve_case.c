#include "simulator/cli/solve_case.h"

#include <stdlib.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "simulator/cli/progress.h"

enum { CHUNK_ROWS = 32 };

/* Rows first .. first + n of a head, from the oracle into o and lse (f64, any layout). */
static enum fa_status solve_rows(const struct cli_inputs *inputs, int64_t head, int64_t first,
                                 int64_t n, struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    int64_t rows[CHUNK_ROWS];
    double lse[CHUNK_ROWS], *o = malloc((size_t)(n * p->dv) * sizeof *o);
    if (!o)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the oracle's rows");
    for (int64_t r = 0; r < n; r++)
        rows[r] = first + r;
    enum fa_status status =
        fa_oracle_rows(p, &inputs->q, &inputs->k, &inputs->v, head, rows, n, o, lse, error);
    for (int64_t r = 0; r < n && status == FA_OK; r++) {
        int64_t batch = head / p->heads, own = head % p->heads;
        fa_tensor_set(&inputs->lse, batch, own, first + r, 0, lse[r]);
        for (int64_t c = 0; c < p->dv; c++)
            fa_tensor_set(&inputs->o, batch, own, first + r, c, o[r * p->dv + c]);
    }
    free(o);
    return status;
}

/* All of one K/V head's gradients, from the oracle into dq, dk and dv (f64, any layout). */
static enum fa_status solve_gradients(const struct cli_inputs *inputs, int64_t kv_head,
                                      struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    int64_t group = p->heads / p->kv_heads, most = p->nq > p->nk ? p->nq : p->nk;
    int64_t n_dq = group * p->nq * p->d, n_dk = p->nk * p->d, n_dv = p->nk * p->dv;
    int64_t batch = kv_head / p->kv_heads, head = kv_head % p->kv_heads;
    int64_t *places = malloc(((size_t)most + 1) * sizeof *places);
    double *dq = malloc((size_t)(n_dq + n_dk + n_dv + 1) * sizeof *dq);
    if (!places || !dq) {
        free(places);
        free(dq);
        return fa_fail(error, FA_NO_MEMORY, "no memory for the oracle's gradients");
    }
    double *dk = dq + n_dq, *dv = dk + n_dk;
    for (int64_t i = 0; i < most; i++)
        places[i] = i;
    const struct fa_gradient_parts parts = {places, places, p->nq, p->nk};
    enum fa_status status = fa_oracle_gradients(p, &inputs->q, &inputs->k, &inputs->v,
                                                &inputs->dout, kv_head, &parts, dq, dk, dv, error);
    for (int64_t i = 0; i < n_dq && status == FA_OK; i++)
        fa_tensor_set(&inputs->dq, batch, head * group + i / (p->nq * p->d), i / p->d % p->nq,
                      i % p->d, dq[i]);
    for (int64_t i = 0; i < n_dk && status == FA_OK; i++)
        fa_tensor_set(&inputs->dk, batch, head, i / p->d, i % p->d, dk[i]);
    for (int64_t i = 0; i < n_dv && status == FA_OK; i++)
        fa_tensor_set(&inputs->dv, batch, head, i / p->dv, i % p->dv, dv[i]);
    free(places);
    free(dq);
    return status;
}

/* Job i: a K/V head's gradients first, which take longest, then chunks of rows of O. */
static enum fa_status solve_job(const struct cli_inputs *inputs, int64_t i, int64_t n_gradients,
                                int64_t chunks, struct fa_error *error)
{
    if (i < n_gradients)
        return solve_gradients(inputs, i, error);
    int64_t chunk = i - n_gradients, first = chunk % chunks * CHUNK_ROWS;
    int64_t rows = inputs->problem.nq - first;
    return solve_rows(inputs, chunk / chunks, first, rows < CHUNK_ROWS ? rows : CHUNK_ROWS, error);
}

enum fa_status cli_case_solve(const struct cli_inputs *inputs, int threads, struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    int64_t chunks = (p->nq + CHUNK_ROWS - 1) / CHUNK_ROWS, done = 0;
    int64_t gradients = inputs->dq.data ? p->batch * p->kv_heads : 0;
    int64_t n = gradients + p->batch * p->heads * chunks;
    enum fa_status status = FA_OK;
    struct cli_progress progress;
    cli_progress_start(&progress, "solving ");
    (void)threads;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < n; i++) {
        struct fa_error inner;
        enum fa_status now, before;
#pragma omp atomic read
        before = status;
        if (before != FA_OK)
            continue;
        now = solve_job(inputs, i, gradients, chunks, &inner);
#pragma omp critical
        {
            done++;
            if (now == FA_OK && !cli_progress_tick(&progress, (double)done / (double)n))
                now = fa_fail(&inner, FA_CANCELLED, "stopped before the case was solved");
            if (now != FA_OK && status == FA_OK) {
                fa_fail(error, now, "%s", inner.text);
#pragma omp atomic write
                status = now;
            }
        }
    }
    cli_progress_end(&progress);
    return status;
}
