/* The handout's files: Markdown, CSV, and a script and a picture for each topic with a figure. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/paper_parts.h"
#include "simulator/plot.h"

extern char **environ;

enum { PATH_BYTES = 4096 };

/* A file that appears whole or not at all. */
struct new_file {
    char path[PATH_BYTES], part[PATH_BYTES];
};

static enum fa_status name_file(struct new_file *file, const char *folder, const char *stem,
                                const char *ending, struct fa_error *error)
{
    int n = snprintf(file->path, sizeof file->path, "%s/%s%s", folder, stem, ending);
    int m = snprintf(file->part, sizeof file->part, "%s/%s%s.part-%ld", folder, stem, ending,
                     (long)getpid());
    if (n < 0 || m < 0 || m >= (int)sizeof file->part)
        return fa_fail(error, FA_IO, "%s/%s%s: the path is too long", folder, stem, ending);
    return FA_OK;
}

static enum fa_status put_in_place(const struct new_file *file, struct fa_error *error)
{
    if (rename(file->part, file->path) == 0)
        return FA_OK;
    return fa_fail(error, FA_IO, "%s: can't be put in place: %s", file->path, strerror(errno));
}

/* What a handout is made of. */
struct handout {
    const struct sim_paper *paper;
    const struct sim_provenance *provenance;
    enum sim_paper_topic topic; /* of a figure */
};

static void print_markdown(FILE *file, const struct handout *handout)
{
    sim_paper_markdown(file, handout->paper, handout->provenance);
}

static void print_csv(FILE *file, const struct handout *handout)
{
    sim_paper_csv(file, handout->paper);
}

static void print_script(FILE *file, const struct handout *handout)
{
    sim_paper_figure_script(file, handout->paper, handout->topic);
}

static enum fa_status write_text(const struct new_file *target, const struct handout *handout,
                                 void (*print)(FILE *file, const struct handout *handout),
                                 struct fa_error *error)
{
    enum fa_status status = FA_OK;
    FILE *file = fopen(target->part, "w");
    if (!file)
        return fa_fail(error, FA_IO, "%s: can't be written: %s", target->path, strerror(errno));
    print(file, handout);
    errno = 0;
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (failed)
        status = fa_fail(error, FA_IO, "%s: can't be written: %s", target->path,
                         errno ? strerror(errno) : "write error");
    if (!status)
        status = put_in_place(target, error);
    if (status)
        unlink(target->part);
    return status;
}

/* gnuplot reads the script on its standard input and writes the picture on its standard output, so
 * that no path needs quoting. */
static enum fa_status draw(const struct new_file *script, const struct new_file *picture,
                           struct fa_error *error)
{
    char program[] = "gnuplot", defaults[] = "-d";
    char *arguments[] = {program, defaults, NULL};
    posix_spawn_file_actions_t actions;
    enum fa_status status = FA_OK;
    int exit_status = 0;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, script->path, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, picture->part,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int cause = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (cause != 0)
        return fa_fail(error, FA_IO, "gnuplot can't be started: %s", strerror(cause));
    while (waitpid(child, &exit_status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(exit_status) || WEXITSTATUS(exit_status) != 0)
        status = fa_fail(error, FA_IO, "%s: gnuplot could not draw it; gnuplot %s says why",
                         picture->path, script->path);
    if (!status)
        status = put_in_place(picture, error);
    if (status)
        unlink(picture->part);
    return status;
}

static enum fa_status write_figures(struct handout *handout, const char *folder,
                                    struct new_file files[2], struct fa_error *error)
{
    enum fa_status missing = sim_plot_find_gnuplot(error), status = FA_OK;
    char stem[64];

    for (int t = 0; t < SIM_PAPER_TOPICS && !status; t++) {
        handout->topic = (enum sim_paper_topic)t;
        if (!sim_paper_figure_script(NULL, handout->paper, handout->topic))
            continue;
        snprintf(stem, sizeof stem, "paper-%s", sim_paper_topic_name(handout->topic));
        status = name_file(&files[0], folder, stem, ".gp", error);
        if (!status)
            status = name_file(&files[1], folder, stem, ".svg", error);
        if (!status)
            status = write_text(&files[0], handout, print_script, error);
        if (!status && !missing)
            status = draw(&files[0], &files[1], error);
    }
    return status ? status : missing;
}

enum fa_status sim_paper_write(const struct sim_paper *paper,
                               const struct sim_provenance *provenance, const char *folder,
                               struct fa_error *error)
{
    struct handout handout = {paper, provenance, SIM_PAPER_FIGURE2};
    struct new_file *files = calloc(2, sizeof *files);
    enum fa_status status;

    if (!files)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the files in %s", folder);
    status = name_file(&files[0], folder, "paper", ".md", error);
    if (!status)
        status = write_text(&files[0], &handout, print_markdown, error);
    if (!status)
        status = name_file(&files[0], folder, "paper", ".csv", error);
    if (!status)
        status = write_text(&files[0], &handout, print_csv, error);
    if (!status)
        status = write_figures(&handout, folder, files, error);
    free(files);
    return status;
}
