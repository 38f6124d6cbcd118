#include "tests/trace_case.h"

#include <string.h>

static const struct fa_tensor full_mask = {FA_U8, {1, 2, 37, 29}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor key_mask = {FA_U8, {2, 1, 1, 29}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor row_bias = {FA_F32, {1, 1, 37, 1}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor half_bias = {FA_F16, {1, 2, 37, 29}, {0, 0, 0, 0}, NULL, NULL};

static const struct fa_tensor keep_mask = {FA_U8, {2, 2, 37, 29}, {0, 0, 0, 0}, NULL, NULL};

/* Of 37 x 29 scores in blocks of 5 x 8: a row and a column without a block; and in blocks that are
 * no tiles, which only what visits every tile takes. */
static const uint8_t visit[8 * 4] = {
    1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1,
};
static const struct fa_block_mask blocks = {5, 8, 8, 4, visit};
static const struct fa_block_mask odd_blocks = {19, 3, 2, 10, visit};

#define SHAPE(n_batch, n_heads, n_kv, n_q, n_k, n_d, n_dv) \
    .batch = n_batch, .heads = n_heads, .kv_heads = n_kv, .nq = n_q, .nk = n_k, .d = n_d, \
    .dv = n_dv, .scale = 1.0 / 3
#define OPEN .window_left = -1, .window_right = -1

static const struct named {
    const char *name;
    struct fa_problem problem;
} problems[] = {
    {"plain", {SHAPE(1, 1, 1, 300, 310, 5, 5), OPEN, .dtype = FA_F32}},
    {"window and mask",
     {SHAPE(2, 2, 1, 37, 29, 3, 4), .window_left = 9, .window_right = 2, .mask = &full_mask,
      .dtype = FA_F64}},
    {"causal, mask and bias",
     {SHAPE(2, 2, 2, 37, 29, 3, 2), OPEN, .causal = FA_CAUSAL_BOTTOM_RIGHT, .mask = &key_mask,
      .bias = &row_bias, .dtype = FA_F32}},
    {"top-left and bias",
     {SHAPE(1, 2, 1, 37, 29, 6, 6), OPEN, .causal = FA_CAUSAL_TOP_LEFT, .bias = &half_bias,
      .dtype = FA_F16}},
    {"no key", {SHAPE(1, 1, 1, 3, 0, 2, 2), OPEN, .dtype = FA_BF16}},
    {"no query", {SHAPE(1, 2, 2, 0, 5, 2, 2), OPEN, .dtype = FA_F32}},
    {"dropout by seed",
     {SHAPE(1, 2, 1, 37, 29, 7, 13), OPEN, .causal = FA_CAUSAL_BOTTOM_RIGHT, .dtype = FA_F32,
      .dropout_p = 0.3, .dropout_seed = UINT64_MAX}},
    {"dropout by mask",
     {SHAPE(2, 2, 1, 37, 29, 11, 6), OPEN, .dtype = FA_F16, .dropout_p = 1, .dropout_seed = 9,
      .dropout_keep = &keep_mask}},
    {"blocks", {SHAPE(1, 2, 1, 37, 29, 3, 4), OPEN, .dtype = FA_F32, .blocks = &blocks}},
    {"blocks, causal, dropout",
     {SHAPE(1, 1, 1, 37, 29, 8, 3), OPEN, .causal = FA_CAUSAL_TOP_LEFT, .dtype = FA_F32,
      .dropout_p = 0x1p-30, .blocks = &blocks}},
};

enum {
    PROBLEMS = sizeof problems / sizeof *problems,
    CAUSAL = 2,
    WINDOW = 1,
    CASES = 2 * FA_ALGORITHMS * (PROBLEMS + 3)
};

const struct trace_case trace_case_small = {
    .name = "small",
    .algorithm = &fa_flash2,
    .problem = {SHAPE(1, 1, 1, 3, 2, 1, 1), OPEN, .dtype = FA_F32},
    .br = 3,
    .bc = 2,
    .sram_bytes = 4096,
};

const struct trace_case trace_case_backward = {
    .name = "small backward",
    .algorithm = &fa_flash2,
    .problem = {SHAPE(1, 1, 1, 3, 2, 1, 1), OPEN, .dtype = FA_F32, .dropout_p = 0.5,
                .dropout_seed = 5},
    .br = 3,
    .bc = 2,
    .sram_bytes = 4096,
    .pass = SIM_BACKWARD,
};

static void add_pass(struct trace_case *cases, int *n, const struct fa_algorithm *algorithm,
                     enum sim_pass pass)
{
    for (int p = 0; p < PROBLEMS; p++) {
        const struct fa_problem *problem = &problems[p].problem;
        if (algorithm == &fa_fused_save_p && problem->dropout_p > 0)
            continue; /* It has none. */
        cases[(*n)++] = (struct trace_case){
            problems[p].name, algorithm,        *problem, p == 0 ? 8 : 5,
            p == 0 ? 16 : 8,  p % 2 ? 0 : 8192, pass,
        };
    }
    /* So little that rows go in chunks, where there are row-wise steps; too little; and blocks that
     * are no tiles. */
    uint64_t little = algorithm->stores_scores                            ? 100
                      : algorithm->stores_weights && pass == SIM_BACKWARD ? 100
                                                                          : 320;
    cases[(*n)++] =
        (struct trace_case){"chunks", algorithm, problems[CAUSAL].problem, 2, 3, little, pass};
    cases[(*n)++] =
        (struct trace_case){"refused", algorithm, problems[WINDOW].problem, 7, 7, 400, pass};
    if (algorithm->stores_scores) {
        cases[*n] =
            (struct trace_case){"odd blocks", algorithm, problems[CAUSAL].problem, 5, 8, 0, pass};
        cases[(*n)++].problem.blocks = &odd_blocks;
    }
}

const struct trace_case *trace_cases(int *n)
{
    static struct trace_case cases[CASES];
    *n = 0;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        add_pass(cases, n, fa_algorithms[a], SIM_FORWARD);
        if (fa_algorithms[a]->backward)
            add_pass(cases, n, fa_algorithms[a], SIM_BACKWARD);
    }
    return cases;
}

struct sim_experiment trace_case_experiment(const struct trace_case *which,
                                            struct sim_trace **trace)
{
    return (struct sim_experiment){
        .algorithm = which->algorithm,
        .pass = which->pass,
        .problem = which->problem,
        .machine = {.name = "test", .sram_bytes = which->sram_bytes ? which->sram_bytes : 8192},
        .tiles = {SIM_TILES_GIVEN, which->br, which->bc},
        .lift_capacity = which->sram_bytes == 0,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
        .trace = trace,
        .trace_header = {.version = "0.1.0",
                         .command = "flashlab run --n 5",
                         .seed = 7,
                         .profile = "gauss"},
    };
}

struct sim_trace *trace_case_run(const struct trace_case *which, struct sim_result *result,
                                 struct fa_error *error)
{
    struct sim_trace *trace = NULL;
    struct sim_experiment experiment = trace_case_experiment(which, &trace);
    sim_experiment_run(&experiment, result, error);
    return trace;
}
