/* The time model against figures worked out by hand; waves; Amdahl's law. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "simulator/time_model.h"

/* Equal but for rounding. */
static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.17g for %.17g", got, want);
}

/* A machine of round numbers: 2 SMs, 1e9 bytes, 1e10 half and 1e9 f32 FLOPs, 1e8 exp a second. */
static struct sim_machine round_machine(void)
{
    return (struct sim_machine){
        .name = "round",
        .sram_bytes = 1 << 20,
        .sms = 2,
        .l2_bytes = 1 << 20,
        .hbm_bytes_per_second = 1e9,
        .f32_flops_per_second = 1e9,
        .f16_flops_per_second = 1e10,
        .exp_per_second = 1e8,
    };
}

static struct sim_result count(const struct fa_algorithm *algorithm, enum sim_pass pass,
                               const struct fa_problem *problem,
                               const struct sim_machine *machine, int64_t br, int64_t bc)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = pass,
        .problem = *problem,
        .machine = *machine,
        .tiles = {SIM_TILES_GIVEN, br, bc},
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    struct fa_error error;
    if (sim_experiment_run(&experiment, &result, &error) != FA_OK)
        fail_msg("%s", error.text);
    return result;
}

static struct sim_time estimate(const struct sim_result *result, const struct sim_l2 *l2)
{
    struct sim_time time;
    struct fa_error error;
    if (sim_time_estimate(result, l2, false, &time, &error) != FA_OK)
        fail_msg("%s", error.text);
    return time;
}

static struct sim_machine preset(const char *name)
{
    struct sim_machine machine;
    assert_int_equal(sim_machine_find(name, &machine, NULL), FA_OK);
    return machine;
}

static void waves_by_hand(void **state)
{
    struct sim_waves waves = sim_waves(512, 108, 1);
    (void)state;
    assert_near(waves.waves, 512.0 / 108); /* 4.74 */
    assert_near(waves.efficiency, 512.0 / 540);
    assert_int_equal(waves.sms_lit, 108);
    waves = sim_waves(16, 108, 1);
    assert_near(waves.efficiency, 16.0 / 108);
    assert_int_equal(waves.sms_lit, 16);
    waves = sim_waves(216, 108, 2);
    assert_near(waves.waves, 1);
    assert_near(waves.efficiency, 1);
    waves = sim_waves(217, 108, 2);
    assert_near(waves.efficiency, 217.0 / 432);
    waves = sim_waves(0, 108, 1);
    assert_near(waves.efficiency, 1);
    assert_int_equal(waves.sms_lit, 0);
}

/*
 * flash2, N = 64, d = 16, tiles of 32 x 32, f16, 3 heads on 2 SMs. A head: matmul 4 64 64 16 =
 * 262,144; exp 64 64 + 2 64 = 4,224 (an absorb has one a row besides); other: score 64 64, absorb
 * 3 64 64 + 2 (4 64 + 64 16), finish 64 16 + 2 64 = 20,096; bytes: Q 2,048, K and V 2 x 2 x 2,048,
 * O 2,048, LSE 256 = 12,544. 6 blocks on 2 SMs: 3 whole waves.
 */
