/* All rules stand in this one file, longer than others, since they share a question and the way to
 * answer it. */
#include "simulator/trace_rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "simulator/trace_ops.h"

/* One question to the rules; the answer is given in words once, where a rule is broken. */
struct question {
    const struct sim_trace_header *header;
    struct sim_state *state;
    const struct sim_event *event;
    enum fa_tensor_id id;
    int64_t rows, columns; /* of the event */
    char *why;
    size_t size;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool no(const struct question *ask, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ask->why, ask->size, format, arguments);
    va_end(arguments);
    return false;
}

static const char *what(const struct question *ask)
{
    static const char *const names[SIM_EVENT_KINDS] = {
        [SIM_LOAD] = "a load", [SIM_STORE] = "a store", [SIM_COMPUTE] = "a compute",
        [SIM_ALLOC] = "an alloc", [SIM_FREE] = "a free", [SIM_SKIP] = "a skip",
        [SIM_REFUSE] = "a refusal",
    };
    return names[ask->event->kind];
}

/* Refuses what the traced pass does not have, on chip or in HBM. */
static bool has_none(const struct question *ask, const char *where)
{
    char title[SIM_PASS_TITLE];
    return no(ask, "%s of %s: this run of %s has no %s%s", what(ask), fa_tensor_name(ask->id),
              sim_trace_pass_title(ask->header, title), fa_tensor_name(ask->id), where);
}

/* Fields that this kind of event leaves 0. */
static bool check_zeros(const struct question *ask)
{
    const struct sim_event *event = ask->event;
    bool computes = event->kind == SIM_COMPUTE;
    bool moves = event->kind == SIM_LOAD || event->kind == SIM_STORE;
    if (!computes && (event->op != 0 || event->flags != 0))
        return no(ask, "%s with op %d and flags %d: expected 0 for both", what(ask),
                  (int)event->op, (int)event->flags);
    if (!moves && (event->row != 0 || event->column != 0))
        return no(ask, "%s at row %d, column %d of HBM: expected 0, 0", what(ask),
                  (int)event->row, (int)event->column);
    if (event->flags == SIM_CUT)
        return no(ask, "a compute with flags %d: expected 0, %d or %d", SIM_CUT, SIM_VISITS,
                  SIM_VISITS | SIM_CUT);
    return true;
}

/* The tile on chip that the event is about, at the event's place; NULL: refused. */
static struct sim_resident *find_tile(const struct question *ask)
{
    struct sim_resident *tile = sim_state_holder(ask->state, ask->id);
    if (!tile) {
        no(ask, "%s of %s, which is not on chip: expected an alloc before it", what(ask),
           fa_tensor_name(ask->id));
        return NULL;
    }
    if (tile->place != ask->event->place) {
        no(ask, "%s of %s at place %" PRIu64 ": it lies at %" PRIu64, what(ask),
           fa_tensor_name(ask->id), (uint64_t)ask->event->place, tile->place);
        return NULL;
    }
    return tile;
}

/* A store writes what the tile holds. */
static bool check_held(const struct question *ask, const struct sim_resident *tile)
{
    const char *name = fa_tensor_name(ask->id);
    if (!tile->loaded && !tile->changed)
        return no(ask, "a store of %s, which holds nothing: expected a load or a compute before it",
                  name);
    if (!sim_resident_is(tile, ask->id))
        return no(ask, "a store of %s while its tile holds %s: expected a compute of it before",
                  name, fa_tensor_name((enum fa_tensor_id)tile->holds));
    if (ask->rows != tile->held_rows || ask->columns != tile->held_columns)
        return no(ask,
                  "a store of %s, %" PRId64 " x %" PRId64 ": the tile holds %" PRIu32
                  " x %" PRIu32,
                  name, ask->rows, ask->columns, tile->held_rows, tile->held_columns);
    return true;
}

