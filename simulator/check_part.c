/* The parts of a tensor, and which of them is worst. */
#include <math.h>

#include "simulator/check.h"

struct sim_check_part sim_check_part_none(void)
{
    return (struct sim_check_part){.head = -1, .first = -1, .last = -1, .worst = -1};
}

struct sim_check_part sim_check_part_make(const struct fa_comparison *compared, double budget,
                                          int64_t head, int64_t first, int64_t last)
{
    if (compared->worst < 0 || isinf(budget))
        return sim_check_part_none();
    return (struct sim_check_part){
        .wrong = !fa_comparison_within(compared, budget),
        .head = head,
        .first = first,
        .last = last,
        .worst = compared->worst,
        .error = compared->max_abs_error,
        .budget = budget,
    };
}

/* -1 for no part, INFINITY for an error that nothing allows. */
static double share_of(const struct sim_check_part *part)
{
    if (part->worst < 0)
        return -1;
    return part->budget > 0 ? part->error / part->budget : INFINITY;
}

void sim_check_part_merge(struct sim_check_part *sum, const struct sim_check_part *part,
                          int64_t elements)
{
    int64_t wrong = sum->wrong + part->wrong;
    if (share_of(part) > share_of(sum)) {
        *sum = *part;
        sum->worst += elements;
    }
    sum->wrong = wrong;
}

int64_t sim_check_parts_of(int64_t rows)
{
    return rows / SIM_CHECK_PART_ROWS + (rows % SIM_CHECK_PART_ROWS != 0);
}
