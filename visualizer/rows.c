#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/run_parts.h"

/* One absorb: the statistics of its rows begin at `at` in the pool, m and l of each. */
struct step {
    uint64_t event;
    int64_t row, rows, first, end;
    size_t at;
};

struct view_rows {
    const struct view_run *run;
    int64_t head, nq, nk;
    bool failed;       /* no memory: none of it is shown */
    double *scores;    /* nq x nk, NaN where never computed */
    uint64_t *scored;  /* tr x tc: event after which they stood, UINT64_MAX: never */
    uint8_t *absorbed; /* tr x tc: what comes again later is the same */
    struct step *steps;
    size_t n_steps, step_capacity;
    double *pool;
    size_t pool_used, pool_capacity;
    struct view_row_step *of_row; /* the steps of the row that was asked for last */
    size_t of_row_capacity;
};

void view_rows_free(struct view_rows *rows)
{
    if (!rows)
        return;
    free(rows->scores);
    free(rows->scored);
    free(rows->absorbed);
    free(rows->steps);
    free(rows->pool);
    free(rows->of_row);
    free(rows);
}

/* Room for n more elements behind the first `used`; NULL without memory. */
static void *more(void *array, size_t used, size_t n, size_t *capacity, size_t size)
{
    if (used + n <= *capacity)
        return array;
    size_t wanted = *capacity * 2 > used + n ? *capacity * 2 : used + n + 64;
    void *larger = realloc(array, wanted * size);
    if (larger)
        *capacity = wanted;
    return larger;
}

static double cell(const struct fa_port *port, const struct fa_tile *tile, int64_t index)
{
    return port->compute_type == FA_F64 ? ((const double *)tile->cells)[index]
                                        : (double)((const float *)tile->cells)[index];
}

/* The score tile as it stands on chip: the last time before it is absorbed counts. */
static void take_scores(struct view_rows *rows, const struct sim_event *event,
                        const struct fa_port *port, uint64_t index)
{
    const struct fa_tile *s = &port->tile[FA_S];
    struct fa_tiles tiles = view_run_tiles(rows->run);
    int64_t tile = (int64_t)event->i * rows->run->tc + (int64_t)event->j;
    int64_t row = (int64_t)event->i * tiles.br, column = (int64_t)event->j * tiles.bc;
    if (!s->live || !s->cells || rows->absorbed[tile])
        return;
    rows->scored[tile] = index;
    for (int64_t c = 0; c < s->columns && column + c < rows->nk; c++)
        for (int64_t r = 0; r < s->rows && row + r < rows->nq; r++)
            rows->scores[(row + r) * rows->nk + column + c] = cell(port, s, c * s->ld + r);
}

/* m and l of the rows that have just absorbed the keys [first, end). */
static void take_statistics(struct view_rows *rows, const struct fa_port *port, uint64_t index,
                            int64_t row, int64_t first, int64_t end)
{
    const struct fa_tile *m = &port->tile[FA_M], *l = &port->tile[FA_L];
    if (!m->live || !l->live || !m->cells || !l->cells)
        return;
    struct step *steps =
        more(rows->steps, rows->n_steps, 1, &rows->step_capacity, sizeof *rows->steps);
    rows->steps = steps ? steps : rows->steps;
    double *pool = more(rows->pool, rows->pool_used, 2 * (size_t)m->rows, &rows->pool_capacity,
                        sizeof *rows->pool);
    rows->pool = pool ? pool : rows->pool;
    if (!steps || !pool) {
        rows->failed = true;
        return;
    }
    rows->steps[rows->n_steps++] =
        (struct step){index, row, m->rows, first, view_least(end, rows->nk), rows->pool_used};
    for (int64_t r = 0; r < m->rows; r++) {
        rows->pool[rows->pool_used++] = cell(port, m, r);
        rows->pool[rows->pool_used++] = cell(port, l, r);
    }
}

/* Of algorithms that store S the softmax goes by rows of their own number, in chunks of keys or
 * whole. */
