/* Published numbers beside ours: every exact row is met, and a wrong printed value is noticed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/paper.h"
#include "simulator/plot.h"
#include "tests/program_expect.h"

#define ALL_BUT_ERROR (((1u << SIM_PAPER_TOPICS) - 1) & ~(1u << SIM_PAPER_ERROR))

/* Made once: the theorems' sweeps take seconds. */
static struct sim_paper paper;

static int make_rows(void **state)
{
    struct fa_error error;
    (void)state;
    if (sim_paper_run(ALL_BUT_ERROR, 2, NULL, &paper, &error) != FA_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    sim_paper_free(&paper);
    program_folder_remove(NULL);
    return 0;
}

static struct sim_paper_row *row_of(const char *id)
{
    for (int i = 0; i < paper.n_rows; i++)
        if (strcmp(paper.rows[i].id, id) == 0)
            return &paper.rows[i];
    fail_msg("no row %s", id);
    return NULL;
}

static void expect_near(double value, double expected, double share)
{
    if (!(fabs(value - expected) <= share * fabs(expected)))
        fail_msg("%.17g, expected %.17g to %g", value, expected, share);
}

static void test_exact_rows_are_met(void **state)
{
    int exact[SIM_PAPER_TOPICS] = {0};
    (void)state;
    for (int i = 0; i < paper.n_rows; i++) {
        const struct sim_paper_row *row = &paper.rows[i];
        exact[row->topic] += row->exact;
        if (row->exact && !row->pass)
            fail_msg("%s: %.17g, published %.17g", row->id, row->ours, row->published);
        assert_true(row->exact || !row->pass);
        assert_true(isfinite(row->ours));
        for (int other = 0; other < i; other++)
            assert_string_not_equal(paper.rows[other].id, row->id);
    }
    assert_int_equal(sim_paper_missed(&paper), 0);
    assert_int_equal(exact[SIM_PAPER_FIGURE2], 2 + 4);
    assert_int_equal(exact[SIM_PAPER_TABLE21], 6 + 10);
    assert_int_equal(exact[SIM_PAPER_THEOREMS], 2 * 2 * 3 + 2 + 4);
}

/* The figures of the paper's table of readings, and that the row says what was lifted and scaled. */
static void test_figure2_readings(void **state)
{
    static const struct {
        const char *id;
        double gb, share;
        enum sim_paper_how how;
    } rows[] = {
        {"figure2.standard.hbm", 40.267415552, 1e-12, SIM_PAPER_COUNTED},
        {"figure2.flash.hbm", 4.378853376, 1e-12, SIM_PAPER_COUNTED},
        {"figure2.standard.alone.hbm", 25.23, 2e-4, SIM_PAPER_COUNTED},
        {"figure2.standard.masked-fill.hbm", 33.8, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2.flash.text-tc3.hbm", 4.03, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2.flash.text-tc4.hbm", 5.10, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2.flash.kernel.hbm", 4.43, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2-blocks.law.bc64", 7.12, 1e-3, SIM_PAPER_COUNTED},
        {"figure2-blocks.law.bc128", 3.77, 2e-3, SIM_PAPER_COUNTED},
        {"figure2-blocks.law.bc256", 2.09, 1e-3, SIM_PAPER_COUNTED},
        {"figure2-blocks.law.bc512", 1.25, 1e-3, SIM_PAPER_COUNTED},
        {"figure2-blocks.text.bc64", 6.71, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2-blocks.text.bc128", 3.49, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2-blocks.text.bc256", 1.88, 1e-3, SIM_PAPER_CLOSED_FORM},
        {"figure2-blocks.text.bc512", 1.07, 5e-3, SIM_PAPER_CLOSED_FORM},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sim_paper_row *row = row_of(rows[i].id);
        expect_near(row->ours, rows[i].gb, rows[i].share);
        assert_int_equal(row->how, rows[i].how);
        assert_int_equal(row->exact, i < 2);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(row_of(rows[i].id)->variant, "capacity lifted"));
        assert_non_null(strstr(row_of(rows[i].id)->variant, "1 head executed and scaled to 1024"));
        assert_non_null(strstr(row_of(rows[i].id)->variant, "not proven"));
    }
}

