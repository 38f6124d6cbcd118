/* The race: two runs at the same bandwidth, which stop and ask when the first of them is done. */
#include <math.h>

#include "visualizer/player_parts.h"

static const char race_words[] =
    "--algorithm standard --n 128 --d 16 --tiles 16x16 --sram 8K --dtype f32";
static const char race_compare[] = "--algorithm flash2";

static bool is_racing(const struct view_state *state)
{
    return state->player && state->player->view.page == VIEW_PAGE_RACE && state->frame.run[1];
}

static void race_seen(struct view_state *state)
{
    struct lesson_progress *progress = state->player->host.progress;
    if (!progress || progress->race_seen || state->player->view.present)
        return;
    progress->race_seen = true;
    view_player_save(state);
}

void view_player_race(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    struct view_frame *frame = &state->frame;
    struct fa_error error;
    view->race_phase = 0;
    view->race_guess = NAN;
    player->raced = true;
    if (view_player_runs(state, race_words, race_compare, &error) != FA_OK) {
        view->page = VIEW_PAGE_STAGE;
        return;
    }
    frame->clock = VIEW_SAME_TRAFFIC;
    frame->bytes = false;
    frame->all_heads = false;
    frame->speed = VIEW_AUTO;
    frame->covered = false;
    view_state_seek(state, (struct view_position){0, 0});
    frame->playing = !frame->reduced_motion;
    if (frame->reduced_motion) /* the first of three stills: both are on their way */
        view_state_place(state, 1, (struct view_position){view_run_length(frame->run[1]) / 2, 0});
}

/* The race stands where flash2 is done. */
static void ask_in_race(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    view_state_place(state, 1, (struct view_position){view_run_length(frame->run[1]), 0});
    frame->playing = false;
    state->player->view.race_phase = 1;
    state->dirty = true;
}

static void end_race(struct view_state *state)
{
    struct view_frame *frame = &state->frame;
    view_state_place(state, 0, (struct view_position){view_run_length(frame->run[0]), 0});
    frame->playing = false;
    state->player->view.race_phase = 3;
    race_seen(state);
    state->dirty = true;
}

void view_player_race_tick(struct view_state *state)
{
    const struct view_frame *frame = &state->frame;
    if (!is_racing(state))
        return;
    switch (state->player->view.race_phase) {
    case 0:
        if (frame->at[1].landed >= view_run_length(frame->run[1]))
            ask_in_race(state);
        break;
    case 2:
        if (frame->reduced_motion || frame->at[0].landed >= view_run_length(frame->run[0]))
            end_race(state);
        break;
    default:
        break;
    }
}

void view_player_race_on(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    if (!is_racing(state))
        return;
    switch (view->race_phase) {
    case 0:
        ask_in_race(state);
        break;
    case 1:
        if (isnan(view->race_guess))
            return;
        view->race_phase = 2;
        state->frame.playing = true;
        break;
    case 2:
        end_race(state);
        break;
    default:
        view_state_do(state, VIEW_LESSON_START, 0);
        break;
    }
}

bool view_player_race_key(struct view_state *state, const struct view_input *input)
{
    struct view_lesson *view = &state->player->view;
    switch (input->key) {
    case VIEW_KEY_ESCAPE:
        race_seen(state);
        view_player_page(state, VIEW_PAGE_CONTENTS);
        return true;
    case VIEW_KEY_LEFT:
    case VIEW_KEY_RIGHT:
        view_player_nudge(state, input->key == VIEW_KEY_LEFT ? -1 : 1);
        return true;
    case VIEW_KEY_SPACE:
        if (view->race_phase == 0 && state->frame.reduced_motion)
            view_player_race_on(state);
        else if (view->race_phase == 0 || view->race_phase == 2)
            state->frame.playing = !state->frame.playing;
        return true;
    case VIEW_KEY_ENTER:
        if (state->frame.focus >= 0)
            return false;
        view_player_race_on(state);
        return true;
    default:
        return false;
    }
}
