#include "simulator/closed_form_parts.h"

typedef sim_wide wide;

bool sim_is_backward(const struct fa_algorithm *algorithm)
{
    return algorithm == &fa_standard_backward || algorithm == &fa_flash1_backward ||
           algorithm == &fa_flash2_backward;
}

/* dK_j and dV_j: stored by each head, loaded by those after the first of a group. */
static void count_key_gradients(struct sim_head_counts *c, const struct sim_tiling *s)
{
    wide nk = (wide)s->nk;
    c->write[FA_DK] = nk * s->d;
    c->write[FA_DV] = nk * s->dv;
    c->group_read[FA_DK] = nk * s->d;
    c->group_read[FA_DV] = nk * s->dv;
}

static void count_standard(struct sim_head_counts *c, const struct fa_problem *p,
                           const struct sim_tiling *s, const struct fa_tiles *tiles)
{
    wide nq = (wide)s->nq, nk = (wide)s->nk, area = nq * nk;
    wide tr = (wide)s->tr, tc = (wide)s->tc;
    wide f = tiles->column_chunk >= s->nk ? 1 : 2, dropout = p->dropout_p > 0;

    c->read[FA_P] = (1 + f) * area;
    c->read[FA_DO] = tc * nq * s->dv + nq * s->dv;
    c->read[FA_V] = tr * nk * s->dv;
    c->read[FA_DP] = (f + dropout) * area;
    c->read[FA_DROPOUT] = dropout * area;
    c->read[FA_DS] = 2 * area;
    c->read[FA_K] = tr * nk * s->d;
    c->read[FA_Q] = tc * nq * s->d;
    c->write[FA_DP] = (1 + dropout) * area;
    c->write[FA_DS] = area;
    c->write[FA_DQ] = nq * s->d;
    c->matmul = 4 * area * (s->d + s->dv);
    c->other = (4 + dropout) * area + (tc * nq + tr * nk) * s->d;
    count_key_gradients(c, s);
}

/* What the two flash passes have in common: everything but the statistics. */
static void count_flash(struct sim_head_counts *c, const struct fa_problem *p,
                        const struct sim_tiling *s, const struct sim_visited *v)
{
    wide nq = (wide)s->nq;
    c->read[FA_Q] = c->read[FA_DQ] = v->rows_of_tiles * s->d;
    c->read[FA_DO] = v->rows_of_tiles * s->dv;
    c->read[FA_K] = v->key_columns * s->d;
    c->read[FA_V] = v->key_columns * s->dv;
    c->write[FA_DQ] = (nq + v->rows_of_tiles) * s->d;
    c->matmul = 2 * v->area * (3 * s->d + 2 * s->dv);
    c->exp = v->area;
    c->other = 3 * v->area + (v->rows_of_tiles + v->columns_of_tiles) * s->d;
    if (p->dropout_p > 0)
        c->other += 2 * v->area;
    count_key_gradients(c, s);
    sim_count_modifiers(c, p, v, 1);
}

void sim_count_backward(struct sim_head_counts *c, const struct fa_algorithm *algorithm,
                        const struct fa_problem *p, const struct sim_tiling *s,
                        const struct fa_tiles *tiles, const struct sim_visited *v)
{
    wide nq = (wide)s->nq;
    if (algorithm == &fa_standard_backward) {
        count_standard(c, p, s, tiles);
        return;
    }
    count_flash(c, p, s, v);
    if (algorithm == &fa_flash1_backward) {
        c->read[FA_O] = v->rows_of_tiles * s->dv;
        c->read[FA_L] = c->read[FA_M] = v->rows_of_tiles;
        c->other += 2 * v->area + 2 * v->rows_of_tiles * s->dv;
        return;
    }
    c->read[FA_O] = nq * s->dv;
    c->read[FA_DO] += nq * s->dv;
    c->read[FA_LSE] = c->read[FA_DELTA] = v->rows_of_tiles;
    c->write[FA_DELTA] = nq;
    c->other += v->area + 2 * nq * s->dv;
}
