#include "simulator/kernels.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The tiles of one pass: br and bc as the result has them, the row-wise steps by their own rule. */
static enum fa_status pass_tiles(const struct sim_result *result,
                                 const struct fa_algorithm *algorithm, struct fa_tiles *tiles,
                                 struct fa_error *error)
{
    const struct sim_tile_choice given = {SIM_TILES_GIVEN, result->tiles.br, result->tiles.bc};
    uint64_t rule = result->machine.sram_bytes;
    return sim_tiles_choose(&given, algorithm, &result->problem,
                            result->capacity_lifted ? 0 : rule, rule, tiles, error);
}

static uint64_t blocks_per_sm(const struct sim_result *result,
                              const struct fa_algorithm *algorithm, const struct fa_tiles *tiles,
                              bool fill)
{
    uint64_t live = sim_live_bytes(algorithm, &result->problem, tiles);
    if (!fill || live > result->machine.sram_bytes)
        return 1;
    uint64_t most = live ? result->machine.sram_bytes / live : SIM_BLOCKS_PER_SM;
    return most < SIM_BLOCKS_PER_SM ? most : SIM_BLOCKS_PER_SM;
}

static enum fa_status add_pass(struct sim_kernels *kernels, const struct sim_result *result,
                               const struct fa_algorithm *algorithm, int run, bool fill,
                               struct fa_error *error)
{
    uint64_t per_sm = blocks_per_sm(result, algorithm, &kernels->run[run].tiles, fill);
    uint64_t slots;

    if (__builtin_mul_overflow(result->machine.sms, per_sm, &slots) || slots > UINT32_MAX)
        return fa_fail(error, FA_TOO_LARGE, "%" PRIu64 " SMs: more blocks in flight than 2^32",
                       result->machine.sms);
    for (int phase = 0; phase < algorithm->n_phases; phase++) {
        int64_t units = algorithm->units(&kernels->run[run], phase);
        bool by_group = algorithm->by_group && algorithm->by_group[phase];
        int64_t group_heads = by_group ? 1 : kernels->group, heads, blocks;
        if (units == 0)
            continue;
        if (__builtin_mul_overflow(kernels->groups, group_heads, &heads) ||
            __builtin_mul_overflow(heads, units, &blocks))
            return fa_fail(error, FA_TOO_LARGE, "more than 2^63 - 1 blocks of threads");
        assert(kernels->n < SIM_KERNELS);
        kernels->kernel[kernels->n++] = (struct sim_kernel){
            .algorithm = algorithm,
            .run = run,
            .phase = phase,
            .units = units,
            .group_heads = group_heads,
            .blocks = (uint64_t)blocks,
            .slots = slots,
            .blocks_per_sm = per_sm,
        };
    }
    return FA_OK;
}

enum fa_status sim_kernels_open(struct sim_kernels *kernels, const struct sim_result *result,
                                bool fill, struct fa_error *error)
{
    const struct fa_algorithm *forward = result->algorithm, *backward = forward->backward;
    const struct fa_problem *problem = &result->problem;
    bool any = problem->batch > 0 && problem->heads > 0;
    struct fa_tiles tiles;

    memset(kernels, 0, sizeof *kernels);
    if (result->machine.sms == 0)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s: the number of SMs is not known: take a machine that states \"sms\"",
                       result->machine.name);
    enum fa_status status = pass_tiles(result, forward, &tiles, error);
    if (status == FA_OK)
        status = fa_run_open(&kernels->run[0], forward, problem, &tiles, NULL, NULL, NULL, NULL,
                             NULL, result->pass != SIM_FORWARD, error);
    if (status != FA_OK)
        return status;
    kernels->groups = any ? problem->batch * problem->kv_heads : 0;
    kernels->group = any ? problem->heads / problem->kv_heads : 0;
    if (any && result->pass != SIM_BACKWARD)
        status = add_pass(kernels, result, forward, 0, fill, error);
    if (status == FA_OK && result->pass != SIM_FORWARD) {
        status = pass_tiles(result, backward, &tiles, error);
        if (status == FA_OK)
            status = fa_run_open_backward(&kernels->run[1], backward, &kernels->run[0], &tiles,
                                          NULL, NULL, NULL, NULL, error);
        if (status == FA_OK && any)
            status = add_pass(kernels, result, backward, 1, fill, error);
    }
    if (status != FA_OK)
        sim_kernels_close(kernels);
    return status;
}

void sim_kernels_close(struct sim_kernels *kernels)
{
    if (kernels->run[1].backward)
        fa_run_close(&kernels->run[1]);
    fa_run_close(&kernels->run[0]);
    memset(kernels, 0, sizeof *kernels);
}