/* The exponent of M again, from the closed form of Algorithm 1 with Tc = 4 N d / M trips. */
static void test_exponent_of_m(void **state)
{
    const double n = 65536, d = 64;
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    (void)state;
    for (int i = 0; i < 5; i++) {
        double m = 32768 * (1 << i), trips = 4 * n * d / m;
        double moved = 2 * n * d + trips * (2 * n * d + 2 * n) + (trips + 1) * (n * d + 2 * n);
        double x = log(m), y = log(moved - 4 * n * d);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    expect_near(row_of("theorems.theorem2.flash1.M")->ours,
                (5 * sxy - sx * sy) / (5 * sxx - sx * sx), 1e-9);
}

/* Beside the fitted form: 4 N^2 + 8 Nd and LSE; 8 Nd, l, m and LSE. */
static void test_footprints(void **state)
{
    const double mib = 1024.0 * 1024.0, heads = 128, n = 1024, d = 64;
    const struct sim_paper_row *standard = row_of("table21.standard-run.n1024");
    const struct sim_paper_row *flash = row_of("table21.flash-run.n1024");
    (void)state;
    expect_near(standard->ours, heads * (2 * (4 * n * n + 8 * n * d) + 4 * n) / mib, 1e-12);
    expect_near(flash->ours, heads * (2 * 8 * n * d + 3 * 4 * n) / mib, 1e-12);
    assert_false(standard->exact || flash->exact);
}

static void test_times_are_estimates(void **state)
{
    int n = 0;
    (void)state;
    for (int i = 0; i < paper.n_rows; i++) {
        const struct sim_paper_row *row = &paper.rows[i];
        if (row->how != SIM_PAPER_TIME_MODEL)
            continue;
        n++;
        assert_false(row->exact);
        assert_true(row->ours > 0);
        assert_non_null(strstr(row->variant, "stimate"));
        if (row->topic == SIM_PAPER_TABLE20)
            assert_string_equal(row->unit, "ms");
    }
    assert_int_equal(n, 26 + 3 + 1 + 4);
}

/* Each exact row is missed where another value is printed, and nothing else is. */
static void test_a_wrong_value_is_missed(void **state)
{
    struct fa_error error;
    (void)state;
    for (int i = 0; i < paper.n_rows; i++) {
        struct sim_paper_row *row = &paper.rows[i];
        double printed = row->published, wrong = 0.9 * printed;
        if (isnan(printed))
            continue;
        assert_int_equal(sim_paper_publish(&paper, row->id, wrong, &error), FA_OK);
        assert_int_equal(sim_paper_missed(&paper), row->exact);
        assert_int_equal(sim_paper_publish(&paper, row->id, printed, &error), FA_OK);
    }
    assert_int_equal(sim_paper_missed(&paper), 0);
    /* To the printed MiB, and to one element. */
    sim_paper_publish(&paper, "table21.flash.n512", 105, &error);
    assert_int_equal(sim_paper_missed(&paper), 1);
    sim_paper_publish(&paper, "table21.flash.n512", 104, &error);
    sim_paper_publish(&paper, "figure2.unit.algorithm0.reads", 2293761, &error);
    assert_int_equal(sim_paper_missed(&paper), 1);
    sim_paper_publish(&paper, "figure2.unit.algorithm0.reads", 2293760, &error);
    assert_int_equal(sim_paper_publish(&paper, "figure2.none", 1, &error), FA_BAD_ARGUMENT);
    assert_int_equal(sim_paper_publish(&paper, "figure2.flash.hbm", NAN, &error), FA_BAD_ARGUMENT);
    assert_int_equal(sim_paper_missed(&paper), 0);
}

struct ticks {
    int n, most;
    double last;
};

static bool tick(void *context, double done)
{
    struct ticks *ticks = context;
    assert_true(done >= ticks->last && done <= 1);
    ticks->last = done;
    return ++ticks->n < ticks->most;
}

static void test_progress_and_cancelling(void **state)
{
    struct ticks ticks = {0, 1000000, 0};
    struct fa_watch watch = {tick, &ticks};
    struct sim_paper made = {NULL, -1, -1};
    struct fa_error error;
    uint32_t topics = 1u << SIM_PAPER_BLOCKS | 1u << SIM_PAPER_TABLE21;
    (void)state;
    assert_int_equal(sim_paper_run(topics, 1, &watch, &made, &error), FA_OK);
    assert_true(ticks.last > 0.999);
    assert_int_equal(made.n_rows, 8 + 32);
    sim_paper_free(&made);
    made.n_rows = -1;
    ticks = (struct ticks){0, 2, 0};
    assert_int_equal(sim_paper_run(topics, 1, &watch, &made, &error), FA_CANCELLED);
    assert_int_equal(made.n_rows, -1);
}

static void test_json(void **state)
{
    static const char *const keys[] = {"id",    "ours",  "published", "how",   "exact",  "pass",
                                       "topic", "title", "unit",      "ratio", "variant"};
    json_t *list = sim_paper_json(&paper);
    (void)state;
    assert_int_equal(json_array_size(list), paper.n_rows);
    for (int i = 0; i < paper.n_rows; i++) {
        const json_t *row = json_array_get(list, (size_t)i);
        bool exact = paper.rows[i].exact, printed = !isnan(paper.rows[i].published);
        void *at = json_object_iter((json_t *)row);
        assert_int_equal(json_object_size(row), sizeof keys / sizeof *keys);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            assert_string_equal(json_object_iter_key(at), keys[k]);
            at = json_object_iter_next((json_t *)row, at);
        }
        assert_string_equal(json_string_value(json_at(row, "id")), paper.rows[i].id);
        assert_true(json_real_value(json_at(row, "ours")) == paper.rows[i].ours);
        assert_int_equal(json_is_real(json_at(row, "published")), printed);
        assert_int_equal(json_is_true(json_at(row, "exact")), exact);
        assert_true(exact ? json_is_boolean(json_at(row, "pass"))
                          : json_is_null(json_at(row, "pass")));
    }
    json_decref(list);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_program(void **state)
{
    (void)state;
    struct program_run run = program_run_line("paper figure2");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    text_expect(run.out, "40.27       40.3  0.9992  GB       counted     met");
    text_expect(run.out, "2,293,760");
    text_expect(run.out, "6 of 6 exact rows are met");
    program_run_free(&run);

    write_text(program_path("planted.json"), "{\"figure2.flash.hbm\": 4.5}");
    run = program_run_line("paper figure2 --published @planted.json");
    assert_int_equal(run.status, 1);
    text_expect(run.err, "1 exact row is missed");
    text_expect(run.out, "MISSED");
    program_run_free(&run);
    run = program_run_line("paper figure2 --published @planted.json --format json");
    assert_int_equal(run.status, 1);
    json_t *list = json_loads(run.out, 0, NULL);
    assert_true(json_is_false(json_at(json_array_get(list, 1), "pass")));
    json_decref(list);
    program_run_free(&run);

    list = program_run_json("paper figure2-blocks --format json", 0);
    assert_int_equal(json_array_size(list), 8);
    json_decref(list);
}

static void test_refusals(void **state)
{
    static const struct program_refusal refusals[] = {
        {"paper figure3", "bad_argument", "\"figure3\": expected figure2, figure2-blocks, table20"},
        {"paper figure2 table21", "bad_argument", "table21"},
        {"paper figure2 --published @none.json", "io", "none.json: can't be read"},
        {"paper figure2 --published @list.json", "bad_file", "expected an object"},
        {"paper figure2 --published @torn.json", "bad_file", "torn.json:1: "},
        {"paper figure2 --published @other.json", "bad_argument", "no row of this run has that id"},
        {"paper figure2 --published @word.json", "bad_file", "expected a number"},
        {"paper figure2 --out /dev/null/x", "io", "/dev/null/x"},
    };
    (void)state;
    write_text(program_path("list.json"), "[1]");
    write_text(program_path("torn.json"), "{\"figure2.flash.hbm\": ");
    write_text(program_path("other.json"), "{\"table21.flash.n128\": 22}");
    write_text(program_path("word.json"), "{\"figure2.flash.hbm\": \"4.4\"}");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char line[256];
        struct program_run run = program_run_line(refusals[i].line);
        assert_int_equal(run.status, 2);
        assert_string_equal(run.out, "");
        text_expect(run.err, "flashlab paper: ");
        text_expect(run.err, refusals[i].text);
        program_run_free(&run);
        snprintf(line, sizeof line, "%s --format json", refusals[i].line);
        json_t *object = program_run_json(line, 2);
        assert_string_equal(json_string_value(json_at(object, "error.code")), refusals[i].code);
        json_decref(object);
    }
}

