/*
 * What the files that read a lesson share: the file's bytes, where texts go, and how a bad file is
 * refused.
 */
#ifndef LESSON_READER_H
#define LESSON_READER_H

#include "lessons/lesson.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lesson_chunk {
    struct lesson_chunk *next;
    size_t used, size;
    /* the bytes follow */
};

struct lesson_memory {
    struct lesson_chunk *chunks;
};

/* Bytes for the lesson's lifetime, zeroed, aligned for any struct; NULL: no memory. */
void *lesson_take(struct lesson_memory *memory, size_t size);
char *lesson_keep(struct lesson_memory *memory, const char *bytes, size_t n); /* with a final 0 */
void lesson_memory_free(struct lesson_memory *memory);

struct lesson_reader {
    const char *name;      /* the file, in messages */
    struct lesson *lesson; /* that is being filled */
    struct fa_error *error;
    const char *ids[LESSON_QUESTIONS + 1]; /* of the questions so far, the recall's too */
    int id_lines[LESSON_QUESTIONS + 1], n_ids;
    bool has_show; /* of the current step */
    struct lesson_said *last_said;
};

/* FA_BAD_FILE with "name:line: ". */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum fa_status
lesson_refuse(struct lesson_reader *reader, int line, const char *format, ...);
enum fa_status lesson_no_memory(struct lesson_reader *reader);

/* A piece of the file for a message: its first characters in quotes. */
enum { LESSON_EXCERPT = 64 };
const char *lesson_excerpt(const char *text, size_t n, char excerpt[LESSON_EXCERPT]);

/* The word of the list that was probably meant; NULL: none is near. */
const char *lesson_nearest(const char *word, const char *const *words, int n);

/* ---- wording.c ---- */

/* Words in a text: what stands between spaces and has a letter or digit; {an expression} is one. */
int lesson_words_count(const char *text);

/* A text that a learner reads: sentences that are short enough, {expressions} that are ones. */
enum fa_status lesson_text_check(struct lesson_reader *reader, const char *text, int line);

/* Whether the term stands in the text as words of their own, in any case, with or without a plural
 * s; {expressions} do not count. */
bool lesson_uses_term(const char *text, const char *term);

/* Which step introduces which term, one new one a step. */
enum fa_status lesson_terms_place(struct lesson_reader *reader);

/* Words of options: each name begins with --. They are kept in the lesson's `said`. */
enum fa_status lesson_options_check(struct lesson_reader *reader, const char *words, int line);

/* The words of each with("...") in an expression or a text are kept there too. */
enum fa_status lesson_with_check(struct lesson_reader *reader, const char *text, int line);

/* ---- what a file is made of; first_line is the line of bytes[0] ---- */

/* front_matter.c: the YAML between the --- lines. */
enum fa_status lesson_front_matter_read(struct lesson_reader *reader, const char *bytes, size_t n,
                                        int first_line);

/* steps.c: YAML of a block ("show", "ask", "break") into the step. block_line is that of its
 * ```. */
enum fa_status lesson_step_block_read(struct lesson_reader *reader, struct lesson_step *step,
                                      const char *kind, const char *bytes, size_t n,
                                      int block_line);

/* question.c: an `ask` block, or a recall, which has a scenario too (NULL: it has none). */
struct lesson_yaml;
struct yaml_node_s;
enum fa_status lesson_question_read(struct lesson_yaml *yaml, const struct yaml_node_s *node,
                                    struct lesson_question *question, lesson_words *scenario);

/* prose.c: CommonMark into blocks of the step. */
enum fa_status lesson_prose_read(struct lesson_reader *reader, struct lesson_step *step,
                                 const char *bytes, size_t n, int first_line);

#ifdef __cplusplus
}
#endif
#endif
