/*
 * An event as the numbers of its line in a trace's file.
 */
#ifndef SIM_TRACE_FIELDS_H
#define SIM_TRACE_FIELDS_H

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of the line; i and j are -1 for no tile. */
enum sim_field {
    SIM_FIELD_KIND,
    SIM_FIELD_TENSOR,
    SIM_FIELD_OP,
    SIM_FIELD_STEP,
    SIM_FIELD_FLAGS,
    SIM_FIELD_LINE,
    SIM_FIELD_HEAD,
    SIM_FIELD_I,
    SIM_FIELD_J,
    SIM_FIELD_ROW,
    SIM_FIELD_COLUMN,
    SIM_FIELD_ROWS,
    SIM_FIELD_COLUMNS,
    SIM_FIELD_PLACE,
    SIM_FIELDS
};

const char *sim_field_name(enum sim_field field); /* "kind", ... */

/* The values that each field may have, both inclusive; most < least: none. */
struct sim_ranges {
    int64_t least[SIM_FIELDS], most[SIM_FIELDS];
};

/* Needs: a header that sim_trace_create accepts. */
struct sim_ranges sim_trace_ranges(const struct sim_trace_header *header);

/* Packs and unpacks; every value is in its range. */
struct sim_event sim_event_pack(const int64_t values[SIM_FIELDS]);
void sim_event_unpack(const struct sim_event *event, int64_t values[SIM_FIELDS]);

#ifdef __cplusplus
}
#endif
#endif
