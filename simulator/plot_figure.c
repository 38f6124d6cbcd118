#include "simulator/plot_figure.h"

#include <math.h>
#include <string.h>

/* A range of so many decades has no unit in which its ticks are short numbers. */
#define SCIENTIFIC_DECADES 4.5

/* Of the plot's width, with some room. */
#define ROOT_NAME_WIDTH 0.1

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

/* The problem and capacity where x is `value` ones or bytes, from those that all points share. */
static void place_at(const struct sim_sweep *sweep, const struct sim_figure *figure, double value,
                     struct fa_problem *problem, uint64_t *sram_bytes)
{
    int64_t whole = value < 1 ? 1 : (int64_t)value;
    *problem = figure->sample->result.problem;
    *sram_bytes = figure->sample->result.machine.sram_bytes;
    switch (figure->x) {
    case SIM_SWEEP_N:
        problem->nq = problem->nk = whole;
        return;
    case SIM_SWEEP_D:
        problem->d = whole;
        if (sweep->dv_follows_d)
            problem->dv = whole;
        return;
    case SIM_SWEEP_SRAM:
        *sram_bytes = (uint64_t)whole;
        return;
    default:
        return;
    }
}

static void bounds_at(const struct sim_sweep *sweep, const struct sim_figure *figure, double value,
                      double share, double y[SIM_CURVES])
{
    struct fa_problem problem;
    uint64_t sram_bytes;
    place_at(sweep, figure, value, &problem, &sram_bytes);
    struct sim_bounds bounds = sim_bounds(&problem, sram_bytes, share);
    y[SIM_CURVE_THETA] = bounds.theta;
    y[SIM_CURVE_ROOT] = bounds.root;
    y[SIM_CURVE_FLOOR] = bounds.floor;
    y[SIM_CURVE_STANDARD] = bounds.standard;
    y[SIM_CURVE_COMPULSORY] = bounds.compulsory;
}

/* Sizes are whole numbers: between two of them a curve is straight, not a step. */
static void fill_point(const struct sim_sweep *sweep, const struct sim_figure *figure,
                       struct sim_curve_point *point)
{
    double value = point->x * figure->x_unit, share = share_at(sweep, figure, point->x);
    double near = round(value);
    if (figure->x == SIM_SWEEP_SRAM || value <= 1 || fabs(value - near) < 1e-9 * value) {
        bounds_at(sweep, figure, near, share, point->y);
        return;
    }
    double before[SIM_CURVES], after[SIM_CURVES], low = floor(value), high = low + 1;
    double part = log(value / low) / log(high / low);
    bounds_at(sweep, figure, low, share, before);
    bounds_at(sweep, figure, high, share, after);
    for (int c = 0; c < SIM_CURVES; c++)
        point->y[c] = before[c] * pow(after[c] / before[c], part);
}

/* M in elements and d and N at x, as real numbers. */
static void sizes_at(const struct sim_figure *figure, double x, double *m, double *d, double *n)
{
    const struct sim_result *sample = &figure->sample->result;
    double value = x * figure->x_unit, bytes = (double)fa_dtype_bytes(sample->problem.dtype);
    *m = (figure->x == SIM_SWEEP_SRAM ? value : (double)sample->machine.sram_bytes) / bytes;
    *d = figure->x == SIM_SWEEP_D ? value : (double)sample->problem.d;
    *n = figure->x == SIM_SWEEP_N ? value : (double)sample->problem.nk;
}

static void find_corners(struct sim_figure *figure)
{
    double m, d, n, bytes = (double)fa_dtype_bytes(figure->sample->result.problem.dtype);
    double *corner = figure->corner;
    sizes_at(figure, 1 / figure->x_unit, &m, &d, &n);
    corner[SIM_CORNER_DD] = corner[SIM_CORNER_ND] = NAN;
    if (figure->x == SIM_SWEEP_SRAM) {
        corner[SIM_CORNER_DD] = d * d * bytes / figure->x_unit;
        corner[SIM_CORNER_ND] = n * d * bytes / figure->x_unit;
    } else if (figure->x == SIM_SWEEP_D) {
        corner[SIM_CORNER_DD] = sqrt(m);
        corner[SIM_CORNER_ND] = m / n;
    } else if (figure->x == SIM_SWEEP_N) {
        corner[SIM_CORNER_ND] = m / d;
    }
}

