/* The arithmetic on one tile, seen alone: exp, which is our own, and the weights of hidden keys. */
#include "reference/verbs.h" /* before cmocka.h, which has a macro of the name of a port's verb */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "reference/algorithm.h"
#include "reference/plain_port.h"
#include "reference/tile_kernels.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_right_to_the_last_place_or_so),
        cmocka_unit_test(special_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
