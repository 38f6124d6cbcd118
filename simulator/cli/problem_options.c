#include "simulator/cli/problem_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct cli_problem, field)

enum { THREADS_MAX = 1024, PRESETS_MAX = 31 };

const struct cli_problem cli_problem_defaults = {
    .algorithms = {&fa_flash2},
    .n_algorithms = 1,
    .batch = -1,
    .heads = -1,
    .kv_heads = -1,
    .n = -1,
    .nq = -1,
    .nk = -1,
    .d = -1,
    .dv = -1,
    .window_left = -1,
    .window_right = -1,
    .dtype = FA_F32,
    .dropout_seed = 1,
    .machine_name = "a100",
    .seed = 1,
    .profile = FA_PROFILE_GAUSS,
    .check = SIM_CHECK_SAMPLE,
    .threads = -1,
};

enum { N_DEFAULT = 1024, D_DEFAULT = 64 };

static const char *const pass_words[] = {"forward", "backward", "both", NULL};
static const char *const layout_words[] = {"bhsd", "bshd", NULL};
static const char *const check_words[] = {"none", "sample", "full", NULL};
static const char *const dtype_words[] = {"f64", "f32", "f16", "bf16", NULL};
static const char *const causal_words[] = {"bottom-right", "top-left", NULL};
static const char *const tile_words[] = {"paper", "square", "best", "best:16", NULL};

static const char *const *list_algorithms(void)
{
    static const char *words[FA_ALGORITHMS + 1];
    for (int i = 0; i < FA_ALGORITHMS; i++)
        words[i] = fa_algorithms[i]->name;
    return words;
}

static const char *const *list_machines(void)
{
    static const char *words[PRESETS_MAX + 1];
    int n;
    const struct sim_machine *presets = sim_machine_presets(&n);
    for (int i = 0; i < n && i < PRESETS_MAX; i++)
        words[i] = presets[i].name;
    return words;
}

static const char *const *list_profiles(void)
{
    static const char *words[FA_PROFILE_COUNT + 1];
    for (int i = 0; i < FA_PROFILE_COUNT; i++)
        words[i] = fa_profile_name((enum fa_profile)i);
    return words;
}

/* The options of any of these commands begin with a struct cli_problem. */
static struct cli_problem *problem_of(struct cli_options *options)
{
    return (struct cli_problem *)options;
}

