/* The top bar with its chips and lists, the sheet of keys and signs, and what stands in place of
 * the stage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"
#include "visualizer/scene_help.h"

static const float sizes[][2] = {{400, 300}, {480, 640}, {640, 480},   {800, 600},
                                 {1000, 700}, {1280, 720}, {1920, 1080}, {3840, 2160}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p",
                                         "square-tiling", NULL};
static const char *const flag[] = {"", "yes", NULL};

static struct view_draw list;
static struct view_run *run;

static int open_all(void **state)
{
    (void)state;
    view_draw_open(&list, &view_builtin_face, &view_dark);
    run = view_case_open(&view_case_tidy);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    view_draw_close(&list);
    view_run_close(run);
    return 0;
}

static struct view_option option(const char *name, const char *value, const char *label,
                                 const char *const *choices)
{
    struct view_option made = {.choices = choices, .editable = true};
    snprintf(made.name, sizeof made.name, "%s", name);
    snprintf(made.value, sizeof made.value, "%s", value);
    snprintf(made.label, sizeof made.label, "%s", label);
    return made;
}

static struct view_frame frame_of(float width, float height)
{
    struct view_frame frame = view_case_frame(run, NULL, width, height, 61);
    frame.options[0] = option("algorithm", "flash2", "flash2", algorithms);
    frame.options[1] = option("n", "16", "N 16", NULL);
    frame.options[2] = option("d", "4", "d 4", NULL);
    frame.options[3] = option("tiles", "4x4", "tiles 4 × 4", NULL);
    frame.options[4] = option("sram", "512", "SRAM 512 B", NULL);
    frame.options[5] = option("profile", "tidy", "tidy inputs", NULL);
    frame.options[6] = option("heads", "1", "1 head", NULL);
    frame.options[6].editable = false;
    frame.options[7] = option("causal", "", "", flag);
    frame.n_options = 8;
    return frame;
}

static void draw(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&list);
    list.theme = frame->theme;
    view_scene_bar(&list, &scene);
    assert_false(list.failed);
    view_case_check_texts(&list, frame->width, frame->height);
    for (size_t h = 0; h < list.n_hits; h++) {
        struct view_box box = list.hits[h].box;
        assert_true(box.x >= 0 && box.y >= 0 && box.x + box.w <= frame->width + 0.5f);
        if (list.hits[h].label)
            assert_true(box.w >= 28 && box.h >= 28);
    }
}

/* Chips that fit are seen; the others, and flags that are off, are reached through the last one. */
static void every_option_can_be_reached(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
        int chips = 0, first = -1;
        draw(&frame);
        for (int o = 0; o < frame.n_options; o++)
            if (frame.options[o].label[0] && view_case_says(&list, frame.options[o].label))
                chips++;
        for (int o = chips; o < frame.n_options && first < 0; o++)
            if (frame.options[o].editable)
                first = o;
        char more[16];
        snprintf(more, sizeof more, "+%d", frame.n_options - chips);
        if (!view_case_says(&list, more))
            fail_msg("no %s at %g wide", more, (double)sizes[s][0]);
        assert_true(chips >= (sizes[s][0] >= 1280 ? 7 : 1));
        assert_non_null(view_case_hit(&list, VIEW_CHIP, first));
        frame.open_chip = first;
        draw(&frame);
        for (int o = 0; o < frame.n_options; o++)
            if (o == 6)
                assert_true(!view_case_hit(&list, VIEW_CHIP, o) ||
                            view_case_hit(&list, VIEW_CHIP, o)->off);
            else
                assert_non_null(view_case_hit(&list, VIEW_CHIP, o));
    }
}

static void chips_are_edited(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
        frame.open_chip = 0;
        draw(&frame);
        for (int c = 0; algorithms[c]; c++) {
            const struct view_hit *choice = view_case_hit(&list, VIEW_CHIP_VALUE, c);
            assert_non_null(choice);
            assert_int_equal(choice->layer, VIEW_POPUP);
            assert_true(choice->box.y + choice->box.h <= frame.height);
        }
        frame.open_chip = 7;
        draw(&frame);
        assert_true(view_case_says(&list, "off"));
        assert_true(view_case_says(&list, "on"));
        frame.open_chip = 1;
        frame.edit_text = "1024";
        draw(&frame);
        assert_true(view_case_says(&list, "1024"));
        assert_null(view_case_hit(&list, VIEW_CHIP_VALUE, 0));
        /* Of a text that is too long the end is seen. */
        frame.edit_text =
            "/a/very/long/path/that/no/field/of/this/width/could/ever/hold/values.npy";
        draw(&frame);
        assert_non_null(view_case_text(&list, "values.npy"));
    }
}

