/*
 * Time and positions: how long each event takes, at each speed, and how two runs keep together.
 */
#ifndef VIEW_CLOCK_H
#define VIEW_CLOCK_H

#include "visualizer/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Milliseconds of an event at speed 1: load, store 420; compute 520; alloc, free, skip 160 (a run
 * of allocs, frees or skips is one step of 160, shared evenly); refuse 600. */
double view_event_milliseconds(const struct view_run *run, uint64_t index);

/* Milliseconds of event `index` at the speed. Auto: 8 s for the first tile, 10 s for the rest of
 * the first outer iteration, 14 s for all that is left, by the share of each event's time; where
 * little happens in one of the three, at most four times its time at speed 1. */
double view_event_pace(const struct view_run *run, uint64_t index, enum view_speed speed);

/* The position `milliseconds` later (never past the end or a refuse event). Uses whole steps where
 * more than an event passes in that time; exact for any length of the step. */
struct view_position view_clock_advance(const struct view_run *run, struct view_position at,
                                        enum view_speed speed, double milliseconds);

/* Loads and stores a second around there at this speed: what frame.rate is. */
float view_clock_rate(const struct view_run *run, struct view_position at, enum view_speed speed);

/* Where a step leads: landed events after the next or previous event, tile, outer iteration or
 * phase. An alloc or a free run counts as one event step; direction -1 or 1. */
uint64_t view_step(const struct view_run *run, uint64_t landed, enum view_step_by by,
                   int direction);

/*
 * The common clock of two runs. Same work: matmul FLOPs done; same tile: tiles visited (needs the
 * same algorithm family and grid, else it falls back to work); same traffic: bytes moved.
 * work_of: how far a run is; at_work: the first position with at least that much, with the flight
 * of the event that crosses it: the start where nothing is done, the end from all of its work on.
 * Which clocks two runs have in common is the caller's to know.
 */
double view_work_of(const struct view_run *run, struct view_position at, enum view_clock_kind kind);
double view_work_in_all(const struct view_run *run, enum view_clock_kind kind);
struct view_position view_at_work(const struct view_run *run, double work,
                                  enum view_clock_kind kind);

/* Puts the frame's first run there; of two, the second keeps together with it by the frame's clock.
 */
void view_frame_seek(struct view_frame *frame, struct view_position at);

/* The same from run `which`. */
void view_frame_follow(struct view_frame *frame, int which);

#ifdef __cplusplus
}
#endif
#endif
