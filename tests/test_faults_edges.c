/* Faults of masks with two edges, of LSE alone, of tiles that nobody named, and what has no name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tests/fault_case.h"

enum { ALL = 1000 }; /* more keys than there are: no edge */

static void expect(const struct fault_sample *s, enum sim_fault fault, const char *words)
{
    struct sim_verdict verdict = fault_sample_judge(s);
    if (verdict.fault != fault || !strstr(verdict.look, words))
        fail_msg("%s in %s: %s (expected %s: %s)", sim_fault_name(verdict.fault),
                 sim_output_name(verdict.culprit), verdict.look, sim_fault_name(fault), words);
    sim_verdict_free(&verdict);
}

/* O and LSE where row i sees the keys from i - left to i + right of the diagonal. */
static void fill_band(struct fault_sample *s, int64_t left, int64_t right)
{
    struct fa_problem p = s->problem;
    struct fa_tensor mask = fault_tensor(FA_U8, 1, 1, p.nq, p.nk);
    int64_t shift = p.causal == FA_CAUSAL_TOP_LEFT ? 0 : p.nk - p.nq;
    for (int64_t i = 0; i < p.nq; i++)
        for (int64_t j = 0; j < p.nk; j++)
            fa_tensor_set(&mask, 0, 0, i, j, j >= i + shift - left && j <= i + shift + right);
    p.causal = FA_CAUSAL_NONE;
    p.window_left = p.window_right = -1;
    p.mask = &mask;
    fault_sample_fill(s, &p, -1);
    fa_tensor_free(&mask);
}

static void windows(void **state)
{
    (void)state;
    static const struct {
        bool causal;
        int64_t left, right;
        enum sim_fault fault;
        const char *words;
    } cases[] = {
        {true, 10, 0, SIM_FAULT_NONE, ""},
        {true, 10, 1, SIM_FAULT_DIAGONAL, "the mask is one long"},
        {true, 10, -1, SIM_FAULT_DIAGONAL, "the mask is one short"},
        {true, 9, 0, SIM_FAULT_DIAGONAL, "left edge is one short"},
        {true, 11, 0, SIM_FAULT_DIAGONAL, "left edge is one long"},
        {true, 11, -1, SIM_FAULT_DIAGONAL, "of the row before it"},
        {true, ALL, 0, SIM_FAULT_OTHER, "the window's left edge is not applied"},
        {true, 10, ALL, SIM_FAULT_OTHER, "the causal mask is not applied"},
        {true, ALL, ALL, SIM_FAULT_OTHER, "not applied at all"},
        {false, 10, 5, SIM_FAULT_NONE, ""},
        {false, 10, 4, SIM_FAULT_DIAGONAL, "right edge is one short"},
        {false, 10, 6, SIM_FAULT_DIAGONAL, "right edge is one long"},
        {false, 9, 5, SIM_FAULT_DIAGONAL, "left edge is one short"},
        {false, 11, 5, SIM_FAULT_DIAGONAL, "left edge is one long"},
        {false, 9, 6, SIM_FAULT_DIAGONAL, "of the row after it"},
        {false, ALL, 5, SIM_FAULT_OTHER, "without the window's left edge"},
        {false, 10, ALL, SIM_FAULT_OTHER, "without the window's right edge"},
        {false, 5, 10, SIM_FAULT_OTHER, "edges exchanged"},
    };
    for (int ragged = 0; ragged < 2; ragged++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct fa_problem p = fa_problem_make(60, ragged ? 67 : 60, 8);
            p.heads = 2;
            p.dtype = FA_F32;
            p.causal = cases[i].causal ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_NONE;
            p.window_left = 10;
            p.window_right = cases[i].causal ? 0 : 5;
            struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
            fill_band(&s, cases[i].left, cases[i].right);
            expect(&s, cases[i].fault, cases[i].words);
            fault_sample_free(&s);
        }
    /* The same as a mask of whole tiles, if one tile holds all. */
    struct fa_problem p = fault_shape(0, FA_F32);
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    s.br = s.bc = 64;
    fill_band(&s, ALL, ALL);
    expect(&s, SIM_FAULT_OTHER, "not applied at all");
    fault_sample_free(&s);
}

