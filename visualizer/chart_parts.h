/*
 * What the two files of the chart share: chart.c has the scales and axes, chart_marks.c what lies
 * in them.
 */
#ifndef VIEW_CHART_PARTS_H
#define VIEW_CHART_PARTS_H

#include "visualizer/chart.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LABELS = VIEW_PLOT_SERIES + 2, LABEL_TEXT = 48, PLATES = 4, STRIP_ROW = 16 };

/* A name at the right end of its line. */
struct end_label {
    char text[LABEL_TEXT];
    struct view_color color;
    float x, y; /* the line's end */
    float at;   /* the label's middle, after they made room for each other */
};

/* A text inside the area, on a plain plate, drawn over the curves. */
struct plate {
    struct view_box box;
    const char *text;
    struct view_type type;
};

struct view_chart {
    struct view_draw *draw;
    const struct view_scene *scene;
    const struct view_plot *plot;
    struct view_box area;                /* of the curves */
    struct view_box strip;               /* below it, of what was refused; h 0: nothing was */
    struct view_box names;               /* right of it */
    double x_low, x_high, y_low, y_high; /* logarithms */
    struct end_label labels[LABELS];
    int n_labels;
    struct plate plates[PLATES];
    int n_plates;
    char own[2][VIEW_COUNT_TEXT + 4]; /* the runs' numbers */
};

/* Of logarithmic scales. */
float view_chart_x(const struct view_chart *c, double x);
float view_chart_y(const struct view_chart *c, double y);

struct view_type view_chart_small(const struct view_draw *draw); /* of all that is not data */

/* What the run moved itself, of one head, and where it stands on the axis. False: it has no
 * place. */
bool view_chart_own(const struct view_chart *c, int which, double *x, double *y);

/* ---- chart_marks.c ---- */

void view_chart_bound(struct view_chart *c, const double *values, float dash, float gap,
                      const char *name);
void view_chart_series(struct view_chart *c, int s);
int view_chart_refusals(const struct view_plot_series *series); /* points that did not fit */
void view_chart_refused(const struct view_chart *c, float left);
void view_chart_labels(struct view_chart *c);
void view_chart_ring(struct view_chart *c, int which);
void view_chart_plates(const struct view_chart *c);

#ifdef __cplusplus
}
#endif
#endif
