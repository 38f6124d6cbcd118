/*
 * One row: its scores, m, l and O as the run had them against a softmax in double of the test's
 * own, and what the stage says of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/visibility.h"
#include "tests/stage_case.h"

/* The score of the inputs in double, -INFINITY where the problem hides it. */
static double score(const struct sim_experiment *e, int64_t head, int64_t row, int64_t key)
{
    struct fa_span seen = fa_visible_keys(&e->problem, row);
    double sum = 0;
    if (key < seen.first || key >= seen.end)
        return -INFINITY;
    for (int64_t c = 0; c < e->problem.d; c++)
        sum += fa_tensor_get(e->q, 0, head, row, c) * fa_tensor_get(e->k, 0, head, key, c);
    return sum * e->problem.scale;
}

static void near(double got, double expected)
{
    if (!(got == expected || fabs(got - expected) <= 1e-5 * fmax(1, fabs(expected))))
        fail_msg("%.9g, expected %.9g", got, expected);
}

/* m and l over the keys [0, end). */
static double sum_so_far(const struct sim_experiment *e, int64_t head, int64_t row, int64_t end,
                         double *max)
{
    double sum = 0;
    *max = -INFINITY;
    for (int64_t k = 0; k < end; k++)
        *max = fmax(*max, score(e, head, row, k));
    for (int64_t k = 0; k < end && isfinite(*max); k++)
        sum += exp(score(e, head, row, k) - *max);
    return sum;
}

/* All rows of all algorithms: scores, and m and l after each step, whose order is that of the
 * keys. */
static void check_rows(const struct view_case *which)
{
    struct view_run *run = view_case_open(which);
    const struct sim_experiment *e = view_run_experiment(run);
    for (int64_t head = 1; head >= 0; head--)
        for (int64_t r = 0; r < 21; r++) {
            struct view_row row;
            assert_true(view_run_row(run, head, r, &row));
            assert_int_equal(row.keys, 18);
            for (int64_t k = 0; k < 18; k++) {
                if (row.scored[k / 5] == UINT64_MAX)
                    assert_true(isinf(score(e, head, r, k)) && isnan(row.scores[k]));
                else
                    near(row.scores[k], score(e, head, r, k));
            }
            for (int64_t s = 0; s < row.n_steps; s++) {
                const struct view_row_step *step = &row.steps[s];
                const struct sim_event *event = view_run_event(run, step->event);
                double max, sum = sum_so_far(e, head, r, step->end, &max);
                near(step->max, max);
                near(step->sum, sum);
                assert_int_equal(event->kind, SIM_COMPUTE);
                assert_int_equal(event->head, head);
                assert_true(s == 0 || step->event > step[-1].event);
                for (int64_t k = step->first; k < step->end; k++)
                    assert_true(row.scored[k / 5] < step->event);
            }
            assert_true(row.n_steps > 0 || which->causal);
        }
    view_run_close(run);
}

static void test_rows(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        uint64_t sram;
    } cases[] = {{"flash2", 0},        {"flash1", 0},         {"fused-save-p", 0},
                 {"standard", 0},      {"standard", 400},     {"standard", 300},
                 {"square-tiling", 0}, {"square-tiling", 400}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int causal = 0; causal < 2; causal++) {
            const struct view_case which = {.algorithm = cases[c].algorithm,
                                            .n = 21,
                                            .nk = 18,
                                            .d = 6,
                                            .br = 4,
                                            .bc = 5,
                                            .heads = 2,
                                            .causal = causal,
                                            .sram = cases[c].sram};
            check_rows(&which);
        }
}

/* Three digits, as the equation of l has them. */
static const char *three(double value, char text[32])
{
    snprintf(text, 32, "%.3g", value);
    return text;
}

/* After each absorb of the pictures' run the stage says that row's m, its l with the equation,
 * its weights. */
static void test_row_texts(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    const struct sim_experiment *e = view_run_experiment(run);
    int rises = 0;
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 4; j++)
            for (int64_t r = 4 * i; r < 4 * i + 4; r++) {
                uint64_t landed = 0;
                while (!(view_run_event(run, landed)->kind == SIM_COMPUTE &&
                         view_run_event(run, landed)->op == FA_OP_ABSORB &&
                         (int64_t)view_run_event(run, landed)->i == i &&
                         (int64_t)view_run_event(run, landed)->j == j))
                    landed++;
                struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed + 1);
                char text[160], was[VIEW_NUMBER_TEXT], now[VIEW_NUMBER_TEXT], n[4][32];
                double old_max, max, old_sum = sum_so_far(e, 0, r, 4 * j, &old_max);
                double sum = sum_so_far(e, 0, r, 4 * j + 4, &max), added = 0;
                if (r > 4 * i)
                    frame.cell = (struct view_cell){.on = true, .id = FA_O, .row = r};
                stage_case_draw(view_stage_row, &frame);
                snprintf(text, sizeof text, "Row %d of Q against keys 0 to 15", (int)r);
                stage_case_expect(text);
                snprintf(text, sizeof text, "m = %s", view_value_text(max, now));
                if (j > 0 && max > old_max) {
                    rises++;
                    snprintf(text, sizeof text, "m = %s  (was %s)", now,
                             view_value_text(old_max, was));
                    stage_case_expect("before the rescale");
                }
                assert_true(view_case_says(&stage_list, text));
                for (int64_t k = 4 * j; k < 4 * j + 4; k++)
                    added += exp(score(e, 0, r, k) - max);
                if (j > 0)
                    snprintf(text, sizeof text, "%s = %s × %s + %s", three(sum, n[0]),
                             three(exp(old_max - max), n[1]), three(old_sum, n[2]),
                             three(added, n[3]));
                else
                    snprintf(text, sizeof text, "%s = the sum of 4 weights", three(sum, n[0]));
                stage_case_expect(text);
                for (int64_t k = 0; k < 4 * j + 4; k++) {
                    assert_true(
                        view_case_says(&stage_list, view_number_short(score(e, 0, r, k), now)));
                    double weight = exp(score(e, 0, r, k) - max);
                    assert_true(view_case_says(&stage_list, view_number_short(weight, now)));
                }
                assert_int_equal(view_case_text(&stage_list, "not seen yet") != NULL, j < 3);
            }
    assert_true(rises > 4);
    view_run_close(run);
}

