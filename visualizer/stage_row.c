/*
 * One row of Q against all keys: its scores, the weights exp(s - m), m, l and O, as the run had
 * them on chip.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "reference/visibility.h"
#include "visualizer/stage_row.h"
#include "visualizer/stage_parts.h"

/* Rows of the matrix that an outer iteration of this phase takes: where S is stored the softmax
 * has its own. */
static int64_t unit_rows(const struct view_moment *moment)
{
    const struct sim_trace_header *header = view_run_header(moment->run);
    const struct sim_event *here = moment->next ? moment->next : moment->last;
    struct fa_run run = {.problem = header->problem, .tiles = header->tiles};
    if (!here || !header->algorithm->stores_scores)
        return header->tiles.br;
    int64_t units = header->algorithm->units(&run, header->algorithm->steps[here->step].phase);
    bool by_block = units == fa_tile_count(header->problem.nq, header->tiles.row_block) &&
                    units != fa_tile_count(header->problem.nq, header->tiles.br);
    return by_block ? header->tiles.row_block : header->tiles.br;
}

/* The cell cursor's row if there is one, else the first row of the query tile where the run
 * stands. */
static int64_t choose_row(const struct view_scene *scene, int which)
{
    const struct view_moment *moment = &scene->moment[which];
    const struct view_cell *cell = &scene->frame->cell;
    int64_t nq = view_run_header(moment->run)->problem.nq;
    bool of_keys = cell->id == FA_K || cell->id == FA_V || cell->id == FA_DK || cell->id == FA_DV;
    int64_t row = moment->i >= 0 ? moment->i * unit_rows(moment) : 0;
    if (cell->on && !of_keys)
        row = cell->row;
    return row < 0 ? 0 : row >= nq ? nq - 1 : row;
}

/* Whether P V of the row's last absorbed tile was added: before that l is ahead of O. */
static bool accumulated(const struct view_run *run, uint64_t after, uint64_t landed)
{
    for (uint64_t e = after + 1; e < landed; e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind == SIM_COMPUTE && event->op == FA_OP_ACCUMULATE)
            return true;
    }
    return false;
}

static void read_steps(struct view_row_picture *p)
{
    const struct view_row *row = &p->row;
    uint64_t landed = p->moment->at.landed;
    int64_t n = 0;
    p->max = p->old_max = -INFINITY;
    while (n < row->n_steps && row->steps[n].event < landed)
        n++;
    for (int64_t s = 0; s < row->n_steps; s++)
        p->most_sum = fmax(p->most_sum, row->steps[s].sum);
    p->n_steps = n;
    if (n == 0)
        return;
    const struct view_row_step *now = &row->steps[n - 1];
    p->first = now->first;
    p->end = now->end;
    p->max = now->max;
    p->sum = now->sum;
    if (n > 1) {
        p->old_max = now[-1].max;
        p->old_sum = now[-1].sum;
    }
    p->factor = isinf(p->old_max) ? 0 : exp(p->old_max - p->max);
    p->rose = n > 1 && isfinite(p->old_max) && p->max > p->old_max;
    for (int64_t k = p->first; k < p->end; k++)
        p->added += view_row_weight(row->scores[k], p->max);
    p->divides = view_run_event(p->moment->run, now->event)->op == FA_OP_ABSORB &&
                 !view_run_header(p->moment->run)->algorithm->normalised;
    p->in_step = !p->divides || accumulated(p->moment->run, now->event, landed);
}

static void read_scores(struct view_row_picture *p)
{
    for (int64_t k = 0; k < p->row.keys; k++) {
        double s = p->row.scores[k];
        if (!isfinite(s))
            continue;
        p->low = fmin(p->low, s);
        p->high = fmax(p->high, s);
    }
    if (p->high <= p->low)
        p->high = p->low + 1;
}

static const char *title_of(const struct view_row_picture *p, bool compact, char *text, size_t size)
{
    if (compact)
        snprintf(text, size, "Row %s", SIM_GROUPED(p->index));
    else
        snprintf(text, size, "Row %s of Q against keys 0 to %s", SIM_GROUPED(p->index),
                 SIM_GROUPED(p->row.keys - 1));
    return text;
}

static const char *maximum_of(const struct view_row_picture *p, char *text, size_t size)
{
    char now[VIEW_NUMBER_TEXT], was[VIEW_NUMBER_TEXT];
    if (p->rose)
        snprintf(text, size, "m = %s  (was %s)", view_value_text(p->max, now),
                 view_value_text(p->old_max, was));
    else
        snprintf(text, size, "m = %s", view_value_text(p->max, now));
    return text;
}

static const char *no_row(struct view_run *run)
{
    const struct fa_problem *problem = &view_run_header(run)->problem;
    const char *reason = view_run_no_values(run);
    if (view_run_backward(run))
        return "A backward pass has no running maximum: its weights come from the stored LSE. Look "
               "at the row in a "
               "forward run: leave out --backward.";
    if (problem->nq < 1 || problem->nk < 1)
        return "This run has no queries or no keys, so there is no row. Run with --n 16.";
    if (reason)
        return reason;
    return "This run has more than 4 million scores a head: too many to keep. Run with a smaller "
           "N, up to 2 048.";
}

static void draw_one(struct view_draw *draw, const struct view_scene *scene, int which,
                     struct view_box plate)
{
    const struct view_moment *moment = &scene->moment[which];
    struct view_row_picture p = {.scene = scene, .which = which, .moment = moment};
    char title[96], maximum[96], note[96];
    bool empty = view_run_header(moment->run)->problem.nq < 1;

    if (!empty)
        p.index = choose_row(scene, which);
    if (empty || !view_run_row(moment->run, moment->head, p.index, &p.row)) {
        struct view_box box = view_stage_open(draw, plate, "One row", NULL, NULL);
        view_stage_says(draw, box, no_row(moment->run));
        return;
    }
    read_steps(&p);
    read_scores(&p);
    snprintf(note, sizeof note, "query tile %s, head %s",
             SIM_GROUPED(p.index / view_run_tiles(moment->run).br), SIM_GROUPED(moment->head));
    maximum_of(&p, maximum, sizeof maximum);
    struct view_box box =
        view_stage_open(draw, plate, title_of(&p, plate.w < 520, title, sizeof title), note,
                        scene->frame->covered ? "m = ?" : maximum);
    view_row_draw(draw, &p, box);
}

void view_stage_row(struct view_draw *draw, const struct view_scene *scene)
{
    view_stage_each(draw, scene, draw_one);
}
