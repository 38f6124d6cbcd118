#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulator/trace_fields.h"
#include "simulator/trace_header.h"
#include "simulator/trace_rules.h"

enum {
    BLOCK = 1 << 20,       /* bytes read or written together */
    LINE_MOST = 1 << 16,   /* bytes of a line but the header, which SIM_HEADER_MOST bounds */
    EVENT_LINE_MOST = 256, /* bytes of an event's line as it is written */
};

/* ---- Loading ---- */

struct parser {
    const char *name;
    uint64_t line; /* the one that is being read, from 1 */
    struct sim_trace *trace;
    struct sim_trace_header header;
    struct sim_ranges ranges;
    uint64_t n_events; /* that the header says */
    struct sim_state state;
    bool ended;        /* by a refusal */
};

/* A position in a line; `end` is where its line feed stands. */
struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
        scan->at++;
}

static enum fa_status refuse_at(const struct parser *parser, const struct scan *scan,
                                const char *expected, struct fa_error *error)
{
    char excerpt[SIM_EXCERPT];
    if (scan->at == scan->end)
        return fa_fail(error, FA_BAD_FILE, "%s: line %" PRIu64 ": it ends early: expected %s",
                       parser->name, parser->line, expected);
    return fa_fail(error, FA_BAD_FILE, "%s: line %" PRIu64 ": %s stands there: expected %s",
                   parser->name, parser->line,
                   sim_excerpt(scan->at, (size_t)(scan->end - scan->at), excerpt), expected);
}

/* An integer as JSON writes it: no plus, no leading zero, no fraction, no exponent. Its end is for
 * the caller to look at. False: none stands there, or one of more than 18 digits. */
static bool scan_integer(struct scan *scan, int64_t *value)
{
    const char *at = scan->at;
    bool negative = at < scan->end && *at == '-';
    int64_t sum = 0;
    const char *first = at += negative;
    for (; at < scan->end && *at >= '0' && *at <= '9' && at - first < 18; at++)
        sum = 10 * sum + (*at - '0');
    if (at == first || (*first == '0' && (at - first > 1 || negative)))
        return false;
    if (at < scan->end && *at != ',' && *at != ']' && *at != ' ' && *at != '\t')
        return false;
    scan->at = at;
    *value = negative ? -sum : sum;
    return true;
}

static bool scan_mark(struct scan *scan, char mark)
{
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != mark)
        return false;
    scan->at++;
    skip_blanks(scan);
    return true;
}

static enum fa_status parse_values(const struct parser *parser, struct scan *scan,
                                   int64_t values[SIM_FIELDS], struct fa_error *error)
{
    char expected[64];
    if (!scan_mark(scan, '['))
        return refuse_at(parser, scan, "an event: [, then integers", error);
    for (int field = 0; field < SIM_FIELDS; field++) {
        const char *name = sim_field_name((enum sim_field)field);
        if (field > 0 && !scan_mark(scan, ',')) {
            snprintf(expected, sizeof expected, "a comma and %s, number %d of %d", name, field + 1,
                     SIM_FIELDS);
            return refuse_at(parser, scan, expected, error);
        }
        if (!scan_integer(scan, &values[field])) {
            snprintf(expected, sizeof expected, "%s, an integer of at most 18 digits", name);
            return refuse_at(parser, scan, expected, error);
        }
        if (values[field] < parser->ranges.least[field] ||
            values[field] > parser->ranges.most[field])
            return fa_fail(error, FA_BAD_FILE,
                           "%s: line %" PRIu64 ": %s is %" PRId64 ": expected %" PRId64
                           " to %" PRId64,
                           parser->name, parser->line, name, values[field],
                           parser->ranges.least[field], parser->ranges.most[field]);
    }
    if (!scan_mark(scan, ']'))
        return refuse_at(parser, scan, "] after 14 integers", error);
    if (scan->at != scan->end)
        return refuse_at(parser, scan, "the line's end after ]", error);
    return FA_OK;
}

static enum fa_status parse_event(struct parser *parser, struct scan *scan, struct fa_error *error)
{
    int64_t values[SIM_FIELDS];
    char why[320];
    if (sim_trace_length(parser->trace) == parser->n_events)
        return refuse_at(parser, scan, "the file's end, after as many events as its header says",
                         error);
    if (parser->ended)
        return refuse_at(parser, scan, "the file's end, since a refusal ends a run", error);
    enum fa_status status = parse_values(parser, scan, values, error);
    if (status != FA_OK)
        return status;
    struct sim_event event = sim_event_pack(values);
    if (!sim_event_possible(&parser->header, &parser->state, &event, why, sizeof why))
        return fa_fail(error, FA_BAD_FILE, "%s: line %" PRIu64 ": %s", parser->name, parser->line,
                       why);
    sim_state_apply(&parser->state, &parser->header, &event);
    const struct fa_flops *flops = &parser->state.counters.flops;
    /* One event adds less than 2^62, so nothing has wrapped. */
    if (flops->matmul > INT64_MAX || flops->exp > INT64_MAX || flops->other > INT64_MAX)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %" PRIu64 ": the FLOPs up to here are past 2^63 - 1", parser->name,
                       parser->line);
    parser->ended = event.kind == SIM_REFUSE;
    if (!sim_trace_append(parser->trace, &event))
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for event %" PRIu64, parser->name,
                       sim_trace_length(parser->trace));
    return FA_OK;
}

