/*
 * One stage at a time, drawn into a list that the test looks at.
 */
#ifndef TESTS_STAGE_CASE_H
#define TESTS_STAGE_CASE_H

#include "tests/view_case.h"

typedef void stage_function(struct view_draw *draw, const struct view_scene *scene);

/* What stage_case_draw drew last; of a test between set up and tear down. */
extern struct view_draw stage_list;

int stage_case_set_up(void **state);
int stage_case_tear_down(void **state);

/* The stage alone, in its place in the frame. */
void stage_case_draw(stage_function *function, const struct view_frame *frame);

/* Fails the test, listing the texts that there are, unless one has the words. */
void stage_case_expect(const char *words);

#endif
