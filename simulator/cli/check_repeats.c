/* Equal calls of the rungs, for `flashlab check`: their bits must be equal too. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/check_walk.h"

/* Calls forward and, for the gradients, backward; fills the outputs. */
static enum fa_status call_once(const struct gpu_guarded_call *call, const struct fa_tensor *d_o,
                                bool backward, struct fa_tensor output[SIM_OUTPUTS],
                                struct gpu_guarded_seen *seen, struct fa_error *error)
{
    memset(output, 0, SIM_OUTPUTS * sizeof *output);
    enum fa_status status =
        gpu_guarded_forward(call, &output[SIM_OUT_O], &output[SIM_OUT_LSE], seen, error);
    if (status == FA_OK && !seen->damage[0] && backward)
        status = gpu_guarded_backward(call, &output[SIM_OUT_O], &output[SIM_OUT_LSE], d_o,
                                      &output[SIM_OUT_DQ], seen, error);
    return status;
}

/* What differs between two equal calls: bits, or in a mode without an order, more than the budget
 * of the first. */
static void compare_calls(const struct fa_tensor first[SIM_OUTPUTS],
                          const struct fa_tensor again[SIM_OUTPUTS], const double *budgets,
                          int64_t time, struct cli_rung_repeat *repeat)
{
    for (int i = 0; i < SIM_OUTPUTS && repeat->end == CLI_RUN_RIGHT; i++) {
        int64_t n = 0;
        if (!first[i].data || fa_shape_elements(first[i].shape, &n, NULL) != FA_OK)
            continue;
        bool exact = repeat->bits || i != SIM_OUT_DQ;
        size_t size = fa_dtype_bytes(first[i].dtype);
        for (int64_t e = 0; e < n; e++) {
            const char *bits_a = (const char *)first[i].data + (size_t)e * size;
            const char *bits_b = (const char *)again[i].data + (size_t)e * size;
            double a = fa_dtype_get(first[i].dtype, first[i].data, e);
            double b = fa_dtype_get(again[i].dtype, again[i].data, e);
            if (memcmp(bits_a, bits_b, size) == 0 || (!exact && fabs(a - b) <= budgets[i]))
                continue;
            repeat->end = CLI_RUN_WRONG;
            snprintf(repeat->reason, sizeof repeat->reason,
                     "%s: element %" PRId64 " is %.9g, and in call %" PRId64 " %.9g",
                     sim_output_name((enum sim_output)i), e, a, time + 1, b);
            break;
        }
    }
}

static void free_outputs(struct fa_tensor output[SIM_OUTPUTS])
{
    for (int i = 0; i < SIM_OUTPUTS; i++)
        fa_tensor_free(&output[i]);
}

static enum fa_status repeat_rung(struct cli_walk *walk, const struct cli_rung_case *made,
                                  struct cli_rung_repeat *repeat, struct fa_error *error)
{
    const struct gpu_guarded_call call = {
        .rung = repeat->rung,
        .problem = &made->problem,
        .q = &made->q,
        .k = &made->k,
        .v = &made->v,
        .layout = GPU_BHSD,
        .deterministic = repeat->deterministic,
    };
    struct fa_tensor first[SIM_OUTPUTS], again[SIM_OUTPUTS];
    struct cli_rung_run run = {.rung = repeat->rung, .backward = repeat->backward};
    double budgets[SIM_OUTPUTS];
    struct gpu_guarded_seen seen;
    enum fa_status status = call_once(&call, &made->d_o, repeat->backward, first, &seen, error);
    if (cli_walk_is_fatal(status, &seen))
        goto done;
    if (cli_walk_is_over(status, &seen, error, &repeat->end, repeat->reason)) {
        status = FA_OK;
        goto done;
    }
    repeat->times = 1;
    if (!repeat->bits)
        status = cli_walk_judge(walk, made, first, &run, error);
    for (int i = 0; i < SIM_OUTPUTS; i++)
        budgets[i] = run.output[i].budget;
    while (status == FA_OK && repeat->end == CLI_RUN_RIGHT &&
           repeat->times < walk->check->repeats) {
        status = call_once(&call, &made->d_o, repeat->backward, again, &seen, error);
        if (status == FA_OK &&
            !cli_walk_is_over(status, &seen, error, &repeat->end, repeat->reason))
            compare_calls(first, again, budgets, repeat->times++, repeat);
        free_outputs(again);
        walk->done += 0.1;
        if (status == FA_OK)
            status = cli_walk_tick(walk, error);
    }
done:
    free_outputs(first);
    return status;
}

/* Forward, and the modes of the backward pass, of a rung in a dtype. */
static enum fa_status repeat_modes(struct cli_walk *walk, const struct cli_rung_case *made,
                                   const struct gpu_rung *rung, struct fa_error *error)
{
    struct cli_rung_check *check = walk->check;
    bool backward = rung->backward && check->problem.pass != SIM_FORWARD;
    bool modes = backward && cli_walk_has_two_modes(rung, &made->problem);
    const struct cli_rung_repeat base = {.rung = rung, .dtype = made->problem.dtype, .bits = true};
    struct cli_rung_repeat list[2] = {base, base};
    enum fa_status status = FA_OK;
    list[0].backward = backward;
    list[0].deterministic = modes;
    list[1].backward = true;
    list[1].bits = false;
    for (int i = 0; i < 1 + modes && status == FA_OK; i++) {
        status = repeat_rung(walk, made, &list[i], error);
        check->repeated[check->n_repeated++] = list[i];
    }
    return status;
}

enum fa_status cli_walk_repeats(struct cli_walk *walk, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    size_t most = (size_t)(2 * walk->n_rungs * walk->n_dtypes) + 1;
    if (walk->check->repeats < 2)
        return FA_OK;
    walk->check->repeated = malloc(most * sizeof *walk->check->repeated);
    if (!walk->check->repeated)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the results");
    for (int t = 0; t < walk->n_dtypes && status == FA_OK; t++) {
        struct cli_rung_case made;
        status = cli_repeated_case_make(walk->dtypes[t], &made, error);
        for (int i = 0; i < walk->n_rungs && status == FA_OK; i++)
            status = repeat_modes(walk, &made, walk->rungs[i], error);
        cli_rung_case_free(&made);
    }
    return status;
}
