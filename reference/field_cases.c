#include "reference/field_cases.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Longer than other files: one list of cases, each a few lines, that is searched by its names. */

typedef void build_function(struct fa_field_case *field, int64_t argument);

/* Where memory was missing, a tensor has no data, and fa_field_case_make says so in the end. */
static void put(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c,
                double value)
{
    if (tensor->data)
        fa_tensor_set(tensor, b, h, r, c, value);
}

static double get(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, int64_t c)
{
    return tensor->data ? fa_tensor_get(tensor, b, h, r, c) : 0;
}

static void fill(const struct fa_tensor *tensor, double value)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    put(tensor, b, h, r, c, value);
}

static void create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t batch, int64_t heads,
                   int64_t rows, int64_t columns, double value)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    if (fa_tensor_create(tensor, dtype, shape, NULL) == FA_OK)
        fill(tensor, value);
}

/* A problem with scale 1, in the dtype that the case came with. */
static struct fa_problem make(const struct fa_field_case *field, int64_t nq, int64_t nk, int64_t d)
{
    struct fa_problem problem = fa_problem_make(nq, nk, d);
    problem.scale = 1;
    problem.dtype = field->problem.dtype;
    return problem;
}

/* Q = K = 0, V row j is j in each component, and all rows are empty until expect_row says else. */
static void start(struct fa_field_case *field, struct fa_problem problem)
{
    struct fa_problem *p = &field->problem;
    *p = problem;
    create(&field->q, p->dtype, p->batch, p->heads, p->nq, p->d, 0);
    create(&field->k, p->dtype, p->batch, p->kv_heads, p->nk, p->d, 0);
    create(&field->v, p->dtype, p->batch, p->kv_heads, p->nk, p->dv, 0);
    create(&field->o, FA_F64, p->batch, p->heads, p->nq, p->dv, 0);
    create(&field->lse, FA_F64, p->batch, p->heads, p->nq, 1, -INFINITY);
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->kv_heads; h++)
            for (int64_t r = 0; r < p->nk; r++)
                for (int64_t c = 0; c < p->dv; c++)
                    put(&field->v, b, h, r, c, (double)r);
}

static void set_row(const struct fa_tensor *tensor, int64_t row, double value)
{
    for (int64_t c = 0; c < tensor->shape[3]; c++)
        put(tensor, 0, 0, row, c, value);
}

static void expect_row(struct fa_field_case *field, int64_t row, double o, double lse)
{
    set_row(&field->o, row, o);
    set_row(&field->lse, row, lse);
}

/* Keys 0, 1, ... with the values given in each component of k and v. */
static void set_keys(struct fa_field_case *field, int n, const double *k, const double *v)
{
    for (int row = 0; row < n; row++) {
        set_row(&field->k, row, k[row]);
        set_row(&field->v, row, v[row]);
    }
}

static void add_mask(struct fa_field_case *field, double value)
{
    const struct fa_problem *p = &field->problem;
    create(&field->mask, FA_U8, 1, 1, p->nq, p->nk, value);
    field->problem.mask = &field->mask;
}

static void add_bias(struct fa_field_case *field, double value)
{
    const struct fa_problem *p = &field->problem;
    create(&field->bias, p->dtype, 1, 1, p->nq, p->nk, value);
    field->problem.bias = &field->bias;
}

static void leading_tiles_hidden(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 700, d));
    add_mask(field, 0);
    for (int64_t key = 515; key <= 575; key++)
        put(&field->mask, 0, 0, 0, key, 1);
    expect_row(field, 0, 545, log(61));
}

static void very_low_score_wins(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 2, d));
    set_row(&field->q, 0, -20000);
    set_keys(field, 2, (double[]){1, 0}, (double[]){1, 100});
    add_mask(field, 0);
    put(&field->mask, 0, 0, 0, 0, 1);
    expect_row(field, 0, 1, get(&field->q, 0, 0, 0, 0)); /* bf16 holds -19968. */
}

