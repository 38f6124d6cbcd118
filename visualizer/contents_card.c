#include <math.h>
#include <stdio.h>

#include "visualizer/contents.h"
#include "visualizer/thumb.h"

enum { PAD = 14, NUMBER = 38, DOT = 9, FOOT = 28, LEAST_FRAME = 18 };

static struct view_type type_of(const struct view_draw *draw, enum view_style style, float size,
                                bool second)
{
    return view_type_make(style, size, second ? draw->theme->text2 : draw->theme->text);
}

static bool is_started(const struct lesson_mark *mark)
{
    return mark && !mark->done && !mark->skipped;
}

static int step_of(const struct lesson *lesson, const struct lesson_mark *mark)
{
    return mark->step + 1 < lesson->n_steps ? mark->step + 1 : lesson->n_steps;
}

/* "done", "known", "step 5 of 9", "" */
static void state_text(const struct lesson *lesson, const struct lesson_mark *mark, char *text,
                       size_t size)
{
    if (is_started(mark))
        snprintf(text, size, "step %d of %d", step_of(lesson, mark), lesson->n_steps);
    else
        snprintf(text, size, "%s", !mark ? "" : mark->done ? "done" : "known");
}

/* At the box's right end; returns the width that it took. */
static float draw_state(const struct view_sheet *sheet, struct view_box box,
                        const struct lesson *lesson, const struct lesson_mark *mark)
{
    struct view_draw *draw = sheet->draw;
    struct view_type type = type_of(draw, is_started(mark) ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_LABEL,
                                    mark && mark->skipped);
    char text[32];

    state_text(lesson, mark, text, sizeof text);
    bool done = mark && mark->done;
    float width = ceilf(view_text_width(draw, type, text)), all = width + (done ? 22 : 0);
    if (width == 0 || all > box.w)
        return 0;
    view_sheet_line(sheet, view_box_make(box.x + box.w - width, box.y, width, box.h), VIEW_RIGHT,
                    type, text);
    if (done && view_sheet_shows(sheet, box))
        view_tick(draw, box.x + box.w - width - 22, floorf(box.y + (box.h - 14) / 2),
                  draw->theme->text);
    return all;
}

static void draw_level(const struct view_sheet *sheet, float x, float y, int level)
{
    const struct view_theme *theme = sheet->draw->theme;
    for (int dot = 0; dot < LESSON_LEVELS; dot++, x += DOT + 1) {
        struct view_box box = {x, y, DOT - 1, DOT - 1};
        if (dot < level)
            view_fill_round(sheet->draw, box, (DOT - 1) / 2.0f, theme->text2);
        else
            view_frame_box(sheet->draw, box, (DOT - 1) / 2.0f, 1, theme->text2);
    }
}

/* How far the learner is, on the lower edge. */
static void draw_way(const struct view_sheet *sheet, struct view_box box,
                     const struct lesson *lesson, const struct lesson_mark *mark)
{
    if (is_started(mark))
        view_fill(sheet->draw,
                  view_box_make(
                      box.x + 2, box.y + box.h - 4,
                      floorf((box.w - 4) * (float)step_of(lesson, mark) / (float)lesson->n_steps),
                      3),
                  sheet->draw->theme->text);
}

static struct view_box draw_ground(const struct view_contents *contents,
                                   const struct view_sheet *sheet, int card,
                                   const struct lesson *lesson, const struct lesson_mark *mark)
{
    const struct view_theme *theme = sheet->draw->theme;
    struct view_box box = contents->place[card];
    char label[256], state[32];

    box.y += sheet->view.y - sheet->scroll;
    bool hover = view_box_has(box, sheet->frame->pointer_x, sheet->frame->pointer_y);
    view_plate(sheet->draw, box, hover ? theme->raised : theme->panel, theme->hair);
    if (hover)
        view_frame_box(sheet->draw, box, 6, 1, theme->edge);
    draw_way(sheet, box, lesson, mark);
    if (card == contents->lesson->card)
        view_frame_box(sheet->draw, box, 6, 2, theme->text);
    state_text(lesson, mark, state, sizeof state);
    snprintf(label, sizeof label, "Lesson %d, %s: %s %d min, level %d of %d%s%s", lesson->number,
             lesson->title, lesson->card, lesson->minutes, lesson->level, LESSON_LEVELS,
             state[0] ? ", " : "", state);
    view_sheet_hit(sheet, box, VIEW_LESSON_OPEN, lesson->number, label);
    return box;
}

