#include "simulator/cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "simulator/cli/option_values.h"

enum { OPTIONS_MAX = 63, FIRST_VALUE = 256, HELP_VALUE = 'h' };

static const char *const format_words[] = {"text", "json", NULL};

static const struct cli_option format_options[] = {
    {.name = "format",
     .value = "text|json",
     .help = "How results and errors are printed (text).",
     .kind = CLI_WORD,
     .words = format_words,
     .offset = offsetof(struct cli_options, format)},
};

const struct cli_group cli_format_group = CLI_GROUP("Format", format_options);

/* A command's options in one row, as getopt_long wants them. */
struct table {
    const struct cli_option *option[OPTIONS_MAX];
    const char *name[OPTIONS_MAX + 1];
    struct option long_option[OPTIONS_MAX + 2];
    int n;
};

static void build_table(const struct cli_command *command, struct table *table)
{
    table->n = 0;
    for (const struct cli_group *const *group = command->groups; *group; group++) {
        for (int i = 0; i < (*group)->n_options; i++) {
            const struct cli_option *option = &(*group)->options[i];
            int argument = !option->value           ? no_argument
                           : option->value_optional ? optional_argument
                                                    : required_argument;
            assert(table->n < OPTIONS_MAX);
            table->long_option[table->n] =
                (struct option){option->name, argument, NULL, FIRST_VALUE + table->n};
            table->name[table->n] = option->name;
            table->option[table->n++] = option;
        }
    }
    table->name[table->n] = "help";
    table->long_option[table->n] = (struct option){"help", no_argument, NULL, HELP_VALUE};
    table->long_option[table->n + 1] = (struct option){NULL, 0, NULL, 0};
}

static enum fa_status refuse_unknown(const struct table *table, const char *text,
                                     struct fa_error *error)
{
    char name[64];
    size_t length = strcspn(text + 2, "=");
    const char *near = NULL;
    if (length > 0 && length < sizeof name) {
        memcpy(name, text + 2, length);
        name[length] = '\0';
        near = cli_nearest(name, table->name, table->n + 1);
    }
    if (near)
        return fa_fail(error, FA_BAD_ARGUMENT, "%.*s: unknown option; did you mean --%s?",
                       (int)length + 2, text, near);
    return fa_fail(error, FA_BAD_ARGUMENT, "%.*s: unknown option; --help lists them",
                   (int)length + 2, text);
}

/* What getopt_long answered with '?'; optopt and optind say more. */
static enum fa_status refuse_option(const struct table *table, char **argv, struct fa_error *error)
{
    const char *text = argv[optind - 1];
    if (optopt >= FIRST_VALUE || optopt == HELP_VALUE)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected no value after --%s", text,
                       optopt == HELP_VALUE ? "help" : table->name[optopt - FIRST_VALUE]);
    if (optopt == 0)
        return refuse_unknown(table, text, error);
    for (int i = 0; i < table->n; i++)
        if (table->name[i][0] == optopt && table->name[i][1] == '\0')
            return fa_fail(error, FA_BAD_ARGUMENT, "-%c: unknown option; did you mean --%c?",
                           optopt, optopt);
    return fa_fail(error, FA_BAD_ARGUMENT, "-%c: unknown option; --help lists them", optopt);
}

/* The element of argv in which getopt_long has just found an option. */
static const char *current_element(char **argv, bool has_value)
{
    bool separate = has_value && optarg == argv[optind - 1];
    return argv[optind - (separate ? 2 : 1)];
}

static enum fa_status take_option(const struct table *table, int index, char **argv,
                                  struct cli_options *options, struct fa_error *error)
{
    const struct cli_option *option = table->option[index];
    const char *element = current_element(argv, optarg != NULL);
    /* getopt_long takes any unambiguous beginning; a later version's options would change it. */
    if (strncmp(element + 2, option->name, strlen(option->name)) != 0)
        return refuse_unknown(table, element, error);
    if (options->given & UINT64_C(1) << index && !option->repeatable)
        return fa_fail(error, FA_BAD_ARGUMENT, "--%s: given twice", option->name);
    options->given |= UINT64_C(1) << index;
    return cli_option_set(option, options, optarg, error);
}

static enum fa_status check_operands(const struct cli_command *command,
                                     const struct cli_options *options, struct fa_error *error)
{
    if (options->n_operands > command->operands_max) {
        const char *extra = options->operands[command->operands_max];
        if (command->operands_max == 0)
            return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected options only (they begin with --)",
                           extra);
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: one word too many; expected %s", extra,
                       command->operands);
    }
    if (options->n_operands < command->operands_min)
        return fa_fail(error, FA_BAD_ARGUMENT, "expected %s after %s", command->operands,
                       command->name);
    return FA_OK;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

bool cli_wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--format=json") == 0)
            return true;
        if (strcmp(argv[i], "--format") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0)
            return true;
    }
    return false;
}

/* getopt's state is global: this makes it start afresh. */
static void restart_getopt(void)
{
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
    optreset = 1;
    optind = 1;
#else
    optind = 0;
#endif
    opterr = 0;
}

enum fa_status cli_parse(const struct cli_command *command, int argc, char **argv,
                         struct cli_options *options, struct fa_error *error)
{
    struct table table;
    int found;
    build_table(command, &table);
    options->command = command;
    options->format = cli_wants_json(argc, argv) ? CLI_JSON_FORMAT : CLI_TEXT_FORMAT;
    options->help = wants_help(argc, argv);
    if (options->help)
        return FA_OK;
    restart_getopt();
    while ((found = getopt_long(argc, argv, ":", table.long_option, NULL)) != -1) {
        if (found == ':')
            return fa_fail(error, FA_BAD_ARGUMENT, "--%s: expected a value, %s after it",
                           table.name[optopt - FIRST_VALUE],
                           table.option[optopt - FIRST_VALUE]->value);
        if (found == HELP_VALUE) /* An abbreviated --help: wants_help has seen all others. */
            return refuse_unknown(&table, argv[optind - 1], error);
        if (found == '?')
            return refuse_option(&table, argv, error);
        enum fa_status status = take_option(&table, found - FIRST_VALUE, argv, options, error);
        if (status != FA_OK)
            return status;
    }
    options->operands = argv + optind;
    options->n_operands = argc - optind;
    return check_operands(command, options, error);
}

bool cli_begin(const struct cli_command *command, int argc, char **argv,
               struct cli_options *options, int *exit_status)
{
    struct fa_error error = {0};
    if (cli_parse(command, argc, argv, options, &error) != FA_OK) {
        *exit_status = cli_fail(command, options->format, &error);
        return false;
    }
    if (options->help) {
        cli_print_help(stdout, command);
        *exit_status = CLI_FINE;
        return false;
    }
    return true;
}

bool cli_given(const struct cli_options *options, const char *name)
{
    int index = 0;
    for (const struct cli_group *const *group = options->command->groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++, index++)
            if (strcmp((*group)->options[i].name, name) == 0)
                return options->given >> index & 1;
    return false;
}
