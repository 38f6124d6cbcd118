/*
 * What the backward passes of FlashAttention and FlashAttention-2 have in common: key tiles
 * outside, query tiles inside, over the heads of a K/V head's group. Each verb belongs to the step
 * that its caller has set, so the steps and their lines stay with the algorithm.
 */
#ifndef FA_KEY_TILES_H
#define FA_KEY_TILES_H

#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/verbs.h"
#include "reference/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t fa_group_heads(const struct fa_problem *problem)
{
    return problem->heads / problem->kv_heads;
}

/* Reserves the n tiles of `ids`, each at the size of a whole tile of its tensor, then what bias,
 * mask and dropout need; P and dS lie where S and dP do. */
static inline void fa_key_tiles_reserve(struct fa_port *port, const enum fa_tensor_id *ids, int n)
{
    const struct fa_problem *problem = &port->run->problem;
    const struct fa_tiles *tiles = &port->run->tiles;
    int64_t rows = tiles->br < problem->nq ? tiles->br : problem->nq;
    int64_t keys = tiles->bc < problem->nk ? tiles->bc : problem->nk;

    for (int t = 0; t < n; t++) {
        enum fa_tensor_id id = ids[t];
        bool of_keys = id == FA_K || id == FA_V || id == FA_DK || id == FA_DV;
        int64_t columns = 1;
        if (id == FA_Q || id == FA_K || id == FA_DQ || id == FA_DK)
            columns = problem->d;
        else if (id == FA_V || id == FA_O || id == FA_DO || id == FA_DV)
            columns = problem->dv;
        else if (id == FA_S || id == FA_DP)
            columns = keys;
        fa_alloc(port, id, of_keys ? keys : rows, columns);
    }
    fa_alias(port, FA_P, FA_S);
    fa_alias(port, FA_DS, FA_DP);
    fa_scores_alloc(port, rows, keys);
    fa_dropout_alloc(port, rows, keys);
}

static inline void fa_key_tiles_release(struct fa_port *port, const enum fa_tensor_id *ids, int n)
{
    fa_dropout_free(port);
    fa_scores_free(port);
    while (n-- > 0)
        fa_free(port, ids[n]);
}

/* The query tiles that meet key tile j, one after the other: set i and cut. */
struct fa_query_tiles {
    struct fa_span seen, whole;
    int64_t i, j, head;
    bool cut; /* the structural mask hides some of (i, j) */
};

static inline struct fa_query_tiles fa_query_tiles(const struct fa_run *run, int64_t head,
                                                   int64_t j)
{
    return (struct fa_query_tiles){
        .seen = fa_visible_query_tiles(run, j),
        .whole = fa_whole_query_tiles(run, j),
        .i = -1,
        .j = j,
        .head = head,
    };
}

/* K_j and V_j, unless the masks leave no tile to visit. */
static inline void fa_key_tile_load(struct fa_port *port, const struct fa_query_tiles *queries)
{
    if (fa_column_is_visited(port->run, queries->j, queries->seen)) {
        fa_load(port, FA_K, queries->j * port->run->tiles.bc, 0);
        fa_load(port, FA_V, queries->j * port->run->tiles.bc, 0);
    }
}

/* dK_j and dV_j: 0, or what the heads before this one in the group have left. */
static inline void fa_key_gradients_start(struct fa_port *port, int64_t head, int64_t j)
{
    if (head % fa_group_heads(&port->run->problem) == 0) {
        fa_compute(port, FA_OP_START_DKV);
    } else {
        fa_load(port, FA_DK, j * port->run->tiles.bc, 0);
        fa_load(port, FA_DV, j * port->run->tiles.bc, 0);
    }
}

static inline void fa_key_gradients_store(struct fa_port *port, int64_t j)
{
    fa_store(port, FA_DK, j * port->run->tiles.bc, 0);
    fa_store(port, FA_DV, j * port->run->tiles.bc, 0);
}

/* Goes on to the next query tile that is visited, and skips those before it. False after the last:
 * the algorithm stands at key tile j alone again. */
static inline bool fa_query_tiles_next(struct fa_port *port, struct fa_query_tiles *queries)
{
    int64_t i = queries->i + 1, j = queries->j;
    int64_t tiles = fa_tile_count(port->run->problem.nq, port->run->tiles.br);

    if (queries->i < 0) {
        fa_skip(port, 0, queries->seen.first, j, j + 1);
        i = queries->seen.first;
    }
    for (; i < queries->seen.end && !fa_block_visits(port->run, i, j); i++)
        fa_skip(port, i, i + 1, j, j + 1);
    queries->i = i;
    queries->cut = fa_outside(queries->whole, i);
    if (i < queries->seen.end)
        return true;
    fa_at(port, queries->head, -1, j);
    fa_skip(port, queries->seen.end, tiles, j, j + 1);
    return false;
}

/* Every key tile for every query head of the group in turn, and in between the word that a long
 * unit goes on. */
typedef void fa_key_block(struct fa_port *port, int64_t head, int64_t j);

static inline void fa_key_tiles_each(struct fa_port *port, int64_t kv_head, fa_key_block *block)
{
    const struct fa_problem *problem = &port->run->problem;
    int64_t group = fa_group_heads(problem);
    int64_t tiles = fa_tile_count(problem->nk, port->run->tiles.bc);

    for (int64_t n = 0; n < group; n++)
        for (int64_t j = 0; j < tiles && port->status == FA_OK; j++) {
            if (n > 0 || j > 0)
                fa_tick(port, (double)(n * tiles + j) / (double)(group * tiles));
            block(port, kv_head * group + n, j);
        }
}

#ifdef __cplusplus
}
#endif
#endif
