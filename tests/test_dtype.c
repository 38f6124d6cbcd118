/*
 * Conversions against a second, slow definition of the formats: values made with ldexp, and
 * neighbours' midpoints made in double, where both are exact.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "reference/dtype.h"
#include "tests/float_pattern.h"

struct format {
    enum fa_dtype dtype;
    int fraction_bits, bias;
    uint16_t infinity, quiet;
    uint16_t (*from_f64)(double);
    uint16_t (*from_f32)(float);
    float (*to_f32)(uint16_t);
};

static const struct format halves[2] = {
    {FA_F16, 10, 15, 0x7c00, 0x0200, fa_f16_from_f64, fa_f16_from_f32, fa_f32_from_f16},
    {FA_BF16, 7, 127, 0x7f80, 0x0040, fa_bf16_from_f64, fa_bf16_from_f32, fa_f32_from_bf16},
};

static double value_of(const struct format *format, unsigned magnitude)
{
    return float_pattern_value(format->fraction_bits, format->bias, magnitude);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "u8"};
    static const size_t bytes[] = {8, 4, 2, 2, 1};
    for (int dtype = 0; dtype < FA_DTYPE_COUNT; dtype++) {
        assert_string_equal(fa_dtype_name((enum fa_dtype)dtype), names[dtype]);
        assert_int_equal(fa_dtype_bytes((enum fa_dtype)dtype), bytes[dtype]);
        enum fa_dtype parsed = FA_DTYPE_COUNT;
        assert_int_equal(fa_dtype_parse(names[dtype], &parsed), dtype != FA_U8);
        assert_int_equal(parsed, dtype != FA_U8 ? dtype : FA_DTYPE_COUNT);
    }
    static const char *const wrong[] = {"", "f", "f6", "f644", "F32", " f32", "f32 ", "float", "b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        enum fa_dtype parsed = FA_DTYPE_COUNT;
        assert_false(fa_dtype_parse(wrong[i], &parsed));
        assert_int_equal(parsed, FA_DTYPE_COUNT);
    }
}

static void test_roundoff(void **state)
{
    (void)state;
    assert_true(fa_dtype_roundoff(FA_U8) == 0);
    for (int dtype = 0; dtype < FA_U8; dtype++) {
        double u = fa_dtype_roundoff((enum fa_dtype)dtype);
        /* 1 + u is halfway and goes to the even 1; 1 + 2u is the next value. */
        if (dtype != FA_F64)
            assert_same_double(fa_dtype_round((enum fa_dtype)dtype, 1 + u), 1);
        assert_same_double(fa_dtype_round((enum fa_dtype)dtype, 1 + 2 * u), 1 + 2 * u);
    }
    assert_same_double(fa_dtype_roundoff(FA_F64), 0x1p-53);
}

static void test_every_pattern(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const struct format *format = &halves[f];
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            uint16_t magnitude = bits & 0x7fff, sign = bits & 0x8000;
            float wide = format->to_f32((uint16_t)bits);
            assert_int_equal(signbit(wide) != 0, sign != 0);
            if (magnitude > format->infinity) {
                /* A NaN comes back with its payload, made quiet on the way out and back. */
                uint32_t single;
                memcpy(&single, &wide, sizeof single);
                assert_true(isnan(wide));
                assert_int_equal(single & 0x00400000u, 0x00400000u);
                assert_int_equal(format->from_f32(wide), bits | format->quiet);
                assert_int_equal(format->from_f64(wide), bits | format->quiet);
                continue;
            }
            double expected =
                magnitude == format->infinity ? INFINITY : value_of(format, magnitude);
            assert_same_double(wide, sign ? -expected : expected);
            assert_int_equal(format->from_f32(wide), bits);
            assert_int_equal(format->from_f64(wide), bits);
        }
    }
}

/* Below the midpoint down, above it up, on it to the even pattern; the last midpoint is that of
 * the largest value and infinity, the first that of 0 and the smallest subnormal. */
