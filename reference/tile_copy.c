/*
 * What moves cells between a tensor in HBM and a tile on chip, and turns rows into lines of queries
 * on the way: in blocks, so that both sides of the copy stay in the nearest cache.
 */
#include "reference/plain_port.h"

#include <assert.h>
#include <math.h>

#include "reference/tile_target.h"

#define REAL float
#define TYPED(name) name##_f32
#include "reference/tile_copy.inc"
#undef REAL
#undef TYPED

#define REAL double
#define TYPED(name) name##_f64
#include "reference/tile_copy.inc"

/* Rows and columns of a block. */
enum { BLOCK_ROWS = FA_LANES, BLOCK_COLUMNS = 64 };

union block {
    float f32[BLOCK_ROWS][BLOCK_COLUMNS];
    double f64[BLOCK_ROWS][BLOCK_COLUMNS];
};

/* The part of a head's matrix that a tile holds. */
struct part {
    char *first;
    int64_t row_stride, column_stride; /* in elements */
    int64_t element_bytes, cell_bytes;
    enum fa_dtype dtype, cells; /* the types of its elements and of the tile's cells */
};

static struct part part_of(const struct fa_port *port, const struct fa_tensor *tensor, int64_t row,
                           int64_t column)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t batch = port->at.head / problem->heads, head = port->at.head % problem->heads;
    int64_t index = fa_tensor_index(tensor, fa_problem_batch(tensor, batch),
                                    fa_problem_head(problem, tensor, head), row, column);
    int64_t element_bytes = (int64_t)fa_dtype_bytes(tensor->dtype);
    return (struct part){
        .first = (char *)tensor->data + index * element_bytes,
        .row_stride = tensor->stride[2],
        .column_stride = tensor->stride[3],
        .element_bytes = element_bytes,
        .cell_bytes = (int64_t)fa_dtype_bytes(port->compute_type),
        .dtype = tensor->dtype,
        .cells = port->compute_type,
    };
}

static char *element(const struct part *part, int64_t row, int64_t column)
{
    int64_t index = row * part->row_stride + column * part->column_stride;
    return part->first + index * part->element_bytes;
}

