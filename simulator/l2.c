#include "simulator/l2.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/l2_units.h"

/* A unit as it was recorded, for the blocks of all heads. */
struct record {
    struct sim_l2_unit unit;
    bool made;
};

/* A block in flight: what it still has to do. */
struct slot {
    const struct record *record; /* NULL: no block */
    size_t next;
    int64_t head; /* the first query head of the block */
};

/* One kernel while its blocks run. */
struct launch {
    const struct sim_kernel *kernel;
    const struct sim_kernels *kernels;
    const struct sim_l2_grid *grid;
    struct sim_l2_cache *cache;
    const struct sim_l2_options *options;
    struct record *record; /* [kernel->units] */
    struct slot *slot;
    uint64_t n_slots;
    int64_t heads, blocks, next;
    uint64_t *accesses; /* over the whole prediction, for the watch */
    uint64_t expected, ticked;
};

const char *sim_l2_order_name(enum sim_l2_order order)
{
    return order == SIM_L2_UNIT_MAJOR ? "unit-major" : "head-major";
}

static uint64_t all_most(const struct sim_l2_options *options)
{
    return options->most_accesses ? options->most_accesses : SIM_L2_ACCESSES;
}

/* Loads and stores of one head: recording one takes several times as long as playing it,
 * and records of all its units are kept, 24 bytes each. */
static uint64_t head_most(const struct sim_l2_options *options)
{
    return all_most(options) / 8;
}

/* All records together are no more than the events of one head, which were counted before. */
static enum fa_status record_unit(struct launch *launch, int64_t index, struct fa_error *error)
{
    struct record *record = &launch->record[index];
    enum fa_status status = FA_OK;
    if (!record->made)
        status = sim_l2_unit_record(&record->unit, launch->grid, launch->kernel, index,
                                    head_most(launch->options), error);
    record->made = status == FA_OK;
    return status;
}

/* Gives the slot the next block that has anything to do. Leaves it without one at the end. */
static enum fa_status refill(struct launch *launch, struct slot *slot, struct fa_error *error)
{
    const struct sim_kernel *kernel = launch->kernel;
    while (launch->next < launch->blocks) {
        int64_t block = launch->next++;
        bool by_unit = launch->options->order == SIM_L2_UNIT_MAJOR;
        int64_t head = by_unit ? block % launch->heads : block / kernel->units;
        int64_t index = by_unit ? block / launch->heads : block % kernel->units;
        enum fa_status status = record_unit(launch, index, error);
        if (status != FA_OK)
            return status;
        if (launch->record[index].unit.n == 0)
            continue;
        slot->record = &launch->record[index];
        slot->next = 0;
        slot->head = head * (launch->kernels->group / kernel->group_heads);
        return FA_OK;
    }
    return FA_OK;
}

static void play_event(struct launch *launch, const struct sim_l2_event *event, int64_t head)
{
    const struct sim_l2_grid *grid = launch->grid;
    const struct sim_l2_axis *rows = &grid->rows[event->tensor];
    const struct sim_l2_axis *columns = &grid->columns[event->tensor];
    uint64_t first = sim_l2_grid_key(grid, event->tensor, head + event->head);

    for (uint32_t r = event->row; r < event->row_end; r++) {
        uint64_t line = (uint64_t)(rows->at[r + 1] - rows->at[r]) *
                        grid->element_bytes[event->tensor];
        for (uint32_t c = event->column; c < event->column_end; c++) {
            uint64_t key = first + (uint64_t)r * columns->cells + c;
            uint64_t bytes = line * (uint64_t)(columns->at[c + 1] - columns->at[c]);
            if (event->store)
                sim_l2_cache_write(launch->cache, key, bytes);
            else
                sim_l2_cache_read(launch->cache, key, bytes);
        }
    }
    *launch->accesses +=
        (uint64_t)(event->row_end - event->row) * (event->column_end - event->column);
}

