/*
 * Executed counts against the closed forms, against a brute-force enumeration of the mask, against
 * figures worked out by hand, and against each other in the machine's three modes: as integers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/philox.h"
#include "reference/profile.h"
#include "simulator/experiment.h"
#include "tests/counters_case.h"

enum { SHAPES = 1500 };

/* A number in 0 .. n - 1 that depends on the shape's number and on `what` alone. */
static int64_t draw(uint64_t shape, uint32_t what, int64_t n)
{
    uint32_t counter[4] = {what, 0, 0, 0}, words[4];
    fa_philox4x32(shape, counter, words);
    return (int64_t)(words[0] % (uint64_t)n);
}

struct drawn {
    struct fa_problem problem; /* points to mask and bias below: never copy the struct */
    struct fa_tensor mask, bias;
    struct sim_tile_choice tiles;
    uint64_t sram_bytes;
};

/* Shapes alone: a count needs no data. */
static void draw_shape(struct drawn *drawn, uint64_t n)
{
    static const enum fa_dtype dtypes[] = {FA_F32, FA_F64, FA_F16, FA_BF16};
    struct fa_problem *p = &drawn->problem;

    memset(drawn, 0, sizeof *drawn);
    *p = fa_problem_make(draw(n, 0, 70), draw(n, 1, 70), 1 + draw(n, 2, 20));
    p->batch = draw(n, 3, 3);
    p->kv_heads = 1 + draw(n, 4, 3);
    p->heads = p->kv_heads * (1 + draw(n, 5, 3));
    p->dv = draw(n, 6, 2) ? p->d : 1 + draw(n, 7, 20);
    p->causal = (enum fa_causal)draw(n, 8, 3);
    if (draw(n, 9, 2)) {
        p->window_left = draw(n, 10, 50) - 1;
        p->window_right = draw(n, 11, 50) - 1;
    }
    p->dtype = dtypes[draw(n, 12, 4)];
    const int64_t full[4] = {p->batch, p->heads, p->nq, p->nk};
    int64_t mask[4], bias[4];
    for (uint32_t axis = 0; axis < 4; axis++) {
        mask[axis] = draw(n, 20 + axis, 2) ? full[axis] : 1;
        bias[axis] = draw(n, 24 + axis, 2) ? full[axis] : 1;
    }
    drawn->mask = fa_tensor_view(FA_U8, mask, NULL);
    drawn->bias = fa_tensor_view(p->dtype, bias, NULL);
    p->mask = draw(n, 13, 3) == 0 ? &drawn->mask : NULL;
    p->bias = draw(n, 14, 3) == 0 ? &drawn->bias : NULL;
    drawn->tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, 1 + draw(n, 15, 40),
                                            1 + draw(n, 16, 40)};
    /* Small ones make the softmax of `standard` work in chunks of a row. */
    drawn->sram_bytes = draw(n, 17, 2) ? 1 << 20 : 40 + (uint64_t)draw(n, 18, 400);
}

static struct sim_experiment count_only(const struct drawn *drawn,
                                        const struct fa_algorithm *algorithm)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .problem = drawn->problem,
        .tiles = drawn->tiles,
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    experiment.machine.sram_bytes = drawn->sram_bytes;
    return experiment;
}

static void counts_equal_closed_forms(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < SHAPES; n++) {
        struct drawn drawn;
        draw_shape(&drawn, n);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct sim_experiment experiment = count_only(&drawn, fa_algorithms[a]);
            struct sim_result result;
            struct sim_closed_form form;
            struct fa_error error;
            if (sim_experiment_run(&experiment, &result, &error) != FA_OK)
                fail_msg("shape %" PRIu64 ": %s", n, error.text);
            assert_int_equal(sim_closed_form(fa_algorithms[a], &drawn.problem, &result.tiles,
                                             &form, &error),
                             FA_OK);
            counters_expect_same(&result.counters, &form.counters, "count against closed form",
                                 fa_algorithms[a]->name, n);
            assert_int_equal(result.tiles_total, form.tiles_total);
            assert_int_equal(result.counters.tiles_visited + result.counters.tiles_skipped,
                             form.tiles_total);
        }
    }
}

/* Whether query r sees key c by the sentences of problem.h, one element at a time. */
static bool sees(const struct fa_problem *p, int64_t r, int64_t c)
{
    int64_t distance = c - r - (p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq);
    if (p->causal != FA_CAUSAL_NONE && distance > 0)
        return false;
    if (p->window_left >= 0 && distance < -p->window_left)
        return false;
    return p->window_right < 0 || distance <= p->window_right;
}