/* LSE under another problem, beside a right O. */
static void lse_alone(void **state)
{
    (void)state;
    static const enum fa_profile profiles[] = {FA_PROFILE_GAUSS, FA_PROFILE_EQUAL,
                                               FA_PROFILE_RISING, FA_PROFILE_FALLING};
    for (size_t i = 0; i < 4 * sizeof profiles / sizeof *profiles; i++) {
        struct fa_problem p = fault_shape(0, FA_F32), wrong = p;
        struct fault_sample s = fault_sample_make(p, profiles[i / 4], false);
        struct fa_tensor *o = &s.output[SIM_OUT_O], right = *o;
        static const enum sim_fault faults[] = {SIM_FAULT_OTHER, SIM_FAULT_CAUSAL_ALIGNMENT,
                                                SIM_FAULT_DIAGONAL, SIM_FAULT_SCALE};
        static const char *const words[] = {"not applied at all", "top left", "one long", "of 1:"};
        if (i % 4 == 0 || i % 4 == 2)
            wrong.causal = FA_CAUSAL_NONE;
        if (i % 4 == 1)
            wrong.causal = FA_CAUSAL_TOP_LEFT;
        if (i % 4 == 2)
            wrong.window_right = 1;
        if (i % 4 == 3)
            wrong.scale = 1;
        *o = fault_tensor(FA_F32, p.batch, p.heads, p.nq, p.dv);
        fault_sample_fill(&s, &wrong, -1);
        fa_tensor_free(o);
        *o = right;
        if (i % 4 < 3 || profiles[i / 4] == FA_PROFILE_GAUSS)
            expect(&s, faults[i % 4], words[i % 4]);
        fault_sample_free(&s);
    }
}

/* Padding of tiles that were not said: 192 keys, 64 taken for a tile, 128 in truth. */
static void other_tiles(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct fa_problem p = fa_problem_make(40, 192, 8), wrong = p;
        p.dtype = wrong.dtype = FA_F32;
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
        struct fa_tensor k = s.k, v = s.v;
        s.br = s.bc = 64;
        wrong.nk = cut ? 128 : 256;
        s.k = fault_tensor(FA_F32, 1, 1, 256, 8);
        s.v = fault_tensor(FA_F32, 1, 1, 256, 8);
        memset(s.k.data, 0, 256 * 8 * 4);
        memset(s.v.data, 0, 256 * 8 * 4);
        memcpy(s.k.data, k.data, 192 * 8 * 4);
        memcpy(s.v.data, v.data, 192 * 8 * 4);
        s.k.shape[2] = s.v.shape[2] = wrong.nk;
        fault_sample_fill(&s, &wrong, -1);
        fa_tensor_free(&s.k);
        fa_tensor_free(&s.v);
        s.k = k;
        s.v = v;
        expect(&s, SIM_FAULT_LAST_TILE,
               cut ? "is left out, if tiles have 128 keys" : "not masked, if tiles have 128 keys");
        fault_sample_free(&s);
    }
}

/* One element above its budget, in a row that a factor brings within it: but not half as near. */
static void noise_in_a_row(void **state)
{
    (void)state;
    struct fault_sample s = fault_sample_make(fault_shape(0, FA_F32), FA_PROFILE_GAUSS, false);
    struct sim_verdict verdict = fault_sample_judge(&s);
    double budget = verdict.output[SIM_OUT_O].budget, right[5];
    int64_t tried = 0;
    sim_verdict_free(&verdict);
    for (int64_t i = 0; i < 32; i++) { /* not of the last tile, which has a fault of its own */
        int64_t most = 0;
        double squares = 0;
        for (int64_t c = 0; c < 5; c++) {
            right[c] = fa_tensor_get(&s.output[SIM_OUT_O], 0, 0, i, c);
            squares += right[c] * right[c];
            most = fabs(right[c]) > fabs(right[most]) ? c : most;
        }
        double share = right[most] * right[most] / squares;
        if (share < 0.3 || share > 0.45)
            continue;
        tried++;
        fa_tensor_set(&s.output[SIM_OUT_O], 0, 0, i, most, right[most] + 1.3 * budget);
        expect(&s, SIM_FAULT_OTHER, "none of the known faults");
        fa_tensor_set(&s.output[SIM_OUT_O], 0, 0, i, most, right[most]);
    }
    assert_true(tried > 2);
    fault_sample_free(&s);
}

/* Rows that are multiples of the right ones in name alone. */
static void no_factor(void **state)
{
    (void)state;
    static const uint32_t junk[] = {0x01010101, 0xabababab, 0xbaadf00d};
    struct fault_sample s = fault_sample_make(fault_shape(2, FA_F32), FA_PROFILE_GAUSS, false);
    float *rows = (float *)s.output[SIM_OUT_O].data + 50 * 40; /* two of 2 x 65 x 40 */
    for (size_t j = 0; j < sizeof junk / sizeof *junk; j++) {
        for (int64_t e = 0; e < 80; e++)
            memcpy(rows + e, &junk[j], sizeof junk[j]);
        expect(&s, SIM_FAULT_UNWRITTEN, "the wrong elements are all ");
    }
    fault_sample_fill(&s, &s.problem, -1);
    for (int64_t e = 0; e < 80; e++) /* 0 times the right ones, but for the last digits */
        rows[e] = (rows[e] < 0 ? -1e-9f : 1e-9f) * (float)(1 + e % 3);
    expect(&s, SIM_FAULT_OTHER, "none of the known faults");
    fault_sample_fill(&s, &s.problem, -1);
    for (int64_t e = 0; e < 80; e++)
        rows[e] *= e < 40 ? 0.5f : -0.5f;
    expect(&s, SIM_FAULT_OTHER, "none of the known faults");
    fault_sample_free(&s);
}

