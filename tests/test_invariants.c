/*
 * The sentences above the algorithms' tile loops, held against what lies on chip after each tile:
 * m, l and O of the keys seen so far, computed here from q, k and v in double, key by key.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/algorithm.h"
#include "reference/plain_port.h"
#include "tests/random_case.h"

/* What the tiles on chip hold between two tiles of keys. */
enum kept {
    KEPT_STATISTICS, /* m = max s, l = sum exp(s - m) over the keys so far */
    KEPT_SUM,        /* and O = sum exp(s - m) v */
    KEPT_MEAN,       /* and O = sum exp(s - m) v / l */
    KEPT_PART,       /* no m and l; O = sum exp(s - m) v / l with the m and l of the whole row */
};

/* Up to where the keys have been seen after an operation. */
enum seen { SEEN_TILE, SEEN_CHUNK, SEEN_ALL };

static const struct rule {
    const struct fa_algorithm *algorithm;
    enum fa_op op; /* after it the sentence must hold */
    enum kept kept;
    enum seen seen;
} rules[] = {
    {&fa_standard, FA_OP_SOFTMAX_ROWS, KEPT_STATISTICS, SEEN_ALL},
    {&fa_standard, FA_OP_ROW_STATS, KEPT_STATISTICS, SEEN_CHUNK},
    {&fa_standard, FA_OP_ACCUMULATE, KEPT_PART, SEEN_TILE},
    {&fa_square_tiling, FA_OP_SOFTMAX_ROWS, KEPT_STATISTICS, SEEN_ALL},
    {&fa_square_tiling, FA_OP_ROW_STATS, KEPT_STATISTICS, SEEN_CHUNK},
    {&fa_square_tiling, FA_OP_ACCUMULATE_PART, KEPT_PART, SEEN_TILE},
    {&fa_flash1, FA_OP_ACCUMULATE, KEPT_MEAN, SEEN_TILE},
    {&fa_flash2, FA_OP_ACCUMULATE, KEPT_SUM, SEEN_TILE},
    {&fa_fused_save_p, FA_OP_ROW_STATS, KEPT_STATISTICS, SEEN_TILE},
    {&fa_fused_save_p, FA_OP_ACCUMULATE, KEPT_PART, SEEN_TILE},
};
enum { RULES = (int)(sizeof rules / sizeof rules[0]) };

/* A plain port that is looked at. */
struct watcher {
    struct fa_port port; /* first */
    const struct fa_algorithm *algorithm;
    const struct attention_case *attention;
    double tolerance; /* relative */
    double v_size;    /* the largest |V|, or 1 */
    double *last_m;   /* [nq]: m of the tile before, of the head at work */
    int64_t head;     /* at work; -1: none */
    int64_t column;   /* of V, and so of O, where the parts on chip begin */
    int64_t looks[RULES];
    int64_t empty, full; /* rows that had seen no key, and some */
};

/* One query from the definitions, over the keys [0, end). */
struct row {
    double m, l;
    double *o; /* [dv]: sum of exp(s - m) v */
};

static double modifier(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t r,
                       int64_t key)
{
    const int64_t *n = tensor->shape;
    return fa_tensor_get(tensor, n[0] == 1 ? 0 : batch, n[1] == 1 ? 0 : head, n[2] == 1 ? 0 : r,
                         n[3] == 1 ? 0 : key);
}

/* -inf for a hidden key. */
static double score_of(const struct attention_case *a, int64_t batch, int64_t head, int64_t r,
                       int64_t key)
{
    const struct fa_problem *p = &a->problem;
    int64_t before = (p->causal == FA_CAUSAL_TOP_LEFT ? r : r + p->nk - p->nq) - key;
    double dot = 0;
    if ((p->causal != FA_CAUSAL_NONE && before < 0) ||
        (p->window_left >= 0 && before > p->window_left) ||
        (p->window_right >= 0 && -before > p->window_right) ||
        (p->mask && modifier(p->mask, batch, head, r, key) == 0))
        return -INFINITY;
    for (int64_t c = 0; c < p->d; c++)
        dot += fa_tensor_get(&a->q, batch, head, r, c) *
               fa_tensor_get(&a->k, batch, head / (p->heads / p->kv_heads), key, c);
    return p->scale * dot + (p->bias ? modifier(p->bias, batch, head, r, key) : 0);
}

