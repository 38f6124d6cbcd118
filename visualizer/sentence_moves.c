/* Loads and stores in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulator/trace_ops.h"
#include "visualizer/parts.h"
#include "visualizer/sentence_parts.h"

/* Past so many trips of a tile its size, and not where it comes from, is what is to be seen. */
enum { MANY_TRIPS = 16 };

static bool at_tile(uint64_t place)
{
    return place != SIM_NO_TILE;
}

static const char *ordinal(uint64_t n, char text[24])
{
    const char *end = n % 100 >= 11 && n % 100 <= 13 ? "th"
                      : n % 10 == 1                  ? "st"
                      : n % 10 == 2                  ? "nd"
                      : n % 10 == 3                  ? "rd"
                                                     : "th";
    snprintf(text, 24, "%" PRIu64 "%s", n, end);
    return text;
}

/* "scores", "weights": what the tensor's numbers are. */
static const char *noun_of(enum fa_tensor_id id)
{
    switch (id) {
    case FA_S:
        return "scores";
    case FA_P:
    case FA_PD:
        return "weights";
    case FA_MASK:
    case FA_DROPOUT:
        return "bits";
    default:
        return "numbers";
    }
}

static void say_size(struct view_words *words)
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    char rows[VIEW_COUNT_TEXT], columns[VIEW_COUNT_TEXT];
    bool statistic = id == FA_L || id == FA_M || id == FA_LSE || id == FA_DELTA;

    if (statistic && event->rows == 1)
        view_words_say(words, "one number.");
    else if (statistic)
        view_words_say(words, "%s numbers, one a row.", view_count_text(event->rows, rows));
    else if (event->rows == 1 && event->columns == 1)
        view_words_say(words, "one %.*s.", (int)strlen(noun_of(id)) - 1, noun_of(id));
    else
        view_words_say(words, "%s × %s %s.", view_count_text(event->rows, rows),
                       view_count_text(event->columns, columns), noun_of(id));
}

/* The tile's past with this event. Row-wise steps cut the matrix otherwise, and parts of a tile's
 * columns are told by themselves: they have none. */
static bool past_of(const struct view_words *words, struct view_tile_past *past)
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    int64_t rows, columns;

    view_run_tiling(words->run, id, &rows, &columns);
    if (view_words_by_rows(words->header, event) || rows < 1 || columns < 1 ||
        (!sim_is_score_tile(id) && (int64_t)event->columns < columns && id != FA_BIAS &&
         id != FA_MASK))
        return false;
    *past = view_run_past(words->run, id, event->head, (int64_t)event->row / rows,
                          (int64_t)event->column / columns, words->index + 1);
    return true;
}

/* The tile by its name, and of which head where there are more. */
static void say_name(struct view_words *words)
{
    const struct fa_problem *p = &words->header->problem;
    enum fa_tensor_id id = (enum fa_tensor_id)words->event->tensor;
    uint64_t head = words->event->head;
    char name[VIEW_TILE_NAME];

    view_words_say(words, "%s", view_tile_name(words->run, words->event, name));
    if (view_run_heads(words->run) < 2)
        return;
    if (sim_is_key_side(id) && p->kv_heads < p->heads)
        view_words_say(words, " of K/V head %" PRIu64,
                       head / (uint64_t)(p->heads / p->kv_heads));
    else
        view_words_say(words, " of head %" PRIu64, head);
}

/* The same in the passes of `standard`, each of which makes one tensor, or changes one. */
static const char *purpose_in_phase(const struct view_words *words, char text[VIEW_TILE_NAME])
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor, made;
    const char *phase = view_words_phase(words);

    if (view_words_product(words, &made)) {
        if (id == made)
            return "the next head of its group";
        return at_tile(event->j) ? view_words_tile(words, made, text) : "";
    }
    if (view_words_by_rows(words->header, event))
        return view_run_backward(words->run) ? "dS" : "the softmax";
    return strstr(phase, "dropout")     ? "dropout"
           : strcmp(phase, "bias") == 0 ? "the bias"
                                        : "the mask";
}

/* What a load is for: a tile's name, or a few words; "" where a whole block of the loop is. */
static const char *purpose(const struct view_words *words, char text[VIEW_TILE_NAME])
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;

    if (id == FA_BIAS || id == FA_MASK)
        return view_words_tile(words, FA_S, text);
    if (id == FA_DROPOUT)
        return view_words_tile(words, view_run_backward(words->run) ? FA_DP : FA_P, text);
    if (words->header->algorithm->n_phases > 2)
        return purpose_in_phase(words, text);
    if (id == FA_DK || id == FA_DV)
        return "the next head of its group";
    if (at_tile(event->i) && at_tile(event->j))
        return view_words_tile(words, sim_is_key_side(id) ? FA_Q : FA_K, text);
    if (id == FA_O || id == FA_DO)
        return view_words_tile(words, FA_DELTA, text);
    return id == FA_K || id == FA_V ? "all its queries" : "";
}

/* Why it comes, or how often, behind the colon. */
static void say_trip(struct view_words *words, const struct view_tile_past *past)
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    char text[24], rows[VIEW_COUNT_TEXT], columns[VIEW_COUNT_TEXT], tile[VIEW_TILE_NAME];
    const struct fa_algorithm *algorithm = words->header->algorithm;
    bool queries_outside = view_run_queries_outside(algorithm);

    view_words_say(words, "its %s trip of %" PRIu32 ".", ordinal(past->loads, text),
                   past->loads_in_all);
    if (id != FA_V || !queries_outside)
        return;
    if (past->loads_in_all > MANY_TRIPS)
        view_words_say(
            words, " Each trip is %s × %s numbers; taller tiles of Q would mean fewer trips.",
            view_count_text(event->rows, rows), view_count_text(event->columns, columns));
    else
        view_words_say(words, " %s has not left SRAM.", view_words_tile(words, FA_O, tile));
}

