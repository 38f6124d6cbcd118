/* A saved trace in words. */
#include <inttypes.h>
#include <string.h>

#include "reference/block_pattern.h"
#include "simulator/cli/trace_views.h"
#include "simulator/report.h"

void cli_trace_summarise(const struct sim_trace *trace, struct cli_trace_summary *summary)
{
    uint64_t n = sim_trace_length(trace);
    memset(summary, 0, sizeof *summary);
    summary->trace = trace;
    for (uint64_t i = 0; i < n; i++)
        summary->by_kind[sim_trace_event(trace, i)->kind]++;
    sim_trace_seek(trace, n, &summary->end);
}

static void print_number(FILE *file, int width, uint64_t value)
{
    char text[SIM_NUMBER_TEXT];
    fprintf(file, "%*s", width, sim_number_text(value, text));
}

/* A row an HBM tensor that moved, then the sums. */
static void print_traffic(FILE *file, const struct sim_counters *counters,
                          const struct fa_problem *problem)
{
    struct sim_volume read = sim_counters_read_all(counters, problem);
    struct sim_volume write = sim_counters_write_all(counters, problem);
    fprintf(file, "  %-8s %16s %16s %16s %16s\n", "HBM", "elements read", "bytes read",
            "elements written", "bytes written");
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        struct sim_volume in = sim_counters_read(counters, problem, (enum fa_tensor_id)id);
        struct sim_volume out = sim_counters_write(counters, problem, (enum fa_tensor_id)id);
        if (in.elements == 0 && out.elements == 0)
            continue;
        fprintf(file, "  %-8s ", fa_tensor_name((enum fa_tensor_id)id));
        print_number(file, 16, in.elements);
        print_number(file, 17, in.bytes);
        print_number(file, 17, out.elements);
        print_number(file, 17, out.bytes);
        putc('\n', file);
    }
    fprintf(file, "  %-8s ", "all");
    print_number(file, 16, read.elements);
    print_number(file, 17, read.bytes);
    print_number(file, 17, write.elements);
    print_number(file, 17, write.bytes);
    putc('\n', file);
}

static void print_work(FILE *file, const struct sim_counters *counters)
{
    fputs("  FLOP     ", file);
    print_number(file, 0, counters->flops.matmul);
    fputs(" matmul, ", file);
    print_number(file, 0, counters->flops.exp);
    fputs(" exp, ", file);
    print_number(file, 0, counters->flops.other);
    fputs(" other\n  Tiles    ", file);
    print_number(file, 0, counters->tiles_visited);
    fputs(" visited, ", file);
    print_number(file, 0, counters->tiles_masked);
    fputs(" of them cut by the mask, ", file);
    print_number(file, 0, counters->tiles_skipped);
    fputs(" skipped\n", file);
}

/* What is left out beside what causal and window hide: dropped weights, tiles not visited. */
static void print_left_out(FILE *file, const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    if (p->dropout_p > 0 && header->has_keep)
        fprintf(file, "  Dropout  p %.17g; the keep mask was given\n", p->dropout_p);
    else if (p->dropout_p > 0)
        fprintf(file, "  Dropout  p %.17g, seed %" PRIu64 "\n", p->dropout_p, p->dropout_seed);
    if (p->blocks)
        fprintf(file,
                "  Blocks   %" PRId64 " x %" PRId64 " of %" PRId64 " x %" PRId64
                ", %.3g %% of them visited\n",
                p->blocks->rows, p->blocks->columns, p->blocks->br, p->blocks->bc,
                100 * fa_block_mask_share(p->blocks));
}

static void print_header(FILE *file, const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    char title[SIM_PASS_TITLE];
    fprintf(file,
            "%s: batch %" PRId64 ", heads %" PRId64 ", K/V heads %" PRId64 ", Nq %" PRId64
            ", Nk %" PRId64 ", d %" PRId64 ", dv %" PRId64 ", %s\n",
            sim_trace_pass_title(header, title), p->batch, p->heads, p->kv_heads, p->nq, p->nk,
            p->d, p->dv, fa_dtype_name(p->dtype));
    fprintf(file, "  Scale    %.17g; causal: %s", p->scale, fa_causal_name(p->causal));
    if (p->window_left >= 0 || p->window_right >= 0)
        fprintf(file, "; window %" PRId64 ",%" PRId64, p->window_left, p->window_right);
    fprintf(file, "%s%s\n", header->has_mask ? "; element mask" : "",
            header->has_bias ? "; bias" : "");
    print_left_out(file, header);
    fprintf(file, "  Tiles    %" PRId64 " x %" PRId64 "\n", header->tiles.br, header->tiles.bc);
    if (header->sram_bytes > 0)
        fprintf(file, "  Machine  %s, SRAM %" PRIu64 " bytes\n", header->machine,
                header->sram_bytes);
    else
        fprintf(file, "  Machine  %s, capacity lifted\n", header->machine);
    if (*header->profile)
        fprintf(file, "  Inputs   %s, seed %" PRIu64 "\n", header->profile, header->seed);
    fprintf(file, "  Made by  flashlab %s: %s\n", header->version, header->command);
}

