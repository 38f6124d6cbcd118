/* flashlab precision from outside, at sizes of moments. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/program_expect.h"

#define SMALL "precision --n 96 --d 16 --heads 2 --rows 20 "

static double real_at(const json_t *value, const char *path)
{
    const json_t *found = json_at(value, path);
    assert_true(json_is_number(found));
    return json_number_value(found);
}

static void test_table_text(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "standard, f16              3.2e-04",
        "FlashAttention-2, f16      1.9e-04",
        "FlashAttention-3, f16      1.9e-04",
        "standard, e4m3             2.4e-02",
        "FlashAttention-3, e4m3     9.1e-03",
        "  no block scales          9.3e-03",
        "  no rotation              2.4e-02",
        "N = 96, d = 16, 2 heads, 20 rows of each compared; profile outliers, seeds 1 to 5",
        "ours: the reference is attention in double on the unrounded inputs",
    };
    struct program_run run = program_run_line(SMALL);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(run.out, lines[i]))
            fail_msg("expected \"%s\" in %s", lines[i], run.out);
    program_run_free(&run);
    run = program_run_line(SMALL "--reference rounded");
    assert_non_null(strstr(run.out, "in double on the rounded inputs"));
    program_run_free(&run);
}

static void test_table_json(void **state)
{
    (void)state;
    static const double published[] = {3.2e-4, 1.9e-4, 1.9e-4, 2.4e-2, 9.1e-3, 9.3e-3, 2.4e-2};
    for (int rounded = 0; rounded < 2; rounded++) {
        json_t *table = program_run_json(rounded ? SMALL "--format json --reference rounded"
                                                 : SMALL "--format json", 0);
        const char *reference = rounded ? "rounded" : "unrounded";
        assert_string_equal(json_string_value(json_at(table, "schema")), "flashlab.precision/1");
        assert_string_equal(json_string_value(json_at(table, "reference")), reference);
        json_expect_integer(table, "setting.rows", 20);
        json_expect_integer(table, "setting.seed", 1);
        json_expect_integer(table, "setting.seeds", 5);
        const json_t *methods = json_at(table, "methods");
        assert_int_equal(json_array_size(methods), 7);
        for (size_t i = 0; i < 7; i++) {
            const json_t *method = json_array_get(methods, i);
            double ours = real_at(method, "ours");
            char path[32];
            snprintf(path, sizeof path, "%s.rmse", reference);
            assert_true(real_at(method, "published") == published[i]);
            assert_true(ours > 0 && ours == real_at(method, path));
            assert_true(fabs(real_at(method, "ratio") * published[i] / ours - 1) < 1e-12);
            assert_true(real_at(method, "unrounded.rmse") > real_at(method, "rounded.rmse"));
        }
        json_decref(table);
    }
}

/* The error of five seeds is that of their elements together; the range holds each of them. */
static void test_seeds_are_pooled(void **state)
{
    (void)state;
    enum { METHODS = 7, SEEDS = 5 };
    double rmse[SEEDS][METHODS], largest[METHODS] = {0};
    json_t *all = program_run_json(SMALL "--format json", 0);
    for (int seed = 0; seed < SEEDS; seed++) {
        char line[128];
        snprintf(line, sizeof line, SMALL "--format json --seeds 1 --seed %d", seed + 1);
        json_t *one = program_run_json(line, 0);
        for (size_t m = 0; m < METHODS; m++) {
            const json_t *found = json_at(json_array_get(json_at(one, "methods"), m), "unrounded");
            rmse[seed][m] = real_at(found, "rmse");
            assert_true(real_at(found, "least") == rmse[seed][m]);
            assert_true(real_at(found, "most") == rmse[seed][m]);
            largest[m] = fmax(largest[m], real_at(found, "max_abs_error"));
        }
        json_decref(one);
    }
    for (size_t m = 0; m < METHODS; m++) {
        const json_t *pooled = json_at(json_array_get(json_at(all, "methods"), m), "unrounded");
        double squares = 0, least = INFINITY, most = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            squares += rmse[seed][m] * rmse[seed][m] / SEEDS;
            least = fmin(least, rmse[seed][m]);
            most = fmax(most, rmse[seed][m]);
        }
        assert_true(most > least);
        assert_true(fabs(real_at(pooled, "rmse") / sqrt(squares) - 1) < 1e-12);
        assert_true(real_at(pooled, "least") == least && real_at(pooled, "most") == most);
        assert_true(real_at(pooled, "max_abs_error") == largest[m]);
        assert_true(real_at(pooled, "standard_error") > 0);
    }
    json_decref(all);
    /* Where the first seed has the most, too. */
    all = program_run_json(SMALL "--format json --seed 5 --seeds 2", 0);
    for (size_t m = 0; m < METHODS; m++) {
        const json_t *pooled = json_at(json_array_get(json_at(all, "methods"), m), "unrounded");
        assert_true(real_at(pooled, "most") >= rmse[4][m]);
        assert_true(real_at(pooled, "least") < real_at(pooled, "most"));
    }
    json_decref(all);
}

