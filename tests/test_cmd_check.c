/* flashlab check --theirs from outside: folders in, words, JSON, pictures and exit statuses out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/check_program.h"
#include "tests/program_arrays.h"
#include "tests/program_expect.h"

/* What our own algorithms write is right, in each format, layout and rank, with all masks. */
static void right_results(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f64", "f32", "f16", "bf16"};
    char line[512];
    program_run_fine("generate --out @own --batch 2 --heads 4 --kv-heads 2 --nq 37 --nk 53 --d 9 "
                     "--dv 5 --layout bshd --mask-random 0.8 --dtype bf16 --causal --window 30,0");
    for (int i = 0; i < 4; i++) {
        snprintf(
            line, sizeof line,
            "run --in @own --out @own --layout bshd --mask @own/mask.npy --causal --window 30,0 "
            "--tiles 16x16 --check none --dtype %s",
            dtypes[i]);
        program_run_fine(line);
        snprintf(line, sizeof line,
                 "check --theirs @own --layout bshd --mask @own/mask.npy --causal --window 30,0 "
                 "--tiles 16x16 --format json --dtype %s",
                 dtypes[i]);
        check_expect_fault(line, "none", NULL);
    }
    check_expect_fault(
        "check --theirs @own --layout bshd --mask @own/mask.npy --causal --window 30,0 "
        "--dtype f32 --format json",
        "other", "o"); /* bf16 results in the budget of f32 */
    program_run_fine("generate --out @back --n 50 --heads 3 --d 8 --pass both --causal=top-left "
                     "--dropout 0.2 --block-pattern window:1,1 --tiles 16x16");
    check_expect_fault(
        "check --theirs @back --causal=top-left --dropout 0.2 --block-pattern window:1,1 "
        "--tiles 16x16 --format json",
        "none", NULL);
    check_expect_fault(
        "check --theirs @back --causal=top-left --dropout 0.2 --block-pattern window:1,1 "
        "--tiles 16x16 --rows full --pass backward --threads 2 --format json",
        "none", NULL);
}

static double nan_at_7(int64_t i, double right)
{
    return i == 7 ? NAN : right;
}

static double no_tail(int64_t i, double right)
{
    return i >= 40 ? 0 : right;
}

static double base_2(int64_t i, double right)
{
    (void)i;
    return right / log(2);
}

static double twice(int64_t i, double right)
{
    (void)i;
    return 2 * right;
}

static double minus(int64_t i, double right)
{
    (void)i;
    return -right;
}

static double quarter(int64_t i, double right)
{
    (void)i;
    return right / 4;
}

/* Of one factor on all of dQ: what it is of. */
static void reasons_of_a_factor(void **state)
{
    (void)state;
    static const struct {
        double (*value)(int64_t i, double right);
        const char *looks;
    } planted[] = {
        {minus, "all of dQ is -1 times the right values: the sign is wrong"},
        {quarter, "all of dQ is 0.25 times the right values: the scale is forgotten, or applied"},
        {twice, "all of dQ is 2 times the right values: a factor on dS, which is not the scale"},
    };
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        program_run_fine("generate --out @factor --n 33 --d 16 --pass both"); /* scale 1/4 */
        check_change("factor/dq.npy", FA_F64, planted[i].value);
        json_t *object = program_run_json("check --theirs @factor --format json", 1);
        text_expect(json_string_value(json_at(object, "looks_like")), planted[i].looks);
        json_decref(object);
    }
}

