#include "reference/gradients.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/oracle_rows.h"

/*
 * One pass over the rows, a group at a time: the weights of the group, its dS, then what it gives
 * to each of the three gradients. Without keys only the rows that are wanted are visited.
 *
 * (13) is formed without O, from the Jacobian of the softmax itself:
 *
 *   delta(r) = sum_c do(r,c) o(r,c) = sum_j P(r,j) dp(r,j),   ds(r,j) = P(r,j) (dp(r,j) - delta(r))
 *
 * and since the weights of a row sum to 1, dp may be counted from that of its heaviest key. Where
 * one key has nearly all the weight, that difference is nearly 0 and must not be what is left of
 * two large sums.
 */
struct gradients {
    struct fa_oracle oracle;
    const struct fa_tensor *dout;
    const struct fa_gradient_parts *parts;
    double *dq, *dk, *dv; /* outputs; NULL: not wanted */
    int64_t *place, *next; /* [nq], [n_rows]: where in parts->rows a row stands, -1: nowhere */
    int64_t *rows;        /* [group] */
    double *lse;          /* [group] */
    double *do_rows;      /* [group, v_width] */
    double *ds;           /* [group, nk]: dP, then dS, of visible elements */
};

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The fate of the group's row i and key, and its weight P, normalised by now. */
static unsigned char fate_of(const struct gradients *g, int64_t i, int64_t key)
{
    return g->oracle.fate[i * g->oracle.problem->nk + key];
}

static double weight_of(const struct gradients *g, int64_t i, int64_t key)
{
    return g->oracle.weights[i * g->oracle.problem->nk + key];
}

static bool is_row_wanted(const struct gradients *g, int64_t i)
{
    return g->place[g->rows[i]] >= 0;
}

/* (12) of the group's rows. A dropped weight's dP is 0, whatever V holds. */
static void form_dp(struct gradients *g, int64_t n_rows)
{
    struct fa_oracle *oracle = &g->oracle;
    int64_t nk = oracle->problem->nk, width = oracle->v_width;
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t end = min(first + FA_ORACLE_KEYS, nk);
        for (int64_t key = first; key < end; key++)
            fa_oracle_widen(oracle, oracle->v, key, oracle->keys + (key - first) * width, width);
        for (int64_t i = 0; i < n_rows; i++)
            for (int64_t key = first; key < end; key++) {
                double *dp = &g->ds[i * nk + key];
                unsigned char fate = fate_of(g, i, key);
                if (fate == FA_ORACLE_KEPT)
                    *dp = oracle->kept_scale * fa_oracle_dot(g->do_rows + i * width,
                                                             oracle->keys + (key - first) * width,
                                                             width);
                else if (fate == FA_ORACLE_DROPPED)
                    *dp = 0;
            }
    }
}

/* The dP of the row's heaviest key; 0 where that is no number to count from. */
static double dp_of_heaviest(const struct gradients *g, int64_t i)
{
    int64_t nk = g->oracle.problem->nk, heaviest = -1;
    for (int64_t key = 0; key < nk; key++)
        if (fate_of(g, i, key) != FA_ORACLE_HIDDEN &&
            (heaviest < 0 || weight_of(g, i, key) > weight_of(g, i, heaviest)))
            heaviest = key;
    return heaviest >= 0 && isfinite(g->ds[i * nk + heaviest]) ? g->ds[i * nk + heaviest] : 0;
}

/* (13) of the group's row i: dP turns into dS where it lies. */
static void form_ds(struct gradients *g, int64_t i)
{
    int64_t nk = g->oracle.problem->nk;
    double *ds = g->ds + i * nk, from = dp_of_heaviest(g, i), delta = 0;
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t end = min(first + FA_ORACLE_KEYS, nk);
        double part = 0;
        for (int64_t key = first; key < end; key++) {
            if (fate_of(g, i, key) == FA_ORACLE_HIDDEN)
                continue;
            ds[key] -= from;
            part += weight_of(g, i, key) * ds[key];
        }
        delta += part;
    }
    for (int64_t key = 0; key < nk; key++)
        if (fate_of(g, i, key) != FA_ORACLE_HIDDEN)
            ds[key] = weight_of(g, i, key) * (ds[key] - delta);
}

