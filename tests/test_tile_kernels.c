/* The arithmetic on tiles: exp, which is our own, and what hidden elements must not do. */
#include "reference/verbs.h" /* before cmocka.h, which has a macro of the name of a port's verb */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "reference/algorithm.h"
#include "reference/plain_port.h"
#include "reference/profile.h"
#include "reference/tile_kernels.h"
#include "simulator/experiment.h"

enum { ROWS = 16, COLUMNS = 512 };

/* A port with a score tile of ROWS x COLUMNS, m and l on chip. */
struct bench {
    struct fa_run run;
    struct fa_port port;
};

static void open_bench(struct bench *bench, enum fa_dtype dtype)
{
    struct fa_problem problem = fa_problem_make(ROWS, COLUMNS, 1);
    struct fa_port *port = &bench->port;
    problem.dtype = dtype;
    assert_int_equal(fa_run_open(&bench->run, &fa_flash2, &problem,
                                 &(struct fa_tiles){ROWS, COLUMNS, 1, 1}, NULL, NULL, NULL, NULL,
                                 NULL, false, NULL),
                     FA_OK);
    fa_port_open(port, &fa_plain_verbs, &bench->run);
    fa_at(port, 0, 0, 0);
    fa_alloc(port, FA_S, ROWS, COLUMNS);
    fa_alloc(port, FA_L, ROWS, 1);
    fa_alloc(port, FA_M, ROWS, 1);
    fa_alias(port, FA_P, FA_S);
    assert_int_equal(port->status, FA_OK);
}

static void close_bench(struct bench *bench)
{
    fa_port_close(&bench->port);
    fa_run_close(&bench->run);
}

static void put(struct fa_port *port, enum fa_tensor_id id, int64_t row, int64_t column,
                double value)
{
    const struct fa_tile *tile = &port->tile[id];
    fa_dtype_set(port->compute_type, tile->cells, column * tile->ld + row, value);
}

/* exp(s - 0) / 1 of ROWS x COLUMNS numbers s from `first` on, `step` apart: the largest relative
 * error, in units of the roundoff. */
static double worst_exp(enum fa_dtype dtype, double first, double step)
{
    struct bench bench;
    double worst = 0;
    open_bench(&bench, dtype);
    for (int64_t r = 0; r < ROWS; r++) {
        put(&bench.port, FA_M, r, 0, 0);
        put(&bench.port, FA_L, r, 0, 1);
        for (int64_t c = 0; c < COLUMNS; c++)
            put(&bench.port, FA_S, r, c, first + step * (double)(c * ROWS + r));
    }
    fa_compute(&bench.port, FA_OP_NORMALISE);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++) {
            double s = fa_dtype_round(dtype, first + step * (double)(c * ROWS + r));
            double got = fa_tile_get(&bench.port, FA_P, r, c);
            worst = fmax(worst, fabs(got / exp(s) - 1) / fa_dtype_roundoff(dtype));
        }
    close_bench(&bench);
    return worst;
}

/* Rounding alone makes an error of up to 1. */
static void exp_is_right_to_the_last_place_or_so(void **state)
{
    (void)state;
    const int64_t n = ROWS * COLUMNS;
    assert_true(worst_exp(FA_F32, -87, 87.0 / (double)n) < 1.5);
    assert_true(worst_exp(FA_F32, -1, 1.0 / (double)n) < 1.5);
    assert_true(worst_exp(FA_F32, -0.01, 0.01 / (double)n) < 1.5);
    assert_true(worst_exp(FA_F64, -700, 700.0 / (double)n) < 2);
}

static double weight_of(enum fa_dtype dtype, double s, double m)
{
    struct bench bench;
    open_bench(&bench, dtype);
    for (int64_t r = 0; r < ROWS; r++) {
        put(&bench.port, FA_M, r, 0, m);
        put(&bench.port, FA_L, r, 0, 1);
        for (int64_t c = 0; c < COLUMNS; c++)
            put(&bench.port, FA_S, r, c, s);
    }
    fa_compute(&bench.port, FA_OP_NORMALISE);
    double weight = fa_tile_get(&bench.port, FA_P, 3, 5);
    close_bench(&bench);
    return weight;
}

/* What tells a hidden key from a weight that vanished, and NaN from both. */
static void special_weights(void **state)
{
    (void)state;
    for (int dtype = FA_F64; dtype <= FA_F32; dtype++) {
        enum fa_dtype type = (enum fa_dtype)dtype;
        assert_true(weight_of(type, 5, 5) == 1); /* the row's own maximum, exactly */
        assert_true(weight_of(type, -1e30, -1e30) == 1);
        double hidden = weight_of(type, -INFINITY, 5), vanished = weight_of(type, -1e5, 5);
        assert_true(hidden == 0 && signbit(hidden));
        assert_true(vanished == 0 && !signbit(vanished));
        hidden = weight_of(type, -INFINITY, -INFINITY); /* a row that saw no key yet */
        assert_true(hidden == 0 && signbit(hidden));
        assert_true(isnan(weight_of(type, NAN, 5)));
        assert_true(isnan(weight_of(type, NAN, -INFINITY)));
        assert_true(isnan(weight_of(type, INFINITY, INFINITY)));
    }
}

