#include "visualizer/panel_code.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct view_type view_listing_type(const struct view_listing *l, enum view_style style, float size)
{
    return view_type_make(style, size, l->draw->theme->text);
}

/* The ground and bar of what runs now. */
void view_listing_mark(const struct view_listing *l, float y, float height)
{
    const struct view_theme *theme = l->draw->theme;
    view_fill(l->draw, view_box_make(l->box.x - 8, y, l->box.w + 16, height), theme->raised);
    view_fill(l->draw, view_box_make(l->box.x - 8, y, 3, height), theme->text);
}

/* Elements can be told from a line's bytes alone where all of them take as many. */
static struct view_measure unit_of(const struct view_scene *scene, const struct view_run *run)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    bool alike = fa_dtype_bytes(fa_hbm_format(problem, FA_LSE)) == fa_dtype_bytes(problem->dtype) &&
                 !problem->mask;
    return view_measure_of(run, scene->frame->bytes || !alike);
}

/* Bytes at the right end of a row; returns the width that they take. */
float view_listing_bytes_width(const struct view_listing *l, uint64_t bytes)
{
    char text[VIEW_COUNT_TEXT];
    struct view_measure unit = unit_of(l->scene, l->moment->run);
    if (bytes == 0 || l->scene->frame->covered)
        return 0;
    return ceilf(view_text_width(l->draw, view_listing_type(l, VIEW_SANS, VIEW_SIZE_LABEL),
                                 view_count_text(view_in_units(unit, bytes), text))) +
           12;
}

void view_listing_bytes(const struct view_listing *l, struct view_box row, uint64_t bytes)
{
    char text[VIEW_COUNT_TEXT], exact[VIEW_COUNT_TEXT], label[VIEW_COUNT_TEXT + 16];
    struct view_type type = view_listing_type(l, VIEW_SANS, VIEW_SIZE_LABEL);
    struct view_measure unit = unit_of(l->scene, l->moment->run);
    uint64_t count = view_in_units(unit, bytes);
    if (bytes == 0 || l->scene->frame->covered)
        return;
    view_text_in(l->draw, row, VIEW_RIGHT, type, "%s", view_count_text(count, text));
    if (strcmp(view_count_exact(count, exact), text) != 0) {
        snprintf(label, sizeof label, "%s %s", exact, unit.name);
        view_hit(l->draw, row, VIEW_NOTHING, 0, false, label);
    }
}

/* What the code is of: its file, or the algorithm's name. */
static const char *name_of(const struct view_scene *scene, int which, char text[SIM_PASS_TITLE])
{
    const struct sim_trace_header *header = view_run_header(scene->moment[which].run);
    return scene->frame->c_code ? header->algorithm->file : sim_trace_pass_title(header, text);
}

static struct view_type name_type(const struct view_draw *draw)
{
    return view_type_make(VIEW_BOLD, VIEW_SIZE_CONTROL, draw->theme->text2);
}

/* The two buttons, what the numbers at the right are, and between them the name, if it is one run's
 * and has room: true then. */
static bool draw_choice(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box *inner)
{
    const struct view_frame *frame = scene->frame;
    const struct view_choice choices[] = {
        {"Paper’s steps", "Show the paper’s steps", VIEW_CODE_TEXT, 0, !frame->c_code, false},
        {"Our C", "Show our C", VIEW_CODE_TEXT, 1, frame->c_code, false},
    };
    struct view_flow flow = {draw, scene, *inner, inner->x, inner->w, inner->y, false};
    struct view_type small = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    struct view_type control = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, draw->theme->text);
    bool of_bytes = unit_of(scene, scene->moment[0].run).size == 1;
    const char *bytes = of_bytes ? "bytes moved by the line" : "elements moved by the line";
    char title[SIM_PASS_TITLE];
    float buttons = 48 + view_text_width(draw, control, choices[0].text) +
                    view_text_width(draw, control, choices[1].text);

    view_flow_choices(&flow, choices, 2);
    struct view_box row = view_cut_top(inner, flow.y - inner->y);
    row.h = 28;
    view_cut_left(&row, buttons + 16);
    if (view_text_width(draw, small, bytes) > row.w)
        bytes = of_bytes ? "bytes so far" : "elements so far";
    if (!frame->covered && view_text_in(draw, row, VIEW_RIGHT, small, "%s", bytes))
        view_cut_right(&row, view_text_width(draw, small, bytes) + 16);
    return scene->runs == 1 &&
           view_text_in(draw, row, VIEW_LEFT, name_type(draw), "%s", name_of(scene, 0, title));
}

static void draw_listing(struct view_draw *draw, const struct view_scene *scene, int which,
                         bool named, struct view_box box)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_listing l = {draw,
                             scene,
                             moment,
                             view_run_header(moment->run)->algorithm,
                             moment->next ? moment->next : moment->last,
                             box,
                             0};
    char title[SIM_PASS_TITLE];

    if (!named) {
        struct view_box row = view_cut_top(&l.box, 24);
        if (row.h < 24)
            return;
        row.h = 22;
        if (scene->runs == 2) {
            struct view_type letter = view_listing_type(&l, VIEW_BOLD, VIEW_SIZE_CONTROL);
            view_text_in(draw, view_cut_left(&row, 20), VIEW_LEFT, letter, which ? "B" : "A");
        }
        view_text_in(draw, row, VIEW_LEFT, name_type(draw), "%s", name_of(scene, which, title));
    }
    if (scene->frame->c_code)
        view_listing_c(&l);
    else
        view_listing_steps(&l);
}

void view_panel_code(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    struct view_box inner = view_panel_inner(scene, box), second;
    /* What runs comes before what it is called, and that before how it is shown. */
    const float choice = 36, title = 24, least = 42;
    bool named = false;
    if (inner.w < 120 || inner.h < 20)
        return;
    if (inner.h >= choice + least)
        named = draw_choice(draw, scene, &inner);
    named = named || (scene->runs == 1 && inner.h < title + least);
    if (scene->runs == 1) {
        draw_listing(draw, scene, 0, named, inner);
        return;
    }
    if (inner.w >= 560) {
        second = view_cut_right(&inner, floorf((inner.w - 32) / 2));
        view_cut_right(&inner, 32);
    } else {
        second = view_cut_bottom(&inner, floorf(inner.h / 2));
        view_cut_bottom(&inner, 8);
    }
    draw_listing(draw, scene, 0, false, inner);
    draw_listing(draw, scene, 1, false, second);
}
