/* Where the step buttons and arrows lead. */
#include "visualizer/clock.h"
#include "visualizer/clock_index.h"

static uint64_t step_event(const struct view_run *run, uint64_t landed, int direction)
{
    uint64_t first, end;
    view_clock_joined(view_run_clock_index(run), direction > 0 ? landed : landed - 1, &first, &end);
    return direction > 0 ? end : first;
}

/* What starts or ends a block of rows is no tile of it. */
static bool is_tile_work(const struct sim_event *event)
{
    if (event->kind != SIM_COMPUTE)
        return false;
    switch ((enum fa_op)event->op) {
    case FA_OP_START:
    case FA_OP_START_DQ:
    case FA_OP_START_DELTA:
    case FA_OP_START_DKV:
    case FA_OP_FINISH:
    case FA_OP_FINISH_STATS:
        return false;
    default:
        return true;
    }
}

static bool same_place(const struct sim_event *a, const struct sim_event *b)
{
    return a->head == b->head && a->i == b->i && a->j == b->j;
}

/* Positions behind the last event of a place in the loops where something was computed. */
static uint64_t step_tile(const struct view_run *run, uint64_t landed, int direction)
{
    uint64_t length = view_run_length(run), at = landed;
    bool work = false;

    if (direction > 0) {
        for (; at < length; at++) {
            const struct sim_event *event = view_run_event(run, at);
            work = work || is_tile_work(event);
            if (at + 1 == length || !same_place(event, view_run_event(run, at + 1))) {
                if (work)
                    return at + 1;
            }
        }
        return length;
    }
    /* Back over what stands at the position, then to the end of the next place that computed. */
    for (at = landed - 1; at > 0; at--) {
        const struct sim_event *event = view_run_event(run, at - 1);
        if (same_place(event, view_run_event(run, at)))
            continue;
        for (uint64_t k = at; k > 0 && same_place(event, view_run_event(run, k - 1)); k--)
            if (is_tile_work(view_run_event(run, k - 1)))
                return at;
    }
    return 0;
}

static uint64_t step_row(const struct view_run *run, uint64_t landed, int direction)
{
    uint64_t at = direction > 0 ? landed : landed - 1;
    struct view_unit unit = view_run_unit(run, view_run_unit_of(run, at));
    return direction > 0 ? unit.end : unit.first;
}

/* Units of one head and phase in a row are one step. */
static uint64_t step_phase(const struct view_run *run, uint64_t landed, int direction)
{
    uint64_t at = direction > 0 ? landed : landed - 1, u = view_run_unit_of(run, at);
    struct view_unit unit = view_run_unit(run, u);
    for (;;) {
        uint64_t border = direction > 0 ? unit.end : unit.first;
        if (border == (direction > 0 ? view_run_length(run) : 0))
            return border;
        u = direction > 0 ? u + 1 : u - 1;
        struct view_unit next = view_run_unit(run, u);
        if (next.phase != unit.phase || next.head != unit.head)
            return border;
        unit = next;
    }
}

uint64_t view_step(const struct view_run *run, uint64_t landed, enum view_step_by by, int direction)
{
    static uint64_t (*const steps[VIEW_BYS])(const struct view_run *, uint64_t, int) = {
        [VIEW_BY_EVENT] = step_event,
        [VIEW_BY_TILE] = step_tile,
        [VIEW_BY_ROW] = step_row,
        [VIEW_BY_PHASE] = step_phase,
    };
    uint64_t length = view_run_length(run);
    if (direction > 0 ? landed >= length : landed == 0)
        return direction > 0 ? length : 0;
    return steps[by](run, landed < length ? landed : length, direction);
}
