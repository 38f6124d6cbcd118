#include "simulator/cli/lesson_runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/cli/inputs.h"
#include "visualizer/cross.h"

enum { KEPT_RUNS = 4, KEPT_COUNTS = 64 };

struct kept_run {
    char words[LESSON_WORDS];
    struct view_run *run; /* NULL: none */
    uint64_t used;        /* when last, by the runner's clock */
};

struct kept_count {
    char words[LESSON_WORDS]; /* "": none */
    struct sim_result result;
    bool refused;
};

struct painted {
    int number; /* 0: none */
    int64_t rows, columns;
    uint8_t *visit;
    struct fa_block_mask mask; /* of the last count's tiles */
};

struct cli_lesson_runner {
    struct lesson_runner face;
    char folder[1024];
    struct kept_run runs[KEPT_RUNS];
    struct kept_count counts[KEPT_COUNTS];
    uint64_t clock;
    int next_count;
    struct painted painted;
    struct cli_inputs inputs; /* what the last count's problem points to */
    bool has_inputs;
};

/* Puts a path of the lessons' folder in place of one that is relative. */
static enum fa_status find_file(struct cli_words *words, const char *name, const char *folder,
                                struct fa_error *error)
{
    char path[2048];
    size_t n = strlen(name);
    for (int i = 0; i < words->n; i++) {
        const char *word = cli_word(words, i);
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, n) != 0 || word[2 + n] != '=' ||
            word[3 + n] == '/')
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, word + 3 + n) < (int)sizeof path &&
            access(path, R_OK) == 0)
            return cli_words_set(words, name, path, error);
    }
    return FA_OK;
}

enum fa_status cli_lesson_words_read(const char *text, const char *folder, struct cli_words *words,
                                     struct fa_error *error)
{
    static const char *const files[] = {"in", "mask", "bias", "dropout-mask", "block-mask"};
    *words = (struct cli_words){.n = 0};
    enum fa_status status = cli_words_merge(text, words, error);
    for (size_t f = 0; f < sizeof files / sizeof *files && status == FA_OK; f++)
        status = find_file(words, files[f], folder, error);
    return status == FA_OK ? cli_view_small(words, error) : status;
}

/* ---- painted block masks ------------------------------------------------------------------- */

enum fa_status cli_lesson_paint(struct cli_lesson_runner *runner, int64_t rows, int64_t columns,
                                const uint8_t *blocks, char word[CLI_PAINTED_WORD],
                                struct fa_error *error)
{
    struct painted *painted = &runner->painted;
    uint8_t *visit = malloc((size_t)(rows * columns));
    if (!visit)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the painted mask");
    memcpy(visit, blocks, (size_t)(rows * columns));
    free(painted->visit);
    *painted = (struct painted){painted->number + 1, rows, columns, visit, {0}};
    snprintf(word, CLI_PAINTED_WORD, "--block-pattern=painted:%d", painted->number);
    return FA_OK;
}

/* Takes the word of a painted mask out of the words: no option reads it. NULL: there is none. */
static enum fa_status take_painted(struct cli_lesson_runner *runner, struct cli_words *words,
                                   struct painted **painted, struct fa_error *error)
{
    static const char prefix[] = "--block-pattern=painted:";
    char name[CLI_PAINTED_WORD];
    *painted = NULL;
    for (int i = 0; i < words->n; i++) {
        if (strncmp(cli_word(words, i), prefix, sizeof prefix - 1) != 0)
            continue;
        snprintf(name, sizeof name, "%s%d", prefix, runner->painted.number);
        if (strcmp(cli_word(words, i), name) != 0)
            return fa_fail(error, FA_BAD_ARGUMENT, "%.60s: that mask was painted over",
                           cli_word(words, i));
        *painted = &runner->painted;
        return cli_words_set(words, "block-pattern", NULL, error);
    }
    return FA_OK;
}

/* ---- counts -------------------------------------------------------------------------------- */

