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

static enum fa_status fill_open(const struct cli_lessons *lessons, const struct lesson *lesson,
                                const struct lesson_answer_key *key, int step, bool cells, int line,
                                const char *text, const char *words, char out[CLI_LESSON_TEXT],
                                int *n_blanks, struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status =
        lesson_fill_open(text, words, cli_lesson_runner_face(lessons->runner), key, step, cells,
                         out, CLI_LESSON_TEXT, n_blanks, &inner);
    if (status == FA_BAD_ARGUMENT || status == FA_DOES_NOT_FIT)
        status = FA_BAD_FILE;
    return status == FA_OK
               ? FA_OK
               : fa_fail(error, status, "%.300s:%d: %s", lesson->file, line, inner.text);
}

enum fa_status cli_lesson_fill(const struct cli_lessons *lessons, const struct lesson *lesson,
                               int line, const char *text, const char *words,
                               char out[CLI_LESSON_TEXT], struct fa_error *error)
{
    int n_blanks;
    return fill_open(lessons, lesson, NULL, 0, false, line, text, words, out, &n_blanks, error);
}

enum fa_status cli_lesson_fill_open(const struct cli_lessons *lessons, const struct lesson *lesson,
                                    const struct lesson_answer_key *key, int step, int line,
                                    const char *text, const char *words, char out[CLI_LESSON_TEXT],
                                    struct fa_error *error)
{
    int n_blanks;
    return fill_open(lessons, lesson, key, step, false, line, text, words, out, &n_blanks, error);
}

enum fa_status cli_lesson_key(const struct cli_lessons *lessons, const struct lesson *lesson,
                              struct lesson_answer_key *key, struct fa_error *error)
{
    const struct lesson_question *question;
    lesson_words scenario;
    struct lesson_answers answers;
    enum fa_status status = FA_OK;
    key->lesson = lesson;
    for (key->n = 0; cli_lesson_question(lesson, key->n, &question, &scenario); key->n++) {
        char *words = key->words[key->n];
        status = cli_lesson_words(lessons, lesson, scenario, words, error);
        if (status == FA_OK)
            status = lesson_answers_of(lesson, question, words,
                                       cli_lesson_runner_face(lessons->runner), &answers, error);
        if (status != FA_OK)
            return status;
        key->question[key->n] = question;
        key->right[key->n] = answers.right;
    }
    return FA_OK;
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

/* The texts of a step's blocks, and how many blanks each has. */
struct step_texts {
    char text[LESSON_BLOCKS][CLI_LESSON_TEXT];
    int n_blanks[LESSON_BLOCKS];
};

static enum fa_status fill_blocks(const struct cli_lessons *lessons, const struct lesson *lesson,
                                  int step, const struct lesson_answer_key *key,
                                  struct step_texts **texts, struct fa_error *error)
{
    const struct lesson_step *of = &lesson->step[step];
    char words[LESSON_WORDS];
    struct step_texts *made = calloc(1, sizeof *made);
    if (!made)
        return fa_fail(error, FA_NO_MEMORY, "no memory for a step's text");
    enum fa_status status = cli_lesson_words(lessons, lesson, of->show.scenario, words, error);
    for (int b = 0; b < of->n_blocks && status == FA_OK; b++) {
        const struct lesson_block *block = &of->block[b];
        if (block->kind != LESSON_CODE)
            status = fill_open(lessons, lesson, key, step, block->kind == LESSON_ROW, block->line,
                               block->text, words, made->text[b], &made->n_blanks[b], error);
    }
    if (status == FA_OK)
        *texts = made;
    else
        free(made);
    return status;
}

/* Prints what begins at block b, a table or one block; how many blocks it was. */
static int print_piece(FILE *file, bool markdown, const struct lesson_step *step, int b,
                       struct step_texts *texts)
{
    int rows = table_rows(step, b);
    if (rows > 0)
        print_table(file, markdown, &step->block[b], rows, &texts->text[b]);
    else
        print_block(file, markdown, &step->block[b], texts->text[b]);
    return rows > 0 ? rows : 1;
}

enum fa_status cli_lesson_blocks(FILE *file, bool markdown, const struct cli_lessons *lessons,
                                 const struct lesson *lesson, int step,
                                 const struct lesson_answer_key *key, struct fa_error *error)
{
    const struct lesson_step *of = &lesson->step[step];
    struct step_texts *texts = NULL;
    enum fa_status status = fill_blocks(lessons, lesson, step, key, &texts, error);
    for (int b = 0; b < of->n_blocks && status == FA_OK;) {
        bool item = of->block[b].kind == LESSON_ITEM;
        if (b > 0 && !(item && of->block[b - 1].kind == LESSON_ITEM))
            fputc('\n', file);
        b += print_piece(file, markdown, of, b, texts);
    }
    free(texts);
    return status;
}

enum fa_status cli_lesson_filled(FILE *file, const struct cli_lessons *lessons,
                                 const struct lesson *lesson, int step,
                                 const struct lesson_answer_key *key, struct fa_error *error)
{
    const struct lesson_step *of = &lesson->step[step];
    struct step_texts *open = NULL, *whole = NULL;
    bool begun = false;
    enum fa_status status = fill_blocks(lessons, lesson, step, key, &open, error);
    if (status == FA_OK)
        status = fill_blocks(lessons, lesson, step, NULL, &whole, error);
    for (int b = 0; b < of->n_blocks && status == FA_OK;) {
        int n = table_rows(of, b), blanks = 0;
        n = n > 0 ? n : 1;
        for (int i = 0; i < n; i++)
            blanks += open->n_blanks[b + i];
        if (blanks > 0 && !begun)
            fprintf(file, "\n## Step %d, filled in\n", step + 1);
        if (blanks > 0) {
            fputc('\n', file);
            print_piece(file, true, of, b, whole);
            begun = true;
        }
        b += n;
    }
    free(open);
    free(whole);
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
    if (markdown)
        fprintf(file, "\nIts run: `%s`\n", words);
    else
        cli_lesson_wrap(file, "  Its run: ", 11, words);
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
