/*
 * Tile policies: the figures that the rules give by hand, what fits, and what is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "simulator/experiment.h"

static struct fa_tiles choose(enum sim_policy policy, const struct fa_algorithm *algorithm,
                              const struct fa_problem *problem, uint64_t bytes)
{
    struct sim_tile_choice choice = {policy, 0, 0};
    struct fa_tiles tiles;
    struct fa_error error;
    if (sim_tiles_choose(&choice, algorithm, problem, bytes, bytes, &tiles, &error) != FA_OK)
        fail_msg("%s", error.text);
    return tiles;
}

static void parses(void **state)
{
    struct sim_tile_choice choice;
    struct fa_error error;
    (void)state;
    assert_int_equal(sim_tile_choice_parse("64x128", &choice, &error), FA_OK);
    assert_int_equal(choice.policy, SIM_TILES_GIVEN);
    assert_int_equal(choice.br, 64);
    assert_int_equal(choice.bc, 128);
    assert_int_equal(sim_tile_choice_parse("best:16", &choice, &error), FA_OK);
    assert_int_equal(choice.policy, SIM_TILES_BEST_16);
    static const char *const bad[] = {"",      "64",    "64x",   "x64",      "0x64", "64x0",
                                      "-1x64", "64x64x", "64 x 64", "64X64", "+1x1", "given",
                                      "4294967297x1", "best:8"};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        assert_int_equal(sim_tile_choice_parse(bad[b], &choice, &error), FA_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "expected BRxBC"));
    }
    /* Untouched by a refusal. */
    assert_int_equal(choice.policy, SIM_TILES_BEST_16);
}

/* Lessons 5 and 7, worked out by hand. */
static void hand_figures(void **state)
{
    struct fa_problem p = fa_problem_make(256, 256, 16);
    struct fa_tiles tiles;
    (void)state;

    /* 4 KiB, d = 16: the rule of four gives 16 x 16, which needs 1,344 numbers of 1,024. */
    tiles = choose(SIM_TILES_PAPER, &fa_flash1, &p, 4096);
    assert_int_equal(tiles.br, 16);
    assert_int_equal(tiles.bc, 16);
    assert_int_equal(sim_live_bytes(&fa_flash1, &p, &tiles), 1344 * 4);
    tiles = choose(SIM_TILES_SQUARE, &fa_flash1, &p, 4096);
    assert_int_equal(tiles.br, 12);
    assert_int_equal(tiles.bc, 12);

    p = fa_problem_make(1024, 1024, 64);
    tiles = choose(SIM_TILES_BEST, &fa_flash2, &p, 65536);
    assert_int_equal(tiles.br, 114);
    assert_int_equal(tiles.bc, 6);
    tiles = choose(SIM_TILES_SQUARE, &fa_flash2, &p, 65536);
    assert_int_equal(tiles.br, 52);
    tiles = choose(SIM_TILES_BEST_16, &fa_flash2, &p, 65536);
    assert_int_equal(tiles.br, 96);
    assert_int_equal(tiles.bc, 16);

    /* Bytes are not elements: 48 KiB, d = 64, f32 give Bc = 48. */
    tiles = choose(SIM_TILES_PAPER, &fa_flash1, &p, 49152);
    assert_int_equal(tiles.bc, 48);
    assert_int_equal(tiles.br, 48);
    /* 192 KB of f16: Bc = 384, Br = 64. */
    p.dtype = FA_F16;
    tiles = choose(SIM_TILES_PAPER, &fa_flash1, &p, 196608);
    assert_int_equal(tiles.bc, 384);
    assert_int_equal(tiles.br, 64);
}

/* The paper's rule fits in f32 from M = 8 d^2 + 16 d on, and not one number below. */
static void where_the_rule_fits(void **state)
{
    (void)state;
    for (int64_t d = 16; d <= 128; d *= 2) {
        struct fa_problem p = fa_problem_make(100000, 100000, d);
        uint64_t m = (uint64_t)(8 * d * d + 16 * d);
        struct fa_tiles tiles = choose(SIM_TILES_PAPER, &fa_flash1, &p, 4 * m);
        assert_true(sim_live_bytes(&fa_flash1, &p, &tiles) <= 4 * m);
        m -= 4 * (uint64_t)d;
        tiles = choose(SIM_TILES_PAPER, &fa_flash1, &p, 4 * m);
        assert_true(sim_live_bytes(&fa_flash1, &p, &tiles) > 4 * m);
    }
}

static uint64_t moved(const struct fa_algorithm *algorithm, const struct fa_problem *problem,
                      const struct fa_tiles *tiles)
{
    struct sim_closed_form form;
    assert_int_equal(sim_closed_form(algorithm, problem, tiles, &form, NULL), FA_OK);
    return sim_counters_read_all(&form.counters, problem).elements +
           sim_counters_write_all(&form.counters, problem).elements;
}

