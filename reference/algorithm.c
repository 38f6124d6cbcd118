#include "reference/algorithm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

const struct fa_algorithm *const fa_algorithms[FA_ALGORITHMS] = {
    &fa_standard, &fa_flash1, &fa_flash2, &fa_fused_save_p, &fa_square_tiling,
};

const struct fa_algorithm *fa_algorithm_find(const char *name)
{
    for (int a = 0; a < FA_ALGORITHMS; a++)
        if (strcmp(fa_algorithms[a]->name, name) == 0)
            return fa_algorithms[a];
    return NULL;
}

/* What the workers of one fa_execute share. */
struct execution {
    const struct fa_algorithm *algorithm;
    struct fa_port *const *ports;
    int n_ports;
    const struct fa_watch *watch;
    double total, done; /* units */
    bool stop;
};

static double share_done(const struct execution *execution, double units)
{
    double share = execution->total > 0 ? units / execution->total : 1;
    return share < 1 ? share : 1;
}

/* Called by one worker at a time. */
static void unit_done(struct execution *execution, const struct fa_port *port)
{
    execution->done++;
    if (port->status != FA_OK)
        execution->stop = true;
    if (port->status != FA_CANCELLED && execution->watch && execution->watch->tick &&
        !execution->watch->tick(execution->watch->context,
                                share_done(execution, execution->done)))
        execution->stop = true;
}

/* Called from inside a unit, by any worker. */
static void part_done(struct fa_port *port, double share)
{
    struct execution *execution = port->execution;
    bool go_on = true;
    if (!execution->watch || !execution->watch->tick)
        return;
#ifdef _OPENMP
#pragma omp critical(fa_unit_done)
#endif
    go_on = execution->watch->tick(execution->watch->context,
                                   share_done(execution, execution->done + share));
    if (!go_on)
        port->status = fa_fail(&port->error, FA_CANCELLED, "stopped before the run was done");
}

/* Runs `units` units of each head in [first_head, end_head), any order, on all workers. */
static void run_units(struct execution *execution, int phase, int64_t first_head, int64_t end_head,
                      int64_t units)
{
    int64_t n = (end_head - first_head) * units;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(execution->n_ports) \
    if (execution->n_ports > 1)
#endif
    for (int64_t u = 0; u < n; u++) {
        int worker = 0;
        bool stop;
#ifdef _OPENMP
        worker = omp_get_thread_num();
#pragma omp atomic read
        stop = execution->stop;
#else
        stop = execution->stop;
#endif
        if (stop)
            continue;
        execution->algorithm->unit(execution->ports[worker], phase, first_head + u / units,
                                   u % units);
#ifdef _OPENMP
#pragma omp critical(fa_unit_done)
#endif
        unit_done(execution, execution->ports[worker]);
    }
}

static bool by_group(const struct fa_algorithm *algorithm, int phase)
{
    return algorithm->by_group && algorithm->by_group[phase];
}

int64_t fa_execution_heads(const struct fa_algorithm *algorithm, const struct fa_problem *problem)
{
    return problem->batch * (algorithm->by_group ? problem->kv_heads : problem->heads);
}

/* One phase for the heads [first, end), which are K/V heads where the algorithm has groups. */
static void run_phase(struct execution *execution, int phase, int64_t first, int64_t end)
{
    const struct fa_algorithm *algorithm = execution->algorithm;
    const struct fa_problem *problem = &execution->ports[0]->run->problem;
    int64_t group = 1;
    if (algorithm->by_group && !by_group(algorithm, phase))
        group = problem->heads / problem->kv_heads;
    run_units(execution, phase, first * group, end * group,
              algorithm->units(execution->ports[0]->run, phase));
}

enum fa_status fa_execute(const struct fa_algorithm *algorithm, struct fa_port *const *ports,
                          int n_ports, int64_t heads, const struct fa_watch *watch,
                          struct fa_error *error)
{
    const struct fa_run *run = ports[0]->run;
    struct execution execution = {algorithm, ports, n_ports, watch, 0, 0, false};
    /* One S and P for all heads are used by one head at a time; else workers want all there is. */
    bool shared = run->tensor[FA_S].data && run->tensor[FA_S].stride[1] == 0;
    bool phase_by_phase = algorithm->n_phases == 1 || (n_ports > 1 && !shared);

