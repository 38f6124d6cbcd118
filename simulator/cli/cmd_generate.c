/* flashlab generate: seeded inputs with the right answers, for whoever writes a kernel. */
#include <jansson.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/philox.h"
#include "simulator/cli/outputs.h"
#include "simulator/cli/solve_case.h"

extern const struct cli_command cli_generate;

struct generate_options {
    struct cli_problem problem;
    double mask_share; /* of keys that may be attended; -1: no random mask */
    struct sim_tile_choice tiles; /* the size of the blocks of a block mask */
};

static enum fa_status set_mask_share(struct cli_options *options, const char *text,
                                     struct fa_error *error)
{
    double share;
    if (cli_parse_real(text, &share, NULL) != FA_OK || share < 0 || share > 1)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a share from 0 to 1");
    ((struct generate_options *)options)->mask_share = share;
    return FA_OK;
}

static enum fa_status set_tiles(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct sim_tile_choice choice;
    if (sim_tile_choice_parse(text, &choice, NULL) != FA_OK || choice.policy != SIM_TILES_GIVEN)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected BRxBC, the size of a block: 64x128");
    ((struct generate_options *)options)->tiles = choice;
    return FA_OK;
}

static const struct cli_option case_options[] = {
    {.name = "out",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct generate_options, problem.out),
     .help = "The folder to write in, made if missing. Must be given."},
    {.name = "mask-random",
     .value = "SHARE",
     .kind = CLI_OTHER,
     .set = set_mask_share,
     .help = "Make a random element mask [batch, 1, nq, nk] by the seed; each key may be attended "
             "with this probability."},
    {.name = "tiles",
     .value = "BRxBC",
     .kind = CLI_OTHER,
     .set = set_tiles,
     .help = "The size of the tiles that --block-mask or --block-pattern is about (64x64)."},
};

static const struct cli_group case_group = CLI_GROUP("Case", case_options);

/* The third word of the counter tells the mask's draws from those of q, k and v (profile.h). */
enum { MASK_TENSOR = 3, BLOCK_SIDE = 64 };

static enum fa_status make_mask(struct cli_inputs *inputs, uint64_t seed, double share,
                                struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    const int64_t shape[4] = {p->batch, 1, p->nq, p->nk};
    enum fa_status status =
        cli_check_memory((double)p->batch * (double)p->nq * (double)p->nk, "the mask", error);
    if (status == FA_OK)
        status = fa_tensor_create(&inputs->mask, FA_U8, shape, error);
    if (status != FA_OK)
        return status;
    for (int64_t i = 0; i < p->batch * p->nq * p->nk; i++) {
        uint32_t words[4];
        const uint32_t counter[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), MASK_TENSOR, 0};
        fa_philox4x32(seed, counter, words);
        fa_dtype_set(FA_U8, inputs->mask.data, i, words[0] < share * 0x1p32);
    }
    inputs->problem.mask = &inputs->mask;
    return FA_OK;
}

static json_t *describe_window(const struct fa_problem *p)
{
    if (p->window_left < 0 && p->window_right < 0)
        return json_null();
    return json_pack("[I,I]", (json_int_t)p->window_left, (json_int_t)p->window_right);
}

static json_t *describe_blocks(const struct fa_problem *p)
{
    if (!p->blocks)
        return json_null();
    return json_pack("[I,I]", (json_int_t)p->blocks->br, (json_int_t)p->blocks->bc);
}

static const char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The keys of the golden cases in tests/golden, and where the case came from. */
static json_t *describe_case(const struct generate_options *options,
                             const struct cli_inputs *inputs)
{
    const struct fa_problem *p = &inputs->problem;
    bool bshd = inputs->layout == CLI_BSHD;
    json_t *name = json_string(folder_name(options->problem.out));
    return json_pack(
        "{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:s,s:s,s:o,s:o,s:f,s:s,s:s,s:s,s:s,s:I,s:s,s:s}",
        "name", name ? name : json_string("case"), "batch", (json_int_t)p->batch, "heads_q",
        (json_int_t)p->heads, "heads_kv", (json_int_t)p->kv_heads, "n_q", (json_int_t)p->nq, "n_k",
        (json_int_t)p->nk, "d", (json_int_t)p->d, "dv", (json_int_t)p->dv, "scale", p->scale,
        "mask", p->causal == FA_CAUSAL_NONE ? "none" : "causal", "causal_align",
        p->causal == FA_CAUSAL_TOP_LEFT ? "top_left" : "bottom_right", "window", describe_window(p),
        "block_mask_tile", describe_blocks(p), "dropout_p", p->dropout_p, "note", "", "layout",
        bshd ? "[batch,seq,heads,d] row-major; o, lse float64; lse=-inf and o=0 where a row has no "
               "key"
             : "[batch,heads,seq,d] row-major; o, lse float64; lse=-inf and o=0 where a row has no "
               "key",
        "dtype", fa_dtype_name(p->dtype), "profile", fa_profile_name(options->problem.profile),
        "seed", (json_int_t)options->problem.seed, "version", FLASHLAB_VERSION, "command",
        cli_command_line());
}

