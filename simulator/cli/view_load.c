/* Runs from files: saved traces, and dropped ones. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulator/cli/view_runs.h"

/* The options that a trace's header stands for. False: it has tensors of its own, which no option
 * gives back. */
static bool header_words(const struct sim_trace_header *header, struct cli_words *words,
                         struct fa_error *error)
{
    const struct fa_problem *p = &header->problem;
    const struct fa_algorithm *algorithm = header->forward ? header->forward : header->algorithm;
    char number[16][64];
    int n = 0;
    enum fa_status status = FA_OK;
#define SAY(name, ...)                                                                           \
    do {                                                                                         \
        snprintf(number[n], sizeof number[n], __VA_ARGS__);                                      \
        if (status == FA_OK)                                                                     \
            status = cli_words_set(words, name, number[n], error);                               \
        n = (n + 1) % 16;                                                                        \
    } while (0)
    if (header->has_mask || header->has_bias || header->has_keep || p->blocks ||
        header->profile[0] == '\0')
        return false;
    SAY("algorithm", "%s", algorithm->name);
    if (header->forward)
        SAY("pass", "backward");
    SAY("batch", "%" PRId64, p->batch);
    SAY("heads", "%" PRId64, p->heads);
    SAY("kv-heads", "%" PRId64, p->kv_heads);
    if (p->nq == p->nk) {
        SAY("n", "%" PRId64, p->nq);
    } else {
        SAY("nq", "%" PRId64, p->nq);
        SAY("nk", "%" PRId64, p->nk);
    }
    SAY("d", "%" PRId64, p->d);
    SAY("dv", "%" PRId64, p->dv);
    SAY("scale", "%.17g", p->scale);
    if (p->causal != FA_CAUSAL_NONE)
        SAY("causal", "%s", fa_causal_name(p->causal));
    if (p->window_left >= 0 || p->window_right >= 0)
        SAY("window", "%" PRId64 ",%" PRId64, p->window_left, p->window_right);
    SAY("dtype", "%s", fa_dtype_name(p->dtype));
    if (p->dropout_p > 0) {
        SAY("dropout", "%.17g", p->dropout_p);
        SAY("dropout-seed", "%" PRIu64, p->dropout_seed);
    }
    SAY("tiles", "%" PRId64 "x%" PRId64, header->tiles.br, header->tiles.bc);
    if (header->sram_bytes)
        SAY("sram", "%" PRIu64, header->sram_bytes);
    SAY("seed", "%" PRIu64, header->seed);
    SAY("profile", "%s", header->profile);
#undef SAY
    return status == FA_OK;
}

/* Whether two traces hold the same events: then one run's values are the other's. */
static bool same_events(const struct sim_trace *a, const struct sim_trace *b)
{
    uint64_t n = sim_trace_length(a);
    if (n != sim_trace_length(b))
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(sim_trace_event(a, i), sim_trace_event(b, i), sizeof(struct sim_event)) != 0)
            return false;
    return true;
}

/* A chip or two, to read alone: what is run again comes from elsewhere. */
static void trace_chips(const struct view_run *run, struct view_option *options, int *n)
{
    const struct sim_trace_header *header = view_run_header(run);
    struct cli_problem problem = cli_problem_defaults;
    problem.algorithms[0] = header->forward ? header->forward : header->algorithm;
    problem.pass = header->forward ? SIM_BACKWARD : SIM_FORWARD;
    cli_view_chips(&problem, run, options, n);
    for (int i = 0; i < *n; i++)
        options[i].editable = false;
}

enum fa_status cli_view_load(struct cli_view_runs *runs, const char *path,
                             const struct fa_watch *watch, struct view_run **run,
                             struct view_option *options, int *n_options, struct fa_error *error)
{
    static const char own_tensors[] =
        "The trace does not hold the run's tensors, so cells have no values: run it again with its "
        "files.";
    static const char differs[] =
        "This version's run has other events than the trace, so cells have no values.";
    struct sim_trace *trace = NULL;
    struct view_run *again = NULL;
    struct fa_error inner;
    const char *why = own_tensors;
    enum fa_status status = sim_trace_load(path, &trace, error);
    if (status != FA_OK)
        return status;
    runs->words = (struct cli_words){.n = 0};
    if (header_words(sim_trace_get_header(trace), &runs->words, &inner)) {
        status = cli_view_open(runs, 0, NULL, watch, &again, options, n_options, &inner);
        if (status == FA_OK && same_events(view_run_trace(again), trace)) {
            sim_trace_free(trace);
            *run = again;
            return FA_OK;
        }
        view_run_close(again);
        why = differs;
        if (status == FA_CANCELLED) {
            sim_trace_free(trace);
            return fa_fail(error, FA_CANCELLED, "stopped");
        }
    }
    status = view_run_adopt(trace, NULL, why, run, error);
    if (status == FA_OK)
        trace_chips(*run, options, n_options);
    return status;
}

enum fa_status cli_view_take_file(void *context, const char *path, struct view_option *options,
                                  int *n_options, struct fa_error *error)
{
    struct cli_view_runs *runs = context;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[1000];
    (void)options, (void)n_options;
    if (strcmp(name, "q.npy") != 0 && strcmp(name, "k.npy") != 0 && strcmp(name, "v.npy") != 0)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: expected q.npy, k.npy or v.npy: all three are read from its folder",
                       name);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    static const char *const sizes[] = {"n", "nq", "nk", "d", "dv", "heads", "kv-heads", "batch",
                                        "seed", "profile"};
    struct cli_words before = runs->words;
    enum fa_status status = FA_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == FA_OK; i++)
        status = cli_words_set(&runs->words, sizes[i], NULL, error);
    if (status == FA_OK)
        status = cli_words_set(&runs->words, "in", folder, error);
    if (status != FA_OK)
        runs->words = before;
    return status;
}