/* A tile is loaded full, but at the matrix's edge. */
static bool check_full(const struct question *ask, const struct sim_resident *tile,
                       int64_t matrix_rows, int64_t matrix_columns)
{
    int64_t row = ask->event->row, column = ask->event->column;
    int64_t rows = matrix_rows - row < tile->rows ? matrix_rows - row : tile->rows;
    int64_t columns =
        matrix_columns - column < tile->columns ? matrix_columns - column : tile->columns;
    if (ask->rows != rows || ask->columns != columns)
        return no(ask,
                  "a load of %s, %" PRId64 " x %" PRId64 " at (%" PRId64 ", %" PRId64
                  "): expected %" PRId64 " x %" PRId64 ", what tile and matrix leave",
                  fa_tensor_name(ask->id), ask->rows, ask->columns, row, column, rows, columns);
    return true;
}

static bool check_transfer(const struct question *ask)
{
    const struct sim_event *event = ask->event;
    const char *name = fa_tensor_name(ask->id);
    int64_t matrix_rows, matrix_columns, row = event->row, column = event->column;
    if (!(sim_tensors_in_hbm(ask->header) & FA_BIT(ask->id)))
        return has_none(ask, " in HBM");
    sim_matrix_size(&ask->header->problem, ask->id, &matrix_rows, &matrix_columns);
    const struct sim_resident *tile = find_tile(ask);
    if (!tile)
        return false;
    if (ask->rows > tile->rows || ask->columns > tile->columns)
        return no(ask,
                  "%s of %s, %" PRId64 " x %" PRId64 ": expected at most the tile's capacity, "
                  "%" PRIu32 " x %" PRIu32,
                  what(ask), name, ask->rows, ask->columns, tile->rows, tile->columns);
    if (row + ask->rows > matrix_rows || column + ask->columns > matrix_columns)
        return no(ask,
                  "%s of %s, %" PRId64 " x %" PRId64 " at (%" PRId64 ", %" PRId64 "): it ends "
                  "past the matrix, which is %" PRId64 " x %" PRId64,
                  what(ask), name, ask->rows, ask->columns, row, column, matrix_rows,
                  matrix_columns);
    return event->kind == SIM_STORE ? check_held(ask, tile)
                                    : check_full(ask, tile, matrix_rows, matrix_columns);
}

/* An operand: `reads` if it must hold something. Its rows are queries, or keys; a score tile's
 * columns are keys. */
static bool check_operand(const struct question *ask, enum fa_tensor_id id, bool reads)
{
    const char *op = fa_op_name((enum fa_op)ask->event->op), *name = fa_tensor_name(id);
    const struct sim_resident *tile = sim_state_holder(ask->state, id);
    if (!tile)
        return no(ask, "a compute %s without %s on chip: expected an alloc of it before", op, name);
    if (reads && !tile->loaded && !tile->changed)
        return no(ask,
                  "a compute %s while %s holds nothing: expected a load or a compute of it before",
                  op, name);
    if (reads && !sim_resident_is(tile, id))
        return no(ask,
                  "a compute %s while the tile of %s holds %s: expected a compute of it before", op,
                  name, fa_tensor_name((enum fa_tensor_id)tile->holds));
    if (id == FA_BIAS || id == FA_MASK)
        return true; /* One row may stand for all. */
    int64_t wanted = sim_is_key_side(id) ? ask->columns : ask->rows;
    int64_t there = reads ? tile->held_rows : tile->rows;
    if (there < wanted)
        return no(ask,
                  "a compute %s of %" PRId64 " x %" PRId64 " with %" PRId64 " rows of %s: "
                  "expected %" PRId64,
                  op, ask->rows, ask->columns, there, name, wanted);
    there = reads ? tile->held_columns : tile->columns;
    if (sim_is_score_tile(id) && there < ask->columns)
        return no(ask,
                  "a compute %s of %" PRId64 " x %" PRId64 " with %" PRId64 " columns of %s: "
                  "expected %" PRId64,
                  op, ask->rows, ask->columns, there, name, ask->columns);
    return true;
}

