/* flashlab check --theirs: what else lies in the folder, what the sample leaves out, and hints. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/check_program.h"
#include "tests/program_arrays.h"
#include "tests/program_expect.h"

static void expect_refusals(const struct program_refusal *refusals, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_expect_refusal(refusals[i].line, refusals[i].code, refusals[i].text);
}

/* The golden folders are right with the options that they say, and no mask is left out. */
static void golden_folders(void **state)
{
    (void)state;
    static const struct {
        const char *name, *options, *taken;
    } folders[] = {
        {"bias", "", "bias.npy"},
        {"block_sparse_16", "--tiles 16x16", "block_mask.npy"},
        {"block_sparse_causal_32x16", "--causal --tiles 32x16", "block_mask.npy"},
        {"causal_65", "--causal", NULL},
        {"causal_65", "--causal=top-left", NULL}, /* the same in a square */
        {"causal_top_left_5x130", "--causal=top-left", NULL},
        {"dropout_keep_mask", "--dropout 0.25", "dropout_keep.npy"},
        {"large_logits", "--scale 1", NULL},
        {"mask_random", "", "mask.npy"},
        {"window_16_4", "--window 16,4", NULL},
    };
    char line[256];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(line, sizeof line, "check --theirs " FLASHLAB_GOLDEN_DIR "/%s %s --format json",
                 folders[i].name, folders[i].options);
        json_t *object = program_run_json(line, 0);
        const json_t *taken = json_at(object, "taken");
        assert_int_equal(json_array_size(taken), folders[i].taken != NULL);
        if (folders[i].taken)
            assert_string_equal(json_string_value(json_array_get(taken, 0)), folders[i].taken);
        json_decref(object);
    }
    struct program_run run = program_run_line("check --theirs " FLASHLAB_GOLDEN_DIR "/mask_random");
    text_expect(run.out, "\nTaken      mask.npy of the folder, as --mask\n");
    program_run_free(&run);
}

/* A kernel that ignores the mask is wrong, without a word about the mask in the options. */
static void masks_are_not_forgotten(void **state)
{
    (void)state;
    program_run_fine("generate --out @masked --n 40 --d 8 --mask-random 0.7");
    program_run_fine("run --in @masked --out @masked --check none");
    check_expect_fault("check --theirs @masked --format json", "other", "o");
    program_run_fine("run --in @masked --out @masked --check none --mask @masked/mask.npy");
    check_expect_fault("check --theirs @masked --format json", "none", NULL);
}

static void case_json_differs(void **state)
{
    (void)state;
    static const struct program_refusal refused[] = {
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/dropout_keep_mask", "bad_argument",
         "dropout_keep.npy: expected --dropout P with it"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/dropout_keep_mask --dropout 0.3", "bad_argument",
         "case.json says a dropout of 0.25: expected --dropout 0.25, not 0.3"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/block_sparse_16", "bad_argument",
         "block_mask.npy: expected --tiles BRxBC with it"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/block_sparse_16 --tiles 32x16", "bad_argument",
         "case.json says a block mask of tiles of 16x16: expected --tiles 16x16 "},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/large_logits", "bad_argument",
         "case.json says a scale of 1: expected --scale 1, not 0.125"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/window_16_4", "bad_argument",
         "case.json says a window of 16,4: expected --window 16,4 (or a folder without case.json)"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/bias --window 3,3", "bad_argument",
         "case.json says no window: expected no --window"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/bias --causal", "bad_argument",
         "case.json says no causal mask: expected no --causal"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/bias --block-pattern window:1,1", "bad_argument",
         "case.json says no block mask: expected no --block-mask or --block-pattern"},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/causal_65", "bad_argument",
         "case.json says causal, bottom-right: expected --causal "},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/causal_top_left_5x130 --causal", "bad_argument",
         "case.json says causal, top-left: expected --causal=top-left "},
        {"check --theirs " FLASHLAB_GOLDEN_DIR "/gqa_8_2 --layout bshd", "bad_argument",
         "case.json says [batch, heads, seq, d]: expected --layout bhsd "},
        {"check --theirs @half", "bad_argument",
         "case.json says dtype f16: expected --dtype f16, or --dtype f32 where"},
        {"check --theirs @odd", "bad_file", "/odd/case.json: expected a JSON object"},
        {"check --theirs @more", "bad_argument", "case.json says n_q 21: expected 20"},
    };
    program_run_fine("generate --out @half --n 20 --d 4 --dtype f16");
    program_run_fine("generate --out @odd --n 20 --d 4");
    FILE *file = fopen(program_path("odd/case.json"), "w");
    assert_true(file && fputs("[1]\n", file) >= 0 && fclose(file) == 0);
    program_run_fine("generate --out @more --n 20 --d 4");
    file = fopen(program_path("more/case.json"), "w");
    assert_true(file && fputs("{\"n_q\": 21}\n", file) >= 0 && fclose(file) == 0);
    expect_refusals(refused, sizeof refused / sizeof *refused);
    check_expect_fault("check --theirs @half --dtype f32 --format json", "none", NULL);
}