/* Whole files, no half-written ones beside them. */
static void test_handout(void **state)
{
    bool drawn = sim_plot_find_gnuplot(NULL) == FA_OK;
    (void)state;
    for (int pass = 0; pass < 2; pass++) { /* the second time over what stands there */
        struct program_run run = program_run_line("paper table21 --out @handout/new");
        assert_int_equal(run.status, drawn ? 0 : 3);
        program_run_free(&run);
    }
    char *markdown = program_read_file(program_path("handout/new/paper.md"), NULL);
    char *csv = program_read_file(program_path("handout/new/paper.csv"), NULL);
    char *script = program_read_file(program_path("handout/new/paper-table21.gp"), NULL);
    text_expect(markdown, "## Table 21: memory, forward and backward\n");
    text_expect(markdown,
                "| flash, N = 65536, fitted form | 13,376 | 13,376 | 1 | MiB | closed form "
                "at this size | met | 2 |\n");
    text_expect(markdown, "](paper-table21.svg)");
    text_expect(csv, "id,topic,title,ours,published,ratio,unit,how,exact,pass,variant\n");
    text_expect(csv, "table21.flash.n512,table21,\"flash, N = 512, fitted form\",104.5,104,");
    text_expect(script, "plot $s0");
    int lines = 0;
    for (const char *at = csv; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 1 + 32);
    free(markdown);
    free(csv);
    free(script);
    char *picture = program_read_file(program_path("handout/new/paper-table21.svg"), NULL);
    assert_int_equal(picture != NULL, drawn);
    if (picture)
        text_expect(picture, "</svg>");
    free(picture);
    char command[600];
    snprintf(command, sizeof command, "ls '%s' | grep -q part-", program_path("handout/new"));
    assert_int_not_equal(system(command), 0);
}

