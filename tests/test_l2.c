/*
 * The L2 model: a cache worked out by hand, what an endless and a useless cache must give, its two
 * sides against the executed counts, and the figures measured on an H200.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "reference/philox.h"
#include "simulator/l2.h"

static void assert_traffic(const struct sim_l2_traffic *traffic, uint64_t to_sm, uint64_t from_sm,
                           uint64_t dram_read, uint64_t dram_write)
{
    assert_int_equal(traffic->l2_to_sm_bytes, to_sm);
    assert_int_equal(traffic->sm_to_l2_bytes, from_sm);
    assert_int_equal(traffic->dram_read_bytes, dram_read);
    assert_int_equal(traffic->dram_write_bytes, dram_write);
}

/* Sectors of 10 bytes, room for three. */
static void least_recently_used_goes(void **state)
{
    struct sim_l2_cache cache;
    (void)state;
    sim_l2_cache_open(&cache, 39);
    sim_l2_cache_read(&cache, 1, 10);
    sim_l2_cache_read(&cache, 2, 10);
    sim_l2_cache_read(&cache, 3, 10);
    sim_l2_cache_read(&cache, 1, 10); /* a hit, and 2 is now the oldest */
    assert_traffic(&cache.traffic, 40, 0, 30, 0);
    sim_l2_cache_read(&cache, 4, 10); /* 2 goes */
    sim_l2_cache_read(&cache, 3, 10);
    sim_l2_cache_read(&cache, 1, 10);
    assert_traffic(&cache.traffic, 70, 0, 40, 0);
    sim_l2_cache_read(&cache, 2, 10); /* a miss: 4 goes */
    sim_l2_cache_read(&cache, 4, 10); /* a miss: 3 goes */
    sim_l2_cache_read(&cache, 1, 10);
    assert_traffic(&cache.traffic, 100, 0, 60, 0);
    assert_int_equal(cache.held_bytes, 30);
    sim_l2_cache_close(&cache);
}

/* A store fetches nothing, and is written once, when it leaves. */
static void stores_are_written_back(void **state)
{
    struct sim_l2_cache cache;
    (void)state;
    sim_l2_cache_open(&cache, 30);
    sim_l2_cache_write(&cache, 1, 10);
    sim_l2_cache_write(&cache, 1, 10);
    sim_l2_cache_read(&cache, 1, 10);
    assert_traffic(&cache.traffic, 10, 20, 0, 0);
    sim_l2_cache_read(&cache, 2, 10);
    sim_l2_cache_read(&cache, 3, 10);
    sim_l2_cache_read(&cache, 4, 10); /* 1 goes, dirty */
    assert_traffic(&cache.traffic, 40, 20, 30, 10);
    sim_l2_cache_write(&cache, 2, 10); /* a clean sector becomes dirty; 3 is the oldest */
    sim_l2_cache_read(&cache, 1, 10);  /* 3 goes, clean: nothing is written */
    assert_traffic(&cache.traffic, 50, 30, 40, 10);
    sim_l2_cache_flush(&cache);
    assert_traffic(&cache.traffic, 50, 30, 40, 20);
    assert_int_equal(cache.held_bytes, 0);
    sim_l2_cache_read(&cache, 2, 10); /* forgotten */
    assert_traffic(&cache.traffic, 60, 30, 50, 20);
    sim_l2_cache_close(&cache);
}

static void sectors_have_sizes(void **state)
{
    struct sim_l2_cache cache;
    (void)state;
    sim_l2_cache_open(&cache, 100);
    sim_l2_cache_write(&cache, 1, 40);
    sim_l2_cache_read(&cache, 2, 40);
    sim_l2_cache_read(&cache, 3, 90); /* both go */
    assert_traffic(&cache.traffic, 130, 40, 130, 40);
    sim_l2_cache_read(&cache, 4, 101); /* past it, and 3 stays */
    sim_l2_cache_read(&cache, 3, 90);
    sim_l2_cache_write(&cache, 5, 101);
    assert_traffic(&cache.traffic, 321, 141, 231, 141);
    sim_l2_cache_close(&cache);
}

