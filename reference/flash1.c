/*
 * FlashAttention, Algorithm 1, forward: K and V outside, Q inside. O, l and m go through HBM at
 * each visit; O is normalised at all times.
 */
#include "reference/algorithm.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

enum { RESERVE, START, STORE_START, LOAD_KV, SKIP, LOAD_Q, SCORE, MODIFY, TILE_SOFTMAX, UPDATE,
       DROP, ACCUMULATE, STORE_O, STORE_STATISTICS, STEPS };

static const struct fa_step steps[STEPS] = {
    [RESERVE] = {"Algorithm 1, line 1", "reserve Q_i, O_i, l_i, m_i, K_j, V_j, S_ij on chip", 0},
    [START] = {"Algorithm 1, line 2", "O = 0, l = 0, m = -inf", 0},
    [STORE_START] = {"Algorithm 1, line 2", "store O_i, l_i, m_i", 0},
    [LOAD_KV] = {"Algorithm 1, line 6", "load K_j, V_j", 0},
    [SKIP] = {"Algorithm 5", "skip tiles that the mask leaves empty", 0},
    [LOAD_Q] = {"Algorithm 1, line 8", "load Q_i, O_i, l_i, m_i", 0},
    [SCORE] = {"Algorithm 1, line 9", "S_ij = scale Q_i K_j^T", 0},
    [MODIFY] = {"Algorithm 2, line 11", "S_ij: add the bias, hide what the masks hide", 0},
    [TILE_SOFTMAX] = {"Algorithm 1, line 10",
                      "m~ = rowmax S, P = exp(S - m~), l~ = rowsum P", 0},
    [UPDATE] = {"Algorithm 1, lines 11 and 12",
                "m_new = max(m, m~), l_new = exp(m - m_new) l + exp(m~ - m_new) l~, "
                "O_i = (l / l_new) exp(m - m_new) O_i, P = exp(m~ - m_new) / l_new P", 0},
    [DROP] = {"Algorithm 2, line 14", "P: what dropout dropped is 0, the rest over 1 - p", 0},
    [ACCUMULATE] = {"Algorithm 1, line 12", "O_i = O_i + P V_j", 0},
    [STORE_O] = {"Algorithm 1, line 12", "store O_i", 0},
    [STORE_STATISTICS] = {"Algorithm 1, line 13", "store l_i, m_i", 0},
};

static const char *const phases[] = {"attention"};

static int64_t units(const struct fa_run *run, int phase)
{
    (void)run;
    (void)phase;
    return 1; /* each key tile changes what the one before it left in HBM */
}

static void store_start(struct fa_port *port, int64_t head)
{
    int64_t br = port->run->tiles.br;
    int64_t row_tiles = fa_tile_count(port->run->problem.nq, br);
    for (int64_t i = 0; i < row_tiles; i++) {
        fa_at(port, head, i, -1);
        fa_step(port, START);
        fa_compute(port, FA_OP_START);
        fa_step(port, STORE_START);
        fa_store(port, FA_O, i * br, 0);
        fa_store(port, FA_L, i * br, 0);
        fa_store(port, FA_M, i * br, 0);
    }
}

/* One visit of the inner loop; K_j and V_j are on chip. */
FA_VISIT void visit(struct fa_port *port, int64_t head, int64_t i, int64_t j, bool cut,
                    const bool counting)
{
    int64_t br = port->run->tiles.br;

    FA_KNOWN(port, counting);
    fa_visit(port, cut);
    fa_at(port, head, i, j);
    fa_step(port, LOAD_Q);
    fa_load(port, FA_Q, i * br, 0);
    fa_load(port, FA_O, i * br, 0);
    fa_load(port, FA_L, i * br, 0);
    fa_load(port, FA_M, i * br, 0);
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    if (cut || fa_scores_any(port->run))
        fa_scores_modify(port, i, j, cut);
    FA_KNOWN(port, counting);
    fa_step(port, TILE_SOFTMAX);
    fa_compute(port, FA_OP_TILE_SOFTMAX);
    fa_step(port, UPDATE);
    fa_compute(port, FA_OP_UPDATE);
    if (fa_dropout_any(port->run)) {
        fa_step(port, DROP);
        fa_dropout_load(port, i, j);
        fa_compute(port, FA_OP_DROPOUT);
        FA_KNOWN(port, counting);
    }
    fa_step(port, ACCUMULATE);
    fa_compute(port, FA_OP_ACCUMULATE);
    fa_step(port, STORE_O);
    fa_store(port, FA_O, i * br, 0);
    fa_step(port, STORE_STATISTICS);
    fa_store(port, FA_L, i * br, 0);
    fa_store(port, FA_M, i * br, 0);
}

