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

/*
 * Dropout: with probability p a weight of P is dropped, after l was summed and before P V; those
 * kept are divided by 1 - p. Neither l nor LSE changes. p = 0 is no dropout to the bit, p = 1 drops
 * all and O is 0. Whether the weight (batch, head, row, column) is kept is a function of its place
 * and the 64-bit seed alone, so tiles, loop order, passes and devices agree: word column % 4 of
 * Philox4x32-10 under the key `seed` at the counter (column / 4, row, head, batch), each cut to 32
 * bits, kept if the word is at least floor(p 2^32). A given mask `keep` replaces those bits.
 *
 * Block mask: the score matrix is cut into blocks of br x bc; a block whose byte is 0 is hidden,
 * and a tiled algorithm with tiles of that size neither loads nor computes it (FlashAttention,
 * Algorithm 5).
 */
struct fa_block_mask {
    int64_t br, bc;        /* 1 or more */
    int64_t rows, columns; /* ceil(nq / br), ceil(nk / bc) */
    const uint8_t *visit;  /* rows x columns, row-major, 0 or 1 */
};

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
    double dropout_p;                  /* 0 to 1 */
    uint64_t dropout_seed;
    const struct fa_tensor *dropout_keep; /* u8 [batch, heads, nq, nk], 1 keeps; NULL: Philox bits */
    const struct fa_block_mask *blocks;   /* NULL: none */
};

/* batch = heads = kv_heads = 1, dv = d, scale = 1/sqrt(d), no mask, f32. */
struct fa_problem fa_problem_make(int64_t nq, int64_t nk, int64_t d);

/*
 * Refuses what the structs' comments exclude, a mask or bias whose axes are neither 1 nor the
 * problem's, a dropout mask of any other shape or without dropout, a block mask of other bytes than
 * 0 and 1 or that does not cover the scores exactly, and shapes whose index products pass 2^63 - 1.
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
