/* Lessons played through without a window: steps, and questions answered right and wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lesson_player.h"

/* ---- steps ------------------------------------------------------------------------------- */

static void test_a_step_opens_its_run_and_plays(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 0);
    assert_int_equal(p.opens, 1);
    assert_string_equal(p.words, "--algorithm flash2 --n 16 --d 4 --tiles 4x4 --sram 4K");
    assert_int_equal(p.view->phase, VIEW_LESSON_READ);
    assert_string_equal(p.view->prose[0], "There are 16 queries.");
    assert_string_equal(p.frame->title, "40  Trips");
    assert_string_equal(view_state_title(p.state), "FlashLab: 40  Trips, step 1 of 4");
    assert_int_equal(p.frame->panel, VIEW_PANEL_LESSON);
    assert_int_equal(p.frame->second_panel, VIEW_PANEL_TRAFFIC);
    assert_true(p.frame->playing);
    assert_int_equal(p.frame->at[0].landed, 0);
    lesson_player_wait(&p);
    struct view_position there;
    struct fa_error error;
    assert_int_equal(view_position_parse(p.frame->run[0], "0,2", &there, &error), FA_OK);
    assert_int_equal(p.frame->at[0].landed, there.landed);
    assert_true(p.frame->at[0].flight == there.flight);
    assert_false(p.frame->playing);
    lesson_player_close(&p);
}

static void test_pausing_a_step_leaves_it_where_it_is(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 0);
    view_state_tick(p.state, 300);
    lesson_player_key(&p, VIEW_KEY_SPACE);
    struct view_position here = p.frame->at[0];
    lesson_player_wait(&p);
    assert_int_equal(p.frame->at[0].landed, here.landed);
    lesson_player_close(&p);
}

static void test_next_and_back(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 0);
    lesson_player_do(&p, VIEW_LESSON_BACK, 0); /* there is none before */
    assert_int_equal(p.view->step, 0);
    lesson_player_do(&p, VIEW_LESSON_NEXT, 0); /* while it plays: it gets there */
    assert_int_equal(p.view->step, 0);
    assert_false(p.frame->playing);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->step, 1);
    assert_int_equal(p.opens, 1); /* the same run */
    lesson_player_do(&p, VIEW_LESSON_NEXT, 0); /* a question is open */
    assert_int_equal(p.view->step, 1);
    lesson_player_do(&p, VIEW_LESSON_BACK, 0);
    assert_int_equal(p.view->step, 0);
    lesson_player_close(&p);
}

static void test_reduced_motion_goes_there_at_once(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    p.frame->reduced_motion = true;
    lesson_player_go(&p, 40, 0);
    assert_false(p.frame->playing);
    assert_true(p.frame->at[0].landed > 0);
    lesson_player_close(&p);
}

static void test_no_such_lesson_or_step(void **unused)
{
    struct lesson_player p;
    struct fa_error error;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    assert_int_equal(view_player_go(p.state, 7, 0, &error), FA_BAD_ARGUMENT);
    assert_int_equal(view_player_go(p.state, 40, 5, &error), FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "4 steps"));
    assert_null(p.view->lesson);
    p.fails = true;
    assert_int_equal(view_player_go(p.state, 40, 1, &error), FA_BAD_ARGUMENT);
    assert_true(p.frame->message.title[0] != '\0');
    lesson_player_close(&p);
}

/* ---- questions --------------------------------------------------------------------------- */

static void test_nothing_is_preset_and_check_is_off(void **unused)
{
    struct lesson_player p;
    (void)unused;
    for (int step = 1; step < 4; step++) {
        lesson_player_open_at(&p, step);
        assert_int_equal(p.view->phase, VIEW_LESSON_PREDICT);
        assert_true(p.frame->covered);
        assert_int_equal(p.view->choice, -1);
        assert_true(isnan(p.view->slider));
        assert_string_equal(p.view->typed, "");
        assert_true(lesson_player_hit(&p, VIEW_LESSON_CHECK, 0)->off);
        assert_true(lesson_player_hit(&p, VIEW_LESSON_NEXT, 0)->off);
        lesson_player_key(&p, VIEW_KEY_ENTER);
        assert_int_equal(p.view->phase, VIEW_LESSON_PREDICT);
        lesson_player_close(&p);
    }
}