/* P, dO and dS of the group's rows. */
static void begin_group(struct gradients *g, int64_t n_rows)
{
    struct fa_oracle *oracle = &g->oracle;
    int64_t nk = oracle->problem->nk, width = oracle->v_width;
    fa_oracle_weigh(oracle, g->rows, n_rows, g->lse);
    for (int64_t i = 0; i < n_rows; i++) {
        fa_oracle_widen(oracle, g->dout, g->rows[i], g->do_rows + i * width, width);
        for (int64_t key = 0; key < nk; key++)
            if (fate_of(g, i, key) != FA_ORACLE_HIDDEN)
                oracle->weights[i * nk + key] /= oracle->weight_sums[i];
    }
    form_dp(g, n_rows);
    for (int64_t i = 0; i < n_rows; i++)
        form_ds(g, i);
}

/* (14), for the group's row i and keys first .. first + n - 1 of K, added into dq. */
static void add_dq(struct gradients *g, int64_t i, int64_t first, int64_t n, double *dq)
{
    const struct fa_oracle *oracle = &g->oracle;
    const struct fa_problem *problem = oracle->problem;
    double weight[FA_ORACLE_KEYS + 3];
    const double *value[FA_ORACLE_KEYS + 3];
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        if (fate_of(g, i, first + j) != FA_ORACLE_HIDDEN) {
            weight[count] = g->ds[i * problem->nk + first + j];
            value[count++] = oracle->keys + j * oracle->width;
        }
    }
    fa_oracle_add(oracle, dq, problem->d, weight, value, count, oracle->width);
}

/* dq of the wanted rows of the group, summed in the first place of each in the output. */
static void form_dq(struct gradients *g, int64_t n_rows, int64_t in_group)
{
    struct fa_oracle *oracle = &g->oracle;
    int64_t nk = oracle->problem->nk, d = oracle->problem->d;
    double *dq = g->dq + in_group * g->parts->n_rows * d;
    for (int64_t first = 0; first < nk; first += FA_ORACLE_KEYS) {
        int64_t n = min(FA_ORACLE_KEYS, nk - first);
        for (int64_t j = 0; j < n; j++)
            fa_oracle_widen(oracle, oracle->k, first + j, oracle->keys + j * oracle->width,
                            oracle->width);
        for (int64_t i = 0; i < n_rows; i++)
            if (is_row_wanted(g, i))
                add_dq(g, i, first, n, dq + g->place[g->rows[i]] * d);
    }
    for (int64_t i = 0; i < n_rows; i++) {
        if (!is_row_wanted(g, i))
            continue;
        int64_t at = g->place[g->rows[i]];
        for (int64_t c = 0; c < d; c++)
            dq[at * d + c] *= oracle->problem->scale;
        for (int64_t other = g->next[at]; other >= 0; other = g->next[other])
            memcpy(dq + other * d, dq + at * d, (size_t)d * sizeof *dq);
    }
}

/* (11) and (15), before the scale: what the group's rows add to the wanted keys. */
static void add_dk_and_dv(struct gradients *g, int64_t n_rows)
{
    const struct fa_oracle *oracle = &g->oracle;
    const struct fa_problem *problem = oracle->problem;
    int64_t nk = problem->nk, d = problem->d, dv = problem->dv;
    double weight[FA_ORACLE_ROWS + 3];
    const double *value[FA_ORACLE_ROWS + 3];
    for (int64_t n = 0; n < g->parts->n_keys; n++) {
        int64_t key = g->parts->keys[n], count = 0;
        for (int64_t i = 0; g->dk && i < n_rows; i++) {
            if (fate_of(g, i, key) != FA_ORACLE_HIDDEN) {
                weight[count] = g->ds[i * nk + key];
                value[count++] = oracle->q_rows + i * oracle->width;
            }
        }
        if (g->dk)
            fa_oracle_add(oracle, g->dk + n * d, d, weight, value, count, oracle->width);
        count = 0;
        for (int64_t i = 0; g->dv && i < n_rows; i++) {
            if (fate_of(g, i, key) == FA_ORACLE_KEPT) {
                weight[count] = weight_of(g, i, key) * oracle->kept_scale;
                value[count++] = g->do_rows + i * oracle->v_width;
            }
        }
        if (g->dv)
            fa_oracle_add(oracle, g->dv + n * dv, dv, weight, value, count, oracle->v_width);
    }
}

