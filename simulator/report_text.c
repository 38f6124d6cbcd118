#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "simulator/report.h"

static const enum fa_tensor_id forward_tensors[] = {
    FA_Q, FA_K, FA_V, FA_O, FA_LSE, FA_L, FA_M, FA_S, FA_P, FA_MASK, FA_BIAS,
};

const char *sim_number_text(uint64_t value, char text[SIM_NUMBER_TEXT])
{
    char digits[SIM_NUMBER_TEXT];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    char *to = text;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

/* The number, right-aligned in `width` columns. */
static void print_number(FILE *file, int width, uint64_t value)
{
    char text[SIM_NUMBER_TEXT];
    fprintf(file, "%*s", width, sim_number_text(value, text));
}

/* A share in percent, "-" of nothing. */
static void print_share(FILE *file, uint64_t part, uint64_t all)
{
    if (all > 0)
        fprintf(file, "%.1f %%", 100.0 * (double)part / (double)all);
    else
        fputs("-", file);
}

static uint64_t moved_elements(const struct sim_result *result)
{
    return sim_counters_read_all(&result->counters, &result->problem).elements +
           sim_counters_write_all(&result->counters, &result->problem).elements;
}

static uint64_t moved_bytes(const struct sim_result *result)
{
    return sim_counters_read_all(&result->counters, &result->problem).bytes +
           sim_counters_write_all(&result->counters, &result->problem).bytes;
}

static uint64_t all_flops(const struct sim_result *result)
{
    const struct fa_flops *flops = &result->counters.flops;
    return flops->matmul + flops->exp + flops->other;
}

static void print_bound(FILE *file, int64_t bound)
{
    if (bound < 0)
        fputs("unbounded", file);
    else
        fprintf(file, "%" PRId64, bound);
}

static void print_mask(FILE *file, const struct fa_problem *problem)
{
    const char *before = "";
    if (problem->causal != FA_CAUSAL_NONE) {
        fprintf(file, "causal, %s", fa_causal_name(problem->causal));
        before = "; ";
    }
    if (problem->window_left >= 0 || problem->window_right >= 0) {
        fprintf(file, "%swindow ", before);
        print_bound(file, problem->window_left);
        fputs(" left, ", file);
        print_bound(file, problem->window_right);
        fputs(" right", file);
        before = "; ";
    }
    if (problem->mask) {
        fprintf(file, "%selement mask", before);
        before = "; ";
    }
    if (problem->bias) {
        fprintf(file, "%sbias", before);
        before = "; ";
    }
    fputs(*before ? "" : "none", file);
}

static void print_problem(FILE *file, const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    fprintf(file, "Problem    batch %" PRId64 ", heads %" PRId64, p->batch, p->heads);
    if (p->kv_heads != p->heads)
        fprintf(file, ", K/V heads %" PRId64, p->kv_heads);
    if (p->nq == p->nk)
        fprintf(file, ", N %" PRId64, p->nq);
    else
        fprintf(file, ", Nq %" PRId64 ", Nk %" PRId64, p->nq, p->nk);
    fprintf(file, ", d %" PRId64, p->d);
    if (p->dv != p->d)
        fprintf(file, ", dv %" PRId64, p->dv);
    fprintf(file, ", %s, scale %.6g\nMask       ", fa_dtype_name(p->dtype), p->scale);
    print_mask(file, p);
    fputs("\nMachine    ", file);
    fprintf(file, "%s, SRAM ", result->machine.name);
    print_number(file, 0, result->machine.sram_bytes);
    fprintf(file, " bytes%s\n",
            result->capacity_lifted ? " (for the tile rule alone: the capacity is lifted)" : "");
}

static void print_volume(FILE *file, const char *name, struct sim_volume read,
                         struct sim_volume write)
{
    fprintf(file, "  %-9s", name);
    print_number(file, 19, read.elements);
    print_number(file, 19, read.bytes);
    print_number(file, 19, write.elements);
    print_number(file, 19, write.bytes);
    fputc('\n', file);
}

static void print_traffic(FILE *file, const struct sim_result *result)
{
    const struct sim_counters *counters = &result->counters;
    const struct fa_problem *problem = &result->problem;
    fprintf(file, "\nTraffic between HBM and SRAM, all heads\n  %-9s%19s%19s%19s%19s\n", "tensor",
            "read, elements", "bytes", "written, elements", "bytes");
    for (size_t n = 0; n < sizeof forward_tensors / sizeof *forward_tensors; n++) {
        enum fa_tensor_id id = forward_tensors[n];
        if (counters->read[id] > 0 || counters->write[id] > 0)
            print_volume(file, fa_tensor_name(id), sim_counters_read(counters, problem, id),
                         sim_counters_write(counters, problem, id));
    }
    print_volume(file, "total", sim_counters_read_all(counters, problem),
                 sim_counters_write_all(counters, problem));
    int64_t heads = problem->batch * problem->heads;
    if (result->heads_executed < heads)
        fprintf(file,
                "  Counted on %" PRId64 " head and multiplied by %" PRId64
                ": heads of one problem do not differ in what is counted.\n",
                result->heads_executed, heads / result->heads_executed);
}

static void print_figures(FILE *file, const struct sim_result *result)
{
    const struct sim_counters *counters = &result->counters;
    const struct sim_footprint *footprint = &result->footprint;
    uint64_t bytes = moved_bytes(result);
    fputs("\nSRAM       peak ", file);
    print_number(file, 0, counters->sram_peak_bytes);
    fputs(" of ", file);
    print_number(file, 0, result->machine.sram_bytes);
    fputs(" bytes (", file);
    print_share(file, counters->sram_peak_bytes, result->machine.sram_bytes);
    fputs(")\nIn HBM     inputs ", file);
    print_number(file, 0, footprint->input_bytes);
    fputs(", outputs ", file);
    print_number(file, 0, footprint->output_bytes);
    fputs(", extra ", file);
    print_number(file, 0, footprint->extra_bytes);
    fputs(" bytes\nFLOPs      matmul ", file);
    print_number(file, 0, counters->flops.matmul);
    fputs(", exp ", file);
    print_number(file, 0, counters->flops.exp);
    fputs(", other ", file);
    print_number(file, 0, counters->flops.other);
    if (bytes > 0)
        fprintf(file, "; %.1f a byte moved", (double)all_flops(result) / (double)bytes);
    fprintf(file, "\nTiles      %" PRId64 "x%" PRId64 " (%s): ", result->tiles.br, result->tiles.bc,
            sim_policy_name(result->policy));
    print_number(file, 0, counters->tiles_visited);
    fputs(" visited of ", file);
    print_number(file, 0, result->tiles_total);
    fputs(", ", file);
    print_number(file, 0, counters->tiles_masked);
    fputs(" of them cut by the mask\n", file);
}

static void print_ratio(FILE *file, const char *name, double bound, uint64_t moved,
                        const char *meaning)
{
    char text[SIM_NUMBER_TEXT];
    fprintf(file, "  %-11s", name);
    if (!isfinite(bound)) {
        fprintf(file, "%19s%12s   %s\n", "-", "-", meaning);
        return;
    }
    if (bound < 0x1p63)
        fprintf(file, "%19s", sim_number_text((uint64_t)(bound + 0.5), text));
    else
        fprintf(file, "%19.6e", bound);
    if (bound > 0)
        fprintf(file, "%12.3f   %s\n", (double)moved / bound, meaning);
    else
        fprintf(file, "%12s   %s\n", "-", meaning);
}

static void print_bounds(FILE *file, const struct sim_result *result)
{
    uint64_t moved = moved_elements(result);
    fputs("\nBounds beside the ", file);
    print_number(file, 0, moved);
    fputs(" elements moved; M = ", file);
    print_number(file, 0, result->machine.sram_bytes / fa_dtype_bytes(result->problem.dtype));
    fprintf(file, " elements\n  %-11s%19s%12s\n", "bound", "elements", "moved/bound");
    print_ratio(file, "compulsory", result->bounds.compulsory, moved, "q, k, v and o once each");
    print_ratio(file, "theta", result->bounds.theta, moved,
                "N^2 d^2/M, constant 1 (FlashAttention, Theorem 2)");
    print_ratio(file, "floor", result->bounds.floor, moved,
                "no schedule moves less (our derivation; M >= 2 d^2)");
    print_ratio(file, "standard", result->bounds.standard, moved, "Nd + N^2, constant 1");
}

static void print_check(FILE *file, const struct sim_report *report)
{
    const struct sim_check *check = &report->check;
    const struct fa_problem *problem = &report->result.problem;
    if (!report->checked) {
        fputs("\nCheck      none was asked for\n", file);
        return;
    }
    fprintf(file, "\nCheck      %s, against the oracle in double\n  rows     ",
            check->pass ? "passed" : "FAILED");
    print_number(file, 0, (uint64_t)check->rows);
    if (check->sampled) {
        fputs(" of ", file);
        print_number(file, 0, (uint64_t)(problem->batch * problem->heads * problem->nq));
        fputs(", a sample of each head (--check full compares all)\n", file);
    } else {
        fputs(", all there are\n", file);
    }
    fprintf(file, "  O        error at most %.3e (budget %.3e), root mean square %.3e\n",
            check->o.max_abs_error, check->o_budget, fa_comparison_rms(&check->o));
    fprintf(file, "  LSE      error at most %.3e (budget %.3e)\n", check->lse.max_abs_error,
            check->lse_budget);
    if (check->o.mismatches > 0 || check->lse.mismatches > 0)
        fprintf(file, "  NaN or infinity on one side only: %" PRId64 " in O, %" PRId64 " in LSE\n",
                check->o.mismatches, check->lse.mismatches);
    if (check->o.worst >= 0)
        fprintf(file, "  worst O  head %" PRId64 ", row %" PRId64 ", column %" PRId64 "\n",
                check->worst_head, check->worst_row, check->worst_column);
}

void sim_report_text(FILE *file, const struct sim_report *report)
{
    const struct sim_result *result = &report->result;
    fprintf(file, "%s forward: %s\n", result->algorithm->name, result->algorithm->title);
    print_problem(file, result);
    print_traffic(file, result);
    print_figures(file, result);
    print_bounds(file, result);
    if (report->executed) {
        print_check(file, report);
        fprintf(file, "Time       %.3f s on %d thread%s\n", result->seconds,
                report->provenance.threads, report->provenance.threads == 1 ? "" : "s");
    }
}

/* One row of the table: a label, and for each result a number and its ratio to the first's. */
static void print_row(FILE *file, const char *label, const struct sim_report *reports, int n,
                      uint64_t (*figure)(const struct sim_result *result))
{
    uint64_t first = figure(&reports[0].result);
    fprintf(file, "  %-18s", label);
    for (int i = 0; i < n; i++) {
        uint64_t value = figure(&reports[i].result);
        print_number(file, 19, value);
        if (first > 0)
            fprintf(file, " %8.3f", (double)value / (double)first);
        else
            fprintf(file, " %8s", "-");
    }
    fputc('\n', file);
}

static uint64_t read_elements(const struct sim_result *result)
{
    return sim_counters_read_all(&result->counters, &result->problem).elements;
}

static uint64_t write_elements(const struct sim_result *result)
{
    return sim_counters_write_all(&result->counters, &result->problem).elements;
}

static uint64_t peak_bytes(const struct sim_result *result)
{
    return result->counters.sram_peak_bytes;
}

static uint64_t extra_bytes(const struct sim_result *result)
{
    return result->footprint.extra_bytes;
}

static uint64_t matmul_flops(const struct sim_result *result)
{
    return result->counters.flops.matmul;
}

static uint64_t exp_flops(const struct sim_result *result)
{
    return result->counters.flops.exp;
}

static uint64_t visited_tiles(const struct sim_result *result)
{
    return result->counters.tiles_visited;
}

static void print_cells(FILE *file, const char *label, const struct sim_report *reports, int n,
                        void (*cell)(const struct sim_report *report, char text[SIM_NUMBER_TEXT]))
{
    fprintf(file, "  %-18s", label);
    for (int i = 0; i < n; i++) {
        char text[SIM_NUMBER_TEXT];
        cell(&reports[i], text);
        fprintf(file, "%*s", i > 0 ? 28 : 19, text);
    }
    fputc('\n', file);
}

static void name_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, "%s", report->result.algorithm->name);
}

