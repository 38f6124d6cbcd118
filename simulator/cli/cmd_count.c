/* flashlab count: what an algorithm moves and computes, without arithmetic. */
#include "simulator/cli/experiments.h"

extern const struct cli_command cli_count;

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_problem options = cli_problem_defaults;
    int exit_status;
    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    return cli_experiments_run(&options, SIM_COUNT_ONLY);
}

static const struct cli_group *const groups[] = {
    &cli_problem_group, &cli_sparse_group,  &cli_machine_group, &cli_trace_group,
    &cli_threads_group, &cli_format_group,  NULL,
};

const struct cli_command cli_count = {
    .name = "count",
    .summary = "count what an algorithm moves between the memories, without arithmetic",
    .operands = "",
    .about = "Walks the algorithm's own loops on a machine whose on-chip memory (SRAM) is\n"
             "small, and counts every element that crosses between it and the large memory\n"
             "(HBM), by tensor and direction, with FLOPs, tiles and the bounds from theory\n"
             "beside the count.",
    .examples = "  flashlab count --algorithm standard,flash1,flash2\n"
                "  flashlab count --n 1M --causal\n"
                "  flashlab count --heads 32 --kv-heads 8 --n 8192 --d 128 --dtype bf16\n"
                "  flashlab count --pass both --algorithm standard,fused-save-p,flash2 --sram 1M\n"
                "  flashlab count --n 4096 --tiles 64x64 --block-pattern window:1,1\n"
                "  flashlab count --sram 64K --tiles best --format json",
    .groups = groups,
    .run = run,
};
