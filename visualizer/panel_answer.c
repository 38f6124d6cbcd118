/* How an answer is given: choices, a field, a slider; and guess and truth on one scale. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/panel_lesson.h"

static struct view_type small_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, flow->draw->theme->text2);
}

/* ---- choices ----------------------------------------------------------------------------- */

static void draw_choice(struct view_flow *flow, int choice, struct view_box box)
{
    struct view_draw *draw = flow->draw;
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = flow->scene->frame;
    const struct view_lesson *view = frame->lesson;
    bool on = view->choice == choice, hover = view_box_has(box, frame->pointer_x, frame->pointer_y);
    struct view_type type =
        view_type_make(on ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_CONTROL, theme->text);
    char label[200];
    view_fill_round(draw, box, 4, on || hover ? theme->raised : theme->panel);
    view_frame_box(draw, box, 4, on ? 2 : 1, on ? theme->text : theme->edge);
    struct view_box inside = view_box_inset(box, 10, 0);
    view_text_in(draw, view_cut_left(&inside, 18), VIEW_LEFT, small_type(flow), "%d", choice + 1);
    float height = view_text_height(draw, inside.w, type, 0, view->choice_text[choice]);
    inside.y += floorf((inside.h - height) / 2);
    inside.h = height;
    view_text_wrapped(draw, inside, type, 0, view->choice_text[choice], NULL);
    snprintf(label, sizeof label, "Choice %d: %s", choice + 1, view->choice_text[choice]);
    view_focus_ring(draw, frame, box);
    view_hit(draw, box, VIEW_LESSON_CHOOSE, choice, false, label);
}

static float choice_height(const struct view_flow *flow, int choice, float width)
{
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_CONTROL, flow->draw->theme->text);
    float least = flow->scene->layout.beside ? 30 : 28;
    return fmaxf(least, view_text_height(flow->draw, width - 38, bold, 0,
                                         view_flow_lesson(flow)->choice_text[choice]) +
                            least - 18);
}

enum { COLUMN_GAP = 8 };

static float choice_gap(const struct view_flow *flow)
{
    return flow->scene->layout.beside ? 6 : 4;
}

/* The height of the row of choices that begins with `first`. */
static float row_height(const struct view_flow *flow, int first, int columns, int n)
{
    float width = (flow->w - COLUMN_GAP * (float)(columns - 1)) / (float)columns, height = 0;
    for (int c = first; c < first + columns && c < n; c++)
        height = fmaxf(height, choice_height(flow, c, width));
    return height;
}

/* In a sheet two side by side, if that is lower. */
static int columns_of(const struct view_flow *flow, int n)
{
    float one = 0, two = 0;
    if (flow->scene->layout.class != VIEW_COMPACT)
        return 1;
    for (int c = 0; c < n; c++)
        one += row_height(flow, c, 1, n) + choice_gap(flow);
    for (int c = 0; c < n; c += 2) {
        float height = row_height(flow, c, 2, n);
        if (height > 50) /* more than two lines: a sheet has no place for that */
            return 1;
        two += height + choice_gap(flow);
    }
    return two < one ? 2 : 1;
}

static void draw_choices(struct view_flow *flow, int n)
{
    int columns = columns_of(flow, n);
    float width = (flow->w - COLUMN_GAP * (float)(columns - 1)) / (float)columns;
    for (int first = 0; first < n; first += columns) {
        struct view_box row;
        bool shows = view_flow_row(flow, row_height(flow, first, columns, n), &row);
        for (int c = first; shows && c < first + columns && c < n; c++)
            draw_choice(flow, c,
                        view_box_make(row.x + (width + COLUMN_GAP) * (float)(c - first), row.y,
                                      width, row.h));
        view_flow_gap(flow, choice_gap(flow));
    }
    view_flow_gap(flow, 4);
}

/* ---- a number ---------------------------------------------------------------------------- */

