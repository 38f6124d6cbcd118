/* Where an output is wrong: the map, the last tile, and places beside those that a fault is about. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "simulator/fault_parts.h"

/* Whether a wrong element is what the fault says of all of them. */
static bool is_told(enum sim_fault fault, double got, double right)
{
    if (fault == SIM_FAULT_NAN)
        return !isfinite(got) || !isfinite(right);
    return fault != SIM_FAULT_ZEROS || got == 0;
}

/* A part's elements that are off and that the fault is not about: of one with wrong elements those
 * that hold something else than it says, else those above its own budget. */
static int64_t count_rest(const struct sim_fault_evidence *e, enum sim_fault fault, int64_t first,
                          int64_t n, int64_t *first_at)
{
    int64_t rest = 0, wrong = 0;
    for (int64_t row = first; row < first + n; row++)
        wrong += e->wrong[row];
    double budget = wrong > 0 ? e->budget : sim_fault_own_budget(e, first);
    for (int64_t at = first * e->columns; at < (first + n) * e->columns; at++) {
        double got = sim_fault_theirs_at(e, at), right = e->right[at];
        if (sim_fault_is_wrong(got, right, budget) && (wrong == 0 || !is_told(fault, got, right)) &&
            rest++ == 0)
            *first_at = at;
    }
    return rest;
}

struct sim_fault_rest sim_fault_rest_find(const struct sim_fault_evidence *e, enum sim_fault fault)
{
    struct sim_fault_rest rest = {.first = {-1, -1, -1, -1}};
    int64_t heads = e->got->shape[1], parts = sim_check_parts_of(e->n_rows);
    for (int64_t index = 0; index < e->heads * parts; index++) {
        int64_t in_head = index % parts * SIM_CHECK_PART_ROWS, head = index / parts, at = 0;
        int64_t n =
            e->n_rows - in_head < SIM_CHECK_PART_ROWS ? e->n_rows - in_head : SIM_CHECK_PART_ROWS;
        int64_t more = count_rest(e, fault, head * e->n_rows + in_head, n, &at);
        if (more > 0 && rest.parts == 0) {
            rest.first[0] = head / heads;
            rest.first[1] = head % heads;
            rest.first[2] = e->rows[at / e->columns % e->n_rows];
            rest.first[3] = at % e->columns;
        }
        rest.elements += more;
        rest.parts += more > 0;
    }
    return rest;
}

enum fa_status sim_fault_map_make(const struct sim_fault_evidence *e, struct sim_fault_map *map,
                                  struct fa_error *error)
{
    int64_t n = sim_fault_output_rows(e->theirs, e->which), cells;
    int64_t side = sim_fault_is_of_keys(e->which) ? e->theirs->bc : e->theirs->br;
    struct sim_fault_map made = {.heads = e->heads, .side = side};
    made.tiles = n / side + (n % side != 0);
    if (fa_multiply(made.heads, made.tiles, &cells) && cells < PTRDIFF_MAX / 16)
        made.error = malloc((size_t)(cells + 1) * sizeof *made.error);
    if (!made.error)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the map of the errors");
    for (int64_t cell = 0; cell < cells; cell++)
        made.error[cell] = NAN;
    for (int64_t head = 0; head < e->heads; head++) {
        for (int64_t i = 0; i < e->n_rows; i++) {
            float *cell = &made.error[head * made.tiles + e->rows[i] / side];
            for (int64_t c = 0; c < e->columns; c++) {
                double got = sim_fault_got(e, e->got, head, i, c),
                       right = sim_fault_right(e, head, i, c);
                bool wrong = sim_fault_is_wrong(got, right, e->budget);
                double error_here = isfinite(got) && isfinite(right)
                                        ? fabs(got - right) / (e->budget > 0 ? e->budget : 1)
                                        : (wrong ? INFINITY : 0);
                if (wrong && !(e->budget > 0))
                    error_here = INFINITY;
                *cell = fmaxf(*cell, (float)error_here);
            }
        }
    }
    *map = made;
    return FA_OK;
}

bool sim_fault_is_in_last_tile(const struct sim_fault_evidence *e)
{
    int64_t n = sim_fault_output_rows(e->theirs, e->which);
    int64_t side = sim_fault_is_of_keys(e->which) ? e->theirs->bc : e->theirs->br;
    if (n <= side || n % side == 0 || e->n_wrong == 0)
        return false;
    for (int64_t head = 0; head < e->heads; head++)
        for (int64_t i = 0; i < e->n_rows; i++)
            if (e->wrong[head * e->n_rows + i] > 0 && e->rows[i] < n / side * side)
                return false;
    return true;
}
