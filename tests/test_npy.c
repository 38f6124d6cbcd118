/*
 * The .npy reader on bytes made by hand, its refusals in words, and the writer on real files. Long,
 * because each refusal's message stands here once, and all share the makers of files below.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/npy.h"

/* A file in memory, in a block of just its size. */
struct bytes {
    unsigned char *data;
    size_t n;
};

static char directory[64];
static char path_text[128];

static const char *path_of(const char *name)
{
    snprintf(path_text, sizeof path_text, "%s/%s", directory, name);
    return path_text;
}

static struct bytes make_file(int version, const char *dict, const void *data, size_t n_data)
{
    size_t preamble = version == 1 ? 10 : 12, length = strlen(dict);
    struct bytes file = {.n = preamble + length + n_data};
    file.data = calloc(1, file.n);
    assert_non_null(file.data);
    memcpy(file.data, "\x93NUMPY", 6);
    file.data[6] = (unsigned char)version;
    file.data[8] = (unsigned char)(length & 0xff);
    file.data[9] = (unsigned char)(length >> 8);
    memcpy(file.data + preamble, dict, length);
    if (n_data > 0)
        memcpy(file.data + preamble + length, data, n_data);
    return file;
}

static struct fa_npy parse(int version, const char *dict, const void *data, size_t n_data,
                           enum fa_dtype dtype)
{
    struct bytes file = make_file(version, dict, data, n_data);
    struct fa_npy array = {0};
    struct fa_error error = {0};
    enum fa_status status = fa_npy_parse("f.npy", file.data, file.n, dtype, &array, &error);
    if (status != FA_OK)
        print_error("%s\n", error.text);
    assert_int_equal(status, FA_OK);
    assert_int_equal(array.dtype, dtype);
    assert_int_equal((uintptr_t)array.data % 64, 0);
    free(file.data);
    return array;
}

/* The array as doubles is `expected`, and is freed. */
static void expect_values(struct fa_npy *array, const double *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        assert_true(fa_dtype_get(array->dtype, array->data, i) == expected[i]);
    fa_npy_free(array);
    assert_null(array->data);
}

/* Refused, with a text that names the file and holds both words, and the output untouched. */
static void expect_refused(const struct bytes *file, enum fa_dtype dtype, enum fa_status status,
                           const char *word, const char *other)
{
    struct fa_npy array, before;
    struct fa_error error = {0};
    memset(&array, 0x77, sizeof array);
    memcpy(&before, &array, sizeof before);
    enum fa_status got = fa_npy_parse("f.npy", file->data, file->n, dtype, &array, &error);
    assert_memory_equal(&array, &before, sizeof array);
    bool fits = got == status && error.status == status && strstr(error.text, word) &&
                strstr(error.text, other) && strncmp(error.text, "f.npy: ", 7) == 0;
    if (!fits)
        print_error("wanted %s, '%s', '%s': got %s: %s\n", fa_status_name(status), word, other,
                    fa_status_name(got), error.text);
    assert_true(fits);
    assert_int_equal(fa_npy_parse("f.npy", file->data, file->n, dtype, &array, NULL), status);
}

static void refuse_dict(const char *dict, enum fa_dtype dtype, enum fa_status status,
                        const char *word, const char *other)
{
    static const unsigned char zeros[16];
    struct bytes file = make_file(1, dict, zeros, sizeof zeros);
    expect_refused(&file, dtype, status, word, other);
    free(file.data);
}

#define DICT(descr, order, shape)                                                                  \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }          \n"

