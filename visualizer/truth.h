/*
 * A softmax in double of its own, from q, k and v element by element: what the checks hold the
 * machine's against. It shares neither tiles nor masks' code with it: which key is seen is asked of
 * each element.
 */
#ifndef VIEW_TRUTH_H
#define VIEW_TRUTH_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one head at a time, by row, over the keys that it was given so far. */
struct view_truth {
    const struct fa_problem *problem; /* outlives the calls, but for the close */
    int64_t head;                     /* -1: none yet */
    double *numbers;                  /* all of the arrays below */
    double *q, *keys, *v;             /* nq x d, d x nk, nk x dv */
    double *max, *sum, *o;            /* o is not divided by sum */
    double *scores;                   /* nk */
    uint8_t *keep;                    /* nk, of dropout */
    double key_norm, bias, value;     /* the largest so far: |k|, |bias|, |v| */
};

/* False: no memory, nothing to be true of, or more than 2^24 numbers a head. */
bool view_truth_open(struct view_truth *truth, const struct fa_problem *problem);
void view_truth_close(struct view_truth *truth);

void view_truth_begin(struct view_truth *truth, const struct fa_run *run, int64_t head);

/* The row's scores with n keys from `first` on, into truth->scores; -infinity: hidden. */
void view_truth_score(struct view_truth *truth, int64_t row, int64_t first, int64_t n);

/* The row's maximum and sum take up n keys from `first` on, and with_o its O too. */
void view_truth_absorb(struct view_truth *truth, int64_t row, int64_t first, int64_t n,
                       bool with_o);

/* Its O alone takes up n keys, with weights by the maximum that the row has by now. */
void view_truth_accumulate(struct view_truth *truth, int64_t row, int64_t first, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
