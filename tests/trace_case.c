#include "tests/trace_case.h"

#include <string.h>

static const struct fa_tensor full_mask = {FA_U8, {1, 2, 37, 29}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor key_mask = {FA_U8, {2, 1, 1, 29}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor row_bias = {FA_F32, {1, 1, 37, 1}, {0, 0, 0, 0}, NULL, NULL};
static const struct fa_tensor half_bias = {FA_F16, {1, 2, 37, 29}, {0, 0, 0, 0}, NULL, NULL};

#define SHAPE(n_batch, n_heads, n_kv, n_q, n_k, n_d, n_dv) \
    .batch = n_batch, .heads = n_heads, .kv_heads = n_kv, .nq = n_q, .nk = n_k, .d = n_d, \
    .dv = n_dv, .scale = 1.0 / 3
#define OPEN .window_left = -1, .window_right = -1

/* Four problems and an odd one, for each of the four algorithms. */
static const struct fa_problem problems[] = {
    {SHAPE(1, 1, 1, 300, 310, 5, 5), OPEN, .dtype = FA_F32},
    {SHAPE(2, 2, 1, 37, 29, 3, 4), .window_left = 9, .window_right = 2, .mask = &full_mask,
     .dtype = FA_F64},
    {SHAPE(2, 2, 2, 37, 29, 3, 2), OPEN, .causal = FA_CAUSAL_BOTTOM_RIGHT, .mask = &key_mask,
     .bias = &row_bias, .dtype = FA_F32},
    {SHAPE(1, 2, 1, 37, 29, 6, 6), OPEN, .causal = FA_CAUSAL_TOP_LEFT, .bias = &half_bias,
     .dtype = FA_F16},
    {SHAPE(1, 1, 1, 3, 0, 2, 2), OPEN, .dtype = FA_BF16},
    {SHAPE(1, 2, 2, 0, 5, 2, 2), OPEN, .dtype = FA_F32},
};

static const char *const names[] = {"plain", "window and mask", "causal, mask and bias",
                                    "top-left and bias", "no key", "no query"};

enum { PROBLEMS = sizeof problems / sizeof *problems, CASES = FA_ALGORITHMS * (PROBLEMS + 2) };

const struct trace_case trace_case_small = {
    .name = "small",
    .algorithm = &fa_flash2,
    .problem = {SHAPE(1, 1, 1, 3, 2, 1, 1), OPEN, .dtype = FA_F32},
    .br = 3,
    .bc = 2,
    .sram_bytes = 4096,
};

const struct trace_case *trace_cases(int *n)
{
    static struct trace_case cases[CASES];
    *n = 0;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        for (int p = 0; p < PROBLEMS; p++)
            cases[(*n)++] = (struct trace_case){
                .name = names[p],
                .algorithm = fa_algorithms[a],
                .problem = problems[p],
                .br = p == 0 ? 8 : 5,
                .bc = p == 0 ? 16 : 8,
                .sram_bytes = p % 2 ? 0 : 8192,
            };
        /* So little that rows go in chunks; and too little. */
        cases[(*n)++] = (struct trace_case){"chunks", fa_algorithms[a], problems[2], 2, 3, 256};
        cases[(*n)++] = (struct trace_case){"refused", fa_algorithms[a], problems[1], 7, 7, 400};
    }
    return cases;
}

struct sim_trace *trace_case_run(const struct trace_case *which, struct sim_result *result,
                                 struct fa_error *error)
{
    struct sim_trace *trace = NULL;
    struct sim_experiment experiment = {
        .algorithm = which->algorithm,
        .problem = which->problem,
        .machine = {.name = "test", .sram_bytes = which->sram_bytes ? which->sram_bytes : 8192},
        .tiles = {SIM_TILES_GIVEN, which->br, which->bc},
        .lift_capacity = which->sram_bytes == 0,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
        .trace = &trace,
        .trace_header = {.version = "0.1.0", .command = "flashlab run --n 5", .seed = 7,
                         .profile = "gauss"},
    };
    sim_experiment_run(&experiment, result, error);
    return trace;
}