static bool out_of_view(const struct view_sheet *sheet, struct view_box box)
{
    return box.y + box.h + sheet->view.y - sheet->scroll < sheet->view.y ||
           box.y - sheet->scroll > sheet->view.h;
}

void view_contents_card(const struct view_contents *contents, const struct view_sheet *sheet,
                        int card)
{
    const struct lesson *lesson = contents->shelf->lesson[card];
    const struct lesson_mark *mark = view_lesson_mark(contents->lesson, lesson->number);
    struct view_draw *draw = sheet->draw;
    char text[32];

    if (out_of_view(sheet, contents->place[card]))
        return;
    struct view_box box = draw_ground(contents, sheet, card, lesson, mark);
    struct view_box foot = view_box_inset(view_cut_bottom(&box, FOOT), PAD, 0);
    box = view_box_inset(box, PAD, 0);
    view_cut_top(&box, 10);
    struct view_box number = view_cut_left(&box, NUMBER);
    snprintf(text, sizeof text, "%d", lesson->number);
    number.h = 28;
    number.y -= 3;
    view_sheet_line(sheet, number, VIEW_LEFT, type_of(draw, VIEW_SANS, VIEW_SIZE_TITLE, true),
                    text);
    view_cut_top(&box, view_sheet_text(sheet, box, type_of(draw, VIEW_BOLD, VIEW_SIZE_BODY, false),
                                       lesson->title));
    view_cut_top(&box, 2);
    struct view_type small = type_of(draw, VIEW_SANS, VIEW_SIZE_CONTROL, true);
    if (view_text_height(draw, box.w, small, 0, lesson->card) <= box.h)
        view_cut_top(&box, view_sheet_text(sheet, box, small, lesson->card));

    float high = contents->card_height > 156 ? floorf(34 + (contents->card_height - 156) / 2) : 34;
    high = fminf(high, box.h - 2); /* of long words it is lower */
    struct view_box frame = {box.x, box.y + box.h - high, fminf(box.w, 210), high};
    const struct view_thumb *thumb = contents->lesson->thumb ? contents->lesson->thumb[card] : NULL;
    if (high >= LEAST_FRAME && view_sheet_shows(sheet, frame))
        view_thumb_draw(draw, frame, thumb);

    foot.y += 1;
    view_cut_left(&foot, NUMBER);
    draw_level(sheet, foot.x + 1, floorf(foot.y + (foot.h - DOT) / 2) + 1, lesson->level);
    view_cut_right(&foot, draw_state(sheet, foot, lesson, mark));
    view_cut_left(&foot, 44);
    snprintf(text, sizeof text, "%d min", view_lesson_minutes(lesson, contents->lesson->track));
    view_sheet_line(sheet, foot, VIEW_LEFT, type_of(draw, VIEW_SANS, VIEW_SIZE_LABEL, true), text);
}

void view_contents_row(const struct view_contents *contents, const struct view_sheet *sheet,
                       int card)
{
    const struct lesson *lesson = contents->shelf->lesson[card];
    const struct lesson_mark *mark = view_lesson_mark(contents->lesson, lesson->number);
    struct view_draw *draw = sheet->draw;
    struct view_type title = type_of(draw, VIEW_BOLD, VIEW_SIZE_CONTROL, false);
    char text[32];

    if (out_of_view(sheet, contents->place[card]))
        return;
    struct view_box box = draw_ground(contents, sheet, card, lesson, mark);
    box = view_box_inset(box, 12, 0);
    snprintf(text, sizeof text, "%d", lesson->number);
    view_sheet_line(sheet, view_cut_left(&box, 28), VIEW_LEFT,
                    type_of(draw, VIEW_SANS, VIEW_SIZE_HEADING, true), text);
    float state = draw_state(sheet, box, lesson, mark);
    if (state > 0)
        view_cut_right(&box, state + 12);
    float high = view_text_height(draw, box.w, title, 0, lesson->title);
    if (high > box.h) {
        title = type_of(draw, VIEW_SANS, VIEW_SIZE_CELL, false);
        high = view_text_height(draw, box.w, title, 0, lesson->title);
    }
    if (high <= box.h)
        view_sheet_text(sheet,
                        view_box_make(box.x, floorf(box.y + (box.h - high) / 2), box.w, high),
                        title, lesson->title);
}
