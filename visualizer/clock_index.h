/*
 * Sums of time and of work along a trace, so that a moment of either is found by a binary search:
 * what clock.c goes by, and the track of two runs, whose axis is their common clock.
 */
#ifndef VIEW_CLOCK_INDEX_H
#define VIEW_CLOCK_INDEX_H

#include "visualizer/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happened before an event. */
struct view_clock_mark {
    double milliseconds; /* of all events before, at speed 1 */
    uint64_t matmul;     /* FLOPs of products */
    uint64_t tiles;      /* visited */
    uint64_t bytes;      /* moved */
    uint64_t run_first, run_end; /* of the allocs, frees or skips in a row that the event is one of;
                                  * else the event alone */
};

/* A mark at every `step` events, from event 0 on, and one at the end: at most 65,537 or so. */
struct view_clock_index {
    const struct sim_trace *trace;
    uint64_t length, step, n_marks;
    uint64_t first_tile_end; /* landed events when the first score tile is done; 0: there is none */
    struct view_clock_mark marks[];
};

/* One pass over the trace, which must outlive the index. Errors: FA_NO_MEMORY. */
enum fa_status view_clock_index_make(const struct sim_trace *trace,
                                     struct view_clock_index **index, struct fa_error *error);
void view_clock_index_free(struct view_clock_index *index);

/* Allocs, frees or skips in a row: first to end, around event `at`. Any other event stands alone.
 */
void view_clock_joined(const struct view_clock_index *index, uint64_t at, uint64_t *first,
                       uint64_t *end);

/* What a mark says on a common clock; kind: enum view_clock_kind of frame.h. */
uint64_t view_clock_mark_work(const struct view_clock_mark *mark, int kind);

/* The last mark before `work` is done on that clock, as landed events: exact to `step` events. */
uint64_t view_clock_before_work(const struct view_clock_index *index, double work, int kind);

/* Milliseconds at speed 1 of all events before `landed`. */
double view_clock_time(const struct view_clock_index *index, uint64_t landed);
/* Of one event. */
double view_clock_own_time(const struct view_clock_index *index, uint64_t at);

#ifdef __cplusplus
}
#endif
#endif
