#include "simulator/digits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *sim_digits_text(uint64_t number, char text[SIM_DIGITS_TEXT])
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, number);
    /* 20 digits with a narrow space of three bytes in each gap would pass the text's size. */
    const char *gap = n > 15 ? " " : "\u202f";
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            memcpy(text + at, gap, strlen(gap));
            at += strlen(gap);
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}
