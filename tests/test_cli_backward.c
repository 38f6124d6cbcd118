/* Backward passes, dropout and block masks from outside: counts, files in and out, words,
 * refusals. */
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

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const gradients[] = {"dq", "dk", "dv"};

static void test_count_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        json_int_t read, write;
    } figures[] = {
        {"standard", 7405568, 2293760},
        {"flash1", 2244608, 720896},
        {"flash2", 1851392, 721920},
        {"fused-save-p", 7405568, 2293760},
    };
    json_t *list =
        program_run_json("count --pass backward --n 1024 --d 64 --tiles 128x128 --sram 1M "
                         "--format json --algorithm "
                         "standard,flash1,flash2,fused-save-p",
                         0);
    assert_int_equal(json_array_size(list), COUNT(figures));
    for (size_t i = 0; i < COUNT(figures); i++) {
        const json_t *object = json_array_get(list, i);
        assert_string_equal(json_string_value(json_at(object, "algorithm")), figures[i].algorithm);
        assert_string_equal(json_string_value(json_at(object, "pass")), "backward");
        json_expect_integer(object, "hbm.read.elements", figures[i].read);
        json_expect_integer(object, "hbm.write.elements", figures[i].write);
        json_expect_integer(object, "hbm.by_tensor.dk.write.elements", 1024 * 64);
        json_expect_integer(object, "tiles_total", 64);
    }
    json_decref(list);
    json_t *object =
        program_run_json("count --pass both --tiles 64x64 --format json --algorithm flash2", 0);
    assert_int_equal(json_integer_value(json_at(object, "hbm.read.elements")) +
                         json_integer_value(json_at(object, "hbm.write.elements")),
                     6916096);
    json_expect_integer(object, "tiles_total", 512);
    json_decref(object);
}

static void test_sparse_by_hand(void **state)
{
    (void)state;
    json_t *object = program_run_json(
        "count --n 4096 --d 64 --tiles 64x64 --block-pattern window:1,1 --format json", 0);
    json_expect_integer(object, "tiles_visited", 314);
    json_expect_integer(object, "tiles_total", 4096);
    assert_string_equal(json_string_value(json_at(object, "problem.blocks.pattern")), "window:1,1");
    assert_true(json_real_value(json_at(object, "problem.blocks.visited_share")) == 314.0 / 4096);
    json_decref(object);
    struct program_run run =
        program_run_line("count --n 4096 --d 64 --tiles 64x64 --block-pattern window:1,1");
    assert_int_equal(run.status, 0);
    /* N d + s N^2 d^2 / M, M = 49152: 262144 + 314 / 4096 x 1398101.3. */
    assert_non_null(strstr(run.out, "  sparse                 369,323"));
    assert_non_null(strstr(run.out, "(FlashAttention, Proposition 4)"));
    assert_non_null(strstr(run.out, "  s = 0.0767 of all tiles are visited\n"));
    assert_non_null(strstr(run.out, "s N^2 d^2/M, constant 1"));
    assert_non_null(strstr(run.out, "blocks window:1,1, which visit 7.7 % of the tiles"));
    program_run_free(&run);
    /* The tiles are chosen first, without the mask, and the mask is made in their size. */
    object = program_run_json("count --n 300 --d 8 --tiles best --sram 8K --format json", 0);
    json_int_t br = json_integer_value(json_at(object, "tiles.br"));
    json_decref(object);
    object =
        program_run_json("count --n 300 --d 8 --tiles best --sram 8K --block-pattern strided:2 "
                         "--format json",
                         0);
    json_expect_integer(object, "tiles.br", br);
    assert_string_equal(json_string_value(json_at(object, "tiles.policy")), "best");
    json_decref(object);
}