static enum fa_status set_algorithms(struct cli_options *options, const char *text,
                                     struct fa_error *error)
{
    struct cli_problem *problem = problem_of(options);
    int n = 0;
    while (true) {
        char name[32] = "";
        size_t length = strcspn(text, ",");
        int index = 0;
        if (length < sizeof name)
            memcpy(name, text, length);
        enum fa_status status = cli_parse_word(name, list_algorithms(), &index, error);
        if (status != FA_OK)
            return status;
        for (int i = 0; i < n; i++)
            if (problem->algorithms[i] == fa_algorithms[index])
                return fa_fail(error, FA_BAD_ARGUMENT, "expected each algorithm once, not %s twice",
                               name);
        problem->algorithms[n++] = fa_algorithms[index];
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    problem->n_algorithms = n;
    return FA_OK;
}

static enum fa_status set_scale(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    problem_of(options)->scale_given = true;
    return cli_parse_real(text, &problem_of(options)->scale, error);
}

static enum fa_status set_causal(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    int index = 0;
    enum fa_status status = text ? cli_parse_word(text, causal_words, &index, error) : FA_OK;
    if (status == FA_OK)
        problem_of(options)->causal = index == 0 ? FA_CAUSAL_BOTTOM_RIGHT : FA_CAUSAL_TOP_LEFT;
    return status;
}

static enum fa_status set_window(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    struct cli_problem *problem = problem_of(options);
    struct fa_error inner;
    char left[32];
    size_t length = strcspn(text, ",");
    if (length < sizeof left && text[length] == ',') {
        memcpy(left, text, length);
        left[length] = '\0';
        if (cli_parse_integer(left, -1, INT64_MAX, &problem->window_left, &inner) == FA_OK &&
            cli_parse_integer(text + length + 1, -1, INT64_MAX, &problem->window_right, &inner) ==
                FA_OK)
            return FA_OK;
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "expected L,R: keys kept left and right of the diagonal, -1 for no bound");
}

static enum fa_status set_dtype(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    int index;
    enum fa_status status = cli_parse_word(text, dtype_words, &index, error);
    if (status == FA_OK)
        fa_dtype_parse(text, &problem_of(options)->dtype);
    return status;
}

static enum fa_status set_sram(struct cli_options *options, const char *text,
                               struct fa_error *error)
{
    return sim_parse_bytes(text, &problem_of(options)->sram_bytes, error);
}

static enum fa_status set_tiles(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    return sim_tile_choice_parse(text, &problem_of(options)->tiles, error);
}

static enum fa_status set_profile(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    int index;
    enum fa_status status = cli_parse_word(text, list_profiles(), &index, error);
    if (status == FA_OK)
        problem_of(options)->profile = (enum fa_profile)index;
    return status;
}

static const struct cli_option problem_options[] = {
    {.name = "algorithm", .value = "NAME[,NAME...]", .kind = CLI_OTHER, .set = set_algorithms,
     .list_words = list_algorithms, .list = true,
     .help = "standard, flash1 (K/V outside), flash2 (Q outside), fused-save-p or square-tiling "
             "(forward alone, for M < d^2); several make one table with ratios (flash2)."},
    {.name = "pass", .value = "forward|backward|both", .kind = CLI_WORD, .offset = AT(pass),
     .words = pass_words,
     .help = "The pass that is counted: backward alone (after a forward one that is not), or the "
             "sum of both (forward)."},
    {.name = "batch", .value = "N", .kind = CLI_INTEGER, .offset = AT(batch), .max = INT64_MAX,
     .help = "Sequences (1)."},
    {.name = "heads", .value = "N", .kind = CLI_INTEGER, .offset = AT(heads), .max = INT64_MAX,
     .help = "Query heads (1)."},
    {.name = "kv-heads", .value = "N", .kind = CLI_INTEGER, .offset = AT(kv_heads),
     .max = INT64_MAX,
     .help = "K/V heads, a divisor of the query heads: grouped or multi-query (as heads)."},
    {.name = "n", .value = "N", .kind = CLI_SIZE, .offset = AT(n), .max = INT64_MAX,
     .help = "Queries and keys: the sequence's length (1024). 64K or 64k is 65536, 1M 1048576."},
    {.name = "nq", .value = "N", .kind = CLI_SIZE, .offset = AT(nq), .max = INT64_MAX,
     .help = "Queries, with --nk in place of --n."},
    {.name = "nk", .value = "N", .kind = CLI_SIZE, .offset = AT(nk), .max = INT64_MAX,
     .help = "Keys, with --nq in place of --n."},
    {.name = "d", .value = "N", .kind = CLI_INTEGER, .offset = AT(d), .min = 1, .max = INT64_MAX,
     .help = "Head size: columns of Q and K (64)."},
    {.name = "dv", .value = "N", .kind = CLI_INTEGER, .offset = AT(dv), .min = 1, .max = INT64_MAX,
     .help = "Columns of V and O (as d)."},
    {.name = "scale", .value = "X", .kind = CLI_OTHER, .set = set_scale,
     .help = "Factor on Q K^T (1/sqrt(d))."},
    {.name = "causal", .value = "bottom-right|top-left", .value_optional = true,
     .kind = CLI_OTHER, .set = set_causal, .words = causal_words,
     .help = "Hide the keys past the diagonal, which ends in the corner named (bottom-right)."},
    {.name = "window", .value = "L,R", .kind = CLI_OTHER, .set = set_window,
     .help = "Keep L keys before the diagonal and R after it; -1 is no bound."},
    {.name = "dtype", .value = "f64|f32|f16|bf16", .kind = CLI_OTHER, .set = set_dtype,
     .words = dtype_words,
     .help = "Storage format; 16 bits are accumulated in f32 (f32)."},
    {.name = "mask", .value = "F.npy", .kind = CLI_FILE, .offset = AT(mask_path),
     .help = "Element mask, bool or u8, 1 = may be attended: [batch, heads, nq, nk], each axis "
             "also 1, or fewer leading axes."},
    {.name = "bias", .value = "F.npy", .kind = CLI_FILE, .offset = AT(bias_path),
     .help = "Added to the scores after scaling; shapes as for --mask."},
};

static const struct cli_option machine_options[] = {
    {.name = "machine", .value = "NAME|FILE", .kind = CLI_TEXT, .offset = AT(machine_name),
     .list_words = list_machines, .help = "A preset (flashlab machines) or a JSON file (a100)."},
    {.name = "sram", .value = "SIZE", .kind = CLI_OTHER, .set = set_sram,
     .help = "On-chip bytes in place of the machine's; 100K and 1M count in 1024s."},
    {.name = "tiles", .value = "BRxBC|RULE", .kind = CLI_OTHER, .set = set_tiles,
     .words = tile_words,
     .help = "Tile sides, or a rule: paper, square, best, best:16 (64x64, or the largest square "
             "where that does not fit)."},
};

static const struct cli_option input_options[] = {
    {.name = "in", .value = "DIR", .kind = CLI_FOLDER, .offset = AT(in),
     .help = "Read q.npy, k.npy, v.npy: [batch, heads, seq, d], [heads, seq, d] or [seq, d]. "
             "Shapes come from the files. With a backward pass also do.npy, the gradient of O."},
    {.name = "layout", .value = "bhsd|bshd", .kind = CLI_WORD, .offset = AT(layout),
     .words = layout_words,
     .help = "Order of the axes in files, read and written (bhsd): batch, heads, seq, d."},
    {.name = "seed", .value = "N", .kind = CLI_INTEGER, .offset = AT(seed), .max = INT64_MAX,
     .help = "Seed of generated inputs (1)."},
    {.name = "profile", .value = "NAME", .kind = CLI_OTHER, .set = set_profile,
     .list_words = list_profiles,
     .help = "Generated inputs: gauss, uniform, peaky, outliers, equal, rising, falling, tidy "
             "(gauss)."},
};

static const struct cli_option trace_options[] = {
    {.name = "trace", .value = "FILE", .kind = CLI_FILE, .offset = AT(trace),
     .help = "Save every load, store and compute; for flashlab trace. Runs on one thread."},
};

static const struct cli_option output_options[] = {
    {.name = "out", .value = "DIR", .kind = CLI_FOLDER, .offset = AT(out),
     .help = "Write o.npy and lse.npy in q's rank and layout (lse without the last axis), and "
             "dq.npy, dk.npy, dv.npy of a backward pass; the folder is made if missing."},
    {.name = "check", .value = "none|sample|full", .kind = CLI_WORD, .offset = AT(check),
     .words = check_words,
     .help = "Compare with the double oracle: all rows up to 8192 queries (gradients: 2048 queries "
             "and keys), 256 a head above (sample), or all (full)."},
};

static const struct cli_option threads_options[] = {
    {.name = "threads", .value = "N", .kind = CLI_INTEGER, .offset = AT(threads), .min = 1,
     .max = THREADS_MAX, .help = "Workers (the cores that are online)."},
};

const struct cli_group cli_problem_group = CLI_GROUP("Problem", problem_options);
/* What describes a problem whatever runs on it: all but --algorithm. */
const struct cli_group cli_shape_group = {
    "Problem", problem_options + 1, (int)(sizeof problem_options / sizeof *problem_options) - 1};
/* And what describes it to a kernel, which takes neither --mask nor --bias, the last two. */
const struct cli_group cli_kernel_group = {
    "Problem", problem_options + 1, (int)(sizeof problem_options / sizeof *problem_options) - 3};
/* All but --algorithm and --pass, where the command says in its own words which pass is meant. */
const struct cli_group cli_sizes_group = {
    "Problem", problem_options + 2, (int)(sizeof problem_options / sizeof *problem_options) - 2};
const struct cli_group cli_machine_group = CLI_GROUP("Machine", machine_options);
const struct cli_group cli_input_group = CLI_GROUP("Inputs", input_options);
/* What is left of the inputs where no file is read: all but the first. */
const struct cli_group cli_seed_group = {"Inputs", input_options + 1,
                                         (int)(sizeof input_options / sizeof *input_options) - 1};
const struct cli_group cli_output_group = CLI_GROUP("Outputs", output_options);
const struct cli_group cli_trace_group = CLI_GROUP("Trace", trace_options);
const struct cli_group cli_threads_group = CLI_GROUP("Speed", threads_options);

enum fa_status cli_problem_check(const struct cli_problem *options, struct fa_error *error)
{
    bool sides = options->nq >= 0 || options->nk >= 0;
    if (options->n >= 0 && sides)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--n and --%s: expected either --n, or --nq and --nk",
                       options->nq >= 0 ? "nq" : "nk");
    if (!options->in && sides && (options->nq < 0 || options->nk < 0))
        return fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected --%s with it",
                       options->nq >= 0 ? "nq" : "nk", options->nq >= 0 ? "nk" : "nq");
    if (options->in && cli_given(&options->base, "seed"))
        return fa_fail(error, FA_BAD_ARGUMENT, "--in and --seed: expected only one of them");
    if (options->in && cli_given(&options->base, "profile"))
        return fa_fail(error, FA_BAD_ARGUMENT, "--in and --profile: expected only one of them");
    if (options->n_algorithms > 1 && (options->out || options->trace))
        return fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected one algorithm with it, not %d",
                       options->out ? "out" : "trace", options->n_algorithms);
    if (options->trace && options->threads > 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--threads %" PRId64 ": expected 1 with --trace, whose order is the run's",
                       options->threads);
    if (options->trace && options->pass == SIM_BOTH)
        return fa_fail(error, FA_UNSUPPORTED,
                       "--pass both: expected forward or backward with --trace, which holds one "
                       "pass");
    return cli_sparse_check(options, error);
}

