#include <stdio.h>
#include <string.h>

#include "reference/faulty/faulty.h"
#include "simulator/cli/view_runs.h"

const char *cli_word(const struct cli_words *words, int index)
{
    return words->bytes + words->at[index];
}

static enum fa_status add(struct cli_words *words, const char *word, struct fa_error *error)
{
    size_t size = strlen(word) + 1;
    if (words->n == CLI_VIEW_WORDS || size > sizeof words->bytes - words->used)
        return fa_fail(error, FA_TOO_LARGE,
                       "the options are too long: expected at most %d of them and %d bytes",
                       CLI_VIEW_WORDS, CLI_VIEW_WORD_BYTES);
    memcpy(words->bytes + words->used, word, size);
    words->at[words->n++] = words->used;
    words->used += size;
    return FA_OK;
}

static bool is_named(const char *word, const char *name)
{
    size_t n = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, n) == 0 &&
           (word[2 + n] == '\0' || word[2 + n] == '=');
}

enum fa_status cli_words_set(struct cli_words *words, const char *name, const char *value,
                             struct fa_error *error)
{
    struct cli_words made = {.n = 0};
    char word[1200];
    enum fa_status status = FA_OK;
    for (int i = 0; i < words->n && status == FA_OK; i++)
        if (!is_named(cli_word(words, i), name))
            status = add(&made, cli_word(words, i), error);
    if (value && (size_t)snprintf(word, sizeof word, "--%s%s%s", name, *value ? "=" : "", value) >=
                     sizeof word)
        status = fa_fail(error, FA_TOO_LARGE, "--%s: a value of more than 1000 bytes", name);
    if (value && status == FA_OK)
        status = add(&made, word, error);
    if (status == FA_OK)
        *words = made;
    return status;
}

bool cli_words_have(const struct cli_words *words, const char *name)
{
    for (int i = 0; i < words->n; i++)
        if (is_named(cli_word(words, i), name))
            return true;
    return false;
}

/* An algorithm that `run` has, or one of the faulty ones: to be looked at, not to be counted on. */
static enum fa_status set_algorithm(struct cli_options *options, const char *text,
                                    struct fa_error *error)
{
    struct cli_problem *problem = (struct cli_problem *)options;
    const struct fa_algorithm *faulty = fa_faulty_find(text);
    if (!faulty)
        return cli_problem_group.options[0].set(options, text, error);
    problem->algorithms[0] = faulty;
    problem->n_algorithms = 1;
    return FA_OK;
}

static const struct cli_option algorithm_options[] = {
    {.name = "algorithm", .value = "NAME", .kind = CLI_OTHER, .set = set_algorithm,
     .help = "As for run; also faulty-a to faulty-f, and healthy."},
};

static const struct cli_group algorithm_group = CLI_GROUP("Algorithm", algorithm_options);

/* The options that describe a run: what `view` takes from `run`. */
static const struct cli_group *const groups[] = {
    &algorithm_group,   &cli_shape_group, &cli_sparse_group,
    &cli_machine_group, &cli_input_group, NULL,
};

static const struct cli_command run_options = {.name = "view", .operands = "", .groups = groups};

/* The option that the word names, NULL where there is none. */
static const struct cli_option *find_option(const char *word)
{
    for (const struct cli_group *const *group = groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++)
            if (is_named(word, (*group)->options[i].name))
                return &(*group)->options[i];
    return NULL;
}

enum fa_status cli_words_take(int argc, char **argv, struct cli_words *words,
                              struct fa_error *error)
{
    enum fa_status status = FA_OK;
    for (int i = 1; i < argc && status == FA_OK; i++) {
        const struct cli_option *option = find_option(argv[i]);
        if (!option)
            continue;
        const char *value = strchr(argv[i], '=');
        if (value)
            value++;
        else if (option->value && !option->value_optional && i + 1 < argc)
            value = argv[++i];
        status = cli_words_set(words, option->name, value ? value : "", error);
    }
    return status;
}

