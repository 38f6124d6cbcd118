/*
 * What single steps of the lessons put on the stage beside the usual: the L2 of lesson 14, its
 * errors by stage, the bits of lesson 13 in turn. Each number must be one that the scenario's run
 * gives, and must not be there before its time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lesson_stage.h"

static struct lesson_stage stage;

/* The step of a lesson by its title. */
static void go(int number, const char *title)
{
    const struct lesson *lesson = lesson_find(lesson_stage_shelf(), number);
    int step = 0;
    while (step < lesson->n_steps && strcmp(lesson->step[step].title, title) != 0)
        step++;
    if (step == lesson->n_steps)
        fail_msg("lesson %d has no step %s", number, title);
    if (!stage.state) /* at the first lesson, whose run is small */
        lesson_stage_open(&stage, NULL);
    lesson_stage_go(&stage, lesson, step);
}

static double value_of(const char *expression)
{
    struct fa_error error = {FA_OK, ""};
    double value = 0;
    const struct lesson_step *step = &stage.lesson->lesson->step[stage.lesson->step];
    if (lesson_evaluate(expression, step->show.scenario, lesson_stage_runner(), &value, &error) !=
        FA_OK)
        fail_msg("%s: %s", expression, error.text);
    return value;
}

static bool is_drawn(const char *text)
{
    return view_case_says(view_state_draw(stage.state), text);
}

/* ---- L2 ---------------------------------------------------------------------------------- */

#define H200(E) value_of("with(\"--batch 64 --heads 16 --machine h200\", " E ")")

static void test_l2_is_counted(void **unused)
{
    (void)unused;
    go(14, "Measured");
    const struct view_l2 *l2 = &stage.frame->l2;
    assert_true((double)l2->read == H200("bytes(read()) * batch * heads"));
    assert_true((double)l2->write == H200("bytes(write()) * batch * heads"));
    assert_true((double)l2->dram_read == H200("dram(read)"));
    assert_true((double)l2->dram_write == H200("dram(write)"));
    assert_true(l2->dram_read < l2->read);
    assert_int_equal(l2->heads, 1024);
    assert_string_equal(l2->machine, "h200");
    assert_true(l2->capacity > 0);
}

/* At all sizes, with its numbers where they may be known. */
static void look(bool known)
{
    static const float sizes[][2] = {{1920, 1080}, {800, 600}, {640, 480}, {400, 300}, {1280, 720}};
    static const char *const texts[] = {"2.28 billion", "403 million", "82 %"};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        bool room = sizes[s][0] >= 800;
        struct view_scene scene;
        lesson_stage_resize(&stage, sizes[s][0], sizes[s][1], s % 2 ? &view_light : &view_dark);
        view_case_check_texts(view_state_draw(stage.state), sizes[s][0], sizes[s][1]);
        assert_int_equal(is_drawn("L2") && is_drawn("from HBM"), room);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            assert_int_equal(is_drawn(texts[k]), room && known);
        view_scene_make(&scene, stage.frame);
        const struct view_layout *l = &scene.layout;
        assert_int_equal(l->l2.w > 0, room);
        assert_true(!room || (l->hbm[0].x + l->hbm[0].w <= l->dram.x &&
                              l->dram.x + l->dram.w <= l->l2.x &&
                              l->l2.x + l->l2.w <= l->lanes[0].x &&
                              l->lanes[0].x + l->lanes[0].w <= l->sram[0].x));
    }
}

/* Where it is asked for: not at its end yet, under a prediction, and after it. */
static void test_l2_is_drawn(void **unused)
{
    (void)unused;
    go(14, "A third box");
    look(false);
    go(14, "What reaches the chips?");
    look(false);
    go(14, "Measured");
    look(true);
    go(14, "Not bit for bit");
    assert_false(is_drawn("L2") || is_drawn("from HBM"));
}

/* Another value of an option's list is chosen. */
static void change(const char *name, const char *value)
{
    const struct view_frame *frame = stage.frame;
    int chip = 0, choice = 0;
    while (chip < frame->n_options && strcmp(frame->options[chip].name, name) != 0)
        chip++;
    assert_true(chip < frame->n_options);
    view_state_do(stage.state, VIEW_CHIP, chip);
    while (strcmp(frame->options[chip].choices[choice], value) != 0)
        choice++;
    view_state_do(stage.state, VIEW_CHIP_VALUE, choice);
    view_state_settle(stage.state);
}

/* A learner's other N has another L2; what has none is drawn without. */
static void test_l2_follows_the_run(void **unused)
{
    (void)unused;
    go(14, "Measured");
    struct view_l2 before = stage.frame->l2;
    change("n", "256");
    assert_true(stage.lesson->changed);
    assert_true(stage.frame->l2.read < before.read);
    assert_true((double)stage.frame->l2.read ==
                H200("with(\"--n 256\", bytes(read()) * batch * heads)"));
    go(14, "Measured");
    assert_memory_equal(&stage.frame->l2.read, &before.read, sizeof before.read);
    view_state_do(stage.state, VIEW_EXPLORE, 0);
    assert_int_equal(stage.frame->l2.capacity, 0);
    assert_false(is_drawn("from HBM"));
}

