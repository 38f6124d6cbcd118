#include "reference/tile_kernels.h"

#include <assert.h>
#include <math.h>

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
            if (first_key + c < keys.first || first_key + c >= keys.end)
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
};

void fa_tile_compute(struct fa_port *port, enum fa_op op)
{
    assert((unsigned)op < FA_OP_COUNT);
    (port->compute_type == FA_F64 ? kernels_f64 : kernels_f32)[op](port);
}
