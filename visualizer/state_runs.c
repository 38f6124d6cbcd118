#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "visualizer/player_parts.h"

enum { NOTE_MILLISECONDS = 4000, PUMP_MILLISECONDS = 50 };

void view_state_note(struct view_state *state, const char *text)
{
    snprintf(state->frame.note, sizeof state->frame.note, "%s", text);
    state->note_left = NOTE_MILLISECONDS;
    state->dirty = true;
}

void view_state_reset_view(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    frame->at[0] = frame->at[1] = (struct view_position){0, 0};
    frame->playing = false;
    frame->cell.on = false;
    frame->track_first = frame->track_end = 0;
    frame->mark_a = frame->mark_b = UINT64_MAX;
    frame->zoom = 1;
    frame->zoom_x = frame->zoom_y = 0.5f;
    frame->scroll = 0;
    frame->old = false;
    frame->progress = -1;
    state->step_target = UINT64_MAX;
    state->cell_cursor = false;
    state->plot_on = false;
    frame->tiles = (struct view_tiles_tried){0};
    state->dirty = true;
    if (frame->run[0])
        view_state_follow(state, 0);
}

static void copy_options(struct view_option to[VIEW_MOST_OPTIONS], int *n_to,
                         const struct view_option *from, int n)
{
    *n_to = n < VIEW_MOST_OPTIONS ? n : VIEW_MOST_OPTIONS;
    if (*n_to > 0 && from != to)
        memcpy(to, from, (size_t)*n_to * sizeof *to);
}

/* A refusal is a run: it is shown, with what would fit. */
static void tell_refusal(struct view_state *state)
{
    const char *why = view_run_refusal(state->frame.run[0]);
    if (why)
        view_state_note(state, why);
}

void view_state_show(struct view_state *state, struct view_run *run,
                     const struct view_option *options, int n_options, struct view_run *second,
                     const struct view_option *second_options, int n_second)
{
    struct view_frame *frame = &state->frame;
    if (frame->run[0] != run)
        view_run_close(frame->run[0]);
    if (frame->run[1] != second)
        view_run_close(frame->run[1]);
    frame->run[0] = run;
    frame->run[1] = second;
    copy_options(frame->options, &frame->n_options, options, n_options);
    copy_options(frame->second_options, &frame->n_second, second_options, n_second);
    frame->message = (struct view_message){0};
    if (second)
        frame->panel = VIEW_PANEL_TRAFFIC;
    view_state_reset_view(state);
    tell_refusal(state);
}

void view_state_fail(struct view_state *state, const struct fa_error *error)
{
    struct view_message *message = &state->frame.message;
    snprintf(message->title, sizeof message->title, "%s",
             error->status == FA_DOES_NOT_FIT ? "It does not fit" : "This cannot be run");
    snprintf(message->text, sizeof message->text, "%s", error->text);
    message->button[0] = '\0';
    message->remedy = VIEW_REMEDY_NONE;
    if (state->frame.run[0]) {
        snprintf(message->button, sizeof message->button, "Back to the run before");
        message->remedy = VIEW_REMEDY_FIRST;
    }
    state->dirty = true;
}

static double now_milliseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static bool watch_run(void *context, double done)
{
    struct view_state *state = context;
    double now = now_milliseconds();
    if (state->cancelled)
        return false;
    if (!state->pump || now - state->pump_time < PUMP_MILLISECONDS)
        return true;
    state->pump_time = now;
    state->frame.progress = done;
    state->dirty = true;
    state->cancelled = !state->pump(state->pump_context);
    return !state->cancelled;
}

struct fa_watch view_state_watch(struct view_state *state)
{
    state->cancelled = false;
    state->pump_time = now_milliseconds();
    state->frame.old = state->frame.run[0] != NULL;
    state->frame.playing = false;
    return (struct fa_watch){watch_run, state};
}

void view_state_run_failed(struct view_state *state, const struct fa_error *error)
{
    state->frame.old = false;
    state->frame.progress = -1;
    if (error->status == FA_CANCELLED)
        view_state_note(state, "Stopped: this is the run before.");
    else
        view_state_fail(state, error);
}

/* The runs of the options as they are now, of two where two are compared; all or none. */
static enum fa_status open_runs(struct view_state *state, struct view_run *runs[2],
                                struct view_option options[2][VIEW_MOST_OPTIONS], int n[2],
                                struct fa_error *error)
{
    struct view_frame *frame = &state->frame;
    struct fa_watch watch = view_state_watch(state);
    enum fa_status status = FA_OK;
    for (int which = 0; which < 2 && status == FA_OK; which++) {
        if (which == 1 && !frame->run[1])
            break;
        copy_options(options[which], &n[which], frame->options, frame->n_options);
        status = state->host.open_run(state->host.context, which, options[which], &n[which],
                                      state->blocks, &watch, &runs[which], error);
    }
    if (status != FA_OK)
        view_run_close(runs[0]);
    return status;
}

