/*
 * The plain port: moves tiles and computes, counts nothing, has no capacity.
 *
 * Its data movements and kernels are also what an instrumented memory calls once it has counted.
 */
#ifndef FA_PLAIN_PORT_H
#define FA_PLAIN_PORT_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct fa_port_verbs fa_plain_verbs;

/* A fresh port for one worker of the run; the run outlives it. Needs no cleaning on error. */
void fa_port_open(struct fa_port *port, const struct fa_port_verbs *verbs,
                  const struct fa_run *run);

/* Frees the cells that the port kept. */
void fa_port_close(struct fa_port *port);

/* Shapes a tile for rows x columns without giving it cells: what both worlds of ports share. */
void fa_tile_shape(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns);

/* Gives a shaped tile its cells. FA_NO_MEMORY goes to port->status. */
void fa_tile_give_cells(struct fa_port *port, enum fa_tensor_id id);

/* The data movements alone (tile_copy.c). Needs: a clipped live tile with cells, a tensor with data. */
void fa_tile_copy_in(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column);
void fa_tile_copy_out(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column);
void fa_tile_copy_lse(struct fa_port *port, int64_t row);

/* Fills every cell, the uncovered ones too, with NaN. */
void fa_tile_poison(const struct fa_port *port, struct fa_tile *tile);

/* One cell of a live tile as double, for readers outside the algorithms. */
double fa_tile_get(const struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column);

#ifdef __cplusplus
}
#endif
#endif