/* Of a start: each tile that it forms has the rows, and there is one. */
static bool check_started(const struct question *ask, const struct sim_op *op)
{
    bool any = false;
    for (int n = 0; n < op->n_results; n++) {
        enum fa_tensor_id id = (enum fa_tensor_id)op->results[n].tensor;
        const struct sim_resident *tile = sim_state_holder(ask->state, id);
        if (!tile)
            continue;
        any = true;
        if (ask->rows > tile->rows)
            return no(ask,
                      "a compute %s of %" PRId64 " x %" PRId64 ": expected at most the capacity of "
                      "%s, %" PRIu32 " x %" PRIu32,
                      fa_op_name((enum fa_op)ask->event->op), ask->rows, ask->columns,
                      fa_tensor_name(id), tile->rows, tile->columns);
    }
    return any ||
           no(ask, "a compute %s without a tile to start on chip: expected an alloc before it",
              fa_op_name((enum fa_op)ask->event->op));
}

/* Parts of Q and K, or of V and O, go together: they are as wide. */
static bool check_widths(const struct question *ask)
{
    enum fa_op op = (enum fa_op)ask->event->op;
    bool score = op == FA_OP_SCORE_PART;
    enum fa_tensor_id a = score ? FA_Q : FA_V, b = score ? FA_K : FA_O;
    if (!score && op != FA_OP_ACCUMULATE_PART)
        return true;
    uint32_t left = ask->state->on_chip[a].held_columns;
    uint32_t right = ask->state->on_chip[b].held_columns;
    return left == right || no(ask,
                               "a compute %s of %" PRIu32 " columns of %s with %" PRIu32 " of %s: "
                               "expected as many",
                               fa_op_name(op), left, fa_tensor_name(a), right, fa_tensor_name(b));
}

/* Dropout is in no run without it; a keep mask is read where there is a tile of it: always in
 * `standard`, else where it was given. */
static bool check_dropout(const struct question *ask)
{
    const struct sim_trace_header *header = ask->header;
    enum fa_op op = (enum fa_op)ask->event->op;
    if (op != FA_OP_DROPOUT && op != FA_OP_DROPOUT_DP && op != FA_OP_KEEP)
        return true;
    if (!(header->problem.dropout_p > 0))
        return no(ask, "a compute %s: this run has no dropout", fa_op_name(op));
    if (op == FA_OP_KEEP || !(sim_tensors_in_hbm(header) & FA_BIT(FA_DROPOUT)))
        return true;
    return check_operand(ask, FA_DROPOUT, true);
}

static bool check_operands(const struct question *ask)
{
    const struct sim_op *op = sim_op_of((enum fa_op)ask->event->op);
    for (int id = 0; id < FA_TENSORS; id++)
        if (op->reads & FA_BIT(id) && !check_operand(ask, (enum fa_tensor_id)id, true))
            return false;
    if (op->partial)
        return check_started(ask, op);
    for (int n = 0; n < op->n_results; n++) {
        enum fa_tensor_id id = (enum fa_tensor_id)op->results[n].tensor;
        if (!(op->reads & FA_BIT(id)) && !check_operand(ask, id, false))
            return false;
    }
    return check_widths(ask) && check_dropout(ask);
}

/* The r x c that the operation works on, from what lies on chip; -1: up to the tile's capacity. */
static void expected_size(const struct question *ask, int64_t *r, int64_t *c)
{
    struct sim_state *state = ask->state;
    enum fa_tensor_id id = FA_P;
    switch ((enum fa_op)ask->event->op) {
    case FA_OP_START:
    case FA_OP_START_DQ:
    case FA_OP_START_DELTA:
    case FA_OP_START_DKV:
        *r = -1;
        *c = 1;
        return;
    case FA_OP_START_S:
    case FA_OP_NO_WEIGHTS:
        *r = *c = -1;
        return;
    case FA_OP_SCORE:
    case FA_OP_SCORE_PART:
        *r = sim_state_holder(state, FA_Q)->held_rows;
        *c = sim_state_holder(state, FA_K)->held_rows;
        return;
    case FA_OP_DP:
        *r = sim_state_holder(state, FA_DO)->held_rows;
        *c = sim_state_holder(state, FA_V)->held_rows;
        return;
    case FA_OP_FINISH:
    case FA_OP_FINISH_STATS:
    case FA_OP_DELTA:
        id = ask->event->op == FA_OP_DELTA ? FA_O : FA_M;
        *r = sim_state_holder(state, id)->held_rows;
        *c = 1;
        return;
    case FA_OP_SCALE_S:
    case FA_OP_BIAS:
    case FA_OP_HIDE:
    case FA_OP_MASK:
    case FA_OP_SOFTMAX_ROWS:
    case FA_OP_ROW_STATS:
    case FA_OP_NORMALISE:
    case FA_OP_ABSORB:
    case FA_OP_TILE_SOFTMAX:
    case FA_OP_WEIGHTS:
        id = FA_S;
        break;
    case FA_OP_DROPOUT_DP:
        id = FA_DP;
        break;
    case FA_OP_GRAD_Q:
    case FA_OP_GRAD_K:
        id = FA_DS;
        break;
    default:
        break;
    }
    *r = sim_state_holder(state, id)->held_rows;
    *c = sim_state_holder(state, id)->held_columns;
}

