/* The figure: its labels, its script, its files, and a gnuplot that is missing or fails. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/plot.h"
#include "simulator/plot_figure.h"
#include "tests/program_expect.h"

static const struct sim_provenance provenance = {
    .version = "0", .command = "flashlab sweep\nset output 'elsewhere'", .threads = 1};

enum { AXES = 3 };

struct grid {
    struct sim_sweep sweep;
    struct sim_sweep_axis axes[AXES];
};

/* Counted at N = 512, d = 16 on an A100 with the best tiles; NULL ends the axes. */
static void make_grid(struct grid *grid, enum sim_policy policy, const char *axis, ...)
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
    grid->sweep.base.problem = fa_problem_make(512, 512, 16);
    grid->sweep.base.tiles.policy = policy;
    grid->sweep.dv_follows_d = grid->sweep.scale_follows_d = true;
    assert_int_equal(sim_machine_find("a100", &grid->sweep.base.machine, NULL), FA_OK);
    assert_int_equal(sim_sweep_run(&grid->sweep, NULL), FA_OK);
}

static void free_grid(struct grid *grid)
{
    sim_sweep_free(&grid->sweep);
    for (int a = 0; a < grid->sweep.n_axes; a++)
        sim_sweep_axis_free(&grid->axes[a]);
}

static void test_formats(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "a",     ".svg",  "a/.png",
                                      "a.svg/b", "a.SVG", "a.pdf", "a.svg "};
    enum sim_picture format = SIM_PNG;
    assert_int_equal(sim_plot_format("a.b/c.svg", &format, NULL), FA_OK);
    assert_int_equal(format, SIM_SVG);
    assert_int_equal(sim_plot_format("x.png", &format, NULL), FA_OK);
    assert_int_equal(format, SIM_PNG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fa_error error = {FA_OK, ""};
        assert_int_equal(sim_plot_format(bad[i], &format, &error), FA_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "expected a name that ends in .svg or .png"));
    }
}

static void test_what_can_be_drawn(void **state)
{
    (void)state;
    struct grid grid;
    enum sim_sweep_key x = SIM_SWEEP_KEYS;
    struct fa_error error = {FA_OK, ""};
    make_grid(&grid, SIM_TILES_BEST, "algorithm=flash1,flash2", "d=4,8", NULL);
    assert_int_equal(sim_plot_check(&grid.sweep, &x, NULL), FA_OK);
    assert_int_equal(x, SIM_SWEEP_D);
    free_grid(&grid);
    make_grid(&grid, SIM_TILES_BEST, "algorithm=flash1", NULL);
    assert_int_equal(sim_plot_check(&grid.sweep, &x, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "a figure needs a size along x: vary n, d, sram, br or bc");
    free_grid(&grid);
    make_grid(&grid, SIM_TILES_BEST, "n=4,8", "sram=64K,128K", NULL);
    assert_int_equal(sim_plot_check(&grid.sweep, &x, &error), FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "here n and sram vary"));
    free_grid(&grid);
}

/* No label lies on another or off the axis, and their order is that of their lines. */
static void check_labels(const struct sim_figure *figure, int n)
{
    assert_int_equal(figure->n_labels, n);
    for (int i = 0; i < n; i++) {
        const struct sim_figure_label *label = &figure->label[i];
        assert_true(label->text >= -1e-9 && label->text <= 1 + 1e-9);
        assert_true(label->line >= 0 && label->line <= 1);
        if (i > 0) {
            assert_true(label->text - label[-1].text >= SIM_LABEL_HEIGHT - 1e-6);
            assert_true(label->line >= label[-1].line);
        }
    }
}

/* Those that have a point: with N = 64, M is past N d and Theorem 2 says nothing. */
static int count_curves(const struct sim_figure *figure)
{
    int n = 0;
    for (int c = 0; c < SIM_CURVES; c++) {
        bool found = false;
        for (int i = 0; i < SIM_CURVE_POINTS; i++)
            found = found || isfinite(figure->curve[i].y[c]);
        n += found;
    }
    return n;
}

