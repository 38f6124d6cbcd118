/* The time line, its buttons and the sentence over it, from the draw list alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"
#include "visualizer/clock.h"

static const float sizes[][2] = {{400, 300}, {560, 420}, {640, 480},   {800, 600},
                                 {1000, 700}, {1280, 720}, {1920, 1080}, {3840, 2160}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct view_draw list;

static int open_list(void **state)
{
    (void)state;
    view_draw_open(&list, &view_builtin_face, &view_dark);
    return 0;
}

static int close_list(void **state)
{
    (void)state;
    view_draw_close(&list);
    return 0;
}

/* Only what this file is about, of a frame. */
static void draw(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&list);
    list.theme = frame->theme;
    view_scene_sentence(&list, &scene);
    view_scene_track(&list, &scene);
    assert_false(list.failed);
}

/* Inside the frame, and large enough to be hit. */
static void check_hits(const struct view_frame *frame)
{
    for (size_t h = 0; h < list.n_hits; h++) {
        struct view_box box = list.hits[h].box;
        assert_true(box.x >= -0.5f && box.y >= -0.5f && box.x + box.w <= frame->width + 0.5f &&
                    box.y + box.h <= frame->height + 0.5f);
        if (list.hits[h].label)
            assert_true(box.w >= 28 && box.h >= 28);
    }
}

static void texts_fit_at_all_sizes(void **state)
{
    const struct view_case causal = {.n = 40, .causal = true, .algorithm = "flash1", .heads = 2};
    struct view_run *runs[] = {view_case_open(&view_case_tidy), view_case_open(&causal)};
    (void)state;
    for (int r = 0; r < 2; r++)
        for (size_t s = 0; s < SIZES; s++)
            for (int t = 0; t < 12; t++) {
                struct view_frame frame =
                    view_case_frame(runs[r], NULL, sizes[s][0], sizes[s][1],
                                    view_run_length(runs[r]) * (uint64_t)t / 11);
                frame.theme = t % 2 ? &view_light : &view_dark;
                frame.bytes = t % 3 != 0;
                frame.panel_open = sizes[s][0] >= 640;
                frame.speed_open = t == 4;
                frame.go_open = t == 5;
                frame.edit_text = "46.5";
                frame.mark_a = t == 6 ? 20 : t == 7 ? 60 : UINT64_MAX;
                frame.mark_b = t == 6 ? 60 : t == 7 ? 57 : UINT64_MAX;
                draw(&frame);
                view_case_check_texts(&list, frame.width, frame.height);
                check_hits(&frame);
            }
    view_run_close(runs[0]);
    view_run_close(runs[1]);
}

static void the_track_is_a_ruler(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t length = view_run_length(run);
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = view_case_frame(run, NULL, sizes[s][0], sizes[s][1], 61);
        frame.panel_open = false;
        draw(&frame);
        const struct view_hit *track = view_case_hit(&list, VIEW_SCRUB, 0);
        struct view_scene scene = view_case_scene(&frame);
        assert_non_null(track);
        assert_string_equal(track->label, "Time line");
        assert_int_equal(view_track_event(&scene, track->box.x), 0);
        assert_int_equal(view_track_event(&scene, track->box.x - 50), 0);
        assert_int_equal(view_track_event(&scene, track->box.x + track->box.w), length);
        assert_int_equal(view_track_event(&scene, track->box.x + track->box.w / 2),
                         (length + 1) / 2);
        /* The play head: a line two wide where event 61 begins. */
        float x = track->box.x + track->box.w * 61 / (float)length;
        bool found = false;
        for (size_t i = 0; i < list.n_items; i++)
            found = found || (list.items[i].kind == VIEW_FILL && list.items[i].box.w == 2 &&
                              fabsf(list.items[i].box.x + 1 - x) <= 1 && list.items[i].box.h > 15);
        assert_true(found);
        frame.track_first = 40;
        frame.track_end = 80;
        assert_int_equal(view_track_event(&scene, track->box.x), 40);
        assert_int_equal(view_track_event(&scene, track->box.x + track->box.w), 80);
    }
    view_run_close(run);
}

