/*
 * Judging the outputs of somebody else's attention: how far they are from the oracle, where, and
 * what kind of mistake they look like.
 *
 * Each output that is given is compared as check.h and check_gradients.h compare ours, against the
 * same budgets. Where one is wrong, the first wrong one in the order O, LSE, dQ, dK, dV is looked
 * at closely: all its rows, or the sampled ones and the worst, are set beside the oracle's, and the
 * first of these that fits names the fault. Wrong elements are those above the tensor's budget; where
 * there is none and only parts fail, those above their part's.
 *
 *    1  unwritten         at least half of the wrong elements hold a pattern that memory is filled
 *                         with: NaN of all bits set (0xFF..), 0xCDCD.., 0xCCCC.., 0xAAAA.., ...
 *    2  nan               NaN or infinity on one side only
 *    3  zeros             every wrong element is 0
 *    4  layout            right once the buffer is read in the other of bhsd and bshd
 *    5  transposed        right once the buffer is read with rows and columns exchanged
 *    6  head-swap         every wrong head holds another head's right values
 *    7  base2-lse         LSE alone: right after a multiplication by ln 2
 *    8  causal-alignment  right under the other alignment of the diagonal
 *    9  diagonal          right with the diagonal, or an edge of the window, one key further or one
 *                         short, or with the mask applied to whole tiles alone (`other`: right
 *                         without causal and window or one of them, with the window's edges
 *                         exchanged, or under a causal mask that was not asked for)
 *   10  last-tile         right with the last key tile's padding counted as keys (of zeros, or of
 *                         the last key again), with the ragged tile left out, or one key off; of
 *                         tiles of 16 to 256 keys too, whatever tiles are said
 *   11  scale             right with another scale: none, 1/d, sqrt(d), of a padded d, of 2^x
 *   12  head-swap, layout, transposed: right with K and V of other heads, with all tensors in the
 *                         other layout, with K or V read transposed (`other`: without dropout)
 *   13  zeros, unwritten  at least 16 and 90 % of the wrong elements are 0, or one other number
 *   14  scale, row-scale  every wrong row is the right one times a number, and at most half as far
 *                         from that as from the right one: one number for all of dQ or dK is a
 *                         scale, any other a row-scale
 *   15  last-tile         wrong in the ragged last tile of rows (of keys, for dK and dV) alone, and
 *                         there are others
 *   16  other             none of these
 *
 * 8 to 12 are recomputed by the oracle on at most 64 rows of all heads, wrong ones and right ones,
 * for O, and for LSE beside a right O. They hold if the output agrees with that within that
 * problem's own budget (half as much again, since few rows are looked at), and at most half as badly
 * as with the truth: noise a little above its budget is no fault of the mask. A gradient that is
 * wrong while O and LSE are right is tried in up to two wrong K/V heads with the right LSE and
 * delta, which a backward pass reads: under 8 to 10 and a wrong scale of S, without dropout, without
 * delta, without the last tile's queries, and with one query head of a group alone. Then under the
 * same with LSE and delta of the mistake's own, as a backward pass has that computes its softmax
 * again. Not where a head has more than 2^31 products (2^26 with that). Two faults in one output
 * are named by the one that comes first here, or `other`; never `none`.
 */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "simulator/check_gradients.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sim_fault {
    SIM_FAULT_NONE,
    SIM_FAULT_NAN,
    SIM_FAULT_ZEROS,
    SIM_FAULT_UNWRITTEN,
    SIM_FAULT_LAST_TILE,
    SIM_FAULT_DIAGONAL,
    SIM_FAULT_CAUSAL_ALIGNMENT,
    SIM_FAULT_ROW_SCALE,
    SIM_FAULT_BASE2_LSE,
    SIM_FAULT_SCALE,
    SIM_FAULT_HEAD_SWAP,
    SIM_FAULT_TRANSPOSED,
    SIM_FAULT_LAYOUT,
    SIM_FAULT_OTHER,
    SIM_FAULTS
};

