#include "visualizer/picture.h"

#include <stdio.h>
#ifdef FLASHLAB_HAVE_PNG
#include <png.h>
#endif

#include "visualizer/movie.h"

#ifdef FLASHLAB_HAVE_PNG

/* libpng reports by these two; the words of the first failure are kept. */
static void png_failed(png_structp png, png_const_charp words)
{
    char *kept = png_get_error_ptr(png);
    snprintf(kept, 128, "%s", words);
    png_longjmp(png, 1);
}

static void png_warned(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

static void write_rows(png_structp png, png_infop info, const struct view_picture *picture,
                       const char *caption)
{
    png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 6);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    if (caption) {
        char key[] = "Description", *words = (char *)caption; /* libpng only reads it */
        png_text text = {.compression = PNG_ITXT_COMPRESSION_NONE, .key = key, .text = words};
        png_set_text(png, info, &text, 1);
    }
    png_write_info(png, info);
    png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (int y = 0; y < picture->height; y++)
        png_write_row(png, picture->pixels + (size_t)y * (size_t)picture->pitch);
    png_write_end(png, info);
}

static enum fa_status write_png(FILE *stream, const char *path, const struct view_picture *picture,
                                const char *caption, struct fa_error *error)
{
    char words[128] = "no memory";
    png_infop info = NULL;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, words, png_failed, png_warned);
    if (!png)
        return fa_fail(error, FA_NO_MEMORY, "%s: libpng: %s", path, words);
    png_infop *made = &info;
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, made);
        return fa_fail(error, FA_IO, "%s: libpng: %s", path, words);
    }
    *made = png_create_info_struct(png);
    if (!*made)
        png_error(png, "no memory");
    png_init_io(png, stream);
    write_rows(png, *made, picture, caption);
    png_destroy_write_struct(&png, made);
    return FA_OK;
}

enum fa_status view_png_write(const char *path, const struct view_picture *picture,
                              const char *caption, struct fa_error *error)
{
    struct view_part part;
    enum fa_status status = view_size_check(picture->width, picture->height, error);
    if (status != FA_OK)
        return status;
    status = view_part_open(&part, path, error);
    if (status == FA_OK)
        status = write_png(part.stream, path, picture, caption, error);
    return view_part_close(&part, status, error);
}

#else

enum fa_status view_png_write(const char *path, const struct view_picture *picture,
                              const char *caption, struct fa_error *error)
{
    (void)picture;
    (void)caption;
    return fa_fail(error, FA_MISSING_PART, "%s: this program was built without libpng", path);
}

#endif
