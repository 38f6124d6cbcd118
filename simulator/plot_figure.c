#include "simulator/plot_figure.h"

#include <math.h>
#include <string.h>

static int algorithm_index(const struct sim_result *result)
{
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        if (fa_algorithms[a] == result->algorithm)
            return a;
    }
    return 0;
}

static double moved(const struct sim_result *result)
{
    return (double)sim_counters_read_all(&result->counters, &result->problem).elements +
           (double)sim_counters_write_all(&result->counters, &result->problem).elements;
}

double sim_figure_x(const struct sim_figure *figure, const struct sim_sweep_point *point)
{
    return (double)point->value[figure->x] / figure->x_unit;
}

static double visited_share(const struct sim_result *result)
{
    return result->tiles_total
               ? (double)result->counters.tiles_visited / (double)result->tiles_total
               : 1;
}

/*
 * The share of tiles visited at x: that of a flash algorithm's counted points (standard visits all
 * of them), between two points by a straight line. Without a mask it is 1 everywhere.
 */
static double share_at(const struct sim_sweep *sweep, const struct sim_figure *figure, double x)
{
    double before_x = -INFINITY, before = NAN, after_x = INFINITY, after = NAN;
    int chosen = -1;
    for (int i = 0; i < sweep->n_points; i++) {
        const struct sim_sweep_point *point = &sweep->points[i];
        int algorithm = algorithm_index(&point->result);
        if (point->status || point->result.algorithm == &fa_standard)
            continue;
        if (chosen < 0)
            chosen = algorithm;
        double at = sim_figure_x(figure, point);
        if (algorithm != chosen)
            continue;
        if (at <= x && at > before_x) {
            before_x = at;
            before = visited_share(&point->result);
        }
        if (at >= x && at < after_x) {
            after_x = at;
            after = visited_share(&point->result);
        }
    }
    if (isnan(before) && isnan(after))
        return 1;
    if (isnan(before) || isnan(after) || after_x <= before_x)
        return isnan(before) ? after : before;
    return before + (after - before) * (x - before_x) / (after_x - before_x);
}

/* The problem and capacity at x, from those that all points share. */
static void place_at(const struct sim_sweep *sweep, const struct sim_figure *figure, double x,
                     struct fa_problem *problem, uint64_t *sram_bytes)
{
    int64_t value = (int64_t)llround(x * figure->x_unit);
    *problem = figure->sample->result.problem;
    *sram_bytes = figure->sample->result.machine.sram_bytes;
    value = value < 1 ? 1 : value;
    switch (figure->x) {
    case SIM_SWEEP_N:
        problem->nq = problem->nk = value;
        return;
    case SIM_SWEEP_D:
        problem->d = value;
        if (sweep->dv_follows_d)
            problem->dv = value;
        return;
    case SIM_SWEEP_SRAM:
        *sram_bytes = (uint64_t)value;
        return;
    default:
        return;
    }
}

static void fill_curves(const struct sim_sweep *sweep, struct sim_figure *figure)
{
    double step = (log(figure->x_max) - log(figure->x_min)) / (SIM_CURVE_POINTS - 1);
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        struct sim_curve_point *point = &figure->curve[i];
        struct fa_problem problem;
        uint64_t sram_bytes;
        point->x = exp(log(figure->x_min) + i * step);
        place_at(sweep, figure, point->x, &problem, &sram_bytes);
        struct sim_bounds bounds =
            sim_bounds(&problem, sram_bytes, share_at(sweep, figure, point->x));
        double m = (double)sram_bytes / (double)fa_dtype_bytes(problem.dtype);
        double d = (double)problem.d, n = (double)problem.nk;
        point->y[SIM_CURVE_THETA] = bounds.theta;
        point->y[SIM_CURVE_FLOOR] = bounds.floor;
        point->y[SIM_CURVE_STANDARD] = bounds.standard;
        point->y[SIM_CURVE_COMPULSORY] = bounds.compulsory;
        point->tight = m >= d * d && m <= n * d;
    }
}

static void widen(double value, double *least, double *most)
{
    if (value > 0 && isfinite(value)) {
        *least = fmin(*least, value);
        *most = fmax(*most, value);
    }
}

