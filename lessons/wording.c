/* The limits on wording: short sentences, few words, terms that are introduced one by one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lessons/answers.h"
#include "lessons/reader.h"

/* Letters and digits, and all of UTF-8's other characters. */
static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The end of the word that begins at `at`, and whether it has a letter; an expression belongs to
 * it. */
static const char *word_end(const char *at, bool *lettered)
{
    bool inside = false;
    *lettered = false;
    for (; *at && (inside || !is_blank(*at)); at++) {
        inside = *at == '{' ? true : *at == '}' ? false : inside;
        /* A minus, a dash and other signs begin with E2 in UTF-8, as no letter of ours does. */
        *lettered |= isalnum((unsigned char)*at) ||
                     ((unsigned char)*at >= 0xC3 && (unsigned char)*at != 0xE2);
    }
    return at;
}

int lesson_words_count(const char *text)
{
    int words = 0;
    bool lettered;
    while (*(text += strspn(text, " \t\n"))) {
        text = word_end(text, &lettered);
        words += lettered;
    }
    return words;
}

/* Whether a word that ends there ends its sentence, too: with a full stop and perhaps quotes after
 * it. */
static bool ends_sentence(const char *word, const char *end)
{
    while (end > word && strchr("\"')]}", end[-1]))
        end--;
    return end > word && strchr(".?!", end[-1]);
}

static enum fa_status check_sentences(struct lesson_reader *reader, const char *text, int line)
{
    const char *begin = text;
    int words = 0;
    bool lettered;
    for (const char *at = text; *(at += strspn(at, " \n")) != '\0';) {
        const char *end = *at == '\t' ? at + 1 : word_end(at, &lettered);
        bool stop = *at == '\t' || ends_sentence(at, end);
        words += *at != '\t' && lettered;
        if (words > LESSON_SENTENCE_WORDS) {
            char excerpt[LESSON_EXCERPT];
            return lesson_refuse(
                reader, line, "the sentence %s has more words: expected at most %d",
                lesson_excerpt(begin, strlen(begin), excerpt), LESSON_SENTENCE_WORDS);
        }
        at = end;
        if (stop) {
            words = 0;
            begin = at + strspn(at, " \t\n");
        }
    }
    return FA_OK;
}

static enum fa_status check_expressions(struct lesson_reader *reader, const char *text, int line)
{
    char expression[512];
    struct fa_error inner;
    for (const char *at = text; *(at += strcspn(at, "{}")) != '\0'; at++) {
        size_t n = strcspn(at + 1, "{}");
        if (*at == '}' || at[1 + n] != '}')
            return lesson_refuse(reader, line, "a %c without its other half: expected {EXPRESSION}",
                                 *at);
        if (n >= sizeof expression)
            return lesson_refuse(reader, line, "an expression of %zu bytes: expected at most %zu",
                                 n, sizeof expression - 1);
        memcpy(expression, at + 1, n);
        expression[n] = '\0';
        if (lesson_expression_check(expression, &inner) != FA_OK)
            return lesson_refuse(reader, line, "{%s}: %s", expression, inner.text);
        at += n + 1;
    }
    return FA_OK;
}

enum fa_status lesson_text_check(struct lesson_reader *reader, const char *text, int line)
{
    enum fa_status status = check_expressions(reader, text, line);
    if (status == FA_OK)
        status = lesson_with_check(reader, text, line);
    return status == FA_OK ? check_sentences(reader, text, line) : status;
}

static enum fa_status keep_said(struct lesson_reader *reader, const char *words, size_t n, int line)
{
    struct lesson_memory *memory = reader->lesson->memory;
    struct lesson_said *said = lesson_take(memory, sizeof *said);
    if (!said || !(said->words = lesson_keep(memory, words, n)))
        return lesson_no_memory(reader);
    said->line = line;
    if (reader->last_said)
        reader->last_said->next = said;
    else
        reader->lesson->said = said;
    reader->last_said = said;
    return FA_OK;
}