/* The compute names the tensor that it writes, and the place where that lies. */
static bool check_written(const struct question *ask)
{
    enum fa_op op = (enum fa_op)ask->event->op;
    enum fa_tensor_id writes = sim_op_writes(op);
    if (op == FA_OP_START_DKV && !sim_state_holder(ask->state, FA_DV))
        writes = FA_DK;
    if (ask->id != writes)
        return no(ask, "a compute %s that writes %s: expected %s", fa_op_name(op),
                  fa_tensor_name(ask->id), fa_tensor_name(writes));
    /* A start without an O is one of l and m alone; its place is then that of no tile. */
    return (op == FA_OP_START && !sim_state_holder(ask->state, FA_O)) || find_tile(ask) != NULL;
}

static bool check_compute(const struct question *ask)
{
    const char *name = fa_op_name((enum fa_op)ask->event->op);
    int64_t r, c;
    if (!check_operands(ask) || !check_written(ask))
        return false;
    expected_size(ask, &r, &c);
    if ((r >= 0 && ask->rows != r) || (c >= 0 && ask->columns != c))
        return no(ask,
                  "a compute %s of %" PRId64 " x %" PRId64 ": what it works on is %" PRId64
                  " x %" PRId64,
                  name, ask->rows, ask->columns, r >= 0 ? r : ask->rows, c >= 0 ? c : ask->columns);
    return true;
}

/* The most of an axis of `matrix` that a tile of the run, or a row-wise step, reserves. At least 1:
 * what is broadcast has one row or column, also where the matrix has none. */
static int64_t most_reserved(const struct question *ask, int64_t tile, int64_t row_wise,
                             int64_t matrix)
{
    int64_t most = tile;
    if (sim_goes_by_rows(ask->header->algorithm) && row_wise > most)
        most = row_wise;
    most = most < matrix ? most : matrix;
    return most > 0 ? most : 1;
}

/* What alloc and refuse have in common: a tile that the run may ask for. */
static bool check_wanted(const struct question *ask)
{
    const struct fa_tiles *tiles = &ask->header->tiles;
    const char *name = fa_tensor_name(ask->id);
    int64_t rows, columns;
    if (!(sim_tensors_on_chip(ask->header) & FA_BIT(ask->id)))
        return has_none(ask, "");
    sim_matrix_size(&ask->header->problem, ask->id, &rows, &columns);
    if (ask->state->on_chip[ask->id].live)
        return no(ask, "%s of %s, which is on chip already: expected a free before it",
                  what(ask), name);
    if (sim_is_key_side(ask->id))
        rows = most_reserved(ask, tiles->bc, 0, rows);
    else
        rows = most_reserved(ask, tiles->br, tiles->row_block, rows);
    if (sim_is_score_tile(ask->id))
        columns = most_reserved(ask, tiles->bc, tiles->column_chunk, columns);
    if (ask->rows > rows || ask->columns > columns)
        return no(ask,
                  "%s of %s, %" PRId64 " x %" PRId64 ": expected at most %" PRId64 " x %" PRId64
                  ", by the header's tiles and matrices",
                  what(ask), name, ask->rows, ask->columns, rows, columns);
    return true;
}

static uint64_t wanted_bytes(const struct question *ask)
{
    return (uint64_t)ask->rows * (uint64_t)ask->columns *
           fa_on_chip_bytes(&ask->header->problem, ask->id);
}