const char *sim_fault_name(enum sim_fault fault); /* "none", "last-tile", ... */

enum sim_output { SIM_OUT_O, SIM_OUT_LSE, SIM_OUT_DQ, SIM_OUT_DK, SIM_OUT_DV, SIM_OUTPUTS };

const char *sim_output_name(enum sim_output output); /* "O", "LSE", "dQ", "dK", "dV" */

/* What is judged. Shapes as in problem.h and check_gradients.h; any float formats. */
struct sim_theirs {
    const struct fa_problem *problem;
    const struct fa_tensor *q, *k, *v;
    const struct fa_tensor *dout;                /* with dq, dk or dv; else NULL */
    const struct fa_tensor *output[SIM_OUTPUTS]; /* O always; NULL: not given */
    int64_t br, bc;                              /* the tiles that they use; 1 or more */
    /* 1, or what theirs are allowed over a naive run: check.h, check_gradients.h. */
    double error_factor, error_factor_dq, error_factor_dkv;
};

/* One output beside the oracle. */
struct sim_judged {
    bool given, pass;
    struct fa_comparison compared;
    double budget;
    struct sim_check_part part;
    /* Batch, head, row or key, column; -1: nothing differs. Of the worst part where only parts
     * fail. */
    int64_t worst[4];
    double theirs, right; /* of the worst element */
    /* Elements that no right output holds, in rows that the sample leaves out; the worst is one of
     * them then (check_scan.h). */
    int64_t beyond;
};

/* Whether the output is within its budget as a whole, but not within those of its parts. */
bool sim_judged_fails_in_parts(const struct sim_judged *judged);

/* The largest error of each tile of rows of one output, in units of the budget: where only parts
 * fail, of the smallest budget of those, and without the rows that are within their own part's. */
struct sim_fault_map {
    int64_t heads, tiles; /* the output's heads, batch-major, and its tiles of rows or of keys */
    int64_t side;         /* rows of a tile */
    float *error;         /* heads x tiles; INFINITY for NaN, NaN where nothing was looked at */
};

/* What is off in the same output beside the fault: of `nan` and `zeros`, wrong elements that hold
 * something else; and elements above their part's budget, in parts where none is above the
 * tensor's. It may be the same fault, smaller, or another one; it is not named. */
struct sim_fault_rest {
    int64_t elements, parts;
    int64_t first[4]; /* batch, head, row or key, column; -1 for none */
};

enum { SIM_FAULT_TEXT = 320 };

struct sim_verdict {
    bool pass, sampled;
    int64_t underflowed; /* elements left out, as check.h says */
    int64_t nonfinite_inputs; /* elements of q, k, v, dout and bias that are NaN or infinite */
    struct sim_judged output[SIM_OUTPUTS];
    enum sim_fault fault;
    enum sim_output culprit;    /* the output that fault, where, look, rest and map are about */
    char where[SIM_FAULT_TEXT]; /* "2 of 130 rows, from row 128 to 129"; "" for none */
    char look[SIM_FAULT_TEXT];  /* what it looks like, and what to look at first */
    struct sim_fault_rest rest;
    struct sim_fault_map map; /* error NULL for none */
};

/*
 * Judges. mode SAMPLE compares and looks at what check.h and check_gradients.h say, FULL at all.
 * Of an output whose sampled rows are right all elements are scanned too: see check_scan.h.
 * threads >= 1; watch may be NULL: its share starts again with each part of the work, which are
 * comparing, solving the wrong output, and each mistake that is tried.
 * Errors: FA_NO_MEMORY, FA_CANCELLED; *verdict is untouched then. Free it with sim_verdict_free.
 */
enum fa_status sim_verdict_make(const struct sim_theirs *theirs, enum sim_check_mode mode,
                                int threads, const struct fa_watch *watch,
                                struct sim_verdict *verdict, struct fa_error *error);
void sim_verdict_free(struct sim_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
