/*
 * Executed counts of backward passes, of dropout and of block masks against the closed forms,
 * against an enumeration that knows neither, against figures worked out by hand, and against each
 * other in the machine's modes: as integers.
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

#include "reference/block_pattern.h"
#include "reference/philox.h"
#include "reference/profile.h"
#include "simulator/experiment.h"
#include "tests/counters_case.h"

enum { SHAPES = 1000, ENUMERATED = 400, EXECUTED = 40 };

/* A number in 0 .. n - 1 that depends on the shape's number and on `what` alone. */
static int64_t draw(uint64_t shape, uint32_t what, int64_t n)
{
    uint32_t counter[4] = {what, 1, 0, 0}, words[4];
    fa_philox4x32(shape, counter, words);
    return (int64_t)(words[0] % (uint64_t)n);
}

struct drawn {
    struct fa_problem problem; /* points to what is below: never copy the struct */
    struct fa_tensor mask, bias, keep;
    struct fa_block_mask blocks;
    struct sim_tile_choice tiles;
    uint64_t sram_bytes;
};

/* Each tile is visited with a probability that differs from shape to shape; some rows have none. */
static void draw_blocks(struct drawn *drawn, uint64_t n)
{
    const struct fa_problem *p = &drawn->problem;
    struct fa_block_pattern all = {.rule = FA_BLOCKS_RANDOM, .probability = 1};
    struct fa_block_mask *blocks = &drawn->blocks;
    int64_t chance = 1 + draw(n, 30, 8);
    assert_int_equal(
        fa_block_pattern_make(&all, p->nq, p->nk, drawn->tiles.br, drawn->tiles.bc, blocks, NULL),
        FA_OK);
    uint8_t *visit = (uint8_t *)(uintptr_t)blocks->visit;
    for (int64_t b = 0; b < blocks->rows * blocks->columns; b++)
        visit[b] = draw(n, 1000 + (uint32_t)b, 8) < chance;
    drawn->problem.blocks = blocks;
}

/* Shapes alone: a count needs no data. */
static void draw_shape(struct drawn *drawn, uint64_t n)
{
    static const enum fa_dtype dtypes[] = {FA_F32, FA_F64, FA_F16, FA_BF16};
    struct fa_problem *p = &drawn->problem;

    memset(drawn, 0, sizeof *drawn);
    *p = fa_problem_make(draw(n, 0, 60), draw(n, 1, 60), 1 + draw(n, 2, 20));
    p->batch = draw(n, 3, 3);
    p->kv_heads = 1 + draw(n, 4, 3);
    p->heads = p->kv_heads * (1 + draw(n, 5, 4));
    p->dv = draw(n, 6, 2) ? p->d : 1 + draw(n, 7, 20);
    p->causal = draw(n, 8, 2) ? FA_CAUSAL_NONE : (enum fa_causal)draw(n, 9, 3);
    if (draw(n, 10, 3) == 0) {
        p->window_left = draw(n, 11, 50) - 1;
        p->window_right = draw(n, 12, 50) - 1;
    }
    p->dtype = dtypes[draw(n, 13, 4)];
    const int64_t full[4] = {p->batch, p->heads, p->nq, p->nk};
    int64_t mask[4], bias[4];
    for (uint32_t axis = 0; axis < 4; axis++) {
        mask[axis] = draw(n, 20 + axis, 2) ? full[axis] : 1;
        bias[axis] = draw(n, 24 + axis, 2) ? full[axis] : 1;
    }
    drawn->mask = fa_tensor_view(FA_U8, mask, NULL);
    drawn->bias = fa_tensor_view(p->dtype, bias, NULL);
    drawn->keep = fa_tensor_view(FA_U8, full, NULL);
    p->mask = draw(n, 14, 3) == 0 ? &drawn->mask : NULL;
    p->bias = draw(n, 15, 3) == 0 ? &drawn->bias : NULL;
    p->dropout_p = draw(n, 16, 2) ? 0.25 : 0;
    p->dropout_keep = p->dropout_p > 0 && draw(n, 17, 2) ? &drawn->keep : NULL;
    drawn->tiles =
        (struct sim_tile_choice){SIM_TILES_GIVEN, 1 + draw(n, 18, 30), 1 + draw(n, 19, 30)};
    /* Small ones make the row-wise steps of `standard` work in chunks of a row. */
    drawn->sram_bytes = draw(n, 28, 2) ? 1 << 20 : 60 + (uint64_t)draw(n, 29, 500);
    if (draw(n, 31, 2))
        draw_blocks(drawn, n);
}