static void large_negative_score(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 1, 1, d);
    problem.scale = 1 / sqrt((double)d);
    start(field, problem);
    set_row(&field->q, 0, 64);
    set_row(&field->k, 0, -64);
    set_row(&field->v, 0, 7);
    expect_row(field, 0, 7, -64.0 * 64.0 * (double)d / sqrt((double)d));
}

/* Every bias is the lowest finite f32: a score, not a mask. */
static void lowest_finite_bias(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 3, d));
    set_row(&field->q, 0, 1);
    set_keys(field, 3, (double[]){.1, .2, .3}, (double[]){1, 2, 3});
    add_bias(field, -FLT_MAX);
    expect_row(field, 0, 2, -FLT_MAX);
}

static void more_queries_than_keys(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 5, 2, d);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    start(field, problem);
    fill(&field->q, 1);
    set_keys(field, 2, (double[]){0, 1}, (double[]){10, 20});
    expect_row(field, 3, 10, 0);
    expect_row(field, 4, (10 + 20 * exp(1)) / (1 + exp(1)), log(1 + exp(1)));
}

static void diagonal_through_tiles(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = make(field, n, n, 4);
    problem.causal = FA_CAUSAL_TOP_LEFT;
    start(field, problem);
    for (int64_t row = 0; row < n; row++)
        expect_row(field, row, (double)row / 2, log((double)row + 1));
}

static void one_query_causal(struct fa_field_case *field, int64_t causal)
{
    struct fa_problem problem = make(field, 1, 8, 2);
    problem.causal = (enum fa_causal)causal;
    start(field, problem);
    if (causal == FA_CAUSAL_BOTTOM_RIGHT)
        expect_row(field, 0, 3.5, log(8));
    else
        expect_row(field, 0, 0, 0);
}

static void hidden_nan(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 3, d));
    put(&field->q, 0, 0, 0, 0, 1);
    set_keys(field, 3, (double[]){2, NAN, INFINITY}, (double[]){7, NAN, INFINITY});
    add_mask(field, 0);
    put(&field->mask, 0, 0, 0, 0, 1);
    expect_row(field, 0, 7, 2);
}

/* Key `nan_key` is NaN, and the row sees it: alone, first, or after finite scores. */
static void visible_nan(struct fa_field_case *field, int64_t nan_key)
{
    start(field, make(field, 2, 3, 2));
    fill(&field->q, 1);
    fill(&field->k, 1);
    set_row(&field->k, nan_key, NAN);
    add_mask(field, 1);
    put(&field->mask, 0, 0, 1, nan_key, 0);
    expect_row(field, 0, NAN, NAN);
    expect_row(field, 1, (3 - (double)nan_key) / 2, 2 + log(2));
}

static void only_nan_visible(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 3, d));
    set_keys(field, 3, (double[]){NAN, 1, 1}, (double[]){1, 2, 3});
    add_mask(field, 0);
    put(&field->mask, 0, 0, 0, 0, 1);
    expect_row(field, 0, NAN, NAN);
}

static void window_left_one(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 4, 4, d);
    problem.window_left = 1;
    problem.window_right = 0;
    start(field, problem);
    for (int64_t row = 0; row < 4; row++)
        expect_row(field, row, row == 0 ? 0 : (double)row - .5, row == 0 ? 0 : log(2));
}

/* Causal, and a window that hides nothing more: row r sees keys 0 .. r. */
static void window_wider_than_causal(struct fa_field_case *field, int64_t left)
{
    struct fa_problem problem = make(field, 4, 4, 3);
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    problem.window_left = left;
    problem.window_right = 0;
    start(field, problem);
    for (int64_t row = 0; row < 4; row++)
        expect_row(field, row, (double)row / 2, log((double)row + 1));
}

