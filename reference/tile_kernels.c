#include "reference/tile_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/visibility.h"

/* Cell (row, column) of a query-side tile, for the kernels that are not worth vectorising. */
static double get(const struct fa_port *port, const struct fa_tile *tile, int64_t row,
                  int64_t column)
{
    int64_t index = column * tile->ld + row;
    return port->compute_type == FA_F64 ? ((const double *)tile->cells)[index]
                                        : (double)((const float *)tile->cells)[index];
}

static void set(const struct fa_port *port, struct fa_tile *tile, int64_t row, int64_t column,
                double value)
{
    int64_t index = column * tile->ld + row;
    if (port->compute_type == FA_F64)
        ((double *)tile->cells)[index] = value;
    else
        ((float *)tile->cells)[index] = (float)value;
}

/* All lanes, so that the arithmetic on those past the last row stays ordinary too. */
static void fill(struct fa_port *port, enum fa_tensor_id id, double value)
{
    struct fa_tile *tile = &port->tile[id];
    if (!tile->live)
        return;
    for (int64_t c = 0; c < tile->columns; c++)
        for (int64_t r = 0; r < tile->ld; r++)
            set(port, tile, r, c, value);
}

static void start(struct fa_port *port)
{
    fill(port, FA_O, 0);
    fill(port, FA_L, 0);
    fill(port, FA_M, -INFINITY);
}

static void no_weights(struct fa_port *port)
{
    fill(port, FA_P, -0.0);
}

/* Element (row, column) of a mask or bias tile, one row or column of which may stand for all. */
static double broadcast(const struct fa_port *port, const struct fa_tile *tile, int64_t row,
                        int64_t column)
{
    return get(port, tile, tile->row_capacity == 1 ? 0 : row,
               tile->column_capacity == 1 ? 0 : column);
}

/* The sum is formed in the compute type: float + float is rounded once, to float. */
static void add_bias(struct fa_port *port)
{
    struct fa_tile *s = &port->tile[FA_S];
    const struct fa_tile *bias = &port->tile[FA_BIAS];
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t r = 0; r < s->rows; r++)
            set(port, s, r, c, get(port, s, r, c) + broadcast(port, bias, r, c));
}

static void apply_mask(struct fa_port *port)
{
    struct fa_tile *s = &port->tile[FA_S];
    const struct fa_tile *mask = &port->tile[FA_MASK];
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t r = 0; r < s->rows; r++)
            if (broadcast(port, mask, r, c) == 0)
                set(port, s, r, c, -INFINITY);
}

static void hide(struct fa_port *port)
{
    struct fa_tile *s = &port->tile[FA_S];
    int64_t first_row = port->at.i * port->run->tiles.br;
    int64_t first_key = port->at.j * port->run->tiles.bc;
    for (int64_t r = 0; r < s->rows; r++) {
        struct fa_span keys = fa_visible_keys(&port->run->problem, first_row + r);
        for (int64_t c = 0; c < s->columns; c++)
            if (first_key + c < keys.first || first_key + c >= keys.end ||
                !fa_block_shows(&port->run->problem, first_row + r, first_key + c))
                set(port, s, r, c, -INFINITY);
    }
}

/* m becomes LSE; an empty row, whose sum is 0, has -inf already. */
static void finish_statistics(struct fa_port *port)
{
    struct fa_tile *m = &port->tile[FA_M];
    for (int64_t r = 0; r < m->rows; r++) {
        double l = get(port, &port->tile[FA_L], r, 0);
        set(port, m, r, 0, l == 0 ? -INFINITY : get(port, m, r, 0) + log(l));
    }
}

static void finish(struct fa_port *port)
{
    struct fa_tile *o = &port->tile[FA_O];
    for (int64_t c = 0; c < o->columns; c++)
        for (int64_t r = 0; r < o->rows; r++) {
            double l = get(port, &port->tile[FA_L], r, 0);
            if (l != 0)
                set(port, o, r, c, get(port, o, r, c) / l);
        }
    finish_statistics(port);
}

static void start_s(struct fa_port *port)
{
    fill(port, FA_S, 0);
}

static void scale_s(struct fa_port *port)
{
    struct fa_tile *s = &port->tile[FA_S];
    bool f64 = port->compute_type == FA_F64;
    /* The factor is rounded to the compute type, as in the other products with it. */
    double scale = f64 ? port->run->problem.scale : (float)port->run->problem.scale;
    for (int64_t c = 0; c < s->columns; c++)
        for (int64_t r = 0; r < s->rows; r++)
            set(port, s, r, c, get(port, s, r, c) * scale);
}

