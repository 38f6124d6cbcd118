/*
 * flashlab lesson play as someone at a terminal meets it: what is asked, what each answer is told,
 * and where a later start goes on. The terminal is a pseudo-terminal, typed into as by a hand.
 */
#define _XOPEN_SOURCE 700 /* posix_openpt */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/program_run.h"

#ifdef FLASHLAB_HAVE_LESSONS

#include "lessons/learner.h"
#include "tests/lesson_case.h"

enum { PATIENCE_MILLISECONDS = 20000, TEXT_MOST = 1 << 16 };

static struct {
    int fd;
    pid_t child;
    char text[TEXT_MOST]; /* all that was printed, without carriage returns */
    size_t n, seen;
} terminal = {.fd = -1};

/* Answers are not echoed, so that what is printed is the program's alone. */
static void sit_down(const char *name)
{
    struct termios modes;
    setsid();
    int fd = open(name, O_RDWR);
    if (fd < 0)
        _exit(126);
#ifdef TIOCSCTTY
    ioctl(fd, TIOCSCTTY, 0);
#endif
    tcgetattr(fd, &modes);
    modes.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(fd, TCSANOW, &modes);
    for (int end = 0; end < 3; end++)
        dup2(fd, end);
}

/* Lesson 40, the one of the lessons' README, is played. */
static void start(void)
{
    char program[] = FLASHLAB_PROGRAM, folder[512], name[128];
    snprintf(folder, sizeof folder, "%s", program_path("shelf"));
    char *argv[] = {
        program, (char *)"lesson", (char *)"play", (char *)"40", (char *)"--lessons", folder, NULL};
    terminal.fd = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal.fd >= 0);
    assert_int_equal(grantpt(terminal.fd), 0);
    assert_int_equal(unlockpt(terminal.fd), 0);
    snprintf(name, sizeof name, "%s", ptsname(terminal.fd));
    terminal.n = terminal.seen = 0;
    terminal.text[0] = '\0';
    terminal.child = fork();
    assert_true(terminal.child >= 0);
    if (terminal.child == 0) {
        sit_down(name);
        execv(program, argv);
        _exit(127);
    }
}

