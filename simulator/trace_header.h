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
 * Needs: a finite scale, numbers up to 2^63 - 1 (a seed may be greater), and a block mask of at
 * most SIM_TRACE_BLOCKS, so that the line is shorter than SIM_HEADER_MOST. */
enum { SIM_HEADER_MOST = 4 * SIM_TRACE_BLOCKS + (1 << 16) };
char *sim_trace_header_write(const struct sim_trace_header *header, uint64_t n_events);

/*
 * Reads the line text[0 .. n). The problem is one that fa_problem_check accepts, and its tiles are
 * 1 or more; *header and *n_events are untouched on errors, which begin with "name: line 1: ". The
 * header's block mask, if it has one, is freed by sim_trace_header_free.
 * Errors: FA_BAD_FILE, FA_NO_MEMORY.
 */
enum fa_status sim_trace_header_read(const char *name, const char *text, size_t n,
                                     struct sim_trace_header *header, uint64_t *n_events,
                                     struct fa_error *error);

/* Frees what sim_trace_header_read made; fine for a zeroed header. */
void sim_trace_header_free(struct sim_trace_header *header);

/* text[0 .. n) in quotation marks, cut and with "?" for what can't be printed, so that a message
 * may hold what stands in a file. */
enum { SIM_EXCERPT = 48 };
const char *sim_excerpt(const char *text, size_t n, char excerpt[SIM_EXCERPT]);

#ifdef __cplusplus
}
#endif
#endif
