#include "simulator/closed_form.h"

#include <math.h>

struct sim_bounds sim_bounds(const struct fa_problem *p, uint64_t sram_bytes,
                             double visited_share)
{
    double heads = (double)p->batch * (double)p->heads;
    double kv_heads = (double)p->batch * (double)p->kv_heads;
    double nq = (double)p->nq, nk = (double)p->nk, d = (double)p->d, dv = (double)p->dv;
    double m = floor((double)sram_bytes / (double)fa_dtype_bytes(p->dtype));
    struct sim_bounds bounds = {
        .compulsory = heads * nq * (d + dv) + kv_heads * nk * (d + dv),
        .theta = m > 0 ? heads * visited_share * nq * nk * d * d / m : NAN,
        .root = m > 0 ? heads * visited_share * nq * nk * d / sqrt(m) : NAN,
        .floor = NAN,
        .standard = heads * (nq * d + nq * nk),
    };
    if (m >= 2 * d * d) {
        double derived = heads * (visited_share * nq * nk * d * d / (m + 2 * d * d) - m);
        bounds.floor = derived > bounds.compulsory ? derived : bounds.compulsory;
    }
    return bounds;
}
