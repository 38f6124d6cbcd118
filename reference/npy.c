#include "reference/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/npy_header.h"

/* The buffer holds a longest header first, and then one piece of the data after another. */
enum { ALIGNMENT = 64, BUFFER_WORDS = (FA_NPY_PREAMBLE_MAX + FA_NPY_TEXT_MAX + 7) / 8 };

/* What is read: a file, or bytes in memory. */
struct source {
    const char *name;
    int file;                   /* used if bytes is NULL */
    const unsigned char *bytes;
    uint64_t n_bytes;
};

/* Copies n bytes from `offset` on. Memory is copied too: its elements need not be aligned. */
static enum fa_status source_read(const struct source *source, uint64_t offset, void *to, size_t n,
                                  struct fa_error *error)
{
    if (source->bytes) {
        memcpy(to, source->bytes + offset, n);
        return FA_OK;
    }
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(source->file, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fa_fail(error, FA_IO, "%s: cannot be read: %s", source->name, strerror(errno));
        if (got == 0)
            return fa_fail(error, FA_IO, "%s: became shorter while it was read", source->name);
        done += (size_t)got;
    }
    return FA_OK;
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void swap_bytes(unsigned char *elements, size_t n, size_t bytes)
{
    for (unsigned char *element = elements; n > 0; n--, element += bytes) {
        for (size_t i = 0; i < bytes / 2; i++) {
            unsigned char held = element[i];
            element[i] = element[bytes - 1 - i];
            element[bytes - 1 - i] = held;
        }
    }
}

/* Walks an array in the file's order and says where, in C order, each element belongs. */
struct walk {
    int rank;
    int64_t shape[FA_NPY_MAX_RANK], stride[FA_NPY_MAX_RANK], at[FA_NPY_MAX_RANK];
    int64_t index;
};

static struct walk walk_start(const struct fa_npy_header *header)
{
    struct walk walk = {.rank = header->rank};
    int64_t stride = 1;
    for (int axis = header->rank - 1; axis >= 0; axis--) {
        walk.shape[axis] = header->shape[axis];
        walk.stride[axis] = stride;
        stride *= header->shape[axis];
    }
    if (!header->fortran_order) {
        walk.rank = 1;
        walk.shape[0] = header->n_elements;
        walk.stride[0] = 1;
    }
    return walk;
}

static int64_t walk_next(struct walk *walk)
{
    int64_t index = walk->index;
    for (int axis = 0; axis < walk->rank; axis++) {
        walk->index += walk->stride[axis];
        if (++walk->at[axis] < walk->shape[axis])
            break;
        walk->index -= walk->at[axis] * walk->stride[axis];
        walk->at[axis] = 0;
    }
    return index;
}

static enum fa_dtype float_dtype(int bytes)
{
    return bytes == 8 ? FA_F64 : bytes == 4 ? FA_F32 : FA_F16;
}

/* One integer or bool as a double. False if a double cannot hold it exactly. */
static bool read_whole(const struct fa_npy_header *header, const unsigned char *element,
                       double *value)
{
    uint64_t bits = 0;
    unsigned char low_first[8];
    memcpy(low_first, element, (size_t)header->bytes);
    if (host_is_big_endian())
        swap_bytes(low_first, 1, (size_t)header->bytes);
    for (int i = header->bytes - 1; i >= 0; i--)
        bits = bits << 8 | low_first[i];
    bool negative = header->kind == 'i' && bits >> (8 * header->bytes - 1);
    if (negative) /* The sign is carried on to 64 bits, and then taken away. */
        bits = 0 - (bits | (UINT64_MAX << (8 * header->bytes - 1)));
    *value = negative ? -(double)bits : (double)bits;
    uint64_t lowest_one = bits & (0 - bits);
    return bits == 0 || bits / lowest_one < (uint64_t)1 << 53;
}

/* One array on its way from the file to the caller. */
struct reader {
    struct source source;
    struct fa_npy_header header;
    enum fa_dtype dtype;
    void *data;
    struct walk walk;
    double buffer[BUFFER_WORDS];
};

/* Converts the n elements in the buffer; `first` is the index, in the file, of the first one. */
static enum fa_status reader_convert(struct reader *reader, int64_t first, int64_t n,
                                     struct fa_error *error)
{
    const struct fa_npy_header *header = &reader->header;
    unsigned char *elements = (unsigned char *)reader->buffer;
    size_t bytes = (size_t)header->bytes;
    if (bytes > 1 && header->big_endian != host_is_big_endian())
        swap_bytes(elements, (size_t)n, bytes);
    if (header->kind == 'f' && !header->fortran_order) {
        fa_dtype_convert(reader->dtype,
                         (char *)reader->data + (size_t)first * fa_dtype_bytes(reader->dtype),
                         float_dtype(header->bytes), elements, n);
        return FA_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        double value;
        bool exact = true, truth = reader->dtype == FA_U8 || header->kind == 'b';
        if (header->kind == 'f')
            value = fa_dtype_get(float_dtype(header->bytes), elements, i);
        else
            exact = read_whole(header, elements + (size_t)i * bytes, &value);
        if (truth && value != 0 && value != 1)
            return fa_fail(error, FA_BAD_FILE,
                           "%s: element %" PRId64 " of the file is %g: expected 0 or 1",
                           reader->source.name, first + i, value);
        if (!exact)
            return fa_fail(error, FA_BAD_FILE,
                           "%s: element %" PRId64 " of the file is about %.17g, a whole number "
                           "that a double cannot hold: expected one that it can",
                           reader->source.name, first + i, value);
        fa_dtype_set(reader->dtype, reader->data, walk_next(&reader->walk), value);
    }
    return FA_OK;
}

/* Compares what the header calls for with what is there, before any memory is taken. */
static enum fa_status reader_check(const struct reader *reader, struct fa_error *error)
{
    const struct fa_npy_header *header = &reader->header;
    uint64_t expected = (uint64_t)header->n_elements * (uint64_t)header->bytes;
    uint64_t found = reader->source.n_bytes - header->data_offset;
    bool can_mask = header->bytes == 1 && (header->kind == 'b' || header->kind == 'u');
    if (reader->dtype == FA_U8 && !can_mask)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: the elements have type '%c%d': expected a mask, bool or u1",
                       reader->source.name, header->kind, header->bytes);
    if (found != expected)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: is %s: has %" PRIu64 " bytes of data: expected %" PRIu64 ", for the "
                       "%" PRId64 " elements of %d bytes that its header says",
                       reader->source.name, found < expected ? "truncated" : "too long", found,
                       expected, header->n_elements, header->bytes);
    return FA_OK;
}

