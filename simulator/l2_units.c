#include "simulator/l2_units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reference/tile_cost.h"

/* A port that only watches. What it does with a tile that moves is its `see`. */
struct watcher {
    struct fa_port port; /* first: the verbs find the watcher from it */
    void (*see)(struct watcher *watcher, enum fa_tensor_id id, const struct fa_tile *tile,
                int64_t row, int64_t column, bool store);
    struct sim_l2_grid *grid;
    uint8_t *row_cut[FA_HBM_TENSORS], *column_cut[FA_HBM_TENSORS]; /* see_cuts */
    bool touched[FA_HBM_TENSORS];                                  /* see_cuts */
    struct sim_l2_unit *unit;                                      /* see_event */
    uint64_t seen, most;
    uint64_t heads; /* that what is executed stands for */
};

static void watcher_alloc(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    fa_tile_shape(port, id, rows, columns);
}

static void watcher_free(struct fa_port *port, enum fa_tensor_id id)
{
    port->tile[id].live = false;
}

static void move(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column,
                 bool store)
{
    struct watcher *watcher = (struct watcher *)port;
    const struct fa_tile *tile = &port->tile[id];

    if (tile->rows <= 0 || tile->columns <= 0)
        return;
    if (++watcher->seen > watcher->most) {
        port->status = fa_fail(&port->error, FA_TOO_LARGE,
                               "more than %" PRIu64 " loads and stores a head: too many for the "
                               "L2 model: take larger tiles or a smaller problem",
                               watcher->most);
        return;
    }
    watcher->see(watcher, id, tile, row, column, store);
}

static void watcher_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    fa_tile_clip(&port->tile[id], &port->run->tensor[id], row, column);
    move(port, id, row, column, false);
}

static void watcher_store(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    move(port, id, row, column, true);
}

/* Results have sizes, which stores need; the FLOPs are nobody's. */
static void watcher_compute(struct fa_port *port, enum fa_op op)
{
    fa_op_account(port, op, &port->tally.flops);
}

static void watcher_skip(struct fa_port *port, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    (void)port;
    (void)i;
    (void)i_end;
    (void)j;
    (void)j_end;
}

static void watcher_reveal_lse(struct fa_port *port, int64_t row)
{
    (void)port;
    (void)row;
}

static const struct fa_port_verbs watcher_verbs = {
    .alloc = watcher_alloc,
    .free = watcher_free,
    .load = watcher_load,
    .store = watcher_store,
    .compute = watcher_compute,
    .skip = watcher_skip,
    .reveal_lse = watcher_reveal_lse,
};

static void watcher_open(struct watcher *watcher, struct sim_l2_grid *grid, uint64_t most)
{
    memset(watcher, 0, sizeof *watcher);
    fa_port_open(&watcher->port, &watcher_verbs, grid->run);
    watcher->grid = grid;
    watcher->most = most;
}

/* Executes the units of all kernels of the run: of one head, which stands for those of its group
 * (`heads`), or of one group. */
static enum fa_status watch_group(struct watcher *watcher, const struct sim_kernels *kernels,
                                  int run, struct fa_error *error)
{
    struct fa_port *port = &watcher->port;
    for (int k = 0; k < kernels->n; k++) {
        const struct sim_kernel *kernel = &kernels->kernel[k];
        if (kernel->run != run)
            continue;
        watcher->heads = (uint64_t)kernel->group_heads;
        for (int64_t u = 0; u < kernel->units && port->status == FA_OK; u++)
            kernel->algorithm->unit(port, kernel->phase, 0, u);
    }
    if (port->status != FA_OK && error)
        *error = port->error;
    return port->status;
}

static void see_cuts(struct watcher *watcher, enum fa_tensor_id id, const struct fa_tile *tile,
                     int64_t row, int64_t column, bool store)
{
    (void)store;
    watcher->touched[id] = true;
    watcher->row_cut[id][row] = watcher->row_cut[id][row + tile->rows] = 1;
    watcher->column_cut[id][column] = watcher->column_cut[id][column + tile->columns] = 1;
}

