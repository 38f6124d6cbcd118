#include "visualizer/chart_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scales ------------------------------------------------------------------------------ */

float view_chart_x(const struct view_chart *c, double x)
{
    double range = c->x_high - c->x_low;
    double share = range > 0 ? (log(x) - c->x_low) / range : 0.5;
    return c->area.x + (float)share * c->area.w;
}

float view_chart_y(const struct view_chart *c, double y)
{
    double share = (log(y) - c->y_low) / (c->y_high - c->y_low);
    return c->area.y + c->area.h - (float)share * c->area.h;
}

static void meet_y(struct view_chart *c, double y)
{
    if (!(y > 0) || !isfinite(y))
        return;
    c->y_low = fmin(c->y_low, log(y));
    c->y_high = fmax(c->y_high, log(y));
}

/* What the run moved itself, of one head, and where it stands on the axis. False: it has no
 * place. */
bool view_chart_own(const struct view_chart *c, int which, double *x, double *y)
{
    const struct view_run *run = c->scene->moment[which].run;
    const struct sim_trace_header *header = view_run_header(run);
    const struct fa_problem *p = &header->problem;
    struct sim_state state;
    uint64_t heads = (uint64_t)p->batch * (uint64_t)p->heads;

    if (view_run_refused(run) || heads == 0)
        return false;
    view_run_state(run, view_run_length(run), &state);
    *y = (double)((sim_counters_read_all(&state.counters, p).elements +
                   sim_counters_write_all(&state.counters, p).elements) /
                  heads);
    *x = c->plot->axis == VIEW_PLOT_SRAM ? (double)header->sram_bytes
         : c->plot->axis == VIEW_PLOT_BR ? (double)header->tiles.br
         : p->nq == p->nk                ? (double)p->nq
                                         : 0;
    return *x > 0 && *y > 0;
}

static bool set_scales(struct view_chart *c)
{
    const double least = log(8);
    const struct view_plot *plot = c->plot;
    double x, y;

    c->x_low = c->y_low = INFINITY;
    c->x_high = c->y_high = -INFINITY;
    for (int s = 0; s < plot->n_series; s++)
        for (int p = 0; p < plot->series[s].n; p++) {
            const struct view_plot_point *point = &plot->series[s].points[p];
            c->x_low = fmin(c->x_low, log(point->x));
            c->x_high = fmax(c->x_high, log(point->x));
            if (point->counted)
                meet_y(c, (double)point->elements);
        }
    if (!isfinite(c->x_low) || !isfinite(c->y_low))
        return false;
    /* A bound that is far below everything would press the curves together: it leaves the area. */
    double far = exp(c->y_low) / 4;
    for (int p = 0; p < plot->series[0].n; p++) {
        if (plot->theta[p] > far)
            meet_y(c, plot->theta[p]);
        if (plot->floor[p] > far)
            meet_y(c, plot->floor[p]);
    }
    for (int which = 0; which < c->scene->runs; which++)
        if (view_chart_own(c, which, &x, &y) && log(x) >= c->x_low - 1e-9 &&
            log(x) <= c->x_high + 1e-9)
            meet_y(c, y);
    double room = fmax(least - (c->y_high - c->y_low), 0.1 * (c->y_high - c->y_low)) / 2;
    c->y_low -= room;
    c->y_high += room;
    return true;
}

/* ---- axes -------------------------------------------------------------------------------- */

/* "500", "20 000", "1 million", "3 billion": of an axis, where the exact number stands at the ring. */
static const char *tick_text(double value, char text[VIEW_COUNT_TEXT])
{
    static const char *const units[] = {"million", "billion", "trillion", "quadrillion"};
    int unit = 0;
    if (value < 999999.5)
        return view_count_text((uint64_t)round(value), text);
    for (value /= 1e6; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    snprintf(text, VIEW_COUNT_TEXT, "%.0f %s", value, units[unit]);
    return text;
}

static const char *x_text(enum view_plot_axis axis, double value, char text[VIEW_COUNT_TEXT])
{
    static const char *const units[] = {"B", "K", "M", "G", "T", "P", "E"};
    int unit = 0;
    if (axis != VIEW_PLOT_SRAM)
        return view_count_text((uint64_t)value, text);
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(text, VIEW_COUNT_TEXT, "%.0f %s%s", value, units[unit], unit ? "iB" : "");
    return text;
}

struct view_type view_chart_small(const struct view_draw *draw)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
}

/* Calls with each tick of the y axis, from the bottom: decades, and 2 and 5 where there are few. */
static int y_ticks(const struct view_chart *c, double ticks[64])
{
    static const double parts[] = {1, 2, 5};
    bool few = (c->y_high - c->y_low) / log(10) < 2.5;
    int n = 0, first = (int)floor(c->y_low / log(10)), last = (int)ceil(c->y_high / log(10));
    for (int decade = first; decade <= last; decade++)
        for (int part = 0; part < (few ? 3 : 1) && n < 64; part++) {
            double value = parts[part] * pow(10, decade);
            if (value >= 1 && log(value) >= c->y_low && log(value) <= c->y_high)
                ticks[n++] = value;
        }
    return n;
}

