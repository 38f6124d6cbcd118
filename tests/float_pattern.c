#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "reference/float_bits.h"
#include "tests/float_pattern.h"

double float_pattern_value(int fraction_bits, int bias, unsigned magnitude)
{
    int exponent = (int)(magnitude >> fraction_bits);
    int fraction = (int)magnitude & ((1 << fraction_bits) - 1);
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - fraction_bits);
    return ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

void assert_same_double(double got, double expected)
{
    assert_int_equal(fa_double_to_bits(got), fa_double_to_bits(expected));
}
