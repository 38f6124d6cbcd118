#include "simulator/tiles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/closed_form.h"

static const char *const policy_names[SIM_POLICIES] = {
    [SIM_TILES_DEFAULT] = "default", [SIM_TILES_GIVEN] = "given", [SIM_TILES_PAPER] = "paper",
    [SIM_TILES_SQUARE] = "square",   [SIM_TILES_BEST] = "best",   [SIM_TILES_BEST_16] = "best:16",
};

const char *sim_policy_name(enum sim_policy policy)
{
    return policy_names[policy];
}

/* A whole number from 1 to 2^31 - 1 at *text, which moves past it. */
static bool parse_side(const char **text, int64_t *side)
{
    const char *at = *text;
    int64_t value = 0;
    if (*at < '1' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (*at - '0');
        if (value > INT32_MAX)
            return false;
    }
    *text = at;
    *side = value;
    return true;
}

enum fa_status sim_tile_choice_parse(const char *text, struct sim_tile_choice *choice,
                                     struct fa_error *error)
{
    struct sim_tile_choice given = {SIM_TILES_GIVEN, 0, 0};
    const char *at = text;
    for (int p = 0; p < SIM_POLICIES; p++)
        if (p != SIM_TILES_GIVEN && strcmp(text, policy_names[p]) == 0) {
            *choice = (struct sim_tile_choice){(enum sim_policy)p, 0, 0};
            return FA_OK;
        }
    if (parse_side(&at, &given.br) && *at == 'x') {
        at++;
        if (parse_side(&at, &given.bc) && *at == '\0') {
            *choice = given;
            return FA_OK;
        }
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "tiles '%s': expected BRxBC (64x128: two whole numbers from 1), paper, square, "
                   "best, best:16 or default",
                   text);
}

/* What the choosing functions share. */
struct search {
    const struct fa_algorithm *algorithm;
    const struct fa_problem *problem; /* without its structural mask */
    uint64_t capacity;                /* UINT64_MAX: unlimited */
    struct fa_tiles tiles;            /* row-wise part set */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceiling(int64_t n, int64_t size)
{
    return n / size + (n % size != 0);
}

static bool fits(struct search *search, int64_t br, int64_t bc)
{
    struct fa_tiles tiles = search->tiles;
    tiles.br = br;
    tiles.bc = bc;
    return sim_live_bytes(search->algorithm, search->problem, &tiles) <= search->capacity;
}

/* The greatest n in 0 .. most for which n * unit (clipped to most) passes; sizes grow with n. */
static int64_t greatest(struct search *search, int64_t br, int64_t unit, int64_t most)
{
    int64_t low = 0, high = most / unit + (most % unit != 0);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2, side = least(middle * unit, most);
        if (fits(search, br ? br : side, side))
            low = middle;
        else
            high = middle - 1;
    }
    return least(low * unit, most);
}

static enum fa_status nothing_fits(const struct search *search, int64_t br, int64_t bc,
                                   struct fa_error *error)
{
    struct fa_tiles tiles = search->tiles;
    tiles.br = br;
    tiles.bc = bc;
    return fa_fail(error, FA_DOES_NOT_FIT,
                   "SRAM of %" PRIu64 " bytes holds no tile of %s at d %" PRId64 ", dv %" PRId64
                   ": %" PRId64 "x%" PRId64 " already needs %" PRIu64
                   " bytes; give more with --sram or a smaller --d",
                   search->capacity, search->algorithm->name, search->problem->d,
                   search->problem->dv, br, bc,
                   sim_live_bytes(search->algorithm, search->problem, &tiles));
}

static enum fa_status choose_square(struct search *search, struct fa_error *error)
{
    int64_t nq = search->problem->nq, nk = search->problem->nk;
    int64_t side = greatest(search, 0, 1, nq > nk ? nq : nk);
    if (side < 1 && (nq > 0 || nk > 0))
        return nothing_fits(search, 1, 1, error);
    if (side < 1)
        side = 1;
    search->tiles.br = nq > 0 ? least(side, nq) : 1;
    search->tiles.bc = nk > 0 ? least(side, nk) : 1;
    return FA_OK;
}

/* Elements that the tiles move, as a double: only compared. */
static double moved(const struct search *search, int64_t br, int64_t bc)
{
    struct fa_tiles tiles = search->tiles;
    struct sim_closed_form form;
    double sum = 0;
    tiles.br = br;
    tiles.bc = bc;
    if (sim_closed_form(search->algorithm, search->problem, &tiles, &form, NULL) != FA_OK)
        return 1e300;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        sum += (double)form.counters.read[id] + (double)form.counters.write[id];
    return sum;
}

/* The next number of rows worth trying, or 0. */
static int64_t next_rows(const struct search *search, int64_t unit, int64_t br)
{
    int64_t nq = search->problem->nq;
    if (br >= nq)
        return 0;
    if (unit > 1 || search->algorithm == &fa_square_tiling)
        return least(br + unit, nq);
    return ceiling(nq, ceiling(nq, br) - 1);
}

/* Tiles of a head, as a double: only compared. */
static double count_tiles(const struct search *search, int64_t br, int64_t bc)
{
    return (double)ceiling(search->problem->nq, br) * (double)ceiling(search->problem->nk, bc);
}

/*
 * Every count falls or stays as Bc grows, so each Br is tried with the largest Bc that fits; and
 * depends on Br through ceil(Nq / Br) alone, so the least Br of each such number is enough. (Square
 * tiling's depends on ceil(d / Br) too: every Br is tried.) Returns what the best moves, or -1 if
 * nothing fits.
 */
