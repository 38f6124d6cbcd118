/* The window of `flashlab view`: what its state asks of the program. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simulator/cli/view_lessons.h"
#include "visualizer/clock.h"

#ifdef FLASHLAB_HAVE_CANVAS

#include "visualizer/canvas.h"

/* The next name of the row that is not taken: nothing is overwritten. */
static void free_name(char *path, size_t size, const char *ending)
{
    for (int n = 1; n < 10000; n++) {
        snprintf(path, size, "flashlab-%d.%s", n, ending);
        if (access(path, F_OK) != 0)
            return;
    }
}

static enum fa_status save_picture(void *context, const struct view_frame *frame, char note[160],
                                   struct fa_error *error)
{
    char path[64];
    free_name(path, sizeof path, "png");
    enum fa_status status = cli_view_save_frame(context, frame, path, error);
    if (status == FA_OK)
        snprintf(note, 160, "Saved %s (%d x %d).", path, (int)frame->width, (int)frame->height);
    return status;
}

static enum fa_status save_movie(void *context, const struct view_frame *frame, uint64_t from,
                                 uint64_t to, char note[160], struct fa_error *error)
{
    char path[64];
    struct sigaction before;
    free_name(path, sizeof path, "gif");
    sigaction(SIGINT, NULL, &before); /* the bar takes Ctrl-C, and the window gets it back */
    enum fa_status status = cli_view_save_events(context, frame, from, to, path, error);
    sigaction(SIGINT, &before, NULL);
    if (status == FA_OK)
        snprintf(note, 160, "Saved %s, events %llu to %llu.", path, (unsigned long long)from,
                 (unsigned long long)(to ? to - 1 : 0));
    return status;
}

static enum fa_status open_run(void *context, int which, struct view_option *options,
                               int *n_options, const uint8_t *blocks, const struct fa_watch *watch,
                               struct view_run **run, struct fa_error *error)
{
    struct cli_view *view = context;
    enum fa_status status =
        cli_view_change(&view->runs, which, options, n_options, blocks, watch, run, error);
    if (status == FA_OK && which == 0)
        cli_view_lessons_painted(view, *run, blocks);
    return status;
}

static enum fa_status take_file(void *context, const char *path, struct view_option *options,
                                int *n_options, struct fa_error *error)
{
    struct cli_view *view = context;
    return cli_view_take_file(&view->runs, path, options, n_options, error);
}

static enum fa_status start(void *context, const struct view_face *face, float width, float height,
                            struct view_state **state, struct fa_error *error)
{
    struct cli_view *view = context;
    struct cli_view_scene *scene = &view->scene;
    struct view_position at = {0, 0};
    struct fa_error inner;
    const struct view_host host = {.open_run = open_run, .save_picture = save_picture,
                                   .save_movie = save_movie, .take_file = take_file,
                                   .context = view};
    if (view->at && scene->run[0] &&
        view_position_parse(scene->run[0], view->at, &at, &inner) != FA_OK)
        return fa_fail(error, inner.status, "--at: %s", inner.text);
    enum fa_status status = view_state_open(&host, face, width, height, state, error);
    if (status != FA_OK)
        return status;
    if (scene->run[0])
        view_state_show(*state, scene->run[0], scene->options[0], scene->n_options[0],
                        scene->run[1], scene->options[1], scene->n_options[1]);
    cli_view_frame_options(view, view_state_frame(*state));
    if (scene->run[0])
        view_state_seek(*state, at);
    scene->run[0] = scene->run[1] = NULL; /* the state's from here on */
    status = cli_view_lessons_start(view, *state, error);
    if (status != FA_OK && view_state_frame(*state)->lesson)
        return FA_OK; /* the window tells it, and has other lessons */
    if (status != FA_OK) {
        view_state_close(*state);
        *state = NULL;
    }
    return status;
}

enum fa_status cli_view_window_check(struct fa_error *error)
{
    const char *why = "";
    if (view_window_possible(&why))
        return FA_OK;
    return fa_fail(error, FA_MISSING_PART,
                   "no window can be opened: %s; --screenshot F.png, --record F.gif and --describe "
                   "work without one, and so do flashlab tour and flashlab lesson play 0", why);
}

enum fa_status cli_view_window(struct cli_view *view, struct fa_error *error)
{
    const struct view_window_options options = {
        .width = view->width,
        .height = view->height,
        .font_scale = (float)view->font_scale,
        .gives_way = view->present && !cli_given(&view->problem.base, "font-scale"),
        .title = "FlashLab",
        .font = view->font == 0 ? VIEW_FONT_SYSTEM : VIEW_FONT_BUILTIN,
        .start = start,
        .context = view,
    };
    struct sigaction action;
    /* The bar of the run has taken Ctrl-C, which is to close the window. */
    if (sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        signal(SIGINT, SIG_DFL);
    return view_window_run(&options, error);
}

#else

enum fa_status cli_view_window_check(struct fa_error *error)
{
    return fa_fail(error, FA_MISSING_PART,
                   "this build has no SDL2, so it opens no window: install SDL2's development "
                   "package and build again; --describe works without it");
}

enum fa_status cli_view_window(struct cli_view *view, struct fa_error *error)
{
    (void)view;
    return cli_view_window_check(error);
}

#endif