static struct sim_l2_event event_of(const struct sim_l2_grid *grid, enum fa_tensor_id id,
                                    const struct fa_tile *tile, int64_t row, int64_t column)
{
    const uint32_t *rows = grid->rows[id].cell, *columns = grid->columns[id].cell;
    return (struct sim_l2_event){
        .row = rows[row],
        .row_end = rows[row + tile->rows],
        .column = columns[column],
        .column_end = columns[column + tile->columns],
        .tensor = (uint16_t)id,
    };
}

static void see_accesses(struct watcher *watcher, enum fa_tensor_id id, const struct fa_tile *tile,
                         int64_t row, int64_t column, bool store)
{
    struct sim_l2_event event = event_of(watcher->grid, id, tile, row, column);
    (void)store;
    watcher->grid->group_accesses += (uint64_t)(event.row_end - event.row) *
                                     (event.column_end - event.column) * watcher->heads;
}

static void see_event(struct watcher *watcher, enum fa_tensor_id id, const struct fa_tile *tile,
                      int64_t row, int64_t column, bool store)
{
    struct sim_l2_unit *unit = watcher->unit;
    if (unit->n == unit->capacity) {
        size_t wanted = unit->capacity ? unit->capacity * 2 : 64;
        struct sim_l2_event *taken = realloc(unit->event, wanted * sizeof *taken);
        if (!taken) {
            watcher->port.status =
                fa_fail(&watcher->port.error, FA_NO_MEMORY, "no memory for %zu loads and stores",
                        wanted);
            return;
        }
        unit->event = taken;
        unit->capacity = wanted;
    }
    struct sim_l2_event *event = &unit->event[unit->n++];
    *event = event_of(watcher->grid, id, tile, row, column);
    event->head = (uint32_t)watcher->port.at.head;
    event->store = store;
}

/* From marks to sectors: cuts are numbered from 0 on. */
static bool axis_make(struct sim_l2_axis *axis, int64_t length, uint8_t *cut)
{
    uint32_t cuts = 0, cell = 0;
    cut[0] = cut[length] = 1;
    for (int64_t n = 0; n <= length; n++)
        cuts += cut[n];
    axis->length = length;
    axis->cells = cuts - 1;
    axis->cell = malloc((size_t)(length + 1) * sizeof *axis->cell);
    axis->at = malloc((size_t)cuts * sizeof *axis->at);
    if (!axis->cell || !axis->at)
        return false;
    for (int64_t n = 0; n <= length; n++) {
        axis->cell[n] = cell;
        if (cut[n])
            axis->at[cell++] = n;
    }
    return true;
}

/* Numbers the sectors of all heads, tensor after tensor. */
static enum fa_status number_sectors(struct sim_l2_grid *grid, struct fa_error *error)
{
    uint64_t key = 0;
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const int64_t *shape = grid->run->tensor[id].shape;
        uint64_t sectors = (uint64_t)grid->rows[id].cells * grid->columns[id].cells;
        grid->first_key[id] = key;
        grid->element_bytes[id] =
            fa_dtype_bytes(fa_hbm_format(&grid->run->problem, (enum fa_tensor_id)id));
        if (!grid->rows[id].cell)
            continue;
        if (__builtin_mul_overflow(sectors, (uint64_t)(shape[0] * shape[1]), &sectors) ||
            __builtin_add_overflow(key, sectors, &key))
            return fa_fail(error, FA_TOO_LARGE, "more than 2^64 sectors for the L2 model");
    }
    return FA_OK;
}

/* What a K/V head's share of the tensors that the run touches is: for a window of heads. */
static void weigh_group(struct sim_l2_grid *grid, const struct sim_kernels *kernels)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const int64_t *shape = grid->run->tensor[id].shape;
        if (grid->rows[id].cell)
            grid->group_bytes += (uint64_t)(shape[0] * shape[1] / kernels->groups) *
                                 (uint64_t)(shape[2] * shape[3]) * grid->element_bytes[id];
    }
}

enum { LONGEST_AXIS = 1 << 27 };

