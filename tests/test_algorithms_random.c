#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "tests/forward_pass.h"
#include "tests/random_case.h"

/* FLASHLAB_RANDOM_FIRST and FLASHLAB_RANDOM_COUNT of the environment look at other problems. */
static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static int64_t pick_tile(struct random_stream *stream)
{
    return random_once_in(stream, 2) ? random_between(stream, 1, 12)
                                     : random_between(stream, 1, 80);
}

/* What the problems had in them, so that a generator that stops making something is noticed. */
struct seen {
    int64_t nan, empty_rows, zero_sizes, grouped, masks, biases, windows, wide_v;
};

static void look(struct seen *seen, const struct attention_case *attention)
{
    const struct fa_problem *p = &attention->problem;
    const double *lse = attention->lse.data;
    int64_t rows = p->batch * p->heads * p->nq;
    for (int64_t i = 0; i < rows; i++) {
        seen->nan += isnan(lse[i]);
        seen->empty_rows += lse[i] == -INFINITY;
    }
    seen->zero_sizes += rows * p->nk == 0;
    seen->grouped += p->heads > p->kv_heads;
    seen->masks += p->mask != NULL;
    seen->biases += p->bias != NULL;
    seen->windows += p->window_left >= 0 || p->window_right >= 0;
    seen->wide_v += p->dv > p->d;
}

static void random_problems_in(enum fa_dtype dtype)
{
    int64_t first = setting("FLASHLAB_RANDOM_FIRST", 0);
    int64_t count = setting("FLASHLAB_RANDOM_COUNT", 300);
    struct seen seen = {0};
    for (int64_t seed = first; seed < first + count; seed++) {
        struct attention_case attention;
        struct random_stream stream = {(uint64_t)seed * 77 + (uint64_t)dtype};
        random_case_make(&attention, (uint64_t)seed, dtype);
        struct forward_budget budget = forward_budget_make(&attention);
        look(&seen, &attention);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct forward_pass pass = {
                .algorithm = fa_algorithms[a],
                .tiles = forward_tiles(pick_tile(&stream), pick_tile(&stream), pick_tile(&stream),
                                       random_once_in(&stream, 2) ? 0 : pick_tile(&stream)),
                .port = (enum forward_port)random_between(&stream, 0, 1),
                .layout = (enum forward_layout)random_between(&stream, 0, 2),
                .without_lse = random_once_in(&stream, 10),
            };
            struct forward_result result = forward_pass_run(&pass, &attention);
            forward_result_check(&result, &pass, &attention, &budget, "random");
            forward_result_free(&result);
        }
        attention_case_free(&attention);
    }
    if (count < 300)
        return;
    assert_true(seen.nan > 100);
    assert_true(seen.empty_rows > 100);
    assert_true(seen.zero_sizes > 10);
    assert_true(seen.grouped > 100);
    assert_true(seen.masks > 50);
    assert_true(seen.biases > 50);
    assert_true(seen.windows > 50);
    assert_true(seen.wide_v > 30);
}

static void random_problems_in_f64(void **state)
{
    (void)state;
    random_problems_in(FA_F64);
}

static void random_problems_in_f32(void **state)
{
    (void)state;
    random_problems_in(FA_F32);
}

static void random_problems_in_f16(void **state)
{
    (void)state;
    random_problems_in(FA_F16);
}

static void random_problems_in_bf16(void **state)
{
    (void)state;
    random_problems_in(FA_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_in_f64),
        cmocka_unit_test(random_problems_in_f32),
        cmocka_unit_test(random_problems_in_f16),
        cmocka_unit_test(random_problems_in_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
