/* Time and positions: sums against a walk over all events, steps there and back, two runs on one
 * clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "tests/view_case.h"
#include "tests/view_traced.h"
#include "visualizer/clock.h"
#include "visualizer/clock_index.h"

static void close_to(double a, double b, double within)
{
    if (!(fabs(a - b) <= within))
        fail_msg("%.17g is not %.17g", a, b);
}

static double place(struct view_position at)
{
    return (double)at.landed + (double)at.flight;
}

static double whole_of(const struct sim_event *event)
{
    return event->kind == SIM_COMPUTE  ? 520
           : event->kind == SIM_REFUSE ? 600
           : event->kind <= SIM_STORE  ? 420
                                       : 160;
}

/* By a walk: allocs, frees and skips in a row take 160 together. */
static void check_times(const struct view_run *run)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    uint64_t length = view_run_length(run), end;
    double time = 0;
    for (uint64_t first = 0; first < length; first = end) {
        const struct sim_event *event = view_run_event(run, first);
        bool joins = event->kind == SIM_ALLOC || event->kind == SIM_FREE || event->kind == SIM_SKIP;
        for (end = first + 1; joins && end < length; end++)
            if (view_run_event(run, end)->kind != event->kind)
                break;
        double own = whole_of(event) / (double)(end - first);
        for (uint64_t e = first; e < end; e++) {
            close_to(view_event_milliseconds(run, e), own, 1e-9);
            close_to(view_clock_time(index, e), time + own * (double)(e - first),
                     1e-6 * (time + 1));
        }
        time += whole_of(event);
    }
    close_to(view_clock_time(index, length), time, 1e-6 * (time + 1));
}

static void times_are_sums(void **state)
{
    int n;
    const struct trace_case *cases = trace_cases(&n);
    /* More events than there are marks: the times between marks are walked. */
    const struct trace_case many = {
        "many", &fa_flash2, fa_problem_make(2048, 1024, 4), 8, 16, 0, SIM_FORWARD};
    struct trace_case skips = many;
    (void)state;
    skips.problem.causal = FA_CAUSAL_TOP_LEFT;
    skips.bc = 8;
    for (int c = 0; c < n; c += 3) {
        struct view_run *run = view_traced_adopt(&cases[c]);
        check_times(run);
        view_run_close(run);
    }
    for (int c = 0; c < 2; c++) {
        struct view_run *run = view_traced_adopt(c ? &skips : &many);
        assert_true(view_run_clock_index(run)->step > 1);
        check_times(run);
        view_run_close(run);
    }
}

static void many_small_steps_are_one_large(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    (void)state;
    for (int speed = 0; speed < VIEW_SPEEDS; speed++) {
        struct view_position small = {0, 0}, large = {0, 0};
        for (int round = 0; round < 30; round++) {
            for (int k = 0; k < 100; k++)
                small = view_clock_advance(run, small, (enum view_speed)speed, 1);
            large = view_clock_advance(run, large, (enum view_speed)speed, 100);
            close_to(place(small), place(large), 2e-4);
            assert_true(small.flight >= 0 && small.flight < 1);
        }
    }
    view_run_close(run);
}

static void speeds_scale_time(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t length = view_run_length(run);
    double total = view_clock_time(view_run_clock_index(run), length);
    struct view_position at = {7, 0}; /* a load: 420 ms */
    (void)state;
    assert_int_equal(view_run_event(run, 7)->kind, SIM_LOAD);
    close_to(place(view_clock_advance(run, at, VIEW_ONE, 105)), 7.25, 1e-6);
    close_to(place(view_clock_advance(run, at, VIEW_HALF, 105)), 7.125, 1e-6);
    close_to(place(view_clock_advance(run, at, VIEW_FOUR, 105)), 8, 1e-6);
    close_to(view_event_pace(run, 7, VIEW_SIXTEEN), 420.0 / 16, 1e-9);
    close_to(view_clock_rate(run, at, VIEW_TWO), 2000.0 / 420, 1e-4);
    at = view_clock_advance(run, (struct view_position){0, 0}, VIEW_ONE, total * 0.999999);
    assert_int_equal(at.landed, length - 1);
    at = view_clock_advance(run, (struct view_position){0, 0}, VIEW_ONE, total + 1);
    assert_int_equal(at.landed, length);
    assert_true(at.flight == 0);
    at = view_clock_advance(run, (struct view_position){3, 0.5f}, VIEW_ONE, 0);
    close_to(place(at), 3.5, 0);
    view_run_close(run);
}

