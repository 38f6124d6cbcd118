/* flashlab run and generate from outside: files in and out, checks, layouts, formats. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/compare.h"
#include "tests/program_arrays.h"
#include "tests/program_expect.h"

/* q, k, v of one value each in a folder. */
static void write_inputs(const char *folder, int rank, const int64_t *q, const int64_t *k,
                         const int64_t *v, double value)
{
    char name[64];
    program_make_folder(folder);
    snprintf(name, sizeof name, "%s/q.npy", folder);
    program_write_array(name, FA_F32, rank, q, value);
    snprintf(name, sizeof name, "%s/k.npy", folder);
    program_write_array(name, FA_F32, rank, k, value);
    snprintf(name, sizeof name, "%s/v.npy", folder);
    program_write_array(name, FA_F32, rank, v, NAN);
}

static void test_run_has_the_schema(void **state)
{
    (void)state;
    json_t *types = json_result_schema(), *check_types = json_check_schema();
    json_t *object =
        program_run_json("run --n 40 --d 8 --heads 3 --seed 7 --threads 2 --format json", 0);
    json_expect_schema(json_at(object, "check"), check_types);
    json_expect_integer(object, "check.rows", 120);
    assert_true(json_is_true(json_at(object, "check.pass")));
    assert_true(json_real_value(json_at(object, "check.budget")) > 0);
    json_expect_integer(object, "provenance.seed", 7);
    json_expect_integer(object, "provenance.threads", 2);
    json_object_del(object, "check");
    json_expect_schema(object, types);
    json_decref(object);
    object = program_run_json("run --n 40 --check none --format json", 0);
    assert_true(json_is_null(json_at(object, "check")));
    json_decref(object);
    json_decref(types);
    json_decref(check_types);
}

static void test_run_in_words(void **state)
{
    (void)state;
    struct program_run run = program_run_line("run --n 33 --d 5");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    assert_non_null(strstr(run.out, "Check      passed"));
    assert_non_null(strstr(run.out, "rows     33, all there are"));
    assert_non_null(strstr(run.out, "Time "));
    program_run_free(&run);
    run = program_run_line("run --n 50 --algorithm standard,flash1,flash2,fused-save-p --causal");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "check                          passed                      "
                                    "passed                      passed                      "
                                    "passed\n"));
    program_run_free(&run);
    /* What is sampled is said. */
    run = program_run_line("run --nq 8193 --nk 2 --d 1 --algorithm flash2");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, " of 8,193, a sample of each head"));
    program_run_free(&run);
    run = program_run_line("run --nq 8193 --nk 2 --d 1 --check full");
    assert_non_null(strstr(run.out, "rows     8,193, all there are"));
    program_run_free(&run);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p"};
    char line[512];
    program_run_fine(
        "generate --out @trip/case --batch 2 --heads 4 --kv-heads 2 --nq 37 --nk 53 --d 9 "
        "--dv 5 --causal=top-left --mask-random 0.8 --profile peaky --seed 3");
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        snprintf(line, sizeof line,
                 "run --in @trip/case --out @trip/result --mask @trip/case/mask.npy "
                 "--causal=top-left --algorithm %s --tiles 16x8 --check none",
                 algorithms[i]);
        program_run_fine(line); /* Its check is the comparison with the oracle's files. */
        program_expect_same_arrays("trip/result/o.npy", "trip/case/o.npy", 1e-5);
        program_expect_same_arrays("trip/result/lse.npy", "trip/case/lse.npy", 1e-5);
    }
    program_expect_header("trip/case/q.npy", "<f4", "2, 4, 37, 9");
    program_expect_header("trip/case/v.npy", "<f4", "2, 2, 53, 5");
    program_expect_header("trip/case/mask.npy", "|b1", "2, 1, 37, 53");
    program_expect_header("trip/case/o.npy", "<f8", "2, 4, 37, 5");
    program_expect_header("trip/case/lse.npy", "<f8", "2, 4, 37");
    program_expect_header("trip/result/lse.npy", "<f4", "2, 4, 37");
    /* Without the mask the result is another one: the comparison can tell. */
    program_run_fine("run --in @trip/case --out @trip/other --causal=top-left");
    struct fa_npy masked = program_read_array("trip/case/o.npy"), open = program_read_array("trip/other/o.npy");
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, open.data, masked.data, program_count_elements(&open));
    assert_false(fa_comparison_within(&comparison, 1e-2));
    fa_npy_free(&masked);
    fa_npy_free(&open);
    char *text = program_read_file(program_path("trip/case/case.json"), NULL);
    json_t *description = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_at(description, "name")), "case");
    json_expect_integer(description, "heads_q", 4);
    json_expect_integer(description, "heads_kv", 2);
    json_expect_integer(description, "n_k", 53);
    assert_string_equal(json_string_value(json_at(description, "mask")), "causal");
    assert_string_equal(json_string_value(json_at(description, "causal_align")), "top_left");
    json_decref(description);
    free(text);
}

