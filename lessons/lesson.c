/* A lesson's file: front matter, steps, and in them prose and fenced blocks. */
#include "lessons/lesson.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/reader.h"

/* ---- lines ---- */

struct lines {
    struct lesson_reader *reader;
    char *bytes;      /* ours, every line of it ending in "\n" alone */
    size_t n, at;     /* at: where the next line begins */
    int line;         /* the current one, from 1 */
    const char *text; /* its first byte, and bytes without the line feed */
    size_t length;
};

static bool next_line(struct lines *lines)
{
    if (lines->at >= lines->n)
        return false;
    lines->text = lines->bytes + lines->at;
    const char *end = memchr(lines->text, '\n', lines->n - lines->at);
    lines->length = end ? (size_t)(end - lines->text) : lines->n - lines->at;
    lines->at += lines->length + (end != NULL);
    lines->line++;
    return true;
}

static size_t line_begin(const struct lines *lines)
{
    return (size_t)(lines->text - lines->bytes);
}

static bool line_is(const struct lines *lines, const char *text)
{
    size_t n = lines->length;
    while (n > 0 && strchr(" \t", lines->text[n - 1]))
        n--;
    return n == strlen(text) && memcmp(lines->text, text, n) == 0;
}

/* Bytes of a UTF-8 character, 0 for what is none: overlong forms and surrogates are none. */
static size_t utf8_length(const unsigned char *c, size_t n)
{
    size_t length = *c < 0x80   ? 1
                    : *c < 0xC2 ? 0
                    : *c < 0xE0 ? 2
                    : *c < 0xF0 ? 3
                    : *c < 0xF5 ? 4
                                : 0;
    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    if ((*c == 0xE0 && c[1] < 0xA0) || (*c == 0xED && c[1] > 0x9F) || (*c == 0xF0 && c[1] < 0x90) ||
        (*c == 0xF4 && c[1] > 0x8F))
        return 0;
    return length;
}

/* A copy of text as any editor saves it: without a byte order mark, lines ending in "\n". */
static enum fa_status take_bytes(struct lines *lines, const char *bytes, size_t n)
{
    struct lesson_reader *reader = lines->reader;
    int line = 1;
    if (n > LESSON_FILE_BYTES)
        return lesson_refuse(reader, 1, "%zu bytes: expected at most %d", n, LESSON_FILE_BYTES);
    lines->bytes = malloc(n + 1);
    if (!lines->bytes)
        return lesson_no_memory(reader);
    if (n >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        bytes += 3;
        n -= 3;
    }
    for (size_t i = 0, length; i < n; i += length) {
        unsigned char c = (unsigned char)bytes[i];
        length = utf8_length((const unsigned char *)bytes + i, n - i);
        if (c == '\r' && i + 1 < n && bytes[i + 1] == '\n')
            continue;
        if (length == 0 || (c < ' ' && c != '\n' && c != '\t') || c == 127)
            return lesson_refuse(reader, line, "a byte 0x%02x: expected text in UTF-8", c);
        line += c == '\n';
        memcpy(lines->bytes + lines->n, bytes + i, length);
        lines->n += length;
    }
    return FA_OK;
}

/* ---- steps ---- */

/* What a step has before its file's words: the step's before. */
static struct lesson_show show_before(const struct lesson *lesson)
{
    struct lesson_show show = {
        .stage = "cross", .panel = "lesson", .keep_together = "work", .bits = "place"};
    if (lesson->n_steps > 0) {
        const struct lesson_show *before = &lesson->step[lesson->n_steps - 1].show;
        show.stage = before->stage;
        show.panel = before->panel;
        show.keep_together = before->keep_together;
        show.elements = before->elements;
    }
    show.scenario = lesson->scenario;
    return show;
}

static enum fa_status open_step(struct lines *lines)
{
    struct lesson_reader *reader = lines->reader;
    struct lesson *lesson = reader->lesson;
    const char *title = lines->text + 2;
    size_t n = lines->length - 2;
    for (; n > 0 && strchr(" \t", *title); title++)
        n--;
    while (n > 0 && strchr(" \t", title[n - 1]))
        n--;
    if (n == 0)
        return lesson_refuse(reader, lines->line, "a step without a title: expected one after ##");
    if (lesson->n_steps == LESSON_STEPS)
        return lesson_refuse(reader, lines->line, "one more step: expected at most %d",
                             LESSON_STEPS);
    struct lesson_step step = {.title = lesson_keep(lesson->memory, title, n),
                               .line = lines->line,
                               .show = show_before(lesson)};
    if (!step.title)
        return lesson_no_memory(reader);
    lesson->step[lesson->n_steps++] = step;
    reader->has_show = false;
    return lesson_text_check(reader, step.title, step.line);
}

