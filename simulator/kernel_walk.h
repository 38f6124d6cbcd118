/*
 * What the kernels of the CUDA rungs move, counted as everything is: by executing their loops over
 * tiles through the memory port, without arithmetic. Where a kernel's loops are an algorithm's
 * (Q outside, forward) that algorithm is executed; the others are written down here once more, as
 * loads and stores alone.
 *
 * Counted is what crosses between L2 and the multiprocessors, each head by itself. Sizes are true,
 * but the copy engine's: of its boxes the rows that the tensor lacks cross as zeros, and the
 * counters of a GPU count them.
 * Statistics that a block asks for again while it holds their row tile (LSE and delta in the kernel
 * that owns dQ) count once.
 * Units: elements in the counters, bytes where the name says so; all heads of the batch.
 */
#ifndef SIM_KERNEL_WALK_H
#define SIM_KERNEL_WALK_H

#include "simulator/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_walk {
    SIM_WALK_STANDARD,     /* scores, softmax, product: S and P in HBM */
    SIM_WALK_FLASH1,       /* K and V outside, O, l and m in HBM */
    SIM_WALK_FLASH2,       /* Q outside */
    SIM_WALK_COPY_ENGINE,  /* Q outside; Q, K and V come by whole boxes */
    SIM_WALK_BACKWARD,     /* delta; dK and dV by the keys' owner; dQ by its own */
    SIM_WALK_MMA_BACKWARD, /* LSE and delta; dK and dV by the keys' owner, which adds to dQ; dQ */
    SIM_WALK_WS_BACKWARD /* the same by whole boxes; the first kernel also clears the sums of dQ */
};

/* The kernels of the rung of that name. */
enum sim_walk sim_walk_of(const char *rung, bool backward);

/*
 * As struct gpu_tiles has them: br queries by bc keys; dq_br and dq_bc of the kernel that owns dQ,
 * 0 where the owner of the keys adds to sums of dQ instead, in f32, at each tile it visits. With
 * an owner of dQ, the other two backward walks add nothing; without one, SIM_WALK_BACKWARD is MMA's.
 */
struct sim_walk_tiles {
    int64_t br, bc, dq_br, dq_bc;
    int64_t parts; /* blocks of the keys' owner that share a tile: 1 or 2 */
};

enum { SIM_WALKED_KERNELS = 3 };

struct sim_walked_kernel {
    const char *name; /* "scores", "softmax", "product"; "attention"; "delta" or "stats", "keys",
                       * "queries" or "dq" */
    struct sim_counters counters;
    uint64_t read_bytes, write_bytes;
    /* Of each tensor at most its own size, and nothing of what the kernel wrote before it read it:
     * what a memory behind an L2 that forgets nothing would have to give and take. */
    uint64_t read_once_bytes, write_once_bytes;
};

struct sim_kernel_walk {
    struct sim_walked_kernel kernel[SIM_WALKED_KERNELS]; /* in the order of their launches */
    int n;
};

/*
 * Needs: a problem without element mask, bias, block mask and given keep mask.
 * Errors: those of fa_problem_check; FA_BAD_ARGUMENT for tiles below 1, FA_UNSUPPORTED for what the
 * problem must not have, FA_TOO_LARGE past 2^34 tiles of a head or for counts past 2^62.
 */
enum fa_status sim_kernel_walk(enum sim_walk which, const struct fa_problem *problem,
                               const struct sim_walk_tiles *tiles, struct sim_kernel_walk *walk,
                               struct fa_error *error);

/* Fills the four sums of bytes from counters that are there already, whoever counted them. */
void sim_walked_bytes(struct sim_walked_kernel *kernel, const struct fa_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
