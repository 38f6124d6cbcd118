/*
 * Formats that arithmetic units take and that are no storage format of the counting machine: tf32,
 * and the two 8-bit floats of the Open Compute Project (OCP 8-bit Floating Point, revision 1.0);
 * and one rounding function for these and for the float formats of dtype.h.
 *
 *   name  bits  fraction  smallest normal  largest        past the largest
 *   f64   64    52        2^-1022          1.8e308        infinity
 *   f32   32    23        2^-126           3.4e38         infinity
 *   tf32  19    10        2^-126           3.4e38         infinity
 *   f16   16    10        2^-14            65504          infinity
 *   bf16  16    7         2^-126           3.4e38         infinity
 *   e4m3  8     3         2^-6             448            NaN: there is no infinity (e4m3fn)
 *   e5m2  8     2         2^-14            57344          infinity
 *
 * Every conversion from double rounds once, to nearest, ties to even; subnormals and the sign of
 * zero are kept. A value overflows if it is past the largest one after rounding with an unbounded
 * exponent: past 464 for e4m3 (464 itself is a tie, whose even side is 448), from 61440 on for e5m2
 * (a tie whose even side is the infinity). The 8-bit formats then do as asked: the column above, or
 * the largest value with the sign, which is how GPUs convert; infinities overflow like finite
 * values. A NaN stays a NaN.
 */
#ifndef FA_SMALL_FLOAT_H
#define FA_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fa_format {
    FA_FORMAT_F64,
    FA_FORMAT_F32,
    FA_FORMAT_TF32,
    FA_FORMAT_F16,
    FA_FORMAT_BF16,
    FA_FORMAT_E4M3,
    FA_FORMAT_E5M2,
    FA_FORMAT_COUNT
};

/* Of the 8-bit formats; the others overflow to infinity whichever is asked for. */
enum fa_overflow {
    FA_OVERFLOW_SPECIAL, /* NaN (e4m3), infinity (e5m2) */
    FA_OVERFLOW_SATURATE /* the largest finite value */
};

/* "f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2". */
const char *fa_format_name(enum fa_format format);

/* Finds a format by its name; false, *out untouched, for any other text. */
bool fa_format_parse(const char *text, enum fa_format *out);

/* The largest finite value, and the unit roundoff (e4m3 2^-4, e5m2 2^-3, tf32 2^-11). */
double fa_format_max(enum fa_format format);
double fa_format_roundoff(enum fa_format format);

/* True of e4m3 and e5m2, whose range is so short that tensors are scaled to it. */
bool fa_format_is_8_bit(enum fa_format format);

/* value rounded to the format and widened again. */
double fa_format_round(enum fa_format format, enum fa_overflow overflow, double value);

/* The same for each of values[n], in place. */
void fa_format_round_all(enum fa_format format, enum fa_overflow overflow, double *values,
                         int64_t n);

/*
 * Bit patterns. e4m3: sign, 4 exponent bits of bias 7, 3 fraction bits; 0x7f and 0xff are its only
 * NaNs. e5m2: sign, 5 of bias 15, 2; 0x7c is infinity, and a NaN is made as 0x7e. tf32 is the
 * pattern of an f32 whose 13 low bits are zero. A NaN keeps its sign, not its payload.
 */
uint8_t fa_e4m3_from_f64(double value, enum fa_overflow overflow);
float fa_f32_from_e4m3(uint8_t bits);
uint8_t fa_e5m2_from_f64(double value, enum fa_overflow overflow);
float fa_f32_from_e5m2(uint8_t bits);
uint32_t fa_tf32_from_f64(double value);
float fa_f32_from_tf32(uint32_t bits);

#ifdef __cplusplus
}
#endif
#endif
