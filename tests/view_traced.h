/*
 * Runs of the traced cases (trace_case.h) with data, and from any algorithm: for tests of what the
 * visualizer knows of a run.
 */
#ifndef TESTS_VIEW_TRACED_H
#define TESTS_VIEW_TRACED_H

#include "tests/trace_case.h"
#include "visualizer/run.h"

/* The case with inputs from -1 to 1 by a fixed seed, in its dtype; the masks of the case are
 * filled too. */
struct view_source view_traced_source(const struct trace_case *which);

/* Its run; fails the test if there is none. */
struct view_run *view_traced_open(const struct trace_case *which);

/* The same trace, counted alone and adopted without its inputs. */
struct view_run *view_traced_adopt(const struct trace_case *which);

#endif
