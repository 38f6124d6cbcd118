#include "simulator/experiment.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
                                   const struct sim_experiment *experiment,
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
        sim_memory_open(&workers->memories[w], run, experiment->mode,
                        experiment->lift_capacity ? 0 : experiment->machine.sram_bytes, trace);
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

/* Adds to a refusal what would help: what the pass needs in all, and tiles that fit. */
static void advise(const struct sim_experiment *experiment, const struct fa_tiles *tiles,
                   struct fa_error *error)
{
    static const struct sim_tile_choice square = {SIM_TILES_SQUARE, 0, 0};
    const struct fa_problem *problem = &experiment->problem;
    uint64_t capacity = experiment->machine.sram_bytes;
    struct fa_tiles fit;
    char refusal[sizeof error->text];

    if (!error || error->status != FA_DOES_NOT_FIT)
        return;
    memcpy(refusal, error->text, sizeof refusal);
    refusal[700] = '\0'; /* room for the advice */
    uint64_t needed = sim_live_bytes(experiment->algorithm, problem, tiles);
    if (sim_tiles_choose(&square, experiment->algorithm, problem, capacity, capacity, &fit, NULL) ==
        FA_OK)
        fa_fail(error, FA_DOES_NOT_FIT,
                "%s; %s with tiles of %" PRId64 "x%" PRId64 " needs %" PRIu64
                " bytes in all; the largest square tile that fits is %" PRId64 "x%" PRId64
                " (--tiles square), or give more with --sram",
                refusal, experiment->algorithm->name, tiles->br, tiles->bc, needed, fit.br, fit.bc);
    else
        fa_fail(error, FA_DOES_NOT_FIT,
                "%s; %s with tiles of %" PRId64 "x%" PRId64 " needs %" PRIu64
                " bytes in all; no tile fits: give more with --sram or a smaller --d",
                refusal, experiment->algorithm->name, tiles->br, tiles->bc, needed);
}

/* Everything that is known before the run. */
static enum fa_status plan(const struct sim_experiment *experiment, struct sim_result *result,
                           struct fa_error *error)
{
    const struct fa_problem *problem = &experiment->problem;
    uint64_t rule = experiment->machine.sram_bytes;
    struct sim_closed_form form;
    enum fa_status status = fa_problem_check(problem, error);

    if (status == FA_OK && rule == 0)
        status = fa_fail(error, FA_BAD_ARGUMENT, "an SRAM of 0 bytes: expected 1 or more");
    if (status == FA_OK)
        status = sim_tiles_choose(&experiment->tiles, experiment->algorithm, problem,
                                  experiment->lift_capacity ? 0 : rule, rule, &result->tiles,
                                  error);
    if (status == FA_OK)
        status = sim_closed_form(experiment->algorithm, problem, &result->tiles, &form, error);
    if (status == FA_OK)
        status = sim_footprint(experiment->algorithm, problem, &result->footprint, error);
    if (status != FA_OK)
        return status;
    result->algorithm = experiment->algorithm;
    result->problem = *problem;
    result->policy = experiment->tiles.policy;
    result->machine = experiment->machine;
    result->capacity_lifted = experiment->lift_capacity;
    result->tiles_total = form.tiles_total;
    return FA_OK;
}

static enum fa_status make_trace(const struct sim_experiment *experiment,
                                 const struct sim_result *result, struct sim_trace **trace,
                                 struct fa_error *error)
{
    struct sim_trace_header header = experiment->trace_header;
    header.algorithm = experiment->algorithm;
    header.problem = experiment->problem;
    header.has_mask = header.problem.mask != NULL;
    header.has_bias = header.problem.bias != NULL;
    header.problem.mask = header.problem.bias = NULL;
    header.tiles = result->tiles;
    header.sram_bytes = experiment->lift_capacity ? 0 : experiment->machine.sram_bytes;
    memcpy(header.machine, experiment->machine.name, sizeof header.machine);
    return sim_trace_create(&header, trace, error);
}

enum fa_status sim_experiment_run(const struct sim_experiment *experiment,
                                  struct sim_result *result, struct fa_error *error)
{
    struct fa_error local = {FA_OK, ""};
    struct sim_result made;
    struct fa_run run;
    struct workers workers;
    struct sim_trace *trace = NULL;
    bool data = experiment->mode != SIM_COUNT_ONLY;
    enum fa_status status;

