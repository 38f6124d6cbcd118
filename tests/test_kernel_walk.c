/* The counted loops of the CUDA rungs' kernels against what the rungs' headers predict, and against
 * brute force under masks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "simulator/kernel_walk.h"

static struct sim_kernel_walk walk_of(enum sim_walk which, const struct fa_problem *problem,
                                      struct sim_walk_tiles tiles)
{
    struct sim_kernel_walk walk;
    struct fa_error error = {FA_OK, ""};
    if (sim_kernel_walk(which, problem, &tiles, &walk, &error) != FA_OK)
        fail_msg("%s", error.text);
    return walk;
}

static uint64_t elements(const uint64_t counts[FA_HBM_TENSORS])
{
    uint64_t sum = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += counts[id];
    return sum;
}

static uint64_t read_by(const struct sim_kernel_walk *walk, int kernel)
{
    return elements(walk->kernel[kernel].counters.read);
}

static uint64_t written_by(const struct sim_kernel_walk *walk, int kernel)
{
    return elements(walk->kernel[kernel].counters.write);
}

static uint64_t tiles_of(int64_t n, int64_t side)
{
    return (uint64_t)((n + side - 1) / side);
}

struct shape {
    int64_t batch, heads, kv_heads, nq, nk, d, dv, br, bc;
};

static const struct shape shapes[] = {
    {1, 1, 1, 128, 128, 64, 64, 64, 64}, {2, 6, 2, 65, 130, 24, 40, 64, 64},
    {3, 4, 4, 200, 17, 8, 5, 32, 32},    {1, 5, 1, 1, 300, 3, 7, 128, 64},
    {2, 2, 1, 33, 64, 16, 16, 16, 48},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct fa_problem problem_of(const struct shape *shape)
{
    struct fa_problem problem = fa_problem_make(shape->nq, shape->nk, shape->d);
    problem.batch = shape->batch;
    problem.heads = shape->heads;
    problem.kv_heads = shape->kv_heads;
    problem.dv = shape->dv;
    problem.dtype = FA_F16;
    return problem;
}

/* Nq d + Tr Nk (d + dv) and so on, each as the rung's header has it, times the heads. */
static void forward_as_predicted(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        const struct shape *at = &shapes[s];
        const struct fa_problem problem = problem_of(at);
        const struct sim_walk_tiles tiles = {at->br, at->bc, 0, 0, 1};
        uint64_t heads = (uint64_t)(at->batch * at->heads), d = (uint64_t)at->d;
        uint64_t dv = (uint64_t)at->dv, nq = (uint64_t)at->nq, nk = (uint64_t)at->nk;
        uint64_t tr = tiles_of(at->nq, at->br), tc = tiles_of(at->nk, at->bc);
        uint64_t groups = (uint64_t)(at->batch * at->kv_heads);
        uint64_t once = 2 * (heads * nq * d + groups * nk * (d + dv));
        struct sim_kernel_walk walk = walk_of(SIM_WALK_FLASH2, &problem, tiles);
        assert_int_equal(walk.n, 1);
        assert_int_equal(read_by(&walk, 0), heads * (nq * d + tr * nk * (d + dv)));
        assert_int_equal(written_by(&walk, 0), heads * (nq * dv + nq));
        assert_int_equal(walk.kernel[0].read_bytes, 2 * read_by(&walk, 0));
        assert_int_equal(walk.kernel[0].write_bytes, heads * (2 * nq * dv + 4 * nq));
        assert_int_equal(walk.kernel[0].write_once_bytes, heads * (2 * nq * dv + 4 * nq));
        assert_int_equal(walk.kernel[0].read_once_bytes, once);
        walk = walk_of(SIM_WALK_STANDARD, &problem, tiles);
        assert_int_equal(walk.n, 3);
        assert_int_equal(read_by(&walk, 0), heads * (nq * d + tr * nk * d));
        assert_int_equal(read_by(&walk, 1), heads * 2 * nq * nk);
        assert_int_equal(read_by(&walk, 2), heads * (nq * nk + tr * nk * dv));
        assert_int_equal(written_by(&walk, 0), heads * nq * nk);
        assert_int_equal(written_by(&walk, 1), heads * (nq * nk + nq));
        assert_int_equal(written_by(&walk, 2), heads * nq * dv);
        walk = walk_of(SIM_WALK_FLASH1, &problem, tiles);
        assert_int_equal(walk.n, 1);
        assert_int_equal(read_by(&walk, 0),
                         heads * (nk * (d + dv) + tc * (nq * (d + dv) + 2 * nq) + 2 * nq));
        assert_int_equal(written_by(&walk, 0), heads * ((tc + 1) * (nq * dv + 2 * nq) + nq));
        assert_int_equal(walk.kernel[0].read_once_bytes, once);
        assert_int_equal(walk.kernel[0].write_once_bytes, heads * (2 * nq * dv + 3 * 4 * nq));
    }
}

