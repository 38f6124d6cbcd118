#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lessons/learner.h"

static char folder[64], path[128], backup[160];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "test_learner.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a/b/progress.json", folder);
    snprintf(backup, sizeof backup, "%s.bak", path);
    return 0;
}

static int remove_folder(void **state)
{
    char part[128];
    (void)state;
    unlink(path);
    unlink(backup);
    snprintf(part, sizeof part, "%s/a/b", folder);
    rmdir(part);
    snprintf(part, sizeof part, "%s/a", folder);
    rmdir(part);
    return rmdir(folder); /* nothing else was left there */
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

static struct lesson_progress loaded(void)
{
    struct lesson_progress progress;
    struct fa_error error = {FA_OK, ""};
    memset(&progress, 0xAB, sizeof progress);
    if (lesson_progress_load(path, &progress, &error) != FA_OK)
        fail_msg("%s", error.text);
    return progress;
}

static void save(const struct lesson_progress *progress)
{
    struct fa_error error = {FA_OK, ""};
    if (lesson_progress_save(path, progress, &error) != FA_OK)
        fail_msg("%s", error.text);
}

static void assert_fresh(const struct lesson_progress *progress)
{
    assert_int_equal(progress->n, 0);
    assert_int_equal(progress->last_lesson, -1);
    assert_false(progress->race_seen);
}

static void test_fresh(void **state)
{
    struct lesson_progress progress = loaded();
    (void)state;
    assert_fresh(&progress);
    assert_false(progress.kept_backup);
    assert_false(exists(path));
}

static void test_round_trip(void **state)
{
    struct lesson_progress progress = loaded();
    (void)state;
    *lesson_progress_mark(&progress, 4) = (struct lesson_mark){4, 7, false, false};
    *lesson_progress_mark(&progress, 0) = (struct lesson_mark){0, 0, false, true};
    lesson_progress_mark(&progress, 4)->done = true;
    progress.race_seen = true;
    progress.last_lesson = 4;
    save(&progress);
    save(&progress); /* over the first */
    struct lesson_progress again = loaded();
    assert_int_equal(again.n, 2);
    assert_int_equal(again.mark[0].number, 4);
    assert_int_equal(again.mark[0].step, 7);
    assert_true(again.mark[0].done);
    assert_false(again.mark[0].skipped);
    assert_int_equal(again.mark[1].number, 0);
    assert_false(again.mark[1].done);
    assert_true(again.mark[1].skipped);
    assert_true(again.race_seen);
    assert_int_equal(again.last_lesson, 4);
    assert_false(again.kept_backup);
    assert_false(exists(backup));
    lesson_progress_reset(&again);
    assert_fresh(&again);
}

static void test_marks_are_bounded(void **state)
{
    struct lesson_progress progress;
    (void)state;
    lesson_progress_reset(&progress);
    for (int n = 0; n < LESSON_NUMBERS; n++)
        assert_non_null(lesson_progress_mark(&progress, n));
    assert_int_equal(progress.n, LESSON_NUMBERS);
    assert_non_null(lesson_progress_mark(&progress, 5));
    assert_null(lesson_progress_mark(&progress, 99));
    save(&progress);
    struct lesson_progress again = loaded();
    assert_int_equal(again.n, LESSON_NUMBERS);
}

/* What cannot be read is kept, and a learner starts afresh; the next time nothing is said. */
static void test_unreadable(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"schema\": \"flashlab.progress/1\"}",
        "{\"schema\": \"flashlab.progress/2\", \"race_seen\": true, \"last_lesson\": 1, "
        "\"lessons\": []}",
        "{\"schema\": \"flashlab.progress/1\", \"race_seen\": 1, \"last_lesson\": 1, \"lessons\": "
        "[]}",
        "{\"schema\": \"flashlab.progress/1\", \"race_seen\": true, \"last_lesson\": 64, "
        "\"lessons\": []}",
        "{\"schema\": \"flashlab.progress/1\", \"race_seen\": true, \"last_lesson\": 1, "
        "\"lessons\": "
        "[{\"number\": 3, \"step\": 9, \"done\": true, \"skipped\": false}]}",
        "{\"schema\": \"flashlab.progress/1\", \"race_seen\": true, \"last_lesson\": 1, "
        "\"lessons\": "
        "[{\"number\": 3, \"step\": 1, \"done\": true}]}",
        "{\"schema\": \"flashlab.progress/1\", \"race_seen\": true, \"last_lesson\": 1, "
        "\"lessons\": "
        "[{\"number\": 3, \"step\": 1, \"done\": true, \"skipped\": false},"
        " {\"number\": 3, \"step\": 1, \"done\": true, \"skipped\": false}]}",
    };
    struct lesson_progress fresh;
    (void)state;
    lesson_progress_reset(&fresh);
    save(&fresh); /* makes the folders */
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        write_text(texts[t]);
        struct lesson_progress progress = loaded();
        assert_fresh(&progress);
        if (!progress.kept_backup || exists(path) || !exists(backup))
            fail_msg("text %zu was taken for progress", t);
        progress = loaded();
        assert_false(progress.kept_backup);
    }
    write_text("{\"schema\": \"flashlab.progress/1\", \"race_seen\": true, \"last_lesson\": 1, "
               "\"lessons\": [{\"number\": 3, \"step\": 8, \"done\": true, \"skipped\": false}]}");
    struct lesson_progress progress = loaded();
    assert_false(progress.kept_backup);
    assert_int_equal(progress.mark[0].step, 8);
}

/* A folder in the way: the old file stays, no part is left, and the message names the file. */
static void test_failures(void **state)
{
    struct lesson_progress progress;
    struct fa_error error;
    char below[192];
    (void)state;
    lesson_progress_reset(&progress);
    save(&progress);
    snprintf(below, sizeof below, "%s/under/progress.json", path);
    assert_int_equal(lesson_progress_save(below, &progress, &error), FA_IO);
    assert_non_null(strstr(error.text, below));
    assert_true(exists(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(lesson_progress_save(path, &progress, &error), FA_IO);
    progress.n = 7;
    assert_int_equal(lesson_progress_load(path, &progress, &error), FA_IO);
    assert_int_equal(progress.n, 7);
    assert_int_equal(rmdir(path), 0);
}

static void test_path(void **state)
{
    char found[64];
    struct fa_error error;
    (void)state;
    setenv("HOME", "/h", 1);
    setenv("XDG_DATA_HOME", "/x", 1);
    setenv("FLASHLAB_DATA", "/d", 1);
    assert_int_equal(lesson_progress_path(found, sizeof found, &error), FA_OK);
    assert_string_equal(found, "/d/progress.json");
    unsetenv("FLASHLAB_DATA");
    assert_int_equal(lesson_progress_path(found, sizeof found, &error), FA_OK);
#ifdef __APPLE__
    assert_string_equal(found, "/h/Library/Application Support/flashlab/progress.json");
#else
    assert_string_equal(found, "/x/flashlab/progress.json");
    setenv("XDG_DATA_HOME", "x", 1);
    assert_int_equal(lesson_progress_path(found, sizeof found, &error), FA_OK);
    assert_string_equal(found, "/h/.local/share/flashlab/progress.json");
#endif
    assert_int_equal(lesson_progress_path(found, 8, &error), FA_IO);
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_int_equal(lesson_progress_path(found, sizeof found, &error), FA_IO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_fresh),      TEST(test_round_trip), TEST(test_marks_are_bounded),
        TEST(test_unreadable), TEST(test_failures),   cmocka_unit_test(test_path),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