static void test_labels(void **state)
{
    (void)state;
    static const char *const axes[] = {"sram=8K..1M*2", "n=64..8192*4", "d=2..64*2",
                                       "n=64",          "br=1..64*2",   "bc=1..16+5"};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        struct grid grid;
        struct sim_figure figure;
        enum sim_sweep_key x;
        make_grid(&grid, SIM_TILES_DEFAULT, axes[i],
                  "algorithm=standard,flash1,flash2,fused-save-p", NULL);
        assert_int_equal(sim_plot_check(&grid.sweep, &x, NULL), FA_OK);
        sim_figure_make(&grid.sweep, x, &figure);
        check_labels(&figure, 4 + count_curves(&figure));
        assert_true(figure.x_min < figure.x_max && figure.y_min < figure.y_max);
        for (int p = 0; p < grid.sweep.n_points; p++) {
            double at = sim_figure_x(&figure, &grid.sweep.points[p]);
            assert_true(at > figure.x_min && at < figure.x_max);
        }
        free_grid(&grid);
    }
}

/* Of a curve, in the right column; NULL if it has none there. */
static const struct sim_figure_label *label_of(const struct sim_figure *figure,
                                               enum sim_curve curve)
{
    for (int i = 0; i < figure->n_labels; i++) {
        if (figure->label[i].algorithm < 0 && figure->label[i].curve == curve)
            return &figure->label[i];
    }
    return NULL;
}

/* Where M is large the floor is the compulsory traffic: one label goes up as far as the other goes
 * down. */
static void test_labels_of_one_line(void **state)
{
    (void)state;
    struct grid grid;
    struct sim_figure figure;
    make_grid(&grid, SIM_TILES_BEST, "sram=8K..64K*2", "algorithm=standard", NULL);
    sim_figure_make(&grid.sweep, SIM_SWEEP_SRAM, &figure);
    check_labels(&figure, 5);
    const struct sim_figure_label *floor_label = label_of(&figure, SIM_CURVE_FLOOR);
    const struct sim_figure_label *compulsory = label_of(&figure, SIM_CURVE_COMPULSORY);
    assert_non_null(floor_label);
    assert_non_null(compulsory);
    assert_true(floor_label->line == compulsory->line);
    assert_true(fabs(floor_label->text + compulsory->text - 2 * compulsory->line) < 1e-6);
    free_grid(&grid);
}

/* The lines are the bounds of closed_form.h, at every x. */
static void test_curves_are_the_bounds(void **state)
{
    (void)state;
    struct grid grid;
    struct sim_figure figure;
    make_grid(&grid, SIM_TILES_BEST, "sram=1K..1M*4", "algorithm=standard,flash2", NULL);
    sim_figure_make(&grid.sweep, SIM_SWEEP_SRAM, &figure);
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        const struct sim_curve_point *point = &figure.curve[i];
        uint64_t bytes = (uint64_t)llround(point->x * 1024);
        double m = (double)bytes / 4;
        struct sim_bounds bounds = sim_bounds(&grid.sweep.base.problem, bytes, 1);
        assert_true(m > 512 * 16 ? isnan(point->y[SIM_CURVE_THETA])
                                 : point->y[SIM_CURVE_THETA] == bounds.theta);
        assert_true(point->y[SIM_CURVE_COMPULSORY] == bounds.compulsory);
        assert_true(point->y[SIM_CURVE_STANDARD] == bounds.standard);
        assert_true(isnan(bounds.floor) ? isnan(point->y[SIM_CURVE_FLOOR])
                                        : point->y[SIM_CURVE_FLOOR] == bounds.floor);
        assert_int_equal(point->tight, m >= 256 && m <= 512 * 16);
    }
    free_grid(&grid);
    /* Causal: the share of visited tiles scales Theta, as it does at the counted points. */
    make_grid(&grid, SIM_TILES_DEFAULT, "n=1024..16384*2", "algorithm=standard,flash2", NULL);
    sim_sweep_free(&grid.sweep);
    grid.sweep.base.machine.sram_bytes = 48 * 1024; /* M = Nd at N = 768 */
    grid.sweep.base.problem.causal = FA_CAUSAL_TOP_LEFT;
    assert_int_equal(sim_sweep_run(&grid.sweep, NULL), FA_OK);
    sim_figure_make(&grid.sweep, SIM_SWEEP_N, &figure);
    const struct sim_sweep_point *last = &grid.sweep.points[grid.sweep.n_points - 1];
    double end = figure.curve[SIM_CURVE_POINTS - 1].y[SIM_CURVE_THETA];
    double n = figure.curve[SIM_CURVE_POINTS - 1].x / 16384;
    assert_true(fabs(end / (last->result.bounds.theta * n * n) - 1) < 1e-6);
    /* Between 1024, where 17 of 32 tiles are visited, and 2048 (33 of 64) the share falls. */
    double m = (double)grid.sweep.base.machine.sram_bytes / 4;
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        double x = figure.curve[i].x;
        double share = figure.curve[i].y[SIM_CURVE_THETA] * m / (x * x * 16 * 16);
        if (x > 1030 && x < 2040)
            assert_true(share < 17 / 32.0 && share > 33 / 64.0);
    }
    free_grid(&grid);
}

