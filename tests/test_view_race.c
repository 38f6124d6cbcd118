/* The race: two programs, a question, and what came of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/shelf_case.h"
#include "visualizer/clock.h"
#include "visualizer/race.h"

#ifdef FLASHLAB_HAVE_LESSONS

static const float sizes[][2] = {{400, 300},  {480, 640},  {640, 480},  {800, 600},
                                 {1000, 700}, {1280, 720}, {1600, 900}, {1920, 1080}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct view_draw list;
static struct view_run *runs[2];
static struct view_lesson lesson;

static int open_all(void **state)
{
    (void)state;
    struct view_case which = {.algorithm = "standard", .n = 128, .d = 16, .br = 16, .bc = 16};
    view_draw_open(&list, &view_builtin_face, &view_dark);
    runs[0] = view_case_open(&which);
    which.algorithm = "flash2";
    runs[1] = view_case_open(&which);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    view_draw_close(&list);
    view_run_close(runs[0]);
    view_run_close(runs[1]);
    return 0;
}

/* After a share of what the second program moves in all; from phase 3 on both at their ends. */
static struct view_frame frame_of(float width, float height, int phase, double share, double guess)
{
    struct view_frame frame = view_case_frame(runs[0], runs[1], width, height, 0);
    double work = share * view_work_in_all(runs[1], VIEW_SAME_TRAFFIC);
    lesson = shelf_case_view(VIEW_PAGE_RACE);
    lesson.race_phase = phase;
    lesson.race_guess = guess;
    frame.lesson = &lesson;
    frame.bytes = false;
    for (int r = 0; r < 2; r++)
        frame.at[r] = phase == 3 || (r == 1 && phase > 0)
                          ? (struct view_position){view_run_length(runs[r]), 0}
                          : view_at_work(runs[r], work, VIEW_SAME_TRAFFIC);
    return frame;
}

static void draw(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&list);
    list.theme = frame->theme;
    view_scene_race(&list, &scene);
    assert_false(list.failed);
    view_case_check_texts(&list, frame->width, frame->height);
    for (size_t h = 0; h < list.n_hits; h++) {
        struct view_box box = list.hits[h].box;
        assert_true(box.x >= 0 && box.x + box.w <= frame->width + 0.5f);
        if (list.hits[h].label)
            assert_true(box.w >= 28 && box.h >= 28);
    }
}

static const struct view_hit *hit_of(enum view_action action)
{
    for (size_t h = 0; h < list.n_hits; h++)
        if (list.hits[h].action == action)
            return &list.hits[h];
    return NULL;
}

static void all_sizes_and_phases_are_in_order(void **state)
{
    (void)state;
    for (size_t s = 0; s < 2 * SIZES; s++)
        for (int phase = 0; phase < 4; phase++)
            for (double guess = 0.5; guess < 11; guess += 1.5) {
                struct view_frame frame = frame_of(sizes[s / 2][0], sizes[s / 2][1], phase,
                                                   phase == 2   ? 1.9
                                                   : phase == 1 ? 1
                                                                : 0.37,
                                                   guess < 1 ? (double)NAN : guess);
                frame.theme = s % 2 ? &view_light : &view_dark;
                frame.reduced_motion = guess > 5;
                draw(&frame);
                frame.scroll = list.scroll_most;
                draw(&frame);
            }
}

static bool tells_the_answer(void)
{
    return view_case_text(&list, "102\u202f400") || view_case_text(&list, "2.77") ||
           view_case_text(&list, "36 %");
}

static void the_answer_is_not_told_before(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++)
        for (int phase = 0; phase < 3; phase++) {
            struct view_frame frame = frame_of(sizes[s][0], sizes[s][1], phase, 1, 4);
            draw(&frame);
            assert_false(tells_the_answer());
        }
    struct view_frame frame = frame_of(1280, 720, 3, 0, 4);
    draw(&frame);
    assert_true(tells_the_answer());
}

