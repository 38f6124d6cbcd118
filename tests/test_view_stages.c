/*
 * The stages beside the cross: that each fits its place at all sizes, says so where it has nothing
 * to show, and that its counts and areas are those of the run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/block_pattern.h"
#include "tests/stage_case.h"

static const struct {
    const char *name;
    enum view_stage stage;
    stage_function *function;
} stages[] = {
    {"row", VIEW_STAGE_ROW, view_stage_row},       {"scale", VIEW_STAGE_SCALE, view_stage_scale},
    {"mask", VIEW_STAGE_MASK, view_stage_mask},    {"bits", VIEW_STAGE_BITS, view_stage_bits},
    {"waves", VIEW_STAGE_WAVES, view_stage_waves}, {"errors", VIEW_STAGE_ERRORS, view_stage_errors},
    {"tiles", VIEW_STAGE_TILES, view_stage_tiles},
};
enum { STAGES = sizeof stages / sizeof *stages };

static char now_drawn[96]; /* for messages */

/* A run on a machine of so many SMs. */
static struct view_run *open_on(const struct view_case *which, uint64_t sms)
{
    struct view_source source = view_case_source(which);
    struct view_run *run = NULL;
    source.experiment.machine.sms = sms;
    assert_int_equal(view_run_open(&source, NULL, &run, NULL), FA_OK);
    return run;
}

/* All that the stage draws lies in its place, its texts apart. */
static void check_place(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    struct view_box place = view_box_inset(scene.layout.stage, -1, -1);
    view_case_check_texts(&stage_list, frame->width, frame->height);
    for (size_t n = 0; n < stage_list.n_items; n++) {
        const struct view_item *item = &stage_list.items[n];
        if (item->kind == VIEW_TEXT && item->size < VIEW_SIZE_CELL)
            fail_msg("\"%s\" is of size %g", item->text, (double)item->size);
        if (item->kind == VIEW_CLIP || item->kind == VIEW_LINE)
            continue;
        struct view_box box = item->box;
        if (box.x < place.x || box.y < place.y || box.x + box.w > place.x + place.w ||
            box.y + box.h > place.y + place.h)
            fail_msg(
                "%s: an item of kind %d at (%g, %g) %g x %g leaves the stage (%g, %g) %g x %g: %s",
                now_drawn, (int)item->kind, (double)box.x, (double)box.y, (double)box.w,
                (double)box.h, (double)place.x, (double)place.y, (double)place.w, (double)place.h,
                item->kind == VIEW_TEXT ? item->text : "");
    }
    for (size_t n = 0; n < stage_list.n_hits; n++)
        if (stage_list.hits[n].label && !stage_list.hits[n].off)
            assert_true(stage_list.hits[n].box.w >= 28 && stage_list.hits[n].box.h >= 28);
}

static void check_sizes(const char *name, struct view_run *run, struct view_run *second)
{
    static const float sizes[][2] = {{400, 300},   {800, 600},   {1280, 720},
                                     {1920, 1080}, {3840, 2160}, {640, 480},
                                     {1000, 500},  {90, 60},     {1, 1}};
    uint64_t length = view_run_length(run);
    const uint64_t places[] = {0, 1, length / 3, length / 2 + 3, length - 1, length};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (int k = 0; k < 2 * STAGES; k++) {
                struct view_frame frame =
                    view_case_frame(run, second, sizes[s][0], sizes[s][1], places[p]);
                frame.stage = stages[k / 2].stage;
                frame.panel_open = k % 2;
                frame.in_turn = p % 2;
                frame.theme = (s + p) % 2 ? &view_dark : &view_light;
                stage_case_draw(stages[k / 2].function, &frame);
                snprintf(now_drawn, sizeof now_drawn, "%s, %s, event %d", name, stages[k / 2].name,
                         (int)places[p]);
                check_place(&frame);
            }
}

