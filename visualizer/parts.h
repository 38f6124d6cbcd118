/*
 * The parts that every scene is made of: tiles in their states, buttons, chips, plates. One look
 * each.
 */
#ifndef VIEW_PARTS_H
#define VIEW_PARTS_H

#include "simulator/digits.h"
#include "visualizer/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_tile_state {
    VIEW_TILE_REST = 0,          /* fill at 45 % */
    VIEW_TILE_FULL = 1 << 0,     /* fill at full strength */
    VIEW_TILE_RING = 1 << 1,     /* in use: a ring 2 thick in text, 3 outside */
    VIEW_TILE_GHOST = 1 << 2,    /* never stored: no fill, line dashed 5 4 */
    VIEW_TILE_AHEAD = 1 << 3,    /* not yet written: no fill, line dashed 2 3 */
    VIEW_TILE_STALE = 1 << 4,    /* hatched / */
    VIEW_TILE_USED = 1 << 5,     /* used and dropped: a centre square of 28 %, below 12 pixels a tint of 30 % */
    VIEW_TILE_SKIPPED = 1 << 6,  /* x */
    VIEW_TILE_CUT = 1 << 7,      /* a triangle in its upper right half */
    VIEW_TILE_AGAIN = 1 << 8,    /* recomputed: a turning arrow */
    VIEW_TILE_BAD = 1 << 9       /* bad frame and crosses */
};

/* A tile as one square, in states (bits of view_tile_state). Nothing smaller than 2 pixels is
 * framed. */
void view_tile(struct view_draw *draw, struct view_box box, enum fa_tensor_id id, unsigned states);

/* The ring alone, `distance` outside the box. */
void view_ring(struct view_draw *draw, struct view_box box, float distance, float width,
               struct view_color color);

/* A tensor's frame: one line, of a gradient two. */
void view_tensor_frame(struct view_draw *draw, struct view_box box, enum fa_tensor_id id);

/* Its fill with its pattern: bars, lanes, legend. Its letter, if it fits, stands on a plain plate. */
void view_tensor_bar(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                     const char *letter);

/* A cell: shade, a cut corner if negative, and its number in four glyphs if the box is at least 30
 * x 16. */
void view_cell_draw(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                    enum view_cell_state state, double value, double most);

/* A value in four glyphs at most: "1.23", "−1.5", "−12", "0.00", "1e6", "NaN", "−∞". */
enum { VIEW_NUMBER_TEXT = 16 };
const char *view_number_short(double value, char text[VIEW_NUMBER_TEXT]);

/* Up to 9 999 999 with thin groups of three ("9 999 999"), above "34.1 million", "1.20 billion". */
enum { VIEW_COUNT_TEXT = SIM_DIGITS_TEXT };
const char *view_count_text(uint64_t count, char text[VIEW_COUNT_TEXT]);
const char *view_count_exact(uint64_t count, char text[VIEW_COUNT_TEXT]);

/* "352", "56.5 KiB": of a capacity, with its unit in the text. */
const char *view_bytes_text(uint64_t bytes, char text[VIEW_COUNT_TEXT]);

/* What counts of a run are in: bytes, or elements of its number format, parts of which count as
 * whole ones. */
struct view_measure {
    uint64_t size;
    const char *name; /* "bytes", "elements" */
};
struct view_measure view_measure_of(const struct view_run *run, bool bytes);
static inline uint64_t view_in_units(struct view_measure unit, uint64_t bytes)
{
    return bytes / unit.size + (bytes % unit.size > 0);
}

/* A measured value: four significant digits, "−∞" and "∞" as such, a real minus. */
const char *view_value_text(double value, char text[VIEW_NUMBER_TEXT]);

enum view_button_state {
    VIEW_BUTTON_REST = 0,
    VIEW_BUTTON_ON = 1 << 0,      /* text border and a bar of 2 below */
    VIEW_BUTTON_OFF = 1 << 1,     /* dashed, text2 */
    VIEW_BUTTON_PRIMARY = 1 << 2, /* inverted; one a view */
    VIEW_BUTTON_QUIET = 1 << 3,   /* text alone */
    VIEW_BUTTON_ICON = 1 << 4     /* no text: the caller draws into the box */
};

/* A button with its hit. `frame` gives hover, press and focus. Returns the colour that its text
 * has, for an icon. */
struct view_color view_button(struct view_draw *draw, const struct view_frame *frame,
                              struct view_box box, unsigned states, enum view_action action,
                              int64_t value, const char *text, const char *label);

/* A button in the width that its text needs, at (x, y), 28 high. Returns its box. */
struct view_box view_button_fit(struct view_draw *draw, const struct view_frame *frame, float x,
                                float y, unsigned states, enum view_action action, int64_t value,
                                const char *text, const char *label);

/* The ring of 2 in text, 3 away, round what has Tab's focus. Call it before adding that hit;
 * buttons do so themselves. */
void view_focus_ring(struct view_draw *draw, const struct view_frame *frame, struct view_box box);

/* Panel ground: fill, hair frame, radius 6. */
void view_plate(struct view_draw *draw, struct view_box box, struct view_color fill,
                struct view_color line);

/* The event kinds' signs: an arrow to the right (load), to the left (store), a star (compute), a
 * dashed square with plus or minus (alloc, free), an x (skip, refuse). */
void view_event_icon(struct view_draw *draw, struct view_box box, enum sim_event_kind kind,
                     struct view_color color);

/* A tick or a cross in 14 x 14. */
void view_tick(struct view_draw *draw, float x, float y, struct view_color color);
void view_cross(struct view_draw *draw, float x, float y, struct view_color color);

#ifdef __cplusplus
}
#endif
#endif