static void test_floats(void **state)
{
    (void)state;
    const float singles[6] = {1, -2.5f, 0x1p-149f, 65520, 1 + 0x1p-11f, 6};
    const double expected[6] = {1, -2.5, 0x1p-149, 65520, 1 + 0x1p-11, 6};
    const double rounded[6] = {1, -2.5, 0, INFINITY, 1, 6};
    for (int version = 1; version <= 3; version++) {
        struct fa_npy array = parse(version, DICT("<f4", "False", "(2, 3)"), singles, 24, FA_F64);
        assert_int_equal(array.rank, 2);
        assert_int_equal(array.shape[0], 2);
        assert_int_equal(array.shape[1], 3);
        expect_values(&array, expected, 6);
        array = parse(version, DICT("<f4", "False", "(2, 3)"), singles, 24, FA_F16);
        expect_values(&array, rounded, 6);
    }
    const double just_above = 1 + 0x1p-11 + 0x1p-40, up = 1 + 0x1p-10; /* rounded once */
    struct fa_npy array = parse(1, DICT("<f8", "False", "(1,)"), &just_above, 8, FA_F16);
    expect_values(&array, &up, 1);
    const uint16_t half = 0x3555;
    const double third = 0x1.554p-2;
    array = parse(1, DICT("<f2", "False", "(1, 1)"), &half, 2, FA_F32);
    expect_values(&array, &third, 1);
}

static void test_nan(void **state)
{
    (void)state;
    const double from[3] = {NAN, -INFINITY, NAN};
    for (int dtype = 0; dtype < FA_U8; dtype++) {
        struct fa_npy array =
            parse(1, DICT("<f8", "False", "(3,)"), from, 24, (enum fa_dtype)dtype);
        assert_true(isnan(fa_dtype_get(array.dtype, array.data, 0)));
        assert_true(fa_dtype_get(array.dtype, array.data, 1) == -INFINITY);
        assert_true(isnan(fa_dtype_get(array.dtype, array.data, 2)));
        fa_npy_free(&array);
    }
}

static void test_big_endian(void **state)
{
    (void)state;
    static const unsigned char f4[8] = {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0};
    static const unsigned char f8[16] = {0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 4};
    static const unsigned char f2[4] = {0x3c, 0, 0xc1, 0};
    static const unsigned char i4[8] = {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe};
    const double expected[2] = {1, -2.5}, whole[2] = {1, -2}, natural[2] = {1, 4294967294.0};
    struct fa_npy array = parse(1, DICT(">f4", "False", "(2,)"), f4, 8, FA_F32);
    expect_values(&array, expected, 2);
    array = parse(1, DICT(">f8", "False", "(2,)"), f8, 16, FA_F64);
    expect_values(&array, expected, 2);
    array = parse(1, DICT(">f2", "False", "(2,)"), f2, 4, FA_F16);
    expect_values(&array, expected, 2);
    array = parse(1, DICT(">i4", "False", "(2,)"), i4, 8, FA_F64);
    expect_values(&array, whole, 2);
    array = parse(1, DICT(">u4", "False", "(2,)"), i4, 8, FA_F64);
    expect_values(&array, natural, 2);
}

/* Element [a][b][c] of a Fortran-ordered file stands at a + 2 b + 6 c. */
static void test_fortran_order(void **state)
{
    (void)state;
    float singles[24];
    uint8_t bytes[24];
    double expected[24];
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 4; c++) {
                singles[a + 2 * b + 6 * c] = (float)(100 * a + 10 * b + c);
                bytes[a + 2 * b + 6 * c] = (uint8_t)(100 * a + 10 * b + c);
                expected[(a * 3 + b) * 4 + c] = 100 * a + 10 * b + c;
            }
    struct fa_npy array = parse(1, DICT("<f4", "True", "(2, 3, 4)"), singles, 96, FA_F64);
    assert_int_equal(array.shape[2], 4);
    expect_values(&array, expected, 24);
    array = parse(1, DICT("|u1", "True", "(2, 3, 4)"), bytes, 24, FA_F16);
    expect_values(&array, expected, 24);
}

