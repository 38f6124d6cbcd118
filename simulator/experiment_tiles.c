/* Which tiles an experiment has, before anything of it runs. */
#include "simulator/experiment_check.h"

enum fa_status sim_experiment_tiles(const struct sim_experiment *experiment, struct fa_tiles *tiles,
                                    struct fa_error *error)
{
    const struct fa_algorithm *forward = experiment->algorithm;
    uint64_t rule = experiment->machine.sram_bytes;
    enum fa_status status = sim_experiment_check_plan(experiment, error);
    if (status != FA_OK)
        return status;
    if (rule == 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "an SRAM of 0 bytes: expected 1 or more");
    if (experiment->pass != SIM_FORWARD && !forward->backward)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s has a forward pass alone: give --pass forward, or standard, flash1, "
                       "flash2 or fused-save-p",
                       forward->name);
    uint64_t capacity = experiment->lift_capacity ? 0 : rule;
    const struct fa_problem *problem = &experiment->problem;
    struct fa_tiles made;
    status = sim_tiles_choose(
        &experiment->tiles, experiment->pass == SIM_FORWARD ? forward : forward->backward, problem,
        capacity, rule, &made, error);
    bool ruled =
        experiment->tiles.policy != SIM_TILES_GIVEN && experiment->tiles.policy != SIM_TILES_PAPER;
    /* The forward pass of fused-save-p needs more than its backward one, as standard's may with a
     * bias. */
    if (status == FA_OK && experiment->pass == SIM_BOTH && ruled && capacity > 0 &&
        sim_live_bytes(forward, problem, &made) > capacity)
        status =
            sim_tiles_choose(&experiment->tiles, forward, problem, capacity, rule, &made, error);
    if (status == FA_OK)
        *tiles = made;
    return status;
}
