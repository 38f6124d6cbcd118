/* Field cases of numbers and sizes: scores far from 0, NaN and infinity that count, widths, heads
 * and lengths that are a multiple of nothing. */
#include "reference/field_builds.h"

#include <float.h>
#include <math.h>

void fa_field_very_low_score_wins(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 2, d));
    fa_field_set_row(&field->q, 0, -20000);
    fa_field_set_keys(field, 2, (double[]){1, 0}, (double[]){1, 100});
    fa_field_add_mask(field, 0);
    fa_field_put(&field->mask, 0, 0, 0, 0, 1);
    fa_field_expect_row(field, 0, 1, fa_field_get(&field->q, 0, 0, 0, 0)); /* bf16 holds -19968. */
}

void fa_field_large_negative_score(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 1, 1, d);
    problem.scale = 1 / sqrt((double)d);
    fa_field_start(field, problem);
    fa_field_set_row(&field->q, 0, 64);
    fa_field_set_row(&field->k, 0, -64);
    fa_field_set_row(&field->v, 0, 7);
    fa_field_expect_row(field, 0, 7, -64.0 * 64.0 * (double)d / sqrt((double)d));
}

/* Every bias is the lowest finite f32: a score, not a mask. */
void fa_field_lowest_finite_bias(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 3, d));
    fa_field_set_row(&field->q, 0, 1);
    fa_field_set_keys(field, 3, (double[]){.1, .2, .3}, (double[]){1, 2, 3});
    fa_field_add_bias(field, -FLT_MAX);
    fa_field_expect_row(field, 0, 2, -FLT_MAX);
}

void fa_field_scale_zero(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 2, 2, d);
    problem.scale = 0;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    fa_field_start(field, problem);
    fa_field_fill(&field->q, 3);
    fa_field_set_keys(field, 2, (double[]){5, 9}, (double[]){1, 3});
    fa_field_expect_row(field, 0, 1, 0);
    fa_field_expect_row(field, 1, 2, log(2));
}

void fa_field_scale_negative(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 1, 2, d);
    problem.scale = -1;
    fa_field_start(field, problem);
    fa_field_fill(&field->q, 1);
    fa_field_set_keys(field, 2, (double[]){100, 0}, (double[]){1, 3});
    fa_field_expect_row(field, 0, 3, 0); /* ln(1 + e^-100) is below the last place of 1. */
}

/* All n keys alike: the mean of V, and a natural logarithm. */
void fa_field_all_alike(struct fa_field_case *field, int64_t n)
{
    fa_field_start(field, fa_field_problem(field, n, n, 3));
    for (int64_t row = 0; row < n; row++)
        fa_field_expect_row(field, row, (double)(n - 1) / 2, log((double)n));
}

/* q and k_0 are 1 in the upper half of the columns only: a score of d - d/2. */
void fa_field_upper_half_of_columns(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 2, d));
    for (int64_t c = d / 2; c < d; c++) {
        fa_field_put(&field->q, 0, 0, 0, c, 1);
        fa_field_put(&field->k, 0, 0, 0, c, 1);
    }
    fa_field_set_row(&field->v, 0, 1);
    fa_field_set_row(&field->v, 1, 3);
    double score = (double)(d - d / 2);
    fa_field_expect_row(field, 0, 1 + 2 / (exp(score) + 1), score + log1p(exp(-score)));
}

void fa_field_default_scale(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 1, 2, d);
    problem.scale = fa_problem_make(1, 2, d).scale;
    fa_field_start(field, problem);
    fa_field_set_row(&field->q, 0, .1);
    fa_field_set_keys(field, 2, (double[]){1, 0}, (double[]){1, 0});
    double score = fa_field_get(&field->q, 0, 0, 0, 0) * (double)d / sqrt((double)d);
    fa_field_expect_row(field, 0, 1 / (1 + exp(-score)), log(1 + exp(score)));
}

/* Four query heads over two K/V heads, V of head g is g, in two batches: 10 more in the second. */
void fa_field_grouped_heads(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = fa_field_problem(field, n, n, 2);
    problem.batch = 2;
    problem.heads = 4;
    problem.kv_heads = 2;
    fa_field_start(field, problem);
    fa_field_fill(&field->lse, log((double)n));
    for (int64_t b = 0; b < 2; b++)
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < 2; c++) {
                for (int64_t h = 0; h < 2; h++)
                    fa_field_put(&field->v, b, h, r, c, (double)(h + 10 * b));
                for (int64_t h = 0; h < 4; h++)
                    fa_field_put(&field->o, b, h, r, c, (double)(h / 2 + 10 * b));
            }
}