static void backward_as_predicted(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        const struct shape *at = &shapes[s];
        const struct fa_problem problem = problem_of(at);
        const struct sim_walk_tiles owned = {at->br, at->bc, 16, 32, 1};
        const struct sim_walk_tiles added = {at->br, at->bc, 0, 0, 1};
        uint64_t heads = (uint64_t)(at->batch * at->heads), d = (uint64_t)at->d;
        uint64_t groups = (uint64_t)(at->batch * at->kv_heads);
        uint64_t dv = (uint64_t)at->dv, nq = (uint64_t)at->nq, nk = (uint64_t)at->nk;
        uint64_t tc = tiles_of(at->nk, at->bc), tr = tiles_of(at->nq, 16);
        struct sim_kernel_walk walk = walk_of(SIM_WALK_BACKWARD, &problem, owned);
        assert_int_equal(walk.n, 3);
        assert_string_equal(walk.kernel[1].name, "keys");
        assert_int_equal(read_by(&walk, 0), heads * 2 * nq * dv);
        assert_int_equal(written_by(&walk, 0), heads * nq);
        assert_int_equal(read_by(&walk, 1),
                         groups * nk * (d + dv) + heads * tc * (nq * (d + dv) + 2 * nq));
        assert_int_equal(written_by(&walk, 1), groups * nk * (d + dv));
        assert_int_equal(read_by(&walk, 2), heads * (nq * (d + dv) + 2 * nq + tr * nk * (d + dv)));
        assert_int_equal(written_by(&walk, 2), heads * nq * d);
        walk = walk_of(SIM_WALK_MMA_BACKWARD, &problem, owned);
        assert_int_equal(read_by(&walk, 0), heads * (2 * nq * dv + nq));
        assert_int_equal(written_by(&walk, 0), heads * 2 * nq);
        assert_int_equal(written_by(&walk, 1), groups * nk * (d + dv));
        assert_string_equal(walk.kernel[2].name, "queries");
        walk = walk_of(SIM_WALK_MMA_BACKWARD, &problem, added);
        assert_int_equal(read_by(&walk, 1),
                         groups * nk * (d + dv) + heads * tc * (nq * (d + dv) + 2 * nq));
        assert_int_equal(walk.kernel[1].read_bytes,
                         groups * nk * (d + dv) * 2 +
                             heads * tc * (nq * (d + dv) * 2 + 2 * nq * 4));
        assert_int_equal(written_by(&walk, 1), groups * nk * (d + dv) + heads * tc * nq * d);
        assert_int_equal(walk.kernel[1].write_bytes,
                         groups * nk * (d + dv) * 2 + heads * tc * nq * d * 4);
        assert_int_equal(walk.kernel[1].write_once_bytes,
                         groups * nk * (d + dv) * 2 + heads * nq * d * 4);
        assert_string_equal(walk.kernel[2].name, "dq");
        assert_int_equal(walk.kernel[2].read_bytes, heads * nq * d * 4);
        assert_int_equal(walk.kernel[2].write_bytes, heads * nq * d * 2);
    }
}

static bool sees(const struct fa_problem *p, int64_t row, int64_t key)
{
    int64_t at = row + (p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq);
    if (p->causal != FA_CAUSAL_NONE && key > at)
        return false;
    if (p->window_left >= 0 && key < at - p->window_left)
        return false;
    return p->window_right < 0 || key <= at + p->window_right;
}

/* Whether any of the tile's rows sees any of its keys. */
static bool visits(const struct fa_problem *p, int64_t row, int64_t br, int64_t key, int64_t bc)
{
    for (int64_t r = row; r < row + br && r < p->nq; r++)
        for (int64_t k = key; k < key + bc && k < p->nk; k++)
            if (sees(p, r, k))
                return true;
    return false;
}

static uint64_t extent(int64_t at, int64_t side, int64_t n)
{
    return (uint64_t)(at + side < n ? side : n - at);
}

