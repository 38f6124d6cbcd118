/*
 * The machine's own speed: a counted tile, a traced event, and the memory that a long run takes.
 */
#include "simulator/cli/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reference/profile.h"
#include "simulator/experiment.h"

static const int64_t MILLION = 1000000;

/* Work that runs in a process of its own, whose peak memory is then its own too. */
typedef enum fa_status work(double *seconds, double *units, struct fa_error *error);

struct outcome {
    enum fa_status status;
    struct fa_error error;
    double seconds, units;
};

static enum fa_status run_apart(work *work_to_do, struct outcome *outcome, double *megabytes,
                                struct fa_error *error)
{
    int ends[2];
    struct rusage usage;
    int exit_status;
    if (pipe(ends) != 0)
        return fa_fail(error, FA_IO, "a pipe could not be made: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return fa_fail(error, FA_IO, "a process could not be started: %s", strerror(errno));
    if (child == 0) {
        struct outcome made;
        memset(&made, 0, sizeof made);
        made.status = work_to_do(&made.seconds, &made.units, &made.error);
        ssize_t written = write(ends[1], &made, sizeof made);
        _exit(written == (ssize_t)sizeof made ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], outcome, sizeof *outcome);
    close(ends[0]);
    if (wait4(child, &exit_status, 0, &usage) != child || got != (ssize_t)sizeof *outcome)
        return fa_fail(error, FA_CANCELLED, "the measuring process was ended from outside");
    if (outcome->status != FA_OK) {
        if (error)
            *error = outcome->error;
        return outcome->status;
    }
    *megabytes = (double)usage.ru_maxrss / 1024; /* kilobytes, on Linux */
    return FA_OK;
}

static enum fa_status count_a_million(double *seconds, double *units, struct fa_error *error)
{
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(1 << 20, 1 << 20, 64),
        .tiles = {SIM_TILES_GIVEN, 64, 64},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    experiment.problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    experiment.machine.sram_bytes = 196608;
    enum fa_status status = sim_experiment_run(&experiment, &result, error);
    if (status != FA_OK)
        return status;
    *seconds = result.seconds;
    *units = (double)result.counters.tiles_visited;
    return FA_OK;
}

static enum fa_status run_long(double *seconds, double *units, struct fa_error *error)
{
    const int64_t n = 65536, d = 64, shape[4] = {1, 1, n, d};
    struct fa_tensor tensors[4];
    struct sim_result result;
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(n, n, d),
        .tiles = {SIM_TILES_GIVEN, 128, 64},
        .mode = SIM_COUNTED,
        .threads = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .q = &tensors[0],
        .k = &tensors[1],
        .v = &tensors[2],
        .o = &tensors[3],
    };
    enum fa_status status = FA_OK;
    int made = 0;
    for (; made < 4 && status == FA_OK; made++)
        status = fa_tensor_create(&tensors[made], FA_F32, shape, error);
    if (status != FA_OK)
        goto done;
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &experiment.problem, &tensors[0], &tensors[1],
                    &tensors[2]);
    experiment.machine.sram_bytes = 196608;
    status = sim_experiment_run(&experiment, &result, error);
    if (status == FA_OK) {
        *seconds = result.seconds;
        *units = 1;
    }
done:
    for (int t = 0; t < made; t++)
        fa_tensor_free(&tensors[t]);
    return status;
}

enum fa_status bench_count(struct bench *bench, struct fa_error *error)
{
    static const char setting[] = "N 1048576, d 64, causal, 64x64, 1 thread";
    double per_tile[BENCH_ROUNDS], megabytes[BENCH_ROUNDS];
    for (int round = 0; round < bench->rounds; round++) {
        struct outcome outcome;
        enum fa_status status =
            run_apart(count_a_million, &outcome, &megabytes[round], error);
        if (status != FA_OK)
            return status;
        per_tile[round] = 1e9 * outcome.seconds / outcome.units;
        if (!bench_tick(bench))
            return fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    }
    bench_add(bench, "count", "flash2 count only", setting, "ns/tile", per_tile, NULL, NULL);
    bench_add(bench, "count", "peak memory", setting, "MB", megabytes, NULL, NULL);
    return FA_OK;
}