/* Many sectors, so that tables grow and places are used again: against a list kept by hand. */
static void cache_equals_a_plain_list(void **state)
{
    enum { KEYS = 5000, ROOM = 3000, TURNS = 60000 };
    static uint64_t used[KEYS];
    static bool held[KEYS], dirty[KEYS];
    struct sim_l2_cache cache;
    uint64_t n_held = 0, read = 0, written = 0;
    (void)state;
    memset(held, 0, sizeof held);
    memset(dirty, 0, sizeof dirty);
    sim_l2_cache_open(&cache, ROOM * 8);
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        uint32_t counter[4] = {(uint32_t)turn, 0, 0, 0}, words[4];
        fa_philox4x32(7, counter, words);
        /* Half of them keys that were used lately, or hits would be rare. */
        uint64_t key = (words[0] % 2 ? turn / 20 + words[1] % 2000 : words[1]) % KEYS;
        bool store = words[2] % 3 == 0;
        if (store)
            sim_l2_cache_write(&cache, key * 977, 8);
        else
            sim_l2_cache_read(&cache, key * 977, 8);
        if (!held[key]) {
            read += store ? 0 : 8;
            if (n_held == ROOM) {
                uint64_t oldest = KEYS;
                for (uint64_t k = 0; k < KEYS; k++)
                    if (held[k] && (oldest == KEYS || used[k] < used[oldest]))
                        oldest = k;
                written += dirty[oldest] ? 8 : 0;
                held[oldest] = dirty[oldest] = false;
                n_held--;
            }
            held[key] = true;
            n_held++;
        }
        dirty[key] = dirty[key] || store;
        used[key] = turn;
    }
    assert_int_equal(cache.traffic.dram_read_bytes, read);
    assert_int_equal(cache.traffic.dram_write_bytes, written);
    assert_true(read > 8 * KEYS && written > 8 * KEYS && !cache.no_memory);
    sim_l2_cache_close(&cache);
}

static struct sim_result count(const struct fa_algorithm *algorithm, enum sim_pass pass,
                               const struct fa_problem *problem, const char *machine, int64_t br,
                               int64_t bc)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = pass,
        .problem = *problem,
        .tiles = {SIM_TILES_GIVEN, br, bc},
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct sim_result result = {0};
    struct fa_error error;
    if (sim_machine_find(machine, &experiment.machine, &error) != FA_OK ||
        sim_experiment_run(&experiment, &result, &error) != FA_OK)
        fail_msg("%s", error.text);
    return result;
}

static struct sim_l2 predict(const struct sim_result *result, const struct sim_l2_options *options)
{
    struct sim_l2 l2;
    struct fa_error error;
    if (sim_l2_predict(result, options, &l2, &error) != FA_OK)
        fail_msg("%s", error.text);
    return l2;
}

/*
 * flash2, N = 2, d = 1, tiles of 1 x 1, f32, one SM. A block loads Q_i, K_0, V_0, K_1, V_1 and
 * stores O_i and LSE_i, 4 bytes each.
 */
static void tiny_runs_by_hand(void **state)
{
    struct fa_problem problem = fa_problem_make(2, 2, 1);
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &problem, "toy", 1, 1);
    struct sim_l2 l2;
    (void)state;

    /* Seven numbers: K and V stay for the second block, which pushes out Q_0, O_0 and LSE_0. */
    result.machine.l2_bytes = 28;
    l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 40, 16, 24, 16);
    assert_int_equal(l2.flushed_bytes, 8);
    assert_int_equal(l2.blocks, 2);
    assert_int_equal(l2.blocks_in_flight, 1);

    /* Six: LSE_0 pushes out Q_0, Q_1 pushes out K_0, and so each that is needed next. */
    result.machine.l2_bytes = 24;
    l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 40, 16, 40, 16);
    assert_int_equal(l2.flushed_bytes, 8);

    /* One number is enough where two SMs take turns: the second finds what the first has loaded. */
    result.machine.sms = 2;
    result.machine.l2_bytes = 4;
    l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 40, 16, 24, 16);
    assert_int_equal(l2.flushed_bytes, 4);
    assert_int_equal(l2.blocks_in_flight, 2);
}

