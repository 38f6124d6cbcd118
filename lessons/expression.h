/*
 * Between the files that evaluate expressions: the parser (expression.c), what names and calls
 * stand for (quantities.c), and runs that were counted (counts.c). The language itself is described
 * in answers.h.
 */
#ifndef LESSON_EXPRESSION_H
#define LESSON_EXPRESSION_H

#include "lessons/answers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run's counts, and what follows from them while the result's problem is whole. */
struct lesson_counts {
    char words[LESSON_WORDS];
    bool refused, masked; /* masked: the problem had a mask or bias, which the result has no more */
    struct sim_result result;
    uint64_t needs;
    int64_t largest_square;
};

enum { LESSON_COUNTS = 8 };

/* One evaluation. Without a runner the expression is only read: every quantity is 1. */
struct lesson_evaluation {
    const struct lesson_runner *runner;
    struct lesson_counts *counts[LESSON_COUNTS]; /* the latest, any order */
    int n_counts, next;
    uint64_t steps; /* of sweeps, all together */
    struct fa_error *error;
};

/* The counts of the words' run, kept for the evaluation. */
enum fa_status lesson_counts_get(struct lesson_evaluation *evaluation, const char *words,
                                 const struct lesson_counts **counts);

/* A position in an expression. `words` is the run that names are of. */
struct lesson_parser {
    struct lesson_evaluation *evaluation;
    const char *text, *at;
    const char *words;
    int depth;
};

/* FA_BAD_ARGUMENT with the expression and the place in it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
enum fa_status
lesson_expression_refuse(struct lesson_parser *parser, const char *format, ...);

/* Each takes blanks after it. */
bool lesson_parser_mark(struct lesson_parser *parser, char mark);
enum fa_status lesson_parser_expect(struct lesson_parser *parser, char mark);
bool lesson_parser_name(struct lesson_parser *parser, char *name,
                        size_t size); /* [A-Za-z_][A-Za-z0-9_]* */
enum fa_status lesson_parser_quoted(struct lesson_parser *parser, char *text, size_t size);
enum fa_status lesson_parser_value(struct lesson_parser *parser, double *value); /* an expression */

enum fa_status lesson_parser_tensor(struct lesson_parser *parser, enum fa_tensor_id *id);
/* Without a runner any value will do, and *number is 1. */
enum fa_status lesson_parser_whole(struct lesson_parser *parser, int64_t *number);

/* The refusal of a name that there is not, with the nearest of those that there are. */
enum fa_status lesson_name_refuse(struct lesson_parser *parser, const char *what, const char *name,
                                  const char *const *names, int n);

/* The run that the parser stands at; without a runner NULL. */
enum fa_status lesson_counts_current(struct lesson_parser *parser,
                                     const struct lesson_counts **counts);

/* quantities.c: a name's value. */
enum fa_status lesson_quantity_name(struct lesson_parser *parser, const char *name, double *value);

/* calls.c: a call, whose ( was taken, up to and with its ). Its name is known. */
bool lesson_quantity_known(const char *name);
enum fa_status lesson_quantity_call(struct lesson_parser *parser, const char *name, double *value);
enum fa_status lesson_call_refuse(struct lesson_parser *parser, const char *name);

/* quantities.c: calls that look at counts alone. */
typedef enum fa_status lesson_call(struct lesson_parser *parser, const char *name, double *value);
lesson_call lesson_call_moved, lesson_call_bytes, lesson_call_flops, lesson_call_tiles,
    lesson_call_chip, lesson_call_blocks, lesson_call_dram;

/* Unsigned digits, a fraction, an exponent, with a point in any locale; *text goes past them. */
bool lesson_digits_read(const char **text, double *value);

#ifdef __cplusplus
}
#endif
#endif