static enum fa_status take_cuts(struct watcher *watcher, const struct fa_run *run,
                                struct fa_error *error)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const int64_t *shape = run->tensor[id].shape;
        if (shape[0] == 0)
            continue;
        if (shape[2] > LONGEST_AXIS || shape[3] > LONGEST_AXIS)
            return fa_fail(error, FA_TOO_LARGE, "%s of %" PRId64 " x %" PRId64
                           ": the L2 model takes axes up to %d",
                           fa_tensor_name((enum fa_tensor_id)id), shape[2], shape[3],
                           (int)LONGEST_AXIS);
        watcher->row_cut[id] = calloc((size_t)shape[2] + 1, 1);
        watcher->column_cut[id] = calloc((size_t)shape[3] + 1, 1);
        if (!watcher->row_cut[id] || !watcher->column_cut[id])
            return fa_fail(error, FA_NO_MEMORY, "no memory for the L2 model");
    }
    return FA_OK;
}

static enum fa_status make_axes(struct sim_l2_grid *grid, const struct watcher *watcher,
                                struct fa_error *error)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const int64_t *shape = grid->run->tensor[id].shape;
        if (watcher->touched[id] &&
            (!axis_make(&grid->rows[id], shape[2], watcher->row_cut[id]) ||
             !axis_make(&grid->columns[id], shape[3], watcher->column_cut[id])))
            return fa_fail(error, FA_NO_MEMORY, "no memory for the L2 model");
    }
    return FA_OK;
}

enum fa_status sim_l2_grid_open(struct sim_l2_grid *grid, const struct sim_kernels *kernels,
                                int run, uint64_t most, struct fa_error *error)
{
    struct watcher watcher;
    memset(grid, 0, sizeof *grid);
    grid->run = &kernels->run[run];
    watcher_open(&watcher, grid, most);
    watcher.see = see_cuts;
    enum fa_status status = take_cuts(&watcher, grid->run, error);
    if (status == FA_OK)
        status = watch_group(&watcher, kernels, run, error);
    if (status == FA_OK)
        status = make_axes(grid, &watcher, error);
    if (status == FA_OK)
        status = number_sectors(grid, error);
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        free(watcher.row_cut[id]);
        free(watcher.column_cut[id]);
    }
    if (status == FA_OK) {
        watcher_open(&watcher, grid, most);
        watcher.see = see_accesses;
        status = watch_group(&watcher, kernels, run, error);
        weigh_group(grid, kernels);
    }
    if (status != FA_OK)
        sim_l2_grid_close(grid);
    return status;
}

void sim_l2_grid_close(struct sim_l2_grid *grid)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        free(grid->rows[id].cell);
        free(grid->rows[id].at);
        free(grid->columns[id].cell);
        free(grid->columns[id].at);
    }
    memset(grid, 0, sizeof *grid);
}

uint64_t sim_l2_grid_key(const struct sim_l2_grid *grid, int tensor, int64_t head)
{
    const struct fa_problem *problem = &grid->run->problem;
    const struct fa_tensor *of = &grid->run->tensor[tensor];
    int64_t batch = fa_problem_batch(of, head / problem->heads);
    int64_t slice = batch * of->shape[1] + fa_problem_head(problem, of, head % problem->heads);
    return grid->first_key[tensor] +
           (uint64_t)slice * grid->rows[tensor].cells * grid->columns[tensor].cells;
}

enum fa_status sim_l2_unit_record(struct sim_l2_unit *unit, const struct sim_l2_grid *grid,
                                  const struct sim_kernel *kernel, int64_t index, uint64_t most,
                                  struct fa_error *error)
{
    struct watcher watcher;
    struct sim_l2_unit made = {NULL, 0, 0};
    struct sim_l2_grid view = *grid; /* read only here */

    watcher_open(&watcher, &view, most);
    watcher.see = see_event;
    watcher.unit = &made;
    kernel->algorithm->unit(&watcher.port, kernel->phase, 0, index);
    if (watcher.port.status != FA_OK) {
        free(made.event);
        if (error)
            *error = watcher.port.error;
        return watcher.port.status;
    }
    *unit = made;
    return FA_OK;
}
