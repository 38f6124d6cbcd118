#include "cuda/ncu_csv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text is cut into fields where it lies: each ends with a zero in place of what followed. */
struct reader {
    struct ncu_csv *csv;
    char *at, *end;
    int line;               /* of `at` */
    char **field;           /* of the record in hand, NCU_COLUMNS of them at most */
    int n_fields, row_line; /* row_line: where the record begins */
    char **name, **unit;    /* of the header in force, and the wide form's units; NULL until then */
    int n_names;
    int id, process, kernel, metric_name, metric_unit, metric_value; /* columns; -1: none */
    bool units_wanted; /* the next row is the wide form's units */
    bool fresh;        /* no row came since the header */
    int launches_room, metrics_room;
    const char *complaint; /* the first line of "==ERROR=="; NULL: none */
    struct fa_error *error;
};

static enum fa_status bad(const struct reader *reader, int line, int column, const char *what)
{
    return fa_fail(reader->error, FA_BAD_FILE, "%s: line %d, column %d: %s", reader->csv->name,
                   line, column, what);
}

/* Whether a line that begins here has the field "Kernel Name", in quotes or not. */
static bool is_header(const char *at, const char *end)
{
    static const char words[] = "Kernel Name";
    const size_t n = sizeof words - 1;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    for (const char *word = at; (size_t)(stop - word) >= n; word++) {
        bool begins = word == at || word[-1] == ',' || word[-1] == '"';
        char after = word + n < stop ? word[n] : ',';
        if (begins && memcmp(word, words, n) == 0 &&
            (after == ',' || after == '"' || after == '\r'))
            return true;
    }
    return false;
}

/* A line that is no record. */
static void skip_line(struct reader *reader)
{
    static const char mark[] = "==ERROR==";
    size_t left = (size_t)(reader->end - reader->at);
    if (!reader->complaint && left >= sizeof mark && memcmp(reader->at, mark, sizeof mark - 1) == 0)
        reader->complaint = reader->at;
    char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->at = stop ? stop + 1 : reader->end;
    reader->line++;
}

/* A quoted field: `at` stands behind the first quote; doubled quotes become one. */
static enum fa_status read_quoted(struct reader *reader, int column, char **after)
{
    const int begin = reader->line;
    char *to = reader->at;
    for (char *from = reader->at; from < reader->end; from++) {
        if (*from == '"' && from + 1 < reader->end && from[1] == '"') {
            from++;
        } else if (*from == '"') {
            *after = from + 1;
            *to = '\0'; /* to <= from: the closing quote at the latest */
            return FA_OK;
        }
        reader->line += *from == '\n';
        *to++ = *from;
    }
    return bad(reader, begin, column, "a quote is never closed: expected \" before the end");
}

/* The next record into field[0 .. n_fields). There is at least one byte. */
static enum fa_status read_record(struct reader *reader)
{
    reader->n_fields = 0;
    reader->row_line = reader->line;
    for (bool more = true; more;) {
        int column = reader->n_fields + 1;
        char *after = NULL;
        if (reader->n_fields == NCU_COLUMNS)
            return fa_fail(reader->error, FA_TOO_LARGE, "%s: line %d: more than %d columns",
                           reader->csv->name, reader->row_line, NCU_COLUMNS);
        if (reader->at < reader->end && *reader->at == '"') {
            reader->field[reader->n_fields++] = ++reader->at;
            enum fa_status status = read_quoted(reader, column, &after);
            if (status != FA_OK)
                return status;
        } else {
            reader->field[reader->n_fields++] = after = reader->at;
            while (after < reader->end && *after != ',' && *after != '\n' && *after != '\r')
                after++;
        }
        if (after < reader->end && *after == '\r')
            *after++ = '\0';
        more = after < reader->end && *after == ',';
        if (!more && after < reader->end && *after != '\n')
            return bad(reader, reader->line, column,
                       "text after a closing quote or a carriage return: expected a comma or the "
                       "end of the line");
        reader->line += !more;
        reader->at = after < reader->end ? after + 1 : reader->end;
        *after = '\0'; /* the text has one byte more than it had */
    }
    return FA_OK;
}

static int column_of(const struct reader *reader, const char *name)
{
    for (int c = 0; c < reader->n_names; c++)
        if (strcmp(reader->name[c], name) == 0)
            return c;
    return -1;
}

static enum fa_status take_header(struct reader *reader)
{
    reader->n_names = reader->n_fields;
    memcpy(reader->name, reader->field, (size_t)reader->n_fields * sizeof *reader->field);
    reader->id = column_of(reader, "ID");
    reader->process = column_of(reader, "Process ID");
    reader->kernel = column_of(reader, "Kernel Name");
    reader->metric_name = column_of(reader, "Metric Name");
    reader->metric_unit = column_of(reader, "Metric Unit");
    reader->metric_value = column_of(reader, "Metric Value");
    if (reader->kernel < 0)
        return bad(reader, reader->row_line, 1, "expected a column \"Kernel Name\"");
    if (reader->metric_name >= 0 && (reader->metric_unit < 0 || reader->metric_value < 0))
        return bad(reader, reader->row_line, reader->metric_name + 1,
                   "a column \"Metric Name\": expected \"Metric Unit\" and \"Metric Value\" too");
    reader->units_wanted = reader->metric_name < 0;
    reader->fresh = true;
    return FA_OK;
}

