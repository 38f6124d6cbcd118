#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/compare.h"
#include "reference/merge.h"
#include "tests/forward_pass.h"
#include "tests/golden_case.h"
#include "tests/random_case.h"

static void merge_one(double o1, double lse1, double o2, double lse2, double *o, double *lse)
{
    *o = o1;
    *lse = lse1;
    fa_merge_row(o, lse, &o2, lse2, 1);
}

static void by_hand(void **state)
{
    (void)state;
    double o, lse;
    merge_one(1, 0, 3, 0, &o, &lse); /* two keys of the same score */
    assert_true(o == 2);
    assert_true(fabs(lse - 0.6931471805599453) < 1e-15);
    merge_one(10, 0, 20, 1, &o, &lse);
    assert_true(fabs(o - 17.310585786300049) < 1e-13);
    assert_true(fabs(lse - 1.3132616875182228) < 1e-15);
    merge_one(1, 1000, 3, -1000, &o, &lse); /* exp of neither can be held */
    assert_true(o == 1 && lse == 1000);
    merge_one(1, -1000, 3, -1000, &o, &lse);
    assert_true(o == 2 && fabs(lse + 999.3068528194401) < 1e-9);
    merge_one(1, -FLT_MAX, 3, -FLT_MAX, &o, &lse);
    assert_true(o == 2 && lse == -FLT_MAX);
}

static void empty_parts(void **state)
{
    (void)state;
    double o, lse;
    merge_one(5, 2, NAN, -INFINITY, &o, &lse);
    assert_true(o == 5 && lse == 2);
    merge_one(NAN, -INFINITY, 5, 2, &o, &lse);
    assert_true(o == 5 && lse == 2);
    merge_one(0, -INFINITY, 0, -INFINITY, &o, &lse);
    assert_true(o == 0 && lse == -INFINITY);
    merge_one(NAN, -INFINITY, 7, -INFINITY, &o, &lse);
    assert_true(o == 0 && lse == -INFINITY);
}

static void nan_is_kept(void **state)
{
    (void)state;
    double o, lse;
    merge_one(5, NAN, 1, 2, &o, &lse);
    assert_true(isnan(o) && isnan(lse));
    merge_one(5, 2, 1, NAN, &o, &lse);
    assert_true(isnan(o) && isnan(lse));
    merge_one(5, INFINITY, 1, 2, &o, &lse);
    assert_true(isnan(o) && isnan(lse));
    merge_one(NAN, NAN, 0, -INFINITY, &o, &lse); /* a NaN row and nothing more */
    assert_true(isnan(o) && isnan(lse));
    double wide[3] = {1, NAN, 3}, part[3] = {3, 1, NAN};
    lse = 0;
    fa_merge_row(wide, &lse, part, 0, 3);
    assert_true(wide[0] == 2 && isnan(wide[1]) && isnan(wide[2]) && lse == log(2));
}

/* The case cut at key `at`: keys [0, at), or the rest. The tensors stay the whole case's. */
static struct attention_case part_of(const struct attention_case *whole, int64_t at, bool rest)
{
    struct attention_case part = *whole;
    struct fa_tensor *kv[2] = {&part.k, &part.v};
    for (int n = 0; n < 2; n++) {
        if (rest)
            kv[n]->data =
                (char *)kv[n]->data + at * kv[n]->stride[2] * (int64_t)fa_dtype_bytes(kv[n]->dtype);
        kv[n]->shape[2] = rest ? whole->problem.nk - at : at;
    }
    part.problem.nk = part.k.shape[2];
    memset(&part.o, 0, sizeof part.o);
    memset(&part.lse, 0, sizeof part.lse);
    return part;
}

/* The masks would have to be cut too. */
static void make_dense(struct attention_case *attention)
{
    struct fa_problem *p = &attention->problem;
    p->mask = p->bias = NULL;
    p->causal = FA_CAUSAL_NONE;
    p->window_left = p->window_right = -1;
    forward_case_answer(attention);
}

