/* Memory, refusals and near words, for the files that read a lesson. */
#include "lessons/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384, ALIGNMENT = 16, NEAR_MAX = 48 };

void *lesson_take(struct lesson_memory *memory, size_t size)
{
    const size_t head = (sizeof(struct lesson_chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct lesson_chunk *chunk = memory->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK ? size : CHUNK;
        chunk = calloc(1, head + room);
        if (!chunk)
            return NULL;
        chunk->size = room;
        chunk->next = memory->chunks;
        memory->chunks = chunk;
    }
    void *taken = (char *)chunk + head + chunk->used;
    chunk->used += size;
    return taken;
}

char *lesson_keep(struct lesson_memory *memory, const char *bytes, size_t n)
{
    char *copy = lesson_take(memory, n + 1);
    if (copy && n > 0)
        memcpy(copy, bytes, n);
    return copy;
}

void lesson_memory_free(struct lesson_memory *memory)
{
    while (memory && memory->chunks) {
        struct lesson_chunk *next = memory->chunks->next;
        free(memory->chunks);
        memory->chunks = next;
    }
    free(memory);
}

enum fa_status lesson_refuse(struct lesson_reader *reader, int line, const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) /* a message is one line */
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return fa_fail(reader->error, FA_BAD_FILE, "%s:%d: %s", reader->name, line, text);
}

enum fa_status lesson_no_memory(struct lesson_reader *reader)
{
    return fa_fail(reader->error, FA_NO_MEMORY, "%s: no memory for the lesson", reader->name);
}

const char *lesson_excerpt(const char *text, size_t n, char excerpt[LESSON_EXCERPT])
{
    size_t length = 0;
    excerpt[length++] = '\'';
    for (size_t i = 0; i < n && length < LESSON_EXCERPT - 8; i++) {
        unsigned char c = (unsigned char)text[i];
        excerpt[length++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    bool cut = length - 1 < n;
    /* A character of several bytes is not cut in two. */
    while (cut && length > 1 && ((unsigned char)text[length - 1] & 0xC0) == 0x80)
        length--;
    memcpy(excerpt + length, cut ? "...'" : "'", cut ? 5 : 2);
    return excerpt;
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* Letters put in, left out or changed, and neighbours that changed places. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][NEAR_MAX + 1];
    int n = (int)strlen(b), lines = (int)strlen(a);
    for (int j = 0; j <= n; j++)
        rows[0][j] = j;
    for (int i = 1; i <= lines; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int cost = above[j - 1] + (a[i - 1] != b[j - 1]);
            cost = least_of(cost, least_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = least_of(cost, second[j - 2] + 1);
            row[j] = cost;
        }
    }
    return rows[lines % 3][n];
}

const char *lesson_nearest(const char *word, const char *const *words, int n)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    int least = (int)length / 3 + 2;
    if (length == 0 || length > NEAR_MAX)
        return NULL;
    for (int i = 0; i < n; i++) {
        if (strlen(words[i]) > NEAR_MAX)
            continue;
        int distance = edit_distance(word, words[i]);
        if (distance < least && distance < (int)strlen(words[i])) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
