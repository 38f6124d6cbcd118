/* flashlab lesson: lessons in the terminal, and what a teacher does with them. */
#include <stdio.h>
#include <string.h>

#include "simulator/cli/options.h"

#ifdef FLASHLAB_HAVE_LESSONS
#include "simulator/cli/lesson_command.h"

#define AT(field) offsetof(struct cli_lesson_options, field)

static enum fa_status set_threshold(struct cli_options *options, const char *text,
                                    struct fa_error *error)
{
    double share = 0;
    enum fa_status status = cli_parse_real(text, &share, error);
    if (status != FA_OK || !(share >= 0 && share <= 1))
        return fa_fail(error, FA_BAD_ARGUMENT, "expected 0 to 1");
    ((struct cli_lesson_options *)options)->threshold = share;
    return FA_OK;
}

static const struct cli_option lesson_options[] = {
    {.name = "lessons",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = AT(lessons),
     .help = "Read the lessons of this folder (those that came with the program)."},
    {.name = "seed",
     .value = "S",
     .kind = CLI_INTEGER,
     .offset = AT(seed),
     .max = INT64_MAX,
     .help = "Other inputs for each student, and other sizes where the lesson has a list of them: "
             "the same seed gives the same numbers. Where no answer changes, show, play and export "
             "say so (those of the lesson)."},
    {.name = "threshold",
     .value = "X",
     .kind = CLI_OTHER,
     .set = set_threshold,
     .help = "Share of right answers below which answer exits with 1 (0.6)."},
    {.name = "out",
     .value = "PATH",
     .kind = CLI_FILE,
     .offset = AT(out),
     .help =
         "Of export the folder for handout.md, its pictures and answers.md; of answer a file for "
         "the result, which can be graded again."},
};

static const struct cli_group lesson_group = CLI_GROUP("Lessons", lesson_options);

enum { LIST, SHOW, PLAY, CHECK, ANSWER, EXPORT };
static const char *const verbs[] = {"list", "show", "play", "check", "answer", "export", NULL};
static const int operands_of[][2] = {{1, 1}, {2, 2}, {2, 2}, {1, 2}, {3, 3}, {2, 2}};
static const char *const usage[] = {"list",          "show N",        "play N",
                                    "check [N|all]", "answer N FILE", "export N --out DIR"};

/* The subcommand and the number of its lesson; -1: all. */
static enum fa_status read_operands(const struct cli_lesson_options *options, int *verb,
                                    int *number, struct fa_error *error)
{
    const struct cli_options *base = &options->base;
    struct fa_error inner;
    int64_t value = -1;
    *verb = LIST;
    *number = -1;
    if (base->n_operands == 0)
        return FA_OK;
    enum fa_status status = cli_parse_word(base->operands[0], verbs, verb, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "%.100s: %s", base->operands[0], inner.text);
    const int *counts = operands_of[*verb];
    if (base->n_operands < counts[0] || base->n_operands > counts[1])
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: expected lesson %s", verbs[*verb],
                       usage[*verb]);
    if (base->n_operands < 2 || (*verb == CHECK && strcmp(base->operands[1], "all") == 0))
        return FA_OK;
    status = cli_parse_integer(base->operands[1], 0, LESSON_NUMBERS - 1, &value, &inner);
    if (status != FA_OK)
        return fa_fail(error, status, "%.100s: %s, the number of a lesson", base->operands[1],
                       inner.text);
    *number = (int)value;
    return FA_OK;
}

static enum fa_status check_options(const struct cli_lesson_options *options, int verb,
                                    struct fa_error *error)
{
    const struct cli_options *base = &options->base;
    bool json = verb == LIST || verb == CHECK || verb == ANSWER;
    if (base->format == CLI_JSON_FORMAT && !json)
        return fa_fail(error, FA_BAD_ARGUMENT, "--format json: expected list, check or answer");
    if (cli_given(base, "threshold") && verb != ANSWER)
        return fa_fail(error, FA_BAD_ARGUMENT, "--threshold: expected lesson answer");
    if (options->out && verb != ANSWER && verb != EXPORT)
        return fa_fail(error, FA_BAD_ARGUMENT, "--out: expected lesson answer or export");
    if (!options->out && verb == EXPORT)
        return fa_fail(error, FA_BAD_ARGUMENT, "export: expected --out DIR");
    return FA_OK;
}

