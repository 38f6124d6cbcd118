#include "lessons/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"

int lesson_yaml_line(const struct lesson_yaml *yaml, const yaml_node_t *node)
{
    return yaml->first_line + (node ? (int)node->start_mark.line : 0);
}

const char *lesson_yaml_scalar(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

void lesson_yaml_close(struct lesson_yaml *yaml)
{
    yaml_document_delete(&yaml->document);
}

static enum fa_status refuse_syntax(const struct lesson_yaml *yaml, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return lesson_no_memory(yaml->reader);
    return lesson_refuse(yaml->reader, yaml->first_line + (int)parser->problem_mark.line,
                         "not YAML: %s: expected lines as 'key: value' (a value with ': ', ' #' or "
                         "{ at its start goes in quotes)",
                         parser->problem ? parser->problem : "unreadable");
}

enum fa_status lesson_yaml_open(struct lesson_yaml *yaml, struct lesson_reader *reader,
                                const char *bytes, size_t n, int first_line)
{
    yaml_parser_t parser;
    yaml_document_t next;
    enum fa_status status = FA_OK;
    *yaml = (struct lesson_yaml){.reader = reader, .first_line = first_line};
    if (!yaml_parser_initialize(&parser))
        return lesson_no_memory(reader);
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, n);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    if (!yaml_parser_load(&parser, &yaml->document)) {
        status = refuse_syntax(yaml, &parser);
        goto done;
    }
    yaml->root = yaml_document_get_root_node(&yaml->document);
    if (!yaml->root)
        goto done;
    if (!yaml_parser_load(&parser, &next)) {
        status = refuse_syntax(yaml, &parser);
    } else {
        yaml_node_t *more = yaml_document_get_root_node(&next);
        if (more)
            status = lesson_refuse(reader, lesson_yaml_line(yaml, more),
                                   "a second document: expected the block's end");
        yaml_document_delete(&next);
    }
    if (status != FA_OK)
        lesson_yaml_close(yaml);
done:
    yaml_parser_delete(&parser);
    return status;
}

/* ---- values ---- */

/* Blanks in a row, line feeds too, become one space; none stand at the ends. */
static void fold_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool blank = strchr(" \t\n\r", *from) != NULL;
        if (!blank)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

static enum fa_status check_word(struct lesson_yaml *yaml, int line, const struct lesson_key *key,
                                 const char *text)
{
    char list[512];
    size_t length = 0;
    int n = 0;
    for (; key->words[n]; n++) {
        if (strcmp(text, key->words[n]) == 0)
            return FA_OK;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", n ? ", " : "",
                                   key->words[n]);
    }
    const char *near = lesson_nearest(text, key->words, n);
    char excerpt[LESSON_EXCERPT];
    return lesson_refuse(yaml->reader, line, "%s is %s: expected one of %s%s%s%s", key->name,
                         lesson_excerpt(text, strlen(text), excerpt), list,
                         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* "46", "46.5", "1,2", "start" and "end". */
static bool is_place(const char *text)
{
    size_t n = strspn(text, "0123456789");
    if (strcmp(text, "start") == 0 || strcmp(text, "end") == 0)
        return true;
    if (n == 0 || n > 18)
        return false;
    if (text[n] == '\0')
        return true;
    size_t rest = strspn(text + n + 1, "0123456789");
    return (text[n] == '.' || text[n] == ',') && rest > 0 && rest <= 18 &&
           text[n + 1 + rest] == '\0';
}

static enum fa_status check_text(struct lesson_yaml *yaml, int line, const struct lesson_key *key,
                                 char *text)
{
    char excerpt[LESSON_EXCERPT];
    struct fa_error inner;
    switch (key->kind) {
    case LESSON_KEY_TEXT:
        return lesson_text_check(yaml->reader, text, line);
    case LESSON_KEY_OPTIONS:
        return lesson_options_check(yaml->reader, text, line);
    case LESSON_KEY_EXPRESSION:
        if (lesson_expression_check(text, &inner) == FA_OK)
            return lesson_with_check(yaml->reader, text, line);
        return lesson_refuse(yaml->reader, line, "%s: %s", key->name, inner.text);
    case LESSON_KEY_WORD:
        return check_word(yaml, line, key, text);
    case LESSON_KEY_PLACE:
        if (is_place(text))
            return FA_OK;
        return lesson_refuse(yaml->reader, line,
                             "%s is %s: expected an event (46 or 46.5), a tile (\"1,2\"), start or "
                             "end",
                             key->name, lesson_excerpt(text, strlen(text), excerpt));
    default:
        return FA_OK;
    }
}

static enum fa_status set_text(struct lesson_yaml *yaml, const yaml_node_t *node,
                               const struct lesson_key *key, const char *value, void *field)
{
    char *text = lesson_keep(yaml->reader->lesson->memory, value, node->data.scalar.length);
    if (!text)
        return lesson_no_memory(yaml->reader);
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && !strchr("\n\t\r", *c)) || *c == 127)
            return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                                 "%s has a control character: expected text", key->name);
    fold_blanks(text);
    if (strlen(value) != node->data.scalar.length || *text == '\0')
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "%s is empty: expected text", key->name);
    enum fa_status status = check_text(yaml, lesson_yaml_line(yaml, node), key, text);
    if (status == FA_OK)
        *(const char **)field = text;
    return status;
}