/* Past one buffer, so that the pieces join, in both orders. */
static void test_large(void **state)
{
    (void)state;
    enum { ROWS = 301, COLUMNS = 211, N = ROWS * COLUMNS };
    float *file = malloc(N * sizeof *file);
    double *plain = malloc(N * sizeof *plain), *turned = malloc(N * sizeof *turned);
    assert_true(file && plain && turned);
    for (int i = 0; i < N; i++) {
        file[i] = (float)i;
        plain[i] = i;
        turned[i] = i / COLUMNS + (double)ROWS * (i % COLUMNS);
    }
    struct fa_npy array =
        parse(1, DICT("<f4", "False", "(301, 211)"), file, N * sizeof *file, FA_F32);
    expect_values(&array, plain, N);
    array = parse(1, DICT("<f4", "True", "(301, 211)"), file, N * sizeof *file, FA_F64);
    expect_values(&array, turned, N);
    free(file);
    free(plain);
    free(turned);
}

static void test_integers(void **state)
{
    (void)state;
    const int8_t i1[2] = {-128, 127};
    const uint8_t u1[2] = {0, 255};
    const int16_t i2[2] = {-32768, 32767};
    const uint16_t u2[2] = {0, 65535};
    const int64_t i8[4] = {INT64_MIN, -((int64_t)1 << 53), ((int64_t)1 << 53) + 2, -1};
    const uint64_t u8[2] = {(uint64_t)1 << 63, UINT64_C(0xfffffffffffff800)};
    const bool b1[3] = {true, false, true};
    struct fa_npy array = parse(1, DICT("|i1", "False", "(2,)"), i1, 2, FA_F64);
    expect_values(&array, (const double[]){-128, 127}, 2);
    array = parse(1, DICT("|u1", "False", "(2,)"), u1, 2, FA_F32);
    expect_values(&array, (const double[]){0, 255}, 2);
    array = parse(1, DICT("<i2", "False", "(2,)"), i2, 4, FA_F64);
    expect_values(&array, (const double[]){-32768, 32767}, 2);
    array = parse(1, DICT("<u2", "False", "(2,)"), u2, 4, FA_BF16);
    expect_values(&array, (const double[]){0, 65536}, 2);
    array = parse(1, DICT("<i8", "False", "(4,)"), i8, 32, FA_F64);
    expect_values(&array, (const double[]){-0x1p63, -0x1p53, 0x1p53 + 2, -1}, 4);
    array = parse(1, DICT("<u8", "False", "(2,)"), u8, 16, FA_F64);
    expect_values(&array, (const double[]){0x1p63, 0x1p64 - 0x1p11}, 2);
    array = parse(1, DICT("|b1", "False", "(3,)"), b1, 3, FA_U8);
    expect_values(&array, (const double[]){1, 0, 1}, 3);
    array = parse(1, DICT("|b1", "False", "(3,)"), b1, 3, FA_F32);
    expect_values(&array, (const double[]){1, 0, 1}, 3);
    array = parse(1, DICT("|u1", "False", "(3,)"), b1, 3, FA_U8);
    expect_values(&array, (const double[]){1, 0, 1}, 3);
}

static void test_inexact_integers(void **state)
{
    (void)state;
    const int64_t odd = -((int64_t)1 << 53) - 1;
    const uint64_t all = UINT64_MAX;
    struct bytes file = make_file(1, DICT("<i8", "False", "()"), &odd, 8);
    expect_refused(&file, FA_F64, FA_BAD_FILE, "element 0", "a double cannot hold");
    free(file.data);
    file = make_file(1, DICT("<u8", "False", "()"), &all, 8);
    expect_refused(&file, FA_F16, FA_BAD_FILE, "element 0", "a double cannot hold");
    free(file.data);
}