/* What flash2 and flash1 must read of K and Q in one head, from the elements alone. */
static void enumerate(const struct fa_problem *p, int64_t br, int64_t bc, uint64_t *visited,
                      uint64_t *masked, uint64_t *flash2_k, uint64_t *flash1_q)
{
    *visited = *masked = *flash2_k = *flash1_q = 0;
    for (int64_t i = 0; i < p->nq; i += br)
        for (int64_t j = 0; j < p->nk; j += bc) {
            int64_t rows = p->nq - i < br ? p->nq - i : br;
            int64_t columns = p->nk - j < bc ? p->nk - j : bc, seen = 0;
            for (int64_t r = i; r < i + rows; r++)
                for (int64_t c = j; c < j + columns; c++)
                    seen += sees(p, r, c);
            if (seen == 0)
                continue;
            *visited += 1;
            *masked += seen < rows * columns;
            *flash2_k += (uint64_t)(columns * p->d);
            *flash1_q += (uint64_t)(rows * p->d);
        }
}

static void counts_equal_enumeration(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 400; n++) {
        struct drawn drawn;
        struct sim_result result;
        uint64_t visited, masked, flash2_k, flash1_q;
        draw_shape(&drawn, n);
        uint64_t heads = (uint64_t)(drawn.problem.batch * drawn.problem.heads);
        enumerate(&drawn.problem, drawn.tiles.br, drawn.tiles.bc, &visited, &masked, &flash2_k,
                  &flash1_q);

        struct sim_experiment experiment = count_only(&drawn, &fa_flash2);
        assert_int_equal(sim_experiment_run(&experiment, &result, NULL), FA_OK);
        assert_int_equal(result.counters.tiles_visited, heads * visited);
        assert_int_equal(result.counters.tiles_masked, heads * masked);
        assert_int_equal(result.counters.read[FA_K], heads * flash2_k);
        experiment = count_only(&drawn, &fa_flash1);
        assert_int_equal(sim_experiment_run(&experiment, &result, NULL), FA_OK);
        assert_int_equal(result.counters.tiles_visited, heads * visited);
        assert_int_equal(result.counters.read[FA_Q], heads * flash1_q);
    }
}

/* Inputs for a run with data; values do not matter, masks included. */
static void make_data(struct drawn *drawn, struct fa_tensor tensors[5])
{
    const struct fa_problem *p = &drawn->problem;
    const int64_t shapes[5][4] = {
        {p->batch, p->heads, p->nq, p->d},
        {p->batch, p->kv_heads, p->nk, p->d},
        {p->batch, p->kv_heads, p->nk, p->dv},
        {p->batch, p->heads, p->nq, p->dv},
        {p->batch, p->heads, p->nq, 1},
    };
    struct fa_tensor *modifiers[] = {&drawn->mask, &drawn->bias};
    for (int t = 0; t < 5; t++)
        assert_int_equal(fa_tensor_create(&tensors[t], t == 4 ? fa_hbm_format(p, FA_LSE) : p->dtype,
                                          shapes[t], NULL),
                         FA_OK);
    fa_profile_fill(FA_PROFILE_TIDY, 1, p, &tensors[0], &tensors[1], &tensors[2]);
    for (int m = 0; m < 2; m++) {
        struct fa_tensor filled;
        int64_t elements;
        assert_int_equal(
            fa_tensor_create(&filled, modifiers[m]->dtype, modifiers[m]->shape, NULL), FA_OK);
        assert_int_equal(fa_shape_elements(filled.shape, &elements, NULL), FA_OK);
        for (int64_t e = 0; e < elements; e++)
            fa_dtype_set(filled.dtype, filled.data, e, e % 3 > 0);
        *modifiers[m] = filled;
    }
}

static void free_data(struct drawn *drawn, struct fa_tensor tensors[5])
{
    for (int t = 0; t < 5; t++)
        fa_tensor_free(&tensors[t]);
    fa_tensor_free(&drawn->mask);
    fa_tensor_free(&drawn->bias);
}

/* Counting with data, on one thread and two, counts what counting alone does. */
static void modes_agree(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 60; n++) {
        struct drawn drawn;
        struct fa_tensor tensors[5];
        draw_shape(&drawn, n);
        make_data(&drawn, tensors);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct sim_experiment experiment = count_only(&drawn, fa_algorithms[a]);
            struct sim_result alone, with_data;
            assert_int_equal(sim_experiment_run(&experiment, &alone, NULL), FA_OK);
            experiment.q = &tensors[0];
            experiment.k = &tensors[1];
            experiment.v = &tensors[2];
            experiment.o = &tensors[3];
            experiment.lse = &tensors[4];
            experiment.mode = SIM_COUNTED;
            experiment.threads = 1 + (int)(n % 2);
            assert_int_equal(sim_experiment_run(&experiment, &with_data, NULL), FA_OK);
            counters_expect_same(&with_data.counters, &alone.counters,
                                 "count with data against count alone", fa_algorithms[a]->name, n);
        }
        free_data(&drawn, tensors);
    }
}

