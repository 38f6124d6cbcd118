/* The command `flashlab bench gpu`: its options, and the order of its work. */
#include "simulator/cli/bench_gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/bench.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"
#include "simulator/gnuplot.h"
#include "simulator/plot.h"

enum { LENGTH_MOST = 1 << 20, TOKENS_MOST = 1 << 24, LIST_BYTES = 512 };

const struct bench_gpu_options bench_gpu_defaults = {
    .n = {1024, 2048, 4096},
    .n_lengths = 3,
    .d = 128,
    .tokens = 16384,
    .heads = 16,
    .repeats = 30,
    .dtype = FA_F16,
};

/* ---- options --------------------------------------------------------------------------------- */

/* The next word of a list with commas, cut out of `list`; NULL after the last. */
static const char *next_word(char **list)
{
    char *word = *list;
    if (!word)
        return NULL;
    char *comma = strchr(word, ',');
    if (comma)
        *comma = '\0';
    *list = comma ? comma + 1 : NULL;
    return word;
}

static enum fa_status copy_list(const char *text, char list[LIST_BYTES], struct fa_error *error)
{
    if (snprintf(list, LIST_BYTES, "%s", text) < LIST_BYTES)
        return FA_OK;
    return fa_fail(error, FA_TOO_LARGE, "expected a list of less than %d letters", LIST_BYTES);
}

static enum fa_status set_lengths(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    struct bench_gpu_options *gpu = &((struct bench_options *)options)->gpu;
    char list[LIST_BYTES], *rest = list;
    enum fa_status status = copy_list(text, list, error);
    int n = 0;
    for (const char *word; status == FA_OK && (word = next_word(&rest));) {
        int64_t value;
        status = cli_parse_size(word, 1, LENGTH_MOST, &value, error);
        if (status == FA_OK && n == BENCH_GPU_LENGTHS)
            status =
                fa_fail(error, FA_BAD_ARGUMENT, "expected at most %d lengths", BENCH_GPU_LENGTHS);
        if (status != FA_OK)
            break;
        int place = n; /* from the shortest on, each once */
        while (place > 0 && gpu->n[place - 1] >= value)
            place--;
        if (place < n && gpu->n[place] == value)
            return fa_fail(error, FA_BAD_ARGUMENT, "expected each length once");
        memmove(gpu->n + place + 1, gpu->n + place, (size_t)(n - place) * sizeof *gpu->n);
        gpu->n[place] = value;
        n++;
    }
    gpu->n_lengths = n;
    return status;
}

/* The names of this build's rungs, in whose order the list ends. */
static const char *const *rung_words(void)
{
    static const char *words[BENCH_GPU_RUNGS + 1];
    for (int i = 0; i < gpu_rung_count && i < BENCH_GPU_RUNGS; i++)
        words[i] = gpu_rungs[i]->name;
    return words;
}

static enum fa_status set_rungs(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct bench_gpu_options *gpu = &((struct bench_options *)options)->gpu;
    char list[LIST_BYTES], *rest = list;
    enum fa_status status = copy_list(text, list, error);
    for (const char *word; status == FA_OK && (word = next_word(&rest));) {
        int index = 0;
        if (gpu_rung_count == 0) /* what is missing is said when the work begins */
            return FA_OK;
        status = cli_parse_word(word, rung_words(), &index, error);
        if (status == FA_OK && gpu->n_rungs == BENCH_GPU_RUNGS)
            status = fa_fail(error, FA_BAD_ARGUMENT, "expected at most %d rungs", BENCH_GPU_RUNGS);
        if (status == FA_OK)
            gpu->rungs[gpu->n_rungs++] = gpu_rungs[index];
    }
    return status;
}

static const char *const dtype_words[] = {"f32", "f16", "bf16", NULL};
static const enum fa_dtype dtypes[] = {FA_F32, FA_F16, FA_BF16};

static enum fa_status set_dtype(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    int index = 0;
    enum fa_status status = cli_parse_word(text, dtype_words, &index, error);
    if (status == FA_OK)
        ((struct bench_options *)options)->gpu.dtype = dtypes[index];
    return status;
}

#define GPU_FIELD(field) offsetof(struct bench_options, gpu.field)

