#include "visualizer/sentence.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reference/visibility.h"
#include "simulator/closed_form.h"
#include "simulator/tiles.h"
#include "simulator/trace_ops.h"
#include "visualizer/clock_index.h"
#include "visualizer/parts.h"
#include "visualizer/sentence_parts.h"

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void view_words_say(struct view_words *words, const char *format, ...)
{
    char more[VIEW_SENTENCE_TEXT];
    size_t used = strlen(words->text);
    va_list arguments;

    va_start(arguments, format);
    int n = vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    if (n < 0 || used + (size_t)n >= VIEW_SENTENCE_TEXT ||
        characters(words->text) + characters(more) > VIEW_SENTENCE_MOST)
        return;
    memcpy(words->text + used, more, (size_t)n + 1);
}

static uint64_t bytes_of(const struct view_words *words, const struct sim_event *event)
{
    return (uint64_t)event->rows * event->columns *
           fa_on_chip_bytes(&words->header->problem, (enum fa_tensor_id)event->tensor);
}

/* "352 of 512 bytes in use": what lies on chip behind the event; the unit not `named` where it was
 * said already. */
static void say_in_use(struct view_words *words, bool named)
{
    struct sim_state state;
    char used[VIEW_COUNT_TEXT], all[VIEW_COUNT_TEXT];
    view_run_state(words->run, words->index + 1, &state);
    view_count_text(view_in_units(words->unit, state.sram_bytes), used);
    if (words->header->sram_bytes)
        view_words_say(words, "%s of %s%s%s in use.", used,
                       view_count_text(view_in_units(words->unit, words->header->sram_bytes), all),
                       named ? " " : "", named ? words->unit.name : "");
    else
        view_words_say(words, "%s%s%s in use.", used, named ? " " : "",
                       named ? words->unit.name : "");
}

/* Allocs or frees in a row, from the first up to this one. */
static void say_room(struct view_words *words)
{
    uint64_t first, end, bytes = 0;
    bool alloc = words->event->kind == SIM_ALLOC;
    char list[160] = "", count[VIEW_COUNT_TEXT];

    view_clock_joined(view_run_clock_index(words->run), words->index, &first, &end);
    for (uint64_t at = first; at <= words->index; at++) {
        const struct sim_event *event = view_run_event(words->run, at);
        size_t used = strlen(list);
        bytes += bytes_of(words, event);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                 view_words_letter((enum fa_tensor_id)event->tensor));
    }
    if (characters(list) > 56)
        snprintf(list, sizeof list, "%s tiles", SIM_GROUPED(words->index + 1 - first));
    if (alloc) {
        view_words_say(words, "Reserve %s %s for %s: ",
                       view_count_text(view_in_units(words->unit, bytes), count), words->unit.name,
                       list);
        say_in_use(words, false);
    } else if (first == words->index) {
        view_words_say(words, "Free %s: its numbers are gone.", list);
    } else {
        view_words_say(words, "Free %s: their numbers are gone; ", list);
        say_in_use(words, true);
    }
}

enum { DIAGONAL = 1, WINDOW = 2, BLOCKS = 4 };

/* Why no row of the tile sees any of its keys. */
static unsigned reason_of(const struct view_words *words, const struct sim_event *event)
{
    const struct fa_run run = {.problem = words->header->problem, .tiles = words->header->tiles};
    struct fa_span seen = fa_visible_key_tiles(&run, (int64_t)event->i);
    int64_t j = (int64_t)event->j;
    if (j >= seen.first && j < seen.end)
        return BLOCKS;
    return j >= seen.end && run.problem.causal != FA_CAUSAL_NONE ? DIAGONAL : WINDOW;
}

