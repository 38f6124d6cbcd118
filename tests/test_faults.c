/* Programs that are wrong in a known way are told by what they do; right ones have no fault. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fault_case.h"
#include "tests/mutants.h"

static void right_outputs(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_SHAPES; i++) {
        for (int dtype = FA_F64; dtype <= FA_BF16; dtype++) {
            struct fault_sample s =
                fault_sample_make(fault_shape(i, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, i < 2);
            fault_sample_expect(&s, SIM_FAULT_NONE, "right");
            fault_sample_free(&s);
        }
        struct fault_sample s = fault_sample_make(fault_shape(i, FA_F32), FA_PROFILE_PEAKY, false);
        fault_sample_fill(&s, NULL, MUTANT_RIGHT_MEAN);
        fault_sample_expect(&s, SIM_FAULT_NONE, "right, in f32");
        fault_sample_free(&s);
    }
}

static const struct {
    enum mutant mutant;
    enum sim_fault fault;
    int shapes; /* bits of those that can show it */
} mutants[] = {
    {MUTANT_E_L_FORGETS, SIM_FAULT_ROW_SCALE, 15},
    {MUTANT_F_NO_DIVISION, SIM_FAULT_ROW_SCALE, 15},
    {MUTANT_D_NORMALISED_TWICE, SIM_FAULT_ROW_SCALE, 15},
    {MUTANT_NO_SCALE, SIM_FAULT_SCALE, 15},
    {MUTANT_SCALE_OF_PADDED_D, SIM_FAULT_SCALE, 1 | 4 | 8},
    {MUTANT_LSE_BASE_2, SIM_FAULT_BASE2_LSE, 15},
    {MUTANT_SKIPS_RAGGED_TILE, SIM_FAULT_LAST_TILE, 15},
    {MUTANT_COUNTS_PADDING, SIM_FAULT_LAST_TILE, 15},
    {MUTANT_MASK_ONE_SHORT, SIM_FAULT_DIAGONAL, 7},
    {MUTANT_MASK_ONE_LONG, SIM_FAULT_DIAGONAL, 7},
    {MUTANT_OTHER_ALIGNMENT, SIM_FAULT_CAUSAL_ALIGNMENT, 3},
    {MUTANT_HEADS_MODULO, SIM_FAULT_HEAD_SWAP, 1},
    {MUTANT_FIRST_BATCH, SIM_FAULT_HEAD_SWAP, 1 | 8},
    {MUTANT_NO_SOFTMAX, SIM_FAULT_OTHER, 15},
    {MUTANT_C_NO_RESCALE, SIM_FAULT_OTHER, 4 | 8},
};

static void wrong_programs(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_SHAPES; i++) {
        struct fault_sample s = fault_sample_make(fault_shape(i, FA_F32), FA_PROFILE_GAUSS, false);
        for (size_t m = 0; m < sizeof mutants / sizeof *mutants; m++) {
            if (!(mutants[m].shapes >> i & 1))
                continue;
            fault_sample_fill(&s, NULL, mutants[m].mutant);
            fault_sample_expect(&s, mutants[m].fault, mutant_name(mutants[m].mutant));
        }
        fault_sample_free(&s);
    }
}

/* The same mistakes in 16 bits, where a budget is wide. */
static void wrong_in_16_bits(void **state)
{
    (void)state;
    for (int dtype = FA_F16; dtype <= FA_BF16; dtype++) {
        for (int i = 0; i < FAULT_SHAPES; i++) {
            struct fault_sample s =
                fault_sample_make(fault_shape(i, (enum fa_dtype)dtype), FA_PROFILE_GAUSS, false);
            struct fa_problem wrong = s.problem;
            wrong.scale = 1;
            fault_sample_fill(&s, &wrong, -1);
            fault_sample_expect(&s, SIM_FAULT_SCALE, "no scale");
            if (i < 2) {
                wrong = s.problem;
                wrong.causal = wrong.causal == FA_CAUSAL_TOP_LEFT ? FA_CAUSAL_BOTTOM_RIGHT
                                                                  : FA_CAUSAL_TOP_LEFT;
                fault_sample_fill(&s, &wrong, -1);
                fault_sample_expect(&s, SIM_FAULT_CAUSAL_ALIGNMENT, "the other alignment");
            }
            if (s.problem.causal == FA_CAUSAL_BOTTOM_RIGHT) {
                wrong = s.problem;
                wrong.causal = FA_CAUSAL_NONE;
                fault_sample_fill(&s, &wrong, -1);
                fault_sample_expect(&s, SIM_FAULT_OTHER, "no mask");
                wrong.window_right = 1;
                fault_sample_fill(&s, &wrong, -1);
                fault_sample_expect(&s, SIM_FAULT_DIAGONAL, "one long");
            }
            fault_sample_free(&s);
        }
    }
}

