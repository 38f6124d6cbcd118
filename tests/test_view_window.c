/* Keys, clicks and sizes of a real window. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>

#include "tests/view_case.h"
#include "tests/window_case.h"
#include "visualizer/state.h"

static void open_window(void)
{
    static const char *const words[] = {"--stage", "cross", NULL}; /* alone it opens the lessons */
    window_open(words, "start");
}

/* The same picture's hit, in the same face at the same size: where a hand must go. */
static struct view_box box_of(enum view_action action, int64_t value)
{
    static const struct view_host nobody = {0};
    struct view_state *state;
    struct view_box box = {0};
    assert_int_equal(view_state_open(&nobody, &view_builtin_face, 1280, 720, &state, NULL), FA_OK);
    view_state_show(state, view_case_open(&view_case_tidy), NULL, 0, NULL, NULL, 0);
    const struct view_draw *draw = view_state_draw(state);
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            box = draw->hits[i].box;
    view_state_close(state);
    assert_true(box.w > 0);
    return box;
}

static void click(enum view_action action, int64_t value)
{
    window_click(box_of(action, value));
}

static void test_keys(void **unused)
{
    (void)unused;
    open_window();
    window_act("key End");
    window_expect_title("end of");
    window_act("key Home");
    window_expect_title("start");
    window_act("key Down");
    window_expect_title("event ");
    window_act("key Home");
    window_act("key slash");
    window_act("key 4 6 Return");
    window_expect_title("event 46 of");
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static void test_clicks(void **unused)
{
    (void)unused;
    open_window();
    click(VIEW_END, 0);
    window_expect_title("end of");
    click(VIEW_HOME, 0);
    window_expect_title("start");
    click(VIEW_PLAY, 0);
    window_expect_title("event ");
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static void test_the_scrubber_is_dragged(void **unused)
{
    (void)unused;
    open_window();
    struct view_box track = box_of(VIEW_SCRUB, 0);
    int y = (int)(track.y + track.h / 2), end = (int)(track.x + track.w - 1);
    window_act("mousemove --sync --window %s %d %d", window_name(), (int)(track.x + track.w / 2),
               y);
    window_act("mousedown 1");
    window_expect_title("event ");
    window_act("mousemove --sync --window %s %d %d", window_name(), end, y);
    window_expect_title("end of");
    window_act("mousemove --sync --window %s %d %d", window_name(), (int)track.x, y);
    window_expect_title("start");
    window_act("mouseup 1");
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static void test_any_size(void **unused)
{
    (void)unused;
    open_window();
    window_act("key space");
    window_act("windowsize %s 1 1", window_name());
    window_nap();
    window_act("windowsize %s 400 300", window_name());
    window_nap();
    window_act("windowsize %s 1280 720", window_name());
    window_act("key End");
    window_expect_title("end of");
    click(VIEW_HOME, 0);
    window_expect_title("start");
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static void test_a_renderer_is_refused(void **unused)
{
    (void)unused;
    setenv("SDL_RENDER_DRIVER", "none-of-that-name", 1);
    open_window();
    unsetenv("SDL_RENDER_DRIVER");
    window_act("key End");
    window_expect_title("end of");
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static void test_an_interrupt_closes_it(void **unused)
{
    (void)unused;
    open_window();
    window_signal(SIGINT);
    int status = window_wait_for_end();
    assert_true(status == 0 || status == 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_keys, window_close),
        cmocka_unit_test_teardown(test_clicks, window_close),
        cmocka_unit_test_teardown(test_the_scrubber_is_dragged, window_close),
        cmocka_unit_test_teardown(test_any_size, window_close),
        cmocka_unit_test_teardown(test_a_renderer_is_refused, window_close),
        cmocka_unit_test_teardown(test_an_interrupt_closes_it, window_close),
    };
    return window_possible() ? cmocka_run_group_tests(tests, window_server_start, window_server_stop)
                             : WINDOW_SKIPPED;
}
