/*
 * Tile policies: how br x bc is chosen for an algorithm, a problem and a capacity.
 */
#ifndef SIM_TILES_H
#define SIM_TILES_H

#include "reference/algorithm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_policy {
    SIM_TILES_DEFAULT, /* 64 x 64 where that fits, else the largest square */
    SIM_TILES_GIVEN,   /* BRxBC */
    SIM_TILES_PAPER,   /* Bc = ceil(M / 4d), Br = min(Bc, d), M in elements of the dtype */
    SIM_TILES_SQUARE,  /* the largest square that fits */
    SIM_TILES_BEST,    /* the rectangle that moves the least and fits; ties go to the larger Bc; see
                        * SIM_BEST_TILES */
    SIM_TILES_BEST_16, /* the same, both sides multiples of 16 */
    SIM_POLICIES
};

/*
 * Where the best rectangle would make more tiles of a head than SIM_BEST_TILES (long sequences, for
 * which it is one key wide), the choice is, of the rectangles that move at most SIM_BEST_MORE (a
 * share) more, the one of the fewest tiles: a count takes time by the tile.
 */
#define SIM_BEST_TILES 134217728 /* 2^27 */
#define SIM_BEST_MORE 0.125

struct sim_tile_choice {
    enum sim_policy policy;
    int64_t br, bc; /* of SIM_TILES_GIVEN */
};

const char *sim_policy_name(enum sim_policy policy); /* "default", "given", "paper", ... */

/* "64x128", "paper", "square", "best", "best:16", "default". FA_BAD_ARGUMENT. */
enum fa_status sim_tile_choice_parse(const char *text, struct sim_tile_choice *choice,
                                     struct fa_error *error);

/*
 * The tiles, and what the row-wise steps of `standard` take. capacity_bytes 0: unlimited (what
 * fits is then the whole matrix; PAPER and the row-wise steps need rule_bytes, the capacity that
 * the rule is to be applied to; pass the same number otherwise).
 * `given` and `paper` tiles are not checked against the capacity here: the run refuses them.
 * Errors: FA_DOES_NOT_FIT (square, best: not even the least tile fits), FA_TOO_LARGE.
 */
enum fa_status sim_tiles_choose(const struct sim_tile_choice *choice,
                                const struct fa_algorithm *algorithm,
                                const struct fa_problem *problem, uint64_t capacity_bytes,
                                uint64_t rule_bytes, struct fa_tiles *tiles,
                                struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
