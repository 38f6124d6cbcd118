/* Sweeps: what is varied, the grid that comes out, and its CSV. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/sweep.h"

static const struct sim_provenance provenance = {
    .version = "0", .command = "test, \"quoted\"", .threads = 1};

static void expect_values(const char *text, enum sim_sweep_key key, int n, const int64_t *values)
{
    struct sim_sweep_axis axis;
    struct fa_error error = {FA_OK, ""};
    if (sim_sweep_axis_parse(text, &axis, &error) != FA_OK)
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(axis.key, key);
    assert_int_equal(axis.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(axis.value[i], values[i]);
    sim_sweep_axis_free(&axis);
    assert_null(axis.value);
}

#define VALUES(...)                                                                                \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void test_axes(void **state)
{
    (void)state;
    expect_values("sram=16K..256K*2", SIM_SWEEP_SRAM, VALUES(16384, 32768, 65536, 131072, 262144));
    expect_values("sram=1.5K,0.5M", SIM_SWEEP_SRAM, VALUES(1536, 524288));
    expect_values("n=1..100*10", SIM_SWEEP_N, VALUES(1, 10, 100));
    expect_values("n=1..99*10", SIM_SWEEP_N, VALUES(1, 10));
    expect_values("n=64K", SIM_SWEEP_N, VALUES(65536));
    expect_values("d=1..4*1.25", SIM_SWEEP_D, VALUES(1, 2, 3, 4));
    expect_values("n=100..400*1.4142135623730951", SIM_SWEEP_N, VALUES(100, 141, 200, 283, 400));
    expect_values("br=16..64+16", SIM_SWEEP_BR, VALUES(16, 32, 48, 64));
    expect_values("bc=7..7+1", SIM_SWEEP_BC, VALUES(7));
    expect_values("bc=1..10+4", SIM_SWEEP_BC, VALUES(1, 5, 9));
    expect_values("n=2147483640..2147483647+5", SIM_SWEEP_N, VALUES(2147483640, 2147483645));
    expect_values("algorithm=flash2,standard", SIM_SWEEP_ALGORITHM, VALUES(2, 0));
}

static void test_axes_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "expected KEY=LIST or KEY=RANGE"},
        {"n", "\"n\": expected KEY=LIST or KEY=RANGE"},
        {"heads=1,2", "expected KEY=LIST or KEY=RANGE with n, d, sram, br, bc or algorithm"},
        {"n=", "n: \"\": expected a whole number from 1 to 2147483647"},
        {"n=1,,2", "n: \"\": expected a whole number"},
        {"n=0", "n: \"0\": expected a whole number"},
        {"n=-4", "n: \"-4\": expected a whole number"},
        {"n=1.5", "n: \"1.5\": expected a whole number"},
        {"n=2147483648", "n: \"2147483648\": expected a whole number from 1 to 2147483647"},
        {"sram=9007199254740993", "from 1 to 9007199254740992"},
        {"n=4,8,4", "n: \"4\" is given twice"},
        {"sram=1K,1024", "sram: \"1024\" is given twice"},
        {"n=1..8", "n=1..8: a range without a step: expected A..B*F"},
        {"n=8..1*2", "n=8..1*2: the range ends before it begins"},
        {"n=1..8*1", "n: factor \"1\": expected a number above 1"},
        {"n=1..8*", "n: factor \"\": expected a number above 1"},
        {"n=1..8*nan", "factor \"nan\""},
        {"n=1..8*-2", "factor \"-2\""},
        {"n=1..8+0", "n: \"0\": expected a whole number"},
        {"n=1..2147483647+1", "n: more than 4096 values"},
        {"n=1..2147483647*1.0001", "n: more than 4096 values"},
        {"algorithm=flash3", "algorithm: \"flash3\": expected standard, flash1, flash2 or"},
        {"algorithm=flash1,flash1", "algorithm: \"flash1\" is given twice"},
        {"algorithm=flash1..flash2*2", "algorithm: expected names between commas"},
        {"algorithm=", "algorithm: \"\": expected standard"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sim_sweep_axis axis = {SIM_SWEEP_D, 77, NULL};
        struct fa_error error = {FA_OK, ""};
        if (sim_sweep_axis_parse(cases[i].text, &axis, &error) != FA_BAD_ARGUMENT)
            fail_msg("\"%s\" was not refused", cases[i].text);
        if (!strstr(error.text, cases[i].words))
            fail_msg("\"%s\": %s", cases[i].text, error.text);
        assert_int_equal(axis.n, 77);
    }
}

enum { AXES = 4 };

struct grid {
    struct sim_sweep sweep;
    struct sim_sweep_axis axes[AXES];
};

/* N = 128, d = 16 on the toy machine, flash2, default tiles; NULL ends the axes. */
static void make_grid(struct grid *grid, const char *axis, ...)
{
    va_list more;
    memset(grid, 0, sizeof *grid);
    va_start(more, axis);
    for (; axis; axis = va_arg(more, const char *))
        assert_int_equal(sim_sweep_axis_parse(axis, &grid->axes[grid->sweep.n_axes++], NULL),
                         FA_OK);
    va_end(more);
    grid->sweep.axes = grid->axes;
    grid->sweep.base.algorithm = &fa_flash2;
    grid->sweep.base.problem = fa_problem_make(128, 128, 16);
    grid->sweep.dv_follows_d = grid->sweep.scale_follows_d = true;
    assert_int_equal(sim_machine_find("toy", &grid->sweep.base.machine, NULL), FA_OK);
    grid->sweep.threads = 2;
}

