/* flashlab check: somebody else's outputs against the oracle. */
#include <math.h>

#include "simulator/cli/check_theirs.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/progress.h"

extern const struct cli_command cli_check_command;

enum { DEFAULT_SIDE = 64 };

static const char *const layout_words[] = {"bhsd", "bshd", NULL};
static const char *const row_words[] = {"sample", "full", NULL};

struct check_options {
    struct cli_check check;
    int rows; /* index in row_words */
};

static enum fa_status set_tiles(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct sim_tile_choice choice;
    if (sim_tile_choice_parse(text, &choice, NULL) != FA_OK || choice.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected BRxBC, the tiles of the kernel: 64x128");
    ((struct cli_problem *)options)->tiles = choice;
    return FA_OK;
}

static const struct cli_option check_options[] = {
    {.name = "theirs",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct check_options, check.problem.in),
     .help = "The folder of q.npy, k.npy, v.npy and the kernel's o.npy, and where there are some "
             "lse.npy, do.npy, dq.npy, dk.npy, dv.npy. Shapes come from the files. Must be given."},
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
         "above (sample), or all (full)."},
    {.name = "heat-map",
     .value = "F.png",
     .kind = CLI_FILE,
     .offset = offsetof(struct check_options, check.heat_map),
     .help = "Draw the map of the errors, by head and tile, as a picture."},
};

static const struct cli_group check_group = CLI_GROUP("Check", check_options);

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

/* What can be refused before the work. */
static enum fa_status prepare(struct cli_check *check, struct fa_error *error)
{
    struct fa_error inner;
    bool stated = check->problem.tiles.policy == SIM_TILES_GIVEN;
    check->br = stated ? check->problem.tiles.br : DEFAULT_SIDE;
    check->bc = stated ? check->problem.tiles.bc : DEFAULT_SIDE;
    if (!check->problem.in)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--theirs: expected the folder of q.npy, k.npy, v.npy and o.npy");
    enum fa_status status = find_pass(check, error);
    if (status == FA_OK && check->heat_map && cli_file_check(check->heat_map, &inner) != FA_OK)
        status = fa_fail(error, inner.status, "--heat-map: %s", inner.text);
    if (status == FA_OK)
        status = cli_inputs_open(&check->inputs, &check->problem, CLI_NEED_INPUTS, error);
    if (status == FA_OK)
        status = cli_inputs_block(&check->inputs, &check->problem, check->br, check->bc, error);
    if (status == FA_OK)
        status = cli_check_read(check, error);
    return status;
}

/* A kernel that adds to dQ at each key tile rounds it there, in 16 bits. */
static double dq_factor(const struct cli_check *check)
{
    const struct fa_problem *p = &check->inputs.problem;
    bool rounds = p->dtype == FA_F16 || p->dtype == FA_BF16;
    if (!rounds || check->problem.tiles.policy != SIM_TILES_GIVEN || p->nk == 0)
        return 1;
    return sqrt(ceil((double)p->nk / (double)check->bc));
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
        .error_factor_dq = dq_factor(check),
    };
    for (int i = 0; i < SIM_OUTPUTS; i++)
        theirs.output[i] = &check->output[i];
    cli_progress_start(&progress, "checking");
    enum fa_status status = sim_verdict_make(&theirs, mode, cli_thread_count(&check->problem),
                                             &progress.watch, &check->verdict, error);
    cli_progress_end(&progress);
    return status;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct check_options options = {.check = {.problem = cli_problem_defaults}};
    struct cli_check *check = &options.check;
    struct fa_error error = {FA_OK, ""};
    int exit_status;
    if (!cli_begin(command, argc, argv, &check->problem.base, &exit_status))
        return exit_status;
    enum fa_status status = prepare(check, &error);
    if (status == FA_OK)
        status = judge(check, options.rows == 1 ? SIM_CHECK_FULL : SIM_CHECK_SAMPLE, &error);
    if (status == FA_OK && check->heat_map)
        status = cli_check_picture(check, &error);
    if (status == FA_OK && check->problem.base.format == CLI_JSON_FORMAT)
        status = cli_check_print_json(check, &error);
    else if (status == FA_OK)
        cli_check_print(check);
    bool pass = check->verdict.pass;
    cli_check_free(check);
    if (status != FA_OK)
        return cli_fail(command, options.check.problem.base.format, &error);
    return pass ? CLI_FINE : CLI_CHECK_FAILED;
}

static const struct cli_group *const groups[] = {
    &check_group, &cli_shape_group, &cli_sparse_group, &cli_threads_group, &cli_format_group, NULL,
};

const struct cli_command cli_check_command = {
    .name = "check",
    .summary = "say whether your own kernel's output is right, and what its fault looks like",
    .operands = "",
    .about =
        "Compares a kernel's O, and LSE, dQ, dK and dV where they are given, with an oracle in\n"
        "double precision on the same inputs, rounded to --dtype. The budget of an error is twice\n"
        "that of a naive run in that format. Where an output is wrong it says in which heads and\n"
        "tiles, and which known fault it looks like. Gradients are judged where their files are,\n"
        "unless --pass forward is given. Needs no GPU.\n"
        "Exit status: 0 right, 1 wrong, 2 bad input.",
    .examples = "  flashlab check --theirs case/ --causal\n"
                "  flashlab check --theirs case/ --dtype bf16 --tiles 128x64 --heat-map where.png\n"
                "  flashlab check --theirs case/ --layout bshd --window 256,0 --format json",
    .groups = groups,
    .run = run,
};
