#include "reference/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

bool fa_multiply(int64_t a, int64_t b, int64_t *out)
{
    assert(a >= 0 && b >= 0);
    if (b != 0 && a > INT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

enum fa_status fa_shape_elements(const int64_t shape[4], int64_t *out, struct fa_error *error)
{
    int64_t n = 1;
    for (int axis = 0; axis < 4; axis++)
        if (shape[axis] < 0)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "axis %d of a tensor is %" PRId64 ": expected 0 or more", axis,
                           shape[axis]);
    /* A zero axis makes the product 0 whatever the others are, so it is looked for first. */
    for (int axis = 0; axis < 4; axis++)
        if (shape[axis] == 0)
            n = 0;
    for (int axis = 0; axis < 4; axis++)
        if (!fa_multiply(n, shape[axis], &n))
            return fa_fail(error, FA_TOO_LARGE,
                           "a tensor of [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                           "] has more than 2^63 - 1 elements",
                           shape[0], shape[1], shape[2], shape[3]);
    *out = n;
    return FA_OK;
}

struct fa_tensor fa_tensor_view(enum fa_dtype dtype, const int64_t shape[4], void *data)
{
    struct fa_tensor tensor = {.dtype = dtype, .data = data};
    memcpy(tensor.shape, shape, sizeof tensor.shape);
    tensor.stride[3] = 1;
    for (int axis = 2; axis >= 0; axis--)
        tensor.stride[axis] = tensor.stride[axis + 1] * shape[axis + 1];
    return tensor;
}

enum fa_status fa_tensor_create(struct fa_tensor *tensor, enum fa_dtype dtype,
                                const int64_t shape[4], struct fa_error *error)
{
    int64_t n, bytes;
    if ((unsigned)dtype >= FA_DTYPE_COUNT)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "a tensor of dtype %d: expected one of enum fa_dtype", (int)dtype);
    enum fa_status status = fa_shape_elements(shape, &n, error);
    if (status != FA_OK)
        return status;
    if (!fa_multiply(n, (int64_t)fa_dtype_bytes(dtype), &bytes) || bytes > INT64_MAX - ALIGNMENT)
        return fa_fail(error, FA_TOO_LARGE,
                       "a tensor of %" PRId64 " %s elements is past 2^63 bytes", n,
                       fa_dtype_name(dtype));
    size_t padded = ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, padded);
    if (!memory)
        return fa_fail(error, FA_NO_MEMORY,
                       "no memory for a tensor of [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                       "] %s: %zu bytes were refused",
                       shape[0], shape[1], shape[2], shape[3], fa_dtype_name(dtype), padded);
    *tensor = fa_tensor_view(dtype, shape, memory);
    tensor->memory = memory;
    return FA_OK;
}

void fa_tensor_free(struct fa_tensor *tensor)
{
    free(tensor->memory);
    memset(tensor, 0, sizeof *tensor);
}

int64_t fa_tensor_index(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                        int64_t column)
{
    return batch * tensor->stride[0] + head * tensor->stride[1] + row * tensor->stride[2] +
           column * tensor->stride[3];
}

double fa_tensor_get(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                     int64_t column)
{
    return fa_dtype_get(tensor->dtype, tensor->data,
                        fa_tensor_index(tensor, batch, head, row, column));
}

void fa_tensor_set(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                   int64_t column, double value)
{
    fa_dtype_set(tensor->dtype, tensor->data, fa_tensor_index(tensor, batch, head, row, column),
                 value);
}
