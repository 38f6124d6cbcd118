/* The pages in the stage's place: contents and glossary; and what their buttons do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/player_parts.h"

void view_player_page(struct view_state *state, enum view_page page)
{
    struct view_lesson *view = &state->player->view;
    if (state->player->plays_to)
        view_player_arrive(state);
    view_state_close_all(state);
    view->reset_asked = view->searching = view->field = false;
    view->page = page;
    state->frame.scroll = 0;
    state->frame.playing = false;
    state->frame.cell.on = false;
    if (page == VIEW_PAGE_CONTENTS && view->shelf) {
        bool again;
        const struct lesson *start = view->lesson ? view->lesson : view_lesson_start(view, &again);
        for (int i = 0; i < view->shelf->n; i++)
            if (view->shelf->lesson[i] == start)
                view->card = i;
    }
    if (page == VIEW_PAGE_RACE)
        view_player_race(state);
    state->dirty = true;
}

/* Back from a page: the lesson's step as it was left, or opened again if its run is not on screen. */
static void to_stage(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    struct fa_error error;
    if (view->lesson && !state->player->raced)
        view->page = VIEW_PAGE_STAGE;
    else if (view->lesson)
        view_player_enter(state, view->lesson, view->step, &error);
    else if (state->frame.run[0] || state->frame.message.title[0])
        view_player_leave(state);
}

static void step_card(struct view_state *state, int dx, int dy)
{
    struct view_scene scene;
    struct view_lesson *view = &state->player->view;
    const struct view_draw *draw = view_state_draw(state);
    view_scene_make(&scene, &state->frame);
    int card = view_contents_step(draw, &scene, dx, dy);
    if (card < 0)
        return;
    view->card = card;
    state->frame.scroll = view_contents_scroll(draw, &scene, card);
    state->frame.focus = -1;
    state->dirty = true;
}

static void search(struct view_state *state, bool on)
{
    struct view_lesson *view = &state->player->view;
    view->searching = on;
    if (!on)
        view->search[0] = '\0';
    state->frame.scroll = 0;
    state->dirty = true;
}

static bool search_key(struct view_state *state, const struct view_input *input)
{
    struct view_lesson *view = &state->player->view;
    size_t n = strlen(view->search);
    switch (input->key) {
    case VIEW_KEY_ESCAPE:
        search(state, false);
        return true;
    case VIEW_KEY_BACKSPACE:
        while (n > 0 && (view->search[n - 1] & 0xC0) == 0x80)
            view->search[--n] = '\0';
        if (n > 0)
            view->search[n - 1] = '\0';
        break;
    case VIEW_KEY_TEXT:
    case VIEW_KEY_SPACE: {
        const char *sign = input->key == VIEW_KEY_SPACE ? " " : input->text;
        if (n + strlen(sign) < sizeof view->search)
            memcpy(view->search + n, sign, strlen(sign) + 1);
        break;
    }
    default:
        return false;
    }
    step_card(state, 0, 0);
    return true;
}

static bool contents_key(struct view_state *state, const struct view_input *input)
{
    struct view_lesson *view = &state->player->view;
    if (view->searching && search_key(state, input))
        return true;
    switch (input->key) {
    case VIEW_KEY_LEFT:
    case VIEW_KEY_RIGHT:
        step_card(state, input->key == VIEW_KEY_LEFT ? -1 : 1, 0);
        return true;
    case VIEW_KEY_UP:
    case VIEW_KEY_DOWN:
        step_card(state, 0, input->key == VIEW_KEY_UP ? -1 : 1);
        return true;
    case VIEW_KEY_ENTER:
        if (state->frame.focus >= 0 || !view->shelf || view->card >= view->shelf->n)
            return false;
        view_state_do(state, VIEW_LESSON_OPEN, view->shelf->lesson[view->card]->number);
        return true;
    case VIEW_KEY_ESCAPE:
        if (view->reset_asked)
            view->reset_asked = false;
        else
            to_stage(state);
        return true;
    case VIEW_KEY_TEXT:
        if (input->text[0] == '/')
            search(state, true);
        else if (input->text[0] == 'l' || input->text[0] == 'L')
            to_stage(state);
        else
            return false;
        return true;
    default:
        return false;
    }
}

