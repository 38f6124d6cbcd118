#include "simulator/cli/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void draw(struct cli_progress *progress, double done)
{
    char bar[BAR_WIDTH + 1];
    double left = done > 0 ? seconds_since(&progress->start) * (1 - done) / done : INFINITY;
    int filled = (int)(done * BAR_WIDTH);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f %%", progress->label, bar, 100 * done);
    if (left < 1e5)
        fprintf(stderr, ", %.0f s left ", left);
    fputs("\033[K", stderr);
    fflush(stderr);
    progress->visible = true;
    clock_gettime(CLOCK_MONOTONIC, &progress->drawn);
}

bool cli_progress_tick(struct cli_progress *progress, double done)
{
    /* Not before 0.3 s, so that short work leaves the screen alone, and ten times a second. */
    if (progress->on_terminal && done >= 0 && done <= 1 && seconds_since(&progress->start) > 0.3 &&
        seconds_since(&progress->drawn) > 0.1)
        draw(progress, done);
    return !interrupted;
}

static bool tick(void *context, double done)
{
    return cli_progress_tick(context, done);
}

void cli_progress_start(struct cli_progress *progress, const char *label)
{
    /* SA_RESETHAND: the second Ctrl-C does what it always does. Who started the program in the
     * background of a script had it ignore Ctrl-C, and it still does then. */
    struct sigaction before, action = {.sa_handler = note_interrupt};
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    if (!interrupted && sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
    memset(progress, 0, sizeof *progress);
    progress->watch = (struct fa_watch){tick, progress};
    progress->label = label;
    progress->on_terminal = isatty(STDERR_FILENO) == 1;
    clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = false;
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
