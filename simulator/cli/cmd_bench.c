#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "simulator/cli/bench.h"
#include "simulator/cli/options.h"
#include "simulator/cli/progress.h"

static const struct cli_option options[] = {
    {.name = "rounds",
     .value = "N",
     .help = "Counted rounds of each entry (7).",
     .kind = CLI_INTEGER,
     .offset = offsetof(struct bench_options, rounds),
     .min = 1,
     .max = BENCH_ROUNDS},
    {.name = "threads",
     .value = "N",
     .help = "The most threads to measure with (2).",
     .kind = CLI_INTEGER,
     .offset = offsetof(struct bench_options, threads),
     .min = 1,
     .max = 1024},
};
static const struct cli_group group = CLI_GROUP("Measurement", options);
static const struct cli_group *const groups[] = {&group, &bench_gpu_group, &cli_format_group,
                                                 NULL};

static const struct {
    const char *name;
    enum fa_status (*run)(struct bench *bench, struct fa_error *error);
} benches[] = {
    /* These two measure in a process of their own. They come first: OpenMP's threads, once started
     * here, would not be there in a child that waits for them. */
    {"count", bench_count},
    {"memory", bench_memory},
    {"attention", bench_attention},
    {"trace", bench_trace},
    {"view", bench_view},
};
enum { COUNT, MEMORY, ATTENTION, TRACE, VIEW, BENCHES };

