#include "simulator/closed_form_parts.h"

typedef sim_wide wide;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static wide greater(wide a, wide b)
{
    return a > b ? a : b;
}

static wide tile_bytes(const struct fa_problem *p, enum fa_tensor_id id, int64_t rows,
                       int64_t columns)
{
    return (wide)rows * (wide)columns * fa_on_chip_bytes(p, id);
}

static wide modifier_bytes(const struct fa_problem *p, enum fa_tensor_id id, int64_t rows,
                           int64_t columns)
{
    const struct fa_tensor *t = id == FA_BIAS ? p->bias : p->mask;
    return t ? tile_bytes(p, id, t->shape[2] == 1 ? 1 : rows, t->shape[3] == 1 ? 1 : columns) : 0;
}

/* Bias, element mask and a given keep mask beside a score tile. */
static wide all_modifiers(const struct fa_problem *p, int64_t br, int64_t bc)
{
    wide keep = p->dropout_p > 0 && p->dropout_keep ? tile_bytes(p, FA_DROPOUT, br, bc) : 0;
    return keep + modifier_bytes(p, FA_BIAS, br, bc) + modifier_bytes(p, FA_MASK, br, bc);
}

/* d and dv are what of the columns of Q, K, V and O is on chip at a time. */
static wide live_unfused(const struct fa_problem *p, const struct fa_tiles *t, int64_t br,
                         int64_t bc, int64_t d, int64_t dv)
{
    wide score = tile_bytes(p, FA_S, br, bc), most;
    int64_t rows = least(t->row_block, p->nq), columns = least(t->column_chunk, p->nk);
    most = score + tile_bytes(p, FA_Q, br, d) + tile_bytes(p, FA_K, bc, d);
    if (p->bias)
        most = greater(most, score + modifier_bytes(p, FA_BIAS, br, bc));
    if (p->mask)
        most = greater(most, score + modifier_bytes(p, FA_MASK, br, bc));
    if (p->dropout_p > 0)
        most = greater(most, score + tile_bytes(p, FA_DROPOUT, br, bc));
    most = greater(most, tile_bytes(p, FA_S, rows, columns) + 2 * tile_bytes(p, FA_M, rows, 1));
    return greater(most, score + tile_bytes(p, FA_V, bc, dv) + tile_bytes(p, FA_O, br, dv));
}

static wide live_standard_backward(const struct fa_problem *p, const struct fa_tiles *t,
                                   int64_t br, int64_t bc)
{
    wide score = tile_bytes(p, FA_S, br, bc), most;
    int64_t rows = least(t->row_block, p->nq), columns = least(t->column_chunk, p->nk);
    most = score + tile_bytes(p, FA_DO, br, p->dv) + tile_bytes(p, FA_DV, bc, p->dv);
    most = greater(most, score + tile_bytes(p, FA_Q, br, p->d) + tile_bytes(p, FA_DK, bc, p->d));
    if (p->nq == 0)
        return p->nk > 0 ? most : 0;
    most = greater(most, score + tile_bytes(p, FA_DO, br, p->dv) + tile_bytes(p, FA_V, bc, p->dv));
    most = greater(most, score + tile_bytes(p, FA_K, bc, p->d) + tile_bytes(p, FA_DQ, br, p->d));
    if (p->dropout_p > 0)
        most = greater(most, score + tile_bytes(p, FA_DROPOUT, br, bc));
    return greater(most, 2 * tile_bytes(p, FA_P, rows, columns) + tile_bytes(p, FA_DELTA, rows, 1));
}

static wide live_flash_backward(const struct fa_problem *p, bool first, int64_t br, int64_t bc)
{
    wide delta = p->nq == 0 ? 0
                            : greater(tile_bytes(p, FA_O, br, p->dv) +
                                          tile_bytes(p, FA_DO, br, p->dv) +
                                          tile_bytes(p, FA_DELTA, br, 1),
                                      tile_bytes(p, FA_DQ, br, p->d));
    wide main = tile_bytes(p, FA_K, bc, p->d) + tile_bytes(p, FA_V, bc, p->dv) +
                tile_bytes(p, FA_DK, bc, p->d) + tile_bytes(p, FA_DV, bc, p->dv) +
                tile_bytes(p, FA_Q, br, p->d) + tile_bytes(p, FA_DO, br, p->dv) +
                tile_bytes(p, FA_DQ, br, p->d) + 2 * tile_bytes(p, FA_P, br, bc) +
                tile_bytes(p, FA_M, br, first ? 3 : 2) + all_modifiers(p, br, bc);
    if (first)
        return main + tile_bytes(p, FA_O, br, p->dv);
    return greater(main, delta);
}

uint64_t sim_live_bytes(const struct fa_algorithm *algorithm, const struct fa_problem *p,
                        const struct fa_tiles *tiles)
{
    int64_t br = least(tiles->br, p->nq), bc = least(tiles->bc, p->nk);
    wide bytes;

    if (p->batch == 0 || p->heads == 0)
        return 0;
    if (algorithm->stores_scores) {
        bool square = algorithm == &fa_square_tiling;
        bytes = p->nq == 0 ? 0
                           : live_unfused(p, tiles, br, bc, square ? least(tiles->br, p->d) : p->d,
                                          square ? least(tiles->br, p->dv) : p->dv);
    } else if (algorithm == &fa_standard_backward) {
        bytes = live_standard_backward(p, tiles, br, bc);
    } else if (sim_is_backward(algorithm)) {
        bytes = live_flash_backward(p, algorithm == &fa_flash1_backward, br, bc);
    } else if (p->nq == 0 && algorithm != &fa_flash1) {
        bytes = 0;
    } else {
        bytes = tile_bytes(p, FA_Q, br, p->d) + tile_bytes(p, FA_K, bc, p->d) +
                tile_bytes(p, FA_V, bc, p->dv) + tile_bytes(p, FA_O, br, p->dv) +
                tile_bytes(p, FA_S, br, bc) +
                tile_bytes(p, FA_M, br, algorithm == &fa_flash1 ? 4 : 2) +
                all_modifiers(p, br, bc);
    }
    return bytes > (wide)INT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}
