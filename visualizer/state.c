#include "visualizer/lesson_view.h"
#include "visualizer/player_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fa_status view_state_open(const struct view_host *host, const struct view_face *face,
                               float width, float height, struct view_state **state,
                               struct fa_error *error)
{
    struct view_state *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the window's state");
    fresh->host = *host;
    fresh->step_target = UINT64_MAX;
    fresh->haste = 1;
    fresh->frame = (struct view_frame){
        .width = width, .height = height, .theme = &view_dark, .panel = VIEW_PANEL_CODE,
        .second_panel = VIEW_PANEL_TRAFFIC, /* In a small window the panel would be all there is. */
        .panel_open = width >= 640 && height >= 480, .chrome_open = true,
        .bytes = true, .zoom = 1, .zoom_x = 0.5f, .zoom_y = 0.5f, .mark_a = UINT64_MAX,
        .mark_b = UINT64_MAX, .pointer_x = -1, .pointer_y = -1, .focus = -1, .open_chip = -1,
        .progress = -1, .title = "Explore",
    };
    view_draw_open(&fresh->draw, face, fresh->frame.theme);
    fresh->dirty = true;
    *state = fresh;
    return FA_OK;
}

void view_state_close(struct view_state *state)
{
    if (!state)
        return;
    for (int which = 0; which < 2; which++)
        view_run_close(state->frame.run[which]);
    view_draw_close(&state->draw);
    view_player_close(state->player);
    free(state->blocks);
    free(state);
}

struct view_frame *view_state_frame(struct view_state *state)
{
    state->dirty = true;
    return &state->frame;
}

const struct view_draw *view_state_draw(struct view_state *state)
{
    if (state->dirty) {
        struct view_frame *frame = &state->frame;
        frame->plot = state->plot_on ? &state->plot : NULL;
        frame->blocks = state->blocks;
        frame->edit_text = frame->open_chip >= 0 || frame->go_open ? state->edit : NULL;
        frame->pressed = state->pressed;
        view_scene(&state->draw, frame);
        state->dirty = false;
    }
    return &state->draw;
}

void view_state_set_pump(struct view_state *state, bool (*pump)(void *context), void *context)
{
    state->pump = pump;
    state->pump_context = context;
}

/* "FlashLab: 4  Tiling, step 5 of 9", "FlashLab: the race", or false. */
static bool lesson_title(struct view_state *state)
{
    static const char *const pages[] = {[VIEW_PAGE_CONTENTS] = "the lessons",
                                        [VIEW_PAGE_RACE] = "the race",
                                        [VIEW_PAGE_GLOSSARY] = "the words"};
    const struct view_lesson *view = state->frame.lesson;
    if (!view || (!view->lesson && view->page == VIEW_PAGE_STAGE))
        return false;
    if (view->page != VIEW_PAGE_STAGE)
        snprintf(state->title, sizeof state->title, "FlashLab: %s", pages[view->page]);
    else if (view->step >= view->lesson->n_steps)
        snprintf(state->title, sizeof state->title, "FlashLab: %s, the end", state->frame.title);
    else
        snprintf(state->title, sizeof state->title, "FlashLab: %s, step %d of %d",
                 state->frame.title, view->step + 1, view->lesson->n_steps);
    return true;
}

const char *view_state_title(struct view_state *state)
{
    const struct view_frame *frame = &state->frame;
    if (lesson_title(state))
        return state->title;
    if (!frame->run[0]) {
        snprintf(state->title, sizeof state->title, "FlashLab");
        return state->title;
    }
    const char *name = view_run_header(frame->run[0])->algorithm->name;
    uint64_t landed = frame->at[0].landed, length = view_run_length(frame->run[0]);
    if (landed == 0)
        snprintf(state->title, sizeof state->title, "FlashLab: %s, start", name);
    else if (landed >= length)
        snprintf(state->title, sizeof state->title, "FlashLab: %s, end of %s events", name,
                 SIM_GROUPED(length));
    else
        snprintf(state->title, sizeof state->title, "FlashLab: %s, event %s of %s", name,
                 SIM_GROUPED(landed - 1), SIM_GROUPED(length));
    return state->title;
}

