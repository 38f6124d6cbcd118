#include <string.h>

#include "simulator/cli/options.h"

enum { HELP_COLUMN = 26, HELP_WIDTH = 80 };

/* Prints text from HELP_COLUMN on, broken between words; the cursor stands at `column`. */
static void print_wrapped(FILE *file, const char *text, int column)
{
    if (column >= HELP_COLUMN) {
        fputc('\n', file);
        column = 0;
    }
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fputc('\n', file);
            column = 0;
        }
        int blanks = column > HELP_COLUMN ? 1 : HELP_COLUMN - column;
        fprintf(file, "%*s%.*s", blanks, "", length, text);
        column += blanks + length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

static void print_option(FILE *file, const struct cli_option *option)
{
    int column = fprintf(file, "  --%s", option->name);
    if (option->value && option->value_optional)
        column += fprintf(file, "[=%s]", option->value);
    else if (option->value)
        column += fprintf(file, " %s", option->value);
    print_wrapped(file, option->help, column);
}

void cli_print_help(FILE *file, const struct cli_command *command)
{
    bool optional = command->operands_min == 0;
    int column = fprintf(file, "Usage: flashlab %s", command->name);
    if (command->groups[0])
        column += fprintf(file, " [OPTIONS]");
    if (command->operands_max > 0 && column + 3 + (int)strlen(command->operands) > HELP_WIDTH)
        fputs("\n      ", file);
    if (command->operands_max > 0)
        fprintf(file, optional ? " [%s]" : " %s", command->operands);
    fprintf(file, "\n\n%s\n", command->about);
    for (const struct cli_group *const *group = command->groups; *group; group++) {
        fprintf(file, "\n%s:\n", (*group)->title);
        for (int i = 0; i < (*group)->n_options; i++)
            print_option(file, &(*group)->options[i]);
    }
    if (command->examples[0])
        fprintf(file, "\nExamples:\n%s\n", command->examples);
}

void cli_print_overview(FILE *file)
{
    fputs("flashlab: FlashAttention on a machine that counts every memory access\n"
          "\n"
          "Usage: flashlab COMMAND [OPTIONS]\n"
          "\n"
          "Commands:\n",
          file);
    for (const struct cli_command *const *command = cli_commands; *command; command++)
        fprintf(file, "  %-12s%s\n", (*command)->name, (*command)->summary);
    fputs(
        "\n"
        "  flashlab help COMMAND     the command's options and examples, as does --help after it\n"
        "  flashlab --version        the version\n"
        "\n"
        "Try: flashlab count\n"
        "Exit status: 0 fine; 1 a check failed; 2 bad usage, input or output; 3 a part is "
        "missing.\n",
        file);
}
