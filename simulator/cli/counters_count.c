/* The counted side of `flashlab counters`. */
#include <stdio.h>
#include <string.h>

#include "simulator/cli/counters_command.h"

static enum fa_status find_rung(struct counters *counters, struct fa_error *error)
{
    char names[256] = "";
    size_t n = 0;
    if (gpu_rung_count == 0) {
        struct gpu_device none;
        struct fa_error absent = {FA_OK, ""};
        gpu_device_find(&none, &absent); /* says how to get them */
        return fa_fail(error, FA_MISSING_PART,
                       "--rung %.64s: its tiles are not known: %s; --algorithm and --tiles name "
                       "what a CSV can be laid beside without them",
                       counters->rung_name, absent.text);
    }
    counters->rung = gpu_rung_find(counters->rung_name);
    if (counters->rung)
        return FA_OK;
    for (int i = 0; i < gpu_rung_count && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              gpu_rungs[i]->name);
    return fa_fail(error, FA_BAD_ARGUMENT, "--rung %.64s: expected one of %s", counters->rung_name,
                   names);
}

/* What contradicts what, and the rung. */
static enum fa_status check_choice(struct counters *counters, struct fa_error *error)
{
    const struct cli_problem *options = &counters->options;
    bool named = cli_given(&options->base, "algorithm");
    if (!named && !counters->rung_name)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "expected --rung NAME, or --csv FILE with --algorithm and --tiles");
    if (named && counters->rung_name)
        return fa_fail(error, FA_BAD_ARGUMENT, "--rung and --algorithm: expected one of them");
    if (!named && cli_given(&options->base, "tiles"))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--tiles: expected --algorithm with it: a rung's tiles are its own");
    if (named && counters->deterministic)
        return fa_fail(error, FA_BAD_ARGUMENT, "--deterministic: expected --rung with it");
    if (!named)
        return find_rung(counters, error);
    if (counters->launch || !counters->csv_path)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--algorithm: expected --csv with it, a CSV of the kernel that it stands "
                       "for");
    if (options->n_algorithms != 1)
        return fa_fail(error, FA_BAD_ARGUMENT, "--algorithm: expected one");
    if (options->tiles.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--algorithm: expected --tiles BRxBC with it, the tiles of the kernel");
    if (options->pass == SIM_BOTH)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--pass both: expected forward or backward with --algorithm");
    return FA_OK;
}

/* The rung's own kernels, if it takes the problem. */
static enum fa_status count_rung(const struct counters *counters, struct counters_pass *pass,
                                 struct fa_error *error)
{
    const struct gpu_rung *rung = counters->rung;
    struct sim_kernel_walk walk;
    struct gpu_tiles tiles;
    int64_t bytes = 0;
    if (pass->backward && !rung->backward)
        return fa_fail(error, FA_UNSUPPORTED, "%s has no backward pass", rung->name);
    enum fa_status status =
        rung->workspace_bytes(&counters->problem, pass->backward, &bytes, error);
    if (status != FA_OK)
        return status;
    rung->tiles(&counters->problem, pass->backward, counters->deterministic, &tiles);
    pass->tiles =
        (struct sim_walk_tiles){tiles.br, tiles.bc, tiles.dq_br, tiles.dq_bc, tiles.parts};
    status = sim_kernel_walk(sim_walk_of(rung->name, pass->backward), &counters->problem,
                             &pass->tiles, &walk, error);
    if (status != FA_OK)
        return status;
    pass->n = walk.n;
    for (int k = 0; k < walk.n; k++)
        pass->kernel[k].counted = walk.kernel[k];
    return FA_OK;
}

/* The named algorithm as one kernel. */
static enum fa_status count_algorithm(const struct counters *counters, struct counters_pass *pass,
                                      struct fa_error *error)
{
    const struct cli_problem *options = &counters->options;
    struct sim_experiment experiment = {
        .algorithm = options->algorithms[0],
        .pass = (enum sim_pass)options->pass,
        .problem = counters->problem,
        .tiles = options->tiles,
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    enum fa_status status = cli_machine_make(options, &experiment.machine, error);
    if (status == FA_OK)
        status = sim_experiment_run(&experiment, &result, error);
    if (status != FA_OK)
        return status;
    pass->n = 1;
    pass->tiles = (struct sim_walk_tiles){result.tiles.br, result.tiles.bc, 0, 0, 1};
    pass->kernel[0].counted.name = options->algorithms[0]->name;
    pass->kernel[0].counted.counters = result.counters;
    sim_walked_bytes(&pass->kernel[0].counted, &counters->problem);
    return FA_OK;
}

enum fa_status counters_count(struct counters *counters, struct fa_error *error)
{
    int pass = counters->options.pass;
    enum fa_status status = check_choice(counters, error);
    if (status == FA_OK)
        status = cli_problem_check(&counters->options, error);
    if (status == FA_OK)
        status = cli_problem_make(&counters->options, &counters->problem, error);
    for (int backward = 0; backward < 2 && status == FA_OK; backward++) {
        if (pass == (backward ? SIM_FORWARD : SIM_BACKWARD))
            continue;
        struct counters_pass *next = &counters->pass[counters->n_passes++];
        next->backward = backward;
        status = counters->rung ? count_rung(counters, next, error)
                                : count_algorithm(counters, next, error);
    }
    return status;
}
