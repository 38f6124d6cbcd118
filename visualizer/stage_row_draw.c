#include "visualizer/stage_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/stage_parts.h"

enum key_state { NOT_YET, SEEN, SEEN_NOW, HIDDEN };

enum { FRAMED = 7 }; /* so wide are the bars that have a frame and a gap */

/* Bars over the keys: one each, or of `each` keys the one with the largest score. */
struct bars {
    float x, width; /* of one bar's place */
    int64_t n, each;
};

static struct view_type small_type(const struct view_draw *draw)
{
    return view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
}

static struct view_type cell_type(const struct view_draw *draw, struct view_color color)
{
    (void)draw;
    return view_type_make(VIEW_MONO, VIEW_SIZE_CELL, color);
}

/* ---- what is known of a key ------------------------------------------------------------------ */

static enum key_state state_of(const struct view_row_picture *p, int64_t key)
{
    int64_t bc = view_run_tiles(p->moment->run).bc, j = key / bc;
    uint64_t landed = p->moment->at.landed, scored = p->row.scored[j];
    double s = p->row.scores[key];
    if (s == -INFINITY || scored == UINT64_MAX)
        return HIDDEN;
    if (scored >= landed)
        return NOT_YET;
    return j == p->moment->j ? SEEN_NOW : SEEN;
}

static bool is_absorbed(const struct view_row_picture *p, int64_t key)
{
    for (int64_t s = p->n_steps - 1; s >= 0; s--)
        if (key >= p->row.steps[s].first && key < p->row.steps[s].end)
            return true;
    return false;
}

/* The key that a bar stands for: of those seen, else of all, the one with the largest score. */
static int64_t key_of(const struct view_row_picture *p, const struct bars *bars, int64_t bar,
                      enum key_state *state)
{
    int64_t first = bar * bars->each, end = first + bars->each, best = first;
    enum key_state found = HIDDEN;
    for (int64_t k = first; k < end && k < p->row.keys; k++) {
        enum key_state here = state_of(p, k);
        bool seen = here == SEEN || here == SEEN_NOW, was = found == SEEN || found == SEEN_NOW;
        bool better = found == HIDDEN ? here != HIDDEN
                      : seen != was   ? seen
                                      : here != HIDDEN && p->row.scores[k] > p->row.scores[best];
        if (better) {
            best = k;
            found = here;
        }
    }
    *state = found;
    return best;
}

static struct bars bars_of(const struct view_row_picture *p, struct view_box box)
{
    enum { LEAST = 3, WIDEST = 72 };
    struct bars bars = {.each = 1};
    while ((p->row.keys + bars.each - 1) / bars.each * LEAST > (int64_t)box.w &&
           bars.each < p->row.keys)
        bars.each *= 2;
    bars.n = (p->row.keys + bars.each - 1) / bars.each;
    bars.width = fminf(box.w / (float)bars.n, WIDEST);
    bars.x = box.x;
    return bars;
}

static struct view_box slot(const struct bars *bars, struct view_box box, int64_t bar)
{
    float left = roundf(bars->x + bars->width * (float)bar);
    float right = roundf(bars->x + bars->width * (float)(bar + 1));
    float gap = bars->width >= 16 ? 4 : bars->width >= FRAMED + 1 ? 1 : 0;
    return view_box_make(left + floorf(gap / 2), box.y, right - left - gap, box.h);
}

/* ---- the charts ------------------------------------------------------------------------------ */

/* A bar between two values of the chart's scale, at least a pixel high. */
static struct view_box bar_box(struct view_box place, double low, double high, double from,
                               double to)
{
    double scale = (double)place.h / (high - low);
    float top = place.y + (float)((high - fmax(from, to)) * scale);
    float bottom = place.y + (float)((high - fmin(from, to)) * scale);
    return view_box_make(place.x, roundf(top), place.w, fmaxf(roundf(bottom) - roundf(top), 1));
}

/* `framed`: as all bars of a chart are, or none. */
static void draw_bar(struct view_draw *draw, struct view_box box, enum fa_tensor_id id, bool strong,
                     bool framed)
{
    struct view_look look = view_tensor_look(draw->theme, id);
    view_fill(draw, box,
              view_mix(draw->theme->panel, framed ? look.fill : look.line, strong ? 1 : 0.45));
    if (framed)
        view_frame_box(draw, box, 0, 1, look.line);
}

