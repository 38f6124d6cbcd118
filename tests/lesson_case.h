/*
 * Lessons for tests: the example that lessons/README.md shows, and a runner that knows a few
 * options.
 */
#ifndef LESSON_CASE_H
#define LESSON_CASE_H

#include "lessons/answers.h"

/* The README's example as it stands there, to be freed by the caller; NULL: it cannot be read. */
char *lesson_case_example(void);

/* The lesson of the text, to be freed by the caller. Fails the test where it is refused. */
struct lesson *lesson_case_read(const char *name, const char *text);

/* Runs words on the simulator: --algorithm --pass --n --nq --nk --d --heads --batch --tiles --sram
 * --machine --dtype --causal. cell() and trips() are known of one head with f32 random inputs;
 * measure() is not. */
extern const struct lesson_runner lesson_case_runner;

#endif
