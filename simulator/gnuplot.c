/* Files that appear whole or not at all, and the pipe from gnuplot. */
#include "simulator/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/plot.h"

extern char **environ;

enum fa_status sim_new_file_name(struct sim_new_file *file, const char *folder, const char *stem,
                                 const char *ending, struct fa_error *error)
{
    const char *before = folder ? folder : "", *slash = folder ? "/" : "";
    int n = snprintf(file->path, sizeof file->path, "%s%s%s%s", before, slash, stem, ending);
    int m = snprintf(file->part, sizeof file->part, "%s%s%s%s.part-%ld", before, slash, stem,
                     ending, (long)getpid());
    if (n < 0 || m < 0 || m >= (int)sizeof file->part)
        return fa_fail(error, FA_IO, "%s%s%s%s: the path is too long", before, slash, stem, ending);
    return FA_OK;
}

static enum fa_status put_in_place(const struct sim_new_file *file, struct fa_error *error)
{
    if (rename(file->part, file->path) == 0)
        return FA_OK;
    return fa_fail(error, FA_IO, "%s: can't be put in place: %s", file->path, strerror(errno));
}

enum fa_status sim_new_file_write(const struct sim_new_file *target,
                                  enum fa_status (*print)(FILE *file, const void *context,
                                                          struct fa_error *error),
                                  const void *context, struct fa_error *error)
{
    FILE *file = fopen(target->part, "w");
    if (!file)
        return fa_fail(error, FA_IO, "%s: can't be written: %s", target->path, strerror(errno));
    enum fa_status status = print(file, context, error);
    errno = 0;
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!status && failed)
        status = fa_fail(error, FA_IO, "%s: can't be written: %s", target->path,
                         errno ? strerror(errno) : "write error");
    if (!status)
        status = put_in_place(target, error);
    if (status)
        unlink(target->part);
    return status;
}

void sim_gnuplot_write_quoted(FILE *file, const char *text)
{
    putc('\'', file);
    for (; *text; text++) {
        if (*text == '\'')
            putc('\'', file);
        putc((unsigned char)*text < ' ' ? '?' : *text, file);
    }
    putc('\'', file);
}

void sim_gnuplot_write_comment(FILE *file, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < ' ' ? '?' : *text, file);
    putc('\n', file);
}

/* 'text' for gnuplot, at *to, which moves on. False if it does not fit. */
static bool append_quoted(char **to, const char *end, const char *text)
{
    char *at = *to;
    if (at >= end)
        return false;
    *at++ = '\'';
    for (; *text; text++) {
        if (end - at < 4)
            return false;
        if (*text == '\'')
            *at++ = '\'';
        *at++ = *text;
    }
    *at++ = '\'';
    *at = '\0';
    *to = at;
    return true;
}

static bool append(char **to, const char *end, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(end - *to) <= length + 1)
        return false;
    memcpy(*to, text, length + 1);
    *to += length;
    return true;
}

/* Settings that send the script's output to where it is to be, whatever the folder is, and the
 * script itself: as an argument, a name that begins with a dash would be an option. */
static bool make_commands(const char *picture, const char *script,
                          const struct sim_gnuplot_setting *settings, int n, char *commands,
                          size_t size)
{
    char *at = commands;
    const char *end = commands + size;
    bool fits = append(&at, end, "picture=") && append_quoted(&at, end, picture);
    for (int i = 0; i < n && fits; i++)
        fits = append(&at, end, "; ") && append(&at, end, settings[i].name) &&
               append(&at, end, "=") && append_quoted(&at, end, settings[i].value);
    return fits && append(&at, end, "; load ") && append_quoted(&at, end, script);
}

/* Reads all that gnuplot says, and keeps the first line that says something. */
static void read_words(int fd, char *words, size_t size)
{
    char buffer[4096];
    size_t length = 0;
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n && length + 1 < size; i++) {
            bool end = buffer[i] == '\n' || buffer[i] == '\r';
            if (end && length > 0)
                words[length++] = ' ';
            else if (!end)
                words[length++] = (unsigned char)buffer[i] < ' ' ? ' ' : buffer[i];
        }
    }
    words[length] = '\0';
}

/* gnuplot with the commands; *exit_status is waitpid's, *words what it said. */
static enum fa_status run_gnuplot(char *commands, int *exit_status, char *words, size_t size,
                                  struct fa_error *error)
{
    char program[] = "gnuplot", defaults[] = "-d", execute[] = "-e";
    char *arguments[] = {program, defaults, execute, commands, NULL};
    posix_spawn_file_actions_t actions;
    int pipe_ends[2];
    pid_t child;

    if (pipe(pipe_ends) != 0)
        return fa_fail(error, FA_IO, "no pipe to gnuplot: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
    int cause = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (cause == 0) {
        read_words(pipe_ends[0], words, size);
        while (waitpid(child, exit_status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(pipe_ends[0]);
    if (cause != 0)
        return fa_fail(error, FA_IO, "gnuplot can't be started: %s", strerror(cause));
    return FA_OK;
}

enum fa_status sim_gnuplot_draw(const struct sim_new_file *picture, const char *script,
                                const struct sim_gnuplot_setting *settings, int n,
                                struct fa_error *error)
{
    char commands[4 * SIM_PATH_BYTES], words[400] = "";
    int exit_status = 0;
    enum fa_status status = sim_plot_find_gnuplot(error);

    if (!status && !make_commands(picture->part, script, settings, n, commands, sizeof commands))
        status = fa_fail(error, FA_IO, "%s: the path is too long", picture->path);
    if (!status)
        status = run_gnuplot(commands, &exit_status, words, sizeof words, error);
    if (!status && (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0))
        status = fa_fail(error, FA_IO, "%s: gnuplot could not draw %s: %s", picture->path, script,
                         *words ? words : "it said nothing");
    if (!status)
        status = put_in_place(picture, error);
    if (status)
        unlink(picture->part);
    return status;
}
