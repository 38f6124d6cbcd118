#include "visualizer/sheet.h"

#include <math.h>

static struct view_type sans(const struct view_draw *draw, float size)
{
    return view_type_make(VIEW_SANS, size, draw->theme->text2);
}

float view_sheet_button_width(const struct view_draw *draw, unsigned states, const char *text)
{
    struct view_type type = sans(draw, VIEW_SIZE_CONTROL);
    if (states & VIEW_BUTTON_PRIMARY)
        type.style = VIEW_BOLD;
    return fmaxf(28, ceilf(view_text_width(draw, type, text)) + 20);
}

void view_sheet_bar_button(struct view_sheet *sheet, enum view_action action, int64_t value,
                           const char *text, const char *label)
{
    float width = view_sheet_button_width(sheet->draw, 0, text);
    if (width > sheet->bar.w)
        return;
    struct view_box box = view_cut_right(&sheet->bar, width);
    view_button(sheet->draw, sheet->frame, view_box_make(box.x, box.y + 6, box.w, 28),
                VIEW_BUTTON_QUIET, action, value, text, label);
}

static void draw_bar(struct view_sheet *sheet, bool back, const char *name)
{
    struct view_draw *draw = sheet->draw;
    const struct view_theme *theme = draw->theme;
    struct view_box box = {0, 0, sheet->frame->width, VIEW_SHEET_BAR};
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, theme->text);

    view_fill(draw, box, theme->panel);
    view_fill(draw, view_box_make(0, VIEW_SHEET_BAR - 1, box.w, 1), theme->hair);
    sheet->bar = view_box_inset(box, sheet->frame->width < 640 ? 6 : 12, 0);
    if (back) {
        struct view_box way = view_cut_left(&sheet->bar, 28);
        way = view_box_make(way.x, 6, 28, 28);
        struct view_color ink =
            view_button(draw, sheet->frame, way, VIEW_BUTTON_QUIET | VIEW_BUTTON_ICON, VIEW_PAGE,
                        VIEW_PAGE_CONTENTS, NULL, "Back to the lessons");
        view_arrow(draw, way.x + 21, way.y + 14, way.x + 7, way.y + 14, 2, ink);
        view_cut_left(&sheet->bar, 8);
    } else {
        /* A tile of scores among its neighbours: the program's sign. */
        float x = sheet->bar.x + 4, y = 14;
        for (int tile = 0; tile < 4; tile++)
            view_fill(draw,
                      view_box_make(x + (float)(tile % 2) * 7, y + (float)(tile / 2) * 7, 5, 5),
                      tile == 1 ? view_tensor_look(theme, FA_S).fill : theme->text);
        view_cut_left(&sheet->bar, 24);
    }
    float width = ceilf(view_text_width(draw, bold, name));
    view_text_in(draw, view_cut_left(&sheet->bar, width + 12), VIEW_LEFT, bold, "%s", name);
    view_sheet_bar_button(sheet, VIEW_HELP, 0, "?", "Keys and signs");
    view_sheet_bar_button(sheet, VIEW_THEME, 0, "Theme", "Change the theme");
}

void view_sheet_open(struct view_sheet *sheet, struct view_draw *draw,
                     const struct view_scene *scene, bool back, const char *name, float height)
{
    const struct view_frame *frame = scene->frame;
    float most;

    sheet->draw = draw;
    sheet->frame = frame;
    sheet->lesson = frame->lesson;
    sheet->view =
        view_box_make(0, VIEW_SHEET_BAR, frame->width, fmaxf(0, frame->height - VIEW_SHEET_BAR));
    most = fmaxf(0, ceilf(height - sheet->view.h));
    sheet->scroll = floorf(fminf(fmaxf(frame->scroll, 0), most));
    draw->scroll_most = fmaxf(draw->scroll_most, most);
    view_fill(draw, view_box_make(0, 0, frame->width, frame->height), draw->theme->bg);
    view_hit(draw, view_box_make(0, 0, frame->width, frame->height), VIEW_NOTHING, 0, false, NULL);
    draw_bar(sheet, back, name);
    view_clip(draw, sheet->view);
}

void view_sheet_close(struct view_sheet *sheet)
{
    struct view_draw *draw = sheet->draw;
    struct view_box view = sheet->view;
    float most = draw->scroll_most;

    view_clip_none(draw);
    if (most <= 0 || view.h < 32)
        return;
    float length = fmaxf(24, view.h * view.h / (view.h + most));
    view_fill_round(
        draw,
        view_box_make(view.w - 6, view.y + (view.h - length) * sheet->scroll / most, 3, length),
        1.5f, draw->theme->edge);
}

bool view_sheet_shows(const struct view_sheet *sheet, struct view_box box)
{
    return box.y >= sheet->view.y && box.y + box.h <= sheet->view.y + sheet->view.h;
}

bool view_sheet_line(const struct view_sheet *sheet, struct view_box box, enum view_align align,
                     struct view_type type, const char *text)
{
    if (view_text_width(sheet->draw, type, text) > box.w + 0.5f)
        return false;
    float height = view_line_height(type.size);
    if (view_sheet_shows(sheet, view_box_make(box.x, box.y + (box.h - height) / 2, 1, height)))
        view_text_in(sheet->draw, box, align, type, "%s", text);
    return true;
}

float view_sheet_text(const struct view_sheet *sheet, struct view_box box, struct view_type type,
                      const char *text)
{
    float line = view_line_height(type.size), y = box.y;
    while (*text) {
        size_t n = view_text_line(sheet->draw, box.w, type, text);
        if (n == 0)
            break;
        if (view_sheet_shows(sheet, view_box_make(box.x, y, box.w, line)))
            view_text(sheet->draw, box.x, y, VIEW_LEFT, type, "%.*s", (int)n, text);
        y += line;
        text += n;
        while (*text == ' ' || *text == '\n')
            text++;
    }
    return y - box.y;
}

void view_sheet_hit(const struct view_sheet *sheet, struct view_box box, enum view_action action,
                    int64_t value, const char *label)
{
    float top = fmaxf(box.y, sheet->view.y);
    float bottom = fminf(box.y + box.h, sheet->view.y + sheet->view.h);
    if (bottom - top < 28)
        return;
    box.y = top;
    box.h = bottom - top;
    view_focus_ring(sheet->draw, sheet->frame, box);
    view_hit(sheet->draw, box, action, value, false, label);
}

void view_sheet_button(const struct view_sheet *sheet, struct view_box box, unsigned states,
                       enum view_action action, int64_t value, const char *text, const char *label)
{
    if (view_sheet_shows(sheet, box))
        view_button(sheet->draw, sheet->frame, box, states, action, value, text, label);
}
