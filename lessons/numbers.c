/* Numbers as lessons write and read them, whatever the locale's decimal point is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"
#include "lessons/expression.h"
#include "simulator/digits.h"

/* ---- writing ---- */

/* printf writes a hyphen, and in some places of the world a decimal comma. */
static void tidy(const char *raw, bool negative, char *text)
{
    size_t n = 0;
    if (negative) {
        memcpy(text, "−", 3); /* a minus sign is three bytes in UTF-8 */
        n = 3;
    }
    for (; *raw && n + 4 < LESSON_NUMBER_TEXT; raw++) {
        if (*raw == '-') {
            memcpy(text + n, "−", 3);
            n += 3;
        } else {
            text[n++] = *raw == ',' ? '.' : *raw;
        }
    }
    text[n] = '\0';
}

static void large_number(double size, char *raw, size_t room)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e6, "million"}, {1e9, "billion"}, {1e12, "trillion"}, {1e15, "quadrillion"}};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && size >= units[unit + 1].unit)
        unit++;
    double value = size / units[unit].unit;
    if (value >= 99999.5)
        snprintf(raw, room, "%.3g", size);
    else
        snprintf(raw, room, "%.*f %s",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, units[unit].name);
}

const char *lesson_number_text(double value, char text[LESSON_NUMBER_TEXT])
{
    char raw[LESSON_NUMBER_TEXT];
    double size = fabs(value);
    if (isnan(value)) {
        snprintf(text, LESSON_NUMBER_TEXT, "NaN");
        return text;
    }
    if (isinf(value))
        snprintf(raw, sizeof raw, "∞");
    else if (size >= 9999999.5)
        large_number(size, raw, sizeof raw);
    else if (size >= 999.5 || fabs(size - round(size)) <= 1e-9 * size)
        sim_digits_text((uint64_t)round(size), raw);
    else
        snprintf(raw, sizeof raw, "%.4g", size);
    tidy(raw, value < 0, text);
    return text;
}

/* ---- reading ---- */

bool lesson_digits_read(const char **text, double *value)
{
    const char *at = *text;
    double sum = 0;
    int digits = 0, exponent = 0;
    for (; *at >= '0' && *at <= '9'; at++, digits++)
        sum = 10 * sum + (*at - '0');
    if (*at == '.' && at[1] >= '0' && at[1] <= '9')
        for (at++; *at >= '0' && *at <= '9'; at++, digits++) {
            if (digits < 300) {
                sum = 10 * sum + (*at - '0');
                exponent--;
            }
        }
    if (digits == 0)
        return false;
    const char *power = at + 1 + (*at != '\0' && (at[1] == '-' || at[1] == '+'));
    if ((*at == 'e' || *at == 'E') && *power >= '0' && *power <= '9') {
        int written = 0;
        for (bool minus = at[1] == '-'; *power >= '0' && *power <= '9'; power++)
            if (written > -1000 && written < 1000)
                written = 10 * written + (minus ? '0' - *power : *power - '0');
        exponent += written;
        at = power;
    }
    /* A power of ten up to 22 is a double itself, so that 0.1 is the double nearest to it. */
    *value = exponent < 0 ? sum / pow(10, -exponent) : sum * pow(10, exponent);
    *text = at;
    return isfinite(*value);
}

/* A blank between groups: a space, a narrow or no-break one. Its bytes, 0: none stands there. */
static size_t blank_length(const char *text)
{
    if (*text == ' ' || *text == '\t')
        return 1;
    if (strncmp(text, "\xC2\xA0", 2) == 0)
        return 2;
    return strncmp(text, "\xE2\x80\xAF", 3) == 0 || strncmp(text, "\xE2\x80\x89", 3) == 0 ? 3 : 0;
}

/* A copy with a point for a decimal comma and nothing for commas between groups. A comma is one
 * between groups where three digits follow each and the first group is no 0. */
static bool plain_digits(const char *text, char *plain, size_t size)
{
    bool groups = *text != '0' && strchr(text, ',') != NULL;
    int commas = 0;
    size_t n = 0;
    for (const char *at = strchr(text, ','); at; at = strchr(at + 1, ',')) {
        groups &= strspn(at + 1, "0123456789") == 3;
        commas++;
    }
    if (commas > 1 && !groups)
        return false;
    for (; *text; text++) {
        if (*text == ',' && groups)
            continue;
        if (n + 1 == size)
            return false;
        plain[n++] = *text == ',' ? '.' : *text;
    }
    plain[n] = '\0';
    return true;
}

/* Digits and signs of a number, without the blanks between its groups; a blank that no digit
 * follows ends it. False: too long. */
static bool join_groups(const char **text, char *joined, size_t size)
{
    const char *at = *text;
    size_t n = 0;
    for (;;) {
        size_t blank = blank_length(at);
        if (blank > 0 && n > 0 && at[blank] >= '0' && at[blank] <= '9')
            at += blank;
        if (*at == '\0' || !strchr("0123456789.,eE+-", *at))
            break;
        if (n + 1 == size)
            return false;
        joined[n++] = *at++;
    }
    joined[n] = '\0';
    *text = at;
    return true;
}

static const char *after_blanks(const char *text)
{
    for (size_t blank; (blank = blank_length(text)) > 0;)
        text += blank;
    return text;
}

/* One of them is no plural; "billion bytes" are many whatever their number. */
static bool is_one(const char *number, const char *unit)
{
    size_t n = strlen(unit);
    return strcmp(number, "1") == 0 && n > 1 && unit[n - 1] == 's' && !strchr(unit, ' ');
}

const char *lesson_quantity_text(double value, const char *unit, char *text, size_t size)
{
    char number[LESSON_NUMBER_TEXT];
    unit = unit ? unit : "";
    lesson_number_text(value, number);
    int letters = (int)strlen(unit) - is_one(number, unit);
    snprintf(text, size, "%s%s%.*s", number, *unit && strcmp(unit, "%") != 0 ? " " : "", letters,
             unit);
    return text;
}

bool lesson_number_read(const char *text, const char *unit, double *value)
{
    char joined[128], plain[128];
    const char *at = plain;
    double size;
    text = after_blanks(text);
    size_t minus = *text == '-' ? 1 : strncmp(text, "−", 3) == 0 ? 3 : 0;
    text = after_blanks(text + minus + (*text == '+'));
    if (strchr("+-", *text) && *text)
        return false;
    if (!join_groups(&text, joined, sizeof joined) || !plain_digits(joined, plain, sizeof plain) ||
        !lesson_digits_read(&at, &size) || *at)
        return false;
    text = after_blanks(text);
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\n", text[n - 1]))
        n--;
    bool named = unit && strlen(unit) == n && strncmp(text, unit, n) == 0;
    if (n > 0 && !named && !(n == 1 && *text == '%'))
        return false;
    *value = minus ? -size : size;
    return true;
}
