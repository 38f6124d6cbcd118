#include "visualizer/panel_traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void subtract(struct sim_counters *from, const struct sim_counters *part)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        from->read[id] -= part->read[id];
        from->write[id] -= part->write[id];
    }
    from->flops.matmul -= part->flops.matmul;
    from->flops.exp -= part->flops.exp;
    from->flops.other -= part->flops.other;
    from->tiles_visited -= part->tiles_visited;
    from->tiles_masked -= part->tiles_masked;
    from->tiles_skipped -= part->tiles_skipped;
}

/* Heads whose events lie among each other: those of a K/V head where a phase works by groups. */
static int64_t group_of(const struct view_run *run)
{
    const struct sim_trace_header *header = view_run_header(run);
    if (!header->algorithm->by_group || header->problem.kv_heads < 1)
        return 1;
    return header->problem.heads / header->problem.kv_heads;
}

/* The first event of a group of heads, which run one after the other. */
static uint64_t group_begin(const struct view_run *run, int64_t group, int64_t size)
{
    uint64_t low = 0, high = view_run_units(run);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (view_run_unit(run, middle).head / size < group)
            low = middle + 1;
        else
            high = middle;
    }
    return low < view_run_units(run) ? view_run_unit(run, low).first : view_run_length(run);
}

static void take_tally(const struct view_scene *scene, int which, struct view_tally *tally)
{
    const struct view_moment *moment = &scene->moment[which];
    const struct view_run *run = moment->run;
    struct sim_state state;
    int64_t size = group_of(run), group = moment->head / size;
    uint64_t length = view_run_length(run);

    *tally = (struct view_tally){.now = moment->state.counters,
                                 .problem = &view_run_header(run)->problem,
                                 .heads = view_run_heads(run)};
    if (scene->frame->all_heads || tally->heads <= size) {
        view_run_state(run, length, &state);
        tally->end = state.counters;
        return;
    }
    uint64_t first = group_begin(run, group, size), end = group_begin(run, group + 1, size);
    view_run_state(run, end, &state);
    tally->end = state.counters;
    view_run_state(run, first, &state);
    subtract(&tally->end, &state.counters);
    if (moment->at.landed > first)
        subtract(&tally->now, &state.counters);
    else
        memset(&tally->now, 0, offsetof(struct sim_counters, sram_peak_bytes));
    tally->head = group * size;
    tally->heads = size;
}

static uint64_t unit_of(const struct view_flow *flow, struct sim_volume volume)
{
    return flow->scene->frame->bytes ? volume.bytes : volume.elements;
}

static const char *unit_name(const struct view_flow *flow)
{
    return flow->scene->frame->bytes ? "bytes" : "elements";
}

uint64_t view_moved(const struct view_flow *flow, const struct sim_counters *counters,
                    const struct fa_problem *problem, enum fa_tensor_id id, bool write)
{
    return unit_of(flow, write ? sim_counters_write(counters, problem, id)
                               : sim_counters_read(counters, problem, id));
}

uint64_t view_moved_all(const struct view_flow *flow, const struct sim_counters *counters,
                        const struct fa_problem *problem, bool read, bool write)
{
    uint64_t sum = 0;
    if (read)
        sum += unit_of(flow, sim_counters_read_all(counters, problem));
    if (write)
        sum += unit_of(flow, sim_counters_write_all(counters, problem));
    return sum;
}

const enum fa_tensor_id view_bars_order[VIEW_BARS_ORDER] = {
    FA_Q,    FA_K,    FA_V,       FA_S,  FA_P,     FA_PD, FA_O,  FA_M,  FA_L,  FA_LSE,
    FA_MASK, FA_BIAS, FA_DROPOUT, FA_DO, FA_DELTA, FA_DP, FA_DS, FA_DQ, FA_DK, FA_DV};
enum { EXACT_MOST = 9999999 }; /* what is above is abbreviated by view_count_text */

/* ---- bars -------------------------------------------------------------------------------- */

struct view_type view_bars_label(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, flow->draw->theme->text2);
}

struct view_type view_bars_number(const struct view_flow *flow)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_CONTROL, flow->draw->theme->text);
}

struct view_bars view_bars_make(const struct view_flow *flow, const char *word)
{
    return (struct view_bars){
        .word = ceilf(view_text_width(flow->draw, view_bars_label(flow), word)) + 8};
}

void view_bars_meet(const struct view_flow *flow, struct view_bars *table, const char *name,
                    uint64_t count)
{
    struct view_type bold = view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, flow->draw->theme->text);
    char text[VIEW_COUNT_TEXT];
    if (count == 0)
        return;
    view_count_text(count, text);
    table->number = fmaxf(table->number, view_text_width(flow->draw, view_bars_number(flow), text));
    if (count > EXACT_MOST) {
        view_count_text((uint64_t)EXACT_MOST, text);
        table->number =
            fmaxf(table->number, view_text_width(flow->draw, view_bars_number(flow), text));
    }
    table->letter = fmaxf(table->letter, ceilf(view_text_width(flow->draw, bold, name)) + 8);
    if (count > table->most)
        table->most = count;
}

