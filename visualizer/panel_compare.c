#include "visualizer/panel_traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Compare has two bars a row: the small statistics share one. */
static bool is_statistic(enum fa_tensor_id id)
{
    return id == FA_M || id == FA_L || id == FA_LSE || id == FA_DELTA;
}

/* A row of the comparison: by run, what has view_moved and will have. */
struct pair {
    enum fa_tensor_id id;
    char name[32];
    uint64_t now[2], end[2];
};

static void add_to_pair(const struct view_flow *flow, const struct view_tally tally[2],
                        enum fa_tensor_id id, struct pair *pair)
{
    const char *letter = view_tensor_look(flow->draw->theme, id).letter;
    size_t n = strlen(pair->name);
    pair->id = id;
    snprintf(pair->name + n, sizeof pair->name - n, "%s%s", n ? " " : "", letter);
    for (int which = 0; which < 2; which++)
        for (int write = 0; write < 2; write++) {
            const struct view_tally *t = &tally[which];
            pair->now[which] += view_moved(flow, &t->now, t->problem, id, write);
            pair->end[which] += view_moved(flow, &t->end, t->problem, id, write);
        }
}

void view_compare_bars(struct view_flow *flow, const struct view_tally tally[2])
{
    struct pair pairs[VIEW_BARS_ORDER] = {0};
    struct view_bars table = view_bars_make(flow, "A");
    int n = 0;
    bool statistics = false; /* they stand next to each other, and have a row already */

    for (int at = 0; at < VIEW_BARS_ORDER; at++) {
        bool moves = false;
        for (int which = 0; which < 2; which++)
            for (int write = 0; write < 2; write++)
                moves = moves || view_moved(flow, &tally[which].end, tally[which].problem,
                                            view_bars_order[at], write);
        if (!moves)
            continue;
        bool joins = statistics && is_statistic(view_bars_order[at]);
        statistics = is_statistic(view_bars_order[at]);
        n += !joins;
        add_to_pair(flow, tally, view_bars_order[at], &pairs[n - 1]);
    }
    for (int p = 0; p < n; p++) {
        view_bars_meet(flow, &table, pairs[p].name, pairs[p].end[0]);
        view_bars_meet(flow, &table, pairs[p].name, pairs[p].end[1]);
    }
    for (int p = 0; p < n; p++) {
        for (int which = 0; which < 2; which++)
            view_bars_row(flow, &table, pairs[p].id, which ? NULL : pairs[p].name,
                          which ? "B" : "A", pairs[p].now[which], pairs[p].end[which]);
        view_flow_gap(flow, 4);
    }
}

/* ---- compare ----------------------------------------------------------------------------- */

static void ratio(struct view_flow *flow, uint64_t a, uint64_t b)
{
    const struct view_theme *theme = flow->draw->theme;
    struct view_type big = view_type_make(VIEW_BOLD, VIEW_SIZE_BIG, theme->text);
    struct view_type words = view_type_make(VIEW_SANS, VIEW_SIZE_BODY, theme->text2);
    struct view_box row;
    char number[VIEW_NUMBER_TEXT], text[VIEW_NUMBER_TEXT + 8];

    if (a == 0 || b == 0) {
        view_flow_text(flow, words,
                       a == b ? "Nothing has view_moved yet."
                              : "One of them has view_moved nothing yet.");
        return;
    }
    view_number_short(a > b ? (double)a / (double)b : (double)b / (double)a, number);
    snprintf(text, sizeof text, "%s ×", number);
    if (!view_flow_row(flow, 40, &row))
        return;
    float width = view_text_width(flow->draw, big, text);
    if (!view_text_in(flow->draw, row, VIEW_LEFT, big, "%s", text))
        return;
    view_cut_left(&row, width + 12);
    row.y += 4;
    view_text_in(flow->draw, row, VIEW_LEFT, words, "%s",
                 a == b  ? "the same in both"
                 : a > b ? "as much in A"
                         : "as much in B");
}

static void clocks(struct view_flow *flow)
{
    static const char *const why[VIEW_CLOCKS] = {
        [VIEW_SAME_WORK] = "Same work: both have done equally many FLOPs of matmuls.",
        [VIEW_SAME_TILE] = "Same tile: both have visited equally many tiles.",
        [VIEW_SAME_TRAFFIC] = "Same traffic makes it a race: both move the same bytes a second.",
    };
    enum view_clock_kind clock = flow->scene->frame->clock;
    const struct view_choice choices[] = {
        {"same work", "Keep together by the same work", VIEW_COMPARE_CLOCK, VIEW_SAME_WORK,
         clock == VIEW_SAME_WORK, false},
        {"same tile", "Keep together by the same tile", VIEW_COMPARE_CLOCK, VIEW_SAME_TILE,
         clock == VIEW_SAME_TILE, false},
        {"same traffic", "Keep together by the same traffic", VIEW_COMPARE_CLOCK, VIEW_SAME_TRAFFIC,
         clock == VIEW_SAME_TRAFFIC, false},
    };
    struct view_type type = view_bars_label(flow);
    type.size = VIEW_SIZE_CONTROL;
    view_flow_text(flow, type, "Keep together by");
    view_flow_gap(flow, 6);
    view_flow_choices(flow, choices, 3);
    view_flow_text(flow, type, why[clock]);
}

void view_compare_totals(struct view_flow *flow, const struct view_tally tally[2])
{
    uint64_t all[2];
    char text[2][VIEW_COUNT_TEXT], line[96];
    struct view_type bold = view_bars_number(flow);
    bold.style = VIEW_BOLD;
    for (int which = 0; which < 2; which++) {
        all[which] = view_moved_all(flow, &tally[which].now, tally[which].problem, true, true);
        view_count_text(all[which], text[which]);
    }
    snprintf(line, sizeof line, "A %s    B %s", text[0], text[1]);
    view_flow_pair(flow, "All", bold, line, NULL);
    ratio(flow, all[0], all[1]);
    view_flow_gap(flow, 12);
    clocks(flow);
}
