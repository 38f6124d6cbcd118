/*
 * Standard backward, FlashAttention's Algorithm 3: from the stored P, each product and the row-wise
 * step on its own, dP and dS through HBM. No tile is skipped: hidden weights are 0 in P.
 */
#include "reference/algorithm.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

enum { PRODUCT_DV, PRODUCT_DP, DROPOUT_DP, ROWS_DS, PRODUCT_DQ, PRODUCT_DK, PHASES };

enum { V_START, V_LOAD, V_GRAD, V_STORE, P_LOAD_DO, P_LOAD_V, P_DP, P_STORE, Z_PASS, S_RESERVE,
       S_LOAD, S_ROWS, S_DELTA, S_GRAD, S_STORE, Q_START, Q_LOAD, Q_GRAD, Q_STORE, K_START, K_LOAD,
       K_GRAD, K_STORE, STEPS };

static const struct fa_step steps[STEPS] = {
    [V_START] = {"Algorithm 3, line 1", "dV_j = 0; or load what the group has", PRODUCT_DV},
    [V_LOAD] = {"Algorithm 3, line 1", "load P_ij, dO_i", PRODUCT_DV},
    [V_GRAD] = {"Algorithm 3, line 1", "dV_j = dV_j + P_ij^T dO_i", PRODUCT_DV},
    [V_STORE] = {"Algorithm 3, line 1", "store dV_j", PRODUCT_DV},
    [P_LOAD_DO] = {"Algorithm 3, line 2", "load dO_i", PRODUCT_DP},
    [P_LOAD_V] = {"Algorithm 3, line 2", "load V_j", PRODUCT_DP},
    [P_DP] = {"Algorithm 3, line 2", "dP_ij = dO_i V_j^T", PRODUCT_DP},
    [P_STORE] = {"Algorithm 3, line 2", "store dP_ij", PRODUCT_DP},
    [Z_PASS] = {"Algorithm 3, between lines 2 and 3", "dropout of dP, a pass of its own",
                DROPOUT_DP},
    [S_RESERVE] = {"Algorithm 3, line 3", "reserve rows of P and dP on chip", ROWS_DS},
    [S_LOAD] = {"Algorithm 3, line 3", "load rows of P, dP", ROWS_DS},
    [S_ROWS] = {"Algorithm 3, line 3", "dS = P (dP - rowsum(P dP))", ROWS_DS},
    [S_DELTA] = {"Algorithm 3, line 3", "rowsum(P dP) of a chunk of a row", ROWS_DS},
    [S_GRAD] = {"Algorithm 3, line 3", "dS = P (dP - D) of a chunk", ROWS_DS},
    [S_STORE] = {"Algorithm 3, line 3", "store dS", ROWS_DS},
    [Q_START] = {"Algorithm 3, line 4", "dQ_i = 0", PRODUCT_DQ},
    [Q_LOAD] = {"Algorithm 3, line 4", "load dS_ij, K_j", PRODUCT_DQ},
    [Q_GRAD] = {"Algorithm 3, line 4", "dQ_i = dQ_i + scale dS_ij K_j", PRODUCT_DQ},
    [Q_STORE] = {"Algorithm 3, line 4", "store dQ_i", PRODUCT_DQ},
    [K_START] = {"Algorithm 3, line 5", "dK_j = 0; or load what the group has", PRODUCT_DK},
    [K_LOAD] = {"Algorithm 3, line 5", "load dS_ij, Q_i", PRODUCT_DK},
    [K_GRAD] = {"Algorithm 3, line 5", "dK_j = dK_j + scale dS_ij^T Q_i", PRODUCT_DK},
    [K_STORE] = {"Algorithm 3, line 5", "store dK_j", PRODUCT_DK},
};

static const char *const phases[PHASES] = {"dV = P^T dO", "dP = dO V^T", "dropout of dP",
                                           "dS by rows", "dQ = dS K", "dK = dS^T Q"};
