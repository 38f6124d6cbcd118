/* The tour: the numbers that it promises are in it, in any terminal. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/plot.h"
#include "tests/program_expect.h"

/* No line is longer than 80 columns; a byte that goes on in UTF-8 takes none. */
static void check_width(const char *text)
{
    int column = 0;
    const char *line = text;
    for (const char *at = text; *at; at++) {
        if (*at == '\n') {
            column = 0;
            line = at + 1;
        } else if (((unsigned char)*at & 0xc0) != 0x80 && ++column > 80) {
            fail_msg("longer than 80 columns: %.100s", line);
        }
    }
}

static void check_numbers(const char *text)
{
    /* The worked example: m 1 then 3, factor 0.135, l 1.135, O = P. */
    text_expect(text, "[ 1      3     ]");
    text_expect(text, "[ 2      4     ]");
    text_expect(text, "weights  P          [ 0.119  0.881 ]");
    text_expect(text, "output   O = P V    [ 0.119  0.881 ]");
    text_expect(text, "key 0               1        1                   1     [ 1      0     ]");
    text_expect(text, "key 1               3        3     0.135     1.135     [ 0.135  1     ]");
    text_expect(text, "O / l                                                  [ 0.119  0.881 ]");
    text_expect(text, "l becomes 0.135 x 1 + 1 = 1.135");
    text_expect(text, "m 2, then 4; factor 0.135; l 1.135");
    text_expect(text, "first 3.127");
    /* N = 1024, d = 64: what all tiles share, from the closed forms. */
    text_expect(text, "2,162,688");
    text_expect(text, "66,560");
    text_expect(text, "0.26 million: Q, K, V read once");
    text_expect(text, "S and P are 91 % of what standard moves");
    text_expect(text, "standard keeps 8.39 MB in HBM, flash1 0.01 MB, flash2 nothing");
}

static struct program_run take_tour(const char *folder)
{
    unsetenv("LC_CTYPE");
    unsetenv("LANG");
    unsetenv("NO_COLOR");
    return program_run("tour", "--out", folder, NULL);
}

static void test_plain_terminal(void **state)
{
    (void)state;
    setenv("LC_ALL", "C", 1);
    struct program_run run = take_tour(program_path("plain"));
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    check_numbers(run.out);
    check_width(run.out);
    for (const char *at = run.out; *at; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    text_expect(run.out, "standard  ::::::");
    text_expect(run.out, "flash2    ######");
    program_run_free(&run);
}

static void test_utf8_terminal(void **state)
{
    (void)state;
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    struct program_run run = take_tour(program_path("utf8/deep"));
    assert_int_equal(run.status, 0);
    check_numbers(run.out);
    check_width(run.out);
    text_expect(run.out, "N²d²/M");
    text_expect(run.out, "standard  ▒▒▒▒▒▒");
    text_expect(run.out, "flash2    ██████");
    assert_null(strchr(run.out, '\033'));
    assert_int_equal(access(program_path("utf8/deep/counted-io.csv"), F_OK), 0);
    assert_int_equal(access(program_path("utf8/deep/counted-io.gp"), F_OK), 0);
    if (sim_plot_find_gnuplot(NULL) == FA_OK) {
        text_expect(run.out, "utf8/deep/counted-io.svg\n");
        text_expect(run.out, "utf8/deep/counted-io.png\n");
        assert_int_equal(access(program_path("utf8/deep/counted-io.svg"), F_OK), 0);
        assert_int_equal(access(program_path("utf8/deep/counted-io.png"), F_OK), 0);
    }
    program_run_free(&run);
}

static void test_without_gnuplot(void **state)
{
    (void)state;
    char path[8192];
    const char *before = getenv("PATH");
    snprintf(path, sizeof path, "%s", before ? before : "");
    setenv("LC_ALL", "C", 1);
    setenv("PATH", "/nowhere", 1);
    struct program_run run = take_tour(program_path("bare"));
    setenv("PATH", path, 1);
    assert_int_equal(run.status, 0);
    check_numbers(run.out);
    text_expect(run.out, "no figure: gnuplot is missing");
    text_expect(run.out, "Go on");
    assert_int_equal(access(program_path("bare/counted-io.csv"), F_OK), 0);
    assert_int_not_equal(access(program_path("bare/counted-io.svg"), F_OK), 0);
    program_run_free(&run);
}

static void test_folder_that_can_not_be_made(void **state)
{
    (void)state;
    struct program_run run = take_tour("/dev/null/figures");
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    text_expect(run.err, "/dev/null");
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_terminal),
        cmocka_unit_test(test_utf8_terminal),
        cmocka_unit_test(test_without_gnuplot),
        cmocka_unit_test(test_folder_that_can_not_be_made),
    };
    return cmocka_run_group_tests_name("tour", tests, NULL, program_folder_remove);
}
