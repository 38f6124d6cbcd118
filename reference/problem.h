/*
 * One attention problem: shapes, scale, and which query sees which key.
 *
 *     O = softmax(scale * Q K^T + bias, masked) V,    LSE = log sum exp of a row's visible scores
 *
 * Shapes: q [batch, heads, nq, d], k [batch, kv_heads, nk, d], v [batch, kv_heads, nk, dv],
 * o [batch, heads, nq, dv], lse [batch, heads, nq, 1]. Query head h reads K/V head
 * h / (heads / kv_heads). Order of things: scale, then bias, then mask, then maximum.
 *
 * Query r stands on the diagonal at key r (top-left) or r + nk - nq (bottom-right, the default,
 * also for a window without a causal mask). Causal hides the keys past the diagonal; a window
 * keeps `window_left` keys before it and `window_right` after it, both inclusive, and -1 means
 * without a bound. A key whose score is -inf is hidden like a masked one. A row that sees no key
 * is empty: O = 0, LSE = -inf.
 */
#ifndef FA_PROBLEM_H
#define FA_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fa_causal { FA_CAUSAL_NONE, FA_CAUSAL_BOTTOM_RIGHT, FA_CAUSAL_TOP_LEFT };

struct fa_problem {
    int64_t batch, heads, kv_heads; /* 0 or more; heads a multiple of kv_heads */
    int64_t nq, nk;                 /* 0 or more */
    int64_t d, dv;                  /* 1 or more */
    double scale;                   /* any finite number, 0 and negative ones too */
    enum fa_causal causal;
    int64_t window_left, window_right; /* -1: unbounded */
    const struct fa_tensor *mask;      /* u8, 1 = may be attended; NULL: none */
    const struct fa_tensor *bias;      /* any float format; added after scaling; NULL: none */
    enum fa_dtype dtype;               /* storage of q k v o s p; f16, bf16 accumulate in f32 */
};

/* batch = heads = kv_heads = 1, dv = d, scale = 1/sqrt(d), no mask, f32. */
struct fa_problem fa_problem_make(int64_t nq, int64_t nk, int64_t d);

/*
 * Refuses what the struct's comments exclude, a mask or bias whose axes are neither 1 nor the
 * problem's, and shapes whose index products pass 2^63 - 1.
 * Errors: FA_BAD_ARGUMENT, FA_TOO_LARGE.
 */
enum fa_status fa_problem_check(const struct fa_problem *problem, struct fa_error *error);

const char *fa_causal_name(enum fa_causal causal); /* "none", "bottom-right", "top-left" */

/* The head of `tensor` that query head `head` of the problem reads: its own, its group's or the
 * only one. The batch index likewise. */
int64_t fa_problem_head(const struct fa_problem *problem, const struct fa_tensor *tensor,
                        int64_t head);
int64_t fa_problem_batch(const struct fa_tensor *tensor, int64_t batch);

#ifdef __cplusplus
}
#endif
#endif
