/*
 * What the scene must know of a typeface: how wide a text is. The window measures with the font
 * that it draws with; without one, and for pictures that must be the same everywhere, with the
 * built-in face.
 *
 * All texts are UTF-8. A broken byte counts and is drawn as the replacement sign.
 */
#ifndef VIEW_FACE_H
#define VIEW_FACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum view_style { VIEW_SANS, VIEW_BOLD, VIEW_MONO, VIEW_MONO_BOLD, VIEW_STYLES };

struct view_face {
    /* Width in logical pixels of the first n bytes of text at a size in logical pixels. */
    float (*width)(void *context, enum view_style style, float size, const char *text, size_t n);
    void *context;
};

/* Height of one line: 1.4 times the size, rounded. A text is drawn with its line box's top left at
 * (x, y): its baseline lies at y + view_baseline(size). */
float view_line_height(float size);
float view_baseline(float size);

/* The next code point of text[0 .. n), and how many bytes it took (0 at the end). */
uint32_t view_utf8_next(const char *text, size_t n, size_t *taken);

/*
 * The built-in face: strokes of our own, drawn at any size. A glyph is a list of poly-lines and
 * curves on a grid of 100 an em where the baseline is y = 0, y grows upwards, capitals are 73 high
 * and small letters 54; descenders go down to -21. The points are the middle of a stroke, so
 * capitals run from 4 to 68.
 */
enum view_pen {
    VIEW_PEN_MOVE, /* move here without a line */
    VIEW_PEN_LINE, /* a line from the point before to here, or the end of a curve */
    VIEW_PEN_CURVE /* the control of a quadratic curve from the point before to the next */
};

struct view_stroke {
    int8_t x, y;
    int8_t pen; /* enum view_pen */
};

struct view_glyph {
    uint32_t code;
    int8_t advance; /* of the plain style: see view_glyph_advance */
    uint8_t n;
    const struct view_stroke *strokes;
};

enum { VIEW_EM = 100, VIEW_MONO_ADVANCE = 60 };

/* The glyph of a code point; the replacement sign's where there is none, never NULL. */
const struct view_glyph *view_glyph_find(uint32_t code);

/* Whether the built-in face has the code point itself. */
bool view_glyph_has(uint32_t code);

/* Width of a stroke of the built-in face in grid units: 9, bold 15. */
float view_stroke_width(enum view_style style);

/* A glyph's advance in grid units in a style; and how its points are placed in it: x of the grid
 * becomes left + x * stretch. Mono glyphs that are too wide are narrowed, and all are centred. */
float view_glyph_advance(const struct view_glyph *glyph, enum view_style style);
void view_glyph_fit(const struct view_glyph *glyph, enum view_style style, float *left,
                    float *stretch);

extern const struct view_face view_builtin_face;

#ifdef __cplusplus
}
#endif
#endif
