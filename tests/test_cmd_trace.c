/* flashlab trace on a trace that flashlab run saved. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "simulator/trace.h"
#include "tests/program_expect.h"

static char path[512];

/* flash2 over 16 queries and keys in tiles of 4 x 8, causal, two heads. */
static int save_trace(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s", program_path("run.trace"));
    struct program_run run = program_run("run", "--n", "16", "--d", "4", "--heads", "2", "--tiles",
                                         "4x8", "--causal", "--trace", path, NULL);
    int status = run.status;
    program_run_free(&run);
    return status;
}

static void expect_refusal(const char *words, const char *a, const char *b, const char *c,
                           const char *d)
{
    struct program_run run = program_run("trace", path, a, b, c, d, NULL);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    text_expect(run.err, words);
    program_run_free(&run);
}

static json_t *read_json(struct program_run *run)
{
    json_t *object = json_loads(run->out, 0, NULL);
    assert_int_equal(run->status, 0);
    assert_non_null(object);
    program_run_free(run);
    return object;
}

/* The integer under up to three keys. */
static json_int_t at(json_t *object, const char *a, const char *b, const char *c)
{
    json_t *value = json_object_get(object, a);
    value = b ? json_object_get(value, b) : value;
    value = c ? json_object_get(value, c) : value;
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* A head: query tiles 0 and 1 see key tile 0, tiles 2 and 3 both: 6 of 8 visited, 4 cut. */
static void test_summary(void **state)
{
    (void)state;
    struct program_run run = program_run("trace", path, NULL);
    assert_int_equal(run.status, 0);
    text_expect(run.out, "flash2: batch 1, heads 2, K/V heads 2, Nq 16, Nk 16, d 4, dv 4, f32");
    text_expect(run.out, "12 visited, 8 of them cut by the mask, 4 skipped");
    text_expect(run.out, "Inputs   gauss, seed 1");
    program_run_free(&run);

    run = program_run("trace", path, "--format", "json", NULL);
    json_t *object = read_json(&run);
    assert_int_equal(at(object, "tiles_visited", NULL, NULL), 12);
    assert_int_equal(at(object, "tiles_masked", NULL, NULL), 8);
    assert_int_equal(at(object, "tiles_skipped", NULL, NULL), 4);
    assert_int_equal(at(object, "by_kind", "skip", NULL), 4);
    assert_int_equal(at(object, "header", "problem", "nq"), 16);
    json_t *moved = json_object_get(json_object_get(object, "hbm"), "by_tensor");
    assert_int_equal(at(moved, "q", "read", "elements"), 2 * 16 * 4);
    assert_int_equal(at(moved, "k", "read", "elements"), 2 * 6 * 8 * 4);
    assert_int_equal(at(moved, "o", "write", "bytes"), 2 * 16 * 4 * 4);
    assert_null(json_object_get(moved, "s"));
    json_decref(object);
}

static void test_filters(void **state)
{
    (void)state;
    struct program_run run =
        program_run("trace", path, "--kind", "load,store", "--tensor", "k", "--head", "1", NULL);
    assert_int_equal(run.status, 0);
    assert_int_equal(text_count_lines(run.out), 6);
    assert_null(strstr(run.out, "head 0"));
    text_expect(run.out, "load    k       8 x 4");
    text_expect(run.out, "from row 8, column 0");
    text_expect(run.out, "Algorithm 1, line 7 (reference/flash2.c:");
    text_expect(run.err, "6 of ");
    program_run_free(&run);

    run = program_run("trace", path, "--kind", "skip", "--format", "json", NULL);
    json_t *list = read_json(&run);
    assert_int_equal(json_array_size(list), 4);
    json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "skip");
    assert_true(json_is_null(json_object_get(first, "tensor")));
    assert_int_equal(at(first, "i", NULL, NULL), 0);
    assert_int_equal(at(first, "j", NULL, NULL), 1);
    json_decref(list);

    run = program_run("trace", path, "--i", "3", "--j", "1", "--head", "0", "--kind", "compute",
                      NULL);
    text_expect(run.out, "score, visits the tile, cut by the mask");
    program_run_free(&run);
}

