/*
 * Small formats against a second, slow definition: values made with ldexp from each pattern, and
 * the midpoints of neighbours, both exact in double.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "reference/dtype.h"
#include "reference/float_bits.h"
#include "reference/small_float.h"
#include "tests/float_pattern.h"

struct format {
    enum fa_format format;
    int fraction_bits, bias;
    uint8_t largest; /* pattern of the largest finite value */
    uint8_t past;    /* pattern of an overflow that is not saturated */
    uint8_t nan;
    uint8_t (*from_f64)(double, enum fa_overflow);
    float (*to_f32)(uint8_t);
};

static const struct format bytes[2] = {
    {FA_FORMAT_E4M3, 3, 7, 0x7e, 0x7f, 0x7f, fa_e4m3_from_f64, fa_f32_from_e4m3},
    {FA_FORMAT_E5M2, 2, 15, 0x7b, 0x7c, 0x7e, fa_e5m2_from_f64, fa_f32_from_e5m2},
};

static double value_of(const struct format *format, unsigned magnitude)
{
    return float_pattern_value(format->fraction_bits, format->bias, magnitude);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2"};
    static const double largest[] = {
        0x1.fffffffffffffp1023, 0x1.fffffep127, 0x1.ffcp127, 65504, 0x1.fep127, 448, 57344};
    static const int digits[] = {53, 24, 11, 11, 8, 4, 3};
    for (int f = 0; f < FA_FORMAT_COUNT; f++) {
        enum fa_format parsed = FA_FORMAT_COUNT;
        assert_string_equal(fa_format_name((enum fa_format)f), names[f]);
        assert_true(fa_format_parse(names[f], &parsed));
        assert_int_equal(parsed, f);
        assert_same_double(fa_format_max((enum fa_format)f), largest[f]);
        assert_same_double(fa_format_roundoff((enum fa_format)f), ldexp(1, -digits[f]));
        assert_int_equal(fa_format_is_8_bit((enum fa_format)f), f >= FA_FORMAT_E4M3);
    }
    static const char *const wrong[] = {"", "u8", "e4m", "e4m33", "E4M3", " f32", "fp8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        enum fa_format parsed = FA_FORMAT_COUNT;
        assert_false(fa_format_parse(wrong[i], &parsed));
        assert_int_equal(parsed, FA_FORMAT_COUNT);
    }
}

static void test_every_pattern(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const struct format *format = &bytes[f];
        for (unsigned bits = 0; bits < 256; bits++) {
            unsigned magnitude = bits & 0x7f, sign = bits & 0x80;
            float wide = format->to_f32((uint8_t)bits);
            assert_int_equal(signbit(wide) != 0, sign != 0);
            for (int overflow = 0; overflow < 2; overflow++) {
                uint8_t back = format->from_f64(wide, (enum fa_overflow)overflow);
                bool infinite = format->format == FA_FORMAT_E5M2 && magnitude == 0x7c;
                if (magnitude <= format->largest) {
                    assert_same_double(wide, sign ? -value_of(format, magnitude)
                                                  : value_of(format, magnitude));
                    assert_int_equal(back, bits);
                } else if (infinite) {
                    assert_true(isinf(wide));
                    assert_int_equal(back, sign | (overflow == FA_OVERFLOW_SATURATE ? 0x7b : 0x7c));
                } else {
                    assert_true(isnan(wide));
                    assert_int_equal(back, sign | format->nan);
                }
            }
        }
    }
}

/* Below the midpoint down, above it up, on it to the even pattern: from that of 0 and the smallest
 * subnormal to that of the largest value and the first one that is not there. */
static void test_every_midpoint(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const struct format *format = &bytes[f];
        for (unsigned low = 0; low <= format->largest; low++) {
            double middle = (value_of(format, low) + value_of(format, low + 1)) / 2;
            bool last = low == format->largest;
            for (int overflow = 0; overflow < 2; overflow++) {
                enum fa_overflow o = (enum fa_overflow)overflow;
                unsigned high = !last ? low + 1 : o == FA_OVERFLOW_SATURATE ? low : format->past;
                unsigned even = low & 1 ? high : low;
                assert_int_equal(format->from_f64(nextafter(middle, 0), o), low);
                assert_int_equal(format->from_f64(middle, o), even);
                assert_int_equal(format->from_f64(nextafter(middle, INFINITY), o), high);
                assert_int_equal(format->from_f64(nextafter(-middle, 0), o), 0x80 | low);
                assert_int_equal(format->from_f64(-middle, o), 0x80 | even);
                assert_int_equal(format->from_f64(nextafter(-middle, -INFINITY), o), 0x80 | high);
            }
        }
    }
}