static void test_every_midpoint(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        const struct format *format = &halves[f];
        for (uint16_t low = 0; low < format->infinity; low++) {
            double middle = (value_of(format, low) + value_of(format, low + 1)) / 2;
            uint16_t even = low + (low & 1);
            for (int sign = 0; sign < 2; sign++) {
                uint16_t s = sign ? 0x8000 : 0;
                double m = sign ? -middle : middle;
                double far = sign ? -INFINITY : INFINITY;
                assert_int_equal(format->from_f64(nextafter(m, 0)), s | low);
                assert_int_equal(format->from_f64(m), s | even);
                assert_int_equal(format->from_f64(nextafter(m, far)), s | (low + 1));
                float single = (float)m;
                /* The midpoint below bf16's subnormals is one of f32's, so this is exact. */
                assert_same_double(single, m);
                assert_int_equal(format->from_f32(nextafterf(single, 0)), s | low);
                assert_int_equal(format->from_f32(single), s | even);
                assert_int_equal(format->from_f32(nextafterf(single, (float)far)), s | (low + 1));
            }
        }
    }
}

static void test_thresholds(void **state)
{
    (void)state;
    assert_int_equal(fa_f16_from_f64(65504), 0x7bff);
    assert_int_equal(fa_f16_from_f64(65519.999), 0x7bff);
    assert_int_equal(fa_f16_from_f64(65520), 0x7c00);
    assert_int_equal(fa_f16_from_f64(1e300), 0x7c00);
    assert_int_equal(fa_f16_from_f32(-3e38f), 0xfc00);
    assert_int_equal(fa_f16_from_f64(0x1p-24), 0x0001);
    assert_int_equal(fa_f16_from_f64(0x1p-25), 0x0000);
    assert_int_equal(fa_f16_from_f64(-0x1p-1074), 0x8000);
    assert_int_equal(fa_f16_from_f32(0x1p-149f), 0x0000);
    assert_int_equal(fa_bf16_from_f64(0x1.feffffp127), 0x7f7f);
    assert_int_equal(fa_bf16_from_f64(0x1.ffp127), 0x7f80);
    assert_int_equal(fa_bf16_from_f64(0x1p-133), 0x0001);
    assert_int_equal(fa_bf16_from_f64(0x1p-134), 0x0000);
    assert_int_equal(fa_bf16_from_f64(-1e-300), 0x8000);
    assert_int_equal(fa_bf16_from_f32(3.3e38f), 0x7f78);
    assert_true(isinf(fa_dtype_round(FA_F32, 3.5e38)));
    assert_same_double(fa_dtype_round(FA_F32, 0x1p-149), 0x1p-149);
}

/* Through f32 these would be rounded twice, onto a midpoint first, and then the wrong way. */
static void test_rounds_once(void **state)
{
    (void)state;
    double f16_above = 1 + 0x1p-11 + 0x1p-40, bf16_above = 1 + 0x1p-8 + 0x1p-40;
    assert_int_equal(fa_f16_from_f64(f16_above), 0x3c01);
    assert_int_equal(fa_bf16_from_f64(bf16_above), 0x3f81);
    double pair[2] = {f16_above, bf16_above};
    uint16_t out[2];
    fa_dtype_convert(FA_F16, out, FA_F64, pair, 2);
    assert_int_equal(out[0], 0x3c01);
    fa_dtype_convert(FA_BF16, out, FA_F64, pair, 2);
    assert_int_equal(out[1], 0x3f81);
    fa_dtype_set(FA_F16, out, 0, f16_above);
    assert_int_equal(out[0], 0x3c01);
    assert_same_double(fa_dtype_round(FA_F16, f16_above), 1 + 0x1p-10);
    assert_same_double(fa_dtype_round(FA_BF16, bf16_above), 1 + 0x1p-7);
}

