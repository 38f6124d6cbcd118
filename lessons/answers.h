/*
 * Answers, computed: expressions over what runs of a scenario counted and computed.
 *
 * An expression is arithmetic (+ - * / ^, parentheses, numbers, ceil floor round abs sqrt exp ln
 * log2 min max) and comparisons (< <= > >= == !=, 1 or 0; they bind least) over names:
 *   n nq nk d dv heads kv_heads batch scale   the run's problem; n is nk
 *   br bc tr tc                    the sides of its tiles, how many there are
 *   sram m_elems size              capacity in bytes, in elements of the dtype, bytes of an element
 *   sms f                          the machine's SMs; 1 or 2, standard's softmax passes
 *   read(K) write(O) moved(S) moved()         elements, counted, one head; bytes(read(K))
 *   flops() flops(matmul) flops(exp) flops(other)   counted, one head
 *   tiles() skipped() masked()     score tiles, counted, one head
 *   loads(K,2) stores(O,3)         events of one tile by the end of the run
 *   cell(S,1,2) cell(m,4)          values by row and column (0 if left out) at the end
 *   cell("0,2",m,4)                the same after a tile was accumulated, or an event ("46")
 *   peak() needs()                 bytes on chip of one SM: held, and to hold
 *   fits() largest_square()        1 or 0; the largest square that fits, 0: none does
 *   kept()                         bytes that forward keeps for backward, all heads
 *   units() waves()                thread blocks of all heads, rounds of them over the SMs;
 *                                  units(2), waves(2): of phase 2, else of all phases
 *   dram() dram(read) dram(write)  bytes of DRAM that the L2 model predicts, all heads
 *   measured("NAME")               what the program measures on the run under that name
 *   with("--tiles 64x64", EXPR)    EXPR of a run with other options
 *   sweep_first("br", 8, 1024, EXPR)   the least whole value of an option for which EXPR is not 0;
 *                                  br and bc are sides of --tiles; refused runs are passed over
 * Tensors: Q K V O S P LSE l m dO dQ dK dV dP dS delta mask bias dropout, in any case. One pass of
 * `standard` is with("--algorithm standard --tiles 1024x1024 --sram 1G", moved()), same tiles is
 * with("--algorithm standard", moved()). A run that the machine refuses has no counts: only its
 * names, needs(), fits() and largest_square().
 */
#ifndef LESSON_ANSWERS_H
#define LESSON_ANSWERS_H

#include "lessons/lesson.h"
#include "simulator/experiment.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What runs scenarios for the expressions: the words of options are the program's to read. `cell`,
 * `trips` and `measure` may be NULL: expressions that need them are refused then.
 */
struct lesson_runner {
    /* Counts the words' run (no arithmetic), as lesson_count does. What the result's problem points
     * to is looked at before the next call alone. */
    enum fa_status (*count)(void *context, const char *words, struct sim_result *result,
                            bool *refused, struct fa_error *error);
    /* One value of the run's: tensor's element after `at` (as view --at), on chip (row, column of
     * the matrix) or in HBM. NaN where there is none. */
    enum fa_status (*cell)(void *context, const char *words, const char *at, enum fa_tensor_id id,
                           int64_t row, int64_t column, double *value, struct fa_error *error);
    /* Loads (or stores) of one tile by the end of the run. */
    enum fa_status (*trips)(void *context, const char *words, enum fa_tensor_id id, int64_t tile,
                            bool store, int64_t *count, struct fa_error *error);
    /* A quantity by its name, measured on the words' run. FA_BAD_ARGUMENT for an unknown name. */
    enum fa_status (*measure)(void *context, const char *words, const char *name, double *value,
                              struct fa_error *error);
    void *context;
};

/*
 * Counts an experiment (its mode is set here) for a runner. Where the machine refuses it: FA_OK,
 * *refused, and a result whose algorithm, pass, problem, tiles and machine alone are filled in.
 * Errors: those of sim_experiment_run but that.
 */
enum fa_status lesson_count(const struct sim_experiment *experiment, struct sim_result *result,
                            bool *refused, struct fa_error *error);

/* Errors: FA_BAD_ARGUMENT with the place in the expression and what was expected, also for a value
 * that is not a finite number; FA_DOES_NOT_FIT for counts of a refused run; FA_TOO_LARGE;
 * FA_NO_MEMORY; the runner's. */
enum fa_status lesson_evaluate(const char *expression, const char *words,
                               const struct lesson_runner *runner, double *value,
                               struct fa_error *error);

