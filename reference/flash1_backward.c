/*
 * FlashAttention, Algorithm 4, backward: K and V outside, Q inside. S and P are computed again from
 * tiles and from the l and m of the forward pass; D_i is formed anew at each visit from O_i and dO_i.
 */
#include "reference/algorithm.h"
#include "reference/key_tiles.h"

enum { START_PHASE, GRADIENTS, PHASES };

enum { Z_START, Z_STORE, RESERVE, LOAD_KV, START, SKIP, LOAD_Q, SCORE, MODIFY, WEIGHTS, DP, DROP_DP,
       DELTA, GRAD_S, DROP_P, GRAD_V, GRAD_Q, STORE_DQ, GRAD_K, STORE_DKV, STEPS };

static const struct fa_step steps[STEPS] = {
    [Z_START] = {"Algorithm 4, line 5", "dQ_i = 0", START_PHASE},
    [Z_STORE] = {"Algorithm 4, line 5", "store dQ_i", START_PHASE},
    [RESERVE] = {"Algorithm 4, line 2", "reserve the tiles on chip", GRADIENTS},
    [LOAD_KV] = {"Algorithm 4, line 7", "load K_j, V_j", GRADIENTS},
    [START] = {"Algorithm 4, line 8", "dK_j = 0, dV_j = 0; or load what the group has", GRADIENTS},
    [SKIP] = {"Algorithm 5", "skip tiles that the mask leaves empty", GRADIENTS},
    [LOAD_Q] = {"Algorithm 4, line 10", "load Q_i, O_i, dO_i, dQ_i, l_i, m_i", GRADIENTS},
    [SCORE] = {"Algorithm 4, line 11", "S_ij = scale Q_i K_j^T", GRADIENTS},
    [MODIFY] = {"Algorithm 4, line 12", "S_ij: add the bias, hide what the masks hide", GRADIENTS},
    [WEIGHTS] = {"Algorithm 4, line 13", "P_ij = exp(S_ij - m_i) / l_i", GRADIENTS},
    [DP] = {"Algorithm 4, line 17", "dP_ij = dO_i V_j^T", GRADIENTS},
    [DROP_DP] = {"Algorithm 4, line 18", "dP_ij: what dropout dropped is 0", GRADIENTS},
    [DELTA] = {"Algorithm 4, line 19", "D_i = rowsum(dO_i O_i)", GRADIENTS},
    [GRAD_S] = {"Algorithm 4, line 20", "dS_ij = P_ij (dP_ij - D_i)", GRADIENTS},
    [DROP_P] = {"Algorithm 4, lines 14 and 15", "P_ij: what dropout dropped is 0", GRADIENTS},
    [GRAD_V] = {"Algorithm 4, line 16", "dV_j = dV_j + P_ij^T dO_i", GRADIENTS},
    [GRAD_Q] = {"Algorithm 4, line 21", "dQ_i = dQ_i + scale dS_ij K_j", GRADIENTS},
    [STORE_DQ] = {"Algorithm 4, line 21", "store dQ_i", GRADIENTS},
    [GRAD_K] = {"Algorithm 4, line 22", "dK_j = dK_j + scale dS_ij^T Q_i", GRADIENTS},
    [STORE_DKV] = {"Algorithm 4, line 24", "store dK_j, dV_j", GRADIENTS},
};

static const enum fa_tensor_id on_chip[] = {FA_K, FA_V, FA_DK, FA_DV, FA_Q, FA_O,    FA_DO,
                                           FA_DQ, FA_S, FA_DP, FA_L, FA_M, FA_DELTA};
enum { ON_CHIP = sizeof on_chip / sizeof *on_chip };

static const char *const phases[PHASES] = {"start", "gradients"};
static const bool by_group[PHASES] = {false, true};

static int64_t units(const struct fa_run *run, int phase)
{
    return phase == START_PHASE ? fa_tile_count(run->problem.nq, run->tiles.br) : 1;
}

static void start_block(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br;

    fa_at(port, head, i, -1);
    fa_step(port, Z_START);
    fa_alloc(port, FA_DQ, br < problem->nq ? br : problem->nq, problem->d);
    fa_compute(port, FA_OP_START_DQ);
    fa_step(port, Z_STORE);
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
    fa_load(port, FA_O, i * br, 0);
    fa_load(port, FA_DO, i * br, 0);
    fa_load(port, FA_DQ, i * br, 0);
    fa_load(port, FA_L, i * br, 0);
    fa_load(port, FA_M, i * br, 0);
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    fa_scores_modify(port, i, j, cut);
    fa_step(port, WEIGHTS);
    fa_compute(port, FA_OP_NORMALISE);
    fa_step(port, DP);
    fa_compute(port, FA_OP_DP);
    fa_step(port, DROP_DP);
    if (drops)
        fa_dropout_load(port, i, j);
    if (drops)
        fa_compute(port, FA_OP_DROPOUT_DP);
    fa_step(port, DELTA);
    fa_compute(port, FA_OP_DELTA);
    fa_step(port, GRAD_S);
    fa_compute(port, FA_OP_GRAD_S);
    fa_step(port, DROP_P);
    if (drops)
        fa_compute(port, FA_OP_DROPOUT);
    fa_step(port, GRAD_V);
    fa_compute(port, FA_OP_GRAD_V);
    fa_step(port, GRAD_Q);
    fa_compute(port, FA_OP_GRAD_Q);
    fa_step(port, STORE_DQ);
    fa_store(port, FA_DQ, i * br, 0);
    fa_step(port, GRAD_K);
    fa_compute(port, FA_OP_GRAD_K);
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
    if (phase == START_PHASE)
        start_block(port, head, index);
    else
        one_group(port, head);
}

const struct fa_algorithm fa_flash1_backward = {
    .name = "flash1",
    .title = "backward with recomputation from l and m: K and V outside",
    .source = "FlashAttention (arXiv 2205.14135), Algorithm 4",
    .file = "reference/flash1_backward.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = PHASES,
    .phases = phases,
    .by_group = by_group,
    .units = units,
    .unit = unit,
};