static void draw_field(struct view_flow *flow)
{
    struct view_draw *draw = flow->draw;
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = flow->scene->frame;
    const struct view_lesson *view = frame->lesson;
    const char *unit = view->question->unit ? view->question->unit : "";
    struct view_type mono = view_type_make(VIEW_MONO, VIEW_SIZE_BODY, theme->text);
    struct view_type words = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text2);
    struct view_box row;
    char label[96];
    bool shows = view_flow_row(flow, 32, &row);
    view_flow_gap(flow, 10);
    if (!shows)
        return;
    float beside = unit[0] ? ceilf(view_text_width(draw, words, unit)) : 0;
    if (beside > 0 && beside + 12 + 100 <= row.w)
        view_text_in(draw, view_cut_right(&row, beside), VIEW_LEFT, words, "%s", unit);
    if (beside > 0 && beside + 12 + 100 <= row.w + beside)
        view_cut_right(&row, 12);
    view_fill_round(draw, row, 4, theme->panel);
    view_frame_box(draw, row, 4, view->field ? 2 : 1, view->field ? theme->text : theme->edge);
    struct view_box inside = view_box_inset(row, 10, 0);
    const char *typed = view->typed;
    float width = view_text_width(draw, mono, typed);
    while (width > inside.w - 4 && *typed) { /* of a long one the end is seen: there one types */
        typed++;
        while ((*typed & 0xC0) == 0x80)
            typed++;
        width = view_text_width(draw, mono, typed);
    }
    if (view->typed[0])
        view_text_in(draw, inside, VIEW_LEFT, mono, "%s", typed);
    else if (!view->field)
        view_text_in(draw, inside, VIEW_LEFT, words, "Type a number");
    if (view->field)
        view_fill(draw, view_box_make(inside.x + ceilf(width) + 1, row.y + 7, 1.5f, row.h - 14),
                  theme->text);
    snprintf(label, sizeof label, "Answer%s%.60s", unit[0] ? " in " : "", unit);
    view_focus_ring(draw, frame, row);
    view_hit(draw, row, VIEW_LESSON_FIELD, 0, false, label);
}

/* ---- scales ------------------------------------------------------------------------------ */

static float x_of(struct view_box line, double low, double high, double value)
{
    double share = log(value / low) / log(high / low);
    return roundf(line.x + line.w * (float)fmin(1, fmax(0, share)));
}

/* The line with a tick at each power of ten, and small ones between. */
static void draw_scale(struct view_draw *draw, struct view_box line, double low, double high)
{
    const struct view_theme *theme = draw->theme;
    double first = pow(10, floor(log10(low)));
    view_fill(draw, view_box_make(line.x, line.y, line.w, 2), theme->edge);
    for (double decade = first; decade <= high * 1.0001; decade *= 10)
        for (int k = 1; k < 10; k++) {
            double value = decade * k;
            bool small = k != 1;
            if (value < low * 0.9999 || value > high * 1.0001 || (small && high / low > 1e5))
                continue;
            view_fill(draw, view_box_make(x_of(line, low, high, value) - 0.5f, line.y - (small ? 2 : 4),
                                          1, small ? 6 : 10),
                      small ? theme->hair : theme->edge);
        }
}

/* A text around x, moved so that it stays between left and right. */
static void text_around(struct view_draw *draw, float x, float y, struct view_box within,
                        struct view_type type, const char *text)
{
    float width = view_text_width(draw, type, text);
    float left = fmaxf(within.x, fminf(x - width / 2, within.x + within.w - width));
    if (width <= within.w)
        view_text(draw, left, y, VIEW_LEFT, type, "%s", text);
}

/* Few digits, as a guess has: "1 500". */
static const char *guess_text(double value, char text[VIEW_COUNT_TEXT])
{
    char number[VIEW_NUMBER_TEXT];
    if (value >= 1000)
        return view_count_text((uint64_t)llround(value), text);
    snprintf(text, VIEW_COUNT_TEXT, "%s", view_value_text(value, number));
    return text;
}

