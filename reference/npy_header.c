#include "reference/npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reference/tensor.h"

/* Where the parser stands. at never passes end, and nothing is read at end. */
struct cursor {
    const char *name;
    const unsigned char *begin, *at, *end;
    struct fa_error *error;
};

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, ALL_KEYS = 7 };

/* "'x'", "byte 0x00" or "its end": what stands where something else was expected. */
static const char *describe_found(const struct cursor *cursor, char text[16])
{
    if (cursor->at == cursor->end)
        return "its end";
    if (*cursor->at >= ' ' && *cursor->at <= '~')
        snprintf(text, 16, "'%c'", *cursor->at);
    else
        snprintf(text, 16, "byte 0x%02x", *cursor->at);
    return text;
}

static enum fa_status refuse(const struct cursor *cursor, const char *expected)
{
    char found[16];
    return fa_fail(cursor->error, FA_BAD_FILE,
                   "%s: found %s at byte %td of the .npy header's dict: expected %s", cursor->name,
                   describe_found(cursor, found), cursor->at - cursor->begin, expected);
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at && strchr(" \t\r\n", *cursor->at))
        cursor->at++;
}

/* Skips space, then takes `wanted` if it stands there. */
static bool take(struct cursor *cursor, char wanted)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != (unsigned char)wanted)
        return false;
    cursor->at++;
    return true;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    skip_space(cursor);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

/* A quoted text of 1 to capacity - 1 printable characters without escapes. */
static enum fa_status parse_text(struct cursor *cursor, const char *expected, char *text,
                                 size_t capacity)
{
    size_t length = 0;
    char quote = take(cursor, '\'') ? '\'' : '"';
    if (quote == '"' && !take(cursor, '"'))
        return refuse(cursor, expected);
    while (cursor->at < cursor->end && *cursor->at != (unsigned char)quote) {
        if (*cursor->at < ' ' || *cursor->at > '~' || *cursor->at == '\\' ||
            length + 1 == capacity)
            return refuse(cursor, expected);
        text[length++] = (char)*cursor->at++;
    }
    text[length] = '\0';
    if (length == 0 || !take(cursor, quote))
        return refuse(cursor, expected);
    return FA_OK;
}

/* "<f4" and the like. Python objects, structures, complex and long double end here. */
static enum fa_status parse_descr(struct cursor *cursor, struct fa_npy_header *header)
{
    static const char known[] = "<f2 <f4 <f8, |b1, |i1 |u1, <i2 <i4 <i8, <u2 <u4 <u8, or > for <";
    char text[32];
    skip_space(cursor);
    if (cursor->at < cursor->end && *cursor->at == '[')
        return fa_fail(cursor->error, FA_BAD_FILE,
                       "%s: the elements are structures: expected one of %s", cursor->name, known);
    enum fa_status status = parse_text(cursor, "an element type in quotes", text, sizeof text);
    if (status != FA_OK)
        return status;
    /* NumPy has no bf16, and saves one of another package's as two bytes without a meaning. */
    if (strcmp(text + (text[0] != '\0'), "V2") == 0)
        return fa_fail(cursor->error, FA_BAD_FILE,
                       "%s: the elements have type '%s', which NumPy makes of bf16: expected them "
                       "widened to f32, as in x.astype('f4')",
                       cursor->name, text);
    int bytes = strlen(text) == 3 ? text[2] - '0' : 0;
    bool size_known = text[1] == 'f'   ? bytes == 2 || bytes == 4 || bytes == 8
                      : text[1] == 'b' ? bytes == 1
                                       : bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    bool kind_known = text[1] != '\0' && strchr("fbiu", text[1]);
    bool order_known = text[0] == '<' || text[0] == '>' || (text[0] == '|' && bytes == 1);
    if (!size_known || !kind_known || !order_known)
        return fa_fail(cursor->error, FA_BAD_FILE,
                       "%s: the elements have type '%s': expected one of %s", cursor->name, text,
                       known);
    header->kind = text[1];
    header->bytes = bytes;
    header->big_endian = text[0] == '>' && bytes > 1;
    return FA_OK;
}

