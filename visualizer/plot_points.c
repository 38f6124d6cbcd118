#include "visualizer/plot_points.h"

#include <math.h>
#include <string.h>

enum { MOST_POWERS = 10 }; /* points of a series, the run's own not counted */

/* ---- one point --------------------------------------------------------------------------- */

static void grow_axis(int64_t *axis, int64_t old, int64_t now)
{
    if (*axis == old && *axis != 1)
        *axis = now;
}

/* Masks over N x N as the run's were over its own size: what was one for all rows or keys stays
 * so. */
static void place_shapes(const struct view_plot *plot, int64_t n, struct fa_problem *problem,
                         struct fa_tensor shapes[3])
{
    const struct fa_problem *base = &plot->experiment.problem;
    const struct fa_tensor **const places[3] = {&problem->mask, &problem->bias,
                                                &problem->dropout_keep};
    for (int s = 0; s < 3; s++) {
        if (!plot->has_shape[s])
            continue;
        int64_t shape[4];
        memcpy(shape, plot->shapes[s].shape, sizeof shape);
        if (n > 0) {
            grow_axis(&shape[2], base->nq, n);
            grow_axis(&shape[3], base->nk, n);
        }
        shapes[s] = fa_tensor_view(plot->shapes[s].dtype, shape, NULL);
        *places[s] = &shapes[s];
    }
}

struct sim_experiment view_plot_experiment(const struct view_plot *plot, int series, double x,
                                           struct fa_tensor shapes[3])
{
    struct sim_experiment e = plot->experiment;
    e.algorithm = plot->series[series].algorithm;
    switch (plot->axis) {
    case VIEW_PLOT_SRAM:
        e.machine.sram_bytes = (uint64_t)x;
        e.lift_capacity = false;
        /* Given tiles would move the same whatever the capacity. */
        if (e.tiles.policy == SIM_TILES_GIVEN && !e.problem.blocks)
            e.tiles.policy = SIM_TILES_SQUARE;
        break;
    case VIEW_PLOT_BR:
        e.tiles.policy = SIM_TILES_GIVEN;
        e.tiles.br = (int64_t)x;
        break;
    case VIEW_PLOT_N:
    case VIEW_PLOT_AXES:
        e.problem.nq = e.problem.nk = (int64_t)x;
        break;
    }
    place_shapes(plot, plot->axis == VIEW_PLOT_N ? (int64_t)x : 0, &e.problem, shapes);
    return e;
}

static double tiles_of(const struct sim_experiment *e)
{
    struct fa_tiles tiles;
    if (sim_experiment_tiles(e, &tiles, NULL) != FA_OK || tiles.br < 1 || tiles.bc < 1)
        return 0;
    return ceil((double)e->problem.nq / (double)tiles.br) *
           ceil((double)e->problem.nk / (double)tiles.bc);
}

static double heads_of(const struct fa_problem *problem)
{
    return (double)problem->batch * (double)problem->heads;
}

static void count_point(const struct view_plot *plot, int series, struct view_plot_point *point)
{
    struct fa_tensor shapes[3];
    struct sim_experiment e = view_plot_experiment(plot, series, point->x, shapes);
    struct sim_result result;
    uint64_t heads = (uint64_t)e.problem.batch * (uint64_t)e.problem.heads;

    if (heads == 0 || tiles_of(&e) > VIEW_PLOT_TILES)
        return;
    enum fa_status status = sim_experiment_run(&e, &result, NULL);
    point->refused = status == FA_DOES_NOT_FIT;
    if (status != FA_OK)
        return;
    point->counted = true;
    point->elements = (sim_counters_read_all(&result.counters, &e.problem).elements +
                       sim_counters_write_all(&result.counters, &e.problem).elements) /
                      heads;
}

bool view_plot_step(struct view_plot *plot)
{
    int left = plot->done;
    if (plot->done >= plot->in_all)
        return false;
    for (int s = 0; s < plot->n_series; s++) {
        if (left < plot->series[s].n) {
            count_point(plot, s, &plot->series[s].points[left]);
            break;
        }
        left -= plot->series[s].n;
    }
    plot->done++;
    return true;
}

/* ---- which points ------------------------------------------------------------------------ */

