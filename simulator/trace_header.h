/*
 * The first line of a trace's file: struct sim_trace_header as a JSON object.
 */
#ifndef SIM_TRACE_HEADER_H
#define SIM_TRACE_HEADER_H

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The line, without its end, of a trace of n_events; the caller frees it. NULL: no memory.
 * Needs: a finite scale, and numbers up to 2^63 - 1 (a seed may be greater). */
char *sim_trace_header_write(const struct sim_trace_header *header, uint64_t n_events);

/*
 * Reads the line text[0 .. n). The problem is one that fa_problem_check accepts, and its tiles are
 * 1 or more; *header and *n_events are untouched on errors, which begin with "name: line 1: ".
 * Errors: FA_BAD_FILE, FA_NO_MEMORY.
 */
enum fa_status sim_trace_header_read(const char *name, const char *text, size_t n,
                                     struct sim_trace_header *header, uint64_t *n_events,
                                     struct fa_error *error);

/* text[0 .. n) in quotation marks, cut and with "?" for what can't be printed, so that a message
 * may hold what stands in a file. */
enum { SIM_EXCERPT = 48 };
const char *sim_excerpt(const char *text, size_t n, char excerpt[SIM_EXCERPT]);

#ifdef __cplusplus
}
#endif
#endif
