#include "simulator/experiment.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reference/block_pattern.h"
#include "simulator/experiment_check.h"

/* About ten events of 32 bytes each. */
#define MOST_TRACED_TILES (UINT64_C(1) << 24)

static double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The workers of a run, each with a memory of its own. */
struct workers {
    int n;
    struct sim_memory *memories;
    struct fa_port **ports;
};

static enum fa_status open_workers(struct workers *workers, int n, const struct fa_run *run,
                                   const struct sim_experiment *experiment, enum sim_mode mode,
                                   struct sim_trace *trace, struct fa_error *error)
{
    *workers = (struct workers){
        .n = n,
        .memories = calloc((size_t)n, sizeof *workers->memories),
        .ports = calloc((size_t)n, sizeof *workers->ports),
    };
    if (!workers->memories || !workers->ports) {
        free(workers->memories);
        free(workers->ports);
        return fa_fail(error, FA_NO_MEMORY, "no memory for %d workers", n);
    }
    for (int w = 0; w < n; w++) {
        sim_memory_open(&workers->memories[w], run, mode,
                        experiment->lift_capacity ? 0 : experiment->machine.sram_bytes, trace);
        if (trace) {
            workers->memories[w].most_events = experiment->most_events;
            workers->memories[w].after = experiment->after;
            workers->memories[w].after_context = experiment->after_context;
        }
        workers->ports[w] = &workers->memories[w].port;
    }
    return FA_OK;
}

static void close_workers(struct workers *workers)
{
    for (int w = 0; w < workers->n; w++)
        sim_memory_close(&workers->memories[w]);
    free(workers->memories);
    free(workers->ports);
}

static void sum_counters(struct sim_result *result, const struct workers *workers, uint64_t times)
{
    for (int w = 0; w < workers->n; w++) {
        struct sim_counters part = sim_memory_counters(&workers->memories[w]);
        sim_counters_add(&result->counters, &part, times);
    }
}

const char *sim_pass_name(enum sim_pass pass)
{
    static const char *const names[] = {"forward", "backward", "both"};
    return names[pass];
}

/* Adds to a refusal what would help: what the pass needs in all, and tiles that fit. */
static void advise(const struct sim_experiment *experiment, const struct fa_algorithm *algorithm,
                   const struct fa_tiles *tiles, struct fa_error *error)
{
    static const struct sim_tile_choice square = {SIM_TILES_SQUARE, 0, 0};
    const struct fa_problem *problem = &experiment->problem;
    const char *pass = algorithm == experiment->algorithm ? "" : " backward";
    uint64_t capacity = experiment->machine.sram_bytes;
    struct fa_tiles fit;
    char refusal[sizeof error->text];

    memcpy(refusal, error->text, sizeof refusal);
    refusal[700] = '\0'; /* room for the advice */
    uint64_t needed = sim_live_bytes(algorithm, problem, tiles);
    if (sim_tiles_choose(&square, algorithm, problem, capacity, capacity, &fit, NULL) == FA_OK)
        fa_fail(error, FA_DOES_NOT_FIT,
                "%s; %s%s with tiles of %" PRId64 "x%" PRId64 " needs %" PRIu64
                " bytes in all; the largest square tile that fits is %" PRId64 "x%" PRId64
                " (--tiles square), or give more with --sram",
                refusal, algorithm->name, pass, tiles->br, tiles->bc, needed, fit.br, fit.bc);
    else
        fa_fail(error, FA_DOES_NOT_FIT,
                "%s; %s%s with tiles of %" PRId64 "x%" PRId64 " needs %" PRIu64
                " bytes in all; no tile fits: give more with --sram or a smaller --d",
                refusal, algorithm->name, pass, tiles->br, tiles->bc, needed);
}

/* The tiles of one pass: br and bc as planned, the row-wise steps as its own rule has them. */
static enum fa_status tiles_of_pass(const struct sim_experiment *experiment,
                                    const struct fa_algorithm *algorithm,
                                    const struct fa_tiles *planned, struct fa_tiles *tiles,
                                    struct fa_error *error)
{
    const struct sim_tile_choice given = {SIM_TILES_GIVEN, planned->br, planned->bc};
    uint64_t rule = experiment->machine.sram_bytes;
    return sim_tiles_choose(&given, algorithm, &experiment->problem,
                            experiment->lift_capacity ? 0 : rule, rule, tiles, error);
}

