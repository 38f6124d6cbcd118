#include "reference/dtype.h"

#include <assert.h>
#include <string.h>

#include "reference/float_bits.h"

static const struct {
    const char *name;
    size_t bytes;
    double roundoff;
} formats[FA_DTYPE_COUNT] = {
    [FA_F64] = {"f64", 8, 0x1p-53},  [FA_F32] = {"f32", 4, 0x1p-24}, [FA_F16] = {"f16", 2, 0x1p-11},
    [FA_BF16] = {"bf16", 2, 0x1p-8}, [FA_U8] = {"u8", 1, 0.0},
};

size_t fa_dtype_bytes(enum fa_dtype dtype)
{
    assert((unsigned)dtype < FA_DTYPE_COUNT);
    return formats[dtype].bytes;
}

const char *fa_dtype_name(enum fa_dtype dtype)
{
    assert((unsigned)dtype < FA_DTYPE_COUNT);
    return formats[dtype].name;
}

bool fa_dtype_parse(const char *text, enum fa_dtype *out)
{
    for (int dtype = 0; dtype < FA_U8; dtype++) {
        if (strcmp(text, formats[dtype].name) == 0) {
            *out = (enum fa_dtype)dtype;
            return true;
        }
    }
    return false;
}

double fa_dtype_roundoff(enum fa_dtype dtype)
{
    assert((unsigned)dtype < FA_DTYPE_COUNT);
    return formats[dtype].roundoff;
}

/* All ones for true: selecting with masks leaves no branch that would stop the vectoriser. */
static inline uint32_t mask_if(int condition)
{
    return (uint32_t)0 - (uint32_t)condition;
}

static inline uint32_t select(uint32_t mask, uint32_t yes, uint32_t no)
{
    return (yes & mask) | (no & ~mask);
}

/* The bits of |value| fit in 31 bits everywhere below, so signed comparisons, which AVX2 has (it
 * lacks unsigned ones), order them rightly. */