static void test_formats_and_layouts(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *o, *lse;
    } formats[] = {
        {"f64", "<f8", "<f8"},
        {"f32", "<f4", "<f4"},
        {"f16", "<f2", "<f4"},
        {"bf16", "<f4", "<f4"},
    };
    char line[512];
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(line, sizeof line, "generate --out @form/%s --heads 2 --n 9 --d 4 --dtype %s",
                 formats[i].dtype, formats[i].dtype);
        program_run_fine(line);
        snprintf(line, sizeof line, "run --in @form/%s --out @form/%s-out --dtype %s",
                 formats[i].dtype, formats[i].dtype, formats[i].dtype);
        program_run_fine(line);
        snprintf(line, sizeof line, "form/%s-out/o.npy", formats[i].dtype);
        program_expect_header(line, formats[i].o, "1, 2, 9, 4");
        snprintf(line, sizeof line, "form/%s-out/lse.npy", formats[i].dtype);
        program_expect_header(line, formats[i].lse, "1, 2, 9");
    }
    /* The same values in the other layout: one head of each is the same file but for its shape. */
    program_run_fine("generate --out @form/bshd --heads 2 --n 9 --d 4 --dtype f64 --layout bshd");
    program_run_fine("run --in @form/bshd --out @form/bshd-out --dtype f64 --layout bshd");
    program_expect_header("form/bshd-out/o.npy", "<f8", "1, 9, 2, 4");
    program_expect_header("form/bshd-out/lse.npy", "<f8", "1, 9, 2");
    struct fa_npy by_head = program_read_array("form/f64-out/o.npy");
    struct fa_npy by_row = program_read_array("form/bshd-out/o.npy");
    const double *a = by_head.data, *b = by_row.data;
    for (int head = 0; head < 2; head++)
        for (int row = 0; row < 9; row++)
            for (int column = 0; column < 4; column++)
                assert_true(a[(head * 9 + row) * 4 + column] == b[(row * 2 + head) * 4 + column]);
    fa_npy_free(&by_head);
    fa_npy_free(&by_row);
}

static void test_ranks(void **state)
{
    (void)state;
    const int64_t q2[] = {5, 3}, k2[] = {7, 3}, v2[] = {7, 2};
    const int64_t q3[] = {4, 5, 3}, k3[] = {2, 7, 3}, v3[] = {2, 7, 2};
    const int64_t s3[] = {5, 4, 3}, t3[] = {7, 2, 3}, u3[] = {7, 2, 2};
    write_inputs("rank2", 2, q2, k2, v2, NAN);
    write_inputs("rank3", 3, q3, k3, v3, NAN);
    write_inputs("rank3s", 3, s3, t3, u3, NAN);
    program_run_fine("run --in @rank2 --out @rank2/out --nq 5 --nk 7 --d 3 --dv 2");
    program_expect_header("rank2/out/o.npy", "<f4", "5, 2");
    program_expect_header("rank2/out/lse.npy", "<f4", "5,");
    program_run_fine("run --in @rank3 --out @rank3/out --heads 4 --kv-heads 2 --batch 1");
    program_expect_header("rank3/out/o.npy", "<f4", "4, 5, 2");
    program_expect_header("rank3/out/lse.npy", "<f4", "4, 5");
    program_run_fine("run --in @rank3s --out @rank3s/out --layout bshd --heads 4");
    program_expect_header("rank3s/out/o.npy", "<f4", "5, 4, 2");
    program_expect_header("rank3s/out/lse.npy", "<f4", "5, 4");
}