/* The optimum: N^2 d / sqrt(M) to the left of M = d^2, N^2 d^2 / M from there to M = N d; at the
 * corner both, with the same value. */
static void test_both_sides_of_the_corner(void **state)
{
    (void)state;
    struct grid grid;
    struct sim_figure figure;
    const double n = 512, d = 16;
    int corners = 0, left = 0, right = 0, counted = 0;
    make_grid(&grid, SIM_TILES_BEST, "sram=100..1M*2", "algorithm=square-tiling,flash2", NULL);
    sim_figure_make(&grid.sweep, SIM_SWEEP_SRAM, &figure);
    assert_true(figure.corner[SIM_CORNER_DD] == 1 && figure.corner[SIM_CORNER_ND] == 32);
    for (int i = 0; i < SIM_CURVE_POINTS; i++) {
        const struct sim_curve_point *point = &figure.curve[i];
        double m = floor(round(point->x * 1024) / 4), root = point->y[SIM_CURVE_ROOT];
        if (m > d * d) {
            assert_true(isnan(root));
            right += point->tight;
            continue;
        }
        assert_true(fabs(root / (n * n * d / sqrt(m)) - 1) < 1e-12);
        corners += point->x == 1;
        left += point->x < 1;
        if (point->x == 1)
            assert_true(point->tight && root == n * n && point->y[SIM_CURVE_THETA] == n * n);
        else
            assert_true(!point->tight && root < point->y[SIM_CURVE_THETA]);
    }
    assert_int_equal(corners, 1);
    assert_true(left > 40 && right > 50);
    /* Theorem 2's line ends at M = N d; a stroke leads to its name. The root's is beside it. */
    const struct sim_figure_label *theta = label_of(&figure, SIM_CURVE_THETA);
    assert_non_null(theta);
    double end = log(32 / figure.x_min) / log(figure.x_max / figure.x_min);
    assert_true(fabs(theta->end - end) < 1e-9);
    assert_null(label_of(&figure, SIM_CURVE_ROOT));
    assert_true(figure.root_x > 0 && figure.root_x < 0.3 && figure.root_y > theta->line);
    free_grid(&grid);
    /* Along d the root is at the right, and the floor ends before it; no curve has steps. */
    make_grid(&grid, SIM_TILES_BEST, "d=16..512*2", "algorithm=flash2", NULL);
    sim_figure_make(&grid.sweep, SIM_SWEEP_D, &figure);
    const struct sim_figure_label *root = label_of(&figure, SIM_CURVE_ROOT);
    const struct sim_figure_label *floor_label = label_of(&figure, SIM_CURVE_FLOOR);
    assert_non_null(root);
    assert_non_null(floor_label);
    assert_true(root->end > 0.999 && floor_label->end < 0.75 && floor_label->end > 0.5);
    assert_true(isnan(figure.root_x));
    for (int i = 1; i < SIM_CURVE_POINTS; i++) {
        const struct sim_curve_point *before = &figure.curve[i - 1], *after = &figure.curve[i];
        assert_true(after->x > before->x);
        if (!isfinite(before->y[SIM_CURVE_THETA])) /* M is past N d */
            continue;
        counted++;
        double slope = log(after->y[SIM_CURVE_THETA] / before->y[SIM_CURVE_THETA]) /
                       log(after->x / before->x);
        assert_true(fabs(slope - 2) < 1e-6);
    }
    assert_true(counted > 60);
    free_grid(&grid);
}

static char *make_script(const struct grid *grid)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(sim_plot_write_script(&grid->sweep, &provenance, "it's", file, NULL), FA_OK);
    fclose(file);
    return text;
}

