#include "simulator/kernel_walk.h"

#include <inttypes.h>
#include <string.h>

#include "reference/algorithm.h"
#include "reference/visibility.h"
#include "simulator/kernel_loops.h"
#include "simulator/memory.h"

#define MOST_TILES (INT64_C(1) << 34)
#define MOST_COUNT 4.6e18 /* 2^62 */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum sim_walk sim_walk_of(const char *rung, bool backward)
{
    if (backward && strcmp(rung, "ws") == 0)
        return SIM_WALK_WS_BACKWARD;
    if (backward)
        return strcmp(rung, "flash2") == 0 ? SIM_WALK_BACKWARD : SIM_WALK_MMA_BACKWARD;
    if (strcmp(rung, "wgmma") == 0 || strcmp(rung, "ws") == 0)
        return SIM_WALK_COPY_ENGINE;
    if (strcmp(rung, "standard") == 0)
        return SIM_WALK_STANDARD;
    return strcmp(rung, "flash1") == 0 ? SIM_WALK_FLASH1 : SIM_WALK_FLASH2;
}

/* Elements of the whole tensor. */
static uint64_t size_of(const struct fa_problem *p, enum fa_tensor_id id)
{
    uint64_t heads = (uint64_t)p->batch * (uint64_t)p->heads, nq = (uint64_t)p->nq;
    uint64_t keys_all = (uint64_t)p->batch * (uint64_t)p->kv_heads * (uint64_t)p->nk;
    switch (id) {
    case FA_Q:
    case FA_DQ:
        return heads * nq * (uint64_t)p->d;
    case FA_K:
    case FA_DK:
        return keys_all * (uint64_t)p->d;
    case FA_V:
    case FA_DV:
        return keys_all * (uint64_t)p->dv;
    case FA_O:
    case FA_DO:
        return heads * nq * (uint64_t)p->dv;
    case FA_LSE:
    case FA_L:
    case FA_M:
    case FA_DELTA:
        return heads * nq;
    default:
        return heads * nq * (uint64_t)p->nk;
    }
}

/* Bytes of elements of a tensor; a sum of dQ in f32 has 4 for each. */
static uint64_t bytes_of(const struct fa_problem *problem, enum fa_tensor_id id, bool wide_dq,
                         uint64_t elements)
{
    enum fa_dtype format = fa_hbm_format(problem, id);
    if (id == FA_DQ && wide_dq)
        format = FA_F32;
    return elements * fa_dtype_bytes(format);
}

static void add_bytes(struct sim_walked_kernel *kernel, const struct fa_problem *problem,
                      const struct sim_kernel_loops *loops)
{
    bool wide_read = loops->dq_read_wide, wide_write = loops->dq_written_wide;
    kernel->read_bytes = kernel->write_bytes = 0;
    kernel->read_once_bytes = kernel->write_once_bytes = 0;
    for (int t = 0; t < FA_HBM_TENSORS; t++) {
        enum fa_tensor_id id = (enum fa_tensor_id)t;
        uint64_t read = kernel->counters.read[t], write = kernel->counters.write[t];
        uint64_t all = size_of(problem, id);
        kernel->read_bytes += bytes_of(problem, id, wide_read, read);
        kernel->write_bytes += bytes_of(problem, id, wide_write, write);
        if (!loops->rereads || write == 0)
            kernel->read_once_bytes += bytes_of(problem, id, wide_read, read < all ? read : all);
        kernel->write_once_bytes += bytes_of(problem, id, wide_write, write < all ? write : all);
    }
}

void sim_walked_bytes(struct sim_walked_kernel *kernel, const struct fa_problem *problem)
{
    static const struct sim_kernel_loops plain;
    add_bytes(kernel, problem, &plain);
}

static enum fa_status check(const struct fa_problem *p, const struct sim_walk_tiles *tiles,
                            bool backward, struct fa_error *error)
{
    enum fa_status status = fa_problem_check(p, error);
    if (status != FA_OK)
        return status;
    if (p->mask || p->bias || p->blocks || p->dropout_keep)
        return fa_fail(error, FA_UNSUPPORTED,
                       "the kernels are counted without element mask, bias, block mask and given "
                       "keep mask");
    if (tiles->parts < 1 || tiles->parts > 2)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%" PRId64 " blocks share a tile of keys: expected 1 or 2", tiles->parts);
    bool two = backward && tiles->dq_br > 0;
    if (tiles->br < 1 || tiles->bc < 1 || (two && tiles->dq_bc < 1))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "tiles of %" PRId64 "x%" PRId64 ": expected 1 or more", tiles->br,
                       tiles->bc);
    int64_t br = two ? least(tiles->br, tiles->dq_br) : tiles->br;
    int64_t bc = two ? least(tiles->bc, tiles->dq_bc) : tiles->bc;
    double rows = (double)fa_tile_count(p->nq, br), columns = (double)fa_tile_count(p->nk, bc);
    double most = ((rows + 2) * (double)p->nk + (columns + 2) * (double)p->nq +
                   (double)p->nq * (double)p->nk) *
                  ((double)p->d + (double)p->dv + 8) * 16;
    if (rows * columns > (double)MOST_TILES)
        return fa_fail(error, FA_TOO_LARGE, "%.3g tiles of a head: expected 2^34 at most",
                       rows * columns);
    if (most * (double)p->batch * (double)p->heads > MOST_COUNT)
        return fa_fail(error, FA_TOO_LARGE, "a count of bytes would pass 2^62");
    return FA_OK;
}

