/*
 * What a tile operation costs, by kind, from the sizes of its operands alone: a hidden element
 * inside a visited tile costs what a visible one does, as in a kernel.
 *
 * The rule, for r rows (queries), c columns (keys) of the score tile, head size d, V width dv:
 *
 *   operation       matmul     exp        other
 *   score           2 r c d    -          r c                       the scale
 *   bias            -          -          r c                       the sum
 *   hide, mask      -          -          -                         no arithmetic
 *   softmax_rows    -          r c        4 r c                     max, s - m, sum, division
 *   row_stats       -          r c + r    3 r c + 4 r               max, s - m, sum; per row: max
 *                                                                   with m, m - m', l e, + sum
 *   normalise       -          r c        2 r c                     s - m, division
 *   absorb          -          r c + r    3 r c + 4 r + r dv        row_stats, and O rescaled
 *   tile_softmax    -          r c        3 r c                     max, s - m, sum
 *   update          -          2 r        r c + r dv + 9 r          P and O rescaled; per row: max,
 *                                                                   2 differences, 3 for l, 3 for
 *                                                                   the two factors
 *   accumulate      2 r c dv   -          -
 *   finish          -          -          r dv + 2 r                O / l; ln l and its sum with m
 *   finish_stats    -          -          2 r
 *   score_part      2 r c w    -          -                         w columns of d
 *   scale_s         -          -          r c                       the scale
 *   accumulate_part 2 r c w    -          -                         w columns of dv
 *   weights         -          r c        r c                       s - LSE
 *   dropout(_dp)    -          -          r c                       the factor of what is kept
 *   delta           -          -          2 r dv                    products and sums
 *   dp              2 r c dv   -          -
 *   grad_s          -          -          2 r c                     dp - delta, product
 *   grad_v          2 r c dv   -          -
 *   grad_q          2 r c d    -          r d                       the scale
 *   grad_k          2 r c d    -          c d                       the scale
 *   row_delta       -          -          2 r c                     products and sums
 *   grad_s_rows     -          -          4 r c                     row_delta and grad_s
 *   start.., no_weights, keep: none                                 constants, bits
 *
 * A product of r x c x d counts 2 r c d: one multiplication and one addition each.
 */
#ifndef FA_TILE_COST_H
#define FA_TILE_COST_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds the cost of the operation on a score tile of r x c to *flops: the rule above, and nothing
 * else. For finish and finish_stats r is the rows of the block and c is not looked at.
 *
 * It is folded into each case of fa_op_account, where op is a constant, so that a counted tile
 * pays for one switch and not for two.
 */
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
static inline void fa_op_cost(enum fa_op op, uint64_t r, uint64_t c, uint64_t d, uint64_t dv,
                              struct fa_flops *flops)
{
    uint64_t rc = r * c;

    switch (op) {
    case FA_OP_SCORE:
        flops->matmul += 2 * rc * d;
        flops->other += rc;
        return;
    case FA_OP_BIAS:
        flops->other += rc;
        return;
    case FA_OP_SOFTMAX_ROWS:
        flops->exp += rc;
        flops->other += 4 * rc;
        return;
    case FA_OP_ROW_STATS:
        flops->exp += rc + r;
        flops->other += 3 * rc + 4 * r;
        return;
    case FA_OP_NORMALISE:
        flops->exp += rc;
        flops->other += 2 * rc;
        return;
    case FA_OP_ABSORB:
        flops->exp += rc + r;
        flops->other += 3 * rc + 4 * r + r * dv;
        return;
    case FA_OP_TILE_SOFTMAX:
        flops->exp += rc;
        flops->other += 3 * rc;
        return;
    case FA_OP_UPDATE:
        flops->exp += 2 * r;
        flops->other += rc + r * dv + 9 * r;
        return;
    case FA_OP_ACCUMULATE:
        flops->matmul += 2 * rc * dv;
        return;
    case FA_OP_FINISH:
        flops->other += r * dv + 2 * r;
        return;
    case FA_OP_FINISH_STATS:
        flops->other += 2 * r;
        return;
    case FA_OP_WEIGHTS:
        flops->exp += rc;
        flops->other += rc;
        return;
    case FA_OP_DROPOUT:
    case FA_OP_DROPOUT_DP:
        flops->other += rc;
        return;
    case FA_OP_DELTA:
        flops->other += 2 * r * dv;
        return;
    case FA_OP_DP:
    case FA_OP_GRAD_V:
        flops->matmul += 2 * rc * dv;
        return;
    case FA_OP_GRAD_S:
    case FA_OP_ROW_DELTA:
        flops->other += 2 * rc;
        return;
    case FA_OP_GRAD_Q:
        flops->matmul += 2 * rc * d;
        flops->other += r * d;
        return;
    case FA_OP_GRAD_K:
        flops->matmul += 2 * rc * d;
        flops->other += c * d;
        return;
    case FA_OP_GRAD_S_ROWS:
        flops->other += 4 * rc;
        return;
    case FA_OP_SCORE_PART: /* d is the part's width here, */
        flops->matmul += 2 * rc * d;
        return;
    case FA_OP_SCALE_S:
        flops->other += rc;
        return;
    case FA_OP_ACCUMULATE_PART: /* and dv here */
        flops->matmul += 2 * rc * dv;
        return;
    case FA_OP_START_S:
    case FA_OP_KEEP:
    case FA_OP_START_DQ:
    case FA_OP_START_DELTA:
    case FA_OP_START_DKV:
    case FA_OP_START:
    case FA_OP_HIDE:
    case FA_OP_MASK:
    case FA_OP_NO_WEIGHTS:
    case FA_OP_COUNT:
        return;
    }
}

