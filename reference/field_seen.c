/* Field cases of which keys a row sees: masks, diagonals, windows, what stands behind them, and
 * nothing at all. */
#include "reference/field_builds.h"

#include <math.h>

void fa_field_leading_tiles_hidden(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 700, d));
    fa_field_add_mask(field, 0);
    for (int64_t key = 515; key <= 575; key++)
        fa_field_put(&field->mask, 0, 0, 0, key, 1);
    fa_field_expect_row(field, 0, 545, log(61));
}

void fa_field_more_queries_than_keys(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 5, 2, d);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    fa_field_start(field, problem);
    fa_field_fill(&field->q, 1);
    fa_field_set_keys(field, 2, (double[]){0, 1}, (double[]){10, 20});
    fa_field_expect_row(field, 3, 10, 0);
    fa_field_expect_row(field, 4, (10 + 20 * exp(1)) / (1 + exp(1)), log(1 + exp(1)));
}

void fa_field_diagonal_through_tiles(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = fa_field_problem(field, n, n, 4);
    problem.causal = FA_CAUSAL_TOP_LEFT;
    fa_field_start(field, problem);
    for (int64_t row = 0; row < n; row++)
        fa_field_expect_row(field, row, (double)row / 2, log((double)row + 1));
}

void fa_field_one_query_causal(struct fa_field_case *field, int64_t causal)
{
    struct fa_problem problem = fa_field_problem(field, 1, 8, 2);
    problem.causal = (enum fa_causal)causal;
    fa_field_start(field, problem);
    if (causal == FA_CAUSAL_BOTTOM_RIGHT)
        fa_field_expect_row(field, 0, 3.5, log(8));
    else
        fa_field_expect_row(field, 0, 0, 0);
}

void fa_field_hidden_nan(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 3, d));
    fa_field_put(&field->q, 0, 0, 0, 0, 1);
    fa_field_set_keys(field, 3, (double[]){2, NAN, INFINITY}, (double[]){7, NAN, INFINITY});
    fa_field_add_mask(field, 0);
    fa_field_put(&field->mask, 0, 0, 0, 0, 1);
    fa_field_expect_row(field, 0, 7, 2);
}

/* Key `nan_key` is NaN, and the row sees it: alone, first, or after finite scores. */
void fa_field_visible_nan(struct fa_field_case *field, int64_t nan_key)
{
    fa_field_start(field, fa_field_problem(field, 2, 3, 2));
    fa_field_fill(&field->q, 1);
    fa_field_fill(&field->k, 1);
    fa_field_set_row(&field->k, nan_key, NAN);
    fa_field_add_mask(field, 1);
    fa_field_put(&field->mask, 0, 0, 1, nan_key, 0);
    fa_field_expect_row(field, 0, NAN, NAN);
    fa_field_expect_row(field, 1, (3 - (double)nan_key) / 2, 2 + log(2));
}

void fa_field_only_nan_visible(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 1, 3, d));
    fa_field_set_keys(field, 3, (double[]){NAN, 1, 1}, (double[]){1, 2, 3});
    fa_field_add_mask(field, 0);
    fa_field_put(&field->mask, 0, 0, 0, 0, 1);
    fa_field_expect_row(field, 0, NAN, NAN);
}

void fa_field_window_left_one(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 4, 4, d);
    problem.window_left = 1;
    problem.window_right = 0;
    fa_field_start(field, problem);
    for (int64_t row = 0; row < 4; row++)
        fa_field_expect_row(field, row, row == 0 ? 0 : (double)row - .5, row == 0 ? 0 : log(2));
}

/* Causal, and a window that hides nothing more: row r sees keys 0 .. r. */
void fa_field_window_wider_than_causal(struct fa_field_case *field, int64_t left)
{
    struct fa_problem problem = fa_field_problem(field, 4, 4, 3);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.window_left = left;
    problem.window_right = 0;
    fa_field_start(field, problem);
    for (int64_t row = 0; row < 4; row++)
        fa_field_expect_row(field, row, (double)row / 2, log((double)row + 1));
}

/* Nq = 3, Nk = 5, one key to each side: key 2 stands under query 0 unless top-left. */
void fa_field_window_alignment(struct fa_field_case *field, int64_t causal)
{
    struct fa_problem problem = fa_field_problem(field, 3, 5, 3);
    problem.window_left = 1;
    problem.window_right = 1;
    problem.causal = (enum fa_causal)causal;
    fa_field_start(field, problem);
    if (causal == FA_CAUSAL_NONE) {
        fa_field_expect_row(field, 0, 2, log(3));
        fa_field_expect_row(field, 1, 3, log(3));
        fa_field_expect_row(field, 2, 3.5, log(2));
    } else {
        fa_field_expect_row(field, 0, 0, 0);
        fa_field_expect_row(field, 1, .5, log(2));
        fa_field_expect_row(field, 2, 1.5, log(2));
    }
}

