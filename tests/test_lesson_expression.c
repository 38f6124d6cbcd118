#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"
#include "tests/lesson_case.h"

/* ---- a runner that computes nothing ---- */

static int n_counted;

/* N queries and keys of width 4 in tiles of 4 x 2, N from "--n"; "--refuse" is refused. */
static enum fa_status fake_count(void *context, const char *words, struct sim_result *result,
                                 bool *refused, struct fa_error *error)
{
    const char *n = strstr(words, "--n ");
    (void)context;
    n_counted++;
    if (strstr(words, "--fail"))
        return fa_fail(error, FA_IO, "the runner's own words");
    memset(result, 0, sizeof *result);
    result->algorithm = &fa_flash2;
    result->problem =
        fa_problem_make(n ? strtol(n + 4, NULL, 10) : 10, n ? strtol(n + 4, NULL, 10) : 12, 4);
    result->problem.heads = 2;
    result->problem.kv_heads = 1;
    result->tiles = (struct fa_tiles){4, 5, 1, 1};
    result->machine.sram_bytes = 4096;
    result->machine.sms = 7;
    result->counters.read[FA_K] = 600;
    result->counters.read[FA_L] = 20;
    result->counters.write[FA_O] = 80;
    result->counters.flops = (struct fa_flops){100, 20, 6};
    result->counters.tiles_visited = 18;
    result->counters.sram_peak_bytes = 99;
    *refused = strstr(words, "--refuse") != NULL;
    return FA_OK;
}

static enum fa_status fake_cell(void *context, const char *words, const char *at,
                                enum fa_tensor_id id, int64_t row, int64_t column, double *value,
                                struct fa_error *error)
{
    (void)context;
    (void)words;
    (void)error;
    *value = row == 9 ? NAN : 1000 * id + 100 * (double)row + 10 * (double)column + (at[0] == 'e');
    return FA_OK;
}

static enum fa_status fake_measure(void *context, const char *words, const char *name,
                                   double *value, struct fa_error *error)
{
    (void)context;
    *value = (double)strlen(words);
    return strcmp(name, "length") == 0 ? FA_OK : fa_fail(error, FA_BAD_ARGUMENT, "no %s", name);
}

static const struct lesson_runner fake = {
    .count = fake_count, .cell = fake_cell, .measure = fake_measure};
static const struct lesson_runner bare = {.count = fake_count};

static double value_of(const char *expression)
{
    struct fa_error error = {FA_OK, ""};
    double value = NAN;
    if (lesson_expression_check(expression, &error) != FA_OK ||
        lesson_evaluate(expression, "--x 1", &fake, &value, &error) != FA_OK)
        fail_msg("%s: %s", expression, error.text);
    return value;
}

