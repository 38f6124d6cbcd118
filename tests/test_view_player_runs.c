/* Lessons without a window: other parameters, breaking, the end, what is kept, and the pages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lesson_player.h"

/* ---- other parameters -------------------------------------------------------------------- */

static void test_a_changed_run_has_other_answers(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 3);
    lesson_player_change(&p, "n", "32");
    assert_true(p.view->changed);
    assert_string_equal(p.view->changes, "You changed N.");
    assert_int_equal(p.view->phase, VIEW_LESSON_PREDICT);
    assert_true(fabs(p.view->answers.right - 8) <= 1e-9);
    lesson_player_type(&p, "8");
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->grade.verdict, LESSON_RIGHT);
    assert_string_equal(p.view->why, "There are 8 tiles of queries.");
    lesson_player_wait(&p);
    lesson_player_click(&p, VIEW_LESSON_RETURN, 0);
    assert_false(p.view->changed);
    assert_int_equal(p.view->phase, VIEW_LESSON_PREDICT);
    assert_true(fabs(p.view->answers.right - 4) <= 1e-9);
    lesson_player_close(&p);
}

/* A learner's run may leave no right choice: the window says so without the author's file and line,
 * and offers the lesson's run. */
static void test_a_question_that_the_run_has_no_answer_to(void **unused)
{
    static char text[8192];
    const char *const texts[] = {text, NULL};
    const char *from = strstr(lesson_player_shelf[0], "  - expression: moved(K) + moved(V)\n");
    struct lesson_player p;
    (void)unused;
    assert_non_null(from);
    snprintf(text, sizeof text, "%.*s  - expression: 512\n%s", (int)(from - lesson_player_shelf[0]),
             lesson_player_shelf[0], strchr(from, '\n') + 1);
    lesson_player_open(&p, texts, 1280, 720, false);
    lesson_player_go(&p, 40, 1);
    assert_non_null(p.view->question);
    assert_string_equal(p.view->trouble, "");
    lesson_player_change(&p, "n", "32");
    assert_null(p.view->question);
    assert_non_null(strstr(p.view->trouble, "the question cannot be asked"));
    assert_null(strstr(p.view->trouble, ".md"));
    lesson_player_click(&p, VIEW_LESSON_RETURN, 0);
    assert_non_null(p.view->question);
    assert_string_equal(p.view->trouble, "");
    lesson_player_close(&p);
}

static void test_going_on_brings_the_lessons_run_back(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 0);
    lesson_player_change(&p, "n", "32");
    assert_string_equal(p.view->prose[0], "There are 32 queries.");
    lesson_player_do(&p, VIEW_LESSON_NEXT, 0);
    assert_int_equal(p.view->step, 1);
    assert_false(p.view->changed);
    assert_int_equal(view_run_header(p.frame->run[0])->problem.nq, 16);
    lesson_player_close(&p);
}

static void answer_the_slider(struct lesson_player *p)
{
    lesson_player_click(p, VIEW_LESSON_SHOW, 0);
    lesson_player_wait(p);
    lesson_player_do(p, VIEW_LESSON_NEXT, 0);
    assert_int_equal(p->view->step, 2);
    assert_int_equal(p->view->phase, VIEW_LESSON_BREAK);
}

static void test_break_it_by_the_button(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 2);
    answer_the_slider(&p);
    assert_string_equal(p.view->consequence, "");
    assert_true(lesson_player_says(&p, "Make the tiles of queries taller."));
    lesson_player_click(&p, VIEW_LESSON_RUN_IT, 0);
    assert_int_equal(view_run_tiles(p.frame->run[0]).br, 8);
    assert_true(p.view->changed);
    assert_string_equal(p.view->consequence, "Now 128 elements of K move.");
    lesson_player_wait(&p);
    assert_int_equal(p.frame->at[0].landed, view_run_length(p.frame->run[0]));
    assert_int_equal(p.view->phase, VIEW_LESSON_BREAK);
    lesson_player_click(&p, VIEW_LESSON_RETURN, 0);
    assert_int_equal(view_run_tiles(p.frame->run[0]).br, 4);
    assert_false(p.view->changed);
    lesson_player_do(&p, VIEW_LESSON_NEXT, 0);
    assert_int_equal(p.view->step, 3);
    lesson_player_close(&p);
}

static void test_break_it_by_a_chip(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 2);
    answer_the_slider(&p);
    lesson_player_change(&p, "tiles", "16x4");
    assert_string_equal(p.view->consequence, "Now 64 elements of K move.");
    assert_int_equal(p.view->phase, VIEW_LESSON_BREAK);
    lesson_player_close(&p);
}

/* ---- the end, what is kept --------------------------------------------------------------- */

