/* flashlab view: the window on an executed run, or pictures, animations and sentences of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simulator/cli/options.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/view_lessons.h"

#define AT(field) offsetof(struct cli_view, field)

static const char *const theme_words[] = {"dark", "light", NULL};
static const char *const font_words[] = {"system", "builtin", NULL};
static const char *const stage_words[] = {"cross", "row",   "scale", "plot", "mask",
                                          "bits",  "waves", "errors", "tiles", NULL};
static const char *const panel_words[] = {"code", "traffic", "plot", "check", "none", NULL};
static const char *const clock_words[] = {"work", "tile", "traffic", NULL};
static const char *const crop_words[] = {"stage", NULL};

static enum fa_status set_font_scale(struct cli_options *options, const char *text,
                                     struct fa_error *error)
{
    double scale = 0;
    enum fa_status status = cli_parse_real(text, &scale, error);
    if (status != FA_OK || !(scale >= 0.5 && scale <= 4))
        return fa_fail(error, FA_BAD_ARGUMENT, "expected 0.5 to 4");
    ((struct cli_view *)options)->font_scale = scale;
    return FA_OK;
}

static enum fa_status set_size(struct cli_options *options, const char *text,
                               struct fa_error *error)
{
    struct cli_view *view = (struct cli_view *)options;
    char width[16];
    size_t n = strcspn(text, "x");
    int64_t w, h;
    struct fa_error inner;
    if (n > 0 && n < sizeof width && text[n] == 'x') {
        memcpy(width, text, n);
        width[n] = '\0';
        if (cli_parse_integer(width, 1, 16384, &w, &inner) == FA_OK &&
            cli_parse_integer(text + n + 1, 1, 16384, &h, &inner) == FA_OK) {
            view->width = (int)w;
            view->height = (int)h;
            return FA_OK;
        }
    }
    return fa_fail(error, FA_BAD_ARGUMENT, "expected WIDTHxHEIGHT in pixels, 1x1 to 16384x16384");
}

static const struct cli_option view_options[] = {
    {.name = "trace", .value = "FILE", .kind = CLI_FILE, .offset = AT(trace),
     .help = "Look at a trace that run --trace saved, in place of a new run."},
    {.name = "compare", .value = "OPTIONS", .kind = CLI_TEXT, .offset = AT(compare),
     .help = "A second run beside the first: what it has besides, in one word, as in "
             "--compare \"--algorithm flash1\"."},
    {.name = "at", .value = "EVENT|I,J|end", .kind = CLI_TEXT, .offset = AT(at),
     .help = "Begin there: 46 (event 46, from 0, has landed), 46.5 (half way into the next), 1,2 "
             "(tile (1,2) was accumulated, head 0), start or end (pictures: end; else start)."},
    {.name = "theme", .value = "dark|light", .kind = CLI_WORD, .offset = AT(theme),
     .words = theme_words, .help = "Colours (dark)."},
    {.name = "stage", .value = "NAME", .kind = CLI_WORD, .offset = AT(stage), .words = stage_words,
     .help = "What the stage shows: cross, row (one row), scale (to scale), plot, mask, bits (keep "
             "bits), waves (SMs in waves), errors (by tile), tiles (Br and "
             "Bc, to drag) (cross)."},
    {.name = "panel", .value = "NAME", .kind = CLI_WORD, .offset = AT(panel), .words = panel_words,
     .help = "The panel beside it: code, traffic, plot, check or none (code; of two runs "
             "traffic)."},
    {.name = "keep-together", .value = "work|tile|traffic", .kind = CLI_WORD, .offset = AT(clock),
     .words = clock_words,
     .help = "What two runs keep together by: the same matmul FLOPs, tiles or bytes (work)."},
    {.name = "font-scale", .value = "X", .kind = CLI_OTHER, .set = set_font_scale,
     .help = "Everything X times as large, 0.5 to 4 (1)."},
    {.name = "font", .value = "system|builtin", .kind = CLI_WORD, .offset = AT(font),
     .words = font_words,
     .help = "DejaVu where it is installed, or the built-in face, whose pixels are the same "
             "everywhere (system)."},
    {.name = "reduced-motion", .kind = CLI_FLAG, .offset = AT(reduced_motion),
     .help = "Nothing flies: an arrow and rings in place of it."},
    {.name = "elements", .kind = CLI_FLAG, .offset = AT(elements),
     .help = "Traffic in elements instead of bytes."},
};

static const struct cli_option lesson_options[] = {
    {.name = "lesson",
     .value = "N",
     .kind = CLI_INTEGER,
     .offset = AT(lesson),
     .max = 63,
     .help = "Open this lesson, where it was left."},
    {.name = "step",
     .value = "K",
     .kind = CLI_INTEGER,
     .offset = AT(step),
     .min = 1,
     .max = 63,
     .help = "Its step K, from 1; one past the last is its end."},
    {.name = "present",
     .kind = CLI_FLAG,
     .offset = AT(present),
     .help = "For a class: one and a half times as large where the window has room for it, light, "
             "nothing is saved, R reveals."},
    {.name = "lessons",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = AT(lessons_folder),
     .help = "Read the lessons of this folder (those that came with the program)."},
};

static const struct cli_option picture_options[] = {
    {.name = "screenshot", .value = "F.png", .kind = CLI_FILE, .offset = AT(screenshot),
     .help = "Write the frame as a picture; no window, no display."},
    {.name = "crop", .value = "stage", .kind = CLI_WORD, .offset = AT(crop), .words = crop_words,
     .help = "Of the picture the stage alone, with the scenario as its caption."},
    {.name = "size", .value = "WxH", .kind = CLI_OTHER, .set = set_size,
     .help = "Pixels of the picture, or of the window (1280x720)."},
    {.name = "record", .value = "F.gif|F.mp4|F.webm", .kind = CLI_FILE, .offset = AT(record),
     .help = "Write an animation; MP4 and WebM need ffmpeg."},
    {.name = "from", .value = "EVENT|I,J|start", .kind = CLI_TEXT, .offset = AT(from),
     .help = "Where the animation or the description begins, as for --at (start)."},
    {.name = "to", .value = "EVENT|I,J|end", .kind = CLI_TEXT, .offset = AT(to),
     .help = "Where it ends (end)."},
    {.name = "fps", .value = "N", .kind = CLI_INTEGER, .offset = AT(fps), .min = 1, .max = 60,
     .help = "Frames a second of the animation (20)."},
    {.name = "describe", .kind = CLI_FLAG, .offset = AT(describe),
     .help = "Print what happens, one line an event."},
};

static const struct cli_group lesson_group = CLI_GROUP("Lessons", lesson_options);
static const struct cli_group view_group = CLI_GROUP("The view", view_options);
static const struct cli_group picture_group = CLI_GROUP("Without a window", picture_options);
static const struct cli_group *const groups[] = {
    &lesson_group,      &view_group,        &picture_group,   &cli_problem_group,
    &cli_sparse_group,  &cli_machine_group, &cli_input_group, NULL,
};

/* A lesson says itself what is run, and where it stands. */
static enum fa_status check_lesson(const struct cli_view *view, struct fa_error *error)
{
    static const char *const of_lesson[] = {"trace", "compare", "at", "stage", "panel", "describe",
                                            "keep-together", "elements"};
    if (view->lesson < 0 && view->step > 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "--step: expected --lesson with it");
    if (view->lesson < 0)
        return FA_OK;
    for (size_t i = 0; i < sizeof of_lesson / sizeof *of_lesson; i++)
        if (cli_given(&view->problem.base, of_lesson[i]))
            return fa_fail(error, FA_BAD_ARGUMENT, "--lesson and --%s: expected only one of them",
                           of_lesson[i]);
    if (view->runs.words.n > 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "--lesson and %.200s: expected only one of them",
                       cli_word(&view->runs.words, 0));
    return FA_OK;
}

