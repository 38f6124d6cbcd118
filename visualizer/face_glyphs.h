/*
 * The table of the built-in face: ascending by code point, ended by the replacement sign.
 */
#ifndef VIEW_FACE_GLYPHS_H
#define VIEW_FACE_GLYPHS_H

#include "visualizer/face.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct view_glyph view_glyphs[];
extern const int view_glyph_count;

#ifdef __cplusplus
}
#endif
#endif