static const bool by_group[PHASES] = {[PRODUCT_DV] = true, [PRODUCT_DK] = true};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t units(const struct fa_run *run, int phase)
{
    switch (phase) {
    case PRODUCT_DV:
    case PRODUCT_DK:
        return fa_tile_count(run->problem.nk, run->tiles.bc);
    case DROPOUT_DP:
        return fa_dropout_any(run) ? fa_tile_count(run->problem.nq, run->tiles.br) : 0;
    case ROWS_DS:
        return fa_tile_count(run->problem.nq, run->tiles.row_block);
    default:
        return fa_tile_count(run->problem.nq, run->tiles.br);
    }
}

/* dV_j or dK_j over the heads of the group. `weights` is P (dropped) or dS, `rows` dO or Q. */
static void key_side_product(struct fa_port *port, int64_t kv_head, int64_t j,
                             enum fa_tensor_id gradient, enum fa_tensor_id weights,
                             enum fa_tensor_id rows, int first_step)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t group = problem->heads / problem->kv_heads, head = kv_head * group;
    int64_t tiles = fa_tile_count(problem->nq, br);
    int64_t width = rows == FA_Q ? problem->d : problem->dv;

    fa_at(port, head, -1, j);
    fa_step(port, first_step);
    fa_alloc(port, weights, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, rows, least(br, problem->nq), width);
    fa_alloc(port, gradient, least(bc, problem->nk), width);
    /* Before each i: the gradient is the sum over the query tiles, and the heads, before it. */
    for (int64_t n = 0; n < group; n++) {
        fa_at(port, head + n, -1, j);
        fa_step(port, first_step);
        if (n == 0)
            fa_compute(port, FA_OP_START_DKV);
        else
            fa_load(port, gradient, j * bc, 0);
        for (int64_t i = 0; i < tiles; i++) {
            fa_at(port, head + n, i, j);
            fa_step(port, first_step + 1);
            fa_load(port, weights, i * br, j * bc);
            if (weights == FA_PD)
                fa_alias(port, FA_P, FA_PD);
            fa_load(port, rows, i * br, 0);
            fa_step(port, first_step + 2);
            fa_compute(port, gradient == FA_DV ? FA_OP_GRAD_V : FA_OP_GRAD_K);
        }
        fa_at(port, head + n, -1, j);
        fa_step(port, first_step + 3);
        fa_store(port, gradient, j * bc, 0);
    }
    fa_free(port, gradient);
    fa_free(port, rows);
    fa_free(port, weights);
}

static void product_dp(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);

    fa_at(port, head, i, -1);
    fa_step(port, P_LOAD_DO);
    fa_alloc(port, FA_DO, least(br, problem->nq), problem->dv);
    fa_alloc(port, FA_V, least(bc, problem->nk), problem->dv);
    fa_alloc(port, FA_DP, least(br, problem->nq), least(bc, problem->nk));
    fa_load(port, FA_DO, i * br, 0);
    for (int64_t j = 0; j < tiles; j++) {
        fa_visit(port, fa_tile_is_cut(run, i, j));
        fa_at(port, head, i, j);
        fa_step(port, P_LOAD_V);
        fa_load(port, FA_V, j * bc, 0);
        fa_step(port, P_DP);
        fa_compute(port, FA_OP_DP);
        fa_step(port, P_STORE);
        fa_store(port, FA_DP, i * br, j * bc);
    }
    fa_free(port, FA_DP);
    fa_free(port, FA_V);
    fa_free(port, FA_DO);
}

/* Reads the keep mask that the forward pass wrote, or the one that was given. */
static void dropout_dp(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);

    fa_at(port, head, i, -1);
    fa_step(port, Z_PASS);
    fa_alloc(port, FA_DP, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, FA_DROPOUT, least(br, problem->nq), least(bc, problem->nk));
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, Z_PASS);
        fa_load(port, FA_DP, i * br, j * bc);
        fa_load(port, FA_DROPOUT, i * br, j * bc);
        fa_compute(port, FA_OP_DROPOUT_DP);
        fa_store(port, FA_DP, i * br, j * bc);
    }
    fa_free(port, FA_DROPOUT);
    fa_free(port, FA_DP);
}

