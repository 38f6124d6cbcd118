/* The instrumented memory at its edges: what fits, and what must not look like data. */
#include "reference/verbs.h" /* before cmocka.h, which has a macro of the name of a port's verb */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/algorithm.h"
#include "simulator/experiment.h"
#include "simulator/memory.h"
#include "tests/random_case.h"

/* A memory over a run of flash2 without data in HBM, or with q alone. */
struct bench {
    struct fa_run run;
    struct sim_memory memory;
    struct fa_port *port;
};

static void open_bench(struct bench *bench, int64_t nq, int64_t nk, int64_t d, enum fa_dtype dtype,
                       enum sim_mode mode, uint64_t capacity_bytes)
{
    struct fa_problem problem = fa_problem_make(nq, nk, d);
    problem.dtype = dtype;
    assert_int_equal(fa_run_open(&bench->run, &fa_flash2, &problem, &(struct fa_tiles){4, 4, 1, 1},
                                 NULL, NULL, NULL, NULL, NULL, false, NULL),
                     FA_OK);
    sim_memory_open(&bench->memory, &bench->run, mode, capacity_bytes, NULL);
    bench->port = &bench->memory.port;
}

static void close_bench(struct bench *bench)
{
    sim_memory_close(&bench->memory);
    fa_run_close(&bench->run);
}

static void refusals_say_what_is_live_and_what_is_missing(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, 8, 8, 2, FA_F32, SIM_COUNTED, 1);
    fa_alloc(bench.port, FA_Q, 4, 2);
    assert_int_equal(bench.port->status, FA_DOES_NOT_FIT);
    assert_string_equal(bench.port->error.text,
                        "SRAM of 1 bytes is too small: q of 4x2 needs 32 bytes, 1 are free, 31 too "
                        "few (live: nothing)");
    assert_false(bench.port->tile[FA_Q].live);
    close_bench(&bench);

    open_bench(&bench, 8, 8, 2, FA_F16, SIM_COUNTED, 16 + 12 + 63);
    fa_alloc(bench.port, FA_Q, 4, 2);
    fa_alloc(bench.port, FA_K, 3, 2);
    assert_int_equal(bench.port->status, FA_OK);
    fa_alloc(bench.port, FA_S, 4, 4);
    assert_int_equal(bench.port->status, FA_DOES_NOT_FIT);
    assert_string_equal(
        bench.port->error.text,
        "SRAM of 91 bytes is too small: s of 4x4 needs 64 bytes, 63 are free, 1 too "
        "few (live: q 4x2 16, k 3x2 12)");
    assert_int_equal(bench.memory.live_bytes, 28);
    fa_free(bench.port, FA_Q); /* after an error nothing happens */
    assert_int_equal(bench.memory.live_bytes, 28);
    close_bench(&bench);
}

/* Exactly full is not too full; what was given back can be had again; 0 is no limit. */
static void the_last_byte(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, 8, 8, 2, FA_F32, SIM_COUNTED, 32 + 32);
    fa_alloc(bench.port, FA_Q, 4, 2);
    fa_alloc(bench.port, FA_K, 4, 2);
    assert_int_equal(bench.port->status, FA_OK);
    assert_int_equal(bench.memory.live_bytes, 64);
    fa_free(bench.port, FA_Q);
    fa_alloc(bench.port, FA_V, 4, 2);
    assert_int_equal(bench.port->status, FA_OK);
    assert_int_equal(bench.memory.peak_bytes, 64);
    fa_free(bench.port, FA_V);
    fa_free(bench.port, FA_K);
    assert_int_equal(bench.memory.live_bytes, 0);
    close_bench(&bench);

    open_bench(&bench, 8, 8, 2, FA_F32, SIM_COUNTED, 0);
    fa_alloc(bench.port, FA_Q, 8, 2);
    fa_alloc(bench.port, FA_S, 8, 8);
    assert_int_equal(bench.port->status, FA_OK);
    assert_int_equal(bench.memory.peak_bytes, 64 + 256);
    close_bench(&bench);
}

