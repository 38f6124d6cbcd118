#include "simulator/closed_form.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Counts are summed where they can't wrap, and narrowed once. */
typedef unsigned __int128 wide;

/* Sums over the visited tiles of one head. */
struct visited {
    wide tiles, masked;
    wide rows_of_tiles;    /* sum of the tiles' rows */
    wide columns_of_tiles; /* sum of the tiles' columns */
    wide area;             /* sum of rows x columns */
    wide query_rows;       /* rows of query tiles that see a key */
    wide key_columns;      /* columns of key tiles that are seen */
};

struct shape {
    int64_t nq, nk, br, bc, tr, tc;
    wide d, dv;
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t ceiling(int64_t n, int64_t size)
{
    return n == 0 ? 0 : (n - 1) / size + 1;
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
static void add_row_block(struct visited *sum, const struct shape *s, const struct band *band,
                          int64_t i)
{
    int64_t r0 = i * s->br, r1 = clamp(r0 + s->br, 0, s->nq) - 1, rows = r1 - r0 + 1;
    int64_t seen_from = clamp(r0 + band->diagonal - band->before, 0, s->nk);
    int64_t seen_to = clamp(r1 + band->diagonal + band->after + 1, 0, s->nk);
    if (seen_from >= seen_to)
        return;
    int64_t first = seen_from / s->bc, end = ceiling(seen_to, s->bc);
    int64_t columns = clamp(end * s->bc, 0, s->nk) - first * s->bc;
    /* Tiles that every row sees whole: from the last row's first key to the first row's last. */
    int64_t whole_from = clamp(r1 + band->diagonal - band->before, 0, s->nk);
    int64_t whole_to = clamp(r0 + band->diagonal + band->after + 1, 0, s->nk);
    int64_t whole_first = ceiling(whole_from, s->bc);
    int64_t whole_end = whole_to == s->nk ? s->tc : whole_to / s->bc;
    int64_t whole = whole_end > whole_first ? whole_end - whole_first : 0;

    sum->tiles += (wide)(end - first);
    sum->masked += (wide)(end - first - whole);
    sum->rows_of_tiles += (wide)rows * (wide)(end - first);
    sum->columns_of_tiles += (wide)columns;
    sum->area += (wide)rows * (wide)columns;
    sum->query_rows += (wide)rows;
}

static struct visited visit_all(const struct shape *s)
{
    wide tr = (wide)s->tr, tc = (wide)s->tc, nq = (wide)s->nq, nk = (wide)s->nk;
    return (struct visited){
        .tiles = tr * tc,
        .rows_of_tiles = nq * tc,
        .columns_of_tiles = nk * tr,
        .area = nq * nk,
        .query_rows = nk ? nq : 0,
        .key_columns = nq ? nk : 0,
    };
}

static struct visited visit_masked(const struct fa_problem *p, const struct shape *s)
{
    struct visited sum = {0, 0, 0, 0, 0, 0, 0};
    struct band band = band_of(p);
    for (int64_t i = 0; i < s->tr; i++)
        add_row_block(&sum, s, &band, i);
    /* The rows together see one interval of keys, from row 0's first to the last row's last. */
    int64_t from = clamp(band.diagonal - band.before, 0, s->nk);
    int64_t to = clamp(s->nq - 1 + band.diagonal + band.after + 1, 0, s->nk);
    if (s->nq > 0 && from < to)
        sum.key_columns = (wide)(clamp(ceiling(to, s->bc) * s->bc, 0, s->nk) -
                                 from / s->bc * s->bc);
    return sum;
}

static bool has_structure(const struct fa_problem *p)
{
    return p->causal != FA_CAUSAL_NONE || p->window_left >= 0 || p->window_right >= 0;
}

static struct shape shape_of(const struct fa_problem *p, const struct fa_tiles *tiles)
{
    return (struct shape){p->nq, p->nk, tiles->br, tiles->bc, ceiling(p->nq, tiles->br),
                          ceiling(p->nk, tiles->bc), (wide)p->d, (wide)p->dv};
}

/* One head's counts before they are narrowed. */
struct counts {
    wide read[FA_HBM_TENSORS], write[FA_HBM_TENSORS], matmul, exp, other;
    wide visited, masked, skipped;
};

/* Elements of a mask or bias that tiles read: an axis of 1 is read once a tile. */
static wide modifier_read(const struct fa_tensor *t, const struct visited *v)
{
    bool one_row = t->shape[2] == 1, one_column = t->shape[3] == 1;
    if (one_row && one_column)
        return v->tiles;
    if (one_row)
        return v->columns_of_tiles;
    return one_column ? v->rows_of_tiles : v->area;
}

/* What the flash passes add where the problem has a bias or a mask; `times` a tile. */
static void add_modifiers(struct counts *c, const struct fa_problem *p, const struct visited *v,
                          wide times)
{
    if (p->bias) {
        c->read[FA_BIAS] = times * modifier_read(p->bias, v);
        c->other += times * v->area;
    }
    if (p->mask)
        c->read[FA_MASK] = times * modifier_read(p->mask, v);
}

static void count_standard(struct counts *c, const struct fa_problem *p, const struct shape *s,
                           const struct fa_tiles *tiles)
{
    struct visited all = visit_all(s);
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
    add_modifiers(c, p, &all, 1);
    if (whole) {
        c->exp = area;
        c->other += 4 * area;
    } else {
        wide chunks = nq * (wide)ceiling(s->nk, tiles->column_chunk);
        c->exp = 2 * area + chunks;
        c->other += 5 * area + 4 * chunks;
    }
}

static void count_flash1(struct counts *c, const struct fa_problem *p, const struct shape *s,
                         const struct visited *v)
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
    add_modifiers(c, p, v, 1);
}

static void count_flash2(struct counts *c, const struct fa_problem *p, const struct shape *s,
                         const struct visited *v)
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
    add_modifiers(c, p, v, 1);
}