/* 8 s for the first tile, 10 for the rest of the first outer iteration, 14 for all that is left. */
static void auto_has_three_paces(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    struct view_position start = {0, 0};
    uint64_t first = view_case_after(run, SIM_COMPUTE, FA_O, 0, 0); /* the accumulate */
    struct view_unit unit = view_run_unit(run, view_run_unit_of(run, first));
    double sum = 0;
    (void)state;
    close_to(place(view_clock_advance(run, start, VIEW_AUTO, 8000)), (double)first, 1e-3);
    close_to(place(view_clock_advance(run, start, VIEW_AUTO, 18000)), (double)unit.end, 1e-3);
    assert_true(view_clock_advance(run, start, VIEW_AUTO, 31990).landed < view_run_length(run));
    assert_int_equal(view_clock_advance(run, start, VIEW_AUTO, 32000.01).landed,
                     view_run_length(run));
    for (uint64_t e = 0; e < view_run_length(run); e++)
        sum += view_event_pace(run, e, VIEW_AUTO);
    close_to(sum, 32000, 1e-6);
    view_run_close(run);
    /* One tile: what comes after it (a division, two stores, frees) is not drawn out to 10 s. */
    const struct view_case one = {.n = 4};
    run = view_case_open(&one);
    sum = 0;
    for (uint64_t e = 0; e < view_run_length(run); e++)
        sum += view_event_pace(run, e, VIEW_AUTO);
    close_to(sum, 8000 + 4 * (520 + 420 + 420 + 160), 1e-6);
    view_run_close(run);
}

static void a_refusal_ends_the_way(void **state)
{
    const struct view_case which = {.sram = 256};
    struct view_run *run = view_case_open(&which);
    uint64_t length = view_run_length(run);
    (void)state;
    assert_true(view_run_refused(run));
    assert_int_equal(view_clock_advance(run, (struct view_position){0, 0}, VIEW_AUTO, 1e9).landed,
                     length);
    assert_int_equal(view_step(run, length, VIEW_BY_EVENT, 1), length);
    close_to(view_event_milliseconds(run, length - 1), 600, 0);
    view_run_close(run);
}

static void steps_lead_there_and_back(void **state)
{
    int n;
    const struct trace_case *cases = trace_cases(&n);
    static uint64_t forward[100000];
    (void)state;
    for (int c = 1; c < n; c += 2) {
        struct view_run *run = view_traced_adopt(&cases[c]);
        uint64_t length = view_run_length(run);
        for (int by = 0; by < VIEW_BYS; by++) {
            size_t steps = 0;
            forward[steps++] = 0;
            while (forward[steps - 1] < length && steps < 99999) {
                uint64_t next = view_step(run, forward[steps - 1], (enum view_step_by)by, 1);
                assert_true(next > forward[steps - 1] && next <= length);
                forward[steps++] = next;
            }
            for (size_t s = steps - 1; s > 0; s--) {
                uint64_t back = view_step(run, forward[s], (enum view_step_by)by, -1);
                if (back != forward[s - 1])
                    fail_msg("case %d, by %d: back from %d is %d, not %d", c, by, (int)forward[s],
                             (int)back, (int)forward[s - 1]);
            }
            assert_int_equal(view_step(run, 0, (enum view_step_by)by, -1), 0);
            assert_int_equal(view_step(run, length, (enum view_step_by)by, 1), length);
        }
        view_run_close(run);
    }
}

static void steps_of_the_small_run(void **state)
{
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t landed;
    (void)state;
    assert_int_equal(view_step(run, 0, VIEW_BY_EVENT, 1), 7); /* seven allocs are one step */
    assert_int_equal(view_step(run, 3, VIEW_BY_EVENT, -1), 0);
    assert_int_equal(view_step(run, 7, VIEW_BY_EVENT, 1), 8);
    assert_int_equal(view_run_find_tile(run, 0, 0, &landed, NULL), FA_OK);
    assert_int_equal(view_step(run, 0, VIEW_BY_TILE, 1), landed);
    assert_int_equal(view_run_find_tile(run, 1, 2, &landed, NULL), FA_OK);
    assert_int_equal(view_step(run, landed - 1, VIEW_BY_TILE, 1), landed);
    assert_int_equal(view_step(run, landed + 1, VIEW_BY_TILE, -1), landed);
    struct view_unit unit = view_run_unit(run, view_run_unit_of(run, landed));
    assert_int_equal(view_step(run, landed, VIEW_BY_ROW, 1), unit.end);
    assert_int_equal(view_step(run, landed, VIEW_BY_ROW, -1), unit.first);
    assert_int_equal(view_step(run, landed, VIEW_BY_PHASE, 1), view_run_length(run));
    /* The division that ends a block of rows is no tile: the next one is the first of the next
     * rows. */
    uint64_t next;
    assert_int_equal(view_run_find_tile(run, 0, 3, &landed, NULL), FA_OK);
    assert_int_equal(view_run_find_tile(run, 1, 0, &next, NULL), FA_OK);
    assert_int_equal(view_step(run, landed, VIEW_BY_TILE, 1), next);
    assert_int_equal(view_step(run, next, VIEW_BY_TILE, -1), landed);
    view_run_close(run);
}

