#include "simulator/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reference/tile_cost.h"
#include "reference/tile_kernels.h"

enum fa_tensor_id sim_op_writes(enum fa_op op)
{
    static const uint8_t writes[FA_OP_COUNT] = {
        [FA_OP_START] = FA_O,         [FA_OP_SCORE] = FA_S,
        [FA_OP_BIAS] = FA_S,          [FA_OP_HIDE] = FA_S,
        [FA_OP_MASK] = FA_S,          [FA_OP_SOFTMAX_ROWS] = FA_P,
        [FA_OP_ROW_STATS] = FA_M,     [FA_OP_NORMALISE] = FA_P,
        [FA_OP_ABSORB] = FA_P,        [FA_OP_TILE_SOFTMAX] = FA_P,
        [FA_OP_UPDATE] = FA_O,        [FA_OP_ACCUMULATE] = FA_O,
        [FA_OP_FINISH] = FA_O,        [FA_OP_FINISH_STATS] = FA_LSE,
        [FA_OP_NO_WEIGHTS] = FA_P,    [FA_OP_WEIGHTS] = FA_P,
        [FA_OP_DROPOUT] = FA_P,       [FA_OP_KEEP] = FA_DROPOUT,
        [FA_OP_START_S] = FA_S,       [FA_OP_SCORE_PART] = FA_S,
        [FA_OP_SCALE_S] = FA_S,
        [FA_OP_ACCUMULATE_PART] = FA_O,
        [FA_OP_START_DQ] = FA_DQ,     [FA_OP_START_DELTA] = FA_DELTA,
        [FA_OP_START_DKV] = FA_DV,    [FA_OP_DELTA] = FA_DELTA,
        [FA_OP_DP] = FA_DP,           [FA_OP_DROPOUT_DP] = FA_DP,
        [FA_OP_GRAD_S] = FA_DS,       [FA_OP_GRAD_V] = FA_DV,
        [FA_OP_GRAD_Q] = FA_DQ,       [FA_OP_GRAD_K] = FA_DK,
        [FA_OP_GRAD_S_ROWS] = FA_DS,  [FA_OP_ROW_DELTA] = FA_DELTA,
    };
    assert((unsigned)op < FA_OP_COUNT);
    return (enum fa_tensor_id)writes[op];
}

static struct sim_memory *memory_of(struct fa_port *port)
{
    return (struct sim_memory *)port;
}

/* The event's fields that come from where the algorithm stands. */
static struct sim_event event_at(const struct fa_port *port, enum sim_event_kind kind,
                                 enum fa_tensor_id id, int64_t rows, int64_t columns,
                                 uint64_t place)
{
    return (struct sim_event){
        .kind = kind,
        .tensor = id,
        .step = (unsigned)port->at.step & 0xff,
        .line = (unsigned)port->at.line & 0xffff,
        .head = (uint64_t)port->at.head & 0xfffffff,
        .i = port->at.i < 0 ? SIM_NO_TILE : (uint64_t)port->at.i & SIM_NO_TILE,
        .j = port->at.j < 0 ? SIM_NO_TILE : (uint64_t)port->at.j & SIM_NO_TILE,
        .rows = (uint64_t)rows & 0xffffff,
        .columns = (uint64_t)columns & 0xffffff,
        .place = place & 0xfffffffff,
    };
}

/* Every verb ends here: one more event is done. The rare work is kept out of line. */
static void record(struct sim_memory *memory, const struct sim_event *event)
{
    if (memory->trace && !sim_trace_append(memory->trace, event) && memory->port.status == FA_OK)
        memory->port.status =
            fa_fail(&memory->port.error, FA_NO_MEMORY,
                    "no memory for the trace after %" PRIu64
                    " events: trace a smaller problem or one head",
                    memory->events);
    memory->events++;
    if (memory->most_events && memory->events > memory->most_events && memory->port.status == FA_OK)
        memory->port.status =
            fa_fail(&memory->port.error, FA_TOO_LARGE,
                    "the trace has more than %" PRIu64
                    " events: trace fewer heads, a smaller problem or larger tiles",
                    memory->most_events);
    if (memory->after && memory->port.status == FA_OK)
        memory->after(memory->after_context, memory);
    if (memory->stop_after && memory->events >= memory->stop_after &&
        memory->port.status == FA_OK)
        memory->port.status = fa_fail(&memory->port.error, FA_CANCELLED,
                                      "stopped after event %" PRIu64, memory->events - 1);
}

static inline bool recording(const struct sim_memory *memory)
{
    return memory->trace || memory->stop_after || memory->after;
}

/* First fit: the lowest offset where `bytes` fit between the live tiles. */
static uint64_t find_place(const struct fa_port *port, uint64_t bytes)
{
    uint64_t place = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int id = 0; id < FA_TENSORS; id++) {
            const struct fa_tile *other = &port->tile[id];
            if (other->live && !other->alias && other->bytes && place < other->place + other->bytes &&
                other->place < place + bytes) {
                place = other->place + other->bytes;
                moved = true;
            }
        }
    }
    return place;
}

