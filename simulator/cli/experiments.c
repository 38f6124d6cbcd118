#include "simulator/cli/experiments.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/report.h"

struct session {
    const struct cli_problem *options;
    enum sim_mode mode;
    struct cli_inputs inputs;
    struct sim_machine machine;
    struct sim_report reports[FA_ALGORITHMS];
    char blocks[FA_BLOCK_PATTERN_TEXT]; /* which the reports point to */
};

static struct sim_provenance make_provenance(const struct session *session)
{
    const struct cli_problem *options = session->options;
    return (struct sim_provenance){
        .version = FLASHLAB_VERSION,
        .command = cli_command_line(),
        .has_seed = session->mode != SIM_COUNT_ONLY && !options->in,
        .seed = (uint64_t)options->seed,
        .threads = cli_thread_count(options),
    };
}

static void describe_trace(const struct sim_provenance *provenance, enum fa_profile profile,
                           struct sim_trace_header *header)
{
    snprintf(header->version, sizeof header->version, "%s", provenance->version);
    snprintf(header->command, sizeof header->command, "%s", provenance->command);
    if (provenance->has_seed) {
        header->seed = provenance->seed;
        snprintf(header->profile, sizeof header->profile, "%s", fa_profile_name(profile));
    }
}

static void set_tensors(struct sim_experiment *experiment, const struct cli_inputs *inputs)
{
    experiment->q = &inputs->q;
    experiment->k = &inputs->k;
    experiment->v = &inputs->v;
    experiment->o = &inputs->o;
    experiment->lse = &inputs->lse;
    experiment->dout = &inputs->dout;
    experiment->dq = &inputs->dq;
    experiment->dk = &inputs->dk;
    experiment->dv = &inputs->dv;
}

/* The block mask that the options ask for, in the size of the tiles that the run will have. */
static enum fa_status set_blocks(struct session *session, struct sim_experiment *experiment,
                                 struct fa_error *error)
{
    const struct cli_problem *options = session->options;
    struct fa_tiles tiles;
    if (!options->block_mask_path && !options->pattern_given)
        return FA_OK;
    enum fa_status status = sim_experiment_tiles(experiment, &tiles, error);
    if (status == FA_OK)
        status = cli_inputs_block(&session->inputs, options, tiles.br, tiles.bc, error);
    experiment->problem = session->inputs.problem;
    return status;
}

/* Tiles of one head, and sectors in all, past which the models are not asked: they repeat the run. */
#define ESTIMATED_TILES (UINT64_C(1) << 18)
#define ESTIMATED_ACCESSES (UINT64_C(1) << 22)

/* The L2 and the time model, where they have something to say. */
static void estimate(struct sim_report *report)
{
    const struct sim_result *result = &report->result;
    const struct sim_l2_options options = {.most_accesses = ESTIMATED_ACCESSES};
    uint64_t heads = (uint64_t)(result->problem.batch * result->problem.heads);
    report->estimated = true;
    if (heads == 0 || result->tiles_total / heads > ESTIMATED_TILES)
        return;
    report->has_l2 = sim_l2_predict(result, &options, &report->l2, NULL) == FA_OK;
    report->has_time = sim_time_estimate(result, report->has_l2 ? &report->l2 : NULL, false,
                                         &report->time, NULL) == FA_OK;
}

/* The run itself; its trace is saved after a refusal too, which it shows. */
static enum fa_status execute(struct session *session, const struct fa_algorithm *algorithm,
                              struct sim_report *report, struct fa_error *error)
{
    const struct cli_problem *options = session->options;
    struct cli_progress progress;
    struct sim_trace *trace = NULL;
    struct fa_error trace_error;
    bool data = session->mode != SIM_COUNT_ONLY;
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = (enum sim_pass)options->pass,
        .problem = session->inputs.problem,
        .machine = session->machine,
        .tiles = options->tiles,
        .mode = session->mode,
        .threads = report->provenance.threads,
        .trace = options->trace ? &trace : NULL,
        .watch = &progress.watch,
    };
    if (data)
        set_tensors(&experiment, &session->inputs);
    describe_trace(&report->provenance, options->profile, &experiment.trace_header);
    enum fa_status status = set_blocks(session, &experiment, error);
    if (status != FA_OK)
        return status;
    cli_progress_start(&progress, data ? "running " : "counting");
    status = sim_experiment_run(&experiment, &report->result, error);
    cli_progress_end(&progress);
    if (status == FA_OK)
        estimate(report);
    report->result.problem.blocks = NULL; /* The next algorithm's may be of another size. */
    if (trace && sim_trace_save(trace, options->trace, &trace_error) != FA_OK && status == FA_OK)
        status = fa_fail(error, trace_error.status, "--trace: %s", trace_error.text);
    sim_trace_free(trace);
    return status;
}

static enum fa_status write_results(const struct session *session, struct fa_error *error)
{
    const struct cli_inputs *inputs = &session->inputs;
    const struct {
        const char *name;
        const struct fa_tensor *tensor;
        bool statistic;
    } arrays[] = {
        {"o.npy", &inputs->o, false},   {"lse.npy", &inputs->lse, true},
        {"dq.npy", &inputs->dq, false}, {"dk.npy", &inputs->dk, false},
        {"dv.npy", &inputs->dv, false},
    };
    int n = session->options->pass == SIM_FORWARD ? 2 : 5;
    enum fa_status status = FA_OK;
    for (int i = 0; i < n && status == FA_OK; i++)
        status = cli_tensor_write(session->options->out, arrays[i].name, arrays[i].tensor,
                                  inputs->rank, inputs->layout, arrays[i].statistic, error);
    return status;
}