/* Nq = 3, Nk = 5, one key to each side: key 2 stands under query 0 unless top-left. */
static void window_alignment(struct fa_field_case *field, int64_t causal)
{
    struct fa_problem problem = make(field, 3, 5, 3);
    problem.window_left = 1;
    problem.window_right = 1;
    problem.causal = (enum fa_causal)causal;
    start(field, problem);
    if (causal == FA_CAUSAL_NONE) {
        expect_row(field, 0, 2, log(3));
        expect_row(field, 1, 3, log(3));
        expect_row(field, 2, 3.5, log(2));
    } else {
        expect_row(field, 0, 0, 0);
        expect_row(field, 1, .5, log(2));
        expect_row(field, 2, 1.5, log(2));
    }
}

/* A window over more queries than keys: Nq = 4, Nk = 2, query 2 stands on key 0. */
static void window_before_first_key(struct fa_field_case *field, int64_t right)
{
    struct fa_problem problem = make(field, 4, 2, 3);
    problem.window_right = right;
    start(field, problem);
    for (int64_t row = 0; row < 4; row++) {
        int64_t last = row - 2 + right;
        if (last >= 0)
            expect_row(field, row, last == 0 ? 0 : .5, last == 0 ? 0 : log(2));
    }
}

/* sizes = 10 nq + nk. Both bounds are the largest number there is: nothing is hidden. */
static void largest_window(struct fa_field_case *field, int64_t sizes)
{
    struct fa_problem problem = make(field, sizes / 10, sizes % 10, 3);
    problem.window_left = problem.window_right = INT64_MAX;
    start(field, problem);
    for (int64_t row = 0; row < problem.nq; row++)
        expect_row(field, row, (double)(problem.nk - 1) / 2, log((double)problem.nk));
}

static void scale_zero(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 2, 2, d);
    problem.scale = 0;
    problem.causal = FA_CAUSAL_BOTTOM_RIGHT;
    start(field, problem);
    fill(&field->q, 3);
    set_keys(field, 2, (double[]){5, 9}, (double[]){1, 3});
    expect_row(field, 0, 1, 0);
    expect_row(field, 1, 2, log(2));
}

static void scale_negative(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 1, 2, d);
    problem.scale = -1;
    start(field, problem);
    fill(&field->q, 1);
    set_keys(field, 2, (double[]){100, 0}, (double[]){1, 3});
    expect_row(field, 0, 3, 0); /* ln(1 + e^-100) is below the last place of 1. */
}

/* sizes = 10 nq + nk, one of them 0: nothing to see. */
static void nothing_to_see(struct fa_field_case *field, int64_t sizes)
{
    start(field, make(field, sizes / 10, sizes % 10, 4));
}

static void no_batch(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 3, 3, d);
    problem.batch = 0;
    start(field, problem);
}

static void no_heads(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 3, 3, d);
    problem.heads = problem.kv_heads = 0;
    start(field, problem);
}

/* All n keys alike: the mean of V, and a natural logarithm. */
static void all_alike(struct fa_field_case *field, int64_t n)
{
    start(field, make(field, n, n, 3));
    for (int64_t row = 0; row < n; row++)
        expect_row(field, row, (double)(n - 1) / 2, log((double)n));
}

/* q and k_0 are 1 in the upper half of the columns only: a score of d - d/2. */
static void upper_half_of_columns(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 2, d));
    for (int64_t c = d / 2; c < d; c++) {
        put(&field->q, 0, 0, 0, c, 1);
        put(&field->k, 0, 0, 0, c, 1);
    }
    set_row(&field->v, 0, 1);
    set_row(&field->v, 1, 3);
    double score = (double)(d - d / 2);
    expect_row(field, 0, 1 + 2 / (exp(score) + 1), score + log1p(exp(-score)));
}

static void default_scale(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 1, 2, d);
    problem.scale = fa_problem_make(1, 2, d).scale;
    start(field, problem);
    set_row(&field->q, 0, .1);
    set_keys(field, 2, (double[]){1, 0}, (double[]){1, 0});
    double score = get(&field->q, 0, 0, 0, 0) * (double)d / sqrt((double)d);
    expect_row(field, 0, 1 / (1 + exp(-score)), log(1 + exp(score)));
}

