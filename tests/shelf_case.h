/* A shelf of fifteen lessons in five chapters, as the curriculum has them, for tests of pages
 * that list lessons: no file is read. */
#ifndef TESTS_SHELF_CASE_H
#define TESTS_SHELF_CASE_H

#include "tests/view_case.h"
#include "visualizer/lesson_view.h"

/* Its lessons have nine steps each, two terms, and the tracks "class" and "kernel" where theirs
 * are. */
const struct lesson_shelf *shelf_case(void);

/* The contents page of it: nothing is done, nothing chosen, the first card has the focus. */
struct view_lesson shelf_case_view(enum view_page page);

#endif