/* Dashed outlines of bars; the legend's square is 12 wide. */
static int count_outlines(void)
{
    int n = 0;
    for (size_t k = 0; k < stage_list.n_items; k++)
        n += stage_list.items[k].kind == VIEW_FRAME && stage_list.items[k].dash > 0 &&
             stage_list.items[k].box.w > 12 &&
             memcmp(&stage_list.items[k].color, &view_dark.edge, sizeof view_dark.edge) == 0;
    return n;
}

/* A tile's scores are seen from the event on that forms them, and no sooner. */
static void test_row_seen(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t landed = view_case_after(run, SIM_COMPUTE, FA_S, 1, 2);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed);
    stage_case_draw(view_stage_row, &frame);
    assert_int_equal(count_outlines(), 4);
    frame.at[0].landed = landed - 1;
    stage_case_draw(view_stage_row, &frame);
    assert_int_equal(count_outlines(), 8);
    view_run_close(run);

    /* Of the softmax by rows the row is the first of its own blocks. */
    run = view_case_open(&(struct view_case){.algorithm = "standard", .n = 21, .sram = 560});
    int64_t block = view_run_tiles(run).row_block;
    char text[64];
    assert_true(block > 1 && block < 21 && block != 4);
    landed = 0;
    while (view_run_event(run, landed)->op != FA_OP_SOFTMAX_ROWS ||
           view_run_event(run, landed)->i != 1)
        landed++;
    frame = view_case_frame(run, NULL, 1280, 720, landed + 1);
    stage_case_draw(view_stage_row, &frame);
    snprintf(text, sizeof text, "Row %d of Q", (int)block);
    stage_case_expect(text);
    stage_case_expect("the sum of 21 weights");
    view_run_close(run);
}

/* O as it lies on chip, and divided by l once P V is in it; undivided and alone before. */
static void test_row_output(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    const struct sim_experiment *e = view_run_experiment(run);
    uint64_t landed = view_case_after(run, SIM_COMPUTE, FA_O, 1, 2);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, landed);
    double max, sum = sum_so_far(e, 0, 4, 12, &max);
    char text[VIEW_NUMBER_TEXT];
    stage_case_draw(view_stage_row, &frame);
    stage_case_expect("O/ℓ");
    for (int64_t c = 0; c < 4; c++) {
        double o = 0;
        for (int64_t k = 0; k < 12; k++)
            o += exp(score(e, 0, 4, k) - max) * fa_tensor_get(e->v, 0, 0, k, c);
        assert_true(view_case_says(&stage_list, view_number_short(o, text)));
        assert_true(view_case_says(&stage_list, view_number_short(o / sum, text)));
    }
    frame.at[0].landed = landed - 1;
    stage_case_draw(view_stage_row, &frame);
    stage_case_expect("O waits for P V");
    frame.covered = true;
    stage_case_draw(view_stage_row, &frame);
    assert_null(view_case_text(&stage_list, "× "));
    stage_case_expect("m = ?");
    view_run_close(run);
}

/* A masked key is hidden, and never counted as not seen; buttons go to the rows beside. */
static void test_row_hidden(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.causal = true});
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run));
    frame.cell = (struct view_cell){.on = true, .id = FA_Q, .row = 5};
    stage_case_draw(view_stage_row, &frame);
    stage_case_expect("hidden by the mask");
    assert_null(view_case_text(&stage_list, "not seen yet"));
    assert_null(view_case_text(&stage_list, "∞"));
    int buttons = 0;
    for (size_t n = 0; n < stage_list.n_hits; n++)
        if (stage_list.hits[n].action == VIEW_CELL) {
            struct view_cell cell = view_cell_unpack(stage_list.hits[n].value);
            assert_true(cell.on && cell.id == FA_Q);
            assert_int_equal(cell.row, strstr(stage_list.hits[n].label, "next") ? 6 : 4);
            buttons++;
        }
    assert_int_equal(buttons, 2);
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_row_texts, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_row_seen, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_row_output, stage_case_set_up, stage_case_tear_down),
        cmocka_unit_test_setup_teardown(test_row_hidden, stage_case_set_up, stage_case_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
