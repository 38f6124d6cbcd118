/*
 * Storage formats and their exact conversions.
 *
 * Every conversion rounds once, to nearest, ties to even, as IEEE 754 says: overflow gives an
 * infinity, subnormals are kept, a NaN stays a (quiet) NaN and keeps its sign, -0 stays -0.
 * bf16 has the exponent of f32 and 8 significant bits; f16 is IEEE binary16.
 */
#ifndef FA_DTYPE_H
#define FA_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fa_dtype {
    FA_F64,
    FA_F32,
    FA_F16,
    FA_BF16,
    FA_U8, /* masks: 0 or 1, one byte an element */
    FA_DTYPE_COUNT
};

/* Bytes of one element. */
size_t fa_dtype_bytes(enum fa_dtype dtype);

/* "f64", "f32", "f16", "bf16", "u8". */
const char *fa_dtype_name(enum fa_dtype dtype);

/* Finds a float format by its name; false, *out untouched, for any other text ("u8" too). */
bool fa_dtype_parse(const char *text, enum fa_dtype *out);

/* Unit roundoff: half the distance from 1 to the next value (f64 2^-53, f32 2^-24, f16 2^-11,
 * bf16 2^-8). 0 for u8. */
double fa_dtype_roundoff(enum fa_dtype dtype);

uint16_t fa_f16_from_f64(double value);
uint16_t fa_f16_from_f32(float value);
float fa_f32_from_f16(uint16_t bits);
uint16_t fa_bf16_from_f64(double value);
uint16_t fa_bf16_from_f32(float value);
float fa_f32_from_bf16(uint16_t bits);

/* value rounded to the format and widened again. u8 is not a float format: asserts. */
double fa_dtype_round(enum fa_dtype dtype, double value);

/* Element `index` of an array of the format, as double; and the other way round, rounding.
 * For u8 any value other than 0 is written as 1. */
double fa_dtype_get(enum fa_dtype dtype, const void *array, int64_t index);
void fa_dtype_set(enum fa_dtype dtype, void *array, int64_t index, double value);

/*
 * Converts n contiguous elements. Shapes: from[n], to[n], not overlapping. Every pair of formats
 * is allowed; float to u8 writes 0 for zero and 1 for all else. The pairs that tiles need
 * (f64, f32, f16, bf16 to and from f32; f64 to f64) are loops that compilers vectorise.
 */
void fa_dtype_convert(enum fa_dtype to_dtype, void *to, enum fa_dtype from_dtype,
                      const void *from, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
