#include "simulator/cli/view_lessons.h"

#ifdef FLASHLAB_HAVE_LESSONS

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/inputs.h"
#include "simulator/cli/lesson_command.h"
#include "visualizer/player.h"

struct cli_view_lessons {
    struct lesson_shelf shelf; /* n 0: none, and `missing` says why */
    struct fa_error missing;
    bool borrowed; /* the shelf is the caller's */
    struct cli_lesson_runner *runner;
    struct lesson_progress progress;
    bool keeps; /* progress, in `path` */
    char path[CLI_LESSON_PATH];
    char painted[CLI_PAINTED_WORD]; /* the word of a painted mask; "": none */
};

/* ---- what the player asks ------------------------------------------------------------------ */

static enum fa_status open_both(struct cli_view_runs *runs, const struct fa_watch *watch,
                                struct view_opened *opened, struct fa_error *error)
{
    enum fa_status status = cli_view_open(runs, 0, NULL, watch, &opened->run[0], opened->options[0],
                                          &opened->n_options[0], error);
    if (status != FA_OK || !runs->compare[0])
        return status;
    status = cli_view_open(runs, 1, NULL, watch, &opened->run[1], opened->options[1],
                           &opened->n_options[1], error);
    if (status != FA_OK)
        view_run_close(opened->run[0]);
    return status;
}

static enum fa_status open_words(void *context, const char *words, const char *compare,
                                 const struct fa_watch *watch, struct view_opened *opened,
                                 struct fa_error *error)
{
    struct cli_view *view = context;
    struct cli_view_runs *runs = malloc(sizeof *runs);
    struct view_opened *made = calloc(1, sizeof *made);
    char seeded[LESSON_WORDS];
    const struct lesson *lesson = lesson_find(&view->lessons->shelf, (int)view->lesson);
    enum fa_status status = FA_OK;
    if (lesson) /* the step that was asked for: the seed is that of a print */
        status = cli_lesson_seed(lesson, words, view->lesson_seed, seeded, error);
    else
        snprintf(seeded, sizeof seeded, "%s", words);
    if (status == FA_OK && (!runs || !made))
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the lesson's run");
    if (status == FA_OK) {
        *runs = view->runs;
        snprintf(runs->compare, sizeof runs->compare, "%s", compare ? compare : "");
        status = cli_lesson_words_read(seeded, view->lessons->shelf.folder, &runs->words, error);
    }
    if (status == FA_OK)
        status = open_both(runs, watch, made, error);
    if (status == FA_OK) {
        view->runs = *runs;
        *opened = *made;
        cli_view_lessons_painted(view, made->run[0], NULL);
    }
    free(made);
    free(runs);
    return status;
}

/* A card's key frame is worth a moment, not a second: of long runs it shows what was counted. */
static bool is_quick(const struct cli_problem *options)
{
    struct fa_problem problem;
    if (options->in) /* a lesson's own files are small */
        return true;
    if (cli_problem_make(options, &problem, NULL) != FA_OK)
        return false;
    double products = (double)problem.nq * (double)problem.nk * (double)(problem.d + problem.dv);
    return products * (double)(problem.heads * problem.batch) < 1e8;
}

/* The run of the options without its values: nothing is computed, each access is counted. A refusal
 * by the machine is a run too. */
static enum fa_status count_run(const struct cli_problem *options, struct view_run **run,
                                struct fa_error *error)
{
    enum { MOST_EVENTS = 1 << 20 };
    struct cli_inputs inputs;
    struct sim_trace *trace = NULL;
    struct sim_result result;
    struct fa_tiles tiles;
    enum fa_status status = cli_inputs_open(&inputs, options, CLI_NEED_SHAPES, error);
    if (status != FA_OK)
        return status;
    struct sim_experiment experiment = {
        .algorithm = options->algorithms[0],
        .pass = (enum sim_pass)options->pass,
        .tiles = options->tiles,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
        .trace = &trace,
        .most_events = MOST_EVENTS,
        .problem = inputs.problem,
    };
    status = cli_machine_make(options, &experiment.machine, error);
    if (status == FA_OK)
        status = sim_experiment_tiles(&experiment, &tiles, error);
    if (status == FA_OK)
        status = cli_inputs_block(&inputs, options, tiles.br, tiles.bc, error);
    experiment.problem = inputs.problem;
    if (status == FA_OK)
        status = sim_experiment_run(&experiment, &result, error);
    if (trace && (status == FA_OK || status == FA_DOES_NOT_FIT))
        status = view_run_adopt(trace, NULL, NULL, run, error);
    cli_inputs_close(&inputs);
    return status;
}

