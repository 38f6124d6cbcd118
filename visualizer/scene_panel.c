#include "visualizer/panel_lesson.h"

#include <math.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------- */

struct view_box view_panel_inner(const struct view_scene *scene, struct view_box box)
{
    switch (scene->layout.class) {
    case VIEW_MINI:
        return view_box_inset(box, 12, 6);
    case VIEW_COMPACT:
        return view_box_inset(box, 16, 8);
    default:
        return view_box_inset(box, 20, 16);
    }
}

bool view_flow_row(struct view_flow *flow, float height, struct view_box *row)
{
    const float slack = 0.5f;
    *row = view_box_make(flow->x, flow->y, flow->w, height);
    flow->y += height;
    return !flow->measures && row->y >= flow->seen.y - slack &&
           row->y + height <= flow->seen.y + flow->seen.h + slack;
}

void view_flow_gap(struct view_flow *flow, float height)
{
    flow->y += height;
}

void view_flow_text(struct view_flow *flow, struct view_type type, const char *text)
{
    while (*text) {
        struct view_box row;
        size_t n = view_text_line(flow->draw, flow->w, type, text);
        if (view_flow_row(flow, view_line_height(type.size), &row) && n > 0)
            view_text(flow->draw, row.x, row.y, VIEW_LEFT, type, "%.*s", (int)n, text);
        text += n;
        if (*text == '\n')
            text++;
        while (n > 0 && *text == ' ')
            text++;
    }
}

void view_flow_heading(struct view_flow *flow, const char *text)
{
    view_flow_text(flow, view_type_make(VIEW_BOLD, VIEW_SIZE_HEADING, flow->draw->theme->text),
                   text);
    view_flow_gap(flow, 4);
}

void view_flow_rule(struct view_flow *flow)
{
    struct view_box row;
    if (view_flow_row(flow, 17, &row))
        view_fill(flow->draw, view_box_make(row.x, row.y + 8, row.w, 1), flow->draw->theme->hair);
}

void view_flow_pair(struct view_flow *flow, const char *words, struct view_type type,
                    const char *number, const char *exact)
{
    struct view_type plain = type;
    struct view_box row;
    if (type.style == VIEW_SANS)
        plain.color = flow->draw->theme->text2;
    float left = view_text_width(flow->draw, plain, words);
    float right = view_text_width(flow->draw, type, number);
    bool together = left + 12 + right <= flow->w;
    if (view_flow_row(flow, 20, &row)) {
        view_text_in(flow->draw, row, VIEW_LEFT, plain, "%s", words);
        if (exact)
            view_hit(flow->draw, row, VIEW_NOTHING, 0, false, exact);
        if (together)
            view_text_in(flow->draw, row, VIEW_RIGHT, type, "%s", number);
    }
    if (!together && view_flow_row(flow, 20, &row))
        view_text_in(flow->draw, row, VIEW_RIGHT, type, "%s", number);
}

bool view_flow_split(struct view_flow *flow, struct view_flow *second)
{
    const float least = 520, gap = 32;
    *second = *flow;
    if (flow->w < least || flow->w < flow->seen.h)
        return false;
    flow->w = floorf((flow->w - gap) / 2);
    second->x = flow->x + flow->w + gap;
    second->w = flow->w;
    return true;
}

static unsigned states_of(const struct view_choice *choice)
{
    return choice->on ? VIEW_BUTTON_ON : VIEW_BUTTON_REST;
}

void view_flow_choices(struct view_flow *flow, const struct view_choice *choices, int n)
{
    const float gap = 8, between = 16;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text);
    for (int i = 0; i < n;) {
        struct view_box row;
        bool shows = view_flow_row(flow, 28, &row);
        float x = row.x;
        for (int first = i; i < n; i++) {
            float width = ceilf(view_text_width(flow->draw, type, choices[i].text)) + 20;
            float start = i == first ? x : x + (choices[i].first ? between : gap);
            if (i > first && start + width > row.x + row.w)
                break;
            if (shows && width <= row.w)
                view_button_fit(flow->draw, flow->scene->frame, start, row.y,
                                states_of(&choices[i]), choices[i].action, choices[i].value,
                                choices[i].text, choices[i].label);
            x = start + width;
        }
        view_flow_gap(flow, 8);
    }
}

