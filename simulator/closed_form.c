#include "simulator/closed_form_parts.h"

#include <inttypes.h>
#include <string.h>

typedef sim_wide wide;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* The key that row 0 stands on, and how far it sees from there; nk + nq is as good as infinity. */
struct band {
    int64_t before, after, diagonal;
};

static struct band band_of(const struct fa_problem *p)
{
    int64_t all = p->nk > INT64_MAX / 4 - p->nq ? INT64_MAX / 4 : p->nk + p->nq;
    struct band band = {all, all, p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq};
    if (p->window_left >= 0 && p->window_left < all)
        band.before = p->window_left;
    if (p->window_right >= 0 && p->window_right < all)
        band.after = p->window_right;
    if (p->causal != FA_CAUSAL_NONE)
        band.after = 0;
    return band;
}

/* Adds query tile i. Its rows r0 .. r1 see the keys from the first one of r0 to the last of r1. */
static void add_row_block(struct sim_visited *sum, const struct sim_tiling *s, const struct band *band,
                          int64_t i)
{
    int64_t r0 = i * s->br, r1 = clamp(r0 + s->br, 0, s->nq) - 1, rows = r1 - r0 + 1;
    int64_t seen_from = clamp(r0 + band->diagonal - band->before, 0, s->nk);
    int64_t seen_to = clamp(r1 + band->diagonal + band->after + 1, 0, s->nk);
    if (seen_from >= seen_to)
        return;
    int64_t first = seen_from / s->bc, end = sim_ceiling(seen_to, s->bc);
    int64_t columns = clamp(end * s->bc, 0, s->nk) - first * s->bc;
    /* Tiles that every row sees whole: from the last row's first key to the first row's last. */
    int64_t whole_from = clamp(r1 + band->diagonal - band->before, 0, s->nk);
    int64_t whole_to = clamp(r0 + band->diagonal + band->after + 1, 0, s->nk);
    int64_t whole_first = sim_ceiling(whole_from, s->bc);
    int64_t whole_end = whole_to == s->nk ? s->tc : whole_to / s->bc;
    int64_t whole = whole_end > whole_first ? whole_end - whole_first : 0;

    sum->tiles += (wide)(end - first);
    sum->masked += (wide)(end - first - whole);
    sum->rows_of_tiles += (wide)rows * (wide)(end - first);
    sum->columns_of_tiles += (wide)columns;
    sum->area += (wide)rows * (wide)columns;
    sum->query_rows += (wide)rows;
}

struct sim_visited sim_visit_all(const struct sim_tiling *s)
{
    wide tr = (wide)s->tr, tc = (wide)s->tc, nq = (wide)s->nq, nk = (wide)s->nk;
    return (struct sim_visited){
        .tiles = tr * tc,
        .rows_of_tiles = nq * tc,
        .columns_of_tiles = nk * tr,
        .area = nq * nk,
        .query_rows = nk ? nq : 0,
        .key_columns = nq ? nk : 0,
    };
}

/* The keys that rows r0 .. r1 see between them (or, with `whole`, each of them). */
static void keys_of_rows(const struct sim_tiling *s, const struct band *band, int64_t r0, int64_t r1,
                         bool whole, int64_t *from, int64_t *to)
{
    int64_t first = whole ? r1 : r0, last = whole ? r0 : r1;
    *from = clamp(first + band->diagonal - band->before, 0, s->nk);
    *to = clamp(last + band->diagonal + band->after + 1, 0, s->nk);
}

/* Tile by tile, where a block mask of the tiles' own size leaves any pattern of them. */
static struct sim_visited visit_blocks(const struct fa_problem *p, const struct sim_tiling *s,
                                       const struct band *band)
{
    struct sim_visited sum = {0, 0, 0, 0, 0, 0, 0};
    for (int64_t i = 0; i < s->tr; i++) {
        int64_t r0 = i * s->br, r1 = clamp(r0 + s->br, 0, s->nq) - 1, from, to, all_from, all_to;
        bool any = false;
        keys_of_rows(s, band, r0, r1, false, &from, &to);
        keys_of_rows(s, band, r0, r1, true, &all_from, &all_to);
        for (int64_t j = 0; j < s->tc; j++) {
            int64_t c0 = j * s->bc, c1 = clamp(c0 + s->bc, 0, s->nk);
            if (!p->blocks->visit[i * s->tc + j] || c0 >= to || c1 <= from)
                continue;
            any = true;
            sum.tiles++;
            sum.masked += all_from > c0 || all_to < c1;
            sum.rows_of_tiles += (wide)(r1 - r0 + 1);
            sum.columns_of_tiles += (wide)(c1 - c0);
            sum.area += (wide)(r1 - r0 + 1) * (wide)(c1 - c0);
        }
        if (any)
            sum.query_rows += (wide)(r1 - r0 + 1);
    }
    for (int64_t j = 0; j < s->tc; j++) {
        int64_t c0 = j * s->bc, c1 = clamp(c0 + s->bc, 0, s->nk);
        bool any = false;
        for (int64_t i = 0; i < s->tr && !any; i++) {
            int64_t r0 = i * s->br, r1 = clamp(r0 + s->br, 0, s->nq) - 1, from, to;
            keys_of_rows(s, band, r0, r1, false, &from, &to);
            any = p->blocks->visit[i * s->tc + j] && c0 < to && c1 > from;
        }
        if (any)
            sum.key_columns += (wide)(c1 - c0);
    }
    return sum;
}

