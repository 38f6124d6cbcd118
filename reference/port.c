#include "reference/port.h"

#include <assert.h>

static const char *const tensor_names[FA_TENSORS] = {
    [FA_Q] = "q",         [FA_K] = "k",       [FA_V] = "v",           [FA_O] = "o",
    [FA_DO] = "do",       [FA_DQ] = "dq",     [FA_DK] = "dk",         [FA_DV] = "dv",
    [FA_LSE] = "lse",     [FA_L] = "l",       [FA_M] = "m",           [FA_S] = "s",
    [FA_P] = "p",         [FA_DP] = "dp",     [FA_DS] = "ds",         [FA_DELTA] = "delta",
    [FA_MASK] = "mask",   [FA_BIAS] = "bias", [FA_DROPOUT] = "dropout",
    [FA_PD] = "pd",
    [FA_TILE_L] = "tile_l", [FA_TILE_M] = "tile_m",
};

static const char *const op_names[FA_OP_COUNT] = {
    [FA_OP_START] = "start",
    [FA_OP_SCORE] = "score",
    [FA_OP_BIAS] = "bias",
    [FA_OP_HIDE] = "hide",
    [FA_OP_MASK] = "mask",
    [FA_OP_SOFTMAX_ROWS] = "softmax_rows",
    [FA_OP_ROW_STATS] = "row_stats",
    [FA_OP_NORMALISE] = "normalise",
    [FA_OP_ABSORB] = "absorb",
    [FA_OP_TILE_SOFTMAX] = "tile_softmax",
    [FA_OP_UPDATE] = "update",
    [FA_OP_ACCUMULATE] = "accumulate",
    [FA_OP_FINISH] = "finish",
    [FA_OP_FINISH_STATS] = "finish_stats",
    [FA_OP_NO_WEIGHTS] = "no_weights",
    [FA_OP_WEIGHTS] = "weights",
    [FA_OP_DROPOUT] = "dropout",
    [FA_OP_START_S] = "start_s",
    [FA_OP_SCORE_PART] = "score_part",
    [FA_OP_SCALE_S] = "scale_s",
    [FA_OP_ACCUMULATE_PART] = "accumulate_part",
    [FA_OP_KEEP] = "keep",
    [FA_OP_START_DQ] = "start_dq",
    [FA_OP_START_DELTA] = "start_delta",
    [FA_OP_START_DKV] = "start_dkv",
    [FA_OP_DELTA] = "delta",
    [FA_OP_DP] = "dp",
    [FA_OP_DROPOUT_DP] = "dropout_dp",
    [FA_OP_GRAD_S] = "grad_s",
    [FA_OP_GRAD_V] = "grad_v",
    [FA_OP_GRAD_Q] = "grad_q",
    [FA_OP_GRAD_K] = "grad_k",
    [FA_OP_GRAD_S_ROWS] = "grad_s_rows",
    [FA_OP_ROW_DELTA] = "row_delta",
};

const char *fa_tensor_name(enum fa_tensor_id id)
{
    assert((unsigned)id < FA_TENSORS);
    return tensor_names[id];
}

const char *fa_op_name(enum fa_op op)
{
    assert((unsigned)op < FA_OP_COUNT);
    return op_names[op];
}

static bool is_statistic(enum fa_tensor_id id)
{
    return id == FA_LSE || id == FA_L || id == FA_M || id == FA_DELTA || id == FA_TILE_L ||
           id == FA_TILE_M;
}

size_t fa_on_chip_bytes(const struct fa_problem *problem, enum fa_tensor_id id)
{
    switch (id) {
    case FA_Q:
    case FA_K:
    case FA_V:
    case FA_DO:
        return fa_dtype_bytes(problem->dtype);
    case FA_BIAS:
        return fa_dtype_bytes(problem->dtype);
    case FA_MASK:
    case FA_DROPOUT:
        return 1;
    default:
        return problem->dtype == FA_F64 ? 8 : 4;
    }
}

enum fa_dtype fa_hbm_format(const struct fa_problem *problem, enum fa_tensor_id id)
{
    if (is_statistic(id))
        return problem->dtype == FA_F64 ? FA_F64 : FA_F32;
    if (id == FA_MASK || id == FA_DROPOUT)
        return FA_U8;
    return problem->dtype;
}
