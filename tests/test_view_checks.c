/* The invariants under the bench: kept by every algorithm, and each seen to break where a fault
 * is planted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/view_case.h"
#include "tests/view_traced.h"
#include "visualizer/sentence.h"

enum { SUMS, FALLS, OUTPUT };

/* ---- an algorithm with a fault: its tiles are spoilt before it computes as it should -------- */

enum fault { FORGETS_L, LOWERS_M, SPOILS_O, SPOILS_END };

static enum fault fault;
static const struct fa_port_verbs *honest;
static const struct fa_algorithm *model;

static void set_cell(const struct fa_port *port, enum fa_tensor_id id, int64_t row, double value)
{
    ((float *)port->tile[id].cells)[row] = (float)value;
}

static void faulty_compute(struct fa_port *port, enum fa_op op)
{
    /* A replay runs through what lies before its snapshot without tiles. */
    bool real = port->tile[FA_O].live && port->tile[FA_O].cells;
    bool here = real && port->at.i == 1 && port->at.j == 2 && port->at.head == 0;
    bool absorbs = op == FA_OP_ABSORB || op == FA_OP_UPDATE;
    if (here && absorbs && fault == FORGETS_L)
        set_cell(port, FA_L, 1, 0);
    if (here && absorbs && fault == LOWERS_M)
        set_cell(port, FA_M, 2, -1000);
    if (here && op == FA_OP_ACCUMULATE && fault == SPOILS_O)
        set_cell(port, FA_O, 3, fa_tile_get(port, FA_O, 3, 0) + 0.25);
    if (real && port->at.i == 1 && op == FA_OP_FINISH && fault == SPOILS_END)
        set_cell(port, FA_L, 0, 1);
    honest->compute(port, op);
}

static void faulty_unit(struct fa_port *port, int phase, int64_t head, int64_t index)
{
    struct fa_port_verbs verbs = *port->verbs;
    honest = port->verbs;
    verbs.compute = faulty_compute;
    port->verbs = &verbs;
    model->unit(port, phase, head, index);
    port->verbs = honest;
}

static struct view_run *open_faulty(const char *name, enum fault which)
{
    struct view_source source = view_case_source(&(struct view_case){.algorithm = name});
    static struct fa_algorithm faulty;
    struct view_run *run;
    struct fa_error error = {FA_OK, ""};
    fault = which;
    model = source.experiment.algorithm;
    faulty = *model;
    faulty.unit = faulty_unit;
    source.experiment.algorithm = &faulty;
    if (view_run_open(&source, NULL, &run, &error) != FA_OK)
        fail_msg("%s", error.text);
    return run;
}

/* The sentence of the event that breaks a check says so first, in the colour of what is bad; those
 * around it do not. */
static void is_told(struct view_run *run, uint64_t at, const struct view_check checks[VIEW_CHECKS])
{
    const struct view_check *check = checks; /* the first that breaks here */
    while (check->first_bad != at)
        check++;
    struct view_frame frame = view_case_frame(run, NULL, 1280, 720, at);
    struct view_sentence sentence;
    struct view_draw list;
    char first[256];
    snprintf(first, sizeof first, "Not true from here on: %s, %s. ", check->name, check->text);
    view_sentence(run, at - 1, true, &sentence);
    assert_true(sentence.bad);
    if (strncmp(sentence.text, first, strlen(first)) != 0)
        fail_msg("\"%s\", expected \"%s\" first", sentence.text, first);
    assert_true(sentence.text[strlen(first)] != '\0');
    assert_true(sentence.text[strlen(sentence.text) - 1] == '.');
    for (uint64_t e = at - 3; e < at + 3; e++)
        if (e != at - 1) {
            view_sentence(run, e, true, &sentence);
            assert_false(sentence.bad && strncmp(sentence.text, first, strlen(first)) == 0);
            assert_true(sentence.bad == (strstr(sentence.text, "Not true") != NULL));
            assert_true(e >= at || !sentence.bad); /* later another check may break too */
        }
    view_draw_open(&list, &view_builtin_face, &view_dark);
    struct view_scene scene = view_case_scene(&frame);
    view_scene_sentence(&list, &scene);
    const struct view_item *words = view_case_text(&list, "Not true from here on:");
    assert_non_null(words);
    assert_memory_equal(&words->color, &view_dark.bad, sizeof words->color);
    view_draw_close(&list);
}

/* The check holds up to the event of tile (1, 2), or of the end of i = 1, that the fault is in,
 * and from there on it doesn't. */
