/* The values behind a trace: a run repeated up to a position is there what the trace says it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trace_case.h"

/* A case with data, its trace, and what HBM holds of its outputs at the end. */
struct bench {
    struct sim_experiment experiment;
    struct sim_trace *trace;
    struct fa_tensor q, k, v, o, lse, dout, dq, dk, dv, mask, bias, keep;
    struct fa_tensor end[FA_HBM_TENSORS];
};

static const enum fa_tensor_id outputs[] = {FA_O, FA_LSE, FA_DQ, FA_DK, FA_DV};
enum { OUTPUTS = sizeof outputs / sizeof *outputs };

static struct fa_tensor *output(struct bench *bench, enum fa_tensor_id id)
{
    return id == FA_O     ? &bench->o
           : id == FA_LSE ? &bench->lse
           : id == FA_DQ  ? &bench->dq
           : id == FA_DK  ? &bench->dk
                          : &bench->dv;
}

static size_t count(const struct fa_tensor *tensor)
{
    int64_t n;
    assert_int_equal(fa_shape_elements(tensor->shape, &n, NULL), FA_OK);
    return (size_t)n;
}

/* Numbers from -1 to 1; of u8 zeros and ones. */
static void make(struct fa_tensor *tensor, enum fa_dtype dtype, const int64_t shape[4],
                 uint64_t *random)
{
    assert_int_equal(fa_tensor_create(tensor, dtype, shape, NULL), FA_OK);
    for (size_t n = 0; n < count(tensor); n++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
        double value = (double)(*random >> 40) / (1 << 23) - 1;
        fa_dtype_set(dtype, tensor->data, (int64_t)n, dtype == FA_U8 ? value > -0.5 : value);
    }
}

static void make_inputs(struct bench *bench, const struct trace_case *which)
{
    struct fa_problem *p = &bench->experiment.problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    const int64_t o[4] = {p->batch, p->heads, p->nq, p->dv};
    const int64_t lse[4] = {p->batch, p->heads, p->nq, 1};
    uint64_t random = 7;
    make(&bench->q, p->dtype, q, &random);
    make(&bench->k, p->dtype, k, &random);
    make(&bench->v, p->dtype, v, &random);
    make(&bench->o, p->dtype, o, &random);
    make(&bench->lse, p->dtype, lse, &random);
    make(&bench->dout, p->dtype, o, &random);
    make(&bench->dq, p->dtype, q, &random);
    make(&bench->dk, p->dtype, k, &random);
    make(&bench->dv, p->dtype, v, &random);
    if (which->problem.mask)
        make(&bench->mask, FA_U8, which->problem.mask->shape, &random);
    if (which->problem.bias)
        make(&bench->bias, p->dtype, which->problem.bias->shape, &random);
    if (which->problem.dropout_keep)
        make(&bench->keep, FA_U8, which->problem.dropout_keep->shape, &random);
}

static void open_bench(struct bench *bench, const struct trace_case *which)
{
    struct fa_error error = {FA_OK, ""};
    struct sim_result result;
    memset(bench, 0, sizeof *bench);
    bench->experiment = trace_case_experiment(which, &bench->trace);
    struct sim_experiment *e = &bench->experiment;
    /* What a tile holds is then what it stores, to the bit. */
    e->problem.dtype = e->problem.dtype == FA_F64 ? FA_F64 : FA_F32;
    make_inputs(bench, which);
    e->problem.mask = which->problem.mask ? &bench->mask : NULL;
    e->problem.bias = which->problem.bias ? &bench->bias : NULL;
    e->problem.dropout_keep = which->problem.dropout_keep ? &bench->keep : NULL;
    e->mode = SIM_COUNTED;
    e->q = &bench->q, e->k = &bench->k, e->v = &bench->v, e->o = &bench->o, e->lse = &bench->lse;
    e->dout = &bench->dout, e->dq = &bench->dq, e->dk = &bench->dk, e->dv = &bench->dv;
    if (sim_experiment_run(e, &result, &error) != FA_OK && error.status != FA_DOES_NOT_FIT)
        fail_msg("%s", error.text);
    assert_non_null(bench->trace);
    for (int n = 0; n < OUTPUTS; n++) {
        const struct fa_tensor *tensor = output(bench, outputs[n]);
        struct fa_tensor *end = &bench->end[outputs[n]];
        assert_int_equal(fa_tensor_create(end, tensor->dtype, tensor->shape, NULL), FA_OK);
        if (count(end) > 0)
            memcpy(end->data, tensor->data, count(end) * fa_dtype_bytes(end->dtype));
    }
}

