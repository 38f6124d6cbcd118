#include "tests/mutants.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { WIDEST = 256 };

static const char *const names[MUTANTS] = {
    [MUTANT_RIGHT_ROWS] = "right, by rows",
    [MUTANT_RIGHT_SUM] = "right, by tiles, O not normalised",
    [MUTANT_RIGHT_MEAN] = "right, by tiles, O normalised",
    [MUTANT_A_FORGETS_OLD_L] = "A: the factor l / l' is forgotten",
    [MUTANT_B_INVERSE_FACTOR] = "B: the inverse correction",
    [MUTANT_C_NO_RESCALE] = "C: O is not rescaled",
    [MUTANT_D_NORMALISED_TWICE] = "D: normalised twice",
    [MUTANT_E_L_FORGETS] = "E: l forgets the tiles before",
    [MUTANT_F_NO_DIVISION] = "F: no final division",
    [MUTANT_NO_SCALE] = "no scale",
    [MUTANT_SCALE_OF_PADDED_D] = "the scale of a padded head size",
    [MUTANT_NO_SOFTMAX] = "no softmax",
    [MUTANT_LSE_BASE_2] = "LSE in base 2",
    [MUTANT_LSE_WITHOUT_MAX] = "LSE without the maximum",
    [MUTANT_SKIPS_RAGGED_TILE] = "the last tile is skipped",
    [MUTANT_COUNTS_PADDING] = "padding counts as keys",
    [MUTANT_MASK_ONE_SHORT] = "the causal mask is one short",
    [MUTANT_MASK_ONE_LONG] = "the causal mask is one long",
    [MUTANT_OTHER_ALIGNMENT] = "the other causal alignment",
    [MUTANT_FINITE_MASK] = "a finite mask",
    [MUTANT_SWALLOWS_NAN] = "NaN looks like an empty row",
    [MUTANT_HEADS_MODULO] = "heads modulo K/V heads",
    [MUTANT_FIRST_BATCH] = "K and V of the first batch",
};

const char *mutant_name(enum mutant mutant)
{
    assert((unsigned)mutant < MUTANTS);
    return names[mutant];
}

/* One query at work. */
struct query {
    enum mutant mutant;
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    int64_t batch, head, row;
};

static int64_t key_batch(const struct query *query)
{
    return query->mutant == MUTANT_FIRST_BATCH ? 0 : query->batch;
}

static int64_t key_head(const struct query *query)
{
    int64_t kv_heads = query->problem->kv_heads;
    if (query->mutant == MUTANT_HEADS_MODULO)
        return query->head % kv_heads;
    return query->head / (query->problem->heads / kv_heads);
}

static float scale_of(const struct query *query)
{
    const struct fa_problem *p = query->problem;
    int64_t padded = 1;
    if (query->mutant == MUTANT_NO_SCALE)
        return 1;
    while (padded < p->d)
        padded *= 2;
    if (query->mutant == MUTANT_SCALE_OF_PADDED_D)
        return (float)(p->scale * sqrt((double)p->d / (double)padded));
    return (float)p->scale;
}

static bool hidden(const struct query *query, int64_t key)
{
    const struct fa_problem *p = query->problem;
    bool top_left = (p->causal == FA_CAUSAL_TOP_LEFT) != (query->mutant == MUTANT_OTHER_ALIGNMENT);
    int64_t diagonal = top_left ? query->row : query->row + p->nk - p->nq;
    diagonal += (query->mutant == MUTANT_MASK_ONE_LONG) - (query->mutant == MUTANT_MASK_ONE_SHORT);
    if (p->causal != FA_CAUSAL_NONE && key > diagonal)
        return true;
    return p->mask && fa_tensor_get(p->mask, 0, 0, query->row, key) == 0;
}

static float score_of(const struct query *query, int64_t key)
{
    const struct fa_problem *p = query->problem;
    float dot = 0;
    if (key >= p->nk)
        return query->mutant == MUTANT_COUNTS_PADDING ? 0 : -INFINITY;
    if (hidden(query, key))
        return query->mutant == MUTANT_FINITE_MASK ? -10000 : -INFINITY;
    for (int64_t c = 0; c < p->d; c++)
        dot += (float)fa_tensor_get(query->q, query->batch, query->head, query->row, c) *
               (float)fa_tensor_get(query->k, key_batch(query), key_head(query), key, c);
    return scale_of(query) * dot;
}

/* o += weight * V_key, unless the key is padding, whose V is 0. */
static void add_value(const struct query *query, float *o, float weight, int64_t key)
{
    if (key < query->problem->nk)
        for (int64_t c = 0; c < query->problem->dv; c++)
            o[c] +=
                weight * (float)fa_tensor_get(query->v, key_batch(query), key_head(query), key, c);
}

static void scale_values(const struct query *query, float *o, float factor)
{
    for (int64_t c = 0; c < query->problem->dv; c++)
        o[c] *= factor;
}

/* A row without a visible key is empty. -inf is the maximum of nothing, and of NaN alone too. */
static bool is_empty(const struct query *query, float m, bool saw_key)
{
    return query->mutant == MUTANT_SWALLOWS_NAN ? m == -INFINITY : !saw_key;
}