static void draw_hidden(struct view_draw *draw, struct view_box place, float base)
{
    float arm = fminf(place.w / 2 - 1, 4), x = place.x + place.w / 2;
    if (place.w < FRAMED) {
        view_fill(draw, view_box_make(place.x, base - 2, place.w, 5), draw->theme->edge);
        return;
    }
    view_line(draw, x - arm, base - arm, x + arm, base + arm, 1, draw->theme->text2);
    view_line(draw, x - arm, base + arm, x + arm, base - arm, 1, draw->theme->text2);
}

/* Where tiles meet, while they are wide enough to be told apart. */
static void draw_ticks(struct view_draw *draw, const struct view_row_picture *p,
                       const struct bars *bars, struct view_box box)
{
    int64_t bc = view_run_tiles(p->moment->run).bc;
    float per_key = bars->width / (float)bars->each;
    if (per_key * (float)bc < 6)
        return;
    for (int64_t key = 0; key <= p->row.keys; key += bc)
        view_fill(draw, view_box_make(roundf(bars->x + per_key * (float)key), box.y, 1, box.h),
                  draw->theme->hair);
}

/* The tile where the run stands, as a band behind all that is drawn of it. */
static void draw_band(struct view_draw *draw, const struct view_row_picture *p,
                      const struct bars *bars, struct view_box box)
{
    int64_t bc = view_run_tiles(p->moment->run).bc, j = p->moment->j;
    float per_key = bars->width / (float)bars->each;
    if (j < 0 || j * bc >= p->row.keys)
        return;
    int64_t end = (j + 1) * bc < p->row.keys ? (j + 1) * bc : p->row.keys;
    float left = roundf(bars->x + per_key * (float)(j * bc));
    float right = roundf(bars->x + per_key * (float)end);
    view_fill(draw, view_box_make(left, box.y, right - left, box.h), draw->theme->raised);
}

static void draw_number(struct view_draw *draw, struct view_box place, struct view_box line,
                        double value, bool strong)
{
    char text[VIEW_NUMBER_TEXT];
    struct view_color color = strong ? draw->theme->text : draw->theme->text2;
    view_text_in(draw, view_box_make(place.x - 2, line.y, place.w + 4, line.h), VIEW_CENTRE,
                 cell_type(draw, color), "%s", view_number_short(value, text));
}

static void draw_scores(struct view_draw *draw, const struct view_row_picture *p,
                        const struct bars *bars, struct view_box box, struct view_box numbers)
{
    float base = bar_box(box, p->low, p->high, 0, 0).y;
    bool framed = bars->width >= FRAMED + 1;
    for (int64_t b = 0; b < bars->n; b++) {
        enum key_state state;
        int64_t key = key_of(p, bars, b, &state);
        struct view_box place = slot(bars, box, b);
        double s = fmin(p->row.scores[key], p->high);
        if (state == HIDDEN) {
            draw_hidden(draw, place, base);
            continue;
        }
        struct view_box bar = isnan(s) ? place : bar_box(place, p->low, p->high, 0, s);
        if (state == NOT_YET && framed)
            view_frame_dashed(draw, bar, 1, 2, 3, draw->theme->edge);
        else if (state == NOT_YET)
            view_fill(draw, bar, draw->theme->hair);
        else if (isnan(s))
            view_cell_draw(draw, place, FA_S, VIEW_CELL_VALUE, s, 1);
        else
            draw_bar(draw, bar, FA_S, state == SEEN_NOW, framed);
        if (state != NOT_YET && numbers.h > 0)
            draw_number(draw, place, numbers, p->row.scores[key], state == SEEN_NOW);
    }
    view_fill(draw, view_box_make(box.x, base, bars->width * (float)bars->n, 1), draw->theme->edge);
    if (!isfinite(p->max))
        return;
    float y = bar_box(box, p->low, p->high, p->max, p->max).y + 0.5f;
    view_line_dashed(draw, box.x, y, box.x + bars->width * (float)bars->n, y, 2, 6, 4,
                     draw->theme->text);
}

/* exp(s - m) of what is absorbed; where the maximum rose, what was there stands behind in
 * outline. */
static void draw_weights(struct view_draw *draw, const struct view_row_picture *p,
                         const struct bars *bars, struct view_box box, struct view_box numbers)
{
    for (int64_t b = 0; b < bars->n; b++) {
        enum key_state state;
        int64_t key = key_of(p, bars, b, &state);
        struct view_box place = slot(bars, box, b);
        if ((state != SEEN && state != SEEN_NOW) || !is_absorbed(p, key))
            continue;
        double weight = view_row_weight(p->row.scores[key], p->max);
        bool old = key < p->first || key >= p->end;
        draw_bar(draw, bar_box(place, 0, 1, 0, fmin(weight, 1)), FA_P, !old,
                 bars->width >= FRAMED + 1);
        if (p->rose && old)
            view_frame_box(draw,
                           bar_box(place, 0, 1, 0, view_row_weight(p->row.scores[key], p->old_max)),
                           0, 1, draw->theme->text);
        if (numbers.h > 0)
            draw_number(draw, place, numbers, weight, !old);
    }
    view_fill(draw, view_box_make(box.x, box.y + box.h, bars->width * (float)bars->n, 1),
              draw->theme->edge);
}