static void launch_order_matters(void **state)
{
    struct fa_problem problem = fa_problem_make(2, 2, 1);
    struct sim_l2_options unit_major = {.order = SIM_L2_UNIT_MAJOR};
    (void)state;
    problem.heads = problem.kv_heads = 2;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &problem, "toy", 1, 1);
    result.machine.l2_bytes = 28;
    struct sim_l2 l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 80, 32, 48, 32);
    /* Each head's K and V are gone when its second block comes. */
    l2 = predict(&result, &unit_major);
    assert_traffic(&l2.total, 80, 32, 80, 32);
    /* Two query heads of one K/V head share them: 4 Q, 2 K, 2 V. */
    problem.kv_heads = 1;
    result = count(&fa_flash2, SIM_FORWARD, &problem, "toy", 1, 1);
    result.machine.l2_bytes = 28;
    l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 80, 32, 32, 32);
}

/* As many blocks an SM as its memory holds: live bytes of a block are (1+1+1+1+1+2) x 4. */
static void sms_can_be_filled(void **state)
{
    struct fa_problem problem = fa_problem_make(9, 2, 1);
    struct sim_l2_options fill = {.fill_sms = true};
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &problem, "toy", 1, 1);
    (void)state;
    result.machine.l2_bytes = 1024;
    result.machine.sram_bytes = 28 * 3 + 27;
    struct sim_l2 l2 = predict(&result, &fill);
    assert_int_equal(l2.blocks_per_sm, 3);
    assert_int_equal(l2.blocks_in_flight, 3);
    assert_int_equal(predict(&result, NULL).blocks_per_sm, 1);
    result.machine.sram_bytes = 27;
    assert_int_equal(predict(&result, &fill).blocks_per_sm, 1);
    result.machine.sram_bytes = 1 << 20;
    l2 = predict(&result, &fill);
    assert_int_equal(l2.blocks_per_sm, SIM_BLOCKS_PER_SM);
    assert_int_equal(l2.blocks_in_flight, 9);
}

/* A number in 0 .. n - 1 that depends on the shape's number and on `what` alone. */
static int64_t draw(uint64_t shape, uint32_t what, int64_t n)
{
    uint32_t counter[4] = {what, 0, 0, 0}, words[4];
    fa_philox4x32(shape, counter, words);
    return (int64_t)(words[0] % (uint64_t)n);
}

enum { BLOCKS_MOST = 64 * 64 };

struct drawn {
    struct fa_problem problem; /* points to what follows: never copy the struct */
    struct fa_tensor mask, bias, keep;
    struct fa_block_mask blocks;
    uint8_t visit[BLOCKS_MOST];
    int64_t br, bc;
};

static void draw_masks(struct drawn *drawn, uint64_t n)
{
    struct fa_problem *p = &drawn->problem;
    const int64_t full[4] = {p->batch, p->heads, p->nq, p->nk};
    int64_t mask[4], bias[4];
    for (uint32_t axis = 0; axis < 4; axis++) {
        mask[axis] = draw(n, 20 + axis, 2) ? full[axis] : 1;
        bias[axis] = draw(n, 24 + axis, 2) ? full[axis] : 1;
    }
    drawn->mask = fa_tensor_view(FA_U8, mask, NULL);
    drawn->bias = fa_tensor_view(p->dtype, bias, NULL);
    drawn->keep = fa_tensor_view(FA_U8, full, NULL);
    p->mask = draw(n, 13, 3) == 0 ? &drawn->mask : NULL;
    p->bias = draw(n, 14, 3) == 0 ? &drawn->bias : NULL;
    p->dropout_p = draw(n, 17, 3) == 0 ? 0.25 : 0;
    p->dropout_keep = p->dropout_p > 0 && draw(n, 18, 2) ? &drawn->keep : NULL;
    drawn->blocks = (struct fa_block_mask){drawn->br, drawn->bc,
                                           (p->nq + drawn->br - 1) / drawn->br,
                                           (p->nk + drawn->bc - 1) / drawn->bc, drawn->visit};
    for (int64_t b = 0; b < drawn->blocks.rows * drawn->blocks.columns; b++)
        drawn->visit[b] = draw(n, 1000 + (uint32_t)b, 2) != 0;
    p->blocks = draw(n, 19, 3) == 0 ? &drawn->blocks : NULL;
}