/* A row of P and dP that does not fit: rowsum(P dP) of its chunks first, then dS chunk by chunk. */
static void ds_chunks(struct fa_port *port, int64_t head, int64_t i)
{
    int64_t row = i * port->run->tiles.row_block, chunk = port->run->tiles.column_chunk;
    int64_t chunks = fa_tile_count(port->run->problem.nk, chunk);

    fa_step(port, S_DELTA);
    fa_compute(port, FA_OP_START_DELTA);
    for (int64_t c = 0; c < chunks; c++) {
        fa_at(port, head, i, c);
        fa_step(port, S_LOAD);
        fa_load(port, FA_P, row, c * chunk);
        fa_load(port, FA_DP, row, c * chunk);
        fa_step(port, S_DELTA);
        fa_compute(port, FA_OP_ROW_DELTA);
    }
    for (int64_t c = 0; c < chunks; c++) {
        fa_at(port, head, i, c);
        fa_step(port, S_LOAD);
        fa_load(port, FA_P, row, c * chunk);
        fa_load(port, FA_DP, row, c * chunk);
        fa_step(port, S_GRAD);
        fa_compute(port, FA_OP_GRAD_S);
        fa_step(port, S_STORE);
        fa_store(port, FA_DS, row, c * chunk);
    }
}

static void rows_ds(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    int64_t rows = least(run->tiles.row_block, run->problem.nq);
    bool whole = run->tiles.column_chunk >= run->problem.nk;
    int64_t columns = whole ? run->problem.nk : run->tiles.column_chunk;
    int64_t row = i * run->tiles.row_block;

    fa_at(port, head, i, -1);
    fa_step(port, S_RESERVE);
    fa_alloc(port, FA_P, rows, columns);
    fa_alloc(port, FA_DP, rows, columns);
    fa_alloc(port, FA_DELTA, rows, 1);
    fa_alias(port, FA_DS, FA_DP);
    if (whole) {
        fa_step(port, S_LOAD);
        fa_load(port, FA_P, row, 0);
        fa_load(port, FA_DP, row, 0);
        fa_step(port, S_ROWS);
        fa_compute(port, FA_OP_GRAD_S_ROWS);
        fa_step(port, S_STORE);
        fa_store(port, FA_DS, row, 0);
    } else {
        ds_chunks(port, head, i);
    }
    fa_free(port, FA_DELTA);
    fa_free(port, FA_DP);
    fa_free(port, FA_P);
}

static void product_dq(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);

    fa_at(port, head, i, -1);
    fa_step(port, Q_START);
    fa_alloc(port, FA_DS, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, FA_K, least(bc, problem->nk), problem->d);
    fa_alloc(port, FA_DQ, least(br, problem->nq), problem->d);
    fa_compute(port, FA_OP_START_DQ);
    /* Before each j: dQ_i is the sum over the key tiles before it. */
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, Q_LOAD);
        fa_load(port, FA_DS, i * br, j * bc);
        fa_load(port, FA_K, j * bc, 0);
        fa_step(port, Q_GRAD);
        fa_compute(port, FA_OP_GRAD_Q);
    }
    fa_at(port, head, i, -1);
    fa_step(port, Q_STORE);
    fa_store(port, FA_DQ, i * br, 0);
    fa_free(port, FA_DQ);
    fa_free(port, FA_K);
    fa_free(port, FA_DS);
}

static void unit(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    switch (phase) {
    case PRODUCT_DV:
        key_side_product(port, head, index, FA_DV, fa_dropout_any(port->run) ? FA_PD : FA_P, FA_DO,
                         V_START);
        return;
    case PRODUCT_DP:
        product_dp(port, head, index);
        return;
    case DROPOUT_DP:
        dropout_dp(port, head, index);
        return;
    case ROWS_DS:
        rows_ds(port, head, index);
        return;
    case PRODUCT_DQ:
        product_dq(port, head, index);
        return;
    case PRODUCT_DK:
        key_side_product(port, head, index, FA_DK, FA_DS, FA_Q, K_START);
        return;
    }
}

const struct fa_algorithm fa_standard_backward = {
    .name = "standard",
    .title = "standard backward from the stored P: dP and dS go through HBM",
    .source = "FlashAttention (arXiv 2205.14135), Algorithm 3",
    .file = "reference/standard_backward.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = PHASES,
    .phases = phases,
    .by_group = by_group,
    .own = FA_BIT(FA_DP) | FA_BIT(FA_DS),
    .units = units,
    .unit = unit,
};