struct sim_visited sim_visit_masked(const struct fa_problem *p, const struct sim_tiling *s)
{
    struct sim_visited sum = {0, 0, 0, 0, 0, 0, 0};
    struct band band = band_of(p);
    if (p->blocks && p->blocks->br == s->br && p->blocks->bc == s->bc)
        return visit_blocks(p, s, &band);
    for (int64_t i = 0; i < s->tr; i++)
        add_row_block(&sum, s, &band, i);
    /* The rows together see one interval of keys, from row 0's first to the last row's last. */
    int64_t from = clamp(band.diagonal - band.before, 0, s->nk);
    int64_t to = clamp(s->nq - 1 + band.diagonal + band.after + 1, 0, s->nk);
    if (s->nq > 0 && from < to)
        sum.key_columns = (wide)(clamp(sim_ceiling(to, s->bc) * s->bc, 0, s->nk) -
                                 from / s->bc * s->bc);
    return sum;
}

static bool has_structure(const struct fa_problem *p)
{
    return p->causal != FA_CAUSAL_NONE || p->window_left >= 0 || p->window_right >= 0 || p->blocks;
}

static struct sim_tiling shape_of(const struct fa_problem *p, const struct fa_tiles *tiles)
{
    return (struct sim_tiling){p->nq, p->nk, tiles->br, tiles->bc, sim_ceiling(p->nq, tiles->br),
                          sim_ceiling(p->nk, tiles->bc), (wide)p->d, (wide)p->dv};
}

/* Elements of a mask or bias that tiles read: an axis of 1 is read once a tile. */
static wide modifier_read(const struct fa_tensor *t, const struct sim_visited *v)
{
    bool one_row = t->shape[2] == 1, one_column = t->shape[3] == 1;
    if (one_row && one_column)
        return v->tiles;
    if (one_row)
        return v->columns_of_tiles;
    return one_column ? v->rows_of_tiles : v->area;
}

/* What the flash passes add where the problem has a bias or a mask; `times` a tile. */
void sim_count_modifiers(struct sim_head_counts *c, const struct fa_problem *p, const struct sim_visited *v,
                          wide times)
{
    if (p->bias) {
        c->read[FA_BIAS] = times * modifier_read(p->bias, v);
        c->other += times * v->area;
    }
    if (p->mask)
        c->read[FA_MASK] = times * modifier_read(p->mask, v);
    if (p->dropout_p > 0 && p->dropout_keep)
        c->read[FA_DROPOUT] = times * v->area;
}

static void count_standard(struct sim_head_counts *c, const struct fa_problem *p, const struct sim_tiling *s,
                           const struct fa_tiles *tiles)
{
    struct sim_visited all = sim_visit_all(s);
    wide nq = (wide)s->nq, nk = (wide)s->nk, tr = (wide)s->tr, area = nq * nk;
    bool whole = tiles->column_chunk >= s->nk;
    wide passes = (wide)(p->bias != NULL) + (wide)(p->mask != NULL);

    c->read[FA_Q] = nq * s->d;
    c->read[FA_K] = tr * nk * s->d;
    c->read[FA_V] = tr * nk * s->dv;
    c->read[FA_S] = (whole ? 1 : 2) * area + passes * area;
    c->read[FA_P] = area;
    c->write[FA_S] = area + passes * area;
    c->write[FA_P] = area;
    c->write[FA_O] = nq * s->dv;
    c->matmul = 2 * area * (s->d + s->dv);
    c->other = area;
    sim_count_modifiers(c, p, &all, 1);
    if (p->dropout_p > 0) {
        c->read[FA_P] += area;
        c->write[FA_P] += area;
        c->write[FA_DROPOUT] = p->dropout_keep ? 0 : area;
        c->other += area;
    }
    if (whole) {
        c->exp = area;
        c->other += 4 * area;
    } else {
        wide chunks = nq * (wide)sim_ceiling(s->nk, tiles->column_chunk);
        c->exp = 2 * area + chunks;
        c->other += 5 * area + 4 * chunks;
    }
}