static enum fa_status look(struct launch *launch, struct fa_error *error)
{
    const struct fa_watch *watch = launch->options->watch;
    if (launch->cache->no_memory)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the L2 model's sectors");
    if (!watch || !watch->tick || *launch->accesses < launch->ticked)
        return FA_OK;
    launch->ticked = *launch->accesses + (1 << 18);
    double done = (double)*launch->accesses / (double)launch->expected;
    if (!watch->tick(watch->context, done < 1 ? done : 1))
        return fa_fail(error, FA_CANCELLED, "stopped before the L2 model was done");
    return FA_OK;
}

/* The turns of one kernel: each block in flight moves one tile, until none is left. */
static enum fa_status take_turns(struct launch *launch, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (bool any = true; any && status == FA_OK;) {
        any = false;
        for (uint64_t s = 0; s < launch->n_slots && status == FA_OK; s++) {
            struct slot *slot = &launch->slot[s];
            if (slot->record && slot->next == slot->record->unit.n)
                slot->record = NULL;
            if (!slot->record)
                status = refill(launch, slot, error);
            if (!slot->record)
                continue;
            play_event(launch, &slot->record->unit.event[slot->next++], slot->head);
            any = true;
        }
        if (status == FA_OK)
            status = look(launch, error);
    }
    return status;
}

static enum fa_status run_kernel(struct launch *launch, struct fa_error *error)
{
    uint64_t blocks = (uint64_t)launch->blocks, slots = launch->kernel->slots;
    enum fa_status status = FA_OK;

    launch->n_slots = blocks < slots ? blocks : slots;
    launch->record = calloc((size_t)launch->kernel->units, sizeof *launch->record);
    launch->slot = calloc((size_t)launch->n_slots, sizeof *launch->slot);
    if (!launch->record || !launch->slot)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the blocks of the L2 model");
    if (status == FA_OK)
        status = take_turns(launch, error);
    for (int64_t u = 0; launch->record && u < launch->kernel->units; u++)
        free(launch->record[u].unit.event);
    free(launch->record);
    free(launch->slot);
    return status;
}

/* K/V heads below which a window would say little: see l2.h. */
static uint64_t least_window(const struct sim_kernels *kernels, const struct sim_l2_grid grid[2],
                             uint64_t l2_bytes)
{
    uint64_t groups = (uint64_t)kernels->groups, least = 1;

    for (int run = 0; run < 2; run++) {
        if (grid[run].group_bytes == 0)
            continue;
        uint64_t fill = l2_bytes / grid[run].group_bytes;
        uint64_t wanted = fill < groups / 4 ? 4 * (fill + 1) : groups;
        least = least < wanted ? wanted : least;
    }
    for (int k = 0; k < kernels->n; k++) {
        const struct sim_kernel *kernel = &kernels->kernel[k];
        uint64_t wanted = 2 * kernel->slots / (kernel->blocks / groups) + 1;
        least = least < wanted ? wanted : least;
    }
    return least < groups ? least : groups;
}

/* The K/V heads to simulate: those asked for, all, or as many as `most` allows. */
static enum fa_status choose_window(const struct sim_kernels *kernels,
                                    const struct sim_l2_grid grid[2],
                                    const struct sim_l2_options *options, uint64_t l2_bytes,
                                    int64_t *window, struct fa_error *error)
{
    uint64_t most = all_most(options);
    uint64_t accesses = grid[0].group_accesses + grid[1].group_accesses;
    uint64_t groups = (uint64_t)kernels->groups, group = (uint64_t)kernels->group, wanted = groups;

    if (options->heads < 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "%" PRId64 " heads: expected 0 or more",
                       options->heads);
    if (options->heads > 0) {
        wanted = ((uint64_t)options->heads - 1) / group + 1;
    } else if (accesses > 0 && most / accesses < groups) {
        uint64_t least = least_window(kernels, grid, l2_bytes);
        wanted = most / accesses < least ? least : most / accesses;
        if (most / accesses < wanted / 2) /* up to twice `most` passes */
            return fa_fail(error, FA_TOO_LARGE,
                           "%" PRIu64 " accesses a head and at least %" PRIu64
                           " heads: too many for the L2 model (at most %" PRIu64
                           "): take larger tiles or a smaller problem",
                           accesses / group, wanted * group, most);
    }
    *window = (int64_t)(wanted < groups ? wanted : groups);
    return FA_OK;
}

