#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/player_parts.h"

/* Forward by one event is seen to happen; everything else shows where it leads. */
static void step(struct view_state *state, enum view_step_by by, int direction)
{
    struct view_frame *frame = &state->frame;
    int which;
    if (!frame->run[0])
        return;
    const struct view_run *run = view_state_leader(state, &which);
    uint64_t landed = frame->at[which].landed;
    bool in_flight = frame->at[which].flight > 0;
    frame->playing = false;
    /* In flight, a step lands the event, or takes it back. */
    uint64_t target = in_flight && direction < 0 ? landed : view_step(run, landed, by, direction);
    bool seen = by == VIEW_BY_EVENT && direction > 0 && !in_flight && !frame->reduced_motion &&
                target > landed;
    state->step_target = UINT64_MAX;
    if (seen) {
        state->step_target = target;
    } else {
        view_state_place(state, which, (struct view_position){target, 0});
        if (direction < 0 && (in_flight || target < landed))
            state->fade_left = VIEW_FADE_MILLISECONDS;
    }
    state->dirty = true;
}

static void play_or_pause(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    int which;
    if (!frame->run[0])
        return;
    const struct view_run *run = view_state_leader(state, &which);
    state->step_target = UINT64_MAX;
    if (!frame->playing && frame->at[which].landed >= view_run_length(run))
        view_state_seek(state, (struct view_position){0, 0});
    frame->playing = !frame->playing;
    state->dirty = true;
}

static void go(struct view_state *state, uint64_t landed)
{
    state->frame.playing = false;
    view_state_seek(state, (struct view_position){landed, 0});
}

static void zoom(struct view_state *state, int64_t direction)
{
    struct view_frame *frame = &state->frame;
    const double most = 64;
    if (direction == 0) {
        frame->zoom = 1;
        frame->zoom_x = frame->zoom_y = 0.5f;
        return;
    }
    double factor = direction > 0 ? 1.25 : 0.8;
    frame->zoom *= factor;
    if (frame->zoom < 1.01)
        zoom(state, 0);
    if (frame->zoom > most)
        frame->zoom = most;
}

/* A tile of the mask editor changes; all were visited, unless some were painted or given before. */
static void paint(struct view_state *state, int64_t tile)
{
    struct view_run *run = state->frame.run[0];
    int64_t tr = view_run_tr(run), tc = view_run_tc(run);
    const struct fa_block_mask *given = view_run_header(run)->problem.blocks;
    if (tile < 0 || tile >= tr * tc)
        return;
    if (!state->blocks) {
        state->blocks = malloc((size_t)(tr * tc));
        if (!state->blocks)
            return;
        if (given && given->rows == tr && given->columns == tc)
            memcpy(state->blocks, given->visit, (size_t)(tr * tc));
        else
            memset(state->blocks, 1, (size_t)(tr * tc));
    }
    if (state->held != VIEW_BLOCK) /* the first tile of a stroke says what the stroke paints */
        state->paint = !state->blocks[tile];
    state->blocks[tile] = state->paint;
}

static void save(struct view_state *state, bool movie)
{
    struct view_frame *frame = &state->frame;
    struct fa_error error = {FA_OK, ""};
    char note[sizeof frame->note] = "";
    enum fa_status status = FA_UNSUPPORTED;
    frame->note[0] = '\0'; /* an earlier note is no part of the picture */
    if (movie && state->host.save_movie && frame->run[0]) {
        uint64_t from = frame->mark_a, to = frame->mark_b;
        if (from == UINT64_MAX || to == UINT64_MAX || from >= to) {
            struct view_unit unit = view_run_unit(
                frame->run[0], view_run_unit_of(frame->run[0], frame->at[0].landed));
            from = unit.first;
            to = unit.end;
        }
        status = state->host.save_movie(state->host.context, frame, from, to, note, &error);
    } else if (!movie && state->host.save_picture) {
        status = state->host.save_picture(state->host.context, frame, note, &error);
    }
    view_state_note(state, status == FA_OK ? note : error.text);
}

static void choose_stage(struct view_state *state, int64_t stage)
{
    state->frame.stage = (enum view_stage)((stage + VIEW_STAGES) % VIEW_STAGES);
    state->frame.stages_open = false;
    state->frame.cell.on = false;
}

