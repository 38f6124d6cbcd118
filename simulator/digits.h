/*
 * Whole numbers as people read them: the one way in which windows, pictures and lessons group
 * digits. (Tables and files that programs read have bare digits.)
 */
#ifndef SIM_DIGITS_H
#define SIM_DIGITS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "512", "4 096", "73 728": in groups of three with narrow spaces, U+202F, between them; from 10^15
 * on with plain ones. Returns text. */
enum { SIM_DIGITS_TEXT = 32 };
const char *sim_digits_text(uint64_t number, char text[SIM_DIGITS_TEXT]);

/* The same as an argument of printf: it lasts as long as the block that it stands in. */
#define SIM_GROUPED(number) sim_digits_text((uint64_t)(number), (char[SIM_DIGITS_TEXT]){""})

#ifdef __cplusplus
}
#endif
#endif