static void test_masks(void **state)
{
    (void)state;
    const uint8_t bytes[4] = {1, 0, 2, 1};
    struct bytes file = make_file(1, DICT("|u1", "False", "(4,)"), bytes, 4);
    expect_refused(&file, FA_U8, FA_BAD_FILE, "element 2 of the file is 2", "expected 0 or 1");
    free(file.data);
    file = make_file(1, DICT("|b1", "False", "(4,)"), bytes, 4);
    expect_refused(&file, FA_U8, FA_BAD_FILE, "element 2 of the file is 2", "expected 0 or 1");
    expect_refused(&file, FA_F32, FA_BAD_FILE, "element 2 of the file is 2", "expected 0 or 1");
    free(file.data);
    refuse_dict(DICT("<f4", "False", "(4,)"), FA_U8, FA_BAD_FILE, "'f4'", "expected a mask");
    refuse_dict(DICT("|i1", "False", "(16,)"), FA_U8, FA_BAD_FILE, "'i1'", "expected a mask");
    refuse_dict(DICT("<u2", "False", "(8,)"), FA_U8, FA_BAD_FILE, "'u2'", "expected a mask");
}

/* All of these are what Python may write, or once wrote. */
static void test_dict_forms(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "{'descr':'<f4','fortran_order':False,'shape':(2,1)}",
        "{'shape': (2L, 1L), 'fortran_order': False, 'descr': '<f4'}\n",
        " {\t\"fortran_order\" : False , \"shape\" : ( 2 , 1 , ) , \"descr\" : \"<f4\" , }\r\n \n",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }",
    };
    const float singles[2] = {3, 4};
    const double expected[2] = {3, 4};
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        struct fa_npy array = parse(1, dicts[i], singles, 8, FA_F32);
        assert_int_equal(array.rank, 2);
        assert_int_equal(array.shape[0], 2);
        assert_int_equal(array.shape[1], 1);
        expect_values(&array, expected, 2);
    }
    struct fa_npy array = parse(1, DICT("<f4", "True", "()"), singles, 4, FA_F64);
    assert_int_equal(array.rank, 0);
    expect_values(&array, expected, 1);
    array = parse(1, DICT("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 2)"), singles, 8, FA_F64);
    assert_int_equal(array.rank, 8);
    assert_int_equal(array.shape[7], 2);
    expect_values(&array, expected, 2);
    array = parse(1, DICT("<f4", "True", "(3, 0, 9223372)"), NULL, 0, FA_F64);
    assert_int_equal(array.shape[2], 9223372);
    fa_npy_free(&array);
}

static void test_bad_dicts(void **state)
{
    (void)state;
    static const struct {
        const char *dict, *word, *other;
    } cases[] = {
        {"", "found its end at byte 0", "expected '{'"},
        {"{", "found its end at byte 1", "one of the keys"},
        {"{}", "has no key 'descr'", ""},
        {"['descr']", "found '['", "expected '{'"},
        {"{'descr': '<f4'", "found its end", "',' or '}'"},
        {"{'descr': '<f4", "found its end", "element type in quotes"},
        {"{'descr': '<f4\", }", "found its end", "element type in quotes"},
        {"{'descr' '<f4'}", "found '''", "expected ':'"},
        {"{'descr': <f4}", "found '<'", "element type in quotes"},
        {"{'descr': ''}", "element type in quotes", ""},
        {"{'descr': '\x01'}", "byte 0x01", "element type in quotes"},
        {"{'descr': '<f4', 'descr': '<f4'}", "byte 17", "each once"},
        {"{'descr': '<f4', 'order': False}", "found '''", "'fortran_order'"},
        {"{'descr': '<f4', , }", "found ','", "one of the keys"},
        {"{'descr': '<f4' 'shape': (4,)}", "found '''", "',' or '}'"},
        {"{'descr': '<f4', 'shape': (4,)}", "has no key 'fortran_order'", ""},
        {"{'descr': '<f4', 'fortran_order': False}", "has no key 'shape'", ""},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", "found '0'", "True or False"},
        {DICT("<f4", "False", "(4)"), "found ')'", "(3,)"},
        {DICT("<f4", "False", "4"), "found '4'", "start of the shape"},
        {DICT("<f4", "False", "(-4,)"), "found '-'", "0 or more"},
        {DICT("<f4", "False", "(4,-1)"), "found '-'", "0 or more"},
        {DICT("<f4", "False", "(4.0,)"), "found '.'", "',' or ')'"},
        {DICT("<f4", "False", "(,)"), "found ','", "a whole number"},
        {DICT("<f4", "False", "(4,,)"), "found ','", "a whole number"},
        {DICT("<f4", "False", "(4 1)"), "found '1'", "',' or ')'"},
        {DICT("<f4", "False", "(04,)"), "found ','", "leading zeros"},
        {DICT("<f4", "False", "(1,1,1,1,1,1,1,1,4)"), "more than 8 axes", "expected 0 to 8"},
        {DICT("<f4", "False", "(4,)") "x", "found 'x'", "nothing but spaces"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,", "found its end", "number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4", "found its end", "','"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse_dict(cases[i].dict, FA_F32, FA_BAD_FILE, cases[i].word, cases[i].other);
}

/* Whatever stands after the header's end, its rest even, must not be read as part of it. */
static void test_header_end(void **state)
{
    (void)state;
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 10), }";
    char cut[sizeof dict];
    for (size_t n = 0; n + 1 < sizeof dict; n++) {
        memcpy(cut, dict, n);
        cut[n] = '\0';
        for (int rest = 0; rest < 2; rest++) {
            struct bytes file = make_file(1, cut, dict + n, rest ? sizeof dict - n : 0);
            expect_refused(&file, FA_F32, FA_BAD_FILE, "of the .npy header's dict: expected", "");
            free(file.data);
        }
    }
}