/* Rows that the owners of keys, and keys that the owners of queries, load over all visits. */
static void visited(const struct fa_problem *p, int64_t br, int64_t bc, uint64_t *rows,
                    uint64_t *keys)
{
    *rows = *keys = 0;
    for (int64_t r = 0; r < p->nq; r += br)
        for (int64_t k = 0; k < p->nk; k += bc)
            if (visits(p, r, br, k, bc)) {
                *rows += extent(r, br, p->nq);
                *keys += extent(k, bc, p->nk);
            }
}

static void compare_masked(const struct fa_problem *p, int64_t br, int64_t bc)
{
    uint64_t heads = (uint64_t)(p->batch * p->heads), d = (uint64_t)p->d, nq = (uint64_t)p->nq;
    uint64_t nk = (uint64_t)p->nk, groups = (uint64_t)(p->batch * p->kv_heads), rows, keys;
    const struct sim_walk_tiles owned = {br, bc, bc, br, 1}, added = {br, bc, 0, 0, 1};
    struct sim_kernel_walk walk = walk_of(SIM_WALK_FLASH2, p, added);
    visited(p, br, bc, &rows, &keys);
    assert_int_equal(walk.kernel[0].counters.read[FA_K], heads * keys * d);
    assert_int_equal(walk.kernel[0].counters.read[FA_V], heads * keys * d);
    assert_int_equal(written_by(&walk, 0), heads * nq * (d + 1));
    walk = walk_of(SIM_WALK_FLASH1, p, added);
    assert_int_equal(read_by(&walk, 0), heads * (2 * nk * d + rows * (2 * d + 2) + 2 * nq));
    assert_int_equal(written_by(&walk, 0), heads * (rows + nq) * (d + 2) + heads * nq);
    walk = walk_of(SIM_WALK_STANDARD, p, added);
    assert_int_equal(read_by(&walk, 1), heads * 2 * nq * nk);
    walk = walk_of(SIM_WALK_BACKWARD, p, owned);
    assert_int_equal(read_by(&walk, 1), groups * 2 * nk * d + heads * rows * (2 * d + 2));
    walk = walk_of(SIM_WALK_MMA_BACKWARD, p, added);
    assert_int_equal(walk.kernel[1].counters.write[FA_DQ], heads * rows * d);
    assert_int_equal(walk.kernel[1].counters.write[FA_DK], groups * nk * d);
    assert_true(walk.kernel[1].counters.read[FA_K] <= groups * nk * d);
    visited(p, bc, br, &rows, &keys);
    walk = walk_of(SIM_WALK_BACKWARD, p, owned);
    assert_int_equal(read_by(&walk, 2), heads * nq * (2 * d + 2) + heads * keys * 2 * d);
}

static void masked_as_brute_force(void **state)
{
    (void)state;
    static const int64_t sides[][4] = {
        {65, 65, 16, 16}, {130, 50, 32, 16}, {50, 130, 16, 48}, {7, 40, 64, 8}, {33, 20, 8, 8}};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int mask = 0; mask < 5; mask++) {
            struct fa_problem p = fa_problem_make(sides[s][0], sides[s][1], 3);
            p.batch = 2;
            p.heads = 6;
            p.kv_heads = 3;
            p.causal = mask == 1 || mask == 4 ? FA_CAUSAL_BOTTOM_RIGHT
                       : mask == 2            ? FA_CAUSAL_TOP_LEFT
                                              : FA_CAUSAL_NONE;
            p.window_left = mask >= 3 ? 9 : -1;
            p.window_right = mask == 3 ? 4 : -1;
            compare_masked(&p, sides[s][2], sides[s][3]);
        }
}

/* A key tile that no query sees is not loaded by mma's kernel, and its gradients are stored. */
static void unseen_keys(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(20, 100, 4);
    const struct sim_walk_tiles added = {16, 16, 0, 0, 1}, owned = {16, 16, 16, 16, 1};
    p.causal = FA_CAUSAL_TOP_LEFT;
    struct sim_kernel_walk walk = walk_of(SIM_WALK_MMA_BACKWARD, &p, added);
    assert_int_equal(walk.kernel[1].counters.read[FA_K], 32 * 4);
    assert_int_equal(walk.kernel[1].counters.write[FA_DK], 100 * 4);
    walk = walk_of(SIM_WALK_MMA_BACKWARD, &p, owned);
    assert_int_equal(walk.kernel[1].counters.read[FA_V], 32 * 4);
    walk = walk_of(SIM_WALK_BACKWARD, &p, owned);
    assert_int_equal(walk.kernel[1].counters.read[FA_K], 100 * 4);
    p.nq = 100; /* and 80 queries before the first key see nothing */
    p.nk = 20;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    walk = walk_of(SIM_WALK_MMA_BACKWARD, &p, owned);
    assert_int_equal(walk.kernel[2].counters.read[FA_Q], 20 * 4);
    assert_int_equal(walk.kernel[2].counters.write[FA_DQ], 100 * 4);
    walk = walk_of(SIM_WALK_BACKWARD, &p, owned);
    assert_int_equal(walk.kernel[2].counters.read[FA_Q], 100 * 4);
}