    if (heads > 0)
        for (int phase = 0; phase < algorithm->n_phases; phase++)
            execution.total += (double)algorithm->units(run, phase) * (double)heads;
    for (int p = 0; p < n_ports; p++) {
        ports[p]->tick = part_done;
        ports[p]->execution = &execution;
    }
    if (phase_by_phase && heads > 0) {
        for (int phase = 0; phase < algorithm->n_phases && !execution.stop; phase++)
            run_phase(&execution, phase, 0, heads);
    } else {
        for (int64_t head = 0; head < heads && !execution.stop; head++)
            for (int phase = 0; phase < algorithm->n_phases && !execution.stop; phase++)
                run_phase(&execution, phase, head, head + 1);
    }
    for (int p = 0; p < n_ports; p++) {
        ports[p]->tick = NULL;
        ports[p]->execution = NULL;
    }
    for (int p = 0; p < n_ports; p++)
        if (ports[p]->status != FA_OK) {
            if (error)
                *error = ports[p]->error;
            return ports[p]->status;
        }
    if (execution.stop)
        return fa_fail(error, FA_CANCELLED, "stopped before the run was done");
    return FA_OK;
}

static const struct fa_tensor nothing;

static enum fa_status check_input(const struct fa_problem *problem, const char *name,
                                  const struct fa_tensor *tensor, const int64_t shape[4],
                                  enum fa_dtype dtype, struct fa_error *error)
{
    if (memcmp(tensor->shape, shape, sizeof tensor->shape) != 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s is [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                       "]: the problem needs [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
                       name, tensor->shape[0], tensor->shape[1], tensor->shape[2],
                       tensor->shape[3], shape[0], shape[1], shape[2], shape[3]);
    if (tensor->dtype != dtype)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s is %s: the problem's dtype is %s, expected %s",
                       name, fa_dtype_name(tensor->dtype), fa_dtype_name(problem->dtype),
                       fa_dtype_name(dtype));
    return FA_OK;
}

/* The tensors that the caller brings. */
static enum fa_status take_inputs(struct fa_run *run, const struct fa_tensor *given[FA_HBM_TENSORS],
                                  struct fa_error *error)
{
    const struct fa_problem *p = &run->problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    const struct {
        enum fa_tensor_id id;
        const int64_t *shape;
    } wanted[] = {{FA_Q, q}, {FA_K, k}, {FA_V, v}, {FA_O, o}, {FA_LSE, lse}};

    for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n++) {
        enum fa_tensor_id id = wanted[n].id;
        enum fa_dtype dtype = fa_hbm_format(p, id);
        if (!given[id]) {
            run->tensor[id] = fa_tensor_view(dtype, wanted[n].shape, NULL);
            continue;
        }
        enum fa_status status =
            check_input(p, fa_tensor_name(id), given[id], wanted[n].shape, dtype, error);
        if (status != FA_OK)
            return status;
        run->tensor[id] = *given[id];
        run->tensor[id].memory = NULL;
    }
    if (p->bias) {
        enum fa_status status =
            check_input(p, "bias", p->bias, p->bias->shape, p->dtype, error);
        if (status != FA_OK)
            return status;
        run->tensor[FA_BIAS] = *p->bias;
        run->tensor[FA_BIAS].memory = NULL;
    }
    if (p->mask) {
        run->tensor[FA_MASK] = *p->mask;
        run->tensor[FA_MASK].memory = NULL;
    }
    if (p->dropout_keep) {
        run->tensor[FA_DROPOUT] = *p->dropout_keep;
        run->tensor[FA_DROPOUT].memory = NULL;
    }
    return FA_OK;
}

