#include "reference/plain_port.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/tile_cost.h"
#include "reference/tile_kernels.h"

/* Columns converted at a time, of FA_LANES rows, on the stack: query-side tiles are transposed in blocks,
 * so that both sides of the copy stay in the nearest cache. */
enum { CHUNK = 64 };

union block {
    float f32[FA_LANES][CHUNK];
    double f64[FA_LANES][CHUNK];
};

static bool is_key_side(enum fa_tensor_id id)
{
    return id == FA_K || id == FA_V || id == FA_DK || id == FA_DV;
}

static int64_t whole_lanes(int64_t n)
{
    return (n + FA_LANES - 1) / FA_LANES * FA_LANES;
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
        .key_side = is_key_side(id),
    };
    int64_t inner = tile->key_side ? columns : rows;
    tile->ld = whole_lanes(inner);
    /* The backward products sum over queries: they need Q and dO with the columns innermost too. */
    tile->by_rows = port->run->backward && (id == FA_Q || id == FA_DO);
    tile->row_ld = whole_lanes(columns);
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
    int64_t outer = tile->key_side ? tile->row_capacity : tile->column_capacity;
    if (!reserve(port, id, tile->ld * outer, &port->buffer[id], &port->buffer_bytes[id]))
        return;
    tile->cells = port->buffer[id];
    if (tile->by_rows && reserve(port, id, tile->row_ld * tile->row_capacity,
                                 &port->row_buffer[id], &port->row_buffer_bytes[id]))
        tile->row_cells = port->row_buffer[id];
}

void fa_tile_poison(const struct fa_port *port, struct fa_tile *tile)
{
    int64_t outer = tile->key_side ? tile->row_capacity : tile->column_capacity;
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
    int64_t index = tile->key_side ? row * tile->ld + column : column * tile->ld + row;
    return fa_dtype_get(port->compute_type, tile->cells, index);
}

/* Element (row, column) of the matrix that the current head has in the tensor. */
static char *matrix_element(const struct fa_port *port, const struct fa_tensor *tensor,
                            int64_t row, int64_t column)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t batch = port->at.head / problem->heads, head = port->at.head % problem->heads;
    int64_t index = fa_tensor_index(tensor, fa_problem_batch(tensor, batch),
                                    fa_problem_head(problem, tensor, head), row, column);
    return (char *)tensor->data + (size_t)index * fa_dtype_bytes(tensor->dtype);
}

/* Whether n cells hold a NaN or an infinity: x - x is 0 for all others, and a NaN survives sums. */
static bool non_finite(enum fa_dtype type, const void *cells, int64_t n)
{
    if (type == FA_F64) {
        double sum = 0;
        for (int64_t c = 0; c < n; c++)
            sum += ((const double *)cells)[c] - ((const double *)cells)[c];
        return isnan(sum);
    }
    const float *x = cells;
    float sum[FA_LANES] = {0}, all = 0;
    int64_t c = 0;
    for (; c + FA_LANES <= n; c += FA_LANES)
        for (int lane = 0; lane < FA_LANES; lane++)
            sum[lane] += x[c + lane] - x[c + lane];
    for (; c < n; c++)
        sum[0] += x[c] - x[c];
    for (int lane = 0; lane < FA_LANES; lane++)
        all += sum[lane];
    return isnan(all);
}

/* One row of a tensor to doubles or floats, contiguous, any column stride. */
static void read_row(enum fa_dtype to, void *out, const struct fa_tensor *tensor, const char *from,
                     int64_t n)
{
    if (tensor->stride[3] == 1 || n <= 1) {
        fa_dtype_convert(to, out, tensor->dtype, from, n);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        fa_dtype_set(to, out, c, fa_dtype_get(tensor->dtype, from, c * tensor->stride[3]));
}

static void write_row(const struct fa_tensor *tensor, char *to, enum fa_dtype from,
                      const void *row, int64_t n)
{
    if (tensor->stride[3] == 1 || n <= 1) {
        fa_dtype_convert(tensor->dtype, to, from, row, n);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        fa_dtype_set(tensor->dtype, to, c * tensor->stride[3], fa_dtype_get(from, row, c));
}

static void *block_row(const struct fa_port *port, union block *block, int64_t row)
{
    return port->compute_type == FA_F64 ? (void *)block->f64[row] : (void *)block->f32[row];
}

/* rows x columns of a query-side tile from (row, column) on, whose columns lie ld apart. */
static void scatter_block(const struct fa_port *port, const struct fa_tile *tile, int64_t row,
                          int64_t column, const union block *block, int64_t rows, int64_t columns)
{
    if (port->compute_type == FA_F64)
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < rows; r++)
                ((double *)tile->cells)[(column + c) * tile->ld + row + r] = block->f64[r][c];
    else
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < rows; r++)
                ((float *)tile->cells)[(column + c) * tile->ld + row + r] = block->f32[r][c];
}

