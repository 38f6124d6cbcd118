/*
 * What the closed forms of the forward and the backward passes share.
 */
#ifndef SIM_CLOSED_FORM_PARTS_H
#define SIM_CLOSED_FORM_PARTS_H

#include "simulator/closed_form.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts are summed where they can't wrap, and narrowed once. */
typedef unsigned __int128 sim_wide;

/* Sums over the visited tiles of one head. */
struct sim_visited {
    sim_wide tiles, masked;
    sim_wide rows_of_tiles;    /* sum of the tiles' rows */
    sim_wide columns_of_tiles; /* sum of the tiles' columns */
    sim_wide area;             /* sum of rows x columns */
    sim_wide query_rows;       /* rows of query tiles that see a key */
    sim_wide key_columns;      /* columns of key tiles that are seen */
};

/* The problem's sizes and numbers of tiles. */
struct sim_tiling {
    int64_t nq, nk, br, bc, tr, tc;
    sim_wide d, dv;
};

/* One head's counts before they are narrowed. `group_read` is read again by each head of a group but
 * its first. */
struct sim_head_counts {
    sim_wide read[FA_HBM_TENSORS], write[FA_HBM_TENSORS], group_read[FA_HBM_TENSORS];
    sim_wide matmul, exp, other;
    sim_wide visited, masked, skipped;
};

/* ceil(n / size); 0 for n = 0. */
static inline int64_t sim_ceiling(int64_t n, int64_t size)
{
    return n == 0 ? 0 : (n - 1) / size + 1;
}

/* All tiles, and those that the structural masks and the block mask leave. */
struct sim_visited sim_visit_all(const struct sim_tiling *s);
struct sim_visited sim_visit_masked(const struct fa_problem *p, const struct sim_tiling *s);

/* What bias, element mask and a given keep mask add to a pass that loads them with each of `v`'s tiles,
 * `times` a tile. */
void sim_count_modifiers(struct sim_head_counts *c, const struct fa_problem *p,
                         const struct sim_visited *v, sim_wide times);

/* One query head of a backward pass, tiles visited and masked apart. */
void sim_count_backward(struct sim_head_counts *c, const struct fa_algorithm *algorithm,
                        const struct fa_problem *p, const struct sim_tiling *s,
                        const struct fa_tiles *tiles, const struct sim_visited *v);

bool sim_is_backward(const struct fa_algorithm *algorithm);

#ifdef __cplusplus
}
#endif
#endif