/* A tiled algorithm skips whole blocks, so its tiles are the blocks. */
static enum fa_status check_blocks(const struct fa_algorithm *algorithm,
                                   const struct fa_problem *problem, const struct fa_tiles *tiles,
                                   struct fa_error *error)
{
    const struct fa_block_mask *blocks = problem->blocks;
    if (!blocks || algorithm->stores_scores || algorithm == &fa_standard_backward ||
        (blocks->br == tiles->br && blocks->bc == tiles->bc))
        return FA_OK;
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "the block mask has blocks of %" PRId64 "x%" PRId64 ", the run tiles of %" PRId64
                   "x%" PRId64 ": expected the same",
                   blocks->br, blocks->bc, tiles->br, tiles->bc);
}

/* A tensor that the algorithm keeps in HBM for itself. */
static enum fa_status make_own(struct fa_run *run, enum fa_tensor_id id, int64_t columns,
                               bool with_data, bool shared, struct fa_error *error)
{
    const struct fa_problem *p = &run->problem;
    const int64_t shape[4] = {p->batch, p->heads, p->nq, columns};
    const int64_t one_head[4] = {p->batch > 0, p->heads > 0, p->nq, columns};
    enum fa_dtype dtype = fa_hbm_format(p, id);
    if (!with_data) {
        run->tensor[id] = fa_tensor_view(dtype, shape, NULL);
        return FA_OK;
    }
    enum fa_status status =
        fa_tensor_create(&run->tensor[id], dtype, shared ? one_head : shape, error);
    if (status == FA_OK && shared) {
        memcpy(run->tensor[id].shape, shape, sizeof shape);
        run->tensor[id].stride[0] = run->tensor[id].stride[1] = 0;
    }
    return status;
}

enum fa_status fa_run_open(struct fa_run *run, const struct fa_algorithm *algorithm,
                           const struct fa_problem *problem, const struct fa_tiles *tiles,
                           const struct fa_tensor *q, const struct fa_tensor *k,
                           const struct fa_tensor *v, const struct fa_tensor *o,
                           const struct fa_tensor *lse, bool keep, struct fa_error *error)
{
    const struct fa_tensor *given[FA_HBM_TENSORS] = {
        [FA_Q] = q, [FA_K] = k, [FA_V] = v, [FA_O] = o, [FA_LSE] = lse,
    };
    bool with_data = q && q->data;
    struct fa_run made = {.problem = *problem, .tiles = *tiles};
    enum fa_status status = fa_problem_check(problem, error);
    if (status != FA_OK)
        return status;
    if (tiles->br < 1 || tiles->bc < 1 ||
        (algorithm->stores_scores && (tiles->row_block < 1 || tiles->column_chunk < 1)))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "tiles of %" PRId64 " x %" PRId64 " (row-wise %" PRId64 " x %" PRId64
                       "): expected 1 or more each",
                       tiles->br, tiles->bc, tiles->row_block, tiles->column_chunk);
    status = check_blocks(algorithm, problem, tiles, error);
    if (status != FA_OK)
        return status;
    if (problem->dropout_p > 0 && algorithm == &fa_fused_save_p)
        return fa_fail(error, FA_UNSUPPORTED,
                       "fused-save-p takes no dropout: its stored P would have to be two; use "
                       "standard, flash1 or flash2");
    if (with_data && (!k || !v || !o || !k->data || !v->data || !o->data))
        return fa_fail(error, FA_BAD_ARGUMENT, "k, v and o need data where q has it");
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        made.tensor[id] = nothing;
    status = take_inputs(&made, given, error);
    if (status == FA_OK && algorithm->stores_scores)
        status = make_own(&made, FA_S, problem->nk, with_data, !keep, error);
    if (status == FA_OK && algorithm->stores_weights)
        status = make_own(&made, FA_P, problem->nk, with_data, algorithm->stores_scores && !keep,
                          error);
    if (status == FA_OK && with_data && !lse && algorithm->stores_lse)
        status = make_own(&made, FA_LSE, 1, true, false, error);
    if (status == FA_OK && algorithm->stores_statistics) {
        status = make_own(&made, FA_L, 1, with_data, false, error);
        if (status == FA_OK)
            status = make_own(&made, FA_M, 1, with_data, false, error);
    }
    if (status == FA_OK && algorithm->stores_scores && problem->dropout_p > 0) {
        status = make_own(&made, FA_PD, problem->nk, with_data, !keep, error);
        if (status == FA_OK && !problem->dropout_keep)
            status = make_own(&made, FA_DROPOUT, problem->nk, with_data, !keep, error);
    }
    if (status != FA_OK) {
        fa_run_close(&made);
        return status;
    }
    if (lse && !algorithm->stores_lse) {
        made.lse_outside = made.tensor[FA_LSE];
        made.tensor[FA_LSE] = nothing;
    }
    *run = made;
    return FA_OK;
}