static struct sim_result count(const struct fa_algorithm *algorithm,
                               const struct fa_problem *problem, int64_t br, int64_t bc,
                               uint64_t sram_bytes)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .problem = *problem,
        .tiles = {SIM_TILES_GIVEN, br, bc},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    struct fa_error error;
    experiment.machine.sram_bytes = sram_bytes;
    if (sim_experiment_run(&experiment, &result, &error) != FA_OK)
        fail_msg("%s", error.text);
    return result;
}

static void assert_moves(const struct sim_result *result, uint64_t read, uint64_t written)
{
    assert_int_equal(sim_counters_read_all(&result->counters, &result->problem).elements, read);
    assert_int_equal(sim_counters_write_all(&result->counters, &result->problem).elements,
                     written);
}

static void hand_figures(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1024, 1024, 64);
    struct sim_result r = count(&fa_flash2, &p, 128, 128, 1 << 20);
    assert_moves(&r, 1114112, 66560);
    r = count(&fa_flash1, &p, 128, 128, 1 << 20);
    assert_moves(&r, 1196032, 608256);
    r = count(&fa_standard, &p, 128, 128, 1 << 20);
    assert_moves(&r, 3211264, 2162688);
    assert_int_equal(r.tiles_total, 64);

    /* Algorithm 0 with each matrix read once a step. */
    r = count(&fa_standard, &p, 1024, 1024, 1 << 23);
    assert_moves(&r, 2293760, 2162688);

    p = fa_problem_make(65, 65, 64);
    r = count(&fa_flash2, &p, 64, 64, 1 << 20);
    assert_int_equal(r.counters.read[FA_Q], 4160);
    assert_int_equal(r.counters.read[FA_K], 8320);
    assert_int_equal(r.counters.read[FA_V], 8320);
    assert_int_equal(r.counters.write[FA_O], 4160);
    assert_int_equal(r.counters.write[FA_LSE], 65);

    /* Lessons 2 and 6: N = 128, d = 16, tiles of 16 x 16. */
    p = fa_problem_make(128, 128, 16);
    r = count(&fa_standard, &p, 16, 16, 1 << 20);
    assert_int_equal(sim_counters_read_all(&r.counters, &p).elements +
                         sim_counters_write_all(&r.counters, &p).elements,
                     102400);
    r = count(&fa_flash1, &p, 16, 16, 1 << 20);
    assert_int_equal(sim_counters_read_all(&r.counters, &p).elements +
                         sim_counters_write_all(&r.counters, &p).elements,
                     59648);
    r = count(&fa_flash2, &p, 16, 16, 1 << 20);
    assert_int_equal(sim_counters_read_all(&r.counters, &p).elements +
                         sim_counters_write_all(&r.counters, &p).elements,
                     36992);

    /* Lesson 11: causal, N = 1024, 64 x 64: 136 of 256 tiles, 16 of them cut. */
    p = fa_problem_make(1024, 1024, 64);
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    r = count(&fa_flash2, &p, 64, 64, 1 << 20);
    assert_int_equal(r.counters.tiles_visited, 136);
    assert_int_equal(r.counters.tiles_masked, 16);
    assert_int_equal(r.counters.tiles_skipped, 120);
}

/* Traffic measured with hardware counters on an H200: the counted bytes of three workloads. */
static void hardware_figures(void **state)
{
    static const struct {
        int64_t batch, n, d;
        double gigabytes;
    } rows[] = {{1024, 1024, 64, 2.282}, {256, 4096, 64, 8.724}, {64, 8192, 128, 17.314}};
    (void)state;
    for (int row = 0; row < 3; row++) {
        struct fa_problem p = fa_problem_make(rows[row].n, rows[row].n, rows[row].d);
        p.batch = rows[row].batch;
        p.dtype = FA_F16;
        struct sim_result r = count(&fa_flash2, &p, 128, 64, 232448);
        double gigabytes = (double)sim_counters_read_all(&r.counters, &p).bytes / 1e9;
        assert_true(fabs(gigabytes - rows[row].gigabytes) < 0.0006);
    }
}

