/* Computations in words. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "visualizer/parts.h"
#include "visualizer/sentence_parts.h"

static bool is_algorithm(const struct view_words *words, const char *name)
{
    return strcmp(words->header->algorithm->name, name) == 0;
}

/* "2.25 − 3.25", "−1.5 + 0.25": a difference as one writes it. */
static void say_difference(char text[80], double a, double b)
{
    char first[32], second[32];
    snprintf(text, 80, "%s %s %s", view_words_value(a, first), b < 0 ? "+" : "−",
             view_words_value(fabs(b), second));
}

/* Whether the event is the first to absorb scores into its rows' m and ℓ: none did since their
 * start. */
static bool absorbs_first(const struct view_words *words)
{
    const struct sim_event *event = words->event;
    if (event->op == FA_OP_UPDATE) {
        struct view_tile_past past = view_run_past(words->run, FA_O, event->head,
                                                   (int64_t)event->i, 0, words->index + 1);
        return past.loads <= 1;
    }
    for (uint64_t at = words->index; at > 0; at--) {
        const struct sim_event *before = view_run_event(words->run, at - 1);
        if (before->kind != SIM_COMPUTE)
            continue;
        if (before->op == FA_OP_START)
            return true;
        if (before->op == event->op)
            return false;
    }
    return true;
}

/* What happens to ℓ and O in a row whose maximum rose. */
static void say_one_row(struct view_words *words, const struct view_rescale *rescale)
{
    char difference[80], high[32], low[32], factor[32];
    view_words_value(rescale->new_max, high);
    if (isinf(rescale->old_max)) {
        view_words_say(words, "Row %s sees its first key: maximum %s.",
                       SIM_GROUPED(rescale->first_row), high);
        return;
    }
    say_difference(difference, rescale->old_max, rescale->new_max);
    view_words_say(words, "Row %s: new maximum %s, was %s. ", SIM_GROUPED(rescale->first_row), high,
                   view_words_value(rescale->old_max, low));
    view_words_say(words, "Its ℓ and O shrink by exp(%s) = %s.", difference,
                   view_words_value(rescale->factor, factor));
}

/* The weights that an absorb leaves in the scores' place; an update has them already. */
static void say_weights(struct view_words *words, const struct view_names *n)
{
    if (words->event->op == FA_OP_ABSORB)
        view_words_say(words, " %s = exp(S − m).", n->p);
}

static void say_absorb(struct view_words *words, const struct view_names *n)
{
    const struct view_rescale *rescale = view_run_rescale(words->run, words->index);
    bool first = absorbs_first(words), update = words->event->op == FA_OP_UPDATE;
    char factor[32];

    if (first) {
        view_words_say(words, "Take m and ℓ of %s from %s, its first tile: nothing to rescale.",
                       n->q, n->s);
        say_weights(words, n);
    } else if (!rescale) {
        view_words_say(words, "Absorb %s into m and ℓ; where a maximum rose, %s and ℓ shrink.",
                       n->s, n->o);
        say_weights(words, n);
    } else if (rescale->rose == 0) {
        view_words_say(words, update
                                  ? "No row found a larger maximum; O is weighed anew by ℓ alone."
                                  : "No row found a larger maximum: nothing to rescale.");
        say_weights(words, n);
    } else if (rescale->rose == 1) {
        say_one_row(words, rescale);
        say_weights(words, n);
    } else {
        view_words_say(words,
                       "%s of %s rows found a larger maximum; their ℓ and O "
                       "shrink, the most by %s.",
                       SIM_GROUPED(rescale->rose), SIM_GROUPED(rescale->rows),
                       view_words_value(rescale->least_factor, factor));
        say_weights(words, n);
    }
}

void view_words_edges(struct view_words *words)
{
    const struct sim_event *event = words->event;
    const struct fa_tiles *tiles = &words->header->tiles;
    if (event->flags & SIM_CUT)
        view_words_say(words, " The mask cuts it.");
    if ((int64_t)event->rows < tiles->br || (int64_t)event->columns < tiles->bc)
        view_words_say(words, " At the edge: %u × %u.", (unsigned)event->rows,
                       (unsigned)event->columns);
}

