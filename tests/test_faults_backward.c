/* Faults of a backward pass whose forward pass is right. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/gradients.h"
#include "tests/fault_case.h"

/* A backward pass of its own, with the right LSE and delta, that sees `beyond` keys more and
 * forgets delta, or queries of the last tile, or all query heads of a group but the last. */
struct mistake {
    int64_t beyond, fewer_rows;
    bool no_delta, one_head;
};

static void wrong_backward(struct fault_sample *s, struct mistake mistake)
{
    const struct fa_problem *p = &s->problem;
    const struct fa_tensor *out = s->output;
    int64_t group = p->heads / p->kv_heads;
    for (int i = SIM_OUT_DQ; i <= SIM_OUT_DV; i++)
        memset(out[i].data, 0, (size_t)fault_count(&out[i]) * fa_dtype_bytes(out[i].dtype));
    for (int64_t n = 0; n < p->batch * p->heads * p->nq * p->nk; n++) {
        int64_t j = n % p->nk, r = n / p->nk % p->nq, h = n / p->nk / p->nq % p->heads;
        int64_t b = n / p->nk / p->nq / p->heads, g = h / group;
        double score = 0, delta = 0, dp = 0, lse = fa_tensor_get(&out[SIM_OUT_LSE], b, h, r, 0);
        if (j > r + (p->causal == FA_CAUSAL_TOP_LEFT ? 0 : p->nk - p->nq) + mistake.beyond ||
            r >= p->nq - mistake.fewer_rows || (mistake.one_head && (h + 1) % group != 0))
            continue;
        for (int64_t c = 0; c < p->d; c++)
            score += p->scale * fa_tensor_get(&s->q, b, h, r, c) * fa_tensor_get(&s->k, b, g, j, c);
        for (int64_t c = 0; c < p->dv; c++) {
            double dout = fa_tensor_get(&s->dout, b, h, r, c);
            delta += dout * fa_tensor_get(&out[SIM_OUT_O], b, h, r, c);
            dp += dout * fa_tensor_get(&s->v, b, g, j, c);
        }
        double weight = exp(score - lse),
               ds = p->scale * weight * (dp - (mistake.no_delta ? 0 : delta));
        for (int64_t c = 0; c < p->d; c++) {
            double k = fa_tensor_get(&s->k, b, g, j, c), q = fa_tensor_get(&s->q, b, h, r, c);
            fa_tensor_set(&out[SIM_OUT_DQ], b, h, r, c,
                          fa_tensor_get(&out[SIM_OUT_DQ], b, h, r, c) + ds * k);
            fa_tensor_set(&out[SIM_OUT_DK], b, g, j, c,
                          fa_tensor_get(&out[SIM_OUT_DK], b, g, j, c) + ds * q);
        }
        for (int64_t c = 0; c < p->dv; c++)
            fa_tensor_set(&out[SIM_OUT_DV], b, g, j, c,
                          fa_tensor_get(&out[SIM_OUT_DV], b, g, j, c) +
                              weight * fa_tensor_get(&s->dout, b, h, r, c));
    }
}

static void expect_gradients(const struct fault_sample *s, enum sim_fault fault, const char *words)
{
    struct sim_verdict verdict = fault_sample_judge(s);
    if (verdict.fault != fault || !strstr(verdict.look, words))
        fail_msg("%s in %s: %s (expected %s: %s)", sim_fault_name(verdict.fault),
                 sim_output_name(verdict.culprit), verdict.look, sim_fault_name(fault), words);
    sim_verdict_free(&verdict);
}

