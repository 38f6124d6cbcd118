#include "tests/window_case.h"

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

enum { PATIENCE = 200, NAP_MILLISECONDS = 50, WORDS = 24 }; /* 10 s, for what takes a moment */

static pid_t server, window;
static char window_id[32];

void window_nap(void)
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

bool window_possible(void)
{
    if (!in_path("Xvfb") || !in_path("xdotool")) {
        printf("skipped: Xvfb and xdotool are needed for windows to be tested\n");
        return false;
    }
#ifndef FLASHLAB_HAVE_CANVAS
    printf("skipped: this build has no SDL2\n");
    return false;
#else
    return true;
#endif
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

void window_act(const char *format, ...)
{
    char words[512], line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    assert_int_equal(tool(line, sizeof line, words), 0);
}

void window_expect_title(const char *text)
{
    char words[64], title[256] = "";
    snprintf(words, sizeof words, "getwindowname %s", window_id);
    for (int i = 0; i < PATIENCE; i++) {
        if (tool(title, sizeof title, words) == 0 && strstr(title, text))
            return;
        window_nap();
    }
    print_error("the title is \"%s\", expected \"%s\" in it\n", title, text);
    fail();
}

void window_open(const char *const *words, const char *title)
{
    char line[256] = "", program[] = FLASHLAB_PROGRAM, copy[WORDS][512];
    char *argv[WORDS + 5] = {program, (char *)"view", (char *)"--font", (char *)"builtin"};
    for (int i = 0; words[i]; i++) {
        assert_true(i < WORDS);
        snprintf(copy[i], sizeof copy[i], "%s", words[i]);
        argv[4 + i] = copy[i];
    }
    window = start(argv, program_path("window.log"), -1);
    for (int i = 0; i < PATIENCE; i++) {
        if (tool(line, sizeof line, "search --onlyvisible --name FlashLab") == 0 && line[0])
            break;
        window_nap();
    }
    assert_true(line[0] != '\0');
    snprintf(window_id, sizeof window_id, "%.31s", line);
    window_act("windowfocus %s", window_id);
    window_expect_title(title);
}

const char *window_name(void)
{
    return window_id;
}

void window_click(struct view_box box)
{
    window_act("mousemove --sync --window %s %d %d", window_id, (int)(box.x + box.w / 2),
               (int)(box.y + box.h / 2));
    window_act("click 1");
}

void window_signal(int which)
{
    kill(window, which);
}

/* Prints what the window said before it ended otherwise than it should. */
static void print_log(void)
{
    char line[512];
    FILE *log = fopen(program_path("window.log"), "r");
    while (log && fgets(line, sizeof line, log))
        print_error("window: %s", line);
    if (log)
        fclose(log);
}

int window_wait_for_end(void)
{
    int status;
    for (int i = 0; i < PATIENCE; i++) {
        if (waitpid(window, &status, WNOHANG) == window) {
            window = 0;
            if (status != 0)
                print_log();
            return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
        }
        window_nap();
    }
    return -1;
}

int window_server_start(void **unused)
{
    int ends[2];
    char number[16] = "", display[24];
    char *argv[] = {
        (char *)"Xvfb",        (char *)"-displayfd", (char *)"3",   (char *)"-screen",  (char *)"0",
        (char *)"1400x900x24", (char *)"-nolisten",  (char *)"tcp", (char *)"-noreset", NULL};
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

int window_server_stop(void **unused)
{
    (void)unused;
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    program_folder_remove(NULL);
    return 0;
}

int window_close(void **unused)
{
    (void)unused;
    if (window > 0) {
        kill(window, SIGKILL);
        waitpid(window, NULL, 0);
        window = 0;
    }
    return 0;
}