static struct sim_experiment count_only(const struct drawn *drawn,
                                        const struct fa_algorithm *algorithm, enum sim_pass pass)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = pass,
        .problem = drawn->problem,
        .tiles = drawn->tiles,
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    experiment.machine.sram_bytes = drawn->sram_bytes;
    return experiment;
}

/* fused-save-p stores one P, and dropout would need two; what has no backward pass is not for
 * here. */
static bool takes(const struct fa_algorithm *algorithm, const struct fa_problem *p)
{
    return algorithm->backward && !(algorithm == &fa_fused_save_p && p->dropout_p > 0);
}

/* The closed form of one pass, with the row-wise tiles that its own rule gives. */
static struct sim_closed_form form_of(const struct drawn *drawn,
                                      const struct fa_algorithm *algorithm)
{
    struct sim_closed_form form;
    struct fa_tiles tiles;
    assert_int_equal(sim_tiles_choose(&drawn->tiles, algorithm, &drawn->problem, 0,
                                      drawn->sram_bytes, &tiles, NULL),
                     FA_OK);
    assert_int_equal(sim_closed_form(algorithm, &drawn->problem, &tiles, &form, NULL), FA_OK);
    return form;
}

static struct sim_result run(const struct sim_experiment *experiment, uint64_t n)
{
    struct sim_result result;
    struct fa_error error;
    if (sim_experiment_run(experiment, &result, &error) != FA_OK)
        fail_msg("shape %" PRIu64 ": %s", n, error.text);
    return result;
}

static void counts_equal_closed_forms(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < SHAPES; n++) {
        struct drawn drawn;
        draw_shape(&drawn, n);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            const struct fa_algorithm *algorithm = fa_algorithms[a];
            if (!takes(algorithm, &drawn.problem))
                continue;
            struct sim_closed_form forward = form_of(&drawn, algorithm);
            struct sim_closed_form backward = form_of(&drawn, algorithm->backward);
            struct sim_closed_form sum = forward;
            sim_counters_add(&sum.counters, &backward.counters, 1);
            const struct sim_closed_form *const want[] = {&forward, &backward, &sum};
            for (int pass = SIM_FORWARD; pass <= SIM_BOTH; pass++) {
                struct sim_experiment experiment =
                    count_only(&drawn, algorithm, (enum sim_pass)pass);
                struct sim_result result = run(&experiment, n);
                counters_expect_same(&result.counters, &want[pass]->counters,
                                     sim_pass_name((enum sim_pass)pass), algorithm->name, n);
                assert_int_equal(result.counters.tiles_visited + result.counters.tiles_skipped,
                                 result.tiles_total);
                assert_int_equal(result.tiles_total,
                                 forward.tiles_total * (pass == SIM_BOTH ? 2 : 1));
                assert_true(result.has_blocks == (drawn.problem.blocks != NULL));
            }
        }
        fa_block_mask_free(&drawn.blocks);
    }
}

/* Whether query r sees key c by the sentences of problem.h, one element at a time. */
static bool sees(const struct drawn *drawn, int64_t r, int64_t c)
{
    const struct fa_problem *p = &drawn->problem;
    int64_t distance = c - r - (p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq);
    if (p->blocks && !p->blocks->visit[r / p->blocks->br * p->blocks->columns + c / p->blocks->bc])
        return false;
    if (p->causal != FA_CAUSAL_NONE && distance > 0)
        return false;
    if (p->window_left >= 0 && distance < -p->window_left)
        return false;
    return p->window_right < 0 || distance <= p->window_right;
}

