#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulator/trace_ops.h"
#include "visualizer/cross.h"

/* The number that the card is of, and where it stands. */
struct subject {
    const struct view_moment *moment;
    const struct view_values *values;
    struct view_cell cell;
    struct view_hold hold;
    bool held; /* on chip: `hold` is its tile */
    enum view_cell_state state;
    double value;
    struct view_card *card;
};

static void say(struct view_card *card, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct view_card *card, const char *format, ...)
{
    va_list arguments;
    if (card->n == VIEW_CARD_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(card->line[card->n++], VIEW_CARD_TEXT, format, arguments);
    va_end(arguments);
}

static bool hbm_value(const struct subject *s, enum fa_tensor_id id, int64_t row, int64_t column,
                      double *value)
{
    return s->values &&
           view_values_hbm(s->values, id, s->moment->head, row, column, value) == VIEW_CELL_VALUE;
}

/* A statistic of the query on chip, under whichever name its slot has now. */
static bool chip_statistic(const struct subject *s, enum fa_tensor_id id, int64_t row,
                           double *value)
{
    struct view_hold hold;
    enum fa_tensor_id slot = view_slot_of(s->moment->run, id);
    return slot != FA_TENSORS && view_slot_hold(s->moment, slot, &hold) && hold.id == id &&
           row >= hold.row && row < hold.row + hold.rows && s->values &&
           view_values_chip(s->values, id, row - hold.row, 0, value) == VIEW_CELL_VALUE;
}

/* ---- formulas -------------------------------------------------------------------------------- */

static size_t append(char *text, size_t n, const char *part)
{
    size_t length = strlen(part);
    if (n + length >= VIEW_CARD_TEXT)
        return n;
    memcpy(text + n, part, length + 1);
    return n + length;
}

/* scale x (q0 k0 + q1 k1 + ...), of many products the first three and the last. Its value; NaN
 * without the numbers. */
static double products(const struct subject *s, int64_t query, int64_t key, char *text)
{
    enum { ALL_OF = 6, FIRST = 3 };
    const struct fa_problem *p = &view_run_header(s->moment->run)->problem;
    char q_text[VIEW_NUMBER_TEXT], k_text[VIEW_NUMBER_TEXT], one[80];
    double sum = 0;
    size_t n = append(text, 0, "(");

    for (int64_t c = 0; c < p->d; c++) {
        double q = 0, k = 0;
        if (!hbm_value(s, FA_Q, query, c, &q) || !hbm_value(s, FA_K, key, c, &k))
            return NAN;
        sum += q * k;
        bool shown = p->d <= ALL_OF || c < FIRST || c == p->d - 1;
        if (!shown) {
            if (c == FIRST)
                n = append(text, n, " + …");
            continue;
        }
        view_value_text(q, q_text);
        view_value_text(k, k_text);
        snprintf(one, sizeof one, "%s%s·%s", c > 0 ? " + " : "", q_text, k_text);
        n = append(text, n, one);
    }
    append(text, n, ")");
    return sum;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-2 * fmax(fabs(b), 1e-3) + 1e-6;
}

static void explain_score(const struct subject *s)
{
    const struct view_cell *cell = &s->cell;
    const struct sim_trace_header *header = view_run_header(s->moment->run);
    double scale = header->problem.scale, bias = 0;
    char text[VIEW_CARD_TEXT] = "", a[VIEW_NUMBER_TEXT], b[VIEW_NUMBER_TEXT];
    double sum = products(s, cell->row, cell->column, text);

    if (s->value == -INFINITY) {
        say(s->card, "hidden: the mask leaves key %s out", SIM_GROUPED(cell->column));
        return;
    }
    if (isnan(sum))
        return;
    bool biased = header->has_bias && hbm_value(s, FA_BIAS, cell->row, cell->column, &bias);
    if (!near(s->value, scale * sum + (biased ? bias : 0)) && !near(s->value, scale * sum))
        return; /* half made: the products of some columns are still to come */
    say(s->card, "= %s × %s", view_value_text(scale, a), text);
    if (biased && near(s->value, scale * sum + bias)) {
        char c[VIEW_NUMBER_TEXT];
        say(s->card, "= %s × %s + bias %s", a, view_value_text(sum, b), view_value_text(bias, c));
    } else {
        say(s->card, "= %s × %s", a, view_value_text(sum, b));
    }
}

/* exp(s - m), or exp(s - LSE), if that is what the weight is: it may be divided or dropped. */
static void explain_weight(const struct subject *s)
{
    double scale = view_run_header(s->moment->run)->problem.scale, maximum = 0;
    char text[VIEW_CARD_TEXT] = "", a[VIEW_NUMBER_TEXT], b[VIEW_NUMBER_TEXT];
    double sum = products(s, s->cell.row, s->cell.column, text), score = scale * sum;

    say(s->card, "the weight of key %s for query %s", SIM_GROUPED(s->cell.column),
        SIM_GROUPED(s->cell.row));
    if (isnan(sum))
        return;
    static const enum fa_tensor_id from[] = {FA_M, FA_LSE};
    static const char *const names[] = {"m", "LSE"};
    for (int k = 0; k < 2; k++) {
        bool known = chip_statistic(s, from[k], s->cell.row, &maximum) ||
                     hbm_value(s, from[k], s->cell.row, 0, &maximum);
        if (!known || !near(s->value, exp(score - maximum)))
            continue;
        say(s->card, "= exp(s − %s)", names[k]);
        say(s->card, "= exp(%s %s %s)", view_value_text(score, a), maximum < 0 ? "+" : "−",
            view_value_text(fabs(maximum), b));
        return;
    }
}

static void explain_output(const struct subject *s)
{
    char a[VIEW_NUMBER_TEXT], b[VIEW_NUMBER_TEXT], c[VIEW_NUMBER_TEXT];
    double sum = 0;
    if (!s->held || !view_undivided(s->moment, &s->hold))
        return;
    say(s->card, "the sum of P V so far, not yet divided");
    if (chip_statistic(s, FA_L, s->cell.row, &sum) && sum > 0)
        say(s->card, "O/ℓ = %s / %s = %s", view_value_text(s->value, a), view_value_text(sum, b),
            view_value_text(s->value / sum, c));
}

static void explain(const struct subject *s)
{
    switch (s->cell.id) {
    case FA_S:
        explain_score(s);
        return;
    case FA_P:
    case FA_PD:
        explain_weight(s);
        return;
    case FA_O:
        explain_output(s);
        return;
    case FA_M:
        say(s->card, "the largest score of the row so far");
        return;
    case FA_L:
        say(s->card, "the sum of exp(s − m) so far");
        return;
    case FA_LSE:
        say(s->card, "= m + ln ℓ");
        return;
    case FA_DP:
        say(s->card, "row of dO times row of V");
        return;
    case FA_DS:
        say(s->card, "= P × (dP − δ)");
        return;
    case FA_DELTA:
        say(s->card, "row of dO times row of O");
        return;
    case FA_DQ:
        say(s->card, "the sum of scale dS K so far");
        return;
    case FA_DK:
        say(s->card, "the sum of scale dSᵀ Q so far");
        return;
    case FA_DV:
        say(s->card, "the sum of Pᵀ dO so far");
        return;
    default:
        return;
    }
}

/* ---- where it comes from --------------------------------------------------------------------- */

static void origin(const struct subject *s)
{
    const struct view_run *run = s->moment->run;
    if (s->held) {
        if (s->hold.written == UINT64_MAX)
            return;
        say(s->card,
            s->hold.op == FA_OP_COUNT ? "read from HBM by event %" PRIu64
                                      : "written by event %" PRIu64,
            s->hold.written);
        return;
    }
    int64_t rows = 0, columns = 0;
    view_run_tiling(run, s->cell.id, &rows, &columns);
    if (rows <= 0 || columns <= 0)
        return;
    struct view_tile_past past = view_run_past(run, s->cell.id, s->moment->head, s->cell.row / rows,
                                               s->cell.column / columns, s->moment->at.landed);
    if (past.stores_in_all == 0) {
        say(s->card, "given; read %" PRIu32 " of %" PRIu32 " time%s", past.loads, past.loads_in_all,
            past.loads_in_all == 1 ? "" : "s");
        return;
    }
    if (past.stores == 0)
        return;
    say(s->card, "stored %" PRIu32 " of %" PRIu32 " time%s", past.stores, past.stores_in_all,
        past.stores_in_all == 1 ? "" : "s");
    if (past.last != UINT64_MAX && view_run_event(run, past.last)->kind == SIM_STORE)
        say(s->card, "written by event %s", SIM_GROUPED(past.last));
}

/* Of the ghost's numbers that are not on chip. */
static void ghost(const struct subject *s)
{
    const struct view_run *run = s->moment->run;
    int64_t rows = 0, columns = 0;
    bool cut = false;
    int times = 0;
    view_run_tiling(run, FA_S, &rows, &columns);
    if (rows <= 0 || columns <= 0)
        return;
    switch (view_run_score(run, s->moment->head, s->cell.row / rows, s->cell.column / columns,
                           s->moment->at.landed, &cut, &times)) {
    case VIEW_SCORE_AHEAD:
        say(s->card, "not computed yet; it will never be stored");
        return;
    case VIEW_SCORE_SKIPPED:
        say(s->card, "skipped: the mask hides all of its tile");
        return;
    default:
        say(s->card, "computed, used and dropped: never stored");
        return;
    }
}

static void name(const struct subject *s, char *text, size_t size)
{
    const struct view_cell *cell = &s->cell;
    const char *letter = view_tensor_look(&view_dark, cell->id).letter;
    if (sim_is_score_tile(cell->id))
        snprintf(text, size, "%s, query %s, key %s", letter, SIM_GROUPED(cell->row),
                 SIM_GROUPED(cell->column));
    else if (sim_is_key_side(cell->id))
        snprintf(text, size, "%s, key %s, column %s", letter, SIM_GROUPED(cell->row),
                 SIM_GROUPED(cell->column));
    else if (cell->id == FA_Q || cell->id == FA_DQ || cell->id == FA_O || cell->id == FA_DO)
        snprintf(text, size, "%s, query %s, column %s", letter, SIM_GROUPED(cell->row),
                 SIM_GROUPED(cell->column));
    else
        snprintf(text, size, "%s, query %s", letter, SIM_GROUPED(cell->row));
}

/* Finds the number: of what is only on chip also where the ghost was pointed at. */
static void find(struct subject *s)
{
    enum fa_tensor_id slot = view_slot_of(s->moment->run, s->cell.id);
    int64_t rows = 0, columns = 0;
    view_run_shape(s->moment->run, s->cell.id, &rows, &columns);
    bool ghostly = !s->cell.chip && rows == 0;
    if ((s->cell.chip || ghostly) && slot != FA_TENSORS &&
        view_slot_hold(s->moment, slot, &s->hold) && !s->hold.spent) {
        int64_t row = s->cell.row - s->hold.row, column = s->cell.column - s->hold.column;
        s->held = row >= 0 && column >= 0 && row < s->hold.rows && column < s->hold.columns;
        if (s->held) {
            s->cell.id = s->hold.id; /* S may have become P meanwhile */
            if (s->values)
                s->state = view_values_chip(s->values, s->hold.id, row, column, &s->value);
            return;
        }
    }
    if (!s->cell.chip && rows > 0 && s->values)
        s->state = view_values_hbm(s->values, s->cell.id, s->moment->head, s->cell.row,
                                   s->cell.column, &s->value);
}

bool view_card_make(const struct view_scene *scene, struct view_card *card)
{
    struct view_cell cell = scene->frame->cell;
    char text[VIEW_CARD_TEXT / 2], value[VIEW_NUMBER_TEXT];
    int64_t rows = 0, columns = 0;

    card->n = 0;
    if (!cell.on || cell.which < 0 || cell.which >= scene->runs || cell.id >= FA_TENSORS ||
        cell.row < 0 || cell.column < 0)
        return false;
    struct subject s = {.moment = &scene->moment[cell.which], .cell = cell, .card = card};
    sim_matrix_size(&view_run_header(s.moment->run)->problem, cell.id, &rows, &columns);
    if (cell.row >= rows || cell.column >= columns)
        return false;
    /* The flight may have asked for other positions since the moment was made. */
    s.values = s.moment->values ? view_run_values(s.moment->run, s.moment->at.landed) : NULL;
    find(&s);
    if (cell.chip && !s.held)
        return false;
    card->id = s.cell.id;
    name(&s, text, sizeof text);
    if (s.state == VIEW_CELL_VALUE)
        snprintf(card->title, sizeof card->title, "%s: %s", text, view_value_text(s.value, value));
    else
        snprintf(card->title, sizeof card->title, "%s", text);
    view_run_shape(s.moment->run, cell.id, &rows, &columns);
    if (s.state == VIEW_CELL_VALUE)
        explain(&s);
    else if (!s.values)
        say(card, "%s",
            view_run_no_values(s.moment->run) ? view_run_no_values(s.moment->run)
                                              : "no values here");
    else if (!s.held && rows == 0)
        ghost(&s);
    else
        say(card, "not written yet");
    origin(&s);
    return true;
}
