/* The program from outside: its streams, exit statuses, files and JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/compare.h"
#include "reference/npy.h"
#include "tests/program_run.h"

/* ---- helpers --------------------------------------------------------------------------------- */

/* Splits at blanks and runs; "@name" stands for a path in the test's folder. */
static struct program_run run_line(const char *line)
{
    static char words[2048];
    static char paths[8][512];
    char *argv[64];
    int argc = 0, n_paths = 0;
    assert_true((size_t)snprintf(words, sizeof words, "%s", line) < sizeof words);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < 63);
        if (*word == '@') {
            assert_true(n_paths < 8);
            snprintf(paths[n_paths], sizeof paths[0], "%s", program_path(word + 1));
            word = paths[n_paths++];
        }
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return program_run_argv(argv, NULL);
}

/* Runs a line that must be fine and silent on standard error. */
static void run_fine(const char *line)
{
    struct program_run run = run_line(line);
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, 0);
    program_run_free(&run);
}

/* The one JSON value on standard output of a line with --format json. */
static json_t *run_json(const char *line, int status)
{
    struct program_run run = run_line(line);
    json_error_t problem;
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, status);
    json_t *value = json_loads(run.out, JSON_REJECT_DUPLICATES, &problem);
    if (!value)
        fail_msg("%s: %s", line, problem.text);
    program_run_free(&run);
    return value;
}

/* The value at a path such as "hbm.read.elements". */
static const json_t *at(const json_t *value, const char *path)
{
    char key[64];
    while (*path) {
        size_t length = strcspn(path, ".");
        assert_true(length < sizeof key);
        memcpy(key, path, length);
        key[length] = '\0';
        value = json_object_get(value, key);
        if (!value)
            fail_msg("no key %s", path);
        path += length + (path[length] == '.');
    }
    return value;
}

static void expect_integer(const json_t *value, const char *path, json_int_t expected)
{
    const json_t *found = at(value, path);
    assert_true(json_is_integer(found));
    if (json_integer_value(found) != expected)
        fail_msg("%s is %lld, expected %lld", path, (long long)json_integer_value(found),
                 (long long)expected);
}

static struct fa_npy read_array(const char *name)
{
    struct fa_npy array = {.rank = -1};
    struct fa_error error = {FA_OK, ""};
    if (fa_npy_read(program_path(name), FA_F64, &array, &error) != FA_OK)
        fail_msg("%s", error.text);
    return array;
}

static int64_t count_elements(const struct fa_npy *array)
{
    int64_t n = 1;
    for (int axis = 0; axis < array->rank; axis++)
        n *= array->shape[axis];
    return n;
}

/* Both files have the rank and shape, and differ by at most `budget`. */
static void expect_same_arrays(const char *got_name, const char *expected_name, double budget)
{
    struct fa_npy got = read_array(got_name), expected = read_array(expected_name);
    struct fa_comparison comparison = fa_comparison_start();
    assert_int_equal(got.rank, expected.rank);
    assert_memory_equal(got.shape, expected.shape, (size_t)got.rank * sizeof *got.shape);
    fa_comparison_add(&comparison, got.data, expected.data, count_elements(&got));
    if (!fa_comparison_within(&comparison, budget))
        fail_msg("%s and %s differ by %g", got_name, expected_name, comparison.max_abs_error);
    fa_npy_free(&got);
    fa_npy_free(&expected);
}

/* The header's text, such as "{'descr': '<f4', ... 'shape': (1, 2), }". */
static void expect_header(const char *name, const char *descr, const char *shape)
{
    size_t n_bytes;
    char pattern[64];
    char *bytes = program_read_file(program_path(name), &n_bytes);
    assert_non_null(bytes);
    assert_true(n_bytes >= 128);
    bytes[127] = '\0';
    snprintf(pattern, sizeof pattern, "'descr': '%s'", descr);
    assert_non_null(strstr(bytes + 10, pattern));
    snprintf(pattern, sizeof pattern, "'shape': (%s)", shape);
    if (!strstr(bytes + 10, pattern))
        fail_msg("%s: %s: expected %s", name, bytes + 10, pattern);
    free(bytes);
}

/* Writes an array of f64 values that rise by 1/64, or all `value` where that is not NaN. */
static void write_array(const char *name, enum fa_dtype dtype, int rank, const int64_t *shape,
                        double value)
{
    struct fa_npy array = {.dtype = dtype, .rank = rank};
    struct fa_error error = {FA_OK, ""};
    memcpy(array.shape, shape, (size_t)rank * sizeof *shape);
    int64_t n = count_elements(&array);
    array.data = calloc((size_t)n + 1, 8);
    assert_non_null(array.data);
    for (int64_t i = 0; i < n; i++)
        fa_dtype_set(dtype, array.data, i, isnan(value) ? (double)(i % 64) / 64 : value);
    if (fa_npy_write(program_path(name), &array, &error) != FA_OK)
        fail_msg("%s", error.text);
    free(array.data);
}