/* Two blocks that share a tile of keys read all of it twice, and write each its columns. */
static void halves(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(70, 50, 8);
    p.heads = 4;
    p.kv_heads = 2;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    for (int owns = 0; owns < 2; owns++) {
        struct sim_walk_tiles tiles = {16, 16, owns ? 16 : 0, owns ? 16 : 0, 1};
        struct sim_kernel_walk one = walk_of(SIM_WALK_MMA_BACKWARD, &p, tiles);
        tiles.parts = 2;
        struct sim_kernel_walk two = walk_of(SIM_WALK_MMA_BACKWARD, &p, tiles);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(read_by(&two, k), (k == 1 ? 2 : 1) * read_by(&one, k));
            assert_int_equal(written_by(&two, k), written_by(&one, k));
        }
        assert_true(read_by(&one, 1) > 0);
    }
    struct sim_kernel_walk walk;
    const struct sim_walk_tiles three = {16, 16, 0, 0, 3};
    assert_int_equal(sim_kernel_walk(SIM_WALK_MMA_BACKWARD, &p, &three, &walk, NULL),
                     FA_BAD_ARGUMENT);
}

/* Pairs of tiles that meet, and of each side the tiles that meet any. */
struct meetings {
    uint64_t pairs, rows, keys;
};

static struct meetings meetings_of(const struct fa_problem *p, int64_t br, int64_t bc)
{
    struct meetings m = {0, 0, 0};
    for (int64_t r = 0; r < p->nq; r += br) {
        m.rows += visits(p, r, br, 0, p->nk);
        for (int64_t k = 0; k < p->nk; k += bc)
            m.pairs += visits(p, r, br, k, bc);
    }
    for (int64_t k = 0; k < p->nk; k += bc)
        m.keys += visits(p, 0, p->nq, k, bc);
    return m;
}

/* The copy engine's boxes, and the workspace's tiles, have the rows that a last tile lacks; what
 * goes to the outputs has not. */
static void compare_boxes(const struct fa_problem *p, int64_t br, int64_t bc)
{
    const uint64_t heads = (uint64_t)(p->batch * p->heads), d = (uint64_t)p->d;
    const uint64_t groups = (uint64_t)(p->batch * p->kv_heads), nq = (uint64_t)p->nq;
    const uint64_t whole = (uint64_t)((p->nq + br - 1) / br * br), nk = (uint64_t)p->nk;
    const struct sim_walk_tiles added = {br, bc, 0, 0, 1}, owned = {br, bc, bc, br, 1};
    struct meetings m = meetings_of(p, br, bc), turned = meetings_of(p, bc, br);
    uint64_t rows = (uint64_t)br, keys = (uint64_t)bc;
    struct sim_kernel_walk walk = walk_of(SIM_WALK_COPY_ENGINE, p, added);
    assert_int_equal(read_by(&walk, 0), heads * (m.rows * rows * d + m.pairs * keys * 2 * d));
    assert_int_equal(written_by(&walk, 0), heads * nq * (d + 1));
    walk = walk_of(SIM_WALK_WS_BACKWARD, p, added);
    assert_int_equal(read_by(&walk, 0), heads * nq * (2 * d + 1));
    assert_int_equal(walk.kernel[0].write_bytes, heads * (2 * nq + whole * d) * 4);
    assert_int_equal(read_by(&walk, 1),
                     groups * m.keys * keys * 2 * d + heads * m.pairs * rows * (2 * d + 2));
    assert_int_equal(walk.kernel[1].write_bytes,
                     groups * nk * 2 * d * 2 + heads * m.pairs * rows * d * 4);
    assert_int_equal(walk.kernel[2].read_bytes, heads * whole * d * 4);
    assert_int_equal(walk.kernel[2].write_bytes, heads * nq * d * 2);
    walk = walk_of(SIM_WALK_WS_BACKWARD, p, owned);
    assert_int_equal(walk.kernel[1].counters.write[FA_DQ], 0);
    assert_int_equal(read_by(&walk, 2),
                     heads * (turned.rows * keys * 2 * d + 2 * nq + turned.pairs * rows * 2 * d));
    assert_int_equal(written_by(&walk, 2), heads * nq * d);
}

