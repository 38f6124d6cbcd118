#include "simulator/trace_header_values.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/visibility.h"

json_t *sim_unsigned_write(uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return json_string(digits);
}

bool sim_unsigned_read(const json_t *value, uint64_t *number)
{
    const char *digits = json_string_value(value);
    uint64_t sum = 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *number = (uint64_t)json_integer_value(value);
        return true;
    }
    bool good = digits && *digits >= '1' && *digits <= '9';
    for (; good && *digits; digits++) {
        uint64_t digit = (uint64_t)(unsigned char)*digits - '0';
        good = digit <= 9 && sum <= (UINT64_MAX - digit) / 10;
        sum = 10 * sum + digit;
    }
    if (!good || sum <= INT64_MAX)
        return false;
    *number = sum;
    return true;
}

json_t *sim_window_write(const struct fa_problem *problem)
{
    if (problem->window_left < 0 && problem->window_right < 0)
        return json_null();
    return json_pack("[I,I]", (json_int_t)problem->window_left, (json_int_t)problem->window_right);
}

bool sim_window_read(const json_t *value, struct fa_problem *problem)
{
    const json_t *left = json_array_get(value, 0), *right = json_array_get(value, 1);
    problem->window_left = problem->window_right = -1;
    if (json_is_null(value))
        return true;
    if (json_array_size(value) != 2 || !json_is_integer(left) || !json_is_integer(right))
        return false;
    problem->window_left = json_integer_value(left);
    problem->window_right = json_integer_value(right);
    return true;
}

json_t *sim_dropout_write(const struct sim_trace_header *header)
{
    const struct fa_problem *p = &header->problem;
    if (!(p->dropout_p > 0))
        return json_null();
    json_t *seed = sim_unsigned_write(p->dropout_seed);
    return json_pack("{s:f,s:o,s:b}", "p", p->dropout_p, "seed", seed, "mask",
                     (int)header->has_keep);
}

bool sim_dropout_read(const json_t *value, struct sim_trace_header *header)
{
    const json_t *p = json_object_get(value, "p"), *mask = json_object_get(value, "mask");
    header->problem.dropout_p = 0;
    header->problem.dropout_seed = 0;
    header->has_keep = false;
    if (json_is_null(value))
        return true;
    if (json_object_size(value) != 3 || !json_is_number(p) || !json_is_boolean(mask) ||
        !sim_unsigned_read(json_object_get(value, "seed"), &header->problem.dropout_seed))
        return false;
    header->problem.dropout_p = json_number_value(p);
    header->has_keep = json_is_true(mask);
    return header->problem.dropout_p > 0 && header->problem.dropout_p <= 1;
}

json_t *sim_blocks_write(const struct fa_problem *problem)
{
    const struct fa_block_mask *blocks = problem->blocks;
    if (!blocks)
        return json_null();
    json_t *visit = json_array();
    char *row = malloc((size_t)blocks->columns + 1);
    bool done = visit && row;
    for (int64_t i = 0; i < blocks->rows && done; i++) {
        for (int64_t j = 0; j < blocks->columns; j++)
            row[j] = blocks->visit[i * blocks->columns + j] ? '1' : '0';
        done = json_array_append_new(visit, json_stringn(row, (size_t)blocks->columns)) == 0;
    }
    free(row);
    if (!done) {
        json_decref(visit);
        return NULL;
    }
    return json_pack("{s:I,s:I,s:o}", "br", (json_int_t)blocks->br, "bc", (json_int_t)blocks->bc,
                     "visit", visit);
}

static bool is_row(const json_t *text, int64_t columns)
{
    const char *digits = json_string_value(text);
    return digits && json_string_length(text) == (size_t)columns &&
           strspn(digits, "01") == (size_t)columns;
}

/* The bytes of a mask whose rows were looked at. */
static enum fa_status take_rows(const json_t *visit, const struct fa_block_mask *sizes,
                                struct fa_problem *problem)
{
    struct fa_block_mask *blocks = malloc(sizeof *blocks);
    uint8_t *bytes = malloc((size_t)(sizes->rows * sizes->columns) + 1);
    if (!blocks || !bytes) {
        free(blocks);
        free(bytes);
        return FA_NO_MEMORY;
    }
    for (int64_t i = 0; i < sizes->rows; i++) {
        const char *digits = json_string_value(json_array_get(visit, (size_t)i));
        for (int64_t j = 0; j < sizes->columns; j++)
            bytes[i * sizes->columns + j] = digits[j] == '1';
    }
    *blocks = *sizes;
    blocks->visit = bytes;
    problem->blocks = blocks;
    return FA_OK;
}

enum fa_status sim_blocks_read(const json_t *value, struct fa_problem *problem,
                               char expected[SIM_EXPECTED])
{
    const json_t *visit = json_object_get(value, "visit");
    struct fa_block_mask sizes = {
        .br = json_integer_value(json_object_get(value, "br")),
        .bc = json_integer_value(json_object_get(value, "bc")),
    };
    problem->blocks = NULL;
    if (json_is_null(value))
        return FA_OK;
    if (json_object_size(value) != 3 || !json_is_array(visit) || sizes.br < 1 || sizes.bc < 1 ||
        problem->nq < 0 || problem->nk < 0) {
        snprintf(expected, SIM_EXPECTED,
                 "null, or br and bc of 1 or more and visit, a list of texts");
        return FA_BAD_FILE;
    }
    sizes.rows = fa_tile_count(problem->nq, sizes.br);
    sizes.columns = fa_tile_count(problem->nk, sizes.bc);
    bool good = json_array_size(visit) == (size_t)sizes.rows;
    for (int64_t i = 0; i < sizes.rows && good; i++)
        good = is_row(json_array_get(visit, (size_t)i), sizes.columns);
    if (!good) {
        snprintf(expected, SIM_EXPECTED,
                 "its visit to have %" PRId64 " texts of %" PRId64
                 " digits 0 and 1, by nq, nk, br and bc",
                 sizes.rows, sizes.columns);
        return FA_BAD_FILE;
    }
    return take_rows(visit, &sizes, problem);
}

void sim_blocks_free(struct fa_problem *problem)
{
    struct fa_block_mask *blocks = (struct fa_block_mask *)(uintptr_t)problem->blocks;
    if (blocks)
        free((uint8_t *)(uintptr_t)blocks->visit);
    free(blocks);
    problem->blocks = NULL;
}