static void faults_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double (*value)(int64_t i, double right);
        const char *fault, *in;
    } planted[] = {
        {"o", nan_at_7, "nan", "o"},    {"o", no_tail, "zeros", "o"},
        {"o", twice, "row-scale", "o"}, {"lse", base_2, "base2-lse", "lse"},
        {"dq", twice, "scale", "dq"},   {"dk", nan_at_7, "nan", "dk"},
        {"dv", no_tail, "zeros", "dv"},
    };
    char line[256], file[64];
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        program_run_fine(
            "generate --out @fault --nq 33 --nk 47 --d 6 --heads 2 --pass both --causal");
        snprintf(file, sizeof file, "fault/%s.npy", planted[i].file);
        check_change(file, FA_F64, planted[i].value);
        snprintf(line, sizeof line, "check --theirs @fault --causal --format json");
        check_expect_fault(line, planted[i].fault, planted[i].in);
        if (planted[i].file[0] == 'd')
            check_expect_fault("check --theirs @fault --causal --pass forward --format json",
                               "none", NULL);
    }
    program_run_fine("generate --out @fault --nq 33 --nk 47 --d 6 --heads 2 --causal --pass both");
    remove(program_path("fault/case.json"));
    check_expect_fault("check --theirs @fault --causal=top-left --format json", "causal-alignment",
                       "o");
    check_expect_fault("check --theirs @fault --causal --scale 0.4 --format json", "scale", "o");
    check_expect_fault("check --theirs @fault --format json", "other", "o");
    /* Heads and rows as many: the wrong layout shows in the values alone. */
    program_run_fine("generate --out @square --n 12 --heads 12 --d 6 --scale 0.5");
    struct fa_npy q = program_read_array("square/o.npy"),
                  turned = program_read_array("square/o.npy");
    for (int64_t e = 0; e < 12 * 12 * 6; e++)
        ((double *)turned.data)[e] = ((double *)q.data)[(e / 6 % 12 * 12 + e / 72) * 6 + e % 6];
    check_write_back("square/o.npy", &turned, FA_F32);
    fa_npy_free(&q);
    fa_npy_free(&turned);
    check_expect_fault("check --theirs @square --scale 0.5 --format json", "layout", "o");
}

/* The padding of the last key tile is found by the tiles that are named. */
static void tiles_are_used(void **state)
{
    (void)state;
    int64_t shape[4] = {1, 1, 20, 4};
    program_make_folder("pad");
    program_write_array("pad/q.npy", FA_F32, 4, shape, 0);
    shape[2] = 192;
    program_write_array("pad/k.npy", FA_F32, 4, shape, 1);
    program_write_array("pad/v.npy", FA_F32, 4, shape, NAN);
    shape[2] = 20; /* with 64 zeros as keys the mean is 192/256 of the right one */
    program_write_array("pad/o.npy", FA_F32, 4, shape, 1);
    struct fa_npy v = program_read_array("pad/v.npy"), o = program_read_array("pad/o.npy");
    for (int64_t e = 0; e < 80; e++) {
        double sum = 0;
        for (int64_t j = 0; j < 192; j++)
            sum += ((double *)v.data)[j * 4 + e % 4];
        ((double *)o.data)[e] = sum / 256;
    }
    check_write_back("pad/o.npy", &o, FA_F32);
    fa_npy_free(&v);
    fa_npy_free(&o);
    check_expect_fault("check --theirs @pad --tiles 16x128 --format json", "last-tile", "o");
    json_t *object = program_run_json("check --theirs @pad --tiles 16x64 --format json", 1);
    text_expect(json_string_value(json_at(object, "looks_like")), "if tiles have 128 keys");
    json_decref(object);
    struct program_run run = program_run_line("check --theirs @pad --tiles 16x128");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "Check      WRONG"));
    assert_non_null(strstr(run.out, "Looks like last-tile, in O: last key tile not masked: its "
                                    "padding is counted as keys, with a score of 0 (Nk % Bc)\n"));
    assert_non_null(strstr(run.out, "Where      20 of 20 rows, from row 0 to 19\n"));
    assert_non_null(strstr(run.out, "       0  55\n"));
    program_run_free(&run);
}

static void words_and_pictures(void **state)
{
    (void)state;
#ifndef FLASHLAB_HAVE_PNG
    skip();
#endif
    program_run_fine("generate --out @word --n 40 --d 4 --heads 2 --dtype f16");
    struct program_run run =
        program_run_line("check --theirs @word --dtype f32 --heat-map @right.png");
    size_t n;
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    assert_non_null(strstr(run.out, "Check      right"));
    assert_non_null(
        strstr(run.out, "Stored     o.npy f64, lse.npy f64; judged as results in f32\n"));
    assert_non_null(strstr(run.out, "q, k, v are f16, and are rounded to f32"));
    program_run_free(&run);
    char *png = program_read_file(program_path("right.png"), &n);
    assert_non_null(png);
    assert_memory_equal(png, "\x89PNG", 4);
    free(png);
    check_change("word/o.npy", FA_F16, nan_at_7);
    run = program_run_line("check --theirs @word --dtype f32 --heat-map @wrong.png --tiles 16x16");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "A file is narrower than that: is --dtype right?"));
    assert_non_null(strstr(run.out, "[0, 0, 1, 3]"));
    assert_non_null(strstr(run.out, "       0  N"));
    program_run_free(&run);
    png = program_read_file(program_path("wrong.png"), &n);
    assert_non_null(png);
    assert_memory_equal(png, "\x89PNG", 4);
    free(png);
}

