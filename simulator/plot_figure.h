/*
 * What the figure shows, worked out from a sweep before any of it is written as a script: ranges,
 * units, ticks, and labels that do not overlap. Part of plot.c.
 */
#ifndef SIM_PLOT_FIGURE_H
#define SIM_PLOT_FIGURE_H

#include "simulator/sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_curve {
    SIM_CURVE_THETA,
    SIM_CURVE_ROOT, /* N^2 d / sqrt(M), where M <= d^2: the optimum's order there */
    SIM_CURVE_FLOOR,
    SIM_CURVE_STANDARD,
    SIM_CURVE_COMPULSORY,
    SIM_CURVES
};

/* Where the optimum's order changes. */
enum sim_corner { SIM_CORNER_DD, SIM_CORNER_ND, SIM_CORNERS };

enum { SIM_CURVE_POINTS = 201, SIM_FIGURE_LABELS = FA_ALGORITHMS + SIM_CURVES };

/* The bounds at one x, in elements; NAN where there is none. */
struct sim_curve_point {
    double x; /* in the axis' unit */
    double y[SIM_CURVES];
    bool tight; /* d^2 <= M <= N d: where Theorem 2's Theta is the optimum's order */
};

/* Text at the right of the plot. Shares of the axes, 0 at the left and at the bottom. */
struct sim_figure_label {
    int algorithm; /* index in fa_algorithms, or -1 */
    enum sim_curve curve;
    double line, text; /* heights: where the line ends; where the text stands */
    double end;        /* how far to the right the line goes: 1, or less for a bound */
};

struct sim_figure {
    enum sim_sweep_key x;
    double x_unit, x_min, x_max; /* bytes or ones in the axis' unit; the range in that unit */
    double y_unit, y_min, y_max; /* elements in the axis' unit; the range in that unit */
    const char *y_unit_name;     /* "million"; "" where ticks are powers of ten */
    bool scientific;             /* the range is so long that they are */
    double corner[SIM_CORNERS];  /* x of M = d^2 and of M = N d; NAN where there is none */
    bool present[FA_ALGORITHMS];
    int counted[FA_ALGORITHMS], refused[FA_ALGORITHMS]; /* points */
    const struct sim_sweep_point *sample; /* a counted point: what all share is read from it */
    struct sim_curve_point curve[SIM_CURVE_POINTS];
    struct sim_figure_label label[SIM_FIGURE_LABELS];
    int n_labels;
    double root_x, root_y; /* left and middle of the root's name inside the plot, as shares; NAN
                            * where it has a label or no room */
};

/* The height of a label's line as a share of the axis: no two texts are nearer than this. */
#define SIM_LABEL_HEIGHT 0.048

/* Needs: a sweep that sim_plot_check accepts, with a counted point. */
void sim_figure_make(const struct sim_sweep *sweep, enum sim_sweep_key x,
                     struct sim_figure *figure);

/* x of a point, in the axis' unit. */
double sim_figure_x(const struct sim_figure *figure, const struct sim_sweep_point *point);

/* Where the plot stands in the picture. */
#define SIM_PLOT_LEFT 0.085
#define SIM_PLOT_RIGHT 0.735
#define SIM_PLOT_BOTTOM 0.205
#define SIM_PLOT_TOP 0.80

/* The axes and the marks (M = d^2, M = N d, the machine) of the script. */
void sim_plot_write_axes(FILE *file, const struct sim_figure *figure);
void sim_plot_write_marks(FILE *file, const struct sim_sweep *sweep,
                          const struct sim_figure *figure);

#ifdef __cplusplus
}
#endif
#endif
