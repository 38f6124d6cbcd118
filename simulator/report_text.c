#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "simulator/report_parts.h"

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

void sim_print_number(FILE *file, int width, uint64_t value)
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

uint64_t sim_moved_elements(const struct sim_result *result)
{
    return sim_counters_read_all(&result->counters, &result->problem).elements +
           sim_counters_write_all(&result->counters, &result->problem).elements;
}

uint64_t sim_moved_bytes(const struct sim_result *result)
{
    return sim_counters_read_all(&result->counters, &result->problem).bytes +
           sim_counters_write_all(&result->counters, &result->problem).bytes;
}

uint64_t sim_all_flops(const struct sim_result *result)
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

static void print_mask(FILE *file, const struct sim_report *report)
{
    const struct fa_problem *problem = &report->result.problem;
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
    if (report->result.has_blocks) {
        fprintf(file, "%sblocks %s, which visit %.1f %% of the tiles", before,
                report->blocks ? report->blocks : "given", 100 * report->result.blocks_share);
        before = "; ";
    }
    fputs(*before ? "" : "none", file);
}

static void print_dropout(FILE *file, const struct fa_problem *problem)
{
    fprintf(file, "\nDropout    p %.6g, ", problem->dropout_p);
    if (problem->dropout_keep)
        fputs("keep mask given", file);
    else
        fprintf(file, "seed %" PRIu64, problem->dropout_seed);
}

void sim_report_sizes(FILE *file, const struct fa_problem *p)
{
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
    fprintf(file, ", %s", fa_dtype_name(p->dtype));
}

void sim_print_problem(FILE *file, const struct sim_report *report)
{
    const struct sim_result *result = &report->result;
    const struct fa_problem *p = &result->problem;
    sim_report_sizes(file, p);
    fprintf(file, ", scale %.6g\nMask       ", p->scale);
    print_mask(file, report);
    if (p->dropout_p > 0)
        print_dropout(file, p);
    fputs("\nMachine    ", file);
    fprintf(file, "%s, SRAM ", result->machine.name);
    sim_print_number(file, 0, result->machine.sram_bytes);
    fprintf(file, " bytes%s\n",
            result->capacity_lifted ? " (for the tile rule alone: the capacity is lifted)" : "");
}

static void print_volume(FILE *file, const char *name, struct sim_volume read,
                         struct sim_volume write)
{
    fprintf(file, "  %-9s", name);
    sim_print_number(file, 19, read.elements);
    sim_print_number(file, 19, read.bytes);
    sim_print_number(file, 19, write.elements);
    sim_print_number(file, 19, write.bytes);
    fputc('\n', file);
}

static void print_traffic(FILE *file, const struct sim_result *result)
{
    const struct sim_counters *counters = &result->counters;
    const struct fa_problem *problem = &result->problem;
    fprintf(file, "\nTraffic between HBM and SRAM, all heads\n  %-9s%19s%19s%19s%19s\n", "tensor",
            "read, elements", "bytes", "written, elements", "bytes");
    int n_tensors;
    const enum fa_tensor_id *tensors = sim_report_tensors(result, &n_tensors);
    for (int n = 0; n < n_tensors; n++) {
        enum fa_tensor_id id = tensors[n];
        if (counters->read[id] > 0 || counters->write[id] > 0)
            print_volume(file, fa_tensor_name(id), sim_counters_read(counters, problem, id),
                         sim_counters_write(counters, problem, id));
    }
    print_volume(file, "total", sim_counters_read_all(counters, problem),
                 sim_counters_write_all(counters, problem));
    int64_t heads = problem->batch * problem->heads;
    if (result->heads_executed < heads)
        fprintf(file,
                "  Counted on %" PRId64 " head%s and multiplied by %" PRId64
                ": %s of one problem do not differ in what is counted.\n",
                result->heads_executed, result->heads_executed == 1 ? "" : "s, a group,",
                heads / result->heads_executed, result->heads_executed == 1 ? "heads" : "groups");
}