static void boxes_are_whole(void **state)
{
    (void)state;
    static const int64_t sides[][4] = {
        {65, 65, 16, 16}, {130, 50, 32, 16}, {50, 130, 16, 48}, {7, 40, 64, 8}, {64, 32, 16, 16}};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int mask = 0; mask < 3; mask++) {
            struct fa_problem p = fa_problem_make(sides[s][0], sides[s][1], 8);
            p.batch = 2;
            p.heads = 6;
            p.kv_heads = 3;
            p.dtype = FA_F16;
            p.causal = mask == 1   ? FA_CAUSAL_BOTTOM_RIGHT
                       : mask == 2 ? FA_CAUSAL_TOP_LEFT
                                   : FA_CAUSAL_NONE;
            compare_boxes(&p, sides[s][2], sides[s][3]);
        }
}

static void kernels_by_name(void **state)
{
    (void)state;
    assert_int_equal(sim_walk_of("standard", false), SIM_WALK_STANDARD);
    assert_int_equal(sim_walk_of("flash1", false), SIM_WALK_FLASH1);
    assert_int_equal(sim_walk_of("async", false), SIM_WALK_FLASH2);
    assert_int_equal(sim_walk_of("flash2", true), SIM_WALK_BACKWARD);
    assert_int_equal(sim_walk_of("mma", true), SIM_WALK_MMA_BACKWARD);
    assert_int_equal(sim_walk_of("wgmma", false), SIM_WALK_COPY_ENGINE);
    assert_int_equal(sim_walk_of("ws", false), SIM_WALK_COPY_ENGINE);
    assert_int_equal(sim_walk_of("ws", true), SIM_WALK_WS_BACKWARD);
}

static void nothing_to_count(void **state)
{
    (void)state;
    static const int64_t sides[][3] = {{0, 5, 2}, {5, 0, 2}, {5, 5, 0}, {0, 0, 0}};
    const struct sim_walk_tiles tiles = {64, 64, 64, 64, 1};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
        for (int which = SIM_WALK_STANDARD; which <= SIM_WALK_WS_BACKWARD; which++) {
            struct fa_problem p = fa_problem_make(sides[s][0], sides[s][1], 4);
            p.heads = p.kv_heads = sides[s][2];
            const struct sim_kernel_walk walk = walk_of((enum sim_walk)which, &p, tiles);
            for (int k = 0; k < walk.n && sides[s][2] == 0; k++)
                assert_int_equal(walk.kernel[k].read_bytes + walk.kernel[k].write_bytes, 0);
        }
}

static void expect_refusal(const struct fa_problem *problem, struct sim_walk_tiles tiles,
                           enum fa_status expected, const char *text)
{
    struct sim_kernel_walk walk, before;
    struct fa_error error = {FA_OK, ""};
    memset(&walk, 0x5a, sizeof walk);
    before = walk;
    assert_int_equal(sim_kernel_walk(SIM_WALK_BACKWARD, problem, &tiles, &walk, &error), expected);
    assert_non_null(strstr(error.text, text));
    assert_memory_equal(&walk, &before, sizeof walk);
}

static void refusals(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(8, 8, 4), long_one = fa_problem_make(1 << 20, 1 << 20, 4);
    struct fa_tensor mask = {.shape = {1, 1, 8, 8}, .dtype = FA_U8};
    expect_refusal(&p, (struct sim_walk_tiles){0, 4, 0, 0, 1}, FA_BAD_ARGUMENT,
                   "expected 1 or more");
    expect_refusal(&p, (struct sim_walk_tiles){4, 4, 4, 0, 1}, FA_BAD_ARGUMENT,
                   "expected 1 or more");
    expect_refusal(&long_one, (struct sim_walk_tiles){4, 4, 0, 0, 1}, FA_TOO_LARGE,
                   "expected 2^34 at most");
    long_one.heads = long_one.kv_heads = INT64_C(1) << 20;
    expect_refusal(&long_one, (struct sim_walk_tiles){1024, 1024, 0, 0, 1}, FA_TOO_LARGE, "2^62");
    p.mask = &mask;
    expect_refusal(&p, (struct sim_walk_tiles){4, 4, 0, 0, 1}, FA_UNSUPPORTED,
                   "without element mask");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_as_predicted),
        cmocka_unit_test(backward_as_predicted),
        cmocka_unit_test(masked_as_brute_force),
        cmocka_unit_test(unseen_keys),
        cmocka_unit_test(halves),
        cmocka_unit_test(boxes_are_whole),
        cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(nothing_to_count),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
