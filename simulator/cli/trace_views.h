/*
 * A saved trace in words and in JSON: its summary, its events, its state at a position. Part of
 * cmd_trace.c.
 */
#ifndef CLI_TRACE_VIEWS_H
#define CLI_TRACE_VIEWS_H

#include <stdio.h>

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* of <jansson.h> */

/* What a trace holds in all; counters and peak are the state after its last event. */
struct cli_trace_summary {
    const struct sim_trace *trace;
    uint64_t by_kind[SIM_EVENT_KINDS];
    struct sim_state end;
};

void cli_trace_summarise(const struct sim_trace *trace, struct cli_trace_summary *summary);
void cli_trace_print_summary(FILE *file, const struct cli_trace_summary *summary);

/* One event as a line; `index` is its place in the trace, from 0. */
void cli_trace_print_event(FILE *file, const struct sim_trace *trace, uint64_t index);

/* The tiles on chip, in the order of their addresses; returns how many. */
int cli_trace_residents(const struct sim_state *state, enum fa_tensor_id ids[FA_TENSORS]);

/* The state after the first `position` events. */
void cli_trace_print_state(FILE *file, const struct sim_trace *trace, uint64_t position);

/* The same as JSON; new references, NULL without memory. */
struct json_t *cli_trace_summary_json(const struct cli_trace_summary *summary);
struct json_t *cli_trace_event_json(const struct sim_trace *trace, uint64_t index);
struct json_t *cli_trace_state_json(const struct sim_trace *trace, uint64_t position);

#ifdef __cplusplus
}
#endif
#endif