static void difference(struct sim_l2_traffic *of, const struct sim_l2_traffic *before)
{
    of->l2_to_sm_bytes -= before->l2_to_sm_bytes;
    of->sm_to_l2_bytes -= before->sm_to_l2_bytes;
    of->dram_read_bytes -= before->dram_read_bytes;
    of->dram_write_bytes -= before->dram_write_bytes;
}

/* value groups / window; what is counted per head comes out exact. */
static uint64_t scale(uint64_t value, int64_t groups, int64_t window)
{
    uint64_t g = (uint64_t)groups, w = (uint64_t)window;
    return value / w * g + value % w * g / w;
}

static void scale_traffic(struct sim_l2_traffic *traffic, struct sim_l2_traffic *total,
                          int64_t groups, int64_t window)
{
    traffic->l2_to_sm_bytes = scale(traffic->l2_to_sm_bytes, groups, window);
    traffic->sm_to_l2_bytes = scale(traffic->sm_to_l2_bytes, groups, window);
    traffic->dram_read_bytes = scale(traffic->dram_read_bytes, groups, window);
    traffic->dram_write_bytes = scale(traffic->dram_write_bytes, groups, window);
    total->l2_to_sm_bytes += traffic->l2_to_sm_bytes;
    total->sm_to_l2_bytes += traffic->sm_to_l2_bytes;
    total->dram_read_bytes += traffic->dram_read_bytes;
    total->dram_write_bytes += traffic->dram_write_bytes;
}

/* The kernels of one run on a cache that begins empty. */
static enum fa_status run_pass(const struct sim_kernels *kernels, int run, struct launch *launch,
                               int64_t window, struct sim_l2 *l2, struct fa_error *error)
{
    struct sim_l2_cache cache;
    enum fa_status status = FA_OK;

    sim_l2_cache_open(&cache, l2->l2_bytes);
    launch->cache = &cache;
    for (int k = 0; k < kernels->n && status == FA_OK; k++) {
        const struct sim_kernel *kernel = &kernels->kernel[k];
        struct sim_l2_traffic before = cache.traffic;
        if (kernel->run != run)
            continue;
        launch->kernel = kernel;
        launch->heads = window * kernel->group_heads;
        launch->blocks = launch->heads * kernel->units;
        launch->next = 0;
        status = run_kernel(launch, error);
        if (k + 1 == kernels->n || kernels->kernel[k + 1].run != run) {
            uint64_t stored = cache.traffic.dram_write_bytes;
            sim_l2_cache_flush(&cache);
            l2->flushed_bytes += cache.traffic.dram_write_bytes - stored;
        }
        l2->kernel[k] = cache.traffic;
        difference(&l2->kernel[k], &before);
        l2->blocks += kernel->blocks;
        uint64_t flying = kernel->blocks < kernel->slots ? kernel->blocks : kernel->slots;
        l2->blocks_in_flight = l2->blocks_in_flight < flying ? flying : l2->blocks_in_flight;
        if (l2->blocks_per_sm < kernel->blocks_per_sm)
            l2->blocks_per_sm = kernel->blocks_per_sm;
    }
    sim_l2_cache_close(&cache);
    return status;
}

static enum fa_status predict(const struct sim_kernels *kernels,
                              const struct sim_l2_options *options, struct sim_l2 *l2,
                              struct fa_error *error)
{
    struct sim_l2_grid grid[2];
    uint64_t accesses = 0;
    struct launch launch = {.kernels = kernels, .options = options, .accesses = &accesses};
    int64_t window = 0;
    enum fa_status status = FA_OK;

