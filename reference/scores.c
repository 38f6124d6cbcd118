#include "reference/scores.h"

#include "reference/verbs.h"

void fa_scores_alloc_one(struct fa_port *port, enum fa_tensor_id which, int64_t rows,
                         int64_t columns)
{
    const struct fa_tensor *tensor = &port->run->tensor[which];
    if (fa_scores_has(port->run, which))
        fa_alloc(port, which, tensor->shape[2] == 1 ? 1 : rows,
                 tensor->shape[3] == 1 ? 1 : columns);
}

void fa_scores_apply_one(struct fa_port *port, enum fa_tensor_id which, int64_t i, int64_t j)
{
    const struct fa_tensor *tensor = &port->run->tensor[which];
    const struct fa_tiles *tiles = &port->run->tiles;
    fa_load(port, which, tensor->shape[2] == 1 ? 0 : i * tiles->br,
            tensor->shape[3] == 1 ? 0 : j * tiles->bc);
    fa_compute(port, which == FA_BIAS ? FA_OP_BIAS : FA_OP_MASK);
}

void fa_scores_alloc(struct fa_port *port, int64_t rows, int64_t columns)
{
    fa_scores_alloc_one(port, FA_BIAS, rows, columns);
    fa_scores_alloc_one(port, FA_MASK, rows, columns);
}

void fa_scores_free(struct fa_port *port)
{
    if (fa_scores_has(port->run, FA_MASK))
        fa_free(port, FA_MASK);
    if (fa_scores_has(port->run, FA_BIAS))
        fa_free(port, FA_BIAS);
}

void fa_scores_modify(struct fa_port *port, int64_t i, int64_t j, bool cut)
{
    if (fa_scores_has(port->run, FA_BIAS))
        fa_scores_apply_one(port, FA_BIAS, i, j);
    if (cut)
        fa_compute(port, FA_OP_HIDE);
    if (fa_scores_has(port->run, FA_MASK))
        fa_scores_apply_one(port, FA_MASK, i, j);
}