static void test_bad_types(void **state)
{
    (void)state;
    static const char *const types[] = {"|O",  "<c8", "<f16", "<U4", "<M8", "|S4", "<V3", "=f4",
                                        "|f4", "f4",  "<f1",  "<f3", "<i3", "<b2", "<",   "<f"};
    char dict[128], quoted[16];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (4,)}",
                 types[i]);
        snprintf(quoted, sizeof quoted, "'%s'", types[i]);
        refuse_dict(dict, FA_F32, FA_BAD_FILE, quoted, "expected one of <f2 <f4 <f8");
    }
    refuse_dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}", FA_F32,
                FA_BAD_FILE, "structures", "expected one of");
    refuse_dict("{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}", FA_F32, FA_BAD_FILE,
                "'<V2', which NumPy makes of bf16", "x.astype('f4')");
}

static void test_sizes(void **state)
{
    (void)state;
    refuse_dict(DICT("<f4", "False", "(5,)"), FA_F32, FA_BAD_FILE,
                "is truncated: has 16 bytes of data", "expected 20, for the 5 elements of 4 bytes");
    refuse_dict(DICT("<f4", "False", "(3,)"), FA_F32, FA_BAD_FILE,
                "is too long: has 16 bytes of data", "expected 12");
    refuse_dict(DICT("<f4", "False", "(0,)"), FA_F32, FA_BAD_FILE, "is too long", "expected 0");
    refuse_dict(DICT("<f4", "False", "(1000000000000,)"), FA_F32, FA_BAD_FILE, "is truncated",
                "expected 4000000000000");
    refuse_dict(DICT("<f4", "False", "(9223372036854775807,)"), FA_F32, FA_TOO_LARGE, "2^63", "");
    refuse_dict(DICT("<f4", "False", "(9223372036854775808,)"), FA_F32, FA_TOO_LARGE, "axis",
                "2^63 - 1");
    refuse_dict(DICT("<f4", "False", "(99999999999999999999999,)"), FA_F32, FA_TOO_LARGE, "axis",
                "2^63 - 1");
    refuse_dict(DICT("<f4", "False", "(4294967296, 4294967296)"), FA_F32, FA_TOO_LARGE, "shape",
                "2^63 - 1");
    /* Nothing is in it, but the strides of its axes are past 64 bits. */
    refuse_dict(DICT("<f4", "False", "(4294967296, 0, 4294967296)"), FA_F32, FA_TOO_LARGE, "shape",
                "2^63 - 1");
}

