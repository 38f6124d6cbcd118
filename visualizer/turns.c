/* Keep bits that a generator deals out one after another, as the run's events come to them. */
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "visualizer/run_parts.h"

struct view_dealt {
    int64_t head;
    uint64_t *event; /* tr x tc */
    int64_t *turn;
    uint8_t *keep;   /* nq x nk */
    uint8_t *formed; /* heads x tr x tc: a tile whose bits come again draws no others */
    int64_t drawn;   /* bits so far, over all heads */
    int64_t tiles;   /* of the head, so far */
};

void view_dealt_free(struct view_dealt *dealt)
{
    if (!dealt)
        return;
    free(dealt->event);
    free(dealt->turn);
    free(dealt->keep);
    free(dealt->formed);
    free(dealt);
}

static bool forms_bits(const struct sim_event *event)
{
    return event->kind == SIM_COMPUTE && event->i != SIM_NO_TILE && event->j != SIM_NO_TILE &&
           (event->op == FA_OP_KEEP || event->op == FA_OP_DROPOUT ||
            event->op == FA_OP_DROPOUT_DP);
}

/* The tile's bits, row by row, off the stream. */
static void draw_tile(struct view_dealt *dealt, const struct view_run *run,
                      const struct sim_event *event, uint64_t index)
{
    const struct fa_problem *problem = &run->shape.problem;
    int64_t i = (int64_t)event->i, j = (int64_t)event->j, tile = i * run->tc + j;
    int64_t row = i * run->shape.tiles.br, column = j * run->shape.tiles.bc;
    int64_t rows = view_least(run->shape.tiles.br, problem->nq - row);
    int64_t columns = view_least(run->shape.tiles.bc, problem->nk - column);
    uint8_t *formed = &dealt->formed[(int64_t)event->head * run->tr * run->tc + tile];
    if (*formed)
        return;
    *formed = 1;
    if ((int64_t)event->head == dealt->head) {
        dealt->event[tile] = index;
        dealt->turn[tile] = dealt->tiles++;
        for (int64_t r = 0; r < rows; r++)
            fa_dropout_bits(problem, 0, 0, 0, dealt->drawn + r * columns, columns,
                            &dealt->keep[(row + r) * problem->nk + column]);
    }
    dealt->drawn += rows * columns;
}

static struct view_dealt *deal(const struct view_run *run, int64_t head)
{
    const struct fa_problem *problem = &run->shape.problem;
    size_t tiles = (size_t)(run->tr * run->tc);
    struct view_dealt *dealt = calloc(1, sizeof *dealt);
    if (!dealt)
        return NULL;
    dealt->head = head;
    dealt->event = malloc(tiles * sizeof *dealt->event);
    dealt->turn = malloc(tiles * sizeof *dealt->turn);
    dealt->keep = calloc((size_t)(problem->nq * problem->nk), 1);
    dealt->formed = calloc((size_t)run->heads * tiles, 1);
    if (!dealt->event || !dealt->turn || !dealt->keep || !dealt->formed) {
        view_dealt_free(dealt);
        return NULL;
    }
    for (size_t t = 0; t < tiles; t++) {
        dealt->event[t] = UINT64_MAX;
        dealt->turn[t] = -1;
    }
    for (uint64_t e = 0; e < view_run_length(run); e++)
        if (forms_bits(view_run_event(run, e)))
            draw_tile(dealt, run, view_run_event(run, e), e);
    return dealt;
}

bool view_run_turns(struct view_run *run, int64_t head, struct view_turns *turns)
{
    const struct fa_problem *problem = &run->shape.problem;
    if (!(problem->dropout_p > 0) || view_run_header(run)->has_keep || problem->nq < 1 ||
        problem->nk < 1 || problem->nq > VIEW_MOST_ROW_SCORES / problem->nk || head < 0 ||
        head >= run->heads)
        return false;
    if (!run->dealt || run->dealt->head != head) {
        view_dealt_free(run->dealt);
        run->dealt = deal(run, head);
    }
    if (!run->dealt)
        return false;
    *turns = (struct view_turns){run->dealt->event, run->dealt->turn, run->dealt->keep};
    return true;
}
