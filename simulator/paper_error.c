/*
 * FlashAttention-3, section 4.3: the error of O by number formats, on inputs with outliers.
 *
 * The reference is the oracle in double on the inputs before they are rounded, as a reader of the
 * paper would have it; the recipes and the setting are those of `precision_table.h`.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/paper_parts.h"
#include "simulator/precision_table.h"

static bool tick(void *context, double done)
{
    return sim_paper_tick(context, done);
}

static void describe(const struct fa_precision_recipe *recipe,
                     const struct fa_precision_case *setting,
                     const struct sim_precision_error *error, char *text, size_t size)
{
    char scale[64] = "", tile[48] = "", weights[24] = "";
    if (recipe->scale == FA_SCALE_TENSOR)
        snprintf(scale, sizeof scale, ", one scale a tensor");
    else if (recipe->scale == FA_SCALE_BLOCK)
        snprintf(scale, sizeof scale, ", a scale for %" PRId64 " rows", recipe->scale_rows);
    if (recipe->order == FA_FLASH_ORDER)
        snprintf(tile, sizeof tile, ", tiles of %" PRId64 " keys", recipe->tile);
    if (recipe->weight_scale != 1)
        snprintf(weights, sizeof weights, " x %g", recipe->weight_scale);
    snprintf(text, size,
             "Inputs %s%s%s, S %s, P %s%s, sums %s, O %s%s; N = %" PRId64 ", d = %" PRId64
             ", seeds %" PRIu64 " to %" PRIu64 ", %" PRId64 " heads of each, %" PRId64
             " rows of a head, %s; against the oracle in double on the unrounded inputs; the seeds one by "
             "one give %.3g to %.3g.",
             fa_format_name(recipe->inputs[0]), scale,
             recipe->hadamard ? ", Q and K rotated (random-sign Hadamard)" : "",
             fa_format_name(recipe->scores), fa_format_name(recipe->weights), weights,
             fa_format_name(recipe->accumulate[0]), fa_format_name(recipe->output), tile,
             setting->n, setting->d, setting->seed, setting->seed + SIM_PRECISION_SEEDS - 1,
             setting->heads, setting->rows, fa_profile_name(setting->profile), error->least,
             error->most);
}

void sim_paper_error(struct sim_paper_work *work)
{
    int n;
    const struct sim_precision_method *methods = sim_precision_methods(&n);
    struct fa_precision_recipe *recipes = calloc((size_t)n, sizeof *recipes);
    struct sim_precision_error(*errors)[FA_REFERENCE_COUNT] = calloc((size_t)n, sizeof *errors);
    const bool wanted[FA_REFERENCE_COUNT] = {[FA_REFERENCE_UNROUNDED] = true};
    struct fa_precision_case setting = sim_precision_setting();
    struct fa_watch watch = {tick, work};

    setting.threads = work->threads;
    setting.watch = &watch;
    if (!work->status && (!recipes || !errors))
        work->status = fa_fail(&work->error, FA_NO_MEMORY, "no memory for the error table");
    for (int i = 0; i < n && !work->status; i++)
        recipes[i] = methods[i].recipe;
    if (!work->status)
        work->status = sim_precision_measure(&setting, SIM_PRECISION_SEEDS, recipes, n, wanted,
                                             errors, &work->error);
    for (int i = 0; i < n && !work->status; i++) {
        struct sim_paper_row row = {.ours = errors[i][FA_REFERENCE_UNROUNDED].all.rmse,
                                    .published = methods[i].published,
                                    .unit = "RMSE",
                                    .how = SIM_PAPER_EMULATED};
        snprintf(row.id, sizeof row.id, "error.%s", methods[i].id);
        /* An indented title is a variant of FlashAttention-3's. */
        snprintf(row.title, sizeof row.title, "%s%s",
                 methods[i].title[0] == ' ' ? "FlashAttention-3, e4m3, " : "",
                 methods[i].title + strspn(methods[i].title, " "));
        describe(&recipes[i], &setting, &errors[i][FA_REFERENCE_UNROUNDED], row.variant,
                 sizeof row.variant);
        sim_paper_add(work, &row);
    }
    free(recipes);
    free(errors);
}
