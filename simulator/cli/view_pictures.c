/* What `flashlab view` makes without a window: a picture, an animation, a description. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/view_lessons.h"
#include "visualizer/clock.h"
#include "visualizer/sentence.h"
#ifdef FLASHLAB_HAVE_CANVAS
#include "visualizer/canvas.h"
#endif
#ifdef FLASHLAB_HAVE_LESSONS
#include "simulator/cli/lesson_command.h"
#endif

/* --at, --from and --to as positions of the first run. */
static enum fa_status read_place(const struct view_run *run, const char *option, const char *text,
                                 const char *otherwise, struct view_position *at,
                                 struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status = view_position_parse(run, text ? text : otherwise, at, &inner);
    return status == FA_OK ? FA_OK : fa_fail(error, status, "--%s: %s", option, inner.text);
}

static enum fa_status read_range(const struct cli_view *view, const struct view_run *run,
                                 struct view_position *from, struct view_position *to,
                                 struct fa_error *error)
{
    enum fa_status status = read_place(run, "from", view->from, "start", from, error);
    if (status == FA_OK)
        status = read_place(run, "to", view->to, "end", to, error);
    if (status == FA_OK && (to->landed < from->landed ||
                            (to->landed == from->landed && to->flight < from->flight)))
        return fa_fail(error, FA_BAD_ARGUMENT, "--to %s: expected a place after --from's %s",
                       view->to ? view->to : "end", view->from ? view->from : "start");
    return status;
}

enum fa_status cli_view_describe(struct cli_view *view, struct fa_error *error)
{
    struct view_run *run = view->scene.run[0];
    struct view_position from, to;
    struct view_sentence sentence;
    enum fa_status status = read_range(view, run, &from, &to, error);
    for (uint64_t index = from.landed; status == FA_OK && index < to.landed && !ferror(stdout);
         index++) {
        view_sentence(run, index, !view->elements, &sentence);
        puts(sentence.text);
    }
    return status;
}

#ifdef FLASHLAB_HAVE_CANVAS

void cli_view_frame_options(const struct cli_view *view, struct view_frame *frame)
{
    frame->theme = view->theme == 0 ? &view_dark : &view_light;
    frame->reduced_motion = view->reduced_motion;
    frame->stage = (enum view_stage)view->stage;
    frame->clock = (enum view_clock_kind)view->clock;
    frame->bytes = !view->elements;
    if (view->panel >= 0) {
        frame->panel_open = view->panel <= VIEW_PANEL_CHECK; /* the word after it is none */
        frame->panel = frame->panel_open ? (enum view_panel)view->panel : frame->panel;
    }
}

enum { CAPTION_HEIGHT = 28 };

void cli_view_scenario(const struct view_option *options, int n, char *text, size_t size)
{
    int used = 0;
    text[0] = '\0';
    for (int i = 0; i < n && used >= 0 && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : "",
                         options[i].label);
}

/* A frame's list and what draws it. */
struct studio {
    const struct cli_view *view;
    struct view_canvas *canvas;
    struct view_draw draw;
    int width, height; /* pixels */
    float scale;
};

static enum fa_status studio_canvas(struct studio *studio, int width, int height,
                                    struct fa_error *error)
{
    enum view_font font = studio->view->font == 0 ? VIEW_FONT_SYSTEM : VIEW_FONT_BUILTIN;
    view_canvas_close(studio->canvas);
    studio->canvas = NULL;
    studio->width = width;
    studio->height = height;
    return view_canvas_open(width, height, studio->scale, font, &studio->canvas, error);
}

static enum fa_status studio_open(struct studio *studio, const struct cli_view *view, int width,
                                  int height, struct fa_error *error)
{
    *studio = (struct studio){.view = view, .scale = (float)view->font_scale};
    enum fa_status status = studio_canvas(studio, width, height, error);
    if (status == FA_OK)
        view_draw_open(&studio->draw, view_canvas_face(studio->canvas), &view_dark);
    return status;
}

static void studio_close(struct studio *studio)
{
    view_draw_close(&studio->draw);
    view_canvas_close(studio->canvas);
}

static enum fa_status shoot(struct studio *studio, const struct view_frame *frame,
                            struct view_picture *picture, struct fa_error *error)
{
    view_scene(&studio->draw, frame);
    enum fa_status status = view_canvas_draw(studio->canvas, &studio->draw, error);
    return status == FA_OK ? view_canvas_picture(studio->canvas, picture, error) : status;
}

