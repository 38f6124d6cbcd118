/*
 * Fuzzes the trace reader: any bytes are either refused in words or give a trace whose every state
 * makes sense. An input that begins with '#' stands for event lines alone, under a valid header of
 * a forward pass, and with '%' of a backward one, so that edits near the beginning reach events
 * too.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/trace.h"
#include "tests/fuzz.h"
#include "tests/trace_case.h"

enum { CAPACITY = 1 << 16 };

/* A saved trace of the run; returns its bytes, 0 if they are more than there is room for. */
static size_t save_run(const struct trace_case *which, char *bytes, size_t capacity)
{
    char path[] = "fuzz_trace.XXXXXX";
    struct sim_result result;
    struct fa_error error;
    struct sim_trace *trace = trace_case_run(which, &result, &error);
    int file = mkstemp(path);
    fuzz_expect(trace != NULL && file >= 0);
    close(file);
    fuzz_expect(sim_trace_save(trace, path, &error) == FA_OK);
    sim_trace_free(trace);
    FILE *saved = fopen(path, "rb");
    fuzz_expect(saved != NULL);
    size_t n = fread(bytes, 1, capacity, saved);
    n = fgetc(saved) == EOF ? n : 0;
    fclose(saved);
    unlink(path);
    return n;
}

static void check_state(const struct sim_state *state)
{
    uint64_t bytes = 0;
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *tile = &state->on_chip[id];
        bytes += tile->bytes;
        fuzz_expect(tile->held_rows <= tile->rows && tile->held_columns <= tile->columns);
        fuzz_expect(tile->live || (tile->bytes == 0 && !tile->loaded && !tile->changed));
        fuzz_expect(tile->holds < FA_TENSORS);
    }
    fuzz_expect(bytes == state->sram_bytes && bytes <= state->counters.sram_peak_bytes);
    fuzz_expect(state->counters.tiles_masked <= state->counters.tiles_visited);
    fuzz_expect(state->counters.flops.matmul <= INT64_MAX &&
                state->counters.flops.other <= INT64_MAX);
}

static void check_trace(const struct sim_trace *trace)
{
    struct sim_state state, folded;
    memset(&folded, 0, sizeof folded);
    for (uint64_t p = 0; p <= sim_trace_length(trace); p++) {
        sim_trace_seek(trace, p, &state);
        check_state(&state);
        check_state(&folded);
        fuzz_expect(state.sram_bytes == folded.sram_bytes);
        if (p < sim_trace_length(trace))
            sim_state_apply(&folded, sim_trace_get_header(trace), sim_trace_event(trace, p));
    }
}

static void parse(const char *bytes, size_t n_bytes)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = (struct sim_trace *)&error;
    enum fa_status status = sim_trace_parse("input", bytes, n_bytes, &trace, &error);
    if (status == FA_OK) {
        check_trace(trace);
        sim_trace_free(trace);
        return;
    }
    fuzz_expect(trace == (struct sim_trace *)&error && error.status == status);
    fuzz_expect(status == FA_BAD_FILE || status == FA_NO_MEMORY);
    fuzz_expect(strncmp(error.text, "input: line ", 12) == 0);
    for (const char *at = error.text; *at; at++)
        fuzz_expect(*at >= ' ' && *at <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static char headers[2][CAPACITY];
    static size_t lengths[2];
    if (n_bytes == 0 || (data[0] != '#' && data[0] != '%')) {
        parse((const char *)data, n_bytes);
        return 0;
    }
    int which = data[0] == '%';
    char *header = headers[which];
    if (lengths[which] == 0) {
        fuzz_expect(save_run(which ? &trace_case_backward : &trace_case_small, header, CAPACITY) >
                    0);
        lengths[which] = (size_t)((char *)memchr(header, '\n', CAPACITY) + 1 - header);
    }
    char *whole = malloc(lengths[which] + n_bytes - 1);
    fuzz_expect(whole != NULL);
    memcpy(whole, header, lengths[which]);
    memcpy(whole + lengths[which], data + 1, n_bytes - 1);
    parse(whole, lengths[which] + n_bytes - 1);
    free(whole);
    return 0;
}

/* The small runs whole, their events alone, and those runs of all algorithms that are short. */
size_t fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    static char bytes[CAPACITY];
    int n_cases, found = 4;
    const struct trace_case *cases = trace_cases(&n_cases);
    const struct trace_case *small = index < 2 ? &trace_case_small : &trace_case_backward;
    size_t n = save_run(small, bytes, sizeof bytes);
    if (index == 1 || index == 3) {
        char *events = memchr(bytes, '\n', n);
        n -= (size_t)(events - bytes);
        memmove(bytes, events, n);
        bytes[0] = index == 1 ? '#' : '%';
    }
    for (int c = 0; c < n_cases && index >= found; c++) {
        n = save_run(&cases[c], bytes, 8192);
        found += n > 0;
        if (found > index)
            break;
        n = 0;
    }
    if (n > capacity)
        return 0;
    memcpy(data, bytes, n);
    return n;
}
