/* The files of a figure, and the pipe from gnuplot. */
#include "simulator/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATH_BYTES = 4096 };

enum fa_status sim_plot_format(const char *path, enum sim_picture *format, struct fa_error *error)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *ending = strrchr(name, '.');
    if (ending && ending > name && strcmp(ending, ".svg") == 0)
        *format = SIM_SVG;
    else if (ending && ending > name && strcmp(ending, ".png") == 0)
        *format = SIM_PNG;
    else
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: expected a name that ends in .svg or .png, the formats of a figure",
                       path);
    return FA_OK;
}

enum fa_status sim_plot_check(const struct sim_sweep *sweep, enum sim_sweep_key *x,
                              struct fa_error *error)
{
    int along = -1;
    for (int a = 0; a < sweep->n_axes; a++) {
        if (sweep->axes[a].key == SIM_SWEEP_ALGORITHM)
            continue;
        if (along >= 0)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "a figure varies one size along x, and algorithms; here %s and %s vary: "
                           "leave one out, or write the CSV alone",
                           sim_sweep_key_name(sweep->axes[along].key),
                           sim_sweep_key_name(sweep->axes[a].key));
        along = a;
    }
    if (along < 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a figure needs a size along x: vary n, d, sram, br or bc");
    *x = sweep->axes[along].key;
    return FA_OK;
}

/* Looks where posix_spawnp will look. */
enum fa_status sim_plot_find_gnuplot(struct fa_error *error)
{
    const char *folders = getenv("PATH");
    char path[PATH_BYTES];
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at && *at;) {
        size_t length = strcspn(at, ":");
        int n = snprintf(path, sizeof path, "%.*s/gnuplot", (int)length, at);
        if (n > 0 && n < (int)sizeof path && access(path, X_OK) == 0)
            return FA_OK;
        at += length + (at[length] == ':');
    }
    return fa_fail(error, FA_MISSING_PART,
                   "gnuplot is missing, so no figure was drawn: install it (Debian: gnuplot-nox)");
}

/* A file that appears whole or not at all. */
struct new_file {
    char path[PATH_BYTES], part[PATH_BYTES];
};

static enum fa_status name_file(struct new_file *file, const char *stem, const char *ending,
                                struct fa_error *error)
{
    int n = snprintf(file->path, sizeof file->path, "%s%s", stem, ending);
    int m = snprintf(file->part, sizeof file->part, "%s%s.part-%ld", stem, ending, (long)getpid());
    if (n < 0 || m < 0 || m >= (int)sizeof file->part)
        return fa_fail(error, FA_IO, "%s%s: the path is too long", stem, ending);
    return FA_OK;
}

static enum fa_status put_in_place(const struct new_file *file, struct fa_error *error)
{
    if (rename(file->part, file->path) == 0)
        return FA_OK;
    return fa_fail(error, FA_IO, "%s: can't be put in place: %s", file->path, strerror(errno));
}

/* What a figure needs, handed from step to step. */
struct drawing {
    const struct sim_sweep *sweep;
    const struct sim_provenance *provenance;
    const char *stem_name; /* without the folder */
    struct new_file picture, csv, script;
    enum sim_picture format;
};

static enum fa_status write_text_file(const struct drawing *drawing, const struct new_file *target,
                                      struct fa_error *error)
{
    FILE *file = fopen(target->part, "w");
    if (!file)
        return fa_fail(error, FA_IO, "%s: can't be written: %s", target->path, strerror(errno));
    enum fa_status status =
        target == &drawing->csv
            ? sim_sweep_write_csv(drawing->sweep, drawing->provenance, file, error)
            : sim_plot_write_script(drawing->sweep, drawing->provenance, drawing->stem_name, file,
                                    error);
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
static bool make_settings(const struct drawing *drawing, char *settings, size_t size)
{
    char *at = settings;
    const char *end = settings + size;
    return append(&at, end, drawing->format == SIM_PNG ? "format='png'; " : "format='svg'; ") &&
           append(&at, end, "picture=") && append_quoted(&at, end, drawing->picture.part) &&
           append(&at, end, "; points=") && append_quoted(&at, end, drawing->csv.path) &&
           append(&at, end, "; load ") && append_quoted(&at, end, drawing->script.path);
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

static enum fa_status run_gnuplot(const struct drawing *drawing, struct fa_error *error)
{
    char settings[4 * PATH_BYTES], words[400] = "";
    char program[] = "gnuplot", defaults[] = "-d", execute[] = "-e";
    char *arguments[] = {program, defaults, execute, settings, NULL};
    posix_spawn_file_actions_t actions;
    int pipe_ends[2], exit_status = 0;
    pid_t child;

    if (!make_settings(drawing, settings, sizeof settings))
        return fa_fail(error, FA_IO, "%s: the path is too long", drawing->picture.path);
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
        read_words(pipe_ends[0], words, sizeof words);
        while (waitpid(child, &exit_status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(pipe_ends[0]);
    if (cause != 0)
        return fa_fail(error, FA_IO, "gnuplot can't be started: %s", strerror(cause));
    if (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0)
        return fa_fail(error, FA_IO, "%s: gnuplot could not draw %s: %s", drawing->picture.path,
                       drawing->script.path, *words ? words : "it said nothing");
    return FA_OK;
}

static enum fa_status draw(const struct drawing *drawing, struct fa_error *error)
{
    enum fa_status status = sim_plot_find_gnuplot(error);
    if (!status)
        status = run_gnuplot(drawing, error);
    if (!status)
        status = put_in_place(&drawing->picture, error);
    if (status)
        unlink(drawing->picture.part);
    return status;
}

enum fa_status sim_plot_write(const struct sim_sweep *sweep,
                              const struct sim_provenance *provenance, const char *path,
                              struct fa_error *error)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    char stem[PATH_BYTES];
    size_t length = strlen(path);
    enum fa_status status;

    if (!drawing)
        return fa_fail(error, FA_NO_MEMORY, "no memory to draw %s", path);
    drawing->sweep = sweep;
    drawing->provenance = provenance;
    status = sim_plot_format(path, &drawing->format, error);
    if (!status && length >= sizeof stem)
        status = fa_fail(error, FA_IO, "%s: the path is too long", path);
    if (!status) {
        memcpy(stem, path, length - strlen(".svg"));
        stem[length - strlen(".svg")] = '\0';
        drawing->stem_name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem;
        status = name_file(&drawing->picture, stem, path + length - strlen(".svg"), error);
    }
    if (!status)
        status = name_file(&drawing->csv, stem, ".csv", error);
    if (!status)
        status = name_file(&drawing->script, stem, ".gp", error);
    if (!status)
        status = write_text_file(drawing, &drawing->script, error);
    if (!status)
        status = write_text_file(drawing, &drawing->csv, error);
    if (!status)
        status = draw(drawing, error);
    free(drawing);
    return status;
}
