#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/plain_port.h"
#include "reference/tile_cost.h"
#include "tests/recording_port.h"

static struct recording_port *recording_of(struct fa_port *port)
{
    return (struct recording_port *)port;
}

__attribute__((format(printf, 2, 3))) static void append(struct recording_port *recording,
                                                         const char *format, ...)
{
    va_list arguments;
    if (recording->size - recording->used < 256) {
        recording->size = 2 * recording->size + 1024;
        recording->log = realloc(recording->log, recording->size);
        assert_non_null(recording->log);
    }
    va_start(arguments, format);
    int n = vsnprintf(recording->log + recording->used, 256, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && n < 256);
    recording->used += (size_t)n;
}

/* Ends the line that is open, if any, and begins one at the algorithm's loop position. */
static void begin_line(struct recording_port *recording)
{
    const struct fa_place *at = &recording->port.at;
    char place[32], i[12] = "", j[12] = "";
    if (at->i >= 0)
        snprintf(i, sizeof i, "%d", (int)at->i);
    if (at->j >= 0)
        snprintf(j, sizeof j, "%d", (int)at->j);
    snprintf(place, sizeof place, "(%s,%s)", i, j);
    append(recording, "%-5s ", place);
    recording->open = NULL;
}

/* Each verb is counted and shown; at one of them the port may be told to fail. */
static void end_verb(struct fa_port *port, const struct recorded *recorded)
{
    struct recording_port *recording = recording_of(port);
    recording->verbs++;
    if (recording->observe)
        recording->observe(recording->context, port, recorded);
    if (recording->verbs == recording->fail_at)
        port->status =
            fa_fail(&port->error, FA_NO_MEMORY, "verb %" PRId64 " failed", recording->verbs);
}

/* "verb name", or ", name" after another of the same verb on the same line. */
static void name_on_line(struct recording_port *recording, const char *verb)
{
    if (recording->open == verb) {
        recording->used--; /* the newline */
        append(recording, ", ");
        return;
    }
    begin_line(recording);
    append(recording, "%s ", verb);
    recording->open = verb;
}

static const char reserve[] = "reserve", release[] = "free";

static void record_alloc(struct fa_port *port, enum fa_tensor_id id, int64_t rows, int64_t columns)
{
    struct recording_port *recording = recording_of(port);
    fa_tile_shape(port, id, rows, columns);
    name_on_line(recording, reserve);
    append(recording, "%s %" PRId64 "x%" PRId64 "\n", fa_tensor_name(id), rows, columns);
    end_verb(port,
             &(struct recorded){.verb = RECORDED_ALLOC, .id = id, .row = rows, .column = columns});
}

static void record_free(struct fa_port *port, enum fa_tensor_id id)
{
    struct recording_port *recording = recording_of(port);
    assert_true(port->tile[id].live);
    assert_false(port->tile[id].alias);
    port->tile[id].live = false;
    name_on_line(recording, release);
    append(recording, "%s\n", fa_tensor_name(id));
    end_verb(port, &(struct recorded){.verb = RECORDED_FREE, .id = id});
}

static void record_move(struct fa_port *port, enum recorded_verb verb, enum fa_tensor_id id,
                        int64_t row, int64_t column)
{
    struct recording_port *recording = recording_of(port);
    const struct fa_tile *tile = &port->tile[id];
    assert_true(tile->live);
    begin_line(recording);
    append(recording, "%s %s[%" PRId64 ":%" PRId64 ", %" PRId64 ":%" PRId64 "]\n",
           verb == RECORDED_LOAD ? "load" : "store", fa_tensor_name(id), row, row + tile->rows,
           column, column + tile->columns);
    end_verb(port, &(struct recorded){.verb = verb, .id = id, .row = row, .column = column});
}

static void record_load(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    fa_tile_clip(&port->tile[id], &port->run->tensor[id], row, column);
    record_move(port, RECORDED_LOAD, id, row, column);
}

static void record_store(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column)
{
    record_move(port, RECORDED_STORE, id, row, column);
}

/* What the operation leaves its result in, for the log. */
static enum fa_tensor_id result_of(enum fa_op op)
{
    switch (op) {
    case FA_OP_SCORE:
    case FA_OP_START_S:
    case FA_OP_SCORE_PART:
    case FA_OP_SCALE_S:
    case FA_OP_BIAS:
    case FA_OP_HIDE:
    case FA_OP_MASK:
        return FA_S;
    case FA_OP_ROW_STATS:
    case FA_OP_FINISH_STATS:
        return FA_M;
    case FA_OP_ACCUMULATE:
    case FA_OP_ACCUMULATE_PART:
    case FA_OP_FINISH:
        return FA_O;
    default:
        return FA_P;
    }
}

static void record_compute(struct fa_port *port, enum fa_op op)
{
    struct recording_port *recording = recording_of(port);
    struct fa_flops unused = {0, 0, 0};
    fa_op_account(port, op, &unused);
    enum fa_tensor_id id = result_of(op);
    if (op == FA_OP_START)
        id = port->tile[FA_O].live ? FA_O : FA_M;
    assert_true(port->tile[id].live);
    begin_line(recording);
    append(recording, "%s: %s is %" PRId64 "x%" PRId64 "\n", fa_op_name(op), fa_tensor_name(id),
           port->tile[id].rows, port->tile[id].columns);
    end_verb(port, &(struct recorded){.verb = RECORDED_COMPUTE, .op = op});
}

static void record_skip(struct fa_port *port, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    begin_line(recording_of(port));
    append(recording_of(port), "skip tiles [%" PRId64 ":%" PRId64 ", %" PRId64 ":%" PRId64 "]\n", i,
           i_end, j, j_end);
    end_verb(port, &(struct recorded){
                       .verb = RECORDED_SKIP, .i = i, .i_end = i_end, .j = j, .j_end = j_end});
}

static void record_reveal_lse(struct fa_port *port, int64_t row)
{
    begin_line(recording_of(port));
    append(recording_of(port), "LSE of rows [%" PRId64 ":%" PRId64 "] to the caller\n", row,
           row + port->tile[FA_M].rows);
    end_verb(port, &(struct recorded){.verb = RECORDED_REVEAL, .row = row});
}

static const struct fa_port_verbs recording_verbs = {
    .alloc = record_alloc,
    .free = record_free,
    .load = record_load,
    .store = record_store,
    .compute = record_compute,
    .skip = record_skip,
    .reveal_lse = record_reveal_lse,
};

void recording_port_open(struct recording_port *recording, const struct fa_run *run)
{
    memset(recording, 0, sizeof *recording);
    fa_port_open(&recording->port, &recording_verbs, run);
    append(recording, "%s", "");
}

void recording_port_close(struct recording_port *recording)
{
    fa_port_close(&recording->port);
    free(recording->log);
    memset(recording, 0, sizeof *recording);
}
