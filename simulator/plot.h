/*
 * The figure "counted IO against the bound": a sweep drawn by gnuplot, log-log.
 *
 * Points are counted runs, one colour and one marker an algorithm; lines are the bounds, with the
 * constants that closed_form.h gives them. Beside the picture stay the sweep's CSV, from which the
 * points are drawn, and the script, which draws the picture again.
 */
#ifndef SIM_PLOT_H
#define SIM_PLOT_H

#include "simulator/gnuplot.h"
#include "simulator/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_picture { SIM_SVG, SIM_PNG };

/* By the end of the name: .svg or .png. FA_BAD_ARGUMENT. */
enum fa_status sim_plot_format(const char *path, enum sim_picture *format, struct fa_error *error);

/* Refuses axes that a figure can't show: it has one varied size (n, d, sram, br or bc) along x,
 * and the algorithms. FA_BAD_ARGUMENT. */
enum fa_status sim_plot_check(const struct sim_sweep *sweep, enum sim_sweep_key *x,
                              struct fa_error *error);

/* FA_MISSING_PART if no program of the name gnuplot is in the PATH. */
enum fa_status sim_plot_find_gnuplot(struct fa_error *error);

/* The files of a figure beside each other, and the name that they share, without the folder. */
struct sim_plot_files {
    enum sim_picture format;
    char stem[SIM_PATH_BYTES];
    struct sim_new_file picture, csv, script;
};

/* Names them after the picture's path. Errors: those of sim_plot_format; FA_IO if it is too long. */
enum fa_status sim_plot_files_name(struct sim_plot_files *files, const char *path,
                                   struct fa_error *error);

/* What prints a figure's points and its script, each from `context`. */
struct sim_plot_printer {
    enum fa_status (*csv)(FILE *file, const void *context, struct fa_error *error);
    enum fa_status (*script)(FILE *file, const void *context, struct fa_error *error);
    const void *context;
};

/* Each appears whole or not at all; without gnuplot the CSV and the script are written all the
 * same. Errors: the printer's, and those of sim_new_file_write and sim_gnuplot_draw. */
enum fa_status sim_plot_files_write(const struct sim_plot_files *files,
                                    const struct sim_plot_printer *printer, struct fa_error *error);

/* What a figure's script begins with: where the points and the picture are unless sim_gnuplot_draw
 * says otherwise, the format's terminal, and in `big`, `small` and `marker` its sizes. */
void sim_plot_write_settings(FILE *file, const char *stem);

/*
 * Writes name.svg or name.png (path), name.csv and name.gp for a sweep that has run. Errors: those
 * of sim_plot_files_name, sim_plot_files_write and sim_plot_check; FA_BAD_ARGUMENT if no point was
 * counted; FA_NO_MEMORY.
 */
enum fa_status sim_plot_write(const struct sim_sweep *sweep,
                              const struct sim_provenance *provenance, const char *path,
                              struct fa_error *error);

/* The script alone, as it is kept; `stem` is the file name without folder and ending. */
enum fa_status sim_plot_write_script(const struct sim_sweep *sweep,
                                     const struct sim_provenance *provenance, const char *stem,
                                     FILE *file, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
