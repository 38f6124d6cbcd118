/*
 * NumPy's .npy files, versions 1.0 to 3.0.
 *
 * Reads <f2 <f4 <f8, |b1, and signed and unsigned integers of 1 to 8 bytes, in either byte order,
 * C or Fortran order, of up to FA_NPY_MAX_RANK axes, and converts each element once, rounding to
 * nearest even, to the format that the caller asks for. The array comes out in C order.
 */
#ifndef FA_NPY_H
#define FA_NPY_H

#include "reference/dtype.h"
#include "reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FA_NPY_MAX_RANK = 8 };

struct fa_npy {
    enum fa_dtype dtype; /* of data */
    int rank;            /* 0 to FA_NPY_MAX_RANK */
    int64_t shape[FA_NPY_MAX_RANK];
    void *data; /* C order, contiguous, 64-byte aligned */
};

/*
 * Reads the file at path as `dtype`. FA_U8 (a mask) takes only bool and u8 files, and u8 only with
 * values 0 and 1. The float formats take float, bool and integer files; an integer that the double
 * format can't hold exactly is refused.
 * Errors: FA_IO (cannot open, cannot read, not a regular file), FA_BAD_FILE (bad magic, version,
 * header, type, order, rank, a bool that is neither 0 nor 1, a size that is not what the header
 * says: both numbers are named), FA_TOO_LARGE, FA_NO_MEMORY.
 * Memory is taken only after the header's size was compared with the file's. *out untouched then.
 */
enum fa_status fa_npy_read(const char *path, enum fa_dtype dtype, struct fa_npy *out,
                           struct fa_error *error);

/* The same from bytes in memory; `name` stands in messages for the path. For tests and fuzzing. */
enum fa_status fa_npy_parse(const char *name, const unsigned char *bytes, size_t n_bytes,
                            enum fa_dtype dtype, struct fa_npy *out, struct fa_error *error);

/*
 * Writes array as version 1.0, little-endian, C order, header padded to 64 bytes as NumPy does:
 * <f8 <f4 <f2, bf16 widened to <f4, u8 as |b1. The file is written beside (path + ".part-PID"),
 * flushed, and renamed over path: on an error neither a partial file nor a lost old one remains.
 * Two threads may not write the same path at once.
 * Errors: FA_BAD_ARGUMENT, FA_TOO_LARGE (rank or shape), FA_IO (also for a path at which something
 * other than a regular file stands), FA_NO_MEMORY.
 */
enum fa_status fa_npy_write(const char *path, const struct fa_npy *array, struct fa_error *error);

/* Frees data and clears the struct. */
void fa_npy_free(struct fa_npy *array);

#ifdef __cplusplus
}
#endif
#endif
