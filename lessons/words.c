/* Words of options: a scenario and its differences. */
#include <string.h>

#include "lessons/answers.h"

enum { OPTIONS = 48 };

/* A name and what stands up to the next name. */
struct option {
    const char *text, *name; /* from its --, and after that and a "no-" */
    size_t length, name_length;
    bool removes; /* "--no-causal" */
};

struct options {
    struct option option[OPTIONS];
    int n;
};

/* The end of the word at `at`; blanks in quotes belong to it. NULL: a quote is not closed. */
static const char *word_end(const char *at)
{
    char quote = 0;
    for (; *at && (quote || !strchr(" \t\n", *at)); at++) {
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
    }
    return quote ? NULL : at;
}

static bool is_named(const struct option *option, const char *name, size_t n)
{
    return option->name_length == n && memcmp(option->name, name, n) == 0;
}

/* --n stands for two other options. */
static bool replaces(const struct option *option, const struct option *old)
{
    bool whole = is_named(option, "n", 1), old_whole = is_named(old, "n", 1);
    bool half = is_named(option, "nq", 2) || is_named(option, "nk", 2);
    bool old_half = is_named(old, "nq", 2) || is_named(old, "nk", 2);
    return is_named(option, old->name, old->name_length) || (whole && old_half) ||
           (half && old_whole);
}

static void take_out(struct options *options, int index)
{
    options->n--;
    memmove(options->option + index, options->option + index + 1,
            (size_t)(options->n - index) * sizeof *options->option);
}

static enum fa_status put(struct options *options, const struct option *option,
                          struct fa_error *error)
{
    int place = -1;
    for (int i = options->n; i-- > 0;) {
        if (replaces(option, &options->option[i])) {
            take_out(options, i);
            place = i;
        }
    }
    if (option->removes)
        return FA_OK;
    if (options->n == OPTIONS)
        return fa_fail(error, FA_TOO_LARGE, "more than %d options", OPTIONS);
    if (place < 0)
        place = options->n;
    memmove(options->option + place + 1, options->option + place,
            (size_t)(options->n - place) * sizeof *options->option);
    options->option[place] = *option;
    options->n++;
    return FA_OK;
}

static enum fa_status take(struct options *options, const char *words, struct fa_error *error)
{
    struct option option = {.text = NULL};
    enum fa_status status = FA_OK;
    for (const char *at = words; *(at += strspn(at, " \t\n")) != '\0';) {
        const char *end = word_end(at);
        if (!end)
            return fa_fail(error, FA_BAD_ARGUMENT, "%.200s: expected a closing quote", at);
        if (strncmp(at, "--", 2) == 0) {
            if (option.text)
                status = put(options, &option, error);
            if (status != FA_OK)
                return status;
            bool removes = strncmp(at, "--no-", 5) == 0;
            const char *name = at + (removes ? 5 : 2);
            size_t n = strcspn(name, "= \t\n");
            if (n == 0)
                return fa_fail(error, FA_BAD_ARGUMENT,
                               "%.5s alone: expected an option's name after it", at);
            option = (struct option){at, name, 0, n, removes};
        } else if (!option.text) {
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "%.*s: expected words of options, as in \"--algorithm flash1 --n 16\"",
                           (int)(end - at < 200 ? end - at : 200), at);
        }
        option.length = (size_t)(end - option.text);
        at = end;
    }
    return option.text ? put(options, &option, error) : FA_OK;
}

enum fa_status lesson_words_join(const char *words, const char *more, char *out, size_t size,
                                 struct fa_error *error)
{
    struct options options = {.n = 0};
    size_t length = 0;
    enum fa_status status = take(&options, words, error);
    if (status == FA_OK)
        status = take(&options, more, error);
    if (status != FA_OK)
        return status;
    for (int i = 0; i < options.n; i++)
        length += options.option[i].length + 1;
    if (length > size || size == 0)
        return fa_fail(error, FA_TOO_LARGE, "options of %zu bytes: expected less than %zu", length,
                       size);
    char *to = out;
    for (int i = 0; i < options.n; i++) {
        if (i > 0)
            *to++ = ' ';
        memcpy(to, options.option[i].text, options.option[i].length);
        to += options.option[i].length;
    }
    *to = '\0';
    return FA_OK;
}
