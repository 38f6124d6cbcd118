/*
 * What commands write: arrays, and whole text files or none.
 */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include <stdio.h>

#include "simulator/cli/inputs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the folder and those above it where they are missing. FA_IO, also for one that can't be
 * written in: before the work whose results it is for. */
enum fa_status cli_folder_make(const char *path, struct fa_error *error);

/* FA_IO if no file can be put at path: its folder is missing or can't be written in, or something
 * other than a file stands there. FA_BAD_ARGUMENT for "-": reports go to standard output. */
enum fa_status cli_file_check(const char *path, struct fa_error *error);

/* True if the two paths name one file, whether or not it exists: the same name in one folder. */
bool cli_same_file(const char *a, const char *b);

/*
 * Writes folder/name: the tensor, contiguous in the layout, with the last `rank` axes of the
 * layout's order [batch, heads, rows, columns] or [batch, rows, heads, columns]. Axes that are
 * left out are 1. A statistic (1 column) loses its last axis: [batch, heads, rows] or
 * [batch, rows, heads] for rank 4.
 */
enum fa_status cli_tensor_write(const char *folder, const char *name,
                                const struct fa_tensor *tensor, int rank, enum cli_layout layout,
                                bool statistic, struct fa_error *error);

/*
 * A text file that appears whole or not at all: opened beside path, renamed over it by
 * cli_file_commit, removed by cli_file_discard.
 */
struct cli_file {
    FILE *file; /* print here */
    char path[4096], part[4096];
};

enum fa_status cli_file_open(struct cli_file *file, const char *path, struct fa_error *error);
/* FA_IO if anything since the opening could not be written; nothing is left then. */
enum fa_status cli_file_commit(struct cli_file *file, struct fa_error *error);
void cli_file_discard(struct cli_file *file);

#ifdef __cplusplus
}
#endif
#endif
