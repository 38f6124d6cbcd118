#include "reference/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "reference/philox.h"

/* 3 draws the masks of `flashlab generate`. */
enum tensor_id { TENSOR_Q, TENSOR_K, TENSOR_V, TENSOR_DO = 4 };
enum stream { STREAM_VALUE, STREAM_CHANCE, STREAM_OUTLIER, STREAM_PEAKS };
enum { DIGITS_MAX = 4, DIGIT_BITS = 8 };

static const double pi = 3.14159265358979323846;

static const char *const names[FA_PROFILE_COUNT] = {
    [FA_PROFILE_GAUSS] = "gauss",     [FA_PROFILE_UNIFORM] = "uniform",
    [FA_PROFILE_PEAKY] = "peaky",     [FA_PROFILE_OUTLIERS] = "outliers",
    [FA_PROFILE_EQUAL] = "equal",     [FA_PROFILE_RISING] = "rising",
    [FA_PROFILE_FALLING] = "falling", [FA_PROFILE_TIDY] = "tidy",
};

const char *fa_profile_name(enum fa_profile profile)
{
    assert((unsigned)profile < FA_PROFILE_COUNT);
    return names[profile];
}

bool fa_profile_parse(const char *text, enum fa_profile *out)
{
    for (int profile = 0; profile < FA_PROFILE_COUNT; profile++) {
        if (strcmp(text, names[profile]) == 0) {
            *out = (enum fa_profile)profile;
            return true;
        }
    }
    return false;
}

/* What all elements of one filling share, and where it stands. */
struct filling {
    enum fa_profile profile;
    uint64_t seed;
    const struct fa_problem *problem;
    double scale; /* the s of profile.h */
    double step;  /* of equal, rising, falling */
    int64_t head; /* the K/V head of the row, over batch and heads */
    int64_t row;
    int64_t peaks[2]; /* of a peaky query */
};

static void draw(const struct filling *filling, enum tensor_id tensor, int64_t index,
                 enum stream stream, uint32_t words[4])
{
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)((uint64_t)index >> 32), tensor, stream};
    fa_philox4x32(filling->seed, counter, words);
}

