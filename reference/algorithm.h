/*
 * The algorithms, as data: their names, steps and independent pieces of work.
 *
 * A pass is a sequence of phases; a phase consists of units (an outer iteration for one head) that
 * do not depend on each other, so they may run in any order and on any worker. A phase begins
 * when the one before it has ended for that head.
 */
#ifndef FA_ALGORITHM_H
#define FA_ALGORITHM_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line of an algorithm as its source has it. */
struct fa_step {
    const char *line; /* "Algorithm 1, line 9" */
    const char *text; /* "S_ij = scale Q_i K_j^T" */
    int phase;
};

struct fa_algorithm {
    const char *name;   /* "flash2" */
    const char *title;  /* one sentence */
    const char *source; /* paper and algorithm */
    const char *file;   /* the C source, from the project's root: fa_place.line is a line of it */
    const struct fa_step *steps;
    int n_steps, n_phases;
    const char *const *phases; /* n_phases names */
    bool stores_scores;        /* S (and P) exist in HBM: O(N^2) memory */
    bool stores_weights;
    bool stores_statistics;    /* l and m exist in HBM */
    bool normalised;           /* O on chip is divided by l at all times */
    bool stores_lse;           /* LSE is stored by the pass; else it is formed outside */
    uint32_t own;              /* FA_BITs: other tensors that it keeps in HBM for itself */
    const bool *by_group;      /* of each phase, whether its units are of a K/V head; NULL: none */
    const struct fa_algorithm *backward; /* of a forward pass; NULL: it has none */
    int64_t (*units)(const struct fa_run *run, int phase);
    void (*unit)(struct fa_port *port, int phase, int64_t head, int64_t index);
};

/* The backward passes; that of fa_fused_save_p is fa_standard's. */
extern const struct fa_algorithm fa_standard_backward, fa_flash1_backward, fa_flash2_backward;

extern const struct fa_algorithm fa_standard;     /* S and P go through HBM */
extern const struct fa_algorithm fa_flash1;       /* K/V outside: FlashAttention, Algorithm 1 */
extern const struct fa_algorithm fa_flash2;       /* Q outside: FlashAttention-2, Algorithm 1 */
extern const struct fa_algorithm fa_fused_save_p; /* flash2 that stores P for the backward pass */
extern const struct fa_algorithm fa_square_tiling; /* standard, tiled along d too, for M < d^2 */

enum { FA_ALGORITHMS = 5 };
extern const struct fa_algorithm *const fa_algorithms[FA_ALGORITHMS];

/* NULL if there is none of that name. */
const struct fa_algorithm *fa_algorithm_find(const char *name);

/*
 * Runs the units of the first `heads` heads (of K/V heads, with their groups, where the algorithm has
 * phases by group) phase by phase: ports[0 .. n_ports) are workers, opened on one run. With one port
 * the order is fixed: by head or group, then phase, then unit.
 *
 * `tick` (may be NULL) is called now and then, from one worker at a time, with the share done in
 * 0..1; it returns false to cancel. Errors: the first failing port's, FA_CANCELLED.
 */
struct fa_watch {
    bool (*tick)(void *context, double done);
    void *context;
};

enum fa_status fa_execute(const struct fa_algorithm *algorithm, struct fa_port *const *ports,
                          int n_ports, int64_t heads, const struct fa_watch *watch,
                          struct fa_error *error);

/*
 * Makes a run of the algorithm over the caller's tensors.
 * Shapes: as in problem.h. q, k, v, o and, where given, mask and bias in problem.dtype (mask u8);
 * lse f32 (f64 when the dtype is f64) or NULL. o and lse may be NULL with q->data == NULL (count
 * only). What else the algorithm keeps in HBM is taken from memory here and freed by fa_run_close;
 * with q->data == NULL it has a shape alone. S and P of `standard` exist once for all heads, which
 * are worked on one after the other, unless `keep` asks for each head's own.
 * tiles: br, bc >= 1; row_block and column_chunk for `standard`.
 * Errors: FA_BAD_ARGUMENT, FA_TOO_LARGE, FA_NO_MEMORY.
 */
enum fa_status fa_run_open(struct fa_run *run, const struct fa_algorithm *algorithm,
                           const struct fa_problem *problem, const struct fa_tiles *tiles,
                           const struct fa_tensor *q, const struct fa_tensor *k,
                           const struct fa_tensor *v, const struct fa_tensor *o,
                           const struct fa_tensor *lse, bool keep, struct fa_error *error);

/* The K/V heads, or the query heads, over the batch: what fa_execute is told to run for all. */
int64_t fa_execution_heads(const struct fa_algorithm *algorithm, const struct fa_problem *problem);

/*
 * A backward run after a forward one, whose tensors (q k v o, lse or l and m, p, all heads' own: it
 * was opened with `keep`) it reads; the forward run outlives it. dout, dq, dk, dv: shapes of o, q, k,
 * v, in the problem's dtype; NULL to count only. Errors as fa_run_open.
 */
enum fa_status fa_run_open_backward(struct fa_run *run, const struct fa_algorithm *algorithm,
                                    const struct fa_run *forward, const struct fa_tiles *tiles,
                                    const struct fa_tensor *dout, const struct fa_tensor *dq,
                                    const struct fa_tensor *dk, const struct fa_tensor *dv,
                                    struct fa_error *error);

/* Forms LSE outside the machine where the algorithm leaves only l and m (flash1): call it after
 * fa_execute and before fa_run_close. */
void fa_run_finish(struct fa_run *run, const struct fa_algorithm *algorithm);

void fa_run_close(struct fa_run *run);

#ifdef __cplusplus
}
#endif
#endif
