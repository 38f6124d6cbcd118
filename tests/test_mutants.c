/* The comparison with the oracle must reject every wrong attention, and no right one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/profile.h"
#include "tests/field_case.h"
#include "tests/forward_pass.h"
#include "tests/mutants.h"

/* Inputs that are looked at. field: a hand-built case of that name in place of a profile. */
enum probe {
    PROBE_RANDOM,
    PROBE_ONE_TILE,
    PROBE_EQUAL,
    PROBE_RISING,
    PROBE_FALLING,
    PROBE_PEAKY,
    PROBE_PEAKY_CAUSAL,
    PROBE_PEAKY_HEADS,
    PROBE_LONG_HEAD,
    PROBE_EMPTY_ROWS,
    PROBE_LOW_SCORE,
    PROBE_ONLY_NAN,
    PROBES
};

static const struct {
    const char *name;
    enum fa_profile profile;
    int64_t batch, heads, kv_heads, nq, nk, d;
    enum fa_causal causal;
    const char *field;
} probes[PROBES] = {
    [PROBE_RANDOM] = {"random", FA_PROFILE_GAUSS, 1, 1, 1, 64, 64, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_ONE_TILE] = {"one tile", FA_PROFILE_PEAKY, 1, 1, 1, 16, 16, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_EQUAL] = {"equal", FA_PROFILE_EQUAL, 1, 1, 1, 64, 64, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_RISING] = {"rising", FA_PROFILE_RISING, 1, 1, 1, 64, 64, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_FALLING] = {"falling", FA_PROFILE_FALLING, 1, 1, 1, 64, 64, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_PEAKY] = {"peaky", FA_PROFILE_PEAKY, 1, 1, 1, 60, 70, 16, FA_CAUSAL_NONE, NULL},
    [PROBE_PEAKY_CAUSAL] = {"peaky, causal", FA_PROFILE_PEAKY, 1, 1, 1, 40, 57, 16,
                            FA_CAUSAL_BOTTOM_RIGHT, NULL},
    [PROBE_PEAKY_HEADS] = {"peaky, grouped heads", FA_PROFILE_PEAKY, 2, 4, 2, 20, 33, 8,
                           FA_CAUSAL_NONE, NULL},
    [PROBE_LONG_HEAD] = {"d = 80", FA_PROFILE_PEAKY, 1, 1, 1, 20, 20, 80, FA_CAUSAL_NONE, NULL},
    [PROBE_EMPTY_ROWS] = {"empty rows", .field = "five queries, two keys, causal"},
    [PROBE_LOW_SCORE] = {"a score of -20000", .field = "the only visible score is -20000"},
    [PROBE_ONLY_NAN] = {"only NaN is visible", .field = "only a NaN is visible"},
};

static void find_field_case(struct attention_case *attention, const char *name)
{
    for (int i = 0; i < field_case_count(); i++) {
        if (field_case_make(attention, i, FA_F32) && strcmp(attention->name, name) == 0)
            return;
        attention_case_free(attention);
    }
    fail_msg("there is no field case \"%s\"", name);
}

static void make_probe(struct attention_case *attention, enum probe probe)
{
    struct fa_problem *p = &attention->problem;
    memset(attention, 0, sizeof *attention);
    if (probes[probe].field) {
        find_field_case(attention, probes[probe].field);
        return;
    }
    *p = fa_problem_make(probes[probe].nq, probes[probe].nk, probes[probe].d);
    p->batch = probes[probe].batch;
    p->heads = probes[probe].heads;
    p->kv_heads = probes[probe].kv_heads;
    p->causal = probes[probe].causal;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    assert_int_equal(fa_tensor_create(&attention->q, FA_F32, q, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&attention->k, FA_F32, k, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&attention->v, FA_F32, k, NULL), FA_OK);
    fa_profile_fill(probes[probe].profile, 1, p, &attention->q, &attention->k, &attention->v);
    snprintf(attention->name, sizeof attention->name, "%s", probes[probe].name);
    forward_case_answer(attention);
}

