/* Running a sweep: points handed out to the cores one by one. */
#include "simulator/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { DEFAULT_SIDE = 64 };

static int worker_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static enum fa_status check_axes(const struct sim_sweep *sweep, int *n_points,
                                 struct fa_error *error)
{
    bool seen[SIM_SWEEP_KEYS] = {false};
    int64_t n = 1;
    enum sim_policy policy = sweep->base.tiles.policy;

    for (int a = 0; a < sweep->n_axes; a++) {
        enum sim_sweep_key key = sweep->axes[a].key;
        if (seen[key])
            return fa_fail(error, FA_BAD_ARGUMENT, "%s is varied twice: expected one list or range",
                           sim_sweep_key_name(key));
        seen[key] = true;
        n *= sweep->axes[a].n; /* below 2^16 x 2^12 */
        if (n > SIM_SWEEP_POINTS)
            return fa_fail(error, FA_TOO_LARGE, "the sweep has more than %d points",
                           SIM_SWEEP_POINTS);
    }
    if ((seen[SIM_SWEEP_BR] || seen[SIM_SWEEP_BC]) && policy != SIM_TILES_GIVEN &&
        policy != SIM_TILES_DEFAULT)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s is varied, but the rule \"%s\" chooses the tiles: expected one of them",
                       seen[SIM_SWEEP_BR] ? "br" : "bc", sim_policy_name(policy));
    *n_points = (int)n;
    return FA_OK;
}

static void set_tile_side(struct sim_tile_choice *tiles, enum sim_sweep_key key, int64_t value)
{
    if (tiles->policy != SIM_TILES_GIVEN)
        *tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, DEFAULT_SIDE, DEFAULT_SIDE};
    if (key == SIM_SWEEP_BR)
        tiles->br = value;
    else
        tiles->bc = value;
}

static void apply(const struct sim_sweep *sweep, enum sim_sweep_key key, int64_t value,
                  struct sim_experiment *experiment)
{
    struct fa_problem *problem = &experiment->problem;
    switch (key) {
    case SIM_SWEEP_N:
        problem->nq = problem->nk = value;
        return;
    case SIM_SWEEP_D:
        problem->d = value;
        if (sweep->dv_follows_d)
            problem->dv = value;
        if (sweep->scale_follows_d)
            problem->scale = 1 / sqrt((double)value);
        return;
    case SIM_SWEEP_SRAM:
        experiment->machine.sram_bytes = (uint64_t)value;
        return;
    case SIM_SWEEP_BR:
    case SIM_SWEEP_BC:
        set_tile_side(&experiment->tiles, key, value);
        return;
    case SIM_SWEEP_ALGORITHM:
        experiment->algorithm = fa_algorithms[value];
        return;
    case SIM_SWEEP_KEYS:
        return;
    }
}

/* The experiment of one point, and its values. */
static struct sim_experiment experiment_of(const struct sim_sweep *sweep, int index,
                                           struct sim_sweep_point *point)
{
    struct sim_experiment experiment = sweep->base;
    experiment.mode = SIM_COUNT_ONLY;
    experiment.threads = 1;
    experiment.q = experiment.k = experiment.v = experiment.o = experiment.lse = NULL;
    experiment.dout = experiment.dq = experiment.dk = experiment.dv = NULL;
    experiment.trace = NULL;
    for (int key = 0; key < SIM_SWEEP_KEYS; key++)
        point->value[key] = -1;
    for (int a = sweep->n_axes - 1; a >= 0; a--) {
        const struct sim_sweep_axis *axis = &sweep->axes[a];
        int64_t value = axis->value[index % axis->n];
        index /= axis->n;
        point->value[axis->key] = value;
        apply(sweep, axis->key, value, &experiment);
    }
    return experiment;
}

static bool is_refusal(enum fa_status status)
{
    return status == FA_DOES_NOT_FIT || status == FA_TOO_LARGE;
}

/* A refused point says what was asked; nothing was counted. */
static enum fa_status keep_refused(const struct sim_experiment *experiment, bool blocks,
                                   struct sim_sweep_point *point, struct fa_error *error)
{
    struct sim_result *result = &point->result;
    memset(result, 0, sizeof *result);
    result->algorithm = experiment->algorithm;
    result->pass = experiment->pass;
    result->problem = experiment->problem;
    result->problem.blocks = NULL;
    result->has_blocks = blocks;
    result->blocks_share = NAN;
    result->machine = experiment->machine;
    result->policy = experiment->tiles.policy;
    if (experiment->tiles.policy == SIM_TILES_GIVEN) {
        result->tiles.br = experiment->tiles.br;
        result->tiles.bc = experiment->tiles.bc;
    }
    size_t length = strlen(error->text);
    point->message = malloc(length + 1);
    if (!point->message)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the points of a sweep");
    memcpy(point->message, error->text, length + 1);
    return FA_OK;
}

/* What the workers share; all of it changes in a critical section. */
struct shared {
    const struct sim_sweep *sweep;
    int n_points;
    double finished;
    double *partial; /* a share of the point at hand, by worker */
    int n_workers;
    bool stop;
    int first_failed; /* index of the point whose error is reported */
    struct fa_error error;
};

struct worker {
    struct shared *shared;
    int index;
};