static void expect(const char *expression, double wanted)
{
    double value = value_of(expression);
    if (!(fabs(value - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("%s is %.17g: expected %.17g", expression, value, wanted);
}

static void test_arithmetic(void **state)
{
    (void)state;
    expect("1 + 2*3 - 4/8", 6.5);
    expect("10 - 3 - 2", 5);
    expect("64/8/2", 4);
    expect("2^3^2", 512);
    expect("-2^2", -4);
    expect("2^-1", .5);
    expect("--3", 3);
    expect("(1 + 2)*3", 9);
    expect(" 0.1 ", .1);
    expect("1.5e3", 1500);
    expect("2e-1", .2);
    expect("ceil(7/2) + floor(7/2) + round(2.5) + abs(-3)", 4 + 3 + 3 + 3);
    expect("exp(0) + ln(exp(2)) + log2(8) + sqrt(9)", 1 + 2 + 3 + 3);
    expect("min(3, 1, 2) + max(3, 1, 5, 2)", 6);
    expect("1 < 2", 1);
    expect("2 <= 1", 0);
    expect("1 + 1 == 2", 1);
    expect("3 != 3", 0);
    expect("3 >= 3", 1);
    expect("3 > 4", 0);
}

static void test_names_and_counts(void **state)
{
    (void)state;
    expect("n", 12);
    expect("1000*nq + nk", 10012);
    expect("d + dv", 8);
    expect("100*br + bc", 405);
    expect("100*tr + tc", 303);
    expect("100*heads + 10*kv_heads + batch", 211);
    expect("sram - 4*m_elems + size", 4);
    expect("sms", 7);
    expect("scale", .5);
    expect("f", 2);
    expect("read(K)", 300);
    expect("read(k) + write(K)", 300);
    expect("moved(O)", 40);
    expect("read() + write()", 350);
    expect("moved()", 350);
    expect("bytes(moved())", 1400);
    expect("bytes(read(l))", 40);
    expect("flops()", 63);
    expect("flops(matmul)", 50);
    expect("flops(exp)", 10);
    expect("flops(other)", 3);
    expect("tiles()", 9);
    expect("peak()", 99);
    expect("fits()", 1);
    expect("with('--refuse', fits())", 0);
    expect("cell(Q,1,2)", 121);
    expect("cell(K, 3)", 1301);
    expect("cell(\"0,2\", dO, br, bc - 4)", 1000 * FA_DO + 410);
    expect("measured('length')", 5);
    expect("with('--n 8', n)", 8);
    expect("n + with('--n 8', n + with('--n 6', n)) + n", 12 + 8 + 6 + 12);
    expect("with('--no-x --yy 12', measured('length'))", 7);
}

static void test_runs_are_counted_once(void **state)
{
    (void)state;
    n_counted = 0;
    value_of("1 + 2");
    assert_int_equal(n_counted, 0);
    value_of("cell(Q,1)");
    assert_int_equal(n_counted, 0);
    value_of("n + moved() + with('--n 8', n + d) + with('--n 8', br) + tiles()");
    assert_int_equal(n_counted, 2);
    n_counted = 0;
    expect("sweep_first('n', 3, 90, n > 40)", 41);
    assert_int_equal(n_counted, 39);
    n_counted = 0;
    expect("n + sweep_first('n', 1, 20, n > 15) + n", 12 + 16 + 12); /* more than are kept */
    assert_int_equal(n_counted, 18);
}

/* The text of a refusal, and its status. */
static void refused(const char *expression, const struct lesson_runner *runner,
                    enum fa_status wanted, const char *said)
{
    struct fa_error error = {FA_OK, ""};
    double value = 5;
    enum fa_status status = runner ? lesson_evaluate(expression, "--x 1", runner, &value, &error)
                                   : lesson_expression_check(expression, &error);
    if (status != wanted || error.status != wanted || !strstr(error.text, said))
        fail_msg("%s: expected %s, got %s", expression, said,
                 status == FA_OK ? "a value" : error.text);
    assert_true(value == 5);
}

static void test_refusals(void **state)
{
    char deep[400];
    (void)state;
    static const char *const syntax[][2] = {
        {"", "at the end (character 1): expected a number, a name or ("},
        {"1 +", "expected a number"},
        {"(1", "at the end (character 3): expected )"},
        {"1)", "at ')' (character 2): expected + - * / ^"},
        {"1 2", "at '2' (character 3)"},
        {"nn", "no quantity is called 'nn': did you mean n"},
        {"hedas", "did you mean heads?"},
        {"bogusness", "lessons/README.md lists them"},
        {"moved", "moved is a call: expected moved(...)"},
        {"moed(K)", "no function is called 'moed': did you mean moved?"},
        {"n(K)", "no function is called 'n'"},
        {"moved(X)", "at 'X)' (character 7): expected a tensor"},
        {"moved(tile_m)", "expected a tensor"},
        {"moved(pd)", "expected a tensor"},
        {"bytes(n)", "expected read(...)"},
        {"flops(all)", "expected matmul, exp, other or nothing"},
        {"loads(K)", "expected ,"},
        {"cell(K)", "expected ,"},
        {"cell(0,2,m,4)", "expected a tensor"},
        {"with(n, n)", "expected a text in quotes"},
        {"with('--n 4, n)", "expected a closing quote"},
        {"with('n 4', n)", "expected words of options"},
        {"sweep_first('n', 1, n)", "expected ,"},
        {"1 < 2 < 3", "at '< 3'"},
    };
    for (size_t s = 0; s < sizeof syntax / sizeof *syntax; s++) {
        refused(syntax[s][0], NULL, FA_BAD_ARGUMENT, syntax[s][1]);
        refused(syntax[s][0], &fake, FA_BAD_ARGUMENT, syntax[s][1]);
    }
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refused(deep, NULL, FA_BAD_ARGUMENT, "levels");
    memset(deep, '-', sizeof deep - 1);
    refused(deep, NULL, FA_BAD_ARGUMENT, "levels");
    /* What only a run shows. */
    refused("1/(n - 12)", &fake, FA_BAD_ARGUMENT, "at '/(n - 12)' (character 2): a division by 0");
    refused("ln(-1)", &fake, FA_BAD_ARGUMENT, "is no number");
    refused("exp(1000)", &fake, FA_BAD_ARGUMENT, "is infinite");
    refused("cell(Q,9)", &fake, FA_BAD_ARGUMENT, "nothing stands in q, row 9, column 0 at end");
    refused("cell(Q,1/2)", &fake, FA_BAD_ARGUMENT, "expected a whole number");
    refused("cell(Q,1)", &bare, FA_UNSUPPORTED, "expected a program that runs scenarios");
    refused("loads(Q,1)", &bare, FA_UNSUPPORTED, "expected a program that runs scenarios");
    refused("measured('x')", &bare, FA_UNSUPPORTED, "expected a program that runs scenarios");
    refused("measured('x')", &fake, FA_BAD_ARGUMENT, "no x");
    refused("with('--refuse', n + moved())", &fake, FA_DOES_NOT_FIT,
            "the machine refuses this run");
    refused("with('--fail', n)", &fake, FA_IO, "the runner's own words");
    refused("sweep_first('n', 9, 3, n)", &fake, FA_BAD_ARGUMENT, "expected the least value first");
    refused("sweep_first('n', 3, 9, n > 9)", &fake, FA_BAD_ARGUMENT, "no n from 3 to 9");
    refused("sweep_first('n', 1, 1000000, n < 0)", &fake, FA_TOO_LARGE, "sweeps of more than");
}

/* ---- real counts ---- */

static double counted(const char *words, const char *expression)
{
    struct fa_error error = {FA_OK, ""};
    double value = NAN;
    if (lesson_evaluate(expression, words, &lesson_case_runner, &value, &error) != FA_OK)
        fail_msg("%s: %s", expression, error.text);
    return value;
}

static void figure(const char *words, const char *expression, double wanted)
{
    double value = counted(words, expression);
    if (!(fabs(value - wanted) <= 1e-12 * fabs(wanted)))
        fail_msg("%s, %s is %.17g: expected %.17g", words, expression, value, wanted);
}

/* To the digits that a figure is given with. */
static void rounded(const char *words, const char *expression, double wanted, double unit)
{
    double value = counted(words, expression);
    if (!(fabs(value - wanted) <= unit / 2))
        fail_msg("%s, %s is %.17g: expected %g", words, expression, value, wanted);
}

static void test_figures_of_standard(void **state)
{
    const char *words = "--algorithm standard --n 128 --d 16 --tiles 16x16";
    (void)state;
    figure(words, "moved()", 102400);
    figure(words, "with('--tiles 128x128', moved())", 73728);
    figure(words, "with('--tiles 128x128', moved(S) + moved(P))", 4 * 128 * 128);
    rounded(words, "100*with('--tiles 128x128', (moved(S) + moved(P))/moved())", 88.9, .1);
    figure(words, "with('--algorithm flash1', moved())", 59648);
    figure(words, "with('--algorithm flash2', moved())", 36992);
    rounded(words, "moved()/with('--algorithm flash2', moved())", 2.77, .01);
    figure(words, "with('--algorithm flash1', loads(O,3))", 8);
    figure(words, "with('--algorithm flash1', stores(O,3))", 9); /* set to 0 first */
    figure(words, "with('--algorithm flash2', loads(O,3))", 0);
}

static void test_figures_of_memories(void **state)
{
    (void)state;
    figure("--machine a100 --sram 192K --n 1024 --d 64 --dtype f16", "floor(sqrt(m_elems))", 313);
    rounded("--machine a100 --sram 192K --n 1024 --d 64 --dtype f16", "n^2*size/sram", 10.7, .1);
    /* The machine refuses this one: what it needs, and what would fit. */
    const char *words = "--algorithm flash1 --n 64 --d 16 --tiles 16x16 --sram 4K";
    figure(words, "fits()", 0);
    figure(words, "m_elems", 1024);
    figure(words, "needs()/size", 1344);
    figure(words, "largest_square()", 12);
    figure(words, "with('--tiles 12x12', fits())", 1);
    figure(words, "with('--tiles 13x13', fits())", 0);
    figure(words, "with('--tiles 12x12', needs() - peak())", 0);
    /* A sweep passes over what is refused. */
    figure(words, "sweep_first('sram', 5000, 6000, moved() > 0)", 1344 * 4);
    figure(words, "with('--pass both', needs())/with('--pass backward', needs())", 1);
    figure("--algorithm standard --n 64 --d 16 --tiles 8x8 --sram 64K", "f", 1);
    figure("--algorithm standard --n 1024 --d 16 --tiles 8x8 --sram 4K", "f", 2);
    figure("--algorithm flash1 --n 64 --d 64 --tiles 16x16 --sram 64", "largest_square()", 0);
}

static void test_figures_of_block_sizes(void **state)
{
    const char *words = "--algorithm flash2 --n 1024 --d 64 --tiles 96x16 --sram 64K";
    (void)state;
    figure(words, "moved()", 1573888);
    figure(words, "with('--tiles square', br)", 52);
    figure(words, "with('--tiles square', moved())", 2753536);
    figure(words, "with('--tiles best', 1000*br + bc)", 114006);
    figure(words, "with('--tiles best', moved())", 1311744);
    figure(words, "sweep_first('br', 8, 200, moved() <= 1600000)", 94);
    figure(words, "sweep_first('bc', 2, 200, bc == 7)", 7);
    const char *one_pass = "with('--algorithm standard --tiles 1024x1024 --sram 1G', moved())";
    char expression[256];
    snprintf(expression, sizeof expression, "sweep_first('br', 8, 1024, moved() < %s)", one_pass);
    figure(words, expression, 32);
    snprintf(expression, sizeof expression, "with('--tiles 16x16', moved())/%s", one_pass);
    rounded(words, expression, 1.9, .1);
    rounded("--algorithm flash2 --nq 1 --nk 1024 --d 64 --tiles 1x64",
            "with('--algorithm standard --tiles 1x1024 --sram 1G', moved())/moved()", 1.03, .01);
}

static void test_figures_of_backward(void **state)
{
    const char *words = "--pass both --algorithm flash2 --n 1024 --d 64 --tiles 64x64 --sram 1G";
    (void)state;
    figure(words, "moved()", 6916096);
    figure(words, "with('--algorithm standard', moved())", 18219008);
    figure(words, "with('--tiles 128x128', moved())", 3753984);
    figure(words, "with('--tiles 128x128 --algorithm standard', moved())", 15073280);
    figure(words, "with('--tiles 1024x1024 --algorithm standard', moved())", 12320768);
    figure(words, "kept()/size", 66560);
    figure(words, "with('--algorithm standard', kept())/size", 1048576);
}

static void test_figures_of_masks_and_kernels(void **state)
{
    const char *words = "--algorithm flash2 --n 1024 --d 64 --tiles 64x64";
    const char *wide = "--algorithm flash2 --n 4096 --d 64 --heads 16 --tiles 128x64 --dtype f16";
    (void)state;
    figure(words, "with('--causal', tiles())", 136);
    figure(words, "with('--causal', masked())", 16);
    figure(words, "with('--causal', tiles() + skipped())", 256);
    rounded(words, "with('--causal', moved())/moved()", .559, .001);
    figure(wide, "units()", 512);
    figure(wide, "units(0)", 512);
    figure(wide, "units(1)", 0);
    rounded(wide, "waves()", 4.74, .01);
    figure(wide, "with('--algorithm flash1', units())", 16);
    figure(wide, "sms", 108);
    assert_true(counted(words, "dram(read)") > 0);
    figure(words, "dram(read) + dram(write) - dram()", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_names_and_counts),
        cmocka_unit_test(test_runs_are_counted_once),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_figures_of_standard),
        cmocka_unit_test(test_figures_of_memories),
        cmocka_unit_test(test_figures_of_block_sizes),
        cmocka_unit_test(test_figures_of_backward),
        cmocka_unit_test(test_figures_of_masks_and_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
