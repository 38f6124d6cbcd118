/*
 * Traced runs of all algorithms and passes over shapes with ragged edges, masks, dropout, block
 * masks and head groups, for tests of the trace and of its file.
 */
#ifndef TESTS_TRACE_CASE_H
#define TESTS_TRACE_CASE_H

#include "simulator/experiment.h"

struct trace_case {
    const char *name;
    const struct fa_algorithm *algorithm; /* the forward one */
    struct fa_problem problem;            /* mask, bias and keep mask may be shapes alone */
    int64_t br, bc;
    uint64_t sram_bytes; /* 0: lifted */
    enum sim_pass pass;  /* forward or backward */
};

/* The cases, and how many there are: all algorithms in several shapes, forward and backward. Those
 * named "refused" end in a refusal. */
const struct trace_case *trace_cases(int *n);

/* Small flash2 runs of one head and one tile, forward of 24 events and backward: those that tests
 * take apart. */
extern const struct trace_case trace_case_small, trace_case_backward;

/* The experiment of the case: counting alone, until the caller sets a mode and tensors. */
struct sim_experiment trace_case_experiment(const struct trace_case *which,
                                            struct sim_trace **trace);

/* Counts the run with a trace, which the caller frees. NULL: an error, *error says which; a tile
 * that does not fit is none, but *result is untouched then. */
struct sim_trace *trace_case_run(const struct trace_case *which, struct sim_result *result,
                                 struct fa_error *error);

#endif
