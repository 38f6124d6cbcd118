/*
 * Attention on a GPU: the ladder of kernels, called with device pointers from C or from any
 * program.
 *
 * What is computed is struct fa_problem's own definition. Its pointers (mask, bias, dropout_keep,
 * blocks) are host tensors and must be NULL here; a block mask in device memory comes by struct
 * gpu_options. Dropout's bits are Philox's, the reference's own.
 *
 * Shapes: q [batch, heads, nq, d], k [batch, kv_heads, nk, d], v [batch, kv_heads, nk, dv],
 * o [batch, heads, nq, dv] in the problem's dtype, lse [batch, heads, nq] in f32.
 * Units: strides in elements. The last axis lies side by side (stride 1); the others may have any
 * stride that is not negative, an input's may be 0 (broadcast).
 * Needs: data on the current device, aligned to its element; a rung says what more it wants.
 * Outputs and the workspace may overlap neither each other, nor an input, nor themselves. They may be
 * interleaved, as dq, dk and dv packed in rows [batch, n, 3, heads, d], where a stride that one of
 * them has shows them to lie apart.
 *
 * A call checks all of that, then launches on the stream and returns without waiting. It takes no
 * memory, keeps nothing, and two threads may call at once. When it returns another status than
 * FA_OK nothing was written: FA_BAD_ARGUMENT for what contradicts this page, FA_UNSUPPORTED for
 * what the rung does not take, FA_TOO_LARGE for counts past the launch's, FA_DOES_NOT_FIT for a
 * tile that the device's shared memory cannot hold, FA_MISSING_PART without a device or a kernel
 * for it. Two statuses are other: FA_IO and FA_NO_MEMORY, where CUDA refuses a launch or tells of an
 * error of an earlier one, may come after a part of the kernels was launched, and leave the outputs
 * undefined.
 */
#ifndef CUDA_GPU_H
#define CUDA_GPU_H

#include <stdint.h>

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPU_API __attribute__((visibility("default")))
#else
#define GPU_API
#endif

/* A tensor in device memory: batch, head, row, column. */
struct gpu_tensor {
    void *data;
    int64_t stride[4];
};

struct gpu_forward {
    struct gpu_tensor q, k, v, o;
    struct gpu_tensor lse; /* f32; stride[3] is not looked at; data NULL: nobody asks for it */
};

struct gpu_backward {
    struct gpu_tensor q, k, v, o, lse, d_o; /* what the forward pass took and gave, and dO */
    struct gpu_tensor dq, dk, dv;
};

struct gpu_options {
    void *stream;    /* a cudaStream_t; NULL: the default stream */
    void *workspace; /* device memory of the rung's workspace_bytes, aligned to 256; else unused */
    /* A block mask whose bytes lie in device memory; any byte other than 0 may be attended. */
    const struct fa_block_mask *blocks;
    bool deterministic; /* backward: dQ has the same bits each time */
};

/* Tiles of a pass, `br` queries by `bc` keys: what is loaded once for a tile serves all of it. */
struct gpu_tiles {
    int64_t br, bc;       /* the forward kernel's, or those of the kernel that owns dK and dV */
    int64_t dq_br, dq_bc; /* the kernel's that owns dQ; 0: the other one adds to dQ atomically */
    /* Blocks that share a tile of dK and dV, 1 or 2: each has its columns of these, and reads all
     * that the tile needs. */
    int64_t parts;
};

struct gpu_rung {
    const char *name;  /* "flash2" */
    const char *idea;  /* in what it differs from the rung below, one sentence */
    const char *takes; /* for people: what it takes */

    /* Bytes of workspace that a forward or backward call needs, possibly 0. */
    enum fa_status (*workspace_bytes)(const struct fa_problem *problem, bool backward,
                                      int64_t *bytes, struct fa_error *error);
    /* options may be NULL: the default stream, no block mask. */
    enum fa_status (*forward)(const struct fa_problem *problem, const struct gpu_forward *tensors,
                              const struct gpu_options *options, struct fa_error *error);
    /* NULL where the rung has none. */
    enum fa_status (*backward)(const struct fa_problem *problem, const struct gpu_backward *tensors,
                               const struct gpu_options *options, struct fa_error *error);
    /* The tiles that a pass over a problem which the rung takes would have, for counting its
     * traffic. `deterministic` is the option's, and only matters backward. */
    void (*tiles)(const struct fa_problem *problem, bool backward, bool deterministic,
                  struct gpu_tiles *tiles);
};

/* The rungs of this build, from the lowest on, `gpu_rung_count` of them. */
GPU_API extern const struct gpu_rung *const gpu_rungs[];
GPU_API extern const int gpu_rung_count;

/* NULL if no rung has the name. */
GPU_API const struct gpu_rung *gpu_rung_find(const char *name);

/*
 * The same by name, for callers that hold a library handle and no C structs with functions in them.
 * FA_BAD_ARGUMENT, with the names there are, for an unknown rung.
 */
GPU_API enum fa_status gpu_forward(const char *rung, const struct fa_problem *problem,
                                   const struct gpu_forward *tensors,
                                   const struct gpu_options *options, struct fa_error *error);
GPU_API enum fa_status gpu_backward(const char *rung, const struct fa_problem *problem,
                                    const struct gpu_backward *tensors,
                                    const struct gpu_options *options, struct fa_error *error);

/* Element index of row `row` of a head: 64-bit products, since 2^31 elements are not many. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int64_t
    gpu_row_index(const struct gpu_tensor *tensor, int64_t batch, int64_t head, int64_t row)
{
    return batch * tensor->stride[0] + head * tensor->stride[1] + row * tensor->stride[2];
}

#ifdef __cplusplus
}
#endif
#endif
