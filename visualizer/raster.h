/*
 * Shapes into an array of pixels, with exact coverage at their edges: no SDL, no state, the same
 * pixels everywhere. Coordinates are pixels, y down; the pixel (0, 0) is the square from 0 to 1.
 *
 * Whole areas have whole edges, so that fills, frames and upright lines are never blurred; round
 * corners, slanting lines and triangles are anti-aliased. All of it is cut to the raster's clip.
 */
#ifndef VIEW_RASTER_H
#define VIEW_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "visualizer/theme.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x0 <= x < x1, y0 <= y < y1. */
struct view_area {
    int x0, y0, x1, y1;
};

struct view_raster {
    int width, height;
    uint32_t *pixels; /* 0x00rrggbb, `width` of them a row */
    struct view_area clip;
};

/* How much of each pixel a text covers: 255 all of it. */
struct view_mask {
    int width, height;
    int left, top; /* of its first pixel, from the start of the text's base line; y down */
    uint8_t *cover;
};

/* The clip becomes the area where it is inside the raster. */
void view_raster_clip(struct view_raster *raster, struct view_area area);

void view_raster_fill(struct view_raster *raster, struct view_area area, struct view_color color);
void view_raster_fill_round(struct view_raster *raster, struct view_area area, float radius,
                            struct view_color color);

/* The outline, `width` wide, inside the area. */
void view_raster_frame(struct view_raster *raster, struct view_area area, float radius, int width,
                       struct view_color color);

/* With blunt ends. One that is upright or level gets whole edges. */
void view_raster_line(struct view_raster *raster, float x0, float y0, float x1, float y1,
                      float width, struct view_color color);

/* Each pixel becomes (1 - share) of itself and share, 0 to 1, of the one in `old`, which has as many. */
void view_raster_mix(struct view_raster *raster, const uint32_t *old, double share);

void view_raster_triangle(struct view_raster *raster, const float points[6],
                          struct view_color color);

/* The pattern from the area's corner on; `scale` pixels a logical one. */
void view_raster_hatch(struct view_raster *raster, struct view_area area,
                       enum view_pattern pattern, float scale, struct view_color color);

/* Columns x rows cells, row-major, stretched over the area: each pixel has the cell of its middle.
 * */
void view_raster_image(struct view_raster *raster, struct view_area area, int columns, int rows,
                       const struct view_color *cells);

/* The mask in a colour, its text's base line starting at (x, y). */
void view_raster_mask(struct view_raster *raster, const struct view_mask *mask, int x, int y,
                      struct view_color color);

#ifdef __cplusplus
}
#endif
#endif