/* The tensors that are moved by whole boxes get the rows that their last tile lacks. */
static void make_whole(struct fa_run *run, unsigned whole)
{
    for (int t = 0; t < FA_HBM_TENSORS; t++) {
        int64_t side = t == FA_K || t == FA_V ? run->tiles.bc : run->tiles.br;
        int64_t *rows = &run->tensor[t].shape[2];
        if (whole & 1u << t)
            *rows = fa_tile_count(*rows, side) * side;
    }
}

/* Heads differ in nothing that is counted, so one of them, or one group, stands for all. */
static enum fa_status walk_kernel(const struct sim_kernel_loops *kernel, const struct fa_run *run,
                                  const struct sim_walk_tiles *tiles,
                                  struct sim_walked_kernel *walked, struct fa_error *error)
{
    struct fa_run own = *run;
    const struct fa_problem *p = &own.problem;
    struct sim_memory memory;
    int64_t times = p->batch * (kernel->by_group ? p->kv_heads : p->heads);
    own.tiles.br = kernel->takes_dq_tiles ? tiles->dq_br : tiles->br;
    own.tiles.bc = kernel->takes_dq_tiles ? tiles->dq_bc : tiles->bc;
    make_whole(&own, kernel->whole);
    sim_memory_open(&memory, &own, SIM_COUNT_ONLY, 0, NULL);
    if (times > 0)
        kernel->loops(&memory.port);
    enum fa_status status = memory.port.status;
    if (status != FA_OK && error)
        *error = memory.port.error;
    walked->name = kernel->name;
    const struct sim_counters counted = sim_memory_counters(&memory);
    sim_counters_add(&walked->counters, &counted, (uint64_t)times);
    add_bytes(walked, p, kernel);
    sim_memory_close(&memory);
    return status;
}

static enum fa_status open_runs(enum sim_walk which, const struct fa_problem *problem,
                                const struct fa_tiles *tiles, struct fa_run *forward,
                                struct fa_run *backward, struct fa_error *error)
{
    const struct fa_algorithm *algorithm = which == SIM_WALK_STANDARD ? &fa_standard
                                           : which == SIM_WALK_FLASH1 ? &fa_flash1
                                                                      : &fa_flash2;
    enum fa_status status =
        fa_run_open(forward, algorithm, problem, tiles, NULL, NULL, NULL, NULL, NULL, true, error);
    if (status != FA_OK || which < SIM_WALK_BACKWARD)
        return status;
    status = fa_run_open_backward(backward, &fa_flash2_backward, forward, tiles, NULL, NULL, NULL,
                                  NULL, error);
    if (status != FA_OK)
        fa_run_close(forward);
    return status;
}

enum fa_status sim_kernel_walk(enum sim_walk which, const struct fa_problem *problem,
                               const struct sim_walk_tiles *tiles, struct sim_kernel_walk *walk,
                               struct fa_error *error)
{
    const struct sim_kernel_loops *kernels =
        sim_kernel_loops_of(which, tiles->dq_br > 0, tiles->parts == 2);
    bool backward = which >= SIM_WALK_BACKWARD;
    struct sim_kernel_walk made = {.n = backward || which == SIM_WALK_STANDARD ? 3 : 1};
    struct fa_run run[2];
    enum fa_status status = check(problem, tiles, backward, error);
    if (status != FA_OK)
        return status;
    const struct fa_tiles sides = {tiles->br, tiles->bc, 1, problem->nk > 0 ? problem->nk : 1};
    status = open_runs(which, problem, &sides, &run[0], &run[1], error);
    if (status != FA_OK)
        return status;
    for (int k = 0; k < made.n && status == FA_OK; k++)
        status = walk_kernel(&kernels[k], &run[backward], tiles, &made.kernel[k], error);
    if (backward)
        fa_run_close(&run[1]);
    fa_run_close(&run[0]);
    if (status == FA_OK)
        *walk = made;
    return status;
}
