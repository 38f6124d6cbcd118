/*
 * Which events touched which tile, as ascending lists of event numbers: one list for each tile of a
 * table, all of a table in one array, found by its offset. So any question about a tile is a binary
 * search.
 *
 * A transfer is in the list of each tile that it meets. Of the row-wise steps, which meet many in a
 * row, it is in a list of the row of tiles and of the chunk of columns instead.
 */
#include "visualizer/run_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "reference/visibility.h"
#include "simulator/trace_ops.h"

enum { MOST_LISTS = 1 << 27 };

/* Tables of transfers come first, one of a kind and tensor each. */
enum kind { LOADS, STORES, WIDE_LOADS, WIDE_STORES, KINDS };
enum { SCORES = KINDS * FA_HBM_TENSORS, SKIPS, TABLES };

struct table {
    int64_t heads, rows, columns; /* of lists */
    uint32_t *offset;             /* of each list in `events`, and the end of the last */
    uint32_t *events;
};

struct view_history {
    struct table tables[TABLES];
    /* The events after which the score tile on chip is another one, or none. */
    uint32_t *turns;
    size_t n_turns;
    int64_t tile_rows[FA_TENSORS], tile_columns[FA_TENSORS];
    /* The last turn before a position: one position is asked for often in a row. */
    uint64_t turn_landed, turn_event;
};

/* Where an event is entered: lists (head, first .. last, column) of a table; table -1: nowhere. */
struct entry {
    int table;
    int64_t head, first, last, column;
};

/* `standard` backward forms no score: what it visits is the tile of dP. */
static bool forms_dp_alone(const struct view_run *run)
{
    return view_run_header(run)->algorithm == &fa_standard_backward;
}

static bool makes_score(const struct view_run *run, const struct sim_event *event)
{
    if (event->kind != SIM_COMPUTE)
        return false;
    if (forms_dp_alone(run))
        return event->op == FA_OP_DP;
    return event->op == FA_OP_SCORE || event->op == FA_OP_START_S;
}

static bool is_turn(const struct view_run *run, const struct sim_event *event)
{
    enum fa_tensor_id id = forms_dp_alone(run) ? FA_DP : FA_S;
    return makes_score(run, event) ||
           ((event->kind == SIM_FREE || event->kind == SIM_LOAD) && event->tensor == id);
}

static struct entry transfer_entry(const struct view_run *run, const struct view_history *history,
                                   const struct sim_event *event)
{
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    int64_t rows = history->tile_rows[id], columns = history->tile_columns[id];
    int64_t last_row = (int64_t)(event->row + (event->rows ? event->rows - 1 : 0));
    int64_t last_column = (int64_t)(event->column + (event->columns ? event->columns - 1 : 0));
    struct entry entry = {
        .table = (event->kind == SIM_LOAD ? LOADS : STORES) * FA_HBM_TENSORS + (int)id,
        .head = view_run_tile_head(run, id, event->head),
        .first = event->row / rows,
        .last = last_row / rows,
        .column = event->column / columns,
    };
    if (entry.column != last_column / columns) {
        entry.table += (WIDE_LOADS - LOADS) * FA_HBM_TENSORS;
        entry.column = event->column / run->shape.tiles.column_chunk;
    }
    return entry;
}

static struct entry find_entry(const struct view_run *run, const struct view_history *history,
                               const struct sim_event *event)
{
    struct entry entry = {.table = -1, .head = event->head, .first = event->i, .last = event->i,
                          .column = event->j};
    if (event->kind == SIM_LOAD || event->kind == SIM_STORE)
        return transfer_entry(run, history, event);
    if (event->kind == SIM_SKIP)
        entry.table = SKIPS;
    else if (makes_score(run, event))
        entry.table = SCORES;
    return entry;
}

static int64_t list_of(const struct table *table, int64_t head, int64_t row, int64_t column)
{
    return (head * table->rows + row) * table->columns + column;
}