static void test_right_by_keys(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 1);
    lesson_player_type(&p, "2");
    assert_int_equal(p.view->choice, 1);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->phase, VIEW_LESSON_RUN);
    assert_false(p.frame->covered);
    assert_true(p.frame->playing);
    lesson_player_wait(&p);
    assert_int_equal(p.view->phase, VIEW_LESSON_FEEDBACK);
    assert_int_equal(p.frame->at[0].landed, view_run_length(p.frame->run[0]));
    assert_int_equal(p.view->grade.verdict, LESSON_RIGHT);
    assert_string_equal(p.view->why, "K and V come 4 times.");
    assert_true(lesson_player_says(&p, "Right: "));
    assert_false(lesson_player_says(&p, "Not quite"));
    lesson_player_close(&p);
}

static void test_wrong_once_is_tried_once_more(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 1);
    uint64_t stands = p.frame->at[0].landed;
    lesson_player_click(&p, VIEW_LESSON_CHOOSE, 0);
    lesson_player_click(&p, VIEW_LESSON_CHECK, 0);
    assert_int_equal(p.view->phase, VIEW_LESSON_FEEDBACK);
    assert_true(p.view->again);
    assert_true(p.frame->covered); /* the answer is not told yet */
    assert_int_equal(p.frame->at[0].landed, stands);
    assert_true(lesson_player_says(&p, "Not quite: Q alone"));
    assert_true(lesson_player_says(&p, "Q moves 64 elements, once each."));
    lesson_player_click(&p, VIEW_LESSON_AGAIN, 0);
    assert_int_equal(p.view->phase, VIEW_LESSON_PREDICT);
    assert_int_equal(p.view->choice, -1);
    lesson_player_click(&p, VIEW_LESSON_CHOOSE, 0);
    lesson_player_click(&p, VIEW_LESSON_CHECK, 0);
    lesson_player_wait(&p);
    assert_int_equal(p.view->phase, VIEW_LESSON_FEEDBACK);
    assert_false(p.view->again); /* once */
    assert_null(lesson_player_hit(&p, VIEW_LESSON_AGAIN, 0));
    assert_false(p.frame->covered);
    assert_true(lesson_player_says(&p, "K and V come 4 times."));
    lesson_player_close(&p);
}

static void test_show_me_is_seen_and_not_wrong(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 1);
    lesson_player_click(&p, VIEW_LESSON_CHOOSE, 0);
    lesson_player_click(&p, VIEW_LESSON_SHOW, 0);
    lesson_player_wait(&p);
    assert_true(p.view->shown);
    assert_int_equal(p.view->tries, 0);
    assert_int_equal(p.view->choice, -1);
    assert_true(isnan(p.view->grade.given));
    assert_false(lesson_player_says(&p, "Not quite"));
    assert_false(lesson_player_says(&p, "Right"));
    assert_true(lesson_player_says(&p, "It is 512 elements"));
    lesson_player_close(&p);
}

static void test_a_slider_has_no_knob_until_it_is_moved(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 2);
    lesson_player_key(&p, VIEW_KEY_RIGHT);
    assert_true(fabs(p.view->slider - 1000) <= 1); /* the middle of 10 to 100 000 */
    uint64_t landed = p.frame->at[0].landed;
    for (int n = 0; n < 3; n++)
        lesson_player_key(&p, VIEW_KEY_RIGHT);
    assert_true(p.view->slider > 1000);
    lesson_player_key(&p, VIEW_KEY_LEFT);
    assert_int_equal(p.frame->at[0].landed, landed); /* arrows are the slider's */
    const struct view_box box = lesson_player_hit(&p, VIEW_LESSON_SLIDER, 0)->box;
    struct view_input input = {.kind = VIEW_INPUT_PRESS, .x = box.x + 1, .y = box.y + 4};
    view_state_take(p.state, &input);
    assert_true(p.view->slider < 11);
    input.kind = VIEW_INPUT_MOVE;
    input.x = box.x + box.w + 50;
    view_state_take(p.state, &input);
    assert_true(fabs(p.view->slider - 100000) <= 1);
    input.kind = VIEW_INPUT_MOVE;
    input.x = box.x - 50;
    view_state_take(p.state, &input);
    assert_true(fabs(p.view->slider - 10) <= 0.01);
    input.kind = VIEW_INPUT_RELEASE;
    view_state_take(p.state, &input);
    input.kind = VIEW_INPUT_MOVE;
    input.x = box.x + box.w;
    view_state_take(p.state, &input);
    assert_true(fabs(p.view->slider - 10) <= 0.01);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->grade.verdict, LESSON_WRONG);
    lesson_player_close(&p);
}

