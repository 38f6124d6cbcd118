/* flashlab check: the rungs of the ladder, or somebody else's outputs, against the oracle. */
#include <math.h>
#include <string.h>

#include "simulator/cli/check_rungs.h"
#include "simulator/cli/check_theirs.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"

extern const struct cli_command cli_check_command;

enum { DEFAULT_SIDE = 64, REPEATS = 100, REPEATS_MOST = 1000000 };

static const char *const layout_words[] = {"bhsd", "bshd", NULL};
static const char *const row_words[] = {"sample", "full", NULL};
static const char *const pass_words[] = {"forward", "backward", "both", NULL};

struct check_options {
    struct cli_check check;
    int rows; /* index in row_words */
    const char *rungs, *part, *golden;
    int64_t repeats;
};

static const char *const *list_rungs(void)
{
    static const char *words[33];
    for (int i = 0; i < gpu_rung_count && i < 32; i++)
        words[i] = gpu_rungs[i]->name;
    return words;
}

/* Names are looked up later: without kernels it is them that are missing. */
static enum fa_status set_rungs(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    (void)error;
    ((struct check_options *)options)->rungs = text;
    return FA_OK;
}

static enum fa_status set_tiles(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct sim_tile_choice choice;
    if (sim_tile_choice_parse(text, &choice, NULL) != FA_OK || choice.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected BRxBC, the tiles of the kernel: 64x128");
    ((struct cli_problem *)options)->tiles = choice;
    return FA_OK;
}

static const struct cli_option rung_options[] = {
    {.name = "rung",
     .value = "NAME[,NAME...]",
     .kind = CLI_OTHER,
     .set = set_rungs,
     .list_words = list_rungs,
     .list = true,
     .help = "Check these rungs of the ladder (all that this build has)."},
    {.name = "case",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .offset = offsetof(struct check_options, part),
     .help = "Only cases of this kind (grid, field, golden), or with this in their name: 'causal', "
             "'d = 80', 'NaN'."},
    {.name = "golden",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct check_options, golden),
     .help = "Golden cases too, a folder each: tests/golden in the sources."},
    {.name = "repeats",
     .value = "N",
     .kind = CLI_INTEGER,
     .offset = offsetof(struct check_options, repeats),
     .max = REPEATS_MOST,
     .help = "Calls of each rung whose bits must all be equal (100); 0 for none."},
};

static const struct cli_option theirs_options[] = {
    {.name = "theirs",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct check_options, check.problem.in),
     .help =
         "Judge this folder in place of the ladder: q.npy, k.npy, v.npy and the kernel's o.npy, "
         "and where there are some lse.npy, do.npy, dq.npy, dk.npy, dv.npy. Shapes come from "
         "the files; so do mask.npy, bias.npy, dropout_keep.npy and block_mask.npy where their "
         "options are not given, and case.json must agree with the options. bf16, which NumPy "
         "lacks, comes widened to f32, or as its bits in u16 with --dtype bf16; u16 with --dtype "
         "f16 are the bits of f16."},
    {.name = "layout",
     .value = "bhsd|bshd",
     .kind = CLI_WORD,
     .offset = offsetof(struct check_options, check.problem.layout),
     .words = layout_words,
     .help = "Order of the axes in the files (bhsd): batch, heads, seq, d."},
    {.name = "tiles",
     .value = "BRxBC",
     .kind = CLI_OTHER,
     .set = set_tiles,
     .help =
         "The tiles of the kernel, to recognise a fault of the last one and for the map (64x64). "
         "Where they are given and the dtype has 16 bits, dQ may be off sqrt(Nk/Bc) times as much, "
         "for it is rounded at each tile."},
    {.name = "rows",
     .value = "sample|full",
     .kind = CLI_WORD,
     .offset = offsetof(struct check_options, rows),
     .words = row_words,
     .help =
         "Compare all rows up to 8192 queries (gradients: 2048 queries and keys) and 256 a head "
         "above (sample), or all (full). Sampling still scans all elements for NaN, infinities and "
         "values larger than the inputs allow."},
    {.name = "heat-map",
     .value = "F.png",
     .kind = CLI_FILE,
     .offset = offsetof(struct check_options, check.heat_map),
     .help = "Draw the map of the errors, by head and tile, as a picture."},
};