static enum fa_status reader_fill(struct reader *reader, struct fa_error *error)
{
    int64_t n_elements = reader->header.n_elements;
    size_t bytes = (size_t)reader->header.bytes;
    int64_t n_most = (int64_t)(sizeof reader->buffer / bytes), n;
    reader->walk = walk_start(&reader->header);
    for (int64_t first = 0; first < n_elements; first += n) {
        n = n_elements - first < n_most ? n_elements - first : n_most;
        enum fa_status status =
            source_read(&reader->source, reader->header.data_offset + (uint64_t)first * bytes,
                        reader->buffer, (size_t)n * bytes, error);
        if (status == FA_OK)
            status = reader_convert(reader, first, n, error);
        if (status != FA_OK)
            return status;
    }
    return FA_OK;
}

static enum fa_status reader_run(struct reader *reader, struct fa_npy *out, struct fa_error *error)
{
    const unsigned char *head = reader->source.bytes;
    uint64_t n_head = reader->source.n_bytes;
    enum fa_status status = FA_OK;
    if (!head) {
        head = (const unsigned char *)reader->buffer;
        n_head = n_head < sizeof reader->buffer ? n_head : sizeof reader->buffer;
        status = source_read(&reader->source, 0, reader->buffer, (size_t)n_head, error);
    }
    if (status == FA_OK)
        status = fa_npy_header_parse(reader->source.name, head, (size_t)n_head,
                                     reader->source.n_bytes, &reader->header, error);
    if (status == FA_OK)
        status = reader_check(reader, error);
    if (status != FA_OK)
        return status;
    size_t bytes = (size_t)reader->header.n_elements * fa_dtype_bytes(reader->dtype);
    size_t padded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    reader->data = aligned_alloc(ALIGNMENT, padded);
    if (!reader->data)
        return fa_fail(error, FA_NO_MEMORY,
                       "%s: no memory for its %" PRId64 " elements: %zu bytes were refused",
                       reader->source.name, reader->header.n_elements, padded);
    status = reader_fill(reader, error);
    if (status != FA_OK) {
        free(reader->data);
        return status;
    }
    *out = (struct fa_npy){.dtype = reader->dtype, .rank = reader->header.rank,
                           .data = reader->data};
    memcpy(out->shape, reader->header.shape, sizeof out->shape);
    return FA_OK;
}

enum fa_status fa_npy_parse(const char *name, const unsigned char *bytes, size_t n_bytes,
                            enum fa_dtype dtype, struct fa_npy *out, struct fa_error *error)
{
    static const unsigned char nothing[1];
    struct reader reader = {.dtype = dtype};
    reader.source = (struct source){name, -1, bytes ? bytes : nothing, n_bytes};
    return reader_run(&reader, out, error);
}

