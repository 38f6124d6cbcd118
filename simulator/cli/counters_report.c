/* What `flashlab counters` says, in words and in JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "simulator/cli/counters_command.h"
#include "simulator/report.h"

static const char *const row_names[COUNTERS_BESIDE] = {
    [COUNTER_READ] = "L2 to SM",
    [COUNTER_WRITE] = "SM to L2",
    [COUNTER_DRAM_READ] = "DRAM read, each tensor once",
    [COUNTER_DRAM_WRITE] = "DRAM write, each tensor once",
};
static const char *const row_keys[COUNTERS_BESIDE] = {
    [COUNTER_READ] = "l2_to_sm",
    [COUNTER_WRITE] = "sm_to_l2",
    [COUNTER_DRAM_READ] = "dram_read",
    [COUNTER_DRAM_WRITE] = "dram_write",
};

enum { WIDTH = 80, NAME_TEXT = 128 };

/* A name of the CSV as a terminal and JSON take it: what is not ASCII becomes a question mark, and
 * what passes the size dots. */
static const char *plain(const char *name, char *text, size_t size)
{
    size_t n = 0;
    for (; name[n] && n + 1 < size; n++)
        text[n] =
            (char)((unsigned char)name[n] < ' ' || (unsigned char)name[n] > '~' ? '?' : name[n]);
    text[n] = '\0';
    if (name[n])
        memcpy(text + n - 3, "...", 3);
    return text;
}

