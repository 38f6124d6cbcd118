/* What lessons measure on a run beside what is counted: measured("new maxima"). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/inputs.h"
#include "simulator/cli/lesson_runner.h"

static enum fa_status nothing(const char *name, struct fa_error *error)
{
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "measured(\"%s\"): this run has no such quantity: expected a forward run whose "
                   "values are at hand",
                   name);
}

/* Words may be apart by _ as well. */
static bool is_named(const char *name, const char *wanted)
{
    while (*name && (*name == *wanted || (*name == '_' && *wanted == ' ')))
        name++, wanted++;
    return *name == *wanted;
}

/* Of each row the scores that are above all before them; the mean over head 0's rows. */
static enum fa_status new_maxima(struct view_run *run, const char *name, double *value,
                                 struct fa_error *error)
{
    int64_t rows = view_run_header(run)->problem.nq, n = 0;
    struct view_row row;
    for (int64_t r = 0; r < rows; r++) {
        double most = -INFINITY;
        if (!view_run_row(run, 0, r, &row))
            return nothing(name, error);
        for (int64_t k = 0; k < row.keys; k++)
            if (row.scores[k] > most) {
                most = row.scores[k];
                n++;
            }
    }
    *value = rows > 0 ? (double)n / (double)rows : 0;
    return FA_OK;
}

/* Of O and LSE, over all heads. */
static enum fa_status error_of_result(struct view_run *run, const char *name, double *value,
                                      struct fa_error *error)
{
    struct view_error_row rows[4];
    int n = view_run_errors(run, rows);
    bool rms = is_named(name, "O rms") || is_named(name, "LSE rms");
    for (int r = 0; r < n; r++)
        if (rows[r].id == (name[0] == 'O' ? FA_O : FA_LSE)) {
            *value = rms ? rows[r].rms : rows[r].max_abs;
            return FA_OK;
        }
    return nothing(name, error);
}

/* Of S and P, where the run forms them as a whole, over head 0. */
static enum fa_status error_of_scores(struct view_run *run, const char *name, double *value,
                                      struct fa_error *error)
{
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    int n = view_run_stage_errors(run, stages);
    bool rms = is_named(name, "S rms") || is_named(name, "P rms");
    for (int s = 0; s < n; s++)
        if (stages[s].id == (name[0] == 'S' ? FA_S : FA_P) && stages[s].formed) {
            *value = rms ? stages[s].rms : stages[s].max_abs;
            return FA_OK;
        }
    return nothing(name, error);
}

/* The key tile of the first event that the third check finds bad. */
static enum fa_status first_bad_tile(struct view_run *run, const char *name, double *value,
                                     struct fa_error *error)
{
    struct view_check checks[VIEW_CHECKS];
    view_run_checks(run, view_run_length(run), checks);
    const struct view_check *check = &checks[VIEW_CHECKS - 1];
    if (check->verdict == VIEW_NO_VERDICT)
        return nothing(name, error);
    *value = -1;
    if (check->verdict == VIEW_BAD && check->first_bad > 0) {
        const struct sim_event *event = view_run_event(run, check->first_bad - 1);
        *value = event->j == SIM_NO_TILE ? (double)view_run_tc(run) : (double)event->j;
    }
    return FA_OK;
}

static enum fa_status bad_value(struct view_run *run, const char *name, double *value,
                                struct fa_error *error)
{
    const double *errors = view_run_tile_errors(run);
    int64_t n = view_run_tr(run) * view_run_tc(run);
    if (!errors)
        return nothing(name, error);
    *value = 0;
    for (int64_t i = 0; i < n; i++)
        if (errors[i] > *value)
            *value = errors[i];
    return FA_OK;
}

/* ---- the tiles of K and V in another order ------------------------------------------------- */

