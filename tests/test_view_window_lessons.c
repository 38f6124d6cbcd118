/*
 * Where a window without words begins: with the race at first, and then where the learner left off,
 * after a crash too. The progress is in a data folder of the test's own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/window_case.h"

#ifdef FLASHLAB_HAVE_LESSONS

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lessons/learner.h"
#include "tests/lesson_case.h"
#include "tests/program_run.h"
#include "tests/view_case.h"
#include "visualizer/player.h"

static const char step_1[] = "40  Trips of a tile, step 1 of 3";
static const char step_2[] = "40  Trips of a tile, step 2 of 3";
static const char step_3[] = "40  Trips of a tile, step 3 of 3";

/* The lessons of the test's own folder, and nothing else that says what to show. */
static void open_lessons(const char *title)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", program_path("shelf"));
    const char *words[] = {"--lessons", folder, NULL};
    window_open(words, title);
}

static void close_by_key(void)
{
    window_act("key ctrl+q");
    assert_int_equal(window_wait_for_end(), 0);
}

static struct lesson_progress progress(void)
{
    struct lesson_progress loaded;
    const char *path = program_path("data/flashlab/progress.json");
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(lesson_progress_load(path, &loaded, NULL), FA_OK);
    assert_false(loaded.kept_backup);
    return loaded;
}

/* Where a hand finds a button of the contents page, as the window draws it. */
static void click_on_contents(struct lesson_progress kept, enum view_action action, int64_t value,
                              bool reset_asked)
{
    static const struct view_host nobody = {0};
    struct lesson_shelf shelf;
    struct view_state *state;
    struct view_box box = {0};
    assert_int_equal(lesson_shelf_open(program_path("shelf"), &shelf, NULL), FA_OK);
    const struct view_lesson_host host = {.shelf = &shelf, .progress = &kept};
    assert_int_equal(view_state_open(&nobody, &view_builtin_face, 1280, 720, &state, NULL), FA_OK);
    assert_int_equal(view_player_open(state, &host, NULL), FA_OK);
    view_state_show(state, view_case_open(&view_case_tidy), NULL, 0, NULL, NULL, 0);
    view_player_page(state, VIEW_PAGE_CONTENTS);
    if (reset_asked)
        view_state_do(state, VIEW_LESSON_RESET, 0);
    const struct view_draw *draw = view_state_draw(state);
    for (size_t i = 0; i < draw->n_hits; i++)
        if (draw->hits[i].action == action && draw->hits[i].value == value)
            box = draw->hits[i].box;
    view_state_close(state);
    lesson_shelf_close(&shelf);
    assert_true(box.w > 0);
    window_click(box);
}

static void test_a_learner_comes_back(void **unused)
{
    (void)unused;
    /* The first start is the race; who skips it has seen it. */
    open_lessons("the race");
    assert_int_not_equal(access(program_path("data/flashlab/progress.json"), F_OK), 0);
    window_act("key Escape");
    window_expect_title("the lessons");
    close_by_key();
    assert_true(progress().race_seen);
    assert_int_equal(progress().last_lesson, -1);

    /* The second is the contents page: a lesson is opened, and gone on in. */
    open_lessons("the lessons");
    window_act("key Return");
    window_expect_title(step_1);
    window_act("key n");
    window_expect_title(step_2);
    close_by_key();
    assert_int_equal(progress().last_lesson, 40);
    assert_int_equal(progress().mark[0].step, 1);
    assert_false(progress().mark[0].done);

    /* The third is the step that was left, and an answer leads on from there. */
    open_lessons(step_2);
    window_act("key p");
    window_act("key 4 Return");
    for (int i = 0; i < 40 && progress().mark[0].step < 2; i++) {
        window_act("key n"); /* first to where the answer is seen, then to the next step */
        window_nap();
    }
    window_expect_title(step_3);
    window_signal(SIGKILL);
    assert_int_equal(window_wait_for_end(), -2);

    /* A crash takes nothing of it. */
    open_lessons(step_3);
    window_act("key l");
    window_expect_title("the lessons");

    /* Reset asks first, and then forgets all of it: the next start is a first one. */
    click_on_contents(progress(), VIEW_LESSON_RESET, 0, false);
    window_nap();
    assert_int_equal(progress().last_lesson, 40);
    click_on_contents(progress(), VIEW_LESSON_RESET, 1, true);
    for (int i = 0; i < 100 && progress().last_lesson != -1; i++)
        window_nap();
    assert_int_equal(progress().last_lesson, -1);
    assert_int_equal(progress().n, 0);
    assert_false(progress().race_seen);
    close_by_key();
    open_lessons("the race");
    close_by_key();
}

/* Words that say what to show come before all that was done, and a class leaves no trace. */
static void test_words_come_first(void **unused)
{
    char folder[512];
    (void)unused;
    snprintf(folder, sizeof folder, "%s", program_path("shelf"));
    const char *cross[] = {"--lessons", folder, "--stage", "cross", NULL};
    const char *lesson[] = {"--lessons", folder, "--lesson",  "40",
                            "--step",    "2",    "--present", NULL};
    window_open(cross, "flash2, start");
    close_by_key();
    window_open(lesson, step_2);
    close_by_key();
    assert_int_not_equal(access(program_path("data/flashlab/progress.json"), F_OK), 0);
}

/* Each test begins without anything done before. */
static int forget(void **unused)
{
    window_close(unused);
    unlink(program_path("data/flashlab/progress.json"));
    return 0;
}

static int open_all(void **unused)
{
    char *text = lesson_case_example();
    setenv("XDG_DATA_HOME", program_path("data"), 1);
    unsetenv("FLASHLAB_DATA");
    mkdir(program_path("data"), 0700);
    mkdir(program_path("shelf"), 0700);
    FILE *file = fopen(program_path("shelf/40-trips.md"), "w");
    bool written = text && file && fputs(text, file) >= 0;
    written = file && fclose(file) == 0 && written;
    free(text);
    return written ? window_server_start(unused) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_learner_comes_back, forget),
        cmocka_unit_test_teardown(test_words_come_first, forget),
    };
    return window_possible() ? cmocka_run_group_tests(tests, open_all, window_server_stop)
                             : WINDOW_SKIPPED;
}

#else

int main(void)
{
    return WINDOW_SKIPPED;
}

#endif
