/* The lesson beside the stage: the step's words above, its question pinned below. */
#include "visualizer/panel_lesson.h"

#include <math.h>
#include <stdio.h>

enum { CARD_PAD = 14, CARD_GAP = 12, LEAST_PROSE = 84 };

/* ---- steps ------------------------------------------------------------------------------- */

static void steps_text(const struct view_lesson *view, bool minutes, char *text, size_t size)
{
    int n = view->last_step - view->first_step + 1;
    double left = view->minutes_left;
    if (view->step >= view->lesson->n_steps) {
        snprintf(text, size, "The end of %d steps", n);
        return;
    }
    int used = snprintf(text, size, "Step %d of %d", view->step - view->first_step + 1, n);
    if (minutes && used > 0 && left >= 0.75)
        snprintf(text + used, size - (size_t)used, ", %.0f min left", left);
    else if (minutes && used > 0)
        snprintf(text + used, size - (size_t)used, ", half a minute left");
}

static bool waits(const struct view_lesson *view)
{
    return view->phase == VIEW_LESSON_PREDICT ||
           (view->phase == VIEW_LESSON_FEEDBACK && view->again);
}

/* A question waits for its first or second answer. */
static bool is_open(const struct view_lesson *view)
{
    return view->question && !view->answered &&
           (view->phase == VIEW_LESSON_PREDICT || view->phase == VIEW_LESSON_END);
}

static const char *next_text(const struct view_lesson *view)
{
    if (view->phase != VIEW_LESSON_END)
        return view->phase == VIEW_LESSON_FEEDBACK && view->task[0] ? "Break it" : "Next";
    return view->next ? "Next lesson" : "Contents";
}

/* Whether Next is the one primary button: at the end it is, once its question is answered. */
static bool leads_on(const struct view_lesson *view)
{
    return !(view->phase == VIEW_LESSON_END && view->question &&
             (!view->answered || view->again)) &&
           !(view->phase == VIEW_LESSON_BREAK && !view->consequence[0] && view->task[0]);
}

void view_lesson_steps(struct view_draw *draw, const struct view_scene *scene, struct view_box row)
{
    const struct view_frame *frame = scene->frame;
    const struct view_lesson *view = frame->lesson;
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_CONTROL, draw->theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    const char *next = next_text(view);
    bool first = view->step <= view->first_step;
    char text[64];

    row.y += floorf((row.h - 28) / 2);
    row.h = 28;
    struct view_box box = view_cut_right(&row, ceilf(view_text_width(draw, bold, next)) + 28);
    struct view_box other = row;
    other = view_cut_right(&row, fminf(row.w, 58 + 8));
    other.w -= 8;
    if (other.w >= 50)
        view_button(draw, frame, other, first ? VIEW_BUTTON_OFF : VIEW_BUTTON_REST,
                    VIEW_LESSON_BACK, 0, "Back", "The step before");
    view_button(draw, frame, box,
                waits(view)      ? VIEW_BUTTON_OFF
                : leads_on(view) ? VIEW_BUTTON_PRIMARY
                                 : VIEW_BUTTON_REST,
                VIEW_LESSON_NEXT, 0, next, next);
    view_cut_right(&row, 12);
    steps_text(view, true, text, sizeof text);
    if (view_text_in(draw, row, VIEW_LEFT, small, "%s", text))
        return;
    steps_text(view, false, text, sizeof text);
    view_text_in(draw, row, VIEW_LEFT, small, "%s", text);
}

/* One piece a step: those done full, this one half, those to come as a hair. */
static void draw_step_bar(struct view_draw *draw, const struct view_scene *scene,
                          struct view_box box)
{
    const struct view_lesson *view = scene->frame->lesson;
    const struct view_theme *theme = draw->theme;
    int n = view->last_step - view->first_step + 1;
    float width = (box.w - 4 * (float)(n - 1)) / (float)n;
    for (int s = 0; s < n; s++) {
        int step = view->first_step + s;
        struct view_box piece = view_box_make(box.x + (width + 4) * (float)s, box.y, width, 4);
        char label[48];
        view_fill(draw, piece,
                  step < view->step    ? theme->text
                  : step == view->step ? theme->edge
                                       : theme->hair);
        if (step == view->step) /* by shape too: it stands out */
            view_fill(draw, view_box_make(piece.x, piece.y + 6, piece.w, 2), theme->text);
        if (width < 28)
            continue;
        snprintf(label, sizeof label, "Step %d", s + 1);
        struct view_box hit = view_box_make(piece.x - 2, piece.y - 12, piece.w + 4, 28);
        view_focus_ring(draw, scene->frame, view_box_inset(piece, 0, -2));
        view_hit(draw, hit, VIEW_LESSON_STEP, step, false, label);
    }
}

static float draw_head(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    const struct view_lesson *view = scene->frame->lesson;
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, draw->theme->text);
    const char *title = view->step < view->lesson->n_steps ? view->lesson->step[view->step].title
                                                           : view->lesson->title;
    float height = view_text_height(draw, box.w, bold, 0, title);
    view_text_wrapped(draw, view_box_make(box.x, box.y, box.w, height), bold, 0, title, NULL);
    draw_step_bar(draw, scene, view_box_make(box.x, box.y + height + 8, box.w, 4));
    view_lesson_steps(draw, scene, view_box_make(box.x, box.y + height + 24, box.w, 28));
    return height + 24 + 28 + 12;
}

/* ---- where they stand -------------------------------------------------------------------- */

static void title_of(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    bool ends = view->step >= view->lesson->n_steps;
    view_flow_heading(flow, ends ? view->lesson->title : view->lesson->step[view->step].title);
}

