/* The files of a figure. */
#include "simulator/plot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/gnuplot.h"

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

/* What a figure needs, handed from step to step. */
struct drawing {
    const struct sim_sweep *sweep;
    const struct sim_provenance *provenance;
    const char *stem_name; /* without the folder */
    struct sim_new_file picture, csv, script;
};

static enum fa_status print_csv(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    return sim_sweep_write_csv(drawing->sweep, drawing->provenance, file, error);
}

static enum fa_status print_script(FILE *file, const void *context, struct fa_error *error)
{
    const struct drawing *drawing = context;
    return sim_plot_write_script(drawing->sweep, drawing->provenance, drawing->stem_name, file,
                                 error);
}

enum fa_status sim_plot_write(const struct sim_sweep *sweep,
                              const struct sim_provenance *provenance, const char *path,
                              struct fa_error *error)
{
    struct drawing *drawing = calloc(1, sizeof *drawing);
    char stem[SIM_PATH_BYTES];
    size_t length = strlen(path);
    enum sim_picture format = SIM_SVG;

    if (!drawing)
        return fa_fail(error, FA_NO_MEMORY, "no memory to draw %s", path);
    drawing->sweep = sweep;
    drawing->provenance = provenance;
    enum fa_status status = sim_plot_format(path, &format, error);
    if (!status && length >= sizeof stem)
        status = fa_fail(error, FA_IO, "%s: the path is too long", path);
    if (!status) {
        memcpy(stem, path, length - strlen(".svg"));
        stem[length - strlen(".svg")] = '\0';
        drawing->stem_name = strrchr(stem, '/') ? strrchr(stem, '/') + 1 : stem;
        status = sim_new_file_name(&drawing->picture, NULL, stem, path + strlen(stem), error);
    }
    if (!status)
        status = sim_new_file_name(&drawing->csv, NULL, stem, ".csv", error);
    if (!status)
        status = sim_new_file_name(&drawing->script, NULL, stem, ".gp", error);
    if (!status)
        status = sim_new_file_write(&drawing->script, print_script, drawing, error);
    if (!status)
        status = sim_new_file_write(&drawing->csv, print_csv, drawing, error);
    if (!status) {
        const struct sim_gnuplot_setting settings[] = {
            {"format", format == SIM_PNG ? "png" : "svg"}, {"points", drawing->csv.path}};
        status = sim_gnuplot_draw(&drawing->picture, drawing->script.path, settings, 2, error);
    }
    free(drawing);
    return status;
}