static float y_width(const struct view_chart *c)
{
    double ticks[64];
    char text[VIEW_COUNT_TEXT];
    float width = 0;
    for (int t = 0, n = y_ticks(c, ticks); t < n; t++)
        width = fmaxf(
            width, view_text_width(c->draw, view_chart_small(c->draw), tick_text(ticks[t], text)));
    return ceilf(width) + 8;
}

static void draw_y_axis(const struct view_chart *c, float left)
{
    const struct view_theme *theme = c->draw->theme;
    double ticks[64];
    char text[VIEW_COUNT_TEXT];
    float line = view_line_height(VIEW_SIZE_LABEL), last = INFINITY;
    for (int t = 0, n = y_ticks(c, ticks); t < n; t++) {
        float y = floorf(view_chart_y(c, ticks[t]));
        view_fill(c->draw, view_box_make(c->area.x, y, c->area.w, 1), theme->hair);
        if (last - y < line || y - line / 2 < c->area.y - line / 2 - 1)
            continue;
        struct view_box place = {left, y - line / 2, c->area.x - left - 8, line};
        if (view_text_in(c->draw, place, VIEW_RIGHT, view_chart_small(c->draw), "%s",
                         tick_text(ticks[t], text)))
            last = y;
    }
}

/* Every how many powers of two a tick has its number. */
static int x_stride(const struct view_chart *c)
{
    const struct view_plot_series *series = &c->plot->series[0];
    char text[VIEW_COUNT_TEXT];
    float widest = 0;
    double powers = (c->x_high - c->x_low) / log(2);
    for (int p = 0; p < series->n; p++)
        widest = fmaxf(widest, view_text_width(c->draw, view_chart_small(c->draw),
                                               x_text(c->plot->axis, series->points[p].x, text)));
    return powers > 0 ? (int)ceil((widest + 10) * powers / (double)c->area.w) : 1;
}

/* Ticks under the points of the first series, and the axis' name below. */
static void draw_x_axis(const struct view_chart *c, struct view_box below)
{
    static const char *const names[VIEW_PLOT_AXES] = {
        [VIEW_PLOT_SRAM] = "SRAM",
        [VIEW_PLOT_BR] = "Br, rows of Q in a tile",
        [VIEW_PLOT_N] = "N, queries and keys",
    };
    const struct view_theme *theme = c->draw->theme;
    const struct view_plot_series *series = &c->plot->series[0];
    char text[VIEW_COUNT_TEXT];
    float line = view_line_height(VIEW_SIZE_LABEL);
    int stride = x_stride(c), first = (int)lround(log2(series->points[0].x));

    view_fill(c->draw, view_box_make(c->area.x, below.y, c->area.w, 1), theme->edge);
    for (int p = 0; p < series->n; p++) {
        double x = series->points[p].x;
        if (log2(x) != floor(log2(x)))
            continue; /* the run's own value has a ring */
        float width =
            view_text_width(c->draw, view_chart_small(c->draw), x_text(c->plot->axis, x, text));
        float middle = view_chart_x(c, x);
        view_fill(c->draw, view_box_make(floorf(middle), below.y, 1, 4), theme->edge);
        if ((int)(log2(x) - first) % stride == 0 && middle + width / 2 <= below.x + below.w &&
            middle - width / 2 >= below.x)
            view_text(c->draw, middle, below.y + 5, VIEW_CENTRE, view_chart_small(c->draw), "%s",
                      text);
    }
    struct view_box name = {c->area.x, below.y + 5 + line, c->area.w, line};
    if (below.h >= 5 + 2 * line)
        view_text_in(c->draw, name, VIEW_CENTRE, view_chart_small(c->draw), "%s",
                     names[c->plot->axis]);
}

/* ---- the chart --------------------------------------------------------------------------- */

static float names_width(const struct view_chart *c)
{
    struct view_type type = view_chart_small(c->draw);
    float width = view_text_width(c->draw, type, "N²d²/M");
    for (int s = 0; s < c->plot->n_series; s++)
        width = fmaxf(width, view_text_width(c->draw, type, c->plot->series[s].algorithm->name));
    return ceilf(width) + 2;
}