static void start_delta(struct fa_port *port)
{
    fill(port, FA_DELTA, 0);
}

/* Every cell of a row-major tile, the padding too: bits of 0 are 0 in both types. */
static void clear(struct fa_port *port, enum fa_tensor_id id)
{
    struct fa_tile *tile = &port->tile[id];
    if (tile->live)
        memset(tile->cells, 0, port->buffer_bytes[id]);
}

static void start_dq(struct fa_port *port)
{
    clear(port, FA_DQ);
}

static void start_dkv(struct fa_port *port)
{
    clear(port, FA_DK);
    clear(port, FA_DV);
}

enum { KEEP_CHUNK = 256 };

/* The bits of n columns of one row of tile (i, j), from the seed. */
static void seed_bits(const struct fa_port *port, int64_t row, int64_t column, int64_t n,
                      uint8_t keep[KEEP_CHUNK])
{
    const struct fa_problem *problem = &port->run->problem;
    const struct fa_tiles *tiles = &port->run->tiles;
    fa_dropout_bits(problem, port->at.head / problem->heads, port->at.head % problem->heads,
                    port->at.i * tiles->br + row, port->at.j * tiles->bc + column, n, keep);
}

static void keep(struct fa_port *port)
{
    struct fa_tile *mask = &port->tile[FA_DROPOUT];
    uint8_t bits[KEEP_CHUNK];
    for (int64_t r = 0; r < mask->rows; r++)
        for (int64_t first = 0; first < mask->columns; first += KEEP_CHUNK) {
            int64_t n = mask->columns - first < KEEP_CHUNK ? mask->columns - first : KEEP_CHUNK;
            seed_bits(port, r, first, n, bits);
            for (int64_t c = 0; c < n; c++)
                set(port, mask, r, first + c, bits[c]);
        }
}

/* cell = cell Z; a dropped cell becomes `dropped`. The keep mask on chip decides where there is one. */
static void drop(struct fa_port *port, enum fa_tensor_id id, double dropped)
{
    struct fa_tile *tile = &port->tile[id];
    const struct fa_tile *mask = &port->tile[FA_DROPOUT];
    double scale = fa_dropout_scale(&port->run->problem);
    uint8_t bits[KEEP_CHUNK];
    for (int64_t r = 0; r < tile->rows; r++)
        for (int64_t first = 0; first < tile->columns; first += KEEP_CHUNK) {
            int64_t n = tile->columns - first < KEEP_CHUNK ? tile->columns - first : KEEP_CHUNK;
            if (!mask->live)
                seed_bits(port, r, first, n, bits);
            for (int64_t c = 0; c < n; c++) {
                bool kept = mask->live ? get(port, mask, r, first + c) != 0 : bits[c];
                /* Of p = 1 not even a given mask keeps a weight: the factor would be infinite. */
                set(port, tile, r, first + c,
                    kept && scale != 0 ? get(port, tile, r, first + c) * scale : dropped);
            }
        }
}

/* A dropped weight is -0, as that of a hidden key: its row of V is left out. */
static void drop_p(struct fa_port *port)
{
    drop(port, FA_P, -0.0);
}

static void drop_dp(struct fa_port *port)
{
    drop(port, FA_DP, 0);
}

static void grad_s_rows_f32(struct fa_port *port)
{
    start_delta(port);
    fa_gradient_row_delta_f32(port);
    fa_gradient_s_f32(port);
}

static void grad_s_rows_f64(struct fa_port *port)
{
    start_delta(port);
    fa_gradient_row_delta_f64(port);
    fa_gradient_s_f64(port);
}

typedef void kernel(struct fa_port *port);