/* The stage alone, over a caption that says what was run. */
static enum fa_status shoot_stage(struct studio *studio, const struct view_frame *frame,
                                  struct view_picture *picture, struct fa_error *error)
{
    struct view_layout layout;
    struct view_draw *draw = &studio->draw;
    char caption[1024];
    view_layout_make(frame, &layout);
    struct view_box stage = layout.stage;
    float width = ceilf(stage.w), height = ceilf(stage.h) + CAPTION_HEIGHT;
    view_scene(draw, frame);
    view_draw_shift(draw, -stage.x, -stage.y);
    draw->layer = VIEW_POPUP;
    view_clip_none(draw);
    view_fill(draw, view_box_make(0, stage.h, width, CAPTION_HEIGHT), frame->theme->bg);
    struct view_box line = view_box_make(12, stage.h, width - 24, CAPTION_HEIGHT);
    struct view_type type = view_type_make(VIEW_MONO, VIEW_SIZE_LABEL, frame->theme->text2);
    cli_view_caption(studio->view, frame, caption, sizeof caption);
    if (!view_text_in(draw, line, VIEW_LEFT, type, "%s", caption)) {
        cli_view_scenario(frame->options, frame->n_options, caption, sizeof caption);
        type.style = VIEW_SANS;
        view_text_in(draw, line, VIEW_LEFT, type, "%s", caption);
    }
    enum fa_status status = studio_canvas(studio, (int)ceilf(width * studio->scale),
                                          (int)ceilf(height * studio->scale), error);
    if (status == FA_OK)
        status = view_canvas_draw(studio->canvas, draw, error);
    return status == FA_OK ? view_canvas_picture(studio->canvas, picture, error) : status;
}

static enum fa_status save_frame(const struct cli_view *view, const struct view_frame *frame,
                                 bool crop, const char *path, struct fa_error *error)
{
    struct studio studio;
    struct view_picture picture;
    char command[1024];
    float scale = (float)view->font_scale;
    enum fa_status status = studio_open(&studio, view, (int)(frame->width * scale + 0.5f),
                                        (int)(frame->height * scale + 0.5f), error);
    if (status == FA_OK)
        status = crop ? shoot_stage(&studio, frame, &picture, error)
                      : shoot(&studio, frame, &picture, error);
    cli_view_caption(view, frame, command, sizeof command);
    if (status == FA_OK)
        status = view_png_write(path, &picture, command, error);
    studio_close(&studio);
    return status;
}

enum fa_status cli_view_save_frame(const struct cli_view *view, const struct view_frame *frame,
                                   const char *path, struct fa_error *error)
{
    return save_frame(view, frame, false, path, error);
}

/* The frames from one place to another, each 1 / fps s after the one before, at the auto pace. */
static enum fa_status shoot_range(struct studio *studio, struct view_frame *frame,
                                  struct view_movie *movie, struct view_position from,
                                  struct view_position to, struct cli_progress *progress,
                                  struct fa_error *error)
{
    struct view_picture picture;
    double step = 1000.0 / (double)studio->view->fps;
    double length = (double)(to.landed - from.landed);
    struct view_position at = from;
    enum fa_status status = FA_OK;
    for (bool last = false; status == FA_OK;) {
        view_frame_seek(frame, at);
        frame->rate = last ? 0 : view_clock_rate(frame->run[0], at, VIEW_AUTO);
        status = shoot(studio, frame, &picture, error);
        if (status == FA_OK)
            status = view_movie_add(movie, &picture, error);
        if (last || status != FA_OK)
            break;
        if (!cli_progress_tick(progress,
                               length > 0 ? (double)(at.landed - from.landed) / length : 1))
            return fa_fail(error, FA_CANCELLED, "stopped; nothing was written");
        at = view_clock_advance(frame->run[0], at, VIEW_AUTO, step);
        if (at.landed > to.landed || (at.landed == to.landed && at.flight >= to.flight)) {
            at = to;
            last = true;
        }
    }
    return status;
}

static enum fa_status save_range(const struct cli_view *view, const struct view_frame *shown,
                                 struct view_position from, struct view_position to,
                                 const char *path, struct fa_error *error)
{
    struct studio studio;
    struct view_movie *movie = NULL;
    struct view_frame *frame = malloc(sizeof *frame);
    struct cli_progress progress;
    struct fa_error inner;
    float scale = (float)view->font_scale;
    if (!frame)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the animation");
    *frame = *shown;
    enum fa_status status = studio_open(&studio, view, (int)(frame->width * scale + 0.5f),
                                        (int)(frame->height * scale + 0.5f), error);
    if (status == FA_OK)
        status = view_movie_open(path, studio.width, studio.height, (int)view->fps, &movie, error);
    if (status == FA_OK) {
        cli_progress_start(&progress, "recording");
        status = shoot_range(&studio, frame, movie, from, to, &progress, error);
        cli_progress_end(&progress);
        enum fa_status closed =
            view_movie_close(movie, status != FA_OK, status == FA_OK ? error : &inner);
        status = status == FA_OK ? closed : status;
    }
    studio_close(&studio);
    free(frame);
    return status;
}