static void tiles_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, "%" PRId64 "x%" PRId64, report->result.tiles.br,
             report->result.tiles.bc);
}

static void check_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, "%s",
             !report->checked     ? "none"
             : report->check.pass ? "passed"
                                  : "FAILED");
}

static void error_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, report->checked ? "%.3e" : "-", report->check.o.max_abs_error);
}

static void seconds_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, "%.3f", report->result.seconds);
}

void sim_report_table(FILE *file, const struct sim_report *reports, int n)
{
    fprintf(file, "%d algorithms, forward; beside each number its ratio to %s's\n", n,
            reports[0].result.algorithm->name);
    print_problem(file, &reports[0].result);
    fputc('\n', file);
    print_cells(file, "", reports, n, name_cell);
    print_cells(file, "tiles", reports, n, tiles_cell);
    print_row(file, "read, elements", reports, n, read_elements);
    print_row(file, "written, elements", reports, n, write_elements);
    print_row(file, "moved, elements", reports, n, moved_elements);
    print_row(file, "moved, bytes", reports, n, moved_bytes);
    print_row(file, "SRAM peak, bytes", reports, n, peak_bytes);
    print_row(file, "extra HBM, bytes", reports, n, extra_bytes);
    print_row(file, "FLOPs, matmul", reports, n, matmul_flops);
    print_row(file, "FLOPs, exp", reports, n, exp_flops);
    print_row(file, "FLOPs, all", reports, n, all_flops);
    print_row(file, "tiles visited", reports, n, visited_tiles);
    if (reports[0].executed) {
        print_cells(file, "check", reports, n, check_cell);
        print_cells(file, "O's largest error", reports, n, error_cell);
        print_cells(file, "seconds", reports, n, seconds_cell);
    }
    const struct sim_bounds *bounds = &reports[0].result.bounds;
    char text[SIM_NUMBER_TEXT];
    if (isfinite(bounds->compulsory) && bounds->compulsory < 0x1p63)
        fprintf(file, "  compulsory: %s elements (q, k, v and o once each)\n",
                sim_number_text((uint64_t)bounds->compulsory, text));
}
