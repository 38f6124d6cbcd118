/*
 * How the lessons are written: their limits, and those rules of wording that a program can check.
 * Terms, sentences and words a step are refused when a lesson is read; here the whole is looked at.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/lesson_stage.h"

static int faults; /* of the test that runs */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
fault(const struct lesson *lesson, int line, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("lesson %d, line %d: %s\n", lesson->number, line, text);
    faults++;
}

/* Calls back for each question, the recalls too; step NULL: it is one. */
static void each_question(void (*check)(const struct lesson *lesson, const struct lesson_step *step,
                                        const struct lesson_question *question))
{
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    faults = 0;
    for (int i = 0; i < shelf->n; i++) {
        const struct lesson *lesson = shelf->lesson[i];
        for (int s = 0; s < lesson->n_steps; s++)
            if (lesson->step[s].question)
                check(lesson, &lesson->step[s], lesson->step[s].question);
        if (lesson->recall)
            check(lesson, NULL, lesson->recall);
    }
    assert_int_equal(faults, 0);
}

/* Calls back for each text that a learner reads. */
static void each_text(void (*check)(const struct lesson *lesson, int line, const char *text))
{
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    faults = 0;
    for (int i = 0; i < shelf->n; i++) {
        const struct lesson *lesson = shelf->lesson[i];
        const struct lesson_question *recall = lesson->recall;
        const char *text;
        int line;
        for (int s = 0; s < lesson->n_steps; s++)
            for (int t = 0; lesson_step_text(&lesson->step[s], t, &text, &line); t++)
                if (text && t > 0) /* titles are names */
                    check(lesson, line, text);
        for (int t = 0; t < lesson->n_terms; t++)
            check(lesson, lesson->term[t].line, lesson->term[t].meaning);
        check(lesson, 1, lesson->card);
        check(lesson, 1, lesson->now_you_know);
        if (!recall)
            continue;
        check(lesson, recall->line, recall->text);
        check(lesson, recall->line, recall->why);
        for (int h = 0; h < recall->n_hints; h++)
            check(lesson, recall->line, recall->hint[h]);
        for (int c = 0; c < recall->n_choices; c++)
            if (recall->choice[c].feedback)
                check(lesson, recall->line, recall->choice[c].feedback);
    }
    assert_int_equal(faults, 0);
}

/* Which of the words, ended by NULL, stands in the text outside of expressions, in any case; NULL:
 * none does. */
static const char *word_in(const char *text, const char *const *words)
{
    for (; *words; words++) {
        size_t n = strlen(*words);
        bool inside = false;
        for (const char *at = text; *at; at++) {
            inside = *at == '{' ? true : *at == '}' ? false : inside;
            if (!inside && strncasecmp(at, *words, n) == 0 && !isalpha((unsigned char)at[n]) &&
                (at == text || !isalpha((unsigned char)at[-1])))
                return *words;
        }
    }
    return NULL;
}

/* ---- limits ------------------------------------------------------------------------------ */

static void test_the_curriculum_is_whole(void **unused)
{
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    (void)unused;
    assert_int_equal(shelf->n, 15);
    for (int i = 0; i < shelf->n; i++) {
        const struct lesson *lesson = shelf->lesson[i];
        bool breaks = false, plays = false;
        assert_int_equal(lesson->number, i);
        assert_string_equal(lesson->chapter, lesson_chapters[i / 3]);
        assert_in_range(lesson->minutes, 1, LESSON_MINUTES);
        assert_in_range(lesson->n_steps, 1, LESSON_STEPS);
        assert_in_range(lesson->n_questions, 1, LESSON_QUESTIONS);
        assert_in_range(lesson->n_beliefs, 1, LESSON_BELIEFS);
        for (int s = 0; s < lesson->n_steps; s++) {
            const struct lesson_step *step = &lesson->step[s];
            assert_in_range(step->n_words, 1, LESSON_STEP_WORDS);
            breaks |= step->breaks != NULL;
            plays |= step->show.play_to != NULL || strcmp(step->show.at, "end") == 0;
        }
        if (!breaks || !plays || (i >= 2) != (lesson->recall != NULL))
            fail_msg("lesson %d: expected something to watch, to break, and to recall", i);
    }
}

