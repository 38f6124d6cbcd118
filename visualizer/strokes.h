/*
 * The built-in face's glyphs as pixels: strokes with round ends, whose level parts are moved to
 * whole pixels, so that small sizes are as crisp as a hinted font's.
 */
#ifndef VIEW_STROKES_H
#define VIEW_STROKES_H

#include "visualizer/face.h"
#include "visualizer/raster.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the glyph to the mask, its origin x pixels right of the base line's start. */
void view_strokes_draw(struct view_mask *mask, const struct view_glyph *glyph,
                       enum view_style style, float size, float x);

#ifdef __cplusplus
}
#endif
#endif
