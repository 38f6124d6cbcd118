/*
 * The trace of one pass of a run, forward or backward: one event for every load, store, compute,
 * alloc, free, skip and refusal, in the order of execution. Append only. Any position is reached
 * fast, since the state (counters and what lies on chip) is kept every SIM_TRACE_SNAPSHOT events
 * and folded forward from there.
 *
 * A position p in 0 .. n_events is the state after the first p events.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "reference/algorithm.h"
#include "simulator/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIM_TRACE_SNAPSHOT = 4096 };

enum sim_event_kind {
    SIM_LOAD,
    SIM_STORE,
    SIM_COMPUTE,
    SIM_ALLOC,
    SIM_FREE,
    SIM_SKIP,
    SIM_REFUSE, /* an alloc that did not fit: the run ends here */
    SIM_EVENT_KINDS
};

const char *sim_event_kind_name(enum sim_event_kind kind); /* "load", ... */

enum {
    SIM_NO_TILE = (1 << 20) - 1, /* i or j where the loop has none */
    SIM_VISITS = 1,              /* flag of a compute: the first of a newly visited tile */
    SIM_CUT = 2                  /* flag of a compute: that tile is cut by the structural mask */
};

/*
 * 32 bytes. `tensor` is an enum fa_tensor_id (of a compute: the tensor it writes, sim_op_writes),
 * `op` the enum fa_op of a compute. rows x columns is the tile's true size (of an alloc, free and
 * refuse: its capacity; of a compute: r x c of the score tile it works on, and r x 1 for start,
 * start_dq, start_delta, start_dkv, delta, finish and finish_stats), (row, column) the place in the
 * head's matrix in HBM that a load reads or a store writes, `place` the tile's byte offset in SRAM.
 * step and line: see struct fa_place.
 */
struct sim_event {
    uint64_t kind : 4, tensor : 6, step : 8, flags : 6, line : 16, rows : 24;
    uint64_t head : 28, row : 28, op : 8;
    uint64_t column : 28, place : 36;
    uint64_t columns : 24, i : 20, j : 20;
};

/*
 * What lies on chip under one name. All zero while nothing does.
 *
 * A tile may have a second name (fa_alias): S becomes P, M becomes LSE, dP becomes dS where it
 * lies; in `standard` P becomes PD as it is dropped, and PD is the P that the products take. Events
 * then name P, LSE, DS or PD at the place of the tile that was reserved, and the resident stays
 * that tile: on_chip[FA_S] and so on, whose `holds` says what its cells are now. Of a P that was
 * reserved by itself the resident is on_chip[FA_P]; likewise the others. See sim_state_holder.
 */
struct sim_resident {
    bool live;
    bool loaded;   /* it began as, or was stored to, the HBM cells at (head, row, column) */
    bool changed;  /* computed into since it was loaded, reserved or stored */
    uint8_t holds; /* enum fa_tensor_id: the name under which it was last used */
    uint32_t rows, columns;           /* capacity */
    uint32_t held_rows, held_columns; /* what the last load, or compute, put there; 0: nothing */
    uint32_t head, row, column;       /* in HBM, when loaded */
    uint64_t place, bytes;
};

struct sim_state {
    struct sim_counters counters;
    uint64_t sram_bytes; /* live now */
    struct sim_resident on_chip[FA_TENSORS];
};

/* What a trace says about its run: enough to repeat it, but for the tensors that it was given. */
struct sim_trace_header {
    const struct fa_algorithm *algorithm; /* of the traced pass: its steps, its units */
    /* The forward pass that a backward one follows, which gives the run its name: fused-save-p's
     * backward pass is standard's. NULL of a forward pass; sim_trace_create fills it in. */
    const struct fa_algorithm *forward;
    /* mask, bias and dropout_keep are NULL: has_mask, has_bias and has_keep say that there were.
     * blocks are the trace's own copy. */
    struct fa_problem problem;
    bool has_mask, has_bias, has_keep;
    struct fa_tiles tiles;
    uint64_t sram_bytes;   /* capacity; 0: none */
    char machine[48];
    char version[32];
    char command[512];
    uint64_t seed;
    char profile[24]; /* "" where the inputs came from files */
};

/* The pass that was traced: "flash2" or "flash2 backward". */
enum { SIM_PASS_TITLE = 48 };
const char *sim_trace_pass_title(const struct sim_trace_header *header, char text[SIM_PASS_TITLE]);

