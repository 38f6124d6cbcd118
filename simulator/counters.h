/*
 * What a run has moved and computed. Counters are a fold over executed loads, stores, computes and
 * skips: nothing else adds to them.
 */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H

#include "reference/port.h"
#include "reference/tile_cost.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_counters {
    uint64_t read[FA_HBM_TENSORS];  /* elements, HBM to SRAM */
    uint64_t write[FA_HBM_TENSORS]; /* elements, SRAM to HBM */
    struct fa_flops flops;
    uint64_t tiles_visited, tiles_masked, tiles_skipped;
    uint64_t sram_peak_bytes; /* the most that one worker had on chip at a time */
};

/* Adds `part`, executed `times` times: sums, and the greater of the peaks. The caller has made
 * sure by a closed form that nothing wraps. */
void sim_counters_add(struct sim_counters *counters, const struct sim_counters *part,
                      uint64_t times);

/* Counts the dropped P of `standard` as P: no table of tensors knows it apart. */
void sim_counters_merge_pd(struct sim_counters *counters);

struct sim_volume {
    uint64_t elements, bytes;
};

/* Bytes follow from the tensors' formats in HBM. */
struct sim_volume sim_counters_read(const struct sim_counters *counters,
                                    const struct fa_problem *problem, enum fa_tensor_id id);
struct sim_volume sim_counters_write(const struct sim_counters *counters,
                                     const struct fa_problem *problem, enum fa_tensor_id id);
struct sim_volume sim_counters_read_all(const struct sim_counters *counters,
                                        const struct fa_problem *problem);
struct sim_volume sim_counters_write_all(const struct sim_counters *counters,
                                         const struct fa_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
