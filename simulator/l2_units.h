/*
 * What the units of an algorithm load and store, as sectors that an L2 can hold.
 *
 * Units are plain functions that run to their end: the loads and stores of one are recorded
 * from its own execution, on a port without data, and played back when a block of threads takes
 * its turn. Heads differ in nothing that is counted, so a record serves every head.
 *
 * A sector is a rectangle of one head's matrix. Each axis of a tensor is cut wherever a tile of
 * some load or store of the pass begins or ends; a tile is then a whole number of sectors, whatever
 * the steps cut it into, and its bytes are counted exactly.
 */
#ifndef SIM_L2_UNITS_H
#define SIM_L2_UNITS_H

#include "simulator/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One load or store: the sectors [row, row_end) x [column, column_end) of one head's matrix. */
struct sim_l2_event {
    uint32_t row, row_end, column, column_end;
    uint32_t head;  /* counted from the first head of the unit */
    uint16_t tensor;
    uint16_t store; /* 0 or 1 */
};

struct sim_l2_axis {
    int64_t length;
    uint32_t *cell; /* [length + 1]: the sector that begins at a place where the axis is cut */
    int64_t *at;    /* [cells + 1]: where sectors begin, and the end */
    uint32_t cells;
};

/* The sectors of a run's tensors. Keys are unique over tensors and heads. */
struct sim_l2_grid {
    const struct fa_run *run;
    struct sim_l2_axis rows[FA_HBM_TENSORS], columns[FA_HBM_TENSORS];
    uint64_t first_key[FA_HBM_TENSORS], element_bytes[FA_HBM_TENSORS];
    uint64_t group_accesses; /* sector accesses of the heads of one K/V head, over the pass */
    uint64_t group_bytes;    /* of the sectors of the heads of one K/V head, read or written */
};

/* The loads and stores of one unit. */
struct sim_l2_unit {
    struct sim_l2_event *event;
    size_t n, capacity;
};

/*
 * Cuts the tensors of kernels->run[run] by executing the units of its kernels for one head (where
 * they are of a group, for one group). At most `most` loads and stores are looked at.
 * Errors: FA_TOO_LARGE, FA_NO_MEMORY.
 */
enum fa_status sim_l2_grid_open(struct sim_l2_grid *grid, const struct sim_kernels *kernels,
                                int run, uint64_t most, struct fa_error *error);
void sim_l2_grid_close(struct sim_l2_grid *grid);

/* The key of the sector (0, 0) of the matrix of `tensor` that query head `head` (over the batch)
 * reaches; sector (r, c) is at + r * columns[tensor].cells + c. */
uint64_t sim_l2_grid_key(const struct sim_l2_grid *grid, int tensor, int64_t head);

/* Records a unit of the kernel; `most` as above. Free unit->event. */
enum fa_status sim_l2_unit_record(struct sim_l2_unit *unit, const struct sim_l2_grid *grid,
                                  const struct sim_kernel *kernel, int64_t index, uint64_t most,
                                  struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
