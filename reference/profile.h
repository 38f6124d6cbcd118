/*
 * Seeded inputs. A value depends on (seed, tensor, position) alone (peaky, equal, rising, falling:
 * on the problem too), through Philox4x32-10, so it is the same in any order of filling, with any
 * strides and any number of threads. On another machine it is the same but for the last place of
 * a double where the C library's log and cos enter (gauss, peaky, outliers).
 *
 *   gauss     N(0, 1)
 *   uniform   uniform in [-1, 1), with 53 bits (a narrower format may round to 1)
 *   peaky     each query has two keys that dominate its row; row j of V encodes j, so that a
 *             skipped tile, a missing rescale or a missing softmax shows in O
 *   outliers  N(0, 1) + N(0, 100) Bernoulli(0.001): FlashAttention-3, section 4.3
 *   equal     all scores equal 16, V = 1: every row of O is 1
 *   rising    scores that rise with the key by the same step, V = 1
 *   falling   scores that fall with the key by the same step, V = 1
 *   tidy      multiples of 1/2 from -2 to 2: numbers that can be followed by hand
 *
 * The random words of an element: key = seed; counter = (low and high word of the element's index
 * in its tensor's shape in row-major order, tensor 0 1 2 for q k v, stream). Stream 0 makes
 *   uniform   2 u - 1, where u is the first two words, the first one high, cut to 53 bits, by 2^53
 *   gauss     sqrt(-2 log(1 - u)) cos(2 pi w), where w is made of the last two words like u
 *   tidy      (floor(9 first word / 2^32) - 4) / 2
 * and for outliers stream 1's u < 0.001 adds ten times the gauss value of stream 2.
 * The gradient dO is gauss in each profile, as tensor 4.
 *
 * peaky. k is gauss. Query row r has two peaks a and b: keys that stream 3 draws, at r's own index
 * among the query rows, from those that the causal mask and the window leave to r (from all keys,
 * if they leave none; masks and biases are not looked at). Then
 *   q[r] = T / (s d) (k[a] + 15/16 k[b]) + gauss / (2 |s| sqrt(d)),    T = 8 + ln nk
 * so that the peaks' scores are near T whatever d and nk are, and the others' near 0 if d is large
 * (for d of a few, the keys farthest out along q dominate instead). And column c of V's row j, in
 * the K/V head with index g over batch and heads, is
 *   (-1)^(c + g) (1 + ((c + 3 g) mod 8) / 8) (j + 1) / nk
 * which differs for each j in every column (as far as the format tells nk numbers apart).
 *
 * equal, rising, falling. k holds a whole number x_j of key j, in digits x_j,i of base 256 from
 * the lowest on, in as many columns as the largest x has digits (at most 4, and at most d: then
 * the last one takes the rest), and 0 after them, where q is 0 too:
 *   k[j][i] = x_j,i / 16,    q[r][i] = 16 256^i step / s,    so scale q.k = step x_j
 * with x_j = j, and nk - 1 - j for falling, and step the power of two nearest to 16 / (nk - 1): in
 * all, scores go from 0 up to between 11.3 and 22.7 (nk > 1), at any scale. If s is a power of two
 * that is exact; if not, q is rounded, and the steps are equal but for that. Only if d is 1 and nk
 * above 256 for bf16, 2048 for f16, 2^24 for f32 (d = 2: 256 times as many) is k rounded, so that
 * neighbours may tie; and in f16 with d = 1, k is infinite from key 2^20 on.
 * For equal, x_j = 1 and step = 16: all scores are the same in every bit.
 *
 * s is scale. A scale of 0 makes all scores 0: there s is 1. To keep q finite |s| is at least 2^-6
 * for f16 and 2^-90 for others, so that below these the scores are smaller than said here; for
 * a large scale in f16, parts of q that fall below 2^-24 vanish, and scores then rise in stairs.
 */
#ifndef FA_PROFILE_H
#define FA_PROFILE_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fa_profile {
    FA_PROFILE_GAUSS,
    FA_PROFILE_UNIFORM,
    FA_PROFILE_PEAKY,
    FA_PROFILE_OUTLIERS,
    FA_PROFILE_EQUAL,
    FA_PROFILE_RISING,
    FA_PROFILE_FALLING,
    FA_PROFILE_TIDY,
    FA_PROFILE_COUNT
};

const char *fa_profile_name(enum fa_profile profile);

/* False, *out untouched, for a text that is no profile's name. */
bool fa_profile_parse(const char *text, enum fa_profile *out);

/*
 * Fills q, k, v (shapes as in problem.h, any strides, any float format: rounded once to it). A
 * tensor without data is left out.
 * Needs: a problem that fa_problem_check accepts.
 */
void fa_profile_fill(enum fa_profile profile, uint64_t seed, const struct fa_problem *problem,
                     const struct fa_tensor *q, const struct fa_tensor *k,
                     const struct fa_tensor *v);

/* Fills dout (the shape of o in problem.h; any strides, any float format) with N(0, 1) by the seed:
 * a gradient to start a backward pass from. A tensor without data is left out. */
void fa_profile_fill_dout(uint64_t seed, const struct fa_problem *problem,
                          const struct fa_tensor *dout);

#ifdef __cplusplus
}
#endif
#endif
