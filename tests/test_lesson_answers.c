#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lessons/answers.h"
#include "tests/lesson_case.h"

/* ---- a runner that computes nothing ---- */

/* 12 keys of width 4. */
static enum fa_status count_twelve(void *context, const char *words, struct sim_result *result,
                                   bool *refused, struct fa_error *error)
{
    (void)context;
    (void)words;
    (void)error;
    memset(result, 0, sizeof *result);
    result->algorithm = &fa_flash2;
    result->problem = fa_problem_make(12, 12, 4);
    result->tiles = (struct fa_tiles){4, 4, 1, 1};
    result->machine.sram_bytes = 4096;
    *refused = false;
    return FA_OK;
}

static const struct lesson_runner fake = {.count = count_twelve};

static void test_words_join(void **state)
{
    static const char *const cases[][3] = {
        {"--n 4 --d 2", "", "--n 4 --d 2"},
        {"", "--n 4", "--n 4"},
        {"--n 4 --d 2", "--n 8", "--n 8 --d 2"},
        {"--n 4 --d 2", "--nq 1 --nk 8", "--nq 1 --d 2 --nk 8"},
        {"--nq 1 --nk 8 --d 2", "--n 8", "--n 8 --d 2"},
        {"--causal --n 4", "--no-causal", "--n 4"},
        {"--n=4 --window 1,-1", "--n 5  --window  2,-1", "--n 5 --window  2,-1"},
        {"--in 'a b' --n 4", "--in \"c d\"", "--in \"c d\" --n 4"},
        {"--dropout 0.1 --dropout-seed 4", "--dropout 0.2", "--dropout 0.2 --dropout-seed 4"},
    };
    char joined[LESSON_WORDS];
    struct fa_error error;
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        assert_int_equal(lesson_words_join(cases[c][0], cases[c][1], joined, sizeof joined, &error),
                         FA_OK);
        assert_string_equal(joined, cases[c][2]);
    }
    assert_int_equal(lesson_words_join("--n 4", "4", joined, sizeof joined, &error),
                     FA_BAD_ARGUMENT);
    assert_int_equal(lesson_words_join("--n 4", "--", joined, sizeof joined, &error),
                     FA_BAD_ARGUMENT);
    assert_int_equal(lesson_words_join("--n 4", "--d 2", joined, 11, &error), FA_TOO_LARGE);
    assert_int_equal(lesson_words_join("--n 4", "--d 2", joined, 12, &error), FA_OK);
}

/* ---- numbers ---- */

static void check_numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } written[] = {{0, "0"},
                   {313, "313"},
                   {9999, "9\u202f999"},
                   {73728, "73\u202f728"},
                   {9999999, "9\u202f999\u202f999"},
                   {34078720, "34.1 million"},
                   {2.282e9, "2.28 billion"},
                   {-1, "−1"},
                   {.13533528, "0.1353"},
                   {2.76816, "2.768"},
                   {88.888889, "88.89"},
                   {1234.56, "1\u202f235"},
                   {12345.6, "12\u202f346"},
                   {-.5, "−0.5"},
                   {1e-7, "1e−07"}};
    static const struct {
        const char *text;
        double value; /* NaN: no number */
    } given[] = {{"73728", 73728},
                 {"73,728", 73728},
                 {" 73 728 ", 73728},
                 {"73\u202f728", 73728},
                 {"1,234,567.5", 1234567.5},
                 {"2.77", 2.77},
                 {"2,77", 2.77},
                 {"0,368", .368},
                 {"-1", -1},
                 {"−1", -1},
                 {"+4", 4},
                 {"1e-7", 1e-7},
                 {"7.4e4", 74000},
                 {"88.9 %", 88.9},
                 {"8 bytes", 8},
                 {"8bytes", 8},
                 {"", NAN},
                 {"abc", NAN},
                 {"1,2,3", NAN},
                 {"--1", NAN},
                 {"1 000 x", NAN},
                 {"0x10", NAN},
                 {"nan", NAN},
                 {"1e999", NAN},
                 {"8 elements", NAN}};
    char text[LESSON_NUMBER_TEXT];
    double value;
    for (size_t w = 0; w < sizeof written / sizeof *written; w++)
        assert_string_equal(lesson_number_text(written[w].value, text), written[w].text);
    for (size_t g = 0; g < sizeof given / sizeof *given; g++) {
        bool read = lesson_number_read(given[g].text, "bytes", &value);
        if (read == isnan(given[g].value) || (read && value != given[g].value))
            fail_msg("'%s' is read as %g", given[g].text, read ? value : NAN);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers();
    /* A decimal comma in the locale changes nothing. Not every system has such a locale. */
    if (setlocale(LC_ALL, "de_DE.UTF-8"))
        check_numbers();
    setlocale(LC_ALL, "C");
}