/* The syntax and the names alone, without a run. */
enum fa_status lesson_expression_check(const char *expression, struct fa_error *error);

/* A number as lessons write it: whole ones up to 9 999 999 in groups with narrow spaces, above
 * "34.1 million", others with four significant digits; a real minus, never a decimal comma. */
enum { LESSON_NUMBER_TEXT = 48 };
const char *lesson_number_text(double value, char text[LESSON_NUMBER_TEXT]);

/* A number with its unit: "36 992 elements", "1 trip", "12%". Returns text. */
const char *lesson_quantity_text(double value, const char *unit, char *text, size_t size);

/* A learner's number: digits with spaces or commas between groups, a decimal point or comma, an
 * exponent, and after it nothing, "%" or the unit. False: it is none. */
bool lesson_number_read(const char *text, const char *unit, double *value);

/* A text whose {expressions} are computed and put in as lesson_number_text has them. FA_TOO_LARGE
 * past size. */
enum fa_status lesson_fill(const char *text, const char *words, const struct lesson_runner *runner,
                           char *out, size_t size, struct fa_error *error);

/* Words with other words in place of those of their names: a scenario and its differences. --nq or
 * --nk also takes the place of --n, and --n theirs; --no-NAME takes --NAME out. FA_BAD_ARGUMENT,
 * FA_TOO_LARGE. */
enum fa_status lesson_words_join(const char *words, const char *more, char *out, size_t size,
                                 struct fa_error *error);

struct lesson_answers {
    double right;
    double choice[LESSON_CHOICES]; /* values of the choices */
};

/* Values of all choices. Two choices of equal value (also a wrong one that equals the right
 * answer), or none right: FA_BAD_FILE with file and line, which the evaluation's errors get too. */
enum fa_status lesson_answers_of(const struct lesson *lesson,
                                 const struct lesson_question *question, const char *words,
                                 const struct lesson_runner *runner,
                                 struct lesson_answers *answers, struct fa_error *error);

/*
 * The same of a run that a learner chose, in which values may meet that differ in the lesson's own:
 * *asked becomes the question without the wrong choices that equal the answer or a choice before.
 * Errors: FA_UNSUPPORTED, in words for the learner, where there is no answer or choice to ask for
 * then; FA_NO_MEMORY, FA_CANCELLED.
 */
enum fa_status lesson_question_fit(const struct lesson *lesson,
                                   const struct lesson_question *question, const char *words,
                                   const struct lesson_runner *runner,
                                   struct lesson_question *asked, struct lesson_answers *answers,
                                   struct fa_error *error);

/* The answers of all questions of a lesson, the recall's too, and the whole words of their runs. */
struct lesson_answer_key {
    const struct lesson *lesson;
    const struct lesson_question *question[LESSON_QUESTIONS + 1];
    double right[LESSON_QUESTIONS + 1];
    char words[LESSON_QUESTIONS + 1][LESSON_WORDS];
    int n;
};

#define LESSON_BLANK "______"

/*
 * lesson_fill for one who has all steps before his eyes, the questions unanswered: on paper. A
 * LESSON_BLANK stands for what would give an answer away, *n_blanks times: an answer, or an
 * expression that has one as its part; in a table (`cells`) after the first question's step all that
 * the prose up to the step (from 0) has not told. Small whole numbers are told by their expression
 * alone. Key NULL: no blanks.
 */
enum fa_status lesson_fill_open(const char *text, const char *words,
                                const struct lesson_runner *runner,
                                const struct lesson_answer_key *key, int step, bool cells,
                                char *out, size_t size, int *n_blanks, struct fa_error *error);

enum lesson_verdict {
    LESSON_RIGHT,
    LESSON_WRONG,
    LESSON_WRONG_KNOWN /* one that has a sentence of its own */
};

struct lesson_grade {
    enum lesson_verdict verdict;
    int choice;           /* the choice that it is, -1: none */
    double given, right;
    char feedback[400];   /* what this answer would mean, filled in */
};

/* Grades one answer: of a choice its index (from 1) or its value, of the others a number; digits
 * with spaces or commas are read. FA_BAD_ARGUMENT, with what is expected, for what is no number, none
 * of the choices, or off the slider's scale. */
enum fa_status lesson_grade_answer(const struct lesson *lesson,
                                   const struct lesson_question *question, const char *words,
                                   const struct lesson_runner *runner, const char *answer,
                                   struct lesson_grade *grade, struct fa_error *error);

#ifdef __cplusplus
}
#endif
#endif