/* Words after the `column` that was reached; lines after the first begin at `indent`. */
static void print_words(FILE *file, const char *text, int column, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        bool broken = column + 1 + length > WIDTH && column > indent;
        fprintf(file, broken ? "\n%*s%.*s" : "%*s%.*s", broken ? indent : 1, "", length, text);
        column = (broken ? indent : column + 1) + length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

static void print_problem(const struct counters *counters, FILE *file)
{
    const struct fa_problem *p = &counters->problem;
    sim_report_sizes(file, p);
    if (p->causal != FA_CAUSAL_NONE)
        fprintf(file, ", causal %s", fa_causal_name(p->causal));
    if (p->window_left >= 0 || p->window_right >= 0)
        fprintf(file, ", window %" PRId64 ",%" PRId64, p->window_left, p->window_right);
    fputc('\n', file);
}

static void print_row(FILE *file, const char *name, const struct counters_row *row)
{
    char counted[SIM_NUMBER_TEXT], measured[SIM_NUMBER_TEXT] = "-";
    if (row->measured_too)
        sim_number_text(row->measured, measured);
    fprintf(file, "    %-28s %19s %19s", name, sim_number_text(row->counted, counted), measured);
    if (row->measured_too && row->counted > 0) {
        double ratio = (double)row->measured / (double)row->counted;
        fprintf(file, " %7.*f\n", ratio < 99 ? 4 : 0, ratio);
    } else {
        fprintf(file, " %7s\n", "-");
    }
}

/* Under a row: its gap, where there is one, and what accounts for it. */
static void print_gap(FILE *file, const struct counters_row *row)
{
    char number[SIM_NUMBER_TEXT], seen[SIM_NUMBER_TEXT], text[640];
    size_t n = 0;
    bool more = row->measured > row->counted;
    if (!row->measured_too || row->measured == row->counted)
        return;
    int column =
        fprintf(file, "      gap %c%s:", more ? '+' : '-',
                sim_number_text(more ? row->measured - row->counted : row->counted - row->measured,
                                number));
    for (int r = 0; r < row->n_reasons; r++) {
        const struct counters_reason *reason = &row->reason[r];
        n +=
            (size_t)snprintf(text + n, sizeof text - n, "%s%s up to %s (%s bytes %s)",
                             r ? "; " : "", reason->name, sim_number_text(reason->accounts, number),
                             sim_number_text(reason->seen, seen), reason->what);
    }
    if (row->unexplained > 0)
        snprintf(text + n, sizeof text - n, "%s%s unexplained", row->n_reasons ? "; " : "",
                 sim_number_text(row->unexplained, number));
    print_words(file, text, column, 8);
}

static void print_kernel(FILE *file, const struct counters_kernel *kernel)
{
    char number[SIM_NUMBER_TEXT], hits[SIM_NUMBER_TEXT], name[NAME_TEXT], text[320];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", plain(kernel->name, name, sizeof name));
    if (kernel->kinds > 1)
        n += (size_t)snprintf(text + n, sizeof text - n, " and %d more, their sum",
                              kernel->kinds - 1);
    if (kernel->launches > kernel->kinds)
        n += (size_t)snprintf(text + n, sizeof text - n, ", mean of %d launches", kernel->launches);
    if (kernel->has[COUNTER_READ] && kernel->least_read < kernel->most_read)
        snprintf(text + n, sizeof text - n, ", which read %s to %s bytes",
                 sim_number_text(kernel->least_read, number),
                 sim_number_text(kernel->most_read, hits));
    print_words(file, text, fprintf(file, "  %s:", kernel->counted.name), 4);
    for (int c = 0; c < COUNTERS_BESIDE; c++) {
        print_row(file, row_names[c], &kernel->row[c]);
        print_gap(file, &kernel->row[c]);
    }
    if (kernel->has_reuse && kernel->reuse_bytes > 0) {
        snprintf(text, sizeof text, "%s bytes that the SMs read and DRAM did not give (hits of %s)",
                 sim_number_text(kernel->reuse_bytes, number),
                 sim_number_text(kernel->measured[COUNTER_L2_HITS], hits));
        print_words(file, text, fprintf(file, "    reused from L2:"), 6);
    }
}

static void print_pass(const struct counters *counters, const struct counters_pass *pass,
                       FILE *file)
{
    const struct sim_walk_tiles *tiles = &pass->tiles;
    const char *name = counters->rung ? counters->rung->name : pass->kernel[0].counted.name;
    fprintf(file, "\n%s, %s, tiles %" PRId64 "x%" PRId64, name,
            pass->backward ? "backward" : "forward", tiles->br, tiles->bc);
    if (pass->backward && tiles->dq_br > 0)
        fprintf(file, ", for dQ %" PRId64 "x%" PRId64, tiles->dq_br, tiles->dq_bc);
    fprintf(file, "\n  %-30s %19s %19s %7s\n", "bytes", "counted", "measured", "ratio");
    for (int k = 0; k < pass->n; k++)
        print_kernel(file, &pass->kernel[k]);
    if (pass->n > 1) {
        fputs("  all kernels\n", file);
        for (int c = 0; c < COUNTERS_BESIDE; c++)
            print_row(file, row_names[c], &pass->total[c]);
    }
}

/* What --within is about is in the CSV. */
static bool can_agree(const struct counters *counters)
{
    for (int p = 0; p < counters->n_passes; p++)
        if (!counters->pass[p].total[COUNTER_READ].measured_too)
            return false;
    return counters->within >= 0;
}

bool counters_agree(const struct counters *counters)
{
    for (int p = 0; p < counters->n_passes && counters->within >= 0; p++) {
        const struct counters_pass *pass = &counters->pass[p];
        double counted = (double)pass->total[COUNTER_READ].counted, least = 0, most = 0;
        for (int k = 0; k < pass->n; k++) {
            least += (double)pass->kernel[k].least_read;
            most += (double)pass->kernel[k].most_read;
        }
        double off = fmax(fabs(least - counted), fabs(most - counted));
        if (!pass->total[COUNTER_READ].measured_too || off * 100 > counters->within * counted)
            return false;
    }
    return true;
}

/* Whether the launches of one kernel read different numbers of bytes. */
static bool launches_differ(const struct counters *counters)
{
    for (int p = 0; p < counters->n_passes; p++)
        for (int k = 0; k < counters->pass[p].n; k++) {
            const struct counters_kernel *kernel = &counters->pass[p].kernel[k];
            if (kernel->least_read < kernel->most_read)
                return true;
        }
    return false;
}

static void print_check(const struct counters *counters, FILE *file)
{
    bool refused = false;
    if (can_agree(counters)) {
        fprintf(file, "\nCheck      the reads from L2 are%s within %g %% of the count%s\n",
                counters_agree(counters) ? "" : " NOT", counters->within,
                launches_differ(counters) ? ", in each launch" : "");
        return;
    }
    for (int p = 0; p < counters->n_passes; p++)
        for (int k = 0; k < counters->pass[p].n; k++)
            refused = refused || counters->pass[p].kernel[k].refused[COUNTER_READ];
    fprintf(file,
            "\nCheck      the reads from L2 were not measured: %s\n"
            "           %s\n",
            refused ? "ncu has n/a for" : "there is no", counters_metric[COUNTER_READ]);
}

void counters_print(const struct counters *counters, FILE *file)
{
    char name[NAME_TEXT];
    fputs("Counted    by executing the loops on tiles; measured by ncu\n", file);
    print_problem(counters, file);
    for (int p = 0; p < counters->n_passes; p++)
        print_pass(counters, &counters->pass[p], file);
    for (int u = 0; u < counters->n_uncounted && u < COUNTERS_LISTED; u++)
        print_words(file, plain(counters->uncounted[u], name, sizeof name),
                    fprintf(file, u ? "            " : "\nNot counted ") - !u, 15);
    if (counters->n_uncounted > COUNTERS_LISTED)
        fprintf(file, "             and %d more\n", counters->n_uncounted - COUNTERS_LISTED);
    if (counters->within >= 0)
        print_check(counters, file);
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *integer(uint64_t value)
{
    return value > INT64_MAX ? json_real((double)value) : json_integer((json_int_t)value);
}

static json_t *text_json(const char *text)
{
    char copy[1024];
    return json_string(plain(text, copy, sizeof copy));
}

static json_t *row_json(const struct counters_row *row, bool with_reasons)
{
    json_t *reasons = json_array();
    bool ratio = row->measured_too && row->counted > 0;
    json_t *object =
        json_pack("{s:o,s:o,s:o}", "counted_bytes", integer(row->counted), "measured_bytes",
                  row->measured_too ? integer(row->measured) : json_null(), "ratio",
                  ratio ? json_real((double)row->measured / (double)row->counted) : json_null());
    for (int r = 0; r < row->n_reasons; r++)
        json_array_append_new(reasons, json_pack("{s:s,s:o,s:o}", "reason", row->reason[r].name,
                                                 "seen_bytes", integer(row->reason[r].seen),
                                                 "accounts_for_up_to_bytes",
                                                 integer(row->reason[r].accounts)));
    if (!with_reasons) {
        json_decref(reasons);
        return object;
    }
    put(object, "reasons", reasons);
    put(object, "unexplained_bytes", row->measured_too ? integer(row->unexplained) : json_null());
    return object;
}

static json_t *rows_json(const struct counters_row *rows, bool with_reasons)
{
    json_t *object = json_object();
    for (int c = 0; c < COUNTERS_BESIDE; c++)
        put(object, row_keys[c], row_json(&rows[c], with_reasons));
    return object;
}

static json_t *kernel_json(const struct counters_kernel *kernel)
{
    json_t *object = rows_json(kernel->row, true), *metrics = json_object();
    put(object, "name", json_string(kernel->counted.name));
    put(object, "launched_as", text_json(kernel->name));
    put(object, "kernels", json_integer(kernel->kinds));
    put(object, "launches", json_integer(kernel->launches));
    put(object, "least_read_bytes",
        kernel->has[COUNTER_READ] ? integer(kernel->least_read) : json_null());
    put(object, "most_read_bytes",
        kernel->has[COUNTER_READ] ? integer(kernel->most_read) : json_null());
    put(object, "reused_from_l2_bytes",
        kernel->has_reuse ? integer(kernel->reuse_bytes) : json_null());
    for (int c = 0; c < COUNTERS_ALL; c++)
        put(metrics, counters_metric[c],
            kernel->has[c] ? integer(kernel->measured[c]) : json_null());
    put(object, "metric_bytes", metrics);
    return object;
}

static json_t *pass_json(const struct counters_pass *pass)
{
    json_t *kernels = json_array();
    const struct sim_walk_tiles *t = &pass->tiles;
    for (int k = 0; k < pass->n; k++)
        json_array_append_new(kernels, kernel_json(&pass->kernel[k]));
    return json_pack("{s:s,s:{s:I,s:I,s:o,s:o},s:o,s:o}", "pass",
                     pass->backward ? "backward" : "forward", "tiles", "br", (json_int_t)t->br,
                     "bc", (json_int_t)t->bc, "dq_br",
                     t->dq_br > 0 ? json_integer(t->dq_br) : json_null(), "dq_bc",
                     t->dq_br > 0 ? json_integer(t->dq_bc) : json_null(), "kernels", kernels,
                     "total", rows_json(pass->total, false));
}

static json_t *problem_json(const struct fa_problem *p)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:s,s:I,s:I,s:s}", "batch",
                     (json_int_t)p->batch, "heads", (json_int_t)p->heads, "kv_heads",
                     (json_int_t)p->kv_heads, "nq", (json_int_t)p->nq, "nk", (json_int_t)p->nk, "d",
                     (json_int_t)p->d, "dv", (json_int_t)p->dv, "scale", p->scale, "causal",
                     fa_causal_name(p->causal), "window_left", (json_int_t)p->window_left,
                     "window_right", (json_int_t)p->window_right, "dtype", fa_dtype_name(p->dtype));
}

