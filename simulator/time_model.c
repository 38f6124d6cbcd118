#include "simulator/time_model.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

const char *sim_time_part_name(enum sim_time_part part)
{
    static const char *const names[SIM_TIME_PARTS] = {"hbm", "matmul", "exp", "other", "launch"};
    return names[part];
}

struct sim_waves sim_waves(uint64_t blocks, uint64_t sms, uint64_t blocks_per_sm)
{
    struct sim_waves waves = {0, 1, blocks < sms ? blocks : sms};
    if (blocks > 0) {
        waves.waves = (double)blocks / ((double)sms * (double)blocks_per_sm);
        waves.efficiency = waves.waves / ceil(waves.waves);
    }
    return waves;
}

double sim_amdahl_speedup(double share, double attention_speedup)
{
    if (!(share >= 0 && share <= 1 && attention_speedup > 0))
        return NAN;
    return 1 / ((1 - share) + share / attention_speedup);
}

double sim_amdahl_share(double model_speedup, double attention_speedup)
{
    if (!(model_speedup >= 1 && attention_speedup > 1))
        return NAN;
    return (1 - 1 / model_speedup) / (1 - 1 / attention_speedup);
}

static bool is_half(const struct fa_problem *problem)
{
    return problem->dtype == FA_F16 || problem->dtype == FA_BF16;
}

/* Refuses what has no rate. */
static enum fa_status check_rates(const struct sim_result *result, struct fa_error *error)
{
    const struct sim_machine *machine = &result->machine;
    const struct {
        const char *key;
        double rate;
    } needed[] = {
        {"hbm_bytes_per_second", machine->hbm_bytes_per_second},
        {"f32_flops_per_second", machine->f32_flops_per_second},
        {"exp_per_second", machine->exp_per_second},
        {"f16_flops_per_second", is_half(&result->problem) ? machine->f16_flops_per_second : 1},
    };

    if (!is_half(&result->problem) && result->problem.dtype != FA_F32)
        return fa_fail(error, FA_UNSUPPORTED,
                       "no rate of %s is known: the time model takes f32, f16 and bf16",
                       fa_dtype_name(result->problem.dtype));
    for (size_t n = 0; n < sizeof needed / sizeof *needed; n++)
        if (!(needed[n].rate > 0))
            return fa_fail(error, FA_UNSUPPORTED,
                           "%s: \"%s\" is not known: take a machine that states it",
                           machine->name, needed[n].key);
    return FA_OK;
}

/* What one kernel counts over all heads. */
static enum fa_status count_kernel(const struct sim_kernels *kernels,
                                   const struct sim_kernel *kernel,
                                   const struct sim_result *result, struct sim_counters *counters,
                                   struct fa_error *error)
{
    struct sim_memory memory;
    struct fa_port *port = &memory.port;
    uint64_t heads = (uint64_t)kernels->groups * (uint64_t)kernel->group_heads;

    sim_memory_open(&memory, &kernels->run[kernel->run], SIM_COUNT_ONLY,
                    result->capacity_lifted ? 0 : result->machine.sram_bytes, NULL);
    for (int64_t u = 0; u < kernel->units && port->status == FA_OK; u++)
        kernel->algorithm->unit(port, kernel->phase, 0, u);
    enum fa_status status = port->status;
    if (status == FA_OK) {
        struct sim_counters head = sim_memory_counters(&memory);
        memset(counters, 0, sizeof *counters);
        sim_counters_add(counters, &head, heads);
    } else if (error) {
        *error = port->error;
    }
    sim_memory_close(&memory);
    return status;
}

/* Times of one kernel from its counts and the bytes that reach HBM. */
static void time_kernel(struct sim_time_kernel *of, const struct sim_result *result,
                        const struct fa_flops *flops, double hbm_bytes)
{
    const struct sim_machine *machine = &result->machine;
    bool half = is_half(&result->problem);
    double rate = half ? machine->f16_flops_per_second : machine->f32_flops_per_second;
    double efficiency = of->waves.efficiency, *seconds = of->seconds, longest = 0, sum = 0;

    seconds[SIM_TIME_HBM] = hbm_bytes / machine->hbm_bytes_per_second;
    seconds[SIM_TIME_MATMUL] = (double)flops->matmul / rate / efficiency;
    seconds[SIM_TIME_EXP] = (double)flops->exp / machine->exp_per_second / efficiency;
    seconds[SIM_TIME_OTHER] = 2 * (double)flops->other / machine->f32_flops_per_second / efficiency;
    seconds[SIM_TIME_LAUNCH] = SIM_LAUNCH_SECONDS;

    of->bound_by = SIM_TIME_LAUNCH;
    for (int part = SIM_TIME_HBM; part < SIM_TIME_LAUNCH; part++) {
        double alone = seconds[part];
        if (!half && part == SIM_TIME_MATMUL) /* the same cores do both */
            alone += seconds[SIM_TIME_OTHER];
        longest = longest < alone ? alone : longest;
        sum += seconds[part];
        if (alone == longest && alone > SIM_LAUNCH_SECONDS)
            of->bound_by = (enum sim_time_part)part;
    }
    of->with_overlap = longest + SIM_LAUNCH_SECONDS;
    of->without_overlap = sum + SIM_LAUNCH_SECONDS;
}

