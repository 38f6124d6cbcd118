/* The finished run's results against the double oracle. */
#include "visualizer/run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "simulator/check_gradients.h"

enum { MOST_TILES = 4096 };

/* Products that the oracle and the naive run are given, so that the answer is there within
 * seconds. */
#define MOST_PRODUCTS 3e9

struct view_errors {
    bool tried, tiles_tried;
    int n;
    struct view_error_row rows[4];
    double *tiles;
};

void view_errors_free(struct view_errors *errors)
{
    if (!errors)
        return;
    free(errors->tiles);
    free(errors);
}

static struct view_errors *open_errors(struct view_run *run)
{
    if (!run->errors)
        run->errors = calloc(1, sizeof *run->errors);
    return run->errors;
}

/* Whether the run's results are there, and small enough to be checked. */
static bool can_be_checked(const struct view_run *run)
{
    const struct fa_problem *p = &run->shape.problem;
    int64_t rows = run->backward || p->nq <= SIM_CHECK_ALL_ROWS ? p->nq : SIM_CHECK_SAMPLED_ROWS;
    double products = (double)p->batch * (double)p->heads * (double)rows * (double)p->nk *
                      (double)(p->d + p->dv) * (run->backward ? 3 : 1);
    if (!run->finished || run->refused || run->no_values[0] || products > MOST_PRODUCTS)
        return false;
    return !run->backward ||
           (p->nq <= SIM_CHECK_ALL_GRADIENTS && p->nk <= SIM_CHECK_ALL_GRADIENTS);
}

static struct view_error_row make_row(const char *name, enum fa_tensor_id id,
                                      const struct fa_comparison *comparison, double budget,
                                      const struct sim_check_part *part)
{
    return (struct view_error_row){
        .name = name,
        .id = id,
        .max_abs = comparison->max_abs_error,
        .rms = fa_comparison_rms(comparison),
        .budget = budget,
        .head = -1,
        .row = -1,
        .column = -1,
        .ours = NAN,
        .truth = NAN,
        .passed = fa_comparison_within(comparison, budget) && part->wrong == 0,
    };
}

/* Where the worst of n_rows x columns elements a head stands. */
static void place_worst(struct view_error_row *row, int64_t worst, int64_t n_rows, int64_t columns)
{
    if (worst < 0)
        return;
    row->head = worst / (n_rows * columns);
    row->row = worst / columns % n_rows;
    row->column = worst % columns;
}

static double element(const struct fa_tensor *tensor, const struct view_error_row *row)
{
    int64_t heads = tensor->shape[1];
    return fa_tensor_get(tensor, row->head / heads, row->head % heads, row->row, row->column);
}

/* Ours and the truth at the worst element of O or LSE. */
static void fill_forward(const struct sim_experiment *e, struct view_error_row *row)
{
    const struct fa_tensor *tensor = row->id == FA_O ? e->o : e->lse;
    double *o = row->head < 0 ? NULL : malloc((size_t)e->problem.dv * sizeof *o), lse;
    if (!o)
        return;
    row->ours = element(tensor, row);
    if (fa_oracle_rows(&e->problem, e->q, e->k, e->v, row->head, &row->row, 1, o, &lse, NULL) ==
        FA_OK)
        row->truth = row->id == FA_O ? o[row->column] : lse;
    free(o);
}

static void check_forward(const struct view_run *run, struct view_errors *errors)
{
    const struct sim_experiment *e = &run->source.experiment;
    const struct fa_problem *p = &e->problem;
    struct sim_check check;
    if (sim_check_forward(p, e->q, e->k, e->v, e->o, e->lse, SIM_CHECK_SAMPLE,
                          sim_error_factor(&run->result), 1, NULL, &check, NULL) != FA_OK)
        return;
    struct view_error_row *row = &errors->rows[errors->n++];
    *row = make_row("O", FA_O, &check.o, check.o_budget, &check.o_part);
    row->head = check.worst_head;
    row->row = check.worst_row;
    row->column = check.worst_column;
    fill_forward(e, row);
    if (!e->lse || !e->lse->data)
        return;
    row = &errors->rows[errors->n++];
    *row = make_row("LSE", FA_LSE, &check.lse, check.lse_budget, &check.lse_part);
    place_worst(row, check.lse.worst, check.sampled ? SIM_CHECK_SAMPLED_ROWS : p->nq, 1);
    if (check.sampled && row->head >= 0) {
        int64_t sample[SIM_CHECK_SAMPLED_ROWS];
        sim_check_sample(p, row->head, sample);
        row->row = sample[row->row];
    }
    fill_forward(e, row);
}

/* The oracle's gradient of the row, or key, that the worst element is in. */
static void fill_backward(const struct sim_experiment *e, const struct fa_tensor *tensor,
                          struct view_error_row *row)
{
    const struct fa_problem *p = &e->problem;
    int64_t group = p->kv_heads > 0 ? p->heads / p->kv_heads : 1;
    bool of_rows = row->id == FA_DQ;
    int64_t kv_head = of_rows ? row->head / group : row->head;
    struct fa_gradient_parts parts = {&row->row, &row->row, of_rows, !of_rows};
    double *truth = row->head < 0 ? NULL
                                  : malloc((size_t)(group * tensor->shape[3]) * sizeof *truth);
    if (!truth)
        return;
    row->ours = element(tensor, row);
    if (fa_oracle_gradients(p, e->q, e->k, e->v, e->dout, kv_head, &parts, of_rows ? truth : NULL,
                            row->id == FA_DK ? truth : NULL, row->id == FA_DV ? truth : NULL,
                            NULL) == FA_OK)
        row->truth = truth[(of_rows ? row->head % group * p->d : 0) + row->column];
    free(truth);
}

