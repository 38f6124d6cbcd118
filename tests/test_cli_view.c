/* `flashlab view` from the command line: pictures, animations, descriptions, and what it refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/program_expect.h"

#ifdef FLASHLAB_HAVE_CANVAS
enum { DRAWS = 1 };
#else
enum { DRAWS = 0 };
#endif

static long size_of(const char *name)
{
    struct stat info;
    return stat(program_path(name), &info) == 0 ? (long)info.st_size : -1;
}

/* Width and height that a PNG's header says. */
static void expect_png(const char *name, unsigned width, unsigned height)
{
    size_t n;
    unsigned char *bytes = (unsigned char *)program_read_file(program_path(name), &n);
    assert_non_null(bytes);
    assert_true(n > 100);
    assert_memory_equal(bytes, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal((unsigned)bytes[16] << 24 | bytes[17] << 16 | bytes[18] << 8 | bytes[19], width);
    assert_int_equal((unsigned)bytes[20] << 24 | bytes[21] << 16 | bytes[22] << 8 | bytes[23], height);
    free(bytes);
}

static void test_describe(void **unused)
{
    struct program_run run = program_run_line("view --describe");
    (void)unused;
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 156);
    assert_non_null(strstr(run.out, "\nLoad K[2] again, for Q[1]: its 2nd trip of 4."));
    assert_non_null(strstr(run.out, "Score tile S[1,2] = Q[1] K[2]ᵀ × 0.5, inside SRAM"));
    program_run_free(&run);
    run = program_run_line("view --describe --from 7 --to 9");
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 2);
    assert_memory_equal(run.out, "Set O[0] = 0", 12);
    program_run_free(&run);
    run = program_run_line("view --describe --sram 256");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "Refused: S needs 64 bytes, 0 are free."));
    program_run_free(&run);
}

static void test_screenshot(void **unused)
{
    (void)unused;
    program_run_fine("view --screenshot @a.png");
    expect_png("a.png", 1280, 720);
    program_run_fine("view --at 1,2 --size 801x603 --theme light --screenshot @b.png");
    expect_png("b.png", 801, 603);
    program_run_fine("view --size 1x1 --screenshot @one.png");
    expect_png("one.png", 1, 1);
    program_run_fine("view --screenshot @c.png --crop stage --at 46.5");
    size_t n;
    char *bytes = program_read_file(program_path("c.png"), &n);
    assert_non_null(bytes);
    bool said = false; /* the scenario stands in the file too */
    for (size_t i = 0; i + 20 < n && !said; i++)
        said = memcmp(bytes + i, "flashlab view --n=16", 20) == 0;
    assert_true(said);
    free(bytes);
}

/* The same frame gives the same file, from anywhere and in any locale. */
static void test_pictures_repeat(void **unused)
{
    char folder[4096];
    size_t n_first, n_again;
    (void)unused;
    program_run_fine("view --causal --at 2,1 --font builtin --screenshot @first.png");
    char *first = program_read_file(program_path("first.png"), &n_first);
    char *path = strdup(program_path("again.png"));
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(chdir("/"), 0);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("LC_NUMERIC", "de_DE.UTF-8", 1);
    struct program_run run = program_run("view", "--causal", "--at", "2,1", "--font", "builtin",
                                         "--screenshot", path, NULL);
    unsetenv("LC_ALL");
    unsetenv("LC_NUMERIC");
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(run.status, 0);
    program_run_free(&run);
    char *again = program_read_file(path, &n_again);
    assert_int_equal(n_again, n_first);
    assert_memory_equal(again, first, n_first);
    free(first);
    free(again);
    free(path);
}

static void test_record(void **unused)
{
    (void)unused;
    program_run_fine("view --record @a.gif --from 7 --to 12 --fps 5 --size 400x300 --font builtin");
    size_t n;
    char *bytes = program_read_file(program_path("a.gif"), &n);
    assert_non_null(bytes);
    assert_true(n > 1000);
    assert_memory_equal(bytes, "GIF89a", 6);
    assert_true((unsigned char)bytes[6] == 400 % 256 && bytes[7] == 1);
    assert_int_equal((unsigned char)bytes[n - 1], 0x3B);
    free(bytes);
}

