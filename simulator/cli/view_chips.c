/* A run's options as chips. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reference/faulty/faulty.h"
#include "simulator/cli/view_runs.h"
#include "visualizer/parts.h"

static const char *const pass_choices[] = {"forward", "backward", NULL};
static const char *const causal_choices[] = {"off", "bottom-right", "top-left", NULL};
static const char *const dtype_choices[] = {"f32", "f64", "f16", "bf16", NULL};
static const char *const tile_choices[] = {"4x4", "8x8", "16x16", "32x32", "64x64", "4x8", "8x4",
                                           "square", "best", "paper", NULL};
static const char *const n_choices[] = {"8", "10", "16", "32", "64", "128", "256", "1024", NULL};
static const char *const d_choices[] = {"2", "4", "8", "16", "32", "64", "128", NULL};
static const char *const sram_choices[] = {"256", "512", "1K", "2K", "4K", "16K", "64K", "192K", NULL};
static const char *const head_choices[] = {"1", "2", "4", "8", NULL};

static const char *const *algorithm_choices(void)
{
    static const char *names[FA_ALGORITHMS + 1];
    for (int i = 0; i < FA_ALGORITHMS; i++)
        names[i] = fa_algorithms[i]->name;
    return names;
}

/* The updates of a lesson that looks for a fault: they change places with each other alone. */
static const char *const *update_choices(void)
{
    enum { FAULTY = sizeof fa_faulty_algorithms / sizeof *fa_faulty_algorithms };
    static const char *names[FAULTY + 2];
    names[0] = fa_healthy.name;
    for (int i = 0; i < FAULTY; i++)
        names[i + 1] = fa_faulty_algorithms[i]->name;
    return names;
}

static bool is_update(const struct fa_algorithm *algorithm)
{
    return algorithm == &fa_healthy || fa_faulty_find(algorithm->name) != NULL;
}

static const char *const *profile_choices(void)
{
    static const char *names[FA_PROFILE_COUNT + 1];
    for (int i = 0; i < FA_PROFILE_COUNT; i++)
        names[i] = fa_profile_name((enum fa_profile)i);
    return names;
}

struct chips {
    struct view_option *option;
    int n;
};

#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
static void
add_chip(struct chips *chips, const char *name, const char *const *choices, const char *value,
         const char *label, ...)
{
    if (chips->n == VIEW_MOST_OPTIONS)
        return;
    struct view_option *option = &chips->option[chips->n++];
    va_list arguments;
    memset(option, 0, sizeof *option);
    snprintf(option->name, sizeof option->name, "%s", name);
    snprintf(option->value, sizeof option->value, "%s", value);
    va_start(arguments, label);
    vsnprintf(option->label, sizeof option->label, label, arguments);
    va_end(arguments);
    option->choices = choices;
    option->editable = true;
}

static void add_number(struct chips *chips, const char *name, const char *const *choices,
                       const char *label, int64_t number)
{
    char value[32], shown[VIEW_COUNT_TEXT];
    snprintf(value, sizeof value, "%" PRId64, number);
    add_chip(chips, name, choices, value, "%s %s", label,
             view_count_exact((uint64_t)number, shown));
}

static void add_shape(struct chips *chips, const struct fa_problem *problem)
{
    if (problem->nq == problem->nk) {
        add_number(chips, "n", n_choices, "N", problem->nq);
    } else {
        add_number(chips, "nq", NULL, "Nq", problem->nq);
        add_number(chips, "nk", NULL, "Nk", problem->nk);
    }
    add_number(chips, "d", d_choices, "d", problem->d);
    if (problem->dv != problem->d)
        add_number(chips, "dv", NULL, "dv", problem->dv);
}

void cli_view_chips(const struct cli_problem *options, const struct view_run *run,
                       struct view_option *option, int *n)
{
    const struct sim_trace_header *header = view_run_header(run);
    const struct fa_problem *problem = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    uint64_t sram_bytes = header->sram_bytes;
    struct chips chips = {option, 0};
    char value[64], shown[VIEW_COUNT_TEXT];

    const struct fa_algorithm *algorithm = options->algorithms[0];
    add_chip(&chips, "algorithm", is_update(algorithm) ? update_choices() : algorithm_choices(),
             algorithm->name, "%s", algorithm->name);
    add_chip(&chips, "pass", pass_choices, sim_pass_name((enum sim_pass)options->pass), "%s",
             sim_pass_name((enum sim_pass)options->pass));
    add_shape(&chips, problem);
    snprintf(value, sizeof value, "%" PRId64 "x%" PRId64, tiles->br, tiles->bc);
    add_chip(&chips, "tiles", tile_choices, value, "tiles %s × %s", SIM_GROUPED(tiles->br),
             SIM_GROUPED(tiles->bc));
    snprintf(value, sizeof value, "%" PRIu64, sram_bytes);
    if (sram_bytes >= 1024 && sram_bytes % 1024 == 0)
        add_chip(&chips, "sram", sram_choices, value, "SRAM %s KiB",
                 SIM_GROUPED(sram_bytes / 1024));
    else
        add_chip(&chips, "sram", sram_choices, value, "SRAM %s B",
                 view_count_exact(sram_bytes, shown));
    add_chip(&chips, "causal", causal_choices,
             problem->causal == FA_CAUSAL_NONE ? "off" : fa_causal_name(problem->causal), "%s",
             problem->causal == FA_CAUSAL_NONE           ? "no causal mask"
             : problem->causal == FA_CAUSAL_BOTTOM_RIGHT ? "causal"
                                                         : "causal, top-left");
    add_chip(&chips, "dtype", dtype_choices, fa_dtype_name(problem->dtype), "%s",
             fa_dtype_name(problem->dtype));
    snprintf(value, sizeof value, "%" PRId64, problem->heads);
    add_chip(&chips, "heads", head_choices, value, "%s%s", SIM_GROUPED(problem->heads),
             problem->heads == 1 ? " head" : " heads");
    if (!options->in)
        add_chip(&chips, "profile", profile_choices(), fa_profile_name(options->profile),
                 "inputs %s", fa_profile_name(options->profile));
    if (problem->window_left >= 0 || problem->window_right >= 0) {
        snprintf(value, sizeof value, "%" PRId64 ",%" PRId64, problem->window_left,
                 problem->window_right);
        add_chip(&chips, "window", NULL, value, "window %s", value);
    }
    if (problem->dropout_p > 0) {
        snprintf(value, sizeof value, "%g", problem->dropout_p);
        add_chip(&chips, "dropout", NULL, value, "dropout %s", value);
    }
    char pattern[FA_BLOCK_PATTERN_TEXT];
    const char *blocks = cli_blocks_name(options, pattern);
    if (blocks && !options->block_mask_path)
        add_chip(&chips, "block-pattern", NULL, blocks, "blocks %s", blocks);
    *n = chips.n;
}
