/* flashlab count from outside: its JSON, its words, and the figures of hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/program_expect.h"

static void test_count_has_the_schema(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "count --format json",
        "count --format json --algorithm standard --window 5,-1 --d 200 --sram 40K",
        "count --format json --n 0 --heads 0",
    };
    json_t *types = json_result_schema();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_t *object = program_run_json(lines[i], 0);
        json_expect_schema(object, types);
        assert_string_equal(json_string_value(json_at(object, "schema")), "flashlab.result/1");
        assert_string_equal(json_string_value(json_at(object, "pass")), "forward");
        assert_string_equal(json_string_value(json_at(object, "provenance.command")) + 9, lines[i]);
        assert_string_equal(json_string_value(json_at(object, "provenance.version")),
                            FLASHLAB_VERSION);
        assert_true(json_is_null(json_at(object, "provenance.seed")));
        json_decref(object);
    }
    /* Below M = 2 d^2 there is no floor. */
    json_t *object = program_run_json("count --format json --d 200 --tiles 8x8", 0);
    assert_true(json_is_null(json_at(object, "bounds.floor_elements")));
    json_decref(object);
    json_decref(types);
}

static void test_count_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        json_int_t read, write;
    } figures[] = {
        {"flash2", 1114112, 66560},
        {"flash1", 1196032, 608256},
        {"standard", 3211264, 2162688},
    };
    json_t *list = program_run_json("count --n 1024 --d 64 --tiles 128x128 --sram 1M --format json "
                                    "--algorithm flash2,flash1,standard",
                                    0);
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *object = json_array_get(list, i);
        assert_string_equal(json_string_value(json_at(object, "algorithm")), figures[i].algorithm);
        json_expect_integer(object, "hbm.read.elements", figures[i].read);
        json_expect_integer(object, "hbm.write.elements", figures[i].write);
        json_expect_integer(object, "hbm.read.bytes", 4 * figures[i].read);
        json_expect_integer(object, "tiles_total", 64);
        json_expect_integer(object, "bounds.compulsory_elements", 4 * 1024 * 64);
        json_expect_integer(object, "bounds.standard_elements", 1024 * 64 + 1024 * 1024);
    }
    json_decref(list);
    json_t *object = program_run_json("count --n 65 --tiles 64x64 --format json", 0);
    json_expect_integer(object, "hbm.by_tensor.q.read.elements", 4160);
    json_expect_integer(object, "hbm.by_tensor.k.read.elements", 8320);
    json_expect_integer(object, "hbm.by_tensor.v.read.elements", 8320);
    json_expect_integer(object, "hbm.by_tensor.o.write.elements", 4160);
    json_expect_integer(object, "hbm.by_tensor.lse.write.elements", 65);
    json_expect_integer(object, "hbm.by_tensor.s.read.elements", 0);
    json_decref(object);
    /* JSON says too when one head was counted and multiplied, or one group's, or all were run. */
    static const struct {
        const char *line;
        json_int_t executed;
    } heads[] = {
        {"count --n 8 --d 4 --heads 6 --batch 2 --format json", 1},
        {"count --n 8 --d 4 --heads 6 --kv-heads 2 --pass backward --format json", 3},
        {"run --n 8 --d 4 --heads 6 --batch 2 --format json", 12},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        object = program_run_json(heads[i].line, 0);
        json_expect_integer(object, "heads_executed", heads[i].executed);
        json_decref(object);
    }
}

static void test_count_in_words(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "flash2 forward",
        "batch 2, heads 4, K/V heads 2, N 300, d 32, f16, scale 0.176777",
        "causal, bottom-right",
        "a100, SRAM 196,608 bytes",
        "tensor",
        "read, elements",
        "Counted on 1 head and multiplied by 8",
        "SRAM       peak ",
        "FLOPs      matmul ",
        "64x64 (default): 120 visited of 200, 40 of them cut by the mask",
        "compulsory",
        "theta",
        "floor",
        "standard",
        "moved/bound",
    };
    struct program_run run = program_run_line(
        "count --batch 2 --heads 4 --kv-heads 2 --n 300 --d 32 --dtype f16 --causal");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(run.out, expected[i]))
            fail_msg("no \"%s\" in\n%s", expected[i], run.out);
    assert_null(strstr(run.out, "Check"));
    program_run_free(&run);
    run = program_run_line("count --algorithm standard,flash2 --tiles 128x128 --sram 1M");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "  read, elements              3,211,264    1.000          "
                                    "1,114,112    0.347\n"));
    program_run_free(&run);
}

static void test_command_line_is_kept(void **state)
{
    (void)state;
    struct program_run run = program_run("count", "--n", "4", "--format=json", "--machine", "toy",
                                         "--trace", program_path("it's \"a\" $trace"), NULL);
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, 0);
    json_t *object = json_loads(run.out, 0, NULL);
    const char *line = json_string_value(json_at(object, "provenance.command"));
    assert_non_null(strstr(line, "flashlab count --n 4 --format=json --machine toy --trace '"));
    assert_non_null(strstr(line, "/it'\\''s \"a\" $trace'"));
    assert_int_equal(access(program_path("it's \"a\" $trace"), R_OK), 0);
    json_decref(object);
    program_run_free(&run);
    /* A capacity that nothing fits in leaves a trace that ends with the refusal. */
    run = program_run_line("count --n 64 --tiles 64x64 --sram 20K --trace @refused");
    assert_int_equal(run.status, 2);
    assert_int_equal(access(program_path("refused"), R_OK), 0);
    program_run_free(&run);
}

/* The bounds are the forward pass's, times the share of the tiles that a mask leaves. */
static void test_bounds_say_what_they_are_of(void **state)
{
    static const struct {
        const char *line, *heading, *theta, *share;
    } counts[] = {
        {"count --n 256 --tiles 64x64", "\nBounds beside the ", " N^2 d^2/M, constant 1", NULL},
        {"count --n 256 --tiles 64x64 --causal", "\nBounds beside the ", " s N^2 d^2/M, constant 1",
         "  s = 0.6250 of all tiles are visited\n"},
        {"count --n 256 --tiles 64x64 --pass backward",
         "\nBounds of the forward pass alone beside the ", " N^2 d^2/M, constant 1", NULL},
        {"count --n 256 --tiles 64x64 --pass both --causal",
         "\nBounds of the forward pass alone beside the ", " s N^2 d^2/M, constant 1",
         "  s = 0.6250 of all tiles are visited\n"},
    };
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct program_run run = program_run_line(counts[c].line);
        assert_int_equal(run.status, 0);
        text_expect(run.out, counts[c].heading);
        text_expect(run.out, counts[c].theta);
        if (counts[c].share)
            text_expect(run.out, counts[c].share);
        else if (strstr(run.out, "s N^2") || strstr(run.out, "  s = "))
            fail_msg("%s: all tiles are visited, but:\n%s", counts[c].line, run.out);
        program_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_has_the_schema),
        cmocka_unit_test(test_count_by_hand),
        cmocka_unit_test(test_count_in_words),
        cmocka_unit_test(test_bounds_say_what_they_are_of),
        cmocka_unit_test(test_command_line_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
