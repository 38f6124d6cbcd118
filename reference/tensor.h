/*
 * A tensor in the large memory (HBM): four axes [batch, heads, rows, columns], any strides.
 *
 * Strides make both layouts (bhsd and bshd), and broadcasting (a stride of 0) the same code. A
 * tensor without data (data == NULL) is a shape alone: count-only runs move nothing.
 */
#ifndef FA_TENSOR_H
#define FA_TENSOR_H

#include <stdint.h>

#include "reference/dtype.h"
#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fa_tensor {
    enum fa_dtype dtype;
    int64_t shape[4];  /* batch, heads, rows, columns; each >= 0 */
    int64_t stride[4]; /* in elements */
    void *data;        /* element [0,0,0,0]; NULL: shape only */
    void *memory;      /* what fa_tensor_free releases; NULL when the data is somebody else's */
};

/* a * b for sizes that are not negative. False, *out untouched, past 2^63 - 1. */
bool fa_multiply(int64_t a, int64_t b, int64_t *out);

/* Elements in shape[4]. FA_TOO_LARGE past 2^63 - 1, FA_BAD_ARGUMENT for a negative axis. */
enum fa_status fa_shape_elements(const int64_t shape[4], int64_t *out, struct fa_error *error);

/*
 * A new contiguous row-major tensor, aligned to 64 bytes, its bytes unset.
 * Errors: FA_BAD_ARGUMENT, FA_TOO_LARGE, FA_NO_MEMORY; *tensor is untouched then.
 */
enum fa_status fa_tensor_create(struct fa_tensor *tensor, enum fa_dtype dtype,
                                const int64_t shape[4], struct fa_error *error);

/* A contiguous row-major tensor over data that the caller keeps (NULL: shape only). */
struct fa_tensor fa_tensor_view(enum fa_dtype dtype, const int64_t shape[4], void *data);

/* Frees what fa_tensor_create took and clears the struct; nothing happens for a view or a zeroed
 * struct. */
void fa_tensor_free(struct fa_tensor *tensor);

/* Index in elements, from data, of one element; computed in 64 bits. */
int64_t fa_tensor_index(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                        int64_t column);

double fa_tensor_get(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                     int64_t column);
void fa_tensor_set(const struct fa_tensor *tensor, int64_t batch, int64_t head, int64_t row,
                   int64_t column, double value);

#ifdef __cplusplus
}
#endif
#endif