/* Each gradient alone is judged once the others are right. */
static void backward_mistakes(void **state)
{
    (void)state;
    static const struct {
        struct mistake mistake;
        enum sim_fault fault;
        const char *words;
        bool in_dq, in_dv;
    } cases[] = {
        {{.beyond = 1}, SIM_FAULT_DIAGONAL, "one long", true, true},
        {{.beyond = -1}, SIM_FAULT_DIAGONAL, "one short", true, true},
        {{.beyond = -16}, SIM_FAULT_CAUSAL_ALIGNMENT, "top left", true, true},
        {{.fewer_rows = 5}, SIM_FAULT_LAST_TILE, "Nq % Br", false, true},
        {{.no_delta = true}, SIM_FAULT_OTHER, "without delta", true, false},
        {{.one_head = true}, SIM_FAULT_OTHER, "the last query head", false, true},
    };
    struct fa_problem p = fault_shape(0, FA_F64); /* 37 queries, 53 keys */
    struct fault_sample right = fault_sample_make(p, FA_PROFILE_GAUSS, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true);
        wrong_backward(&s, (struct mistake){0});
        expect_gradients(&s, SIM_FAULT_NONE, "");
        for (int which = SIM_OUT_DQ; which <= SIM_OUT_DV; which++) {
            size_t bytes = (size_t)fault_count(&s.output[which]) * 8;
            if ((which == SIM_OUT_DQ && !cases[i].in_dq) ||
                (which == SIM_OUT_DV && !cases[i].in_dv))
                continue;
            wrong_backward(&s, cases[i].mistake);
            for (int other = SIM_OUT_DQ; other <= SIM_OUT_DV; other++)
                if (other != which)
                    memcpy(s.output[other].data, right.output[other].data,
                           (size_t)fault_count(&s.output[other]) * 8);
            expect_gradients(&s, cases[i].fault, cases[i].words);
            fault_add_noise(&s.output[which], 1e-6); /* far above a budget of f64: two faults */
            expect_gradients(&s, SIM_FAULT_OTHER, "none of the known faults");
            memcpy(s.output[which].data, right.output[which].data, bytes);
        }
        fault_sample_free(&s);
    }
    for (int which = SIM_OUT_DQ; which <= SIM_OUT_DV; which++) {
        struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true);
        for (int64_t e = 0; e < fault_count(&s.output[which]); e++)
            fa_dtype_set(FA_F64, s.output[which].data, e,
                         3 * fa_dtype_get(FA_F64, s.output[which].data, e));
        expect_gradients(&s, which == SIM_OUT_DV ? SIM_FAULT_ROW_SCALE : SIM_FAULT_SCALE,
                         " is 3 times");
        fault_sample_free(&s);
    }
    fault_sample_free(&right);
}

/* A head of more than 2^28 products: mistakes are tried on few of its keys first. */
static void a_large_head(void **state)
{
    (void)state;
    struct fa_problem p = fa_problem_make(1500, 1500, 64);
    p.dtype = FA_F32;
    struct fault_sample s = fault_sample_make(p, FA_PROFILE_GAUSS, true);
    int64_t *keys = malloc(1500 * sizeof *keys), over = 1500 % 16;
    double *dv = malloc(1500 * 64 * sizeof *dv);
    struct fa_tensor cut = fault_tensor(FA_F32, 1, 1, 1500, 64);
    assert_true(keys && dv);
    memcpy(cut.data, s.dout.data, (size_t)(1500 - over) * 64 * sizeof(float));
    memset((float *)cut.data + (1500 - over) * 64, 0, (size_t)over * 64 * sizeof(float));
    for (int64_t i = 0; i < 1500; i++)
        keys[i] = i;
    const struct fa_gradient_parts parts = {.keys = keys, .n_keys = 1500};
    assert_int_equal(
        fa_oracle_gradients(&p, &s.q, &s.k, &s.v, &cut, 0, &parts, NULL, NULL, dv, NULL), FA_OK);
    for (int64_t e = 0; e < 1500 * 64; e++)
        fa_dtype_set(FA_F32, s.output[SIM_OUT_DV].data, e, dv[e]);
    expect_gradients(&s, SIM_FAULT_LAST_TILE, "Nq % Br");
    free(keys);
    free(dv);
    fa_tensor_free(&cut);
    fault_sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_mistakes),
        cmocka_unit_test(a_large_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
