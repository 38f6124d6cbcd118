/* One table of keys both writes and reads the header, so that the two can't drift. */
#include "simulator/trace_header.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "simulator/closed_form_parts.h"
#include "simulator/trace_fields.h"
#include "simulator/trace_header_values.h"
#include "simulator/trace_ops.h"

enum kind {
    TEXT,
    INTEGER,
    UNSIGNED,
    REAL,
    BOOLEAN,
    ALGORITHM,
    PASS,
    CAUSAL,
    WINDOW,
    DTYPE,
    DROPOUT,
    BLOCKS
};

struct key {
    const char *group; /* the object that holds it; "": the header itself */
    const char *name;
    enum kind kind;
    size_t offset, size;
};

#define MEMBER(member) \
    offsetof(struct sim_trace_header, member), sizeof(((struct sim_trace_header *)NULL)->member)

static const struct key keys[] = {
    {"", "version", TEXT, MEMBER(version)},
    {"", "command", TEXT, MEMBER(command)},
    {"", "algorithm", ALGORITHM, MEMBER(algorithm)},
    {"", "pass", PASS, MEMBER(algorithm)}, /* after the algorithm, which has one */
    {"problem", "batch", INTEGER, MEMBER(problem.batch)},
    {"problem", "heads", INTEGER, MEMBER(problem.heads)},
    {"problem", "kv_heads", INTEGER, MEMBER(problem.kv_heads)},
    {"problem", "nq", INTEGER, MEMBER(problem.nq)},
    {"problem", "nk", INTEGER, MEMBER(problem.nk)},
    {"problem", "d", INTEGER, MEMBER(problem.d)},
    {"problem", "dv", INTEGER, MEMBER(problem.dv)},
    {"problem", "scale", REAL, MEMBER(problem.scale)},
    {"problem", "causal", CAUSAL, MEMBER(problem.causal)},
    {"problem", "window", WINDOW, MEMBER(problem)},
    {"problem", "dtype", DTYPE, MEMBER(problem.dtype)},
    {"problem", "mask", BOOLEAN, MEMBER(has_mask)},
    {"problem", "bias", BOOLEAN, MEMBER(has_bias)},
    {"problem", "dropout", DROPOUT, MEMBER(problem)},
    {"problem", "blocks", BLOCKS, MEMBER(problem)}, /* after nq and nk */
    {"tiles", "br", INTEGER, MEMBER(tiles.br)},
    {"tiles", "bc", INTEGER, MEMBER(tiles.bc)},
    {"tiles", "row_block", INTEGER, MEMBER(tiles.row_block)},
    {"tiles", "column_chunk", INTEGER, MEMBER(tiles.column_chunk)},
    {"machine", "name", TEXT, MEMBER(machine)},
    {"machine", "sram_bytes", UNSIGNED, MEMBER(sram_bytes)},
    {"", "seed", UNSIGNED, MEMBER(seed)},
    {"", "profile", TEXT, MEMBER(profile)},
};

/* What the numbers of an event's line stand for. */
static const struct names {
    const char *key;
    int n;
} names[] = {
    {"fields", SIM_FIELDS},
    {"kinds", SIM_EVENT_KINDS},
    {"tensors", FA_TENSORS},
    {"ops", FA_OP_COUNT},
};

enum { KEYS = sizeof keys / sizeof *keys, NAMES = sizeof names / sizeof *names };

static const char schema[] = "flashlab.trace/1";

static const char *name_of(int list, int n)
{
    switch (list) {
    case 0:
        return sim_field_name((enum sim_field)n);
    case 1:
        return sim_event_kind_name((enum sim_event_kind)n);
    case 2:
        return fa_tensor_name((enum fa_tensor_id)n);
    default:
        return fa_op_name((enum fa_op)n);
    }
}