static void print_figures(FILE *file, const struct sim_result *result)
{
    const struct sim_counters *counters = &result->counters;
    const struct sim_footprint *footprint = &result->footprint;
    uint64_t bytes = sim_moved_bytes(result);
    fputs("\nSRAM       peak ", file);
    sim_print_number(file, 0, counters->sram_peak_bytes);
    fputs(" of ", file);
    sim_print_number(file, 0, result->machine.sram_bytes);
    fputs(" bytes (", file);
    print_share(file, counters->sram_peak_bytes, result->machine.sram_bytes);
    fputs(")\nIn HBM     inputs ", file);
    sim_print_number(file, 0, footprint->input_bytes);
    fputs(", outputs ", file);
    sim_print_number(file, 0, footprint->output_bytes);
    fputs(", extra ", file);
    sim_print_number(file, 0, footprint->extra_bytes);
    fputs(" bytes\nFLOPs      matmul ", file);
    sim_print_number(file, 0, counters->flops.matmul);
    fputs(", exp ", file);
    sim_print_number(file, 0, counters->flops.exp);
    fputs(", other ", file);
    sim_print_number(file, 0, counters->flops.other);
    if (bytes > 0)
        fprintf(file, "; %.1f a byte moved", (double)sim_all_flops(result) / (double)bytes);
    fprintf(file, "\nTiles      %" PRId64 "x%" PRId64 " (%s): ", result->tiles.br, result->tiles.bc,
            sim_policy_name(result->policy));
    sim_print_number(file, 0, counters->tiles_visited);
    fputs(" visited of ", file);
    sim_print_number(file, 0, result->tiles_total);
    fputs(", ", file);
    sim_print_number(file, 0, counters->tiles_masked);
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

double sim_sparse_bound(const struct sim_result *result)
{
    const struct fa_problem *p = &result->problem;
    return (double)p->batch * (double)p->heads * (double)p->nq * (double)p->d +
           result->bounds.theta;
}

/* The bounds are those of attention itself, the forward pass, whatever ran. */
static void print_bounds_heading(FILE *file, const struct sim_result *result, uint64_t moved)
{
    static const char *const of[] = {[SIM_FORWARD] = "moved",
                                     [SIM_BACKWARD] = "that the backward pass moved",
                                     [SIM_BOTH] = "that both passes moved"};
    fprintf(file, "\n%s beside the ",
            result->pass == SIM_FORWARD ? "Bounds" : "Bounds of the forward pass alone");
    sim_print_number(file, 0, moved);
    fprintf(file, " elements %s; M = ", of[result->pass]);
    sim_print_number(file, 0, result->machine.sram_bytes / fa_dtype_bytes(result->problem.dtype));
    fprintf(file, " elements\n  %-11s%19s%12s\n", "bound", "elements", "moved/bound");
}

static void print_bounds(FILE *file, const struct sim_result *result)
{
    uint64_t moved = sim_moved_elements(result), visited = result->counters.tiles_visited;
    bool partial = visited < result->tiles_total;
    print_bounds_heading(file, result, moved);
    print_ratio(file, "compulsory", result->bounds.compulsory, moved, "q, k, v and o once each");
    print_ratio(file, "theta", result->bounds.theta, moved,
                partial ? "s N^2 d^2/M, constant 1 (FlashAttention, Theorem 2)"
                        : "N^2 d^2/M, constant 1 (FlashAttention, Theorem 2)");
    print_ratio(file, "floor", result->bounds.floor, moved,
                "no schedule moves less (our derivation; M >= 2 d^2)");
    print_ratio(file, "standard", result->bounds.standard, moved, "Nd + N^2, constant 1");
    if (result->has_blocks)
        print_ratio(file, "sparse", sim_sparse_bound(result), moved,
                    "Nd + s N^2 d^2/M (FlashAttention, Proposition 4)");
    if (result->tiles_total > 0 && (partial || result->has_blocks))
        fprintf(file, "  s = %.4f of all tiles are visited%s\n",
                (double)visited / (double)result->tiles_total,
                result->algorithm->stores_scores ? ": what stores S skips none" : "");
}

static void print_gradient(FILE *file, const char *name, const struct fa_comparison *got,
                           double budget)
{
    fprintf(file, "  %-8s error at most %.3e (budget %.3e)", name, got->max_abs_error, budget);
    if (got->mismatches > 0)
        fprintf(file, ", NaN or infinity on one side only: %" PRId64, got->mismatches);
    fputc('\n', file);
}

/* What was left out of the comparison, and why that is no fault (check.h). */
static void print_underflowed(FILE *file, const char *of, int64_t n)
{
    if (n == 0)
        return;
    fputs("  NaN      ", file);
    sim_print_number(file, 0, (uint64_t)n);
    fprintf(file,
            " element%s of %s, not compared: an infinite V under a weight that\n"
            "           underflows to 0, and 0 times infinity is NaN; the oracle has infinity\n",
            n == 1 ? "" : "s", of);
}

/* Where a tensor is within its budget as a whole, and parts of it are not within theirs. */
static void print_part(FILE *file, const char *name, const char *rows,
                       const struct fa_comparison *got, double budget,
                       const struct sim_check_part *part)
{
    if (part->wrong == 0 || !fa_comparison_within(got, budget))
        return;
    fprintf(file,
            "  %-8s but %" PRId64 " of its parts (%d %s of a head each) is not within its own "
            "budget:\n           head %" PRId64 ", %s %" PRId64 " to %" PRId64
            ", error at most %.3e (budget %.3e)\n",
            name, part->wrong, SIM_CHECK_PART_ROWS, rows, part->head, rows, part->first,
            part->last, part->error, part->budget);
}

static void print_gradients(FILE *file, const struct sim_check_gradients *check)
{
    if (check->sampled)
        fprintf(file,
                "  Of the gradients, %" PRId64 " rows of dQ and %" PRId64
                " keys of dK and dV: a sample of each head (--check full compares all)\n",
                check->rows, check->keys);
    print_gradient(file, "dQ", &check->dq, check->dq_budget);
    print_part(file, "dQ", "rows", &check->dq, check->dq_budget, &check->dq_part);
    print_gradient(file, "dK", &check->dk, check->dk_budget);
    print_part(file, "dK", "keys", &check->dk, check->dk_budget, &check->dk_part);
    print_gradient(file, "dV", &check->dv, check->dv_budget);
    print_part(file, "dV", "keys", &check->dv, check->dv_budget, &check->dv_part);
    print_underflowed(file, "the gradients", check->underflowed);
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
            sim_report_passed(report) ? "passed" : "FAILED");
    sim_print_number(file, 0, (uint64_t)check->rows);
    if (check->sampled) {
        fputs(" of ", file);
        sim_print_number(file, 0, (uint64_t)(problem->batch * problem->heads * problem->nq));
        fputs(", a sample of each head (--check full compares all)\n", file);
    } else {
        fputs(", all there are\n", file);
    }
    fprintf(file, "  O        error at most %.3e (budget %.3e), root mean square %.3e\n",
            check->o.max_abs_error, check->o_budget, fa_comparison_rms(&check->o));
    print_part(file, "O", "rows", &check->o, check->o_budget, &check->o_part);
    fprintf(file, "  LSE      error at most %.3e (budget %.3e)\n", check->lse.max_abs_error,
            check->lse_budget);
    print_part(file, "LSE", "rows", &check->lse, check->lse_budget, &check->lse_part);
    print_underflowed(file, "O", check->underflowed);
    if (check->o.mismatches > 0 || check->lse.mismatches > 0)
        fprintf(file, "  NaN or infinity on one side only: %" PRId64 " in O, %" PRId64 " in LSE\n",
                check->o.mismatches, check->lse.mismatches);
    if (check->o.worst >= 0)
        fprintf(file, "  worst O  head %" PRId64 ", row %" PRId64 ", column %" PRId64 "\n",
                check->worst_head, check->worst_row, check->worst_column);
    if (report->result.pass != SIM_FORWARD)
        print_gradients(file, &report->gradients);
}