static void check_backward(const struct view_run *run, struct view_errors *errors)
{
    const struct sim_experiment *e = &run->source.experiment;
    struct sim_check_gradients check;
    if (sim_check_backward(&e->problem, e->q, e->k, e->v, e->dout, e->dq, e->dk, e->dv,
                           SIM_CHECK_FULL, sim_error_factor_dq(&run->result),
                           sim_error_factor_dkv(&run->result), 1, NULL, &check, NULL) != FA_OK)
        return;
    const struct {
        const char *name;
        enum fa_tensor_id id;
        const struct fa_tensor *tensor;
        const struct fa_comparison *comparison;
        double budget;
        const struct sim_check_part *part;
    } gradients[] = {{"dQ", FA_DQ, e->dq, &check.dq, check.dq_budget, &check.dq_part},
                     {"dK", FA_DK, e->dk, &check.dk, check.dk_budget, &check.dk_part},
                     {"dV", FA_DV, e->dv, &check.dv, check.dv_budget, &check.dv_part}};
    for (int n = 0; n < 3; n++) {
        struct view_error_row *row = &errors->rows[errors->n++];
        *row = make_row(gradients[n].name, gradients[n].id, gradients[n].comparison,
                        gradients[n].budget, gradients[n].part);
        place_worst(row, gradients[n].comparison->worst, gradients[n].tensor->shape[2],
                    gradients[n].tensor->shape[3]);
        fill_backward(e, gradients[n].tensor, row);
    }
}

int view_run_errors(struct view_run *run, struct view_error_row rows[4])
{
    struct view_errors *errors = open_errors(run);
    if (!errors)
        return 0;
    if (!errors->tried) {
        errors->tried = true;
        if (can_be_checked(run) && run->backward)
            check_backward(run, errors);
        else if (can_be_checked(run))
            check_forward(run, errors);
    }
    memcpy(rows, errors->rows, (size_t)errors->n * sizeof *rows);
    return errors->n;
}

/* The largest difference in one row of head 0; infinite where but one of the two is NaN. */
static double row_error(const struct fa_tensor *tensor, int64_t row, const double *truth)
{
    double most = 0;
    for (int64_t c = 0; c < tensor->shape[3]; c++) {
        double ours = fa_tensor_get(tensor, 0, 0, row, c);
        double error = isnan(ours) && isnan(truth[c]) ? 0 : fabs(ours - truth[c]);
        most = error <= most ? most : isnan(error) ? INFINITY : error;
    }
    return most;
}

/* A tile of the backward pass has part in the dQ of its rows and in the dK and dV of its keys. */
static void spread(const struct view_run *run, const struct fa_tensor *tensor, const double *truth,
                   bool of_rows, double *tiles)
{
    int64_t size = of_rows ? run->shape.tiles.br : run->shape.tiles.bc;
    for (int64_t row = 0; row < tensor->shape[2]; row++) {
        double error = row_error(tensor, row, truth + row * tensor->shape[3]);
        for (int64_t n = 0; n < (of_rows ? run->tc : run->tr); n++) {
            double *tile = of_rows ? &tiles[row / size * run->tc + n]
                                   : &tiles[n * run->tc + row / size];
            *tile = error > *tile ? error : *tile;
        }
    }
}

/* The gradients of the first K/V head's group, of which dQ is looked at in head 0. */
static double *backward_tiles(const struct view_run *run)
{
    const struct sim_experiment *e = &run->source.experiment;
    const struct fa_problem *p = &e->problem;
    int64_t group = p->kv_heads > 0 ? p->heads / p->kv_heads : 1;
    int64_t most = p->nq > p->nk ? p->nq : p->nk;
    size_t n_tiles = (size_t)(run->tr * run->tc);
    size_t n_dq = (size_t)(group * p->nq * p->d), n_dk = (size_t)(p->nk * p->d);
    double *tiles = calloc(n_tiles + 1, sizeof *tiles);
    double *truth = malloc((n_dq + n_dk + (size_t)(p->nk * p->dv) + 1) * sizeof *truth);
    int64_t *all = malloc((size_t)(most + 1) * sizeof *all);
    struct fa_gradient_parts parts = {all, all, p->nq, p->nk};
    bool made = tiles && truth && all;
    for (int64_t n = 0; n < most && made; n++)
        all[n] = n;
    made = made && fa_oracle_gradients(p, e->q, e->k, e->v, e->dout, 0, &parts, truth, truth + n_dq,
                                       truth + n_dq + n_dk, NULL) == FA_OK;
    if (made) {
        spread(run, e->dq, truth, true, tiles);
        spread(run, e->dk, truth + n_dq, false, tiles);
        spread(run, e->dv, truth + n_dq + n_dk, false, tiles);
    }
    for (int64_t t = 0; t < run->tr * run->tc && made; t++)
        if (view_run_score(run, 0, t / run->tc, t % run->tc, view_run_length(run), NULL, NULL) !=
            VIEW_SCORE_DONE)
            tiles[t] = NAN;
    free(truth);
    free(all);
    if (made)
        return tiles;
    free(tiles);
    return NULL;
}

const double *view_run_tile_errors(struct view_run *run)
{
    struct view_errors *errors = open_errors(run);
    const struct view_audit *audit = run->survey ? view_survey_audit(run->survey) : NULL;
    if (!errors || run->no_values[0] || run->tr > MOST_TILES || run->tc > MOST_TILES ||
        run->tr * run->tc > MOST_TILES)
        return NULL;
    if (!run->backward)
        return audit ? view_audit_tiles(audit) : NULL;
    if (!errors->tiles_tried && can_be_checked(run))
        errors->tiles = backward_tiles(run);
    errors->tiles_tried = true;
    return errors->tiles;
}