static void draw_slider(struct view_flow *flow)
{
    struct view_draw *draw = flow->draw;
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = flow->scene->frame;
    const struct view_lesson *view = frame->lesson;
    const struct lesson_question *question = view->question;
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text);
    struct view_box row;
    char low[VIEW_COUNT_TEXT], high[VIEW_COUNT_TEXT], value[VIEW_COUNT_TEXT], text[160];
    bool shows = view_flow_row(flow, 66, &row);
    view_flow_gap(flow, 8);
    if (!shows)
        return;
    guess_text(question->low, low);
    guess_text(question->high, high);
    struct view_box line = view_box_make(row.x + 10, row.y + 34, row.w - 20, 2);
    draw_scale(draw, line, question->low, question->high);
    view_text(draw, row.x, row.y + 48, VIEW_LEFT, small_type(flow), "%s", low);
    view_text(draw, row.x + row.w, row.y + 48, VIEW_RIGHT, small_type(flow), "%s", high);
    if (isnan(view->slider)) {
        text_around(draw, row.x + row.w / 2, row.y, row, small_type(flow),
                    "Click the scale, or press an arrow key");
    } else {
        float x = x_of(line, question->low, question->high, view->slider);
        snprintf(text, sizeof text, "%s %s", guess_text(view->slider, value),
                 question->unit ? question->unit : "");
        text_around(draw, x, row.y, row, bold, text);
        view_fill_round(draw, view_box_make(x - 8, line.y - 7, 16, 16), 8, theme->text);
        view_fill_round(draw, view_box_make(x - 5, line.y - 4, 10, 10), 5, theme->bg);
    }
    struct view_box hit = view_box_make(line.x, row.y + 20, line.w, 30);
    snprintf(text, sizeof text, "Answer, from %s to %s", low, high);
    view_focus_ring(draw, frame, view_box_inset(hit, -4, 0));
    view_hit(draw, hit, VIEW_LESSON_SLIDER, 0, false, text);
}

void view_flow_answer(struct view_flow *flow)
{
    const struct lesson_question *question = view_flow_lesson(flow)->question;
    switch (question->kind) {
    case LESSON_CHOICE:
        draw_choices(flow, question->n_choices);
        break;
    case LESSON_NUMBER:
        draw_field(flow);
        break;
    default:
        draw_slider(flow);
        break;
    }
}

/* ---- guess and truth --------------------------------------------------------------------- */

/* Choices with labels alone have no values: their places stand for them. */
static bool has_values(const struct lesson_question *question)
{
    bool places = question->kind == LESSON_CHOICE;
    for (int c = 0; c < question->n_choices && places; c++)
        places = question->choice[c].expression && strlen(question->choice[c].expression) == 1 &&
                 question->choice[c].expression[0] == '1' + c;
    return !places;
}

static bool marks_range(const struct view_lesson *view, double *low, double *high)
{
    const struct lesson_question *question = view->question;
    double guess = view->grade.given, truth = view->answers.right;
    if (!has_values(question) || !(truth > 0) || !(guess > 0) || isinf(guess) || guess == truth)
        return false;
    if (question->kind == LESSON_SLIDER) {
        *low = fmin(question->low, fmin(guess, truth));
        *high = fmax(question->high, fmax(guess, truth));
        return true;
    }
    *low = pow(10, floor(log10(fmin(guess, truth)) - 0.05));
    *high = pow(10, ceil(log10(fmax(guess, truth)) + 0.05));
    return true;
}

bool view_flow_marks(struct view_flow *flow)
{
    struct view_draw *draw = flow->draw;
    const struct view_theme *theme = draw->theme;
    const struct view_lesson *view = view_flow_lesson(flow);
    struct view_type plain = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, theme->text);
    struct view_box row;
    double low, high;
    char value[VIEW_COUNT_TEXT], text[64];
    if (view->shown || !marks_range(view, &low, &high))
        return false;
    bool shows = view_flow_row(flow, 62, &row);
    view_flow_gap(flow, 6);
    if (!shows)
        return true;
    struct view_box line = view_box_make(row.x + 8, row.y + 30, row.w - 16, 2);
    float guess = x_of(line, low, high, view->grade.given);
    float truth = x_of(line, low, high, view->answers.right);
    draw_scale(draw, line, low, high);
    /* The guess is a ring with its words above, the truth a triangle with its words below. */
    view_fill_round(draw, view_box_make(guess - 6, line.y - 5, 12, 12), 6, theme->text2);
    view_fill_round(draw, view_box_make(guess - 4, line.y - 3, 8, 8), 4, theme->bg);
    view_triangle(draw, truth - 7, line.y + 14, truth + 7, line.y + 14, truth, line.y + 1, theme->text);
    snprintf(text, sizeof text, "you %s", guess_text(view->grade.given, value));
    text_around(draw, guess, row.y + 2, row, plain, text);
    snprintf(text, sizeof text, "the run %s", guess_text(view->answers.right, value));
    text_around(draw, truth, row.y + 45, row, bold, text);
    return true;
}