static int64_t planted_at;
static double planted;

static double plant(int64_t i, double right)
{
    return i == planted_at ? planted : right;
}

/* One element of a row that is not sampled, in each output. */
static void the_sample_is_not_all(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double value;
        const char *fault;
    } finds[] = {
        {"many/o.npy", NAN, "nan"},        {"many/o.npy", INFINITY, "nan"},
        {"many/o.npy", 9, "other"},        {"many/lse.npy", NAN, "nan"},
        {"many/lse.npy", INFINITY, "nan"}, {"many/lse.npy", -99, "other"},
        {"many/dq.npy", NAN, "nan"},       {"many/dq.npy", 1e9, "other"},
        {"keys/dk.npy", NAN, "nan"},       {"keys/dk.npy", 1e9, "other"},
        {"keys/dv.npy", NAN, "nan"},       {"keys/dv.npy", 1e9, "other"},
    };
    program_run_fine("generate --out @many --nq 9000 --nk 3 --d 2 --heads 2 --pass both");
    program_run_fine("generate --out @keys --nq 3 --nk 2500 --d 2 --pass both");
    check_expect_fault("check --theirs @many --format json", "none", NULL);
    check_expect_fault("check --theirs @keys --format json", "none", NULL);
    for (size_t i = 0; i < sizeof finds / sizeof *finds; i++) {
        struct fa_npy right = program_read_array(finds[i].file);
        char line[64], in[8] = "", path[32];
        bool statistic = strcmp(finds[i].file, "many/lse.npy") == 0;
        snprintf(in, sizeof in, "%.*s", (int)strcspn(finds[i].file + 5, "."), finds[i].file + 5);
        planted_at = statistic ? 1003 : 2 * 1003 + 1;
        planted = finds[i].value;
        check_change(finds[i].file, FA_F64, plant);
        snprintf(line, sizeof line, "check --theirs @%.4s --format json", finds[i].file);
        check_expect_fault(line, finds[i].fault, in);
        json_t *object = program_run_json(line, 1);
        snprintf(path, sizeof path, "outputs.%s.beyond", in);
        json_expect_integer(object, path, 1);
        snprintf(path, sizeof path, "outputs.%s.worst.row", in);
        json_expect_integer(object, path, 1003);
        text_expect(json_string_value(json_at(object, "where")), "1003");
        json_decref(object);
        check_write_back(finds[i].file, &right, FA_F64);
        fa_npy_free(&right);
    }
}

static double all_nan(int64_t i, double right)
{
    (void)i;
    (void)right;
    return NAN;
}

/* What is right because the inputs hold NaN is said to be so. */
static void nan_of_the_inputs(void **state)
{
    (void)state;
    program_run_fine("generate --out @nan --n 20 --d 4");
    check_change("nan/q.npy", FA_F32, all_nan);
    check_change("nan/o.npy", FA_F32, all_nan);
    check_change("nan/lse.npy", FA_F32, all_nan);
    json_t *object = program_run_json("check --theirs @nan --format json", 0);
    json_expect_integer(object, "nonfinite_inputs", 80);
    json_expect_integer(object, "outputs.o.right_nonfinite", 80);
    json_expect_integer(object, "outputs.lse.right_nonfinite", 20);
    json_decref(object);
    struct program_run run = program_run_line("check --theirs @nan");
    text_expect(run.out, "  O: 80 of 80 right values are NaN or infinite: the inputs hold such");
    text_expect(run.out, "  LSE: 20 of 20 right values are NaN or infinite");
    text_expect(run.out, "number was checked: finite inputs are needed for that");
    text_expect(run.out,
                "\nInputs     q: 80 of 80 elements are NaN or infinite, the first at [0, 0, "
                "0, 0]\n");
    program_run_free(&run);
    /* Outputs that are numbers were not made of these inputs. */
    static const struct program_refusal refused[] = {
        {"check --theirs @number", "bad_file",
         "/number/v.npy: all 80 elements are NaN, from [0, 0, 0, 0] on, and the outputs are not: "
         "nothing can be checked; save the v that the kernel read"}};
    program_run_fine("generate --out @number --n 20 --d 4");
    struct fa_npy v = program_read_array("number/v.npy");
    check_change("number/v.npy", FA_F32, all_nan);
    expect_refusals(refused, 1);
    /* One NaN is no reason to refuse: it must reach the rows that see it. */
    planted_at = 79;
    planted = NAN;
    check_write_back("number/v.npy", &v, FA_F32);
    check_change("number/v.npy", FA_F32, plant);
    remove(program_path("number/case.json"));
    object = program_run_json("check --theirs @number --causal --format json", 1);
    assert_string_equal(json_string_value(json_at(object, "fault")), "nan");
    json_expect_integer(object, "nonfinite_in.v.nonfinite", 1);
    json_expect_integer(object, "nonfinite_in.v.of", 80);
    json_decref(object);
    fa_npy_free(&v);
}