/* What the program prints next; false at its end, or after a time that is too long. */
static bool read_more(void)
{
    struct pollfd ready = {.fd = terminal.fd, .events = POLLIN};
    char bytes[4096];
    if (poll(&ready, 1, PATIENCE_MILLISECONDS) <= 0)
        return false;
    ssize_t got = read(terminal.fd, bytes, sizeof bytes);
    for (ssize_t i = 0; i < got; i++)
        if (bytes[i] != '\r' && terminal.n + 1 < TEXT_MOST)
            terminal.text[terminal.n++] = bytes[i];
    terminal.text[terminal.n] = '\0';
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Waits for the text, after all that was waited for before. */
static void expect(const char *text)
{
    const char *found;
    while (!(found = strstr(terminal.text + terminal.seen, text)))
        if (!read_more()) {
            print_error("expected \"%s\" in:\n%s\n", text, terminal.text + terminal.seen);
            fail();
        }
    terminal.seen = (size_t)(found - terminal.text) + strlen(text);
}

static void type(const char *text)
{
    assert_int_equal(write(terminal.fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Reads to the end; the exit status. */
static int finish(void)
{
    int status;
    while (read_more())
        ;
    assert_int_equal(waitpid(terminal.child, &status, 0), terminal.child);
    terminal.child = 0;
    close(terminal.fd);
    terminal.fd = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool was_printed(const char *text)
{
    return strstr(terminal.text, text) != NULL;
}

/* A test begins without anything done before, and leaves no program to the next one. */
static int forget(void **unused)
{
    (void)unused;
    if (terminal.child > 0) {
        kill(terminal.child, SIGKILL);
        waitpid(terminal.child, NULL, 0);
        close(terminal.fd);
    }
    terminal.child = 0;
    unlink(program_path("data/flashlab/progress.json"));
    return 0;
}

static struct lesson_progress progress(void)
{
    struct lesson_progress loaded;
    char path[1024];
    assert_int_equal(lesson_progress_path(path, sizeof path, NULL), FA_OK);
    assert_string_equal(path, program_path("data/flashlab/progress.json"));
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(lesson_progress_load(path, &loaded, NULL), FA_OK);
    return loaded;
}

static void expect_mark(int step, bool done)
{
    struct lesson_progress loaded = progress();
    assert_int_equal(loaded.last_lesson, 40);
    assert_int_equal(loaded.n, 1);
    assert_int_equal(loaded.mark[0].number, 40);
    assert_int_equal(loaded.mark[0].step, step);
    assert_int_equal(loaded.mark[0].done, done);
}

static const char prompt[] = "Your answer (h hint, s show me, q quit): ";
static const char question[] =
    "? How many trips does K[2] make in the whole run, for one head? (in trips)";

static void go_to_question(void)
{
    start();
    expect("1 of 3  One tile of K\n");
    expect("Enter to go on, q to quit: ");
    type("\n");
    expect("2 of 3  Again, for the next queries\n");
    expect(question);
    expect(prompt);
}

/* ---- a lesson from its start to its end ---- */

static void test_a_lesson_is_played(void **unused)
{
    (void)unused;
    start();
    expect("Lesson 40: Trips of a tile\nThe cost, 4 minutes, level 1\n");
    expect("\nKeys lie in HBM. Here Q[0] needs K[2], so it is loaded into SRAM.\n");
    expect("Enter to go on");
    type("\n");
    expect("  K[2]  Q[0], Q[1]\n");
    expect(question);
    expect(prompt);
    type("16\n");
    expect("  There are 16 score tiles. Each of them uses one tile of K, and K[2] is one");
    expect("  Try once more.\n");
    expect(prompt);
    type(" 4 trips \n");
    expect("  Yes. There are 4 tiles of queries, and each of them loads K[2] once.\n");
    expect("3 of 3  Larger tiles\n");
    expect("    1  Q\n    2  K and V together\n    3  O and its statistics\n");
    expect(prompt);
    type("2\n");
    expect("  Yes. K and V come 4 times, all else once.\n");
    expect("> Make the tiles of queries taller.\n  You may change: --tiles, --n\n");
    expect("r to run it, options to try, Enter to go on: ");
    type("r\n");
    expect("--tiles 8x4");
    expect("  Now 128 elements of K move, where it was 256.\n");
    expect("Enter to go on: ");
    type("--heads 4\n");
    expect("  Only what may be changed, as --n 32.\n");
    expect("Enter to go on: ");
    /* What does not fit is told without the author's file and line. */
    type("--tiles 16x4\n");
    expect("expected one that fits (it needs");
    expect("Enter to go on: ");
    assert_false(was_printed("40-trips.md:"));
    type("--tiles 2x4\n");
    expect("  Now 512 elements of K move, where it was 256.\n");
    expect("Enter to go on: ");
    type("\n");
    expect("One question from an earlier lesson:\n? How many scores has one head here?");
    expect(prompt);
    type("64\n");
    expect("  Yes. Each of 8 queries meets each of 8 keys.\n");
    expect("Now you know: Every tile of queries sends for all of K and V again.\n");
    assert_int_equal(finish(), 0);
    expect_mark(2, true);

    /* What was done is played from its start. */
    start();
    expect("1 of 3  One tile of K\n");
    type("q\n");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("You were at"));
    expect_mark(2, true);
}

/* ---- answers ---- */

static void test_hints_and_the_answer_shown(void **unused)
{
    (void)unused;
    go_to_question();
    type("h\n");
    expect("  Hint 1 of 3:\n  Count the tiles of Q.\n");
    expect(prompt);
    type("h\n");
    expect("  Hint 2 of 3:\n  One trip for each tile of queries.\n");
    expect(prompt);
    type("h\n");
    expect("  Hint 3 of 3:\n  The number of queries, divided by the rows of a tile.\n");
    expect(prompt);
    type("h\n");
    expect("  There are no more hints. s shows the answer.\n");
    expect(prompt);
    assert_false(was_printed("The run gives"));
    type("s\n");
    expect("  The run gives: 4 trips\n  There are 4 tiles of queries");
    expect("3 of 3");
    type("q\n");
    assert_int_equal(finish(), 0);
    expect_mark(2, false);
}

/* The second answer is the last; then what the run gives is told. */
static void test_two_answers_are_taken(void **unused)
{
    (void)unused;
    go_to_question();
    type("5\n");
    expect("  That is more than the run gives.\n  Try once more.\n");
    expect(prompt);
    assert_false(was_printed("The run gives: "));
    type("3\n");
    expect("  That is less than the run gives.\n  The run gives: 4 trips\n");
    expect("3 of 3");
    type("q\n");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("Yes."));
}

/* What is no answer costs none of the two, nor does an empty line. */
static void test_what_is_no_answer_is_refused(void **unused)
{
    (void)unused;
    go_to_question();
    for (int i = 0; i < 3; i++) {
        type("many\n");
        expect("  many: expected a number, as 73728, 73,728 or 7.4e4\n");
        expect(prompt);
        type("\n");
        expect(prompt);
    }
    type("5\n");
    expect("Try once more.\n");
    expect(prompt);
    type("4\n");
    expect("Yes. ");
    expect("    3  O and its statistics\n");
    expect(prompt);
    for (int i = 0; i < 3; i++) {
        type(i == 1 ? "0\n" : i ? "K\n" : "9\n");
        expect(": expected the number of a choice, 1 to 3\n");
        expect(prompt);
    }
    assert_int_equal(terminal.text[terminal.seen], '\0');
    type("1\n");
    expect("  Q moves 64 elements, once each.\n  Try once more.\n");
    expect(prompt);
    type("q\n");
    assert_int_equal(finish(), 0);
}

/* ---- where it goes on ---- */

static void test_a_later_start_goes_on(void **unused)
{
    (void)unused;
    go_to_question();
    expect_mark(1, false);
    type("q\n");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("Now you know"));
    expect_mark(1, false);

    start();
    expect("  You were at step 2 of 3.\n");
    expect("Enter to go on there, b to begin again, q to quit: ");
    type("\n");
    expect("2 of 3  Again, for the next queries\n");
    expect(prompt);
    assert_false(was_printed("1 of 3"));
    type("q\n");
    assert_int_equal(finish(), 0);

    /* Who begins again keeps the place. */
    start();
    expect("b to begin again, q to quit: ");
    type("b\n");
    expect("1 of 3  One tile of K\n");
    expect("Enter to go on, q to quit: ");
    type("q\n");
    assert_int_equal(finish(), 0);
    expect_mark(1, false);

    start();
    expect("b to begin again, q to quit: ");
    type("q\n");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("of 3  "));
}

/* Ctrl-D ends a lesson wherever it is asked for something, and keeps the place. */
static void test_the_input_ends(void **unused)
{
    (void)unused;
    start();
    expect("Enter to go on, q to quit: ");
    type("\x04");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("2 of 3"));
    expect_mark(0, false);

    go_to_question();
    type("\x04");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("The run gives"));
    assert_false(was_printed("Now you know"));
    expect_mark(1, false);

    start();
    expect("q to quit: ");
    type("\x04");
    assert_int_equal(finish(), 0);
    assert_false(was_printed("of 3  "));
    expect_mark(1, false);
}

