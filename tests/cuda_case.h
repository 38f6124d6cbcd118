/*
 * One forward pass of a rung over an attention_case, on whatever the linked library calls a device:
 * a GPU, or the shim.
 */
#ifndef TESTS_CUDA_CASE_H
#define TESTS_CUDA_CASE_H

#include "cuda/gpu.h"
#include "tests/attention_case.h"
#include "tests/forward_pass.h"

struct cuda_pass {
    const struct gpu_rung *rung;
    enum forward_layout layout; /* of all tensors; FORWARD_SCATTERED pads rows by 8 elements */
    bool without_lse;
};

/*
 * Uploads the case, runs the rung into outputs that hold bytes of 0xff before and stand between
 * guards, and downloads them. The problem's block mask goes to the device. Returns the rung's
 * status, *result untouched unless it is FA_OK; fails the running test if a guard or a gap was
 * written, if an output has an element that nobody wrote, or if a refused call wrote any.
 */
enum fa_status cuda_pass_run(const struct cuda_pass *pass, const struct attention_case *attention,
                             struct forward_result *result, struct fa_error *error);

/* Fails the running test unless the rung's result is within forward_pass.h's budget of the answer.
 * False, and nothing is checked, where the rung does not take the case. */
bool cuda_pass_check(const struct cuda_pass *pass, const struct attention_case *attention,
                     const char *label);

/*
 * One forward pass, then the backward pass from its O and LSE and a dO of normal numbers, fenced in
 * the same way, against sim_check_backward's budget. False where the rung has no backward pass.
 */
bool cuda_backward_check(const struct gpu_rung *rung, enum forward_layout layout,
                         const struct attention_case *attention, const char *label);

/* A case of our own: the problem with inputs of the profile, and the oracle's answer. */
void cuda_case_make(struct attention_case *attention, const struct fa_problem *problem, int profile,
                    uint64_t seed);

/* The same call of every rung, as far as it takes the case; how many did. */
int cuda_check_rungs(const struct attention_case *attention, enum forward_layout layout,
                     const char *label);

#endif
