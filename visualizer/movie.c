#include "visualizer/movie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIDE_MOST = 16384 };

struct view_movie {
    const struct view_movie_kind *kind;
    void *state;
    int width, height;
};

enum fa_status view_size_check(int width, int height, struct fa_error *error)
{
    if (width < 1 || height < 1 || width > SIDE_MOST || height > SIDE_MOST)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a picture of %d x %d pixels: expected 1 to %d each way", width, height,
                       SIDE_MOST);
    return FA_OK;
}

enum fa_status view_part_name(struct view_part *part, const char *path, struct fa_error *error)
{
    part->stream = NULL;
    int n = snprintf(part->path, sizeof part->path, "%s", path);
    int m = snprintf(part->beside, sizeof part->beside, "%s.part", path);
    if (n < 0 || m < 0 || m >= (int)sizeof part->beside)
        return fa_fail(error, FA_BAD_ARGUMENT, "a path of %zu bytes is too long", strlen(path));
    return FA_OK;
}

enum fa_status view_part_open(struct view_part *part, const char *path, struct fa_error *error)
{
    enum fa_status status = view_part_name(part, path, error);
    if (status != FA_OK)
        return status;
    part->stream = fopen(part->beside, "wb");
    if (!part->stream)
        return fa_fail(error, FA_IO, "%s: can't be written: %s", path, strerror(errno));
    return FA_OK;
}

enum fa_status view_part_close(struct view_part *part, enum fa_status status,
                               struct fa_error *error)
{
    bool bad = part->stream && ferror(part->stream) != 0;
    errno = 0;
    bad = (part->stream && fclose(part->stream) != 0) || bad;
    if (status == FA_OK && bad)
        status = fa_fail(error, FA_IO, "%s: can't be written: %s", part->path,
                         errno ? strerror(errno) : "write error");
    if (status == FA_OK && rename(part->beside, part->path) != 0)
        status =
            fa_fail(error, FA_IO, "%s: can't be put in place: %s", part->path, strerror(errno));
    if (status != FA_OK)
        remove(part->beside);
    return status;
}

static const struct view_movie_kind *kind_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *ending = strrchr(slash ? slash : path, '.');
    if (!ending)
        return NULL;
    if (strcasecmp(ending, ".gif") == 0)
        return &view_movie_gif;
    if (strcasecmp(ending, ".mp4") == 0 || strcasecmp(ending, ".webm") == 0)
        return &view_movie_ffmpeg;
    return NULL;
}

enum fa_status view_movie_open(const char *path, int width, int height, int fps,
                               struct view_movie **movie, struct fa_error *error)
{
    const struct view_movie_kind *kind = kind_of(path);
    enum fa_status status = view_size_check(width, height, error);
    if (status != FA_OK)
        return status;
    if (!kind)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected a film's ending: .gif, .mp4 or .webm",
                       path);
    if (fps < 1 || fps > 60)
        return fa_fail(error, FA_BAD_ARGUMENT, "%d pictures a second: expected 1 to 60", fps);
    struct view_movie *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for a film", path);
    made->kind = kind;
    made->width = width;
    made->height = height;
    status = kind->open(path, width, height, fps, &made->state, error);
    if (status == FA_OK)
        *movie = made;
    else
        free(made);
    return status;
}

enum fa_status view_movie_add(struct view_movie *movie, const struct view_picture *picture,
                              struct fa_error *error)
{
    if (picture->width != movie->width || picture->height != movie->height)
        return fa_fail(error, FA_BAD_ARGUMENT, "a picture of %d x %d in a film of %d x %d pixels",
                       picture->width, picture->height, movie->width, movie->height);
    return movie->kind->add(movie->state, picture, error);
}

enum fa_status view_movie_close(struct view_movie *movie, bool cancel, struct fa_error *error)
{
    enum fa_status status = movie->kind->close(movie->state, cancel, error);
    free(movie);
    return status;
}
