/* Inputs of the precision lab: rotated, scaled and rounded. */
#include "reference/precision.h"

#include <math.h>

#include "reference/philox.h"

/* The third word of the counter tells the signs from the draws of q, k and v (profile.h). */
enum { SIGNS_TENSOR = 4, SIGNS_A_DRAW = 128 };

/* True where column `column` of the head is negated. */
static bool is_negated(uint64_t seed, int64_t head, int64_t column)
{
    uint32_t words[4];
    int64_t draw = column / SIGNS_A_DRAW, bit = column % SIGNS_A_DRAW;
    const uint32_t counter[4] = {(uint32_t)draw, (uint32_t)head, SIGNS_TENSOR, 0};
    fa_philox4x32(seed, counter, words);
    return words[bit / 32] >> (bit % 32) & 1;
}

/* x = H x, by d log2 d additions: H of 2 d is H of d on the sums and on the differences. */
static void transform(double *x, int64_t d)
{
    for (int64_t half = 1; half < d; half *= 2)
        for (int64_t first = 0; first < d; first += 2 * half)
            for (int64_t i = first; i < first + half; i++) {
                double a = x[i], b = x[i + half];
                x[i] = a + b;
                x[i + half] = a - b;
            }
}

static void rotate(uint64_t seed, int64_t head, int64_t n, int64_t d, double *x)
{
    double factor = 1 / sqrt((double)d);
    for (int64_t column = 0; column < d; column++) {
        double sign = is_negated(seed, head, column) ? -factor : factor;
        for (int64_t row = 0; row < n; row++)
            x[row * d + column] *= sign;
    }
    for (int64_t row = 0; row < n; row++)
        transform(x + row * d, d);
}

/* Rounds n values that share one factor. Without a finite value other than 0 the factor is 1. */
static void round_scaled(enum fa_format format, double *x, int64_t n)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i]) > largest && isfinite(x[i]))
            largest = fabs(x[i]);
    double factor = largest > 0 ? largest / fa_format_max(format) : 1;
    for (int64_t i = 0; i < n; i++)
        x[i] /= factor;
    fa_format_round_all(format, FA_OVERFLOW_SATURATE, x, n);
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void round_tensor(const struct fa_precision_recipe *recipe, enum fa_format format, int64_t n,
                         int64_t d, double *x)
{
    if (recipe->scale == FA_SCALE_NONE || !fa_format_is_8_bit(format)) {
        fa_format_round_all(format, FA_OVERFLOW_SATURATE, x, n * d);
        return;
    }
    bool block = recipe->scale == FA_SCALE_BLOCK && recipe->scale_rows < n;
    int64_t rows = block ? recipe->scale_rows : n;
    for (int64_t first = 0; first < n; first += rows)
        round_scaled(format, x + first * d, (rows < n - first ? rows : n - first) * d);
}

void fa_precision_round_inputs(const struct fa_precision_recipe *recipe, uint64_t seed,
                               int64_t head, int64_t n, int64_t d, double *q, double *k, double *v)
{
    double *tensors[3] = {q, k, v};
    for (int t = 0; t < 3; t++) {
        if (!tensors[t])
            continue;
        if (recipe->hadamard && t < 2)
            rotate(seed, head, n, d, tensors[t]);
        round_tensor(recipe, recipe->inputs[t], n, d, tensors[t]);
    }
}