/* The tensor that a compute writes (its first result; of start_dkv without a dV: dK). Defined in
 * memory.c. */
enum fa_tensor_id sim_op_writes(enum fa_op op);

struct sim_trace;

/* The blocks of the largest block mask that a trace's header holds: as many tiles as 131,072
 * queries and keys have at 64 x 64. */
enum { SIM_TRACE_BLOCKS = 1 << 22 };

/* An empty trace, which keeps none of the header's pointers to tensors and copies its block mask.
 * Errors: FA_NO_MEMORY, FA_TOO_LARGE (a size past the event's fields, a larger block mask). */
enum fa_status sim_trace_create(const struct sim_trace_header *header, struct sim_trace **trace,
                                struct fa_error *error);
void sim_trace_free(struct sim_trace *trace);

/* Appends one event. False: no memory (the trace stays as it was). */
bool sim_trace_append(struct sim_trace *trace, const struct sim_event *event);

const struct sim_trace_header *sim_trace_get_header(const struct sim_trace *trace);
uint64_t sim_trace_length(const struct sim_trace *trace);
/* Up to the next multiple of SIM_TRACE_SNAPSHOT the events lie one after the other. */
const struct sim_event *sim_trace_event(const struct sim_trace *trace, uint64_t index);

/* The state at a position (0 .. length), from the nearest snapshot before it. */
void sim_trace_seek(const struct sim_trace *trace, uint64_t position, struct sim_state *state);

/* The resident that an event naming `id` is about: `id` itself if it is live, else the tile that
 * it is a second name for (PD or S for P, M for LSE, DP for DS, P for PD); NULL if none is live. */
struct sim_resident *sim_state_holder(struct sim_state *state, enum fa_tensor_id id);

/* Whether the tile's cells are those of `id`: its `holds`, where P and PD are one. */
bool sim_resident_is(const struct sim_resident *resident, enum fa_tensor_id id);

/*
 * One event forward from the state before it: what seek does many of. Counters follow from the
 * event: elements from rows x columns of loads and stores (PD's count as P's), FLOPs from op and
 * r x c by the rule of tile_cost.h (of a part of the columns: from the columns of Q or V that are
 * on chip), tiles from flags and skips, bytes on chip from allocs and frees.
 * Needs: an event that a run made or sim_trace_load accepted.
 */
void sim_state_apply(struct sim_state *state, const struct sim_trace_header *header,
                     const struct sim_event *event);

/*
 * Saves as text. Line 1 is a JSON object, schema "flashlab.trace/1": what struct sim_trace_header
 * says, the number of events, and the names that the numbers below stand for. Then comes one JSON
 * array of integers a line
 *   [kind, tensor, op, step, flags, line, head, i, j, row, column, rows, columns, place]
 * with -1 for no tile. In the header "algorithm" and "pass" ("forward", "backward") name the pass;
 * problem.dropout is null or {"p", "seed", "mask"}, the last whether a keep mask was given; and
 * problem.blocks is null or {"br", "bc", "visit"}, a text of 0s and 1s for each row of blocks.
 * Bytes of `command` that are not UTF-8 become "?". Written beside and renamed.
 * Errors: FA_IO, FA_NO_MEMORY; what stood at path stays then.
 */
enum fa_status sim_trace_save(const struct sim_trace *trace, const char *path,
                              struct fa_error *error);

/*
 * Loads what sim_trace_save wrote. Each event must be possible where it stands: a load finds a
 * live tile that it fits, a compute its operands, a free what was reserved, and so on
 * (trace_rules.h). Line ends are "\n", after the last line too. Every key of the header must be
 * there: a file from before "pass", "dropout" and "blocks" is refused, since its numbers stand for
 * other names of tensors and operations too.
 * Errors: FA_IO; FA_NO_MEMORY; FA_BAD_FILE with the line, what stands there and what was expected:
 * a value out of range, an unknown algorithm, an impossible event, a file cut in a line, with
 * more or fewer events than the header says, or with a size past the event's fields.
 */
enum fa_status sim_trace_load(const char *path, struct sim_trace **trace, struct fa_error *error);

/* The same from bytes, for tests and fuzzing. */
enum fa_status sim_trace_parse(const char *name, const char *bytes, size_t n_bytes,
                               struct sim_trace **trace, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
