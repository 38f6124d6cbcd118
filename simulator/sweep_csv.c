/* A sweep as CSV: JSON objects flattened, so that the columns are the keys of the results. */
#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/sweep.h"

enum { NAME_BYTES = 128, COLUMNS = 512 };

/* The columns, named by the first row, and the row at hand. */
struct table {
    char (*name)[NAME_BYTES];
    json_t **cell; /* borrowed; NULL: empty */
    int n, next;   /* columns; the one where the next key is expected */
};

static void take_leaf(struct table *table, const char *name, json_t *value, bool naming)
{
    if (naming) {
        assert(table->n < COLUMNS && strlen(name) + 1 < NAME_BYTES);
        memcpy(table->name[table->n++], name, strlen(name) + 1);
        return;
    }
    /* The points of a sweep are described alike, key by key. */
    assert(table->next < table->n && strcmp(table->name[table->next], name) == 0);
    table->cell[table->next++] = value;
}

/* Visits the leaves of `value`, naming the columns or filling the cells. */
static void flatten(struct table *table, const char *prefix, json_t *value, bool naming)
{
    char name[NAME_BYTES];
    const char *dot = *prefix ? "." : "", *key;
    json_t *member;
    size_t index;

    if (json_is_object(value)) {
        json_object_foreach(value, key, member)
        {
            snprintf(name, sizeof name, "%s%s%s", prefix, dot, key);
            flatten(table, name, member, naming);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, member)
        {
            snprintf(name, sizeof name, "%s%s%zu", prefix, dot, index);
            flatten(table, name, member, naming);
        }
    } else {
        take_leaf(table, prefix, value, naming);
    }
}

/* What is true of a point that was refused: what it asked for, and who asked. */
static bool was_asked(const char *name)
{
    static const char *const asked[] = {"schema", "problem", "algorithm", "pass",
                                        "tiles",  "machine", "provenance"};
    size_t length = strcspn(name, ".");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (strlen(asked[i]) == length && strncmp(name, asked[i], length) == 0)
            return true;
    }
    return false;
}

static void write_text(FILE *file, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', file);
        putc(*text, file);
    }
    putc('"', file);
}

static void write_cell(FILE *file, const json_t *value)
{
    if (json_is_string(value))
        write_text(file, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(file, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(file, "%.17g", json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", file);
}

static void write_row(FILE *file, const struct table *table, const struct sim_sweep_point *point)
{
    bool refused = point->status != FA_OK;
    for (int c = 0; c < table->n; c++) {
        const char *name = table->name[c];
        bool unknown_tile = point->result.tiles.br == 0 &&
                            (strcmp(name, "tiles.br") == 0 || strcmp(name, "tiles.bc") == 0);
        if (!refused || (was_asked(name) && !unknown_tile))
            write_cell(file, table->cell[c]);
        putc(',', file);
    }
    if (refused) {
        fputs(fa_status_name(point->status), file);
        putc(',', file);
        write_text(file, point->message);
    } else {
        putc(',', file);
    }
    putc('\n', file);
}

static void write_header(FILE *file, const struct table *table)
{
    for (int c = 0; c < table->n; c++) {
        write_text(file, table->name[c]);
        putc(',', file);
    }
    fputs("error.code,error.message\n", file);
}

enum fa_status sim_sweep_write_csv(const struct sim_sweep *sweep,
                                   const struct sim_provenance *provenance, FILE *file,
                                   struct fa_error *error)
{
    struct sim_report *report = calloc(1, sizeof *report);
    char blocks[FA_BLOCK_PATTERN_TEXT];
    struct table table = {.n = 0};
    enum fa_status status = FA_OK;

    table.name = calloc(COLUMNS, sizeof *table.name);
    table.cell = calloc(COLUMNS, sizeof *table.cell);
    if (!report || !table.name || !table.cell)
        status = fa_fail(error, FA_NO_MEMORY, "no memory for the columns of a sweep");
    for (int i = 0; i < sweep->n_points && !status; i++) {
        report->result = sweep->points[i].result;
        report->provenance = *provenance;
        report->blocks = sweep->pattern ? fa_block_pattern_text(sweep->pattern, blocks) : NULL;
        json_t *object = sim_report_json(report);
        if (object) {
            if (i == 0) {
                flatten(&table, "", object, true);
                write_header(file, &table);
            }
            table.next = 0;
            flatten(&table, "", object, false);
            write_row(file, &table, &sweep->points[i]);
        } else {
            status = fa_fail(error, FA_NO_MEMORY, "no memory to describe the points of a sweep");
        }
        json_decref(object);
    }
    free(report);
    free(table.name);
    free(table.cell);
    return status;
}