static void large_counts(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(131072, 131072, 128);
    struct sim_closed_form form;
    struct fa_tiles tiles = {64, 64, 1, 131072};
    struct fa_error error;
    p.batch = 64;
    p.heads = p.kv_heads = 32;
    assert_int_equal(sim_closed_form(&fa_standard, &p, &tiles, &form, &error), FA_OK);
    assert_true((form.counters.read[FA_S] + form.counters.read[FA_P] + form.counters.write[FA_S] +
                 form.counters.write[FA_P]) * 4 == UINT64_C(562949953421312));

    p.nq = p.nk = INT64_C(1) << 30;
    assert_int_equal(sim_closed_form(&fa_standard, &p, &tiles, &form, &error), FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "more than a counter holds"));

    /* 28 query heads on 4 K/V heads: every query head reads its group's K again. */
    p = fa_problem_make(64, 64, 16);
    p.heads = 28;
    p.kv_heads = 4;
    struct sim_result r = count(&fa_flash2, &p, 32, 32, 1 << 20);
    assert_int_equal(r.counters.read[FA_K], 28 * 2 * 64 * 16);
}

/* No count wraps at a size of 0, and none falls as N grows. */
static void sizes(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        uint64_t before = 0;
        for (int64_t n = 1; n < 200; n++) {
            struct fa_problem p = fa_problem_make(n, n, 8);
            struct sim_result r = count(fa_algorithms[a], &p, 16, 16, 1 << 20);
            uint64_t moved = sim_counters_read_all(&r.counters, &p).elements +
                             sim_counters_write_all(&r.counters, &p).elements;
            assert_true(moved > before);
            before = moved;
        }
        struct fa_problem p = fa_problem_make(5, 0, 8);
        struct sim_result r = count(fa_algorithms[a], &p, 16, 16, 1 << 20);
        assert_int_equal(r.counters.read[FA_K] + r.counters.read[FA_V], 0);
        assert_int_equal(r.counters.write[FA_O], 40);
        assert_int_equal(r.tiles_total, 0);
        p = fa_problem_make(1, 1, 8);
        r = count(fa_algorithms[a], &p, 64, 64, 1 << 20);
        assert_int_equal(r.tiles_total, 1);
    }
}

/* O(N^2) extra for what keeps S or P, O(N) for the others. */
static void footprints(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1024, 512, 64);
    struct sim_footprint f;
    p.heads = p.kv_heads = 2;
    p.dtype = FA_F16;
    assert_int_equal(sim_footprint(&fa_standard, false, &p, &f, NULL), FA_OK);
    assert_int_equal(f.input_bytes, 2 * 2 * (1024 * 64 + 2 * 512 * 64));
    assert_int_equal(f.output_bytes, 2 * (1024 * 64 * 2 + 1024 * 4));
    assert_int_equal(f.extra_bytes, 2 * 2 * 2 * 1024 * 512);
    assert_int_equal(sim_footprint(&fa_fused_save_p, false, &p, &f, NULL), FA_OK);
    assert_int_equal(f.extra_bytes, 2 * 2 * 1024 * 512);
    assert_int_equal(sim_footprint(&fa_flash1, false, &p, &f, NULL), FA_OK);
    assert_int_equal(f.extra_bytes, 2 * 2 * 1024 * 4);
    assert_int_equal(sim_footprint(&fa_flash2, false, &p, &f, NULL), FA_OK);
    assert_int_equal(f.extra_bytes, 0);
}

static void bounds(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1024, 1024, 64);
    struct sim_bounds b = sim_bounds(&p, 65536 * 4, 1);
    assert_true(b.compulsory == 4 * 65536);
    assert_true(b.theta == 1024.0 * 1024 * 64 * 64 / 65536);
    assert_true(b.standard == 65536 + 1048576);
    assert_true(b.root == 1024.0 * 1024 * 64 / 256);
    b = sim_bounds(&p, 4096 * 4, 0.5); /* M = d^2: where the two orders of the optimum meet */
    assert_true(b.root == b.theta && b.root == 0.5 * 1024 * 1024);
    b = sim_bounds(&p, 65536 * 4, 1);
    /* max(4 N d, N^2 d^2 / (M + 2 d^2) - M): here the second is below 0. */
    assert_true(b.floor == b.compulsory);
    b = sim_bounds(&p, 8191 * 4, 1);
    assert_true(isnan(b.floor));
    p.nq = p.nk = 4096;
    b = sim_bounds(&p, 8192 * 4, 1);
    assert_true(b.floor == 4096.0 * 4096 * 4096 / 16384 - 8192);
    p.nq = p.nk = 1024;
    p.heads = 8;
    p.kv_heads = 2;
    b = sim_bounds(&p, 65536 * 4, 0.5);
    assert_true(b.compulsory == 8 * 2 * 65536 + 2 * 2 * 65536);
    assert_true(b.theta == 8 * 0.5 * 1024.0 * 1024 * 64 * 64 / 65536);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_closed_forms), cmocka_unit_test(counts_equal_enumeration),
        cmocka_unit_test(modes_agree),               cmocka_unit_test(hand_figures),
        cmocka_unit_test(hardware_figures),          cmocka_unit_test(large_counts),
        cmocka_unit_test(sizes),                     cmocka_unit_test(footprints),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
