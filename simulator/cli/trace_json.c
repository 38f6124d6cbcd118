/* A saved trace as JSON. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/trace_views.h"
#include "simulator/trace_header.h"

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *volume(struct sim_volume moved)
{
    return json_pack("{s:o,s:o}", "elements", integer(moved.elements), "bytes",
                     integer(moved.bytes));
}

/* The tensors that moved, then the sums. */
static json_t *traffic(const struct sim_counters *counters, const struct fa_problem *problem)
{
    json_t *by_tensor = json_object();
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        enum fa_tensor_id tensor = (enum fa_tensor_id)id;
        if (counters->read[id] == 0 && counters->write[id] == 0)
            continue;
        json_object_set_new(by_tensor, fa_tensor_name(tensor),
                            json_pack("{s:o,s:o}", "read",
                                      volume(sim_counters_read(counters, problem, tensor)), "write",
                                      volume(sim_counters_write(counters, problem, tensor))));
    }
    return json_pack("{s:o,s:o,s:o}", "read", volume(sim_counters_read_all(counters, problem)),
                     "write", volume(sim_counters_write_all(counters, problem)), "by_tensor",
                     by_tensor);
}

/* Adds what counters say to the object. */
static bool put_counters(json_t *object, const struct sim_counters *counters,
                         const struct fa_problem *problem)
{
    return json_object_set_new(object, "hbm", traffic(counters, problem)) == 0 &&
           json_object_set_new(object, "flop",
                               json_pack("{s:o,s:o,s:o}", "matmul", integer(counters->flops.matmul),
                                         "exp", integer(counters->flops.exp), "other",
                                         integer(counters->flops.other))) == 0 &&
           json_object_set_new(object, "tiles_visited", integer(counters->tiles_visited)) == 0 &&
           json_object_set_new(object, "tiles_masked", integer(counters->tiles_masked)) == 0 &&
           json_object_set_new(object, "tiles_skipped", integer(counters->tiles_skipped)) == 0;
}

/* How many blocks the mask visits, in place of the mask, which may have millions. */
static void shorten_blocks(json_t *blocks, const struct fa_block_mask *mask)
{
    int64_t visited = 0;
    if (!mask)
        return;
    for (int64_t n = 0; n < mask->rows * mask->columns; n++)
        visited += mask->visit[n];
    json_object_del(blocks, "visit");
    json_object_set_new(blocks, "blocks", integer((uint64_t)(mask->rows * mask->columns)));
    json_object_set_new(blocks, "visited", integer((uint64_t)visited));
}

/* The header as its file has it, less what only explains the numbers of the lines. */
static json_t *header_json(const struct sim_trace *trace)
{
    static const char *const lists[] = {"fields", "kinds", "tensors", "ops"};
    char *text = sim_trace_header_write(sim_trace_get_header(trace), sim_trace_length(trace));
    json_t *object = text ? json_loads(text, 0, NULL) : NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        json_object_del(object, lists[i]);
    shorten_blocks(json_object_get(json_object_get(object, "problem"), "blocks"),
                   sim_trace_get_header(trace)->problem.blocks);
    free(text);
    return object;
}

