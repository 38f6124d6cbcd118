/* The runs of `flashlab check`: each rung, over each case, in each dtype. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/check_walk.h"

static const enum fa_dtype dtypes[CLI_WALK_DTYPES] = {FA_F32, FA_F16, FA_BF16};

static bool tick(void *context, double done)
{
    struct cli_walk *walk = context;
    (void)done;
    return cli_progress_tick(&walk->progress, walk->done / walk->total);
}

enum fa_status cli_walk_tick(struct cli_walk *walk, struct fa_error *error)
{
    return tick(walk, 0) ? FA_OK
                         : fa_fail(error, FA_CANCELLED, "stopped before the check was done");
}

static enum fa_status choose_rungs(struct cli_walk *walk, struct fa_error *error)
{
    const char *at = walk->check->rungs;
    for (int i = 0; !at && i < gpu_rung_count && i < CLI_WALK_RUNGS; i++)
        walk->rungs[walk->n_rungs++] = gpu_rungs[i];
    while (at && walk->n_rungs < CLI_WALK_RUNGS) {
        char name[32] = "", names[256] = "";
        size_t length = strcspn(at, ","), n = 0;
        if (length < sizeof name)
            memcpy(name, at, length);
        const struct gpu_rung *rung = gpu_rung_find(name);
        for (int i = 0; i < gpu_rung_count && n < sizeof names; i++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                                  gpu_rungs[i]->name);
        if (!rung)
            return fa_fail(error, FA_BAD_ARGUMENT, "--rung: '%.*s': expected one of %s",
                           (int)length, at, names);
        walk->rungs[walk->n_rungs++] = rung;
        at = at[length] ? at + length + 1 : NULL;
    }
    return FA_OK;
}

bool cli_walk_has_two_modes(const struct gpu_rung *rung, const struct fa_problem *problem)
{
    struct gpu_tiles tiles = {0};
    if (!rung->backward)
        return false;
    rung->tiles(problem, true, false, &tiles);
    return tiles.dq_br == 0;
}

/* flash1 rounds O at each tile of keys; the others keep f32. */
static double error_factor(const struct gpu_rung *rung, const struct fa_problem *problem)
{
    struct gpu_tiles tiles = {0};
    bool rounds = problem->dtype == FA_F16 || problem->dtype == FA_BF16;
    if (!rounds || problem->nk == 0 || strcmp(rung->name, "flash1") != 0)
        return 1;
    rung->tiles(problem, false, false, &tiles);
    return sqrt(ceil((double)problem->nk / (double)tiles.bc));
}

static struct cli_rung_run *new_run(struct cli_walk *walk, const struct gpu_rung *rung, int entry,
                                    enum fa_dtype dtype, struct fa_error *error)
{
    struct cli_rung_check *check = walk->check;
    if (check->n_runs == check->runs_taken) {
        int more = 2 * check->runs_taken + 64;
        void *larger = realloc(check->runs, (size_t)more * sizeof *check->runs);
        if (!larger) {
            fa_fail(error, FA_NO_MEMORY, "no memory for the results");
            return NULL;
        }
        check->runs = larger;
        check->runs_taken = more;
    }
    struct cli_rung_run *run = &check->runs[check->n_runs++];
    memset(run, 0, sizeof *run);
    run->rung = rung;
    run->entry = entry;
    run->dtype = dtype;
    return run;
}

bool cli_walk_is_over(enum fa_status status, const struct gpu_guarded_seen *seen,
                      const struct fa_error *error, enum cli_run_end *end, char reason[CLI_REASON])
{
    *end = CLI_RUN_RIGHT;
    if (seen->damage[0]) {
        *end = CLI_RUN_WRONG;
        snprintf(reason, CLI_REASON, "%s", seen->damage);
    } else if (status != FA_OK) {
        *end = CLI_RUN_REFUSED;
        snprintf(reason, CLI_REASON, "%s", error->text);
    }
    return *end != CLI_RUN_RIGHT;
}

bool cli_walk_is_fatal(enum fa_status status, const struct gpu_guarded_seen *seen)
{
    return status != FA_OK && !seen->refused;
}