/* Tries every rectangle: nothing that fits moves less than `best`, and squares grow to the limit. */
static void best_is_best(void **state)
{
    static const uint64_t capacities[] = {700, 1500, 4096, 9000};
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++)
        for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
            const struct fa_algorithm *algorithm = fa_algorithms[a];
            struct fa_problem p = fa_problem_make(37, 29, 5);
            p.dv = 7;
            struct fa_tiles best = choose(SIM_TILES_BEST, algorithm, &p, capacities[c]);
            struct fa_tiles square = choose(SIM_TILES_SQUARE, algorithm, &p, capacities[c]);
            struct fa_tiles tiles = best;
            uint64_t least = moved(algorithm, &p, &best);
            assert_true(sim_live_bytes(algorithm, &p, &best) <= capacities[c]);
            for (tiles.br = 1; tiles.br <= p.nq; tiles.br++)
                for (tiles.bc = 1; tiles.bc <= p.nk; tiles.bc++)
                    if (sim_live_bytes(algorithm, &p, &tiles) <= capacities[c]) {
                        uint64_t moves = moved(algorithm, &p, &tiles);
                        assert_true(moves >= least);
                        assert_true(moves > least || tiles.bc <= best.bc);
                    }
            assert_true(sim_live_bytes(algorithm, &p, &square) <= capacities[c]);
            square.br++;
            square.bc++;
            if (square.br <= p.nk)
                assert_true(sim_live_bytes(algorithm, &p, &square) > capacities[c]);
        }
}

/* A long sequence is not cut into columns of one key, whose tiles would take minutes to count. */
static void best_of_many_tiles(void **state)
{
    (void)state;
    for (int64_t n = 1 << 16; n <= 1 << 22; n *= 4) {
        struct fa_problem p = fa_problem_make(n, n, 64);
        struct fa_tiles best = choose(SIM_TILES_BEST, &fa_flash2, &p, 196608);
        struct fa_tiles tallest = {n == 1 << 16 ? 373 : 374, 1, 1, 1}; /* what moves the least */
        uint64_t tiles = (uint64_t)((n + best.br - 1) / best.br) *
                         (uint64_t)((n + best.bc - 1) / best.bc);
        assert_true(sim_live_bytes(&fa_flash2, &p, &best) <= 196608);
        assert_true((double)moved(&fa_flash2, &p, &best) <=
                    1.125 * (double)moved(&fa_flash2, &p, &tallest));
        if (n == 1 << 16)
            assert_int_equal(best.bc, 1);
        else
            assert_true(best.bc > 8 && tiles < (uint64_t)n * (uint64_t)n / (64 * 60));
    }
}

/* The closed form of what must fit is what an execution has on chip at most. */
static void live_bytes_are_executed(void **state)
{
    (void)state;
    for (int a = 0; a < FA_ALGORITHMS; a++)
        for (int64_t br = 1; br < 40; br += 7)
            for (int64_t bc = 1; bc < 40; bc += 5) {
                struct sim_experiment experiment = {
                    .algorithm = fa_algorithms[a],
                    .problem = fa_problem_make(33, 29, 6),
                    .tiles = {SIM_TILES_GIVEN, br, bc},
                    .mode = SIM_COUNT_ONLY,
                    .threads = 1,
                };
                struct sim_result result;
                struct fa_error error;
                experiment.machine.sram_bytes = 1 << 20;
                assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_OK);
                uint64_t peak = result.counters.sram_peak_bytes;
                assert_int_equal(sim_live_bytes(fa_algorithms[a], &experiment.problem,
                                                &result.tiles),
                                 peak);
                if (fa_algorithms[a]->stores_scores)
                    continue; /* its row-wise steps change with the capacity */
                experiment.machine.sram_bytes = peak;
                assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_OK);
                experiment.machine.sram_bytes = peak - 1;
                assert_int_equal(sim_experiment_run(&experiment, &result, &error),
                                 FA_DOES_NOT_FIT);
            }
}

static void refusals(void **state)
{
    struct sim_experiment experiment = {
        .algorithm = &fa_flash1,
        .problem = fa_problem_make(64, 64, 16),
        .tiles = {SIM_TILES_PAPER, 0, 0},
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result;
    struct fa_error error;
    (void)state;
    experiment.machine.sram_bytes = 4096;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_DOES_NOT_FIT);
    assert_string_equal(
        error.text,
        "SRAM of 4096 bytes is too small: s of 16x16 needs 1024 bytes, 0 are free, 1024 too few "
        "(live: q 16x16 1024, k 16x16 1024, v 16x16 1024, o 16x16 1024); flash1 with tiles of "
        "16x16 needs 5376 bytes in all; the largest square tile that fits is 12x12 (--tiles "
        "square), or give more with --sram");

    experiment.tiles.policy = SIM_TILES_SQUARE;
    experiment.machine.sram_bytes = 100;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_DOES_NOT_FIT);
    assert_string_equal(error.text,
                        "SRAM of 100 bytes holds no tile of flash1 at d 16, dv 16: 1x1 already "
                        "needs 276 bytes; give more with --sram or a smaller --d");

    experiment.algorithm = &fa_standard;
    experiment.machine.sram_bytes = 11;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_DOES_NOT_FIT);
    assert_non_null(strstr(error.text, "holds no part of a row of S"));

    experiment.machine.sram_bytes = 0;
    assert_int_equal(sim_experiment_run(&experiment, &result, &error), FA_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),       cmocka_unit_test(hand_figures),
        cmocka_unit_test(where_the_rule_fits), cmocka_unit_test(best_is_best),
        cmocka_unit_test(best_of_many_tiles),
        cmocka_unit_test(live_bytes_are_executed), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
