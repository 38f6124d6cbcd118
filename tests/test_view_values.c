/* Cells at a position: what the machine holds when the run is simply repeated up to there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/trace_ops.h"
#include "tests/view_case.h"
#include "tests/view_traced.h"

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

struct looking {
    struct view_run *run;
    const char *name;
    uint64_t landed;
    int64_t chip_cells, hbm_cells;
};

static void check_chip(struct looking *looking, const struct fa_port *port,
                       const struct view_values *values)
{
    struct sim_state state;
    view_run_state(looking->run, looking->landed, &state);
    for (int id = 0; id < FA_TENSORS; id++) {
        const struct sim_resident *resident = &state.on_chip[id];
        double value = 77;
        if (!resident->live)
            continue;
        for (int64_t r = 0; r < resident->rows; r++)
            for (int64_t c = 0; c < resident->columns; c++) {
                bool held = r < resident->held_rows && c < resident->held_columns;
                enum view_cell_state got =
                    view_values_chip(values, (enum fa_tensor_id)id, r, c, &value);
                assert_int_equal(got, held ? VIEW_CELL_VALUE : VIEW_CELL_UNWRITTEN);
                if (held && !same(value, fa_tile_get(port, (enum fa_tensor_id)id, r, c)))
                    fail_msg("%s after %d: %s (%d, %d) on chip is %g", looking->name,
                             (int)looking->landed, fa_tensor_name((enum fa_tensor_id)id), (int)r,
                             (int)c, value);
                looking->chip_cells += held;
            }
        assert_int_equal(
            view_values_chip(values, (enum fa_tensor_id)id, resident->rows, 0, &value),
            VIEW_CELL_NONE);
        assert_int_equal(view_values_chip(values, (enum fa_tensor_id)id, 0, -1, &value),
                         VIEW_CELL_NONE);
    }
}

/* Whether the element of the head was stored: by the events themselves. */
static bool was_stored(const struct looking *looking, const struct fa_run *run,
                       enum fa_tensor_id id, int64_t head, int64_t row, int64_t column)
{
    const struct fa_problem *p = &run->problem;
    bool keys = id == FA_DK || id == FA_DV;
    int64_t group = keys ? p->heads / p->kv_heads : 1;
    for (uint64_t e = 0; e < looking->landed; e++) {
        const struct sim_event *event = view_run_event(looking->run, e);
        if (event->kind == SIM_STORE && event->tensor == (unsigned)id &&
            (int64_t)event->head / group == head / group && row >= (int64_t)event->row &&
            row < (int64_t)(event->row + event->rows) && column >= (int64_t)event->column &&
            column < (int64_t)(event->column + event->columns))
            return true;
    }
    return false;
}

static void check_element(struct looking *looking, const struct fa_run *run,
                          const struct view_values *values, enum fa_tensor_id id, int64_t head,
                          int64_t row, int64_t column, bool written)
{
    const struct fa_tensor *tensor = &run->tensor[id];
    const struct fa_problem *p = &run->problem;
    double value = 77;
    enum view_cell_state got = view_values_hbm(values, id, head, row, column, &value);
    bool there = !written || was_stored(looking, run, id, head, row, column);
    if (there && written && tensor->stride[1] == 0 && p->batch * p->heads > 1 &&
        got == VIEW_CELL_NONE)
        return; /* another head's by now */
    assert_int_equal(got, there ? VIEW_CELL_VALUE : VIEW_CELL_UNWRITTEN);
    double expected = fa_tensor_get(tensor, fa_problem_batch(tensor, head / p->heads),
                                    fa_problem_head(p, tensor, head % p->heads), row, column);
    if (there && !same(value, expected))
        fail_msg("%s after %d: %s (%d, %d) of head %d in HBM is %g, not %g", looking->name,
                 (int)looking->landed, fa_tensor_name(id), (int)row, (int)column, (int)head, value,
                 expected);
    looking->hbm_cells += there;
}

