/* The files of a figure. */
#include "simulator/plot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    char path[SIM_PATH_BYTES];
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

enum fa_status sim_plot_files_name(struct sim_plot_files *files, const char *path,
                                   struct fa_error *error)
{
    char stem[SIM_PATH_BYTES];
    enum fa_status status = sim_plot_format(path, &files->format, error);
    if (status)
        return status;
    const size_t length = strlen(path) - strlen(".svg");
    if (length >= sizeof stem)
        return fa_fail(error, FA_IO, "%s: the path is too long", path);
    memcpy(stem, path, length);
    stem[length] = '\0';
    snprintf(files->stem, sizeof files->stem, "%s",
             strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem);
    status = sim_new_file_name(&files->picture, NULL, stem, path + length, error);
    if (!status)
        status = sim_new_file_name(&files->csv, NULL, stem, ".csv", error);
    if (!status)
        status = sim_new_file_name(&files->script, NULL, stem, ".gp", error);
    return status;
}

enum fa_status sim_plot_files_write(const struct sim_plot_files *files,
                                    const struct sim_plot_printer *printer, struct fa_error *error)
{
    const struct sim_gnuplot_setting settings[] = {
        {"format", files->format == SIM_PNG ? "png" : "svg"}, {"points", files->csv.path}};
    enum fa_status status =
        sim_new_file_write(&files->script, printer->script, printer->context, error);
    if (!status)
        status = sim_new_file_write(&files->csv, printer->csv, printer->context, error);
    if (!status)
        status = sim_gnuplot_draw(&files->picture, files->script.path, settings, 2, error);
    return status;
}

void sim_plot_write_settings(FILE *file, const char *stem)
{
    fputs("stem = ", file);
    sim_gnuplot_write_quoted(file, stem);
    fputs("\nif (!exists(\"format\")) format = 'svg'\n"
          "if (!exists(\"picture\")) picture = stem.'.'.format\n"
          "if (!exists(\"points\")) points = stem.'.csv'\n"
          "# The two formats measure letters and markers differently.\n"
          "if (format eq 'png') {\n"
          "    set terminal pngcairo size 1600,1000 font 'DejaVu Sans,19' rounded\n"
          "    big = ',30'; small = ',16'; marker = 1.9\n"
          "} else {\n"
          "    set terminal svg size 1600,1000 dynamic rounded font 'sans-serif,25' \\\n"
          "        background '#FFFFFF'\n"
          "    big = ',39'; small = ',21'; marker = 0.75\n"
          "}\n"
          "set output picture\n"
          "set encoding utf8\n"
          "set datafile separator comma\n"
          "set datafile missing NaN\n",
          file);
}

/* What the figure of a sweep needs, handed from step to step. */
struct drawing {
    const struct sim_sweep *sweep;
    const struct sim_provenance *provenance;
    struct sim_plot_files files;
};

static enum fa_status print_csv(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    return sim_sweep_write_csv(drawing->sweep, drawing->provenance, file, error);
}

static enum fa_status print_script(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    return sim_plot_write_script(drawing->sweep, drawing->provenance, drawing->files.stem, file,
                                 error);
}

enum fa_status sim_plot_write(const struct sim_sweep *sweep,
                              const struct sim_provenance *provenance, const char *path,
                              struct fa_error *error)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    const struct sim_plot_printer printer = {print_csv, print_script, drawing};
    if (!drawing)
        return fa_fail(error, FA_NO_MEMORY, "no memory to draw %s", path);
    drawing->sweep = sweep;
    drawing->provenance = provenance;
    enum fa_status status = sim_plot_files_name(&drawing->files, path, error);
    if (!status)
        status = sim_plot_files_write(&drawing->files, &printer, error);
    free(drawing);
    return status;
}
