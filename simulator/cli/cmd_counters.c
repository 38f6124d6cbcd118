/* flashlab counters: counted traffic beside the hardware's counters. */
#include "simulator/cli/counters_command.h"
#include "simulator/cli/outputs.h"

#define AT(field) offsetof(struct counters, field)

enum { RUNGS_MOST = 31 };

static const char *const *list_rungs(void)
{
    static const char *words[RUNGS_MOST + 1];
    for (int i = 0; i < gpu_rung_count && i < RUNGS_MOST; i++)
        words[i] = gpu_rungs[i]->name;
    return words;
}

static const char *const *list_algorithms(void)
{
    static const char *words[FA_ALGORITHMS + 1];
    for (int i = 0; i < FA_ALGORITHMS; i++)
        words[i] = fa_algorithms[i]->name;
    return words;
}

static enum fa_status set_algorithm(struct cli_options *options, const char *text,
                                    struct fa_error *error)
{
    int index = 0;
    enum fa_status status = cli_parse_word(text, list_algorithms(), &index, error);
    if (status == FA_OK)
        ((struct counters *)options)->options.algorithms[0] = fa_algorithms[index];
    return status;
}

static enum fa_status set_tiles(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct sim_tile_choice choice;
    if (sim_tile_choice_parse(text, &choice, NULL) != FA_OK || choice.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected BRxBC, the tiles of the kernel: 128x64");
    ((struct counters *)options)->options.tiles = choice;
    return FA_OK;
}

static enum fa_status set_within(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    double *within = &((struct counters *)options)->within;
    if (cli_parse_real(text, within, NULL) != FA_OK || *within < 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a percentage from 0 on");
    return FA_OK;
}

static const struct cli_option counter_options[] = {
    {.name = "rung",
     .value = "NAME",
     .kind = CLI_TEXT,
     .offset = AT(rung_name),
     .list_words = list_rungs,
     .help = "The rung of the kernel ladder that is run, or that the CSV is of."},
    {.name = "deterministic",
     .kind = CLI_FLAG,
     .offset = AT(deterministic),
     .help = "Backward, where the rung has a choice: dQ has an owner, and no atomics."},
    {.name = "csv",
     .value = "FILE",
     .kind = CLI_FILE,
     .offset = AT(csv_path),
     .help = "Read what ncu --csv printed (with --page raw or without) in place of running it."},
    {.name = "kernel",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .offset = AT(kernel),
     .help = "Only kernels with this in their names. Of several the sum is taken, of several "
             "launches of one the mean (ncu's --launch-skip and --launch-count leave one)."},
    {.name = "algorithm",
     .value = "NAME",
     .kind = CLI_OTHER,
     .set = set_algorithm,
     .list_words = list_algorithms,
     .help = "For somebody else's kernel, in place of --rung: the algorithm that it follows. "
             "One pass at a time: name each pass's kernels with --kernel."},
    {.name = "tiles",
     .value = "BRxBC",
     .kind = CLI_OTHER,
     .set = set_tiles,
     .help = "With --algorithm: the queries and keys of that kernel's tiles."},
    {.name = "within",
     .value = "P",
     .kind = CLI_OTHER,
     .set = set_within,
     .help = "Exit status 1 if what a pass reads from L2 is off by more than P percent of the "
             "count, in any launch."},
    {.name = "out",
     .value = "FILE",
     .kind = CLI_FILE,
     .offset = AT(out),
     .help = "Write the report there."},
    {.name = "launch",
     .kind = CLI_FLAG,
     .offset = AT(launch),
     .help = "Only run the rung once, on random inputs, and say nothing: what ncu is run on."},
};
static const struct cli_group counter_group = CLI_GROUP("Counters", counter_options);

/* What can be refused before the work. */
static enum fa_status check(const struct counters *counters, struct fa_error *error)
{
    static const char *const of_reports[] = {"csv", "out", "kernel", "within"};
    struct fa_error inner;
    for (size_t i = 0; counters->launch && i < sizeof of_reports / sizeof *of_reports; i++)
        if (cli_given(&counters->options.base, of_reports[i]))
            return fa_fail(error, FA_BAD_ARGUMENT, "--launch and --%s: expected one of them",
                           of_reports[i]);
    if (counters->out && cli_file_check(counters->out, &inner) != FA_OK)
        return fa_fail(error, inner.status, "--out: %s", inner.text);
    if (counters->out && counters->csv_path && cli_same_file(counters->out, counters->csv_path))
        return fa_fail(error, FA_BAD_ARGUMENT, "--out and --csv: expected two files");
    return FA_OK;
}

static enum fa_status print(const struct counters *counters, FILE *file, struct fa_error *error)
{
    if (counters->options.base.format == CLI_JSON_FORMAT)
        return counters_print_json(counters, file, error);
    counters_print(counters, file);
    return FA_OK;
}

static enum fa_status report(const struct counters *counters, struct fa_error *error)
{
    struct cli_file file;
    if (!counters->out)
        return print(counters, stdout, error);
    enum fa_status status = cli_file_open(&file, counters->out, error);
    if (status != FA_OK)
        return status;
    status = print(counters, file.file, error);
    if (status == FA_OK)
        return cli_file_commit(&file, error);
    cli_file_discard(&file);
    return status;
}

static enum fa_status measure(struct counters *counters, struct fa_error *error)
{
    if (counters->csv_path)
        return ncu_csv_read(counters->csv_path, &counters->csv, error);
    return counters_profile(counters, error);
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct counters counters = {.options = cli_problem_defaults, .within = -1};
    struct fa_error error = {FA_OK, ""};
    int exit_status;
    if (!cli_begin(command, argc, argv, &counters.options.base, &exit_status))
        return exit_status;
    enum fa_status status = check(&counters, &error);
    if (status == FA_OK)
        status = counters_count(&counters, &error);
    if (status == FA_OK && counters.launch)
        status = counters_launch(&counters, &error);
    else if (status == FA_OK)
        status = measure(&counters, &error);
    if (status == FA_OK && !counters.launch)
        status = counters_match(&counters, &error);
    if (status == FA_OK && !counters.launch)
        status = report(&counters, &error);
    ncu_csv_free(&counters.csv);
    if (status != FA_OK)
        return cli_fail(command, counters.options.base.format, &error);
    return counters.launch || counters_agree(&counters) ? CLI_FINE : CLI_CHECK_FAILED;
}

static const struct cli_group *const groups[] = {&counter_group, &cli_kernel_group,
                                                 &cli_format_group, NULL};

extern const struct cli_command cli_counters;
const struct cli_command cli_counters = {
    .name = "counters",
    .summary = "lay the counted traffic of a kernel beside the GPU's own counters",
    .operands = "",
    .about =
        "Counts what a rung of the kernel ladder moves, by executing its loops on tiles, runs\n"
        "it under NVIDIA's profiler ncu (Nsight Compute) or reads a CSV of that, and prints the\n"
        "bytes between L2 and the SMs and those of DRAM beside each other, by kernel and pass.\n"
        "A gap has a reason (spills, partial sectors, L1 hits, what L2 kept) only where another\n"
        "counter shows it. Another kernel's CSV is laid beside the algorithm and the tiles that\n"
        "you name; that needs no GPU. Kernels take no element mask and no bias. Such a CSV is what\n"
        "this prints, on a line:\n\n"
        "  ncu --csv --page raw --print-units base --clock-control none --metrics\n"
        "    l1tex__m_xbar2l1tex_read_bytes.sum,l1tex__m_l1tex2xbar_write_bytes.sum,\n"
        "    dram__bytes_read.sum,dram__bytes_write.sum PROGRAM > theirs.csv\n\n"
        "The exit status is 1 where --within finds the reads off, or not in the CSV, and 3 where\n"
        "ncu, the right to read counters, a GPU or the kernels are missing.",
    .examples =
        "  flashlab counters --rung flash2 --n 4096 --d 128 --heads 64 --dtype f16 --causal\n"
        "  flashlab counters --rung flash2 --pass both --n 1024 --heads 16 --format json\n"
        "  flashlab counters --csv theirs.csv --algorithm flash2 --tiles 128x64 --heads 64 \\\n"
        "    --n 4096 --d 128 --dtype f16",
    .groups = groups,
    .run = run,
};