static void test_the_tracks_are_as_planned(void **unused)
{
    static const char *const planned[] = {"class: 0 1 3 4 6 8 ", "kernel: 6 7 9 11 14 "};
    const struct lesson_shelf *shelf = lesson_stage_shelf();
    const char *names[LESSON_NUMBERS];
    (void)unused;
    assert_int_equal(view_lesson_tracks(shelf, names), 2);
    for (int t = 0; t < 2; t++) {
        char text[128];
        int used = snprintf(text, sizeof text, "%s: ", names[t]);
        for (int i = 0; i < shelf->n; i++)
            if (view_lesson_on_track(shelf->lesson[i], names[t], NULL, NULL))
                used += snprintf(text + used, sizeof text - (size_t)used, "%d ",
                                 shelf->lesson[i]->number);
        assert_string_equal(text, planned[t]);
    }
}

/* ---- questions --------------------------------------------------------------------------- */

static void check_feedback(const struct lesson *lesson, const struct lesson_step *step,
                           const struct lesson_question *question)
{
    static const char *const blame[] = {"wrong", "incorrect", "mistake", "mistaken", "error",
                                        "sorry", NULL};
    (void)step;
    for (int c = 0; c < question->n_choices; c++) {
        const char *feedback = question->choice[c].feedback;
        const char *word = feedback ? word_in(feedback, blame) : NULL;
        if (word && !(strcmp(word, "error") == 0 && lesson->number == 9))
            fault(lesson, question->line, "\"%s\" says \"%s\"", feedback, word);
    }
}

static void test_feedback_says_what_an_answer_would_mean(void **unused)
{
    (void)unused;
    each_question(check_feedback);
}

static bool counts(const struct lesson_question *question)
{
    static const char *const counted[] = {"moved(",  "read(",   "write(",  "tiles()",
                                          "masked()", "kept()",  "loads(",  "stores(",
                                          "units()", "needs()", "nq * nk", NULL};
    for (int k = 0; question->expression && counted[k]; k++)
        if (strstr(question->expression, counted[k]))
            return true;
    return false;
}

/* The words of a unit that a text may have in its place. */
static bool names_unit(const char *text, const char *unit)
{
    static const char *const times[] = {"times", "factor", "against", NULL};
    static const char *const percent[] = {"percent", "share", "%", NULL};
    static const char *const words[] = {"largest N", "words", NULL};
    static const char *const rows[] = {"Br", "rows", NULL};
    const char *const itself[] = {unit, NULL};
    return !unit || !unit[0] || word_in(text, itself) ||
           (strcmp(unit, "times") == 0 && (word_in(text, times) || strstr(text, "how often"))) ||
           (strcmp(unit, "%") == 0 && word_in(text, percent)) ||
           (strcmp(unit, "words") == 0 && word_in(text, words)) ||
           (strcmp(unit, "rows") == 0 && word_in(text, rows));
}

static void check_unit(const struct lesson *lesson, const struct lesson_step *step,
                       const struct lesson_question *question)
{
    static const char *const heads[] = {"head", "heads", NULL};
    (void)step;
    if (!names_unit(question->text, question->unit))
        fault(lesson, question->line, "\"%s\" does not name its unit, %s", question->text,
              question->unit);
    if (counts(question) && !word_in(question->text, heads))
        fault(lesson, question->line, "\"%s\" does not say one head or all", question->text);
}

static void test_questions_name_their_unit_and_heads(void **unused)
{
    (void)unused;
    each_question(check_unit);
}

