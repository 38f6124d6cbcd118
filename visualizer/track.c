/*
 * Bytes along the trace: sums at every STRIDE events, so that those of any range are two sums and a
 * few events between.
 */
#include "visualizer/run_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDE = 512, LINES = 1 << 16, STEPS = 1 << 8 };

struct moved {
    uint64_t read[FA_HBM_TENSORS], write[FA_HBM_TENSORS];
};

struct view_sums {
    size_t n_marks; /* mark n is what the events before n * STRIDE moved */
    struct moved *marks;
    uint64_t *places; /* bytes by line, then by step: n_marks x n_places */
    size_t n_lines, n_places;
    uint16_t *line_place, *step_place; /* of a line or step, counted from 1; 0: it moves nothing */
    uint32_t *skips;
    size_t n_skips;
    uint8_t element[FA_HBM_TENSORS]; /* bytes in HBM */
    /* The sums by place at the position asked for last. */
    uint64_t asked_landed, *asked;
};

static bool moves(const struct sim_event *event)
{
    return event->kind == SIM_LOAD || event->kind == SIM_STORE;
}

static uint64_t bytes_of(const struct view_sums *sums, const struct sim_event *event)
{
    return (uint64_t)event->rows * event->columns * sums->element[event->tensor];
}

static void add_moved(const struct view_sums *sums, const struct sim_event *event,
                      struct moved *moved)
{
    if (!moves(event))
        return;
    uint64_t *sum = event->kind == SIM_LOAD ? moved->read : moved->write;
    sum[event->tensor == FA_PD ? FA_P : event->tensor] += bytes_of(sums, event);
}

static void add_places(const struct view_sums *sums, const struct sim_event *event,
                       uint64_t *places)
{
    if (!moves(event))
        return;
    uint64_t bytes = bytes_of(sums, event);
    places[sums->line_place[event->line] - 1] += bytes;
    places[sums->step_place[event->step] - 1] += bytes;
}

/* Gives each line and step that moves anything its place. */
static void find_places(const struct view_run *run, struct view_sums *sums)
{
    uint64_t length = view_run_length(run);
    for (uint64_t e = 0; e < length; e++) {
        const struct sim_event *event = view_run_event(run, e);
        sums->n_skips += event->kind == SIM_SKIP;
        if (!moves(event))
            continue;
        if (sums->line_place[event->line] == 0)
            sums->line_place[event->line] = (uint16_t)++sums->n_places;
        if (sums->step_place[event->step] == 0)
            sums->step_place[event->step] = (uint16_t)++sums->n_places;
    }
}

static void fill_marks(const struct view_run *run, struct view_sums *sums)
{
    uint64_t length = view_run_length(run);
    struct moved moved;
    size_t skips = 0;
    memset(&moved, 0, sizeof moved);
    memset(sums->asked, 0, sums->n_places * sizeof *sums->asked);
    for (uint64_t e = 0; e <= length; e++) {
        if (e % STRIDE == 0) {
            sums->marks[e / STRIDE] = moved;
            if (sums->n_places > 0)
                memcpy(sums->places + e / STRIDE * sums->n_places, sums->asked,
                       sums->n_places * sizeof *sums->asked);
        }
        if (e == length)
            break;
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind == SIM_SKIP)
            sums->skips[skips++] = (uint32_t)e;
        add_moved(sums, event, &moved);
        add_places(sums, event, sums->asked);
    }
    sums->asked_landed = length;
}

enum fa_status view_sums_make(const struct view_run *run, struct view_sums **sums,
                              struct fa_error *error)
{
    struct view_sums *made = calloc(1, sizeof *made);
    bool enough = made != NULL;
    if (enough) {
        for (int id = 0; id < FA_HBM_TENSORS; id++)
            made->element[id] = (uint8_t)fa_dtype_bytes(
                fa_hbm_format(&run->shape.problem, (enum fa_tensor_id)id));
        made->line_place = calloc(LINES, sizeof *made->line_place);
        made->step_place = calloc(STEPS, sizeof *made->step_place);
        enough = made->line_place && made->step_place;
    }
    if (enough) {
        find_places(run, made);
        made->n_marks = (size_t)(view_run_length(run) / STRIDE) + 1;
        made->marks = malloc(made->n_marks * sizeof *made->marks);
        made->places = malloc((made->n_marks * made->n_places + 1) * sizeof *made->places);
        made->asked = malloc((made->n_places + 1) * sizeof *made->asked);
        made->skips = malloc((made->n_skips + 1) * sizeof *made->skips);
        enough = made->marks && made->places && made->asked && made->skips;
    }
    if (!enough) {
        view_sums_free(made);
        return fa_fail(error, FA_NO_MEMORY, "no memory to sum up a trace of %" PRIu64 " events",
                       view_run_length(run));
    }
    fill_marks(run, made);
    *sums = made;
    return FA_OK;
}

