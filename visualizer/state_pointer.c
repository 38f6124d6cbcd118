#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/lesson_view.h"
#include "visualizer/player_parts.h"

static const struct view_hit *under(struct view_state *state, float x, float y)
{
    return view_hit_at(view_state_draw(state), x, y);
}

/* Scrubbing lands on the borders of tiles, with Shift on events. */
static void scrub(struct view_state *state, float x)
{
    struct view_frame *frame = &state->frame;
    struct view_scene scene;
    if (!frame->run[0])
        return;
    frame->playing = false;
    view_scene_make(&scene, frame);
    if (frame->run[1]) {
        int which;
        const struct view_run *run = view_state_leader(state, &which);
        double share = view_track_share(&scene, x);
        struct view_position at = view_at_work(run, share * frame->work_in_all, frame->clock);
        view_state_place(state, which, (struct view_position){at.landed, 0});
        return;
    }
    uint64_t landed = view_track_event(&scene, x);
    if (!state->shift_held && landed > 0 && landed < view_run_length(frame->run[0])) {
        uint64_t before = view_step(frame->run[0], landed + 1, VIEW_BY_TILE, -1);
        uint64_t after = view_step(frame->run[0], landed, VIEW_BY_TILE, 1);
        if (before <= landed)
            landed = landed - before < after - landed ? before : after;
    }
    view_state_seek(state, (struct view_position){landed, 0});
}

/* A page of lessons stands in the stage's place. */
static bool page_is_open(const struct view_frame *frame)
{
    return frame->lesson && frame->lesson->page != VIEW_PAGE_STAGE;
}

/* The cell under the pointer on the cross; nothing is there below a popup. */
static void hover(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    struct view_cell cell = {0};
    struct view_scene scene;
    bool popup = frame->help_open || frame->speed_open || frame->stages_open || frame->open_chip >= 0;
    if (state->cell_cursor)
        return;
    if (frame->run[0] && !page_is_open(frame) && frame->stage == VIEW_STAGE_CROSS && !popup && frame->pointer_x >= 0 &&
        frame->message.title[0] == '\0') {
        view_scene_make(&scene, frame);
        if (!view_cell_at(&scene, frame->pointer_x, frame->pointer_y, &cell))
            cell.on = false;
    }
    frame->cell = cell;
}

static void paint_under(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    struct view_scene scene;
    int64_t row, column;
    view_scene_make(&scene, frame);
    if (view_mask_tile_at(&scene, frame->pointer_x, frame->pointer_y, &row, &column))
        view_state_do(state, VIEW_BLOCK, row * view_run_tc(frame->run[0]) + column);
}

/* The corner of the tiles follows the pointer, from where it was gripped. */
static void drag_tiles(struct view_state *state)
{
    const struct view_frame *frame = &state->frame;
    struct view_scene scene;
    int64_t br, bc;
    view_scene_make(&scene, frame);
    if (view_tiles_at(&scene, frame->pointer_x + state->grip_x, frame->pointer_y + state->grip_y,
                      &br, &bc))
        view_state_try_tiles(state, br, bc);
}

/* Pressed on the corner, it stays where it is; elsewhere, it comes there. */
static void grip_tiles(struct view_state *state, bool on_corner)
{
    const struct view_frame *frame = &state->frame;
    struct fa_tiles tiles = view_run_tiles(frame->run[0]);
    struct view_scene scene;
    float x, y;
    view_scene_make(&scene, frame);
    state->held = VIEW_TILES_DRAG;
    state->grip_x = state->grip_y = 0;
    if (on_corner && view_tiles_place(&scene, tiles.br, tiles.bc, &x, &y)) {
        state->grip_x = x - frame->pointer_x;
        state->grip_y = y - frame->pointer_y;
    }
    drag_tiles(state);
}

static bool move(struct view_state *state, float x, float y)
{
    struct view_frame *frame = &state->frame;
    frame->pointer_x = x;
    frame->pointer_y = y;
    if (state->held == VIEW_SCRUB)
        scrub(state, x);
    else if (state->held == VIEW_BLOCK)
        paint_under(state);
    else if (state->held == VIEW_TILES_DRAG)
        drag_tiles(state);
    else if (state->held == VIEW_LESSON_SLIDER)
        view_player_slide(state, state->scale, x);
    else
        hover(state);
    state->dirty = true;
    return true;
}

static bool anything_open(const struct view_frame *frame)
{
    return frame->help_open || frame->speed_open || frame->stages_open || frame->go_open ||
           frame->open_chip >= 0;
}