static void make_folder(const char *name)
{
    assert_true(mkdir(program_path(name), 0777) == 0);
}

/* q, k, v of one value each in a folder. */
static void write_inputs(const char *folder, int rank, const int64_t *q, const int64_t *k,
                         const int64_t *v, double value)
{
    char name[64];
    make_folder(folder);
    snprintf(name, sizeof name, "%s/q.npy", folder);
    write_array(name, FA_F32, rank, q, value);
    snprintf(name, sizeof name, "%s/k.npy", folder);
    write_array(name, FA_F32, rank, k, value);
    snprintf(name, sizeof name, "%s/v.npy", folder);
    write_array(name, FA_F32, rank, v, NAN);
}

/* ---- the program itself ---------------------------------------------------------------------- */

static void test_overview_and_version(void **state)
{
    (void)state;
    struct program_run bare = program_run(NULL);
    assert_int_equal(bare.status, 2);
    assert_string_equal(bare.out, "");
    assert_non_null(strstr(bare.err, "Usage: flashlab COMMAND"));
    static const char *const lines[] = {"help", "--help", "-h", "help help"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct program_run help = run_line(lines[i]);
        assert_int_equal(help.status, 0);
        assert_string_equal(help.err, "");
        assert_string_equal(help.out, bare.err);
        program_run_free(&help);
    }
    program_run_free(&bare);
    struct program_run version = run_line("--version");
    assert_int_equal(version.status, 0);
    assert_string_equal(version.out, "flashlab " FLASHLAB_VERSION "\n");
    assert_string_equal(version.err, "");
    program_run_free(&version);
}

static void test_help_of_commands(void **state)
{
    (void)state;
    static const char *const commands[] = {"count", "run", "generate", "completion"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64], usage[64];
        snprintf(line, sizeof line, "help %s", commands[i]);
        struct program_run by_help = run_line(line);
        snprintf(line, sizeof line, "%s --help", commands[i]);
        struct program_run by_option = run_line(line);
        snprintf(usage, sizeof usage, "Usage: flashlab %s", commands[i]);
        assert_int_equal(by_help.status, 0);
        assert_int_equal(by_option.status, 0);
        assert_string_equal(by_help.out, by_option.out);
        assert_string_equal(by_help.err, "");
        assert_non_null(strstr(by_help.out, usage));
        program_run_free(&by_help);
        program_run_free(&by_option);
    }
}

struct refusal {
    const char *line, *code, *text; /* "@" in text: the test's folder */
};

