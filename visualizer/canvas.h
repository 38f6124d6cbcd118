/*
 * What draws a draw list: the one file that includes SDL. The same code draws into a window and,
 * without any display, into a picture in memory; the same list and face give the same pixels.
 */
#ifndef VIEW_CANVAS_H
#define VIEW_CANVAS_H

#include "visualizer/picture.h"
#include "visualizer/state.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_canvas;

enum view_font {
    VIEW_FONT_BUILTIN,
    VIEW_FONT_SYSTEM /* DejaVu where it is found, else built in */
};

/* A picture in memory of width x height pixels, `scale` of them a logical one. No display is
 * touched. Errors: FA_BAD_ARGUMENT (a size outside 1..16384, a scale outside 0.5..4), FA_NO_MEMORY,
 * FA_MISSING_PART. */
enum fa_status view_canvas_open(int width, int height, float scale, enum view_font font,
                                struct view_canvas **canvas, struct fa_error *error);
void view_canvas_close(struct view_canvas *canvas);

/* The face that it draws with: the scene must measure with this one. */
const struct view_face *view_canvas_face(const struct view_canvas *canvas);

/* Draws the list over the theme's bg. */
enum fa_status view_canvas_draw(struct view_canvas *canvas, const struct view_draw *draw,
                                struct fa_error *error);

/* The pixels of what was drawn last, which stay the canvas's until the next call. */
enum fa_status view_canvas_picture(struct view_canvas *canvas, struct view_picture *picture,
                                   struct fa_error *error);

struct view_window_options {
    int width, height;   /* logical pixels; 0: 1280 x 720 */
    float font_scale;    /* 1 */
    bool gives_way;      /* less than that in a window without room: view_layout_scale */
    const char *title;
    enum view_font font;
    /* Called when the window is open, to make the state with the window's face. */
    enum fa_status (*start)(void *context, const struct view_face *face, float width, float height,
                            struct view_state **state, struct fa_error *error);
    void *context;
    long most_milliseconds; /* closes by itself after so long, for tests; 0: never */
};

/* Whether a window can be opened here at all; if not, *why (may be NULL) says so in a few words. */
bool view_window_possible(const char **why);

/* Opens the window and runs until it is closed. Errors: FA_MISSING_PART without a display or a
 * renderer, with SDL's words; those of start. */
enum fa_status view_window_run(const struct view_window_options *options, struct fa_error *error);

/* For bench: milliseconds to draw the list into the canvas, the median of `times`. */
double view_canvas_time(struct view_canvas *canvas, const struct view_draw *draw, int times);

#ifdef __cplusplus
}
#endif
#endif
