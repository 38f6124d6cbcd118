#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/tidy_case.h"

/* What flies alone. */
static struct view_scene fly(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&draw);
    draw.layer = VIEW_FLIGHT;
    view_scene_flight(&draw, &scene, 0);
    for (size_t n = 0; n < draw.n_items; n++)
        assert_int_equal(draw.items[n].layer, VIEW_FLIGHT);
    return scene;
}

/* The frame just before the event of that kind lands, `flight` of its way. */
static struct view_frame under_way(struct view_run *run, enum sim_event_kind kind,
                                   enum fa_tensor_id id, int64_t i, int64_t j, float flight)
{
    struct view_frame frame =
        view_case_frame(run, NULL, 1280, 720, view_case_after(run, kind, id, i, j) - 1);
    frame.at[0].flight = flight;
    return frame;
}

static const struct view_item *letter(const char *text)
{
    for (size_t n = 0; n < draw.n_items; n++)
        if (draw.items[n].kind == VIEW_TEXT && strcmp(draw.items[n].text, text) == 0)
            return &draw.items[n];
    return NULL;
}

static struct view_box middle_of(struct view_box box)
{
    return view_box_make(box.x + box.w / 2, box.y + box.h / 2, 0, 0);
}

static void a_load_crosses_the_lane(void **state)
{
    struct view_box source, slot;
    float before = 0;
    (void)state;
    for (int step = 3; step <= 8; step++) {
        struct view_frame frame = under_way(tidy, SIM_LOAD, FA_K, 1, 2, (float)step / 10);
        struct view_scene scene = fly(&frame);
        assert_true(view_hbm_tile(&scene, 0, FA_K, 2, 0, &source) &&
                    view_bench_tile(&scene, 0, FA_K, &slot));
        const struct view_item *copy = letter("K");
        assert_non_null(copy);
        float x = middle_of(copy->box).x;
        assert_true(x > middle_of(source).x - 1 && x < middle_of(slot).x + 1);
        assert_true(x >= before);
        before = x;
        if (step == 5) { /* it has left the one and not reached the other */
            assert_true(x > source.x + source.w && x < slot.x);
            assert_true(copy->box.y > 48 && copy->box.y < 564);
        }
    }
    struct view_frame frame = under_way(tidy, SIM_LOAD, FA_K, 1, 2, 0.1f);
    fly(&frame);
    assert_null(letter("K")); /* rings first */
    assert_true(draw.n_items > 0);
    frame = under_way(tidy, SIM_LOAD, FA_K, 1, 2, 0.95f);
    fly(&frame);
    assert_null(letter("K")); /* it lands */
}

static void a_store_goes_back_on_the_lower_lane(void **state)
{
    struct view_frame frame = under_way(tidy, SIM_STORE, FA_O, 1, -1, 0.4f);
    struct view_scene scene = fly(&frame);
    float first = middle_of(letter("O")->box).x, y = middle_of(letter("O")->box).y;
    (void)state;
    frame.at[0].flight = 0.6f;
    fly(&frame);
    assert_true(middle_of(letter("O")->box).x < first);
    frame.at[0].flight = 0.52f;
    fly(&frame);
    y = middle_of(letter("O")->box).y;
    assert_true(y > scene.layout.lanes[0].y + scene.layout.lanes[0].h / 2);
}

static int frames_of_trail(float rate)
{
    struct view_frame frame = under_way(tidy, SIM_LOAD, FA_K, 1, 2, 0.5f);
    int fills = 0;
    frame.rate = rate;
    fly(&frame);
    for (size_t n = 0; n < draw.n_items; n++)
        fills += draw.items[n].kind == VIEW_FILL && draw.items[n].box.h > 10;
    return fills;
}

static void haste_takes_the_trail_then_the_flight(void **state)
{
    (void)state;
    assert_int_equal(frames_of_trail(0), 2);
    assert_int_equal(frames_of_trail(4), 2);
    assert_int_equal(frames_of_trail(5), 1);
    assert_int_equal(frames_of_trail(16), 1);
    assert_int_equal(frames_of_trail(17), 0);
}

