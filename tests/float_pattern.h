/* What float formats mean by their definition, for tests of the conversions. */
#ifndef TESTS_FLOAT_PATTERN_H
#define TESTS_FLOAT_PATTERN_H

/*
 * The value of a pattern without a sign, by the definition of IEEE 754. A pattern past the largest
 * finite one has the value that it would have if exponents had no bound: what is halfway to it
 * overflows.
 */
double float_pattern_value(int fraction_bits, int bias, unsigned magnitude);

/* Fails the running test unless the bits are the same: 0 is not -0, and a NaN is itself. */
void assert_same_double(double got, double expected);

#endif