void cli_trace_print_summary(FILE *file, const struct cli_trace_summary *summary)
{
    const struct sim_trace_header *header = sim_trace_get_header(summary->trace);
    uint64_t n = sim_trace_length(summary->trace);

    print_header(file, header);
    fputs("\n  Events   ", file);
    print_number(file, 0, n);
    for (int kind = 0; kind < SIM_EVENT_KINDS; kind++) {
        if (summary->by_kind[kind] == 0)
            continue;
        fputs(kind == 4 ? ",\n           " : "; ", file);
        print_number(file, 0, summary->by_kind[kind]);
        fprintf(file, " %s", sim_event_kind_name((enum sim_event_kind)kind));
    }
    fputs("\n\n", file);
    print_traffic(file, &summary->end.counters, &header->problem);
    fputs("\n  SRAM     ", file);
    print_number(file, 0, summary->end.counters.sram_peak_bytes);
    fputs(" bytes at most\n", file);
    print_work(file, &summary->end.counters);
    if (summary->by_kind[SIM_REFUSE] > 0) {
        fputs("\nThe run ended in a refusal:\n", file);
        cli_trace_print_event(file, summary->trace, n - 1);
    }
}

static void print_tile_index(FILE *file, const char *name, uint64_t index)
{
    if (index == SIM_NO_TILE)
        fprintf(file, " %s %-4s", name, "-");
    else
        fprintf(file, " %s %-4" PRIu64, name, index);
}

void cli_trace_print_event(FILE *file, const struct sim_trace *trace, uint64_t index)
{
    const struct sim_event *event = sim_trace_event(trace, index);
    const struct fa_algorithm *algorithm = sim_trace_get_header(trace)->algorithm;
    const struct fa_step *step = &algorithm->steps[event->step];
    char tile[64] = "", what[96] = "";

    if (event->kind != SIM_SKIP)
        snprintf(tile, sizeof tile, "%u x %u", (unsigned)event->rows, (unsigned)event->columns);
    if (event->kind == SIM_LOAD || event->kind == SIM_STORE)
        snprintf(what, sizeof what, "%s row %u, column %u", event->kind == SIM_LOAD ? "from" : "to",
                 (unsigned)event->row, (unsigned)event->column);
    else if (event->kind == SIM_COMPUTE)
        snprintf(what, sizeof what, "%s%s%s", fa_op_name((enum fa_op)event->op),
                 event->flags & SIM_VISITS ? ", visits the tile" : "",
                 event->flags & SIM_CUT ? ", cut by the mask" : "");
    else if (event->kind != SIM_SKIP)
        snprintf(what, sizeof what, "at byte %" PRIu64, (uint64_t)event->place);
    fprintf(file, "%8" PRIu64 "  head %-3" PRIu64, index, (uint64_t)event->head);
    print_tile_index(file, "i", event->i);
    print_tile_index(file, "j", event->j);
    fprintf(file, " %-8s%-8s%-12s %-30s %s (%s:%u)\n",
            sim_event_kind_name((enum sim_event_kind)event->kind),
            event->kind == SIM_SKIP ? "" : fa_tensor_name((enum fa_tensor_id)event->tensor), tile,
            what, step->line, algorithm->file, (unsigned)event->line);
}

static void print_resident(FILE *file, enum fa_tensor_id id, const struct sim_resident *tile)
{
    fprintf(file, "  %8" PRIu64 " %8" PRIu64 "  %-7s %6u x %-6u", tile->place, tile->bytes,
            fa_tensor_name(id), tile->rows, tile->columns);
    if (tile->held_rows == 0 || tile->held_columns == 0) {
        fputs(" nothing yet\n", file);
        return;
    }
    fprintf(file, " %u x %u of %s", tile->held_rows, tile->held_columns,
            fa_tensor_name((enum fa_tensor_id)tile->holds));
    if (tile->loaded)
        fprintf(file, ", head %u, row %u, column %u%s", tile->head, tile->row, tile->column,
                tile->changed ? ", changed since" : "");
    else
        fputs(", made on chip", file);
    putc('\n', file);
}

int cli_trace_residents(const struct sim_state *state, enum fa_tensor_id ids[FA_TENSORS])
{
    int n = 0;
    for (int id = 0; id < FA_TENSORS; id++) {
        int at = n;
        if (!state->on_chip[id].live)
            continue;
        for (; at > 0 && state->on_chip[ids[at - 1]].place > state->on_chip[id].place; at--)
            ids[at] = ids[at - 1];
        ids[at] = (enum fa_tensor_id)id;
        n++;
    }
    return n;
}

void cli_trace_print_state(FILE *file, const struct sim_trace *trace, uint64_t position)
{
    const struct sim_trace_header *header = sim_trace_get_header(trace);
    uint64_t n = sim_trace_length(trace);
    struct sim_state state;

    sim_trace_seek(trace, position, &state);
    fprintf(file, "After %" PRIu64 " of %" PRIu64 " events\n", position, n);
    if (position > 0)
        fputs("  last ", file), cli_trace_print_event(file, trace, position - 1);
    if (position < n)
        fputs("  next ", file), cli_trace_print_event(file, trace, position);
    fputs("\nMoved so far\n", file);
    print_traffic(file, &state.counters, &header->problem);
    print_work(file, &state.counters);
    fputs("\nOn chip: ", file);
    print_number(file, 0, state.sram_bytes);
    fputs(" bytes now, ", file);
    print_number(file, 0, state.counters.sram_peak_bytes);
    fputs(" at most so far\n", file);
    if (state.sram_bytes > 0)
        fprintf(file, "  %8s %8s  %-7s %-15s %s\n", "at byte", "bytes", "tile", "room for",
                "holds");
    enum fa_tensor_id ids[FA_TENSORS];
    int n_live = cli_trace_residents(&state, ids);
    for (int i = 0; i < n_live; i++)
        print_resident(file, ids[i], &state.on_chip[ids[i]]);
}