enum fa_status cli_problem_make(const struct cli_problem *options, struct fa_problem *problem,
                                struct fa_error *error)
{
    int64_t n = options->n >= 0 ? options->n : N_DEFAULT;
    struct fa_problem made = fa_problem_make(options->nq >= 0 ? options->nq : n,
                                             options->nk >= 0 ? options->nk : n,
                                             options->d >= 0 ? options->d : D_DEFAULT);
    made.batch = options->batch >= 0 ? options->batch : 1;
    made.heads = options->heads >= 0 ? options->heads : 1;
    made.kv_heads = options->kv_heads >= 0 ? options->kv_heads : made.heads;
    made.dv = options->dv >= 0 ? options->dv : made.d;
    if (options->scale_given)
        made.scale = options->scale;
    made.causal = options->causal;
    made.window_left = options->window_left;
    made.window_right = options->window_right;
    made.dtype = options->dtype;
    made.dropout_p = options->dropout_p;
    made.dropout_seed = options->dropout_seed;
    enum fa_status status = fa_problem_check(&made, error);
    if (status == FA_OK)
        *problem = made;
    return status;
}

enum fa_status cli_machine_make(const struct cli_problem *options, struct sim_machine *machine,
                                struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status = sim_machine_find(options->machine_name, machine, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--machine: %s", inner.text);
    if (options->sram_bytes > 0)
        machine->sram_bytes = options->sram_bytes;
    return FA_OK;
}

int cli_thread_count(const struct cli_problem *options)
{
    if (options->trace)
        return 1;
    if (options->threads > 0)
        return (int)options->threads;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
}
