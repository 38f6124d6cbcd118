#include "visualizer/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The line's colour of a series: chrome is grey, and these are data. */
static struct view_color series_color(const struct view_theme *theme, int series)
{
    static const enum fa_tensor_id like[VIEW_PLOT_SERIES] = {FA_Q, FA_P, FA_K, FA_V};
    return view_tensor_look(theme, like[series]).line;
}

/* ---- curves ------------------------------------------------------------------------------ */

static void add_label(struct view_chart *c, const char *text, struct view_color color, float x,
                      float y)
{
    struct end_label *label = &c->labels[c->n_labels];
    if (c->n_labels >= LABELS)
        return;
    snprintf(label->text, sizeof label->text, "%s", text);
    label->color = color;
    label->x = x;
    label->y = label->at = y;
    c->n_labels++;
}

/* The part of a dashed line that lies in the area; returns whether its second end does. */
static bool draw_inside(const struct view_chart *c, float x0, float y0, float x1, float y1,
                        float dash, float gap)
{
    float top = c->area.y, bottom = c->area.y + c->area.h, low = fminf(y0, y1),
          high = fmaxf(y0, y1);
    bool ends = y1 >= top && y1 <= bottom;
    if (high < top || low > bottom)
        return false;
    float from = fminf(fmaxf(y0, top), bottom), to = fminf(fmaxf(y1, top), bottom);
    float slope = y1 == y0 ? 0 : (x1 - x0) / (y1 - y0);
    view_line_dashed(c->draw, x0 + (from - y0) * slope, from, ends ? x1 : x0 + (to - y0) * slope,
                     to, 1.5f, dash, gap, c->draw->theme->text2);
    return ends;
}

/* A bound over the points of the run's own series, its name at the end; where it leaves the
 * area before that, beside the place. */
void view_chart_bound(struct view_chart *c, const double *values, float dash, float gap,
                      const char *name)
{
    const struct view_plot_series *series = &c->plot->series[0];
    struct view_type type = view_chart_small(c->draw);
    float x = 0, y = 0;
    bool any = false, inside = false;
    for (int p = 0; p < series->n; p++) {
        if (!(values[p] > 0) || !isfinite(values[p]))
            continue;
        float px = view_chart_x(c, series->points[p].x), py = view_chart_y(c, values[p]);
        bool was = inside;
        if (any)
            inside = draw_inside(c, x, y, px, py, dash, gap);
        else
            inside = py >= c->area.y && py <= c->area.y + c->area.h;
        if (was && !inside && py > y) {
            struct view_box place = {x + 8, fminf(y, c->area.y + c->area.h - 18), 0, 17};
            place.w = ceilf(view_text_width(c->draw, type, name)) + 8;
            if (place.x + place.w <= c->area.x + c->area.w && c->n_plates < PLATES)
                c->plates[c->n_plates++] = (struct plate){place, name, type};
        }
        any = true, x = px, y = py;
    }
    if (inside)
        add_label(c, name, type.color, x, y);
}

void view_chart_series(struct view_chart *c, int s)
{
    const struct view_plot_series *series = &c->plot->series[s];
    struct view_color color = series_color(c->draw->theme, s);
    int last = -1;
    float x = 0, y = 0;
    for (int p = 0; p < series->n; p++) {
        const struct view_plot_point *point = &series->points[p];
        if (!point->counted || point->elements == 0)
            continue;
        float px = view_chart_x(c, point->x), py = view_chart_y(c, (double)point->elements);
        if (last >= 0)
            view_line(c->draw, x, y, px, py, 1.5f, color);
        last = p, x = px, y = py;
    }
    for (int p = 0; p < series->n; p++) {
        const struct view_plot_point *point = &series->points[p];
        if (point->counted && point->elements > 0)
            view_fill(c->draw,
                      view_box_make(roundf(view_chart_x(c, point->x)) - 3,
                                    roundf(view_chart_y(c, (double)point->elements)) - 3, 6, 6),
                      color);
    }
    if (last >= 0)
        add_label(c, series->algorithm->name, color, x, y);
}

int view_chart_refusals(const struct view_plot_series *series)
{
    int n = 0;
    for (int p = 0; p < series->n; p++)
        n += series->points[p].refused;
    return n;
}

/* Below the curves, a row of crosses for each series that met too little SRAM. */
void view_chart_refused(const struct view_chart *c, float left)
{
    const struct view_theme *theme = c->draw->theme;
    float y = c->strip.y;
    if (c->strip.h <= 0)
        return;
    view_text_in(c->draw, view_box_make(left, y, c->area.x - left - 8, STRIP_ROW), VIEW_RIGHT,
                 view_chart_small(c->draw), "no fit");
    for (int s = 0; s < c->plot->n_series; s++) {
        const struct view_plot_series *series = &c->plot->series[s];
        struct view_color color = series_color(theme, s);
        if (view_chart_refusals(series) == 0)
            continue;
        for (int p = 0; p < series->n; p++) {
            if (!series->points[p].refused)
                continue;
            float x = roundf(view_chart_x(c, series->points[p].x)), middle = y + STRIP_ROW / 2;
            view_line(c->draw, x - 3, middle - 3, x + 3, middle + 3, 1.5f, color);
            view_line(c->draw, x - 3, middle + 3, x + 3, middle - 3, 1.5f, color);
        }
        view_text_in(c->draw, view_box_make(c->names.x, y, c->names.w, STRIP_ROW), VIEW_LEFT,
                     view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, color), "%s",
                     series->algorithm->name);
        y += STRIP_ROW;
    }
}