static void expect_refusal(const struct refusal *refusal)
{
    char expected[2048] = "", line[1024];
    const char *from = refusal->text;
    size_t length = 0;
    /* The command, if it is one, stands before the message. */
    static const char *const commands[] = {"count", "run", "generate", "completion"};
    char prefix[64] = "flashlab: ";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strncmp(refusal->line, commands[i], strlen(commands[i])) == 0)
            snprintf(prefix, sizeof prefix, "flashlab %s: ", commands[i]);
    for (; *from; from++)
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%.*s",
                                   *from == '@' ? 512 : 1, *from == '@' ? program_folder() : from);
    struct program_run run = run_line(refusal->line);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_memory_equal(run.err, prefix, strlen(prefix));
    assert_true(run.err[strlen(run.err) - 1] == '\n');
    run.err[strlen(run.err) - 1] = '\0';
    assert_string_equal(run.err + strlen(prefix), expected);
    program_run_free(&run);

    snprintf(line, sizeof line, "%s --format json", refusal->line);
    json_t *object = run_json(line, 2);
    assert_int_equal(json_object_size(object), 1);
    assert_int_equal(json_object_size(at(object, "error")), 2);
    assert_string_equal(json_string_value(at(object, "error.code")), refusal->code);
    assert_string_equal(json_string_value(at(object, "error.message")), expected);
    json_decref(object);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"conut", "bad_argument", "conut: unknown command; did you mean count?"},
        {"frobnicate", "bad_argument", "frobnicate: unknown command; flashlab help lists them"},
        {"--n 4", "bad_argument", "--n: expected a command before the options"},
        {"help frobnicate", "bad_argument", NULL},
        {"count --d 0", "bad_argument", "--d 0: expected 1 or more"},
        {"count --n 4 --nq 4", "bad_argument",
         "--n and --nq: expected either --n, or --nq and --nk"},
        {"count --seed 1", "bad_argument", "--seed: unknown option; --help lists them"},
        {"count extra", "bad_argument", "extra: expected options only (they begin with --)"},
        {"count --heads 9223372036854775808", "too_large",
         "--heads 9223372036854775808: expected 0 or more, up to 9223372036854775807"},
        {"count --n 1073741824 --heads 1048576 --d 1048576", "too_large", ""},
        {"count --tiles 512x512", "does_not_fit", ""},
        {"count --sram 12X", "bad_argument",
         "--sram: \"12X\": expected a size such as 4096, 192K, 1.5M or 2G"},
        {"count --machine nosuch", "bad_argument", ""},
        {"count --tiles 3", "bad_argument", ""},
        {"count --pass backward", "unsupported",
         "--pass backward: expected forward; this version has no backward pass"},
        {"count --mask @none.npy", "io",
         "--mask: @/none.npy: cannot be opened: No such file or directory"},
        {"count --trace @no/folder/t", "io",
         "--trace: @/no/folder/t: cannot be made in @/no/folder: No such file or directory"},
        {"run --n 1048576 --heads 1048576", "no_memory", ""},
        {"run --in @none", "io", "@/none/q.npy: cannot be opened: No such file or directory"},
        {"run --in a --seed 1", "bad_argument", "--in and --seed: expected only one of them"},
        {"run --out @file/o", "io", "--out: @/file/o: the folder cannot be made: Not a directory"},
        {"run --out @file", "io", "--out: @/file: not a folder: expected one to write in"},
        {"run --trace @", "io", "--trace: @/: is not a regular file: it is not written over"},
        {"generate", "bad_argument", "expected --out DIR, the folder to write in"},
        {"generate --out @g --mask-random 2", "bad_argument",
         "--mask-random 2: expected a share from 0 to 1"},
        {"generate --out @g --mask a --mask-random 1", "bad_argument",
         "--mask and --mask-random: expected only one of them"},
    };
    FILE *file = fopen(program_path("file"), "w");
    assert_non_null(file);
    fclose(file);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct refusal refusal = refusals[i];
        struct program_run run = {.status = 0};
        char text[2048] = "";
        if (!refusal.text) /* help takes no format */
            continue;
        if (!*refusal.text) {
            /* A library's sentence, which its own tests assert: here it is one line, the same in
             * both formats. */
            run = run_line(refusal.line);
            assert_non_null(strstr(run.err, ": "));
            const char *message = strstr(run.err, ": ") + 2;
            snprintf(text, sizeof text, "%.*s", (int)strcspn(message, "\n"), message);
            assert_true(strlen(text) > 20);
            assert_true(strcspn(message, "\n") == strlen(message) - 1);
            refusal.text = text;
        }
        expect_refusal(&refusal);
        if (run.out)
            program_run_free(&run);
    }
    struct program_run run = run_line("help frobnicate");
    assert_int_equal(run.status, 2);
    assert_string_equal(run.err,
                        "flashlab: frobnicate: unknown command; flashlab help lists them\n");
    program_run_free(&run);
    run = run_line("completion csh");
    assert_int_equal(run.status, 2);
    assert_string_equal(run.err, "flashlab completion: csh: expected bash, zsh or fish; did you "
                                 "mean zsh?\n");
    program_run_free(&run);
}

/* Odd bytes in an argument reach neither the terminal nor the JSON. */
static void test_odd_arguments(void **state)
{
    (void)state;
    struct program_run run = program_run("count", "--dtype", "a\nb\033\xff", NULL);
    assert_int_equal(run.status, 2);
    assert_null(strchr(run.err, '\033'));
    assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
    program_run_free(&run);
    run = program_run("count", "--format=json", "--dtype", "a\nb\xff", NULL);
    json_t *object = json_loads(run.out, 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(at(object, "error.message")),
                        "--dtype a?b?: expected f64, f32, f16 or bf16");
    json_decref(object);
    program_run_free(&run);
}