static void test_place(void **state)
{
    (void)state;
    struct fa_block_pattern pattern = {.rule = FA_BLOCKS_WINDOW, .width = 1, .global = 1};
    struct fa_block_mask blocks;
    assert_int_equal(fa_block_pattern_make(&pattern, 80, 80, 8, 8, &blocks, NULL), FA_OK);
    const struct {
        const char *name;
        struct view_case which;
    } cases[] = {
        {"tidy", {.sram = 512, .profile = FA_PROFILE_TIDY}},
        {"causal", {.n = 130, .d = 16, .br = 8, .bc = 8, .causal = true, .dropout_p = 0.2}},
        {"blocks", {.n = 80, .d = 8, .br = 8, .bc = 8, .blocks = &blocks, .sram = 4096}},
        {"flash1", {.algorithm = "flash1", .n = 40, .d = 8, .br = 16, .bc = 8, .heads = 3}},
        {"standard",
         {.algorithm = "standard", .n = 40, .d = 8, .br = 16, .bc = 8, .dropout_p = 0.5}},
        {"square", {.algorithm = "square-tiling", .n = 24, .d = 8, .br = 4, .bc = 4}},
        {"fused", {.algorithm = "fused-save-p", .n = 24, .d = 40, .br = 4, .bc = 8}},
        {"many", {.n = 600, .d = 2, .br = 8, .bc = 8, .sram = 1 << 16}},
        {"one query", {.n = 1, .nk = 500, .d = 4, .br = 1, .bc = 4, .sram = 1 << 12}},
        {"one key", {.n = 300, .nk = 1, .d = 4, .br = 4, .bc = 1, .dropout_p = 0.2}},
        {"backward", {.backward = true, .n = 24, .dropout_p = 0.2}},
        {"refused", {.n = 64, .d = 16, .br = 64, .bc = 64, .sram = 512}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct view_run *run = open_on(&cases[c].which, 108);
        check_sizes(cases[c].name, run, NULL);
        view_run_close(run);
    }
    struct view_run *a = open_on(&(struct view_case){.algorithm = "flash1", .dropout_p = 0.2}, 108);
    struct view_run *b = open_on(&(struct view_case){.sram = 512, .dropout_p = 0.2}, 108);
    check_sizes("compare", a, b);
    view_run_close(a);
    view_run_close(b);
    fa_block_mask_free(&blocks);
}

/* The sentence of a stage on a run, at 1280 x 720 and in the smallest window. */
static void expect_sentence(const struct view_case *which, stage_function *function, uint64_t sms,
                            const char *words)
{
    struct view_run *run = open_on(which, sms);
    const float sizes[][2] = {{1280, 720}, {400, 300}};
    for (int s = 0; s < 2; s++) {
        struct view_frame frame = view_case_frame(run, NULL, sizes[s][0], sizes[s][1], 30);
        frame.panel_open = s == 0;
        stage_case_draw(function, &frame);
        stage_case_expect(words);
    }
    view_run_close(run);
}

static void test_sentences(void **state)
{
    (void)state;
    const struct view_case plain = {0}, backward = {.backward = true};
    const struct view_case refused = {.n = 64, .d = 16, .br = 64, .bc = 64, .sram = 512};
    expect_sentence(&plain, view_stage_bits, 0, "--dropout 0.2");
    expect_sentence(&plain, view_stage_scale, 0, "--sram 192K");
    expect_sentence(&plain, view_stage_waves, 0, "--machine a100");
    expect_sentence(&backward, view_stage_row, 0, "backward");
    expect_sentence(&refused, view_stage_errors, 0, "refused");
}

/* A trace without its inputs: what needs values says why there are none, what needs none is
 * drawn. */
static void test_adopted(void **state)
{
    (void)state;
    struct view_source source = view_case_source(&(struct view_case){.dropout_p = 0.2});
    struct sim_trace *trace = NULL;
    struct sim_result result;
    struct view_run *run = NULL;
    source.experiment.trace = &trace;
    snprintf(source.experiment.machine.name, sizeof source.experiment.machine.name, "a100");
    assert_int_equal(sim_experiment_run(&source.experiment, &result, NULL), FA_OK);
    source.release(source.owner);
    assert_int_equal(view_run_adopt(trace, NULL, "The inputs are not there.", &run, NULL), FA_OK);
    for (int k = 0; k < STAGES; k++) {
        struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 40);
        stage_case_draw(stages[k].function, &frame);
        bool needs_values =
            stages[k].stage == VIEW_STAGE_ROW || stages[k].stage == VIEW_STAGE_ERRORS;
        assert_int_equal(view_case_text(&stage_list, "The inputs are not there.") != NULL,
                         needs_values);
    }
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 40);
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("4 blocks on 108 SMs");
    stage_case_draw(view_stage_bits, &frame);
    stage_case_expect("all 16 × 16 bits");
    view_run_close(run);
}

/* ---- waves ----------------------------------------------------------------------------------- */