static enum fa_status close_step(struct lesson_reader *reader)
{
    struct lesson *lesson = reader->lesson;
    if (lesson->n_steps == 0)
        return FA_OK;
    struct lesson_step *step = &lesson->step[lesson->n_steps - 1];
    if (step->n_words > LESSON_STEP_WORDS)
        return lesson_refuse(reader, step->line, "the step '%s' has %d words: expected at most %d",
                             step->title, step->n_words, LESSON_STEP_WORDS);
    if (step->n_blocks == 0 && !step->question && !step->breaks)
        return lesson_refuse(reader, step->line, "the step '%s' is empty: expected text",
                             step->title);
    if (step->show.at)
        return FA_OK;
    step->show.at = "start";
    if (lesson->n_steps > 1) {
        const struct lesson_step *before = step - 1;
        const char *reveal = before->question ? before->question->reveal : NULL;
        if (strcmp(before->show.scenario, step->show.scenario) == 0)
            step->show.at = reveal                 ? reveal
                            : before->show.play_to ? before->show.play_to
                                                   : before->show.at;
    }
    return FA_OK;
}

/* A fence: ``` after at most three blanks, and what stands after it. */
static bool is_fence(const struct lines *lines, const char **word, size_t *n)
{
    const char *at = lines->text, *end = at + lines->length;
    while (at < end && at - lines->text < 3 && *at == ' ')
        at++;
    if (end - at < 3 || memcmp(at, "```", 3) != 0)
        return false;
    while (at < end && *at == '`')
        at++;
    while (at < end && strchr(" \t", *at))
        at++;
    while (end > at && strchr(" \t", end[-1]))
        end--;
    *word = at;
    *n = (size_t)(end - at);
    return true;
}

static const char *const block_kinds[] = {"show", "ask", "break", "text", "c"};
enum { BLOCK_KINDS = 5, OWN_KINDS = 3 };

/* Which of the kinds, BLOCK_KINDS for a plain one. */
static enum fa_status block_kind(struct lesson_reader *reader, const char *word, size_t n, int line,
                                 int *kind)
{
    char name[LESSON_EXCERPT], excerpt[LESSON_EXCERPT];
    *kind = BLOCK_KINDS;
    for (int k = 0; k < BLOCK_KINDS && n > 0; k++)
        if (n == strlen(block_kinds[k]) && memcmp(word, block_kinds[k], n) == 0)
            *kind = k;
    if (n == 0 || *kind < BLOCK_KINDS)
        return FA_OK;
    snprintf(name, sizeof name, "%.*s", (int)(n < 60 ? n : 60), word);
    const char *near = lesson_nearest(name, block_kinds, OWN_KINDS);
    return lesson_refuse(reader, line, "a block of the kind %s: expected show, ask, break%s%s%s",
                         lesson_excerpt(word, n, excerpt), near ? "; did you mean " : "",
                         near ? near : " (or text, c, nothing for lines as they stand)",
                         near ? "?" : "");
}

static bool starts_with(const struct lines *lines, const char *start)
{
    return lines->length >= strlen(start) && memcmp(lines->text, start, strlen(start)) == 0;
}

/* The prose collected so far, bytes from *begin to `end`. */
static enum fa_status read_prose(struct lesson_reader *reader, const struct lines *lines,
                                 size_t begin, size_t end, int first_line)
{
    struct lesson *lesson = reader->lesson;
    const char *text = lines->bytes + begin;
    size_t n = end - begin, blank = 0;
    for (; blank < n && strchr(" \t\n", text[blank]); blank++)
        first_line += text[blank] == '\n';
    if (blank == n)
        return FA_OK;
    if (lesson->n_steps == 0)
        return lesson_refuse(reader, first_line,
                             "text before the first step: expected '## ' and its "
                             "title");
    /* From the line's start: blanks before its first word mean something. */
    while (blank > 0 && text[blank - 1] != '\n')
        blank--;
    return lesson_prose_read(reader, &lesson->step[lesson->n_steps - 1], text + blank, n - blank,
                             first_line);
}

/* Past the block that begins at the current line; of our own kinds its YAML is read. */
static enum fa_status read_block(struct lines *lines, int kind)
{
    struct lesson_reader *reader = lines->reader;
    struct lesson *lesson = reader->lesson;
    const char *word;
    size_t n, begin = lines->at;
    int line = lines->line;
    bool closed = false, own = kind < OWN_KINDS;
    char excerpt[LESSON_EXCERPT];
    while (!closed && next_line(lines)) {
        bool fence = is_fence(lines, &word, &n);
        bool next =
            (fence && n > 0) || (own && lines->length > 2 && memcmp(lines->text, "## ", 3) == 0);
        if (next)
            return lesson_refuse(reader, line,
                                 "a block ```%s that does not end: expected a line ``` before line "
                                 "%d, %s",
                                 own ? block_kinds[kind] : "", lines->line,
                                 lesson_excerpt(lines->text, lines->length, excerpt));
        closed = fence;
    }
    if (!closed)
        return lesson_refuse(reader, line,
                             "a block ```%s that does not end: expected a line ``` before the "
                             "file's end",
                             own ? block_kinds[kind] : "");
    if (kind >= OWN_KINDS)
        return FA_OK;
    if (lesson->n_steps == 0)
        return lesson_refuse(reader, line,
                             "a block before the first step: expected '## ' and its title");
    return lesson_step_block_read(reader, &lesson->step[lesson->n_steps - 1], block_kinds[kind],
                                  lines->bytes + begin, line_begin(lines) - begin, line);
}

