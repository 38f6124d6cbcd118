/*
 * An experiment's tensors, as its options ask for them: read from .npy files, or made from a seed
 * and a profile.
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "reference/npy.h"
#include "simulator/cli/problem_options.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cli_need {
    CLI_NEED_SHAPES, /* the problem with its masks and bias alone: q, k, v, o, lse have no data */
    CLI_NEED_INPUTS, /* q, k, v too, and dout with a backward pass */
    CLI_NEED_OUTPUTS /* o and lse too, and dq, dk, dv with a backward pass, filled with NaN */
};

/* Stays where it was opened: problem.mask, bias, dropout_keep and blocks point into it. */
struct cli_inputs {
    struct fa_problem problem;
    struct fa_tensor q, k, v, o, lse; /* shapes as in problem.h, strides of the layout */
    struct fa_tensor dout, dq, dk, dv;
    struct fa_tensor mask, bias, keep;
    struct fa_npy block_file; /* of --block-mask; data NULL: none */
    struct fa_block_mask blocks;
    bool blocks_made; /* by a pattern: they own their bytes */
    int rank; /* of q.npy, and so of what is written: 4, 3 (no batch) or 2 (no heads either) */
    enum cli_layout layout;
};

/*
 * Shapes. --in: q.npy, k.npy and v.npy have the same rank, and in the layout's order the axes
 * [batch, heads, seq, d], [heads, seq, d] ([seq, heads, d] in bshd) or [seq, d]; options that say
 * a size must say the files'; with a backward pass do.npy is read too, in the shape of O. Else as
 * the options say, of rank 4. --mask and --bias: 4 axes or fewer leading ones; --dropout-mask: all
 * 4. All float inputs are rounded to --dtype. A block mask waits for the tiles: cli_inputs_block.
 * Errors: those of cli_problem_check, cli_problem_make and fa_npy_read; FA_BAD_FILE for a rank or a
 * shape that does not fit, FA_BAD_ARGUMENT for an option that does not agree with the files,
 * FA_NO_MEMORY, before any is taken, where the tensors and what the algorithms keep beside
 * them are more than the computer has.
 */
enum fa_status cli_inputs_open(struct cli_inputs *inputs, const struct cli_problem *options,
                               enum cli_need need, struct fa_error *error);
void cli_inputs_close(struct cli_inputs *inputs);

/*
 * Sets problem.blocks for tiles of br x bc, in place of those before, where the options ask for a
 * block mask. Errors: FA_BAD_FILE, which names both shapes, for a file of another Tr x Tc;
 * FA_NO_MEMORY.
 */
enum fa_status cli_inputs_block(struct cli_inputs *inputs, const struct cli_problem *options,
                                int64_t br, int64_t bc, struct fa_error *error);

/* A contiguous tensor of the logical shape [batch, heads, rows, columns] in the layout. */
enum fa_status cli_tensor_create(struct fa_tensor *tensor, enum fa_dtype dtype,
                                 enum cli_layout layout, const int64_t shape[4],
                                 struct fa_error *error);

/* Fills every element with NaN. */
void cli_tensor_poison(const struct fa_tensor *tensor);

/* FA_NO_MEMORY if `bytes` are more than the computer's memory; `what` needs them. */
enum fa_status cli_check_memory(double bytes, const char *what, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
