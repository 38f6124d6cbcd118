/*
 * The precision lab: attention in which the format of each quantity is chosen, emulated in
 * software, and its error against the double oracle. No mask, no bias, one head at a time, dv = d.
 *
 *     S = Q K^T          each product added to a sum of format accumulate[0], over d in order
 *     S, tau S           rounded to `scores` twice: as it is, and after the factor tau = 1/sqrt(d)
 *     m, l, exp(S - m)   in f32; in f64 where either accumulator is f64
 *     P                  rounded to `weights`, multiplied by weight_scale before and divided after
 *     O = P V            each product added to a sum of format accumulate[1], over keys in order
 *     O                  rounded to `output`
 *
 * FA_STANDARD_ORDER: m and l of the whole row first, P = exp(S - m) / l is rounded and O is one sum
 * over all keys. FA_FLASH_ORDER: tiles of `tile` keys; P = exp(S - m) with the m so far is rounded,
 * l sums it unrounded, O exp(m_old - m_new) is rounded to accumulate[1] before the tile's products
 * are added to it, and the last O is divided by l.
 *
 * An f32 or f64 sum of factors that are not wider takes them as they are, one multiply and one add
 * (which may be fused). All others are formed in double and rounded after each addition.
 *
 * Inputs. With `hadamard`, each row x of Q and K becomes H diag(signs) x / sqrt(d), H the Hadamard
 * matrix of d (a power of two) and signs drawn by the seed, one set a head: an orthogonal matrix,
 * so Q K^T stays what it was, while an outlier is spread over all columns. Then each of Q, K, V is
 * rounded to its format. One of 8 bits may be scaled first, FA_SCALE_TENSOR by one factor or
 * FA_SCALE_BLOCK by one for each scale_rows rows: the block's largest magnitude becomes the
 * format's largest value. The factor itself is a double, and is taken out again after rounding (for
 * f32 sums the product is rounded to f32: 2^-24, where e4m3 has 2^-4). All conversions to 8 bits
 * saturate, as those of GPUs do.
 *
 * Source of the setting: Shah et al., FlashAttention-3, arXiv 2407.08608, sections 3.3 and 4.3.
 */
#ifndef FA_PRECISION_H
#define FA_PRECISION_H

#include <stddef.h>

#include "reference/algorithm.h"
#include "reference/compare.h"
#include "reference/profile.h"
#include "reference/small_float.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fa_precision_order { FA_STANDARD_ORDER, FA_FLASH_ORDER };
enum fa_precision_scale { FA_SCALE_NONE, FA_SCALE_TENSOR, FA_SCALE_BLOCK };

struct fa_precision_recipe {
    enum fa_format inputs[3];     /* q, k, v */
    enum fa_format scores;        /* S */
    enum fa_format weights;       /* P */
    enum fa_format accumulate[2]; /* the sums of S and of O */
    enum fa_format output;        /* O */
    enum fa_precision_order order;
    enum fa_precision_scale scale; /* of inputs of 8 bits: others are never scaled */
    int64_t scale_rows;            /* of FA_SCALE_BLOCK: 1 or more */
    bool hadamard;
    double weight_scale; /* finite, above 0 */
    int64_t tile;        /* keys of a tile of the flash order: 1 or more */
};

/* All f32, flash, no scale, weight_scale 1, tiles of 128. */
extern const struct fa_precision_recipe fa_precision_default;

/*
 * Refuses formats, orders and scales that are none, a scale without an input of 8 bits, a rotation
 * where d is no power of two, and numbers outside the domains above. FA_BAD_ARGUMENT.
 */
enum fa_status fa_precision_check(const struct fa_precision_recipe *recipe, int64_t d,
                                  struct fa_error *error);

/*
 * Rotates and rounds q, k, v [n, d] of one head in place, as said above; `head` and `seed` choose
 * the signs. A tensor that is NULL is left out. Needs: a recipe that fa_precision_check accepts.
 */
void fa_precision_round_inputs(const struct fa_precision_recipe *recipe, uint64_t seed,
                               int64_t head, int64_t n, int64_t d, double *q, double *k,
                               double *v);

/*
 * O of the rows `rows[n_rows]` of one head, by the recipe, from q, k, v [n, d] that were rounded by
 * fa_precision_round_inputs. Shape: o[n_rows * d]. Needs: a recipe that fa_precision_check accepts,
 * n >= 1, every row in 0 .. n - 1. Errors: FA_NO_MEMORY.
 */
enum fa_status fa_precision_rows(const struct fa_precision_recipe *recipe, int64_t n, int64_t d,
                                 const double *q, const double *k, const double *v,
                                 const int64_t *rows, int64_t n_rows, double *o,
                                 struct fa_error *error);

/*
 * A measurement: head h has the inputs of the profile's problem of one head (n queries and keys of
 * size d, f64) with the seed `seed` + h 2^32, and its rows i n / rows for i from 0 on are compared.
 */
struct fa_precision_case {
    int64_t n, d, heads; /* 1 or more */
    int64_t rows;        /* of a head: 1 .. n */
    enum fa_profile profile;
    uint64_t seed;
    int threads;                  /* 1 or more; a thread works on a head */
    const struct fa_watch *watch; /* may be NULL; called by one thread at a time */
};

/* The oracle's inputs: as drawn, so that all roundings count, or as rounded, so that only what
 * attention itself adds is seen. */
enum fa_reference { FA_REFERENCE_UNROUNDED, FA_REFERENCE_ROUNDED, FA_REFERENCE_COUNT };

/* O against the oracle on one kind of inputs, over all heads. */
struct fa_precision_error {
    struct fa_comparison o;
    double rmse;           /* root mean square error; INFINITY if O or the oracle is not finite */
    double standard_error; /* of rmse, from how the heads' mean squares differ; 0 for one head */
};

/* Bytes of memory that one thread needs for the case, about. */
double fa_precision_bytes(const struct fa_precision_case *setting);

/*
 * The errors of each of recipes[n] on the same inputs: errors[n] by recipe and reference, of which
 * those with `wanted` are computed and the others all zero. Neighbouring recipes that round the
 * inputs alike share that work, and equal ones all of it.
 * Errors: those of fa_precision_check; FA_BAD_ARGUMENT for a case outside its domain, FA_TOO_LARGE,
 * FA_NO_MEMORY, FA_CANCELLED. errors[n] is untouched then.
 */
enum fa_status fa_precision_measure(const struct fa_precision_case *setting,
                                    const struct fa_precision_recipe *recipes, int n,
                                    const bool wanted[FA_REFERENCE_COUNT],
                                    struct fa_precision_error (*errors)[FA_REFERENCE_COUNT],
                                    struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