/* An alias is a name, not a place. */
static void an_alias_takes_no_bytes(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, 8, 8, 2, FA_F32, SIM_COUNTED, 64);
    fa_alloc(bench.port, FA_S, 4, 4);
    fa_alias(bench.port, FA_P, FA_S);
    assert_int_equal(bench.port->status, FA_OK);
    assert_int_equal(bench.memory.peak_bytes, 64);
    close_bench(&bench);
}

/* Runs the algorithm with so many bytes on chip; the peak of a run that fits. */
static enum fa_status run_in(const struct fa_algorithm *algorithm, const struct fa_problem *problem,
                             const struct fa_tiles *tiles, uint64_t capacity, uint64_t *peak)
{
    struct fa_run run;
    struct sim_memory memory;
    struct fa_port *port = &memory.port;
    assert_int_equal(
        fa_run_open(&run, algorithm, problem, tiles, NULL, NULL, NULL, NULL, NULL, false, NULL),
        FA_OK);
    sim_memory_open(&memory, &run, SIM_COUNT_ONLY, capacity, NULL);
    enum fa_status status = fa_execute(algorithm, &port, 1, 1, NULL, NULL);
    *peak = memory.peak_bytes;
    sim_memory_close(&memory);
    fa_run_close(&run);
    return status;
}

/* A run needs its peak, and not a byte more or less; the closed form knows it. */
static void the_peak_is_what_must_fit(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random_stream stream = {seed};
        struct attention_case attention;
        random_case_make(&attention, seed, (enum fa_dtype)(seed % FA_U8));
        const struct fa_problem *p = &attention.problem;
        if (p->batch * p->heads * p->nq * p->nk > 0)
            for (int a = 0; a < FA_ALGORITHMS; a++) {
                struct fa_tiles tiles = {
                    random_between(&stream, 1, 30), random_between(&stream, 1, 30),
                    random_between(&stream, 1, 30), random_between(&stream, 1, 90)};
                uint64_t peak, unused;
                assert_int_equal(run_in(fa_algorithms[a], p, &tiles, 0, &peak), FA_OK);
                assert_int_equal(peak, sim_live_bytes(fa_algorithms[a], p, &tiles));
                assert_int_equal(run_in(fa_algorithms[a], p, &tiles, peak, &unused), FA_OK);
                assert_int_equal(run_in(fa_algorithms[a], p, &tiles, peak - 1, &unused),
                                 FA_DOES_NOT_FIT);
            }
        attention_case_free(&attention);
    }
}

/* The whole sentence that a user reads, with what would help. */
static void an_experiment_says_what_would_help(void **state)
{
    (void)state;
    struct sim_experiment experiment = {
        .algorithm = &fa_flash1,
        .problem = fa_problem_make(64, 64, 16),
        .machine = {.name = "small", .sram_bytes = 4096},
        .tiles = {SIM_TILES_GIVEN, 16, 16},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    struct fa_error error = {FA_OK, ""};
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_DOES_NOT_FIT);
    assert_string_equal(
        error.text,
        "SRAM of 4096 bytes is too small: s of 16x16 needs 1024 bytes, 0 are free, 1024 too few "
        "(live: q 16x16 1024, k 16x16 1024, v 16x16 1024, o 16x16 1024); flash1 with tiles of "
        "16x16 "
        "needs 5376 bytes in all; the largest square tile that fits is 12x12 (--tiles square), or "
        "give more with --sram");
    experiment.tiles.br = experiment.tiles.bc = 12;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_OK);
    experiment.machine.sram_bytes = 200;
    experiment.tiles.br = experiment.tiles.bc = 1;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_DOES_NOT_FIT);
    assert_non_null(strstr(error.text, "no tile fits: give more with --sram or a smaller --d"));
}

/* All cells that the tile was allocated for are NaN. */
static bool poisoned(const struct fa_port *port, enum fa_tensor_id id, int64_t first_row,
                     int64_t first_column)
{
    const struct fa_tile *tile = &port->tile[id];
    for (int64_t r = 0; r < tile->row_capacity; r++)
        for (int64_t c = 0; c < tile->column_capacity; c++) {
            bool outside = r >= first_row || c >= first_column;
            if (outside != isnan(fa_tile_get(port, id, r, c)))
                return false;
        }
    return true;
}

