#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tests/view_case.h"

static struct view_run *small, *large;

static int open_runs(void **state)
{
    const struct view_case squares = {.n = 128, .d = 16, .br = 16, .bc = 16};
    (void)state;
    small = view_case_open(&view_case_tidy);
    large = view_case_open(&squares);
    return 0;
}

static int close_runs(void **state)
{
    (void)state;
    view_run_close(small);
    view_run_close(large);
    return 0;
}

static struct view_layout layout_of(struct view_run *run, struct view_run *second, float width,
                                    float height)
{
    struct view_frame frame = view_case_frame(run, second, width, height, 0);
    struct view_layout layout;
    view_layout_make(&frame, &layout);
    return layout;
}

static void check_box(const char *name, struct view_box box, int x, int y, int w, int h)
{
    if ((int)box.x != x || (int)box.y != y || (int)box.w != w || (int)box.h != h)
        fail_msg("%s is %g %g %g %g, not %d %d %d %d", name, (double)box.x, (double)box.y,
                 (double)box.w, (double)box.h, x, y, w, h);
}

static void compact_stands_to_the_pixel(void **state)
{
    struct view_layout at = layout_of(small, NULL, 800, 600);
    (void)state;
    assert_int_equal(at.class, VIEW_COMPACT);
    check_box("bar", at.bar, 0, 0, 800, 36);
    check_box("HBM", at.hbm[0], 8, 42, 236, 266);
    check_box("lanes", at.lanes[0], 244, 42, 76, 266);
    check_box("SRAM", at.sram[0], 320, 42, 472, 266);
    check_box("sentence", at.sentence, 0, 312, 800, 44);
    check_box("panel", at.panel, 0, 356, 800, 170);
    check_box("track", at.track, 0, 526, 800, 74);
}

static void regular_stands_to_the_pixel(void **state)
{
    struct view_layout at = layout_of(small, NULL, 1280, 720);
    struct view_layout squares = layout_of(large, NULL, 1280, 720);
    (void)state;
    assert_int_equal(at.class, VIEW_REGULAR);
    check_box("bar", at.bar, 0, 0, 1280, 40);
    check_box("HBM", at.hbm[0], 12, 48, 304, 516);
    check_box("lanes", at.lanes[0], 316, 48, 84, 516);
    check_box("SRAM", at.sram[0], 400, 48, 528, 516);
    check_box("sentence", at.sentence, 0, 572, 936, 60);
    check_box("panel", at.panel, 936, 40, 344, 592);
    check_box("second panel", at.second_panel, 0, 0, 0, 0);
    check_box("track", at.track, 0, 632, 1280, 88);
    check_box("HBM of squares", squares.hbm[0], 12, 48, 522, 516);
}

static void wide_stands_to_the_pixel(void **state)
{
    struct view_layout at = layout_of(large, NULL, 1920, 1080);
    (void)state;
    assert_int_equal(at.class, VIEW_WIDE);
    check_box("bar", at.bar, 0, 0, 1920, 40);
    check_box("HBM", at.hbm[0], 12, 48, 812, 868);
    check_box("lanes", at.lanes[0], 824, 48, 104, 868);
    check_box("SRAM", at.sram[0], 928, 48, 504, 868);
    check_box("sentence", at.sentence, 0, 924, 1440, 64);
    check_box("panel", at.panel, 1440, 40, 480, 452);
    check_box("second panel", at.second_panel, 1440, 492, 480, 496);
    check_box("track", at.track, 0, 988, 1920, 92);
}

static void compare_has_two_rows(void **state)
{
    struct view_layout at = layout_of(large, large, 1280, 720);
    (void)state;
    check_box("HBM of A", at.hbm[0], 12, 70, 378, 234);
    check_box("lanes of A", at.lanes[0], 390, 70, 92, 234);
    check_box("SRAM of A", at.sram[0], 482, 70, 442, 234);
    check_box("HBM of B", at.hbm[1], 12, 334, 378, 234);
    check_box("lanes of B", at.lanes[1], 390, 334, 92, 234);
    check_box("SRAM of B", at.sram[1], 482, 334, 442, 234);
    check_box("sentence", at.sentence, 0, 572, 936, 60);
    check_box("panel", at.panel, 936, 40, 344, 592);
    assert_true(at.heading[0].h > 0 && at.heading[1].y >= at.hbm[0].y + at.hbm[0].h);
}

/* Two rows in a compact window: the panel stands beside them, and both can be used; only where
 * that is too narrow it is a page. */
static void compact_compare_keeps_stage_and_panel(void **state)
{
    (void)state;
    for (float width = 640; width < 1000; width += 8) {
        struct view_layout at = layout_of(large, large, width, 600);
        assert_int_equal(at.class, VIEW_COMPACT);
        if (width < 760) {
            assert_false(at.beside);
            assert_true(at.stage.w <= 0);
            check_box("panel", at.panel, 0, 36, (int)width, 446);
            continue;
        }
        assert_true(at.beside);
        assert_true(at.panel.w >= 300 && at.panel.h == 446);
        assert_true(at.stage.w >= 460 && at.stage.x + at.stage.w <= at.panel.x);
        assert_true(at.sentence.w == width); /* a line of each run needs it */
        for (int which = 0; which < 2; which++)
            assert_true(at.hbm[which].w >= 180 && at.sram[which].w >= 180 &&
                        at.hbm[which].h >= 190);
    }
}

