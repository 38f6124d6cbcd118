/* What `flashlab check` says of the rungs, in words and in JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/check_rungs.h"
#include "simulator/cli/check_theirs.h"

enum { LINES_MOST = 24 };

static const char *const end_names[] = {"right", "wrong", "refused"};

/* "forward", "backward" and its mode. */
static const char *pass_name(bool backward, bool deterministic)
{
    return !backward ? "forward" : deterministic ? "backward, deterministic" : "backward";
}

static int count(const struct cli_rung_check *check, enum cli_run_end end)
{
    int n = 0;
    for (int i = 0; i < check->n_runs; i++)
        n += check->runs[i].end == end;
    return n;
}

static void print_head(const struct cli_rung_check *check)
{
    const struct cli_case_list *list = &check->list;
    const struct gpu_device *device = &check->device;
    printf("Check      %s: %d runs agree with the oracle in double, %d do not, %d were refused\n",
           cli_rung_check_passes(check) ? "right" : "WRONG", count(check, CLI_RUN_RIGHT),
           count(check, CLI_RUN_WRONG), count(check, CLI_RUN_REFUSED));
    printf("Device     %s", device->name);
    if (device->major > 0)
        printf(", compute capability %d.%d, driver for CUDA %d.%d", device->major, device->minor,
               device->driver_version / 1000, device->driver_version % 1000 / 10);
    printf("; kernels built for %s\n", gpu_built_architectures());
    printf(
        "Cases      %d of the grid, %d field cases, %d golden cases%s; outputs held 0xff before, "
        "between guards\n",
        list->of_kind[CLI_GRID_CASE], list->of_kind[CLI_FIELD_CASE], list->of_kind[CLI_GOLDEN_CASE],
        list->golden ? "" : " (--golden)");
}

static double share_of(const struct sim_judged *judged)
{
    if (judged->compared.max_abs_error == 0)
        return 0;
    return judged->compared.max_abs_error / judged->budget;
}

static void put_place(const struct sim_judged *judged, char place[96])
{
    snprintf(place, 96, "-");
    if (judged->worst[2] >= 0)
        snprintf(place, 96, "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
                 judged->worst[0], judged->worst[1], judged->worst[2], judged->worst[3]);
}

/* One output of one rung in one dtype: the run that is nearest its budget, or the furthest past. */
static void print_output(const struct cli_rung_check *check, const struct gpu_rung *rung,
                         enum fa_dtype dtype, enum sim_output which)
{
    const struct cli_rung_run *worst = NULL;
    int runs = 0, wrong = 0;
    for (int i = 0; i < check->n_runs; i++) {
        const struct cli_rung_run *run = &check->runs[i];
        const struct sim_judged *judged = &run->output[which];
        if (run->rung != rung || run->dtype != dtype || !judged->given)
            continue;
        runs++;
        wrong += !judged->pass;
        if (!worst || share_of(judged) > share_of(&worst->output[which]))
            worst = run;
    }
    if (!worst)
        return;
    const struct sim_judged *judged = &worst->output[which];
    char place[96];
    put_place(judged, place);
    printf("  %-9s %-5s %-4s%5d%11.2e%11.2e%11.2e %6.0f %%  %-22s %s%s\n", rung->name,
           fa_dtype_name(dtype), sim_output_name(which), runs, judged->compared.max_abs_error,
           fa_comparison_rms(&judged->compared), judged->budget, 100 * share_of(judged), place,
           check->list.entries[worst->entry].name, wrong ? "  WRONG" : "");
}

static void print_table(const struct cli_rung_check *check)
{
    printf("\nOf each output, the run that is nearest its budget:\n"
           "  %-9s %-5s %-4s%5s%11s%11s%11s %8s  %-22s %s\n",
           "rung", "dtype", "", "runs", "largest", "RMS", "budget", "share",
           "worst [b, h, row, col]", "case");
    for (int r = 0; r < gpu_rung_count; r++)
        for (int dtype = 0; dtype < FA_DTYPE_COUNT; dtype++)
            for (int which = 0; which < SIM_OUTPUTS; which++)
                print_output(check, gpu_rungs[r], (enum fa_dtype)dtype, (enum sim_output)which);
}

static void print_repeats(const struct cli_rung_check *check)
{
    if (check->n_repeated > 0)
        puts("\nEqual calls:");
    for (int i = 0; i < check->n_repeated; i++) {
        const struct cli_rung_repeat *r = &check->repeated[i];
        printf("  %-9s %-5s %-24s", r->rung->name, fa_dtype_name(r->dtype),
               pass_name(r->backward, r->deterministic));
        if (r->end == CLI_RUN_RIGHT)
            printf("%" PRId64 " calls, %s\n", r->times,
                   r->bits ? "all with the same bits"
                           : "dQ within its budget of the first, the others with the same bits");
        else
            printf("%s: %s\n", r->end == CLI_RUN_WRONG ? "WRONG" : "refused", r->reason);
    }
}