static bool check_alloc(const struct question *ask)
{
    uint64_t bytes = wanted_bytes(ask), place = ask->event->place;
    uint64_t capacity = ask->header->sram_bytes;
    if (!check_wanted(ask))
        return false;
    if (capacity == 0 || capacity > UINT64_C(1) << 36)
        capacity = UINT64_C(1) << 36;
    if (place + bytes > capacity)
        return no(ask,
                  "an alloc of %s, %" PRIu64 " bytes at %" PRIu64 ": it ends past the %" PRIu64
                  " bytes that there are",
                  fa_tensor_name(ask->id), bytes, place, capacity);
    for (int id = 0; id < FA_TENSORS && bytes > 0; id++) {
        const struct sim_resident *other = &ask->state->on_chip[id];
        if (other->live && other->bytes > 0 && place < other->place + other->bytes &&
            other->place < place + bytes)
            return no(ask,
                      "an alloc of %s, %" PRIu64 " bytes at %" PRIu64 ": there lies %s, %" PRIu64
                      " bytes at %" PRIu64 "; expected a free place",
                      fa_tensor_name(ask->id), bytes, place,
                      fa_tensor_name((enum fa_tensor_id)id), other->bytes, other->place);
    }
    return true;
}

static bool check_free(const struct question *ask)
{
    const struct sim_resident *tile = &ask->state->on_chip[ask->id];
    const char *name = fa_tensor_name(ask->id);
    if (!tile->live)
        return no(ask, "a free of %s, which is not on chip: expected an alloc before it", name);
    if (tile->place != ask->event->place)
        return no(ask, "a free of %s at place %" PRIu64 ": it lies at %" PRIu64, name,
                  (uint64_t)ask->event->place, tile->place);
    if (tile->rows != ask->rows || tile->columns != ask->columns)
        return no(ask,
                  "a free of %s, %" PRId64 " x %" PRId64 ": what was reserved is %" PRIu32
                  " x %" PRIu32,
                  name, ask->rows, ask->columns, tile->rows, tile->columns);
    return true;
}

static bool check_skip(const struct question *ask)
{
    const struct sim_event *event = ask->event;
    if (event->i == SIM_NO_TILE || event->j == SIM_NO_TILE)
        return no(ask, "a skip of no tile: expected an i and a j of 0 or more");
    if (ask->id != FA_S || ask->rows != 0 || ask->columns != 0 || event->place != 0)
        return no(ask,
                  "a skip of %s, %" PRId64 " x %" PRId64 " at %" PRIu64 ": expected s, 0 x 0 at 0",
                  fa_tensor_name(ask->id), ask->rows, ask->columns, (uint64_t)event->place);
    return true;
}

static bool check_refuse(const struct question *ask)
{
    uint64_t capacity = ask->header->sram_bytes, live = ask->state->sram_bytes;
    if (!check_wanted(ask))
        return false;
    if (capacity == 0 || wanted_bytes(ask) <= capacity - live)
        return no(ask,
                  "a refusal of %s, %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64
                  " bytes are taken, so it fits",
                  fa_tensor_name(ask->id), wanted_bytes(ask), live, capacity);
    return true;
}

bool sim_event_possible(const struct sim_trace_header *header, struct sim_state *state,
                        const struct sim_event *event, char *why, size_t size)
{
    const struct question ask = {
        .header = header,
        .state = state,
        .event = event,
        .id = (enum fa_tensor_id)event->tensor,
        .rows = event->rows,
        .columns = event->columns,
        .why = why,
        .size = size,
    };
    if (!check_zeros(&ask))
        return false;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_LOAD:
    case SIM_STORE:
        return check_transfer(&ask);
    case SIM_COMPUTE:
        return check_compute(&ask);
    case SIM_ALLOC:
        return check_alloc(&ask);
    case SIM_FREE:
        return check_free(&ask);
    case SIM_SKIP:
        return check_skip(&ask);
    case SIM_REFUSE:
        return check_refuse(&ask);
    case SIM_EVENT_KINDS:
        break;
    }
    return no(&ask, "an event of kind %d", (int)event->kind);
}
