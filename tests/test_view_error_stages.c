/*
 * Errors by stage: S, P, LSE and O of a run against a softmax of the test's own, and what the stage
 * of errors shows of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/stage_case.h"

struct sum {
    double squares, most;
    int n;
};

static void add(struct sum *sum, double ours, double truth)
{
    sum->squares += (ours - truth) * (ours - truth);
    sum->most = fmax(sum->most, fabs(ours - truth));
    sum->n++;
}

/* What the run left of a causal row, against a softmax in plain loops. */
static void add_row(const struct view_run *run, const struct view_values *values, int64_t row,
                    struct sum sums[VIEW_ERROR_STAGES])
{
    const struct sim_experiment *e = view_run_experiment(run);
    const struct fa_problem *p = &e->problem;
    double score[64], sum = 0, ours;
    for (int64_t key = 0; key <= row; key++) {
        score[key] = 0;
        for (int64_t c = 0; c < p->d; c++)
            score[key] += p->scale * fa_tensor_get(e->q, 0, 0, row, c) *
                          fa_tensor_get(e->k, 0, 0, key, c);
        sum += exp(score[key]);
    }
    add(&sums[2], fa_tensor_get(e->lse, 0, 0, row, 0), log(sum));
    for (int64_t c = 0; c < p->dv; c++) {
        double o = 0;
        for (int64_t key = 0; key <= row; key++)
            o += exp(score[key]) / sum * fa_tensor_get(e->v, 0, 0, key, c);
        add(&sums[3], fa_tensor_get(e->o, 0, 0, row, c), o);
    }
    for (int64_t key = 0; values && key <= row; key++) {
        assert_int_equal(view_values_hbm(values, FA_S, 0, row, key, &ours), VIEW_CELL_VALUE);
        add(&sums[0], ours, score[key]);
        assert_int_equal(view_values_hbm(values, FA_P, 0, row, key, &ours), VIEW_CELL_VALUE);
        add(&sums[1], ours, exp(score[key]) / sum);
    }
}

static void check_stages(const char *algorithm, enum fa_dtype dtype, double rms[VIEW_ERROR_STAGES])
{
    static const enum fa_tensor_id ids[] = {FA_S, FA_P, FA_LSE, FA_O};
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    struct sum sums[VIEW_ERROR_STAGES] = {{0, 0, 0}};
    struct view_run *run = view_case_open(&(struct view_case){
        .algorithm = algorithm, .n = 64, .d = 16, .br = 16, .bc = 16, .causal = true,
        .dtype = dtype});
    bool stores = strcmp(algorithm, "standard") == 0;
    const struct view_values *values = stores ? view_run_values(run, view_run_length(run)) : NULL;
    for (int64_t row = 0; row < 64; row++)
        add_row(run, values, row, sums);
    assert_int_equal(view_run_stage_errors(run, stages), VIEW_ERROR_STAGES);
    for (int n = 0; n < VIEW_ERROR_STAGES; n++) {
        rms[n] = stages[n].rms;
        assert_int_equal(stages[n].id, ids[n]);
        assert_int_equal(stages[n].formed, n != 1 || stores);
        assert_int_equal(stages[n].in_hbm, n > 1 || stores);
        assert_int_equal(stages[n].format, n == 2 || !stages[n].in_hbm ? FA_F32 : dtype);
        if (sums[n].n == 0)
            continue;
        assert_true(fabs(stages[n].rms / sqrt(sums[n].squares / sums[n].n) - 1) < 1e-6);
        assert_true(fabs(stages[n].max_abs / sums[n].most - 1) < 1e-6);
    }
    view_run_close(run);
}

static void test_error_stages(void **state)
{
    double flash[VIEW_ERROR_STAGES], standard[VIEW_ERROR_STAGES], coarse[VIEW_ERROR_STAGES];
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    (void)state;
    check_stages("flash2", FA_F16, flash);
    check_stages("standard", FA_F16, standard);
    check_stages("standard", FA_BF16, coarse);
    /* Half a unit in the last of 11 digits, of scores about 1, against f32's of 24. */
    assert_true(flash[0] > 1e-9 && flash[0] < 1e-6);
    assert_true(standard[0] > 1e-5 && standard[0] < 1e-3);
    assert_true(coarse[0] > 4 * standard[0] && coarse[0] < 16 * standard[0]);
    assert_true(standard[2] > 10 * flash[2] && standard[3] > flash[3]);
    struct view_run *backward = view_case_open(&(struct view_case){.backward = true});
    assert_int_equal(view_run_stage_errors(backward, stages), 0);
    view_run_close(backward);
}

static void test_error_stages_are_drawn(void **state)
{
    struct view_run *run[2];
    struct view_stage_error stages[VIEW_ERROR_STAGES];
    char number[VIEW_NUMBER_TEXT];
    (void)state;
    for (int k = 0; k < 2; k++)
        run[k] = view_case_open(&(struct view_case){
            .algorithm = k ? "standard" : "flash2", .n = 32, .br = 8, .bc = 8, .dtype = FA_F16});
    struct view_frame frame = view_case_frame(run[0], run[1], 1280, 720, view_run_length(run[0]));
    frame.at[1].landed = view_run_length(run[1]);
    stage_case_draw(view_stage_errors, &frame);
    stage_case_expect("never there as a whole");
    stage_case_expect("against the same inputs in double precision");
    for (int k = 0; k < 2; k++) {
        int n = view_run_stage_errors(run[k], stages);
        for (int s = 0; s < n; s++)
            if (stages[s].formed)
                stage_case_expect(view_value_text(stages[s].rms, number));
    }
    int n = view_run_stage_errors(run[1], stages);
    for (int covered = 0; covered < 2; covered++) { /* before its end, and under a prediction */
        frame.covered = covered;
        frame.at[1].landed = view_run_length(run[1]) - !covered;
        stage_case_draw(view_stage_errors, &frame);
        for (int s = 0; s < n; s++)
            assert_null(view_case_text(&stage_list, view_value_text(stages[s].rms, number)));
    }
    view_run_close(run[0]);
    view_run_close(run[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_stages),
        cmocka_unit_test_setup_teardown(test_error_stages_are_drawn, stage_case_set_up,
                                        stage_case_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
