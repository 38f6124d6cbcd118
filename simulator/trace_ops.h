/*
 * What each tile operation needs and leaves on chip, and which tensors the traced pass has: what
 * the fold over a trace and the rules for its events both go by.
 */
#ifndef SIM_TRACE_OPS_H
#define SIM_TRACE_OPS_H

#include "simulator/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an operation on r x c leaves of a tile. */
enum sim_shape {
    SIM_SCORE_TILE, /* r x c */
    SIM_STATISTIC,  /* r x 1 */
    SIM_QUERY_ROWS, /* r rows of all the tile's columns: O, dQ; of a start dK and dV too */
    SIM_KEY_ROWS    /* c rows of all the tile's columns: dK, dV */
};

struct sim_op_result {
    uint8_t tensor, shape;
    bool renewed; /* formed anew: nothing of what was loaded is left */
};

enum { SIM_RESULTS_MAX = 4 };

struct sim_op {
    uint32_t reads; /* FA_BITs of the tensors that must hold something */
    bool partial;   /* of its results only those are formed that are on chip: at least one */
    int n_results;  /* those that it does not read must be on chip too */
    struct sim_op_result results[SIM_RESULTS_MAX];
};

const struct sim_op *sim_op_of(enum fa_op op);

/* Whether a tile of that kind is one of the score matrix: nq x nk. */
bool sim_is_score_tile(enum fa_tensor_id id);

/* Whether its rows are keys: K, V, dK, dV. */
bool sim_is_key_side(enum fa_tensor_id id);

/* FA_BITs of the tensors that the traced pass has in HBM, and of those that it has on chip. */
uint32_t sim_tensors_in_hbm(const struct sim_trace_header *header);
uint32_t sim_tensors_on_chip(const struct sim_trace_header *header);

/* The size of the matrix that a head has in the tensor. */
void sim_matrix_size(const struct fa_problem *problem, enum fa_tensor_id id, int64_t *rows,
                     int64_t *columns);

/* Whether the pass has row-wise steps, whose blocks are tiles.row_block x tiles.column_chunk. */
bool sim_goes_by_rows(const struct fa_algorithm *algorithm);

#ifdef __cplusplus
}
#endif
#endif
