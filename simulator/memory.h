/*
 * The instrumented memory: the port that counts. It enforces the capacity of the on-chip memory,
 * counts every access by tensor and direction, FLOPs by kind and tiles, and keeps a trace when one
 * is given. One per worker: each has an SM's memory of its own.
 *
 * Source: the machine of simulator/README.md.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "reference/plain_port.h"
#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_mode {
    SIM_PLAIN,     /* the plain port: data, no counts */
    SIM_COUNTED,   /* data and counts */
    SIM_COUNT_ONLY /* counts without arithmetic or data */
};

struct sim_memory {
    struct fa_port port; /* first: a port's verbs find their memory from it */
    uint64_t capacity_bytes; /* 0: unlimited */
    uint64_t live_bytes, peak_bytes;
    bool with_data;
    struct sim_trace *trace; /* NULL: none */
    uint64_t events;         /* executed so far */
    uint64_t stop_after;     /* the run ends, FA_CANCELLED, once so many events are done */
    uint64_t most_events;    /* of the trace: the run ends, FA_TOO_LARGE, past them; 0: unlimited */
    /* Called after each event but a refusal, NULL: not. It may read tiles and tensors; whoever
     * gives all live tiles their cells may also set with_data. */
    void (*after)(void *context, struct sim_memory *memory);
    void *after_context;
};

/* A fresh memory for one worker of the run. trace may be NULL. */
void sim_memory_open(struct sim_memory *memory, const struct fa_run *run, enum sim_mode mode,
                     uint64_t capacity_bytes, struct sim_trace *trace);
void sim_memory_close(struct sim_memory *memory);

/* What was counted so far. */
struct sim_counters sim_memory_counters(const struct sim_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
