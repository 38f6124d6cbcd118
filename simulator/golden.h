/*
 * Golden cases: attention problems with right answers that this project did not compute, a folder
 * each, as tests/golden/README.md lays them out.
 */
#ifndef SIM_GOLDEN_H
#define SIM_GOLDEN_H

#include "reference/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIM_GOLDEN_NAME = 64, SIM_GOLDEN_MOST = 256 };

/* Stays where it was read: the problem points into it. Tensors that a case lacks are zeroed. */
struct sim_golden {
    struct fa_problem problem;
    struct fa_tensor q, k, v, bias; /* in the dtype; rounded once in f16 and bf16 */
    struct fa_tensor mask, keep;    /* u8 */
    struct fa_tensor bytes;         /* u8: those of the block mask */
    struct fa_block_mask blocks;
    struct fa_tensor o, lse; /* f64, of the inputs as the files have them */
};

/* The names of the folders in `folder` that hold a case.json, sorted; *n of them.
 * Errors: FA_IO, FA_BAD_FILE for none or too many. */
enum fa_status sim_golden_list(const char *folder, char names[SIM_GOLDEN_MOST][SIM_GOLDEN_NAME],
                               int *n, struct fa_error *error);

/* Reads one case. Errors: those of fa_npy_read; FA_BAD_FILE for a case.json that says something
 * else, or does not agree with the arrays. Free it with sim_golden_free. */
enum fa_status sim_golden_read(const char *folder, const char *name, enum fa_dtype dtype,
                               struct sim_golden *golden, struct fa_error *error);
void sim_golden_free(struct sim_golden *golden);

/* One file of a case as a new tensor: one of rank 3 becomes [a, b, c, 1], of rank 2 [1, 1, a, b].
 * Errors: those of fa_npy_read; FA_BAD_FILE for another rank. */
enum fa_status sim_golden_tensor_read(const char *folder, const char *name, const char *file,
                                      enum fa_dtype dtype, struct fa_tensor *tensor,
                                      struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