/* Bounds one pass's counters; adds its tiles to none. */
static enum fa_status bound_pass(const struct sim_experiment *experiment,
                                 const struct fa_algorithm *algorithm, struct sim_result *result,
                                 struct fa_error *error)
{
    struct sim_closed_form form;
    struct fa_tiles tiles;
    enum fa_status status = tiles_of_pass(experiment, algorithm, &result->tiles, &tiles, error);
    if (status == FA_OK)
        status = sim_closed_form(algorithm, &experiment->problem, &tiles, &form, error);
    if (status == FA_OK)
        result->tiles_total = form.tiles_total;
    return status;
}

/* Everything that is known before the run. */
static enum fa_status plan(const struct sim_experiment *experiment, struct sim_result *result,
                           struct fa_error *error)
{
    const struct fa_problem *problem = &experiment->problem;
    const struct fa_algorithm *forward = experiment->algorithm;
    bool backward = experiment->pass != SIM_FORWARD;
    enum fa_status status = fa_problem_check(problem, error);

    if (status == FA_OK && experiment->trace && experiment->pass == SIM_BOTH)
        status = fa_fail(error, FA_UNSUPPORTED,
                         "a trace holds one pass: give --pass forward or --pass backward");
    if (status == FA_OK)
        status = sim_experiment_tiles(experiment, &result->tiles, error);
    if (status == FA_OK && experiment->pass != SIM_BACKWARD)
        status = bound_pass(experiment, forward, result, error);
    if (status == FA_OK && backward)
        status = bound_pass(experiment, forward->backward, result, error);
    if (status == FA_OK && experiment->trace && result->tiles_total > MOST_TRACED_TILES)
        status = fa_fail(error, FA_TOO_LARGE,
                         "a trace of %" PRIu64 " tiles: expected %" PRIu64
                         " at most, some gigabytes of events; trace fewer heads or larger tiles",
                         result->tiles_total, MOST_TRACED_TILES);
    if (status == FA_OK)
        status = sim_footprint(forward, backward, problem, &result->footprint, error);
    if (status != FA_OK)
        return status;
    result->algorithm = forward;
    result->pass = experiment->pass;
    result->problem = *problem;
    result->policy = experiment->tiles.policy;
    result->machine = experiment->machine;
    result->capacity_lifted = experiment->lift_capacity;
    result->has_blocks = problem->blocks != NULL;
    if (problem->blocks)
        result->blocks_share = fa_block_mask_share(problem->blocks);
    if (experiment->pass == SIM_BOTH)
        result->tiles_total *= 2;
    return FA_OK;
}

static enum fa_status make_trace(const struct sim_experiment *experiment,
                                 const struct sim_result *result, struct sim_trace **trace,
                                 struct fa_error *error)
{
    struct sim_trace_header header = experiment->trace_header;
    header.algorithm = experiment->pass == SIM_BACKWARD ? experiment->algorithm->backward
                                                        : experiment->algorithm;
    header.forward = experiment->pass == SIM_BACKWARD ? experiment->algorithm : NULL;
    header.problem = experiment->problem;
    header.has_mask = header.problem.mask != NULL;
    header.has_bias = header.problem.bias != NULL;
    header.has_keep = header.problem.dropout_keep != NULL;
    header.tiles = result->tiles;
    header.sram_bytes = experiment->lift_capacity ? 0 : experiment->machine.sram_bytes;
    memcpy(header.machine, experiment->machine.name, sizeof header.machine);
    return sim_trace_create(&header, trace, error);
}

/* Executes one pass on an open run and adds what it counted. */
static enum fa_status execute(const struct sim_experiment *experiment,
                              const struct fa_algorithm *algorithm, const struct fa_run *run,
                              enum sim_mode mode, struct sim_trace *trace,
                              struct sim_result *result, struct fa_error *error)
{
    struct workers workers;
    int64_t heads = fa_execution_heads(algorithm, &experiment->problem);
    /* Heads differ in nothing that is counted, so counting alone needs one of them. */
    int64_t executed = mode == SIM_COUNT_ONLY && !trace && heads > 0 ? 1 : heads;
    enum fa_status status =
        open_workers(&workers, trace ? 1 : experiment->threads, run, experiment, mode, trace, error);

    if (status != FA_OK)
        return status;
    double begin = now_seconds();
    status = fa_execute(algorithm, workers.ports, workers.n, executed, experiment->watch, error);
    result->seconds += now_seconds() - begin;
    if (mode != SIM_PLAIN)
        sum_counters(result, &workers, executed ? (uint64_t)(heads / executed) : 1);
    if (executed > 0)
        result->heads_executed =
            executed * (experiment->problem.batch * experiment->problem.heads / heads);
    close_workers(&workers);
    if (status == FA_DOES_NOT_FIT)
        advise(experiment, algorithm, &run->tiles, error);
    return status;
}

