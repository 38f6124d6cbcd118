/* flashlab sweep: counts over a grid, as CSV, JSON or a figure. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/tour.h"
#include "simulator/plot.h"

struct sweep_options {
    struct cli_problem problem;
    struct sim_sweep_axis axes[SIM_SWEEP_KEYS + 1]; /* the last place: --algorithm */
    int n_axes;
    const char *csv, *plot;
};

/* What a bare `flashlab sweep` shows: with d = 64, SRAM from M = d^2 to half of K. */
enum { N_DEFAULT = 8192 };

static enum fa_status add_axis(struct sweep_options *options, const char *text,
                               struct fa_error *error)
{
    struct sim_sweep_axis *axis = &options->axes[options->n_axes];
    enum fa_status status = sim_sweep_axis_parse(text, axis, error);
    if (status)
        return status;
    for (int a = 0; a < options->n_axes; a++) {
        if (options->axes[a].key != axis->key)
            continue;
        status = fa_fail(error, FA_BAD_ARGUMENT, "%s: expected to be varied once, not twice",
                         sim_sweep_key_name(axis->key));
        sim_sweep_axis_free(axis);
        return status;
    }
    options->n_axes++;
    return FA_OK;
}

static enum fa_status set_vary(struct cli_options *options, const char *text,
                               struct fa_error *error)
{
    return add_axis((struct sweep_options *)options, text, error);
}

static bool is_varied(const struct sweep_options *options, enum sim_sweep_key key)
{
    for (int a = 0; a < options->n_axes; a++) {
        if (options->axes[a].key == key)
            return true;
    }
    return false;
}

/* A size that is varied has no value of its own. */
static enum fa_status check_varied(const struct sweep_options *options, struct fa_error *error)
{
    static const struct {
        enum sim_sweep_key key;
        const char *option;
    } fixed[] = {
        {SIM_SWEEP_N, "n"}, {SIM_SWEEP_N, "nq"},      {SIM_SWEEP_N, "nk"},
        {SIM_SWEEP_D, "d"}, {SIM_SWEEP_SRAM, "sram"}, {SIM_SWEEP_ALGORITHM, "algorithm"},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (is_varied(options, fixed[i].key) && cli_given(&options->problem.base, fixed[i].option))
            return fa_fail(error, FA_BAD_ARGUMENT, "--%s and --vary %s: expected only one of them",
                           fixed[i].option, sim_sweep_key_name(fixed[i].key));
    }
    return FA_OK;
}

/* --algorithm a,b,c is an axis too, the one that varies fastest. */
static enum fa_status add_algorithms(struct sweep_options *options, struct fa_error *error)
{
    struct sim_sweep_axis *axis = &options->axes[options->n_axes];
    if (is_varied(options, SIM_SWEEP_ALGORITHM))
        return FA_OK;
    if (!cli_given(&options->problem.base, "algorithm"))
        return add_axis(options, "algorithm=standard,flash1,flash2", error);
    axis->value = calloc(FA_ALGORITHMS, sizeof *axis->value);
    if (!axis->value)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the sweep");
    axis->key = SIM_SWEEP_ALGORITHM;
    axis->n = options->problem.n_algorithms;
    for (int i = 0; i < axis->n; i++) {
        for (int a = 0; a < FA_ALGORITHMS; a++) {
            if (fa_algorithms[a] == options->problem.algorithms[i])
                axis->value[i] = a;
        }
    }
    options->n_axes++;
    return FA_OK;
}

/* The defaults that suit a sweep, where nothing else was asked for. */
static enum fa_status complete(struct sweep_options *options, struct fa_error *error)
{
    struct cli_problem *problem = &options->problem;
    enum fa_status status = check_varied(options, error);
    if (!status && problem->block_mask_path)
        status = fa_fail(error, FA_BAD_ARGUMENT,
                         "--block-mask: expected --block-pattern in a sweep: a file fits the tiles "
                         "of one of its points alone");
    if (!status && options->n_axes == 0)
        status = add_axis(options, CLI_FIGURE_SRAM, error);
    if (!status)
        status = add_algorithms(options, error);
    if (status)
        return status;
    if (problem->n < 0 && problem->nq < 0 && problem->nk < 0)
        problem->n = N_DEFAULT;
    if (!cli_given(&problem->base, "tiles") && !is_varied(options, SIM_SWEEP_BR) &&
        !is_varied(options, SIM_SWEEP_BC))
        problem->tiles.policy = SIM_TILES_BEST;
    /* Masks and biases are read for the first size; where they do not suit another, it is said. */
    for (int a = 0; a < options->n_axes; a++) {
        if (options->axes[a].key == SIM_SWEEP_N)
            problem->n = options->axes[a].value[0];
        if (options->axes[a].key == SIM_SWEEP_D)
            problem->d = options->axes[a].value[0];
    }
    return FA_OK;
}

