/*
 * GIF: each picture has its own palette of the colours that changed in it, and says only what
 * changed. Up to 255 colours are exact; index 0 of a palette means "as before".
 */
#include "visualizer/movie.h"

#ifdef FLASHLAB_HAVE_GIF

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/palette.h"

enum { DELAY_MOST = 65535, FPS_MOST = 50 };

/* left <= x < right, top <= y < bottom. */
struct part_of_picture {
    int left, top, right, bottom;
};

struct film {
    struct view_part part;
    GifFileType *gif;
    int width, height, fps;
    uint32_t *before; /* the pixels of the picture before, 0x00rrggbb */
    struct view_palette *palette;
    /* The picture that waits for its delay, which grows while nothing changes. */
    bool waiting;
    uint8_t *indices;
    struct part_of_picture part_shown;
    long delay;           /* of it, in hundredths of a second */
    long pictures, spent; /* added so far; hundredths of a second given out */
};

static int write_bytes(GifFileType *gif, const GifByteType *bytes, int n)
{
    return (int)fwrite(bytes, 1, (size_t)n, gif->UserData);
}

static enum fa_status gif_failed(const struct film *film, struct fa_error *error)
{
    return fa_fail(error, FA_IO, "%s: giflib could not write", film->part.path);
}

/* The screen, and that it plays for ever. */
static bool write_head(struct film *film)
{
    const GifByteType forever[] = {1, 0, 0};
    EGifSetGifVersion(film->gif, true);
    return EGifPutScreenDesc(film->gif, film->width, film->height, 8, 0, NULL) == GIF_OK &&
           EGifPutExtensionLeader(film->gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
           EGifPutExtensionBlock(film->gif, 11, "NETSCAPE2.0") == GIF_OK &&
           EGifPutExtensionBlock(film->gif, sizeof forever, forever) == GIF_OK &&
           EGifPutExtensionTrailer(film->gif) == GIF_OK;
}

static void film_free(struct film *film)
{
    view_palette_close(film->palette);
    free(film->before);
    free(film->indices);
    free(film);
}

static enum fa_status film_open(const char *path, int width, int height, int fps, void **state,
                                struct fa_error *error)
{
    size_t n = (size_t)width * (size_t)height;
    int cause = 0;
    enum fa_status status;
    struct film *film = calloc(1, sizeof *film);
    if (!film)
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for a film", path);
    film->width = width;
    film->height = height;
    film->fps = fps > FPS_MOST ? FPS_MOST : fps;
    film->before = malloc(n * sizeof *film->before);
    film->indices = malloc(n);
    film->palette = view_palette_open();
    if (!film->before || !film->indices || !film->palette) {
        film_free(film);
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for a film", path);
    }
    status = view_part_open(&film->part, path, error);
    if (status == FA_OK) {
        film->gif = EGifOpen(film->part.stream, write_bytes, &cause);
        if (!film->gif || !write_head(film))
            status = gif_failed(film, error);
        if (status != FA_OK) {
            if (film->gif)
                EGifCloseFile(film->gif, &cause);
            view_part_close(&film->part, status, NULL);
        }
    }
    if (status == FA_OK)
        *state = film;
    else
        film_free(film);
    return status;
}

static uint32_t pixel_at(const struct view_picture *picture, int x, int y)
{
    const uint8_t *p = picture->pixels + (size_t)y * (size_t)picture->pitch + 4 * (size_t)x;
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static uint32_t *before_at(struct film *film, int x, int y)
{
    return &film->before[(size_t)y * (size_t)film->width + (size_t)x];
}

/* The smallest rectangle with all that differs from the picture before; of the first picture, all.
 * */
static struct part_of_picture find_change(struct film *film, const struct view_picture *picture)
{
    struct part_of_picture all = {0, 0, film->width, film->height};
    struct part_of_picture part = {film->width, film->height, 0, 0};
    if (film->pictures == 0)
        return all;
    for (int y = 0; y < film->height; y++)
        for (int x = 0; x < film->width; x++)
            if (pixel_at(picture, x, y) != *before_at(film, x, y)) {
                part.left = x < part.left ? x : part.left;
                part.right = x >= part.right ? x + 1 : part.right;
                part.top = y < part.top ? y : part.top;
                part.bottom = y + 1;
            }
    return part;
}

static bool has_changed(struct film *film, const struct view_picture *picture, int x, int y)
{
    return film->pictures == 0 || pixel_at(picture, x, y) != *before_at(film, x, y);
}

/* The part as indices into a palette made of what changed in it. */
static void index_part(struct film *film, const struct view_picture *picture,
                       struct part_of_picture part)
{
    uint8_t *index = film->indices;
    view_palette_clear(film->palette);
    for (int y = part.top; y < part.bottom; y++)
        for (int x = part.left; x < part.right; x++)
            if (has_changed(film, picture, x, y))
                view_palette_count(film->palette, pixel_at(picture, x, y));
    view_palette_choose(film->palette);
    for (int y = part.top; y < part.bottom; y++)
        for (int x = part.left; x < part.right; x++) {
            uint32_t pixel = pixel_at(picture, x, y);
            *index++ = has_changed(film, picture, x, y) ? view_palette_find(film->palette, pixel)
                                                        : VIEW_PALETTE_NONE;
            *before_at(film, x, y) = pixel;
        }
    film->part_shown = part;
}

static ColorMapObject *make_map(const struct view_palette *palette)
{
    GifColorType colours[VIEW_PALETTE_SIZE] = {{0}};
    for (int i = 0; i < VIEW_PALETTE_SIZE; i++) {
        uint32_t colour = view_palette_colour(palette, i);
        colours[i] = (GifColorType){(GifByteType)(colour >> 16), (GifByteType)(colour >> 8),
                                    (GifByteType)colour};
    }
    return GifMakeMapObject(1 << GifBitSize(view_palette_size(palette)), colours);
}

/* Writes the picture that waits, now that its delay is known. */
static bool write_waiting(struct film *film)
{
    const struct part_of_picture *part = &film->part_shown;
    int width = part->right - part->left, height = part->bottom - part->top;
    long delay = film->delay < DELAY_MOST ? film->delay : DELAY_MOST;
    GraphicsControlBlock block = {.DisposalMode = DISPOSE_DO_NOT,
                                  .DelayTime = (int)delay,
                                  .TransparentColor = VIEW_PALETTE_NONE};
    GifByteType control[4];
    if (!film->waiting)
        return true;
    film->waiting = false;
    ColorMapObject *map = make_map(film->palette);
    int n = (int)EGifGCBToExtension(&block, control);
    bool good =
        map && EGifPutExtension(film->gif, GRAPHICS_EXT_FUNC_CODE, n, control) == GIF_OK &&
        EGifPutImageDesc(film->gif, part->left, part->top, width, height, false, map) == GIF_OK;
    for (int y = 0; y < height && good; y++)
        good = EGifPutLine(film->gif, film->indices + (size_t)y * (size_t)width, width) == GIF_OK;
    if (map)
        GifFreeMapObject(map);
    return good;
}

static enum fa_status film_add(void *state, const struct view_picture *picture,
                               struct fa_error *error)
{
    struct film *film = state;
    struct part_of_picture part = find_change(film, picture);
    long end = (100 * (film->pictures + 1) + film->fps / 2) / film->fps, delay = end - film->spent;
    if (part.left < part.right) {
        if (!write_waiting(film))
            return gif_failed(film, error);
        index_part(film, picture, part);
        film->waiting = true;
        film->delay = 0;
    }
    film->delay += delay;
    film->spent = end;
    film->pictures++;
    return FA_OK;
}

static enum fa_status film_close(void *state, bool cancel, struct fa_error *error)
{
    struct film *film = state;
    enum fa_status status = cancel ? FA_CANCELLED : FA_OK;
    int cause = 0;
    if (!cancel && film->pictures == 0)
        status = fa_fail(error, FA_BAD_ARGUMENT, "%s: a film of no picture", film->part.path);
    if (status == FA_OK && !write_waiting(film))
        status = gif_failed(film, error);
    if (EGifCloseFile(film->gif, &cause) != GIF_OK && status == FA_OK)
        status = gif_failed(film, error);
    status = view_part_close(&film->part, status, error);
    film_free(film);
    return cancel ? FA_OK : status;
}

const struct view_movie_kind view_movie_gif = {film_open, film_add, film_close};

#else

static enum fa_status film_open(const char *path, int width, int height, int fps, void **state,
                                struct fa_error *error)
{
    (void)width;
    (void)height;
    (void)fps;
    (void)state;
    return fa_fail(error, FA_MISSING_PART,
                   "%s: this program was built without giflib: write a .mp4, or build it again "
                   "with libgif-dev installed",
                   path);
}

const struct view_movie_kind view_movie_gif = {film_open, NULL, NULL};

#endif