/* The experiment that the options ask for; its inputs are the runner's. */
static enum fa_status make_experiment(struct cli_lesson_runner *runner,
                                      const struct cli_problem *options, struct painted *painted,
                                      struct sim_experiment *experiment, struct fa_error *error)
{
    struct cli_inputs *inputs = &runner->inputs;
    struct fa_tiles tiles;
    *experiment = (struct sim_experiment){.algorithm = options->algorithms[0],
                                          .pass = (enum sim_pass)options->pass,
                                          .tiles = options->tiles,
                                          .mode = SIM_COUNT_ONLY,
                                          .threads = 1};
    enum fa_status status = cli_machine_make(options, &experiment->machine, error);
    if (status != FA_OK)
        return status;
    if (runner->has_inputs)
        cli_inputs_close(inputs);
    runner->has_inputs = false;
    status = cli_inputs_open(inputs, options, CLI_NEED_SHAPES, error);
    if (status != FA_OK)
        return status;
    runner->has_inputs = true;
    experiment->problem = inputs->problem;
    /* Without tiles that fit, the count says that the machine refuses it, and needs no mask. */
    if (sim_experiment_tiles(experiment, &tiles, NULL) != FA_OK)
        return FA_OK;
    if (!painted)
        status = cli_inputs_block(inputs, options, tiles.br, tiles.bc, error);
    experiment->problem = inputs->problem;
    if (painted) {
        painted->mask = (struct fa_block_mask){tiles.br, tiles.bc, painted->rows, painted->columns,
                                               painted->visit};
        experiment->problem.blocks = &painted->mask;
    }
    return status;
}

static void keep_count(struct cli_lesson_runner *runner, const char *text,
                       const struct sim_result *result, bool refused)
{
    const struct fa_problem *problem = &result->problem;
    /* What a mask's result points to goes with the next count. */
    if (problem->mask || problem->bias || problem->dropout_keep || problem->blocks ||
        strlen(text) >= LESSON_WORDS)
        return;
    struct kept_count *kept = &runner->counts[runner->next_count];
    runner->next_count = (runner->next_count + 1) % KEPT_COUNTS;
    snprintf(kept->words, sizeof kept->words, "%s", text);
    kept->result = *result;
    kept->refused = refused;
}

static enum fa_status count(void *context, const char *text, struct sim_result *result,
                            bool *refused, struct fa_error *error)
{
    struct cli_lesson_runner *runner = context;
    struct cli_words words;
    struct cli_problem options;
    struct sim_experiment experiment;
    struct painted *painted = NULL;
    for (int i = 0; i < KEPT_COUNTS && *text; i++)
        if (strcmp(runner->counts[i].words, text) == 0) {
            *result = runner->counts[i].result;
            *refused = runner->counts[i].refused;
            return FA_OK;
        }
    enum fa_status status = cli_lesson_words_read(text, runner->folder, &words, error);
    if (status == FA_OK)
        status = take_painted(runner, &words, &painted, error);
    if (status == FA_OK)
        status = cli_words_parse(&words, &options, error);
    if (status == FA_OK)
        status = make_experiment(runner, &options, painted, &experiment, error);
    if (status == FA_OK)
        status = lesson_count(&experiment, result, refused, error);
    if (status == FA_OK)
        keep_count(runner, text, result, *refused);
    return status;
}

/* ---- executed runs ------------------------------------------------------------------------- */

static enum fa_status open_run(struct cli_lesson_runner *runner, const char *text,
                               struct view_run **run, struct fa_error *error)
{
    struct view_option options[VIEW_MOST_OPTIONS];
    struct painted *painted = NULL;
    struct sim_result result;
    bool refused;
    int n_options;
    struct cli_view_runs *runs = calloc(1, sizeof *runs);
    if (!runs)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the run");
    enum fa_status status = cli_lesson_words_read(text, runner->folder, &runs->words, error);
    if (status == FA_OK)
        status = take_painted(runner, &runs->words, &painted, error);
    if (status == FA_OK && painted) /* refuses a mask for other tiles */
        status = count(runner, text, &result, &refused, error);
    if (status == FA_OK)
        status = cli_view_open(runs, 0, painted ? painted->visit : NULL, NULL, run, options,
                               &n_options, error);
    free(runs);
    return status;
}

enum fa_status cli_lesson_run(struct cli_lesson_runner *runner, const char *text,
                              struct view_run **run, struct fa_error *error)
{
    struct kept_run *oldest = &runner->runs[0];
    struct view_run *made = NULL;
    runner->clock++;
    for (int i = 0; i < KEPT_RUNS; i++) {
        struct kept_run *kept = &runner->runs[i];
        if (kept->run && strcmp(kept->words, text) == 0) {
            kept->used = runner->clock;
            *run = kept->run;
            return FA_OK;
        }
        if (kept->used < oldest->used)
            oldest = kept;
    }
    if (strlen(text) >= sizeof oldest->words)
        return fa_fail(error, FA_TOO_LARGE, "options of %zu bytes: expected at most %d",
                       strlen(text), LESSON_WORDS - 1);
    view_run_close(oldest->run); /* before the next takes its memory */
    *oldest = (struct kept_run){.run = NULL};
    enum fa_status status = open_run(runner, text, &made, error);
    if (status != FA_OK)
        return status;
    snprintf(oldest->words, sizeof oldest->words, "%s", text);
    oldest->run = made;
    oldest->used = runner->clock;
    *run = made;
    return FA_OK;
}