static void test_full_standard_output(void **state)
{
    (void)state;
    static const char *const lines[] = {"count", "help", "--version"};
    if (access("/dev/full", W_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *argv[] = {(char *)(uintptr_t)lines[i], NULL};
        struct program_run run = program_run_argv(argv, "/dev/full");
        assert_int_equal(run.status, 2);
        assert_string_equal(run.err, "flashlab: standard output: No space left on device\n");
        program_run_free(&run);
    }
}

/* ---- count ----------------------------------------------------------------------------------- */

static const char schema[] =
    "{'schema':'s','problem':{'batch':'i','heads':'i','kv_heads':'i','nq':'i','nk':'i','d':'i',"
    "'dv':'i','scale':'r','causal':'s','window':'wn','dtype':'s'},'algorithm':'s','pass':'s',"
    "'tiles':{'br':'i','bc':'i','policy':'s'},'machine':{'name':'s','sram_bytes':'i'},"
    "'hbm':{'read':{'elements':'i','bytes':'i'},'write':{'elements':'i','bytes':'i'},"
    "'by_tensor':'t'},'sram':{'peak_bytes':'i'},'footprint':{'input_bytes':'i',"
    "'output_bytes':'i','extra_bytes':'i'},'flop':{'matmul':'i','exp':'i','other':'i'},"
    "'tiles_visited':'i','tiles_masked':'i','tiles_total':'i','bounds':{"
    "'compulsory_elements':'i','theta_elements':'rn','floor_elements':'rn',"
    "'standard_elements':'i'},'provenance':{'version':'s','command':'s','seed':'in',"
    "'threads':'i'}}";
static const char check_schema[] =
    "{'rows':'i','o_max_abs_error':'rn','o_rms_error':'rn','lse_max_abs_error':'rn',"
    "'budget':'rn','pass':'b'}";

static json_t *load_schema(const char *text)
{
    char quoted[2048];
    snprintf(quoted, sizeof quoted, "%s", text);
    for (char *c = quoted; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *value = json_loads(quoted, 0, NULL);
    assert_non_null(value);
    return value;
}

static bool is_volume(const json_t *value)
{
    return json_object_size(value) == 2 && json_is_integer(json_object_get(value, "elements")) &&
           json_is_integer(json_object_get(value, "bytes"));
}

/* One letter a type: s text, i integer, r real, n null, b boolean, w [left, right], t tensors. */
static bool has_type(const json_t *value, char type)
{
    const char *name;
    json_t *tensor;
    switch (type) {
    case 's':
        return json_is_string(value);
    case 'i':
        return json_is_integer(value);
    case 'r':
        return json_is_real(value);
    case 'n':
        return json_is_null(value);
    case 'b':
        return json_is_boolean(value);
    case 'w':
        return json_array_size(value) == 2 && json_is_integer(json_array_get(value, 0)) &&
               json_is_integer(json_array_get(value, 1));
    case 't':
        json_object_foreach((json_t *)(uintptr_t)value, name, tensor)
        {
            if (!is_volume(json_object_get(tensor, "read")) ||
                !is_volume(json_object_get(tensor, "write")))
                return false;
        }
        return json_object_size(value) == 11;
    default:
        return false;
    }
}

/* The same keys in the same order, each of a type that the schema has for it. */
static void expect_schema(const json_t *value, const json_t *types)
{
    const char *key;
    json_t *type;
    void *place = json_object_iter((json_t *)(uintptr_t)value);
    json_object_foreach((json_t *)(uintptr_t)types, key, type)
    {
        if (!place)
            fail_msg("no key %s", key);
        assert_string_equal(json_object_iter_key(place), key);
        const json_t *found = json_object_iter_value(place);
        if (json_is_object(type)) {
            expect_schema(found, type);
        } else {
            bool fits = false;
            for (const char *letter = json_string_value(type); *letter; letter++)
                fits = fits || has_type(found, *letter);
            if (!fits)
                fail_msg("%s has the wrong type", key);
        }
        place = json_object_iter_next((json_t *)(uintptr_t)value, place);
    }
    if (place)
        fail_msg("key too many: %s", json_object_iter_key(place));
}

static void test_count_has_the_schema(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "count --format json",
        "count --format json --algorithm standard --window 5,-1 --d 200 --sram 40K",
        "count --format json --n 0 --heads 0",
    };
    json_t *types = load_schema(schema);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        json_t *object = run_json(lines[i], 0);
        expect_schema(object, types);
        assert_string_equal(json_string_value(at(object, "schema")), "flashlab.result/1");
        assert_string_equal(json_string_value(at(object, "pass")), "forward");
        assert_string_equal(json_string_value(at(object, "provenance.command")) + 9, lines[i]);
        assert_string_equal(json_string_value(at(object, "provenance.version")), FLASHLAB_VERSION);
        assert_true(json_is_null(at(object, "provenance.seed")));
        json_decref(object);
    }
    /* Below M = 2 d^2 there is no floor. */
    json_t *object = run_json("count --format json --d 200 --tiles 8x8", 0);
    assert_true(json_is_null(at(object, "bounds.floor_elements")));
    json_decref(object);
    json_decref(types);
}

