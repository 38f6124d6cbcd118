#include "visualizer/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/dropout.h"
#include "reference/tile_target.h"
#include "reference/visibility.h"

#define MOST_NUMBERS (INT64_C(1) << 24)

/* How many numbers a head needs; 0 where they are too many, or there is nothing to judge. */
static int64_t count_numbers(const struct fa_problem *p)
{
    int64_t nq = p->nq, nk = p->nk, columns = p->d + p->dv;
    if (nq < 1 || nk < 1 || nq + nk > MOST_NUMBERS / (columns + 3))
        return 0;
    return nq * (columns + 2) + nk * (columns + 1);
}

bool view_truth_open(struct view_truth *truth, const struct fa_problem *problem)
{
    const struct fa_problem *p = problem;
    int64_t n = count_numbers(p);
    *truth = (struct view_truth){.problem = problem, .head = -1};
    if (n == 0)
        return false;
    truth->numbers = malloc((size_t)n * sizeof *truth->numbers);
    truth->keep = malloc((size_t)p->nk);
    if (!truth->numbers || !truth->keep)
        return false;
    truth->q = truth->numbers;
    truth->keys = truth->q + p->nq * p->d;
    truth->v = truth->keys + p->nk * p->d;
    truth->max = truth->v + p->nk * p->dv;
    truth->sum = truth->max + p->nq;
    truth->o = truth->sum + p->nq;
    truth->scores = truth->o + p->nq * p->dv;
    return true;
}

void view_truth_close(struct view_truth *truth)
{
    free(truth->numbers);
    free(truth->keep);
}

/* The head's tensors as doubles, keys across. */
void view_truth_begin(struct view_truth *truth, const struct fa_run *run, int64_t head)
{
    const struct fa_problem *p = truth->problem;
    const struct fa_tensor *q = &run->tensor[FA_Q], *k = &run->tensor[FA_K];
    const struct fa_tensor *v = &run->tensor[FA_V];
    int64_t batch = head / p->heads, of_q = head % p->heads, of_k = fa_problem_head(p, k, of_q);
    truth->head = head;
    truth->key_norm = truth->bias = truth->value = 0;
    for (int64_t r = 0; r < p->nq; r++) {
        for (int64_t c = 0; c < p->d; c++)
            truth->q[r * p->d + c] = fa_tensor_get(q, batch, of_q, r, c);
        truth->max[r] = -INFINITY;
        truth->sum[r] = 0;
    }
    memset(truth->o, 0, (size_t)(p->nq * p->dv) * sizeof *truth->o);
    for (int64_t key = 0; key < p->nk; key++) {
        double squares = 0;
        for (int64_t c = 0; c < p->d; c++) {
            double value = fa_tensor_get(k, batch, of_k, key, c);
            truth->keys[c * p->nk + key] = value;
            squares += value * value;
        }
        truth->key_norm = fmax(truth->key_norm, sqrt(squares));
        for (int64_t c = 0; c < p->dv; c++) {
            double value = fa_tensor_get(v, batch, of_k, key, c);
            truth->v[key * p->dv + c] = value;
            truth->value = fmax(truth->value, fabs(value));
        }
    }
}

/* What a mask or bias says of one element: its own, or the one that stands for all. */
static double element(const struct view_truth *truth, const struct fa_tensor *tensor, int64_t row,
                      int64_t key)
{
    const struct fa_problem *p = truth->problem;
    return fa_tensor_get(tensor, fa_problem_batch(tensor, truth->head / p->heads),
                         fa_problem_head(p, tensor, truth->head % p->heads),
                         tensor->shape[2] == 1 ? 0 : row, tensor->shape[3] == 1 ? 0 : key);
}

FA_CLONES
static void add_scaled(double *restrict to, const double *restrict from, double factor, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        to[c] += factor * from[c];
}

void view_truth_score(struct view_truth *truth, int64_t row, int64_t first, int64_t n)
{
    const struct fa_problem *p = truth->problem;
    struct fa_span seen = fa_visible_keys(p, row);
    double *scores = truth->scores;
    for (int64_t k = 0; k < n; k++)
        scores[k] = 0;
    for (int64_t c = 0; c < p->d; c++)
        add_scaled(scores, truth->keys + c * p->nk + first, truth->q[row * p->d + c], n);
    for (int64_t k = 0; k < n; k++) {
        int64_t key = first + k;
        double bias = p->bias ? element(truth, p->bias, row, key) : 0;
        bool shown = !fa_outside(seen, key) && fa_block_shows(p, row, key) &&
                     (!p->mask || element(truth, p->mask, row, key) != 0);
        scores[k] = shown ? p->scale * scores[k] + bias : -INFINITY;
        if (shown && isfinite(bias))
            truth->bias = fmax(truth->bias, fabs(bias));
    }
}

static void find_kept(struct view_truth *truth, int64_t row, int64_t first, int64_t n)
{
    const struct fa_problem *p = truth->problem;
    memset(truth->keep, 1, (size_t)n);
    if (p->dropout_p > 0 && p->dropout_keep)
        for (int64_t k = 0; k < n; k++)
            truth->keep[k] = element(truth, p->dropout_keep, row, first + k) != 0;
    else if (p->dropout_p > 0)
        fa_dropout_bits(p, truth->head / p->heads, truth->head % p->heads, row, first, n,
                        truth->keep);
}

/* Turns the scores into the weights exp(score - base), -1 of a hidden key. Returns their sum. */
static double find_weights(struct view_truth *truth, int64_t n, double base)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        bool hidden = truth->scores[k] == -INFINITY;
        truth->scores[k] = hidden ? -1 : exp(truth->scores[k] - base);
        sum += hidden ? 0 : truth->scores[k];
    }
    return sum;
}

/* O of the row gains the keys by those weights. */
static void add_values(struct view_truth *truth, int64_t row, int64_t first, int64_t n)
{
    const struct fa_problem *p = truth->problem;
    double factor = p->dropout_p > 0 ? fa_dropout_scale(p) : 1, *o = truth->o + row * p->dv;
    find_kept(truth, row, first, n);
    for (int64_t k = 0; k < n; k++)
        if (truth->scores[k] != -1 && truth->keep[k])
            add_scaled(o, truth->v + (first + k) * p->dv, factor * truth->scores[k], p->dv);
}

void view_truth_absorb(struct view_truth *truth, int64_t row, int64_t first, int64_t n,
                       bool with_o)
{
    const struct fa_problem *p = truth->problem;
    double old_max = truth->max[row], max = old_max;
    view_truth_score(truth, row, first, n);
    for (int64_t k = 0; k < n; k++)
        max = truth->scores[k] > max ? truth->scores[k] : max;
    if (max == -INFINITY)
        return;
    double shrink = old_max == -INFINITY ? 0 : exp(old_max - max);
    truth->max[row] = max;
    truth->sum[row] = truth->sum[row] * shrink + find_weights(truth, n, max);
    if (!with_o)
        return;
    for (int64_t c = 0; c < p->dv; c++)
        truth->o[row * p->dv + c] *= shrink;
    add_values(truth, row, first, n);
}

void view_truth_accumulate(struct view_truth *truth, int64_t row, int64_t first, int64_t n)
{
    view_truth_score(truth, row, first, n);
    find_weights(truth, n, truth->max[row]);
    add_values(truth, row, first, n);
}