/* In [0, 1): each multiple of 2^-53 as likely as any other. */
static double unit(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

static double draw_gauss(const struct filling *filling, enum tensor_id tensor, int64_t index,
                         enum stream stream)
{
    uint32_t words[4];
    draw(filling, tensor, index, stream, words);
    /* 1 - u is exact, and never 0. */
    double radius = sqrt(-2 * log(1 - unit(words[0], words[1])));
    return radius * cos(2 * pi * unit(words[2], words[3]));
}

static double draw_outlier(const struct filling *filling, enum tensor_id tensor, int64_t index)
{
    uint32_t words[4];
    double value = draw_gauss(filling, tensor, index, STREAM_VALUE);
    draw(filling, tensor, index, STREAM_CHANCE, words);
    if (unit(words[0], words[1]) < 0.001)
        value += 10 * draw_gauss(filling, tensor, index, STREAM_OUTLIER);
    return value;
}

/* The keys first .. last that the causal mask and the window leave to a row, or all of them. */
static void find_reach(const struct fa_problem *problem, int64_t row, int64_t *first, int64_t *last)
{
    bool top_left = problem->causal == FA_CAUSAL_TOP_LEFT;
    int64_t diagonal = top_left ? row : row + problem->nk - problem->nq;
    *first = 0;
    *last = problem->nk - 1;
    if (problem->causal != FA_CAUSAL_NONE && diagonal < *last)
        *last = diagonal;
    /* Compared before it is added: a window may be as wide as an int64_t goes. */
    if (problem->window_right >= 0 && problem->window_right < *last - diagonal)
        *last = diagonal + problem->window_right;
    if (problem->window_left >= 0 && problem->window_left < diagonal)
        *first = diagonal - problem->window_left;
    if (*first > *last) {
        *first = 0;
        *last = problem->nk - 1;
    }
}

static int64_t pick(double chance, int64_t first, int64_t last)
{
    int64_t picked = first + (int64_t)(chance * (double)(last - first + 1));
    return picked < last ? picked : last;
}

/* Draws the peaks of the query row whose index among all query rows is row_index. Without keys
 * they are -1, and not used. */
static void find_peaks(struct filling *filling, int64_t row_index)
{
    uint32_t words[4];
    int64_t first, last;
    find_reach(filling->problem, filling->row, &first, &last);
    draw(filling, TENSOR_Q, row_index, STREAM_PEAKS, words);
    filling->peaks[0] = pick(unit(words[0], words[1]), first, last);
    filling->peaks[1] = pick(unit(words[2], words[3]), first, last);
}

static double peaky_query(const struct filling *filling, int64_t index, int64_t column)
{
    const struct fa_problem *problem = filling->problem;
    double d = (double)problem->d, peak = 0;
    if (problem->nk > 0) {
        int64_t key = filling->head * problem->nk * problem->d + column;
        double top = 8 + log((double)problem->nk);
        peak = draw_gauss(filling, TENSOR_K, key + filling->peaks[0] * problem->d, STREAM_VALUE);
        peak += 0.9375 * draw_gauss(filling, TENSOR_K, key + filling->peaks[1] * problem->d,
                                    STREAM_VALUE);
        peak *= top / (filling->scale * d);
    }
    return peak + draw_gauss(filling, TENSOR_Q, index, STREAM_VALUE) /
                      (2 * fabs(filling->scale) * sqrt(d));
}

static double coded_value(const struct filling *filling, int64_t column)
{
    int64_t head = filling->head;
    double sign = (column ^ head) & 1 ? -1 : 1;
    double size = 1 + (double)((column % 8 + 3 * (head % 8)) % 8) / 8;
    return sign * size * (double)(filling->row + 1) / (double)filling->problem->nk;
}

static double peaky(const struct filling *filling, enum tensor_id tensor, int64_t index,
                    int64_t column)
{
    if (tensor == TENSOR_Q)
        return peaky_query(filling, index, column);
    if (tensor == TENSOR_K)
        return draw_gauss(filling, TENSOR_K, index, STREAM_VALUE);
    return coded_value(filling, column);
}

/* One column a digit of the largest x, but not more than d: then the last one takes the rest. */
static int64_t digit_columns(const struct filling *filling)
{
    const struct fa_problem *problem = filling->problem;
    int64_t largest = filling->profile == FA_PROFILE_EQUAL ? 1 : problem->nk - 1, columns = 1;
    while (columns < problem->d && columns < DIGITS_MAX && largest >> (DIGIT_BITS * columns) > 0)
        columns++;
    return columns;
}

static double straight(const struct filling *filling, enum tensor_id tensor, int64_t column)
{
    const struct fa_problem *problem = filling->problem;
    if (tensor == TENSOR_V)
        return 1;
    int64_t columns = digit_columns(filling);
    if (column >= columns)
        return 0;
    int shift = DIGIT_BITS * (int)column;
    if (tensor == TENSOR_Q)
        return ldexp(16 * filling->step, shift) / filling->scale;
    int64_t x = filling->row;
    if (filling->profile == FA_PROFILE_EQUAL)
        x = 1;
    else if (filling->profile == FA_PROFILE_FALLING)
        x = problem->nk - 1 - filling->row;
    x >>= shift;
    if (column < columns - 1)
        x &= (1 << DIGIT_BITS) - 1;
    return (double)x / 16;
}

static double element(const struct filling *filling, enum tensor_id tensor, int64_t index,
                      int64_t column)
{
    uint32_t words[4];
    switch (filling->profile) {
    case FA_PROFILE_GAUSS:
        return draw_gauss(filling, tensor, index, STREAM_VALUE);
    case FA_PROFILE_UNIFORM:
        draw(filling, tensor, index, STREAM_VALUE, words);
        return 2 * unit(words[0], words[1]) - 1;
    case FA_PROFILE_PEAKY:
        return peaky(filling, tensor, index, column);
    case FA_PROFILE_OUTLIERS:
        return draw_outlier(filling, tensor, index);
    case FA_PROFILE_TIDY:
        draw(filling, tensor, index, STREAM_VALUE, words);
        return ((double)((uint64_t)words[0] * 9 >> 32) - 4) / 2;
    default:
        return straight(filling, tensor, column);
    }
}

static void fill_tensor(struct filling *filling, enum tensor_id id, const struct fa_tensor *tensor)
{
    const int64_t *shape = tensor->shape;
    const struct fa_problem *problem = filling->problem;
    int64_t group = 1, index = 0;
    if (!tensor->data)
        return;
    if (id == TENSOR_Q && problem->kv_heads > 0)
        group = problem->heads / problem->kv_heads;
    for (int64_t batch = 0; batch < shape[0]; batch++) {
        for (int64_t head = 0; head < shape[1]; head++) {
            filling->head = batch * problem->kv_heads + head / group;
            for (int64_t row = 0; row < shape[2]; row++) {
                filling->row = row;
                if (filling->profile == FA_PROFILE_PEAKY && id == TENSOR_Q)
                    find_peaks(filling, (batch * shape[1] + head) * shape[2] + row);
                for (int64_t column = 0; column < shape[3]; column++, index++)
                    fa_tensor_set(tensor, batch, head, row, column,
                                  element(filling, id, index, column));
            }
        }
    }
}

/* The s of profile.h for a query of this format. */
static double usable_scale(double scale, enum fa_dtype dtype)
{
    double least = dtype == FA_F16 ? 0x1p-6 : 0x1p-90;
    if (scale == 0)
        return 1;
    return fabs(scale) < least ? copysign(least, scale) : scale;
}

/* The power of two nearest, by ratio, to 16 / (nk - 1). */
static double straight_step(enum fa_profile profile, int64_t nk)
{
    int exponent;
    if (profile == FA_PROFILE_EQUAL || nk < 2)
        return 16;
    double fraction = frexp(16 / (double)(nk - 1), &exponent);
    return ldexp(1, fraction > sqrt(0.5) ? exponent : exponent - 1);
}

void fa_profile_fill(enum fa_profile profile, uint64_t seed, const struct fa_problem *problem,
                     const struct fa_tensor *q, const struct fa_tensor *k,
                     const struct fa_tensor *v)
{
    assert((unsigned)profile < FA_PROFILE_COUNT);
    struct filling filling = {.profile = profile, .seed = seed, .problem = problem};
    filling.scale = usable_scale(problem->scale, q->dtype);
    filling.step = straight_step(profile, problem->nk);
    fill_tensor(&filling, TENSOR_Q, q);
    fill_tensor(&filling, TENSOR_K, k);
    fill_tensor(&filling, TENSOR_V, v);
}

void fa_profile_fill_dout(uint64_t seed, const struct fa_problem *problem,
                          const struct fa_tensor *dout)
{
    struct filling filling = {.profile = FA_PROFILE_GAUSS, .seed = seed, .problem = problem};
    fill_tensor(&filling, TENSOR_DO, dout);
}