static void test_input_refusals(void **state)
{
    (void)state;
    static const struct program_refusal refusals[] = {
        {"run --in @bad/seq", "bad_file", "@/bad/seq/v.npy: 6: expected 7, the seq as in k.npy"},
        {"run --in @bad/d", "bad_file", "@/bad/d/k.npy: 4: expected 3, the d as in q.npy"},
        {"run --in @bad/rank", "bad_file", "@/bad/rank/v.npy: 3 axes: expected 2, as in q.npy"},
        {"run --in @bad/one", "bad_file",
         "@/bad/one/q.npy: 1 axes: expected 4 (batch, heads, seq, d), 3 (no batch) or 2 (seq, d)"},
        {"run --in @bad/zero", "bad_file",
         "@/bad/zero/q.npy: a last axis of 0: expected 1 or more"},
        {"run --in @bad/good --d 4", "bad_argument",
         "--d 4: expected 3, as @/bad/good/q.npy has it (or no --d)"},
        {"run --in @bad/good --n 5", "bad_argument",
         "--n 5: expected 7, as @/bad/good/k.npy has it (or no --n)"},
        {"run --in @bad/good --kv-heads 2", "bad_argument",
         "--kv-heads 2: expected 1, as @/bad/good/k.npy has it (or no --kv-heads)"},
        {"run --in @bad/good --mask @bad/good/q.npy", "bad_file", ""},
        {"run --in @bad/good --mask @bad/mask.npy", "bad_argument",
         "--mask: @/bad/mask.npy: the mask is [1, 1, 5, 6]: expected axis 3 to be 1 or nk, which "
         "is 7"},
        {"run --in @bad/good --bias @bad/deep.npy", "bad_file",
         "--bias: @/bad/deep.npy: 5 axes: expected at most 4, [batch, heads, nq, nk]"},
    };
    const int64_t q[] = {5, 3}, k[] = {7, 3}, v[] = {7, 2}, short_v[] = {6, 2}, wide_k[] = {7, 4};
    const int64_t deep[] = {1, 1, 1, 5, 7}, none[] = {5, 0}, mask[] = {5, 6};
    program_make_folder("bad");
    write_inputs("bad/good", 2, q, k, v, NAN);
    write_inputs("bad/seq", 2, q, k, short_v, NAN);
    write_inputs("bad/d", 2, q, wide_k, v, NAN);
    write_inputs("bad/rank", 2, q, k, v, NAN);
    program_write_array("bad/rank/v.npy", FA_F32, 3, deep + 2, NAN);
    write_inputs("bad/one", 1, q, k, v, NAN);
    write_inputs("bad/zero", 2, none, none, v, NAN);
    program_write_array("bad/zero/v.npy", FA_F32, 2, q, NAN);
    program_write_array("bad/deep.npy", FA_F32, 5, deep, NAN);
    program_write_array("bad/mask.npy", FA_U8, 2, mask, 1);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (*refusals[i].text) {
            program_expect_refusal(&refusals[i]);
        } else {
            struct program_run run = program_run_line(refusals[i].line);
            assert_int_equal(run.status, 2);
            assert_non_null(strstr(run.err, "flashlab run: --mask: "));
            program_run_free(&run);
        }
    }
}

/* Masks and biases of fewer axes are spread over the ones in front. */
static void test_modifiers_of_fewer_axes(void **state)
{
    (void)state;
    const int64_t keys[] = {6}, one[] = {1, 1, 1, 1};
    program_write_array("keys.npy", FA_F32, 1, keys, 0.5);
    program_write_array("one.npy", FA_U8, 4, one, 1);
    program_run_fine(
        "run --n 6 --d 2 --heads 2 --batch 2 --bias @keys.npy --mask @one.npy --out @spread");
    program_run_fine("run --n 6 --d 2 --heads 2 --batch 2 --out @plain");
    /* A bias that is the same for all keys changes LSE by itself, and O by nothing. */
    program_expect_same_arrays("spread/o.npy", "plain/o.npy", 1e-6);
    struct fa_npy with = program_read_array("spread/lse.npy"), without = program_read_array("plain/lse.npy");
    for (int64_t i = 0; i < program_count_elements(&with); i++)
        assert_true(fabs(((double *)with.data)[i] - ((double *)without.data)[i] - 0.5) < 1e-5);
    fa_npy_free(&with);
    fa_npy_free(&without);
}

/* Scores past f32's largest number are infinite in f32 and fine in double: no budget covers it. */
static void test_failed_check(void **state)
{
    (void)state;
    const int64_t shape[] = {4, 4};
    write_inputs("huge", 2, shape, shape, shape, 1e25);
    json_t *object = program_run_json("run --in @huge --out @huge/out --format json", 1);
    assert_true(json_is_false(json_at(object, "check.pass")));
    assert_true(json_is_null(json_at(object, "check.o_max_abs_error")));
    assert_true(json_is_null(json_at(object, "check.o_rms_error")));
    assert_true(json_is_null(json_at(object, "provenance.seed")));
    json_decref(object);
    program_expect_header("huge/out/o.npy", "<f4", "4, 4");
    program_expect_header("huge/out/lse.npy", "<f4", "4,");
    struct program_run run = program_run_line("run --in @huge");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "Check      FAILED"));
    program_run_free(&run);
    run = program_run_line("run --in @huge --check none");
    assert_int_equal(run.status, 0);
    program_run_free(&run);
}

/* Nothing to attend to, and nobody to attend. */
static void test_empty_sides(void **state)
{
    (void)state;
    program_run_fine("run --nq 3 --nk 0 --d 2 --out @empty");
    struct fa_npy o = program_read_array("empty/o.npy"), lse = program_read_array("empty/lse.npy");
    for (int i = 0; i < 6; i++)
        assert_true(((double *)o.data)[i] == 0);
    for (int i = 0; i < 3; i++)
        assert_true(((double *)lse.data)[i] == -INFINITY);
    fa_npy_free(&o);
    fa_npy_free(&lse);
    program_run_fine("run --nq 0 --nk 3 --algorithm standard,flash1,flash2,fused-save-p");
    program_run_fine("run --batch 0 --algorithm standard,flash1,flash2,fused-save-p");
    program_run_fine("generate --out @none --n 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_has_the_schema),
        cmocka_unit_test(test_run_in_words),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_formats_and_layouts),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_input_refusals),
        cmocka_unit_test(test_modifiers_of_fewer_axes),
        cmocka_unit_test(test_failed_check),
        cmocka_unit_test(test_empty_sides),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
