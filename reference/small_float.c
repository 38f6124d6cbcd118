#include "reference/small_float.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "reference/float_bits.h"
#include "reference/tile_target.h"

/* exponent_min is that of the smallest normal value. */
static const struct shape {
    const char *name;
    int fraction_bits, exponent_min;
    double max;
} shapes[FA_FORMAT_COUNT] = {
    [FA_FORMAT_F64] = {"f64", 52, -1022, DBL_MAX},
    [FA_FORMAT_F32] = {"f32", 23, -126, FLT_MAX},
    [FA_FORMAT_TF32] = {"tf32", 10, -126, 0x1.ffcp127},
    [FA_FORMAT_F16] = {"f16", 10, -14, 65504},
    [FA_FORMAT_BF16] = {"bf16", 7, -126, 0x1.fep127},
    [FA_FORMAT_E4M3] = {"e4m3", 3, -6, 448},
    [FA_FORMAT_E5M2] = {"e5m2", 2, -14, 57344},
};

const char *fa_format_name(enum fa_format format)
{
    assert((unsigned)format < FA_FORMAT_COUNT);
    return shapes[format].name;
}

bool fa_format_parse(const char *text, enum fa_format *out)
{
    for (int format = 0; format < FA_FORMAT_COUNT; format++) {
        if (strcmp(text, shapes[format].name) == 0) {
            *out = (enum fa_format)format;
            return true;
        }
    }
    return false;
}

double fa_format_max(enum fa_format format)
{
    assert((unsigned)format < FA_FORMAT_COUNT);
    return shapes[format].max;
}

double fa_format_roundoff(enum fa_format format)
{
    assert((unsigned)format < FA_FORMAT_COUNT);
    return ldexp(1, -1 - shapes[format].fraction_bits);
}

bool fa_format_is_8_bit(enum fa_format format)
{
    return format == FA_FORMAT_E4M3 || format == FA_FORMAT_E5M2;
}

/* What rounding to a format needs, worked out once for an array. */
struct rounding {
    uint64_t low_bits;      /* the fraction bits of a double that go */
    unsigned shift;         /* their number, 1 or more */
    double smallest_normal;
    double anchor;          /* its last place is the smallest subnormal */
    double max, past_max;
};

static struct rounding rounding_of(enum fa_format format, enum fa_overflow overflow)
{
    const struct shape *shape = &shapes[format];
    unsigned shift = 52 - (unsigned)shape->fraction_bits;
    double past = INFINITY;
    if (fa_format_is_8_bit(format) && overflow == FA_OVERFLOW_SATURATE)
        past = shape->max;
    else if (format == FA_FORMAT_E4M3)
        past = NAN;
    return (struct rounding){
        .low_bits = ((uint64_t)1 << shift) - 1,
        .shift = shift,
        .smallest_normal = ldexp(1, shape->exponent_min),
        .anchor = ldexp(1, shape->exponent_min + (int)shift),
        .max = shape->max,
        .past_max = past,
    };
}

/* Adding the anchor rounds a subnormal, and half a unit less one (less none, if the last bit kept
 * is odd) rounds a normal value: a carry goes on into the exponent, as it should. */
FA_INLINE double round_one(const struct rounding *r, double value)
{
    double magnitude = fabs(value);
    double subnormal = (magnitude + r->anchor) - r->anchor;
    uint64_t bits = fa_double_to_bits(magnitude);
    uint64_t carry = (r->low_bits >> 1) + (bits >> r->shift & 1);
    double normal = fa_double_from_bits((bits + carry) & ~r->low_bits);
    double result = magnitude < r->smallest_normal ? subnormal : normal;
    result = result > r->max ? r->past_max : result;
    result = magnitude != magnitude ? magnitude : result;
    return copysign(result, value);
}

double fa_format_round(enum fa_format format, enum fa_overflow overflow, double value)
{
    assert((unsigned)format < FA_FORMAT_COUNT);
    if (format == FA_FORMAT_F64)
        return value;
    if (format == FA_FORMAT_F32)
        return (float)value;
    struct rounding rounding = rounding_of(format, overflow);
    return round_one(&rounding, value);
}