/* The powers of two in [2^low, 2^high], at most MOST_POWERS of them, those next to the run's
 * own value, and that value between them. Returns how many. */
static int axis_values(int low, int high, double own, double values[VIEW_PLOT_MOST])
{
    int n = 0, middle = own > 0 ? (int)lround(log2(own)) : high;
    if (high - low >= MOST_POWERS) {
        int first = middle - MOST_POWERS / 2;
        low = first < low ? low : first > high - MOST_POWERS + 1 ? high - MOST_POWERS + 1 : first;
        high = low + MOST_POWERS - 1;
    }
    for (int power = low; power <= high; power++) {
        double x = ldexp(1, power);
        if (own > ldexp(1, low) && own < x && n > 0 && own > values[n - 1])
            values[n++] = own;
        values[n++] = x;
    }
    return n;
}

static int power_above(double value)
{
    return value > 1 ? (int)ceil(log2(value)) : 0;
}

static int sram_values(struct view_plot *plot, double values[VIEW_PLOT_MOST])
{
    const struct sim_experiment *e = &plot->experiment;
    const struct fa_algorithm *pass =
        e->pass == SIM_BACKWARD ? e->algorithm->backward : e->algorithm;
    const struct fa_problem *p = &e->problem;
    struct fa_tiles one = {1, 1, 1, 1}, whole = {p->nq > 0 ? p->nq : 1, p->nk > 0 ? p->nk : 1,
                                                 p->nq > 0 ? p->nq : 1, p->nk > 0 ? p->nk : 1};
    int low = power_above((double)sim_live_bytes(pass, p, &one)) - 1;
    int high = power_above((double)sim_live_bytes(pass, p, &whole));
    plot->x_now = e->lift_capacity ? 0 : (double)e->machine.sram_bytes;
    return axis_values(low < 3 ? 3 : low, high > 62 ? 62 : high, plot->x_now, values);
}

static int br_values(struct view_plot *plot, int64_t br, double values[VIEW_PLOT_MOST])
{
    plot->x_now = (double)br;
    return axis_values(0, power_above((double)plot->experiment.problem.nq), plot->x_now, values);
}

static int n_values(struct view_plot *plot, double values[VIEW_PLOT_MOST])
{
    int64_t n = plot->experiment.problem.nk;
    int middle = power_above((double)n), low = middle - 6;
    /* A run of other queries than keys is no point of this axis. */
    plot->x_now = plot->experiment.problem.nq == n ? (double)n : 0;
    return axis_values(low < 1 ? 1 : low, middle + 3 > 30 ? 30 : middle + 3, plot->x_now, values);
}

/* The share of the score tiles that the masks leave, from the formula: of tiles of 1 x 1 where none
 * fits. 1 without a mask. */
static double visited_share(const struct sim_experiment *e)
{
    struct sim_closed_form form;
    struct fa_tiles tiles;
    if (sim_experiment_tiles(e, &tiles, NULL) != FA_OK)
        tiles = (struct fa_tiles){1, 1, 1, 1};
    if (sim_closed_form(e->algorithm, &e->problem, &tiles, &form, NULL) != FA_OK ||
        form.tiles_total == 0)
        return 1;
    return (double)form.counters.tiles_visited / (double)form.tiles_total;
}

static void set_bounds(struct view_plot *plot)
{
    for (int p = 0; p < plot->series[0].n; p++) {
        struct fa_tensor shapes[3];
        struct sim_experiment e =
            view_plot_experiment(plot, 0, plot->series[0].points[p].x, shapes);
        double heads = heads_of(&e.problem);
        struct sim_bounds bounds = sim_bounds(&e.problem, e.machine.sram_bytes, visited_share(&e));
        plot->theta[p] = bounds.theta / heads;
        plot->floor[p] = bounds.floor / heads;
    }
}

static void add_series(struct view_plot *plot, const struct fa_algorithm *algorithm,
                       const double *values, int n)
{
    struct view_plot_series *series = &plot->series[plot->n_series];
    if (plot->experiment.pass == SIM_BACKWARD && !algorithm->backward)
        return;
    for (int s = 0; s < plot->n_series; s++)
        if (plot->series[s].algorithm == algorithm)
            return;
    series->algorithm = algorithm;
    series->n = n;
    for (int p = 0; p < n; p++)
        series->points[p] = (struct view_plot_point){.x = values[p]};
    plot->in_all += n;
    plot->n_series++;
}