static void titled_prose(struct view_flow *flow)
{
    title_of(flow);
    view_lesson_prose(flow);
}

/* Where not all fits, what is asked or was answered comes first, and the prose scrolls below it. */
static void words_before_prose(struct view_flow *flow)
{
    view_lesson_card_words(flow);
    view_flow_rule(flow);
    view_lesson_prose(flow);
}

static void words_before_titled_prose(struct view_flow *flow)
{
    view_lesson_card_words(flow);
    view_flow_rule(flow);
    titled_prose(flow);
}

/* In a window of no height: everything below each other. */
static void whole_page(struct view_flow *flow)
{
    titled_prose(flow);
    if (!view_lesson_has_card(view_flow_lesson(flow)))
        return;
    view_flow_rule(flow);
    view_lesson_card(flow);
}

static void draw_card(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    view_plate(draw, box, draw->theme->bg, draw->theme->edge);
    view_panel_flow_in(draw, scene, view_box_inset(box, CARD_PAD, CARD_PAD - 2), view_lesson_card);
}

/* Where not all words can be seen at once: they scroll, and what can be done stays. */
static void draw_scrolled(struct view_draw *draw, const struct view_scene *scene,
                          struct view_box inner, void (*words)(struct view_flow *flow))
{
    float actions = view_panel_height(draw, scene, inner.w, view_lesson_card_actions);
    if (actions > 0) {
        view_panel_flow_in(draw, scene, view_cut_bottom(&inner, actions + 1),
                           view_lesson_card_actions);
        view_fill(draw, view_box_make(inner.x, inner.y + inner.h - 7, inner.w, 1),
                  draw->theme->hair);
        view_cut_bottom(&inner, 8);
    }
    view_panel_flow_in(draw, scene, inner, words);
}

static float card_height(struct view_draw *draw, const struct view_scene *scene, float width)
{
    return view_panel_height(draw, scene, width - 2 * CARD_PAD, view_lesson_card) +
           2 * (CARD_PAD - 2);
}

/* A page of a small window: the steps stay above, and what can be done below. */
static void draw_page(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    const float steps = 32, least = 56; /* a question of two lines, and its rule */
    struct view_box inner = view_panel_inner(scene, box);
    if (inner.h >= steps) {
        view_lesson_steps(draw, scene, view_cut_top(&inner, steps));
        view_cut_top(&inner, 4);
    }
    if (!view_lesson_has_card(scene->frame->lesson))
        view_panel_flow_in(draw, scene, inner, titled_prose);
    else if (view_panel_height(draw, scene, inner.w, view_lesson_card_actions) + least <= inner.h)
        draw_scrolled(draw, scene, inner, words_before_titled_prose);
    else
        view_panel_flow_in(draw, scene, inner, whole_page);
}

/* Prose above, the card pinned to the bottom; what does not fit so is one column that scrolls. */
static void draw_column(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    struct view_box inner = view_panel_inner(scene, box);
    if (inner.w < 120 || inner.h < 120) {
        draw_page(draw, scene, box);
        return;
    }
    view_cut_top(&inner, draw_head(draw, scene, inner));
    if (!view_lesson_has_card(scene->frame->lesson)) {
        view_panel_flow_in(draw, scene, inner, view_lesson_prose);
        return;
    }
    struct view_box wide = view_box_make(inner.x - 8, inner.y, inner.w + 16, inner.h + 4);
    float card = card_height(draw, scene, wide.w);
    float prose = view_panel_height(draw, scene, inner.w, view_lesson_prose);
    if (prose + CARD_GAP + card > wide.h && card + CARD_GAP + LEAST_PROSE > wide.h) {
        draw_scrolled(draw, scene, inner, words_before_prose);
        return;
    }
    draw_card(draw, scene, view_cut_bottom(&wide, card));
    view_cut_bottom(&inner, card + CARD_GAP - 4);
    view_panel_flow_in(draw, scene, inner, view_lesson_prose);
}

/* A sheet below the stage: prose left, the card right. */
static void draw_sheet(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    struct view_box inner = view_panel_inner(scene, box);
    if (!view_lesson_has_card(scene->frame->lesson)) {
        view_panel_flow_in(draw, scene, inner, titled_prose);
        return;
    }
    struct view_box right = inner, left = view_cut_left(&right, floorf((inner.w - 24) / 2));
    view_cut_left(&right, 24);
    float card = card_height(draw, scene, right.w);
    if (card <= right.h + 8) {
        draw_card(draw, scene, view_box_make(right.x, right.y - 4, right.w, right.h + 8));
        view_panel_flow_in(draw, scene, left, titled_prose);
        return;
    }
    if (!is_open(scene->frame->lesson)) {
        view_panel_flow_in(draw, scene, left, titled_prose);
        draw_scrolled(draw, scene, right, view_lesson_card_words);
        return;
    }
    /* The question goes left then, and how it is answered has the wider part. */
    left = view_cut_left(&inner, floorf((inner.w - 24) * 0.36f));
    view_cut_left(&inner, 24);
    view_panel_flow_in(draw, scene, left, words_before_titled_prose);
    view_panel_flow_in(draw, scene, view_box_inset(inner, 0, -4), view_lesson_card_actions);
}

void view_panel_lesson(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    const struct view_lesson *view = scene->frame->lesson;
    if (!view || !view->lesson)
        return;
    if (scene->layout.beside)
        draw_column(draw, scene, box);
    else if (scene->layout.class == VIEW_COMPACT && scene->layout.stage.w > 0)
        draw_sheet(draw, scene, box);
    else
        draw_page(draw, scene, box);
}