void view_flow_units(struct view_flow *flow)
{
    const struct view_frame *frame = flow->scene->frame;
    /* Each action turns its setting over, so the button that is on does nothing. */
    const struct view_choice choices[] = {
        {"elements", "Count elements", frame->bytes ? VIEW_UNITS : VIEW_NOTHING, 0, !frame->bytes,
         false},
        {"bytes", "Count bytes", frame->bytes ? VIEW_NOTHING : VIEW_UNITS, 1, frame->bytes, false},
        {"one head", "Count one head", frame->all_heads ? VIEW_HEADS : VIEW_NOTHING, 0,
         !frame->all_heads, true},
        {"all", "Count all heads", frame->all_heads ? VIEW_NOTHING : VIEW_HEADS, 1,
         frame->all_heads, false},
    };
    bool heads = false;
    for (int which = 0; which < flow->scene->runs; which++)
        heads = heads || view_run_heads(flow->scene->moment[which].run) > 1;
    view_flow_choices(flow, choices, heads ? 4 : 2);
}

void view_flow_cover(struct view_flow *flow)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_box row;
    if (view_flow_row(flow, 88, &row)) {
        view_plate(flow->draw, row, theme->raised, theme->hair);
        view_text_in(flow->draw, row, VIEW_CENTRE,
                     view_type_make(VIEW_BOLD, VIEW_SIZE_BIG, theme->text), "?");
    }
    view_flow_gap(flow, 8);
    view_flow_text(flow, view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text2),
                   "Covered while a question is open: this would answer it.");
}

/* Where in the rows the box stands, as a bar in its right margin. */
static void draw_scroll(struct view_draw *draw, struct view_box box, float scroll, float height)
{
    float length = fmaxf(box.h * box.h / height, 16);
    float y = box.y + (box.h - length) * scroll / (height - box.h);
    view_fill_round(draw, view_box_make(box.x + box.w + 5, y, 3, length), 1.5f, draw->theme->edge);
}

float view_panel_height(struct view_draw *draw, const struct view_scene *scene, float width,
                        void (*body)(struct view_flow *flow))
{
    struct view_flow flow = {draw, scene, {0, 0, width, 0}, 0, width, 0, true};
    body(&flow);
    return flow.y;
}

void view_panel_flow(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                     void (*body)(struct view_flow *flow))
{
    view_panel_flow_in(draw, scene, view_panel_inner(scene, box), body);
}

void view_panel_flow_in(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box inner, void (*body)(struct view_flow *flow))
{
    struct view_flow flow;
    if (inner.w < 60 || inner.h < 17)
        return;
    float height = view_panel_height(draw, scene, inner.w, body);
    float most = fmaxf(height - inner.h, 0);
    float scroll = floorf(fminf(fmaxf(scene->frame->scroll, 0), most));
    draw->scroll_most = fmaxf(draw->scroll_most, most);
    flow = (struct view_flow){draw, scene, inner, inner.x, inner.w, inner.y - scroll, false};
    body(&flow);
    if (most > 1 && inner.h > 32)
        draw_scroll(draw, inner, scroll, height);
}

/* ---- tabs -------------------------------------------------------------------------------- */

static float tab_height(const struct view_scene *scene)
{
    return scene->layout.class == VIEW_MINI ? 28 : scene->layout.class == VIEW_COMPACT ? 32 : 36;
}