static bool glossary_key(struct view_state *state, const struct view_input *input)
{
    const float line = 40;
    float most, step = 0;
    switch (input->key) {
    case VIEW_KEY_ESCAPE:
        view_player_page(state, VIEW_PAGE_CONTENTS);
        return true;
    case VIEW_KEY_UP:
    case VIEW_KEY_DOWN:
        step = input->key == VIEW_KEY_UP ? -line : line;
        break;
    case VIEW_KEY_PAGE_UP:
    case VIEW_KEY_PAGE_DOWN:
        step = (input->key == VIEW_KEY_PAGE_UP ? -0.8f : 0.8f) * state->frame.height;
        break;
    default:
        return false;
    }
    most = view_state_draw(state)->scroll_most;
    state->frame.scroll = fminf(most, fmaxf(0, state->frame.scroll + step));
    return true;
}

/* Keys that look at the run mean nothing on a page. */
static bool is_for_window(const struct view_input *input)
{
    if (input->key == VIEW_KEY_TEXT)
        return strchr("tT?lL", input->text[0]) != NULL;
    return input->key == VIEW_KEY_TAB || input->key == VIEW_KEY_ENTER;
}

bool view_player_page_key(struct view_state *state, const struct view_input *input)
{
    switch (state->player->view.page) {
    case VIEW_PAGE_CONTENTS:
        return contents_key(state, input) || !is_for_window(input);
    case VIEW_PAGE_GLOSSARY:
        return glossary_key(state, input) || !is_for_window(input);
    case VIEW_PAGE_RACE:
        return view_player_race_key(state, input) || !is_for_window(input);
    default:
        if (input->key != VIEW_KEY_TEXT || !strchr("lL", input->text[0]) ||
            state->player->view.field)
            return false;
        view_player_page(state, VIEW_PAGE_CONTENTS);
        return true;
    }
}

/* ---- actions ----------------------------------------------------------------------------- */

static void start(struct view_state *state)
{
    bool again;
    struct fa_error error;
    const struct lesson *lesson = view_lesson_start(&state->player->view, &again);
    if (lesson)
        view_player_go(state, lesson->number, -1, &error);
}

/* "I know attention": the warm-up counts as skipped. */
static void skip_warm_up(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    struct lesson_progress *progress = state->player->host.progress;
    struct fa_error error;
    if (progress && !view->present) {
        struct lesson_mark *mark = lesson_progress_mark(progress, 0);
        if (mark)
            mark->skipped = true;
        view_player_save(state);
    }
    for (int i = 0; view->shelf && i < view->shelf->n; i++)
        if (view->shelf->lesson[i]->number > 0) {
            view_player_go(state, view->shelf->lesson[i]->number, -1, &error);
            return;
        }
}

static void choose_track(struct view_state *state, int64_t index)
{
    const char *names[LESSON_NUMBERS];
    struct view_lesson *view = &state->player->view;
    int n = view_lesson_tracks(view->shelf, names);
    view->track = index >= 0 && index < n ? names[index] : NULL;
    state->frame.scroll = 0;
    step_card(state, 0, 0);
}

static void reset(struct view_state *state, int64_t value)
{
    struct view_player *player = state->player;
    player->view.reset_asked = value == 0;
    if (value != 1 || !player->host.progress)
        return;
    lesson_progress_reset(player->host.progress);
    view_player_save(state);
}

bool view_player_page_do(struct view_state *state, enum view_action action, int64_t value)
{
    struct fa_error error;
    switch (action) {
    case VIEW_PAGE:
        if (value == VIEW_PAGE_STAGE)
            to_stage(state);
        else
            view_player_page(state, (enum view_page)value);
        return true;
    case VIEW_LESSON_OPEN:
        view_player_go(state, (int)value, -1, &error);
        return true;
    case VIEW_LESSON_START:
        start(state);
        return true;
    case VIEW_LESSON_KNOWN:
        skip_warm_up(state);
        return true;
    case VIEW_LESSON_TRACK:
        choose_track(state, value);
        return true;
    case VIEW_LESSON_SEARCH:
        search(state, value != 0);
        return true;
    case VIEW_LESSON_RESET:
        reset(state, value);
        return true;
    case VIEW_EXPLORE:
        view_player_leave(state);
        return true;
    case VIEW_RACE_ON:
        view_player_race_on(state);
        return true;
    case VIEW_RACE_AGAIN:
        view_player_page(state, VIEW_PAGE_RACE);
        return true;
    default:
        return false;
    }
}