static void reduced_motion_moves_nothing(void **state)
{
    struct view_frame frame = under_way(tidy, SIM_LOAD, FA_K, 1, 2, 0.5f);
    (void)state;
    frame.reduced_motion = true;
    fly(&frame);
    size_t items = draw.n_items;
    struct view_item first[64];
    assert_true(items > 3 && items < 64);
    memcpy(first, draw.items, items * sizeof *first);
    assert_null(letter("K"));
    frame.at[0].flight = 0.9f;
    fly(&frame);
    assert_int_equal(draw.n_items, items);
    for (size_t n = 0; n < items; n++)
        assert_memory_equal(&first[n].box, &draw.items[n].box, sizeof first[n].box);
}

static void a_result_fills_from_the_top(void **state)
{
    float before = 0;
    (void)state;
    for (int step = 1; step <= 6; step++) {
        struct view_frame frame = under_way(tidy, SIM_COMPUTE, FA_S, 1, 2, (float)step / 10);
        struct view_scene scene = fly(&frame);
        struct view_box slot;
        float filled = 0;
        assert_true(view_bench_tile(&scene, 0, FA_S, &slot));
        for (size_t n = 0; n < draw.n_items; n++)
            if (draw.items[n].kind == VIEW_FILL && draw.items[n].box.x == slot.x &&
                draw.items[n].box.y == slot.y)
                filled = draw.items[n].box.h;
        assert_true(filled > before);
        before = filled;
        /* 320 of 520 ms: linear until then */
        assert_true(fabsf(filled - slot.h * fminf(1, (float)step / 10 * 520 / 320)) < 1);
    }
}

static void a_skip_is_marked_and_counted(void **state)
{
    struct view_run *run = view_case_open(&(struct view_case){.causal = true});
    uint64_t at = 0;
    (void)state;
    while (view_run_event(run, at)->kind != SIM_SKIP)
        at++;
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, at);
    frame.at[0].flight = 0.5f;
    fly(&frame);
    assert_non_null(letter("3 tiles, 0 B")); /* row 0 of 4 x 4 tiles sees one of them */
    view_run_close(run);
}

static void nothing_flies_between_events(void **state)
{
    (void)state;
    for (uint64_t at = 0; at <= view_run_length(tidy); at++) {
        struct view_frame frame = view_case_frame(tidy, NULL, 1280, 720, at);
        fly(&frame);
        assert_int_equal(draw.n_items, 0);
    }
}

/* ---- the card -------------------------------------------------------------------------------- */

static struct view_scene card(const struct view_frame *frame)
{
    struct view_scene scene = view_case_scene(frame);
    view_draw_clear(&draw);
    draw.layer = VIEW_POPUP;
    view_scene_card(&draw, &scene);
    draw.layer = VIEW_BASE;
    return scene;
}

static double given(const struct view_scene *scene, enum fa_tensor_id id, int64_t row,
                    int64_t column)
{
    double value = NAN;
    view_values_hbm(scene->moment[0].values, id, 0, row, column, &value);
    return value;
}

static void a_score_is_explained_by_its_products(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, 1, 2));
    (void)state;
    frame.cell = (struct view_cell){true, 0, true, FA_S, 4, 11};
    struct view_scene scene = card(&frame);
    double sum = 0;
    for (int64_t c = 0; c < 4; c++) {
        char product[80], a[VIEW_NUMBER_TEXT], b[VIEW_NUMBER_TEXT];
        double q = given(&scene, FA_Q, 4, c), k = given(&scene, FA_K, 11, c);
        snprintf(product, sizeof product, "%s·%s", view_value_text(q, a), view_value_text(k, b));
        assert_non_null(view_case_text(&draw, product));
        sum += q * k;
    }
    char text[96], value[VIEW_NUMBER_TEXT];
    snprintf(text, sizeof text, "S, query 4, key 11: %s", view_value_text(0.5 * sum, value));
    assert_true(view_case_says(&draw, text));
    snprintf(text, sizeof text, "= 0.5 × %s", view_value_text(sum, value));
    assert_true(view_case_says(&draw, text));
    snprintf(text, sizeof text, "written by event %d", (int)frame.at[0].landed - 1);
    assert_true(view_case_says(&draw, text));
}