static enum fa_status read_steps(struct lines *lines)
{
    struct lesson_reader *reader = lines->reader;
    enum fa_status status = FA_OK;
    size_t begin = lines->at; /* of the prose that is not read yet */
    int first_line = lines->line + 1, kind = 0;
    while (status == FA_OK && next_line(lines)) {
        const char *word;
        size_t n, here = line_begin(lines);
        bool step = starts_with(lines, "## ") || line_is(lines, "##");
        bool fence = !step && is_fence(lines, &word, &n);
        if (starts_with(lines, "~~~"))
            return lesson_refuse(reader, lines->line, "~~~: expected ``` around a block");
        if (fence)
            status = block_kind(reader, word, n, lines->line, &kind);
        if (status == FA_OK && (step || (fence && kind < OWN_KINDS))) {
            status = read_prose(reader, lines, begin, here, first_line);
            begin = SIZE_MAX;
        }
        if (status == FA_OK && step) {
            status = close_step(reader);
            if (status == FA_OK)
                status = open_step(lines);
        } else if (status == FA_OK && fence) {
            status = read_block(lines, kind);
        }
        if (begin == SIZE_MAX) {
            begin = lines->at;
            first_line = lines->line + 1;
        }
    }
    if (status == FA_OK)
        status = read_prose(reader, lines, begin, lines->n, first_line);
    return status == FA_OK ? close_step(reader) : status;
}

static enum fa_status read_lesson(struct lines *lines)
{
    struct lesson_reader *reader = lines->reader;
    bool closed = false;
    char excerpt[LESSON_EXCERPT];
    if (!next_line(lines) || !line_is(lines, "---"))
        return lesson_refuse(reader, 1, "no front matter: expected a first line ---");
    size_t begin = lines->at;
    while (!closed && next_line(lines)) {
        closed = line_is(lines, "---");
        if (!closed && lines->length > 2 && memcmp(lines->text, "## ", 3) == 0)
            return lesson_refuse(reader, 1,
                                 "the front matter does not end: expected a second line --- before "
                                 "line %d, %s",
                                 lines->line, lesson_excerpt(lines->text, lines->length, excerpt));
    }
    if (!closed)
        return lesson_refuse(reader, 1,
                             "the front matter does not end: expected a second line ---");
    enum fa_status status =
        lesson_front_matter_read(reader, lines->bytes + begin, line_begin(lines) - begin, 2);
    if (status == FA_OK)
        status = read_steps(lines);
    if (status == FA_OK && reader->lesson->n_steps == 0)
        status = lesson_refuse(reader, lines->line, "no step: expected '## ' and a title");
    if (status != FA_OK)
        return status;
    for (int t = 0; t < reader->lesson->n_tracks; t++) {
        struct lesson_track *track = &reader->lesson->tracks[t];
        int n = reader->lesson->n_steps;
        if (track->last >= n)
            return lesson_refuse(reader, track->line,
                                 "the track '%s' has step %d: expected steps of this lesson, 1 to "
                                 "%d",
                                 track->name, track->last + 1, n);
        if (track->last < 0)
            track->last = n - 1;
    }
    return lesson_terms_place(reader);
}

enum fa_status lesson_parse(const char *name, const char *bytes, size_t n_bytes,
                            struct lesson **lesson, struct fa_error *error)
{
    struct lesson_memory *memory = calloc(1, sizeof *memory);
    struct lesson *made = memory ? lesson_take(memory, sizeof *made) : NULL;
    struct lesson_reader reader = {.name = name, .lesson = made, .error = error};
    struct lines lines = {.reader = &reader};
    enum fa_status status = FA_NO_MEMORY;
    if (!made) {
        lesson_no_memory(&reader);
        goto done;
    }
    made->memory = memory;
    made->file = lesson_keep(memory, name, strlen(name));
    status = made->file ? take_bytes(&lines, bytes, n_bytes) : lesson_no_memory(&reader);
    if (status == FA_OK)
        status = read_lesson(&lines);
done:
    free(lines.bytes);
    if (status == FA_OK)
        *lesson = made;
    else
        lesson_memory_free(memory);
    return status;
}

enum fa_status lesson_read(const char *path, struct lesson **lesson, struct fa_error *error)
{
    enum fa_status status;
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(LESSON_FILE_BYTES + 1);
    if (!file) {
        status = fa_fail(error, FA_IO, "%s: cannot be read: %s", path, strerror(errno));
    } else if (!bytes) {
        status = fa_fail(error, FA_NO_MEMORY, "%s: no memory for the lesson", path);
    } else {
        size_t n = fread(bytes, 1, LESSON_FILE_BYTES + 1, file);
        if (ferror(file))
            status = fa_fail(error, FA_IO, "%s: cannot be read: %s", path, strerror(errno));
        else
            status = lesson_parse(path, bytes, n, lesson, error);
    }
    if (file)
        fclose(file);
    free(bytes);
    return status;
}

void lesson_free(struct lesson *lesson)
{
    if (lesson)
        lesson_memory_free(lesson->memory); /* which the lesson itself lies in */
}