static const char *field_at(const struct reader *reader, int column)
{
    return column < 0 ? "" : reader->field[column];
}

/* Makes room for one more of n elements; false without memory. */
static bool grow(void **array, int n, int *room, size_t size)
{
    if (n < *room)
        return true;
    int more = *room ? 2 * *room : 64;
    void *made = realloc(*array, (size_t)more * size);
    if (!made)
        return false;
    *array = made;
    *room = more;
    return true;
}

static enum fa_status add_launch(struct reader *reader)
{
    struct ncu_csv *csv = reader->csv;
    if (csv->n_launches == NCU_LAUNCHES)
        return fa_fail(reader->error, FA_TOO_LARGE, "%s: line %d: more than %d launches", csv->name,
                       reader->row_line, NCU_LAUNCHES);
    if (!grow((void **)&csv->launch, csv->n_launches, &reader->launches_room, sizeof *csv->launch))
        return fa_fail(reader->error, FA_NO_MEMORY, "%s: no memory for its launches", csv->name);
    csv->launch[csv->n_launches++] = (struct ncu_launch){
        .id = field_at(reader, reader->id),
        .process = field_at(reader, reader->process),
        .kernel = field_at(reader, reader->kernel),
        .first = csv->n_metrics,
    };
    return FA_OK;
}

static enum fa_status add_metric(struct reader *reader, const char *name, const char *unit,
                                 int column)
{
    struct ncu_csv *csv = reader->csv;
    if (csv->n_metrics == NCU_METRICS)
        return fa_fail(reader->error, FA_TOO_LARGE, "%s: line %d: more than %d metrics", csv->name,
                       reader->row_line, NCU_METRICS);
    if (!grow((void **)&csv->metric, csv->n_metrics, &reader->metrics_room, sizeof *csv->metric))
        return fa_fail(reader->error, FA_NO_MEMORY, "%s: no memory for its metrics", csv->name);
    csv->metric[csv->n_metrics++] =
        (struct ncu_metric){name, unit, reader->field[column], reader->row_line, column + 1};
    csv->launch[csv->n_launches - 1].n++;
    return FA_OK;
}

/* Whether the row in hand is of another launch than the one before it. */
static bool is_new_launch(const struct reader *reader)
{
    const struct ncu_csv *csv = reader->csv;
    if (reader->fresh || csv->n_launches == 0)
        return true;
    const struct ncu_launch *last = &csv->launch[csv->n_launches - 1];
    return strcmp(last->id, field_at(reader, reader->id)) != 0 ||
           strcmp(last->process, field_at(reader, reader->process)) != 0 ||
           strcmp(last->kernel, field_at(reader, reader->kernel)) != 0;
}

/* A row of the long form: one metric, or a rule, which has none. */
static enum fa_status take_long_row(struct reader *reader)
{
    enum fa_status status = FA_OK;
    if (field_at(reader, reader->metric_name)[0] == '\0')
        return FA_OK;
    if (is_new_launch(reader))
        status = add_launch(reader);
    reader->fresh = false;
    if (status == FA_OK)
        status = add_metric(reader, field_at(reader, reader->metric_name),
                            field_at(reader, reader->metric_unit), reader->metric_value);
    return status;
}

/* A row of the wide form: a launch. Metrics are the columns with two underscores in their names. */
static enum fa_status take_wide_row(struct reader *reader)
{
    if (reader->units_wanted) {
        if (field_at(reader, reader->id)[0] != '\0' || reader->field[reader->kernel][0] != '\0')
            return bad(reader, reader->row_line, reader->kernel + 1,
                       "expected the row of units, without a kernel, under the names");
        memcpy(reader->unit, reader->field, (size_t)reader->n_fields * sizeof *reader->field);
        reader->units_wanted = false;
        return FA_OK;
    }
    enum fa_status status = add_launch(reader);
    for (int c = 0; c < reader->n_fields && status == FA_OK; c++)
        if (strstr(reader->name[c], "__"))
            status = add_metric(reader, reader->name[c], reader->unit[c], c);
    return status;
}

static int greatest(int a, int b)
{
    return a > b ? a : b;
}

/* The long form's rows may end after the metric, where the header has columns for rules. */
static enum fa_status take_record(struct reader *reader)
{
    static char none[] = "";
    bool is_long = reader->metric_name >= 0;
    int least = reader->n_names;
    char what[96];
    if (is_long)
        least = 1 + greatest(greatest(reader->id, reader->process),
                             greatest(greatest(reader->kernel, reader->metric_name),
                                      greatest(reader->metric_unit, reader->metric_value)));
    if (reader->n_fields < least || reader->n_fields > reader->n_names) {
        snprintf(what, sizeof what, "a row of %d fields: expected %d, as the header has",
                 reader->n_fields, reader->n_names);
        return bad(reader, reader->row_line, reader->n_fields, what);
    }
    while (reader->n_fields < reader->n_names)
        reader->field[reader->n_fields++] = none;
    return is_long ? take_long_row(reader) : take_wide_row(reader);
}