/* ---- names at the ends ------------------------------------------------------------------- */

static void sort_labels(struct view_chart *c)
{
    for (int i = 1; i < c->n_labels; i++)
        for (int k = i; k > 0 && c->labels[k].y < c->labels[k - 1].y; k--) {
            struct end_label swap = c->labels[k];
            c->labels[k] = c->labels[k - 1];
            c->labels[k - 1] = swap;
        }
}

/* Pushes them apart, down and then up again from the bottom; drops the first ones, the
 * bounds, where all have no room. */
static void place_labels(struct view_chart *c)
{
    const float line = view_line_height(VIEW_SIZE_LABEL);
    float top = c->area.y - line / 2, bottom = c->area.y + c->area.h;
    while (c->n_labels > 0 && (float)c->n_labels * line > bottom - top)
        memmove(c->labels, c->labels + 1, (size_t)--c->n_labels * sizeof *c->labels);
    sort_labels(c);
    float least = top + line / 2;
    for (int n = 0; n < c->n_labels; n++) {
        c->labels[n].at = fmaxf(c->labels[n].y, least);
        least = c->labels[n].at + line;
    }
    float most = bottom - line / 2;
    for (int n = c->n_labels - 1; n >= 0; n--) {
        c->labels[n].at = fminf(c->labels[n].at, most);
        most = c->labels[n].at - line;
    }
}

void view_chart_labels(struct view_chart *c)
{
    const float line = view_line_height(VIEW_SIZE_LABEL);
    place_labels(c);
    for (int n = 0; n < c->n_labels; n++) {
        const struct end_label *label = &c->labels[n];
        struct view_box place = {c->names.x, floorf(label->at - line / 2), c->names.w, line};
        if (!view_text_in(c->draw, place, VIEW_LEFT,
                          view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, label->color), "%s",
                          label->text))
            continue;
        if (label->x < c->names.x - 12 || fabsf(label->at - label->y) > 2)
            view_line_dashed(c->draw, label->x + 5, label->y, c->names.x - 3, label->at, 1, 1, 3,
                             label->color);
    }
}

/* ---- the run itself ---------------------------------------------------------------------- */

/* How many of the points a plate there would hide. */
static int points_under(const struct view_chart *c, struct view_box plate)
{
    int n = 0;
    for (int s = 0; s < c->plot->n_series; s++)
        for (int p = 0; p < c->plot->series[s].n; p++) {
            const struct view_plot_point *point = &c->plot->series[s].points[p];
            if (point->counted && point->elements > 0)
                n += view_box_meets(
                    plate, view_box_make(view_chart_x(c, point->x) - 4,
                                         view_chart_y(c, (double)point->elements) - 4, 8, 8));
        }
    return n;
}

static bool on_plate(const struct view_chart *c, struct view_box box)
{
    for (int n = 0; n < c->n_plates; n++)
        if (view_box_meets(box, c->plates[n].box))
            return true;
    return false;
}

/* A ring on it, and its number on a plain plate where it lies inside the area. */
void view_chart_ring(struct view_chart *c, int which)
{
    const struct view_theme *theme = c->draw->theme;
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_LABEL, theme->text);
    char count[VIEW_COUNT_TEXT], *text = c->own[which];
    double x, y;

    if (!view_chart_own(c, which, &x, &y) || log(x) < c->x_low - 1e-9 || log(x) > c->x_high + 1e-9)
        return;
    float px = roundf(view_chart_x(c, x)), py = roundf(view_chart_y(c, y));
    view_frame_box(c->draw, view_box_make(px - 8, py - 8, 16, 16), 8, 2, theme->text);
    snprintf(text, sizeof c->own[which], "%s%s",
             c->scene->runs == 1 ? ""
             : which             ? "B "
                                 : "A ",
             view_count_exact((uint64_t)y, count));
    float w = ceilf(view_text_width(c->draw, bold, text)) + 8, h = 17;
    const struct view_box places[] = {
        {px + 10, py - 10 - h, w, h}, {px - 10 - w, py - 10 - h, w, h}, {px + 10, py + 10, w, h},
        {px - 10 - w, py + 10, w, h}, {px - w / 2, py - 12 - h, w, h},  {px - w / 2, py + 12, w, h},
    };
    int best = -1, least = 0;
    for (int n = 0; n < (int)(sizeof places / sizeof *places); n++) {
        struct view_box place = places[n], area = c->area;
        if (place.x < area.x || place.y < area.y || place.x + w > area.x + area.w ||
            place.y + h > area.y + area.h || on_plate(c, place))
            continue;
        int hidden = points_under(c, place);
        if (best < 0 || hidden < least) {
            best = n;
            least = hidden;
        }
    }
    if (best >= 0 && c->n_plates < PLATES)
        c->plates[c->n_plates++] = (struct plate){places[best], text, bold};
}

void view_chart_plates(const struct view_chart *c)
{
    for (int n = 0; n < c->n_plates; n++) {
        const struct plate *plate = &c->plates[n];
        view_fill_round(c->draw, plate->box, 3, c->draw->theme->panel);
        view_text_in(c->draw, plate->box, VIEW_CENTRE, plate->type, "%s", plate->text);
    }
}