static void test_schema(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t tensors;
    } lines[] = {
        {"run --n 40 --d 8 --format json", 11},
        {"run --n 40 --d 8 --dropout 0.5 --dropout-seed 18446744073709551615 --format json", 12},
        {"run --n 40 --d 8 --pass both --heads 4 --kv-heads 2 --format json", 18},
        {"run --n 40 --d 8 --pass backward --dropout 0.1 --block-pattern butterfly --tiles 8x8 "
         "--format json",
         19},
    };
    json_t *types = json_result_schema(), *check_types = json_check_schema();
    for (size_t i = 0; i < COUNT(lines); i++) {
        json_t *object = program_run_json(lines[i].line, 0);
        json_expect_schema(json_at(object, "check"), check_types);
        assert_true(json_is_true(json_at(object, "check.pass")));
        assert_int_equal(json_object_size(json_at(object, "hbm.by_tensor")), lines[i].tensors);
        for (size_t g = 0; g < COUNT(gradients); g++) {
            char key[64];
            snprintf(key, sizeof key, "check.%s_max_abs_error", gradients[g]);
            assert_true(json_is_null(json_at(object, key)) == (lines[i].tensors < 18));
        }
        json_object_del(object, "check");
        json_expect_schema(object, types);
        json_decref(object);
    }
    /* What is past jansson's integers is a text; a given mask has no seed; no dropout is null. */
    json_t *object = program_run_json(lines[1].line, 0);
    assert_string_equal(json_string_value(json_at(object, "problem.dropout.seed")),
                        "18446744073709551615");
    assert_true(json_is_null(json_at(object, "problem.blocks")));
    json_decref(object);
    object = program_run_json("count --n 8 --dropout 0.5 --dropout-seed 7 --format json", 0);
    json_expect_integer(object, "problem.dropout.seed", 7);
    json_decref(object);
    object = program_run_json("count --n 8 --dropout 0 --format json", 0);
    assert_true(json_is_null(json_at(object, "problem.dropout")));
    json_decref(object);
    json_decref(types);
    json_decref(check_types);
}

/* The outputs of both folders, within what f32 costs. */
static void expect_same_results(const char *got, const char *expected, double budget)
{
    static const char *const names[] = {"o", "lse", "dq", "dk", "dv"};
    char a[640], b[640];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(a, sizeof a, "%s/%s.npy", got, names[i]);
        snprintf(b, sizeof b, "%s/%s.npy", expected, names[i]);
        program_expect_same_arrays(a, b, budget);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p"};
    char line[512];
    program_run_fine("generate --out @trip/case --pass both --batch 2 --heads 4 --kv-heads 2 "
                     "--nq 37 --nk 53 --d 9 --dv 5 --causal=top-left --mask-random 0.8 --seed 3");
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        snprintf(line, sizeof line,
                 "run --in @trip/case --out @trip/%s --mask @trip/case/mask.npy --pass both "
                 "--causal=top-left --algorithm %s --tiles 16x8 --check none",
                 algorithms[i], algorithms[i]);
        program_run_fine(line); /* Its check is the comparison with the oracle's files. */
        snprintf(line, sizeof line, "trip/%s", algorithms[i]);
        expect_same_results(line, "trip/case", 2e-5);
    }
    program_expect_header("trip/case/do.npy", "<f4", "2, 4, 37, 5");
    program_expect_header("trip/case/dq.npy", "<f8", "2, 4, 37, 9");
    program_expect_header("trip/flash2/dq.npy", "<f4", "2, 4, 37, 9");
    program_expect_header("trip/flash2/dk.npy", "<f4", "2, 2, 53, 9");
    program_expect_header("trip/flash2/dv.npy", "<f4", "2, 2, 53, 5");
    /* Seeded inputs are those of the files, do too: the same bits on one thread. */
    program_run_fine("run --out @trip/seeded --pass backward --batch 2 --heads 4 --kv-heads 2 "
                     "--nq 37 --nk 53 --d 9 --dv 5 --causal=top-left --mask @trip/case/mask.npy "
                     "--seed 3 --algorithm flash2 --tiles 16x8 --threads 1");
    expect_same_results("trip/seeded", "trip/flash2", 0);
    /* Another do gives other gradients, and the same O. */
    program_run_fine("generate --out @trip/other --pass both --batch 2 --heads 4 --kv-heads 2 "
                     "--nq 37 --nk 53 --d 9 --dv 5 --causal=top-left --seed 4");
    struct fa_npy a = program_read_array("trip/other/do.npy");
    struct fa_npy b = program_read_array("trip/case/do.npy");
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, a.data, b.data, program_count_elements(&a));
    assert_false(fa_comparison_within(&comparison, 1));
    fa_npy_free(&a);
    fa_npy_free(&b);
}

