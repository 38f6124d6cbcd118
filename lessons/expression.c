/* The grammar: comparisons of sums of products of powers. */
#include "lessons/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/reader.h"

enum { DEPTH = 48 };

enum fa_status lesson_expression_refuse(struct lesson_parser *parser, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char excerpt[LESSON_EXCERPT];
    size_t place = (size_t)(parser->at - parser->text), rest = strlen(parser->at);
    return fa_fail(parser->evaluation->error, FA_BAD_ARGUMENT, "at %s (character %zu): %s",
                   rest ? lesson_excerpt(parser->at, rest, excerpt) : "the end", place + 1, text);
}

enum fa_status lesson_name_refuse(struct lesson_parser *parser, const char *what, const char *name,
                                  const char *const *names, int n)
{
    const char *near = lesson_nearest(name, names, n);
    if (near)
        return lesson_expression_refuse(parser, "no %s is called '%s': did you mean %s?", what,
                                        name, near);
    return lesson_expression_refuse(parser, "no %s is called '%s': lessons/README.md lists them",
                                    what, name);
}

static void skip_blanks(struct lesson_parser *parser)
{
    parser->at += strspn(parser->at, " \t\n");
}

bool lesson_parser_mark(struct lesson_parser *parser, char mark)
{
    if (*parser->at != mark)
        return false;
    parser->at++;
    skip_blanks(parser);
    return true;
}

enum fa_status lesson_parser_expect(struct lesson_parser *parser, char mark)
{
    if (lesson_parser_mark(parser, mark))
        return FA_OK;
    return lesson_expression_refuse(parser, "expected %c", mark);
}

bool lesson_parser_name(struct lesson_parser *parser, char *name, size_t size)
{
    size_t n = 0;
    const char *at = parser->at;
    if (!isalpha((unsigned char)*at))
        return false;
    for (; isalnum((unsigned char)*at) || *at == '_'; at++) {
        if (n + 1 == size)
            return false;
        name[n++] = *at;
    }
    name[n] = '\0';
    parser->at = at;
    skip_blanks(parser);
    return true;
}

enum fa_status lesson_parser_quoted(struct lesson_parser *parser, char *text, size_t size)
{
    char quote = *parser->at;
    size_t n = 0;
    if (quote != '"' && quote != '\'')
        return lesson_expression_refuse(parser, "expected a text in quotes");
    for (const char *at = parser->at + 1; *at; at++) {
        if (*at == quote) {
            text[n] = '\0';
            parser->at = at + 1;
            skip_blanks(parser);
            return FA_OK;
        }
        if (n + 1 == size)
            return lesson_expression_refuse(parser, "expected a text of at most %zu bytes",
                                            size - 1);
        text[n++] = *at;
    }
    return lesson_expression_refuse(parser, "expected a closing quote");
}

/* A number, a name, a call, or an expression in parentheses. */
static enum fa_status read_atom(struct lesson_parser *parser, double *value)
{
    char name[32];
    const char *before = parser->at;
    enum fa_status status;
    if (lesson_digits_read(&parser->at, value)) {
        skip_blanks(parser);
        return FA_OK;
    }
    parser->at = before;
    if (lesson_parser_mark(parser, '(')) {
        status = lesson_parser_value(parser, value);
        return status == FA_OK ? lesson_parser_expect(parser, ')') : status;
    }
    if (!lesson_parser_name(parser, name, sizeof name))
        return lesson_expression_refuse(parser, "expected a number, a name or (");
    if (!lesson_parser_mark(parser, '(')) {
        const char *after = parser->at;
        parser->at = before;
        status = lesson_quantity_name(parser, name, value);
        if (status == FA_OK)
            parser->at = after;
        return status;
    }
    const char *inside = parser->at;
    parser->at = before; /* an unknown name is shown where it begins */
    if (!lesson_quantity_known(name))
        return lesson_call_refuse(parser, name);
    parser->at = inside;
    return lesson_quantity_call(parser, name, value);
}

static enum fa_status read_sign(struct lesson_parser *parser, double *value);

