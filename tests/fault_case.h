/*
 * Problems with their outputs, into which tests plant the faults of simulator/faults.h.
 */
#ifndef TESTS_FAULT_CASE_H
#define TESTS_FAULT_CASE_H

#include "reference/profile.h"
#include "simulator/faults.h"

/* A problem, its inputs, and outputs that begin as the right ones, rounded to the dtype. */
struct fault_sample {
    struct fa_problem problem;
    struct fa_tensor q, k, v, dout, output[SIM_OUTPUTS];
    int64_t br, bc;
};

/* The shapes that faults are tried on: odd lengths, groups, both alignments, no mask, padded head
 * sizes, a ragged tile. */
enum { FAULT_SHAPES = 4 };

struct fa_problem fault_shape(int index, enum fa_dtype dtype);

/* With tiles of 16 x 16, and the gradients too with a backward pass. */
struct fault_sample fault_sample_make(struct fa_problem problem, enum fa_profile profile,
                                      bool backward);
void fault_sample_free(struct fault_sample *sample);

/* O and LSE of all rows, by the oracle on `problem`, or, from 0 on, by a mutant (mutants.h) on the
 * sample's own. */
void fault_sample_fill(struct fault_sample *sample, const struct fa_problem *problem, int mutant);

struct sim_verdict fault_sample_judge(const struct fault_sample *sample);

/* Fails the running test unless the verdict is that fault; `what` stands in its message. */
void fault_sample_expect(const struct fault_sample *sample, enum sim_fault fault, const char *what);

struct fa_tensor fault_tensor(enum fa_dtype dtype, int64_t batch, int64_t heads, int64_t rows,
                              int64_t columns);
int64_t fault_count(const struct fa_tensor *t); /* its elements */

/* Uniform in -size .. size, the same each time. */
void fault_add_noise(const struct fa_tensor *t, double size);

/* The same elements, stored by the axes in that order, in a buffer that stays [0, 1, 2, 3]. */
void fault_reorder(struct fa_tensor *t, const int order[4]);

#endif