static void close_bench(struct bench *bench)
{
    struct fa_tensor *tensors[] = {
        &bench->q,  &bench->k,  &bench->v,  &bench->o,    &bench->lse,  &bench->dout,
        &bench->dq, &bench->dk, &bench->dv, &bench->mask, &bench->bias, &bench->keep,
    };
    for (size_t n = 0; n < sizeof tensors / sizeof *tensors; n++)
        fa_tensor_free(tensors[n]);
    for (int n = 0; n < OUTPUTS; n++)
        fa_tensor_free(&bench->end[outputs[n]]);
    sim_trace_free(bench->trace);
}

/* Which elements of the output the first `position` events stored, a byte each. */
static uint8_t *stored(struct bench *bench, enum fa_tensor_id id, uint64_t position)
{
    const struct fa_tensor *tensor = output(bench, id);
    int64_t heads = bench->experiment.problem.heads;
    uint8_t *written = calloc(count(tensor) + 1, 1);
    assert_non_null(written);
    for (uint64_t e = 0; e < position; e++) {
        const struct sim_event *event = sim_trace_event(bench->trace, e);
        if (event->kind != SIM_STORE || event->tensor != id)
            continue;
        int64_t batch = (int64_t)event->head / heads;
        int64_t head =
            fa_problem_head(&bench->experiment.problem, tensor, (int64_t)event->head % heads);
        for (int64_t r = 0; r < event->rows; r++)
            for (int64_t c = 0; c < event->columns; c++)
                written[batch * tensor->stride[0] + head * tensor->stride[1] +
                        ((int64_t)event->row + r) * tensor->stride[2] + (int64_t)event->column +
                        c] = 1;
    }
    return written;
}

struct looking {
    struct bench *bench;
    uint64_t position;
    struct sim_state state;
    bool looked;
};

/* A tile that was loaded, or stored, and not changed since holds what lies in HBM. */
static void check_cells(const struct looking *looking, const struct fa_port *port,
                        const struct sim_resident *resident)
{
    enum fa_tensor_id id = (enum fa_tensor_id)resident->holds;
    const struct fa_tensor *tensor = &port->run->tensor[id];
    const struct fa_problem *problem = &looking->bench->experiment.problem;
    int64_t batch = fa_problem_batch(tensor, resident->head / problem->heads);
    int64_t head = fa_problem_head(problem, tensor, resident->head % problem->heads);
    for (int64_t r = 0; r < resident->held_rows; r++)
        for (int64_t c = 0; c < resident->held_columns; c++) {
            double cell = fa_tile_get(port, id, r, c);
            double element =
                fa_tensor_get(tensor, batch, head, resident->row + r, resident->column + c);
            if (cell != element)
                fail_msg("%s (%d, %d) is %g on chip, %g in HBM", fa_tensor_name(id), (int)r, (int)c,
                         cell, element);
        }
}

