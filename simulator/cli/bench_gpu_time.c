/* The measurement itself. */
#include "simulator/cli/bench_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define REST_SECONDS 0.2
#define BURST_MS 12.0
#define HOT_MS 150.0
enum { LAUNCHES_MOST = 20000 };

static enum fa_status launch(struct bench_gpu *bench, struct bench_gpu_entry *entry,
                             struct fa_error *error)
{
    struct gpu_options options = {.workspace = bench->workspace};
    struct gpu_forward forward;
    struct gpu_backward backward;
    if (!entry->rung)
        return gpu_ceiling_launch(entry->ceiling, (enum fa_dtype)bench->options->dtype,
                                  &bench->device, bench->scratch, &entry->work, error);
    bench_gpu_tensors(bench, entry->length, (int)(bench->turn++ % (unsigned)bench->n_sets),
                      &forward, &backward);
    if (bench->options->backward)
        return entry->rung->backward(&entry->length->problem, &backward, &options, error);
    return entry->rung->forward(&entry->length->problem, &forward, &options, error);
}

/* n launches between two events, in milliseconds a launch. */
static enum fa_status time_launches(struct bench_gpu *bench, struct bench_gpu_entry *entry, int n,
                                    double *ms, struct fa_error *error)
{
    struct gpu_timer timer = {0};
    enum fa_status status = gpu_timer_make(&timer, error);
    if (status == FA_OK)
        status = gpu_timer_start(&timer, error);
    for (int i = 0; i < n && status == FA_OK; i++)
        status = launch(bench, entry, error);
    if (status == FA_OK)
        status = gpu_timer_stop(&timer, ms, error);
    gpu_timer_free(&timer);
    *ms /= n;
    return status;
}

/* A pass needs the O and LSE of every set; then how many launches fill a measurement is found. */
static enum fa_status prepare(struct bench_gpu *bench, struct bench_gpu_entry *entry,
                              struct fa_error *error)
{
    struct gpu_options options = {.workspace = bench->workspace};
    struct gpu_forward forward;
    struct gpu_backward backward;
    struct fa_error said = {FA_OK, ""};
    double ms = 0, wanted = bench->options->hot ? HOT_MS : BURST_MS;
    enum fa_status status = FA_OK;
    for (int set = 0; entry->rung && set < bench->n_sets && status == FA_OK; set++) {
        bench_gpu_tensors(bench, entry->length, set, &forward, &backward);
        status = entry->rung->forward(&entry->length->problem, &forward, &options, error);
    }
    if (status != FA_OK)
        return status;
    status = launch(bench, entry, &said);
    if (!entry->rung && status == FA_UNSUPPORTED) {
        snprintf(entry->refused, sizeof entry->refused, "%.250s", said.text);
        return FA_OK;
    }
    if (status != FA_OK)
        return fa_fail(error, status, "%s", said.text);
    status = gpu_wait(error);
    if (status == FA_OK)
        status = time_launches(bench, entry, 3, &ms, error);
    double n = ceil(wanted / fmax(ms, 1e-4));
    entry->launches = n < 1 ? 1 : n > LAUNCHES_MOST ? LAUNCHES_MOST : (int)n;
    return status;
}

/* More launches under the same load, 8 or 4 ms of them, with the probe beside them: done within
 * three quarters of their time, though it may have to wait for the first to end. NAN where there is
 * no clock. */
static enum fa_status read_clock(struct bench_gpu *bench, struct bench_gpu_entry *entry, double ms,
                                 double *gigahertz, struct fa_error *error)
{
    const double wanted = fmax(8, ceil(4 / fmax(ms, 1e-3)));
    const int n = (int)fmin(wanted, entry->launches);
    struct fa_error said = {FA_OK, ""};
    *gigahertz = NAN;
    enum fa_status status = gpu_memory_fill(bench->clock, 0, BENCH_GPU_CLOCK_BYTES, error);
    if (status != FA_OK)
        return status;
    status = gpu_clock_start(bench->clock, fmin(0.25 * n * ms, 5), fmin(0.25 * n * ms, 5), &said);
    if (status == FA_UNSUPPORTED)
        return FA_OK;
    if (status != FA_OK)
        return fa_fail(error, status, "%s", said.text);
    for (int i = 0; i < n && status == FA_OK; i++)
        status = launch(bench, entry, error);
    return status == FA_OK ? gpu_clock_read(bench->clock, gigahertz, error) : status;
}

static enum fa_status measure(struct bench_gpu *bench, struct bench_gpu_entry *entry, int repeat,
                              struct fa_error *error)
{
    const struct timespec rest = {0, (long)(REST_SECONDS * 1e9)};
    enum fa_status status = FA_OK;
    if (!bench->options->hot)
        nanosleep(&rest, NULL); /* a Ctrl-C ends it, and the round */
    for (int i = 0; i < 2 && status == FA_OK; i++)
        status = launch(bench, entry, error);
    if (status == FA_OK)
        status = time_launches(bench, entry, entry->launches, &entry->ms[repeat], error);
    if (status == FA_OK)
        status = read_clock(bench, entry, entry->ms[repeat], &entry->ghz[repeat], error);
    return status;
}

/* ---- the rounds ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between two measured values where it falls between them. */
static double quantile(const double *sorted, int64_t n, double share)
{
    double at = share * (double)(n - 1);
    int64_t below = (int64_t)at, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static struct bench_spread spread_of(double *values, int64_t n)
{
    if (isnan(values[0]))
        return (struct bench_spread){NAN, NAN, NAN};
    qsort(values, (size_t)n, sizeof *values, by_size);
    return (struct bench_spread){quantile(values, n, 0.5), quantile(values, n, 0.25),
                                 quantile(values, n, 0.75)};
}

static void summarize(struct bench_gpu *bench)
{
    for (int e = 0; e < bench->n_entries; e++) {
        struct bench_gpu_entry *entry = &bench->entries[e];
        if (!bench_gpu_is_timed(entry))
            continue;
        entry->time = spread_of(entry->ms, bench->options->repeats);
        entry->clock = spread_of(entry->ghz, bench->options->repeats);
        entry->rate = entry->work / (entry->time.median * 1e-3);
    }
}

/* A fixed generator: the order is random, and the same in each run. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static enum fa_status run_round(struct bench_gpu *bench, int repeat, uint64_t *state,
                                struct fa_error *error)
{
    int order[BENCH_GPU_ENTRIES], n = 0;
    enum fa_status status = FA_OK;
    for (int e = 0; e < bench->n_entries; e++) {
        if (!bench_gpu_is_timed(&bench->entries[e]))
            continue;
        int place = (int)(next_random(state) % (uint32_t)(n + 1));
        order[n++] = order[place];
        order[place] = e;
    }
    for (int i = 0; i < n && status == FA_OK; i++) {
        status = measure(bench, &bench->entries[order[i]], repeat, error);
        bench->done++;
        if (status == FA_OK &&
            !bench->watch->tick(bench->watch->context, bench->done / bench->total))
            status = fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    }
    return status;
}

enum fa_status bench_gpu_time(struct bench_gpu *bench, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    uint64_t state = 1;
    for (int e = 0; e < bench->n_entries && status == FA_OK; e++)
        if (bench_gpu_is_timed(&bench->entries[e]))
            status = prepare(bench, &bench->entries[e], error);
    for (int repeat = 0; repeat < bench->options->repeats && status == FA_OK; repeat++)
        status = run_round(bench, repeat, &state, error);
    if (status == FA_OK)
        summarize(bench);
    return status;
}
