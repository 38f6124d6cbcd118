/*
 * Random problems by seed: any mixture of what a forward pass accepts, each small.
 */
#ifndef TESTS_RANDOM_CASE_H
#define TESTS_RANDOM_CASE_H

#include "tests/attention_case.h"

/* A generator of our own (splitmix64), so that a test repeats by its seed everywhere. */
struct random_stream {
    uint64_t state;
};

uint64_t random_bits(struct random_stream *stream);

/* Uniform in low .. high, both included. */
int64_t random_between(struct random_stream *stream, int64_t low, int64_t high);

/* True once in n times. */
bool random_once_in(struct random_stream *stream, int64_t n);

/* Uniform in [0, 1). */
double random_unit(struct random_stream *stream);

/*
 * Makes problem number `seed` in the dtype, with the oracle's answer: batch, grouped heads, nq and
 * nk (0 now and then), d and dv, scale (0 and negative too), both causal alignments, windows,
 * element masks and biases with broadcast axes and -inf entries, NaN and infinities at hidden and
 * at visible keys, any strides. The name says which seed it was.
 */
void random_case_make(struct attention_case *attention, uint64_t seed, enum fa_dtype dtype);

#endif
