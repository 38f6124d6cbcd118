/* The trace in memory: what its states are, and that every way to a position leads to the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <string.h>

#include "simulator/trace.h"
#include "simulator/trace_ops.h"
#include "tests/trace_case.h"

static void same_counters(const struct sim_counters *a, const struct sim_counters *b)
{
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        assert_int_equal(a->read[id], b->read[id]);
        assert_int_equal(a->write[id], b->write[id]);
    }
    assert_int_equal(a->flops.matmul, b->flops.matmul);
    assert_int_equal(a->flops.exp, b->flops.exp);
    assert_int_equal(a->flops.other, b->flops.other);
    assert_int_equal(a->tiles_visited, b->tiles_visited);
    assert_int_equal(a->tiles_masked, b->tiles_masked);
    assert_int_equal(a->tiles_skipped, b->tiles_skipped);
    assert_int_equal(a->sram_peak_bytes, b->sram_peak_bytes);
}

static void same_state(const struct sim_state *a, const struct sim_state *b)
{
    same_counters(&a->counters, &b->counters);
    assert_int_equal(a->sram_bytes, b->sram_bytes);
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *x = &a->on_chip[id], *y = &b->on_chip[id];
        assert_int_equal(x->live, y->live);
        assert_int_equal(x->loaded, y->loaded);
        assert_int_equal(x->changed, y->changed);
        assert_int_equal(x->holds, y->holds);
        assert_int_equal(x->rows, y->rows);
        assert_int_equal(x->columns, y->columns);
        assert_int_equal(x->held_rows, y->held_rows);
        assert_int_equal(x->held_columns, y->held_columns);
        assert_int_equal(x->head, y->head);
        assert_int_equal(x->row, y->row);
        assert_int_equal(x->column, y->column);
        assert_int_equal(x->place, y->place);
        assert_int_equal(x->bytes, y->bytes);
    }
}

static struct sim_trace *run(const struct trace_case *which, struct sim_result *result)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = trace_case_run(which, result, &error);
    if (!trace)
        fail_msg("%s, %s: %s", which->algorithm->name, which->name, error.text);
    return trace;
}

static struct sim_trace_header plain_header(int64_t nq, int64_t nk, int64_t d, int64_t br,
                                            int64_t bc)
{
    return (struct sim_trace_header){
        .algorithm = &fa_flash2,
        .problem = fa_problem_make(nq, nk, d),
        .tiles = {br, bc, 0, 0},
    };
}

static void names_and_size(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct sim_event), 32);
    assert_string_equal(sim_event_kind_name(SIM_LOAD), "load");
    assert_string_equal(sim_event_kind_name(SIM_STORE), "store");
    assert_string_equal(sim_event_kind_name(SIM_COMPUTE), "compute");
    assert_string_equal(sim_event_kind_name(SIM_ALLOC), "alloc");
    assert_string_equal(sim_event_kind_name(SIM_FREE), "free");
    assert_string_equal(sim_event_kind_name(SIM_SKIP), "skip");
    assert_string_equal(sim_event_kind_name(SIM_REFUSE), "refuse");
    const struct sim_trace_header fused = {.algorithm = &fa_standard_backward,
                                           .forward = &fa_fused_save_p};
    const struct sim_trace_header flash = {.algorithm = &fa_flash2_backward};
    char title[SIM_PASS_TITLE];
    assert_string_equal(sim_trace_pass_title(&fused, title), "fused-save-p backward");
    assert_string_equal(sim_trace_pass_title(&flash, title), "flash2 backward");
    const struct sim_trace_header forward = plain_header(4, 4, 4, 2, 2);
    assert_string_equal(sim_trace_pass_title(&forward, title), "flash2");
}

/* A few events by hand, with what each of them must leave. */
static void by_hand(void **state)
{
    (void)state;
    const struct sim_trace_header header = plain_header(100, 50, 4, 8, 16);
    const struct sim_event events[] = {
        {.kind = SIM_ALLOC, .tensor = FA_Q, .rows = 8, .columns = 4, .place = 0},
        {.kind = SIM_ALLOC, .tensor = FA_S, .rows = 8, .columns = 16, .place = 128},
        {.kind = SIM_LOAD, .tensor = FA_Q, .rows = 4, .columns = 4, .head = 2, .row = 96},
        {.kind = SIM_COMPUTE, .tensor = FA_S, .op = FA_OP_SCORE, .rows = 4, .columns = 13,
         .flags = SIM_VISITS | SIM_CUT, .place = 128},
        {.kind = SIM_COMPUTE, .tensor = FA_P, .op = FA_OP_NORMALISE, .rows = 4, .columns = 13,
         .place = 128},
        {.kind = SIM_STORE, .tensor = FA_P, .rows = 4, .columns = 13, .head = 2, .row = 96,
         .column = 32, .place = 128},
        {.kind = SIM_SKIP, .tensor = FA_S, .i = 1, .j = 2},
        {.kind = SIM_FREE, .tensor = FA_S, .rows = 8, .columns = 16, .place = 128},
        {.kind = SIM_REFUSE, .tensor = FA_K, .rows = 16, .columns = 4},
    };
    struct sim_trace *trace = NULL;
    struct sim_state now;
    assert_int_equal(sim_trace_create(&header, &trace, NULL), FA_OK);
    for (size_t n = 0; n < sizeof events / sizeof *events; n++)
        assert_true(sim_trace_append(trace, &events[n]));
    assert_int_equal(sim_trace_length(trace), 9);
    assert_memory_equal(sim_trace_event(trace, 3), &events[3], sizeof events[3]);

    sim_trace_seek(trace, 2, &now);
    assert_int_equal(now.sram_bytes, 8 * 4 * 4 + 8 * 16 * 4);
    assert_true(now.on_chip[FA_Q].live && !now.on_chip[FA_Q].loaded && !now.on_chip[FA_Q].changed);
    assert_null(sim_state_holder(&now, FA_K));
    assert_null(sim_state_holder(&now, FA_LSE));
    assert_ptr_equal(sim_state_holder(&now, FA_P), &now.on_chip[FA_S]);

    sim_trace_seek(trace, 3, &now);
    const struct sim_resident *q = &now.on_chip[FA_Q], *s = &now.on_chip[FA_S];
    assert_int_equal(now.counters.read[FA_Q], 16);
    assert_true(q->loaded && !q->changed && q->rows == 8 && q->held_rows == 4 && q->head == 2 &&
                q->row == 96 && q->column == 0 && q->bytes == 128);

    sim_trace_seek(trace, 4, &now);
    assert_int_equal(now.counters.flops.matmul, 2 * 4 * 13 * 4);
    assert_int_equal(now.counters.flops.other, 4 * 13);
    assert_int_equal(now.counters.tiles_visited, 1);
    assert_int_equal(now.counters.tiles_masked, 1);
    assert_true(s->changed && !s->loaded && s->holds == FA_S && s->held_rows == 4 &&
                s->held_columns == 13 && s->columns == 16 && s->place == 128);

    sim_trace_seek(trace, 5, &now);
    assert_true(s->holds == FA_P && s->changed && now.counters.flops.exp == 4 * 13);
    assert_int_equal(now.counters.tiles_visited, 1);

    sim_trace_seek(trace, 6, &now);
    assert_true(s->holds == FA_P && s->loaded && !s->changed && s->row == 96 && s->column == 32);
    assert_int_equal(now.counters.write[FA_P], 52);
    assert_int_equal(now.counters.write[FA_S], 0);

    /* A score formed anew is no copy of anything in HBM; one that is changed began as one. */
    struct sim_event again = events[4], changed = events[3];
    again.tensor = changed.tensor = FA_S;
    changed.op = FA_OP_HIDE;
    again.op = FA_OP_SCORE;
    sim_state_apply(&now, &header, &changed);
    assert_true(s->loaded && s->changed && s->holds == FA_S);
    sim_state_apply(&now, &header, &again);
    assert_true(!s->loaded && s->changed && s->holds == FA_S);

    sim_trace_seek(trace, 9, &now);
    assert_int_equal(now.counters.tiles_skipped, 1);
    assert_int_equal(now.sram_bytes, 128);
    assert_int_equal(now.counters.sram_peak_bytes, 128 + 512);
    assert_false(s->live);
    assert_int_equal(s->holds, 0);
    assert_false(now.on_chip[FA_K].live);
    sim_trace_free(trace);
}

