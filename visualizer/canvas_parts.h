/*
 * What the canvas's sources share: its pixels, and the fonts of the system.
 */
#ifndef VIEW_CANVAS_PARTS_H
#define VIEW_CANVAS_PARTS_H

#include "visualizer/canvas.h"
#include "visualizer/paint.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIEW_SIDE_MOST = 16384, VIEW_FONT_PATH = 1024 };

struct view_fonts;

struct view_canvas {
    struct view_raster raster;
    float scale;
    uint8_t *picture; /* r, g, b, 255 of what was drawn last, made when asked for */
    struct view_typesetter *typesetter;
    struct view_fonts *fonts; /* NULL: the built-in face alone */
    struct view_face face;
};

/* New pixels of another size or scale, all black. On refusal nothing has changed. */
enum fa_status view_canvas_resize(struct view_canvas *canvas, int width, int height, float scale,
                                  struct fa_error *error);

/* The system's DejaVu as a source of texts. False: it cannot be had. (canvas.c) */
bool view_fonts_open(struct view_fonts **fonts, struct view_font_source *source);
void view_fonts_close(struct view_fonts *fonts);

/*
 * Where a style's font may lie: the i-th place of several, from 0; false past the last, path ""
 * where that place has none. The folder that FLASHLAB_FONTS names, and then no other; else the
 * usual folders and fontconfig's answer, which takes longest. (font_files.c)
 */
bool view_font_file(enum view_style style, int i, char path[VIEW_FONT_PATH]);

#ifdef __cplusplus
}
#endif
#endif
