/*
 * What fuses nothing: `standard` and `square-tiling`.
 *
 * Standard attention, FlashAttention's Algorithm 0, forward: S = Q K^T goes to HBM, comes back by
 * rows for the softmax, P goes to HBM and comes back for O = P V.
 *
 * Causal and window hide scores as S is stored and save nothing. A bias or an element mask is a
 * pass over S of its own, as in code that fuses nothing. Rows too long for the chip are softmaxed
 * in chunks: one pass for the statistics, one to normalise.
 *
 * Square tiling (Saha and Ye, arXiv 2402.07443, Theorem 3.5) is for an SRAM so small that not even a few
 * whole rows of Q and K fit, M < d^2: both products are tiled along d too, in chunks as wide as the
 * tiles are high, which moves the least there.
 */
#include "reference/algorithm.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

enum { PRODUCT_S, BIAS, MASK, SOFTMAX, DROPOUT, PRODUCT_O, PHASES };

enum { S_RESERVE, S_LOAD_Q, S_LOAD_K, S_SCORE, S_HIDE, S_STORE, B_PASS, M_PASS, P_RESERVE, P_LOAD,
       P_SOFTMAX, P_STATISTICS, P_NORMALISE, P_STORE, Z_PASS, O_RESERVE, O_START, O_LOAD, O_ACCUMULATE,
       O_STORE, STEPS };

static const struct fa_step steps[STEPS] = {
    [S_RESERVE] = {"Algorithm 0, line 1", "reserve Q_i, K_j, S_ij on chip", PRODUCT_S},
    [S_LOAD_Q] = {"Algorithm 0, line 1", "load Q_i", PRODUCT_S},
    [S_LOAD_K] = {"Algorithm 0, line 1", "load K_j", PRODUCT_S},
    [S_SCORE] = {"Algorithm 0, line 1", "S_ij = scale Q_i K_j^T", PRODUCT_S},
    [S_HIDE] = {"Algorithm 0, line 1", "hide what causal and window hide", PRODUCT_S},
    [S_STORE] = {"Algorithm 0, line 1", "store S_ij", PRODUCT_S},
    [B_PASS] = {"Algorithm 0, between lines 1 and 2", "S = S + bias, a pass of its own", BIAS},
    [M_PASS] = {"Algorithm 0, between lines 1 and 2", "mask S, a pass of its own", MASK},
    [P_RESERVE] = {"Algorithm 0, line 2", "reserve rows of S on chip", SOFTMAX},
    [P_LOAD] = {"Algorithm 0, line 2", "load rows of S", SOFTMAX},
    [P_SOFTMAX] = {"Algorithm 0, line 2", "P = softmax(S) by rows", SOFTMAX},
    [P_STATISTICS] = {"Algorithm 0, line 2", "m and l of a chunk of a row", SOFTMAX},
    [P_NORMALISE] = {"Algorithm 0, line 2", "P = exp(S - m) / l of a chunk", SOFTMAX},
    [P_STORE] = {"Algorithm 0, line 2", "store P", SOFTMAX},
    [Z_PASS] = {"Algorithm 0, between lines 2 and 3", "dropout of P, a pass of its own", DROPOUT},
    [O_RESERVE] = {"Algorithm 0, line 3", "reserve P_ij, V_j, O_i on chip", PRODUCT_O},
    [O_START] = {"Algorithm 0, line 3", "O_i = 0", PRODUCT_O},
    [O_LOAD] = {"Algorithm 0, line 3", "load P_ij, V_j", PRODUCT_O},
    [O_ACCUMULATE] = {"Algorithm 0, line 3", "O_i = O_i + P_ij V_j", PRODUCT_O},
    [O_STORE] = {"Algorithm 0, line 3", "store O_i", PRODUCT_O},
};

static const char *const phases[PHASES] = {"S = Q K^T", "bias", "mask", "softmax", "dropout",
                                           "O = P V"};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t units(const struct fa_run *run, int phase)
{
    if ((phase == BIAS && !fa_scores_has(run, FA_BIAS)) ||
        (phase == MASK && !fa_scores_has(run, FA_MASK)) ||
        (phase == DROPOUT && !fa_dropout_any(run)))
        return 0;
    return fa_tile_count(run->problem.nq,
                         phase == SOFTMAX ? run->tiles.row_block : run->tiles.br);
}

