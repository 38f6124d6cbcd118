/* The finished forward run's S, P, LSE and O against a softmax in double of its own. */
#include "visualizer/run_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "visualizer/truth.h"

enum { S, P, LSE, O };

/* Of one stage while its elements go by. */
struct sum {
    double most, squares;
    uint64_t n;
};

struct view_stage_errors {
    int n;
    struct view_stage_error stages[VIEW_ERROR_STAGES];
};

/* Where the stages of a run are found. */
struct source {
    struct view_run *run;
    const struct sim_experiment *experiment;
    const struct view_values *values; /* as head 0 left HBM, where it holds S or P; else NULL */
    bool has_s, has_p;                /* it holds them */
};

void view_stage_errors_free(struct view_stage_errors *errors)
{
    free(errors);
}

/* A hidden key has no score to be off from. */
static void add(struct sum *sum, double ours, double truth)
{
    if (!isfinite(truth))
        return;
    double error = isnan(ours) ? INFINITY : fabs(ours - truth);
    sum->most = fmax(sum->most, error);
    sum->squares += error * error;
    sum->n++;
}

/* The events of head 0 stand before those of all others, where S or P is stored. */
static uint64_t end_of_head(const struct view_run *run)
{
    uint64_t landed = view_run_length(run);
    while (landed > 0 && view_run_event(run, landed - 1)->head > 0)
        landed--;
    return landed;
}

static double stored(const struct source *source, enum fa_tensor_id id, int64_t row, int64_t key)
{
    double value = NAN;
    view_values_hbm(source->values, id, 0, row, key, &value);
    return value;
}

/* One row of all stages. */
static bool add_row(const struct source *source, struct view_truth *truth, int64_t row,
                    struct sum sums[VIEW_ERROR_STAGES])
{
    const struct sim_experiment *e = source->experiment;
    const struct fa_problem *p = &e->problem;
    struct view_row on_chip = {.keys = 0};
    if (!source->has_s && !view_run_row(source->run, 0, row, &on_chip))
        return false;
    view_truth_absorb(truth, row, 0, p->nk, true);
    double lse = truth->max[row] + log(truth->sum[row]);
    view_truth_score(truth, row, 0, p->nk);
    for (int64_t key = 0; key < p->nk; key++) {
        double score = truth->scores[key];
        add(&sums[S], source->has_s ? stored(source, FA_S, row, key) : on_chip.scores[key], score);
        if (source->has_p && isfinite(score))
            add(&sums[P], stored(source, FA_P, row, key), exp(score - lse));
    }
    if (!(truth->sum[row] > 0)) /* it sees no key */
        return true;
    add(&sums[LSE], fa_tensor_get(e->lse, 0, 0, row, 0), lse);
    for (int64_t c = 0; c < p->dv; c++)
        add(&sums[O], fa_tensor_get(e->o, 0, 0, row, c),
            truth->o[row * p->dv + c] / truth->sum[row]);
    return true;
}

static bool add_rows(const struct source *source, struct sum sums[VIEW_ERROR_STAGES])
{
    const struct sim_experiment *e = source->experiment;
    struct view_truth truth;
    struct fa_run shape = source->run->shape;
    bool made = view_truth_open(&truth, &e->problem);
    shape.tensor[FA_Q] = *e->q;
    shape.tensor[FA_K] = *e->k;
    shape.tensor[FA_V] = *e->v;
    if (made)
        view_truth_begin(&truth, &shape, 0);
    for (int64_t row = 0; row < e->problem.nq && made; row++)
        made = add_row(source, &truth, row, sums);
    view_truth_close(&truth);
    return made;
}

static void fill(const struct source *source, const struct sum sums[VIEW_ERROR_STAGES],
                 struct view_stage_errors *errors)
{
    static const enum fa_tensor_id ids[] = {FA_S, FA_P, FA_LSE, FA_O};
    const struct fa_problem *p = &source->experiment->problem;
    for (int n = 0; n < VIEW_ERROR_STAGES; n++) {
        bool in_hbm = n == S ? source->has_s : n == P ? source->has_p : true;
        errors->stages[n] = (struct view_stage_error){
            .id = ids[n],
            .formed = sums[n].n > 0,
            .in_hbm = in_hbm,
            .format = in_hbm                ? fa_hbm_format(p, ids[n])
                      : p->dtype == FA_F64 ? FA_F64
                                            : FA_F32,
            .max_abs = sums[n].most,
            .rms = sums[n].n > 0 ? sqrt(sums[n].squares / (double)sums[n].n) : 0,
        };
    }
    errors->n = VIEW_ERROR_STAGES;
}

static void measure(struct view_run *run, struct view_stage_errors *errors)
{
    struct sum sums[VIEW_ERROR_STAGES] = {{0, 0, 0}};
    struct source source = {.run = run,
                            .experiment = &run->source.experiment,
                            .has_s = run->in_hbm & FA_BIT(FA_S),
                            .has_p = run->in_hbm & FA_BIT(FA_P)};
    const struct fa_problem *p = &run->shape.problem;
    const struct sim_experiment *e = source.experiment;
    if (run->backward || !run->finished || run->refused || run->no_values[0] || p->batch < 1 ||
        p->nq < 1 || p->nk < 1 || p->nq > VIEW_MOST_STAGE_SCORES / p->nk || !e->lse ||
        !e->lse->data)
        return;
    if (source.has_s || source.has_p)
        source.values = view_run_values(run, end_of_head(run));
    if (!source.values && (source.has_s || source.has_p))
        return;
    if (add_rows(&source, sums))
        fill(&source, sums, errors);
}

int view_run_stage_errors(struct view_run *run, struct view_stage_error stages[VIEW_ERROR_STAGES])
{
    if (!run->stage_errors) {
        run->stage_errors = calloc(1, sizeof *run->stage_errors);
        if (!run->stage_errors)
            return 0;
        measure(run, run->stage_errors);
    }
    memcpy(stages, run->stage_errors->stages,
           (size_t)run->stage_errors->n * sizeof *run->stage_errors->stages);
    return run->stage_errors->n;
}
