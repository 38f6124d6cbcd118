/* flashlab precision: what each format costs, and the published table of it. */
#include <jansson.h>
#include <string.h>

#include "simulator/cli/inputs.h"
#include "simulator/cli/precision_report.h"
#include "simulator/cli/progress.h"

extern const struct cli_command cli_precision;

struct precision_options {
    struct cli_options base;
    struct fa_precision_recipe recipe;
    int order, reference, profile;
    int64_t n, d, heads, rows, seed, seeds, threads; /* rows, threads: -1 where not given */
};

enum { METHODS_MAX = 16 };

#define AT(field) offsetof(struct precision_options, field)

static const char *const format_words[] = {"f64",  "f32",  "tf32", "f16",
                                           "bf16", "e4m3", "e5m2", NULL};
static const char *const scale_words[] = {"none", "tensor", "block:128", NULL};

static struct fa_precision_recipe *recipe_of(struct cli_options *options)
{
    return &((struct precision_options *)options)->recipe;
}

/* One format for all of formats[n], or n of them with commas between. */
static enum fa_status parse_formats(const char *text, enum fa_format *formats, int n,
                                    struct fa_error *error)
{
    enum fa_format found[3];
    char word[8];
    int count = 0;
    for (const char *at = text; count < n; at++) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length >= sizeof word || !fa_format_parse(word, &found[count]))
            break;
        count++;
        at += length;
        if (*at == '\0' && (count == 1 || count == n)) {
            for (int i = 0; i < n; i++)
                formats[i] = found[count == 1 ? 0 : i];
            return FA_OK;
        }
        if (*at == '\0')
            break;
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "expected %s of f64, f32, tf32, f16, bf16, e4m3, e5m2",
                   n == 1   ? "one"
                   : n == 2 ? "one, or two with a comma between,"
                            : "one, or three with commas between,");
}

static enum fa_status set_inputs(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    return parse_formats(text, recipe_of(options)->inputs, 3, error);
}

static enum fa_status set_scores(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    return parse_formats(text, &recipe_of(options)->scores, 1, error);
}

static enum fa_status set_weights(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    return parse_formats(text, &recipe_of(options)->weights, 1, error);
}

static enum fa_status set_accumulate(struct cli_options *options, const char *text,
                                     struct fa_error *error)
{
    return parse_formats(text, recipe_of(options)->accumulate, 2, error);
}

static enum fa_status set_output(struct cli_options *options, const char *text,
                                 struct fa_error *error)
{
    return parse_formats(text, &recipe_of(options)->output, 1, error);
}

static enum fa_status set_scale(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    struct fa_precision_recipe *recipe = recipe_of(options);
    struct fa_error inner;
    if (strncmp(text, "block:", 6) == 0 &&
        cli_parse_integer(text + 6, 1, INT64_MAX, &recipe->scale_rows, &inner) == FA_OK) {
        recipe->scale = FA_SCALE_BLOCK;
        return FA_OK;
    }
    if (strcmp(text, "none") != 0 && strcmp(text, "tensor") != 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "expected none, tensor, or block:N for a scale for each N rows");
    recipe->scale = *text == 'n' ? FA_SCALE_NONE : FA_SCALE_TENSOR;
    return FA_OK;
}

static enum fa_status set_weight_scale(struct cli_options *options, const char *text,
                                       struct fa_error *error)
{
    double scale;
    if (cli_parse_real(text, &scale, NULL) != FA_OK || scale <= 0)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a decimal number above 0");
    recipe_of(options)->weight_scale = scale;
    return FA_OK;
}

static const char *const *list_profiles(void)
{
    static const char *names[FA_PROFILE_COUNT + 1];
    for (int profile = 0; profile < FA_PROFILE_COUNT; profile++)
        names[profile] = fa_profile_name((enum fa_profile)profile);
    return names;
}

static enum fa_status set_profile(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    return cli_parse_word(text, list_profiles(), &((struct precision_options *)options)->profile,
                          error);
}