static const struct cli_option pass_options[] = {
    {.name = "pass",
     .value = "forward|backward|both",
     .kind = CLI_WORD,
     .offset = offsetof(struct check_options, check.problem.pass),
     .words = pass_words,
     .help = "Judge O and LSE alone (forward), or the gradients too. Of --theirs by default those "
             "whose files are there, of a rung those that it has."},
};

static const struct cli_group rung_group =
    CLI_GROUP("The ladder, on this machine's GPU", rung_options);
static const struct cli_group theirs_group = CLI_GROUP("Somebody else's kernel", theirs_options);
static const struct cli_group pass_group = CLI_GROUP("Pass", pass_options);

static const struct cli_group *const groups[] = {
    &rung_group,       &theirs_group,      &pass_group,       &cli_sizes_group,
    &cli_sparse_group, &cli_threads_group, &cli_format_group, NULL,
};

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* The ladder brings its own problems, and somebody else's kernel comes with its own outputs. */
static enum fa_status check_together(const struct check_options *options, struct fa_error *error)
{
    static const char *const both[] = {"pass", "dtype", "threads", "format", NULL};
    static const char *const ladder[] = {"rung", "case", "golden", "repeats", NULL};
    const struct cli_problem *problem = &options->check.problem;
    for (const struct cli_group *const *group = groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++) {
            const char *name = (*group)->options[i].name;
            if (!cli_given(&problem->base, name) || is_among(name, both))
                continue;
            if (problem->in && is_among(name, ladder))
                return fa_fail(error, FA_BAD_ARGUMENT,
                               "--theirs and --%s: expected only one of them", name);
            if (!problem->in && !is_among(name, ladder))
                return fa_fail(error, FA_BAD_ARGUMENT,
                               "--%s: expected --theirs with it; the ladder has its own cases",
                               name);
        }
    if (options->part && strcmp(options->part, "golden") == 0 && !options->golden)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--case golden: expected --golden DIR with it, the folder of those cases");
    return FA_OK;
}

/* The gradients are judged where --pass says so, and without it where they are there. */
static enum fa_status find_pass(struct cli_check *check, struct fa_error *error)
{
    bool any =
        cli_check_has(check, "dq") || cli_check_has(check, "dk") || cli_check_has(check, "dv");
    check->backward = check->problem.pass != SIM_FORWARD;
    if (!cli_given(&check->problem.base, "pass"))
        check->backward = any;
    if (check->backward && !any)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--pass: expected dq.npy, dk.npy or dv.npy in %s for a backward pass",
                       check->problem.in);
    if (check->backward && !cli_check_has(check, "do"))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s/do.npy: expected the gradient of O beside dq.npy, dk.npy or dv.npy (or "
                       "--pass forward)",
                       check->problem.in);
    check->problem.pass = check->backward ? SIM_BOTH : SIM_FORWARD;
    return FA_OK;
}

static enum fa_status check_heat_map(const char *path, struct fa_error *error)
{
    struct fa_error inner;
    const char *ending = strrchr(path, '.');
    if (!ending || ending == path || strcmp(ending, ".png") != 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "--heat-map: %s: expected a name that ends in .png",
                       path);
    if (cli_file_check(path, &inner) != FA_OK)
        return fa_fail(error, inner.status, "--heat-map: %s", inner.text);
    return FA_OK;
}

