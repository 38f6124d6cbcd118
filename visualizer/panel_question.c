/* The card of a lesson's step: a question, what came of the answer, or something to break. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/panel_lesson.h"

static struct view_type body_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_BODY, flow->draw->theme->text);
}

static struct view_type bold_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, flow->draw->theme->text);
}

void view_flow_buttons(struct view_flow *flow, const struct view_flow_button *buttons, int n)
{
    const float gap = 8;
    for (int i = 0; i < n;) {
        struct view_box row;
        bool shows = view_flow_row(flow, 28, &row);
        float x = row.x;
        for (int first = i; i < n; i++) {
            const struct view_flow_button *b = &buttons[i];
            bool primary = b->states & VIEW_BUTTON_PRIMARY;
            struct view_type type = view_type_make(primary ? VIEW_BOLD : VIEW_SANS,
                                                   VIEW_SIZE_CONTROL, flow->draw->theme->text);
            float width = ceilf(view_text_width(flow->draw, type, b->text)) + (primary ? 36 : 20);
            if (i > first && x + width > row.x + row.w)
                break;
            if (shows)
                view_button(flow->draw, flow->scene->frame,
                            view_box_make(x, row.y, fminf(width, row.w), 28), b->states, b->action,
                            b->value, b->text, b->label);
            x += width + gap;
        }
        view_flow_gap(flow, i < n ? 8 : 0);
    }
}

/* A tick or a cross before the line; by shape, and only the cross has a colour. */
static void verdict_line(struct view_flow *flow, int sign, const char *text)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_box row;
    struct view_flow probe = *flow;
    if (sign != 0 && view_flow_row(&probe, view_line_height(VIEW_SIZE_BODY), &row)) {
        float y = row.y + floorf((row.h - 14) / 2);
        if (sign > 0)
            view_tick(flow->draw, row.x, y, theme->text);
        else
            view_cross(flow->draw, row.x, y, theme->bad);
    }
    float indent = sign != 0 ? 24 : 0;
    flow->x += indent;
    flow->w -= indent;
    view_flow_text(flow, bold_type(flow), text);
    flow->x -= indent;
    flow->w += indent;
    view_flow_gap(flow, 6);
}

static void card_title(struct view_flow *flow, const char *title, const char *key)
{
    struct view_type small =
        view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, flow->draw->theme->text2);
    struct view_type bold = small;
    struct view_box row;
    bold.style = VIEW_BOLD;
    if (!flow->scene->layout.beside)
        return; /* in a sheet or a page there is no room for what is plain to see */
    if (view_flow_row(flow, 18, &row)) {
        view_text_in(flow->draw, row, VIEW_LEFT, bold, "%s", title);
        view_cut_left(&row, view_text_width(flow->draw, bold, title) + 12);
        view_text_in(flow->draw, row, VIEW_RIGHT, small, "%s", key);
    }
    view_flow_gap(flow, 4);
}

static const char *recall_title(const struct view_lesson *view)
{
    return view->phase == VIEW_LESSON_END ? "Do you remember?" : "Predict";
}

/* ---- the open question ------------------------------------------------------------------- */

static bool has_answer(const struct view_lesson *view)
{
    switch (view->question->kind) {
    case LESSON_CHOICE:
        return view->choice >= 0;
    case LESSON_NUMBER:
        return view->typed[0] != '\0';
    default:
        return !isnan(view->slider);
    }
}

static void draw_hint(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    char text[48];
    if (view->hints == 0)
        return;
    snprintf(text, sizeof text, "Hint %d of %d", view->hints, view->question->n_hints);
    view_flow_gap(flow, 2);
    view_flow_text(flow, view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, flow->draw->theme->text2),
                   text);
    view_flow_text(flow, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text),
                   view->hint);
    view_flow_gap(flow, 8);
}

static void draw_open(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    card_title(flow, recall_title(view), view->present ? "R reveals" : "key P");
    view_flow_text(flow, bold_type(flow), view->ask);
    view_flow_gap(flow, 8);
    draw_hint(flow);
}

static void open_actions(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    const struct lesson_question *question = view->question;
    struct view_flow_button buttons[3];
    char hint[32];
    int n = 0;
    view_flow_answer(flow);
    if (view->refused[0]) {
        view_flow_text(flow, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->bad),
                       view->refused);
        view_flow_gap(flow, 8);
    }
    buttons[n++] = (struct view_flow_button){
        "Check", "Check the answer", VIEW_LESSON_CHECK, 0,
        has_answer(view) ? VIEW_BUTTON_PRIMARY : VIEW_BUTTON_PRIMARY | VIEW_BUTTON_OFF};
    if (question->n_hints > view->hints) {
        snprintf(hint, sizeof hint, "Hint %d of %d", view->hints + 1, question->n_hints);
        buttons[n++] =
            (struct view_flow_button){hint, hint, VIEW_LESSON_HINT, 0, VIEW_BUTTON_QUIET};
    }
    buttons[n++] = (struct view_flow_button){"Show me", "Show me the answer", VIEW_LESSON_SHOW, 0,
                                             VIEW_BUTTON_QUIET};
    view_flow_buttons(flow, buttons, n);
}

/* ---- after an answer --------------------------------------------------------------------- */

