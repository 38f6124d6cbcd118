/*
 * The run of view_case_tidy, and a list of what is drawn of it, for a group of tests.
 */
#ifndef TESTS_TIDY_CASE_H
#define TESTS_TIDY_CASE_H

#include "tests/view_case.h"

extern struct view_run *tidy;
extern struct view_draw draw; /* dark, with the face of the program */

/* The group's setup and teardown. */
int tidy_case_open(void **state);
int tidy_case_close(void **state);

#endif
