/*
 * How the field cases are built (field_cases.h): the list in field_cases.c names these functions.
 *
 * Where memory is missing a tensor stays without data, writing to it does nothing, and
 * fa_field_case_make says so in the end.
 */
#ifndef FA_FIELD_BUILDS_H
#define FA_FIELD_BUILDS_H

#include "reference/field_cases.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *field, in which the dtype alone is set; the list says what the argument is. */
typedef void fa_field_build(struct fa_field_case *field, int64_t argument);

/* ---- field_seen.c ---------------------------------------------------------------------------- */

fa_field_build fa_field_leading_tiles_hidden, fa_field_more_queries_than_keys,
    fa_field_diagonal_through_tiles, fa_field_one_query_causal, fa_field_hidden_nan,
    fa_field_visible_nan, fa_field_only_nan_visible, fa_field_window_left_one,
    fa_field_window_wider_than_causal, fa_field_window_alignment, fa_field_window_before_first_key,
    fa_field_largest_window, fa_field_nothing_to_see, fa_field_no_batch, fa_field_no_heads,
    fa_field_two_masks_empty_a_row, fa_field_empty_last_block, fa_field_poisoned_tail,
    fa_field_infinite_bias_hides, fa_field_mask_of_one_column;

/* ---- field_values.c -------------------------------------------------------------------------- */

fa_field_build fa_field_very_low_score_wins, fa_field_large_negative_score,
    fa_field_lowest_finite_bias, fa_field_scale_zero, fa_field_scale_negative, fa_field_all_alike,
    fa_field_upper_half_of_columns, fa_field_default_scale, fa_field_grouped_heads,
    fa_field_long_sum, fa_field_single_element, fa_field_one_key_each, fa_field_nan_bias,
    fa_field_infinite_score, fa_field_nan_in_v, fa_field_width_of_v, fa_field_broadcast_axes;

/* ---- field_cases.c --------------------------------------------------------------------------- */

/* Elements of tensors with four axes; get gives 0 without data. */
void fa_field_put(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c,
                  double value);
double fa_field_get(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c);
void fa_field_fill(const struct fa_tensor *tensor, double value);
void fa_field_create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t batch, int64_t heads,
                     int64_t rows, int64_t columns, double value);

/* A problem with scale 1, in the dtype that the case came with. */
struct fa_problem fa_field_problem(const struct fa_field_case *field, int64_t nq, int64_t nk,
                                   int64_t d);

/* Q = K = 0, V row j is j in each component, and all rows are empty until fa_field_expect_row says
 * else. */
void fa_field_start(struct fa_field_case *field, struct fa_problem problem);

/* One row of the first head: all its components; and its answer. */
void fa_field_set_row(const struct fa_tensor *tensor, int64_t row, double value);
void fa_field_expect_row(struct fa_field_case *field, int64_t row, double o, double lse);

/* Keys 0, 1, ... with the values given in each component of k and v. */
void fa_field_set_keys(struct fa_field_case *field, int n, const double *k, const double *v);

/* An element mask, a bias, for all heads, with this value everywhere. */
void fa_field_add_mask(struct fa_field_case *field, double value);
void fa_field_add_bias(struct fa_field_case *field, double value);

#ifdef __cplusplus
}
#endif
#endif
