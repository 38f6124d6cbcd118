/*
 * Pictures and animations as files: PNG by libpng, GIF by giflib with an exact palette, MP4 and
 * WebM by a pipe to ffmpeg where it is installed. Written beside and renamed: no file is ever half
 * there.
 */
#ifndef VIEW_PICTURE_H
#define VIEW_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_picture {
    int width, height;
    int pitch;             /* bytes a row */
    const uint8_t *pixels; /* 4 bytes a pixel: r, g, b, unused */
};

/* Errors: FA_IO, FA_NO_MEMORY, FA_MISSING_PART where libpng was not there at build time. `caption`
 * is put into the file as text (the scenario), NULL: none. */
enum fa_status view_png_write(const char *path, const struct view_picture *picture,
                              const char *caption, struct fa_error *error);

struct view_movie;

/*
 * By the path's ending: .gif, .mp4, .webm; anything else is FA_BAD_ARGUMENT with what there is. fps
 * 1 to 60. A GIF's delays are whole hundredths of a second: they vary so that their mean is right,
 * and above 50, which viewers do not play, they are those of 50. FA_MISSING_PART: no giflib, no
 * ffmpeg, in one line that says how to get it.
 */
enum fa_status view_movie_open(const char *path, int width, int height, int fps,
                               struct view_movie **movie, struct fa_error *error);
enum fa_status view_movie_add(struct view_movie *movie, const struct view_picture *picture,
                              struct fa_error *error);

/* Finishes the file, or with `cancel` leaves nothing behind. Frees the movie in each case. */
enum fa_status view_movie_close(struct view_movie *movie, bool cancel, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
