/*
 * What is asked of every rung, on a GPU and through the shim alike. Each returns how many passes
 * ran.
 */
#ifndef TESTS_CUDA_SUITE_H
#define TESTS_CUDA_SUITE_H

#include <stdbool.h>

/* The rungs of the shim: ThreadSanitizer's threads cannot do what Hopper's two ask for. */
#ifdef __SANITIZE_THREAD__
enum { CUDA_SHIM_RUNGS = 5 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { CUDA_SHIM_RUNGS = 5 };
#else
enum { CUDA_SHIM_RUNGS = 7 };
#endif
#else
enum { CUDA_SHIM_RUNGS = 7 };
#endif

/* The field cases in each dtype; `most` bounds heads * nq * nk * (d + dv) of those that run. */
int cuda_suite_field_cases(double most);

/* Random problems number first .. first + n - 1. */
int cuda_suite_random(int first, int n);

/* Shapes that end inside a tile, every mask, grouped heads, layouts, dropout, block masks. */
int cuda_suite_grid(bool large);

/* Shapes long enough for Hopper's rungs to use each place of their shared memory again. */
int cuda_suite_long(void);

/* What a call refuses, and that it then writes nothing. */
int cuda_suite_refusals(void);

/* Packed Q, K, V and gradients give the bits of separate ones, by each rung with a backward pass. */
int cuda_suite_packed(void);

/* Scores near the end of f32; keys without a query head. */
int cuda_suite_edges(void);

/* Many equal scores, and scores so large that weights, as powers of two, have no fraction left. */
int cuda_suite_exponents(void);

/* `times` equal calls give equal bits; and each backward pass is right once. */
int cuda_suite_repeats(int times);

#endif