/* The right end of what is filled in a program's bar, from the bar's left end. */
static float filled(float top, float bottom)
{
    const struct view_item *bar = NULL;
    float right = 0;
    for (size_t n = 0; n < list.n_items; n++) {
        const struct view_item *item = &list.items[n];
        if (item->kind == VIEW_FILL && item->box.w > 500 && item->box.y > top &&
            item->box.y < bottom && item->box.h < 60)
            bar = item;
        else if (bar && item->kind == VIEW_FILL && item->box.y == bar->box.y &&
                 item->box.h == bar->box.h)
            right = fmaxf(right, item->box.x + item->box.w);
    }
    assert_non_null(bar);
    return right > 0 ? right - bar->box.x : 0;
}

static void the_same_traffic_has_the_same_length(void **state)
{
    (void)state;
    for (double share = 0.1; share < 1; share += 0.17) {
        struct view_frame frame = frame_of(1280, 720, 0, share, NAN);
        draw(&frame);
        float middle = view_case_text(&list, "flash2")->box.y;
        float first = filled(100, middle), second = filled(middle, 720);
        assert_true(fabsf(first - second) <= 1);
        assert_true(fabsf(first - (float)share * 1014 / 10) <= 2);
    }
    struct view_frame frame = frame_of(1280, 720, 3, 0, NAN);
    draw(&frame);
    float middle = view_case_text(&list, "flash2")->box.y;
    assert_true(fabsf(filled(100, middle) / filled(middle, 720) - 102400.0f / 36992) < 0.03f);
}

/* What is on its way counts by how far it has come, as the common clock has it. */
static void flights_are_counted_by_their_parts(void **state)
{
    (void)state;
    int parts = 0;
    for (double share = 0.05; share < 1; share += 0.013) {
        struct view_frame frame = frame_of(1280, 720, 0, share, NAN);
        struct view_scene scene = view_case_scene(&frame);
        struct view_race race;
        view_race_count(&race, &scene);
        for (int which = 0; which < 2; which++) {
            double sum = 0;
            for (int id = 0; id < FA_HBM_TENSORS; id++)
                sum += 4 * race.program[which].moved[id];
            double work = view_work_of(runs[which], frame.at[which], VIEW_SAME_TRAFFIC);
            assert_true(fabs(sum - work) < 1);
            parts += (double)race.program[which].landed * 4 < work - 1;
        }
    }
    assert_true(parts > 10);
}

/* Windows can be made as small as that. */
static void tiny_frames_are_survived(void **state)
{
    (void)state;
    static const float tiny[][2] = {{1, 1}, {20, 400}, {400, 20}, {120, 90}, {200, 150}};
    for (size_t s = 0; s < sizeof tiny / sizeof *tiny; s++)
        for (int phase = 0; phase < 4; phase++) {
            struct view_frame frame = frame_of(tiny[s][0], tiny[s][1], phase, 0.4, 3);
            struct view_scene scene = view_case_scene(&frame);
            view_draw_clear(&list);
            view_scene_race(&list, &scene);
            view_scene_contents(&list, &scene);
            view_scene_glossary(&list, &scene);
            assert_false(list.failed);
        }
}

static void it_asks_without_a_preset(void **state)
{
    (void)state;
    struct view_frame frame = frame_of(1280, 720, 1, 1, NAN);
    draw(&frame);
    assert_non_null(view_case_text(&list, "36\u202f992 elements. How many times as much"));
    assert_true(hit_of(VIEW_RACE_ON)->off);
    assert_null(view_case_text(&list, "Your mark"));
    size_t items = list.n_items;
    struct view_box scale = hit_of(VIEW_RACE_GUESS)->box;
    /* The slider's ends stand over the axis' 1 and 10. */
    const struct view_item *one = NULL, *ten = NULL;
    for (size_t n = 0; n < list.n_items; n++)
        if (list.items[n].kind == VIEW_TEXT && strcmp(list.items[n].text, "1") == 0)
            one = &list.items[n];
        else if (list.items[n].kind == VIEW_TEXT && strcmp(list.items[n].text, "10") == 0)
            ten = &list.items[n];
    assert_non_null(one);
    assert_non_null(ten);
    assert_true(fabsf(one->box.x + one->box.w / 2 - scale.x) <= 2);
    assert_true(fabsf(ten->box.x + ten->box.w / 2 - scale.x - scale.w) <= 2);

    lesson.race_guess = 4;
    draw(&frame);
    assert_false(hit_of(VIEW_RACE_ON)->off);
    assert_true(view_case_says(&list, "Your mark: 4.0 times."));
    assert_true(list.n_items > items);
    bool marked = false;
    for (size_t n = 0; n < list.n_items; n++)
        marked = marked || (list.items[n].kind == VIEW_TRIANGLE &&
                            fabsf(list.items[n].points[4] - (scale.x + scale.w / 3)) <= 1);
    assert_true(marked);
}

