#include "reference/block_pattern.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/philox.h"
#include "reference/visibility.h"

/* The third word of the counter, which tells these draws from those of inputs (profile.h). */
enum { BLOCKS_TENSOR = 5 };

/* A whole number at *text, which moves past it; digits alone, up to 2^64 - 1. */
static bool read_number(const char **text, uint64_t *value)
{
    uint64_t sum = 0;
    const char *at = *text;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *text = at;
    *value = sum;
    return true;
}

static bool read_size(const char **text, int64_t *value)
{
    uint64_t read;
    if (!read_number(text, &read) || read > (uint64_t)INT64_MAX)
        return false;
    *value = (int64_t)read;
    return true;
}

/* A decimal number from 0 to 1, such as "0.1" or "1e-3"; strtod alone would take "nan" and
 * "0x1". */
static bool read_probability(const char **text, double *value)
{
    size_t n = strspn(*text, "0123456789.eE+-");
    char number[40], *end;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, *text, n);
    number[n] = '\0';
    *value = strtod(number, &end);
    *text += n;
    return *end == '\0' && *value >= 0 && *value <= 1 && !signbit(*value);
}

/* What follows the colon. The whole text must be read. */
static bool read_parts(const char *at, struct fa_block_pattern *made, bool *seeded)
{
    switch (made->rule) {
    case FA_BLOCKS_WINDOW:
        if (!read_size(&at, &made->width) || *at++ != ',' || !read_size(&at, &made->global))
            return false;
        break;
    case FA_BLOCKS_STRIDED:
        if (!read_size(&at, &made->stride) || made->stride < 1)
            return false;
        break;
    case FA_BLOCKS_BUTTERFLY:
        break;
    case FA_BLOCKS_RANDOM:
        if (!read_probability(&at, &made->probability))
            return false;
        *seeded = *at == ',';
        if (*seeded && (at++, !read_number(&at, &made->seed)))
            return false;
        break;
    }
    return *at == '\0';
}

enum fa_status fa_block_pattern_parse(const char *text, struct fa_block_pattern *pattern,
                                      bool *seeded, struct fa_error *error)
{
    static const char *const heads[] = {"window:", "strided:", "butterfly", "random:"};
    for (int rule = 0; rule < (int)(sizeof heads / sizeof *heads); rule++) {
        struct fa_block_pattern made = {.rule = (enum fa_block_rule)rule, .seed = 1};
        bool own_seed = false;
        size_t n = strlen(heads[rule]);
        if (strncmp(text, heads[rule], n) != 0)
            continue;
        if (!read_parts(text + n, &made, &own_seed))
            break;
        *pattern = made;
        if (seeded)
            *seeded = own_seed;
        return FA_OK;
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "expected window:W,G (W tiles each side of the diagonal, G global rows and "
                   "columns), strided:K (K from 1), butterfly or random:P[,SEED] (P from 0 to 1)");
}

const char *fa_block_pattern_text(const struct fa_block_pattern *pattern,
                                  char text[FA_BLOCK_PATTERN_TEXT])
{
    switch (pattern->rule) {
    case FA_BLOCKS_WINDOW:
        snprintf(text, FA_BLOCK_PATTERN_TEXT, "window:%" PRId64 ",%" PRId64, pattern->width,
                 pattern->global);
        break;
    case FA_BLOCKS_STRIDED:
        snprintf(text, FA_BLOCK_PATTERN_TEXT, "strided:%" PRId64, pattern->stride);
        break;
    case FA_BLOCKS_BUTTERFLY:
        snprintf(text, FA_BLOCK_PATTERN_TEXT, "butterfly");
        break;
    case FA_BLOCKS_RANDOM:
        /* As short as it can be while it reads as the same number. */
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, FA_BLOCK_PATTERN_TEXT, "%.*g", digits, pattern->probability);
            if (strtod(text, NULL) == pattern->probability)
                break;
        }
        char number[FA_BLOCK_PATTERN_TEXT - 30];
        snprintf(number, sizeof number, "%.33s", text);
        snprintf(text, FA_BLOCK_PATTERN_TEXT, "random:%s,%" PRIu64, number, pattern->seed);
        break;
    }
    return text;
}

/* floor(x n / size), for x < size and n <= size, where the product may be past 64 bits. */
static int64_t stretch(int64_t x, int64_t n, int64_t size)
{
    return n == size ? x : (int64_t)((unsigned __int128)x * (unsigned __int128)n / (uint64_t)size);
}

static bool is_drawn(const struct fa_block_pattern *pattern, uint64_t index)
{
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), BLOCKS_TENSOR, 0};
    uint32_t words[4];
    fa_philox4x32(pattern->seed, counter, words);
    return words[0] < pattern->probability * 0x1p32;
}

bool fa_block_pattern_visits(const struct fa_block_pattern *pattern, int64_t i, int64_t j,
                             int64_t rows, int64_t columns)
{
    int64_t n = rows < columns ? rows : columns;
    int64_t row = stretch(i, n, rows), column = stretch(j, n, columns);
    int64_t distance = row > column ? row - column : column - row;
    uint64_t bits = (uint64_t)row ^ (uint64_t)column;
    if (distance == 0)
        return true;
    switch (pattern->rule) {
    case FA_BLOCKS_WINDOW:
        return distance <= pattern->width || i < pattern->global || j < pattern->global;
    case FA_BLOCKS_STRIDED:
        return distance % pattern->stride == 0;
    case FA_BLOCKS_BUTTERFLY:
        return (bits & (bits - 1)) == 0;
    case FA_BLOCKS_RANDOM:
        break;
    }
    return is_drawn(pattern, (uint64_t)i * (uint64_t)columns + (uint64_t)j);
}

enum fa_status fa_block_pattern_make(const struct fa_block_pattern *pattern, int64_t nq, int64_t nk,
                                     int64_t br, int64_t bc, struct fa_block_mask *mask,
                                     struct fa_error *error)
{
    int64_t n;
    if (nq < 0 || nk < 0 || br < 1 || bc < 1)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a block pattern of %" PRId64 " x %" PRId64 " blocks over %" PRId64
                       " x %" PRId64 ": expected blocks of 1 or more, and sides of 0 or more",
                       br, bc, nq, nk);
    int64_t rows = fa_tile_count(nq, br), columns = fa_tile_count(nk, bc);
    if (!fa_multiply(rows, columns, &n))
        return fa_fail(error, FA_TOO_LARGE,
                       "a block mask of %" PRId64 " x %" PRId64 " is past 2^63 - 1 bytes", rows,
                       columns);
    uint8_t *visit = (uint64_t)n < SIZE_MAX ? malloc((size_t)n + 1) : NULL;
    if (!visit)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a block mask of %" PRId64 " x %" PRId64,
                       rows, columns);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            visit[i * columns + j] = fa_block_pattern_visits(pattern, i, j, rows, columns);
    *mask = (struct fa_block_mask){br, bc, rows, columns, visit};
    return FA_OK;
}

void fa_block_mask_free(struct fa_block_mask *mask)
{
    free((uint8_t *)(uintptr_t)mask->visit);
    memset(mask, 0, sizeof *mask);
}

double fa_block_mask_share(const struct fa_block_mask *mask)
{
    int64_t n = mask->rows * mask->columns, visited = 0;
    for (int64_t i = 0; i < n; i++)
        visited += mask->visit[i];
    return n > 0 ? (double)visited / (double)n : 0;
}