/* The array of 168 elements again, as the bits of bf16 in integers of the type ("<i2", "<u2"). */
static void write_bits(const char *name, const char *type)
{
    char bytes[128 + 2 * 21 * 2 * 4], *header;
    struct fa_npy array = program_read_array(name);
    for (int64_t e = 0; e < 168; e++) {
        uint16_t bits = fa_bf16_from_f64(((double *)array.data)[e]);
        bytes[128 + 2 * e] = (char)(bits & 255);
        bytes[129 + 2 * e] = (char)(bits >> 8);
    }
    check_write_back(name, &array, FA_F32);
    header = program_read_file(program_path(name), NULL);
    memcpy(bytes, header, 128);
    free(header);
    memcpy(strstr(bytes + 10, "<f4"), type, 3);
    FILE *file = fopen(program_path(name), "wb");
    assert_int_equal(fwrite(bytes, 1, 128 + 336, file), 128 + 336);
    fclose(file);
    fa_npy_free(&array);
}

/* bf16 as its bits, which is how PyTorch's tensors come into NumPy; LSE by heads in bshd. */
static void formats_of_files(void **state)
{
    (void)state;
    program_run_fine("generate --out @bits --n 21 --d 4 --heads 2 --layout bshd --dtype bf16");
    struct fa_npy lse = program_read_array("bits/lse.npy");
    write_bits("bits/o.npy", "<i2");
    check_expect_fault("check --theirs @bits --layout bshd --dtype bf16 --format json", "none",
                       NULL);
    write_bits("bits/q.npy", "<u2");
    write_bits("bits/v.npy", "<u2");
    check_expect_fault("check --theirs @bits --layout bshd --dtype bf16 --format json", "none",
                       NULL);
    double turned[42];
    for (int64_t e = 0; e < 42; e++)
        turned[e] = ((double *)lse.data)[e % 21 * 2 + e / 21];
    memcpy(lse.data, turned, sizeof turned);
    lse.shape[1] = 2;
    lse.shape[2] = 21;
    check_write_back("bits/lse.npy", &lse, FA_F32);
    fa_npy_free(&lse);
    struct program_run run = program_run_line("check --theirs @bits --layout bshd --dtype bf16");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "lse.npy is taken as [batch, heads, seq]"));
    assert_non_null(strstr(run.out, "o.npy bf16, lse.npy f32"));
    program_run_free(&run);
    /* Bits are no numbers: in another format they mean nothing. */
    run = program_run_line("check --theirs @bits --layout bshd --dtype f32");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "/bits/q.npy: integers of 16 bits: expected floats"));
    program_run_free(&run);
}

/* Each head of a group adds to dK and dV, and in 16 bits they are rounded there, as dQ is at each
 * tile: the budgets are those that `run` gives our own flash2. */
static void groups_have_a_budget(void **state)
{
    (void)state;
    static const char *const names[] = {"dq", "dk", "dv"};
    char path[32];
    program_run_fine("generate --out @group --n 40 --d 8 --heads 64 --kv-heads 1 --pass both "
                     "--dtype bf16");
    json_t *run = program_run_json("run --in @group --out @group --pass both --check full --dtype "
                                   "bf16 --tiles 16x16 --format json",
                                   0);
    json_t *check =
        program_run_json("check --theirs @group --dtype bf16 --tiles 16x16 --format json", 0);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "outputs.%s.budget", names[i]);
        double ours = json_number_value(json_at(check, path));
        snprintf(path, sizeof path, "check.%s_budget", names[i]);
        assert_true(fabs(json_number_value(json_at(run, path)) / ours - 1) < 1e-12);
    }
    json_decref(run);
    json_decref(check);
}