/* The other layout and fewer axes, in and out. */
static void test_layouts_and_ranks(void **state)
{
    (void)state;
    const int64_t q2[] = {5, 3}, k2[] = {7, 3}, v2[] = {7, 2}, o2[] = {5, 2};
    program_run_fine("generate --out @lay/case --pass both --layout bshd --heads 4 --kv-heads 2 "
                     "--n 20 --d 4 --dtype f64");
    program_run_fine("run --in @lay/case --out @lay/out --pass both --layout bshd --dtype f64 "
                     "--tiles 8x8");
    expect_same_results("lay/out", "lay/case", 1e-12);
    program_expect_header("lay/out/dq.npy", "<f8", "1, 20, 4, 4");
    program_expect_header("lay/out/dk.npy", "<f8", "1, 20, 2, 4");
    program_make_folder("rank");
    program_write_array("rank/q.npy", FA_F32, 2, q2, NAN);
    program_write_array("rank/k.npy", FA_F32, 2, k2, NAN);
    program_write_array("rank/v.npy", FA_F32, 2, v2, NAN);
    program_write_array("rank/do.npy", FA_F32, 2, o2, NAN);
    program_run_fine("run --in @rank --out @rank/out --pass backward");
    program_expect_header("rank/out/dq.npy", "<f4", "5, 3");
    program_expect_header("rank/out/dk.npy", "<f4", "7, 3");
    program_expect_header("rank/out/dv.npy", "<f4", "7, 2");
    program_run_fine("generate --out @empty --pass both --n 0");
    program_run_fine(
        "run --pass both --nq 3 --nk 0 --algorithm standard,flash1,flash2,fused-save-p");
    program_run_fine(
        "run --pass both --nq 0 --nk 3 --algorithm standard,flash1,flash2,fused-save-p");
}

/* A mask written by the seed does what the seed does; another seed does not. */
static void test_dropout_files(void **state)
{
    (void)state;
    char line[512];
    static const char *const algorithms[] = {"standard", "flash1", "flash2"};
    program_run_fine("generate --out @drop/case --pass both --heads 2 --n 40 --d 8 --dropout 0.4 "
                     "--dropout-seed 18446744073709551557");
    program_expect_header("drop/case/dropout_keep.npy", "|b1", "1, 2, 40, 40");
    struct fa_npy keep = program_read_array("drop/case/dropout_keep.npy");
    double kept = 0;
    for (int i = 0; i < 3200; i++)
        kept += ((const double *)keep.data)[i];
    assert_true(fabs(kept / 3200 - 0.6) < 0.05);
    fa_npy_free(&keep);
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        snprintf(line, sizeof line,
                 "run --in @drop/case --out @drop/mask --pass both --dropout 0.4 --dropout-mask "
                 "@drop/case/dropout_keep.npy --tiles 16x8 --threads 1 --algorithm %s",
                 algorithms[i]);
        program_run_fine(line);
        expect_same_results("drop/mask", "drop/case", 2e-5);
        snprintf(line, sizeof line,
                 "run --in @drop/case --out @drop/seed --pass both --dropout 0.4 --dropout-seed "
                 "18446744073709551557 --tiles 16x8 --threads 1 --algorithm %s",
                 algorithms[i]);
        program_run_fine(line);
        expect_same_results("drop/seed", "drop/mask", 0);
    }
    program_run_fine("run --in @drop/case --out @drop/wrong --pass both --dropout 0.4 "
                     "--dropout-seed 1");
    struct fa_npy right = program_read_array("drop/case/dv.npy");
    struct fa_npy wrong = program_read_array("drop/wrong/dv.npy");
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, wrong.data, right.data, program_count_elements(&wrong));
    assert_false(fa_comparison_within(&comparison, 1e-2));
    fa_npy_free(&right);
    fa_npy_free(&wrong);
    /* p = 1 drops all. */
    program_run_fine("run --n 9 --d 2 --pass both --dropout 1 --out @drop/all");
    struct fa_npy o = program_read_array("drop/all/o.npy");
    for (int i = 0; i < 18; i++)
        assert_true(((const double *)o.data)[i] == 0);
    fa_npy_free(&o);
}

