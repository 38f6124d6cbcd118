/*
 * Options: one table per command drives getopt_long, prints its help and completes it in a shell.
 *
 * A command's options are groups of struct cli_option. What an option sets is a field of the
 * command's own struct, whose first member is a struct cli_options:
 *
 *     struct machines_options { struct cli_options base; const char *name; };
 *     static const struct cli_option options[] = {
 *         {.name = "name", .value = "NAME", .help = "Only this one.", .kind = CLI_TEXT,
 *          .offset = offsetof(struct machines_options, name)},
 *     };
 *     static const struct cli_group group = CLI_GROUP("Choice", options);
 *     static const struct cli_group *const groups[] = {&group, &cli_format_group, NULL};
 *
 * Groups that several commands share, and the problem they describe: problem_options.h.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "reference/status.h"
#include "simulator/cli/command.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cli_format { CLI_TEXT_FORMAT, CLI_JSON_FORMAT };

/* What every command's options begin with. */
struct cli_options {
    const struct cli_command *command;
    int format;     /* enum cli_format */
    bool help;      /* --help was given: nothing else was looked at */
    uint64_t given; /* bit of each option, in the order of the command's groups */
    char **operands;
    int n_operands;
};

enum cli_kind {
    CLI_FLAG,    /* bool, no value */
    CLI_INTEGER, /* int64_t from min to max */
    CLI_SIZE,    /* the same with K, M or G, powers of 1024, after it */
    CLI_TEXT,    /* const char *, any but the empty text */
    CLI_FILE,    /* the same: a path */
    CLI_FOLDER,  /* the same: a path of a folder */
    CLI_WORD,    /* int: the index in words */
    CLI_OTHER    /* by `set`; words, where given, are for completion alone */
};

struct cli_option {
    const char *name;  /* without the dashes; a command has at most 63 */
    const char *value; /* as the help shows it: "N", "BRxBC"; NULL for a flag */
    const char *help;  /* a sentence or two, with the default */
    enum cli_kind kind;
    size_t offset; /* of the field that it sets */
    int64_t min, max;
    const char *const *words; /* ended by NULL */
    const char *const *(*list_words)(void); /* the same where they are not constant; or NULL */
    bool value_optional;      /* --name or --name=VALUE, of CLI_OTHER alone */
    bool list;                /* several of the words may be given, with commas between */
    bool repeatable;          /* may be given more than once, of CLI_OTHER alone */
    /* Reads text (NULL where the optional value was left out) into the command's struct. The
     * error says what was expected ("expected 1 or more"); the parser puts the option before it. */
    enum fa_status (*set)(struct cli_options *options, const char *text, struct fa_error *error);
};

struct cli_group {
    const char *title;
    const struct cli_option *options;
    int n_options;
};

#define CLI_GROUP(title, options) {title, options, (int)(sizeof(options) / sizeof *(options))}

extern const struct cli_group cli_format_group; /* --format text|json */

/*
 * Reads argv[1 ..) into *options, the first member of the command's struct, whose other members
 * the caller has set to the defaults. With --help, the rest is not read.
 * Errors: FA_BAD_ARGUMENT for an unknown or abbreviated option, one repeated that may not be, one
 * without its value, a value outside its domain, and too many or too few operands. options->format
 * is right then too.
 */
enum fa_status cli_parse(const struct cli_command *command, int argc, char **argv,
                         struct cli_options *options, struct fa_error *error);

/*
 * What each command begins with: cli_parse, and its two short ends. True if the command goes on;
 * else the help or the error was printed and *exit_status is what it returns.
 */
bool cli_begin(const struct cli_command *command, int argc, char **argv,
               struct cli_options *options, int *exit_status);

/* Was the option of that name (without dashes) given? */
bool cli_given(const struct cli_options *options, const char *name);

/* Prints the error as one line on standard error, or in JSON on standard output, and returns the
 * exit status that goes with it. `command` may be NULL: the program itself. */
int cli_fail(const struct cli_command *command, int format, const struct fa_error *error);
int cli_exit_status(enum fa_status status);

/* True if --format json, or --format=json, stands anywhere in argv. */
bool cli_wants_json(int argc, char **argv);

/* Usage, options and examples of one command; and of the program. */
void cli_print_help(FILE *file, const struct cli_command *command);
void cli_print_overview(FILE *file);

/* The nearest of n words by edit distance, or NULL where none is near enough to be meant. */
const char *cli_nearest(const char *word, const char *const *words, int n);

/* Numbers as options hold them: decimal digits with a sign, nothing before or after. The texts of
 * errors begin with "expected". FA_BAD_ARGUMENT, FA_TOO_LARGE past 2^63 - 1. */
enum fa_status cli_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out,
                                 struct fa_error *error);
enum fa_status cli_parse_size(const char *text, int64_t min, int64_t max, int64_t *out,
                              struct fa_error *error);
enum fa_status cli_parse_real(const char *text, double *out, struct fa_error *error); /* finite */

/* The index of the text in words, which NULL ends. FA_BAD_ARGUMENT, which lists them. */
enum fa_status cli_parse_word(const char *text, const char *const *words, int *out,
                              struct fa_error *error);

/* The command line as typed, quoted for a shell, beginning with "flashlab". cli_main sets it. */
const char *cli_command_line(void);

#ifdef __cplusplus
}
#endif
#endif
