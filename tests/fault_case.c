#include "tests/fault_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "reference/gradients.h"
#include "reference/oracle.h"
#include "tests/mutants.h"
#include "tests/random_case.h"

struct fa_tensor fault_tensor(enum fa_dtype dtype, int64_t batch, int64_t heads, int64_t rows,
                              int64_t columns)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    struct fa_tensor made;
    assert_int_equal(fa_tensor_create(&made, dtype, shape, NULL), FA_OK);
    return made;
}

static int64_t *count_up(int64_t n)
{
    int64_t *places = malloc((size_t)(n + 1) * sizeof *places);
    assert_non_null(places);
    for (int64_t i = 0; i < n; i++)
        places[i] = i;
    return places;
}

/* O and LSE of all rows, by the oracle on `problem`, or by a mutant on the sample's own. */
void fault_sample_fill(struct fault_sample *sample, const struct fa_problem *problem, int mutant)
{
    const struct fa_problem *p = &sample->problem;
    int64_t *rows = count_up(p->nq);
    double *o = malloc((size_t)(p->nq * p->dv + 1) * sizeof *o);
    double *lse = malloc((size_t)(p->nq + 1) * sizeof *lse);
    for (int64_t head = 0; head < p->batch * p->heads; head++) {
        int64_t b = head / p->heads, h = head % p->heads;
        if (mutant >= 0)
            mutant_rows((enum mutant)mutant, p, &sample->q, &sample->k, &sample->v, head, rows,
                        p->nq, o, lse);
        else
            assert_int_equal(fa_oracle_rows(problem, &sample->q, &sample->k, &sample->v, head, rows,
                                            p->nq, o, lse, NULL),
                             FA_OK);
        for (int64_t i = 0; i < p->nq; i++) {
            fa_tensor_set(&sample->output[SIM_OUT_LSE], b, h, i, 0, lse[i]);
            for (int64_t c = 0; c < p->dv; c++)
                fa_tensor_set(&sample->output[SIM_OUT_O], b, h, i, c, o[i * p->dv + c]);
        }
    }
    free(rows);
    free(o);
    free(lse);
}

static void scatter(const struct fa_tensor *to, int64_t first_head, int64_t heads,
                    const double *from)
{
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < to->shape[2]; i++)
            for (int64_t c = 0; c < to->shape[3]; c++)
                fa_tensor_set(to, (first_head + h) / to->shape[1], (first_head + h) % to->shape[1],
                              i, c, from[(h * to->shape[2] + i) * to->shape[3] + c]);
}

static void fill_backward(struct fault_sample *sample)
{
    const struct fa_problem *p = &sample->problem;
    int64_t group = p->heads / p->kv_heads, n_dq = group * p->nq * p->d;
    int64_t *places = count_up(p->nq > p->nk ? p->nq : p->nk);
    double *dq = malloc((size_t)(n_dq + p->nk * (p->d + p->dv) + 1) * sizeof *dq);
    double *dk = dq + n_dq, *dv = dk + p->nk * p->d;
    const struct fa_gradient_parts parts = {places, places, p->nq, p->nk};
    for (int64_t head = 0; head < p->batch * p->kv_heads; head++) {
        assert_int_equal(fa_oracle_gradients(p, &sample->q, &sample->k, &sample->v, &sample->dout,
                                             head, &parts, dq, dk, dv, NULL),
                         FA_OK);
        scatter(&sample->output[SIM_OUT_DQ], head * group, group, dq);
        scatter(&sample->output[SIM_OUT_DK], head, 1, dk);
        scatter(&sample->output[SIM_OUT_DV], head, 1, dv);
    }
    free(places);
    free(dq);
}

struct fault_sample fault_sample_make(struct fa_problem problem, enum fa_profile profile,
                                      bool backward)
{
    const struct fa_problem *p = &problem;
    enum fa_dtype statistic = p->dtype == FA_F64 ? FA_F64 : FA_F32;
    struct fault_sample s = {.problem = problem, .br = 16, .bc = 16};
    s.q = fault_tensor(p->dtype, p->batch, p->heads, p->nq, p->d);
    s.k = fault_tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->d);
    s.v = fault_tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->dv);
    s.output[SIM_OUT_O] = fault_tensor(p->dtype, p->batch, p->heads, p->nq, p->dv);
    s.output[SIM_OUT_LSE] = fault_tensor(statistic, p->batch, p->heads, p->nq, 1);
    fa_profile_fill(profile, 5, p, &s.q, &s.k, &s.v);
    fault_sample_fill(&s, &s.problem, -1);
    if (!backward)
        return s;
    s.dout = fault_tensor(p->dtype, p->batch, p->heads, p->nq, p->dv);
    s.output[SIM_OUT_DQ] = fault_tensor(p->dtype, p->batch, p->heads, p->nq, p->d);
    s.output[SIM_OUT_DK] = fault_tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->d);
    s.output[SIM_OUT_DV] = fault_tensor(p->dtype, p->batch, p->kv_heads, p->nk, p->dv);
    fa_profile_fill_dout(5, p, &s.dout);
    fill_backward(&s);
    return s;
}

