#include "tests/lesson_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/profile.h"

char *lesson_case_example(void)
{
    FILE *file = fopen(FLASHLAB_SOURCE_DIR "/lessons/README.md", "rb");
    size_t room = 1 << 17;
    char *text = calloc(1, room);
    if (!file || !text)
        abort();
    size_t n = fread(text, 1, room - 1, file);
    fclose(file);
    text[n] = '\0';
    char *begin = strstr(text, "````markdown\n");
    char *end = begin ? strstr(begin + 4, "\n````\n") : NULL;
    if (!end)
        abort();
    begin += strlen("````markdown\n");
    end[1] = '\0';
    memmove(text, begin, (size_t)(end + 2 - begin));
    return text;
}

struct lesson *lesson_case_read(const char *name, const char *text)
{
    struct lesson *lesson = NULL;
    struct fa_error error = {FA_OK, ""};
    if (lesson_parse(name, text, strlen(text), &lesson, &error) != FA_OK)
        fail_msg("%s", error.text);
    return lesson;
}

/* ---- a runner ---- */

/* The value after "--name ", in a buffer of its own; false: the option is not given. */
static bool find(const char *words, const char *name, char value[64])
{
    size_t n = strlen(name);
    for (const char *at = words; (at = strstr(at, "--")); at += 2)
        if (strncmp(at + 2, name, n) == 0 && (at[2 + n] == ' ' || at[2 + n] == '\0')) {
            const char *from = at + 2 + n + (at[2 + n] == ' ');
            snprintf(value, 64, "%.*s", (int)strcspn(from, " "), from);
            return true;
        }
    return false;
}

static void find_number(const char *words, const char *name, int64_t *number)
{
    char value[64];
    if (find(words, name, value))
        *number = strtoll(value, NULL, 10);
}

static enum fa_status read_words(const char *words, struct sim_experiment *experiment,
                                 struct fa_error *error)
{
    char value[64];
    int64_t n = 16, nq, nk, d = 4, heads = 1, batch = 1;
    find_number(words, "n", &n);
    nq = nk = n;
    find_number(words, "nq", &nq);
    find_number(words, "nk", &nk);
    find_number(words, "d", &d);
    find_number(words, "heads", &heads);
    find_number(words, "batch", &batch);
    memset(experiment, 0, sizeof *experiment);
    experiment->algorithm = fa_algorithm_find(find(words, "algorithm", value) ? value : "flash2");
    if (!experiment->algorithm)
        return fa_fail(error, FA_BAD_ARGUMENT, "no algorithm %s", value);
    if (find(words, "pass", value))
        experiment->pass = strcmp(value, "both") == 0       ? SIM_BOTH
                           : strcmp(value, "backward") == 0 ? SIM_BACKWARD
                                                            : SIM_FORWARD;
    experiment->problem = fa_problem_make(nq, nk, d);
    experiment->problem.heads = experiment->problem.kv_heads = heads;
    experiment->problem.batch = batch;
    if (find(words, "causal", value))
        experiment->problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    if (find(words, "dtype", value))
        experiment->problem.dtype = strcmp(value, "f16") == 0 ? FA_F16 : FA_F32;
    experiment->threads = 1;
    enum fa_status status = sim_machine_find(find(words, "machine", value) ? value : "a100",
                                             &experiment->machine, error);
    if (status == FA_OK && find(words, "tiles", value))
        status = sim_tile_choice_parse(value, &experiment->tiles, error);
    if (status == FA_OK && find(words, "sram", value))
        status = sim_parse_bytes(value, &experiment->machine.sram_bytes, error);
    return status;
}

static enum fa_status count(void *context, const char *words, struct sim_result *result,
                            bool *refused, struct fa_error *error)
{
    struct sim_experiment experiment;
    (void)context;
    enum fa_status status = read_words(words, &experiment, error);
    return status == FA_OK ? lesson_count(&experiment, result, refused, error) : status;
}

/* The experiment executed, with its trace and O. */
static struct fa_tensor execute(const char *words, struct sim_trace **trace)
{
    static const int order[4] = {0, 0, 1, 1};
    struct sim_experiment experiment;
    struct sim_result result;
    struct fa_tensor tensor[4];
    struct fa_error error;
    if (read_words(words, &experiment, &error) != FA_OK)
        abort();
    const struct fa_problem *p = &experiment.problem;
    for (int t = 0; t < 4; t++) {
        const int64_t shape[4] = {1, 1, t == 1 || t == 2 ? p->nk : p->nq, p->d};
        if (fa_tensor_create(&tensor[t], FA_F32, shape, &error) != FA_OK)
            abort();
        for (int64_t r = 0; r < shape[2]; r++)
            for (int64_t c = 0; c < shape[3]; c++)
                fa_tensor_set(&tensor[t], 0, 0, r, c, order[t] + .25 * (double)((r * 7 + c) % 5));
    }
    experiment.q = &tensor[0];
    experiment.k = &tensor[1];
    experiment.v = &tensor[2];
    experiment.o = &tensor[3];
    experiment.mode = SIM_COUNTED;
    experiment.trace = trace;
    if (sim_experiment_run(&experiment, &result, &error) != FA_OK)
        abort();
    for (int t = 0; t < 3; t++)
        fa_tensor_free(&tensor[t]);
    return tensor[3];
}

static enum fa_status cell(void *context, const char *words, const char *at, enum fa_tensor_id id,
                           int64_t row, int64_t column, double *value, struct fa_error *error)
{
    struct sim_trace *trace = NULL;
    (void)context;
    (void)error;
    struct fa_tensor o = execute(words, &trace);
    bool there = id == FA_O && strcmp(at, "end") == 0 && row < o.shape[2] && column < o.shape[3];
    *value = there ? fa_tensor_get(&o, 0, 0, row, column) : NAN;
    fa_tensor_free(&o);
    sim_trace_free(trace);
    return FA_OK;
}

static enum fa_status trips(void *context, const char *words, enum fa_tensor_id id, int64_t tile,
                            bool store, int64_t *n, struct fa_error *error)
{
    struct sim_trace *trace = NULL;
    (void)context;
    (void)error;
    struct fa_tensor o = execute(words, &trace);
    struct fa_tiles tiles = sim_trace_get_header(trace)->tiles;
    int64_t rows = id == FA_K || id == FA_V ? tiles.bc : tiles.br;
    *n = 0;
    for (uint64_t e = 0; e < sim_trace_length(trace); e++) {
        const struct sim_event *event = sim_trace_event(trace, e);
        *n += event->kind == (store ? SIM_STORE : SIM_LOAD) && event->tensor == id &&
              event->row / rows == tile;
    }
    fa_tensor_free(&o);
    sim_trace_free(trace);
    return FA_OK;
}

const struct lesson_runner lesson_case_runner = {.count = count, .cell = cell, .trips = trips};