/* Loads and stores of a flash backward pass, as its loops are written in the law. */
struct traffic {
    uint64_t read[FA_HBM_TENSORS], write[FA_HBM_TENSORS];
    uint64_t visited, masked, matmul;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t count_seen(const struct drawn *drawn, int64_t i, int64_t j, int64_t rows,
                          int64_t columns)
{
    int64_t seen = 0;
    for (int64_t r = i; r < i + rows; r++)
        for (int64_t c = j; c < j + columns; c++)
            seen += sees(drawn, r, c);
    return seen;
}

/* Visits tile (i, j), whose first row and column these are. False: it is skipped. */
static bool visit(const struct drawn *drawn, bool first, int64_t i, int64_t j, struct traffic *t)
{
    const struct fa_problem *p = &drawn->problem;
    int64_t rows = least(drawn->tiles.br, p->nq - i), columns = least(drawn->tiles.bc, p->nk - j);
    int64_t seen = count_seen(drawn, i, j, rows, columns);
    if (seen == 0)
        return false;
    t->visited++;
    t->masked += seen < rows * columns;
    t->read[FA_Q] += (uint64_t)(rows * p->d);
    t->read[FA_DO] += (uint64_t)(rows * p->dv);
    t->read[FA_DQ] += (uint64_t)(rows * p->d);
    t->write[FA_DQ] += (uint64_t)(rows * p->d);
    if (first) {
        t->read[FA_O] += (uint64_t)(rows * p->dv);
        t->read[FA_L] += (uint64_t)rows;
        t->read[FA_M] += (uint64_t)rows;
    } else {
        t->read[FA_LSE] += (uint64_t)rows;
        t->read[FA_DELTA] += (uint64_t)rows;
    }
    if (p->mask)
        t->read[FA_MASK] += (uint64_t)((p->mask->shape[2] == 1 ? 1 : rows) *
                                       (p->mask->shape[3] == 1 ? 1 : columns));
    if (p->bias)
        t->read[FA_BIAS] += (uint64_t)((p->bias->shape[2] == 1 ? 1 : rows) *
                                       (p->bias->shape[3] == 1 ? 1 : columns));
    if (p->dropout_keep)
        t->read[FA_DROPOUT] += (uint64_t)(rows * columns);
    /* S, dP, dV, dQ, dK. */
    t->matmul += (uint64_t)(2 * rows * columns * (3 * p->d + 2 * p->dv));
    return true;
}

static void enumerate_head(const struct drawn *drawn, bool first, bool first_of_group,
                           struct traffic *t)
{
    const struct fa_problem *p = &drawn->problem;
    t->write[FA_DQ] += (uint64_t)(p->nq * p->d);
    if (!first) {
        t->read[FA_O] += (uint64_t)(p->nq * p->dv);
        t->read[FA_DO] += (uint64_t)(p->nq * p->dv);
        t->write[FA_DELTA] += (uint64_t)p->nq;
    }
    for (int64_t j = 0; j < p->nk; j += drawn->tiles.bc) {
        int64_t columns = least(drawn->tiles.bc, p->nk - j);
        bool any = false;
        for (int64_t i = 0; i < p->nq; i += drawn->tiles.br)
            any = visit(drawn, first, i, j, t) || any;
        t->read[FA_K] += any ? (uint64_t)(columns * p->d) : 0;
        t->read[FA_V] += any ? (uint64_t)(columns * p->dv) : 0;
        t->read[FA_DK] += first_of_group ? 0 : (uint64_t)(columns * p->d);
        t->read[FA_DV] += first_of_group ? 0 : (uint64_t)(columns * p->dv);
        t->write[FA_DK] += (uint64_t)(columns * p->d);
        t->write[FA_DV] += (uint64_t)(columns * p->dv);
    }
}

static void flash_counts_equal_enumeration(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < ENUMERATED; n++) {
        struct drawn drawn;
        draw_shape(&drawn, n);
        const struct fa_problem *p = &drawn.problem;
        for (int first = 0; first < 2; first++) {
            struct traffic t;
            struct sim_experiment experiment =
                count_only(&drawn, first ? &fa_flash1 : &fa_flash2, SIM_BACKWARD);
            struct sim_result result = run(&experiment, n);
            memset(&t, 0, sizeof t);
            for (int64_t head = 0; head < p->batch * p->heads; head++)
                enumerate_head(&drawn, first, head % (p->heads / p->kv_heads) == 0, &t);
            assert_memory_equal(result.counters.read, t.read, sizeof t.read);
            assert_memory_equal(result.counters.write, t.write, sizeof t.write);
            assert_int_equal(result.counters.tiles_visited, t.visited);
            assert_int_equal(result.counters.tiles_masked, t.masked);
            assert_int_equal(result.counters.flops.matmul, t.matmul);
        }
        fa_block_mask_free(&drawn.blocks);
    }
}

