/*
 * YAML by tables: which keys a mapping may have, of what kind, and where in a struct their values
 * go. libyaml reads, and every refusal has the line in the lesson's file.
 */
#ifndef LESSON_YAML_H
#define LESSON_YAML_H

#include <yaml.h>

#include "lessons/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lesson_yaml {
    struct lesson_reader *reader;
    yaml_document_t document;
    yaml_node_t *root; /* NULL: empty */
    int first_line;    /* of its first line in the file */
};

/* FA_BAD_FILE, FA_NO_MEMORY; nothing is to be closed then. */
enum fa_status lesson_yaml_open(struct lesson_yaml *yaml, struct lesson_reader *reader,
                                const char *bytes, size_t n, int first_line);
void lesson_yaml_close(struct lesson_yaml *yaml);
int lesson_yaml_line(const struct lesson_yaml *yaml, const yaml_node_t *node);

enum lesson_key_kind {
    LESSON_KEY_TEXT,       /* const char *: what a learner reads; blanks are one space each */
    LESSON_KEY_NAME,       /* const char *: as it stands */
    LESSON_KEY_OPTIONS,    /* const char *: words of options */
    LESSON_KEY_EXPRESSION, /* const char * */
    LESSON_KEY_WORD,       /* const char *: one of `words` */
    LESSON_KEY_PLACE,      /* const char *: as view --at */
    LESSON_KEY_INTEGER,    /* int, low to high */
    LESSON_KEY_NUMBER,     /* double, low to high */
    LESSON_KEY_FLAG,       /* bool */
    LESSON_KEY_OTHER       /* `set` reads the node */
};

struct lesson_key {
    const char *name;
    enum lesson_key_kind kind;
    size_t offset;
    bool required;
    const char *const *words; /* of LESSON_KEY_WORD, NULL at their end */
    double low, high;
    enum fa_status (*set)(struct lesson_yaml *yaml, const yaml_node_t *node, void *object);
};

/* A mapping into the object. `what` names it in messages: "a question". Keys that are not in the
 * table (with the nearest that is), that stand there twice, and required ones that do not are
 * refused. */
enum fa_status lesson_yaml_read(struct lesson_yaml *yaml, const yaml_node_t *mapping,
                                const char *what, const struct lesson_key *keys, int n_keys,
                                void *object);

/* One value of a kind but LESSON_KEY_OTHER. */
enum fa_status lesson_yaml_value(struct lesson_yaml *yaml, const yaml_node_t *node,
                                 const struct lesson_key *key, void *object);

/* The stages that a run may be looked at on, NULL at their end. steps.c. */
extern const char *const lesson_stages[];

/* A list, or one value in its place, each into item `index` of at most `most`. */
enum fa_status
lesson_yaml_list(struct lesson_yaml *yaml, const yaml_node_t *node, const char *name, int most,
                 enum fa_status (*each)(struct lesson_yaml *yaml, const yaml_node_t *node,
                                        int index, void *object),
                 void *object, int *n);

/* The text of a scalar; NULL: it is none. */
const char *lesson_yaml_scalar(const yaml_node_t *node);

#ifdef __cplusplus
}
#endif
#endif