static void test_bad_preambles(void **state)
{
    (void)state;
    const float four[4] = {1, 2, 3, 4};
    struct bytes file = make_file(1, DICT("<f4", "False", "(4,)"), four, 16);
    size_t whole = file.n;
    for (file.n = 0; file.n < whole; file.n++) {
        /* Every cut is refused; the copy has just that size, so a read past it is seen. */
        struct bytes cut = {malloc(file.n + !file.n), file.n};
        memcpy(cut.data, file.data, file.n);
        const char *word = file.n < 10            ? "too short for a .npy header"
                           : file.n < whole - 16 ? "says that its header has"
                                                 : "is truncated";
        expect_refused(&cut, FA_F32, FA_BAD_FILE, word, "");
        free(cut.data);
    }
    file.data[0] = 0x92;
    expect_refused(&file, FA_F32, FA_BAD_FILE, "begins with bytes 92 4e", "expected a .npy file");
    file.data[0] = 0x93;
    file.data[6] = 4;
    expect_refused(&file, FA_F32, FA_BAD_FILE, "version 4.0", "expected 1.0, 2.0 or 3.0");
    file.data[6] = 1;
    file.data[7] = 1;
    expect_refused(&file, FA_F32, FA_BAD_FILE, "version 1.1", "expected 1.0, 2.0 or 3.0");
    file.data[7] = 0;
    file.data[9] = 0xff;
    expect_refused(&file, FA_F32, FA_BAD_FILE, "says that its header has 65", "follow");
    free(file.data);
    file = make_file(2, DICT("<f4", "False", "(4,)"), four, 16);
    memset(file.data + 8, 0xff, 4);
    expect_refused(&file, FA_F32, FA_BAD_FILE, "says that its header has 4294967295", "follow");
    file.n = 11;
    expect_refused(&file, FA_F32, FA_BAD_FILE, "ends after 11 bytes", "too short");
    free(file.data);
    file = (struct bytes){calloc(1, 70000), 70000};
    memcpy(file.data, "\x93NUMPY\x02\x00\x00\x00\x01", 11);
    expect_refused(&file, FA_F32, FA_BAD_FILE, "header of 65536 bytes", "at most 65535");
    free(file.data);
    file = (struct bytes){NULL, 0};
    expect_refused(&file, FA_F32, FA_BAD_FILE, "ends after 0 bytes", "too short");
}

static struct bytes slurp(const char *path)
{
    struct bytes file = {malloc(1 << 20), 0};
    FILE *stream = fopen(path, "rb");
    assert_true(stream && file.data);
    file.n = fread(file.data, 1, 1 << 20, stream);
    fclose(stream);
    return file;
}