enum fa_status counters_print_json(const struct counters *counters, FILE *file,
                                   struct fa_error *error)
{
    json_t *object = json_object(), *passes = json_array(), *uncounted = json_array();
    const struct gpu_rung *rung = counters->rung;
    for (int p = 0; p < counters->n_passes; p++)
        json_array_append_new(passes, pass_json(&counters->pass[p]));
    for (int u = 0; u < counters->n_uncounted && u < COUNTERS_LISTED; u++)
        json_array_append_new(uncounted, text_json(counters->uncounted[u]));
    bool whole =
        put(object, "schema", json_string("flashlab.counters/1")) &&
        put(object, "problem", problem_json(&counters->problem)) &&
        put(object, "rung", rung ? json_string(rung->name) : json_null()) &&
        put(object, "algorithm",
            rung ? json_null() : json_string(counters->options.algorithms[0]->name)) &&
        put(object, "passes", passes) && put(object, "not_counted", uncounted) &&
        put(object, "not_counted_kernels", json_integer(counters->n_uncounted)) &&
        put(object, "agrees",
            can_agree(counters) ? json_boolean(counters_agree(counters)) : json_null()) &&
        put(object, "provenance",
            json_pack("{s:s,s:s}", "version", FLASHLAB_VERSION, "command", cli_command_line()));
    if (whole) {
        json_dumpf(object, file, JSON_INDENT(2));
        fputc('\n', file);
    }
    json_decref(object);
    return whole ? FA_OK : fa_fail(error, FA_NO_MEMORY, "no memory for the report");
}
