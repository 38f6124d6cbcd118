#include "simulator/cli/precision_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "simulator/cli/options.h"

const char *const cli_precision_references[] = {"unrounded", "rounded", NULL};
const char *const cli_precision_orders[] = {"standard", "flash", NULL};

static const char *const scale_names[] = {"none", "tensor", "block"};

static void print_setting(FILE *file, const struct cli_precision_report *report)
{
    const struct fa_precision_case *setting = report->setting;
    fprintf(file,
            "N = %" PRId64 ", d = %" PRId64 ", %" PRId64 " head%s, %" PRId64
            " rows of each compared; profile %s, seed",
            setting->n, setting->d, setting->heads, setting->heads == 1 ? "" : "s", setting->rows,
            fa_profile_name(setting->profile));
    if (report->seeds == 1)
        fprintf(file, " %" PRIu64 "\n", setting->seed);
    else
        fprintf(file, "s %" PRIu64 " to %" PRIu64 "\n", setting->seed,
                setting->seed + (uint64_t)report->seeds - 1);
}

/* Four digits, as in 3.152e-04; a word where there is no number. */
static void print_error(FILE *file, int width, double value)
{
    if (isfinite(value))
        fprintf(file, " %*.3e", width, value);
    else
        fprintf(file, " %*s", width, "not finite");
}

static void print_range(FILE *file, const struct sim_precision_error *error)
{
    char text[48];
    snprintf(text, sizeof text, "%.2e..%.2e", error->least, error->most);
    fprintf(file, " %20s", isfinite(error->most) ? text : "not finite");
}

void cli_precision_print_table(FILE *file, const struct cli_precision_report *report)
{
    enum fa_reference shown = report->reference;
    enum fa_reference other = (enum fa_reference)(1 - shown);
    fputs("Table 3 of FlashAttention-3 (arXiv 2407.08608, section 4.3) beside an emulation here.\n",
          file);
    print_setting(file, report);
    fprintf(file, "\n%-24s%10s %10s %20s %8s %10s %10s\n", "RMSE of O against f64", "published",
            "ours", "each seed", "ratio", "max error", cli_precision_references[other]);
    for (int i = 0; i < report->n; i++) {
        const struct sim_precision_error *error = &report->errors[i][shown];
        fprintf(file, "%-24s%10.1e", report->methods[i].title, report->methods[i].published);
        print_error(file, 10, error->all.rmse);
        print_range(file, error);
        fprintf(file, " %8.4g", error->all.rmse / report->methods[i].published);
        print_error(file, 10, error->all.o.max_abs_error);
        print_error(file, 10, report->errors[i][other].all.rmse);
        fputc('\n', file);
    }
    fprintf(file,
            "\n"
            "ours: the reference is attention in double on the %s inputs. The last column has\n"
            "the same RMSE on the %s ones%s.\n"
            "It is over all seeds together; \"each seed\" has the least and the most of one alone.\n"
            "Rare large scores make the range wide; more --seeds, --heads or --rows narrow it.\n"
            "FlashAttention-2 and 3 in f16 round alike: they are one emulation.\n",
            cli_precision_references[shown], cli_precision_references[other],
            other == FA_REFERENCE_ROUNDED ? ": what attention adds after its inputs were rounded"
                                          : "");
}

static void print_recipe(FILE *file, const struct fa_precision_recipe *r)
{
    bool flash = r->order == FA_FLASH_ORDER;
    fprintf(file, "  q, k, v      %s, %s, %s", fa_format_name(r->inputs[0]),
            fa_format_name(r->inputs[1]), fa_format_name(r->inputs[2]));
    if (r->scale == FA_SCALE_TENSOR)
        fputs(", one scale a tensor of a head", file);
    else if (r->scale == FA_SCALE_BLOCK)
        fprintf(file, ", a scale for each %" PRId64 " rows", r->scale_rows);
    fprintf(file, "%s\n", r->hadamard ? ", q and k rotated" : "");
    fprintf(file, "  S            %s\n", fa_format_name(r->scores));
    fprintf(file, "  P            %s", fa_format_name(r->weights));
    if (r->weight_scale != 1)
        fprintf(file, ", times %g before rounding", r->weight_scale);
    fprintf(file, "\n  sums         %s in Q K^T, %s in P V\n", fa_format_name(r->accumulate[0]),
            fa_format_name(r->accumulate[1]));
    fprintf(file, "  O            %s\n", fa_format_name(r->output));
    if (flash)
        fprintf(file, "  order        flash, tiles of %" PRId64 " keys\n", r->tile);
    else
        fputs("  order        standard, whole rows\n", file);
}

