/* What the tests of `flashlab check --theirs` share: arrays of a folder changed, and a verdict. */
#ifndef CHECK_PROGRAM_H
#define CHECK_PROGRAM_H

#include "reference/npy.h"

/* Writes what program_read_array gave back, in a format. */
void check_write_back(const char *name, const struct fa_npy *array, enum fa_dtype dtype);

/* Rewrites each element, of index i, as value(i, what it was). */
void check_change(const char *name, enum fa_dtype dtype, double (*value)(int64_t i, double right));

/* The line, which asks for JSON, names the fault ("none": right) in the output `in`. */
void check_expect_fault(const char *line, const char *fault, const char *in);

/* Exit status 2 and one line, in text and in JSON, with the text in it. */
void check_expect_refusal(const char *line, const char *code, const char *text);

#endif