static void find_row(const struct attention_case *a, int64_t global_head, int64_t r, int64_t end,
                     struct row *row)
{
    const struct fa_problem *p = &a->problem;
    int64_t batch = global_head / p->heads, head = global_head % p->heads;
    row->m = -INFINITY;
    row->l = 0;
    memset(row->o, 0, (size_t)p->dv * sizeof *row->o);
    for (int64_t key = 0; key < end; key++)
        row->m = fmax(row->m, score_of(a, batch, head, r, key));
    for (int64_t key = 0; key < end; key++) {
        double s = score_of(a, batch, head, r, key);
        if (s == -INFINITY)
            continue;
        row->l += exp(s - row->m);
        for (int64_t c = 0; c < p->dv; c++)
            row->o[c] += exp(s - row->m) *
                         fa_tensor_get(&a->v, batch, head / (p->heads / p->kv_heads), key, c);
    }
}

static void expect_near(const struct watcher *watcher, const char *what, int64_t r, double got,
                        double expected, double size)
{
    const struct fa_place *at = &watcher->port.at;
    if (got == expected || fabs(got - expected) <= watcher->tolerance * size)
        return;
    fail_msg("%s, %s (%s), head %" PRId64 ", tile (%" PRId64 ", %" PRId64 "): %s of row %" PRId64
             " is %.17g, expected %.17g",
             watcher->algorithm->name, watcher->attention->name,
             fa_dtype_name(watcher->attention->problem.dtype), at->head, at->i, at->j, what, r, got,
             expected);
}

/* Row r is row `local` of the tiles. */
static void look_at_statistics(struct watcher *watcher, int64_t local, int64_t r,
                               const struct row *row)
{
    double m = fa_tile_get(&watcher->port, FA_M, local, 0);
    double l = fa_tile_get(&watcher->port, FA_L, local, 0);
    double spread = fmax(1, fabs(row->m)); /* a score's error is relative, and exp makes it l's */
    expect_near(watcher, "m", r, m, row->m, spread);
    expect_near(watcher, "l", r, l, row->l, row->l * spread);
    if (m < watcher->last_m[r])
        fail_msg("%s: m of row %" PRId64 " fell from %g to %g", watcher->algorithm->name, r,
                 watcher->last_m[r], m);
    watcher->last_m[r] = m;
    watcher->empty += row->l == 0;
    watcher->full += row->l != 0;
}

/* O is `factor` times the sum of exp(s - m) v, and exactly 0 while the row saw no key. */
static void look_at_o(struct watcher *watcher, int64_t local, int64_t r, const struct row *row,
                      double factor)
{
    double size = row->l > 0 ? fmax(1, fabs(row->m)) * fmax(1, factor * row->l) : 0;
    for (int64_t c = 0; c < watcher->port.tile[FA_O].columns; c++)
        expect_near(watcher, "O", r, fa_tile_get(&watcher->port, FA_O, local, c),
                    row->l > 0 ? factor * row->o[watcher->column + c] : 0, size * watcher->v_size);
}

/* All rows on chip, after the keys [0, end). */
static void look(struct watcher *watcher, enum kept kept, int64_t end)
{
    const struct fa_port *port = &watcher->port;
    const struct fa_problem *p = &port->run->problem;
    int64_t block = port->tile[FA_O].live ? port->run->tiles.br : port->run->tiles.row_block;
    int64_t rows = port->tile[kept == KEPT_PART ? FA_O : FA_M].rows;
    double *sums = calloc((size_t)p->dv, 2 * sizeof *sums);
    struct row row = {.o = sums}, whole = {.o = sums + p->dv};
    assert_non_null(sums);
    assert_int_equal(rows, p->nq - port->at.i * block < block ? p->nq - port->at.i * block : block);
    for (int64_t local = 0; local < rows; local++) {
        int64_t r = port->at.i * block + local;
        double factor = 1;
        find_row(watcher->attention, port->at.head, r, end, &row);
        if (kept == KEPT_PART) {
            find_row(watcher->attention, port->at.head, r, p->nk, &whole);
            factor = row.l > 0 ? exp(row.m - whole.m) / whole.l : 0;
        } else {
            look_at_statistics(watcher, local, r, &row);
        }
        if (kept == KEPT_MEAN && row.l > 0)
            factor = 1 / row.l;
        if (kept != KEPT_STATISTICS)
            look_at_o(watcher, local, r, &row, factor);
    }
    free(sums);
}