/* The sum of V before normalising is past the largest f16. */
void fa_field_long_sum(struct fa_field_case *field, int64_t nk)
{
    fa_field_start(field, fa_field_problem(field, 1, nk, 1));
    fa_field_fill(&field->v, 2);
    fa_field_expect_row(field, 0, 2, log((double)nk));
}

void fa_field_single_element(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 1, d));
    fa_field_set_row(&field->q, 0, .5);
    fa_field_set_row(&field->k, 0, 1);
    fa_field_set_row(&field->v, 0, -3);
    fa_field_expect_row(field, 0, -3, (double)d / 2);
}

void fa_field_one_key_each(struct fa_field_case *field, int64_t n)
{
    fa_field_start(field, fa_field_problem(field, n, n, n));
    fa_field_fill(&field->v, 0);
    for (int64_t i = 0; i < n; i++) {
        fa_field_put(&field->q, 0, 0, i, i, 100);
        fa_field_put(&field->k, 0, 0, i, i, 100);
        fa_field_put(&field->v, 0, 0, i, i, 1);
        fa_field_put(&field->o, 0, 0, i, i, 1);
        fa_field_put(&field->lse, 0, 0, i, 0, 10000);
    }
}

/* A NaN bias counts where its key is visible only. */
void fa_field_nan_bias(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 2, 2, d));
    fa_field_add_bias(field, 0);
    fa_field_add_mask(field, 1);
    fa_field_put(&field->bias, 0, 0, 0, 1, NAN);
    fa_field_put(&field->bias, 0, 0, 1, 1, NAN);
    fa_field_put(&field->mask, 0, 0, 1, 1, 0);
    fa_field_expect_row(field, 0, NAN, NAN);
    fa_field_expect_row(field, 1, 0, 0);
}

/* inf - inf: a score of +inf makes its row NaN. */
void fa_field_infinite_score(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 2, d));
    fa_field_add_bias(field, 0);
    fa_field_put(&field->bias, 0, 0, 0, 1, INFINITY);
    fa_field_expect_row(field, 0, NAN, NAN);
}

/* A NaN in V stays in its column, and does not touch the LSE. */
void fa_field_nan_in_v(struct fa_field_case *field, int64_t dv)
{
    struct fa_problem problem = fa_field_problem(field, 1, 3, 2);
    problem.dv = dv;
    fa_field_start(field, problem);
    fa_field_expect_row(field, 0, 1, log(3));
    fa_field_put(&field->v, 0, 0, 1, 1, NAN);
    fa_field_put(&field->o, 0, 0, 0, 1, NAN);
}

/* dv other than d; scores ln 1, ln 2, ... come from the bias, so the weights are 1, 2, ... */
void fa_field_width_of_v(struct fa_field_case *field, int64_t dv)
{
    struct fa_problem problem = fa_field_problem(field, 2, 4, 3);
    problem.dv = dv;
    fa_field_start(field, problem);
    fa_field_create(&field->bias, problem.dtype, 1, 1, 1, 4, 0); /* One row for all queries. */
    field->problem.bias = &field->bias;
    double sum = 0, mean = 0;
    for (int64_t key = 0; key < 4; key++) {
        fa_field_put(&field->bias, 0, 0, 0, key, log((double)key + 1));
        double weight = exp(fa_field_get(&field->bias, 0, 0, 0, key));
        sum += weight;
        mean += weight * (double)key;
    }
    for (int64_t row = 0; row < 2; row++)
        fa_field_expect_row(field, row, mean / sum, log(sum));
}

/* Mask and bias of one column, a mask for each batch, a bias for each head. */
void fa_field_broadcast_axes(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = fa_field_problem(field, n, 2, 1);
    problem.batch = problem.heads = 2;
    problem.kv_heads = 1;
    fa_field_start(field, problem);
    fa_field_create(&field->mask, FA_U8, 2, 1, 1, 2, 1);
    fa_field_create(&field->bias, problem.dtype, 1, 2, n, 1, 0);
    field->problem.mask = &field->mask;
    field->problem.bias = &field->bias;
    fa_field_put(&field->mask, 1, 0, 0, 0, 0); /* The second batch sees key 1 only. */
    for (int64_t h = 0; h < 2; h++)
        for (int64_t r = 0; r < n; r++) {
            double bias = (double)(h * 8 + r);
            fa_field_put(&field->bias, 0, h, r, 0, bias);
            fa_field_put(&field->o, 0, h, r, 0, .5);
            fa_field_put(&field->lse, 0, h, r, 0, bias + log(2));
            fa_field_put(&field->o, 1, h, r, 0, 1);
            fa_field_put(&field->lse, 1, h, r, 0, bias);
        }
}