static double difference(void)
{
    const struct fa_tensor *a = view_run_experiment(runs[0])->o,
                           *b = view_run_experiment(runs[1])->o;
    double most = 0;
    for (int64_t r = 0; r < 128; r++)
        for (int64_t c = 0; c < 16; c++)
            most = fmax(most, fabs(fa_tensor_get(a, 0, 0, r, c) - fa_tensor_get(b, 0, 0, r, c)));
    return most;
}

static void the_end_is_what_was_counted(void **state)
{
    (void)state;
    char text[160], number[VIEW_NUMBER_TEXT];
    struct view_frame frame = frame_of(1280, 720, 3, 0, 4);
    draw(&frame);
    assert_true(view_case_says(&list, "102\u202f400 against 36\u202f992 elements: 2.77 times"));
    assert_true(difference() > 0);
    snprintf(text, sizeof text, "Your mark: 4.0 times. Both outputs agree to %s.",
             view_value_text(difference(), number));
    assert_true(view_case_says(&list, text));
    assert_int_equal(hit_of(VIEW_LESSON_START)->value, 0);
    assert_non_null(hit_of(VIEW_LESSON_KNOWN));
    assert_non_null(hit_of(VIEW_EXPLORE));
    assert_non_null(hit_of(VIEW_RACE_AGAIN));
    frame.bytes = true;
    draw(&frame);
    assert_true(view_case_says(&list, "409\u202f600 against 147\u202f968 bytes: 2.77 times"));
}

static void ways_out_are_there_in_every_phase(void **state)
{
    (void)state;
    for (int phase = 0; phase < 4; phase++) {
        struct view_frame frame = frame_of(800, 600, phase, 0.5, NAN);
        draw(&frame);
        assert_int_equal(hit_of(VIEW_PAGE)->value, VIEW_PAGE_CONTENTS);
        assert_true((hit_of(VIEW_RACE_GUESS) != NULL) == (phase == 1));
        assert_true((hit_of(VIEW_RACE_ON) != NULL) == (phase == 1));
    }
    struct view_frame frame = frame_of(800, 600, 0, 0, NAN);
    frame.reduced_motion = true;
    draw(&frame);
    assert_non_null(hit_of(VIEW_RACE_ON));
    /* Without its runs, and without lessons to start. */
    frame.run[0] = frame.run[1] = NULL;
    draw(&frame);
    assert_non_null(view_case_text(&list, "being run"));
    frame = frame_of(800, 600, 3, 0, NAN);
    lesson.shelf = NULL;
    draw(&frame);
    assert_null(hit_of(VIEW_LESSON_START));
    assert_non_null(hit_of(VIEW_EXPLORE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_and_phases_are_in_order),
        cmocka_unit_test(the_answer_is_not_told_before),
        cmocka_unit_test(the_same_traffic_has_the_same_length),
        cmocka_unit_test(flights_are_counted_by_their_parts),
        cmocka_unit_test(tiny_frames_are_survived),
        cmocka_unit_test(it_asks_without_a_preset),
        cmocka_unit_test(the_end_is_what_was_counted),
        cmocka_unit_test(ways_out_are_there_in_every_phase),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}

#else

int main(void)
{
    return 77; /* skipped: there are no lessons without md4c and libyaml */
}

#endif