static void test_script(void **state)
{
    (void)state;
    struct grid grid;
    make_grid(&grid, SIM_TILES_BEST, "sram=512..256K*2", "algorithm=standard,flash1,flash2", NULL);
    assert_true(grid.sweep.n_refused == 0);
    char *script = make_script(&grid);
    text_expect(script, "stem = 'it''s'\n");
    text_expect(script, "#   flashlab sweep?set output 'elsewhere'\n");
    text_expect(script, "N = 512, d = 16, f32, one head. Tiles: best (those that move the least");
    text_expect(script, "set logscale xy");
    text_expect(script, "M: SRAM of one SM (KiB)");
    text_expect(script, "elements read and written, HBM to SRAM and back");
    text_expect(script, "a100: 192 KiB");
    text_expect(script, "'M = d²'");
    text_expect(script, "'N²d/√M' at graph");
    text_expect(script, "N²d/√M below");
    text_expect(script, "Saha and Ye 2024");
    text_expect(script, "size 1600,1000");
    text_expect(script, "set label 'flash1 (K, V outside)'");
    text_expect(script, "set label 'N²d²/M (Theorem 2)'");
    text_expect(script, "set label 'floor (our derivation)'");
    text_expect(script, "set label 'Nd + N² (standard)'");
    text_expect(script, "set label 'compulsory: Q, K, V, O once'");
    text_expect(script, "moved('standard')");
    text_expect(script, "pt 5 ps marker lc rgb '#D55E00'");
    text_expect(script, "pt 7 ps marker lc rgb '#0072B2'");
    text_expect(script, "pt 9 ps marker lc rgb '#009E73'");
    assert_null(strstr(script, "moved('fused-save-p')"));
    assert_null(strstr(script, "Square tiles"));
    assert_null(strstr(script, "did not fit"));
    free(script);
    free_grid(&grid);

    /* Powers of ten stand for themselves: no unit beside them. */
    make_grid(&grid, SIM_TILES_BEST, "n=16..16K*4", "algorithm=standard,flash2", NULL);
    script = make_script(&grid);
    text_expect(script, "set label 'elements read");
    text_expect(script, "'10³' 1000, '10⁴' 10000");
    assert_null(strstr(script, "illion"));
    free(script);
    free_grid(&grid);

    make_grid(&grid, SIM_TILES_SQUARE, "n=64..1K*2", "algorithm=standard,flash2", NULL);
    script = make_script(&grid);
    text_expect(script, "d = 16, f32, SRAM 192 KiB, one head. Tiles: square");
    text_expect(script, "Square tiles are not it past M = 16d²");
    text_expect(script, "column('problem.nq')");
    text_expect(script, "set label 'thousand elements read");
    assert_null(strstr(script, "'M = d²'"));
    free(script);
    free_grid(&grid);

    make_grid(&grid, SIM_TILES_PAPER, "sram=16,64K,128K", "algorithm=flash1,flash2", NULL);
    script = make_script(&grid);
    text_expect(script, "Tiles: paper (Bc = ⌈M/4d⌉, Br = min(Bc, d))");
    text_expect(script, "flash1: 1 of 3 did not fit");
    free(script);
    free_grid(&grid);
}

static void test_nothing_to_draw(void **state)
{
    (void)state;
    struct grid grid;
    struct fa_error error = {FA_OK, ""};
    make_grid(&grid, SIM_TILES_BEST, "sram=8,16", NULL);
    assert_int_equal(grid.sweep.n_refused, 2);
    assert_int_equal(sim_plot_write(&grid.sweep, &provenance, program_path("none.svg"), &error),
                     FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "no point of the sweep could be counted"));
    assert_int_not_equal(access(program_path("none.svg"), F_OK), 0);
    assert_int_not_equal(access(program_path("none.csv"), F_OK), 0);
    free_grid(&grid);
}

/* Files in the folder whose name begins so. */
static int count_files(const char *beginning)
{
    DIR *folder = opendir(program_folder());
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        n += strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    closedir(folder);
    return n;
}

static char saved_path[8192];

static int save_path(void **state)
{
    (void)state;
    snprintf(saved_path, sizeof saved_path, "%s", getenv("PATH") ? getenv("PATH") : "");
    return 0;
}

static int restore_path(void **state)
{
    (void)state;
    return setenv("PATH", saved_path, 1);
}

static void test_gnuplot_missing(void **state)
{
    (void)state;
    struct grid grid;
    struct fa_error error = {FA_OK, ""};
    make_grid(&grid, SIM_TILES_BEST, "sram=64K,128K", "algorithm=standard,flash2", NULL);
    setenv("PATH", program_folder(), 1);
    assert_int_equal(sim_plot_write(&grid.sweep, &provenance, program_path("gone.png"), &error),
                     FA_MISSING_PART);
    assert_string_equal(error.text,
                        "gnuplot is missing, so no figure was drawn: install it (Debian: "
                        "gnuplot-nox)");
    assert_int_equal(access(program_path("gone.csv"), F_OK), 0);
    assert_int_equal(access(program_path("gone.gp"), F_OK), 0);
    assert_int_equal(count_files("gone"), 2);
    free_grid(&grid);
}

