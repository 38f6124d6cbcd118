/*
 * FlashAttention-2, Algorithm 2, backward: first delta for every row, then K and V outside, Q inside.
 * S and P are computed again from tiles and LSE; dK_j and dV_j stay on chip while the queries pass,
 * dQ_i goes through HBM at each visit.
 */
#include "reference/algorithm.h"
#include "reference/key_tiles.h"

enum { DELTA_PHASE, GRADIENTS, PHASES };

enum { D_LOAD, D_DELTA, D_STORE, D_START, D_STORE_DQ, RESERVE, LOAD_KV, START, SKIP, LOAD_Q, SCORE,
       MODIFY, WEIGHTS, DP, DROP_DP, GRAD_S, DROP_P, GRAD_V, GRAD_K, GRAD_Q, STORE_DQ, STORE_DKV,
       STEPS };

static const struct fa_step steps[STEPS] = {
    [D_LOAD] = {"Algorithm 2, line 4", "load O_i, dO_i", DELTA_PHASE},
    [D_DELTA] = {"Algorithm 2, line 4", "D_i = rowsum(dO_i O_i)", DELTA_PHASE},
    [D_STORE] = {"Algorithm 2, line 4", "store D_i", DELTA_PHASE},
    [D_START] = {"Algorithm 2, line 3", "dQ_i = 0", DELTA_PHASE},
    [D_STORE_DQ] = {"Algorithm 2, line 3", "store dQ_i", DELTA_PHASE},
    [RESERVE] = {"Algorithm 2, line 1", "reserve the tiles on chip", GRADIENTS},
    [LOAD_KV] = {"Algorithm 2, line 6", "load K_j, V_j", GRADIENTS},
    [START] = {"Algorithm 2, line 7", "dK_j = 0, dV_j = 0; or load what the group has",
               GRADIENTS},
    [SKIP] = {"Section 3.1.1", "skip tiles that the mask leaves empty", GRADIENTS},
    [LOAD_Q] = {"Algorithm 2, line 9", "load Q_i, dO_i, dQ_i, LSE_i, D_i", GRADIENTS},
    [SCORE] = {"Algorithm 2, line 10", "S_ij = scale Q_i K_j^T", GRADIENTS},
    [MODIFY] = {"Algorithm 2, line 10", "S_ij: add the bias, hide what the masks hide", GRADIENTS},
    [WEIGHTS] = {"Algorithm 2, line 11", "P_ij = exp(S_ij - LSE_i)", GRADIENTS},
    [DP] = {"Algorithm 2, line 13", "dP_ij = dO_i V_j^T", GRADIENTS},
    [DROP_DP] = {"Algorithm 2, line 13", "dP_ij: what dropout dropped is 0", GRADIENTS},
    [GRAD_S] = {"Algorithm 2, line 14", "dS_ij = P_ij (dP_ij - D_i)", GRADIENTS},
    [DROP_P] = {"Algorithm 2, line 12", "P_ij: what dropout dropped is 0", GRADIENTS},
    [GRAD_V] = {"Algorithm 2, line 12", "dV_j = dV_j + P_ij^T dO_i", GRADIENTS},
    [GRAD_K] = {"Algorithm 2, line 16", "dK_j = dK_j + scale dS_ij^T Q_i", GRADIENTS},
    [GRAD_Q] = {"Algorithm 2, line 15", "dQ_i = dQ_i + scale dS_ij K_j", GRADIENTS},
    [STORE_DQ] = {"Algorithm 2, line 15", "store dQ_i", GRADIENTS},
    [STORE_DKV] = {"Algorithm 2, line 18", "store dK_j, dV_j", GRADIENTS},
};

static const enum fa_tensor_id on_chip[] = {FA_K,  FA_V, FA_DK, FA_DV,  FA_Q, FA_DO,
                                           FA_DQ, FA_S, FA_DP, FA_LSE, FA_DELTA};
enum { ON_CHIP = sizeof on_chip / sizeof *on_chip };

static const char *const phases[PHASES] = {"delta", "gradients"};
static const bool by_group[PHASES] = {false, true};

static int64_t units(const struct fa_run *run, int phase)
{
    return phase == DELTA_PHASE ? fa_tile_count(run->problem.nq, run->tiles.br) : 1;
}

