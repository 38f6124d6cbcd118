/* flashlab lesson answer: grades a file of answers, and writes a result that can be graded again.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/cli/lesson_command.h"
#include "simulator/cli/outputs.h"

enum { MOST_QUESTIONS = LESSON_QUESTIONS + 1 };

struct graded {
    const struct lesson_question *question;
    char words[LESSON_WORDS];
    char given[256];     /* as it stands in the file; "": not answered */
    const char *verdict; /* "right", "another", "not answered", "not read" */
    char feedback[CLI_LESSON_TEXT];
    bool changed; /* the file was made with other parameters */
};

struct grading {
    struct graded of[MOST_QUESTIONS];
    int n, right;
};

static enum fa_status bad(const char *path, struct fa_error *error, const char *what)
{
    return fa_fail(error, FA_BAD_FILE, "%.400s: %s", path, what);
}

/* {"lesson": N, "seed": S, "answers": {...}}, and what a result has besides. */
static enum fa_status check_file(const struct lesson *lesson, const char *path, const json_t *file,
                                 struct fa_error *error)
{
    static const char *const known[] = {"lesson", "seed",       "answers", "schema", "version",
                                        "title",  "parameters", "graded",  "right",  "questions",
                                        "share",  "threshold",  "passed"};
    const json_t *number = json_object_get(file, "lesson");
    const json_t *seed = json_object_get(file, "seed");
    const char *key;
    const json_t *value;
    char text[160];
    if (!json_is_integer(number))
        return bad(path, error,
                   "expected {\"lesson\": N, \"seed\": S, \"answers\": {\"id\": value}}");
    if (json_integer_value(number) != lesson->number) {
        snprintf(text, sizeof text,
                 "answers to lesson %" JSON_INTEGER_FORMAT ": expected those to %d",
                 json_integer_value(number), lesson->number);
        return bad(path, error, text);
    }
    if (seed && !json_is_null(seed) && !(json_is_integer(seed) && json_integer_value(seed) >= 0))
        return bad(path, error, "seed: expected a whole number, 0 or more, or null");
    if (!json_is_object(json_object_get(file, "answers")))
        return bad(path, error, "answers: expected {\"id\": value}");
    json_object_foreach((json_t *)file, key, value)
    {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(known[k], key) != 0)
            k++;
        if (k == sizeof known / sizeof *known) {
            snprintf(text, sizeof text, "%.80s: expected lesson, seed and answers", key);
            return bad(path, error, text);
        }
    }
    return FA_OK;
}

/* Each answer is one to a question. */
static enum fa_status check_ids(const struct grading *grading, const char *path, json_t *answers,
                                struct fa_error *error)
{
    const char *key;
    json_t *value;
    char text[300], ids[160] = "";
    size_t used = 0;
    for (int q = 0; q < grading->n && used < sizeof ids; q++)
        used += (size_t)snprintf(ids + used, sizeof ids - used, "%s%s", q ? ", " : "",
                                 grading->of[q].question->id);
    json_object_foreach(answers, key, value)
    {
        int q = 0;
        while (q < grading->n && strcmp(grading->of[q].question->id, key) != 0)
            q++;
        snprintf(text, sizeof text, "answers: \"%.60s\" is no question: expected one of %s", key,
                 ids);
        if (q == grading->n)
            return bad(path, error, text);
        snprintf(text, sizeof text, "answers: \"%.60s\": expected a number, or a text with one",
                 key);
        if (!json_is_number(value) && !json_is_string(value) && !json_is_null(value))
            return bad(path, error, text);
    }
    return FA_OK;
}