static enum fa_status write_case(const char *folder, const json_t *description,
                                 struct fa_error *error)
{
    char path[4096];
    struct cli_file file;
    if ((size_t)snprintf(path, sizeof path, "%s/case.json", folder) >= sizeof path)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a path of less than 4096 bytes");
    enum fa_status status = cli_file_open(&file, path, error);
    if (status != FA_OK)
        return status;
    json_dumpf(description, file.file, JSON_INDENT(1));
    fputc('\n', file.file);
    return cli_file_commit(&file, error);
}

static enum fa_status write_blocks(const char *folder, const struct fa_block_mask *blocks,
                                   struct fa_error *error)
{
    const int64_t shape[4] = {1, 1, blocks->rows, blocks->columns};
    struct fa_tensor tensor = fa_tensor_view(FA_U8, shape, (void *)(uintptr_t)blocks->visit);
    return cli_tensor_write(folder, "block_mask.npy", &tensor, 2, CLI_BHSD, false, error);
}

static enum fa_status write_arrays(const char *folder, const struct cli_inputs *inputs,
                                   struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    bool backward = inputs->dq.data != NULL;
    const struct {
        const char *name;
        const struct fa_tensor *tensor;
        enum cli_layout layout;
        bool statistic;
    } arrays[] = {
        {"q.npy", &inputs->q, inputs->layout, false},
        {"k.npy", &inputs->k, inputs->layout, false},
        {"v.npy", &inputs->v, inputs->layout, false},
        {"mask.npy", inputs->problem.mask, CLI_BHSD, false},
        {"bias.npy", inputs->problem.bias, CLI_BHSD, false},
        {"o.npy", &inputs->o, inputs->layout, false},
        {"lse.npy", &inputs->lse, inputs->layout, true},
        {"dropout_keep.npy", inputs->keep.data ? &inputs->keep : NULL, CLI_BHSD, false},
        {"do.npy", backward ? &inputs->dout : NULL, inputs->layout, false},
        {"dq.npy", backward ? &inputs->dq : NULL, inputs->layout, false},
        {"dk.npy", backward ? &inputs->dk : NULL, inputs->layout, false},
        {"dv.npy", backward ? &inputs->dv : NULL, inputs->layout, false},
    };
    enum fa_status status = p->blocks ? write_blocks(folder, p->blocks, error) : FA_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && status == FA_OK; i++)
        if (arrays[i].tensor)
            status = cli_tensor_write(folder, arrays[i].name, arrays[i].tensor, 4, arrays[i].layout,
                                      arrays[i].statistic, error);
    return status;
}

/* The bits of the seed as a file has them; a mask that was given is there already. */
static enum fa_status make_keep(struct cli_inputs *inputs, struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    const int64_t shape[4] = {p->batch, p->heads, p->nq, p->nk};
    if (!(p->dropout_p > 0) || p->dropout_keep)
        return FA_OK;
    enum fa_status status =
        cli_check_memory((double)p->batch * (double)p->heads * (double)p->nq * (double)p->nk,
                         "the dropout mask", error);
    if (status == FA_OK)
        status = fa_tensor_create(&inputs->keep, FA_U8, shape, error);
    uint8_t *keep = inputs->keep.data;
    for (int64_t row = 0; row < p->batch * p->heads * p->nq && status == FA_OK; row++) {
        int64_t head = row / p->nq;
        fa_dropout_bits(p, head / p->heads, head % p->heads, row % p->nq, 0, p->nk,
                        keep + row * p->nk);
    }
    return status;
}

/* dq, dk and dv of the oracle, in double. */
static enum fa_status make_gradients(struct cli_inputs *inputs, struct fa_error *error)
{
    enum fa_status status =
        cli_tensor_create(&inputs->dq, FA_F64, inputs->layout, inputs->q.shape, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->dk, FA_F64, inputs->layout, inputs->k.shape, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->dv, FA_F64, inputs->layout, inputs->v.shape, error);
    return status;
}

