/* flashlab sweep and flashlab machines, as a user meets them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/machine.h"
#include "simulator/plot.h"
#include "tests/program_expect.h"

static void test_table(void **state)
{
    (void)state;
    struct program_run run =
        program_run("sweep", "--vary", "sram=16K,32K", "--vary", "n=64,128,256", "--algorithm",
                    "flash2,flash1", "--d", "8", NULL);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    assert_int_equal(text_count_lines(run.out), 1 + 12);
    text_expect(run.out, "schema,problem.batch,problem.heads,");
    text_expect(run.out, ",hbm.by_tensor.q.read.bytes,");
    text_expect(run.out, ",bounds.theta_elements,");
    text_expect(run.out, ",error.code,error.message\n");
    program_run_free(&run);
}

/* A point is what `count` says of it. */
static void test_agrees_with_count(void **state)
{
    (void)state;
    struct program_run sweep =
        program_run("sweep", "--vary", "n=100", "--vary", "d=8", "--vary", "br=16", "--vary",
                    "bc=4", "--algorithm", "flash1", "--causal", "--format", "json", NULL);
    struct program_run count =
        program_run("count", "--n", "100", "--d", "8", "--tiles", "16x4", "--algorithm", "flash1",
                    "--causal", "--format", "json", NULL);
    json_t *list = json_loads(sweep.out, 0, NULL), *one = json_loads(count.out, 0, NULL);
    assert_int_equal(json_array_size(list), 1);
    json_object_del(json_array_get(list, 0), "provenance");
    json_object_del(one, "provenance");
    json_object_del(one, "l2"); /* the models are not asked at each point */
    json_object_del(one, "time");
    assert_true(json_equal(json_array_get(list, 0), one));
    json_decref(list);
    json_decref(one);
    program_run_free(&sweep);
    program_run_free(&count);
}

static void test_refused_points_are_said(void **state)
{
    (void)state;
    struct program_run run = program_run("sweep", "--vary", "sram=64,16K", "--d", "8", "--n", "64",
                                         "--algorithm", "flash2", NULL);
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 3);
    text_expect(run.out, ",does_not_fit,");
    text_expect(run.err, "1 of 2 points were refused");
    program_run_free(&run);
    run = program_run("sweep", "--vary", "sram=64,16K", "--d", "8", "--n", "64", "--algorithm",
                      "flash2", "--format", "json", NULL);
    json_t *list = json_loads(run.out, 0, NULL);
    assert_int_equal(json_array_size(list), 2);
    json_t *refused = json_array_get(list, 0), *error = json_object_get(refused, "error");
    assert_string_equal(json_string_value(json_object_get(error, "code")), "does_not_fit");
    assert_null(json_object_get(refused, "hbm"));
    assert_null(json_object_get(json_array_get(list, 1), "error"));
    json_decref(list);
    program_run_free(&run);
}

static void test_files(void **state)
{
    (void)state;
    struct program_run run =
        program_run("sweep", "--csv", program_path("t.csv"), "--plot", program_path("f.svg"), NULL);
    bool drawn = sim_plot_find_gnuplot(NULL) == FA_OK;
    assert_int_equal(run.status, drawn ? 0 : 3);
    if (!drawn)
        text_expect(run.err, "gnuplot is missing");
    char *table = program_read_file(program_path("t.csv"), NULL);
    char *beside = program_read_file(program_path("f.csv"), NULL);
    assert_string_equal(table, beside);
    assert_int_equal(text_count_lines(table), 1 + 13 * 3);
    text_expect(table, ",8192,8192,64,64,");
    text_expect(table, ",best,a100,196608,");
    assert_int_equal(access(program_path("f.gp"), F_OK), 0);
    assert_int_equal(access(program_path("f.svg"), F_OK) == 0, drawn);
    free(table);
    free(beside);
    program_run_free(&run);
}

/* - is standard output; what else is said goes to the other stream. */
static void test_csv_on_standard_output(void **state)
{
    (void)state;
    struct program_run bare = program_run("sweep", "--vary", "n=64,1k", NULL);
    struct program_run run = program_run("sweep", "--vary", "n=64,1k", "--csv", "-", NULL);
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 1 + 2 * 3);
    assert_memory_equal(run.out, bare.out, 40);
    assert_int_equal(access("-", F_OK), -1);
    program_run_free(&bare);
    program_run_free(&run);
    if (sim_plot_find_gnuplot(NULL) != FA_OK)
        return;
    run = program_run("sweep", "--csv", "-", "--plot", program_path("d.svg"), NULL);
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 1 + 13 * 3);
    text_expect(run.err, "d.svg: drawn from 39 points");
    program_run_free(&run);
}