static void test_count_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        json_int_t read, write;
    } figures[] = {
        {"flash2", 1114112, 66560},
        {"flash1", 1196032, 608256},
        {"standard", 3211264, 2162688},
    };
    json_t *list = run_json("count --n 1024 --d 64 --tiles 128x128 --sram 1M --format json "
                            "--algorithm flash2,flash1,standard",
                            0);
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *object = json_array_get(list, i);
        assert_string_equal(json_string_value(at(object, "algorithm")), figures[i].algorithm);
        expect_integer(object, "hbm.read.elements", figures[i].read);
        expect_integer(object, "hbm.write.elements", figures[i].write);
        expect_integer(object, "hbm.read.bytes", 4 * figures[i].read);
        expect_integer(object, "tiles_total", 64);
        expect_integer(object, "bounds.compulsory_elements", 4 * 1024 * 64);
        expect_integer(object, "bounds.standard_elements", 1024 * 64 + 1024 * 1024);
    }
    json_decref(list);
    json_t *object = run_json("count --n 65 --tiles 64x64 --format json", 0);
    expect_integer(object, "hbm.by_tensor.q.read.elements", 4160);
    expect_integer(object, "hbm.by_tensor.k.read.elements", 8320);
    expect_integer(object, "hbm.by_tensor.v.read.elements", 8320);
    expect_integer(object, "hbm.by_tensor.o.write.elements", 4160);
    expect_integer(object, "hbm.by_tensor.lse.write.elements", 65);
    expect_integer(object, "hbm.by_tensor.s.read.elements", 0);
    json_decref(object);
}

static void test_count_in_words(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "flash2 forward", "batch 2, heads 4, K/V heads 2, N 300, d 32, f16, scale 0.176777",
        "causal, bottom-right", "a100, SRAM 196,608 bytes", "tensor", "read, elements",
        "Counted on 1 head and multiplied by 8", "SRAM       peak ", "FLOPs      matmul ",
        "64x64 (default): 120 visited of 200, 40 of them cut by the mask", "compulsory", "theta",
        "floor", "standard", "moved/bound",
    };
    struct program_run run =
        run_line("count --batch 2 --heads 4 --kv-heads 2 --n 300 --d 32 --dtype f16 --causal");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(run.out, expected[i]))
            fail_msg("no \"%s\" in\n%s", expected[i], run.out);
    assert_null(strstr(run.out, "Check"));
    program_run_free(&run);
    run = run_line("count --algorithm standard,flash2 --tiles 128x128 --sram 1M");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "  read, elements              3,211,264    1.000          "
                                    "1,114,112    0.347\n"));
    program_run_free(&run);
}

static void test_command_line_is_kept(void **state)
{
    (void)state;
    struct program_run run =
        program_run("count", "--n", "4", "--format=json", "--machine", "toy", "--trace",
                    program_path("it's \"a\" $trace"), NULL);
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, 0);
    json_t *object = json_loads(run.out, 0, NULL);
    const char *line = json_string_value(at(object, "provenance.command"));
    assert_non_null(strstr(line, "flashlab count --n 4 --format=json --machine toy --trace '"));
    assert_non_null(strstr(line, "/it'\\''s \"a\" $trace'"));
    assert_int_equal(access(program_path("it's \"a\" $trace"), R_OK), 0);
    json_decref(object);
    program_run_free(&run);
    /* A capacity that nothing fits in leaves a trace that ends with the refusal. */
    run = run_line("count --n 64 --tiles 64x64 --sram 20K --trace @refused");
    assert_int_equal(run.status, 2);
    assert_int_equal(access(program_path("refused"), R_OK), 0);
    program_run_free(&run);
}

/* ---- run and generate ------------------------------------------------------------------------ */

static void test_run_has_the_schema(void **state)
{
    (void)state;
    json_t *types = load_schema(schema), *check_types = load_schema(check_schema);
    json_t *object = run_json("run --n 40 --d 8 --heads 3 --seed 7 --threads 2 --format json", 0);
    expect_schema(at(object, "check"), check_types);
    expect_integer(object, "check.rows", 120);
    assert_true(json_is_true(at(object, "check.pass")));
    assert_true(json_real_value(at(object, "check.budget")) > 0);
    expect_integer(object, "provenance.seed", 7);
    expect_integer(object, "provenance.threads", 2);
    json_object_del(object, "check");
    expect_schema(object, types);
    json_decref(object);
    object = run_json("run --n 40 --check none --format json", 0);
    assert_true(json_is_null(at(object, "check")));
    json_decref(object);
    json_decref(types);
    json_decref(check_types);
}