static const struct cli_option gpu_options[] = {
    {.name = "rungs",
     .value = "NAME,...",
     .kind = CLI_OTHER,
     .set = set_rungs,
     .list_words = rung_words,
     .list = true,
     .help = "These rungs of the ladder alone (all)."},
    {.name = "n",
     .value = "N,...",
     .kind = CLI_OTHER,
     .set = set_lengths,
     .help = "Queries and keys, one or more lengths (1024,2048,4096)."},
    {.name = "d",
     .value = "D",
     .kind = CLI_INTEGER,
     .offset = GPU_FIELD(d),
     .min = 1,
     .max = 256,
     .help = "Head size (128)."},
    {.name = "dtype",
     .value = "f32|f16|bf16",
     .kind = CLI_OTHER,
     .set = set_dtype,
     .words = dtype_words,
     .help = "Storage of the tensors (f16)."},
    {.name = "causal",
     .kind = CLI_FLAG,
     .offset = GPU_FIELD(causal),
     .help = "Each query sees the keys up to its own."},
    {.name = "backward",
     .kind = CLI_FLAG,
     .offset = GPU_FIELD(backward),
     .help = "The backward pass in place of the forward one."},
    {.name = "tokens",
     .value = "T",
     .kind = CLI_SIZE,
     .offset = GPU_FIELD(tokens),
     .min = 1,
     .max = TOKENS_MOST,
     .help = "T / N sequences a launch, at least one (16384)."},
    {.name = "heads",
     .value = "H",
     .kind = CLI_INTEGER,
     .offset = GPU_FIELD(heads),
     .min = 1,
     .max = 1024,
     .help = "Heads of a sequence (16)."},
    {.name = "repeats",
     .value = "R",
     .kind = CLI_INTEGER,
     .offset = GPU_FIELD(repeats),
     .min = 1,
     .max = 1000,
     .help = "Rounds, each in a new random order (30)."},
    {.name = "hot",
     .kind = CLI_FLAG,
     .offset = GPU_FIELD(hot),
     .help = "No rest, and 150 ms of launches: what the power limit leaves. Else 0.2 s of rest "
             "before each 12 ms of launches."},
    {.name = "ncu",
     .kind = CLI_FLAG,
     .offset = GPU_FIELD(ncu),
     .help =
         "Have NVIDIA's profiler count the bytes of each rung too, as `flashlab counters` does: "
         "some seconds each."},
    {.name = "csv",
     .value = "FILE",
     .kind = CLI_FILE,
     .offset = GPU_FIELD(csv),
     .help = "Write the table there too."},
    {.name = "plot",
     .value = "F.svg|F.png",
     .kind = CLI_FILE,
     .offset = GPU_FIELD(plot),
     .help = "Draw the ladder with gnuplot; the table and the script stay beside the figure."},
};

const struct cli_group bench_gpu_group = CLI_GROUP("With gpu alone", gpu_options);

/* ---- work ------------------------------------------------------------------------------------ */

/* Whether the path is that of the script which stays beside the figure. */
static bool is_script_of(const char *path, const char *plot)
{
    char script[SIM_PATH_BYTES];
    int n = snprintf(script, sizeof script, "%.*s.gp", (int)(strlen(plot) - strlen(".svg")), plot);
    return n < (int)sizeof script && cli_same_file(path, script);
}

/* Before the work: can it be written at all? */
static enum fa_status check_outputs(const struct bench_gpu_options *options, struct fa_error *error)
{
    enum sim_picture format;
    enum fa_status status = options->csv ? cli_file_check(options->csv, error) : FA_OK;
    if (status == FA_OK && options->plot)
        status = sim_plot_format(options->plot, &format, error);
    if (status == FA_OK && options->plot)
        status = cli_file_check(options->plot, error);
    if (status == FA_OK && options->plot && options->csv &&
        (cli_same_file(options->csv, options->plot) || is_script_of(options->csv, options->plot)))
        status =
            fa_fail(error, FA_BAD_ARGUMENT,
                    "--csv %s: expected another file than the figure and its script", options->csv);
    return status;
}