void view_sums_free(struct view_sums *sums)
{
    if (!sums)
        return;
    free(sums->line_place);
    free(sums->step_place);
    free(sums->marks);
    free(sums->places);
    free(sums->asked);
    free(sums->skips);
    free(sums);
}

static void seek_places(const struct view_run *run, uint64_t landed)
{
    struct view_sums *sums = run->sums;
    uint64_t length = view_run_length(run);
    landed = landed < length ? landed : length;
    if (sums->asked_landed == landed || sums->n_places == 0)
        return;
    memcpy(sums->asked, sums->places + landed / STRIDE * sums->n_places,
           sums->n_places * sizeof *sums->asked);
    for (uint64_t e = landed / STRIDE * STRIDE; e < landed; e++)
        add_places(sums, view_run_event(run, e), sums->asked);
    sums->asked_landed = landed;
}

uint64_t view_run_line_bytes(const struct view_run *run, int line, uint64_t landed)
{
    const struct view_sums *sums = run->sums;
    if (line < 0 || line >= LINES || sums->line_place[line] == 0)
        return 0;
    seek_places(run, landed);
    return sums->asked[sums->line_place[line] - 1];
}

uint64_t view_run_step_bytes(const struct view_run *run, int step, uint64_t landed)
{
    const struct view_sums *sums = run->sums;
    if (step < 0 || step >= STEPS || sums->step_place[step] == 0)
        return 0;
    seek_places(run, landed);
    return sums->asked[sums->step_place[step] - 1];
}

static void scan(const struct view_run *run, uint64_t first, uint64_t end, struct moved *moved)
{
    while (first < end) {
        uint64_t border = (first / SIM_TRACE_SNAPSHOT + 1) * SIM_TRACE_SNAPSHOT;
        uint64_t n = (border < end ? border : end) - first;
        const struct sim_event *events = view_run_event(run, first);
        for (uint64_t e = 0; e < n; e++)
            add_moved(run->sums, &events[e], moved);
        first += n;
    }
}

/* What the events [first, end) moved: the events up to a mark, the marks between, the events
 * after. */
static void sum_range(const struct view_run *run, uint64_t first, uint64_t end, struct moved *moved)
{
    const struct view_sums *sums = run->sums;
    uint64_t mark = (first + STRIDE - 1) / STRIDE, last = end / STRIDE;
    memset(moved, 0, sizeof *moved);
    if (mark >= last) {
        scan(run, first, end, moved);
        return;
    }
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        moved->read[id] = sums->marks[last].read[id] - sums->marks[mark].read[id];
        moved->write[id] = sums->marks[last].write[id] - sums->marks[mark].write[id];
    }
    scan(run, first, mark * STRIDE, moved);
    scan(run, last * STRIDE, end, moved);
}

static bool any_in(const uint32_t *numbers, size_t n, uint64_t first, uint64_t end)
{
    size_t at = view_lower_bound(numbers, n, first);
    return at < n && numbers[at] < end;
}

void view_run_track(const struct view_run *run, uint64_t first, uint64_t end,
                    struct view_track_bin *bins, int n)
{
    uint64_t length = view_run_length(run);
    size_t n_rescales = 0;
    const uint32_t *rescales =
        run->survey ? view_survey_rescales(run->survey, &n_rescales) : NULL;
    end = end < length ? end : length;
    first = first < end ? first : end;
    for (int b = 0; b < n; b++) {
        uint64_t from = first + (end - first) * (uint64_t)b / (uint64_t)n;
        uint64_t to = first + (end - first) * (uint64_t)(b + 1) / (uint64_t)n;
        struct moved moved;
        sum_range(run, from, to, &moved);
        memcpy(bins[b].read, moved.read, sizeof moved.read);
        memcpy(bins[b].write, moved.write, sizeof moved.write);
        bins[b].rescales = any_in(rescales, n_rescales, from, to);
        bins[b].skips = any_in(run->sums->skips, run->sums->n_skips, from, to);
        bins[b].refuses = run->refused && from < length && to == length && from < to;
    }
}