static void draw_shape(struct drawn *drawn, uint64_t n)
{
    static const enum fa_dtype dtypes[] = {FA_F32, FA_F64, FA_F16, FA_BF16};
    struct fa_problem *p = &drawn->problem;
    memset(drawn, 0, sizeof *drawn);
    *p = fa_problem_make(draw(n, 0, 60), draw(n, 1, 60), 1 + draw(n, 2, 20));
    p->batch = draw(n, 3, 3);
    p->kv_heads = 1 + draw(n, 4, 3);
    p->heads = p->kv_heads * (1 + draw(n, 5, 3));
    p->dv = draw(n, 6, 2) ? p->d : 1 + draw(n, 7, 20);
    p->causal = (enum fa_causal)draw(n, 8, 3);
    if (draw(n, 9, 2)) {
        p->window_left = draw(n, 10, 50) - 1;
        p->window_right = draw(n, 11, 50) - 1;
    }
    p->dtype = dtypes[draw(n, 12, 4)];
    drawn->br = 1 + draw(n, 15, 30);
    drawn->bc = 1 + draw(n, 16, 30);
    draw_masks(drawn, n);
}

/* Whether an algorithm takes what was drawn: not all of them take all of it. */
static bool count_drawn(const struct fa_algorithm *algorithm, enum sim_pass pass,
                        const struct drawn *drawn, uint64_t n, struct sim_result *result)
{
    struct sim_experiment experiment = {
        .algorithm = algorithm,
        .pass = pass,
        .problem = drawn->problem,
        .tiles = {SIM_TILES_GIVEN, drawn->br, drawn->bc},
        .lift_capacity = true,
        .mode = SIM_COUNT_ONLY,
        .threads = 1,
    };
    struct fa_error error;
    if (pass != SIM_FORWARD && !algorithm->backward)
        return false;
    experiment.machine.sms = 1 + (uint64_t)draw(n, 30, 9);
    experiment.machine.sram_bytes = draw(n, 31, 2) ? 1 << 20 : 90 + (uint64_t)draw(n, 32, 400);
    enum fa_status status = sim_experiment_run(&experiment, result, &error);
    if (status != FA_OK && status != FA_UNSUPPORTED)
        fail_msg("shape %" PRIu64 ": %s", n, error.text);
    return status == FA_OK;
}

static void assert_less_or_equal(uint64_t a, uint64_t b, const char *algorithm, uint64_t n)
{
    if (a > b)
        fail_msg("%" PRIu64 " > %" PRIu64 ": %s, shape %" PRIu64, a, b, algorithm, n);
}

static void assert_sides_are_the_counts(const struct sim_result *result, const struct sim_l2 *l2,
                                        uint64_t n)
{
    uint64_t read = sim_counters_read_all(&result->counters, &result->problem).bytes;
    uint64_t written = sim_counters_write_all(&result->counters, &result->problem).bytes;
    struct sim_l2_traffic sum = {0, 0, 0, 0};

    if (l2->total.l2_to_sm_bytes != read || l2->total.sm_to_l2_bytes != written)
        fail_msg("%" PRIu64 " for %" PRIu64 " read, %" PRIu64 " for %" PRIu64
                 " written: %s %s, shape %" PRIu64,
                 l2->total.l2_to_sm_bytes, read, l2->total.sm_to_l2_bytes, written,
                 result->algorithm->name, sim_pass_name(result->pass), n);
    for (int k = 0; k < l2->n_kernels; k++) {
        sum.l2_to_sm_bytes += l2->kernel[k].l2_to_sm_bytes;
        sum.dram_read_bytes += l2->kernel[k].dram_read_bytes;
        sum.dram_write_bytes += l2->kernel[k].dram_write_bytes;
    }
    assert_int_equal(sum.l2_to_sm_bytes, read);
    assert_int_equal(sum.dram_read_bytes, l2->total.dram_read_bytes);
    assert_int_equal(sum.dram_write_bytes, l2->total.dram_write_bytes);
    assert_less_or_equal(l2->total.dram_read_bytes, read, result->algorithm->name, n);
    assert_less_or_equal(l2->total.dram_write_bytes, written, result->algorithm->name, n);
}

