/* What runs lessons' scenarios: painted block patterns, values of a run, what is measured; and the
 * chips of a run that is shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"
#include "simulator/cli/lesson_runner.h"
#include "simulator/cli/view_runs.h"

static double value_of(struct cli_lesson_runner *runner, const char *words, const char *expression)
{
    double value = -1;
    struct fa_error error = {FA_OK, ""};
    if (lesson_evaluate(expression, words, cli_lesson_runner_face(runner), &value, &error) != FA_OK)
        fail_msg("%s: %s", expression, error.text);
    return value;
}

static void test_painted(void **state)
{
    static const char scenario[] = "--n 16 --d 4 --tiles 4x4 --sram 16K";
    const uint8_t first[16] = {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const uint8_t second[16] = {1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    struct cli_lesson_runner *runner;
    char word[CLI_PAINTED_WORD], words[2][256];
    double value;
    (void)state;
    assert_int_equal(cli_lesson_runner_open(".", &runner, NULL), FA_OK);
    assert_int_equal(cli_lesson_paint(runner, 4, 4, first, word, NULL), FA_OK);
    snprintf(words[0], sizeof words[0], "%s %s", scenario, word);
    assert_true(value_of(runner, words[0], "tiles()") == 5);
    assert_true(value_of(runner, words[0], "loads(K, 0)") == 2);
    assert_true(value_of(runner, words[0], "with(\"--no-block-pattern\", tiles())") == 16);
    /* It is for these tiles alone. */
    const struct lesson_runner *face = cli_lesson_runner_face(runner);
    assert_int_equal(
        lesson_evaluate("with(\"--tiles 8x4\", tiles())", words[0], face, &value, NULL),
        FA_BAD_ARGUMENT);
    assert_int_equal(
        lesson_evaluate("with(\"--tiles 8x4\", loads(K, 0))", words[0], face, &value, NULL),
        FA_BAD_ARGUMENT);
    /* Painted over: another run, whose word is another. */
    assert_int_equal(cli_lesson_paint(runner, 4, 4, second, word, NULL), FA_OK);
    snprintf(words[1], sizeof words[1], "%s %s", scenario, word);
    assert_true(value_of(runner, words[1], "tiles()") == 7);
    assert_true(value_of(runner, words[1], "loads(K, 0)") == 1);
    assert_int_equal(lesson_evaluate("tiles()", words[0], face, &value, NULL), FA_BAD_ARGUMENT);
    cli_lesson_runner_close(runner);
}

/* Values on chip and in HBM, and what is measured, of runs whose answers are known. */
static void test_values(void **state)
{
    static const char sick_run[] =
        "--algorithm faulty-a --n 16 --d 4 --tiles 4x4 --sram 16K --profile equal";
    static const char gauss[] = "--n 128 --d 16 --tiles 16x16 --sram 64K";
    struct cli_lesson_runner *runner;
    double value;
    (void)state;
    assert_int_equal(cli_lesson_runner_open(".", &runner, NULL), FA_OK);
    /* l of equal scores is the number of keys so far; S lies at its own rows and columns. */
    assert_true(value_of(runner, sick_run, "cell(\"2,1\", l, 9)") == 8);
    assert_true(value_of(runner, sick_run, "cell(\"2,1\", K, 5, 0) == cell(K, 5, 0)") == 1);
    /* With V = 1 the fault adds 1/2 + 1/3 + 1/4 by the last of four tiles. */
    double bad = value_of(runner, sick_run, "measured(\"bad value\")");
    assert_true(bad > 1.083 && bad < 1.084);
    assert_true(value_of(runner, sick_run, "measured(\"first_bad_tile\")") == 1);
    assert_true(value_of(runner, gauss, "measured(\"first bad tile\")") == -1);
    double error = value_of(runner, gauss, "measured(\"O error\")");
    double rms = value_of(runner, gauss, "measured(\"O rms\")");
    assert_true(rms > 0 && rms < error && error < 1e-5);
    /* Of other stages; flash has no P, and f16 rounds what standard stores. */
    double lse = value_of(runner, gauss, "measured(\"LSE rms\")");
    assert_true(lse > 0 && lse <= value_of(runner, gauss, "measured(\"LSE error\")"));
    assert_int_equal(lesson_evaluate("measured(\"P rms\")", gauss, cli_lesson_runner_face(runner),
                                     &value, NULL), FA_BAD_ARGUMENT);
    assert_true(value_of(runner, "--n 64 --d 16 --tiles 16x16 --sram 64K --dtype f16",
                         "with(\"--algorithm standard\", measured(\"S_rms\")) > "
                         "100 * measured(\"S rms\")") == 1);
    /* Tiles on the diagonal alone keep their turn when columns go first. */
    static const char drops[] = "--n 16 --d 4 --tiles 4x2 --sram 16K --dropout 0.25";
    assert_true(value_of(runner, drops, "measured(\"other turn\")") == 4 * 8 - 2);
    double others = value_of(runner, drops, "measured(\"other bits\")");
    assert_true(others > 40 && others < 150); /* 3/8 of 240, on average */
    assert_int_equal(lesson_evaluate("measured(\"other turn\")", gauss,
                                     cli_lesson_runner_face(runner), &value, NULL),
                     FA_BAD_ARGUMENT);
    double turned = value_of(runner, gauss, "measured(\"shuffled\")");
    assert_true(turned > 0 && turned < 1e-5);
    /* The expected number of records among 128 is 1 + 1/2 + ... + 1/128 = 5.43. */
    double maxima = value_of(runner, gauss, "measured(\"new maxima\")");
    assert_true(maxima > 4.9 && maxima < 6);
    const struct lesson_runner *face = cli_lesson_runner_face(runner);
    assert_int_equal(lesson_evaluate("measured(\"luck\")", gauss, face, &value, NULL),
                     FA_BAD_ARGUMENT);
    assert_int_equal(
        lesson_evaluate("with(\"--causal\", measured(\"shuffled\"))", gauss, face, &value, NULL),
        FA_BAD_ARGUMENT);
    assert_int_equal(lesson_evaluate("loads(K, 8)", gauss, face, &value, NULL), FA_BAD_ARGUMENT);
    cli_lesson_runner_close(runner);
}

/* The chip of a faulty update offers the others, and each runs. */
static void test_updates_change_places(void **unused)
{
    struct cli_view_runs *runs = calloc(1, sizeof *runs);
    struct view_option options[VIEW_MOST_OPTIONS];
    struct view_run *run, *next;
    struct fa_error error;
    int n, offered = 0;
    (void)unused;
    assert_non_null(runs);
    assert_int_equal(cli_words_merge("--algorithm faulty-a --n 16 --d 4 --tiles 4x4", &runs->words,
                                     &error), FA_OK);
    assert_int_equal(cli_view_open(runs, 0, NULL, NULL, &run, options, &n, &error), FA_OK);
    assert_string_equal(options[0].name, "algorithm");
    for (const char *const *name = options[0].choices; *name; name++) {
        assert_true(strcmp(*name, "healthy") == 0 || strncmp(*name, "faulty-", 7) == 0);
        snprintf(options[0].value, sizeof options[0].value, "%s", *name);
        assert_int_equal(cli_view_change(runs, 0, options, &n, NULL, NULL, &next, &error), FA_OK);
        assert_string_equal(view_run_header(next)->algorithm->name, *name);
        view_run_close(next);
        offered++;
    }
    assert_int_equal(offered, 7);
    view_run_close(run);
    free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_painted),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_updates_change_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