static void make_program(const char *text)
{
    FILE *file = fopen(program_path("gnuplot"), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(program_path("gnuplot"), 0700), 0);
}

/* One that says more than a pipe holds, draws half a picture, and fails. */
static void test_gnuplot_fails(void **state)
{
    (void)state;
    struct grid grid;
    struct fa_error error = {FA_OK, ""};
    char path[9000];
    make_grid(&grid, SIM_TILES_BEST, "sram=64K,128K", "algorithm=standard,flash2", NULL);
    /* The settings are words of the shell too. */
    make_program("#!/bin/sh\n"
                 "eval \"$3\"; echo half >\"$picture\"\n"
                 "echo \"first words\" >&2\n"
                 "i=0; while [ $i -lt 3000 ]; do echo 'forty bytes of complaint about the script' "
                 ">&2; i=$((i + 1)); done\n"
                 "exit 3\n");
    snprintf(path, sizeof path, "%s:%s", program_folder(), saved_path);
    setenv("PATH", path, 1);
    assert_int_equal(sim_plot_write(&grid.sweep, &provenance, program_path("bad.svg"), &error),
                     FA_IO);
    assert_non_null(strstr(error.text, "gnuplot could not draw"));
    assert_non_null(strstr(error.text, "first words forty bytes"));
    assert_int_equal(count_files("bad"), 2);
    unlink(program_path("gnuplot"));
    free_grid(&grid);
}

static void test_folder_missing(void **state)
{
    (void)state;
    struct grid grid;
    struct fa_error error = {FA_OK, ""};
    make_grid(&grid, SIM_TILES_BEST, "sram=64K,128K", NULL);
    assert_int_equal(sim_plot_write(&grid.sweep, &provenance, program_path("no/such.svg"), &error),
                     FA_IO);
    assert_non_null(strstr(error.text, "no/such.gp: can't be written"));
    free_grid(&grid);
}

static void test_pictures(void **state)
{
    (void)state;
    struct grid grid;
    struct fa_error error = {FA_OK, ""};
    size_t n;
    if (sim_plot_find_gnuplot(NULL) != FA_OK)
        skip();
    make_grid(&grid, SIM_TILES_BEST, "sram=4..256K*2", "algorithm=standard,flash1,flash2", NULL);
    assert_true(grid.sweep.n_refused > 0);
    const struct sim_provenance quoted = {
        .version = "0", .command = "flashlab sweep --mask \"a, 'b'\"", .threads = 1};
    if (sim_plot_write(&grid.sweep, &quoted, program_path("a 'b' $c.svg"), &error) != FA_OK)
        fail_msg("%s", error.text);
    if (sim_plot_write(&grid.sweep, &quoted, program_path("a 'b' $c.png"), &error) != FA_OK)
        fail_msg("%s", error.text);
    assert_int_equal(count_files("a 'b'"), 4);
    char *svg = program_read_file(program_path("a 'b' $c.svg"), &n);
    text_expect(svg, "viewBox=\"0 0 1600 1000\"");
    text_expect(svg, "Attention, forward: counted IO against the bound");
    text_expect(svg, "flash2 (Q outside)");
    text_expect(svg, "N²d²/M (Theorem 2)");
    /* A marker for each counted point: gnuplot's 5, 7 and 9 are its symbols gpPt4, 6 and 8. */
    int markers = 0;
    for (const char *at = svg; (at = strstr(at, "<use xlink:href='#gpPt")); at++)
        markers += strstr(at, "transform='translate") != NULL;
    assert_true(markers >= grid.sweep.n_points - grid.sweep.n_refused);
    assert_non_null(strstr(svg, "</svg>"));
    free(svg);
    char *png = program_read_file(program_path("a 'b' $c.png"), &n);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x06\x40\0\0\x03\xe8", 24);
    assert_true(n > 20000);
    free(png);
    free_grid(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_what_can_be_drawn),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_labels_of_one_line),
        cmocka_unit_test(test_curves_are_the_bounds),
        cmocka_unit_test(test_both_sides_of_the_corner),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_nothing_to_draw),
        cmocka_unit_test_setup_teardown(test_gnuplot_missing, save_path, restore_path),
        cmocka_unit_test_setup_teardown(test_gnuplot_fails, save_path, restore_path),
        cmocka_unit_test(test_folder_missing),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, program_folder_remove);
}
