/* The words of a lesson's step: paragraphs, lists, code, tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/panel_lesson.h"

enum { COLUMNS = 8, COLUMN_GAP = 16 };

static struct view_type body_type(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_BODY, flow->draw->theme->text);
}

static void indented(struct view_flow *flow, float indent, struct view_type type, const char *text)
{
    flow->x += indent;
    flow->w -= indent;
    view_flow_text(flow, type, text);
    flow->x -= indent;
    flow->w += indent;
}

static void draw_item(struct view_flow *flow, int number, const char *text)
{
    struct view_type type = body_type(flow);
    struct view_flow mark = *flow;
    char sign[16] = "•";
    float before = flow->y;
    if (number > 0)
        snprintf(sign, sizeof sign, "%d.", number);
    float indent = number > 0 ? 24 : 16;
    view_flow_text(&mark, type, sign);
    indented(flow, indent, type, text);
    flow->y = fmaxf(flow->y, before);
}

/* Lines as they stand; a longer one goes on below, further in. */
static void draw_code(struct view_flow *flow, const char *text)
{
    struct view_type type = view_type_make(VIEW_MONO, VIEW_SIZE_CONTROL, flow->draw->theme->text);
    float from = flow->y;
    indented(flow, 12, type, text);
    float top = fmaxf(from, flow->seen.y), bottom = fminf(flow->y, flow->seen.y + flow->seen.h);
    if (!flow->measures && bottom > top)
        view_fill(flow->draw, view_box_make(flow->x, top, 2, bottom - top), flow->draw->theme->edge);
}

/* ---- tables ------------------------------------------------------------------------------ */

static const char *cell_of(const char *row, int column, char *cell, size_t size)
{
    while (column-- > 0 && (row = strchr(row, '\t')) != NULL)
        row++;
    snprintf(cell, size, "%.*s", row ? (int)strcspn(row, "\t") : 0, row ? row : "");
    return cell;
}

static int columns_of(const char *row)
{
    int n = 1;
    for (; *row; row++)
        n += *row == '\t';
    return n < COLUMNS ? n : COLUMNS;
}

/* Widths of the table's columns: as their texts need, or their part of what there is. */
static int table_widths(const struct view_flow *flow, int first, int last, float widths[COLUMNS])
{
    const struct view_lesson *view = view_flow_lesson(flow);
    struct view_type bold = body_type(flow);
    int n = 1;
    float all = 0;
    char cell[256];
    bold.style = VIEW_BOLD;
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = 0;
    for (int b = first; b <= last; b++) {
        int columns = columns_of(view->prose[b]);
        n = columns > n ? columns : n;
        for (int c = 0; c < columns; c++)
            widths[c] = fmaxf(widths[c], ceilf(view_text_width(flow->draw, bold,
                                                               cell_of(view->prose[b], c, cell,
                                                                       sizeof cell))));
    }
    for (int c = 0; c < n; c++)
        all += widths[c];
    float room = flow->w - COLUMN_GAP * (float)(n - 1);
    for (int c = 0; c < n && all > room; c++)
        widths[c] = floorf(fmaxf(widths[c] * room / all, 24));
    return n;
}

static void draw_table_row(struct view_flow *flow, const char *text, bool heading,
                           const float widths[COLUMNS], int n)
{
    struct view_type type = body_type(flow);
    struct view_box row;
    char cell[256];
    float height = 0, x;
    type.style = heading ? VIEW_BOLD : VIEW_SANS;
    for (int c = 0; c < n; c++)
        height = fmaxf(height, view_text_height(flow->draw, widths[c] + 1, type, 0,
                                                cell_of(text, c, cell, sizeof cell)));
    if (!view_flow_row(flow, height + 6, &row))
        return;
    x = row.x;
    for (int c = 0; c < n; c++) {
        view_text_wrapped(flow->draw, view_box_make(x, row.y + 2, widths[c] + 1, height), type, 0,
                          cell_of(text, c, cell, sizeof cell), NULL);
        x += widths[c] + COLUMN_GAP;
    }
    view_fill(flow->draw, view_box_make(row.x, row.y + row.h - 1, row.w, 1),
              heading ? flow->draw->theme->edge : flow->draw->theme->hair);
}