static enum fa_status check(const struct session *session, struct sim_report *report,
                            struct fa_error *error)
{
    const struct cli_inputs *inputs = &session->inputs;
    const struct sim_result *result = &report->result;
    enum sim_check_mode mode = (enum sim_check_mode)session->options->check;
    int threads = report->provenance.threads;
    struct cli_progress progress;
    cli_progress_start(&progress, "checking");
    enum fa_status status = sim_check_forward(
        &inputs->problem, &inputs->q, &inputs->k, &inputs->v, &inputs->o, &inputs->lse, mode,
        sim_error_factor(result), threads, &progress.watch, &report->check, error);
    cli_progress_end(&progress);
    if (status == FA_OK && result->pass != SIM_FORWARD) {
        cli_progress_start(&progress, "checking");
        status = sim_check_backward(&inputs->problem, &inputs->q, &inputs->k, &inputs->v,
                                    &inputs->dout, &inputs->dq, &inputs->dk, &inputs->dv, mode,
                                    sim_error_factor_dq(result), sim_error_factor_dkv(result),
                                    threads, &progress.watch, &report->gradients, error);
        cli_progress_end(&progress);
    }
    report->checked = status == FA_OK;
    return status;
}

/* A result of the algorithm before must not pass for the next one's. */
static void poison_outputs(struct session *session)
{
    struct cli_inputs *inputs = &session->inputs;
    cli_tensor_poison(&inputs->o);
    cli_tensor_poison(&inputs->lse);
    if (session->options->pass == SIM_FORWARD)
        return;
    cli_tensor_poison(&inputs->dq);
    cli_tensor_poison(&inputs->dk);
    cli_tensor_poison(&inputs->dv);
}

static enum fa_status run_algorithm(struct session *session, int index, struct fa_error *error)
{
    const struct cli_problem *options = session->options;
    struct sim_report *report = &session->reports[index];
    bool data = session->mode != SIM_COUNT_ONLY;
    report->provenance = make_provenance(session);
    report->executed = data;
    report->blocks = cli_blocks_name(options, session->blocks);
    if (data && index > 0)
        poison_outputs(session);
    enum fa_status status = execute(session, options->algorithms[index], report, error);
    if (status == FA_OK && options->out)
        status = write_results(session, error);
    if (status == FA_OK && data && options->check != SIM_CHECK_NONE)
        status = check(session, report, error);
    return status;
}

static enum fa_status print_json(const struct session *session, struct fa_error *error)
{
    int n = session->options->n_algorithms;
    json_t *all = json_array(), *shown = all;
    for (int i = 0; i < n; i++) {
        if (json_array_append_new(all, sim_report_json(&session->reports[i])) != 0) {
            json_decref(all);
            return fa_fail(error, FA_NO_MEMORY, "no memory for the report");
        }
    }
    if (n == 1)
        shown = json_array_get(all, 0);
    json_dumpf(shown, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(all);
    return FA_OK;
}

static enum fa_status print_reports(const struct session *session, struct fa_error *error)
{
    if (session->options->base.format == CLI_JSON_FORMAT)
        return print_json(session, error);
    if (session->options->n_algorithms > 1)
        sim_report_table(stdout, session->reports, session->options->n_algorithms);
    else
        sim_report_text(stdout, &session->reports[0]);
    return FA_OK;
}

/* What can be refused before the work. */
static enum fa_status prepare(struct session *session, struct fa_error *error)
{
    const struct cli_problem *options = session->options;
    bool data = session->mode != SIM_COUNT_ONLY;
    struct fa_error inner = {FA_OK, ""};
    enum fa_status status = cli_machine_make(options, &session->machine, error);
    if (status == FA_OK)
        status = cli_inputs_open(&session->inputs, options,
                                 data ? CLI_NEED_OUTPUTS : CLI_NEED_SHAPES, error);
    if (status != FA_OK)
        return status;
    if (options->out && cli_folder_make(options->out, &inner) != FA_OK)
        return fa_fail(error, inner.status, "--out: %s", inner.text);
    if (options->trace && cli_file_check(options->trace, &inner) != FA_OK)
        return fa_fail(error, inner.status, "--trace: %s", inner.text);
    return FA_OK;
}

int cli_experiments_run(const struct cli_problem *options, enum sim_mode mode)
{
    struct session session = {.options = options, .mode = mode};
    struct fa_error error = {FA_OK, ""};
    bool passed = true;
    enum fa_status status = prepare(&session, &error);
    for (int i = 0; i < options->n_algorithms && status == FA_OK; i++) {
        status = run_algorithm(&session, i, &error);
        passed = passed && sim_report_passed(&session.reports[i]);
    }
    if (status == FA_OK)
        status = print_reports(&session, &error);
    cli_inputs_close(&session.inputs);
    if (status != FA_OK)
        return cli_fail(options->base.command, options->base.format, &error);
    return passed ? CLI_FINE : CLI_CHECK_FAILED;
}
