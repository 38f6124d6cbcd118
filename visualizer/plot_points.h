/*
 * Counted points for the Plot panel and stage: the run's problem counted again (count only, no
 * arithmetic) over one parameter, beside the bounds. One point at a time, so that a window stays
 * alive.
 */
#ifndef VIEW_PLOT_POINTS_H
#define VIEW_PLOT_POINTS_H

#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

enum view_plot_axis { VIEW_PLOT_SRAM, VIEW_PLOT_BR, VIEW_PLOT_N, VIEW_PLOT_AXES };

enum { VIEW_PLOT_MOST = 16, VIEW_PLOT_SERIES = 4 };

struct view_plot_point {
    double x;              /* bytes of SRAM, rows, or N */
    bool counted, refused; /* refused: it does not fit there */
    uint64_t elements;     /* read and written, one head */
};

struct view_plot_series {
    const struct fa_algorithm *algorithm;
    struct view_plot_point points[VIEW_PLOT_MOST];
    int n;
};

struct view_plot {
    enum view_plot_axis axis;
    struct view_plot_series series[VIEW_PLOT_SERIES]; /* the run's own first, `standard`, others */
    int n_series;
    int done, in_all;                 /* points */
    double theta[VIEW_PLOT_MOST], floor[VIEW_PLOT_MOST]; /* bounds at series[0]'s x, elements */
    double x_now;                     /* of the run itself; 0: it has none (capacity lifted) */
    double seconds;                   /* what counting all of them may take, roughly */
    /* Of the run: its masks and bias as shapes alone, which lie in `shapes` and are pointed to
     * while a point is counted. A block mask stays the run's and has to outlive the counting. */
    struct sim_experiment experiment;
    struct fa_tensor shapes[3];       /* mask, bias, keep mask */
    bool has_shape[3];
};

/*
 * Sets the points up, none counted: the run's algorithm, `standard` and the other loop order, each
 * over powers of two of the axis that make sense for the problem, and the run's own value.
 *   SRAM  from too little for a tile to enough for everything; tiles by the run's policy, given
 *         ones by the largest square that fits
 *   Br    from 1 to all rows, Bc as in the run
 *   N     queries and keys alike; masks and bias grow with them
 */
void view_plot_start(const struct sim_experiment *experiment, enum view_plot_axis axis,
                     struct view_plot *plot);

/* Tiles of the largest run that is counted: some hundredths of a second. Larger ones are left
 * out. */
enum { VIEW_PLOT_TILES = 1 << 22 };

/* Counts the next point. False: all are. A point that does not fit is refused, which is no
 * error; one that cannot be (a block mask of other tiles, too many tiles) is neither counted
 * nor refused. */
bool view_plot_step(struct view_plot *plot);

/*
 * What the run's problem moves with tiles of br x bc, read and written, all heads: counted at once.
 * Errors: those of sim_experiment_run, FA_DOES_NOT_FIT among them; FA_TOO_LARGE past
 * VIEW_DRAGGED_TILES of a head, which takes longer than a pointer may wait.
 */
enum { VIEW_DRAGGED_TILES = 2000000 };
enum fa_status view_tiles_count(const struct sim_experiment *experiment, int64_t br, int64_t bc,
                                struct sim_volume *moved, struct fa_error *error);

/* The experiment of a point, for whoever counts it elsewhere. *shapes holds its masks. */
struct sim_experiment view_plot_experiment(const struct view_plot *plot, int series, double x,
                                           struct fa_tensor shapes[3]);

#ifdef __cplusplus
}
#endif
#endif