static enum fa_status parse_axis(struct cursor *cursor, int64_t *out)
{
    int64_t value = 0;
    skip_space(cursor);
    const unsigned char *first = cursor->at;
    if (cursor->at < cursor->end && *cursor->at == '-')
        return refuse(cursor, "an axis of 0 or more");
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        int digit = *cursor->at - '0';
        if (value > (INT64_MAX - digit) / 10)
            return fa_fail(cursor->error, FA_TOO_LARGE,
                           "%s: an axis of the shape is past 2^63 - 1", cursor->name);
        value = value * 10 + digit;
        cursor->at++;
    }
    bool leading_zero = cursor->at - first > 1 && *first == '0';
    if (cursor->at == first || leading_zero)
        return refuse(cursor, "a whole number without leading zeros, or ')'");
    if (cursor->at < cursor->end && *cursor->at == 'L') /* Python 2 wrote its long integers so. */
        cursor->at++;
    *out = value;
    return FA_OK;
}

/* A tuple: (), (3,), (3, 4), (3, 4,). (3) is a number: refused, as NumPy does. */
static enum fa_status parse_shape(struct cursor *cursor, struct fa_npy_header *header)
{
    header->rank = 0;
    if (!take(cursor, '('))
        return refuse(cursor, "'(', the start of the shape");
    bool comma = true;
    while (!take(cursor, ')')) {
        if (!comma)
            return refuse(cursor, "',' or ')'");
        if (header->rank == FA_NPY_MAX_RANK)
            return fa_fail(cursor->error, FA_BAD_FILE,
                           "%s: the shape has more than %d axes: expected 0 to %d", cursor->name,
                           FA_NPY_MAX_RANK, FA_NPY_MAX_RANK);
        enum fa_status status = parse_axis(cursor, &header->shape[header->rank]);
        if (status != FA_OK)
            return status;
        header->rank++;
        comma = take(cursor, ',');
    }
    if (header->rank == 1 && !comma) {
        cursor->at--;
        return refuse(cursor, "',': a tuple of one axis is written (3,)");
    }
    return FA_OK;
}

static enum fa_status parse_entry(struct cursor *cursor, struct fa_npy_header *header, int *keys)
{
    static const char expected[] = "one of the keys 'descr', 'fortran_order', 'shape', each once";
    char text[16];
    skip_space(cursor);
    struct cursor start = *cursor;
    enum fa_status status = parse_text(cursor, expected, text, sizeof text);
    if (status != FA_OK)
        return status;
    int key = strcmp(text, "descr") == 0           ? KEY_DESCR
              : strcmp(text, "fortran_order") == 0 ? KEY_ORDER
              : strcmp(text, "shape") == 0         ? KEY_SHAPE
                                                   : 0;
    if (key == 0 || (*keys & key))
        return refuse(&start, expected);
    *keys |= key;
    if (!take(cursor, ':'))
        return refuse(cursor, "':'");
    if (key == KEY_DESCR)
        return parse_descr(cursor, header);
    if (key == KEY_SHAPE)
        return parse_shape(cursor, header);
    header->fortran_order = take_word(cursor, "True");
    if (!header->fortran_order && !take_word(cursor, "False"))
        return refuse(cursor, "True or False");
    return FA_OK;
}

static enum fa_status parse_dict(struct cursor *cursor, struct fa_npy_header *header)
{
    int keys = 0;
    bool comma = true;
    if (!take(cursor, '{'))
        return refuse(cursor, "'{'");
    while (!take(cursor, '}')) {
        if (!comma)
            return refuse(cursor, "',' or '}'");
        enum fa_status status = parse_entry(cursor, header, &keys);
        if (status != FA_OK)
            return status;
        comma = take(cursor, ',');
    }
    skip_space(cursor);
    if (cursor->at != cursor->end)
        return refuse(cursor, "nothing but spaces and a newline after '}'");
    if (keys != ALL_KEYS)
        return fa_fail(cursor->error, FA_BAD_FILE, "%s: the .npy header's dict has no key '%s'",
                       cursor->name,
                       !(keys & KEY_DESCR)   ? "descr"
                       : !(keys & KEY_ORDER) ? "fortran_order"
                                             : "shape");
    return FA_OK;
}

