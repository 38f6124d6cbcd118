/*
 * The loops of the CUDA rungs' kernels, one function a kernel: loads and stores of tiles through
 * the memory port, for one head, or for one K/V head with its group. Part of kernel_walk.c.
 */
#ifndef SIM_KERNEL_LOOPS_H
#define SIM_KERNEL_LOOPS_H

#include "simulator/kernel_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_kernel_loops {
    const char *name;
    void (*loops)(struct fa_port *port);
    bool by_group;                      /* of a K/V head; else of a query head */
    bool takes_dq_tiles;                /* of the tiles it takes those of dQ */
    bool dq_read_wide, dq_written_wide; /* dQ is a sum in f32 there, whatever the dtype */
    bool rereads;                       /* what it both reads and writes it wrote first */
    unsigned whole;                     /* 1 << tensor: moved by whole boxes */
};

/* The kernels in the order of their launches: SIM_WALKED_KERNELS of them for `standard` and the
 * backward passes, else one. `owns_dq`: a backward pass in which a kernel owns dQ. `halves`: one in
 * which two blocks share a tile of keys. */
const struct sim_kernel_loops *sim_kernel_loops_of(enum sim_walk which, bool owns_dq, bool halves);

#ifdef __cplusplus
}
#endif
#endif