/* "q 16x16 1024, k 16x16 1024", cut to its size. */
static void list_live(const struct fa_port *port, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int id = 0; id < FA_TENSORS && used < size; id++) {
        const struct fa_tile *tile = &port->tile[id];
        if (!tile->live || tile->alias)
            continue;
        int n = snprintf(text + used, size - used, "%s%s %" PRId64 "x%" PRId64 " %" PRIu64,
                         used ? ", " : "", fa_tensor_name((enum fa_tensor_id)id),
                         tile->row_capacity, tile->column_capacity, tile->bytes);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void refuse(struct sim_memory *memory, enum fa_tensor_id id, const struct fa_tile *wanted)
{
    struct fa_port *port = &memory->port;
    uint64_t free_bytes = memory->capacity_bytes - memory->live_bytes;
    char live[512];

    list_live(port, live, sizeof live);
    if (memory->trace) {
        struct sim_event event = event_at(port, SIM_REFUSE, id, wanted->row_capacity,
                                          wanted->column_capacity, memory->live_bytes);
        sim_trace_append(memory->trace, &event);
    }
    port->status = fa_fail(
        &port->error, FA_DOES_NOT_FIT,
        "SRAM of %" PRIu64 " bytes is too small: %s of %" PRId64 "x%" PRId64 " needs %" PRIu64
        " bytes, %" PRIu64 " are free, %" PRIu64 " too few (live: %s)",
        memory->capacity_bytes, fa_tensor_name(id), wanted->row_capacity, wanted->column_capacity,
        wanted->bytes, free_bytes, wanted->bytes - free_bytes, live[0] ? live : "nothing");
}

static void memory_alloc(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    struct sim_memory *memory = memory_of(port);
    struct fa_tile *tile = &port->tile[id];

    fa_tile_shape(port, id, rows, columns);
    if (memory->capacity_bytes &&
        tile->bytes > memory->capacity_bytes - memory->live_bytes) {
        struct fa_tile wanted = *tile;
        tile->live = false;
        refuse(memory, id, &wanted);
        return;
    }
    tile->live = false; /* not yet there while its place is looked for */
    tile->place = recording(memory) ? find_place(port, tile->bytes) : 0;
    tile->live = true;
    memory->live_bytes += tile->bytes;
    if (memory->peak_bytes < memory->live_bytes)
        memory->peak_bytes = memory->live_bytes;
    if (memory->with_data) {
        fa_tile_give_cells(port, id);
        if (port->status == FA_OK)
            fa_tile_poison(port, tile);
    }
    if (recording(memory)) {
        struct sim_event event = event_at(port, SIM_ALLOC, id, rows, columns, tile->place);
        record(memory, &event);
    }
}

static void memory_free(struct fa_port *port, enum fa_tensor_id id)
{
    struct sim_memory *memory = memory_of(port);
    struct fa_tile *tile = &port->tile[id];

    assert(tile->live && !tile->alias);
    tile->live = false;
    memory->live_bytes -= tile->bytes;
    if (memory->with_data)
        fa_tile_poison(port, tile);
    if (recording(memory)) {
        struct sim_event event = event_at(port, SIM_FREE, id, tile->row_capacity,
                                          tile->column_capacity, tile->place);
        record(memory, &event);
    }
}

static void memory_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    struct sim_memory *memory = memory_of(port);
    struct fa_tile *tile = &port->tile[id];

    assert(tile->live);
    fa_tile_clip(tile, &port->run->tensor[id], row, column);
    port->tally.read[id] += (uint64_t)(tile->rows * tile->columns);
    if (memory->with_data) {
        /* What a ragged tile does not cover must not look like data. */
        if (tile->rows < tile->row_capacity || tile->columns < tile->column_capacity)
            fa_tile_poison(port, tile);
        fa_tile_copy_in(port, id, row, column);
    }
    if (recording(memory)) {
        struct sim_event event =
            event_at(port, SIM_LOAD, id, tile->rows, tile->columns, tile->place);
        event.row = (uint64_t)row & 0xfffffff;
        event.column = (uint64_t)column & 0xfffffff;
        record(memory, &event);
    }
}

static void memory_store(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    struct sim_memory *memory = memory_of(port);
    const struct fa_tile *tile = &port->tile[id];

    assert(tile->live);
    port->tally.write[id] += (uint64_t)(tile->rows * tile->columns);
    if (memory->with_data)
        fa_tile_copy_out(port, id, row, column);
    if (recording(memory)) {
        struct sim_event event =
            event_at(port, SIM_STORE, id, tile->rows, tile->columns, tile->place);
        event.row = (uint64_t)row & 0xfffffff;
        event.column = (uint64_t)column & 0xfffffff;
        record(memory, &event);
    }
}

