#include "simulator/trace_ops.h"

#include <assert.h>

#include "simulator/closed_form_parts.h"

#define B(name) FA_BIT(FA_##name)

static const struct sim_op operations[FA_OP_COUNT] = {
    [FA_OP_START] = {.partial = true,
                     .n_results = 3,
                     .results = {{FA_O, SIM_QUERY_ROWS, true},
                                 {FA_L, SIM_STATISTIC, true},
                                 {FA_M, SIM_STATISTIC, true}}},
    [FA_OP_SCORE] = {B(Q) | B(K), false, 1, {{FA_S, SIM_SCORE_TILE, true}}},
    [FA_OP_BIAS] = {B(S) | B(BIAS), false, 1, {{FA_S, SIM_SCORE_TILE, false}}},
    [FA_OP_HIDE] = {B(S), false, 1, {{FA_S, SIM_SCORE_TILE, false}}},
    [FA_OP_MASK] = {B(S) | B(MASK), false, 1, {{FA_S, SIM_SCORE_TILE, false}}},
    [FA_OP_SOFTMAX_ROWS] = {B(S),
                            false,
                            3,
                            {{FA_P, SIM_SCORE_TILE, true},
                             {FA_L, SIM_STATISTIC, true},
                             {FA_M, SIM_STATISTIC, true}}},
    [FA_OP_ROW_STATS] = {B(S) | B(L) | B(M),
                         false,
                         2,
                         {{FA_L, SIM_STATISTIC, false}, {FA_M, SIM_STATISTIC, false}}},
    [FA_OP_NORMALISE] = {B(S) | B(L) | B(M), false, 1, {{FA_P, SIM_SCORE_TILE, true}}},
    [FA_OP_ABSORB] = {B(S) | B(L) | B(M) | B(O),
                      false,
                      4,
                      {{FA_P, SIM_SCORE_TILE, true},
                       {FA_O, SIM_QUERY_ROWS, false},
                       {FA_L, SIM_STATISTIC, false},
                       {FA_M, SIM_STATISTIC, false}}},
    [FA_OP_TILE_SOFTMAX] = {B(S),
                            false,
                            3,
                            {{FA_P, SIM_SCORE_TILE, true},
                             {FA_TILE_L, SIM_STATISTIC, true},
                             {FA_TILE_M, SIM_STATISTIC, true}}},
    [FA_OP_UPDATE] = {B(P) | B(O) | B(L) | B(M) | B(TILE_L) | B(TILE_M),
                      false,
                      4,
                      {{FA_P, SIM_SCORE_TILE, false},
                       {FA_O, SIM_QUERY_ROWS, false},
                       {FA_L, SIM_STATISTIC, false},
                       {FA_M, SIM_STATISTIC, false}}},
    [FA_OP_ACCUMULATE] = {B(P) | B(V) | B(O), false, 1, {{FA_O, SIM_QUERY_ROWS, false}}},
    [FA_OP_FINISH] = {B(O) | B(L) | B(M),
                      false,
                      2,
                      {{FA_O, SIM_QUERY_ROWS, false}, {FA_LSE, SIM_STATISTIC, true}}},
    [FA_OP_FINISH_STATS] = {B(L) | B(M), false, 1, {{FA_LSE, SIM_STATISTIC, true}}},
    [FA_OP_NO_WEIGHTS] = {0, false, 1, {{FA_P, SIM_SCORE_TILE, true}}},
    [FA_OP_WEIGHTS] = {B(S) | B(LSE), false, 1, {{FA_P, SIM_SCORE_TILE, true}}},
    [FA_OP_DROPOUT] = {B(P), false, 1, {{FA_P, SIM_SCORE_TILE, false}}},
    [FA_OP_START_S] = {0, false, 1, {{FA_S, SIM_SCORE_TILE, true}}},
    [FA_OP_SCORE_PART] = {B(Q) | B(K) | B(S), false, 1, {{FA_S, SIM_SCORE_TILE, false}}},
    [FA_OP_SCALE_S] = {B(S), false, 1, {{FA_S, SIM_SCORE_TILE, false}}},
    [FA_OP_ACCUMULATE_PART] = {B(P) | B(V) | B(O), false, 1, {{FA_O, SIM_QUERY_ROWS, false}}},
    [FA_OP_KEEP] = {B(P), false, 1, {{FA_DROPOUT, SIM_SCORE_TILE, true}}},
    [FA_OP_START_DQ] = {0, false, 1, {{FA_DQ, SIM_QUERY_ROWS, true}}},
    [FA_OP_START_DELTA] = {0, false, 1, {{FA_DELTA, SIM_STATISTIC, true}}},
    [FA_OP_START_DKV] = {.partial = true,
                         .n_results = 2,
                         .results = {{FA_DV, SIM_QUERY_ROWS, true}, {FA_DK, SIM_QUERY_ROWS, true}}},
    [FA_OP_DELTA] = {B(O) | B(DO), false, 1, {{FA_DELTA, SIM_STATISTIC, true}}},
    [FA_OP_DP] = {B(DO) | B(V), false, 1, {{FA_DP, SIM_SCORE_TILE, true}}},
    [FA_OP_DROPOUT_DP] = {B(DP), false, 1, {{FA_DP, SIM_SCORE_TILE, false}}},
    [FA_OP_GRAD_S] = {B(P) | B(DP) | B(DELTA), false, 1, {{FA_DS, SIM_SCORE_TILE, true}}},
    [FA_OP_GRAD_V] = {B(P) | B(DO) | B(DV), false, 1, {{FA_DV, SIM_KEY_ROWS, false}}},
    [FA_OP_GRAD_Q] = {B(DS) | B(K) | B(DQ), false, 1, {{FA_DQ, SIM_QUERY_ROWS, false}}},
    [FA_OP_GRAD_K] = {B(DS) | B(Q) | B(DK), false, 1, {{FA_DK, SIM_KEY_ROWS, false}}},
    [FA_OP_GRAD_S_ROWS] = {B(P) | B(DP),
                           false,
                           2,
                           {{FA_DS, SIM_SCORE_TILE, true}, {FA_DELTA, SIM_STATISTIC, true}}},
    [FA_OP_ROW_DELTA] = {B(P) | B(DP) | B(DELTA), false, 1, {{FA_DELTA, SIM_STATISTIC, false}}},
};