/* What the two models make of the run; nothing where they have nothing to say. */
static void print_estimates(FILE *file, const struct sim_report *report)
{
    const struct sim_l2 *l2 = &report->l2;
    const struct sim_time *time = &report->time;
    char read[SIM_NUMBER_TEXT], written[SIM_NUMBER_TEXT];
    if (report->has_l2)
        fprintf(file, "\nL2 model   predicts %s bytes read from DRAM and %s written\n",
                sim_number_text(l2->total.dram_read_bytes, read),
                sim_number_text(l2->total.dram_write_bytes, written));
    if (report->has_time)
        fprintf(file,
                "%sTime model estimates %.4g us on the GPU, bound by %s; %.4g us without overlap\n",
                report->has_l2 ? "" : "\n", time->estimate_us, sim_time_part_name(time->bound_by),
                time->without_overlap_us);
}

void sim_report_text(FILE *file, const struct sim_report *report)
{
    const struct sim_result *result = &report->result;
    const struct fa_algorithm *algorithm = result->algorithm;
    const char *title =
        result->pass == SIM_BACKWARD ? algorithm->backward->title : algorithm->title;
    fprintf(file, "%s %s: %s%s%s\n", algorithm->name,
            result->pass == SIM_BOTH ? "forward and backward" : sim_pass_name(result->pass), title,
            result->pass == SIM_BOTH ? ";\n    " : "",
            result->pass == SIM_BOTH ? algorithm->backward->title : "");
    sim_print_problem(file, report);
    print_traffic(file, result);
    print_figures(file, result);
    print_bounds(file, result);
    print_estimates(file, report);
    if (report->executed) {
        print_check(file, report);
        fprintf(file, "Time       %.3f s on %d thread%s\n", result->seconds,
                report->provenance.threads, report->provenance.threads == 1 ? "" : "s");
    }
}
