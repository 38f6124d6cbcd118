/*
 * A real window, on a display of its own (Xvfb), with a hand of its own (xdotool): what is seen is
 * the window's title, which names the run and the event.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/program_run.h"
#include "tests/view_case.h"
#include "visualizer/state.h"

enum { SKIPPED = 77, PATIENCE = 200, NAP_MILLISECONDS = 50 }; /* 10 s, for what takes a moment */

static pid_t server, window;
static char window_id[32];

static void nap(void)
{
    const struct timespec time = {0, NAP_MILLISECONDS * 1000000L};
    nanosleep(&time, NULL);
}

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[4096];
    while (path && *path) {
        int n = (int)strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", n, path, name);
        if (access(file, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* Starts a program whose outputs go to a file of the test's folder; fd 3 is `report` where that is
 * >= 0. */
static pid_t start(char *const argv[], const char *log, int report)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    int file = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    if (report >= 0 && report != 3)
        dup2(report, 3);
    execvp(argv[0], argv);
    _exit(127);
}

/* Runs xdotool; its output's first line comes back. */
static int tool(char *line, size_t size, const char *words)
{
    char copy[512], *argv[32] = {(char *)"xdotool"};
    int n = 1, ends[2], status;
    size_t used = 0;
    ssize_t got;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word && n < 31; word = strtok(NULL, " "))
        argv[n++] = word;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    while (used + 1 < size && (got = read(ends[0], line + used, size - 1 - used)) > 0)
        used += (size_t)got;
    close(ends[0]);
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void
act(const char *format, ...)
{
    char words[512], line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    assert_int_equal(tool(line, sizeof line, words), 0);
}

/* Waits until the title contains the text; the test fails if it does not come. */
static void expect_title(const char *text)
{
    char words[64], title[256] = "";
    snprintf(words, sizeof words, "getwindowname %s", window_id);
    for (int i = 0; i < PATIENCE; i++) {
        if (tool(title, sizeof title, words) == 0 && strstr(title, text))
            return;
        nap();
    }
    print_error("the title is \"%s\", expected \"%s\" in it\n", title, text);
    fail();
}

static void open_window(void)
{
    char line[256] = "", program[] = FLASHLAB_PROGRAM;
    char *argv[] = {program, (char *)"view", (char *)"--font", (char *)"builtin",
                    (char *)"--stage", (char *)"cross", NULL}; /* alone it would open the lessons */
    window = start(argv, program_path("window.log"), -1);
    for (int i = 0; i < PATIENCE; i++) {
        if (tool(line, sizeof line, "search --onlyvisible --name FlashLab") == 0 && line[0])
            break;
        nap();
    }
    assert_true(line[0] != '\0');
    snprintf(window_id, sizeof window_id, "%.31s", line);
    act("windowfocus %s", window_id);
    expect_title("start");
}

/* Waits for the window's program; its exit status, -1 if it does not end. */
static int wait_for_end(void)
{
    int status;
    for (int i = 0; i < PATIENCE; i++) {
        if (waitpid(window, &status, WNOHANG) == window) {
            window = 0;
            return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
        }
        nap();
    }
    return -1;
}

static int start_server(void **unused)
{
    int ends[2];
    char number[16] = "", display[24];
    char *argv[] = {(char *)"Xvfb", (char *)"-displayfd", (char *)"3", (char *)"-screen",
                    (char *)"0", (char *)"1400x900x24", (char *)"-nolisten", (char *)"tcp", (char *)"-noreset",
                    NULL};
    (void)unused;
    if (pipe(ends) != 0)
        return -1;
    server = start(argv, program_path("server.log"), ends[1]);
    close(ends[1]);
    /* The server writes the number and the end of the line apart, and dies if nobody reads that. */
    for (size_t used = 0; used + 1 < sizeof number && !strchr(number, '\n');) {
        ssize_t got = read(ends[0], number + used, sizeof number - 1 - used);
        if (got <= 0)
            return -1;
        used += (size_t)got;
    }
    close(ends[0]);
    number[strcspn(number, "\n")] = '\0';
    snprintf(display, sizeof display, ":%s", number);
    setenv("DISPLAY", display, 1);
    unsetenv("WAYLAND_DISPLAY");
    unsetenv("SDL_VIDEODRIVER");
    return 0;
}

static int stop_server(void **unused)
{
    (void)unused;
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    program_folder_remove();
    return 0;
}

/* A test that failed leaves no window to the next one. */
static int close_window(void **unused)
{
    (void)unused;
    if (window > 0) {
        kill(window, SIGKILL);
        waitpid(window, NULL, 0);
        window = 0;
    }
    return 0;
}

/* The same picture's hit, in the same face at the same size: where a hand must go. */
static struct view_box box_of(enum view_action action, int64_t value)
{
    static const struct view_host nobody = {0};
    struct view_state *state;
    struct view_box box = {0};
    assert_int_equal(view_state_open(&nobody, &view_builtin_face, 1280, 720, &state, NULL), FA_OK);
    view_state_show(state, view_case_open(&view_case_tidy), NULL, 0, NULL, NULL, 0);
    const struct view_draw *draw = view_state_draw(state);
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            box = draw->hits[i].box;
    view_state_close(state);
    assert_true(box.w > 0);
    return box;
}

static void click(enum view_action action, int64_t value)
{
    struct view_box box = box_of(action, value);
    act("mousemove --sync --window %s %d %d", window_id, (int)(box.x + box.w / 2),
        (int)(box.y + box.h / 2));
    act("click 1");
}

static void test_keys(void **unused)
{
    (void)unused;
    open_window();
    act("key End");
    expect_title("end of");
    act("key Home");
    expect_title("start");
    act("key Down");
    expect_title("event ");
    act("key Home");
    act("key slash");
    act("key 4 6 Return");
    expect_title("event 46 of");
    act("key ctrl+q");
    assert_int_equal(wait_for_end(), 0);
}

static void test_clicks(void **unused)
{
    (void)unused;
    open_window();
    click(VIEW_END, 0);
    expect_title("end of");
    click(VIEW_HOME, 0);
    expect_title("start");
    click(VIEW_PLAY, 0);
    expect_title("event ");
    act("key ctrl+q");
    assert_int_equal(wait_for_end(), 0);
}

static void test_the_scrubber_is_dragged(void **unused)
{
    (void)unused;
    open_window();
    struct view_box track = box_of(VIEW_SCRUB, 0);
    int y = (int)(track.y + track.h / 2);
    act("mousemove --sync --window %s %d %d", window_id, (int)(track.x + track.w / 2), y);
    act("mousedown 1");
    expect_title("event ");
    act("mousemove --sync --window %s %d %d", window_id, (int)(track.x + track.w - 1), y);
    expect_title("end of");
    act("mousemove --sync --window %s %d %d", window_id, (int)track.x, y);
    expect_title("start");
    act("mouseup 1");
    act("key ctrl+q");
    assert_int_equal(wait_for_end(), 0);
}

static void test_any_size(void **unused)
{
    (void)unused;
    open_window();
    act("key space");
    act("windowsize %s 1 1", window_id);
    nap();
    act("windowsize %s 400 300", window_id);
    nap();
    act("windowsize %s 1280 720", window_id);
    act("key End");
    expect_title("end of");
    click(VIEW_HOME, 0);
    expect_title("start");
    act("key ctrl+q");
    assert_int_equal(wait_for_end(), 0);
}

static void test_a_renderer_is_refused(void **unused)
{
    (void)unused;
    setenv("SDL_RENDER_DRIVER", "none-of-that-name", 1);
    open_window();
    unsetenv("SDL_RENDER_DRIVER");
    act("key End");
    expect_title("end of");
    act("key ctrl+q");
    assert_int_equal(wait_for_end(), 0);
}

static void test_an_interrupt_closes_it(void **unused)
{
    (void)unused;
    open_window();
    kill(window, SIGINT);
    int status = wait_for_end();
    assert_true(status == 0 || status == 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_keys, close_window),
        cmocka_unit_test_teardown(test_clicks, close_window),
        cmocka_unit_test_teardown(test_the_scrubber_is_dragged, close_window),
        cmocka_unit_test_teardown(test_any_size, close_window),
        cmocka_unit_test_teardown(test_a_renderer_is_refused, close_window),
        cmocka_unit_test_teardown(test_an_interrupt_closes_it, close_window),
    };
    if (!in_path("Xvfb") || !in_path("xdotool")) {
        printf("skipped: Xvfb and xdotool are needed for windows to be tested\n");
        return SKIPPED;
    }
#ifndef FLASHLAB_HAVE_CANVAS
    printf("skipped: this build has no SDL2\n");
    return SKIPPED;
#else
    return cmocka_run_group_tests(tests, start_server, stop_server);
#endif
}