static void test_slice(void **state)
{
    (void)state;
    struct program_run run = program_run("trace", path, "--from", "5", "--to", "8", NULL);
    assert_int_equal(text_count_lines(run.out), 3);
    text_expect(run.out, "       5  head 0");
    text_expect(run.out, "       7  head 0");
    program_run_free(&run);
    run = program_run("trace", path, "--from", "3", "--to", "3", "--format", "json", NULL);
    json_t *list = read_json(&run);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

/* The state is that of sim_trace_seek: the list of what is live, and what was moved. */
static void test_state(void **state)
{
    (void)state;
    struct sim_trace *trace = NULL;
    assert_int_equal(sim_trace_load(path, &trace, NULL), FA_OK);
    uint64_t n = sim_trace_length(trace);
    for (uint64_t p = 0; p <= n; p += 23) {
        char number[32];
        struct sim_state expected;
        int live = 0;
        sim_trace_seek(trace, p, &expected);
        for (int id = 0; id < FA_TENSORS; id++)
            live += expected.on_chip[id].live;
        snprintf(number, sizeof number, "%d", (int)p);
        struct program_run run =
            program_run("trace", path, "--at", number, "--format", "json", NULL);
        json_t *object = read_json(&run);
        assert_int_equal(at(object, "position", NULL, NULL), p);
        assert_int_equal(at(object, "sram", "live_bytes", NULL), expected.sram_bytes);
        assert_int_equal(at(object, "flop", "matmul", NULL), expected.counters.flops.matmul);
        const json_t *on_chip = json_object_get(object, "on_chip");
        assert_int_equal(json_array_size(on_chip), live);
        json_int_t before = -1; /* in the order of addresses */
        for (size_t i = 0; i < (size_t)live; i++) {
            json_int_t place = at(json_array_get(on_chip, i), "place", NULL, NULL);
            assert_true(place > before);
            before = place;
        }
        json_decref(object);
    }
    sim_trace_free(trace);
    struct program_run run = program_run("trace", path, "--at", "13", NULL);
    assert_int_equal(run.status, 0);
    text_expect(run.out, "After 13 of ");
    text_expect(run.out, "4 x 4 of q, head 0, row 0, column 0");
    program_run_free(&run);
}

/* A backward pass with dropout and blocks: what the header says of them, and what was moved. */
static void test_backward(void **state)
{
    (void)state;
    char saved[512];
    snprintf(saved, sizeof saved, "%s", program_path("backward.trace"));
    struct program_run run = program_run("run", "--n", "16", "--d", "4", "--tiles", "4x4", "--pass",
                                         "backward", "--dropout", "0.25", "--dropout-seed", "3",
                                         "--block-pattern", "strided:2", "--trace", saved, NULL);
    assert_int_equal(run.status, 0);
    program_run_free(&run);
    run = program_run("trace", saved, NULL);
    assert_int_equal(run.status, 0);
    text_expect(run.out, "flash2 backward: batch 1, heads 1");
    text_expect(run.out, "Dropout  p 0.25, seed 3");
    text_expect(run.out, "Blocks   4 x 4 of 4 x 4, 50 % of them visited");
    text_expect(run.out, "8 visited, 0 of them cut by the mask, 8 skipped");
    program_run_free(&run);

    run = program_run("trace", saved, "--format", "json", NULL);
    json_t *object = read_json(&run);
    json_t *header = json_object_get(object, "header");
    json_t *problem = json_object_get(header, "problem");
    json_t *moved = json_object_get(json_object_get(object, "hbm"), "by_tensor");
    assert_string_equal(json_string_value(json_object_get(header, "pass")), "backward");
    assert_int_equal(at(problem, "dropout", "seed", NULL), 3);
    assert_int_equal(at(problem, "blocks", "blocks", NULL), 16);
    assert_int_equal(at(problem, "blocks", "visited", NULL), 8);
    assert_null(json_object_get(json_object_get(problem, "blocks"), "visit"));
    assert_int_equal(at(moved, "dk", "write", "elements"), 16 * 4);
    assert_int_equal(at(moved, "dq", "write", "elements"), 16 * 4 + 8 * 4 * 4);
    json_decref(object);

    run = program_run("trace", saved, "--kind", "compute", "--tensor", "ds", NULL);
    assert_int_equal(text_count_lines(run.out), 8);
    text_expect(run.out, "Algorithm 2, line 14");
    program_run_free(&run);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("--at 100000: expected 0 to ", "--at", "100000", NULL, NULL);
    expect_refusal("--from 100000: expected 0 to ", "--from", "100000", NULL, NULL);
    expect_refusal("--to 1: expected --from's 2 or more", "--from", "2", "--to", "1");
    expect_refusal("--at shows a state", "--at", "1", "--i", "1");
    expect_refusal("expected names between commas of load, store, compute", "--kind", "load,", NULL,
                   NULL);
    expect_refusal("expected names between commas of q, k, v", "--tensor", "x", NULL, NULL);
    struct program_run run = program_run("trace", program_path("none"), NULL);
    assert_int_equal(run.status, 2);
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),  cmocka_unit_test(test_filters),
        cmocka_unit_test(test_slice),    cmocka_unit_test(test_state),
        cmocka_unit_test(test_backward), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("cmd_trace", tests, save_trace, program_folder_remove);
}