static inline uint16_t f16_from_f32(float value)
{
    uint32_t bits = fa_float_to_bits(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t sign = (bits >> 16) & 0x8000u;
    /* Rebias the exponent from 127 to 15 and round the 13 bits that go: a carry out of the
     * fraction goes on into the exponent, and from 65520 on to infinity, as it should. */
    uint32_t normal =
        (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    /* One unit of 0.5f is 2^-24, the smallest f16: the addition itself rounds to subnormals. */
    uint32_t subnormal = fa_float_to_bits(fa_float_from_bits(magnitude) + 0.5f) - (126u << 23);
    uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    uint32_t result = select(mask_if((int32_t)magnitude < (113 << 23)), subnormal, normal);
    result = select(mask_if((int32_t)magnitude >= (143 << 23)), 0x7c00u, result); /* 65536 */
    result = select(mask_if((int32_t)magnitude > 0x7f800000), nan, result);
    return (uint16_t)(sign | result);
}

static inline float f32_from_f16(uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fffu;
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t shifted = magnitude << 13;
    uint32_t normal = shifted + (112u << 23);
    /* 2^-14 * (1 + fraction) - 2^-14 is the subnormal's value, exactly. */
    uint32_t subnormal = fa_float_to_bits(fa_float_from_bits(shifted + (113u << 23)) - 0x1p-14f);
    uint32_t special = shifted | 0x7f800000u;
    uint32_t quiet = mask_if((int32_t)magnitude > 0x7c00) & 0x00400000u;
    uint32_t result = select(mask_if((int32_t)magnitude < 0x0400), subnormal, normal);
    result = select(mask_if((int32_t)magnitude >= 0x7c00), special | quiet, result);
    return fa_float_from_bits(sign | result);
}

static inline uint16_t bf16_from_f32(float value)
{
    uint32_t bits = fa_float_to_bits(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t nan = (bits >> 16) | 0x40u;
    return (uint16_t)select(mask_if((int32_t)magnitude > 0x7f800000), nan, rounded);
}

static inline float f32_from_bf16(uint16_t bits)
{
    uint32_t quiet = mask_if((int32_t)(bits & 0x7fffu) > 0x7f80) & 0x00400000u;
    return fa_float_from_bits(((uint32_t)bits << 16) | quiet);
}

/*
 * A 16-bit format from a double, rounded once. fraction_bits and bias describe the format; its
 * exponent has 15 - fraction_bits bits.
 */
static inline uint16_t half_from_f64(double value, unsigned fraction_bits, unsigned bias)
{
    uint64_t bits = fa_double_to_bits(value);
    uint64_t magnitude = bits & INT64_MAX;
    unsigned sign = (unsigned)(bits >> 48) & 0x8000u;
    unsigned infinity = (0x7fffu >> fraction_bits) << fraction_bits;
    unsigned shift = 52 - fraction_bits;
    uint64_t smallest_normal = (uint64_t)(1023 - bias + 1) << 52;
    uint64_t first_past = (uint64_t)(1023 + bias + 1) << 52;
    if (magnitude > (uint64_t)0x7ff << 52)
        return (uint16_t)(sign | infinity | (1u << (fraction_bits - 1)) |
                          ((unsigned)(magnitude >> shift) & ((1u << fraction_bits) - 1)));
    if (magnitude >= first_past)
        return (uint16_t)(sign | infinity);
    if (magnitude < smallest_normal) {
        /* A power of two whose last place is the smallest subnormal: the addition rounds. */
        uint64_t anchor = (uint64_t)(1023 - bias + 1 + shift) << 52;
        double sum = fa_double_from_bits(magnitude) + fa_double_from_bits(anchor);
        return (uint16_t)(sign | (unsigned)(fa_double_to_bits(sum) - anchor));
    }
    uint64_t rebased = magnitude - ((uint64_t)(1023 - bias) << 52);
    uint64_t half_less_one = ((uint64_t)1 << (shift - 1)) - 1;
    return (uint16_t)(sign | (unsigned)((rebased + half_less_one + ((rebased >> shift) & 1)) >>
                                        shift));
}

uint16_t fa_f16_from_f64(double value)
{
    return half_from_f64(value, 10, 15);
}

uint16_t fa_f16_from_f32(float value)
{
    return f16_from_f32(value);
}

float fa_f32_from_f16(uint16_t bits)
{
    return f32_from_f16(bits);
}

uint16_t fa_bf16_from_f64(double value)
{
    return half_from_f64(value, 7, 127);
}

uint16_t fa_bf16_from_f32(float value)
{
    return bf16_from_f32(value);
}

float fa_f32_from_bf16(uint16_t bits)
{
    return f32_from_bf16(bits);
}

double fa_dtype_round(enum fa_dtype dtype, double value)
{
    switch (dtype) {
    case FA_F64:
        return value;
    case FA_F32:
        return (float)value;
    case FA_F16:
        return f32_from_f16(fa_f16_from_f64(value));
    case FA_BF16:
        return f32_from_bf16(fa_bf16_from_f64(value));
    default:
        assert(!"a float format");
        return value;
    }
}

double fa_dtype_get(enum fa_dtype dtype, const void *array, int64_t index)
{
    switch (dtype) {
    case FA_F64:
        return ((const double *)array)[index];
    case FA_F32:
        return ((const float *)array)[index];
    case FA_F16:
        return f32_from_f16(((const uint16_t *)array)[index]);
    case FA_BF16:
        return f32_from_bf16(((const uint16_t *)array)[index]);
    case FA_U8:
        return ((const uint8_t *)array)[index];
    default:
        assert(!"a known format");
        return 0;
    }
}

void fa_dtype_set(enum fa_dtype dtype, void *array, int64_t index, double value)
{
    switch (dtype) {
    case FA_F64:
        ((double *)array)[index] = value;
        break;
    case FA_F32:
        ((float *)array)[index] = (float)value;
        break;
    case FA_F16:
        ((uint16_t *)array)[index] = fa_f16_from_f64(value);
        break;
    case FA_BF16:
        ((uint16_t *)array)[index] = fa_bf16_from_f64(value);
        break;
    case FA_U8:
        ((uint8_t *)array)[index] = value != 0;
        break;
    default:
        assert(!"a known format");
    }
}

/* One plain loop a pair: small enough for any compiler to vectorise. */
#define CONVERSION(name, to_type, from_type, expression)                                           \
    static void name(to_type *restrict to, const from_type *restrict from, int64_t n)              \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = expression(from[i]);                                                           \
    }

CONVERSION(f32s_from_f64s, float, double, (float))
CONVERSION(f64s_from_f32s, double, float, (double))
CONVERSION(f32s_from_f16s, float, uint16_t, f32_from_f16)
CONVERSION(f16s_from_f32s, uint16_t, float, f16_from_f32)
CONVERSION(f32s_from_bf16s, float, uint16_t, f32_from_bf16)
CONVERSION(bf16s_from_f32s, uint16_t, float, bf16_from_f32)

static bool convert_to_f32(float *to, enum fa_dtype from_dtype, const void *from, int64_t n)
{
    if (from_dtype == FA_F64)
        f32s_from_f64s(to, from, n);
    else if (from_dtype == FA_F16)
        f32s_from_f16s(to, from, n);
    else if (from_dtype == FA_BF16)
        f32s_from_bf16s(to, from, n);
    else
        return false;
    return true;
}

static bool convert_from_f32(enum fa_dtype to_dtype, void *to, const float *from, int64_t n)
{
    if (to_dtype == FA_F64)
        f64s_from_f32s(to, from, n);
    else if (to_dtype == FA_F16)
        f16s_from_f32s(to, from, n);
    else if (to_dtype == FA_BF16)
        bf16s_from_f32s(to, from, n);
    else
        return false;
    return true;
}

void fa_dtype_convert(enum fa_dtype to_dtype, void *to, enum fa_dtype from_dtype,
                      const void *from, int64_t n)
{
    if (n <= 0) /* memcpy may not be given the null pointers of an empty tensor. */
        return;
    /* The same format is no conversion: bits are kept, those of a signalling NaN too. */
    if (to_dtype == from_dtype && to_dtype != FA_U8) {
        memcpy(to, from, (size_t)n * fa_dtype_bytes(to_dtype));
        return;
    }
    if (to_dtype == FA_F32 && convert_to_f32(to, from_dtype, from, n))
        return;
    if (from_dtype == FA_F32 && convert_from_f32(to_dtype, to, from, n))
        return;
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(to_dtype, to, i, fa_dtype_get(from_dtype, from, i));
}