enum fa_status cli_view_save_events(const struct cli_view *view, const struct view_frame *frame,
                                    uint64_t from, uint64_t to, const char *path,
                                    struct fa_error *error)
{
    return save_range(view, frame, (struct view_position){from, 0}, (struct view_position){to, 0},
                      path, error);
}

/* A window's state without a window, which shows the runs, or the lesson's step; it counts the
 * plot's points, for which a picture waits. `face` measures nothing that stays. */
static enum fa_status open_state(struct cli_view *view, struct view_state **state,
                                 struct fa_error *error)
{
    static const struct view_host nobody = {0};
    struct cli_view_scene *scene = &view->scene;
    float scale = (float)view->font_scale;
    enum fa_status status =
        view_state_open(&nobody, &view_builtin_face,
                        (float)(view->width ? view->width : 1280) / scale,
                        (float)(view->height ? view->height : 720) / scale, state, error);
    if (status != FA_OK)
        return status;
    if (scene->run[0])
        view_state_show(*state, scene->run[0], scene->options[0], scene->n_options[0],
                        scene->run[1], scene->options[1], scene->n_options[1]);
    cli_view_frame_options(view, view_state_frame(*state));
    status = cli_view_lessons_start(view, *state, error);
    if (status != FA_OK)
        return status;
    view_state_settle(*state);
    while (!cli_interrupted()) {
        view_state_draw(*state);
        if (view_state_idle(*state))
            break;
        view_state_tick(*state, 1);
    }
    view_state_draw(*state);
    return FA_OK;
}

/* The scene's runs go back to who closes them; a lesson's are the state's. */
static void close_state(const struct cli_view *view, struct view_state *state)
{
    if (!state)
        return;
    if (view->scene.run[0])
        view_state_frame(state)->run[0] = view_state_frame(state)->run[1] = NULL;
    view_state_close(state);
}

enum fa_status cli_view_screenshot(struct cli_view *view, struct fa_error *error)
{
    struct view_state *state = NULL;
    struct view_position at;
    struct fa_error inner = {FA_OK, ""};
    enum fa_status status = cli_file_check(view->screenshot, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--screenshot: %s", inner.text);
    if (view->scene.run[0])
        status = read_place(view->scene.run[0], "at", view->at, "end", &at, error);
    if (status == FA_OK)
        status = open_state(view, &state, error);
    if (status == FA_OK && view->scene.run[0])
        view_state_seek(state, at);
    if (status == FA_OK)
        status = save_frame(view, view_state_frame(state), view->crop >= 0, view->screenshot,
                            error);
    close_state(view, state);
    return status;
}

enum fa_status cli_view_record(struct cli_view *view, struct fa_error *error)
{
    struct view_state *state = NULL;
    struct view_position from, to;
    struct fa_error inner = {FA_OK, ""};
    enum fa_status status = cli_file_check(view->record, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--record: %s", inner.text);
    status = open_state(view, &state, error);
    if (status == FA_OK)
        status = read_range(view, view_state_frame(state)->run[0], &from, &to, error);
    if (status == FA_OK)
        status = save_range(view, view_state_frame(state), from, to, view->record, error);
    close_state(view, state);
    return status;
}

#ifdef FLASHLAB_HAVE_LESSONS
enum fa_status cli_view_lesson_print(const struct cli_lessons *lessons, int lesson, int step,
                                     const char *path, struct fa_error *error)
{
    struct cli_view *view = calloc(1, sizeof *view);
    if (!view)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a picture");
    view->problem = cli_problem_defaults;
    view->font_scale = 1;
    view->panel = -1;
    view->theme = 1;
    view->lesson = lesson;
    view->step = step + 1;
    view->lesson_seed = lessons->seed;
    view->lessons_folder = lessons->options->lessons;
    view->shelf = &lessons->shelf;
    view->screenshot = path; /* of the stage alone: crop is 0 */
    enum fa_status status = cli_view_lessons_open(view, false, error);
    if (status == FA_OK)
        status = cli_view_screenshot(view, error);
    cli_view_lessons_close(view);
    free(view);
    return status;
}
#endif

#else

static enum fa_status no_canvas(struct fa_error *error)
{
    return fa_fail(error, FA_MISSING_PART,
                   "this build has no SDL2, so it draws nothing: install SDL2's development package "
                   "and build again; --describe works without it");
}

enum fa_status cli_view_screenshot(struct cli_view *view, struct fa_error *error)
{
    (void)view;
    return no_canvas(error);
}

enum fa_status cli_view_record(struct cli_view *view, struct fa_error *error)
{
    (void)view;
    return no_canvas(error);
}

enum fa_status cli_view_lesson_print(const struct cli_lessons *lessons, int lesson, int step,
                                     const char *path, struct fa_error *error)
{
    (void)lessons, (void)lesson, (void)step, (void)path;
    return no_canvas(error);
}

#endif
