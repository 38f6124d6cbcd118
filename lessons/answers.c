/* Answers of questions, and what a learner's answer is worth. */
#include "lessons/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A refusal gets the question's place, and what of it was being computed. */
static enum fa_status at_question(const struct lesson *lesson,
                                  const struct lesson_question *question, const char *what,
                                  enum fa_status status, const struct fa_error *inner,
                                  struct fa_error *error)
{
    if (status == FA_BAD_ARGUMENT || status == FA_DOES_NOT_FIT)
        status = FA_BAD_FILE;
    return fa_fail(error, status, "%.300s:%d: question %s, %s: %s", lesson->file, question->line,
                   question->id, what, inner->text);
}

static enum fa_status evaluate(const struct lesson *lesson, const struct lesson_question *question,
                               int choice, const char *words, const struct lesson_runner *runner,
                               double *value, struct fa_error *error)
{
    struct fa_error inner;
    char what[32] = "the answer";
    const char *expression =
        choice < 0 ? question->expression : question->choice[choice].expression;
    enum fa_status status = lesson_evaluate(expression, words, runner, value, &inner);
    if (status == FA_OK)
        return FA_OK;
    if (choice >= 0)
        snprintf(what, sizeof what, "choice %d", choice + 1);
    return at_question(lesson, question, what, status, &inner, error);
}

static bool is_exact(double right)
{
    return fabs(right) < 100 && fabs(right - round(right)) <= 1e-9;
}

/* Whether a learner's number is as good as the value. */
static bool is_close(const struct lesson_question *question, double given, double value)
{
    double allowed = question->tolerance * fabs(value);
    if (is_exact(value) && !question->tolerance_given)
        allowed = 0;
    return fabs(given - value) <= allowed + 1e-9 * fmax(1, fabs(value));
}

/* Whether two computed values are one. */
static bool is_equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

enum fa_status lesson_answers_of(const struct lesson *lesson,
                                 const struct lesson_question *question, const char *words,
                                 const struct lesson_runner *runner, struct lesson_answers *answers,
                                 struct fa_error *error)
{
    struct lesson_answers made = {0};
    int right = 0;
    enum fa_status status = evaluate(lesson, question, -1, words, runner, &made.right, error);
    for (int c = 0; c < question->n_choices && status == FA_OK; c++)
        status = evaluate(lesson, question, c, words, runner, &made.choice[c], error);
    if (status != FA_OK)
        return status;
    for (int c = 0; c < question->n_choices; c++) {
        bool is_right = is_equal(made.choice[c], made.right);
        right += is_right;
        if (question->kind != LESSON_CHOICE && is_close(question, made.choice[c], made.right))
            return fa_fail(error, FA_BAD_FILE,
                           "%.300s:%d: question %s, choice %d is %g and the answer %g: expected a "
                           "wrong answer that differs by more than the tolerance",
                           lesson->file, question->line, question->id, c + 1, made.choice[c],
                           made.right);
        if (question->kind == LESSON_CHOICE && question->choice[c].right && !is_right)
            return fa_fail(
                error, FA_BAD_FILE,
                "%.300s:%d: question %s, choice %d is %g and said to be right, the answer "
                "is %g: expected the same",
                lesson->file, question->line, question->id, c + 1, made.choice[c], made.right);
        for (int other = 0; other < c; other++)
            if (is_equal(made.choice[c], made.choice[other]))
                return fa_fail(
                    error, FA_BAD_FILE,
                    "%.300s:%d: question %s, choices %d and %d are both %g: expected values "
                    "that differ",
                    lesson->file, question->line, question->id, other + 1, c + 1, made.choice[c]);
    }
    if (question->kind == LESSON_CHOICE && right != 1)
        return fa_fail(error, FA_BAD_FILE,
                       "%.300s:%d: question %s: no choice is %g, the answer: expected one that is",
                       lesson->file, question->line, question->id, made.right);
    *answers = made;
    return FA_OK;
}

/* Whether a choice stays: the right one, or one whose value no other has. */
static bool stays(const struct lesson_question *question, const struct lesson_answers *answers,
                  int choice)
{
    double value = answers->choice[choice];
    if (question->kind != LESSON_CHOICE || question->choice[choice].right)
        return true;
    for (int c = 0; c < question->n_choices; c++)
        if (c != choice && is_equal(answers->choice[c], value) &&
            (c < choice || question->choice[c].right))
            return false;
    return true;
}

enum fa_status lesson_question_fit(const struct lesson *lesson,
                                   const struct lesson_question *question, const char *words,
                                   const struct lesson_runner *runner,
                                   struct lesson_question *asked, struct lesson_answers *answers,
                                   struct fa_error *error)
{
    struct lesson_question fit = *question;
    struct lesson_answers all = {0}, kept = {0};
    int right = 0;
    fit.n_choices = 0;
    enum fa_status status = evaluate(lesson, question, -1, words, runner, &all.right, error);
    for (int c = 0; c < question->n_choices && status == FA_OK; c++)
        status = evaluate(lesson, question, c, words, runner, &all.choice[c], error);
    if (status == FA_NO_MEMORY || status == FA_CANCELLED)
        return status;
    kept.right = all.right;
    for (int c = 0; c < question->n_choices && status == FA_OK; c++) {
        bool is_right = is_equal(all.choice[c], all.right);
        if (question->choice[c].right && !is_right)
            right = question->n_choices; /* it would be graded wrong */
        if (!stays(question, &all, c))
            continue;
        right += is_right;
        kept.choice[fit.n_choices] = all.choice[c];
        fit.choice[fit.n_choices++] = question->choice[c];
    }
    if (status != FA_OK || (fit.kind == LESSON_CHOICE && (right != 1 || fit.n_choices < 2)))
        return fa_fail(error, FA_UNSUPPORTED,
                       status == FA_OK
                           ? "the question cannot be asked of it, since its answer is none of the "
                             "choices"
                           : "the question cannot be asked of it, since its answer cannot be "
                             "computed");
    *asked = fit;
    *answers = kept;
    return FA_OK;
}

