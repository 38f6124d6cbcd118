/* The counted points of the plot: each is what an experiment of its own counts, and nothing else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tests/view_case.h"
#include "visualizer/plot_points.h"

static struct view_plot plot;

static void count(const struct view_case *which, enum view_plot_axis axis)
{
    struct view_source source = view_case_source(which);
    int steps = 0;
    view_plot_start(&source.experiment, axis, &plot);
    source.release(source.owner); /* the plot keeps nothing of the tensors */
    while (view_plot_step(&plot))
        steps++;
    assert_int_equal(steps, plot.in_all);
    assert_int_equal(plot.done, plot.in_all);
}

static uint64_t moved(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    return (sim_counters_read_all(&result->counters, p).elements +
            sim_counters_write_all(&result->counters, p).elements) /
           (uint64_t)(p->batch * p->heads);
}

/* What the experiment counts at x, set up by hand. */
static enum fa_status count_by_hand(const struct view_case *which, const char *algorithm,
                                    enum view_plot_axis axis, double x, uint64_t *elements)
{
    struct view_source source = view_case_source(which);
    struct sim_experiment e = source.experiment;
    struct sim_result result;
    e.algorithm = fa_algorithm_find(algorithm);
    e.mode = SIM_COUNT_ONLY;
    if (axis == VIEW_PLOT_SRAM) {
        e.machine.sram_bytes = (uint64_t)x;
        e.lift_capacity = false;
        e.tiles.policy = SIM_TILES_SQUARE;
    } else if (axis == VIEW_PLOT_BR) {
        e.tiles.br = (int64_t)x;
    } else {
        e.problem.nq = e.problem.nk = (int64_t)x;
    }
    enum fa_status status = sim_experiment_run(&e, &result, NULL);
    if (status == FA_OK)
        *elements = moved(&result);
    source.release(source.owner);
    return status;
}

static void check_axis(const struct view_case *which, enum view_plot_axis axis)
{
    int counted = 0;
    count(which, axis);
    assert_true(plot.n_series >= 2);
    for (int s = 0; s < plot.n_series; s++) {
        const struct view_plot_series *series = &plot.series[s];
        for (int p = 0; p < series->n; p++) {
            const struct view_plot_point *point = &series->points[p];
            uint64_t elements = 0;
            enum fa_status status =
                count_by_hand(which, series->algorithm->name, axis, point->x, &elements);
            assert_true(p == 0 || point->x > series->points[p - 1].x);
            assert_int_equal(point->refused, status == FA_DOES_NOT_FIT);
            assert_int_equal(point->counted, status == FA_OK);
            assert_int_equal(point->elements, elements);
            counted += point->counted;
        }
    }
    assert_true(counted > plot.n_series);
}

static const struct view_case cases[] = {
    {.sram = 512},
    {.algorithm = "flash1", .n = 32, .d = 4, .sram = 1024, .heads = 2, .causal = true},
    {.algorithm = "standard", .n = 24, .d = 3, .dv = 5, .br = 6, .bc = 4, .sram = 700},
    {.algorithm = "flash2", .n = 20, .d = 4, .sram = 2048, .backward = true},
    {.algorithm = "fused-save-p", .n = 16, .sram = 600, .window = 5},
};
enum { CASES = sizeof cases / sizeof *cases };

static void points_are_counts(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int axis = 0; axis < VIEW_PLOT_AXES; axis++)
            check_axis(&cases[c], (enum view_plot_axis)axis);
}

static void the_run_comes_first_and_others_once(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        count(&cases[c], VIEW_PLOT_BR);
        const char *name = cases[c].algorithm ? cases[c].algorithm : "flash2";
        assert_string_equal(plot.series[0].algorithm->name, name);
        bool standard = false;
        for (int s = 0; s < plot.n_series; s++) {
            standard = standard || plot.series[s].algorithm == &fa_standard;
            for (int other = 0; other < s; other++)
                assert_ptr_not_equal(plot.series[s].algorithm, plot.series[other].algorithm);
        }
        assert_true(standard);
    }
}

static bool has_x(double x)
{
    for (int p = 0; p < plot.series[0].n; p++)
        if (plot.series[0].points[p].x == x)
            return true;
    return false;
}

static void the_own_value_is_a_point(void **state)
{
    static const struct view_case odd = {.n = 24, .d = 4, .br = 6, .bc = 4, .sram = 700};
    (void)state;
    for (int axis = 0; axis < VIEW_PLOT_AXES; axis++) {
        count(&odd, (enum view_plot_axis)axis);
        assert_true(plot.x_now > 0);
        assert_true(has_x(plot.x_now));
    }
    /* Of a capacity that is lifted, and of other queries than keys, there is none. */
    count(&(struct view_case){.n = 16}, VIEW_PLOT_SRAM);
    assert_true(plot.x_now == 0);
    count(&(struct view_case){.n = 16, .nk = 8, .sram = 512}, VIEW_PLOT_N);
    assert_true(plot.x_now == 0);
}