/* The element where it lies on chip. */
static bool find_on_chip(const struct view_moment *moment, enum fa_tensor_id id, int64_t row,
                         int64_t column, double *value)
{
    struct view_hold hold;
    enum fa_tensor_id slot = view_slot_of(moment->run, id);
    if (slot == FA_TENSORS || !view_slot_hold(moment, slot, &hold))
        return false;
    return view_values_chip(moment->values, id, row - hold.row, column - hold.column, value) ==
           VIEW_CELL_VALUE;
}

static enum fa_status cell(void *context, const char *words, const char *at, enum fa_tensor_id id,
                           int64_t row, int64_t column, double *value, struct fa_error *error)
{
    struct view_frame frame = {.run = {NULL, NULL}};
    struct view_moment moment;
    enum fa_status status = cli_lesson_run(context, words, &frame.run[0], error);
    if (status == FA_OK)
        status = view_position_parse(frame.run[0], at, &frame.at[0], error);
    if (status != FA_OK)
        return status;
    const char *why = view_run_no_values(frame.run[0]);
    if (why)
        return fa_fail(error, FA_UNSUPPORTED, "%s", why);
    frame.at[0].flight = 0;
    view_moment_make(&frame, 0, &moment);
    double found = NAN;
    if (!find_on_chip(&moment, id, row, column, &found) &&
        view_values_hbm(moment.values, id, moment.head, row, column, &found) != VIEW_CELL_VALUE)
        found = NAN;
    *value = found;
    return FA_OK;
}

static enum fa_status trips(void *context, const char *words, enum fa_tensor_id id, int64_t tile,
                            bool store, int64_t *n, struct fa_error *error)
{
    struct view_run *run;
    int64_t rows, columns, tile_rows, tile_columns;
    enum fa_status status = cli_lesson_run(context, words, &run, error);
    if (status != FA_OK)
        return status;
    view_run_shape(run, id, &rows, &columns);
    view_run_tiling(run, id, &tile_rows, &tile_columns);
    if (rows == 0 || columns == 0 || tile_rows == 0 || tile_columns == 0) { /* never in HBM */
        *n = 0;
        return FA_OK;
    }
    int64_t across = (columns + tile_columns - 1) / tile_columns;
    int64_t tiles = (rows + tile_rows - 1) / tile_rows * across;
    if (tile < 0 || tile >= tiles)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s has the tiles 0 to %lld, and not %lld",
                       fa_tensor_name(id), (long long)tiles - 1, (long long)tile);
    struct view_tile_past past =
        view_run_past(run, id, 0, tile / across, tile % across, view_run_length(run));
    *n = store ? past.stores : past.loads;
    return FA_OK;
}

static enum fa_status measure(void *context, const char *words, const char *name, double *value,
                              struct fa_error *error)
{
    return cli_lesson_measure(context, words, name, value, error);
}

/* ---- opening ------------------------------------------------------------------------------- */

enum fa_status cli_lesson_runner_open(const char *folder, struct cli_lesson_runner **runner,
                                      struct fa_error *error)
{
    struct cli_lesson_runner *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the lessons' runs");
    made->face = (struct lesson_runner){count, cell, trips, measure, made};
    snprintf(made->folder, sizeof made->folder, "%s", folder);
    *runner = made;
    return FA_OK;
}

void cli_lesson_runner_close(struct cli_lesson_runner *runner)
{
    if (!runner)
        return;
    for (int i = 0; i < KEPT_RUNS; i++)
        view_run_close(runner->runs[i].run);
    if (runner->has_inputs)
        cli_inputs_close(&runner->inputs);
    free(runner->painted.visit);
    free(runner);
}

const char *cli_lesson_runner_folder(const struct cli_lesson_runner *runner)
{
    return runner->folder;
}

const struct lesson_runner *cli_lesson_runner_face(const struct cli_lesson_runner *runner)
{
    return &runner->face;
}
