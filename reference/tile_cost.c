#include "reference/tile_cost.h"

#include <assert.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_size(struct fa_tile *tile, int64_t rows, int64_t columns)
{
    tile->rows = least(rows, tile->row_capacity);
    tile->columns = least(columns, tile->column_capacity);
}

void fa_op_account_rare(struct fa_port *port, enum fa_op op, struct fa_flops *flops)
{
    struct fa_tile *tile = port->tile;
    const struct fa_problem *problem = &port->run->problem;
    const struct fa_tiles *tiles = &port->run->tiles;
    int64_t r = tile[FA_P].rows, c = tile[FA_P].columns, d = problem->d, dv = problem->dv;

    switch (op) {
    case FA_OP_START_S:
        set_size(&tile[FA_S], problem->nq - port->at.i * tiles->br,
                 problem->nk - port->at.j * tiles->bc);
        break;
    case FA_OP_SCORE_PART:
        r = tile[FA_Q].rows;
        c = tile[FA_K].rows;
        d = tile[FA_Q].columns;
        break;
    case FA_OP_SCALE_S:
        r = tile[FA_S].rows;
        c = tile[FA_S].columns;
        break;
    case FA_OP_ACCUMULATE_PART:
        dv = tile[FA_V].columns;
        break;
    case FA_OP_KEEP:
        set_size(&tile[FA_DROPOUT], r, c);
        break;
    case FA_OP_START_DQ:
        set_size(&tile[FA_DQ], problem->nq - port->at.i * tiles->br, problem->d);
        break;
    case FA_OP_START_DELTA:
        tile[FA_DELTA].rows = tile[FA_DELTA].row_capacity;
        break;
    case FA_OP_START_DKV:
        set_size(&tile[FA_DK], problem->nk - port->at.j * tiles->bc, problem->d);
        set_size(&tile[FA_DV], problem->nk - port->at.j * tiles->bc, problem->dv);
        break;
    case FA_OP_DELTA:
        r = tile[FA_O].rows;
        set_size(&tile[FA_DELTA], r, 1);
        break;
    case FA_OP_DP:
        r = tile[FA_DO].rows;
        c = tile[FA_V].rows;
        set_size(&tile[FA_DP], r, c);
        break;
    case FA_OP_DROPOUT_DP:
        r = tile[FA_DP].rows;
        c = tile[FA_DP].columns;
        break;
    case FA_OP_GRAD_S:
        set_size(&tile[FA_DS], r, c);
        break;
    case FA_OP_GRAD_S_ROWS:
        set_size(&tile[FA_DS], r, c);
        set_size(&tile[FA_DELTA], r, 1);
        break;
    case FA_OP_GRAD_Q:
    case FA_OP_GRAD_K:
        r = tile[FA_DS].rows;
        c = tile[FA_DS].columns;
        break;
    case FA_OP_DROPOUT:
    case FA_OP_GRAD_V:
    case FA_OP_ROW_DELTA:
        break;
    default:
        assert(!"an operation without a cost");
        return;
    }
    fa_op_cost(op, (uint64_t)r, (uint64_t)c, (uint64_t)d, (uint64_t)dv, flops);
}
