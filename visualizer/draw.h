/*
 * The draw list: what a frame looks like, as data. The scene writes it, the canvas (canvas.h) draws
 * it, tests read it: every shape has its box and every text its words, so that a picture can be
 * checked without a pixel.
 *
 * Units: logical pixels, origin top left, y down; the canvas multiplies by its scale. Items are
 * drawn in order. Three layers share the list: what belongs to a later layer is drawn over all of
 * the earlier.
 */
#ifndef VIEW_DRAW_H
#define VIEW_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "visualizer/face.h"
#include "visualizer/theme.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_box {
    float x, y, w, h;
};

static inline struct view_box view_box_make(float x, float y, float w, float h)
{
    return (struct view_box){x, y, w, h};
}

/* Shrunk by dx on the left and right, dy above and below; never below 0 wide or high. */
struct view_box view_box_inset(struct view_box box, float dx, float dy);
bool view_box_has(struct view_box box, float x, float y);
bool view_box_meets(struct view_box a, struct view_box b); /* more than an edge in common */

/* Cuts a piece off and returns it; *box keeps the rest. Never more than there is. */
struct view_box view_cut_left(struct view_box *box, float width);
struct view_box view_cut_right(struct view_box *box, float width);
struct view_box view_cut_top(struct view_box *box, float height);
struct view_box view_cut_bottom(struct view_box *box, float height);

enum view_layer { VIEW_BASE, VIEW_FLIGHT, VIEW_POPUP, VIEW_LAYERS };

enum view_item_kind {
    VIEW_FILL,     /* a rectangle, its corners rounded by `radius` */
    VIEW_FRAME,    /* its outline, `width` thick, inside the box; dashes of `dash` on, `gap` off; dash 0: solid */
    VIEW_HATCH,    /* a pattern over the box */
    VIEW_LINE,     /* from (x, y) to (x + w, y + h), where w and h may be negative; `width` thick, dashes as a frame */
    VIEW_TRIANGLE, /* filled: three points in `points` */
    VIEW_IMAGE,    /* columns x rows cells of colour, each a rectangle of the box */
    VIEW_TEXT,     /* one line; the box is its line box */
    VIEW_CLIP      /* what follows in this layer is cut to the box, until the next; w < 0: no cut */
};

struct view_item {
    enum view_item_kind kind;
    enum view_layer layer;
    struct view_box box;
    struct view_color color;
    float radius, width, dash, gap;
    float points[6];
    enum view_pattern pattern;
    int columns, rows;              /* of an image */
    const struct view_color *cells; /* rows x columns, row-major; in the list's memory */
    const char *text;               /* in the list's memory */
    enum view_style style;
    float size;
};

/* What a click or a key can do; `value` says which. state.h carries them out. */
enum view_action {
    VIEW_NOTHING,      /* swallows a click */
    VIEW_PLAY,         /* play or pause */
    VIEW_GO,           /* to the position: value events have landed */
    VIEW_STEP_EVENT,   /* value -1 or 1 */
    VIEW_STEP_TILE,
    VIEW_STEP_ROW,     /* an outer iteration */
    VIEW_STEP_PHASE,
    VIEW_HOME,
    VIEW_END,
    VIEW_STEP_BY,      /* what the step buttons and play use: 0 event, 1 tile, 2 row, 3 phase */
    VIEW_SPEED,        /* value: enum view_speed; -1: the list opens or closes */
    VIEW_SCRUB,        /* the track: the position under the pointer, while it is held */
    VIEW_PANEL,        /* value: enum view_panel; of the second panel's tabs VIEW_SECOND_PANEL more; -1: none,
                        * the panels close */
    VIEW_STAGE,        /* value: enum view_stage */
    VIEW_CHIP,         /* value: index of the run's option, which is opened for editing */
    VIEW_CHIP_VALUE,   /* value: index of the choice in the open list */
    VIEW_COMPARE_CLOCK, /* value: enum view_clock_kind */
    VIEW_THEME,
    VIEW_SAVE,         /* a picture of this frame */
    VIEW_HELP,         /* the key sheet opens or closes */
    VIEW_UNITS,        /* elements or bytes */
    VIEW_HEADS,        /* one head or all */
    VIEW_ZOOM,         /* value -1, 1; 0: fit */
    VIEW_CODE_TEXT,    /* the paper's steps (0) or our C (1) */
    VIEW_GO_TO,        /* the field for an event or a tile opens */
    VIEW_BLOCK,        /* the mask editor's tile: row * columns + column is toggled */
    VIEW_TILES_DRAG,   /* held: the tiles under the pointer; by a key: the option that they are */
    VIEW_CELL,         /* a cell is chosen: see view_cell_pack in frame.h */
    VIEW_RETRY,        /* the one button of an error: value: enum view_remedy */
    VIEW_AXIS,         /* of the plot: value: enum view_plot_axis */
    VIEW_CONTENTS,     /* the stages that there are */
    VIEW_CLOSE,        /* what is open closes */
    VIEW_PAGE,         /* value: enum view_page of lesson_view.h */
    VIEW_LESSON_OPEN,  /* value: number of the lesson, which opens where it was left */
    VIEW_LESSON_START, /* the primary button: the same */
    VIEW_LESSON_KNOWN, /* "I know attention": lesson 0 counts as skipped, and the next one opens */
    VIEW_LESSON_NEXT,  /* the next step, or what comes next in this one; at the end the next lesson */
    VIEW_LESSON_BACK,  /* the step before */
    VIEW_LESSON_STEP,  /* value: a step of the open lesson, from 0; n_steps: its end */
    VIEW_LESSON_CHOOSE, /* value: a choice of the question, from 0 */
    VIEW_LESSON_SLIDER, /* held: the value under the pointer on the hit's box, which is the whole scale */
    VIEW_LESSON_FIELD, /* the answer field takes all that is typed, till Esc or Enter */
    VIEW_LESSON_CHECK,
    VIEW_LESSON_AGAIN, /* try once more */
    VIEW_LESSON_HINT,
    VIEW_LESSON_SHOW,  /* show me */
    VIEW_LESSON_RUN_IT, /* what a break changes, by its button */
    VIEW_LESSON_RETURN, /* back to the lesson's run */
    VIEW_LESSON_RESET, /* of what is kept: value 0 asks, 1 does it, -1 does not */
    VIEW_LESSON_TRACK, /* value: index in view_lesson_tracks; -1: all lessons */
    VIEW_LESSON_SEARCH, /* the field takes what is typed (1), or is emptied and left (0) */
    VIEW_EXPLORE,      /* the stage without a lesson */
    VIEW_RACE_GUESS,   /* the slider: the value under the pointer, while it is held */
    VIEW_RACE_ON,      /* the race's next phase */
    VIEW_RACE_AGAIN,
    VIEW_ACTIONS
};

