/* flashlab trace: what a saved trace says in all, event by event, or at one position. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/options.h"
#include "simulator/cli/trace_views.h"

struct trace_options {
    struct cli_options base;
    uint64_t kinds, tensors; /* bits; 0: all */
    int64_t head, i, j;      /* -1: all */
    int64_t from, to, at;    /* -1: not given */
};

#define AT(field) offsetof(struct trace_options, field)

static const char *kind_name(int n)
{
    return n < SIM_EVENT_KINDS ? sim_event_kind_name((enum sim_event_kind)n) : NULL;
}

static const char *tensor_name(int n)
{
    return n < FA_TENSORS ? fa_tensor_name((enum fa_tensor_id)n) : NULL;
}

/* Names between commas as bits of their places. */
static enum fa_status read_names(const char *text, const char *(*name)(int n), uint64_t *bits,
                                 struct fa_error *error)
{
    uint64_t read = 0;
    while (true) {
        size_t length = strcspn(text, ",");
        int n = 0;
        while (name(n) && !(strlen(name(n)) == length && strncmp(name(n), text, length) == 0))
            n++;
        if (!name(n)) {
            char known[256] = "";
            size_t used = 0;
            for (int k = 0; name(k) && used < sizeof known; k++) {
                int m = snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "", name(k));
                used += m > 0 ? (size_t)m : 0;
            }
            return fa_fail(error, FA_BAD_ARGUMENT, "expected names between commas of %s", known);
        }
        read |= UINT64_C(1) << n;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *bits = read;
    return FA_OK;
}

static enum fa_status set_kinds(struct cli_options *options, const char *text,
                                struct fa_error *error)
{
    return read_names(text, kind_name, &((struct trace_options *)options)->kinds, error);
}

static enum fa_status set_tensors(struct cli_options *options, const char *text,
                                  struct fa_error *error)
{
    return read_names(text, tensor_name, &((struct trace_options *)options)->tensors, error);
}

static bool lists_events(const struct trace_options *options)
{
    return options->kinds || options->tensors || options->head >= 0 || options->i >= 0 ||
           options->j >= 0 || options->from >= 0 || options->to >= 0;
}

static bool wanted(const struct trace_options *options, const struct sim_event *event)
{
    /* A skip is of no tensor: it is shown where none is asked for. */
    if (options->tensors && (event->kind == SIM_SKIP || !(options->tensors >> event->tensor & 1)))
        return false;
    return (!options->kinds || options->kinds >> event->kind & 1) &&
           (options->head < 0 || (uint64_t)options->head == event->head) &&
           (options->i < 0 || (uint64_t)options->i == event->i) &&
           (options->j < 0 || (uint64_t)options->j == event->j);
}

static bool dump(const json_t *object, const char *before, size_t flags)
{
    if (!object)
        return false;
    fputs(before, stdout);
    json_dumpf(object, stdout, flags);
    return true;
}

/* Prints the events of the slice that pass the filter. False: no memory. */
static bool print_events(const struct trace_options *options, const struct sim_trace *trace)
{
    uint64_t n = sim_trace_length(trace), printed = 0;
    uint64_t from = options->from >= 0 ? (uint64_t)options->from : 0;
    uint64_t to = options->to >= 0 && (uint64_t)options->to < n ? (uint64_t)options->to : n;
    bool json = options->base.format == CLI_JSON_FORMAT, good = true;

    if (json)
        putchar('[');
    for (uint64_t index = from; index < to && good && !ferror(stdout); index++) {
        if (!wanted(options, sim_trace_event(trace, index)))
            continue;
        if (json) {
            json_t *object = cli_trace_event_json(trace, index);
            good = dump(object, printed ? ",\n" : "\n", JSON_COMPACT);
            json_decref(object);
        } else {
            cli_trace_print_event(stdout, trace, index);
        }
        printed++;
    }
    if (json)
        puts("\n]");
    else
        fprintf(stderr, "flashlab trace: %" PRIu64 " of %" PRIu64 " events\n", printed, n);
    return good;
}