bool view_state_quits(const struct view_state *state)
{
    return state->quits;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* The run whose clock is followed: of two, the one that has the longer way on the common clock. */
const struct view_run *view_state_leader(const struct view_state *state, int *which)
{
    const struct view_frame *frame = &state->frame;
    *which = frame->run[1] && view_work_in_all(frame->run[1], frame->clock) >
                                  view_work_in_all(frame->run[0], frame->clock);
    return frame->run[*which];
}

void view_state_follow(struct view_state *state, int leader)
{
    view_frame_follow(&state->frame, leader);
}

static bool is_past(struct view_position at, struct view_position most)
{
    return at.landed > most.landed || (at.landed == most.landed && at.flight > most.flight);
}

void view_state_place(struct view_state *state, int which, struct view_position at)
{
    struct view_frame *frame = &state->frame;
    uint64_t length = view_run_length(frame->run[which]);
    struct view_position most;
    if (at.landed >= length)
        at = (struct view_position){length, 0};
    frame->at[which] = at;
    view_state_follow(state, which);
    if (view_player_bound(state, &most) && is_past(frame->at[0], most)) {
        frame->at[0] = most;
        view_state_follow(state, 0);
        frame->playing = false;
        state->step_target = UINT64_MAX;
        view_state_note(state, "What comes next would answer the question.");
    }
    state->dirty = true;
}

void view_state_seek(struct view_state *state, struct view_position position)
{
    if (!state->frame.run[0])
        return;
    state->step_target = UINT64_MAX;
    view_state_place(state, 0, position);
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool at_end(const struct view_state *state, int which)
{
    return state->frame.at[which].landed >= view_run_length(state->frame.run[which]);
}

/* Playing goes on from A once it has reached B. */
static bool loop_back(struct view_state *state, int which)
{
    struct view_frame *frame = &state->frame;
    if (which != 0 || frame->mark_a == UINT64_MAX || frame->mark_b == UINT64_MAX ||
        frame->mark_a >= frame->mark_b || frame->at[0].landed < frame->mark_b)
        return false;
    view_state_place(state, 0, (struct view_position){frame->mark_a, 0});
    return true;
}

/* Two runs at the same bandwidth: the bytes, not the events, pass evenly. */
static struct view_position race_on(const struct view_frame *frame, int which, double milliseconds)
{
    static const double race_milliseconds = 30000;
    const struct view_run *run = frame->run[which];
    double in_all = view_work_in_all(run, frame->clock);
    double work = view_work_of(run, frame->at[which], frame->clock) +
                  in_all * milliseconds / race_milliseconds;
    return work >= in_all ? (struct view_position){view_run_length(run), 0}
                          : view_at_work(run, work, frame->clock);
}

static void play(struct view_state *state, double milliseconds)
{
    struct view_frame *frame = &state->frame;
    int which;
    const struct view_run *run = view_state_leader(state, &which);
    bool race = frame->run[1] && frame->clock == VIEW_SAME_TRAFFIC && frame->speed == VIEW_AUTO;
    struct view_position at =
        race ? race_on(frame, which, milliseconds)
             : view_clock_advance(run, frame->at[which], frame->speed, milliseconds * state->haste);
    frame->rate = view_clock_rate(run, at, frame->speed) * (float)state->haste;
    view_state_place(state, which, at);
    if (!loop_back(state, which) && at_end(state, which))
        frame->playing = false;
}

/* A step forward by one event is seen: it flies at speed 1 and stays landed. */
static void step_on(struct view_state *state, double milliseconds)
{
    int which;
    const struct view_run *run = view_state_leader(state, &which);
    struct view_position at =
        view_clock_advance(run, state->frame.at[which], VIEW_ONE, milliseconds);
    if (at.landed >= state->step_target) {
        at = (struct view_position){state->step_target, 0};
        state->step_target = UINT64_MAX;
    }
    view_state_place(state, which, at);
}

bool view_state_tick(struct view_state *state, double milliseconds)
{
    struct view_frame *frame = &state->frame;
    if (!(milliseconds > 0))
        return false;
    bool fades = state->fade_left > 0; /* the same frame looks different: less of the one before */
    if (fades)
        state->fade_left -= milliseconds;
    if (state->note_left > 0) {
        state->note_left -= milliseconds;
        if (state->note_left <= 0) {
            frame->note[0] = '\0';
            state->dirty = true;
        }
    }
    if (frame->run[0] && frame->playing)
        play(state, milliseconds);
    else if (frame->run[0] && state->step_target != UINT64_MAX)
        step_on(state, milliseconds);
    else if (frame->rate > 0) {
        frame->rate = 0;
        state->dirty = true;
    }
    view_player_tick(state);
    if (view_state_plot_wanted(state))
        view_state_plot_step(state);
    return state->dirty || fades;
}

double view_state_fade(const struct view_state *state)
{
    return state->fade_left > 0 ? state->fade_left / VIEW_FADE_MILLISECONDS : 0;
}

void view_state_settle(struct view_state *state)
{
    view_player_settle(state);
    state->frame.playing = false;
    state->frame.note[0] = '\0';
    state->note_left = state->fade_left = 0;
    state->step_target = UINT64_MAX;
    state->dirty = true;
}

bool view_state_idle(const struct view_state *state)
{
    return !state->dirty && !state->frame.playing && state->step_target == UINT64_MAX &&
           state->note_left <= 0 && state->fade_left <= 0 && !view_state_plot_wanted(state) &&
           !view_player_thumbs_wanted(state);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool resize(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    frame->width = input->x > 1 ? input->x : 1;
    frame->height = input->y > 1 ? input->y : 1;
    state->dirty = true;
    return true;
}

static bool drop(struct view_state *state, const struct view_input *input)
{
    struct fa_error error = {FA_OK, ""};
    struct view_frame *frame = &state->frame;
    if (!state->host.take_file)
        return false;
    if (state->host.take_file(state->host.context, input->path, frame->options, &frame->n_options,
                              &error) != FA_OK)
        view_state_note(state, error.text);
    else
        view_state_rerun(state);
    return true;
}

bool view_state_take(struct view_state *state, const struct view_input *input)
{
    switch (input->kind) {
    case VIEW_INPUT_KEY:
        return view_state_key(state, input);
    case VIEW_INPUT_RESIZE:
        return resize(state, input);
    case VIEW_INPUT_DROP:
        return drop(state, input);
    case VIEW_INPUT_QUIT:
        state->quits = true;
        return false;
    default:
        return view_state_pointer(state, input);
    }
}
