/*
 * What the report of one result and the table of several share. Part of report_text.c.
 */
#ifndef SIM_REPORT_PARTS_H
#define SIM_REPORT_PARTS_H

#include "simulator/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number, right-aligned in `width` columns. */
void sim_print_number(FILE *file, int width, uint64_t value);

/* The lines of the problem, its masks and the machine. */
void sim_print_problem(FILE *file, const struct sim_report *report);

/* Read and written together. */
uint64_t sim_moved_elements(const struct sim_result *result);
uint64_t sim_moved_bytes(const struct sim_result *result);

uint64_t sim_all_flops(const struct sim_result *result);

/* Proposition 4: N d + s N^2 d^2 / M over all heads, s the share of tiles that the run visited. */
double sim_sparse_bound(const struct sim_result *result);

#ifdef __cplusplus
}
#endif
#endif
