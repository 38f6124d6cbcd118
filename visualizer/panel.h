/*
 * What the panels share: a column of rows that scrolls, in which nothing is drawn in part. A row
 * that does not show in whole is passed over; what is longer than its box is scrolled by
 * frame->scroll.
 */
#ifndef VIEW_PANEL_H
#define VIEW_PANEL_H

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_flow {
    struct view_draw *draw;
    const struct view_scene *scene;
    struct view_box seen; /* what shows */
    float x, w, y;        /* the column, and where its next row begins */
    bool measures;        /* nothing is drawn: how high it is, is asked */
};

/* Draws a panel's rows into the box with its margins, twice: once to learn their height. */
void view_panel_flow(struct view_draw *draw, const struct view_scene *scene, struct view_box box,
                     void (*body)(struct view_flow *flow));

/* The same in a box that is without margins; and how high its rows are in that width. */
void view_panel_flow_in(struct view_draw *draw, const struct view_scene *scene,
                        struct view_box inner, void (*body)(struct view_flow *flow));
float view_panel_height(struct view_draw *draw, const struct view_scene *scene, float width,
                        void (*body)(struct view_flow *flow));

/* The box inside the margins of the layout's class. */
struct view_box view_panel_inner(const struct view_scene *scene, struct view_box box);

/* The next `height` of the column. False: it does not show in whole, so nothing may be drawn
 * there. */
bool view_flow_row(struct view_flow *flow, float height, struct view_box *row);
void view_flow_gap(struct view_flow *flow, float height);

/* A text wrapped to the column, line by line. */
void view_flow_text(struct view_flow *flow, struct view_type type, const char *text);

/* A heading of 16, bold. */
void view_flow_heading(struct view_flow *flow, const char *text);

/* A hair line over the whole column with 8 above and below. */
void view_flow_rule(struct view_flow *flow);

/* Words on the left and a number on the right; below each other where they are too wide together.
 * `exact` is said where the pointer is on them; NULL: nothing. */
void view_flow_pair(struct view_flow *flow, const char *words, struct view_type type,
                    const char *number, const char *exact);

/* In a box that is wide enough, and wider than high: two columns. The flow goes on in the left one,
 * *second in the right one. */
bool view_flow_split(struct view_flow *flow, struct view_flow *second);

struct view_choice {
    const char *text, *label;
    enum view_action action;
    int64_t value;
    bool on;
    bool first; /* of a group: more room before it */
};

/* Buttons side by side, in as many rows as they need. */
void view_flow_choices(struct view_flow *flow, const struct view_choice *choices, int n);

/* The plate that covers what would answer an open question. */
void view_flow_cover(struct view_flow *flow);

/* Elements or bytes, and one head or all where the run has more. */
void view_flow_units(struct view_flow *flow);

#ifdef __cplusplus
}
#endif
#endif