static void test_digits_go_to_the_answer(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 3);
    lesson_player_type(&p, "17");
    assert_string_equal(p.view->typed, "17");
    lesson_player_type(&p, "t"); /* the theme: the field has no focus */
    assert_ptr_equal(p.frame->theme, &view_light);
    lesson_player_type(&p, "pt"); /* now it has */
    assert_string_equal(p.view->typed, "17t");
    assert_ptr_equal(p.frame->theme, &view_light);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_true(p.view->refused[0] != '\0');
    assert_int_equal(p.view->tries, 0);
    lesson_player_key(&p, VIEW_KEY_BACKSPACE);
    assert_string_equal(p.view->refused, "");
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->grade.verdict, LESSON_WRONG_KNOWN);
    assert_true(lesson_player_says(&p, "There are 16 score tiles."));
    lesson_player_close(&p);
}

static void test_hints_replace_each_other(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 3);
    assert_true(lesson_player_says(&p, "Hint 1 of 2"));
    lesson_player_type(&p, "h");
    assert_string_equal(p.view->hint, "Count the tiles of Q.");
    lesson_player_click(&p, VIEW_LESSON_HINT, 0);
    assert_string_equal(p.view->hint, "One trip for each of 4 tiles.");
    assert_int_equal(p.view->hints, 2);
    assert_null(lesson_player_hit(&p, VIEW_LESSON_HINT, 0));
    lesson_player_type(&p, "h");
    assert_int_equal(p.view->hints, 2);
    assert_false(lesson_player_says(&p, "Count the tiles of Q."));
    lesson_player_close(&p);
}

static void test_what_comes_next_is_covered(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 1);
    uint64_t stands = p.frame->at[0].landed;
    lesson_player_key(&p, VIEW_KEY_END);
    assert_int_equal(p.frame->at[0].landed, stands);
    lesson_player_key(&p, VIEW_KEY_SPACE);
    lesson_player_wait(&p);
    assert_int_equal(p.frame->at[0].landed, stands);
    lesson_player_key(&p, VIEW_KEY_RIGHT);
    lesson_player_wait(&p);
    assert_int_equal(p.frame->at[0].landed, stands);
    lesson_player_key(&p, VIEW_KEY_HOME); /* what was seen may be seen again */
    assert_int_equal(p.frame->at[0].landed, 0);
    lesson_player_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_opens_its_run_and_plays),
        cmocka_unit_test(test_pausing_a_step_leaves_it_where_it_is),
        cmocka_unit_test(test_next_and_back),
        cmocka_unit_test(test_reduced_motion_goes_there_at_once),
        cmocka_unit_test(test_no_such_lesson_or_step),
        cmocka_unit_test(test_nothing_is_preset_and_check_is_off),
        cmocka_unit_test(test_right_by_keys),
        cmocka_unit_test(test_wrong_once_is_tried_once_more),
        cmocka_unit_test(test_show_me_is_seen_and_not_wrong),
        cmocka_unit_test(test_a_slider_has_no_knob_until_it_is_moved),
        cmocka_unit_test(test_digits_go_to_the_answer),
        cmocka_unit_test(test_hints_replace_each_other),
        cmocka_unit_test(test_what_comes_next_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