static void o_is_also_told_over_its_sum(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_O, 1, 2));
    (void)state;
    frame.cell = (struct view_cell){true, 0, true, FA_O, 6, 1};
    struct view_scene scene = card(&frame);
    double o = NAN, l = NAN;
    char text[96], a[VIEW_NUMBER_TEXT], b[VIEW_NUMBER_TEXT], c[VIEW_NUMBER_TEXT];
    view_values_chip(scene.moment[0].values, FA_O, 2, 1, &o);
    view_values_chip(scene.moment[0].values, FA_L, 2, 0, &l);
    snprintf(text, sizeof text, "O/ℓ = %s / %s = %s", view_value_text(o, a), view_value_text(l, b),
             view_value_text(o / l, c));
    assert_non_null(view_case_text(&draw, text));
}

static void a_ghost_says_that_it_is_none(void **state)
{
    struct view_frame frame =
        view_case_frame(tidy, NULL, 1280, 720, view_case_after(tidy, SIM_COMPUTE, FA_S, 1, 2));
    (void)state;
    frame.cell = (struct view_cell){true, 0, false, FA_S, 15, 15};
    card(&frame);
    assert_non_null(view_case_text(&draw, "not computed yet"));
    frame.cell.row = frame.cell.column = 0;
    card(&frame);
    assert_non_null(view_case_text(&draw, "used and dropped"));
    frame.cell = (struct view_cell){true, 0, false, FA_O, 15, 0};
    card(&frame);
    assert_non_null(view_case_text(&draw, "not written yet"));
    frame.covered = true;
    card(&frame);
    assert_int_equal(draw.n_items, 0);
}

/* Inside the stage, and never over the cell that it is about. */
static void cards_leave_their_cells_free(void **state)
{
    static const float sizes[][2] = {{480, 320}, {640, 480}, {800, 600}, {1280, 720}, {1920, 1080}};
    static const enum fa_tensor_id ids[] = {FA_Q, FA_K, FA_V, FA_S, FA_O, FA_M};
    uint64_t at = view_case_after(tidy, SIM_COMPUTE, FA_S, 2, 1);
    int shown = 0;
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t t = 0; t < sizeof ids / sizeof *ids; t++)
            for (int64_t row = 0; row < 16; row++)
                for (int chip = 0; chip < 2; chip++) {
                    struct view_frame frame =
                        view_case_frame(tidy, NULL, sizes[s][0], sizes[s][1], at);
                    frame.panel_open = sizes[s][0] >= 640;
                    frame.cell = (struct view_cell){true, 0, chip, ids[t], row, 0};
                    struct view_scene scene = card(&frame);
                    const struct view_item *plate = NULL;
                    struct view_box cell;
                    view_case_check_texts(&draw, sizes[s][0], sizes[s][1]);
                    for (size_t n = 0; n < draw.n_items && !plate; n++)
                        if (draw.items[n].kind == VIEW_FILL)
                            plate = &draw.items[n];
                    if (!plate)
                        continue;
                    shown++;
                    struct view_box stage = scene.layout.stage;
                    assert_true(plate->box.x >= stage.x && plate->box.y >= stage.y &&
                                plate->box.x + plate->box.w <= stage.x + stage.w &&
                                plate->box.y + plate->box.h <= stage.y + stage.h);
                    /* the frame round the cell that was pointed at is drawn first */
                    cell = draw.items[0].box;
                    assert_false(view_box_meets(cell, plate->box));
                }
    assert_true(shown > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_crosses_the_lane),
        cmocka_unit_test(a_store_goes_back_on_the_lower_lane),
        cmocka_unit_test(haste_takes_the_trail_then_the_flight),
        cmocka_unit_test(reduced_motion_moves_nothing),
        cmocka_unit_test(a_result_fills_from_the_top),
        cmocka_unit_test(a_skip_is_marked_and_counted),
        cmocka_unit_test(nothing_flies_between_events),
        cmocka_unit_test(a_score_is_explained_by_its_products),
        cmocka_unit_test(o_is_also_told_over_its_sum),
        cmocka_unit_test(a_ghost_says_that_it_is_none),
        cmocka_unit_test(cards_leave_their_cells_free),
    };
    return cmocka_run_group_tests(tests, tidy_case_open, tidy_case_close);
}