/* A phase ends where the head changes too. */
static void phases_of_heads(void **state)
{
    const struct view_case heads = {.heads = 3}, standard = {.algorithm = "standard"};
    struct view_run *run = view_case_open(&heads);
    uint64_t third = view_run_length(run) / 3;
    (void)state;
    assert_int_equal(view_step(run, 0, VIEW_BY_PHASE, 1), third);
    assert_int_equal(view_step(run, third, VIEW_BY_PHASE, 1), 2 * third);
    assert_int_equal(view_step(run, 2 * third, VIEW_BY_PHASE, -1), third);
    view_run_close(run);
    run = view_case_open(&standard);
    uint64_t softmax = view_step(run, 0, VIEW_BY_PHASE, 1);
    assert_int_equal(view_run_event(run, softmax)->kind, SIM_ALLOC);
    assert_int_equal(view_run_event(run, softmax)->rows, view_run_header(run)->tiles.row_block < 16
                                                            ? view_run_header(run)->tiles.row_block
                                                            : 16);
    assert_int_equal(view_step(run, softmax + 5, VIEW_BY_PHASE, -1), softmax);
    view_run_close(run);
}

static double counted(const struct view_run *run, uint64_t landed, enum view_clock_kind kind)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    struct sim_state at;
    view_run_state(run, landed, &at);
    return kind == VIEW_SAME_WORK   ? (double)at.counters.flops.matmul
           : kind == VIEW_SAME_TILE ? (double)at.counters.tiles_visited
                                    : (double)(sim_counters_read_all(&at.counters, problem).bytes +
                                               sim_counters_write_all(&at.counters, problem).bytes);
}

/* The first position with the work, by a look at all of them. */
static void check_clock(const struct view_run *run, enum view_clock_kind kind, uint64_t stride)
{
    uint64_t length = view_run_length(run);
    double all = counted(run, length, kind);
    close_to(view_work_in_all(run, kind), all, 0);
    for (uint64_t e = 0; e < length; e += stride) {
        double before = counted(run, e, kind), after = counted(run, e + 1, kind);
        close_to(view_work_of(run, (struct view_position){e, 0}, kind), before, 0);
        close_to(view_work_of(run, (struct view_position){e, 0.5f}, kind), (before + after) / 2,
                 1e-6 * all);
        if (after <= before || after >= all)
            continue;
        struct view_position at = view_at_work(run, after, kind);
        assert_int_equal(at.landed, e + 1);
        assert_true(at.flight == 0);
        at = view_at_work(run, before + 0.25 * (after - before), kind);
        close_to(place(at), (double)e + 0.25, 1e-5);
    }
    assert_int_equal(view_at_work(run, 0, kind).landed, 0);
    if (all > 0)
        assert_int_equal(view_at_work(run, all, kind).landed, length);
    assert_int_equal(view_at_work(run, 2 * all + 1, kind).landed, length);
}

static void common_clocks(void **state)
{
    int n;
    const struct trace_case *cases = trace_cases(&n);
    const struct trace_case many = {
        "many", &fa_flash1, fa_problem_make(1024, 1024, 4), 8, 16, 0, SIM_FORWARD};
    (void)state;
    for (int kind = 0; kind < VIEW_CLOCKS; kind++) {
        for (int c = 0; c < n; c += 4) {
            struct view_run *run = view_traced_adopt(&cases[c]);
            check_clock(run, (enum view_clock_kind)kind, view_run_length(run) > 2000 ? 17 : 1);
            view_run_close(run);
        }
        struct view_run *run = view_traced_adopt(&many);
        assert_true(view_run_clock_index(run)->step > 1);
        check_clock(run, (enum view_clock_kind)kind, 501);
        view_run_close(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_sums),
        cmocka_unit_test(many_small_steps_are_one_large),
        cmocka_unit_test(speeds_scale_time),
        cmocka_unit_test(auto_has_three_paces),
        cmocka_unit_test(a_refusal_ends_the_way),
        cmocka_unit_test(steps_lead_there_and_back),
        cmocka_unit_test(steps_of_the_small_run),
        cmocka_unit_test(phases_of_heads),
        cmocka_unit_test(common_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