static void mini_is_small(void **state)
{
    struct view_frame frame = view_case_frame(small, NULL, 400, 300, 0);
    struct view_layout at;
    (void)state;
    frame.panel_open = false;
    view_layout_make(&frame, &at);
    assert_int_equal(at.class, VIEW_MINI);
    assert_true(at.panel.w == 0 && at.hbm[0].w > 60 && at.sram[0].w > 100 && at.sram[0].h > 100);
    frame.panel_open = true; /* a page of its own */
    view_layout_make(&frame, &at);
    assert_true(at.panel.w == 400 && at.panel.h > 150);
    assert_true(at.stage.w == 0 && at.sentence.h > 0);
}

/* A closed panel gives its place to the memories, in the same shares; F11 also the bar's. */
static void what_is_closed_gives_its_place(void **state)
{
    struct view_frame frame = view_case_frame(large, NULL, 1280, 720, 0);
    struct view_layout open, closed, bare;
    (void)state;
    view_layout_make(&frame, &open);
    frame.panel_open = false;
    view_layout_make(&frame, &closed);
    assert_true(closed.panel.w == 0);
    assert_true(closed.sram[0].x + closed.sram[0].w == 1280 - 12);
    float a = open.hbm[0].w / (open.sram[0].x + open.sram[0].w - 12);
    float b = closed.hbm[0].w / (closed.sram[0].x + closed.sram[0].w - 12);
    assert_true(a - b < 0.005f && b - a < 0.005f);
    frame.panel_open = true;
    frame.chrome_open = false;
    view_layout_make(&frame, &bare);
    assert_true(bare.bar.h == 0 && bare.panel.w == 0 && bare.stage.y == 0 && bare.stage.w == 1280);
}

static void inside(const char *name, struct view_box box, struct view_box parent)
{
    if (box.w < 0 || box.h < 0 || box.x < parent.x || box.y < parent.y ||
        box.x + box.w > parent.x + parent.w || box.y + box.h > parent.y + parent.h)
        fail_msg("%s: %g %g %g %g leaves %g %g %g %g", name, (double)box.x, (double)box.y,
                 (double)box.w, (double)box.h, (double)parent.x, (double)parent.y, (double)parent.w,
                 (double)parent.h);
}

static void check_parts(const struct view_layout *at, float width, float height)
{
    const struct view_box all = {0, 0, width, height};
    const struct view_box parts[] = {at->bar,   at->stage,        at->sentence,
                                     at->panel, at->second_panel, at->track};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (int k = 0; k < PARTS; k++) {
        inside("a region", parts[k], all);
        for (int m = 0; m < k; m++)
            assert_false(view_box_meets(parts[k], parts[m]));
    }
    for (int which = 0; which < 2; which++) {
        const struct view_box row[] = {at->hbm[which], at->lanes[which], at->sram[which],
                                       at->heading[which]};
        for (int k = 0; k < 4; k++) {
            if (row[k].w == 0)
                continue;
            inside("a part of the stage", row[k], at->stage);
            for (int m = 0; m < k; m++)
                assert_false(view_box_meets(row[k], row[m]));
        }
    }
}

static void regions_never_overlap(void **state)
{
    static const float widths[] = {1, 60, 400, 640, 800, 1000, 1280, 1600, 1920, 3840};
    static const float heights[] = {1, 60, 300, 480, 600, 720, 1080, 2160};
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
            for (int mode = 0; mode < 8; mode++) {
                struct view_frame frame = view_case_frame(
                    mode & 1 ? small : large, mode & 2 ? small : NULL, widths[w], heights[h], 0);
                struct view_layout at;
                frame.panel_open = mode & 4;
                view_layout_make(&frame, &at);
                check_parts(&at, widths[w], heights[h]);
            }
}

static void shares_do_not_depend_on_the_position(void **state)
{
    (void)state;
    for (uint64_t at = 0; at <= view_run_length(small); at += 7) {
        struct view_frame frame = view_case_frame(small, NULL, 1280, 720, at);
        struct view_layout layout;
        view_layout_make(&frame, &layout);
        assert_true(layout.numbers);
        check_box("HBM", layout.hbm[0], 12, 48, 304, 516);
    }
    assert_false(layout_of(large, NULL, 1280, 720).numbers);
}

/* As large as wanted where a panel still has its place beside the stage, and never below 1. */
static void scale_gives_way(void **unused)
{
    static const float windows[][3] = {{1920, 1080, 1.5f}, {1280, 720, 1.2f},  {1599, 900, 1.5f},
                                       {1066, 600, 1},     {800, 600, 1},      {400, 300, 1}};
    (void)unused;
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        float scale = view_layout_scale(1.5f, windows[w][0], windows[w][1]);
        assert_true(fabsf(scale - windows[w][2]) < 0.001f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_stands_to_the_pixel),
        cmocka_unit_test(regular_stands_to_the_pixel),
        cmocka_unit_test(wide_stands_to_the_pixel),
        cmocka_unit_test(compare_has_two_rows),
        cmocka_unit_test(compact_compare_keeps_stage_and_panel),
        cmocka_unit_test(mini_is_small),
        cmocka_unit_test(what_is_closed_gives_its_place),
        cmocka_unit_test(regions_never_overlap),
        cmocka_unit_test(shares_do_not_depend_on_the_position),
        cmocka_unit_test(scale_gives_way),
    };
    return cmocka_run_group_tests(tests, open_runs, close_runs);
}
