/* The list of the field cases, and what they are built with. */
#include "reference/field_builds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    fa_field_build *build;
    int64_t argument;
    unsigned without; /* one bit a dtype that cannot hold the numbers */
} cases[] = {
    {"leading tiles are all hidden", fa_field_leading_tiles_hidden, 4, 1u << FA_BF16},
    {"the only visible score is -20000", fa_field_very_low_score_wins, 1, 0},
    {"one key at a large negative score", fa_field_large_negative_score, 128, 0},
    {"every bias is -FLT_MAX", fa_field_lowest_finite_bias, 1, 1u << FA_F16 | 1u << FA_BF16},
    {"five queries, two keys, causal", fa_field_more_queries_than_keys, 1, 0},
    {"the diagonal cuts several tiles", fa_field_diagonal_through_tiles, 192, 0},
    {"one query, bottom-right", fa_field_one_query_causal, FA_CAUSAL_BOTTOM_RIGHT, 0},
    {"one query, top-left", fa_field_one_query_causal, FA_CAUSAL_TOP_LEFT, 0},
    {"NaN and infinity behind a mask", fa_field_hidden_nan, 1, 0},
    {"NaN and infinity behind a mask, d = 9", fa_field_hidden_nan, 9, 0},
    {"a visible NaN first", fa_field_visible_nan, 0, 0},
    {"a visible NaN last", fa_field_visible_nan, 2, 0},
    {"only a NaN is visible", fa_field_only_nan_visible, 1, 0},
    {"window of one key to the left", fa_field_window_left_one, 3, 0},
    {"a window that binds nothing under causal", fa_field_window_wider_than_causal, 10, 0},
    {"a window of 2^63 - 1 under causal", fa_field_window_wider_than_causal, INT64_MAX, 0},
    {"a window alone is bottom-right", fa_field_window_alignment, FA_CAUSAL_NONE, 0},
    {"a window under top-left causal", fa_field_window_alignment, FA_CAUSAL_TOP_LEFT, 0},
    {"a right bound before the first key", fa_field_window_before_first_key, 0, 0},
    {"a right bound that reaches back", fa_field_window_before_first_key, 1, 0},
    {"a right bound past all", fa_field_window_before_first_key, 5, 0},
    {"bounds of 2^63 - 1, more queries", fa_field_largest_window, 52, 0},
    {"bounds of 2^63 - 1, more keys", fa_field_largest_window, 25, 0},
    {"scale 0", fa_field_scale_zero, 2, 0},
    {"a negative scale", fa_field_scale_negative, 1, 0},
    {"three queries, no key", fa_field_nothing_to_see, 30, 0},
    {"no query, five keys", fa_field_nothing_to_see, 5, 0},
    {"no query, no key", fa_field_nothing_to_see, 0, 0},
    {"a batch of 0", fa_field_no_batch, 2, 0},
    {"no heads", fa_field_no_heads, 2, 0},
    {"N = 1", fa_field_all_alike, 1, 0},
    {"N = 2", fa_field_all_alike, 2, 0},
    {"N = 31", fa_field_all_alike, 31, 0},
    {"N = 32", fa_field_all_alike, 32, 0},
    {"N = 33", fa_field_all_alike, 33, 0},
    {"N = 192, padding is no key", fa_field_all_alike, 192, 0},
    {"d = 1", fa_field_upper_half_of_columns, 1, 0},
    {"d = 3", fa_field_upper_half_of_columns, 3, 0},
    {"d = 63", fa_field_upper_half_of_columns, 63, 0},
    {"d = 64", fa_field_upper_half_of_columns, 64, 0},
    {"d = 80", fa_field_upper_half_of_columns, 80, 0},
    {"d = 96", fa_field_upper_half_of_columns, 96, 0},
    {"d = 128", fa_field_upper_half_of_columns, 128, 0},
    {"d = 160", fa_field_upper_half_of_columns, 160, 0},
    {"d = 256", fa_field_upper_half_of_columns, 256, 0},
    {"the default scale is of d = 80", fa_field_default_scale, 80, 0},
    {"four heads over two", fa_field_grouped_heads, 3, 0},
    {"two masks empty a row", fa_field_two_masks_empty_a_row, 1, 0},
    {"an empty last block", fa_field_empty_last_block, 130, 0},
    {"65536 keys, V = 2", fa_field_long_sum, 65536, 0},
    {"one query, one key", fa_field_single_element, 16, 0},
    {"NaN behind the last key", fa_field_poisoned_tail, 65, 0},
    {"each query has one key", fa_field_one_key_each, 64, 0},
    {"a bias of -inf hides", fa_field_infinite_bias_hides, 2, 0},
    {"a NaN bias", fa_field_nan_bias, 2, 0},
    {"a score of +inf", fa_field_infinite_score, 2, 0},
    {"a NaN in V", fa_field_nan_in_v, 3, 0},
    {"dv = 1", fa_field_width_of_v, 1, 0},
    {"dv = 13", fa_field_width_of_v, 13, 0},
    {"broadcast mask and bias", fa_field_broadcast_axes, 5, 0},
    {"a mask of one column", fa_field_mask_of_one_column, 5, 0},
};

