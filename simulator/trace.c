#include "simulator/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/closed_form_parts.h"
#include "simulator/trace_ops.h"

/* Events come in chunks that never move, each with the state before its first one. */
struct chunk {
    struct sim_state before;
    struct sim_event events[SIM_TRACE_SNAPSHOT];
};

struct sim_trace {
    struct sim_trace_header header;
    struct fa_block_mask blocks; /* what header.problem.blocks points to, if there is one */
    uint8_t *visit;
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

const char *sim_trace_pass_title(const struct sim_trace_header *header, char text[SIM_PASS_TITLE])
{
    const struct fa_algorithm *named = header->forward ? header->forward : header->algorithm;
    snprintf(text, SIM_PASS_TITLE, "%s%s", named->name,
             sim_is_backward(header->algorithm) ? " backward" : "");
    return text;
}

struct sim_resident *sim_state_holder(struct sim_state *state, enum fa_tensor_id id)
{
    static const uint8_t others[FA_TENSORS][2] = {
        [FA_P] = {FA_PD, FA_S},
        [FA_PD] = {FA_P, FA_P},
        [FA_LSE] = {FA_M, FA_M},
        [FA_DS] = {FA_DP, FA_DP},
    };
    if (state->on_chip[id].live)
        return &state->on_chip[id];
    for (int n = 0; n < 2; n++) {
        enum fa_tensor_id other = (enum fa_tensor_id)others[id][n];
        if (other != FA_Q && state->on_chip[other].live) /* FA_Q is 0: no other name. */
            return &state->on_chip[other];
    }
    return NULL;
}

bool sim_resident_is(const struct sim_resident *resident, enum fa_tensor_id id)
{
    enum fa_tensor_id held = (enum fa_tensor_id)resident->holds;
    return (held == FA_PD ? FA_P : held) == (id == FA_PD ? FA_P : id);
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

static void apply_result(struct sim_resident *to, const struct sim_op_result *result,
                         const struct sim_event *event)
{
    to->changed = true;
    to->holds = result->tensor;
    to->held_rows = result->shape == SIM_KEY_ROWS ? event->columns : event->rows;
    to->held_columns = result->shape == SIM_SCORE_TILE  ? event->columns
                       : result->shape == SIM_STATISTIC ? 1
                                                        : to->columns;
    if (result->renewed)
        to->loaded = false;
}

static void add_cost(struct sim_state *state, const struct fa_problem *problem,
                     const struct sim_event *event)
{
    uint64_t d = (uint64_t)problem->d, dv = (uint64_t)problem->dv;
    if (event->op == FA_OP_SCORE_PART)
        d = state->on_chip[FA_Q].held_columns;
    else if (event->op == FA_OP_ACCUMULATE_PART)
        dv = state->on_chip[FA_V].held_columns;
    fa_op_cost((enum fa_op)event->op, event->rows, event->columns, d, dv, &state->counters.flops);
}

static void apply_compute(struct sim_state *state, const struct fa_problem *problem,
                          const struct sim_event *event)
{
    const struct sim_op *op = sim_op_of((enum fa_op)event->op);
    for (int n = 0; n < op->n_results; n++) {
        const struct sim_op_result *result = &op->results[n];
        struct sim_resident *to = sim_state_holder(state, (enum fa_tensor_id)result->tensor);
        if (to) /* A start is about those that are live. */
            apply_result(to, result, event);
    }
    add_cost(state, problem, event);
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
    unsigned counted = event->tensor == FA_PD ? FA_P : event->tensor;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_LOAD:
        state->counters.read[counted] += elements;
        apply_transfer(state, event);
        return;
    case SIM_STORE:
        state->counters.write[counted] += elements;
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

/* Bytes of one tile of each of the tensors in the set, with `rows` queries and `columns` keys. */
static int64_t bytes_of(const struct fa_problem *p, uint32_t set, int64_t rows, int64_t columns)
{
    int64_t bytes = 0;
    for (int n = 0; n < FA_TENSORS; n++) {
        enum fa_tensor_id id = (enum fa_tensor_id)n;
        int64_t r, c;
        if (!(set & FA_BIT(id)))
            continue;
        sim_matrix_size(p, id, &r, &c);
        bytes += (sim_is_key_side(id) ? columns : rows) * (sim_is_score_tile(id) ? columns : c) *
                 (int64_t)fa_on_chip_bytes(p, id);
    }
    return bytes;
}

/* No less than the bytes that can lie on chip at once: no place is at or past them. What is but a
 * second name takes no place. */
static int64_t most_bytes(const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    uint32_t set = sim_tensors_on_chip(header);
    set &= ~(set & FA_BIT(FA_S) ? FA_BIT(FA_P) | FA_BIT(FA_PD) : FA_BIT(FA_PD));
    set &= ~(set & FA_BIT(FA_M) ? FA_BIT(FA_LSE) : 0);
    set &= ~(set & FA_BIT(FA_DP) ? FA_BIT(FA_DS) : 0);
    int64_t most = bytes_of(p, set, least(tiles->br, p->nq), least(tiles->bc, p->nk));
    if (sim_goes_by_rows(header->algorithm)) {
        const uint32_t by_rows = FA_BIT(FA_S) | FA_BIT(FA_P) | FA_BIT(FA_L) | FA_BIT(FA_M) |
                                 FA_BIT(FA_DP) | FA_BIT(FA_DELTA);
        int64_t row_wise = bytes_of(p, set & by_rows, least(tiles->row_block, p->nq),
                                    least(tiles->column_chunk, p->nk));
        most = row_wise > most ? row_wise : most;
    }
    return header->sram_bytes ? least(most, (int64_t)header->sram_bytes) : most;
}

/* Whether all that a run of this header can do has room in the fields of an event. */
static enum fa_status check_sizes(const struct sim_trace_header *header, struct fa_error *error)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_tiles *tiles = &header->tiles;
    bool row_wise = sim_goes_by_rows(header->algorithm);
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
    if (p->blocks &&
        p->blocks->rows > SIM_TRACE_BLOCKS / (p->blocks->columns > 0 ? p->blocks->columns : 1))
        return fa_fail(error, FA_TOO_LARGE,
                       "the block mask has %" PRId64 " x %" PRId64
                       " blocks: a trace expects at most "
                       "%d in all; trace a smaller problem, or choose other tiles",
                       p->blocks->rows, p->blocks->columns, (int)SIM_TRACE_BLOCKS);
    if (header->sram_bytes > INT64_MAX || most_bytes(header) > INT64_C(1) << 36)
        return fa_fail(error, FA_TOO_LARGE,
                       "the tiles take more than 2^36 bytes on chip: that is past what a trace can "
                       "say of a place; choose smaller tiles");
    return FA_OK;
}

/* Makes the trace's header its own: it points to nothing of the caller's. False: no memory. */
static bool own_header(struct sim_trace *trace, const struct sim_trace_header *header)
{
    const struct fa_block_mask *blocks = header->problem.blocks;
    struct sim_trace_header *own = &trace->header;
    *own = *header;
    own->problem.mask = own->problem.bias = own->problem.dropout_keep = NULL;
    if (sim_is_backward(own->algorithm) && !own->forward)
        own->forward = fa_algorithm_find(own->algorithm->name);
    if (!blocks)
        return true;
    size_t n = (size_t)(blocks->rows * blocks->columns);
    trace->visit = malloc(n + 1);
    if (!trace->visit)
        return false;
    if (n > 0)
        memcpy(trace->visit, blocks->visit, n);
    trace->blocks = *blocks;
    trace->blocks.visit = trace->visit;
    own->problem.blocks = &trace->blocks;
    return true;
}

enum fa_status sim_trace_create(const struct sim_trace_header *header, struct sim_trace **trace,
                                struct fa_error *error)
{
    const struct fa_tiles *tiles = &header->tiles;
    assert(tiles->br >= 1 && tiles->bc >= 1);
    assert(!sim_goes_by_rows(header->algorithm) ||
           (tiles->row_block >= 1 && tiles->column_chunk >= 1));
    enum fa_status status = check_sizes(header, error);
    if (status != FA_OK)
        return status;
    struct sim_trace *made = calloc(1, sizeof *made);
    if (!made || !own_header(made, header)) {
        free(made);
        return fa_fail(error, FA_NO_MEMORY, "no memory for a trace: %zu bytes were refused",
                       sizeof *made);
    }
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
    free(trace->visit);
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