/* The forward pass, which is not counted where the backward one alone is asked for. */
static enum fa_status run_forward(const struct sim_experiment *experiment, struct fa_run *run,
                                  struct sim_trace *trace, struct sim_result *result,
                                  struct fa_error *error)
{
    const struct fa_algorithm *algorithm = experiment->algorithm;
    bool data = experiment->mode != SIM_COUNT_ONLY, counted = experiment->pass != SIM_BACKWARD;
    enum fa_status status = FA_OK;

    if (counted || data)
        status = execute(experiment, algorithm, run, counted ? experiment->mode : SIM_PLAIN,
                         counted ? trace : NULL, result, error);
    if (!counted)
        result->seconds = 0;
    if (status == FA_OK && data)
        fa_run_finish(run, algorithm);
    return status;
}

static enum fa_status run_backward(const struct sim_experiment *experiment,
                                   const struct fa_run *forward, struct sim_trace *trace,
                                   struct sim_result *result, struct fa_error *error)
{
    const struct fa_algorithm *algorithm = experiment->algorithm->backward;
    bool data = experiment->mode != SIM_COUNT_ONLY;
    struct fa_tiles tiles;
    struct fa_run run;
    enum fa_status status = tiles_of_pass(experiment, algorithm, &result->tiles, &tiles, error);

    if (status == FA_OK)
        status = fa_run_open_backward(&run, algorithm, forward, &tiles,
                                      data ? experiment->dout : NULL, data ? experiment->dq : NULL,
                                      data ? experiment->dk : NULL, data ? experiment->dv : NULL,
                                      error);
    if (status != FA_OK)
        return status;
    status = execute(experiment, algorithm, &run, experiment->mode, trace, result, error);
    fa_run_close(&run);
    return status;
}

enum fa_status sim_experiment_run(const struct sim_experiment *experiment,
                                  struct sim_result *result, struct fa_error *error)
{
    struct fa_error local = {FA_OK, ""};
    struct sim_result made;
    struct fa_run run;
    struct fa_tiles tiles;
    struct sim_trace *trace = NULL;
    bool data = experiment->mode != SIM_COUNT_ONLY, backward = experiment->pass != SIM_FORWARD;
    enum fa_status status;

    if (!error)
        error = &local;
    memset(&made, 0, sizeof made);
    status = plan(experiment, &made, error);
    if (status == FA_OK)
        status = sim_experiment_check_run(experiment, error);
    if (status == FA_OK)
        status = tiles_of_pass(experiment, experiment->algorithm, &made.tiles, &tiles, error);
    if (status == FA_OK && experiment->trace && experiment->mode != SIM_PLAIN)
        status = make_trace(experiment, &made, &trace, error);
    if (status == FA_OK)
        status = fa_run_open(&run, experiment->algorithm, &experiment->problem, &tiles,
                             data ? experiment->q : NULL, data ? experiment->k : NULL,
                             data ? experiment->v : NULL, data ? experiment->o : NULL,
                             data ? experiment->lse : NULL, backward, error);
    if (status != FA_OK) {
        sim_trace_free(trace);
        return status;
    }
    status = run_forward(experiment, &run, trace, &made, error);
    if (status == FA_OK && backward)
        status = run_backward(experiment, &run, trace, &made, error);
    fa_run_close(&run);
    if (trace && (status == FA_OK || status == FA_DOES_NOT_FIT))
        *experiment->trace = trace;
    else
        sim_trace_free(trace);
    if (status != FA_OK)
        return status;
    made.bounds = sim_bounds(&experiment->problem, experiment->machine.sram_bytes,
                             made.tiles_total ? (double)made.counters.tiles_visited /
                                                    (double)made.tiles_total
                                              : 0);
    *result = made;
    return FA_OK;
}

static void fill_nan(const struct fa_tensor *tensor)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    fa_tensor_set(tensor, b, h, r, c, NAN);
}

