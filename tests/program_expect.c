#include "tests/program_expect.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Splits at blanks and runs; "@name" stands for a path in the test's folder. */
struct program_run program_run_line(const char *line)
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
void program_run_fine(const char *line)
{
    struct program_run run = program_run_line(line);
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, 0);
    program_run_free(&run);
}

/* The one JSON value on standard output of a line with --format json. */
json_t *program_run_json(const char *line, int status)
{
    struct program_run run = program_run_line(line);
    json_error_t problem;
    assert_string_equal(run.err, "");
    assert_int_equal(run.status, status);
    json_t *value = json_loads(run.out, JSON_REJECT_DUPLICATES, &problem);
    if (!value)
        fail_msg("%s: %s", line, problem.text);
    program_run_free(&run);
    return value;
}

void text_expect(const char *text, const char *words)
{
    if (!text || !strstr(text, words))
        fail_msg("\"%s\" is not in:\n%s", words, text ? text : "(nothing)");
}

int text_count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* The value at a path such as "hbm.read.elements". */
const json_t *json_at(const json_t *value, const char *path)
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

void json_expect_integer(const json_t *value, const char *path, json_int_t expected)
{
    const json_t *found = json_at(value, path);
    assert_true(json_is_integer(found));
    if (json_integer_value(found) != expected)
        fail_msg("%s is %lld, expected %lld", path, (long long)json_integer_value(found),
                 (long long)expected);
}

void program_expect_refusal(const struct program_refusal *refusal)
{
    char expected[2048] = "", line[1024];
    const char *from = refusal->text;
    size_t length = 0;
    /* The command, if it is one, stands before the message. */
    static const char *const commands[] = {"bench",    "check",      "count",    "run",
                                           "generate", "completion", "precision"};
    char prefix[64] = "flashlab: ";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strncmp(refusal->line, commands[i], strlen(commands[i])) == 0)
            snprintf(prefix, sizeof prefix, "flashlab %s: ", commands[i]);
    for (; *from; from++)
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%.*s",
                                   *from == '@' ? 512 : 1, *from == '@' ? program_folder() : from);
    struct program_run run = program_run_line(refusal->line);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_memory_equal(run.err, prefix, strlen(prefix));
    assert_true(run.err[strlen(run.err) - 1] == '\n');
    run.err[strlen(run.err) - 1] = '\0';
    assert_string_equal(run.err + strlen(prefix), expected);
    program_run_free(&run);

    snprintf(line, sizeof line, "%s --format json", refusal->line);
    json_t *object = program_run_json(line, 2);
    assert_int_equal(json_object_size(object), 1);
    assert_int_equal(json_object_size(json_at(object, "error")), 2);
    assert_string_equal(json_string_value(json_at(object, "error.code")), refusal->code);
    assert_string_equal(json_string_value(json_at(object, "error.message")), expected);
    json_decref(object);
}

static const char schema[] =
    "{'schema':'s','problem':{'batch':'i','heads':'i','kv_heads':'i','nq':'i','nk':'i','d':'i',"
    "'dv':'i','scale':'r','causal':'s','window':'wn','dtype':'s','dropout':'dn','blocks':'kn'},"
    "'algorithm':'s','pass':'s',"
    "'tiles':{'br':'i','bc':'i','policy':'s'},'machine':{'name':'s','sram_bytes':'i'},'heads_executed':'i',"
    "'hbm':{'read':{'elements':'i','bytes':'i'},'write':{'elements':'i','bytes':'i'},"
    "'by_tensor':'t'},'sram':{'peak_bytes':'i'},'footprint':{'input_bytes':'i',"
    "'output_bytes':'i','extra_bytes':'i'},'flop':{'matmul':'i','exp':'i','other':'i'},"
    "'tiles_visited':'i','tiles_masked':'i','tiles_total':'i','bounds':{"
    "'compulsory_elements':'i','theta_elements':'rn','floor_elements':'rn',"
    "'standard_elements':'i'},'l2':'ln','time':'mn','provenance':{'version':'s','command':'s','seed':'in',"
    "'threads':'i'}}";
static const char check_schema[] =
    "{'rows':'i','o_underflowed':'i','o_max_abs_error':'rn','o_rms_error':'rn','lse_max_abs_error':'rn',"
    "'budget':'rn','lse_budget':'rn','gradient_underflowed':'in','gradient_rows':'in','gradient_keys':'in','dq_max_abs_error':'rn',"
    "'dk_max_abs_error':'rn','dv_max_abs_error':'rn','dq_budget':'rn','dk_budget':'rn',"
    "'dv_budget':'rn','parts':{'o':'pn','lse':'pn','dq':'pn','dk':'pn','dv':'pn'},'pass':'b'}";

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

json_t *json_result_schema(void)
{
    return load_schema(schema);
}

json_t *json_check_schema(void)
{
    return load_schema(check_schema);
}

static bool is_volume(const json_t *value)
{
    return json_object_size(value) == 2 && json_is_integer(json_object_get(value, "elements")) &&
           json_is_integer(json_object_get(value, "bytes"));
}

/* {"p", "seed", "mask"}; a seed past 2^63 - 1 is a text of digits, a given mask has none. */
static bool is_dropout(const json_t *value)
{
    const json_t *seed = json_object_get(value, "seed");
    return json_object_size(value) == 3 && json_is_real(json_object_get(value, "p")) &&
           json_is_boolean(json_object_get(value, "mask")) &&
           (json_is_null(seed) || json_is_integer(seed) || json_is_string(seed));
}

static bool is_blocks(const json_t *value)
{
    return json_object_size(value) == 2 && json_is_string(json_object_get(value, "pattern")) &&
           json_is_real(json_object_get(value, "visited_share"));
}

static bool is_l2(const json_t *value)
{
    return json_is_integer(json_object_get(value, "dram_read_bytes")) &&
           json_is_integer(json_object_get(value, "dram_write_bytes")) &&
           json_is_integer(json_object_get(value, "l2_to_sm_bytes"));
}

static bool is_time(const json_t *value)
{
    return json_is_real(json_object_get(value, "estimate_us")) &&
           json_is_string(json_object_get(value, "bound_by"));
}

static bool is_part(const json_t *value)
{
    return json_object_size(value) == 6 && json_is_integer(json_object_get(value, "wrong")) &&
           json_is_integer(json_object_get(value, "head")) &&
           json_is_integer(json_object_get(value, "first")) &&
           json_is_integer(json_object_get(value, "last"));
}

/* One letter a type: s text, i integer, r real, n null, b boolean, w [left, right], d dropout, k
 * blocks, t tensors, l and m the L2 and the time model's, p a part of a check. */
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
        /* Eleven of the forward pass, seven more of the backward pass, and dropout. */
        return json_object_size(value) == 11 || json_object_size(value) == 12 ||
               json_object_size(value) == 18 || json_object_size(value) == 19;
    case 'd':
        return is_dropout(value);
    case 'l':
        return is_l2(value);
    case 'm':
        return is_time(value);
    case 'k':
        return is_blocks(value);
    case 'p':
        return is_part(value);
    default:
        return false;
    }
}

/* The same keys in the same order, each of a type that the schema has for it. */
void json_expect_schema(const json_t *value, const json_t *types)
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
            json_expect_schema(found, type);
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