/* a ^ b, from the right: 2 ^ 3 ^ 2 is 2 ^ 9, and -2 ^ 2 is -4. */
static enum fa_status read_power(struct lesson_parser *parser, double *value)
{
    double exponent = 0;
    enum fa_status status = read_atom(parser, value);
    if (status != FA_OK || !lesson_parser_mark(parser, '^'))
        return status;
    status = read_sign(parser, &exponent);
    if (status == FA_OK)
        *value = pow(*value, exponent);
    return status;
}

static enum fa_status read_sign(struct lesson_parser *parser, double *value)
{
    if (parser->depth >= DEPTH)
        return lesson_expression_refuse(parser, "expected at most %d levels", DEPTH);
    if (!lesson_parser_mark(parser, '-'))
        return read_power(parser, value);
    parser->depth++;
    enum fa_status status = read_sign(parser, value);
    parser->depth--;
    if (status == FA_OK)
        *value = -*value;
    return status;
}

static enum fa_status read_product(struct lesson_parser *parser, double *value)
{
    double other;
    enum fa_status status = read_sign(parser, value);
    while (status == FA_OK && (*parser->at == '*' || *parser->at == '/')) {
        const char *place = parser->at;
        bool divides = *place == '/';
        lesson_parser_mark(parser, *place);
        status = read_sign(parser, &other);
        if (status != FA_OK)
            return status;
        if (divides && other == 0 && parser->evaluation->runner) {
            parser->at = place;
            return lesson_expression_refuse(parser, "a division by 0");
        }
        *value = divides ? *value / other : *value * other;
    }
    return status;
}

static enum fa_status read_sum(struct lesson_parser *parser, double *value)
{
    double other;
    enum fa_status status = read_product(parser, value);
    while (status == FA_OK && (*parser->at == '+' || *parser->at == '-')) {
        bool minus = *parser->at == '-';
        lesson_parser_mark(parser, *parser->at);
        status = read_product(parser, &other);
        if (status != FA_OK)
            return status;
        *value = minus ? *value - other : *value + other;
    }
    return status;
}

/* One comparison at most. */
static enum fa_status read_comparison(struct lesson_parser *parser, double *value)
{
    static const char *const signs[] = {"<=", ">=", "==", "!=", "<", ">"};
    double a = 0, b = 0;
    enum fa_status status = read_sum(parser, &a);
    size_t sign = 0;
    if (status != FA_OK)
        return status;
    while (sign < 6 && strncmp(parser->at, signs[sign], strlen(signs[sign])) != 0)
        sign++;
    if (sign < 6) {
        parser->at += strlen(signs[sign]);
        skip_blanks(parser);
        status = read_sum(parser, &b);
    }
    if (status != FA_OK)
        return status;
    const double values[7] = {a <= b, a >= b, a == b, a != b, a<b, a> b, a};
    *value = values[sign];
    return status;
}

enum fa_status lesson_parser_value(struct lesson_parser *parser, double *value)
{
    if (parser->depth >= DEPTH)
        return lesson_expression_refuse(parser, "expected at most %d levels", DEPTH);
    parser->depth++;
    enum fa_status status = read_comparison(parser, value);
    parser->depth--;
    return status;
}

static enum fa_status evaluate(const char *expression, const char *words,
                               const struct lesson_runner *runner, double *value,
                               struct fa_error *error)
{
    struct lesson_evaluation evaluation = {.runner = runner, .error = error};
    struct lesson_parser parser = {&evaluation, expression, expression, words, 0};
    double result = 0;
    skip_blanks(&parser);
    enum fa_status status = lesson_parser_value(&parser, &result);
    if (status == FA_OK && *parser.at)
        status = lesson_expression_refuse(&parser, "expected + - * / ^, a comparison or the end");
    if (status == FA_OK && runner && !isfinite(result))
        status = fa_fail(error, FA_BAD_ARGUMENT, "%.200s: is %s: expected a finite number",
                         expression, isnan(result) ? "no number" : "infinite");
    for (int i = 0; i < evaluation.n_counts; i++)
        free(evaluation.counts[i]);
    if (status == FA_OK)
        *value = result;
    return status;
}

enum fa_status lesson_evaluate(const char *expression, const char *words,
                               const struct lesson_runner *runner, double *value,
                               struct fa_error *error)
{
    return evaluate(expression, words, runner, value, error);
}

enum fa_status lesson_expression_check(const char *expression, struct fa_error *error)
{
    double value;
    return evaluate(expression, "", NULL, &value, error);
}