enum fa_status lesson_options_check(struct lesson_reader *reader, const char *words, int line)
{
    char joined[LESSON_WORDS];
    struct fa_error inner;
    if (lesson_words_join("", words, joined, sizeof joined, &inner) != FA_OK)
        return lesson_refuse(reader, line, "%s", inner.text);
    return keep_said(reader, words, strlen(words), line);
}

enum fa_status lesson_with_check(struct lesson_reader *reader, const char *text, int line)
{
    static const char begin[] = "with(\"";
    enum fa_status status = FA_OK;
    while (status == FA_OK && (text = strstr(text, begin))) {
        text += sizeof begin - 1;
        size_t n = strcspn(text, "\"");
        status = keep_said(reader, text, n, line);
    }
    return status;
}

/* ---- terms ---- */

/* How far the term reaches at the start of the text, 0: it does not stand there. Any blanks between
 * two of its words are as good as one. */
static size_t term_length(const char *text, const char *term)
{
    const char *at = text;
    for (; *term; term++) {
        if (is_blank(*term)) {
            if (!is_blank(*at))
                return 0;
            at += strspn(at, " \t\n");
        } else if (tolower((unsigned char)*at) == tolower((unsigned char)*term)) {
            at++;
        } else {
            return 0;
        }
    }
    at += tolower((unsigned char)*at) == 's' && !is_letter(at[1]);
    return is_letter(*at) ? 0 : (size_t)(at - text);
}

bool lesson_uses_term(const char *text, const char *term)
{
    bool inside = false;
    for (const char *at = text; *at; at++) {
        inside = *at == '{' ? true : *at == '}' ? false : inside;
        if (!inside && (at == text || !is_letter(at[-1])) && term_length(at, term) > 0)
            return true;
    }
    return false;
}

bool lesson_step_text(const struct lesson_step *step, int index, const char **text, int *line)
{
    const struct lesson_question *q = step->question;
    *text = step->title;
    *line = step->line;
    if (index-- == 0)
        return true;
    if (index < step->n_blocks) {
        *text = step->block[index].kind == LESSON_CODE ? NULL : step->block[index].text;
        *line = step->block[index].line;
        return true;
    }
    index -= step->n_blocks;
    *text = NULL;
    *line = q ? q->line : 0;
    if (index < 2 + LESSON_HINTS + 2 * LESSON_CHOICES) {
        if (!q)
            return true;
        if (index < 2)
            *text = index == 0 ? q->text : q->why;
        else if (index - 2 < LESSON_HINTS)
            *text = index - 2 < q->n_hints ? q->hint[index - 2] : NULL;
        else if ((index -= 2 + LESSON_HINTS) / 2 < q->n_choices)
            *text = index % 2 ? q->choice[index / 2].feedback : q->choice[index / 2].label;
        return true;
    }
    index -= 2 + LESSON_HINTS + 2 * LESSON_CHOICES;
    if (index < 2 && step->breaks) {
        *text = index == 0 ? step->breaks->text : step->breaks->consequence;
        *line = step->breaks->line;
    }
    return index < 2;
}

/* The first text of a step that uses the term; 0: none does. */
static int first_use(const struct lesson_step *step, const char *term)
{
    const char *text;
    int line;
    for (int i = 0; lesson_step_text(step, i, &text, &line); i++)
        if (text && lesson_uses_term(text, term))
            return line;
    return 0;
}

enum fa_status lesson_terms_place(struct lesson_reader *reader)
{
    struct lesson *lesson = reader->lesson;
    for (int t = 0; t < lesson->n_terms; t++) {
        const struct lesson_term *term = &lesson->term[t];
        int line = 0, s = 0;
        for (; s < lesson->n_steps && line == 0; s++)
            line = first_use(&lesson->step[s], term->name);
        if (line == 0)
            return lesson_refuse(reader, term->line,
                                 "the term '%s' is in no step: expected one that uses it",
                                 term->name);
        struct lesson_step *step = &lesson->step[s - 1];
        if (step->introduces)
            return lesson_refuse(
                reader, line, "'%s' is new in the same step as '%s': expected one new term a step",
                term->name, step->introduces);
        step->introduces = term->name;
    }
    return FA_OK;
}