/* There is no launch, and ncu said why. */
static enum fa_status refuse_complaint(const struct reader *reader)
{
    int length = (int)strcspn(reader->complaint, "\r\n");
    bool forbidden = strstr(reader->complaint, "ERR_NVGPUCTRPERM") != NULL;
    return fa_fail(reader->error, FA_BAD_FILE, "%s: ncu measured nothing: %.*s%s",
                   reader->csv->name, length < 300 ? length : 300, reader->complaint,
                   forbidden ? " (" NCU_PERMISSION ")" : "");
}

static enum fa_status read_all(struct reader *reader)
{
    enum fa_status status = FA_OK;
    const char *name = reader->csv->name;
    while (reader->at < reader->end && status == FA_OK) {
        if (reader->end - reader->at > 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0)
            reader->at += 3; /* the mark of UTF-8, which editors put first in a file */
        bool header = is_header(reader->at, reader->end);
        bool remark = reader->end - reader->at >= 2 && memcmp(reader->at, "==", 2) == 0;
        bool empty = *reader->at == '\n' || *reader->at == '\r';
        if (!header && (reader->n_names == 0 || remark || empty)) {
            skip_line(reader);
            continue;
        }
        status = read_record(reader);
        if (status == FA_OK)
            status = header ? take_header(reader) : take_record(reader);
    }
    if (status != FA_OK)
        return status;
    if (reader->csv->n_launches == 0 && reader->complaint)
        return refuse_complaint(reader);
    if (reader->n_names == 0)
        return fa_fail(reader->error, FA_BAD_FILE,
                       "%s: no line has a field \"Kernel Name\": expected what ncu --csv prints",
                       name);
    if (reader->csv->n_launches == 0)
        return fa_fail(reader->error, FA_BAD_FILE,
                       "%s: no kernel after the header, line %d: expected a row of one at least",
                       name, reader->row_line);
    return FA_OK;
}

enum fa_status ncu_csv_parse(const char *name, const char *text, size_t n_bytes,
                             struct ncu_csv *csv, struct fa_error *error)
{
    struct ncu_csv made = {.n_launches = 0};
    struct reader reader = {.csv = &made, .line = 1, .error = error};
    enum fa_status status = FA_OK;
    const char *zero = n_bytes > 0 ? memchr(text, '\0', n_bytes) : NULL;

    snprintf(made.name, sizeof made.name, "%.255s", name);
    if (n_bytes > NCU_BYTES)
        return fa_fail(error, FA_TOO_LARGE, "%s: %zu bytes: expected %d at most", made.name,
                       n_bytes, NCU_BYTES);
    if (zero)
        return fa_fail(error, FA_BAD_FILE, "%s: byte %td is a zero: expected text", made.name,
                       zero - text);
    made.text = malloc(n_bytes + 1);
    reader.field = malloc(3 * NCU_COLUMNS * sizeof *reader.field);
    if (!made.text || !reader.field) {
        status = fa_fail(error, FA_NO_MEMORY, "%s: no memory to read it", made.name);
        goto done;
    }
    if (n_bytes > 0)
        memcpy(made.text, text, n_bytes);
    made.text[n_bytes] = '\0';
    reader.name = reader.field + NCU_COLUMNS;
    reader.unit = reader.name + NCU_COLUMNS;
    reader.at = made.text;
    reader.end = made.text + n_bytes;
    status = read_all(&reader);
done:
    free(reader.field);
    if (status == FA_OK)
        *csv = made;
    else
        ncu_csv_free(&made);
    return status;
}

enum fa_status ncu_csv_read(const char *path, struct ncu_csv *csv, struct fa_error *error)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t n_bytes = 0, room = 0;
    enum fa_status status = FA_OK;
    if (!file)
        return fa_fail(error, FA_IO, "%s: cannot be read: %s", path, strerror(errno));
    do {
        size_t wanted = room ? 2 * room : 1 << 16;
        char *made = realloc(text, wanted);
        if (!made) {
            status = fa_fail(error, FA_NO_MEMORY, "%s: no memory to read it", path);
            break;
        }
        text = made;
        room = wanted;
        n_bytes += fread(text + n_bytes, 1, room - n_bytes, file);
    } while (n_bytes == room && n_bytes <= NCU_BYTES);
    if (status == FA_OK && ferror(file))
        status = fa_fail(error, FA_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    if (status == FA_OK)
        status = ncu_csv_parse(path, text, n_bytes, csv, error);
    free(text);
    return status;
}

void ncu_csv_free(struct ncu_csv *csv)
{
    free(csv->launch);
    free(csv->metric);
    free(csv->text);
    memset(csv, 0, sizeof *csv);
}

const struct ncu_metric *ncu_csv_find(const struct ncu_csv *csv, int launch, const char *metric)
{
    const struct ncu_launch *at = &csv->launch[launch];
    for (int m = at->first; m < at->first + at->n; m++)
        if (strcmp(csv->metric[m].name, metric) == 0)
            return &csv->metric[m];
    return NULL;
}
