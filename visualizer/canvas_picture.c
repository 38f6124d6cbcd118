/* The part of the canvas that needs no window: pictures in memory. */
#include "visualizer/canvas.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "visualizer/canvas_parts.h"

static float measure(void *context, enum view_style style, float size, const char *text, size_t n)
{
    struct view_canvas *canvas = context;
    return view_typesetter_width(canvas->typesetter, style, size * canvas->scale, text, n) /
           canvas->scale;
}

enum fa_status view_canvas_resize(struct view_canvas *canvas, int width, int height, float scale,
                                  struct fa_error *error)
{
    if (width < 1 || height < 1 || width > VIEW_SIDE_MOST || height > VIEW_SIDE_MOST)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a picture of %d x %d pixels: expected 1 to %d each way", width, height,
                       VIEW_SIDE_MOST);
    if (!(scale >= 0.5f && scale <= 4))
        return fa_fail(error, FA_BAD_ARGUMENT, "a scale of %g: expected 0.5 to 4", (double)scale);
    if (width != canvas->raster.width || height != canvas->raster.height) {
        uint32_t *pixels = calloc((size_t)width * (size_t)height, sizeof *pixels);
        if (!pixels)
            return fa_fail(error, FA_NO_MEMORY, "no memory for %d x %d pixels", width, height);
        free(canvas->raster.pixels);
        free(canvas->picture);
        canvas->picture = NULL;
        canvas->raster = (struct view_raster){width, height, pixels, {0, 0, width, height}};
    }
    if (scale != canvas->scale)
        view_typesetter_forget(canvas->typesetter);
    canvas->scale = scale;
    return FA_OK;
}

enum fa_status view_canvas_open(int width, int height, float scale, enum view_font font,
                                struct view_canvas **canvas, struct fa_error *error)
{
    struct view_font_source source = {0};
    struct view_canvas *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a canvas");
    if (font == VIEW_FONT_SYSTEM)
        view_fonts_open(&made->fonts, &source);
    made->face = (struct view_face){measure, made};
    enum fa_status status = view_typesetter_open(&source, &made->typesetter, error);
    if (status == FA_OK)
        status = view_canvas_resize(made, width, height, scale, error);
    if (status == FA_OK)
        *canvas = made;
    else
        view_canvas_close(made);
    return status;
}

void view_canvas_close(struct view_canvas *canvas)
{
    if (!canvas)
        return;
    view_typesetter_close(canvas->typesetter);
    view_fonts_close(canvas->fonts);
    free(canvas->raster.pixels);
    free(canvas->picture);
    free(canvas);
}

const struct view_face *view_canvas_face(const struct view_canvas *canvas)
{
    return &canvas->face;
}

enum fa_status view_canvas_draw(struct view_canvas *canvas, const struct view_draw *draw,
                                struct fa_error *error)
{
    if (draw->failed)
        return fa_fail(error, FA_NO_MEMORY, "no memory for all that is to be drawn");
    view_paint(&canvas->raster, draw, canvas->scale, canvas->typesetter);
    return FA_OK;
}

enum fa_status view_canvas_picture(struct view_canvas *canvas, struct view_picture *picture,
                                   struct fa_error *error)
{
    size_t n = (size_t)canvas->raster.width * (size_t)canvas->raster.height;
    if (!canvas->picture)
        canvas->picture = malloc(4 * n);
    if (!canvas->picture)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a picture of %d x %d pixels",
                       canvas->raster.width, canvas->raster.height);
    for (size_t i = 0; i < n; i++) {
        uint32_t pixel = canvas->raster.pixels[i];
        uint8_t *to = canvas->picture + 4 * i;
        to[0] = (uint8_t)(pixel >> 16);
        to[1] = (uint8_t)(pixel >> 8);
        to[2] = (uint8_t)pixel;
        to[3] = 255;
    }
    *picture = (struct view_picture){canvas->raster.width, canvas->raster.height,
                                     4 * canvas->raster.width, canvas->picture};
    return FA_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double view_canvas_time(struct view_canvas *canvas, const struct view_draw *draw, int times)
{
    double spent[101];
    int n = times < 1 ? 1 : times > 101 ? 101 : times;
    for (int i = 0; i < n; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        view_paint(&canvas->raster, draw, canvas->scale, canvas->typesetter);
        clock_gettime(CLOCK_MONOTONIC, &end);
        spent[i] = (double)(end.tv_sec - start.tv_sec) * 1e3 +
                   (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
    }
    qsort(spent, (size_t)n, sizeof *spent, by_size);
    return spent[n / 2];
}
