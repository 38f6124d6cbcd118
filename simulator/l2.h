/*
 * The third level: an L2 between the SMs and DRAM. It predicts what of the counted traffic, which
 * is that between L2 and the SMs, gets as far as DRAM.
 *
 * The assumptions, all of them:
 *   A block of threads is one unit of the algorithm (flash2: a row block of a head; flash1: a
 *   head; standard: a block of one of its steps). Each phase is a kernel, which begins when the
 *   one before it has ended. Every SM holds one block, or as many as its memory does. Blocks start
 *   in launch order as slots come free; those in flight take turns, one load or store each.
 *   The L2 is one fully associative cache of machine.l2_bytes, shared by all, least recently used
 *   out first, of sectors (l2_units.h): the pieces that the pass's tiles cut its tensors into.
 *   Stores are written back: they reach DRAM when their sector is evicted, or in a flush at the
 *   end of the pass. Each pass finds it empty. Not modelled: sets, partitions, compression, L1,
 *   prefetch.
 *   Every head has an S, a P and so on of its own, as in a batched implementation.
 */
#ifndef SIM_L2_H
#define SIM_L2_H

#include "simulator/kernels.h"
#include "simulator/l2_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* of <jansson.h> */

/* The order in which a kernel's blocks are launched. */
enum sim_l2_order {
    SIM_L2_HEAD_MAJOR, /* all units of a head, then the next head's: FlashAttention-2's grid */
    SIM_L2_UNIT_MAJOR  /* unit 0 of all heads, then unit 1 */
};

const char *sim_l2_order_name(enum sim_l2_order order); /* "head-major", "unit-major" */

/* All zero is the default. */
struct sim_l2_options {
    bool fill_sms;           /* as many blocks an SM as its memory holds; else one */
    enum sim_l2_order order;
    int64_t heads;           /* query heads to simulate, rounded up to whole groups; 0: all, or a
                              * window where all would pass `most_accesses` */
    uint64_t most_accesses;  /* of sectors, to simulate, an eighth of it a head; 0:
                              * SIM_L2_ACCESSES */
    const struct fa_watch *watch; /* may be NULL */
};

#define SIM_L2_ACCESSES (UINT64_C(1) << 27) /* some seconds */

/* Bytes, over all heads. */
struct sim_l2 {
    struct sim_l2_traffic total; /* its SM side is the counted reads and writes */
    struct sim_l2_traffic kernel[SIM_KERNELS]; /* in their order; the last has the flush */
    int n_kernels;
    uint64_t flushed_bytes; /* of dram_write_bytes: what lay in L2 at the end of a pass */
    uint64_t l2_bytes;
    uint64_t blocks, blocks_in_flight; /* over all kernels; the most of a kernel at a time */
    uint64_t blocks_per_sm;            /* the most of a kernel */
    enum sim_l2_order order;
    int64_t heads, heads_simulated; /* fewer than all: the first so many, and all is scaled */
};

/*
 * Predicts the DRAM traffic of a result: of its algorithm, pass, problem, tiles and machine (see
 * sim_kernels_open); its counters are not used, so that they can be compared. options may be NULL.
 *
 * Heads are scaled where all of them are too many accesses: the window is at least four times the
 * L2 and two rounds of blocks, so that it does not see a cache that only the cut made large.
 * Errors: FA_UNSUPPORTED (the machine's L2 or number of SMs is not known), FA_TOO_LARGE (even a
 * window is too much), FA_NO_MEMORY, FA_CANCELLED; FA_BAD_ARGUMENT.
 */
enum fa_status sim_l2_predict(const struct sim_result *result, const struct sim_l2_options *options,
                              struct sim_l2 *l2, struct fa_error *error);

/*
 * {dram_read_bytes, dram_write_bytes, l2_to_sm_bytes, sm_to_l2_bytes, flushed_bytes, l2_bytes,
 * blocks_per_sm, blocks_in_flight, order, heads_simulated}: a new reference, NULL without memory.
 */
struct json_t *sim_l2_to_json(const struct sim_l2 *l2);

#ifdef __cplusplus
}
#endif
#endif