void view_words_load(struct view_words *words)
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    struct view_tile_past past = {0};
    bool tracked = past_of(words, &past);
    bool back = past.stores > 0, again = past.loads > 1;
    char text[VIEW_TILE_NAME];
    const char *what_for = purpose(words, text);

    view_words_say(words, "Load ");
    say_name(words);
    view_words_say(words, back ? " back" : again ? " again" : "");
    if (back && past.stores < past.stores_in_all)
        view_words_say(words, ", unfinished");
    if (what_for[0] != '\0')
        view_words_say(words, "%s for %s", back || again ? "," : "", what_for);
    view_words_say(words, ": ");
    if (tracked && (again || (back && past.loads_in_all > 1)))
        say_trip(words, &past);
    else
        say_size(words);
    if (!again && id == FA_Q && what_for[0] == '\0' && at_tile(event->i))
        view_words_say(words, " It stays on chip while the keys pass.");
    else if (!again && id == FA_DO && what_for[0] == '\0')
        view_words_say(words, " It stays on chip while the values pass.");
    else if (!back && tracked && past.loads_in_all == 1 && id != FA_Q)
        view_words_say(words, " It makes this trip once.");
}

/* Whether what is stored is what a start just set to 0. */
static bool stores_zeros(const struct view_words *words)
{
    for (uint64_t at = words->index; at > 0; at--) {
        const struct sim_event *before = view_run_event(words->run, at - 1);
        if (before->kind == SIM_STORE)
            continue;
        return before->kind == SIM_COMPUTE &&
               (before->op == FA_OP_START || before->op == FA_OP_START_DQ ||
                before->op == FA_OP_START_DKV);
    }
    return false;
}

/* What the numbers of the tensor will be read for. */
static const char *use_of(enum fa_tensor_id id, bool backward)
{
    switch (id) {
    case FA_S:
        return "They will be read back to make P.";
    case FA_P:
    case FA_PD:
        return "They will be read back for O = P V.";
    case FA_DP:
        return "They will be read back to make dS.";
    case FA_DS:
        return "They will be read back for dQ and dK.";
    case FA_DROPOUT:
        return backward ? "" : "The backward pass will need them.";
    default:
        return "They will be read back.";
    }
}

static void say_middle(struct view_words *words, const struct view_tile_past *past, bool tracked)
{
    const struct sim_event *event = words->event;
    enum fa_tensor_id id = (enum fa_tensor_id)event->tensor;
    uint64_t count = (uint64_t)event->rows * event->columns;
    char number[VIEW_COUNT_TEXT];
    bool saved = id == FA_P && strcmp(words->header->algorithm->name, "fused-save-p") == 0;

    view_words_say(words, "%s: %s %.*s", id == FA_PD ? ", dropped" : "",
                   view_count_text(count, number),
                   (int)strlen(noun_of(id)) - (count == 1 ? 1 : 0), noun_of(id));
    if (saved)
        view_words_say(words, ", kept for the backward pass.");
    else if (id == FA_DELTA && tracked)
        view_words_say(words, "%s It will be read back %" PRIu32 " time%s.",
                       count == 1 ? "." : ", one a row.", past->loads_in_all,
                       past->loads_in_all == 1 ? "" : "s");
    else
        view_words_say(words, ". %s", use_of(id, view_run_backward(words->run)));
}

/* An output, or what stands in for one between the visits. */
static void say_output(struct view_words *words, const struct view_tile_past *past, bool tracked)
{
    enum fa_tensor_id id = (enum fa_tensor_id)words->event->tensor;
    uint32_t reads = past->loads_in_all > past->loads ? past->loads_in_all - past->loads : 0;
    bool unfinished = past->stores < past->stores_in_all;

    if (!tracked) {
        view_words_say(words, ", final: these columns will not come back.");
        return;
    }
    if (unfinished && stores_zeros(words))
        view_words_say(words, ", still empty: ");
    else
        view_words_say(words, unfinished ? ", unfinished: " : ", final: ");
    if (past->stores_in_all > 1)
        view_words_say(words, "write %" PRIu32 " of %" PRIu32 "%s", past->stores,
                       past->stores_in_all, unfinished ? ". " : "; ");
    if (reads > 1)
        view_words_say(words, "%s will be read back %" PRIu32 " more times.",
                       unfinished ? "It" : "it", reads);
    else if (reads == 1)
        view_words_say(words, "%s will be read back once more.", unfinished ? "It" : "it");
    else if (id == FA_LSE)
        view_words_say(words, "one number a row, for the backward pass.");
    else
        view_words_say(words, "%s will not come back.", unfinished ? "It" : "it");
}

void view_words_store(struct view_words *words)
{
    enum fa_tensor_id id = (enum fa_tensor_id)words->event->tensor;
    struct view_tile_past past = {0};
    bool tracked = past_of(words, &past);

    view_words_say(words, "Store ");
    say_name(words);
    if (sim_is_score_tile(id) || id == FA_DELTA)
        say_middle(words, &past, tracked);
    else
        say_output(words, &past, tracked);
}
