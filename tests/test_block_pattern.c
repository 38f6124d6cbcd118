/* Block patterns: which tiles each rule visits, texts in and out, and masks of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/block_pattern.h"

static struct fa_block_pattern parse(const char *text)
{
    struct fa_block_pattern pattern;
    struct fa_error error;
    if (fa_block_pattern_parse(text, &pattern, NULL, &error) != FA_OK)
        fail_msg("%s: %s", text, error.text);
    return pattern;
}

/* The mask as rows of 'x' and '.', each ended by a blank. */
static void expect_picture(const char *text, int64_t rows, int64_t columns, const char *picture)
{
    struct fa_block_pattern pattern = parse(text);
    struct fa_block_mask mask;
    char got[512] = "";
    size_t n = 0;
    /* Ragged at the end: the last blocks are smaller. */
    assert_int_equal(
        fa_block_pattern_make(&pattern, rows * 5 - 3, columns * 3 - 1, 5, 3, &mask, NULL), FA_OK);
    assert_int_equal(mask.br, 5);
    assert_int_equal(mask.bc, 3);
    assert_int_equal(mask.rows, rows);
    assert_int_equal(mask.columns, columns);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            got[n++] = mask.visit[i * columns + j] ? 'x' : '.';
        got[n++] = ' ';
    }
    got[n - 1] = '\0';
    assert_string_equal(got, picture);
    fa_block_mask_free(&mask);
    assert_null(mask.visit);
    fa_block_mask_free(&mask);
}

static void test_pictures(void **state)
{
    (void)state;
    expect_picture("window:1,0", 5, 5, "xx... xxx.. .xxx. ..xxx ...xx");
    expect_picture("window:0,0", 3, 3, "x.. .x. ..x");
    expect_picture("window:0,1", 4, 4, "xxxx xx.. x.x. x..x");
    expect_picture("window:9223372036854775807,0", 2, 3, "xxx xxx");
    expect_picture("strided:3", 7, 7, "x..x..x .x..x.. ..x..x. x..x..x .x..x.. ..x..x. x..x..x");
    expect_picture("strided:1", 2, 2, "xx xx");
    /* Partners 1, 2 and 4 away in the index's bits. */
    expect_picture("butterfly", 8, 8,
                   "xxx.x... xx.x.x.. x.xx..x. .xxx...x x...xxx. .x..xx.x ..x.x.xx ...x.xxx");
    expect_picture("butterfly", 5, 5, "xxx.x xx.x. x.xx. .xxx. x...x");
    expect_picture("random:0", 3, 3, "x.. .x. ..x");
    expect_picture("random:1,5", 2, 2, "xx xx");
    expect_picture("butterfly", 1, 1, "x");
}

/* Where the sides differ, the square pattern is stretched; each row and column keeps a tile. */
static void test_stretched(void **state)
{
    (void)state;
    static const char *const texts[] = {"window:0,0", "strided:100", "butterfly", "random:0,3"};
    expect_picture("window:0,0", 2, 5, "xxx.. ...xx");
    expect_picture("window:0,0", 5, 2, "x. x. x. .x .x");
    expect_picture("butterfly", 2, 4, "xxxx xxxx");
    expect_picture("butterfly", 4, 8, "xxxxxx.. xxxx..xx xx..xxxx ..xxxxxx");
    expect_picture("window:0,1", 2, 4, "xxxx x.xx");
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct fa_block_pattern pattern = parse(texts[t]);
        for (int64_t rows = 1; rows < 20; rows++)
            for (int64_t columns = 1; columns < 20; columns++) {
                int64_t n = 0, in_row[20] = {0}, in_column[20] = {0};
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < columns; j++)
                        if (fa_block_pattern_visits(&pattern, i, j, rows, columns)) {
                            in_row[i]++;
                            in_column[j]++;
                            n++;
                        }
                for (int64_t i = 0; i < rows; i++)
                    assert_true(in_row[i] > 0);
                for (int64_t j = 0; j < columns; j++)
                    assert_true(in_column[j] > 0);
                assert_true(n >= rows && n >= columns);
            }
    }
}

static double share(const char *text, int64_t n)
{
    struct fa_block_pattern pattern = parse(text);
    struct fa_block_mask mask;
    assert_int_equal(fa_block_pattern_make(&pattern, n, n, 64, 64, &mask, NULL), FA_OK);
    double visited = fa_block_mask_share(&mask);
    fa_block_mask_free(&mask);
    return visited;
}