static void check_hbm(struct looking *looking, const struct fa_run *run,
                      const struct view_values *values)
{
    const struct sim_trace_header *header = view_run_header(looking->run);
    uint32_t set = sim_tensors_in_hbm(header);
    uint32_t given = FA_BIT(FA_Q) | FA_BIT(FA_K) | FA_BIT(FA_V) | FA_BIT(FA_DO) | FA_BIT(FA_MASK) |
                     FA_BIT(FA_BIAS) | (header->has_keep ? FA_BIT(FA_DROPOUT) : 0);
    if (view_run_backward(looking->run))
        given |= FA_BIT(FA_O) | FA_BIT(FA_LSE) | FA_BIT(FA_L) | FA_BIT(FA_M) | FA_BIT(FA_P) |
                 FA_BIT(FA_PD) | FA_BIT(FA_DROPOUT);
    for (int id = 0; id < FA_HBM_TENSORS; id++) {
        const struct fa_tensor *tensor = &run->tensor[id];
        double value;
        if (!(set & FA_BIT(id))) {
            assert_int_equal(view_values_hbm(values, (enum fa_tensor_id)id, 0, 0, 0, &value),
                             VIEW_CELL_NONE);
            continue;
        }
        for (int64_t head = 0; head < view_run_heads(looking->run); head++)
            for (int64_t r = 0; r < tensor->shape[2]; r += 3)
                for (int64_t c = r % 2; c < tensor->shape[3]; c += 3)
                    check_element(looking, run, values, (enum fa_tensor_id)id, head, r, c,
                                  !(given & FA_BIT(id)));
        assert_int_equal(view_values_hbm(values, (enum fa_tensor_id)id, 0, tensor->shape[2], 0,
                                         &value),
                         VIEW_CELL_NONE);
    }
}

static void look(void *context, struct sim_memory *memory)
{
    struct looking *looking = context;
    const struct view_values *values = view_run_values(looking->run, looking->landed);
    if (!values)
        fail_msg("%s after %d has no values", looking->name, (int)looking->landed);
    check_chip(looking, &memory->port, values);
    check_hbm(looking, memory->port.run, values);
}

static void check_position(const struct sim_experiment *experiment, struct looking *looking,
                           uint64_t landed)
{
    struct fa_error error = {FA_OK, ""};
    looking->landed = landed;
    if (sim_experiment_replay(experiment, landed, look, looking, &error) != FA_OK)
        fail_msg("%s", error.text);
}

/* Positions in no order, so that a replay takes up others before and behind it. */
static void all_cases(void **state)
{
    (void)state;
    int n_cases;
    int64_t chip_cells = 0, hbm_cells = 0;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        if (strcmp(cases[n].name, "plain") == 0)
            continue; /* long, and nothing that the others are without */
        struct view_source source = view_traced_source(&cases[n]);
        struct looking looking = {.run = view_traced_open(&cases[n]), .name = cases[n].name};
        uint64_t length = view_run_length(looking.run);
        assert_null(view_run_no_values(looking.run));
        assert_int_equal(view_run_refused(looking.run), strcmp(cases[n].name, "refused") == 0);
        for (uint64_t k = 0; k < 9 && length > 0; k++)
            check_position(&source.experiment, &looking, (k * 5 % 9) * (length - 1) / 8 + k % 2);
        chip_cells += looking.chip_cells;
        hbm_cells += looking.hbm_cells;
        view_run_close(looking.run);
        source.release(source.owner);
    }
    assert_true(chip_cells > 20000 && hbm_cells > 20000);
}

/* A run that is long enough for snapshots of its own. */
static void long_runs(void **state)
{
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        const struct view_case which = {.n = 384, .d = 64, .br = 64, .bc = 64,
                                        .backward = backward};
        struct view_source source = view_case_source(&which);
        struct looking looking = {.run = view_case_open(&which), .name = "long"};
        uint64_t length = view_run_length(looking.run);
        for (uint64_t k = 0; k < 4; k++)
            check_position(&source.experiment, &looking, length - 1 - k * k * (length / 11));
        view_run_close(looking.run);
        source.release(source.owner);
    }
}

static double hbm(const struct view_values *values, enum fa_tensor_id id, int64_t row,
                  int64_t column)
{
    double value = NAN;
    assert_int_equal(view_values_hbm(values, id, 0, row, column, &value), VIEW_CELL_VALUE);
    return value;
}

static double chip(const struct view_values *values, enum fa_tensor_id id, int64_t row,
                   int64_t column)
{
    double value = NAN;
    assert_int_equal(view_values_chip(values, id, row, column, &value), VIEW_CELL_VALUE);
    return value;
}