static void gather_block(const struct fa_port *port, const struct fa_tile *tile, int64_t row,
                         int64_t column, union block *block, int64_t rows, int64_t columns)
{
    if (port->compute_type == FA_F64)
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < rows; r++)
                block->f64[r][c] = ((const double *)tile->cells)[(column + c) * tile->ld + row + r];
    else
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < rows; r++)
                block->f32[r][c] = ((const float *)tile->cells)[(column + c) * tile->ld + row + r];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A key-side tile lies as the matrix does. */
static bool copy_in_key_side(struct fa_port *port, struct fa_tile *tile,
                             const struct fa_tensor *tensor, int64_t row, int64_t column,
                             bool watched)
{
    bool found = false;
    for (int64_t r = 0; r < tile->rows; r++) {
        char *to = (char *)tile->cells + (size_t)(r * tile->ld) * cell_bytes(port);
        read_row(port->compute_type, to, tensor, matrix_element(port, tensor, row + r, column),
                 tile->columns);
        found = found || (watched && non_finite(port->compute_type, to, tile->columns));
    }
    return found;
}

static bool copy_in_query_side(struct fa_port *port, struct fa_tile *tile,
                               const struct fa_tensor *tensor, int64_t row, int64_t column,
                               bool watched)
{
    size_t element = fa_dtype_bytes(tensor->dtype), cell = cell_bytes(port);
    union block block;
    bool found = false;
    for (int64_t first = 0; first < tile->rows; first += FA_LANES)
        for (int64_t c = 0; c < tile->columns; c += CHUNK) {
            int64_t rows = least(FA_LANES, tile->rows - first);
            int64_t n = least(CHUNK, tile->columns - c);
            for (int64_t r = 0; r < rows; r++) {
                const char *from = matrix_element(port, tensor, row + first + r, column);
                void *part = block_row(port, &block, r);
                read_row(port->compute_type, part, tensor,
                         from + (size_t)(c * tensor->stride[3]) * element, n);
                if (tile->by_rows)
                    memcpy((char *)tile->row_cells +
                               (size_t)((first + r) * tile->row_ld + c) * cell,
                           part, (size_t)n * cell);
                found = found || (watched && non_finite(port->compute_type, part, n));
            }
            scatter_block(port, tile, first, c, &block, rows, n);
        }
    return found;
}

void fa_tile_copy_in(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    struct fa_tile *tile = &port->tile[id];
    const struct fa_tensor *tensor = &port->run->tensor[id];
    /* What is multiplied by weights that may be those of hidden keys. */
    bool watched = id == FA_V || (port->run->backward && (id == FA_K || id == FA_Q || id == FA_DO));

    tile->non_finite = false;
    if (tile->rows == 0 || tile->columns == 0)
        return;
    tile->non_finite = tile->key_side
                           ? copy_in_key_side(port, tile, tensor, row, column, watched)
                           : copy_in_query_side(port, tile, tensor, row, column, watched);
}

void fa_tile_copy_out(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    const struct fa_tile *tile = &port->tile[id];
    const struct fa_tensor *tensor = &port->run->tensor[id];
    size_t element = fa_dtype_bytes(tensor->dtype), cell = cell_bytes(port);
    union block block;

    if (tile->rows == 0 || tile->columns == 0)
        return;
    if (tile->key_side) {
        for (int64_t r = 0; r < tile->rows; r++)
            write_row(tensor, matrix_element(port, tensor, row + r, column), port->compute_type,
                      (const char *)tile->cells + (size_t)(r * tile->ld) * cell, tile->columns);
        return;
    }
    for (int64_t first = 0; first < tile->rows; first += FA_LANES)
        for (int64_t c = 0; c < tile->columns; c += CHUNK) {
            int64_t rows = least(FA_LANES, tile->rows - first);
            int64_t n = least(CHUNK, tile->columns - c);
            gather_block(port, tile, first, c, &block, rows, n);
            for (int64_t r = 0; r < rows; r++)
                write_row(tensor,
                          matrix_element(port, tensor, row + first + r, column) +
                              (size_t)(c * tensor->stride[3]) * element,
                          port->compute_type, block_row(port, &block, r), n);
        }
}

void fa_tile_copy_lse(struct fa_port *port, int64_t row)
{
    const struct fa_tensor *lse = &port->run->lse_outside;
    if (!lse->data)
        return;
    for (int64_t r = 0; r < port->tile[FA_M].rows; r++) {
        double m = fa_tile_get(port, FA_M, r, 0), l = fa_tile_get(port, FA_L, r, 0);
        char *to = matrix_element(port, lse, row + r, 0);
        fa_dtype_set(lse->dtype, to, 0, l == 0 ? -INFINITY : m + log(l));
    }
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
