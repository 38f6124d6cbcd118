/*
 * FlashAttention-2, Algorithm 1, forward: Q outside, K and V inside. O stays on chip, unnormalised,
 * until its row block is done; it is divided by l once, and LSE is stored.
 */
#include "reference/algorithm.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

enum { RESERVE, LOAD_Q, START, SKIP, LOAD_KV, SCORE, MODIFY, ABSORB, DROP, ACCUMULATE, FINISH,
       STORE_O, STORE_LSE, STEPS };

static const struct fa_step steps[STEPS] = {
    [RESERVE] = {"Algorithm 1, line 1", "reserve Q_i, O_i, l_i, m_i, K_j, V_j, S_ij on chip", 0},
    [LOAD_Q] = {"Algorithm 1, line 4", "load Q_i", 0},
    [START] = {"Algorithm 1, line 5", "O_i = 0, l_i = 0, m_i = -inf", 0},
    [SKIP] = {"Section 3.1.1", "skip tiles that no row of Q_i sees", 0},
    [LOAD_KV] = {"Algorithm 1, line 7", "load K_j, V_j", 0},
    [SCORE] = {"Algorithm 1, line 8", "S_ij = scale Q_i K_j^T", 0},
    [MODIFY] = {"Algorithm 1, line 8", "S_ij: add the bias, hide what the masks hide", 0},
    [ABSORB] = {"Algorithm 1, line 9",
                "m_new = max(m, rowmax S), P = exp(S - m_new), l = exp(m - m_new) l + rowsum P, "
                "O_i = exp(m - m_new) O_i", 0},
    [DROP] = {"after Algorithm 1, line 9", "P: what dropout dropped is 0, the rest over 1 - p", 0},
    [ACCUMULATE] = {"Algorithm 1, line 10", "O_i = O_i + P V_j", 0},
    [FINISH] = {"Algorithm 1, lines 12 and 13", "O_i = O_i / l_i, LSE_i = m_i + ln l_i", 0},
    [STORE_O] = {"Algorithm 1, line 14", "store O_i", 0},
    [STORE_LSE] = {"Algorithm 1, line 15", "store LSE_i", 0},
};

static const char *const phases[] = {"attention"};

static int64_t units(const struct fa_run *run, int phase)
{
    (void)phase;
    return fa_tile_count(run->problem.nq, run->tiles.br);
}

/* Tile (i, j) of the inner loop; Q_i, O_i, l_i and m_i are on chip. `modified`: bias or mask. */
FA_VISIT void visit(struct fa_port *port, int64_t head, int64_t i, int64_t j, bool cut,
                    bool modified, bool drops, const bool counting)
{
    int64_t bc = port->run->tiles.bc;

    FA_KNOWN(port, counting);
    fa_visit(port, cut);
    fa_at(port, head, i, j);
    fa_step(port, LOAD_KV);
    fa_load(port, FA_K, j * bc, 0);
    fa_load(port, FA_V, j * bc, 0);
    fa_step(port, SCORE);
    fa_compute(port, FA_OP_SCORE);
    fa_step(port, MODIFY);
    if (cut || modified)
        fa_scores_modify(port, i, j, cut);
    FA_KNOWN(port, counting);
    fa_step(port, ABSORB);
    fa_compute(port, FA_OP_ABSORB);
    if (drops) {
        fa_step(port, DROP);
        fa_dropout_load(port, i, j);
        fa_compute(port, FA_OP_DROPOUT);
        FA_KNOWN(port, counting);
    }
    fa_step(port, ACCUMULATE);
    fa_compute(port, FA_OP_ACCUMULATE);
}

static void row_block(struct fa_port *port, int phase, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t rows = br < problem->nq ? br : problem->nq;
    int64_t columns = bc < problem->nk ? bc : problem->nk;
    int64_t tiles = fa_tile_count(problem->nk, bc);
    struct fa_span seen = fa_visible_key_tiles(run, i), whole = fa_whole_key_tiles(run, i);
    /* Asked once: a counted tile is a few additions, and a question of each would show. */
    const bool modified = fa_scores_any(run), drops = fa_dropout_any(run);
    const bool blocked = problem->blocks != NULL;
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
    fa_dropout_alloc(port, rows, columns);

    fa_step(port, LOAD_Q);
    if (fa_row_is_visited(run, i, seen))
        fa_load(port, FA_Q, i * br, 0);
    fa_step(port, START);
    fa_compute(port, FA_OP_START);

    /*
     * Before each j: with the keys of the tiles before it, m = max s, l = sum exp(s - m) and
     * O_i = sum exp(s - m) v, not normalised; m = -inf, l = 0, O_i = 0 while a row saw no key.
     */
    fa_step(port, SKIP);
    fa_skip(port, i, i + 1, 0, seen.first);
    for (int64_t j = seen.first; j < seen.end; j++) {
        if (blocked && !fa_block_visits(run, i, j)) {
            fa_step(port, SKIP);
            fa_skip(port, i, i + 1, j, j + 1);
            continue;
        }
        bool cut = fa_outside(whole, j);
        if (port->count_only)
            visit(port, head, i, j, cut, modified, drops, true);
        else
            visit(port, head, i, j, cut, modified, drops, false);
    }
    fa_step(port, SKIP);
    fa_skip(port, i, i + 1, seen.end, tiles);

    fa_at(port, head, i, -1);
    fa_step(port, FINISH);
    fa_compute(port, FA_OP_FINISH);
    fa_step(port, STORE_O);
    fa_store(port, FA_O, i * br, 0);
    fa_step(port, STORE_LSE);
    fa_store(port, FA_LSE, i * br, 0);

    fa_dropout_free(port);
    fa_scores_free(port);
    fa_free(port, FA_M);
    fa_free(port, FA_L);
    fa_free(port, FA_S);
    fa_free(port, FA_O);
    fa_free(port, FA_V);
    fa_free(port, FA_K);
    fa_free(port, FA_Q);
}

const struct fa_algorithm fa_flash2 = {
    .name = "flash2",
    .title = "tiled attention with Q outside: O stays on chip until it is final",
    .source = "FlashAttention-2 (arXiv 2307.08691), Algorithm 1",
    .file = "reference/flash2.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = 1,
    .phases = phases,
    .stores_lse = true,
    .backward = &fa_flash2_backward,
    .units = units,
    .unit = row_block,
};