/* Of two heads of 200 rows, v of the second is small. */
static double scaled_head(int64_t i, double right)
{
    return i < 200 * 4 ? right : right / 512;
}

static double nothing_of_head_0(int64_t i, double right)
{
    return i < 200 * 4 ? 0 : right;
}

static double zeros_and_a_bit(int64_t i, double right)
{
    return i / 4 == 200 + 190 ? right * 1.001 : nothing_of_head_0(i, right);
}

static double zeros_and_a_row(int64_t i, double right)
{
    return i / 4 == 200 + 190 ? right + 1 : nothing_of_head_0(i, right);
}

/* Head 0 is 0, and one row of head 1 off by less than the tensor's budget: both are reported, and
 * only the first has a name. */
static void small_beside_large(void **state)
{
    (void)state;
    program_run_fine("generate --out @two --n 200 --heads 2 --d 4 --causal");
    check_change("two/v.npy", FA_F32, scaled_head);
    program_run_fine("run --in @two --out @two --causal --check none");
    check_expect_fault("check --theirs @two --causal --format json", "none", NULL);
    check_change("two/o.npy", FA_F32, zeros_and_a_bit);
    json_t *object = program_run_json("check --theirs @two --causal --format json", 1);
    assert_string_equal(json_string_value(json_at(object, "fault")), "zeros");
    text_expect(json_string_value(json_at(object, "where")), "in head 0 of 2");
    json_expect_integer(object, "beside.parts", 1);
    json_expect_integer(object, "beside.first.head", 1);
    json_expect_integer(object, "beside.first.row", 190);
    json_decref(object);
    struct program_run run = program_run_line("check --theirs @two --causal");
    text_expect(run.out, " off, less or otherwise, in 1 part (64 rows of a head each),\n"
                         "           first at [0, 1, 190, ");
    program_run_free(&run);
    /* Both above the tensor's budget: most wrong elements are 0, and some are not. */
    program_run_fine("run --in @two --out @two --causal --check none");
    check_change("two/o.npy", FA_F32, zeros_and_a_row);
    object = program_run_json("check --theirs @two --causal --format json", 1);
    assert_string_equal(json_string_value(json_at(object, "fault")), "zeros");
    json_expect_integer(object, "beside.elements", 4);
    json_expect_integer(object, "beside.first.head", 1);
    json_expect_integer(object, "beside.first.row", 190);
    json_expect_integer(object, "beside.first.column", 0);
    json_decref(object);
    /* The large fault alone. */
    program_run_fine("run --in @two --out @two --causal --check none");
    check_change("two/o.npy", FA_F32, nothing_of_head_0);
    object = program_run_json("check --theirs @two --causal --format json", 1);
    assert_true(json_is_null(json_at(object, "beside")));
    json_decref(object);
}

static double a_bit_off(int64_t i, double right)
{
    return right * 1.01 + 0.01 * (double)(i % 7);
}