static kernel *const kernels_f32[FA_OP_COUNT] = {
    [FA_OP_START] = start,
    [FA_OP_SCORE] = fa_product_score_f32,
    [FA_OP_BIAS] = add_bias,
    [FA_OP_HIDE] = hide,
    [FA_OP_MASK] = apply_mask,
    [FA_OP_SOFTMAX_ROWS] = fa_softmax_rows_f32,
    [FA_OP_ROW_STATS] = fa_softmax_row_stats_f32,
    [FA_OP_NORMALISE] = fa_softmax_normalise_f32,
    [FA_OP_ABSORB] = fa_softmax_absorb_f32,
    [FA_OP_TILE_SOFTMAX] = fa_softmax_tile_f32,
    [FA_OP_UPDATE] = fa_softmax_update_f32,
    [FA_OP_ACCUMULATE] = fa_product_accumulate_f32,
    [FA_OP_FINISH] = finish,
    [FA_OP_FINISH_STATS] = finish_statistics,
    [FA_OP_NO_WEIGHTS] = no_weights,
    [FA_OP_WEIGHTS] = fa_softmax_weights_f32,
    [FA_OP_DROPOUT] = drop_p,
    [FA_OP_START_S] = start_s,
    [FA_OP_SCORE_PART] = fa_product_score_part_f32,
    [FA_OP_SCALE_S] = scale_s,
    [FA_OP_ACCUMULATE_PART] = fa_product_accumulate_f32,
    [FA_OP_KEEP] = keep,
    [FA_OP_START_DQ] = start_dq,
    [FA_OP_START_DELTA] = start_delta,
    [FA_OP_START_DKV] = start_dkv,
    [FA_OP_DELTA] = fa_gradient_delta_f32,
    [FA_OP_DP] = fa_product_dp_f32,
    [FA_OP_DROPOUT_DP] = drop_dp,
    [FA_OP_GRAD_S] = fa_gradient_s_f32,
    [FA_OP_GRAD_V] = fa_product_grad_v_f32,
    [FA_OP_GRAD_Q] = fa_product_grad_q_f32,
    [FA_OP_GRAD_K] = fa_product_grad_k_f32,
    [FA_OP_GRAD_S_ROWS] = grad_s_rows_f32,
    [FA_OP_ROW_DELTA] = fa_gradient_row_delta_f32,
};

static kernel *const kernels_f64[FA_OP_COUNT] = {
    [FA_OP_START] = start,
    [FA_OP_SCORE] = fa_product_score_f64,
    [FA_OP_BIAS] = add_bias,
    [FA_OP_HIDE] = hide,
    [FA_OP_MASK] = apply_mask,
    [FA_OP_SOFTMAX_ROWS] = fa_softmax_rows_f64,
    [FA_OP_ROW_STATS] = fa_softmax_row_stats_f64,
    [FA_OP_NORMALISE] = fa_softmax_normalise_f64,
    [FA_OP_ABSORB] = fa_softmax_absorb_f64,
    [FA_OP_TILE_SOFTMAX] = fa_softmax_tile_f64,
    [FA_OP_UPDATE] = fa_softmax_update_f64,
    [FA_OP_ACCUMULATE] = fa_product_accumulate_f64,
    [FA_OP_FINISH] = finish,
    [FA_OP_FINISH_STATS] = finish_statistics,
    [FA_OP_NO_WEIGHTS] = no_weights,
    [FA_OP_WEIGHTS] = fa_softmax_weights_f64,
    [FA_OP_DROPOUT] = drop_p,
    [FA_OP_START_S] = start_s,
    [FA_OP_SCORE_PART] = fa_product_score_part_f64,
    [FA_OP_SCALE_S] = scale_s,
    [FA_OP_ACCUMULATE_PART] = fa_product_accumulate_f64,
    [FA_OP_KEEP] = keep,
    [FA_OP_START_DQ] = start_dq,
    [FA_OP_START_DELTA] = start_delta,
    [FA_OP_START_DKV] = start_dkv,
    [FA_OP_DELTA] = fa_gradient_delta_f64,
    [FA_OP_DP] = fa_product_dp_f64,
    [FA_OP_DROPOUT_DP] = drop_dp,
    [FA_OP_GRAD_S] = fa_gradient_s_f64,
    [FA_OP_GRAD_V] = fa_product_grad_v_f64,
    [FA_OP_GRAD_Q] = fa_product_grad_q_f64,
    [FA_OP_GRAD_K] = fa_product_grad_k_f64,
    [FA_OP_GRAD_S_ROWS] = grad_s_rows_f64,
    [FA_OP_ROW_DELTA] = fa_gradient_row_delta_f64,
};

void fa_tile_compute(struct fa_port *port, enum fa_op op)
{
    assert((unsigned)op < FA_OP_COUNT);
    if (op == FA_OP_ABSORB && port->absorb) {
        port->absorb(port);
        return;
    }
    (port->compute_type == FA_F64 ? kernels_f64 : kernels_f32)[op](port);
}