/* First the extents of the tables, so that only lists that can have events are made. */
static enum fa_status size_tables(const struct view_run *run, struct view_history *history,
                                  struct fa_error *error)
{
    uint64_t length = view_run_length(run);
    int64_t lists, all = 0;
    for (uint64_t e = 0; e < length; e++) {
        const struct sim_event *event = view_run_event(run, e);
        struct entry entry = find_entry(run, history, event);
        history->n_turns += is_turn(run, event);
        if (entry.table < 0)
            continue;
        struct table *table = &history->tables[entry.table];
        table->heads = entry.head >= table->heads ? entry.head + 1 : table->heads;
        table->rows = entry.last >= table->rows ? entry.last + 1 : table->rows;
        table->columns = entry.column >= table->columns ? entry.column + 1 : table->columns;
    }
    for (int t = 0; t < TABLES; t++) {
        const struct table *table = &history->tables[t];
        if (!fa_multiply(table->heads, table->rows, &lists) ||
            !fa_multiply(lists, table->columns, &lists) || lists > MOST_LISTS ||
            (all += lists) > MOST_LISTS)
            return fa_fail(error, FA_TOO_LARGE,
                           "the matrices have too many tiles to watch, over all heads: expected %d "
                           "at most; take larger tiles or fewer heads",
                           (int)MOST_LISTS);
    }
    return FA_OK;
}

static bool take_tables(struct view_history *history)
{
    for (int t = 0; t < TABLES; t++) {
        struct table *table = &history->tables[t];
        size_t lists = (size_t)(table->heads * table->rows * table->columns);
        if (lists == 0)
            continue;
        table->offset = calloc(lists + 2, sizeof *table->offset);
        if (!table->offset)
            return false;
    }
    history->turns = malloc((history->n_turns + 1) * sizeof *history->turns);
    return history->turns != NULL;
}

/* Counts each list two places up, so that after the sums offset[n + 1] is where list n begins;
 * filling moves it to where it ends, which is where the next begins. False: no memory. */
static bool count_lists(const struct view_run *run, struct view_history *history)
{
    uint64_t length = view_run_length(run);
    for (uint64_t e = 0; e < length; e++) {
        struct entry entry = find_entry(run, history, view_run_event(run, e));
        if (entry.table < 0)
            continue;
        struct table *table = &history->tables[entry.table];
        for (int64_t row = entry.first; row <= entry.last; row++)
            table->offset[list_of(table, entry.head, row, entry.column) + 2]++;
    }
    for (int t = 0; t < TABLES; t++) {
        struct table *table = &history->tables[t];
        size_t lists = (size_t)(table->heads * table->rows * table->columns);
        uint64_t sum = 0;
        if (lists == 0)
            continue;
        for (size_t n = 0; n < lists; n++) {
            sum += table->offset[n + 2];
            table->offset[n + 2] = (uint32_t)sum;
        }
        table->events = sum <= UINT32_MAX ? malloc((size_t)sum * sizeof *table->events + 1) : NULL;
        if (!table->events)
            return false;
    }
    return true;
}

static void fill_lists(const struct view_run *run, struct view_history *history)
{
    uint64_t length = view_run_length(run);
    size_t turns = 0;
    for (uint64_t e = 0; e < length; e++) {
        const struct sim_event *event = view_run_event(run, e);
        struct entry entry = find_entry(run, history, event);
        if (is_turn(run, event))
            history->turns[turns++] = (uint32_t)e;
        if (entry.table < 0)
            continue;
        struct table *table = &history->tables[entry.table];
        for (int64_t row = entry.first; row <= entry.last; row++) {
            int64_t list = list_of(table, entry.head, row, entry.column);
            table->events[table->offset[list + 1]++] = (uint32_t)e;
        }
    }
}