static void test_a_saved_trace(void **unused)
{
    (void)unused;
    program_run_fine("run --n 16 --d 4 --tiles 4x4 --profile tidy --trace @t.trace --check none --format json");
    struct program_run run = program_run_line("view --trace @t.trace --describe");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "new maximum")); /* values, by running it again */
    program_run_free(&run);
    FILE *file = fopen(program_path("bad.trace"), "w");
    assert_non_null(file);
    fputs("{\"schema\":\"flashlab.trace/1\"}\n", file);
    fclose(file);
    run = program_run_line("view --trace @bad.trace --describe");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "bad.trace"));
    program_run_free(&run);
}

static void test_compare(void **unused)
{
    (void)unused;
    program_run_fine("view --n 64 --d 8 --tiles 8x8 --compare --algorithm=flash1 --keep-together "
                     "traffic --at 20 --screenshot @two.png --font builtin");
    expect_png("two.png", 1280, 720);
}

static void test_no_display(void **unused)
{
    (void)unused;
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    unsetenv("SDL_VIDEODRIVER");
    struct program_run run = program_run_line("view");
    assert_int_equal(run.status, 3);
    assert_int_equal(text_count_lines(run.err), 1);
    assert_non_null(strstr(run.err, DRAWS ? "no display" : "no SDL2"));
    assert_true(!DRAWS || strstr(run.err, "flashlab tour and flashlab lesson play"));
    program_run_free(&run);
}

static void test_refusals(void **unused)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"view --at 999 --screenshot @x.png", "--at: event 999: this run has 156 events"},
        {"view --at 9,9 --screenshot @x.png", "--at: "},
        {"view --at x --screenshot @x.png", "--at: x: expected an event"},
        {"view --from 3", "--from: expected --record or --describe"},
        {"view --from 20 --to 3 --describe", "--to 3: expected a place after"},
        {"view --crop stage", "--crop: expected --screenshot"},
        {"view --screenshot @x.png --record @x.gif", "expected only one"},
        {"view --size 16385x10 --screenshot @x.png", "expected WIDTHxHEIGHT"},
        {"view --size 10 --screenshot @x.png", "expected WIDTHxHEIGHT"},
        {"view --font-scale 9 --screenshot @x.png", "expected 0.5 to 4"},
        {"view --pass both --describe", "--pass both: expected forward or backward"},
        {"view --algorithm flash1,flash2 --describe", "--algorithm: expected one"},
        {"view --compare x --describe", "--compare: x: expected options"},
        {"view --compare --theme=light --describe", "--compare: --theme=light: expected options"},
        {"view --trace @missing.trace --describe", "missing.trace"},
        {"view --record @x.avi", ".gif"},
        {"view --screenshot @x.jpg", "x.jpg: expected a picture's ending: .png"},
        {"view --screenshot @png", "png: expected a picture's ending: .png"},
        {"view --screenshot @no/such/x.png", "--screenshot: "},
        {"view --n 1M --d 64 --describe", "events"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct program_run run = program_run_line(bad[i].line);
        if (run.status != 2 || !strstr(run.err, bad[i].says) || text_count_lines(run.err) != 1) {
            print_error("%s: status %d, \"%s\", expected \"%s\"\n", bad[i].line, run.status, run.err,
                        bad[i].says);
            fail();
        }
        assert_true(size_of("x.png") < 0 && size_of("x.gif") < 0 && size_of("x.avi") < 0);
        program_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest words[] = {
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_a_saved_trace),
        cmocka_unit_test(test_no_display),
    };
    const struct CMUnitTest pictures[] = {
        cmocka_unit_test(test_screenshot), cmocka_unit_test(test_pictures_repeat),
        cmocka_unit_test(test_record),     cmocka_unit_test(test_compare),
        cmocka_unit_test(test_refusals),
    };
    int failed = cmocka_run_group_tests(words, NULL, NULL);
    if (DRAWS)
        failed += cmocka_run_group_tests(pictures, NULL, NULL);
    program_folder_remove(NULL);
    return failed;
}
