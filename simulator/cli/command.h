/*
 * The commands of the program `flashlab`, as data.
 *
 * A command parses its arguments with cli_parse (options.h), does its work through the libraries,
 * prints to standard output, and returns the program's exit status:
 *   0 fine; 1 a comparison, check or grade failed; 2 bad usage or input, a tile that does not fit,
 *   a size past the counters, an unwritable output; 3 an optional part is missing; 130 cancelled.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#ifdef __cplusplus
extern "C" {
#endif

enum cli_exit {
    CLI_FINE = 0,
    CLI_CHECK_FAILED = 1,
    CLI_REFUSED = 2,
    CLI_MISSING = 3,
    CLI_CANCELLED = 130
};

struct cli_group;

struct cli_command {
    const char *name;     /* "count" */
    const char *summary;  /* its line in the overview, without a full stop */
    const char *operands; /* as the usage line shows them: "FILE", "bash|zsh|fish"; "" for none */
    int operands_min, operands_max;
    const char *about;    /* one or more lines under the usage line */
    const char *examples; /* lines, each a command that works as it stands; "" for none */
    const struct cli_group *const *groups; /* options, ended by NULL; --help is added to them */
    /* argv[0] is the command's name. */
    int (*run)(const struct cli_command *command, int argc, char **argv);
};

/* In the order of the overview, ended by NULL: commands.c. */
extern const struct cli_command *const cli_commands[];

/* NULL if there is none of that name. */
const struct cli_command *cli_command_find(const char *name);

/* The whole program but for main's own return: finds the command and runs it. argv[0] is the
 * program. Standard output is flushed and closed, and a failure to write it is an error. */
int cli_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