enum fa_status view_history_make(const struct view_run *run, struct view_history **history,
                                 struct fa_error *error)
{
    struct view_history *made = calloc(1, sizeof *made);
    enum fa_status status = FA_OK;
    bool enough = made != NULL;
    for (int id = 0; id < FA_TENSORS && enough; id++)
        view_run_tiling(run, (enum fa_tensor_id)id, &made->tile_rows[id], &made->tile_columns[id]);
    if (enough)
        status = size_tables(run, made, error);
    if (status == FA_OK && enough)
        enough = take_tables(made) && count_lists(run, made);
    if (status == FA_OK && !enough)
        status = fa_fail(error, FA_NO_MEMORY,
                         "no memory to tell %" PRIu64 " events apart by tile: take larger tiles",
                         view_run_length(run));
    if (status != FA_OK) {
        view_history_free(made);
        return status;
    }
    fill_lists(run, made);
    made->turn_landed = UINT64_MAX;
    *history = made;
    return FA_OK;
}

void view_history_free(struct view_history *history)
{
    if (!history)
        return;
    for (int t = 0; t < TABLES; t++) {
        free(history->tables[t].offset);
        free(history->tables[t].events);
    }
    free(history->turns);
    free(history);
}

/* A tile's list, n 0 where the table has none. */
static const uint32_t *find_list(const struct view_history *history, int table_index, int64_t head,
                                 int64_t row, int64_t column, size_t *n)
{
    const struct table *table = &history->tables[table_index];
    *n = 0;
    if (head < 0 || row < 0 || column < 0 || head >= table->heads || row >= table->rows ||
        column >= table->columns)
        return NULL;
    int64_t list = list_of(table, head, row, column);
    *n = table->offset[list + 1] - table->offset[list];
    return table->events + table->offset[list];
}

/* Counts before `landed` and in all, and the last before it, of the lists that a tile's
 * transfers are in. */
struct tally {
    uint32_t before, in_all;
    uint64_t last;
};

static void tally_list(const uint32_t *list, size_t n, uint64_t landed, struct tally *tally)
{
    size_t before = view_lower_bound(list, n, landed);
    tally->before += (uint32_t)before;
    tally->in_all += (uint32_t)n;
    if (before > 0 && (tally->last == UINT64_MAX || list[before - 1] > tally->last))
        tally->last = list[before - 1];
}

/* The chunks of columns that a tile meets. */
static struct fa_span chunks_of(const struct view_run *run, enum fa_tensor_id id, int64_t column)
{
    int64_t width = run->history->tile_columns[id], chunk = run->shape.tiles.column_chunk;
    int kind = STORES * FA_HBM_TENSORS + (int)id;
    const struct table *stores = &run->history->tables[kind + 2 * FA_HBM_TENSORS];
    const struct table *loads = &run->history->tables[kind + FA_HBM_TENSORS];
    int64_t most = stores->columns > loads->columns ? stores->columns : loads->columns;
    if (most == 0 || chunk < 1)
        return (struct fa_span){0, 0};
    return (struct fa_span){column * width / chunk,
                            view_least(((column + 1) * width - 1) / chunk + 1, most)};
}

static struct tally tally_tile(const struct view_run *run, enum kind kind, enum fa_tensor_id id,
                               int64_t head, int64_t row, int64_t column, uint64_t landed)
{
    struct tally tally = {0, 0, UINT64_MAX};
    struct fa_span chunks = chunks_of(run, id, column);
    int table = (int)kind * FA_HBM_TENSORS + (int)id;
    size_t n;
    const uint32_t *list = find_list(run->history, table, head, row, column, &n);
    tally_list(list, n, landed, &tally);
    for (int64_t chunk = chunks.first; chunk < chunks.end; chunk++) {
        list = find_list(run->history, table + WIDE_LOADS * FA_HBM_TENSORS, head, row, chunk, &n);
        tally_list(list, n, landed, &tally);
    }
    return tally;
}