static bool is_png(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcasecmp(path + n - 4, ".png") == 0;
}

static enum fa_status check(const struct cli_view *view, struct fa_error *error)
{
    bool moves = view->record || view->describe;
    if (view->screenshot && !is_png(view->screenshot))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--screenshot: %.800s: expected a picture's ending: .png", view->screenshot);
    if (view->screenshot && view->record)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--screenshot and --record: expected only one of them");
    if ((view->from || view->to) && !moves)
        return fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected --record or --describe with it",
                       view->from ? "from" : "to");
    if (view->crop >= 0 && !view->screenshot)
        return fa_fail(error, FA_BAD_ARGUMENT, "--crop: expected --screenshot with it");
    if (view->trace && view->problem.in)
        return fa_fail(error, FA_BAD_ARGUMENT, "--trace and --in: expected only one of them");
    if (view->trace && view->compare)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--trace and --compare: expected only one of them");
    return FA_OK;
}

/* The runs, with a bar while they are made; a lesson opens its own. */
static enum fa_status open_runs(struct cli_view *view, struct fa_error *error)
{
    struct cli_view_scene *scene = &view->scene;
    if (view->lesson >= 0)
        return FA_OK;
    struct cli_progress progress;
    enum fa_status status;
    cli_progress_start(&progress, "running ");
    if (view->trace)
        status = cli_view_load(&view->runs, view->trace, &progress.watch, &scene->run[0],
                               scene->options[0], &scene->n_options[0], error);
    else
        status = cli_view_open(&view->runs, 0, NULL, &progress.watch, &scene->run[0],
                               scene->options[0], &scene->n_options[0], error);
    if (status == FA_OK && view->compare)
        status = cli_view_open(&view->runs, 1, NULL, &progress.watch, &scene->run[1],
                               scene->options[1], &scene->n_options[1], error);
    cli_progress_end(&progress);
    return status;
}

