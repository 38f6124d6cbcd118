/*
 * Block masks by rule: which tiles of the score matrix a block-sparse run visits.
 *
 * Tr x Tc tiles, Tr = ceil(nq / br), Tc = ceil(nk / bc). With n = min(Tr, Tc), tile row i stands at
 * I = floor(i n / Tr) and tile column j at J = floor(j n / Tc): where Tr = Tc, I = i and J = j;
 * else the pattern of the n x n square is stretched along its longer side, so that neighbours there
 * share a row or a column of it. Tiles with I = J are the diagonal, which goes from the first tile
 * to the last whatever the alignment of a causal mask is. All patterns have it, so no row and no
 * column of tiles is empty (window:W,G has it for W >= 0).
 *
 *   window:W,G    |I - J| <= W, and the first G tile rows and tile columns: local and global
 *                 attention (1 1: a band of three tiles, and one global token block)
 *   strided:K     I - J is a multiple of K: each K-th tile of a row, counted from the diagonal's
 *   butterfly     I = J, or I and J differ in exactly one bit: the fixed butterfly sparsity that
 *                 the FlashAttention paper uses, all factors of an FFT's butterfly at once. About
 *                 1 + log2(n) tiles a row; where n is no power of two, the partners past the edge
 *                 are left out
 *   random:P[,S]  I = J, or the first word of Philox4x32-10 under the key S at the counter (low and
 *                 high word of i Tc + j, 5, 0) is below P 2^32: each with probability P
 */
#ifndef FA_BLOCK_PATTERN_H
#define FA_BLOCK_PATTERN_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fa_block_rule { FA_BLOCKS_WINDOW, FA_BLOCKS_STRIDED, FA_BLOCKS_BUTTERFLY, FA_BLOCKS_RANDOM };

struct fa_block_pattern {
    enum fa_block_rule rule;
    int64_t width, global; /* W and G of a window, 0 or more */
    int64_t stride;        /* K, 1 or more */
    double probability;    /* P, 0 to 1 */
    uint64_t seed;         /* S */
};

/*
 * Reads one of the texts above; without S the seed is 1, and *seeded (may be NULL) says whether
 * there was one. Errors: FA_BAD_ARGUMENT, which says what was expected; *pattern is untouched then.
 */
enum fa_status fa_block_pattern_parse(const char *text, struct fa_block_pattern *pattern,
                                      bool *seeded, struct fa_error *error);

/* The text that fa_block_pattern_parse reads as this pattern: "window:1,1", "random:0.1,7". */
enum { FA_BLOCK_PATTERN_TEXT = 64 };
const char *fa_block_pattern_text(const struct fa_block_pattern *pattern,
                                  char text[FA_BLOCK_PATTERN_TEXT]);

/* Whether the pattern visits tile (i, j) of rows x columns. Needs: 0 <= i < rows, 0 <= j <
 * columns. */
bool fa_block_pattern_visits(const struct fa_block_pattern *pattern, int64_t i, int64_t j,
                             int64_t rows, int64_t columns);

/*
 * The block mask of the pattern for tiles of br x bc (1 or more) over nq x nk scores. It owns its
 * bytes: fa_block_mask_free. Errors: FA_BAD_ARGUMENT, FA_TOO_LARGE, FA_NO_MEMORY; *mask is
 * untouched then.
 */
enum fa_status fa_block_pattern_make(const struct fa_block_pattern *pattern, int64_t nq, int64_t nk,
                                     int64_t br, int64_t bc, struct fa_block_mask *mask,
                                     struct fa_error *error);

/* Frees the bytes of a mask that fa_block_pattern_make made and clears it; fine for a zeroed
 * one. */
void fa_block_mask_free(struct fa_block_mask *mask);

/* The share of its blocks that the mask visits, 0 to 1: s of the paper's Proposition 4. 0 where
 * there is no block. */
double fa_block_mask_share(const struct fa_block_mask *mask);

#ifdef __cplusplus
}
#endif
#endif