static void watched_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    if (id == FA_V)
        ((struct watcher *)port)->column = column;
    fa_plain_verbs.load(port, id, row, column);
}

static void watched_compute(struct fa_port *port, enum fa_op op)
{
    struct watcher *watcher = (struct watcher *)port;
    const struct fa_run *run = port->run;
    fa_plain_verbs.compute(port, op);
    if (port->at.head != watcher->head)
        for (int64_t r = 0; r < run->problem.nq; r++)
            watcher->last_m[r] = -INFINITY;
    watcher->head = port->at.head;
    for (int n = 0; n < RULES; n++) {
        int64_t width = rules[n].seen == SEEN_TILE ? run->tiles.bc : run->tiles.column_chunk;
        int64_t end = run->problem.nk;
        if (rules[n].algorithm != watcher->algorithm || rules[n].op != op)
            continue;
        if (rules[n].seen != SEEN_ALL && (port->at.j + 1) * width < end)
            end = (port->at.j + 1) * width;
        look(watcher, rules[n].kept, end);
        watcher->looks[n]++;
    }
}

static void make_finite(struct watcher *watcher, const struct fa_tensor *tensor)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++) {
                    if (!isfinite(fa_tensor_get(tensor, b, h, r, c)))
                        fa_tensor_set(tensor, b, h, r, c, 1);
                    watcher->v_size =
                        fmax(watcher->v_size, fabs(fa_tensor_get(tensor, b, h, r, c)));
                }
}

static void watch(struct watcher *watcher, struct attention_case *attention,
                  const struct fa_algorithm *algorithm, const struct fa_tiles *tiles)
{
    struct fa_port_verbs verbs = fa_plain_verbs;
    struct fa_port *port = &watcher->port;
    struct fa_problem *p = &attention->problem;
    struct fa_tensor o;
    struct fa_run run;
    verbs.compute = watched_compute;
    verbs.load = watched_load;
    make_finite(watcher, &attention->q);
    make_finite(watcher, &attention->k);
    watcher->v_size = 1;
    make_finite(watcher, &attention->v);
    assert_int_equal(
        fa_tensor_create(&o, p->dtype, (int64_t[]){p->batch, p->heads, p->nq, p->dv}, NULL), FA_OK);
    watcher->last_m = malloc((size_t)(p->nq + 1) * sizeof *watcher->last_m);
    assert_non_null(watcher->last_m);
    assert_int_equal(fa_run_open(&run, algorithm, p, tiles, &attention->q, &attention->k,
                                 &attention->v, &o, NULL, false, NULL),
                     FA_OK);
    fa_port_open(port, &verbs, &run);
    watcher->algorithm = algorithm;
    watcher->attention = attention;
    watcher->head = -1;
    assert_int_equal(fa_execute(algorithm, &port, 1, p->batch * p->heads, NULL, NULL), FA_OK);
    fa_port_close(port);
    fa_run_close(&run);
    free(watcher->last_m);
    fa_tensor_free(&o);
}

static void after_each_tile(enum fa_dtype dtype, double tolerance)
{
    struct watcher *watcher = calloc(1, sizeof *watcher);
    assert_non_null(watcher);
    watcher->tolerance = tolerance;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct random_stream stream = {seed};
        struct attention_case attention;
        random_case_make(&attention, 9000 + seed, dtype);
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            struct fa_tiles tiles = {random_between(&stream, 1, 20), random_between(&stream, 1, 20),
                                     random_between(&stream, 1, 20),
                                     random_once_in(&stream, 2) ? 100
                                                                : random_between(&stream, 1, 20)};
            watch(watcher, &attention, fa_algorithms[a], &tiles);
        }
        attention_case_free(&attention);
    }
    for (int n = 0; n < RULES; n++)
        assert_true(watcher->looks[n] > 100);
    assert_true(watcher->empty > 300 && watcher->full > 1000);
    free(watcher);
}

static void after_each_tile_in_f64(void **state)
{
    (void)state;
    after_each_tile(FA_F64, 1e-14);
}

/* Scores are off by a few roundings, and so is what they are exponents of. */
static void after_each_tile_in_f32(void **state)
{
    (void)state;
    after_each_tile(FA_F32, 64 * 0x1p-24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_each_tile_in_f64),
        cmocka_unit_test(after_each_tile_in_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