const char *sim_excerpt(const char *text, size_t n, char excerpt[SIM_EXCERPT])
{
    size_t most = SIM_EXCERPT - sizeof "\"...\"", used = 0;
    excerpt[used++] = '"';
    for (size_t i = 0; i < n && i < most; i++)
        excerpt[used++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    snprintf(excerpt + used, SIM_EXCERPT - used, n > most ? "...\"" : "\"");
    return excerpt;
}

/* A command line may hold any bytes, a JSON string only UTF-8. */
static json_t *write_text(const char *text)
{
    char plain[sizeof(((struct sim_trace_header *)NULL)->command)];
    json_t *string = json_string(text);
    if (string)
        return string;
    snprintf(plain, sizeof plain, "%s", text);
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return json_string(plain);
}

static json_t *write_value(const struct sim_trace_header *header, const struct key *key)
{
    const void *member = (const char *)header + key->offset;
    const struct fa_problem *p = &header->problem;
    switch (key->kind) {
    case TEXT:
        return write_text(member);
    case INTEGER:
        return json_integer(*(const int64_t *)member);
    case UNSIGNED:
        return sim_unsigned_write(*(const uint64_t *)member);
    case REAL:
        return json_real(*(const double *)member);
    case BOOLEAN:
        return json_boolean(*(const bool *)member);
    case ALGORITHM:
        return json_string((header->forward ? header->forward : header->algorithm)->name);
    case PASS:
        return json_string(sim_is_backward(header->algorithm) ? "backward" : "forward");
    case CAUSAL:
        return json_string(fa_causal_name(p->causal));
    case DTYPE:
        return json_string(fa_dtype_name(p->dtype));
    case DROPOUT:
        return sim_dropout_write(header);
    case BLOCKS:
        return sim_blocks_write(p);
    case WINDOW:
        return sim_window_write(p);
    }
    return NULL;
}

/* The object that holds the key, made where it is missing. NULL: no memory. */
static json_t *make_group(json_t *root, const struct key *key)
{
    json_t *group = key->group[0] ? json_object_get(root, key->group) : root;
    if (group)
        return group;
    if (json_object_set_new(root, key->group, json_object()) != 0)
        return NULL;
    return json_object_get(root, key->group);
}

static bool write_names(json_t *root, int list)
{
    json_t *array = json_array();
    bool done = array != NULL;
    for (int n = 0; n < names[list].n && done; n++)
        done = json_array_append_new(array, json_string(name_of(list, n))) == 0;
    return json_object_set_new(root, names[list].key, array) == 0 && done;
}

char *sim_trace_header_write(const struct sim_trace_header *header, uint64_t n_events)
{
    char *line = NULL;
    json_t *root = json_pack("{s:s}", "schema", schema);
    bool done = root != NULL;
    for (int n = 0; n < KEYS && done; n++) {
        json_t *group = make_group(root, &keys[n]);
        done = group &&
               json_object_set_new(group, keys[n].name, write_value(header, &keys[n])) == 0;
    }
    done = done && json_object_set_new(root, "events", json_integer((json_int_t)n_events)) == 0;
    for (int list = 0; list < NAMES && done; list++)
        done = write_names(root, list);
    if (done)
        line = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    json_decref(root);
    return line;
}

/* Reading: the first fault is kept, and keys are taken out as they are read, so that what is left
 * at the end is unknown. */
struct reader {
    const char *name;
    json_t *root;
    struct fa_error *error;
    enum fa_status status;
};

static bool refuse(struct reader *reader, const struct key *key, const char *expected)
{
    reader->status = fa_fail(reader->error, FA_BAD_FILE,
                             "%s: line 1: the header's \"%s%s%s\": expected %s", reader->name,
                             key->group, key->group[0] ? "." : "", key->name, expected);
    return false;
}

static bool read_text(struct reader *reader, const struct key *key, const json_t *value,
                      char *member)
{
    char expected[48];
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) >= key->size) {
        snprintf(expected, sizeof expected, "a text of at most %zu bytes", key->size - 1);
        return refuse(reader, key, expected);
    }
    memset(member, 0, key->size);
    memcpy(member, text, json_string_length(value));
    return true;
}

static bool read_unsigned(struct reader *reader, const struct key *key, const json_t *value,
                          uint64_t *member)
{
    return sim_unsigned_read(value, member) || refuse(reader, key, "an integer of 0 or more");
}