enum fa_status fa_npy_read(const char *path, enum fa_dtype dtype, struct fa_npy *out,
                           struct fa_error *error)
{
    struct reader reader = {.dtype = dtype};
    struct stat facts;
    /* O_NONBLOCK: a FIFO that nobody writes to must be refused, not waited for. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fa_fail(error, FA_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum fa_status status = FA_OK;
    if (fstat(file, &facts) != 0)
        status = fa_fail(error, FA_IO, "%s: cannot be examined: %s", path, strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = fa_fail(error, FA_IO, "%s: is %s: expected a regular file", path,
                         S_ISDIR(facts.st_mode)    ? "a directory"
                         : S_ISFIFO(facts.st_mode) ? "a pipe"
                                                   : "a device or socket");
    if (status == FA_OK) {
        reader.source = (struct source){path, file, NULL, (uint64_t)facts.st_size};
        status = reader_run(&reader, out, error);
    }
    close(file);
    return status;
}

static enum fa_status write_all(int file, const char *path, const void *from, size_t n,
                                struct fa_error *error)
{
    for (size_t done = 0; done < n;) {
        ssize_t written = write(file, (const char *)from + done, n - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fa_fail(error, FA_IO, "%s: cannot be written: %s", path, strerror(errno));
        done += (size_t)written;
    }
    return FA_OK;
}

static enum fa_status write_array(int file, const char *path, const struct fa_npy *array,
                                  int64_t n_elements, struct fa_error *error)
{
    static const char *const descr[FA_DTYPE_COUNT] = {"<f8", "<f4", "<f2", "<f4", "|b1"};
    unsigned char header[FA_NPY_WRITTEN_BYTES];
    double buffer[1024];
    enum fa_dtype stored = array->dtype == FA_BF16 ? FA_F32 : array->dtype;
    size_t bytes = fa_dtype_bytes(stored);
    int64_t n_most = (int64_t)(sizeof buffer / bytes), n;
    fa_npy_header_format(descr[array->dtype], array, header);
    enum fa_status status = write_all(file, path, header, sizeof header, error);
    for (int64_t first = 0; first < n_elements && status == FA_OK; first += n) {
        n = n_elements - first < n_most ? n_elements - first : n_most;
        fa_dtype_convert(stored, buffer, array->dtype,
                         (const char *)array->data + (size_t)first * fa_dtype_bytes(array->dtype),
                         n);
        if (host_is_big_endian())
            swap_bytes((unsigned char *)buffer, (size_t)n, bytes);
        status = write_all(file, path, buffer, (size_t)n * bytes, error);
    }
    return status;
}

/* Refuses an array that fa_npy_read could not give, and a path where something else stands. */
static enum fa_status check_write(const char *path, const struct fa_npy *array, int64_t *n_elements,
                                  struct fa_error *error)
{
    struct stat facts;
    if ((unsigned)array->dtype >= FA_DTYPE_COUNT || array->rank < 0 ||
        array->rank > FA_NPY_MAX_RANK)
        return fa_fail(error, FA_BAD_ARGUMENT,
                       "%s: an array of rank %d and format %d: expected a rank of 0 to %d and a "
                       "known format",
                       path, array->rank, (int)array->dtype, FA_NPY_MAX_RANK);
    for (int axis = 0; axis < array->rank; axis++)
        if (array->shape[axis] < 0)
            return fa_fail(error, FA_BAD_ARGUMENT,
                           "%s: axis %d has %" PRId64 " elements: expected 0 or more", path, axis,
                           array->shape[axis]);
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* rename would replace a device. */
        return fa_fail(error, FA_IO, "%s: is not a regular file: it is not written over", path);
    return fa_npy_count_elements(path, array->rank, array->shape, n_elements, error);
}

enum fa_status fa_npy_write(const char *path, const struct fa_npy *array, struct fa_error *error)
{
    int64_t n_elements = 0;
    int file = -1;
    bool made = false;
    enum fa_status status = check_write(path, array, &n_elements, error);
    if (status != FA_OK)
        return status;
    size_t capacity = strlen(path) + sizeof ".part-" + 20;
    char *part = malloc(capacity);
    if (!part)
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for its name", path);
    snprintf(part, capacity, "%s.part-%ld", path, (long)getpid());
    unlink(part); /* What a killed process of the same number may have left. */
    file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        status = fa_fail(error, FA_IO, "%s: cannot be made: %s", part, strerror(errno));
        goto done;
    }
    made = true;
    status = write_array(file, part, array, n_elements, error);
    /* Some file systems know no fsync and say EINVAL: there is nothing more to do there. */
    if (status == FA_OK && fsync(file) != 0 && errno != EINVAL)
        status = fa_fail(error, FA_IO, "%s: cannot be flushed: %s", part, strerror(errno));
    if (close(file) != 0 && status == FA_OK)
        status = fa_fail(error, FA_IO, "%s: cannot be closed: %s", part, strerror(errno));
    if (status == FA_OK && rename(part, path) != 0)
        status = fa_fail(error, FA_IO, "%s: cannot be renamed to %s: %s", part, path,
                         strerror(errno));
done:
    if (made && status != FA_OK)
        unlink(part);
    free(part);
    return status;
}

void fa_npy_free(struct fa_npy *array)
{
    free(array->data);
    memset(array, 0, sizeof *array);
}
