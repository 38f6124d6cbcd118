#include "visualizer/run_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/visibility.h"
#include "simulator/closed_form_parts.h"
#include "simulator/trace_ops.h"
#include "visualizer/clock_index.h"

/* What the pass finds in HBM and never stores to. */
static uint32_t given_tensors(const struct sim_trace_header *header)
{
    uint32_t set = FA_BIT(FA_Q) | FA_BIT(FA_K) | FA_BIT(FA_V) | FA_BIT(FA_DO) | FA_BIT(FA_MASK) |
                   FA_BIT(FA_BIAS);
    if (header->has_keep)
        set |= FA_BIT(FA_DROPOUT);
    if (sim_is_backward(header->algorithm))
        set |= FA_BIT(FA_O) | FA_BIT(FA_LSE) | FA_BIT(FA_L) | FA_BIT(FA_M) | FA_BIT(FA_P) |
               FA_BIT(FA_PD) | FA_BIT(FA_DROPOUT);
    return set;
}

uint32_t view_run_written_set(const struct sim_trace_header *header)
{
    return sim_tensors_in_hbm(header) & ~given_tensors(header);
}

static void read_header(struct view_run *run)
{
    const struct sim_trace_header *header = sim_trace_get_header(run->trace);
    uint64_t length = sim_trace_length(run->trace);

    run->backward = sim_is_backward(header->algorithm);
    run->refused = length > 0 && sim_trace_event(run->trace, length - 1)->kind == SIM_REFUSE;
    run->shape.problem = header->problem;
    run->shape.tiles = header->tiles;
    run->shape.backward = run->backward;
    run->tr = fa_tile_count(header->problem.nq, header->tiles.br);
    run->tc = fa_tile_count(header->problem.nk, header->tiles.bc);
    run->in_hbm = sim_tensors_in_hbm(header);
    run->written = view_run_written_set(header);
    run->heads = 1;
    for (uint64_t e = 0; e < length; e++) {
        int64_t head = sim_trace_event(run->trace, e)->head;
        run->heads = head >= run->heads ? head + 1 : run->heads;
    }
}

/* What is known once the trace is there. */
static enum fa_status index_trace(struct view_run *run, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    if (sim_trace_length(run->trace) > VIEW_MOST_EVENTS)
        return fa_fail(error, FA_TOO_LARGE,
                       "the trace has more than %d events: trace fewer heads, a smaller problem or "
                       "larger tiles",
                       (int)VIEW_MOST_EVENTS);
    read_header(run);
    run->state = calloc(1, sizeof *run->state);
    if (!run->state)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for a run");
    if (status == FA_OK)
        status = view_history_make(run, &run->history, error);
    if (status == FA_OK)
        status = view_units_make(run, &run->units, error);
    if (status == FA_OK)
        status = view_sums_make(run, &run->sums, error);
    if (status == FA_OK)
        status = view_clock_index_make(run->trace, &run->clock, error);
    return status;
}

static struct view_run *make_run(const struct view_source *source, struct fa_error *error)
{
    struct view_run *run = calloc(1, sizeof *run);
    if (!run) {
        fa_fail(error, FA_NO_MEMORY, "no memory for a run");
        if (source && source->release)
            source->release(source->owner);
        return NULL;
    }
    if (source) {
        run->source = *source;
        run->has_source = source->experiment.algorithm != NULL;
    }
    return run;
}

/* Executes the source's experiment, and surveys it. A refusal is no error: its words are kept. */
static enum fa_status execute(struct view_run *run, const struct fa_watch *watch,
                              struct sim_trace **trace, struct fa_error *error)
{
    struct sim_experiment experiment = run->source.experiment;
    run->survey = view_survey_make();
    if (!run->survey)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a run");
    experiment.trace = trace;
    experiment.most_events = VIEW_MOST_EVENTS;
    experiment.watch = watch;
    experiment.after = view_survey_step;
    experiment.after_context = run->survey;
    enum fa_status status = sim_experiment_run(&experiment, &run->result, error);
    run->finished = status == FA_OK;
    if (status != FA_DOES_NOT_FIT || !*trace)
        return status;
    memcpy(run->refusal, error->text, sizeof run->refusal);
    return FA_OK;
}