static const struct cli_option recipe_options[] = {
    {.name = "inputs", .value = "FORMAT|Q,K,V", .kind = CLI_OTHER, .set = set_inputs,
     .words = format_words, .list = true,
     .help = "f64, f32, tf32, f16, bf16, e4m3 or e5m2, for all three or for each (f16)."},
    {.name = "scores", .value = "FORMAT", .kind = CLI_OTHER, .set = set_scores,
     .words = format_words, .help = "S, rounded before and after it is scaled by 1/sqrt(d) (f32)."},
    {.name = "weights", .value = "FORMAT", .kind = CLI_OTHER, .set = set_weights,
     .words = format_words, .help = "P, before it meets V (as v)."},
    {.name = "accumulate", .value = "FORMAT|S,O", .kind = CLI_OTHER, .set = set_accumulate,
     .words = format_words, .list = true,
     .help = "The sums of Q K^T and of P V, for both or for each (f32)."},
    {.name = "output", .value = "FORMAT", .kind = CLI_OTHER, .set = set_output,
     .words = format_words, .help = "O (f16)."},
    {.name = "scale", .value = "none|tensor|block:N", .kind = CLI_OTHER, .set = set_scale,
     .words = scale_words,
     .help = "Scale inputs of 8 bits to their format's range, a whole tensor of a head or each N "
             "rows (tensor)."},
    {.name = "hadamard", .kind = CLI_FLAG, .offset = AT(recipe.hadamard),
     .help = "Rotate Q and K by a Hadamard matrix with random signs; d is a power of two."},
    {.name = "weight-scale", .value = "X", .kind = CLI_OTHER, .set = set_weight_scale,
     .help = "Multiply P by X before it is rounded, and divide after (256 for 8 bits, else 1)."},
    {.name = "order", .value = "standard|flash", .kind = CLI_WORD, .offset = AT(order),
     .words = cli_precision_orders,
     .help = "Softmax of whole rows, or online over tiles of keys (flash)."},
    {.name = "tile", .value = "N", .kind = CLI_SIZE, .offset = AT(recipe.tile), .min = 1,
     .max = INT64_MAX, .help = "Keys of a tile in flash order (128)."},
};

static const struct cli_option setting_options[] = {
    {.name = "reference", .value = "unrounded|rounded", .kind = CLI_WORD, .offset = AT(reference),
     .words = cli_precision_references,
     .help = "The inputs of the double oracle that O is compared with (unrounded). The table has "
             "both and sets this one beside the published value."},
    {.name = "n", .value = "N", .kind = CLI_SIZE, .offset = AT(n), .min = 1, .max = INT64_MAX,
     .help = "Queries and keys (8448)."},
    {.name = "d", .value = "N", .kind = CLI_INTEGER, .offset = AT(d), .min = 1, .max = INT64_MAX,
     .help = "Head size (128)."},
    {.name = "heads", .value = "N", .kind = CLI_INTEGER, .offset = AT(heads), .min = 1,
     .max = INT64_MAX, .help = "Heads of each seed (4)."},
    {.name = "rows", .value = "N", .kind = CLI_SIZE, .offset = AT(rows), .min = 1,
     .max = INT64_MAX, .help = "Rows of each head that are computed and compared (256, or all)."},
    {.name = "profile", .value = "NAME", .kind = CLI_OTHER, .set = set_profile,
     .list_words = list_profiles,
     .help = "Inputs: gauss, uniform, peaky, outliers, equal, rising, falling, tidy (outliers)."},
    {.name = "seed", .value = "N", .kind = CLI_INTEGER, .offset = AT(seed), .max = INT64_MAX,
     .help = "Seed of inputs and signs, the first of several (1)."},
    {.name = "seeds", .value = "N", .kind = CLI_INTEGER, .offset = AT(seeds), .min = 1,
     .max = 1000000, .help = "Seeds, one after another: the error is over all of them (5)."},
    {.name = "threads", .value = "N", .kind = CLI_INTEGER, .offset = AT(threads), .min = 1,
     .max = 1024, .help = "Workers, each on a head of its own (the cores that are online)."},
};

static const struct cli_group recipe_group = CLI_GROUP("Formats, one by one", recipe_options);
static const struct cli_group setting_group = CLI_GROUP("Measurement", setting_options);
static const struct cli_group *const groups[] = {&recipe_group, &setting_group, &cli_format_group,
                                                 NULL};

/* True where a format, order, scale or rotation was asked for: one recipe in place of the table. */
static bool chooses_recipe(const struct cli_options *options)
{
    for (int i = 0; i < recipe_group.n_options; i++)
        if (cli_given(options, recipe_options[i].name))
            return true;
    return false;
}

/* What follows from the formats that were given. */
static void complete_recipe(struct precision_options *options)
{
    struct fa_precision_recipe *recipe = &options->recipe;
    bool bytes = false;
    for (int t = 0; t < 3; t++)
        bytes = bytes || fa_format_is_8_bit(recipe->inputs[t]);
    if (!cli_given(&options->base, "weights"))
        recipe->weights = recipe->inputs[2];
    if (!cli_given(&options->base, "scale"))
        recipe->scale = bytes ? FA_SCALE_TENSOR : FA_SCALE_NONE;
    if (!cli_given(&options->base, "weight-scale"))
        recipe->weight_scale = fa_format_is_8_bit(recipe->weights) ? 256 : 1;
    recipe->order = (enum fa_precision_order)options->order;
}