static void test_block_files(void **state)
{
    (void)state;
    char line[512];
    static const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p"};
    static const char *const patterns[] = {"window:1,1", "strided:3", "butterfly", "random:0.3,5"};
    for (size_t i = 0; i < COUNT(patterns); i++) {
        snprintf(line, sizeof line,
                 "generate --out @block/%zu --pass both --heads 2 --nq 50 --nk 70 --d 4 --tiles "
                 "16x8 --block-pattern %s",
                 i, patterns[i]);
        program_run_fine(line);
        snprintf(line, sizeof line, "block/%zu/block_mask.npy", i);
        program_expect_header(line, "|b1", "4, 9");
        snprintf(line, sizeof line,
                 "run --in @block/%zu --out @block/file --pass both --tiles 16x8 --algorithm %s "
                 "--block-mask @block/%zu/block_mask.npy --threads 1",
                 i, algorithms[i], i);
        program_run_fine(line);
        snprintf(line, sizeof line, "block/%zu", i);
        expect_same_results("block/file", line, 2e-5);
        snprintf(line, sizeof line,
                 "run --in @block/%zu --out @block/rule --pass both --tiles 16x8 --algorithm %s "
                 "--block-pattern %s --threads 1",
                 i, algorithms[i], patterns[i]);
        program_run_fine(line);
        expect_same_results("block/rule", "block/file", 0);
    }
    /* Each algorithm has its own tiles, and so its own mask of the rule. */
    program_run_fine(
        "run --n 90 --d 8 --sram 6K --tiles best --algorithm flash1,flash2,fused-save-p "
        "--block-pattern window:2,0 --pass both");
    /* --seed is the seed of a pattern without its own. */
    json_t *object = program_run_json(
        "run --n 90 --d 8 --tiles 8x8 --block-pattern random:0.5 --seed 6 --format json", 0);
    assert_string_equal(json_string_value(json_at(object, "problem.blocks.pattern")),
                        "random:0.5,6");
    json_decref(object);
    object = program_run_json("run --nq 50 --nk 70 --d 4 --tiles 16x8 --format json --block-mask "
                              "@block/0/block_mask.npy",
                              0);
    assert_string_equal(json_string_value(json_at(object, "problem.blocks.pattern")), "file");
    json_decref(object);
    char *text = program_read_file(program_path("block/0/case.json"), NULL);
    json_t *description = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_array_get(json_at(description, "block_mask_tile"), 1)),
                     8);
    json_decref(description);
    free(text);
}

