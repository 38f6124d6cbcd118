#include "tests/tidy_case.h"

struct view_run *tidy;
struct view_draw draw;

int tidy_case_open(void **state)
{
    (void)state;
    tidy = view_case_open(&view_case_tidy);
    view_draw_open(&draw, &view_builtin_face, &view_dark);
    return 0;
}

int tidy_case_close(void **state)
{
    (void)state;
    view_run_close(tidy);
    view_draw_close(&draw);
    return 0;
}
