/* The run in pieces that people count: its outer iterations, and its score tiles. */
#include "visualizer/run_parts.h"
#include "simulator/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    uint32_t first, head;
    int32_t index, phase;
};

struct view_units {
    struct unit *units;
    size_t n, capacity;
};

/* Whether key tiles are outside in that phase: flash1, and the gradients of K and V. */
static bool keys_outside(const struct fa_algorithm *algorithm, int phase)
{
    return algorithm->by_group ? algorithm->by_group[phase] : algorithm->stores_statistics;
}

static bool find_units(const struct view_run *run, struct view_units *list)
{
    const struct fa_algorithm *algorithm = view_run_header(run)->algorithm;
    uint64_t length = view_run_length(run);
    for (uint64_t e = 0; e < length; e++) {
        const struct sim_event *event = view_run_event(run, e);
        int phase = algorithm->steps[event->step].phase;
        uint64_t tile = keys_outside(algorithm, phase) ? event->j : event->i;
        struct unit unit = {.first = (uint32_t)e, .head = (uint32_t)event->head, .phase = phase,
                            .index = tile == SIM_NO_TILE ? -1 : (int32_t)tile};
        const struct unit *last = list->n ? &list->units[list->n - 1] : NULL;
        if (last && last->head == unit.head && last->phase == unit.phase &&
            last->index == unit.index)
            continue;
        if (list->n == list->capacity) {
            size_t capacity = list->capacity ? 2 * list->capacity : 64;
            struct unit *units = realloc(list->units, capacity * sizeof *units);
            if (!units)
                return false;
            list->units = units;
            list->capacity = capacity;
        }
        list->units[list->n++] = unit;
    }
    return true;
}

enum fa_status view_units_make(const struct view_run *run, struct view_units **units,
                               struct fa_error *error)
{
    struct view_units *made = calloc(1, sizeof *made);
    if (!made || !find_units(run, made)) {
        view_units_free(made);
        return fa_fail(error, FA_NO_MEMORY, "no memory for a run's outer iterations");
    }
    *units = made;
    return FA_OK;
}

void view_units_free(struct view_units *units)
{
    if (!units)
        return;
    free(units->units);
    free(units);
}

uint64_t view_run_units(const struct view_run *run)
{
    return run->units->n;
}

/* The row-wise steps count blocks of rows, not tiles. */
static bool goes_by_rows(const struct fa_algorithm *algorithm, int phase)
{
    return strcmp(algorithm->phases[phase], "softmax") == 0 ||
           strcmp(algorithm->phases[phase], "dS by rows") == 0;
}

static void make_title(const struct view_run *run, struct view_unit *unit)
{
    const struct fa_algorithm *algorithm = view_run_header(run)->algorithm;
    int64_t block = run->shape.tiles.row_block, first = unit->index * block;
    int64_t end = view_least(first + block, run->shape.problem.nq);
    if (unit->index < 0)
        snprintf(unit->title, sizeof unit->title, "set up");
    else if (!goes_by_rows(algorithm, unit->phase))
        snprintf(unit->title, sizeof unit->title, "%s = %" PRId64,
                 keys_outside(algorithm, unit->phase) ? "j" : "i", unit->index);
    else if (end - first > 1)
        snprintf(unit->title, sizeof unit->title, "rows %s to %s", SIM_GROUPED((int)first),
                 SIM_GROUPED((int)(end - 1)));
    else
        snprintf(unit->title, sizeof unit->title, "row %s", SIM_GROUPED(first));
}

struct view_unit view_run_unit(const struct view_run *run, uint64_t index)
{
    const struct view_units *list = run->units;
    struct view_unit unit = {.end = view_run_length(run)};
    if (index >= list->n)
        return unit;
    const struct unit *found = &list->units[index];
    unit.first = found->first;
    if (index + 1 < list->n)
        unit.end = found[1].first;
    unit.phase = found->phase;
    unit.head = found->head;
    unit.index = found->index;
    make_title(run, &unit);
    return unit;
}

uint64_t view_run_unit_of(const struct view_run *run, uint64_t index)
{
    const struct view_units *list = run->units;
    size_t first = 0, n = list->n;
    while (n > 1) {
        size_t half = n / 2;
        if (list->units[first + half].first <= index) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    return first;
}

/* Whether the event ends the work on a tile: of a backward pass the last of its products. */
static bool accumulates(const struct sim_event *event)
{
    return event->kind == SIM_COMPUTE &&
           (event->op == FA_OP_ACCUMULATE || event->op == FA_OP_ACCUMULATE_PART ||
            event->op == FA_OP_GRAD_V || event->op == FA_OP_GRAD_Q || event->op == FA_OP_GRAD_K);
}

enum fa_status view_run_find_tile(const struct view_run *run, int64_t i, int64_t j,
                                  uint64_t *landed, struct fa_error *error)
{
    for (uint64_t e = view_run_length(run); e-- > 0;) {
        const struct sim_event *event = view_run_event(run, e);
        if (accumulates(event) && event->head == 0 && (int64_t)event->i == i &&
            (int64_t)event->j == j) {
            *landed = e + 1;
            return FA_OK;
        }
    }
    if (i >= 0 && j >= 0 && i < run->tr && j < run->tc)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "tile (%" PRId64 ", %" PRId64 ") is %s in this run", i, j,
                       view_run_score(run, 0, i, j, view_run_length(run), NULL, NULL) ==
                               VIEW_SCORE_SKIPPED
                           ? "skipped"
                           : "never accumulated");
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "tile (%" PRId64 ", %" PRId64 ") is not there: the run has query tiles 0 to "
                   "%" PRId64 " and key tiles 0 to %" PRId64,
                   i, j, run->tr - 1, run->tc - 1);
}