/* Four query heads over two K/V heads, V of head g is g, in two batches: 10 more in the second. */
static void grouped_heads(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = make(field, n, n, 2);
    problem.batch = 2;
    problem.heads = 4;
    problem.kv_heads = 2;
    start(field, problem);
    fill(&field->lse, log((double)n));
    for (int64_t b = 0; b < 2; b++)
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < 2; c++) {
                for (int64_t h = 0; h < 2; h++)
                    put(&field->v, b, h, r, c, (double)(h + 10 * b));
                for (int64_t h = 0; h < 4; h++)
                    put(&field->o, b, h, r, c, (double)(h / 2 + 10 * b));
            }
}

static void two_masks_empty_a_row(struct fa_field_case *field, int64_t d)
{
    struct fa_problem problem = make(field, 2, 2, d);
    problem.causal = FA_CAUSAL_TOP_LEFT;
    start(field, problem);
    add_mask(field, 1);
    put(&field->mask, 0, 0, 0, 0, 0);
    expect_row(field, 1, .5, log(2));
}

/* Blocks of 64: rows of the first see block 0, of the second blocks 0 and 1, of the last none. */
static void empty_last_block(struct fa_field_case *field, int64_t n)
{
    start(field, make(field, n, n, 3));
    add_mask(field, 0);
    for (int64_t row = 0; row < 128; row++) {
        int64_t seen = row < 64 ? 64 : 128;
        for (int64_t key = 0; key < seen; key++)
            put(&field->mask, 0, 0, row, key, 1);
        expect_row(field, row, (double)(seen - 1) / 2, log((double)seen));
    }
}

/* The sum of V before normalising is past the largest f16. */
static void long_sum(struct fa_field_case *field, int64_t nk)
{
    start(field, make(field, 1, nk, 1));
    fill(&field->v, 2);
    expect_row(field, 0, 2, log((double)nk));
}

static void single_element(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 1, d));
    set_row(&field->q, 0, .5);
    set_row(&field->k, 0, 1);
    set_row(&field->v, 0, -3);
    expect_row(field, 0, -3, (double)d / 2);
}

/* Rows of NaN lie behind the last key. */
static void poisoned_tail(struct fa_field_case *field, int64_t n)
{
    int64_t held = (n / 64 + 1) * 64;
    start(field, make(field, n, held, 3));
    for (int64_t row = n; row < held; row++) {
        set_row(&field->k, row, NAN);
        set_row(&field->v, row, NAN);
    }
    field->problem.nk = field->k.shape[2] = field->v.shape[2] = n;
    for (int64_t row = 0; row < n; row++)
        expect_row(field, row, (double)(n - 1) / 2, log((double)n));
}

static void one_key_each(struct fa_field_case *field, int64_t n)
{
    start(field, make(field, n, n, n));
    fill(&field->v, 0);
    for (int64_t i = 0; i < n; i++) {
        put(&field->q, 0, 0, i, i, 100);
        put(&field->k, 0, 0, i, i, 100);
        put(&field->v, 0, 0, i, i, 1);
        put(&field->o, 0, 0, i, i, 1);
        put(&field->lse, 0, 0, i, 0, 10000);
    }
}

/* A bias of -inf hides its key like a mask, NaN in its V row included; alone it empties a row. */
static void infinite_bias_hides(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 2, 3, d));
    add_bias(field, 0);
    set_row(&field->v, 2, NAN);
    for (int64_t key = 0; key < 3; key++)
        put(&field->bias, 0, 0, 0, key, -INFINITY);
    put(&field->bias, 0, 0, 1, 2, -INFINITY);
    expect_row(field, 1, .5, log(2));
}