enum fa_status view_run_open(const struct view_source *source, const struct fa_watch *watch,
                             struct view_run **run, struct fa_error *error)
{
    struct fa_error local = {FA_OK, ""};
    struct view_run *made = make_run(source, error);
    if (!made)
        return FA_NO_MEMORY;
    if (!error)
        error = &local;
    enum fa_status status = execute(made, watch, &made->trace, error);
    if (status == FA_OK)
        status = index_trace(made, error);
    if (status != FA_OK) {
        view_run_close(made);
        return status;
    }
    *run = made;
    return FA_OK;
}

/* The same event, but for the line of the source, which a newer build may have moved. */
static bool same_event(const struct sim_event *a, const struct sim_event *b)
{
    struct sim_event moved = *b;
    moved.line = a->line;
    return memcmp(a, &moved, sizeof moved) == 0;
}

static bool same_events(const struct sim_trace *a, const struct sim_trace *b)
{
    uint64_t length = sim_trace_length(a);
    if (sim_trace_length(b) != length)
        return false;
    for (uint64_t e = 0; e < length; e++)
        if (!same_event(sim_trace_event(a, e), sim_trace_event(b, e)))
            return false;
    return true;
}

/* Values of a trace that was loaded are those of the source's run, if that makes the same trace. */
static void repeat_adopted(struct view_run *run)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = NULL;
    if (!run->has_source) {
        if (run->no_values[0] == '\0')
            snprintf(run->no_values, sizeof run->no_values,
                     "The trace came without its inputs, so its cells have no values.");
        return;
    }
    if (execute(run, NULL, &trace, &error) != FA_OK)
        snprintf(run->no_values, sizeof run->no_values, "The run cannot be repeated: %s",
                 error.text);
    else if (!same_events(run->trace, trace))
        snprintf(run->no_values, sizeof run->no_values,
                 "The run cannot be repeated: it makes another trace than this one.");
    sim_trace_free(trace);
}

enum fa_status view_run_adopt(struct sim_trace *trace, const struct view_source *source,
                              const char *no_values, struct view_run **run, struct fa_error *error)
{
    struct view_run *made = make_run(source, error);
    if (!made) {
        sim_trace_free(trace);
        return FA_NO_MEMORY;
    }
    made->trace = trace;
    if (!made->has_source && no_values)
        snprintf(made->no_values, sizeof made->no_values, "%s", no_values);
    enum fa_status status = index_trace(made, error);
    if (status != FA_OK) {
        view_run_close(made);
        return status;
    }
    repeat_adopted(made);
    *run = made;
    return FA_OK;
}

void view_run_close(struct view_run *run)
{
    if (!run)
        return;
    view_rows_free(run->rows);
    view_dealt_free(run->dealt);
    view_errors_free(run->errors);
    view_stage_errors_free(run->stage_errors);
    view_replays_free(run->replays);
    view_survey_free(run->survey);
    view_sums_free(run->sums);
    view_units_free(run->units);
    view_history_free(run->history);
    view_clock_index_free(run->clock);
    free(run->state);
    sim_trace_free(run->trace);
    if (run->source.release)
        run->source.release(run->source.owner);
    free(run);
}

const struct sim_trace *view_run_trace(const struct view_run *run)
{
    return run->trace;
}

const struct sim_trace_header *view_run_header(const struct view_run *run)
{
    return sim_trace_get_header(run->trace);
}

const struct sim_experiment *view_run_experiment(const struct view_run *run)
{
    return run->has_source ? &run->source.experiment : NULL;
}

uint64_t view_run_length(const struct view_run *run)
{
    return sim_trace_length(run->trace);
}

const struct sim_event *view_run_event(const struct view_run *run, uint64_t index)
{
    return sim_trace_event(run->trace, index);
}

bool view_run_refused(const struct view_run *run)
{
    return run->refused;
}

