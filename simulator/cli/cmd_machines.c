/* flashlab machines: the presets, what each number means, and where it is from. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "simulator/cli/options.h"
#include "simulator/machine.h"

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)
#define GIB (1024.0 * 1024.0 * 1024.0)

/* A figure in its unit, right-aligned; a dash where it is not known. */
static void print_figure(int width, double value, double unit)
{
    char text[32] = "-";
    if (value > 0)
        snprintf(text, sizeof text, "%.4g", value / unit);
    printf(" %*s", width, text);
}

static void print_table(const struct sim_machine *machines, int n)
{
    printf("%-8s %8s %5s %5s %6s %9s %10s %8s %8s %8s\n", "name", "SRAM/SM", "SMs", "L2", "HBM",
           "HBM rate", "SRAM rate", "f32", "f16", "exp");
    printf("%-8s %8s %5s %5s %6s %9s %10s %8s %8s %8s\n\n", "", "KiB", "", "MiB", "GiB", "TB/s",
           "TB/s", "TFLOP/s", "TFLOP/s", "T/s");
    for (int i = 0; i < n; i++) {
        const struct sim_machine *m = &machines[i];
        printf("%-8s", m->name);
        print_figure(8, (double)m->sram_bytes, KIB);
        print_figure(5, (double)m->sms, 1);
        print_figure(5, (double)m->l2_bytes, MIB);
        print_figure(6, (double)m->hbm_bytes, GIB);
        print_figure(9, m->hbm_bytes_per_second, 1e12);
        print_figure(10, m->sram_bytes_per_second, 1e12);
        print_figure(8, m->f32_flops_per_second, 1e12);
        print_figure(8, m->f16_flops_per_second, 1e12);
        print_figure(8, m->exp_per_second, 1e12);
        putchar('\n');
    }
    fputs("\nSRAM/SM: on-chip memory of one streaming multiprocessor that tiles may fill: its\n"
          "shared memory and L1 together (h100, h200: what one block of threads may have).\n"
          "HBM: the large memory beside the chip. SRAM rate: of all SMs together.\n"
          "f32: CUDA cores. f16: tensor cores, dense, f32 accumulation. exp: exponentials, by the\n"
          "special function units. -: not known.\n\n"
          "Where each number is from: flashlab machines NAME\n"
          "Your own machine: flashlab machines a100 --format json > my.json, edit it,\n"
          "                  flashlab count --machine my.json\n",
          stdout);
}

static void print_line(const char *label, double value, double unit, const char *unit_name,
                       const char *source)
{
    char text[48] = "not known";
    if (value > 0)
        snprintf(text, sizeof text, "%.4g%s%s", value / unit, *unit_name ? " " : "", unit_name);
    printf("  %-10s %-13s %s\n", label, text, source);
}

static void print_machine(const struct sim_machine *m)
{
    printf("%s: %s\n\n", m->name, m->title);
    print_line("SRAM/SM", (double)m->sram_bytes, KIB, "KiB", m->source_sram);
    print_line("SMs", (double)m->sms, 1, "", m->source_sms);
    print_line("L2", (double)m->l2_bytes, MIB, "MiB", m->source_l2);
    print_line("HBM", (double)m->hbm_bytes, GIB, "GiB", m->source_hbm);
    print_line("HBM rate", m->hbm_bytes_per_second, 1e12, "TB/s", m->source_hbm);
    print_line("SRAM rate", m->sram_bytes_per_second, 1e12, "TB/s", m->source_sram_rate);
    print_line("f32", m->f32_flops_per_second, 1e12, "TFLOP/s", m->source_flops);
    print_line("f16", m->f16_flops_per_second, 1e12, "TFLOP/s", m->source_flops);
    print_line("exp", m->exp_per_second, 1e12, "T/s", m->source_exp);
    printf("\nSRAM/SM is %" PRIu64 " bytes: %" PRIu64 " numbers of f32, %" PRIu64 " of f16.\n",
           m->sram_bytes, m->sram_bytes / 4, m->sram_bytes / 2);
}

static enum fa_status print_json(const struct sim_machine *machines, int n, bool one,
                                 struct fa_error *error)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (int i = 0; i < n && good; i++)
        good = json_array_append_new(list, sim_machine_to_json(&machines[i])) == 0;
    if (good) {
        json_dumpf(one ? json_array_get(list, 0) : list, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    json_decref(list);
    return good ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory to print the machines");
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_options options = {0};
    struct sim_machine found;
    struct fa_error error = {0};
    int n, exit_status;

    if (!cli_begin(command, argc, argv, &options, &exit_status))
        return exit_status;
    const struct sim_machine *machines = sim_machine_presets(&n);
    bool one = options.n_operands > 0;
    if (one) {
        if (sim_machine_find(options.operands[0], &found, &error))
            return cli_fail(command, options.format, &error);
        machines = &found;
        n = 1;
    }
    if (options.format == CLI_JSON_FORMAT) {
        if (print_json(machines, n, one, &error))
            return cli_fail(command, options.format, &error);
    } else if (one) {
        print_machine(&found);
    } else {
        print_table(machines, n);
    }
    return CLI_FINE;
}

static const struct cli_group *const groups[] = {&cli_format_group, NULL};

const struct cli_command cli_machines = {
    .name = "machines",
    .summary = "the machines that --machine knows, and where their numbers are from",
    .operands = "NAME|FILE",
    .operands_max = 1,
    .about =
        "Lists the presets, or shows one with the source of each number. In JSON, one machine is\n"
        "just what a machine file holds.",
    .examples = "  flashlab machines\n"
                "  flashlab machines a100\n"
                "  flashlab machines a100 --format json > my.json",
    .groups = groups,
    .run = run,
};