/* The run of the words and the differences from them, executed or counted; NULL where either would
 * take long. */
static enum fa_status open_one(const struct cli_view_runs *runs, const char *more, bool values,
                               struct view_run **run, struct fa_error *error)
{
    struct cli_view_runs *all = calloc(1, sizeof *all);
    struct view_option chips[VIEW_MOST_OPTIONS];
    struct cli_problem options;
    int n_chips;
    if (!all)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a card's run");
    all->words = runs->words;
    enum fa_status status = more ? cli_words_merge(more, &all->words, error) : FA_OK;
    if (status == FA_OK)
        status = cli_words_parse(&all->words, &options, error);
    if (status == FA_OK && values && is_quick(&options))
        status = cli_view_open(all, 0, NULL, NULL, run, chips, &n_chips, error);
    else if (status == FA_OK)
        status = count_run(&options, run, error);
    free(all);
    return status;
}

static enum fa_status open_aside(void *context, const char *words, const char *compare, bool values,
                                 struct view_run *run[2], struct fa_error *error)
{
    const struct cli_view *view = context;
    struct cli_view_runs *runs = calloc(1, sizeof *runs);
    run[0] = run[1] = NULL;
    if (!runs)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a card's run");
    enum fa_status status =
        cli_lesson_words_read(words, view->lessons->shelf.folder, &runs->words, error);
    if (status == FA_OK)
        status = open_one(runs, NULL, values, &run[0], error);
    if (status == FA_OK && compare)
        status = open_one(runs, compare, values, &run[1], error);
    if (status != FA_OK) {
        view_run_close(run[0]);
        run[0] = NULL;
    }
    free(runs);
    return status;
}

static enum fa_status words_of(void *context, char *words, size_t size, struct fa_error *error)
{
    const struct cli_view *view = context;
    const struct cli_words *runs = &view->runs.words;
    const char *painted = view->lessons->painted;
    size_t used = 0;
    if (size > 0)
        words[0] = '\0';
    for (int i = 0; i < runs->n && used < size; i++) {
        const char *word = cli_word(runs, i);
        if (painted[0] && strncmp(word, "--block-", 8) == 0)
            continue; /* it was painted over */
        const char *quote = strpbrk(word, " \t") ? "'" : "";
        used += (size_t)snprintf(words + used, size - used, "%s%s%s%s", used ? " " : "", quote,
                                 word, quote);
    }
    if (painted[0] && used < size)
        used += (size_t)snprintf(words + used, size - used, " %s", painted);
    return used < size ? FA_OK
                       : fa_fail(error, FA_TOO_LARGE, "options of more than %zu bytes", size - 1);
}

static enum fa_status save(void *context, const struct lesson_progress *progress,
                           struct fa_error *error)
{
    const struct cli_view *view = context;
    return lesson_progress_save(view->lessons->path, progress, error);
}

void cli_view_lessons_painted(struct cli_view *view, const struct view_run *run,
                              const uint8_t *blocks)
{
    struct cli_view_lessons *lessons = view->lessons;
    if (!lessons)
        return;
    lessons->painted[0] = '\0';
    /* Without memory the step's numbers are those of the run without it. */
    if (blocks && cli_lesson_paint(lessons->runner, view_run_tr(run), view_run_tc(run), blocks,
                                   lessons->painted, NULL) != FA_OK)
        lessons->painted[0] = '\0';
}

/* ---- opening ------------------------------------------------------------------------------- */

static enum fa_status check_step(const struct cli_view *view, struct fa_error *error)
{
    const struct lesson_shelf *shelf = &view->lessons->shelf;
    const struct lesson *lesson = lesson_find(shelf, (int)view->lesson);
    if (!lesson)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--lesson %" PRId64 ": there is none of that number in %.800s", view->lesson,
                       shelf->folder);
    if (view->step > lesson->n_steps + 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--step %" PRId64
                       ": expected 1 to %d, the steps of lesson %d, or %d, its end",
                       view->step, lesson->n_steps, lesson->number, lesson->n_steps + 1);
    return FA_OK;
}

