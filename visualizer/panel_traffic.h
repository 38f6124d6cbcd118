/*
 * Bars of what was moved, of one run (panel_traffic.c) and of two beside each other
 * (panel_compare.c).
 */
#ifndef VIEW_PANEL_TRAFFIC_H
#define VIEW_PANEL_TRAFFIC_H

#include "visualizer/panel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one run has view_moved and computed so far, and will have by its end. */
struct view_tally {
    struct sim_counters now, end;
    const struct fa_problem *problem;
    int64_t head, heads; /* that are counted: from head on, `heads` of them */
};

/* Columns of a table of bars: letter, word ("read", "A"), bar, number. */
struct view_bars {
    float letter, word, number;
    uint64_t most; /* what the longest bar stands for */
};

/* The order of the cross: inputs, scores, outputs, statistics, gradients. */
enum { VIEW_BARS_ORDER = 20 };
extern const enum fa_tensor_id view_bars_order[VIEW_BARS_ORDER];

/* In the frame's unit. */
uint64_t view_moved(const struct view_flow *flow, const struct sim_counters *counters,
                    const struct fa_problem *problem, enum fa_tensor_id id, bool write);
uint64_t view_moved_all(const struct view_flow *flow, const struct sim_counters *counters,
                        const struct fa_problem *problem, bool read, bool write);

struct view_type view_bars_label(const struct view_flow *flow);
struct view_type view_bars_number(const struct view_flow *flow);

/* A table whose second column holds that word, and the numbers and names that it will
 * have, which say how wide its columns are. */
struct view_bars view_bars_make(const struct view_flow *flow, const char *word);
void view_bars_meet(const struct view_flow *flow, struct view_bars *table, const char *name,
                    uint64_t count);

/* One line: what of `end` has come so far, the end as an outline. name NULL: as in the line
 * above. */
void view_bars_row(struct view_flow *flow, const struct view_bars *table, enum fa_tensor_id id,
                   const char *name, const char *word, uint64_t now, uint64_t end);

/* panel_compare.c */
void view_compare_bars(struct view_flow *flow, const struct view_tally tally[2]);
void view_compare_totals(struct view_flow *flow, const struct view_tally tally[2]);

#ifdef __cplusplus
}
#endif
#endif