    memset(grid, 0, sizeof grid);
    for (int run = 0; run < 2 && status == FA_OK; run++)
        for (int k = 0; k < kernels->n; k++)
            if (kernels->kernel[k].run == run) {
                status = sim_l2_grid_open(&grid[run], kernels, run, head_most(options), error);
                break;
            }
    if (status == FA_OK)
        status = choose_window(kernels, grid, options, l2->l2_bytes, &window, error);
    launch.expected = (uint64_t)window * (grid[0].group_accesses + grid[1].group_accesses);
    for (int run = 0; run < 2 && status == FA_OK; run++) {
        launch.grid = &grid[run];
        if (grid[run].run)
            status = run_pass(kernels, run, &launch, window, l2, error);
    }
    for (int k = 0; k < kernels->n && status == FA_OK; k++)
        scale_traffic(&l2->kernel[k], &l2->total, kernels->groups, window);
    if (status == FA_OK) {
        l2->flushed_bytes = scale(l2->flushed_bytes, kernels->groups, window);
        l2->heads_simulated = window * kernels->group;
    }
    for (int run = 0; run < 2; run++)
        if (grid[run].run)
            sim_l2_grid_close(&grid[run]);
    return status;
}

/* A visited tile is two accesses or more: what that alone rules out is not looked at first. */
static enum fa_status refuse_early(const struct sim_result *result,
                                   const struct sim_l2_options *options, struct fa_error *error)
{
    uint64_t heads = (uint64_t)(result->problem.batch * result->problem.heads);
    struct sim_closed_form form;
    enum fa_status status =
        sim_closed_form(result->algorithm, &result->problem, &result->tiles, &form, error);

    if (status == FA_OK && heads > 0 &&
        form.counters.tiles_visited / heads > head_most(options) / 2)
        status = fa_fail(error, FA_TOO_LARGE,
                         "%" PRIu64 " tiles a head: too many for the L2 model (at most %" PRIu64
                         "): take larger tiles or a smaller problem",
                         form.counters.tiles_visited / heads, head_most(options) / 2);
    return status;
}

enum fa_status sim_l2_predict(const struct sim_result *result, const struct sim_l2_options *options,
                              struct sim_l2 *l2, struct fa_error *error)
{
    static const struct sim_l2_options defaults;
    struct sim_kernels kernels;
    struct sim_l2 made = {0};

    if (!options)
        options = &defaults;
    if (result->machine.l2_bytes == 0)
        return fa_fail(error, FA_UNSUPPORTED,
                       "%s: the size of its L2 is not known: take a machine that states "
                       "\"l2_bytes\"",
                       result->machine.name);
    enum fa_status status = refuse_early(result, options, error);
    if (status == FA_OK)
        status = sim_kernels_open(&kernels, result, options->fill_sms, error);
    if (status != FA_OK)
        return status;
    made.l2_bytes = result->machine.l2_bytes;
    made.order = options->order;
    made.heads = kernels.groups * kernels.group;
    made.n_kernels = kernels.n;
    if (kernels.n > 0)
        status = predict(&kernels, options, &made, error);
    sim_kernels_close(&kernels);
    if (status == FA_OK)
        *l2 = made;
    return status;
}

json_t *sim_l2_to_json(const struct sim_l2 *l2)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I}",
                     "dram_read_bytes", (json_int_t)l2->total.dram_read_bytes,
                     "dram_write_bytes", (json_int_t)l2->total.dram_write_bytes,
                     "l2_to_sm_bytes", (json_int_t)l2->total.l2_to_sm_bytes,
                     "sm_to_l2_bytes", (json_int_t)l2->total.sm_to_l2_bytes,
                     "flushed_bytes", (json_int_t)l2->flushed_bytes,
                     "l2_bytes", (json_int_t)l2->l2_bytes,
                     "blocks_per_sm", (json_int_t)l2->blocks_per_sm,
                     "blocks_in_flight", (json_int_t)l2->blocks_in_flight,
                     "order", sim_l2_order_name(l2->order),
                     "heads_simulated", (json_int_t)l2->heads_simulated);
}
