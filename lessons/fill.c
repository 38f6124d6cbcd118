/* Texts whose {expressions} are put in, with blanks for those that would give an answer away. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lessons/answers.h"

enum { MOST_EXPRESSION = 512 };

/* What a text is filled in for. */
struct filling {
    const char *words;
    const struct lesson_runner *runner;
    const struct lesson_answer_key *key; /* NULL: nothing is left blank */
    int step;
    bool cells; /* it is a table's row */
    int n_blanks;
};

/* ---- what gives an answer away ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Of an expression what counts: no blanks, no case. */
static void squeeze(const char *from, size_t n, char out[MOST_EXPRESSION])
{
    size_t length = 0;
    for (size_t i = 0; i < n && length + 1 < MOST_EXPRESSION; i++)
        if (!isspace((unsigned char)from[i]))
            out[length++] = (char)tolower((unsigned char)from[i]);
    out[length] = '\0';
}

/* Whether `part` is a part of the expression that is computed of the same run: what stands in
 * with() or sweep_first() is of others. Both are squeezed. */
static bool holds_part(const char *expression, const char *part)
{
    size_t n = strlen(part);
    int depth = 0, other = 0; /* the depth of parentheses at which another run's part began */
    for (const char *at = expression; *at; at++) {
        bool begins = at == expression || !is_name(at[-1]);
        if (begins && other == 0 && strncmp(at, part, n) == 0 &&
            !(is_name(part[n - 1]) && is_name(at[n])))
            return true;
        if (begins && other == 0 &&
            (strncmp(at, "with(", 5) == 0 || strncmp(at, "sweep_first(", 12) == 0))
            other = depth + 1;
        depth += (*at == '(') - (*at == ')');
        if (*at == ')' && depth < other)
            other = 0;
    }
    return false;
}

/* A small whole number stands for many things, so that meeting it again tells nothing. */
static bool tells(double value, double right)
{
    bool is_small = fabs(right) < 100 && right == round(right);
    return !is_small && fabs(value - right) <= 1e-6 * fabs(right);
}

/* Choices in words are told apart by a value that no one is asked for. */
static bool is_in_words(const struct lesson_question *question)
{
    return question->kind == LESSON_CHOICE && question->choice[0].label;
}

static bool is_answer(const struct filling *filling, const char *expression, double value)
{
    char own[MOST_EXPRESSION], part[MOST_EXPRESSION];
    squeeze(expression, strlen(expression), own);
    for (int q = 0; q < filling->key->n; q++) {
        const char *answer = filling->key->question[q]->expression;
        if (is_in_words(filling->key->question[q]))
            continue;
        squeeze(answer, strlen(answer), part);
        if (tells(value, filling->key->right[q]))
            return true;
        if (*part && !(isdigit((unsigned char)*part) && !strpbrk(part, "(+-*/^")) &&
            strcmp(filling->words, filling->key->words[q]) == 0 && holds_part(own, part))
            return true;
    }
    return false;
}

/* Whether the text puts the expression in. */
static bool puts_in(const char *text, const char *expression)
{
    char own[MOST_EXPRESSION], other[MOST_EXPRESSION];
    squeeze(expression, strlen(expression), own);
    while (text && (text = strchr(text, '{'))) {
        squeeze(text + 1, strcspn(text + 1, "}"), other);
        if (strcmp(own, other) == 0)
            return true;
        text++;
    }
    return false;
}

/* Whether the prose up to the step has told the value. */
static bool is_known(const struct filling *filling, const char *expression)
{
    const struct lesson *lesson = filling->key->lesson;
    const char *scenario = lesson->step[filling->step].show.scenario;
    for (int s = 0; s <= filling->step; s++) {
        const struct lesson_step *step = &lesson->step[s];
        if (strcmp(step->show.scenario, scenario) != 0)
            continue;
        for (int b = 0; b < step->n_blocks; b++)
            if (step->block[b].kind != LESSON_ROW && step->block[b].kind != LESSON_CODE &&
                puts_in(step->block[b].text, expression))
                return true;
    }
    return false;
}

/* A question was asked before the step, so that a table there sums up what was asked. */
static bool is_asked(const struct filling *filling)
{
    for (int s = 0; s < filling->step; s++)
        if (filling->key->lesson->step[s].question)
            return true;
    return false;
}

static bool is_blank(const struct filling *filling, const char *expression, double value)
{
    if (!filling->key || expression[strspn(expression, " 0123456789.")] == '\0')
        return false; /* a number that was typed is no answer: it is written out as they are */
    return is_answer(filling, expression, value) ||
           (filling->cells && is_asked(filling) && !is_known(filling, expression));
}

/* ---- texts ---- */

static enum fa_status put_in(struct filling *filling, const char *expression,
                             char number[LESSON_NUMBER_TEXT], struct fa_error *error)
{
    double value;
    enum fa_status status =
        lesson_evaluate(expression, filling->words, filling->runner, &value, error);
    if (status != FA_OK)
        return status;
    if (is_blank(filling, expression, value)) {
        filling->n_blanks++;
        snprintf(number, LESSON_NUMBER_TEXT, "%s", LESSON_BLANK);
    } else {
        lesson_number_text(value, number);
    }
    return FA_OK;
}

static enum fa_status fill(struct filling *filling, const char *text, char *out, size_t size,
                           struct fa_error *error)
{
    char expression[MOST_EXPRESSION], number[LESSON_NUMBER_TEXT];
    size_t length = 0;
    while (*text) {
        const char *piece = text;
        size_t n = strcspn(text, "{");
        if (n == 0) {
            size_t inside = strcspn(text + 1, "}");
            if (text[1 + inside] != '}' || inside >= sizeof expression)
                return fa_fail(error, FA_BAD_ARGUMENT, "%.100s: expected {EXPRESSION}", text);
            memcpy(expression, text + 1, inside);
            expression[inside] = '\0';
            enum fa_status status = put_in(filling, expression, number, error);
            if (status != FA_OK)
                return status;
            piece = number;
            text += inside + 2;
            n = strlen(piece);
        } else {
            text += n;
        }
        if (length + n + 1 > size)
            return fa_fail(error, FA_TOO_LARGE, "a text of more than %zu bytes", size - 1);
        memcpy(out + length, piece, n);
        length += n;
    }
    if (length + 1 > size)
        return fa_fail(error, FA_TOO_LARGE, "a text of more than %zu bytes", size);
    out[length] = '\0';
    return FA_OK;
}

enum fa_status lesson_fill(const char *text, const char *words, const struct lesson_runner *runner,
                           char *out, size_t size, struct fa_error *error)
{
    struct filling filling = {.words = words, .runner = runner};
    return fill(&filling, text, out, size, error);
}

enum fa_status lesson_fill_open(const char *text, const char *words,
                                const struct lesson_runner *runner,
                                const struct lesson_answer_key *key, int step, bool cells,
                                char *out, size_t size, int *n_blanks, struct fa_error *error)
{
    struct filling filling = {words, runner, key, step, cells, 0};
    enum fa_status status = fill(&filling, text, out, size, error);
    if (status == FA_OK)
        *n_blanks = filling.n_blanks;
    return status;
}