static void draw_tile_names(struct view_draw *draw, const struct view_row_picture *p,
                            const struct bars *bars, struct view_box line)
{
    int64_t bc = view_run_tiles(p->moment->run).bc, tc = view_run_tc(p->moment->run);
    float tile = bars->width / (float)bars->each * (float)bc;
    float right = bars->x + bars->width * (float)bars->n;
    bool all = tile >= 44;
    for (int64_t j = all ? 0 : p->moment->j; j >= 0 && j < tc; j++) {
        bool now = j == p->moment->j;
        struct view_type type = view_type_make(now ? VIEW_BOLD : VIEW_SANS, VIEW_SIZE_CELL,
                                               now ? draw->theme->text : draw->theme->text2);
        char text[32];
        snprintf(text, sizeof text, "K[%" PRId64 "]", j);
        float width = view_text_width(draw, type, text);
        float from = bars->x + tile * (float)j, to = fminf(from + tile, right);
        float x = fmaxf(fminf((from + to - width) / 2, right - width), bars->x);
        if (width <= to - from || !all)
            view_text(draw, floorf(x), line.y, VIEW_LEFT, type, "%s", text);
        if (!all)
            return;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void swatch_seen(struct view_draw *draw, struct view_box box)
{
    draw_bar(draw, box, FA_S, false, true);
}

static void swatch_now(struct view_draw *draw, struct view_box box)
{
    draw_bar(draw, box, FA_S, true, true);
}

static void swatch_not_yet(struct view_draw *draw, struct view_box box)
{
    view_frame_dashed(draw, box, 1, 2, 3, draw->theme->edge);
}

static void swatch_hidden(struct view_draw *draw, struct view_box box)
{
    draw_hidden(draw, box, box.y + 6);
}

static void swatch_hidden_thin(struct view_draw *draw, struct view_box box)
{
    view_fill(draw, view_box_make(box.x, box.y + 4, box.w, 5), draw->theme->edge);
}

static void swatch_before(struct view_draw *draw, struct view_box box)
{
    view_frame_box(draw, box, 0, 1, draw->theme->text);
}

/* Buttons for the row before and after. Returns where they begin. */
static float draw_row_buttons(struct view_draw *draw, const struct view_row_picture *p,
                              struct view_box line)
{
    const struct view_frame *frame = p->scene->frame;
    int64_t nq = view_run_header(p->moment->run)->problem.nq;
    float x = line.x + line.w - 60;
    for (int n = 0; n < 2; n++) {
        int64_t row = p->index + (n == 0 ? -1 : 1);
        bool off = row < 0 || row >= nq;
        struct view_cell cell = {.on = true, .which = p->which, .id = FA_Q, .row = off ? 0 : row};
        struct view_box box = view_box_make(x + 32 * (float)n, line.y, 28, 28);
        unsigned states = VIEW_BUTTON_ICON | (off ? VIEW_BUTTON_OFF : VIEW_BUTTON_REST);
        struct view_color ink =
            view_button(draw, frame, box, states, VIEW_CELL, view_cell_pack(cell), NULL,
                        n == 0 ? "The row before" : "The next row");
        float cx = box.x + 14, cy = box.y + 14, up = n == 0 ? -4.0f : 4.0f;
        view_triangle(draw, cx - 5, cy - up, cx + 5, cy - up, cx, cy + up, ink);
    }
    return x;
}

static void draw_legend(struct view_draw *draw, const struct view_row_picture *p,
                        const struct bars *bars, struct view_box line)
{
    float right = draw_row_buttons(draw, p, line) - 12, x = line.x, y = line.y + 6;
    bool hidden = false, ahead = false;
    for (int64_t k = 0; k < p->row.keys; k++) {
        enum key_state state = state_of(p, k);
        hidden |= state == HIDDEN;
        ahead |= state == NOT_YET;
    }
    view_stage_legend(draw, &x, y, right, swatch_now, "this tile");
    view_stage_legend(draw, &x, y, right, swatch_seen, "seen");
    if (ahead)
        view_stage_legend(draw, &x, y, right, swatch_not_yet, "not seen yet");
    if (hidden)
        view_stage_legend(draw, &x, y, right,
                          bars->width >= FRAMED + 1 ? swatch_hidden : swatch_hidden_thin,
                          "hidden by the mask");
    if (p->rose)
        view_stage_legend(draw, &x, y, right, swatch_before, "before the rescale");
    if (bars->each > 1 && x < right) {
        char text[64];
        snprintf(text, sizeof text, "a bar: the largest of %" PRId64 " keys", bars->each);
        view_text_in(draw, view_box_make(x, line.y, right - x, line.h), VIEW_LEFT, small_type(draw),
                     "%s", text);
    }
}

static void draw_label(struct view_draw *draw, struct view_box box, enum fa_tensor_id id,
                       const char *text, const char *brief)
{
    struct view_type type = view_type_make(VIEW_SANS, VIEW_SIZE_LABEL, draw->theme->text2);
    if (!text || !view_text_in(draw, box, VIEW_LEFT, type, "%s", text)) {
        type.style = VIEW_BOLD;
        type.color = view_tensor_look(draw->theme, id).line;
        view_text_in(draw, box, VIEW_LEFT, type, "%s", brief);
    }
}

/* The charts of scores and weights, one below the other, with the tiles' names between them; in
 * a low place the scores alone. */
static void draw_charts(struct view_draw *draw, const struct view_row_picture *row,
                        const struct bars *bars, struct view_box box, float gutter)
{
    enum { LOW = 50 };
    bool numbers = bars->each == 1 && bars->width >= 34 && box.h >= 116;
    float line = numbers ? 16 : 0, gap = box.h >= 150 ? 12 : 4;
    float charts = box.h - 2 * line - 16 - gap;
    bool both = charts >= LOW;
    struct view_box scores = view_cut_top(&box, both ? floorf(charts * 0.58f) : box.h - 16);
    struct view_box label = view_cut_left(&scores, gutter);
    if (label.h >= 16)
        draw_label(draw, view_cut_top(&label, 16), FA_S, gutter > 40 ? "scores" : NULL, "S");
    struct view_box score_numbers = view_cut_top(&box, both ? line : 0);
    struct view_box names = view_cut_top(&box, 16);
    struct view_box band = view_box_make(scores.x, scores.y, scores.w, scores.h + score_numbers.h);
    draw_band(draw, row, bars, band);
    draw_ticks(draw, row, bars, band);
    draw_scores(draw, row, bars, scores, score_numbers);
    draw_tile_names(draw, row, bars, names);
    if (!both)
        return;
    view_cut_top(&box, gap);
    struct view_box weight_numbers = view_cut_bottom(&box, line), weights = box;
    label = view_cut_left(&weights, gutter);
    draw_label(draw, view_cut_top(&label, 16), FA_P, gutter > 40 ? "exp(s − m)" : NULL, "P");
    weights.h -= 1;
    draw_band(draw, row, bars, weights);
    draw_ticks(draw, row, bars, weights);
    draw_weights(draw, row, bars, weights, weight_numbers);
}

void view_row_draw(struct view_draw *draw, const struct view_row_picture *row, struct view_box box)
{
    enum { LOWEST = 36, LOW = 100 }; /* less than that: the sum alone; the scores alone */
    bool roomy = box.h >= 230 && box.w >= 420;
    float gutter = box.w >= 600 ? 76 : 24;
    struct view_box chart = box, output = {0}, sum = {0};
    view_cut_left(&chart, gutter);
    struct bars bars = bars_of(row, chart);

    if (box.h < LOWEST) {
        if (box.h >= 18)
            view_row_draw_sum(draw, row, view_cut_top(&box, 18));
        return;
    }
    if (roomy) {
        draw_legend(draw, row, &bars, view_cut_top(&box, 28));
        view_cut_top(&box, 8);
    }
    if (box.h >= LOW) {
        output = view_cut_bottom(&box, roomy ? 24 : 18);
        view_cut_bottom(&box, roomy ? 8 : 3);
        sum = view_cut_bottom(&box, roomy ? 24 : 18);
        view_cut_bottom(&box, roomy ? 12 : 4);
    }
    draw_charts(draw, row, &bars, box, gutter);
    if (sum.h <= 0)
        return;
    draw_label(draw, view_cut_left(&sum, gutter), FA_L, NULL, "ℓ");
    view_row_draw_sum(draw, row, sum);
    draw_label(draw, view_cut_left(&output, gutter), FA_O, NULL, "O");
    view_row_draw_output(draw, row, output);
}
