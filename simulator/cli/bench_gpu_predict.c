/* What a rung moves, by the count and by the hardware's counters; and how long it should take. */
#include "simulator/cli/bench_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "simulator/cli/counters_command.h"

double bench_gpu_rate(const struct bench_gpu *bench, enum gpu_ceiling which)
{
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (!entry->rung && entry->ceiling == which)
            return bench_gpu_is_timed(entry) ? entry->rate : NAN;
    }
    return NAN;
}

double bench_gpu_peak(const struct bench_gpu *bench)
{
    bool narrow = fa_dtype_bytes((enum fa_dtype)bench->options->dtype) == 2;
    return bench_gpu_rate(bench, narrow ? GPU_CEILING_MATRIX : GPU_CEILING_FMA);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The entry as `flashlab counters` would be asked for it. */
static void describe(const struct bench_gpu *bench, const struct bench_gpu_entry *entry,
                     struct counters *counters)
{
    const struct fa_problem *p = &entry->length->problem;
    counters->options = cli_problem_defaults;
    counters->options.base.command = cli_command_find("counters");
    counters->options.pass = bench->options->backward ? SIM_BACKWARD : SIM_FORWARD;
    counters->options.batch = p->batch;
    counters->options.heads = p->heads;
    counters->options.n = p->nq;
    counters->options.d = p->d;
    counters->options.causal = p->causal;
    counters->options.dtype = p->dtype;
    counters->rung_name = entry->rung->name;
}

static void take_counted(const struct counters_pass *pass, struct bench_gpu_bytes *bytes)
{
    bytes->dq_is_owned = pass->backward && pass->tiles.dq_br > 0;
    for (int k = 0; k < pass->n; k++) {
        const struct sim_walked_kernel *kernel = &pass->kernel[k].counted;
        bytes->read += (double)kernel->read_bytes;
        bytes->write += (double)kernel->write_bytes;
        bytes->memory += (double)(kernel->read_once_bytes + kernel->write_once_bytes);
    }
}

static double measured_of(const struct counters_row *row)
{
    return row->measured_too ? (double)row->measured : NAN;
}

static enum fa_status find_bytes(const struct bench_gpu *bench, struct bench_gpu_entry *entry,
                                 struct fa_error *error)
{
    struct counters *counters = calloc(1, sizeof *counters);
    if (!counters)
        return fa_fail(error, FA_NO_MEMORY, "no memory to count bytes");
    describe(bench, entry, counters);
    entry->bytes = (struct bench_gpu_bytes){.measured_read = NAN, .measured_write = NAN};
    enum fa_status status = counters_count(counters, error);
    if (status == FA_OK)
        take_counted(&counters->pass[0], &entry->bytes);
    if (status == FA_OK && bench->options->ncu)
        status = counters_profile(counters, error);
    if (status == FA_OK && bench->options->ncu)
        status = counters_match(counters, error);
    if (status == FA_OK && bench->options->ncu) {
        entry->bytes.measured_read = measured_of(&counters->pass[0].total[COUNTER_READ]);
        entry->bytes.measured_write = measured_of(&counters->pass[0].total[COUNTER_WRITE]);
    }
    ncu_csv_free(&counters->csv);
    free(counters);
    return status;
}

enum fa_status bench_gpu_find_bytes(struct bench_gpu *bench, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int e = 0; e < bench->n_entries && status == FA_OK; e++) {
        struct bench_gpu_entry *entry = &bench->entries[e];
        if (!entry->rung || !bench_gpu_is_timed(entry))
            continue;
        status = find_bytes(bench, entry, error);
        /* A Ctrl-C ends the profiler too, which is then no failure of its. */
        if (!bench->watch->tick(bench->watch->context, bench->done / bench->total))
            status = fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    }
    return status;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* A rung that takes f32 does its products on the CUDA cores, whose format it is. */
static bool is_on_cuda_cores(const struct gpu_rung *rung)
{
    struct fa_problem p = fa_problem_make(64, 64, 64);
    int64_t bytes = 0;
    return rung->workspace_bytes(&p, false, &bytes, NULL) == FA_OK;
}

static void add_part(struct bench_gpu_entry *entry, const char *name, double work, double rate)
{
    double ms = work / rate * 1e3;
    if (ms > entry->predicted_ms) { /* a ceiling that was not measured bounds nothing */
        entry->predicted_ms = ms;
        entry->bound_by = name;
    }
}

void bench_gpu_predict(struct bench_gpu *bench)
{
    const bool backward = bench->options->backward;
    for (int e = 0; e < bench->n_entries; e++) {
        struct bench_gpu_entry *entry = &bench->entries[e];
        const struct bench_gpu_bytes *bytes = &entry->bytes;
        if (!entry->rung || !bench_gpu_is_timed(entry))
            continue;
        const enum gpu_ceiling cores =
            is_on_cuda_cores(entry->rung) ? GPU_CEILING_FMA : GPU_CEILING_MATRIX;
        /* Where dQ has an owner, S, P and dP are formed twice: seven products and not five. */
        const double products = bytes->dq_is_owned ? 1.4 : 1, powers = bytes->dq_is_owned ? 2 : 1;
        const double pairs = entry->work / (backward ? 10 : 4) / (double)bench->options->d;
        entry->bound_by = "";
        add_part(entry, "products", entry->work * products, bench_gpu_rate(bench, cores));
        add_part(entry, "exp", pairs * powers, bench_gpu_rate(bench, GPU_CEILING_EXP));
        add_part(entry, "l2", bytes->read + bytes->write, bench_gpu_rate(bench, GPU_CEILING_L2));
        add_part(entry, "memory", bytes->memory, bench_gpu_rate(bench, GPU_CEILING_COPY));
    }
}