/* All that query head `in_group` of the group of K/V head `kv_head` gives. */
static void do_head(struct gradients *g, int64_t kv_head, int64_t in_group, int64_t heads)
{
    const struct fa_problem *problem = g->oracle.problem;
    bool all_rows = g->parts->n_keys > 0 && (g->dk || g->dv);
    int64_t n_rows = 0;
    fa_oracle_enter(&g->oracle, kv_head * heads + in_group);
    for (int64_t row = 0; row < problem->nq; row++) {
        if (all_rows || g->place[row] >= 0)
            g->rows[n_rows++] = row;
        if (n_rows == 0 || (n_rows < g->oracle.group && row + 1 < problem->nq))
            continue;
        begin_group(g, n_rows);
        if (g->dq)
            form_dq(g, n_rows, in_group);
        if (all_rows)
            add_dk_and_dv(g, n_rows);
        n_rows = 0;
    }
}

/* Which rows are wanted; a row that is listed more than once is a chain of places. */
static void mark_wanted(struct gradients *g)
{
    const struct fa_gradient_parts *parts = g->parts;
    for (int64_t row = 0; row < g->oracle.problem->nq; row++)
        g->place[row] = -1;
    for (int64_t i = 0; g->dq && i < parts->n_rows; i++) {
        g->next[i] = g->place[parts->rows[i]];
        g->place[parts->rows[i]] = i;
    }
}

static enum fa_status open_gradients(struct gradients *g, struct fa_error *error)
{
    const struct fa_problem *problem = g->oracle.problem;
    int64_t group = g->oracle.group, width = g->oracle.v_width;
    g->place = fa_oracle_take(1, problem->nq, sizeof *g->place);
    g->next = fa_oracle_take(1, g->parts->n_rows, sizeof *g->next);
    g->rows = fa_oracle_take(1, group, sizeof *g->rows);
    g->lse = fa_oracle_take(1, group, sizeof *g->lse);
    g->do_rows = fa_oracle_take(group, width, sizeof *g->do_rows);
    g->ds = fa_oracle_take(group, problem->nk, sizeof *g->ds);
    if (g->place && g->next && g->rows && g->lse && g->do_rows && g->ds)
        return FA_OK;
    return fa_fail(error, FA_NO_MEMORY,
                   "no memory for the oracle's gradients of %" PRId64 " rows of %" PRId64
                   " scores: expected about 17 bytes a score",
                   group, problem->nk);
}

static void close_gradients(struct gradients *g)
{
    fa_oracle_close(&g->oracle);
    free(g->place);
    free(g->next);
    free(g->rows);
    free(g->lse);
    free(g->do_rows);
    free(g->ds);
}

static void clear(double *to, int64_t rows, int64_t columns)
{
    if (to)
        memset(to, 0, (size_t)(rows * columns) * sizeof *to);
}

enum fa_status fa_oracle_gradients(const struct fa_problem *problem, const struct fa_tensor *q,
                                   const struct fa_tensor *k, const struct fa_tensor *v,
                                   const struct fa_tensor *dout, int64_t kv_head,
                                   const struct fa_gradient_parts *parts, double *dq, double *dk,
                                   double *dv, struct fa_error *error)
{
    int64_t heads = problem->kv_heads > 0 ? problem->heads / problem->kv_heads : 0;
    struct gradients g = {.dout = dout, .parts = parts, .dq = dq, .dk = dk, .dv = dv};
    enum fa_status status = fa_oracle_open(&g.oracle, problem, q, k, v, problem->nq, error);
    if (status != FA_OK)
        return status;
    status = open_gradients(&g, error);
    if (status != FA_OK)
        goto done;
    clear(dq, heads * parts->n_rows, problem->d);
    clear(dk, parts->n_keys, problem->d);
    clear(dv, parts->n_keys, problem->dv);
    mark_wanted(&g);
    for (int64_t in_group = 0; in_group < heads; in_group++)
        do_head(&g, kv_head, in_group, heads);
    for (int64_t i = 0; dk && i < parts->n_keys * problem->d; i++)
        dk[i] *= problem->scale;
done:
    close_gradients(&g);
    return status;
}
