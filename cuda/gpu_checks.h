/*
 * What a rung's launcher asks before it launches, and the numbers that kernels take in place of the
 * host's structs. Everything here runs on the host and knows nothing of CUDA.
 */
#ifndef CUDA_GPU_CHECKS_H
#define CUDA_GPU_CHECKS_H

#include "cuda/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a rung takes. */
struct gpu_limits {
    const char *rung;
    unsigned dtypes;   /* one bit a dtype: 1u << FA_F32 */
    int64_t d_most;    /* d and dv from 1 to here */
    int64_t d_only[3]; /* if d_only[0] is set: d = dv and one of these (0: none) */
    bool window, blocks, dropout;
    bool aligned;        /* rows begin at multiples of 16 bytes */
    bool positive_scale; /* only a scale above 0 */
};

/*
 * One forward problem as a kernel sees it. Indices within a head are int: nq and nk stay below
 * 2^30. Query r sees the keys from max(0, r + first) up to, not including, min(nk, r + end).
 */
struct gpu_head_problem {
    struct gpu_tensor q, k, v, o, lse;
    int nq, nk, d, dv;
    int heads, kv_heads;             /* in a batch */
    int group;                       /* query heads of one K/V head */
    int64_t all_heads, all_kv_heads; /* batch times heads, batch times kv_heads */
    float scale;
    int first, end;
    bool whole_words;  /* rows of q, k, v allow loads of four elements at once */
    bool whole_output; /* and rows of o such stores */
    bool dropout;
    uint64_t seed, threshold; /* a weight is kept if its word is at least threshold */
    float keep_scale;         /* 1 / (1 - p) */
    const uint8_t *visit;     /* block mask; NULL: none */
    int block_br, block_bc, block_columns;
};

/* All rules of gpu.h for a forward call and the limits of the rung; fills *head when they hold.
 * Errors: FA_BAD_ARGUMENT, FA_UNSUPPORTED, FA_TOO_LARGE. */
enum fa_status gpu_forward_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                 const struct gpu_forward *tensors,
                                 const struct gpu_options *options, int64_t workspace_bytes,
                                 struct gpu_head_problem *head, struct fa_error *error);

/* One backward problem likewise. */
struct gpu_gradient_problem {
    struct gpu_head_problem head;
    struct gpu_tensor d_o, dq, dk, dv;
};

/* Bytes of a backward pass's workspace, of a problem that gpu_problem_check has passed. */
typedef enum fa_status gpu_workspace_bytes(const struct fa_problem *problem, int64_t *bytes,
                                           struct fa_error *error);

/* As gpu_forward_check for a backward call, gpu_problem_check first. */
enum fa_status gpu_backward_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                  const struct gpu_backward *tensors,
                                  const struct gpu_options *options, gpu_workspace_bytes *workspace,
                                  struct gpu_gradient_problem *gradient, struct fa_error *error);

/* Only the part about the problem, for workspace sizes. */
enum fa_status gpu_problem_check(const struct gpu_limits *limits, const struct fa_problem *problem,
                                 struct fa_error *error);

/* Whether there is nothing to write: no batch, no heads or no queries. */
static inline bool gpu_is_empty(const struct fa_problem *problem)
{
    return problem->batch == 0 || problem->heads == 0 || problem->nq == 0;
}

/* a * b * c blocks in one axis of a grid; FA_TOO_LARGE past 2^31 - 1. */
enum fa_status gpu_grid(int64_t a, int64_t b, int64_t c, unsigned *blocks, struct fa_error *error);

/* flash2's backward pass, its tiles, and the bytes of its workspace: in a file of its own. */
void gpu_flash2_backward_tiles(const struct fa_problem *problem, struct gpu_tiles *tiles);
enum fa_status gpu_flash2_delta_bytes(const struct fa_problem *problem, int64_t *bytes,
                                      struct fa_error *error);
enum fa_status gpu_flash2_backward(const struct gpu_limits *limits,
                                   const struct fa_problem *problem,
                                   const struct gpu_backward *tensors,
                                   const struct gpu_options *options, struct fa_error *error);

/* The same of mma's. */
void gpu_mma_backward_tiles(const struct fa_problem *problem, bool deterministic,
                            struct gpu_tiles *tiles);
enum fa_status gpu_mma_backward_bytes(const struct fa_problem *problem, int64_t *bytes,
                                      struct fa_error *error);
enum fa_status gpu_mma_backward(const struct gpu_limits *limits, const struct fa_problem *problem,
                                const struct gpu_backward *tensors,
                                const struct gpu_options *options, struct fa_error *error);

/* The same of ws's. */
void gpu_ws_backward_tiles(const struct fa_problem *problem, bool deterministic,
                           struct gpu_tiles *tiles);
enum fa_status gpu_ws_backward_bytes(const struct fa_problem *problem, int64_t *bytes,
                                     struct fa_error *error);
enum fa_status gpu_ws_backward(const struct gpu_limits *limits, const struct fa_problem *problem,
                               const struct gpu_backward *tensors,
                               const struct gpu_options *options, struct fa_error *error);

/* peak.h's ceiling of products where they are Hopper's, in a file of its own. */
enum fa_status gpu_wgmma_ceiling(enum fa_dtype dtype, int multiprocessors, const void *operands,
                                 float *kept, double *work, struct fa_error *error);

/* The rungs, one of each file. */
extern const struct gpu_rung gpu_standard, gpu_flash1, gpu_flash2, gpu_mma, gpu_async;
extern const struct gpu_rung gpu_wgmma, gpu_ws; /* where FLASHLAB_GPU_HOPPER is defined */

#ifdef __cplusplus
}
#endif
#endif