const struct sim_op *sim_op_of(enum fa_op op)
{
    assert((unsigned)op < FA_OP_COUNT);
    return &operations[op];
}

bool sim_is_score_tile(enum fa_tensor_id id)
{
    return (FA_BIT(id) & (B(S) | B(P) | B(DP) | B(DS) | B(PD) | B(DROPOUT) | B(MASK) | B(BIAS))) !=
           0;
}

bool sim_is_key_side(enum fa_tensor_id id)
{
    return (FA_BIT(id) & (B(K) | B(V) | B(DK) | B(DV))) != 0;
}

static uint32_t forward_in_hbm(const struct fa_algorithm *algorithm, bool drops)
{
    uint32_t set = B(Q) | B(K) | B(V) | B(O);
    set |= algorithm->stores_scores ? B(S) : 0;
    set |= algorithm->stores_weights ? B(P) : 0;
    set |= algorithm->stores_statistics ? B(L) | B(M) : 0;
    set |= algorithm->stores_lse ? B(LSE) : 0;
    set |= algorithm->stores_scores && drops ? B(PD) | B(DROPOUT) : 0;
    return set;
}

static uint32_t backward_in_hbm(const struct fa_algorithm *algorithm, bool drops)
{
    uint32_t set = B(Q) | B(K) | B(V) | B(DO) | B(DQ) | B(DK) | B(DV) | algorithm->own;
    if (algorithm == &fa_standard_backward)
        return set | B(P) | (drops ? B(PD) | B(DROPOUT) : 0);
    return set | B(O) | (algorithm == &fa_flash1_backward ? B(L) | B(M) : B(LSE));
}

uint32_t sim_tensors_in_hbm(const struct sim_trace_header *header)
{
    const struct fa_algorithm *algorithm = header->algorithm;
    bool drops = header->problem.dropout_p > 0;
    uint32_t set = sim_is_backward(algorithm) ? backward_in_hbm(algorithm, drops)
                                              : forward_in_hbm(algorithm, drops);
    /* What `standard` masked and biased is in the P that its backward pass reads. */
    if (algorithm != &fa_standard_backward) {
        set |= header->has_mask ? B(MASK) : 0;
        set |= header->has_bias ? B(BIAS) : 0;
    }
    return set | (drops && header->has_keep ? B(DROPOUT) : 0);
}

uint32_t sim_tensors_on_chip(const struct sim_trace_header *header)
{
    const struct fa_algorithm *algorithm = header->algorithm;
    uint32_t set = sim_tensors_in_hbm(header);
    if (algorithm == &fa_standard_backward)
        return set | B(DELTA);
    if (sim_is_backward(algorithm))
        return set | B(S) | B(P) | B(DP) | B(DS) | B(DELTA);
    set |= B(S) | B(P) | B(L) | B(M);
    return set | (algorithm->stores_statistics ? B(TILE_L) | B(TILE_M) : 0);
}

void sim_matrix_size(const struct fa_problem *problem, enum fa_tensor_id id, int64_t *rows,
                     int64_t *columns)
{
    uint32_t bit = FA_BIT(id);
    *rows = sim_is_key_side(id) ? problem->nk : problem->nq;
    *columns = sim_is_score_tile(id)                 ? problem->nk
               : bit & (B(Q) | B(K) | B(DQ) | B(DK)) ? problem->d
               : bit & (B(V) | B(O) | B(DO) | B(DV)) ? problem->dv
                                                     : 1;
}

bool sim_goes_by_rows(const struct fa_algorithm *algorithm)
{
    return algorithm->stores_scores || algorithm == &fa_standard_backward;
}
