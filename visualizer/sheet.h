/*
 * A page below a bar of its own, which scrolls where it is higher than the frame: the contents
 * page, the glossary, the race. What is drawn through these functions is left out where it is not
 * in view, so that no text is ever cut. Private to them.
 */
#ifndef VIEW_SHEET_H
#define VIEW_SHEET_H

#include "visualizer/lesson_view.h"
#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_sheet {
    struct view_draw *draw;
    const struct view_frame *frame;
    const struct view_lesson *lesson;
    struct view_box bar;  /* what is free of it: between its left and its right end */
    struct view_box view; /* where the page is seen */
    float scroll;         /* of the page; heights below are those of view.y - scroll on */
};

enum { VIEW_SHEET_BAR = 40 };

/* The ground and the bar: "Contents" as a way back where `back`, the page's name, Theme and ?.
 * `height` is the page's, for its scrolling. */
void view_sheet_open(struct view_sheet *sheet, struct view_draw *draw,
                     const struct view_scene *scene, bool back, const char *name, float height);
void view_sheet_close(struct view_sheet *sheet); /* the scroll bar, and no clip any more */

/* A quiet button at the bar's right end, if there is room for it. */
void view_sheet_bar_button(struct view_sheet *sheet, enum view_action action, int64_t value,
                           const char *text, const char *label);

/* Whether all of the box is in view. */
bool view_sheet_shows(const struct view_sheet *sheet, struct view_box box);

/* One line, if it is in view and not wider than `width`. False if it is wider. */
bool view_sheet_line(const struct view_sheet *sheet, struct view_box box, enum view_align align,
                     struct view_type type, const char *text);

/* Wrapped, without its lines that are out of view. Returns the height of all. */
float view_sheet_text(const struct view_sheet *sheet, struct view_box box, struct view_type type,
                      const char *text);

/* What is in view of a place that takes clicks, with the ring of Tab's focus. */
void view_sheet_hit(const struct view_sheet *sheet, struct view_box box, enum view_action action,
                    int64_t value, const char *label);

/* A button that is in view as a whole; `heading`: its text in 14 bold. */
void view_sheet_button(const struct view_sheet *sheet, struct view_box box, unsigned states,
                       enum view_action action, int64_t value, const char *text, const char *label);

/* The width of a button with that text, of one in a row of them. */
float view_sheet_button_width(const struct view_draw *draw, unsigned states, const char *text);

#ifdef __cplusplus
}
#endif
#endif
