#include "simulator/closed_form_parts.h"

typedef sim_wide wide;

static wide elements(const struct fa_tensor *t)
{
    return (wide)t->shape[0] * (wide)t->shape[1] * (wide)t->shape[2] * (wide)t->shape[3];
}

/* What a pass keeps in HBM beside its inputs and outputs, per element of a query head's scores and
 * per query row, in bytes. */
static void kept(const struct fa_algorithm *algorithm, const struct fa_problem *p,
                 wide *per_score, wide *per_row)
{
    wide dtype = fa_dtype_bytes(p->dtype), statistic = fa_dtype_bytes(fa_hbm_format(p, FA_LSE));
    *per_score = dtype * (wide)(algorithm->stores_scores + algorithm->stores_weights);
    *per_row = algorithm->stores_statistics ? 2 * statistic : 0;
    if (algorithm->stores_scores && p->dropout_p > 0)
        *per_score += dtype + (p->dropout_keep ? 0 : 1);
    if (algorithm->own & FA_BIT(FA_DP))
        *per_score += dtype;
    if (algorithm->own & FA_BIT(FA_DS))
        *per_score += dtype;
    if (algorithm->own & FA_BIT(FA_DELTA))
        *per_row += statistic;
}

/* What the backward pass reads of what the forward pass made, per element of the scores and per
 * row. */
static wide kept_for_backward(const struct fa_algorithm *algorithm, const struct fa_problem *p)
{
    wide dtype = fa_dtype_bytes(p->dtype), statistic = fa_dtype_bytes(fa_hbm_format(p, FA_LSE));
    wide rows = (wide)p->batch * (wide)p->heads * (wide)p->nq, per_score = dtype;
    if (!algorithm->stores_weights)
        return rows * (dtype * (wide)p->dv + (algorithm->stores_statistics ? 2 : 1) * statistic);
    if (p->dropout_p > 0)
        per_score += dtype + (p->dropout_keep ? 0 : 1);
    return rows * (wide)p->nk * per_score;
}

enum fa_status sim_footprint(const struct fa_algorithm *algorithm, bool backward,
                             const struct fa_problem *p, struct sim_footprint *footprint,
                             struct fa_error *error)
{
    wide queries = (wide)p->batch * (wide)p->heads, keys = (wide)p->batch * (wide)p->kv_heads;
    wide dtype = fa_dtype_bytes(p->dtype), statistic = fa_dtype_bytes(fa_hbm_format(p, FA_LSE));
    wide nq = (wide)p->nq, nk = (wide)p->nk, d = (wide)p->d, dv = (wide)p->dv;
    wide q = queries * nq * d, o = queries * nq * dv, kv = keys * nk * (d + dv);
    wide input = dtype * (q + kv), output = dtype * o + statistic * queries * nq;
    wide per_score, per_row, extra, saved = kept_for_backward(algorithm, p);

    kept(algorithm, p, &per_score, &per_row);
    extra = queries * nq * (per_row + per_score * nk);
    if (backward) {
        kept(algorithm->backward, p, &per_score, &per_row);
        extra += queries * nq * (per_row + per_score * nk);
        input += dtype * o;
        output += dtype * (q + kv);
    }
    if (p->bias)
        input += dtype * elements(p->bias);
    if (p->mask)
        input += elements(p->mask);
    if (p->dropout_p > 0 && p->dropout_keep)
        input += elements(p->dropout_keep);
    if (input > (wide)INT64_MAX || output > (wide)INT64_MAX || extra > (wide)INT64_MAX ||
        saved > (wide)INT64_MAX)
        return fa_fail(error, FA_TOO_LARGE, "the tensors of %s take more than 2^63 - 1 bytes",
                       algorithm->name);
    *footprint = (struct sim_footprint){(uint64_t)input, (uint64_t)output, (uint64_t)extra,
                                       (uint64_t)saved};
    return FA_OK;
}
