#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "reference/visibility.h"

/* The sentences of problem.h, for one query and one key. Differences only: a bound may be as large
 * as an int64_t goes. */
static bool sees(const struct fa_problem *p, int64_t row, int64_t key)
{
    int64_t before = (p->causal == FA_CAUSAL_TOP_LEFT ? row : row + p->nk - p->nq) - key;
    if (p->causal != FA_CAUSAL_NONE && before < 0)
        return false;
    if (p->window_left >= 0 && before > p->window_left)
        return false;
    return p->window_right < 0 || -before <= p->window_right;
}

/* How many elements of tile (i, j) are visible, and how many there are. */
static void look_at_tile(const struct fa_run *run, int64_t i, int64_t j, int64_t *visible,
                         int64_t *all)
{
    const struct fa_problem *p = &run->problem;
    *visible = *all = 0;
    for (int64_t r = i * run->tiles.br; r < (i + 1) * run->tiles.br && r < p->nq; r++)
        for (int64_t c = j * run->tiles.bc; c < (j + 1) * run->tiles.bc && c < p->nk; c++) {
            *visible += sees(p, r, c);
            *all += 1;
        }
}

static void fail_at(const struct fa_run *run, const char *what, int64_t i, int64_t j)
{
    const struct fa_problem *p = &run->problem;
    fail_msg("%s: nq %" PRId64 ", nk %" PRId64 ", %s, window %" PRId64 ",%" PRId64
             ", tiles %" PRId64 "x%" PRId64 ", at (%" PRId64 ", %" PRId64 ")",
             what, p->nq, p->nk, fa_causal_name(p->causal), p->window_left, p->window_right,
             run->tiles.br, run->tiles.bc, i, j);
}

static void check_rows(const struct fa_run *run)
{
    const struct fa_problem *p = &run->problem;
    for (int64_t r = 0; r < p->nq; r++) {
        struct fa_span span = fa_visible_keys(p, r);
        for (int64_t c = 0; c < p->nk; c++)
            if (sees(p, r, c) == fa_outside(span, c))
                fail_at(run, "fa_visible_keys", r, c);
    }
}

/* A tile is visited if it is in the span, and then cut if it is not among the whole ones. */
static void check_tile(const struct fa_run *run, const char *what, struct fa_span seen,
                       struct fa_span whole, int64_t along, int64_t i, int64_t j)
{
    int64_t visible, all;
    look_at_tile(run, i, j, &visible, &all);
    if (fa_outside(seen, along) != (visible == 0))
        fail_at(run, what, i, j);
    if (!fa_outside(seen, along) && fa_outside(whole, along) != (visible < all))
        fail_at(run, "a tile is whole if nothing in it is hidden", i, j);
}

static void check_tiles(const struct fa_run *run)
{
    const struct fa_problem *p = &run->problem;
    int64_t tr = (p->nq + run->tiles.br - 1) / run->tiles.br;
    int64_t tc = (p->nk + run->tiles.bc - 1) / run->tiles.bc;
    assert_int_equal(fa_tile_count(p->nq, run->tiles.br), tr);
    for (int64_t i = 0; i < tr; i++) {
        struct fa_span seen = fa_visible_key_tiles(run, i), whole = fa_whole_key_tiles(run, i);
        if (seen.first < 0 || seen.end > tc)
            fail_at(run, "a span of key tiles past the matrix", i, -1);
        for (int64_t j = 0; j < tc; j++)
            check_tile(run, "fa_visible_key_tiles", seen, whole, j, i, j);
    }
    for (int64_t j = 0; j < tc; j++) {
        struct fa_span seen = fa_visible_query_tiles(run, j), whole = fa_whole_query_tiles(run, j);
        if (seen.first < 0 || seen.end > tr)
            fail_at(run, "a span of query tiles past the matrix", -1, j);
        for (int64_t i = 0; i < tr; i++)
            check_tile(run, "fa_visible_query_tiles", seen, whole, i, i, j);
    }
}

static const int64_t sides[] = {0, 1, 2, 3, 5, 8, 13, 16};
static const int64_t tiles[] = {1, 2, 3, 4, 7, 16, 20};
static const int64_t bounds[] = {-1, 0, 1, 3, 4, 40, INT64_MAX};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* All masks over one problem size and tile size. */
static void check_masks(struct fa_run *run)
{
    for (int causal = 0; causal < 3; causal++)
        for (int w = 0; w < COUNT(bounds) * COUNT(bounds); w++) {
            run->problem.causal = (enum fa_causal)causal;
            run->problem.window_left = bounds[w / COUNT(bounds)];
            run->problem.window_right = bounds[w % COUNT(bounds)];
            check_rows(run);
            check_tiles(run);
        }
}

static void every_span_against_the_elements(void **state)
{
    (void)state;
    struct fa_run run;
    memset(&run, 0, sizeof run);
    for (int n = 0; n < COUNT(sides) * COUNT(sides); n++)
        for (int t = 0; t < COUNT(tiles); t++) {
            run.problem = fa_problem_make(sides[n / COUNT(sides)], sides[n % COUNT(sides)], 1);
            run.tiles.br = tiles[t];
            run.tiles.bc = tiles[(t + n) % COUNT(tiles)];
            check_masks(&run);
        }
}

/* Where a product or a sum of indices could leave 64 bits. */
static void largest_sizes(void **state)
{
    (void)state;
    struct fa_run run;
    memset(&run, 0, sizeof run);
    int64_t n = (int64_t)1 << 40;
    run.problem = fa_problem_make(n, n, 1);
    run.tiles = (struct fa_tiles){64, 128, 1, 1};
    run.problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    struct fa_span span = fa_visible_key_tiles(&run, n / 64 - 1);
    assert_int_equal(span.first, 0);
    assert_int_equal(span.end, n / 128);
    span = fa_whole_key_tiles(&run, n / 64 - 1);
    assert_int_equal(span.end, n / 128 - 1);
    run.problem.window_left = run.problem.window_right = INT64_MAX;
    span = fa_visible_key_tiles(&run, 0);
    assert_int_equal(span.first, 0);
    assert_int_equal(span.end, 1);
    span = fa_visible_query_tiles(&run, n / 128 - 1);
    assert_int_equal(span.first, n / 64 - 2);
    assert_int_equal(span.end, n / 64);
    assert_int_equal(fa_tile_count(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

static void outside(void **state)
{
    (void)state;
    struct fa_span span = {2, 4}, empty = {3, 3};
    assert_true(fa_outside(span, 1));
    assert_false(fa_outside(span, 2));
    assert_false(fa_outside(span, 3));
    assert_true(fa_outside(span, 4));
    assert_true(fa_outside(empty, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_span_against_the_elements),
        cmocka_unit_test(largest_sizes),
        cmocka_unit_test(outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