static void test_run_in_words(void **state)
{
    (void)state;
    struct program_run run = run_line("run --n 33 --d 5");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    assert_non_null(strstr(run.out, "Check      passed"));
    assert_non_null(strstr(run.out, "rows     33, all there are"));
    assert_non_null(strstr(run.out, "Time "));
    program_run_free(&run);
    run = run_line("run --n 50 --algorithm standard,flash1,flash2,fused-save-p --causal");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "check                          passed                      "
                                    "passed                      passed                      "
                                    "passed\n"));
    program_run_free(&run);
    /* What is sampled is said. */
    run = run_line("run --nq 8193 --nk 2 --d 1 --algorithm flash2");
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, " of 8,193, a sample of each head"));
    program_run_free(&run);
    run = run_line("run --nq 8193 --nk 2 --d 1 --check full");
    assert_non_null(strstr(run.out, "rows     8,193, all there are"));
    program_run_free(&run);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"standard", "flash1", "flash2", "fused-save-p"};
    char line[512];
    run_fine("generate --out @trip/case --batch 2 --heads 4 --kv-heads 2 --nq 37 --nk 53 --d 9 "
             "--dv 5 --causal=top-left --mask-random 0.8 --profile peaky --seed 3");
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        snprintf(line, sizeof line,
                 "run --in @trip/case --out @trip/result --mask @trip/case/mask.npy "
                 "--causal=top-left --algorithm %s --tiles 16x8 --check none",
                 algorithms[i]);
        run_fine(line); /* Its check is the comparison with the oracle's files. */
        expect_same_arrays("trip/result/o.npy", "trip/case/o.npy", 1e-5);
        expect_same_arrays("trip/result/lse.npy", "trip/case/lse.npy", 1e-5);
    }
    expect_header("trip/case/q.npy", "<f4", "2, 4, 37, 9");
    expect_header("trip/case/v.npy", "<f4", "2, 2, 53, 5");
    expect_header("trip/case/mask.npy", "|b1", "2, 1, 37, 53");
    expect_header("trip/case/o.npy", "<f8", "2, 4, 37, 5");
    expect_header("trip/case/lse.npy", "<f8", "2, 4, 37");
    expect_header("trip/result/lse.npy", "<f4", "2, 4, 37");
    /* Without the mask the result is another one: the comparison can tell. */
    run_fine("run --in @trip/case --out @trip/other --causal=top-left");
    struct fa_npy masked = read_array("trip/case/o.npy"), open = read_array("trip/other/o.npy");
    struct fa_comparison comparison = fa_comparison_start();
    fa_comparison_add(&comparison, open.data, masked.data, count_elements(&open));
    assert_false(fa_comparison_within(&comparison, 1e-2));
    fa_npy_free(&masked);
    fa_npy_free(&open);
    char *text = program_read_file(program_path("trip/case/case.json"), NULL);
    json_t *description = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(at(description, "name")), "case");
    expect_integer(description, "heads_q", 4);
    expect_integer(description, "heads_kv", 2);
    expect_integer(description, "n_k", 53);
    assert_string_equal(json_string_value(at(description, "mask")), "causal");
    assert_string_equal(json_string_value(at(description, "causal_align")), "top_left");
    json_decref(description);
    free(text);
}

static void test_formats_and_layouts(void **state)
{
    (void)state;
    static const struct {
        const char *dtype, *o, *lse;
    } formats[] = {
        {"f64", "<f8", "<f8"}, {"f32", "<f4", "<f4"}, {"f16", "<f2", "<f4"}, {"bf16", "<f4", "<f4"},
    };
    char line[512];
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(line, sizeof line, "generate --out @form/%s --heads 2 --n 9 --d 4 --dtype %s",
                 formats[i].dtype, formats[i].dtype);
        run_fine(line);
        snprintf(line, sizeof line, "run --in @form/%s --out @form/%s-out --dtype %s",
                 formats[i].dtype, formats[i].dtype, formats[i].dtype);
        run_fine(line);
        snprintf(line, sizeof line, "form/%s-out/o.npy", formats[i].dtype);
        expect_header(line, formats[i].o, "1, 2, 9, 4");
        snprintf(line, sizeof line, "form/%s-out/lse.npy", formats[i].dtype);
        expect_header(line, formats[i].lse, "1, 2, 9");
    }
    /* The same values in the other layout: one head of each is the same file but for its shape. */
    run_fine("generate --out @form/bshd --heads 2 --n 9 --d 4 --dtype f64 --layout bshd");
    run_fine("run --in @form/bshd --out @form/bshd-out --dtype f64 --layout bshd");
    expect_header("form/bshd-out/o.npy", "<f8", "1, 9, 2, 4");
    expect_header("form/bshd-out/lse.npy", "<f8", "1, 9, 2");
    struct fa_npy by_head = read_array("form/f64-out/o.npy");
    struct fa_npy by_row = read_array("form/bshd-out/o.npy");
    const double *a = by_head.data, *b = by_row.data;
    for (int head = 0; head < 2; head++)
        for (int row = 0; row < 9; row++)
            for (int column = 0; column < 4; column++)
                assert_true(a[(head * 9 + row) * 4 + column] == b[(row * 2 + head) * 4 + column]);
    fa_npy_free(&by_head);
    fa_npy_free(&by_row);
}

