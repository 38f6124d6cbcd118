/*
 * A draw list into pixels, item by item: what the canvas shows in a window and saves in a picture.
 */
#ifndef VIEW_PAINT_H
#define VIEW_PAINT_H

#include "visualizer/draw.h"
#include "visualizer/raster.h"
#include "visualizer/typeset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws the list over the theme's bg, layer by layer, `scale` pixels a logical one. */
void view_paint(struct view_raster *raster, const struct view_draw *draw, float scale,
                struct view_typesetter *typesetter);

#ifdef __cplusplus
}
#endif
#endif