static double lse_of(const struct query *query, float m, float l)
{
    if (query->mutant == MUTANT_LSE_WITHOUT_MAX)
        return logf(l);
    return (m + logf(l)) * (query->mutant == MUTANT_LSE_BASE_2 ? 1.44269504f : 1);
}

/* Maximum, weights, sum, one after the other, over whole rows. */
static double whole_row(const struct query *query, float *o)
{
    int64_t nk = query->problem->nk, end = (nk + MUTANT_TILE - 1) / MUTANT_TILE * MUTANT_TILE;
    float m = -INFINITY, l = 0;
    bool saw_key = false;
    if (query->mutant == MUTANT_SKIPS_RAGGED_TILE)
        end = nk / MUTANT_TILE * MUTANT_TILE;
    for (int64_t key = 0; key < end; key++) {
        float s = score_of(query, key);
        m = fmaxf(m, s);
        saw_key = saw_key || s != -INFINITY;
    }
    if (is_empty(query, m, saw_key))
        return -INFINITY;
    for (int64_t key = 0; key < end; key++) {
        float s = score_of(query, key);
        if (s == -INFINITY)
            continue;
        l += expf(s - m);
        add_value(query, o, query->mutant == MUTANT_NO_SOFTMAX ? s : expf(s - m), key);
    }
    if (query->mutant != MUTANT_NO_SOFTMAX)
        scale_values(query, o, 1 / l);
    return lse_of(query, m, l);
}

/* What a tile does to what there is: factors for O and for the tile's weights, and the new l. */
struct update {
    float o_factor, weight_factor, l;
};

/* m and l before, m after, and the tile's sum of exp(s - m after). */
static struct update update_of(enum mutant mutant, float m, float l, float m_new, float sum)
{
    float correction = m == -INFINITY ? 0 : expf(m - m_new);
    float l_new = correction * l + sum;
    switch (mutant) {
    case MUTANT_RIGHT_MEAN:
    case MUTANT_D_NORMALISED_TWICE:
        return (struct update){l / l_new * correction, 1 / l_new, l_new};
    case MUTANT_A_FORGETS_OLD_L:
        return (struct update){correction, 1 / l_new, l_new};
    case MUTANT_B_INVERSE_FACTOR:
        return (struct update){m == -INFINITY ? 0 : expf(m_new - m), 1, l_new};
    case MUTANT_C_NO_RESCALE:
        return (struct update){1, 1, l_new};
    case MUTANT_E_L_FORGETS:
        return (struct update){correction, 1, sum};
    default:
        return (struct update){correction, 1, l_new};
    }
}

/* Whether O is divided by l once all tiles are done. */
static bool divides_at_the_end(enum mutant mutant)
{
    return mutant != MUTANT_RIGHT_MEAN && mutant != MUTANT_A_FORGETS_OLD_L &&
           mutant != MUTANT_F_NO_DIVISION;
}

/* The online softmax, a tile of keys after the other. */
static double by_tiles(const struct query *query, float *o)
{
    float m = -INFINITY, l = 0, scores[MUTANT_TILE];
    for (int64_t first = 0; first < query->problem->nk; first += MUTANT_TILE) {
        float m_new = m, sum = 0;
        bool saw_key = false;
        for (int64_t c = 0; c < MUTANT_TILE; c++) {
            scores[c] = score_of(query, first + c);
            m_new = fmaxf(m_new, scores[c]);
            saw_key = saw_key || scores[c] != -INFINITY;
        }
        if (!saw_key)
            continue;
        for (int64_t c = 0; c < MUTANT_TILE; c++)
            if (scores[c] != -INFINITY)
                sum += expf(scores[c] - m_new);
        struct update update = update_of(query->mutant, m, l, m_new, sum);
        scale_values(query, o, update.o_factor);
        for (int64_t c = 0; c < MUTANT_TILE; c++)
            if (scores[c] != -INFINITY)
                add_value(query, o, update.weight_factor * expf(scores[c] - m_new), first + c);
        m = m_new;
        l = update.l;
    }
    if (l == 0)
        return -INFINITY;
    if (divides_at_the_end(query->mutant))
        scale_values(query, o, 1 / l);
    return lse_of(query, m, l);
}

static bool goes_by_tiles(enum mutant mutant)
{
    return mutant != MUTANT_RIGHT_ROWS && mutant <= MUTANT_F_NO_DIVISION;
}

void mutant_rows(enum mutant mutant, const struct fa_problem *problem, const struct fa_tensor *q,
                 const struct fa_tensor *k, const struct fa_tensor *v, int64_t head,
                 const int64_t *rows, int64_t n_rows, double *o, double *lse)
{
    struct query query = {.mutant = mutant, .problem = problem, .q = q, .k = k, .v = v};
    float sums[WIDEST];
    assert(problem->dtype == FA_F32 && problem->d <= WIDEST && problem->dv <= WIDEST);
    query.batch = head / problem->heads;
    query.head = head % problem->heads;
    for (int64_t i = 0; i < n_rows; i++) {
        query.row = rows[i];
        for (int64_t c = 0; c < problem->dv; c++)
            sums[c] = 0;
        lse[i] = goes_by_tiles(mutant) ? by_tiles(&query, sums) : whole_row(&query, sums);
        for (int64_t c = 0; c < problem->dv; c++)
            o[i * problem->dv + c] = sums[c];
    }
}