/* The operations of the backward passes and of dropout, out of line: tile_cost.c. */
void fa_op_account_rare(struct fa_port *port, enum fa_op op, struct fa_flops *flops);

/* Gives the operation's results their sizes, and adds its cost to *flops. */
static inline void fa_op_account(struct fa_port *port, enum fa_op op, struct fa_flops *flops)
{
    struct fa_tile *tile = port->tile, *s = &tile[FA_S], *p = &tile[FA_P];
    const struct fa_problem *problem = &port->run->problem;
    uint64_t r = (uint64_t)s->rows, c = (uint64_t)s->columns;
    uint64_t d = (uint64_t)problem->d, dv = (uint64_t)problem->dv;

    switch (op) {
    case FA_OP_SCORE:
        s->rows = tile[FA_Q].rows;
        s->columns = tile[FA_K].rows;
        fa_op_cost(FA_OP_SCORE, (uint64_t)s->rows, (uint64_t)s->columns, d, dv, flops);
        return;
    case FA_OP_ACCUMULATE:
        fa_op_cost(FA_OP_ACCUMULATE, (uint64_t)p->rows, (uint64_t)p->columns, d, dv, flops);
        return;
    case FA_OP_ABSORB:
        p->rows = s->rows;
        p->columns = s->columns;
        fa_op_cost(FA_OP_ABSORB, r, c, d, dv, flops);
        return;
    case FA_OP_BIAS:
        fa_op_cost(FA_OP_BIAS, r, c, d, dv, flops);
        return;
    case FA_OP_HIDE:
    case FA_OP_MASK:
        return;
    case FA_OP_START: {
        /* Without an O on chip the step is a row-wise one, and i counts its blocks. */
        const struct fa_tiles *tiles = &port->run->tiles;
        int64_t block = tile[FA_O].live ? tiles->br : tiles->row_block;
        int64_t rows = problem->nq - port->at.i * block;
        static const enum fa_tensor_id started[] = {FA_O, FA_L, FA_M};
        for (int n = 0; n < 3; n++) {
            struct fa_tile *t = &tile[started[n]];
            t->rows = rows < t->row_capacity ? rows : t->row_capacity;
            t->columns = t->column_capacity;
        }
        return;
    }
    case FA_OP_SOFTMAX_ROWS:
        p->rows = tile[FA_L].rows = tile[FA_M].rows = s->rows;
        p->columns = s->columns;
        tile[FA_L].columns = tile[FA_M].columns = 1;
        fa_op_cost(FA_OP_SOFTMAX_ROWS, r, c, d, dv, flops);
        return;
    case FA_OP_ROW_STATS:
        fa_op_cost(FA_OP_ROW_STATS, r, c, d, dv, flops);
        return;
    case FA_OP_NORMALISE:
        p->rows = s->rows;
        p->columns = s->columns;
        fa_op_cost(FA_OP_NORMALISE, r, c, d, dv, flops);
        return;
    case FA_OP_TILE_SOFTMAX:
        p->rows = tile[FA_TILE_L].rows = tile[FA_TILE_M].rows = s->rows;
        p->columns = s->columns;
        tile[FA_TILE_L].columns = tile[FA_TILE_M].columns = 1;
        fa_op_cost(FA_OP_TILE_SOFTMAX, r, c, d, dv, flops);
        return;
    case FA_OP_UPDATE:
        fa_op_cost(FA_OP_UPDATE, r, c, d, dv, flops);
        return;
    case FA_OP_FINISH:
        tile[FA_LSE].rows = tile[FA_M].rows;
        tile[FA_LSE].columns = 1;
        fa_op_cost(FA_OP_FINISH, (uint64_t)tile[FA_O].rows, 0, d, dv, flops);
        return;
    case FA_OP_FINISH_STATS:
        tile[FA_LSE].rows = tile[FA_M].rows;
        tile[FA_LSE].columns = 1;
        fa_op_cost(FA_OP_FINISH_STATS, (uint64_t)tile[FA_M].rows, 0, d, dv, flops);
        return;
    case FA_OP_NO_WEIGHTS: {
        const struct fa_tiles *tiles = &port->run->tiles;
        int64_t rows = problem->nq - port->at.i * tiles->br;
        int64_t columns = problem->nk - port->at.j * tiles->bc;
        p->rows = rows < p->row_capacity ? rows : p->row_capacity;
        p->columns = columns < p->column_capacity ? columns : p->column_capacity;
        return;
    }
    case FA_OP_WEIGHTS:
        p->rows = s->rows;
        p->columns = s->columns;
        fa_op_cost(FA_OP_WEIGHTS, r, c, d, dv, flops);
        return;
    default:
        fa_op_account_rare(port, op, flops);
        return;
    }
}

#ifdef __cplusplus
}
#endif
#endif
