/*
 * The arithmetic on tiles, by operation and compute type. Only these files know what a cell is.
 *
 * Kernels work on FA_LANES queries side by side: every sum over keys or over the head size runs in
 * order, one query a lane, so the bits do not depend on the width of the machine's vectors. Lanes
 * past a tile's last row are computed too and never read. They are written with the vector types
 * of GCC and Clang, each in the widest form that the processor at hand has.
 *
 * A weight of a hidden key is written as -0 (a visible weight that vanished is +0), so that
 * FA_OP_ACCUMULATE can leave out a hidden row of V that holds NaN or infinities: 0 * NaN is NaN.
 */
#ifndef FA_TILE_KERNELS_H
#define FA_TILE_KERNELS_H

#include "reference/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the operation on the port's live tiles, whose sizes fa_op_account has set. */
void fa_tile_compute(struct fa_port *port, enum fa_op op);

/* Lanes that n cells of a line fill: a multiple of FA_LANES. */
static inline int64_t fa_tile_lanes(int64_t n)
{
    return (n + FA_LANES - 1) / FA_LANES * FA_LANES;
}

/* Products (tile_product.c): S = scale Q K^T; O += P V. */
void fa_product_score_f32(struct fa_port *port);
void fa_product_score_f64(struct fa_port *port);
void fa_product_accumulate_f32(struct fa_port *port);
void fa_product_accumulate_f64(struct fa_port *port);
void fa_product_score_part_f32(struct fa_port *port); /* S += Q K^T */
void fa_product_score_part_f64(struct fa_port *port);

/* The backward products: dP = dO V^T; dV += P^T dO; dQ += scale dS K; dK += scale dS^T Q. */
void fa_product_dp_f32(struct fa_port *port);
void fa_product_dp_f64(struct fa_port *port);
void fa_product_grad_v_f32(struct fa_port *port);
void fa_product_grad_v_f64(struct fa_port *port);
void fa_product_grad_q_f32(struct fa_port *port);
void fa_product_grad_q_f64(struct fa_port *port);
void fa_product_grad_k_f32(struct fa_port *port);
void fa_product_grad_k_f64(struct fa_port *port);

/* What forms exp(s - m) (tile_softmax.c). */
void fa_softmax_rows_f32(struct fa_port *port);
void fa_softmax_rows_f64(struct fa_port *port);
void fa_softmax_row_stats_f32(struct fa_port *port);
void fa_softmax_row_stats_f64(struct fa_port *port);
void fa_softmax_normalise_f32(struct fa_port *port);
void fa_softmax_normalise_f64(struct fa_port *port);
void fa_softmax_absorb_f32(struct fa_port *port);
void fa_softmax_absorb_f64(struct fa_port *port);
void fa_softmax_tile_f32(struct fa_port *port);
void fa_softmax_tile_f64(struct fa_port *port);
void fa_softmax_update_f32(struct fa_port *port);
void fa_softmax_update_f64(struct fa_port *port);
void fa_softmax_weights_f32(struct fa_port *port);
void fa_softmax_weights_f64(struct fa_port *port);

/* What of the backward pass is no product (tile_gradient.c). A dS of a hidden element is -0. */
void fa_gradient_delta_f32(struct fa_port *port);
void fa_gradient_delta_f64(struct fa_port *port);
void fa_gradient_row_delta_f32(struct fa_port *port);
void fa_gradient_row_delta_f64(struct fa_port *port);
void fa_gradient_s_f32(struct fa_port *port);
void fa_gradient_s_f64(struct fa_port *port);

/* The rest (tile_kernels.c): start, bias, hide, mask, finish. */

#ifdef __cplusplus
}
#endif
#endif