void view_chart_draw(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    struct view_chart c = {.draw = draw, .scene = scene, .plot = scene->frame->plot};
    const float line = view_line_height(VIEW_SIZE_LABEL);
    int strips = 0;

    if (!c.plot || !set_scales(&c))
        return;
    bool low = box.h < 150; /* the curves before the axis' name and what was refused */
    for (int s = 0; s < c.plot->n_series && !low; s++)
        strips += view_chart_refusals(&c.plot->series[s]) > 0;
    c.names = view_cut_right(&box, names_width(&c));
    view_cut_right(&box, 14);
    float left = box.x;
    float axis = y_width(&c);
    if (strips > 0)
        axis = fmaxf(axis, ceilf(view_text_width(draw, view_chart_small(draw), "no fit")) + 8);
    view_cut_left(&box, axis);
    struct view_box below = view_cut_bottom(&box, 5 + (low ? 1 : 2) * line);
    c.strip = view_cut_bottom(&box, (float)(strips * STRIP_ROW));
    view_cut_top(&box, floorf(line / 2));
    if (strips > 0)
        view_cut_bottom(&box, 8);
    c.area = box;
    if (c.area.w < 60 || c.area.h < 36)
        return;
    draw_y_axis(&c, left);
    below.x = left;
    below.w = c.area.x + c.area.w + 14 + c.names.w - left;
    draw_x_axis(&c, below);
    view_chart_bound(&c, c.plot->theta, 6, 4, "N²d²/M");
    view_chart_bound(&c, c.plot->floor, 2, 3, "floor");
    for (int s = c.plot->n_series - 1; s >= 0; s--)
        view_chart_series(&c, s);
    view_chart_refused(&c, left);
    view_chart_labels(&c);
    for (int which = 0; which < scene->runs; which++)
        view_chart_ring(&c, which);
    view_chart_plates(&c);
}

/* ---- round it ---------------------------------------------------------------------------- */

const char *view_chart_title(enum view_plot_axis axis)
{
    static const char *const titles[VIEW_PLOT_AXES] = {
        [VIEW_PLOT_SRAM] = "Elements moved, over SRAM",
        [VIEW_PLOT_BR] = "Elements moved, over Br",
        [VIEW_PLOT_N] = "Elements moved, over N",
    };
    return titles[axis];
}

void view_chart_choices(struct view_flow *flow, const struct view_plot *plot)
{
    enum view_plot_axis axis = plot ? plot->axis : VIEW_PLOT_SRAM;
    const struct view_choice choices[] = {
        {"SRAM", "Plot over SRAM", VIEW_AXIS, VIEW_PLOT_SRAM, axis == VIEW_PLOT_SRAM, false},
        {"Br", "Plot over tile height", VIEW_AXIS, VIEW_PLOT_BR, axis == VIEW_PLOT_BR, false},
        {"N", "Plot over length", VIEW_AXIS, VIEW_PLOT_N, axis == VIEW_PLOT_N, false},
    };
    view_flow_choices(flow, choices, 3);
}

void view_chart_progress(struct view_flow *flow, const struct view_plot *plot)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, theme->text);
    struct view_box row;
    char text[128];

    if (plot && plot->done >= plot->in_all)
        return;
    if (!plot)
        snprintf(text, sizeof text, "Plot needs a count of runs like this one; none has begun.");
    else if (plot->seconds >= 1)
        snprintf(text, sizeof text, "Plot needs a count of %d runs, %.0f s: %d are done.",
                 plot->in_all, ceil(plot->seconds), plot->done);
    else
        snprintf(text, sizeof text, "Plot needs a count of %d runs: %d are done.", plot->in_all,
                 plot->done);
    view_flow_text(flow, type, text);
    if (view_flow_row(flow, 16, &row) && plot) {
        row = view_box_make(row.x, row.y + 5, row.w, 4);
        view_fill(flow->draw, row, theme->raised);
        row.w *= (float)plot->done / (float)plot->in_all;
        view_fill(flow->draw, row, theme->text);
    }
}

static bool any_point(const struct view_plot *plot, bool refused)
{
    for (int s = 0; s < plot->n_series; s++)
        for (int p = 0; p < plot->series[s].n; p++)
            if (refused ? plot->series[s].points[p].refused
                        : !plot->series[s].points[p].refused && !plot->series[s].points[p].counted)
                return true;
    return false;
}

void view_chart_caption(struct view_flow *flow, const struct view_plot *plot)
{
    struct view_type type = view_chart_small(flow->draw);
    const struct sim_experiment *e = plot ? &plot->experiment : NULL;
    char text[512];
    size_t n;

    if (!plot)
        return;
    n = (size_t)snprintf(text, sizeof text,
                         "One head. Squares: counted. Dashed lines: closed forms.%s",
                         any_point(plot, true) ? " Crosses: too little SRAM for the tile." : "");
    if (plot->axis == VIEW_PLOT_SRAM && e->tiles.policy == SIM_TILES_GIVEN && !e->problem.blocks)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            " Tiles: the largest square that fits; the ring is this run with its own.");
    if (plot->done >= plot->in_all && any_point(plot, false))
        snprintf(text + n, sizeof text - n, " %s",
                 e->problem.blocks ? "A block mask is made for its own tiles: others are left out."
                                   : "Runs of more than 4 million tiles are left out.");
    view_flow_text(flow, type, text);
}
