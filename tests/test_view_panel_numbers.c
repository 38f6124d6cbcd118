/* What the panels say is what was counted and measured. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/panel_case.h"

/* ---- traffic --------------------------------------------------------------------------------- */

/* Whether a row with that word has that number at its right. */
static bool row_says(const char *letter, const char *word, const char *number)
{
    float y = -1;
    for (size_t n = 0; n < panel_draw.n_items; n++) {
        const struct view_item *item = &panel_draw.items[n];
        if (item->kind != VIEW_TEXT)
            continue;
        if (strcmp(item->text, letter) == 0)
            y = item->box.y;
        if (y >= 0 && strcmp(item->text, word) == 0 && item->box.y >= y - 4 && item->box.y < y + 24)
            for (size_t m = n; m < panel_draw.n_items && m < n + 8; m++)
                if (panel_draw.items[m].kind == VIEW_TEXT &&
                    strcmp(panel_draw.items[m].text, number) == 0 &&
                    fabsf(panel_draw.items[m].box.y - item->box.y) < 6)
                    return true;
    }
    return false;
}

static void check_numbers(struct view_run *run, struct view_frame *frame,
                          const struct sim_counters *now, const struct sim_counters *end)
{
    const struct fa_problem *p = &view_run_header(run)->problem;
    char text[VIEW_COUNT_TEXT], other[VIEW_COUNT_TEXT], line[96];
    panel_case(frame);
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        for (int write = 0; write < 2; write++) {
            struct sim_volume all = write ? sim_counters_write(end, p, (enum fa_tensor_id)id)
                                          : sim_counters_read(end, p, (enum fa_tensor_id)id);
            struct sim_volume part = write ? sim_counters_write(now, p, (enum fa_tensor_id)id)
                                           : sim_counters_read(now, p, (enum fa_tensor_id)id);
            const char *letter = view_tensor_look(panel_draw.theme, (enum fa_tensor_id)id).letter;
            uint64_t count = frame->bytes ? part.bytes : part.elements;
            if (all.elements > 0 &&
                !row_says(letter, write ? "write" : "read", view_count_text(count, text)))
                fail_msg("%s %s is not %s", letter, write ? "write" : "read", text);
        }
    uint64_t both = sim_counters_read_all(now, p).bytes + sim_counters_write_all(now, p).bytes;
    uint64_t whole = sim_counters_read_all(end, p).bytes + sim_counters_write_all(end, p).bytes;
    if (frame->bytes) {
        snprintf(line, sizeof line, "%s of %s", view_count_text(both, text),
                 view_count_text(whole, other));
        assert_true(view_case_says(&panel_draw, line));
    }
    snprintf(line, sizeof line, "%s of %s", view_count_text(now->flops.matmul, text),
             view_count_text(end->flops.matmul, other));
    assert_true(view_case_says(&panel_draw, line));
    snprintf(line, sizeof line, "%s of %s tiles visited.",
             view_count_text(now->tiles_visited, text), view_count_text(end->tiles_visited, other));
    panel_says(line);
}

static void traffic_is_what_was_counted(void **state)
{
    (void)state;
    for (int c = 0; c < PANEL_CASES; c++) {
        struct view_run *run = view_case_open(&panel_cases[c]);
        uint64_t length = view_run_length(run);
        for (int part = 0; part <= 4; part++) {
            struct view_frame frame =
                view_case_frame(run, NULL, 1280, 1400, length * (uint64_t)part / 4);
            struct sim_state now, end;
            frame.panel = VIEW_PANEL_TRAFFIC;
            frame.bytes = part % 2;
            frame.all_heads = true;
            view_run_state(run, frame.at[0].landed, &now);
            view_run_state(run, length, &end);
            check_numbers(run, &frame, &now.counters, &end.counters);
        }
        view_run_close(run);
    }
}

/* Of one head: what its own events moved, of all heads the sum. */
static void one_head_is_its_own_events(void **state)
{
    (void)state;
    const struct view_case two = {.algorithm = "flash1", .n = 16, .sram = 1024, .heads = 3};
    struct view_run *run = view_case_open(&two);
    struct sim_state one = {0}, end;
    uint64_t length = view_run_length(run), landed = length * 5 / 9;
    int64_t head = (int64_t)view_run_event(run, landed - 1)->head;
    struct view_frame frame = view_case_frame(run, NULL, 1280, 1400, landed);

    assert_int_equal(head, 1);
    frame.panel = VIEW_PANEL_TRAFFIC;
    for (uint64_t e = 0; e < landed; e++)
        if ((int64_t)view_run_event(run, e)->head == head)
            sim_state_apply(&one, view_run_header(run), view_run_event(run, e));
    struct sim_counters now = one.counters;
    for (uint64_t e = landed; e < length; e++)
        if ((int64_t)view_run_event(run, e)->head == head)
            sim_state_apply(&one, view_run_header(run), view_run_event(run, e));
    check_numbers(run, &frame, &now, &one.counters);
    panel_says("Head 1 of 0 to 2.");
    view_run_state(run, length, &end);
    assert_int_equal(end.counters.read[FA_Q], 3 * one.counters.read[FA_Q]);
    view_run_close(run);
}

