#include "simulator/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Events come in chunks that never move, each with the state before its first one. */
struct chunk {
    struct sim_state before;
    struct sim_event events[SIM_TRACE_SNAPSHOT];
};

struct sim_trace {
    struct sim_trace_header header;
    struct chunk **chunks;
    size_t n_chunks, chunk_capacity;
    uint64_t length;
    struct sim_state now; /* after the last event */
};

const char *sim_event_kind_name(enum sim_event_kind kind)
{
    static const char *const names[SIM_EVENT_KINDS] = {
        [SIM_LOAD] = "load", [SIM_STORE] = "store", [SIM_COMPUTE] = "compute",
        [SIM_ALLOC] = "alloc", [SIM_FREE] = "free", [SIM_SKIP] = "skip",
        [SIM_REFUSE] = "refuse",
    };
    assert((unsigned)kind < SIM_EVENT_KINDS);
    return names[kind];
}

/* How an operation leaves its results, in the order of struct result's shapes. */
enum result_shape {
    SCORE_TILE, /* r x c */
    STATISTICS, /* r x 1 */
    ALL_COLUMNS /* r x the tile's columns: O */
};

struct result {
    uint8_t tensor, shape;
    bool renewed; /* formed anew: nothing of what was loaded is left */
};

enum { RESULTS_MAX = 4 };

static const struct operation {
    int n;
    struct result results[RESULTS_MAX];
} operations[FA_OP_COUNT] = {
    [FA_OP_START] = {3, {{FA_O, ALL_COLUMNS, true}, {FA_L, STATISTICS, true},
                         {FA_M, STATISTICS, true}}},
    [FA_OP_SCORE] = {1, {{FA_S, SCORE_TILE, true}}},
    [FA_OP_BIAS] = {1, {{FA_S, SCORE_TILE, false}}},
    [FA_OP_HIDE] = {1, {{FA_S, SCORE_TILE, false}}},
    [FA_OP_MASK] = {1, {{FA_S, SCORE_TILE, false}}},
    [FA_OP_SOFTMAX_ROWS] = {3, {{FA_P, SCORE_TILE, true}, {FA_L, STATISTICS, true},
                                {FA_M, STATISTICS, true}}},
    [FA_OP_ROW_STATS] = {2, {{FA_L, STATISTICS, false}, {FA_M, STATISTICS, false}}},
    [FA_OP_NORMALISE] = {1, {{FA_P, SCORE_TILE, true}}},
    [FA_OP_ABSORB] = {4, {{FA_P, SCORE_TILE, true}, {FA_O, ALL_COLUMNS, false},
                          {FA_L, STATISTICS, false}, {FA_M, STATISTICS, false}}},
    [FA_OP_TILE_SOFTMAX] = {3, {{FA_P, SCORE_TILE, true}, {FA_TILE_L, STATISTICS, true},
                                {FA_TILE_M, STATISTICS, true}}},
    [FA_OP_UPDATE] = {4, {{FA_P, SCORE_TILE, false}, {FA_O, ALL_COLUMNS, false},
                          {FA_L, STATISTICS, false}, {FA_M, STATISTICS, false}}},
    [FA_OP_ACCUMULATE] = {1, {{FA_O, ALL_COLUMNS, false}}},
    [FA_OP_FINISH] = {2, {{FA_O, ALL_COLUMNS, false}, {FA_LSE, STATISTICS, true}}},
    [FA_OP_FINISH_STATS] = {1, {{FA_LSE, STATISTICS, true}}},
    [FA_OP_NO_WEIGHTS] = {1, {{FA_P, SCORE_TILE, true}}},
};

struct sim_resident *sim_state_holder(struct sim_state *state, enum fa_tensor_id id)
{
    struct sim_resident *resident = &state->on_chip[id];
    if (!resident->live && id == FA_P)
        resident = &state->on_chip[FA_S];
    else if (!resident->live && id == FA_LSE)
        resident = &state->on_chip[FA_M];
    return resident->live ? resident : NULL;
}

/* What lies in the tile and what lies at (row, column) in HBM are now the same. */
static void apply_transfer(struct sim_state *state, const struct sim_event *event)
{
    struct sim_resident *resident = sim_state_holder(state, (enum fa_tensor_id)event->tensor);
    if (!resident)
        return;
    resident->loaded = true;
    resident->changed = false;
    resident->holds = event->tensor;
    resident->held_rows = event->rows;
    resident->held_columns = event->columns;
    resident->head = event->head;
    resident->row = event->row;
    resident->column = event->column;
}

