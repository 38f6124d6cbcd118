/*
 * Everything that changes a score tile between Q K^T and the softmax, in the one order that holds
 * everywhere: bias, then masks.
 */
#ifndef FA_SCORES_H
#define FA_SCORES_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reserves and frees the bias and mask tiles that the problem needs beside the others. */
void fa_scores_alloc(struct fa_port *port, int64_t rows, int64_t columns);
void fa_scores_free(struct fa_port *port);

/* Loads the bias and the mask of tile (i, j), each at its broadcast size, and applies them, and
 * the structural mask if it cuts the tile, to S. */
void fa_scores_modify(struct fa_port *port, int64_t i, int64_t j, bool cut);

/* The same pieces, for code that makes a pass of its own of each (`standard`). `which` is FA_BIAS
 * or FA_MASK. */
static inline bool fa_scores_has(const struct fa_run *run, enum fa_tensor_id which)
{
    return (which == FA_BIAS ? run->problem.bias : run->problem.mask) != NULL;
}

static inline bool fa_scores_any(const struct fa_run *run)
{
    return run->problem.bias || run->problem.mask;
}

void fa_scores_alloc_one(struct fa_port *port, enum fa_tensor_id which, int64_t rows,
                         int64_t columns);
void fa_scores_apply_one(struct fa_port *port, enum fa_tensor_id which, int64_t i, int64_t j);

#ifdef __cplusplus
}
#endif
#endif