static void breaks(const char *name, enum fault which, int check, enum fa_op op, const char *text)
{
    struct view_run *run = open_faulty(name, which);
    struct view_check checks[VIEW_CHECKS];
    uint64_t at = UINT64_MAX;
    for (uint64_t e = 0; e < view_run_length(run); e++) {
        const struct sim_event *event = view_run_event(run, e);
        if (event->kind == SIM_COMPUTE && event->op == op && event->i == 1 &&
            (event->j == 2 || event->j == SIM_NO_TILE))
            at = e + 1;
    }
    view_run_checks(run, at - 1, checks);
    assert_int_equal(checks[check].verdict, VIEW_GOOD);
    assert_int_equal(checks[check].first_bad, UINT64_MAX);
    view_run_checks(run, at, checks);
    assert_int_equal(checks[check].verdict, VIEW_BAD);
    assert_int_equal(checks[check].first_bad, at);
    if (strncmp(checks[check].text, text, strlen(text)) != 0)
        fail_msg("%s: \"%s\"", name, checks[check].text);
    is_told(run, at, checks);
    view_run_checks(run, view_run_length(run), checks);
    assert_int_equal(checks[check].first_bad, at);
    view_run_close(run);
}

static void planted_faults(void **state)
{
    (void)state;
    breaks("flash2", FORGETS_L, SUMS, FA_OP_ABSORB, "first at tile (1,2), row 5: ");
    breaks("flash1", FORGETS_L, SUMS, FA_OP_UPDATE, "first at tile (1,2), row 5: ");
    breaks("flash2", LOWERS_M, FALLS, FA_OP_ABSORB, "first at tile (1,2), row 6: ");
    breaks("flash1", LOWERS_M, FALLS, FA_OP_UPDATE, "first at tile (1,2), row 6: ");
    breaks("flash2", SPOILS_O, OUTPUT, FA_OP_ACCUMULATE, "first at tile (1,2), row 7: off by ");
    breaks("flash2", SPOILS_END, OUTPUT, FA_OP_FINISH, "first at the end of i = 1, row 4: off by ");
    breaks("flash1", SPOILS_O, OUTPUT, FA_OP_ACCUMULATE, "first at tile (1,2), row 7: off by ");
}

/* ---- and without one --------------------------------------------------------------------- */

static void check_case(const struct trace_case *which)
{
    struct view_run *run = view_traced_open(which);
    struct view_check checks[VIEW_CHECKS];
    uint64_t length = view_run_length(run);
    bool online = strncmp(which->algorithm->name, "flash", 5) == 0;
    bool any = which->pass == SIM_FORWARD && which->problem.nk > 0 && which->problem.nq > 0 &&
               !view_run_refused(run);
    view_run_checks(run, 0, checks);
    for (int n = 0; n < VIEW_CHECKS; n++)
        assert_int_equal(checks[n].verdict, VIEW_NO_VERDICT);
    view_run_checks(run, length, checks);
    for (int n = 0; n < VIEW_CHECKS; n++) {
        bool applies = any && (n != OUTPUT || online);
        if (checks[n].verdict != (applies ? VIEW_GOOD : VIEW_NO_VERDICT))
            fail_msg("%s of %s: %s %d %s", which->name, which->algorithm->name, checks[n].name,
                     (int)checks[n].verdict, checks[n].text);
    }
    view_run_close(run);
}

static void all_cases(void **state)
{
    (void)state;
    int n_cases;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++)
        check_case(&cases[n]);
}

/* Values of all formats and profiles, with scores that rise and fall steeply. */
static void formats(void **state)
{
    (void)state;
    const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p"};
    for (int a = 0; a < 4; a++)
        for (int dtype = FA_F32; dtype <= FA_BF16; dtype++)
            for (int profile = 0; profile < FA_PROFILE_COUNT; profile++) {
                struct view_run *run = view_case_open(
                    &(struct view_case){.algorithm = algorithms[a], .n = 40, .d = 16, .br = 8,
                                        .bc = 16, .dtype = (enum fa_dtype)dtype,
                                        .profile = (enum fa_profile)profile});
                struct view_check checks[VIEW_CHECKS];
                view_run_checks(run, view_run_length(run), checks);
                for (int n = 0; n < VIEW_CHECKS; n++)
                    if (checks[n].verdict == VIEW_BAD)
                        fail_msg("%s %s %s: %s", algorithms[a],
                                 fa_dtype_name((enum fa_dtype)dtype),
                                 fa_profile_name((enum fa_profile)profile), checks[n].text);
                view_run_close(run);
            }
}

