#include "reference/visibility.h"

/* Bounds of the diagonal band, far enough outside for "unbounded" and safe to add indices to. */
static const int64_t FAR = INT64_MAX / 4;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Row r sees [r + band.first, r + band.end), before clipping to the keys there are. */
static struct fa_span diagonal_band(const struct fa_problem *problem)
{
    int64_t shift = problem->causal == FA_CAUSAL_TOP_LEFT ? 0 : problem->nk - problem->nq;
    int64_t left = problem->window_left, right = problem->window_right;
    if (problem->causal != FA_CAUSAL_NONE)
        right = right < 0 ? 0 : least(right, 0);
    return (struct fa_span){
        left < 0 ? -FAR : shift - least(left, FAR),
        right < 0 ? FAR : shift + least(right, FAR) + 1,
    };
}

struct fa_span fa_visible_keys(const struct fa_problem *problem, int64_t row)
{
    struct fa_span band = diagonal_band(problem);
    return (struct fa_span){greatest(row + band.first, 0), least(row + band.end, problem->nk)};
}

/* Tiles of `size` that meet the interval of elements [first, end). */
static struct fa_span tiles_of(int64_t first, int64_t end, int64_t size)
{
    if (first >= end)
        return (struct fa_span){0, 0};
    return (struct fa_span){first / size, fa_tile_count(end, size)};
}

struct fa_span fa_visible_key_tiles(const struct fa_run *run, int64_t i)
{
    const struct fa_problem *problem = &run->problem;
    struct fa_span band = diagonal_band(problem);
    int64_t first_row = i * run->tiles.br;
    int64_t last_row = least(first_row + run->tiles.br, problem->nq) - 1;
    return tiles_of(greatest(first_row + band.first, 0), least(last_row + band.end, problem->nk),
                    run->tiles.bc);
}

struct fa_span fa_visible_query_tiles(const struct fa_run *run, int64_t j)
{
    const struct fa_problem *problem = &run->problem;
    struct fa_span band = diagonal_band(problem);
    int64_t first_key = j * run->tiles.bc;
    int64_t last_key = least(first_key + run->tiles.bc, problem->nk) - 1;
    /* key >= row + first and key < row + end, solved for the row. */
    return tiles_of(greatest(first_key - band.end + 1, 0),
                    least(last_key - band.first + 1, problem->nq), run->tiles.br);
}

/* Tiles of `size` that lie inside the interval of elements [first, end); the last tile ends at n. */
static struct fa_span tiles_inside(int64_t first, int64_t end, int64_t size, int64_t n)
{
    if (first >= end)
        return (struct fa_span){0, 0};
    return (struct fa_span){fa_tile_count(first, size),
                            end == n ? fa_tile_count(n, size) : end / size};
}

/* Every row sees the keys from where the last row's interval begins to where the first's ends. */
struct fa_span fa_whole_key_tiles(const struct fa_run *run, int64_t i)
{
    const struct fa_problem *problem = &run->problem;
    struct fa_span band = diagonal_band(problem);
    int64_t first_row = i * run->tiles.br;
    int64_t last_row = least(first_row + run->tiles.br, problem->nq) - 1;
    return tiles_inside(greatest(last_row + band.first, 0),
                        least(first_row + band.end, problem->nk), run->tiles.bc, problem->nk);
}

struct fa_span fa_whole_query_tiles(const struct fa_run *run, int64_t j)
{
    const struct fa_problem *problem = &run->problem;
    struct fa_span band = diagonal_band(problem);
    int64_t first_key = j * run->tiles.bc;
    int64_t last_key = least(first_key + run->tiles.bc, problem->nk) - 1;
    return tiles_inside(greatest(last_key - band.end + 1, 0),
                        least(first_key - band.first + 1, problem->nq), run->tiles.br,
                        problem->nq);
}

bool fa_row_is_visited(const struct fa_run *run, int64_t i, struct fa_span seen)
{
    int64_t j = seen.first;
    while (j < seen.end && !fa_block_visits(run, i, j))
        j++;
    return j < seen.end;
}

bool fa_column_is_visited(const struct fa_run *run, int64_t j, struct fa_span seen)
{
    int64_t i = seen.first;
    while (i < seen.end && !fa_block_visits(run, i, j))
        i++;
    return i < seen.end;
}

bool fa_tile_is_cut(const struct fa_run *run, int64_t i, int64_t j)
{
    const struct fa_problem *problem = &run->problem;
    const struct fa_block_mask *blocks = problem->blocks;
    if (fa_outside(fa_whole_key_tiles(run, i), j))
        return true;
    if (!blocks)
        return false;
    int64_t last_row = least((i + 1) * run->tiles.br, problem->nq) - 1;
    int64_t last_key = least((j + 1) * run->tiles.bc, problem->nk) - 1;
    for (int64_t r = i * run->tiles.br / blocks->br; r <= last_row / blocks->br; r++)
        for (int64_t c = j * run->tiles.bc / blocks->bc; c <= last_key / blocks->bc; c++)
            if (!blocks->visit[r * blocks->columns + c])
                return true;
    return false;
}