/* Every tile is computed and stored, whatever the mask. */
static void product_s(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);
    struct fa_span whole = fa_whole_key_tiles(run, i);

    fa_at(port, head, i, -1);
    fa_step(port, S_RESERVE);
    fa_alloc(port, FA_Q, least(br, problem->nq), problem->d);
    fa_alloc(port, FA_K, least(bc, problem->nk), problem->d);
    fa_alloc(port, FA_S, least(br, problem->nq), least(bc, problem->nk));
    fa_step(port, S_LOAD_Q);
    fa_load(port, FA_Q, i * br, 0);
    for (int64_t j = 0; j < tiles; j++) {
        bool cut = fa_outside(whole, j) || (run->problem.blocks && fa_tile_is_cut(run, i, j));
        fa_visit(port, cut);
        fa_at(port, head, i, j);
        fa_step(port, S_LOAD_K);
        fa_load(port, FA_K, j * bc, 0);
        fa_step(port, S_SCORE);
        fa_compute(port, FA_OP_SCORE);
        fa_step(port, S_HIDE);
        if (cut)
            fa_compute(port, FA_OP_HIDE);
        fa_step(port, S_STORE);
        fa_store(port, FA_S, i * br, j * bc);
    }
    fa_free(port, FA_S);
    fa_free(port, FA_K);
    fa_free(port, FA_Q);
}

static void bias_or_mask(struct fa_port *port, enum fa_tensor_id which, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t rows = least(br, run->problem.nq), columns = least(bc, run->problem.nk);
    int64_t tiles = fa_tile_count(run->problem.nk, bc);
    int step = which == FA_BIAS ? B_PASS : M_PASS;

    fa_at(port, head, i, -1);
    fa_step(port, step);
    fa_alloc(port, FA_S, rows, columns);
    fa_scores_alloc_one(port, which, rows, columns);
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, step);
        fa_load(port, FA_S, i * br, j * bc);
        fa_scores_apply_one(port, which, i, j);
        fa_store(port, FA_S, i * br, j * bc);
    }
    fa_free(port, which);
    fa_free(port, FA_S);
}

/* Whole rows at a time. */
static void softmax_rows(struct fa_port *port, int64_t head, int64_t i)
{
    int64_t row = i * port->run->tiles.row_block;
    fa_at(port, head, i, -1);
    fa_step(port, P_LOAD);
    fa_load(port, FA_S, row, 0);
    fa_step(port, P_SOFTMAX);
    fa_compute(port, FA_OP_SOFTMAX_ROWS);
    fa_step(port, P_STORE);
    fa_store(port, FA_P, row, 0);
}

/* A row that does not fit: before each chunk m and l are those of the chunks before it. */
static void softmax_chunks(struct fa_port *port, int64_t head, int64_t i)
{
    int64_t row = i * port->run->tiles.row_block, chunk = port->run->tiles.column_chunk;
    int64_t chunks = fa_tile_count(port->run->problem.nk, chunk);

    fa_at(port, head, i, -1);
    fa_step(port, P_STATISTICS);
    fa_compute(port, FA_OP_START);
    for (int64_t c = 0; c < chunks; c++) {
        fa_at(port, head, i, c);
        fa_step(port, P_LOAD);
        fa_load(port, FA_S, row, c * chunk);
        fa_step(port, P_STATISTICS);
        fa_compute(port, FA_OP_ROW_STATS);
    }
    for (int64_t c = 0; c < chunks; c++) {
        fa_at(port, head, i, c);
        fa_step(port, P_LOAD);
        fa_load(port, FA_S, row, c * chunk);
        fa_step(port, P_NORMALISE);
        fa_compute(port, FA_OP_NORMALISE);
        fa_step(port, P_STORE);
        fa_store(port, FA_P, row, c * chunk);
    }
}