static void print_wrong(const struct cli_rung_check *check)
{
    int shown = 0, all = count(check, CLI_RUN_WRONG);
    for (int i = 0; i < check->n_runs && shown < LINES_MOST; i++) {
        const struct cli_rung_run *run = &check->runs[i];
        if (run->end != CLI_RUN_WRONG)
            continue;
        printf("%s%s, %s, %s, \"%s\":\n           %s\n", shown++ ? "           " : "\nWRONG      ",
               run->rung->name, fa_dtype_name(run->dtype),
               pass_name(run->backward, run->deterministic), check->list.entries[run->entry].name,
               run->reason);
        for (int which = 0; which < SIM_OUTPUTS; which++) {
            const struct sim_judged *judged = &run->output[which];
            char place[96];
            if (!judged->given || judged->pass)
                continue;
            put_place(judged, place);
            printf("           %s: error %.3e, budget %.3e, at %s: %.7g, right %.7g\n",
                   sim_output_name((enum sim_output)which), judged->compared.max_abs_error,
                   judged->budget, place, judged->theirs, judged->right);
        }
    }
    if (all > shown)
        printf("           and %d more (--format json has them all)\n", all - shown);
}

/* Each reason once, with how many runs it stands for. */
static void print_refused(const struct cli_rung_check *check)
{
    int lines = 0;
    for (int i = 0; i < check->n_runs; i++) {
        const struct cli_rung_run *run = &check->runs[i];
        bool seen = run->end != CLI_RUN_REFUSED;
        int n = 0;
        for (int j = 0; j < check->n_runs && !seen; j++) {
            bool same = check->runs[j].end == CLI_RUN_REFUSED && check->runs[j].rung == run->rung &&
                        strcmp(check->runs[j].reason, run->reason) == 0;
            seen = same && j < i;
            n += same;
        }
        if (!seen)
            printf("%s%-9s %5d %-5s %s\n", lines++ ? "           " : "\nRefused    ",
                   run->rung->name, n, n == 1 ? "run" : "runs", run->reason);
    }
}

void cli_rung_check_print(const struct cli_rung_check *check)
{
    print_head(check);
    print_table(check);
    print_repeats(check);
    print_wrong(check);
    print_refused(check);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *output_json(const struct sim_judged *judged)
{
    json_t *worst = json_null();
    if (!judged->given)
        return json_null();
    if (judged->worst[2] >= 0)
        worst = json_pack("{s:I,s:I,s:I,s:I,s:o,s:o}", "batch", (json_int_t)judged->worst[0],
                          "head", (json_int_t)judged->worst[1], "row", (json_int_t)judged->worst[2],
                          "column", (json_int_t)judged->worst[3], "got", real(judged->theirs),
                          "right", real(judged->right));
    return json_pack(
        "{s:I,s:o,s:o,s:o,s:I,s:o,s:b}", "compared", (json_int_t)judged->compared.n, "budget",
        real(judged->budget), "max_abs_error", real(judged->compared.max_abs_error), "rms_error",
        real(fa_comparison_rms(&judged->compared)), "nonfinite",
        (json_int_t)judged->compared.mismatches, "worst", worst, "pass", (int)judged->pass);
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *run_json(const struct cli_rung_check *check, const struct cli_rung_run *run)
{
    const struct cli_case_entry *entry = &check->list.entries[run->entry];
    json_t *outputs = json_object();
    for (int i = 0; i < SIM_OUTPUTS; i++)
        json_object_set_new(outputs, cli_output_files[i], output_json(&run->output[i]));
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:s,s:o,s:o}", "rung", run->rung->name, "dtype",
                     fa_dtype_name(run->dtype), "kind", cli_case_kinds[entry->kind], "case",
                     entry->name, "pass", run->backward ? "backward" : "forward", "deterministic",
                     (int)run->deterministic, "result", end_names[run->end], "reason",
                     text_or_null(run->reason), "outputs", outputs);
}

static json_t *repeat_json(const struct cli_rung_repeat *repeat)
{
    return json_pack("{s:s,s:s,s:s,s:b,s:s,s:I,s:s,s:o}", "rung", repeat->rung->name, "dtype",
                     fa_dtype_name(repeat->dtype), "pass",
                     repeat->backward ? "backward" : "forward", "deterministic",
                     (int)repeat->deterministic, "expected", repeat->bits ? "bits" : "budget",
                     "calls", (json_int_t)repeat->times, "result", end_names[repeat->end], "reason",
                     text_or_null(repeat->reason));
}

enum fa_status cli_rung_check_print_json(const struct cli_rung_check *check, struct fa_error *error)
{
    const struct gpu_device *device = &check->device;
    json_t *runs = json_array(), *repeats = json_array(), *object;
    bool whole = runs && repeats;
    for (int i = 0; i < check->n_runs && whole; i++)
        whole = json_array_append_new(runs, run_json(check, &check->runs[i])) == 0;
    for (int i = 0; i < check->n_repeated && whole; i++)
        whole = json_array_append_new(repeats, repeat_json(&check->repeated[i])) == 0;
    object =
        json_pack("{s:s,s:{s:s,s:i,s:i,s:i,s:s},s:{s:i,s:i,s:i},s:o,s:o,s:b,s:{s:s,s:s}}", "schema",
                  "flashlab.check_rungs/1", "device", "name", device->name, "major", device->major,
                  "minor", device->minor, "driver", device->driver_version, "built",
                  gpu_built_architectures(), "results", "right", count(check, CLI_RUN_RIGHT),
                  "wrong", count(check, CLI_RUN_WRONG), "refused", count(check, CLI_RUN_REFUSED),
                  "runs", runs, "repeats", repeats, "pass", (int)cli_rung_check_passes(check),
                  "provenance", "version", FLASHLAB_VERSION, "command", cli_command_line());
    if (whole && object) {
        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
    }
    whole = whole && object;
    json_decref(object);
    return whole ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory for the report");
}