static enum fa_status verify_all(struct bench_gpu *bench, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int e = 0; e < bench->n_entries && status == FA_OK; e++) {
        struct bench_gpu_entry *entry = &bench->entries[e];
        if (entry->rung && bench_gpu_is_timed(entry))
            status = bench_gpu_verify(bench, entry, error);
        if (status == FA_OK &&
            !bench->watch->tick(bench->watch->context, ++bench->done / bench->total))
            status = fa_fail(error, FA_CANCELLED, "stopped before the measurement was done");
    }
    return status;
}

/* Where no rung takes the problem there is nothing to time; a rung that is wrong took it. */
static enum fa_status check_taken(const struct bench_gpu *bench, struct fa_error *error)
{
    const struct bench_gpu_entry *first = NULL;
    bool several = false;
    for (int e = 0; e < bench->n_entries; e++) {
        const struct bench_gpu_entry *entry = &bench->entries[e];
        if (!entry->rung)
            continue;
        if (bench_gpu_is_timed(entry) || entry->wrong)
            return FA_OK;
        first = first ? first : entry;
        several = several || entry->rung != first->rung;
    }
    if (!first)
        return FA_OK;
    return fa_fail(error, FA_MISSING_PART, "%s took none of the lengths%s: %s", first->rung->name,
                   several ? ", nor did another rung" : "", first->refused);
}

static enum fa_status write_csv(const struct bench_gpu *bench, const char *path,
                                struct fa_error *error)
{
    struct cli_file file;
    enum fa_status status = cli_file_open(&file, path, error);
    if (status != FA_OK)
        return status;
    bench_gpu_write_csv(bench, file.file);
    return cli_file_commit(&file, error);
}

/* The table is shown before a file that can't be written or drawn is regretted. */
static enum fa_status report(const struct bench_gpu *bench, int format, struct fa_error *error)
{
    const struct bench_gpu_options *options = bench->options;
    const bool text = format == CLI_TEXT_FORMAT;
    if (text)
        bench_gpu_print(bench);
    fflush(stdout);
    enum fa_status status = options->csv ? write_csv(bench, options->csv, error) : FA_OK;
    if (status == FA_OK && options->csv && text)
        printf("%s: written\n", options->csv);
    if (status == FA_OK && options->plot)
        status = bench_gpu_plot(bench, options->plot, error);
    if (status == FA_OK && options->plot && text)
        printf("%s: drawn, with its .csv and .gp beside it\n", options->plot);
    return status == FA_OK && !text ? bench_gpu_print_json(bench, error) : status;
}

static enum fa_status work(struct bench_gpu *bench, int format, struct fa_error *error)
{
    struct cli_progress progress;
    bench->watch = &progress.watch;
    enum fa_status status = check_outputs(bench->options, error);
    if (status != FA_OK)
        return status;
    cli_progress_start(&progress, "measuring");
    status = bench_gpu_open(bench, error);
    bench->total = (double)bench->n_entries * (double)(bench->options->repeats + 1);
    if (status == FA_OK)
        status = verify_all(bench, error);
    if (status == FA_OK)
        status = check_taken(bench, error);
    if (status == FA_OK)
        status = bench_gpu_find_bytes(bench, error);
    if (status == FA_OK)
        status = bench_gpu_time(bench, error);
    cli_progress_end(&progress);
    if (status == FA_OK)
        bench_gpu_predict(bench);
    return status == FA_OK ? report(bench, format, error) : status;
}

int bench_gpu_run(const struct cli_command *command, const struct bench_gpu_options *options,
                  int format)
{
    struct bench_gpu *bench = calloc(1, sizeof *bench);
    struct fa_error error = {FA_OK, ""};
    int exit_status = CLI_FINE;
    if (!bench) {
        fa_fail(&error, FA_NO_MEMORY, "no memory for the measurement");
        return cli_fail(command, format, &error);
    }
    bench->options = options;
    if (work(bench, format, &error) != FA_OK)
        exit_status = cli_fail(command, format, &error);
    for (int e = 0; e < bench->n_entries; e++)
        if (bench->entries[e].wrong && exit_status == CLI_FINE)
            exit_status = CLI_CHECK_FAILED;
    bench_gpu_close(bench);
    free(bench);
    return exit_status;
}
