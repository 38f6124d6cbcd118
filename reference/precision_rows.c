/* Rows of attention with the formats of a recipe: 32 queries side by side, keys in tiles. */
#include "reference/precision.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/tile_target.h"

enum { LANES = 32, CHUNK_KEYS = 128 };

#define REAL float
#define TYPED(name) name##_f32
#include "reference/precision_product.inc"
#undef REAL
#undef TYPED

#define REAL double
#define TYPED(name) name##_f64
#include "reference/precision_product.inc"
#undef REAL
#undef TYPED

/* How a product's sums are formed. */
enum sums { SUMS_F32, SUMS_F64, SUMS_ROUNDED };

/* Arrays are [keys or columns][LANES], the queries innermost. */
struct emulation {
    const struct fa_precision_recipe *recipe;
    int64_t n, d, tile;
    const double *k, *v;
    enum sums sums[2];
    enum fa_format statistic; /* of m, l and exp */
    double tau;
    double *q, *o;            /* d */
    double *scores;           /* n in standard order, else a tile */
    double *weights;          /* a tile, or a chunk of the row */
    float *a, *b, *c;         /* a product's factors and sums in f32 */
    double m[LANES], l[LANES], factor[LANES];
};

static enum sums sums_of(enum fa_format accumulate, enum fa_format a, enum fa_format b)
{
    if (accumulate == FA_FORMAT_F64)
        return SUMS_F64;
    bool narrow = a != FA_FORMAT_F64 && b != FA_FORMAT_F64;
    return accumulate == FA_FORMAT_F32 && narrow ? SUMS_F32 : SUMS_ROUNDED;
}

static void round_all(enum fa_format format, double *values, int64_t n)
{
    fa_format_round_all(format, FA_OVERFLOW_SATURATE, values, n);
}

