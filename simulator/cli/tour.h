/*
 * The parts of `flashlab tour`. Every number that they print was counted, or read from a cell, in
 * a run that the tour makes.
 */
#ifndef CLI_TOUR_H
#define CLI_TOUR_H

#include <stdbool.h>
#include <stdio.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The capacities of the figure, the A100's among them; a bare `flashlab sweep` counts the same. */
#define CLI_FIGURE_SRAM "sram=16K,24K,32K,48K,64K,96K,128K,192K,256K,384K,512K,768K,1M"

/* How the terminal is to be written to. */
struct cli_tour {
    FILE *file;
    bool utf8;   /* else plain ASCII */
    bool colour; /* bold, dim and colours by escape sequences */
};

/* UTF-8 by LC_ALL, LC_CTYPE, LANG (the first that is set); colour on a terminal unless NO_COLOR is
 * set or TERM says that it can't. */
struct cli_tour cli_tour_make(FILE *file);

/* A text in the one or the other alphabet. */
const char *cli_tour_pick(const struct cli_tour *tour, const char *utf8, const char *ascii);

/* "1. Title" with a rule under it. */
void cli_tour_title(const struct cli_tour *tour, const char *title);

/* Escape sequences, empty without colour. Colours are those of the figures' algorithms. */
const char *cli_tour_bold(const struct cli_tour *tour);
const char *cli_tour_algorithm(const struct cli_tour *tour, const char *name);
const char *cli_tour_plain(const struct cli_tour *tour);

/* The notes' worked example: N = 2, d = 2, scale 1, standard and then key by key. */
enum fa_status cli_tour_example(const struct cli_tour *tour, struct fa_error *error);

/* standard, flash1 and flash2 at N = 1024, d = 64 on an A100's SRAM: table and bars. */
enum fa_status cli_tour_traffic(const struct cli_tour *tour, struct fa_error *error);

/* The figure "counted IO against the bound" in the folder, as SVG and PNG. A missing gnuplot is
 * said and no error. */
enum fa_status cli_tour_figure(const struct cli_tour *tour, const char *folder,
                               struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
