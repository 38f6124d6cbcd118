/*
 * Dropout in tiled algorithms. Which weights are kept is said in problem.h; the bits depend on the
 * place in the matrix alone, so a tile can form its own at any time, forward and backward.
 */
#ifndef FA_DROPOUT_H
#define FA_DROPOUT_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool fa_dropout_any(const struct fa_run *run)
{
    return run->problem.dropout_p > 0;
}

/* The factor on a kept weight: 1 / (1 - p), and 0 for p = 1, when nothing is kept. */
double fa_dropout_scale(const struct fa_problem *problem);

/*
 * Keep bits (0 or 1) of n columns from `column` of one row; batch and head count query heads.
 * Needs: dropout_p > 0 and no given mask.
 */
void fa_dropout_bits(const struct fa_problem *problem, int64_t batch, int64_t head, int64_t row,
                     int64_t column, int64_t n, uint8_t *keep);

/* The tile of a given keep mask, beside the others; nothing where the bits come from the seed. */
void fa_dropout_alloc(struct fa_port *port, int64_t rows, int64_t columns);
void fa_dropout_free(struct fa_port *port);
void fa_dropout_load(struct fa_port *port, int64_t i, int64_t j);

#ifdef __cplusplus
}
#endif
#endif