/* tidy: multiples of a half and a scale of a half, so every sum is exact. */
static void scores_by_hand(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&view_case_tidy);
    uint64_t landed = view_case_after(run, SIM_COMPUTE, FA_S, 1, 2);
    const struct view_values *values = view_run_values(run, landed);
    double value;
    for (int64_t r = 0; r < 4; r++)
        for (int64_t c = 0; c < 4; c++) {
            double sum = 0;
            for (int64_t n = 0; n < 4; n++) {
                sum += hbm(values, FA_Q, 4 + r, n) * hbm(values, FA_K, 8 + c, n);
                assert_true(chip(values, FA_K, c, n) == hbm(values, FA_K, 8 + c, n));
            }
            assert_true(chip(values, FA_S, r, c) == 0.5 * sum);
        }
    assert_int_equal(view_values_chip(values, FA_P, 0, 0, &value), VIEW_CELL_NONE);
    assert_int_equal(view_values_hbm(values, FA_S, 0, 0, 0, &value), VIEW_CELL_NONE);
    assert_int_equal(view_values_hbm(values, FA_O, 0, 3, 3, &value), VIEW_CELL_VALUE);
    assert_int_equal(view_values_hbm(values, FA_O, 0, 4, 0, &value), VIEW_CELL_UNWRITTEN);
    values = view_run_values(run, landed + 1);
    assert_int_equal(view_values_chip(values, FA_P, 0, 0, &value), VIEW_CELL_VALUE);
    assert_true(value > 0 && value <= 1);
    values = view_run_values(run, 0);
    assert_int_equal(view_values_chip(values, FA_Q, 0, 0, &value), VIEW_CELL_NONE);
    assert_int_equal(view_values_hbm(values, FA_O, 0, 0, 0, &value), VIEW_CELL_UNWRITTEN);
    values = view_run_values(run, view_case_after(run, SIM_ALLOC, FA_O, -1, -1));
    assert_int_equal(view_values_chip(values, FA_O, 0, 0, &value), VIEW_CELL_UNWRITTEN);
    view_run_close(run);
}

/* standard's S is one matrix that all heads use in turn. */
static void shared_matrix(void **state)
{
    (void)state;
    struct view_run *run =
        view_case_open(&(struct view_case){.algorithm = "standard", .heads = 2});
    uint64_t second = 0;
    double value;
    while (view_run_event(run, second)->head == 0)
        second++;
    const struct view_values *values = view_run_values(run, second);
    assert_int_equal(view_values_hbm(values, FA_S, 0, 0, 0, &value), VIEW_CELL_VALUE);
    assert_int_equal(view_values_hbm(values, FA_S, 1, 0, 0, &value), VIEW_CELL_UNWRITTEN);
    values = view_run_values(run, second + 1);
    assert_int_equal(view_values_hbm(values, FA_S, 0, 0, 0, &value), VIEW_CELL_NONE);
    assert_int_equal(view_values_hbm(values, FA_O, 0, 0, 0, &value), VIEW_CELL_VALUE);
    view_run_close(run);
}

/* A NaN that was written is a value; what was never written is not, though it is a NaN too. */
static void written_nan(void **state)
{
    (void)state;
    struct view_source source = view_case_source(&(struct view_case){0});
    struct view_run *run;
    double value = 0;
    fa_tensor_set(source.experiment.v, 0, 0, 5, 1, NAN);
    assert_int_equal(view_run_open(&source, NULL, &run, NULL), FA_OK);
    const struct view_values *values =
        view_run_values(run, view_case_after(run, SIM_STORE, FA_O, 0, -1));
    assert_true(isnan(hbm(values, FA_O, 0, 1)));
    assert_false(isnan(hbm(values, FA_O, 0, 0)));
    assert_int_equal(view_values_hbm(values, FA_O, 0, 4, 1, &value), VIEW_CELL_UNWRITTEN);
    assert_true(isfinite(view_run_most(run, FA_O)));
    assert_true(isfinite(view_run_most(run, FA_V)));
    view_run_close(run);
}