/* A file that cannot be read is no reason not to learn; it is kept aside. */
static void test_a_bad_progress_file(void **unused)
{
    (void)unused;
    mkdir(program_path("data/flashlab"), 0700);
    FILE *file = fopen(program_path("data/flashlab/progress.json"), "w");
    assert_non_null(file);
    fputs("{\"schema\": 7", file);
    assert_int_equal(fclose(file), 0);
    start();
    expect("flashlab: what was done before cannot be read: it is kept in ");
    expect("data/flashlab/progress.json.bak\n");
    expect("1 of 3  One tile of K\n");
    expect("q to quit: ");
    type("\n");
    expect(prompt);
    type("q\n");
    assert_int_equal(finish(), 0);
    expect_mark(1, false);
    assert_int_equal(access(program_path("data/flashlab/progress.json.bak"), R_OK), 0);
}

static int open_all(void **unused)
{
    char *text = lesson_case_example();
    (void)unused;
    setenv("XDG_DATA_HOME", program_path("data"), 1);
    unsetenv("FLASHLAB_DATA");
    mkdir(program_path("data"), 0700);
    mkdir(program_path("shelf"), 0700);
    FILE *file = fopen(program_path("shelf/40-trips.md"), "w");
    bool written = text && file && fputs(text, file) >= 0;
    written = file && fclose(file) == 0 && written;
    free(text);
    return written ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_lesson_is_played, forget),
        cmocka_unit_test_teardown(test_hints_and_the_answer_shown, forget),
        cmocka_unit_test_teardown(test_two_answers_are_taken, forget),
        cmocka_unit_test_teardown(test_what_is_no_answer_is_refused, forget),
        cmocka_unit_test_teardown(test_a_later_start_goes_on, forget),
        cmocka_unit_test_teardown(test_the_input_ends, forget),
        cmocka_unit_test_teardown(test_a_bad_progress_file, forget),
    };
    return cmocka_run_group_tests(tests, open_all, program_folder_remove);
}

#else

int main(void)
{
    return 77;
}

#endif
