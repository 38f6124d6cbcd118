/*
 * Philox4x32-10, a counter-based random generator.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
 */
#ifndef FA_PHILOX_H
#define FA_PHILOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The four words of `counter` under the 64-bit key (low word first). */
void fa_philox4x32(uint64_t key, const uint32_t counter[4], uint32_t words[4]);

#ifdef __cplusplus
}
#endif
#endif
