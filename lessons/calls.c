/* What can be called in an expression: what ran, other runs, arithmetic, and the table of all
 * calls. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lessons/expression.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- what ran ---- */

static enum fa_status no_runner(struct lesson_parser *parser, const char *name)
{
    return fa_fail(parser->evaluation->error, FA_UNSUPPORTED,
                   "%s(...): expected a program that runs scenarios, this one counts them", name);
}

static enum fa_status call_trips(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_runner *runner = parser->evaluation->runner;
    enum fa_tensor_id id = FA_Q;
    int64_t tile = 0, count = 0;
    enum fa_status status = lesson_parser_tensor(parser, &id);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = lesson_parser_whole(parser, &tile);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    *value = 1;
    if (status != FA_OK || !runner)
        return status;
    if (!runner->trips)
        return no_runner(parser, name);
    status = runner->trips(runner->context, parser->words, id, tile, name[0] == 's', &count,
                           parser->evaluation->error);
    *value = (double)count;
    return status;
}

static enum fa_status call_cell(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_runner *runner = parser->evaluation->runner;
    char at[64] = "end";
    enum fa_tensor_id id = FA_Q;
    int64_t row = 0, column = 0;
    enum fa_status status = FA_OK;
    if (*parser->at == '"' || *parser->at == '\'') {
        status = lesson_parser_quoted(parser, at, sizeof at);
        if (status == FA_OK)
            status = lesson_parser_expect(parser, ',');
    }
    if (status == FA_OK)
        status = lesson_parser_tensor(parser, &id);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = lesson_parser_whole(parser, &row);
    if (status == FA_OK && lesson_parser_mark(parser, ','))
        status = lesson_parser_whole(parser, &column);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    *value = 1;
    if (status != FA_OK || !runner)
        return status;
    if (!runner->cell)
        return no_runner(parser, name);
    status = runner->cell(runner->context, parser->words, at, id, row, column, value,
                          parser->evaluation->error);
    if (status == FA_OK && isnan(*value))
        return fa_fail(parser->evaluation->error, FA_BAD_ARGUMENT,
                       "cell: nothing stands in %s, row %" PRId64 ", column %" PRId64 " at %s",
                       fa_tensor_name(id), row, column, at);
    return status;
}

static enum fa_status call_measured(struct lesson_parser *parser, const char *name, double *value)
{
    const struct lesson_runner *runner = parser->evaluation->runner;
    char quantity[64];
    enum fa_status status = lesson_parser_quoted(parser, quantity, sizeof quantity);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    *value = 1;
    if (status != FA_OK || !runner)
        return status;
    if (!runner->measure)
        return no_runner(parser, name);
    return runner->measure(runner->context, parser->words, quantity, value,
                           parser->evaluation->error);
}

/* ---- other runs ---- */

/* The value of the expression at the parser's place, of the run with the other words. */
static enum fa_status value_with(struct lesson_parser *parser, const char *more, double *value)
{
    char joined[LESSON_WORDS];
    struct fa_error inner;
    const char *words = parser->words;
    enum fa_status status = lesson_words_join(words, more, joined, sizeof joined, &inner);
    if (status != FA_OK)
        return lesson_expression_refuse(parser, "%s", inner.text);
    parser->words = joined;
    status = lesson_parser_value(parser, value);
    parser->words = words;
    return status;
}

static enum fa_status call_with(struct lesson_parser *parser, const char *name, double *value)
{
    char more[LESSON_WORDS];
    (void)name;
    enum fa_status status = lesson_parser_quoted(parser, more, sizeof more);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = value_with(parser, more, value);
    return status == FA_OK ? lesson_parser_expect(parser, ')') : status;
}

/* The words that give the option the value; br and bc are the sides of --tiles. */
static enum fa_status sweep_words(struct lesson_parser *parser, const char *option, int64_t value,
                                  char words[128])
{
    const struct lesson_counts *counts = NULL;
    bool br = strcmp(option, "br") == 0, bc = strcmp(option, "bc") == 0;
    enum fa_status status = br || bc ? lesson_counts_current(parser, &counts) : FA_OK;
    if (status != FA_OK)
        return status;
    if (br || bc) {
        const struct fa_tiles tiles = counts ? counts->result.tiles : (struct fa_tiles){1, 1, 1, 1};
        snprintf(words, 128, "--tiles %" PRId64 "x%" PRId64, br ? value : tiles.br,
                 bc ? value : tiles.bc);
    } else {
        snprintf(words, 128, "--%s %" PRId64, option, value);
    }
    return FA_OK;
}

enum { SWEEP_STEPS = 65536 };

