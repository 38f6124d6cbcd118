/*
 * FA_CLONES: compile a function for several generations of the processor and choose when the
 * program starts. Off where the compiler or the sanitizers can't.
 */
#ifndef FA_TILE_TARGET_H
#define FA_TILE_TARGET_H

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "FlashLab needs NaN and infinities: build without -ffast-math and -ffinite-math-only"
#endif

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    __GNUC__ >= 12 && !defined(FLASHLAB_NO_TARGET_CLONES)
#define FA_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FA_CLONES
#endif

/* Inlined into each clone, so that it is compiled for the clone's processor. */
#define FA_INLINE static inline __attribute__((always_inline))

#endif
