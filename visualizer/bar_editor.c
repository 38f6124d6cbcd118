/* The popup that edits an option of the run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/bar_parts.h"

enum { ROW = 28, LEAST_WIDTH = 176 };

static float width_of(const struct view_draw *draw, const char *text)
{
    return ceilf(view_text_width(
        draw, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, draw->theme->text), text));
}

/* A value of the command line as it is read: "1 024", "16 KiB", "8 × 4"; a flag's two states are
 * the words of a switch. */
enum { CHOICE_TEXT = 80 };
static const char *choice_text(const char *choice, char text[CHOICE_TEXT])
{
    char *end = NULL;
    long first = strtol(choice, &end, 10), second;
    if (end == choice || first < 0)
        return choice[0] == '\0' ? "off" : strcmp(choice, "yes") == 0 ? "on" : choice;
    if (*end == '\0')
        snprintf(text, CHOICE_TEXT, "%s", SIM_GROUPED(first));
    else if (strcmp(end, "K") == 0)
        snprintf(text, CHOICE_TEXT, "%s KiB", SIM_GROUPED(first));
    else if (*end == 'x' && (second = strtol(end + 1, &end, 10)) > 0 && *end == '\0')
        snprintf(text, CHOICE_TEXT, "%s × %s", SIM_GROUPED(first), SIM_GROUPED(second));
    else
        return choice;
    return text;
}

static int count_of(const struct view_option *option)
{
    int n = 0;
    while (option->choices && option->choices[n])
        n++;
    return n;
}

static void draw_choices(struct view_draw *draw, const struct view_frame *frame,
                         struct view_box box, int columns)
{
    const struct view_option *option = &frame->options[frame->open_chip];
    int n = count_of(option), rows = (n + columns - 1) / columns;
    float width = box.w / (float)columns;

    for (int c = 0; c < n; c++) {
        struct view_box cell = {box.x + width * (float)(c / rows), box.y + ROW * (float)(c % rows),
                                width, ROW};
        bool now = strcmp(option->choices[c], option->value) == 0;
        char text[CHOICE_TEXT], label[112];
        const char *shown = choice_text(option->choices[c], text);
        snprintf(label, sizeof label, "%s %s", option->name, shown);
        view_button(draw, frame, cell, now ? VIEW_BUTTON_QUIET | VIEW_BUTTON_ON : VIEW_BUTTON_QUIET,
                    VIEW_CHIP_VALUE, c, shown, label);
    }
}

/* The typed value with its caret, and what Enter and Esc do. */
static void draw_field(struct view_draw *draw, const struct view_frame *frame, struct view_box box)
{
    const struct view_theme *theme = draw->theme;
    const struct view_option *option = &frame->options[frame->open_chip];
    struct view_type mono = view_type_make(VIEW_MONO, VIEW_SIZE_CONTROL, theme->text);
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, theme->text2);
    const char *typed = frame->edit_text ? frame->edit_text : "";
    float width = view_text_width(draw, mono, typed);
    struct view_box head = view_cut_top(&box, 20), field = view_cut_top(&box, 28);

    view_text_in(draw, head, VIEW_LEFT, small, "%s", option->name);
    view_fill_round(draw, field, 4, theme->bg);
    view_frame_box(draw, field, 4, 1, theme->text);
    struct view_box inside = view_box_inset(field, 8, 0);
    /* Of a long value the end is seen: that is where one types. */
    while (width > inside.w - 2 && *typed) {
        typed++;
        while ((*typed & 0xC0) == 0x80)
            typed++;
        width = view_text_width(draw, mono, typed);
    }
    view_text_in(draw, inside, VIEW_LEFT, mono, "%s", typed);
    view_fill(draw, view_box_make(inside.x + ceilf(width) + 1, field.y + 6, 1.5f, 16), theme->text);
    view_hit(draw, field, VIEW_NOTHING, 0, false, option->name);
    view_text_in(draw, box, VIEW_LEFT, small, "Enter runs it, Esc keeps it");
}

/* The options without room in the bar, in columns; the one being edited is on. */
static void draw_options(struct view_draw *draw, const struct view_frame *frame,
                         struct view_box box, const int *options, int n, int columns)
{
    int rows = (n + columns - 1) / columns;
    float width = box.w / (float)columns;
    for (int h = 0; h < n; h++) {
        const struct view_option *option = &frame->options[options[h]];
        const char *text = option->label[0] ? option->label : option->name;
        struct view_box cell = {box.x + width * (float)(h / rows), box.y + ROW * (float)(h % rows),
                                width, ROW};
        char label[112];
        snprintf(label, sizeof label, "Change %s", text);
        view_button(draw, frame, cell,
                    !option->editable                 ? VIEW_BUTTON_QUIET | VIEW_BUTTON_OFF
                    : options[h] == frame->open_chip ? VIEW_BUTTON_QUIET | VIEW_BUTTON_ON
                                                     : VIEW_BUTTON_QUIET,
                    VIEW_CHIP, options[h], text, label);
    }
}

/* Columns so that n rows of 28 do not pass the height. */
static int columns_for(int n, float height)
{
    int rows = (int)(height / ROW);
    return rows < 1 ? n : (n + rows - 1) / rows;
}

void view_bar_editor(struct view_draw *draw, const struct view_scene *scene, struct view_box anchor,
                     const int *options, int n)
{
    const struct view_frame *frame = scene->frame;
    const struct view_option *option = &frame->options[frame->open_chip];
    int choices = count_of(option);
    float top = anchor.y + anchor.h + 6, room = fmaxf(ROW, frame->height - top - 20);
    float field = choices > 0 ? 0 : 72, widest = LEAST_WIDTH - 24;

    for (int h = 0; h < n; h++) {
        const struct view_option *other = &frame->options[options[h]];
        widest = fmaxf(widest, width_of(draw, other->label[0] ? other->label : other->name));
    }
    for (int c = 0; c < choices; c++) {
        char text[CHOICE_TEXT];
        widest = fmaxf(widest, width_of(draw, choice_text(option->choices[c], text)));
    }
    float cell = widest + 24;
    int option_columns = n > 0 ? columns_for(n, (room - field) * (choices > 0 ? 0.5f : 1)) : 1;
    float listed = n > 0 ? ROW * (float)((n + option_columns - 1) / option_columns) + 9 : 0;
    int choice_columns = choices > 0 ? columns_for(choices, room - listed) : 1;
    int rows = choices > 0 ? (choices + choice_columns - 1) / choice_columns : 0;
    int columns = option_columns > choice_columns ? option_columns : choice_columns;
    struct view_box box = {anchor.x, top, cell * (float)columns + 8,
                           listed + field + ROW * (float)rows + 8};

    box.w = fminf(box.w, frame->width - 8);
    box.x = fmaxf(4, fminf(box.x, frame->width - box.w - 4));
    draw->layer = VIEW_POPUP;
    view_plate(draw, box, draw->theme->panel, draw->theme->edge);
    view_hit(draw, box, VIEW_NOTHING, 0, false, NULL);
    box = view_box_inset(box, 4, 4);
    if (n > 0) {
        draw_options(draw, frame, view_cut_top(&box, listed - 9), options, n, option_columns);
        view_cut_top(&box, 4);
        view_fill(draw, view_cut_top(&box, 1), draw->theme->hair);
        view_cut_top(&box, 4);
    }
    if (choices > 0)
        draw_choices(draw, frame, box, choice_columns);
    else
        draw_field(draw, frame, view_box_inset(box, 8, 0));
    draw->layer = VIEW_BASE;
}