static void look(void *context, struct sim_memory *memory)
{
    struct looking *looking = context;
    const struct fa_port *port = &memory->port;
    looking->looked = true;
    assert_int_equal(memory->live_bytes, looking->state.sram_bytes);
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *resident = &looking->state.on_chip[id];
        const struct fa_tile *tile = &port->tile[id];
        assert_int_equal(resident->live, tile->live && !tile->alias);
        if (!resident->live)
            continue;
        assert_int_equal(resident->place, tile->place);
        assert_int_equal(resident->bytes, tile->bytes);
        assert_int_equal(resident->rows, tile->row_capacity);
        assert_int_equal(resident->columns, tile->column_capacity);
        if (!resident->loaded && !resident->changed)
            continue;
        assert_int_equal(resident->held_rows, port->tile[resident->holds].rows);
        assert_int_equal(resident->held_columns, port->tile[resident->holds].columns);
        if (!resident->changed)
            check_cells(looking, port, resident);
    }
}

/* Outputs hold NaN where nothing was stored; what a backward pass follows is whole. */
static void check_outputs(struct bench *bench, uint64_t position)
{
    bool backward = bench->experiment.pass == SIM_BACKWARD;
    for (int n = backward ? 2 : 0; n < (backward ? OUTPUTS : 2); n++) {
        const struct fa_tensor *tensor = output(bench, outputs[n]);
        if (outputs[n] == FA_LSE && !bench->experiment.algorithm->stores_lse)
            continue; /* It is formed outside the machine. */
        uint8_t *written = stored(bench, outputs[n], position);
        for (size_t e = 0; e < count(tensor); e++)
            assert_int_equal(isnan(fa_dtype_get(tensor->dtype, tensor->data, (int64_t)e)),
                             !written[e]);
        free(written);
    }
    for (int n = 0; n < (backward ? 2 : 0); n++)
        assert_memory_equal(output(bench, outputs[n])->data, bench->end[outputs[n]].data,
                            count(&bench->end[outputs[n]]) *
                                fa_dtype_bytes(bench->end[outputs[n]].dtype));
}

static void replay_at(struct bench *bench, uint64_t position)
{
    struct looking looking = {.bench = bench, .position = position};
    struct fa_error error = {FA_OK, ""};
    sim_trace_seek(bench->trace, position, &looking.state);
    if (sim_experiment_replay(&bench->experiment, position, look, &looking, &error) != FA_OK)
        fail_msg("%s", error.text);
    assert_true(looking.looked);
    check_outputs(bench, position);
}

/* Every algorithm and pass, at positions that fall on all sorts of events. */
static void replays(void **state)
{
    (void)state;
    int n_cases;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        struct bench bench;
        if (strcmp(cases[n].name, "plain") == 0)
            continue; /* long, and nothing that the others are without */
        open_bench(&bench, &cases[n]);
        uint64_t length = sim_trace_length(bench.trace);
        bool refused = length > 0 && sim_trace_event(bench.trace, length - 1)->kind == SIM_REFUSE;
        for (uint64_t p = 0; p < length; p += 1 + length / 23)
            replay_at(&bench, p);
        replay_at(&bench, length);
        for (int i = 0; i < OUTPUTS && !refused; i++) {
            const struct fa_tensor *end = &bench.end[outputs[i]];
            bool outside = outputs[i] == FA_LSE && !cases[n].algorithm->stores_lse &&
                           cases[n].pass == SIM_FORWARD;
            if (count(end) > 0 && !outside)
                assert_memory_equal(output(&bench, outputs[i])->data, end->data,
                                    count(end) * fa_dtype_bytes(end->dtype));
        }
        close_bench(&bench);
    }
}

/* The small runs at each position, and past the last. */
static void small_replays(void **state)
{
    (void)state;
    const struct trace_case *const cases[] = {&trace_case_small, &trace_case_backward};
    for (int n = 0; n < 2; n++) {
        struct bench bench;
        struct looking looking = {.bench = &bench};
        struct fa_error error;
        open_bench(&bench, cases[n]);
        uint64_t length = sim_trace_length(bench.trace);
        for (uint64_t p = 0; p <= length; p++)
            replay_at(&bench, p);
        assert_int_equal(
            sim_experiment_replay(&bench.experiment, length + 1, look, &looking, &error),
            FA_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "of a run of "));
        assert_false(looking.looked);
        close_bench(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays),
        cmocka_unit_test(small_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