/* One number everywhere, as the right one is: no old contents. */
static void constant_values(void **state)
{
    (void)state;
    struct fault_sample s = fault_sample_make(fault_shape(2, FA_F32), FA_PROFILE_GAUSS, false);
    for (int64_t e = 0; e < fault_count(&s.v); e++)
        fa_dtype_set(FA_F32, s.v.data, e, 2);
    for (int64_t e = 0; e < fault_count(&s.output[SIM_OUT_O]); e++)
        fa_dtype_set(FA_F32, s.output[SIM_OUT_O].data, e, 1);
    expect(&s, SIM_FAULT_ROW_SCALE, "all of O is 0.5 times");
    fault_sample_free(&s);
}

/* Rows that are multiples: what makes them so depends on the output. */
static void words_of_factors(void **state)
{
    (void)state;
    static const struct {
        enum sim_output which;
        const char *words;
    } cases[] = {{SIM_OUT_O, "forgot the tiles before the last"},
                 {SIM_OUT_DQ, "dS has a factor"},
                 {SIM_OUT_DK, "the key's sum"},
                 {SIM_OUT_DV, "the key's sum"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fault_sample s = fault_sample_make(fault_shape(1, FA_F32), FA_PROFILE_GAUSS, true);
        struct fa_tensor *t = &s.output[cases[i].which];
        for (int64_t e = 0; e < fault_count(t); e++)
            fa_dtype_set(FA_F32, t->data, e,
                         fa_dtype_get(FA_F32, t->data, e) *
                             (1 + (double)(e / t->shape[3] % 7) / 4));
        expect(&s, SIM_FAULT_ROW_SCALE, cases[i].words);
        fault_sample_free(&s);
    }
}

static void dropout_forgotten(void **state)
{
    (void)state;
    for (int which = SIM_OUT_O; which <= SIM_OUT_DV; which++) {
        struct fa_problem p = fault_shape(0, FA_F32), wrong = p;
        p.dropout_p = 0.3;
        p.dropout_seed = 5;
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true),
                            twin = fault_sample_make(wrong, FA_PROFILE_GAUSS, true);
        memcpy(s.output[which].data, twin.output[which].data,
               (size_t)fault_count(&s.output[which]) * 4);
        if (which == SIM_OUT_LSE) /* it knows of no dropout */
            expect(&s, SIM_FAULT_NONE, "");
        else
            expect(&s, SIM_FAULT_OTHER, "right without dropout");
        fault_sample_free(&s);
        fault_sample_free(&twin);
    }
}

/* A backward pass that computes its softmax again, under another mask or scale. */
static void own_softmax(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * 3; i++) {
        static const enum sim_fault faults[] = {SIM_FAULT_OTHER, SIM_FAULT_CAUSAL_ALIGNMENT,
                                                SIM_FAULT_DIAGONAL, SIM_FAULT_SCALE};
        struct fa_problem p = fault_shape(0, FA_F32), wrong = p;
        int which = SIM_OUT_DQ + i / 4;
        if (i % 4 == 0 || i % 4 == 2)
            wrong.causal = FA_CAUSAL_NONE;
        if (i % 4 == 1)
            wrong.causal = FA_CAUSAL_TOP_LEFT;
        if (i % 4 == 2)
            wrong.window_right = 1;
        if (i % 4 == 3)
            wrong.scale = 1;
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true),
                            twin = fault_sample_make(wrong, FA_PROFILE_GAUSS, true);
        memcpy(s.output[which].data, twin.output[which].data,
               (size_t)fault_count(&s.output[which]) * 4);
        expect(&s, faults[i % 4], "a softmax of the backward pass's own");
        fault_sample_free(&s);
        fault_sample_free(&twin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),          cmocka_unit_test(lse_alone),
        cmocka_unit_test(other_tiles),      cmocka_unit_test(noise_in_a_row),
        cmocka_unit_test(no_factor),        cmocka_unit_test(constant_values),
        cmocka_unit_test(words_of_factors), cmocka_unit_test(dropout_forgotten),
        cmocka_unit_test(own_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
