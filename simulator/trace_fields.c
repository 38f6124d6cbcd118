#include "simulator/trace_fields.h"

#include "simulator/trace_ops.h"

const char *sim_field_name(enum sim_field field)
{
    static const char *const names[SIM_FIELDS] = {
        "kind", "tensor", "op",  "step",   "flags", "line",    "head",
        "i",    "j",      "row", "column", "rows",  "columns", "place",
    };
    return names[field];
}

static int64_t ceiling(int64_t n, int64_t size)
{
    return n == 0 ? 0 : (n - 1) / size + 1;
}

struct sim_ranges sim_trace_ranges(const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    int64_t i_tiles = ceiling(p->nq, tiles->br), j_tiles = ceiling(p->nk, tiles->bc);
    if (sim_goes_by_rows(header->algorithm)) { /* Row-wise steps count in blocks of their own. */
        int64_t blocks = ceiling(p->nq, tiles->row_block);
        int64_t chunks = ceiling(p->nk, tiles->column_chunk);
        i_tiles = blocks > i_tiles ? blocks : i_tiles;
        j_tiles = chunks > j_tiles ? chunks : j_tiles;
    }
    struct sim_ranges ranges = {
        .least = {[SIM_FIELD_I] = -1, [SIM_FIELD_J] = -1},
        .most = {
            [SIM_FIELD_KIND] = SIM_EVENT_KINDS - 1,
            [SIM_FIELD_TENSOR] = FA_TENSORS - 1,
            [SIM_FIELD_OP] = FA_OP_COUNT - 1,
            [SIM_FIELD_STEP] = header->algorithm->n_steps - 1,
            [SIM_FIELD_FLAGS] = SIM_VISITS | SIM_CUT,
            [SIM_FIELD_LINE] = (1 << 16) - 1,
            [SIM_FIELD_HEAD] = p->batch * p->heads - 1,
            [SIM_FIELD_I] = i_tiles - 1,
            [SIM_FIELD_J] = j_tiles - 1,
            [SIM_FIELD_ROW] = (1 << 28) - 1,
            [SIM_FIELD_COLUMN] = (1 << 28) - 1,
            [SIM_FIELD_ROWS] = (1 << 24) - 1,
            [SIM_FIELD_COLUMNS] = (1 << 24) - 1,
            [SIM_FIELD_PLACE] = (INT64_C(1) << 36) - 1,
        },
    };
    return ranges;
}

struct sim_event sim_event_pack(const int64_t values[SIM_FIELDS])
{
    const uint64_t *u = (const uint64_t *)values;
    return (struct sim_event){
        .kind = u[SIM_FIELD_KIND] & 0xf,
        .tensor = u[SIM_FIELD_TENSOR] & 0x3f,
        .op = u[SIM_FIELD_OP] & 0xff,
        .step = u[SIM_FIELD_STEP] & 0xff,
        .flags = u[SIM_FIELD_FLAGS] & 0x3f,
        .line = u[SIM_FIELD_LINE] & 0xffff,
        .head = u[SIM_FIELD_HEAD] & 0xfffffff,
        .i = values[SIM_FIELD_I] < 0 ? SIM_NO_TILE : u[SIM_FIELD_I] & SIM_NO_TILE,
        .j = values[SIM_FIELD_J] < 0 ? SIM_NO_TILE : u[SIM_FIELD_J] & SIM_NO_TILE,
        .row = u[SIM_FIELD_ROW] & 0xfffffff,
        .column = u[SIM_FIELD_COLUMN] & 0xfffffff,
        .rows = u[SIM_FIELD_ROWS] & 0xffffff,
        .columns = u[SIM_FIELD_COLUMNS] & 0xffffff,
        .place = u[SIM_FIELD_PLACE] & 0xfffffffff,
    };
}

void sim_event_unpack(const struct sim_event *event, int64_t values[SIM_FIELDS])
{
    values[SIM_FIELD_KIND] = event->kind;
    values[SIM_FIELD_TENSOR] = event->tensor;
    values[SIM_FIELD_OP] = event->op;
    values[SIM_FIELD_STEP] = event->step;
    values[SIM_FIELD_FLAGS] = event->flags;
    values[SIM_FIELD_LINE] = event->line;
    values[SIM_FIELD_HEAD] = event->head;
    values[SIM_FIELD_I] = event->i == SIM_NO_TILE ? -1 : event->i;
    values[SIM_FIELD_J] = event->j == SIM_NO_TILE ? -1 : event->j;
    values[SIM_FIELD_ROW] = event->row;
    values[SIM_FIELD_COLUMN] = event->column;
    values[SIM_FIELD_ROWS] = event->rows;
    values[SIM_FIELD_COLUMNS] = event->columns;
    values[SIM_FIELD_PLACE] = (int64_t)event->place;
}