static void bars_are_to_one_scale(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run));
    float width[FA_HBM_TENSORS] = {0};
    frame.panel = VIEW_PANEL_TRAFFIC;
    panel_case(&frame);
    for (size_t n = 0; n < panel_draw.n_items; n++)
        for (int id = 0; id < FA_LSE; id++) {
            struct view_color fill = view_tensor_look(panel_draw.theme, (enum fa_tensor_id)id).fill;
            if (panel_draw.items[n].kind == VIEW_FILL && panel_draw.items[n].box.h == 14 &&
                memcmp(&fill, &panel_draw.items[n].color, sizeof fill) == 0)
                width[id] = panel_draw.items[n].box.w;
        }
    assert_true(width[FA_K] > 100); /* 4 times as much as Q and O */
    assert_true(width[FA_V] == width[FA_K]);
    assert_true(fabsf(width[FA_K] / 4 - width[FA_Q]) <= 1);
    assert_true(fabsf(width[FA_K] / 4 - width[FA_O]) <= 1);
    view_run_close(run);
}

static void buttons_change_the_units(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&panel_cases[1]);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 40);
    int units = 0, heads = 0;
    frame.panel = VIEW_PANEL_TRAFFIC;
    panel_case(&frame);
    for (size_t n = 0; n < panel_draw.n_hits; n++) {
        units += panel_draw.hits[n].action == VIEW_UNITS;
        heads += panel_draw.hits[n].action == VIEW_HEADS;
    }
    assert_int_equal(units, 1); /* the one that is not on */
    assert_int_equal(heads, 1);
    panel_says("in bytes");
    frame.bytes = false;
    panel_case(&frame);
    panel_says("in elements");
    view_run_close(run);
}

/* ---- compare --------------------------------------------------------------------------------- */

static void check_ratio(uint64_t at_first, uint64_t at_second)
{
    const struct view_case first = {.algorithm = "flash1", .n = 32, .sram = 1024};
    const struct view_case second = {.algorithm = "flash2", .n = 32, .sram = 1024};
    struct view_run *a = view_case_open(&first), *b = view_case_open(&second);
    struct view_frame frame = view_case_frame(a, b, 1280, 720, at_first);
    char text[VIEW_NUMBER_TEXT + 8], number[VIEW_NUMBER_TEXT], line[96];
    char count[2][VIEW_COUNT_TEXT];
    struct sim_state state;
    double moved[2];

    frame.panel = VIEW_PANEL_TRAFFIC;
    frame.bytes = false;
    frame.at[1].landed = at_second;
    for (int which = 0; which < 2; which++) {
        const struct fa_problem *p = &view_run_header(frame.run[which])->problem;
        view_run_state(frame.run[which], frame.at[which].landed, &state);
        uint64_t all = sim_counters_read_all(&state.counters, p).elements +
                       sim_counters_write_all(&state.counters, p).elements;
        moved[which] = (double)all;
        view_count_text(all, count[which]);
    }
    panel_case(&frame);
    snprintf(line, sizeof line, "A %s    B %s", count[0], count[1]);
    assert_true(view_case_says(&panel_draw, line));
    if (moved[0] > 0 && moved[1] > 0) {
        bool more = moved[0] > moved[1];
        snprintf(text, sizeof text, "%s ×",
                 view_number_short(more ? moved[0] / moved[1] : moved[1] / moved[0], number));
        const struct view_item *big = view_case_text(&panel_draw, text);
        assert_non_null(big);
        assert_true(big->size == VIEW_SIZE_BIG);
        panel_says(moved[0] == moved[1] ? "the same in both"
                   : more               ? "as much in A"
                                        : "as much in B");
    } else {
        assert_null(view_case_text(&panel_draw, "×"));
    }
    view_run_close(a);
    view_run_close(b);
}

static void the_ratio_is_that_of_the_counts(void **state)
{
    (void)state;
    check_ratio(300, 200);
    check_ratio(60, 300);
    check_ratio(0, 0);
    check_ratio(200, 0);
}