static void free_grid(struct grid *grid)
{
    sim_sweep_free(&grid->sweep);
    for (int a = 0; a < grid->sweep.n_axes; a++)
        sim_sweep_axis_free(&grid->axes[a]);
}

/* Each point is the experiment that one would run by hand, in the order of the axes. */
static void test_grid(void **state)
{
    (void)state;
    static const int64_t n[] = {64, 100}, sram[] = {4096, 16384};
    struct grid grid;
    int at = 0;
    make_grid(&grid, "n=64,100", "sram=4K,16K", "algorithm=standard,flash1,flash2", NULL);
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.n_points, 12);
    assert_int_equal(grid.sweep.n_refused, 0);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            for (int a = 0; a < 3; a++, at++) {
                const struct sim_sweep_point *point = &grid.sweep.points[at];
                struct sim_experiment one = grid.sweep.base;
                struct sim_result result;
                one.algorithm = fa_algorithms[a];
                one.problem = fa_problem_make(n[i], n[i], 16);
                one.machine.sram_bytes = (uint64_t)sram[j];
                one.mode = SIM_COUNT_ONLY;
                one.threads = 1;
                assert_int_equal(sim_experiment_run(&one, &result, NULL), FA_OK);
                assert_int_equal(point->status, FA_OK);
                assert_null(point->message);
                assert_int_equal(point->value[SIM_SWEEP_N], n[i]);
                assert_int_equal(point->value[SIM_SWEEP_SRAM], sram[j]);
                assert_int_equal(point->value[SIM_SWEEP_ALGORITHM], a);
                assert_int_equal(point->value[SIM_SWEEP_BR], -1);
                assert_ptr_equal(point->result.algorithm, fa_algorithms[a]);
                assert_memory_equal(&point->result.counters, &result.counters,
                                    sizeof result.counters);
                assert_int_equal(point->result.tiles.br, result.tiles.br);
            }
        }
    }
    free_grid(&grid);
}

static void test_d_takes_dv_and_scale_along(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "d=4,16", NULL);
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.points[0].result.problem.dv, 4);
    assert_true(grid.sweep.points[0].result.problem.scale == 0.5);
    sim_sweep_free(&grid.sweep);
    grid.sweep.dv_follows_d = grid.sweep.scale_follows_d = false;
    grid.sweep.base.problem.dv = 8;
    grid.sweep.base.problem.scale = 3;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.points[1].result.problem.d, 16);
    assert_int_equal(grid.sweep.points[1].result.problem.dv, 8);
    assert_true(grid.sweep.points[1].result.problem.scale == 3);
    free_grid(&grid);
}

/* One side alone is varied against the other one given, or 64. */
static void test_tile_sides(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "br=1,2", NULL);
    grid.sweep.base.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, 50, 3};
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.points[1].result.tiles.br, 2);
    assert_int_equal(grid.sweep.points[1].result.tiles.bc, 3);
    sim_sweep_free(&grid.sweep);
    grid.sweep.base.tiles.policy = SIM_TILES_DEFAULT;
    grid.sweep.base.machine.sram_bytes = 1 << 20;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.points[0].result.tiles.br, 1);
    assert_int_equal(grid.sweep.points[0].result.tiles.bc, 64);
    free_grid(&grid);
}