static void test_fill(void **state)
{
    char text[64];
    struct fa_error error;
    (void)state;
    assert_int_equal(
        lesson_fill("{n} keys, {1000*n} in {n/7}.", "", &fake, text, sizeof text, &error), FA_OK);
    assert_string_equal(text, "12 keys, 12\u202f000 in 1.714.");
    assert_int_equal(lesson_fill("plain", "", &fake, text, 6, &error), FA_OK);
    assert_int_equal(lesson_fill("plain", "", &fake, text, 5, &error), FA_TOO_LARGE);
    assert_int_equal(lesson_fill("{n", "", &fake, text, sizeof text, &error), FA_BAD_ARGUMENT);
    assert_int_equal(lesson_fill("{1/0}", "", &fake, text, sizeof text, &error), FA_BAD_ARGUMENT);
}

/* A step with a question, then one with prose and a table: what of them is left blank. */
static void test_fill_open(void **state)
{
    static const struct {
        const char *text;
        bool cells;
        const char *filled;
    } texts[] = {
        {"{nk * nk} of {nk}", false, LESSON_BLANK " of 12"}, /* the answer itself */
        {"{2 + nk*nk}, {unk}", false, NULL},                 /* no name */
        {"{2 + nk*nk}", false, LESSON_BLANK},                /* a part of it */
        {"{nk * nq}", false, LESSON_BLANK},                  /* the value, found elsewise */
        {"{nk * nk - 1}", false, LESSON_BLANK},
        {"{nk} {d}", false, "12 4"},
        {"{with(\"--d 8\", nk * nk)}", false, LESSON_BLANK}, /* this runner has one run */
        {"{with(\"--d 8\", nk * nk) / 7}", false, "20.57"},  /* another run's */
        {"{max(with(\"--d 8\", 1), nk * nk / 5)}", false, LESSON_BLANK}, /* behind it this one's */
        {"{tr}\t{nk}", true, LESSON_BLANK "\t12"}, /* a table: prose told nk */
        {"{nk / 7}", true, LESSON_BLANK},
        {"{nk / 7}", false, "1.714"},
    };
    struct lesson_question question = {.id = "a", .kind = LESSON_NUMBER, .expression = "nk * nk"};
    struct lesson lesson = {.n_steps = 2};
    struct lesson_answer_key key = {.lesson = &lesson, .n = 1, .question = {&question}};
    char text[64];
    struct fa_error error;
    int blanks;
    (void)state;
    lesson.step[0].question = &question;
    lesson.step[0].show.scenario = lesson.step[1].show.scenario = "";
    lesson.step[1].block[0] = (struct lesson_block){.text = "There are { nk } keys."};
    lesson.step[1].n_blocks = 1;
    assert_int_equal(lesson_evaluate("nk * nk", "", &fake, &key.right[0], &error), FA_OK);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        enum fa_status status = lesson_fill_open(texts[t].text, "", &fake, &key, 1, texts[t].cells,
                                                 text, sizeof text, &blanks, &error);
        if (status != FA_OK && texts[t].filled)
            fail_msg("%s: %s", texts[t].text, error.text);
        if (!texts[t].filled) {
            assert_int_equal(status, FA_BAD_ARGUMENT);
            continue;
        }
        assert_int_equal(status, FA_OK);
        if (strcmp(text, texts[t].filled) != 0)
            fail_msg("%s gives %s, not %s", texts[t].text, text, texts[t].filled);
        assert_int_equal(blanks, strstr(text, LESSON_BLANK) != NULL);
    }
    /* In its own step a table is what the question is about. Of another run it tells nothing. */
    assert_int_equal(
        lesson_fill_open("{nk / 7}", "", &fake, &key, 0, true, text, sizeof text, &blanks, &error),
        FA_OK);
    assert_string_equal(text, "1.714");
    snprintf(key.words[0], sizeof key.words[0], "--d 8");
    assert_int_equal(lesson_fill_open("{nk * nk - 1}", "", &fake, &key, 1, false, text, sizeof text,
                                      &blanks, &error),
                     FA_OK);
    assert_int_equal(blanks, 0);
}

