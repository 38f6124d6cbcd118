#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lesson_case.h"

/* ---- terms ---- */

#define FRONT_TERMS(number, needs, terms)                                                          \
    "---\nlesson: " number "\ntitle: T\ncard: C?\nchapter: The idea\nminutes: 5\nlevel: 1\n"       \
    "scenario: --n 4\nbeliefs: B.\nknow: K.\nneeds: " needs "\nterms: " terms "\n---\n## One\n"

static void refused(const char *text, const char *said)
{
    struct lesson *lesson = NULL;
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(lesson_parse("x", text, strlen(text), &lesson, &error), FA_BAD_FILE);
    assert_string_equal(error.text, said);
}

static void test_terms_of_a_lesson(void **state)
{
    (void)state;
    struct lesson *lesson = lesson_case_read(
        "x", FRONT_TERMS("3", "[]",
                         "{online softmax: a, tile: b}") "TILES, subtile.\n## Two\nThe online\n"
                                                         "softmax of {tiles()} tiles.\n");
    assert_string_equal(lesson->step[0].introduces, "tile");
    assert_string_equal(lesson->step[1].introduces, "online softmax");
    lesson_free(lesson);
    refused(FRONT_TERMS("3", "[]", "{tile: b}") "A subtile, tilesy, {tiles()}.\n```\ntile\n```\n",
            "x:12: the term 'tile' is in no step: expected one that uses it");
    refused(FRONT_TERMS("3", "[]", "{tile: b, stale: c}") "A tile.\n\nIt is stale.\n",
            "x:17: 'stale' is new in the same step as 'tile': expected one new term a step");
    /* What a question says counts too. */
    refused(FRONT_TERMS("3", "[]",
                        "{tile: b, stale: c}") "A tile.\n\n```ask\nid: a\nkind: number\n"
                                               "text: Which?\nexpression: n\nwhy: Stale.\n```\n",
            "x:18: 'stale' is new in the same step as 'tile': expected one new term a step");
}

/* ---- the shelf ---- */

static char folder[64];

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void take(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* The shelf is refused, and the text names the folder's file. */
static void shelf_refused(const char *file, const char *said)
{
    struct lesson_shelf shelf;
    struct fa_error error = {FA_OK, ""};
    char start[128];
    snprintf(start, sizeof start, "%s/%s", folder, file);
    assert_int_equal(lesson_shelf_open(folder, &shelf, &error), FA_BAD_FILE);
    if (strncmp(error.text, start, strlen(start)) != 0 || !strstr(error.text, said))
        fail_msg("expected %s: %s, got %s", start, said, error.text);
}

static void test_shelf(void **state)
{
    struct lesson_shelf shelf;
    struct fa_error error;
    (void)state;
    snprintf(folder, sizeof folder, "test_lessons.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(lesson_shelf_open("no/such/folder", &shelf, &error), FA_IO);
    assert_non_null(strstr(error.text, "no/such/folder"));
    put("README.md", "no lesson");
    assert_int_equal(lesson_shelf_open(folder, &shelf, &error), FA_IO);
    assert_non_null(strstr(error.text, "no lesson in it"));
    put("01-a.md", FRONT_TERMS("1", "[]", "{tile: b}") "A tile.\n");
    put("02-b.md", FRONT_TERMS("2", "[1]", "{stale: b}") "A stale one.\n");
    put("03-c.md", FRONT_TERMS("3", "[2]", "{}") "Stale tiles.\n");
    assert_int_equal(lesson_shelf_open(folder, &shelf, &error), FA_OK);
    assert_int_equal(shelf.n, 3);
    assert_int_equal(shelf.lesson[1]->number, 2);
    assert_ptr_equal(lesson_find(&shelf, 3), shelf.lesson[2]);
    assert_null(lesson_find(&shelf, 4));
    assert_string_equal(shelf.folder, folder);
    lesson_shelf_close(&shelf);

    put("04-d.md", FRONT_TERMS("4", "[1]", "{}") "A tile.\n\nIt is *stale*.\n");
    shelf_refused("04-d.md:17:", "'stale' is a term of lesson 2");
    put("04-d.md", FRONT_TERMS("4", "[3]", "{tile: again}") "A tile.\n");
    shelf_refused("04-d.md:12:", "was introduced by lesson 1");
    put("04-d.md", FRONT_TERMS("4", "[0]", "{}") "Text.\n");
    shelf_refused("04-d.md:11:", "it needs lesson 0");
    put("04-d.md", FRONT_TERMS("4", "[]", "{stale: a}") "Stale.\n"); /* on no path of lesson 2 */
    assert_int_equal(lesson_shelf_open(folder, &shelf, &error), FA_OK);
    lesson_shelf_close(&shelf);
    put("04-d.md",
        "---\nlesson: 4\ntitle: T\ncard: C?\nchapter: The idea\nminutes: 5\nlevel: 1\nscenario: "
        "--n 4\n"
        "beliefs: B.\nknow: K.\nrecall:\n  id: a\n  kind: number\n  text: Stale?\n  expression: n\n"
        "  why: W.\n  scenario: --n 4\n---\n## One\nText.\n");
    shelf_refused("04-d.md:12:", "'stale' is a term of lesson 2");
    put("04-d.md", "bad");
    shelf_refused("04-d.md:1:", "no front matter");
    take("04-d.md");
    put("03-d.md", FRONT_TERMS("3", "[1]", "{}") "Text.\n");
    shelf_refused("03-", "lesson 3 is also in");
    for (const char *const *name =
             (const char *const[]){"README.md", "01-a.md", "02-b.md", "03-c.md", "03-d.md", NULL};
         *name; name++)
        take(*name);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms_of_a_lesson),
        cmocka_unit_test(test_shelf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