/* The maxima of a row, its factor exp(old - new), and the track's mark. */
static void check_rescale(struct view_run *run, uint64_t index)
{
    const struct view_rescale *rescale = view_run_rescale(run, index);
    double old_max[4], new_max[4], least = 1;
    int64_t rose = 0;
    assert_non_null(rescale);
    assert_int_equal(rescale->rows, 4);
    for (int64_t r = 0; r < 4; r++) {
        old_max[r] = chip(view_run_values(run, index), FA_M, r, 0);
        new_max[r] = chip(view_run_values(run, index + 1), FA_M, r, 0);
    }
    rescale = view_run_rescale(run, index);
    for (int64_t r = 0; r < 4; r++) {
        bool rises = old_max[r] > -INFINITY && new_max[r] > old_max[r];
        double factor = rises ? exp(old_max[r] - new_max[r]) : 1;
        assert_true(rescale->factors[r] == factor);
        if (rises && rose++ == 0) {
            assert_int_equal(rescale->first_row, view_run_event(run, index)->i * 4 + (uint64_t)r);
            assert_true(rescale->old_max == old_max[r] && rescale->new_max == new_max[r]);
            assert_true(rescale->factor == factor);
        }
        least = factor < least ? factor : least;
    }
    assert_int_equal(rescale->rose, rose);
    assert_true(rescale->least_factor == least);
    if (rose == 0)
        assert_int_equal(rescale->first_row, -1);
    struct view_track_bin bin;
    view_run_track(run, index, index + 1, &bin, 1);
    assert_int_equal(bin.rescales, rose > 0);
}

static void rescales(void **state)
{
    (void)state;
    const char *const algorithms[] = {"flash2", "flash1"};
    for (int a = 0; a < 2; a++) {
        struct view_run *run = view_case_open(
            &(struct view_case){.algorithm = algorithms[a], .profile = FA_PROFILE_TIDY});
        int found = 0, rises = 0;
        for (uint64_t e = 0; e < view_run_length(run); e++) {
            const struct sim_event *event = view_run_event(run, e);
            bool absorbs = event->kind == SIM_COMPUTE &&
                           (event->op == FA_OP_ABSORB || event->op == FA_OP_UPDATE);
            if (!absorbs) {
                assert_null(view_run_rescale(run, e));
                continue;
            }
            check_rescale(run, e);
            found++;
            rises += view_run_rescale(run, e)->rose > 0;
            if (event->j == 0)
                assert_int_equal(view_run_rescale(run, e)->rose, 0);
        }
        assert_int_equal(found, 16);
        assert_true(rises > 0);
        view_run_close(run);
    }
}

/* The scale of the shades is the largest value over all positions. */
static void largest_values(void **state)
{
    (void)state;
    struct view_run *run = view_case_open(&(struct view_case){.causal = true});
    double most[FA_TENSORS] = {0};
    for (uint64_t landed = 0; landed <= view_run_length(run); landed++) {
        const struct view_values *values = view_run_values(run, landed);
        struct sim_state now;
        view_run_state(run, landed, &now);
        for (int id = 0; id < FA_TENSORS; id++)
            for (int64_t r = 0; now.on_chip[id].live && r < 4; r++)
                for (int64_t c = 0; c < 4; c++) {
                    double value;
                    enum fa_tensor_id holds = (enum fa_tensor_id)now.on_chip[id].holds;
                    if (view_values_chip(values, (enum fa_tensor_id)id, r, c, &value) ==
                            VIEW_CELL_VALUE &&
                        isfinite(value) && fabs(value) > most[holds])
                        most[holds] = fabs(value);
                }
    }
    for (int id = 0; id < FA_TENSORS; id++)
        if (view_run_most(run, (enum fa_tensor_id)id) != most[id])
            fail_msg("%s is at most %g, not %g", fa_tensor_name((enum fa_tensor_id)id), most[id],
                     view_run_most(run, (enum fa_tensor_id)id));
    assert_true(most[FA_S] > 0 && most[FA_P] == 1 && most[FA_DQ] == 0);
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),   cmocka_unit_test(long_runs),
        cmocka_unit_test(scores_by_hand), cmocka_unit_test(shared_matrix),
        cmocka_unit_test(written_nan),
        cmocka_unit_test(rescales),    cmocka_unit_test(largest_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
