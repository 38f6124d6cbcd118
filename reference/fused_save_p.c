/*
 * Fusion without recomputation: flash2 that leaves P in HBM for the backward pass, as a framework
 * that fuses the forward pass alone would. Two passes over K, since a weight can be stored only
 * once its row's m and l are known.
 */
#include "reference/algorithm.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

enum { RESERVE, LOAD_Q, START, LOAD_K, SCORE, MODIFY, STATISTICS, SKIP, LOAD_KV, WEIGHTS, STORE_P,
       ACCUMULATE, FINISH, STORE_O, STORE_LSE, STEPS };

static const struct fa_step steps[STEPS] = {
    [RESERVE] = {"reserve", "reserve Q_i, O_i, l_i, m_i, K_j, V_j, S_ij on chip", 0},
    [LOAD_Q] = {"load", "load Q_i", 0},
    [START] = {"start", "O_i = 0, l_i = 0, m_i = -inf", 0},
    [LOAD_K] = {"pass 1", "load K_j", 0},
    [SCORE] = {"both passes", "S_ij = scale Q_i K_j^T", 0},
    [MODIFY] = {"both passes", "S_ij: add the bias, hide what the masks hide", 0},
    [STATISTICS] = {"pass 1", "m_i, l_i absorb S_ij", 0},
    [SKIP] = {"pass 2", "skip tiles that no row of Q_i sees; their P is stored as zeros", 0},
    [LOAD_KV] = {"pass 2", "load K_j, V_j", 0},
    [WEIGHTS] = {"pass 2", "P_ij = exp(S_ij - m_i) / l_i", 0},
    [STORE_P] = {"pass 2", "store P_ij", 0},
    [ACCUMULATE] = {"pass 2", "O_i = O_i + P_ij V_j", 0},
    [FINISH] = {"end", "LSE_i = m_i + ln l_i", 0},
    [STORE_O] = {"end", "store O_i", 0},
    [STORE_LSE] = {"end", "store LSE_i", 0},
};

static const char *const phases[] = {"attention"};

static int64_t units(const struct fa_run *run, int phase)
{
    (void)phase;
    return fa_tile_count(run->problem.nq, run->tiles.br);
}

/* S_ij, modified; K_j is on chip. */
static void score(struct fa_port *port, int64_t i, int64_t j, bool cut)
{
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    fa_scores_modify(port, i, j, cut);
}

/* Pass 1. Before each j: m and l are those of the tiles before it. */
static void statistics(struct fa_port *port, int64_t head, int64_t i, struct fa_span seen)
{
    struct fa_span whole = fa_whole_key_tiles(port->run, i);
    for (int64_t j = seen.first; j < seen.end; j++) {
        bool cut = fa_outside(whole, j);
        if (!fa_block_visits(port->run, i, j))
            continue;
        fa_visit(port, cut);
        fa_at(port, head, i, j);
        fa_step(port, LOAD_K);
        fa_load(port, FA_K, j * port->run->tiles.bc, 0);
        score(port, i, j, cut);
        fa_step(port, STATISTICS);
        fa_compute(port, FA_OP_ROW_STATS);
    }
}

/* Pass 2. Before each j: O_i is the sum of P V over the tiles before it, normalised by the whole
 * row's l. (Weights from the rounded LSE would carry its rounding, |LSE| times as large.) */
static void weights(struct fa_port *port, int64_t head, int64_t i, struct fa_span seen)
{
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t tiles = fa_tile_count(port->run->problem.nk, bc);
    struct fa_span whole = fa_whole_key_tiles(port->run, i);
    for (int64_t j = 0; j < tiles; j++) {
        if (fa_outside(seen, j) || !fa_block_visits(port->run, i, j)) {
            fa_at(port, head, i, j);
            fa_step(port, SKIP);
            fa_skip(port, i, i + 1, j, j + 1);
            fa_compute(port, FA_OP_NO_WEIGHTS);
            fa_step(port, STORE_P);
            fa_store(port, FA_P, i * br, j * bc);
            continue;
        }
        fa_at(port, head, i, j);
        fa_step(port, LOAD_KV);
        fa_load(port, FA_K, j * bc, 0);
        fa_load(port, FA_V, j * bc, 0);
        score(port, i, j, fa_outside(whole, j));
        fa_step(port, WEIGHTS);
        fa_compute(port, FA_OP_NORMALISE);
        fa_step(port, STORE_P);
        fa_store(port, FA_P, i * br, j * bc);
        fa_step(port, ACCUMULATE);
        fa_compute(port, FA_OP_ACCUMULATE);
    }
}

static void row_block(struct fa_port *port, int phase, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t rows = br < problem->nq ? br : problem->nq;
    int64_t columns = bc < problem->nk ? bc : problem->nk;
    struct fa_span seen = fa_visible_key_tiles(run, i);
    (void)phase;

    fa_at(port, head, i, -1);
    fa_step(port, RESERVE);
    fa_alloc(port, FA_Q, rows, problem->d);
    fa_alloc(port, FA_K, columns, problem->d);
    fa_alloc(port, FA_V, columns, problem->dv);
    fa_alloc(port, FA_O, rows, problem->dv);
    fa_alloc(port, FA_S, rows, columns);
    fa_alloc(port, FA_L, rows, 1);
    fa_alloc(port, FA_M, rows, 1);
    fa_alias(port, FA_P, FA_S);
    fa_alias(port, FA_LSE, FA_M);
    fa_scores_alloc(port, rows, columns);

    fa_step(port, LOAD_Q);
    if (fa_row_is_visited(run, i, seen))
        fa_load(port, FA_Q, i * br, 0);
    fa_step(port, START);
    fa_compute(port, FA_OP_START);
    statistics(port, head, i, seen);
    weights(port, head, i, seen);
    fa_at(port, head, i, -1);
    fa_step(port, FINISH);
    fa_compute(port, FA_OP_FINISH_STATS);
    fa_step(port, STORE_O);
    fa_store(port, FA_O, i * br, 0);
    fa_step(port, STORE_LSE);
    fa_store(port, FA_LSE, i * br, 0);

    fa_scores_free(port);
    fa_free(port, FA_M);
    fa_free(port, FA_L);
    fa_free(port, FA_S);
    fa_free(port, FA_O);
    fa_free(port, FA_V);
    fa_free(port, FA_K);
    fa_free(port, FA_Q);
}

const struct fa_algorithm fa_fused_save_p = {
    .name = "fused-save-p",
    .title = "fused attention that stores P for the backward pass",
    .source = "a fused forward pass without recomputation, two passes over K",
    .file = "reference/fused_save_p.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = 1,
    .phases = phases,
    .stores_weights = true,
    .stores_lse = true,
    .backward = &fa_standard_backward,
    .units = units,
    .unit = row_block,
};
