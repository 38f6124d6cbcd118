/*
 * Traced runs of all algorithms over shapes with ragged edges, masks and head groups, for tests of
 * the trace and of its file.
 */
#ifndef TESTS_TRACE_CASE_H
#define TESTS_TRACE_CASE_H

#include "simulator/experiment.h"

struct trace_case {
    const char *name;
    const struct fa_algorithm *algorithm;
    struct fa_problem problem; /* mask and bias may be shapes alone */
    int64_t br, bc;
    uint64_t sram_bytes; /* 0: lifted */
};

/* The cases, and how many there are: all algorithms in several shapes. */
const struct trace_case *trace_cases(int *n);

/* A small flash2 run of one head, one tile and 24 events: the one that tests take apart. */
extern const struct trace_case trace_case_small;

/* Counts the run with a trace, which the caller frees. NULL: an error, *error says which; a tile
 * that does not fit is none, but *result is untouched then. */
struct sim_trace *trace_case_run(const struct trace_case *which, struct sim_result *result,
                                 struct fa_error *error);

#endif