enum fa_status bench_memory(struct bench *bench, struct fa_error *error)
{
    static const char setting[] = "N 65536, d 64, f32, all threads";
    double seconds, megabytes;
    struct outcome outcome;
    int rounds = bench->rounds;
    enum fa_status status = run_apart(run_long, &outcome, &megabytes, error);
    if (status != FA_OK)
        return status;
    seconds = outcome.seconds;
    bench->rounds = 1; /* a run takes seconds, and its memory does not vary */
    bench_add(bench, "memory", "flash2 counted", setting, "s", &seconds, NULL, NULL);
    bench_add(bench, "memory", "peak memory", setting, "MB", &megabytes, NULL, NULL);
    bench->rounds = rounds;
    if (!bench_tick(bench))
        return fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    return FA_OK;
}

enum fa_status bench_make_trace(struct sim_trace **trace, struct fa_error *error)
{
    struct sim_result result;
    struct sim_experiment experiment = {
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(1 << 13, 1 << 13, 16),
        .tiles = {SIM_TILES_GIVEN, 16, 20},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
        .trace = trace,
    };
    experiment.machine.sram_bytes = 196608;
    return sim_experiment_run(&experiment, &result, error);
}

/* Copies the events into a trace of its own, which is all that is timed. */
static enum fa_status time_append(const struct sim_trace *trace, double *seconds,
                                  struct fa_error *error)
{
    struct sim_trace *copy;
    uint64_t n = sim_trace_length(trace);
    enum fa_status status = sim_trace_create(sim_trace_get_header(trace), &copy, error);
    if (status != FA_OK)
        return status;
    double begin = bench_clock();
    for (uint64_t e = 0; e < n; e++)
        if (!sim_trace_append(copy, sim_trace_event(trace, e))) {
            status = fa_fail(error, FA_NO_MEMORY, "no memory for %" PRIu64 " events", n);
            break;
        }
    *seconds = bench_clock() - begin;
    sim_trace_free(copy);
    return status;
}

static enum fa_status time_load(const char *path, double *seconds, struct fa_error *error)
{
    struct sim_trace *loaded;
    double begin = bench_clock();
    enum fa_status status = sim_trace_load(path, &loaded, error);
    *seconds = bench_clock() - begin;
    if (status == FA_OK)
        sim_trace_free(loaded);
    return status;
}

/* The slowest of a thousand jumps through the whole trace, in milliseconds. */
static double slowest_seek(const struct sim_trace *trace)
{
    struct sim_state state;
    uint64_t n = sim_trace_length(trace);
    double slowest = 0;
    for (uint64_t jump = 0; jump < 1000; jump++) {
        double begin = bench_clock();
        sim_trace_seek(trace, (jump * UINT64_C(2654435761)) % (n + 1), &state);
        double seconds = bench_clock() - begin;
        slowest = seconds > slowest ? seconds : slowest;
    }
    return 1e3 * slowest;
}

enum fa_status bench_trace(struct bench *bench, struct fa_error *error)
{
    double append[BENCH_ROUNDS], load[BENCH_ROUNDS], seek[BENCH_ROUNDS];
    struct sim_trace *trace = NULL;
    char path[] = "flashlab-bench-XXXXXX", setting[64];
    int file = -1;
    enum fa_status status = bench_make_trace(&trace, error);

    if (status != FA_OK)
        return status;
    double millions = (double)sim_trace_length(trace) / (double)MILLION;
    snprintf(setting, sizeof setting, "%.2f million events", millions);
    file = mkstemp(path);
    if (file < 0) {
        status = fa_fail(error, FA_IO, "%s: no file could be made here: %s", path,
                         strerror(errno));
        goto done;
    }
    status = sim_trace_save(trace, path, error);
    for (int round = 0; round < bench->rounds && status == FA_OK; round++) {
        double seconds = 0;
        status = time_append(trace, &seconds, error);
        append[round] = millions / seconds;
        if (status == FA_OK)
            status = time_load(path, &seconds, error);
        load[round] = seconds / millions;
        seek[round] = slowest_seek(trace);
        if (status == FA_OK && !bench_tick(bench))
            status = fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    }
    if (status == FA_OK) {
        bench_add(bench, "trace", "append", setting, "million/s", append, NULL, NULL);
        bench_add(bench, "trace", "load a million", setting, "s", load, NULL, NULL);
        bench_add(bench, "trace", "slowest of 1000 seeks", setting, "ms", seek, NULL, NULL);
    }
done:
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    sim_trace_free(trace);
    return status;
}
