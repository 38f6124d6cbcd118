/*
 * The cards of the contents page: each lesson that is there has a key frame, made from its own run,
 * and a place for it at every size.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/lesson_stage.h"
#include "visualizer/contents.h"
#include "visualizer/player.h"
#include "visualizer/thumb.h"

static struct lesson_stage stage;

static int open_page(void **state)
{
    (void)state;
    lesson_stage_open(&stage, NULL);
    view_player_page(stage.state, VIEW_PAGE_CONTENTS);
    view_state_settle(stage.state);
    return 0;
}

static int close_page(void **state)
{
    (void)state;
    lesson_stage_close(&stage);
    lesson_stage_close_shelf(NULL);
    return 0;
}

static const struct view_thumb *thumb_of(int number)
{
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    for (int i = 0; i < shelf->n; i++)
        if (shelf->lesson[i]->number == number && stage.lesson->thumb[i])
            return stage.lesson->thumb[i];
    fail_msg("lesson %d has no key frame", number);
    return NULL;
}

static uint64_t moved(const struct view_thumb *thumb, int run)
{
    uint64_t sum = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += thumb->moved[run][id];
    return sum;
}

static int cells(const struct view_thumb *thumb, int n, int value)
{
    int found = 0;
    for (int c = 0; c < n; c++)
        found += thumb->cell[c] == value;
    return found;
}

/* Each shows what its lesson is about, in the numbers of its run. */
static void test_each_has_a_key_frame(void **state)
{
    static const enum view_thumb_kind kinds[] = {
        VIEW_THUMB_ROW,     VIEW_THUMB_SCALE,  VIEW_THUMB_TRAFFIC, VIEW_THUMB_ROW,
        VIEW_THUMB_TILES,   VIEW_THUMB_BLOCKS, VIEW_THUMB_TRAFFIC, VIEW_THUMB_SHAPES,
        VIEW_THUMB_TRAFFIC, VIEW_THUMB_CHECKS, VIEW_THUMB_TRAFFIC, VIEW_THUMB_TILES,
        VIEW_THUMB_TILES,   VIEW_THUMB_BITS};
    (void)state;
    for (int number = 0; number < 14; number++)
        assert_int_equal(thumb_of(number)->kind, kinds[number]);
    assert_int_equal(thumb_of(1)->scores, 2 * 1024 * 1024);
    assert_int_equal(thumb_of(1)->sram, 192 * 1024);
    assert_int_equal(moved(thumb_of(2), 0), 4 * 73728);
    assert_int_equal(thumb_of(3)->columns, 5); /* the stream */
    assert_int_equal(thumb_of(5)->sram, 4096);
    assert_int_equal(moved(thumb_of(6), 0), 4 * 59648);
    assert_int_equal(moved(thumb_of(6), 1), 4 * 36992);
    assert_int_equal(moved(thumb_of(7), 0), 4 * 1573888);
    assert_true(moved(thumb_of(7), 1) > 5 * moved(thumb_of(7), 0));
    assert_true(moved(thumb_of(8), 0) > moved(thumb_of(8), 1)); /* where flash loses */
    assert_int_equal(moved(thumb_of(10), 0), 4 * 4686848);
    assert_int_equal(moved(thumb_of(10), 1), 4 * 11796480);
    assert_int_equal(cells(thumb_of(11), 256, VIEW_THUMB_DONE), 120);
    assert_int_equal(cells(thumb_of(11), 256, VIEW_THUMB_CUT), 16);
    assert_int_equal(cells(thumb_of(12), 64, VIEW_THUMB_DONE), 34); /* a band, a row, a column */
    assert_int_equal(lesson_stage_shelf()->n, 15);
    assert_non_null(thumb_of(14));
}

/* The published fault shows at the second tile, and at none before. */
static void test_the_bug_is_seen_from_its_tile(void **state)
{
    const struct view_thumb *thumb = thumb_of(9);
    (void)state;
    assert_int_equal(thumb->columns, 4);
    assert_int_equal(thumb->cell[0], 1);
    for (int tile = 1; tile < 4; tile++)
        assert_int_equal(thumb->cell[tile], 0);
}

static struct view_draw list;
static const struct view_thumb *thumbs[LESSON_NUMBERS];

/* Items of the page, scrolled to the card, with that card's key frame alone or with none. */
static size_t items_with(const struct view_lesson *lesson, float width, float height, int card,
                         bool with)
{
    struct view_frame frame = view_case_frame(NULL, NULL, width, height, 0);
    struct view_scene scene;
    frame.lesson = lesson;
    memset(thumbs, 0, sizeof thumbs);
    thumbs[card] = with ? stage.lesson->thumb[card] : NULL;
    scene = view_case_scene(&frame);
    frame.scroll = view_contents_scroll(&list, &scene, card);
    scene = view_case_scene(&frame);
    view_draw_clear(&list);
    view_scene_contents(&list, &scene);
    return list.n_items;
}

/* Without its key frame a card is another picture: so there is a place for it, and it is drawn. */
static void test_each_has_a_place(void **state)
{
    static const float sizes[][2] = {{1280, 720}, {1920, 1080}, {800, 600},  {640, 480},
                                     {1000, 700}, {1164, 720},  {1366, 768}, {1024, 768}};
    struct view_lesson lesson = *stage.lesson;
    (void)state;
    view_draw_open(&list, &view_builtin_face, &view_dark);
    lesson.thumb = thumbs;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int card = 0; card < lesson_stage_shelf()->n; card++) {
            float width = sizes[s][0], height = sizes[s][1];
            if (items_with(&lesson, width, height, card, true) ==
                items_with(&lesson, width, height, card, false))
                fail_msg("lesson %d has no place for its key frame at %g x %g",
                         lesson_stage_shelf()->lesson[card]->number, (double)width, (double)height);
        }
    view_draw_close(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_a_key_frame),
        cmocka_unit_test(test_the_bug_is_seen_from_its_tile),
        cmocka_unit_test(test_each_has_a_place),
    };
    return cmocka_run_group_tests(tests, open_page, close_page);
}