/* As short as it can be read back from: 0.47, where seventeen digits are 0.46999999999999997. */
static void put_real(double value, char text[256])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 256, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static void put_given(const json_t *value, char text[256])
{
    text[0] = '\0';
    if (json_is_string(value))
        snprintf(text, 256, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, 256, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        put_real(json_real_value(value), text);
}

static enum fa_status grade_one(const struct cli_lessons *lessons, const struct lesson *lesson,
                                struct graded *graded, const json_t *value, const char *before,
                                struct fa_error *error)
{
    struct lesson_grade grade;
    struct fa_error inner;
    put_given(value, graded->given);
    graded->changed = before && strcmp(before, graded->words) != 0;
    graded->verdict = "not answered";
    if (!graded->given[strspn(graded->given, " \t")])
        return FA_OK;
    enum fa_status status =
        lesson_grade_answer(lesson, graded->question, graded->words,
                            cli_lesson_runner_face(lessons->runner), graded->given, &grade, &inner);
    if (status == FA_BAD_ARGUMENT) {
        graded->verdict = "not read";
        snprintf(graded->feedback, sizeof graded->feedback, "%s", inner.text);
        return FA_OK;
    }
    if (status != FA_OK)
        return fa_fail(error, status, "%s", inner.text);
    graded->verdict = grade.verdict == LESSON_RIGHT ? "right" : "another";
    snprintf(graded->feedback, sizeof graded->feedback, "%s", grade.feedback);
    return FA_OK;
}

static enum fa_status grade_all(const struct cli_lessons *lessons, const struct lesson *lesson,
                                const char *path, const json_t *file, struct grading *grading,
                                struct fa_error *error)
{
    json_t *answers = json_object_get(file, "answers");
    const json_t *before = json_object_get(file, "parameters");
    lesson_words words;
    enum fa_status status = FA_OK;
    while (grading->n < MOST_QUESTIONS &&
           cli_lesson_question(lesson, grading->n, &grading->of[grading->n].question, &words) &&
           status == FA_OK)
        status = cli_lesson_words(lessons, lesson, words, grading->of[grading->n++].words, error);
    if (status == FA_OK && grading->n == 0)
        status =
            fa_fail(error, FA_BAD_ARGUMENT, "lesson %d has no questions to grade", lesson->number);
    if (status == FA_OK)
        status = check_ids(grading, path, answers, error);
    for (int q = 0; q < grading->n && status == FA_OK; q++) {
        struct graded *graded = &grading->of[q];
        const char *id = graded->question->id;
        status = grade_one(lessons, lesson, graded, json_object_get(answers, id),
                           json_string_value(json_object_get(before, id)), error);
        grading->right += strcmp(graded->verdict, "right") == 0;
    }
    return status;
}

/* ---- the report ---------------------------------------------------------------------------- */

static bool passes(const struct cli_lessons *lessons, const struct grading *grading)
{
    return (double)grading->right >= lessons->options->threshold * (double)grading->n - 1e-9;
}

static json_t *make_json(const struct cli_lessons *lessons, const struct lesson *lesson,
                         const struct grading *grading)
{
    json_t *answers = json_object(), *parameters = json_object(), *graded = json_array();
    for (int q = 0; q < grading->n; q++) {
        const struct graded *one = &grading->of[q];
        const char *id = one->question->id;
        json_object_set_new(answers, id, one->given[0] ? json_string(one->given) : json_null());
        json_object_set_new(parameters, id, json_string(one->words));
        json_array_append_new(graded,
                              json_pack("{s:s,s:s,s:s,s:b}", "id", id, "verdict", one->verdict,
                                        "feedback", one->feedback, "changed", one->changed));
    }
    json_t *seed = lessons->seed >= 0 ? json_integer(lessons->seed) : json_null();
    return json_pack("{s:s,s:i,s:s,s:s,s:o,s:o,s:o,s:o,s:i,s:i,s:f,s:f,s:b}", "schema",
                     "flashlab.answers/1", "lesson", lesson->number, "title", lesson->title,
                     "version", FLASHLAB_VERSION, "seed", seed, "parameters", parameters, "answers",
                     answers, "graded", graded, "right", grading->right, "questions", grading->n,
                     "share", (double)grading->right / grading->n, "threshold",
                     lessons->options->threshold, "passed", passes(lessons, grading));
}

static void print_text(const struct cli_lessons *lessons, const struct lesson *lesson,
                       const struct grading *grading)
{
    printf("Lesson %d: %s", lesson->number, lesson->title);
    if (lessons->seed >= 0)
        printf(", seed %" PRId64, lessons->seed);
    putchar('\n');
    for (int q = 0; q < grading->n; q++) {
        const struct graded *graded = &grading->of[q];
        printf("%s: %s%s%s\n", graded->question->id, graded->given, graded->given[0] ? ", " : "",
               strcmp(graded->verdict, "another") == 0 ? "another answer" : graded->verdict);
        if (graded->feedback[0])
            cli_lesson_wrap(stdout, "  ", 2, graded->feedback);
        if (graded->changed)
            printf("  It was answered with other parameters; now they are %s.\n", graded->words);
    }
    printf("%d of %d right: %s (%g or more needed)\n", grading->right, grading->n,
           passes(lessons, grading) ? "passed" : "not passed", lessons->options->threshold);
}

static enum fa_status write_result(const char *path, const json_t *result, struct fa_error *error)
{
    struct cli_file file;
    enum fa_status status = cli_file_open(&file, path, error);
    if (status != FA_OK)
        return status;
    json_dumpf(result, file.file, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    fputc('\n', file.file);
    return cli_file_commit(&file, error);
}

static enum fa_status report(const struct cli_lessons *lessons, const struct lesson *lesson,
                             const struct grading *grading, struct fa_error *error)
{
    json_t *result = make_json(lessons, lesson, grading);
    enum fa_status status = FA_OK;
    if (!result)
        return fa_fail(error, FA_NO_MEMORY, "no memory for the result");
    if (lessons->options->out)
        status = write_result(lessons->options->out, result, error);
    if (status == FA_OK && lessons->options->base.format == CLI_JSON_FORMAT) {
        json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    } else if (status == FA_OK) {
        print_text(lessons, lesson, grading);
    }
    json_decref(result);
    return status;
}

enum fa_status cli_lesson_grade(struct cli_lessons *lessons, const struct lesson *lesson,
                                const char *path, int *exit_status, struct fa_error *error)
{
    json_error_t problem;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    struct grading *grading = calloc(1, sizeof *grading);
    enum fa_status status = FA_OK;
    if (!grading)
        status = fa_fail(error, FA_NO_MEMORY, "no memory to grade");
    else if (!file)
        status = fa_fail(error, problem.line < 0 ? FA_IO : FA_BAD_FILE, "%.400s:%d: %s", path,
                         problem.line > 0 ? problem.line : 1, problem.text);
    if (status == FA_OK)
        status = check_file(lesson, path, file, error);
    if (status == FA_OK) {
        const json_t *seed = json_object_get(file, "seed");
        if (json_is_integer(seed))
            lessons->seed = json_integer_value(seed);
        status = grade_all(lessons, lesson, path, file, grading, error);
    }
    if (status == FA_OK)
        status = report(lessons, lesson, grading, error);
    if (status == FA_OK && !passes(lessons, grading))
        *exit_status = CLI_CHECK_FAILED;
    json_decref(file);
    free(grading);
    return status;
}