static void one_kernel_by_hand(void **state)
{
    struct fa_problem p = fa_problem_make(64, 64, 16);
    struct sim_machine machine = round_machine();
    (void)state;
    p.dtype = FA_F16;
    p.heads = p.kv_heads = 3;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, &machine, 32, 32);
    struct sim_time time = estimate(&result, NULL);
    const double hbm = 3 * 12544 / 1e9, matmul = 3 * 262144 / 1e10, exps = 3 * 4224 / 1e8;
    const double other = 3 * 20096 / 5e8;
    assert_int_equal(time.n_kernels, 1);
    assert_near(time.kernel[0].seconds[SIM_TIME_HBM], hbm);
    assert_near(time.kernel[0].seconds[SIM_TIME_MATMUL], matmul);
    assert_near(time.kernel[0].seconds[SIM_TIME_EXP], exps);
    assert_near(time.kernel[0].seconds[SIM_TIME_OTHER], other);
    assert_near(time.estimate_us, 1e6 * exps + 3);
    assert_near(time.without_overlap_us, 1e6 * (hbm + matmul + exps + other) + 3);
    assert_int_equal(time.bound_by, SIM_TIME_EXP);
    assert_near(time.waves.waves, 3);
    assert_int_equal(time.kernel[0].blocks, 6);
    assert_false(time.from_l2);

    /* 4 SMs of the same rates: 1.5 waves, so that what SMs do takes 4/3 as long; HBM does not. */
    result.machine.sms = 4;
    time = estimate(&result, NULL);
    assert_near(time.kernel[0].seconds[SIM_TIME_EXP], exps / 0.75);
    assert_near(time.kernel[0].seconds[SIM_TIME_OTHER], other / 0.75);
    assert_near(time.kernel[0].seconds[SIM_TIME_MATMUL], matmul / 0.75);
    assert_near(time.kernel[0].seconds[SIM_TIME_HBM], hbm);

    /* In f32 the products are on the cores that do the rest: they add up. Bytes: 4 a number. */
    p.dtype = FA_F32;
    result = count(&fa_flash2, SIM_FORWARD, &p, &machine, 32, 32);
    time = estimate(&result, NULL);
    assert_near(time.kernel[0].seconds[SIM_TIME_MATMUL], 3 * 262144 / 1e9);
    assert_near(time.kernel[0].seconds[SIM_TIME_HBM], 3 * (2 * 12544 - 256) / 1e9);
    assert_near(time.estimate_us, 1e6 * (3 * 262144 / 1e9 + other) + 3);
    assert_int_equal(time.bound_by, SIM_TIME_MATMUL);
}

/* What bounds a kernel is the part that is made slow. */
static void bounds_move(void **state)
{
    struct fa_problem p = fa_problem_make(64, 64, 16);
    struct sim_machine machine = round_machine();
    (void)state;
    p.dtype = FA_BF16;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, &machine, 32, 32);
    result.machine.hbm_bytes_per_second = 1e6;
    assert_int_equal(estimate(&result, NULL).bound_by, SIM_TIME_HBM);
    result.machine = machine;
    result.machine.f16_flops_per_second = 1e7;
    assert_int_equal(estimate(&result, NULL).bound_by, SIM_TIME_MATMUL);
    result.machine = machine;
    result.machine.f32_flops_per_second = 1e6;
    assert_int_equal(estimate(&result, NULL).bound_by, SIM_TIME_OTHER);
    result.machine = preset("h200");
    struct sim_time time = estimate(&result, NULL);
    assert_int_equal(time.bound_by, SIM_TIME_LAUNCH);
    assert_true(time.estimate_us > 3 && time.estimate_us < 6);
}

/* Steps that wait for each other: the whole is their sum, and their counts are the run's. */
static void kernels_add_up(void **state)
{
    struct fa_problem p = fa_problem_make(256, 256, 64);
    struct sim_machine machine = preset("a100");
    (void)state;
    p.dtype = FA_F16;
    p.heads = 16;
    p.kv_heads = 4;
    for (int a = 0; a < 3; a++) {
        struct sim_result result = count(fa_algorithms[a], SIM_BOTH, &p, &machine, 64, 64);
        struct sim_time time = estimate(&result, NULL);
        double bytes = 0, with = 0, without = 0, matmul = 0, exps = 0, other = 0;
        for (int k = 0; k < time.n_kernels; k++) {
            const struct sim_time_kernel *kernel = &time.kernel[k];
            bytes += kernel->seconds[SIM_TIME_HBM] * machine.hbm_bytes_per_second;
            matmul += kernel->seconds[SIM_TIME_MATMUL] * kernel->waves.efficiency * 312e12;
            exps += kernel->seconds[SIM_TIME_EXP] * kernel->waves.efficiency *
                    machine.exp_per_second;
            other += kernel->seconds[SIM_TIME_OTHER] * kernel->waves.efficiency * 19.5e12 / 2;
            with += 1e6 * kernel->with_overlap;
            without += 1e6 * kernel->without_overlap;
            assert_true(kernel->with_overlap <= kernel->without_overlap);
        }
        assert_near(bytes, (double)(sim_counters_read_all(&result.counters, &p).bytes +
                                    sim_counters_write_all(&result.counters, &p).bytes));
        assert_near(matmul, (double)result.counters.flops.matmul);
        assert_near(exps, (double)result.counters.flops.exp);
        assert_near(other, (double)result.counters.flops.other);
        assert_near(time.estimate_us, with);
        assert_near(time.without_overlap_us, without);
        /* standard: S, softmax, O; dV, dP, dS, dQ, dK. The others: one, and two backward. */
        assert_int_equal(time.n_kernels, fa_algorithms[a] == &fa_standard ? 8 : 3);
        assert_false(time.kernel[0].backward);
        assert_true(time.kernel[time.n_kernels - 1].backward);
    }
}

