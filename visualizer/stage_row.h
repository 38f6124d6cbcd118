/*
 * The One row stage between its files: what is known of the row (stage_row.c), its charts
 * (stage_row_draw.c), l and O below them (stage_row_output.c).
 */
#ifndef VIEW_STAGE_ROW_H
#define VIEW_STAGE_ROW_H

#include <math.h>

#include "visualizer/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

struct view_row_picture {
    const struct view_scene *scene;
    int which;
    const struct view_moment *moment;
    int64_t index; /* of the row */
    struct view_row row;
    double low, high;   /* of the finite scores and 0, over the whole run */
    int64_t n_steps;    /* absorbed so far; of the last of them: */
    int64_t first, end; /* keys */
    double max, sum, old_max, old_sum, factor;
    double added;    /* the sum of exp(s - m) over its keys */
    bool rose;       /* the maximum was finite before, and lower */
    bool divides;    /* O is kept undivided (flash2) */
    bool in_step;    /* P V of the last tile is in O too */
    double most_sum; /* the largest l of the run */
};

static inline double view_row_weight(double score, double max)
{
    return score == -INFINITY || isnan(score) ? 0 : exp(score - max);
}

/* Scores, weights, l and O in the box. */
void view_row_draw(struct view_draw *draw, const struct view_row_picture *row, struct view_box box);

/* l as a bar, of what was left of the old one and what the tile's weights added, with its
 * equation. */
void view_row_draw_sum(struct view_draw *draw, const struct view_row_picture *row,
                       struct view_box box);

/* The row's cells of O, and divided by l where they are kept undivided. */
void view_row_draw_output(struct view_draw *draw, const struct view_row_picture *row,
                          struct view_box box);

#ifdef __cplusplus
}
#endif
#endif