/* What flies does not come from HBM, of which no one knows that: it leaves L2. */
static void test_l2_sends(void **unused)
{
    (void)unused;
    go(14, "A third box");
    uint64_t load = 0;
    while (view_run_event(stage.frame->run[0], load)->kind != SIM_LOAD)
        load++;
    struct view_scene scene;
    float least = 1e6f;
    view_state_seek(stage.state, (struct view_position){load, 0.25f});
    view_scene_make(&scene, stage.frame);
    const struct view_draw *draw = view_state_draw(stage.state);
    for (size_t n = 0; n < draw->n_items; n++)
        if (draw->items[n].layer == VIEW_FLIGHT && draw->items[n].kind == VIEW_FILL)
            least = fminf(least, draw->items[n].box.x);
    assert_true(least > scene.layout.l2.x && least < scene.layout.sram[0].x);
}

/* ---- errors by stage --------------------------------------------------------------------- */

static void check_rms(const char *expression)
{
    char number[VIEW_NUMBER_TEXT];
    double value = value_of(expression);
    if (!view_case_text(view_state_draw(stage.state), view_value_text(value, number)))
        fail_msg("%s, %s, is not on screen", expression, number);
}

static void test_errors_by_stage(void **unused)
{
    static const char *const shown[] = {
        "measured(\"S rms\")", "measured(\"LSE rms\")", "measured(\"O rms\")",
        "with(\"--algorithm standard\", measured(\"S rms\"))",
        "with(\"--algorithm standard\", measured(\"P rms\"))",
        "with(\"--algorithm standard\", measured(\"LSE rms\"))",
        "with(\"--algorithm standard\", measured(\"O rms\"))"};
    char number[VIEW_NUMBER_TEXT];
    (void)unused;
    go(14, "Which one errs less?");
    assert_true(stage.frame->covered && stage.frame->run[1]);
    for (size_t n = 0; n < sizeof shown / sizeof *shown; n++)
        assert_null(view_case_text(view_state_draw(stage.state),
                                   view_value_text(value_of(shown[n]), number)));
    lesson_stage_answer(&stage, stage.lesson->answers.right);
    for (size_t n = 0; n < sizeof shown / sizeof *shown; n++)
        check_rms(shown[n]);
    go(14, "Break it");
    lesson_stage_click(&stage, VIEW_LESSON_RUN_IT, 0, 0.5);
    view_state_settle(stage.state);
    assert_true(is_drawn("in HBM, bf16"));
    check_rms("with(\"--dtype bf16 --algorithm standard\", measured(\"S rms\"))");
    check_rms("with(\"--dtype bf16\", measured(\"O rms\"))");
}

/* ---- bits in turn ------------------------------------------------------------------------ */

static int count_framed(void)
{
    const struct view_draw *draw = view_state_draw(stage.state);
    int n = 0;
    for (size_t k = 0; k < draw->n_items; k++)
        n += draw->items[k].kind == VIEW_FRAME &&
             memcmp(&draw->items[k].color, &stage.frame->theme->bad, sizeof draw->theme->bad) == 0;
    return n;
}

static void test_bits_in_turn(void **unused)
{
    (void)unused;
    go(13, "Another order, the same bits");
    assert_false(stage.frame->in_turn);
    assert_int_equal(count_framed(), 0);
    go(13, "If the order mattered");
    assert_true(stage.frame->in_turn && stage.frame->covered);
    assert_int_equal(count_framed(), 0);
    lesson_stage_answer(&stage, stage.lesson->answers.right);
    int differ = (int)value_of("measured(\"other bits\")");
    assert_true(differ > 20);
    for (int which = 0; which < 2; which++)
        assert_int_equal(stage.frame->at[which].landed, view_run_length(stage.frame->run[which]));
    assert_int_equal(count_framed(), 2 * differ);
    go(13, "Another mask");
    assert_int_equal(count_framed(), 2 * differ);
    go(13, "Break it");
    assert_false(stage.frame->in_turn);
    go(13, "Another mask");
    view_state_do(stage.state, VIEW_EXPLORE, 0);
    assert_false(stage.frame->in_turn);
}

static int leave(void **unused)
{
    (void)unused;
    if (stage.state)
        lesson_stage_close(&stage);
    memset(&stage, 0, sizeof stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_l2_is_counted, leave),
        cmocka_unit_test_teardown(test_l2_is_drawn, leave),
        cmocka_unit_test_teardown(test_l2_follows_the_run, leave),
        cmocka_unit_test_teardown(test_l2_sends, leave),
        cmocka_unit_test_teardown(test_errors_by_stage, leave),
        cmocka_unit_test_teardown(test_bits_in_turn, leave),
    };
    return cmocka_run_group_tests(tests, NULL, lesson_stage_close_shelf);
}