/* ---- questions ---- */

static void test_quantities(void **state)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {1, "trips", "1 trip"},
        {2, "trips", "2 trips"},
        {0, "bytes", "0 bytes"},
        {1, NULL, "1"},
        {12, "%", "12%"},
        {1, "MiB", "1 MiB"},
        {1, "billion bytes", "1 billion bytes"},
        {36992, "elements", "36\u202f992 elements"},
    };
    char text[64];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_string_equal(lesson_quantity_text(cases[c].value, cases[c].unit, text, sizeof text),
                            cases[c].text);
}

/* On a learner's run wrong choices may meet others: they go, and what is left is asked. */
static void test_questions_fit_other_runs(void **state)
{
    const struct lesson lesson = {.file = "x.md"};
    struct lesson_question question = {
        .id = "keys",
        .line = 7,
        .kind = LESSON_CHOICE,
        .expression = "n",
        .n_choices = 5,
        .choice = {{.expression = "12", .feedback = "it meets the answer"},
                   {.expression = "n", .right = true},
                   {.expression = "d"},
                   {.expression = "4", .feedback = "it meets the choice before"},
                   {.expression = "n + 1"}}};
    struct lesson_question asked = {.n_choices = 77};
    struct lesson_answers answers;
    struct fa_error error;
    (void)state;
    assert_int_equal(lesson_answers_of(&lesson, &question, "", &fake, &answers, &error),
                     FA_BAD_FILE);
    assert_int_equal(lesson_question_fit(&lesson, &question, "", &fake, &asked, &answers, &error),
                     FA_OK);
    assert_int_equal(asked.n_choices, 3);
    assert_true(asked.choice[0].right && answers.choice[0] == 12 && answers.right == 12);
    assert_string_equal(asked.choice[1].expression, "d");
    assert_true(answers.choice[1] == 4 && answers.choice[2] == 13);
    /* Nothing says which is right, and none is; or the answer cannot be computed. */
    static const char *const expressions[] = {"n / 5", "1 / 0"};
    question.choice[1].right = false;
    for (size_t e = 0; e < sizeof expressions / sizeof *expressions; e++) {
        question.expression = expressions[e];
        asked.n_choices = 77;
        assert_int_equal(
            lesson_question_fit(&lesson, &question, "", &fake, &asked, &answers, &error),
            FA_UNSUPPORTED);
        assert_null(strstr(error.text, "x.md"));
        assert_int_equal(asked.n_choices, 77);
    }
}

static struct lesson *example(void)
{
    char *text = lesson_case_example();
    struct lesson *lesson = NULL;
    struct fa_error error = {FA_OK, ""};
    if (lesson_parse("README.md", text, strlen(text), &lesson, &error) != FA_OK)
        fail_msg("%s", error.text);
    free(text);
    return lesson;
}

static void test_readme_answers(void **state)
{
    struct lesson *lesson = example();
    struct lesson_answers answers;
    struct fa_error error;
    char text[200];
    (void)state;
    for (int s = 0; s < lesson->n_steps; s++)
        if (lesson->step[s].question &&
            lesson_answers_of(lesson, lesson->step[s].question, lesson->step[s].show.scenario,
                              &lesson_case_runner, &answers, &error) != FA_OK)
            fail_msg("%s", error.text);
    /* The last one's: K and V, 4 times 64 elements each. */
    assert_true(answers.right == 512 && answers.choice[0] == 64 && answers.choice[1] == 512);
    assert_true(answers.choice[2] == 80);
    assert_int_equal(lesson_answers_of(lesson, lesson->recall, lesson->recall_scenario,
                                       &lesson_case_runner, &answers, &error),
                     FA_OK);
    assert_true(answers.right == 64);
    const struct lesson_break *breaks = lesson->step[2].breaks;
    char words[LESSON_WORDS];
    assert_int_equal(lesson_words_join(lesson->scenario, breaks->run, words, sizeof words, &error),
                     FA_OK);
    assert_int_equal(
        lesson_fill(breaks->consequence, words, &lesson_case_runner, text, sizeof text, &error),
        FA_OK);
    assert_string_equal(text, "Now 128 elements of K move, where it was 256.");
    lesson_free(lesson);
}

