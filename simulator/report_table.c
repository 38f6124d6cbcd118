/* Several results side by side. */
#include <inttypes.h>
#include <math.h>

#include "simulator/report_parts.h"

/* One row of the table: a label, and for each result a number and its ratio to the first's. */
static void print_row(FILE *file, const char *label, const struct sim_report *reports, int n,
                      uint64_t (*figure)(const struct sim_result *result))
{
    uint64_t first = figure(&reports[0].result);
    int length = fprintf(file, "  %-18s", label) - 2;
    for (int i = 0; i < n; i++) {
        uint64_t value = figure(&reports[i].result);
        sim_print_number(file, i > 0 || length < 18 ? 19 : 37 - length, value);
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

static uint64_t kept_bytes(const struct sim_result *result)
{
    return result->footprint.kept_bytes;
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
             !report->checked            ? "none"
             : sim_report_passed(report) ? "passed"
                                         : "FAILED");
}

static void put_error(const struct sim_report *report, const struct fa_comparison *got,
                      char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, report->checked ? "%.3e" : "-", got->max_abs_error);
}

static void error_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    put_error(report, &report->check.o, text);
}

static void dq_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    put_error(report, &report->gradients.dq, text);
}

static void dk_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    put_error(report, &report->gradients.dk, text);
}

static void dv_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    put_error(report, &report->gradients.dv, text);
}

static void print_gradient_errors(FILE *file, const struct sim_report *reports, int n)
{
    print_cells(file, "dQ's largest error", reports, n, dq_cell);
    print_cells(file, "dK's largest error", reports, n, dk_cell);
    print_cells(file, "dV's largest error", reports, n, dv_cell);
}

static void seconds_cell(const struct sim_report *report, char text[SIM_NUMBER_TEXT])
{
    snprintf(text, SIM_NUMBER_TEXT, "%.3f", report->result.seconds);
}

static const struct sim_result *find_result(const struct sim_report *reports, int n,
                                            const struct fa_algorithm *algorithm)
{
    for (int i = 0; i < n; i++)
        if (reports[i].result.algorithm == algorithm)
            return &reports[i].result;
    return NULL;
}

static double ratio(uint64_t part, uint64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

/* What one result takes of another, which stores P. */
static void print_trade(FILE *file, const struct sim_result *result, const struct sim_result *other)
{
    fprintf(file,
            "  %s takes %.3f times the matmul FLOPs of %s, moves %.3f times the bytes, and "
            "keeps %.3g times as much\n",
            result->algorithm->name, ratio(matmul_flops(result), matmul_flops(other)),
            other->algorithm->name, ratio(sim_moved_bytes(result), sim_moved_bytes(other)),
            ratio(kept_bytes(result), kept_bytes(other)));
}

/*
 * What recomputing S and P in the backward pass costs in FLOPs, and what it saves in traffic and in
 * what is kept for that pass. fused-save-p beside standard shows that fusion alone only defers the
 * writing of N^2 elements.
 */
static void print_recomputation(FILE *file, const struct sim_report *reports, int n)
{
    static const struct fa_algorithm *const flash[] = {&fa_flash1, &fa_flash2};
    static const struct fa_algorithm *const storing[] = {&fa_standard, &fa_fused_save_p};
    const struct sim_result *standard = find_result(reports, n, &fa_standard);
    const struct sim_result *fused = find_result(reports, n, &fa_fused_save_p);
    if (!standard && !fused)
        return;
    fputs("\nRecomputing S and P in the backward pass, in place of keeping P\n", file);
    for (int a = 0; a < 2; a++) {
        const struct sim_result *result = find_result(reports, n, flash[a]);
        for (int b = 0; b < 2 && result; b++) {
            const struct sim_result *other = find_result(reports, n, storing[b]);
            if (other)
                print_trade(file, result, other);
        }
    }
    if (standard && fused) {
        print_trade(file, fused, standard);
        fputs("    Fusion alone defers the N^2 write: P is stored for the backward pass all the "
              "same.\n",
              file);
    }
}

/* Proposition 4 beside the counts, where tiles are skipped. */
static void print_sparse(FILE *file, const struct sim_report *reports, int n)
{
    for (int i = 0; i < n; i++) {
        const struct sim_result *result = &reports[i].result;
        double bound = sim_sparse_bound(result);
        if (!result->has_blocks || !(bound > 0) || result->tiles_total == 0)
            continue;
        fprintf(file,
                "  %s: s = %.4f of its tiles visited; Nd + s N^2 d^2/M is %.6g elements, it "
                "moves %.3f times that\n",
                result->algorithm->name, ratio(result->counters.tiles_visited, result->tiles_total),
                bound, (double)sim_moved_elements(result) / bound);
    }
}

void sim_report_table(FILE *file, const struct sim_report *reports, int n)
{
    enum sim_pass pass = reports[0].result.pass;
    bool backward = pass != SIM_FORWARD;
    fprintf(file, "%d algorithms, %s; beside each number its ratio to %s's\n", n,
            pass == SIM_BOTH ? "forward and backward" : sim_pass_name(pass),
            reports[0].result.algorithm->name);
    sim_print_problem(file, &reports[0]);
    fputc('\n', file);
    print_cells(file, "", reports, n, name_cell);
    print_cells(file, "tiles", reports, n, tiles_cell);
    print_row(file, "read, elements", reports, n, read_elements);
    print_row(file, "written, elements", reports, n, write_elements);
    print_row(file, "moved, elements", reports, n, sim_moved_elements);
    print_row(file, "moved, bytes", reports, n, sim_moved_bytes);
    print_row(file, "SRAM peak, bytes", reports, n, peak_bytes);
    print_row(file, "extra HBM, bytes", reports, n, extra_bytes);
    if (backward)
        print_row(file, "kept for backward, bytes", reports, n, kept_bytes);
    print_row(file, "FLOPs, matmul", reports, n, matmul_flops);
    print_row(file, "FLOPs, exp", reports, n, exp_flops);
    print_row(file, "FLOPs, all", reports, n, sim_all_flops);
    print_row(file, "tiles visited", reports, n, visited_tiles);
    if (reports[0].executed) {
        print_cells(file, "check", reports, n, check_cell);
        print_cells(file, "O's largest error", reports, n, error_cell);
        if (backward)
            print_gradient_errors(file, reports, n);
        print_cells(file, "seconds", reports, n, seconds_cell);
    }
    const struct sim_bounds *bounds = &reports[0].result.bounds;
    char text[SIM_NUMBER_TEXT];
    if (isfinite(bounds->compulsory) && bounds->compulsory < 0x1p63)
        fprintf(file, "  compulsory: %s elements (q, k, v and o once each)\n",
                sim_number_text((uint64_t)bounds->compulsory, text));
    const struct fa_problem *problem = &reports[0].result.problem;
    if (reports[0].result.heads_executed < problem->batch * problem->heads)
        fputs("  counted on one head, or one group, of each algorithm and multiplied: heads do not "
              "differ\n",
              file);
    print_sparse(file, reports, n);
    if (backward)
        print_recomputation(file, reports, n);
}