static void take_absorb(struct view_rows *rows, const struct sim_event *event,
                        const struct fa_port *port, uint64_t index)
{
    struct fa_tiles tiles = view_run_tiles(rows->run);
    bool whole = event->j == SIM_NO_TILE;
    int64_t i = (int64_t)event->i, j = whole ? 0 : (int64_t)event->j;
    if (view_run_header(rows->run)->algorithm->stores_scores) {
        int64_t first = j * tiles.column_chunk;
        take_statistics(rows, port, index, i * tiles.row_block, first,
                        whole ? rows->nk : first + tiles.column_chunk);
        return;
    }
    if (whole || rows->absorbed[i * rows->run->tc + j])
        return;
    take_statistics(rows, port, index, i * tiles.br, j * tiles.bc, (j + 1) * tiles.bc);
    rows->absorbed[i * rows->run->tc + j] = 1;
}

static void look(void *context, struct sim_memory *memory)
{
    struct view_rows *rows = context;
    uint64_t index = memory->events - 1;
    const struct sim_event *event = view_run_event(rows->run, index);
    if (rows->failed || event->kind != SIM_COMPUTE || (int64_t)event->head != rows->head ||
        event->i == SIM_NO_TILE)
        return;
    switch ((enum fa_op)event->op) {
    case FA_OP_SCORE:
    case FA_OP_SCALE_S:
    case FA_OP_BIAS:
    case FA_OP_HIDE:
    case FA_OP_MASK:
        if (event->j != SIM_NO_TILE)
            take_scores(rows, event, &memory->port, index);
        return;
    case FA_OP_ABSORB:
    case FA_OP_UPDATE:
    case FA_OP_ROW_STATS:
    case FA_OP_SOFTMAX_ROWS:
        take_absorb(rows, event, &memory->port, index);
        return;
    default:
        return;
    }
}

static struct view_rows *make(struct view_run *run, int64_t head)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    struct view_rows *rows = calloc(1, sizeof *rows);
    size_t n = (size_t)(problem->nq * problem->nk), tiles = (size_t)(run->tr * run->tc);
    if (!rows)
        return NULL;
    rows->run = run;
    rows->head = head;
    rows->nq = problem->nq;
    rows->nk = problem->nk;
    rows->scores = malloc(n * sizeof *rows->scores);
    rows->scored = malloc(tiles * sizeof *rows->scored);
    rows->absorbed = calloc(tiles, sizeof *rows->absorbed);
    rows->failed = !rows->scores || !rows->scored || !rows->absorbed;
    for (size_t c = 0; !rows->failed && c < n; c++)
        rows->scores[c] = NAN;
    for (size_t t = 0; !rows->failed && t < tiles; t++)
        rows->scored[t] = UINT64_MAX;
    if (!rows->failed && !view_replays_watch(run, look, rows))
        rows->failed = true;
    return rows;
}

bool view_run_row(struct view_run *run, int64_t head, int64_t row, struct view_row *out)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    if (run->backward || run->no_values[0] || problem->nk < 1 || row < 0 || row >= problem->nq ||
        problem->nq > VIEW_MOST_ROW_SCORES / problem->nk)
        return false;
    if (!run->rows || run->rows->head != head) {
        view_rows_free(run->rows);
        run->rows = make(run, head);
    }
    struct view_rows *rows = run->rows;
    if (!rows || rows->failed)
        return false;
    size_t n = 0;
    for (size_t s = 0; s < rows->n_steps; s++) {
        const struct step *step = &rows->steps[s];
        if (row < step->row || row >= step->row + step->rows)
            continue;
        struct view_row_step *of_row =
            more(rows->of_row, n, 1, &rows->of_row_capacity, sizeof *rows->of_row);
        if (!of_row)
            return false;
        rows->of_row = of_row;
        const double *pair = &rows->pool[step->at + 2 * (size_t)(row - step->row)];
        of_row[n++] = (struct view_row_step){step->event, step->first, step->end, pair[0], pair[1]};
    }
    *out = (struct view_row){
        .keys = rows->nk,
        .scores = &rows->scores[row * rows->nk],
        .scored = &rows->scored[row / run->shape.tiles.br * run->tc],
        .steps = rows->of_row,
        .n_steps = (int64_t)n,
    };
    return true;
}