static bool read_pass(struct reader *reader, const struct key *key, const json_t *value,
                      struct sim_trace_header *header)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    const struct fa_algorithm *backward = header->algorithm->backward;
    header->forward = NULL;
    if (strcmp(text, "forward") == 0)
        return true;
    if (strcmp(text, "backward") != 0 || !backward)
        return refuse(reader, key,
                      backward ? "forward or backward" : "forward: the algorithm has no other");
    header->forward = header->algorithm;
    header->algorithm = backward;
    return true;
}

static bool read_blocks(struct reader *reader, const struct key *key, const json_t *value,
                        struct sim_trace_header *header)
{
    char expected[SIM_EXPECTED];
    enum fa_status status = sim_blocks_read(value, &header->problem, expected);
    if (status == FA_BAD_FILE)
        return refuse(reader, key, expected);
    if (status != FA_OK)
        reader->status = fa_fail(reader->error, status, "%s: line 1: no memory for the block mask",
                                 reader->name);
    return status == FA_OK;
}

static bool read_word(struct reader *reader, const struct key *key, const json_t *value,
                      struct sim_trace_header *header)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char expected[SIM_EXCERPT + 80], excerpt[SIM_EXCERPT];
    if (key->kind == ALGORITHM) {
        header->algorithm = fa_algorithm_find(text);
        snprintf(expected, sizeof expected, "an algorithm of this version, not %s",
                 sim_excerpt(text, strlen(text), excerpt));
        return header->algorithm || refuse(reader, key, expected);
    }
    if (key->kind == DTYPE)
        return fa_dtype_parse(text, &header->problem.dtype) ||
               refuse(reader, key, "f64, f32, f16 or bf16");
    for (int causal = FA_CAUSAL_NONE; causal <= FA_CAUSAL_TOP_LEFT; causal++) {
        header->problem.causal = (enum fa_causal)causal;
        if (strcmp(text, fa_causal_name(header->problem.causal)) == 0)
            return true;
    }
    return refuse(reader, key, "none, bottom-right or top-left");
}

static bool read_value(struct reader *reader, const struct key *key, const json_t *value,
                       struct sim_trace_header *header)
{
    void *member = (char *)header + key->offset;
    switch (key->kind) {
    case TEXT:
        return read_text(reader, key, value, member);
    case INTEGER:
        *(int64_t *)member = json_integer_value(value);
        return json_is_integer(value) || refuse(reader, key, "an integer");
    case UNSIGNED:
        return read_unsigned(reader, key, value, member);
    case REAL:
        *(double *)member = json_number_value(value);
        return json_is_number(value) || refuse(reader, key, "a number");
    case BOOLEAN:
        *(bool *)member = json_is_true(value);
        return json_is_boolean(value) || refuse(reader, key, "true or false");
    case WINDOW:
        return sim_window_read(value, &header->problem) ||
               refuse(reader, key, "null or two integers");
    case PASS:
        return read_pass(reader, key, value, header);
    case DROPOUT:
        return sim_dropout_read(value, header) ||
               refuse(reader, key, "null, or p above 0 and up to 1, seed and mask");
    case BLOCKS:
        return read_blocks(reader, key, value, header);
    case ALGORITHM:
    case CAUSAL:
    case DTYPE:
        break;
    }
    return read_word(reader, key, value, header);
}

/* A list of names may be shorter than ours (of an older version), but says the same. */
static bool read_names(struct reader *reader, int list)
{
    const struct key key = {"", names[list].key, TEXT, 0, 0};
    const json_t *array = json_object_get(reader->root, key.name);
    char expected[80];
    if (!json_is_array(array) || json_array_size(array) > (size_t)names[list].n ||
        (list == 0 && json_array_size(array) != (size_t)names[list].n)) {
        snprintf(expected, sizeof expected, "a list of %d names", names[list].n);
        return refuse(reader, &key, expected);
    }
    for (size_t n = 0; n < json_array_size(array); n++) {
        const char *text = json_string_value(json_array_get(array, n));
        if (!text || strcmp(text, name_of(list, (int)n)) != 0) {
            snprintf(expected, sizeof expected, "\"%s\" as number %zu", name_of(list, (int)n), n);
            return refuse(reader, &key, expected);
        }
    }
    json_object_del(reader->root, key.name);
    return true;
}