static enum fa_status parse_header(struct parser *parser, const char *text, size_t n,
                                   struct fa_error *error)
{
    struct fa_error why;
    enum fa_status status = sim_trace_header_read(parser->name, text, n, &parser->header,
                                                  &parser->n_events, error);
    if (status != FA_OK)
        return status;
    status = sim_trace_create(&parser->header, &parser->trace, &why);
    sim_trace_header_free(&parser->header);
    if (status == FA_TOO_LARGE) /* No trace of such a run was ever made. */
        return fa_fail(error, FA_BAD_FILE, "%s: line 1: %s", parser->name, why.text);
    if (status != FA_OK)
        return fa_fail(error, status, "%s: %s", parser->name, why.text);
    parser->header = *sim_trace_get_header(parser->trace);
    parser->ranges = sim_trace_ranges(&parser->header);
    return FA_OK;
}

/* Parses the whole lines of bytes[0 .. n) and says in *used where they end. */
static enum fa_status parse_lines(struct parser *parser, const char *bytes, size_t n, size_t *used,
                                  struct fa_error *error)
{
    size_t at = 0;
    enum fa_status status = FA_OK;
    while (status == FA_OK) {
        const char *end = n - at > 0 ? memchr(bytes + at, '\n', n - at) : NULL;
        size_t length = end ? (size_t)(end - bytes) - at : n - at;
        size_t most = parser->trace ? LINE_MOST : SIM_HEADER_MOST;
        if (length > most)
            return fa_fail(error, FA_BAD_FILE,
                           "%s: line %" PRIu64
                           ": it has more than %zu bytes: no line of a trace has",
                           parser->name, parser->line + 1, most);
        if (!end)
            break;
        parser->line++;
        struct scan scan = {bytes + at, end};
        status = parser->trace ? parse_event(parser, &scan, error)
                               : parse_header(parser, bytes + at, length, error);
        at += length + 1;
    }
    *used = at;
    return status;
}

/* At the end of the file: `rest` bytes stand after the last line feed. */
static enum fa_status parse_end(const struct parser *parser, size_t rest, struct fa_error *error)
{
    if (rest > 0)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %" PRIu64 ": the file is cut here: expected a line feed at its "
                       "end",
                       parser->name, parser->line + 1);
    if (!parser->trace)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line 1: the file is empty: expected a trace's header", parser->name);
    if (sim_trace_length(parser->trace) != parser->n_events)
        return fa_fail(error, FA_BAD_FILE,
                       "%s: line %" PRIu64 ": the file ends after %" PRIu64
                       " events: expected %" PRIu64 ", as its header says",
                       parser->name, parser->line + 1, sim_trace_length(parser->trace),
                       parser->n_events);
    return FA_OK;
}

enum fa_status sim_trace_parse(const char *name, const char *bytes, size_t n_bytes,
                               struct sim_trace **trace, struct fa_error *error)
{
    struct parser parser = {.name = name};
    size_t used = 0;
    enum fa_status status = parse_lines(&parser, bytes, n_bytes, &used, error);
    if (status == FA_OK)
        status = parse_end(&parser, n_bytes - used, error);
    if (status == FA_OK)
        *trace = parser.trace;
    else
        sim_trace_free(parser.trace);
    return status;
}

/* Block by block, so that a long trace is not in memory twice; a header may be longer than one. */
static enum fa_status parse_file(struct parser *parser, int file, struct fa_error *error)
{
    enum fa_status status = FA_OK;
    size_t kept = 0, used = 0, capacity = 0;
    char *block = NULL;
    while (status == FA_OK) {
        if (kept == capacity) {
            capacity = capacity ? 2 * capacity : BLOCK;
            char *larger = realloc(block, capacity);
            if (!larger) {
                status = fa_fail(error, FA_NO_MEMORY, "%s: no memory to read it", parser->name);
                break;
            }
            block = larger;
        }
        ssize_t n = read(file, block + kept, capacity - kept);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = fa_fail(error, FA_IO, "%s: cannot be read: %s", parser->name, strerror(errno));
        if (n <= 0)
            break;
        kept += (size_t)n;
        status = parse_lines(parser, block, kept, &used, error);
        kept -= used;
        memmove(block, block + used, kept);
    }
    if (status == FA_OK)
        status = parse_end(parser, kept, error);
    free(block);
    return status;
}

