/* flashlab paper: published numbers beside ours. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/outputs.h"
#include "simulator/cli/problem_options.h"
#include "simulator/cli/progress.h"
#include "simulator/paper.h"

struct paper_options {
    struct cli_problem problem; /* for --threads */
    const char *out, *published;
};

/* The bits of the topics that the operand names; all without one. */
static enum fa_status read_topics(const struct cli_options *options, uint32_t *topics,
                                  struct fa_error *error)
{
    const char *names[SIM_PAPER_TOPICS + 2] = {NULL};
    int index = SIM_PAPER_TOPICS;
    for (int t = 0; t < SIM_PAPER_TOPICS; t++)
        names[t] = sim_paper_topic_name((enum sim_paper_topic)t);
    names[SIM_PAPER_TOPICS] = "all";
    if (options->n_operands > 0) {
        enum fa_status status = cli_parse_word(options->operands[0], names, &index, error);
        if (status) {
            char text[sizeof error->text];
            memcpy(text, error->text, sizeof text);
            return fa_fail(error, status, "\"%.100s\": %.800s", options->operands[0], text);
        }
    }
    *topics = index == SIM_PAPER_TOPICS ? (1u << SIM_PAPER_TOPICS) - 1 : 1u << index;
    return FA_OK;
}

/* The file's figures, in the place of the printed ones. */
static enum fa_status load_published(const char *path, json_t **object, struct fa_error *error)
{
    json_error_t place;
    FILE *file = fopen(path, "r");
    if (!file)
        return fa_fail(error, FA_IO, "--published: %s: can't be read: %s", path, strerror(errno));
    *object = json_loadf(file, JSON_REJECT_DUPLICATES, &place);
    fclose(file);
    if (!*object)
        return fa_fail(error, FA_BAD_FILE, "--published: %s:%d: %s", path, place.line, place.text);
    if (json_is_object(*object))
        return FA_OK;
    json_decref(*object);
    *object = NULL;
    return fa_fail(error, FA_BAD_FILE, "--published: %s: expected an object of ids and numbers",
                   path);
}

static enum fa_status publish(struct sim_paper *paper, json_t *object, struct fa_error *error)
{
    const char *id;
    json_t *value;
    json_object_foreach(object, id, value)
    {
        if (!json_is_number(value))
            return fa_fail(error, FA_BAD_FILE, "--published: %s: expected a number", id);
        enum fa_status status = sim_paper_publish(paper, id, json_number_value(value), error);
        if (status)
            return status;
    }
    return FA_OK;
}

static enum fa_status print(const struct sim_paper *paper, int format, struct fa_error *error)
{
    if (format != CLI_JSON_FORMAT) {
        sim_paper_text(stdout, paper);
        return FA_OK;
    }
    json_t *list = sim_paper_json(paper);
    if (!list)
        return fa_fail(error, FA_NO_MEMORY, "no memory to print the rows");
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
    return FA_OK;
}

/* Everything but what was missed: that is in *missed, and what is missing in *missing. */
static enum fa_status work(const struct paper_options *options, int *missed,
                           struct fa_error *missing, struct fa_error *error)
{
    struct sim_paper paper = {NULL, 0, 0};
    struct cli_progress progress;
    json_t *published = NULL;
    uint32_t topics = 0;
    int threads = cli_thread_count(&options->problem);
    struct sim_provenance provenance = {
        .version = FLASHLAB_VERSION, .command = cli_command_line(), .threads = threads};
    enum fa_status status = read_topics(&options->problem.base, &topics, error);

    if (!status && options->published)
        status = load_published(options->published, &published, error);
    if (!status && options->out)
        status = cli_folder_make(options->out, error);
    if (!status) {
        cli_progress_start(&progress, "counting");
        status = sim_paper_run(topics, threads, &progress.watch, &paper, error);
        cli_progress_end(&progress);
    }
    if (!status && published)
        status = publish(&paper, published, error);
    if (!status && options->out) {
        status = sim_paper_write(&paper, &provenance, options->out, missing);
        if (status == FA_MISSING_PART)
            status = FA_OK;
        else if (status)
            *error = *missing;
    }
    if (!status)
        status = print(&paper, options->problem.base.format, error);
    *missed = sim_paper_missed(&paper);
    sim_paper_free(&paper);
    json_decref(published);
    return status;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct paper_options options = {.problem = cli_problem_defaults};
    struct fa_error error = {FA_OK, ""}, missing = {FA_OK, ""};
    int exit_status, missed = 0;

    if (!cli_begin(command, argc, argv, &options.problem.base, &exit_status))
        return exit_status;
    if (work(&options, &missed, &missing, &error))
        return cli_fail(command, options.problem.base.format, &error);
    if (missed > 0)
        fprintf(stderr, "flashlab paper: %d exact row%s missed\n", missed,
                missed == 1 ? " is" : "s are");
    if (missing.status) /* What was printed stands; a second JSON value would spoil it. */
        exit_status = cli_fail(command, CLI_TEXT_FORMAT, &missing);
    else
        exit_status = CLI_FINE;
    return missed > 0 ? CLI_CHECK_FAILED : exit_status;
}

static const struct cli_option paper_options[] = {
    {.name = "out",
     .value = "DIR",
     .kind = CLI_FOLDER,
     .offset = offsetof(struct paper_options, out),
     .help = "Write a handout there: paper.md, paper.csv, and figures drawn by gnuplot."},
    {.name = "published",
     .value = "FILE",
     .kind = CLI_FILE,
     .offset = offsetof(struct paper_options, published),
     .help = "Compare with other figures than those printed: a JSON object of row ids and numbers, "
             "{\"figure2.standard.hbm\": 35.3}."},
};

static const struct cli_group paper_group = CLI_GROUP("Paper", paper_options);

static const struct cli_group *const groups[] = {&paper_group, &cli_threads_group,
                                                 &cli_format_group, NULL};

const struct cli_command cli_paper = {
    .name = "paper",
    .summary = "the papers' published numbers beside ours, and how each was obtained",
    .operands = "figure2|figure2-blocks|table20|table21|theorems|error|headlines|all",
    .operands_max = 1,
    .about =
        "Runs what FlashAttention's figures, tables and theorems (and FlashAttention-3's error\n"
        "table) speak of, and lays each number beside the published one, with their ratio, how\n"
        "it was obtained and which variant was counted. Exact rows must be met (status 1 if\n"
        "one is missed); times are estimates.",
    .examples = "  flashlab paper figure2\n"
                "  flashlab paper theorems --format json\n"
                "  flashlab paper all --out handout/",
    .groups = groups,
    .run = run,
};