/* The forward passes under the same block masks: K and V, Q, and what is empty. */
static void forward_counts_equal_enumeration(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < ENUMERATED; n++) {
        struct drawn drawn;
        draw_shape(&drawn, n);
        const struct fa_problem *p = &drawn.problem;
        uint64_t heads = (uint64_t)(p->batch * p->heads), k2 = 0, q2 = 0, visited = 0, whole = 0;
        for (int64_t i = 0; i < p->nq; i += drawn.tiles.br) {
            int64_t rows = least(drawn.tiles.br, p->nq - i);
            bool any = false;
            for (int64_t j = 0; j < p->nk; j += drawn.tiles.bc) {
                int64_t columns = least(drawn.tiles.bc, p->nk - j);
                int64_t seen = count_seen(&drawn, i, j, rows, columns);
                k2 += seen ? (uint64_t)(columns * p->d) : 0;
                visited += seen > 0;
                whole += seen == rows * columns;
                any = any || seen > 0;
            }
            q2 += any ? (uint64_t)(rows * p->d) : 0;
        }
        struct sim_experiment experiment = count_only(&drawn, &fa_flash2, SIM_FORWARD);
        struct sim_result result = run(&experiment, n);
        assert_int_equal(result.counters.tiles_visited, heads * visited);
        assert_int_equal(result.counters.tiles_masked, heads * (visited - whole));
        assert_int_equal(result.counters.read[FA_K], heads * k2);
        assert_int_equal(result.counters.read[FA_Q], heads * q2);
        assert_int_equal(result.counters.write[FA_O], heads * (uint64_t)(p->nq * p->dv));
        /* Standard computes every tile, and knows which of them are not whole. */
        experiment = count_only(&drawn, &fa_standard, SIM_BACKWARD);
        result = run(&experiment, n);
        assert_int_equal(result.counters.tiles_visited, result.tiles_total);
        assert_int_equal(result.counters.tiles_masked, result.tiles_total - heads * whole);
        fa_block_mask_free(&drawn.blocks);
    }
}

enum { N_TENSORS = 9 };

static void fill_modifier(struct fa_tensor *modifier)
{
    struct fa_tensor filled;
    int64_t elements;
    assert_int_equal(fa_tensor_create(&filled, modifier->dtype, modifier->shape, NULL), FA_OK);
    assert_int_equal(fa_shape_elements(filled.shape, &elements, NULL), FA_OK);
    for (int64_t e = 0; e < elements; e++)
        fa_dtype_set(filled.dtype, filled.data, e, e % 3 > 0);
    *modifier = filled;
}

/* q k v o lse do dq dk dv with data, and the modifiers. */
static void make_data(struct drawn *drawn, struct fa_tensor t[N_TENSORS])
{
    const struct fa_problem *p = &drawn->problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    const int64_t *const shapes[N_TENSORS] = {q, k, v, o, lse, o, q, k, v};
    for (int n = 0; n < N_TENSORS; n++)
        assert_int_equal(
            fa_tensor_create(&t[n], n == 4 ? fa_hbm_format(p, FA_LSE) : p->dtype, shapes[n], NULL),
            FA_OK);
    fa_profile_fill(FA_PROFILE_TIDY, 1, p, &t[0], &t[1], &t[2]);
    fa_profile_fill_dout(1, p, &t[5]);
    fill_modifier(&drawn->mask);
    fill_modifier(&drawn->bias);
    fill_modifier(&drawn->keep);
}