static void say_skip(struct view_words *words)
{
    static const char *const why[] = {
        [DIAGONAL] = "above the diagonal",
        [WINDOW] = "outside the window",
        [DIAGONAL | WINDOW] = "above the diagonal or outside the window",
        [BLOCKS] = "the block mask leaves it out",
        [BLOCKS | DIAGONAL] = "above the diagonal or left out by the block mask",
        [BLOCKS | WINDOW] = "outside the window or left out by the block mask",
        [BLOCKS | DIAGONAL | WINDOW] = "hidden by the masks",
    };
    uint64_t first, end;
    unsigned reasons = 0;
    bool outer_keys = strcmp(words->header->algorithm->name, "flash1") == 0 ||
                      view_run_backward(words->run);
    bool backward = view_run_backward(words->run);
    char from[VIEW_TILE_NAME], to[VIEW_TILE_NAME], count[VIEW_COUNT_TEXT];

    view_clock_joined(view_run_clock_index(words->run), words->index, &first, &end);
    for (uint64_t at = first; at <= words->index; at++)
        reasons |= reason_of(words, view_run_event(words->run, at));
    uint64_t n = words->index + 1 - first;
    view_tile_name(words->run, view_run_event(words->run, first), from);
    view_tile_name(words->run, words->event, to);
    if (n > 1) {
        view_words_say(words, "Skip %s to %s, %s tiles: %s. ", from, to, view_count_text(n, count),
                       reasons == BLOCKS ? "the block mask leaves them out" : why[reasons]);
        view_words_say(words,
                       outer_keys ? "Their Q and %s stay in HBM." : "Their K and %s stay in HBM.",
                       backward     ? "dO"
                       : outer_keys ? "O"
                                    : "V");
        return;
    }
    view_words_say(words, "Skip %s: %s. ", to, why[reasons]);
    if (outer_keys)
        view_words_say(words, "Q[%u] and %s[%u] stay in HBM.", (unsigned)words->event->i,
                       backward ? "dO" : "O", (unsigned)words->event->i);
    else
        view_words_say(words, "K[%u] and V[%u] stay in HBM.", (unsigned)words->event->j,
                       (unsigned)words->event->j);
}

/* The largest square tiles that the machine takes; 0: none. Masks and bias count at their full
 * size, so what is named fits whatever they are. */
static int64_t fitting_side(const struct sim_trace_header *header)
{
    static const struct sim_tile_choice square = {SIM_TILES_SQUARE, 0, 0};
    struct fa_problem p = header->problem;
    const int64_t shape[4] = {p.batch, p.heads, p.nq, p.nk};
    const struct fa_tensor bits = fa_tensor_view(FA_U8, shape, NULL);
    const struct fa_tensor bias = fa_tensor_view(p.dtype, shape, NULL);
    struct fa_tiles fit;

    p.mask = header->has_mask ? &bits : NULL;
    p.dropout_keep = header->has_keep ? &bits : NULL;
    p.bias = header->has_bias ? &bias : NULL;
    if (sim_tiles_choose(&square, header->algorithm, &p, header->sram_bytes, header->sram_bytes,
                         &fit, NULL) != FA_OK)
        return 0;
    return fit.br < fit.bc ? fit.bc : fit.br;
}

static void say_refusal(struct view_words *words)
{
    struct sim_state state;
    char needs[VIEW_COUNT_TEXT], left[VIEW_COUNT_TEXT];
    int64_t side = fitting_side(words->header);
    uint64_t capacity = words->header->sram_bytes;

    view_run_state(words->run, words->index, &state);
    uint64_t spare = (capacity > state.sram_bytes ? capacity - state.sram_bytes : 0) /
                     words->unit.size; /* a part of an element is no room for one */
    view_words_say(
        words, "Refused: %s needs %s %s, %s %s free. ",
        view_words_letter((enum fa_tensor_id)words->event->tensor),
        view_count_text(view_in_units(words->unit, bytes_of(words, words->event)), needs),
        words->unit.name, view_count_text(spare, left), spare == 1 ? "is" : "are");
    if (side > 0)
        view_words_say(words, "Tiles of %s × %s would fit.", SIM_GROUPED(side), SIM_GROUPED(side));
    else
        view_words_say(words, "No tile would fit: it takes more SRAM or a smaller d.");
}

