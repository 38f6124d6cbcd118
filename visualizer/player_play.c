/* Playing on to a place, at a pace that is no wait. */
#include "visualizer/clock.h"
#include "visualizer/player_parts.h"

enum { PLAY_MILLISECONDS = 6000, PLAY_MOST = 128000 };

/* How much faster than its own pace the run goes, so that a long way is no wait. */
static double haste_of(const struct view_state *state, struct view_position target)
{
    const struct view_run *run = state->frame.run[0];
    double time = PLAY_MILLISECONDS;
    while (time < PLAY_MOST &&
           view_clock_advance(run, state->frame.at[0], state->frame.speed, time).landed <
               target.landed)
        time *= 1.25;
    return time / PLAY_MILLISECONDS;
}

/* The panel is the whole page in small windows: while the stage plays, it is seen. */
static void give_way(struct view_state *state)
{
    struct view_layout layout;
    view_layout_make(&state->frame, &layout);
    if (!state->frame.panel_open || layout.stage.w > 0)
        return;
    state->frame.panel_open = false;
    state->player->opened_panel = true;
}

void view_player_play_to(struct view_state *state, const char *place)
{
    struct view_player *player = state->player;
    struct view_frame *frame = &state->frame;
    struct fa_error error;
    struct view_position target;
    player->plays_to = false;
    if (!place || !frame->run[0] ||
        view_position_parse(frame->run[0], place, &target, &error) != FA_OK) {
        view_player_done_playing(state);
        return;
    }
    bool ahead = target.landed > frame->at[0].landed ||
                 (target.landed == frame->at[0].landed && target.flight > frame->at[0].flight);
    if (!ahead || frame->reduced_motion) {
        view_player_seek(state, target);
        view_player_done_playing(state);
        return;
    }
    player->plays_to = true;
    player->target = target;
    state->haste = haste_of(state, target);
    state->step_target = UINT64_MAX;
    give_way(state);
    frame->playing = true;
    state->dirty = true;
}

/* The learner took over, or it has got there. */
static void stop_playing(struct view_state *state, bool arrive)
{
    struct view_player *player = state->player;
    player->plays_to = false;
    state->haste = 1;
    state->frame.playing = false;
    if (arrive)
        view_player_seek(state, player->target);
    if (player->opened_panel)
        state->frame.panel_open = true;
    player->opened_panel = false;
    state->dirty = true;
    view_player_done_playing(state);
}

void view_player_arrive(struct view_state *state)
{
    stop_playing(state, true);
}

void view_player_tick(struct view_state *state)
{
    struct view_player *player = state->player;
    const struct view_frame *frame = &state->frame;
    if (!player)
        return;
    view_player_race_tick(state);
    if (view_player_thumbs_wanted(state))
        view_player_thumbs_step(state);
    if (!player->plays_to)
        return;
    /* At the end of the first of two runs the other has still a way to go. */
    bool whole = frame->run[1] && player->target.landed >= view_run_length(frame->run[0]);
    bool there = frame->at[0].landed > player->target.landed ||
                 (frame->at[0].landed == player->target.landed &&
                  frame->at[0].flight >= player->target.flight);
    if (!frame->playing)
        stop_playing(state, false);
    else if (there && !whole)
        stop_playing(state, true);
}

void view_player_settle(struct view_state *state)
{
    struct view_player *player = state->player;
    while (view_player_thumbs_wanted(state))
        view_player_thumbs_step(state);
    if (player && player->plays_to)
        stop_playing(state, true);
}

bool view_player_bound(const struct view_state *state, struct view_position *most)
{
    if (!view_player_reads(state) || !state->frame.covered)
        return false;
    *most = state->player->at;
    return true;
}