static bool print_state(const struct trace_options *options, const struct sim_trace *trace)
{
    if (options->base.format != CLI_JSON_FORMAT) {
        cli_trace_print_state(stdout, trace, (uint64_t)options->at);
        return true;
    }
    json_t *object = cli_trace_state_json(trace, (uint64_t)options->at);
    bool good = dump(object, "", JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
    return good;
}

static bool print_summary(const struct trace_options *options, const struct sim_trace *trace)
{
    struct cli_trace_summary summary;
    cli_trace_summarise(trace, &summary);
    if (options->base.format != CLI_JSON_FORMAT) {
        cli_trace_print_summary(stdout, &summary);
        return true;
    }
    json_t *object = cli_trace_summary_json(&summary);
    bool good = dump(object, "", JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
    return good;
}

/* What can be said against the options before, and once, the trace is there. */
static enum fa_status check(const struct trace_options *options, const struct sim_trace *trace,
                            struct fa_error *error)
{
    uint64_t n = sim_trace_length(trace);
    if (options->at >= 0 && lists_events(options))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--at shows a state, the other options list events: expected only one of "
                       "them");
    if (options->at >= 0 && (uint64_t)options->at > n)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--at %" PRId64 ": expected 0 to %" PRIu64 ", the events of the trace",
                       options->at, n);
    if (options->from >= 0 && (uint64_t)options->from > n)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--from %" PRId64 ": expected 0 to %" PRIu64 ", the events of the trace",
                       options->from, n);
    if (options->from >= 0 && options->to >= 0 && options->to < options->from)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "--to %" PRId64 ": expected --from's %" PRId64 " or more", options->to,
                       options->from);
    return FA_OK;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct trace_options options = {.head = -1, .i = -1, .j = -1, .from = -1, .to = -1, .at = -1};
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = NULL;
    int exit_status;

    if (!cli_begin(command, argc, argv, &options.base, &exit_status))
        return exit_status;
    enum fa_status status = sim_trace_load(options.base.operands[0], &trace, &error);
    if (!status)
        status = check(&options, trace, &error);
    if (!status) {
        bool good = options.at >= 0          ? print_state(&options, trace)
                    : lists_events(&options) ? print_events(&options, trace)
                                             : print_summary(&options, trace);
        if (!good)
            status = fa_fail(&error, FA_NO_MEMORY, "no memory to print the trace");
    }
    sim_trace_free(trace);
    return status ? cli_fail(command, options.base.format, &error) : CLI_FINE;
}

static const char *const *list_kinds(void)
{
    static const char *words[SIM_EVENT_KINDS + 1];
    for (int n = 0; n < SIM_EVENT_KINDS; n++)
        words[n] = kind_name(n);
    return words;
}

static const char *const *list_tensors(void)
{
    static const char *words[FA_TENSORS + 1];
    for (int n = 0; n < FA_TENSORS; n++)
        words[n] = tensor_name(n);
    return words;
}

static const struct cli_option trace_options[] = {
    {.name = "kind",
     .value = "NAME[,NAME...]",
     .kind = CLI_OTHER,
     .set = set_kinds,
     .list_words = list_kinds,
     .list = true,
     .help = "List events of these kinds: load, store, compute, alloc, free, skip, refuse."},
    {.name = "tensor",
     .value = "NAME[,NAME...]",
     .kind = CLI_OTHER,
     .set = set_tensors,
     .list_words = list_tensors,
     .list = true,
     .help = "List events of these tensors: q, k, v, o, dq, dk, dv, lse, s, p, dp, ds, pd (P after "
             "dropout) ..."},
    {.name = "head",
     .value = "N",
     .kind = CLI_INTEGER,
     .offset = AT(head),
     .max = INT32_MAX,
     .help = "List events of this head (batch * heads + head)."},
    {.name = "i",
     .value = "N",
     .kind = CLI_INTEGER,
     .offset = AT(i),
     .max = INT32_MAX,
     .help = "List events of this query tile."},
    {.name = "j",
     .value = "N",
     .kind = CLI_INTEGER,
     .offset = AT(j),
     .max = INT32_MAX,
     .help = "List events of this key tile."},
    {.name = "from",
     .value = "P",
     .kind = CLI_INTEGER,
     .offset = AT(from),
     .max = INT64_MAX,
     .help = "List events from this one on (0)."},
    {.name = "to",
     .value = "P",
     .kind = CLI_INTEGER,
     .offset = AT(to),
     .max = INT64_MAX,
     .help = "List events up to this one, without it (the end)."},
    {.name = "at",
     .value = "P",
     .kind = CLI_INTEGER,
     .offset = AT(at),
     .max = INT64_MAX,
     .help = "Show the state after the first P events: what was moved, and what lies on chip."},
};

static const struct cli_group trace_group = CLI_GROUP("What to show", trace_options);
static const struct cli_group *const groups[] = {&trace_group, &cli_format_group, NULL};

const struct cli_command cli_trace = {
    .name = "trace",
    .summary = "show what a saved trace holds: in all, event by event, or at one position",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .about =
        "Reads a trace that --trace saved. Without options it is summed up; the filters and the\n"
        "slice list events, numbered from 0; --at shows the machine at one position.",
    .examples = "  flashlab run --n 128 --d 16 --tiles 16x16 --trace run.trace\n"
                "  flashlab trace run.trace\n"
                "  flashlab trace run.trace --kind load,store --tensor o\n"
                "  flashlab trace run.trace --at 100",
    .groups = groups,
    .run = run,
};