/* The bytes that NumPy writes for the same arrays. */
static void test_written_bytes(void **state)
{
    (void)state;
    static const char *const spaces =
        "                                                                ";
    float data[6] = {0, 1, 2, 3, 4, 5};
    struct fa_npy array = {FA_F32, 4, {1, 2, 3, 1}, data};
    struct fa_error error = {0};
    char expected[160];
    assert_int_equal(fa_npy_write(path_of("a.npy"), &array, &error), FA_OK);
    struct bytes file = slurp(path_of("a.npy"));
    memcpy(expected, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(expected + 10, sizeof expected - 10,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 1), }%.52s\n", spaces);
    assert_int_equal(file.n, 128 + 24);
    assert_memory_equal(file.data, expected, 128);
    assert_memory_equal(file.data + 128, data, 24);
    free(file.data);
    /* The longest header that a shape can have, and the shortest. */
    array = (struct fa_npy){FA_F32, 8, {1, 0, 1, 1, 1, 1, 1, (int64_t)1e18}, data};
    assert_int_equal(fa_npy_write(path_of("a.npy"), &array, &error), FA_OK);
    file = slurp(path_of("a.npy"));
    snprintf(expected + 10, sizeof expected - 10,
             "{'descr': '<f4', 'fortran_order': False, "
             "'shape': (1, 0, 1, 1, 1, 1, 1, 1000000000000000000), }%.22s\n", spaces);
    assert_int_equal(file.n, 128);
    assert_memory_equal(file.data, expected, 128);
    free(file.data);
    array.rank = 0;
    assert_int_equal(fa_npy_write(path_of("a.npy"), &array, &error), FA_OK);
    file = slurp(path_of("a.npy"));
    snprintf(expected + 10, sizeof expected - 10,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (), }%.62s\n", spaces);
    assert_int_equal(file.n, 132);
    assert_memory_equal(file.data, expected, 128);
    free(file.data);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const stored[FA_DTYPE_COUNT] = {"<f8", "<f4", "<f2", "<f4", "|b1"};
    enum { N = 3001 }; /* past one buffer */
    static double values[N], back_values[N];
    for (int dtype = 0; dtype < FA_DTYPE_COUNT; dtype++) {
        for (int i = 0; i < N; i++)
            fa_dtype_set((enum fa_dtype)dtype, values, i, dtype == FA_U8 ? i % 3 : i / 7.0 - 100);
        struct fa_npy array = {(enum fa_dtype)dtype, 1, {N}, values}, back = {0};
        struct fa_error error = {0};
        const char *path = path_of("round.npy");
        assert_int_equal(fa_npy_write(path, &array, &error), FA_OK);
        struct bytes file = slurp(path);
        assert_memory_equal(file.data + 21, stored[dtype], 3);
        assert_int_equal(file.n % 64, N * (stored[dtype][2] - '0') % 64);
        free(file.data);
        assert_int_equal(fa_npy_read(path, (enum fa_dtype)dtype, &back, &error), FA_OK);
        assert_int_equal(back.rank, 1);
        assert_int_equal(back.shape[0], N);
        memcpy(back_values, back.data, N * fa_dtype_bytes((enum fa_dtype)dtype));
        assert_memory_equal(back_values, values, N * fa_dtype_bytes((enum fa_dtype)dtype));
        fa_npy_free(&back);
    }
    struct fa_npy array = {FA_F64, 0, {0}, values}, back = {0};
    assert_int_equal(fa_npy_write(path_of("scalar.npy"), &array, NULL), FA_OK);
    assert_int_equal(fa_npy_read(path_of("scalar.npy"), FA_F64, &back, NULL), FA_OK);
    assert_int_equal(back.rank, 0);
    fa_npy_free(&back);
    array = (struct fa_npy){FA_F64, 3, {2, 0, 5}, NULL};
    assert_int_equal(fa_npy_write(path_of("empty.npy"), &array, NULL), FA_OK);
    assert_int_equal(fa_npy_read(path_of("empty.npy"), FA_F64, &back, NULL), FA_OK);
    assert_int_equal(back.shape[2], 5);
    fa_npy_free(&back);
}

static void read_refused(const char *path, enum fa_status status, const char *word)
{
    struct fa_npy array = {.rank = -7};
    struct fa_error error = {0};
    assert_int_equal(fa_npy_read(path, FA_F32, &array, &error), status);
    assert_int_equal(array.rank, -7);
    assert_non_null(strstr(error.text, word));
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
}

static void test_not_files(void **state)
{
    (void)state;
    read_refused(path_of("missing.npy"), FA_IO, "cannot be opened: No such file");
    read_refused(directory, FA_IO, "is a directory: expected a regular file");
    assert_int_equal(mkfifo(path_of("fifo.npy"), 0600), 0);
    read_refused(path_of("fifo.npy"), FA_IO, "is a pipe: expected a regular file");
    read_refused("/dev/null", FA_IO, "is a device or socket: expected a regular file");
    FILE *empty = fopen(path_of("nothing.npy"), "wb");
    assert_non_null(empty);
    fclose(empty);
    read_refused(path_of("nothing.npy"), FA_BAD_FILE, "ends after 0 bytes");
}

static void write_refused(const char *path, const struct fa_npy *array, enum fa_status status,
                          const char *word)
{
    struct fa_error error = {0};
    assert_int_equal(fa_npy_write(path, array, &error), status);
    assert_non_null(strstr(error.text, word));
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
}

