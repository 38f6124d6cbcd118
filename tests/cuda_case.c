#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/guarded_run.h"
#include "reference/profile.h"
#include "simulator/check_gradients.h"
#include "tests/cuda_case.h"

static void must(enum fa_status status, const struct fa_error *error)
{
    if (status != FA_OK)
        fail_msg("the device: %s", error->text);
}

static enum gpu_layout on_device(enum forward_layout layout)
{
    static const enum gpu_layout layouts[] = {
        [FORWARD_BHSD] = GPU_BHSD, [FORWARD_BSHD] = GPU_BSHD, [FORWARD_SCATTERED] = GPU_PADDED};
    return layouts[layout];
}

static struct gpu_guarded_call call_of(const struct gpu_rung *rung, enum forward_layout layout,
                                       const struct attention_case *attention)
{
    return (struct gpu_guarded_call){.rung = rung,
                                     .problem = &attention->problem,
                                     .q = &attention->q,
                                     .k = &attention->k,
                                     .v = &attention->v,
                                     .layout = on_device(layout)};
}

/* The call's own status, or the test fails. */
static enum fa_status must_be_clean(enum fa_status status, const struct gpu_guarded_seen *seen,
                                    const struct fa_error *error)
{
    if (seen->damage[0])
        fail_msg("%s", seen->damage);
    if (!seen->refused)
        must(status, error);
    return status;
}

/* The elements of a contiguous tensor as doubles. */
static double *values_of(const struct fa_tensor *tensor, int64_t *n)
{
    must(fa_shape_elements(tensor->shape, n, NULL), NULL);
    double *values = malloc((size_t)(*n + 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < *n; i++)
        values[i] = fa_dtype_get(tensor->dtype, tensor->data, i);
    return values;
}

enum fa_status cuda_pass_run(const struct cuda_pass *pass, const struct attention_case *attention,
                             struct forward_result *result, struct fa_error *error)
{
    struct gpu_guarded_call call = call_of(pass->rung, pass->layout, attention);
    struct gpu_guarded_seen seen;
    struct fa_tensor o, lse;
    call.without_lse = pass->without_lse;
    enum fa_status status = gpu_guarded_forward(&call, &o, &lse, &seen, error);
    if (must_be_clean(status, &seen, error) != FA_OK)
        return status;
    memset(result, 0, sizeof *result);
    result->o = values_of(&o, &result->n_o);
    if (!pass->without_lse)
        result->lse = values_of(&lse, &result->n_lse);
    fa_tensor_free(&o);
    fa_tensor_free(&lse);
    return FA_OK;
}

/* Tiles as the rungs have them, for the budget. */
static struct forward_pass budget_pass(const struct gpu_rung *rung, const struct fa_problem *p)
{
    int64_t wide = p->d > p->dv ? p->d : p->dv;
    if (strcmp(rung->name, "flash1") == 0)
        return (struct forward_pass){.algorithm = &fa_flash1, .tiles = forward_tiles(32, 32, 1, 0)};
    return (struct forward_pass){
        .algorithm = strcmp(rung->name, "standard") == 0 ? &fa_standard : &fa_flash2,
        .tiles = wide > 128 ? forward_tiles(32, 32, 1, 0) : forward_tiles(64, 64, 1, 0),
    };
}

bool cuda_pass_check(const struct cuda_pass *pass, const struct attention_case *attention,
                     const char *label)
{
    struct forward_result result;
    struct fa_error error = {FA_OK, ""};
    char name[256];
    snprintf(name, sizeof name, "%s, %s, %s", pass->rung->name,
             fa_dtype_name(attention->problem.dtype), label);
    enum fa_status status = cuda_pass_run(pass, attention, &result, &error);
    if (status == FA_UNSUPPORTED || status == FA_MISSING_PART) /* another kind of device */
        return false;
    if (status != FA_OK)
        fail_msg("%s: %s", name, error.text);
    struct forward_pass as = budget_pass(pass->rung, &attention->problem);
    struct forward_budget budget = forward_budget_make(attention);
    forward_result_check(&result, &as, attention, &budget, name);
    forward_result_free(&result);
    return true;
}

static void check_gradients(const struct attention_case *attention, const struct fa_tensor *dout,
                            const struct fa_tensor gradients[3], const char *label)
{
    struct sim_check_gradients check;
    struct fa_error error = {FA_OK, ""};
    must(sim_check_backward(&attention->problem, &attention->q, &attention->k, &attention->v, dout,
                            &gradients[0], &gradients[1], &gradients[2], SIM_CHECK_FULL, 1, 1, 1,
                            NULL, &check, &error),
         &error);
    if (!check.pass)
        fail_msg("%s, backward: dq %g (%g), dk %g (%g), dv %g (%g)", label, check.dq.max_abs_error,
                 check.dq_budget, check.dk.max_abs_error, check.dk_budget, check.dv.max_abs_error,
                 check.dv_budget);
}

bool cuda_backward_check(const struct gpu_rung *rung, enum forward_layout layout,
                         const struct attention_case *attention, const char *label)
{
    struct gpu_guarded_call call = call_of(rung, layout, attention);
    struct gpu_guarded_seen seen;
    struct fa_error error = {FA_OK, ""};
    struct fa_tensor o, lse, dout, gradients[3];
    if (!rung->backward)
        return false;
    must(fa_tensor_create(&dout, attention->problem.dtype, attention->o.shape, &error), &error);
    fa_profile_fill_dout(5, &attention->problem, &dout);
    /* The rung's own O and LSE: P is formed again from the same rounded scores. */
    enum fa_status status = gpu_guarded_forward(&call, &o, &lse, &seen, &error);
    bool taken = must_be_clean(status, &seen, &error) == FA_OK;
    for (int mode = 0; taken && mode < 2; mode++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s, %s", rung->name, mode ? ", deterministic" : "", label);
        call.deterministic = mode == 1;
        status = gpu_guarded_backward(&call, &o, &lse, &dout, gradients, &seen, &error);
        must(must_be_clean(status, &seen, &error), &error);
        check_gradients(attention, &dout, gradients, name);
        for (int i = 0; i < 3; i++)
            fa_tensor_free(&gradients[i]);
    }
    if (taken) {
        fa_tensor_free(&o);
        fa_tensor_free(&lse);
    }
    fa_tensor_free(&dout);
    return taken;
}

int cuda_check_rungs(const struct attention_case *attention, enum forward_layout layout,
                     const char *label)
{
    int taken = 0;
    for (int i = 0; i < gpu_rung_count; i++) {
        struct cuda_pass pass = {gpu_rungs[i], layout, false};
        taken += cuda_pass_check(&pass, attention, label);
    }
    return taken;
}

void cuda_case_make(struct attention_case *attention, const struct fa_problem *problem, int profile,
                    uint64_t seed)
{
    const struct fa_problem *p = problem;
    const int64_t q[4] = {p->batch, p->heads, p->nq, p->d};
    const int64_t k[4] = {p->batch, p->kv_heads, p->nk, p->d};
    const int64_t v[4] = {p->batch, p->kv_heads, p->nk, p->dv};
    struct fa_error error = {FA_OK, ""};
    memset(attention, 0, sizeof *attention);
    attention->problem = *p;
    must(fa_tensor_create(&attention->q, p->dtype, q, &error), &error);
    must(fa_tensor_create(&attention->k, p->dtype, k, &error), &error);
    must(fa_tensor_create(&attention->v, p->dtype, v, &error), &error);
    fa_profile_fill((enum fa_profile)profile, seed, p, &attention->q, &attention->k, &attention->v);
    forward_case_answer(attention);
}