json_t *cli_trace_summary_json(const struct cli_trace_summary *summary)
{
    const struct sim_trace_header *header = sim_trace_get_header(summary->trace);
    json_t *object = json_object(), *kinds = json_object();
    bool good = object && kinds;

    for (int kind = 0; kind < SIM_EVENT_KINDS && good; kind++)
        good = json_object_set_new(kinds, sim_event_kind_name((enum sim_event_kind)kind),
                                   integer(summary->by_kind[kind])) == 0;
    good = good &&
           json_object_set_new(object, "schema", json_string("flashlab.trace-summary/1")) == 0 &&
           json_object_set_new(object, "header", header_json(summary->trace)) == 0 &&
           json_object_set_new(object, "events", integer(sim_trace_length(summary->trace))) == 0 &&
           json_object_set(object, "by_kind", kinds) == 0 &&
           put_counters(object, &summary->end.counters, &header->problem) &&
           json_object_set_new(object, "sram",
                               json_pack("{s:o}", "peak_bytes",
                                         integer(summary->end.counters.sram_peak_bytes))) == 0;
    json_decref(kinds);
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *tile_index(uint64_t index)
{
    return index == SIM_NO_TILE ? json_null() : integer(index);
}

json_t *cli_trace_event_json(const struct sim_trace *trace, uint64_t index)
{
    const struct sim_event *event = sim_trace_event(trace, index);
    const struct fa_algorithm *algorithm = sim_trace_get_header(trace)->algorithm;
    const struct fa_step *step = &algorithm->steps[event->step];
    bool skip = event->kind == SIM_SKIP;
    bool moves = event->kind == SIM_LOAD || event->kind == SIM_STORE;
    bool computes = event->kind == SIM_COMPUTE;

    return json_pack(
        "{s:o,s:s,s:s?,s:s?,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:s,s:s,s:s,s:s,s:o}", "event",
        integer(index), "kind", sim_event_kind_name((enum sim_event_kind)event->kind), "tensor",
        skip ? NULL : fa_tensor_name((enum fa_tensor_id)event->tensor), "op",
        computes ? fa_op_name((enum fa_op)event->op) : NULL, "head", integer(event->head), "i",
        tile_index(event->i), "j", tile_index(event->j), "row",
        moves ? integer(event->row) : json_null(), "column",
        moves ? integer(event->column) : json_null(), "rows",
        skip ? json_null() : integer(event->rows), "columns",
        skip ? json_null() : integer(event->columns), "place",
        skip ? json_null() : integer(event->place), "visits", (int)(event->flags & SIM_VISITS),
        "cut", (int)(event->flags & SIM_CUT), "phase", algorithm->phases[step->phase], "step",
        step->line, "text", step->text, "file", algorithm->file, "line", integer(event->line));
}

static json_t *resident_json(enum fa_tensor_id id, const struct sim_resident *tile)
{
    bool empty = tile->held_rows == 0 || tile->held_columns == 0, loaded = tile->loaded && !empty;
    return json_pack(
        "{s:s,s:s?,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:o,s:o,s:o}", "tile", fa_tensor_name(id),
        "holds", empty ? NULL : fa_tensor_name((enum fa_tensor_id)tile->holds), "place",
        integer(tile->place), "bytes", integer(tile->bytes), "rows", integer(tile->rows), "columns",
        integer(tile->columns), "held_rows", integer(tile->held_rows), "held_columns",
        integer(tile->held_columns), "loaded", (int)loaded, "changed", (int)tile->changed, "head",
        loaded ? integer(tile->head) : json_null(), "row",
        loaded ? integer(tile->row) : json_null(), "column",
        loaded ? integer(tile->column) : json_null());
}

json_t *cli_trace_state_json(const struct sim_trace *trace, uint64_t position)
{
    struct sim_state state;
    json_t *object = json_object(), *on_chip = json_array();
    bool good = object && on_chip;

    sim_trace_seek(trace, position, &state);
    enum fa_tensor_id ids[FA_TENSORS];
    int n_live = cli_trace_residents(&state, ids);
    for (int i = 0; i < n_live && good; i++)
        good = json_array_append_new(on_chip, resident_json(ids[i], &state.on_chip[ids[i]])) == 0;
    good = good &&
           json_object_set_new(object, "schema", json_string("flashlab.trace-state/1")) == 0 &&
           json_object_set_new(object, "position", integer(position)) == 0 &&
           put_counters(object, &state.counters, &sim_trace_get_header(trace)->problem) &&
           json_object_set_new(object, "sram",
                               json_pack("{s:o,s:o}", "live_bytes", integer(state.sram_bytes),
                                         "peak_bytes", integer(state.counters.sram_peak_bytes))) ==
               0 &&
           json_object_set(object, "on_chip", on_chip) == 0;
    json_decref(on_chip);
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}
