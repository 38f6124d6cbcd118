/* Metrics as bytes, from the units and the numbers that ncu prints. */
#include "cuda/ncu_csv.h"

#include <stdbool.h>
#include <string.h>

enum { SECTOR_BYTES = 32 };

/* Bytes of one of the unit; 0 if it is none. */
static double unit_bytes(const char *unit)
{
    static const char letters[] = "KMGT";
    const char *letter = *unit ? strchr(letters, *unit) : NULL;
    double scale = 1;
    if (letter) {
        for (const char *l = letters; l <= letter; l++)
            scale *= 1000;
        unit++;
    }
    if (strcmp(unit, "byte") == 0 || (letter && strcmp(unit, "B") == 0))
        return scale;
    return strcmp(unit, "sector") == 0 || strcmp(unit, "sectors") == 0 ? SECTOR_BYTES * scale : 0;
}

/* "1,234,567.5": digits, in threes after the first comma, and a decimal point. */
static bool read_number(const char *text, double *number)
{
    double value = 0, place = 1;
    int group = 0;
    bool commas = false, any = false;
    for (; (*text >= '0' && *text <= '9') || *text == ','; text++) {
        if (*text == ',') {
            if (!any || (commas ? group != 3 : group > 3))
                return false;
            commas = true;
            group = 0;
            continue;
        }
        value = 10 * value + (*text - '0');
        group++;
        any = true;
    }
    if (!any || (commas && group != 3))
        return false;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++)
            value += (*text - '0') * (place /= 10);
    *number = value;
    return *text == '\0';
}

bool ncu_csv_is_measured(const struct ncu_metric *metric)
{
    return strcmp(metric->value, "n/a") != 0;
}

enum fa_status ncu_csv_bytes(const struct ncu_csv *csv, const struct ncu_metric *metric,
                             uint64_t *bytes, struct fa_error *error)
{
    double number, unit = unit_bytes(metric->unit);
    if (unit == 0)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %d, column %d: %.80s in '%.40s': expected byte, Kbyte, Mbyte, "
                       "Gbyte or sector",
                       csv->name, metric->line, metric->column, metric->name, metric->unit);
    if (!read_number(metric->value, &number) || number * unit >= 0x1p63)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %d, column %d: %.80s is '%.40s': expected a number such as "
                       "1234 or 1,234.5",
                       csv->name, metric->line, metric->column, metric->name, metric->value);
    /* There is no part of a byte: in "1.234" the point sets thousands apart. */
    if (unit <= SECTOR_BYTES && number != (double)(uint64_t)number)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %d, column %d: %.80s is '%.40s' in %.40s: expected a whole number "
                       "such as 1,234 (ncu prints it so under LC_ALL=C)",
                       csv->name, metric->line, metric->column, metric->name, metric->value,
                       metric->unit);
    *bytes = (uint64_t)(number * unit + 0.5);
    return FA_OK;
}