static void find_y_range(const struct sim_sweep *sweep, struct sim_figure *figure)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {
        {1, ""}, {1e3, "thousand"}, {1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}};
    double least = INFINITY, most = 0;
    int u = 0;

    for (int i = 0; i < sweep->n_points; i++) {
        if (!sweep->points[i].status)
            widen(moved(&sweep->points[i].result), &least, &most);
    }
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        for (int c = 0; c < SIM_CURVES; c++) {
            if (c != SIM_CURVE_THETA || figure->curve[i].tight)
                widen(figure->curve[i].y[c], &least, &most);
        }
    }
    while (u < 4 && most >= 9e3 * units[u].unit)
        u++;
    figure->y_unit = units[u].unit;
    figure->y_unit_name = units[u].name;
    double margin = fmax(pow(most / least, 0.06), 1.15);
    figure->y_min = least / margin / units[u].unit;
    figure->y_max = most * margin / units[u].unit;
}

static double height_of(const struct sim_figure *figure, double elements)
{
    double low = log(figure->y_min), high = log(figure->y_max);
    double at = (log(elements / figure->y_unit) - low) / (high - low);
    return fmin(fmax(at, 0), 1);
}

static void add_label(struct sim_figure *figure, int algorithm, enum sim_curve curve,
                      double elements)
{
    if (!(elements > 0))
        return;
    double height = height_of(figure, elements);
    figure->label[figure->n_labels++] = (struct sim_figure_label){algorithm, curve, height, height};
}

/* Moves texts apart: from the lowest up, then from the top down where they left the axis. */
static void separate_labels(struct sim_figure *figure)
{
    struct sim_figure_label *label = figure->label;
    int n = figure->n_labels;
    for (int i = 1; i < n; i++) {
        struct sim_figure_label moving = label[i];
        int at = i;
        for (; at > 0 && label[at - 1].line > moving.line; at--)
            label[at] = label[at - 1];
        label[at] = moving;
    }
    /* A block of touching texts is centred on its lines: repeated small pushes find that place. */
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i + 1 < n; i++) {
            double missing = SIM_LABEL_HEIGHT - (label[i + 1].text - label[i].text);
            if (missing > 0) {
                label[i].text -= missing / 2;
                label[i + 1].text += missing / 2;
            }
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        double most = i == n - 1 ? 1 : label[i + 1].text - SIM_LABEL_HEIGHT;
        label[i].text = fmin(label[i].text, most);
    }
    for (int i = 0; i < n; i++) {
        double least = i == 0 ? 0 : label[i - 1].text + SIM_LABEL_HEIGHT;
        label[i].text = fmax(label[i].text, least);
    }
}

static void place_labels(const struct sim_sweep *sweep, struct sim_figure *figure)
{
    const struct sim_curve_point *end = &figure->curve[SIM_CURVE_POINTS - 1];
    figure->n_labels = 0;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        const struct sim_sweep_point *last = NULL;
        for (int i = 0; i < sweep->n_points; i++) {
            const struct sim_sweep_point *point = &sweep->points[i];
            if (!point->status && algorithm_index(&point->result) == a &&
                (!last || sim_figure_x(figure, point) > sim_figure_x(figure, last)))
                last = point;
        }
        if (last)
            add_label(figure, a, SIM_CURVES, moved(&last->result));
    }
    for (int c = 0; c < SIM_CURVES; c++)
        add_label(figure, -1, (enum sim_curve)c, end->y[c]);
    separate_labels(figure);
}

void sim_figure_make(const struct sim_sweep *sweep, enum sim_sweep_key x, struct sim_figure *figure)
{
    double least = INFINITY, most = 0;

    memset(figure, 0, sizeof *figure);
    figure->x = x;
    figure->x_unit = x == SIM_SWEEP_SRAM ? 1024 : 1;
    for (int i = 0; i < sweep->n_points; i++) {
        const struct sim_sweep_point *point = &sweep->points[i];
        int a = algorithm_index(&point->result);
        figure->present[a] = true;
        figure->counted[a] += point->status == FA_OK;
        figure->refused[a] += point->status != FA_OK;
        if (!point->status && !figure->sample)
            figure->sample = point;
        widen(sim_figure_x(figure, point), &least, &most);
    }
    /* A marker at an end keeps clear of the axis; one value alone gets an axis of some length. */
    double margin = most > least ? pow(most / least, 0.02) : 2;
    figure->x_min = least / margin;
    figure->x_max = most * margin;
    fill_curves(sweep, figure);
    find_y_range(sweep, figure);
    place_labels(sweep, figure);
}