/* What the subcommands but check do, on lessons that are all fine. */
static enum fa_status run_verb(struct cli_lessons *lessons, int verb, int number, int *exit_status,
                               struct fa_error *error)
{
    const struct lesson *lesson = NULL;
    if (verb != LIST) {
        lesson = lesson_find(&lessons->shelf, number);
        if (!lesson)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "lesson %d: there is none of that number in %.800s", number,
                           lessons->shelf.folder);
    }
    switch (verb) {
    case SHOW:
        return cli_lesson_show(lessons, lesson, error);
    case PLAY:
        return cli_lesson_play(lessons, lesson, error);
    case ANSWER:
        return cli_lesson_grade(lessons, lesson, lessons->options->base.operands[2], exit_status,
                                error);
    case EXPORT:
        return cli_lesson_export(lessons, lesson, error);
    default:
        return cli_lesson_list(lessons, error);
    }
}

static enum fa_status run_lessons(const struct cli_lesson_options *options, int verb, int number,
                                  int *exit_status, struct fa_error *error)
{
    struct cli_lessons lessons = {.options = options, .seed = options->seed};
    if (verb == CHECK)
        return cli_lesson_check(options, number, exit_status, error);
    enum fa_status status = lesson_shelf_open(options->lessons, &lessons.shelf, error);
    if (status != FA_OK)
        return status;
    status = cli_lesson_runner_open(lessons.shelf.folder, &lessons.runner, error);
    if (status == FA_OK)
        status = run_verb(&lessons, verb, number, exit_status, error);
    cli_lesson_runner_close(lessons.runner);
    lesson_shelf_close(&lessons.shelf);
    return status;
}

static const struct cli_group *const groups[] = {&lesson_group, &cli_format_group, NULL};

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_lesson_options options = {.seed = -1, .threshold = 0.6};
    struct fa_error error = {FA_OK, ""};
    int exit_status = CLI_FINE, verb, number;
    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    enum fa_status status = read_operands(&options, &verb, &number, &error);
    if (status == FA_OK)
        status = check_options(&options, verb, &error);
    if (status == FA_OK)
        status = run_lessons(&options, verb, number, &exit_status, &error);
    return status == FA_OK ? exit_status : cli_fail(command, options.base.format, &error);
}

#else

static const struct cli_group *const groups[] = {&cli_format_group, NULL};

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_options options = {.format = CLI_TEXT_FORMAT};
    struct fa_error error;
    options.format = cli_wants_json(argc, argv) ? CLI_JSON_FORMAT : CLI_TEXT_FORMAT;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            cli_print_help(stdout, command);
            return CLI_FINE;
        }
    fa_fail(&error, FA_MISSING_PART,
            "this build has no lessons: install the development packages of md4c and libyaml "
            "(libmd4c-dev and libyaml-dev on Debian) and build again");
    return cli_fail(command, options.format, &error);
}

#endif

extern const struct cli_command cli_lesson;
const struct cli_command cli_lesson = {
    .name = "lesson",
    .summary = "lessons in the terminal: list, show, play, check, grade answers, print handouts",
    .operands = "list|show|play|check|answer|export",
    .operands_min = 0,
    .operands_max = 3,
    .about =
        "  lesson list             a line a lesson, beginning with its number; lesson alone does "
        "so too\n"
        "  lesson show N           all of its text, without the answers\n"
        "  lesson play N           step by step, from where it was left; a pipe's lines answer too\n"
        "  lesson check [N|all]    reads, runs and computes all of it: 1 if something does not "
        "hold,\n"
        "                          2 if a file is no lesson, each with file and line\n"
        "  lesson answer N FILE    grades {\"lesson\": N, \"seed\": S, \"answers\": {\"id\": "
        "value}}\n"
        "  lesson export N --out DIR    handout.md with pictures for grey print, and answers.md",
    .examples = "  flashlab lesson\n"
                "  flashlab lesson show 4\n"
                "  flashlab lesson check all\n"
                "  flashlab lesson export 6 --seed 7 --out handout",
    .groups = groups,
    .run = run,
};
