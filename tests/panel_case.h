/*
 * Panels drawn by themselves, for tests of what they say and where: one draw list and one plot,
 * which the helpers fill.
 */
#ifndef TESTS_PANEL_CASE_H
#define TESTS_PANEL_CASE_H

#include "tests/view_case.h"
#include "visualizer/plot_points.h"

extern struct view_draw panel_draw;
extern struct view_plot panel_plot;

/* Runs that meet all that panels show: masks, dropout, heads, a backward pass, a refusal (4). */
enum { PANEL_CASES = 6 };
extern const struct view_case panel_cases[PANEL_CASES];

/* Draws the frame's first panel alone, and returns where. */
struct view_box panel_case(const struct view_frame *frame);

/* Fails unless a text of the list contains the words. */
void panel_says(const char *words);

/* Fails unless every text and every place for clicks lies inside the box, and controls are large
 * enough. */
void panel_inside(struct view_box box);

/* Starts the plot of the case, and counts so many of its points. */
void panel_count(const struct view_case *which, enum view_plot_axis axis, int steps);

/* The list's fixtures of a group of tests. */
int panel_open(void **state);
int panel_close(void **state);

#endif