static void expect_words(const char *line, int status, const char *const *words, size_t n)
{
    struct program_run run = program_run_line(line);
    assert_int_equal(run.status, status);
    assert_string_equal(run.err, "");
    for (size_t i = 0; i < n; i++)
        if (!strstr(run.out, words[i]))
            fail_msg("no \"%s\" in\n%s", words[i], run.out);
    program_run_free(&run);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const one[] = {
        "flash2 backward: backward with recomputation from LSE",
        "Dropout    p 0.25, seed 5",
        "Counted on 2 heads, a group, and multiplied by 2: groups of one problem",
        "\n  delta ",
        "\n  dk ",
    };
    static const char *const checked[] = {
        "flash1 forward and backward: ",
        "Check      passed",
        "  dQ       error at most ",
        "  dV       error at most ",
        "Of the gradients, 256 rows of dQ and 256 keys of dK and dV: a sample of each head",
    };
    /* Matmul FLOPs 14 to 12 of N^2 d; traffic and what is kept as in the hand figures. */
    static const char *const table[] = {
        "3 algorithms, forward and backward; ",
        "  moved, elements            18,219,008    1.000",
        "  kept for backward, bytes    4,194,304    1.000          4,194,304    1.000            "
        "266,240    0.063\n",
        "  FLOPs, matmul             805,306,368    1.000        939,524,096    1.167        "
        "939,524,096    1.167\n",
        "flash2 takes 1.167 times the matmul FLOPs of standard, moves 0.380 times the bytes, and "
        "keeps 0.0635 times as much\n",
        "flash2 takes 1.000 times the matmul FLOPs of fused-save-p, moves ",
        "Fusion alone defers the N^2 write",
    };
    static const char *const errors[] = {"dQ's largest error", "dK's largest error",
                                         "dV's largest error"};
    expect_words("count --pass backward --heads 4 --kv-heads 2 --n 64 --dropout 0.25 "
                 "--dropout-seed 5",
                 0, one, COUNT(one));
    expect_words("run --pass both --algorithm flash1 --n 2049 --d 1", 0, checked, COUNT(checked));
    expect_words("count --pass both --tiles 64x64 --algorithm standard,fused-save-p,flash2", 0,
                 table, COUNT(table));
    expect_words("run --pass backward --n 20 --d 4 --algorithm flash1,flash2", 0, errors,
                 COUNT(errors));
    /* Forward, nothing of it is said. */
    struct program_run run = program_run_line("count --algorithm standard,flash2");
    assert_null(strstr(run.out, "kept for backward"));
    assert_null(strstr(run.out, "Recomputing"));
    program_run_free(&run);
}

