/* flashlab check without --theirs: a build without kernels, the ladder on the CPU, and a ladder of
 * broken rungs, each of which must be found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/cuda_suite.h"
#include "tests/program_expect.h"

/* The running test is skipped where the program was not built. */
static void use(const char *path)
{
    if (!*path)
        skip();
    program_use(path);
}

static int back_to_default(void **state)
{
    (void)state;
    program_use(NULL);
    return 0;
}

/* Standard error begins so, and nothing is on standard output; and in JSON. */
static void expect_error(const char *line, int status, const char *code, const char *words)
{
    char json_line[256];
    struct program_run run = program_run_line(line);
    assert_string_equal(run.out, "");
    text_expect(run.err, words);
    assert_int_equal(run.status, status);
    program_run_free(&run);
    snprintf(json_line, sizeof json_line, "%s --format json", line);
    json_t *object = program_run_json(json_line, status);
    assert_string_equal(json_string_value(json_at(object, "error.code")), code);
    text_expect(json_string_value(json_at(object, "error.message")), words);
    json_decref(object);
}

/* What of a run is `result`, and how many runs are. */
static const json_t *find_run(const json_t *report, const char *result, int *n)
{
    const json_t *runs = json_at(report, "runs"), *found = NULL;
    *n = 0;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (strcmp(json_string_value(json_at(run, "result")), result) == 0) {
            found = found ? found : run;
            (*n)++;
        }
    }
    return found;
}

static void refusals(void **state)
{
    (void)state;
    use(FLASHLAB_BROKEN_PROGRAM);
    expect_error("check --rung flash3", 2, "bad_argument",
                 "--rung: 'flash3': expected one of off, lazy, long");
    expect_error("check --rung off,", 2, "bad_argument", "--rung: '': expected one of off, lazy");
    expect_error("check --case nothing-like-it", 2, "bad_argument",
                 "--case: no case has 'nothing-like-it' in its name");
    expect_error("check --golden @nowhere", 2, "io", "/nowhere: ");
    /* A rung that was named and took nothing was not checked. */
    expect_error("check --rung none --case top-left --dtype f32", 3, "missing_part",
                 "none took none of the cases: none needs another device");
    struct program_run run = program_run_line("check --rung none --case top-left --dtype f32");
    assert_null(strstr(run.err, "needs no GPU"));
    program_run_free(&run);
    expect_error("check --rung off --dtype f64 --case top-left --repeats 0", 3, "missing_part",
                 "off took none of the cases: flash2 does not take f64");
    expect_error("check --rung crash --case top-left", 2, "io", "crash, f32, \"1 x 1 heads, 1 x 1");
}

/* The ladder on the CPU is right, and what it does not take is refused and not passed. */
static void sound_rungs(void **state)
{
    (void)state;
    int right, wrong, refused;
    use(FLASHLAB_SHIM_PROGRAM);
    json_t *object =
        program_run_json("check --case window_16_4 --repeats 2 --format json --dtype f16 "
                         "--golden " FLASHLAB_GOLDEN_DIR,
                         0);
    assert_true(json_is_true(json_at(object, "pass")));
    assert_string_equal(json_string_value(json_at(object, "schema")), "flashlab.check_rungs/1");
    assert_string_equal(json_string_value(json_at(object, "device.name")), "shim");
    const json_t *run = find_run(object, "right", &right);
    assert_string_equal(json_string_value(json_at(run, "rung")), "flash2");
    assert_string_equal(json_string_value(json_at(run, "kind")), "golden");
    assert_string_equal(json_string_value(json_at(run, "pass")), "backward");
    double error = json_number_value(json_at(run, "outputs.dq.max_abs_error"));
    assert_true(error > 0 && error < json_number_value(json_at(run, "outputs.dq.budget")));
    assert_true(json_number_value(json_at(run, "outputs.o.compared")) > 0);
    run = find_run(object, "refused", &refused);
    assert_string_equal(json_string_value(json_at(run, "reason")), "standard takes no window");
    assert_true(json_is_null(json_at(run, "outputs.o")));
    find_run(object, "wrong", &wrong);
    json_expect_integer(object, "results.right", right);
    json_expect_integer(object, "results.refused", refused);
    assert_true(right >= 1 && wrong == 0 && right + refused == CUDA_SHIM_RUNGS);
    /* One of each rung, one more of its backward pass where dQ is added to in any order. */
    assert_int_equal(json_array_size(json_at(object, "repeats")), CUDA_SHIM_RUNGS > 5 ? 9 : 6);
    json_decref(object);
}