static void check_open(const struct lesson *lesson, const struct lesson_step *step,
                       const struct lesson_question *question)
{
    static const char *const closed[] = {"Is ",  "Are ", "Does ", "Do ",  "Did ", "Will ",
                                         "Can ", "Has ", "Have ", "Was ", "Could ", "Would "};
    static const char *const yes[] = {"yes", "no", NULL};
    const char *begin = question->text;
    (void)step;
    if (!strchr(begin, '?'))
        fault(lesson, question->line, "\"%s\" asks nothing", begin);
    for (const char *at = begin; *at; at++) {
        if (strchr(".?!", *at) && at[1] == ' ')
            begin = at + 2;
        for (size_t k = 0; *at == '?' && k < sizeof closed / sizeof *closed; k++)
            if (strncmp(begin, closed[k], strlen(closed[k])) == 0)
                fault(lesson, question->line, "\"%s\" is answered by yes or no", begin);
    }
    for (int c = 0; c < question->n_choices; c++)
        if (question->choice[c].label &&
            (strcasecmp(question->choice[c].label, yes[0]) == 0 ||
             strcasecmp(question->choice[c].label, yes[1]) == 0))
            fault(lesson, question->line, "the choice \"%s\"", question->choice[c].label);
}

static void test_no_question_is_answered_by_yes_or_no(void **unused)
{
    (void)unused;
    each_question(check_open);
}

/* ---- answers ----------------------------------------------------------------------------- */

/* Values that stand for the labels beside them, and a question about a constant. */
static bool may_be_constant(int lesson, const char *id)
{
    static const struct {
        int lesson;
        const char *id;
    } those[] = {
        {0, "heaviest"}, /* the number of a key */
        {4, "shuffled"}, /* 0 to 3, for sizes of a change */
        {7, "half-as-wide"}, {8, "slope"}, /* labels that say a ratio, a power */
        {13, "seed"}, /* the bytes of a seed of 64 bits */
    };
    for (size_t k = 0; k < sizeof those / sizeof *those; k++)
        if (those[k].lesson == lesson && strcmp(those[k].id, id) == 0)
            return true;
    return false;
}

/* One of its choices is right whatever the run: nothing is counted. */
static bool is_in_words(const struct lesson_question *question)
{
    bool right = false;
    for (int c = 0; c < question->n_choices; c++)
        right |= question->choice[c].right;
    return right;
}

static void check_computed(const struct lesson *lesson, const struct lesson_step *step,
                           const struct lesson_question *question)
{
    struct fa_error error = {FA_OK, ""};
    struct lesson_answers answers;
    const char *words = step ? step->show.scenario : lesson->recall_scenario;
    static const char digits[] = "0123456789.+-*/^() ";
    if (lesson_answers_of(lesson, question, words, lesson_stage_runner(), &answers, &error) !=
        FA_OK)
        fail_msg("%s", error.text);
    if (may_be_constant(lesson->number, question->id) || is_in_words(question))
        return;
    if (question->expression &&
        strspn(question->expression, digits) == strlen(question->expression))
        fault(lesson, question->line, "the answer to %s stands in the file", question->id);
    for (int c = 0; c < question->n_choices; c++) {
        const char *expression = question->choice[c].expression;
        if (expression && answers.choice[c] == answers.right &&
            strspn(expression, digits) == strlen(expression))
            fault(lesson, question->line, "the right choice of %s stands in the file",
                  question->id);
    }
}

static void test_no_answer_stands_in_a_file(void **unused)
{
    (void)unused;
    each_question(check_computed);
}

/* Typed digits, outside of braces, that are the number. */
static bool types(const char *text, double number)
{
    bool inside = false;
    for (const char *at = text; *at; at++) {
        inside = *at == '{' ? true : *at == '}' ? false : inside;
        if (inside || !isdigit((unsigned char)*at) ||
            (at > text && (isdigit((unsigned char)at[-1]) || strchr(".,", at[-1]))))
            continue;
        char plain[32];
        size_t n = 0;
        for (const char *digit = at; n + 1 < sizeof plain &&
                                     (isdigit((unsigned char)*digit) ||
                                      (strchr(".,", *digit) && isdigit((unsigned char)digit[1])));
             digit++)
            if (*digit != ',')
                plain[n++] = *digit;
        plain[n] = '\0';
        if (n >= 2 && fabs(strtod(plain, NULL) - number) <= 1e-6 * fabs(number))
            return true;
    }
    return false;
}

