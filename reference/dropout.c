#include "reference/dropout.h"

#include <math.h>

#include "reference/philox.h"
#include "reference/verbs.h"

double fa_dropout_scale(const struct fa_problem *problem)
{
    return problem->dropout_p < 1 ? 1 / (1 - problem->dropout_p) : 0;
}

void fa_dropout_bits(const struct fa_problem *problem, int64_t batch, int64_t head, int64_t row,
                     int64_t column, int64_t n, uint8_t *keep)
{
    const double threshold = floor(problem->dropout_p * 4294967296.0);
    uint32_t words[4];
    for (int64_t c = 0; c < n; c++) {
        int64_t at = column + c;
        if (c == 0 || at % 4 == 0) {
            const uint32_t counter[4] = {(uint32_t)(at / 4), (uint32_t)row, (uint32_t)head,
                                         (uint32_t)batch};
            fa_philox4x32(problem->dropout_seed, counter, words);
        }
        keep[c] = (double)words[at % 4] >= threshold;
    }
}

void fa_dropout_alloc(struct fa_port *port, int64_t rows, int64_t columns)
{
    if (fa_dropout_any(port->run) && port->run->problem.dropout_keep)
        fa_alloc(port, FA_DROPOUT, rows, columns);
}

void fa_dropout_free(struct fa_port *port)
{
    if (fa_dropout_any(port->run) && port->run->problem.dropout_keep)
        fa_free(port, FA_DROPOUT);
}

void fa_dropout_load(struct fa_port *port, int64_t i, int64_t j)
{
    if (port->run->problem.dropout_keep)
        fa_load(port, FA_DROPOUT, i * port->run->tiles.br, j * port->run->tiles.bc);
}