static void clocks_are_offered_and_explained(void **state)
{
    static const char *const words[VIEW_CLOCKS] = {"matmuls", "tiles.", "race"};
    (void)state;
    struct view_run *a = view_case_open(&panel_cases[1]), *b = view_case_open(&panel_cases[0]);
    struct view_frame frame = view_case_frame(a, b, 1280, 900, 60);
    frame.panel = VIEW_PANEL_TRAFFIC;
    for (int clock = 0; clock < VIEW_CLOCKS; clock++) {
        unsigned offered = 0;
        frame.clock = (enum view_clock_kind)clock;
        panel_case(&frame);
        for (size_t n = 0; n < panel_draw.n_hits; n++)
            if (panel_draw.hits[n].action == VIEW_COMPARE_CLOCK)
                offered |= 1u << panel_draw.hits[n].value;
        assert_int_equal(offered, 7);
        panel_says(words[clock]);
    }
    view_run_close(a);
    view_run_close(b);
}

/* ---- plot ------------------------------------------------------------------------------------ */

static void the_chart_shows_each_counted_point(void **state)
{
    (void)state;
    const struct view_case which = {.n = 32, .sram = 1024};
    struct view_run *run = view_case_open(&which);
    struct view_frame frame = view_case_frame(run, NULL, 1920, 1080, 20);
    struct sim_state end;
    char text[VIEW_COUNT_TEXT];
    frame.panel = VIEW_PANEL_PLOT;
    frame.plot = &panel_plot;
    for (int axis = 0; axis < VIEW_PLOT_AXES; axis++) {
        int counted = 0, squares = 0;
        panel_count(&which, (enum view_plot_axis)axis, 99);
        for (int s = 0; s < panel_plot.n_series; s++)
            for (int p = 0; p < panel_plot.series[s].n; p++)
                counted += panel_plot.series[s].points[p].counted;
        panel_case(&frame);
        for (size_t n = 0; n < panel_draw.n_items; n++)
            squares += panel_draw.items[n].kind == VIEW_FILL && panel_draw.items[n].box.w == 6 &&
                       panel_draw.items[n].box.h == 6;
        assert_int_equal(squares, counted);
        for (int s = 0; s < panel_plot.n_series; s++)
            assert_true(view_case_says(&panel_draw, panel_plot.series[s].algorithm->name));
        assert_true(view_case_says(&panel_draw, "floor"));
        panel_says("Squares: counted. Dashed lines: closed forms.");
        /* The ring's number is the run's own, from its trace. */
        view_run_state(run, view_run_length(run), &end);
        const struct fa_problem *p = &view_run_header(run)->problem;
        view_count_text(sim_counters_read_all(&end.counters, p).elements +
                            sim_counters_write_all(&end.counters, p).elements,
                        text);
        assert_true(view_case_says(&panel_draw, text));
    }
    view_run_close(run);
}

static void refused_points_are_marked(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 20);
    frame.panel = VIEW_PANEL_PLOT;
    frame.plot = &panel_plot;
    panel_count(&view_case_tidy, VIEW_PLOT_BR, 99);
    panel_case(&frame);
    assert_true(view_case_says(&panel_draw, "no fit"));
    panel_says("Crosses: too little SRAM");
    int refused = 0, strokes = 0;
    for (int r = 0; r < panel_plot.n_series; r++)
        for (int p = 0; p < panel_plot.series[r].n; p++)
            refused += panel_plot.series[r].points[p].refused;
    for (size_t n = 0; n < panel_draw.n_items; n++)
        strokes += panel_draw.items[n].kind == VIEW_LINE && panel_draw.items[n].box.w == 6 &&
                   fabsf(panel_draw.items[n].box.h) == 6;
    assert_true(refused > 0);
    assert_int_equal(strokes, 2 * refused);
    panel_count(&view_case_tidy, VIEW_PLOT_N, 99);
    panel_case(&frame);
    assert_false(view_case_says(&panel_draw, "no fit"));
    view_run_close(run);
}

static void counting_says_how_far_it_is(void **state)
{
    (void)state;
    char text[80];
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 20);
    frame.panel = VIEW_PANEL_PLOT;
    panel_case(&frame); /* nothing yet */
    panel_says("Plot needs a count");
    frame.plot = &panel_plot;
    panel_count(&view_case_tidy, VIEW_PLOT_SRAM, 7);
    snprintf(text, sizeof text, "Plot needs a count of %d runs: 7", panel_plot.in_all);
    panel_case(&frame);
    panel_says(text);
    while (view_plot_step(&panel_plot))
        ;
    panel_case(&frame);
    assert_null(view_case_text(&panel_draw, "Plot needs"));
    view_run_close(run);
}

