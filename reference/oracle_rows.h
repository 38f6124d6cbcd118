/*
 * What the two halves of the oracle (oracle.c, oracle_gradients.c) have in common: a group of rows,
 * the weights of each before they are divided by l, and what becomes of each key. Internal to them.
 *
 * Each row is written the obvious way. Rows go in groups only so that K and V are widened to
 * double once a group, and sums go in FA_ORACLE_LANES parts, added in a fixed order, only so that a
 * compiler may vectorise them without leave to reorder; short partial sums also round less than
 * long ones.
 */
#ifndef FA_ORACLE_ROWS_H
#define FA_ORACLE_ROWS_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FA_ORACLE_LANES = 8,
    FA_ORACLE_KEYS = 64, /* keys whose K or V rows are widened together, */
    FA_ORACLE_ROWS = 32, /* and rows of a group, at most, that share them */
};

/* What a row makes of a key. A dropped one counts in l, and its weight is dropped after that. */
enum { FA_ORACLE_HIDDEN, FA_ORACLE_DROPPED, FA_ORACLE_KEPT };

struct fa_oracle {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    int64_t batch, head;
    int64_t group;            /* rows of a group, at most */
    int64_t width, v_width;   /* d and dv, rounded up to lanes: the padding is 0 */
    double kept_scale;        /* 1 / (1 - p): 1 without dropout, 0 if all is dropped */
    double *q_rows;           /* [group, width] */
    double *weights;          /* [group, nk]: scores, then weights exp(s - m) */
    unsigned char *fate;      /* [group, nk]: one of the three above */
    double *keys;             /* [FA_ORACLE_KEYS, width or v_width]: rows of K or V */
    double *zeros, *part;     /* [width or v_width]: a row of zeros; one block's share of a sum */
    double *sums;             /* [group, v_width]: sum of weight * V over the kept keys */
    double *weight_sums;      /* [group]: l */
    int64_t *n_seen;          /* [group]: a row is empty when this is 0, whatever its sums are */
};

/*
 * Takes memory for groups of rows, of n_rows at most and fewer if their scores would be many.
 * Errors: FA_NO_MEMORY; there is nothing to close then.
 */
enum fa_status fa_oracle_open(struct fa_oracle *oracle, const struct fa_problem *problem,
                              const struct fa_tensor *q, const struct fa_tensor *k,
                              const struct fa_tensor *v, int64_t n_rows, struct fa_error *error);
void fa_oracle_close(struct fa_oracle *oracle);

/* The head (0 .. batch * heads - 1) of the groups that follow. */
void fa_oracle_enter(struct fa_oracle *oracle, int64_t head);

/* Weights, their sums and the fates of n_rows <= group rows, and lse[n_rows]. */
void fa_oracle_weigh(struct fa_oracle *oracle, const int64_t *rows, int64_t n_rows, double *lse);

/* Row `row` of the tensor's head that the query head reads, exactly, padded to width with 0. */
void fa_oracle_widen(const struct fa_oracle *oracle, const struct fa_tensor *tensor, int64_t row,
                     double *to, int64_t width);

double fa_oracle_dot(const double *a, const double *b, int64_t width);

/*
 * to[n] += the sum of weight[i] times the row value[i] of `width` padded components, over `count`
 * rows, formed apart. Needs: room for three more rows in both lists.
 */
void fa_oracle_add(const struct fa_oracle *oracle, double *to, int64_t n, double *weight,
                   const double **value, int64_t count, int64_t width);

/* malloc of count * each elements, NULL if that is past what can be asked for. */
void *fa_oracle_take(int64_t count, int64_t each, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
