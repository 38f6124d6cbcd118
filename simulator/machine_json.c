/* Machines as JSON: one table of keys both writes and reads, so that the two can't drift. */
#include "simulator/machine.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum kind { TEXT, COUNT, RATE };

struct key {
    const char *name;
    enum kind kind;
    bool needed;
    size_t offset, size;
};

#define MEMBER(member)                                                                             \
    offsetof(struct sim_machine, member), sizeof(((struct sim_machine *)NULL)->member)

static const struct key keys[] = {
    {"name", TEXT, true, MEMBER(name)},
    {"title", TEXT, false, MEMBER(title)},
    {"sram_bytes", COUNT, true, MEMBER(sram_bytes)},
    {"sms", COUNT, false, MEMBER(sms)},
    {"l2_bytes", COUNT, false, MEMBER(l2_bytes)},
    {"hbm_bytes", COUNT, false, MEMBER(hbm_bytes)},
    {"hbm_bytes_per_second", RATE, false, MEMBER(hbm_bytes_per_second)},
    {"sram_bytes_per_second", RATE, false, MEMBER(sram_bytes_per_second)},
    {"f32_flops_per_second", RATE, false, MEMBER(f32_flops_per_second)},
    {"f16_flops_per_second", RATE, false, MEMBER(f16_flops_per_second)},
    {"exp_per_second", RATE, false, MEMBER(exp_per_second)},
};

/* What the object "sources" holds. */
static const struct key sources[] = {
    {"sram", TEXT, false, MEMBER(source_sram)},
    {"sms", TEXT, false, MEMBER(source_sms)},
    {"l2", TEXT, false, MEMBER(source_l2)},
    {"hbm", TEXT, false, MEMBER(source_hbm)},
    {"sram_rate", TEXT, false, MEMBER(source_sram_rate)},
    {"flops", TEXT, false, MEMBER(source_flops)},
    {"exp", TEXT, false, MEMBER(source_exp)},
};

enum { KEYS = sizeof keys / sizeof *keys, SOURCES = sizeof sources / sizeof *sources };

static const char schema[] = "flashlab.machine/1";

/* 0 is written as null. A whole rate is written as an integer: 1555000000000, not 1.555e12. */
static json_t *write_value(const struct sim_machine *machine, const struct key *key)
{
    const char *member = (const char *)machine + key->offset;
    uint64_t count;
    double rate;

    switch (key->kind) {
    case COUNT:
        memcpy(&count, member, sizeof count);
        return count ? json_integer((json_int_t)count) : json_null();
    case RATE:
        memcpy(&rate, member, sizeof rate);
        if (!(rate > 0))
            return json_null();
        return rate == floor(rate) && rate < 0x1p53 ? json_integer((json_int_t)rate)
                                                    : json_real(rate);
    case TEXT:
        break;
    }
    return json_string(member);
}

static bool write_keys(json_t *object, const struct sim_machine *machine, const struct key *key,
                       int n)
{
    for (int i = 0; i < n; i++) {
        if (json_object_set_new(object, key[i].name, write_value(machine, &key[i])) != 0)
            return false;
    }
    return true;
}