static void refusals(void **state)
{
    (void)state;
    const int64_t small[4] = {1, 2, 5, 3}, turned[4] = {1, 5, 2, 3}, flat[3] = {2, 5, 3};
    static const struct {
        const char *line, *code, *text;
    } refused[] = {
        {"check --n 5", "bad_argument",
         "--n: expected --theirs with it; the ladder has its own cases"},
        {"check --tiles 64x64 --rung flash2", "bad_argument", "--tiles: expected --theirs with it"},
        {"check --theirs @whole --rung flash2", "bad_argument",
         "--theirs and --rung: expected only one of them"},
        {"check --theirs @whole --golden @whole", "bad_argument",
         "--theirs and --golden: expected only one of them"},
        {"check --theirs @nothing", "io", "/nothing/q.npy: "},
        {"check --theirs @part", "io", "/part/o.npy: "},
        {"check --theirs @turned", "bad_file",
         "/turned/o.npy: [1, 5, 2, 3]: expected [1, 2, 5, 3] (heads and rows are exchanged: is the "
         "other --layout meant?)"},
        {"check --theirs @flat", "bad_file", "/flat/o.npy: [2, 5, 3]: expected [1, 2, 5, 3]"},
        {"check --theirs @whole --pass backward", "bad_argument",
         "--pass: expected dq.npy, dk.npy or dv.npy in "},
        {"check --theirs @grad", "bad_argument",
         "/grad/do.npy: expected the gradient of O beside dq.npy, dk.npy or dv.npy"},
        {"check --theirs @whole --tiles best", "bad_argument",
         "--tiles best: expected BRxBC, the tiles of the kernel: 64x128"},
        {"check --theirs @whole --heat-map @none/map.png", "io", "--heat-map: "},
        {"check --theirs @whole --n 6", "bad_argument", "--n 6: expected 5, as "},
        {"check --theirs @whole --rows few", "bad_argument", "--rows few: expected sample or full"},
        {"check --theirs @whole --mask @whole/q.npy", "bad_file", "--mask: "},
    };
    static const char *const folders[] = {"part", "turned", "flat", "whole", "grad"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char name[64];
        program_make_folder(folders[i]);
        for (int input = 0; input < 3; input++) {
            snprintf(name, sizeof name, "%s/%c.npy", folders[i], "qkv"[input]);
            program_write_array(name, FA_F32, 4, small, NAN);
        }
        snprintf(name, sizeof name, "%s/o.npy", folders[i]);
        if (i > 0)
            program_write_array(name, FA_F32, i == 2 ? 3 : 4,
                                i == 1   ? turned
                                : i == 2 ? flat
                                         : small,
                                0);
    }
    program_write_array("grad/dq.npy", FA_F32, 4, small, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_expect_refusal(refused[i].line, refused[i].code, refused[i].text);
}

/* The keys of flashlab.check/1, in their order. */
static void the_schema(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "schema",       "problem", "taken",      "tiles",  "nonfinite_inputs",
        "nonfinite_in", "sampled", "outputs",    "pass",   "fault",
        "in",           "where",   "looks_like", "beside", "hints",
        "provenance"};
    const char *key;
    json_t *value;
    size_t n = 0;
    program_run_fine("generate --out @schema --n 20 --d 4 --heads 2");
    check_change("schema/o.npy", FA_F32, nan_at_7);
    json_t *object = program_run_json("check --theirs @schema --tiles 8x16 --format json", 1);
    json_object_foreach(object, key, value)
    {
        assert_true(n < sizeof keys / sizeof *keys);
        assert_string_equal(key, keys[n++]);
    }
    assert_int_equal(n, sizeof keys / sizeof *keys);
    assert_string_equal(json_string_value(json_at(object, "schema")), "flashlab.check/1");
    json_expect_integer(object, "tiles.br", 8);
    json_expect_integer(object, "tiles.bc", 16);
    json_expect_integer(object, "outputs.o.compared", 160);
    json_expect_integer(object, "outputs.o.nonfinite", 1);
    json_expect_integer(object, "outputs.o.worst.row", 1);
    json_expect_integer(object, "outputs.o.worst.column", 3);
    assert_true(json_is_null(json_at(object, "outputs.o.worst.theirs")));
    assert_true(json_is_null(json_at(object, "outputs.o.max_abs_error")));
    assert_true(json_is_real(json_at(object, "outputs.o.worst.right")));
    assert_true(json_real_value(json_at(object, "outputs.o.budget")) > 0);
    assert_true(json_is_true(json_at(object, "outputs.lse.pass")));
    assert_true(json_is_null(json_at(object, "outputs.dq")));
    assert_string_equal(json_string_value(json_at(object, "where")),
                        "1 of 40 rows, row 1, column 3, in head 0 of 2");
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results),        cmocka_unit_test(faults_by_name),
        cmocka_unit_test(reasons_of_a_factor),  cmocka_unit_test(tiles_are_used),
        cmocka_unit_test(words_and_pictures),   cmocka_unit_test(formats_of_files),
        cmocka_unit_test(groups_have_a_budget), cmocka_unit_test(refusals),
        cmocka_unit_test(the_schema),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