static void choose_panel(struct view_state *state, int64_t panel)
{
    struct view_frame *frame = &state->frame;
    if (panel < 0) {
        frame->panel_open = false;
        return;
    }
    /* 16 and up: the second panel's tabs. What the other panel shows changes places with it. */
    enum view_panel first = frame->panel, second = view_second_panel(frame);
    if (panel >= VIEW_SECOND_PANEL)
        frame->second_panel = (enum view_panel)(panel - VIEW_SECOND_PANEL);
    else
        frame->panel = (enum view_panel)panel;
    if (frame->panel == frame->second_panel && panel >= VIEW_SECOND_PANEL)
        frame->panel = second;
    else if (frame->panel == frame->second_panel)
        frame->second_panel = first;
    frame->panel_open = true;
    frame->scroll = 0;
}

static void choose_chip_value(struct view_state *state, int64_t index)
{
    struct view_frame *frame = &state->frame;
    if (frame->open_chip < 0)
        return;
    const char *const *choices = frame->options[frame->open_chip].choices;
    for (int64_t i = 0; choices && choices[i]; i++)
        if (i == index) {
            view_state_choose(state, frame->open_chip, choices[i]);
            return;
        }
}

static void choose_speed(struct view_state *state, int64_t value)
{
    if (value >= 0)
        state->frame.speed = (enum view_speed)value;
    state->frame.speed_open = value < 0 && !state->frame.speed_open;
}

/* What only looks at the run in another way. */
static bool look(struct view_state *state, enum view_action action, int64_t value)
{
    struct view_frame *frame = &state->frame;
    switch (action) {
    case VIEW_STEP_BY:
        frame->step_by = (enum view_step_by)value;
        return true;
    case VIEW_SPEED:
        choose_speed(state, value);
        return true;
    case VIEW_PANEL:
        choose_panel(state, value);
        return true;
    case VIEW_STAGE:
        choose_stage(state, value);
        return true;
    case VIEW_COMPARE_CLOCK:
        frame->clock = (enum view_clock_kind)value;
        view_state_follow(state, 0);
        return true;
    case VIEW_THEME:
        frame->theme = frame->theme->dark ? &view_light : &view_dark;
        return true;
    case VIEW_HELP:
        frame->help_open = !frame->help_open;
        frame->scroll = 0;
        return true;
    case VIEW_UNITS:
        frame->bytes = !frame->bytes;
        return true;
    case VIEW_HEADS:
        frame->all_heads = !frame->all_heads;
        return true;
    case VIEW_ZOOM:
        zoom(state, value);
        return true;
    case VIEW_CODE_TEXT:
        frame->c_code = value != 0;
        frame->scroll = 0;
        return true;
    case VIEW_CONTENTS:
        frame->stages_open = !frame->stages_open;
        return true;
    case VIEW_CELL:
        frame->cell = view_cell_unpack(value);
        return true;
    case VIEW_AXIS:
        state->plot.axis = (enum view_plot_axis)value;
        state->plot_on = false;
        return true;
    default:
        return false;
    }
}

void view_state_do(struct view_state *state, enum view_action action, int64_t value)
{
    struct view_frame *frame = &state->frame;
    state->dirty = true;
    if (view_player_do(state, action, value) || look(state, action, value))
        return;
    switch (action) {
    case VIEW_SAVE:
        save(state, value != 0);
        return;
    case VIEW_GO_TO:
        view_state_open_field(state, -1);
        return;
    case VIEW_CHIP:
        view_state_open_field(state, frame->open_chip == (int)value ? -2 : (int)value);
        return;
    case VIEW_CHIP_VALUE:
        choose_chip_value(state, value);
        return;
    case VIEW_CLOSE:
        view_state_close_all(state);
        return;
    case VIEW_RETRY:
        view_state_remedy(state, (enum view_remedy)value);
        return;
    default:
        break;
    }
    if (!frame->run[0])
        return;
    switch (action) {
    case VIEW_PLAY:
        play_or_pause(state);
        break;
    case VIEW_GO:
        go(state, (uint64_t)value);
        break;
    case VIEW_STEP_EVENT:
        step(state, VIEW_BY_EVENT, (int)value);
        break;
    case VIEW_STEP_TILE:
        step(state, VIEW_BY_TILE, (int)value);
        break;
    case VIEW_STEP_ROW:
        step(state, VIEW_BY_ROW, (int)value);
        break;
    case VIEW_STEP_PHASE:
        step(state, VIEW_BY_PHASE, (int)value);
        break;
    case VIEW_HOME:
        go(state, 0);
        break;
    case VIEW_END:
        go(state, view_run_length(frame->run[0]));
        break;
    case VIEW_BLOCK:
        paint(state, value);
        break;
    case VIEW_TILES_DRAG:
        view_state_open_field(state, view_tiles_chip(frame));
        break;
    default:
        break;
    }
}