static void test_write_refusals(void **state)
{
    (void)state;
    float data[2] = {1, 2};
    struct fa_npy array = {FA_F32, 1, {2}, data};
    write_refused(path_of("missing/a.npy"), &array, FA_IO, "cannot be made: No such file");
    write_refused(directory, &array, FA_IO, "is not a regular file");
    write_refused("/dev/full", &array, FA_IO, "is not a regular file");
    array.rank = 9;
    write_refused(path_of("bad.npy"), &array, FA_BAD_ARGUMENT, "rank 9");
    array.rank = -1;
    write_refused(path_of("bad.npy"), &array, FA_BAD_ARGUMENT, "rank -1");
    array.rank = 1;
    array.shape[0] = -2;
    write_refused(path_of("bad.npy"), &array, FA_BAD_ARGUMENT, "axis 0 has -2");
    array.shape[0] = INT64_MAX / 4;
    write_refused(path_of("bad.npy"), &array, FA_TOO_LARGE, "2^63 - 1");
    assert_int_not_equal(access(path_of("bad.npy"), F_OK), 0);
}

/* An old file is replaced, a stale part of a killed process does not matter, and none stays. */
static void test_replaces(void **state)
{
    (void)state;
    float data[2] = {1, 2};
    char part[160];
    struct fa_npy array = {FA_F32, 1, {2}, data}, back = {0};
    snprintf(part, sizeof part, "%s.part-%ld", path_of("again.npy"), (long)getpid());
    assert_int_equal(fa_npy_write(path_of("again.npy"), &array, NULL), FA_OK);
    FILE *stale = fopen(part, "wb");
    assert_non_null(stale);
    fclose(stale);
    data[1] = 7;
    assert_int_equal(fa_npy_write(path_of("again.npy"), &array, NULL), FA_OK);
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(fa_npy_read(path_of("again.npy"), FA_F32, &back, NULL), FA_OK);
    expect_values(&back, (const double[]){1, 7}, 2);
}

/* A disk that fills up: the old file stays as it was, and no part of the new one is left. */
static void test_failed_write(void **state)
{
    (void)state;
    static double large[2000];
    double small = 5;
    char part[160];
    struct rlimit old, tight;
    struct fa_npy array = {FA_F64, 1, {1}, &small}, back = {0};
    assert_int_equal(fa_npy_write(path_of("again.npy"), &array, NULL), FA_OK);
    array = (struct fa_npy){FA_F64, 1, {2000}, large};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    write_refused(path_of("again.npy"), &array, FA_IO, "cannot be written: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    snprintf(part, sizeof part, "%s.part-%ld", path_of("again.npy"), (long)getpid());
    assert_int_not_equal(access(part, F_OK), 0);
    assert_int_equal(fa_npy_read(path_of("again.npy"), FA_F64, &back, NULL), FA_OK);
    expect_values(&back, &small, 1);
}

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "test_npy.XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    static const char *const names[] = {"a.npy",    "round.npy",   "scalar.npy", "empty.npy",
                                        "fifo.npy", "nothing.npy", "again.npy"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(names[i]));
    return rmdir(directory); /* This fails if a part of a file was left behind. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_big_endian),    cmocka_unit_test(test_fortran_order),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_integers),
        cmocka_unit_test(test_inexact_integers),
        cmocka_unit_test(test_masks),         cmocka_unit_test(test_dict_forms),
        cmocka_unit_test(test_bad_dicts),     cmocka_unit_test(test_header_end),
        cmocka_unit_test(test_bad_types),     cmocka_unit_test(test_failed_write),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_bad_preambles),
        cmocka_unit_test(test_written_bytes), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_not_files),     cmocka_unit_test(test_write_refusals),
        cmocka_unit_test(test_replaces),
    };
    return cmocka_run_group_tests_name("npy", tests, make_directory, remove_directory);
}
