#include "simulator/cli/view_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/inputs.h"

/* What a run's experiment points to, for as long as it is looked at. */
struct owner {
    struct cli_inputs inputs;
    struct fa_block_mask blocks; /* painted; visit NULL: none */
    uint8_t *bytes;
};

static void release(void *context)
{
    struct owner *owner = context;
    cli_inputs_close(&owner->inputs);
    free(owner->bytes);
    free(owner);
}

enum fa_status cli_view_small(struct cli_words *words, struct fa_error *error)
{
    static const char *const sizes[] = {"in", "n", "nq", "nk"};
    bool backward = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (cli_words_have(words, sizes[i]))
            return FA_OK;
    for (int i = 0; i < words->n; i++)
        backward = backward || strcmp(cli_word(words, i), "--pass=backward") == 0;
    const struct {
        const char *name, *value;
    } small[] = {
        {"n", "16"}, {"d", "4"}, {"tiles", "4x4"}, {"sram", backward ? "1K" : "512"},
        {"profile", "tidy"},
    };
    enum fa_status status = FA_OK;
    for (size_t i = 0; i < sizeof small / sizeof *small && status == FA_OK; i++)
        if (!cli_words_have(words, small[i].name))
            status = cli_words_set(words, small[i].name, small[i].value, error);
    return status;
}

/* The words of run `which`, read as the command reads them. The texts that options point to stay in
 * `words`. */
static enum fa_status read_words(const struct cli_view_runs *runs, int which,
                                 struct cli_words *words, struct cli_problem *options,
                                 struct fa_error *error)
{
    struct fa_error inner = {FA_OK, ""};
    *words = runs->words;
    enum fa_status status = which == 1 ? cli_words_merge(runs->compare, words, &inner) : FA_OK;
    if (status != FA_OK)
        return fa_fail(error, status, "--compare: %s", inner.text);
    status = cli_words_parse(words, options, error);
    if (status == FA_OK && options->n_algorithms > 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--algorithm: expected one, and --compare \"--algorithm NAME\" for a second");
    if (status == FA_OK && options->pass == SIM_BOTH)
        return fa_fail(error, FA_UNSUPPORTED,
                       "--pass both: expected forward or backward: a view is of one pass");
    return status;
}

/* The block mask: painted, or of the options. */
static enum fa_status set_blocks(struct owner *owner, const struct cli_problem *options,
                                 const uint8_t *painted, const struct fa_tiles *tiles,
                                 struct fa_error *error)
{
    struct fa_problem *problem = &owner->inputs.problem;
    if (!painted)
        return cli_inputs_block(&owner->inputs, options, tiles->br, tiles->bc, error);
    int64_t rows = (problem->nq + tiles->br - 1) / tiles->br;
    int64_t columns = (problem->nk + tiles->bc - 1) / tiles->bc;
    owner->bytes = malloc((size_t)(rows * columns));
    if (!owner->bytes)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the block mask");
    memcpy(owner->bytes, painted, (size_t)(rows * columns));
    owner->blocks = (struct fa_block_mask){tiles->br, tiles->bc, rows, columns, owner->bytes};
    problem->blocks = &owner->blocks;
    return FA_OK;
}

static void describe(const struct cli_view_runs *runs, const struct cli_problem *options,
                     struct sim_trace_header *header)
{
    char command[sizeof header->command];
    snprintf(header->version, sizeof header->version, "%s", FLASHLAB_VERSION);
    cli_view_command(runs, command, sizeof command);
    snprintf(header->command, sizeof header->command, "%s", command);
    if (!options->in) {
        header->seed = (uint64_t)options->seed;
        snprintf(header->profile, sizeof header->profile, "%s", fa_profile_name(options->profile));
    }
}

/* What cannot be watched is refused before its tensors are made. */
static enum fa_status check_length(const struct sim_experiment *experiment,
                                   const struct cli_problem *options, struct fa_error *error)
{
    struct sim_experiment shapes = *experiment;
    struct fa_tiles tiles;
    enum fa_status status = cli_problem_make(options, &shapes.problem, error);
    if (options->in || status != FA_OK) /* files have the sizes, and are no longer than they are */
        return options->in ? FA_OK : status;
    status = sim_experiment_tiles(&shapes, &tiles, error);
    if (status != FA_OK)
        return status;
    const struct fa_problem *p = &shapes.problem;
    double visited = ceil((double)p->nq / (double)tiles.br) * ceil((double)p->nk / (double)tiles.bc) *
                     (double)p->heads * (double)p->batch;
    /* Causal leaves half; a window or a block mask may leave any share, so those are only found
     * out. */
    bool any_share = p->window_left >= 0 || p->window_right >= 0 || options->block_mask_path ||
                     options->pattern_given;
    if (!any_share && visited * (p->causal != FA_CAUSAL_NONE ? 2 : 4) > VIEW_MOST_EVENTS)
        return fa_fail(error, FA_TOO_LARGE,
                       "%.0f score tiles make more than %d events: expected a smaller N, larger "
                       "tiles or fewer heads to watch", visited, VIEW_MOST_EVENTS);
    return FA_OK;
}