enum fa_status cli_view_lessons_open(struct cli_view *view, bool window, struct fa_error *error)
{
    if (view->lesson < 0 && !window)
        return FA_OK;
    struct cli_view_lessons *lessons = calloc(1, sizeof *lessons);
    if (!lessons)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the lessons");
    view->lessons = lessons;
    lessons->borrowed = view->shelf != NULL;
    enum fa_status status = FA_OK;
    if (view->shelf)
        lessons->shelf = *view->shelf;
    else
        status = lesson_shelf_open(view->lessons_folder, &lessons->shelf, &lessons->missing);
    if (status != FA_OK) {
        lessons->shelf.n = 0;
        if (view->lesson >= 0 || view->lessons_folder)
            return fa_fail(error, status, "%s", lessons->missing.text);
    }
    if (view->lesson >= 0)
        status = check_step(view, error);
    else
        status = FA_OK;
    if (status == FA_OK)
        status = cli_lesson_runner_open(lessons->shelf.folder, &lessons->runner, error);
    lesson_progress_reset(&lessons->progress);
    if (status == FA_OK && window && !view->present)
        lessons->keeps = cli_lesson_progress(lessons->path, &lessons->progress);
    return status;
}

void cli_view_lessons_close(struct cli_view *view)
{
    struct cli_view_lessons *lessons = view->lessons;
    if (!lessons)
        return;
    cli_lesson_runner_close(lessons->runner);
    if (!lessons->borrowed && lessons->shelf.n > 0)
        lesson_shelf_close(&lessons->shelf);
    free(lessons);
    view->lessons = NULL;
}

const char *cli_view_lessons_folder(const struct cli_view *view)
{
    return view->lessons && view->lessons->shelf.n > 0 ? view->lessons->shelf.folder : NULL;
}

/* Where a bare window begins. */
static void resume(struct view_state *state, const struct cli_view_lessons *lessons)
{
    const struct lesson_progress *progress = &lessons->progress;
    struct fa_error error;
    if (lessons->keeps && !progress->race_seen) {
        view_player_page(state, VIEW_PAGE_RACE);
        return;
    }
    for (int i = 0; i < progress->n; i++) {
        const struct lesson_mark *mark = &progress->mark[i];
        if (mark->number == progress->last_lesson && !mark->done && !mark->skipped &&
            lesson_find(&lessons->shelf, mark->number) &&
            view_player_go(state, mark->number, -1, &error) == FA_OK)
            return;
    }
    view_player_page(state, VIEW_PAGE_CONTENTS);
}

enum fa_status cli_view_lessons_start(struct cli_view *view, struct view_state *state,
                                      struct fa_error *error)
{
    struct cli_view_lessons *lessons = view->lessons;
    if (!lessons)
        return FA_OK;
    const struct view_lesson_host host = {
        .shelf = lessons->shelf.n > 0 ? &lessons->shelf : NULL,
        .missing = lessons->shelf.n > 0 ? NULL : lessons->missing.text,
        .progress = lessons->keeps ? &lessons->progress : NULL,
        .present = view->present,
        .open_words = open_words,
        .open_aside = open_aside,
        .words = words_of,
        .save = lessons->keeps ? save : NULL,
        .runner = *cli_lesson_runner_face(lessons->runner),
        .context = view,
    };
    enum fa_status status = view_player_open(state, &host, error);
    if (status == FA_OK && view->lesson >= 0)
        status = view_player_go(state, (int)view->lesson, (int)view->step - 1, error);
    else if (status == FA_OK && view->bare)
        resume(state, lessons);
    return status;
}

#else

static enum fa_status no_lessons(struct fa_error *error)
{
    return fa_fail(
        error, FA_MISSING_PART,
        "--lesson: this build has no lessons: install the development packages of md4c and "
        "libyaml and build again");
}

enum fa_status cli_view_lessons_open(struct cli_view *view, bool window, struct fa_error *error)
{
    (void)window;
    return view->lesson >= 0 ? no_lessons(error) : FA_OK;
}

void cli_view_lessons_close(struct cli_view *view)
{
    (void)view;
}

const char *cli_view_lessons_folder(const struct cli_view *view)
{
    (void)view;
    return NULL;
}

enum fa_status cli_view_lessons_start(struct cli_view *view, struct view_state *state,
                                      struct fa_error *error)
{
    (void)view, (void)state, (void)error;
    return FA_OK;
}

void cli_view_lessons_painted(struct cli_view *view, const struct view_run *run,
                              const uint8_t *blocks)
{
    (void)view, (void)run, (void)blocks;
}

#endif