/* ---- check ----------------------------------------------------------------------------------- */

static void errors_are_those_of_the_run(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 900, view_run_length(run) / 2);
    struct view_error_row rows[4];
    struct view_check checks[VIEW_CHECKS];
    char most[VIEW_NUMBER_TEXT], budget[VIEW_NUMBER_TEXT], line[96];
    int n = view_run_errors(run, rows);

    assert_int_equal(n, 2);
    frame.panel = VIEW_PANEL_CHECK;
    panel_case(&frame);
    for (int r = 0; r < n; r++) {
        assert_true(view_case_says(&panel_draw, rows[r].name));
        snprintf(line, sizeof line, "%s of %s allowed", view_value_text(rows[r].max_abs, most),
                 view_value_text(rows[r].budget, budget));
        assert_true(view_case_says(&panel_draw, line));
    }
    view_run_checks(run, frame.at[0].landed, checks);
    for (int c = 0; c < VIEW_CHECKS; c++)
        assert_true(view_case_says(&panel_draw, checks[c].name));
    panel_says("Error by tile");
    bool image = false;
    for (size_t i = 0; i < panel_draw.n_items; i++)
        image = image || (panel_draw.items[i].kind == VIEW_IMAGE &&
                          panel_draw.items[i].columns == 4 && panel_draw.items[i].rows == 4);
    assert_true(image);
    view_run_close(run);
}

static void what_cannot_be_checked_says_why(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&panel_cases[4]);
    assert_true(view_run_refused(run));
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, view_run_length(run));
    frame.panel = VIEW_PANEL_CHECK;
    panel_case(&frame);
    panel_says("refused this run");
    view_run_close(run);

    /* A trace from a file: no values, and the command that has them. */
    struct sim_trace *trace = NULL;
    struct view_source source = view_case_source(&view_case_tidy), none = {0};
    struct sim_result result;
    source.experiment.trace = &trace;
    assert_int_equal(sim_experiment_run(&source.experiment, &result, NULL), FA_OK);
    assert_int_equal(view_run_adopt(trace, &none, "The trace has no tensors.", &run, NULL), FA_OK);
    frame = view_case_frame(run, NULL, 1280, 720, 20);
    frame.panel = VIEW_PANEL_CHECK;
    snprintf(frame.options[0].name, sizeof frame.options[0].name, "n");
    snprintf(frame.options[0].value, sizeof frame.options[0].value, "16");
    snprintf(frame.options[1].name, sizeof frame.options[1].name, "causal");
    snprintf(frame.options[1].value, sizeof frame.options[1].value, "yes");
    frame.n_options = 2;
    panel_case(&frame);
    panel_says("The trace has no tensors.");
    panel_says("flashlab run --n 16 --causal");
    view_run_close(run);
    source.release(source.owner);
}

static void what_answers_is_covered(void **state)
{
    (void)state;
    char text[VIEW_COUNT_TEXT];
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, 40);
    struct sim_state now;
    frame.covered = true;
    view_run_state(run, 40, &now);
    view_count_text(now.counters.read[FA_K] * 4, text);
    panel_count(&view_case_tidy, VIEW_PLOT_SRAM, 99);
    frame.plot = &panel_plot;
    for (int p = VIEW_PANEL_TRAFFIC; p < VIEW_PANEL_LESSON; p++) {
        frame.panel = (enum view_panel)p;
        panel_case(&frame);
        assert_true(view_case_says(&panel_draw, "?"));
        for (size_t n = 0; n < panel_draw.n_items; n++) {
            assert_int_not_equal(panel_draw.items[n].kind, VIEW_IMAGE);
            if (panel_draw.items[n].kind == VIEW_TEXT)
                assert_null(strpbrk(panel_draw.items[n].text, "0123456789"));
        }
    }
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_is_what_was_counted),
        cmocka_unit_test(one_head_is_its_own_events),
        cmocka_unit_test(bars_are_to_one_scale),
        cmocka_unit_test(buttons_change_the_units),
        cmocka_unit_test(the_ratio_is_that_of_the_counts),
        cmocka_unit_test(clocks_are_offered_and_explained),
        cmocka_unit_test(the_chart_shows_each_counted_point),
        cmocka_unit_test(refused_points_are_marked),
        cmocka_unit_test(counting_says_how_far_it_is),
        cmocka_unit_test(errors_are_those_of_the_run),
        cmocka_unit_test(what_cannot_be_checked_says_why),
        cmocka_unit_test(what_answers_is_covered),
    };
    return cmocka_run_group_tests(tests, panel_open, panel_close);
}