/* ---- results against the oracle ---------------------------------------------------------- */

static void results(void **state)
{
    (void)state;
    struct view_error_row rows[4];
    struct view_run *run = view_case_open(&(struct view_case){.heads = 2});
    assert_int_equal(view_run_errors(run, rows), 2);
    assert_string_equal(rows[0].name, "O");
    assert_string_equal(rows[1].name, "LSE");
    for (int n = 0; n < 2; n++) {
        assert_true(rows[n].passed && rows[n].max_abs > 0 && rows[n].max_abs < 1e-5);
        assert_true(fabs(rows[n].ours - rows[n].truth) == rows[n].max_abs);
        assert_in_range(rows[n].head, 0, 1);
        assert_in_range(rows[n].row, 0, 15);
    }
    view_run_close(run);
    run = view_case_open(&(struct view_case){.backward = true, .heads = 2});
    assert_int_equal(view_run_errors(run, rows), 3);
    const char *const names[] = {"dQ", "dK", "dV"};
    for (int n = 0; n < 3; n++) {
        assert_string_equal(rows[n].name, names[n]);
        assert_true(rows[n].passed && rows[n].max_abs > 0 && rows[n].max_abs < 1e-4);
        assert_true(fabs(rows[n].ours - rows[n].truth) == rows[n].max_abs);
    }
    view_run_close(run);
    run = open_faulty("flash2", SPOILS_O);
    assert_int_equal(view_run_errors(run, rows), 2);
    assert_false(rows[0].passed);
    assert_true(rows[1].passed);
    assert_int_equal(rows[0].row, 7);
    assert_int_equal(rows[0].column, 0);
    view_run_close(run);
    run = view_case_open(&(struct view_case){.sram = 128});
    assert_true(view_run_refused(run));
    assert_int_equal(view_run_errors(run, rows), 0);
    view_run_close(run);
}

/* Grouped heads, masks and dropout: the worst element is found again where it is said to be. */
static void results_of_cases(void **state)
{
    (void)state;
    int n_cases, found = 0;
    const struct trace_case *cases = trace_cases(&n_cases);
    for (int n = 0; n < n_cases; n++) {
        if (strcmp(cases[n].name, "plain") == 0)
            continue;
        struct view_run *run = view_traced_open(&cases[n]);
        struct view_error_row rows[4];
        int n_rows = view_run_errors(run, rows);
        for (int r = 0; r < n_rows; r++) {
            assert_true(rows[r].passed);
            if (rows[r].head < 0)
                continue;
            found++;
            if (fabs(rows[r].ours - rows[r].truth) != rows[r].max_abs)
                fail_msg("%s of %s: %s is off by %g, at its worst element by %g", cases[n].name,
                         cases[n].algorithm->name, rows[r].name, rows[r].max_abs,
                         fabs(rows[r].ours - rows[r].truth));
        }
        view_run_close(run);
    }
    assert_true(found > 100);
}

static void tiles(void **state)
{
    (void)state;
    const char *const algorithms[] = {"flash2", "flash1", "standard", "fused-save-p"};
    for (int a = 0; a < 4; a++) {
        struct view_run *run =
            view_case_open(&(struct view_case){.algorithm = algorithms[a], .causal = true});
        const double *errors = view_run_tile_errors(run);
        bool all = strcmp(algorithms[a], "standard") == 0; /* it skips nothing */
        assert_non_null(errors);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                if (j > i && !all)
                    assert_true(isnan(errors[4 * i + j]));
                else
                    assert_true(errors[4 * i + j] >= 0 && errors[4 * i + j] < 1e-5);
        view_run_close(run);
    }
    struct view_run *run = open_faulty("flash2", SPOILS_O);
    const double *errors = view_run_tile_errors(run);
    assert_true(errors[4 + 1] < 1e-5 && errors[4 + 2] > 0.01 && errors[4 + 3] > 0.001);
    view_run_close(run);
    run = view_case_open(&(struct view_case){.backward = true, .causal = true});
    errors = view_run_tile_errors(run);
    assert_non_null(errors);
    assert_true(errors[4] > 0 && errors[4] < 1e-4);
    assert_true(isnan(errors[1]));
    view_run_close(run);
    run = view_case_open(&(struct view_case){.n = 130, .br = 2, .bc = 2, .d = 2});
    assert_null(view_run_tile_errors(run));
    view_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_faults),   cmocka_unit_test(all_cases),
        cmocka_unit_test(formats),          cmocka_unit_test(results),
        cmocka_unit_test(results_of_cases), cmocka_unit_test(tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