/* A refused point in JSON: what it asked for, and the error. */
static json_t *refused_json(const struct sim_sweep_point *point, json_t *object)
{
    static const char *const counted[] = {
        "heads_executed", "hbm",          "sram",        "footprint", "flop",
        "tiles_visited",  "tiles_masked", "tiles_total", "bounds"};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        json_object_del(object, counted[i]);
    if (point->result.tiles.br == 0) {
        json_object_set_new(json_object_get(object, "tiles"), "br", json_null());
        json_object_set_new(json_object_get(object, "tiles"), "bc", json_null());
    }
    json_object_set_new(
        object, "error",
        json_pack("{s:s,s:s}", "code", fa_status_name(point->status), "message", point->message));
    return object;
}

static enum fa_status print_json(const struct sim_sweep *sweep,
                                 const struct sim_provenance *provenance, struct fa_error *error)
{
    struct sim_report *report = calloc(1, sizeof *report);
    char blocks[FA_BLOCK_PATTERN_TEXT];
    bool good = report != NULL;
    fputs("[", stdout);
    for (int i = 0; i < sweep->n_points && good; i++) {
        report->result = sweep->points[i].result;
        report->provenance = *provenance;
        report->blocks = sweep->pattern ? fa_block_pattern_text(sweep->pattern, blocks) : NULL;
        json_t *object = sim_report_json(report);
        good = object != NULL;
        if (!good)
            break;
        if (sweep->points[i].status)
            object = refused_json(&sweep->points[i], object);
        fputs(i ? ",\n" : "\n", stdout);
        json_dumpf(object, stdout, JSON_COMPACT);
        json_decref(object);
    }
    fputs("\n]\n", stdout);
    free(report);
    return good ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory to print the sweep");
}

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0;
}

static enum fa_status write_csv(const struct sim_sweep *sweep,
                                const struct sim_provenance *provenance, const char *path,
                                struct fa_error *error)
{
    struct cli_file file;
    enum fa_status status = cli_file_open(&file, path, error);
    if (status)
        return status;
    status = sim_sweep_write_csv(sweep, provenance, file.file, error);
    if (status) {
        cli_file_discard(&file);
        return status;
    }
    return cli_file_commit(&file, error);
}

/* One line a refused point would be many: one a message, with how often. */
static void say_refused(const struct sim_sweep *sweep)
{
    const char *first = NULL;
    if (sweep->n_refused == 0)
        return;
    for (int i = 0; i < sweep->n_points && !first; i++)
        first = sweep->points[i].message;
    fprintf(stderr, "flashlab sweep: %d of %d points were refused, the first one: %s\n",
            sweep->n_refused, sweep->n_points, first);
}

static enum fa_status write_outputs(const struct sweep_options *options,
                                    const struct sim_sweep *sweep,
                                    const struct sim_provenance *provenance, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    bool json = options->problem.base.format == CLI_JSON_FORMAT;
    bool csv_file = options->csv && !is_standard_output(options->csv);
    if (csv_file)
        status = write_csv(sweep, provenance, options->csv, error);
    if (!status && options->plot)
        status = sim_plot_write(sweep, provenance, options->plot, error);
    if (status)
        return status;
    if (json)
        return print_json(sweep, provenance, error);
    say_refused(sweep);
    bool csv_shown = options->csv ? !csv_file : !options->plot;
    if (csv_file)
        printf("%s: %d points\n", options->csv, sweep->n_points);
    if (options->plot)
        fprintf(csv_shown ? stderr : stdout,
                "%s: drawn from %d points, with its .csv and .gp beside it\n", options->plot,
                sweep->n_points - sweep->n_refused);
    return csv_shown ? sim_sweep_write_csv(sweep, provenance, stdout, error) : FA_OK;
}

/* The files of a figure: its own, and what stays beside it. The CSV may be the same as --csv's,
 * which has the same content. */
static enum fa_status check_collisions(const char *csv, const char *plot, struct fa_error *error)
{
    char script[4096];
    size_t stem = strlen(plot) - strlen(".svg");
    if ((size_t)snprintf(script, sizeof script, "%.*s.gp", (int)stem, plot) >= sizeof script)
        return fa_fail(error, FA_BAD_ARGUMENT, "--plot: expected a path of less than 4096 bytes");
    if (cli_same_file(csv, plot) || cli_same_file(csv, script))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--csv %s: expected another file than the figure's or its script's (--plot "
                       "%s)", csv, plot);
    return FA_OK;
}

/* Before the work: can it be written at all? */
static enum fa_status check_outputs(const struct sweep_options *options,
                                    const struct sim_sweep *sweep, struct fa_error *error)
{
    enum sim_sweep_key x;
    enum sim_picture format;
    bool shown = options->csv && is_standard_output(options->csv);
    enum fa_status status = options->csv && !shown ? cli_file_check(options->csv, error) : FA_OK;
    if (!status && shown && options->problem.base.format == CLI_JSON_FORMAT)
        status = fa_fail(error, FA_BAD_ARGUMENT,
                         "--csv - and --format json: expected one of them on standard output");
    if (status || !options->plot)
        return status;
    status = sim_plot_format(options->plot, &format, error);
    if (!status)
        status = sim_plot_check(sweep, &x, error);
    if (!status)
        status = cli_file_check(options->plot, error);
    if (!status && options->csv && !shown)
        status = check_collisions(options->csv, options->plot, error);
    return status;
}