/* What the whole run did. */
static void say_end(struct view_words *words)
{
    const struct fa_problem *problem = &words->header->problem;
    struct sim_state end;
    char read[VIEW_COUNT_TEXT], written[VIEW_COUNT_TEXT], tiles[VIEW_COUNT_TEXT];
    bool whole = words->unit.size == 1;

    view_run_state(words->run, view_run_length(words->run), &end);
    struct sim_volume in = sim_counters_read_all(&end.counters, problem);
    struct sim_volume out = sim_counters_write_all(&end.counters, problem);
    view_words_say(words, "Done: %s %s read and %s written",
                   view_count_text(whole ? in.bytes : in.elements, read), words->unit.name,
                   view_count_text(whole ? out.bytes : out.elements, written));
    view_words_say(words, " for %s score tile%s",
                   view_count_text(end.counters.tiles_visited, tiles),
                   end.counters.tiles_visited == 1 ? "" : "s");
    if (end.counters.tiles_skipped)
        view_words_say(words, ", %s skipped", view_count_text(end.counters.tiles_skipped, tiles));
    view_words_say(words, "; never more than %s %s on chip",
                   view_count_text(view_in_units(words->unit, end.counters.sram_peak_bytes), tiles),
                   words->unit.name);
    view_words_say(words, ".");
}

/* A check that fails here for the first time is told before the event, which keeps its own length.
 * Only what computes can break one. */
static bool say_failure(struct view_words *words)
{
    struct view_check checks[VIEW_CHECKS];
    char event[4 * VIEW_SENTENCE_MOST];
    if (words->event->kind != SIM_COMPUTE || view_run_no_values(words->run))
        return false;
    view_run_checks(words->run, words->index + 1, checks);
    for (int c = 0; c < VIEW_CHECKS; c++)
        if (checks[c].verdict == VIEW_BAD && checks[c].first_bad == words->index + 1) {
            snprintf(event, sizeof event, "%s", words->text);
            snprintf(words->text, VIEW_SENTENCE_TEXT, "Not true from here on: %s, %s. %s",
                     checks[c].name, checks[c].text, event);
            return true;
        }
    return false;
}

void view_sentence(struct view_run *run, uint64_t index, bool bytes, struct view_sentence *sentence)
{
    uint64_t length = view_run_length(run);
    struct view_words words = {.run = run,
                               .header = view_run_header(run),
                               .index = index,
                               .unit = view_measure_of(run, bytes),
                               .text = sentence->text};

    memset(sentence, 0, sizeof *sentence);
    if (index >= length && length > 0 && view_run_refused(run))
        words.index = index = length - 1;
    if (index >= length) {
        sentence->kind = SIM_EVENT_KINDS;
        say_end(&words);
        return;
    }
    const struct sim_event *event = words.event = view_run_event(run, index);
    sentence->kind = (enum sim_event_kind)event->kind;
    if (event->kind == SIM_LOAD || event->kind == SIM_STORE) {
        sentence->elements = (uint64_t)event->rows * event->columns;
        sentence->bytes = sentence->elements *
                          fa_dtype_bytes(fa_hbm_format(&words.header->problem,
                                                       (enum fa_tensor_id)event->tensor));
        sentence->read = event->kind == SIM_LOAD;
    }
    switch (sentence->kind) {
    case SIM_LOAD:
        view_words_load(&words);
        break;
    case SIM_STORE:
        view_words_store(&words);
        break;
    case SIM_COMPUTE:
        view_words_compute(&words);
        break;
    case SIM_ALLOC:
    case SIM_FREE:
        say_room(&words);
        break;
    case SIM_SKIP:
        say_skip(&words);
        break;
    case SIM_REFUSE:
        say_refusal(&words);
        break;
    case SIM_EVENT_KINDS:
        break;
    }
    sentence->bad = say_failure(&words);
}