struct view_tile_past view_run_past(const struct view_run *run, enum fa_tensor_id id, int64_t head,
                                    int64_t row, int64_t column, uint64_t landed)
{
    struct view_tile_past past = {.last = UINT64_MAX};
    if (id >= FA_HBM_TENSORS)
        return past;
    head = view_run_tile_head(run, id, head);
    struct tally loads = tally_tile(run, LOADS, id, head, row, column, landed);
    struct tally stores = tally_tile(run, STORES, id, head, row, column, landed);
    past.loads = loads.before;
    past.loads_in_all = loads.in_all;
    past.stores = stores.before;
    past.stores_in_all = stores.in_all;
    past.last = loads.last == UINT64_MAX || (stores.last != UINT64_MAX && stores.last > loads.last)
                    ? stores.last
                    : loads.last;
    if (stores.last != UINT64_MAX) {
        const struct sim_event *event = view_run_event(run, stores.last);
        int64_t height = run->history->tile_rows[id];
        past.rows_stored = view_least((int64_t)(event->row + event->rows) - row * height, height);
    }
    return past;
}

/* Whether one of the list's events before `landed` stored the element: the latest are asked
 * first, since a tile is stored whole but for the row-wise steps. */
static bool list_stored(const struct view_run *run, const uint32_t *list, size_t n, int64_t row,
                        int64_t column, uint64_t landed)
{
    for (size_t k = view_lower_bound(list, n, landed); k-- > 0;) {
        const struct sim_event *event = view_run_event(run, list[k]);
        if (row >= (int64_t)event->row && row < (int64_t)(event->row + event->rows) &&
            column >= (int64_t)event->column && column < (int64_t)(event->column + event->columns))
            return true;
    }
    return false;
}

bool view_history_stored(const struct view_run *run, enum fa_tensor_id id, int64_t head,
                         int64_t row, int64_t column, uint64_t landed)
{
    const struct view_history *history = run->history;
    int table = STORES * FA_HBM_TENSORS + (int)id;
    int64_t tile_row = row / history->tile_rows[id];
    int64_t tile_column = column / history->tile_columns[id];
    size_t n;
    head = view_run_tile_head(run, id, head);
    const uint32_t *list = find_list(history, table, head, tile_row, tile_column, &n);
    if (list_stored(run, list, n, row, column, landed))
        return true;
    if (run->shape.tiles.column_chunk < 1)
        return false;
    list = find_list(history, table + WIDE_LOADS * FA_HBM_TENSORS, head, tile_row,
                     column / run->shape.tiles.column_chunk, &n);
    return list_stored(run, list, n, row, column, landed);
}

/* The event that made the score tile on chip what it is, or freed it; UINT64_MAX: there was
 * none. */
static uint64_t last_turn(struct view_history *history, uint64_t landed)
{
    if (history->turn_landed != landed) {
        size_t n = view_lower_bound(history->turns, history->n_turns, landed);
        history->turn_event = n > 0 ? history->turns[n - 1] : UINT64_MAX;
        history->turn_landed = landed;
    }
    return history->turn_event;
}

/* Whether the structural mask leaves the tile not one element. */
bool view_run_hidden(const struct view_run *run, int64_t i, int64_t j)
{
    return fa_outside(fa_visible_key_tiles(&run->shape, i), j) ||
           (run->shape.problem.blocks && run->shape.problem.blocks->br == run->shape.tiles.br &&
            run->shape.problem.blocks->bc == run->shape.tiles.bc &&
            !fa_block_visits(&run->shape, i, j));
}

enum view_score view_run_score(const struct view_run *run, int64_t head, int64_t i, int64_t j,
                               uint64_t landed, bool *cut, int *times)
{
    struct view_history *history = run->history;
    size_t n, skips;
    const uint32_t *list = find_list(history, SCORES, head, i, j, &n);
    size_t made = view_lower_bound(list, n, landed);
    if (cut)
        *cut = fa_tile_is_cut(&run->shape, i, j) && !view_run_hidden(run, i, j);
    if (times)
        *times = (int)made;
    if (made > 0)
        return list[made - 1] == last_turn(history, landed) ? VIEW_SCORE_NOW : VIEW_SCORE_DONE;
    list = find_list(history, SKIPS, head, i, j, &skips);
    return view_lower_bound(list, skips, landed) > 0 ? VIEW_SCORE_SKIPPED : VIEW_SCORE_AHEAD;
}
