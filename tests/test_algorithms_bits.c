/*
 * Runs that must agree in every bit, and what an algorithm's interface promises beside its numbers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/plain_port.h"
#include "tests/forward_pass.h"
#include "tests/random_case.h"

enum { PROBLEMS = 40 };

/* Problem number i, a dtype after the other. */
static void make(struct attention_case *attention, int i)
{
    random_case_make(attention, 5000 + (uint64_t)i, (enum fa_dtype)(i % FA_U8));
}

/* Two passes over one problem, which differ in what must not matter. */
static void expect_same(const struct attention_case *attention, const struct forward_pass *one,
                        const struct forward_pass *other, const char *what)
{
    char label[200];
    struct forward_result a = forward_pass_run(one, attention);
    struct forward_result b = forward_pass_run(other, attention);
    snprintf(label, sizeof label, "%s, %s, %s (%s)", what, one->algorithm->name, attention->name,
             fa_dtype_name(attention->problem.dtype));
    forward_result_same(&a, &b, label);
    forward_result_free(&a);
    forward_result_free(&b);
}

typedef void change_function(struct forward_pass *pass);

/* Every algorithm on every problem, as it is and changed. */
static void change_nothing_by(change_function *change, const char *what)
{
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct forward_pass pass = {
                .algorithm = fa_algorithms[a],
                .tiles = forward_tiles(1 + i % 17, 1 + i % 13, 1 + i % 5, i % 3 ? 0 : 1 + i % 11),
            };
            struct forward_pass changed = pass;
            change(&changed);
            expect_same(&attention, &pass, &changed, what);
        }
        attention_case_free(&attention);
    }
}

static void by_counting(struct forward_pass *pass)
{
    pass->port = FORWARD_COUNTED;
}

static void counting_changes_no_bit(void **state)
{
    (void)state;
    change_nothing_by(by_counting, "plain and counted");
}

static void by_a_second_thread(struct forward_pass *pass)
{
    pass->threads = 2;
    pass->port = FORWARD_COUNTED;
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    change_nothing_by(by_a_second_thread, "one and two threads");
}

static void by_the_layout_of_o(struct forward_pass *pass)
{
    pass->layout = FORWARD_SCATTERED;
}

static void layout_changes_no_bit(void **state)
{
    (void)state;
    change_nothing_by(by_the_layout_of_o, "two layouts");
}

/* A tile of V that holds a NaN is multiplied in another way, with other roundings. */
static void make_finite(struct fa_tensor *tensor)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    if (!isfinite(fa_tensor_get(tensor, b, h, r, c)))
                        fa_tensor_set(tensor, b, h, r, c, 1);
}

/* Each query is summed by itself, in the order of the keys: the rows that share a tile do not
 * matter. */
static void rows_of_a_tile_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        make_finite(&attention.v);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            if (fa_algorithms[a] == &fa_square_tiling)
                continue; /* its chunks of d are as wide as its tiles are high */
            struct forward_pass pass = {.algorithm = fa_algorithms[a],
                                        .tiles = forward_tiles(1 + i % 17, 1 + i % 13, 1, 9)};
            struct forward_pass changed = pass;
            changed.tiles.br = 64;
            changed.tiles.row_block = 7;
            expect_same(&attention, &pass, &changed, "other rows in a tile");
        }
        attention_case_free(&attention);
    }
}

/* The softmax of `standard` is one of whole rows: the columns of a tile do not matter to LSE. (O is
 * summed tile by tile.) */
static void columns_of_a_tile_change_no_bit_of_the_lse_of_standard(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        struct forward_pass pass = {.algorithm = &fa_standard, .tiles = forward_tiles(16, 1, 3, 0)};
        struct forward_result one = forward_pass_run(&pass, &attention);
        pass.tiles.bc = 2 + i % 70;
        struct forward_result other = forward_pass_run(&pass, &attention);
        memcpy(other.o, one.o, (size_t)one.n_o * sizeof *one.o);
        forward_result_same(&one, &other, "other columns in a tile");
        forward_result_free(&one);
        forward_result_free(&other);
        attention_case_free(&attention);
    }
}

