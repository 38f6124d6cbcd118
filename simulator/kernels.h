/*
 * A result as a GPU would run it: one kernel a phase of its algorithm, launched over all heads,
 * each unit (an outer iteration of one head, or of a K/V head's group) a block of threads. What
 * the L2 and the time model share; it executes nothing.
 *
 * A kernel begins when the one before it has ended, as in one stream. Phases without units (no
 * bias, no dropout) are no kernels.
 */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SIM_KERNELS = 24,        /* the phases of two passes, and some to spare */
    SIM_BLOCKS_PER_SM = 32   /* no GPU here keeps more blocks on an SM, however small they are */
};

struct sim_kernel {
    const struct fa_algorithm *algorithm;
    int run;              /* of sim_kernels: 0 forward, 1 backward */
    int phase;
    int64_t units;        /* of one launched head */
    int64_t group_heads;  /* launched heads a K/V head: 1 where the units are of a group */
    uint64_t blocks;      /* over all heads */
    uint64_t slots;       /* blocks that all SMs hold at a time */
    uint64_t blocks_per_sm;
};

struct sim_kernels {
    struct fa_run run[2]; /* without data; [1] where there is a backward pass */
    struct sim_kernel kernel[SIM_KERNELS];
    int n;
    int64_t groups; /* K/V heads over the batch */
    int64_t group;  /* query heads of one of them */
};

/*
 * The kernels of a result, whose mask, bias, keep and block mask must still be there (of tensors
 * their shapes). `fill`: an SM holds as many blocks as its memory does of the pass's live bytes (at
 * least one, at most SIM_BLOCKS_PER_SM); else one.
 * Errors: FA_UNSUPPORTED (a machine whose number of SMs is not known), FA_TOO_LARGE,
 * FA_BAD_ARGUMENT.
 */
enum fa_status sim_kernels_open(struct sim_kernels *kernels, const struct sim_result *result,
                                bool fill, struct fa_error *error);
void sim_kernels_close(struct sim_kernels *kernels);

#ifdef __cplusplus
}
#endif
#endif