/* The checks that a kernel goes through, here on a mutant. */
static bool passes(enum mutant mutant, enum probe probe)
{
    struct attention_case attention;
    make_probe(&attention, probe);
    const struct fa_problem *p = &attention.problem;
    int64_t heads = p->batch * p->heads, rows[64];
    struct forward_pass pass = {.algorithm = &fa_flash2,
                                .tiles = forward_tiles(16, MUTANT_TILE, 1, 0)};
    struct forward_budget budget = forward_budget_make(&attention);
    struct forward_result result = {.n_o = heads * p->nq * p->dv, .n_lse = heads * p->nq};
    result.o = malloc((size_t)result.n_o * sizeof *result.o);
    result.lse = malloc((size_t)result.n_lse * sizeof *result.lse);
    assert_true(result.o && result.lse && p->nq <= 64);
    for (int64_t row = 0; row < p->nq; row++)
        rows[row] = row;
    for (int64_t head = 0; head < heads; head++)
        mutant_rows(mutant, p, &attention.q, &attention.k, &attention.v, head, rows, p->nq,
                    result.o + head * p->nq * p->dv, result.lse + head * p->nq);
    bool within = forward_result_within(&result, &pass, &attention, &budget);
    forward_result_free(&result);
    attention_case_free(&attention);
    return within;
}

static void the_right_ones_pass_every_probe(void **state)
{
    (void)state;
    for (int mutant = 0; mutant < MUTANT_FIRST_WRONG; mutant++)
        for (int probe = 0; probe < PROBES; probe++)
            if (!passes((enum mutant)mutant, (enum probe)probe))
                fail_msg("\"%s\" is rejected by the probe \"%s\"", mutant_name((enum mutant)mutant),
                         probes[probe].name);
}

static void every_wrong_one_is_rejected(void **state)
{
    (void)state;
    for (int mutant = MUTANT_FIRST_WRONG; mutant < MUTANTS; mutant++) {
        int rejected = 0;
        for (int probe = 0; probe < PROBES; probe++)
            rejected += !passes((enum mutant)mutant, (enum probe)probe);
        if (rejected == 0)
            fail_msg("no probe rejects \"%s\"", mutant_name((enum mutant)mutant));
    }
}

static void expect_verdicts(enum probe probe, const char *rejected)
{
    for (int mutant = MUTANT_A_FORGETS_OLD_L; mutant <= MUTANT_F_NO_DIVISION; mutant++) {
        bool expected = !strchr(rejected, mutant_name((enum mutant)mutant)[0]);
        if (passes((enum mutant)mutant, probe) != expected)
            fail_msg("the probe \"%s\" %s \"%s\"", probes[probe].name,
                     expected ? "rejects" : "does not reject", mutant_name((enum mutant)mutant));
    }
}

/* What the lesson on faulty updates says of its probes: which faults each of them shows. */
static void what_a_probe_hides(void **state)
{
    (void)state;
    expect_verdicts(PROBE_ONE_TILE, "DF");
    expect_verdicts(PROBE_EQUAL, "ADEF");
    expect_verdicts(PROBE_FALLING, "ADEF");
    expect_verdicts(PROBE_RISING, "BCDEF"); /* l is nearly the same after each tile: l / l' is 1 */
    expect_verdicts(PROBE_RANDOM, "ABCDEF");
    expect_verdicts(PROBE_PEAKY, "ABCDEF");
}

/* Equal scores, V = 1: without l / l' the tiles add up to 1 + 1/2 + 1/3 + ... */
static void the_forgotten_factor_in_numbers(void **state)
{
    (void)state;
    static const double sums[] = {1, 1.5, 1 + 1 / 2. + 1 / 3., 1 + 1 / 2. + 1 / 3. + 1 / 4.};
    for (int tiles = 1; tiles <= 4; tiles++) {
        struct fa_problem p = fa_problem_make(1, tiles * MUTANT_TILE, 1);
        float q[1] = {0}, k[4 * MUTANT_TILE] = {0}, v[4 * MUTANT_TILE];
        for (int i = 0; i < 4 * MUTANT_TILE; i++)
            v[i] = 1;
        struct fa_tensor q_t = fa_tensor_view(FA_F32, (int64_t[]){1, 1, 1, 1}, q);
        struct fa_tensor k_t = fa_tensor_view(FA_F32, (int64_t[]){1, 1, p.nk, 1}, k);
        struct fa_tensor v_t = fa_tensor_view(FA_F32, (int64_t[]){1, 1, p.nk, 1}, v);
        double o, lse;
        mutant_rows(MUTANT_A_FORGETS_OLD_L, &p, &q_t, &k_t, &v_t, 0, (int64_t[]){0}, 1, &o, &lse);
        assert_true(fabs(o - sums[tiles - 1]) < 1e-6);
        assert_true(fabs(lse - log((double)p.nk)) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_ones_pass_every_probe),
        cmocka_unit_test(every_wrong_one_is_rejected),
        cmocka_unit_test(what_a_probe_hides),
        cmocka_unit_test(the_forgotten_factor_in_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
