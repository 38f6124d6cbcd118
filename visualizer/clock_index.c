#include "visualizer/clock_index.h"

#include <stdlib.h>

#include "visualizer/frame.h"

enum { MOST_MARKS = 65536 };

static const double step_milliseconds[SIM_EVENT_KINDS] = {
    [SIM_LOAD] = 420, [SIM_STORE] = 420, [SIM_COMPUTE] = 520, [SIM_ALLOC] = 160,
    [SIM_FREE] = 160, [SIM_SKIP] = 160,  [SIM_REFUSE] = 600,
};

static bool joins(const struct sim_event *event)
{
    return event->kind == SIM_ALLOC || event->kind == SIM_FREE || event->kind == SIM_SKIP;
}

void view_clock_joined(const struct view_clock_index *index, uint64_t at, uint64_t *first,
                       uint64_t *end)
{
    const struct sim_event *event = sim_trace_event(index->trace, at);
    uint64_t mark = at / index->step, border = mark * index->step;

    *first = at;
    *end = at + 1;
    if (!joins(event))
        return;
    while (*first > border && sim_trace_event(index->trace, *first - 1)->kind == event->kind)
        --*first;
    if (*first == border)
        *first = index->marks[mark].run_first;
    border += index->step;
    while (*end < index->length && *end < border &&
           sim_trace_event(index->trace, *end)->kind == event->kind)
        ++*end;
    if (*end == border && *end < index->length &&
        sim_trace_event(index->trace, *end)->kind == event->kind)
        *end = index->marks[mark + 1].run_end;
}

double view_clock_own_time(const struct view_clock_index *index, uint64_t at)
{
    uint64_t first, end;
    view_clock_joined(index, at, &first, &end);
    return step_milliseconds[sim_trace_event(index->trace, at)->kind] / (double)(end - first);
}

double view_clock_time(const struct view_clock_index *index, uint64_t landed)
{
    uint64_t mark = landed / index->step, at = mark * index->step;
    double time;

    if (landed >= index->length)
        return index->marks[index->n_marks - 1].milliseconds;
    time = index->marks[mark].milliseconds;
    while (at < landed) {
        uint64_t first, end;
        view_clock_joined(index, at, &first, &end);
        uint64_t stop = end < landed ? end : landed;
        time += step_milliseconds[sim_trace_event(index->trace, at)->kind] *
                (double)(stop - at) / (double)(end - first);
        at = stop;
    }
    return time;
}

uint64_t view_clock_mark_work(const struct view_clock_mark *mark, int kind)
{
    return kind == VIEW_SAME_TILE      ? mark->tiles
           : kind == VIEW_SAME_TRAFFIC ? mark->bytes
                                       : mark->matmul;
}

uint64_t view_clock_before_work(const struct view_clock_index *index, double work, int kind)
{
    uint64_t low = 0, high = index->n_marks - 1;
    while (high - low > 1 && high > low) {
        uint64_t middle = low + (high - low) / 2;
        if ((double)view_clock_mark_work(&index->marks[middle], kind) < work)
            low = middle;
        else
            high = middle;
    }
    return low * index->step;
}

/* Time and the rows of like events, which are known only once such a row has ended: its marks are
 * written then. */
static void mark_time(struct view_clock_index *index)
{
    double time = 0;
    for (uint64_t at = 0, end; at < index->length; at = end) {
        const struct sim_event *event = sim_trace_event(index->trace, at);
        double whole = step_milliseconds[event->kind];
        end = at + 1;
        while (joins(event) && end < index->length &&
               sim_trace_event(index->trace, end)->kind == event->kind)
            end++;
        for (uint64_t k = (at + index->step - 1) / index->step; k * index->step < end; k++) {
            struct view_clock_mark *mark = &index->marks[k];
            mark->milliseconds =
                time + whole * (double)(k * index->step - at) / (double)(end - at);
            mark->run_first = at;
            mark->run_end = end;
        }
        time += whole;
    }
    struct view_clock_mark *last = &index->marks[index->n_marks - 1];
    last->milliseconds = time;
    last->run_first = last->run_end = index->length;
}

static void mark_work(struct view_clock_index *index)
{
    const struct sim_trace_header *header = sim_trace_get_header(index->trace);
    struct sim_state state;
    uint64_t bytes = 0;
    bool in_first = false;
    struct sim_event tile = {0};

    sim_trace_seek(index->trace, 0, &state);
    for (uint64_t at = 0;; at++) {
        if (at % index->step == 0 || at == index->length) {
            uint64_t k = at == index->length ? index->n_marks - 1 : at / index->step;
            index->marks[k].matmul = state.counters.flops.matmul;
            index->marks[k].tiles = state.counters.tiles_visited;
            index->marks[k].bytes = bytes;
        }
        if (at == index->length)
            break;
        const struct sim_event *event = sim_trace_event(index->trace, at);
        if (event->kind == SIM_LOAD || event->kind == SIM_STORE)
            bytes += (uint64_t)event->rows * event->columns *
                     fa_dtype_bytes(fa_hbm_format(&header->problem,
                                                  (enum fa_tensor_id)event->tensor));
        if (!in_first && index->first_tile_end == 0 && event->kind == SIM_COMPUTE &&
            event->flags & SIM_VISITS) {
            in_first = true;
            tile = *event;
        } else if (in_first &&
                   (event->i != tile.i || event->j != tile.j || event->head != tile.head)) {
            in_first = false;
            index->first_tile_end = at;
        }
        sim_state_apply(&state, header, event);
    }
}

enum fa_status view_clock_index_make(const struct sim_trace *trace,
                                     struct view_clock_index **index, struct fa_error *error)
{
    uint64_t length = sim_trace_length(trace), step = 1;
    while (length / step > MOST_MARKS)
        step *= 2;
    uint64_t n_marks = length / step + 1 + (length % step != 0);
    struct view_clock_index *made =
        calloc(1, sizeof *made + (size_t)n_marks * sizeof made->marks[0]);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the sums of %llu events",
                       (unsigned long long)length);
    made->trace = trace;
    made->length = length;
    made->step = step;
    made->n_marks = n_marks;
    mark_time(made);
    mark_work(made);
    *index = made;
    return FA_OK;
}

void view_clock_index_free(struct view_clock_index *index)
{
    free(index);
}
