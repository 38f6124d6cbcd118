#include "reference/compare.h"

#include <math.h>

struct fa_comparison fa_comparison_start(void)
{
    struct fa_comparison comparison = {.worst = -1};
    return comparison;
}

void fa_comparison_add(struct fa_comparison *comparison, const double *got, const double *expected,
                       int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double g = got[i], e = expected[i], error;
        if (isfinite(g) && isfinite(e)) {
            error = fabs(g - e);
            comparison->sum_of_squares += error * error;
        } else if (g == e || (isnan(g) && isnan(e))) {
            error = 0;
        } else {
            error = INFINITY;
            comparison->mismatches++;
        }
        /* Strictly larger, so that the first of equal errors stays and a zero is never worst. */
        if (error > comparison->max_abs_error) {
            comparison->max_abs_error = error;
            comparison->worst = comparison->n + i;
        }
        comparison->nonfinite_expected += !isfinite(e);
        if (isfinite(e) && fabs(e) > comparison->max_abs_expected)
            comparison->max_abs_expected = fabs(e);
    }
    comparison->n += n;
}

void fa_comparison_merge(struct fa_comparison *comparison, const struct fa_comparison *part)
{
    if (part->max_abs_error > comparison->max_abs_error) {
        comparison->max_abs_error = part->max_abs_error;
        comparison->worst = comparison->n + part->worst;
    }
    if (part->max_abs_expected > comparison->max_abs_expected)
        comparison->max_abs_expected = part->max_abs_expected;
    comparison->n += part->n;
    comparison->mismatches += part->mismatches;
    comparison->nonfinite_expected += part->nonfinite_expected;
    comparison->sum_of_squares += part->sum_of_squares;
}

double fa_comparison_rms(const struct fa_comparison *comparison)
{
    if (comparison->mismatches > 0)
        return INFINITY;
    if (comparison->n == 0)
        return 0;
    return sqrt(comparison->sum_of_squares / (double)comparison->n);
}

bool fa_comparison_within(const struct fa_comparison *comparison, double budget)
{
    return comparison->mismatches == 0 && comparison->max_abs_error <= budget;
}