static void test_thresholds(void **state)
{
    (void)state;
    assert_int_equal(fa_e4m3_from_f64(464, FA_OVERFLOW_SPECIAL), 0x7e);
    assert_int_equal(fa_e4m3_from_f64(nextafter(464, 465), FA_OVERFLOW_SPECIAL), 0x7f);
    assert_int_equal(fa_e4m3_from_f64(480, FA_OVERFLOW_SATURATE), 0x7e);
    assert_int_equal(fa_e4m3_from_f64(-INFINITY, FA_OVERFLOW_SPECIAL), 0xff);
    assert_int_equal(fa_e4m3_from_f64(-INFINITY, FA_OVERFLOW_SATURATE), 0xfe);
    assert_int_equal(fa_e4m3_from_f64(1e300, FA_OVERFLOW_SATURATE), 0x7e);
    assert_int_equal(fa_e4m3_from_f64(0x1p-10, FA_OVERFLOW_SPECIAL), 0x00);
    assert_int_equal(fa_e4m3_from_f64(-0x1p-1074, FA_OVERFLOW_SPECIAL), 0x80);
    assert_int_equal(fa_e4m3_from_f64(0x1.8p-10, FA_OVERFLOW_SPECIAL), 0x01);
    assert_int_equal(fa_e5m2_from_f64(nextafter(61440, 0), FA_OVERFLOW_SPECIAL), 0x7b);
    assert_int_equal(fa_e5m2_from_f64(61440, FA_OVERFLOW_SPECIAL), 0x7c);
    assert_int_equal(fa_e5m2_from_f64(61440, FA_OVERFLOW_SATURATE), 0x7b);
    assert_int_equal(fa_e5m2_from_f64(INFINITY, FA_OVERFLOW_SATURATE), 0x7b);
    assert_int_equal(fa_e5m2_from_f64(-1e300, FA_OVERFLOW_SPECIAL), 0xfc);
    assert_int_equal(fa_e5m2_from_f64(0x1p-16, FA_OVERFLOW_SPECIAL), 0x01);
    assert_int_equal(fa_e5m2_from_f64(0x1p-17, FA_OVERFLOW_SPECIAL), 0x00);
}

/* tf32 has f32's range and 13 bits less: each of its fractions at every exponent, and the midpoint
 * to the next value. */
static void test_tf32(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 1u << 13) {
        double low = fa_f32_from_tf32(bits), high = fa_f32_from_tf32(bits + (1u << 13));
        uint32_t next = bits + (1u << 13), even = bits >> 13 & 1 ? next : bits;
        if (next == 0x7f800000u)
            high = 0x1p128;
        double middle = (low + high) / 2;
        assert_int_equal(fa_tf32_from_f64(low), bits);
        assert_int_equal(fa_tf32_from_f64(-low), bits | 0x80000000u);
        assert_int_equal(fa_tf32_from_f64(nextafter(middle, 0)), bits);
        assert_int_equal(fa_tf32_from_f64(middle), even);
        assert_int_equal(fa_tf32_from_f64(nextafter(middle, INFINITY)), next);
    }
    assert_int_equal(fa_tf32_from_f64(-INFINITY), 0xff800000u);
    assert_int_equal(fa_tf32_from_f64(1e300), 0x7f800000u);
    assert_int_equal(fa_tf32_from_f64(copysign(NAN, 1)), 0x7fc00000u);
    assert_int_equal(fa_tf32_from_f64(copysign(NAN, -1)), 0xffc00000u);
    /* By way of f32 this would be rounded twice, and up. */
    assert_int_equal(fa_tf32_from_f64(1 + 0x1p-11 + 0x1p-40), 0x3f802000u);
    assert_int_equal(fa_tf32_from_f64(1 + 0x3p-11 - 0x1p-40), 0x3f802000u);
}

/* The formats of dtype.h come out the same by its own functions, at all patterns and midpoints. */
static void test_formats_of_dtype(void **state)
{
    (void)state;
    static const struct {
        enum fa_format format;
        enum fa_dtype dtype;
        float (*to_f32)(uint16_t);
    } halves[] = {{FA_FORMAT_F16, FA_F16, fa_f32_from_f16},
                  {FA_FORMAT_BF16, FA_BF16, fa_f32_from_bf16}};
    for (int f = 0; f < 2; f++) {
        for (unsigned bits = 0; bits < 0xffff; bits++) {
            double value = halves[f].to_f32((uint16_t)bits);
            double next = halves[f].to_f32((uint16_t)(bits + 1));
            double probes[5] = {value, (value + next) / 2, 0, 0, value * 1.7};
            if (isnan(value) || isnan(next))
                continue;
            probes[2] = nextafter(probes[1], 0);
            probes[3] = nextafter(probes[1], 2 * probes[1]);
            for (int p = 0; p < 5; p++)
                assert_same_double(
                    fa_format_round(halves[f].format, FA_OVERFLOW_SATURATE, probes[p]),
                    fa_dtype_round(halves[f].dtype, probes[p]));
        }
    }
    assert_same_double(fa_format_round(FA_FORMAT_F64, FA_OVERFLOW_SPECIAL, 0.1), 0.1);
    assert_same_double(fa_format_round(FA_FORMAT_F32, FA_OVERFLOW_SPECIAL, 0.1), 0.1f);
    assert_true(isnan(fa_format_round(FA_FORMAT_E4M3, FA_OVERFLOW_SATURATE, NAN)));
}

static void test_arrays(void **state)
{
    (void)state;
    for (int f = 0; f < FA_FORMAT_COUNT; f++) {
        for (int overflow = 0; overflow < 2; overflow++) {
            double values[61], expected[61];
            for (int i = 0; i < 61; i++) {
                values[i] = (i % 2 ? -1 : 1) * ldexp(1 + i / 61.0, i - 30);
                expected[i] =
                    fa_format_round((enum fa_format)f, (enum fa_overflow)overflow, values[i]);
            }
            fa_format_round_all((enum fa_format)f, (enum fa_overflow)overflow, values, 61);
            for (int i = 0; i < 61; i++)
                assert_true(fa_double_to_bits(values[i]) == fa_double_to_bits(expected[i]) ||
                            (isnan(values[i]) && isnan(expected[i])));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_every_midpoint), cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_tf32),           cmocka_unit_test(test_formats_of_dtype),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