static void names_bars_and_marks(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 61);
    const struct view_item *image = NULL;
    (void)state;
    draw(&frame);
    for (int i = 0; i < 4; i++) {
        const char name[] = {'i', ' ', '=', ' ', (char)('0' + i), '\0'};
        assert_true(view_case_says(&list, name));
    }
    for (size_t i = 0; i < list.n_items; i++)
        if (list.items[i].kind == VIEW_IMAGE)
            image = &list.items[i];
    assert_non_null(image);
    assert_int_equal(image->columns, view_run_length(run));
    /* The column of a load of K has K's colour right over the line between reads and writes; an
     * alloc has none; the store of O lies below. */
    int middle = image->rows * 2 / 3;
    struct view_color k = view_tensor_look(&view_dark, FA_K).line;
    struct view_color o = view_tensor_look(&view_dark, FA_O).line;
    uint64_t load = view_case_after(run, SIM_LOAD, FA_K, 1, 2) - 1;
    uint64_t store = view_case_after(run, SIM_STORE, FA_O, 1, -1) - 1;
    const struct view_color *up = &image->cells[(middle - 1) * image->columns + (int)load];
    const struct view_color *down = &image->cells[middle * image->columns + (int)store];
    const struct view_color *none = &image->cells[(middle - 1) * image->columns];
    assert_memory_equal(up, &k, sizeof k);
    assert_memory_equal(down, &o, sizeof o);
    assert_memory_equal(none, &view_dark.raised, sizeof *none);
    /* One triangle a rescale, beside those of the head and the buttons. */
    size_t triangles = 0, rescales = 0;
    for (size_t i = 0; i < list.n_items; i++)
        triangles += list.items[i].kind == VIEW_TRIANGLE && list.items[i].points[0] > 0 &&
                     memcmp(&list.items[i].color, &view_dark.text2, sizeof k) == 0;
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct view_rescale *rescale = view_run_rescale(run, e);
        rescales += rescale && rescale->rose > 0;
    }
    assert_true(rescales > 3);
    assert_int_equal(triangles, rescales);
    view_run_close(run);
}

static void buttons_do_what_they_say(void **state)
{
    static const enum view_action steps[] = {VIEW_STEP_EVENT, VIEW_STEP_TILE, VIEW_STEP_ROW,
                                             VIEW_STEP_PHASE};
    struct view_run *run = view_case_open(&view_case_tidy);
    (void)state;
    for (int by = 0; by < VIEW_BYS; by++) {
        struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 61);
        frame.step_by = (enum view_step_by)by;
        frame.playing = by == 1;
        draw(&frame);
        assert_string_equal(view_case_hit(&list, steps[by], -1)->label, "Step back");
        assert_string_equal(view_case_hit(&list, steps[by], 1)->label, "Step on");
        assert_string_equal(view_case_hit(&list, VIEW_PLAY, 0)->label, by == 1 ? "Pause" : "Play");
        for (int b = 0; b < VIEW_BYS; b++)
            assert_non_null(view_case_hit(&list, VIEW_STEP_BY, b));
        assert_non_null(view_case_hit(&list, VIEW_HOME, 0));
        assert_non_null(view_case_hit(&list, VIEW_END, 0));
        assert_non_null(view_case_hit(&list, VIEW_SPEED, -1));
        assert_null(view_case_hit(&list, VIEW_SPEED, VIEW_FOUR));
        assert_non_null(view_case_hit(&list, VIEW_GO_TO, 0));
        frame.speed_open = true;
        draw(&frame);
        for (int speed = 0; speed < VIEW_SPEEDS; speed++) {
            assert_non_null(view_case_hit(&list, VIEW_SPEED, speed));
            assert_int_equal(view_case_hit(&list, VIEW_SPEED, speed)->layer, VIEW_POPUP);
        }
    }
    struct view_frame mini = view_case_frame(run, NULL, 400, 300, 61);
    mini.panel_open = false;
    draw(&mini);
    assert_int_equal(list.n_hits, 5); /* the track and four buttons */
    view_run_close(run);
}

