/* A step's prose: CommonMark, read by md4c, into plain blocks. */
#include <md4c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/reader.h"

/* Signs that mean something to CommonMark and also stand in {expressions}: there they are hidden
 * from it behind control characters, which no file has. */
static const char hidden_signs[] = "*_`\\|<&";

struct prose {
    struct lesson_reader *reader;
    struct lesson_step *step;
    const char *bytes;
    size_t n;
    int first_line;
    int line;   /* of the latest text */
    char *text; /* of the block that is open */
    size_t length, size;
    bool open, item, cells;
    int number; /* of the next item of a numbered list; 0: bullets */
    bool heading;
    const char *unwelcome; /* what is refused at the next text, whose line is known */
    enum fa_status status;
};

static int refuse(struct prose *prose, const char *what)
{
    prose->status = lesson_refuse(prose->reader, prose->line, "%s", what);
    return 1;
}

/* md4c says nothing of lines but by the text that it hands out. */
static int refuse_next(struct prose *prose, const char *what)
{
    if (!prose->unwelcome)
        prose->unwelcome = what;
    return 0;
}

static int open_block(struct prose *prose)
{
    prose->open = true;
    prose->length = 0;
    return 0;
}

/* Blanks at the ends are taken off. */
static int close_block(struct prose *prose, enum lesson_block_kind kind)
{
    struct lesson_step *step = prose->step;
    const char *text = prose->text;
    size_t n = prose->length;
    prose->open = false;
    if (prose->status != FA_OK) /* md4c closes what is open after a refusal, too */
        return 1;
    while (n > 0 && strchr(" \n", text[n - 1]))
        n--;
    if (n == 0)
        return 0;
    if (step->n_blocks == LESSON_BLOCKS) {
        char what[80];
        snprintf(what, sizeof what, "one more block of text: expected at most %d a step",
                 LESSON_BLOCKS);
        return refuse(prose, what);
    }
    char *kept = lesson_keep(prose->reader->lesson->memory, text, n);
    if (!kept) {
        prose->status = lesson_no_memory(prose->reader);
        return 1;
    }
    for (char *c = kept; *c; c++)
        if (*c > 0 && (size_t)*c < sizeof hidden_signs)
            *c = hidden_signs[*c - 1];
    bool is_item = kind == LESSON_ITEM;
    step->block[step->n_blocks++] = (struct lesson_block){
        kind, kept, prose->line, is_item ? prose->number : 0, kind == LESSON_ROW && prose->heading};
    if (kind == LESSON_CODE)
        return 0;
    step->n_words += lesson_words_count(kept);
    prose->status = lesson_text_check(prose->reader, kept, prose->line);
    return prose->status != FA_OK;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct prose *prose = context;
    if (prose->item && type != MD_BLOCK_P)
        return refuse_next(prose, "a list or a block inside a list's item: expected text alone");
    switch (type) {
    case MD_BLOCK_P:
        if (!prose->item)
            return open_block(prose);
        if (prose->length > 0)
            prose->text[prose->length++] = ' ';
        return 0;
    case MD_BLOCK_OL:
        prose->number = (int)(((MD_BLOCK_OL_DETAIL *)detail)->start % 1000);
        return 0;
    case MD_BLOCK_UL:
        prose->number = 0;
        return 0;
    case MD_BLOCK_LI:
        prose->item = true;
        return open_block(prose);
    case MD_BLOCK_CODE:
    case MD_BLOCK_TR:
        return open_block(prose);
    case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY:
        prose->heading = type == MD_BLOCK_THEAD;
        return 0;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        if (prose->cells)
            prose->text[prose->length++] = '\t';
        prose->cells = true;
        return 0;
    case MD_BLOCK_DOC:
    case MD_BLOCK_TABLE:
        return 0;
    case MD_BLOCK_H:
        return refuse_next(prose, "a heading: expected '## ' and a step's title, or text");
    default:
        return refuse_next(prose,
                           "a quote or a line across: expected paragraphs, lists, tables or code");
    }
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct prose *prose = context;
    (void)detail;
    switch (type) {
    case MD_BLOCK_P:
        return prose->item ? 0 : close_block(prose, LESSON_PARAGRAPH);
    case MD_BLOCK_LI: {
        prose->item = false;
        int stop = close_block(prose, LESSON_ITEM);
        prose->number += prose->number > 0;
        return stop;
    }
    case MD_BLOCK_CODE:
        return close_block(prose, LESSON_CODE);
    case MD_BLOCK_TR:
        prose->cells = false;
        return close_block(prose, LESSON_ROW);
    default:
        return 0;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *context)
{
    (void)detail;
    return type == MD_SPAN_IMG
               ? refuse_next(context, "a picture: expected text, the stage has the pictures")
               : 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *context)
{
    (void)type;
    (void)detail;
    (void)context;
    return 0;
}

/* The few characters that have a name because Markdown needs them. */
static const char *entity(const char *text, size_t n)
{
    static const char *const names[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", "\xC2\xA0"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i][0]) == n && memcmp(names[i][0], text, n) == 0)
            return names[i][1];
    return NULL;
}

/* md4c hands out pieces of the bytes it was given, and some of its own, which have no line. */
static void note_line(struct prose *prose, const char *text)
{
    if ((uintptr_t)text < (uintptr_t)prose->bytes ||
        (uintptr_t)text >= (uintptr_t)(prose->bytes + prose->n))
        return;
    prose->line = prose->first_line;
    for (const char *c = prose->bytes; c < text; c++)
        prose->line += *c == '\n';
}

static int take_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE n, void *context)
{
    struct prose *prose = context;
    size_t length = n;
    if (prose->unwelcome) {
        note_line(prose, text);
        return refuse(prose, prose->unwelcome);
    }
    if (!prose->open)
        return 0;
    if (prose->length == 0 || type == MD_TEXT_ENTITY)
        note_line(prose, text);
    if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) {
        text = " ";
        length = 1;
    } else if (type == MD_TEXT_ENTITY) {
        text = entity(text, n);
        if (!text)
            return refuse(prose, "a named character: expected the character itself");
        length = strlen(text);
    }
    /* There is room for all bytes, and for what stands between them: see lesson_prose_read. */
    if (prose->length + length + 2 > prose->size) {
        prose->status = lesson_no_memory(prose->reader);
        return 1;
    }
    memcpy(prose->text + prose->length, text, length);
    prose->length += length;
    return 0;
}