static void test_refused_points_stay(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "bc=4,4096,8", NULL);
    grid.sweep.base.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, 4, 4};
    grid.sweep.base.problem = fa_problem_make(4096, 4096, 16);
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_int_equal(grid.sweep.n_points, 3);
    assert_int_equal(grid.sweep.n_refused, 1);
    const struct sim_sweep_point *point = &grid.sweep.points[1];
    assert_int_equal(point->status, FA_DOES_NOT_FIT);
    assert_non_null(strstr(point->message, "too small"));
    assert_ptr_equal(point->result.algorithm, &fa_flash2);
    assert_int_equal(point->result.tiles.bc, 4096);
    assert_int_equal(point->result.problem.nq, 4096);
    assert_int_equal(point->result.counters.read[FA_Q], 0);
    assert_int_equal(grid.sweep.points[2].status, FA_OK);
    free_grid(&grid);
}

static void expect_refusal(struct grid *grid, enum fa_status status, const char *words)
{
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(sim_sweep_run(&grid->sweep, &error), status);
    if (!strstr(error.text, words))
        fail_msg("%s", error.text);
    assert_null(grid->sweep.points);
    free_grid(grid);
}

static void test_sweeps_refused(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "n=1,2", "n=3", NULL);
    expect_refusal(&grid, FA_BAD_ARGUMENT, "n is varied twice");
    make_grid(&grid, "bc=1,2", NULL);
    grid.sweep.base.tiles.policy = SIM_TILES_BEST;
    expect_refusal(&grid, FA_BAD_ARGUMENT, "bc is varied, but the rule \"best\" chooses the tiles");
    make_grid(&grid, "n=1..4096+1", "d=1..17+1", NULL);
    expect_refusal(&grid, FA_TOO_LARGE, "more than 65536 points");
    make_grid(&grid, "n=4,8", NULL);
    grid.sweep.base.problem.batch = -1;
    expect_refusal(&grid, FA_BAD_ARGUMENT, "at n=");
}

struct stopper {
    double last;
    int calls, allowed;
};

static bool count_ticks(void *context, double done)
{
    struct stopper *stopper = context;
    assert_true(done >= 0 && done <= 1);
    stopper->last = done;
    return ++stopper->calls <= stopper->allowed;
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    struct stopper stopper = {0, 0, 1000000};
    struct fa_watch watch = {count_ticks, &stopper};
    struct grid grid;
    make_grid(&grid, "n=16..160+16", NULL);
    grid.sweep.watch = &watch;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    assert_true(stopper.last == 1);
    assert_true(stopper.calls >= 10);
    sim_sweep_free(&grid.sweep);
    stopper = (struct stopper){0, 0, 3};
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(sim_sweep_run(&grid.sweep, &error), FA_CANCELLED);
    assert_int_equal(error.status, FA_CANCELLED);
    assert_int_equal(stopper.calls, 4);
    assert_null(grid.sweep.points);
    free_grid(&grid);
}

/* The CSV as rows of cells; quotes are taken off. */
struct csv {
    char *text;
    char **cell;
    int rows, columns;
};

static struct csv read_csv(const struct sim_sweep *sweep)
{
    struct csv csv = {NULL, calloc(100000, sizeof(char *)), 0, 0};
    size_t size;
    FILE *file = open_memstream(&csv.text, &size);
    assert_int_equal(sim_sweep_write_csv(sweep, &provenance, file, NULL), FA_OK);
    fclose(file);
    int n = 0;
    for (char *from = csv.text, *to = csv.text; *from;) {
        bool quoted = *from == '"';
        csv.cell[n++] = to;
        from += quoted;
        while (quoted ? !(*from == '"' && from[1] != '"') : *from != ',' && *from != '\n') {
            from += quoted && *from == '"';
            *to++ = *from++;
        }
        from += quoted;
        char end = *from++;
        assert_true(end == ',' || end == '\n');
        *to++ = '\0';
        if (end == '\n') {
            csv.rows++;
            csv.columns = csv.columns ? csv.columns : n;
            assert_int_equal(n, csv.rows * csv.columns);
        }
    }
    return csv;
}