/* Any shape and mask, all algorithms and passes, with a useless L2, some L2 and an endless one. */
static void sides_equal_executed_counts(void **state)
{
    static struct drawn drawn;
    int compared = 0, between = 0;
    (void)state;
    for (uint64_t n = 0; n < 120; n++) {
        draw_shape(&drawn, n);
        for (int c = 0; c < 3 * FA_ALGORITHMS; c++) {
            struct sim_l2_options options = {.fill_sms = draw(n, 33, 2) != 0,
                                             .order = (enum sim_l2_order)draw(n, 34, 2)};
            struct sim_result result;
            if (!count_drawn(fa_algorithms[c / 3], (enum sim_pass)(c % 3), &drawn, n, &result))
                continue;
            compared++;
            result.machine.l2_bytes = 1 + (uint64_t)draw(n, 35, 20000);
            struct sim_l2 some = predict(&result, &options);
            assert_sides_are_the_counts(&result, &some, n);
            /* A tile of one byte may lie in an L2 of one byte, and no other. */
            result.machine.l2_bytes = 1;
            struct sim_l2 none = predict(&result, &options);
            assert_sides_are_the_counts(&result, &none, n);
            if (!drawn.problem.mask && drawn.problem.dropout_p == 0) {
                assert_int_equal(none.total.dram_read_bytes, none.total.l2_to_sm_bytes);
                assert_int_equal(none.total.dram_write_bytes, none.total.sm_to_l2_bytes);
                assert_int_equal(none.flushed_bytes, 0);
            }
            result.machine.l2_bytes = INT64_MAX;
            struct sim_l2 endless = predict(&result, &options);
            assert_sides_are_the_counts(&result, &endless, n);
            assert_int_equal(endless.total.dram_write_bytes, endless.flushed_bytes);
            assert_less_or_equal(endless.total.dram_read_bytes, some.total.dram_read_bytes,
                                 result.algorithm->name, n);
            between += endless.total.dram_read_bytes < some.total.dram_read_bytes &&
                       some.total.dram_read_bytes < none.total.dram_read_bytes;
        }
    }
    assert_true(compared > 800 && between > 100);
}

/* An endless L2 leaves what must move: each input once, each result once. */
static void endless_l2_moves_the_compulsory(void **state)
{
    struct fa_problem p = fa_problem_make(130, 70, 8);
    const uint64_t heads = 6, kv = 3, q = heads * 130 * 8, k = kv * 70 * 8, s = heads * 130 * 70;
    const uint64_t statistics = heads * 130;
    const struct {
        const struct fa_algorithm *algorithm;
        enum sim_pass pass;
        uint64_t read, written; /* bytes in f32 */
    } cases[] = {
        {&fa_flash2, SIM_FORWARD, 4 * (q + 2 * k), 4 * (q + statistics)},
        {&fa_flash1, SIM_FORWARD, 4 * (q + 2 * k), 4 * (q + 2 * statistics)},
        {&fa_standard, SIM_FORWARD, 4 * (q + 2 * k), 4 * (q + 2 * s)},
        {&fa_fused_save_p, SIM_FORWARD, 4 * (q + 2 * k), 4 * (q + statistics + s)},
        /* Q, K, V, O, dO and LSE are read; delta, dQ, dK and dV written. */
        {&fa_flash2, SIM_BACKWARD, 4 * (3 * q + 2 * k + statistics),
         4 * (q + 2 * k + statistics)},
        {&fa_flash1, SIM_BACKWARD, 4 * (3 * q + 2 * k + 2 * statistics), 4 * (q + 2 * k)},
        /* P, dO, V, K and Q are read; dV, dP, dS, dQ and dK written. */
        {&fa_standard, SIM_BACKWARD, 4 * (s + 2 * q + 2 * k), 4 * (q + 2 * k + 2 * s)},
    };
    (void)state;
    p.batch = 3;
    p.heads = 2;
    p.kv_heads = 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct sim_result result = count(cases[c].algorithm, cases[c].pass, &p, "a100", 32, 16);
        result.machine.l2_bytes = INT64_MAX;
        struct sim_l2 l2 = predict(&result, NULL);
        assert_int_equal(l2.total.dram_read_bytes, cases[c].read);
        assert_int_equal(l2.total.dram_write_bytes, cases[c].written);
    }
    /* A bias that all heads share is one. */
    const int64_t shape[4] = {1, 1, 130, 70};
    struct fa_tensor bias = fa_tensor_view(FA_F32, shape, NULL);
    p.bias = &bias;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, "a100", 32, 16);
    result.machine.l2_bytes = INT64_MAX;
    assert_int_equal(predict(&result, NULL).total.dram_read_bytes, cases[0].read + 4 * 130 * 70);
}

