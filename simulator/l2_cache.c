/* Sectors lie in one array, named by index: a doubly linked list in the order of use, and chains of
 * a hash table that doubles as it fills. */
#include "simulator/l2_cache.h"

#include <stdlib.h>
#include <string.h>

struct sim_l2_sector {
    uint64_t key, bytes;
    uint32_t newer, older; /* 0: the ends */
    uint32_t chain;        /* the next of its bucket, or of the free ones; 0: none */
    bool dirty;
};

enum { FIRST_BITS = 10, MOST_BITS = 31 };

void sim_l2_cache_open(struct sim_l2_cache *cache, uint64_t capacity_bytes)
{
    memset(cache, 0, sizeof *cache);
    cache->capacity_bytes = capacity_bytes;
}

void sim_l2_cache_close(struct sim_l2_cache *cache)
{
    free(cache->sector);
    free(cache->bucket);
    memset(cache, 0, sizeof *cache);
}

static uint32_t *bucket_of(const struct sim_l2_cache *cache, uint64_t key)
{
    /* Fibonacci hashing: neighbouring keys go to buckets far apart. */
    return &cache->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - cache->bucket_bits)];
}

static uint32_t find(const struct sim_l2_cache *cache, uint64_t key)
{
    uint32_t s = cache->bucket ? *bucket_of(cache, key) : 0;
    while (s && cache->sector[s].key != key)
        s = cache->sector[s].chain;
    return s;
}

static void unlink_use(struct sim_l2_cache *cache, uint32_t s)
{
    struct sim_l2_sector *all = cache->sector;
    all[all[s].newer].older = all[s].older;
    all[all[s].older].newer = all[s].newer;
}

/* Sector 0's `older` is the newest one, and its `newer` the oldest: the list is a ring. */
static void link_newest(struct sim_l2_cache *cache, uint32_t s)
{
    struct sim_l2_sector *all = cache->sector;
    all[s].newer = 0;
    all[s].older = all[0].older;
    all[all[0].older].newer = s;
    all[0].older = s;
}

static void evict(struct sim_l2_cache *cache, uint32_t s)
{
    struct sim_l2_sector *all = cache->sector;
    uint32_t *link = bucket_of(cache, all[s].key);

    if (all[s].dirty)
        cache->traffic.dram_write_bytes += all[s].bytes;
    while (*link != s)
        link = &all[*link].chain;
    *link = all[s].chain;
    unlink_use(cache, s);
    cache->held_bytes -= all[s].bytes;
    cache->n_held--;
    all[s].chain = cache->free_sector;
    cache->free_sector = s;
}

static bool grow_buckets(struct sim_l2_cache *cache)
{
    int bits = cache->bucket ? cache->bucket_bits + 1 : FIRST_BITS;
    if (bits > MOST_BITS)
        return false;
    uint32_t *taken = calloc((size_t)1 << bits, sizeof *taken);
    if (!taken)
        return false;
    free(cache->bucket);
    cache->bucket = taken;
    cache->bucket_bits = bits;
    if (!cache->sector)
        return true;
    for (uint32_t s = cache->sector[0].older; s; s = cache->sector[s].older) {
        uint32_t *bucket = bucket_of(cache, cache->sector[s].key);
        cache->sector[s].chain = *bucket;
        *bucket = s;
    }
    return true;
}

static bool grow_sectors(struct sim_l2_cache *cache)
{
    uint64_t wanted = cache->capacity_sectors ? (uint64_t)cache->capacity_sectors * 2 : 1024;
    if (wanted > UINT32_C(1) << MOST_BITS)
        return false;
    struct sim_l2_sector *taken =
        realloc(cache->sector, (size_t)wanted * sizeof *cache->sector);
    if (!taken)
        return false;
    if (!cache->sector) {
        memset(taken, 0, sizeof *taken);
        cache->n_sectors = 1;
    }
    cache->sector = taken;
    cache->capacity_sectors = (uint32_t)wanted;
    return true;
}

/* A sector that holds nothing; 0 without memory. */
static uint32_t take_sector(struct sim_l2_cache *cache)
{
    uint32_t s = cache->free_sector;
    if (s) {
        cache->free_sector = cache->sector[s].chain;
        return s;
    }
    if (cache->n_sectors == cache->capacity_sectors && !grow_sectors(cache))
        return 0;
    return cache->n_sectors++;
}

/* Makes room and holds the sector; false where it goes past the cache. */
static bool insert(struct sim_l2_cache *cache, uint64_t key, uint64_t bytes, bool dirty)
{
    if (bytes > cache->capacity_bytes)
        return false;
    while (cache->held_bytes > cache->capacity_bytes - bytes)
        evict(cache, cache->sector[0].newer);
    bool full = !cache->bucket || cache->n_held >> cache->bucket_bits;
    if (full && !grow_buckets(cache)) {
        cache->no_memory = true;
        return true;
    }
    uint32_t s = take_sector(cache);
    if (!s) {
        cache->no_memory = true;
        return true;
    }
    uint32_t *bucket = bucket_of(cache, key);
    cache->sector[s] = (struct sim_l2_sector){key, bytes, 0, 0, *bucket, dirty};
    *bucket = s;
    link_newest(cache, s);
    cache->held_bytes += bytes;
    cache->n_held++;
    return true;
}

static void use(struct sim_l2_cache *cache, uint32_t s)
{
    if (cache->sector[0].older == s)
        return;
    unlink_use(cache, s);
    link_newest(cache, s);
}

void sim_l2_cache_read(struct sim_l2_cache *cache, uint64_t key, uint64_t bytes)
{
    uint32_t s = find(cache, key);
    cache->traffic.l2_to_sm_bytes += bytes;
    if (s) {
        use(cache, s);
        return;
    }
    cache->traffic.dram_read_bytes += bytes;
    insert(cache, key, bytes, false);
}

void sim_l2_cache_write(struct sim_l2_cache *cache, uint64_t key, uint64_t bytes)
{
    uint32_t s = find(cache, key);
    cache->traffic.sm_to_l2_bytes += bytes;
    if (s) {
        cache->sector[s].dirty = true;
        use(cache, s);
        return;
    }
    if (!insert(cache, key, bytes, true))
        cache->traffic.dram_write_bytes += bytes;
}

void sim_l2_cache_flush(struct sim_l2_cache *cache)
{
    while (cache->n_held > 0)
        evict(cache, cache->sector[0].newer);
}