/* What a P or an LSE of its own does not do: lie in S or M. */
static void own_tiles(void **state)
{
    (void)state;
    const struct sim_trace_header header = plain_header(8, 8, 4, 8, 8);
    const struct sim_event alloc_s = {.kind = SIM_ALLOC, .tensor = FA_S, .rows = 8, .columns = 8};
    const struct sim_event alloc_p = {.kind = SIM_ALLOC, .tensor = FA_P, .rows = 8, .columns = 8,
                                      .place = 256};
    const struct sim_event load_p = {.kind = SIM_LOAD, .tensor = FA_P, .rows = 8, .columns = 8,
                                     .place = 256};
    struct sim_state now;
    memset(&now, 0, sizeof now);
    sim_state_apply(&now, &header, &alloc_s);
    sim_state_apply(&now, &header, &alloc_p);
    sim_state_apply(&now, &header, &load_p);
    assert_true(now.on_chip[FA_P].loaded && !now.on_chip[FA_S].loaded);
    assert_ptr_equal(sim_state_holder(&now, FA_P), &now.on_chip[FA_P]);
}

/* The dropped P of `standard` is PD where P lies, and the P that is multiplied lies in PD; both
 * count as P. dS lies where dP lay. */
static void second_names(void **state)
{
    (void)state;
    struct sim_trace_header header = plain_header(8, 8, 4, 8, 8);
    header.algorithm = &fa_standard_backward;
    const struct sim_event alloc_p = {.kind = SIM_ALLOC, .tensor = FA_P, .rows = 8, .columns = 8};
    const struct sim_event drop = {
        .kind = SIM_COMPUTE, .tensor = FA_P, .op = FA_OP_DROPOUT, .rows = 8, .columns = 7};
    const struct sim_event store_pd = {.kind = SIM_STORE, .tensor = FA_PD, .rows = 8, .columns = 7};
    const struct sim_event free_p = {.kind = SIM_FREE, .tensor = FA_P, .rows = 8, .columns = 8};
    const struct sim_event alloc_pd = {.kind = SIM_ALLOC, .tensor = FA_PD, .rows = 8, .columns = 8};
    const struct sim_event load_pd = {.kind = SIM_LOAD, .tensor = FA_PD, .rows = 8, .columns = 7};
    const struct sim_event alloc_dp = {
        .kind = SIM_ALLOC, .tensor = FA_DP, .rows = 8, .columns = 8, .place = 256};
    const struct sim_event grad_s = {.kind = SIM_COMPUTE,
                                     .tensor = FA_DS,
                                     .op = FA_OP_GRAD_S,
                                     .rows = 8,
                                     .columns = 7,
                                     .place = 256};
    struct sim_state now;
    memset(&now, 0, sizeof now);
    sim_state_apply(&now, &header, &alloc_p);
    sim_state_apply(&now, &header, &drop);
    assert_ptr_equal(sim_state_holder(&now, FA_PD), &now.on_chip[FA_P]);
    assert_true(sim_resident_is(&now.on_chip[FA_P], FA_PD));
    assert_false(sim_resident_is(&now.on_chip[FA_P], FA_S));
    sim_state_apply(&now, &header, &store_pd);
    assert_int_equal(now.counters.write[FA_P], 56);
    assert_int_equal(now.counters.write[FA_PD], 0);
    sim_state_apply(&now, &header, &free_p);
    sim_state_apply(&now, &header, &alloc_pd);
    sim_state_apply(&now, &header, &load_pd);
    assert_int_equal(now.counters.read[FA_P], 56);
    assert_int_equal(now.counters.read[FA_PD], 0);
    assert_ptr_equal(sim_state_holder(&now, FA_P), &now.on_chip[FA_PD]);
    assert_true(sim_resident_is(&now.on_chip[FA_PD], FA_P));
    assert_null(sim_state_holder(&now, FA_DS));
    sim_state_apply(&now, &header, &alloc_dp);
    sim_state_apply(&now, &header, &grad_s);
    assert_ptr_equal(sim_state_holder(&now, FA_DS), &now.on_chip[FA_DP]);
    assert_true(now.on_chip[FA_DP].holds == FA_DS && now.on_chip[FA_DP].held_columns == 7);
    assert_int_equal(now.counters.flops.other, 56 + 2 * 56);
}

