/*
 * Which events are possible, and where: what stands between a trace's file and the fold, which
 * trusts its events.
 *
 * The rules are those of the machine, not of one algorithm: an event that breaks one can't come
 * from any run of the header's problem. An event that breaks none may still be made up.
 */
#ifndef SIM_TRACE_RULES_H
#define SIM_TRACE_RULES_H

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Whether the event, whose fields are in their ranges, is possible in the state. If it is not,
 * why[0 .. size) says in words what it is and what was expected.
 */
bool sim_event_possible(const struct sim_trace_header *header, struct sim_state *state,
                        const struct sim_event *event, char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