static struct lesson_grade graded(const struct lesson *lesson,
                                  const struct lesson_question *question, const char *words,
                                  const char *answer)
{
    struct lesson_grade grade;
    struct fa_error error = {FA_OK, ""};
    if (lesson_grade_answer(lesson, question, words, &lesson_case_runner, answer, &grade, &error) !=
        FA_OK)
        fail_msg("%s", error.text);
    return grade;
}

static void test_grades(void **state)
{
    struct lesson *lesson = example();
    const struct lesson_question *trips = lesson->step[1].question,
                                 *most = lesson->step[2].question;
    struct lesson_grade grade;
    (void)state;
    grade = graded(lesson, trips, lesson->scenario, "4 trips");
    assert_int_equal(grade.verdict, LESSON_RIGHT);
    assert_string_equal(grade.feedback,
                        "There are 4 tiles of queries, and each of them loads K[2] once.");
    grade = graded(lesson, trips, lesson->scenario, "16");
    assert_int_equal(grade.verdict, LESSON_WRONG_KNOWN);
    assert_int_equal(grade.choice, 0);
    assert_non_null(strstr(grade.feedback, "There are 16 score tiles."));
    grade = graded(lesson, trips, lesson->scenario, "8");
    assert_int_equal(grade.verdict, LESSON_WRONG);
    assert_int_equal(grade.choice, -1);
    assert_string_equal(grade.feedback, "That is more than the run gives.");
    grade = graded(lesson, trips, lesson->scenario, "2");
    assert_string_equal(grade.feedback, "That is less than the run gives.");
    /* A whole number below 100 is exact. */
    assert_int_equal(graded(lesson, trips, lesson->scenario, "4.05").verdict, LESSON_WRONG);
    /* Other parameters, another answer. */
    assert_int_equal(graded(lesson, trips, "--n 32 --d 4 --tiles 4x4", "8").verdict, LESSON_RIGHT);
    assert_int_equal(graded(lesson, trips, "--n 32 --d 4 --tiles 4x4", "64").verdict,
                     LESSON_WRONG_KNOWN);

    assert_int_equal(graded(lesson, most, lesson->scenario, "2").verdict, LESSON_RIGHT);
    grade = graded(lesson, most, lesson->scenario, "512");
    assert_int_equal(grade.verdict, LESSON_RIGHT);
    assert_int_equal(grade.choice, 1);
    grade = graded(lesson, most, lesson->scenario, "1");
    assert_int_equal(grade.verdict, LESSON_WRONG_KNOWN);
    assert_string_equal(grade.feedback, "Q moves 64 elements, once each.");
    lesson_free(lesson);
}

static void expect_refusal(const struct lesson_question *question, const char *words,
                           const char *answer, const char *text)
{
    const struct lesson lesson = {.file = "x.md"};
    struct lesson_grade grade = {.given = 77};
    struct fa_error error;
    char whole[200];
    assert_int_equal(
        lesson_grade_answer(&lesson, question, words, &lesson_case_runner, answer, &grade, &error),
        FA_BAD_ARGUMENT);
    snprintf(whole, sizeof whole, "%s: expected %s", answer, text);
    assert_string_equal(error.text, whole);
    assert_true(grade.given == 77);
}