/* ---- grading ---- */

/* What a wrong answer without a sentence of its own is told: the side that the answer lies on, and
 * no more, or a division would give it away before the second try. */
static void say_distance(const struct lesson_question *question, struct lesson_grade *grade)
{
    double times = grade->right != 0 ? grade->given / grade->right : 0;
    const char *text = "The run gives another value.";
    if (question->kind != LESSON_CHOICE && times > 0)
        text = fabs(times - 1) < .1 ? "That is close to what the run gives."
               : times > 10         ? "That is far more than the run gives."
               : times > 1          ? "That is more than the run gives."
               : times < .1         ? "That is far less than the run gives."
                                    : "That is less than the run gives.";
    snprintf(grade->feedback, sizeof grade->feedback, "%s", text);
}

/* The feedback of a choice, or the reason after a right answer. */
static enum fa_status say(const struct lesson *lesson, const struct lesson_question *question,
                          const char *text, const char *words, const struct lesson_runner *runner,
                          struct lesson_grade *grade, struct fa_error *error)
{
    struct fa_error inner;
    enum fa_status status =
        lesson_fill(text, words, runner, grade->feedback, sizeof grade->feedback, &inner);
    return status == FA_OK ? FA_OK
                           : at_question(lesson, question, "the feedback", status, &inner, error);
}

/* Which choice an answer is, -1: none. An index goes before a value. */
static enum fa_status find_choice(const struct lesson *lesson,
                                  const struct lesson_question *question, const char *words,
                                  const struct lesson_runner *runner, struct lesson_grade *grade,
                                  struct fa_error *error)
{
    double value;
    grade->choice = -1;
    if (question->kind == LESSON_CHOICE && grade->given >= 1 &&
        grade->given <= question->n_choices && grade->given == floor(grade->given)) {
        grade->choice = (int)grade->given - 1;
        return evaluate(lesson, question, grade->choice, words, runner, &grade->given, error);
    }
    for (int c = 0; c < question->n_choices; c++) {
        enum fa_status status = evaluate(lesson, question, c, words, runner, &value, error);
        if (status != FA_OK)
            return status;
        if (is_close(question, grade->given, value)) {
            grade->choice = c;
            return FA_OK;
        }
    }
    return FA_OK;
}

/* What is no answer to the question is told what would be one, and is not graded. */
static enum fa_status refuse(const struct lesson_question *question, const char *answer,
                             struct fa_error *error)
{
    char expected[96], low[LESSON_NUMBER_TEXT], high[LESSON_NUMBER_TEXT];
    if (question->kind == LESSON_CHOICE)
        snprintf(expected, sizeof expected, "the number of a choice, 1 to %d", question->n_choices);
    else if (question->kind == LESSON_SLIDER)
        snprintf(expected, sizeof expected, "a number from %s to %s",
                 lesson_number_text(question->low, low), lesson_number_text(question->high, high));
    else
        snprintf(expected, sizeof expected, "a number, as 73728, 73,728 or 7.4e4");
    return fa_fail(error, FA_BAD_ARGUMENT, "%.60s: expected %s", answer, expected);
}

/* The number given lies on the slider's scale, whose ends are written with fewer digits. */
static bool is_on_scale(const struct lesson_question *question, double given)
{
    return given >= question->low * (1 - 1e-9) && given <= question->high * (1 + 1e-9);
}

enum fa_status lesson_grade_answer(const struct lesson *lesson,
                                   const struct lesson_question *question, const char *words,
                                   const struct lesson_runner *runner, const char *answer,
                                   struct lesson_grade *grade, struct fa_error *error)
{
    struct lesson_grade made = {.verdict = LESSON_WRONG, .choice = -1};
    if (!lesson_number_read(answer, question->unit, &made.given) ||
        (question->kind == LESSON_SLIDER && !is_on_scale(question, made.given)))
        return refuse(question, answer, error);
    enum fa_status status = evaluate(lesson, question, -1, words, runner, &made.right, error);
    bool is_choice = question->kind == LESSON_CHOICE;
    if (status == FA_OK && (is_choice || !is_close(question, made.given, made.right)))
        status = find_choice(lesson, question, words, runner, &made, error);
    if (status == FA_OK && is_choice && made.choice < 0)
        status = refuse(question, answer, error);
    if (status != FA_OK)
        return status;
    const struct lesson_choice *choice = made.choice < 0 ? NULL : &question->choice[made.choice];
    bool right = is_choice ? choice && is_equal(made.given, made.right)
                           : is_close(question, made.given, made.right);
    const char *text = right ? question->why : choice ? choice->feedback : NULL;
    if (right)
        made.verdict = LESSON_RIGHT;
    else if (choice && choice->feedback)
        made.verdict = LESSON_WRONG_KNOWN;
    if (text)
        status = say(lesson, question, text, words, runner, &made, error);
    else
        say_distance(question, &made);
    if (status == FA_OK)
        *grade = made;
    return status;
}
