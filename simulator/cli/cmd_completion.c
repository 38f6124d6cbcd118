/* flashlab completion: shell scripts made from the option tables that parse. */
#include <string.h>

#include "reference/algorithm.h"
#include "simulator/cli/options.h"

extern const struct cli_command cli_completion;

/* The words that may stand after the option, or NULL. */
static const char *const *words_of(const struct cli_option *option)
{
    return option->list_words ? option->list_words() : option->words;
}

static void print_words(const char *const *words, const char *between)
{
    for (int i = 0; words[i]; i++)
        printf("%s%s", i ? between : "", words[i]);
}

static void print_command_names(const char *between)
{
    for (int i = 0; cli_commands[i]; i++)
        printf("%s%s", i ? between : "", cli_commands[i]->name);
    printf("%shelp", between);
}

/* In single quotes, where the shell takes all but a single quote as it is. */
static void print_in_quotes(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

/* Operands that are words to choose from: "bash|zsh|fish". */
static void print_operands(const struct cli_command *command)
{
    for (const char *at = command->operands; *at; at++)
        putchar(*at == '|' ? ' ' : *at);
}

static bool operands_are_words(const struct cli_command *command)
{
    return strchr(command->operands, '|') != NULL;
}

/* ---- bash ---------------------------------------------------------------------------------- */

/* --vary algorithm=A,B: the words that stand for its list. */
static void print_bash_algorithms(void)
{
    fputs("            algorithm=) _flashlab_list '", stdout);
    for (int i = 0; i < FA_ALGORITHMS; i++)
        printf("%s%s", i ? " " : "", fa_algorithms[i]->name);
    fputs("' ;;\n", stdout);
}

static void print_bash_option(const struct cli_option *option)
{
    const char *const *words = words_of(option);
    if (!option->value)
        return;
    /* After an equals sign the name has one at its end; an optional value comes in no other way. */
    if (option->value_optional)
        printf("            --%s=) ", option->name);
    else
        printf("            --%s | --%s=) ", option->name, option->name);
    if (words) {
        fputs(option->list ? "_flashlab_list '" : "_flashlab_words '", stdout);
        print_words(words, " ");
        fputs("' ;;\n", stdout);
        if (strcmp(option->name, "vary") == 0)
            print_bash_algorithms();
    } else if (option->kind == CLI_FILE || option->kind == CLI_FOLDER) {
        printf("COMPREPLY=($(compgen -%c -- \"$word\")) ;;\n",
               option->kind == CLI_FOLDER ? 'd' : 'f');
    } else {
        fputs("COMPREPLY=() ;;\n", stdout);
    }
}

static void print_bash_command(const struct cli_command *command)
{
    printf("    %s)\n        case $before in\n", command->name);
    for (const struct cli_group *const *group = command->groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++)
            print_bash_option(&(*group)->options[i]);
    fputs("            *) ", stdout);
    if (command->operands_max > 0) {
        fputs("if [[ $word != -* ]]; then COMPREPLY=($(compgen ", stdout);
        if (operands_are_words(command)) {
            fputs("-W '", stdout);
            print_operands(command);
            putchar('\'');
        } else {
            fputs("-f", stdout);
        }
        fputs(" -- \"$word\")); return; fi\n               ", stdout);
    }
    fputs("COMPREPLY=($(compgen -W '", stdout);
    for (const struct cli_group *const *group = command->groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++)
            printf("--%s ", (*group)->options[i].name);
    fputs("--help' -- \"$word\")) ;;\n        esac ;;\n", stdout);
}

static void print_bash(void)
{
    fputs("# bash completion of flashlab: source it, or put it where bash-completion looks.\n"
          "_flashlab_words()\n"
          "{\n"
          "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$1\" -- \"$word\"))\n"
          "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null\n"
          "}\n"
          "_flashlab_list()\n"
          "{\n"
          "    [[ $word == *,* ]] && prefix+=${word%,*},\n"
          "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$1\" -- \"${word##*,}\"))\n"
          "}\n"
          "_flashlab()\n"
          "{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} prefix=\n"
          "    # An equals sign is a word of its own, unless COMP_WORDBREAKS lacks it.\n"
          "    if [[ $word == '=' ]]; then\n"
          "        word= before+='='\n"
          "    elif [[ $before == '=' ]]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD - 2]}=\n"
          "    elif [[ $word == *=* ]]; then\n"
          "        before=${word%%=*}= prefix=${word%%=*}= word=${word#*=}\n"
          "    fi\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_command_names(" ");
    fputs(" --help --version' -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    help)\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_command_names(" ");
    fputs("' -- \"$word\")) ;;\n", stdout);
    for (int i = 0; cli_commands[i]; i++)
        print_bash_command(cli_commands[i]);
    fputs("    esac\n"
          "}\n"
          "complete -o bashdefault -F _flashlab flashlab\n",
          stdout);
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* A text inside the brackets of an _arguments specification, in single quotes. */
static void print_zsh_text(const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

/* Words of an _arguments list, in which a colon means something. */
static void print_zsh_words(const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        if (i > 0)
            putchar(' ');
        for (const char *at = words[i]; *at; at++)
            printf(*at == ':' ? "\\:" : "%c", *at);
    }
}

static void print_zsh_option(const struct cli_option *option)
{
    const char *const *words = words_of(option);
    const char *equals = !option->value ? "" : option->value_optional ? "=-" : "=";
    printf("            '--%s%s[", option->name, equals);
    print_zsh_text(option->help);
    putchar(']');
    if (option->value) {
        printf("%s%s:", option->value_optional ? "::" : ":", option->name);
        if (words && option->list) {
            printf("_values -s , %s ", option->name);
            print_zsh_words(words);
        } else if (words) {
            putchar('(');
            print_zsh_words(words);
            putchar(')');
        } else if (option->kind == CLI_FILE || option->kind == CLI_FOLDER) {
            fputs(option->kind == CLI_FOLDER ? "_files -/" : "_files", stdout);
        } else {
            putchar(' ');
        }
    }
    fputs("' \\\n", stdout);
}

static void print_zsh_command(const struct cli_command *command)
{
    printf("    %s)\n        _arguments \\\n", command->name);
    for (const struct cli_group *const *group = command->groups; *group; group++)
        for (int i = 0; i < (*group)->n_options; i++)
            print_zsh_option(&(*group)->options[i]);
    if (operands_are_words(command)) {
        fputs("            '*:operand:(", stdout);
        print_operands(command);
        fputs(")' \\\n", stdout);
    } else if (command->operands_max > 0) {
        fputs("            '*:operand:_files' \\\n", stdout);
    }
    fputs("            '--help[Show this command]' ;;\n", stdout);
}

static void print_zsh(void)
{
    fputs("#compdef flashlab\n"
          "# zsh completion of flashlab: put it as _flashlab in a folder of $fpath.\n"
          "_flashlab()\n"
          "{\n"
          "    local -a commands\n"
          "    if ((CURRENT == 2)); then\n"
          "        commands=(\n",
          stdout);
    for (int i = 0; cli_commands[i]; i++) {
        printf("            '%s:", cli_commands[i]->name);
        print_zsh_text(cli_commands[i]->summary);
        fputs("'\n", stdout);
    }
    fputs("            'help:options and examples of a command'\n"
          "        )\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=${words[2]}\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n"
          "    help)\n"
          "        compadd ",
          stdout);
    print_command_names(" ");
    fputs(" ;;\n", stdout);
    for (int i = 0; cli_commands[i]; i++)
        print_zsh_command(cli_commands[i]);
    fputs("    esac\n"
          "}\n"
          "compdef _flashlab flashlab\n",
          stdout);
}

/* ---- fish ---------------------------------------------------------------------------------- */

static void print_fish_option(const struct cli_command *command, const struct cli_option *option)
{
    const char *const *words = words_of(option);
    printf("complete -c flashlab -n '__fish_seen_subcommand_from %s' -l %s", command->name,
           option->name);
    /* -r: a value is needed; -x: and it is no file. */
    if (option->kind == CLI_FILE)
        fputs(" -r -F", stdout);
    else if (option->kind == CLI_FOLDER)
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else if (option->value && !option->value_optional)
        fputs(" -x", stdout);
    if (words) {
        fputs(option->list ? " -a '(__fish_append , " : " -a '", stdout);
        print_words(words, " ");
        fputs(option->list ? ")'" : "'", stdout);
    }
    fputs(" -d '", stdout);
    print_in_quotes(option->help);
    fputs("'\n", stdout);
}

static void print_fish(void)
{
    fputs("# fish completion of flashlab: put it in ~/.config/fish/completions/flashlab.fish.\n"
          "complete -c flashlab -f\n",
          stdout);
    for (int i = 0; cli_commands[i]; i++) {
        const struct cli_command *command = cli_commands[i];
        printf("complete -c flashlab -n __fish_use_subcommand -a %s -d '", command->name);
        print_in_quotes(command->summary);
        fputs("'\n", stdout);
        for (const struct cli_group *const *group = command->groups; *group; group++)
            for (int j = 0; j < (*group)->n_options; j++)
                print_fish_option(command, &(*group)->options[j]);
        if (command->operands_max == 0)
            continue;
        printf("complete -c flashlab -n '__fish_seen_subcommand_from %s' ", command->name);
        if (operands_are_words(command)) {
            fputs("-a '", stdout);
            print_operands(command);
            fputs("'\n", stdout);
        } else {
            fputs("-F\n", stdout);
        }
    }
    fputs("complete -c flashlab -n __fish_use_subcommand -a help -d 'options and examples of a "
          "command'\ncomplete -c flashlab -n '__fish_seen_subcommand_from help' -a '",
          stdout);
    print_command_names(" ");
    fputs("'\n", stdout);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_options options = {0};
    struct fa_error error, inner;
    int exit_status, shell = 0;
    if (!cli_begin(command, argc, argv, &options, &exit_status))
        return exit_status;
    enum fa_status status = cli_parse_word(options.operands[0], shells, &shell, &inner);
    if (status != FA_OK) {
        fa_fail(&error, status, "%s: %s", options.operands[0], inner.text);
        return cli_fail(command, options.format, &error);
    }
    if (shell == 0)
        print_bash();
    else if (shell == 1)
        print_zsh();
    else
        print_fish();
    return CLI_FINE;
}

static const struct cli_group *const groups[] = {NULL};

const struct cli_command cli_completion = {
    .name = "completion",
    .summary = "print a script that completes commands and options in a shell",
    .operands = "bash|zsh|fish",
    .operands_min = 1,
    .operands_max = 1,
    .about = "The script goes to standard output; its first line says where it belongs.",
    .examples = "  . <(flashlab completion bash)\n"
                "  flashlab completion fish > ~/.config/fish/completions/flashlab.fish",
    .groups = groups,
    .run = run,
};