json_t *sim_machine_to_json(const struct sim_machine *machine)
{
    json_t *object = json_pack("{s:s}", "schema", schema), *from = json_object();
    if (!object || !from || !write_keys(object, machine, keys, KEYS) ||
        !write_keys(from, machine, sources, SOURCES) ||
        json_object_set(object, "sources", from) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(from);
    return object;
}

static enum fa_status fail_value(const char *name, const char *where, const struct key *key,
                                 const char *expected, struct fa_error *error)
{
    return fa_fail(error, FA_BAD_FILE, "%s: machine file: \"%s%s\": expected %s", name, where,
                   key->name, expected);
}

static enum fa_status read_text(const char *name, const char *where, const struct key *key,
                                const json_t *value, char *member, struct fa_error *error)
{
    char expected[48];
    const char *text = json_string_value(value);
    size_t length = text ? strlen(text) : 0;

    if (!text || length >= key->size || (key->needed && length == 0)) {
        snprintf(expected, sizeof expected, "a text of %d to %d bytes", key->needed,
                 (int)key->size - 1);
        return fail_value(name, where, key, expected, error);
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return fail_value(name, where, key, "a text without control characters", error);
    }
    memcpy(member, text, length + 1);
    return FA_OK;
}

static enum fa_status read_value(const char *name, const char *where, const struct key *key,
                                 const json_t *value, struct sim_machine *machine,
                                 struct fa_error *error)
{
    char *member = (char *)machine + key->offset;

    if (json_is_null(value) && !key->needed)
        return FA_OK;
    if (key->kind == TEXT)
        return read_text(name, where, key, value, member, error);
    if (key->kind == COUNT) {
        if (!json_is_integer(value) || json_integer_value(value) < 1)
            return fail_value(name, where, key, "a whole number, 1 or more", error);
        uint64_t count = (uint64_t)json_integer_value(value);
        memcpy(member, &count, sizeof count);
        return FA_OK;
    }
    double rate = json_number_value(value);
    if (!json_is_number(value) || !(rate > 0) || !isfinite(rate))
        return fail_value(name, where, key, "a number above 0", error);
    memcpy(member, &rate, sizeof rate);
    return FA_OK;
}

static const struct key *find_key(const struct key *key, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(key[i].name, name) == 0)
            return &key[i];
    }
    return NULL;
}

/* Reads the members of an object by the table. `where` stands before their names in messages. */
static enum fa_status read_keys(const char *name, const char *where, json_t *object,
                                const struct key *table, int n, struct sim_machine *machine,
                                struct fa_error *error)
{
    const char *member;
    json_t *value;

    json_object_foreach(object, member, value)
    {
        const struct key *key = find_key(table, n, member);
        bool nested = !key && table == keys && strcmp(member, "sources") == 0;
        if (!key && table == keys && strcmp(member, "schema") == 0) {
            if (!json_is_string(value) || strcmp(json_string_value(value), schema) != 0)
                return fa_fail(error, FA_BAD_FILE, "%s: machine file: \"schema\": expected \"%s\"",
                               name, schema);
            continue;
        }
        if (!key && !nested)
            return fa_fail(error, FA_BAD_FILE, "%s: machine file: unknown key \"%s%.60s\"", name,
                           where, member);
        if (nested && !json_is_object(value))
            return fa_fail(error, FA_BAD_FILE,
                           "%s: machine file: \"sources\": expected an object of texts", name);
        enum fa_status status =
            nested ? read_keys(name, "sources.", value, sources, SOURCES, machine, error)
                   : read_value(name, where, key, value, machine, error);
        if (status)
            return status;
    }
    return FA_OK;
}

enum fa_status sim_machine_parse(const char *name, const char *bytes, size_t n_bytes,
                                 struct sim_machine *machine, struct fa_error *error)
{
    struct sim_machine read = {0};
    json_error_t problem;
    enum fa_status status = FA_OK;
    json_t *object = json_loadb(bytes, n_bytes, JSON_REJECT_DUPLICATES, &problem);

    if (!object) {
        return fa_fail(error, FA_BAD_FILE, "%s:%d:%d: machine file: %s", name, problem.line,
                       problem.column, problem.text);
    }
    if (!json_is_object(object)) {
        status = fa_fail(error, FA_BAD_FILE,
                         "%s: machine file: expected one machine, an object such as `flashlab "
                         "machines a100 --format json` prints",
                         name);
        goto done;
    }
    for (int i = 0; i < KEYS && !status; i++) {
        if (keys[i].needed && !json_object_get(object, keys[i].name))
            status = fa_fail(error, FA_BAD_FILE, "%s: machine file: \"%s\" is missing", name,
                             keys[i].name);
    }
    if (!status)
        status = read_keys(name, "", object, keys, KEYS, &read, error);
    if (!status)
        *machine = read;
done:
    json_decref(object);
    return status;
}