static void expect_near(const struct fa_tensor *got, const struct fa_tensor *expected,
                        double budget, const char *what)
{
    struct fa_comparison comparison = fa_comparison_start();
    int64_t n;
    assert_int_equal(fa_shape_elements(got->shape, &n, NULL), FA_OK);
    fa_comparison_add(&comparison, got->data, expected->data, n);
    if (!fa_comparison_within(&comparison, budget))
        fail_msg("%s: element %d is off by %g", what, (int)comparison.worst,
                 comparison.max_abs_error);
}

/* The oracle on two parts of the keys, merged, against the oracle on all of them. */
static void parts_of_the_oracle_make_the_whole(void **state)
{
    (void)state;
    int compared = 0;
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct random_stream stream = {seed};
        struct attention_case whole;
        random_case_make(&whole, seed, FA_F64);
        make_dense(&whole);
        int64_t at = random_between(&stream, 0, whole.problem.nk);
        struct attention_case first = part_of(&whole, at, false), rest = part_of(&whole, at, true);
        forward_case_answer(&first);
        forward_case_answer(&rest);
        /* In place, the parts in one order or the other. */
        struct fa_result a = {&first.o, &first.lse}, b = {&rest.o, &rest.lse};
        struct fa_error error = {FA_OK, ""};
        bool swap = random_once_in(&stream, 2);
        if (fa_merge(swap ? b : a, swap ? a : b, a.o, a.lse, &error) != FA_OK)
            fail_msg("%s", error.text);
        expect_near(&first.o, &whole.o, 1e-13 * 4, whole.name);
        expect_near(&first.lse, &whole.lse, 1e-13 * 40, whole.name);
        compared += whole.problem.nq > 0 && at > 0 && at < whole.problem.nk;
        fa_tensor_free(&first.o);
        fa_tensor_free(&first.lse);
        fa_tensor_free(&rest.o);
        fa_tensor_free(&rest.lse);
        attention_case_free(&whole);
    }
    assert_true(compared > 100);
}

/* Any grouping: ((a, b), c) and (a, (b, c)), with an empty part among them. */
static void grouping_does_not_matter(void **state)
{
    (void)state;
    struct random_stream stream = {7};
    for (int n = 0; n < 1000; n++) {
        double o[3], lse[3], left_o, left, right_o, right;
        for (int i = 0; i < 3; i++) {
            o[i] = 2 * random_unit(&stream) - 1;
            lse[i] = random_once_in(&stream, 6) ? -INFINITY : 40 * random_unit(&stream) - 20;
        }
        merge_one(o[0], lse[0], o[1], lse[1], &left_o, &left);
        fa_merge_row(&left_o, &left, &o[2], lse[2], 1);
        merge_one(o[1], lse[1], o[2], lse[2], &right_o, &right);
        fa_merge_row(&right_o, &right, &o[0], lse[0], 1);
        assert_true(left == right || fabs(left - right) < 1e-13);
        assert_true(fabs(left_o - right_o) < 1e-14);
    }
}

/* What a machine with two memories would do: flash2 on each half of the keys, in the dtype. */
static void halves_of_flash2(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++) {
        struct attention_case whole;
        golden_case_load(&whole, "gqa_8_2", (enum fa_dtype)dtype);
        make_dense(&whole);
        struct forward_budget budget = forward_budget_make(&whole);
        struct forward_pass pass = {.algorithm = &fa_flash2, .tiles = forward_tiles(16, 16, 1, 0)};
        struct attention_case first = part_of(&whole, whole.problem.nk / 3, false);
        struct attention_case rest = part_of(&whole, whole.problem.nk / 3, true);
        struct forward_result a = forward_pass_run(&pass, &first);
        struct forward_result b = forward_pass_run(&pass, &rest);
        for (int64_t row = 0; row < a.n_lse; row++)
            fa_merge_row(a.o + row * whole.problem.dv, &a.lse[row], b.o + row * whole.problem.dv,
                         b.lse[row], whole.problem.dv);
        forward_result_check(&a, &pass, &whole, &budget, "merged");
        forward_result_free(&a);
        forward_result_free(&b);
        attention_case_free(&whole);
    }
}