double bench_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool bench_tick(struct bench *bench)
{
    bench->done++;
    return bench->watch->tick(bench->watch->context, bench->done / bench->total);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void bench_add(struct bench *bench, const char *name, const char *entry, const char *setting,
               const char *unit, const double *values, const char *peer,
               const double *peer_values)
{
    struct bench_row row = {.rounds = bench->rounds};
    double sorted[BENCH_ROUNDS];
    if (bench->n_rows == BENCH_ROWS)
        return;
    snprintf(row.bench, sizeof row.bench, "%s", name);
    snprintf(row.entry, sizeof row.entry, "%s", entry);
    snprintf(row.setting, sizeof row.setting, "%s", setting);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    memcpy(sorted, values, (size_t)bench->rounds * sizeof *sorted);
    row.median = median(sorted, bench->rounds);
    row.least = sorted[0];
    row.most = sorted[bench->rounds - 1];
    if (peer) {
        snprintf(row.peer, sizeof row.peer, "%s", peer);
        for (int round = 0; round < bench->rounds; round++)
            sorted[round] = peer_values[round] / values[round];
        row.ratio = median(sorted, bench->rounds);
    }
    bench->rows[bench->n_rows++] = row;
}

static void print_text(const struct bench *bench)
{
    const char *peer = bench_peer_name();
    printf("%-10s %-22s %-42s %10s %21s  %s\n", "bench", "entry", "setting", "median",
           "least .. most", "unit");
    for (int r = 0; r < bench->n_rows; r++) {
        const struct bench_row *row = &bench->rows[r];
        char range[32];
        snprintf(range, sizeof range, "%.4g .. %.4g", row->least, row->most);
        printf("%-10s %-22s %-42s %10.4g %21s  %s", row->bench, row->entry, row->setting,
               row->median, range, row->unit);
        if (row->ratio > 0)
            printf(", %.2f times as fast as %s", row->ratio, row->peer);
        putchar('\n');
    }
    printf("\nMedians of %d rounds, entries in turn. Peer: %s.\n", bench->rounds,
           peer ? peer : "none, OpenBLAS is missing in this build");
}

static int print_json(const struct bench *bench)
{
    json_t *list = json_array();
    for (int r = 0; r < bench->n_rows; r++) {
        const struct bench_row *row = &bench->rows[r];
        json_t *object = json_pack(
            "{s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:i}", "bench", row->bench, "entry", row->entry,
            "setting", row->setting, "unit", row->unit, "median", row->median, "least",
            row->least, "most", row->most, "rounds", row->rounds);
        json_object_set_new(object, "peer", row->ratio > 0 ? json_string(row->peer) : json_null());
        json_object_set_new(object, "times_as_fast",
                            row->ratio > 0 ? json_real(row->ratio) : json_null());
        json_array_append_new(list, object);
    }
    int failed = json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
    return failed ? CLI_REFUSED : CLI_FINE;
}

/* OpenBLAS must choose its kernel itself: it reads these when the program starts, so it starts
 * again without them. */
static void free_the_peer(void)
{
#if defined(FLASHLAB_HAVE_OPENBLAS) && defined(__linux__)
    extern char **environ;
    char *arguments[256];
    char line[8192];
    FILE *file;
    size_t n_bytes, n = 0;
    if (!getenv("OPENBLAS_CORETYPE") && !getenv("OPENBLAS_L2_SIZE"))
        return;
    file = fopen("/proc/self/cmdline", "rb");
    if (!file)
        return;
    n_bytes = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[n_bytes] = '\0';
    for (size_t at = 0; at < n_bytes && n + 1 < sizeof arguments / sizeof *arguments;
         at += strlen(line + at) + 1)
        arguments[n++] = line + at;
    arguments[n] = NULL;
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    execve("/proc/self/exe", arguments, environ);
#endif
}

static bool chosen(const char *which, int b)
{
    return strcmp(which, "all") == 0 || strcmp(which, benches[b].name) == 0;
}

/* Options of another measurement than the one that was asked for would be passed over. */
static enum fa_status check_options(const struct bench_options *given, bool gpu,
                                    struct fa_error *error)
{
    const struct cli_group *other = gpu ? &group : &bench_gpu_group;
    for (int i = 0; i < other->n_options; i++)
        if (cli_given(&given->base, other->options[i].name))
            return fa_fail(error, FA_BAD_ARGUMENT,
                           gpu ? "--%s: not an option of `flashlab bench gpu`, which has --repeats"
                               : "--%s: an option of `flashlab bench gpu` alone",
                           other->options[i].name);
    return FA_OK;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct bench_options given = {.rounds = 7, .threads = 2, .gpu = bench_gpu_defaults};
    struct cli_progress progress;
    struct bench *bench;
    struct fa_error error;
    enum fa_status status = FA_OK;
    int exit_status = CLI_FINE, n = 0;

    if (!cli_begin(command, argc, argv, &given.base, &exit_status))
        return exit_status;
    const char *which = given.base.n_operands ? given.base.operands[0] : "all";
    const bool gpu = strcmp(which, "gpu") == 0;
    if (check_options(&given, gpu, &error) != FA_OK)
        return cli_fail(command, given.base.format, &error);
    if (gpu)
        return bench_gpu_run(command, &given.gpu, given.base.format);
    for (int b = 0; b < BENCHES; b++)
        n += chosen(which, b);
    if (n == 0) {
        fa_fail(&error, FA_BAD_ARGUMENT,
                "'%s': expected attention, count, trace, memory, view, all or gpu", which);
        return cli_fail(command, given.base.format, &error);
    }
    free_the_peer();
    bench = calloc(1, sizeof *bench);
    if (!bench) {
        fa_fail(&error, FA_NO_MEMORY, "no memory for the measurement");
        return cli_fail(command, given.base.format, &error);
    }
    bench->rounds = (int)given.rounds;
    bench->threads = (int)given.threads;
    bench->watch = &progress.watch;
    bench->total = (chosen(which, ATTENTION) ? bench_attention_runs(bench) : 0) +
                   (chosen(which, VIEW) ? bench_view_runs(bench) : 0) +
                   (double)(chosen(which, COUNT) + chosen(which, TRACE)) * bench->rounds +
                   chosen(which, MEMORY);
    cli_progress_start(&progress, "measuring");
    for (int b = 0; b < BENCHES && status == FA_OK; b++)
        if (chosen(which, b))
            status = benches[b].run(bench, &error);
    cli_progress_end(&progress);
    if (status != FA_OK)
        exit_status = cli_fail(command, given.base.format, &error);
    else if (given.base.format == CLI_JSON_FORMAT)
        exit_status = print_json(bench);
    else
        print_text(bench);
    free(bench);
    return exit_status;
}

extern const struct cli_command cli_bench;
const struct cli_command cli_bench = {
    .name = "bench",
    .summary = "measure this program's speed, and the kernels' on a GPU",
    .operands = "attention|count|trace|memory|view|all|gpu",
    .operands_min = 0,
    .operands_max = 1,
    .about = "Times flash2 on the CPU against OpenBLAS, a counted tile, a traced event, the memory of a\n"
             "long run, and the visualizer's frames. Medians and ranges of several rounds, entries in turn.\n"
             "gpu, which all leaves out: verifies the kernels on this machine's GPU, times them, and lays\n"
             "beside each time what the counted bytes and the device's measured ceilings predict. A kernel\n"
             "that is wrong is not timed, and the exit status is 1; without a GPU or its kernels, and where\n"
             "no rung that was asked for takes the problem, it is 3.",
    .examples = "  flashlab bench attention\n  flashlab bench count --rounds 3\n"
                "  flashlab bench gpu --causal --n 1K,4K,16K --plot ladder.svg\n"
                "  flashlab bench gpu --rungs flash2,mma --backward --hot",
    .groups = groups,
    .run = run,
};