static void apply_compute(struct sim_state *state, const struct fa_problem *problem,
                          const struct sim_event *event)
{
    const struct operation *operation = &operations[event->op];
    for (int n = 0; n < operation->n; n++) {
        const struct result *result = &operation->results[n];
        struct sim_resident *to = sim_state_holder(state, (enum fa_tensor_id)result->tensor);
        if (!to)
            continue; /* start is about those that are live */
        to->changed = true;
        to->holds = result->tensor;
        to->held_rows = event->rows;
        to->held_columns = result->shape == SCORE_TILE  ? event->columns
                           : result->shape == STATISTICS ? 1
                                                         : to->columns;
        if (result->renewed)
            to->loaded = false;
    }
    fa_op_cost((enum fa_op)event->op, event->rows, event->columns, (uint64_t)problem->d,
               (uint64_t)problem->dv, &state->counters.flops);
    state->counters.tiles_visited += (event->flags & SIM_VISITS) != 0;
    state->counters.tiles_masked += (event->flags & SIM_CUT) != 0;
}

static void apply_alloc(struct sim_state *state, const struct fa_problem *problem,
                        const struct sim_event *event)
{
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    uint64_t bytes = (uint64_t)event->rows * event->columns * fa_on_chip_bytes(problem, id);
    state->on_chip[id] = (struct sim_resident){
        .live = true,
        .holds = event->tensor,
        .rows = event->rows,
        .columns = event->columns,
        .place = event->place,
        .bytes = bytes,
    };
    state->sram_bytes += bytes;
    if (state->counters.sram_peak_bytes < state->sram_bytes)
        state->counters.sram_peak_bytes = state->sram_bytes;
}

void sim_state_apply(struct sim_state *state, const struct sim_trace_header *header,
                     const struct sim_event *event)
{
    uint64_t elements = (uint64_t)event->rows * event->columns;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_LOAD:
        state->counters.read[event->tensor] += elements;
        apply_transfer(state, event);
        return;
    case SIM_STORE:
        state->counters.write[event->tensor] += elements;
        apply_transfer(state, event);
        return;
    case SIM_COMPUTE:
        apply_compute(state, &header->problem, event);
        return;
    case SIM_ALLOC:
        apply_alloc(state, &header->problem, event);
        return;
    case SIM_FREE:
        state->sram_bytes -= state->on_chip[event->tensor].bytes;
        state->on_chip[event->tensor] = (struct sim_resident){.live = false};
        return;
    case SIM_SKIP:
        state->counters.tiles_skipped++;
        return;
    case SIM_REFUSE:
    case SIM_EVENT_KINDS:
        return;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceiling(int64_t n, int64_t size)
{
    return n == 0 ? 0 : (n - 1) / size + 1;
}

/* The most bytes that can lie on chip at once: no place is at or past them. */
static int64_t most_bytes(const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    int64_t rows = least(tiles->br, p->nq), columns = least(tiles->bc, p->nk);
    int64_t input = (int64_t)fa_on_chip_bytes(p, FA_Q), real = (int64_t)fa_on_chip_bytes(p, FA_S);
    int64_t most = rows * (p->d * input + p->dv * real) + columns * (p->d + p->dv) * input +
                   rows * columns * real + 4 * rows * real;
    if (header->has_bias)
        most += rows * columns * (int64_t)fa_on_chip_bytes(p, FA_BIAS);
    if (header->has_mask)
        most += rows * columns;
    if (header->algorithm->stores_scores) {
        int64_t row_wise = least(tiles->row_block, p->nq) *
                           (least(tiles->column_chunk, p->nk) + 2) * real;
        most = row_wise > most ? row_wise : most;
    }
    return header->sram_bytes ? least(most, (int64_t)header->sram_bytes) : most;
}

/* Whether all that a run of this header can do has room in the fields of an event. */
static enum fa_status check_sizes(const struct sim_trace_header *header, struct fa_error *error)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    bool row_wise = header->algorithm->stores_scores;
    const int64_t matrix = 1 << 28, tile = (1 << 24) - 1, count = SIM_NO_TILE;
    int64_t heads = INT64_MAX;
    fa_multiply(p->batch, p->heads, &heads);
    const struct {
        const char *what;
        int64_t value, most;
    } sizes[] = {
        {"batch x heads", heads, matrix},
        {"nq", p->nq, matrix},
        {"nk", p->nk, matrix},
        {"d", p->d, tile},
        {"dv", p->dv, tile},
        {"a query tile's rows", least(tiles->br, p->nq), tile},
        {"a key tile's rows", least(tiles->bc, p->nk), tile},
        {"a row step's rows", row_wise ? least(tiles->row_block, p->nq) : 0, tile},
        {"a row step's columns", row_wise ? least(tiles->column_chunk, p->nk) : 0, tile},
        {"the number of query tiles", ceiling(p->nq, tiles->br), count},
        {"the number of key tiles", ceiling(p->nk, tiles->bc), count},
        {"the number of row steps", row_wise ? ceiling(p->nq, tiles->row_block) : 0, count},
        {"the number of column chunks", row_wise ? ceiling(p->nk, tiles->column_chunk) : 0, count},
    };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        if (sizes[n].value > sizes[n].most)
            return fa_fail(error, FA_TOO_LARGE,
                           "%s is %" PRId64 ": a trace expects at most %" PRId64
                           "; trace a smaller problem, or choose other tiles",
                           sizes[n].what, sizes[n].value, sizes[n].most);
    if (header->sram_bytes > INT64_MAX || most_bytes(header) > INT64_C(1) << 36)
        return fa_fail(error, FA_TOO_LARGE,
                       "the tiles take more than 2^36 bytes on chip: that is past what a trace can "
                       "say of a place; choose smaller tiles");
    return FA_OK;
}