/* A copy in which the signs of {expressions} are hidden. */
static void hide_signs(char *copy, const char *bytes, size_t n)
{
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        const char *sign = strchr(hidden_signs, bytes[i]);
        inside = bytes[i] == '{' ? true : bytes[i] == '}' ? false : inside;
        copy[i] = inside && sign ? (char)(sign - hidden_signs + 1) : bytes[i];
    }
}

enum fa_status lesson_prose_read(struct lesson_reader *reader, struct lesson_step *step,
                                 const char *bytes, size_t n, int first_line)
{
    const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_NOHTML | MD_FLAG_NOINDENTEDCODEBLOCKS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = take_text,
    };
    struct prose prose = {.reader = reader,
                          .step = step,
                          .n = n,
                          .first_line = first_line,
                          .line = first_line,
                          .size = 2 * n + 256};
    char *copy = malloc(n + 1);
    prose.text = malloc(prose.size);
    prose.bytes = copy;
    if (!copy || !prose.text) {
        prose.status = lesson_no_memory(reader);
    } else {
        hide_signs(copy, bytes, n);
        if (md_parse(copy, (MD_SIZE)n, &parser, &prose) != 0 && prose.status == FA_OK)
            prose.status = lesson_no_memory(reader);
        if (prose.status == FA_OK && prose.unwelcome)
            refuse(&prose, prose.unwelcome);
    }
    free(copy);
    free(prose.text);
    return prose.status;
}