static void round_to_f32(double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)values[i];
}

FA_CLONES static void round_all(const struct rounding *r, double *values, int64_t n)
{
    struct rounding rounding = *r;
    for (int64_t i = 0; i < n; i++)
        values[i] = round_one(&rounding, values[i]);
}

void fa_format_round_all(enum fa_format format, enum fa_overflow overflow, double *values,
                         int64_t n)
{
    assert((unsigned)format < FA_FORMAT_COUNT);
    struct rounding rounding;
    if (format == FA_FORMAT_F64)
        return;
    if (format == FA_FORMAT_F32) {
        round_to_f32(values, n);
        return;
    }
    rounding = rounding_of(format, overflow);
    round_all(&rounding, values, n);
}

/* The pattern of an 8-bit format for a value that is one of its finite ones: a subnormal is its
 * number of the smallest one, and the leading bit of a normal value's significand carries into the
 * exponent, which is therefore one less before. */
static uint8_t pack(enum fa_format format, double value)
{
    const struct shape *shape = &shapes[format];
    unsigned sign = signbit(value) ? 0x80 : 0;
    int exponent;
    double magnitude = fabs(value);
    double units = ldexp(magnitude, shape->fraction_bits - shape->exponent_min);
    if (magnitude < ldexp(1, shape->exponent_min))
        return (uint8_t)(sign | (unsigned)units);
    double fraction = frexp(magnitude, &exponent); /* in [1/2, 1) */
    unsigned significand = (unsigned)ldexp(fraction, shape->fraction_bits + 1);
    unsigned biased = (unsigned)(exponent - 1 - shape->exponent_min);
    return (uint8_t)(sign | ((biased << shape->fraction_bits) + significand));
}

static float unpack(enum fa_format format, unsigned bits)
{
    const struct shape *shape = &shapes[format];
    unsigned magnitude = bits & 0x7f, exponent = magnitude >> shape->fraction_bits;
    unsigned fraction = magnitude & ((1u << shape->fraction_bits) - 1);
    if (exponent > 0)
        fraction += 1u << shape->fraction_bits;
    int power = shape->exponent_min - shape->fraction_bits + (exponent > 0 ? (int)exponent - 1 : 0);
    float value = ldexpf((float)fraction, power);
    return bits & 0x80 ? -value : value;
}

uint8_t fa_e4m3_from_f64(double value, enum fa_overflow overflow)
{
    double rounded = fa_format_round(FA_FORMAT_E4M3, overflow, value);
    if (isnan(rounded))
        return signbit(value) ? 0xff : 0x7f;
    return pack(FA_FORMAT_E4M3, rounded);
}

float fa_f32_from_e4m3(uint8_t bits)
{
    if ((bits & 0x7f) == 0x7f)
        return copysignf(NAN, bits & 0x80 ? -1.0f : 1.0f);
    return unpack(FA_FORMAT_E4M3, bits);
}

uint8_t fa_e5m2_from_f64(double value, enum fa_overflow overflow)
{
    double rounded = fa_format_round(FA_FORMAT_E5M2, overflow, value);
    unsigned sign = signbit(value) ? 0x80 : 0;
    if (isnan(rounded))
        return (uint8_t)(sign | 0x7e);
    if (isinf(rounded))
        return (uint8_t)(sign | 0x7c);
    return pack(FA_FORMAT_E5M2, rounded);
}

float fa_f32_from_e5m2(uint8_t bits)
{
    if ((bits & 0x7f) < 0x7c)
        return unpack(FA_FORMAT_E5M2, bits);
    return copysignf((bits & 0x7f) == 0x7c ? INFINITY : NAN, bits & 0x80 ? -1.0f : 1.0f);
}

uint32_t fa_tf32_from_f64(double value)
{
    float rounded = (float)fa_format_round(FA_FORMAT_TF32, FA_OVERFLOW_SPECIAL, value);
    uint32_t bits = fa_float_to_bits(rounded);
    return isnan(value) ? (bits & 0x80000000u) | 0x7fc00000u : bits;
}

float fa_f32_from_tf32(uint32_t bits)
{
    return fa_float_from_bits(bits);
}