/* S from Q and K; for the second time in fused-save-p and in the backward passes. */
static void say_score(struct view_words *words, const struct view_names *n)
{
    const struct sim_event *event = words->event;
    const struct sim_event *next = words->index + 1 < view_run_length(words->run)
                                       ? view_run_event(words->run, words->index + 1)
                                       : NULL;
    const struct view_rescale *rise = NULL;
    char scale[32], high[32], low[32];
    int times = 1;

    view_run_score(words->run, event->head, (int64_t)event->i, (int64_t)event->j, words->index + 1,
                   NULL, &times);
    if (view_run_backward(words->run)) {
        view_words_say(words, "Compute %s again from %s and %s: cheaper than having kept P.", n->s,
                       n->q, n->k);
        view_words_edges(words);
        return;
    }
    if (times > 1) {
        view_words_say(words, "Compute %s again from %s and %s: its m and ℓ are whole only now.",
                       n->s, n->q, n->k);
        view_words_edges(words);
        return;
    }
    if (next && next->kind == SIM_COMPUTE && next->op == FA_OP_ABSORB)
        rise = view_run_rescale(words->run, words->index + 1);
    view_words_say(words, "Score tile %s = %s %sᵀ × %s, inside SRAM", n->s, n->q, n->k,
                   view_words_value(words->header->problem.scale, scale));
    if (rise && rise->rose == 1 && isfinite(rise->old_max)) {
        view_words_say(words,
                       ". Row %s meets %s, above its old maximum %s: its ℓ and O must "
                       "shrink next.",
                       SIM_GROUPED(rise->first_row), view_words_value(rise->new_max, high),
                       view_words_value(rise->old_max, low));
    } else {
        view_words_say(words, ": no traffic.");
        view_words_edges(words);
    }
}

static void say_hide(struct view_words *words, const struct view_names *n)
{
    const struct fa_problem *p = &words->header->problem;
    bool window = p->window_left >= 0 || p->window_right >= 0;
    const char *what = p->causal != FA_CAUSAL_NONE && !window && !p->blocks  ? "above the diagonal"
                       : window && p->causal == FA_CAUSAL_NONE && !p->blocks ? "outside the window"
                       : p->blocks && p->causal == FA_CAUSAL_NONE && !window ? "outside the blocks"
                                                                             : NULL;
    if (what)
        view_words_say(words, "Hide what lies %s in %s: those scores become −∞.", what, n->s);
    else
        view_words_say(words, "Hide the keys that a row of %s may not see: those scores become −∞.",
                       n->s);
}

static const char *count_word(uint64_t n, char text[VIEW_COUNT_TEXT])
{
    static const char *const words[] = {"no", "one", "two",   "three", "four", "five",  "six",
                                        "seven", "eight", "nine", "ten", "eleven", "twelve"};
    return n < sizeof words / sizeof *words ? words[n] : view_count_text(n, text);
}

/* The columns of a tile on chip that is a part of the matrix's. */
static void say_columns(struct view_words *words, enum fa_tensor_id id)
{
    struct sim_state state;
    view_run_state(words->run, words->index, &state);
    const struct sim_resident *part = &state.on_chip[id];
    uint32_t width = part->held_columns ? part->held_columns : part->columns;
    if (width == 1)
        view_words_say(words, " of column %" PRIu32, part->column);
    else if (width > 1)
        view_words_say(words, " of columns %" PRIu32 " to %" PRIu32, part->column,
                       part->column + width - 1);
}

static void say_start(struct view_words *words, const struct view_names *n)
{
    struct sim_state state;
    view_run_state(words->run, words->index, &state);
    bool has_o = state.on_chip[FA_O].live, has_m = state.on_chip[FA_M].live;
    if (has_o && has_m)
        view_words_say(words, "Set %s = 0, ℓ = 0, m = −∞: no key was seen yet.", n->o);
    else if (has_o)
        view_words_say(words, "Set %s = 0 before the sum over the keys.", n->o);
    else
        view_words_say(words, "Set ℓ = 0, m = −∞ for %s: no chunk was read yet.", n->s);
}

/* Weights from scores and the whole row's statistics. */
static void say_normalise(struct view_words *words, const struct view_names *n)
{
    if (view_run_backward(words->run))
        view_words_say(words, "Make %s = exp(S − m) / ℓ again, from the saved m and ℓ of its rows.",
                       n->p);
    else if (is_algorithm(words, "fused-save-p"))
        view_words_say(words, "Turn %s into %s = exp(S − m) / ℓ: final weights, m and ℓ are whole.",
                       n->s, n->p);
    else
        view_words_say(words, "Turn %s into P = exp(S − m) / ℓ, where it lies.", n->s);
}

