/*
 * Colours, sizes of type and the look of each tensor, in both themes.
 *
 * Two rules: chrome is grey, colour is data; no meaning by colour alone, so each tensor has a
 * letter and a pattern too. Every text colour here has a contrast of at least 4.5 to 1 on bg, panel
 * and raised of its theme, and every border that is a control's at least 3 to 1.
 */
#ifndef VIEW_THEME_H
#define VIEW_THEME_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_color {
    uint8_t r, g, b, a; /* not premultiplied; a 255 is opaque */
};

/* What fills a tensor's bars, lanes and legend beside its colour, in steps of 6 pixels. */
enum view_pattern {
    VIEW_PLAIN,    /* Q: none */
    VIEW_UPRIGHT,  /* K: vertical bars */
    VIEW_LEVEL,    /* V: horizontal bars */
    VIEW_DOTS,     /* S, dS */
    VIEW_PLUS,     /* P, dP */
    VIEW_FALLING,  /* O: \ */
    VIEW_RISING,   /* statistics, masks, bias: / ; also a stale copy */
    VIEW_CROSSES   /* bad */
};

struct view_theme {
    const char *name; /* "dark", "light" */
    bool dark;
    struct view_color bg, panel, raised, hair, edge, text, text2, bad, bad_fill;
};

extern const struct view_theme view_dark, view_light;

/* A tensor as it is drawn. A gradient has its tensor's colour and a double frame. */
struct view_look {
    const char *letter;     /* "Q", "dK", "ℓ" (UTF-8), "LSE" */
    struct view_color fill; /* full strength */
    struct view_color line; /* its frame and its label: readable as text */
    enum view_pattern pattern;
    bool gradient;
};

struct view_look view_tensor_look(const struct view_theme *theme, enum fa_tensor_id id);

/* (1 - t) a + t b by channel, rounded; t in 0..1. The result is opaque if both are. */
struct view_color view_mix(struct view_color a, struct view_color b, double t);
/* alpha in 0..1 times its own */
struct view_color view_fade(struct view_color color, double alpha);

/* A value's shade: panel towards the tensor's fill by .12 + .88 |value| / most, in 8 steps. most 0
 * gives the lightest. Not for NaN. */
struct view_color view_shade(const struct view_theme *theme, enum fa_tensor_id id, double value,
                             double most);

/* Pure black or white, whichever contrasts more with the opaque color. */
struct view_color view_ink(struct view_color color);

/* WCAG 2's contrast ratio of two opaque colours, 1 to 21. */
double view_contrast(struct view_color a, struct view_color b);

/* Sizes of type in logical pixels; the height of a line is 1.4 times that, rounded. */
enum view_type_size {
    VIEW_SIZE_BIG = 28,     /* the one big number of a view */
    VIEW_SIZE_TITLE = 20,
    VIEW_SIZE_HEADING = 16, /* also the sentence */
    VIEW_SIZE_BODY = 14,
    VIEW_SIZE_CONTROL = 13, /* also code */
    VIEW_SIZE_LABEL = 12,
    VIEW_SIZE_CELL = 11     /* numbers in cells; nothing is smaller */
};

#ifdef __cplusplus
}
#endif
#endif