static void draw_tab(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                     struct view_box text, enum view_panel panel, bool on, bool second)
{
    const struct view_theme *theme = draw->theme;
    const struct view_frame *frame = scene->frame;
    bool hover = view_box_has(box, frame->pointer_x, frame->pointer_y);
    struct view_type type = view_type_make(on ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_CONTROL,
                                           on || hover ? theme->text : theme->text2);
    view_text_in(draw, text, VIEW_CENTRE, type, "%s", view_panel_names[panel]);
    if (on)
        view_fill(draw, view_box_make(text.x, box.y + box.h - 3, text.w, 3), theme->text);
    if (frame->focus >= 0)
        view_focus_ring(draw, frame, view_box_inset(text, -2, 5));
    view_hit(draw, box, VIEW_PANEL, (int64_t)panel + (second ? VIEW_SECOND_PANEL : 0), false,
             view_panel_names[panel]);
}

/* The names from the left margin to the right one, or, in a sheet, from the left. */
static void draw_tabs(struct view_draw *draw, const struct view_scene *scene, struct view_box row,
                      enum view_panel panel, bool second)
{
    float widths[VIEW_PANELS], all = 0;
    int n = 0, panels[VIEW_PANELS];
    struct view_box inner = view_panel_inner(scene, row);
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_CONTROL, draw->theme->text);
    while (n < VIEW_PANELS && view_panel_at(scene->frame, n) >= 0) {
        panels[n] = view_panel_at(scene->frame, n);
        all += widths[n] = ceilf(view_text_width(draw, bold, view_panel_names[panels[n]]));
        n++;
    }
    float gap = floorf((inner.w - all) / (float)(n - 1));
    if (gap < 4) { /* Too narrow for all: the open one's name, if that fits. */
        view_text_in(draw, row, VIEW_CENTRE, bold, "%s", view_panel_names[panel]);
        return;
    }
    gap = fminf(gap, 72);
    float x = inner.x;
    for (int p = 0; p < n; p++) {
        struct view_box text = view_box_make(x, row.y, widths[p], row.h);
        struct view_box box = view_box_make(x - fminf(gap / 2, inner.x - row.x), row.y,
                                            widths[p] + fminf(gap, 2 * (inner.x - row.x)), row.h);
        draw_tab(draw, scene, box, text, (enum view_panel)panels[p], panels[p] == (int)panel,
                 second);
        x += widths[p] + gap;
    }
}

void view_scene_panel(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                      enum view_panel panel, bool second)
{
    static void (*const panels[VIEW_PANELS])(struct view_draw *, const struct view_scene *,
                                             struct view_box) = {
        [VIEW_PANEL_CODE] = view_panel_code,
        [VIEW_PANEL_TRAFFIC] = view_panel_traffic,
        [VIEW_PANEL_PLOT] = view_panel_plot,
        [VIEW_PANEL_CHECK] = view_panel_check,
        [VIEW_PANEL_LESSON] = view_panel_lesson,
    };
    const struct view_theme *theme = draw->theme;
    bool beside = scene->layout.beside;

    if (box.w < 2 || box.h < 2)
        return;
    view_fill(draw, box, theme->panel);
    if (beside)
        view_fill(draw, view_box_make(box.x, box.y, 1, box.h), theme->hair);
    if (!beside || second)
        view_fill(draw, view_box_make(box.x, box.y, box.w, 1), theme->hair);
    struct view_box row = view_cut_top(&box, tab_height(scene));
    if (row.h < tab_height(scene))
        return;
    view_fill(draw, view_box_make(row.x, row.y + row.h - 1, row.w, 1), theme->hair);
    bool lesson = panel == VIEW_PANEL_LESSON && view_panel_at(scene->frame, 0) == VIEW_PANEL_LESSON;
    if (!beside && lesson && scene->layout.class == VIEW_COMPACT && scene->layout.stage.w > 0) {
        /* A sheet is low: the steps stand beside the tabs. */
        struct view_box steps = view_cut_right(&row, fmaxf(280, floorf(row.w * 0.45f)));
        view_cut_right(&steps, 16);
        view_lesson_steps(draw, scene, steps);
    }
    draw_tabs(draw, scene, row, panel, second);
    panels[panel](draw, scene, box);
}
