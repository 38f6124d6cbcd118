#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/profile.h"
#include "tests/forward_pass.h"
#include "tests/random_case.h"

uint64_t random_bits(struct random_stream *stream)
{
    uint64_t z = stream->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int64_t random_between(struct random_stream *stream, int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits(stream) % (uint64_t)(high - low + 1));
}

bool random_once_in(struct random_stream *stream, int64_t n)
{
    return random_between(stream, 1, n) == 1;
}

double random_unit(struct random_stream *stream)
{
    return (double)(random_bits(stream) >> 11) * 0x1p-53;
}

static int64_t pick_side(struct random_stream *stream)
{
    if (random_once_in(stream, 20))
        return 0;
    return random_once_in(stream, 6) ? random_between(stream, 40, 75)
                                     : random_between(stream, 1, 24);
}

static int64_t pick_window(struct random_stream *stream)
{
    switch (random_between(stream, 0, 6)) {
    case 0:
        return INT64_MAX;
    case 1:
        return 0;
    case 2:
    case 3:
        return random_between(stream, 1, 12);
    default:
        return -1;
    }
}

static void pick_problem(struct random_stream *stream, struct fa_problem *p, enum fa_dtype dtype)
{
    static const int64_t widths[] = {1, 2, 3, 5, 8, 13, 16, 17, 33, 64};
    int64_t nq = pick_side(stream);
    int64_t nk = random_once_in(stream, 3) ? nq : pick_side(stream);
    *p = fa_problem_make(nq, nk, widths[random_between(stream, 0, 9)]);
    if (random_once_in(stream, 2))
        p->dv = widths[random_between(stream, 0, 9)];
    p->dtype = dtype;
    p->batch = random_once_in(stream, 25) ? 0 : random_between(stream, 1, 2);
    p->kv_heads = random_between(stream, 1, 2);
    p->heads = p->kv_heads * random_between(stream, 1, 3);
    p->causal = (enum fa_causal)random_between(stream, 0, 2);
    if (random_once_in(stream, 2)) {
        p->window_left = pick_window(stream);
        p->window_right = pick_window(stream);
    }
    if (random_once_in(stream, 8))
        p->scale = 0;
    else if (random_once_in(stream, 3))
        p->scale *= -1.5 * random_unit(stream);
}

static void create(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t batch, int64_t heads,
                   int64_t rows, int64_t columns)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    assert_int_equal(fa_tensor_create(tensor, dtype, shape, NULL), FA_OK);
}

/* A mask or bias, each axis of which is 1 now and then, for a value drawn element by element. */
static void create_modifier(struct random_stream *stream, struct fa_tensor *tensor,
                            enum fa_dtype dtype, const struct fa_problem *p)
{
    create(tensor, dtype, random_once_in(stream, 2) ? 1 : p->batch,
           random_once_in(stream, 2) ? 1 : p->heads, random_once_in(stream, 4) ? 1 : p->nq,
           random_once_in(stream, 4) ? 1 : p->nk);
}

typedef double draw_function(struct random_stream *stream, int64_t row, double share);

/* A share of ones; one row in five hides all. */
static double draw_mask(struct random_stream *stream, int64_t row, double share)
{
    return row % 5 != 3 && random_unit(stream) < share;
}

/* Within 2 of 0, and a share at -inf. */
static double draw_bias(struct random_stream *stream, int64_t row, double share)
{
    if (random_unit(stream) < share * (row % 7 == 2 ? 4 : 1))
        return -INFINITY;
    return 4 * random_unit(stream) - 2;
}

static void fill_modifier(struct random_stream *stream, const struct fa_tensor *tensor,
                          draw_function *draw, double share)
{
    for (int64_t b = 0; b < tensor->shape[0]; b++)
        for (int64_t h = 0; h < tensor->shape[1]; h++)
            for (int64_t r = 0; r < tensor->shape[2]; r++)
                for (int64_t c = 0; c < tensor->shape[3]; c++)
                    fa_tensor_set(tensor, b, h, r, c, draw(stream, r, share));
}

/* A few elements of a tensor become NaN or infinite. */
static void plant(struct random_stream *stream, const struct fa_tensor *tensor)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    const int64_t *n = tensor->shape;
    if (n[0] * n[1] * n[2] == 0)
        return;
    for (int64_t times = random_between(stream, 1, 3); times > 0; times--)
        fa_tensor_set(tensor, random_between(stream, 0, n[0] - 1),
                      random_between(stream, 0, n[1] - 1), random_between(stream, 0, n[2] - 1),
                      random_between(stream, 0, n[3] - 1), values[random_between(stream, 0, 2)]);
}

static void fill(struct random_stream *stream, struct attention_case *attention, bool plants)
{
    static const enum fa_profile profiles[] = {FA_PROFILE_GAUSS, FA_PROFILE_UNIFORM,
                                               FA_PROFILE_PEAKY, FA_PROFILE_TIDY,
                                               FA_PROFILE_OUTLIERS};
    struct fa_problem *p = &attention->problem;
    enum fa_profile profile = profiles[random_between(stream, 0, 4)];
    /* Where V holds an infinity no weight may vanish in 16 bits: 0 times infinity is NaN. */
    if (plants) {
        profile = FA_PROFILE_UNIFORM;
        p->scale = p->scale < 0 ? -0.5 : 0.5;
    }
    fa_profile_fill(profile, random_bits(stream), p, &attention->q, &attention->k, &attention->v);
    if (plants && random_once_in(stream, 3))
        plant(stream, &attention->q);
    if (plants && random_once_in(stream, 2))
        plant(stream, &attention->k);
    if (plants && random_once_in(stream, 2))
        plant(stream, &attention->v);
}

void random_case_make(struct attention_case *attention, uint64_t seed, enum fa_dtype dtype)
{
    struct random_stream stream = {seed * 1000003 + 17};
    struct fa_problem *p = &attention->problem;
    struct fa_error error = {FA_OK, ""};
    memset(attention, 0, sizeof *attention);
    snprintf(attention->name, sizeof attention->name, "random problem %" PRIu64, seed);
    pick_problem(&stream, p, dtype);
    create(&attention->q, dtype, p->batch, p->heads, p->nq, p->d);
    create(&attention->k, dtype, p->batch, p->kv_heads, p->nk, p->d);
    create(&attention->v, dtype, p->batch, p->kv_heads, p->nk, p->dv);
    if (random_once_in(&stream, 3)) {
        create_modifier(&stream, &attention->mask, FA_U8, p);
        fill_modifier(&stream, &attention->mask, draw_mask, random_unit(&stream));
        p->mask = &attention->mask;
    }
    if (random_once_in(&stream, 3)) {
        create_modifier(&stream, &attention->bias, dtype, p);
        fill_modifier(&stream, &attention->bias, draw_bias, random_once_in(&stream, 2) ? 0 : 0.2);
        p->bias = &attention->bias;
    }
    fill(&stream, attention, random_once_in(&stream, 3));
    if (random_once_in(&stream, 2)) {
        bool scatter = random_once_in(&stream, 2);
        attention_tensor_relayout(&attention->q, scatter);
        attention_tensor_relayout(&attention->k, scatter);
        attention_tensor_relayout(&attention->v, scatter);
    }
    if (p->bias && random_once_in(&stream, 2))
        attention_tensor_relayout(&attention->bias, random_once_in(&stream, 2));
    if (p->mask && random_once_in(&stream, 2))
        attention_tensor_relayout(&attention->mask, random_once_in(&stream, 2));
    if (fa_problem_check(p, &error) != FA_OK)
        fail_msg("%s: %s", attention->name, error.text);
    forward_case_answer(attention);
}