int fa_field_case_count(void)
{
    return (int)(sizeof cases / sizeof cases[0]);
}

static bool is_whole(const struct fa_field_case *field)
{
    return field->q.data && field->k.data && field->v.data && field->o.data && field->lse.data &&
           (!field->problem.mask || field->mask.data) && (!field->problem.bias || field->bias.data);
}

enum fa_status fa_field_case_make(struct fa_field_case *field, int index, enum fa_dtype dtype,
                                  struct fa_error *error)
{
    assert(index >= 0 && index < fa_field_case_count());
    memset(field, 0, sizeof *field);
    if (cases[index].without >> dtype & 1)
        return fa_fail(error, FA_UNSUPPORTED, "%s cannot hold the numbers of \"%s\"",
                       fa_dtype_name(dtype), cases[index].name);
    field->name = cases[index].name;
    field->problem.dtype = dtype;
    cases[index].build(field, cases[index].argument);
    if (!is_whole(field)) {
        fa_field_case_free(field);
        return fa_fail(error, FA_NO_MEMORY, "no memory for \"%s\"", cases[index].name);
    }
    return FA_OK;
}

void fa_field_case_free(struct fa_field_case *field)
{
    struct fa_tensor *const tensors[] = {&field->q,    &field->k, &field->v,  &field->mask,
                                         &field->bias, &field->o, &field->lse};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        fa_tensor_free(tensors[i]);
    memset(field, 0, sizeof *field);
}

/* ---- building -------------------------------------------------------------------------------- */

void fa_field_put(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c,
                  double value)
{
    if (tensor->data)
        fa_tensor_set(tensor, b, h, r, c, value);
}

double fa_field_get(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c)
{
    return tensor->data ? fa_tensor_get(tensor, b, h, r, c) : 0;
}

void fa_field_fill(const struct fa_tensor *tensor, double value)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    fa_field_put(tensor, b, h, r, c, value);
}

void fa_field_create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t batch, int64_t heads,
                     int64_t rows, int64_t columns, double value)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    if (fa_tensor_create(tensor, dtype, shape, NULL) == FA_OK)
        fa_field_fill(tensor, value);
}

struct fa_problem fa_field_problem(const struct fa_field_case *field, int64_t nq, int64_t nk,
                                   int64_t d)
{
    struct fa_problem problem = fa_problem_make(nq, nk, d);
    problem.scale = 1;
    problem.dtype = field->problem.dtype;
    return problem;
}

void fa_field_start(struct fa_field_case *field, struct fa_problem problem)
{
    struct fa_problem *p = &field->problem;
    *p = problem;
    fa_field_create(&field->q, p->dtype, p->batch, p->heads, p->nq, p->d, 0);
    fa_field_create(&field->k, p->dtype, p->batch, p->kv_heads, p->nk, p->d, 0);
    fa_field_create(&field->v, p->dtype, p->batch, p->kv_heads, p->nk, p->dv, 0);
    fa_field_create(&field->o, FA_F64, p->batch, p->heads, p->nq, p->dv, 0);
    fa_field_create(&field->lse, FA_F64, p->batch, p->heads, p->nq, 1, -INFINITY);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->kv_heads; h++)
            for (int64_t r = 0; r < p->nk; r++)
                for (int64_t c = 0; c < p->dv; c++)
                    fa_field_put(&field->v, b, h, r, c, (double)r);
}

void fa_field_set_row(const struct fa_tensor *tensor, int64_t row, double value)
{
    for (int64_t c = 0; c < tensor->shape[3]; c++)
        fa_field_put(tensor, 0, 0, row, c, value);
}

void fa_field_expect_row(struct fa_field_case *field, int64_t row, double o, double lse)
{
    fa_field_set_row(&field->o, row, o);
    fa_field_set_row(&field->lse, row, lse);
}

void fa_field_set_keys(struct fa_field_case *field, int n, const double *k, const double *v)
{
    for (int row = 0; row < n; row++) {
        fa_field_set_row(&field->k, row, k[row]);
        fa_field_set_row(&field->v, row, v[row]);
    }
}

void fa_field_add_mask(struct fa_field_case *field, double value)
{
    const struct fa_problem *p = &field->problem;
    fa_field_create(&field->mask, FA_U8, 1, 1, p->nq, p->nk, value);
    field->problem.mask = &field->mask;
}

void fa_field_add_bias(struct fa_field_case *field, double value)
{
    const struct fa_problem *p = &field->problem;
    fa_field_create(&field->bias, p->dtype, 1, 1, p->nq, p->nk, value);
    field->problem.bias = &field->bias;
}
