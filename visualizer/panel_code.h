/*
 * A run's code in a box: the paper's steps or our C, the line that runs marked, bytes by line.
 */
#ifndef VIEW_PANEL_CODE_H
#define VIEW_PANEL_CODE_H

#include "visualizer/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run's part of the panel. */
struct view_listing {
    struct view_draw *draw;
    const struct view_scene *scene;
    const struct view_moment *moment;
    const struct fa_algorithm *algorithm;
    const struct sim_event *event; /* in flight, else landed last; NULL at the start */
    struct view_box box;
    float number; /* width of the column of numbers, its gap included */
};

void view_listing_steps(struct view_listing *l); /* panel_steps.c */
void view_listing_c(struct view_listing *l);     /* panel_source.c */

/* ---- what both share (panel_code.c) ---- */

struct view_type view_listing_type(const struct view_listing *l, enum view_style style, float size);

/* The ground and bar of what runs now. */
void view_listing_mark(const struct view_listing *l, float y, float height);

/* Bytes at the right end of a row, and the width that they take there, a gap included; none if
 * 0. */
void view_listing_bytes(const struct view_listing *l, struct view_box row, uint64_t bytes);
float view_listing_bytes_width(const struct view_listing *l, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