static void l2_takes_the_place_of_hbm(void **state)
{
    struct fa_problem p = fa_problem_make(1024, 1024, 64);
    struct sim_machine machine = preset("h200");
    struct sim_l2 l2;
    (void)state;
    p.dtype = FA_F16;
    p.heads = p.kv_heads = 64;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, &machine, 128, 128);
    assert_int_equal(sim_l2_predict(&result, NULL, &l2, NULL), FA_OK);
    struct sim_time time = estimate(&result, &l2), plain = estimate(&result, NULL);
    assert_true(time.from_l2);
    /* Q, K, V and O once, and LSE. */
    assert_near(time.kernel[0].seconds[SIM_TIME_HBM], 64 * 1024 * (4 * 64 * 2 + 4) / 4.8e12);
    assert_true(plain.kernel[0].seconds[SIM_TIME_HBM] >
                3 * time.kernel[0].seconds[SIM_TIME_HBM]);
    assert_near(plain.kernel[0].seconds[SIM_TIME_EXP], time.kernel[0].seconds[SIM_TIME_EXP]);
    struct sim_result both = count(&fa_flash2, SIM_BOTH, &p, &machine, 64, 64);
    assert_int_equal(sim_time_estimate(&both, &l2, false, &time, NULL), FA_BAD_ARGUMENT);
}

/* N = 4096, one sequence, 16 heads, 128 rows a block, on an A100's 108 SMs. */
static void flash1_lights_few_sms(void **state)
{
    struct fa_problem p = fa_problem_make(4096, 4096, 64);
    struct sim_machine machine = preset("a100");
    (void)state;
    p.dtype = FA_F16;
    p.heads = p.kv_heads = 16;
    struct sim_result one = count(&fa_flash1, SIM_FORWARD, &p, &machine, 128, 128);
    struct sim_result two = count(&fa_flash2, SIM_FORWARD, &p, &machine, 128, 128);
    struct sim_time time = estimate(&two, NULL);
    assert_int_equal(time.kernel[0].blocks, 512);
    assert_near(time.waves.waves, 512.0 / 108);
    assert_int_equal(time.waves.sms_lit, 108);
    time = estimate(&one, NULL);
    assert_int_equal(time.kernel[0].blocks, 16);
    assert_int_equal(time.waves.sms_lit, 16);
    assert_near(time.waves.efficiency, 16.0 / 108);
    assert_true(time.estimate_us > 3 * estimate(&two, NULL).estimate_us);
}

/* A quarter of the tiles left: nearly a quarter of the time. Q and O are still whole. */
static void block_sparsity_saves(void **state)
{
    enum { TILES = 32 };
    static uint8_t visit[TILES * TILES];
    const struct fa_block_mask blocks = {64, 64, TILES, TILES, visit};
    struct fa_problem p = fa_problem_make(64 * TILES, 64 * TILES, 64);
    struct sim_machine machine = preset("a100");
    (void)state;
    for (int b = 0; b < TILES * TILES; b++)
        visit[b] = (b / TILES + b) % 4 == 0;
    p.dtype = FA_F16;
    p.heads = p.kv_heads = 108;
    struct sim_result dense = count(&fa_flash2, SIM_FORWARD, &p, &machine, 64, 64);
    p.blocks = &blocks;
    struct sim_result sparse = count(&fa_flash2, SIM_FORWARD, &p, &machine, 64, 64);
    double ratio = estimate(&dense, NULL).estimate_us / estimate(&sparse, NULL).estimate_us;
    assert_true(ratio > 3 && ratio < 4);
}