static const struct {
    int64_t heads, n, d;
    double l2_to_sm_gb, dram_gb_least, dram_gb_most;
} measured[] = {
    {1024, 1024, 64, 2.282, 0.403, 0.403},
    {256, 4096, 64, 8.724, 0.403, 0.403},
    {64, 8192, 128, 17.314, 0.403, 0.423},
};

/* PyTorch's and cuDNN's kernels on an H200, by its hardware counters. */
static void h200_rows(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof measured / sizeof *measured; row++) {
        struct fa_problem p = fa_problem_make(measured[row].n, measured[row].n, measured[row].d);
        p.dtype = FA_F16;
        p.heads = p.kv_heads = measured[row].heads;
        for (int fill = 0; fill < 2; fill++) {
            struct sim_l2_options options = {.fill_sms = fill};
            struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, "h200", 128, 64);
            struct sim_l2 l2 = predict(&result, &options);
            double to_sm = (double)l2.total.l2_to_sm_bytes / 1e9;
            double dram = (double)l2.total.dram_read_bytes / 1e9;
            assert_int_equal(l2.heads_simulated, measured[row].heads);
            assert_true(to_sm > 0.995 * measured[row].l2_to_sm_gb);
            assert_true(to_sm < 1.005 * measured[row].l2_to_sm_gb);
            assert_true(dram > 0.95 * measured[row].dram_gb_least);
            assert_true(dram < 1.05 * measured[row].dram_gb_most);
            assert_sides_are_the_counts(&result, &l2, row);
        }
    }
}

/* Half the tiles are skipped; DRAM still sees all of Q, K and V. */
static void causal_halves_one_side(void **state)
{
    struct fa_problem p = fa_problem_make(4096, 4096, 64);
    (void)state;
    p.dtype = FA_F16;
    p.heads = p.kv_heads = 64;
    p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, "h200", 128, 128);
    struct sim_l2 l2 = predict(&result, NULL);
    uint64_t matrix = 64 * 4096 * 64 * 2;
    assert_sides_are_the_counts(&result, &l2, 0);
    /* 528 of 1,024 tiles, of K and of V, and Q. */
    assert_int_equal(l2.total.l2_to_sm_bytes, matrix + 2 * matrix / 32 * 528);
    assert_int_equal(l2.total.dram_read_bytes, 3 * matrix);
}

static void a_window_of_heads_scales(void **state)
{
    struct fa_problem p = fa_problem_make(512, 512, 64);
    struct sim_l2_options window = {.heads = 99}, automatic = {.most_accesses = 40000};
    (void)state;
    p.dtype = FA_F16;
    p.heads = 600;
    p.kv_heads = 300;
    struct sim_result result = count(&fa_flash1, SIM_FORWARD, &p, "v100", 64, 64);
    struct sim_l2 all = predict(&result, NULL), some = predict(&result, &window);
    assert_int_equal(all.heads, 600);
    assert_int_equal(all.heads_simulated, 600);
    assert_int_equal(some.heads_simulated, 100); /* whole groups */
    assert_int_equal(some.total.l2_to_sm_bytes, all.total.l2_to_sm_bytes);
    assert_int_equal(some.total.sm_to_l2_bytes, all.total.sm_to_l2_bytes);
    assert_true((double)some.total.dram_read_bytes < 1.2 * (double)all.total.dram_read_bytes);
    assert_true((double)some.total.dram_read_bytes > 0.8 * (double)all.total.dram_read_bytes);
    some = predict(&result, &automatic);
    /* 80 SMs, a block a head: two rounds are 161 query heads, 81 groups. */
    assert_true(some.heads_simulated >= 160 && some.heads_simulated < 200);
    assert_int_equal(some.total.l2_to_sm_bytes, all.total.l2_to_sm_bytes);
    /* The window is four times the L2: here of 25 groups, with Q and O of two heads, K, V, l and m. */
    result.machine.l2_bytes = 25 * (4 * 65536 + 2 * 65536 + 4 * 2048);
    automatic.most_accesses = 60000;
    assert_int_equal(predict(&result, &automatic).heads_simulated, 2 * 4 * 26);
    /* And no smaller than an L2 which would hold it whole. */
    result.machine.l2_bytes = INT64_MAX;
    automatic.most_accesses = 600 * 8 * 8 * 7 * 3 / 4;
    assert_int_equal(predict(&result, &automatic).heads_simulated, 600);
}