/* Sizes that make no problem, as 40 heads and 60 K/V heads, may make one in the other layout. */
static enum fa_status open_inputs(struct cli_check *check, struct fa_error *error)
{
    struct fa_error inner;
    struct cli_inputs other;
    struct cli_problem turned = check->problem;
    bool bshd = turned.layout == CLI_BSHD;
    enum fa_status status =
        cli_inputs_open(&check->inputs, &check->problem, CLI_NEED_INPUTS, &inner);
    if (status == FA_OK)
        return FA_OK;
    turned.layout = bshd ? CLI_BHSD : CLI_BSHD;
    bool fits = status != FA_IO && status != FA_NO_MEMORY &&
                cli_inputs_open(&other, &turned, CLI_NEED_INPUTS, NULL) == FA_OK;
    bool turns = fits && other.rank > 2;
    if (fits)
        cli_inputs_close(&other);
    return turns ? fa_fail(error, status, "%s (all fits with --layout %s: is that meant?)",
                           inner.text, bshd ? "bhsd" : "bshd")
                 : fa_fail(error, status, "%s", inner.text);
}

/* What can be refused before the work. */
static enum fa_status prepare(struct cli_check *check, struct fa_error *error)
{
    bool stated = check->problem.tiles.policy == SIM_TILES_GIVEN;
    check->br = stated ? check->problem.tiles.br : DEFAULT_SIDE;
    check->bc = stated ? check->problem.tiles.bc : DEFAULT_SIDE;
    enum fa_status status = find_pass(check, error);
    if (status == FA_OK)
        status = cli_check_take(check, error);
    if (status == FA_OK && check->heat_map)
        status = check_heat_map(check->heat_map, error);
    if (status == FA_OK)
        status = open_inputs(check, error);
    if (status == FA_OK)
        status = cli_check_case(check, error);
    if (status == FA_OK)
        status = cli_inputs_block(&check->inputs, &check->problem, check->br, check->bc, error);
    if (status == FA_OK)
        status = cli_check_read(check, error);
    return status;
}

static bool has_16_bits(const struct fa_problem *p)
{
    return p->dtype == FA_F16 || p->dtype == FA_BF16;
}

/* A kernel that adds to dQ at each key tile rounds it there, in 16 bits. */
static double dq_factor(const struct cli_check *check)
{
    const struct fa_problem *p = &check->inputs.problem;
    if (!has_16_bits(p) || check->problem.tiles.policy != SIM_TILES_GIVEN || p->nk == 0)
        return 1;
    return sqrt(ceil((double)p->nk / (double)check->bc));
}

/* And one that adds each head of a group to dK and dV rounds them there. */
static double dkv_factor(const struct fa_problem *p)
{
    return has_16_bits(p) && p->kv_heads > 0 ? sqrt((double)(p->heads / p->kv_heads)) : 1;
}

static enum fa_status judge(struct cli_check *check, enum sim_check_mode mode,
                            struct fa_error *error)
{
    const struct cli_inputs *inputs = &check->inputs;
    struct cli_progress progress;
    struct sim_theirs theirs = {
        .problem = &inputs->problem,
        .q = &inputs->q,
        .k = &inputs->k,
        .v = &inputs->v,
        .dout = check->backward ? &inputs->dout : NULL,
        .br = check->br,
        .bc = check->bc,
        .error_factor = 1,
        .error_factor_dq = dq_factor(check),
        .error_factor_dkv = dkv_factor(&inputs->problem),
    };
    for (int i = 0; i < SIM_OUTPUTS; i++)
        theirs.output[i] = &check->output[i];
    cli_progress_start(&progress, "checking");
    enum fa_status status = sim_verdict_make(&theirs, mode, cli_thread_count(&check->problem),
                                             &progress.watch, &check->verdict, error);
    cli_progress_end(&progress);
    return status;
}

static enum fa_status check_theirs(struct check_options *options, bool *pass,
                                   struct fa_error *error)
{
    struct cli_check *check = &options->check;
    enum fa_status status = prepare(check, error);
    if (status == FA_OK)
        status = judge(check, options->rows == 1 ? SIM_CHECK_FULL : SIM_CHECK_SAMPLE, error);
    if (status == FA_OK)
        status = cli_check_refuse_nan(check, error);
    if (status == FA_OK)
        status = cli_check_hint(check, error);
    if (status == FA_OK && check->heat_map)
        status = cli_check_picture(check, error);
    if (status == FA_OK && check->problem.base.format == CLI_JSON_FORMAT)
        status = cli_check_print_json(check, error);
    else if (status == FA_OK)
        cli_check_print(check);
    *pass = check->verdict.pass;
    cli_check_free(check);
    return status;
}