enum fa_status cli_walk_judge(struct cli_walk *walk, const struct cli_rung_case *made,
                              const struct fa_tensor output[SIM_OUTPUTS], struct cli_rung_run *run,
                              struct fa_error *error)
{
    const struct fa_problem *p = &made->problem;
    struct gpu_tiles tiles = {0};
    struct sim_verdict verdict;
    run->rung->tiles(p, false, false, &tiles);
    struct sim_theirs theirs = {
        .problem = p,
        .q = &made->q,
        .k = &made->k,
        .v = &made->v,
        .dout = run->backward ? &made->d_o : NULL,
        .br = tiles.br > 0 ? tiles.br : 1,
        .bc = tiles.bc > 0 ? tiles.bc : 1,
        .error_factor = error_factor(run->rung, p),
        .error_factor_dq = 1,
        .error_factor_dkv = 1,
    };
    for (int i = 0; i < SIM_OUTPUTS; i++)
        theirs.output[i] = output[i].data ? &output[i] : NULL;
    enum fa_status status =
        sim_verdict_make(&theirs, SIM_CHECK_FULL, cli_thread_count(&walk->check->problem),
                         &walk->watch, &verdict, error);
    if (status != FA_OK)
        return status;
    memcpy(run->output, verdict.output, sizeof run->output);
    if (!verdict.pass) {
        run->end = CLI_RUN_WRONG;
        snprintf(run->reason, sizeof run->reason, "%s, %s: %s; %s",
                 sim_output_name(verdict.culprit), sim_fault_name(verdict.fault), verdict.look,
                 verdict.where);
    }
    sim_verdict_free(&verdict);
    return FA_OK;
}

/* The backward pass in one of its modes, from the forward pass that is in `output`. */
static enum fa_status run_backward(struct cli_walk *walk, int entry,
                                   const struct cli_rung_case *made, struct gpu_guarded_call *call,
                                   struct fa_tensor output[SIM_OUTPUTS], bool deterministic,
                                   struct fa_error *error)
{
    struct gpu_guarded_seen seen;
    struct cli_rung_run *run = new_run(walk, call->rung, entry, made->problem.dtype, error);
    if (!run)
        return FA_NO_MEMORY;
    run->backward = true;
    run->deterministic = call->deterministic = deterministic;
    enum fa_status status = gpu_guarded_backward(call, &output[SIM_OUT_O], &output[SIM_OUT_LSE],
                                                 &made->d_o, &output[SIM_OUT_DQ], &seen, error);
    if (cli_walk_is_fatal(status, &seen))
        return status;
    if (!cli_walk_is_over(status, &seen, error, &run->end, run->reason))
        status = cli_walk_judge(walk, made, output, run, error);
    else
        status = FA_OK;
    for (int i = SIM_OUT_DQ; i <= SIM_OUT_DV; i++)
        fa_tensor_free(&output[i]);
    return status;
}

/* One rung over one case: forward, and backward where it has that pass, in each of its modes. */
static enum fa_status run_rung(struct cli_walk *walk, int entry, const struct cli_rung_case *made,
                               const struct gpu_rung *rung, struct fa_error *error)
{
    bool backward = rung->backward && walk->check->problem.pass != SIM_FORWARD;
    struct gpu_guarded_call call = {
        .rung = rung,
        .problem = &made->problem,
        .q = &made->q,
        .k = &made->k,
        .v = &made->v,
        .layout = (enum gpu_layout)(entry % GPU_LAYOUTS),
    };
    struct fa_tensor output[SIM_OUTPUTS];
    struct gpu_guarded_seen seen;
    memset(output, 0, sizeof output);
    struct cli_rung_run *run = new_run(walk, rung, entry, made->problem.dtype, error);
    if (!run)
        return FA_NO_MEMORY;
    enum fa_status status =
        gpu_guarded_forward(&call, &output[SIM_OUT_O], &output[SIM_OUT_LSE], &seen, error);
    if (cli_walk_is_fatal(status, &seen))
        return status;
    bool over = cli_walk_is_over(status, &seen, error, &run->end, run->reason);
    status = over || backward ? FA_OK : cli_walk_judge(walk, made, output, run, error);
    if (!over && backward) {
        /* The backward pass's runs judge O and LSE too, so that the forward one's is taken back. */
        bool modes = cli_walk_has_two_modes(rung, &made->problem);
        walk->check->n_runs--;
        status = run_backward(walk, entry, made, &call, output, false, error);
        if (status == FA_OK && modes)
            status = run_backward(walk, entry, made, &call, output, true, error);
        if (status == FA_OK && walk->check->runs[walk->check->n_runs - 1].end == CLI_RUN_REFUSED) {
            run = new_run(walk, rung, entry, made->problem.dtype, error);
            status = run ? cli_walk_judge(walk, made, output, run, error) : FA_NO_MEMORY;
        }
    }
    fa_tensor_free(&output[SIM_OUT_O]);
    fa_tensor_free(&output[SIM_OUT_LSE]);
    return status;
}

