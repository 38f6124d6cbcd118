#include "tests/stage_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

struct view_draw stage_list;

int stage_case_set_up(void **state)
{
    (void)state;
    view_draw_open(&stage_list, &view_builtin_face, &view_dark);
    return 0;
}

int stage_case_tear_down(void **state)
{
    (void)state;
    view_draw_close(&stage_list);
    return 0;
}

void stage_case_draw(stage_function *function, const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&stage_list);
    stage_list.theme = frame->theme;
    function(&stage_list, &scene);
}

void stage_case_expect(const char *words)
{
    if (view_case_text(&stage_list, words))
        return;
    for (size_t n = 0; n < stage_list.n_items; n++)
        if (stage_list.items[n].kind == VIEW_TEXT)
            print_message("  there is \"%s\"\n", stage_list.items[n].text);
    fail_msg("no text has \"%s\"", words);
}