/* An abbreviated number says itself exactly where the pointer is on it. */
static void explain(struct view_flow *flow, struct view_box row, const char *what, uint64_t count)
{
    char exact[VIEW_COUNT_TEXT], label[96];
    if (count <= EXACT_MOST)
        return;
    snprintf(label, sizeof label, "%s: %s %s", what, view_count_exact(count, exact),
             unit_name(flow));
    view_hit(flow->draw, row, VIEW_NOTHING, 0, false, label);
}

void view_bars_row(struct view_flow *flow, const struct view_bars *table, enum fa_tensor_id id,
                   const char *name, const char *word, uint64_t now, uint64_t end)
{
    struct view_draw *draw = flow->draw;
    struct view_look look = view_tensor_look(draw->theme, id);
    char text[VIEW_COUNT_TEXT], what[48];
    struct view_box row;

    if (!view_flow_row(flow, 20, &row))
        return;
    snprintf(what, sizeof what, "%s %s", look.letter, word);
    explain(flow, row, what, now);
    struct view_box letter = view_cut_left(&row, table->letter);
    struct view_box words = view_cut_left(&row, table->word);
    struct view_box number = view_cut_right(&row, ceilf(table->number) + 8);
    if (name)
        view_text_in(draw, letter, VIEW_LEFT, view_type_make(VIEW_BOLD, VIEW_SIZE_BODY, look.line),
                     "%s", name);
    view_text_in(draw, words, VIEW_LEFT, view_bars_label(flow), "%s", word);
    view_text_in(draw, number, VIEW_RIGHT, view_bars_number(flow), "%s",
                 view_count_text(now, text));
    if (row.w < 8 || table->most == 0)
        return;
    double scale = (double)row.w / (double)table->most;
    struct view_box bar = {row.x, row.y + 3, fmaxf(floorf((float)((double)end * scale)), 1), 14};
    if (end > now && bar.w > 2)
        view_frame_dashed(draw, bar, 1, 2, 3, look.line);
    bar.w = fmaxf(floorf((float)((double)now * scale)), 1);
    if (now > 0)
        view_tensor_bar(draw, bar, id, NULL);
}

/* Each tensor and direction that the run moves anything of by its end. */
static void bars_of_one(struct view_flow *flow, const struct view_tally *tally)
{
    struct view_bars table = view_bars_make(flow, "write");
    for (int n = 0; n < VIEW_BARS_ORDER; n++)
        for (int write = 0; write < 2; write++)
            view_bars_meet(
                flow, &table, view_tensor_look(flow->draw->theme, view_bars_order[n]).letter,
                view_moved(flow, &tally->end, tally->problem, view_bars_order[n], write));
    for (int n = 0; n < VIEW_BARS_ORDER; n++) {
        const char *letter = view_tensor_look(flow->draw->theme, view_bars_order[n]).letter;
        bool first = true;
        for (int write = 0; write < 2; write++) {
            uint64_t end = view_moved(flow, &tally->end, tally->problem, view_bars_order[n], write);
            if (end == 0)
                continue;
            view_bars_row(
                flow, &table, view_bars_order[n], first ? letter : NULL, write ? "write" : "read",
                view_moved(flow, &tally->now, tally->problem, view_bars_order[n], write), end);
            first = false;
        }
        if (!first)
            view_flow_gap(flow, 4);
    }
}

/* ---- totals ------------------------------------------------------------------------------ */

static void total(struct view_flow *flow, const char *words, bool bold, uint64_t now, uint64_t end)
{
    char first[VIEW_COUNT_TEXT], second[VIEW_COUNT_TEXT], text[96], exact[128];
    struct view_type type = view_bars_number(flow);
    if (bold)
        type.style = VIEW_BOLD;
    snprintf(text, sizeof text, "%s of %s", view_count_text(now, first),
             view_count_text(end, second));
    snprintf(exact, sizeof exact, "%s: %s of %s", words, view_count_exact(now, first),
             view_count_exact(end, second));
    view_flow_pair(flow, words, type, text, end > EXACT_MOST ? exact : NULL);
}