/* Called within the critical section. */
static void report_progress(struct shared *shared)
{
    const struct fa_watch *watch = shared->sweep->watch;
    double done = shared->finished;
    for (int w = 0; w < shared->n_workers; w++)
        done += shared->partial[w];
    done /= shared->n_points;
    if (watch && watch->tick && !shared->stop &&
        !watch->tick(watch->context, done > 1 ? 1 : done)) {
        shared->stop = true;
        shared->first_failed = -1;
        fa_fail(&shared->error, FA_CANCELLED, "cancelled");
    }
}

static bool tick(void *context, double done)
{
    struct worker *worker = context;
    struct shared *shared = worker->shared;
    bool go_on;
#pragma omp critical(sim_sweep)
    {
        shared->partial[worker->index] = done;
        report_progress(shared);
        go_on = !shared->stop;
    }
    return go_on;
}

/* Says at which point of the grid an error arose. */
static void locate(const struct sim_sweep_point *point, struct fa_error *error)
{
    char place[160] = "", text[sizeof error->text];
    size_t length = 0;
    for (int key = 0; key < SIM_SWEEP_KEYS && length < sizeof place; key++) {
        if (point->value[key] < 0 || key == SIM_SWEEP_ALGORITHM)
            continue;
        int n = snprintf(place + length, sizeof place - length, "%s%s=%" PRId64, length ? ", " : "",
                         sim_sweep_key_name((enum sim_sweep_key)key), point->value[key]);
        length += n > 0 ? (size_t)n : 0;
    }
    memcpy(text, error->text, sizeof text);
    text[800] = '\0';
    if (length > 0)
        fa_fail(error, error->status, "at %s: %s", place, text);
}

/* The count of one point, with the block mask that its tiles ask for. */
static enum fa_status count_point(const struct sim_sweep *sweep, struct sim_experiment *experiment,
                                  struct sim_sweep_point *point, struct fa_error *error)
{
    struct fa_block_mask blocks = {.visit = NULL};
    struct fa_tiles tiles;
    enum fa_status status = FA_OK;
    if (sweep->pattern) {
        status = sim_experiment_tiles(experiment, &tiles, error);
        if (status == FA_OK)
            status = fa_block_pattern_make(sweep->pattern, experiment->problem.nq,
                                           experiment->problem.nk, tiles.br, tiles.bc, &blocks,
                                           error);
        if (status == FA_OK)
            experiment->problem.blocks = &blocks;
    }
    if (status == FA_OK)
        status = sim_experiment_run(experiment, &point->result, error);
    if (sweep->pattern)
        point->result.problem.blocks = NULL;
    fa_block_mask_free(&blocks);
    return status;
}

static void run_point(struct shared *shared, struct sim_sweep_point *points, int index)
{
    struct sim_sweep_point *point = &points[index];
    struct worker worker = {shared, worker_index()};
    struct fa_watch watch = {tick, &worker};
    struct fa_error error = {FA_OK, ""};
    struct sim_experiment experiment = experiment_of(shared->sweep, index, point);
    bool stop;

#pragma omp critical(sim_sweep)
    stop = shared->stop;
    if (stop)
        return;
    experiment.watch = &watch;
    enum fa_status status = count_point(shared->sweep, &experiment, point, &error);
    point->status = status;
    if (is_refusal(status))
        status = keep_refused(&experiment, shared->sweep->pattern != NULL, point, &error);
    else if (status)
        locate(point, &error);
#pragma omp critical(sim_sweep)
    {
        shared->partial[worker.index] = 0;
        shared->finished += 1;
        if (status && (!shared->stop || index < shared->first_failed)) {
            shared->stop = true;
            shared->first_failed = index;
            shared->error = error;
        } else {
            report_progress(shared);
        }
    }
}

static void free_points(struct sim_sweep_point *points, int n)
{
    for (int i = 0; points && i < n; i++)
        free(points[i].message);
    free(points);
}

enum fa_status sim_sweep_run(struct sim_sweep *sweep, struct fa_error *error)
{
    int threads = sweep->threads > 1 ? sweep->threads : 1;
    struct shared shared = {.sweep = sweep, .n_workers = threads};
    struct sim_sweep_point *points = NULL;
    enum fa_status status = check_axes(sweep, &shared.n_points, error);

    sweep->points = NULL;
    sweep->n_points = sweep->n_refused = 0;
    if (status)
        return status;
    points = calloc((size_t)shared.n_points, sizeof *points);
    shared.partial = calloc((size_t)threads, sizeof *shared.partial);
    if (!points || !shared.partial) {
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the points of a sweep");
        goto done;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < shared.n_points; i++)
        run_point(&shared, points, i);
    if (shared.stop) {
        status = fa_fail(error, shared.error.status, "%s", shared.error.text);
        goto done;
    }
    sweep->points = points;
    sweep->n_points = shared.n_points;
    for (int i = 0; i < shared.n_points; i++)
        sweep->n_refused += points[i].status != FA_OK;
    points = NULL;
done:
    free(shared.partial);
    free_points(points, shared.n_points);
    return status;
}

void sim_sweep_free(struct sim_sweep *sweep)
{
    free_points(sweep->points, sweep->n_points);
    sweep->points = NULL;
    sweep->n_points = sweep->n_refused = 0;
}