/* A mask that only whole tiles obey, beside an element mask, a bias, a window and dropout. */
static void mask_of_whole_tiles(void **state)
{
    (void)state;
    struct fa_problem p = fault_shape(2, FA_F32);
    struct fa_tensor mask = fault_tensor(FA_U8, 1, 1, 65, 65),
                     bias = fault_tensor(FA_F32, 1, 2, 1, 65);
    uint8_t visit[25];
    struct fa_block_mask blocks = {16, 16, 5, 5, visit};
    for (int64_t r = 0; r < 65; r++)
        for (int64_t c = 0; c < 65; c++)
            fa_tensor_set(&mask, 0, 0, r, c, (r * 7 + c * 3) % 5 > 0);
    for (int64_t c = 0; c < 130; c++)
        fa_dtype_set(FA_F32, bias.data, c, (double)(c % 7) / 4);
    p.mask = &mask;
    p.bias = &bias;
    p.window_left = 40;
    p.dropout_p = 0.25;
    p.dropout_seed = 9;
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    fault_sample_expect(&s, SIM_FAULT_NONE, "right");
    struct fa_problem wrong = s.problem;
    wrong.causal = FA_CAUSAL_NONE;
    wrong.window_left = -1;
    wrong.blocks = &blocks;
    for (int t = 0; t < 25; t++) {
        int r = t / 5 * 16, c = t % 5 * 16; /* row r sees keys r - 40 .. r */
        visit[t] = c <= r + 15 && c + 15 >= r - 40;
    }
    fault_sample_fill(&s, &wrong, -1);
    fault_sample_expect(&s, SIM_FAULT_DIAGONAL, "whole tiles");
    s.br = s.bc = 24; /* with other tiles it is not that */
    fault_sample_expect(&s, SIM_FAULT_OTHER, "whole tiles of another size");
    wrong = s.problem;
    wrong.scale = 1 / sqrt(128);
    fault_sample_fill(&s, &wrong, -1);
    fault_sample_expect(&s, SIM_FAULT_SCALE, "padded head size under all masks");
    fault_sample_free(&s);
    fa_tensor_free(&mask);
    fa_tensor_free(&bias);
}

/* A mask where there should be none, and none where there should be one, are told in words. */
static void forgotten_options(void **state)
{
    (void)state;
    for (int causal = FA_CAUSAL_NONE; causal <= FA_CAUSAL_TOP_LEFT; causal++) {
        static const char *const words[] = {"not applied at all", "bottom-right",
                                            "--causal=top-left"};
        struct fa_problem p = fault_shape(3, FA_F32), wrong = p;
        p.causal = causal == FA_CAUSAL_NONE ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_NONE;
        wrong.causal = (enum fa_causal)causal;
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
        fault_sample_fill(&s, &wrong, -1);
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_int_equal(verdict.fault, SIM_FAULT_OTHER);
        if (!strstr(verdict.look, words[causal]))
            fail_msg("%s: expected %s", verdict.look, words[causal]);
        sim_verdict_free(&verdict);
        fault_sample_free(&s);
    }
}

/* Scales that somebody might use in place of 1/sqrt(d). */
static void scales(void **state)
{
    (void)state;
    for (int i = 0; i < FAULT_SHAPES; i++) {
        struct fault_sample s = fault_sample_make(fault_shape(i, FA_F32), FA_PROFILE_GAUSS, false);
        double d = (double)s.problem.d, right = s.problem.scale;
        const double wrong[] = {
            1, sqrt(d), 1 / d, 1 / sqrt(64), 1 / sqrt(128), right * log(2), right / log(2)};
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            struct fa_problem p = s.problem;
            p.scale = wrong[w];
            fault_sample_fill(&s, &p, -1);
            fault_sample_expect(&s, SIM_FAULT_SCALE, "another scale");
        }
        s.problem.scale = 3; /* an option that the kernel does not read */
        struct fa_problem p = s.problem;
        p.scale = 1 / sqrt(d);
        fault_sample_fill(&s, &p, -1);
        fault_sample_expect(&s, SIM_FAULT_SCALE, "the default scale");
        fault_sample_free(&s);
    }
}

/* O of the sample's queries over `more` keys, which are `again` the last one, or 0. */
static void fill_with_keys(struct fault_sample *s, int64_t more, bool again)
{
    struct fa_tensor *own[2] = {&s->k, &s->v}, kept[2] = {s->k, s->v};
    struct fa_problem p = s->problem;
    p.nk += more;
    for (int i = 0; i < 2; i++) {
        const int64_t *shape = kept[i].shape;
        *own[i] = fault_tensor(FA_F32, shape[0], shape[1], p.nk, shape[3]);
        for (int64_t e = 0; e < fault_count(own[i]); e++) {
            int64_t c = e % shape[3], j = e / shape[3] % p.nk, h = e / shape[3] / p.nk % shape[1];
            int64_t b = e / shape[3] / p.nk / shape[1], from = j < shape[2] ? j : shape[2] - 1;
            double value = fa_tensor_get(&kept[i], b, h, from, c);
            fa_dtype_set(FA_F32, own[i]->data, e, j > from && !again ? 0 : value);
        }
    }
    fault_sample_fill(s, &p, -1);
    for (int i = 0; i < 2; i++) {
        fa_tensor_free(own[i]);
        *own[i] = kept[i];
    }
}

