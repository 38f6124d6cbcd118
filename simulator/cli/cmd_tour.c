/* flashlab tour: attention by hand, the traffic of three algorithms, and the figure. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/cli/tour.h"
#include "simulator/plot.h"

struct tour_options {
    struct cli_options base;
    const char *out;
};

/* The sweep of the figure: the same that a bare `flashlab sweep` counts. */
enum { FIGURE_N = 8192, FIGURE_D = 64 };

static enum fa_status count_figure(struct sim_sweep *sweep, struct sim_sweep_axis axes[2],
                                   struct fa_error *error)
{
    struct cli_progress progress;
    struct cli_problem options = cli_problem_defaults;
    enum fa_status status = sim_sweep_axis_parse(CLI_FIGURE_SRAM, &axes[0], error);
    if (!status)
        status = sim_sweep_axis_parse("algorithm=standard,flash1,flash2", &axes[1], error);
    if (!status)
        status = sim_machine_find("a100", &sweep->base.machine, error);
    if (status)
        return status;
    sweep->axes = axes;
    sweep->n_axes = 2;
    sweep->base.problem = fa_problem_make(FIGURE_N, FIGURE_N, FIGURE_D);
    sweep->base.tiles.policy = SIM_TILES_BEST;
    sweep->threads = cli_thread_count(&options);
    sweep->watch = &progress.watch;
    cli_progress_start(&progress, "counting");
    status = sim_sweep_run(sweep, error);
    cli_progress_end(&progress);
    return status;
}

/* The point of an algorithm at the capacity; NULL if it was refused. */
static const struct sim_result *find_result(const struct sim_sweep *sweep,
                                            const struct fa_algorithm *algorithm, uint64_t sram)
{
    const struct sim_result *found = NULL;
    for (int i = 0; i < sweep->n_points; i++) {
        const struct sim_result *result = &sweep->points[i].result;
        if (!sweep->points[i].status && result->algorithm == algorithm &&
            result->machine.sram_bytes == sram)
            found = result;
    }
    return found;
}

static double moved(const struct sim_result *result)
{
    return (double)(sim_counters_read_all(&result->counters, &result->problem).elements +
                    sim_counters_write_all(&result->counters, &result->problem).elements);
}

static void print_bound(const struct cli_tour *tour, const struct sim_sweep *sweep)
{
    uint64_t sram = sweep->base.machine.sram_bytes;
    const struct sim_result *standard = find_result(sweep, &fa_standard, sram);
    const struct sim_result *flash2 = find_result(sweep, &fa_flash2, sram);

    fprintf(tour->file,
            "How much must be moved depends on M, the numbers that fit in SRAM. Theorem 2 of\n"
            "the FlashAttention paper: flash moves in proportion to %s, standard to\n"
            "%s, whatever M is. The figure sets counted runs beside these lines: one\n"
            "head with N = %d, d = %d, and SRAMs of 16 KiB to 1 MiB.\n",
            cli_tour_pick(tour, "N²d²/M", "N^2 d^2/M"), cli_tour_pick(tour, "Nd + N²", "Nd + N^2"),
            FIGURE_N, FIGURE_D);
    if (standard && flash2)
        fprintf(tour->file,
                "At the A100's %.0f KiB, M = %" PRIu64
                ": standard moved %.0f million numbers, flash2\n"
                "%.1f million, %.1f times less. The formula, with constant 1, says %.1f million.\n",
                (double)flash2->machine.sram_bytes / 1024, flash2->machine.sram_bytes / 4,
                moved(standard) / 1e6, moved(flash2) / 1e6, moved(standard) / moved(flash2),
                flash2->bounds.theta / 1e6);
    fputc('\n', tour->file);
}

static enum fa_status draw(const struct cli_tour *tour, const struct sim_sweep *sweep,
                           const char *folder, struct fa_error *error)
{
    static const char *const names[] = {"counted-io.svg", "counted-io.png"};
    struct sim_provenance provenance = {
        .version = FLASHLAB_VERSION, .command = cli_command_line(), .threads = sweep->threads};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (n < 0 || n >= (int)sizeof path)
            return fa_fail(error, FA_IO, "%s: the path is too long", folder);
        enum fa_status status = sim_plot_write(sweep, &provenance, path, error);
        if (status == FA_MISSING_PART) {
            fprintf(tour->file, "  no figure: %s\n", error->text);
            break;
        }
        if (status)
            return status;
        fprintf(tour->file, "  %s\n", path);
    }
    fprintf(tour->file,
            "  %s/counted-io.csv    its numbers\n"
            "  %s/counted-io.gp     its script for gnuplot\n",
            folder, folder);
    return FA_OK;
}

enum fa_status cli_tour_figure(const struct cli_tour *tour, const char *folder,
                               struct fa_error *error)
{
    struct sim_sweep sweep;
    struct sim_sweep_axis axes[2];
    memset(&sweep, 0, sizeof sweep);
    memset(axes, 0, sizeof axes);
    enum fa_status status = count_figure(&sweep, axes, error);
    if (!status) {
        cli_tour_title(tour, "3. The bound");
        print_bound(tour, &sweep);
        status = draw(tour, &sweep, folder, error);
    }
    sim_sweep_free(&sweep);
    sim_sweep_axis_free(&axes[0]);
    sim_sweep_axis_free(&axes[1]);
    return status;
}

static void print_end(const struct cli_tour *tour)
{
    cli_tour_title(tour, "Go on");
    fputs("  flashlab count --algorithm standard,flash1,flash2    what each one moves\n"
          "  flashlab run --n 300 --causal                        real data, checked\n"
          "  flashlab sweep --vary n=256..64K*2 --plot length.svg a figure of your own\n"
          "  flashlab help                                        all commands\n\n"
          "In a clone of FlashLab, ./lab stands for flashlab.\n",
          tour->file);
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct tour_options options = {.out = "figures"};
    struct fa_error error = {FA_OK, ""};
    int exit_status;

    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    enum fa_status status = cli_folder_make(options.out, &error);
    if (!status) {
        struct cli_tour tour = cli_tour_make(stdout);
        fprintf(stdout,
                "%sFlashLab%s: attention on a machine that counts every memory access\n\n"
                "Every number below was counted or computed just now, on this computer.\n",
                cli_tour_bold(&tour), cli_tour_plain(&tour));
        status = cli_tour_example(&tour, &error);
        if (!status)
            status = cli_tour_traffic(&tour, &error);
        if (!status)
            status = cli_tour_figure(&tour, options.out, &error);
        if (!status)
            print_end(&tour);
    }
    if (status)
        return cli_fail(command, options.base.format, &error);
    return CLI_FINE;
}

static const struct cli_option tour_options[] = {
    {.name = "out",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct tour_options, out),
     .help = "Where the figure goes; the folder is made if missing (figures)."},
};

static const struct cli_group tour_group = CLI_GROUP("Output", tour_options);
static const struct cli_group *const groups[] = {&tour_group, NULL};

const struct cli_command cli_tour = {
    .name = "tour",
    .summary = "attention number by number, what three algorithms move, and the bound",
    .operands = "",
    .about =
        "A walk through the notes' worked example, the memory traffic of standard attention and\n"
        "of both FlashAttention algorithms, and the figure \"counted IO against the bound\".",
    .examples = "  flashlab tour\n"
                "  flashlab tour --out /tmp",
    .groups = groups,
    .run = run,
};