const char *view_run_refusal(const struct view_run *run)
{
    return run->refusal[0] ? run->refusal : NULL;
}

bool view_run_queries_outside(const struct fa_algorithm *algorithm)
{
    /* flash1 stores its statistics since it comes back to each row; the others store scores or
     * weights. */
    return !algorithm->stores_scores && !algorithm->stores_weights &&
           !algorithm->stores_statistics && algorithm->n_phases == 1 && algorithm->stores_lse;
}

bool view_run_divides_late(const struct fa_algorithm *algorithm)
{
    return view_run_queries_outside(algorithm) && !algorithm->normalised;
}

bool view_run_backward(const struct view_run *run)
{
    return run->backward;
}

struct fa_tiles view_run_tiles(const struct view_run *run)
{
    return run->shape.tiles;
}

int64_t view_run_tr(const struct view_run *run)
{
    return run->tr;
}

int64_t view_run_tc(const struct view_run *run)
{
    return run->tc;
}

int64_t view_run_heads(const struct view_run *run)
{
    return run->heads;
}

const struct view_clock_index *view_run_clock_index(const struct view_run *run)
{
    return run->clock;
}

void view_run_state(const struct view_run *run, uint64_t landed, struct sim_state *state)
{
    struct view_state_cache *cache = run->state;
    uint64_t length = sim_trace_length(run->trace);
    landed = landed < length ? landed : length;
    if (!cache->filled || landed < cache->landed || landed == length ||
        landed - cache->landed > landed % SIM_TRACE_SNAPSHOT) {
        sim_trace_seek(run->trace, landed, &cache->state);
    } else {
        for (uint64_t e = cache->landed; e < landed; e++)
            sim_state_apply(&cache->state, sim_trace_get_header(run->trace),
                            sim_trace_event(run->trace, e));
    }
    cache->filled = true;
    cache->landed = landed;
    *state = cache->state;
}

/* The tensor as it was given, where its shape is not the problem's: a mask or bias may be
 * broadcast. */
static const struct fa_tensor *given_shape(const struct view_run *run, enum fa_tensor_id id)
{
    const struct fa_problem *problem = &run->source.experiment.problem;
    if (!run->has_source)
        return NULL;
    return id == FA_MASK ? problem->mask : id == FA_BIAS ? problem->bias : NULL;
}

static void matrix_size(const struct view_run *run, enum fa_tensor_id id, int64_t *rows,
                        int64_t *columns)
{
    const struct fa_tensor *given = given_shape(run, id);
    sim_matrix_size(&run->shape.problem, id, rows, columns);
    if (given) {
        *rows = view_least(*rows, given->shape[2]);
        *columns = view_least(*columns, given->shape[3]);
    }
}

void view_run_shape(const struct view_run *run, enum fa_tensor_id id, int64_t *rows,
                    int64_t *columns)
{
    *rows = *columns = 0;
    if (id < FA_HBM_TENSORS && (run->in_hbm & FA_BIT(id)))
        matrix_size(run, id, rows, columns);
}

void view_run_tiling(const struct view_run *run, enum fa_tensor_id id, int64_t *tile_rows,
                     int64_t *tile_columns)
{
    const struct fa_tiles *tiles = &run->shape.tiles;
    int64_t rows, columns;
    matrix_size(run, id, &rows, &columns);
    *tile_rows = view_least(sim_is_key_side(id) ? tiles->bc : tiles->br, rows);
    *tile_columns = sim_is_score_tile(id) ? view_least(tiles->bc, columns) : columns;
    *tile_rows = *tile_rows < 1 ? 1 : *tile_rows;
    *tile_columns = *tile_columns < 1 ? 1 : *tile_columns;
}

int64_t view_run_tile_head(const struct view_run *run, enum fa_tensor_id id, int64_t head)
{
    const struct fa_problem *problem = &run->shape.problem;
    int64_t group = problem->kv_heads > 0 ? problem->heads / problem->kv_heads : 1;
    return sim_is_key_side(id) && group > 0 ? head / group * group : head;
}