static void test_ranks(void **state)
{
    (void)state;
    const int64_t q2[] = {5, 3}, k2[] = {7, 3}, v2[] = {7, 2};
    const int64_t q3[] = {4, 5, 3}, k3[] = {2, 7, 3}, v3[] = {2, 7, 2};
    const int64_t s3[] = {5, 4, 3}, t3[] = {7, 2, 3}, u3[] = {7, 2, 2};
    write_inputs("rank2", 2, q2, k2, v2, NAN);
    write_inputs("rank3", 3, q3, k3, v3, NAN);
    write_inputs("rank3s", 3, s3, t3, u3, NAN);
    run_fine("run --in @rank2 --out @rank2/out --nq 5 --nk 7 --d 3 --dv 2");
    expect_header("rank2/out/o.npy", "<f4", "5, 2");
    expect_header("rank2/out/lse.npy", "<f4", "5,");
    run_fine("run --in @rank3 --out @rank3/out --heads 4 --kv-heads 2 --batch 1");
    expect_header("rank3/out/o.npy", "<f4", "4, 5, 2");
    expect_header("rank3/out/lse.npy", "<f4", "4, 5");
    run_fine("run --in @rank3s --out @rank3s/out --layout bshd --heads 4");
    expect_header("rank3s/out/o.npy", "<f4", "5, 4, 2");
    expect_header("rank3s/out/lse.npy", "<f4", "5, 4");
}

static void test_input_refusals(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"run --in @bad/seq", "bad_file", "@/bad/seq/v.npy: 6: expected 7, the seq as in k.npy"},
        {"run --in @bad/d", "bad_file", "@/bad/d/k.npy: 4: expected 3, the d as in q.npy"},
        {"run --in @bad/rank", "bad_file", "@/bad/rank/v.npy: 3 axes: expected 2, as in q.npy"},
        {"run --in @bad/one", "bad_file",
         "@/bad/one/q.npy: 1 axes: expected 4 (batch, heads, seq, d), 3 (no batch) or 2 (seq, d)"},
        {"run --in @bad/zero", "bad_file",
         "@/bad/zero/q.npy: a last axis of 0: expected 1 or more"},
        {"run --in @bad/good --d 4", "bad_argument",
         "--d 4: expected 3, as @/bad/good/q.npy has it (or no --d)"},
        {"run --in @bad/good --n 5", "bad_argument",
         "--n 5: expected 7, as @/bad/good/k.npy has it (or no --n)"},
        {"run --in @bad/good --kv-heads 2", "bad_argument",
         "--kv-heads 2: expected 1, as @/bad/good/k.npy has it (or no --kv-heads)"},
        {"run --in @bad/good --mask @bad/good/q.npy", "bad_file", ""},
        {"run --in @bad/good --mask @bad/mask.npy", "bad_argument",
         "--mask: @/bad/mask.npy: the mask is [1, 1, 5, 6]: expected axis 3 to be 1 or nk, which "
         "is 7"},
        {"run --in @bad/good --bias @bad/deep.npy", "bad_file",
         "--bias: @/bad/deep.npy: 5 axes: expected at most 4, [batch, heads, nq, nk]"},
    };
    const int64_t q[] = {5, 3}, k[] = {7, 3}, v[] = {7, 2}, short_v[] = {6, 2}, wide_k[] = {7, 4};
    const int64_t deep[] = {1, 1, 1, 5, 7}, none[] = {5, 0}, mask[] = {5, 6};
    make_folder("bad");
    write_inputs("bad/good", 2, q, k, v, NAN);
    write_inputs("bad/seq", 2, q, k, short_v, NAN);
    write_inputs("bad/d", 2, q, wide_k, v, NAN);
    write_inputs("bad/rank", 2, q, k, v, NAN);
    write_array("bad/rank/v.npy", FA_F32, 3, deep + 2, NAN);
    write_inputs("bad/one", 1, q, k, v, NAN);
    write_inputs("bad/zero", 2, none, none, v, NAN);
    write_array("bad/zero/v.npy", FA_F32, 2, q, NAN);
    write_array("bad/deep.npy", FA_F32, 5, deep, NAN);
    write_array("bad/mask.npy", FA_U8, 2, mask, 1);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (*refusals[i].text) {
            expect_refusal(&refusals[i]);
        } else {
            struct program_run run = run_line(refusals[i].line);
            assert_int_equal(run.status, 2);
            assert_non_null(strstr(run.err, "flashlab run: --mask: "));
            program_run_free(&run);
        }
    }
}

/* Masks and biases of fewer axes are spread over the ones in front. */
static void test_modifiers_of_fewer_axes(void **state)
{
    (void)state;
    const int64_t keys[] = {6}, one[] = {1, 1, 1, 1};
    write_array("keys.npy", FA_F32, 1, keys, 0.5);
    write_array("one.npy", FA_U8, 4, one, 1);
    run_fine("run --n 6 --d 2 --heads 2 --batch 2 --bias @keys.npy --mask @one.npy --out @spread");
    run_fine("run --n 6 --d 2 --heads 2 --batch 2 --out @plain");
    /* A bias that is the same for all keys changes LSE by itself, and O by nothing. */
    expect_same_arrays("spread/o.npy", "plain/o.npy", 1e-6);
    struct fa_npy with = read_array("spread/lse.npy"), without = read_array("plain/lse.npy");
    for (int64_t i = 0; i < count_elements(&with); i++)
        assert_true(fabs(((double *)with.data)[i] - ((double *)without.data)[i] - 0.5) < 1e-5);
    fa_npy_free(&with);
    fa_npy_free(&without);
}