/* A gradient of keys has the columns of the score tile as its rows. */
static void key_rows(void **state)
{
    (void)state;
    struct sim_trace_header header = plain_header(8, 8, 4, 8, 8);
    header.algorithm = &fa_flash2_backward;
    const struct sim_event alloc = {.kind = SIM_ALLOC, .tensor = FA_DK, .rows = 8, .columns = 4};
    const struct sim_event start = {
        .kind = SIM_COMPUTE, .tensor = FA_DK, .op = FA_OP_START_DKV, .rows = 6, .columns = 1};
    const struct sim_event grad = {
        .kind = SIM_COMPUTE, .tensor = FA_DK, .op = FA_OP_GRAD_K, .rows = 5, .columns = 6};
    struct sim_state now;
    memset(&now, 0, sizeof now);
    sim_state_apply(&now, &header, &alloc);
    sim_state_apply(&now, &header, &start);
    assert_true(now.on_chip[FA_DK].held_rows == 6 && now.on_chip[FA_DK].held_columns == 4);
    sim_state_apply(&now, &header, &grad);
    assert_true(now.on_chip[FA_DK].held_rows == 6 && now.on_chip[FA_DK].held_columns == 4);
    assert_true(now.on_chip[FA_DK].changed && !now.on_chip[FA_DK].loaded);
    assert_int_equal(now.counters.flops.matmul, 2 * 5 * 6 * 4);
    assert_int_equal(now.counters.flops.other, 6 * 4);
}

