/*
 * The structural mask (causal, window) as intervals: which keys a row sees, which tiles a loop
 * visits, and which visited tiles the mask cuts. Each question is O(1).
 *
 * Row r of the queries sees the keys [r + shift - left, r + shift + right] inside [0, nk), where
 * shift = nk - nq (bottom-right, and a window without causal) or 0 (top-left). The intervals of
 * neighbouring rows overlap or touch, so what a block of rows sees together is an interval too.
 */
#ifndef FA_VISIBILITY_H
#define FA_VISIBILITY_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fa_span {
    int64_t first, end; /* half open; first >= end: empty */
};

/* Keys that row r sees. */
struct fa_span fa_visible_keys(const struct fa_problem *problem, int64_t row);

/* Key tiles that the rows of query tile i see, and query tiles whose rows see key tile j. */
struct fa_span fa_visible_key_tiles(const struct fa_run *run, int64_t i);
struct fa_span fa_visible_query_tiles(const struct fa_run *run, int64_t j);

/* Of those, the tiles that the mask leaves whole: a visited tile outside is cut, it has at least one
 * hidden element. */
struct fa_span fa_whole_key_tiles(const struct fa_run *run, int64_t i);
struct fa_span fa_whole_query_tiles(const struct fa_run *run, int64_t j);

/* Whether the problem's block mask lets the loops visit tile (i, j); the tiles are its blocks. */
static inline bool fa_block_visits(const struct fa_run *run, int64_t i, int64_t j)
{
    const struct fa_block_mask *blocks = run->problem.blocks;
    return !blocks || blocks->visit[i * blocks->columns + j];
}

/* The same of one element, whatever the tiles are. */
static inline bool fa_block_shows(const struct fa_problem *problem, int64_t row, int64_t key)
{
    const struct fa_block_mask *blocks = problem->blocks;
    return !blocks || blocks->visit[row / blocks->br * blocks->columns + key / blocks->bc];
}

/* Whether the loops visit a tile at all in row i of the tiles, or in column j, of which `seen` is what
 * causal and window leave. */
bool fa_row_is_visited(const struct fa_run *run, int64_t i, struct fa_span seen);
bool fa_column_is_visited(const struct fa_run *run, int64_t j, struct fa_span seen);

/* Whether the structural mask, the block mask included, hides an element of tile (i, j): for code
 * that visits every tile. Linear in the blocks that the tile meets. */
bool fa_tile_is_cut(const struct fa_run *run, int64_t i, int64_t j);

static inline bool fa_outside(struct fa_span span, int64_t tile)
{
    return tile < span.first || tile >= span.end;
}

/* ceil(n / size), the number of tiles along an axis. */
static inline int64_t fa_tile_count(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

#ifdef __cplusplus
}
#endif
#endif
