/* Reading what a sweep varies: lists and ranges. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/sweep.h"

static const char *const key_names[SIM_SWEEP_KEYS] = {
    [SIM_SWEEP_N] = "n",   [SIM_SWEEP_D] = "d",   [SIM_SWEEP_SRAM] = "sram",
    [SIM_SWEEP_BR] = "br", [SIM_SWEEP_BC] = "bc", [SIM_SWEEP_ALGORITHM] = "algorithm",
};

const char *sim_sweep_key_name(enum sim_sweep_key key)
{
    return key_names[key];
}

/* Bytes stay exact as doubles, sides and lengths fit an int of the algorithms' loops. */
static int64_t greatest(enum sim_sweep_key key)
{
    return key == SIM_SWEEP_SRAM ? INT64_C(1) << 53 : INT32_MAX;
}

static enum fa_status append(struct sim_sweep_axis *axis, int64_t value, struct fa_error *error)
{
    const char *name = key_names[axis->key];
    if (value < 1 || value > greatest(axis->key))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s=%" PRId64 ": expected 1 to %" PRId64, name,
                       value, greatest(axis->key));
    if (axis->n == SIM_SWEEP_VALUES)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: more than %d values", name, SIM_SWEEP_VALUES);
    axis->value[axis->n++] = value;
    return FA_OK;
}

/* One number, as long as `length` bytes of the text. */
static enum fa_status parse_number(enum sim_sweep_key key, const char *text, size_t length,
                                   int64_t *value, struct fa_error *error)
{
    char number[64];
    uint64_t bytes;
    if (length >= sizeof number)
        length = sizeof number - 1;
    memcpy(number, text, length);
    number[length] = '\0';
    if (sim_parse_bytes(number, &bytes, NULL) != FA_OK || bytes > (uint64_t)greatest(key))
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: \"%s\": expected a whole number from 1 to %" PRId64
                       " (16K and 1M count in 1024s)",
                       key_names[key], number, greatest(key));
    *value = (int64_t)bytes;
    return FA_OK;
}

static enum fa_status parse_algorithm(const char *text, size_t length, int64_t *value,
                                      struct fa_error *error)
{
    for (int i = 0; i < FA_ALGORITHMS; i++) {
        const char *name = fa_algorithms[i]->name;
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            *value = i;
            return FA_OK;
        }
    }
    return fa_fail(error, FA_BAD_ARGUMENT,
                   "algorithm: \"%.*s\": expected standard, flash1, flash2 or fused-save-p",
                   (int)(length < 60 ? length : 60), text);
}

static enum fa_status parse_list(struct sim_sweep_axis *axis, const char *text,
                                 struct fa_error *error)
{
    while (true) {
        size_t length = strcspn(text, ",");
        int64_t value = 0;
        enum fa_status status = FA_OK;
        if (axis->key == SIM_SWEEP_ALGORITHM) {
            status = parse_algorithm(text, length, &value, error);
            if (!status)
                axis->value[axis->n++] = value; /* no more than there are: checked below */
        } else {
            status = parse_number(axis->key, text, length, &value, error);
            if (!status)
                status = append(axis, value, error);
        }
        for (int i = 0; !status && i + 1 < axis->n; i++) {
            if (axis->value[i] == value)
                status = fa_fail(error, FA_BAD_ARGUMENT, "%s: \"%.*s\" is given twice",
                                 key_names[axis->key], (int)length, text);
        }
        if (status || text[length] == '\0')
            return status;
        text += length + 1;
    }
}

/* The factor of a geometric range: digits with a point, above 1. False for anything else. */
static bool parse_factor(const char *text, double *factor)
{
    double value = 0, place = 1;
    bool point = false, digit = false;
    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || value > 1e15 || place < 1e-15)
            return false;
        digit = true;
        if (point)
            place /= 10;
        value = point ? value + place * (*text - '0') : value * 10 + (*text - '0');
    }
    *factor = value;
    return digit && value > 1;
}

static enum fa_status fill_geometric(struct sim_sweep_axis *axis, int64_t first, int64_t last,
                                     const char *text, struct fa_error *error)
{
    double factor;
    if (!parse_factor(text, &factor))
        return fa_fail(error, FA_BAD_ARGUMENT, "%s: factor \"%s\": expected a number above 1",
                       key_names[axis->key], text);
    for (int k = 0;; k++) {
        double value = rint((double)first * pow(factor, k));
        if (value > (double)last)
            return FA_OK;
        if (axis->n > 0 && (int64_t)value == axis->value[axis->n - 1])
            continue; /* a factor near 1 stays on a whole number for some steps */
        enum fa_status status = append(axis, (int64_t)value, error);
        if (status)
            return status;
    }
}

static enum fa_status fill_arithmetic(struct sim_sweep_axis *axis, int64_t first, int64_t last,
                                      const char *text, struct fa_error *error)
{
    int64_t step = 1;
    enum fa_status status = parse_number(axis->key, text, strlen(text), &step, error);
    for (int64_t value = first; !status && value <= last; value += step)
        status = append(axis, value, error);
    return status;
}

static enum fa_status parse_range(struct sim_sweep_axis *axis, const char *text, const char *dots,
                                  struct fa_error *error)
{
    const char *name = key_names[axis->key];
    size_t length = strcspn(dots + 2, "*+");
    const char *sign = dots + 2 + length;
    int64_t first = 0, last = 0;
    enum fa_status status;

    if (axis->key == SIM_SWEEP_ALGORITHM)
        return fa_fail(error, FA_BAD_ARGUMENT, "algorithm: expected names between commas");
    if (*sign == '\0')
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s=%s: a range without a step: expected A..B*F (each F times the one "
                       "before) or A..B+S",
                       name, text);
    status = parse_number(axis->key, text, (size_t)(dots - text), &first, error);
    if (!status)
        status = parse_number(axis->key, dots + 2, length, &last, error);
    if (status)
        return status;
    if (last < first)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s=%s: the range ends before it begins: expected the smaller number first",
                       name, text);
    return *sign == '*' ? fill_geometric(axis, first, last, sign + 1, error)
                        : fill_arithmetic(axis, first, last, sign + 1, error);
}

enum fa_status sim_sweep_axis_parse(const char *text, struct sim_sweep_axis *axis,
                                    struct fa_error *error)
{
    struct sim_sweep_axis made = {SIM_SWEEP_KEYS, 0, NULL};
    size_t length = strcspn(text, "=");
    enum fa_status status;

    for (int key = 0; key < SIM_SWEEP_KEYS; key++) {
        if (strlen(key_names[key]) == length && strncmp(text, key_names[key], length) == 0)
            made.key = (enum sim_sweep_key)key;
    }
    if (text[length] != '=' || made.key == SIM_SWEEP_KEYS)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "\"%s\": expected KEY=LIST or KEY=RANGE with n, d, sram, br, bc or "
                       "algorithm as KEY, such as sram=16K..256K*2",
                       text);
    text += length + 1;
    made.value = malloc(SIM_SWEEP_VALUES * sizeof *made.value);
    if (!made.value)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the values of a sweep");
    const char *dots = strstr(text, "..");
    status = dots ? parse_range(&made, text, dots, error) : parse_list(&made, text, error);
    if (status) {
        free(made.value);
        return status;
    }
    *axis = made;
    return FA_OK;
}

void sim_sweep_axis_free(struct sim_sweep_axis *axis)
{
    free(axis->value);
    axis->value = NULL;
    axis->n = 0;
}
