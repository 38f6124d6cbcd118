/* A lesson as text, for a terminal and as Markdown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/lesson_command.h"

enum { WIDTH = 78, MOST_COLUMNS = 8 };

/* Columns that UTF-8 takes: its characters, of which none here is wide. */
static int columns_of(const char *text, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

int cli_lesson_columns(const char *text)
{
    return columns_of(text, strlen(text));
}

void cli_lesson_wrap(FILE *file, const char *first, int indent, const char *text)
{
    int column = cli_lesson_columns(first);
    fputs(first, file);
    bool begun = false;
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        int width = columns_of(text, n);
        if (begun && column + 1 + width > WIDTH) {
            fputc('\n', file);
            column = 0;
            begun = false;
        }
        if (begun)
            column += fprintf(file, " ");
        else if (column < indent)
            column += fprintf(file, "%*s", indent - column, "");
        fwrite(text, 1, n, file);
        column += width;
        begun = true;
        text += n;
    }
    fputc('\n', file);
}

/* ---- expressions put in ------------------------------------------------------------------- */

enum fa_status cli_lesson_fill(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int line, const char *text, const char *words,
                               char out[CLI_LESSON_TEXT], struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status = lesson_fill(text, words, cli_lesson_runner_face(lessons->runner), out,
                                        CLI_LESSON_TEXT, &inner);
    if (status == FA_BAD_ARGUMENT || status == FA_DOES_NOT_FIT)
        status = FA_BAD_FILE;
    return status == FA_OK
               ? FA_OK
               : fa_fail(error, status, "%.300s:%d: %s", lesson->file, line, inner.text);
}

enum fa_status cli_lesson_choice(const struct cli_lessons *lessons, const struct lesson *lesson,
                                 const struct lesson_question *question, int index,
                                 const struct lesson_answers *answers, const char *words,
                                 char out[CLI_LESSON_TEXT], struct fa_error *error)
{
    const struct lesson_choice *choice = &question->choice[index];
    if (choice->label)
        return cli_lesson_fill(lessons, lesson, question->line, choice->label, words, out, error);
    lesson_quantity_text(answers->choice[index], question->unit, out, CLI_LESSON_TEXT);
    return FA_OK;
}

bool cli_lesson_is_right(const struct lesson_question *question,
                         const struct lesson_answers *answers, int choice)
{
    double value = answers->choice[choice], right = answers->right;
    return question->kind == LESSON_CHOICE &&
           fabs(value - right) <= 1e-9 * fmax(fabs(value), fabs(right));
}