/* A window over more queries than keys: Nq = 4, Nk = 2, query 2 stands on key 0. */
void fa_field_window_before_first_key(struct fa_field_case *field, int64_t right)
{
    struct fa_problem problem = fa_field_problem(field, 4, 2, 3);
    problem.window_right = right;
    fa_field_start(field, problem);
    for (int64_t row = 0; row < 4; row++) {
        int64_t last = row - 2 + right;
        if (last >= 0)
            fa_field_expect_row(field, row, last == 0 ? 0 : .5, last == 0 ? 0 : log(2));
    }
}

/* sizes = 10 nq + nk. Both bounds are the largest number there is: nothing is hidden. */
void fa_field_largest_window(struct fa_field_case *field, int64_t sizes)
{
    struct fa_problem problem = fa_field_problem(field, sizes / 10, sizes % 10, 3);
    problem.window_left = problem.window_right = INT64_MAX;
    fa_field_start(field, problem);
    for (int64_t row = 0; row < problem.nq; row++)
        fa_field_expect_row(field, row, (double)(problem.nk - 1) / 2, log((double)problem.nk));
}

/* sizes = 10 nq + nk, one of them 0: nothing to see. */
void fa_field_nothing_to_see(struct fa_field_case *field, int64_t sizes)
{
    fa_field_start(field, fa_field_problem(field, sizes / 10, sizes % 10, 4));
}

void fa_field_no_batch(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 3, 3, d);
    problem.batch = 0;
    fa_field_start(field, problem);
}

void fa_field_no_heads(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 3, 3, d);
    problem.heads = problem.kv_heads = 0;
    fa_field_start(field, problem);
}

void fa_field_two_masks_empty_a_row(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = fa_field_problem(field, 2, 2, d);
    problem.causal = FA_CAUSAL_TOP_LEFT;
    fa_field_start(field, problem);
    fa_field_add_mask(field, 1);
    fa_field_put(&field->mask, 0, 0, 0, 0, 0);
    fa_field_expect_row(field, 1, .5, log(2));
}

/* Blocks of 64: rows of the first see block 0, of the second blocks 0 and 1, of the last none. */
void fa_field_empty_last_block(struct fa_field_case *field, int64_t n)
{
    fa_field_start(field, fa_field_problem(field, n, n, 3));
    fa_field_add_mask(field, 0);
    for (int64_t row = 0; row < 128; row++) {
        int64_t seen = row < 64 ? 64 : 128;
        for (int64_t key = 0; key < seen; key++)
            fa_field_put(&field->mask, 0, 0, row, key, 1);
        fa_field_expect_row(field, row, (double)(seen - 1) / 2, log((double)seen));
    }
}

/* Rows of NaN lie behind the last key. */
void fa_field_poisoned_tail(struct fa_field_case *field, int64_t n)
{
    int64_t held = (n / 64 + 1) * 64;
    fa_field_start(field, fa_field_problem(field, n, held, 3));
    for (int64_t row = n; row < held; row++) {
        fa_field_set_row(&field->k, row, NAN);
        fa_field_set_row(&field->v, row, NAN);
    }
    field->problem.nk = field->k.shape[2] = field->v.shape[2] = n;
    for (int64_t row = 0; row < n; row++)
        fa_field_expect_row(field, row, (double)(n - 1) / 2, log((double)n));
}

/* A bias of -inf hides its key like a mask, NaN in its V row included; alone it empties a row. */
void fa_field_infinite_bias_hides(struct fa_field_case *field, int64_t d)
{
    fa_field_start(field, fa_field_problem(field, 2, 3, d));
    fa_field_add_bias(field, 0);
    fa_field_set_row(&field->v, 2, NAN);
    for (int64_t key = 0; key < 3; key++)
        fa_field_put(&field->bias, 0, 0, 0, key, -INFINITY);
    fa_field_put(&field->bias, 0, 0, 1, 2, -INFINITY);
    fa_field_expect_row(field, 1, .5, log(2));
}

/* A mask of one column hides whole rows. */
void fa_field_mask_of_one_column(struct fa_field_case *field, int64_t n)
{
    fa_field_start(field, fa_field_problem(field, n, n, 2));
    fa_field_create(&field->mask, FA_U8, 1, 1, n, 1, 0);
    field->problem.mask = &field->mask;
    for (int64_t row = 0; row < n; row += 2) {
        fa_field_put(&field->mask, 0, 0, row, 0, 1);
        fa_field_expect_row(field, row, (double)(n - 1) / 2, log((double)n));
    }
}