    if (!error)
        error = &local;
    memset(&made, 0, sizeof made);
    status = plan(experiment, &made, error);
    if (status != FA_OK)
        return status;
    if (experiment->trace && experiment->mode != SIM_PLAIN) {
        status = make_trace(experiment, &made, &trace, error);
        if (status != FA_OK)
            return status;
    }
    status = fa_run_open(&run, experiment->algorithm, &experiment->problem, &made.tiles,
                         data ? experiment->q : NULL, data ? experiment->k : NULL,
                         data ? experiment->v : NULL, data ? experiment->o : NULL,
                         data ? experiment->lse : NULL, false, error);
    if (status != FA_OK) {
        sim_trace_free(trace);
        return status;
    }
    status = open_workers(&workers, trace ? 1 : experiment->threads, &run, experiment, trace,
                          error);
    if (status == FA_OK) {
        int64_t heads = experiment->problem.batch * experiment->problem.heads;
        /* Heads differ in nothing that is counted, so counting alone needs one of them. */
        made.heads_executed = !data && !trace && heads > 0 ? 1 : heads;
        double begin = now_seconds();
        status = fa_execute(experiment->algorithm, workers.ports, workers.n, made.heads_executed,
                            experiment->watch, error);
        made.seconds = now_seconds() - begin;
        sum_counters(&made, &workers,
                     made.heads_executed ? (uint64_t)(heads / made.heads_executed) : 1);
        close_workers(&workers);
    }
    if (status == FA_OK && data)
        fa_run_finish(&run, experiment->algorithm);
    fa_run_close(&run);
    if (status == FA_DOES_NOT_FIT)
        advise(experiment, &made.tiles, error);
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

double sim_error_factor(const struct sim_result *result)
{
    bool rounds = result->problem.dtype == FA_F16 || result->problem.dtype == FA_BF16;
    if (!rounds || result->problem.nk == 0)
        return 1;
    if (result->algorithm == &fa_standard && result->problem.bias)
        return 2; /* S is stored once before the bias and once after it */
    if (result->algorithm != &fa_flash1)
        return 1;
    return sqrt(ceil((double)result->problem.nk / (double)result->tiles.bc));
}

static void fill_nan(const struct fa_tensor *tensor)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    fa_tensor_set(tensor, b, h, r, c, NAN);
}

enum fa_status sim_experiment_replay(const struct sim_experiment *experiment, uint64_t position,
                                     void (*look)(void *context, struct sim_memory *memory),
                                     void *context, struct fa_error *error)
{
    struct sim_result planned;
    struct sim_memory memory;
    struct fa_port *port = &memory.port;
    struct fa_run run;
    enum fa_status status;

    assert(experiment->mode == SIM_COUNTED);
    memset(&planned, 0, sizeof planned);
    status = plan(experiment, &planned, error);
    if (status != FA_OK)
        return status;
    fill_nan(experiment->o);
    if (experiment->lse)
        fill_nan(experiment->lse);
    status = fa_run_open(&run, experiment->algorithm, &experiment->problem, &planned.tiles,
                         experiment->q, experiment->k, experiment->v, experiment->o,
                         experiment->lse, false, error);
    if (status != FA_OK)
        return status;
    sim_memory_open(&memory, &run, experiment->mode,
                    experiment->lift_capacity ? 0 : experiment->machine.sram_bytes, NULL);
    memory.stop_after = position;
    if (position > 0) {
        status = fa_execute(experiment->algorithm, &port, 1,
                            experiment->problem.batch * experiment->problem.heads, NULL, error);
        /* Stopping where it was asked to is what this is for. */
        if (status == FA_CANCELLED || (status == FA_DOES_NOT_FIT && memory.events == position))
            status = FA_OK;
    }
    if (status == FA_OK && memory.events < position)
        status = fa_fail(error, FA_BAD_ARGUMENT,
                         "position %" PRIu64 " of a run of %" PRIu64 " events", position,
                         memory.events);
    if (status == FA_OK)
        look(context, &memory);
    sim_memory_close(&memory);
    fa_run_close(&run);
    return status;
}