/* Chunks of Br columns: Q is read for each key tile, P for each chunk of O. */
static void count_square_tiling(struct sim_head_counts *c, const struct fa_problem *p,
                                const struct sim_tiling *s, const struct fa_tiles *tiles)
{
    wide area = (wide)s->nq * (wide)s->nk;
    wide dv_chunks = (wide)sim_ceiling(p->dv, s->br);
    count_standard(c, p, s, tiles);
    c->read[FA_Q] = (wide)s->tc * (wide)s->nq * s->d;
    c->read[FA_P] += (dv_chunks - 1) * area;
}

static void count_flash1(struct sim_head_counts *c, const struct fa_problem *p, const struct sim_tiling *s,
                         const struct sim_visited *v)
{
    wide nq = (wide)s->nq;
    c->read[FA_Q] = v->rows_of_tiles * s->d;
    c->read[FA_O] = v->rows_of_tiles * s->dv;
    c->read[FA_L] = c->read[FA_M] = v->rows_of_tiles;
    c->read[FA_K] = v->key_columns * s->d;
    c->read[FA_V] = v->key_columns * s->dv;
    c->write[FA_O] = (nq + v->rows_of_tiles) * s->dv;
    c->write[FA_L] = c->write[FA_M] = nq + v->rows_of_tiles;
    c->matmul = 2 * v->area * (s->d + s->dv);
    c->exp = v->area + 2 * v->rows_of_tiles;
    c->other = 5 * v->area + v->rows_of_tiles * (s->dv + 9);
    sim_count_modifiers(c, p, v, 1);
    if (p->dropout_p > 0)
        c->other += v->area;
}

static void count_flash2(struct sim_head_counts *c, const struct fa_problem *p, const struct sim_tiling *s,
                         const struct sim_visited *v)
{
    wide nq = (wide)s->nq;
    c->read[FA_Q] = v->query_rows * s->d;
    c->read[FA_K] = v->columns_of_tiles * s->d;
    c->read[FA_V] = v->columns_of_tiles * s->dv;
    c->write[FA_O] = nq * s->dv;
    c->write[FA_LSE] = nq;
    c->matmul = 2 * v->area * (s->d + s->dv);
    c->exp = v->area + v->rows_of_tiles;
    c->other = 4 * v->area + v->rows_of_tiles * (s->dv + 4) + nq * (s->dv + 2);
    sim_count_modifiers(c, p, v, 1);
    if (p->dropout_p > 0)
        c->other += v->area;
}

static void count_fused_save_p(struct sim_head_counts *c, const struct fa_problem *p,
                               const struct sim_tiling *s, const struct sim_visited *v)
{
    wide nq = (wide)s->nq;
    c->read[FA_Q] = v->query_rows * s->d;
    c->read[FA_K] = 2 * v->columns_of_tiles * s->d;
    c->read[FA_V] = v->columns_of_tiles * s->dv;
    c->write[FA_O] = nq * s->dv;
    c->write[FA_LSE] = nq;
    c->write[FA_P] = nq * (wide)s->nk;
    c->matmul = 2 * v->area * (2 * s->d + s->dv);
    c->exp = 2 * v->area + v->rows_of_tiles;
    c->other = 7 * v->area + 4 * v->rows_of_tiles + 2 * nq;
    sim_count_modifiers(c, p, v, 2);
}

/* x * times as a counter that also holds when the elements take `bytes` each. */
static bool narrow(wide x, wide times, size_t bytes, uint64_t *out)
{
    const wide most = (wide)INT64_MAX;
    if (times != 0 && x > most / times / bytes)
        return false;
    *out = (uint64_t)(x * times);
    return true;
}