/* A place that takes clicks. Later ones lie over earlier ones. At least 28 x 28 where it is a
 * control of its own; tiles and cells are as small as they are. */
struct view_hit {
    struct view_box box;
    enum view_layer layer;
    enum view_action action;
    int64_t value;
    const char *label; /* what it does, in words, for a tooltip, Tab order and tests; NULL: no stop for Tab */
    bool off;          /* shown, but does nothing now */
};

struct view_draw {
    const struct view_face *face;
    const struct view_theme *theme;
    enum view_layer layer; /* of what is added next */
    struct view_item *items;
    size_t n_items, item_capacity;
    struct view_hit *hits;
    size_t n_hits, hit_capacity;
    struct view_memory_block *memory; /* texts and images */
    float scroll_most; /* how far the panels' rows can be scrolled: they are that much higher than shown */
    bool failed; /* no memory: the list is short, and says so here */
};

void view_draw_open(struct view_draw *draw, const struct view_face *face,
                    const struct view_theme *theme);
void view_draw_clear(struct view_draw *draw); /* empty again, memory kept */
void view_draw_close(struct view_draw *draw);

void view_fill(struct view_draw *draw, struct view_box box, struct view_color color);
void view_fill_round(struct view_draw *draw, struct view_box box, float radius,
                     struct view_color color);
void view_frame_box(struct view_draw *draw, struct view_box box, float radius, float width,
                    struct view_color color);
void view_frame_dashed(struct view_draw *draw, struct view_box box, float width, float dash,
                       float gap, struct view_color color);
void view_hatch(struct view_draw *draw, struct view_box box, enum view_pattern pattern,
                struct view_color color);
void view_line(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
               struct view_color color);
void view_line_dashed(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
                      float dash, float gap, struct view_color color);
void view_triangle(struct view_draw *draw, float x0, float y0, float x1, float y1, float x2,
                   float y2, struct view_color color);
/* A line with a head at its end. */
void view_arrow(struct view_draw *draw, float x0, float y0, float x1, float y1, float width,
                struct view_color color);
/* Room for columns x rows colours that the caller fills in; NULL without memory or for 0 cells. */
struct view_color *view_image(struct view_draw *draw, struct view_box box, int columns, int rows);
void view_clip(struct view_draw *draw, struct view_box box);
void view_clip_none(struct view_draw *draw);

enum view_align { VIEW_LEFT, VIEW_CENTRE, VIEW_RIGHT };

struct view_type {
    enum view_style style;
    float size;
    struct view_color color;
};

static inline struct view_type view_type_make(enum view_style style, float size,
                                              struct view_color color)
{
    return (struct view_type){style, size, color};
}

float view_text_width(const struct view_draw *draw, struct view_type type, const char *text);

/* One line, from printf's format, at x (its left, middle or right edge) and y (the top of its line
 * box). Returns its width. Nothing is cut: the caller has made sure that it fits (view_text_fits). */
#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
float view_text(struct view_draw *draw, float x, float y, enum view_align align,
                struct view_type type, const char *format, ...);

/* The same, vertically in the middle of the box and aligned in it, but only if it fits its width:
 * else nothing is drawn and the answer is false. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
bool view_text_in(struct view_draw *draw, struct view_box box, enum view_align align,
                  struct view_type type, const char *format, ...);

/* Words wrapped at spaces (and at newlines) into the box's width, from its top, as many whole lines
 * as its height holds. Returns the height used. *complete (may be NULL): whether all of it was
 * drawn; if not, nothing is (a text is never cut). `hanging`: indent of all lines but a paragraph's
 * first. */
float view_text_wrapped(struct view_draw *draw, struct view_box box, struct view_type type,
                        float hanging, const char *text, bool *complete);

/* How many bytes of the text make its first line in this width: what view_text_wrapped wraps by. A
 * caller that draws line by line passes over spaces, or one newline, after them. */
size_t view_text_line(const struct view_draw *draw, float width, struct view_type type,
                      const char *text);

/* The height that view_text_wrapped would use in this width. */
float view_text_height(const struct view_draw *draw, float width, struct view_type type,
                       float hanging, const char *text);

void view_hit(struct view_draw *draw, struct view_box box, enum view_action action, int64_t value,
              bool off, const char *label);

/* Moves all that is in the list: a part of a frame becomes a picture of its own. */
void view_draw_shift(struct view_draw *draw, float dx, float dy);

/* The topmost hit at a point, NULL where there is none. */
const struct view_hit *view_hit_at(const struct view_draw *draw, float x, float y);

#ifdef __cplusplus
}
#endif
#endif
