#include "tests/view_traced.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

struct tensors {
    struct fa_tensor q, k, v, o, lse, dout, dq, dk, dv, mask, bias, keep;
};

static void release(void *owner)
{
    struct tensors *t = owner;
    struct fa_tensor *const all[] = {&t->q,  &t->k,  &t->v,  &t->o,    &t->lse,  &t->dout,
                                     &t->dq, &t->dk, &t->dv, &t->mask, &t->bias, &t->keep};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        fa_tensor_free(all[n]);
    free(t);
}

/* Numbers from -1 to 1, of u8 zeros and ones. */
static void make(struct fa_tensor *tensor, enum fa_dtype dtype, int64_t batch, int64_t heads,
                 int64_t rows, int64_t columns, uint64_t *random)
{
    const int64_t shape[4] = {batch, heads, rows, columns};
    assert_int_equal(fa_tensor_create(tensor, dtype, shape, NULL), FA_OK);
    for (int64_t n = 0; n < batch * heads * rows * columns; n++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
        double value = (double)(*random >> 40) / (1 << 23) - 1;
        fa_dtype_set(dtype, tensor->data, n, dtype == FA_U8 ? value > -0.5 : value);
    }
}

static const struct fa_tensor *make_like(struct fa_tensor *tensor, const struct fa_tensor *shape,
                                         uint64_t *random)
{
    if (!shape)
        return NULL;
    make(tensor, shape->dtype, shape->shape[0], shape->shape[1], shape->shape[2], shape->shape[3],
         random);
    return tensor;
}

struct view_source view_traced_source(const struct trace_case *which)
{
    struct tensors *t = calloc(1, sizeof *t);
    uint64_t random = 7;
    assert_non_null(t);
    struct view_source source = {.owner = t, .release = release};
    source.experiment = trace_case_experiment(which, NULL);
    struct sim_experiment *e = &source.experiment;
    struct fa_problem *p = &e->problem;
    enum fa_dtype statistic = p->dtype == FA_F64 ? FA_F64 : FA_F32;
    make(&t->q, p->dtype, p->batch, p->heads, p->nq, p->d, &random);
    make(&t->k, p->dtype, p->batch, p->kv_heads, p->nk, p->d, &random);
    make(&t->v, p->dtype, p->batch, p->kv_heads, p->nk, p->dv, &random);
    make(&t->o, p->dtype, p->batch, p->heads, p->nq, p->dv, &random);
    make(&t->lse, statistic, p->batch, p->heads, p->nq, 1, &random);
    make(&t->dout, p->dtype, p->batch, p->heads, p->nq, p->dv, &random);
    make(&t->dq, p->dtype, p->batch, p->heads, p->nq, p->d, &random);
    make(&t->dk, p->dtype, p->batch, p->kv_heads, p->nk, p->d, &random);
    make(&t->dv, p->dtype, p->batch, p->kv_heads, p->nk, p->dv, &random);
    p->mask = make_like(&t->mask, p->mask, &random);
    p->bias = make_like(&t->bias, p->bias, &random);
    p->dropout_keep = make_like(&t->keep, p->dropout_keep, &random);
    e->mode = SIM_COUNTED;
    e->q = &t->q, e->k = &t->k, e->v = &t->v, e->o = &t->o, e->lse = &t->lse;
    if (e->pass == SIM_BACKWARD)
        e->dout = &t->dout, e->dq = &t->dq, e->dk = &t->dk, e->dv = &t->dv;
    return source;
}

struct view_run *view_traced_open(const struct trace_case *which)
{
    struct view_source source = view_traced_source(which);
    struct view_run *run = NULL;
    struct fa_error error = {FA_OK, ""};
    if (view_run_open(&source, NULL, &run, &error) != FA_OK)
        fail_msg("%s of %s: %s", which->name, which->algorithm->name, error.text);
    return run;
}

struct view_run *view_traced_adopt(const struct trace_case *which)
{
    struct sim_result result;
    struct fa_error error = {FA_OK, ""};
    struct sim_trace *trace = trace_case_run(which, &result, &error);
    struct view_run *run = NULL;
    if (!trace || view_run_adopt(trace, NULL, "Counted alone.", &run, &error) != FA_OK)
        fail_msg("%s of %s: %s", which->name, which->algorithm->name, error.text);
    return run;
}