static void count_fused_save_p(struct counts *c, const struct fa_problem *p,
                               const struct shape *s, const struct visited *v)
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
    add_modifiers(c, p, v, 2);
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

static bool narrow_all(const struct counts *c, const struct fa_problem *p, wide heads,
                       struct sim_counters *out)
{
    wide total = 0;
    bool fits = true;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        size_t bytes = fa_dtype_bytes(fa_hbm_format(p, (enum fa_tensor_id)id));
        fits = fits && narrow(c->read[id], heads, bytes, &out->read[id]) &&
               narrow(c->write[id], heads, bytes, &out->write[id]);
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

enum fa_status sim_closed_form(const struct fa_algorithm *algorithm,
                               const struct fa_problem *problem, const struct fa_tiles *tiles,
                               struct sim_closed_form *form, struct fa_error *error)
{
    struct shape s = shape_of(problem, tiles);
    struct counts c;
    struct sim_closed_form made;
    bool structure = has_structure(problem);
    struct visited v = structure ? visit_masked(problem, &s) : visit_all(&s);
    wide heads = (wide)problem->batch * (wide)problem->heads;
    wide all_tiles = (wide)s.tr * (wide)s.tc;

    memset(&c, 0, sizeof c);
    memset(&made, 0, sizeof made);
    c.visited = algorithm == &fa_standard ? all_tiles : v.tiles;
    c.masked = v.masked;
    c.skipped = all_tiles - c.visited;
    if (algorithm == &fa_standard) {
        c.masked = all_tiles - (v.tiles - v.masked); /* the hidden ones are computed too */
        count_standard(&c, problem, &s, tiles);
    } else if (algorithm == &fa_flash1) {
        count_flash1(&c, problem, &s, &v);
    } else if (algorithm == &fa_flash2) {
        count_flash2(&c, problem, &s, &v);
    } else {
        count_fused_save_p(&c, problem, &s, &v);
    }
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

static wide tile_bytes(const struct fa_problem *p, enum fa_tensor_id id, int64_t rows,
                       int64_t columns)
{
    return (wide)rows * (wide)columns * fa_on_chip_bytes(p, id);
}

static wide modifier_bytes(const struct fa_problem *p, enum fa_tensor_id id, int64_t rows,
                           int64_t columns)
{
    const struct fa_tensor *t = id == FA_BIAS ? p->bias : p->mask;
    return t ? tile_bytes(p, id, t->shape[2] == 1 ? 1 : rows, t->shape[3] == 1 ? 1 : columns) : 0;
}

static wide greater(wide a, wide b)
{
    return a > b ? a : b;
}

static wide live_standard(const struct fa_problem *p, const struct fa_tiles *t, int64_t br,
                          int64_t bc)
{
    wide score = tile_bytes(p, FA_S, br, bc), most;
    int64_t rows = clamp(t->row_block, 0, p->nq), columns = clamp(t->column_chunk, 0, p->nk);
    if (p->nq == 0)
        return 0;
    most = score + tile_bytes(p, FA_Q, br, p->d) + tile_bytes(p, FA_K, bc, p->d);
    if (p->bias)
        most = greater(most, score + modifier_bytes(p, FA_BIAS, br, bc));
    if (p->mask)
        most = greater(most, score + modifier_bytes(p, FA_MASK, br, bc));
    most = greater(most, tile_bytes(p, FA_S, rows, columns) + 2 * tile_bytes(p, FA_M, rows, 1));
    return greater(most, score + tile_bytes(p, FA_V, bc, p->dv) + tile_bytes(p, FA_O, br, p->dv));
}

uint64_t sim_live_bytes(const struct fa_algorithm *algorithm, const struct fa_problem *p,
                        const struct fa_tiles *tiles)
{
    int64_t br = clamp(tiles->br, 0, p->nq), bc = clamp(tiles->bc, 0, p->nk);
    wide bytes;

    if (p->batch == 0 || p->heads == 0 || (p->nq == 0 && algorithm != &fa_flash1))
        return 0;
    if (algorithm == &fa_standard) {
        bytes = live_standard(p, tiles, br, bc);
    } else {
        int64_t statistics = algorithm == &fa_flash1 ? 4 : 2;
        bytes = tile_bytes(p, FA_Q, br, p->d) + tile_bytes(p, FA_K, bc, p->d) +
                tile_bytes(p, FA_V, bc, p->dv) + tile_bytes(p, FA_O, br, p->dv) +
                tile_bytes(p, FA_S, br, bc) + tile_bytes(p, FA_M, br, statistics) +
                modifier_bytes(p, FA_BIAS, br, bc) + modifier_bytes(p, FA_MASK, br, bc);
    }
    return bytes > (wide)INT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

enum fa_status sim_footprint(const struct fa_algorithm *algorithm, const struct fa_problem *p,
                             struct sim_footprint *footprint, struct fa_error *error)
{
    wide queries = (wide)p->batch * (wide)p->heads, keys = (wide)p->batch * (wide)p->kv_heads;
    wide dtype = fa_dtype_bytes(p->dtype), statistic = fa_dtype_bytes(fa_hbm_format(p, FA_LSE));
    wide nq = (wide)p->nq, nk = (wide)p->nk;
    wide input = dtype * (queries * nq * (wide)p->d + keys * nk * (wide)(p->d + p->dv));
    wide output = queries * nq * (dtype * (wide)p->dv + statistic), extra = 0;

    if (p->bias)
        input += dtype * (wide)p->bias->shape[0] * (wide)p->bias->shape[1] *
                 (wide)p->bias->shape[2] * (wide)p->bias->shape[3];
    if (p->mask)
        input += (wide)p->mask->shape[0] * (wide)p->mask->shape[1] * (wide)p->mask->shape[2] *
                 (wide)p->mask->shape[3];
    extra += (wide)(algorithm->stores_scores + algorithm->stores_weights) * dtype * queries * nq *
             nk;
    if (algorithm->stores_statistics)
        extra += 2 * statistic * queries * nq;
    if (input > (wide)INT64_MAX || output > (wide)INT64_MAX || extra > (wide)INT64_MAX)
        return fa_fail(error, FA_TOO_LARGE, "the tensors of %s take more than 2^63 - 1 bytes",
                       algorithm->name);
    *footprint = (struct sim_footprint){(uint64_t)input, (uint64_t)output, (uint64_t)extra};
    return FA_OK;
}

struct sim_bounds sim_bounds(const struct fa_problem *p, uint64_t sram_bytes,
                             double visited_share)
{
    double heads = (double)p->batch * (double)p->heads;
    double kv_heads = (double)p->batch * (double)p->kv_heads;
    double nq = (double)p->nq, nk = (double)p->nk, d = (double)p->d, dv = (double)p->dv;
    double m = floor((double)sram_bytes / (double)fa_dtype_bytes(p->dtype));
    struct sim_bounds bounds = {
        .compulsory = heads * nq * (d + dv) + kv_heads * nk * (d + dv),
        .theta = m > 0 ? heads * visited_share * nq * nk * d * d / m : NAN,
        .floor = NAN,
        .standard = heads * (nq * d + nq * nk),
    };
    if (m >= 2 * d * d) {
        double derived = heads * (visited_share * nq * nk * d * d / (m + 2 * d * d) - m);
        bounds.floor = derived > bounds.compulsory ? derived : bounds.compulsory;
    }
    return bounds;
}