/* All rungs over one case. */
static enum fa_status walk_rungs(struct cli_walk *walk, int at, const struct cli_rung_case *made,
                                 struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int i = 0; i < walk->n_rungs && status == FA_OK; i++) {
        struct fa_error inner = {FA_OK, ""};
        status = run_rung(walk, at, made, walk->rungs[i], &inner);
        walk->done++;
        if (status == FA_OK)
            status = cli_walk_tick(walk, error);
        else
            fa_fail(error, status, "%s, %s, \"%s\": %s", walk->rungs[i]->name,
                    fa_dtype_name(made->problem.dtype), walk->check->list.entries[at].name,
                    inner.text);
    }
    return status;
}

static enum fa_status walk_cases(struct cli_walk *walk, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int at = 0; at < walk->check->list.n && status == FA_OK; at++) {
        for (int t = 0; t < walk->n_dtypes && status == FA_OK; t++) {
            struct cli_rung_case made;
            status = cli_rung_case_make(&walk->check->list, at, walk->dtypes[t], &made, error);
            if (status == FA_OK)
                status = walk_rungs(walk, at, &made, error);
            else if (status == FA_UNSUPPORTED)
                status = FA_OK; /* the dtype cannot hold the case's numbers */
            cli_rung_case_free(&made);
        }
    }
    return status;
}

/* A rung that a person named and that took nothing was not checked. */
static enum fa_status check_named(const struct cli_walk *walk, struct fa_error *error)
{
    const struct cli_rung_check *check = walk->check;
    bool any = false;
    for (int i = 0; i < walk->n_rungs; i++) {
        const char *reason = "no case";
        bool taken = false;
        for (int r = 0; r < check->n_runs; r++) {
            const struct cli_rung_run *run = &check->runs[r];
            taken = taken || (run->rung == walk->rungs[i] && run->end != CLI_RUN_REFUSED);
            if (run->rung == walk->rungs[i] && run->end == CLI_RUN_REFUSED)
                reason = run->reason;
        }
        any = any || taken;
        if (!taken && (check->rungs || (!any && i == walk->n_rungs - 1)))
            return fa_fail(error, FA_MISSING_PART, "%s took none of the cases: %s",
                           walk->rungs[i]->name, reason);
    }
    return FA_OK;
}

enum fa_status cli_rung_check_run(struct cli_rung_check *check, struct fa_error *error)
{
    struct cli_walk walk = {.check = check};
    bool one = cli_given(&check->problem.base, "dtype");
    struct fa_error inner;
    enum fa_status status = gpu_device_find(&check->device, &inner);
    if (status == FA_OK)
        status = gpu_device_check(&check->device, &inner);
    if (status != FA_OK)
        return gpu_rung_count == 0
                   ? fa_fail(error, status, "%s", inner.text)
                   : fa_fail(error, status, "%s; this build's kernels are for %s", inner.text,
                             gpu_built_architectures());
    status = choose_rungs(&walk, error);
    if (status == FA_OK)
        status = cli_case_list_make(&check->list, check->golden, check->part, error);
    if (status != FA_OK)
        return status;
    walk.n_dtypes = one ? 1 : CLI_WALK_DTYPES;
    for (int t = 0; t < walk.n_dtypes; t++)
        walk.dtypes[t] = one ? check->problem.dtype : dtypes[t];
    walk.watch = (struct fa_watch){tick, &walk};
    walk.total = (double)(walk.n_dtypes * walk.n_rungs) *
                 ((double)check->list.n + 0.2 * (double)check->repeats);
    cli_progress_start(&walk.progress, "checking");
    status = walk_cases(&walk, error);
    if (status == FA_OK)
        status = cli_walk_repeats(&walk, error);
    cli_progress_end(&walk.progress);
    if (status == FA_OK)
        status = check_named(&walk, error);
    return status;
}

bool cli_rung_check_passes(const struct cli_rung_check *check)
{
    for (int i = 0; i < check->n_runs; i++)
        if (check->runs[i].end == CLI_RUN_WRONG)
            return false;
    for (int i = 0; i < check->n_repeated; i++)
        if (check->repeated[i].end == CLI_RUN_WRONG)
            return false;
    return true;
}

void cli_rung_check_free(struct cli_rung_check *check)
{
    cli_case_list_free(&check->list);
    free(check->runs);
    free(check->repeated);
}
