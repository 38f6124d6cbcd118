/* Faults that are told by what stands in an output and in which order; noise has no name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fault_case.h"
#include "tests/random_case.h"

/* What stands in memory. */
static void contents(void **state)
{
    (void)state;
    for (int dtype = FA_F32; dtype <= FA_BF16; dtype++) {
        for (int which = SIM_OUT_O; which <= SIM_OUT_DV; which++) {
            struct fault_sample s =
                fault_sample_make(fault_shape(0, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, true);
            struct fa_tensor *t = &s.output[which];
            size_t bytes = (size_t)fault_count(t) * fa_dtype_bytes(t->dtype);
            unsigned char *right = malloc(bytes);
            memcpy(right, t->data, bytes);
            memset(t->data, 0xff, bytes);
            fault_sample_expect(&s, SIM_FAULT_UNWRITTEN, "0xff");
            memcpy(t->data, right, bytes);
            memset((char *)t->data + bytes / 2, 0xcd, bytes / 2);
            fault_sample_expect(&s, SIM_FAULT_UNWRITTEN, "0xcd");
            memcpy(t->data, right, bytes);
            memset(t->data, 0, bytes / 24 * 8);
            fault_sample_expect(&s, SIM_FAULT_ZEROS, "zeros");
            memcpy(t->data, right, bytes);
            memset(t->data, 0, 8);
            fault_sample_expect(&s, SIM_FAULT_ZEROS, "few zeros");
            memcpy(t->data, right, bytes);
            fa_dtype_set(t->dtype, t->data, fault_count(t) - 1, NAN);
            fault_sample_expect(&s, SIM_FAULT_NAN, "NaN");
            memcpy(t->data, right, bytes);
            fa_dtype_set(t->dtype, t->data, 0, INFINITY);
            fault_sample_expect(&s, SIM_FAULT_NAN, "infinity");
            memcpy(t->data, right, bytes);
            for (int64_t e = 0; e < fault_count(t); e++)
                fa_dtype_set(t->dtype, t->data, e, 4097);
            fault_sample_expect(&s, SIM_FAULT_UNWRITTEN, "a constant");
            free(right);
            fault_sample_free(&s);
        }
    }
}

/* The NaN that a GPU makes has its bits set too, but not the sign: it was computed. */
static void computed_nan(void **state)
{
    (void)state;
    const uint32_t bits = 0x7fffffff;
    struct fault_sample s = fault_sample_make(fault_shape(0, FA_F32), FA_PROFILE_GAUSS, false);
    struct fa_tensor *o = &s.output[SIM_OUT_O];
    for (int64_t e = 0; e < fault_count(o); e++)
        memcpy((float *)o->data + e, &bits, sizeof bits);
    struct sim_verdict verdict = fault_sample_judge(&s);
    assert_int_equal(verdict.fault, SIM_FAULT_NAN);
    assert_non_null(strstr(verdict.look, "NaN in O: "));
    sim_verdict_free(&verdict);
    fault_sample_fill(&s, &s.problem, -1);
    fa_dtype_set(FA_F32, o->data, 3, INFINITY);
    verdict = fault_sample_judge(&s);
    assert_int_equal(verdict.fault, SIM_FAULT_NAN);
    assert_non_null(strstr(verdict.look, "an infinity in O"));
    sim_verdict_free(&verdict);
    fault_sample_free(&s);
}

/* An empty row is 0 and -inf, and NaN of the input is NaN. */
static void empty_rows_and_nan(void **state)
{
    (void)state;
    struct fault_sample s = fault_sample_make(fault_shape(1, FA_F32), FA_PROFILE_GAUSS, false);
    s.problem.causal = FA_CAUSAL_BOTTOM_RIGHT; /* rows 0 .. 16 are empty */
    fault_sample_fill(&s, &s.problem, -1);
    fault_sample_expect(&s, SIM_FAULT_NONE, "right");
    fa_tensor_set(&s.output[SIM_OUT_O], 0, 1, 3, 0, NAN);
    struct sim_verdict verdict = fault_sample_judge(&s);
    assert_int_equal(verdict.fault, SIM_FAULT_NAN);
    assert_non_null(strstr(verdict.look, "without a visible key"));
    assert_string_equal(verdict.where, "1 of 150 rows, row 3, column 0, in head 1 of 3");
    assert_true(isnan(verdict.output[SIM_OUT_O].theirs) && verdict.output[SIM_OUT_O].right == 0);
    assert_int_equal(verdict.output[SIM_OUT_O].worst[1], 1);
    assert_int_equal(verdict.output[SIM_OUT_O].worst[2], 3);
    sim_verdict_free(&verdict);
    fault_sample_fill(&s, &s.problem, -1);
    fa_tensor_set(&s.output[SIM_OUT_LSE], 0, 1, 3, 0, 0);
    fault_sample_expect(&s, SIM_FAULT_NAN, "LSE of an empty row");
    fault_sample_fill(&s, &s.problem, -1);
    fa_tensor_set(&s.k, 0, 0, 0, 0, NAN);
    fault_sample_expect(&s, SIM_FAULT_NAN, "a NaN is lost");
    fault_sample_fill(&s, &s.problem, -1);
    fault_sample_expect(&s, SIM_FAULT_NONE, "a NaN that is kept");
    fa_tensor_set(&s.output[SIM_OUT_O], 0, 1, 20, 0,
                  1000); /* what is NaN by right is not counted */
    verdict = fault_sample_judge(&s);
    assert_int_equal(verdict.fault, SIM_FAULT_OTHER);
    assert_string_equal(verdict.where, "1 of 150 rows, row 20, column 0, in head 1 of 3");
    sim_verdict_free(&verdict);
    fault_sample_free(&s);
}

static void orders(void **state)
{
    (void)state;
    static const int bshd[4] = {0, 2, 1, 3}, bhds[4] = {0, 1, 3, 2};
    for (int dtype = FA_F32; dtype <= FA_BF16; dtype++) {
        for (int which = SIM_OUT_O; which <= SIM_OUT_DV; which++) {
            struct fault_sample s =
                fault_sample_make(fault_shape(0, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, true);
            struct fa_tensor *t = &s.output[which];
            fault_reorder(t, bshd);
            fault_sample_expect(&s, SIM_FAULT_LAYOUT, "heads and rows exchanged");
            fault_sample_free(&s);
            s = fault_sample_make(fault_shape(1, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, true);
            if (which != SIM_OUT_LSE) {
                fault_reorder(&s.output[which], bhds);
                fault_sample_expect(&s, SIM_FAULT_TRANSPOSED, "rows and columns exchanged");
            }
            fault_sample_free(&s);
            s = fault_sample_make(fault_shape(1, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, true);
            t = &s.output[which];
            for (int64_t i = 0; i < t->shape[2]; i++)
                for (int64_t c = 0; c < t->shape[3]; c++)
                    fa_tensor_set(t, 0, 2, i, c, fa_tensor_get(t, 0, 0, i, c));
            fault_sample_expect(&s, SIM_FAULT_HEAD_SWAP, "a head twice");
            fault_sample_free(&s);
        }
    }
}

/* Element e of `to` is what stands at e in [batch, heads, columns, rows] of `from`'s elements. */
static void read_transposed(const struct fa_tensor *to, const struct fa_tensor *from)
{
    int64_t rows = to->shape[2], columns = to->shape[3];
    for (int64_t e = 0; e < fault_count(to); e++) {
        int64_t r = e / columns % rows, c = e % columns, head = e / columns / rows;
        fa_dtype_set(to->dtype, to->data, e,
                     fa_dtype_get(from->dtype, from->data, (head * columns + c) * rows + r));
    }
}

/* Inputs that are read in another order than they are stored in. */
static void input_orders(void **state)
{
    (void)state;
    static const int bshd[4] = {0, 2, 1, 3};
    struct fa_problem p = fault_shape(1, FA_F32);
    p.causal = FA_CAUSAL_NONE;
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false),
                        twin = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    read_transposed(&twin.k, &s.k);
    fault_sample_fill(&twin, &p, -1);
    memcpy(twin.k.data, s.k.data, (size_t)fault_count(&s.k) * 4);
    fault_sample_expect(&twin, SIM_FAULT_TRANSPOSED, "K read transposed");
    read_transposed(&twin.v, &s.v);
    fault_sample_fill(&twin, &p, -1);
    memcpy(twin.v.data, s.v.data, (size_t)fault_count(&s.v) * 4);
    fault_sample_expect(&twin, SIM_FAULT_TRANSPOSED, "V read transposed");
    /* Read as bshd these are those of s, whose right O is stored as bshd too. */
    fault_reorder(&twin.q, bshd);
    fault_reorder(&twin.k, bshd);
    fault_reorder(&twin.v, bshd);
    fault_sample_fill(&twin, &p, -1);
    for (int64_t e = 0; e < fault_count(&s.output[SIM_OUT_O]); e++)
        fa_dtype_set(FA_F32, twin.output[SIM_OUT_O].data, e,
                     fa_dtype_get(FA_F32, s.output[SIM_OUT_O].data, e));
    fault_reorder(&twin.output[SIM_OUT_O], bshd);
    fault_sample_expect(&twin, SIM_FAULT_LAYOUT, "all tensors in the other layout");
    fault_sample_free(&twin);
    fault_sample_free(&s);
}

/* Noise a little above the budget is no fault that has a name, whatever the mask. */
static void noise(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_SHAPES; i++) {
        for (int dtype = FA_F32; dtype <= FA_BF16; dtype++) {
            struct fault_sample s =
                fault_sample_make(fault_shape(i, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, i != 3);
            for (int which = SIM_OUT_O; which <= (i != 3 ? SIM_OUT_DV : SIM_OUT_LSE); which++) {
                struct fa_tensor *t = &s.output[which];
                size_t bytes = (size_t)fault_count(t) * fa_dtype_bytes(t->dtype);
                void *right = malloc(bytes);
                struct sim_verdict verdict = fault_sample_judge(&s);
                double budget = verdict.output[which].budget;
                sim_verdict_free(&verdict);
                memcpy(right, t->data, bytes);
                fault_add_noise(t, 0.02 * budget); /* a small part has less */
                fault_sample_expect(&s, SIM_FAULT_NONE, "little noise");
                fault_add_noise(t, 1.1 * budget);
                fault_sample_expect(&s, SIM_FAULT_OTHER, "noise");
                memcpy(t->data, right, bytes);
                free(right);
            }
            fault_sample_free(&s);
        }
    }
}

/* Any mixture of masks, biases, strides and non-finite inputs: what is right has no fault, and one
 * wrong element is always one, whatever it is called. */
static void random_problems(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct attention_case a;
        random_case_make(&a, seed, (enum fa_dtype)(seed % 4));
        struct fault_sample s = {
            .problem = a.problem, .q = a.q, .k = a.k, .v = a.v, .br = 5, .bc = 3};
        s.output[SIM_OUT_O] = a.o;
        s.output[SIM_OUT_LSE] = a.lse;
        fault_sample_expect(&s, SIM_FAULT_NONE, a.name);
        if (fault_count(&a.o) > 0) {
            int64_t at = (int64_t)(seed * 77) % fault_count(&a.o);
            double before = fa_dtype_get(FA_F64, a.o.data, at);
            fa_dtype_set(FA_F64, a.o.data, at, isfinite(before) ? 1e9 : 1);
            struct sim_verdict verdict = fault_sample_judge(&s);
            assert_false(verdict.pass);
            assert_int_not_equal(verdict.fault, SIM_FAULT_NONE);
            assert_int_equal(verdict.culprit, SIM_OUT_O);
            sim_verdict_free(&verdict);
        }
        attention_case_free(&a);
    }
}

/* Wrong in the ragged last tile of rows alone. */
static void last_rows(void **state)
{
    (void)state;
    for (int which = SIM_OUT_O; which <= SIM_OUT_DV; which++) {
        struct fault_sample s = fault_sample_make(fault_shape(0, FA_F32), FA_PROFILE_GAUSS, true);
        struct fa_tensor *t = &s.output[which];
        int64_t first = t->shape[2] / 16 * 16;
        for (int64_t i = first; i < t->shape[2]; i++)
            for (int64_t c = 0; c < t->shape[3]; c++)
                fa_tensor_set(t, 1, 1, i, c, (double)((i * 5 + c * 3) % 11) - 4.5);
        fault_sample_expect(&s, SIM_FAULT_LAST_TILE, "the last rows");
        fa_tensor_set(t, 0, 0, first - 1, 0, 77);
        fault_sample_expect(&s, SIM_FAULT_OTHER, "and one before them");
        fault_sample_free(&s);
    }
}

/* The map has a tile's largest error in units of the budget. */
static void the_map(void **state)
{
    (void)state;
    struct fault_sample s = fault_sample_make(fault_shape(0, FA_F32), FA_PROFILE_GAUSS, false);
    struct sim_verdict verdict = fault_sample_judge(&s);
    double budget = verdict.output[SIM_OUT_O].budget;
    double before = fa_tensor_get(&s.output[SIM_OUT_O], 1, 2, 20, 3);
    sim_verdict_free(&verdict);
    fa_tensor_set(&s.output[SIM_OUT_O], 1, 2, 20, 3, before + 40 * budget);
    verdict = fault_sample_judge(&s);
    assert_int_equal(verdict.map.heads, 8);
    assert_int_equal(verdict.map.tiles, 3);
    assert_int_equal(verdict.map.side, 16);
    for (int cell = 0; cell < 24; cell++)
        if (cell == 6 * 3 + 1)
            assert_true(fabs(verdict.map.error[cell] - 40) < 1);
        else
            assert_true(verdict.map.error[cell] <= 1);
    assert_int_equal(verdict.output[SIM_OUT_O].worst[3], 3);
    assert_true(fabs(verdict.output[SIM_OUT_O].theirs - before - 40 * budget) < budget);
    assert_true(fabs(verdict.output[SIM_OUT_O].right - before) < budget);
    sim_verdict_free(&verdict);
    fault_sample_free(&s);
}

/* Faults that are small beside the tensor's largest values are placed and named by the budgets of
 * the parts that they are in. */
static void small_parts(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(642, 642, 16);
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    p.dtype = FA_BF16;
    for (int which = SIM_OUT_DK; which <= SIM_OUT_DV; which++) {
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true);
        for (int64_t key = 640; key < 642; key++)
            for (int64_t c = 0; c < 16; c++)
                fa_tensor_set(&s.output[which], 0, 0, key, c, 0);
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_true(sim_judged_fails_in_parts(&verdict.output[which]));
        assert_true(verdict.fault == SIM_FAULT_ZEROS && (int)verdict.culprit == which);
        assert_string_equal(verdict.where, "2 of 642 keys, from key 640 to 641");
        assert_true(verdict.output[which].worst[2] >= 640 && verdict.output[which].theirs == 0);
        assert_true(verdict.map.error[40] > 1 && !(verdict.map.error[39] > 1));
        sim_verdict_free(&verdict);
        for (int64_t key = 640; key < 642; key++)
            for (int64_t c = 0; c < 16; c++)
                fa_tensor_set(&s.output[which], 0, 0, key, c, c % 2 ? -0.004 : 0.004);
        fault_sample_expect(&s, SIM_FAULT_LAST_TILE, "other numbers in the last keys");
        fault_sample_free(&s);
    }
}

/* A head that is small beside another. */
static void small_heads(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(70, 70, 16);
    p.heads = p.kv_heads = 4;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    p.dtype = FA_F16;
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    const struct fa_tensor *o = &s.output[SIM_OUT_O];
    for (int64_t e = 0; e < 70 * 16; e++)
        fa_dtype_set(FA_F16, s.v.data, e, 1000 * fa_dtype_get(FA_F16, s.v.data, e));
    fault_sample_fill(&s, &p, -1);
    fault_sample_expect(&s, SIM_FAULT_NONE, "a large head");
    for (int64_t e = 3 * 70 * 16; e < 4 * 70 * 16; e++)
        fa_dtype_set(FA_F16, o->data, e, 0.5 * fa_dtype_get(FA_F16, o->data, e));
    fault_sample_expect(&s, SIM_FAULT_ROW_SCALE, "a small head halved");
    memset((char *)o->data + 70 * 16 * 2, 0, 3 * 70 * 16 * 2);
    struct sim_verdict verdict = fault_sample_judge(&s);
    assert_true(sim_judged_fails_in_parts(&verdict.output[SIM_OUT_O]));
    assert_int_equal(verdict.fault, SIM_FAULT_ZEROS);
    assert_string_equal(verdict.where,
                        "210 of 280 rows, from row 0 to 69, in heads 1, 2, 3 of 4");
    assert_true(verdict.output[SIM_OUT_O].part.wrong == 6);
    sim_verdict_free(&verdict);
    fault_sample_free(&s);
}

/* NaN is no infinity but where the check itself says that no kernel can have it. */
static void nan_for_infinity(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(9, 5, 8);
    p.causal = FA_CAUSAL_BOTTOM_RIGHT; /* rows 0 .. 3 are empty */
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    const struct fa_tensor *lse = &s.output[SIM_OUT_LSE], *o = &s.output[SIM_OUT_O];
    for (int base_2 = 0; base_2 < 2; base_2++) {
        for (int64_t r = 0; r < 9; r++)
            fa_tensor_set(lse, 0, 0, r, 0,
                          r < 4 ? (double)NAN
                                : fa_tensor_get(lse, 0, 0, r, 0) / (base_2 ? log(2) : 1));
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_true(verdict.fault == SIM_FAULT_NAN && verdict.culprit == SIM_OUT_LSE);
        assert_string_equal(verdict.where, base_2 ? "9 of 9 rows, from row 0 to 8"
                                                  : "4 of 9 rows, from row 0 to 3");
        sim_verdict_free(&verdict);
    }
    fault_sample_free(&s);
    /* Weights of exp(-200) and exp(-20) over an infinite V: the first is 0 in f32, and 0 * inf. */
    for (int gap = 200; gap >= 20; gap -= 180) {
        p = fa_problem_make(2, 2, 1);
        p.scale = 1;
        s = fault_sample_make(p, FA_PROFILE_EQUAL, false);
        for (int64_t i = 0; i < 2; i++) {
            fa_tensor_set(&s.q, 0, 0, i, 0, 1);
            fa_tensor_set(&s.k, 0, 0, i, 0, i == 0 ? gap : 0);
            fa_tensor_set(&s.v, 0, 0, i, 0, i == 1 ? (double)INFINITY : 1);
        }
        fault_sample_fill(&s, &p, -1);
        fa_tensor_set(o, 0, 0, 0, 0, (double)NAN);
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_true(verdict.pass == (gap == 200) && verdict.underflowed == (gap == 200));
        sim_verdict_free(&verdict);
        fa_tensor_set(o, 0, 0, 1, 0, 1);
        verdict = fault_sample_judge(&s);
        assert_int_equal(verdict.fault, SIM_FAULT_NAN);
        assert_string_equal(verdict.where,
                            gap == 200 ? "1 of 2 rows, row 1" : "2 of 2 rows, from row 0 to 1");
        sim_verdict_free(&verdict);
        fault_sample_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents),
        cmocka_unit_test(computed_nan),
        cmocka_unit_test(empty_rows_and_nan),
        cmocka_unit_test(orders),
        cmocka_unit_test(input_orders),
        cmocka_unit_test(noise),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(last_rows),
        cmocka_unit_test(the_map),
        cmocka_unit_test(small_parts),
        cmocka_unit_test(small_heads),
        cmocka_unit_test(nan_for_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
