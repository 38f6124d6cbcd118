/*
 * What the writers of pictures and films share: a file that is whole or not there, and the two
 * kinds of film.
 */
#ifndef VIEW_MOVIE_H
#define VIEW_MOVIE_H

#include <stdio.h>

#include "visualizer/picture.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_PATH_MOST = 4096 };

/* A file that is written beside its place and moved there when it is whole. */
struct view_part {
    char path[VIEW_PATH_MOST], beside[VIEW_PATH_MOST];
    FILE *stream; /* NULL: another program writes it */
};

/* Errors: FA_BAD_ARGUMENT for a side outside 1..16384. */
enum fa_status view_size_check(int width, int height, struct fa_error *error);

enum fa_status view_part_name(struct view_part *part, const char *path, struct fa_error *error);
enum fa_status view_part_open(struct view_part *part, const char *path, struct fa_error *error);

/* Moves the file to its place, or if status is not FA_OK removes it. Returns status, or why it
 * failed. */
enum fa_status view_part_close(struct view_part *part, enum fa_status status,
                               struct fa_error *error);

/* One kind of film: `state` is its own; close frees it in each case. */
struct view_movie_kind {
    enum fa_status (*open)(const char *path, int width, int height, int fps, void **state,
                           struct fa_error *error);
    enum fa_status (*add)(void *state, const struct view_picture *picture, struct fa_error *error);
    enum fa_status (*close)(void *state, bool cancel, struct fa_error *error);
};

extern const struct view_movie_kind view_movie_gif;    /* movie_gif.c */
extern const struct view_movie_kind view_movie_ffmpeg; /* movie_ffmpeg.c: by the path's ending */

#ifdef __cplusplus
}
#endif
#endif