static void forgotten_layout(void **state)
{
    (void)state;
    static const struct program_refusal refused[] = {
        {"check --theirs @groups", "bad_argument",
         "(all fits with --layout bshd: is that meant?)"}};
    program_run_fine("generate --out @turn --n 40 --heads 4 --d 8 --layout bshd");
    remove(program_path("turn/case.json"));
    check_expect_fault("check --theirs @turn --format json", "layout", "o");
    struct program_run run = program_run_line("check --theirs @turn");
    text_expect(run.out, "Looks like layout, in O: right with --layout bshd: O and LSE are right");
    program_run_free(&run);
    check_change("turn/o.npy", FA_F64, a_bit_off);
    run = program_run_line("check --theirs @turn");
    assert_int_equal(run.status, 1);
    text_expect(run.out, "Hint       40 heads of 4 rows: is --layout bshd meant?\n");
    program_run_free(&run);
    run = program_run_line("check --theirs @turn --layout bshd");
    assert_int_equal(run.status, 1);
    assert_null(strstr(run.out, "Hint"));
    program_run_free(&run);
    program_run_fine(
        "generate --out @groups --nq 40 --nk 60 --heads 4 --kv-heads 2 --d 8 --layout bshd");
    remove(program_path("groups/case.json"));
    expect_refusals(refused, 1);
}

static double to_bf16(int64_t i, double right)
{
    (void)i;
    return fa_f32_from_bf16(fa_bf16_from_f64(right));
}

static void forgotten_dtype(void **state)
{
    (void)state;
    static const char bf16[] = "every value of o.npy is one of bf16: is --dtype bf16 meant?";
    program_run_fine("generate --out @narrow --n 40 --heads 2 --d 8");
    check_change("narrow/o.npy", FA_F32, to_bf16);
    json_t *object = program_run_json("check --theirs @narrow --format json", 1);
    assert_int_equal(json_array_size(json_at(object, "hints")), 1);
    assert_string_equal(json_string_value(json_array_get(json_at(object, "hints"), 0)), bf16);
    json_decref(object);
    check_expect_fault("check --theirs @narrow --dtype bf16 --format json", "none", NULL);
    struct fa_npy o = program_read_array("narrow/o.npy");
    check_write_back("narrow/o.npy", &o, FA_F32);
    program_run_fine("generate --out @narrow --n 40 --heads 2 --d 8");
    struct fa_npy right = program_read_array("narrow/o.npy");
    check_write_back("narrow/o.npy", &right, FA_F16);
    struct fa_npy lse = program_read_array("narrow/lse.npy");
    check_write_back("narrow/lse.npy", &lse, FA_F16);
    struct program_run run = program_run_line("check --theirs @narrow");
    assert_int_equal(run.status, 1);
    text_expect(run.out, "every value of o.npy is one of f16: is --dtype f16 meant?");
    text_expect(run.out, "every value of lse.npy is one of f16: LSE is judged as kept in f32");
    program_run_free(&run);
    fa_npy_free(&o);
    fa_npy_free(&right);
    fa_npy_free(&lse);
}

static void files_that_do_not_fit(void **state)
{
    (void)state;
    static const struct program_refusal refused[] = {
        {"check --theirs @pad", "bad_file",
         "lse.npy: [1, 2, 128]: expected [1, 2, 20] (it looks padded to a multiple of 128 rows"},
        {"check --theirs @each", "bad_file",
         "dk.npy: [1, 4, 20, 4]: expected [1, 2, 20, 4] (one for each query head: add up those"},
        {"check --theirs @truth", "bad_file", "o.npy: truth values (bool): expected floats"},
        {"check --theirs @pad --heat-map @x.jpg", "bad_argument",
         "x.jpg: expected a name that ends in .png"},
        {"check --case golden", "bad_argument",
         "--case golden: expected --golden DIR with it, the folder of those cases"},
    };
    const int64_t padded[3] = {1, 2, 128};
    program_run_fine("generate --out @pad --n 20 --heads 2 --d 4");
    program_write_array("pad/lse.npy", FA_F32, 3, padded, 0);
    const int64_t each[4] = {1, 4, 20, 4};
    program_run_fine("generate --out @each --n 20 --heads 4 --kv-heads 2 --d 4 --pass both");
    program_write_array("each/dk.npy", FA_F32, 4, each, 0);
    program_run_fine("generate --out @truth --n 20 --heads 2 --d 4");
    struct fa_npy o = program_read_array("truth/o.npy");
    check_write_back("truth/o.npy", &o, FA_U8); /* which .npy has as truth values */
    fa_npy_free(&o);
    expect_refusals(refused, sizeof refused / sizeof *refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_folders),        cmocka_unit_test(masks_are_not_forgotten),
        cmocka_unit_test(case_json_differs),     cmocka_unit_test(the_sample_is_not_all),
        cmocka_unit_test(nan_of_the_inputs),     cmocka_unit_test(small_beside_large),
        cmocka_unit_test(forgotten_layout),      cmocka_unit_test(forgotten_dtype),
        cmocka_unit_test(files_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, program_folder_remove);
}
