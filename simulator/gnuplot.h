/*
 * Pictures drawn by gnuplot from a script, and files that appear whole or not at all. What the
 * figures (plot.h) and paper_files.c share.
 */
#ifndef SIM_GNUPLOT_H
#define SIM_GNUPLOT_H

#include <stdio.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIM_PATH_BYTES = 4096 };

/* Written at part, then renamed to path. */
struct sim_new_file {
    char path[SIM_PATH_BYTES], part[SIM_PATH_BYTES];
};

/* The paths of folder/stem and the ending; folder is NULL where the stem has one. FA_IO if they are
 * too long. */
enum fa_status sim_new_file_name(struct sim_new_file *file, const char *folder, const char *stem,
                                 const char *ending, struct fa_error *error);

/* Prints what print(file, context) prints. Errors: print's; FA_IO, and nothing is left. */
enum fa_status sim_new_file_write(const struct sim_new_file *target,
                                  enum fa_status (*print)(FILE *file, const void *context,
                                                          struct fa_error *error),
                                  const void *context, struct fa_error *error);

/* Text of a script, in which control characters become question marks: in single quotes, where
 * gnuplot looks at nothing but the quote; and the end of a line that is a comment. */
void sim_gnuplot_write_quoted(FILE *file, const char *text);
void sim_gnuplot_write_comment(FILE *file, const char *text);

/* A gnuplot variable that is set to a text before the script is read. */
struct sim_gnuplot_setting {
    const char *name, *value;
};

/*
 * Draws the picture: the script finds its path in the variable `picture`, and the n settings in
 * theirs. Errors: FA_MISSING_PART if no program of the name gnuplot is in the PATH; FA_IO, with
 * what gnuplot said, and no picture is left.
 */
enum fa_status sim_gnuplot_draw(const struct sim_new_file *picture, const char *script,
                                const struct sim_gnuplot_setting *settings, int n,
                                struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