/* A gradient past f32's largest number is infinite there, and finite in double. */
static void test_failed_check(void **state)
{
    (void)state;
    const int64_t shape[] = {4, 4};
    program_make_folder("huge");
    program_write_array("huge/q.npy", FA_F32, 2, shape, NAN);
    program_write_array("huge/k.npy", FA_F32, 2, shape, NAN);
    program_write_array("huge/v.npy", FA_F32, 2, shape, 1e20);
    program_write_array("huge/do.npy", FA_F32, 2, shape, 1e30);
    program_run_fine("run --in @huge");
    json_t *object =
        program_run_json("run --in @huge --pass backward --out @huge/out --format json", 1);
    assert_true(json_is_false(json_at(object, "check.pass")));
    assert_true(json_is_null(json_at(object, "check.dq_max_abs_error")));
    assert_true(json_is_real(json_at(object, "check.o_max_abs_error")));
    json_decref(object);
    program_expect_header("huge/out/dq.npy", "<f4", "4, 4");
    struct program_run run = program_run_line("run --in @huge --pass both");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "Check      FAILED"));
    assert_non_null(strstr(run.out, "NaN or infinity on one side only: 16"));
    program_run_free(&run);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct program_refusal refusals[] = {
        {"run --in @bad --pass both", "io",
         "@/bad/do.npy: cannot be opened: No such file or directory"},
        {"run --in @bad/wide --pass backward", "bad_file",
         "@/bad/wide/do.npy: 3: expected 2, the d as in v.npy"},
        {"run --in @bad/long --pass backward", "bad_file",
         "@/bad/long/do.npy: 7: expected 5, the seq as in q.npy"},
        {"count --nq 5 --nk 7 --dropout 0.5 --dropout-mask @bad/mask.npy", "bad_argument",
         "--dropout-mask: @/bad/mask.npy: the dropout mask is [1, 1, 5, 6]: expected axis 3 to be "
         "nk, which is 7 (a dropout mask is never broadcast)"},
        {"count --nq 5 --nk 6 --dropout 0 --dropout-mask @bad/mask.npy", "bad_argument",
         "--dropout-mask: @/bad/mask.npy: there is a dropout mask and dropout_p is 0: expected "
         "dropout_p above 0, for the weights that are kept are divided by 1 - dropout_p"},
        {"count --n 100 --tiles 25x50 --block-mask @bad/mask.npy", "bad_file",
         "--block-mask: @/bad/mask.npy: 5x6: expected 4x2, Tr x Tc of tiles of 25x50"},
        {"count --n 100 --block-mask @bad/deep.npy", "bad_file",
         "--block-mask: @/bad/deep.npy: 3 axes: expected 2, the run's Tr x Tc tiles"},
        {"count --n 100 --block-mask @bad/none.npy", "io",
         "--block-mask: @/bad/none.npy: cannot be opened: No such file or directory"},
        {"run --dropout 0.5 --algorithm flash1,fused-save-p", "unsupported",
         "--algorithm fused-save-p and --dropout: expected standard, flash1 or flash2 with "
         "dropout; "
         "fused-save-p stores one P, and two would be needed"},
        {"run --pass both --trace @bad/t", "unsupported",
         "--pass both: expected forward or backward with --trace, which holds one pass"},
        {"generate --out @bad/made --tiles best", "bad_argument",
         "--tiles best: expected BRxBC, the size of a block: 64x128"},
        {"generate --out @bad/made --dropout 2", "bad_argument",
         "--dropout 2: expected a probability from 0 to 1"},
        {"generate --out @bad/made --n 9 --tiles 3x3 --block-mask @bad/mask.npy", "bad_file",
         "--block-mask: @/bad/mask.npy: 5x6: expected 3x3, Tr x Tc of tiles of 3x3"},
    };
    const int64_t q[] = {5, 3}, k[] = {7, 3}, v[] = {7, 2}, mask[] = {5, 6}, deep[] = {1, 2, 2};
    static const char *const folders[] = {"bad", "bad/wide", "bad/long"};
    char name[64];
    for (size_t i = 0; i < COUNT(folders); i++) {
        program_make_folder(folders[i]);
        snprintf(name, sizeof name, "%s/q.npy", folders[i]);
        program_write_array(name, FA_F32, 2, q, NAN);
        snprintf(name, sizeof name, "%s/k.npy", folders[i]);
        program_write_array(name, FA_F32, 2, k, NAN);
        snprintf(name, sizeof name, "%s/v.npy", folders[i]);
        program_write_array(name, FA_F32, 2, v, NAN);
    }
    program_write_array("bad/wide/do.npy", FA_F32, 2, q, NAN);
    program_write_array("bad/long/do.npy", FA_F32, 2, v, NAN);
    program_write_array("bad/mask.npy", FA_U8, 2, mask, 1);
    program_write_array("bad/deep.npy", FA_U8, 3, deep, 1);
    for (size_t i = 0; i < COUNT(refusals); i++)
        program_expect_refusal(&refusals[i]);
}

/* A backward pass needs more on chip, and the refusal says which pass it was. */
static void test_does_not_fit(void **state)
{
    (void)state;
    program_run_fine("count --n 64 --d 16 --tiles 16x16 --sram 6K");
    struct program_run run =
        program_run_line("count --n 64 --d 16 --tiles 16x16 --sram 6K --pass backward");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "flash2 backward with tiles of 16x16 needs "));
    program_run_free(&run);
    run = program_run_line("count --n 64 --d 16 --tiles square --sram 6K --pass both");
    assert_int_equal(run.status, 0);
    program_run_free(&run);
}

/* A trace of what is new is read again. */
static void test_trace(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"standard", "flash1", "flash2"};
    char line[512];
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        snprintf(line, sizeof line,
                 "run --pass backward --n 40 --d 4 --tiles 8x8 --heads 2 --kv-heads 1 --dropout "
                 "0.3 --block-pattern butterfly --trace @steps --algorithm %s",
                 algorithms[i]);
        program_run_fine(line);
        program_run_fine("trace @steps");
    }
}