enum fa_status sim_trace_load(const char *path, struct sim_trace **trace, struct fa_error *error)
{
    struct parser parser = {.name = path};
    struct stat facts;
    /* O_NONBLOCK: a FIFO that nobody writes to must be refused, not waited for. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return fa_fail(error, FA_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum fa_status status = FA_OK;
    if (fstat(file, &facts) != 0)
        status = fa_fail(error, FA_IO, "%s: cannot be examined: %s", path, strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = fa_fail(error, FA_IO, "%s: is not a regular file: expected a saved trace", path);
    if (status == FA_OK)
        status = parse_file(&parser, file, error);
    close(file);
    if (status == FA_OK)
        *trace = parser.trace;
    else
        sim_trace_free(parser.trace);
    return status;
}

/* ---- Saving ---- */

struct writer {
    const char *path; /* of the file beside the one that is asked for */
    int file;
    char *block;
    size_t used;
};

static enum fa_status flush(struct writer *writer, struct fa_error *error)
{
    for (size_t done = 0; done < writer->used;) {
        ssize_t n = write(writer->file, writer->block + done, writer->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fa_fail(error, FA_IO, "%s: cannot be written: %s", writer->path,
                           strerror(errno));
        done += (size_t)n;
    }
    writer->used = 0;
    return FA_OK;
}

/* Of any length, through the block. */
static enum fa_status put_text(struct writer *writer, const char *text, size_t n,
                               struct fa_error *error)
{
    enum fa_status status = FA_OK;
    while (n > 0 && status == FA_OK) {
        size_t room = BLOCK - writer->used, part = n < room ? n : room;
        memcpy(writer->block + writer->used, text, part);
        writer->used += part;
        text += part;
        n -= part;
        if (writer->used == BLOCK)
            status = flush(writer, error);
    }
    return status;
}

static char *format_integer(char *at, int64_t value)
{
    char digits[20];
    int n = 0;
    if (value < 0) {
        *at++ = '-';
        value = -value;
    }
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

static void format_event(struct writer *writer, const struct sim_event *event)
{
    int64_t values[SIM_FIELDS];
    char *at = writer->block + writer->used;
    sim_event_unpack(event, values);
    for (int field = 0; field < SIM_FIELDS; field++) {
        *at++ = field == 0 ? '[' : ',';
        at = format_integer(at, values[field]);
    }
    *at++ = ']';
    *at++ = '\n';
    writer->used = (size_t)(at - writer->block);
}

static enum fa_status write_trace(struct writer *writer, const struct sim_trace *trace,
                                  struct fa_error *error)
{
    uint64_t n_events = sim_trace_length(trace);
    char *header = sim_trace_header_write(sim_trace_get_header(trace), n_events);
    if (!header)
        return fa_fail(error, FA_NO_MEMORY, "%s: no memory for its header", writer->path);
    enum fa_status status = put_text(writer, header, strlen(header), error);
    free(header);
    if (status == FA_OK)
        status = put_text(writer, "\n", 1, error);
    if (status == FA_OK && writer->used > BLOCK - EVENT_LINE_MOST)
        status = flush(writer, error);
    for (uint64_t n = 0; n < n_events && status == FA_OK; n++) {
        format_event(writer, sim_trace_event(trace, n));
        if (writer->used > BLOCK - EVENT_LINE_MOST)
            status = flush(writer, error);
    }
    return status == FA_OK ? flush(writer, error) : status;
}

enum fa_status sim_trace_save(const struct sim_trace *trace, const char *path,
                              struct fa_error *error)
{
    struct stat facts;
    bool made = false;
    size_t size = strlen(path) + sizeof ".part-" + 20;
    char *part = malloc(size);
    struct writer writer = {part, -1, malloc(BLOCK), 0};
    enum fa_status status = FA_OK;
    if (!part || !writer.block) {
        status = fa_fail(error, FA_NO_MEMORY, "%s: no memory to write it", path);
        goto done;
    }
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) { /* rename would replace a device. */
        status = fa_fail(error, FA_IO, "%s: is not a regular file: it is not written over", path);
        goto done;
    }
    snprintf(part, size, "%s.part-%ld", path, (long)getpid());
    unlink(part); /* What a killed process of the same number may have left. */
    writer.file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer.file < 0) {
        status = fa_fail(error, FA_IO, "%s: cannot be made: %s", part, strerror(errno));
        goto done;
    }
    made = true;
    status = write_trace(&writer, trace, error);
    if (close(writer.file) != 0 && status == FA_OK)
        status = fa_fail(error, FA_IO, "%s: cannot be closed: %s", part, strerror(errno));
    if (status == FA_OK && rename(part, path) != 0)
        status = fa_fail(error, FA_IO, "%s: cannot be renamed to %s: %s", part, path,
                         strerror(errno));
done:
    if (made && status != FA_OK)
        unlink(part);
    free(writer.block);
    free(part);
    return status;
}