/* Any strides and formats; the merged result elsewhere, rounded once. */
static void strides_and_formats(void **state)
{
    (void)state;
    const int64_t shape[4] = {1, 2, 1, 2}, rows[4] = {1, 2, 1, 1};
    float o1[4] = {1, 2, 3, 4}, lse1[2] = {0, -INFINITY};
    double o2[4] = {3, 5, 5, 7}, lse2[2] = {0, 1};
    uint16_t o[5] = {0, 0, 0, 0, 0x1234};
    float lse[2];
    struct fa_tensor o1_t = fa_tensor_view(FA_F32, shape, o1);
    struct fa_tensor lse1_t = fa_tensor_view(FA_F32, rows, lse1);
    struct fa_tensor o2_t = fa_tensor_view(FA_F64, shape, o2);
    struct fa_tensor lse2_t = fa_tensor_view(FA_F64, rows, lse2);
    struct fa_tensor o_t = fa_tensor_view(FA_BF16, shape, o);
    struct fa_tensor lse_t = fa_tensor_view(FA_F32, rows, lse);
    o2_t.stride[1] = 1; /* heads innermost: head 0 is 3, 5; head 1 is 5, 7 */
    o2_t.stride[3] = 2;
    assert_int_equal(fa_merge((struct fa_result){&o1_t, &lse1_t},
                              (struct fa_result){&o2_t, &lse2_t}, &o_t, &lse_t, NULL),
                     FA_OK);
    assert_true(fa_f32_from_bf16(o[0]) == 2 && fa_f32_from_bf16(o[1]) == 3.5f);
    assert_true(fa_f32_from_bf16(o[2]) == 5 && fa_f32_from_bf16(o[3]) == 7);
    assert_true(lse[0] == (float)log(2) && lse[1] == 1);
    assert_int_equal(o[4], 0x1234);
}

static void refusals(void **state)
{
    (void)state;
    const int64_t shape[4] = {1, 1, 2, 2}, wide[4] = {1, 1, 2, 3}, rows[4] = {1, 1, 2, 1};
    double o[6] = {1, 2, 3, 4, 5, 6}, lse[2] = {1, 2};
    struct fa_tensor o_t = fa_tensor_view(FA_F64, shape, o);
    struct fa_tensor lse_t = fa_tensor_view(FA_F64, rows, lse);
    struct fa_tensor wide_t = fa_tensor_view(FA_F64, wide, o);
    struct fa_tensor mask_t = fa_tensor_view(FA_U8, shape, o);
    struct fa_tensor bare_t = fa_tensor_view(FA_F64, rows, NULL);
    struct fa_result good = {&o_t, &lse_t}, other = {&wide_t, &lse_t};
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(fa_merge(good, other, &o_t, &lse_t, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text,
                        "the second part's o is [1, 1, 2, 3]: expected [1, 1, 2, 2], as "
                        "the first part's o has it");
    assert_int_equal(fa_merge(good, good, &o_t, &o_t, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "the merged lse is [1, 1, 2, 2]: expected [1, 1, 2, 1], as the "
                                    "first part's o has it");
    assert_int_equal(fa_merge(good, good, &mask_t, &lse_t, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "the merged o is u8: expected a float format");
    assert_int_equal(fa_merge(good, good, &o_t, &bare_t, &error), FA_BAD_ARGUMENT);
    assert_string_equal(error.text, "the merged lse has a shape and no data");
    assert_int_equal(fa_merge(good, other, &o_t, &lse_t, NULL), FA_BAD_ARGUMENT);
    for (int i = 0; i < 6; i++)
        assert_true(o[i] == i + 1);
    assert_true(lse[0] == 1 && lse[1] == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(empty_parts),
        cmocka_unit_test(nan_is_kept),
        cmocka_unit_test(parts_of_the_oracle_make_the_whole),
        cmocka_unit_test(grouping_does_not_matter),
        cmocka_unit_test(halves_of_flash2),
        cmocka_unit_test(strides_and_formats),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