static void test_nan(void **state)
{
    (void)state;
    static const uint32_t singles[] = {0x7f800001, 0xff800001, 0x7fc00000, 0xffffffff};
    static const uint64_t doubles[] = {0x7ff0000000000001, 0xfff0000000000001, 0x7ff8000000000000,
                                       0xffffffffffffffff};
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < 4; i++) {
            float single;
            double wide;
            memcpy(&single, &singles[i], sizeof single);
            memcpy(&wide, &doubles[i], sizeof wide);
            uint16_t sign = i & 1 ? 0x8000 : 0;
            uint16_t got[2] = {halves[f].from_f32(single), halves[f].from_f64(wide)};
            for (int j = 0; j < 2; j++) {
                assert_int_equal(got[j] & 0x8000, sign);
                assert_true((got[j] & 0x7fff) > halves[f].infinity);
                assert_int_equal(got[j] & halves[f].quiet, halves[f].quiet);
            }
        }
    }
}

enum { SAMPLES = 1024 + 13 }; /* Not a multiple of any vector: the loops' tails are run too. */

/* Values over the whole exponent range of f16 and past it, zeros, infinities and NaN among them. */
static double sample(int i)
{
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, 65520.0, 0x1p-25};
    if (i < 8)
        return special[i];
    return ldexp((i % 2 ? -1 : 1) * (1 + fmod(i * 0.6180339887498949, 1)), i % 60 - 30);
}

/* Each pair of formats, with guards, is what get and set say element by element. */
static void test_convert(void **state)
{
    (void)state;
    static double from[SAMPLES], to[SAMPLES + 2], expected[SAMPLES + 2];
    for (int a = 0; a < FA_DTYPE_COUNT; a++) {
        for (int b = 0; b < FA_DTYPE_COUNT; b++) {
            enum fa_dtype from_dtype = (enum fa_dtype)a, to_dtype = (enum fa_dtype)b;
            for (int i = 0; i < SAMPLES; i++)
                fa_dtype_set(from_dtype, from, i, sample(i));
            memset(to, 0xa5, sizeof to);
            memset(expected, 0xa5, sizeof expected);
            fa_dtype_convert(to_dtype, to, from_dtype, from, SAMPLES);
            for (int i = 0; i < SAMPLES; i++)
                fa_dtype_set(to_dtype, expected, i, fa_dtype_get(from_dtype, from, i));
            assert_memory_equal(to, expected, sizeof to);
        }
    }
}

static void test_convert_every_pattern(void **state)
{
    (void)state;
    static uint16_t bits[65536], back[65536];
    static float wide[65536];
    static double wider[65536];
    for (int f = 0; f < 2; f++) {
        for (int i = 0; i < 65536; i++)
            bits[i] = (uint16_t)i;
        fa_dtype_convert(FA_F32, wide, halves[f].dtype, bits, 65536);
        fa_dtype_convert(halves[f].dtype, back, FA_F32, wide, 65536);
        fa_dtype_convert(FA_F64, wider, halves[f].dtype, bits, 65536);
        for (int i = 0; i < 65536; i++) {
            int nan = (i & 0x7fff) > halves[f].infinity;
            assert_int_equal(back[i], i | (nan ? halves[f].quiet : 0));
            assert_same_double(wide[i], halves[f].to_f32((uint16_t)i));
            assert_same_double(wider[i], wide[i]);
        }
    }
}

static void test_u8(void **state)
{
    (void)state;
    const double from[5] = {0.0, -0.0, 1e-300, -7, NAN};
    const uint8_t expected[5] = {0, 0, 1, 1, 1}, odd[3] = {0, 2, 255};
    uint8_t to[5] = {9, 9, 9, 9, 9};
    fa_dtype_convert(FA_U8, to, FA_F64, from, 5);
    assert_memory_equal(to, expected, sizeof to);
    fa_dtype_convert(FA_U8, to, FA_U8, odd, 3);
    assert_memory_equal(to, expected + 1, 3);
    fa_dtype_convert(FA_F32, NULL, FA_F32, NULL, 0); /* An empty tensor has no memory. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_roundoff),
        cmocka_unit_test(test_every_pattern),
        cmocka_unit_test(test_every_midpoint),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_rounds_once),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_convert_every_pattern),
        cmocka_unit_test(test_u8),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