/* What is no answer is told so, in words that say what is one; it is not graded. */
static void test_what_is_no_answer(void **state)
{
    static const char *const no_numbers[] = {"", "b", "-", "4 apples", "1e", "two", "1,2,3"};
    struct lesson lesson = {.file = "x.md"};
    const char *words = "--algorithm standard --n 128 --d 16 --tiles 16x16";
    struct lesson_question question = {.id = "a",
                                       .kind = LESSON_NUMBER,
                                       .expression = "tr",
                                       .unit = "tiles",
                                       .tolerance = .02,
                                       .why = "So.",
                                       .low = 1,
                                       .high = 1600000};
    (void)state;
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
        question.kind = LESSON_NUMBER;
        expect_refusal(&question, words, no_numbers[i], "a number, as 73728, 73,728 or 7.4e4");
        question.kind = LESSON_SLIDER;
        expect_refusal(&question, words, no_numbers[i], "a number from 1 to 1\u202f600\u202f000");
    }
    expect_refusal(&question, words, "0.99", "a number from 1 to 1\u202f600\u202f000");
    expect_refusal(&question, words, "1600001", "a number from 1 to 1\u202f600\u202f000");
    expect_refusal(&question, words, "-8", "a number from 1 to 1\u202f600\u202f000");
    assert_int_equal(graded(&lesson, &question, words, "1").verdict, LESSON_WRONG);
    assert_int_equal(graded(&lesson, &question, words, "1600000").verdict, LESSON_WRONG);
    question.kind = LESSON_NUMBER; /* any number may be the answer where no scale is shown */
    assert_int_equal(graded(&lesson, &question, words, "-8").verdict, LESSON_WRONG);
    assert_int_equal(graded(&lesson, &question, words, "1600001").verdict, LESSON_WRONG);

    question.kind = LESSON_CHOICE;
    question.n_choices = 2;
    question.choice[0] = (struct lesson_choice){.expression = "tr", .feedback = "Rows."};
    question.choice[1] = (struct lesson_choice){.expression = "n", .feedback = "Keys."};
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        expect_refusal(&question, words, no_numbers[i], "the number of a choice, 1 to 2");
    expect_refusal(&question, words, "0", "the number of a choice, 1 to 2");
    expect_refusal(&question, words, "3", "the number of a choice, 1 to 2");
    expect_refusal(&question, words, "1.5", "the number of a choice, 1 to 2");
    assert_int_equal(graded(&lesson, &question, words, "2").verdict, LESSON_WRONG_KNOWN);
    assert_int_equal(graded(&lesson, &question, words, "8").verdict, LESSON_RIGHT);
    assert_int_equal(graded(&lesson, &question, words, "128").verdict, LESSON_WRONG_KNOWN);
}

static void test_tolerance(void **state)
{
    struct lesson lesson = {.file = "x.md"};
    struct lesson_question question = {.id = "a",
                                       .line = 7,
                                       .kind = LESSON_SLIDER,
                                       .unit = "",
                                       .expression = "moved()",
                                       .tolerance = .02,
                                       .why = "So.",
                                       .low = 1,
                                       .high = 1e6};
    const char *words = "--algorithm standard --n 128 --d 16 --tiles 16x16"; /* 102,400 */
    (void)state;
    assert_int_equal(graded(&lesson, &question, words, "104,400").verdict, LESSON_RIGHT);
    assert_int_equal(graded(&lesson, &question, words, "104,500").verdict, LESSON_WRONG);
    assert_string_equal(graded(&lesson, &question, words, "104,500").feedback,
                        "That is close to what the run gives.");
    question.expression = "tr";
    assert_int_equal(graded(&lesson, &question, words, "8.1").verdict, LESSON_WRONG);
    question.tolerance_given = true;
    assert_int_equal(graded(&lesson, &question, words, "8.1").verdict, LESSON_RIGHT);
}

static void test_answers_that_contradict(void **state)
{
    struct lesson lesson = {.file = "x.md"};
    struct lesson_question question = {.id = "a",
                                       .line = 7,
                                       .kind = LESSON_CHOICE,
                                       .unit = "",
                                       .expression = "n",
                                       .tolerance = .02,
                                       .n_choices = 2,
                                       .choice = {{.expression = "n"}, {.expression = "d"}}};
    struct lesson_answers answers;
    struct fa_error error;
    (void)state;
#define REFUSED(said)                                                                              \
    assert_int_equal(lesson_answers_of(&lesson, &question, "--x 1", &fake, &answers, &error),      \
                     FA_BAD_FILE);                                                                 \
    assert_true(strncmp(error.text, "x.md:7: question a", 18) == 0);                               \
    assert_non_null(strstr(error.text, said))
    assert_int_equal(lesson_answers_of(&lesson, &question, "--x 1", &fake, &answers, &error),
                     FA_OK);
    question.choice[1].expression = "4*3";
    REFUSED("choices 1 and 2 are both 12");
    question.choice[0].expression = "d";
    question.choice[1].expression = "d + 1";
    REFUSED("no choice is 12, the answer");
    question.choice[0].expression = "n";
    question.choice[1].right = true;
    REFUSED("choice 2 is 5 and said to be right");
    question.choice[1].expression = "1/0";
    REFUSED("choice 2: at '/0'");
    question.expression = "ln(-1)";
    REFUSED("the answer: ln(-1): is no number");
    question.kind = LESSON_NUMBER;
    question.expression = "1000";
    question.choice[0].expression = "1010";
    question.choice[1].expression = "3";
    REFUSED("choice 1 is 1010 and the answer 1000");
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_join),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_fill_open),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_questions_fit_other_runs),
        cmocka_unit_test(test_readme_answers),
        cmocka_unit_test(test_grades),
        cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_answers_that_contradict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
