/*
 * The golden cases of tests/golden as attention_case. Failures fail the running test.
 *
 * The folder is FLASHLAB_GOLDEN_DIR of the environment, or the one compiled in.
 */
#ifndef TESTS_GOLDEN_CASE_H
#define TESTS_GOLDEN_CASE_H

#include "tests/attention_case.h"

/* Names of the cases without dropout; NULL after the last. */
extern const char *const golden_case_names[];

/* The case with dropout, for tests of dropout alone: its o is not what a plain forward gives. */
extern const char golden_case_dropout[];

/*
 * Reads case `name` with q, k, v and bias as dtype: exact in f32 and f64, rounded once in f16 and
 * bf16, whose right answer is the oracle's on the rounded values and not the case's o and lse.
 * A block-sparse case comes with its block mask spread out to a mask of elements.
 */
void golden_case_load(struct attention_case *golden, const char *name, enum fa_dtype dtype);

/*
 * One file of a case ("do.npy", "dq.npy", "dropout_keep.npy") as a new tensor. A file of rank 3
 * becomes [a, b, c, 1], one of rank 2 [1, 1, a, b].
 */
void golden_tensor_read(const char *name, const char *file, enum fa_dtype dtype,
                        struct fa_tensor *tensor);

/* "dropout_p" of the case. */
double golden_case_dropout_p(const char *name);

/* The folder that holds the cases. */
const char *golden_folder(void);

#endif