/* Another than the right one: what it would mean, and once more. */
static void draw_again(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    char text[200];
    snprintf(text, sizeof text, "Not quite: %s", view->given_text);
    verdict_line(flow, -1, text);
    view_flow_text(flow, body_type(flow), view->grade.feedback);
    view_flow_gap(flow, 10);
}

static void again_actions(struct view_flow *flow)
{
    static const struct view_flow_button buttons[] = {
        {"Try once more", "Try once more", VIEW_LESSON_AGAIN, 0, VIEW_BUTTON_PRIMARY},
        {"Show me", "Show me the answer", VIEW_LESSON_SHOW, 0, VIEW_BUTTON_QUIET},
    };
    view_flow_buttons(flow, buttons, 2);
}

static void draw_running(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    char text[200];
    view_flow_text(flow, bold_type(flow), view->ask);
    view_flow_gap(flow, 8);
    if (view->given_text[0]) {
        snprintf(text, sizeof text, "Your answer: %s", view->given_text);
        view_flow_text(flow, body_type(flow), text);
        view_flow_gap(flow, 4);
    }
    view_flow_text(flow, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text2),
                   "The run goes on to where it is seen.");
}

static void draw_feedback(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    bool right = !view->shown && view->grade.verdict == LESSON_RIGHT;
    bool guessed = !right && view->given_text[0] && view->tries > 0;
    char text[200];
    if (right)
        snprintf(text, sizeof text, "Right: %s", view->right_text);
    else if (guessed && !view->shown)
        snprintf(text, sizeof text, "Not quite: %s", view->given_text);
    else
        snprintf(text, sizeof text, "It is %s", view->right_text);
    verdict_line(flow, right ? 1 : guessed && !view->shown ? -1 : 0, text);
    if (guessed && !view->shown) {
        view_flow_text(flow, body_type(flow), view->grade.feedback);
        view_flow_gap(flow, 6);
    }
    if (!view_flow_marks(flow) && guessed && !view->shown) {
        snprintf(text, sizeof text, "It is %s", view->right_text);
        view_flow_text(flow, bold_type(flow), text);
        view_flow_gap(flow, 4);
    }
    view_flow_text(flow, body_type(flow), view->why);
}

/* ---- break it ---------------------------------------------------------------------------- */

/* The options that may be changed, as the bar has them. */
static int allowed(const struct view_frame *frame, const struct lesson_break *breaks,
                   struct view_flow_button buttons[LESSON_OPTIONS], char labels[][96])
{
    int n = 0;
    for (int o = 0; o < breaks->n_options && n < LESSON_OPTIONS; o++)
        for (int k = 0; k < frame->n_options; k++) {
            const struct view_option *option = &frame->options[k];
            if (strcmp(option->name, breaks->options[o]) != 0 || !option->editable)
                continue;
            snprintf(labels[n], 96, "Try another %.70s",
                     option->label[0] ? option->label : option->name);
            buttons[n] = (struct view_flow_button){option->label[0] ? option->label : option->name,
                                                   labels[n], VIEW_CHIP, k, VIEW_BUTTON_REST};
            n++;
            break;
        }
    return n;
}

static void draw_break(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    const struct lesson_break *breaks = view->lesson->step[view->step].breaks;
    struct view_flow_button buttons[LESSON_OPTIONS];
    char labels[LESSON_OPTIONS][96];
    card_title(flow, "Break it", "");
    view_flow_text(flow, bold_type(flow), view->task);
    view_flow_gap(flow, 8);
    int n = allowed(flow->scene->frame, breaks, buttons, labels);
    if (n > 0) {
        view_flow_buttons(flow, buttons, n);
        view_flow_gap(flow, 8);
    }
    if (view->consequence[0]) {
        view_flow_text(flow, body_type(flow), view->consequence);
        view_flow_gap(flow, 8);
    }
}

static void break_actions(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    const struct view_flow_button run = {"Run it", "Run it", VIEW_LESSON_RUN_IT, 0,
                                         view->consequence[0] ? VIEW_BUTTON_REST
                                                              : VIEW_BUTTON_PRIMARY};
    const struct view_flow_button back = {"Back to the lesson's run", "Back to the lesson's run",
                                          VIEW_LESSON_RETURN, 0, VIEW_BUTTON_REST};
    if (view->changed)
        view_flow_buttons(flow, &back, 1);
    else if (view->lesson->step[view->step].breaks->run)
        view_flow_buttons(flow, &run, 1);
}

/* ---- the card ---------------------------------------------------------------------------- */

bool view_lesson_has_card(const struct view_lesson *view)
{
    switch (view->phase) {
    case VIEW_LESSON_READ:
        return false;
    case VIEW_LESSON_END:
        return view->question != NULL;
    default:
        return true;
    }
}

void view_lesson_card_actions(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    if (view->phase == VIEW_LESSON_BREAK)
        break_actions(flow);
    else if (view->phase != VIEW_LESSON_RUN && !view->answered)
        open_actions(flow);
    else if (view->again)
        again_actions(flow);
}

void view_lesson_card_words(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    if (view->phase == VIEW_LESSON_BREAK)
        draw_break(flow);
    else if (view->phase == VIEW_LESSON_RUN)
        draw_running(flow);
    else if (!view->answered)
        draw_open(flow);
    else if (view->again)
        draw_again(flow);
    else
        draw_feedback(flow);
}

void view_lesson_card(struct view_flow *flow)
{
    view_lesson_card_words(flow);
    view_lesson_card_actions(flow);
}
