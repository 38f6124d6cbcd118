/*
 * The header of a .npy file: a magic, a version, a length, and a Python dict as text.
 * Source: numpy/lib/format.py's description of versions 1.0 to 3.0. Part of npy.c.
 */
#ifndef FA_NPY_HEADER_H
#define FA_NPY_HEADER_H

#include "reference/npy.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FA_NPY_PREAMBLE_MAX = 12, /* magic, version, length of the text: 10 bytes in version 1.0 */
    FA_NPY_TEXT_MAX = 65535,  /* longest text that is read: all that version 1.0 can say */
    FA_NPY_WRITTEN_BYTES = 128 /* a header that is written, whatever its shape */
};

struct fa_npy_header {
    char kind;       /* 'f' float, 'i' signed, 'u' unsigned, 'b' bool */
    int bytes;       /* of one element: 1, 2, 4, 8 */
    bool big_endian; /* false for elements of one byte */
    bool fortran_order;
    int rank;
    int64_t shape[FA_NPY_MAX_RANK];
    int64_t n_elements; /* product of shape; 1 for rank 0 */
    size_t data_offset; /* bytes before the first element */
};

/*
 * Reads the header at the start of bytes[n_bytes], the first bytes of a file of file_bytes: all of
 * it, or at least FA_NPY_PREAMBLE_MAX + FA_NPY_TEXT_MAX. As Python's repr writes a dict, in any key
 * order and with any white space between its parts, but with just the three keys, each once.
 * *out is right only if the file's size is what the header calls for.
 * Errors: FA_BAD_FILE, FA_TOO_LARGE; texts begin with name.
 */
enum fa_status fa_npy_header_parse(const char *name, const unsigned char *bytes, size_t n_bytes,
                                   uint64_t file_bytes, struct fa_npy_header *out,
                                   struct fa_error *error);

/*
 * The elements of shape[rank], whose axes are 0 or more; 1 for rank 0.
 * Errors: FA_TOO_LARGE if the axes other than 0 multiply to 2^60 or more: 8 bytes for each would
 * pass 2^63 - 1.
 */
enum fa_status fa_npy_count_elements(const char *name, int rank, const int64_t *shape, int64_t *out,
                                     struct fa_error *error);

/*
 * Writes version 1.0's header of a little-endian array in C order; descr is such as "<f4".
 * Needs: a rank in its domain and a shape that fa_npy_count_elements accepts. So many axes and
 * digits take at most 95 characters, so every header has NumPy's two blocks of 64 bytes.
 */
void fa_npy_header_format(const char *descr, const struct fa_npy *array,
                          unsigned char header[FA_NPY_WRITTEN_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