static bool read_keys(struct reader *reader, struct sim_trace_header *header, uint64_t *n_events)
{
    static const struct key schema_key = {"", "schema", TEXT, 0, 0};
    static const struct key events_key = {"", "events", UNSIGNED, 0, 0};
    const char *found = json_string_value(json_object_get(reader->root, "schema"));
    if (!found || strcmp(found, schema) != 0)
        return refuse(reader, &schema_key, "flashlab.trace/1");
    json_object_del(reader->root, "schema");
    for (int n = 0; n < KEYS; n++) {
        json_t *group = reader->root;
        if (keys[n].group[0])
            group = json_object_get(reader->root, keys[n].group);
        json_t *value = json_object_get(group, keys[n].name);
        if (!value)
            return refuse(reader, &keys[n], "it to be there");
        if (!read_value(reader, &keys[n], value, header))
            return false;
        json_object_del(group, keys[n].name);
        if (group != reader->root && json_object_size(group) == 0)
            json_object_del(reader->root, keys[n].group);
    }
    if (!read_unsigned(reader, &events_key, json_object_get(reader->root, "events"), n_events))
        return false;
    json_object_del(reader->root, "events");
    for (int list = 0; list < NAMES; list++)
        if (!read_names(reader, list))
            return false;
    return true;
}

static bool check(struct reader *reader, const struct sim_trace_header *header)
{
    const struct fa_tiles *tiles = &header->tiles;
    struct fa_error why;
    const char *left = json_object_iter_key(json_object_iter(reader->root));
    char excerpt[SIM_EXCERPT];
    if (left) {
        reader->status = fa_fail(reader->error, FA_BAD_FILE,
                                 "%s: line 1: the header has %s, or keys in it, that this version "
                                 "does not know",
                                 reader->name, sim_excerpt(left, strlen(left), excerpt));
        return false;
    }
    if (fa_problem_check(&header->problem, &why) != FA_OK) {
        reader->status = fa_fail(reader->error, FA_BAD_FILE, "%s: line 1: the header's problem: %s",
                                 reader->name, why.text);
        return false;
    }
    if (tiles->br < 1 || tiles->bc < 1 || tiles->row_block < 0 || tiles->column_chunk < 0 ||
        (sim_goes_by_rows(header->algorithm) &&
         (tiles->row_block < 1 || tiles->column_chunk < 1))) {
        reader->status = fa_fail(
            reader->error, FA_BAD_FILE,
            "%s: line 1: the header's tiles are %" PRId64 " x %" PRId64 " (row-wise %" PRId64
            " x %" PRId64 "): expected 1 or more each",
            reader->name, tiles->br, tiles->bc, tiles->row_block, tiles->column_chunk);
        return false;
    }
    return true;
}

enum fa_status sim_trace_header_read(const char *name, const char *text, size_t n,
                                     struct sim_trace_header *header, uint64_t *n_events,
                                     struct fa_error *error)
{
    struct sim_trace_header made;
    uint64_t events = 0;
    json_error_t fault;
    char excerpt[SIM_EXCERPT];
    struct reader reader = {name, json_loadb(text, n, JSON_REJECT_DUPLICATES, &fault), error,
                            FA_OK};
    memset(&made, 0, sizeof made);
    if (!json_is_object(reader.root)) {
        json_decref(reader.root);
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line 1: %s stands there: expected a JSON object, a trace's header "
                       "(column %d)",
                       name, sim_excerpt(text, n, excerpt), reader.root ? 1 : fault.column);
    }
    if (read_keys(&reader, &made, &events) && check(&reader, &made)) {
        *header = made;
        *n_events = events;
    } else {
        sim_trace_header_free(&made);
    }
    json_decref(reader.root);
    return reader.status;
}

void sim_trace_header_free(struct sim_trace_header *header)
{
    sim_blocks_free(&header->problem);
}
