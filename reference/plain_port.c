#include "reference/plain_port.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/tile_cost.h"
#include "reference/tile_kernels.h"

static bool is_row_major(enum fa_tensor_id id)
{
    return id == FA_K || id == FA_V || id == FA_DK || id == FA_DV || id == FA_DQ;
}

/* The distance of lines of n cells: an odd multiple of FA_LANES. At even multiples, lines that a
 * product reads in turn lie in few sets of the nearest cache and drive each other out. */
static int64_t line_cells(int64_t n)
{
    return ((n + FA_LANES - 1) / FA_LANES | 1) * FA_LANES;
}

static size_t cell_bytes(const struct fa_port *port)
{
    return port->compute_type == FA_F64 ? sizeof(double) : sizeof(float);
}

void fa_port_open(struct fa_port *port, const struct fa_port_verbs *verbs,
                  const struct fa_run *run)
{
    memset(port, 0, sizeof *port);
    port->verbs = verbs;
    port->run = run;
    port->compute_type = run->problem.dtype == FA_F64 ? FA_F64 : FA_F32;
}

void fa_port_close(struct fa_port *port)
{
    for (int id = 0; id < FA_TENSORS; id++) {
        free(port->buffer[id]);
        free(port->row_buffer[id]);
    }
    memset(port->buffer, 0, sizeof port->buffer);
    memset(port->buffer_bytes, 0, sizeof port->buffer_bytes);
    memset(port->row_buffer, 0, sizeof port->row_buffer);
    memset(port->row_buffer_bytes, 0, sizeof port->row_buffer_bytes);
    memset(port->tile, 0, sizeof port->tile);
}

void fa_tile_shape(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    struct fa_tile *tile = &port->tile[id];
    assert(!tile->live || tile->alias);
    *tile = (struct fa_tile){
        .rows = rows,
        .columns = columns,
        .row_capacity = rows,
        .column_capacity = columns,
        .format = id < FA_HBM_TENSORS ? fa_hbm_format(&port->run->problem, id)
                                      : port->compute_type,
        .live = true,
        .row_major = is_row_major(id),
    };
    int64_t inner = tile->row_major ? columns : rows;
    tile->ld = line_cells(inner);
    /* The backward products sum over queries: they need Q and dO with the columns innermost too. */
    tile->by_rows = port->run->backward && (id == FA_Q || id == FA_DO);
    tile->row_ld = line_cells(columns);
    tile->bytes = (uint64_t)rows * (uint64_t)columns * fa_on_chip_bytes(&port->run->problem, id);
}

/* At least `cells` cells at *buffer, which is kept from one allocation to the next. */
static bool reserve(struct fa_port *port, enum fa_tensor_id id, int64_t cells, void **buffer,
                    size_t *buffer_bytes)
{
    size_t padded = ((size_t)(cells > 0 ? cells : 1) * cell_bytes(port) + 63) / 64 * 64;
    if (*buffer_bytes >= padded)
        return true;
    void *taken = aligned_alloc(64, padded);
    if (!taken) {
        port->status = fa_fail(&port->error, FA_NO_MEMORY,
                               "no memory for a tile of %s: %zu bytes were refused",
                               fa_tensor_name(id), padded);
        return false;
    }
    free(*buffer);
    memset(taken, 0xff, padded); /* NaN, in both compute types */
    *buffer = taken;
    *buffer_bytes = padded;
    return true;
}

void fa_tile_give_cells(struct fa_port *port, enum fa_tensor_id id)
{
    struct fa_tile *tile = &port->tile[id];
    int64_t outer = tile->row_major ? tile->row_capacity : tile->column_capacity;
    if (!reserve(port, id, tile->ld * outer, &port->buffer[id], &port->buffer_bytes[id]))
        return;
    tile->cells = port->buffer[id];
    if (tile->by_rows && reserve(port, id, tile->row_ld * tile->row_capacity,
                                 &port->row_buffer[id], &port->row_buffer_bytes[id]))
        tile->row_cells = port->row_buffer[id];
}

void fa_tile_poison(const struct fa_port *port, struct fa_tile *tile)
{
    int64_t outer = tile->row_major ? tile->row_capacity : tile->column_capacity;
    int64_t n = tile->ld * outer;
    if (port->compute_type == FA_F64) {
        double *cells = tile->cells;
        for (int64_t c = 0; c < n; c++)
            cells[c] = NAN;
    } else {
        float *cells = tile->cells;
        for (int64_t c = 0; c < n; c++)
            cells[c] = NAN;
    }
}

double fa_tile_get(const struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    const struct fa_tile *tile = &port->tile[id];
    assert(tile->live && tile->cells && row < tile->row_capacity && column < tile->column_capacity);
    int64_t index = tile->row_major ? row * tile->ld + column : column * tile->ld + row;
    return fa_dtype_get(port->compute_type, tile->cells, index);
}

static void plain_alloc(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    fa_tile_shape(port, id, rows, columns);
    fa_tile_give_cells(port, id);
}

static void plain_free(struct fa_port *port, enum fa_tensor_id id)
{
    assert(port->tile[id].live && !port->tile[id].alias);
    port->tile[id].live = false;
}

static void plain_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    assert(port->tile[id].live);
    fa_tile_clip(&port->tile[id], &port->run->tensor[id], row, column);
    fa_tile_copy_in(port, id, row, column);
}

static void plain_compute(struct fa_port *port, enum fa_op op)
{
    struct fa_flops unused = {0, 0, 0};
    fa_op_account(port, op, &unused);
    fa_tile_compute(port, op);
}

static void plain_skip(struct fa_port *port, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    (void)port, (void)i, (void)i_end, (void)j, (void)j_end;
}

const struct fa_port_verbs fa_plain_verbs = {
    .alloc = plain_alloc,
    .free = plain_free,
    .load = plain_load,
    .store = fa_tile_copy_out,
    .compute = plain_compute,
    .skip = plain_skip,
    .reveal_lse = fa_tile_copy_lse,
};
