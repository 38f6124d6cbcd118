/*
 * The part of the backward pass that is no matrix product: delta and dS.
 */
#include "reference/tile_kernels.h"

#include <math.h>

#include "reference/tile_target.h"

#define REAL float
#define INTEGER int32_t
#define TYPED(name) name##_f32
#include "reference/tile_gradient.inc"
#undef REAL
#undef INTEGER
#undef TYPED

#define REAL double
#define INTEGER int64_t
#define TYPED(name) name##_f64
#include "reference/tile_gradient.inc"