/* Everything that a run of the options needs. */
static enum fa_status make_source(const struct cli_view_runs *runs,
                                  const struct cli_problem *options, const uint8_t *painted,
                                  struct view_source *source, struct fa_error *error)
{
    struct owner *owner = calloc(1, sizeof *owner);
    struct fa_tiles tiles;
    if (!owner)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the run");
    struct sim_experiment *experiment = &source->experiment;
    struct cli_inputs *inputs = &owner->inputs;
    *source = (struct view_source){.owner = owner, .release = release};
    *experiment = (struct sim_experiment){
        .algorithm = options->algorithms[0], .pass = (enum sim_pass)options->pass,
        .tiles = options->tiles, .mode = SIM_COUNTED, .threads = 1,
        .q = &inputs->q, .k = &inputs->k, .v = &inputs->v, .o = &inputs->o, .lse = &inputs->lse,
        .dout = &inputs->dout, .dq = &inputs->dq, .dk = &inputs->dk, .dv = &inputs->dv,
    };
    describe(runs, options, &experiment->trace_header);
    enum fa_status status = cli_machine_make(options, &experiment->machine, error);
    if (status == FA_OK)
        status = check_length(experiment, options, error);
    if (status == FA_OK)
        status = cli_inputs_open(inputs, options, CLI_NEED_OUTPUTS, error);
    experiment->problem = inputs->problem;
    if (status == FA_OK)
        status = sim_experiment_tiles(experiment, &tiles, error);
    if (status == FA_OK)
        status = set_blocks(owner, options, painted, &tiles, error);
    experiment->problem = inputs->problem;
    if (status != FA_OK)
        release(owner);
    return status;
}

enum fa_status cli_view_open(struct cli_view_runs *runs, int which, const uint8_t *blocks,
                             const struct fa_watch *watch, struct view_run **run,
                             struct view_option *options, int *n_options, struct fa_error *error)
{
    struct cli_words words;
    struct cli_problem problem;
    struct view_source source;
    enum fa_status status = read_words(runs, which, &words, &problem, error);
    if (status == FA_OK)
        status = make_source(runs, &problem, blocks, &source, error);
    if (status == FA_OK)
        status = view_run_open(&source, watch, run, error);
    if (status != FA_OK)
        return status;
    cli_view_chips(&problem, *run, options, n_options);
    if (which == 0) {
        memcpy(runs->shown, options, (size_t)*n_options * sizeof *options);
        runs->n_shown = *n_options;
    }
    return FA_OK;
}

/* The words that a changed chip stands for. */
static enum fa_status change_words(struct cli_words *words, const struct view_option *option,
                                   struct fa_error *error)
{
    const char *name = option->name, *value = option->value;
    enum fa_status status = FA_OK;
    if (strcmp(name, "n") == 0) { /* one length in place of two */
        status = cli_words_set(words, "nq", NULL, error);
        if (status == FA_OK)
            status = cli_words_set(words, "nk", NULL, error);
    }
    if (strcmp(name, "heads") == 0)
        status = cli_words_set(words, "kv-heads", NULL, error);
    if (status != FA_OK)
        return status;
    bool none = strcmp(value, "off") == 0 || value[0] == '\0';
    return cli_words_set(words, name, none ? NULL : value, error);
}

static const struct view_option *find_chip(const struct cli_view_runs *runs, const char *name)
{
    for (int i = 0; i < runs->n_shown; i++)
        if (strcmp(runs->shown[i].name, name) == 0)
            return &runs->shown[i];
    return NULL;
}

enum fa_status cli_view_change(void *context, int which, struct view_option *options,
                               int *n_options, const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct cli_view_runs *runs = context;
    struct cli_words before = runs->words;
    enum fa_status status = FA_OK;
    for (int i = 0; which == 0 && i < *n_options && status == FA_OK; i++) {
        const struct view_option *shown = find_chip(runs, options[i].name);
        if (!shown || strcmp(shown->value, options[i].value) != 0)
            status = change_words(&runs->words, &options[i], error);
    }
    if (status == FA_OK)
        status = cli_view_open(runs, which, blocks, watch, run, options, n_options, error);
    if (status != FA_OK)
        runs->words = before;
    return status;
}

void cli_view_command(const struct cli_view_runs *runs, char *text, size_t size)
{
    int used = snprintf(text, size, "flashlab view");
    for (int i = 0; i < runs->words.n && used > 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, " %s", cli_word(&runs->words, i));
    if (runs->compare[0] && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " --compare '%s'", runs->compare);
}