static void narrow(float *restrict to, const double *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

static void multiply_rounded(enum fa_format format, const double *a, int64_t a_m, int64_t a_k,
                             const double *b, double *c, int64_t m, int64_t k)
{
    for (int64_t row = 0; row < m; row++) {
        for (int64_t i = 0; i < k; i++) {
            double x = a[row * a_m + i * a_k];
            for (int lane = 0; lane < LANES; lane++)
                c[row * LANES + lane] += x * b[i * LANES + lane];
            round_all(format, c + row * LANES, LANES);
        }
    }
}

/* c[m] += a(m, k) b[k], in the format of product `which`; a is m k contiguous elements. */
static void add_product(const struct emulation *e, int which, const double *a, int64_t a_m,
                        int64_t a_k, const double *b, double *c, int64_t m, int64_t k)
{
    if (e->sums[which] == SUMS_F64) {
        multiply_f64(a, a_m, a_k, b, c, m, k);
    } else if (e->sums[which] == SUMS_ROUNDED) {
        multiply_rounded(e->recipe->accumulate[which], a, a_m, a_k, b, c, m, k);
    } else {
        narrow(e->a, a, m * k);
        narrow(e->b, b, k * LANES);
        narrow(e->c, c, m * LANES);
        multiply_f32(e->a, a_m, a_k, e->b, e->c, m, k);
        for (int64_t i = 0; i < m * LANES; i++)
            c[i] = e->c[i];
    }
}

/* Scores of `keys` keys from `first` on, rounded and scaled. */
static void score(const struct emulation *e, int64_t first, int64_t keys, double *scores)
{
    int64_t n = keys * LANES;
    memset(scores, 0, (size_t)n * sizeof *scores);
    add_product(e, 0, e->k + first * e->d, e->d, 1, e->q, scores, keys, e->d);
    round_all(e->recipe->scores, scores, n);
    for (int64_t i = 0; i < n; i++)
        scores[i] *= e->tau;
    round_all(e->recipe->scores, scores, n);
}

/* m rises to the largest of the scores. A NaN is passed over here, and spreads through exp. */
static void raise_maximum(struct emulation *e, const double *scores, int64_t keys)
{
    for (int64_t key = 0; key < keys; key++)
        for (int lane = 0; lane < LANES; lane++)
            if (scores[key * LANES + lane] > e->m[lane])
                e->m[lane] = scores[key * LANES + lane];
}

/* Scores become exp(s - m); their sums are added to l, in order. */
static void weigh(struct emulation *e, double *scores, int64_t keys)
{
    double sum[LANES] = {0};
    for (int64_t key = 0; key < keys; key++) {
        double *row = scores + key * LANES;
        for (int lane = 0; lane < LANES; lane++)
            row[lane] = exp(row[lane] - e->m[lane]);
        round_all(e->statistic, row, LANES);
        for (int lane = 0; lane < LANES; lane++)
            sum[lane] += row[lane];
        round_all(e->statistic, sum, LANES);
    }
    for (int lane = 0; lane < LANES; lane++)
        e->l[lane] += sum[lane];
    round_all(e->statistic, e->l, LANES);
}

/* O += P V for keys from `first` on, P rounded to its format from the weights given. */
static void mix(const struct emulation *e, int64_t first, int64_t keys, const double *weights)
{
    double scale = e->recipe->weight_scale, *p = e->weights;
    int64_t n = keys * LANES;
    for (int64_t i = 0; i < n; i++)
        p[i] = weights[i] * scale;
    round_all(e->recipe->weights, p, n);
    for (int64_t i = 0; i < n; i++)
        p[i] /= scale;
    add_product(e, 1, e->v + first * e->d, 1, e->d, p, e->o, e->d, keys);
}

static void scale_output(const struct emulation *e, const double *factor)
{
    for (int64_t c = 0; c < e->d; c++)
        for (int lane = 0; lane < LANES; lane++)
            e->o[c * LANES + lane] *= factor[lane];
    round_all(e->recipe->accumulate[1], e->o, e->d * LANES);
}

static void do_flash(struct emulation *e)
{
    for (int64_t first = 0; first < e->n; first += e->tile) {
        int64_t keys = first + e->tile < e->n ? e->tile : e->n - first;
        double before[LANES];
        memcpy(before, e->m, sizeof before);
        score(e, first, keys, e->scores);
        raise_maximum(e, e->scores, keys);
        for (int lane = 0; lane < LANES; lane++)
            e->factor[lane] = before[lane] == e->m[lane] ? 1 : exp(before[lane] - e->m[lane]);
        round_all(e->statistic, e->factor, LANES);
        for (int lane = 0; lane < LANES; lane++)
            e->l[lane] *= e->factor[lane];
        round_all(e->statistic, e->l, LANES);
        scale_output(e, e->factor);
        weigh(e, e->scores, keys);
        mix(e, first, keys, e->scores);
    }
    for (int64_t c = 0; c < e->d; c++)
        for (int lane = 0; lane < LANES; lane++)
            e->o[c * LANES + lane] /= e->l[lane];
    round_all(e->statistic, e->o, e->d * LANES);
}

static void do_standard(struct emulation *e)
{
    for (int64_t first = 0; first < e->n; first += CHUNK_KEYS) {
        int64_t keys = first + CHUNK_KEYS < e->n ? CHUNK_KEYS : e->n - first;
        score(e, first, keys, e->scores + first * LANES);
    }
    raise_maximum(e, e->scores, e->n);
    weigh(e, e->scores, e->n);
    for (int64_t first = 0; first < e->n; first += CHUNK_KEYS) {
        int64_t keys = first + CHUNK_KEYS < e->n ? CHUNK_KEYS : e->n - first;
        double *weights = e->scores + first * LANES;
        for (int64_t i = 0; i < keys * LANES; i++)
            weights[i] /= e->l[i % LANES];
        round_all(e->statistic, weights, keys * LANES);
        mix(e, first, keys, weights);
    }
}

/* n_rows queries at most LANES; the lanes that are left compute the last one again. */
static void do_group(struct emulation *e, const double *q, const int64_t *rows, int64_t n_rows,
                     double *o)
{
    for (int lane = 0; lane < LANES; lane++) {
        int64_t row = rows[lane < n_rows ? lane : n_rows - 1];
        for (int64_t c = 0; c < e->d; c++)
            e->q[c * LANES + lane] = q[row * e->d + c];
        e->m[lane] = -INFINITY;
        e->l[lane] = 0;
    }
    memset(e->o, 0, (size_t)(e->d * LANES) * sizeof *e->o);
    if (e->recipe->order == FA_FLASH_ORDER)
        do_flash(e);
    else
        do_standard(e);
    round_all(e->recipe->output, e->o, e->d * LANES);
    for (int64_t lane = 0; lane < n_rows; lane++)
        for (int64_t c = 0; c < e->d; c++)
            o[lane * e->d + c] = e->o[c * LANES + lane];
}

static void *take(int64_t rows, int64_t columns, size_t bytes)
{
    int64_t n;
    if (!fa_multiply(rows, columns, &n) || !fa_multiply(n, (int64_t)bytes, &n) || n > PTRDIFF_MAX)
        return NULL;
    return malloc((size_t)n);
}

static bool take_all(struct emulation *e)
{
    bool flash = e->recipe->order == FA_FLASH_ORDER;
    int64_t longest = e->tile > e->d ? e->tile : e->d;
    e->q = take(e->d, LANES, sizeof(double));
    e->o = take(e->d, LANES, sizeof(double));
    e->scores = take(flash ? e->tile : e->n, LANES, sizeof(double));
    e->weights = take(e->tile, LANES, sizeof(double));
    e->a = take(e->tile, e->d, sizeof(float));
    e->b = take(longest, LANES, sizeof(float));
    e->c = take(longest, LANES, sizeof(float));
    return e->q && e->o && e->scores && e->weights && e->a && e->b && e->c;
}

enum fa_status fa_precision_rows(const struct fa_precision_recipe *recipe, int64_t n, int64_t d,
                                 const double *q, const double *k, const double *v,
                                 const int64_t *rows, int64_t n_rows, double *o,
                                 struct fa_error *error)
{
    const enum fa_format *in = recipe->inputs, *accumulate = recipe->accumulate;
    bool wide = accumulate[0] == FA_FORMAT_F64 || accumulate[1] == FA_FORMAT_F64;
    int64_t tile = recipe->order == FA_FLASH_ORDER ? recipe->tile : CHUNK_KEYS;
    struct emulation e = {
        .recipe = recipe, .n = n, .d = d, .tile = tile < n ? tile : n, .k = k, .v = v,
        .sums = {sums_of(accumulate[0], in[0], in[1]),
                 sums_of(accumulate[1], in[2], recipe->weights)},
        .statistic = wide ? FA_FORMAT_F64 : FA_FORMAT_F32,
        .tau = 1 / sqrt((double)d),
    };
    enum fa_status status = FA_OK;
    if (take_all(&e)) {
        for (int64_t i = 0; i < n_rows; i += LANES)
            do_group(&e, q, rows + i, n_rows - i < LANES ? n_rows - i : LANES, o + i * d);
    } else {
        status = fa_fail(error, FA_NO_MEMORY,
                         "no memory for the emulation's tiles of %" PRId64 " keys, d = %" PRId64,
                         e.tile, d);
    }
    free(e.q);
    free(e.o);
    free(e.scores);
    free(e.weights);
    free(e.a);
    free(e.b);
    free(e.c);
    return status;
}