/* A NaN bias counts where its key is visible only. */
static void nan_bias(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 2, 2, d));
    add_bias(field, 0);
    add_mask(field, 1);
    put(&field->bias, 0, 0, 0, 1, NAN);
    put(&field->bias, 0, 0, 1, 1, NAN);
    put(&field->mask, 0, 0, 1, 1, 0);
    expect_row(field, 0, NAN, NAN);
    expect_row(field, 1, 0, 0);
}

/* inf - inf: a score of +inf makes its row NaN. */
static void infinite_score(struct fa_field_case *field, int64_t d)
{
    start(field, make(field, 1, 2, d));
    add_bias(field, 0);
    put(&field->bias, 0, 0, 0, 1, INFINITY);
    expect_row(field, 0, NAN, NAN);
}

/* A NaN in V stays in its column, and does not touch the LSE. */
static void nan_in_v(struct fa_field_case *field, int64_t dv)
{
    struct fa_problem problem = make(field, 1, 3, 2);
    problem.dv = dv;
    start(field, problem);
    expect_row(field, 0, 1, log(3));
    put(&field->v, 0, 0, 1, 1, NAN);
    put(&field->o, 0, 0, 0, 1, NAN);
}

/* dv other than d; scores ln 1, ln 2, ... come from the bias, so the weights are 1, 2, ... */
static void width_of_v(struct fa_field_case *field, int64_t dv)
{
    struct fa_problem problem = make(field, 2, 4, 3);
    problem.dv = dv;
    start(field, problem);
    create(&field->bias, problem.dtype, 1, 1, 1, 4, 0); /* One row for all queries. */
    field->problem.bias = &field->bias;
    double sum = 0, mean = 0;
    for (int64_t key = 0; key < 4; key++) {
        put(&field->bias, 0, 0, 0, key, log((double)key + 1));
        double weight = exp(get(&field->bias, 0, 0, 0, key));
        sum += weight;
        mean += weight * (double)key;
    }
    for (int64_t row = 0; row < 2; row++)
        expect_row(field, row, mean / sum, log(sum));
}

/* Mask and bias of one column, a mask for each batch, a bias for each head. */
static void broadcast_axes(struct fa_field_case *field, int64_t n)
{
    struct fa_problem problem = make(field, n, 2, 1);
    problem.batch = problem.heads = 2;
    problem.kv_heads = 1;
    start(field, problem);
    create(&field->mask, FA_U8, 2, 1, 1, 2, 1);
    create(&field->bias, problem.dtype, 1, 2, n, 1, 0);
    field->problem.mask = &field->mask;
    field->problem.bias = &field->bias;
    put(&field->mask, 1, 0, 0, 0, 0); /* The second batch sees key 1 only. */
    for (int64_t h = 0; h < 2; h++)
        for (int64_t r = 0; r < n; r++) {
            double bias = (double)(h * 8 + r);
            put(&field->bias, 0, h, r, 0, bias);
            put(&field->o, 0, h, r, 0, .5);
            put(&field->lse, 0, h, r, 0, bias + log(2));
            put(&field->o, 1, h, r, 0, 1);
            put(&field->lse, 1, h, r, 0, bias);
        }
}

/* A mask of one column hides whole rows. */
static void mask_of_one_column(struct fa_field_case *field, int64_t n)
{
    start(field, make(field, n, n, 2));
    create(&field->mask, FA_U8, 1, 1, n, 1, 0);
    field->problem.mask = &field->mask;
    for (int64_t row = 0; row < n; row += 2) {
        put(&field->mask, 0, 0, row, 0, 1);
        expect_row(field, row, (double)(n - 1) / 2, log((double)n));
    }
}