/* With the attention speed-up of 7.6: the shares that the whole-model speed-ups imply. */
static void amdahl_by_hand(void **state)
{
    (void)state;
    assert_near(sim_amdahl_share(2, 4), 0.5 / 0.75);
    assert_near(sim_amdahl_share(3.5, 7.6), (2.5 / 3.5) / (6.6 / 7.6)); /* 0.8225 */
    assert_true(fabs(sim_amdahl_share(1.8, 7.6) - 0.5118) < 5e-5);
    assert_true(fabs(sim_amdahl_share(1.15, 7.6) - 0.1502) < 5e-5);
    assert_true(fabs(sim_amdahl_share(2.4, 7.6) - 0.6717) < 5e-5);
    assert_near(sim_amdahl_speedup(0.5, 2), 1 / 0.75);
    assert_near(sim_amdahl_speedup(0, 7), 1);
    assert_near(sim_amdahl_speedup(1, 7), 7);
    assert_near(sim_amdahl_speedup(sim_amdahl_share(2.4, 5), 5), 2.4);
    assert_near(sim_amdahl_share(1, 5), 0);
    assert_true(sim_amdahl_share(8, 7) > 1); /* attention alone can't be it */
    assert_true(isnan(sim_amdahl_share(2, 1)) && isnan(sim_amdahl_share(0.5, 3)));
    assert_true(isnan(sim_amdahl_share(NAN, 3)) && isnan(sim_amdahl_speedup(0.5, 0)));
    assert_true(isnan(sim_amdahl_speedup(1.5, 2)) && isnan(sim_amdahl_speedup(-0.5, 2)));
}

static void refusals(void **state)
{
    struct fa_problem p = fa_problem_make(64, 64, 16);
    struct sim_machine machine = round_machine();
    struct sim_time time = {.n_kernels = 77};
    struct fa_error error;
    (void)state;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, &machine, 32, 32);
    result.machine.exp_per_second = 0;
    assert_int_equal(sim_time_estimate(&result, NULL, false, &time, &error), FA_UNSUPPORTED);
    assert_string_equal(error.text,
                        "round: \"exp_per_second\" is not known: take a machine that states it");
    result.machine = machine;
    result.machine.f16_flops_per_second = 0; /* nobody asks for it in f32 */
    assert_int_equal(sim_time_estimate(&result, NULL, false, &time, &error), FA_OK);
    time.n_kernels = 77;
    result.problem.dtype = FA_F16;
    assert_int_equal(sim_time_estimate(&result, NULL, false, &time, &error), FA_UNSUPPORTED);
    assert_non_null(strstr(error.text, "f16_flops_per_second"));
    result.problem.dtype = FA_F64;
    assert_int_equal(sim_time_estimate(&result, NULL, false, &time, &error), FA_UNSUPPORTED);
    assert_non_null(strstr(error.text, "f64"));
    result.problem.dtype = FA_F32;
    result.machine.sms = 0;
    assert_int_equal(sim_time_estimate(&result, NULL, false, &time, NULL), FA_UNSUPPORTED);
    assert_int_equal(time.n_kernels, 77); /* untouched */
}

static void json_is_labelled(void **state)
{
    struct fa_problem p = fa_problem_make(64, 64, 16);
    struct sim_machine machine = preset("a100");
    (void)state;
    struct sim_result result = count(&fa_standard, SIM_FORWARD, &p, &machine, 32, 32);
    struct sim_time time = estimate(&result, NULL);
    json_t *object = sim_time_to_json(&time);
    assert_non_null(object);
    assert_true(json_real_value(json_object_get(object, "estimate_us")) == time.estimate_us);
    assert_string_equal(json_string_value(json_object_get(object, "bound_by")), "launch");
    assert_string_equal(json_string_value(json_object_get(object, "hbm_from")), "count");
    json_t *kernels = json_object_get(object, "kernels");
    assert_int_equal(json_array_size(kernels), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(kernels, 1), "name")),
                        "softmax");
    json_decref(object);
}

/* 16 a clock an SM. */
static void presets_state_exp_rates(void **state)
{
    (void)state;
    assert_near(preset("a100").exp_per_second, 108 * 16 * 1.41e9);
    assert_near(preset("h200").exp_per_second, 132 * 16 * 1.83e9);
    assert_near(preset("v100").exp_per_second, 80 * 16 * 1.53e9);
    assert_true(preset("toy").exp_per_second == 0);
    assert_true(preset("a100").source_exp[0] && !preset("toy").source_exp[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_by_hand),
        cmocka_unit_test(one_kernel_by_hand),
        cmocka_unit_test(bounds_move),
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(l2_takes_the_place_of_hbm),
        cmocka_unit_test(flash1_lights_few_sms),
        cmocka_unit_test(block_sparsity_saves),
        cmocka_unit_test(amdahl_by_hand),
        cmocka_unit_test(refusals),
        cmocka_unit_test(json_is_labelled),
        cmocka_unit_test(presets_state_exp_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