static const char *cell(const struct csv *csv, int row, const char *name)
{
    for (int c = 0; c < csv->columns; c++) {
        if (strcmp(csv->cell[c], name) == 0)
            return csv->cell[row * csv->columns + c];
    }
    fail_msg("no column %s", name);
    return "";
}

static void free_csv(struct csv *csv)
{
    free(csv->text);
    free(csv->cell);
}

/* Every leaf of the JSON is a column, with the same value. */
static int compare_leaves(const struct csv *csv, int row, const char *prefix, json_t *value)
{
    char name[128], number[64];
    const char *key;
    json_t *member;
    size_t index;
    int n = 0;
    if (json_is_object(value)) {
        json_object_foreach(value, key, member)
        {
            snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
            n += compare_leaves(csv, row, name, member);
        }
        return n;
    }
    if (json_is_array(value)) {
        json_array_foreach(value, index, member)
        {
            snprintf(name, sizeof name, "%s.%zu", prefix, index);
            n += compare_leaves(csv, row, name, member);
        }
        return n;
    }
    const char *text = cell(csv, row, prefix);
    if (json_is_string(value)) {
        assert_string_equal(text, json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        assert_string_equal(text, number);
    } else if (json_is_real(value)) {
        assert_true(strtod(text, NULL) == json_real_value(value));
    } else {
        assert_true(json_is_null(value));
        assert_string_equal(text, "");
    }
    return 1;
}

static void test_csv_is_the_json_flattened(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "sram=2K,4K,64K", "algorithm=standard,flash1,flash2,fused-save-p", NULL);
    grid.sweep.base.problem.window_left = 7;
    grid.sweep.base.problem.heads = grid.sweep.base.problem.kv_heads = 3;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    struct csv csv = read_csv(&grid.sweep);
    assert_int_equal(csv.rows, 1 + grid.sweep.n_points);
    for (int i = 0; i < grid.sweep.n_points; i++) {
        struct sim_report report;
        memset(&report, 0, sizeof report);
        report.result = grid.sweep.points[i].result;
        report.provenance = provenance;
        json_t *object = sim_report_json(&report);
        assert_int_equal(compare_leaves(&csv, 1 + i, "", object), csv.columns - 2);
        assert_string_equal(cell(&csv, 1 + i, "error.code"), "");
        assert_string_equal(cell(&csv, 1 + i, "problem.window.0"), "7");
        assert_string_equal(cell(&csv, 1 + i, "provenance.command"), "test, \"quoted\"");
        json_decref(object);
    }
    free_csv(&csv);
    free_grid(&grid);
}

static void test_csv_of_refused_points(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, "sram=64,4K", NULL);
    grid.sweep.base.tiles.policy = SIM_TILES_SQUARE;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    struct csv csv = read_csv(&grid.sweep);
    assert_string_equal(cell(&csv, 1, "error.code"), "does_not_fit");
    assert_string_equal(cell(&csv, 1, "error.message"), grid.sweep.points[0].message);
    assert_string_equal(cell(&csv, 1, "machine.sram_bytes"), "64");
    assert_string_equal(cell(&csv, 1, "problem.nq"), "128");
    assert_string_equal(cell(&csv, 1, "tiles.policy"), "square");
    assert_string_equal(cell(&csv, 1, "tiles.br"), "");
    assert_string_equal(cell(&csv, 1, "hbm.read.elements"), "");
    assert_string_equal(cell(&csv, 1, "tiles_total"), "");
    assert_string_equal(cell(&csv, 2, "error.code"), "");
    assert_true(strtod(cell(&csv, 2, "hbm.read.elements"), NULL) > 0);
    free_csv(&csv);
    free_grid(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_axes_refused),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_d_takes_dv_and_scale_along),
        cmocka_unit_test(test_tile_sides),
        cmocka_unit_test(test_refused_points_stay),
        cmocka_unit_test(test_sweeps_refused),
        cmocka_unit_test(test_progress_and_cancel),
        cmocka_unit_test(test_csv_is_the_json_flattened),
        cmocka_unit_test(test_csv_of_refused_points),
    };
    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