/* D_i, and the first dQ_i, of every query tile, whatever the mask. */
static void delta_block(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, rows = br < problem->nq ? br : problem->nq;

    fa_at(port, head, i, -1);
    fa_step(port, D_LOAD);
    fa_alloc(port, FA_O, rows, problem->dv);
    fa_alloc(port, FA_DO, rows, problem->dv);
    fa_alloc(port, FA_DELTA, rows, 1);
    fa_load(port, FA_O, i * br, 0);
    fa_load(port, FA_DO, i * br, 0);
    fa_step(port, D_DELTA);
    fa_compute(port, FA_OP_DELTA);
    fa_step(port, D_STORE);
    fa_store(port, FA_DELTA, i * br, 0);
    fa_free(port, FA_DELTA);
    fa_free(port, FA_DO);
    fa_free(port, FA_O);

    fa_step(port, D_START);
    fa_alloc(port, FA_DQ, rows, problem->d);
    fa_compute(port, FA_OP_START_DQ);
    fa_step(port, D_STORE_DQ);
    fa_store(port, FA_DQ, i * br, 0);
    fa_free(port, FA_DQ);
}

/* Query tile i meets key tile j; K_j, V_j, dK_j and dV_j are on chip. */
static void visit(struct fa_port *port, int64_t head, int64_t i, int64_t j, bool cut)
{
    int64_t br = port->run->tiles.br;
    bool drops = fa_dropout_any(port->run);

    fa_visit(port, cut);
    fa_at(port, head, i, j);
    fa_step(port, LOAD_Q);
    fa_load(port, FA_Q, i * br, 0);
    fa_load(port, FA_DO, i * br, 0);
    fa_load(port, FA_DQ, i * br, 0);
    fa_load(port, FA_LSE, i * br, 0);
    fa_load(port, FA_DELTA, i * br, 0);
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    fa_scores_modify(port, i, j, cut);
    fa_step(port, WEIGHTS);
    fa_compute(port, FA_OP_WEIGHTS);
    fa_step(port, DP);
    fa_compute(port, FA_OP_DP);
    fa_step(port, DROP_DP);
    if (drops)
        fa_dropout_load(port, i, j);
    if (drops)
        fa_compute(port, FA_OP_DROPOUT_DP);
    fa_step(port, GRAD_S);
    fa_compute(port, FA_OP_GRAD_S);
    fa_step(port, DROP_P);
    if (drops)
        fa_compute(port, FA_OP_DROPOUT);
    fa_step(port, GRAD_V);
    fa_compute(port, FA_OP_GRAD_V);
    fa_step(port, GRAD_K);
    fa_compute(port, FA_OP_GRAD_K);
    fa_step(port, GRAD_Q);
    fa_compute(port, FA_OP_GRAD_Q);
    fa_step(port, STORE_DQ);
    fa_store(port, FA_DQ, i * br, 0);
}

/*
 * One outer iteration. Before each i: dK_j and dV_j are the sums over the query tiles before it
 * (and over the heads of the group before this one), and HBM's dQ_i over the key tiles before j.
 */
static void key_block(struct fa_port *port, int64_t head, int64_t j)
{
    struct fa_query_tiles queries = fa_query_tiles(port->run, head, j);

    fa_at(port, head, -1, j);
    fa_step(port, LOAD_KV);
    fa_key_tile_load(port, &queries);
    fa_step(port, START);
    fa_key_gradients_start(port, head, j);
    fa_step(port, SKIP);
    while (fa_query_tiles_next(port, &queries)) {
        visit(port, head, queries.i, j, queries.cut);
        fa_step(port, SKIP);
    }
    fa_step(port, STORE_DKV);
    fa_key_gradients_store(port, j);
}

static void one_group(struct fa_port *port, int64_t kv_head)
{
    fa_at(port, kv_head * fa_group_heads(&port->run->problem), -1, -1);
    fa_step(port, RESERVE);
    fa_key_tiles_reserve(port, on_chip, ON_CHIP);
    fa_key_tiles_each(port, kv_head, key_block);
    fa_key_tiles_release(port, on_chip, ON_CHIP);
}

static void unit(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    if (phase == DELTA_PHASE)
        delta_block(port, head, index);
    else
        one_group(port, head);
}

const struct fa_algorithm fa_flash2_backward = {
    .name = "flash2",
    .title = "backward with recomputation from LSE: delta first, then K and V outside",
    .source = "FlashAttention-2 (arXiv 2307.08691), Algorithm 2",
    .file = "reference/flash2_backward.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = PHASES,
    .phases = phases,
    .by_group = by_group,
    .own = FA_BIT(FA_DELTA),
    .units = units,
    .unit = unit,
};