static void totals(struct view_flow *flow, const struct view_tally *tally)
{
    const struct view_moment *moment = &flow->scene->moment[0];
    const struct fa_problem *problem = tally->problem;
    const struct sim_counters *now = &tally->now, *end = &tally->end;
    uint64_t capacity = view_run_header(moment->run)->sram_bytes;
    char peak[VIEW_COUNT_TEXT], all[VIEW_COUNT_TEXT], text[96];

    total(flow, "Read", false, view_moved_all(flow, now, problem, true, false),
          view_moved_all(flow, end, problem, true, false));
    total(flow, "Written", false, view_moved_all(flow, now, problem, false, true),
          view_moved_all(flow, end, problem, false, true));
    total(flow, "All", true, view_moved_all(flow, now, problem, true, true),
          view_moved_all(flow, end, problem, true, true));
    view_flow_rule(flow);
    struct view_measure unit = view_measure_of(moment->run, flow->scene->frame->bytes);
    view_count_text(view_in_units(unit, moment->state.counters.sram_peak_bytes), peak);
    if (capacity > 0)
        snprintf(text, sizeof text, "%s of %s %s", peak,
                 view_count_text(view_in_units(unit, capacity), all), unit.name);
    else
        snprintf(text, sizeof text, "%s %s", peak, unit.name);
    view_flow_pair(flow, "SRAM, at its peak", view_bars_number(flow), text, NULL);
    view_flow_rule(flow);
    total(flow, "FLOPs, matmul", false, now->flops.matmul, end->flops.matmul);
    total(flow, "FLOPs, exp", false, now->flops.exp, end->flops.exp);
    total(flow, "FLOPs, other", false, now->flops.other, end->flops.other);
    view_flow_rule(flow);
    total(flow, "Tiles visited", false, now->tiles_visited, end->tiles_visited);
    if (end->tiles_masked > 0)
        total(flow, "Tiles cut by the mask", false, now->tiles_masked, end->tiles_masked);
    if (end->tiles_skipped > 0)
        total(flow, "Tiles skipped", false, now->tiles_skipped, end->tiles_skipped);
}

/* ---- the panel --------------------------------------------------------------------------- */

static void heading(struct view_flow *flow, const struct view_tally tally[2])
{
    int runs = flow->scene->runs;
    char text[160], now[2][VIEW_COUNT_TEXT], end[2][VIEW_COUNT_TEXT];
    struct view_type type = view_bars_label(flow);

    snprintf(text, sizeof text, "Moved so far, in %s", unit_name(flow));
    view_flow_heading(flow, text);
    for (int which = 0; which < runs; which++) {
        view_count_text(tally[which].now.tiles_visited, now[which]);
        view_count_text(tally[which].end.tiles_visited, end[which]);
    }
    type.size = VIEW_SIZE_CONTROL;
    if (runs == 1)
        snprintf(text, sizeof text, "%s of %s tile%s visited. Outlines: the whole run.",
                 now[0], end[0], tally[0].end.tiles_visited == 1 ? "" : "s");
    else if (strcmp(now[0], now[1]) == 0 && strcmp(end[0], end[1]) == 0)
        snprintf(text, sizeof text, "Both have visited %s of %s tile%s.", now[0], end[0],
                 tally[0].end.tiles_visited == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "Tiles visited: A %s of %s, B %s of %s.", now[0], end[0],
                 now[1], end[1]);
    view_flow_text(flow, type, text);
    int64_t heads = view_run_heads(flow->scene->moment[0].run);
    if (heads > 1) {
        if (tally->heads >= heads)
            snprintf(text, sizeof text, "All %lld heads.", (long long)heads);
        else if (tally->heads == 1)
            snprintf(text, sizeof text, "Head %lld of 0 to %lld.", (long long)tally->head,
                     (long long)heads - 1);
        else
            snprintf(text, sizeof text, "Heads %lld to %lld, which share K and V.",
                     (long long)tally->head, (long long)(tally->head + tally->heads - 1));
        view_flow_text(flow, type, text);
    }
    view_flow_gap(flow, 8);
}

static void body(struct view_flow *flow)
{
    const struct view_scene *scene = flow->scene;
    struct view_tally tally[2];
    struct view_flow right;

    if (scene->frame->covered) {
        view_flow_heading(flow, "Moved so far");
        view_flow_cover(flow);
        return;
    }
    for (int which = 0; which < scene->runs; which++)
        take_tally(scene, which, &tally[which]);
    bool two = view_flow_split(flow, &right);
    struct view_flow *rest = two ? &right : flow;
    heading(flow, tally);
    if (!two)
        view_flow_units(flow);
    view_flow_gap(flow, two ? 0 : 4);
    if (scene->runs == 2)
        view_compare_bars(flow, tally);
    else
        bars_of_one(flow, &tally[0]);
    if (two)
        view_flow_units(rest);
    else
        view_flow_rule(flow);
    if (scene->runs == 2)
        view_compare_totals(rest, tally);
    else
        totals(rest, &tally[0]);
    flow->y = fmaxf(flow->y, rest->y);
}

void view_panel_traffic(struct view_draw *draw, const struct view_scene *scene, struct view_box box)
{
    view_panel_flow(draw, scene, box, body);
}