static void test_to_the_end_and_the_next_lesson(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 3);
    lesson_player_type(&p, "4");
    lesson_player_key(&p, VIEW_KEY_ENTER);
    lesson_player_wait(&p);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->phase, VIEW_LESSON_END);
    assert_true(lesson_player_says(&p, "Every tile of queries"));
    assert_null(p.view->question);
    assert_true(view_lesson_mark(p.view, 40)->done);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->lesson->number, 41);
    assert_non_null(p.frame->run[1]);
    assert_int_equal(p.frame->clock, VIEW_SAME_TRAFFIC);
    assert_false(p.frame->bytes);
    lesson_player_wait(&p);
    for (int which = 0; which < 2; which++)
        assert_int_equal(p.frame->at[which].landed, view_run_length(p.frame->run[which]));
    lesson_player_close(&p);
}

static void test_the_recall_is_of_its_own_run(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    lesson_player_go(&p, 41, 1);
    assert_int_equal(p.view->phase, VIEW_LESSON_END);
    assert_non_null(p.view->question);
    lesson_player_type(&p, "63");
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_true(p.view->again);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_false(p.view->answered);
    lesson_player_type(&p, "64");
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->grade.verdict, LESSON_RIGHT);
    assert_string_equal(p.view->why, "Each of 8 queries meets each of 8 keys.");
    assert_int_equal(p.view->phase, VIEW_LESSON_END);
    lesson_player_key(&p, VIEW_KEY_ENTER); /* the last lesson: the contents */
    assert_int_equal(p.view->page, VIEW_PAGE_CONTENTS);
    lesson_player_close(&p);
}

static void test_each_step_is_kept_and_resumed(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 0);
    assert_int_equal(p.saves, 1);
    lesson_player_go(&p, 40, 2);
    lesson_player_go(&p, 40, 1);
    assert_int_equal(p.saves, 3);
    assert_int_equal(view_lesson_mark(p.view, 40)->step, 2);
    assert_int_equal(p.progress.last_lesson, 40);
    lesson_player_do(&p, VIEW_EXPLORE, 0);
    assert_null(p.view->lesson);
    assert_int_equal(p.frame->panel, VIEW_PANEL_CODE);
    assert_non_null(p.frame->run[0]);
    lesson_player_do(&p, VIEW_LESSON_START, 0);
    assert_int_equal(p.view->step, 2);
    lesson_player_go(&p, 40, 4);
    assert_true(view_lesson_mark(p.view, 40)->done);
    lesson_player_do(&p, VIEW_LESSON_START, 0); /* the next one that is not done */
    assert_int_equal(p.view->lesson->number, 41);
    lesson_player_do(&p, VIEW_PAGE, VIEW_PAGE_CONTENTS);
    lesson_player_do(&p, VIEW_LESSON_RESET, 0);
    assert_true(p.view->reset_asked);
    assert_int_equal(p.progress.n, 2);
    lesson_player_do(&p, VIEW_LESSON_RESET, 1);
    assert_int_equal(p.progress.n, 0);
    lesson_player_close(&p);
}

static void test_a_track_is_a_part_of_the_steps(void **unused)
{
    struct lesson_player p;
    const char *names[LESSON_NUMBERS];
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    assert_int_equal(view_lesson_tracks(&p.shelf, names), 2);
    assert_string_equal(names[0], "class");
    lesson_player_do(&p, VIEW_PAGE, VIEW_PAGE_CONTENTS);
    lesson_player_do(&p, VIEW_LESSON_TRACK, 0);
    lesson_player_do(&p, VIEW_LESSON_OPEN, 40);
    assert_int_equal(p.view->step, 1);
    assert_true(lesson_player_says(&p, "Step 1 of 2"));
    lesson_player_go(&p, 40, 2);
    answer_the_slider(&p);
    lesson_player_do(&p, VIEW_LESSON_NEXT, 0);
    assert_int_equal(p.view->phase, VIEW_LESSON_END);
    assert_null(p.view->next); /* lesson 41 is on the other */
    lesson_player_close(&p);
}

static void test_presenting_keeps_nothing_and_r_reveals(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, true);
    assert_ptr_equal(p.frame->theme, &view_light);
    lesson_player_go(&p, 40, 1);
    lesson_player_type(&p, "r");
    assert_int_equal(p.view->phase, VIEW_LESSON_RUN);
    assert_int_equal(p.saves, 0);
    assert_int_equal(p.progress.n, 0);
    lesson_player_close(&p);
}

/* ---- pages ------------------------------------------------------------------------------- */

static void test_l_opens_the_contents_and_esc_leads_back(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open_at(&p, 1);
    lesson_player_type(&p, "1l");
    assert_int_equal(p.view->page, VIEW_PAGE_CONTENTS);
    lesson_player_key(&p, VIEW_KEY_SPACE); /* the run is not seen */
    assert_false(p.frame->playing);
    lesson_player_key(&p, VIEW_KEY_ESCAPE);
    assert_int_equal(p.view->page, VIEW_PAGE_STAGE);
    assert_int_equal(p.view->step, 1);
    assert_int_equal(p.view->choice, 0); /* as it was left */
    view_player_page(p.state, VIEW_PAGE_RACE);
    lesson_player_key(&p, VIEW_KEY_ESCAPE); /* to the contents */
    lesson_player_key(&p, VIEW_KEY_ESCAPE);
    assert_int_equal(p.view->page, VIEW_PAGE_STAGE);
    assert_string_equal(p.words, "--algorithm flash2 --n 16 --d 4 --tiles 4x4 --sram 4K");
    assert_true(p.frame->covered);
    lesson_player_type(&p, "l/two");
    assert_string_equal(p.view->search, "two");
    assert_int_equal(p.view->card, 1);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->lesson->number, 41);
    lesson_player_close(&p);
}