/* Counting with data, on one thread and two, counts what counting alone does. */
static void modes_agree(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < EXECUTED; n++) {
        struct drawn drawn;
        struct fa_tensor t[N_TENSORS];
        draw_shape(&drawn, n);
        make_data(&drawn, t);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            if (!takes(fa_algorithms[a], &drawn.problem))
                continue;
            struct sim_experiment experiment =
                count_only(&drawn, fa_algorithms[a], n % 3 ? SIM_BACKWARD : SIM_BOTH);
            struct sim_result alone = run(&experiment, n);
            experiment.q = &t[0];
            experiment.k = &t[1];
            experiment.v = &t[2];
            experiment.o = &t[3];
            experiment.lse = &t[4];
            experiment.dout = &t[5];
            experiment.dq = &t[6];
            experiment.dk = &t[7];
            experiment.dv = &t[8];
            experiment.mode = SIM_COUNTED;
            experiment.threads = 1 + (int)(n % 2);
            struct sim_result with_data = run(&experiment, n);
            counters_expect_same(&with_data.counters, &alone.counters,
                                 "count with data against count alone", fa_algorithms[a]->name, n);
        }
        for (int i = 0; i < N_TENSORS; i++)
            fa_tensor_free(&t[i]);
        fa_tensor_free(&drawn.mask);
        fa_tensor_free(&drawn.bias);
        fa_tensor_free(&drawn.keep);
        fa_block_mask_free(&drawn.blocks);
    }
}

static struct sim_result count(const struct fa_algorithm *algorithm, enum sim_pass pass,
                               const struct fa_problem *problem, int64_t br, int64_t bc)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = pass,
        .problem = *problem,
        .tiles = {SIM_TILES_GIVEN, br, bc},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    experiment.machine.sram_bytes = 1 << 24;
    return run(&experiment, 0);
}

static uint64_t read_elements(const struct sim_result *r)
{
    return sim_counters_read_all(&r->counters, &r->problem).elements;
}

static uint64_t moved_elements(const struct sim_result *r)
{
    return read_elements(r) + sim_counters_write_all(&r->counters, &r->problem).elements;
}

static void hand_figures(void **state)
{
    (void)state;
    static const struct {
        const struct fa_algorithm *algorithm;
        int64_t side;
        uint64_t read, write;
    } figures[] = {
        {&fa_standard, 128, 7405568, 2293760},  {&fa_fused_save_p, 128, 7405568, 2293760},
        {&fa_flash1, 128, 2244608, 720896},     {&fa_flash2, 128, 1851392, 721920},
        {&fa_standard, 1024, 5570560, 2293760}, /* Algorithm 3 with each matrix read once a step */
    };
    struct fa_problem p = fa_problem_make(1024, 1024, 64);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        struct sim_result r =
            count(figures[i].algorithm, SIM_BACKWARD, &p, figures[i].side, figures[i].side);
        assert_int_equal(read_elements(&r), figures[i].read);
        assert_int_equal(moved_elements(&r), figures[i].read + figures[i].write);
    }
    /* Forward and backward, flash2 against standard of the same tiles, and of one pass. */
    struct sim_result flash = count(&fa_flash2, SIM_BOTH, &p, 64, 64);
    struct sim_result standard = count(&fa_standard, SIM_BOTH, &p, 64, 64);
    assert_int_equal(moved_elements(&flash), 6916096);
    assert_int_equal(moved_elements(&standard), 18219008);
    assert_int_equal(6 * flash.counters.flops.matmul, 7 * standard.counters.flops.matmul);
    assert_int_equal(standard.footprint.kept_bytes, 4 * 1048576);
    assert_int_equal(flash.footprint.kept_bytes, 4 * 66560);
    flash = count(&fa_flash2, SIM_BOTH, &p, 128, 128);
    standard = count(&fa_standard, SIM_BOTH, &p, 128, 128);
    assert_int_equal(moved_elements(&flash), 3753984);
    assert_int_equal(moved_elements(&standard), 15073280);
    standard = count(&fa_standard, SIM_BOTH, &p, 1024, 1024);
    assert_int_equal(moved_elements(&standard), 12320768);
}