/* The rows from block `first` on; returns the last of them. */
static int draw_table(struct view_flow *flow, const struct lesson_step *step, int first)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    float widths[COLUMNS];
    int last = first;
    while (last + 1 < step->n_blocks && step->block[last + 1].kind == LESSON_ROW &&
           !step->block[last + 1].heading)
        last++;
    int n = table_widths(flow, first, last, widths);
    for (int b = first; b <= last; b++)
        draw_table_row(flow, view->prose[b], step->block[b].heading, widths, n);
    return last;
}

/* ---- all of it --------------------------------------------------------------------------- */

static void draw_blocks(struct view_flow *flow, const struct lesson_step *step)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    for (int b = 0; b < step->n_blocks; b++) {
        const struct lesson_block *block = &step->block[b];
        bool item = block->kind == LESSON_ITEM;
        if (!view->prose[b])
            continue;
        if (item)
            draw_item(flow, block->number, view->prose[b]);
        else if (block->kind == LESSON_CODE)
            draw_code(flow, view->prose[b]);
        else if (block->kind == LESSON_ROW)
            b = draw_table(flow, step, b);
        else
            view_flow_text(flow, body_type(flow), view->prose[b]);
        bool more = item && b + 1 < step->n_blocks && step->block[b + 1].kind == LESSON_ITEM;
        view_flow_gap(flow, more ? 4 : 10);
    }
}

/* What is seen is not the lesson's run, or not all can be told of it. */
static void draw_notices(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    struct view_type small =
        view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text2);
    const struct view_flow_button back = {"Back to the lesson's run", "Back to the lesson's run",
                                          VIEW_LESSON_RETURN, 0, VIEW_BUTTON_REST};
    bool changed = view->changed && view->phase != VIEW_LESSON_BREAK;
    char text[VIEW_LESSON_TEXT + sizeof view->changes + 64];
    if (!view->trouble[0] && !changed)
        return;
    const char *trouble = view->trouble;
    bool asked = strncmp(trouble, "the ", 4) == 0; /* it says itself what cannot be */
    snprintf(text, sizeof text, "%s%s%s%s%s", changed ? view->changes : "",
             changed && trouble[0] ? " " : "",
             asked        ? "The "
             : trouble[0] ? "Not all can be told of this run: "
                          : "",
             asked ? trouble + 4 : trouble,
             trouble[0] && trouble[strlen(trouble) - 1] != '.' ? "." : "");
    view_flow_rule(flow);
    view_flow_text(flow, small, text);
    view_flow_gap(flow, 8);
    if (changed) {
        view_flow_buttons(flow, &back, 1);
        view_flow_gap(flow, 10);
    }
}

/* In windows with room for one panel, the one that the step is about is a click away. */
static void offer_panel(struct view_flow *flow, const struct lesson_step *step)
{
    const struct view_frame *frame = flow->scene->frame;
    if (frame->covered || flow->scene->layout.second_panel.w > 0 || strcmp(step->show.panel, "lesson") == 0)
        return;
    char text[48];
    bool meant = false;
    for (int p = 0; p < step->show.n_points; p++)
        meant = meant || strcmp(step->show.point[p], "panel") == 0;
    snprintf(text, sizeof text, "Look at %s", view_panel_names[frame->second_panel]);
    const struct view_flow_button look = {text, text, VIEW_PANEL, (int64_t)frame->second_panel,
                                          meant ? VIEW_BUTTON_ON : VIEW_BUTTON_REST};
    view_flow_buttons(flow, &look, 1);
}

void view_lesson_prose(struct view_flow *flow)
{
    const struct view_lesson *view = view_flow_lesson(flow);
    const struct lesson *lesson = view->lesson;
    if (view->step < lesson->n_steps) {
        draw_blocks(flow, &lesson->step[view->step]);
        draw_notices(flow);
        offer_panel(flow, &lesson->step[view->step]);
        return;
    }
    view_flow_text(flow, view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, flow->draw->theme->text2),
                   "What you now know");
    view_flow_gap(flow, 4);
    view_flow_text(flow, body_type(flow), lesson->now_you_know ? lesson->now_you_know : "");
    view_flow_gap(flow, 10);
    if (!view->next)
        return;
    char text[256];
    snprintf(text, sizeof text, "Next: %d  %s, %d min.", view->next->number, view->next->title,
             view->next->minutes);
    view_flow_text(flow, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text2),
                   text);
    view_flow_gap(flow, 10);
}