/* Scores past f32's largest number are infinite in f32 and fine in double: no budget covers it. */
static void test_failed_check(void **state)
{
    (void)state;
    const int64_t shape[] = {4, 4};
    write_inputs("huge", 2, shape, shape, shape, 1e25);
    json_t *object = run_json("run --in @huge --out @huge/out --format json", 1);
    assert_true(json_is_false(at(object, "check.pass")));
    assert_true(json_is_null(at(object, "check.o_max_abs_error")));
    assert_true(json_is_null(at(object, "check.o_rms_error")));
    assert_true(json_is_null(at(object, "provenance.seed")));
    json_decref(object);
    expect_header("huge/out/o.npy", "<f4", "4, 4");
    expect_header("huge/out/lse.npy", "<f4", "4,");
    struct program_run run = run_line("run --in @huge");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "Check      FAILED"));
    program_run_free(&run);
    run = run_line("run --in @huge --check none");
    assert_int_equal(run.status, 0);
    program_run_free(&run);
}

/* Nothing to attend to, and nobody to attend. */
static void test_empty_sides(void **state)
{
    (void)state;
    run_fine("run --nq 3 --nk 0 --d 2 --out @empty");
    struct fa_npy o = read_array("empty/o.npy"), lse = read_array("empty/lse.npy");
    for (int i = 0; i < 6; i++)
        assert_true(((double *)o.data)[i] == 0);
    for (int i = 0; i < 3; i++)
        assert_true(((double *)lse.data)[i] == -INFINITY);
    fa_npy_free(&o);
    fa_npy_free(&lse);
    run_fine("run --nq 0 --nk 3 --algorithm standard,flash1,flash2,fused-save-p");
    run_fine("run --batch 0 --algorithm standard,flash1,flash2,fused-save-p");
    run_fine("generate --out @none --n 0");
}

/* ---- completion ------------------------------------------------------------------------------ */

/* What bash would offer for the words, of which the last is being typed. */
static void expect_completion(const char *words, int index, const char *expected)
{
    char command[1024], text[4096];
    snprintf(command, sizeof command,
             "bash -c '. \"%s\"; COMP_WORDS=(%s); COMP_CWORD=%d; _flashlab; "
             "echo \"${COMPREPLY[*]}\"'",
             program_path("flashlab.bash"), words, index);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(text, 1, sizeof text - 1, pipe);
    text[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(text, expected);
}

static void test_completion(void **state)
{
    (void)state;
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        snprintf(line, sizeof line, "completion %s", shells[i]);
        struct program_run run = run_line(line);
        assert_int_equal(run.status, 0);
        assert_string_equal(run.err, "");
        assert_non_null(strstr(run.out, "kv-heads"));
        assert_non_null(strstr(run.out, "fused-save-p"));
        assert_non_null(strstr(run.out, "rtx4090"));
        program_run_free(&run);
    }
    if (system("bash -c :") != 0)
        skip();
    char *argv[] = {(char *)"completion", (char *)"bash", NULL};
    struct program_run run = program_run_argv(argv, program_path("flashlab.bash"));
    program_run_free(&run);
    expect_completion("flashlab cou", 1, "count\n");
    expect_completion("flashlab count --kv", 2, "--kv-heads\n");
    expect_completion("flashlab count --dtype b", 3, "bf16\n");
    expect_completion("flashlab run --profile o", 3, "outliers\n");
    expect_completion("flashlab run --machine rtx", 3, "rtx3090 rtx4090\n");
    expect_completion("flashlab completion f", 2, "fish\n");
}

static int remove_folder(void **state)
{
    (void)state;
    program_folder_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overview_and_version),
        cmocka_unit_test(test_help_of_commands),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_odd_arguments),
        cmocka_unit_test(test_full_standard_output),
        cmocka_unit_test(test_count_has_the_schema),
        cmocka_unit_test(test_count_by_hand),
        cmocka_unit_test(test_count_in_words),
        cmocka_unit_test(test_command_line_is_kept),
        cmocka_unit_test(test_run_has_the_schema),
        cmocka_unit_test(test_run_in_words),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_formats_and_layouts),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_input_refusals),
        cmocka_unit_test(test_modifiers_of_fewer_axes),
        cmocka_unit_test(test_failed_check),
        cmocka_unit_test(test_empty_sides),
        cmocka_unit_test(test_completion),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