enum fa_status cli_lesson_right(const struct cli_lessons *lessons, const struct lesson *lesson,
                                const struct lesson_question *question,
                                const struct lesson_answers *answers, const char *words,
                                char out[CLI_LESSON_TEXT], struct fa_error *error)
{
    for (int c = 0; c < question->n_choices; c++)
        if (cli_lesson_is_right(question, answers, c))
            return cli_lesson_choice(lessons, lesson, question, c, answers, words, out, error);
    lesson_quantity_text(answers->right, question->unit, out, CLI_LESSON_TEXT);
    return FA_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* The cells of a row, which tabs part. */
static int split_row(char *text, char *cells[MOST_COLUMNS])
{
    int n = 0;
    while (n < MOST_COLUMNS) {
        cells[n++] = text;
        text = strchr(text, '\t');
        if (!text)
            break;
        *text++ = '\0';
    }
    return n;
}

static void print_row(FILE *file, bool markdown, char *const *cells, int n, const int *widths)
{
    fputs(markdown ? "|" : " ", file);
    for (int c = 0; c < n; c++) {
        int pad = widths[c] - cli_lesson_columns(cells[c]);
        fprintf(file, " %s%*s%s", cells[c], pad > 0 && (markdown || c + 1 < n) ? pad : 0, "",
                markdown    ? " |"
                : c + 1 < n ? " "
                            : "");
    }
    fputc('\n', file);
}

static void print_rule(FILE *file, bool markdown, int n, const int *widths)
{
    fputs(markdown ? "|" : " ", file);
    for (int c = 0; c < n; c++) {
        fputs(markdown ? "-" : " ", file);
        for (int i = 0; i < widths[c]; i++)
            fputc('-', file);
        fputs(markdown ? "-|" : c + 1 < n ? " " : "", file);
    }
    fputc('\n', file);
}

/* The table of n rows, whose texts are filled in; each is split where it lies. */
static void print_table(FILE *file, bool markdown, const struct lesson_block *block, int n,
                        char (*texts)[CLI_LESSON_TEXT])
{
    char *cells[LESSON_BLOCKS][MOST_COLUMNS];
    int widths[MOST_COLUMNS] = {0}, columns[LESSON_BLOCKS];
    for (int r = 0; r < n; r++) {
        columns[r] = split_row(texts[r], cells[r]);
        for (int c = 0; c < columns[r]; c++) {
            int width = cli_lesson_columns(cells[r][c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (int r = 0; r < n; r++) {
        print_row(file, markdown, cells[r], columns[r], widths);
        if (block[r].heading)
            print_rule(file, markdown, columns[r], widths);
    }
}

/* ---- blocks ------------------------------------------------------------------------------- */

static void print_code(FILE *file, bool markdown, const char *text)
{
    if (markdown)
        fputs("```\n", file);
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(file, "%s%.*s\n", markdown ? "" : "    ", (int)n, text);
        text += n + (text[n] == '\n');
    }
    if (markdown)
        fputs("```\n", file);
}

static void print_block(FILE *file, bool markdown, const struct lesson_block *block,
                        const char *text)
{
    char first[24] = "";
    if (block->kind == LESSON_CODE) {
        print_code(file, markdown, block->text);
        return;
    }
    if (block->kind == LESSON_ITEM && block->number > 0)
        snprintf(first, sizeof first, "%s%d. ", markdown ? "" : "  ", block->number);
    else if (block->kind == LESSON_ITEM)
        snprintf(first, sizeof first, "%s- ", markdown ? "" : "  ");
    /* A line of Markdown is not broken: what it goes on with might begin a list. */
    if (markdown)
        fprintf(file, "%s%s\n", first, text);
    else
        cli_lesson_wrap(file, first, (int)strlen(first), text);
}

/* How many blocks from `first` on are one table: the next heading begins another. */
static int table_rows(const struct lesson_step *step, int first)
{
    int n = 0;
    while (first + n < step->n_blocks && step->block[first + n].kind == LESSON_ROW &&
           (n == 0 || !step->block[first + n].heading))
        n++;
    return n;
}

enum fa_status cli_lesson_blocks(FILE *file, bool markdown, const struct cli_lessons *lessons,
                                 const struct lesson *lesson, const struct lesson_step *step,
                                 struct fa_error *error)
{
    char words[LESSON_WORDS];
    char(*texts)[CLI_LESSON_TEXT] = calloc(LESSON_BLOCKS, sizeof *texts);
    if (!texts)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a step's text");
    enum fa_status status = cli_lesson_words(lessons, lesson, step->show.scenario, words, error);
    for (int b = 0; b < step->n_blocks && status == FA_OK; b++)
        if (step->block[b].kind != LESSON_CODE)
            status = cli_lesson_fill(lessons, lesson, step->block[b].line, step->block[b].text,
                                     words, texts[b], error);
    for (int b = 0; b < step->n_blocks && status == FA_OK;) {
        bool item = step->block[b].kind == LESSON_ITEM;
        int rows = table_rows(step, b);
        if (b > 0 && !(item && step->block[b - 1].kind == LESSON_ITEM))
            fputc('\n', file);
        if (rows > 0)
            print_table(file, markdown, &step->block[b], rows, &texts[b]);
        else
            print_block(file, markdown, &step->block[b], texts[b]);
        b += rows > 0 ? rows : 1;
    }
    free(texts);
    return status;
}

/* ---- questions ---------------------------------------------------------------------------- */

/* What kind of answer is expected: "a number of bytes", "0.1 to 100 times". */
static void print_domain(FILE *file, const struct lesson_question *question)
{
    char low[LESSON_NUMBER_TEXT], high[LESSON_NUMBER_TEXT];
    const char *unit = question->unit ? question->unit : "";
    if (question->kind == LESSON_SLIDER)
        fprintf(file, " (%s to %s%s%s)", lesson_number_text(question->low, low),
                lesson_number_text(question->high, high), *unit ? " " : "", unit);
    else if (question->kind == LESSON_NUMBER && *unit)
        fprintf(file, " (in %s)", unit);
}

enum fa_status cli_lesson_ask(FILE *file, bool markdown, const struct cli_lessons *lessons,
                              const struct lesson *lesson, const struct lesson_question *question,
                              const char *words, struct fa_error *error)
{
    char text[CLI_LESSON_TEXT], first[24];
    struct lesson_answers answers;
    enum fa_status status = lesson_answers_of(
        lesson, question, words, cli_lesson_runner_face(lessons->runner), &answers, error);
    if (status == FA_OK)
        status =
            cli_lesson_fill(lessons, lesson, question->line, question->text, words, text, error);
    if (status != FA_OK)
        return status;
    char *line = NULL;
    size_t n = 0;
    FILE *whole = open_memstream(&line, &n);
    if (!whole)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a question");
    fprintf(whole, "%s%s", markdown ? "**" : "", text);
    print_domain(whole, question);
    fputs(markdown ? "**" : "", whole);
    if (fclose(whole) == 0 && markdown)
        fprintf(file, "%s\n", line);
    else if (line)
        cli_lesson_wrap(file, "? ", 2, line);
    free(line);
    if (markdown && question->n_choices > 0 && question->kind == LESSON_CHOICE)
        fputc('\n', file);
    for (int c = 0; c < question->n_choices && question->kind == LESSON_CHOICE; c++) {
        status = cli_lesson_choice(lessons, lesson, question, c, &answers, words, text, error);
        if (status != FA_OK)
            return status;
        snprintf(first, sizeof first, "    %d  ", c + 1);
        if (markdown)
            fprintf(file, "%d. %s\n", c + 1, text);
        else
            cli_lesson_wrap(file, first, (int)strlen(first), text);
    }
    return status;
}