static void too_little_sram_is_refused(void **state)
{
    (void)state;
    int refused = 0;
    count(&(struct view_case){.sram = 512}, VIEW_PLOT_BR);
    for (int p = 0; p < plot.series[0].n; p++) {
        const struct view_plot_point *point = &plot.series[0].points[p];
        assert_false(point->counted && point->refused);
        refused += point->refused;
        if (point->refused)
            assert_true(point->x > 4); /* its own tiles do fit */
    }
    assert_true(refused > 0);
    count(&(struct view_case){.sram = 512}, VIEW_PLOT_SRAM);
    assert_true(plot.series[0].points[0].refused); /* it begins below one tile */
}

static void bounds_are_the_closed_forms(void **state)
{
    static const struct view_case two = {.n = 64, .d = 4, .sram = 2048, .heads = 2};
    (void)state;
    count(&two, VIEW_PLOT_SRAM);
    for (int p = 0; p < plot.series[0].n; p++) {
        double m = plot.series[0].points[p].x / 4; /* f32 */
        assert_true(fabs(plot.theta[p] - 64.0 * 64 * 16 / m) < 1e-9 * plot.theta[p]);
        if (m >= 32)
            assert_true(plot.floor[p] >= 2.0 * 64 * (4 + 4)); /* Q, K, V and O once */
        else
            assert_true(isnan(plot.floor[p]));
        for (int s = 0; s < plot.n_series; s++) /* no count is below the floor */
            if (plot.series[s].points[p].counted && m >= 32)
                assert_true((double)plot.series[s].points[p].elements >= plot.floor[p]);
    }
    /* A causal mask leaves half of theta, and the tiles on the diagonal. */
    double whole = plot.theta[0];
    struct view_case causal = two;
    causal.causal = true;
    count(&causal, VIEW_PLOT_SRAM);
    assert_true(plot.theta[0] < 0.9 * whole && plot.theta[0] > 0.5 * whole);
}

static void masks_grow_with_the_problem(void **state)
{
    const int64_t shape[4] = {1, 1, 16, 16}, keys[4] = {1, 1, 1, 16};
    struct fa_tensor mask = fa_tensor_view(FA_U8, shape, NULL);
    struct fa_tensor bias = fa_tensor_view(FA_F32, keys, NULL), shapes[3];
    struct view_source source = view_case_source(&(struct view_case){.sram = 2048});
    (void)state;
    source.experiment.problem.mask = &mask;
    source.experiment.problem.bias = &bias;
    view_plot_start(&source.experiment, VIEW_PLOT_N, &plot);
    source.release(source.owner);
    struct sim_experiment e = view_plot_experiment(&plot, 0, 64, shapes);
    assert_int_equal(e.problem.nq, 64);
    assert_int_equal(e.problem.mask->shape[2], 64);
    assert_int_equal(e.problem.mask->shape[3], 64);
    assert_int_equal(e.problem.bias->shape[2], 1);
    assert_int_equal(e.problem.bias->shape[3], 64);
    while (view_plot_step(&plot))
        ;
    for (int p = 0; p < plot.series[0].n; p++)
        assert_true(plot.series[0].points[p].counted);
}

static void a_block_mask_has_its_own_tiles_alone(void **state)
{
    static const uint8_t visit[16] = {1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1};
    static const struct fa_block_mask blocks = {4, 4, 4, 4, visit};
    (void)state;
    count(&(struct view_case){.sram = 4096, .blocks = &blocks}, VIEW_PLOT_BR);
    for (int p = 0; p < plot.series[0].n; p++) {
        assert_int_equal(plot.series[0].points[p].counted, plot.series[0].points[p].x == 4);
        assert_false(plot.series[0].points[p].refused);
    }
}

/* A step is bounded: what has too many tiles is left out. */
static void huge_runs_are_left_out(void **state)
{
    struct view_source source = view_case_source(&(struct view_case){.sram = 1 << 20});
    (void)state;
    source.experiment.problem.nq = source.experiment.problem.nk = 1 << 20;
    source.experiment.tiles.br = 1 << 10;
    source.experiment.tiles.bc = 1 << 10;
    view_plot_start(&source.experiment, VIEW_PLOT_BR, &plot);
    source.release(source.owner);
    bool left_out = false;
    for (int p = 0; p < plot.series[0].n; p++) {
        struct fa_tensor shapes[3];
        struct sim_experiment e =
            view_plot_experiment(&plot, 0, plot.series[0].points[p].x, shapes);
        left_out = left_out || (1 << 20) / e.tiles.br * 1024 > VIEW_PLOT_TILES;
    }
    assert_true(left_out);
    while (view_plot_step(&plot))
        ;
    for (int p = 0; p < plot.series[0].n; p++) {
        double tiles = ceil((1 << 20) / plot.series[0].points[p].x) * 1024;
        if (tiles > VIEW_PLOT_TILES)
            assert_false(plot.series[0].points[p].counted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_counts),
        cmocka_unit_test(the_run_comes_first_and_others_once),
        cmocka_unit_test(the_own_value_is_a_point),
        cmocka_unit_test(too_little_sram_is_refused),
        cmocka_unit_test(bounds_are_the_closed_forms),
        cmocka_unit_test(masks_grow_with_the_problem),
        cmocka_unit_test(a_block_mask_has_its_own_tiles_alone),
        cmocka_unit_test(huge_runs_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