void fault_sample_free(struct fault_sample *sample)
{
    fa_tensor_free(&sample->q);
    fa_tensor_free(&sample->k);
    fa_tensor_free(&sample->v);
    fa_tensor_free(&sample->dout);
    for (int i = 0; i < SIM_OUTPUTS; i++)
        fa_tensor_free(&sample->output[i]);
}

struct sim_verdict fault_sample_judge(const struct fault_sample *sample)
{
    struct sim_theirs theirs = {
        .problem = &sample->problem,
        .q = &sample->q,
        .k = &sample->k,
        .v = &sample->v,
        .dout = sample->dout.data ? &sample->dout : NULL,
        .br = sample->br,
        .bc = sample->bc,
        .error_factor = 1,
        .error_factor_dq = 1,
        .error_factor_dkv = 1,
    };
    struct sim_verdict verdict;
    struct fa_error error = {FA_OK, ""};
    for (int i = 0; i < SIM_OUTPUTS; i++)
        theirs.output[i] = &sample->output[i];
    if (sim_verdict_make(&theirs, SIM_CHECK_SAMPLE, 1, NULL, &verdict, &error) != FA_OK)
        fail_msg("%s", error.text);
    return verdict;
}

void fault_sample_expect(const struct fault_sample *sample, enum sim_fault fault, const char *what)
{
    struct sim_verdict verdict = fault_sample_judge(sample);
    if (verdict.fault != fault)
        fail_msg("%s: %s in %s (%s; %s): expected %s", what, sim_fault_name(verdict.fault),
                 sim_output_name(verdict.culprit), verdict.where, verdict.look,
                 sim_fault_name(fault));
    assert_true(verdict.pass == (fault == SIM_FAULT_NONE));
    assert_true((verdict.map.error != NULL) == (fault != SIM_FAULT_NONE));
    sim_verdict_free(&verdict);
}

struct fa_problem fault_shape(int index, enum fa_dtype dtype)
{
    struct fa_problem p = fa_problem_make(37, 53, 9);
    if (index == 0) {
        p.batch = 2;
        p.heads = 4;
        p.kv_heads = 2;
        p.dv = 5;
        p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    } else if (index == 1) {
        p = fa_problem_make(50, 33, 16);
        p.heads = p.kv_heads = 3;
        p.causal = FA_CAUSAL_TOP_LEFT;
    } else if (index == 2) {
        p = fa_problem_make(65, 65, 40);
        p.heads = 2;
        p.causal = FA_CAUSAL_BOTTOM_RIGHT;
    } else {
        p = fa_problem_make(70, 90, 80);
        p.batch = 2;
    }
    p.dtype = dtype;
    return p;
}

int64_t fault_count(const struct fa_tensor *t)
{
    return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
}

void fault_add_noise(const struct fa_tensor *t, double size)
{
    struct random_stream stream = {11};
    for (int64_t e = 0; e < fault_count(t); e++)
        fa_dtype_set(t->dtype, t->data, e,
                     fa_dtype_get(t->dtype, t->data, e) + size * (2 * random_unit(&stream) - 1));
}

/* The right values, in another order: o holds at [b][x][y][z] what stands at order's axes. */
void fault_reorder(struct fa_tensor *t, const int order[4])
{
    double *values = malloc((size_t)fault_count(t) * sizeof *values);
    int64_t n = 0, at[4];
    for (at[order[0]] = 0; at[order[0]] < t->shape[order[0]]; at[order[0]]++)
        for (at[order[1]] = 0; at[order[1]] < t->shape[order[1]]; at[order[1]]++)
            for (at[order[2]] = 0; at[order[2]] < t->shape[order[2]]; at[order[2]]++)
                for (at[order[3]] = 0; at[order[3]] < t->shape[order[3]]; at[order[3]]++)
                    values[n++] = fa_tensor_get(t, at[0], at[1], at[2], at[3]);
    for (int64_t e = 0; e < n; e++)
        fa_dtype_set(t->dtype, t->data, e, values[e]);
    free(values);
}
