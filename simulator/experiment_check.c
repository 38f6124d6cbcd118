#include "simulator/experiment_check.h"

#include <inttypes.h>

enum fa_status sim_experiment_check_plan(const struct sim_experiment *experiment,
                                         struct fa_error *error)
{
    const struct fa_algorithm *algorithm = experiment->algorithm;
    const struct sim_tile_choice *tiles = &experiment->tiles;
    if (!algorithm || algorithm == &fa_standard_backward || algorithm == &fa_flash1_backward ||
        algorithm == &fa_flash2_backward)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "the experiment's algorithm is %s: expected a forward one, as &fa_flash2",
                       algorithm ? "a backward pass" : "NULL");
    if ((unsigned)experiment->pass > SIM_BOTH)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "pass %d: expected SIM_FORWARD, SIM_BACKWARD or SIM_BOTH",
                       (int)experiment->pass);
    if ((unsigned)tiles->policy >= SIM_POLICIES)
        return fa_fail(error, FA_BAD_ARGUMENT, "tile policy %d: expected one of enum sim_policy",
                       (int)tiles->policy);
    if (tiles->policy == SIM_TILES_GIVEN && (tiles->br < 1 || tiles->bc < 1))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "tiles of %" PRId64 " x %" PRId64 ": expected 1 or more each", tiles->br,
                       tiles->bc);
    return FA_OK;
}

enum fa_status sim_experiment_check_run(const struct sim_experiment *experiment,
                                        struct fa_error *error)
{
    const struct sim_experiment *e = experiment;
    const struct {
        const char *name;
        const struct fa_tensor *tensor;
    } needed[] = {{"q", e->q},       {"k", e->k},   {"v", e->v},   {"o", e->o},
                  {"dout", e->dout}, {"dq", e->dq}, {"dk", e->dk}, {"dv", e->dv}};
    int n = e->mode == SIM_COUNT_ONLY ? 0 : e->pass == SIM_FORWARD ? 4 : 8;
    if (e->mode != SIM_PLAIN && e->mode != SIM_COUNTED && e->mode != SIM_COUNT_ONLY)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "mode %d: expected SIM_PLAIN, SIM_COUNTED or SIM_COUNT_ONLY", (int)e->mode);
    if (e->threads < 1)
        return fa_fail(error, FA_BAD_ARGUMENT, "%d threads: expected 1 or more", e->threads);
    for (int i = 0; i < n; i++)
        if (!needed[i].tensor || !needed[i].tensor->data)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "%s has no data: expected it in this mode and pass (SIM_COUNT_ONLY "
                           "counts without tensors)",
                           needed[i].name);
    return FA_OK;
}
