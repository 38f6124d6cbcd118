/* One question: choosing, checking, hints, the reveal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/player_parts.h"

static const struct lesson_step *step_of(const struct view_lesson *view)
{
    return view->step < view->lesson->n_steps ? &view->lesson->step[view->step] : NULL;
}

/* The card is open, with nothing chosen. */
static void open_card(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    view->answered = view->again = view->shown = false;
    view->choice = -1;
    view->slider = NAN;
    view->typed[0] = view->refused[0] = view->why[0] = '\0';
    view->field = false;
    view->grade = (struct lesson_grade){.choice = -1, .given = NAN};
}

void view_player_ask(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    const struct lesson_step *step = step_of(view);
    open_card(state);
    view->hints = view->tries = 0;
    view->hint[0] = '\0';
    view_player_texts(player);
    if (!step)
        view->phase = VIEW_LESSON_END;
    else if (view->question)
        view->phase = VIEW_LESSON_PREDICT;
    else
        view->phase = step->breaks && !step->question ? VIEW_LESSON_BREAK : VIEW_LESSON_READ;
    state->frame.covered = view->phase == VIEW_LESSON_PREDICT;
    state->dirty = true;
}

bool view_player_is_asked(const struct view_lesson *view)
{
    return view->lesson && view->page == VIEW_PAGE_STAGE && view->question && !view->answered &&
           (view->phase == VIEW_LESSON_PREDICT || view->phase == VIEW_LESSON_END);
}

bool view_player_can_check(const struct view_lesson *view)
{
    if (!view_player_is_asked(view))
        return false;
    switch (view->question->kind) {
    case LESSON_CHOICE:
        return view->choice >= 0;
    case LESSON_NUMBER:
        return view->typed[0] != '\0';
    default:
        return !isnan(view->slider);
    }
}

/* The answer stands: the stage plays to where it is seen. */
static void reveal(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    const struct lesson_step *step = step_of(view);
    view->answered = true;
    view->again = view->field = false;
    state->frame.covered = false;
    state->frame.scroll = 0;
    view_player_say_answer(player);
    if (!step)
        return; /* the recall's run is not on stage */
    view->phase = VIEW_LESSON_RUN;
    view_player_play_to(state, view->question->reveal ? view->question->reveal : step->show.play_to);
}

void view_player_done_playing(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    if (view->phase == VIEW_LESSON_RUN)
        view->phase = VIEW_LESSON_FEEDBACK;
}

/* What was given, in the words that the grading reads. */
static void answer_text(const struct view_lesson *view, char text[48])
{
    switch (view->question->kind) {
    case LESSON_CHOICE:
        snprintf(text, 48, "%d", view->choice + 1);
        break;
    case LESSON_NUMBER:
        snprintf(text, 48, "%s", view->typed);
        break;
    default:
        snprintf(text, 48, "%.9g", view->slider);
        break;
    }
}

void view_player_check(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    struct fa_error error = {FA_OK, ""};
    char answer[48];
    if (!view_player_can_check(view))
        return;
    answer_text(view, answer);
    if (lesson_grade_answer(view->lesson, view->question, view_player_question_words(player),
                            &player->host.runner, answer, &view->grade, &error) != FA_OK) {
        /* Other errors name the file, which is the author's. */
        snprintf(view->refused, sizeof view->refused, "%.159s",
                 error.status == FA_BAD_ARGUMENT
                     ? error.text
                     : "What this answer means cannot be told of this run.");
        return;
    }
    view->refused[0] = '\0';
    view->tries++;
    view->field = false;
    if (view->grade.verdict == LESSON_RIGHT || view->tries > 1) {
        reveal(state);
        return;
    }
    /* What would answer it stays covered: it may be tried once more. */
    view->answered = view->again = true;
    view_player_say_answer(player);
    if (step_of(view))
        view->phase = VIEW_LESSON_FEEDBACK;
    state->frame.scroll = 0;
    state->dirty = true;
}

void view_player_again(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    if (!view->question || !view->again)
        return;
    open_card(state);
    view->phase = step_of(view) ? VIEW_LESSON_PREDICT : VIEW_LESSON_END;
    state->dirty = true;
}

void view_player_show(struct view_state *state)
{
    struct view_lesson *view = &state->player->view;
    if (!view->question || (view->answered && !view->again))
        return;
    view->shown = true;
    if (view->tries == 0) { /* a guess that was not checked is none */
        view->choice = -1;
        view->grade = (struct lesson_grade){.choice = -1, .given = NAN};
    }
    reveal(state);
}

void view_player_hint(struct view_state *state)
{
    struct view_player *player = state->player;
    struct view_lesson *view = &player->view;
    if (!view_player_is_asked(view) || view->hints >= view->question->n_hints)
        return;
    view_player_fill(player, view->question->hint[view->hints++],
                     view_player_question_words(player), view->hint, sizeof view->hint);
    state->frame.scroll = 0; /* it stands with the question, above the prose */
    state->dirty = true;
}

/* ---- the slider -------------------------------------------------------------------------- */

/* Two digits are as fine as a guess is. */
static double tidy(double value)
{
    double unit = pow(10, floor(log10(value)) - 1);
    return round(value / unit) * unit;
}

static double on_scale(double low, double high, double share)
{
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    double value = tidy(low * pow(high / low, share));
    return fmin(high, fmax(low, value));
}

/* One step along the scale; the first puts the knob into its middle. */
static double nudged(double value, double low, double high, int direction)
{
    if (isnan(value))
        return on_scale(low, high, 0.5);
    double next = on_scale(low, high, log(value / low) / log(high / low) + direction * 0.02);
    double unit = pow(10, floor(log10(value)) - 1);
    return next != value ? next : fmin(high, fmax(low, tidy(value + direction * unit)));
}

/* The race's marks lie on a bar, whose length is what was moved: even steps, of a tenth. */
static double on_race(double value)
{
    return fmin(VIEW_RACE_HIGH, fmax(VIEW_RACE_LOW, round(value * 10) / 10));
}

static bool slides(const struct view_lesson *view)
{
    return view_player_is_asked(view) && view->question->kind == LESSON_SLIDER;
}

void view_player_slide(struct view_state *state, struct view_box scale, float x)
{
    if (!state->player || !(scale.w > 0))
        return;
    struct view_lesson *view = &state->player->view;
    double share = (double)(x - scale.x) / (double)scale.w;
    if (view->page == VIEW_PAGE_RACE && view->race_phase == 1)
        view->race_guess = on_race(VIEW_RACE_LOW + share * (VIEW_RACE_HIGH - VIEW_RACE_LOW));
    else if (slides(view))
        view->slider = on_scale(view->question->low, view->question->high, share);
    state->dirty = true;
}

void view_player_nudge(struct view_state *state, int direction)
{
    struct view_lesson *view = &state->player->view;
    if (view->page == VIEW_PAGE_RACE && view->race_phase == 1)
        view->race_guess = isnan(view->race_guess)
                               ? on_race((VIEW_RACE_LOW + VIEW_RACE_HIGH) / 2)
                               : on_race(view->race_guess + 0.1 * direction);
    else if (slides(view))
        view->slider = nudged(view->slider, view->question->low, view->question->high, direction);
    state->dirty = true;
}