/* The r x c that the operation's cost is about: see struct sim_event. */
static void op_extent(const struct fa_port *port, enum fa_op op, int64_t *r, int64_t *c)
{
    const struct fa_tile *tile = port->tile;
    enum fa_tensor_id id;
    switch (op) {
    case FA_OP_START:
    case FA_OP_FINISH:
    case FA_OP_FINISH_STATS:
    case FA_OP_DELTA:
        *r = tile[FA_O].live ? tile[FA_O].rows : tile[FA_M].rows;
        *c = 1;
        return;
    case FA_OP_START_DQ:
        *r = tile[FA_DQ].rows;
        *c = 1;
        return;
    case FA_OP_START_DELTA:
        *r = tile[FA_DELTA].rows;
        *c = 1;
        return;
    case FA_OP_START_DKV:
        *r = tile[FA_DK].live ? tile[FA_DK].rows : tile[FA_DV].rows;
        *c = 1;
        return;
    case FA_OP_START_S:
    case FA_OP_SCORE:
    case FA_OP_SCORE_PART:
    case FA_OP_SCALE_S:
    case FA_OP_BIAS:
    case FA_OP_HIDE:
    case FA_OP_MASK:
    case FA_OP_ROW_STATS:
        id = FA_S;
        break;
    case FA_OP_DP:
    case FA_OP_DROPOUT_DP:
        id = FA_DP;
        break;
    case FA_OP_GRAD_Q:
    case FA_OP_GRAD_K:
        id = FA_DS;
        break;
    default:
        id = FA_P;
        break;
    }
    *r = tile[id].rows;
    *c = tile[id].columns;
}

static void record_compute(struct sim_memory *memory, enum fa_op op)
{
    struct fa_port *port = &memory->port;
    enum fa_tensor_id id = sim_op_writes(op);
    int64_t rows, columns;
    if (op == FA_OP_START_DKV && !port->tile[FA_DV].live)
        id = FA_DK; /* `standard` forms one at a time */
    op_extent(port, op, &rows, &columns);
    struct sim_event event = event_at(port, SIM_COMPUTE, id, rows, columns, port->tile[id].place);
    event.op = (unsigned)op & 0xff;
    event.flags = (port->visit != FA_VISIT_NONE ? SIM_VISITS : 0u) |
                  (port->visit == FA_VISIT_CUT ? SIM_CUT : 0u);
    port->visit = FA_VISIT_NONE;
    record(memory, &event);
}

static void memory_compute(struct fa_port *port, enum fa_op op)
{
    struct sim_memory *memory = memory_of(port);

    fa_op_account(port, op, &port->tally.flops);
    if (memory->with_data)
        fa_tile_compute(port, op);
    if (recording(memory))
        record_compute(memory, op);
}

/* An event a tile, so that each can be pointed at. */
static void memory_skip(struct fa_port *port, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    struct sim_memory *memory = memory_of(port);
    if (!recording(memory))
        return;
    for (int64_t row = i; row < i_end && port->status == FA_OK; row++)
        for (int64_t column = j; column < j_end && port->status == FA_OK; column++) {
            struct sim_event event = event_at(port, SIM_SKIP, FA_S, 0, 0, 0);
            event.i = (uint64_t)row & SIM_NO_TILE;
            event.j = (uint64_t)column & SIM_NO_TILE;
            record(memory, &event);
        }
}

static void memory_reveal_lse(struct fa_port *port, int64_t row)
{
    if (memory_of(port)->with_data)
        fa_tile_copy_lse(port, row);
}

static const struct fa_port_verbs memory_verbs = {
    .alloc = memory_alloc,
    .free = memory_free,
    .load = memory_load,
    .store = memory_store,
    .compute = memory_compute,
    .skip = memory_skip,
    .reveal_lse = memory_reveal_lse,
};

void sim_memory_open(struct sim_memory *memory, const struct fa_run *run, enum sim_mode mode,
                     uint64_t capacity_bytes, struct sim_trace *trace)
{
    memset(memory, 0, sizeof *memory);
    fa_port_open(&memory->port, mode == SIM_PLAIN ? &fa_plain_verbs : &memory_verbs, run);
    memory->capacity_bytes = capacity_bytes;
    memory->with_data = mode != SIM_COUNT_ONLY;
    memory->trace = trace;
    /* A trace needs every event, so it goes the long way. */
    memory->port.count_only = mode == SIM_COUNT_ONLY && !trace;
}

struct sim_counters sim_memory_counters(const struct sim_memory *memory)
{
    const struct fa_tally *tally = &memory->port.tally;
    struct sim_counters counters = {
        .flops = tally->flops,
        .tiles_visited = tally->tiles_visited,
        .tiles_masked = tally->tiles_masked,
        .tiles_skipped = tally->tiles_skipped,
        .sram_peak_bytes = memory->peak_bytes,
    };
    memcpy(counters.read, tally->read, sizeof counters.read);
    memcpy(counters.write, tally->write, sizeof counters.write);
    sim_counters_merge_pd(&counters);
    return counters;
}

void sim_memory_close(struct sim_memory *memory)
{
    fa_port_close(&memory->port);
}