static void the_menu_lists_the_stages(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
        draw(&frame);
        assert_non_null(view_case_hit(&list, VIEW_CONTENTS, 0));
        assert_non_null(view_case_hit(&list, VIEW_THEME, 0));
        assert_non_null(view_case_hit(&list, VIEW_HELP, 0));
        assert_non_null(view_case_hit(&list, VIEW_SAVE, 0));
        assert_null(view_case_hit(&list, VIEW_STAGE, VIEW_STAGE_ROW));
        frame.stages_open = true;
        draw(&frame);
        for (int stage = 0; stage < VIEW_STAGES; stage++) {
            const struct view_hit *hit = view_case_hit(&list, VIEW_STAGE, stage);
            assert_non_null(hit);
            assert_true(hit->box.y + hit->box.h <= frame.height);
        }
        frame.panel_open = false;
        draw(&frame);
        assert_non_null(view_case_hit(&list, VIEW_PANEL, VIEW_PANEL_CODE));
    }
}

static void a_new_run_is_announced(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
        frame.progress = 0.42;
        frame.old = true;
        draw(&frame);
        assert_non_null(view_case_text(&list, "42 %"));
        assert_true(view_case_says(&list, "old run"));
        if (sizes[s][0] >= 1280)
            assert_true(view_case_says(&list, "running 42 %, Esc keeps the old run"));
    }
}

/* What differs tells the runs apart; what both have stays in the bar. */
static void headings_of_two_runs(void **state)
{
    const struct view_case other = {.algorithm = "flash1", .sram = 512, .profile = FA_PROFILE_TIDY};
    struct view_run *second = view_case_open(&other);
    struct view_frame frame = frame_of(1280, 720);
    char count[VIEW_COUNT_TEXT];
    (void)state;
    frame.run[1] = second;
    frame.at[1].landed = 50;
    memcpy(frame.second_options, frame.options, sizeof frame.options);
    frame.n_second = frame.n_options;
    frame.second_options[0] = option("algorithm", "flash1", "flash1", algorithms);
    draw(&frame);
    assert_false(view_case_says(&list, "flash2"));
    assert_true(view_case_says(&list, "N 16"));
    struct view_scene scene = view_case_scene(&frame);
    view_draw_clear(&list);
    view_scene_heading(&list, &scene, 0);
    view_scene_heading(&list, &scene, 1);
    view_case_check_texts(&list, 1280, 720);
    assert_true(view_case_says(&list, "flash2"));
    assert_true(view_case_says(&list, "for each Q tile: all keys"));
    assert_true(view_case_says(&list, "flash1"));
    assert_true(view_case_says(&list, "for each K, V tile: all queries"));
    struct sim_state at;
    view_run_state(second, 50, &at);
    const struct fa_problem *problem = &view_run_header(second)->problem;
    view_count_text(sim_counters_read_all(&at.counters, problem).bytes +
                        sim_counters_write_all(&at.counters, problem).bytes, count);
    assert_true(view_case_says(&list, count));
    view_run_close(second);
}