static bool press(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    move(state, input->x, input->y);
    const struct view_hit *hit = under(state, input->x, input->y);
    state->shift_held = input->shift;
    frame->focus = -1;
    state->cell_cursor = false;
    state->pressed = NULL;
    state->dirty = true;
    if (!hit) {
        /* A click beside what is open closes it; one on a cell keeps its card. */
        if (anything_open(frame))
            view_state_close_all(state);
        else if (frame->cell.on)
            state->cell_cursor = true;
        return true;
    }
    if (hit->off)
        return true;
    if (hit->action == VIEW_SCRUB) {
        state->held = VIEW_SCRUB;
        scrub(state, input->x);
    } else if (hit->action == VIEW_BLOCK) {
        paint_under(state);
        state->held = VIEW_BLOCK;
    } else if (hit->action == VIEW_TILES_DRAG) {
        grip_tiles(state, hit->label != NULL);
    } else if (hit->action == VIEW_LESSON_SLIDER || hit->action == VIEW_RACE_GUESS) {
        state->held = VIEW_LESSON_SLIDER;
        state->scale = hit->box;
        view_player_slide(state, state->scale, input->x);
    } else {
        snprintf(state->pressed_text, sizeof state->pressed_text, "%s",
                 hit->label ? hit->label : "");
        state->pressed = state->pressed_text;
    }
    return true;
}

/* A button acts when it is let go where it was pressed. */
static bool release(struct view_state *state, const struct view_input *input)
{
    enum view_action held = state->held;
    state->held = VIEW_NOTHING;
    if (held == VIEW_BLOCK)
        view_state_rerun(state);
    if (held == VIEW_TILES_DRAG)
        view_state_take_tiles(state);
    if (held != VIEW_NOTHING) {
        state->dirty = true;
        return true;
    }
    const struct view_hit *hit = under(state, input->x, input->y);
    bool same = state->pressed && hit && !hit->off &&
                strcmp(hit->label ? hit->label : "", state->pressed_text) == 0;
    enum view_action action = same ? hit->action : VIEW_NOTHING;
    int64_t value = same ? hit->value : 0;
    state->pressed = NULL;
    state->dirty = true;
    if (same)
        view_state_do(state, action, value);
    return true;
}

static void zoom_track(struct view_state *state, float x, float steps)
{
    struct view_frame *frame = &state->frame;
    struct view_scene scene;
    uint64_t length = view_run_length(frame->run[0]);
    view_scene_make(&scene, frame);
    uint64_t first = frame->track_first, end = frame->track_end ? frame->track_end : length;
    double here = (double)view_track_event(&scene, x), factor = steps > 0 ? 0.8 : 1.25;
    double from = here - (here - (double)first) * factor, to = here + ((double)end - here) * factor;
    if (to - from < 8)
        return;
    frame->track_first = from > 0 ? (uint64_t)from : 0;
    frame->track_end = to < (double)length ? (uint64_t)to : length;
    if (frame->track_first == 0 && frame->track_end == length)
        frame->track_end = 0;
}

static bool wheel(struct view_state *state, const struct view_input *input)
{
    struct view_frame *frame = &state->frame;
    struct view_layout layout;
    view_layout_make(frame, &layout);
    if (frame->help_open || page_is_open(frame) ||
        view_box_has(layout.panel, input->x, input->y) ||
        view_box_has(layout.second_panel, input->x, input->y)) {
        float most = view_state_draw(state)->scroll_most;
        frame->scroll = fminf(most, fmaxf(0, frame->scroll - 40 * input->wheel));
    } else if (frame->run[0] && !frame->run[1] && view_box_has(layout.track, input->x, input->y)) {
        zoom_track(state, input->x, input->wheel);
    } else if (view_box_has(layout.hbm[0], input->x, input->y)) {
        /* The place under the pointer comes nearer to the middle. */
        float px = (input->x - layout.hbm[0].x) / layout.hbm[0].w;
        float py = (input->y - layout.hbm[0].y) / layout.hbm[0].h;
        double before = frame->zoom;
        view_state_do(state, VIEW_ZOOM, input->wheel > 0 ? 1 : -1);
        if (frame->zoom > 1) {
            double shift = 1 / before - 1 / frame->zoom;
            frame->zoom_x = fminf(1, fmaxf(0, frame->zoom_x + (float)((px - 0.5) * shift)));
            frame->zoom_y = fminf(1, fmaxf(0, frame->zoom_y + (float)((py - 0.5) * shift)));
        }
    } else {
        return false;
    }
    state->dirty = true;
    return true;
}

bool view_state_pointer(struct view_state *state, const struct view_input *input)
{
    switch (input->kind) {
    case VIEW_INPUT_MOVE:
        return move(state, input->x, input->y);
    case VIEW_INPUT_PRESS:
        return press(state, input);
    case VIEW_INPUT_RELEASE:
        return release(state, input);
    case VIEW_INPUT_WHEEL:
        return wheel(state, input);
    case VIEW_INPUT_LEAVE:
        return state->held == VIEW_NOTHING && move(state, -1, -1);
    default:
        return false;
    }
}