static void expect_refusal(const char *words, const char *a, const char *b, const char *c,
                           const char *d)
{
    struct program_run run = program_run("sweep", a, b, c, d, NULL);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    text_expect(run.err, words);
    assert_int_equal(text_count_lines(run.err), 1);
    program_run_free(&run);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("n: \"x\": expected a whole number", "--vary", "n=x", NULL, NULL);
    expect_refusal("n: expected to be varied once, not twice", "--vary", "n=1", "--vary", "n=2");
    expect_refusal("--n and --vary n: expected only one of them", "--vary", "n=4", "--n", "4");
    expect_refusal("--sram and --vary sram", "--vary", "sram=4K", "--sram", "4K");
    expect_refusal("br is varied, but the rule \"best\"", "--vary", "br=4", "--tiles", "best");
    expect_refusal("ends in .svg or .png", "--plot", "x.pdf", NULL, NULL);
    expect_refusal("here n and d vary", "--vary=n=4", "--vary=d=4", "--plot", "x.svg");
    expect_refusal("/no/such", "--csv", "/no/such/x.csv", "--vary", "n=4");
    expect_refusal("/no/such", "--plot", "/no/such/x.svg", NULL, NULL);
    expect_refusal("expected another file than the figure's", "--csv", program_path("x.svg"),
                   "--plot", program_path("./x.svg"));
    expect_refusal("or its script's", "--csv", program_path("y.gp"), "--plot",
                   program_path("y.svg"));
    assert_int_equal(access(program_path("x.gp"), F_OK), -1);
    struct program_run run = program_run("sweep", "--csv", "-", "--format", "json", NULL);
    assert_int_equal(run.status, 2);
    text_expect(run.out, "expected one of them on standard output");
    program_run_free(&run);
    run = program_run("run", "--n", "8", "--trace", "-", NULL);
    assert_int_equal(run.status, 2);
    text_expect(run.err, "--trace: expected a file: standard output is the report's");
    program_run_free(&run);
}

static void test_machines(void **state)
{
    (void)state;
    struct program_run run = program_run("machines", NULL);
    assert_int_equal(run.status, 0);
    int n;
    const struct sim_machine *presets = sim_machine_presets(&n);
    for (int i = 0; i < n; i++)
        text_expect(run.out, presets[i].name);
    text_expect(run.out, "   2.436\n");
    program_run_free(&run);

    run = program_run("machines", "a100", NULL);
    text_expect(run.out, "19 TB/s");
    text_expect(run.out, presets[2].source_sram);
    text_expect(run.out, "exp        2.436 T/s     108 SMs x 16 a clock");
    text_expect(run.out, "49152 numbers of f32");
    program_run_free(&run);

    run = program_run("machines", "--format", "json", NULL);
    json_t *list = json_loads(run.out, 0, NULL);
    assert_int_equal(json_array_size(list), n);
    json_decref(list);
    program_run_free(&run);

    /* What is printed is a machine file. */
    run = program_run("machines", "h100", "--format", "json", NULL);
    FILE *file = fopen(program_path("my.json"), "w");
    fputs(run.out, file);
    fclose(file);
    struct program_run again =
        program_run("machines", program_path("my.json"), "--format", "json", NULL);
    assert_string_equal(again.out, run.out);
    program_run_free(&again);
    program_run_free(&run);
    run = program_run("count", "--machine", program_path("my.json"), "--format", "json", NULL);
    assert_int_equal(run.status, 0);
    text_expect(run.out, "232448");
    program_run_free(&run);
    run = program_run("machines", "b200", NULL);
    assert_int_equal(run.status, 2);
    text_expect(run.err, "machine \"b200\": neither a preset");
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_agrees_with_count),
        cmocka_unit_test(test_refused_points_are_said),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_csv_on_standard_output),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_machines),
    };
    return cmocka_run_group_tests_name("cmd_sweep", tests, NULL, program_folder_remove);
}
