/*
 * Everything that forms exp(s - m). Contraction is off in this file: a fused s - m could make the
 * weight of the row's own maximum differ from 1.
 *
 * A row without a visible key so far has m = -inf and l = 0; the difference s - m is then taken
 * against 0, so that no NaN comes of -inf - -inf. The maximum ignores NaN, which the weights keep:
 * a visible NaN reaches l and O through exp, whatever m is. So l == 0, and nothing else, says that
 * a row is empty.
 */
#include "reference/tile_kernels.h"

#include <math.h>
#include <string.h>

#include "reference/tile_target.h"

enum { SUM_PART = 64 };

#define REAL float
#define INTEGER int32_t
#define TYPED(name) name##_f32
#include "reference/tile_softmax.inc"
#undef REAL
#undef INTEGER
#undef TYPED

#define REAL double
#define INTEGER int64_t
#define TYPED(name) name##_f64
#include "reference/tile_softmax.inc"