static void test_sweep(void **state)
{
    (void)state;
    struct program_run run = program_run_line(
        "sweep --pass both --dropout 0.1 --block-pattern window:0,1 --vary n=64,128 --vary "
        "sram=1K,64K --tiles 16x16 --d 8 --algorithm flash1,standard --format json");
    json_t *list = json_loads(run.out, 0, NULL);
    assert_int_equal(json_array_size(list), 8);
    for (size_t i = 0; i < 8; i++) {
        const json_t *object = json_array_get(list, i);
        assert_string_equal(json_string_value(json_at(object, "pass")), "both");
        assert_true(json_real_value(json_at(object, "problem.dropout.p")) == 0.1);
        assert_string_equal(json_string_value(json_at(object, "problem.blocks.pattern")),
                            "window:0,1");
    }
    /* The third is n = 64 in 64K: what count says of it. */
    const json_t *third = json_array_get(list, 2);
    json_t *one =
        program_run_json("count --pass both --dropout 0.1 --block-pattern window:0,1 --n 64 "
                         "--sram 64K --tiles 16x16 --d 8 --algorithm flash1 --format json",
                         0);
    json_object_del(json_array_get(list, 2), "provenance");
    json_object_del(one, "provenance");
    json_object_del(one, "l2"); /* the models are not asked at each point */
    json_object_del(one, "time");
    assert_true(json_equal(third, one));
    json_decref(one);
    json_decref(list);
    program_run_free(&run);
    /* Lines of a table have the same columns, refused ones too. */
    run = program_run_line("sweep --pass backward --block-pattern butterfly --vary n=64,128 --vary "
                           "sram=1K,64K --tiles 16x16 --d 8 --algorithm flash2");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, ",problem.blocks.pattern,problem.blocks.visited_share,"));
    assert_non_null(strstr(run.out, ",hbm.by_tensor.delta.write.bytes,"));
    assert_non_null(strstr(run.out, ",butterfly,,flash2,backward,"));
    assert_non_null(strstr(run.out, ",butterfly,0.75,flash2,backward,"));
    program_run_free(&run);
    run = program_run_line("sweep --block-mask @bad/mask.npy --vary n=64");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "--block-mask: expected --block-pattern in a sweep"));
    program_run_free(&run);
}

static void write_column(const char *name, float first, float second)
{
    float values[2] = {first, second};
    const struct fa_npy array = {
        .dtype = FA_F32, .rank = 2, .shape = {2, 1}, .data = values};
    assert_int_equal(fa_npy_write(program_path(name), &array, NULL), FA_OK);
}

/* Two keys of scores 200 and 0, of which the second has an infinite V: 0 * inf in f32. It is said,
 * and is no fault; a key whose weight does not underflow gives the infinity itself. */
static void test_an_infinite_value(void **state)
{
    (void)state;
    program_make_folder("infinite");
    write_column("infinite/q.npy", 1, 1);
    write_column("infinite/v.npy", 1, INFINITY);
    write_column("infinite/do.npy", 1, 1);
    for (int gap = 20; gap <= 200; gap += 180) {
        write_column("infinite/k.npy", (float)gap, 0);
        json_t *list = program_run_json("run --in @infinite --scale 1 --tiles 1x1 --format json "
                                        "--algorithm standard,flash1,flash2 --pass both", 0);
        for (size_t i = 0; i < 3; i++) {
            const json_t *object = json_array_get(list, i);
            json_expect_integer(object, "check.o_underflowed", gap == 200 ? 2 : 0);
            json_expect_integer(object, "check.gradient_underflowed", gap == 200 ? 1 : 0);
            assert_true(json_is_true(json_at(object, "check.pass")));
        }
        json_decref(list);
    }
    struct program_run run = program_run_line("run --in @infinite --scale 1");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "2 elements of O, not compared: an infinite V under a weight"));
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_by_hand),
        cmocka_unit_test(test_sparse_by_hand),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_layouts_and_ranks),
        cmocka_unit_test(test_dropout_files),
        cmocka_unit_test(test_block_files),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_failed_check),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_does_not_fit),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_an_infinite_value),
    };
    return cmocka_run_group_tests_name("cli_backward", tests, NULL, program_folder_remove);
}
