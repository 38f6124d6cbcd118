/*
 * The verbs of an algorithm: all that a file like flash2.c does to memory and numbers.
 *
 * They are inline so that counting alone (port->count_only) is a few additions a tile, with no call:
 * a million queries and keys are a matter of seconds. Everything else goes through the port's own
 * verbs.
 */
#ifndef FA_VERBS_H
#define FA_VERBS_H

#include "reference/tile_cost.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the loop position (-1: none) for the verbs that follow. */
static inline void fa_at(struct fa_port *port, int64_t head, int64_t i, int64_t j)
{
    port->at.head = head;
    port->at.i = i;
    port->at.j = j;
}

/* Sets the step of the algorithm's table that the verbs that follow belong to, and the line. */
#define fa_step(port, number) fa_step_at(port, number, __LINE__)

static inline void fa_step_at(struct fa_port *port, int32_t step, int32_t line)
{
    if (!port->count_only) { /* nobody asks where a count stands */
        port->at.step = step;
        port->at.line = line;
    }
}

/*
 * For the inner loops: tells the compiler that port->count_only is the constant `counting`, so that
 * an inlined visit is compiled once for each, without a test a verb.
 */
#if defined(__GNUC__)
#define FA_KNOWN(port, counting)                 \
    do {                                         \
        if ((port)->count_only != (counting))    \
            __builtin_unreachable();             \
    } while (0)
#define FA_VISIT static inline __attribute__((always_inline))
#else
#define FA_KNOWN(port, counting) ((void)(counting))
#define FA_VISIT static inline
#endif

/* Reserves a tile on chip for rows x columns (clipped by the caller to what the matrix has).
 * FA_DOES_NOT_FIT, FA_NO_MEMORY. */
static inline void fa_alloc(struct fa_port *port, enum fa_tensor_id id, int64_t rows,
                            int64_t columns)
{
    if (port->status == FA_OK)
        port->verbs->alloc(port, id, rows, columns);
}

/* Gives the tile back; its cells are gone. */
static inline void fa_free(struct fa_port *port, enum fa_tensor_id id)
{
    if (port->status == FA_OK)
        port->verbs->free(port, id);
}

/* `name` becomes a second name for the live tile `of`: S turns into P, m into LSE, where it lies.
 * Costs nothing; the name dies with the tile. */
static inline void fa_alias(struct fa_port *port, enum fa_tensor_id name, enum fa_tensor_id of)
{
    if (port->status == FA_OK) {
        port->tile[name] = port->tile[of];
        port->tile[name].alias = true;
    }
}

/* Copies the part of the tensor that begins at (row, column) of the head's matrix into the live
 * tile of the same name; what the matrix does not have, the tile does not hold. */
static inline void fa_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    if (port->count_only) {
        struct fa_tile *tile = &port->tile[id];
        fa_tile_clip(tile, &port->run->tensor[id], row, column);
        port->tally.read[id] += (uint64_t)(tile->rows * tile->columns);
    } else if (port->status == FA_OK) {
        port->verbs->load(port, id, row, column);
    }
}

/* Copies what the tile holds to (row, column) of the head's matrix, rounding to its format. */
static inline void fa_store(struct fa_port *port, enum fa_tensor_id id, int64_t row,
                            int64_t column)
{
    if (port->count_only) {
        const struct fa_tile *tile = &port->tile[id];
        port->tally.write[id] += (uint64_t)(tile->rows * tile->columns);
    } else if (port->status == FA_OK) {
        port->verbs->store(port, id, row, column);
    }
}

/* Runs one tile operation on the live tiles that it is about. */
static inline void fa_compute(struct fa_port *port, enum fa_op op)
{
    if (port->count_only)
        fa_op_account(port, op, &port->tally.flops);
    else if (port->status == FA_OK)
        port->verbs->compute(port, op);
}

/* Says that the run visits a tile: `cut` if the structural mask hides some of it. */
static inline void fa_visit(struct fa_port *port, bool cut)
{
    port->tally.tiles_visited++;
    if (cut)
        port->tally.tiles_masked++;
    port->visit = cut ? FA_VISIT_CUT : FA_VISIT_WHOLE;
}

/* Says that the tiles [i, i_end) x [j, j_end) are skipped: neither loaded nor computed. */
static inline void fa_skip(struct fa_port *port, int64_t i, int64_t i_end, int64_t j,
                           int64_t j_end)
{
    if (i >= i_end || j >= j_end || port->status != FA_OK)
        return;
    port->tally.tiles_skipped += (uint64_t)((i_end - i) * (j_end - j));
    port->verbs->skip(port, i, i_end, j, j_end);
}

/* Says that a long unit has done `share` (0..1) of its work: progress is shown, and a wish to stop
 * becomes the port's status. */
static inline void fa_tick(struct fa_port *port, double share)
{
    if (port->tick && port->status == FA_OK)
        port->tick(port, share);
}

/* Hands LSE = m + ln l of the rows on chip to the caller outside the machine, uncounted. */
static inline void fa_reveal_lse(struct fa_port *port, int64_t row)
{
    if (port->status == FA_OK)
        port->verbs->reveal_lse(port, row);
}

#ifdef __cplusplus
}
#endif
#endif
