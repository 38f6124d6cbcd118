/* What an experiment is refused for before anything of it runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "simulator/experiment.h"

/* A tensor of the problem below. */
static struct fa_tensor make(void)
{
    static const int64_t shape[4] = {1, 1, 16, 4};
    struct fa_tensor tensor;
    assert_int_equal(fa_tensor_create(&tensor, FA_F32, shape, NULL), FA_OK);
    memset(tensor.data, 0, 64 * sizeof(float));
    return tensor;
}

static struct sim_experiment counted(void)
{
    return (struct sim_experiment){.algorithm = &fa_flash2,
                                   .problem = fa_problem_make(16, 16, 4),
                                   .machine.sram_bytes = 4096,
                                   .mode = SIM_COUNT_ONLY,
                                   .threads = 1};
}

static void refuse(const struct sim_experiment *experiment, const char *words)
{
    struct sim_result result, untouched;
    struct fa_error error = {FA_OK, ""};
    memset(&result, 0x5a, sizeof result);
    untouched = result;
    enum fa_status status = sim_experiment_run(experiment, &result, &error);
    if (status != FA_BAD_ARGUMENT || !strstr(error.text, words))
        fail_msg("%s \"%s\": expected bad_argument with \"%s\"", fa_status_name(status), error.text,
                 words);
    assert_memory_equal(&result, &untouched, sizeof result);
}

static void plans(void **state)
{
    (void)state;
    struct sim_experiment e = counted();
    struct sim_result result;
    assert_int_equal(sim_experiment_run(&e, &result, NULL), FA_OK);
    e.algorithm = NULL;
    refuse(&e, "algorithm is NULL");
    e.algorithm = &fa_flash2_backward;
    refuse(&e, "algorithm is a backward pass");
    e = counted();
    e.pass = (enum sim_pass)9;
    refuse(&e, "pass 9");
    e = counted();
    e.tiles.policy = (enum sim_policy)99;
    refuse(&e, "tile policy 99");
    e.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, -1, 4};
    refuse(&e, "tiles of -1 x 4");
    e.tiles = (struct sim_tile_choice){SIM_TILES_GIVEN, 4, 0};
    refuse(&e, "tiles of 4 x 0");
}

static void runs(void **state)
{
    (void)state;
    struct sim_experiment e = counted();
    e.threads = 0;
    refuse(&e, "0 threads");
    e.threads = -3;
    refuse(&e, "-3 threads");
    e = counted();
    e.mode = (enum sim_mode)99;
    refuse(&e, "mode 99");
}

/* Each tensor that a pass needs is missed by its name. */
static void tensors(void **state)
{
    (void)state;
    struct fa_tensor tensor = make(), without_data = tensor;
    struct sim_experiment e = counted();
    struct sim_result result;
    const struct fa_tensor **const places[] = {&e.q,    &e.k,  &e.v,  &e.o,
                                               &e.dout, &e.dq, &e.dk, &e.dv};
    static const char *const words[] = {"q has no data",  "k has no data",    "v has no data",
                                        "o has no data",  "dout has no data", "dq has no data",
                                        "dk has no data", "dv has no data"};
    struct fa_tensor own[8];
    without_data.data = NULL;
    e.mode = SIM_PLAIN;
    for (int i = 0; i < 8; i++) {
        e.pass = i < 4 ? SIM_FORWARD : SIM_BACKWARD;
        refuse(&e, words[i]);
        *places[i] = &without_data;
        refuse(&e, words[i]);
        own[i] = make();
        *places[i] = &own[i];
    }
    assert_int_equal(sim_experiment_run(&e, &result, NULL), FA_OK);
    for (int i = 0; i < 8; i++)
        fa_tensor_free(&own[i]);
    fa_tensor_free(&tensor);
}

static void a_dtype_that_there_is_not(void **state)
{
    (void)state;
    static const int64_t shape[4] = {1, 1, 2, 2};
    struct fa_tensor tensor = {.data = &tensor}, untouched = tensor;
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(fa_tensor_create(&tensor, (enum fa_dtype)77, shape, &error), FA_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "dtype 77"));
    assert_memory_equal(&tensor, &untouched, sizeof tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),
        cmocka_unit_test(runs),
        cmocka_unit_test(tensors),
        cmocka_unit_test(a_dtype_that_there_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