static enum fa_status set_number(struct lesson_yaml *yaml, const yaml_node_t *node,
                                 const struct lesson_key *key, const char *value, void *field)
{
    char low[LESSON_NUMBER_TEXT], high[LESSON_NUMBER_TEXT], excerpt[LESSON_EXCERPT];
    double number;
    bool whole = key->kind == LESSON_KEY_INTEGER;
    if (!lesson_number_read(value, NULL, &number) || number < key->low || number > key->high ||
        (whole && number != floor(number)))
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "%s is %s: expected a %snumber from %s to %s", key->name,
                             lesson_excerpt(value, strlen(value), excerpt), whole ? "whole " : "",
                             lesson_number_text(key->low, low),
                             lesson_number_text(key->high, high));
    if (whole)
        *(int *)field = (int)number;
    else
        *(double *)field = number;
    return FA_OK;
}

enum fa_status lesson_yaml_value(struct lesson_yaml *yaml, const yaml_node_t *node,
                                 const struct lesson_key *key, void *object)
{
    void *field = (char *)object + key->offset;
    const char *value = lesson_yaml_scalar(node);
    char excerpt[LESSON_EXCERPT];
    if (!value)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "%s is a list or a mapping: expected one value", key->name);
    if (key->kind == LESSON_KEY_INTEGER || key->kind == LESSON_KEY_NUMBER)
        return set_number(yaml, node, key, value, field);
    if (key->kind != LESSON_KEY_FLAG)
        return set_text(yaml, node, key, value, field);
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "%s is %s: expected true or false", key->name,
                             lesson_excerpt(value, strlen(value), excerpt));
    *(bool *)field = value[0] == 't';
    return FA_OK;
}

/* ---- mappings and lists ---- */

enum { KEYS = 32 };

static enum fa_status refuse_key(struct lesson_yaml *yaml, const yaml_node_t *node,
                                 const char *what, const struct lesson_key *keys, int n_keys)
{
    const char *names[KEYS] = {NULL};
    const char *name = lesson_yaml_scalar(node);
    char list[512], excerpt[LESSON_EXCERPT];
    size_t length = 0;
    for (int k = 0; k < n_keys; k++) {
        names[k] = keys[k].name;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", k ? ", " : "",
                                   keys[k].name);
    }
    const char *near = name ? lesson_nearest(name, names, n_keys) : NULL;
    if (near)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                             "%s has no key %s: did you mean %s?", what,
                             lesson_excerpt(name, strlen(name), excerpt), near);
    return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, node),
                         "%s has no key %s: expected %s", what,
                         lesson_excerpt(name ? name : "[", name ? strlen(name) : 1, excerpt), list);
}

static int find_key(const char *name, const struct lesson_key *keys, int n_keys)
{
    for (int k = 0; name && k < n_keys; k++)
        if (strcmp(name, keys[k].name) == 0)
            return k;
    return -1;
}

enum fa_status lesson_yaml_read(struct lesson_yaml *yaml, const yaml_node_t *mapping,
                                const char *what, const struct lesson_key *keys, int n_keys,
                                void *object)
{
    bool seen[KEYS] = {false};
    enum fa_status status = FA_OK;
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, mapping),
                             "%s: expected lines as 'key: value'", what);
    const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
    for (; pair < mapping->data.mapping.pairs.top && status == FA_OK; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&yaml->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&yaml->document, pair->value);
        int k = find_key(lesson_yaml_scalar(name), keys, n_keys);
        if (k < 0)
            return refuse_key(yaml, name, what, keys, n_keys);
        if (seen[k])
            return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, name),
                                 "%s has %s twice: expected it once", what, keys[k].name);
        seen[k] = true;
        if (keys[k].kind == LESSON_KEY_OTHER)
            status = keys[k].set(yaml, value, object);
        else
            status = lesson_yaml_value(yaml, value, &keys[k], object);
    }
    for (int k = 0; k < n_keys && status == FA_OK; k++)
        if (keys[k].required && !seen[k])
            status = lesson_refuse(yaml->reader, lesson_yaml_line(yaml, mapping),
                                   "%s has no %s: expected one", what, keys[k].name);
    return status;
}

enum fa_status
lesson_yaml_list(struct lesson_yaml *yaml, const yaml_node_t *node, const char *name, int most,
                 enum fa_status (*each)(struct lesson_yaml *yaml, const yaml_node_t *node,
                                        int index, void *object),
                 void *object, int *n)
{
    enum fa_status status = FA_OK;
    if (node->type != YAML_SEQUENCE_NODE) {
        status = each(yaml, node, 0, object);
        *n = 1;
        return status;
    }
    const yaml_node_item_t *items = node->data.sequence.items.start;
    int length = (int)(node->data.sequence.items.top - items);
    for (int i = 0; i < length && status == FA_OK; i++) {
        const yaml_node_t *item = yaml_document_get_node(&yaml->document, items[i]);
        if (i == most)
            return lesson_refuse(yaml->reader, lesson_yaml_line(yaml, item),
                                 "%s has %d: expected at most %d", name, length, most);
        status = each(yaml, item, i, object);
    }
    *n = length;
    return status;
}
