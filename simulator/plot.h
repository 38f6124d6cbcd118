/*
 * The figure "counted IO against the bound": a sweep drawn by gnuplot, log-log.
 *
 * Points are counted runs, one colour and one marker an algorithm; lines are the bounds, with the
 * constants that closed_form.h gives them. Beside the picture stay the sweep's CSV, from which the
 * points are drawn, and the script, which draws the picture again.
 */
#ifndef SIM_PLOT_H
#define SIM_PLOT_H

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

/*
 * Writes name.svg or name.png (path), name.csv and name.gp for a sweep that has run. Each appears
 * whole or not at all; without gnuplot the CSV and the script are written all the same.
 * Errors: those of sim_plot_format and sim_plot_check; FA_BAD_ARGUMENT if no point was counted;
 * FA_IO (also what gnuplot said), FA_MISSING_PART, FA_NO_MEMORY.
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
