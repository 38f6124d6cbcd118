#include "simulator/check_scan.h"

#include <math.h>
#include <string.h>

/* Of one input: its largest absolute value, its largest row, and what is no number. */
struct extent {
    double most, norm;
    int64_t nonfinite;
};

static struct extent extent_of(const struct fa_tensor *tensor)
{
    struct extent made = {0, 0, 0};
    if (!tensor || !tensor->data)
        return made;
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t i = 0; i < tensor->shape[2]; i++) {
                double squares = 0;
                for (int64_t c = 0; c < tensor->shape[3]; c++) {
                    double x = fa_tensor_get(tensor, b, h, i, c);
                    made.nonfinite += !isfinite(x);
                    made.most = fmax(made.most, fabs(x));
                    squares += x * x;
                }
                made.norm = fmax(made.norm, sqrt(squares));
            }
    return made;
}

struct sim_scan_limits sim_scan_limits_make(const struct sim_theirs *t)
{
    const struct fa_problem *p = t->problem;
    const struct extent q = extent_of(t->q), k = extent_of(t->k), v = extent_of(t->v),
                        dout = extent_of(t->dout), bias = extent_of(p->bias);
    double kept = 1 / (1 - p->dropout_p), scale = fabs(p->scale), d = dout.norm * v.norm * kept;
    double group = p->kv_heads > 0 ? (double)p->heads / (double)p->kv_heads : 0;
    double queries = group * (double)p->nq;
    /* Each term of a sum is rounded a few times, and the sum as a random walk. */
    double slack = 1 + 8 * fa_dtype_roundoff(p->dtype) +
                   4 * fa_dtype_roundoff(FA_F32) * sqrt((double)p->nk + queries);
    struct sim_scan_limits made = {
        .nonfinite = q.nonfinite + k.nonfinite + v.nonfinite + dout.nonfinite + bias.nonfinite,
        .bound = {[SIM_OUT_O] = v.most * kept,
                  [SIM_OUT_LSE] = scale * q.norm * k.norm + bias.most + log(fmax(1, (double)p->nk)),
                  [SIM_OUT_DQ] = 2 * scale * d * k.most,
                  [SIM_OUT_DK] = 2 * scale * d * q.most * queries,
                  [SIM_OUT_DV] = dout.most * queries * kept},
    };
    for (int i = 0; i < SIM_OUTPUTS; i++)
        made.bound[i] *= slack;
    return made;
}

static bool is_beyond(enum sim_output which, double x, double bound)
{
    if (which == SIM_OUT_LSE && isinf(x) && x < 0)
        return false;
    return !isfinite(x) || fabs(x) > bound;
}

int64_t sim_scan_output(const struct sim_theirs *theirs, enum sim_output which,
                        const struct sim_scan_limits *limits, double budget, int64_t at[4])
{
    const struct fa_tensor *got = theirs->output[which];
    double bound = limits->bound[which] + budget;
    int64_t beyond = 0;
    bool finite = true;
    if (limits->nonfinite > 0)
        return 0;
    for (int64_t b = 0; b < got->shape[0]; b++)
        for (int64_t h = 0; h < got->shape[1]; h++)
            for (int64_t i = 0; i < got->shape[2]; i++)
                for (int64_t c = 0; c < got->shape[3]; c++) {
                    double x = fa_tensor_get(got, b, h, i, c);
                    if (!is_beyond(which, x, bound))
                        continue;
                    if (beyond == 0 || (finite && !isfinite(x)))
                        memcpy(at, (const int64_t[]){b, h, i, c}, 4 * sizeof *at);
                    finite = finite && isfinite(x);
                    beyond++;
                }
    return beyond;
}