static enum fa_status sweep(struct lesson_parser *parser, const char *option, int64_t low,
                            int64_t high, double *value)
{
    char words[128];
    double found = 0;
    const char *body = parser->at;
    bool reads = !parser->evaluation->runner; /* once is enough */
    enum fa_status status = FA_OK;
    int depth = parser->depth;
    if (reads)
        high = low;
    for (int64_t at = low; at <= high; at++) {
        if (++parser->evaluation->steps > SWEEP_STEPS)
            return fa_fail(parser->evaluation->error, FA_TOO_LARGE, "sweeps of more than %d runs",
                           SWEEP_STEPS);
        parser->at = body;
        parser->depth = depth;
        status = sweep_words(parser, option, at, words);
        if (status == FA_OK)
            status = value_with(parser, words, &found);
        *value = (double)at;
        if (status == FA_OK && (found != 0 || reads))
            return FA_OK;
        if (status != FA_OK &&
            status != FA_DOES_NOT_FIT) /* what is refused is not what was sought */
            return status;
    }
    parser->at = body;
    return lesson_expression_refuse(parser, "no %s from %" PRId64 " to %" PRId64 ": expected one",
                                    option, low, high);
}

static enum fa_status call_sweep(struct lesson_parser *parser, const char *name, double *value)
{
    char option[32];
    int64_t low = 0, high = 0;
    (void)name;
    enum fa_status status = lesson_parser_quoted(parser, option, sizeof option);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = lesson_parser_whole(parser, &low);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = lesson_parser_whole(parser, &high);
    if (status == FA_OK && low > high)
        return lesson_expression_refuse(
            parser, "from %" PRId64 " to %" PRId64 ": expected the least value first", low, high);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ',');
    if (status == FA_OK)
        status = sweep(parser, option, low, high, value);
    return status == FA_OK ? lesson_parser_expect(parser, ')') : status;
}

/* ---- arithmetic ---- */

static enum fa_status call_function(struct lesson_parser *parser, const char *name, double *value)
{
    static const struct {
        const char *name;
        double (*function)(double);
    } functions[] = {{"ceil", ceil}, {"floor", floor}, {"abs", fabs},  {"exp", exp},
                     {"ln", log},    {"log2", log2},   {"sqrt", sqrt}, {"round", round}};
    int f = 0;
    enum fa_status status = lesson_parser_value(parser, value);
    if (status == FA_OK)
        status = lesson_parser_expect(parser, ')');
    while (strcmp(functions[f].name, name) != 0)
        f++;
    if (status == FA_OK)
        *value = functions[f].function(*value);
    return status;
}

static enum fa_status call_extreme(struct lesson_parser *parser, const char *name, double *value)
{
    double other = 0;
    enum fa_status status = lesson_parser_value(parser, value);
    while (status == FA_OK && lesson_parser_mark(parser, ',')) {
        status = lesson_parser_value(parser, &other);
        if (status == FA_OK && (name[1] == 'i' ? other < *value : other > *value))
            *value = other;
    }
    return status == FA_OK ? lesson_parser_expect(parser, ')') : status;
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    lesson_call *call;
} calls[] = {
    {"read", lesson_call_moved},
    {"write", lesson_call_moved},
    {"moved", lesson_call_moved},
    {"bytes", lesson_call_bytes},
    {"flops", lesson_call_flops},
    {"tiles", lesson_call_tiles},
    {"skipped", lesson_call_tiles},
    {"masked", lesson_call_tiles},
    {"loads", call_trips},
    {"stores", call_trips},
    {"cell", call_cell},
    {"peak", lesson_call_chip},
    {"needs", lesson_call_chip},
    {"kept", lesson_call_chip},
    {"fits", lesson_call_chip},
    {"largest_square", lesson_call_chip},
    {"with", call_with},
    {"sweep_first", call_sweep},
    {"units", lesson_call_blocks},
    {"waves", lesson_call_blocks},
    {"dram", lesson_call_dram},
    {"measured", call_measured},
    {"ceil", call_function},
    {"floor", call_function},
    {"abs", call_function},
    {"exp", call_function},
    {"ln", call_function},
    {"log2", call_function},
    {"sqrt", call_function},
    {"round", call_function},
    {"min", call_extreme},
    {"max", call_extreme},
};

static int find_call(const char *name)
{
    int c = 0;
    while (c < COUNT(calls) && strcmp(calls[c].name, name) != 0)
        c++;
    return c;
}

bool lesson_quantity_known(const char *name)
{
    return find_call(name) < COUNT(calls);
}

enum fa_status lesson_call_refuse(struct lesson_parser *parser, const char *name)
{
    const char *names[COUNT(calls)];
    for (int c = 0; c < COUNT(calls); c++)
        names[c] = calls[c].name;
    return lesson_name_refuse(parser, "function", name, names, COUNT(calls));
}

enum fa_status lesson_quantity_call(struct lesson_parser *parser, const char *name, double *value)
{
    return calls[find_call(name)].call(parser, name, value);
}