static const struct {
    const char *name;
    build_function *build;
    int64_t argument;
    unsigned without; /* one bit a dtype that cannot hold the numbers */
} cases[] = {
    {"leading tiles are all hidden", leading_tiles_hidden, 4, 1u << FA_BF16},
    {"the only visible score is -20000", very_low_score_wins, 1, 0},
    {"one key at a large negative score", large_negative_score, 128, 0},
    {"every bias is -FLT_MAX", lowest_finite_bias, 1, 1u << FA_F16 | 1u << FA_BF16},
    {"five queries, two keys, causal", more_queries_than_keys, 1, 0},
    {"the diagonal cuts several tiles", diagonal_through_tiles, 192, 0},
    {"one query, bottom-right", one_query_causal, FA_CAUSAL_BOTTOM_RIGHT, 0},
    {"one query, top-left", one_query_causal, FA_CAUSAL_TOP_LEFT, 0},
    {"NaN and infinity behind a mask", hidden_nan, 1, 0},
    {"NaN and infinity behind a mask, d = 9", hidden_nan, 9, 0},
    {"a visible NaN first", visible_nan, 0, 0},
    {"a visible NaN last", visible_nan, 2, 0},
    {"only a NaN is visible", only_nan_visible, 1, 0},
    {"window of one key to the left", window_left_one, 3, 0},
    {"a window that binds nothing under causal", window_wider_than_causal, 10, 0},
    {"a window of 2^63 - 1 under causal", window_wider_than_causal, INT64_MAX, 0},
    {"a window alone is bottom-right", window_alignment, FA_CAUSAL_NONE, 0},
    {"a window under top-left causal", window_alignment, FA_CAUSAL_TOP_LEFT, 0},
    {"a right bound before the first key", window_before_first_key, 0, 0},
    {"a right bound that reaches back", window_before_first_key, 1, 0},
    {"a right bound past all", window_before_first_key, 5, 0},
    {"bounds of 2^63 - 1, more queries", largest_window, 52, 0},
    {"bounds of 2^63 - 1, more keys", largest_window, 25, 0},
    {"scale 0", scale_zero, 2, 0},
    {"a negative scale", scale_negative, 1, 0},
    {"three queries, no key", nothing_to_see, 30, 0},
    {"no query, five keys", nothing_to_see, 5, 0},
    {"no query, no key", nothing_to_see, 0, 0},
    {"a batch of 0", no_batch, 2, 0},
    {"no heads", no_heads, 2, 0},
    {"N = 1", all_alike, 1, 0},
    {"N = 2", all_alike, 2, 0},
    {"N = 31", all_alike, 31, 0},
    {"N = 32", all_alike, 32, 0},
    {"N = 33", all_alike, 33, 0},
    {"N = 192, padding is no key", all_alike, 192, 0},
    {"d = 1", upper_half_of_columns, 1, 0},
    {"d = 3", upper_half_of_columns, 3, 0},
    {"d = 63", upper_half_of_columns, 63, 0},
    {"d = 64", upper_half_of_columns, 64, 0},
    {"d = 80", upper_half_of_columns, 80, 0},
    {"d = 96", upper_half_of_columns, 96, 0},
    {"d = 128", upper_half_of_columns, 128, 0},
    {"d = 160", upper_half_of_columns, 160, 0},
    {"d = 256", upper_half_of_columns, 256, 0},
    {"the default scale is of d = 80", default_scale, 80, 0},
    {"four heads over two", grouped_heads, 3, 0},
    {"two masks empty a row", two_masks_empty_a_row, 1, 0},
    {"an empty last block", empty_last_block, 130, 0},
    {"65536 keys, V = 2", long_sum, 65536, 0},
    {"one query, one key", single_element, 16, 0},
    {"NaN behind the last key", poisoned_tail, 65, 0},
    {"each query has one key", one_key_each, 64, 0},
    {"a bias of -inf hides", infinite_bias_hides, 2, 0},
    {"a NaN bias", nan_bias, 2, 0},
    {"a score of +inf", infinite_score, 2, 0},
    {"a NaN in V", nan_in_v, 3, 0},
    {"dv = 1", width_of_v, 1, 0},
    {"dv = 13", width_of_v, 13, 0},
    {"broadcast mask and bias", broadcast_axes, 5, 0},
    {"a mask of one column", mask_of_one_column, 5, 0},
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