/* The whole from its kernels. */
static void sum_kernels(struct sim_time *time)
{
    double by_part[SIM_TIME_PARTS] = {0}, longest = -1;

    time->bound_by = SIM_TIME_LAUNCH;
    time->waves = sim_waves(0, 1, 1);
    for (int k = 0; k < time->n_kernels; k++) {
        const struct sim_time_kernel *kernel = &time->kernel[k];
        time->estimate_us += 1e6 * kernel->with_overlap;
        time->without_overlap_us += 1e6 * kernel->without_overlap;
        by_part[kernel->bound_by] += kernel->with_overlap;
        if (kernel->with_overlap > longest) {
            longest = kernel->with_overlap;
            time->waves = kernel->waves;
        }
    }
    for (int part = 0; part < SIM_TIME_PARTS; part++)
        if (by_part[part] > by_part[time->bound_by])
            time->bound_by = (enum sim_time_part)part;
}

enum fa_status sim_time_estimate(const struct sim_result *result, const struct sim_l2 *l2,
                                 bool fill, struct sim_time *time, struct fa_error *error)
{
    struct sim_kernels kernels;
    struct sim_time made = {.from_l2 = l2 != NULL};
    enum fa_status status = check_rates(result, error);

    if (status == FA_OK)
        status = sim_kernels_open(&kernels, result, fill, error);
    if (status != FA_OK)
        return status;
    if (l2 && l2->n_kernels != kernels.n)
        status = fa_fail(error, FA_BAD_ARGUMENT, "the L2 figures are of %d kernels, expected %d",
                         l2->n_kernels, kernels.n);
    for (int k = 0; k < kernels.n && status == FA_OK; k++) {
        const struct sim_kernel *kernel = &kernels.kernel[k];
        struct sim_time_kernel *of = &made.kernel[made.n_kernels++];
        struct sim_counters counters;
        status = count_kernel(&kernels, kernel, result, &counters, error);
        if (status != FA_OK)
            break;
        of->name = kernel->algorithm->phases[kernel->phase];
        of->backward = kernel->run == 1;
        of->blocks = kernel->blocks;
        of->blocks_per_sm = kernel->blocks_per_sm;
        of->waves = sim_waves(kernel->blocks, result->machine.sms, kernel->blocks_per_sm);
        const struct fa_problem *problem = &result->problem;
        double bytes = l2 ? (double)l2->kernel[k].dram_read_bytes +
                                (double)l2->kernel[k].dram_write_bytes
                          : (double)sim_counters_read_all(&counters, problem).bytes +
                                (double)sim_counters_write_all(&counters, problem).bytes;
        time_kernel(of, result, &counters.flops, bytes);
    }
    sim_kernels_close(&kernels);
    if (status != FA_OK)
        return status;
    sum_kernels(&made);
    *time = made;
    return FA_OK;
}

static json_t *kernels_json(const struct sim_time *time)
{
    json_t *list = json_array();
    for (int k = 0; list && k < time->n_kernels; k++) {
        const struct sim_time_kernel *kernel = &time->kernel[k];
        json_t *one = json_pack("{s:s,s:s,s:f,s:s}", "name", kernel->name, "pass",
                                kernel->backward ? "backward" : "forward", "estimate_us",
                                1e6 * kernel->with_overlap, "bound_by",
                                sim_time_part_name(kernel->bound_by));
        if (json_array_append_new(list, one) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *sim_time_to_json(const struct sim_time *time)
{
    return json_pack("{s:f,s:f,s:s,s:s,s:f,s:f,s:I,s:o}", "estimate_us", time->estimate_us,
                     "without_overlap_us", time->without_overlap_us, "bound_by",
                     sim_time_part_name(time->bound_by), "hbm_from",
                     time->from_l2 ? "l2" : "count", "waves", time->waves.waves, "efficiency",
                     time->waves.efficiency, "sms_lit", (json_int_t)time->waves.sms_lit, "kernels",
                     kernels_json(time));
}