/* Which keys of the last tile count, and whose K and V are read. */
static void keys(void **state)
{
    (void)state;
    static const struct {
        int64_t more;
        bool again;
        const char *words;
    } cases[] = {
        {6, false, "its padding is counted as keys, with a score of 0"},
        {6, true, "repeat the last key"},
        {-10, false, "the loop runs Nk / Bc times"},
        {-1, false, "its bound is one short"},
        {1, false, "one key past the last"},
    };
    struct fault_sample s = fault_sample_make(fault_shape(3, FA_F32), FA_PROFILE_GAUSS, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill_with_keys(&s, cases[i].more, cases[i].again); /* 90 keys in tiles of 16 */
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_int_equal(verdict.fault, SIM_FAULT_LAST_TILE);
        if (!strstr(verdict.look, cases[i].words))
            fail_msg("%s: expected %s", verdict.look, cases[i].words);
        sim_verdict_free(&verdict);
    }
    fault_sample_free(&s);
    s = fault_sample_make(fault_shape(1, FA_F32), FA_PROFILE_GAUSS, false);
    int64_t stride = s.k.stride[1];
    s.k.stride[1] = s.v.stride[1] = 0;
    fault_sample_fill(&s, &s.problem, -1);
    s.k.stride[1] = s.v.stride[1] = stride;
    fault_sample_expect(&s, SIM_FAULT_HEAD_SWAP, "K and V of head 0");
    fault_sample_free(&s);
}

/* Two faults in one output: a named one or `other`, never none. */
static void two_faults(void **state)
{
    (void)state;
    struct fault_sample s = fault_sample_make(fault_shape(0, FA_F32), FA_PROFILE_GAUSS, false);
    for (size_t a = 0; a < sizeof mutants / sizeof *mutants; a++) {
        fault_sample_fill(&s, NULL, mutants[a].mutant);
        fault_add_noise(&s.output[SIM_OUT_O], 0.5);
        struct sim_verdict verdict = fault_sample_judge(&s);
        assert_false(verdict.pass);
        assert_int_equal(verdict.fault, SIM_FAULT_OTHER);
        sim_verdict_free(&verdict);
        fault_sample_fill(&s, NULL, mutants[a].mutant);
        fa_tensor_set(&s.output[SIM_OUT_O], 0, 0, 0, 0, NAN);
        fault_sample_expect(&s, SIM_FAULT_NAN, "NaN and another");
    }
    fault_sample_free(&s);
}

/* A long problem is sampled, and the fault found all the same; nothing to compare passes. */
static void long_and_empty(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(8193, 35, 4);
    p.causal = FA_CAUSAL_TOP_LEFT;
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    struct fa_problem wrong = p;
    fault_sample_expect(&s, SIM_FAULT_NONE, "right");
    wrong.causal = FA_CAUSAL_NONE;
    fault_sample_fill(&s, &wrong, -1);
    struct sim_verdict verdict = fault_sample_judge(&s);
    assert_true(verdict.sampled);
    assert_int_equal(verdict.fault, SIM_FAULT_OTHER);
    assert_non_null(strstr(verdict.look, "not applied at all"));
    assert_int_equal(verdict.map.tiles, 513);
    assert_true(verdict.map.error[0] > 1);
    sim_verdict_free(&verdict);
    fault_sample_free(&s);
    p = fa_problem_make(0, 5, 4);
    s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    fault_sample_expect(&s, SIM_FAULT_NONE, "no query");
    fault_sample_free(&s);
    p = fa_problem_make(5, 0, 4);
    s = fault_sample_make(p, FA_PROFILE_GAUSS, false);
    fault_sample_expect(&s, SIM_FAULT_NONE, "no key");
    fa_tensor_set(&s.output[SIM_OUT_O], 0, 0, 4, 3, 1);
    fault_sample_expect(&s, SIM_FAULT_OTHER, "something of no key");
    fault_sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_outputs),
        cmocka_unit_test(wrong_programs),
        cmocka_unit_test(wrong_in_16_bits),
        cmocka_unit_test(mask_of_whole_tiles),
        cmocka_unit_test(forgotten_options),
        cmocka_unit_test(scales),
        cmocka_unit_test(keys),
        cmocka_unit_test(two_faults),
        cmocka_unit_test(long_and_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
