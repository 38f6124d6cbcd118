/*
 * A cache between the SMs and DRAM: fully associative, least recently used first out, write-back.
 *
 * What it holds are sectors, each of its own size, read and written as a whole: a store needs no
 * fetch before it, and goes to DRAM when its sector leaves, or in the flush. A sector that is
 * larger than the cache goes past it.
 */
#ifndef SIM_L2_CACHE_H
#define SIM_L2_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that crossed: the two sides of the cache. */
struct sim_l2_traffic {
    uint64_t l2_to_sm_bytes, sm_to_l2_bytes, dram_read_bytes, dram_write_bytes;
};

struct sim_l2_sector;

struct sim_l2_cache {
    struct sim_l2_traffic traffic;
    uint64_t capacity_bytes, held_bytes;
    bool no_memory; /* sticky: the host refused memory, and the counts say nothing */
    struct sim_l2_sector *sector; /* [0]: the ends of the list of use */
    uint32_t n_sectors, capacity_sectors, free_sector;
    uint32_t *bucket;
    uint32_t n_held;
    int bucket_bits;
};

/* capacity_bytes 0: everything goes past. Takes memory as sectors come. */
void sim_l2_cache_open(struct sim_l2_cache *cache, uint64_t capacity_bytes);
void sim_l2_cache_close(struct sim_l2_cache *cache);

/* An SM reads, or writes, the sector `key`, of `bytes`, which is the same for a key each time. */
void sim_l2_cache_read(struct sim_l2_cache *cache, uint64_t key, uint64_t bytes);
void sim_l2_cache_write(struct sim_l2_cache *cache, uint64_t key, uint64_t bytes);

/* Writes back what was stored and is still here, and forgets everything. */
void sim_l2_cache_flush(struct sim_l2_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