static enum fa_status check_ladder(const struct check_options *options, bool *pass,
                                   struct fa_error *error)
{
    struct cli_rung_check check = {
        .problem = options->check.problem,
        .rungs = options->rungs,
        .part = options->part,
        .golden = options->golden,
        .repeats = options->repeats,
    };
    if (!cli_given(&check.problem.base, "pass"))
        check.problem.pass = SIM_BOTH;
    struct fa_error inner;
    enum fa_status status = cli_rung_check_run(&check, &inner);
    /* With cases there was a device, and what is missing is another thing. */
    bool no_device = status == FA_MISSING_PART && check.list.n == 0;
    if (status != FA_OK)
        fa_fail(error, status, no_device ? "%s (--theirs DIR needs no GPU)" : "%s", inner.text);
    else if (check.problem.base.format == CLI_JSON_FORMAT)
        status = cli_rung_check_print_json(&check, error);
    else
        cli_rung_check_print(&check);
    *pass = cli_rung_check_passes(&check);
    cli_rung_check_free(&check);
    return status;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct check_options options = {.check = {.problem = cli_problem_defaults}, .repeats = REPEATS};
    struct fa_error error = {FA_OK, ""};
    bool pass = false;
    int exit_status;
    if (!cli_begin(command, argc, argv, &options.check.problem.base, &exit_status))
        return exit_status;
    enum fa_status status = check_together(&options, &error);
    if (status == FA_OK && options.check.problem.in)
        status = check_theirs(&options, &pass, &error);
    else if (status == FA_OK)
        status = check_ladder(&options, &pass, &error);
    if (status != FA_OK)
        return cli_fail(command, options.check.problem.base.format, &error);
    return pass ? CLI_FINE : CLI_CHECK_FAILED;
}

const struct cli_command cli_check_command = {
    .name = "check",
    .summary = "say whether the ladder's kernels, or your own kernel's output, are right",
    .operands = "",
    .about =
        "Compares O and LSE, and dQ, dK and dV where there are some, with an oracle in double\n"
        "precision on the same inputs, rounded to the dtype. The budget of an error is twice that\n"
        "of a naive run in that format; in 16 bits, times the root of the number of times that an\n"
        "output is rounded on its way: flash1's O at each tile, --theirs' dK and dV at each head\n"
        "of a group.\n"
        "\n"
        "Without --theirs: each rung on this machine's GPU, in f32, f16 and bf16, over a grid of\n"
        "sizes and masks, the field cases (what went wrong in kernels elsewhere) and the golden\n"
        "cases. Outputs hold bytes of 0xff before and stand between guards; equal calls must give\n"
        "equal bits, where a rung adds to dQ in any order in its deterministic mode. What a rung\n"
        "refuses is listed with the reason, and was not checked.\n"
        "\n"
        "With --theirs: a kernel's outputs from files. Where one is wrong it says in which heads\n"
        "and tiles, and which known fault it looks like, and which option may be missing: results\n"
        "right in the other layout, or that all are numbers of bf16. Needs no GPU.\n"
        "\n"
        "Exit status: 0 right, 1 wrong, 2 bad input, 3 no GPU, no kernels for it, or a rung that\n"
        "was named and took none of the cases.",
    .examples = "  flashlab check --golden tests/golden\n"
                "  flashlab check --rung mma --dtype bf16 --case causal\n"
                "  flashlab check --theirs case/ --causal\n"
                "  flashlab check --theirs case/ --dtype bf16 --tiles 128x64 --heat-map where.png\n"
                "  flashlab check --theirs case/ --layout bshd --window 256,0 --format json",
    .groups = groups,
    .run = run,
};