/* Causal with a window that reaches past all keys hides what causal hides. */
static void a_window_that_binds_nothing_changes_no_bit(void **state)
{
    (void)state;
    static const int64_t wide[] = {75, 1000, INT64_MAX, -1};
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        struct fa_problem *p = &attention.problem;
        p->causal = i % 2 ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_TOP_LEFT;
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct forward_pass pass = {.algorithm = fa_algorithms[a],
                                        .tiles = forward_tiles(1 + i % 17, 1 + i % 13, 2, 9)};
            p->window_left = p->window_right = -1;
            struct forward_result causal = forward_pass_run(&pass, &attention);
            p->window_left = wide[i % 4];
            p->window_right = i % 3 ? 0 : wide[(i + 1) % 4];
            struct forward_result windowed = forward_pass_run(&pass, &attention);
            forward_result_same(&causal, &windowed, "causal with a wide window");
            forward_result_free(&causal);
            forward_result_free(&windowed);
        }
        attention_case_free(&attention);
    }
}

static void leaving_lse_out_changes_no_bit_of_o(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct forward_pass pass = {.algorithm = fa_algorithms[a],
                                        .tiles = forward_tiles(9, 4, 2, 9)};
            struct forward_result with = forward_pass_run(&pass, &attention);
            pass.without_lse = true;
            struct forward_result without = forward_pass_run(&pass, &attention);
            memcpy(without.lse, with.lse, (size_t)with.n_lse * sizeof *with.lse);
            forward_result_same(&with, &without, "with and without LSE");
            forward_result_free(&with);
            forward_result_free(&without);
        }
        attention_case_free(&attention);
    }
}

/* Units of a phase depend on nothing but the phases before: here the last comes first. */
static void units_in_reverse_change_no_bit(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        struct attention_case attention;
        make(&attention, i);
        const struct fa_problem *p = &attention.problem;
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            const struct fa_algorithm *algorithm = fa_algorithms[a];
            struct forward_pass pass = {.algorithm = algorithm,
                                        .tiles = forward_tiles(1 + i % 9, 5, 2, 9)};
            struct forward_result forwards = forward_pass_run(&pass, &attention);
            struct fa_tensor o, lse;
            struct fa_run run;
            struct fa_port port;
            assert_int_equal(
                fa_tensor_create(&o, p->dtype, (int64_t[]){p->batch, p->heads, p->nq, p->dv}, NULL),
                FA_OK);
            assert_int_equal(fa_tensor_create(&lse, p->dtype == FA_F64 ? FA_F64 : FA_F32,
                                              (int64_t[]){p->batch, p->heads, p->nq, 1}, NULL),
                             FA_OK);
            assert_int_equal(fa_run_open(&run, algorithm, p, &pass.tiles, &attention.q,
                                         &attention.k, &attention.v, &o, &lse, true, NULL),
                             FA_OK);
            fa_port_open(&port, &fa_plain_verbs, &run);
            for (int phase = 0; phase < algorithm->n_phases; phase++)
                for (int64_t head = p->batch * p->heads - 1; head >= 0; head--)
                    for (int64_t unit = algorithm->units(&run, phase) - 1; unit >= 0; unit--)
                        algorithm->unit(&port, phase, head, unit);
            assert_int_equal(port.status, FA_OK);
            fa_run_finish(&run, algorithm);
            for (int64_t e = 0; e < forwards.n_o; e++) {
                double got = fa_dtype_get(o.dtype, o.data, e);
                assert_true(got == forwards.o[e] || (isnan(got) && isnan(forwards.o[e])));
            }
            for (int64_t e = 0; e < forwards.n_lse; e++) {
                double got = fa_dtype_get(lse.dtype, lse.data, e);
                assert_true(got == forwards.lse[e] || (isnan(got) && isnan(forwards.lse[e])));
            }
            fa_port_close(&port);
            fa_run_close(&run);
            forward_result_free(&forwards);
            fa_tensor_free(&o);
            fa_tensor_free(&lse);
        }
        attention_case_free(&attention);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_changes_no_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(layout_changes_no_bit),
        cmocka_unit_test(rows_of_a_tile_change_no_bit),
        cmocka_unit_test(columns_of_a_tile_change_no_bit_of_the_lse_of_standard),
        cmocka_unit_test(a_window_that_binds_nothing_changes_no_bit),
        cmocka_unit_test(leaving_lse_out_changes_no_bit_of_o),
        cmocka_unit_test(units_in_reverse_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