static void softmax(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    int64_t rows = least(run->tiles.row_block, run->problem.nq);
    bool whole = run->tiles.column_chunk >= run->problem.nk;

    fa_at(port, head, i, -1);
    fa_step(port, P_RESERVE);
    fa_alloc(port, FA_S, rows, whole ? run->problem.nk : run->tiles.column_chunk);
    fa_alloc(port, FA_L, rows, 1);
    fa_alloc(port, FA_M, rows, 1);
    fa_alias(port, FA_P, FA_S);
    if (whole)
        softmax_rows(port, head, i);
    else
        softmax_chunks(port, head, i);
    fa_reveal_lse(port, i * run->tiles.row_block);
    fa_free(port, FA_M);
    fa_free(port, FA_L);
    fa_free(port, FA_S);
}

/* Reads P, writes the dropped P and, unless it was given, the keep mask. */
static void dropout(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t br = port->run->tiles.br, bc = port->run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);

    fa_at(port, head, i, -1);
    fa_step(port, Z_PASS);
    fa_alloc(port, FA_P, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, FA_DROPOUT, least(br, problem->nq), least(bc, problem->nk));
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, Z_PASS);
        fa_load(port, FA_P, i * br, j * bc);
        if (problem->dropout_keep)
            fa_load(port, FA_DROPOUT, i * br, j * bc);
        else
            fa_compute(port, FA_OP_KEEP);
        fa_compute(port, FA_OP_DROPOUT);
        fa_alias(port, FA_PD, FA_P);
        fa_store(port, FA_PD, i * br, j * bc);
        if (!problem->dropout_keep)
            fa_store(port, FA_DROPOUT, i * br, j * bc);
    }
    fa_free(port, FA_DROPOUT);
    fa_free(port, FA_P);
}

static void product_o(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);
    enum fa_tensor_id weights = fa_dropout_any(run) ? FA_PD : FA_P;

    fa_at(port, head, i, -1);
    fa_step(port, O_RESERVE);
    fa_alloc(port, weights, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, FA_V, least(bc, problem->nk), problem->dv);
    fa_alloc(port, FA_O, least(br, problem->nq), problem->dv);
    fa_step(port, O_START);
    fa_compute(port, FA_OP_START);
    /* Before each j: O_i is the sum of P V over the key tiles before it. */
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, O_LOAD);
        fa_load(port, weights, i * br, j * bc);
        if (weights == FA_PD)
            fa_alias(port, FA_P, FA_PD);
        fa_load(port, FA_V, j * bc, 0);
        fa_step(port, O_ACCUMULATE);
        fa_compute(port, FA_OP_ACCUMULATE);
    }
    fa_at(port, head, i, -1);
    fa_step(port, O_STORE);
    fa_store(port, FA_O, i * br, 0);
    fa_free(port, FA_O);
    fa_free(port, FA_V);
    fa_free(port, weights);
}

/* Columns of Q, K, V and O that square tiling takes at a time. */
static int64_t chunk_width(const struct fa_run *run, int64_t columns)
{
    return least(run->tiles.br, columns);
}

static void square_product_s(struct fa_port *port, int64_t head, int64_t i)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc, width = chunk_width(run, problem->d);
    int64_t tiles = fa_tile_count(problem->nk, bc), chunks = fa_tile_count(problem->d, width);
    struct fa_span whole = fa_whole_key_tiles(run, i);

    fa_at(port, head, i, -1);
    fa_step(port, S_RESERVE);
    fa_alloc(port, FA_Q, least(br, problem->nq), width);
    fa_alloc(port, FA_K, least(bc, problem->nk), width);
    fa_alloc(port, FA_S, least(br, problem->nq), least(bc, problem->nk));
    for (int64_t j = 0; j < tiles; j++) {
        bool cut = fa_outside(whole, j) || (run->problem.blocks && fa_tile_is_cut(run, i, j));
        fa_visit(port, cut);
        fa_at(port, head, i, j);
        fa_step(port, S_SCORE);
        fa_compute(port, FA_OP_START_S);
        /* Before each chunk: S_ij is Q_i K_j^T over the columns before it. */
        for (int64_t c = 0; c < chunks; c++) {
            fa_step(port, S_LOAD_Q);
            fa_load(port, FA_Q, i * br, c * width);
            fa_step(port, S_LOAD_K);
            fa_load(port, FA_K, j * bc, c * width);
            fa_step(port, S_SCORE);
            fa_compute(port, FA_OP_SCORE_PART);
        }
        fa_compute(port, FA_OP_SCALE_S);
        fa_step(port, S_HIDE);
        if (cut)
            fa_compute(port, FA_OP_HIDE);
        fa_step(port, S_STORE);
        fa_store(port, FA_S, i * br, j * bc);
    }
    fa_free(port, FA_S);
    fa_free(port, FA_K);
    fa_free(port, FA_Q);
}