/* The axes other than 0 must multiply to a number too: strides are made of them. */
enum fa_status fa_npy_count_elements(const char *name, int rank, const int64_t *shape, int64_t *out,
                                     struct fa_error *error)
{
    int64_t n = 1, bytes;
    bool empty = false, fits = true;
    for (int axis = 0; axis < rank && fits; axis++) {
        empty = empty || shape[axis] == 0;
        if (shape[axis] != 0)
            fits = fa_multiply(n, shape[axis], &n);
    }
    /* 8 bytes is the widest element, in the file and of the caller's format. */
    if (!fits || !fa_multiply(n, 8, &bytes))
        return fa_fail(error, FA_TOO_LARGE, "%s: the shape calls for more than 2^63 - 1 bytes",
                       name);
    *out = empty ? 0 : n;
    return FA_OK;
}

/* Magic, version and length: where the text begins and ends. */
static enum fa_status parse_preamble(const char *name, const unsigned char *bytes, size_t n_bytes,
                                     uint64_t file_bytes, size_t *text_begin, size_t *text_end,
                                     struct fa_error *error)
{
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (n_bytes >= sizeof magic && memcmp(bytes, magic, sizeof magic) != 0)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: begins with bytes %02x %02x %02x %02x %02x %02x: expected a .npy file, "
                       "93 4e 55 4d 50 59",
                       name, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
    if (n_bytes < 10 || (bytes[6] > 1 && n_bytes < FA_NPY_PREAMBLE_MAX))
        return fa_fail(error, FA_BAD_FILE,
                       "%s: ends after %" PRIu64 " bytes: too short for a .npy header", name,
                       file_bytes);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: is of .npy version %d.%d: expected 1.0, 2.0 or 3.0", name, bytes[6],
                       bytes[7]);
    *text_begin = bytes[6] == 1 ? 10 : 12;
    uint32_t length = bytes[8] | (uint32_t)bytes[9] << 8;
    if (bytes[6] > 1)
        length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    if (length > file_bytes - *text_begin)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: says that its header has %" PRIu32 " bytes, but only %" PRIu64
                       " follow",
                       name, length, file_bytes - *text_begin);
    if (length > FA_NPY_TEXT_MAX)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: has a header of %" PRIu32 " bytes: expected at most %d", name, length,
                       FA_NPY_TEXT_MAX);
    *text_end = *text_begin + length;
    return FA_OK;
}

enum fa_status fa_npy_header_parse(const char *name, const unsigned char *bytes, size_t n_bytes,
                                   uint64_t file_bytes, struct fa_npy_header *out,
                                   struct fa_error *error)
{
    struct fa_npy_header header = {0};
    size_t begin = 0, end = 0;
    enum fa_status status =
        parse_preamble(name, bytes, n_bytes, file_bytes, &begin, &end, error);
    if (status != FA_OK)
        return status;
    struct cursor cursor = {name, bytes + begin, bytes + begin, bytes + end, error};
    status = parse_dict(&cursor, &header);
    if (status != FA_OK)
        return status;
    status = fa_npy_count_elements(name, header.rank, header.shape, &header.n_elements, error);
    if (status != FA_OK)
        return status;
    header.data_offset = end;
    *out = header;
    return FA_OK;
}

void fa_npy_header_format(const char *descr, const struct fa_npy *array,
                          unsigned char header[FA_NPY_WRITTEN_BYTES])
{
    enum { TEXT_AT = 10, TEXT_BYTES = FA_NPY_WRITTEN_BYTES - TEXT_AT };
    /* FA_NPY_MAX_RANK axes of 19 digits fit the header; the compiler can't know. */
    char shape[TEXT_BYTES] = "", text[2 * TEXT_BYTES];
    size_t length = 0;
    for (int axis = 0; axis < array->rank; axis++)
        length += (size_t)snprintf(shape + length, sizeof shape - length, "%s%" PRId64,
                                   axis == 0 ? "" : ", ", array->shape[axis]);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }", descr,
             shape, array->rank == 1 ? "," : "");
    memset(header, ' ', FA_NPY_WRITTEN_BYTES);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = TEXT_BYTES;
    header[9] = 0;
    memcpy(header + TEXT_AT, text, strlen(text));
    header[FA_NPY_WRITTEN_BYTES - 1] = '\n';
}
