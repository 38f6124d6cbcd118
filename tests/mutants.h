/*
 * Wrong attentions: each has one fault that somebody made in earnest, and is otherwise right.
 *
 * They are row-wise programs in f32 that share nothing with the algorithms, so that they can show
 * what the comparison with the oracle, its budgets and its inputs are worth: all of them must be
 * rejected, and the right ones, which are the same programs without a fault, must pass.
 */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include "reference/problem.h"

enum mutant {
    /* Right: whole rows; tile after tile with O not normalised; the same with O normalised. */
    MUTANT_RIGHT_ROWS,
    MUTANT_RIGHT_SUM,
    MUTANT_RIGHT_MEAN,
    MUTANT_FIRST_WRONG,
    /* Six faulty updates of O, m and l from one tile to the next. */
    MUTANT_A_FORGETS_OLD_L =
        MUTANT_FIRST_WRONG,    /* P over the new l, O scaled by exp(m - m') only */
    MUTANT_B_INVERSE_FACTOR,   /* O scaled by exp(m' - m) */
    MUTANT_C_NO_RESCALE,       /* O not scaled when m rises */
    MUTANT_D_NORMALISED_TWICE, /* at each tile and once more at the end */
    MUTANT_E_L_FORGETS,        /* l is the last tile's alone */
    MUTANT_F_NO_DIVISION,      /* O never divided by l */
    /* Scores. */
    MUTANT_NO_SCALE,
    MUTANT_SCALE_OF_PADDED_D, /* d rounded up to a power of two */
    MUTANT_NO_SOFTMAX,        /* O = S V */
    /* LSE. */
    MUTANT_LSE_BASE_2,
    MUTANT_LSE_WITHOUT_MAX,
    /* Which keys count. */
    MUTANT_SKIPS_RAGGED_TILE, /* the keys past the last full tile are left out */
    MUTANT_COUNTS_PADDING,    /* the last tile's missing keys count, with a score of 0 */
    MUTANT_MASK_ONE_SHORT,    /* causal hides the diagonal too */
    MUTANT_MASK_ONE_LONG,     /* causal shows one key past the diagonal */
    MUTANT_OTHER_ALIGNMENT,   /* top-left for bottom-right and the other way round */
    MUTANT_FINITE_MASK,       /* hidden scores are -10000 */
    MUTANT_SWALLOWS_NAN, /* a maximum of -inf, which passes NaN over, is taken for an empty row */
    /* Which matrix. */
    MUTANT_HEADS_MODULO, /* query head h reads K/V head h mod kv_heads */
    MUTANT_FIRST_BATCH,  /* K and V of batch 0 for all */
    MUTANTS
};

enum { MUTANT_TILE = 16 }; /* keys that the tile-wise ones take at a time */

const char *mutant_name(enum mutant mutant);

/* Rows `rows[n_rows]` of query head `head` (batch-major), as fa_oracle_rows gives them. Needs a
 * problem with dtype f32 and head size and width of V of at most 256. */
void mutant_rows(enum mutant mutant, const struct fa_problem *problem, const struct fa_tensor *q,
                 const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                 const int64_t *rows, int64_t n_rows, double *o, double *lse);

#endif