void view_state_rerun(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    struct view_option options[2][VIEW_MOST_OPTIONS];
    struct view_run *runs[2] = {NULL, NULL};
    struct fa_error error = {FA_OK, ""};
    int n[2] = {0, 0};
    bool ended = frame->run[0] && frame->at[0].landed >= view_run_length(frame->run[0]);
    enum view_panel panel = frame->panel;

    if (!state->host.open_run)
        return;
    if (open_runs(state, runs, options, n, &error) != FA_OK) {
        view_state_run_failed(state, &error);
        return;
    }
    view_state_show(state, runs[0], options[0], n[0], runs[1], options[1], n[1]);
    frame->panel = panel;
    if (state->blocks && !view_run_header(runs[0])->problem.blocks) {
        free(state->blocks);
        state->blocks = NULL;
    }
    if (ended) /* who looked at the end sees the new end */
        view_state_seek(state, (struct view_position){view_run_length(runs[0]), 0});
    view_player_ran(state);
}

void view_state_choose(struct view_state *state, int chip, const char *value)
{
    struct view_frame *frame = &state->frame;
    if (chip < 0 || chip >= frame->n_options)
        return;
    struct view_option *option = &frame->options[chip];
    struct view_option before = *option;
    frame->open_chip = -1;
    if (strcmp(option->value, value) == 0) {
        state->dirty = true;
        return;
    }
    /* Other tiles or another N: what was painted no longer fits. */
    free(state->blocks);
    state->blocks = NULL;
    snprintf(option->value, sizeof option->value, "%s", value);
    struct view_run *old = frame->run[0];
    view_state_rerun(state);
    if (frame->run[0] == old)
        frame->options[chip] = before;
}

void view_state_try_tiles(struct view_state *state, int64_t br, int64_t bc)
{
    struct view_tiles_tried *tiles = &state->frame.tiles;
    const struct sim_experiment *experiment = view_run_experiment(state->frame.run[0]);
    if (!experiment || (tiles->br == br && tiles->bc == bc))
        return;
    enum fa_status status = view_tiles_count(experiment, br, bc, &tiles->moved, NULL);
    tiles->br = br;
    tiles->bc = bc;
    tiles->outcome = status == FA_OK             ? VIEW_TRIED_COUNTED
                     : status == FA_DOES_NOT_FIT ? VIEW_TRIED_REFUSED
                     : status == FA_TOO_LARGE    ? VIEW_TRIED_LARGE
                                                 : VIEW_TRIED_FAILED;
    if (status == FA_OK && (tiles->best_br == 0 || tiles->moved.elements < tiles->best.elements)) {
        tiles->best_br = br;
        tiles->best_bc = bc;
        tiles->best = tiles->moved;
    }
}

/* The best of those that were tried stays: the problem is the same. */
void view_state_take_tiles(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    struct view_tiles_tried tiles = frame->tiles;
    char value[64];
    if (tiles.br == 0)
        return;
    snprintf(value, sizeof value, "%lldx%lld", (long long)tiles.br, (long long)tiles.bc);
    view_state_choose(state, view_tiles_chip(frame), value);
    frame->tiles = tiles;
    frame->tiles.br = frame->tiles.bc = 0;
}

void view_state_remedy(struct view_state *state, enum view_remedy remedy)
{
    struct view_frame *frame = &state->frame;
    frame->message = (struct view_message){0};
    state->dirty = true;
    if (remedy == VIEW_REMEDY_TILES)
        for (int i = 0; i < frame->n_options; i++)
            if (strcmp(frame->options[i].name, "tiles") == 0)
                view_state_choose(state, i, "square");
    if (remedy == VIEW_REMEDY_RUN_AGAIN)
        view_state_rerun(state);
}

/* ---- the plot -------------------------------------------------------------------------------- */

bool view_state_plot_wanted(const struct view_state *state)
{
    const struct view_frame *frame = &state->frame;
    bool shown = frame->stage == VIEW_STAGE_PLOT ||
                 (frame->panel_open && frame->chrome_open &&
                  (frame->panel == VIEW_PANEL_PLOT || frame->second_panel == VIEW_PANEL_PLOT));
    return frame->run[0] && shown && (!state->plot_on || state->plot.done < state->plot.in_all);
}

void view_state_plot_step(struct view_state *state)
{
    if (!state->plot_on) {
        const struct sim_experiment *experiment = view_run_experiment(state->frame.run[0]);
        if (experiment)
            view_plot_start(experiment, state->plot.axis, &state->plot);
        state->plot_on = true;
    } else {
        view_plot_step(&state->plot);
    }
    state->dirty = true;
}
