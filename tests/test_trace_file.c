/* Traces as files: what is saved comes back, and what no run can have made is refused in words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/trace.h"
#include "tests/trace_case.h"

static char folder[] = "/tmp/flashlab-trace-XXXXXX";
static char path[64];

/* A file's text as lines, to take apart: line 0 is the header. */
enum { LINES_MAX = 40 };

struct text {
    int n;
    char *lines[LINES_MAX];
};

static char *read_all(const char *from, size_t *n)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 22);
    assert_non_null(bytes);
    *n = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static struct sim_trace *run(const struct trace_case *which)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_result result;
    struct sim_trace *trace = trace_case_run(which, &result, &error);
    if (!trace)
        fail_msg("%s, %s: %s", which->algorithm->name, which->name, error.text);
    return trace;
}

static struct text text_of(const struct trace_case *which)
{
    struct sim_trace *trace = run(which);
    struct text text = {0, {NULL}};
    size_t n;
    assert_int_equal(sim_trace_save(trace, path, NULL), FA_OK);
    sim_trace_free(trace);
    char *bytes = read_all(path, &n);
    bytes[n] = '\0';
    for (char *at = bytes; *at; at = strchr(at, '\n') + 1) {
        assert_true(text.n < LINES_MAX);
        text.lines[text.n] = strdup(at);
        *strchr(text.lines[text.n++], '\n') = '\0';
    }
    free(bytes);
    return text;
}

static void free_text(struct text *text)
{
    while (text->n > 0)
        free(text->lines[--text->n]);
}

static char *join(const struct text *text)
{
    char *bytes = calloc(1, 1 << 16), *at = bytes;
    for (int n = 0; n < text->n; n++)
        at += sprintf_safe(at, bytes, text->lines[n]);
    return bytes;
}