static bool stop_at_once(void *context, double done)
{
    assert_true(done >= 0 && done <= 1);
    (*(int *)context)++;
    return false;
}

static void refusals(void **state)
{
    struct fa_problem p = fa_problem_make(1024, 1024, 64);
    struct sim_l2_options options = {0};
    struct sim_l2 l2 = {.blocks = 77};
    struct fa_error error;
    int ticks = 0;
    const struct fa_watch watch = {stop_at_once, &ticks};
    (void)state;

    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, "toy", 128, 128);
    assert_int_equal(sim_l2_predict(&result, NULL, &l2, &error), FA_UNSUPPORTED);
    assert_non_null(strstr(error.text, "L2"));
    result.machine.l2_bytes = 1 << 20;
    result.machine.sms = 0;
    assert_int_equal(sim_l2_predict(&result, NULL, &l2, &error), FA_UNSUPPORTED);
    assert_non_null(strstr(error.text, "SMs"));
    result = count(&fa_flash2, SIM_FORWARD, &p, "a100", 16, 16);
    options.most_accesses = 1000;
    assert_int_equal(sim_l2_predict(&result, &options, &l2, &error), FA_TOO_LARGE);
    options = (struct sim_l2_options){.heads = -1};
    assert_int_equal(sim_l2_predict(&result, &options, &l2, NULL), FA_BAD_ARGUMENT);
    options = (struct sim_l2_options){.watch = &watch};
    assert_int_equal(sim_l2_predict(&result, &options, &l2, &error), FA_CANCELLED);
    assert_int_equal(ticks, 1);
    assert_int_equal(l2.blocks, 77); /* untouched */

    /* No heads: nothing moves, and that is no error. */
    p.batch = 0;
    result = count(&fa_standard, SIM_BOTH, &p, "a100", 16, 16);
    l2 = predict(&result, NULL);
    assert_traffic(&l2.total, 0, 0, 0, 0);
    assert_int_equal(l2.blocks, 0);
}

static void json_has_the_figures(void **state)
{
    struct fa_problem p = fa_problem_make(64, 64, 16);
    struct sim_result result = count(&fa_flash2, SIM_FORWARD, &p, "a100", 16, 16);
    struct sim_l2 l2 = predict(&result, NULL);
    const uint64_t values[] = {l2.total.dram_read_bytes, l2.total.dram_write_bytes,
                               l2.total.l2_to_sm_bytes};
    static const char *const keys[] = {"dram_read_bytes", "dram_write_bytes", "l2_to_sm_bytes"};
    (void)state;
    json_t *object = sim_l2_to_json(&l2);
    assert_non_null(object);
    for (int k = 0; k < 3; k++) {
        json_t *value = json_object_get(object, keys[k]);
        assert_true(json_is_integer(value));
        assert_int_equal(json_integer_value(value), values[k]);
    }
    assert_string_equal(json_string_value(json_object_get(object, "order")), "head-major");
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_recently_used_goes),
        cmocka_unit_test(stores_are_written_back),
        cmocka_unit_test(sectors_have_sizes),
        cmocka_unit_test(cache_equals_a_plain_list),
        cmocka_unit_test(tiny_runs_by_hand),
        cmocka_unit_test(launch_order_matters),
        cmocka_unit_test(sms_can_be_filled),
        cmocka_unit_test(sides_equal_executed_counts),
        cmocka_unit_test(endless_l2_moves_the_compulsory),
        cmocka_unit_test(h200_rows),
        cmocka_unit_test(causal_halves_one_side),
        cmocka_unit_test(a_window_of_heads_scales),
        cmocka_unit_test(refusals),
        cmocka_unit_test(json_has_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