static void estimate(struct view_plot *plot)
{
    static const double seconds_a_tile = 1e-8;
    for (int s = 0; s < plot->n_series; s++)
        for (int p = 0; p < plot->series[s].n; p++) {
            struct fa_tensor shapes[3];
            struct sim_experiment e =
                view_plot_experiment(plot, s, plot->series[s].points[p].x, shapes);
            double tiles = tiles_of(&e);
            if (tiles <= VIEW_PLOT_TILES)
                plot->seconds += tiles * seconds_a_tile;
        }
}

/* The run's experiment without what a count does not need, or must not point to. */
static void take_experiment(struct view_plot *plot, const struct sim_experiment *experiment)
{
    struct sim_experiment *e = &plot->experiment;
    const struct fa_tensor *const given[3] = {experiment->problem.mask, experiment->problem.bias,
                                              experiment->problem.dropout_keep};
    *e = *experiment;
    e->mode = SIM_COUNT_ONLY;
    e->threads = 1;
    e->q = e->k = e->v = e->o = e->lse = e->dout = e->dq = e->dk = e->dv = NULL;
    e->trace = NULL;
    e->watch = NULL;
    e->problem.mask = e->problem.bias = e->problem.dropout_keep = NULL;
    for (int s = 0; s < 3; s++) {
        plot->has_shape[s] = given[s] != NULL;
        if (given[s])
            plot->shapes[s] = fa_tensor_view(given[s]->dtype, given[s]->shape, NULL);
    }
}

void view_plot_start(const struct sim_experiment *experiment, enum view_plot_axis axis,
                     struct view_plot *plot)
{
    double values[VIEW_PLOT_MOST] = {0};
    struct fa_tiles tiles = {1, 1, 1, 1};
    int n;

    memset(plot, 0, sizeof *plot);
    plot->axis = axis;
    take_experiment(plot, experiment);
    if (sim_experiment_tiles(experiment, &tiles, NULL) != FA_OK)
        tiles = (struct fa_tiles){1, 1, 1, 1};
    if (axis == VIEW_PLOT_BR)
        plot->experiment.tiles.bc = tiles.bc;
    n = axis == VIEW_PLOT_SRAM ? sram_values(plot, values)
        : axis == VIEW_PLOT_BR ? br_values(plot, tiles.br, values)
                               : n_values(plot, values);
    add_series(plot, experiment->algorithm, values, n);
    add_series(plot, &fa_standard, values, n);
    add_series(plot, &fa_flash2, values, n);
    add_series(plot, &fa_flash1, values, n);
    if (plot->n_series > 3) { /* The other loop order is enough. */
        plot->n_series = 3;
        plot->in_all = 3 * n;
    }
    set_bounds(plot);
    estimate(plot);
}

/* ---- other tiles ------------------------------------------------------------------------- */

enum fa_status view_tiles_count(const struct sim_experiment *experiment, int64_t br, int64_t bc,
                                struct sim_volume *moved, struct fa_error *error)
{
    struct view_plot plot = {.axis = VIEW_PLOT_BR};
    struct fa_tensor shapes[3];
    struct sim_result result;
    take_experiment(&plot, experiment);
    plot.series[0].algorithm = experiment->algorithm;
    plot.experiment.tiles.bc = bc;
    struct sim_experiment e = view_plot_experiment(&plot, 0, (double)br, shapes);
    if (tiles_of(&e) > VIEW_DRAGGED_TILES)
        return fa_fail(error, FA_TOO_LARGE, "more than %d tiles", (int)VIEW_DRAGGED_TILES);
    enum fa_status status = sim_experiment_run(&e, &result, error);
    if (status != FA_OK)
        return status;
    struct sim_volume read = sim_counters_read_all(&result.counters, &e.problem);
    struct sim_volume write = sim_counters_write_all(&result.counters, &e.problem);
    *moved = (struct sim_volume){.elements = read.elements + write.elements,
                                 .bytes = read.bytes + write.bytes};
    return FA_OK;
}