static void check_typed(const struct lesson *lesson, const struct lesson_step *step,
                        const struct lesson_question *question)
{
    struct fa_error error = {FA_OK, ""};
    struct lesson_answers answers;
    const char *words = step ? step->show.scenario : lesson->recall_scenario;
    if (lesson_answers_of(lesson, question, words, lesson_stage_runner(), &answers, &error) !=
        FA_OK)
        fail_msg("%s", error.text);
    for (int h = 0; h < question->n_hints; h++)
        if (types(question->hint[h], answers.right) ||
            (h == LESSON_HINTS - 1 && strchr(question->hint[h], '{')))
            fault(lesson, question->line, "hint %d tells a number: %s", h + 1, question->hint[h]);
    if (types(question->text, answers.right) || types(question->why, answers.right))
        fault(lesson, question->line, "the answer to %s is typed in its text", question->id);
    for (int c = 0; c < question->n_choices; c++)
        if (question->choice[c].feedback && types(question->choice[c].feedback, answers.right))
            fault(lesson, question->line, "the answer to %s is typed: %s", question->id,
                  question->choice[c].feedback);
}

static void test_answers_are_not_typed_in_texts(void **unused)
{
    (void)unused;
    each_question(check_typed);
}

/* ---- numbers and words ------------------------------------------------------------------- */

/* "64K", "20 MB": a letter in place of "million" or KiB. M of SRAM is a name, and has no number
 * before it. */
static void check_letters(const struct lesson *lesson, int line, const char *text)
{
    static const char *const pool[] = {"pool", "SRAM", NULL};
    bool inside = false;
    for (const char *at = text; *at; at++) {
        inside = *at == '{' ? true : *at == '}' ? false : inside;
        const char *letter = at + 1 + (at[1] == ' ');
        if (inside || !(isdigit((unsigned char)*at) || *at == '}') || !*letter ||
            !strchr("KMGk", *letter))
            continue;
        letter += 1 + (letter[1] == 'B');
        if (!isalnum((unsigned char)*letter) && !word_in(text, pool))
            fault(lesson, line, "\"%s\": expected \"million\" or KiB", text);
    }
}

static void check_groups(const struct lesson *lesson, int line, const char *text)
{
    if (!lesson_stage_groups(text))
        fault(lesson, line, "\"%s\": expected {1024}, which groups the digits", text);
}

static void test_digits_stand_in_groups(void **unused)
{
    (void)unused;
    each_text(check_groups);
}

static void test_numbers_are_in_words(void **unused)
{
    (void)unused;
    each_text(check_letters);
}

/* A tile is of scores; a block is CUDA's, or a mask's by its name. */
static void check_blocks(const struct lesson *lesson, int line, const char *text)
{
    static const char *const blocks[] = {"block", "blocks", NULL};
    static const char *const named[] = {"thread block", "thread blocks", "block mask",
                                        "block masks", NULL};
    if (word_in(text, blocks) && !word_in(text, named))
        fault(lesson, line, "\"%s\": a tile, or a thread block", text);
}

static void test_a_tile_is_no_block(void **unused)
{
    (void)unused;
    each_text(check_blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_curriculum_is_whole),
        cmocka_unit_test(test_the_tracks_are_as_planned),
        cmocka_unit_test(test_feedback_says_what_an_answer_would_mean),
        cmocka_unit_test(test_questions_name_their_unit_and_heads),
        cmocka_unit_test(test_no_question_is_answered_by_yes_or_no),
        cmocka_unit_test(test_no_answer_stands_in_a_file),
        cmocka_unit_test(test_answers_are_not_typed_in_texts),
        cmocka_unit_test(test_numbers_are_in_words),
        cmocka_unit_test(test_digits_stand_in_groups),
        cmocka_unit_test(test_a_tile_is_no_block),
    };
    return cmocka_run_group_tests(tests, NULL, lesson_stage_close_shelf);
}