static enum fa_status generate(const struct generate_options *options, struct cli_inputs *inputs,
                               struct fa_error *error)
{
    const struct fa_problem *p = &inputs->problem;
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    enum fa_status status = FA_OK;
    if (options->mask_share >= 0)
        status = make_mask(inputs, (uint64_t)options->problem.seed, options->mask_share, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->o, FA_F64, inputs->layout, o, error);
    if (status == FA_OK)
        status = cli_tensor_create(&inputs->lse, FA_F64, inputs->layout, lse, error);
    if (status == FA_OK)
        status = cli_inputs_block(inputs, &options->problem, options->tiles.br, options->tiles.bc,
                                  error);
    if (status == FA_OK)
        status = make_keep(inputs, error);
    if (status == FA_OK && options->problem.pass != SIM_FORWARD)
        status = make_gradients(inputs, error);
    if (status == FA_OK)
        status = cli_case_solve(inputs, cli_thread_count(&options->problem), error);
    if (status == FA_OK)
        status = write_arrays(options->problem.out, inputs, error);
    return status;
}

static void print_case(const struct generate_options *options, const struct cli_inputs *inputs,
                       const json_t *description)
{
    if (options->problem.base.format == CLI_JSON_FORMAT) {
        json_dumpf(description, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
        return;
    }
    bool backward = inputs->dq.data != NULL;
    printf("%s: q, k, v%s%s%s%s%s; o%s lse%s of the oracle in double; case.json\n",
           options->problem.out, backward ? ", do" : "", inputs->problem.mask ? ", mask" : "",
           inputs->problem.bias ? ", bias" : "", inputs->keep.data ? ", dropout_keep" : "",
           inputs->problem.blocks ? ", block_mask" : "", backward ? "," : " and",
           backward ? ", dq, dk and dv" : "");
}

static enum fa_status check_options(const struct generate_options *options, struct fa_error *error)
{
    struct fa_error inner;
    if (!options->problem.out)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected --out DIR, the folder to write in");
    if (options->mask_share >= 0 && options->problem.mask_path)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--mask and --mask-random: expected only one of them");
    enum fa_status status = cli_folder_make(options->problem.out, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "--out: %s", inner.text);
    return FA_OK;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct generate_options options = {
        .mask_share = -1,
        .tiles = {SIM_TILES_GIVEN, BLOCK_SIDE, BLOCK_SIDE},
    };
    struct cli_inputs inputs = {.rank = 0};
    struct fa_error error = {FA_OK, ""};
    json_t *description = NULL;
    int exit_status;
    options.problem = cli_problem_defaults;
    if (!cli_begin(command, argc, argv, &options.problem.base, &exit_status))
        return exit_status;
    enum fa_status status = check_options(&options, &error);
    if (status == FA_OK)
        status = cli_inputs_open(&inputs, &options.problem, CLI_NEED_INPUTS, &error);
    if (status == FA_OK)
        status = generate(&options, &inputs, &error);
    if (status == FA_OK) {
        description = describe_case(&options, &inputs);
        status = description ? write_case(options.problem.out, description, &error)
                             : fa_fail(&error, FA_NO_MEMORY, "no memory for case.json");
    }
    if (status == FA_OK)
        print_case(&options, &inputs, description);
    json_decref(description);
    cli_inputs_close(&inputs);
    return status == FA_OK ? CLI_FINE : cli_fail(command, options.problem.base.format, &error);
}

static const struct cli_group *const groups[] = {
    &case_group,     &cli_shape_group,   &cli_sparse_group,
    &cli_seed_group, &cli_threads_group, &cli_format_group, NULL,
};

const struct cli_command cli_generate = {
    .name = "generate",
    .summary = "write seeded inputs with the right answers, for testing a kernel",
    .operands = "",
    .about = "Writes q.npy, k.npy, v.npy (mask.npy, bias.npy where there are such) in --dtype,\n"
             "the oracle's o.npy and lse.npy in double, and case.json, which describes them.\n"
             "With --pass both also do.npy, and the oracle's dq.npy, dk.npy and dv.npy; with\n"
             "--dropout dropout_keep.npy; with a block mask block_mask.npy.\n"
             "bf16 is written as f32, since .npy has no bf16; the values are rounded to it.",
    .examples = "  flashlab generate --out case --n 128 --causal\n"
                "  flashlab generate --out case --heads 8 --kv-heads 2 --n 200 --profile peaky\n"
                "  flashlab run --in case --causal\n"
                "  flashlab generate --out case --n 128 --pass both --dropout 0.1",
    .groups = groups,
    .run = run,
};