/* Evenly apart on a logarithmic axis, but the point nearest to a corner stands on it, where one
 * curve takes over from another. */
static void fill_curves(const struct sim_sweep *sweep, struct sim_figure *figure)
{
    const double near = 1e-9;
    double step = (log(figure->x_max) - log(figure->x_min)) / (SIM_CURVE_POINTS - 1);
    for (int i = 0; i < SIM_CURVE_POINTS; i++)
        figure->curve[i].x = exp(log(figure->x_min) + i * step);
    for (int c = 0; c < SIM_CORNERS; c++) {
        double at = log(figure->corner[c] / figure->x_min) / step;
        if (at > 0.5 && at < SIM_CURVE_POINTS - 1.5)
            figure->curve[lround(at)].x = figure->corner[c];
    }
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        struct sim_curve_point *point = &figure->curve[i];
        double m, d, n;
        fill_point(sweep, figure, point);
        sizes_at(figure, point->x, &m, &d, &n);
        point->tight = m >= d * d * (1 - near) && m <= n * d * (1 + near);
        if (m > d * d * (1 + near))
            point->y[SIM_CURVE_ROOT] = NAN;
        if (m > n * d * (1 + near))
            point->y[SIM_CURVE_THETA] = NAN;
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
    figure->scientific = log10(most / least) > SCIENTIFIC_DECADES;
    while (!figure->scientific && u < 4 && most >= 9e3 * units[u].unit)
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

static void add_label(struct sim_figure *figure, int algorithm, enum sim_curve curve, double end,
                      double elements)
{
    double height = height_of(figure, elements);
    figure->label[figure->n_labels++] =
        (struct sim_figure_label){algorithm, curve, height, height, end};
}

static double share_of_x(const struct sim_figure *figure, double x)
{
    return log(x / figure->x_min) / log(figure->x_max / figure->x_min);
}

/* Below the curve, half way along it. */
static void place_root_name(struct sim_figure *figure, int last)
{
    double end = share_of_x(figure, figure->curve[last].x);
    double left = fmax(end / 2 - ROOT_NAME_WIDTH, 0.01);
    int under = (int)ceil((left + ROOT_NAME_WIDTH) * (SIM_CURVE_POINTS - 1));
    if (end < ROOT_NAME_WIDTH / 2)
        return;
    under = under < last ? under : last;
    figure->root_x = left;
    figure->root_y = height_of(figure, figure->curve[under].y[SIM_CURVE_ROOT]) - SIM_LABEL_HEIGHT;
}

/*
 * At the last point that the curve has, which for some is short of the right end. The root ends
 * where the optimum goes on as Theta: its name stands beside it.
 */
static void add_curve_label(struct sim_figure *figure, enum sim_curve curve)
{
    int last = SIM_CURVE_POINTS - 1;
    while (last >= 0 && !(figure->curve[last].y[curve] > 0))
        last--;
    if (last >= 0 && curve == SIM_CURVE_ROOT && last < SIM_CURVE_POINTS - 1)
        place_root_name(figure, last);
    else if (last >= 0)
        add_label(figure, -1, curve, share_of_x(figure, figure->curve[last].x),
                  figure->curve[last].y[curve]);
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
    figure->n_labels = 0;
    figure->root_x = figure->root_y = NAN;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        const struct sim_sweep_point *last = NULL;
        for (int i = 0; i < sweep->n_points; i++) {
            const struct sim_sweep_point *point = &sweep->points[i];
            if (!point->status && algorithm_index(&point->result) == a &&
                (!last || sim_figure_x(figure, point) > sim_figure_x(figure, last)))
                last = point;
        }
        if (last)
            add_label(figure, a, SIM_CURVES, 1, moved(&last->result));
    }
    for (int c = 0; c < SIM_CURVES; c++)
        add_curve_label(figure, (enum sim_curve)c);
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
    find_corners(figure);
    fill_curves(sweep, figure);
    find_y_range(sweep, figure);
    place_labels(sweep, figure);
}