enum fa_status cli_words_parse(struct cli_words *words, struct cli_problem *options,
                               struct fa_error *error)
{
    char *argv[CLI_VIEW_WORDS + 2] = {(char *)run_options.name};
    for (int i = 0; i < words->n; i++)
        argv[i + 1] = words->bytes + words->at[i];
    *options = cli_problem_defaults;
    return cli_parse(&run_options, words->n + 1, argv, &options->base, error);
}

/* The next word of the text, NULL at its end. */
static enum fa_status next_word(const char **text, char *word, size_t size, bool *found,
                                struct fa_error *error)
{
    size_t n = 0;
    char quote = 0;
    *text += strspn(*text, " \t\n");
    *found = **text != '\0';
    for (; **text && (quote || !strchr(" \t\n", **text)); (*text)++) {
        if (**text == quote)
            quote = 0;
        else if (!quote && (**text == '\'' || **text == '"'))
            quote = **text;
        else if (n + 1 < size)
            word[n++] = **text;
        else
            return fa_fail(error, FA_TOO_LARGE, "a word of more than %zu bytes", size);
    }
    word[n] = '\0';
    return quote ? fa_fail(error, FA_BAD_ARGUMENT, "expected a closing %c", quote) : FA_OK;
}

/* --n is a length of both, which takes the place of --nq and --nk, as those do of it. */
static enum fa_status make_room(struct cli_words *words, const char *name, struct fa_error *error)
{
    bool both = strcmp(name, "n") == 0;
    enum fa_status status = FA_OK;
    if (!both && strcmp(name, "nq") != 0 && strcmp(name, "nk") != 0)
        return FA_OK;
    status = cli_words_set(words, both ? "nq" : "n", NULL, error);
    return status == FA_OK && both ? cli_words_set(words, "nk", NULL, error) : status;
}

/* "--no-causal" takes --causal out: the option that it names, or NULL. */
static const struct cli_option *find_negated(const char *word)
{
    char name[64];
    if (strncmp(word, "--no-", 5) != 0 || strchr(word, '=') ||
        (size_t)snprintf(name, sizeof name, "--%s", word + 5) >= sizeof name)
        return NULL;
    return find_option(name);
}

/* With the option that was probably meant. */
static enum fa_status refuse_unknown(const char *word, struct fa_error *error)
{
    enum { MOST = 96 };
    const char *names[MOST];
    char name[64];
    bool negated = strncmp(word, "--no-", 5) == 0;
    const char *begin = word + (negated ? 5 : strspn(word, "-"));
    int n = 0;
    for (const struct cli_group *const *group = groups; *group; group++)
        for (int i = 0; i < (*group)->n_options && n < MOST; i++)
            names[n++] = (*group)->options[i].name;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "="), begin);
    const char *near = cli_nearest(name, names, n);
    if (near)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: expected an option of a run; did you mean --%s%s?", word,
                       negated ? "no-" : "", near);
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "%s: expected options of a run, as in \"--algorithm flash1\"", word);
}

enum fa_status cli_words_merge(const char *text, struct cli_words *words, struct fa_error *error)
{
    char word[1024], value[1024];
    bool found;
    enum fa_status status = next_word(&text, word, sizeof word, &found, error);
    while (status == FA_OK && found) {
        const struct cli_option *option = find_option(word);
        const struct cli_option *negated = option ? NULL : find_negated(word);
        char *given = strchr(word, '=');
        if (negated) {
            status = cli_words_set(words, negated->name, NULL, error);
            if (status == FA_OK)
                status = next_word(&text, word, sizeof word, &found, error);
            continue;
        }
        if (!option)
            return refuse_unknown(word, error);
        snprintf(value, sizeof value, "%s", given ? given + 1 : "");
        if (!given && option->value && !option->value_optional) {
            status = next_word(&text, value, sizeof value, &found, error);
            if (status == FA_OK && !found)
                status = fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected a value, %s after it",
                                 option->name, option->value);
        }
        if (status == FA_OK)
            status = make_room(words, option->name, error);
        if (status == FA_OK)
            status = cli_words_set(words, option->name, value, error);
        if (status == FA_OK)
            status = next_word(&text, word, sizeof word, &found, error);
    }
    return status;
}