/* Row r comes from row `from[r]`. */
static enum fa_status permute(const struct fa_tensor *tensor, const int64_t *from,
                              struct fa_error *error)
{
    int64_t rows = tensor->shape[2], columns = tensor->shape[3];
    double *kept = malloc(sizeof *kept * (size_t)rows * (size_t)columns);
    if (!kept)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the tiles in another order");
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++) {
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = 0; c < columns; c++)
                    kept[r * columns + c] = fa_tensor_get(tensor, b, h, from[r], c);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = 0; c < columns; c++)
                    fa_tensor_set(tensor, b, h, r, c, kept[r * columns + c]);
        }
    free(kept);
    return FA_OK;
}

/* The last tile first. */
static enum fa_status turn_tiles(const struct cli_inputs *inputs, int64_t bc,
                                 struct fa_error *error)
{
    int64_t n = inputs->problem.nk, r = 0;
    int64_t *from = malloc(sizeof *from * (size_t)n);
    if (!from)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the tiles in another order");
    for (int64_t tile = (n + bc - 1) / bc; tile-- > 0;)
        for (int64_t row = tile * bc; row < n && row < (tile + 1) * bc; row++)
            from[r++] = row;
    enum fa_status status = permute(&inputs->k, from, error);
    if (status == FA_OK)
        status = permute(&inputs->v, from, error);
    free(from);
    return status;
}

/* O of head 0 of sequence 0, largest difference from `before`; fills `before` where it is not set.
 */
static double compare_o(const struct fa_tensor *o, double *before, bool set)
{
    double most = 0;
    for (int64_t r = 0; r < o->shape[2]; r++)
        for (int64_t c = 0; c < o->shape[3]; c++) {
            double value = fa_tensor_get(o, 0, 0, r, c), *kept = &before[r * o->shape[3] + c];
            if (set)
                most = fmax(most, fabs(value - *kept));
            else
                *kept = value;
        }
    return most;
}

static enum fa_status run_twice(struct cli_inputs *inputs, struct sim_experiment *experiment,
                                double *value, struct fa_error *error)
{
    struct sim_result result;
    struct fa_tiles tiles;
    const struct fa_tensor *o = &inputs->o;
    double *before = malloc(sizeof *before * (size_t)o->shape[2] * (size_t)o->shape[3]);
    if (!before)
        return fa_fail(error, FA_NO_MEMORY, "no memory for two outputs");
    enum fa_status status = sim_experiment_tiles(experiment, &tiles, error);
    if (status == FA_OK)
        status = sim_experiment_run(experiment, &result, error);
    if (status == FA_OK) {
        compare_o(o, before, false);
        status = turn_tiles(inputs, tiles.bc, error);
    }
    if (status == FA_OK)
        status = sim_experiment_run(experiment, &result, error);
    if (status == FA_OK)
        *value = compare_o(o, before, true);
    free(before);
    return status;
}

static enum fa_status shuffled(const struct cli_lesson_runner *runner, const char *text,
                               double *value, struct fa_error *error)
{
    struct cli_words words;
    struct cli_problem options;
    struct cli_inputs inputs;
    enum fa_status status =
        cli_lesson_words_read(text, cli_lesson_runner_folder(runner), &words, error);
    if (status == FA_OK)
        status = cli_words_parse(&words, &options, error);
    if (status != FA_OK)
        return status;
    if (options.causal != FA_CAUSAL_NONE || options.window_left >= 0 || options.window_right >= 0 ||
        options.mask_path || options.bias_path || options.dropout_p > 0 || options.pattern_given ||
        options.block_mask_path || options.pass != SIM_FORWARD)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "measured(\"shuffled\"): expected a forward run in which a key's place does "
                       "not matter: no mask, bias or dropout");
    struct sim_experiment experiment = {.algorithm = options.algorithms[0],
                                        .pass = SIM_FORWARD,
                                        .tiles = options.tiles,
                                        .mode = SIM_PLAIN,
                                        .threads = 1};
    status = cli_machine_make(&options, &experiment.machine, error);
    if (status == FA_OK)
        status = cli_inputs_open(&inputs, &options, CLI_NEED_OUTPUTS, error);
    if (status != FA_OK)
        return status;
    experiment.problem = inputs.problem;
    experiment.q = &inputs.q;
    experiment.k = &inputs.k;
    experiment.v = &inputs.v;
    experiment.o = &inputs.o;
    experiment.lse = &inputs.lse;
    status = run_twice(&inputs, &experiment, value, error);
    cli_inputs_close(&inputs);
    return status;
}