/* One chunk of columns of O_i: P_ij comes again for each. */
static void square_product_o(struct fa_port *port, int64_t head, int64_t i, int64_t column,
                             int64_t width)
{
    const struct fa_run *run = port->run;
    const struct fa_problem *problem = &run->problem;
    int64_t br = run->tiles.br, bc = run->tiles.bc;
    int64_t tiles = fa_tile_count(problem->nk, bc);
    enum fa_tensor_id weights = fa_dropout_any(run) ? FA_PD : FA_P;

    fa_at(port, head, i, -1);
    fa_step(port, O_RESERVE);
    fa_alloc(port, weights, least(br, problem->nq), least(bc, problem->nk));
    fa_alloc(port, FA_V, least(bc, problem->nk), width);
    fa_alloc(port, FA_O, least(br, problem->nq), width);
    fa_step(port, O_START);
    fa_compute(port, FA_OP_START);
    /* Before each j: these columns of O_i are the sum of P V over the key tiles before it. */
    for (int64_t j = 0; j < tiles; j++) {
        fa_at(port, head, i, j);
        fa_step(port, O_LOAD);
        fa_load(port, weights, i * br, j * bc);
        if (weights == FA_PD)
            fa_alias(port, FA_P, FA_PD);
        fa_load(port, FA_V, j * bc, column);
        fa_step(port, O_ACCUMULATE);
        fa_compute(port, FA_OP_ACCUMULATE_PART);
    }
    fa_at(port, head, i, -1);
    fa_step(port, O_STORE);
    fa_store(port, FA_O, i * br, column);
    fa_free(port, FA_O);
    fa_free(port, FA_V);
    fa_free(port, weights);
}

static void unit(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    switch (phase) {
    case PRODUCT_S:
        product_s(port, head, index);
        return;
    case BIAS:
        bias_or_mask(port, FA_BIAS, head, index);
        return;
    case MASK:
        bias_or_mask(port, FA_MASK, head, index);
        return;
    case SOFTMAX:
        softmax(port, head, index);
        return;
    case DROPOUT:
        dropout(port, head, index);
        return;
    case PRODUCT_O:
        product_o(port, head, index);
        return;
    }
}

static void square_unit(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    int64_t dv = port->run->problem.dv, width = chunk_width(port->run, dv);
    if (phase == PRODUCT_S)
        square_product_s(port, head, index);
    else if (phase == PRODUCT_O)
        for (int64_t column = 0; column < dv; column += width)
            square_product_o(port, head, index, column, least(width, dv - column));
    else
        unit(port, phase, head, index);
}

const struct fa_algorithm fa_square_tiling = {
    .name = "square-tiling",
    .title = "standard attention whose products are tiled along d too, for M < d^2",
    .source = "Saha and Ye (arXiv 2402.07443), Theorem 3.5",
    .file = "reference/standard.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = PHASES,
    .phases = phases,
    .stores_scores = true,
    .stores_weights = true,
    .units = units,
    .unit = square_unit,
};

const struct fa_algorithm fa_standard = {
    .name = "standard",
    .title = "standard attention: S and P go through HBM",
    .source = "FlashAttention (arXiv 2205.14135), Algorithm 0",
    .file = "reference/standard.c",
    .steps = steps,
    .n_steps = STEPS,
    .n_phases = PHASES,
    .phases = phases,
    .stores_scores = true,
    .stores_weights = true,
    .backward = &fa_standard_backward,
    .units = units,
    .unit = unit,
};