/* A trace outlives what its header pointed to. */
static void own_header(void **state)
{
    (void)state;
    uint8_t visit[6] = {1, 0, 1, 0, 1, 1};
    struct fa_block_mask blocks = {8, 4, 2, 3, visit};
    const int64_t shape[4] = {1, 1, 16, 12};
    const struct fa_tensor keep = fa_tensor_view(FA_U8, shape, NULL);
    struct sim_trace_header header = plain_header(16, 12, 4, 8, 4);
    struct sim_trace *trace = NULL;
    header.algorithm = &fa_flash1_backward;
    header.problem.blocks = &blocks;
    header.problem.dropout_p = 0.5;
    header.problem.dropout_keep = &keep;
    header.has_keep = true;
    assert_int_equal(sim_trace_create(&header, &trace, NULL), FA_OK);
    const struct sim_trace_header *own = sim_trace_get_header(trace);
    memset(visit, 0, sizeof visit);
    memset(&blocks, 0, sizeof blocks);
    assert_null(own->problem.dropout_keep);
    assert_true(own->has_keep && own->problem.dropout_p == 0.5);
    assert_ptr_equal(own->algorithm, &fa_flash1_backward);
    assert_ptr_equal(own->forward, &fa_flash1);
    assert_ptr_not_equal(own->problem.blocks, &blocks);
    assert_true(own->problem.blocks->rows == 2 && own->problem.blocks->columns == 3);
    assert_memory_equal(own->problem.blocks->visit, ((uint8_t[]){1, 0, 1, 0, 1, 1}), 6);
    sim_trace_free(trace);
}

/* The fold over all events is what the run counted. */
static void counters_of_runs(void **state)
{
    (void)state;
    int n_cases, refused = 0, expected = 0;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        struct sim_result result;
        struct sim_state now, folded;
        memset(&result, 0, sizeof result);
        struct sim_trace *trace = run(&cases[n], &result);
        sim_trace_seek(trace, sim_trace_length(trace), &now);
        memset(&folded, 0, sizeof folded);
        for (uint64_t e = 0; e < sim_trace_length(trace); e++)
            sim_state_apply(&folded, sim_trace_get_header(trace), sim_trace_event(trace, e));
        same_state(&now, &folded);
        expected += strcmp(cases[n].name, "refused") == 0;
        assert_ptr_equal(sim_trace_get_header(trace)->forward,
                         cases[n].pass == SIM_BACKWARD ? cases[n].algorithm : NULL);
        if (result.algorithm) {
            same_counters(&now.counters, &result.counters);
            assert_int_equal(now.sram_bytes, 0);
        } else {
            const struct sim_event *last = sim_trace_event(trace, sim_trace_length(trace) - 1);
            assert_int_equal(last->kind, SIM_REFUSE);
            refused++;
        }
        sim_trace_free(trace);
    }
    assert_int_equal(refused, expected);
    assert_int_equal(refused, FA_ALGORITHMS + 4); /* forward, and those with a backward pass */
}

