/*
 * The chart of counted points (plot_points.h) that the Plot panel and the Plot stage show: log-log,
 * a line of squares for each algorithm, the bounds as dashed lines, a ring on the run itself.
 */
#ifndef VIEW_CHART_H
#define VIEW_CHART_H

#include "visualizer/panel.h"
#include "visualizer/plot_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Into the box, as far as points are counted; all texts inside it. Nothing where it is too
 * small. */
void view_chart_draw(struct view_draw *draw, const struct view_scene *scene, struct view_box box);

const char *view_chart_title(enum view_plot_axis axis); /* "Elements moved, over SRAM" */

/* The buttons of the axes; `plot` may be NULL. */
void view_chart_choices(struct view_flow *flow, const struct view_plot *plot);

/* How far the counting is: a line of text and a bar. Nothing when all is counted. */
void view_chart_progress(struct view_flow *flow, const struct view_plot *plot);

/* What the marks mean, what could not be counted, and how the tiles were chosen. */
void view_chart_caption(struct view_flow *flow, const struct view_plot *plot);

#ifdef __cplusplus
}
#endif
#endif
