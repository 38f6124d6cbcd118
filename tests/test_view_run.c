/* Opening, adopting and closing runs; what a run says of itself; the sources that the program
 * carries. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/view_case.h"
#include "tests/view_traced.h"
#include "visualizer/source_text.h"

static int released;
static struct view_source inner;

static void count_release(void *owner)
{
    released++;
    inner.release(owner);
}

static struct view_source counted_source(const struct view_case *which)
{
    struct view_source source = view_case_source(which);
    inner = source;
    source.release = count_release;
    released = 0;
    return source;
}

static void opens(void **state)
{
    (void)state;
    struct view_source source = counted_source(&(struct view_case){.heads = 3});
    struct view_run *run;
    assert_int_equal(view_run_open(&source, NULL, &run, NULL), FA_OK);
    assert_int_equal(view_run_length(run), sim_trace_length(view_run_trace(run)));
    assert_ptr_equal(view_run_header(run)->algorithm, &fa_flash2);
    assert_int_equal(view_run_heads(run), 3);
    assert_false(view_run_refused(run));
    assert_null(view_run_refusal(run));
    assert_false(view_run_backward(run));
    assert_int_equal(view_run_tiles(run).br, 4);
    assert_ptr_equal(view_run_experiment(run)->q, source.experiment.q);
    assert_non_null(view_run_clock_index(run));
    assert_int_equal(released, 0);
    view_run_close(run);
    assert_int_equal(released, 1);
    view_run_close(NULL);
}

static bool cancel(void *context, double done)
{
    (void)context, (void)done;
    return false;
}

/* The source is let go of then too, and *run stays what it was. */
static void fails_to_open(void **state)
{
    (void)state;
    struct fa_watch watch = {.tick = cancel};
    struct view_source source = counted_source(&(struct view_case){0});
    struct view_run *run = NULL;
    struct fa_error error;
    assert_int_equal(view_run_open(&source, &watch, &run, &error), FA_CANCELLED);
    assert_null(run);
    assert_int_equal(released, 1);
    source = counted_source(&(struct view_case){0});
    source.experiment.pass = SIM_BOTH;
    assert_int_equal(view_run_open(&source, NULL, &run, &error), FA_UNSUPPORTED);
    assert_int_equal(released, 1);
    source = counted_source(&(struct view_case){.sram = 8});
    source.experiment.tiles.policy = SIM_TILES_SQUARE; /* and not even the least fits */
    assert_int_equal(view_run_open(&source, NULL, &run, &error), FA_DOES_NOT_FIT);
    assert_int_equal(released, 1);
    assert_null(run);
}

static void bounds_events(void **state)
{
    (void)state;
    struct view_source source = view_case_source(&(struct view_case){0});
    struct sim_result result;
    struct sim_trace *trace = NULL;
    struct fa_error error;
    source.experiment.trace = &trace;
    source.experiment.most_events = 155;
    assert_int_equal(sim_experiment_run(&source.experiment, &result, &error), FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "more than 155 events"));
    assert_null(trace);
    source.experiment.most_events = 156;
    assert_int_equal(sim_experiment_run(&source.experiment, &result, &error), FA_OK);
    assert_int_equal(sim_trace_length(trace), 156);
    sim_trace_free(trace);
    source.release(source.owner);
}

static void refusals(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        struct view_run *run =
            view_case_open(&(struct view_case){.sram = 300, .backward = backward});
        uint64_t length = view_run_length(run);
        assert_true(view_run_refused(run));
        assert_non_null(strstr(view_run_refusal(run), "SRAM of 300 bytes is too small"));
        assert_int_equal(view_run_event(run, length - 1)->kind, SIM_REFUSE);
        const struct view_values *values = view_run_values(run, length);
        assert_non_null(values);
        double value;
        enum fa_tensor_id first = (enum fa_tensor_id)view_run_event(run, length - 2)->tensor;
        assert_int_not_equal(view_values_chip(values, first, 0, 0, &value), VIEW_CELL_NONE);
        struct view_track_bin bins[2];
        view_run_track(run, 0, length, bins, 2);
        assert_false(bins[0].refuses);
        assert_true(bins[1].refuses);
        view_run_close(run);
    }
}

