/*
 * What the counts must be: formulas over the shape, the tiles and the mask. They know nothing of
 * memories and traces, and are compared with executed counts as integers; they also bound a run's
 * counters before it starts, and choose tiles.
 *
 * Source: the table of simulator/README.md.
 */
#ifndef SIM_CLOSED_FORM_H
#define SIM_CLOSED_FORM_H

#include "reference/algorithm.h"
#include "simulator/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sim_closed_form {
    struct sim_counters counters; /* over all heads; sram_peak_bytes is what must fit */
    uint64_t tiles_total;         /* heads x Tr x Tc over the batch */
};

/*
 * With the problem's masks. Linear in the number of tile rows where a structural mask is set, else
 * constant. Errors: FA_TOO_LARGE if a count, in bytes too, is past 2^63 - 1.
 */
enum fa_status sim_closed_form(const struct fa_algorithm *algorithm,
                               const struct fa_problem *problem, const struct fa_tiles *tiles,
                               struct sim_closed_form *form, struct fa_error *error);

/* On-chip bytes that the pass needs at once; UINT64_MAX past 2^63 - 1. */
uint64_t sim_live_bytes(const struct fa_algorithm *algorithm, const struct fa_problem *problem,
                        const struct fa_tiles *tiles);

/* Bytes of HBM that the tensors occupy: inputs q k v mask bias and a given keep mask; outputs o lse;
 * extra, all the rest of what the algorithm keeps there. With `backward`, what the forward algorithm
 * and its backward pass take together: do is an input, dq dk dv outputs. FA_TOO_LARGE. */
struct sim_footprint {
    uint64_t input_bytes, output_bytes, extra_bytes;
    /* What the forward algorithm leaves in HBM for its backward pass, over all heads: P (standard,
     * fused-save-p; with dropout also the dropped P, and the mask where it is not given), or O and its
     * statistics (flash1: l and m; flash2: LSE). Whatever `backward` is. */
    uint64_t kept_bytes;
};

enum fa_status sim_footprint(const struct fa_algorithm *algorithm, bool backward,
                             const struct fa_problem *problem, struct sim_footprint *footprint,
                             struct fa_error *error);

/*
 * Bounds in elements, totals over heads; NAN where one does not apply. M is the capacity in
 * elements of the dtype; visited_share (visited / total tiles) scales what a mask scales.
 *   compulsory   q, o and (per K/V head) k, v once each
 *   theta        Nq Nk d^2 / M (FlashAttention, Theorem 2), constant 1
 *   root         Nq Nk d / sqrt(M), constant 1: the optimum's order where M <= d^2, as theta is
 *                from there on (Saha and Ye 2024, Theorem 3.1); the two meet at M = d^2
 *   floor        max(compulsory, Nq Nk d^2 / (M + 2 d^2) - M per head) for M >= 2 d^2: our own
 *                derivation from the Hong-Kung lemma
 *   standard     Nq d + Nq Nk, constant 1
 */
struct sim_bounds {
    double compulsory, theta, root, floor, standard;
};

struct sim_bounds sim_bounds(const struct fa_problem *problem, uint64_t sram_bytes,
                             double visited_share);

#ifdef __cplusplus
}
#endif
#endif