/* What the cases are for is in them: each kind of event, each operation, rows that go in chunks. */
static void cases_cover(void **state)
{
    (void)state;
    int n_cases;
    const struct trace_case *cases = trace_cases(&n_cases);
    bool ops[FA_OP_COUNT] = {false}, kinds[SIM_EVENT_KINDS] = {false}, chunks = false;
    for (int n = 0; n < n_cases; n++) {
        struct sim_result result;
        struct sim_trace *trace = run(&cases[n], &result);
        for (uint64_t e = 0; e < sim_trace_length(trace); e++) {
            const struct sim_event *event = sim_trace_event(trace, e);
            kinds[event->kind] = true;
            if (event->kind == SIM_COMPUTE)
                ops[event->op] = true;
        }
        const struct fa_tiles *tiles = &sim_trace_get_header(trace)->tiles;
        chunks = chunks || (cases[n].pass == SIM_BACKWARD && tiles->column_chunk > 1 &&
                            tiles->column_chunk < cases[n].problem.nk);
        sim_trace_free(trace);
    }
    for (int op = 0; op < FA_OP_COUNT; op++) {
        if (!ops[op])
            fail_msg("no case has a compute %s", fa_op_name((enum fa_op)op));
        if (sim_op_of((enum fa_op)op)->n_results == 0)
            fail_msg("a compute %s leaves nothing", fa_op_name((enum fa_op)op));
    }
    for (int kind = 0; kind < SIM_EVENT_KINDS; kind++)
        assert_true(kinds[kind]);
    assert_true(chunks);
}

/* Whether the test seeks there: everywhere, but of a long trace a seventh and around snapshots. */
static bool is_looked_at(uint64_t position, uint64_t length)
{
    uint64_t after = position % SIM_TRACE_SNAPSHOT;
    return length < SIM_TRACE_SNAPSHOT || position % 7 == 0 || after < 3 ||
           after > SIM_TRACE_SNAPSHOT - 3 || position + 1 >= length;
}

/* Each position, forwards and backwards, also of traces that cross snapshots. */
static void every_position(void **state)
{
    (void)state;
    int n_cases, crossed = 0;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        struct sim_result result;
        struct sim_state folded, now, back;
        struct sim_trace *trace = run(&cases[n], &result);
        uint64_t length = sim_trace_length(trace);
        crossed += length > SIM_TRACE_SNAPSHOT;
        memset(&folded, 0, sizeof folded);
        for (uint64_t p = 0; p <= length; p++) {
            if (is_looked_at(p, length)) {
                sim_trace_seek(trace, p, &now);
                same_state(&now, &folded);
            }
            if (p < length)
                sim_state_apply(&folded, sim_trace_get_header(trace), sim_trace_event(trace, p));
        }
        for (uint64_t p = length; p > 0; p--) {
            if (!is_looked_at(p, length))
                continue;
            sim_trace_seek(trace, p, &now);
            sim_trace_seek(trace, p - 1, &back);
            sim_state_apply(&back, sim_trace_get_header(trace), sim_trace_event(trace, p - 1));
            same_state(&back, &now);
        }
        sim_trace_free(trace);
    }
    assert_true(crossed >= 2);
}

/* Lengths around a snapshot, and events that stay where they are while more come. */
static void snapshot_boundary(void **state)
{
    (void)state;
    const int64_t shape[4] = {1, 1, 1, 50};
    const struct fa_tensor mask = fa_tensor_view(FA_U8, shape, NULL);
    struct sim_trace_header header = plain_header(100, 50, 4, 8, 16);
    header.problem.mask = &mask; /* A trace outlives what was masked: it keeps no pointer. */
    header.has_mask = true;
    const struct sim_event alloc = {.kind = SIM_ALLOC, .tensor = FA_Q, .rows = 8, .columns = 4};
    const struct sim_event load = {.kind = SIM_LOAD, .tensor = FA_Q, .rows = 8, .columns = 4};
    const uint64_t S = SIM_TRACE_SNAPSHOT;
    struct sim_trace *trace = NULL;
    struct sim_state now;
    assert_int_equal(sim_trace_create(&header, &trace, NULL), FA_OK);
    assert_null(sim_trace_get_header(trace)->problem.mask);
    sim_trace_seek(trace, 0, &now);
    assert_int_equal(now.sram_bytes, 0);
    assert_true(sim_trace_append(trace, &alloc));
    const struct sim_event *first = sim_trace_event(trace, 0);
    for (uint64_t n = 1; n <= 40 * S; n++) {
        assert_true(sim_trace_append(trace, &load));
        if (n % S < 2 || n % S == S - 1) {
            sim_trace_seek(trace, n + 1, &now);
            assert_int_equal(now.counters.read[FA_Q], 32 * n);
            sim_trace_seek(trace, n, &now);
            assert_int_equal(now.counters.read[FA_Q], 32 * (n - 1));
        }
    }
    for (uint64_t p = 3 * S - 2; p <= 3 * S + 2; p++) {
        sim_trace_seek(trace, p, &now);
        assert_int_equal(now.counters.read[FA_Q], 32 * (p - 1));
    }
    assert_ptr_equal(sim_trace_event(trace, 0), first);
    assert_int_equal(first->kind, SIM_ALLOC);
    sim_trace_free(trace);
    sim_trace_free(NULL);
}

