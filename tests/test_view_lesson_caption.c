/* What a saved picture of a lesson says of its run: nothing that is true on this computer alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lesson_stage.h"

static struct lesson_stage stage;
static char folder_before[PATH_MAX];

static void expect_caption(const char *text)
{
    char caption[1024];
    cli_view_caption(&stage.view, stage.frame, caption, sizeof caption);
    assert_string_equal(caption, text);
}

static void expect_caption_with(const char *word)
{
    char caption[1024];
    cli_view_caption(&stage.view, stage.frame, caption, sizeof caption);
    if (!strstr(caption, word) || strstr(caption, FLASHLAB_SOURCE_DIR))
        fail_msg("\"%s\", expected \"%s\" in it, and no path of this computer", caption, word);
}

static void go_to(const char *folder)
{
    assert_int_equal(chdir(folder), 0);
}

/* The stream's lesson, whose numbers lie in a file. */
static int open_lesson(void **state)
{
    (void)state;
    lesson_stage_open(&stage, lesson_find(lesson_stage_shelf(), 3));
    return getcwd(folder_before, sizeof folder_before) ? 0 : -1;
}

static int close_lesson(void **state)
{
    (void)state;
    lesson_stage_close(&stage);
    lesson_stage_close_shelf(NULL);
    return chdir(folder_before);
}

static void test_a_step_is_named_by_its_number(void **state)
{
    const struct lesson *lesson = lesson_find(lesson_stage_shelf(), 3);
    (void)state;
    lesson_stage_go(&stage, lesson, 0);
    expect_caption("flashlab view --lesson 3");
    lesson_stage_go(&stage, lesson, 4);
    expect_caption("flashlab view --lesson 3 --step 5");
    lesson_stage_go(&stage, lesson, lesson->n_steps);
    assert_int_equal(lesson->n_steps, 8);
    expect_caption("flashlab view --lesson 3 --step 9");
}

/* Free exploration goes on with the lesson's file, which is named from where one stands, else as
 * the lesson names it. */
static void test_files_are_named_from_here(void **state)
{
    (void)state;
    lesson_stage_go(&stage, lesson_find(lesson_stage_shelf(), 3), 0);
    view_state_do(stage.state, VIEW_EXPLORE, 0);
    assert_null(stage.lesson->lesson);
    go_to("/");
    expect_caption_with(" --in=data/stream");
    go_to(FLASHLAB_SOURCE_DIR "/tests");
    expect_caption_with(" --in=data/stream");
    go_to(FLASHLAB_SOURCE_DIR);
    expect_caption_with(" --in=lessons/data/stream");
    go_to(FLASHLAB_SOURCE_DIR "/lessons/data");
    expect_caption_with(" --in=stream");
}

/* A changed run is no step of the lesson any more. */
static void test_a_changed_run_is_told_by_its_options(void **state)
{
    char caption[1024];
    (void)state;
    const struct lesson *lesson = lesson_find(lesson_stage_shelf(), 4);
    int step = 0;
    while (step < lesson->n_steps && !(lesson->step[step].breaks && lesson->step[step].breaks->run))
        step++;
    assert_true(step < lesson->n_steps);
    lesson_stage_go(&stage, lesson, step);
    view_state_do(stage.state, VIEW_LESSON_RUN_IT, 0);
    assert_true(stage.lesson->changed);
    cli_view_caption(&stage.view, stage.frame, caption, sizeof caption);
    assert_null(strstr(caption, "--lesson"));
    assert_non_null(strstr(caption, "--algorithm=flash2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_named_by_its_number),
        cmocka_unit_test(test_files_are_named_from_here),
        cmocka_unit_test(test_a_changed_run_is_told_by_its_options),
    };
    return cmocka_run_group_tests(tests, open_lesson, close_lesson);
}