static void test_the_race_stops_and_asks(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    view_player_page(p.state, VIEW_PAGE_RACE);
    assert_int_equal(p.frame->clock, VIEW_SAME_TRAFFIC);
    assert_true(p.frame->playing);
    lesson_player_wait(&p);
    assert_int_equal(p.view->race_phase, 1);
    assert_int_equal(p.frame->at[1].landed, view_run_length(p.frame->run[1]));
    assert_true(p.frame->at[0].landed < view_run_length(p.frame->run[0]));
    lesson_player_key(&p, VIEW_KEY_ENTER); /* nothing was guessed */
    assert_int_equal(p.view->race_phase, 1);
    lesson_player_key(&p, VIEW_KEY_RIGHT);
    assert_true(fabs(p.view->race_guess - 5.5) < 1e-9);
    lesson_player_key(&p, VIEW_KEY_LEFT);
    assert_true(fabs(p.view->race_guess - 5.4) < 1e-9);
    struct view_box scale = lesson_player_hit(&p, VIEW_RACE_GUESS, 0)->box;
    struct view_input input = {.kind = VIEW_INPUT_PRESS, .x = scale.x + scale.w / 3,
                               .y = scale.y + 4};
    view_state_take(p.state, &input);
    input.kind = VIEW_INPUT_RELEASE;
    view_state_take(p.state, &input);
    assert_true(fabs(p.view->race_guess - 4) < 1e-9);
    lesson_player_key(&p, VIEW_KEY_ENTER);
    assert_int_equal(p.view->race_phase, 2);
    assert_int_equal(p.saves, 0);
    lesson_player_wait(&p);
    assert_int_equal(p.view->race_phase, 3);
    assert_int_equal(p.frame->at[0].landed, view_run_length(p.frame->run[0]));
    assert_true(p.progress.race_seen);
    assert_int_equal(p.saves, 1);
    lesson_player_do(&p, VIEW_RACE_ON, 0);
    assert_int_equal(p.view->lesson->number, 40);
    lesson_player_close(&p);
}

static void test_the_race_is_three_stills_with_reduced_motion(void **unused)
{
    struct lesson_player p;
    (void)unused;
    lesson_player_open(&p, lesson_player_shelf, 1280, 720, false);
    p.frame->reduced_motion = true;
    for (int way = 0; way < 3; way++) { /* on by Enter, Space or the button */
        view_player_page(p.state, VIEW_PAGE_RACE);
        /* The first stays until it is gone on from: both are half way, and nothing moves. */
        for (int tick = 0; tick < 200; tick++)
            view_state_tick(p.state, 100);
        view_state_draw(p.state);
        assert_int_equal(p.view->race_phase, 0);
        assert_true(view_state_idle(p.state));
        assert_int_equal(p.frame->at[1].landed, view_run_length(p.frame->run[1]) / 2);
        assert_true(p.frame->at[0].landed > 0);
        if (way == 2)
            lesson_player_do(&p, VIEW_RACE_ON, 0);
        else
            lesson_player_key(&p, way == 0 ? VIEW_KEY_ENTER : VIEW_KEY_SPACE);
        assert_int_equal(p.view->race_phase, 1);
        assert_int_equal(p.frame->at[1].landed, view_run_length(p.frame->run[1]));
        lesson_player_key(&p, VIEW_KEY_RIGHT);
        lesson_player_key(&p, VIEW_KEY_ENTER);
        view_state_tick(p.state, 16);
        assert_int_equal(p.view->race_phase, 3);
        assert_int_equal(p.frame->at[0].landed, view_run_length(p.frame->run[0]));
    }
    lesson_player_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_changed_run_has_other_answers),
        cmocka_unit_test(test_a_question_that_the_run_has_no_answer_to),
        cmocka_unit_test(test_going_on_brings_the_lessons_run_back),
        cmocka_unit_test(test_break_it_by_the_button),
        cmocka_unit_test(test_break_it_by_a_chip),
        cmocka_unit_test(test_to_the_end_and_the_next_lesson),
        cmocka_unit_test(test_the_recall_is_of_its_own_run),
        cmocka_unit_test(test_each_step_is_kept_and_resumed),
        cmocka_unit_test(test_a_track_is_a_part_of_the_steps),
        cmocka_unit_test(test_presenting_keeps_nothing_and_r_reveals),
        cmocka_unit_test(test_l_opens_the_contents_and_esc_leads_back),
        cmocka_unit_test(test_the_race_stops_and_asks),
        cmocka_unit_test(test_the_race_is_three_stills_with_reduced_motion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