/* Field cases reach the rungs as they are, and in 64 columns; their masks as block masks. */
static void field_cases(void **state)
{
    (void)state;
    int right, refused;
    use(FLASHLAB_SHIM_PROGRAM);
    struct program_run run = program_run("check", "--case", "infinity behind", "--repeats", "0",
                                         "--dtype", "f32", "--format", "json", NULL);
    assert_int_equal(run.status, 0);
    json_t *object = json_loads(run.out, 0, NULL);
    const json_t *runs = json_at(object, "runs");
    bool wide = false;
    for (size_t i = 0; i < json_array_size(runs); i++)
        wide = wide || strcmp(json_string_value(json_at(json_array_get(runs, i), "case")),
                              "NaN and infinity behind a mask, d = 9, in 64 columns") == 0;
    assert_true(wide);
    find_run(object, "right", &right);
    const json_t *other = find_run(object, "refused", &refused);
    assert_string_equal(json_string_value(json_at(other, "reason")),
                        "standard takes no block mask");
    assert_true(right == 4 && right + refused == 4 * CUDA_SHIM_RUNGS);
    assert_int_equal(json_array_size(json_at(object, "repeats")), 0);
    json_decref(object);
    program_run_free(&run);
}

static void words(void **state)
{
    (void)state;
    use(FLASHLAB_SHIM_PROGRAM);
    struct program_run run =
        program_run_line("check --rung flash1 --case 4/2 --repeats 0 --dtype bf16");
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, 0);
    text_expect(run.out, "Check      right: ");
    text_expect(run.out, "Device     shim; kernels built for shim");
    text_expect(run.out, "  flash1    bf16  LSE ");
    text_expect(run.out, "Cases      8 of the grid, 0 field cases, 0 golden cases (--golden)");
    text_expect(run.out, " 2 x 4/2 heads, 33 x 70, d = 64, ");
    text_expect(run.out, "Refused    flash1");
    program_run_free(&run);
}

/* Each broken rung: what is said of it, and in which of the two lists. */
static void broken_rungs(void **state)
{
    (void)state;
    static const struct {
        const char *rung;
        bool repeats; /* else the runs */
        const char *words;
    } broken[] = {
        {"off", false, "O, last-tile: only rows of the ragged last tile are wrong"},
        {"lazy", false, "O: element 2048 was not written"},
        {"long", false, "LSE: bytes between or around the elements were written"},
        {"greedy", false, "Q: an input was written"},
        {"late", false, "O: element 0 was written, and nobody asked for it"},
        {"off-dk", false, "dK, other: none of the known faults"},
        {"restless", true, "LSE: element "},
        {"unsteady", true, "dQ: element "},
    };
    char line[160];
    int n;
    use(FLASHLAB_BROKEN_PROGRAM);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        snprintf(line, sizeof line,
                 "check --rung %s --case causal_65 --golden " FLASHLAB_GOLDEN_DIR
                 " --dtype f32 --repeats %d --format json",
                 broken[i].rung, broken[i].repeats ? 3 : 0);
        json_t *object = program_run_json(line, 1);
        assert_true(json_is_false(json_at(object, "pass")));
        const json_t *run = broken[i].repeats ? json_array_get(json_at(object, "repeats"), 0)
                                              : find_run(object, "wrong", &n);
        assert_string_equal(json_string_value(json_at(run, "result")), "wrong");
        text_expect(json_string_value(json_at(run, "reason")), broken[i].words);
        json_decref(object);
    }
}

/* A mode without an order may differ, within the budget; the other may not. */
static void two_modes(void **state)
{
    (void)state;
    use(FLASHLAB_BROKEN_PROGRAM);
    json_t *object =
        program_run_json("check --rung atomic --case causal_65 --golden " FLASHLAB_GOLDEN_DIR
                         " --dtype f32 --repeats 4 --format json",
                         0);
    assert_int_equal(json_array_size(json_at(object, "runs")), 2);
    const json_t *repeats = json_at(object, "repeats");
    assert_int_equal(json_array_size(repeats), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *repeat = json_array_get(repeats, i);
        json_expect_integer(repeat, "calls", 4);
        assert_true(json_is_true(json_at(repeat, "deterministic")) == (i == 0));
        assert_string_equal(json_string_value(json_at(repeat, "expected")), i ? "budget" : "bits");
    }
    json_decref(object);
}

static void without_a_device(void **state)
{
    (void)state;
    /* A build with kernels finds no device here, or finds one and is right to go on. */
    struct program_run run = program_run_line("check --case worked --rung nothing");
    assert_true(run.status == 3 || run.status == 2);
    assert_string_equal(run.out, "");
    if (run.status == 3)
        text_expect(run.err, "(--theirs DIR needs no GPU)");
    program_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(refusals, back_to_default),
        cmocka_unit_test_teardown(sound_rungs, back_to_default),
        cmocka_unit_test_teardown(field_cases, back_to_default),
        cmocka_unit_test_teardown(words, back_to_default),
        cmocka_unit_test_teardown(broken_rungs, back_to_default),
        cmocka_unit_test_teardown(two_modes, back_to_default),
        cmocka_unit_test(without_a_device),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    program_folder_remove(NULL);
    return failed;
}