/* ---- bits in turn -------------------------------------------------------------------------- */

/* Tiles that have another turn in the backward pass than forward, or bits that differ when each
 * pass draws them as it comes to their tiles; of head 0. */
static enum fa_status out_of_turn(struct cli_lesson_runner *runner, const char *words,
                                  const char *name, double *value, struct fa_error *error)
{
    static const char *const passes[] = {"--pass forward", "--pass backward"};
    struct view_run *run[2];
    struct view_turns turns[2];
    char pass[LESSON_WORDS];
    for (int k = 0; k < 2; k++) {
        enum fa_status status = lesson_words_join(words, passes[k], pass, sizeof pass, error);
        if (status == FA_OK) /* the runner keeps the last few, so the first stays */
            status = cli_lesson_run(runner, pass, &run[k], error);
        if (status != FA_OK)
            return status;
    }
    if (!view_run_turns(run[0], 0, &turns[0]) || !view_run_turns(run[1], 0, &turns[1]))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "measured(\"%s\"): expected a run with dropout, whose bits follow from a "
                       "seed", name);
    const struct fa_problem *problem = &view_run_header(run[0])->problem;
    int64_t tr = view_run_tr(run[0]), tc = view_run_tc(run[0]);
    bool bits = is_named(name, "other bits");
    if (!bits && (tr != view_run_tr(run[1]) || tc != view_run_tc(run[1])))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "measured(\"%s\"): expected the same tiles in both passes", name);
    int64_t n = bits ? problem->nq * problem->nk : tr * tc;
    *value = 0;
    for (int64_t k = 0; k < n; k++)
        *value += bits ? turns[0].keep[k] != turns[1].keep[k]
                       : turns[0].turn[k] != turns[1].turn[k];
    return FA_OK;
}

/* ---- by name ------------------------------------------------------------------------------- */

enum fa_status cli_lesson_measure(struct cli_lesson_runner *runner, const char *words,
                                  const char *name, double *value, struct fa_error *error)
{
    static const struct {
        const char *name;
        enum fa_status (*measure)(struct view_run *run, const char *name, double *value,
                                  struct fa_error *error);
    } quantities[] = {{"new maxima", new_maxima},
                      {"O error", error_of_result},
                      {"O rms", error_of_result},
                      {"LSE error", error_of_result},
                      {"LSE rms", error_of_result},
                      {"S error", error_of_scores},
                      {"S rms", error_of_scores},
                      {"P error", error_of_scores},
                      {"P rms", error_of_scores},
                      {"first bad tile", first_bad_tile},
                      {"bad value", bad_value}};
    struct view_run *run;
    if (is_named(name, "shuffled"))
        return shuffled(runner, words, value, error);
    if (is_named(name, "other turn") || is_named(name, "other bits"))
        return out_of_turn(runner, words, name, value, error);
    for (size_t q = 0; q < sizeof quantities / sizeof *quantities; q++) {
        if (!is_named(name, quantities[q].name))
            continue;
        enum fa_status status = cli_lesson_run(runner, words, &run, error);
        return status == FA_OK ? quantities[q].measure(run, name, value, error) : status;
    }
    enum { QUANTITIES = sizeof quantities / sizeof *quantities };
    const char *names[QUANTITIES + 3] = {"shuffled", "other turn", "other bits"};
    for (int q = 0; q < QUANTITIES; q++)
        names[q + 3] = quantities[q].name;
    const char *near = cli_nearest(name, names, QUANTITIES + 3);
    return fa_fail(
        error, FA_BAD_ARGUMENT,
        "measured(\"%s\"): expected new maxima, the error or rms of O, LSE, S or P, first bad "
        "tile, bad value, shuffled, other turn or other bits%s%s%s",
        name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}