/* A window of one tile each side, one global row and one global column. */
static void sparse_figures(void **state)
{
    (void)state;
    struct fa_block_pattern pattern;
    struct fa_block_mask blocks;
    struct fa_problem p = fa_problem_make(4096, 4096, 64);
    assert_int_equal(fa_block_pattern_parse("window:1,1", &pattern, NULL, NULL), FA_OK);
    assert_int_equal(fa_block_pattern_make(&pattern, 4096, 4096, 64, 64, &blocks, NULL), FA_OK);
    struct sim_result dense = count(&fa_flash2, SIM_FORWARD, &p, 64, 64);
    p.blocks = &blocks;
    struct sim_result sparse = count(&fa_flash2, SIM_FORWARD, &p, 64, 64);
    assert_int_equal(sparse.counters.tiles_visited, 314);
    assert_int_equal(sparse.counters.tiles_skipped, 4096 - 314);
    assert_true(sparse.blocks_share == 314.0 / 4096);
    assert_true(fabs((double)moved_elements(&dense) / (double)moved_elements(&sparse) - 11.0) <
                0.05);
    assert_true(fabs(sparse.bounds.theta / dense.bounds.theta - 314.0 / 4096) < 1e-12);
    struct sim_result backward = count(&fa_flash1, SIM_BACKWARD, &p, 64, 64);
    assert_int_equal(backward.counters.tiles_visited, 314);
    assert_int_equal(backward.counters.read[FA_Q], 314 * 64 * 64);
    assert_int_equal(backward.counters.read[FA_K], 4096 * 64);
    fa_block_mask_free(&blocks);
}

/* 28 query heads on 4 K/V heads: dK and dV are read again by all heads of a group but its first. */
static void grouped_heads(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(64, 64, 16);
    p.heads = 28;
    p.kv_heads = 4;
    for (int a = 0; a < FA_ALGORITHMS; a++) {
        if (!fa_algorithms[a]->backward)
            continue;
        struct sim_result r = count(fa_algorithms[a], SIM_BACKWARD, &p, 32, 32);
        assert_int_equal(r.counters.write[FA_DK], 28 * 64 * 16);
        assert_int_equal(r.counters.read[FA_DK], 24 * 64 * 16);
        assert_int_equal(r.counters.read[FA_DV], 24 * 64 * 16);
    }
}

/* What the forward pass leaves behind, with dropout too. */
static void kept_for_backward(void **state)
{
    (void)state;
    const int64_t shape[4] = {1, 2, 100, 300};
    const struct fa_tensor keep = fa_tensor_view(FA_U8, shape, NULL);
    struct fa_problem p = fa_problem_make(100, 300, 8);
    struct sim_footprint f;
    p.heads = p.kv_heads = 2;
    p.dtype = FA_F16;
    assert_int_equal(sim_footprint(&fa_flash1, true, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 100 * (2 * 8 + 2 * 4));
    assert_int_equal(sim_footprint(&fa_flash2, false, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 100 * (2 * 8 + 4));
    assert_int_equal(sim_footprint(&fa_fused_save_p, true, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 2 * 100 * 300);
    p.dropout_p = 0.5;
    assert_int_equal(sim_footprint(&fa_standard, true, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 100 * 300 * (2 + 2 + 1));
    assert_int_equal(sim_footprint(&fa_flash2, true, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 100 * (2 * 8 + 4));
    p.dropout_keep = &keep;
    assert_int_equal(sim_footprint(&fa_standard, true, &p, &f, NULL), FA_OK);
    assert_int_equal(f.kept_bytes, 2 * 100 * 300 * (2 + 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_closed_forms),
        cmocka_unit_test(flash_counts_equal_enumeration),
        cmocka_unit_test(forward_counts_equal_enumeration),
        cmocka_unit_test(modes_agree),
        cmocka_unit_test(hand_figures),
        cmocka_unit_test(sparse_figures),
        cmocka_unit_test(grouped_heads),
        cmocka_unit_test(kept_for_backward),
    };
    return cmocka_run_group_tests_name("counts_backward", tests, NULL, NULL);
}
