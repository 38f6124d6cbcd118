#include "simulator/cli/option_values.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/tensor.h"

/* `whole`: what was given is no whole number, so that is said. */
static enum fa_status refuse_number(int64_t min, int64_t max, bool size, bool whole,
                                    enum fa_status status, struct fa_error *error)
{
    const char *what = whole ? "a whole number, " : "";
    const char *units = size ? "; K, M and G are powers of 1024" : "";
    if (max == INT64_MAX)
        return fa_fail(error, status, "expected %s%" PRId64 " or more%s%s", what, min,
                       status == FA_TOO_LARGE ? ", up to 9223372036854775807" : "", units);
    return fa_fail(error, status, "expected %s%" PRId64 " to %" PRId64 "%s", what, min, max, units);
}

/* What a letter after a size multiplies it by, as with --sram: 1 for any other. */
static int64_t unit_of(char letter)
{
    switch (letter) {
    case 'k':
    case 'K':
        return INT64_C(1) << 10;
    case 'm':
    case 'M':
        return INT64_C(1) << 20;
    case 'g':
    case 'G':
        return INT64_C(1) << 30;
    default:
        return 1;
    }
}

/* Reads an integer with `size` one of K, M or G after it, or refuses the text. */
static enum fa_status parse_number(const char *text, int64_t min, int64_t max, bool size,
                                   int64_t *out, struct fa_error *error)
{
    bool negative = *text == '-';
    const char *digits = text + negative, *end = digits + strspn(digits, "0123456789");
    int64_t value = 0, unit = size ? unit_of(*end) : 1;
    if (end == digits || end[unit > 1] != '\0')
        return refuse_number(min, max, size, true, FA_BAD_ARGUMENT, error);
    for (const char *at = digits; at < end; at++) {
        int64_t digit = *at - '0';
        if (!fa_multiply(value, 10, &value) || value > INT64_MAX - digit)
            return refuse_number(min, max, size, false, FA_TOO_LARGE, error);
        value += digit;
    }
    if (!fa_multiply(value, unit, &value))
        return refuse_number(min, max, size, false, FA_TOO_LARGE, error);
    value = negative ? -value : value;
    if (value < min || value > max)
        return refuse_number(min, max, size, false, FA_BAD_ARGUMENT, error);
    *out = value;
    return FA_OK;
}

enum fa_status cli_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out,
                                 struct fa_error *error)
{
    return parse_number(text, min, max, false, out, error);
}

enum fa_status cli_parse_size(const char *text, int64_t min, int64_t max, int64_t *out,
                              struct fa_error *error)
{
    return parse_number(text, min, max, true, out, error);
}

enum fa_status cli_parse_real(const char *text, double *out, struct fa_error *error)
{
    char *end;
    /* strtod would take white space, hexadecimal numbers and "nan" too. */
    bool decimal = *text != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0';
    errno = 0;
    double value = decimal ? strtod(text, &end) : NAN;
    if (!decimal || end == text || *end != '\0')
        return fa_fail(error, FA_BAD_ARGUMENT, "expected a decimal number, as 0.125 or 1e-3");
    if (errno == ERANGE)
        return fa_fail(error, FA_TOO_LARGE, "expected a number from 1e-307 to 1e308 in magnitude");
    *out = value;
    return FA_OK;
}

/* The words as a sentence has them: "text or json". */
static enum fa_status refuse_word(const char *text, const char *const *words,
                                  struct fa_error *error)
{
    char list[256] = "";
    int n = 0;
    size_t length = 0;
    while (words[n])
        n++;
    for (int i = 0; i < n; i++) {
        const char *before = i == 0 ? "" : i == n - 1 ? " or " : ", ";
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", before, words[i]);
        if (length >= sizeof list)
            break;
    }
    const char *near = cli_nearest(text, words, n);
    if (near)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected %s; did you mean %s?", list, near);
    return fa_fail(error, FA_BAD_ARGUMENT, "expected %s", list);
}

enum fa_status cli_parse_word(const char *text, const char *const *words, int *out,
                              struct fa_error *error)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return FA_OK;
        }
    }
    return refuse_word(text, words, error);
}

static enum fa_status set_field(const struct cli_option *option, struct cli_options *options,
                                const char *text, struct fa_error *error)
{
    void *field = (char *)options + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return FA_OK;
    case CLI_INTEGER:
        return cli_parse_integer(text, option->min, option->max, field, error);
    case CLI_SIZE:
        return cli_parse_size(text, option->min, option->max, field, error);
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_FOLDER:
        *(const char **)field = text;
        return FA_OK;
    case CLI_WORD:
        return cli_parse_word(text, option->words, field, error);
    case CLI_OTHER:
        break;
    }
    return option->set(options, text, error);
}

enum fa_status cli_option_set(const struct cli_option *option, struct cli_options *options,
                              const char *text, struct fa_error *error)
{
    struct fa_error inner = {0};
    if (text && *text == '\0')
        return fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected %s, not an empty text", option->name,
                       option->value);
    enum fa_status status = set_field(option, options, text, &inner);
    if (status == FA_OK)
        return FA_OK;
    /* A library's own sentence has the value in it already. */
    bool names_it = !text || strncmp(inner.text, "expected", 8) != 0;
    return fa_fail(error, status, "--%s%s%s: %s", option->name, names_it ? "" : " ",
                   names_it ? "" : text, inner.text);
}

enum { WORD_MAX = 48 };

/* Letters to insert, delete, replace or swap with their neighbour (Damerau and Levenshtein). */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int cost = above[j - 1] + (a[i - 1] != b[j - 1]);
            cost = above[j] + 1 < cost ? above[j] + 1 : cost;
            cost = row[j - 1] + 1 < cost ? row[j - 1] + 1 : cost;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                second[j - 2] + 1 < cost)
                cost = second[j - 2] + 1;
            row[j] = cost;
        }
    }
    return rows[strlen(a) % 3][n];
}

const char *cli_nearest(const char *word, const char *const *words, int n)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    /* A third of the letters may be wrong, so that a short word is not taken for any other. */
    int least = length > 1 ? (int)(length + 2) / 3 + 1 : 1;
    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (int i = 0; i < n; i++) {
        if (strlen(words[i]) > WORD_MAX)
            continue;
        int distance = edit_distance(word, words[i]);
        if (length > 1 && strncmp(word, words[i], length) == 0 && distance > 1)
            distance = 1;
        if (distance < least) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