/* The numbers in the squares: the blocks of the wave. */
static void expect_blocks(int first, int n)
{
    int found = 0;
    for (size_t k = 0; k < stage_list.n_items; k++) {
        int block, end = 0;
        if (stage_list.items[k].kind == VIEW_TEXT && stage_list.items[k].style == VIEW_MONO &&
            sscanf(stage_list.items[k].text, "%d%n", &block, &end) == 1 &&
            !stage_list.items[k].text[end]) {
            assert_int_equal(block, first + found);
            found++;
        }
    }
    assert_int_equal(found, n);
}

static void test_waves(void **state)
{
    (void)state;
    struct view_case which = {.n = 512, .d = 2, .br = 16, .bc = 64, .heads = 16};
    struct view_run *run = open_on(&which, 108);
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 0);
    frame.panel_open = false;
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("512 blocks on 108 SMs: 4.74 waves, the last one 74 % full");
    expect_blocks(0, 108);
    /* Somewhere in head 7: its first block is 7 * 32, in the third wave of 108. */
    uint64_t at = 0;
    while (view_run_event(run, at)->head < 7)
        at++;
    frame.at[0].landed = at + 1;
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("Now: block 224, tile 0 of head 7, in wave 3.");
    expect_blocks(216, 108);
    frame.at[0].landed = view_run_length(run);
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("Now: block 511, tile 31 of head 15, in wave 5.");
    expect_blocks(432, 80);
    frame.covered = true;
    stage_case_draw(view_stage_waves, &frame);
    assert_null(view_case_text(&stage_list, "4.74"));
    assert_null(view_case_text(&stage_list, "wave 5"));
    view_run_close(run);

    which.algorithm = "flash1";
    run = open_on(&which, 108);
    frame = view_case_frame(run, NULL, 1280, 720, 10);
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("16 blocks on 108 SMs: 0.15 waves, 92 SMs stay dark");
    expect_blocks(0, 16);
    view_run_close(run);

    run = open_on(&(struct view_case){.n = 64, .d = 2, .br = 4, .bc = 64}, 4);
    frame = view_case_frame(run, NULL, 1280, 720, 10);
    stage_case_draw(view_stage_waves, &frame);
    stage_case_expect("16 blocks on 4 SMs: 4 full waves");
    view_run_close(run);
}

/* ---- to scale -------------------------------------------------------------------------------- */

/* The largest item of a kind and colour. */
static struct view_box largest(enum view_item_kind kind, struct view_color color, bool dashed)
{
    struct view_box best = {0};
    for (size_t n = 0; n < stage_list.n_items; n++) {
        const struct view_item *item = &stage_list.items[n];
        if (item->kind == kind && memcmp(&item->color, &color, sizeof color) == 0 &&
            (item->dash > 0) == dashed && item->box.w * item->box.h > best.w * best.h)
            best = item->box;
    }
    return best;
}

static void test_scale(void **state)
{
    (void)state;
    const struct view_case which = {
        .n = 256, .nk = 128, .d = 16, .br = 16, .bc = 16, .sram = 12288, .dtype = FA_F16};
    struct view_run *run = view_case_open(&which);
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 100);
    stage_case_draw(view_stage_scale, &frame);
    stage_case_expect("S is 5.3 × SRAM"); /* 256 x 128 x 2 of 12288 bytes */
    stage_case_expect("256 × 128, 64 KiB");
    struct view_box s = largest(VIEW_FRAME, view_tensor_look(&view_dark, FA_S).line, true);
    struct view_box sram = largest(VIEW_FRAME, view_dark.text, false);
    struct view_box q = largest(VIEW_FRAME, view_tensor_look(&view_dark, FA_Q).line, false);
    struct view_box k = largest(VIEW_FRAME, view_tensor_look(&view_dark, FA_K).line, false);
    double unit = (double)(s.w * s.h) / (256.0 * 128 * 2);
    assert_true(unit > 0);
    assert_true(fabs((double)(sram.w * sram.h) / 12288 / unit - 1) < 1e-3);
    assert_true(fabs((double)(q.w * q.h) / (256.0 * 16 * 2) / unit - 1) < 1e-3);
    assert_true(fabs((double)(k.w * k.h) / (128.0 * 16 * 2) / unit - 1) < 1e-3);
    assert_false(view_box_meets(s, sram) || view_box_meets(s, q) || view_box_meets(s, k));
    frame.covered = true;
    stage_case_draw(view_stage_scale, &frame);
    assert_null(view_case_text(&stage_list, "5.3"));
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_place, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_sentences, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_adopted, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_waves, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_scale, stage_case_set_up, stage_case_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
