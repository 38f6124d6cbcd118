/*
 * Texts as masks: by a font of the system where its owner brings one, and by the built-in face's
 * strokes for all that this font lacks. What was measured or drawn lately is kept, within bounds,
 * since nearly all texts of a picture are those of the picture before.
 *
 * Sizes and widths are pixels here.
 */
#ifndef VIEW_TYPESET_H
#define VIEW_TYPESET_H

#include "reference/status.h"
#include "visualizer/face.h"
#include "visualizer/raster.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_font_source {
    /* Whether `style` has the code point itself. */
    bool (*has)(void *context, enum view_style style, float size, uint32_t code);
    /* The width of a text, all of whose code points it has; and with a mask, its picture, whose
     * cover is malloc's. Below 0: it failed. */
    float (*set)(void *context, enum view_style style, float size, const char *text,
                 struct view_mask *mask);
    void *context;
};

struct view_typesetter;

/* The source is copied; NULL: the built-in face alone. */
enum fa_status view_typesetter_open(const struct view_font_source *source,
                                    struct view_typesetter **typesetter, struct fa_error *error);
void view_typesetter_close(struct view_typesetter *typesetter);

/* Forgets all texts: the source's fonts have changed. */
void view_typesetter_forget(struct view_typesetter *typesetter);

/* Of the first n bytes of text, in pixels. */
float view_typesetter_width(struct view_typesetter *typesetter, enum view_style style, float size,
                            const char *text, size_t n);

/* The text's mask, which holds until the next call; NULL for none: no memory, or nothing to see. */
const struct view_mask *view_typesetter_mask(struct view_typesetter *typesetter,
                                             enum view_style style, float size, const char *text);

#ifdef __cplusplus
}
#endif
#endif
