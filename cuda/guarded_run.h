/*
 * One call of a rung, watched: inputs go to the device, the outputs hold bytes of 0xff before and
 * stand between guards, and afterwards each byte is looked at. Stale output is never taken for a
 * result.
 *
 * The tensors are host tensors of any strides, in the problem's dtype; lse is f32. The problem's
 * block mask, a host one as everywhere in the reference, goes to the device too.
 */
#ifndef CUDA_GUARDED_RUN_H
#define CUDA_GUARDED_RUN_H

#include "cuda/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the tensors lie on the device. */
enum gpu_layout {
    GPU_BHSD,   /* [batch, heads, rows, columns] */
    GPU_BSHD,   /* [batch, rows, heads, columns] */
    GPU_PADDED, /* the same, and eight unused elements after each row */
    GPU_LAYOUTS
};

struct gpu_guarded_call {
    const struct gpu_rung *rung;
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    enum gpu_layout layout; /* of all but lse */
    bool without_lse;       /* forward: nobody asks for it */
    bool deterministic;     /* backward: the option's */
};

/* What was seen beside the results. */
struct gpu_guarded_seen {
    bool refused;     /* the status is the rung's own: it did not take the call */
    char damage[128]; /* "" or what is wrong with the bytes: "O: element 12 was not written" */
};

/*
 * Returns FA_OK and new contiguous tensors (free them with fa_tensor_free); the rung's status with
 * seen->refused where it refused; else FA_NO_MEMORY, FA_IO for an error of a kernel,
 * FA_MISSING_PART without a device. The results are untouched then.
 * Forward: o [batch, heads, nq, dv], lse [batch, heads, nq, 1], zeroed where nobody asked for it.
 */
enum fa_status gpu_guarded_forward(const struct gpu_guarded_call *call, struct fa_tensor *o,
                                   struct fa_tensor *lse, struct gpu_guarded_seen *seen,
                                   struct fa_error *error);

/* The rung must have a backward pass. gradients: dq, dk, dv, in the shapes of q, k, v. */
enum fa_status gpu_guarded_backward(const struct gpu_guarded_call *call, const struct fa_tensor *o,
                                    const struct fa_tensor *lse, const struct fa_tensor *d_o,
                                    struct fa_tensor gradients[3], struct gpu_guarded_seen *seen,
                                    struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