static bool narrow_all(struct sim_head_counts *c, const struct fa_problem *p, wide heads,
                       struct sim_counters *out)
{
    wide kv_heads = (wide)p->batch * (wide)p->kv_heads;
    wide total = 0;
    bool fits = true;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        size_t bytes = fa_dtype_bytes(fa_hbm_format(p, (enum fa_tensor_id)id));
        uint64_t again = 0;
        fits = fits && narrow(c->read[id], heads, bytes, &out->read[id]) &&
               narrow(c->write[id], heads, bytes, &out->write[id]) &&
               narrow(c->group_read[id], heads - kv_heads, bytes, &again) &&
               again <= (uint64_t)INT64_MAX - out->read[id];
        out->read[id] += fits ? again : 0;
        if (fits)
            total += (wide)bytes * ((wide)out->read[id] + out->write[id]);
    }
    fits = fits && total <= (wide)INT64_MAX;
    return fits && narrow(c->matmul, heads, 1, &out->flops.matmul) &&
           narrow(c->exp, heads, 1, &out->flops.exp) &&
           narrow(c->other, heads, 1, &out->flops.other) &&
           narrow(c->visited, heads, 1, &out->tiles_visited) &&
           narrow(c->masked, heads, 1, &out->tiles_masked) &&
           narrow(c->skipped, heads, 1, &out->tiles_skipped);
}

static bool is_standard(const struct fa_algorithm *algorithm)
{
    return algorithm->stores_scores || algorithm == &fa_standard_backward;
}

/* Tiles of all that are not whole, for what computes the hidden ones too. */
static wide masked_of_all(const struct fa_problem *p, const struct sim_tiling *s,
                          const struct sim_visited *v)
{
    const struct fa_block_mask *blocks = p->blocks;
    struct band band = band_of(p);
    wide masked = 0;
    if (!blocks)
        return (wide)s->tr * (wide)s->tc - (v->tiles - v->masked);
    for (int64_t i = 0; i < s->tr; i++)
        for (int64_t j = 0; j < s->tc; j++) {
            int64_t r0 = i * s->br, r1 = clamp(r0 + s->br, 0, s->nq) - 1, from, to;
            int64_t c0 = j * s->bc, c1 = clamp(c0 + s->bc, 0, s->nk);
            keys_of_rows(s, &band, r0, r1, true, &from, &to);
            bool hidden = from > c0 || to < c1;
            for (int64_t r = r0 / blocks->br; r <= r1 / blocks->br; r++)
                for (int64_t c = c0 / blocks->bc; c <= (c1 - 1) / blocks->bc; c++)
                    hidden = hidden || !blocks->visit[r * blocks->columns + c];
            masked += hidden;
        }
    return masked;
}

enum fa_status sim_closed_form(const struct fa_algorithm *algorithm,
                               const struct fa_problem *problem, const struct fa_tiles *tiles,
                               struct sim_closed_form *form, struct fa_error *error)
{
    struct sim_tiling s = shape_of(problem, tiles);
    struct sim_head_counts c;
    struct sim_closed_form made;
    bool structure = has_structure(problem);
    struct sim_visited v = structure ? sim_visit_masked(problem, &s) : sim_visit_all(&s);
    wide heads = (wide)problem->batch * (wide)problem->heads;
    wide all_tiles = (wide)s.tr * (wide)s.tc;

    memset(&c, 0, sizeof c);
    memset(&made, 0, sizeof made);
    c.visited = is_standard(algorithm) ? all_tiles : v.tiles;
    c.masked = is_standard(algorithm) ? masked_of_all(problem, &s, &v) : v.masked;
    c.skipped = all_tiles - c.visited;
    if (sim_is_backward(algorithm))
        sim_count_backward(&c, algorithm, problem, &s, tiles, &v);
    else if (algorithm == &fa_standard)
        count_standard(&c, problem, &s, tiles);
    else if (algorithm == &fa_square_tiling)
        count_square_tiling(&c, problem, &s, tiles);
    else if (algorithm == &fa_flash1)
        count_flash1(&c, problem, &s, &v);
    else if (!algorithm->stores_weights) /* flash2's loops, whatever its update is */
        count_flash2(&c, problem, &s, &v);
    else
        count_fused_save_p(&c, problem, &s, &v);
    if (!narrow_all(&c, problem, heads, &made.counters) ||
        !narrow(all_tiles, heads, 1, &made.tiles_total))
        return fa_fail(error, FA_TOO_LARGE,
                       "%s at batch %" PRId64 ", heads %" PRId64 ", nq %" PRId64 ", nk %" PRId64
                       ", d %" PRId64 ", dv %" PRId64
                       " moves or computes more than a counter holds (2^63 - 1)",
                       algorithm->name, problem->batch, problem->heads, problem->nq, problem->nk,
                       problem->d, problem->dv);
    made.counters.sram_peak_bytes = sim_live_bytes(algorithm, problem, tiles);
    *form = made;
    return FA_OK;
}

