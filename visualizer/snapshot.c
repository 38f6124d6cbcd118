/* All that a run holds at a position: the cells of its tiles, and what it wrote to HBM. */
#include "visualizer/run_parts.h"

#include <stdlib.h>
#include <string.h>

/* Everything begins at a multiple of this, so that numbers lie as their type wants them. */
enum { GRAIN = 64 };

static size_t grains(size_t bytes)
{
    return (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

static size_t cell_bytes(const struct fa_port *port)
{
    return port->compute_type == FA_F64 ? sizeof(double) : sizeof(float);
}

static size_t tile_bytes(const struct fa_port *port, const struct fa_tile *tile)
{
    int64_t outer = tile->row_major ? tile->row_capacity : tile->column_capacity;
    return (size_t)(tile->ld * outer) * cell_bytes(port);
}

static size_t row_bytes(const struct fa_port *port, const struct fa_tile *tile)
{
    return tile->by_rows ? (size_t)(tile->row_ld * tile->row_capacity) * cell_bytes(port) : 0;
}

static bool owns_cells(const struct fa_tile *tile)
{
    return tile->live && !tile->alias && tile->cells;
}

/* A tensor of which there is one for all heads, or batches, is copied once. */
static struct view_copy shape_copy(const struct fa_tensor *tensor)
{
    return (struct view_copy){
        .dtype = tensor->dtype,
        .batches = tensor->stride[0] == 0 ? view_least(1, tensor->shape[0]) : tensor->shape[0],
        .heads = tensor->stride[1] == 0 ? view_least(1, tensor->shape[1]) : tensor->shape[1],
        .rows = tensor->shape[2],
        .columns = tensor->shape[3],
        .shared = (tensor->stride[0] == 0 && tensor->shape[0] > 1) ||
                  (tensor->stride[1] == 0 && tensor->shape[1] > 1),
    };
}

static size_t copy_bytes(const struct view_copy *copy)
{
    return (size_t)(copy->batches * copy->heads * copy->rows * copy->columns) *
           fa_dtype_bytes(copy->dtype);
}

/* Row by row between a tensor of any strides and its copy. */
static void move_rows(const struct fa_tensor *tensor, const struct view_copy *copy, bool out)
{
    size_t element = fa_dtype_bytes(copy->dtype), row_size = (size_t)copy->columns * element;
    char *packed = copy->data;
    for (int64_t b = 0; b < copy->batches; b++)
        for (int64_t h = 0; h < copy->heads; h++)
            for (int64_t r = 0; r < copy->rows; r++, packed += row_size) {
                char *row = (char *)tensor->data +
                            (size_t)fa_tensor_index(tensor, b, h, r, 0) * element;
                size_t step = (size_t)tensor->stride[3] * element;
                if (step == element && row_size > 0) {
                    memcpy(out ? row : packed, out ? packed : row, row_size);
                    continue;
                }
                for (int64_t c = 0; c < copy->columns; c++)
                    memcpy(out ? row + (size_t)c * step : packed + (size_t)c * element,
                           out ? packed + (size_t)c * element : row + (size_t)c * step, element);
            }
}

size_t view_snapshot_bytes(const struct sim_memory *memory, uint32_t set)
{
    const struct fa_port *port = &memory->port;
    size_t bytes = GRAIN;
    for (int id = 0; id < FA_TENSORS; id++)
        if (owns_cells(&port->tile[id]))
            bytes += grains(tile_bytes(port, &port->tile[id])) +
                     grains(row_bytes(port, &port->tile[id]));
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        if ((set & FA_BIT(id)) && port->run->tensor[id].data) {
            struct view_copy copy = shape_copy(&port->run->tensor[id]);
            bytes += grains(copy_bytes(&copy));
        }
    return bytes;
}

static void *copy_cells(char **free_memory, const void *cells, size_t bytes)
{
    void *place = *free_memory;
    memcpy(place, cells, bytes);
    *free_memory += grains(bytes);
    return place;
}

static void take_tiles(struct view_snapshot *snapshot, const struct fa_port *port,
                       char **free_memory)
{
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct fa_tile *tile = &port->tile[id];
        snapshot->tile[id] = *tile;
        snapshot->owner[id] = -1;
        snapshot->tile[id].cells = snapshot->tile[id].row_cells = NULL;
        if (!owns_cells(tile))
            continue;
        snapshot->tile[id].cells = copy_cells(free_memory, tile->cells, tile_bytes(port, tile));
        if (tile->row_cells)
            snapshot->tile[id].row_cells =
                copy_cells(free_memory, tile->row_cells, row_bytes(port, tile));
    }
    for (int id = 0; id < FA_TENSORS; id++)
        for (int other = 0; other < FA_TENSORS; other++)
            if (port->tile[id].live && port->tile[id].alias && owns_cells(&port->tile[other]) &&
                port->tile[other].cells == port->tile[id].cells) {
                snapshot->owner[id] = (int8_t)other;
                snapshot->tile[id].cells = snapshot->tile[other].cells;
            }
}

bool view_snapshot_take(struct view_snapshot *snapshot, const struct sim_memory *memory,
                        uint32_t set)
{
    const struct fa_port *port = &memory->port;
    size_t bytes = view_snapshot_bytes(memory, set);
    struct view_snapshot made = {.position = memory->events};
    if (snapshot->bytes < bytes) {
        view_snapshot_free(snapshot);
        snapshot->memory = aligned_alloc(GRAIN, bytes);
        if (!snapshot->memory)
            return false;
        snapshot->bytes = bytes;
    }
    made.memory = snapshot->memory;
    made.bytes = snapshot->bytes;
    char *free_memory = made.memory;
    take_tiles(&made, port, &free_memory);
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const struct fa_tensor *tensor = &port->run->tensor[id];
        if (!(set & FA_BIT(id)) || !tensor->data)
            continue;
        made.hbm[id] = shape_copy(tensor);
        made.hbm[id].data = free_memory;
        move_rows(tensor, &made.hbm[id], false);
        free_memory += grains(copy_bytes(&made.hbm[id]));
    }
    *snapshot = made;
    return true;
}

void view_snapshot_give(const struct view_snapshot *snapshot, struct sim_memory *memory)
{
    struct fa_port *port = &memory->port;
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct fa_tile *from = &snapshot->tile[id];
        struct fa_tile *to = &port->tile[id];
        if (!owns_cells(from))
            continue;
        *to = *from;
        to->cells = to->row_cells = NULL;
        fa_tile_give_cells(port, (enum fa_tensor_id)id);
        if (port->status != FA_OK)
            return;
        memcpy(to->cells, from->cells, tile_bytes(port, from));
        if (from->row_cells && to->row_cells)
            memcpy(to->row_cells, from->row_cells, row_bytes(port, from));
    }
    for (int id = 0; id < FA_TENSORS; id++)
        if (snapshot->owner[id] >= 0) {
            port->tile[id] = snapshot->tile[id];
            port->tile[id].cells = port->tile[snapshot->owner[id]].cells;
        }
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        if (snapshot->hbm[id].data)
            move_rows(&port->run->tensor[id], &snapshot->hbm[id], true);
}

void view_snapshot_free(struct view_snapshot *snapshot)
{
    free(snapshot->memory);
    memset(snapshot, 0, sizeof *snapshot);
}