static void test_shares(void **state)
{
    (void)state;
    /* Three diagonals of 64 x 64 tiles, one row and one column: 190 + 127 - 3. */
    assert_true(share("window:1,1", 4096) == 314.0 / 4096);
    assert_true(share("butterfly", 4096) == 7 * 64.0 / 4096);
    assert_true(share("strided:64", 4096) == 64.0 / 4096);
    assert_true(fabs(share("random:0.25", 16384) - 0.25) < 0.01);
    assert_true(share("random:0.25,9", 16384) != share("random:0.25,8", 16384));
    assert_true(share("random:0.25,1", 16384) == share("random:0.25", 16384));
    assert_true(share("window:1,1", 0) == 0);
}

static void test_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {"window:0,0",
                                        "window:12,9223372036854775807",
                                        "strided:7",
                                        "butterfly",
                                        "random:0.1,18446744073709551615",
                                        "random:1e-05,0",
                                        "random:0.30000000000000004,1"};
    char text[FA_BLOCK_PATTERN_TEXT];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fa_block_pattern pattern = parse(texts[i]);
        assert_string_equal(fa_block_pattern_text(&pattern, text), texts[i]);
    }
    struct fa_block_pattern pattern;
    bool seeded = true;
    assert_int_equal(fa_block_pattern_parse("random:.5", &pattern, &seeded, NULL), FA_OK);
    assert_false(seeded);
    assert_string_equal(fa_block_pattern_text(&pattern, text), "random:0.5,1");
    assert_int_equal(fa_block_pattern_parse("random:.5,1", &pattern, &seeded, NULL), FA_OK);
    assert_true(seeded);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "window",
        "window:",
        "window:1",
        "window:1,",
        "window:,1",
        "window:1,1,",
        "window:-1,0",
        "window:9223372036854775808,0",
        "strided:",
        "strided:0",
        "strided:2x",
        "butterfly:",
        "butterflys",
        "random:",
        "random:nan",
        "random:-0",
        "random:-0.5",
        "random:1.1",
        "random:0x1",
        "random:0.5,",
        "random:0.5,-1",
        "random:0.5,18446744073709551616",
        "diagonal",
    };
    struct fa_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fa_block_pattern pattern = {.width = 77};
        if (fa_block_pattern_parse(texts[i], &pattern, NULL, &error) != FA_BAD_ARGUMENT)
            fail_msg("%s was taken", texts[i]);
        assert_int_equal(pattern.width, 77);
        assert_non_null(strstr(error.text, "expected window:W,G"));
    }
    struct fa_block_pattern pattern = parse("butterfly");
    struct fa_block_mask mask = {.br = 77};
    assert_int_equal(fa_block_pattern_make(&pattern, 4, 4, 0, 1, &mask, &error), FA_BAD_ARGUMENT);
    assert_int_equal(fa_block_pattern_make(&pattern, -1, 4, 1, 1, &mask, &error), FA_BAD_ARGUMENT);
    assert_int_equal(fa_block_pattern_make(&pattern, INT64_MAX, INT64_MAX, 1, 1, &mask, &error),
                     FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "past 2^63 - 1 bytes"));
    assert_int_equal(mask.br, 77);
}

/* What is made is what a problem takes, sides of 0 included. */
static void test_fits_a_problem(void **state)
{
    (void)state;
    static const int64_t sides[] = {0, 1, 7, 64, 65};
    struct fa_block_pattern pattern = parse("strided:2");
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            struct fa_problem problem = fa_problem_make(sides[a], sides[b], 4);
            struct fa_block_mask mask;
            assert_int_equal(
                fa_block_pattern_make(&pattern, sides[a], sides[b], 8, 16, &mask, NULL), FA_OK);
            problem.blocks = &mask;
            assert_int_equal(fa_problem_check(&problem, NULL), FA_OK);
            fa_block_mask_free(&mask);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures), cmocka_unit_test(test_stretched),
        cmocka_unit_test(test_shares),   cmocka_unit_test(test_texts),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_fits_a_problem),
    };
    return cmocka_run_group_tests_name("block_pattern", tests, NULL, NULL);
}