static enum fa_status read_options(struct cli_view *view, int argc, char **argv,
                                   struct fa_error *error)
{
    enum fa_status status = check(view, error);
    if (status == FA_OK)
        status = cli_words_take(argc, argv, &view->runs.words, error);
    if (status == FA_OK)
        status = check_lesson(view, error);
    view->bare = view->lesson < 0 && view->runs.words.n == 0 && !view->trace && !view->compare &&
                 !view->at && !cli_given(&view->problem.base, "stage") &&
                 !cli_given(&view->problem.base, "panel");
    if (status == FA_OK)
        status = cli_view_small(&view->runs.words, error);
    if (status == FA_OK && view->compare &&
        (size_t)snprintf(view->runs.compare, sizeof view->runs.compare, "%s", view->compare) >=
            sizeof view->runs.compare)
        status = fa_fail(error, FA_TOO_LARGE, "--compare: too long");
    return status;
}

/* A class looks from further away; a picture is of a window as small as it is. */
static void read_present(struct cli_view *view)
{
    if (!view->present)
        return;
    if (!cli_given(&view->problem.base, "font-scale"))
        view->font_scale = 1.5;
    if (!cli_given(&view->problem.base, "theme"))
        view->theme = 1;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_view *view = calloc(1, sizeof *view);
    struct fa_error error = {FA_NO_MEMORY, "no memory for the view"};
    int exit_status = CLI_FINE;
    if (!view)
        return cli_fail(command, CLI_TEXT_FORMAT, &error);
    view->problem = cli_problem_defaults;
    view->font_scale = 1;
    view->fps = 20;
    view->panel = view->crop = -1;
    view->lesson = view->lesson_seed = -1;
    enum fa_status status = FA_OK;
    if (!cli_begin(command, argc, argv, &view->problem.base, &exit_status)) {
        free(view);
        return exit_status;
    }
    read_present(view);
    status = read_options(view, argc, argv, &error);
    bool window = !view->screenshot && !view->record && !view->describe;
    if (view->present && !window && !cli_given(&view->problem.base, "font-scale"))
        view->font_scale =
            view_layout_scale((float)view->font_scale, (float)(view->width ? view->width : 1280),
                              (float)(view->height ? view->height : 720));
    if (status == FA_OK)
        status = cli_view_lessons_open(view, window, &error);
    if (status == FA_OK && window)
        status = cli_view_window_check(&error);
    if (status == FA_OK)
        status = open_runs(view, &error);
    if (status == FA_OK && view->describe)
        status = cli_view_describe(view, &error);
    if (status == FA_OK && view->screenshot)
        status = cli_view_screenshot(view, &error);
    if (status == FA_OK && view->record)
        status = cli_view_record(view, &error);
    if (status == FA_OK && window)
        status = cli_view_window(view, &error);
    cli_view_lessons_close(view);
    view_run_close(view->scene.run[0]);
    view_run_close(view->scene.run[1]);
    if (status != FA_OK)
        exit_status = cli_fail(command, CLI_TEXT_FORMAT, &error);
    free(view);
    return exit_status;
}

extern const struct cli_command cli_view;
const struct cli_command cli_view = {
    .name = "view",
    .summary = "watch the tiles move: a window on an executed run, or pictures of it",
    .operands = "",
    .about = "Executes a run and shows it event by event: tiles moving between HBM and SRAM, every\n"
             "number from that run. Where no option says how large the problem is, it is small\n"
             "enough to read each cell: N = 16, d = 4, tiles of 4x4, 512 bytes of SRAM. Alone it\n"
             "opens the lessons where they were left; with --lesson one of them.",
    .examples = "  flashlab view\n"
                "  flashlab view --n 128 --d 16 --tiles 16x16 --sram 10K --compare \"--algorithm "
                "flash1\"\n"
                "  flashlab view --at 46 --screenshot tile.png\n"
                "  flashlab view --causal --record causal.gif --size 800x600\n"
                "  flashlab view --pass backward --describe\n"
                "  flashlab view --lesson 6 --step 4 --screenshot step.png",
    .groups = groups,
    .run = run,
};