enum fa_status fa_run_open_backward(struct fa_run *run, const struct fa_algorithm *algorithm,
                                    const struct fa_run *forward, const struct fa_tiles *tiles,
                                    const struct fa_tensor *dout, const struct fa_tensor *dq,
                                    const struct fa_tensor *dk, const struct fa_tensor *dv,
                                    struct fa_error *error)
{
    const struct fa_problem *p = &forward->problem;
    const struct {
        enum fa_tensor_id id, like;
        const struct fa_tensor *given;
    } wanted[] = {{FA_DO, FA_O, dout}, {FA_DQ, FA_Q, dq}, {FA_DK, FA_K, dk}, {FA_DV, FA_V, dv}};
    static const enum fa_tensor_id own[] = {FA_DP, FA_DS, FA_DELTA};
    bool with_data = dout && dout->data;
    struct fa_run made = *forward;
    enum fa_status status = check_blocks(algorithm, p, tiles, error);

    made.tiles = *tiles;
    made.backward = true;
    for (int id = 0; id < FA_HBM_TENSORS; id++)
        made.tensor[id].memory = NULL; /* the forward run's */
    if (status == FA_OK && with_data && (!dq || !dk || !dv))
        status = fa_fail(error, FA_BAD_ARGUMENT, "dq, dk and dv need data where dout has it");
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted && status == FA_OK; n++) {
        const int64_t *shape = forward->tensor[wanted[n].like].shape;
        made.tensor[wanted[n].id] = fa_tensor_view(p->dtype, shape, NULL);
        if (!wanted[n].given)
            continue;
        status = check_input(p, fa_tensor_name(wanted[n].id), wanted[n].given, shape, p->dtype,
                             error);
        made.tensor[wanted[n].id] = *wanted[n].given;
        made.tensor[wanted[n].id].memory = NULL;
    }
    for (size_t n = 0; n < sizeof own / sizeof *own && status == FA_OK; n++)
        if (algorithm->own & FA_BIT(own[n]))
            status = make_own(&made, own[n], own[n] == FA_DELTA ? 1 : p->nk, with_data, false,
                              error);
    if (status != FA_OK) {
        fa_run_close(&made);
        return status;
    }
    *run = made;
    return FA_OK;
}

void fa_run_finish(struct fa_run *run, const struct fa_algorithm *algorithm)
{
    const struct fa_tensor *m = &run->tensor[FA_M], *l = &run->tensor[FA_L];
    if (!algorithm->stores_statistics || !run->lse_outside.data)
        return;
    for (int64_t b = 0; b < run->problem.batch; b++)
        for (int64_t h = 0; h < run->problem.heads; h++)
            for (int64_t r = 0; r < run->problem.nq; r++) {
                double sum = fa_tensor_get(l, b, h, r, 0);
                fa_tensor_set(&run->lse_outside, b, h, r, 0,
                              sum == 0 ? -INFINITY : fa_tensor_get(m, b, h, r, 0) + log(sum));
            }
}

void fa_run_close(struct fa_run *run)
{
    static const enum fa_tensor_id own[] = {FA_S, FA_P, FA_L, FA_M, FA_LSE, FA_PD, FA_DROPOUT,
                                          FA_DP, FA_DS, FA_DELTA};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        if (run->tensor[own[n]].memory)
            fa_tensor_free(&run->tensor[own[n]]);
    memset(run, 0, sizeof *run);
}