static void test_chosen_recipe(void **state)
{
    (void)state;
    json_t *chosen = program_run_json(
        SMALL "--inputs e4m3,e5m2,f16 --scores bf16 --weights e4m3 --accumulate f64,tf32 "
              "--output f32 --scale block:32 --hadamard --order flash --tile 24 --profile gauss "
              "--seed 5 --reference unrounded --format json",
        0);
    const json_t *method = json_array_get(json_at(chosen, "methods"), 0);
    const json_t *recipe = json_at(method, "recipe");
    static const char expected[] =
        "{\"inputs\": [\"e4m3\", \"e5m2\", \"f16\"], \"scores\": \"bf16\", \"weights\": \"e4m3\", "
        "\"accumulate\": [\"f64\", \"tf32\"], \"output\": \"f32\", \"order\": \"flash\", "
        "\"scale\": \"block\", \"scale_rows\": 32, \"hadamard\": true, \"weight_scale\": 256.0, "
        "\"tile\": 24}";
    char text[512];
    size_t n = json_dumpb(recipe, text, sizeof text - 1, 0);
    assert_true(n < sizeof text);
    text[n] = '\0';
    assert_string_equal(text, expected);
    assert_int_equal(json_array_size(json_at(chosen, "methods")), 1);
    assert_true(json_is_null(json_at(method, "published")));
    assert_true(json_is_null(json_at(method, "ratio")));
    assert_true(json_is_null(json_at(method, "rounded")));
    assert_true(real_at(method, "ours") > 1e-3);
    assert_string_equal(json_string_value(json_at(chosen, "setting.profile")), "gauss");
    json_decref(chosen);
    /* f64 alone is exact, and says so in text too. */
    struct program_run run =
        program_run_line(SMALL "--inputs f64 --scores f64 --accumulate f64 --output f64");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "P            f64"));
    assert_non_null(strstr(run.out, "on unrounded inputs"));
    assert_non_null(strstr(run.out, "on rounded inputs"));
    assert_non_null(strstr(run.out, "e-16"));
    program_run_free(&run);
}

/* What follows from a format that was given. */
static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } lines[] = {
        {SMALL "--inputs bf16", "P            bf16\n"},
        {SMALL "--inputs bf16", "q, k, v      bf16, bf16, bf16\n"},
        {SMALL "--inputs e4m3", "P            e4m3, times 256 before rounding\n"},
        {SMALL "--inputs e4m3", "q, k, v      e4m3, e4m3, e4m3, one scale a tensor of a head\n"},
        {SMALL "--inputs e4m3 --scale none", "q, k, v      e4m3, e4m3, e4m3\n"},
        {SMALL "--weights e5m2 --weight-scale 2", "P            e5m2, times 2 before rounding\n"},
        {SMALL "--hadamard", "q, k, v      f16, f16, f16, q and k rotated\n"},
        {SMALL "--order standard", "order        standard, whole rows\n"},
        {SMALL "--output f64", "sums         f32 in Q K^T, f32 in P V\n"},
        {"precision --n 5 --d 3 --heads 1 --output f32", "1 head, 5 rows of each compared"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct program_run run = program_run_line(lines[i].line);
        assert_int_equal(run.status, 0);
        if (!strstr(run.out, lines[i].text))
            fail_msg("%s: expected \"%s\" in %s", lines[i].line, lines[i].text, run.out);
        program_run_free(&run);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct program_refusal refusals[] = {
        {"precision --inputs f8", "bad_argument",
         "--inputs f8: expected one, or three with commas between, of f64, f32, tf32, f16, bf16, "
         "e4m3, e5m2"},
        {"precision --inputs f16,f16", "bad_argument",
         "--inputs f16,f16: expected one, or three with commas between, of f64, f32, tf32, f16, "
         "bf16, e4m3, e5m2"},
        {"precision --accumulate f32,f32,f32", "bad_argument",
         "--accumulate f32,f32,f32: expected one, or two with a comma between, of f64, f32, tf32, "
         "f16, bf16, e4m3, e5m2"},
        {"precision --scores f16,", "bad_argument",
         "--scores f16,: expected one of f64, f32, tf32, f16, bf16, e4m3, e5m2"},
        {"precision --scale block:0", "bad_argument",
         "--scale block:0: expected none, tensor, or block:N for a scale for each N rows"},
        {"precision --weight-scale -1", "bad_argument",
         "--weight-scale -1: expected a decimal number above 0"},
        {"precision --scale tensor", "bad_argument",
         "a scale without an input of e4m3 or e5m2: other formats are not scaled"},
        {"precision --d 96", "bad_argument", "d = 96: the Hadamard rotation needs a power of two"},
        {"precision --n 64 --rows 65", "bad_argument", "65 rows of a head: expected 1 to n = 64"},
        {"precision --heads 0", "bad_argument", "--heads 0: expected 1 or more"},
        {"precision --seeds 0", "bad_argument", "--seeds 0: expected 1 to 1000000"},
        {"precision file", "bad_argument", "file: expected options only (they begin with --)"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        program_expect_refusal(&refusals[i]);
    struct program_run run = program_run_line("precision --n 1073741824 --d 1024");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "the emulation"));
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_text), cmocka_unit_test(test_table_json),
        cmocka_unit_test(test_seeds_are_pooled),
        cmocka_unit_test(test_chosen_recipe), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
