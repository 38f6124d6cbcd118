#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/options.h"

extern const struct cli_command cli_count, cli_run, cli_generate, cli_sweep, cli_trace,
    cli_machines, cli_tour, cli_view, cli_lesson, cli_paper, cli_precision, cli_bench,
    cli_check_command, cli_counters, cli_completion;

const struct cli_command *const cli_commands[] = {
    &cli_tour,          &cli_view,  &cli_lesson, &cli_count,    &cli_run,   &cli_generate,
    &cli_check_command, &cli_sweep, &cli_trace,  &cli_machines, &cli_paper, &cli_precision,
    &cli_counters,      &cli_bench, &cli_completion, NULL,
};

static char *command_line;

const struct cli_command *cli_command_find(const char *name)
{
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

const char *cli_command_line(void)
{
    return command_line ? command_line : "flashlab";
}

/* A text that a shell reads as this word again. Bytes that are not printable ASCII become octal
 * escapes, so that what holds the line (JSON, a trace) needs no encoding. */
static void print_quoted(FILE *file, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=,:+%@^";
    bool printable = true;
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, file);
        return;
    }
    for (const char *at = word; *at; at++)
        printable = printable && *at >= ' ' && *at <= '~';
    fputs(printable ? "'" : "$'", file);
    for (const char *at = word; *at; at++) {
        if (*at == '\'')
            fputs(printable ? "'\\''" : "\\'", file);
        else if (*at == '\\' && !printable)
            fputs("\\\\", file);
        else if (*at >= ' ' && *at <= '~')
            fputc(*at, file);
        else
            fprintf(file, "\\%03o", (unsigned)(unsigned char)*at);
    }
    fputc('\'', file);
}

/* Without memory the line stays "flashlab". */
static void remember_command_line(int argc, char **argv)
{
    size_t n_bytes;
    char *line = NULL;
    FILE *file = open_memstream(&line, &n_bytes);
    if (!file)
        return;
    fputs("flashlab", file);
    for (int i = 1; i < argc; i++) {
        fputc(' ', file);
        print_quoted(file, argv[i]);
    }
    if (fclose(file) == 0)
        command_line = line;
    else
        free(line);
}

int cli_exit_status(enum fa_status status)
{
    switch (status) {
    case FA_OK:
        return CLI_FINE;
    case FA_MISSING_PART:
        return CLI_MISSING;
    case FA_CANCELLED:
        return CLI_CANCELLED;
    default:
        return CLI_REFUSED;
    }
}

/* A message is one line, and JSON takes UTF-8 alone: what an argument or a path may hold beside
 * that becomes a question mark. */
static void make_printable(char *text, bool ascii)
{
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f || (ascii && (unsigned char)*at > 0x7f))
            *at = '?';
}

static void print_json_error(const struct fa_error *error, char *message)
{
    json_t *text = json_string(message);
    if (!text) {
        make_printable(message, true);
        text = json_string(message);
    }
    json_t *object =
        json_pack("{s:{s:s,s:o}}", "error", "code", fa_status_name(error->status), "message", text);
    if (object) {
        json_dumpf(object, stdout, JSON_COMPACT);
        fputc('\n', stdout);
    }
    json_decref(object);
}

int cli_fail(const struct cli_command *command, int format, const struct fa_error *error)
{
    char message[sizeof error->text];
    memcpy(message, error->text, sizeof message);
    message[sizeof message - 1] = '\0';
    make_printable(message, false);
    if (format == CLI_JSON_FORMAT)
        print_json_error(error, message);
    else
        fprintf(stderr, "flashlab%s%s: %s\n", command ? " " : "", command ? command->name : "",
                message);
    return cli_exit_status(error->status);
}

static int refuse_command(const char *name, int format)
{
    const char *names[64];
    struct fa_error error;
    int n = 0;
    while (cli_commands[n] && n < 63) {
        names[n] = cli_commands[n]->name;
        n++;
    }
    names[n++] = "help";
    const char *near = cli_nearest(name, names, n);
    if (near)
        fa_fail(&error, FA_BAD_ARGUMENT, "%s: unknown command; did you mean %s?", name, near);
    else
        fa_fail(&error, FA_BAD_ARGUMENT, "%s: unknown command; flashlab help lists them", name);
    return cli_fail(NULL, format, &error);
}

static int show_help(int argc, char **argv, int format)
{
    struct fa_error error;
    if (argc > 3) {
        fa_fail(&error, FA_BAD_ARGUMENT, "help %s: expected one command", argv[2]);
        return cli_fail(NULL, format, &error);
    }
    if (argc < 3 || strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "help") == 0) {
        cli_print_overview(stdout);
        return CLI_FINE;
    }
    const struct cli_command *command = cli_command_find(argv[2]);
    if (!command)
        return refuse_command(argv[2], format);
    cli_print_help(stdout, command);
    return CLI_FINE;
}

static int run_command(int argc, char **argv)
{
    int format = cli_wants_json(argc, argv) ? CLI_JSON_FORMAT : CLI_TEXT_FORMAT;
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        cli_print_overview(stderr);
        return CLI_REFUSED;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return show_help(argc, argv, format);
    if (strcmp(name, "--version") == 0) {
        puts("flashlab " FLASHLAB_VERSION);
        return CLI_FINE;
    }
    if (name[0] == '-') {
        struct fa_error error;
        fa_fail(&error, FA_BAD_ARGUMENT, "%s: expected a command before the options", name);
        return cli_fail(NULL, format, &error);
    }
    const struct cli_command *command = cli_command_find(name);
    if (!command)
        return refuse_command(name, format);
    return command->run(command, argc - 1, argv + 1);
}

int cli_main(int argc, char **argv)
{
    remember_command_line(argc, argv);
    int status = run_command(argc, argv);
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fclose(stdout) != 0 || failed;
    if (failed && status != CLI_CANCELLED) {
        fprintf(stderr, "flashlab: standard output: %s\n",
                errno ? strerror(errno) : "could not be written");
        status = CLI_REFUSED;
    }
    free(command_line);
    command_line = NULL;
    return status;
}
