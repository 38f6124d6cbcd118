/* Fuzzes the .npy reader: any bytes are either refused in words or give an array that is whole. */
#include <stdlib.h>
#include <string.h>

#include "reference/npy.h"
#include "tests/fuzz.h"

/* Reads each element, so that a sanitizer sees an array shorter than its shape. */
static void check_array(const struct fa_npy *array, enum fa_dtype dtype, size_t n_bytes)
{
    int64_t n = 1;
    fuzz_expect(array->dtype == dtype && array->data && (uintptr_t)array->data % 64 == 0);
    fuzz_expect(array->rank >= 0 && array->rank <= FA_NPY_MAX_RANK);
    for (int axis = 0; axis < array->rank; axis++) {
        fuzz_expect(array->shape[axis] >= 0);
        n = array->shape[axis] == 0 ? 0 : n;
    }
    for (int axis = 0; axis < array->rank && n > 0; axis++)
        n *= array->shape[axis];
    fuzz_expect(n >= 0 && (uint64_t)n < n_bytes);
    for (int64_t i = 0; i < n; i++) {
        double value = fa_dtype_get(dtype, array->data, i);
        fuzz_expect(dtype != FA_U8 || value == 0 || value == 1);
    }
}

static void check_refusal(const struct fa_npy *array, const struct fa_npy *before,
                          enum fa_status status, const struct fa_error *error)
{
    fuzz_expect(memcmp(array, before, sizeof *array) == 0);
    fuzz_expect(error->status == status);
    fuzz_expect(status == FA_BAD_FILE || status == FA_TOO_LARGE || status == FA_NO_MEMORY);
    fuzz_expect(strncmp(error->text, "input: ", 7) == 0 && !strchr(error->text, '\n'));
    for (const char *at = error->text; *at; at++)
        fuzz_expect(*at >= ' ' && *at <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    for (int dtype = 0; dtype < FA_DTYPE_COUNT; dtype++) {
        struct fa_npy array, before;
        struct fa_error error;
        memset(&before, 0x5a, sizeof before);
        memcpy(&array, &before, sizeof array);
        memset(&error, 0, sizeof error);
        enum fa_status status =
            fa_npy_parse("input", data, n_bytes, (enum fa_dtype)dtype, &array, &error);
        if (status == FA_OK) {
            check_array(&array, (enum fa_dtype)dtype, n_bytes);
            fa_npy_free(&array);
        } else {
            check_refusal(&array, &before, status, &error);
        }
    }
    return 0;
}

/* Each element type, both byte orders and both orders of axes, and the three versions. */
size_t fuzz_seed(int index, uint8_t *data, size_t capacity)
{
    static const struct {
        unsigned version;
        const char *dict;
        size_t n_data;
    } seeds[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 48},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3, 2), }", 96},
        {2, "{'descr': '>f2', 'fortran_order': True, 'shape': (2, 3), }", 12},
        {3, "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", 5},
        {1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }", 8},
        {1, "{\"shape\":(),\"descr\":\"<i8\",\"fortran_order\":False}", 8},
        {1, "{'descr': '>u4', 'fortran_order': False, 'shape': (0, 7), }", 0},
        {1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L)}", 4},
    };
    if (index < 0 || (size_t)index >= sizeof seeds / sizeof *seeds)
        return 0;
    size_t preamble = seeds[index].version == 1 ? 10 : 12, length = strlen(seeds[index].dict);
    size_t n_bytes = preamble + length + seeds[index].n_data;
    if (n_bytes > capacity)
        return 0;
    memset(data, 0, n_bytes); /* The data, and the parts of the length that stay 0. */
    memcpy(data, "\x93NUMPY", 6);
    data[6] = (uint8_t)seeds[index].version;
    data[8] = (uint8_t)length;
    memcpy(data + preamble, seeds[index].dict, length);
    return n_bytes;
}