/* One outer iteration: key tile j meets every query tile that sees it. */
static void key_block(struct fa_port *port, int64_t head, int64_t j)
{
    const struct fa_run *run = port->run;
    int64_t row_tiles = fa_tile_count(run->problem.nq, run->tiles.br);
    struct fa_span seen = fa_visible_query_tiles(run, j), whole = fa_whole_query_tiles(run, j);

    fa_at(port, head, -1, j);
    fa_step(port, LOAD_KV);
    if (fa_column_is_visited(run, j, seen)) {
        fa_load(port, FA_K, j * run->tiles.bc, 0);
        fa_load(port, FA_V, j * run->tiles.bc, 0);
    }
    fa_step(port, SKIP);
    fa_skip(port, 0, seen.first, j, j + 1);
    for (int64_t i = seen.first; i < seen.end; i++) {
        if (!fa_block_visits(run, i, j)) {
            fa_step(port, SKIP);
            fa_skip(port, i, i + 1, j, j + 1);
            continue;
        }
        if (port->count_only)
            visit(port, head, i, j, fa_outside(whole, i), true);
        else
            visit(port, head, i, j, fa_outside(whole, i), false);
    }
    fa_at(port, head, -1, j);
    fa_step(port, SKIP);
    fa_skip(port, seen.end, row_tiles, j, j + 1);
}

static void one_head(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t rows = br < problem->nq ? br : problem->nq;
    int64_t columns = bc < problem->nk ? bc : problem->nk;
    int64_t key_tiles = fa_tile_count(problem->nk, bc);
    (void)phase;
    (void)index;

    fa_at(port, head, -1, -1);
    fa_step(port, RESERVE);
    fa_alloc(port, FA_Q, rows, problem->d);
    fa_alloc(port, FA_K, columns, problem->d);
    fa_alloc(port, FA_V, columns, problem->dv);
    fa_alloc(port, FA_O, rows, problem->dv);
    fa_alloc(port, FA_S, rows, columns);
    fa_alloc(port, FA_L, rows, 1);
    fa_alloc(port, FA_M, rows, 1);
    fa_alloc(port, FA_TILE_L, rows, 1);
    fa_alloc(port, FA_TILE_M, rows, 1);
    fa_alias(port, FA_P, FA_S);
    fa_scores_alloc(port, rows, columns);
    fa_dropout_alloc(port, rows, columns);

    store_start(port, head);
    /*
     * Before each j: with the keys of the tiles before it, HBM holds m = max s,
     * l = sum exp(s - m) and O = (sum exp(s - m) v) / l, normalised; m = -inf, l = 0, O = 0 while
     * a row saw no key.
     */
    for (int64_t j = 0; j < key_tiles && port->status == FA_OK; j++) {
        if (j > 0)
            fa_tick(port, (double)j / (double)key_tiles);
        key_block(port, head, j);
    }

    fa_dropout_free(port);
    fa_scores_free(port);
    fa_free(port, FA_TILE_M);
    fa_free(port, FA_TILE_L);
    fa_free(port, FA_M);
    fa_free(port, FA_L);
    fa_free(port, FA_S);
    fa_free(port, FA_O);
    fa_free(port, FA_V);
    fa_free(port, FA_K);
    fa_free(port, FA_Q);
}

const struct fa_algorithm fa_flash1 = {
    .name = "flash1",
    .title = "tiled attention with K and V outside: O, l and m go through HBM",
    .source = "FlashAttention (arXiv 2205.14135), Algorithm 1",
    .file = "reference/flash1.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = 1,
    .phases = phases,
    .normalised = true,
    .stores_statistics = true,
    .backward = &fa_flash1_backward,
    .units = units,
    .unit = one_head,
};
