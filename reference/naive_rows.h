/*
 * What the two halves of the naive run (naive.c, naive_gradients.c) have in common: its arithmetic,
 * and the weights of some rows. Internal to them.
 */
#ifndef FA_NAIVE_ROWS_H
#define FA_NAIVE_ROWS_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FA_NAIVE_KEYS = 64 }; /* keys whose K or V rows are converted together: a tile */

struct fa_naive {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    int64_t batch, head;
    int64_t sharing;    /* rows that share the converted keys, at most */
    enum fa_dtype real; /* the format of arithmetic, and of the arrays of void: f64 or f32 */
    void *q_rows;       /* [sharing, d] */
    void *columns;      /* [d or dv, FA_NAIVE_KEYS]: K or V transposed: keys lie side by side */
    void *values;       /* [FA_NAIVE_KEYS, d or dv] */
    void *row;          /* [d or dv]: one row of K or V */
    void *dots;         /* [FA_NAIVE_KEYS] */
    void *sums;         /* [sharing, dv]: O before its rounding */
    double *weights;    /* [sharing, nk]: scores, then weights; -inf stays for a hidden key */
    uint8_t *dropped;   /* [sharing, nk]: 1 for a weight that is dropped; not set without dropout */
};

/* Memory for rows that share keys, n_rows at most. Errors: FA_NO_MEMORY; nothing to close then. */
enum fa_status fa_naive_open(struct fa_naive *naive, const struct fa_problem *problem,
                             const struct fa_tensor *q, const struct fa_tensor *k,
                             const struct fa_tensor *v, int64_t n_rows, struct fa_error *error);
void fa_naive_close(struct fa_naive *naive);

/* Weights of n_rows <= sharing rows of a head (0 .. batch * heads - 1), which of them are dropped,
 * and the rows' o[n_rows * dv] and lse[n_rows]. */
void fa_naive_share(struct fa_naive *naive, int64_t head, const int64_t *rows, int64_t n_rows,
                    double *o, double *lse);

/* The weight of row r of those and key j after dropout, rounded; -inf if there is none: hidden or
 * dropped. */
double fa_naive_kept(const struct fa_naive *naive, int64_t r, int64_t key);

/* A value over 1 - p. */
double fa_naive_over_kept(const struct fa_naive *naive, double value);

/* The result of one operation, in the format of arithmetic. An f32 sum, product or quotient that
 * is formed in double and rounded here is the one that f32 arithmetic gives. */
static inline double fa_naive_real(const struct fa_naive *naive, double value)
{
    return naive->real == FA_F32 ? (double)(float)value : value;
}

static inline void *fa_naive_at(const struct fa_naive *naive, void *array, int64_t index)
{
    return (char *)array + (size_t)index * fa_dtype_bytes(naive->real);
}

/* sums += factor * values: every product of the naive run, and every sum of products, whose order
 * is that of the calls. */
void fa_naive_add(enum fa_dtype real, void *sums, double factor, const void *values, int64_t n);

/* A row of the tensor's head that the query head reads, rounded to the dtype. */
void fa_naive_read(const struct fa_naive *naive, const struct fa_tensor *tensor, int64_t row,
                   void *to);

/* Keys first .. first + n - 1 of K or V: rows of `values`, or one column of `columns` each. */
void fa_naive_read_values(const struct fa_naive *naive, const struct fa_tensor *tensor,
                          int64_t first, int64_t n);
void fa_naive_read_columns(const struct fa_naive *naive, const struct fa_tensor *tensor,
                           int64_t first, int64_t n);

/* dots[n] = the row of `width` numbers times each of `columns`. */
void fa_naive_dots(const struct fa_naive *naive, void *row, int64_t width, int64_t n);

void *fa_naive_take(int64_t rows, int64_t columns, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