/* What gnuplot says of a script that it can't draw is part of the message. */
static void test_gnuplot_fails(void **state)
{
    const char *before = getenv("PATH");
    char saved[8192], path[9000];
    (void)state;
    snprintf(saved, sizeof saved, "%s", before ? before : "");
    write_text(program_path("gnuplot"), "#!/bin/sh\necho 'told so' >&2\nexit 3\n");
    assert_int_equal(chmod(program_path("gnuplot"), 0700), 0);
    snprintf(path, sizeof path, "%s:%s", program_folder(), saved);
    setenv("PATH", path, 1);
    struct program_run run = program_run_line("paper table21 --out @failed");
    setenv("PATH", saved, 1);
    unlink(program_path("gnuplot"));
    assert_int_equal(run.status, 2);
    text_expect(run.err, "paper-table21.svg: gnuplot could not draw");
    text_expect(run.err, "paper-table21.gp: told so");
    program_run_free(&run);
    char *script = program_read_file(program_path("failed/paper-table21.gp"), NULL);
    text_expect(script, "set output picture");
    free(script);
    char *picture = program_read_file(program_path("failed/paper-table21.svg"), NULL);
    assert_null(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_rows_are_met),
        cmocka_unit_test(test_figure2_readings),
        cmocka_unit_test(test_exponent_of_m),
        cmocka_unit_test(test_footprints),
        cmocka_unit_test(test_times_are_estimates),
        cmocka_unit_test(test_a_wrong_value_is_missed),
        cmocka_unit_test(test_progress_and_cancelling),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_handout),
        cmocka_unit_test(test_gnuplot_fails),
    };
    return cmocka_run_group_tests_name("paper", tests, make_rows, free_rows);
}