static void say_softmax(struct view_words *words, const struct view_names *n)
{
    char rows[VIEW_COUNT_TEXT];
    switch ((enum fa_op)words->event->op) {
    case FA_OP_SOFTMAX_ROWS:
        view_words_say(words, "Softmax %s: m and ℓ of whole rows, then P = exp(S − m) / ℓ.", n->s);
        return;
    case FA_OP_ROW_STATS:
        if (is_algorithm(words, "fused-save-p"))
            view_words_say(words,
                           "Absorb %s into m and ℓ. It is dropped, and computed again once they "
                           "are whole.",
                           n->s);
        else
            view_words_say(words, "Absorb %s into m and ℓ.", n->s);
        return;
    case FA_OP_TILE_SOFTMAX:
        view_words_say(words, "Softmax %s by itself: its own m and ℓ, and %s = exp(S − own m).",
                       n->s, n->p);
        return;
    case FA_OP_FINISH:
        if (words->event->rows == 1)
            view_words_say(words, "Divide %s by ℓ: this row is final.", n->o);
        else
            view_words_say(words, "Divide %s by ℓ: these %s rows are final.", n->o,
                           count_word(words->event->rows, rows));
        view_words_say(words, " %s = m + ln ℓ.", n->lse);
        return;
    case FA_OP_FINISH_STATS:
        view_words_say(words, "Form %s = m + ln ℓ: one number a row for the backward pass.",
                       n->lse);
        return;
    case FA_OP_NO_WEIGHTS:
        view_words_say(words, "Set %s = 0: no row of %s sees these keys, yet all of P is stored.",
                       n->p, n->q);
        return;
    case FA_OP_WEIGHTS:
        view_words_say(words, "Make %s = exp(S − LSE) again: one saved number a row is enough.",
                       n->p);
        return;
    default:
        return;
    }
}

/* Products into S and O, and what is done to S before the softmax. */
static bool say_product(struct view_words *words, const struct view_names *n)
{
    char scale[32];
    switch ((enum fa_op)words->event->op) {
    case FA_OP_SCORE:
        say_score(words, n);
        return true;
    case FA_OP_BIAS:
        view_words_say(words, "Add the bias to %s, after the scale and before any mask.", n->s);
        return true;
    case FA_OP_HIDE:
        say_hide(words, n);
        return true;
    case FA_OP_MASK:
        view_words_say(words, "Hide what the mask forbids in %s: those scores become −∞.", n->s);
        return true;
    case FA_OP_START_S:
        view_words_say(words, "Set %s = 0 before the sum over the columns of Q and K.", n->s);
        return true;
    case FA_OP_SCORE_PART:
        view_words_say(words, "%s gains %s %sᵀ", n->s, n->q, n->k);
        say_columns(words, FA_Q);
        view_words_say(words, ".");
        return true;
    case FA_OP_SCALE_S:
        view_words_say(words, "Scale %s by %s.", n->s,
                       view_words_value(words->header->problem.scale, scale));
        view_words_edges(words);
        return true;
    case FA_OP_ACCUMULATE:
        view_words_say(words, "%s gains %s %s.", n->o, n->p, n->v);
        if (!words->header->algorithm->stores_scores && !words->header->algorithm->stores_weights)
            view_words_say(words, " %s has done its work and is dropped.", n->s);
        return true;
    case FA_OP_ACCUMULATE_PART:
        view_words_say(words, "%s gains %s %s", n->o, n->p, n->v);
        say_columns(words, FA_V);
        view_words_say(words, ".");
        return true;
    default:
        return false;
    }
}

void view_words_compute(struct view_words *words)
{
    struct view_names n;
    view_names_make(words, &n);
    if (say_product(words, &n))
        return;
    switch ((enum fa_op)words->event->op) {
    case FA_OP_START:
        say_start(words, &n);
        return;
    case FA_OP_ABSORB:
    case FA_OP_UPDATE:
        say_absorb(words, &n);
        return;
    case FA_OP_NORMALISE:
        say_normalise(words, &n);
        return;
    case FA_OP_SOFTMAX_ROWS:
    case FA_OP_ROW_STATS:
    case FA_OP_TILE_SOFTMAX:
    case FA_OP_FINISH:
    case FA_OP_FINISH_STATS:
    case FA_OP_NO_WEIGHTS:
    case FA_OP_WEIGHTS:
        say_softmax(words, &n);
        return;
    case FA_OP_DROPOUT:
    case FA_OP_DROPOUT_DP:
    case FA_OP_KEEP:
        view_words_dropout(words, &n);
        return;
    default:
        view_words_gradient(words, &n);
        return;
    }
}
