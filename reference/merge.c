#include "reference/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * Equation (10), with the greater LSE in the place of m: exp of a difference that is not above 0
 * cannot overflow. An empty part is left out, not multiplied by 0: its O may hold NaN.
 */
void fa_merge_row(double *o, double *lse, const double *o_part, double lse_part, int64_t dv)
{
    bool empty = *lse == -INFINITY, part_empty = lse_part == -INFINITY;
    if (empty)
        for (int64_t c = 0; c < dv; c++)
            o[c] = part_empty ? 0 : o_part[c];
    if (empty)
        *lse = lse_part;
    if (empty || part_empty)
        return;
    double m = fmax(*lse, lse_part); /* passes NaN over; the differences bring it back */
    double weight = exp(*lse - m), part_weight = exp(lse_part - m);
    double sum = weight + part_weight;
    for (int64_t c = 0; c < dv; c++)
        o[c] = (weight * o[c] + part_weight * o_part[c]) / sum;
    *lse = m + log(sum);
}

static enum fa_status check(const char *name, const struct fa_tensor *tensor,
                            const int64_t shape[4], int64_t columns, struct fa_error *error)
{
    const int64_t *is = tensor->shape;
    bool same = is[0] == shape[0] && is[1] == shape[1] && is[2] == shape[2] && is[3] == columns;
    if (!same)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s is [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                       "]: expected [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                       "], as the first part's o has it",
                       name, is[0], is[1], is[2], is[3], shape[0], shape[1], shape[2], columns);
    if ((unsigned)tensor->dtype >= FA_U8)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s is %s: expected a float format", name,
                       fa_dtype_name(tensor->dtype));
    int64_t rows = is[0] * is[1] * is[2];
    if (rows > 0 && !tensor->data)
        return fa_fail(error, FA_BAD_ARGUMENT, "%s has a shape and no data", name);
    return FA_OK;
}

static enum fa_status check_all(const struct fa_result *a, const struct fa_result *b,
                                const struct fa_tensor *o, const struct fa_tensor *lse,
                                struct fa_error *error)
{
    const int64_t *shape = a->o->shape;
    const struct {
        const char *name;
        const struct fa_tensor *tensor;
        int64_t columns;
    } tensors[] = {
        {"the first part's o", a->o, shape[3]},  {"the first part's lse", a->lse, 1},
        {"the second part's o", b->o, shape[3]}, {"the second part's lse", b->lse, 1},
        {"the merged o", o, shape[3]},           {"the merged lse", lse, 1},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        enum fa_status status =
            check(tensors[i].name, tensors[i].tensor, shape, tensors[i].columns, error);
        if (status != FA_OK)
            return status;
    }
    return FA_OK;
}

static void read_row(const struct fa_tensor *tensor, int64_t b, int64_t h, int64_t r, double *row)
{
    for (int64_t c = 0; c < tensor->shape[3]; c++)
        row[c] = fa_tensor_get(tensor, b, h, r, c);
}

enum fa_status fa_merge(struct fa_result a, struct fa_result b, const struct fa_tensor *o,
                        const struct fa_tensor *lse, struct fa_error *error)
{
    const int64_t *shape = a.o->shape;
    int64_t dv = shape[3];
    enum fa_status status = check_all(&a, &b, o, lse, error);
    if (status != FA_OK)
        return status;
    double *row = calloc((size_t)dv + 1, 2 * sizeof *row), *part = row + dv;
    if (!row)
        return fa_fail(error, FA_NO_MEMORY, "no memory for two rows of %" PRId64 " numbers", dv);
    for (int64_t n = 0; n < shape[0] * shape[1] * shape[2]; n++) {
        int64_t r = n % shape[2], h = n / shape[2] % shape[1], batch = n / shape[2] / shape[1];
        double row_lse = fa_tensor_get(a.lse, batch, h, r, 0);
        read_row(a.o, batch, h, r, row);
        read_row(b.o, batch, h, r, part);
        fa_merge_row(row, &row_lse, part, fa_tensor_get(b.lse, batch, h, r, 0), dv);
        for (int64_t c = 0; c < dv; c++)
            fa_tensor_set(o, batch, h, r, c, row[c]);
        fa_tensor_set(lse, batch, h, r, 0, row_lse);
    }
    free(row);
    return FA_OK;
}