/* The run that the replayed pass executes on: of a backward pass, what the forward one left. */
static enum fa_status open_replay(struct sim_replay *replay, struct sim_result *planned,
                                  struct fa_error *error)
{
    const struct sim_experiment *e = &replay->experiment;
    bool both = e->pass == SIM_BACKWARD;
    struct fa_run *first = both ? &replay->forward : &replay->run;
    struct fa_tiles tiles;
    enum fa_status status = tiles_of_pass(e, e->algorithm, &planned->tiles, &tiles, error);
    if (status == FA_OK)
        status = fa_run_open(first, e->algorithm, &e->problem, &tiles, e->q, e->k, e->v, e->o,
                             e->lse, both, error);
    if (status != FA_OK || !both)
        return status;
    status = run_forward(e, first, NULL, planned, error);
    if (status == FA_OK)
        status = tiles_of_pass(e, e->algorithm->backward, &planned->tiles, &tiles, error);
    if (status == FA_OK)
        status = fa_run_open_backward(&replay->run, e->algorithm->backward, first, &tiles, e->dout,
                                      e->dq, e->dk, e->dv, error);
    if (status != FA_OK)
        fa_run_close(first);
    return status;
}

enum fa_status sim_replay_open(const struct sim_experiment *experiment, struct sim_replay *replay,
                               struct fa_error *error)
{
    struct sim_replay made = {.experiment = *experiment};
    struct sim_result planned;
    bool both = experiment->pass == SIM_BACKWARD;

    assert(experiment->mode == SIM_COUNTED && experiment->pass != SIM_BOTH);
    made.experiment.watch = NULL;
    memset(&planned, 0, sizeof planned);
    enum fa_status status = plan(&made.experiment, &planned, error);
    if (status == FA_OK)
        status = sim_experiment_check_run(&made.experiment, error);
    if (status != FA_OK)
        return status;
    const struct fa_tensor *const outputs[] = {experiment->o, experiment->lse, experiment->dq,
                                               experiment->dk, experiment->dv};
    for (int n = 0; n < (both ? 5 : 2); n++)
        if (outputs[n])
            fill_nan(outputs[n]);
    status = open_replay(&made, &planned, error);
    if (status == FA_OK)
        *replay = made;
    return status;
}

void sim_replay_close(struct sim_replay *replay)
{
    fa_run_close(&replay->run);
    fa_run_close(&replay->forward);
}

static void replay_step(void *context, struct sim_memory *memory)
{
    const struct sim_replay_steps *steps = context;
    if (memory->events == steps->from) {
        memory->with_data = true;
        steps->begin(steps->context, memory);
    } else if (memory->events > steps->from && steps->after) {
        steps->after(steps->context, memory);
    }
}

enum fa_status sim_replay_run(const struct sim_replay *replay, const struct sim_replay_steps *steps,
                              struct fa_error *error)
{
    const struct sim_experiment *e = &replay->experiment;
    const struct fa_algorithm *algorithm =
        e->pass == SIM_BACKWARD ? e->algorithm->backward : e->algorithm;
    struct sim_memory memory;
    struct fa_port *port = &memory.port;
    struct sim_replay_steps copy = *steps;
    enum fa_status status = FA_OK;
    bool refused = false;

    sim_memory_open(&memory, &replay->run, SIM_COUNTED,
                    e->lift_capacity ? 0 : e->machine.sram_bytes, NULL);
    memory.stop_after = steps->position;
    memory.after = replay_step;
    memory.after_context = &copy;
    memory.with_data = steps->from == 0;
    if (steps->position > 0) {
        status = fa_execute(algorithm, &port, 1, fa_execution_heads(algorithm, &e->problem), NULL,
                            error);
        /* Stopping where it was asked to is what this is for; a refusal is a trace's last event. */
        refused = status == FA_DOES_NOT_FIT && memory.events + 1 == steps->position;
        if (status == FA_CANCELLED || refused)
            status = FA_OK;
    }
    if (status == FA_OK && memory.events < steps->position && !refused)
        status = fa_fail(error, FA_BAD_ARGUMENT,
                         "position %" PRIu64 " of a run of %" PRIu64 " events", steps->position,
                         memory.events);
    if (status == FA_OK && steps->look)
        steps->look(steps->context, &memory);
    sim_memory_close(&memory);
    return status;
}

enum fa_status sim_experiment_replay(const struct sim_experiment *experiment, uint64_t position,
                                     void (*look)(void *context, struct sim_memory *memory),
                                     void *context, struct fa_error *error)
{
    const struct sim_replay_steps steps = {.position = position, .look = look, .context = context};
    struct sim_replay replay;
    enum fa_status status = sim_replay_open(experiment, &replay, error);
    if (status != FA_OK)
        return status;
    status = sim_replay_run(&replay, &steps, error);
    sim_replay_close(&replay);
    return status;
}