static enum fa_status work(struct sweep_options *options, struct fa_error *error)
{
    struct cli_inputs inputs;
    struct cli_progress progress;
    struct sim_sweep sweep = {.axes = options->axes};
    enum fa_status status = complete(options, error);

    if (!status)
        status = cli_inputs_open(&inputs, &options->problem, CLI_NEED_SHAPES, error);
    if (status)
        return status;
    sweep.n_axes = options->n_axes;
    sweep.threads = cli_thread_count(&options->problem);
    sweep.base.algorithm = options->problem.algorithms[0];
    sweep.base.pass = (enum sim_pass)options->problem.pass;
    sweep.base.problem = inputs.problem;
    struct fa_block_pattern pattern = cli_pattern(&options->problem);
    if (options->problem.pattern_given)
        sweep.pattern = &pattern;
    sweep.base.tiles = options->problem.tiles;
    sweep.base.mode = SIM_COUNT_ONLY;
    sweep.dv_follows_d = options->problem.dv < 0;
    sweep.scale_follows_d = !options->problem.scale_given;
    sweep.watch = &progress.watch;
    struct sim_provenance provenance = {
        .version = FLASHLAB_VERSION, .command = cli_command_line(), .threads = sweep.threads};
    status = cli_machine_make(&options->problem, &sweep.base.machine, error);
    if (!status)
        status = check_outputs(options, &sweep, error);
    if (!status) {
        cli_progress_start(&progress, "counting");
        status = sim_sweep_run(&sweep, error);
        cli_progress_end(&progress);
    }
    if (!status)
        status = write_outputs(options, &sweep, &provenance, error);
    sim_sweep_free(&sweep);
    cli_inputs_close(&inputs);
    return status;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct sweep_options options = {.problem = cli_problem_defaults};
    struct fa_error error = {FA_OK, ""};
    int exit_status;

    if (cli_begin(command, argc, argv, &options.problem.base, &exit_status)) {
        exit_status = CLI_FINE;
        if (work(&options, &error))
            exit_status = cli_fail(command, options.problem.base.format, &error);
    }
    for (int a = 0; a < options.n_axes; a++)
        sim_sweep_axis_free(&options.axes[a]);
    return exit_status;
}

static const char *const vary_words[] = {"n=", "d=", "sram=", "br=", "bc=", "algorithm=", NULL};

static const struct cli_option sweep_group_options[] = {
    {.name = "vary",
     .value = "KEY=LIST|RANGE",
     .kind = CLI_OTHER,
     .set = set_vary,
     .words = vary_words,
     .repeatable = true,
     .help = "KEY is n, d, sram, br, bc or algorithm. LIST: 16K,64K,192K. RANGE: A..B*F (each F "
             "times the one before) or A..B+S. Given several times, all combinations are counted."},
    {.name = "csv",
     .value = "FILE",
     .kind = CLI_FILE,
     .offset = offsetof(struct sweep_options, csv),
     .help = "Write the table there, or with - to standard output, where it goes if no figure is "
             "asked for."},
    {.name = "plot",
     .value = "F.svg|F.png",
     .kind = CLI_FILE,
     .offset = offsetof(struct sweep_options, plot),
     .help = "Draw the counts against the bounds with gnuplot; the table and the script stay "
             "beside the figure."},
};

static const struct cli_group sweep_group = CLI_GROUP("Sweep", sweep_group_options);

static const struct cli_group *const groups[] = {
    &sweep_group,       &cli_problem_group, &cli_sparse_group, &cli_machine_group,
    &cli_threads_group, &cli_format_group,  NULL,
};

const struct cli_command cli_sweep = {
    .name = "sweep",
    .summary = "count over a grid of sizes, and draw the counts against the bounds",
    .operands = "",
    .about =
        "Counts every combination of what is varied, on all cores, and writes one CSV line each:\n"
        "the columns are the keys of `flashlab count --format json`. A combination whose tiles\n"
        "do not fit keeps its line, with the reason in error.code and error.message.\n"
        "Defaults: --vary sram=16K,24K,32K,48K and so on to 1M; standard, flash1 and flash2;\n"
        "N = 8192, d = 64; the tiles that move the least (--tiles best).",
    .examples = "  flashlab sweep --plot io.svg\n"
                "  flashlab sweep --vary sram=16K..256K*2 --vary n=1K,4K,16K --csv grid.csv\n"
                "  flashlab sweep --vary br=16..256*2 --tiles 64x32 --algorithm flash1,flash2\n"
                "  flashlab sweep --vary n=256..64K*2 --causal --plot length.png\n"
                "  flashlab sweep --pass both --vary n=256..4K*2 --tiles 64x64 --sram 1M\n"
                "  flashlab sweep --block-pattern window:1,1 --vary n=1K..16K*2 --tiles 64x64",
    .groups = groups,
    .run = run,
};
