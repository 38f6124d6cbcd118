#include "simulator/counters.h"

void sim_counters_add(struct sim_counters *counters, const struct sim_counters *part,
                      uint64_t times)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        counters->read[id] += times * part->read[id];
        counters->write[id] += times * part->write[id];
    }
    counters->flops.matmul += times * part->flops.matmul;
    counters->flops.exp += times * part->flops.exp;
    counters->flops.other += times * part->flops.other;
    counters->tiles_visited += times * part->tiles_visited;
    counters->tiles_masked += times * part->tiles_masked;
    counters->tiles_skipped += times * part->tiles_skipped;
    if (counters->sram_peak_bytes < part->sram_peak_bytes)
        counters->sram_peak_bytes = part->sram_peak_bytes;
}

void sim_counters_merge_pd(struct sim_counters *counters)
{
    counters->read[FA_P] += counters->read[FA_PD];
    counters->write[FA_P] += counters->write[FA_PD];
    counters->read[FA_PD] = counters->write[FA_PD] = 0;
}

static struct sim_volume volume(uint64_t elements, const struct fa_problem *problem,
                                enum fa_tensor_id id)
{
    return (struct sim_volume){elements, elements * fa_dtype_bytes(fa_hbm_format(problem, id))};
}

struct sim_volume sim_counters_read(const struct sim_counters *counters,
                                    const struct fa_problem *problem, enum fa_tensor_id id)
{
    return volume(counters->read[id], problem, id);
}

struct sim_volume sim_counters_write(const struct sim_counters *counters,
                                     const struct fa_problem *problem, enum fa_tensor_id id)
{
    return volume(counters->write[id], problem, id);
}

static struct sim_volume sum(const uint64_t elements[FA_HBM_TENSORS],
                             const struct fa_problem *problem)
{
    struct sim_volume all = {0, 0};
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        struct sim_volume one = volume(elements[id], problem, (enum fa_tensor_id)id);
        all.elements += one.elements;
        all.bytes += one.bytes;
    }
    return all;
}

struct sim_volume sim_counters_read_all(const struct sim_counters *counters,
                                        const struct fa_problem *problem)
{
    return sum(counters->read, problem);
}

struct sim_volume sim_counters_write_all(const struct sim_counters *counters,
                                         const struct fa_problem *problem)
{
    return sum(counters->write, problem);
}