static void the_place_in_words(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 61);
    (void)state;
    draw(&frame);
    assert_true(view_case_says(&list, "event 60, last 155"));
    assert_true(view_case_says(&list, "0 B"));
    frame.at[0].flight = 0.5f; /* half way into event 61: its sentence */
    draw(&frame);
    assert_true(view_case_says(&list, "event 61, last 155"));
    assert_non_null(view_case_text(&list, "Row 7: new maximum 4.25, was 2.25."));
    frame.at[0] = (struct view_position){view_case_after(run, SIM_LOAD, FA_K, 1, 2), 0};
    draw(&frame);
    assert_true(view_case_says(&list, "Load K[2] again, for Q[1]: its 2nd trip of 4."));
    assert_true(view_case_says(&list, "+64 B"));
    frame.bytes = false;
    draw(&frame);
    assert_true(view_case_says(&list, "+16 elements"));
    frame.at[0].landed = 0;
    draw(&frame);
    assert_true(view_case_says(&list, "start, last event 155"));
    assert_non_null(view_case_text(&list, "Ready: all inputs lie in HBM"));
    frame.at[0].landed = view_run_length(run);
    draw(&frame);
    assert_non_null(view_case_text(&list, "Done: "));
    snprintf(frame.note, sizeof frame.note, "Saved s.png (1280 x 720)");
    draw(&frame);
    assert_true(view_case_says(&list, "Saved s.png (1280 x 720)"));
    assert_null(view_case_text(&list, "Done: "));
    view_run_close(run);
}

/* The pointer over the track names what is there; with a prediction open nothing is said. */
static void hovering_and_covering(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 61);
    (void)state;
    draw(&frame);
    const struct view_hit *track = view_case_hit(&list, VIEW_SCRUB, 0);
    frame.pointer_x = track->box.x + track->box.w * 58.5f / (float)view_run_length(run);
    frame.pointer_y = track->box.y + 20;
    draw(&frame);
    assert_true(view_case_says(&list, "event 58, i = 1: load K[2]"));
    frame.covered = true;
    draw(&frame);
    assert_null(view_case_text(&list, "event 5"));
    assert_null(view_case_text(&list, "Score"));
    assert_true(view_case_says(&list, "?"));
    view_run_close(run);
}

static void two_runs_share_a_clock(void **state)
{
    const struct view_case a = {.algorithm = "flash1", .n = 64}, b = {.n = 64};
    struct view_run *first = view_case_open(&a), *second = view_case_open(&b);
    (void)state;
    for (size_t s = 0; s < SIZES; s++)
        for (int clock = 0; clock < VIEW_CLOCKS; clock++) {
            struct view_frame frame =
                view_case_frame(first, second, sizes[s][0], sizes[s][1], 200);
            frame.panel_open = sizes[s][0] >= 1000;
            frame.clock = (enum view_clock_kind)clock;
            frame.work_in_all = view_work_in_all(first, frame.clock);
            frame.work = view_work_of(first, frame.at[0], frame.clock);
            frame.at[1] = view_at_work(second, frame.work, frame.clock);
            draw(&frame);
            view_case_check_texts(&list, frame.width, frame.height);
            check_hits(&frame);
            struct view_scene scene = view_case_scene(&frame);
            const struct view_hit *track = view_case_hit(&list, VIEW_SCRUB, 0);
            float x = track->box.x + 0.25f * track->box.w;
            assert_true(fabs(view_track_share(&scene, x) - 0.25) < 1e-3);
            if (clock == VIEW_SAME_TILE && sizes[s][0] >= 1280)
                assert_non_null(view_case_text(&list, " of 256: event 199 in A, "));
            if (sizes[s][0] >= 1000) {
                assert_true(view_case_says(&list, "A"));
                assert_true(view_case_says(&list, "B"));
            }
        }
    view_run_close(first);
    view_run_close(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_fit_at_all_sizes),
        cmocka_unit_test(the_track_is_a_ruler),
        cmocka_unit_test(names_bars_and_marks),
        cmocka_unit_test(buttons_do_what_they_say),
        cmocka_unit_test(the_place_in_words),
        cmocka_unit_test(hovering_and_covering),
        cmocka_unit_test(two_runs_share_a_clock),
    };
    return cmocka_run_group_tests(tests, open_list, close_list);
}
