/* What an algorithm may be off by, in units of what a careful naive program is. */
#include <math.h>

#include "simulator/experiment.h"

double sim_error_factor(const struct sim_result *result)
{
    bool rounds = result->problem.dtype == FA_F16 || result->problem.dtype == FA_BF16;
    if (!rounds || result->problem.nk == 0)
        return 1;
    if (result->algorithm->stores_scores && result->problem.bias)
        return 2; /* S is stored once before the bias and once after it */
    if (result->algorithm != &fa_flash1)
        return 1;
    return sqrt(ceil((double)result->problem.nk / (double)result->tiles.bc));
}

/* What dQ, dK and dV have in common. */
static double backward_factor(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    double factor = 1;
    if (p->dtype != FA_F16 && p->dtype != FA_BF16)
        return 1;
    if (result->algorithm->stores_scores && p->bias)
        factor *= 2;
    if (result->algorithm->stores_scores && p->dropout_p > 0)
        factor *= 2;
    return factor;
}

/* Stores of dQ by the flash passes, and of O by flash1. */
static double tile_columns(const struct sim_result *result)
{
    int64_t nk = result->problem.nk, bc = result->tiles.bc;
    bool rounds = result->problem.dtype == FA_F16 || result->problem.dtype == FA_BF16;
    return rounds && nk > 0 ? ceil((double)nk / (double)bc) : 1;
}

double sim_error_factor_dq(const struct sim_result *result)
{
    bool flash = result->algorithm == &fa_flash1 || result->algorithm == &fa_flash2;
    return backward_factor(result) * (flash ? sqrt(tile_columns(result)) : 1);
}

double sim_error_factor_dkv(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    bool rounds = p->dtype == FA_F16 || p->dtype == FA_BF16;
    double factor = backward_factor(result);
    if (rounds && p->kv_heads > 0 && p->heads > p->kv_heads)
        factor *= sqrt((double)(p->heads / p->kv_heads));
    return factor * (result->algorithm == &fa_flash1 ? sqrt(tile_columns(result)) : 1);
}