static double find_least(struct search *search, int64_t unit)
{
    int64_t nk = search->problem->nk;
    double least_moved = -1;
    for (int64_t br = least(unit, search->problem->nq); br > 0; br = next_rows(search, unit, br)) {
        int64_t bc = greatest(search, br, unit, nk);
        if (bc < 1)
            break;
        double cost = moved(search, br, bc);
        if (least_moved < 0 || cost < least_moved ||
            (cost == least_moved && bc > search->tiles.bc)) {
            least_moved = cost;
            search->tiles.br = br;
            search->tiles.bc = bc;
        }
    }
    return least_moved;
}

/* The same candidates: of those that move no more than `most`, the one of the fewest tiles. */
static void find_fewest(struct search *search, int64_t unit, double most)
{
    for (int64_t br = least(unit, search->problem->nq); br > 0; br = next_rows(search, unit, br)) {
        int64_t bc = greatest(search, br, unit, search->problem->nk);
        if (bc < 1)
            break;
        if (count_tiles(search, br, bc) <
                count_tiles(search, search->tiles.br, search->tiles.bc) &&
            moved(search, br, bc) <= most) {
            search->tiles.br = br;
            search->tiles.bc = bc;
        }
    }
}

static enum fa_status choose_best(struct search *search, int64_t unit, struct fa_error *error)
{
    int64_t nq = search->problem->nq, nk = search->problem->nk;
    if (nq == 0 || nk == 0) {
        search->tiles.br = search->tiles.bc = 1;
        return FA_OK;
    }
    double least_moved = find_least(search, unit);
    if (least_moved < 0)
        return nothing_fits(search, least(unit, nq), least(unit, nk), error);
    if (count_tiles(search, search->tiles.br, search->tiles.bc) > SIM_BEST_TILES)
        find_fewest(search, unit, least_moved * (1 + SIM_BEST_MORE));
    return FA_OK;
}

/* The row-wise steps of `standard`: as many whole rows as fit, else a chunk of one. */
static enum fa_status choose_rows(struct search *search, uint64_t bytes, struct fa_error *error)
{
    const struct fa_problem *p = search->problem;
    bool backward = search->algorithm == &fa_standard_backward;
    /* A column of a row: its score; backward its P and dP. Beside it m and l; backward delta. */
    uint64_t cell = (backward ? 2 : 1) * fa_on_chip_bytes(p, FA_S);
    uint64_t statistics = (backward ? 1 : 2) * fa_on_chip_bytes(p, FA_M);
    uint64_t nk = (uint64_t)p->nk;

    search->tiles.row_block = 1;
    search->tiles.column_chunk = p->nk > 0 ? p->nk : 1;
    if ((!search->algorithm->stores_scores && !backward) || bytes == 0)
        return FA_OK;
    if (nk <= (UINT64_MAX - statistics) / cell && cell * nk + statistics <= bytes) {
        uint64_t rows = bytes / (cell * nk + statistics);
        if (p->nq > 0)
            search->tiles.row_block = rows < (uint64_t)p->nq ? (int64_t)rows : p->nq;
        return FA_OK;
    }
    if (bytes < statistics + cell)
        return fa_fail(error, FA_DOES_NOT_FIT,
                       "SRAM of %" PRIu64 " bytes holds no part of a row of %s: one column and its "
                       "statistics need %" PRIu64 " bytes; give more with --sram",
                       bytes, backward ? "P and dP" : "S", statistics + cell);
    search->tiles.column_chunk = (int64_t)((bytes - statistics) / cell);
    return FA_OK;
}

static void choose_paper(struct search *search, uint64_t rule_bytes)
{
    const struct fa_problem *p = search->problem;
    uint64_t m = rule_bytes / fa_dtype_bytes(p->dtype), four_d = 4 * (uint64_t)p->d;
    uint64_t bc = m / four_d + (m % four_d != 0);
    int64_t rule = bc < 1 ? 1 : bc > INT32_MAX ? INT32_MAX : (int64_t)bc;
    search->tiles.br = least(rule, p->d);
    search->tiles.bc = rule;
    if (p->nq > 0)
        search->tiles.br = least(search->tiles.br, p->nq);
    if (p->nk > 0)
        search->tiles.bc = least(search->tiles.bc, p->nk);
}

enum fa_status sim_tiles_choose(const struct sim_tile_choice *choice,
                                const struct fa_algorithm *algorithm,
                                const struct fa_problem *problem, uint64_t capacity_bytes,
                                uint64_t rule_bytes, struct fa_tiles *tiles,
                                struct fa_error *error)
{
    struct fa_problem unmasked = *problem;
    struct search search = {algorithm, &unmasked, capacity_bytes ? capacity_bytes : UINT64_MAX,
                            {1, 1, 1, 1}};
    enum fa_status status;

    unmasked.causal = FA_CAUSAL_NONE;
    unmasked.window_left = unmasked.window_right = -1;
    unmasked.blocks = NULL;
    status = choose_rows(&search, rule_bytes, error);
    if (status != FA_OK)
        return status;
    switch (choice->policy) {
    case SIM_TILES_GIVEN:
        search.tiles.br = choice->br;
        search.tiles.bc = choice->bc;
        break;
    case SIM_TILES_PAPER:
        choose_paper(&search, rule_bytes);
        break;
    case SIM_TILES_BEST:
        status = choose_best(&search, 1, error);
        break;
    case SIM_TILES_BEST_16:
        status = choose_best(&search, 16, error);
        break;
    case SIM_TILES_DEFAULT:
        search.tiles.br = problem->nq > 0 ? least(64, problem->nq) : 64;
        search.tiles.bc = problem->nk > 0 ? least(64, problem->nk) : 64;
        if (!fits(&search, search.tiles.br, search.tiles.bc))
            status = choose_square(&search, error);
        break;
    default:
        status = choose_square(&search, error);
        break;
    }
    if (status == FA_OK)
        *tiles = search.tiles;
    return status;
}