/* In order of the report's methods, of which there are METHODS_MAX at most. */
static enum fa_status measure(const struct fa_precision_case *wanted,
                              const struct cli_precision_report *report,
                              struct sim_precision_error (*errors)[FA_REFERENCE_COUNT],
                              struct fa_error *error)
{
    struct fa_precision_recipe recipes[METHODS_MAX];
    struct fa_precision_case setting = *wanted;
    struct cli_progress progress;
    double bytes = fa_precision_bytes(&setting);
    int64_t workers = setting.threads < setting.heads ? setting.threads : setting.heads;
    enum fa_status status = cli_check_memory(bytes * (double)workers, "the emulation", error);
    if (status != FA_OK)
        return status;
    for (int i = 0; i < report->n; i++)
        recipes[i] = report->methods[i].recipe;
    cli_progress_start(&progress, "emulating");
    setting.watch = &progress.watch;
    status = sim_precision_measure(&setting, report->seeds, recipes, report->n, report->wanted,
                                   errors, error);
    cli_progress_end(&progress);
    return status;
}

static enum fa_status print(const struct cli_precision_report *report, int format,
                            struct fa_error *error)
{
    if (format == CLI_JSON_FORMAT) {
        json_t *object = cli_precision_json(report);
        if (!object)
            return fa_fail(error, FA_NO_MEMORY, "no memory to print the errors");
        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
    } else if (report->methods[0].published > 0) {
        cli_precision_print_table(stdout, report);
    } else {
        cli_precision_print_one(stdout, report);
    }
    return FA_OK;
}

static struct precision_options default_options(const struct fa_precision_case *setting)
{
    struct precision_options options = {.recipe = fa_precision_default,
                                        .order = FA_FLASH_ORDER,
                                        .profile = (int)setting->profile,
                                        .n = setting->n,
                                        .d = setting->d,
                                        .heads = setting->heads,
                                        .rows = -1,
                                        .seed = (int64_t)setting->seed,
                                        .seeds = SIM_PRECISION_SEEDS,
                                        .threads = -1};
    for (int t = 0; t < 3; t++)
        options.recipe.inputs[t] = FA_FORMAT_F16;
    options.recipe.output = FA_FORMAT_F16;
    return options;
}

static void set_setting(const struct precision_options *options, struct fa_precision_case *setting)
{
    int64_t rows = setting->rows < options->n ? setting->rows : options->n;
    setting->n = options->n;
    setting->d = options->d;
    setting->heads = options->heads;
    setting->rows = options->rows > 0 ? options->rows : rows;
    setting->profile = (enum fa_profile)options->profile;
    setting->seed = (uint64_t)options->seed;
    setting->threads = options->threads > 0 ? (int)options->threads
                                            : cli_thread_count(&cli_problem_defaults);
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct fa_precision_case setting = sim_precision_setting();
    struct precision_options options = default_options(&setting);
    struct sim_precision_error errors[METHODS_MAX][FA_REFERENCE_COUNT];
    struct cli_precision_report report = {.setting = &setting, .errors = errors};
    struct fa_error error = {FA_OK, ""};
    int exit_status;

    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    set_setting(&options, &setting);
    report.seeds = options.seeds;
    complete_recipe(&options);
    struct sim_precision_method chosen = {"chosen", "chosen formats", 0, options.recipe};
    bool chooses = chooses_recipe(&options.base);
    report.reference = (enum fa_reference)options.reference;
    report.methods = &chosen;
    report.n = 1;
    if (!chooses)
        report.methods = sim_precision_methods(&report.n);
    /* The table has a column of each, and so has a recipe unless one was asked for. */
    for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++)
        report.wanted[reference] = !chooses || !cli_given(&options.base, "reference") ||
                                   reference == options.reference;
    enum fa_status status = measure(&setting, &report, errors, &error);
    if (status == FA_OK)
        status = print(&report, options.base.format, &error);
    return status == FA_OK ? CLI_FINE : cli_fail(command, options.base.format, &error);
}

const struct cli_command cli_precision = {
    .name = "precision",
    .summary = "what each number format costs: fp8, f16 and the rest, one by one",
    .operands = "",
    .about =
        "Without a format, the table of FlashAttention-3 on numerical error beside an emulation\n"
        "of each of its methods. With one, the error of attention in which inputs, S, P, sums and\n"
        "O have the formats that are chosen. Emulated in software; rows are a sample.",
    .examples = "  flashlab precision\n"
                "  flashlab precision --inputs bf16 --output bf16\n"
                "  flashlab precision --inputs e4m3 --scale block:64 --hadamard\n"
                "  flashlab precision --n 1024 --heads 2 --scores f16 --order standard",
    .groups = groups,
    .run = run,
};
