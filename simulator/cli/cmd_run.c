/* flashlab run: an algorithm on data, counted, and checked against the oracle. */
#include "simulator/cli/experiments.h"

extern const struct cli_command cli_run;

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_problem options = cli_problem_defaults;
    int exit_status;
    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    return cli_experiments_run(&options, SIM_COUNTED);
}

static const struct cli_group *const groups[] = {
    &cli_problem_group, &cli_sparse_group, &cli_machine_group, &cli_input_group,
    &cli_output_group,  &cli_trace_group,  &cli_threads_group, &cli_format_group, NULL,
};

const struct cli_command cli_run = {
    .name = "run",
    .summary = "run an algorithm on data, count it, and check the result",
    .operands = "",
    .about = "Computes attention through the counting machine, on tensors of your own or on\n"
             "generated ones, and compares O, LSE and the gradients with an oracle in double\n"
             "precision. The budget of an error is twice that of a naive run in the same format.\n"
             "Exit status 1: the check failed. Results are written also then.",
    .examples = "  flashlab run\n"
                "  flashlab run --algorithm standard,flash1,flash2 --n 500 --causal --dtype f16\n"
                "  flashlab run --profile peaky --heads 4 --kv-heads 2 --out results\n"
                "  flashlab run --pass both --n 300 --heads 4 --kv-heads 2 --dropout 0.1\n"
                "  flashlab run --n 128 --trace run.trace",
    .groups = groups,
    .run = run,
};