enum fa_status sim_trace_create(const struct sim_trace_header *header, struct sim_trace **trace,
                                struct fa_error *error)
{
    const struct fa_tiles *tiles = &header->tiles;
    assert(tiles->br >= 1 && tiles->bc >= 1);
    assert(!header->algorithm->stores_scores ||
           (tiles->row_block >= 1 && tiles->column_chunk >= 1));
    enum fa_status status = check_sizes(header, error);
    if (status != FA_OK)
        return status;
    struct sim_trace *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a trace: %zu bytes were refused",
                       sizeof *made);
    made->header = *header;
    made->header.problem.mask = made->header.problem.bias = NULL;
    *trace = made;
    return FA_OK;
}

void sim_trace_free(struct sim_trace *trace)
{
    if (!trace)
        return;
    for (size_t n = 0; n < trace->n_chunks; n++)
        free(trace->chunks[n]);
    free(trace->chunks);
    free(trace);
}

/* One more chunk, which begins in the present state. Only the list of chunks is ever copied. */
static bool add_chunk(struct sim_trace *trace)
{
    if (trace->n_chunks == trace->chunk_capacity) {
        size_t capacity = trace->chunk_capacity ? 2 * trace->chunk_capacity : 16;
        struct chunk **chunks = realloc(trace->chunks, capacity * sizeof *chunks);
        if (!chunks)
            return false;
        trace->chunks = chunks;
        trace->chunk_capacity = capacity;
    }
    struct chunk *chunk = malloc(sizeof *chunk);
    if (!chunk)
        return false;
    chunk->before = trace->now;
    trace->chunks[trace->n_chunks++] = chunk;
    return true;
}

bool sim_trace_append(struct sim_trace *trace, const struct sim_event *event)
{
    assert(event->kind < SIM_EVENT_KINDS && event->op < FA_OP_COUNT);
    assert(event->tensor < (event->kind <= SIM_STORE ? (unsigned)FA_HBM_TENSORS : FA_TENSORS));
    size_t slot = (size_t)(trace->length % SIM_TRACE_SNAPSHOT);
    if (slot == 0 && !add_chunk(trace))
        return false;
    trace->chunks[trace->n_chunks - 1]->events[slot] = *event;
    trace->length++;
    sim_state_apply(&trace->now, &trace->header, event);
    return true;
}

const struct sim_trace_header *sim_trace_get_header(const struct sim_trace *trace)
{
    return &trace->header;
}

uint64_t sim_trace_length(const struct sim_trace *trace)
{
    return trace->length;
}

const struct sim_event *sim_trace_event(const struct sim_trace *trace, uint64_t index)
{
    assert(index < trace->length);
    return &trace->chunks[index / SIM_TRACE_SNAPSHOT]->events[index % SIM_TRACE_SNAPSHOT];
}

void sim_trace_seek(const struct sim_trace *trace, uint64_t position, struct sim_state *state)
{
    assert(position <= trace->length);
    if (position == trace->length) {
        *state = trace->now;
        return;
    }
    const struct chunk *chunk = trace->chunks[position / SIM_TRACE_SNAPSHOT];
    *state = chunk->before;
    for (uint64_t n = 0; n < position % SIM_TRACE_SNAPSHOT; n++)
        sim_state_apply(state, &trace->header, &chunk->events[n]);
}