void cli_precision_print_one(FILE *file, const struct cli_precision_report *report)
{
    static const char *const notes[] = {"all roundings count", "the inputs' rounding left out"};
    print_setting(file, report);
    fputc('\n', file);
    print_recipe(file, &report->methods[0].recipe);
    fprintf(file, "\n%-32s %10s %20s %10s\n", "O against attention in double", "RMSE",
            "each seed", "max error");
    for (int reference = 0; reference < FA_REFERENCE_COUNT; reference++) {
        const struct sim_precision_error *error = &report->errors[0][reference];
        if (!report->wanted[reference])
            continue;
        fprintf(file, "on %s inputs%*s", cli_precision_references[reference],
                reference == FA_REFERENCE_ROUNDED ? 15 : 13, "");
        print_error(file, 10, error->all.rmse);
        print_range(file, error);
        print_error(file, 10, error->all.o.max_abs_error);
        fprintf(file, "  %s\n", notes[reference]);
    }
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *describe_recipe(const struct fa_precision_recipe *r)
{
    bool flash = r->order == FA_FLASH_ORDER, block = r->scale == FA_SCALE_BLOCK;
    return json_pack("{s:[s,s,s],s:s,s:s,s:[s,s],s:s,s:s,s:s,s:o,s:b,s:f,s:o}", "inputs",
                     fa_format_name(r->inputs[0]), fa_format_name(r->inputs[1]),
                     fa_format_name(r->inputs[2]), "scores", fa_format_name(r->scores), "weights",
                     fa_format_name(r->weights), "accumulate", fa_format_name(r->accumulate[0]),
                     fa_format_name(r->accumulate[1]), "output", fa_format_name(r->output), "order",
                     cli_precision_orders[r->order], "scale", scale_names[r->scale], "scale_rows",
                     block ? json_integer(r->scale_rows) : json_null(), "hadamard", r->hadamard,
                     "weight_scale", r->weight_scale, "tile",
                     flash ? json_integer(r->tile) : json_null());
}

static json_t *describe_error(const struct cli_precision_report *report, int i,
                              enum fa_reference reference)
{
    const struct sim_precision_error *error = &report->errors[i][reference];
    if (!report->wanted[reference])
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "rmse", number(error->all.rmse), "standard_error",
                     number(error->all.standard_error), "least", number(error->least), "most",
                     number(error->most), "max_abs_error", number(error->all.o.max_abs_error));
}

static json_t *describe_method(const struct cli_precision_report *report, int i)
{
    const struct sim_precision_method *method = &report->methods[i];
    double ours = report->errors[i][report->reference].all.rmse;
    bool published = method->published > 0;
    return json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "id", method->id, "title",
                     method->title + (method->title[0] == ' ' ? 2 : 0), "recipe",
                     describe_recipe(&method->recipe), "published",
                     published ? json_real(method->published) : json_null(), "ours", number(ours),
                     "ratio", published ? number(ours / method->published) : json_null(),
                     "unrounded", describe_error(report, i, FA_REFERENCE_UNROUNDED), "rounded",
                     describe_error(report, i, FA_REFERENCE_ROUNDED));
}

json_t *cli_precision_json(const struct cli_precision_report *report)
{
    const struct fa_precision_case *setting = report->setting;
    json_t *methods = json_array();
    bool published = report->methods[0].published > 0;
    for (int i = 0; i < report->n && methods; i++) {
        if (json_array_append_new(methods, describe_method(report, i)) != 0) {
            json_decref(methods);
            methods = NULL;
        }
    }
    if (!methods)
        return NULL;
    return json_pack("{s:s,s:{s:I,s:I,s:I,s:I,s:s,s:I,s:I},s:s,s:o,s:o,s:{s:s,s:s,s:i}}", "schema",
                     "flashlab.precision/1", "setting", "n", (json_int_t)setting->n, "d",
                     (json_int_t)setting->d, "heads", (json_int_t)setting->heads, "rows",
                     (json_int_t)setting->rows, "profile", fa_profile_name(setting->profile),
                     "seed", (json_int_t)setting->seed, "seeds", (json_int_t)report->seeds,
                     "reference",
                     cli_precision_references[report->reference], "source",
                     published ? json_string("arXiv 2407.08608, Table 3") : json_null(), "methods",
                     methods, "provenance", "version", FLASHLAB_VERSION, "command",
                     cli_command_line(), "threads", setting->threads);
}