/* All of the sheet can be seen, in one look or by scrolling. */
static void the_sheet_shows_everything(void **state)
{
    static const char *const words[] = {"Tensors",     "LSE",           "dS",
                                        "load",        "refuse",        "stale copy",
                                        "NaN written", "used, dropped", "tiles were skipped",
                                        "Space",       "Tab Esc",       "T",
                                        "one third",   "landed",        "Tab ← ↑ → ↓"};
    (void)state;
    for (size_t s = 0; s < SIZES; s++) {
        struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
        struct view_scene scene = view_case_scene(&frame);
        bool seen[sizeof words / sizeof *words] = {false};
        for (frame.scroll = 0;; frame.scroll += 40) {
            view_draw_clear(&list);
            list.scroll_most = 0;
            list.theme = s % 2 ? &view_light : &view_dark;
            view_scene_help(&list, &scene);
            view_case_check_texts(&list, frame.width, frame.height);
            assert_non_null(view_case_hit(&list, VIEW_HELP, 0));
            for (size_t w = 0; w < sizeof words / sizeof *words; w++)
                seen[w] = seen[w] || view_case_text(&list, words[w]);
            if (frame.scroll >= list.scroll_most)
                break;
        }
        assert_true(sizes[s][0] < 1280 || list.scroll_most == 0);
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            if (!seen[w])
                fail_msg("\"%s\" is not on the sheet of %g x %g", words[w], (double)sizes[s][0],
                         (double)sizes[s][1]);
    }
}

/* What is drawn from x on, in a width, as one number: kinds, places and colours. */
static uint64_t picture_of(float x, float width)
{
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < list.n_items; i++) {
        const struct view_item *item = &list.items[i];
        if (item->box.x < x - 0.5f || item->box.x >= x + width)
            continue;
        const int parts[] = {(int)item->kind,
                             (int)lroundf(4 * (item->box.x - x)),
                             (int)lroundf(4 * item->box.y),
                             (int)lroundf(4 * item->box.w),
                             (int)lroundf(4 * item->box.h),
                             item->color.r,
                             item->color.g,
                             item->color.b};
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            sum = (sum ^ (uint64_t)(uint32_t)parts[p]) * 1099511628211u;
    }
    return sum;
}

/* Each event is shown at four stages of its way, and each stage is another picture. */
static void the_sheet_shows_events_on_their_way(void **state)
{
    (void)state;
    for (int event = 0; event < SIM_EVENT_KINDS; event++) {
        uint64_t picture[4];
        view_draw_clear(&list);
        view_help_event(&list, view_box_make(1000, 0, 4 * 70 + 3 * 6, 84), event);
        for (int stage = 0; stage < 4; stage++) {
            picture[stage] = picture_of(1000 + (float)stage * 76, 70);
            for (int before = 0; before < stage; before++)
                if (picture[stage] == picture[before])
                    fail_msg("event %d looks the same at the stages %d and %d", event, before,
                             stage);
        }
    }
}

static void messages_stand_alone(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIZES; s++)
        for (int repeat = 1; repeat <= 12; repeat += 11) {
            struct view_frame frame = frame_of(sizes[s][0], sizes[s][1]);
            frame.run[0] = NULL;
            frame.progress = repeat == 1 ? 0.3 : -1;
            snprintf(frame.message.title, sizeof frame.message.title, "d differs");
            for (int k = 0; k < repeat; k++) {
                size_t used = strlen(frame.message.text);
                snprintf(frame.message.text + used, sizeof frame.message.text - used,
                         "k.npy is 5 x 64, q.npy 4 x 32: both need one head size, %d. ", k);
            }
            snprintf(frame.message.button, sizeof frame.message.button, "Keep the old run");
            frame.message.remedy = VIEW_REMEDY_RUN_AGAIN;
            struct view_scene scene = view_case_scene(&frame);
            view_draw_clear(&list);
            view_scene_message(&list, &scene);
            view_case_check_texts(&list, frame.width, frame.height);
            assert_true(view_case_says(&list, "d differs"));
            assert_non_null(view_case_text(&list, "k.npy is 5 x 64"));
            const struct view_hit *button = view_case_hit(&list, VIEW_RETRY, VIEW_REMEDY_RUN_AGAIN);
            assert_non_null(button);
            assert_true(button->box.y + button->box.h <= frame.height);
            assert_true(button->box.w >= 28 && button->box.h >= 28);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_can_be_reached),
        cmocka_unit_test(chips_are_edited),
        cmocka_unit_test(the_menu_lists_the_stages),
        cmocka_unit_test(a_new_run_is_announced),
        cmocka_unit_test(headings_of_two_runs),
        cmocka_unit_test(the_sheet_shows_everything),
        cmocka_unit_test(the_sheet_shows_events_on_their_way),
        cmocka_unit_test(messages_stand_alone),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