/* Fresh tiles, freed ones and the rest of a ragged one hold NaN, query-side and key-side. */
static void what_is_not_data_is_nan(enum fa_dtype dtype)
{
    struct bench bench;
    double values[7 * 3], numbers[7 * 3];
    open_bench(&bench, 7, 7, 3, dtype, SIM_COUNTED, 0);
    for (int i = 0; i < 21; i++)
        numbers[i] = i;
    fa_dtype_convert(dtype, values, FA_F64, numbers, 21);
    bench.run.tensor[FA_Q].data = bench.run.tensor[FA_K].data = values;
    static const enum fa_tensor_id ids[] = {FA_Q, FA_K}; /* query-side and key-side */
    for (int n = 0; n < 2; n++) {
        struct fa_tile *tile = &bench.port->tile[ids[n]];
        fa_at(bench.port, 0, 0, 0);
        fa_alloc(bench.port, ids[n], 4, 3);
        assert_true(poisoned(bench.port, ids[n], 0, 0));
        fa_load(bench.port, ids[n], 0, 0);
        assert_true(poisoned(bench.port, ids[n], 4, 3));
        fa_load(bench.port, ids[n], 4, 0); /* three rows are left, and two columns */
        assert_int_equal(tile->rows, 3);
        assert_true(poisoned(bench.port, ids[n], 3, 3));
        assert_true(fa_tile_get(bench.port, ids[n], 2, 2) == 20);
        fa_load(bench.port, ids[n], 6, 2);
        assert_int_equal(tile->columns, 1);
        assert_true(poisoned(bench.port, ids[n], 1, 1));
        assert_true(fa_tile_get(bench.port, ids[n], 0, 0) == 20);
        fa_load(bench.port, ids[n], 0, 0);
        fa_free(bench.port, ids[n]);
        tile->live = true; /* to look at what is left */
        assert_true(poisoned(bench.port, ids[n], 0, 0));
        tile->live = false;
    }
    assert_int_equal(bench.port->status, FA_OK);
    bench.run.tensor[FA_Q].data = bench.run.tensor[FA_K].data = NULL;
    close_bench(&bench);
}

static void what_is_not_data_is_nan_in_each_dtype(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < FA_U8; dtype++)
        what_is_not_data_is_nan((enum fa_dtype)dtype);
}

/* Tiles of each kind by what they occupy: inputs by the dtype, what is computed by 4 or 8 bytes. */
static void bytes_on_chip(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(4, 4, 2);
    static const size_t wide[FA_U8] = {8, 4, 4, 4}, narrow[FA_U8] = {8, 4, 2, 2};
    for (int dtype = 0; dtype < FA_U8; dtype++) {
        p.dtype = (enum fa_dtype)dtype;
        assert_int_equal(fa_on_chip_bytes(&p, FA_Q), narrow[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_K), narrow[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_V), narrow[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_DO), narrow[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_BIAS), narrow[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_MASK), 1);
        assert_int_equal(fa_on_chip_bytes(&p, FA_O), wide[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_S), wide[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_P), wide[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_M), wide[dtype]);
        assert_int_equal(fa_on_chip_bytes(&p, FA_TILE_L), wide[dtype]);
        assert_int_equal(fa_dtype_bytes(fa_hbm_format(&p, FA_S)), narrow[dtype]);
        assert_int_equal(fa_dtype_bytes(fa_hbm_format(&p, FA_LSE)), wide[dtype]);
        assert_int_equal(fa_dtype_bytes(fa_hbm_format(&p, FA_MASK)), 1);
    }
    assert_string_equal(fa_tensor_name(FA_TILE_M), "tile_m");
    assert_string_equal(fa_tensor_name(FA_Q), "q");
    for (int op = 0; op < FA_OP_COUNT; op++)
        assert_true(strlen(fa_op_name((enum fa_op)op)) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_what_is_live_and_what_is_missing),
        cmocka_unit_test(the_last_byte),
        cmocka_unit_test(an_alias_takes_no_bytes),
        cmocka_unit_test(the_peak_is_what_must_fit),
        cmocka_unit_test(an_experiment_says_what_would_help),
        cmocka_unit_test(what_is_not_data_is_nan_in_each_dtype),
        cmocka_unit_test(bytes_on_chip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