static void too_large(void **state)
{
    (void)state;
    const struct {
        struct sim_trace_header header;
        const char *message;
    } refusals[] = {
        {plain_header(INT64_C(1) << 29, 8, 4, 1 << 20, 8), "nq is 536870912: a trace expects at "
                                                           "most 268435456"},
        {plain_header(8, (1 << 28) + 1, 4, 8, 1 << 20), "nk is 268435457"},
        {plain_header(8, 8, 1 << 24, 8, 8), "d is 16777216: a trace expects at most 16777215"},
        {plain_header(1 << 25, 8, 4, 1 << 24, 8), "a query tile's rows is 16777216"},
        {plain_header(8, 1 << 25, 4, 8, 1 << 24), "a key tile's rows is 16777216"},
        {plain_header(1 << 20, 8, 4, 1, 8), "the number of query tiles is 1048576: a trace expects "
                                            "at most 1048575"},
        {plain_header(8, 1 << 20, 4, 8, 1), "the number of key tiles is 1048576"},
        {plain_header(1 << 20, 1 << 20, 4, 1 << 20, 1 << 20), "more than 2^36 bytes on chip"},
    };
    struct fa_error error;
    for (size_t n = 0; n < sizeof refusals / sizeof *refusals; n++) {
        struct sim_trace *trace = (struct sim_trace *)&error;
        assert_int_equal(sim_trace_create(&refusals[n].header, &trace, &error), FA_TOO_LARGE);
        assert_ptr_equal(trace, &error);
        if (!strstr(error.text, refusals[n].message))
            fail_msg("\"%s\" does not say \"%s\"", error.text, refusals[n].message);
    }
    /* Blocks, also where there is no block but a row of none. */
    const struct fa_block_mask many[] = {{1, 1, 2049, 2048, NULL}, {1, 1, (1 << 22) + 1, 0, NULL}};
    for (int n = 0; n < 2; n++) {
        struct sim_trace_header blocks = plain_header(many[n].rows, many[n].columns, 4, 8, 8);
        struct sim_trace *none = NULL;
        blocks.problem.blocks = &many[n];
        assert_int_equal(sim_trace_create(&blocks, &none, &error), FA_TOO_LARGE);
        assert_non_null(strstr(error.text, "blocks: a trace expects at most 4194304 in all"));
    }
    struct sim_trace_header heads = plain_header(8, 8, 4, 8, 8);
    struct sim_trace *trace = NULL;
    heads.problem.heads = heads.problem.kv_heads = heads.problem.batch = 1 << 15;
    assert_int_equal(sim_trace_create(&heads, &trace, &error), FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "batch x heads is 1073741824"));
    struct sim_trace_header rows = plain_header(1 << 20, 8, 4, 8, 8);
    rows.algorithm = &fa_standard;
    rows.tiles.row_block = 1;
    rows.tiles.column_chunk = 8;
    assert_int_equal(sim_trace_create(&rows, &trace, &error), FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "the number of row steps is 1048576"));
    rows.algorithm = &fa_standard_backward;
    assert_int_equal(sim_trace_create(&rows, &trace, &error), FA_TOO_LARGE);
    assert_non_null(strstr(error.text, "the number of row steps is 1048576"));
    /* The largest that there is room for. */
    struct sim_trace_header most = plain_header(1 << 28, 1 << 28, 64, 1 << 10, 1 << 10);
    assert_int_equal(sim_trace_create(&most, &trace, &error), FA_OK);
    sim_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_size), cmocka_unit_test(by_hand),
        cmocka_unit_test(own_tiles),      cmocka_unit_test(second_names),
        cmocka_unit_test(key_rows),       cmocka_unit_test(own_header),
        cmocka_unit_test(cases_cover),    cmocka_unit_test(counters_of_runs),
        cmocka_unit_test(every_position), cmocka_unit_test(snapshot_boundary),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
