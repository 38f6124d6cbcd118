/* Lessons and their steps: which is open, how it is looked at, what is kept of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/player_parts.h"

enum fa_status view_player_open(struct view_state *state, const struct view_lesson_host *host,
                                struct fa_error *error)
{
    struct view_player *player = calloc(1, sizeof *player);
    if (!player)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the lessons");
    player->host = *host;
    player->view = (struct view_lesson){
        .shelf = host->shelf, .missing = host->missing, .progress = host->progress,
        .present = host->present, .choice = -1, .slider = NAN, .race_guess = NAN,
    };
    enum fa_status status = view_player_thumbs_open(player, error);
    if (status != FA_OK) {
        view_player_close(player);
        return status;
    }
    view_player_close(state->player);
    state->player = player;
    state->frame.lesson = &player->view;
    if (host->present)
        state->frame.theme = &view_light;
    state->dirty = true;
    return FA_OK;
}

void view_player_close(struct view_player *player)
{
    if (player)
        view_player_thumbs_close(player);
    free(player);
}

/* ---- steps ------------------------------------------------------------------------------- */

const struct lesson_show *view_player_show_of(const struct view_lesson *view)
{
    int last = view->lesson->n_steps - 1;
    return &view->lesson->step[view->step > last ? last : view->step].show;
}

static int index_of(const char *const *words, int n, const char *word)
{
    for (int i = 0; word && i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return 0;
}

/* The way of looking that the step asks for. */
static void look_at(struct view_state *state, const struct lesson_show *show)
{
    static const char *const stages[] = {"cross", "row", "scale", "plot",
                                         "mask",  "bits", "waves", "errors", "tiles"};
    static const char *const panels[] = {"code", "traffic", "plot", "check", "lesson"};
    static const char *const clocks[] = {"work", "tile", "traffic"};
    struct view_frame *frame = &state->frame;
    int panel = index_of(panels, VIEW_PANELS, show->panel);
    frame->stage = (enum view_stage)index_of(stages, VIEW_STAGES, show->stage);
    frame->clock = (enum view_clock_kind)index_of(clocks, VIEW_CLOCKS, show->keep_together);
    frame->bytes = !show->elements;
    frame->in_turn = strcmp(show->bits, "turn") == 0;
    frame->panel = VIEW_PANEL_LESSON; /* the step's own is the second where there is room for two */
    if (panel != VIEW_PANEL_LESSON)
        frame->second_panel = (enum view_panel)panel;
    frame->panel_open = frame->chrome_open = true;
    frame->cell.on = false;
    frame->scroll = 0;
    view_state_close_all(state);
}

/* A row that is pointed to is the one that the stage of one row shows. */
static void point_at_row(struct view_state *state)
{
    const struct lesson_show *show = view_player_show_of(&state->player->view);
    int row = -1;
    for (int p = 0; p < show->n_points && state->frame.stage == VIEW_STAGE_ROW; p++)
        if (strncmp(show->point[p], "row ", 4) == 0)
            row = (int)strtol(show->point[p] + 4, NULL, 10);
    if (row >= 0)
        state->frame.cell = (struct view_cell){.on = true, .chip = true, .id = FA_S, .row = row};
}

void view_player_seek(struct view_state *state, struct view_position at)
{
    int which;
    const struct view_run *run = view_state_leader(state, &which);
    view_state_seek(state, at);
    if (at.landed >= view_run_length(state->frame.run[0]))
        view_state_place(state, which, (struct view_position){view_run_length(run), 0});
}

void view_player_stand(struct view_state *state, const char *place)
{
    struct fa_error error;
    struct view_position at = {0, 0};
    if (!state->frame.run[0])
        return;
    if (view_position_parse(state->frame.run[0], place, &at, &error) != FA_OK)
        at = (struct view_position){0, 0}; /* of a changed run */
    state->player->at = at;
    view_player_seek(state, at);
    point_at_row(state);
}

static void keep(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    if (!player->host.progress || view->present)
        return;
    struct lesson_mark *mark =
        lesson_progress_mark(player->host.progress, view->lesson->number);
    if (mark && view->step > mark->step && view->step < view->lesson->n_steps)
        mark->step = view->step;
    if (mark && view->step >= view->lesson->n_steps)
        mark->done = true;
    player->host.progress->last_lesson = view->lesson->number;
    view_player_save(state);
}

void view_player_save(struct view_state *state)
{
    struct view_player *player = state->player;
    struct fa_error error = {FA_OK, ""};
    if (!player->host.progress || player->view.present || !player->host.save)
        return;
    if (player->host.save(player->host.context, player->host.progress, &error) != FA_OK)
        view_state_note(state, error.text);
}

static const struct lesson *lesson_after(const struct view_lesson *view)
{
    for (int i = 0; i < view->shelf->n; i++) {
        const struct lesson *lesson = view->shelf->lesson[i];
        if (lesson->number > view->lesson->number &&
            view_lesson_on_track(lesson, view->track, NULL, NULL))
            return lesson;
    }
    return NULL;
}

/* What is known of the step before its run is there. */
static void begin_step(struct view_state *state, const struct lesson *lesson, int step)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    view->page = VIEW_PAGE_STAGE;
    view->lesson = lesson;
    view->step = step;
    view_lesson_on_track(lesson, view->track, &view->first_step, &view->last_step);
    view->next = lesson_after(view);
    int steps = view->last_step - view->first_step + 1;
    int left = step >= lesson->n_steps ? 0 : view->last_step + 1 - step;
    view->minutes_left = (double)lesson->minutes * left / lesson->n_steps;
    if (left > steps)
        view->minutes_left = lesson->minutes;
    player->plays_to = player->opened_panel = player->raced = false;
    state->haste = 1;
    state->frame.playing = state->frame.covered = false;
    snprintf(player->title, sizeof player->title, "%d  %s", lesson->number, lesson->title);
    state->frame.title = player->title;
}

