#include "visualizer/clock.h"

#include <math.h>

#include "visualizer/clock_index.h"

enum { PIECES = 3 };

static const double factors[VIEW_SPEEDS] = {
    [VIEW_QUARTER] = 0.25, [VIEW_HALF] = 0.5,   [VIEW_ONE] = 1,          [VIEW_TWO] = 2,
    [VIEW_FOUR] = 4,       [VIEW_SIXTEEN] = 16, [VIEW_SIXTY_FOUR] = 64,
};

/* How time at speed 1 becomes time on screen: piece by piece, linear in each. */
struct pace {
    double from[PIECES + 1]; /* at speed 1, the pieces' borders */
    double shown[PIECES + 1]; /* on screen */
};

static struct pace pace_of(const struct view_run *run, enum view_speed speed)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    static const double auto_milliseconds[PIECES] = {8000, 10000, 14000};
    double total = view_clock_time(index, index->length);
    struct pace pace = {{0, total, total, total}, {0}};

    if (speed == VIEW_AUTO && index->first_tile_end > 0) {
        uint64_t unit = view_run_unit_of(run, index->first_tile_end - 1);
        pace.from[1] = view_clock_time(index, index->first_tile_end);
        pace.from[2] = view_clock_time(index, view_run_unit(run, unit).end);
    }
    for (int p = 0; p < PIECES; p++) {
        double natural = pace.from[p + 1] - pace.from[p];
        /* Where little happens in a piece, it is not drawn out to more than four times its time. */
        double shown = speed == VIEW_AUTO ? fmin(auto_milliseconds[p], 4 * natural)
                                          : natural / factors[speed];
        pace.shown[p + 1] = pace.shown[p] + shown;
    }
    return pace;
}

/* The piece in which a place of `borders` lies. */
static int piece_at(const double borders[PIECES + 1], double place)
{
    int p = 0;
    while (p < PIECES - 1 && place >= borders[p + 1])
        p++;
    return p;
}

static double map(const double from[PIECES + 1], const double to[PIECES + 1], double place)
{
    int p = piece_at(from, place);
    double length = from[p + 1] - from[p];
    return length > 0 ? to[p] + (to[p + 1] - to[p]) * (place - from[p]) / length : to[p];
}

static double time_at(const struct view_run *run, struct view_position at)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    double time = view_clock_time(index, at.landed);
    if (at.landed < index->length)
        time += at.flight * view_clock_own_time(index, at.landed);
    return time;
}

/* Where a share of event `landed` is done: flight stays below 1, also as a float. */
static struct view_position settle(uint64_t landed, double flight)
{
    float part = (float)(flight > 0 ? flight : 0);
    return part < 1 ? (struct view_position){landed, part} : (struct view_position){landed + 1, 0};
}

static struct view_position position_at_time(const struct view_clock_index *index, double time)
{
    uint64_t low = 0, high = index->n_marks - 1;

    if (index->length == 0 || time >= index->marks[high].milliseconds)
        return (struct view_position){index->length, 0};
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (index->marks[middle].milliseconds <= time)
            low = middle;
        else
            high = middle;
    }
    uint64_t at = low * index->step;
    double before = index->marks[low].milliseconds, own = 0;
    for (; at < index->length; at++) {
        own = view_clock_own_time(index, at);
        if (before + own > time)
            break;
        before += own;
    }
    return at < index->length ? settle(at, (time - before) / own)
                              : (struct view_position){index->length, 0};
}

double view_event_milliseconds(const struct view_run *run, uint64_t index)
{
    return view_clock_own_time(view_run_clock_index(run), index);
}

double view_event_pace(const struct view_run *run, uint64_t index, enum view_speed speed)
{
    struct pace pace = pace_of(run, speed);
    double first = time_at(run, (struct view_position){index, 0});
    double end = time_at(run, (struct view_position){index + 1, 0});
    return map(pace.from, pace.shown, end) - map(pace.from, pace.shown, first);
}

struct view_position view_clock_advance(const struct view_run *run, struct view_position at,
                                        enum view_speed speed, double milliseconds)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    struct pace pace = pace_of(run, speed);

    if (at.landed >= index->length)
        return (struct view_position){index->length, 0};
    if (!(milliseconds > 0))
        return at;
    double shown = map(pace.from, pace.shown, time_at(run, at)) + milliseconds;
    if (shown >= pace.shown[PIECES])
        return (struct view_position){index->length, 0};
    struct view_position to = position_at_time(index, map(pace.shown, pace.from, shown));
    /* Rounding never takes a step back. */
    return to.landed < at.landed || (to.landed == at.landed && to.flight < at.flight) ? at : to;
}

float view_clock_rate(const struct view_run *run, struct view_position at, enum view_speed speed)
{
    struct pace pace = pace_of(run, speed);
    int p = piece_at(pace.from, time_at(run, at));
    double natural = pace.from[p + 1] - pace.from[p], shown = pace.shown[p + 1] - pace.shown[p];
    /* That of loads and stores, which are what flies: allocs beside them do not make them faster.
     */
    return natural > 0 && shown > 0 ? (float)(1000 / 420.0 * natural / shown) : 0;
}

static double work_of_state(const struct view_run *run, const struct sim_state *state,
                            enum view_clock_kind kind)
{
    const struct sim_counters *counters = &state->counters;
    const struct fa_problem *problem = &view_run_header(run)->problem;
    if (kind == VIEW_SAME_TILE)
        return (double)counters->tiles_visited;
    if (kind == VIEW_SAME_WORK)
        return (double)counters->flops.matmul;
    return (double)(sim_counters_read_all(counters, problem).bytes +
                    sim_counters_write_all(counters, problem).bytes);
}

double view_work_in_all(const struct view_run *run, enum view_clock_kind kind)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    return (double)view_clock_mark_work(&index->marks[index->n_marks - 1], (int)kind);
}

double view_work_of(const struct view_run *run, struct view_position at, enum view_clock_kind kind)
{
    struct sim_state state;
    if (at.landed >= view_run_length(run))
        return view_work_in_all(run, kind);
    view_run_state(run, at.landed, &state);
    double before = work_of_state(run, &state, kind);
    if (!(at.flight > 0))
        return before;
    sim_state_apply(&state, view_run_header(run), view_run_event(run, at.landed));
    return before + at.flight * (work_of_state(run, &state, kind) - before);
}

struct view_position view_at_work(const struct view_run *run, double work,
                                  enum view_clock_kind kind)
{
    const struct view_clock_index *index = view_run_clock_index(run);
    struct sim_state state;

    if (!(work > 0))
        return (struct view_position){0, 0};
    if (index->length == 0 || work >= view_work_in_all(run, kind))
        return (struct view_position){index->length, 0};
    uint64_t at = view_clock_before_work(index, work, (int)kind);
    view_run_state(run, at, &state);
    double before = work_of_state(run, &state, kind);
    for (;; at++) {
        sim_state_apply(&state, view_run_header(run), view_run_event(run, at));
        double after = work_of_state(run, &state, kind);
        if (after >= work)
            return settle(at, (work - before) / (after - before));
        before = after;
    }
}