/* n elements from (row, column) on become cells. */
static void read_row(const struct part *part, void *to, int64_t row, int64_t column, int64_t n)
{
    const char *from = element(part, row, column);
    if (part->column_stride == 1 || n <= 1) {
        fa_dtype_convert(part->cells, to, part->dtype, from, n);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        fa_dtype_set(part->cells, to, c, fa_dtype_get(part->dtype, from, c * part->column_stride));
}

static void write_row(const struct part *part, int64_t row, int64_t column, const void *from,
                      int64_t n)
{
    char *to = element(part, row, column);
    if (part->column_stride == 1 || n <= 1) {
        fa_dtype_convert(part->dtype, to, part->cells, from, n);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        fa_dtype_set(part->dtype, to, c * part->column_stride, fa_dtype_get(part->cells, from, c));
}

static bool non_finite(const struct part *part, const void *cells, int64_t n)
{
    return part->cells == FA_F64 ? non_finite_f64(cells, n) : non_finite_f32(cells, n);
}

static void transpose(const struct part *part, const void *from, int64_t from_ld, void *to,
                      int64_t to_ld, int64_t rows, int64_t columns)
{
    if (part->cells == FA_F64)
        transpose_f64(from, from_ld, to, to_ld, rows, columns);
    else
        transpose_f32(from, from_ld, to, to_ld, rows, columns);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static char *cell(const struct part *part, void *cells, int64_t index)
{
    return (char *)cells + index * part->cell_bytes;
}

/* `rows` whole rows from `row` on, which lie on chip as they do in the matrix. Whether they hold a
 * NaN or an infinity, where that is watched. */
static bool copy_rows_in(const struct part *part, void *cells, int64_t ld, int64_t row,
                         int64_t rows, int64_t columns, bool watched)
{
    bool found = false;
    for (int64_t r = row; r < row + rows; r++) {
        void *to = cell(part, cells, r * ld);
        read_row(part, to, r, 0, columns);
        found = found || (watched && non_finite(part, to, columns));
    }
    return found;
}

/* The same rows with the rows innermost. */
static void copy_lines_in(const struct part *part, const struct fa_tile *tile, int64_t row,
                          int64_t rows)
{
    union block block;
    for (int64_t c = 0; c < tile->columns; c += BLOCK_COLUMNS) {
        int64_t columns = least(BLOCK_COLUMNS, tile->columns - c);
        for (int64_t r = 0; r < rows; r++)
            read_row(part, cell(part, &block, r * BLOCK_COLUMNS), row + r, c, columns);
        transpose(part, &block, BLOCK_COLUMNS, cell(part, tile->cells, c * tile->ld + row),
                  tile->ld, rows, columns);
    }
}

void fa_tile_copy_in(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    struct fa_tile *tile = &port->tile[id];
    /* What is multiplied by weights that may be those of hidden keys. */
    bool watched = id == FA_V || (port->run->backward && (id == FA_K || id == FA_Q || id == FA_DO));

    tile->non_finite = false;
    if (tile->rows == 0 || tile->columns == 0)
        return;
    struct part part = part_of(port, &port->run->tensor[id], row, column);
    if (tile->row_major) {
        tile->non_finite = copy_rows_in(&part, tile->cells, tile->ld, 0, tile->rows, tile->columns,
                                        watched);
        return;
    }
    assert(!watched || tile->by_rows);
    for (int64_t first = 0; first < tile->rows; first += BLOCK_ROWS) {
        int64_t rows = least(BLOCK_ROWS, tile->rows - first);
        if (!tile->by_rows) {
            copy_lines_in(&part, tile, first, rows);
            continue;
        }
        if (copy_rows_in(&part, tile->row_cells, tile->row_ld, first, rows, tile->columns, watched))
            tile->non_finite = true;
        transpose(&part, cell(&part, tile->row_cells, first * tile->row_ld), tile->row_ld,
                  cell(&part, tile->cells, first), tile->ld, rows, tile->columns);
    }
}

void fa_tile_copy_out(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    const struct fa_tile *tile = &port->tile[id];
    union block block;

    if (tile->rows == 0 || tile->columns == 0)
        return;
    struct part part = part_of(port, &port->run->tensor[id], row, column);
    if (tile->row_major) {
        for (int64_t r = 0; r < tile->rows; r++)
            write_row(&part, r, 0, cell(&part, tile->cells, r * tile->ld), tile->columns);
        return;
    }
    for (int64_t first = 0; first < tile->rows; first += BLOCK_ROWS)
        for (int64_t c = 0; c < tile->columns; c += BLOCK_COLUMNS) {
            int64_t rows = least(BLOCK_ROWS, tile->rows - first);
            int64_t columns = least(BLOCK_COLUMNS, tile->columns - c);
            transpose(&part, cell(&part, tile->cells, c * tile->ld + first), tile->ld, &block,
                      BLOCK_COLUMNS, columns, rows);
            for (int64_t r = 0; r < rows; r++)
                write_row(&part, first + r, c, cell(&part, &block, r * BLOCK_COLUMNS), columns);
        }
}

void fa_tile_copy_lse(struct fa_port *port, int64_t row)
{
    const struct fa_tensor *lse = &port->run->lse_outside;
    if (!lse->data)
        return;
    struct part part = part_of(port, lse, row, 0);
    for (int64_t r = 0; r < port->tile[FA_M].rows; r++) {
        double m = fa_tile_get(port, FA_M, r, 0), l = fa_tile_get(port, FA_L, r, 0);
        fa_dtype_set(lse->dtype, element(&part, r, 0), 0, l == 0 ? -INFINITY : m + log(l));
    }
}