enum fa_status view_player_enter(struct view_state *state, const struct lesson *lesson, int step,
                                 struct fa_error *error)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    begin_step(state, lesson, step);
    const struct lesson_show *show = view_player_show_of(view);
    enum fa_status status = view_player_runs(state, show->scenario, show->compare, error);
    bool ends = step >= lesson->n_steps;
    look_at(state, show);
    view_player_l2(state);
    if (!ends)
        view_player_stand(state, show->at);
    view_player_ask(state);
    if (!ends && !view->question && status == FA_OK)
        view_player_play_to(state, show->play_to);
    keep(state);
    state->dirty = true;
    return status;
}

enum fa_status view_player_go(struct view_state *state, int number, int step,
                              struct fa_error *error)
{
    struct view_lesson *view = &state->player->view;
    const struct lesson *lesson = view->shelf ? lesson_find(view->shelf, number) : NULL;
    if (!lesson)
        return fa_fail(error, FA_BAD_ARGUMENT, "lesson %d: there is none of that number%s%s", number,
                       view->shelf ? " in " : "", view->shelf ? view->shelf->folder : "");
    if (step < -1 || step > lesson->n_steps)
        return fa_fail(error, FA_BAD_ARGUMENT, "lesson %d has %d steps", number, lesson->n_steps);
    if (step < 0) {
        const struct lesson_mark *mark = view_lesson_mark(view, number);
        int first, last;
        view_lesson_on_track(lesson, view->track, &first, &last);
        bool begun = mark && !mark->done && mark->step >= first && mark->step <= last;
        step = begun ? mark->step : first;
    }
    return view_player_enter(state, lesson, step, error);
}

void view_player_leave(struct view_state *state)
{
    struct view_player *player = state->player;
    if (player->plays_to)
        view_player_arrive(state);
    player->view.lesson = NULL;
    player->view.question = NULL;
    player->view.page = VIEW_PAGE_STAGE;
    state->frame.covered = state->frame.in_turn = false;
    state->frame.l2 = (struct view_l2){.capacity = 0};
    state->frame.title = "Explore";
    if (state->frame.panel == VIEW_PANEL_LESSON)
        state->frame.panel = VIEW_PANEL_CODE;
    state->dirty = true;
}

/* What comes next: of a step with an answer and a break, the break. */
void view_player_next(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    struct fa_error error;
    if (player->plays_to) {
        view_player_arrive(state);
        return;
    }
    if (view->phase == VIEW_LESSON_PREDICT || (view->phase == VIEW_LESSON_FEEDBACK && view->again))
        return;
    if (view->phase == VIEW_LESSON_FEEDBACK && view->task[0]) {
        view->phase = VIEW_LESSON_BREAK;
        state->frame.scroll = 0;
    } else if (view->phase == VIEW_LESSON_END && view->next) {
        view_player_go(state, view->next->number, -1, &error);
    } else if (view->phase == VIEW_LESSON_END) {
        view_player_page(state, VIEW_PAGE_CONTENTS);
    } else {
        int step = view->step >= view->last_step ? view->lesson->n_steps : view->step + 1;
        view_player_enter(state, view->lesson, step, &error);
    }
    state->dirty = true;
}

static void back(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    struct fa_error error;
    int step = view->step >= view->lesson->n_steps ? view->last_step : view->step - 1;
    if (step >= view->first_step)
        view_player_enter(state, view->lesson, step, &error);
}

/* ---- actions ----------------------------------------------------------------------------- */

static bool step_action(struct view_state *state, enum view_action action, int64_t value)
{
    struct view_lesson *view = &state->player->view;
    struct fa_error error;
    switch (action) {
    case VIEW_LESSON_NEXT:
        view_player_next(state);
        return true;
    case VIEW_LESSON_BACK:
        back(state);
        return true;
    case VIEW_LESSON_STEP:
        if (value >= 0 && value <= view->lesson->n_steps)
            view_player_enter(state, view->lesson, (int)value, &error);
        return true;
    case VIEW_LESSON_CHOOSE:
        if (view_player_is_asked(view) && view->question->kind == LESSON_CHOICE && value >= 0 &&
            value < view->question->n_choices)
            view->choice = (int)value;
        return true;
    case VIEW_LESSON_FIELD:
        view->field = view_player_is_asked(view) && view->question->kind == LESSON_NUMBER;
        return true;
    case VIEW_LESSON_CHECK:
        view_player_check(state);
        return true;
    case VIEW_LESSON_AGAIN:
        view_player_again(state);
        return true;
    case VIEW_LESSON_HINT:
        view_player_hint(state);
        return true;
    case VIEW_LESSON_SHOW:
        view_player_show(state);
        return true;
    case VIEW_LESSON_RUN_IT:
        view_player_break(state);
        return true;
    case VIEW_LESSON_RETURN:
        view_player_return(state);
        return true;
    default:
        return false;
    }
}

bool view_player_do(struct view_state *state, enum view_action action, int64_t value)
{
    if (!state->player)
        return false;
    if (view_player_page_do(state, action, value))
        return true;
    return state->player->view.lesson && step_action(state, action, value);
}
