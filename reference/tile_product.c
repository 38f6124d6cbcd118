/*
 * Tile products. Contraction to fused multiply-add is wanted here (and nowhere near exp).
 */
#include "reference/tile_kernels.h"

#include <math.h>

#include "reference/tile_target.h"

/* Rows of a register block: 6 x 2 sums, 2 vectors of B and one of A fill 15 of 16 registers. */
enum { MOST_ROWS = 6 };

#define REAL float
#define TYPED(name) name##_f32
#include "reference/tile_product.inc"
#undef REAL
#undef TYPED

#define REAL double
#define TYPED(name) name##_f64
#include "reference/tile_product.inc"