/* Positions forwards, backwards and far apart. */
static void states(void **state)
{
    (void)state;
    struct trace_case which = trace_case_small;
    which.problem.nq = which.problem.nk = 64;
    which.br = which.bc = 2;
    struct view_run *run = view_traced_adopt(&which);
    uint64_t length = view_run_length(run), at = 0;
    assert_true(length > SIM_TRACE_SNAPSHOT);
    for (int n = 0; n < 500; n++) {
        struct sim_state got, expected;
        at = n % 3 == 0 ? (at * 7 + 4093) % (length + 1) : at + (uint64_t)n % 2;
        at = at < length ? at : length;
        memset(&got, 0, sizeof got);
        memset(&expected, 0, sizeof expected);
        view_run_state(run, at, &got);
        sim_trace_seek(view_run_trace(run), at, &expected);
        assert_memory_equal(&got, &expected, sizeof got);
    }
    view_run_close(run);
}

static struct sim_trace *trace_of(const struct view_case *which)
{
    struct view_source source = view_case_source(which);
    struct sim_trace *trace = NULL;
    struct sim_result result;
    source.experiment.trace = &trace;
    assert_int_equal(sim_experiment_run(&source.experiment, &result, NULL), FA_OK);
    source.release(source.owner);
    return trace;
}

/* A trace with the experiment that made it has values; without one it says why it has none. */
static void adopts(void **state)
{
    (void)state;
    const struct view_case which = {.causal = true};
    struct view_source source = counted_source(&which);
    struct view_run *run;
    assert_int_equal(view_run_adopt(trace_of(&which), &source, NULL, &run, NULL), FA_OK);
    assert_null(view_run_no_values(run));
    assert_non_null(view_run_values(run, 50));
    assert_true(view_run_most(run, FA_S) > 0);
    struct view_check checks[VIEW_CHECKS];
    view_run_checks(run, view_run_length(run), checks);
    assert_int_equal(checks[0].verdict, VIEW_GOOD);
    struct view_error_row rows[4];
    assert_int_equal(view_run_errors(run, rows), 2);
    assert_true(rows[0].passed);
    view_run_close(run);
    assert_int_equal(released, 1);

    assert_int_equal(view_run_adopt(trace_of(&which), NULL, NULL, &run, NULL), FA_OK);
    assert_non_null(strstr(view_run_no_values(run), "without its inputs"));
    assert_null(view_run_experiment(run));
    assert_null(view_run_rescale(run, 20));
    view_run_close(run);
}

/* Another experiment's run has more events, or as many others. */
static void adopts_another(void **state)
{
    (void)state;
    const struct view_case others[] = {{.heads = 2}, {.d = 8}};
    for (int n = 0; n < 2; n++) {
        struct view_source source = counted_source(&others[n]);
        struct view_run *run;
        assert_int_equal(
            view_run_adopt(trace_of(&(struct view_case){0}), &source, NULL, &run, NULL), FA_OK);
        assert_non_null(strstr(view_run_no_values(run), "makes another trace"));
        assert_null(view_run_values(run, 50));
        assert_true(view_run_most(run, FA_S) == 0);
        struct view_error_row rows[4];
        assert_int_equal(view_run_errors(run, rows), 0);
        assert_null(view_run_tile_errors(run));
        struct view_check checks[VIEW_CHECKS];
        view_run_checks(run, view_run_length(run), checks);
        assert_int_equal(checks[0].verdict, VIEW_NO_VERDICT);
        view_run_close(run);
        assert_int_equal(released, 1);
    }
}

/* Each line of the file as it stands there: braces, semicolons, backslashes, brackets and
 * quotes. */
static void check_source(const char *file)
{
    const struct view_source_text *text = view_source_find(file);
    char path[512], line[1024];
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", FLASHLAB_SOURCE_DIR, file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_non_null(text);
    assert_string_equal(text->file, file);
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        assert_true(n < text->n_lines);
        assert_string_equal(text->lines[n], line);
        n++;
    }
    assert_int_equal(n, text->n_lines);
    fclose(stream);
}

static void sources(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        check_source(fa_algorithms[a]->file);
        if (fa_algorithms[a]->backward)
            check_source(fa_algorithms[a]->backward->file);
    }
    assert_null(view_source_find("reference/nothing.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens),         cmocka_unit_test(fails_to_open),
        cmocka_unit_test(bounds_events), cmocka_unit_test(refusals),
        cmocka_unit_test(states),        cmocka_unit_test(adopts),
        cmocka_unit_test(adopts_another),
        cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