enum { GRADIENTS = 3, LONG = 44, SHORT = 40, HEAD = 5 };

/* dq, dk and dv, one after the other, of a causal problem with nq queries and nk keys; rows
 * [first, end) of a and b, two of its inputs, hold `value`. Returns where they end. */
static int64_t gradients_with(const struct fa_algorithm *algorithm, int64_t nq, int64_t nk,
                              bool of_keys, int64_t first, int64_t end, double value,
                              float out[GRADIENTS * LONG * HEAD])
{
    struct fa_problem problem = fa_problem_make(nq, nk, HEAD);
    const int64_t queries[4] = {1, 1, nq, HEAD}, keys[4] = {1, 1, nk, HEAD};
    const int64_t rows[4] = {1, 1, nq, 1};
    struct fa_tensor q, k, v, o, dout, lse, unused_k, unused_v, d[GRADIENTS];
    struct sim_result result;
    int64_t n = 0;

    problem.causal = of_keys ? FA_CAUSAL_TOP_LEFT : FA_CAUSAL_BOTTOM_RIGHT;
    struct fa_tensor *all[] = {&q, &o, &dout, &d[0], &k, &v, &unused_k, &unused_v, &d[1], &d[2]};
    for (int t = 0; t < 10; t++)
        assert_int_equal(fa_tensor_create(all[t], FA_F32, t < 4 ? queries : keys, NULL), FA_OK);
    assert_int_equal(fa_tensor_create(&lse, FA_F32, rows, NULL), FA_OK);
    fa_profile_fill(FA_PROFILE_GAUSS, 2, &problem, &dout, &unused_k, &unused_v);
    fa_profile_fill(FA_PROFILE_GAUSS, 1, &problem, &q, &k, &v);
    for (int64_t r = first; r < end; r++)
        for (int64_t c = 0; c < HEAD; c++) {
            fa_tensor_set(of_keys ? &k : &q, 0, 0, r, c, value);
            fa_tensor_set(of_keys ? &v : &dout, 0, 0, r, c, value);
        }
    struct sim_experiment experiment = {
        .algorithm = algorithm, .pass = SIM_BOTH, .problem = problem, .mode = SIM_COUNTED,
        .tiles = {SIM_TILES_GIVEN, 16, 16}, .threads = 1, .q = &q, .k = &k, .v = &v, .o = &o,
        .lse = &lse, .dout = &dout, .dq = &d[0], .dk = &d[1], .dv = &d[2],
    };
    experiment.machine.sram_bytes = 1 << 20;
    assert_int_equal(sim_experiment_run(&experiment, &result, NULL), FA_OK);
    for (int t = 0; t < GRADIENTS; t++)
        for (int64_t r = 0; r < d[t].shape[2]; r++)
            for (int64_t c = 0; c < HEAD; c++)
                out[n++] = (float)fa_tensor_get(&d[t], 0, 0, r, c);
    for (int t = 0; t < 10; t++)
        fa_tensor_free(all[t]);
    fa_tensor_free(&lse);
    return n;
}

/* Keys past the last query, and queries before the first key, share tiles with others. */
static void hidden_rows_leave_the_gradients_alone(void **state)
{
    static const struct fa_algorithm *const algorithms[] = {&fa_standard, &fa_flash1, &fa_flash2};
    static const double poison[] = {NAN, INFINITY};
    static float clean[GRADIENTS * LONG * HEAD], found[GRADIENTS * LONG * HEAD];
    (void)state;
    for (int a = 0; a < 3; a++)
        for (int of_keys = 0; of_keys <= 1; of_keys++) {
            int64_t nq = of_keys ? SHORT : LONG, nk = of_keys ? LONG : SHORT;
            int64_t first = of_keys ? SHORT : 0, end = of_keys ? LONG : LONG - SHORT;
            int64_t n = gradients_with(algorithms[a], nq, nk, of_keys, first, end, 0, clean);
            for (int p = 0; p < 2; p++) {
                gradients_with(algorithms[a], nq, nk, of_keys, first, end, poison[p], found);
                for (int64_t i = 0; i < n; i++)
                    assert_true(fabsf(found[i] - clean[i]) <= 1e-5F * fmaxf(1, fabsf(clean[i])));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_right_to_the_last_place_or_so),
        cmocka_unit_test(special_weights),
        cmocka_unit_test(hidden_rows_leave_the_gradients_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
