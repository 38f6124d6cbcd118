#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/profile.h"
#include "simulator/experiment.h"
#include "tests/field_case.h"
#include "tests/forward_pass.h"
#include "tests/golden_case.h"

static void golden_cases_in(enum fa_dtype dtype)
{
    for (int name = 0; golden_case_names[name]; name++) {
        struct attention_case golden;
        golden_case_load(&golden, golden_case_names[name], dtype);
        /* The files' answer holds for the values before they were rounded to 16 bits. */
        if (dtype == FA_F16 || dtype == FA_BF16)
            forward_case_answer(&golden);
        forward_check_all(&golden, false, "golden");
        attention_case_free(&golden);
    }
}

static void golden_cases_in_f64(void **state)
{
    (void)state;
    golden_cases_in(FA_F64);
}

static void golden_cases_in_f32(void **state)
{
    (void)state;
    golden_cases_in(FA_F32);
}

static void golden_cases_in_f16(void **state)
{
    (void)state;
    golden_cases_in(FA_F16);
}

static void golden_cases_in_bf16(void **state)
{
    (void)state;
    golden_cases_in(FA_BF16);
}

static void field_cases(void **state)
{
    (void)state;
    int made = 0;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        for (int i = 0; i < field_case_count(); i++) {
            struct attention_case field;
            if (!field_case_make(&field, i, (enum fa_dtype)dtype))
                continue;
            forward_check_all(&field, false, "field");
            attention_case_free(&field);
            made++;
        }
    assert_true(made > 3 * field_case_count());
}

/* A problem whose inputs are gauss, and the oracle's answer. */
static void make_gauss(struct attention_case *attention, const struct fa_problem *problem,
                       uint64_t seed)
{
    memset(attention, 0, sizeof *attention);
    struct fa_problem *p = &attention->problem;
    *p = *problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    assert_int_equal(fa_tensor_create(&attention->q, p->dtype, q, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&attention->k, p->dtype, k, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&attention->v, p->dtype, v, NULL), FA_OK);
    fa_profile_fill(FA_PROFILE_GAUSS, seed, p, &attention->q, &attention->k, &attention->v);
    forward_case_answer(attention);
}

/* Each head size that a kernel may have a special case for, against each width of V. */
static void head_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 63, 64, 80, 96, 128, 160, 256};
    enum { SIZES = (int)(sizeof sizes / sizeof sizes[0]) };
    for (int i = 0; i < SIZES * SIZES; i++) {
        struct fa_problem problem = fa_problem_make(19, 23, sizes[i / SIZES]);
        struct attention_case attention;
        problem.dv = sizes[i % SIZES];
        problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
        problem.dtype = (enum fa_dtype)((i + i / SIZES) % FA_U8);
        make_gauss(&attention, &problem, (uint64_t)i);
        snprintf(attention.name, sizeof attention.name, "d = %d, dv = %d", (int)problem.d,
                 (int)problem.dv);
        forward_check_all(&attention, false, "head sizes");
        attention_case_free(&attention);
    }
}

/* The whole machine in one call: what the command line, lessons and sweeps use. */
static void through_an_experiment(void **state)
{
    (void)state;
    for (int name = 0; golden_case_names[name]; name++) {
        struct attention_case golden;
        enum fa_dtype dtype = (enum fa_dtype)(name % FA_U8);
        golden_case_load(&golden, golden_case_names[name], dtype);
        if (golden.problem.heads * golden.problem.nq * golden.problem.nk > 50000) {
            attention_case_free(&golden);
            continue;
        }
        forward_case_answer(&golden);
        struct forward_budget budget = forward_budget_make(&golden);
        const struct fa_problem *p = &golden.problem;
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct fa_tensor o, lse;
            struct fa_error error = {FA_OK, ""};
            struct sim_result result;
            struct sim_experiment experiment = {
                .algorithm = fa_algorithms[a],
                .problem = *p,
                .machine = {.name = "test", .sram_bytes = 196608},
                .tiles = {SIM_TILES_GIVEN, 24, 16},
                .mode = SIM_COUNTED,
                .threads = 1 + name % 2,
                .q = &golden.q,
                .k = &golden.k,
                .v = &golden.v,
                .o = &o,
                .lse = &lse,
            };
            assert_int_equal(
                fa_tensor_create(&o, dtype, (int64_t[]){p->batch, p->heads, p->nq, p->dv}, NULL),
                FA_OK);
            assert_int_equal(fa_tensor_create(&lse, dtype == FA_F64 ? FA_F64 : FA_F32,
                                              (int64_t[]){p->batch, p->heads, p->nq, 1}, NULL),
                             FA_OK);
            if (sim_experiment_run(&experiment, &result, &error) != FA_OK)
                fail_msg("golden case %s: %s", golden.name, error.text);
            /* The same tiles by the plain port: the machine that counts changes no bit. */
            struct forward_pass pass = {.algorithm = fa_algorithms[a], .tiles = result.tiles};
            struct forward_result plain = forward_pass_run(&pass, &golden);
            forward_result_check(&plain, &pass, &golden, &budget, "experiment");
            for (int64_t i = 0; i < plain.n_o; i++)
                assert_true(fa_dtype_get(dtype, o.data, i) == plain.o[i]);
            for (int64_t i = 0; i < plain.n_lse; i++)
                assert_true(fa_dtype_get(lse.dtype, lse.data, i) == plain.lse[i]);
            assert_true(result.counters.flops.matmul > 0);
            forward_result_free(&plain);
            fa_tensor_free(&o);
            fa_tensor_free(&lse);
        }
        attention_case_free(&golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases_in_f64),   cmocka_unit_test(golden_cases_in_f32),
        cmocka_unit_test(golden_cases_in_f16),   cmocka_unit_test(golden_cases_in_bf16),
        cmocka_unit_test(field_cases),           cmocka_unit_test(head_sizes),
        cmocka_unit_test(through_an_experiment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
